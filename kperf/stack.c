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

void kp_symbol_fill(struct attar_symbols *symbols, const struct kp_frame *frame, struct Symbol *ret)
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
	ret->fileName = is_kernel(symbol.kind) ? kernel : unknown_file;
}

static void set_line(struct Symbol *symbol, const struct attar_frame *found)
{
	symbol->fileName = found->file ? (char *)found->file : unknown_file;
	symbol->lineNum = found->line;
}

/* The line at which the function that has the code begins; 0: unknown. */
static unsigned first_line(
	struct attar_symbols *symbols, const struct kp_frame *frame, const struct Symbol *symbol)
{
	attar_location start = frame->location - (symbol->offset - frame->caller);
	struct attar_frame found[KP_MOST_INLINED];
	size_t n;

	if (symbol->symbolName == unknown)
		return 0;
	n = (size_t)attar_symbols_frames(symbols, start, found, KP_MOST_INLINED);
	return n <= KP_MOST_INLINED ? found[n - 1].line : 0;
}

void kp_symbol_line(
	struct attar_symbols *symbols, const struct kp_frame *frame, struct Symbol *symbol)
{
	struct attar_frame found;

	if (frame->kernel)
		return;
	attar_symbols_frames(symbols, frame->location, &found, 1);
	set_line(symbol, &found);
	symbol->firstLine = first_line(symbols, frame, symbol);
}

size_t kp_symbols_fill(struct attar_symbols *symbols, const struct kp_frame *frame,
	struct Symbol ret[static KP_MOST_INLINED])
{
	struct attar_frame found[KP_MOST_INLINED];
	size_t n;

	kp_symbol_fill(symbols, frame, &ret[0]);
	if (frame->kernel)
		return 1;
	n = attar_symbols_frames(symbols, frame->location, found, KP_MOST_INLINED);
	if (n > KP_MOST_INLINED)
		n = KP_MOST_INLINED;
	for (size_t i = 0; i < n; i++) {
		ret[i] = ret[0];
		set_line(&ret[i], &found[i]);
	}
	ret[n - 1].firstLine = first_line(symbols, frame, &ret[n - 1]);
	for (size_t i = 0; i + 1 < n; i++) {
		ret[i].symbolName = found[i].name ? (char *)found[i].name : unknown;
		ret[i].mangleName = found[i].mangled ? (char *)found[i].mangled : unknown;
	}
	return n;
}

/* Appends the functions at a frame to a stack. */
static int add_frame(struct kp_list *list, const struct kp_frames *frames, size_t at,
	struct Stack **first, struct Stack **last)
{
	enum SymbolMode mode = frames->origin->mode;
	struct attar_symbols *names = frames->origin->symbols;
	struct Symbol found[KP_MOST_INLINED], *symbols;
	struct Stack *stacks;
	size_t n = 1;

	if (mode == RESOLVE_ELF_DWARF || mode == RESOLVE_DELAY_DWARF)
		n = kp_symbols_fill(names, &frames->at[at], found);
	else
		kp_symbol_fill(names, &frames->at[at], found);
	symbols = kp_list_alloc(list, n * sizeof(*symbols));
	stacks = kp_list_alloc(list, n * sizeof(*stacks));
	if (!symbols || !stacks)
		return -ENOMEM;
	memcpy(symbols, found, n * sizeof(*symbols));
	for (size_t i = 0; i < n; i++) {
		stacks[i] = (struct Stack){.symbol = &symbols[i], .prev = *last};
		*(*last ? &(*last)->next : first) = &stacks[i];
		*last = &stacks[i];
	}
	return 0;
}

int kp_stack_make(struct kp_list *memory, const struct kp_frames *frames, struct Stack **ret_stack)
{
	struct Stack *first = NULL, *last = NULL;

	for (size_t at = 0; at < frames->n; at++)
		if (add_frame(memory, frames, at, &first, &last) < 0)
			return -ENOMEM;
	*ret_stack = first;
	return 0;
}
