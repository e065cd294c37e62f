/* SPDX-License-Identifier: MIT */
/* Creates, starts, extends and stops a live stream: its counters and rings. */
#include "stream/stream.h"

#include <limits.h>
#include <sys/epoll.h>
#include <time.h>

#include "attar/private/perf.h"
#include "attar/private/stream.h"
#include "base/check_arg.h"
#include "base/file_limit.h"
#include "base/option_struct.h"
#include "perf/counter.h"
#include "perf/counter_hotplug.h"
#include "perf/kernel.h"
#include "perf/ring.h"
#include "perf/target.h"

enum {
	RING_BYTES_DEFAULT = 512 * 1024,
	NO_PID = INT_MIN,
};

/* ---- opening ---- */

static int index_ids(struct attar_stream *s)
{
	stream_forget_ids(s);
	for (size_t i = 0; i < s->n_counters; i++)
		vec_each (&s->counters[i]->fds, it)
			if (map_put(&s->ids, counter_id(it), i) < 0)
				return base_oom();
	return 0;
}

/*
 * Adds cursors for the rings from `first` on; frees these rings on failure. Call it between rounds,
 * when nothing points to a cursor.
 */
static int add_cursors(struct attar_stream *s, size_t first)
{
	struct cursor *cursors = realloc(s->cursors, s->n_rings * sizeof(*cursors));
	struct cursor **heap = realloc(s->merge.heap, s->n_rings * sizeof(*heap));

	s->cursors = cursors ? cursors : s->cursors;
	s->merge.heap = heap ? heap : s->merge.heap;
	if (!cursors || !heap) {
		while (s->n_rings > first)
			ring_free(s->rings[--s->n_rings]);
		return base_oom();
	}
	for (size_t i = first; i < s->n_rings; i++)
		s->cursors[i] = (struct cursor){.ring = s->rings[i]};
	s->n_cursors = s->n_rings;
	if (missing_grow(s, first, s->n_counters) < 0)
		return -ENOMEM;
	for (size_t i = first; i < s->n_rings; i++) {
		int r = s->rings[i]->overwritten ? 0 : stream_watch_ring(s, i);

		if (r < 0)
			return r;
	}
	return 0;
}

static int make_cursors(struct attar_stream *s)
{
	int r;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return file_limit_fail(errno, "cannot poll for events");
	r = add_cursors(s, 0);
	return r == 0 ? stream_watch_target(s) : r;
}

/* Records of a ring are ordered by time before their event is known. */
static bool has_time_at_same_offset(const struct attar_layout *a, const struct attar_layout *b)
{
	return a->time == b->time && a->back_time == b->back_time;
}

/* Requires the fields that identify a record's event, task and time. */
static int check_counter(const char *function, const struct attar_counter *c)
{
	enum {
		NEEDED = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_CPU
	};

	if (!c)
		return check_missing(function, "counter");
	if ((c->attr.sample_type & NEEDED) == NEEDED && c->attr.sample_id_all)
		return 0;
	return attar_fail(-EINVAL,
		"%s(): '%s' lacks what a stream needs" ATTAR_FIX
		"call attar_stream_attr() with its attributes before attar_counter_open()",
		function, c->name);
}

/* True if each exec and each mapping of the new program's code writes a record. */
static bool records_programs(const struct perf_event_attr *attr)
{
	return attr->task && attr->comm_exec && (attr->mmap || attr->mmap2);
}

/* The counters, followed by the one of side-band records. */
static int copy_counters(struct attar_stream *s, struct attar_counter *const *counters, size_t n,
	struct attar_counter *side)
{
	size_t all = n + (side != NULL);

