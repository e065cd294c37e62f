/* SPDX-License-Identifier: MIT */
/*
 * unwind_recording FILE [libdw|libunwind]: unwinds the user stack of each sample of a recording
 * that has registers and a copy of the stack: once, which reads what is new, and then TURNS times,
 * which is measured. Prints JSON: stacks and frames of one turn, and the CPU time of a turn in ns.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perfdata/recording.h"
#include "stream/stream.h"
#include "unwinding.h"

enum { DEPTH_MAX = 512, TURNS = 100 };

struct result {
	uint64_t stacks, frames, ns;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static size_t attar_frames(
	struct attar_address_space *space, const struct attar_unwind_input *input, size_t max)
{
	attar_location locations[DEPTH_MAX];

	return attar_unwind(space, input, locations, max, NULL);
}

#ifdef HAVE_LIBDW
static size_t libdw_frames(
	struct attar_address_space *space, const struct attar_unwind_input *input, size_t max)
{
	uint64_t addresses[DEPTH_MAX];

	return libdw_unwind(space, input, addresses, max);
}
#endif

#ifdef HAVE_LIBUNWIND
static size_t libunwind_frames(
	struct attar_address_space *space, const struct attar_unwind_input *input, size_t max)
{
	uint64_t addresses[DEPTH_MAX];

	return libunwind_unwind(space, input, addresses, max);
}
#endif

typedef size_t unwind_fn(
	struct attar_address_space *space, const struct attar_unwind_input *input, size_t max);

static void measure(struct result *result, const struct attar_event *ev, unwind_fn *unwind)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_unwind_input input = {
		.regs = s->regs_user, .stack = s->stack, .stack_size = s->stack_size};
	struct attar_address_space *space = ev->thread->process->space;
	size_t frames = unwind(space, &input, DEPTH_MAX);
	uint64_t began = cpu_ns();

	for (int turn = 0; turn < TURNS; turn++)
		unwind(space, &input, DEPTH_MAX);
	result->ns += (cpu_ns() - began) / TURNS;
	result->frames += frames;
	result->stacks++;
}

int main(int argc, char **argv)
{
	unwind_fn *unwind = attar_frames;
	struct attar_symbols *symbols = NULL;
	struct attar_stream *stream = NULL;
	struct recording *recording = NULL;
	struct result result = {0};
	struct attar_event ev;

	if (argc < 2 || recording_open(argv[1], &recording) < 0 ||
		attar_symbols_new(NULL, &symbols) < 0 ||
		stream_replay(recording, symbols, &stream) < 0 || attar_stream_start(stream) < 0) {
		fprintf(stderr, "unwind_recording: %s\n", attar_error());
		return 1;
	}
#ifdef HAVE_LIBDW
	if (argc > 2 && !strcmp(argv[2], "libdw"))
		unwind = libdw_frames;
#endif
#ifdef HAVE_LIBUNWIND
	if (argc > 2 && !strcmp(argv[2], "libunwind"))
		unwind = libunwind_frames;
#endif
	if (argc > 2 && unwind == attar_frames) {
		fprintf(stderr, "unwind_recording: built without %s\n", argv[2]);
		return 1;
	}
	while (!stream_drained(stream))
		while (attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_SAMPLE && ev.record->sample.regs_user.nr)
				measure(&result, &ev, unwind);
	printf("{\"stacks\": %llu, \"frames\": %llu, \"ns\": %llu}\n",
		(unsigned long long)result.stacks, (unsigned long long)result.frames,
		(unsigned long long)result.ns);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	return result.stacks ? 0 : 1;
}
