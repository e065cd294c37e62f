/* SPDX-License-Identifier: MIT */
/*
 * task.h - tasks and their pds.
 *
 * A task is in the table from its open to its close; each call holds a reference, so that a close
 * by another thread takes effect when the call has ended. A pd is not used again before two
 * thousand other tasks were opened in its place.
 */
#ifndef KPERF_TASK_H
#define KPERF_TASK_H

#include <pthread.h>

#include "attar/perf.h"
#include "attar/stream.h"
#include "data.h"
#include "pmu.h"

enum kp_kind {
	KP_KIND_PMU,     /* of PmuOpen() */
	KP_KIND_SYSCALL, /* of PmuTraceOpen() */
	KP_KIND_UTRACE,  /* of UTraceOpen() */
};

/* An entry of evtList. */
struct kp_event {
	const char *name;
	const struct attar_event_list *specs;
	struct EvtAttr attr;
};

/* An event that is open. */
struct kp_counter {
	struct attar_counter *counter;
	struct attar_target *target; /* of a device: its own; NULL: the target of the task */
	struct attar_group *group;   /* NULL: none */
	unsigned member;             /* of the group; the first one owns it */
	unsigned event;              /* entry of evtList */
	const struct attar_format *format;
	const char *filter; /* of a tracepoint, in the kernel's language; NULL: none */
	size_t n;           /* instances */
	struct attar_counter_instance *instances;
	struct attar_value *before, *now; /* of each instance */
};

/* A thread that is counted. */
struct kp_thread {
	pid_t tid, pid;
	const char *comm;
};

struct kp_task {
	int pd;
	unsigned refs; /* atomic */
	enum kp_kind kind;
	enum PmuTaskType type;
	struct kp_origin *origin;
	pthread_mutex_t lock; /* of all that follows */
	struct attar_target *target;
	struct kp_event *events;
	size_t n_events;
	struct kp_counter *counters;
	size_t n_counters;
	struct kp_thread *threads;
	size_t n_threads;
	const char **cgroups; /* names */
	size_t n_cgroups;
	int64_t renamed_at; /* names of the threads were read, in ns; 0: at the open */
	bool has_pids, by_exec, self_read, started;
	bool of_metrics;        /* of PmuDeviceOpen(): groups of events of a device are possible */
	struct kp_forks *forks; /* of includeNewFork; NULL: none */

	/* of SAMPLING */
	struct attar_stream *stream;
	struct kp_list *pending;    /* read by PmuCollect() */
	bool stacks;                /* callStack */
	struct kp_blocked *blocked; /* of blockedSample; NULL: none */
	uint64_t lost;              /* until the previous PmuRead() */

	int stop_fd; /* readable after PmuStop() */
	int closing; /* atomic: PmuClose() was called */
	void *own;   /* of the kind */
	void (*free_own)(void *own);
};

/* Puts a task into the table. Returns its pd; or -1, and the call has failed. */
int kp_task_add(struct kp_task *task);

/* The task with a reference; NULL: there is none, and the call has failed. */
struct kp_task *kp_task_get(int pd, enum kp_kind kind);
void kp_task_put(struct kp_task *task);

/* Removes it from the table. */
void kp_task_remove(int pd, enum kp_kind kind);

/* A task that is not in the table yet; NULL: the call has failed. */
struct kp_task *kp_task_new(enum kp_kind kind, enum PmuTaskType type, struct kp_origin *origin);

/* Calls the function with the lock, for functions of the interface. */
int kp_task_call(int pd, enum kp_kind kind, int (*call)(struct kp_task *task));

/* What else a task is opened for. */
enum kp_use { KP_USE_EVENTS, KP_USE_BLOCKED, KP_USE_METRICS };

/*
 * Opens a task of PmuOpen() whose events are looked up in the catalog of the origin: pmu.c. Returns
 * its pd; or -1, and the call has failed.
 */
int kp_open(struct kp_origin *origin, enum PmuTaskType type, const struct PmuAttr *attr,
	enum kp_use use);

/* What follows is called with the lock. It returns SUCCESS, or the code of the failed call. */
int kp_task_enable(struct kp_task *task);
int kp_task_disable(struct kp_task *task);

