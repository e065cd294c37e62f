/* SPDX-License-Identifier: MIT */
/*
 * Presets: profilers that are a name, a summary and options of another profiler, each in a text
 * file. The presets of attar are part of the library; users put theirs in a directory.
 */
#include "presets/presets.h"

#include <pthread.h>
#include <stdio.h>

#include "attar/run.h"
#include "base/base.h"
#include "base/log.h"
#include "base/user_file.h"
#include "base/vec.h"
#include "base/words.h"
#include "tracefs/dir.h"

enum { TEXT_MAX = 1 << 16, EXAMPLES_MAX = 16, WORDS_MAX = 256 };

/* A preset. Its strings lie in `text`. */
struct preset {
	struct attar_profiler pub;
	char *text;
	const char *path; /* for messages, while it is parsed */
	const char *words[WORDS_MAX + 1];
	struct attar_example examples[EXAMPLES_MAX + 1];
	size_t n_examples;
	char *run;     /* the value of "run:" */
	char *without; /* the value of "without:"; NULL: none */
	struct attar_option *options; /* a copy of its own; NULL: none */
};

/* All profilers; made once, never freed. */
static struct {
	pthread_once_t once;
	VEC(const struct attar_profiler *) all; /* ends with NULL */
	bool failed;                            /* out of memory: there are no presets */
} list = {.once = PTHREAD_ONCE_INIT};

/* ---- the text of a preset ---- */

#define bad(preset_, fmt_, ...) attar_fail(-EINVAL, "%s: " fmt_, (preset_)->path, ##__VA_ARGS__)

/* "COMMAND | WHAT" */
static int take_example(struct preset *p, char *value)
{
	char *bar = strstr(value, " | ");

	if (!bar)
		return bad(p, "'%s': the syntax of an example is COMMAND | WHAT IT SHOWS", value);
	if (p->n_examples == EXAMPLES_MAX)
		return bad(p, "too many examples");
	*bar = '\0';
	p->examples[p->n_examples++] =
		(struct attar_example){.command = words_trim(value), .what = words_trim(bar + 3)};
	return 0;
}

static int take_line(struct preset *p, char *line)
{
	char *colon = strchr(line, ':'), *value;

	if (!colon)
		return bad(p, "'%s': the syntax of a line is KEY: VALUE", line);
	*colon = '\0';
	value = words_trim(colon + 1);
	if (!strcmp(line, "name"))
		p->pub.name = value;
	else if (!strcmp(line, "group"))
		p->pub.group = value;
	else if (!strcmp(line, "summary"))
		p->pub.summary = value;
	else if (!strcmp(line, "run"))
		p->run = value;
	else if (!strcmp(line, "without"))
		p->without = value;
	else if (!strcmp(line, "example"))
		return take_example(p, value);
	else
		return bad(p,
			"no such key '%s': the keys are name, group, summary, run, without, "
			"example",
			line);
	return 0;
}

static int take_lines(struct preset *p)
{
	struct words_lines lines = {.next = p->text};
	char *line;
	int r = 0;

	while (r == 0 && (line = words_next_line(&lines))) {
		line = words_trim(line);
		if (*line && *line != '#')
			r = take_line(p, line);
	}
	return r;
}

static int presets_split(struct preset *p)
{
	int n = words_split(p->run, (char **)p->words, WORDS_MAX);

	if (n < 0)
		return attar_context(-EINVAL, "%s: run", p->path);
	return n ? 0 : bad(p, "no 'run'");
}

static const struct attar_profiler *find_builtin(const char *name)
{
	for (const struct attar_profiler *const *b = attar_builtin_profilers(); *b; b++)
		if (!strcmp((*b)->name, name))
			return *b;
	return NULL;
}

static bool is_taken(const char *name)
{
	vec_each (&list.all, it)
		if (*it && !strcmp((*it)->name, name))
			return true;
	return false;
}

