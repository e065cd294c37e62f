/* SPDX-License-Identifier: MIT */
/*
 * Counting: opens events in groups (a single event is a group of one) on the run's target and reads
 * them on demand. An event that this machine does not support is skipped and the reason recorded; a
 * permission error ends the run.
 */
#include "run/counts/counts.h"

#include <stdio.h>

#include "attar/private/perf.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "event/skipped_events.h"
#include "perf/group.h"
#include "perf/target.h"
#include "record/uapi.h"
#include "report/model/model.h"
#include "run/counts/cpus.h"
#include "run/counts/creators.h"
#include "run/counts/exited.h"
#include "run/counts/rows.h"
#include "run/counts/tasks.h"
#include "run/input/replay.h"
#include "run/input/replay_counts.h"
#include "run/input/replay_names.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/events/expressions.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "run/stop.h"

enum { MEMBERS_MAX = 256 };

/* ---- configuration ---- */

static int add_counts(struct attar_run *run, const char *text, bool of_selected)
{
	const struct attar_event_list *list;
	int r = run->replay ? replay_counts_check(run) : 0;

	if (r < 0)
		return r;
	if (run->replay)
		run->replay->counts_wanted = true;
	r = run_parse_events(run, text, &list);
	if (run->replay)
		run->replay->counts_wanted = false;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct attar_event_spec *spec = &list->at[i];
		struct counted c = {
			.pub = {.name = spec->name, .spec = spec}, .of_selected = of_selected};

		r = user_events_refuse(spec);
		if (r < 0)
			return r;
		c.leads = spec->group < 0 || i == 0 || list->at[i - 1].group != spec->group;
		if (vec_push(&counts_of(run)->list, c) < 0)
			r = base_oom();
	}
	return r;
}

/* All events that a recording has counts of. */
static int add_recorded_counts(struct attar_run *run)
{
	struct buf names _cleanup_(buf_done) = {0};
	int r;

	if (!run->replay)
		return attar_fail(
			-EINVAL, "attar_run_count(): NULL, for all events, needs a recording");
	r = replay_counts_check(run);
	if (r == 0)
		r = replay_name_counts(run, &names);
	return r < 0 ? r : add_counts(run, buf_text(&names), false);
}

int attar_run_count(struct attar_run *run, const char *text)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	return text ? add_counts(run, text, false) : add_recorded_counts(run);
}

int run_count_selected(struct attar_run *run, const char *text)
{
	CHECK_OPENING(run);

	return add_counts(run, text, true);
}

/* ---- opening ---- */

static int fill_attr(struct attar_run *run, const struct attar_target *target,
	const struct attar_event_spec *spec, union uapi_attr *attr)
{
	int r;

	memset(attr, 0, sizeof(*attr));
	r = attar_event_spec_attr(spec, attr, sizeof(*attr));
	attr->attr.disabled = 1;
	attr->attr.enable_on_exec = target->by_exec;
	if (exited_threads_reported(run))
		threads_attr(&attr->attr);
	if (counts_of(run)->user_only && !attr->attr.exclude_user)
		attr->attr.exclude_kernel = attr->attr.exclude_hv = 1;
	return r;
}

/* If permissions limit the first event to user code, they limit all: remember it for the rest. */
static void note_user_only(
	struct attar_run *run, struct attar_group *group, const union uapi_attr *asked)
{
	const struct attar_counter *leader = attar_group_counter(group, 0);

	if (attar_attr_is_clock(&asked->attr))
		return;
	if (attar_counter_attr(leader)->exclude_kernel && !asked->attr.exclude_kernel)
		counts_of(run)->user_only = true;
}

static int set_filters(struct attar_run *run, const struct counted *c, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (c[i].pub.spec->filter || c[i].pub.spec->place)
			r = run_count_filter(run, attar_group_counter(c->group, i), c[i].pub.spec);
	return r;
}

