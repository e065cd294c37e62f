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
 * Like attar_run_count(), but after attar_run_select_tasks(): if the options select tasks, only
 * their events are counted, with the events of processes and threads that they create meanwhile.
 * Not what a set-user-ID program does, for which the kernel disables such events. Counters of more
 * than 1,024 threads, or more than the limit of open files permits, are refused (struct
 * attar_run_counter), which does not end the run. Only from open().
 */
int run_count_selected(struct attar_run *run, const char *text);

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
 * Returns 1; 0 if the run is live, or if the recording does not have it, such as one of perf. What
 * threads waited for at its end is known in the last report.
 */
int run_get_waits(const struct attar_run *run, bool at_end, struct run_waits *ret_waits);

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

/* Whether attar_run_stop() was called: what takes long may end early. */
bool run_is_stopped(const struct attar_run *run);

/*
 * Announces that queries come after the run: the caller, such as the attar command, reads them from
 * the user. Only from open().
 */
int run_expect_queries(struct attar_run *run);

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

#endif
