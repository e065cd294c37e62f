/* SPDX-License-Identifier: MIT */
/*
 * What runs do for the profilers of attar and its command alone, beside attar/profiler.h and
 * attar/run.h. It may change with each version, and is not installed.
 *
 * Unless documented otherwise, functions that return an int return 0, or a negative errno with an
 * error message in attar_error().
 */
#ifndef RUN_BUILTIN_H
#define RUN_BUILTIN_H

#include "attar/private/calls.h"
#include "attar/private/counting.h"
#include "attar/run.h"
#include "attar/wait.h"

struct sockaddr_storage; /* of sys/socket.h */
struct sqlite3;

/* ---- events ---- */

/*
 * Makes a flight recorder: the rings of the kernel's events added so far are overwritten when they
 * are full, and their contents are delivered at the end of the run, when a report is requested, and
 * after an event for which the condition `when` is true. `when` is a filter on the fields of the
 * events; those without these fields do not matter. NULL: no condition. With a condition, the end
 * of the run delivers nothing.
 *
 * If the kernel cannot evaluate the condition, if events of programs are among the events, or with
 * a recording, rings are read as usual and all events are delivered; the rows of attar_run_lines()
 * wait instead, in a buffer that keeps the newest ones.
 *
 * -EINVAL: `when` is invalid for all events, or a recording is read without a condition; kernels
 * before Linux 4.7 cannot do it, which a later step of the run reports. Only from open().
 */
int run_overwrite(struct attar_run *run, const char *when);

/*
 * Makes the kernel drop the events of source i that do not fulfil a condition, in addition to the
 * filter of its text. The condition is in the kernel's filter language. Returns 1; 0 if the kernel
 * cannot do it exactly, or with a recording: nothing has changed then, and the profiler applies the
 * condition itself, see attar_run_expr(); or a negative errno. Only from open().
 */
int run_source_filter(struct attar_run *run, uint32_t i, const char *text);

/*
 * Stops (on false) or starts again the samples of source i, for profilers that must not cost too
 * much. Events in between are not lost events: the profiler knows the times. Not from open(), and
 * not with a recording (-EINVAL). Returns 0 or a negative errno.
 */
int run_source_enable(struct attar_run *run, uint32_t i, bool on);

/*
 * For ended(): calls fn for each CPU with counts since its last sample, in event->counts, with the
 * end of the run as the time; other members of the event are not set. The last period is not
 * complete, and some virtual machines do not deliver samples of idle CPUs. Nothing is called with a
 * recording, which lacks these counts. Returns 0 or a negative errno.
 */
int run_timer_rest(struct attar_run *run, uint32_t source, attar_event_fn *fn);

/*
 * How many frames stacks of source i have at most: as requested, or else the limit of this kernel.
 * 0: it has no stacks, or not known, of a recording or another machine.
 */
uint32_t run_source_max_stack(const struct attar_run *run, uint32_t i);

/* Whether attar_run_sampler() finds an event; not in a recording without samples of CPU time. */
bool run_has_sampler(const struct attar_run *run);

/*
 * ustring() in expressions of a running system: what attar reads from a program may be of another
 * call than the event's, so that it is "[unknown]". trusts: it is given all the same until the next
 * call of this function, and the caller checks that the program had not gone on.
 */
void run_trust_reads(struct attar_run *run, bool trusts);

/*
 * only: until the next call of this function, ustring() has no text unless a program in the kernel
 * has copied it when the system call was made: this one is exact. ended: when the call has ended;
 * 0: not known. The other function says how many copies expressions have had so far.
 */
void run_read_copies(struct attar_run *run, bool only, uint64_t ended);
uint64_t run_copied_texts(const struct attar_run *run);

/* Likewise, how many copies expressions have missed because the program had no room for them. */
uint64_t run_lost_texts(const struct attar_run *run);

/* Adds a remark that n texts were lost so, if any. */
void run_remark_lost_texts(struct attar_report *report, uint64_t n);

/*
 * A program in the kernel copies the arguments of programs when they are executed, and with `fails`
 * of attempts that fail. Returns 1; 0 if that is not possible, which is logged; or -ENOMEM. Only
 * from open().
 */
int run_copy_execs(struct attar_run *run, bool fails);

