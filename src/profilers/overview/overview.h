/* SPDX-License-Identifier: MIT */
/*
 * What `attar overview` measures (overview.c, overview_slices.c), how it is added up
 * (overview_sums.c), checked (overview_findings.c) and shown (overview_report.c).
 */
#ifndef PROFILERS_OVERVIEW_OVERVIEW_H
#define PROFILERS_OVERVIEW_OVERVIEW_H

#include <string.h>

#include "attar/builtin.h"
#include "overview/duty_cycle.h"
#include "overview/kernel_log.h"
#include "overview/languages.h"
#include "overview/network.h"
#include "overview/peers.h"
#include "overview/usage.h"
#include "lib/cgroups.h"
#include "lib/system_stat.h"
#include "sched/open_waits.h"
#include "sched/thread_check.h"
#include "sched/thread_times.h"

/* Where the time of active threads goes. What a CPU does is known from samples. */
enum overview_part {
	PART_USER,
	PART_KERNEL,
	PART_FAULT,
	PART_IRQ,
	PART_SPIN,
	CPU_PARTS,
	PART_UNDIVIDED = CPU_PARTS, /* the sum of those before, if their samples are few */
	PART_READY,
	PART_DISK,
	PART_LOCK,
	PART_SLEEP,
	PART_PEER,
	PART_BLOCKED,
	ACTIVE_PARTS,
	PART_IDLE = ACTIVE_PARTS, /* for work, for conditions, and what waits too long to be slow */
	PARTS,
};

extern const char *const overview_part_names[PARTS];

#define OVERVIEW_STOPPED "[stopped]" /* in the place of a function */

/*
 * Sums of a thread, ns. Waits that are long, or whose end was not seen and that may be long, are
 * also in SUM_STATE.
 */
enum {
	SUM_STATE,
	SUM_LONG = THREAD_STATES,
	SUM_OPEN = SUM_LONG + THREAD_STATES,
	SUM_SAMPLES = SUM_OPEN + THREAD_STATES,
	SUM_NUMBER = SUM_SAMPLES + CPU_PARTS, /* of samples */
	SUM_ALL = SUM_NUMBER + CPU_PARTS,
	THREAD_SUMS
};

/* Sums of a place, of which the last one ranks them: number of samples, ns. */
enum { PLACE_SAMPLES, PLACE_TIME, PLACE_SUMS };

/* Sums of overview.callers: samples, and the frames between them and the sampled function. */
enum { CALLER_DEPTH, CALLER_SAMPLES, CALLER_SUMS };

/*
 * Sums of a system call: ns, and failed calls. Of the waits, those that are long and those that may
 * be, as in the sums of a thread.
 */
enum { CALL_RUNS, CALL_WAITS, CALL_IDLES, CALL_LONG, CALL_OPEN, CALL_ERRORS, CALL_SUMS };

/* Histograms of overview.latencies. */
enum overview_latency { LATENCY_RUN, LATENCY_BLOCK, LATENCIES };

/* Sums of overview.counts. */
enum overview_count {
	COUNT_SWITCHES,
	COUNT_MIGRATIONS,
	COUNT_FAULTS,
	COUNT_MAJOR,
	COUNT_EXITS,  /* of processes */
	COUNT_FAILED, /* processes; only in overview_sums.counts */
	COUNT_ERRORS, /* only in overview_sums.counts; the kernel counts expected ones, too */
	COUNTS,
	COUNT_EXPECTED = COUNTS, /* only counted by the kernel */
	ALL_COUNTS,
};

enum { EXPECTED_ERRORS = 4 };

/* Errors that are expected in normal operation. */
extern const int overview_expected[EXPECTED_ERRORS];

/* Sums of overview.errors: seen, and samples of those during pauses. */
enum { ERROR_SEEN, ERROR_SAMPLES, ERROR_SUMS };

enum { OVERVIEW_NAME_BYTES = 32 };

/* A key of overview.places. Padded with zeros. */
struct overview_place {
	int32_t pid; /* 0: any */
	uint32_t part;
	attar_location location;
};

/* A key of overview.calls. Padded with zeros. */
struct overview_call {
	int32_t tid;    /* 0: one of those that did not exist when the kernel's counts were read */
	uint32_t state; /* enum thread_state */
	char name[OVERVIEW_NAME_BYTES];
};

