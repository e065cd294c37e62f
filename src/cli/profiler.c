/* SPDX-License-Identifier: MIT */
/* attar PROFILER ...: options, outputs, signals, the run, the exit status. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "attar/builtin.h"
#include "base/base.h"
#include "base/buf.h"
#include "cli/output/background_close.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/output/outputs.h"
#include "cli/perf_prof.h"
#include "cli/output/prompt.h"
#include "cli/rights.h"
#include "cli/signals.h"

enum { SLOW_CLOSES_MAX = 16 }; /* takes half a second; more are closed in the background */

struct session {
	struct attar_run *run;
	struct output_options options;
	struct outputs outputs;
	int status;       /* of an output that failed while others remained, else 0 */
	bool interrupted; /* by a signal, before anything was measured */
	bool has_command;
	bool allows_exec; /* system() in expressions runs programs */
	bool reads_stdin; /* lines on standard input are markers */
};

/* Counters need a file descriptor per CPU and thread: raise the limit to its maximum. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* With a recording on stdout, reports and the output of the command cannot go there. */
static bool records_to_stdout(const struct attar_run *run)
{
	struct attar_run_recorded recorded;

	return run_get_recorded(run, &recorded) && !strcmp(recorded.path, "-");
}

/* Rings are filling. A recording, and a run that has ended, wait for the reader of stdout. */
static bool is_live(const struct attar_run *run)
{
	return attar_run_is_live(run) && !attar_run_ended(run);
}

static bool is_ready(void *ctx)
{
	struct session *s = ctx;

	return !is_live(s->run) || outputs_are_ready(&s->outputs);
}

static void profiler_begin(void *ctx)
{
	struct session *s = ctx;

	outputs_empty(&s->outputs);
	if (!s->options.keep_rights)
		rights_opened(s->run, s->has_command, s->allows_exec);
}

/* A failed output ends the run; the others receive the results so far. */
static void end_if_failed(struct session *s, int r)
{
	if (r == 0)
		return;
	if (r != -EPIPE)
		s->status = report_error(status_of(r));
	buf_reset(&s->outputs.failure);
	attar_run_stop(s->run);
}

static int take_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct session *s = ctx;
	int r;

	if (records_to_stdout(s->run))
		return 0;

	console_clear();
	s->outputs.live = is_live(s->run);
	s->outputs.has_ended = attar_run_ended(s->run);
	r = outputs_draw(&s->outputs, report, scope, run_has_intervals(s->run));
	if (!outputs_remain(&s->outputs))
		return r;
	end_if_failed(s, r);
	return 0;
}

static void take_turn(void *ctx)
{
	struct session *s = ctx;

	printer_push(&s->outputs.printer);
	outputs_turn(&s->outputs);
	end_if_failed(s, control_turn(s->run, &s->outputs));
	if (signals_taken()) /* a second one ends the process at once */
		terminal_keys_close(&s->outputs.keys);
	if (terminal_keys_read(&s->outputs.keys))
		attar_run_stop(s->run);
}

/* Called in the command's process: async-signal-safe. */
static void prepare_command(void *ctx)
{
	const struct session *s = ctx;

	signals_restore_ignored();
	if (s->outputs.data_on_stdout || records_to_stdout(s->run))
		dup2(STDERR_FILENO, STDOUT_FILENO);
}

static int profiler_finish(struct session *s, int r)
{
	int closed = outputs_close(&s->outputs), command = attar_run_command_status(s->run);

	console_clear();
	s->interrupted = r == -ECANCELED && signals_taken();
	if (s->status)
		return closed < 0 && closed != -EPIPE ? report_error(s->status) : s->status;
	if (r == 0)
		r = closed;
	if (r == -EPIPE)
		return STATUS_OK;
	if (s->interrupted)
		attar_context(r, "interrupted by SIG%s", sigabbrev_np(signals_taken()));
	if (r < 0)
		return report_error(status_of(r));
	if (command > 0)
		return command;
	return s->has_command && signals_taken() ? 128 + signals_taken() : STATUS_OK;
}

/*
 * Whether a recording is read, from standard input or a file: standard input then has no markers.
 * It may be the recording, or a list of file names that a script reads.
 */
static bool reads_file(int argc, char **argv)
{
	const char *path = NULL;
	struct stat st;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--input=", 8))
			path = argv[i] + 8;
		else if (!strcmp(argv[i], "--input") && i + 1 < argc)
			path = argv[i + 1];
	}
	return path && (stat(path, &st) < 0 || !S_ISFIFO(st.st_mode));
}

