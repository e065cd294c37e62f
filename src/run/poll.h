/* SPDX-License-Identifier: MIT */
#ifndef RUN_POLL_H
#define RUN_POLL_H

#include <stdbool.h>

/* For attar_run_fd(): its descriptors, -1 until it is called. */
struct run_poll {
	int epoll;
	int timer; /* expires at least as often as the run must be driven; always for a file */
	bool always;
};

void run_poll_init(struct run_poll *p);
void run_poll_done(struct run_poll *p);

/* Makes the descriptor unreadable until there is new work; a file always has some. */
void run_poll_clear(struct run_poll *p);

#endif