/* A key of overview.errors. Padded with zeros. */
struct overview_error {
	uint64_t call;
	int64_t error; /* errno */
};

/* Sums of overview.failures. */
enum { FAILURE_SEEN, FAILURE_SAMPLES, FAILURE_SUMS };

/* Who makes failing calls: a key of overview.failures. Padded with zeros. */
struct overview_failure {
	uint64_t call;
	int64_t error; /* errno */
	int64_t pid;
	char comm[THREAD_COMM_BYTES];
};

/* A key of overview.starts, and without pid of overview.execs. Padded with zeros. */
struct overview_start {
	int32_t pid; /* of the parent */
	char comm[THREAD_COMM_BYTES];
};

/* A key of overview.signals. Padded with zeros. */
struct overview_signal {
	int32_t sender, target, number;
	char comm[THREAD_COMM_BYTES], target_comm[THREAD_COMM_BYTES];
};

enum { OVERVIEW_HOST_BYTES = 64 };

/* How a process failed: a key of overview.ends. */
struct overview_end {
	int32_t status; /* of exit_group(2), or the number of a signal */
	int32_t is_signal;
};

enum { OVERVIEW_LIMITS_MAX = 16 };

/* Control groups that have been stopped because of their limits of CPU time, and their pressure. */
struct overview_groups {
	struct cpu_limit limits[OVERVIEW_LIMITS_MAX];
	struct group_pressure pressures[OVERVIEW_LIMITS_MAX];
	size_t n_limits, n_pressures;
	uint64_t time; /* ns */
};

/* A part of the time that was watched. */
struct overview_slice {
	struct attar_keytable *rows; /* of overview_slices.c */
	uint64_t from, to;           /* ns */
};

struct slice_thread;

struct overview_slices {
	struct overview_slice last, now; /* last: the one before, or the pause that follows it */
	uint64_t seen;                   /* ns: end of the newest segment */
	uint64_t turned;                 /* ns: time of the former turn */
	uint64_t from, to;               /* ns: the pause between them; 0: none, or it is added */
	uint64_t paused_from;            /* ns: the present pause, or its rest; 0: none */
	bool is_over;                    /* the slice before it has become last */
	size_t began;                    /* threads, in the present pause */
	struct slice_thread *threads;    /* whose counts were read when it began; sorted */
	size_t n_threads;
	uint64_t read_at;             /* ns */
	struct slice_thread *counted; /* of the pause between last and now; sorted */
	size_t n_counted;
	uint64_t counted_for;             /* ns */
	size_t began_between;             /* threads, in that pause */
	struct attar_keytable *estimates; /* by enum overview_part */
};

struct overview {
	struct thread_times times;      /* first: see thread_times_open() */
	bool no_errors, only_comm, all; /* options */
	uint64_t lost;                  /* events */
	uint64_t events;                /* that were delivered, besides events of times */
	uint64_t lost_before, delivered_before;

	struct duty duty;
	struct overview_slices slices;
	struct system_stat began, last, now;
	struct thread_scheds scheds_began, scheds_last, scheds; /* of a live run */
	struct peers peers;
	struct languages languages;
	struct overview_groups groups_began;
	struct networks networks_began, networks_last, networks;
	struct usage_readings usage; /* of a live run */
	struct kernel_log log;       /* of a live run */
	uint32_t sampler;            /* number of its source */
	bool has_faults;             /* a recording has page faults */
	bool has_ends;               /* it is known how processes end */
	uint64_t watched_before, switches_before, migrations_before;
	unsigned cpus; /* that had events */
	bool has_selection;
	/* The run's counter of each, from 1; 0: none. */
	unsigned counters[ALL_COUNTS], n_counters;
	struct attar_keytable *threads;        /* by struct thread_group: THREAD_SUMS */
	struct attar_keytable *places;         /* by struct overview_place: PLACE_SUMS */
	struct attar_keytable *functions;      /* the same, by the innermost location of samples */
	struct attar_keytable *callers;        /* of user code, likewise: CALLER_SUMS */
	struct attar_keytable *calls;          /* by struct overview_call: CALL_SUMS */
	struct attar_keytable *errors;         /* by struct overview_error: ERROR_SUMS */
	struct attar_keytable *failures;       /* by struct overview_failure: FAILURE_SUMS */
	struct attar_keytable *starts, *execs; /* by struct overview_start: their number */
	struct attar_keytable *signals;        /* by struct overview_signal: about their number */
	struct attar_keytable *retransmits;    /* by char [OVERVIEW_HOST_BYTES]: segments */
	struct attar_keytable *ends;           /* by struct overview_end: the number of processes */
	struct attar_keytable *latencies;      /* by enum overview_latency: a histogram */
	struct attar_keytable *counts;         /* by enum overview_count: a sum */
	struct attar_pairs *requests;          /* of block devices, by device and sector */
	struct attar_pairs *failed;            /* the newest processes of ends, each once */
	struct attar_pairs *exited;            /* the newest of COUNT_EXITS, by pid */
	uint64_t reports;                      /* so far: the payload of exited */
	struct attar_stacks *stacks;           /* NULL: no output shows them */
	struct attar_expr *syscall_name;
	attar_location labels[PARTS];
	attar_location stopped; /* the place of stopped threads */
};

