/* SPDX-License-Identifier: MIT */
/*
 * The time that threads run, wait for a CPU, and wait for other reasons, from context switches and
 * wakeups of the whole system. The stack at which a thread is switched out shows the reason.
 */
#ifndef PROFILERS_SCHED_THREAD_TIMES_H
#define PROFILERS_SCHED_THREAD_TIMES_H

#include "attar/run.h"
#include "lib/kernel_frames.h"
#include "sched/open_waits.h"

enum { THREAD_COMM_BYTES = 16, THREAD_DEPTH_MAX = 64 };

enum thread_state {
	THREAD_RUNNING,
	THREAD_READY,     /* waits for a CPU */
	THREAD_DISK,      /* waits for a block device or file system */
	THREAD_LOCK,      /* waits for a lock */
	THREAD_SLEEP,     /* waits for a time */
	THREAD_PEER,      /* waits for another program */
	THREAD_BLOCKED,   /* waits for something else */
	THREAD_CONDITION, /* waits for a condition of the same program */
	THREAD_WORK,      /* waits for something to do */
	THREAD_STATES,
};

/* "running", "ready" ...: names of columns. "[running]", "[waiting for a CPU]": of frames. */
extern const char *const thread_state_names[THREAD_STATES];
extern const char *const thread_state_labels[THREAD_STATES];

/* The key of a row of the table of times. Padded with zeros. */
struct thread_group {
	int32_t tid, pid; /* pid 0: unknown */
	char comm[THREAD_COMM_BYTES];
	int64_t is_kernel_thread;
	uint64_t started; /* attar_process.started: a pid can be reused */
};

/* The block of a thread in thread_times.states. */
struct thread_block {
	struct thread_group group;
	uint64_t comm_hash;     /* attar_thread.comm_hash of group.comm */
	uint64_t former_hash;   /* the hash of the name which it is about to lose; 0: none */
	uint64_t since;         /* ns: start of the state */
	uint64_t divided;       /* ns: the time up to here was given to segment() */
	attar_location syscall; /* in which it was switched out, see frames_syscall(); 0: none */
	/* Of a recording: the system call entered last; "": any; NULL: unknown. */
	const char *call;
	uint64_t arguments[3];
	int32_t cpu;         /* on which it ran last, + 1; 0: unknown */
	uint64_t perf_since; /* ns: a wait began that is left out; 0: none */
	uint16_t depth;
	bool is_mutex;   /* a wait for a lock is certainly for one that a thread holds */
	bool is_stopped; /* by a signal or a debugger */
	/* These are only set if thread_times.has_all_switches is not. */
	bool has_events;  /* that happened in it */
	uint64_t sampled; /* ns: its last sample */
	uint64_t ran;     /* ns: how long it ran from then until it was switched out */
	/* Of the last sample while it runs; otherwise where it was switched out. */
	attar_location stack[THREAD_DEPTH_MAX];
};

/* A time of a thread in one state, or a part of it. Borrowed for the call. */
struct thread_segment {
	const struct attar_thread *thread;
	const struct thread_block *block;
	enum thread_state state;
	uint64_t since;    /* ns: start of the state, also if an earlier part was given */
	uint64_t from, to; /* ns */
	bool is_end;       /* the thread is in another state now */
};

struct thread_times {
	struct attar_states *states;
	struct frames *frames;
	uint64_t switches, migrations; /* of selected threads */
	uint64_t events;               /* switches and wakeups, of all threads */
	struct left_out perf;          /* waits in which a thread has no state */
	struct former_waits former;
	int32_t *current; /* by CPU: the thread on it; -1: unknown */
	size_t n_current;
	uint32_t source; /* the source of context switches */
	bool is_scanned;
	bool has_recorded; /* the waits at the start of a recording, if it has any, are not taken */
	bool has_renames;  /* an exec is seen */
	pid_t executed;    /* the command, after its exec; 0: not yet */
	uint64_t held_hash; /* attar_thread.comm_hash of the command before its exec; 0: unknown */
	uint64_t lost_to;   /* ns, the end of the last loss that thread_times_scan() has not seen */
	uint64_t seen_from; /* ns, after the end of the last loss; 0: none */
	/*
	 * Switches from idle tasks are seen, or would be: so are those from all tasks. A recording
	 * of single tasks has those from its tasks only: most do not follow each other.
	 */
	bool has_all_switches;
	uint64_t others; /* threads left out of the last report, of a recording of single tasks */
	uint64_t in_order, missing; /* until then: switches from the thread on the CPU, others */
	/* Of the values in states, which begin with a block; 0: they are struct thread_block. */
	size_t block_size;
	/* Called for each segment. May be NULL. Returns 0 or a negative errno. */
	int (*segment)(struct attar_run *run, void *self, const struct thread_segment *segment);
};

/*
 * Requests the events and creates the tables. The struct is the first member of the profiler's
 * state; segment and block_size are set before. Only from open().
 */
int thread_times_open(struct attar_run *run, struct thread_times *times);
void thread_times_close(struct thread_times *times);

