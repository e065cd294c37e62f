/* SPDX-License-Identifier: MIT */
/*
 * What ran on each CPU: pieces of time, each with a thread, the idle task or an interrupt. A piece
 * ends with the switch that shows what had run. Pieces that nobody asks for any more are dropped.
 *
 *	struct cpu_history history = {.oldest = oldest, .ctx = self};
 *	history_switch(&history, cpu, time, &prev, &next);
 *	...
 *	struct ran_at at = {.cpu = cpu, .from = from, .to = to};
 *	while (history_before(&history, &at, &piece))
 *		add(piece.who, piece.to - piece.from);
 *	history_done(&history);
 */
#ifndef PROFILERS_SCHED_CPU_HISTORY_H
#define PROFILERS_SCHED_CPU_HISTORY_H

#include "lib/task_by.h"

enum { HISTORY_CPUS_MAX = 8192, HISTORY_PIECES_MAX = 1 << 16, HISTORY_DEPTH_MAX = 4 };

struct ran {
	uint64_t from, to; /* ns */
	pid_t tid;         /* 0: idle; -1: not a thread, which its key names */
	struct task_key_of who;
};

/* Until the next switch. */
struct runs {
	pid_t tid; /* as ran.tid; HISTORY_UNKNOWN: switches were lost, or none was seen yet */
	struct task_key_of who;
};

enum { HISTORY_UNKNOWN = -2 };

struct cpu_log {
	struct ran *pieces; /* a ring of a power of two */
	size_t size, n, next;
	uint64_t since;                     /* ns: the newest piece ended, or the last loss */
	struct runs now[HISTORY_DEPTH_MAX]; /* a thread, and interrupts of it */
	unsigned depth;                     /* interrupts */
	uint64_t counted;                   /* ns: up to when the kernel has counted the thread */
	uint64_t stolen;                    /* ns: so far, of pieces */
	uint64_t ran, irqs; /* ns: since then, what the kernel counted in interrupts; they took */
};

struct cpu_history {
	uint64_t (*oldest)(const void *ctx);         /* ns: what ran before that is not asked for */
	uint64_t (*stolen)(void *ctx, uint32_t cpu); /* ns: as the host says; NULL: unknown */
	void *ctx;
	struct cpu_log *cpus;
	uint32_t n_cpus;
	uint64_t missing; /* switches: what had run was not what was switched to */
};

/* A thread leaves the CPU and another one comes. 0 or -ENOMEM. */
int history_switch(struct cpu_history *history, uint32_t cpu, uint64_t time,
	const struct runs *prev, const struct runs *next);

/* An interrupt begins, or the innermost one ends. 0 or -ENOMEM. */
int history_interrupt(struct cpu_history *history, uint32_t cpu, uint64_t time, const char *name);
int history_return(struct cpu_history *history, uint32_t cpu, uint64_t time);

/*
 * The kernel says for how long a thread has run since the switch to it or the last such event. What
 * is missing, except for interrupts, is time in which the host of a virtual machine ran something
 * else, or the event was not delivered: a piece with this name, if the host says so, too. cpu:
 * where the event is, mostly the CPU of the thread. 0 or
 * -ENOMEM.
 */
int history_ran(struct cpu_history *history, uint32_t cpu, uint64_t time, pid_t tid, uint64_t ran,
	const char *name);

/* Events of a CPU, or with -1 of all, were lost until then. */
void history_lost(struct cpu_history *history, uint32_t cpu, uint64_t to);

/* A time of which history_before() yields the pieces. */
struct ran_at {
	uint32_t cpu;
	uint64_t from, to; /* ns; to is moved to the begin of each piece */
	size_t i; /* pieces that are newer, + 1 for the one that has not ended; 0 at first */
};

/*
 * The last piece of the time that is left, cut to it; the pieces of a time cover it completely.
 * False: none is left.
 */
bool history_before(const struct cpu_history *history, struct ran_at *at, struct ran *ret_piece);

void history_done(struct cpu_history *history);

#endif
