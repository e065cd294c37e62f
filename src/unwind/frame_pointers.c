/* SPDX-License-Identifier: MIT */
#include "unwind/frame_pointers.h"

#include "dwarf/cfi.h"
#include "symbol/address_space.h"
#include "symbol/symbols.h"
#include "unwind/registers.h"

/* Of the code, the rest is prologues, epilogues and assembly. */
enum { KEPT_PERCENT = 75 };

static bool is_saved(const struct cfi_rules *rules, unsigned reg, int *ret_at)
{
	for (unsigned i = 0; i < rules->n; i++) {
		*ret_at = rules->rules[i].value;
		if (rules->rules[i].reg == reg)
			return rules->rules[i].how == CFI_AT_CFA;
	}
	return false;
}

/*
 * x86-64: the CFA is computed from the frame pointer. arm64: it is mostly computed from sp, and the
 * frame pointer and the return address are saved next to each other.
 */
static bool has_frame(const struct cfi_rules *rules, const struct unwind_machine *machine)
{
	int fp, back;

	if (machine->elf != EM_AARCH64)
		return !rules->cfa_expression && rules->cfa_reg == machine->fp;
	return is_saved(rules, machine->fp, &fp) && is_saved(rules, rules->return_reg, &back) &&
	       back == fp + 8;
}

/* Whether nearly all code of a binary that can have callers keeps them. */
static bool cfi_keeps_frame_pointers(const struct cfi_table *table)
{
	const struct unwind_machine *machine = unwind_machine_of(table->machine);
	uint64_t kept = 0, all = 0;

	for (uint32_t i = 0; machine && i + 1 < table->n; i++) {
		const struct cfi_rules *rules = cfi_table_find(table, table->starts[i]);
		uint32_t size = table->starts[i + 1] - table->starts[i];
		int at;

		/* arm64: a function that calls none needs no frame */
		if (!rules || !is_saved(rules, rules->return_reg, &at))
			continue;
		all += size;
		kept += has_frame(rules, machine) ? size : 0;
	}
	return kept && kept * 100 >= all * KEPT_PERCENT;
}

/* Modules by number: 1 if they keep them, or have no call frame information. */
static int look_at(
	struct attar_symbols *symbols, pid_t pid, struct map *seen, struct frame_pointers *found)
{
	struct attar_address_space *space = attar_address_space_new(symbols, pid);
	int r = space ? attar_address_space_scan(space) : -ENOMEM;

	if (r != -ENOMEM) /* the process has ended, or is another user's */
		r = 0;
	for (size_t i = 0; r == 0 && !found->without && space->ranges && i < space->ranges->n;
		i++) {
		attar_location at = attar_address_space_locate(space, space->ranges->at[i].start);
		enum attar_dso_kind kind;
		const char *path = attar_symbols_dso(symbols, at, &kind);
		struct cfi_table *table;

		if (kind != ATTAR_DSO_IS_FILE || map_get(seen, attar_location_dso(at)))
			continue;
		r = map_put(seen, attar_location_dso(at), 1);
		table = symbols_cfi(space, at);
		r = r == 0 ? cfi_complete(table) : r;
		if (!table->n)
			continue;
		if (cfi_keeps_frame_pointers(table))
			found->modules++;
		else
			found->without = path;
	}
	attar_address_space_free(space);
	return r;
}

int frame_pointers_find(
	struct attar_symbols *symbols, const parse_ints *pids, struct frame_pointers *ret_found)
{
	struct map seen = {0};
	int r = 0;

	*ret_found = (struct frame_pointers){0};
	vec_each (pids, pid)
		if (r == 0 && !ret_found->without)
			r = look_at(symbols, *pid, &seen, ret_found);
	map_done(&seen);
	attar_error_clear();
	return r;
}
