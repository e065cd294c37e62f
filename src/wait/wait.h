/* SPDX-License-Identifier: MIT */
/* Internals of attar/wait.h: each file finds one kind of other ends. */
#ifndef WAIT_WAIT_H
#define WAIT_WAIT_H

#include "attar/wait.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/proc.h"
#include "base/scan_budget.h"
#include "base/vec.h"

enum {
	/* Of all tables together, so that hostile processes do not delay the caller. */
	WAIT_FILES_MAX = 1 << 16,
	WAIT_FILES_OF_PROCESS_MAX = 4096,
	WAIT_LINKS_MAX = 1 << 17,    /* open files that are looked at, most of which are others */
	WAIT_MAPPINGS_MAX = 1 << 20, /* bytes of /proc/PID/maps */
	WAIT_SOCKETS_MAX = 1 << 16,
	WAIT_UNIX_READS_MAX = 16,
	WAIT_UNIX_KEY_BYTES = 144,
	WAIT_THREADS_MAX = 4096, /* of a process, of which one may run */
	WAIT_KEPT_MAX = 1024,
	WAIT_LEASES_MAX = 64,
	WAIT_OPENERS_NS = 100000000, /* of CPU time, for all searches of wait_open_by() */

	WAIT_FUSE_INODE = 0, /* of /dev/fuse, see struct wait_file */
};

/* A pipe, socket or /dev/fuse that a process has open. */
struct wait_file {
	uint64_t inode; /* WAIT_FUSE_INODE: /dev/fuse */
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
	unsigned timer, retransmits;
	bool is_udp;
};

struct wait_sockets {
	uint64_t net; /* the network namespace */
	VEC(struct wait_socket) list;
};

/* A thread of a process that ran when the process was looked at; tid 0: none did. */
struct wait_running {
	pid_t pid, tid;
	bool is_hung; /* all of its threads wait for each other */
	unsigned others;
	char comm[ATTAR_WAIT_COMM_BYTES];
};

/* An open file of a process. */
struct wait_link {
	pid_t pid;
	int fd, dir;             /* dir: /proc/PID/fd */
	const char *name, *text; /* the number as text, and what readlink(2) shows */
};

typedef int wait_link_fn(void *ctx, const struct wait_link *link);

/* A file of which wait_open_by() finds the processes that have it open. */
struct wait_opened {
	const char *name; /* the last part of the link, such as "anon_inode:[eventfd]" */
	/* Of the same file, otherwise of any with this name. */
	bool is_one;
	uint64_t device, inode;
	/* Whether /proc/PID/fdinfo/FD says that it is the one. */
	bool (*fits)(const char *info, const void *arg);
	const void *arg;
};

enum { WAIT_OPENERS_MAX = 16, WAIT_OPENERS_KEY_BYTES = 320 };

/* The processes that have something, as found once. */
struct wait_openers {
	char key[WAIT_OPENERS_KEY_BYTES];
	VEC(pid_t) pids;
};

/* By how much the clock of a CPU's run queue is behind CLOCK_MONOTONIC. */
struct wait_cpu {
	int cpu;
	int64_t behind; /* ns; INT64_MIN: unknown */
};

/* A process whose threads are read one after the other. */
struct wait_process {
	pid_t pid;   /* 0: none */
	pid_t known; /* a thread of it, see waits_set_thread(); 0: none */
	pid_t tid;   /* another one, the last one that was looked for; 0: none */
	enum { WAIT_NAMESPACE_UNKNOWN, WAIT_NAMESPACE_OWN, WAIT_NAMESPACE_OTHER } namespace;
};

/* Somebody who can end a wait. */
struct wait_other {
	pid_t pid, tid; /* that were asked for; pid 0: none */
	pid_t found;    /* the only thread of the process, or tid */
	char state, comm[ATTAR_WAIT_COMM_BYTES];
};

enum { WAIT_MEMORY_BYTES = 64, WAIT_MEMORIES = 16, WAIT_OTHERS = 8 };

struct wait_memory {
	pid_t pid; /* 0: none was read */
	uint64_t address;
	size_t n;
	char bytes[WAIT_MEMORY_BYTES];
};