/* Whether the thread is attar's, or that of the command before its exec. */
static inline bool overview_is_own(
	struct overview *o, const struct attar_run *run, const struct attar_thread *thread)
{
	return (thread->process && thread->process->pid == run_own_pid(run)) ||
	       thread_times_is_held(run, &o->times, thread->tid);
}

/* Adds n to a count of the interval. 0 or -ENOMEM. */
int overview_count(struct overview *o, enum overview_count which, uint64_t n);

/* Adds a duration to a histogram of the interval. 0 or -ENOMEM. */
int overview_add_latency(struct overview *o, enum overview_latency which, uint64_t duration);

/* 0 or -ENOMEM. Closing is always allowed. */
int overview_open_tables(struct overview *o);
int overview_end_interval(struct overview *o);
void overview_close_tables(struct overview *o);

/* Of the selected processes of a reading. */
void overview_read_groups(const struct usages *usages, struct overview_groups *ret_groups);
void overview_read_networks(const struct usages *usages, struct networks *ret_networks);

/* ---- requests of block devices ---- */

/* Requests the events. Returns 0 or a negative errno, as the next two. */
int overview_open_requests(struct attar_run *run, struct overview *o);

/* ---- rates ---- */

int overview_open_rates(struct attar_run *run);

/* A process has started another one; one has executed a program. 0 or -ENOMEM. */
int overview_add_start(struct attar_run *run, struct overview *o, pid_t parent);
int overview_add_exec(struct overview *o, const char *comm);

/* ---- parts ---- */

enum overview_part overview_part_of(enum thread_state state);

/* The sum in which a wait is besides SUM_STATE: SUM_LONG, SUM_OPEN, or -1 for none. */
int overview_sum_of_wait(const struct attar_run *run, const struct overview *o,
	const struct thread_segment *segment);

/* The function that waits: the innermost one that is not in the library of the system call. */
attar_location overview_waiter(const struct thread_block *block);

/* 0 or -ENOMEM. */
int overview_add_place(struct attar_keytable *table, int32_t pid, enum overview_part part,
	attar_location location, uint64_t weight, bool is_sample);

/* The row of a system call of a thread; NULL: out of memory. */
struct attar_keyrow *overview_call_at(
	struct overview *o, attar_location syscall, pid_t tid, enum thread_state state);

/* Whether no CPU is left out by --cpus. */
bool overview_has_all_cpus(struct attar_run *run);

/* ---- slices ---- */

int overview_slices_open(struct overview *o);
void overview_slices_close(struct overview *o);

/* Adds a segment. wait: see overview_sum_of_wait(). 0 or -ENOMEM, as all of these. */
int overview_slices_add(
	struct attar_run *run, struct overview *o, const struct thread_segment *segment, int wait);

/* To be called in each turn without a pause; when a pause has begun; and at its end. */
int overview_slices_turn(struct attar_run *run, struct overview *o);
int overview_slices_pause(struct attar_run *run, struct overview *o);
int overview_slices_resume(struct attar_run *run, struct overview *o, uint64_t from, uint64_t to);

/* thread_times_scan(): until it has read the states of all threads, the slice shows no shares. */
int overview_slices_scan(struct attar_run *run, struct overview *o);