struct run_exec {
	bool is_lost, is_cut;
	uint64_t n_unread;   /* of the strings: they are "[unknown]" */
	const char *strings; /* each ends with NUL, which is not in size if the last one is cut */
	size_t size;
};

/*
 * What the thread of an event of sched:sched_process_exec has executed: all arguments. Of an event
 * of the end of a call that has failed: the path and all arguments. Returns 1, 0 without
 * run_copy_execs(), or -ENOMEM. The strings are borrowed until the next call.
 */
int run_copied_exec(struct attar_run *run, const struct attar_event *ev, struct run_exec *ret_exec);

/*
 * A program in the kernel copies the memory of argument i of the system call with this number, as
 * `copy` says. Returns 1; 0 if that is not possible, which is logged; or -ENOMEM. Only from open().
 */
int run_copy_call(
	struct attar_run *run, uint32_t number, unsigned i, const struct calls_copy *copy);

/*
 * What the program has copied for a call: the calls of a thread in their order. Items are borrowed
 * until the next call. Returns 1; 0: nothing is known, since there is no program, or the call has
 * no args and none were copied. Of a call without args, it sets *ret_args, which may be NULL.
 */
int run_copied_call(struct attar_run *run, const struct calls_made *call,
	struct calls_copied items[CALLS_COPY_ARGS], uint64_t ret_args[CALLS_COPY_ARGS]);

/*
 * Like attar_run_count(), but after attar_run_select_tasks(): if the options select tasks, only
 * their events are counted, with the events of processes and threads that they create meanwhile.
 * Not what a set-user-ID program does, for which the kernel disables such events. Counters of more
 * than 1,024 threads, or more than the limit of open files permits, are refused (struct
 * attar_run_counter), which does not end the run. Only from open().
 */
int run_count_selected(struct attar_run *run, const char *text);

/* ---- names of tasks ---- */

enum run_name { RUN_NAME_CGROUP, RUN_NAME_UNIT, RUN_NAME_CONTAINER, RUN_NAME_POD, RUN_NAME_USER };

/*
 * The profiler shows control groups, units, containers, pods or users of tasks. Only from open().
 */
int run_want_names(struct attar_run *run);

/*
 * What a thread is in, or belongs to, as a number that events can add up; 0: nothing, or unknown.
 * After run_want_names(). thread may be NULL. Called per event; the first one of a thread reads its
 * control group.
 */
uint32_t run_name_of(
	const struct attar_run *run, enum run_name kind, const struct attar_thread *thread);

/* The number of the group itself, and what it is of a kind; likewise. */
uint32_t run_group_of(const struct attar_run *run, const struct attar_thread *thread);
const char *run_group_text(const struct attar_run *run, enum run_name kind, uint32_t group);

/* The name of such a number, until the next call; "" for 0. */
const char *run_name_text(const struct attar_run *run, enum run_name kind, uint32_t number);

/*
 * Before the first stack: in trees of reports, what threads are in is above the threads. none: the
 * name of what is in nothing; a static string.
 */
void run_group_stacks(
	struct attar_run *run, struct attar_stacks *stacks, enum run_name kind, const char *none);

/* ---- a recording ---- */

struct attar_run_record_opts {
	size_t size; /* sizeof(struct attar_run_record_opts) */
	/* perf.data file, replaced if it exists; "-": standard output; NULL: none, with --push */
	const char *path;
	const char *events; /* as for attar_run_events(); NULL: CPU sampling */
	/*
	 * Samples per second of software and hardware events; 0: each occurrence of software events
	 * other than clocks, and the frequency of the run for the others.
	 */
	uint64_t freq;
	bool stacks;        /* with call chains */
	bool compress;      /* with zstd */
	uint64_t max_bytes; /* end the run when the file has this size; 0: no limit */
	/*
	 * With max_bytes: continue in a new file instead, and keep this number of full files as
	 * PATH.1 (the newest), PATH.2 and so on.
	 */
	uint64_t rotate;
	/*
	 * Add names, source lines and call frame information of the code in the samples at the end,
	 * so that the file reads the same on a machine without the binaries. Not for a pipe.
	 */
	bool portable;
	/*
	 * Add the kernel's records of context switches. Otherwise they are added if all samples of
	 * sched:sched_switch on some CPUs are recorded, some of which the kernel may not deliver,
	 * unless no_switches is set.
	 */
	bool switches, no_switches;
	/*
	 * No file is written while the run lasts: the newest events are kept in memory, and written
	 * to a file of their own at each request for a report, when a condition is true, and at the
	 * end unless there are conditions. NULL: a file is written.
	 */
	const struct attar_run_box_opts *box;
};