/* --allow-exec, also of a preset. The words of the command do not matter. */
static bool allows_exec(const struct attar_run *run, const char *line)
{
	static const char option[] = "--allow-exec";
	const char *const *word = attar_run_profiler(run)->preset;

	while (word && *word && strcmp(*word, option) != 0)
		word++;
	return !line || strstr(line, option) || (word && *word); /* no line: out of memory */
}

static int go(struct session *s, char *const *command, const char *line)
{
	struct attar_run_hooks hooks = {.size = sizeof(hooks),
		.ctx = s,
		.report = take_report,
		.progress = console_progress,
		.turn = take_turn,
		.ready = is_ready,
		.opening = console_opening,
		.opened = profiler_begin,
		.prepare = prepare_command,
		.give_up = signals_give_up};
	int r;

	s->has_command = command != NULL;
	s->allows_exec = allows_exec(s->run, line);
	if (!s->options.keep_rights)
		rights_begin(s->run, s->has_command, s->allows_exec);
	r = outputs_open(&s->outputs, s->run, &s->options, line);
	if (r < 0) {
		outputs_close(&s->outputs);
		return report_error(status_of(r));
	}
	hooks.want_whole = s->outputs.want_whole;
	hooks.want_values = s->outputs.want_values;
	hooks.no_line_output = !s->outputs.all.n;
	hooks.want_tree = s->outputs.want_tree;
	hooks.need_tree = s->outputs.need_tree;
	hooks.want_spans = s->outputs.want_spans ? s->options.spans : 0;
	attar_run_command(s->run, command);
	raise_file_limit();
	control_begin(s->reads_stdin);
	signals_take(s->run);
	if (s->outputs.redraws && !command) /* the command reads stdin */
		terminal_keys_open(&s->outputs.keys);
	r = attar_run_go(s->run, &hooks);
	if (r == 0 && !s->status && run_expects_queries(s->run))
		s->status = prompt_run(s->run, &s->outputs);
	return profiler_finish(s, r);
}

static int print_help(const struct attar_run *run, bool all)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (all)
		help_profiler(&b, run, attar_run_profiler(run));
	else
		help_brief(&b, run, attar_run_profiler(run));
	return print_buf(&b);
}

static int print_event_help(struct session *s, const char *events, int argc, char **argv)
{
	const struct attar_event_list *list;
	struct buf b _cleanup_(buf_done) = {0};
	int r = run_find_events(s->run, events, &list);

	if (r == 0)
		r = event_help(&b, list);

	if (r < 0)
		return report_error(r == -ENOENT ? STATUS_USAGE : status_of(r));
	event_help_command(&b, argc, argv);
	return print_buf(&b);
}

/* Whether several --pull make a command of attar fleet. */
static bool merges_hosts(const struct attar_profiler *profiler)
{
	return profiler->uses & (ATTAR_USES_RINGS | ATTAR_USES_INPUT) &&
	       !(profiler->uses & ATTAR_SHOWS_HOST);
}

int command_profiler(int argc, char **argv)
{
	struct session s = {0};
	struct args args = {0};
	char *line _cleanup_free_ = args_join(argc, argv);
	char **words _cleanup_free_ = fleet_words(argc, argv);
	int status, r = output_options_run_new(argv[0], &s.options, &s.run);

	if (r < 0)
		return r == -ENOENT ? command_unknown(argv[0]) : report_error(STATUS_FAILED);
	if (words && merges_hosts(attar_run_profiler(s.run))) {
		attar_run_free(s.run);
		return command_run(&command_fleet, argc + 1, words);
	}
	r = perf_prof_set_defaults(s.run);
	if (r == 0)
		r = args_parse(s.run, argc, argv, &args);
	if (r < 0)
		status = report_error(r == -ENOMEM ? STATUS_FAILED : STATUS_USAGE);
	else if (args.events)
		status = print_event_help(&s, args.events, argc, argv);
	else if (args.version)
		status = print_version();
	else if (args.help)
		status = print_help(s.run, args.help_all);
	else {
		console_mode(s.options.quiet, s.options.verbose);
		s.reads_stdin = !args.command && !reads_file(argc, argv);
		status = go(&s, args.command, line);
	}
	free(args.events);
	signals_release();
	if (run_slow_closes(s.run) > SLOW_CLOSES_MAX)
		background_close_start();
	attar_run_free(s.run);
	if (s.interrupted || signals_ended_wait())
		signals_raise();
	return status;
}
