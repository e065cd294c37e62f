/* SPDX-License-Identifier: MIT */
/*
 * A counter from the inside: one event, its fds on the instances of a target, and what was reset.
 */
#ifndef PERF_COUNTER_H
#define PERF_COUNTER_H

#include <pthread.h>

#include "attar/perf.h"
#include "base/vec.h"
#include "record/uapi.h"

/* What the kernel had counted at the last reset. */
struct counter_base {
	uint64_t raw, time_enabled, time_running, lost;
};

/* One fd of a counter and where it counts. */
struct counter_fd {
	int fd;
	int cpu;     /* -1: any */
	pid_t tid;   /* -1: all tasks on the CPU */
	int cgroup;  /* index, -1: none */
	uint64_t id; /* the kernel's; 0: it was not asked yet, see counter_id() */
	struct counter_base base;
	/* Of a CPU that may come and go, see cpus.c. */
	uint32_t departures; /* of the CPU, when the fd was opened */
	bool gone;           /* the CPU is offline: the count stands in base alone, as minus it */
	bool fresh;          /* it was opened anew and does not yet work */
	bool gap;            /* the CPU ran for a while before the fd was opened */
};

struct attar_counter {
	unsigned process; /* that created it, see base/check.h */
	char *name;
	union { /* as opened */
		struct perf_event_attr attr;
		union uapi_attr whole;
	};
	VEC(struct counter_fd) fds;
	bool shares; /* a hardware counter with others: running less than enabled is an estimate */
	bool one_core_kind; /* of several that the machine has: see perf/cores.h */
	bool every_cpu;     /* its instances of one task cover the machine */
	bool enabled;
	uint32_t changes_seen; /* of its target's CPUs */
	/* What was asked of its fds, for those that are opened later. */
	char *filter; /* NULL: none */
	int bpf_fd;   /* owned; -1: none */
	int signo;    /* 0: none */
	pid_t signal_tid;
	struct attar_group *group; /* that it belongs to; NULL: alone */
	bool self;                 /* of the thread that opened it, on any CPU */
	pthread_t owner;           /* that thread */
	bool self_page_asked;
	const struct perf_event_mmap_page *self_page; /* mapped; NULL: not yet, or refused */
};

/* A new counter without fds; the attributes are taken as attar_counter_open() says. */
int counter_new(const struct attar_target *t, const struct perf_event_attr *attr, const char *name,
	struct attar_counter **ret_counter);
struct attar_counter *counter_free(struct attar_counter *c);

/*
 * The kernel's id, as records carry it; 0 when it cannot be asked. Members of groups and what makes
 * records need it always and have it; a lone count does without the system call.
 */
uint64_t counter_id(const struct counter_fd *it);

/*
 * Opens n counters, the first as the leader of the others, on the target's instances from number
 * `first` on. A instance is opened for all or for none; when one is refused, what was opened on
 * earlier instances stays to be closed.
 */
int counters_open_instances(struct attar_counter *const *c, size_t n, const struct attar_target *t,
	size_t first, unsigned flags);

/* A instance of a target of CPUs or (cgroup is an index) control groups. */
struct instance;
struct instance counter_instance(const struct attar_target *t, int cpu, int cgroup);

/* Reads one of its fds. */
int counter_read_fd(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *ret_value);

/* Asks the fd for what was asked of the others: filter, BPF program, signal. */
int counter_restore(const struct attar_counter *c, const struct counter_fd *it);
int signal_route(const struct attar_counter *c, int fd, int signo, pid_t tid);

/* Opens it on the threads tids[first..] of the target too. */
int counter_add_tids(struct attar_counter *c, struct attar_target *t, size_t first);

#endif
