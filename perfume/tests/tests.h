/* SPDX-License-Identifier: CC0-1.0 */
/* cmocka, the internals of the library, and a listener: a pipe in place of the kernel's file. */
#ifndef TESTS_H
#define TESTS_H

#include "../perfume.c"

#include <setjmp.h>
#include <cmocka.h>

#define PIPE_INDEX 7

static int pipe_ends[2];

/* Makes the event see a listener, with the pipe as user_events_data. */
static inline void listen_to(struct perfume_event *event)
{
	assert_int_equal(pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC), 0);
	event->target = (uint64_t)pipe_ends[1] << 32 | PIPE_INDEX;
	*event->word |= PERFUME_WORD_KERNEL;
}

static inline void hang_up(struct perfume_event *event)
{
	*event->word &= ~(uint32_t)PERFUME_WORD_KERNEL;
	event->target = PERFUME_NO_TARGET;
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static inline void expect_packet(const void *payload, size_t n)
{
	char got[8192];
	uint32_t index = PIPE_INDEX;

	assert_int_equal(read(pipe_ends[0], got, sizeof(got)), (ssize_t)(n + sizeof(index)));
	assert_memory_equal(got, &index, sizeof(index));
	assert_memory_equal(got + sizeof(index), payload, n);
}

#endif
