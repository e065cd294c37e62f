/* SPDX-License-Identifier: MIT */
/* Sources by name: parses the text of -e and sets up their attributes. */
#include "base/check_arg.h"
#include "event/kernel_filter.h"
#include "event/sample_attr.h"
#include "run/actions.h"
#include "run/database.h"
#include "run/expressions.h"
#include "run/run.h"
#include "run/source_modes.h"

void run_stack_attr(const struct common_opts *o, bool stacks, const struct attar_event_spec *spec,
	struct perf_event_attr *attr)
{
	if (spec) {
		stacks |= spec->stack;
		attr->sample_max_stack = spec->max_stack;
	}
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	attr->exclude_user = o->exclude_user;
	attr->exclude_kernel = o->exclude_kernel;
	attr->exclude_hv = o->exclude_kernel;
	attr->exclude_callchain_user = o->user_callchain == 0 || o->exclude_user;
	attr->exclude_callchain_kernel = o->kernel_callchain == 0 || o->exclude_kernel;
	if (stacks && !(attr->exclude_callchain_user && attr->exclude_callchain_kernel))
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
}

/* Only what is delivered can come from a profiler. */
static int refuse_profilers(const struct attar_run *run, const struct attar_event_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].kind == ATTAR_EVENT_PROFILER)
			return attar_spec_error(&list->at[i], list->at[i].column,
				attar_fail(-EOPNOTSUPP,
					"%s: the profiler '%s' cannot be an event here;" ATTAR_FIX
					"it can in 'attar trace'",
					run->profiler->name, list->at[i].profiler));
	return 0;
}

/* Counts and recordings are those of one machine. */
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

int attar_run_find_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_list, "ret_list");

	struct attar_catalog *catalog = attar_run_catalog(run);
	struct attar_event_list *list;
	int r = catalog ? 0 : -ENOMEM;

	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_find_events(): the run was started");
	if (r == 0 && run->opts.input && !run->replay && !run_database_is_input(run))
		r = replay_open(run);
	if (r == 0 && run->replay)
		return replay_parse_events(run, text, ret_list);
	if (r == 0)
		r = attar_event_list_parse(catalog, text, &list);
	if (r < 0)
		return r;
	if (vec_push(&run->sources.lists, list) < 0) {
		attar_event_list_free(list);
		return base_oom();
	}
	*ret_list = list;
	return 0;
}

/* Excludes this process: printing an event would cause further events. */
static int own_filter(struct source *s, const char *filter)
{
	s->is_filtered = filter;
	return kernel_filter_text(s->spec, filter, s->keeps_own, &s->filter);
}

/* Decides whether the kernel or attar applies the filter of a source. */
static int choose_filter(struct attar_run *run, struct source *s)
{
	const struct attar_event_spec *spec = s->spec;
	struct filter_choice choice = {.in_kernel = true};
	int r;

	if (spec->kind == ATTAR_EVENT_USER || run->replay)
		return 0; /* not in the kernel: filtered in user space */
	r = run_choose_filter(run, spec, &choice);
	if (r == -EINVAL && spec->pattern) /* it may be left out: see event/skipped_events.h */
		return own_filter(s, spec->filter);
	if (r < 0)
		return r;
	s->keep = choice.in_kernel ? NULL : choice.keep;
	s->spare = choice.in_kernel ? choice.keep : NULL;
	if (!choice.in_kernel)
		log_note("filter '%s' of '%s' runs in attar, not in the kernel: %s",
			CLIP(spec->filter), CLIP(s->name), choice.why);
	else if (spec->filter)
		log_debug("filter '%s' of '%s' runs in the kernel", CLIP(spec->filter),
			CLIP(s->name));
	return own_filter(s, choice.in_kernel ? spec->filter : NULL);
}

int run_filter_in_attar(struct source *s)
{
	log_note("filter '%s' of '%s' runs in attar: the kernel rejected it", CLIP(s->filter),
		CLIP(s->name));
	free(s->filter);
	s->filter = NULL;
	s->keep = TAKE_PTR(s->spare);
	return own_filter(s, NULL);
}

/* Sets `text` in place of the source's filter, if the kernel can apply it: 1, otherwise 0. */
static int replace_filter(struct attar_run *run, struct source *s, const char *text)
{
	struct attar_expr_opts opts = {0};
	struct filter_choice choice;
	char *old = s->filter;
	int r;

	run_expr_opts(run, &opts);
	r = filter_choose(text, s->spec->format, true, &opts, &choice);
	if (r < 0)
		return r;
	if (choice.in_kernel)
		r = own_filter(s, text);
	if (!choice.in_kernel || r < 0) {
		filter_free(choice.keep);
		s->filter = old;
		return r;
	}
	free(old);
	filter_free(s->spare);
	s->spare = choice.keep;
	return 1;
}