/* A thread has begun, or ended. */
int overview_slices_began(struct attar_run *run, struct overview *o, pid_t tid, uint64_t time);
void overview_slices_exited(struct overview *o, pid_t tid, uint64_t time);

/* Adds all up to the end of the report, for which all states are divided. */
int overview_slices_report(struct attar_run *run, struct overview *o);

/* The time of a part that is estimated, ns, and how wrong the estimate may be. */
double overview_slices_estimated(const struct overview *o, enum attar_scope scope,
	enum overview_part part, double *ret_doubt);

/* How wrong the times of a thread may be that the kernel did not count in all pauses, ns. */
double overview_slices_doubt_of(const struct overview *o, enum attar_scope scope, pid_t tid);

/* ---- exits ---- */

/* Requests the events of processes that fail. */
int overview_open_ends(struct attar_run *run, struct overview *o);

/* Counts the process at the exit of its main thread. 0 or -ENOMEM. */
int overview_add_exit(struct attar_run *run, struct overview *o, const struct attar_event *ev);

/* Takes an exit back that was none, and forgets that of a former process with the same PID. */
int overview_on_record(struct attar_run *run, void *self, const struct attar_event *ev);

/* ---- sums ---- */

enum {
	OVERVIEW_TOP = 5,
	OVERVIEW_SAMPLES_MIN = 20, /* that divide time */
};

/* What is never lost of the threads of a process, and what their rows have of the same times. */
struct overview_counts {
	uint64_t seen[CHECK_TIMES], counted[CHECK_TIMES]; /* ns, of threads that were counted */
	uint64_t slack;  /* ns: how wrong each counted one may be */
	uint64_t queued; /* ns: of waits for a CPU that have not ended, which are not counted yet */
	uint64_t turns;  /* on a CPU */
	unsigned threads;          /* that the kernel counted */
	uint64_t samples, sampled; /* of all threads: number, ns */
};

/* A process, or with --only-comm those with a name: pid is 0 if they are several. */
struct overview_process {
	int32_t pid;
	uint64_t started; /* attar_process.started; 0: unknown */
	char comm[THREAD_COMM_BYTES];
	unsigned processes, threads, counted; /* counted: threads that the kernel counted */
	uint64_t parts[PARTS], all;
	double variance; /* ns^2: of times that were neither watched nor counted by the kernel */
	uint64_t named;  /* the time under this name, of an exited process */
	struct overview_counts counts;
};

/* A row of overview.threads, and its sums as if all of the time had been watched. */
struct thread_row {
	struct thread_group group;
	uint64_t sums[THREAD_SUMS];
};

/* Threads of a process with one name, and the one of them that does most of the work. */
struct overview_pool {
	int32_t tid, pid;
	char comm[THREAD_COMM_BYTES];
	size_t threads;
	uint64_t top, all; /* ns on a CPU: of the thread, of all of them; 0: there is none */
};

/* By which the waits of a thread were multiplied, so that its time is complete. */
struct overview_factor {
	int32_t tid;
	double waits;
	uint64_t mean; /* ns: a wait, on average; 0: unknown */
};

/* The number of failed calls with an error, and of those that are apportioned. */
struct overview_errors {
	struct overview_error key;
	uint64_t n, estimated;
};

/* What a report is made from. Times are as if the sources had not been paused. */
struct overview_sums {
	struct overview *overview;
	struct attar_run *run;
	enum attar_scope scope;
	uint64_t elapsed;                /* ns */
	double scale;                    /* of the time to the watched time */
	bool leaves_out_long;            /* long waits are idle */
	bool is_service;                 /* it ran before attar: long sleeps are idle, too */
	struct overview_factor *factors; /* of threads that the kernel counted, by tid; owned */
	bool has_scheds;                 /* overview.scheds are used */
	size_t exact; /* threads whose time on a CPU and in the run queue the kernel counted */
	double lost;  /* share of the events of the report, 0..1 */
	uint64_t parts[PARTS];
	double estimated[PARTS]; /* ns: of parts; the rest was watched, or counted by the kernel */
	double doubt[PARTS];     /* ns: how wrong the estimate may be */
	double unseen_waits[PARTS]; /* ns: of threads whose waits are divided as others' waits */
	uint64_t samples[PART_UNDIVIDED + 1];
	bool is_divided;                    /* the time on a CPU, by samples */
	uint64_t active;                    /* of parts[] without PART_IDLE */
	struct overview_process *processes; /* owned; the most active first */
	size_t n_processes;
	struct overview_process *by_pid; /* with --only-comm: each, sorted by pid; owned */
	size_t n_by_pid;
	struct overview_process most_common; /* without: the name with the most processes */
	struct overview_pool pool;           /* the most active one that is uneven */
	const struct attar_count *counters;  /* of the run; NULL: none */
	uint64_t counts[COUNTS];
	bool has_sampled_faults;                       /* they could not be counted */
	struct overview_errors *errors;                /* owned */
	size_t n_errors, n_failures;                   /* expected errors come after failures */
	uint64_t unseen;                               /* errors that were counted only */
	const struct attar_hist *latencies[LATENCIES]; /* NULL: none */
	struct system_change system;
	bool has_all_cpus;       /* none is left out by --cpus */
	bool has_clock;          /* samples are of a clock: their number is known from the time */
	struct open_waits waits; /* open at the time of the report; of a live run */
};