/* Opens the events of the attributes on task->target: open.c. */
int kp_open_events(struct kp_task *task, const struct PmuAttr *attr);
/* Returns the process of a thread, and its name: tid and "" if it has ended. */
pid_t kp_thread_names(pid_t tid, char *ret_comm, size_t size);
/* The same as one. */
int kp_thread_read(struct kp_origin *origin, pid_t tid, struct kp_thread *ret_thread);
/* Parses an entry of evtList. SUCCESS with a list to be freed, or the code of the failed call. */
int kp_event_parse(
	struct attar_catalog *catalog, const char *name, struct attar_event_list **ret_list);
int kp_open_target(struct kp_task *task, const struct PmuAttr *attr);

/* The CPUs of cpuList that processes are counted on, see kp_join_numbers(); NULL: any. */
char *kp_target_cpus(const struct kp_task *task, const struct PmuAttr *attr);

/* "1,2,3"; NULL if out of memory. The caller frees it. */
char *kp_join_numbers(const int *numbers, size_t n);

/* The same of pidList, in which 0 stands for the calling process. */
char *kp_join_pids(const struct PmuAttr *attr);

/* Whether the attributes are valid; otherwise the call has failed: check.c. */
int kp_check(enum PmuTaskType type, const struct PmuAttr *attr);
int kp_check_lists(const struct PmuAttr *attr);
/* Warns of valid attributes that have no effect, or another one. */
void kp_warn_ignored(enum PmuTaskType type, const struct PmuAttr *attr);

/* Counting: count.c. A value of the counter as a row; NULL: out of memory. */
struct PmuData *kp_count_row(const struct kp_task *task, const struct kp_counter *counter,
	const struct kp_thread *thread, int64_t ts, struct kp_list *list);
void kp_warn_not_counted(const struct kp_task *task, const struct kp_counter *counter);
/* The control group of an instance, NULL: none. */
const char *kp_cgroup_of(const struct kp_task *task, const struct attar_counter_instance *instance);
void kp_count_set(struct PmuData *row, const struct attar_value *value);
void kp_count_add(struct PmuData *row, const struct attar_value *value);
int kp_count_enable(struct kp_task *task);
int kp_count_read(struct kp_task *task, struct kp_list *list);

/*
 * Sampling: sample.c. The period of the event's attributes, else that or the frequency of its name
 * or of the task.
 */
void kp_sample_rate(const struct PmuAttr *attr, const struct EvtAttr *own,
	const struct attar_event_spec *spec, struct perf_event_attr *ret_attr);
void kp_sample_attr(const struct kp_task *task, const struct PmuAttr *attr,
	const struct EvtAttr *own, const struct attar_event_spec *spec,
	struct perf_event_attr *ret_attr);
int kp_sample_open(struct kp_task *task);
int kp_sample_enable(struct kp_task *task);
int kp_sample_read(struct kp_task *task, struct kp_list *list);

/* The branches of a sample. 0 or -ENOMEM. */
int kp_sample_branches(
	struct kp_list *list, const struct attar_sample *sample, struct PmuDataExt **ret_ext);

/* Warns of losses since the previous PmuRead(). Returns all losses of the task. */
uint64_t kp_sample_warn(const struct kp_task *task);

/* Called for each sample of the task's counters; memory is of a new list. 0 or a negative errno. */
typedef int kp_sample_fn(void *ctx, const struct attar_event *event, struct kp_list *memory);
int kp_sample_each(struct kp_task *task, kp_sample_fn *fn, void *ctx, struct kp_list **ret_memory);

/* The most frames of a sample that kp_sample_frames() can set. */
size_t kp_sample_most_frames(const struct attar_event *event);
/* Sets the frames of a sample, at most `room`. */
void kp_sample_frames(struct kp_task *task, const struct attar_event *event, bool user_only,
	struct kp_frames *ret_frames, size_t room);

/* Off-CPU periods: blocked.c. NULL if out of memory. */
struct kp_blocked *kp_blocked_new(bool is_clock);
void kp_blocked_free(struct kp_blocked *blocked);

#endif
