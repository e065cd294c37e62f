/* SPDX-License-Identifier: MIT */
/*
 * stacks_compare COMMAND [ARGUMENT...]: samples a command with registers and a copy of 32 KiB of
 * the stack, while the program in the kernel walks the same stacks, and compares both stacks of
 * each sample. Prints JSON: how many samples with user stacks were walked, of these how many are
 * equal, shorter, longer or otherwise different, and how many lead to the start of the thread; how
 * many were copied, and had no record; on stderr the first stacks that differ.
 */
#include <stdio.h>
#include <string.h>

#include "attar/perf.h"
#include "attar/stream.h"
#include "attar/unwind.h"
#include "bpf/stacks.h"
#include "symbol/symbols.h"

enum { DEPTH_MAX = 1200, SHOWN_MAX = 8, FREQUENCY = 997 };

struct result {
	uint64_t samples, walked, copied, missing;
	uint64_t equal, shorter, longer, other;
	uint64_t frames;
};

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, attar_error());
	exit(!strncmp(attar_error(), "walking", 7) || strstr(attar_error(), "BPF") ? 77 : 1);
}

static void show(
	struct attar_symbols *symbols, const char *title, const attar_location *stack, size_t n)
{
	fprintf(stderr, "%s:", title);
	for (size_t i = 0; i < n; i++) {
		struct attar_symbol symbol;

		if (attar_symbols_resolve(symbols, stack[i], &symbol) < 0)
			symbol.name = "?";
		fprintf(stderr, " %s+0x%llx", symbol.name, (unsigned long long)symbol.offset);
	}
	fprintf(stderr, "\n");
}

static void compare(struct attar_symbols *symbols, struct stacks *stacks, struct attar_event *ev,
	struct result *result)
{
	static attar_location unwound[DEPTH_MAX], walked[DEPTH_MAX];
	struct attar_event other = *ev;
	size_t n, m, same = 0;

	if (!ev->record->sample.regs_user.nr)
		return;
	result->samples++;
	n = attar_event_stack(ev, unwound, DEPTH_MAX);
	stacks_add(stacks, &other);
	if (other.record == ev->record) {
		result->missing++;
		return;
	}
	if (other.record->sample.regs_user.nr) {
		result->copied++;
		return;
	}
	m = attar_event_stack(&other, walked, DEPTH_MAX);
	result->walked++;
	result->frames += m;
	while (same < n && same < m && unwound[same] == walked[same])
		same++;
	if (same == n && same == m) {
		result->equal++;
		return;
	}
	result->shorter += same == m;
	result->longer += same == n;
	result->other += same < n && same < m;
	if (result->shorter + result->longer + result->other > SHOWN_MAX)
		return;
	show(symbols, "unwound", unwound, n);
	show(symbols, "walked", walked, m);
}

int main(int argc, char **argv)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .command = argv + 1};
	struct attar_stream_opts how = {.size = sizeof(how), .ring_bytes = 16 << 20, .track = true};
	struct stacks_opts taken = {.own_pid = getpid(), .memory = 128 << 20};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = FREQUENCY,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1,
		.enable_on_exec = 1};
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	struct attar_event ev;
	struct result result = {0};
	struct stacks_stats stats;
	struct stacks *stacks;
	uint64_t updated = 0;
	int r;

	if (argc < 2)
		return 2;
	attar_stream_attr(&attr, false);
	if (stacks_new(&taken, &stacks) < 0)
		fail("stacks");
	if (attar_unwind_attr(&attr, 32 << 10) < 0 || attar_symbols_new(NULL, &symbols) < 0 ||
		attar_target_new(&opts, &target) < 0 ||
		attar_counter_open(target, &attr, "cpu-clock", 0, &counter) < 0 ||
		attar_counter_attach_bpf(counter, stacks_program(stacks)) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &how, &stream) < 0 ||
		attar_stream_start(stream) < 0 || attar_target_start(target) < 0)
		fail("start");
	while ((r = attar_stream_read(stream, -1, &ev)) > 0) {
		if (ev.record->type == PERF_RECORD_SAMPLE)
			compare(symbols, stacks, &ev, &result);
		else if (ev.record->type == PERF_RECORD_MMAP2)
			stacks_forget(stacks, (pid_t)ev.record->mmap.pid);
		if (ev.time > updated + 50000000) {
			updated = ev.time;
			stacks_update(stacks, stream);
		}
	}
	stacks_get_stats(stacks, &stats);
	printf("{\"samples\":%llu,\"walked\":%llu,\"copied\":%llu,\"missing\":%llu,\"lost\":%llu,"
	       "\"equal\":%llu,\"shorter\":%llu,\"longer\":%llu,\"other\":%llu,"
	       "\"complete\":%llu,\"frames\":%llu,\"bytes\":%llu,"
	       "\"refused\":%llu}\n",
		(unsigned long long)result.samples, (unsigned long long)result.walked,
		(unsigned long long)result.copied, (unsigned long long)result.missing,
		(unsigned long long)stats.lost, (unsigned long long)result.equal,
		(unsigned long long)result.shorter, (unsigned long long)result.longer,
		(unsigned long long)result.other, (unsigned long long)stats.walked,
		(unsigned long long)result.frames, (unsigned long long)stats.bytes,
		(unsigned long long)stats.refused);
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	stacks_free(stacks);
	return r == -ENOTCONN ? 0 : 1;
}
