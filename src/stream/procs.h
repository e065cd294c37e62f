/* SPDX-License-Identifier: MIT */
/*
 * The table of processes and threads, moved on by COMM, MMAP, FORK and EXIT records in order of
 * time. The dead are kept for a while, because their last samples may still come, then forgotten
 * oldest first.
 *
 * Bounds: the living threads; PROCS_DEAD_MAX dead ones; a process, its mappings and its name for as
 * long as one of its threads is in the table. Threads whose EXIT record was lost are found by
 * asking the kernel, each time that the living have become PROCS_SWEEP or a quarter more.
 */
#ifndef STREAM_PROCS_H
#define STREAM_PROCS_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"
#include "stream/comm.h"

enum { PROCS_DEAD_MAX = 1024, PROCS_SWEEP = 4096 };

struct process {
	struct attar_process pub;
	struct comm *comm; /* behind pub.comm; NULL: none yet */
	unsigned threads;  /* entries that point here */
	bool is_bare;      /* it has executed a program of which no mapping was seen yet */
	uint64_t losses;   /* of the table, at that time */
};

struct thread {
	struct attar_thread pub;
	struct comm *comm; /* behind pub.comm */
	struct thread *next_dead;
	bool missed; /* the kernel did not know it any more when it was asked last */
};

struct procs {
	struct attar_symbols *symbols; /* borrowed */
	struct map
		threads; /* tid -> struct thread *, also of the dead until the tid is used again */
	struct thread *recent[16]; /* by tid modulo 16: what samples ask for again and again */
	struct map processes;      /* pid -> struct process * */
	struct thread *dead, **dead_end;
	size_t n_dead;
	size_t sweep_at; /* so many threads */
	uint64_t serial;
	bool live;          /* /proc may be asked */
	bool by_task;       /* events belong to tasks, not to CPUs */
	bool maps;          /* each exec, and each mapping of code, makes a record */
	uint64_t losses;    /* LOST records so far */
	uint64_t unwatched; /* processes whose events the kernel has ended */
	bool quiet;         /* such a process has been named in the log */
};

void procs_init(struct procs *p, struct attar_symbols *symbols, bool live);
void procs_done(struct procs *p);

static inline struct thread **procs_recent(struct procs *p, pid_t tid)
{
	return &p->recent[(unsigned)tid % ARRAY_SIZE(p->recent)];
}

/* The thread if it is known and lives, otherwise NULL. */
struct thread *procs_known(const struct procs *p, pid_t tid);

/* The rare rest of procs_thread(). */
struct thread *procs_find(struct procs *p, pid_t pid, pid_t tid);

/*
 * The thread tid of process pid, entered (and asked of /proc) if it is new; one that has exited as
 * long as it is kept and its tid is not used again. NULL when out of memory.
 */
static inline struct thread *procs_thread(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = *procs_recent(p, tid);

	return likely(t && t->pub.tid == tid) ? t : procs_find(p, pid, tid);
}

/* Names a thread that is known by its number alone. */
void procs_name(struct procs *p, struct thread *t, const char *comm);

/* Applies COMM, MMAP, MMAP2, FORK, EXIT, LOST and KSYMBOL; ignores other records. */
int procs_apply(struct procs *p, const struct attar_record *rec);

/* The process that a thread belongs to, by /proc; 0 when it has ended. */
pid_t procs_pid_of(pid_t tid);

/*
 * Reads the mappings of the process once. Of one that is gone, names will be missing: they are
 * counted.
 */
void procs_scan(struct process *process);

/* Enters every process that /proc shows, with its mappings. */
int procs_scan_all(struct procs *p);

#endif
