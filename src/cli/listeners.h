/* SPDX-License-Identifier: MIT */
/* Who the collectors of programs' events are: the processes that hold their sockets. */
#ifndef CLI_LISTENERS_H
#define CLI_LISTENERS_H

#include "base/buf.h"
#include "base/map.h"

struct listeners {
	struct map pids; /* id of a collector -> pid */
	bool searched;
};

/* Appends "attar (pid 123)"; "somebody" where it cannot be seen. */
void listeners_name(struct listeners *l, uint64_t id, struct buf *b);
void listeners_done(struct listeners *l);

#endif
