/* SPDX-License-Identifier: MIT */
/*
 * attar/perf.h - perf_event_open(2): whom to watch, what to count or sample, where records arrive.
 *
 * A struct attar_target says whom: the whole system, CPUs, processes with all their threads and those
 * that they create later, threads, control groups, or a command to launch. A struct attar_counter is one
 * event opened on a whole target: as many file descriptors as the target has instances. A struct attar_ring
 * is one buffer of records, shared by every counter of a CPU.
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
 * Life: a target outlives its counters, counters outlive the rings that they write to.
 */
#ifndef ATTAR_PERF_H
#define ATTAR_PERF_H

#include <linux/perf_event.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- whom to watch ---- */

enum attar_target_kind {
	ATTAR_TARGET_SYSTEM,  /* CPUs, whoever runs there */
	ATTAR_TARGET_TASKS,   /* threads, and what they create later */
	ATTAR_TARGET_CGROUPS, /* control groups, on CPUs */
};

struct attar_target_opts {
	size_t size;      /* sizeof(struct attar_target_opts) */
	const char *cpus; /* "0-3,8"; NULL: every CPU that is online */
	const char *pids; /* "1,2": processes with all their threads; NULL: none */
	const char *tids; /* "1,2": single threads; NULL: none */
	/* names below the cgroup root, globs allowed, separated by commas; NULL: none */
	const char *cgroups;
	/*
	 * argv of a command to launch, NULL-terminated; NULL: none. It is watched with what it starts; beside
	 * pids, tids or cgroups it is not: they are watched while it runs.
	 */
	char *const *command;
	/* "NAME=VALUE" for its environment, NULL-terminated; borrowed for the call. NULL: none */
	const char *const *environment;
	bool system_wide; /* watch the CPUs, not the command, while the command runs */
	bool no_inherit;  /* threads and processes created later are not followed */
	bool skip_refused; /* leave out what may not be watched or has ended, as long as one is left */
	bool self;         /* the calling thread, alone */
	/*
	 * Threads wherever they run: one instance for each thread, not one for each thread on each
	 * CPU. Cheap to open and to read, and what self-reading needs; but inherited counters
	 * without a CPU can have no ring.
	 */
	bool any_cpu;
	/* The whole system, but each thread by itself: all that run now, and with them what they create. */
	bool every_thread;
	/*
	 * Called with prepare_ctx in the process of the command before its exec, to set what the
	 * command inherits, such as ignored signals or another stdout. It must be async-signal-safe
	 * (signal-safety(7)). NULL: nothing is called.
	 */
	void (*prepare)(void *ctx);
	void *prepare_ctx;
	/*
	 * Borrowed for the life of the target. Once it is not 0, listing threads and opening counters
	 * on the target end with -ECANCELED; a signal handler or another thread may set it. NULL:
	 * nothing stops them.
	 */
	const int *stop;
};

struct attar_target;

/*
 * Resolves whom to watch. A command is forked at once and waits, stopped before its exec, for
 * attar_target_start(). Threads of pids, and commands, are followed into what they create; tids and self are
 * not, unless an event's attr.inherit asks for it. -ESRCH: a pid or tid does not exist; -ERANGE: there is no
 * such CPU; -ENODEV: it is offline; -ENOENT: no such cgroup; -EINVAL: the options contradict each other
 * (self, system_wide and every_thread exclude each other and pids, tids and cgroups), or the command is
 * an empty list; -ECANCELED: opts.stop was set.
 */
ATTAR_API int attar_target_new(
	const struct attar_target_opts *opts, struct attar_target **ret_target);

/*
 * Ends a command that still runs (SIGTERM, then SIGKILL after a second) and frees. NULL, for the
 * caller's variable. Takes NULL.
 */
ATTAR_API struct attar_target *attar_target_free(struct attar_target *target);

/* What kind of target it turned out to be. */
ATTAR_API enum attar_target_kind attar_target_kind_of(const struct attar_target *target);

/*
 * Lets a launched command go on to its exec. 0; -ENOENT: there is no such command; -ENOEXEC: it
 * cannot be executed.
 */
ATTAR_API int attar_target_start(struct attar_target *target);

