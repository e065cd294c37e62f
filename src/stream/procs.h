/* SPDX-License-Identifier: MIT */
/*
 * The table of processes and threads, updated by COMM, MMAP, FORK and EXIT records in time order.
 * Exited threads are kept for a while, because their last samples may still arrive; the oldest are
 * removed first.
 *
 * Bounds: all running threads, PROCS_DEAD_MAX exited ones, and a process, its mappings and its name
 * as long as one of its threads is in the table. Threads whose EXIT record was lost are found by
 * kill(tid, 0), each time the number of running threads has grown by PROCS_SWEEP or a quarter.
 *
 * A recording, or a sender, can claim any number of threads: of PROCS_MAX, or PROCS_MAPPINGS_MAX
 * mappings of all processes, an eighth of the threads is dropped, those that were idle for longest.
 */
#ifndef STREAM_PROCS_H
#define STREAM_PROCS_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/scan_budget.h"
#include "base/vec.h"
#include "stream/build_ids.h"
#include "stream/comm.h"

enum {
	PROCS_DEAD_MAX = 1024,
	PROCS_SWEEP = 4096,
	PROCS_MAX = 1 << 18,          /* about 150 MB */
	PROCS_MAPPINGS_MAX = 4 << 20, /* of 32 bytes */
};

struct process {
	struct attar_process pub;
	struct comm *comm;   /* whose text is pub.comm; NULL: none yet */
	unsigned threads;    /* number of threads in the table that belong to it */
	bool is_bare;        /* no mapping was recorded since its exec */
	bool is_unread;      /* its mappings are to be read when an address is located */
	uint64_t losses;     /* procs.losses at the exec */
	uint64_t renewals;   /* procs.renewals when its mappings were read */
	uint64_t not_before; /* ns: the next time that they may be read */
	struct scan_budget *budget;
	uint8_t mark;      /* as the mark of a thread */
	uint64_t selected; /* bits of whoever uses the table, which children inherit */
	uint32_t user;     /* of whoever uses it, 0 at first: see run/parts/names.c */
	uint64_t unnamed;  /* the same: see run/parts/target_names.c */
};

struct thread {
	struct attar_thread pub;
	struct comm *comm; /* whose text is pub.comm */
	struct thread *next_dead;
	uint64_t renewals; /* procs.renewals when its name was read */
	uint64_t used;     /* procs.uses when it was looked up, other than in the cache */
	bool gone;         /* did not exist at the last sweep */
	uint8_t mark;      /* of whoever uses the table, 0 at first: see run/parts/group_select.h */
	uint32_t group;    /* the same: see run/parts/names.c */
};

struct procs {
	struct attar_symbols *symbols; /* borrowed */
	/* tid -> struct thread *, also of exited ones until the tid is reused */
	struct map threads;
	struct thread *recent[16]; /* cache, by tid modulo 16 */
	uint64_t task;             /* cache of one: tid << 32 | pid, ... */
	struct thread *of_task;    /* ... and its thread; NULL: none */
	struct map processes;      /* pid -> struct process * */
	struct thread *dead, **dead_end;
	size_t n_dead;
	size_t sweep_at; /* number of threads at which to sweep */
	uint64_t serial;
	uint64_t uses;               /* lookups so far, other than in the cache */
	uint64_t dropped;            /* threads, because of the bounds */
	struct build_ids *build_ids; /* of a recording; borrowed; NULL: live */
	bool live;                   /* /proc may be read */
	bool elsewhere;              /* the processes are of another machine */
	uint16_t kernel;             /* see attar_address_space */
	bool is_foreign;             /* see attar_address_space */
	bool by_task;                /* events belong to tasks, not to CPUs */
	bool lazy_maps;              /* see attar_stream_opts */
	bool maps;                   /* each exec and each mapping of code writes a record */
	uint64_t losses;             /* LOST records so far */
	uint64_t renewals;           /* calls of procs_renew() so far */
	struct scan_budget budget;   /* for reading mappings */
	uint64_t unwatched;          /* processes whose events the kernel has ended */
	bool quiet;                  /* the log already names such a process */
};

void procs_init(struct procs *p, struct attar_symbols *symbols, bool live);
void procs_done(struct procs *p);

static inline struct thread **procs_recent(struct procs *p, pid_t tid)
{
	return &p->recent[(unsigned)tid % ARRAY_SIZE(p->recent)];
}

/* The thread if it is in the table and has not exited, otherwise NULL. */
struct thread *procs_known(const struct procs *p, pid_t tid);

/* The thread with this tid, running or exited; NULL if it is not in the table. */
struct thread *procs_get(const struct procs *p, pid_t tid);

/* The process with this pid, or NULL. */
struct process *procs_process(const struct procs *p, pid_t pid);

/* The slow path of procs_thread(). */
struct thread *procs_find(struct procs *p, pid_t pid, pid_t tid);

static inline bool thread_is(const struct thread *t, pid_t pid, pid_t tid)
{
	return t && t->pub.tid == tid && t->pub.process->pid == pid;
}

/*
 * The thread tid of process pid, according to a record of the kernel. A new one is added, with its
 * name from /proc, and replaces one of another process; an exited one is returned as long as it is
 * kept and its tid is not reused. NULL if out of memory.
 */
static inline struct thread *procs_thread(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = *procs_recent(p, tid);

	return likely(thread_is(t, pid, tid)) ? t : procs_find(p, pid, tid);
}

/* Sets the name of a thread whose name is unknown. */
void procs_name(struct procs *p, struct thread *t, const char *comm);

/* The mapping in a MMAP or MMAP2 record. False: it is kernel text, or data. */
bool procs_mapping(const struct attar_record *rec, struct attar_mapping *ret_mapping);

/* Applies COMM, MMAP, MMAP2, FORK, EXIT, LOST and KSYMBOL; ignores other records. */
int procs_apply(struct procs *p, const struct attar_record *rec);

/*
 * COMM or MMAP records are missing: names and mappings are read from /proc again, the names of each
 * thread at its next event.
 */
void procs_renew(struct procs *p);

/* The process of a thread, from /proc; 0 if it has exited. */
pid_t procs_pid_of(pid_t tid);

/*
 * Reads the mappings of the process, once. If it has exited, its symbols will be missing. A process
 * of another user may have to wait, see scan_budget.h: then it is unread.
 */
void procs_scan(struct process *process);

/* Adds all processes in /proc, with their mappings. */
int procs_scan_all(struct procs *p);

/* Adds a process with its threads: one may exit before its first event. As proc_each_thread(). */
int procs_scan_threads(struct procs *p, pid_t pid);

#endif
