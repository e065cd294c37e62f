/* SPDX-License-Identifier: MIT */
/*
 * The names of the functions of modules that are loaded while events are pushed: a record for each
 * (PERF_RECORD_KSYMBOL, as the kernel writes for BPF programs), with the name as in /proc/kallsyms,
 * "FUNCTION\t[MODULE]". The kernel announces modules on a netlink socket, since 5.11 after their
 * initialization, which can take long: they are also looked for once per second.
 */
#ifndef RUN_RECORD_PUSH_MODULES_H
#define RUN_RECORD_PUSH_MODULES_H

#include "base/buf.h"
#include "base/map.h"

struct peer_sender_round;

struct push_modules {
	int fd; /* netlink; -1: none */
	bool is_open;
	uint64_t looked;    /* ns, when /proc/modules was read */
	struct map known;   /* hash of name and address -> 1 */
	struct buf records; /* of all later modules, for receivers that connect later */
};

/* Takes the modules that are loaded now. 0 or -ENOMEM. */
int push_modules_open(struct push_modules *modules);

/*
 * Looks for new modules, if it is time to: their records are appended. Records have the fields of
 * `round` after them. 0 or -ENOMEM.
 */
int push_modules_turn(struct push_modules *modules, const struct peer_sender_round *round);

void push_modules_done(struct push_modules *modules);

#endif
