/* SPDX-License-Identifier: MIT */
/*
 * Options as words of a command line: -x, -xVALUE, -x VALUE, flags bundled as -gv, --name VALUE,
 * --name=VALUE, --no-name. The option tables define whether an option takes a value.
 */
#include <ctype.h>

#include "base/check_arg.h"
#include "run/run.h"

static const struct attar_option *find_letter(const struct attar_run *run, char letter)
{
	for (const struct attar_option_group *g = run->options.groups; g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

static bool takes_value(const struct attar_option *o)
{
	return o && !o->implied && o->type != ATTAR_OPTION_FLAG && o->type != ATTAR_OPTION_SWITCH;
}

/*
 * -g takes no value, but --call-graph takes the method that perf's option has as its next word. In
 * profilers with an operand, another word is that. Without -g, --call-graph is --unwind.
 */
static bool takes_next(const struct attar_run *run, const struct attar_option *o, const char *next)
{
	if (!o || !next || strcmp(o->name, "call-graph") != 0)
		return takes_value(o);
	return user_stacks_is_method(next) || (next[0] != '-' && !run->profiler->operand);
}

/* What follows the minus of an expression. Letters can also be options. */
static bool begins_operand(char c)
{
	return isdigit((unsigned char)c) || (c && strchr(" \t(+-~!'\"$.", c));
}

/*
 * A list of processes or CPUs does not begin with a minus: -p $(pidof x) without such a process
 * takes the next option for its value.
 */
static int check_next(const struct attar_option *o, const char *word, const char *next)
{
	bool is_pid = o && o->complete && !strcmp(o->complete, "pid");
	bool is_list = is_pid || (o && o->complete && !strcmp(o->complete, "cpu"));

	if (!is_list || !next || next[0] != '-')
		return 0;
	return attar_fail(-EINVAL, "%s needs a value, but '%s' follows" ATTAR_FIX "%s %s%s", word,
		CLIP(next), word, o->value, is_pid ? " (pidof(1) found no process?)" : "");
}

/* These return the number of words used, or a negative errno. */

static int set_long(struct attar_run *run, const char *word, const char *next)
{
	const char *equals = strchr(word, '=');
	char *name _cleanup_free_ = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
	const struct attar_option *o;
	bool separate;
	int r;

	if (!name)
		return base_oom();
	o = options_find(run, name, NULL);
	separate = !equals && takes_next(run, o, next);
	r = separate ? check_next(o, word - 2, next) : 0;
	if (r < 0)
		return r;
	r = attar_run_set(run, name, equals ? equals + 1 : separate ? next : NULL);
	return r < 0 ? r : 1 + separate;
}

static int set_letters(struct attar_run *run, const char *word, const char *next)
{
	for (const char *p = word; *p; p++) {
		const struct attar_option *o = find_letter(run, *p);
		int r;

		if (!o && run->directory->check_option(run->profiler, NULL, *p) < 0)
			return -ENOENT;
		if (!o && run->profiler->operand && begins_operand(*p))
			return attar_fail(-ENOENT,
				"no such option -%s" ATTAR_FIX
				"put a space before an %s that begins with a minus: ' -%s'",
				CLIP(p), run->profiler->operand, CLIP(p));
		if (!o)
			return attar_fail(-ENOENT,
				"no such option -%c" ATTAR_FIX "'attar %s -h' lists them", *p,
				run->profiler->name);
		if (takes_value(o)) {
			const char letter[] = {'-', *p, '\0'};

			r = p[1] ? 0 : check_next(o, letter, next);
			if (r < 0)
				return r;
			r = attar_run_set(run, o->name, p[1] ? p + 1 : next);
			return r < 0 ? r : 1 + !p[1];
		}
		r = attar_run_set(run, o->name, NULL);
		if (r < 0)
			return r;
	}
	return 1;
}

int attar_run_set_word(struct attar_run *run, const char *word, const char *next)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(word, "word");

	if (word[0] != '-' || !word[1])
		return attar_fail(-EINVAL, "'%s' is not an option", CLIP(word));
	return word[1] == '-' ? set_long(run, word + 2, next) : set_letters(run, word + 1, next);
}

int attar_run_set_preset(struct attar_run *run)
{
	CHECK_ARG(run, "run");

	const char *const *words = run->profiler->preset;
	int r = 0;

	if (!words || run->options.has_preset)
		return 0;
	run->options.has_preset = run->options.in_preset = true;
	run->options.n_kept = run->options.given.n;
	for (; r >= 0 && *words; words += r)
		r = attar_run_set_word(run, *words, words[1]);
	run->options.in_preset = false;
	run->options.n_kept = 0;
	return r < 0 ? attar_context(r, "preset %s", run->profiler->name) : 0;
}
