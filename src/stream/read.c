/* SPDX-License-Identifier: MIT */
/*
 * Delivers the records of a stream: merges the rings, or the sequences of a recording, in
 * rounds. A round first reads the clock (the horizon), then the write position of each ring.
 * Every record older than the horizon is then visible and can be delivered in global order;
 * newer ones wait for the next round. A kernel without use_clockid (before 4.1) has another
 * clock; there the horizon is the newest time of the previous round. For recordings see
 * stream/replay.h.
 */
#include "stream/stream.h"

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "record/sample.h"
#include "perf/target.h"

enum {
	SHM_THREADS_MAX = 1 << 18, /* threads in the table above which program events add none */
	LARGE = 2048,              /* bytes of a record; see prefetch_next() */
	PREFETCHED = 1024,
	CACHE_LINE = 64,
};

/*
 * A loss lies between the record before it and itself. It is delivered at its begin, so that a
 * profiler receives it before the events of other CPUs in the same time.
 */
static __attribute__((noinline)) uint64_t time_of_loss(const struct cursor *c)
{
	return c->passed_time ? c->passed_time : c->time;
}

static __attribute__((noinline)) bool advance_replay(struct attar_stream *s, struct cursor *c)
{
	c->header = replay_take(s, c);
	if (!c->header)
		return false;
	c->time = MAX(replay_time(s, c->header), c->passed_time);
	if (stream_is_loss(c->header))
		c->time = time_of_loss(c);
	return true;
}

/*
 * Requests the first lines of the next record, and the one with the size of its copy of a stack,
 * from memory while this one is used: records with such copies are large, and alike. Always
 * inlined, because gcc leaves out calls of a function that does nothing else.
 */
static inline __attribute__((always_inline)) void prefetch_next(
	const struct attar_ring *ring, size_t size)
{
	const char *next = ring_at(ring, ring->tail);

	for (int at = 0; at < PREFETCHED; at += CACHE_LINE)
		__builtin_prefetch(next + at);
	__builtin_prefetch(next + size - sizeof(uint64_t));
}

/* Advances the cursor to the next record; false if there is none now. */
static inline bool advance(struct attar_stream *s, struct cursor *c)
{
	if (c->header)
		c->passed_time = c->time;
	if (unlikely(!c->ring))
		return advance_replay(s, c);
	c->header = ring_take(c->ring);
	if (!c->header)
		return s->last_round && stream_has_final_loss(s, c);
	if (unlikely(c->ring->tail > c->give_back)) {
		attar_ring_release(c->ring);
		c->give_back = c->ring->tail + c->ring->size / 4;
	}
	if (c->header->size >= LARGE)
		prefetch_next(c->ring, c->header->size);
	c->time = attar_record_time(&s->layouts[0], c->header);
	if (unlikely(c->time < c->passed_time))
		c->time = c->passed_time;
	if (unlikely(stream_is_loss(c->header)))
		c->time = time_of_loss(c);
	return true;
}

/* Fills the heap. */
static void push_cursors(struct attar_stream *s)
{
	s->merge.n = 0;
	s->last_round = s->stopped;
	for (size_t i = 0; i < s->n_cursors; i++)
		if (s->cursors[i].header || s->cursors[i].run.is_parked ||
			advance(s, &s->cursors[i]))
			merge_push(&s->merge, &s->cursors[i]);
	s->in_round = true;
}

static int begin_replay_round(struct attar_stream *s)
{
	int r = 0;

	if (!s->stopped)
		r = replay_read_round(s);
	if (r < 0)
		return r;
	/* in the middle of a round of a pipe, nothing newer may be delivered yet */
	s->horizon =
		r ? replay_horizon(s) : MAX(s->delivered, recording_since(s->replay->recording));
	s->stopped |= s->replay->is_at_end;
	if (s->stopped)
		s->horizon = UINT64_MAX;
	push_cursors(s);
	return 0;
}

