/* SPDX-License-Identifier: MIT */
#include "cli/agent/checks.h"

#include "cli/agent/box_keys.h"
#include "cli/cli.h"
#include "cli/output/output_options.h"
#include "cli/output/outputs_check.h"
#include "cli/output/report_server.h"

static bool reads_recording(char **words)
{
	static const char option[] = "--input";

	for (; *words; words++)
		if (!strcmp(*words, option) || !strncmp(*words, "--input=", sizeof(option)))
			return true;
	return false;
}

static int check_output(
	struct agent_checks *checks, const struct agent_section *s, const char *path)
{
	const struct attar_sink *sink = sink_of_file(path);
	int e;

	if (!sink)
		return -EINVAL;
	if (sink->scheme)
		return 0;
	e = agent_files_add(&checks->files, s->name, path);
	return e == 0 && checks->machine ? agent_files_check_folder(path) : e;
}

static int check_outputs(struct agent_checks *checks, const struct agent_section *s,
	const struct output_options *options)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < options->outputs.n; i++)
		e = check_output(checks, s, options->outputs.at[i]);
	for (size_t i = 0; e == 0 && i < options->flame_graphs.n; i++)
		if (*options->flame_graphs.at[i])
			e = agent_files_add(&checks->files, s->name, options->flame_graphs.at[i]);
	return e;
}

static int check_whole(
	const struct output_options *options, const struct attar_sink *sink, const char *path)
{
	if (!sink->whole_run || options->rotate_ns)
		return 0;
	return attar_fail(-EINVAL,
		"'%s' would only be written when the profiler ends" ATTAR_FIX
		"add --rotate-every, with the time of -i, and the time to the name, such as "
		"%%Y%%m%%d-%%H%%M%%S",
		CLIP(path));
}

/* Files that contain one report need a name for each. */
static int check_reports(const struct output_options *options)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < options->outputs.n; i++)
		e = check_whole(
			options, sink_of_file(options->outputs.at[i]), options->outputs.at[i]);
	for (size_t i = 0; e == 0 && i < options->flame_graphs.n; i++)
		e = check_whole(options, outputs_flame_graph_sink(options->flame_graphs.at[i]),
			options->flame_graphs.at[i]);
	return e;
}

/* The agent would restart a profiler that ends by itself forever. */
static int check_end(const struct attar_run *run, char *const *words)
{
	static const char *const options[] = {"duration", "count", "exit-N"};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (args_value(run, words, options[i]))
			return attar_fail(-EINVAL,
				"--%s ends the profiler, and the agent starts it again" ATTAR_FIX
				"remove it",
				options[i]);
	return 0;
}

/* ---- addresses ---- */

static int check_listen(struct agent_checks *checks, const struct agent_section *s,
	const struct output_options *options)
{
	struct agent_address address = {s->name, "--listen", (char *)options->listen, {0}};
	int e = report_server_check(options, true, &address.at);

	return e == 0 && options->listen ? agent_addresses_add(&checks->addresses, &address) : e;
}

static int check_push(
	struct agent_checks *checks, const struct attar_run *run, const struct agent_section *s)
{
	const char *text = args_value(run, s->words, "push");
	struct agent_address address = {s->name, "--push", (char *)text, {0}};
	int e = run_check_push(run, &address.at);

	return e == 0 && text ? agent_addresses_add(&checks->addresses, &address) : e;
}

int agent_checks_server(struct agent_checks *checks, const struct http_server_opts *opts)
{
	struct agent_address address = {"agent", "listen", (char *)opts->address, {0}};
	int e = http_server_check(opts, &address.at);

	return e == 0 ? agent_addresses_add(&checks->addresses, &address) : e;
}

/* ---- events ---- */

/* Events of names that do not exist; others can need rights that the agent has. */
static int check_events(struct attar_run *run, char *const *words)
{
	int e = 0;

	for (; e != -ENOENT && *words; words++) {
		const char *events = args_event(run, words[0], words[1]);
		struct attar_event_list *list = NULL;

		if (!events)
			continue;
		e = attar_event_list_parse(attar_run_catalog(run), events, &list);
		attar_event_list_free(list);
		if (e < 0 && e != -ENOENT)
			attar_error_clear();
	}
	return e == -ENOENT ? e : 0;
}

/* ---- all ---- */

/* What the profiler would find out only when it is started. */
static int check_start(struct agent_checks *checks, struct attar_run *run,
	const struct agent_section *s, const struct output_options *options)
{
	int e = check_end(run, s->words + 1);

	if (e == 0)
		e = outputs_check(run, options);
	if (e == 0)
		e = check_reports(options);
	if (e == 0)
		e = check_listen(checks, s, options);
	if (e == 0)
		e = check_push(checks, run, s);
	return e == 0 ? check_events(run, s->words + 1) : e;
}

int agent_checks_words(struct agent_checks *checks, const struct agent_section *s, int n)
{
	char **words = s->words;
	struct output_options options;
	const bool is_box = agent_box_is(words);
	struct args args = {0};
	struct attar_run *run;
	int r = output_options_run_new(words[0], &options, &run);

	if (r < 0)
		return r;
	if (output_options_has_own(attar_run_profiler(run)) && !is_box) /* it has no reports */
		r = attar_fail(-EINVAL,
			"'%s' writes a recording, which grows without a limit" ATTAR_FIX
			"use a profiler with reports, or --overwrite, which keeps the newest "
			"events",
			words[0]);
	if (r == 0)
		r = args_parse(run, n, words, &args);
	if (r == 0 && (args.help || args.version || args.events))
		r = attar_fail(
			-EINVAL, "help and version are not profilers" ATTAR_FIX "remove them");
	else if (r == 0 && args.command)
		r = attar_fail(-EINVAL, "a command after -- exits" ATTAR_FIX
					"use -p PID, or no target for the whole system");
	else if (r == 0 && reads_recording(words))
		r = attar_fail(-EINVAL, "--input reads a recording" ATTAR_FIX "remove it");
	else if (r == 0 && !attar_run_interval(run) && !is_box)
		r = attar_fail(
			-EINVAL, "reports need an interval" ATTAR_FIX "add -i, for example -i 10s");
	else if (r == 0 && !is_box)
		r = check_outputs(checks, s, &options);
	if (r == 0 && checks->machine)
		r = check_start(checks, run, s, &options);
	free(args.events);
	attar_run_free(run);
	return r;
}

void agent_checks_done(struct agent_checks *checks)
{
	agent_files_done(&checks->files);
	agent_addresses_done(&checks->addresses);
}
