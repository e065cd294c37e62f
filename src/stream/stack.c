/* SPDX-License-Identifier: MIT */
#include "attar/private/stream.h"
#include "attar/stream.h"
#include "attar/unwind.h"
#include "base/check_arg.h"
#include "stream/procs.h"
#include "symbol/address_space.h"
#include "symbol/symbols.h"

enum { FULL_MIN = 16 }; /* shorter call chains are not compared with the kernel's limit */

static struct attar_address_space *space_of(const struct attar_thread *thread)
{
	struct process *process = (struct process *)thread->process;

	if (unlikely(process->is_unread))
		procs_scan(process);
	return process->pub.space;
}

attar_location attar_thread_locate(struct attar_thread *thread, uint64_t ip)
{
	return attar_address_space_locate(space_of(thread), ip);
}

static attar_location locate(
	const struct attar_event *ev, enum attar_code_context context, uint64_t ip)
{
	return context == ATTAR_CONTEXT_KERNEL
		       ? address_space_kernel(ev->thread->process->space, ip)
		       : address_space_locate(space_of(ev->thread), ip);
}

attar_location event_location(const struct attar_event *ev)
{
	CHECK_ARG_OR(ev, "event", 0);

	const struct attar_sample *s = &ev->record->sample;
	unsigned mode = ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (!s->ip || (mode != PERF_RECORD_MISC_KERNEL && mode != PERF_RECORD_MISC_USER))
		return 0;
	return locate(ev,
		mode == PERF_RECORD_MISC_KERNEL ? ATTAR_CONTEXT_KERNEL : ATTAR_CONTEXT_USER, s->ip);
}

/* A caller that requests one frame does not need the others. */
static void count_cut(struct cut_stacks *stacks, size_t max)
{
	if (max == 1)
		return;
	stacks->n++;
	if (max > stacks->frames)
		stacks->frames = (uint32_t)max;
}

/* Whether the sample has registers from which the user part can be found. */
static bool has_registers(const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_address_space *space = ev->thread->process->space;

	if (!s->regs_user.nr)
		return false;
	space->symbols->foreign_stacks += space->is_foreign && s->stack;
	return !space->is_foreign;
}

/* The user part from registers and stack, after n locations of the kernel part. */
static size_t unwind(const struct attar_event *ev, attar_location *locations, size_t n, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_unwind_input input = {
		.regs = s->regs_user, .stack = s->stack, .stack_size = s->stack_size};

	struct attar_address_space *space = space_of(ev->thread);
	enum attar_unwind_end end;

	n += attar_unwind(space, &input, locations + n, max - n, &end);
	if (end == ATTAR_UNWIND_LIMIT)
		count_cut(&space->symbols->cut_stacks, max);
	return n;
}

static void count_fp(struct attar_symbols *symbols, size_t frames)
{
	symbols->fp_stacks.n++;
	symbols->fp_stacks.n_alone += frames == 1;
}

/* The kernel does not say that it has cut a stack: one of the limit is most likely cut. */
static __attribute__((noinline)) void count_full(const struct attar_event *ev)
{
	struct fp_stacks *stacks = &ev->thread->process->space->symbols->fp_stacks;
	const struct attar_sample *s = &ev->record->sample;
	struct attar_callchain chain;
	uint64_t ip, frames = 0;

	attar_callchain_init(&chain, s->callchain, s->callchain_nr, ev->record->misc);
	while (attar_callchain_next(&chain, &ip))
		frames++;
	stacks->n_full += frames && frames == stacks->limit;
}

static bool is_code(attar_location location)
{
	return attar_location_dso(location) != ATTAR_DSO_UNKNOWN;
}

static void count_branches(struct branch_stacks *stacks, uint32_t callers)
{
	if (callers > stacks->most) {
		stacks->most = callers;
		stacks->n_most = 0;
	}
	stacks->n_most += callers == stacks->most;
	stacks->n++;
}

/*
 * The user part from a call stack of last branch records, after n locations of the kernel part:
 * the address in user code, 0 if the call chain has none, then the call of each open function.
 */
static size_t add_branches(
	const struct attar_event *ev, uint64_t ip, attar_location *locations, size_t n, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_address_space *space = space_of(ev->thread);
	uint32_t callers = 0;

	if (n < max) /* without an address: the target of the newest call */
		locations[n++] = address_space_locate(space, ip ?: s->branches[0].to);
	for (; callers < s->branch_nr && n < max; callers++, n++) {
		locations[n] = address_space_locate(space, s->branches[callers].from);
		if (!is_code(locations[n]))
			break;
	}
	count_branches(&space->symbols->branch_stacks, callers);
	return n;
}

size_t attar_event_stack(const struct attar_event *ev, attar_location *locations, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	bool by_branches = s->branch_calls && s->branch_nr;
	bool by_registers = !by_branches && has_registers(ev);
	bool is_user_apart = by_branches || (by_registers && s->stack);
	struct attar_callchain chain;
	bool has_user = false;
	uint64_t ip, user_ip = 0;
	size_t n = 0, user_at = 0;

	if (unlikely(s->callchain_nr >= FULL_MIN) && max > 1)
		count_full(ev);
	attar_callchain_init(&chain, s->callchain, s->callchain_nr, ev->record->misc);
	while (n < max && attar_callchain_next(&chain, &ip)) {
		if (!has_user)
			user_at = n;
		has_user |= chain.context != ATTAR_CONTEXT_KERNEL;
		if (has_user && is_user_apart) {
			user_ip = ip;
			break;
		}
		locations[n] = locate(ev, chain.context, ip - chain.caller);
		if (n && chain.context != ATTAR_CONTEXT_KERNEL && !is_code(locations[n]))
			break;
		n++;
	}
	if (has_user && !is_user_apart && n < max)
		count_fp(space_of(ev->thread)->symbols, n - user_at);
	/* registers alone describe the innermost function */
	if (by_branches)
		n = add_branches(ev, user_ip, locations, n, max);
	else if (by_registers && (s->stack || !has_user) && n < max)
		n = unwind(ev, locations, n, max);
	/* an event from shared memory has no address */
	if (!n && max && (s->ip || ev->record->cpu != UINT32_MAX))
		locations[n++] = locate(ev, chain.context, s->ip);
	return n;
}
