/* SPDX-License-Identifier: MIT */
#include "sched/wakers.h"

#include <string.h>

enum { IN_INTERRUPT = 0x18 /* common_flags: in a hard or soft interrupt */ };

/* Whether a kernel function is the entry of interrupts. Each location is resolved once. */
static bool is_entry(struct wakers *wakers, struct attar_symbols *symbols, attar_location location)
{
	static const char *const entries[] = {"asm_sysvec_", "asm_common_interrupt", "asm_exc_nmi",
		"apic_timer_interrupt", "common_interrupt", "ret_from_intr", "el1_irq",
		"el1h_64_irq", "el0_irq", "el0t_64_irq", "__irq_svc"};
	size_t i = (size_t)(location * 0x9e3779b97f4a7c15ULL >> 54) % WAKERS_SEEN;
	struct attar_symbol symbol;

	if (wakers->seen[i].location == location)
		return wakers->seen[i].is_entry;
	wakers->seen[i].location = location;
	wakers->seen[i].is_entry = false;
	if (attar_symbols_resolve(symbols, location, &symbol) == 0)
		for (size_t e = 0; e < sizeof(entries) / sizeof(*entries); e++)
			if (!strncmp(symbol.name, entries[e], strlen(entries[e])))
				wakers->seen[i].is_entry = true;
	return wakers->seen[i].is_entry;
}

/* Leaves out the stack of the task that was interrupted. */
static void cut_interrupted(
	struct wakers *wakers, struct attar_symbols *symbols, struct waker *waker)
{
	uint16_t n = 0;

	while (n < waker->depth && attar_location_dso(waker->stack[n]) == ATTAR_DSO_KERNEL)
		if (is_entry(wakers, symbols, waker->stack[n++]))
			break;
	waker->depth = n;
}

void wakers_read(struct wakers *wakers, struct attar_run *run, const struct attar_event *ev,
	struct waker *ret_waker)
{
	const struct attar_thread *thread = ev->thread;

	memset(ret_waker->comm, 0, sizeof(ret_waker->comm));
	ret_waker->pid = ret_waker->tid = 0;
	ret_waker->depth = (uint16_t)attar_event_stack(ev, ret_waker->stack, WAKER_DEPTH_MAX);
	if (attar_arg_u64(ev, WAKERS_FLAGS) & IN_INTERRUPT) {
		memcpy(ret_waker->comm, "[interrupt]", sizeof("[interrupt]"));
		cut_interrupted(wakers, attar_run_symbols(run), ret_waker);
	} else if (thread) {
		strncpy(ret_waker->comm, thread->comm, WAKER_COMM_BYTES - 1);
		ret_waker->tid = thread->tid;
		ret_waker->pid = thread->process ? thread->process->pid : 0;
	}
}