struct attar_run_box_opts {
	uint64_t keep_ns;        /* how long events are kept */
	uint64_t max_bytes;      /* of the memory for events and names */
	struct attar_texts when; /* conditions, see run/record/condition.h */
	/*
	 * What a file has of the time before its condition (0: all that is kept) and after it, ns
	 */
	uint64_t before_ns, after_ns;
	uint64_t at_most, at_most_ns; /* files for conditions in this time; 0: no limit */
	uint64_t rotate;              /* former files that are kept as PATH.1 and so on */
};

/*
 * Writes the records of these events to a perf.data file, without delivering them: no event
 * function is called. The file is completed before the profiler's last report. Strings are borrowed
 * until the run is freed. -EOPNOTSUPP: an event does not come from the kernel; otherwise as
 * attar_run_events(). Only from open().
 */
int run_record(struct attar_run *run, const struct attar_run_record_opts *opts);

/* Whether the run gives its events to others: the option --push. */
bool run_pushes(const struct attar_run *run);

/* What threads waited for when a recording began, or when it ended. Borrowed from the run. */
struct run_waits {
	uint64_t time; /* ns: when it was read */
	const struct attar_thread_wait *at;
	size_t n;
	uint64_t unread; /* further threads, for which no time was left */
	bool is_system;  /* of all threads of the machine */
};

/*
 * The times of the first and the last sample of the recording, ns, on its clock. Returns 1; 0: they
 * are unknown, as in a pipe, or the run is live; or a negative errno.
 */
int run_get_recorded_times(struct attar_run *run, uint64_t *ret_first, uint64_t *ret_last);

/*
 * Whether the record is from before the time of --from: it says what exists when the range begins,
 * as the first records of a recording do.
 */
bool run_is_before_range(const struct attar_run *run);

/*
 * Returns 1; 0 if the run is live, or if the recording does not have it, such as one of perf. What
 * threads waited for at its end is known in the last report.
 */
int run_get_waits(const struct attar_run *run, bool at_end, struct run_waits *ret_waits);

/* What the scheduler had counted for a thread, as /proc/TID/schedstat has it. */
struct run_sched {
	pid_t pid, tid;
	uint64_t time;       /* ns: when it was read */
	uint64_t ran, delay; /* ns: on a CPU, in the run queue */
	uint64_t turns;      /* on a CPU */
};

/*
 * Of recorded threads, when the recording began or when it ended; likewise. Returns their number,
 * of which at most max are stored: 0 if the run is live, or if the recording does not have it.
 */
size_t run_get_scheds(
	const struct attar_run *run, bool at_end, struct run_sched *scheds, size_t max);

/*
 * Limits the time for reading open files and mappings of processes, of which other users can have
 * any number: 0.1 s of CPU time for each user other than root and the caller, and a twentieth of
 * the time; a message names the user. Returns whether the process may be read now, then
 * run_scan_end() follows; the second, whether reading it may go on.
 */
bool run_scan_begin(struct attar_run *run, pid_t pid);
bool run_scan_goes_on(struct attar_run *run, pid_t pid);
void run_scan_end(struct attar_run *run, pid_t pid);

/* ---- files and databases ---- */

/*
 * Opens a file for results that are no reports, such as heatmaps. The run owns it: after
 * ended() it is closed, and replaces an existing file, which remains if the run fails. A file that
 * is not regular is written in place. option begins the error message. Returns 0 or a negative
 * errno.
 */
int run_file(struct attar_run *run, const char *option, const char *path, FILE **ret_file);

/*
 * The same for a file that is kept and appended to, so that others can read it during the run. The
 * caller closes it with fclose(3).
 */
int run_append_file(struct attar_run *run, const char *option, const char *path, FILE **ret_file);

/*
 * Whether the input is a database of SQLite 3, for profilers with ATTAR_USES_DATABASE. There are no
 * events then: the run ends at once, with one report.
 */
bool run_has_database(const struct attar_run *run);

/*
 * Opens this database, which can only be read. Returns 0; *ret_db is to be closed with
 * sqlite3_close(). Or a negative errno with an error message: -EINVAL if the input is not a
 * database, -EBADMSG if it is damaged, -EOPNOTSUPP if attar was built without SQLite.
 */