/* The pid of the launched command, 0 without one. */
ATTAR_API pid_t attar_target_command_pid(const struct attar_target *target);

/*
 * True once nobody is left to watch: the command has exited, or every process given by pid, or all
 * control groups have been removed. A target of CPUs never ends by itself. poll() on
 * attar_target_fd() tells when to ask; the removal of control groups is noticed only by asking,
 * within 100 ms. In a child of the process that created the target: true.
 */
ATTAR_API bool attar_target_ended(struct attar_target *target);

/* An epoll fd that becomes readable when a watched process ends; -1 when none can. Owned by the target. */
ATTAR_API int attar_target_fd(const struct attar_target *target);

/*
 * The exit status of the ended command as a shell gives it (128 + n for signal n). -1: there is no
 * command, attar_target_ended() has not found its end yet, or the status is not known. A program may
 * ignore SIGCHLD or reap all of its children (waitpid(-1) in a handler): the end of the command is
 * noticed all the same, but its status is known since Linux 6.15 only.
 */
ATTAR_API int attar_target_command_status(const struct attar_target *target);

/*
 * CPU time of the ended command and of the children that it waited for: ns. -ENOENT: it has not
 * ended, or there is none; -ECHILD: the program reaped it itself, or ignores SIGCHLD.
 */
ATTAR_API int attar_target_command_times(
	const struct attar_target *target, uint64_t *ret_user, uint64_t *ret_system);

/*
 * The name of control group number i below the root of its hierarchy; NULL from the last on.
 * Borrowed from the target.
 */
ATTAR_API const char *attar_target_cgroup(const struct attar_target *target, size_t i);

/* The CPUs of the target, ascending; -1 alone for any_cpu. Borrowed from the target. */
ATTAR_API const int *attar_target_cpus(const struct attar_target *target, size_t *ret_n);

/* ---- what to count or sample ---- */

struct attar_counter;

enum attar_counter_flags {
	/*
	 * When the event as asked for is refused, open less instead and say so in one log line: user code
	 * only where the kernel may not be watched; without what this kernel does not know.
	 */
	ATTAR_COUNTER_DEGRADE = 1,
	/* Asks the PMU for what attar_counter_read_self() needs; where it is refused, without. */
	ATTAR_COUNTER_SELF_READ = 2,
};

/*
 * Opens the event on every instance of the target, all or nothing. attr is borrowed for the call;
 * attr->size says how long the caller's struct is (0: the 128 bytes of Linux 5.13), what the kernel
 * is given is negotiated here. read_format gets what attar_counter_read() needs. name is for
 * messages and reports; copied. On failure the error text names the event, the reason and the
 * remedy. -EOPNOTSUPP: the event is not available here; -EACCES, -EPERM: not to us; -EINVAL,
 * -E2BIG: its options contradict each other, or are newer than kernel or library; -ESRCH: nobody of
 * the target is left; -ECANCELED: the target's opts.stop was set.
 */
ATTAR_API int attar_counter_open(struct attar_target *target, const struct perf_event_attr *attr,
	const char *name, unsigned flags, struct attar_counter **ret_counter);

/* NULL, for the caller's variable. Takes NULL. A member of a group is closed by attar_group_close(). */
ATTAR_API struct attar_counter *attar_counter_close(struct attar_counter *counter);

/* The name that it was opened with; borrowed from the counter. */
ATTAR_API const char *attar_counter_name(const struct attar_counter *counter);

/* The attributes that it was opened with in the end, attr->size bytes; borrowed from the counter. */
ATTAR_API const struct perf_event_attr *attar_counter_attr(const struct attar_counter *counter);

/*
 * Counting begins, and ends, on all instances; 0 or a negative errno. Safe in signal handlers and from
 * any thread.
 */
ATTAR_API int attar_counter_enable(struct attar_counter *counter);
ATTAR_API int attar_counter_disable(struct attar_counter *counter);

/*
 * All that the calling thread has opened, by libattar or not, whomever it watches, is enabled or
 * disabled by one system call; what other threads have opened is not. Each event for itself: a
 * group is no longer whole after it. 0 or a negative errno.
 */
