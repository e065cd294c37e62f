/* SPDX-License-Identifier: MIT */
#include "run/parts/timer.h"

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "run/input/replay.h"
#include "run/run.h"
#include "run/events/expressions.h"
#include "run/events/open.h"
#include "run/events/sources.h"

enum { MEMBERS_MAX = 256, CPUS_MAX = 1 << 16 };

/* ---- adding ---- */

/* Whether an event of a recording is the timer, or one that counts nothing. */
static bool is_uncounted(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_DUMMY);
}

static int name_recorded(const struct attar_run *run, struct buf *names)
{
	const struct recording *recording = run->replay->recording;

	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (!is_uncounted(&event->attr))
			buf_printf(names, "%s%s", names->len ? "," : "", event->name);
	}
	if (buf_failed(names))
		return base_oom();
	return names->len ? 0
			  : attar_fail(-EINVAL, "%s has no events to count other than cpu-clock",
				    CLIP(run->opts.input));
}

static int list_events(struct attar_run *run, const char *text, struct run_timer *timer)
{
	struct buf names _cleanup_(buf_done) = {0};
	int r = 0;

	if (text && !*text && run->replay) {
		r = name_recorded(run, &names);
		text = buf_text(&names);
	}
	if (r == 0 && text)
		r = run_parse_events(run, text, &timer->list);
	if (r < 0 || !text)
		return r;
	timer->n = timer->list->n;
	for (size_t i = 0; r == 0 && i < timer->n; i++)
		r = user_events_refuse(&timer->list->at[i]);
	if (r == 0 && timer->n >= MEMBERS_MAX)
		return attar_fail(-E2BIG, "%zu events are too many for a timer: at most %d",
			timer->n, MEMBERS_MAX - 1);
	return r;
}

static int add_source(struct attar_run *run, const struct attar_timer *t)
{
	struct perf_event_attr attr = {0};

	run_stack_attr(&run->opts, t->stacks, NULL, &attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = t->period;
	if (t->events)
		attr.sample_type |= PERF_SAMPLE_READ;
	return run_add_source(run, "cpu-clock", &attr, t->on_event);
}

int attar_run_timer(struct attar_run *run, const struct attar_timer *t)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(t, "timer");
	CHECK_ARG(t->on_event, "timer->on_event");
	CHECK_OPENING(run);

	struct run_timer *timer;
	int r = run->select.is_on ? 0 : run_watch_cpus(run); /* the profiler selects */

	if (r == 0)
		r = attar_run_keep_own(run); /* the timer also fires in this process */
	if (r == 0)
		r = add_source(run, t);
	timer = r == 0 ? calloc(1, sizeof(*timer)) : NULL;
	if (!timer)
		return r < 0 ? r : base_oom();
	run->sources.list.at[run->sources.list.n - 1].use->timer = timer;
	r = list_events(run, t->events, timer);
	timer->counts = calloc(timer->n + 1, sizeof(*timer->counts));
	if (timer->n) /* a sample soon after the end of an interval has counts of that interval */
		run->clock.delay = MAX(run->clock.delay, t->period / 2);
	return r == 0 && !timer->counts ? base_oom() : r;
}

const struct attar_event_spec *run_timer_spec(
	const struct attar_run *run, uint32_t source, size_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	const struct run_timer *timer =
		source < run->sources.list.n ? run->sources.list.at[source].use->timer : NULL;

	return timer && i < timer->n ? &timer->list->at[i] : NULL;
}

/* ---- opening ---- */

int timer_open(struct attar_run *run, struct source *s, const struct perf_event_attr *attr)
{
	struct run_timer *timer = s->use->timer;
	union uapi_attr attrs[MEMBERS_MAX];
	struct attar_group_event events[MEMBERS_MAX] = {{s->name, attr}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < timer->n; i++) {
		memset(&attrs[i], 0, sizeof(attrs[i]));
		r = attar_event_spec_attr(&timer->list->at[i], &attrs[i], sizeof(attrs[i]));
		events[i + 1] = (struct attar_group_event){timer->list->at[i].name, &attrs[i].attr};
	}
	if (r == 0)
		r = group_open_on(run->target, run_only_cpus(run, s->use->emission.shown), events,
			timer->n + 1, ATTAR_COUNTER_DEGRADE, &timer->group);
	if (r < 0)
		return r;
	s->counter = attar_group_counter(timer->group, 0);
	for (size_t i = 0; r == 0 && i < timer->n; i++)
		if (timer->list->at[i].filter)
			r = run_count_filter(
				run, attar_group_counter(timer->group, i + 1), &timer->list->at[i]);
	return r;
}

/* The position of a recorded event among the counted ones; -1: it is not one of them. */
static int position(const struct run_timer *timer, const struct recording_event *event)
{
	for (size_t i = 0; i < timer->n; i++) {
		const struct attar_event_spec *spec = &timer->list->at[i];

		if (!strcmp(spec->name, event->name) ||
			(spec->alias && spec->type == event->attr.type &&
				spec->config == event->attr.config))
			return (int)i;
	}
	return -1;
}

