/* SPDX-License-Identifier: MIT */
/*
 * attar/wait.h - what a thread waits for at this moment, and who can end the wait.
 *
 * The state of the thread, its system call and the files, locks and sockets that this call names
 * are read from /proc, from the memory of the process and from the kernel's tables of sockets. The
 * thread is not stopped, and no event is needed: a wait is found however long ago it began.
 *
 *	struct attar_wait wait = {.size = sizeof(wait)};
 *	char text[ATTAR_WAIT_TEXT_BYTES];
 *
 *	attar_waits_new(0, &waits);
 *	if (attar_waits_for(waits, tid, &wait) == 0)
 *		puts(attar_wait_text(&wait, text));
 *	attar_waits_free(waits);
 */
#ifndef ATTAR_WAIT_H
#define ATTAR_WAIT_H

#include "attar/base.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum attar_wait_kind {
	ATTAR_WAIT_NONE,      /* it runs, or is about to */
	ATTAR_WAIT_UNKNOWN,   /* for something else, or without permission to see it */
	ATTAR_WAIT_LOCK,      /* a lock of the program */
	ATTAR_WAIT_CONDITION, /* another thread is to signal it, such as pthread_cond_wait(3) */
	ATTAR_WAIT_THREAD,    /* the end of a thread: pthread_join(3) */
	ATTAR_WAIT_CHILD,     /* a child process */
	ATTAR_WAIT_PIPE,
	ATTAR_WAIT_UNIX,      /* the other end of a UNIX socket */
	ATTAR_WAIT_NETWORK,   /* the other end of a connection */
	ATTAR_WAIT_FILE_LOCK, /* flock(2) or fcntl(2) */
	ATTAR_WAIT_SERVER,    /* the server of a file system: FUSE or NFS */
	ATTAR_WAIT_DISK,
	ATTAR_WAIT_TIME,
	ATTAR_WAIT_EVENTS,  /* several files, such as epoll_wait(2) */
	ATTAR_WAIT_CLIENTS, /* connections to a listening socket */
	ATTAR_WAIT_TERMINAL,
	ATTAR_WAIT_SIGNAL,
	ATTAR_WAIT_STOPPED, /* by a signal or a debugger */
	ATTAR_WAIT_KERNEL,  /* a thread of the kernel */
};

enum {
	ATTAR_WAIT_OBJECT_BYTES = 128,
	ATTAR_WAIT_COMM_BYTES = 16,
	ATTAR_WAIT_TEXT_BYTES = 512,
};

struct attar_wait {
	size_t size; /* of this struct, set by the caller */
	enum attar_wait_kind kind;
	char state;    /* as in proc_pid_stat(5): 'S', 'D', 'T' and so on */
	bool writes;   /* to a pipe or socket: it waits for room, otherwise for data */
	bool connects; /* ATTAR_WAIT_NETWORK: there is no connection yet */
	long call;     /* number of the system call; -1: none, or unknown */
	int fd;        /* of the call; -1: none */
	pid_t pid;     /* the process that can end the wait; 0: unknown */
	pid_t tid;     /* the thread of it; 0: any of several */
	char comm[ATTAR_WAIT_COMM_BYTES]; /* of this thread or process */
	/* Its state, if one thread is meant; 'X': it has ended, and has no name; 0: unknown. */
	char other_state;
	unsigned others;                  /* further processes that could end the wait */
	uint64_t address;                 /* of the futex(2); 0: none */
	uint64_t ip, sp;                  /* of the program, in the call; 0: unknown */
	/* What it waits for: a path, an address such as 127.0.0.1:5432, a function of the kernel;
	 * of a condition: threads of the process that run. Without control characters. */
	char object[ATTAR_WAIT_OBJECT_BYTES];
};

/* What a thread waited for at an earlier moment, as attar_waits_chain() found it. */
struct attar_thread_wait {
	pid_t pid, tid;
	char comm[ATTAR_WAIT_COMM_BYTES];
	uint64_t since; /* ns; 0: unknown */
	const struct attar_wait *chain;
	size_t n;
};

/* What is read at one moment. Tables of open files and of sockets are read at their first use. */
struct attar_waits;

/*
 * Does not look for the other ends of pipes, sockets and FUSE file systems, for which the open
 * files of all processes are read: a millisecond for each 500 of them. Nor for threads that run
 * while others wait for conditions.
 */
#define ATTAR_WAITS_NO_FILES 0x1u

/* Returns 0, -EINVAL for unknown flags, or -ENOMEM. Freed with attar_waits_free(). */
ATTAR_API int attar_waits_new(unsigned flags, struct attar_waits **ret_waits);
ATTAR_API void attar_waits_free(struct attar_waits *waits);

/*
 * What a thread waits for. Whom it waits for is known for mutexes, read-write locks and locks with
 * priority inheritance of glibc, joins, children, pipes, UNIX sockets, connections to this host,
 * file locks, FUSE. Returns 0; -ESRCH if there is no such thread; -EINVAL; -ENOMEM.
 */
ATTAR_API int attar_waits_for(struct attar_waits *waits, pid_t tid, struct attar_wait *ret_wait);

/*
 * The same for the thread, the one that it waits for, and so on: at most max waits. It ends with
 * one whose other end is unknown, or in the chain already. A process is represented by its main
 * thread. Returns the number of waits, at least 1, or an error of attar_waits_for().
 */
ATTAR_API int attar_waits_chain(
	struct attar_waits *waits, pid_t tid, struct attar_wait *chain, size_t max);

/*
 * As the rest of "waits for ...": "the lock at 0x55d7a0c042a0, held by worker (1235), which is
 * stopped". Returns text.
 */
ATTAR_API const char *attar_wait_text(
	const struct attar_wait *wait, char text[ATTAR_WAIT_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