static bool is_name(const char *name)
{
	return *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

static bool starts_with(const char *word, const char *prefix)
{
	return !strncmp(word, prefix, strlen(prefix));
}

/* Whether it has ":name_of_event", as tracepoints do; modifiers have no "_". */
static bool names_tracepoint(const char *word)
{
	while ((word = strchr(word, ':'))) {
		size_t n = strspn(++word, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (memchr(word, '_', n))
			return true;
	}
	return false;
}

/* Profilers of events that the user chooses can do without them; presets with these cannot. */
static const char *needs_of(const struct preset *p, const struct attar_profiler *base)
{
	for (const char *const *word = p->words + 1; *word; word++) {
		if (starts_with(*word, "kprobe:") || starts_with(*word, "kretprobe:"))
			return "perf events, whole system, kprobes!";
		if (starts_with(*word, "uprobe:") || starts_with(*word, "uretprobe:") ||
			starts_with(*word, "usdt:"))
			return "perf events, whole system, uprobes!, tracefs";
		if (names_tracepoint(*word))
			return "perf events, whole system, tracefs!";
	}
	return base->needs;
}

/* Unlisted, it is left for `run`, by its long name. */
static int hide_option(const struct preset *p, struct attar_option *options, const char *name)
{
	for (struct attar_option *o = options; o->name; o++)
		if (!strcmp(o->name, name)) {
			o->letter = 0;
			o->help = NULL;
			return 0;
		}
	return bad(p, "without: '%s' has no option '%s'", p->words[0], name);
}

/* A copy of the options of the profiler, except the options of "without:". */
static int hide_options(struct preset *p)
{
	const struct attar_option *from = p->pub.options;
	const char *names[WORDS_MAX + 1];
	struct attar_option *options;
	size_t n = 1;
	int r = p->without ? words_split(p->without, (char **)names, WORDS_MAX) : 0;

	if (r < 0)
		return attar_context(-EINVAL, "%s: without", p->path);
	if (!r || !from)
		return 0;
	while (from[n - 1].name)
		n++;
	options = malloc(n * sizeof(*options));
	if (!options)
		return base_oom();
	memcpy(options, from, n * sizeof(*options));
	for (int i = 0, hidden = r; r >= 0 && i < hidden; i++)
		r = hide_option(p, options, names[i]);
	if (r < 0)
		free(options);
	else
		p->pub.options = p->options = options;
	return MIN(r, 0);
}

/* Takes everything but name, group, summary and examples from the profiler that it runs. */
static int complete(struct preset *p)
{
	const struct attar_profiler *base;
	struct attar_profiler own = p->pub;

	if (!own.name || !is_name(own.name))
		return bad(p, "name: '%s'" ATTAR_FIX "use lower-case letters, digits and -",
			own.name ? own.name : "");
	if (!own.summary)
		return bad(p, "no 'summary'");
	if (is_taken(own.name))
		return bad(p, "profiler '%s' already exists", own.name);
	if (!strcmp(p->words[0], own.name))
		return bad(p, "run: '%s' runs itself", own.name);
	base = find_builtin(p->words[0]);
	if (!base && is_taken(p->words[0]))
		return bad(p, "run: '%s' is a preset" ATTAR_FIX "use the profiler that it runs",
			p->words[0]);
	if (!base)
		return bad(p, "run: no such profiler '%s'", p->words[0]);
	p->pub = *base;
	p->pub.name = own.name;
	p->pub.group = own.group ? own.group : base->group;
	p->pub.summary = own.summary;
	p->pub.examples = p->examples;
	p->pub.preset = p->words + 1;
	p->pub.needs = needs_of(p, base);
	return hide_options(p);
}

void preset_free(const struct attar_profiler *profiler)
{
	struct preset *p = (struct preset *)profiler; /* pub is first */

	free(p->options);
	free(p->text);
	free(p);
}

int preset_parse(const char *path, const char *text, const struct attar_profiler **ret_profiler)
{
	struct preset *p = calloc(1, sizeof(*p));
	int r;

	if (!p || !(p->text = strdup(text))) {
		free(p);
		return base_oom();
	}
	p->path = path;
	r = take_lines(p);
	if (r == 0 && !p->run)
		r = bad(p, "no 'run'");
	if (r == 0)
		r = presets_split(p);
	if (r == 0)
		r = complete(p);
	if (r < 0) {
		preset_free(&p->pub);
		return r;
	}
	*ret_profiler = &p->pub;
	return 0;
}

/* ---- the list ---- */

static void presets_push(const struct attar_profiler *profiler)
{
	if (vec_push(&list.all, profiler) < 0)
		list.failed = true;
}

static void presets_add(const char *path, const char *text)
{
	const struct attar_profiler *profiler;

	if (preset_parse(path, text, &profiler) < 0) {
		log_note("%s", attar_error());
		attar_error_clear();
	} else {
		presets_push(profiler);
	}
}

static bool is_preset(const char *name)
{
	size_t n = strlen(name), end = strlen(".preset");

	return *name != '.' && n > end && !strcmp(name + n - end, ".preset");
}

static void add_directory(const char *path)
{
	dir_names names _cleanup_(dir_names_done) = {0};
	int r = dir_read(path, &names);

	list.failed |= r == -ENOMEM;
	if (r < 0) {
		attar_error_clear(); /* usually there is none */
		return;
	}
	vec_each (&names, name) {
		struct buf text _cleanup_(buf_done) = {0};
		char file[4096];

		if (!is_preset(*name))
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, *name);
		if (user_file_read_config(file, TEXT_MAX, &text) < 0)
			log_note("the preset is not used: %s", attar_error());
		else
			presets_add(file, buf_text(&text));
		attar_error_clear();
	}
}

static void add_users(void)
{
	const char *directory = secure_getenv("ATTAR_PRESETS"),
		   *base = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	char path[4096];

	if (directory)
		snprintf(path, sizeof(path), "%s", directory);
	else if (base && *base)
		snprintf(path, sizeof(path), "%s/attar/presets", base);
	else
		snprintf(path, sizeof(path), "%s/.config/attar/presets", home ? home : "");
	if (*path)
		add_directory(path);
}

static int presets_compare(const void *a, const void *b)
{
	const struct attar_profiler *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static void make_list(void)
{
	for (const struct attar_profiler *const *b = attar_builtin_profilers(); *b; b++)
		presets_push(*b);
	for (const struct preset_text *t = preset_texts; t->name; t++)
		presets_add(t->name, t->text);
	add_users();
	if (list.all.n)
		qsort(list.all.at, list.all.n, sizeof(*list.all.at), presets_compare);
	presets_push(NULL);
	if (list.failed)
		log_note("out of memory: presets are left out");
}

static const struct preset *find_preset(const struct attar_profiler *profiler)
{
	if (profiler->preset && !find_builtin(profiler->name))
		vec_each (&list.all, it)
			if (*it == profiler)
				return (const struct preset *)profiler; /* pub is first */
	return NULL;
}

static bool is_hidden(const struct attar_option *options, const char *name)
{
	for (const struct attar_option *o = options; o->name; o++)
		if (!strcmp(o->name, name))
			return !o->help;
	return false;
}

static int refuse_hidden(
	const struct preset *p, const struct attar_option *o, char letter, const char *base)
{
	char short_name[16] = "";

	if (letter)
		snprintf(short_name, sizeof(short_name), "-%c, ", letter);
	return attar_fail(-ENOENT,
		"%s does not support %s--%s, an option of %s, which it runs" ATTAR_FIX
		"leave it out, or use 'attar %s'",
		p->pub.name, short_name, o->name, base, base);
}

int preset_check_option(const struct attar_profiler *profiler, const char *name, char letter)
{
	const struct preset *p = find_preset(profiler);
	const struct attar_profiler *base = p ? find_builtin(p->words[0]) : NULL;

	for (const struct attar_option *o = base ? base->options : NULL; o && o->name; o++) {
		bool is_meant = name ? !strcmp(o->name, name) : letter && o->letter == letter;

		if (is_meant && o->help && is_hidden(p->pub.options, o->name))
			return refuse_hidden(p, o, name ? 0 : letter, base->name);
	}
	return 0;
}

const struct attar_profiler *const *attar_profilers(void)
{
	pthread_once(&list.once, make_list);
	return list.failed ? attar_builtin_profilers() : list.all.at;
}
