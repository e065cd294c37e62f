/* SPDX-License-Identifier: MIT */
/*
 * attar/perf.h - perf_event_open(2): targets, counters and groups, ring buffers.
 *
 * A struct attar_target is what to monitor: the whole system, CPUs, processes with all their
 * current and future threads, single threads, control groups, or a command to launch. A struct
 * attar_counter is one event opened on a whole target, with one file descriptor per instance of the
 * target. A struct attar_ring is one buffer of records, shared by all counters of a CPU.
 *
 *	struct attar_target *target;
 *	struct attar_target_opts opts = {.size = sizeof(opts), .pids = "1234"};
 *	attar_target_new(&opts, &target);
 *	struct attar_counter *counter;
 *	attar_counter_open(target, &attr, "cycles", 0, &counter);
 *	...
 *	attar_counter_close(counter);
 *	attar_target_free(target);
 *
 * Lifetime: free rings before the counters that write to them, and counters before their target.
 */
#ifndef ATTAR_PERF_H
#define ATTAR_PERF_H

#include <linux/perf_event.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- targets ---- */

enum attar_target_kind {
	ATTAR_TARGET_SYSTEM,  /* CPUs, all tasks */
	ATTAR_TARGET_TASKS,   /* threads, optionally with their future children */
	ATTAR_TARGET_CGROUPS, /* control groups, on CPUs */
};

struct attar_target_opts {
	size_t size;      /* sizeof(struct attar_target_opts) */
	const char *cpus; /* "0-3,8"; NULL: all online CPUs */
	const char *pids; /* "1,2": processes with all their threads; NULL: none */
	const char *tids; /* "1,2": single threads; NULL: none */
	/* names below the root of control groups, globs allowed, separated by commas; NULL: none */
	const char *cgroups;
	/*
	 * argv of a command to launch, NULL-terminated; NULL: none. The command and its children
	 * are monitored, unless pids, tids or cgroups are set: then those are monitored while it
	 * runs.
	 */
	char *const *command;
	/* "NAME=VALUE" for its environment, NULL-terminated; borrowed for the call. NULL: none */
	const char *const *environment;
	bool system_wide; /* monitor the CPUs, not the command, while the command runs */
	bool no_inherit;  /* do not follow threads and processes created later */
	/* skip tasks that are not permitted or have exited, as long as one remains */
	bool skip_refused;
	bool self; /* the calling thread only */
	/*
	 * Threads on any CPU: one instance per thread instead of one per thread and CPU. Cheaper to
	 * open and read, and required for self-reading; inherited counters without a CPU cannot
	 * have a ring.
	 */
	bool any_cpu;
	/*
	 * The whole system, per thread: all existing threads, the command, and the threads that
	 * they create.
	 */
	bool every_thread;
	/*
	 * Called with prepare_ctx in the command's process before its exec, to set what the command
	 * inherits, such as ignored signals or another stdout. It must be async-signal-safe
	 * (signal-safety(7)). NULL: none.
	 */
	void (*prepare)(void *ctx);
	void *prepare_ctx;
	/*
	 * Borrowed for the lifetime of the target. While not 0, listing threads and opening
	 * counters on the target fail with -ECANCELED; a signal handler or another thread may set
	 * it. NULL: none.
	 */
	const int *stop;
	/* pids: also the processes that these have created before, and their own children */
	bool descendants;
	/* new threads are followed, but not new processes; since Linux 5.13 */
	bool only_threads;
	/* processes of pids and threads of tids that have exited are skipped, unless all have */
	bool skip_ended;
};

struct attar_target;

/*
 * Creates a target. A command is forked immediately and waits before its exec for
 * attar_target_start(). Counters on pids and commands are inherited by new threads and processes;
 * counters on tids and self are not, unless attr.inherit is set. -ESRCH: a pid or tid does not
 * exist; -ERANGE: no such CPU; -ENODEV: the CPU is offline; -ENOENT: no such control group;
 * -EINVAL: the options conflict (self, system_wide and every_thread are mutually exclusive and
 * exclude pids, tids and cgroups), or the command is empty; -ECANCELED: opts.stop was set. opts may
 * be NULL: the whole system.
 */
ATTAR_API int attar_target_new(
	const struct attar_target_opts *opts, struct attar_target **ret_target);

/*
 * Terminates the command if it still runs (SIGTERM, then SIGKILL after one second) and frees the
 * target. Returns NULL. target may be NULL.
 */
ATTAR_API struct attar_target *attar_target_free(struct attar_target *target);

/*
 * Lets a launched command exec. Returns 0; -ENOENT: no such command; -ENOEXEC: the file cannot be
 * executed.
 */
