/* SPDX-License-Identifier: MIT */
/* The sources of a run: their lifetime and their filters. */
#include "run/source/sources.h"

#include "base/check_arg.h"
#include "event/kernel_filter.h"
#include "run/source/actions.h"
#include "run/source/expressions.h"
#include "run/run.h"

int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	struct source s = {.name = strdup(name),
		.attr = *attr,
		.fn = fn,
		.input = run->sources.input,
		.keeps_own = run->select.keeps_own,
		.all_cpus = run->select.adds_all_cpus};
	int r = parts_source(run, &s);

	run->select.has_all_cpus |= s.all_cpus;
	if (run->sample_filter.is_on || s.pushes) {
		s.inner = fn;
		s.fn = source_act;
	}
	if (r < 0 || !s.name || vec_push(&run->sources.list, s) < 0) {
		free(s.name);
		return r < 0 ? r : base_oom();
	}
	return 0;
}

int attar_run_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(name, "name");
	CHECK_ARG(attr, "attr");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	return run_add_source(run, name, attr, fn);
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

/* ---- filters ---- */

/* Excludes this process: printing an event would cause further events. */
static int own_filter(struct source *s, const char *filter)
{
	s->is_filtered = filter;
	return kernel_filter_text(s->spec, filter, s->keeps_own, &s->filter);
}

int source_choose_filter(struct attar_run *run, struct source *s)
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
