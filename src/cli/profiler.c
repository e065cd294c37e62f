/* SPDX-License-Identifier: MIT */
/* attar PROFILER ...: options, outputs, signals, the run, the exit status. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/base.h"
#include "base/escape.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "run/run.h"

/* For the signal handler alone. */
static struct attar_run *running;

struct session {
	struct attar_run *run;
	struct outputs outputs;
	int status; /* of an output that failed while others remained; else 0 */
};

/* The first signal asks for the end and the report, the second one ends at once. */
static void on_signal(int number)
{
	signal(number, SIG_DFL);
	if (running)
		attar_run_stop(running);
}

/* A write whose reader has gone fails. Not SIG_IGN: the command would inherit that. */
static void on_broken_pipe(int number)
{
	(void)number;
}

static void take_signals(struct attar_run *run)
{
	const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	running = run;
	signal(SIGCHLD, SIG_DFL); /* ignored, it would hide the status of the command */
	if (signal(SIGPIPE, on_broken_pipe) == SIG_IGN)
		signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction action = {.sa_handler = on_signal}, old;

		/* what nohup(1) or a shell's background job ignores stays ignored */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(numbers[i], &action, NULL);
	}
}

/* Counters need a file descriptor for each CPU and thread: take all that this process may have. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* One output that fails ends the run; the others get what was found until then. */
static int take_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct session *s = ctx;
	int r;

	console_clear();
	s->outputs.live = !s->run->ended;
	r = outputs_draw(&s->outputs, report, scope, s->run->opts.interval != 0);
	if (r == 0 || !outputs_remain(&s->outputs))
		return r;
	if (r != -EPIPE)
		s->status = complain(status_of(r));
	attar_run_stop(s->run);
	return 0;
}

static void take_turn(void *ctx)
{
	struct session *s = ctx;

	printer_push(&s->outputs.printer);
}

static char *join(int argc, char **argv)
{
	struct buf b = {0};

	buf_str(&b, "attar");
	for (int i = 0; i < argc; i++)
		buf_printf(&b, " %s", argv[i]);
	return buf_take(&b);
}

static int finish(struct session *s, int r)
{
	int closed = outputs_close(&s->outputs), command = attar_run_command_status(s->run);

	console_clear();
	if (s->status)
		return s->status;
	if (r == 0)
		r = closed;
	if (r == -EPIPE)
		return STATUS_OK;
	if (r < 0)
		return complain(status_of(r));
	return command > 0 ? command : STATUS_OK;
}

static int go(struct session *s, char *const *command, const char *line)
{
	struct attar_run_hooks hooks = {.size = sizeof(hooks),
		.ctx = s,
		.report = take_report,
		.progress = console_progress,
		.turn = take_turn};
	int r = outputs_open(&s->outputs, s->run, line);

	if (r < 0) {
		outputs_close(&s->outputs);
		return complain(status_of(r));
	}
	hooks.want_whole = s->outputs.want_whole;
	hooks.want_values = s->outputs.want_values;
	hooks.unshown = !s->outputs.all.n;
	hooks.want_tree = s->outputs.want_tree;
	attar_run_command(s->run, command);
	raise_file_limit();
	take_signals(s->run);
	return finish(s, attar_run_go(s->run, &hooks));
}

static int print_help(const struct attar_run *run, const struct attar_profiler *profiler)
{
	struct buf b _cleanup_(buf_done) = {0};

	help_profiler(&b, run, profiler);
	return print_buf(&b);
}

static int print_event_help(const char *events)
{
	struct buf b _cleanup_(buf_done) = {0};
	int r = event_help(&b, events);

	if (r < 0)
		return complain(r == -ENOENT ? STATUS_USAGE : status_of(r));
	return print_buf(&b);
}

int command_profiler(int argc, char **argv)
{
	struct session s = {0};
	struct args args;
	char *line _cleanup_free_ = join(argc, argv);
	int status, r = attar_run_new(argv[0], &s.run);

	if (r < 0)
		return r == -ENOENT ? command_unknown(argv[0]) : complain(STATUS_FAILED);
	r = args_parse(s.run, argc - 1, argv + 1, &args);
	if (r < 0)
		status = complain(r == -ENOMEM ? STATUS_FAILED : STATUS_USAGE);
	else if (args.events)
		status = print_event_help(args.events);
	else if (args.help)
		status = print_help(s.run, attar_profiler_find(argv[0]));
	else {
		console_mode(s.run->opts.quiet, s.run->opts.verbose);
		status = go(&s, args.command, line);
	}
	running = NULL;
	attar_run_free(s.run);
	return status;
}
