/* SPDX-License-Identifier: MIT */
/* The capabilities that attar uses, and how to give them to its file. */
#ifndef PERF_CAPABILITIES_H
#define PERF_CAPABILITIES_H

#include "base/buf.h"

/*
 * Whether this process has a capability in the initial user namespace. CAP_SYS_ADMIN includes
 * CAP_PERFMON, CAP_BPF and CAP_CHECKPOINT_RESTORE.
 */
bool capabilities_has(int number);

/*
 * Appends the capabilities that attar uses and lacks, with commas, to `names`, and what they give
 * to `detail`, which may be NULL. False if there are none.
 */
bool capabilities_list_missing(struct buf *names, struct buf *detail);

/*
 * Appends commands that let the members of a group run this program with all capabilities that are
 * missing, since setcap takes away those that it does not name. In a user namespace and without
 * missing capabilities, appends where to run attar instead.
 */
void capabilities_add_commands(struct buf *b);

/* The same as a sentence, for messages: attar doctor shows the commands. */
void capabilities_add_hint(struct buf *b);

/* Whether the kernel refuses all probes of the PMU, "kprobe" or "uprobe", to this process. */
bool capabilities_refuse_probes(const char *kind);

#endif