ATTAR_API int attar_counters_enable_all(void);
ATTAR_API int attar_counters_disable_all(void);

/* Where one of its file descriptors counts. */
struct attar_counter_instance {
	int fd;     /* owned by the counter */
	int cpu;    /* -1: wherever the thread runs */
	pid_t tid;  /* -1: whoever runs on the CPU */
	int cgroup; /* number of the target's control group; -1: none */
	/* the kernel's number of the event, as records carry it; 0: it does not tell */
	uint64_t id;
};

/* How many instances it was opened on. */
ATTAR_API size_t attar_counter_instances(const struct attar_counter *counter);

/* Place number i, below attar_counter_instances(). Past the end: fd, cpu, tid and cgroup are -1. */
ATTAR_API struct attar_counter_instance attar_counter_instance_at(
	const struct attar_counter *counter, size_t i);

/* Records that the kernel could not store for this event so far; 0 where it does not tell (before 6.0). */
ATTAR_API uint64_t attar_counter_lost(const struct attar_counter *counter);

/* ---- while it is open; each on all instances of the counter ---- */

/* The period from now on; the frequency, for an event opened with attr.freq. -EINVAL: it is not sampled. */
ATTAR_API int attar_counter_set_period(struct attar_counter *counter, uint64_t period);

/*
 * Enables it for n more overflows on each instance, after which the kernel disables it and its fd hangs up.
 * -EINVAL: it is not sampled, or it is inherited.
 */
ATTAR_API int attar_counter_refresh(struct attar_counter *counter, unsigned n);

/*
 * Runs the loaded BPF program at each occurrence: of a tracepoint or probe since 4.1, of others
 * that are sampled since 4.9.
 */
ATTAR_API int attar_counter_attach_bpf(struct attar_counter *counter, int program_fd);

/*
 * The ids of the programs attached to the counter's tracepoint or probe, by whomever (since 4.16). At most
 * `room` of them are written; *ret_n is how many there are.
 */
ATTAR_API int attar_counter_query_bpf(
	struct attar_counter *counter, uint32_t *ret_ids, size_t room, size_t *ret_n);

/*
 * Only what the filter lets through counts: of a tracepoint in the kernel's filter language
 * ("prev_pid == 7 && prio < 10"), of a PMU with AUX data address ranges ("filter
 * 0x1000/64@/bin/ls"). Once only. -EINVAL: the kernel does not take the filter.
 */
ATTAR_API int attar_counter_filter(struct attar_counter *counter, const char *filter);

/* Moves a breakpoint to attr's address, length and kind without closing it (since 4.17). Others: -EINVAL. */
ATTAR_API int attar_counter_modify(
	struct attar_counter *counter, const struct perf_event_attr *attr);

/*
 * Stops or resumes writing to its rings; what comes in between counts as lost (since 4.7). -EINVAL:
 * it has no ring.
 */
ATTAR_API int attar_counter_pause(struct attar_counter *counter, bool pause);

/*
 * Sends its records to the rings of another counter, instance by instance, or (to is NULL) nowhere. Both have the
 * same instances and clock, and it has no rings of its own.
 */
ATTAR_API int attar_counter_redirect(struct attar_counter *counter, struct attar_counter *to);

/*
 * CPUs go offline and come back. Looks whether any did since the last look, and opens the counters
 * (of a group, the one that leads it) anew where a CPU has come: counts go on, with the quality
 * PARTIAL, since the CPU had run unwatched for a while; filter, BPF program and signal are set
 * again. Where the target watches every CPU, one that was never there adds instances at the end. Of a
 * target of tasks, which take their events along: nothing. One log line says what is missing. A
 * stream does this by itself. 1: something changed; 0: nothing; or a negative errno.
 */
ATTAR_API int attar_target_follow_cpus(
	struct attar_target *target, struct attar_counter *const *counters, size_t n);

/* ---- signals ---- */

/*
 * Sends the signal to the thread tid (0: the calling one) at each overflow on any of the counter's
 * instances, as many signals as overflows if it is a real-time signal (SIGRTMIN and above queue);
 * signo 0: no more. -EINVAL: the event is not sampled; -ESRCH: there is no such thread.
 */
