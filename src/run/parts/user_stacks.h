/* SPDX-License-Identifier: MIT */
/* How user stacks are taken: by the kernel, or from registers and a copy of the stack. */
#ifndef RUN_PARTS_USER_STACKS_H
#define RUN_PARTS_USER_STACKS_H

#include "attar/run.h"

/* Whether a word is a METHOD of --unwind, so that it may follow --call-graph as a separate word. */
bool user_stacks_is_method(const char *word);

/* Whether the method is --unwind lbr. */
bool user_stacks_are_by_lbr(const struct attar_run *run);

/*
 * After an event could not be opened: the error, with the reason if it is that the machine has no
 * last branch records.
 */
int user_stacks_refused(const struct attar_run *run, const char *event, int error);

/* ns of CPU time of the processes that read files, see symbol/reader.h. */
uint64_t user_stacks_readers_cpu(const struct attar_run *run);

#endif
