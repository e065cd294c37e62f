/* SPDX-License-Identifier: MIT */
#include "event/pattern.h"

#include <fnmatch.h>

#include "base/buf.h"

/* The brace that closes the one at `open`; NULL: there is none. */
static const char *closing(const char *open)
{
	unsigned depth = 0;

	for (const char *p = open; *p; p++) {
		depth += *p == '{';
		if (*p == '}' && !--depth)
			return p;
	}
	return NULL;
}

/* The end of the alternative at p: a comma outside of inner braces, or the closing brace. */
static const char *alternative_end(const char *p, const char *close)
{
	unsigned depth = 0;

	for (; p < close; p++) {
		depth += *p == '{';
		depth -= *p == '}';
		if (*p == ',' && !depth)
			break;
	}
	return p;
}

static int add_text(struct pattern *pattern, const char *text)
{
	char *copy;

	if (pattern->texts.n == PATTERN_TEXTS_MAX)
		return attar_fail(
			-E2BIG, "the pattern has more than %d alternatives", PATTERN_TEXTS_MAX);
	copy = strdup(text);
	if (!copy || vec_push(&pattern->texts, copy) < 0) {
		free(copy);
		return base_oom();
	}
	return 0;
}

/* Adds the text with each alternative of its first braces; the others are expanded in turn. */
static int pattern_expand(struct pattern *pattern, const char *text)
{
	const char *open = strchr(text, '{'), *close, *end;
	int r = 0;

	if (!open)
		return add_text(pattern, text);
	close = closing(open);
	if (!close)
		return attar_fail(-EINVAL, "missing '}' for a '{' of the pattern");
	for (const char *p = open + 1; r == 0 && p <= close; p = end + 1) {
		struct buf b _cleanup_(buf_done) = {0};

		end = alternative_end(p, close);
		buf_add(&b, text, (size_t)(open - text));
		buf_add(&b, p, (size_t)(end - p));
		buf_str(&b, close + 1);
		r = buf_failed(&b) ? base_oom() : pattern_expand(pattern, buf_text(&b));
	}
	return r;
}

int pattern_init(struct pattern *pattern, const char *text)
{
	*pattern = (struct pattern){0};
	if (strlen(text) > PATTERN_TEXT_MAX)
		return attar_fail(-E2BIG, "the pattern is longer than %d bytes", PATTERN_TEXT_MAX);
	return pattern_expand(pattern, text);
}

void pattern_done(struct pattern *pattern)
{
	vec_each (&pattern->texts, text)
		free(*text);
	vec_done(&pattern->texts);
}

bool pattern_matches(const struct pattern *pattern, const char *name)
{
	vec_each (&pattern->texts, text)
		if (fnmatch(*text, name, 0) == 0)
			return true;
	return false;
}
