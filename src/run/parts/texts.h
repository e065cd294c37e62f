/* SPDX-License-Identifier: MIT */
#ifndef RUN_PARTS_TEXTS_H
#define RUN_PARTS_TEXTS_H

#include "attar/expr.h"
#include "attar/run.h"
#include "bpf/texts.h"

/*
 * The text that the thread of a record gave to its system call at this address, as it was then.
 * None: it was not copied.
 */
enum texts_found run_text_of_call(struct attar_run *run, const struct attar_expr_record *record,
	uint64_t address, char *ret_text, size_t max, size_t *ret_n);

/* Whether no other text is to be given, see run_read_copies(). */
bool run_reads_only_copies(const struct attar_run *run);

#endif
