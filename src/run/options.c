/* SPDX-License-Identifier: MIT */
/* The option tables of a run; parses values into the structs that the tables describe. */
#include "attar/run.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "run/run.h"

static void add_group(struct run_options *options, const char *title,
	const struct attar_option *table, void *state)
{
	options->groups[options->n] = (struct attar_option_group){title, table};
	options->states[options->n++] = state;
}

static bool has_letter(const struct attar_option *table, char letter)
{
	for (const struct attar_option *o = table; o && o->name; o++)
		if (letter && o->letter == letter)
			return true;
	return false;
}

static const struct attar_option *named(const struct attar_option *table, const char *name)
{
	for (const struct attar_option *o = table; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

static size_t count(const struct attar_option *table)
{
	size_t n = 0;

	while (table[n].name)
		n++;
	return n;
}

/* Adds common options, without the letters that the profiler's own options have. */
static int add_common(struct attar_run *run, const char *title, const struct attar_option *table)
{
	const struct attar_option *own = run->profiler->options;
	struct run_options *options = &run->options;
	size_t n = count(table), taken = 0;
	struct attar_option *copy;

	for (size_t i = 0; i < n; i++)
		taken += has_letter(own, table[i].letter);
	if (!taken) {
		add_group(options, title, table, &run->opts);
		return 0;
	}
	copy = calloc(n + 1, sizeof(*copy));
	if (!copy)
		return base_oom();
	memcpy(copy, table, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		if (has_letter(own, copy[i].letter))
			copy[i].letter = 0;
	options->copies[options->n] = copy;
	add_group(options, title, copy, &run->opts);
	return 0;
}

int options_init(struct attar_run *run)
{
	const struct attar_profiler *profiler = run->profiler;
	bool unwinds = profiler->uses & ATTAR_USES_STACKS || named(profiler->options, "call-graph");
	int r = 0;

	if (profiler->options)
		add_group(&run->options, "Options", profiler->options, run->self);
	if (profiler->uses & ATTAR_USES_SAMPLING)
		r = add_common(run, "Sampling", common_sampling_options);
	if (r == 0 && unwinds)
		r = add_common(run, "Stacks", common_unwind_options);
	if (r == 0 && profiler->uses & ATTAR_USES_STACKS)
		r = add_common(run, "Code and tasks", common_stack_options);
	if (r == 0)
		r = add_common(run, "Targets", common_target_options);
	if (r == 0)
		r = add_common(run, "Duration and intervals", common_run_options);
	if (r == 0 && profiler->uses & ATTAR_USES_RINGS)
		r = add_common(run, "Limits and ring buffers", common_ring_options);
	if (r == 0 && profiler->uses & (ATTAR_USES_RINGS | ATTAR_USES_INPUT))
		r = add_common(run, "Recordings", common_input_options);
	if (r == 0 && profiler->uses & (ATTAR_USES_RINGS | ATTAR_USES_INPUT))
		r = add_common(run, "Other machines", common_peer_options);
	return r;
}

/* Whether an option of the run has this name or letter. */
static bool is_taken(const struct run_options *options, const struct attar_option *new)
{
	for (const struct attar_option_group *g = options->groups; g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (!strcmp(o->name, new->name) || (o->letter && o->letter == new->letter))
				return true;
	return false;
}

int attar_run_add_options(
	struct attar_run *run, const char *title, const struct attar_option *options, void *state)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(title, "title");
	CHECK_ARG(options, "options");
	CHECK_ARG(state, "state");

	if (run->phase != RUN_NEW)
		return attar_fail(
			-EINVAL, "attar_run_add_options(): the run has already been started");
	if (run->options.n == OPTION_GROUPS_MAX)
		return attar_fail(-ENOSPC, "attar_run_add_options(): at most %d groups of options",
			OPTION_GROUPS_MAX);
	for (const struct attar_option *o = options; o->name; o++)
		if (is_taken(&run->options, o))
			return attar_fail(-EEXIST,
				"attar_run_add_options(): the name or letter of --%s is already "
				"used",
				o->name);
	add_group(&run->options, title, options, state);
	return 0;
}

void options_done(struct run_options *options)
{
	vec_done(&options->given);
	for (size_t i = 0; i < options->n; i++)
		free(options->copies[i]);
	vec_each (&options->lists, list)
		free((*list)->at);
	vec_done(&options->lists);
}

const struct attar_option_group *attar_run_option_groups(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->options.groups;
}

const struct attar_option *options_find(
	const struct attar_run *run, const char *name, void **ret_state)
{
	for (const struct attar_option_group *g = run->options.groups; g->title; g++) {
		const struct attar_option *o = named(g->options, name);

		if (o && ret_state)
			*ret_state = run->options.states[g - run->options.groups];
		if (o)
			return o;
	}
	/* profilers that always have stacks have no -g */
	return strcmp(name, "call-graph") ? NULL : options_find(run, "unwind", ret_state);
}

/* Options of perf-prof that attar has no like of: what to use instead. */
static const struct {
	const char *name, *fix;
} others[] = {{"python-callchain", "functions of Python 3.12 and later are in the user stacks (-g) "
				   "of a program that runs with python3 -X perf"}};

static int unknown(struct attar_run *run, const char *name)
{
	const struct attar_option *flag =
		strncmp(name, "no-", 3) ? NULL : options_find(run, name + 3, NULL);
	struct suggest s = {.word = name};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i].name))
			return attar_fail(-ENOENT, "no such option --%s;" ATTAR_FIX "%s", name,
				others[i].fix);
	if (flag && flag->type == ATTAR_OPTION_FLAG)
		return attar_fail(-ENOENT,
			"no such option --%s;" ATTAR_FIX "leave it out: --%s is off by default",
			CLIP(name), flag->name);
	for (const struct attar_option_group *g = run->options.groups; g->title; g++)
		for (const struct attar_option *o = g->options; o && o->name; o++)
			if (o->help)
				suggest_offer(&s, o->name);
	if (s.best)
		return attar_fail(-ENOENT, "no such option --%s" ATTAR_FIX "did you mean --%s?",
			CLIP(name), s.best);
	return attar_fail(-ENOENT, "no such option --%s" ATTAR_FIX "'attar %s -h' lists them",
		CLIP(name), run->profiler->name);
}