	s->counters = calloc(all, sizeof(*s->counters));
	s->layouts = calloc(all, sizeof(*s->layouts));
	s->numbers = calloc(all, sizeof(*s->numbers));
	s->accounts = calloc(all, sizeof(*s->accounts));
	if (!s->counters || !s->layouts || !s->numbers || !s->accounts)
		return base_oom();
	for (size_t i = 0; i < all; i++) {
		s->counters[i] = i < n ? counters[i] : side;
		s->numbers[i] = i < n ? (uint32_t)i : ATTAR_NO_COUNTER;
	}
	s->has_clock = true;
	for (size_t i = 0; i < all; i++) {
		const struct attar_counter *c = s->counters[i];

		attar_layout_init(&s->layouts[i], &c->attr);
		s->accounts[i].defers = c->whole.flags & UAPI_ATTR_DEFER_CALLCHAIN;
		s->has_clock &= c->attr.use_clockid;
		s->procs.maps |= records_programs(&c->attr);
		if (!has_time_at_same_offset(&s->layouts[i], &s->layouts[0]))
			return attar_fail(-EINVAL,
				"'%s' and '%s' cannot share a stream: their records have the time "
				"at different offsets",
				CLIP(s->counters[0]->name), CLIP(c->name));
	}
	s->n_counters = all;
	return 0;
}

/* A forward-written ring is unreadable as soon as it has wrapped. */
static int check_overwrite(const struct attar_stream *s)
{
	for (size_t i = 0; i < s->n_counters; i++)
		if (!s->counters[i]->attr.write_backward)
			return attar_fail(-EINVAL,
				"'%s' cannot use overwritable rings" ATTAR_FIX
				"set attr.write_backward before opening it",
				s->counters[i]->name);
	return 0;
}

static int open_counters(struct attar_stream *s, struct attar_counter *const *counters, size_t n,
	const struct attar_stream_opts *opts)
{
	struct attar_counter *side = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = check_counter("attar_stream_live", counters[i]);
	if (r == 0 && opts->track)
		r = sideband_open(s->target, n ? counters[0] : NULL, opts->overwrite, &side);
	if (r < 0)
		return r;
	r = copy_counters(s, counters, n, side);
	if (r == 0 && side)
		s->side = n;
	else
		attar_counter_close(side);
	return r;
}

static int make_rings(struct attar_stream *s, const struct attar_stream_opts *opts)
{
	size_t bytes = opts->ring_bytes ?: RING_BYTES_DEFAULT;
	int r = 0;

	if (opts->overwrite && kernel_get()->version >= KERNEL_VERSION_OF(4, 7))
		r = check_overwrite(s);
	if (r < 0)
		return r;
	return (opts->overwrite ? rings_new_overwritten : attar_rings_new)(
		s->target, s->counters, s->n_counters, bytes, &s->rings, &s->n_rings);
}

int attar_stream_live(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, struct attar_symbols *symbols, const struct attar_stream_opts *opts,
	struct attar_stream **ret_stream)
{
	struct attar_stream_opts o = {0};
	struct attar_stream *s;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	CHECK_OWN(target, "target");
	CHECK_ARG(counters || !n_counters, "counters");
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_stream, "ret_stream");
	s = calloc(1, sizeof(*s));
	if (!s)
		return base_oom();
	s->process = check_process;
	s->next = stream_next_record;
	s->epoll_fd = s->caller_fd = -1;
	s->side = SIZE_MAX;
	s->target = target;
	s->skipped_pid = o.keep_own ? NO_PID : getpid();
	s->shm_source = o.shm_source;
	procs_init(&s->procs, symbols, true);
	s->procs.lazy_maps = o.lazy_maps;
	s->procs.by_task = target->kind == ATTAR_TARGET_TASKS;
	deferred_callchain_init(&s->defer);
	r = s->shm_source ? shm_source_target(s->shm_source, target) : 0;
	if (r == 0)
		r = open_counters(s, counters, n_counters, &o);
	if (r == 0)
		r = make_rings(s, &o);
	if (r == 0)
		r = make_cursors(s);
	if (r == 0)
		r = index_ids(s);
	if (r < 0) {
		attar_stream_free(s);
		return r;
	}
	*ret_stream = s;
	return 0;
}

