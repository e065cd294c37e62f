/* SPDX-License-Identifier: MIT */
/* The descriptor of attar_run_fd(). */
#ifndef RUN_POLL_H
#define RUN_POLL_H

#include "attar/run.h"

/* Makes the descriptor unreadable until there is new work; a file always has some. */
void run_poll_clear(struct attar_run *run);

/* Whether the caller drives the run, with attar_run_fd(). */
bool run_poll_is_used(const struct attar_run *run);

#endif
