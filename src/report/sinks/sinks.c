/* SPDX-License-Identifier: MIT */
/* The table of sinks. */
#include "attar/private/report.h"
#include "base/check_arg.h"
#include "base/suggest.h"
#include "report/sinks/render.h"

static const struct render_format *const formats[] = {
	&render_text,
	&render_json,
	&render_csv,
	&render_folded,
	&render_html,
	&render_pprof,
	&render_speedscope,
	&render_firefox,
	&render_chrome,
	&render_sqlite,
	&render_prometheus,
	&render_openmetrics,
	&render_clickhouse,
};

const struct attar_sink *const *attar_sinks(void)
{
	static const struct attar_sink *const sinks[] = {
		&render_text.sink,
		&render_json.sink,
		&render_csv.sink,
		&render_folded.sink,
		&render_html.sink,
		&render_pprof.sink,
		&render_speedscope.sink,
		&render_firefox.sink,
		&render_chrome.sink,
		&render_sqlite.sink,
		&render_prometheus.sink,
		&render_openmetrics.sink,
		&render_clickhouse.sink,
		NULL,
	};

	_Static_assert(ARRAY_SIZE(sinks) == ARRAY_SIZE(formats) + 1, "the tables differ");
	return sinks;
}

/* The length of the extension if the file name ends in it, otherwise 0. */
static size_t ending(const char *path, const char *extension)
{
	size_t n = strlen(path), len = extension ? strlen(extension) : 0;

	if (!len || n <= len || path[n - len - 1] != '.' || strcmp(path + n - len, extension) != 0)
		return 0;
	return len;
}

/* SCHEME:// or, with TLS, SCHEMEs:// */
static bool has_scheme(const char *path, const char *scheme)
{
	size_t n = scheme ? strlen(scheme) : 0;

	if (!n || strncmp(path, scheme, n) != 0)
		return false;
	return !strncmp(path + n, "://", 3) || !strncmp(path + n, "s://", 4);
}

/* The longest extension counts: "x.json.gz" is not "x.gz". */
const struct attar_sink *sink_of_path(const char *path)
{
	CHECK_ARG_OR(path, "path", NULL);

	size_t longest = 0;
	const struct attar_sink *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct render_format *format = formats[i];
		size_t n;

		if (has_scheme(path, format->sink.scheme))
			return &format->sink;
		n = MAX(ending(path, format->sink.extension), ending(path, format->also));

		if (n > longest)
			found = &format->sink;
		longest = MAX(n, longest);
	}
	return found;
}

/* "text, json and html": formats of files. */
static void list_names(struct buf *b)
{
	const struct attar_sink *const *sinks = attar_sinks();
	size_t n = 0;

	while (sinks[n] && sinks[n]->extension)
		n++;
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", sinks[i]->name);
}

int sink_check_address(const char *address)
{
	CHECK_ARG(address, "address");

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (has_scheme(address, formats[i]->sink.scheme))
			return formats[i]->check(address);
	return attar_fail(-EINVAL, "'%s' is not the address of a database", CLIP(address));
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
		attar_fail(-EINVAL, "no format '%s'" ATTAR_FIX "did you mean '%s'?", CLIP(name),
			near.best);
	else
		attar_fail(-EINVAL, "no format '%s': the formats are %s", CLIP(name),
			buf_text(&names));
	return NULL;
}

const struct attar_sink *attar_sink_find(const char *name)
{
	CHECK_ARG_OR(name, "name", NULL);

	const struct render_format *found = render_format_find(name);

	return found ? &found->sink : NULL;
}
