/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <stdio.h>

struct attar_event_list *events_parse(struct attar_catalog *catalog, const char *text)
{
	struct attar_event_list *list = NULL;

	if (attar_event_list_parse(catalog, text, &list) < 0)
		fail_msg("'%s': %s", text, attar_error());
	return list;
}

/* The text is on the next line, and a caret is below the column. */
static void check_excerpt(const char *excerpt, const char *text, size_t at)
{
	const char *caret = strrchr(excerpt, '\n');

	assert_string_equal(caret + strspn(caret, "\n "), "^");
	if (strlen(text) <= 40) {
		assert_memory_equal(excerpt, "\n    ", 5);
		assert_memory_equal(excerpt + 5, text, strlen(text));
		assert_ptr_equal(caret, excerpt + 5 + strlen(text));
		assert_int_equal(strlen(caret), 1 + 4 + at);
	}
}

void events_refuse(struct attar_catalog *catalog, const char *text, int code, const char *expected)
{
	struct attar_event_list *list = (struct attar_event_list *)&list;
	const char *excerpt, *sentence = expected;
	unsigned at = 0;
	int prefix = 0;

	if (sscanf(expected, "column %u: %n", &at, &prefix) == 1)
		sentence += prefix;
	assert_int_equal(attar_event_list_parse(catalog, text, &list), code);
	assert_ptr_equal(list, &list);
	excerpt = strchr(attar_error(), '\n');
	assert_int_equal(!excerpt, !at || !*text);
	if (!excerpt) {
		assert_string_equal(attar_error(), sentence);
		return;
	}
	if (strlen(sentence) != (size_t)(excerpt - attar_error()) ||
		memcmp(attar_error(), sentence, strlen(sentence)))
		assert_string_equal(attar_error(), sentence);
	check_excerpt(excerpt, text, at);
}
