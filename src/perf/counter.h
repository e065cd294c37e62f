/* SPDX-License-Identifier: MIT */
/*
 * Internals of a counter: one event, its fds on the instances of a target, and the counts at reset.
 */
#ifndef PERF_COUNTER_H
#define PERF_COUNTER_H

#include <pthread.h>

#include "attar/perf.h"
#include "base/parse.h"
#include "base/vec.h"
#include "record/uapi.h"

/* The values of the kernel at the last reset; they are subtracted. */
struct counter_base {
	uint64_t raw, time_enabled, time_running, lost;
};

/* One fd of a counter and where it counts. */
struct counter_fd {
	int fd;
	int cpu;     /* -1: any */
	pid_t tid;   /* -1: all tasks on the CPU */
	int cgroup;  /* index, -1: none */
	uint64_t id; /* the kernel's; 0: not read yet, see counter_id() */
	struct counter_base base;
	/* For CPUs that go offline and online, see counter_hotplug.c. */
	uint32_t departures; /* how often the CPU had gone offline when the fd was opened */
	bool gone;           /* the CPU is offline: base holds its count, negated */
	bool fresh;          /* reopened, but not enabled yet */
	bool gap;            /* the CPU was online for a while before the fd was opened */
};

struct attar_counter {
	unsigned process; /* that created it, see base/check_arg.h */
	char *name;
	union { /* as opened */
		struct perf_event_attr attr;
		union uapi_attr whole;
	};
	VEC(struct counter_fd) fds;
	bool shares; /* a hardware event, may be multiplexed: running < enabled is an estimate */
	bool one_core_kind; /* counts on one of several types of cores, see perf/hybrid.h */
	bool every_task;    /* not only of the control groups of its target */
	bool every_cpu;     /* its instances of a task cover all CPUs */
	parse_ints only;    /* the CPUs of the target that it is opened on; none: all */
	bool enabled;
	uint32_t changes_seen; /* of its target's CPUs */
	/* Settings of its fds, also applied to those opened later. */
	char *filter; /* NULL: none */
	int bpf_fd;   /* owned; -1: none */
	int signo;    /* 0: none */
	pid_t signal_tid;
	struct attar_group *group; /* NULL: not in a group */
	bool self;                 /* counts the thread that opened it, on any CPU */
	pthread_t owner;           /* that thread */
	bool self_page_asked;      /* mapping self_page was tried */
	const struct perf_event_mmap_page *self_page; /* NULL: not mapped, or refused */
};

/* A new counter without fds; for the attributes see attar_counter_open(). */
int counter_new(const struct attar_target *t, const struct perf_event_attr *attr, const char *name,
	struct attar_counter **ret_counter);

/* CPUs that an event is restricted to; n 0: none, all CPUs of the target. */
struct counter_cpus {
	const int *at;
	size_t n;
};

/* In addition to enum attar_counter_flags: all tasks, also if the target is control groups. */
#define COUNTER_EVERY_TASK (1U << 31)

/*
 * Like attar_counter_open(), only on the given CPUs of the target, which is not one of any CPU if
 * there are some. -EINVAL: the target has none of them.
 */
int counter_open_on(struct attar_target *target, struct counter_cpus cpus,
	const struct perf_event_attr *attr, const char *name, unsigned flags,
	struct attar_counter **ret_counter);

/* Restricts the instances that are opened from now on. -EINVAL: the target has none of them. */
int counter_restrict(
	struct attar_counter *c, const struct attar_target *t, struct counter_cpus cpus);

/* Whether it is opened on the CPU. */
bool counter_covers(const struct attar_counter *c, int cpu);

/*
 * A counter of a recording: it has the attributes and no descriptors. counter_add_recorded() adds
 * an instance; -1: any CPU, or no thread.
 */
int counter_new_recorded(
	const struct perf_event_attr *attr, const char *name, struct attar_counter **ret_counter);
int counter_add_recorded(struct attar_counter *c, int cpu, pid_t tid);
struct attar_counter *counter_free(struct attar_counter *c);

/*
 * The kernel's id of the event, as in its records; 0 if it cannot be read. It is read at open for
 * members of groups and for events that write records, otherwise on demand.
 */
uint64_t counter_id(const struct counter_fd *it);

/*
 * Opens n counters, the first as the leader of the others, on all of the target's instances. An
 * instance is opened for all or for none; on failure, earlier instances stay open and are closed by
 * counter_free().
 */
int counters_open_instances(
	struct attar_counter *const *c, size_t n, struct attar_target *t, unsigned flags);

/* The same on the instances with these numbers. Thread i has [i * cpus.n, + cpus.n). */
int counters_open_range(struct attar_counter *const *c, size_t n, struct attar_target *t,
	size_t first, size_t end, unsigned flags);

/* Closes each of the first n fds that is of this thread. */
void counter_close_fds(struct attar_counter *c, pid_t tid, size_t n);

/* An instance of a target of CPUs or (cgroup is an index) control groups. */
struct instance;
struct instance counter_instance(const struct attar_target *t, int cpu, int cgroup);

/* Reads one of its fds. */
int counter_read_fd(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *ret_value);

/* Applies the counter's settings to the fd: filter, BPF program, signal. */
int counter_restore(const struct attar_counter *c, const struct counter_fd *it);
int signal_route(const struct attar_counter *c, int fd, int signo, pid_t tid);

#endif