ATTAR_API int attar_target_start(struct attar_target *target);

/*
 * True once the command or all processes given by pid have exited, or all control groups have been
 * removed. A target of CPUs never ends by itself. poll() attar_target_fd() to learn when to call
 * this; removal of control groups is detected only by calling this, with a delay of up to 100 ms.
 * In a child of the process that created the target: true.
 */
ATTAR_API bool attar_target_ended(struct attar_target *target);

/*
 * An epoll fd that becomes readable when a monitored process exits; -1: none. Owned by the target.
 */
ATTAR_API int attar_target_fd(const struct attar_target *target);

/*
 * The exit status of the command as a shell reports it (128 + n for signal n). -1: there is no
 * command, attar_target_ended() has not seen it exit yet, or the status is unknown. If the calling
 * program ignores SIGCHLD or reaps all of its children (waitpid(-1) in a handler), the exit is
 * still detected, but the status is known only since Linux 6.15.
 */
ATTAR_API int attar_target_command_status(const struct attar_target *target);

/*
 * The name of control group i below the root of its hierarchy; NULL if i is out of range.
 * Borrowed from the target.
 */
ATTAR_API const char *attar_target_cgroup(const struct attar_target *target, size_t i);

/* ---- counters ---- */

struct attar_counter;

enum attar_counter_flags {
	/*
	 * If the event is refused as requested, open a reduced one and log one line: user code only
	 * where the kernel may not be monitored; without attributes that this kernel does not
	 * support.
	 */
	ATTAR_COUNTER_DEGRADE = 1,
	/*
	 * Request what attar_counter_read_self() needs from the PMU; ignored where not supported.
	 */
	ATTAR_COUNTER_SELF_READ = 2,
};

/*
 * Opens the event on every instance of the target, all or nothing. attr is borrowed for the call;
 * attr->size is the size of the caller's struct (0: the 128 bytes of Linux 5.13); the size passed
 * to the kernel is negotiated. read_format is extended by what attar_counter_read() needs. name is
 * copied and used in messages and reports. On failure the error message names the event, the reason
 * and the fix. -EOPNOTSUPP: this system does not have the event, or the kernel is older than one of
 * its options; -EACCES, -EPERM: not permitted; -EINVAL: its options conflict; -E2BIG: its options
 * are newer than the library, or its records are too large; -ESRCH: all tasks of the target have
 * exited; -ECANCELED: the target's opts.stop was set.
 */
ATTAR_API int attar_counter_open(struct attar_target *target, const struct perf_event_attr *attr,
	const char *name, unsigned flags, struct attar_counter **ret_counter);

/* Returns NULL. counter may be NULL. Members of a group are closed by attar_group_close(). */
ATTAR_API struct attar_counter *attar_counter_close(struct attar_counter *counter);

/* The name passed at open; borrowed from the counter. */
ATTAR_API const char *attar_counter_name(const struct attar_counter *counter);

/* The attributes actually used after negotiation, attr->size bytes; borrowed from the counter. */
ATTAR_API const struct perf_event_attr *attar_counter_attr(const struct attar_counter *counter);

/*
 * Whether the event is cpu-clock or task-clock. Their counts are the time in user and kernel code,
 * also with attr.exclude_user or attr.exclude_kernel; their samples honour these. Of attr, only
 * type and config are read.
 */
ATTAR_API bool attar_attr_is_clock(const struct perf_event_attr *attr);

/*
 * Starts or stops counting on all instances; 0 or a negative errno. Safe in signal handlers and
 * from any thread.
 */
ATTAR_API int attar_counter_enable(struct attar_counter *counter);
ATTAR_API int attar_counter_disable(struct attar_counter *counter);

/*
 * Like attar_counter_enable(), except that instances of attr.enable_on_exec that have not been
 * enabled yet continue to wait for the exec. Not safe in signal handlers.
 */
ATTAR_API int attar_counter_resume(struct attar_counter *counter);

/* Whether an instance has attr.enable_on_exec and has not been enabled yet. */
ATTAR_API bool attar_counter_waits_for_exec(const struct attar_counter *counter, size_t instance);

/* One instance of a counter: a file descriptor and where it counts. */
struct attar_counter_instance {
	int fd;     /* owned by the counter */
	int cpu;    /* -1: any CPU */
	pid_t tid;  /* -1: all tasks on the CPU */
	int cgroup; /* index of the target's control group; -1: none */
	/* the kernel's event id, as in records; 0: unknown */
	uint64_t id;
};

/* The number of instances of the counter. */
ATTAR_API size_t attar_counter_instances(const struct attar_counter *counter);