int attar_run_source_filter(struct attar_run *run, uint32_t i, const char *text)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_OPENING(run);

	struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;
	struct buf both _cleanup_(buf_done) = {0};

	if (!s)
		return attar_fail(-EINVAL, "attar_run_source_filter(): there is no source %u", i);
	if (run->replay || !s->spec || !s->spec->format || s->spec->type != PERF_TYPE_TRACEPOINT ||
		s->spec->kind == ATTAR_EVENT_USER || s->usdt || s->keep || s->emitter)
		return 0;
	if (s->spec->filter)
		buf_printf(&both, "(%s) && (%s)", s->spec->filter, text);
	else
		buf_printf(&both, "%s", text);
	return buf_failed(&both) ? base_oom() : replace_filter(run, s, buf_text(&both));
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
	attr->exclude_user |= o->exclude_user;
	attr->exclude_kernel |= o->exclude_kernel;
	attr->exclude_hv |= o->exclude_kernel;
	return 0;
}

int run_add_spec(struct attar_run *run, const struct attar_event_spec *spec,
	struct perf_event_attr *attr, attar_event_fn *fn)
{
	int r = attar_event_spec_attr(spec, attr, sizeof(*attr));
	struct source *s;

	if (r == 0)
		r = exclude(&run->opts, spec, attr);
	if (spec->kind == ATTAR_EVENT_USER && spec->type == PERF_TYPE_SOFTWARE)
		attr->exclude_kernel = attr->exclude_hv = 1; /* never fires: needs no permission */
	event_sample_rate(spec, attr);
	if (r == 0)
		r = run_add_source(run, spec->name, attr, fn);
	if (r < 0)
		return r;
	s = &run->sources.list.at[run->sources.list.n - 1];
	s->spec = spec;
	r = choose_filter(run, s);
	return r < 0 ? r : source_set_actions(run, s);
}

void run_close_source(struct source *s)
{
	if (s->timer)
		timer_close(s->timer); /* and with its group, the counter */
	else
		attar_counter_close(s->counter);
	s->counter = NULL;
	s->is_shared = s->is_stopped = false;
	s->steps = 0;
	s->next_shared = 0;
}

void source_free(struct source *s)
{
	run_close_source(s);
	timer_free(s->timer);
	usdt_free(s->usdt);
	filter_free(s->keep);
	filter_free(s->spare);
	filter_free(s->condition);
	attar_expr_free(s->exec);
	vec_done(&s->vcpus);
	free(s->name);
	free(s->filter);
}

void run_sources_free(struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		source_free(s);
	vec_done(&run->sources.list);
	vec_each (&run->sources.lists, list)
		attar_event_list_free(*list);
	vec_done(&run->sources.lists);
}

/* Renumbers the sources after a removed one. */
static void move_numbers(struct attar_run *run, uint32_t removed)
{
	run->user.n_opened -= removed < run->user.n_opened;
	user_events_renumber(&run->user.events, removed);
}

void run_sources_drop(struct attar_run *run)
{
	uint32_t n = 0;

	vec_each (&run->sources.list, s) {
		if (s->is_left_out) {
			source_free(s);
			move_numbers(run, n);
		} else {
			run->sources.list.at[n++] = *s;
		}
	}
	run->sources.list.n = n;
}

/* batch=1: the kernel wakes attar for each event. More of them are read within a turn anyway. */
static int read_batch(struct attar_run *run, const struct attar_event_spec *spec)
{
	const struct attar_event_option *batch = attar_spec_get_option(spec, "batch");

	return batch && !strcmp(batch->value, "1") ? attar_run_read_within(run, 0) : 0;
}

int attar_run_events(struct attar_run *run, const char *text, bool stacks, attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	const struct attar_event_list *list;
	int r;

	if (hosts_concern(run, text))
		return hosts_add_events(run, text, stacks, fn);
	r = parse(run, text, &list);
	if (r == 0)
		r = refuse_pulled(list);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		struct perf_event_attr attr = {.sample_period = 1};

		r = read_batch(run, &list->at[i]);
		if (r < 0)
			break;
		if (list->at[i].kind == ATTAR_EVENT_PROFILER) {
			r = emitter_add(run, &list->at[i], stacks, fn);
			continue;
		}

		run->user.stacks = stacks;
		if (list->at[i].kind == ATTAR_EVENT_USER && list->at[i].n_only_cpus)
			log_note("'%s': the CPU of events from shared memory is unknown; cpus= "
				 "has no effect on them",
				CLIP(list->at[i].name));
		if (list->at[i].transport == ATTAR_TRANSPORT_USDT && !run->replay) {
			r = run_usdt_add(run, &list->at[i], fn);
			continue;
		}
		run_stack_attr(&run->opts, stacks, &list->at[i], &attr);
		event_sample_attr(&list->at[i], &attr);
		if (!event_is_each(&list->at[i])) {
			attr.freq = 1;
			attr.sample_freq = run->opts.freq;
		}
		r = run_add_spec(run, &list->at[i], &attr, fn);
		if (run->replay)
			continue;
		if (r == 0)
			r = user_events_request(
				&run->user.events, (uint32_t)run->sources.list.n - 1, &list->at[i]);
		if (r == 0 && list->at[i].kind == ATTAR_EVENT_USER && !list->at[i].transport &&
			!run->command.argv)
			r = run_usdt_add_unshared(run, &list->at[i], fn);
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