struct attar_stream *attar_stream_free(struct attar_stream *s)
{
	if (!s)
		return NULL;
	attar_rings_free(s->rings, s->n_rings);
	if (s->side != SIZE_MAX)
		attar_counter_close(s->counters[s->side]);
	procs_done(&s->procs);
	deferred_callchain_done(&s->defer);
	map_done(&s->ids);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->merge.heap);
	for (size_t i = 0; i < s->n_cursors; i++)
		free(s->cursors[i].counts);
	free(s->cursors);
	replay_free(s->replay);
	vec_done(&s->missing);
	free(s->layouts);
	free(s->numbers);
	free(s->accounts);
	free(s->counted);
	free(s->counters);
	if (s->events)
		s->events_ops->free(s->events);
	free(s);
	return NULL;
}

/* ---- running ---- */

/* The names and mappings of tasks that exist now; later ones have records. */
static int scan_tasks(struct attar_stream *s)
{
	const parse_ints *pids;

	if (!s->n_counters) /* and no records */
		return 0;
	pids = target_processes(s->target, true);
	if (!pids)
		return -ENOMEM;
	vec_each (pids, pid) {
		int r = procs_scan_threads(&s->procs, (pid_t)*pid);

		if (r == -ENOMEM)
			return r;
	}
	vec_each (&s->target->tids, tid) {
		pid_t pid = procs_known(&s->procs, *tid) ? 0 : procs_pid_of(*tid);

		if (pid && !procs_thread(&s->procs, pid, *tid))
			return base_oom();
	}
	return 0;
}

static int scan_running(struct attar_stream *s)
{
	const struct command *command = &s->target->command;

	if (s->target->kind != ATTAR_TARGET_TASKS)
		return procs_scan_all(&s->procs);
	if (s->target->by_exec) {
		/* The records of its exec describe it, unless it was already started. */
		if (!command_is_held(command) &&
			!procs_thread(&s->procs, command->pid, command->pid))
			return base_oom();
		return 0;
	}
	return scan_tasks(s);
}

/* The exec of a command that is still held enables what was opened with enable_on_exec. */
static bool exec_enables(const struct attar_target *t, const struct attar_counter *c)
{
	return t->by_exec && command_is_held(&t->command) && c->attr.enable_on_exec;
}

/* Side-band records are written from now on: tasks can change while they are read. */
int stream_prepare(struct attar_stream *s)
{
	int r = 0;

	if (s->prepared || s->replay)
		return 0;
	s->prepared = true;
	for (size_t i = 0; i < s->n_counters && r == 0; i++)
		r = missing_begin(s, i);
	if (r == 0 && s->side != SIZE_MAX && !exec_enables(s->target, s->counters[s->side]))
		r = attar_counter_enable(s->counters[s->side]);
	return r < 0 ? r : scan_running(s);
}

int attar_stream_start(struct attar_stream *s)
{
	CHECK_OWN(s, "stream");

	int r;

	if (s->started || s->stopped)
		return attar_fail(-EINVAL,
			"attar_stream_start(): the stream was already %s;" ATTAR_FIX
			"create another one",
			s->stopped ? "stopped" : "started");
	r = stream_prepare(s);
	s->started = true;
	if (s->replay)
		return 0;
	for (size_t i = s->n_counters; i-- > 0 && r == 0;)
		if (i != s->side && !exec_enables(s->target, s->counters[i]))
			r = (s->target->by_exec ? attar_counter_enable : attar_counter_resume)(
				s->counters[i]);
	if (!s->target->by_exec && s->has_clock)
		s->start_time = base_now();
	/* Programs enable their events before the first round; all are from after the start. */
	if (r == 0 && s->shm_source)
		r = shm_source_begin(s->shm_source, false, &s->shm_source_horizon);
	return r;
}

