/* SPDX-License-Identifier: MIT */
/*
 * Per-thread counts of threads that are created during the run. The kernel adds the counts of a new
 * thread to the counts of its creator (attr.inherit) and reports the thread's own counts when it
 * exits (attr.inherit_stat): they are subtracted from the creator's count.
 *
 * On a switch between threads with equal sets of counters, the kernel swaps their contexts instead,
 * and mixes up the counts when there are several events. Since Linux 6.12 it does not do so for
 * events with PERF_SAMPLE_READ: so these events set it, although they are never sampled.
 *
 * A READ record goes to the ring of the CPU that it counted on, whichever CPU the thread exits on.
 * The kernel's rings do not allow writers on two CPUs: if two threads exit at the same time, the
 * ring may stop for good, without a LOST record (seen on 6.18). So these rings hold nothing but
 * READ records; names and ends of threads come from the task watch, and a count with missing parts
 * is reported as partial.
 */
#include "run/counts/exited.h"

#include "attar/private/perf.h"
#include "base/buf.h"
#include "perf/counter_read.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/tasks.h"
#include "run/run.h"
#include "stream/stream.h"
#include "stream/task_name.h"

/* Further threads are counted with their creators: a longer table is not useful. */
enum { THREADS_MAX = 1 << 16 };

/* The time at which a thread was started is exact to a tick of 10 ms, and is converted. */
enum { START_ERROR_NS = 20000000 };

/* From task_watch_creator(). */
enum { NO_THREAD = -1 };

/* Logs why the threads that are created during the run have no separate counts. */
static void note_threads(const struct attar_run *run)
{
	if (exited_threads_reported(run) || run->opts.tids || run->replay)
		return;
	log_note("threads created during the run are counted with their creators%s",
		run->opts.interval        ? ": --interval does not allow separate counts"
		: run_watches_system(run) ? ""
		: run->opts.cpus          ? ": --cpus does not allow separate counts"
					  : ": separate counts require Linux 6.12 or newer");
}

void run_count_each_thread(struct attar_run *run)
{
	threads_of(run)->each = true;
	note_threads(run);
}

void threads_attr(struct perf_event_attr *attr)
{
	attar_stream_attr(attr, false);
	attr->sample_type |= PERF_SAMPLE_READ;
	attr->inherit_stat = 1;
}

static int note_instances(struct threads *t, const struct counted *c, uint64_t number)
{
	for (size_t i = 0; i < c->pub.n_instances; i++) {
		struct attar_counter_instance at = attar_counter_instance_at(c->pub.counter, i);

		if ((t->reported && map_put(&t->instances, at.id, number << 32 | i) < 0) ||
			map_put(&t->watched, (uint64_t)at.tid, 1) < 0)
			return base_oom();
	}
	return 0;
}

int threads_open(struct attar_run *run)
{
	int r = 0;

	threads_done(run);
	threads_of(run)->reported = exited_threads_reported(run);
	for (size_t i = 0; r == 0 && i < counts_of(run)->list.n && threads_of(run)->each; i++)
		r = note_instances(threads_of(run), &counts_of(run)->list.at[i], i);
	return r;
}

void threads_done(struct attar_run *run)
{
	struct threads *t = threads_of(run);

	vec_each (&t->ended, it) {
		free(it->values);
		free(it->parts);
	}
	vec_done(&t->ended);
	vec_done(&t->pending);
	map_done(&t->started);
	map_done(&t->unwatched);
	map_done(&t->running);
	map_done(&t->mixed);
	map_done(&t->by_tid);
	map_done(&t->instances);
	map_done(&t->watched);
	t->known_until = 0;
	t->too_many = t->has_losses = t->has_rest = false;
}

/* ---- thread names, kept after exit ---- */

int threads_keep_comm(struct attar_run *run, pid_t tid, const char *comm)
{
	comm = intern_text(&run->texts, comm);
	if (!comm || map_put(&threads_of(run)->comms, (uint64_t)tid, (uintptr_t)comm) < 0)
		return base_oom();
	return 0;
}

/* Not the name of a later thread with the same tid. */
static int remember_comm(struct attar_run *run, pid_t tid)
{
	struct buf b _cleanup_(buf_done) = {0};
	struct task_facts facts;
	const uint64_t *started;

	if (task_name_read(0, tid, &b, &facts) < 0)
		return 0;
	started = map_get(&threads_of(run)->started, (uint64_t)tid);
	if (started && facts.started > *started + START_ERROR_NS)
		return 0;
	if (!started && map_put(&threads_of(run)->started, (uint64_t)tid, facts.started) < 0)
		return base_oom();
	return threads_keep_comm(run, tid, buf_text(&b));
}

static bool has_exited(const struct attar_run *run, pid_t tid)
{
	return !map_get(&threads_of(run)->watched, (uint64_t)tid);
}