/* Of /proc/TID/stat. */
struct wait_stat {
	pid_t tid; /* 0: none was read */
	char state;
	int cpu;
};

/*
 * Threads of a process often wait for the same: the last of each kind is kept, and so are the waits
 * of those that others wait for.
 */
struct attar_waits {
	struct wait_process last_process;
	struct proc_tasks tasks; /* of a process that was looked at */
	struct wait_other others[WAIT_OTHERS];
	unsigned n_others;                        /* that were read */
	struct wait_memory memory[WAIT_MEMORIES]; /* by the address */
	struct wait_stat last_stat;
	struct map stats; /* state and CPU by thread */
	VEC(struct attar_wait) kept;
	struct map kept_by_tid;             /* the index */
	unsigned process;                   /* that created it */
	bool has_files, has_unix;           /* they were read, or are not wanted */
	struct scan_budget budget;          /* for reading files and mounts of processes */
	char unix_key[WAIT_UNIX_KEY_BYTES]; /* the name of the last UNIX socket, and who has it */
	uint64_t unix_inode;                /* of it */
	unsigned unix_reads;                /* of the table with names */
	uint64_t openers_ns;                /* that the searches took */
	VEC(struct wait_openers *) openers; /* who has what others wait for */
	VEC(struct wait_file) files;
	bool has_locks;
	struct map lock_holders; /* by the process that waits */
	VEC(pid_t) leases;       /* the processes that have one */
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
	struct attar_waits *waits;
	pid_t tid;
	uint64_t args[6];
	char *function; /* of the kernel, in which it waits; NULL: not read */
};

enum { WAIT_AWAITED_MAX = 8 };

/* The files for which a call waits. */
struct wait_awaited {
	int count; /* may be more than there is room for */
	struct {
		int fd;
		bool writes;
	} files[WAIT_AWAITED_MAX];
};

/* ---- wait.c ---- */

void wait_await(struct wait_awaited *awaited, int fd, bool writes);

/* For these files: of one file only, wait->fd is set to it. 0 or -ENOMEM. */
int wait_for_awaited(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const struct wait_awaited *awaited);

/* ---- thread.c ---- */

/* /proc/PID/task/TID/NAME, which the kernel finds faster than /proc/TID/NAME. */
void wait_path(struct attar_waits *waits, pid_t tid, const char *name, char path[64]);

/* Appends one line of this file. 0 or a negative errno, without an error message. */
int wait_read_line(struct attar_waits *waits, pid_t tid, const char *name, struct buf *text);

/* One line of a file of a thread, owned by the caller; NULL: it cannot be read. */
char *wait_line(pid_t tid, const char *name);

/* The same of the thread that is being read. */
char *wait_own_line(const struct wait_thread *thread, const char *name);

/* Reads memory of the thread's process. False: not all of it. */
bool wait_read(const struct wait_thread *thread, uint64_t address, void *bytes, size_t n);

/* Sets the process or thread that can end the wait, and its name and state. */
void wait_set_other(struct attar_waits *waits, struct attar_wait *wait, pid_t pid, pid_t tid);

/* The process of the thread; 0: it has ended. */
pid_t wait_process(const struct wait_thread *thread);

/* The same of a thread that is not being read. */
pid_t wait_process_of(pid_t tid);