int run_open_database(const struct attar_run *run, struct sqlite3 **ret_db);

/*
 * Opens a database for results, or creates it. Links and files of other users are treated as by
 * run_file(). *ret_db is to be closed with sqlite3_close() before the next call, and before
 * the run is freed. Returns 0 or a negative errno.
 */
int run_create_database(struct attar_run *run, const char *path, struct sqlite3 **ret_db);

/* ---- the run ---- */

/*
 * Sets the interval of reports, ns; at least a millisecond. Replaces the interval of the options.
 * Only from open().
 */
int run_set_interval(struct attar_run *run, uint64_t interval);

/*
 * Ends the run after this time, ns, unless the options give a duration, it runs a command or reads
 * a recording. Only from open().
 */
int run_default_duration(struct attar_run *run, uint64_t duration);

/*
 * How much longer it takes to create and to end a task that inherits the events of the run: ns of
 * one task, measured now on this machine. The system calls of the creator take this time longer
 * than without attar. For report(), with ATTAR_SCOPE_WHOLE. Returns 1; 0 if no task has inherited
 * them: the whole system is watched, or it is a recording; or a negative errno.
 */
int run_inherit_cost(struct attar_run *run, uint64_t *ret_create, uint64_t *ret_exit);

/*
 * The process that reads the rings, whose samples are left out unless attar_run_keep_own() was
 * called: this process; with --input or --pull, the one of attar that recorded. Its pid is in the
 * data of a recording: call this when events arrive. 0: unknown, such as of a recording of perf.
 */
pid_t run_own_pid(const struct attar_run *run);

/*
 * Which CPUs are online, such as "0-3,6": of a recording, when it began, known from its first event
 * on. "": unknown. Returns list.
 */
const char *run_online_cpus(const struct attar_run *run, char *list, size_t size);

/* Counts a record that is shown as an event, such as of a name: for -N, which counts samples. */
void run_count_record(struct attar_run *run);

/* Whether attar_run_stop() was called: what takes long may end early. */
bool run_is_stopped(const struct attar_run *run);

/*
 * Announces that queries come after the run: the caller, such as the attar command, reads them from
 * the user. Only from open().
 */
int run_expect_queries(struct attar_run *run);

/*
 * The command of the run, as argv; NULL: there is none. The second function adds "NAME=VALUE" to
 * its environment, which replaces NAME. Returns 0 or -ENOMEM. Only from open().
 */
char *const *run_command(const struct attar_run *run);
int run_add_environment(struct attar_run *run, const char *variable);

/* ---- for the command ---- */

/* Whether the profiler called run_expect_queries(). */
bool run_expects_queries(const struct attar_run *run);

/*
 * After the run: answers a query in the language of the profiler. The caller frees the
 * report with attar_report_free(). Returns 0; -EINVAL: the profiler has no query(), the run has not
 * ended, or the query is invalid.
 */
int run_query(struct attar_run *run, const char *text, struct attar_report **ret_report);

/*
 * Finds the events of a list, such as "sched:sched_switch,cycles", as the run will: with the option
 * input, the events of the recording, with its formats. Before attar_run_start(). *ret_list is
 * owned by the run. Returns 0, or a negative errno as attar_event_list_parse().
 */
int run_find_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/*
 * Sets the options of a preset that were not set yet. attar_run_start() does it too; a caller that
 * reads options before, such as attar_run_interval(), calls it after setting its own.
 */
int run_set_preset(struct attar_run *run);

/*
 * Checks the address of --push as attar_run_start() does, without listening. *ret_address: where it
 * would listen; of family 0 if it is no address of TCP, and without --push. Returns 0 or
 * a negative errno with an error message.
 */
int run_check_push(const struct attar_run *run, struct sockaddr_storage *ret_address);

/*
 * Describes the state of a started run: its events with the records lost, its rings, the stream,
 * its caches and the memory that they use. Free with attar_report_free(). Returns 0; -EINVAL: the
 * run has not been started; -ENOMEM.
 */
int run_status(struct attar_run *run, struct attar_report **ret_report);

/*
 * The number of open tracepoints and probes that the kernel removes one by one, about 30 ms each,
 * when their last descriptor is closed. 0 if this process must close them itself, because it
 * removes probes from tracefs afterwards.
 */