/* Before its exec, the command still has the name of this process. */
int threads_remember_comms(struct attar_run *run)
{
	const struct counted *c = counts_of(run)->list.at;
	pid_t last = -1;
	int r = 0;

	if (!threads_of(run)->each)
		return 0;
	while (c->refused) /* all have the same threads, and at least one was opened */
		c++;
	for (size_t i = 0; r == 0 && i < c->pub.n_instances; i++) {
		pid_t tid = attar_counter_instance_at(c->pub.counter, i).tid;

		if (tid < 0 || tid == last || has_exited(run, tid) ||
			(!run->clock.began && tid == target_command_pid(run->target)))
			continue;
		last = tid;
		r = remember_comm(run, tid);
	}
	return r;
}

const char *run_comm(const struct attar_run *run, pid_t tid)
{
	const uint64_t *comm = map_get(&threads_of(run)->comms, (uint64_t)tid);

	return comm ? (const char *)(uintptr_t)*comm : NULL;
}

/* ---- records from the kernel ---- */

static struct counted *instance_of(struct attar_run *run, uint64_t id, size_t *ret_instance)
{
	const uint64_t *at = map_get(&threads_of(run)->instances, id);

	if (!at)
		return NULL;
	*ret_instance = (uint32_t)*at;
	return &counts_of(run)->list.at[*at >> 32];
}

/* *ret_ended is NULL, without an error, if the table is full. */
static int add_ended(struct attar_run *run, pid_t tid, pid_t creator, const char *comm,
	struct ended_thread **ret_ended)
{
	struct threads *t = threads_of(run);
	const uint64_t *previous = map_get(&t->by_tid, (uint64_t)tid);
	struct ended_thread e = {
		.tid = tid, .creator = creator, .previous = previous ? (uint32_t)*previous + 1 : 0};

	*ret_ended = NULL;
	if (t->ended.n >= THREADS_MAX) {
		if (!t->too_many)
			log_note("more than %d threads have exited: the counts of further ones are "
				 "in the row '[unassigned]'",
				THREADS_MAX);
		t->too_many = true;
		map_remove(&t->by_tid, (uint64_t)tid); /* an earlier thread with the same tid */
		return 0;
	}
	e.comm = intern_text(&run->texts, comm);
	e.values = calloc(counts_of(run)->list.n, sizeof(*e.values));
	e.parts = calloc(counts_of(run)->list.n, sizeof(*e.parts));
	if (!e.comm || !e.values || !e.parts ||
		map_put(&t->by_tid, (uint64_t)tid, t->ended.n) < 0 || vec_push(&t->ended, e) < 0) {
		free(e.values);
		free(e.parts);
		return base_oom();
	}
	*ret_ended = &t->ended.at[t->ended.n - 1];
	return 0;
}

static int on_fork_record(struct attar_run *run, const struct attar_record *rec)
{
	pid_t creator = task_watch_creator(run, rec->id);
	uint32_t tid = rec->task.tid;

	if (creator < 0 || map_get(&threads_of(run)->watched, tid))
		return 0;
	return map_put(&threads_of(run)->running, tid, (uint64_t)creator) < 0 ? base_oom() : 0;
}

/*
 * The thread of the creator that had the tid when the record was written, which is after the
 * thread's EXIT record and before the tid is used again. NULL: its EXIT record was lost.
 */
static struct ended_thread *find_ended(
	struct attar_run *run, pid_t tid, pid_t creator, uint64_t time)
{
	const uint64_t *at = map_get(&threads_of(run)->by_tid, (uint64_t)tid);
	struct ended_thread *ended = at ? &threads_of(run)->ended.at[*at] : NULL;

	while (ended && ended->exited_at > time)
		ended = ended->previous ? &threads_of(run)->ended.at[ended->previous - 1] : NULL;
	return ended && ended->creator == creator ? ended : NULL;
}

static int note_created_exit(
	struct attar_run *run, pid_t tid, pid_t creator, const struct attar_event *ev)
{
	const struct attar_thread *thread = ev->thread;
	struct ended_thread *ended;
	int r = add_ended(run, tid, creator, thread ? thread->comm : "", &ended);

	map_remove(&threads_of(run)->running, (uint64_t)tid);
	if (r < 0 || !ended)
		return r;
	ended->exited_at = ev->record->time;
	ended->unwatched = thread && thread->process->unwatched;
	return 0;
}

