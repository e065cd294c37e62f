/* SPDX-License-Identifier: MIT */
/*
 * Counting in the kernel: a program (src/bpf/NAME.bpf.c) adds up at each event, and attar reads
 * sums and histograms, instead of the events. It needs libbpf, which is loaded with dlopen(3), the
 * kernel's type information (BTF), and CAP_BPF and CAP_PERFMON.
 *
 *	struct counting_opts opts = {.kind = COUNTING_READY};
 *	struct counting *counting;
 *
 *	counting_new(&opts, &counting);
 *	counting_attach(counting, NULL);
 *	counting_enable(counting, true);
 *	...
 *	counting_read(counting, add_row, ctx);
 *	counting_free(counting);
 *
 * Programs, maps and links are file descriptors: the kernel removes them when this process ends,
 * however it does.
 */
#ifndef BPF_COUNTING_H
#define BPF_COUNTING_H

#include "attar/hist.h"
#include "attar/private/counting.h"
#include "base/parse.h"

struct counting;

struct counting_opts {
	enum counting_kind kind;
	const struct counting_requests *requests; /* of COUNTING_REQUESTS */
	const struct counting_field *field;       /* of COUNTING_VALUES and COUNTING_KEYS */
	pid_t own_pid;                            /* whose system calls are left out; 0: none */
	bool selects_tasks;                       /* only the tasks of counting_select() */
	bool adds_children;                       /* and processes that these create */
	bool adds_threads;                        /* and threads */
	const parse_ints *cpus;                   /* only these, by the end of a time; NULL: all */
};

/* Whether programs can be loaded: 0, or -EOPNOTSUPP with a message that says what is missing. */
int counting_check(void);

/*
 * Loads a program, which does not run yet. 0, or a negative errno with a message: -EOPNOTSUPP if
 * attar was built without programs, or the system lacks something; -EPERM.
 */
int counting_new(const struct counting_opts *opts, struct counting **ret_counting);

/* Detaches and frees. Returns NULL. Accepts NULL. */
struct counting *counting_free(struct counting *counting);

/*
 * The program is called from now on. From then on tasks can be selected. field: whose tracepoint
 * calls it; NULL: it knows its events. 0 or a negative errno.
 */
int counting_attach(struct counting *counting, const struct counting_field *field);

/* Selects a thread. 0 or a negative errno. */
int counting_select(struct counting *counting, pid_t tid);

/* This process is selected when it executes a program. */
void counting_select_command(struct counting *counting, pid_t pid);

/* Begins to count, or ends it. */
void counting_enable(struct counting *counting, bool on);

/* Gives each row that has changed since the last reading. 0, -ENOMEM or the result of fn. */
int counting_read(struct counting *counting, counting_row_fn *fn, void *ctx);

/* Since the start. */
struct counting_stats {
	uint64_t events; /* that were counted */
	/* Values that were not: a map was full, or the program was interrupted by its own event. */
	uint64_t lost;
	uint64_t missed;   /* switches that the kernel did not report, at least */
	uint64_t no_row;   /* system calls whose number is none of a call, as -1 */
	uint64_t no_start; /* completions of requests whose issue was not seen */
};

void counting_get_stats(const struct counting *counting, struct counting_stats *ret_stats);

#endif