static int begin_round(struct attar_stream *s)
{
	uint64_t time = 0;
	int r;

	if (s->replay)
		return begin_replay_round(s);
	stream_renew_names_of_cpus(s);
	r = s->target->listens ? stream_follow_cpus(s) : 0;
	s->shm_source_since = s->shm_source_horizon;
	if (r == 0 && s->shm_source)
		r = shm_source_begin(s->shm_source, s->stopped, &s->shm_source_horizon);
	if (r < 0)
		return r;
	time = s->shm_source ? s->shm_source_horizon : base_now();
	s->horizon = s->stopped     ? UINT64_MAX
		     : s->has_clock ? time
		     : s->frozen    ? UINT64_MAX
				    : s->newest;
	for (size_t i = 0; i < s->n_rings; i++)
		attar_ring_begin(s->rings[i]);
	push_cursors(s);
	return 0;
}

/* Releases ring space to the kernel, except of the records in front, which were not delivered. */
static void end_round(struct attar_stream *s)
{
	for (size_t i = 0; i < s->n_rings; i++) {
		struct cursor *c = &s->cursors[i];

		if (c->header)
			attar_ring_release(c->ring);
		else
			attar_ring_end(c->ring);
		c->give_back = c->ring->tail + c->ring->size / 4;
		c->run.is_parked = false; /* its bytes end with the bytes of the round */
	}
	if (s->frozen)
		rings_thaw(s->rings, s->n_rings);
	s->in_round = s->frozen = false;
}

void stream_forget_ids(struct attar_stream *s)
{
	for (size_t i = 0; i < RECENT_IDS; i++)
		s->recent_ids[i].counter = NO_COUNTER;
}

/* Counts an arrived sample, whether it is delivered or not. */
static void count_arrival(struct attar_stream *s, struct cursor *c, uint32_t counter)
{
	const struct attar_record *rec = &s->record;

	if (unlikely(!c->counts)) /* of a recording */
		return;
	c->counts[counter].arrived += rec->time >= s->accounts[counter].since;
}

/* Returns 1 if the sample is to be delivered, 0 if it is not, or -ENOMEM. */
static int fill_sample(struct attar_stream *s, struct attar_event *ev)
{
	const struct attar_record *rec = &s->record;

	if (unlikely(rec->time < s->start_time)) {
		s->stats.early++;
		return 0;
	}
	if (unlikely((pid_t)rec->pid == s->skipped_pid)) {
		s->stats.own++;
		return 0;
	}
	ev->thread = &procs_thread(&s->procs, (pid_t)rec->pid, (pid_t)rec->tid)->pub;
	if (unlikely(!ev->thread))
		return base_oom();
	s->stats.samples++;
	return 1;
}

/*
 * The id belongs to the event that wrote the next record, not of the one that lost records. Returns
 * false if the loss is known already, or no sample was lost.
 */
static bool fill_lost(
	struct attar_stream *s, struct cursor *c, uint32_t counter, struct attar_event *ev)
{
	ev->lost_from = c->passed_time;
	ev->lost_to = MAX(s->record.time, c->time);
	if (s->replay && replay_is_final_loss(s, c->header)) {
		ev->lost_to = MAX(s->newest, c->time);
		return stream_take_final_loss(s, counter);
	}
	if (s->record.type == PERF_RECORD_LOST_SAMPLES) {
		s->lost_in_pmu += s->record.lost.lost;
		return true;
	}
	*(stream_counter_of(s, s->record.lost.id) == s->side ? &s->lost_side : &s->lost_recorded) +=
		s->record.lost.lost;
	if (!s->replay)
		stream_subtract_side_band(s, c);
	if (!s->replay && c->ring->backward)
		s->lost_stopped += s->record.lost.lost;
	return s->record.lost.lost > 0;
}