/* A watched thread keeps its name for the report; any other was created during the run. */
static int on_exit_record(struct attar_run *run, const struct attar_event *ev)
{
	pid_t tid = (pid_t)ev->record->task.tid, creator = task_watch_creator(run, ev->record->id);
	bool unwatched = ev->thread && ev->thread->process->unwatched;

	if (creator < 0)
		return 0;
	if (map_get(&threads_of(run)->watched, (uint64_t)tid)) {
		map_remove(
			&threads_of(run)->watched, (uint64_t)tid); /* the tid can be used again */
		if (unwatched && map_put(&threads_of(run)->unwatched, (uint64_t)tid, 1) < 0)
			return base_oom();
		return ev->thread ? threads_keep_comm(run, tid, ev->thread->comm) : 0;
	}
	return note_created_exit(run, tid, creator, ev);
}

bool run_is_unwatched(const struct attar_run *run, pid_t tid)
{
	return map_get(&threads_of(run)->unwatched, (uint64_t)tid) != NULL;
}

bool run_knows_unwatched(const struct attar_run *run)
{
	return task_watch_of(run)->creators.n &&
	       !map_get(&threads_of(run)->unwatched, (uint64_t)NO_THREAD);
}

static bool find_value(const struct attar_record *rec, struct attar_value *ret_value)
{
	const struct attar_read *read = &rec->read.values;

	for (uint64_t i = 0; i < read->nr; i++) {
		struct attar_read_value v = attar_read_at(read, i);

		if (v.id != rec->id)
			continue;
		*ret_value = (struct attar_value){.raw = v.value,
			.time_enabled = attar_read_time_enabled(read),
			.time_running = attar_read_time_running(read),
			.lost = v.lost,
			.id = v.id};
		return true;
	}
	return false;
}

/* The thread's own count in one of its creator's instances. */
static int take_count(struct attar_run *run, const struct thread_count *count)
{
	size_t instance;
	struct counted *c = instance_of(run, count->id, &instance);
	pid_t creator = attar_counter_instance_at(c->pub.counter, instance).tid;
	struct ended_thread *ended = find_ended(run, count->tid, creator, count->time);

	if (!ended) {
		int r = add_ended(run, count->tid, creator, "", &ended);

		if (r < 0 || !ended)
			return r;
	}
	ended->reported = true;
	ended->parts[c - counts_of(run)->list.at]++;
	counter_take_out(
		c->counter, instance, &count->value, &ended->values[c - counts_of(run)->list.at]);
	return 0;
}

/* READ and EXIT records are in different rings. */
static int on_read_record(struct attar_run *run, const struct attar_event *ev)
{
	struct thread_count count = {
		.time = ev->record->time, .id = ev->record->id, .tid = (pid_t)ev->record->read.tid};
	size_t instance;

	if (!instance_of(run, count.id, &instance) || !find_value(ev->record, &count.value))
		return 0;
	if (count.time <= threads_of(run)->known_until)
		return take_count(run, &count);
	return vec_push(&threads_of(run)->pending, count) < 0 ? base_oom() : 0;
}

int threads_know(struct attar_run *run, uint64_t time)
{
	struct threads *t = threads_of(run);
	size_t waiting = 0;
	int r = 0;

	t->known_until = time;
	vec_each (&t->pending, count) {
		if (count->time > time)
			t->pending.at[waiting++] = *count;
		else if (r == 0)
			r = take_count(run, count);
	}
	t->pending.n = waiting;
	return r;
}

/* A thread of the process that was created during the run and has not exited; 0: none. */
static pid_t find_running(const struct attar_run *run, const struct attar_process *process)
{
	const struct attar_stream *stream =
		task_watch_of(run)->stream ? task_watch_of(run)->stream : run->stream;

	map_each (&threads_of(run)->running, it) {
		const struct attar_thread *thread = stream_thread(stream, (pid_t)it->key);

		if (thread && thread->process == process && thread->tid != process->pid)
			return thread->tid;
	}
	return 0;
}

/*
 * Of the threads of a process, only the one that executes a program is left. It takes over the tid
 * of the main thread, and has no EXIT record with its own.
 */
static void on_exec_record(struct attar_run *run, const struct attar_event *ev)
{
	pid_t tid;

	while (ev->thread && (tid = find_running(run, ev->thread->process)))
		map_remove(&threads_of(run)->running, (uint64_t)tid);
}

/* Threads that are created later are counted with their creators. */
static int note_name(struct attar_run *run, const struct attar_record *rec)
{
	if (rec->type == PERF_RECORD_EXIT)
		map_remove(
			&threads_of(run)->watched, rec->task.tid); /* the tid can be used again */
	if (rec->type == PERF_RECORD_COMM && map_get(&threads_of(run)->watched, rec->comm.tid))
		return threads_keep_comm(run, (pid_t)rec->comm.tid, rec->comm.comm);
	return 0;
}