ATTAR_API int attar_counter_signal(struct attar_counter *counter, int signo, pid_t tid);

enum attar_signal_kind {
	ATTAR_SIGNAL_OVERFLOW, /* of attar_counter_signal() */
	ATTAR_SIGNAL_LAST, /* the same: the last of attar_counter_refresh(), or its task's end */
	ATTAR_SIGNAL_TRAP, /* of attr.sigtrap: in the thread that overflowed, right where it did */
};

/* What a signal of an event says. */
struct attar_signal {
	enum attar_signal_kind kind;
	int fd;        /* of the instance, see attar_counter_instance_at(); a TRAP has none: -1 */
	uint32_t type; /* of a TRAP, the event's attr.type */
	uint64_t data; /* of a TRAP, attr.sig_data */
	uint64_t addr; /* of a TRAP, what the event is about: for a breakpoint its address */
	bool late; /* of a TRAP that the thread had blocked: it has run on since (told since 5.18) */
};

/*
 * For the handler (SA_SIGINFO) of either kind; safe there. info is the siginfo_t * that the handler
 * got, which strict ISO C does not declare. False: the signal is of no event.
 */
ATTAR_API bool attar_signal_decode(const void *info, struct attar_signal *ret_signal);

/* ---- values ---- */

/* How a value came about; a sum has that of its worst part. */
enum attar_quality {
	ATTAR_QUALITY_IDLE,    /* 0: it was not enabled, or its task did not run */
	ATTAR_QUALITY_EXACT,   /* counted all the time that it was enabled */
	ATTAR_QUALITY_SCALED,  /* shared its hardware counter: an estimate for the whole time */
	ATTAR_QUALITY_PARTIAL, /* a part was not counted and cannot be estimated: what was counted */
	ATTAR_QUALITY_NOT_COUNTED, /* enabled, but never on a hardware counter: nothing is known */
	ATTAR_QUALITY_ERROR,       /* pinned, and its hardware counter was lost: nothing is known */
};

struct attar_value {
	uint64_t value; /* the answer: raw, or for SCALED raw * enabled / running */
	uint64_t raw;   /* as counted */
	uint64_t time_enabled, time_running;
	uint64_t lost; /* records that could not be stored (of a sampled event, since 6.0) */
	uint64_t id;   /* the kernel's; 0 for a sum */
	enum attar_quality quality;
	/*
	 * time_enabled holds also what its task spent where this event does not count: on another
	 * CPU, or (hybrid machines) on another kind of cores. Time in which it did not run says
	 * nothing then, and raw is not scaled.
	 */
	bool elsewhere;
	bool by_self_read; /* read without a system call, see attar_counter_read_self() */
};

/*
 * Counts, joined over the CPUs of each thread and summed over all instances, or those of one instance,
 * whose number is below attar_counter_instances() (-EINVAL otherwise). A count that could not be had is
 * no error but a quality; errors are those of read(2). ret_value->value is never stale.
 */
ATTAR_API int attar_counter_read(struct attar_counter *counter, struct attar_value *ret_value);
ATTAR_API int attar_counter_read_at(
	struct attar_counter *counter, size_t instance, struct attar_value *ret_value);

/*
 * As attar_counter_read(), but without a system call where that is possible: for a counter of the
 * calling thread (target .self and .any_cpu, not inherited), while it is on a hardware counter that
 * the CPU lets user code read (x86-64: /sys/bus/event_source/devices/cpu/rdpmc; arm64:
 * kernel.perf_user_access and ATTAR_COUNTER_SELF_READ). Otherwise by read(2):
 * ret_value->by_self_read says which it was.
 */
ATTAR_API int attar_counter_read_self(struct attar_counter *counter, struct attar_value *ret_value);

/*
 * Values begin anew at 0, times too, with the counts of children that have ended. (PERF_EVENT_IOC_RESET
 * keeps both times and such counts; here the present values are taken off all later ones.)
 */
ATTAR_API int attar_counter_reset(struct attar_counter *counter);

/* What was counted between two values of the same instance; its quality is that of this time alone. */
ATTAR_API struct attar_value attar_value_since(
	const struct attar_value *now, const struct attar_value *before);