/* What the ring lost after its last record, which no record of the kernel reports. */
static __attribute__((noinline)) int deliver_final_loss(
	struct attar_stream *s, const struct cursor *c, struct attar_event *ev)
{
	s->delivered = MAX(s->delivered, c->time);
	s->record = (struct attar_record){.type = PERF_RECORD_LOST,
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.cpu = (uint32_t)c->ring->cpu,
		.time = s->stop_time,
		.lost = {.lost = c->final_loss.lost}};
	*ev = (struct attar_event){.record = &s->record,
		.time = s->delivered,
		.counter = s->numbers[0],
		.cpu = s->record.cpu,
		.lost_from = c->time,
		.lost_to = MAX(s->stop_time, c->time)};
	return 1;
}

/* Whether the kernel counts an event by perf_sw_event(). */
static bool is_software_event(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config != PERF_COUNT_SW_DUMMY &&
	       attr->config != PERF_COUNT_SW_CPU_CLOCK && attr->config != PERF_COUNT_SW_TASK_CLOCK;
}

uint32_t stream_software_event(const struct attar_stream *s)
{
	uint32_t found = NO_COUNTER;

	for (size_t i = 0; i < s->n_counters; i++) {
		if (!is_software_event(&s->counters[i]->attr))
			continue;
		if (found != NO_COUNTER)
			return NO_COUNTER;
		found = (uint32_t)i;
	}
	return found;
}

/* The id of the event that wrote the record. */
static inline uint64_t identifier_of(
	const struct attar_stream *s, const struct perf_event_header *header)
{
	const char *end = (const char *)header;
	uint64_t id;

	if (likely(header->type < PERF_RECORD_KSYMBOL))
		return attar_record_identifier(header);
	end += attar_record_end(&s->layouts[0], header);
	memcpy(&id, end - sizeof(id), sizeof(id));
	return id;
}

/* The counter whose layout the record has; NO_COUNTER: the event is not the stream's. */
static inline uint32_t layout_of(struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t counter;

	if (unlikely(s->replay))
		return replay_checked_layout(s, header);
	counter = stream_counter_of(s, identifier_of(s, header));
	if (likely(counter != NO_COUNTER) || !s->n_counters)
		return counter;
	/*
	 * a LOST record may come from any event that writes to the ring; all have the same layout
	 */
	if (header->type == PERF_RECORD_LOST)
		return 0;
	if (header->type != PERF_RECORD_SAMPLE)
		return NO_COUNTER;
	counter = stream_software_event(s);
	s->foreign += counter == NO_COUNTER;
	return counter;
}

static struct attar_thread *known_thread(const struct attar_stream *s, uint32_t pid, uint32_t tid)
{
	struct thread *t = procs_known(&s->procs, (pid_t)tid);

	return thread_is(t, (pid_t)pid, (pid_t)tid) ? &t->pub : NULL;
}

/* A sample, whose record was decoded. Returns as dispatch(). */
static inline int dispatch_sample(
	struct attar_stream *s, struct cursor *c, uint32_t counter, struct attar_event *ev)
{
	int r;

	count_arrival(s, c, counter);
	r = fill_sample(s, ev);
	if (unlikely(r < 0 || (s->accounts[counter].leads && leader_samples_take(s, r > 0) < 0)))
		return -ENOMEM;
	if (!r)
		return 0;
	return unlikely(deferred_callchain_concerns(&s->record.sample))
		       ? deferred_callchain_hold(&s->defer, ev, counter)
		       : 1;
}

/*
 * Decodes the record in front of c. Returns 1: deliver ev; 0: nothing to deliver; or a negative
 * errno.
 */