/*
 * Notes that the thread of the event is on a CPU, and that it is a recorded one. For recordings
 * without the switches to such threads.
 */
int thread_times_note_event(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev);

/* Whether a thread is the command before its exec: a copy of this process. */
bool thread_times_is_held(const struct attar_run *run, struct thread_times *times, pid_t tid);

/* To be called for each event of a thread but samples. */
static inline int thread_times_seen(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev)
{
	return times->has_all_switches ? 0 : thread_times_note_event(run, times, ev);
}

/*
 * A sample shows which thread is on the CPU: one of unknown state runs from now on, or since the
 * end of a loss if nothing else was seen on the CPU. So does one that waits for a CPU, if switches
 * are missing.
 */
int thread_times_runs(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev);

/* Attributes the running time since the switch or the previous sample to this sample. */
int thread_times_sample(
	struct attar_run *run, struct thread_times *times, const struct attar_event *ev);

/* Makes all states unknown between these times, ns. */
void thread_times_forget(struct thread_times *times, uint64_t from, uint64_t to);

/*
 * A thread began while events were lost, or still are: thread_times_scan() reads its state after
 * that. Returns 0 or -ENOMEM.
 */
int thread_times_began(struct attar_run *run, struct thread_times *times, pid_t tid, uint64_t time);

/* For attar_profiler.lost and attar_profiler.exited. */
int thread_times_lost(struct attar_run *run, void *self, const struct attar_event *ev);
int thread_times_exited(struct attar_run *run, void *self, const struct attar_event *ev);

/*
 * Ends all segments at `until`, and begins new ones in the same states; but not the segments of
 * threads without events of their own, in a recording that is not known to have all switches yet.
 */
int thread_times_divide(struct attar_run *run, struct thread_times *times, uint64_t until);

/* Gives the time of the present state up to `until` to segment(); the rest follows. */
int thread_times_give(struct attar_run *run, struct thread_times *times, struct attar_state *state,
	uint64_t until);

/*
 * After thread_times_forget(): the thread has been in this state all the time, as something else
 * shows; what follows `time` was not given to segment(). Returns 0 or -ENOMEM.
 */
int thread_times_keep(struct thread_times *times, pid_t tid, uint32_t state, uint64_t time);

/*
 * Reads the state of selected threads that had no event yet from /proc: it has not changed since
 * the start, or since events were lost; of a recording, as thread_times_take_recorded(). For
 * attar_profiler.turn, and before a report; does nothing for the whole system.
 */
int thread_times_scan(struct attar_run *run, struct thread_times *times);

/*
 * Sets the state of threads that waited when the recording began, and have had no event yet. time:
 * of the event that follows, ns; does nothing before the waits were read, and after that only once.
 * Not for the recorded threads of the whole system. 0 or a negative errno.
 */
int thread_times_take_recorded(struct attar_run *run, struct thread_times *times, uint64_t time);

/*
 * For open_waits_since_fn: since when a thread waits, ns; 0: since the start at least; the time of
 * the report: unknown.
 */
uint64_t thread_times_waits_since(
	const struct attar_run *run, const struct thread_times *times, pid_t tid);

/* Whether a thread sleeps now. */
bool thread_is_asleep(pid_t pid, pid_t tid);

/* A negative errno ends the iteration. */
typedef int thread_fn(struct attar_run *run, void *arg, pid_t tid);

/* Calls fn for at most 4,096 threads in /proc. */
int thread_for_each(struct attar_run *run, thread_fn *fn, void *arg);

/* Whether samples of a source have call chains: samples of a recording may have none. */
bool thread_times_has_stacks(const struct attar_run *run, uint32_t source);

/*
 * Adds remarks on waits that are left out, and that the reasons for waits are unknown, if the
 * recording has no stacks.
 */
void thread_times_remark(const struct attar_run *run, struct thread_times *times,
	struct attar_report *report, enum attar_scope scope);

/* Details of a wait that the arguments of the system call show, but its stack does not. */
struct wait_details {
	bool is_lock;        /* FRAME_FUTEX is a lock; otherwise a condition */
	bool is_idle;        /* FRAME_FUTEX waits for something to do */
	bool is_only_a_time; /* FRAME_WORK waits for no file */
};

/* Whether a call of futex(2) waits for a lock; others wait for a condition. See futex_call_of(). */
bool thread_is_futex_lock(const struct attar_run *run, const struct attar_process *process,
	uint64_t op, uint64_t value);

/* Why a thread sleeps. */
enum thread_state thread_state_of(const struct frame_summary *frames, bool is_uninterruptible,
	const struct wait_details *details);

/* A thread that was found asleep. */
struct thread_found {
	pid_t tid;
	enum thread_state state;
	bool is_kernel_thread, is_mutex, is_stopped;
	attar_location syscall; /* as thread_block.syscall */
	size_t depth;
	attar_location stack[THREAD_DEPTH_MAX];
};

/* Sets the state of a thread that had no event yet. Returns 0 or -ENOMEM. */
int thread_times_found(struct attar_run *run, struct thread_times *times,
	const struct thread_found *found, const struct attar_stamp *at);

#endif