/* Adds a value to a sum; a sum begins as {0}. */
ATTAR_API void attar_value_add(struct attar_value *sum, const struct attar_value *value);

/*
 * Joins the parts of one task's count: of all CPUs, or of all kinds of cores. They were enabled in the same
 * time and ran one after the other, so together they have no `elsewhere`. A whole begins as {0}.
 */
ATTAR_API void attar_value_join(struct attar_value *whole, const struct attar_value *part);

/*
 * A thread's parts on its CPUs do not tell by themselves whether a hardware counter was shared; together they
 * do. Given the values of all instances of a counter, or differences of them, this judges the parts by their
 * whole, and scales each as the whole is. Does nothing where instances are no parts.
 */
ATTAR_API void attar_values_settle(const struct attar_counter *counter, struct attar_value *values);

/* "exact", "scaled" ...: one word or two. A static string. */
ATTAR_API const char *attar_quality_name(enum attar_quality quality);

/* ---- groups ---- */

/*
 * Counters that are on the CPU together or not at all, so that their ratios are true. Each read is one
 * system call for each instance.
 */
struct attar_group;

struct attar_group_event {
	const char *name;
	const struct perf_event_attr *attr;
};

/*
 * Opens all events on all instances, or nothing. The first is the leader: it decides for all whether
 * they are disabled, pinned or exclusive, and on which clock. Otherwise as attar_counter_open().
 * -EINVAL too: there are no events or more than 512, or a member contradicts its leader.
 */
ATTAR_API int attar_group_open(struct attar_target *target, const struct attar_group_event *events,
	size_t n, unsigned flags, struct attar_group **ret_group);

/* Closes all members. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_group *attar_group_close(struct attar_group *group);

/* Member number i, NULL from the last on; borrowed from the group. */
ATTAR_API struct attar_counter *attar_group_counter(struct attar_group *group, size_t i);

/* All members begin, and end, to count together; their values begin anew at 0. 0 or a negative errno. */
ATTAR_API int attar_group_enable(struct attar_group *group);
ATTAR_API int attar_group_disable(struct attar_group *group);
ATTAR_API int attar_group_reset(struct attar_group *group);

/* As attar_counter_read() for all members at once: ret_values has room for each, in the order of opening. */
ATTAR_API int attar_group_read(struct attar_group *group, struct attar_value *ret_values);
ATTAR_API int attar_group_read_at(
	struct attar_group *group, size_t instance, struct attar_value *ret_values);

/*
 * The same without times and ids, for loops that read often: the value of each member alone. The
 * worst quality among them (enum attar_quality), or a negative errno.
 */
ATTAR_API int attar_group_values(struct attar_group *group, uint64_t *ret_values);

/* ---- where records arrive ---- */

struct attar_ring;

/*
 * Maps the rings that the counters write to: one for each CPU of the target (of an any_cpu target:
 * for each thread), shared by all counters. bytes is the wish for each ring, rounded up to a power
 * of two of pages; where the limit on locked memory refuses it, smaller ones are taken and a log
 * line says so. ret_rings is an array of *ret_n rings, owned by the caller: attar_rings_free().
 * Counters must have PERF_SAMPLE_IDENTIFIER when there are several. -EPERM: not even one page may
 * be locked; -EINVAL: a counter is inherited, and watched on any CPU.
 */
ATTAR_API int attar_rings_new(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n);

/* Unmaps them and frees the array; rings may be NULL. */
ATTAR_API void attar_rings_free(struct attar_ring **rings, size_t n);

/*
 * The same, but a full ring goes on: its newest records overwrite the oldest (a flight recorder).
 * Counters with attr.write_backward (since 4.7) get such rings from attar_rings_new() too, apart
 * from those of other counters. They are read by attar_rings_freeze() alone. Without
 * attr.write_backward all of a ring's records must have been seen before it is written around.
 */
ATTAR_API int attar_rings_new_overwritten(struct attar_target *target,
	struct attar_counter *const *counters, size_t n_counters, size_t bytes,
	struct attar_ring ***ret_rings, size_t *ret_n);