/* Sets what is waited for, without control characters. */
void wait_set_object(struct attar_wait *wait, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* The state and the CPU of a thread; pid: its process, or tid. */
struct wait_stat wait_stat_of(struct attar_waits *waits, pid_t pid, pid_t tid);

/* Keeps it for wait_read_stat(): all threads of a process were read at once. 0 or -ENOMEM. */
int wait_keep_stat(struct attar_waits *waits, const struct wait_stat *stat);

/* The same, which is read if it is not the last one that was. */
const struct wait_stat *wait_read_stat(struct attar_waits *waits, pid_t tid);

/* ---- futex.c ---- */

/* Whether the thread is in the PID namespace of this process. */
bool wait_is_own_namespace(const struct wait_thread *thread);

void wait_futex(const struct wait_thread *thread, struct attar_wait *wait);

/* Whether other processes can wake the thread. */
bool futex_is_shared(const struct wait_thread *thread);

/* ---- running.c ---- */

/* For a condition: sets the thread of the process that runs meanwhile. 0 or -ENOMEM. */
int wait_running(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* ---- files.c ---- */

/* For data of the file that wait->fd names, or for room in it. 0 or -ENOMEM. */
int wait_file(struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* The processes that have the other end of the pipe or socket with this inode open. */
int wait_other_end(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode);

/* For a lock of a file: finds the holder in /proc/locks. 0 or -ENOMEM. */
int wait_file_lock(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* Reads the open files of all processes, once. 0 or -ENOMEM. */
int wait_read_files(struct attar_waits *waits);

/* ---- openers.c ---- */

/* Calls fn for the open files of all processes; a nonzero result ends it. Returns it, or 0. */
int wait_each_link(struct attar_waits *waits, wait_link_fn *fn, void *ctx);

/* Appends /proc/PID/fdinfo/FD. 0 or a negative errno. */
int wait_read_info(pid_t pid, int fd, struct buf *text);

/* The number after a name such as "\nPid:"; -1: there is none. */
int64_t wait_info_number(const char *info, const char *name);

/*
 * The wait is for one of the processes that have the file open. `key` says which file it is, and
 * what makes it fit. Own: also for the process itself. 0 or -ENOMEM.
 */
int wait_open_by(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *key, const struct wait_opened *opened, bool own);

/* For a process that has the memory at wait->address mapped, too. 0 or -ENOMEM. */
int wait_mapped_by(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* Appends /proc/PID/maps. 0 or a negative errno. */
int wait_read_mappings(struct attar_waits *waits, pid_t pid, struct buf *text);

/* The device and the inode of a file, without asking its server. */
bool wait_identify(int dir, const char *path, uint64_t *ret_device, uint64_t *ret_inode);

/* ---- special.c ---- */

/* For an eventfd, a pidfd, a message queue, a terminal that is written to and so on. 0 or -ENOMEM.
 */
int wait_special_file(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *link);

/* epoll_wait(2): for its files, and the files of each other epoll(7) among them. 0 or -ENOMEM. */
int wait_epoll(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* io_uring_enter(2): if its requests are for one file only, for this one. 0 or -ENOMEM. */
int wait_io_uring(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* semop(2), msgsnd(2), msgrcv(2). */
void wait_semaphore(const struct wait_thread *thread, struct attar_wait *wait);
void wait_message(const struct wait_thread *thread, struct attar_wait *wait);

/* By the function of the kernel: to open a FIFO, a file with a lease, for a userfaultfd(2), for
 * a control group that is frozen. 0 or -ENOMEM. */
int wait_special(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* ---- servers.c ---- */

/* The path that the system call names; relative ones from the current directory. */
bool wait_read_path(const struct wait_thread *thread, long call, char path[4096]);

struct wait_mount {
	uint32_t device; /* as the kernel has it: 12 bits and 20 bits */
	char where[4096], type[64], source[256];
	char address[64]; /* of the server; "": none is known */
};

/*
 * Finds the mount with this number in a table like /proc/PID/mountinfo, or, if it is 0, the one
 * that has the path. Changes the table.
 */
bool wait_find_mount(char *table, int id, const char *path, struct wait_mount *ret_mount);

/* The wait is for the server of this mount. */
void wait_set_mount(struct attar_wait *wait, const struct wait_mount *mount);

/*
 * For the server of a file system, if the kernel function is one that waits for it, or for data of
 * a file that it has. 0 or -ENOMEM.
 */
int wait_server(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* For a lease of a file that its holder is to give up. 0 or -ENOMEM. */
int wait_lease(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

/* ---- sockets.c ---- */

int wait_socket(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode);

/*
 * close(2) of a connection with SO_LINGER, whose descriptor is not in the table any more: if it is
 * the only connection of the network namespace that is closed so, its other end. 0 or -ENOMEM.
 */
int wait_closing(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait);

#endif
