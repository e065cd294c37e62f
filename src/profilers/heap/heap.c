/* SPDX-License-Identifier: MIT */
/*
 * heap: the memory of a command that preloads libperfume-heap.so, by the stack that allocated it.
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/stats.h"
#include "heap/library.h"
#include "heap/report.h"

enum { LIVE_MAX = 1 << 22, FRAMES_MAX = 512, KEPT_MAX = 64 };

enum { SAMPLE_DEFAULT = 512 * 1024, SOON_DEFAULT = 1000000 };

/* Of perfume/heap/heap.h. */
enum { CALLS = 5 };

static const char *const calls[CALLS] = {"malloc", "calloc", "realloc", "aligned_alloc", "mmap"};

struct heap_profiler {
	struct heap_state state; /* first */
	struct library_opts library;
	attar_location labels[CALLS];
	/* The newest frees, of which a realloc() that has failed says that they were none. */
	struct live_object freed[KEPT_MAX];
	unsigned n_freed;
};

/* ---- processes ---- */

/*
 * The memory of a process is no more: it executes another program, which frees it, or it has ended,
 * and reports say what was live then.
 */
static void leave(struct heap_state *state, uint32_t pid, bool has_ended)
{
	uint64_t before = state->live.n;
	struct live_object *object =
		live_may_have(&state->live, pid) ? live_next(&state->live, NULL) : NULL;

	while (object) {
		if (object->pid != pid) {
			object = live_next(&state->live, object);
			continue;
		}
		if (has_ended)
			sums_left(&state->sums, object);
		else
			sums_freed(&state->sums, object, UINT64_MAX);
		live_remove(&state->live, object);
		object = live_again(&state->live, object);
	}
	state->ended += has_ended && before != state->live.n;
}

enum { INTERVAL, OWN };

static int on_start(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap_state *state = self;

	(void)run;
	leave(state, ev->record->pid, false);
	state->processes++;
	state->bypassed += !attar_arg_u64(ev, OWN);
	state->sample = attar_arg_u64(ev, INTERVAL);
	return 0;
}

/* ---- allocations ---- */

enum { ADDRESS, SIZE, WEIGHT, CALL, STACK };

/* The call is the innermost frame. Addresses are return addresses: the calls are before them. */
static uint32_t stack_of(
	struct heap_profiler *h, struct attar_run *run, const struct attar_event *ev)
{
	attar_location locations[FRAMES_MAX];
	uint64_t call = attar_arg_u64(ev, CALL), address;
	size_t size, n = 1;
	const char *addresses = attar_arg_bytes(ev, STACK, &size);

	call = call < CALLS ? call : 0;
	if (!h->labels[call])
		h->labels[call] = attar_symbols_label(attar_run_symbols(run), calls[call]);
	locations[0] = h->labels[call];
	for (; size >= sizeof(address) && n < FRAMES_MAX; size -= sizeof(address)) {
		memcpy(&address, addresses, sizeof(address));
		addresses += sizeof(address);
		locations[n++] = attar_thread_locate(ev->thread, address - 1);
	}
	return attar_stack_table_add(h->state.stacks, locations, n);
}

static int on_alloc(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap_profiler *h = self;
	struct heap_state *state = &h->state;
	struct live_object made = {.address = attar_arg_u64(ev, ADDRESS),
		.pid = ev->record->pid,
		.size = attar_arg_u64(ev, SIZE),
		.born = ev->time,
		.weight = attar_arg_double(ev, WEIGHT)};
	struct live_object *old = live_find(&state->live, made.pid, made.address);
	struct sums_row *row;

	if (!(made.weight >= 1 && made.weight <= 1e15) || made.size > INT64_MAX)
		return 0; /* not of the library */
	if (old) {        /* its free was lost */
		sums_freed(&state->sums, old, ev->time);
		live_remove(&state->live, old);
		state->replaced++;
	}
	made.stack = stack_of(h, run, ev);
	row = sums_row(&state->sums, made.stack);
	if (!row)
		return -ENOMEM;
	if (!*row->comm)
		snprintf(row->comm, sizeof(row->comm), "%s", ev->thread->comm);
	sums_allocated(&state->sums, &made);
	if (live_add(&state->live, &made) > 0)
		return 0;
	sums_freed(&state->sums, &made, UINT64_MAX);
	return 0;
}

static void release(struct heap_profiler *h, struct live_object *object, uint64_t time)
{
	h->freed[h->n_freed++ % KEPT_MAX] = *object;
	sums_freed(&h->state.sums, object, time);
	live_remove(&h->state.live, object);
}

