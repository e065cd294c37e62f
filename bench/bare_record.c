/* SPDX-License-Identifier: MIT */
#include "bare_record.h"

#include <linux/perf_event.h>

struct fixed {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period;
	uint64_t callchain_nr;
	uint64_t callchain[];
};

int bare_record_read(const void *bytes, size_t len, struct bare_sample *ret_sample)
{
	const struct fixed *f = bytes;
	const uint32_t *raw;
	uint64_t left;

	if (len < sizeof(f->header) || f->header.size > len || f->header.size < sizeof(*f) ||
		f->header.type != PERF_RECORD_SAMPLE)
		return -1;
	left = (f->header.size - sizeof(*f)) / 8;
	if (f->callchain_nr >= left)
		return -1;
	left -= f->callchain_nr;
	raw = (const uint32_t *)(f->callchain + f->callchain_nr);
	if (*raw > left * 8 - 4)
		return -1;
	ret_sample->id = f->id;
	ret_sample->ip = f->ip;
	ret_sample->pid = f->pid;
	ret_sample->tid = f->tid;
	ret_sample->time = f->time;
	ret_sample->cpu = f->cpu;
	ret_sample->period = f->period;
	ret_sample->callchain_nr = f->callchain_nr;
	ret_sample->callchain = f->callchain;
	ret_sample->raw_size = *raw;
	ret_sample->raw = raw + 1;
	return 0;
}
