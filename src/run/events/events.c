/* SPDX-License-Identifier: MIT */
/* Sources by name: parses the text of -e and sets up their attributes. */
#include "attar/builtin.h"
#include "attar/private/event.h"
#include "base/check_arg.h"
#include "event/sample_attr.h"
#include "run/input/replay.h"
#include "run/input/replay_names.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/expressions.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "source/modes.h"

/* Only what is delivered can come from a profiler. */
static int refuse_profilers(const struct attar_run *run, const struct attar_event_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].kind == ATTAR_EVENT_PROFILER)
			return spec_error(&list->at[i], list->at[i].column,
				attar_fail(-EOPNOTSUPP,
					"%s: the profiler '%s' cannot be an event here;" ATTAR_FIX
					"it can in 'attar trace'",
					run->profiler->name, list->at[i].profiler));
	return 0;
}

/* Counts and recordings are of one machine. */
static int refuse_pulled(const struct attar_event_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (attar_spec_get_option(&list->at[i], "pull"))
			return attar_fail(-EINVAL,
				"--event: pull= requires live events of 'attar trace' or 'attar "
				"multi-trace', and conflicts with --input and --pull" ATTAR_FIX
				"give pull= of each event instead of --pull");
		if (attar_spec_get_option(&list->at[i], "vm"))
			return attar_fail(-EINVAL,
				"--event: vm= requires events that are pulled from a "
				"guest" ATTAR_FIX "add pull=ADDRESS");
	}
	return 0;
}

/* Groups of which only the leader has samples are read from recordings only. */
static int refuse_leader_samples(const struct attar_event_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].sample_read)
			return attar_fail(-ENOTSUP,
				"--event: '%s': samples of the leader of a group only (:S) are "
				"supported in recordings of perf, not live" ATTAR_FIX
				"leave out the S: each event then has its own samples",
				CLIP(list->at[i].name));
	return 0;
}

static int parse(struct attar_run *run, const char *text, const struct attar_event_list **ret_list)
{
	struct attar_catalog *catalog = attar_run_catalog(run);
	struct attar_event_list *list;
	int r;

	if (catalog && run->replay)
		return replay_parse_events(run, text, ret_list);
	r = catalog ? attar_event_list_parse(catalog, text, &list) : -ENOMEM;

	if (r == -ECANCELED) /* not an error in the text */
		return r;
	if (r < 0)
		return attar_context(r == -ENOENT ? -EINVAL : r, "--event");
	if (vec_push(&run->sources.lists, list) < 0) {
		attar_event_list_free(list);
		return base_oom();
	}
	*ret_list = list;
	return refuse_leader_samples(list);
}

int run_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list)
{
	int r = parse(run, text, ret_list);

	if (r == 0)
		r = refuse_pulled(*ret_list);
	if (r == 0 && (r = refuse_profilers(run, *ret_list)) < 0)
		return attar_context(r, "--event");
	for (size_t i = 0; r == 0 && i < (*ret_list)->n; i++)
		r = run_check_attributes(run, &(*ret_list)->at[i]);
	return r;
}

int run_check_code(const struct common_opts *o)
{
	return o->exclude_user && o->exclude_kernel
		       ? attar_fail(-EINVAL,
				 "--exclude-user and --exclude-kernel are mutually exclusive: "
				 "nothing would be sampled")
		       : 0;
}

static int select_code(const struct common_opts *o, struct perf_event_attr *attr)
{
	attr->exclude_user |= o->exclude_user;
	attr->exclude_kernel |= o->exclude_kernel;
	attr->exclude_hv |= o->exclude_kernel;
	return run_check_code(o);
}

static void select_calls(const struct common_opts *o, struct perf_event_attr *attr)
{
	attr->exclude_callchain_user = o->user_callchain == 0 || o->exclude_user;
	attr->exclude_callchain_kernel = o->kernel_callchain == 0 || o->exclude_kernel;
	if (attr->exclude_callchain_user && attr->exclude_callchain_kernel)
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
}

