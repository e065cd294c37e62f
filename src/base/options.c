/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <ctype.h>
#include <stdio.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/parse.h"
#include "base/suggest.h"

void options_add(
	struct options *options, const char *title, const struct attar_option *table, void *state)
{
	options->groups[options->n] = (struct attar_option_group){title, table};
	options->states[options->n++] = state;
}

void options_done(struct options *options)
{
	vec_done(&options->given);
	for (size_t i = 0; i < options->n; i++)
		free(options->copies[i]);
	vec_each (&options->lists, list)
		free((*list)->at);
	vec_done(&options->lists);
	intern_done(&options->texts);
}

const struct attar_option *options_named(const struct attar_option *table, const char *name)
{
	for (const struct attar_option *o = table; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

const struct attar_option *options_find(
	const struct options *options, const char *name, void **ret_state)
{
	for (const struct attar_option_group *g = options->groups; g->title; g++) {
		const struct attar_option *o = options_named(g->options, name);

		if (o && ret_state)
			*ret_state = options->states[g - options->groups];
		if (o)
			return o;
	}
	/* profilers that always have stacks have no -g */
	return strcmp(name, "call-graph") ? NULL : options_find(options, "unwind", ret_state);
}

const struct attar_option *options_find_letter(const struct options *options, char letter)
{
	for (const struct attar_option_group *g = options->groups; g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

static int check(const struct options *options, const char *name, char letter)
{
	return options->check ? options->check(options->ctx, name, letter) : 0;
}

static int unknown(const struct options *options, const char *name)
{
	const struct attar_option *flag =
		strncmp(name, "no-", 3) ? NULL : options_find(options, name + 3, NULL);
	struct suggest s = {.word = name};

	if (check(options, name, 0) < 0)
		return -ENOENT;
	if (flag && flag->type == ATTAR_OPTION_FLAG)
		return attar_fail(-ENOENT,
			"no such option --%s;" ATTAR_FIX "leave it out: --%s is off by default",
			CLIP(name), flag->name);
	for (const struct attar_option_group *g = options->groups; g->title; g++)
		for (const struct attar_option *o = g->options; o && o->name; o++)
			if (o->help)
				suggest_offer(&s, o->name);
	if (s.best)
		return attar_fail(-ENOENT, "no such option --%s" ATTAR_FIX "did you mean --%s?",
			CLIP(name), s.best);
	return attar_fail(-ENOENT, "no such option --%s" ATTAR_FIX "'attar %s -h all' lists them",
		CLIP(name), options->name);
}

/* What the user wrote, without its value: "-N" or "--count". */
struct written {
	char text[64];
};

static struct written options_written(const struct options *options, const char *name)
{
	struct written w;

	if (options->letter)
		snprintf(w.text, sizeof(w.text), "-%c", options->letter);
	else
		snprintf(w.text, sizeof(w.text), "--%s", name);
	return w;
}

#define WRITTEN(options, name) (options_written(options, name).text)

/* Minimum times are whole milliseconds or microseconds. */
static int too_short(const struct options *options, const struct attar_option *o, const char *value)
{
	bool is_ms = o->min % 1000000 == 0;

	return attar_fail(-ERANGE, "%s: %s is too short: the minimum is %llu%s",
		WRITTEN(options, o->name), CLIP(value),
		(unsigned long long)o->min / (is_ms ? 1000000 : 1000), is_ms ? "ms" : "us");
}

static int set_number(const struct options *options, const struct attar_option *o,
	const char *value, uint64_t *member)
{
	uint64_t number = 0;
	int r = o->type == ATTAR_OPTION_TIME   ? parse_time(value, o->bare, &number)
		: o->type == ATTAR_OPTION_SIZE ? parse_size(value, &number)
					       : parse_u64(value, &number);

	if (r < 0)
		return attar_context(r, "%s", WRITTEN(options, o->name));
	if ((o->min && number < o->min) || (o->max && number > o->max)) {
		if (o->max)
			return attar_fail(-ERANGE, "%s: %s is not between %llu and %llu",
				WRITTEN(options, o->name), CLIP(value), (unsigned long long)o->min,
				(unsigned long long)o->max);
		if (o->type == ATTAR_OPTION_TIME)
			return too_short(options, o, value);
		return attar_fail(-ERANGE, "%s: %s is too small: the minimum is %llu",
			WRITTEN(options, o->name), CLIP(value), (unsigned long long)o->min);
	}
	*member = number;
	return 0;
}

static int set_percent(const struct options *options, const struct attar_option *o,
	const char *value, double *member)
{
	uint64_t thousandths, max = o->max ?: 100;
	char *copy _cleanup_free_ = strdup(value);
	size_t n = strlen(value);

	if (!copy)
		return base_oom();
	if (n && copy[n - 1] == '%')
		copy[n - 1] = '\0';
	/* a fraction in units of 1/1000, read without the locale */
	if (parse_time(copy, 1000, &thousandths) < 0 ||
		strspn(copy, "0123456789.") != strlen(copy) || thousandths > max * 1000 ||
		thousandths < o->min * 1000)
		return attar_fail(-ERANGE, "%s: '%s' is not a percentage between %llu and %llu",
			WRITTEN(options, o->name), CLIP(value), (unsigned long long)o->min,
			(unsigned long long)max);
	*member = (double)thousandths / 1000;
	return 0;
}

static int set_text(struct options *options, const struct attar_option *o, const char *value,
	const char **member)
{
	const char *text = intern_text(&options->texts, value);

	if (!text)
		return base_oom();
	if (!*text)
		return attar_fail(-EINVAL, "%s: the value is empty", WRITTEN(options, o->name));
	*member = text;
	return 0;
}

/* "1,2" from "1" and "2". */
static int join_text(struct options *options, const struct attar_option *o, const char *value,
	const char **member)
{
	struct buf joined _cleanup_(buf_done) = {0};
	const char *text;

	if (!*value || !*member)
		return set_text(options, o, value, member);
	buf_printf(&joined, "%s,%s", *member, value);
	text = buf_failed(&joined) ? NULL : intern_text(&options->texts, joined.data);
	if (!text)
		return base_oom();
	*member = text;
	return 0;
}

static int add_text(struct options *options, const char *value, struct attar_texts *member)
{
	const char **grown = realloc(member->at, (member->n + 1) * sizeof(*grown)),
		   *text = intern_text(&options->texts, value);

	if (grown)
		member->at = grown;
	if (!grown || !text || (!member->n && vec_push(&options->lists, member) < 0))
		return base_oom();
	member->at[member->n++] = text;
	return 0;
}

static int set_value(
	struct options *options, const struct attar_option *o, void *member, const char *value)
{
	switch (o->type) {
	case ATTAR_OPTION_COUNT:
	case ATTAR_OPTION_TIME:
	case ATTAR_OPTION_SIZE:
		return set_number(options, o, value, member);
	case ATTAR_OPTION_PERCENT:
		return set_percent(options, o, value, member);
	case ATTAR_OPTION_LIST:
		return add_text(options, value, member);
	case ATTAR_OPTION_JOINED:
		return join_text(options, o, value, member);
	default:
		return set_text(options, o, value, member);
	}
}

/* Whether the caller has set the option, so that a preset does not change it. */
static bool is_kept(const struct options *options, const struct attar_option *o)
{
	for (size_t i = 0; i < options->n_kept; i++)
		if (options->given.at[i] == o)
			return true;
	return false;
}

int options_set(struct options *options, const char *name, const char *value)
{
	bool negated = !strncmp(name, "no-", 3), is_flag;
	const struct attar_option *o;
	void *state;
	char *member;

	o = options_find(options, name, &state);
	if (!o && negated && (o = options_find(options, name + 3, &state)) &&
		o->type != ATTAR_OPTION_SWITCH)
		o = NULL;
	if (!o)
		return unknown(options, name);
	if (!options->in_preset && check(options, o->name, 0) < 0)
		return -ENOENT;
	if (is_kept(options, o))
		return 0;
	if (vec_push(&options->given, o) < 0)
		return base_oom();
	member = (char *)state + o->offset;
	is_flag = o->type == ATTAR_OPTION_FLAG || o->type == ATTAR_OPTION_SWITCH;
	if (value && is_flag && !strcmp(o->name, "call-graph")) { /* and how to unwind */
		*(bool *)member = true;
		return options_set(options, "unwind", value);
	}
	if (value && (is_flag || (o->implied && !o->value)))
		return attar_fail(-EINVAL, "--%s takes no value", name);
	if (is_flag) {
		if (o->type == ATTAR_OPTION_FLAG)
			*(bool *)member = true;
		else
			*(int *)member = strcmp(o->name, name) == 0;
		return 0;
	}
	if (!value)
		value = o->implied;
	if (!value)
		return attar_fail(-EINVAL, "%s needs a value" ATTAR_FIX "%s %s",
			WRITTEN(options, name), WRITTEN(options, name), o->value);
	return set_value(options, o, member, value);
}

/* ---- words ---- */

static bool takes_value(const struct attar_option *o)
{
	return o && !o->implied && o->type != ATTAR_OPTION_FLAG && o->type != ATTAR_OPTION_SWITCH;
}

/*
 * -g takes no value, but --call-graph takes the method that perf's option has as its next word. In
 * profilers with an operand, another word is that. Without -g, --call-graph is --unwind.
 */
static bool takes_next(
	const struct options *options, const struct attar_option *o, const char *next)
{
	if (!o || !next || strcmp(o->name, "call-graph") != 0)
		return takes_value(o);
	return (options->is_unwind_method && options->is_unwind_method(next)) ||
	       (next[0] != '-' && !options->operand);
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

static int set_long(struct options *options, const char *word, const char *next)
{
	const char *equals = strchr(word, '=');
	char *name _cleanup_free_ = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
	const struct attar_option *o;
	bool separate;
	int r;

	if (!name)
		return base_oom();
	o = options_find(options, name, NULL);
	separate = !equals && takes_next(options, o, next);
	r = separate ? check_next(o, word - 2, next) : 0;
	if (r < 0)
		return r;
	r = options_set(options, name, equals ? equals + 1 : separate ? next : NULL);
	return r < 0 ? r : 1 + separate;
}

static int set_by_letter(
	struct options *options, const struct attar_option *o, char letter, const char *value)
{
	int r;

	options->letter = letter;
	r = options_set(options, o->name, value);
	options->letter = '\0';
	return r;
}

static int set_letters(struct options *options, const char *word, const char *next)
{
	for (const char *p = word; *p; p++) {
		const struct attar_option *o = options_find_letter(options, *p);
		int r;

		if (!o && check(options, NULL, *p) < 0)
			return -ENOENT;
		if (!o && options->operand && begins_operand(*p))
			return attar_fail(-ENOENT,
				"no such option -%s" ATTAR_FIX
				"put a space before an %s that begins with a minus: ' -%s'",
				CLIP(p), options->operand, CLIP(p));
		if (!o)
			return attar_fail(-ENOENT,
				"no such option -%c" ATTAR_FIX "'attar %s -h all' lists them", *p,
				options->name);
		if (takes_value(o)) {
			const char letter[] = {'-', *p, '\0'};

			r = p[1] ? 0 : check_next(o, letter, next);
			if (r < 0)
				return r;
			r = set_by_letter(options, o, *p, p[1] ? p + 1 : next);
			return r < 0 ? r : 1 + !p[1];
		}
		r = set_by_letter(options, o, *p, NULL);
		if (r < 0)
			return r;
	}
	return 1;
}

int options_set_word(struct options *options, const char *word, const char *next)
{
	if (word[0] != '-' || !word[1])
		return attar_fail(-EINVAL, "'%s' is not an option", CLIP(word));
	return word[1] == '-' ? set_long(options, word + 2, next)
			      : set_letters(options, word + 1, next);
}
