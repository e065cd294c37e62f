/* SPDX-License-Identifier: MIT */
#include "cli/agent/config.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/place.h"
#include "base/suggest.h"
#include "base/user_file.h"
#include "base/words.h"
#include "cli/agent/box_keys.h"
#include "cli/agent/checks.h"
#include "cli/cli.h"

enum { FILE_MAX = 1 << 20 };
#define SECOND UINT64_C(1000000000)

/* Where the parser is. */
struct reader {
	struct agent_config *config;
	const char *path;
	unsigned line;
	bool in_agent; /* section [agent] */
	bool skips;    /* the header of the section is wrong */
	struct agent_section *section;
	struct agent_checks checks;
	unsigned errors;      /* that were printed */
	unsigned listen_line; /* of the key; 0: none */
};

#define bad(reader_, line_, fmt_, ...)                                                             \
	attar_fail(-EINVAL, "%s:%u: " fmt_, (reader_)->path, (line_), ##__VA_ARGS__)

/* With --check, prints an error and continues; otherwise returns the error. */
static int keep_on(struct reader *r, int e)
{
	if (e >= 0 || e == -ENOMEM || !r->checks.machine)
		return e;
	report_error(STATUS_USAGE);
	attar_error_clear();
	r->errors++;
	return 0;
}

/* ---- values ---- */

static int take_text(char **to, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return base_oom();
	free(*to);
	*to = copy;
	return 0;
}

static int take_cpu(struct agent_config *c, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "%") != 0) || !(percent > 0 && percent <= 1e6))
		return attar_fail(-EINVAL,
			"'%s' is not a share of one CPU" ATTAR_FIX
			"write a percentage, such as 1%%",
			CLIP(value));
	c->max_cpu = percent / 100;
	return 0;
}

static int take_check(struct agent_config *c, const char *value)
{
	uint64_t ns;
	int r = parse_time(value, SECOND, &ns);

	if (r == 0 && ns < SECOND)
		r = attar_fail(
			-EINVAL, "'%s' is too short" ATTAR_FIX "use 1s or more", CLIP(value));
	if (r == 0)
		c->check_ns = ns;
	return r;
}

static int take_flag(bool *to, const char *value)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return attar_fail(-EINVAL, "'%s' is neither yes nor no", CLIP(value));
	*to = !strcmp(value, "yes");
	return 0;
}

/* The texts among the keys. */
static const struct key {
	const char *name;
	size_t offset;
} text_keys[] = {
	{"listen", offsetof(struct agent_config, listen)},
	{"listen-token-file", offsetof(struct agent_config, listen_token_file)},
	{"listen-cert", offsetof(struct agent_config, listen_cert)},
	{"listen-key", offsetof(struct agent_config, listen_key)},
	{"metrics", offsetof(struct agent_config, metrics)},
	{"user", offsetof(struct agent_config, user)},
	{"capabilities", offsetof(struct agent_config, capabilities)},
};

