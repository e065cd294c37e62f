/* SPDX-License-Identifier: MIT */
#include "memory/heap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/pairs.h"
#include "attar/private/thread.h"
#include "lib/registers.h"

enum { DEPTH_MAX = 512, STACK_BYTES = 4096 };

/* Functions, and which of their arguments (from 1; 0: none) have what. */
#define FUNCTIONS(F)                                                                               \
	F(malloc, .size = 1)                                                                       \
	F(calloc, .size = 1, .times = 2)                                                           \
	F(realloc, .old = 1, .size = 2)                                                            \
	F(reallocarray, .old = 1, .size = 2, .times = 3)                                           \
	F(memalign, .size = 2)                                                                     \
	F(aligned_alloc, .size = 2)                                                                \
	F(posix_memalign, .out = 1, .size = 3)                                                     \
	F(valloc, .size = 1)                                                                       \
	F(pvalloc, .size = 1)                                                                      \
	F(mmap, .size = 2, .is_mapping = true)                                                     \
	F(mremap, .old = 1, .size = 3, .is_mapping = true)

enum function_id {
#define F(name_, ...) HEAP_##name_,
	FUNCTIONS(F)
#undef F
		HEAP_FUNCTIONS
};

static const struct function {
	unsigned size, times, old, out;
	bool is_mapping; /* its error is -1 instead of 0 */
} functions[] = {
#define F(name_, ...) {__VA_ARGS__},
	FUNCTIONS(F)
#undef F
};

static const char *const names[] = {
#define F(name_, ...) #name_,
	FUNCTIONS(F)
#undef F
};

/* A call that has not returned. */
struct heap_call {
	enum function_id function;
	uint64_t sp, size, out;
	struct allocation old; /* what realloc() gets; ptr 0: none, or not known */
	uint64_t old_time;
};

enum { SP, ARG, RET = ARG };

static uint64_t argument(const struct attar_event *ev, unsigned i)
{
	return i ? attar_arg_u64(ev, ARG + i - 1) : 0;
}

/* ---- calls ---- */

/* The newest call of the thread that can be open at this stack pointer. */
static const struct heap_call *newest_call(
	struct heap *h, const struct attar_event *ev, uint64_t sp)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const uint64_t key = ev->thread->serial;
	const struct attar_start *open;

	while ((open = pairs_find_open(h->calls, &key, sizeof(key)))) {
		const struct heap_call *call = open->payload;

		if (call->sp >= sp)
			return call;
		attar_pairs_end_u64(h->calls, key, &at); /* it has not returned to its caller */
	}
	return NULL;
}

/* What is at the address; false: it is not known. */
static bool heap_release(struct heap *h, const struct attar_event *ev, uint64_t ptr,
	struct allocation *ret_old, uint64_t *ret_time)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const struct allocation_key key = {(uint64_t)ev->record->pid + 1, ptr};
	const struct attar_start *start =
		ptr ? attar_pairs_end(h->allocations.open, &key, sizeof(key), &at) : NULL;

	if (!start)
		return false;
	*ret_old = *(const struct allocation *)start->payload;
	*ret_time = start->time;
	h->freed++;
	h->freed_bytes += ret_old->size;
	return true;
}

static int on_call(struct heap *h, const struct attar_event *ev, enum function_id id)
{
	const struct function *f = &functions[id];
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const uint64_t sp = attar_arg_u64(ev, SP);
	const struct heap_call *outer = newest_call(h, ev, sp);
	struct heap_call call = {.function = id, .sp = sp, .size = argument(ev, f->size)};
	struct attar_start *start;

	if (outer) /* part of it, or another name of the same function */
		return 0;
	if (f->times && __builtin_mul_overflow(call.size, argument(ev, f->times), &call.size))
		return 0;
	call.out = argument(ev, f->out);
	if (argument(ev, f->old) &&
		!heap_release(h, ev, argument(ev, f->old), &call.old, &call.old_time))
		call.old.ptr = 0;
	start = attar_pairs_start_u64(h->calls, ev->thread->serial, &at);
	if (start)
		*(struct heap_call *)start->payload = call;
	return 0;
}

/* The pointer that posix_memalign() has stored: often in the stack of its caller. */
static uint64_t stored_pointer(
	struct attar_run *run, const struct attar_event *ev, uint64_t address)
{
	const struct attar_sample *sample = &ev->record->sample;
	uint64_t sp, ptr = 0;