/* The members c[0..n) as one group. */
static int open_group(struct attar_run *run, struct counted *c, size_t n)
{
	union uapi_attr attrs[MEMBERS_MAX];
	struct attar_group_event events[MEMBERS_MAX];
	struct attar_target *target;
	struct attar_group *group;
	int r = count_cpus_choose(run, c, n, &target);

	if (r == 0 && n > MEMBERS_MAX)
		r = attar_fail(-EINVAL, "a group of %zu events is too large: the maximum is %d", n,
			MEMBERS_MAX);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = fill_attr(run, target, c[i].pub.spec, &attrs[i]);
		events[i] = (struct attar_group_event){c[i].pub.name, &attrs[i].attr};
	}
	if (r == 0)
		r = group_open_on(target, run_only_cpus(run, c->pub.spec), events, n,
			ATTAR_COUNTER_DEGRADE, &group);
	if (r < 0)
		return r;
	note_user_only(run, group, &attrs[0]);
	c->group = group;
	return 0;
}

static int give_values(struct counted *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c[i].counter = attar_group_counter(c->group, i);
		c[i].pub.counter = c[i].counter;
		c[i].pub.n_instances = attar_counter_instances(c[i].pub.counter);
		c[i].values = calloc(c[i].pub.n_instances, sizeof(*c[i].values));
		c[i].recent = calloc(c[i].pub.n_instances, sizeof(*c[i].recent));
		if (!c[i].values || !c[i].recent)
			return base_oom();
		c[i].pub.values = c[i].values;
		c[i].pub.recent = c[i].recent;
	}
	return 0;
}

/* Events of the kernel alone need more rights than others. */
static bool is_kernel_only(const struct counted *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].pub.spec->exclude_user)
			return true;
	return false;
}

/*
 * Lack of permission, memory or descriptors affects every event; other errors only skip this one.
 * What is counted of selected tasks only is a supplement of sampled events.
 */
static int refuse(struct counted *c, size_t n, int error)
{
	bool denied = error == -EACCES || error == -EPERM;

	if ((denied && !is_kernel_only(c, n)) || error == -ENOMEM ||
		(error == -EMFILE && !c->of_selected) || error == -ENFILE || error == -ECANCELED)
		return error;
	for (size_t i = 0; i < n; i++) {
		free(c[i].refused);
		c[i].refused = strdup(attar_error());
		if (!c[i].refused)
			return base_oom();
		c[i].pub.refused = c[i].refused;
		c[i].pub.error = error;
	}
	return 0;
}

static bool is_of_cpu(const struct attar_event_spec *spec)
{
	return spec->type == PERF_TYPE_HARDWARE || spec->type == PERF_TYPE_HW_CACHE ||
	       spec->type == PERF_TYPE_RAW;
}

/* Whether both events are in one group, or the kernel lacks both since their PMU does. */
static bool is_refused_alike(const struct counted *a, const struct counted *b)
{
	const struct attar_event_spec *x = a->pub.spec, *y = b->pub.spec;

	if (!strcmp(a->refused, b->refused))
		return true;
	return a->pub.error == -EOPNOTSUPP && b->pub.error == -EOPNOTSUPP &&
	       x->precise_ip == y->precise_ip && x->precise_max == y->precise_max &&
	       ((is_of_cpu(x) && is_of_cpu(y)) || (x->type == y->type && x->type >= PERF_TYPE_MAX));
}

/* Logs a reason that applies to several consecutive events once. */
static void note_refused(const counted_list *list)
{
	const struct counted *last = NULL;

	vec_each (list, c) {
		if (!c->refused || (last && is_refused_alike(last, c)))
			continue;
		log_note("%s", c->refused);
		last = c;
	}
}

/* A weak group that does not fit the hardware is split into single events. */
static int open_members(struct attar_run *run, struct counted *c, size_t n)
{
	int r = open_group(run, c, n);
	bool is_mistake = false;

	if (r == -EINVAL && n > 1 && c->pub.spec->weak_group) {
		log_note("the group of '%s' does not fit the hardware counters: its events are "
			 "counted separately, at different times",
			CLIP(c->pub.name));
		r = 0;
		for (size_t i = 0; i < n && r == 0; i++) {
			c[i].leads = true;
			r = open_members(run, &c[i], 1);
		}
		return r;
	}
	if (r == 0) {
		r = set_filters(run, c, n);
		is_mistake = r == -EINVAL;
	}
	if (r < 0 && skipped_events_allows(c->pub.spec, r)) {
		c->group = attar_group_close(c->group);
		c->is_left_out = true;
		return r;
	}
	if (r < 0)
		return is_mistake ? r : refuse(c, n, r);
	return give_values(c, n);
}