/* Of a whole system, most threads wait for others; so do kernel threads. */
static inline bool overview_is_idle(
	const struct overview *o, enum overview_part part, const struct thread_group *group)
{
	return !o->has_selection &&
	       (part == PART_PEER || part == PART_BLOCKED || group->is_kernel_thread);
}

/* How long a wait in a state must be to be one of an idle thread, in doubt, ns. */
static inline uint64_t overview_long_wait(const struct overview *o, enum thread_state state)
{
	/* in a whole system, some idle threads always wake up now and then */
	return (state == THREAD_SLEEP && !o->has_selection ? 100 : 1000) * UINT64_C(1000000);
}

/*
 * Whether waits of which no end was seen are long. If pauses have cut them, they are known to be
 * long only if the waits of the thread are long on average: each turn on a CPU ends at most one.
 */
static inline bool overview_is_long(
	const struct overview_sums *sums, enum thread_state state, uint64_t mean)
{
	bool is_unknown_sleep = !mean && state == THREAD_SLEEP && sums->is_service;

	return sums->scale <= 1 || is_unknown_sleep ||
	       mean > overview_long_wait(sums->overview, state);
}

/* Whether long waits in a state count as idle. */
static inline bool overview_leaves_out(const struct overview_sums *sums, enum thread_state state)
{
	return (sums->leaves_out_long && state != THREAD_DISK) ||
	       (sums->is_service && state == THREAD_SLEEP);
}

/* Returns 0 or -ENOMEM. Free with overview_sums_done(). */
int overview_add_up(struct attar_run *run, struct overview *o, struct attar_report *report,
	enum attar_scope scope, struct overview_sums *ret_sums);
void overview_sums_done(struct overview_sums *sums);

/* Looks for an uneven pool in the rows of a process. 0 or -ENOMEM. */
int overview_check_pools(struct overview_sums *sums, const struct thread_row *rows, size_t n);

/* ---- counts ---- */

/* Of the rows of a process, sorted by tid. */
struct overview_counts overview_count_rows(
	const struct overview_sums *sums, const struct thread_row *rows, size_t n);

void overview_add_counts(struct overview_counts *to, const struct overview_counts *from);

enum { SERVICE_BYTES = 64 };

/* A systemd service or container, or a process with its descendants of the same name. */
struct overview_service {
	char unit[SERVICE_BYTES];             /* "": none */
	pid_t group;                          /* of a unit 0, otherwise the first process */
	const struct overview_process *first; /* the most active one */
	struct overview_process all; /* the sums, with the name of the first; pid 0: several */
	enum overview_part part;     /* in which it loses the most time */
	double lost;                 /* its share of the active time without sleep, 0..1 */
};

/*
 * The services of the system, those that lose the largest share of their time first. Returns their
 * number; free *ret_services.
 */
size_t overview_services(const struct overview_sums *sums, struct overview_service **ret_services);

bool overview_is_in_service(const struct overview_sums *sums,
	const struct overview_service *service, const struct overview_process *process);

/* NULL: the kernel did not count the thread. */
const struct overview_factor *overview_factor_of(const struct overview_sums *sums, pid_t tid);

/* A process by its number; NULL: unknown. */
const struct overview_process *overview_process_of(const struct overview_sums *sums, pid_t pid);