	if (registers_stack_pointer(&sample->regs_user, &sp) && sample->stack && address >= sp &&
		address - sp + sizeof(ptr) <= sample->stack_size)
		memcpy(&ptr, (const char *)sample->stack + (address - sp), sizeof(ptr));
	else if (!attar_run_is_live(run) ||
		 thread_memory((pid_t)ev->record->tid, address, &ptr, sizeof(ptr)) != sizeof(ptr))
		return 0;
	return ptr;
}

/* The address that a call has returned; 0: it has failed. */
static uint64_t returned_pointer(
	struct attar_run *run, const struct attar_event *ev, const struct heap_call *call)
{
	const uint64_t ret = attar_arg_u64(ev, RET);

	if (call->out)
		return (uint32_t)ret ? 0 : stored_pointer(run, ev, call->out);
	return functions[call->function].is_mapping && ret == UINT64_MAX ? 0 : ret;
}

/* The call failed, and what it was to change is still there. */
static void heap_restore(struct heap *h, const struct attar_event *ev, const struct heap_call *call)
{
	const struct attar_stamp since = {
		.time = call->old_time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
	const struct allocation_key key = {call->old.space, call->old.ptr};
	struct attar_start *start;

	if (!call->old.ptr || !call->size)
		return;
	h->freed--;
	h->freed_bytes -= call->old.size;
	start = attar_pairs_start(h->allocations.open, &key, sizeof(key), &since);
	if (start)
		*(struct allocation *)start->payload = call->old;
}

static void heap_keep(
	struct heap *h, const struct attar_event *ev, const struct heap_call *call, uint64_t ptr)
{
	struct allocation made = {.event = call->function,
		.space = (uint64_t)ev->record->pid + 1,
		.size = call->size,
		.ptr = ptr};
	attar_location locations[DEPTH_MAX];

	if (h->allocations.graph) {
		size_t n = attar_event_stack(ev, locations, DEPTH_MAX);

		made.stack = attar_stack_table_add(h->allocations.stacks, locations, n);
	}
	snprintf(made.comm, sizeof(made.comm), "%s", ev->thread->comm);
	h->allocated++;
	h->allocated_bytes += made.size;
	allocations_keep(&h->allocations, ev, &made);
}

/*
 * The stack pointer of a return equals the stack pointer of the call, or is above the return
 * address.
 */
static int on_return(struct attar_run *run, struct heap *h, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const uint64_t sp = attar_arg_u64(ev, SP);
	const struct heap_call *found = newest_call(h, ev, sp - sizeof(void *));
	struct heap_call call;
	uint64_t ptr;

	if (!found || found->sp > sp)
		return 0;
	call = *found;
	attar_pairs_end_u64(h->calls, ev->thread->serial, &at);
	ptr = returned_pointer(run, ev, &call);
	h->unread += !ptr && call.out && !(uint32_t)attar_arg_u64(ev, RET);
	if (ptr)
		heap_keep(h, ev, &call, ptr);
	else
		heap_restore(h, ev, &call);
	return 0;
}

static int on_free(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap *h = self;
	struct allocation old;
	uint64_t time;

	(void)run;
	if (!newest_call(h, ev, attar_arg_u64(ev, SP)))
		heap_release(h, ev, attar_arg_u64(ev, ARG), &old, &time);
	return 0;
}

/* Of a mapping, or of its beginning. */
static int on_munmap(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct heap *h = self;
	const uint64_t ptr = attar_arg_u64(ev, ARG), bytes = attar_arg_u64(ev, ARG + 1);
	const struct allocation_key key = {(uint64_t)ev->record->pid + 1, ptr};
	struct allocation old;
	uint64_t time;

	(void)run;
	if (newest_call(h, ev, attar_arg_u64(ev, SP)) ||
		!pairs_find_open(h->allocations.open, &key, sizeof(key)) ||
		!heap_release(h, ev, ptr, &old, &time) || bytes >= old.size)
		return 0;
	h->freed--;
	h->freed_bytes -= old.size - bytes;
	old.ptr += bytes;
	old.size -= bytes;
	allocations_keep(&h->allocations, ev, &old);
	return 0;
}

/* ---- events ---- */

#define F(name_, ...)                                                                              \
	static int call_##name_(struct attar_run *run, void *self, const struct attar_event *ev)   \
	{                                                                                          \
		(void)run;                                                                         \
		return on_call(self, ev, HEAP_##name_);                                            \
	}                                                                                          \
	static int return_##name_(struct attar_run *run, void *self, const struct attar_event *ev) \
	{                                                                                          \
		return on_return(run, self, ev);                                                   \
	}
FUNCTIONS(F)
#undef F

#define CALL_ARGS "args=(sp=$stack a=$arg1 b=$arg2 c=$arg3)/"

static int add_function(struct heap *h, struct attar_run *run, const char *name,
	attar_event_fn *on_call_fn, attar_event_fn *on_return_fn, bool stores)
{
	const char *optional = !strcmp(name, "malloc") ? "" : "optional/";
	char call[128], back[128];
	struct attar_input input = {
		.event = call, .fields = {"sp", "a", "b", "c"}, .on_event = on_call_fn};
	int r;

	snprintf(call, sizeof(call), "uprobe:%s//%s" CALL_ARGS, name, optional);
	snprintf(back, sizeof(back), "uretprobe:%s//%sargs=(sp=$stack ret=$retval)/", name,
		optional);
	r = attar_run_input(run, &input);
	input = (struct attar_input){.event = back,
		.fields = {"sp", "ret"},
		.on_event = on_return_fn,
		.stacks = h->allocations.graph};
	if (stores) {
		input.user_regs = registers_stack_pointer_mask();
		input.user_stack = STACK_BYTES;
	}
	return r == 0 && on_return_fn ? attar_run_input(run, &input) : r;
}

static int check_target(const struct attar_run *run)
{
	if (!attar_run_is_live(run) || attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM)
		return 0;
	return attar_fail(-EINVAL,
		"allocations of programs are watched in a process or a command" ATTAR_FIX
		"give -p PID, or -- COMMAND");
}

static int no_malloc(int r)
{
	if (r == 0 || !strstr(attar_error(), "no function"))
		return r;
	return attar_fail(r, "the watched program has no malloc(), as most programs in Go" ATTAR_FIX
			     "use attar kmemleak, with probes of its own allocator");
}

int heap_open(struct heap *h, struct attar_run *run)
{
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.policy = ATTAR_PAIRS_NESTED,
		.flags = ATTAR_PAIRS_SAME_TASK,
		.payload_size = sizeof(struct heap_call)};
	int r = check_target(run);

	attar_run_all_cpus(run, true); /* a thread moves between CPUs */
	h->allocations.has_stacks = h->allocations.graph;
	h->allocations.has_sizes = true;
	h->allocations.names = names;
	if (r == 0)
		r = allocations_create_tables(&h->allocations);
	if (r == 0)
		r = attar_pairs_new(&opts, &h->calls);
#define F(name_, ...)                                                                              \
	if (r == 0)                                                                                \
		r = add_function(h, run, #name_, call_##name_, return_##name_,                     \
			functions[HEAP_##name_].out);                                              \
	if (HEAP_##name_ == HEAP_malloc)                                                           \
		r = no_malloc(r);
	FUNCTIONS(F)
#undef F
	if (r == 0)
		r = add_function(h, run, "free", on_free, NULL, false);
	return r == 0 ? add_function(h, run, "munmap", on_munmap, NULL, false) : r;
}

void heap_lost(struct heap *h, const struct attar_event *ev)
{
	attar_pairs_lost(h->calls, (int)ev->cpu, ev->lost_from, ev->lost_to);
}

void heap_exited(struct heap *h, const struct attar_event *ev)
{
	if (ev->thread)
		attar_pairs_exit(h->calls, ev->thread->serial);
}

void heap_record(struct heap *h, const struct attar_event *ev)
{
	const struct attar_record *record = ev->record;
	const struct attar_start *open = NULL, *next;

	if (record->type != PERF_RECORD_COMM || !record->comm.exec)
		return;
	for (open = attar_pairs_next_open(h->allocations.open, NULL); open; open = next) {
		struct allocation_key key = *(const struct allocation_key *)open->key;
		uint64_t size = ((const struct allocation *)open->payload)->size;

		next = attar_pairs_next_open(h->allocations.open, open);
		if (key.space != (uint64_t)record->comm.pid + 1)
			continue;
		attar_pairs_drop(h->allocations.open, &key, sizeof(key));
		h->freed++;
		h->freed_bytes += size;
	}
}

void heap_add_remarks(const struct heap *h, struct attar_report *report)
{
	if (h->unread)
		attar_report_remark(report,
			"%llu allocation%s by posix_memalign() %s not counted: the program has "
			"stored the address outside of its stack, and attar read it too late",
			(unsigned long long)h->unread, h->unread == 1 ? "" : "s",
			h->unread == 1 ? "is" : "are");
}

void heap_done(struct heap *h)
{
	attar_pairs_free(h->calls);
}
