/* SPDX-License-Identifier: MIT */
/* The option tables of a run; parses values into the structs that the tables describe. */
#include "attar/run.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "run/directory.h"
#include "run/parts/user_stacks.h"
#include "run/run.h"

static bool has_letter(const struct attar_option *table, char letter)
{
	for (const struct attar_option *o = table; o && o->name; o++)
		if (letter && o->letter == letter)
			return true;
	return false;
}

static bool has_name(const struct attar_option *table, const char *name)
{
	for (const struct attar_option *o = table; o && o->name; o++)
		if (!strcmp(o->name, name))
			return true;
	return false;
}

static size_t options_count(const struct attar_option *table)
{
	size_t n = 0;

	while (table[n].name)
		n++;
	return n;
}

/* Adds common options, without the names and letters that the profiler's own options have. */
static int add_common(struct attar_run *run, const char *title, const struct attar_option *table)
{
	const struct attar_option *own = run->profiler->options;
	struct options *options = options_of(run);
	size_t n = options_count(table), taken = 0;
	struct attar_option *copy;

	for (size_t i = 0; i < n; i++)
		taken += has_letter(own, table[i].letter) || has_name(own, table[i].name);
	if (!taken) {
		options_add(options, title, table, &run->opts);
		return 0;
	}
	copy = calloc(n + 1, sizeof(*copy));
	if (!copy)
		return base_oom();
	for (size_t i = 0, kept = 0; i < n; i++) {
		if (has_name(own, table[i].name))
			continue;
		copy[kept] = table[i];
		if (has_letter(own, copy[kept].letter))
			copy[kept].letter = 0;
		kept++;
	}
	options->copies[options->n] = copy;
	options_add(options, title, copy, &run->opts);
	return 0;
}

/* Options of perf-prof that attar has no like of: what to use instead. */
static const struct {
	const char *name, *fix;
} others[] = {{"python-callchain", "functions of Python 3.12 and later are in the user stacks (-g) "
				   "of a program that runs with python3 -X perf"}};

static int check_option(const void *ctx, const char *name, char letter)
{
	const struct attar_run *run = ctx;

	for (size_t i = 0; name && i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i].name))
			return attar_fail(-ENOENT, "no such option --%s;" ATTAR_FIX "%s", name,
				others[i].fix);
	return run->directory->check_option(run->profiler, name, letter);
}

/* Lists the option groups that the run's profiler uses. -ENOMEM. */
static int options_create(struct attar_run *run, void *self)
{
	const struct attar_profiler *profiler = run->profiler;
	bool unwinds = profiler->uses & ATTAR_USES_STACKS ||
		       options_named(profiler->options, "call-graph");
	int r = 0;

	options_of(run)->name = profiler->name;
	options_of(run)->operand = profiler->operand;
	options_of(run)->check = check_option;
	options_of(run)->ctx = run;
	options_of(run)->is_unwind_method = user_stacks_is_method;
	if (profiler->options)
		options_add(options_of(run), "Options", profiler->options, run->self);
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
static bool is_taken(const struct options *options, const struct attar_option *new)
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
	if (options_of(run)->n == OPTION_GROUPS_MAX)
		return attar_fail(-ENOSPC, "attar_run_add_options(): at most %d groups of options",
			OPTION_GROUPS_MAX);
	for (const struct attar_option *o = options; o->name; o++)
		if (is_taken(options_of(run), o))
			return attar_fail(-EEXIST,
				"attar_run_add_options(): the name or letter of --%s is already "
				"used",
				o->name);
	options_add(options_of(run), title, options, state);
	return 0;
}

const struct attar_option_group *attar_run_option_groups(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return options_of(run)->groups;
}

int attar_run_set(struct attar_run *run, const char *name, const char *value)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(name, "name");
	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_set(): the run has already been started");
	return options_set(options_of(run), name, value);
}

/*
 * -d is the duration, and was the device in some profilers: the value of -d that names a device,
 * "sda", "/dev/sda" or "8:0". NULL: the word is another option, or a duration follows.
 */
static const char *device_in_word(struct attar_run *run, const char *word, const char *next)
{
	const char *value = strncmp(word, "-d", 2) != 0 ? NULL : word[2] ? word + 2 : next;

	if (!value || value[0] == '-' || !options_find(options_of(run), "device", NULL))
		return NULL;
	return value[0] >= '0' && value[0] <= '9' && !strchr(value, ':') ? NULL : value;
}

int attar_run_set_word(struct attar_run *run, const char *word, const char *next)
{
	const char *device;
	int r;

	CHECK_ARG(run, "run");
	CHECK_ARG(word, "word");

	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_set(): the run has already been started");
	device = device_in_word(run, word, next);
	if (!device)
		return options_set_word(options_of(run), word, next);
	r = options_set(options_of(run), "device", device);
	return r < 0 ? r : 1 + (device == next);
}

int run_set_preset(struct attar_run *run)
{
	const char *const *words = run->profiler->preset;
	int r = 0;

	if (!words || options_of(run)->has_preset)
		return 0;
	options_of(run)->has_preset = options_of(run)->in_preset = true;
	options_of(run)->n_kept = options_of(run)->given.n;
	for (; r >= 0 && *words; words += r)
		r = attar_run_set_word(run, *words, words[1]);
	options_of(run)->in_preset = false;
	options_of(run)->n_kept = 0;
	return r < 0 ? attar_context(r, "preset %s", run->profiler->name) : 0;
}

static void options_free(struct attar_run *run, void *self)
{
	options_done(self);
}

const struct run_part part_options = {
	.size = sizeof(struct options), .create = options_create, .free = options_free};
