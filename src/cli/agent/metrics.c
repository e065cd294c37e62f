/* SPDX-License-Identifier: MIT */
/*
 * The metrics of the agent: its own, and those that its profilers write to files, joined. Source of
 * the format: https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include <stdio.h>

#include "base/file.h"
#include "cli/agent/agent.h"

enum { TEXT_MAX = 16 << 20 };

/* ---- joining ---- */

/* A metric with its HELP and TYPE, and the samples of all sections. */
struct family {
	const char *name; /* borrowed */
	struct buf head, samples;
};

typedef VEC(struct family) families;

static void families_done(families *all)
{
	vec_each (all, it) {
		buf_done(&it->head);
		buf_done(&it->samples);
	}
	vec_done(all);
}

static struct family *find_family(families *all, const char *name)
{
	struct family *new;

	vec_each (all, it)
		if (!strcmp(it->name, name))
			return it;
	new = vec_add(all);
	if (new)
		new->name = name;
	return new;
}

/* "name{labels} value" or "name value", with the label of the section. */
static void add_sample(struct buf *b, const char *line, const char *section)
{
	size_t n = strcspn(line, "{ ");

	if (!line[n])
		return;
	buf_add(b, line, n);
	buf_printf(b, "{section=\"%s\"", section);
	buf_printf(b, "%s%s\n", line[n] == '{' ? "," : "}", line + n + (line[n] == '{'));
}

