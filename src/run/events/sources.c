/* SPDX-License-Identifier: MIT */
/* The sources of a run: how they are added, opened and closed. */
#include "run/events/sources.h"

#include "base/check_arg.h"
#include "base/daily.h"
#include "event/sample_attr.h"
#include "perf/target.h"
#include "run/parts.h"
#include "run/parts/programs.h"
#include "run/parts/kernel_stacks.h"
#include "run/parts/user_stacks.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/expressions.h"
#include "run/events/open.h"
#include "run/parts/sample_filter.h"
#include "run/parts/timer.h"
#include "source/share.h"
#include "stream/stream.h"

struct source_use *source_use_new(const struct source_use *use)
{
	struct source_use *new = malloc(sizeof(*new));

	if (new)
		*new = *use;
	return new;
}

int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	const struct source_use use = {
		.fn = fn, .input = opening_of(run)->input, .all_cpus = run->select.adds_all_cpus};
	struct source s = {.name = strdup(name),
		.attr = *attr,
		.keeps_own = run->select.keeps_own,
		.use = source_use_new(&use)};
	int r = s.use ? PARTS_CALL(run, source, &s) : base_oom();

	run->select.has_all_cpus |= use.all_cpus;
	if (r == 0 && (sample_filter_is_on(run) || s.use->pushes))
		source_wrap(&s);
	if (r < 0) {
		source_free(&run->sources, &s);
		return r;
	}
	return sources_add(&run->sources, &s);
}

int attar_run_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(name, "name");
	CHECK_ARG(attr, "attr");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	struct perf_event_attr selected = *attr;
	int r = run_select_sampled(&run->opts, &selected);

	return r < 0 ? r : run_add_source(run, name, &selected, fn);
}

int run_source_filter(struct attar_run *run, uint32_t i, const char *text)
{
	CHECK_OPENING(run);

	struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;
	struct buf both _cleanup_(buf_done) = {0};

	if (!s)
		return attar_fail(-EINVAL, "run_source_filter(): there is no source %u", i);
	if (run->replay || !s->spec || !s->spec->format || s->spec->type != PERF_TYPE_TRACEPOINT ||
		s->spec->kind == ATTAR_EVENT_USER || s->usdt || s->keep || s->use->emission.emitter)
		return 0;
	if (s->spec->filter)
		buf_printf(&both, "(%s) && (%s)", s->spec->filter, text);
	else
		buf_printf(&both, "%s", text);
	return buf_failed(&both) ? base_oom()
				 : source_replace_filter(&run->sources, s, buf_text(&both));
}

/* Stops the counter when all its sources are. */
static int enable(struct attar_run *run, struct source *s, bool on)
{
	const struct source *it = &run->sources.list.at[source_owner(&run->sources, s)];
	bool any = false;

	s->use->is_stopped = !on;
	for (;; it = &run->sources.list.at[it->shared.next]) {
		any |= !it->use->is_stopped;
		if (!it->shared.next)
			break;
	}
	return (any ? attar_counter_enable : attar_counter_disable)(
		source_counter(&run->sources, s));
}

int run_source_enable(struct attar_run *run, uint32_t i, bool on)
{
	struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	if (!s || !source_counter(&run->sources, s))
		return attar_fail(-EINVAL, "run_source_enable(): source %u is not open", i);
	PARTS_TELL(run, toggled, i, on);
	return enable(run, s, on);
}

/* ---- opening and closing ---- */

static void fall_back_to_clock(struct source *s)
{
	s->attr.type = PERF_TYPE_SOFTWARE;
	s->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	s->use->is_fallback_allowed = false;
	free(s->name);
	s->name = strdup("cpu-clock");
	(daily_is_first("no-pmu") ? log_note : log_debug)(
		"no hardware cycle counter (a virtual machine without a PMU?): sampling cpu-clock "
		"instead, which does not sample code that runs with interrupts disabled");
}

static struct counter_cpus source_cpus(const struct attar_run *run, const struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);

	if (s->use->all_cpus && !(spec && spec->n_only_cpus))
		return (struct counter_cpus){0};
	return run_only_cpus(run, spec);
}

static int open_counter(void *ctx, struct source *s)
{
	struct attar_run *run = ctx;
	struct perf_event_attr attr;
	int r;

	if (s->use->host)
		return 0;
	if (!s->name)
		return base_oom();
	r = sample_filter_check(sample_filter_run(run, s), s);
	if (r < 0)
		return r;
	attr = s->attr;
	attar_stream_attr(&attr, false);
	attr.wakeup_watermark = rings_of(run)->watermark;
	attr.enable_on_exec = run->target->by_exec;
	r = PARTS_CALL(run, attr, s, &attr);
	if (r < 0)
		return r;
	r = s->use->timer ? timer_open(run, s, &attr)
			  : counter_open_on(run->target, source_cpus(run, s), &attr, s->name,
				    ATTAR_COUNTER_DEGRADE, &s->counter);
	if (r == -EOPNOTSUPP && s->use->is_fallback_allowed && !user_stacks_are_by_lbr(run)) {
		fall_back_to_clock(s);
		return open_counter(run, s);
	}
	if (r < 0)
		return user_stacks_refused(run, s->name, r);
	r = sample_filter_attach(sample_filter_run(run, s), s);
	return r < 0 ? r : kernel_stacks_attach(run, s);
}

static void closing(struct source *s)
{
	if (s->use->timer) {
		timer_close(s->use->timer); /* and with its group, the counter */
		s->counter = NULL;
	}
	s->use->is_stopped = false;
	s->use->steps = 0;
}

static void free_use(struct source *s)
{
	timer_free(s->use->timer);
	filter_free(s->use->actions.condition);
	attar_expr_free(s->use->actions.exec);
	vec_done(&s->use->vcpus);
	free(s->use);
}

static int opening(void *ctx, size_t number)
{
	return run_opening(ctx, number);
}

static bool is_plain(const struct attar_run *run, const struct source *s)
{
	return !s->use->timer && !s->use->host && !s->use->is_fallback_allowed &&
	       !s->use->is_internal && !rings_of(run)->overwritten;
}

static bool can_share(void *ctx, const struct source *a, const struct source *b)
{
	return is_plain(ctx, a) && is_plain(ctx, b) && a->use->pushes == b->use->pushes &&
	       a->use->all_cpus == b->use->all_cpus &&
	       event_has_same_cpus(source_spec(a), source_spec(b));
}

static void set_expr(void *ctx, struct attar_expr_opts *opts)
{
	run_expr_opts(ctx, opts);
}

const struct source_ops run_source_ops = {.opening = opening,
	.open = open_counter,
	.closing = closing,
	.free = free_use,
	.can_share = can_share,
	.expr = set_expr,
	.watched = run_watched_programs,
	.add = run_add_program,
	.discovered = run_program_discovered};
