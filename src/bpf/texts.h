/* SPDX-License-Identifier: MIT */
/*
 * Texts that programs give to system calls, such as paths: a program in the kernel copies them when
 * the call is made, since they may have changed when attar reads the event. The arguments of
 * programs that are executed are such texts, too. It needs what bpf/counting.h needs.
 *
 *	texts_new(TEXTS_COPY_CALLS, getpid(), &texts);
 *	texts_want(texts, "openat", 1);
 *	texts_attach(texts);
 *	...
 *	texts_read(texts, entered);
 *	found = texts_get(texts, tid, address, entered, ended, &text, &n);
 *	texts_free(texts);
 */
#ifndef BPF_TEXTS_H
#define BPF_TEXTS_H

#include <sys/types.h>

#include "base/buf.h"

struct texts;

/* What is copied, as bits. */
enum texts_copy {
	TEXTS_COPY_CALLS = 1,
	TEXTS_COPY_EXECS = 2,
	TEXTS_COPY_FAILED_EXECS = 4,
};

enum texts_found { TEXTS_NONE, TEXTS_FOUND, TEXTS_LOST };

/*
 * own_pid: the process whose calls are left out. 0, or a negative errno with a message. Threads are
 * numbered as in the first PID namespace, in which attar must be.
 */
int texts_new(unsigned what, pid_t own_pid, struct texts **ret_texts);
struct texts *texts_free(struct texts *texts);

/*
 * Argument i of a system call is a text. name: as in the names of tracepoints; other calls are
 * ignored.
 */
int texts_want(struct texts *texts, const char *name, unsigned i);

/*
 * The program is called from now on. 0 or a negative errno with a message. The events of the calls
 * must be open: their samples are then taken first.
 */
int texts_attach(struct texts *texts);

/*
 * Reads what the program has copied. The newest 4 MiB are kept, but texts of calls that were
 * entered from `needed` on (ns) make no room for others: these stay in the program's ring, which
 * has no room for further ones if it is full.
 */
void texts_read(struct texts *texts, uint64_t needed);

/*
 * The text at an address that a thread gave to a call, which was entered at the time `from` of its
 * event and has ended before `until`: n bytes, without NUL, borrowed until texts_read(). Lost: the
 * program had no room for it, or for others since the event, so that this can be a later one.
 */
enum texts_found texts_get(const struct texts *texts, pid_t tid, uint64_t address, uint64_t from,
	uint64_t until, const char **ret_text, size_t *ret_n);

struct texts_exec {
	size_t n_unread; /* "[unknown]": they were not in memory */
	bool is_cut;     /* there are more */
};

/*
 * Appends what a thread has executed to strings, each of which ends with NUL: the arguments, or of
 * an attempt that fails, the path and the arguments. from: the time of the event. None: the program
 * may not have copied all yet. -ENOMEM with a message.
 */
int texts_get_exec(const struct texts *texts, pid_t tid, uint64_t from, struct buf *strings,
	struct texts_exec *ret_exec);

#endif