static size_t group_size(const counted_list *list, size_t first)
{
	size_t n = 1;

	while (first + n < list->n && !list->at[first + n].leads)
		n++;
	return n;
}

static int open_groups(struct attar_run *run)
{
	counted_list *list = &counts_of(run)->list;
	struct skipped_events left = {0};
	int r = 0, ended;

	for (size_t i = 0, n; i < list->n && r == 0; i += n) {
		n = group_size(list, i);
		r = run_opening(run, run->sources.list.n + i);
		if (r == 0)
			r = open_members(run, &list->at[i], n);
		r = skipped_events_add(&left, list->at[i].pub.spec, r);
	}
	ended = skipped_events_end(&left);
	return r < 0 ? r : ended;
}

static void drop_left_out(counted_list *list)
{
	size_t n = 0;

	vec_each (list, c)
		if (!c->is_left_out)
			list->at[n++] = *c;
	list->n = n;
}

int counts_open(struct attar_run *run)
{
	counted_list *list = &counts_of(run)->list;
	size_t refused = 0;
	int r = open_groups(run);

	if (r < 0)
		return r;
	drop_left_out(list);
	vec_each (list, c)
		refused += c->refused && !c->of_selected;
	if (list->n && refused == list->n)
		return attar_fail(list->at[0].pub.error, "%s", list->at[0].refused);
	if (!run->clock.ended) /* only in the first run of a repeated command */
		note_refused(list);
	r = threads_open(run);
	if (r == 0)
		r = creator_counts_open(run);
	return r == 0 ? threads_remember_comms(run) : r;
}

static void close_one(struct counted *c)
{
	c->group = attar_group_close(c->group);
	c->own_target = attar_target_free(c->own_target);
	free(c->values);
	free(c->recent);
	free(c->refused);
	recorded_count_done(&c->recorded);
	c->values = c->recent = NULL;
	c->counter = NULL;
	c->refused = NULL;
	c->is_left_out = false;
	c->pub = (struct attar_run_counter){.name = c->pub.name, .spec = c->pub.spec};
}

int counts_close(struct attar_run *run)
{
	creator_counts_close(run);
	vec_each (&counts_of(run)->list, c) {
		if (c->group && run_stop_asked(run))
			return attar_fail(-ECANCELED, "stopped while events were being closed");
		close_one(c);
	}
	return 0;
}

static void counts_free(struct attar_run *run, void *self)
{
	struct counts *counts = self;

	creator_counts_close(run);
	vec_each (&counts->list, c)
		close_one(c);
	vec_done(&counts->list);
	count_rows_done(&counts->rows);
}

/* ---- while it runs ---- */

int counts_enable(struct attar_run *run)
{
	int r = 0;

	vec_each (&counts_of(run)->list, c)
		if (c->group && r == 0 && !(c->own_target && c->own_target->by_exec))
			r = attar_group_enable(c->group);
	return r == 0 ? creator_counts_enable(run) : r;
}

int counts_disable(struct attar_run *run)
{
	int r = 0;

	vec_each (&counts_of(run)->list, c)
		if (c->group && r == 0)
			r = attar_group_disable(c->group);
	return r == 0 ? creator_counts_disable(run) : r;
}

/* The members c[0..n) at one instance. */
static int read_instance(struct counted *c, size_t n, size_t instance)
{
	struct attar_value values[MEMBERS_MAX];
	int r = attar_group_read_at(c->group, instance, values);

	for (size_t i = 0; i < n && r == 0; i++) {
		c[i].recent[instance] = c[i].pub.spec->snapshot ? values[i]
								: attar_value_since(&values[i],
									  &c[i].values[instance]);
		c[i].values[instance] = values[i];
	}
	return r;
}

