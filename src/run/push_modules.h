/* SPDX-License-Identifier: MIT */
/*
 * The names of the functions of modules that are loaded while events are pushed: a record for each
 * (PERF_RECORD_KSYMBOL, as the kernel writes for BPF programs), with the name as in /proc/kallsyms,
 * "FUNCTION\t[MODULE]". The kernel announces modules on a netlink socket.
 */
#ifndef RUN_PUSH_MODULES_H
#define RUN_PUSH_MODULES_H

#include "base/buf.h"
#include "base/map.h"

struct peer_sender_round;

struct push_modules {
	bool listens;       /* otherwise later modules have no names */
	int fd;             /* netlink */
	struct map known;   /* hash of name and address -> 1 */
	struct buf records; /* of all later modules, for receivers that connect later */
};

/* Takes the modules that are loaded now. 0 or -ENOMEM. */
int push_modules_open(struct push_modules *modules);

/*
 * Looks for new modules, if the kernel has announced any: their records are appended. Records have
 * the fields of `round` behind them. 0 or -ENOMEM.
 */
int push_modules_turn(struct push_modules *modules, const struct peer_sender_round *round);

void push_modules_done(struct push_modules *modules);

#endif
