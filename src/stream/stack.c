/* SPDX-License-Identifier: MIT */
#include "attar/stream.h"
#include "attar/unwind.h"
#include "stream/procs.h"
#include "symbol/address_space.h"

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
	if (context != ATTAR_CONTEXT_KERNEL)
		return address_space_locate(space_of(ev->thread), ip);
	return ev->thread->process->space->foreign_kernel
		       ? (ip & 0xffffffffffff) /* ATTAR_DSO_UNKNOWN */
		       : attar_location_kernel(ip);
}

/* The user part from registers and stack, after n locations of the kernel part. */
static size_t unwind(const struct attar_event *ev, attar_location *locations, size_t n, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_unwind_input input = {
		.regs = s->regs_user, .stack = s->stack, .stack_size = s->stack_size};

	return n + attar_unwind(space_of(ev->thread), &input, locations + n, max - n, NULL);
}

size_t attar_event_stack(const struct attar_event *ev, attar_location *locations, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_callchain chain;
	bool has_user = false;
	uint64_t ip;
	size_t n = 0;

	attar_callchain_init(&chain, s->callchain, s->callchain_nr, ev->record->misc);
	while (n < max && attar_callchain_next(&chain, &ip)) {
		has_user |= chain.context != ATTAR_CONTEXT_KERNEL;
		if (has_user && s->regs_user.nr && s->stack)
			break;
		/* A return address is after the call, which may be the end of its function. */
		if (n && chain.context == ATTAR_CONTEXT_KERNEL)
			ip--;
		locations[n] = locate(ev, chain.context, ip);
		if (n && chain.context != ATTAR_CONTEXT_KERNEL &&
			attar_location_dso(locations[n]) == ATTAR_DSO_UNKNOWN)
			break;
		n++;
	}
	/* registers alone are those of the innermost function */
	if (s->regs_user.nr && (s->stack || !has_user) && n < max)
		n = unwind(ev, locations, n, max);
	/* an event from shared memory has no address */
	if (!n && max && (s->ip || ev->record->cpu != UINT32_MAX))
		locations[n++] = locate(ev, chain.context, s->ip);
	return n;
}