static int counts_grow(struct attar_value **values, size_t from, size_t to)
{
	struct attar_value *more = realloc(*values, to * sizeof(*more));

	if (!more)
		return base_oom();
	memset(more + from, 0, (to - from) * sizeof(*more));
	*values = more;
	return 0;
}

/* Follows CPU hotplug; a CPU that is online for the first time adds instances. */
static int follow_cpus(const struct attar_run *run, struct counted *c, size_t n)
{
	struct attar_counter *leader = attar_group_counter(c->group, 0);
	int r = attar_target_follow_cpus(c->own_target ? c->own_target : run->target, &leader, 1);

	for (size_t i = 0; r > 0 && i < n; i++) {
		size_t instances = attar_counter_instances(c[i].pub.counter);

		if (instances == c[i].pub.n_instances)
			continue;
		r = counts_grow(&c[i].values, c[i].pub.n_instances, instances);
		if (r == 0)
			r = counts_grow(&c[i].recent, c[i].pub.n_instances, instances);
		if (r < 0)
			return r;
		c[i].pub.values = c[i].values;
		c[i].pub.recent = c[i].recent;
		c[i].pub.n_instances = instances;
		r = 1;
	}
	return r;
}

/* Opens the events on CPUs that have come online. */
static int counts_follow(struct attar_run *run, void *self)
{
	counted_list *list = &counts_of(run)->list;
	int r = 0;

	for (size_t i = 0, n; r >= 0 && i < list->n; i += n) {
		n = group_size(list, i);
		if (list->at[i].group)
			r = follow_cpus(run, &list->at[i], n);
	}
	return r;
}

int counts_read(struct attar_run *run)
{
	counted_list *list = &counts_of(run)->list;
	int followed = run->replay ? 0 : counts_follow(run, NULL);

	if (run->replay) {
		replay_counts_read(run);
		return 0;
	}
	if (followed < 0)
		return followed;
	for (size_t i = 0, n; i < list->n; i += n) {
		struct counted *c = &list->at[i];

		n = group_size(list, i);
		for (size_t instance = 0; instance < c->pub.n_instances; instance++) {
			int r = read_instance(c, n, instance);

			if (r < 0)
				return r;
		}
		for (size_t m = 0; m < n && c->group; m++) {
			attar_values_settle(c[m].pub.counter, c[m].values);
			attar_values_settle(c[m].pub.counter, c[m].recent);
		}
	}
	return threads_remember_comms(run);
}

const struct attar_run_counter *attar_run_get_counter(const struct attar_run *run, size_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	return i < counts_of(run)->list.n ? &counts_of(run)->list.at[i].pub : NULL;
}

/* ---- the part ---- */

static int counts_update(struct attar_run *run, void *self, struct attar_report *report)
{
	return run->clock.ended ? 0 : counts_read(run);
}

static int counts_record(struct attar_run *run, void *self, const struct attar_event *event)
{
	int r;

	if (!run->replay && target_kind_of(run->target) == ATTAR_TARGET_TASKS)
		task_watch_see(run, event->record);
	if (run->replay && counts_of(run)->list.n) {
		if (event->record->type == PERF_RECORD_READ) {
			r = replay_counts_take(run, event);
			return r < 0 ? r : 1;
		}
		r = replay_counts_exited(run, event);
		if (r < 0)
			return r;
	}
	return threads_of(run)->instances.n ? threads_take_count(run, event) : 0;
}

static void counts_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_stream_stats stats = {0};
	uint64_t lost;

	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	lost = stats.lost;
	if (!run->sources.list.n && lost)
		attar_report_remark(report,
			"%llu record%s lost: threads whose exit record was lost have no row of "
			"their own; their counts are %s",
			(unsigned long long)lost, lost == 1 ? " was" : "s were", threads_rest(run));
	threads_remark(run, report);
	task_watch_remark(run, report);
}

const struct run_part part_counts = {.size = sizeof(struct counts),
	.follow = counts_follow,
	.free = counts_free,
	.record = counts_record,
	.read = counts_update,
	.remark = counts_remark};
