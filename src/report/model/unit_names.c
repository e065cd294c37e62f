/* SPDX-License-Identifier: MIT */
/* Names of units and kinds, as in JSON and CSV. */
#include "report/model/model.h"

const char *unit_name(enum attar_unit unit)
{
	static const char *const names[] = {
		[ATTAR_UNIT_TEXT] = "text",
		[ATTAR_UNIT_COUNT] = "count",
		[ATTAR_UNIT_PERCENT] = "percent",
		[ATTAR_UNIT_NS] = "ns",
		[ATTAR_UNIT_TIME] = "time",
		[ATTAR_UNIT_BYTES] = "bytes",
		[ATTAR_UNIT_HEX] = "hex",
		[ATTAR_UNIT_HZ] = "hz",
		[ATTAR_UNIT_ID] = "id",
		[ATTAR_UNIT_CLOCK] = "clock",
	};

	return (size_t)unit < ARRAY_SIZE(names) ? names[unit] : "count";
}

const char *section_kind_name(enum attar_section_kind kind)
{
	static const char *const names[] = {
		[ATTAR_SECTION_TABLE] = "table",
		[ATTAR_SECTION_TREE] = "tree",
		[ATTAR_SECTION_HISTOGRAM] = "histogram",
		[ATTAR_SECTION_EVENTS] = "events",
		[ATTAR_SECTION_TIME_SERIES] = "time-series",
		[ATTAR_SECTION_SPANS] = "spans",
	};

	return names[kind];
}

const char *frame_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[ATTAR_FRAME_USER] = "user",
		[ATTAR_FRAME_KERNEL] = "kernel",
		[ATTAR_FRAME_INLINED] = "inlined",
		[ATTAR_FRAME_JIT] = "jit",
		[ATTAR_FRAME_UNKNOWN] = "unknown",
		[ATTAR_FRAME_TASK] = "task",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

int unit_find(const char *name)
{
	for (int unit = 0; unit <= ATTAR_UNIT_CLOCK; unit++)
		if (!strcmp(name, unit_name((enum attar_unit)unit)))
			return unit;
	return -1;
}

enum attar_frame_kind frame_kind_find(const char *name)
{
	for (unsigned kind = 0; kind <= ATTAR_FRAME_TASK; kind++)
		if (!strcmp(name, frame_kind_name(kind)))
			return (enum attar_frame_kind)kind;
	return ATTAR_FRAME_UNKNOWN;
}
