/* SPDX-License-Identifier: MIT */
/* How often each value of a number occurs in the records of a tracepoint. */
#define KEY_BYTES SUMS_KEY_KEY
#define ROWS      SUMS_KEY_ROWS
#include "bpf/field.h"

SEC("tracepoint")
int on_event(void *record)
{
	__u32 generation, row;
	struct sums *s = sums_now(&generation);
	struct sums_key key;

	if (!s || !is_event_selected())
		return SEEN_BY_ALL;
	s->head.events++;
	key.words[0] = field_of(record);
	row = find_row(s, &key);
	if (row < ROWS)
		s->counts[row & (ROWS - 1)]++;
	else
		s->head.lost++;
	return SEEN_BY_ALL;
}