/* Instance i, below attar_counter_instances(). Out of range: fd, cpu, tid and cgroup are -1. */
ATTAR_API struct attar_counter_instance attar_counter_instance_at(
	const struct attar_counter *counter, size_t i);

/* ---- control of open counters; each call affects all instances ---- */

/*
 * Sets the period, or the frequency of an event opened with attr.freq. -EINVAL: not a sampled
 * event.
 */
ATTAR_API int attar_counter_set_period(struct attar_counter *counter, uint64_t period);

/*
 * Enables the counter for n more overflows per instance, after which the kernel disables it and
 * poll() reports POLLHUP. -EINVAL: the event is not sampled, or it is inherited.
 */
ATTAR_API int attar_counter_refresh(struct attar_counter *counter, unsigned n);

/*
 * Runs a loaded BPF program on each event: for tracepoints and probes since Linux 4.1, for other
 * sampled events since 4.9.
 */
ATTAR_API int attar_counter_attach_bpf(struct attar_counter *counter, int program_fd);

/*
 * The ids of all programs attached to the counter's tracepoint or probe, by any process (since
 * Linux 4.16). Writes at most `room` ids; *ret_n is the total number.
 */
ATTAR_API int attar_counter_query_bpf(
	struct attar_counter *counter, uint32_t *ret_ids, size_t room, size_t *ret_n);

/*
 * Sets a filter. For a tracepoint it is in the kernel's filter language
 * ("prev_pid == 7 && prio < 10"), for a PMU with AUX data it lists address ranges ("filter
 * 0x1000/64@/bin/ls"). Can be set only once. -EINVAL: the kernel rejects the filter.
 */
ATTAR_API int attar_counter_filter(struct attar_counter *counter, const char *filter);

/*
 * Changes the address, length and type of a breakpoint (since Linux 4.17). Other events: -EINVAL.
 */
ATTAR_API int attar_counter_modify(
	struct attar_counter *counter, const struct perf_event_attr *attr);

/*
 * Pauses or resumes output to the counter's rings (since Linux 4.7); records in between count as
 * lost.
 * -EINVAL: the counter has no ring.
 */
ATTAR_API int attar_counter_pause(struct attar_counter *counter, bool pause);

/*
 * Redirects the records to the rings of another counter, instance by instance, or (to is NULL)
 * discards them. Both need the same instances and clock; the counter must not have rings itself.
 */
ATTAR_API int attar_counter_redirect(struct attar_counter *counter, struct attar_counter *to);

/*
 * Handles CPU hotplug: checks which CPUs went offline or came online since the last call, and
 * reopens the counters (for a group, pass its leader) on CPUs that came online. Counts continue
 * with quality PARTIAL, since the CPU ran unmonitored for a while; filter, BPF program and signal
 * are set again. If the target covers all CPUs, new CPUs add instances at the end. No effect on
 * targets of tasks, whose events survive hotplug. Logs one line about missing data. Streams call
 * this themselves. 1: changed; 0: unchanged; or a negative errno.
 */
ATTAR_API int attar_target_follow_cpus(
	struct attar_target *target, struct attar_counter *const *counters, size_t n);

/* ---- signals ---- */

/*
 * Sends a signal to thread tid (0: the calling thread) on each overflow of any instance. Real-time
 * signals (SIGRTMIN and above) are queued, one per overflow. signo 0: stop sending. -EINVAL: the
 * event is not sampled; -ESRCH: no such thread.
 */
ATTAR_API int attar_counter_signal(struct attar_counter *counter, int signo, pid_t tid);

enum attar_signal_kind {
	ATTAR_SIGNAL_OVERFLOW, /* from attar_counter_signal() */
	ATTAR_SIGNAL_LAST,     /* the last overflow of attar_counter_refresh(), or task exit */
	/* from attr.sigtrap: delivered synchronously to the thread that overflowed */
	ATTAR_SIGNAL_TRAP,
};

/* A decoded signal of an event. */
struct attar_signal {
	enum attar_signal_kind kind;
	int fd;        /* of the instance, see attar_counter_instance_at(); a TRAP has none: -1 */
	uint32_t type; /* of a TRAP, the event's attr.type */
	uint64_t data; /* of a TRAP, attr.sig_data */
	uint64_t addr; /* of a TRAP: the address, such as of a breakpoint */
	bool late;     /* of a TRAP that was blocked and thus delayed (since Linux 5.18) */
};

/*
 * Decodes either kind of signal in a handler (SA_SIGINFO); async-signal-safe. info is the handler's
 * siginfo_t *, a type that strict ISO C does not declare. False: not a signal of an event.
 */
