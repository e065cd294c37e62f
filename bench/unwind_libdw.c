/* SPDX-License-Identifier: MIT */
/*
 * User stacks by libdw of elfutils, from the same registers, copied stacks and mappings as attar's.
 * Its modules are read when the mappings have changed.
 */
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>

#include "symbol/address_space.h"
#include "symbol/dso.h"
#include "symbol/symbols.h"
#include "unwind/registers.h"
#include "unwinding.h"

/* The sample that is unwound, and the frames found so far. */
static struct {
	const struct ranges *ranges; /* whose modules were read */
	size_t n_ranges;
	uint64_t first_start, last_start; /* of them: others may have the same address */
	const struct attar_unwind_input *input;
	struct unwind_sampled sampled;
	struct unwind_frame first;
	uint64_t *addresses; /* of the frames */
	size_t frames, max;
} now;

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return 1;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_value, void *arg)
{
	uint64_t at = address - now.first.reg[now.first.machine->sp];

	(void)dwfl;
	(void)arg;
	if (now.input->stack_size < 8 || at > now.input->stack_size - 8)
		return false;
	memcpy(ret_value, (const char *)now.input->stack + at, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	(void)arg;
	if (now.first.machine->elf != EM_X86_64) {
		dwfl_thread_state_register_pc(thread, now.first.pc);
		return dwfl_thread_state_registers(thread, 0, 32, now.first.reg);
	}
	now.first.reg[16] = now.first.pc;
	return dwfl_thread_state_registers(thread, 0, 17, now.first.reg);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;

	(void)arg;
	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	now.addresses[now.frames++] = pc;
	return now.frames == now.max ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* A file with several ranges of code is one module: libdw drops one that is reported again. */
static bool was_reported(const struct ranges *ranges, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (ranges->at[i].dso == ranges->at[number].dso)
			return true;
	return false;
}

static Dwfl *read_modules(struct attar_address_space *space)
{
	static const Dwfl_Callbacks files = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	Dwfl *dwfl = dwfl_begin(&files);

	for (size_t i = 0; i < space->ranges->n; i++) {
		const struct range *range = &space->ranges->at[i];
		const struct dso *dso = dsos_get(&space->symbols->dsos, range->dso);

		if (dso->key.kind == ATTAR_DSO_IS_FILE && !was_reported(space->ranges, i))
			dwfl_report_elf(dwfl, dso->key.path, dso->key.path, -1,
				range->start - range->pgoff, false);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	if (!dwfl_attach_state(dwfl, NULL, 1, &threads, &now)) {
		fprintf(stderr, "%s\n", dwfl_errmsg(-1));
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

static bool is_current(const struct ranges *ranges)
{
	return now.ranges == ranges && now.n_ranges == ranges->n &&
	       now.first_start == ranges->at[0].start &&
	       now.last_start == ranges->at[ranges->n - 1].start;
}

size_t libdw_unwind(struct attar_address_space *space, const struct attar_unwind_input *input,
	uint64_t *ret_addresses, size_t max)
{
	static Dwfl *dwfl;

	if (!space->ranges || !space->ranges->n)
		return 0;
	if (!is_current(space->ranges)) {
		dwfl_end(dwfl);
		dwfl = read_modules(space);
		now.ranges = space->ranges;
		now.n_ranges = space->ranges->n;
		now.first_start = space->ranges->at[0].start;
		now.last_start = space->ranges->at[now.n_ranges - 1].start;
	}
	now.input = input;
	now.addresses = ret_addresses;
	now.frames = 0;
	now.max = max;
	if (!dwfl || !unwind_frame_init(&now.first, &input->regs, &now.sampled))
		return 0;
	dwfl_getthread_frames(dwfl, 1, take_frame, NULL);
	return now.frames;
}