size_t run_slow_closes(const struct attar_run *run);

/* ---- counts ---- */

/* Runs the command n times in sequence. -EINVAL: there is no command. Only from open(). */
int run_repeat(struct attar_run *run, uint64_t n);

/* How often the command runs: 1 unless run_repeat() was called. */
uint64_t run_rounds(const struct attar_run *run);

/* ns since the start (of this run of the command), until now or until the target ended. */
uint64_t run_elapsed(const struct attar_run *run);

/* ns since the previous report, or since the start: the interval of `recent` values. */
uint64_t run_recent(const struct attar_run *run);

/* CPU time of the exited command, as target_command_times(). */
int run_command_times(const struct attar_run *run, uint64_t *ret_user, uint64_t *ret_system);

/* ---- events, threads and outputs ---- */

/* The profiler with this name; NULL: there is none. */
const struct attar_profiler *profiler_find(const char *name);

/*
 * For profilers that measure CPUs: watches the whole system, also with a command. -EINVAL: the
 * options select tasks. Only from open().
 */
int run_watch_cpus(struct attar_run *run);

/*
 * For profilers that limit their own cost: without --unwind, the kernel takes user stacks by frame
 * pointers. Only from open().
 */
void run_keep_frame_pointers(struct attar_run *run);

/*
 * Reads events at most `ms` milliseconds after they happen, also if few arrive; 0: the kernel wakes
 * the run at each event, for rare ones. For profilers that look at the process of the event, which
 * goes on. Without this call it can be 100 ms. Of several calls the smallest counts. Only from
 * open().
 */
int run_read_within(struct attar_run *run, unsigned ms);

/*
 * The TID of the event's thread. Samples of an exiting task have no valid one: the field common_pid
 * of a tracepoint still has it, unless this process, or the one that made the recording, is in
 * another PID namespace than the first one. -1: unknown.
 */
pid_t run_event_tid(const struct attar_run *run, const struct attar_event *event);

/*
 * The host whose event source i is, borrowed from the run: the name of another one or of this
 * machine; NULL: the run has no events of several hosts (pull=). Threads of different hosts can
 * have the same tid.
 */
const char *run_source_host(const struct attar_run *run, uint32_t i);

/* The thread that runs a virtual CPU of a KVM guest on this machine. */
struct attar_vcpu {
	int32_t pid, tid; /* of the process, and of the thread */
	int32_t cpu;      /* the only CPU that the thread may run on; -1: there are several */
};

/*
 * The virtual CPU on which an event of a guest occurred. False: the event is not of a guest that
 * the attribute vm= names, or the thread is unknown.
 */
bool run_vcpu(
	const struct attar_run *run, const struct attar_event *event, struct attar_vcpu *ret_vcpu);

/* The parsed spec of event i of the timer, borrowed from the run; NULL after the last. */
const struct attar_event_spec *run_timer_spec(
	const struct attar_run *run, uint32_t source, size_t i);

/* What was written so far. */
struct attar_run_recorded {
	const char *path; /* borrowed from the options; the address of --push without a file */
	uint64_t samples;
	uint64_t records;    /* samples and all others */
	uint64_t bytes;      /* of the events' records, before compression */
	uint64_t file_bytes; /* in all files, also those that were dropped */
	unsigned files;      /* that were begun */
	bool is_full;        /* max_bytes was reached, which ended the run */
};

/* Returns 1, or 0 if the run does not write a recording. */
int run_get_recorded(const struct attar_run *run, struct attar_run_recorded *ret_recorded);

/* What attar_run_box_opts has led to. */
struct attar_run_boxed {
	uint64_t samples;     /* that are kept now */
	uint64_t bytes;       /* of memory, that they and the names of tasks need */
	uint64_t first, last; /* ns: the times of the oldest and the newest one; 0: none */
	uint64_t dumps;       /* files that were written */
	uint64_t left_out;    /* files that at_most has prevented */
};

/* A file. Strings are borrowed until the next one is written. */
struct attar_run_dump {
	const char *path, *reason;
	uint64_t first, last; /* ns: the times of its samples; 0: none */
	uint64_t samples, records, file_bytes;
	uint64_t took_ns;
};

/* Returns 1, or 0 if the run does not keep events. */
int run_get_boxed(const struct attar_run *run, struct attar_run_boxed *ret_boxed);