ATTAR_API bool attar_signal_decode(const void *info, struct attar_signal *ret_signal);

/* ---- values ---- */

/* How reliable a value is; a sum has the worst quality of its parts. */
enum attar_quality {
	ATTAR_QUALITY_IDLE,   /* 0: not enabled, or the task did not run */
	ATTAR_QUALITY_EXACT,  /* counted during all of the enabled time */
	ATTAR_QUALITY_SCALED, /* multiplexed: an estimate for the enabled time */
	/* part was not counted and cannot be estimated; value is what was counted */
	ATTAR_QUALITY_PARTIAL,
	ATTAR_QUALITY_NOT_COUNTED, /* enabled, but never on a hardware counter: no value */
	ATTAR_QUALITY_ERROR,       /* pinned, but lost its hardware counter: no value */
};

struct attar_value {
	uint64_t value; /* raw, or for SCALED raw * enabled / running */
	uint64_t raw;   /* as counted */
	uint64_t time_enabled, time_running;
	uint64_t lost; /* lost records (sampled events, since Linux 6.0) */
	uint64_t id;   /* the kernel's; 0 for a sum */
	enum attar_quality quality;
	/*
	 * time_enabled includes time that the task spent where this event does not count: on
	 * another CPU, or (hybrid machines) on another core type. Then enabled minus running is not
	 * multiplexing, and raw is not scaled.
	 */
	bool elsewhere;
	bool by_self_read; /* read without a system call, see attar_counter_read_self() */
};

/*
 * Reads the count: joined over the CPUs of each thread and summed over all instances, or the count
 * of one instance, below attar_counter_instances() (-EINVAL otherwise). A count that is not
 * available is not an error but a quality; errors are the errors of read(2). ret_value->value is
 * never stale.
 */
ATTAR_API int attar_counter_read(struct attar_counter *counter, struct attar_value *ret_value);
ATTAR_API int attar_counter_read_at(
	struct attar_counter *counter, size_t instance, struct attar_value *ret_value);

/*
 * Like attar_counter_read(), but without a system call where possible: for a counter of the calling
 * thread (target .self and .any_cpu, not inherited), while it is on a hardware counter that the CPU
 * lets user code read (x86-64: /sys/bus/event_source/devices/cpu/rdpmc; arm64:
 * kernel.perf_user_access and ATTAR_COUNTER_SELF_READ). Otherwise it uses read(2);
 * ret_value->by_self_read is true if no system call was made.
 */
ATTAR_API int attar_counter_read_self(struct attar_counter *counter, struct attar_value *ret_value);

/*
 * Resets values, times and the counts of exited children to 0. (PERF_EVENT_IOC_RESET keeps both
 * times and such counts; here the current values are subtracted from all later ones.)
 */
ATTAR_API int attar_counter_reset(struct attar_counter *counter);

/* The difference of two values of the same instance, with the quality of that interval alone. */
ATTAR_API struct attar_value attar_value_since(
	const struct attar_value *now, const struct attar_value *before);

/* Adds a value to a sum; initialize the sum with {0}. */
ATTAR_API void attar_value_add(struct attar_value *sum, const struct attar_value *value);

/*
 * A thread's count on one CPU alone does not show whether its hardware counter was multiplexed; all
 * parts together do. Takes the values (or differences) of all instances of a counter, determines
 * the quality of each thread's total and scales each part like the total. No effect if the
 * instances are not per thread and CPU.
 */
ATTAR_API void attar_values_settle(const struct attar_counter *counter, struct attar_value *values);

/* "exact", "scaled" ...; a static string. */
ATTAR_API const char *attar_quality_name(enum attar_quality quality);

/* ---- groups ---- */

/*
 * Counters that are scheduled together or not at all, so that their ratios are valid. Each read is
 * one system call per instance.
 */
struct attar_group;

struct attar_group_event {
	const char *name;
	const struct perf_event_attr *attr;
};

/*
 * Opens all events on all instances, or none. The first is the leader: it determines whether all
 * are disabled, pinned or exclusive, and their clock. Otherwise like attar_counter_open(). Also
 * -EINVAL: no events or more than 512, or a member conflicts with its leader.
 */
ATTAR_API int attar_group_open(struct attar_target *target, const struct attar_group_event *events,
	size_t n, unsigned flags, struct attar_group **ret_group);

/* Closes all members. Returns NULL. group may be NULL. */
ATTAR_API struct attar_group *attar_group_close(struct attar_group *group);

/* Member i, NULL if out of range; borrowed from the group. */
ATTAR_API struct attar_counter *attar_group_counter(struct attar_group *group, size_t i);