/* The process with the most of a part; NULL: none has any. */
const struct overview_process *overview_top(
	const struct overview_sums *sums, enum overview_part part);

struct overview_function {
	const char *name, *dso; /* borrowed from the symbols; name NULL: unknown */
	uint64_t weight, all;   /* of this function, of all: their ratio is its share */
	uint64_t samples, all_samples;
};

struct overview_name {
	char text[THREAD_COMM_BYTES + 64];
};

/* "worker (7)" or "worker (5 processes)"; with threads "worker (pid 7, 2 threads)" and so on. */
struct overview_name overview_name_of(const struct overview_process *process, bool threads);

/* The name of a system call by its number; "" if it has none. */
struct overview_name overview_call_name(const struct overview_sums *sums, uint64_t call);

/*
 * What the kernel counted, also during pauses; without counters, an estimate from those seen. Of a
 * whole system without pauses all was seen, and this process is left out of it.
 */
uint64_t overview_counted(const struct overview_sums *sums, int what, uint64_t seen);

/* Whether calls fail with this error in healthy programs, however often. */
bool overview_is_harmless(const struct overview_sums *sums, const struct overview_error *key);

/* Fills in the failed calls. 0 or -ENOMEM. */
int overview_read_errors(struct overview_sums *sums);

/* The functions with the most time of a part, at most n, largest first. Returns their number. */
size_t overview_places(const struct overview_sums *sums, enum overview_part part,
	const struct overview_process *process, struct overview_function *ret_functions, size_t n);

/* Likewise for all functions that run on a CPU. */
size_t overview_functions(
	const struct overview_sums *sums, struct overview_function *ret_functions, size_t n);

/*
 * The innermost function in which, with all that it calls, a process runs most of its own code.
 * False: none is known, or only the start of the program.
 */
bool overview_caller(const struct overview_sums *sums, const struct overview_process *process,
	struct overview_function *ret_function);

/* Whether a file is the program node, which executes functions of JavaScript. */
static inline bool overview_is_node(const char *dso)
{
	const char *slash = strrchr(dso, '/'), *file = slash ? slash + 1 : dso;

	return !strcmp(file, "node") || !strcmp(file, "nodejs") || !strncmp(file, "libnode", 7);
}

/* ---- waits that have not ended ---- */

/* 0 or -ENOMEM. */
int overview_find_waits(struct overview_sums *sums);

/*
 * The first wait of threads that cannot go on, or for what programs do not wait for long, and the
 * number of all such threads; NULL: none.
 */
const struct open_wait *overview_stuck(const struct overview_sums *sums, uint64_t *ret_threads);

/* The wait of a thread of the process that is one of the part; NULL: none. */
const struct open_wait *overview_wait_of(const struct overview_sums *sums,
	const struct overview_process *process, enum overview_part part);

/*
 * Whether a process waits for datagrams at an address that clients know, and for no other end: it
 * has nothing to do then.
 */
bool overview_serves_datagrams(
	const struct overview_sums *sums, const struct overview_process *process);

/* The process of a wait; 0: unknown. */
int32_t overview_pid_of_wait(const struct overview_sums *sums, const struct open_wait *wait);

/* ---- findings ---- */

enum { FINDING_TEXT_BYTES = 1280, COMMAND_BYTES = 1024, THEN_BYTES = 64 };

struct overview_finding {
	const char *name;
	double excess;       /* value / limit */
	bool is_doubt;       /* about the report: the last one, and its heading */
	bool is_stuck;       /* threads cannot go on, or were killed: the first ones */
	bool is_share;       /* of the active time; these follow */
	bool is_sleep;       /* of a program, on purpose */
	bool needs_samples;  /* more than a recording has */
	double value, limit; /* as numbers, with a unit of the finding */
	char value_text[32], limit_text[32];
	char evidence[FINDING_TEXT_BYTES];
	char command[COMMAND_BYTES]; /* that shows more details; "": none */
	char then[THEN_BYTES];       /* after a command that records; otherwise "" */
};

enum { FINDINGS_MAX = 24 };

/* Most important first. Returns their number. */
size_t overview_find(
	const struct overview_sums *sums, struct overview_finding ret_findings[FINDINGS_MAX]);

/* Adds the sections of the report. Returns 0 or a negative errno. */
int overview_fill(const struct overview_sums *sums, struct attar_report *report);

#endif
