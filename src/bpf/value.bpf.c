/* SPDX-License-Identifier: MIT */
/* The distribution of a number in the records of a tracepoint. */
#define ROWS  SUMS_VALUE_ROWS
#define PAGES SUMS_VALUE_PAGES
#include "bpf/field.h"

SEC("tracepoint")
int on_event(void *record)
{
	__u32 generation;
	struct sums *s = sums_now(&generation);
	__u64 value;

	if (!s || !is_event_selected())
		return SEEN_BY_ALL;
	s->head.events++;
	value = field_of(record);
	if (settings.is_signed && (__s64)value < 0) {
		s->rows[COUNTING_OF_NEGATIVE].errors++;
		return SEEN_BY_ALL;
	}
	sums_add(s, COUNTING_OF_VALUES, value, generation);
	if (s->rows[COUNTING_OF_VALUES].total < value)
		s->rows[COUNTING_OF_VALUES].total_high++;
	if (value > settings.than)
		s->rows[COUNTING_OF_VALUES].errors++;
	return SEEN_BY_ALL;
}
