/* SPDX-License-Identifier: MIT */
/* How user stacks are taken: by the kernel, or from registers and a copy of the stack. */
#ifndef RUN_USER_STACKS_H
#define RUN_USER_STACKS_H

#include "attar/run.h"
#include "unwind/frame_pointers.h"

struct run_user_stacks {
	bool by_cfi;    /* --unwind dwarf, or auto where it is supported */
	bool is_auto;   /* --unwind auto */
	bool is_chosen; /* auto: according to the modules of the processes */
	struct frame_pointers frame_pointers; /* of these modules */
	bool by_lbr;    /* --unwind lbr */
	uint32_t bytes; /* of the stack to copy; 0: the default */
};

/* Applies --inline, --lines and the limit of stacks to the symbols of the run. */
void user_stacks_show(struct attar_run *run);

/* Whether a word is a METHOD of --unwind, so that it may follow --call-graph as a separate word. */
bool user_stacks_is_method(const char *word);

/* Frames of a stack at most, as the kernel takes it: kernel.perf_event_max_stack. In sampler.c. */
uint32_t sampler_max_stack(void);

/* Reads --unwind. Returns 0 or -EINVAL. Call it before anything is opened. */
int user_stacks_prepare(struct attar_run *run);

/*
 * Changes the attributes of an event with stacks accordingly. The target is known. Returns 0,
 * -EOPNOTSUPP or -ENOMEM.
 */
int user_stacks_set_attr(struct attar_run *run, struct perf_event_attr *attr);

/*
 * After an event could not be opened: the error, with the reason if it is that the machine has no
 * last branch records.
 */
int user_stacks_refused(const struct attar_run *run, const char *event, int error);

/* Adds remarks about incomplete stacks, and inlined functions that are missing in them. */
void user_stacks_remark(const struct attar_run *run, struct attar_report *report);

#endif