/* Files since the last report: number i. Returns 1, or 0 if there are no more. */
int run_get_dump(const struct attar_run *run, size_t i, struct attar_run_dump *ret_dump);

/*
 * How many occurrences of the event of source i the kernel counted, but the run did not receive,
 * those that were lost included. 0: none, or not known: before the end of the run, of a recording,
 * and of events whose count is not the number of their samples, such as clocks.
 */
uint64_t run_source_undelivered(const struct attar_run *run, uint32_t i);

/*
 * Samples of source i that repeat the one before them (struct attar_repeats) may be given to `fn`
 * together, instead of one by one to the event function: for profilers that only count samples, or
 * read nothing but their raw data. NULL: none are. Returns 0 or -EINVAL.
 */
int run_source_repeats(struct attar_run *run, uint32_t i, attar_repeats_fn *fn);

/*
 * Samples of source `other` and source i that take turns after one of source i (struct attar_turns)
 * may be given to `fn` together, instead of one by one to the event functions: for profilers that
 * need their time and raw data, but not the other fields of the record. NULL: none are. Replaces
 * the repeats of source i. Returns 0 or -EINVAL.
 */
int run_source_turns(struct attar_run *run, uint32_t i, uint32_t other, attar_turns_fn *fn);

/*
 * The options and the command with which another profiler has the same target, for a shell:
 * " -p 12,13", " -C 0 -- make all", " --input x.data"; "" for the whole system. NULL: out of
 * memory. Owned by the run.
 */
const char *run_target_words(struct attar_run *run);

/*
 * The threads whose events the run has opened one by one, as --pids and --tids do, and those that
 * have begun since. Returns their number. Borrowed from the run until the next turn.
 */
size_t run_target_tids(const struct attar_run *run, const int **ret_tids);

/*
 * Gives such events fields of their own, in place of the fields of the events that open() requests:
 * format is the text of a tracefs "format" file, with the common fields. Only from open() of an
 * event of another profiler. emits() then adds each of its events with run_emit().
 */
int run_emit_fields(struct attar_run *run, const char *format);

/*
 * Adds an event with the time, CPU, thread and stack of the one that emits() was called for, which
 * can have several. raw has as many bytes as the format (attar_format.size); copied. Only from
 * emits(), which then returns 1. Returns 0 or -ENOMEM.
 */
int run_emit(struct attar_run *run, const void *raw);

/*
 * For a profiler that opened its events without stacks: -EINVAL, with a message, if an output shows
 * call trees only, else 0.
 */
int run_check_no_tree(const struct attar_run *run);

/*
 * Sets the share of samples (0..1) whose innermost frame has no symbol, for the notes of the
 * current report.
 */
void run_unresolved(struct attar_run *run, double share);

/* ---- counting in the kernel ---- */

/*
 * At the end of open(): asks that a program in the kernel counts the events that open() has
 * requested, which are then not delivered: report() reads the sums. what: borrowed. single: what of
 * the options needs single events, such as "--detail"; NULL: nothing does. Decides by --in-kernel,
 * by the other options and by what the system supports. Returns 1: the program counts; 0: the
 * events are delivered; or a negative errno with a message: they were to be counted, and cannot be.
 * Only from open().
 */
int run_count_in_kernel(
	struct attar_run *run, const struct counting_what *what, const char *single);

/*
 * Gives each row that has changed since the last call. 0, also if nothing is counted in the kernel,
 * -ENOMEM or the result of fn. From report().
 */
int run_read_counting(struct attar_run *run, counting_row_fn *fn, void *ctx);

/* ---- reports ---- */

/*
 * Like attar_run_request_report(), with a marker: the text becomes a remark of the report. text is
 * copied, at most 1024 bytes of it. Only from the thread that drives the run. Returns 0 or -ENOMEM.
 */
int run_mark(struct attar_run *run, const char *text);

/* Whether the profiler is an event of another one, see attar_profiler.emits. */
bool run_emits(const struct attar_run *run);

/*
 * Whether the results are divided into reports of intervals, the last of which ends with the run:
 * with --interval, or since a report was requested.
 */
bool run_has_intervals(const struct attar_run *run);

/* --duration, ns; 0: none. */
uint64_t run_duration(const struct attar_run *run);

/* The requested sampling frequency, Hz. */
uint64_t run_freq(const struct attar_run *run);

#endif