int stream_grow(struct attar_stream *s, size_t n)
{
	void *layouts = reallocarray(s->layouts, n, sizeof(*s->layouts)), *numbers, *accounts;

	if (layouts)
		s->layouts = layouts;
	numbers = reallocarray(s->numbers, n, sizeof(*s->numbers));
	if (numbers)
		s->numbers = numbers;
	accounts = reallocarray(s->accounts, n, sizeof(*s->accounts));
	if (accounts)
		s->accounts = accounts;
	return layouts && numbers && accounts ? 0 : base_oom();
}

/* Grows all per-counter arrays by one. */
static int grow(struct attar_stream *s)
{
	size_t n = s->n_counters + 1;
	void *counters = reallocarray(s->counters, n, sizeof(*s->counters));

	if (!counters)
		return base_oom();
	s->counters = counters;
	return stream_grow(s, n) < 0 ? -ENOMEM : missing_grow(s, 0, n);
}

int attar_stream_add(struct attar_stream *s, struct attar_counter *counter, uint32_t number)
{
	CHECK_OWN(s, "stream");
	CHECK_ARG(counter, "counter");

	size_t i = s->n_counters;
	int r = check_counter(__func__, counter);

	if (r < 0)
		return r;
	if (s->replay)
		return attar_fail(-EINVAL, "attar_stream_add(): the stream reads a recording");
	if (s->stopped)
		return attar_fail(-EINVAL, "attar_stream_add(): the stream was already stopped");
	if (s->in_round)
		return attar_fail(-EBUSY,
			"attar_stream_add(): a round of events is being read" ATTAR_FIX
			"call attar_stream_next() until it returns 0 first");
	r = grow(s);
	if (r < 0)
		return r;
	attar_layout_init(&s->layouts[i], &counter->attr);
	if (!has_time_at_same_offset(&s->layouts[i], &s->layouts[0]))
		return attar_fail(-EINVAL,
			"'%s' cannot be added: the stream's records have the time at another "
			"offset",
			CLIP(counter->name));
	s->counters[i] = counter;
	s->numbers[i] = number;
	s->accounts[i] =
		(struct account){.defers = counter->whole.flags & UAPI_ATTR_DEFER_CALLCHAIN};
	r = rings_redirect(s->rings, s->n_rings, counter, 0);
	vec_each (&counter->fds, it)
		if (r == 0 && map_put(&s->ids, counter_id(it), i) < 0)
			r = base_oom();
	if (r == 0)
		r = missing_begin(s, i);
	if (r == 0)
		r = attar_counter_enable(counter);
	if (r < 0)
		return r; /* not added: the caller closes it */
	s->n_counters++;
	stream_forget_ids(s);
	return 0;
}

int attar_stream_stop(struct attar_stream *s)
{
	CHECK_OWN(s, "stream");

	int r = 0;

	for (size_t i = 0; s->counters && i < s->n_counters; i++) {
		int disabled = attar_counter_disable(s->counters[i]);

		r = r < 0 ? r : disabled;
	}
	if (s->counters)
		missing_end(s);
	s->stopped = true;
	s->stop_time = s->has_clock ? base_now() : s->newest;
	return r;
}

int stream_follow_cpus(struct attar_stream *s)
{
	size_t before = s->n_rings;
	uint64_t time = base_now();
	int r, added;

	if (s->stopped || s->frozen || time - s->cpus_checked < POLL_MS * 1000000ULL)
		return 0;
	s->cpus_checked = time;
	r = counter_hotplug_follow(s->target, s->counters, s->n_counters, &s->rings, &s->n_rings);
	added = s->n_rings > before ? add_cursors(s, before) : 0;
	s->renew.next_round |= r > 0;
	if (r > 0)
		r = index_ids(s);
	return r < 0 ? r : added;
}

size_t stream_rings(const struct attar_stream *s)
{
	CHECK_ARG_OR(s, "stream", 0);

	return s->n_rings;
}

struct attar_ring *stream_ring(const struct attar_stream *s, size_t i)
{
	CHECK_ARG_OR(s, "stream", NULL);

	return i < s->n_rings ? s->rings[i] : NULL;
}