static int dispatch(struct attar_stream *s, struct cursor *c, struct attar_event *ev)
{
	struct attar_record *rec = &s->record;
	uint32_t counter;
	bool concerns;
	int r;

	if (unlikely(c->header == &c->final_loss.header))
		return deliver_final_loss(s, c, ev);
	counter = layout_of(s, c->header);
	if (unlikely(counter == NO_COUNTER || attar_record_parse(&s->layouts[counter], c->header,
						      c->header->size, rec) < 0)) {
		s->stats.malformed++;
		c->strays++;
		return 0;
	}
	if (unlikely(c->time < s->delivered))
		(*(stream_is_loss(c->header) ? &s->stats.late_losses : &s->stats.disordered))++;
	s->delivered = MAX(s->delivered, c->time);
	s->record_counter = counter;
	*ev = (struct attar_event){.record = rec,
		.time = s->delivered,
		.counter = s->numbers[counter],
		.cpu = rec->cpu};
	if (likely(rec->type == PERF_RECORD_SAMPLE))
		return dispatch_sample(s, c, counter, ev);
	if (rec->type == PERF_RECORD_CALLCHAIN_DEFERRED_)
		return deferred_callchain_resume(&s->defer, rec);
	concerns = !stream_is_loss(c->header) || fill_lost(s, c, counter, ev);
	stream_renew_names(s, rec->type == PERF_RECORD_LOST, rec->time, s->lost_side);
	if (!concerns)
		return 0;
	if (rec->type == PERF_RECORD_EXIT)
		ev->thread = known_thread(s, rec->task.pid, rec->task.tid);
	if (rec->type == PERF_RECORD_THROTTLE) {
		s->stats.throttled++;
		s->accounts[counter].unfit = true;
	}
	r = procs_apply(&s->procs, rec);
	if (rec->type == PERF_RECORD_FORK)
		ev->thread = known_thread(s, rec->task.pid, rec->task.tid);
	else if (rec->type == PERF_RECORD_COMM)
		ev->thread = known_thread(s, rec->comm.pid, rec->comm.tid);
	return r < 0 ? r : 1;
}

/* Drops the record in front; returns the cursor of the next one, NULL if there is none. */
static inline struct cursor *pass_front(struct attar_stream *s, struct cursor *c)
{
	if (advance(s, c))
		merge_sink_first(&s->merge);
	else
		merge_drop_first(&s->merge);
	s->front_done = false;
	return merge_first(&s->merge);
}

/* The first cursor, with the record at its front, which parked runs have not taken. */
static inline struct cursor *take_front(struct attar_stream *s)
{
	struct cursor *c = merge_first(&s->merge);

	if (s->front_done)
		c = pass_front(s, c);
	while (c && c->run.is_parked) {
		c->run.is_parked = false;
		if (advance(s, c))
			break;
		merge_drop_first(&s->merge);
		c = merge_first(&s->merge);
	}
	return c;
}

/* ---- events of the shm_source ---- */

/*
 * The program itself supplies the tid: in its own PID namespace, or an arbitrary number. A tid that
 * belongs to another process here, or exceeds the limit, is attributed to the program's first
 * thread.
 */
static struct thread *thread_of_shm_source(
	struct attar_stream *s, const struct shm_source_event *from)
{
	struct thread *t = procs_known(&s->procs, from->tid);

	if (thread_is(t, from->pid, from->tid))
		return t;
	if (!t && s->procs.threads.n < SHM_THREADS_MAX)
		return procs_thread(&s->procs, from->pid, from->tid);
	if (!t && !s->full_reported) {
		s->full_reported = true;
		log_note("more than %d threads: events of further threads are attributed to the "
			 "first thread of their program",
			SHM_THREADS_MAX);
	}
	return procs_thread(&s->procs, from->pid, from->pid);
}

/* Returns 1; 0 if the event is from before the start; or -ENOMEM. */
static int deliver_shm_source(
	struct attar_stream *s, const struct shm_source_event *from, struct attar_event *ev)
{
	struct thread *thread;

	if (unlikely(from->time < s->start_time)) {
		s->stats.early++;
		return 0;
	}
	thread = thread_of_shm_source(s, from);
	if (!thread)
		return base_oom();
	if (*from->comm) /* it may have exited before its name was read */
		procs_name(&s->procs, thread, from->comm);
	s->stats.disordered += from->time < s->delivered;
	s->delivered = MAX(s->delivered, from->time);
	s->record = (struct attar_record){.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_USER,
		.pid = (uint32_t)from->pid,
		.tid = (uint32_t)thread->pub.tid,
		.time = from->time,
		.cpu = UINT32_MAX,
		.sample = {.period = 1, .raw = from->raw, .raw_size = from->raw_size}};
	*ev = (struct attar_event){.record = &s->record,
		.time = s->delivered,
		.counter = from->number,
		.cpu = UINT32_MAX,
		.thread = &thread->pub};
	s->stats.samples++;
	return 1;
}

