/* SPDX-License-Identifier: MIT */
#include "events.h"

struct attar_event_list *events_parse(struct attar_catalog *catalog, const char *text)
{
	struct attar_event_list *list = NULL;

	if (attar_event_list_parse(catalog, text, &list) < 0)
		fail_msg("'%s': %s", text, attar_error());
	return list;
}

void events_refuse(struct attar_catalog *catalog, const char *text, int code, const char *sentence)
{
	struct attar_event_list *list = (struct attar_event_list *)&list;

	assert_int_equal(attar_event_list_parse(catalog, text, &list), code);
	assert_string_equal(attar_error(), sentence);
	assert_ptr_equal(list, &list);
}