/* What a thread creates is counted with it: its row lacks what the kernel does not count of it. */
static int note_unwatched(struct attar_run *run, const struct attar_event *ev)
{
	pid_t creator = task_watch_creator(run, ev->record->id);

	if (ev->record->type != PERF_RECORD_EXIT || !ev->thread || !ev->thread->process->unwatched)
		return 0;
	return map_put(&threads_of(run)->unwatched, (uint64_t)creator, 1) < 0 ? base_oom() : 0;
}

int threads_note_task(struct attar_run *run, const struct attar_event *ev)
{
	if (!threads_of(run)->reported && note_unwatched(run, ev) < 0)
		return -ENOMEM;
	if (!threads_of(run)->reported)
		return note_name(run, ev->record);
	if (ev->record->type == PERF_RECORD_COMM && ev->record->comm.exec)
		on_exec_record(run, ev);
	if (ev->record->type == PERF_RECORD_FORK)
		return on_fork_record(run, ev->record);
	if (ev->record->type == PERF_RECORD_EXIT)
		return on_exit_record(run, ev);
	return 0;
}

int threads_take_count(struct attar_run *run, const struct attar_event *ev)
{
	return ev->record->type == PERF_RECORD_READ ? on_read_record(run, ev) : 0;
}

const struct ended_thread *run_ended_thread(const struct attar_run *run, size_t i)
{
	return i < threads_of(run)->ended.n ? &threads_of(run)->ended.at[i] : NULL;
}

/* ---- counts that could not be separated ---- */

static uint64_t lost_in(struct attar_stream *stream)
{
	struct attar_stream_stats stats = {0};

	if (stream)
		attar_stream_get_stats(stream, &stats);
	return stats.lost;
}

static bool has_losses(const struct attar_run *run)
{
	return lost_in(run->stream) || lost_in(task_watch_of(run)->stream) ||
	       threads_of(run)->too_many;
}

bool run_is_complete(const struct attar_run *run, const struct ended_thread *ended, size_t i)
{
	const struct attar_counter *c = counts_of(run)->list.at[i].counter;
	uint32_t expected = 0;

	if (!c || ended->parts[i] == run->target->cpus.n)
		return true;
	for (size_t instance = 0; instance < attar_counter_instances(c); instance++)
		expected += attar_counter_instance_at(c, instance).tid == ended->creator;
	return ended->parts[i] >= expected;
}

static bool has_all(const struct attar_run *run, const struct ended_thread *ended)
{
	for (size_t i = 0; i < counts_of(run)->list.n; i++)
		if (!run_is_complete(run, ended, i))
			return false;
	return true;
}

int threads_settle(struct attar_run *run)
{
	struct threads *t = threads_of(run);

	t->has_losses = has_losses(run);
	map_each (&t->running, it)
		if (map_put(&t->mixed, it->value, 1) < 0)
			return base_oom();
	vec_each (&t->ended, it)
		if (!has_all(run, it) && map_put(&t->mixed, (uint64_t)it->creator, 1) < 0)
			return base_oom();
	return 0;
}

bool run_is_mixed(const struct attar_run *run, pid_t tid)
{
	return threads_of(run)->has_losses || map_get(&threads_of(run)->mixed, (uint64_t)tid);
}

const char *threads_rest(const struct attar_run *run)
{
	return threads_of(run)->has_rest ? "in the row '[unassigned]'"
	       : run->replay             ? "missing"
					 : "0";
}

/*
 * From 5.13 to 6.19 most kernels drop the record of a thread's count; fixed in 7.0 and stable ones.
 */
void threads_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct threads *t = threads_of(run);
	const char *place = threads_rest(run);
	size_t unreported = 0, partly = 0;

	vec_each (&t->ended, it) {
		unreported += !it->reported;
		partly += it->reported && !has_all(run, it);
	}
	if (t->has_losses) /* its remark covers these too */
		return;
	if (unreported)
		attar_report_remark(report,
			"%zu exited %s of %s own: this kernel does not report them (a bug of many "
			"kernels from 5.13 to 6.19); they are %s",
			unreported,
			unreported == 1 ? "thread has no counts" : "threads have no counts",
			unreported == 1 ? "its" : "their", place);
	if (partly)
		attar_report_remark(report,
			"%zu exited %s own counts: the kernel did not report the rest, as can "
			"happen when threads exit on several CPUs at the same time; it is %s",
			partly,
			partly == 1 ? "thread has only part of its"
				    : "threads have only part of their",
			place);
	if (t->running.n)
		attar_report_remark(report, "%zu %s still running: %s counts are %s", t->running.n,
			t->running.n == 1 ? "thread that was created during the run is"
					  : "threads that were created during the run are",
			t->running.n == 1 ? "its" : "their", place);
}

static void threads_free(struct attar_run *run, void *self)
{
	struct threads *threads = self;

	threads_done(run);
	map_done(&threads->comms);
	map_done(&threads->reused);
}

const struct run_part part_threads = {.size = sizeof(struct threads), .free = threads_free};