/* Minimum times are whole milliseconds or microseconds. */
static int too_short(const struct attar_option *o, const char *value)
{
	bool is_ms = o->min % 1000000 == 0;

	return attar_fail(-ERANGE, "--%s: %s is too short: the minimum is %llu%s", o->name,
		CLIP(value), (unsigned long long)o->min / (is_ms ? 1000000 : 1000),
		is_ms ? "ms" : "us");
}

static int set_number(const struct attar_option *o, const char *value, uint64_t *member)
{
	uint64_t number = 0;
	int r = o->type == ATTAR_OPTION_TIME   ? parse_time(value, o->bare, &number)
		: o->type == ATTAR_OPTION_SIZE ? parse_size(value, &number)
					       : parse_u64(value, &number);

	if (r < 0)
		return attar_context(r, "--%s", o->name);
	if ((o->min && number < o->min) || (o->max && number > o->max)) {
		if (o->max)
			return attar_fail(-ERANGE, "--%s: %s is not between %llu and %llu", o->name,
				CLIP(value), (unsigned long long)o->min,
				(unsigned long long)o->max);
		if (o->type == ATTAR_OPTION_TIME)
			return too_short(o, value);
		return attar_fail(-ERANGE, "--%s: %s is too small: the minimum is %llu", o->name,
			CLIP(value), (unsigned long long)o->min);
	}
	*member = number;
	return 0;
}

static int set_percent(const struct attar_option *o, const char *value, double *member)
{
	uint64_t thousandths;
	char *copy _cleanup_free_ = strdup(value);
	size_t n = strlen(value);

	if (!copy)
		return base_oom();
	if (n && copy[n - 1] == '%')
		copy[n - 1] = '\0';
	/* a fraction in units of 1/1000, read without the locale */
	if (parse_time(copy, 1000, &thousandths) < 0 ||
		strspn(copy, "0123456789.") != strlen(copy) || thousandths > 100000 ||
		thousandths < o->min * 1000)
		return attar_fail(-ERANGE, "--%s: '%s' is not a percentage between %llu and 100",
			o->name, CLIP(value), (unsigned long long)o->min);
	*member = (double)thousandths / 1000;
	return 0;
}