/* realloc() has failed: the object is still there. */
static void keep(struct heap_profiler *h, uint32_t pid, uint64_t address)
{
	for (unsigned i = 1; i <= KEPT_MAX && i <= h->n_freed; i++) {
		struct live_object *freed = &h->freed[(h->n_freed - i) % KEPT_MAX];

		if (freed->address != address || freed->pid != pid)
			continue;
		if (!live_find(&h->state.live, pid, address) && live_add(&h->state.live, freed) > 0)
			sums_kept(&h->state.sums, freed);
		freed->pid = 0;
		break;
	}
}

/* A whole mapping, or its first bytes. */
static void unmap(
	struct heap_profiler *h, struct live_object *object, uint64_t bytes, uint64_t time)
{
	struct live_object rest = *object;

	release(h, object, time);
	if (bytes >= rest.size)
		return;
	rest.address += bytes;
	rest.size -= bytes;
	if (live_add(&h->state.live, &rest) > 0)
		sums_kept(&h->state.sums, &rest);
}

/* The second field of heap_free: otherwise it is the number of bytes that are unmapped. */
enum { HOW = 1 };
enum { FREED = 0, KEPT = 1 };

/* What is not known was allocated before the start, or not sampled. */
static int on_free(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap_profiler *h = self;
	const uint64_t address = attar_arg_u64(ev, ADDRESS), how = attar_arg_u64(ev, HOW);
	struct live_object *object = live_find(&h->state.live, ev->record->pid, address);

	(void)run;
	if (how == KEPT)
		keep(h, ev->record->pid, address);
	else if (object && how == FREED)
		release(h, object, ev->time);
	else if (object)
		unmap(h, object, how, ev->time);
	return 0;
}

static const struct attar_input inputs[] = {
	{.event = "user_events:heap_start//transport=shm/optional/",
		.fields = {"interval", "own"},
		.on_event = on_start},
	{.event = "user_events:heap_alloc//transport=shm/optional/",
		.fields = {"address", "size", "weight", "call", "stack"},
		.on_event = on_alloc},
	{.event = "user_events:heap_free//transport=shm/optional/",
		.fields = {"address", "how"},
		.on_event = on_free},
	{0}};

/* ---- life ---- */

static int heap_profiler_open(struct attar_run *run, void *self)
{
	struct heap_profiler *h = self;
	int r = 0;

	h->library.sample = h->library.sample ?: 1;
	h->state.sample = h->library.sample;
	h->state.sums.soon = h->state.soon;
	h->state.is_running = attar_run_is_live(run) && !run_command(run);
	if (h->state.is_running)
		r = library_find(run, &h->state.sample);
	else if (attar_run_is_live(run))
		r = library_preload(run, &h->library);
	if (r == 0)
		r = attar_stack_table_new(0, &h->state.stacks);
	return r == 0 ? attar_run_inputs(run, inputs) : r;
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	(void)run;
	if (ev->thread && ev->thread->tid == ev->thread->process->pid)
		leave(self, (uint32_t)ev->thread->tid, true);
	return 0;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap_state *state = self;

	(void)run;
	(void)ev;
	state->has_lost = true;
	return 0;
}

static void heap_profiler_close(void *self)
{
	struct heap_profiler *h = self;

	live_done(&h->state.live);
	sums_done(&h->state.sums);
	attar_stack_table_free(h->state.stacks);
}

static void heap_profiler_defaults(void *self)
{
	struct heap_profiler *h = self;

	h->library.sample = SAMPLE_DEFAULT;
	h->state.live.max = LIVE_MAX;
	h->state.soon = SOON_DEFAULT;
}

#define T struct heap_profiler

static const struct attar_option options[] = {
	ATTAR_SIZE(T, library.sample, 0, "sample", "BYTES",
		"a sample for each BYTES that are allocated, on average (default 512K); 1: each "
		"allocation",
		.min = 1),
	ATTAR_TIME(T, state.soon, 0, "soon", "TIME",
		"what is freed within this time was temporary (default 1ms)", .bare = 1000000),
	ATTAR_FLAG(T, library.maps, 0, "mmap", "also memory of mmap()"),
	ATTAR_TEXT(T, library.path, 0, "library", "FILE",
		"the library to preload (default: libperfume-heap.so.1 of this installation)",
		.complete = "file"),
	{0}};

static const struct attar_example examples[] = {
	{"heap -- ./program", "what a program has not freed when it ends, by stack"},
	{"heap -i 10s -- ./server", "what grows, every ten seconds"},
	{"heap --sample 1 -- ./program", "each allocation, exactly"},
	{"heap -p 1234 -i 10s", "what grows in a process that was started with the library"}, {0}};

const struct attar_profiler profiler_heap = {
	.name = "heap",
	.group = "Memory",
	.summary = "memory that a program allocates and keeps, by stack, at little cost",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events",
	.self_size = sizeof(struct heap_profiler),
	.options = options,
	.examples = examples,
	.defaults = heap_profiler_defaults,
	.open = heap_profiler_open,
	.lost = on_lost,
	.exited = on_exited,
	.report = heap_report,
	.close = heap_profiler_close,
};
