/* SPDX-License-Identifier: MIT */
/* Events by another name that they have in a recording: uprobe:f@"file", or an alias. */
#include "event/modifier.h"
#include "tracefs/tracefs.h"

static enum attar_event_kind kind_of(const struct attar_format *format)
{
	bool is_probe = attar_format_field(format, "__probe_ip") ||
			attar_format_field(format, "__probe_func");

	return is_probe ? ATTAR_EVENT_PROBE : ATTAR_EVENT_TRACEPOINT;
}

int recorded_probe_parse(struct parser *parser)
{
	size_t n;
	const struct attar_format *format =
		tracefs_recorded_probe(&parser->catalog->tracefs, parser->p, &n);
	struct attar_event_spec *spec;
	struct parts parts;
	int r;

	if (!format)
		return 0;
	r = parser_add_format(parser, kind_of(format), format, &spec);
	if (r < 0)
		return r;
	spec->name = list_text(parser->list, parser->p, n);
	if (!spec->name)
		return base_oom();
	parser->p += n;
	modifier_take_early(parser);
	r = parts_parse(parser, true, &parts);
	if (r == 0)
		r = parts_apply(parser, &parts);
	return r < 0 ? r : 1;
}