static const char *keep(struct attar_run *run, const char *value)
{
	return intern_text(&run->texts, value);
}

static int set_text(
	struct attar_run *run, const struct attar_option *o, const char *value, const char **member)
{
	const char *text = keep(run, value);

	if (!text)
		return base_oom();
	if (!*text)
		return attar_fail(-EINVAL, "--%s: the value is empty", o->name);
	*member = text;
	return 0;
}

/* "1,2" from "1" and "2". */
static int join_text(
	struct attar_run *run, const struct attar_option *o, const char *value, const char **member)
{
	struct buf joined _cleanup_(buf_done) = {0};
	const char *text;

	if (!*value || !*member)
		return set_text(run, o, value, member);
	buf_printf(&joined, "%s,%s", *member, value);
	text = buf_failed(&joined) ? NULL : keep(run, joined.data);
	if (!text)
		return base_oom();
	*member = text;
	return 0;
}

static int add_text(struct attar_run *run, const char *value, struct attar_texts *member)
{
	const char **grown = realloc(member->at, (member->n + 1) * sizeof(*grown)),
		   *text = keep(run, value);

	if (grown)
		member->at = grown;
	if (!grown || !text || (!member->n && vec_push(&run->options.lists, member) < 0))
		return base_oom();
	member->at[member->n++] = text;
	return 0;
}

static int set_value(
	struct attar_run *run, const struct attar_option *o, void *member, const char *value)
{
	switch (o->type) {
	case ATTAR_OPTION_COUNT:
	case ATTAR_OPTION_TIME:
	case ATTAR_OPTION_SIZE:
		return set_number(o, value, member);
	case ATTAR_OPTION_PERCENT:
		return set_percent(o, value, member);
	case ATTAR_OPTION_LIST:
		return add_text(run, value, member);
	case ATTAR_OPTION_JOINED:
		return join_text(run, o, value, member);
	default:
		return set_text(run, o, value, member);
	}
}

/* Whether the caller has set the option, so that a preset does not change it. */
static bool is_kept(const struct run_options *options, const struct attar_option *o)
{
	for (size_t i = 0; i < options->n_kept; i++)
		if (options->given.at[i] == o)
			return true;
	return false;
}

int attar_run_set(struct attar_run *run, const char *name, const char *value)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(name, "name");
	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_set(): the run has already been started");

	bool negated = !strncmp(name, "no-", 3);
	const struct attar_option *o;
	void *state;
	char *member;

	o = options_find(run, name, &state);
	if (!o && negated && (o = options_find(run, name + 3, &state)) &&
		o->type != ATTAR_OPTION_SWITCH)
		o = NULL;
	if (!o)
		return unknown(run, name);
	if (!run->options.in_preset && run->directory->check_option(run->profiler, o->name, 0) < 0)
		return -ENOENT;
	if (is_kept(&run->options, o))
		return 0;
	if (vec_push(&run->options.given, o) < 0)
		return base_oom();
	member = (char *)state + o->offset;
	if (o->type == ATTAR_OPTION_FLAG || o->type == ATTAR_OPTION_SWITCH) {
		if (value && !strcmp(o->name, "call-graph")) { /* and how to unwind */
			*(bool *)member = true;
			return attar_run_set(run, "unwind", value);
		}
		if (value)
			return attar_fail(-EINVAL, "--%s takes no value", name);
		if (o->type == ATTAR_OPTION_FLAG)
			*(bool *)member = true;
		else
			*(int *)member = strcmp(o->name, name) == 0;
		return 0;
	}
	if (!value)
		value = o->implied;
	if (!value)
		return attar_fail(
			-EINVAL, "--%s needs a value" ATTAR_FIX "--%s %s", name, name, o->value);
	return set_value(run, o, member, value);
}