static int unknown_key(const char *key)
{
	static const char *const others[] = {
		"insecure", "metrics-mode", "max-cpu", "max-memory", "limit-interval"};
	struct suggest near = {.word = key};

	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++)
		suggest_offer(&near, text_keys[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		suggest_offer(&near, others[i]);
	if (near.best)
		return attar_fail(-EINVAL, "no such key '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(key), near.best);
	return attar_fail(-EINVAL,
		"no such key '%s': [agent] has listen, listen-token-file, listen-cert, "
		"listen-key, insecure, metrics, metrics-mode, user, capabilities, max-cpu, "
		"max-memory, "
		"limit-interval",
		CLIP(key));
}

static int config_set(struct agent_config *c, const char *key, const char *value)
{
	if (!*value)
		return attar_fail(-EINVAL, "the value is missing");
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++)
		if (!strcmp(key, text_keys[i].name))
			return take_text((char **)((char *)c + text_keys[i].offset), value);
	if (!strcmp(key, "insecure"))
		return take_flag(&c->insecure, value);
	if (!strcmp(key, "metrics-mode"))
		return place_parse_mode(value, &c->metrics_mode);
	if (!strcmp(key, "max-cpu"))
		return take_cpu(c, value);
	if (!strcmp(key, "max-memory"))
		return parse_size(value, &c->max_memory);
	if (!strcmp(key, "limit-interval"))
		return take_check(c, value);
	return unknown_key(key);
}

int agent_config_set(struct agent_config *c, const char *key, const char *value)
{
	int r = config_set(c, key, value);

	return r < 0 && r != -ENOMEM ? attar_context(r, "%s", key) : r;
}

/* ---- sections ---- */

static int config_split(struct reader *r, struct agent_section *s)
{
	int n;

	s->copy = strdup(s->run);
	s->words = calloc(AGENT_WORDS_MAX + 1, sizeof(*s->words));
	if (!s->copy || !s->words)
		return base_oom();
	n = words_split(s->copy, s->words, AGENT_WORDS_MAX);
	if (n == 0)
		return bad(r, s->run_line,
			"run: the command line is empty" ATTAR_FIX "add a profiler");
	if (n > 0 && !strcmp(s->words[0], "attar"))
		return bad(r, s->run_line,
			"run: begin with the name of the profiler, without 'attar'");
	if (n > 0)
		n = agent_checks_words(&r->checks, s, n);
	return n < 0 ? attar_context(-EINVAL, "%s:%u: run", r->path, s->run_line) : 0;
}

/* An option of the command line replaces the key of the file. */
static int add_options(struct agent_config *config, const struct agent_config *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		const char *from = *(char **)((char *)options + text_keys[i].offset);
		char **to = (char **)((char *)config + text_keys[i].offset);

		if (from && take_text(to, from) < 0)
			return -ENOMEM;
	}
	config->insecure |= options->insecure;
	if (options->metrics_mode)
		config->metrics_mode = options->metrics_mode;
	if (options->max_cpu > 0)
		config->max_cpu = options->max_cpu;
	if (options->max_memory)
		config->max_memory = options->max_memory;
	if (options->check_ns)
		config->check_ns = options->check_ns;
	return 0;
}

static int check_agent(struct reader *r, const struct agent_config *options)
{
	const struct http_server_opts server = agent_config_server(r->config);
	const char *metrics = r->config->metrics;
	int e = metrics ? agent_files_add(&r->checks.files, "agent", metrics) : 0;

	if (e < 0 || !r->checks.machine || !server.address)
		return e;
	e = agent_checks_server(&r->checks, &server);
	if (e < 0 && options->listen)
		attar_context(e, "option");
	else if (e < 0)
		attar_context(e, "%s:%u", r->path, r->listen_line);
	return keep_on(r, e);
}

static int check_sections(struct reader *r)
{
	int e;

	vec_each (&r->config->sections, s) {
		if (!s->run)
			e = bad(r, s->line,
				"section '%s' has no command line" ATTAR_FIX
				"add a line such as run = profile -F 19 -g -i 10s",
				s->name);
		else
			e = config_split(r, s);
		e = keep_on(r, e);
		if (e < 0)
			return e;
	}
	if (!r->config->sections.n && !r->errors)
		return attar_fail(-EINVAL,
			"%s: no section has a profiler" ATTAR_FIX
			"add a section such as [cpu] with a line run = profile -F 19 -g -i 10s",
			r->path);
	return 0;
}

/* ---- lines ---- */

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

	return *text && strspn(text, letters) == strlen(text) && strlen(text) <= AGENT_NAME_MAX;
}

static int take_head(struct reader *r, char *text)
{
	char *end = strchr(text, ']');

	if (!end || end[1])
		return bad(r, r->line, "'%s': a section header is [NAME]", CLIP(text));
	*end = '\0';
	text++;
	r->section = NULL;
	r->in_agent = !strcmp(text, "agent");
	if (r->in_agent)
		return 0;
	if (!is_name(text))
		return bad(r, r->line,
			"'%s' is not a section name" ATTAR_FIX
			"use at most %d lower-case letters, digits, - and _",
			CLIP(text), AGENT_NAME_MAX);
	vec_each (&r->config->sections, s)
		if (!strcmp(s->name, text))
			return bad(r, r->line,
				"section '%s' already exists in line %u" ATTAR_FIX
				"use another name",
				text, s->line);
	if (r->config->sections.n == AGENT_SECTIONS_MAX)
		return bad(r, r->line, "more than %d sections", AGENT_SECTIONS_MAX);
	r->section = vec_add(&r->config->sections);
	if (!r->section)
		return base_oom();
	r->section->line = r->line;
	snprintf(r->section->name, sizeof(r->section->name), "%s", text);
	return 0;
}

