/* SPDX-License-Identifier: MIT */
/* Internals of attar/wait.h: each file finds one kind of other ends. */
#ifndef WAIT_WAIT_H
#define WAIT_WAIT_H

#include "attar/wait.h"
#include "base/map.h"
#include "base/vec.h"

enum {
	/* Of all tables together, so that hostile processes do not delay the caller. */
	WAIT_FILES_MAX = 1 << 16,
	WAIT_FILES_OF_PROCESS_MAX = 4096,
	WAIT_LINKS_MAX = 1 << 17, /* open files that are looked at, most of which are others */
	WAIT_SOCKETS_MAX = 1 << 16,
	WAIT_THREADS_MAX = 4096, /* of a process, of which one may run */
};

/* A pipe, socket or /dev/fuse that a process has open. */
struct wait_file {
	uint64_t inode; /* 0: /dev/fuse */
	pid_t pid;
	bool reads, writes;
	uint32_t device; /* of the mount that it serves; 0: unknown, as on older kernels */
	uint32_t next;   /* the index of the next one with this inode, + 1; 0: none */
};

struct wait_address {
	uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
};

/* A TCP or UDP socket. */
struct wait_socket {
	uint64_t inode;
	struct wait_address local, remote;
	unsigned state; /* as in tcp_states.h */
	bool is_udp;
};

struct wait_sockets {
	uint64_t net; /* the network namespace */
	VEC(struct wait_socket) list;
};

/* A thread of a process that ran when the process was looked at; tid 0: none did. */
struct wait_running {
	pid_t pid, tid;
	unsigned others;
	char comm[ATTAR_WAIT_COMM_BYTES];
};

/* By how much the clock of a CPU's run queue is behind CLOCK_MONOTONIC. */
struct wait_cpu {
	int cpu;
	int64_t behind; /* ns; INT64_MIN: unknown */
};

struct attar_waits {
	unsigned process;         /* that created it */
	bool has_files, has_unix; /* they were read, or are not wanted */
	unsigned links;           /* open files that were looked at */
	VEC(struct wait_file) files;
	bool has_locks;
	struct map lock_holders; /* by the process that waits */
	struct map by_inode;     /* the index of the first one, + 1 */
	struct map unix_peers;   /* inode to inode of the other end */
	VEC(struct wait_sockets *) nets;
	bool has_running; /* threads that run are looked for */
	VEC(struct wait_running) running;
	VEC(struct wait_cpu) cpus; /* that were asked */
	unsigned late_cpus;        /* of these, that did not answer in time */
};

/* A thread whose wait is read. */
struct wait_thread {
	pid_t tid;
	uint64_t args[6];
	char *function; /* of the kernel, in which it waits; NULL: not read */
};

/* Reads memory of the thread's process. False: not all of it. */
bool wait_read(const struct wait_thread *thread, uint64_t address, void *bytes, size_t n);

/* Sets the process or thread that can end the wait, and its name and state. */
void wait_set_other(struct attar_wait *wait, pid_t pid, pid_t tid);

/* Sets what is waited for, without control characters. */
void wait_set_object(struct attar_wait *wait, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* ---- futex.c ---- */

/* Whether a thread is in the PID namespace of this process. */
bool wait_is_own_namespace(pid_t tid);

/* The number of a thread in its own PID namespace; 0: unknown. */
int wait_number_inside(pid_t tid);

void wait_futex(const struct wait_thread *thread, struct attar_wait *wait);

/* ---- running.c ---- */

/* Of a condition: sets the thread of the process that runs meanwhile. 0 or -ENOMEM. */
int wait_running(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* ---- files.c ---- */

/* The process of a thread; 0: it has ended. */
pid_t wait_process_of(pid_t tid);

/* For data of the file that wait->fd names, or for room in it. 0 or -ENOMEM. */
int wait_file(struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* For the server of a file system, if the kernel function is one that waits for it. */
int wait_server(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* The processes that have the other end of the pipe or socket with this inode open. */
int wait_other_end(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode);

/* For a lock of a file: finds the holder in /proc/locks. 0 or -ENOMEM. */
int wait_file_lock(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* ---- sockets.c ---- */

int wait_socket(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode);

#endif