/* The shm_source's next event, if it is not later than `until`. */
static int next_of_shm_source(struct attar_stream *s, uint64_t until, struct attar_event *ev)
{
	struct shm_source_event from;
	int r;

	while ((r = shm_source_next(s->shm_source, until, &from)) > 0) {
		r = deliver_shm_source(s, &from, ev);
		if (r)
			return r;
	}
	return r;
}

/* At the end of a round: returns 1 with a LOST record if rings of programs lost events in it. */
static int lost_of_shm_source(struct attar_stream *s, struct attar_event *ev)
{
	uint64_t lost = shm_source_lost(s->shm_source);

	if (!lost)
		return 0;
	s->shm_source_lost += lost;
	s->delivered = MAX(s->delivered, s->shm_source_horizon);
	s->record = (struct attar_record){.type = PERF_RECORD_LOST,
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.cpu = UINT32_MAX,
		.time = s->shm_source_horizon,
		.lost = {.lost = lost}};
	*ev = (struct attar_event){.record = &s->record,
		.time = s->delivered,
		.cpu = UINT32_MAX,
		.lost_from = s->shm_source_since,
		.lost_to = s->shm_source_horizon};
	return 1;
}

/* Delivers a sample that has its deferred user stack, or no longer waits for it. */
static int next_held(struct attar_stream *s, struct attar_event *ret_event)
{
	struct attar_event ev = {0};
	int r = deferred_callchain_take(&s->defer, s->layouts, &s->record, &ev);

	if (r <= 0)
		return r;
	ev.thread = &procs_thread(&s->procs, (pid_t)s->record.pid, (pid_t)s->record.tid)->pub;
	if (!ev.thread)
		return base_oom();
	*ret_event = ev;
	return 1;
}

/* Returns 1 with an event; 0: the round is over. */
static int next_of_round(struct attar_stream *s, struct attar_event *ret_event)
{
	int r;

	sample_run_end(s);
	r = s->in_round ? 0 : begin_round(s);
	if (r < 0)
		return r;
	for (;;) {
		struct cursor *c;

		if (unlikely(s->replay && leader_samples_are_due(&s->replay->leader)))
			return leader_samples_next(s, ret_event);
		if (unlikely(deferred_callchain_is_ready(&s->defer)))
			return next_held(s, ret_event);
		c = take_front(s);
		if (unlikely(s->shm_source != NULL)) {
			r = next_of_shm_source(
				s, c && c->time <= s->horizon ? c->time : UINT64_MAX, ret_event);
			if (r)
				return r;
		}
		if (!c || c->time > s->horizon)
			break;
		r = dispatch(s, c, ret_event);
		s->front_done = true;
		if (r > 0)
			sample_run_begin(s, c);
		if (r)
			return r;
	}
	for (size_t i = 0; i < s->merge.n; i++)
		s->newest = MAX(s->newest, s->merge.heap[i]->time);
	s->newest = MAX(s->newest, s->delivered);
	if (s->shm_source && lost_of_shm_source(s, ret_event))
		return 1;
	end_round(s);
	return 0;
}

/*
 * Polling a ring consumes its readiness. A caller that polls must not miss what was written during
 * the last round, and must not be woken forever by rings that hung up: poll them here, and start
 * another round if one is ready.
 */
static __attribute__((noinline)) int next_of_rounds(
	struct attar_stream *s, struct attar_event *ret_event)
{
	int r;