void run_stack_attr(const struct common_opts *o, bool stacks, const struct attar_event_spec *spec,
	struct perf_event_attr *attr)
{
	if (spec) {
		stacks |= spec->stack;
		attr->sample_max_stack = spec->max_stack;
	}
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	if (stacks)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->exclude_user = o->exclude_user;
	attr->exclude_kernel = o->exclude_kernel;
	attr->exclude_hv = o->exclude_kernel;
	select_calls(o, attr);
}

int run_select_sampled(const struct common_opts *o, struct perf_event_attr *attr)
{
	if (!attr->sample_period || attr->type == PERF_TYPE_TRACEPOINT)
		return 0;
	select_calls(o, attr);
	return select_code(o, attr);
}

/* --exclude-user and --exclude-kernel add to the modifiers of the event. */
static int exclude(const struct common_opts *o, const struct attar_event_spec *spec,
	struct perf_event_attr *attr)
{
	if (modes_are_of_code(spec))
		return 0;
	if ((spec->exclude_user && o->exclude_kernel) || (spec->exclude_kernel && o->exclude_user))
		return attar_fail(-EINVAL, "'%s' with --exclude-%s: nothing would be sampled",
			CLIP(spec->name), o->exclude_user ? "user" : "kernel");
	return select_code(o, attr);
}

int run_add_spec(struct attar_run *run, const struct attar_event_spec *spec,
	struct perf_event_attr *attr, attar_event_fn *fn)
{
	int r = source_attr(spec, attr);
	struct source *s;

	if (r == 0)
		r = exclude(&run->opts, spec, attr);
	if (r == 0)
		r = run_add_source(run, spec->name, attr, fn);
	if (r < 0)
		return r;
	s = &run->sources.list.at[run->sources.list.n - 1];
	s->spec = spec;
	r = run->replay ? 0 : source_set_filter(&run->sources, s);
	return r < 0 ? r : source_set_actions(run, s);
}

/* batch=1: the kernel wakes attar for each event. More of them are read within a turn anyway. */
static int read_batch(struct attar_run *run, const struct attar_event_spec *spec)
{
	const struct attar_event_option *batch = attar_spec_get_option(spec, "batch");

	return batch && !strcmp(batch->value, "1") ? run_read_within(run, 0) : 0;
}

int attar_run_events(struct attar_run *run, const char *text, bool stacks, attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	const struct attar_event_list *list;
	int r;

	r = PARTS_CALL(run, events, text, stacks, fn);
	if (r)
		return MIN(r, 0);
	r = parse(run, text, &list);
	if (r == 0)
		r = refuse_pulled(list);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		struct perf_event_attr attr = {.sample_period = 1};

		r = read_batch(run, &list->at[i]);
		if (r < 0)
			break;
		r = PARTS_CALL(run, event, &list->at[i], stacks, fn);
		if (r) {
			r = MIN(r, 0);
			continue;
		}
		run_stack_attr(&run->opts, stacks, &list->at[i], &attr);
		event_sample_attr(&list->at[i], &attr);
		if (!event_is_each(&list->at[i])) {
			attr.freq = 1;
			attr.sample_freq = run->opts.freq;
		}
		r = run_add_spec(run, &list->at[i], &attr, fn);
		if (r == 0)
			r = PARTS_CALL(run, added, &list->at[i], fn);
	}
	return r;
}

int attar_run_event_list(
	struct attar_run *run, const struct attar_texts *texts, bool stacks, attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(texts, "texts");

	struct buf names _cleanup_(buf_done) = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->n; i++)
		r = attar_run_events(run, texts->at[i], stacks, fn);
	if (texts->n)
		return r;
	if (!run->replay)
		return attar_fail(-EINVAL,
			"%s needs an event, such as -e sched:sched_switch;" ATTAR_FIX
			"'attar list' shows all",
			run->profiler->name);
	r = replay_name_events(run, &names);
	return r < 0 ? r : attar_run_events(run, buf_text(&names), stacks, fn);
}