/* Starts, stops or resets all members together. 0 or a negative errno. */
ATTAR_API int attar_group_enable(struct attar_group *group);
ATTAR_API int attar_group_disable(struct attar_group *group);
ATTAR_API int attar_group_reset(struct attar_group *group);

/* Like attar_counter_read() for all members; ret_values has one entry per member, in open order. */
ATTAR_API int attar_group_read(struct attar_group *group, struct attar_value *ret_values);
ATTAR_API int attar_group_read_at(
	struct attar_group *group, size_t instance, struct attar_value *ret_values);

/* ---- ring buffers ---- */

struct attar_ring;

/*
 * Maps the rings that the counters write to: one per CPU of the target (any_cpu: one per thread),
 * shared by all counters. bytes is the requested size of each ring, rounded up to a power of two of
 * pages; if the limit on locked memory does not allow it, the rings are smaller and a line is
 * logged. ret_rings is an array of *ret_n rings, owned by the caller: attar_rings_free(). Several
 * counters need PERF_SAMPLE_IDENTIFIER. -EPERM: not even one page can be locked; -EINVAL: a counter
 * is inherited and opened on any CPU.
 */
ATTAR_API int attar_rings_new(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n);

/* Unmaps the rings and frees the array; rings may be NULL. */
ATTAR_API void attar_rings_free(struct attar_ring **rings, size_t n);

/* The fd to poll for the ring's watermark; owned by its counter. */
ATTAR_API int attar_ring_fd(const struct attar_ring *ring);
ATTAR_API int attar_ring_cpu(const struct attar_ring *ring); /* -1: a thread's ring */

/*
 * Reading: attar_ring_begin() loads the kernel's write position; attar_ring_next() returns the
 * records up to it, oldest first, NULL after the last. attar_ring_release() releases the space of
 * all records before the last returned one to the kernel, attar_ring_end() also the space of the
 * last one. A record is valid until its space is released; one that wraps around only until the
 * next attar_ring_next().
 */
ATTAR_API void attar_ring_begin(struct attar_ring *ring);
ATTAR_API const struct perf_event_header *attar_ring_next(struct attar_ring *ring);
ATTAR_API void attar_ring_release(struct attar_ring *ring);
ATTAR_API void attar_ring_end(struct attar_ring *ring);

/* ---- AUX areas: trace data written by PMUs (Intel PT, Arm SPE, CoreSight) ---- */

struct attar_aux;
struct attar_record;

/*
 * Maps an AUX area for the ring; free it before the ring. bytes is rounded up to a power of two of
 * pages; if locked memory is short, the area is smaller and a line is logged. The ring's first
 * counter is the tracing one. A snapshot area is overwritten continuously. -EOPNOTSUPP: the
 * counter's PMU has no AUX area; -EINVAL: the ring is overwritable; -EPERM: not even one page can
 * be locked.
 */
ATTAR_API int attar_aux_new(
	struct attar_ring *ring, size_t bytes, bool snapshot, struct attar_aux **ret_aux);

/* Unmaps the area. Returns NULL. aux may be NULL. */
ATTAR_API struct attar_aux *attar_aux_free(struct attar_aux *aux);
ATTAR_API size_t attar_aux_size(const struct attar_aux *aux); /* bytes */

/* A range of an AUX area; not copied. */
struct attar_aux_data {
	/* One part, or two if the range wraps around: then the second is not empty. */
	struct {
		const void *bytes;
		size_t size;
	} parts[2];
	uint64_t offset; /* of its first byte from the start of the trace */
	uint64_t size;   /* bytes, of both parts */
	/* the area was full: later data is lost, and the counter must be enabled again */
	bool truncated;
	bool overwritten; /* from a snapshot area */
	bool partial;     /* has gaps */
	bool collision;   /* samples collided */
	uint8_t format;   /* PMU-specific format */
};

/*
 * The data that a PERF_RECORD_AUX of the ring describes; valid until released. -EBADMSG: the record
 * refers to data outside the area; -EINVAL: not a PERF_RECORD_AUX, or the area is a snapshot.
 */
ATTAR_API int attar_aux_read(
	struct attar_aux *aux, const struct attar_record *record, struct attar_aux_data *ret_data);

/* Releases the space of the data, and of all before it, to the PMU. */
ATTAR_API void attar_aux_release(struct attar_aux *aux, const struct attar_aux_data *data);

/*
 * The contents of a snapshot area, newest byte last. The counter must be disabled; the data is
 * valid until it is enabled again. -EINVAL: not a snapshot area.
 */
ATTAR_API int attar_aux_snapshot(struct attar_aux *aux, struct attar_aux_data *ret_data);

#ifdef __cplusplus
}
#endif

#endif
