/* SPDX-License-Identifier: MIT */
/*
 * Parse read_format blocks from read(2), READ records and samples. Layout: the comment over enum
 * perf_event_read_format in linux/perf_event.h. The times of a single counter are between value and
 * id; the times of a group precede its values.
 */
#include "base/check_arg.h"
#include "record/record.h"
#include "record/uapi.h"

static bool has(uint64_t format, uint64_t bit)
{
	return format & bit;
}

static unsigned times(uint64_t format)
{
	return has(format, PERF_FORMAT_TOTAL_TIME_ENABLED) +
	       has(format, PERF_FORMAT_TOTAL_TIME_RUNNING);
}

/* Words per value of a group, or of a single counter without its times. */
static unsigned stride(uint64_t format)
{
	return 1 + has(format, PERF_FORMAT_ID) + has(format, PERF_FORMAT_LOST_);
}

bool record_read(uint64_t format, struct record_cursor *c, struct attar_read *ret_read)
{
	const record_word *words = record_take(c, 1 + times(format));
	uint64_t nr = 1, more = stride(format) - 1;

	if (!words)
		return false;
	if (has(format, PERF_FORMAT_GROUP)) {
		nr = words[0];
		if (nr > MIN(record_left(c) / stride(format), UINT32_MAX))
			return false;
		more = nr * stride(format);
	}
	if (!record_take(c, more))
		return false;
	ret_read->nr = (uint32_t)nr;
	ret_read->format = (uint32_t)format;
	ret_read->words = (const uint64_t *)words;
	return true;
}

int attar_read_parse(
	uint64_t read_format, const void *bytes, size_t len, struct attar_read *ret_read)
{
	CHECK_ARG(bytes, "bytes");
	CHECK_ARG(ret_read, "ret_read");

	const record_word *words = bytes;
	struct record_cursor c = {.at = words, .end = words + len / sizeof(*words)};

	if (!record_read(read_format, &c, ret_read))
		return attar_fail(-EBADMSG,
			"%zu bytes are too short for counter values with read_format %#llx", len,
			(unsigned long long)read_format);
	return (int)((c.at - words) * sizeof(*words));
}

struct attar_read_value attar_read_at(const struct attar_read *read, uint64_t index)
{
	const record_word *at = (const record_word *)read->words;
	struct attar_read_value value = {0};

	if (index >= read->nr)
		return value;
	if (has(read->format, PERF_FORMAT_GROUP)) {
		at += 1 + times(read->format) + index * stride(read->format);
		value.value = *at++;
	} else {
		value.value = *at;
		at += 1 + times(read->format);
	}
	if (has(read->format, PERF_FORMAT_ID))
		value.id = *at++;
	if (has(read->format, PERF_FORMAT_LOST_))
		value.lost = *at;
	return value;
}

uint64_t attar_read_time_enabled(const struct attar_read *read)
{
	const record_word *words = (const record_word *)read->words;

	return has(read->format, PERF_FORMAT_TOTAL_TIME_ENABLED) ? words[1] : 0;
}

uint64_t attar_read_time_running(const struct attar_read *read)
{
	const record_word *words = (const record_word *)read->words;

	return has(read->format, PERF_FORMAT_TOTAL_TIME_RUNNING) ? words[times(read->format)] : 0;
}