	do {
		r = next_of_round(s, ret_event);
	} while (
		r == 0 && (s->stopped ? !s->last_round : s->fd_given && stream_poll(s, -1, 0) > 0));
	s->drained = r == 0 && s->stopped;
	while (r == 0 && s->stopped && deferred_callchain_give_up(&s->defer))
		r = next_held(s, ret_event);
	return r;
}

/* For attar_stream_events(): some samples are converted or filtered. */
static int next_of_events(struct attar_stream *s, struct attar_event *ret_event)
{
	int r;

	if (s->events_ops->take_again(s->events, &s->record, ret_event)) {
		s->stats.samples++;
		return 1;
	}
	while ((r = next_of_rounds(s, ret_event)) > 0) {
		if (ret_event->record->type != PERF_RECORD_SAMPLE ||
			!s->events_ops->concern(s->events, ret_event->counter) ||
			s->events_ops->take(s->events, &s->record, ret_event))
			return 1;
		s->stats.samples--; /* it is not delivered */
	}
	return r == 0 && !s->stopped ? s->events_ops->look(s->events) : r;
}

static __attribute__((noinline)) int refuse_next(
	const struct attar_stream *s, const struct attar_event *ret_event)
{
	static const char function[] = "attar_stream_next";

	return !s           ? check_missing(function, "stream")
	       : !ret_event ? check_missing(function, "ret_event")
			    : check_foreign(function, "stream");
}

int stream_next_record(struct attar_stream *s, struct attar_event *ret_event)
{
	return unlikely(s->events) ? next_of_events(s, ret_event) : next_of_rounds(s, ret_event);
}

/* The checks of CHECK_OWN() and CHECK_ARG(), out of line to keep the per-event path short. */
int attar_stream_next(struct attar_stream *s, struct attar_event *ret_event)
{
	if (unlikely(!s || !ret_event || !is_own_process(s)))
		return refuse_next(s, ret_event);
	return stream_next(s, ret_event);
}

int attar_stream_snapshot(struct attar_stream *s)
{
	CHECK_OWN(s, "stream");

	int r;

	if (s->frozen)
		return attar_fail(-EBUSY,
			"a snapshot is still being delivered" ATTAR_FIX "read it to its end");
	sample_run_end(s);
	if (s->events)
		s->events_ops->forget(s->events);
	if (s->front_done)
		pass_front(s, merge_first(&s->merge));
	if (s->in_round)
		end_round(s);
	r = rings_freeze(s->rings, s->n_rings);
	if (r < 0)
		return r;
	s->frozen = true;
	s->delivered = 0; /* records of a snapshot are older */
	return r;
}

uint64_t stream_snapshot_since(const struct attar_stream *s)
{
	uint64_t since = 0;

	for (size_t i = 0; i < s->n_rings; i++) {
		const struct attar_ring *ring = s->rings[i];
		const void *oldest;

		if (!ring->frozen || !ring->wrapped || !ring->positions.n)
			continue;
		oldest = ring_at(ring, ring->positions.at[0]);
		since = MAX(since, attar_record_time(&s->layouts[0], oldest));
	}
	return since;
}

uint64_t stream_time(const struct attar_stream *s)
{
	return s->delivered;
}

uint64_t stream_horizon(const struct attar_stream *s)
{
	return s->horizon;
}

bool stream_drained(const struct attar_stream *s)
{
	return s->drained;
}

uint64_t stream_foreign(const struct attar_stream *s)
{
	return s->foreign;
}

void stream_learn_thread(struct attar_stream *s, pid_t pid, pid_t tid)
{
	procs_thread(&s->procs, pid, tid);
}

void stream_learn_process(struct attar_stream *s, pid_t pid)
{
	procs_scan_threads(&s->procs, pid);
}

struct attar_thread *stream_thread(const struct attar_stream *s, pid_t tid)
{
	struct thread *t = procs_get(&s->procs, tid);

	return t ? &t->pub : NULL;
}

struct attar_process *stream_process(const struct attar_stream *s, pid_t pid)
{
	struct process *process = procs_process(&s->procs, pid);

	return process ? &process->pub : NULL;
}
