/* SPDX-License-Identifier: MIT */
/* The table of sinks. */
#include "base/check.h"
#include "base/suggest.h"
#include "report/render.h"

static const struct render_format *const formats[] = {
	&render_text,
	&render_json,
	&render_csv,
	&render_folded,
	&render_html,
};

const struct attar_sink *const *attar_sinks(void)
{
	static const struct attar_sink *const sinks[] = {
		&render_text.sink,
		&render_json.sink,
		&render_csv.sink,
		&render_folded.sink,
		&render_html.sink,
		NULL,
	};

	_Static_assert(ARRAY_SIZE(sinks) == ARRAY_SIZE(formats) + 1, "the tables differ");
	return sinks;
}

const struct attar_sink *attar_sink_of_path(const char *path)
{
	CHECK_ARG_OR(path, "path", NULL);

	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(formats); i++)
		if (!strcmp(dot + 1, formats[i]->sink.extension) ||
			(formats[i]->also && !strcmp(dot + 1, formats[i]->also)))
			return &formats[i]->sink;
	return NULL;
}

/* "text, json and html" */
static void list_names(struct buf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		buf_printf(b, "%s%s",
			i == 0                         ? ""
			: i + 1 == ARRAY_SIZE(formats) ? " and "
						       : ", ",
			formats[i]->sink.name);
}

const struct render_format *render_format_find(const char *name)
{
	struct suggest near = {.word = name};
	struct buf names _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(name, formats[i]->sink.name) == 0)
			return formats[i];
		suggest_offer(&near, formats[i]->sink.name);
	}
	list_names(&names);
	if (near.best)
		attar_fail(-EINVAL, "no format '%s': did you mean '%s'?", CLIP(name), near.best);
	else
		attar_fail(
			-EINVAL, "no format '%s': available are %s", CLIP(name), buf_text(&names));
	return NULL;
}

const struct attar_sink *attar_sink_find(const char *name)
{
	CHECK_ARG_OR(name, "name", NULL);

	const struct render_format *found = render_format_find(name);

	return found ? &found->sink : NULL;
}