static bool begins(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* A family begins with its HELP. */
static int add_text(families *all, const struct agent_metrics_text *t)
{
	static const char help[] = "# HELP ", type[] = "# TYPE ";
	struct family *family = NULL;
	bool is_new = false;
	char *save = NULL;

	for (char *line = strtok_r(t->text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		if (begins(line, help)) {
			char *name = line + strlen(help), *end = name + strcspn(name, " ");

			is_new = false;
			if (!*end)
				continue;
			*end = '\0';
			family = find_family(all, name);
			if (!family)
				return -ENOMEM;
			is_new = !family->head.len;
			if (is_new)
				buf_printf(&family->head, "%s%s %s\n", help, name, end + 1);
		} else if (begins(line, type)) {
			if (is_new)
				buf_printf(&family->head, "%s\n", line);
		} else if (family && *line != '#') {
			add_sample(&family->samples, line, t->section);
		}
	}
	return 0;
}

static int agent_metrics_merge(struct buf *out, struct agent_metrics_text *texts, size_t n)
{
	families all _cleanup_(families_done) = {0};

	for (size_t i = 0; i < n; i++)
		if (add_text(&all, &texts[i]) < 0)
			return -ENOMEM;
	vec_each (&all, it) {
		buf_str(out, buf_text(&it->head));
		buf_str(out, buf_text(&it->samples));
		out->failed |= it->head.failed | it->samples.failed;
	}
	return out->failed ? base_oom() : 0;
}

/* ---- the agent's own ---- */

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(
	struct buf *b, const char *name, const char *type, const char *help, double value)
{
	head(b, name, type, help);
	buf_printf(b, "%s %.17g\n", name, value);
}

static double runs(const struct agent_child *c)
{
	return c->state == AGENT_RUNS && c->pid;
}

static double is_paused(const struct agent_child *c)
{
	return c->state == AGENT_PAUSED;
}

static double starts(const struct agent_child *c)
{
	return (double)c->starts;
}

static double failures(const struct agent_child *c)
{
	return (double)c->failures;
}

static double cpu_seconds(const struct agent_child *c)
{
	return (double)c->cpu_ns / 1e9;
}

static double memory(const struct agent_child *c)
{
	return (double)c->rss;
}

static double frequency(const struct agent_child *c)
{
	return (double)agent_child_freq(c);
}

static double frequency_configured(const struct agent_child *c)
{
	return (double)c->freq;
}

/* A removed section can be replaced by one of the same name while its process still runs. */
static void write_children(struct buf *b, const struct agent *a)
{
	static const struct {
		const char *name, *type, *help;
		double (*value)(const struct agent_child *);
	} all[] = {
		{"attar_agent_profiler_running", "gauge", "Whether the profiler runs.", runs},
		{"attar_agent_profiler_paused", "gauge",
			"Whether the profiler is paused because of a limit.", is_paused},
		{"attar_agent_profiler_starts_total", "counter", "Starts of the profiler.", starts},
		{"attar_agent_profiler_failures_total", "counter",
			"Exits of the profiler that the agent did not request.", failures},
		{"attar_agent_profiler_cpu_seconds_total", "counter", "CPU time of the profiler.",
			cpu_seconds},
		{"attar_agent_profiler_memory_bytes", "gauge", "Resident memory.", memory},
		{"attar_agent_profiler_frequency_hertz", "gauge",
			"The current sampling frequency; 0: no -F.", frequency},
		{"attar_agent_profiler_configured_frequency_hertz", "gauge",
			"The sampling frequency in the configuration.", frequency_configured},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		head(b, all[i].name, all[i].type, all[i].help);
		vec_each (&a->children, c)
			if (!(*c)->removed)
				buf_printf(b, "%s{section=\"%s\"} %.17g\n", all[i].name, (*c)->name,
					all[i].value(*c));
	}
}

static void write_steps(struct buf *b, const struct agent *a)
{
	static const char name[] = "attar_agent_steps_total";
	static const char *const names[] = {[AGENT_LOWER] = "lower",
		[AGENT_PAUSE] = "pause",
		[AGENT_RAISE] = "raise",
		[AGENT_RESUME] = "resume"};

	head(b, name, "counter", "Steps taken because of max-cpu and max-memory.");
	vec_each (&a->children, c)
		for (size_t i = 0; !(*c)->removed && i < ARRAY_SIZE(names); i++)
			buf_printf(b, "%s{section=\"%s\",step=\"%s\"} %llu\n", name, (*c)->name,
				names[i], (unsigned long long)(*c)->steps[i]);
}

static void write_own(struct buf *b, const struct agent *a)
{
	head(b, "attar_agent_info", "gauge", "The version of the agent.");
	buf_printf(b, "attar_agent_info{version=\"%s\"} 1\n", attar_version());
	if (a->has_cpu)
		single(b, "attar_agent_cpu_ratio", "gauge",
			"CPU time of all processes between the last two checks, as a share of one "
			"CPU, with that of profilers that failed or were started meanwhile.",
			a->cpu);
	single(b, "attar_agent_memory_bytes", "gauge", "Resident memory of all processes.",
		(double)a->rss);
	single(b, "attar_agent_max_cpu_ratio", "gauge", "The limit; 0: none.", a->config.max_cpu);
	single(b, "attar_agent_max_memory_bytes", "gauge", "The limit; 0: none.",
		(double)a->config.max_memory);
	single(b, "attar_agent_reloads_total", "counter", "Configurations loaded.",
		(double)a->reloads);
	single(b, "attar_agent_failed_reloads_total", "counter",
		"Invalid configurations, for which the old one was kept.",
		(double)a->failed_reloads);
	write_children(b, a);
	write_steps(b, a);
}

void agent_metrics_write(const struct agent *a, struct buf *out)
{
	struct agent_metrics_text texts[AGENT_SECTIONS_MAX];
	struct buf files[AGENT_SECTIONS_MAX] = {0};
	size_t n = 0;

	write_own(out, a);
	vec_each (&a->children, it) {
		const struct agent_child *c = *it;

		if (c->removed || n == ARRAY_SIZE(texts) || access(c->metrics, R_OK) < 0)
			continue;
		if (file_read(c->metrics, TEXT_MAX, &files[n]) == 0 && files[n].len) {
			texts[n] = (struct agent_metrics_text){c->name, files[n].data};
			n++;
		} else {
			buf_done(&files[n]);
		}
		attar_error_clear();
	}
	agent_metrics_merge(out, texts, n);
	for (size_t i = 0; i < n; i++)
		buf_done(&files[i]);
}