int timer_connect(struct attar_run *run, struct source *s)
{
	struct run_timer *timer = s->use->timer;
	const struct recording *recording = run->replay->recording;
	size_t n = recording_n_events(recording), found = 0;

	if (timer->n && !(s->attr.sample_type & PERF_SAMPLE_READ))
		return attar_fail(-EINVAL, "the samples of cpu-clock in %s have no counts",
			CLIP(run->opts.input));
	timer->member_of = malloc(n * sizeof(*timer->member_of));
	if (!timer->member_of)
		return base_oom();
	for (size_t i = 0; i < n; i++) {
		timer->member_of[i] = position(timer, recording_get_event(recording, i));
		found += timer->member_of[i] >= 0;
	}
	return found >= timer->n ? 0
				 : attar_fail(-EINVAL, "%s does not count all of these events",
					   CLIP(run->opts.input));
}

void timer_close(struct run_timer *timer)
{
	timer->group = attar_group_close(timer->group);
	timer->n_cpus = 0;
}

void timer_free(struct run_timer *timer)
{
	if (!timer)
		return;
	attar_group_close(timer->group);
	free(timer->member_of);
	free(timer->previous);
	free(timer->counts);
	free(timer);
}

/* ---- samples ---- */

/* Room for the counts of a CPU. */
static int grow(struct run_timer *timer, size_t cpu)
{
	uint64_t *more = realloc(timer->previous, (cpu + 1) * (timer->n + 1) * sizeof(*more));

	if (!more)
		return base_oom();
	memset(more + timer->n_cpus * timer->n, 0,
		(cpu + 1 - timer->n_cpus) * timer->n * sizeof(*more));
	timer->previous = more;
	timer->n_cpus = cpu + 1;
	return 0;
}

static uint64_t count_since(uint64_t now, uint64_t previous)
{
	return now < previous ? now : now - previous; /* a CPU that was offline counts from 0 */
}

/* In a sample of the kernel, the leader comes first; a recording says which event each id is of. */
static int member_at(
	const struct attar_run *run, const struct run_timer *timer, uint32_t i, uint64_t id)
{
	int event;

	if (!timer->member_of)
		return i ? (int)i - 1 : -1;
	event = recording_find(run->replay->recording, id);
	return event < 0 ? -1 : timer->member_of[event];
}

int timer_take_counts(struct attar_run *run, struct run_timer *timer, struct attar_event *ev)
{
	const struct attar_read *read = &ev->record->sample.read;
	uint64_t *previous;
	int r = ev->cpu >= timer->n_cpus && ev->cpu < CPUS_MAX ? grow(timer, ev->cpu) : 0;

	if (r < 0 || ev->cpu >= CPUS_MAX)
		return r;
	previous = timer->previous + ev->cpu * timer->n;
	memset(timer->counts, 0, timer->n * sizeof(*timer->counts));
	for (uint32_t i = 0; i < read->nr; i++) {
		struct attar_read_value v = attar_read_at(read, i);
		int member = member_at(run, timer, i, v.id);

		if (member < 0 || (size_t)member >= timer->n)
			continue;
		timer->counts[member] = count_since(v.value, previous[member]);
		previous[member] = v.value;
	}
	ev->counts = timer->counts;
	return 0;
}

/* ---- the rest ---- */

/*
 * Reads the counts since the last sample of a CPU: instance i of each event. 1; 0: none, or -errno.
 */
static int read_rest(struct run_timer *timer, size_t i, uint32_t cpu)
{
	int r = cpu >= timer->n_cpus ? grow(timer, cpu) : 0;
	bool any = false;

	for (size_t event = 0; r == 0 && event < timer->n; event++) {
		const struct attar_counter *c = attar_group_counter(timer->group, event + 1);
		uint64_t *previous = &timer->previous[cpu * timer->n + event];
		struct attar_value v;

		r = counter_read_fd(c, &c->fds.at[i], &v);
		if (r < 0 || v.quality == ATTAR_QUALITY_ERROR)
			continue;
		timer->counts[event] = count_since(v.raw, *previous);
		*previous = v.raw;
		any |= timer->counts[event] > 0;
	}
	return r < 0 ? r : any;
}

int run_timer_rest(struct attar_run *run, uint32_t source, attar_event_fn *fn)
{
	struct source *s = source < run->sources.list.n ? &run->sources.list.at[source] : NULL;
	int r = 0;

	if (!s || !s->use->timer || !s->use->timer->group)
		return 0;
	vec_each (&s->counter->fds, it) {
		const struct attar_record record = {.type = PERF_RECORD_READ};
		const struct attar_event ev = {.record = &record,
			.time = run->clock.ended,
			.cpu = (uint32_t)it->cpu,
			.counter = source,
			.counts = s->use->timer->counts};

		if (r >= 0 && ev.cpu < CPUS_MAX)
			r = read_rest(s->use->timer, (size_t)(it - s->counter->fds.at), ev.cpu);
		if (r > 0)
			r = fn(run, run->self, &ev);
	}
	return MIN(r, 0);
}
