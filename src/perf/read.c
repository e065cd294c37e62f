/* SPDX-License-Identifier: MIT */
/*
 * Blocks of read_format: from read(2), from READ records, inside samples. Layout: the comment over
 * enum perf_event_read_format in linux/perf_event.h. A single counter has its times between value
 * and id; a group has them before all of its values.
 */
#include "perf/record.h"
#include "perf/uapi.h"

static bool has(uint64_t format, uint64_t bit)
{
	return format & bit;
}

static unsigned times(uint64_t format)
{
	return has(format, PERF_FORMAT_TOTAL_TIME_ENABLED) +
	       has(format, PERF_FORMAT_TOTAL_TIME_RUNNING);
}

/* Words of one value of a group; also those of a single counter without its times. */
static unsigned stride(uint64_t format)
{
	return 1 + has(format, PERF_FORMAT_ID) + has(format, PERF_FORMAT_LOST_);
}

static void take_times(uint64_t format, const record_word *words, struct attar_read *read)
{
	read->time_enabled = has(format, PERF_FORMAT_TOTAL_TIME_ENABLED) ? *words++ : 0;
	read->time_running = has(format, PERF_FORMAT_TOTAL_TIME_RUNNING) ? *words : 0;
}

bool record_read(uint64_t format, struct record_cursor *c, struct attar_read *ret_read)
{
	struct attar_read read = {.nr = 1, .format = format};
	bool group = has(format, PERF_FORMAT_GROUP);
	const record_word *words = record_take(c, 1 + times(format));

	if (!words)
		return false;
	take_times(format, words + 1, &read);
	if (group) {
		read.nr = words[0];
		if (read.nr > record_left(c) / stride(format))
			return false;
		read.values = (const uint64_t *)record_take(c, read.nr * stride(format));
	} else {
		read.values = (const uint64_t *)words;
		if (!record_take(c, stride(format) - 1))
			return false;
	}
	*ret_read = read;
	return true;
}

int attar_read_parse(
	uint64_t read_format, const void *bytes, size_t len, struct attar_read *ret_read)
{
	const record_word *words = bytes;
	struct record_cursor c = {.at = words, .end = words + len / sizeof(*words)};

	if (!record_read(read_format, &c, ret_read))
		return attar_fail(-EBADMSG,
			"%zu bytes are too few for a counter's values in read format %#llx", len,
			(unsigned long long)read_format);
	return (int)((c.at - words) * sizeof(*words));
}

struct attar_read_value attar_read_at(const struct attar_read *read, uint64_t index)
{
	bool group = has(read->format, PERF_FORMAT_GROUP);
	struct attar_read_value value = {0};
	const record_word *at;

	if (index >= read->nr)
		return value;
	at = (const record_word *)read->values + index * stride(read->format);
	value.value = *at++;
	if (!group)
		at += times(read->format);
	if (has(read->format, PERF_FORMAT_ID))
		value.id = *at++;
	if (has(read->format, PERF_FORMAT_LOST_))
		value.lost = *at;
	return value;
}
