/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "stack.h"

/* The names of what has none. They are never written to. */
static char unknown[] = "UNKNOWN", unknown_file[] = "Unknown", kernel[] = "[kernel]";

static bool is_kernel(enum attar_dso_kind kind)
{
	return kind == ATTAR_DSO_IS_KERNEL;
}

void kp_symbol_fill(struct attar_symbols *symbols, const struct kp_frame *frame, bool with_lines,
	struct Symbol *ret)
{
	struct attar_symbol symbol = {0};
	bool found = attar_symbols_resolve(symbols, frame->location, &symbol) == 0;

	memset(ret, 0, sizeof(*ret));
	ret->addr = frame->ip;
	ret->module = is_kernel(symbol.kind) ? kernel : (char *)symbol.dso;
	ret->symbolName = found ? (char *)symbol.name : unknown;
	ret->mangleName = found ? (char *)symbol.mangled : unknown;
	/* The location of a caller is in its call instruction, one byte before the address. */
	ret->offset = found ? symbol.offset + frame->caller : 0;
	ret->codeMapAddr = found ? symbol.start + ret->offset : frame->ip;
	ret->codeMapEndAddr = found ? symbol.start + symbol.size : 0;
	if (is_kernel(symbol.kind))
		ret->fileName = kernel;
	else if (with_lines)
		ret->fileName = unknown_file;
}

int kp_stack_resolve(struct kp_list *list, size_t i)
{
	const struct kp_frames *frames = kp_list_frames(list, i);
	enum SymbolMode mode = frames->origin->mode;
	bool with_lines = mode == RESOLVE_ELF_DWARF || mode == RESOLVE_DELAY_DWARF;
	struct Stack *stacks = kp_list_alloc(list, frames->n * sizeof(*stacks));
	struct Symbol *symbols = kp_list_alloc(list, frames->n * sizeof(*symbols));

	if (frames->n == 0)
		return 0;
	if (!stacks || !symbols)
		return -ENOMEM;
	for (size_t at = 0; at < frames->n; at++) {
		kp_symbol_fill(frames->origin->symbols, &frames->at[at], with_lines, &symbols[at]);
		stacks[at] = (struct Stack){
			.symbol = &symbols[at],
			.next = at + 1 < frames->n ? &stacks[at + 1] : NULL,
			.prev = at > 0 ? &stacks[at - 1] : NULL,
		};
	}
	list->rows[i].stack = stacks;
	return 0;
}
