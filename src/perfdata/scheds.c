/* SPDX-License-Identifier: MIT */
#include "perfdata/scheds.h"

#include "perfdata/cursor.h"

enum { PID_LIMIT = 1 << 22, SCHED_BYTES = 40 };

void recording_scheds_put(
	const struct recording_sched *at, size_t n, enum recording_moment moment, struct buf *b)
{
	const uint64_t number = moment;

	buf_add(b, &number, sizeof(number));
	for (size_t i = 0; i < n; i++) {
		const uint32_t ids[] = {(uint32_t)at[i].pid, (uint32_t)at[i].tid};
		const uint64_t values[] = {at[i].time, at[i].ran, at[i].delay, at[i].turns};

		buf_add(b, ids, sizeof(ids));
		buf_add(b, values, sizeof(values));
	}
}

int recording_scheds_read(recording_scheds *scheds, struct cursor *c)
{
	const uint64_t moment = cursor_u64(c);

	while (!c->failed && moment < RECORDING_MOMENTS && cursor_left(c) >= SCHED_BYTES) {
		struct recording_sched sched;
		const uint32_t pid = cursor_u32(c), tid = cursor_u32(c);

		sched.pid = (pid_t)pid;
		sched.tid = (pid_t)tid;
		sched.time = cursor_u64(c);
		sched.ran = cursor_u64(c);
		sched.delay = cursor_u64(c);
		sched.turns = cursor_u64(c);
		if (!tid || tid > PID_LIMIT || pid > PID_LIMIT ||
			scheds[moment].n == RECORDING_SCHEDS_MAX)
			return 0;
		if (vec_push(&scheds[moment], sched) < 0)
			return base_oom();
	}
	return 0;
}