static int take_run(struct reader *r, const char *key, const char *value)
{
	if (agent_box_is_section(r->section->name) && strcmp(key, "run") != 0) {
		r->section->run_line = r->section->run_line ?: r->line;
		if (agent_box_take(r->section, key, value) < 0)
			return attar_context(-EINVAL, "%s:%u", r->path, r->line);
		return 0;
	}
	if (strcmp(key, "run") != 0)
		return bad(r, r->line,
			"no such key '%s': a profiler's section only has the key run", CLIP(key));
	if (r->section->run)
		return bad(r, r->line,
			"run was already set in line %u" ATTAR_FIX
			"use a section for each profiler",
			r->section->run_line);
	r->section->run_line = r->line;
	r->section->run = strdup(value);
	return r->section->run ? 0 : base_oom();
}

static int take_line(struct reader *r, char *line)
{
	char *equals, *key, *value;

	line = words_trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line == '[') {
		int e = take_head(r, line);

		r->skips = e < 0;
		return e;
	}
	if (r->skips)
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return bad(r, r->line, "'%s': the syntax of a line is KEY = VALUE, or [NAME]",
			CLIP(line));
	*equals = '\0';
	key = words_trim(line);
	value = words_trim(equals + 1);
	if (r->section)
		return take_run(r, key, value);
	if (!r->in_agent)
		return bad(r, r->line,
			"'%s' is outside a section" ATTAR_FIX "begin one with [NAME]", CLIP(key));
	if (agent_config_set(r->config, key, value) < 0)
		return attar_context(-EINVAL, "%s:%u", r->path, r->line);
	if (!strcmp(key, "listen"))
		r->listen_line = r->line;
	return 0;
}

static int take_lines(struct reader *r, char *text)
{
	struct words_lines lines = {.next = text, .short_comments = true};
	char *line;
	int e = 0;

	while (e == 0 && (line = words_next_line(&lines))) {
		r->line = lines.number;
		e = keep_on(r, take_line(r, line));
	}
	return e;
}

int agent_config_read(const char *path, const struct agent_config *options, enum agent_reading how,
	struct agent_config *c)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct reader r = {.config = c, .path = path, .checks.machine = how == AGENT_CHECKS};
	int e = user_file_read_config(path, FILE_MAX, &text);

	*c = (struct agent_config){.check_ns = 60 * SECOND};
	if (e < 0)
		return attar_context(e, "the configuration cannot be read");
	if (text.len && memchr(text.data, '\0', text.len))
		return attar_fail(-EINVAL, "%s: not a text file", path);
	if (text.len)
		e = take_lines(&r, text.data);
	if (e == 0)
		e = add_options(c, options);
	if (e == 0)
		e = check_agent(&r, options);
	if (e == 0)
		e = check_sections(&r);
	agent_checks_done(&r.checks);
	if (e == 0 && r.errors)
		e = attar_fail(
			-EINVAL, "%s is invalid: %u error%s", path, r.errors, PLURAL_S(r.errors));
	return e;
}

struct http_server_opts agent_config_server(const struct agent_config *c)
{
	return (struct http_server_opts){.address = c->listen,
		.token_file = c->listen_token_file,
		.certificate = c->listen_cert,
		.key = c->listen_key,
		.insecure = c->insecure};
}

void agent_config_done(struct agent_config *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++)
		free(*(char **)((char *)c + text_keys[i].offset));
	vec_each (&c->sections, s) {
		free(s->run);
		free(s->copy);
		free(s->words);
	}
	vec_done(&c->sections);
	*c = (struct agent_config){0};
}