/* The fd to poll for the ring's watermark; owned by its counter. */
ATTAR_API int attar_ring_fd(const struct attar_ring *ring);
ATTAR_API int attar_ring_cpu(const struct attar_ring *ring);     /* -1: of a thread on any CPU */
ATTAR_API size_t attar_ring_size(const struct attar_ring *ring); /* bytes */

/*
 * Reading: attar_ring_begin() looks how far the kernel has written; attar_ring_next() gives the records up to
 * there, one by one, oldest first, NULL after the last. attar_ring_release() gives the space of all records
 * before the newest one back to the kernel, attar_ring_end() that of the newest too. A record is borrowed
 * until its space is given back, one that wraps around the ring's edge only until the next attar_ring_next().
 */
ATTAR_API void attar_ring_begin(struct attar_ring *ring);
ATTAR_API const struct perf_event_header *attar_ring_next(struct attar_ring *ring);
ATTAR_API void attar_ring_release(struct attar_ring *ring);
ATTAR_API void attar_ring_end(struct attar_ring *ring);

/*
 * Stops the kernel's writing to those of the rings that are overwritten, waits for the writers that
 * are in the middle of a record (some 10 ms), and finds what came since they were frozen last: from
 * then on attar_ring_next() gives these records, oldest first, each whole. They are borrowed until
 * attar_rings_thaw(), after which the kernel goes on; what came in between counts as lost. The
 * number of records found; -ESTALE: a ring that is not written backward was written around, and no
 * record's beginning is known.
 */
ATTAR_API int attar_rings_freeze(struct attar_ring *const *rings, size_t n);
ATTAR_API int attar_rings_thaw(struct attar_ring *const *rings, size_t n);

/* Bytes of records that were overwritten before any freeze saw them. */
ATTAR_API uint64_t attar_ring_forgotten(const struct attar_ring *ring);

/* ---- AUX areas: what PMUs write by themselves (Intel PT, Arm SPE, CoreSight) ---- */

struct attar_aux;
struct attar_record;

/*
 * Maps an AUX area for the ring, to be freed before it: bytes, rounded up to a power of two of
 * pages, or less with a log line where locked memory is short. The ring's first counter is the one
 * that traces. A snapshot area is overwritten for ever. -EOPNOTSUPP: the counter's PMU has no such
 * area; -EINVAL: the ring is one that is overwritten; -EPERM: not even one page may be locked.
 */
ATTAR_API int attar_aux_new(
	struct attar_ring *ring, size_t bytes, bool snapshot, struct attar_aux **ret_aux);

/* Unmaps the area. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_aux *attar_aux_free(struct attar_aux *aux);
ATTAR_API size_t attar_aux_size(const struct attar_aux *aux); /* bytes */

/* A stretch of an AUX area, inside it: nothing is copied. */
struct attar_aux_data {
	/* One piece, or two where it goes round the area's edge: then the second has bytes too. */
	struct {
		const void *bytes;
		size_t size;
	} parts[2];
	uint64_t offset; /* of its first byte since the trace began */
	uint64_t size;   /* bytes, of both parts */
	bool truncated; /* the area was full: what came then is lost, and the counter waits for enabling */
	bool overwritten; /* it is a snapshot's */
	bool partial;     /* has gaps */
	bool collision;   /* a sample hit another */
	uint8_t format;   /* the PMU's own number of it */
};

/*
 * The data that a PERF_RECORD_AUX of the ring tells of, borrowed until it is released. -EBADMSG:
 * the record tells of what is not there; -EINVAL: it is of another type, or the area is a snapshot.
 */
ATTAR_API int attar_aux_read(
	struct attar_aux *aux, const struct attar_record *record, struct attar_aux_data *ret_data);

/* Gives the space of the data, and of all before it, back to the PMU. */
ATTAR_API void attar_aux_release(struct attar_aux *aux, const struct attar_aux_data *data);

/*
 * What a snapshot area holds, its newest byte last; borrowed until the counter, which must be
 * disabled for it, is enabled again. -EINVAL: the area is no snapshot.
 */
ATTAR_API int attar_aux_snapshot(struct attar_aux *aux, struct attar_aux_data *ret_data);

#ifdef __cplusplus
}
#endif

#endif
