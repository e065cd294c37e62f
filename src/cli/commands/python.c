/* SPDX-License-Identifier: MIT */
/*
 * attar python: calls the functions of a script for each event. The script is run by Python itself,
 * through the package attar, so that neither the command nor libattar is linked with libpython.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/perf_prof.h"

/* The package may be next to attar, where this Python does not look for it. */
static const char loader[] =
	"import sys\n"
	"if sys.path[:1] == ['']:\n" /* the current directory, where anybody can have put modules */
	"    del sys.path[0]\n"
	"import os, signal\n"
	"signal.signal(signal.SIGINT, signal.SIG_DFL)\n" /* no traceback of imports */
	"signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\n" /* see hold_signals() */
	"folders = [os.path.normpath(path) for path in sys.argv.pop(1).split(':')]\n"
	"try:\n"
	"    from attar.script import main\n"
	"except ImportError:\n"
	"    sys.path += folders\n"
	"    try:\n"
	"        from attar.script import main\n"
	"    except ImportError as error:\n"
	"        sys.exit(f'attar: python: {sys.executable} cannot import the package attar '\n"
	"                 f'({error}): run make install, or pip install ./python')\n"
	"sys.exit(main(sys.argv[1:]))\n";

/* Where the package is installed; in a build folder, where it is built. */
static void add_folders(struct buf *b)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	buf_str(b, ATTAR_PYTHON_DIR);
	if (n > 0)
		buf_printf(b, ":%.*s/../../../python", (int)n, path);
}

/*
 * Python imports modules from PYTHONPATH before the loader runs. In the current directory, which a
 * relative or empty folder is in, anybody can have put them. 0 or -ENOMEM.
 */
static int keep_absolute_folders(void)
{
	const char *path = getenv("PYTHONPATH");
	struct buf kept _cleanup_(buf_done) = {0};

	for (const char *at = path; at && *at; at += strspn(at, ":")) {
		size_t n = strcspn(at, ":");

		if (*at == '/')
			buf_printf(&kept, "%s%.*s", kept.len ? ":" : "", (int)n, at);
		at += n;
	}
	if (buf_failed(&kept))
		return base_oom();
	if (!path || !strcmp(path, buf_text(&kept)))
		return 0;
	log_debug("PYTHONPATH: relative and empty folders are left out");
	return setenv("PYTHONPATH", buf_text(&kept), 1) < 0 ? base_oom() : 0;
}

/*
 * Until the interpreter handles them: a SIGINT ends the process when the interpreter is ready,
 * which would print a traceback before, and the requests of reports have nothing to report.
 */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
}

static int python_run(void *state, const struct command_words *line)
{
	const char *python = getenv("ATTAR_PYTHON");
	struct buf where _cleanup_(buf_done) = {0};
	const char **words _cleanup_free_ = calloc((size_t)line->n + 7, sizeof(*words));
	size_t n = 0;
	int error;

	if (!python || !*python)
		python = "python3";
	add_folders(&where);
	if (!words || buf_failed(&where) || keep_absolute_folders() < 0) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	words[n++] = python;
	words[n++] = "-c";
	words[n++] = loader;
	words[n++] = buf_text(&where);
	if (perf_prof_is_on()) {
		words[n++] = "--perf-prof"; /* see script.py */
		words[n++] = "--allow-exec";
	}
	for (int i = 0; i < line->n; i++)
		words[n++] = line->operands[i];
	hold_signals();
	execvp(python, (char *const *)words);
	error = errno;
	attar_fail(-error,
		"python: cannot run '%s': %s" ATTAR_FIX
		"install Python 3.9 or later, or set ATTAR_PYTHON to its path",
		CLIP(python), strerror(error));
	return report_error(error == ENOENT ? STATUS_UNSUPPORTED : STATUS_FAILED);
}

static const struct attar_option python_options[] = {
	{.letter = 'e',
		.name = "event",
		.value = "EVENT",
		.type = ATTAR_OPTION_TEXT,
		.help = "the events; may be repeated; default with --input: all events of the "
			"recording",
		.complete = "event"},
	{.letter = 'g', .name = "call-graph", .help = "record call stacks"},
	{.letter = 'v',
		.name = "verbose",
		.help = "print on stderr which file the script was loaded from"},
	{0}};

static const struct attar_example python_examples[] = {
	{"python -e sched:sched_wakeup help", "a script to begin with"},
	{"python -e sched:sched_wakeup script.py", "call a script for each wakeup"},
	{0},
};

const struct command command_python = {
	.name = "python",
	.usage = "[OPTIONS] SCRIPT [ARGUMENTS] [-- COMMAND]",
	.summary = "call the functions of a Python script for each event",
	.operands = (const struct command_operand
			[]){{"SCRIPT [ARGUMENTS]",
				    "a file or module of Python; its function sys__event(event) is "
				    "called for "
				    "each event sys:event, __sample__(event) for others"},
		{"-- COMMAND", "run this command, and exit when it does"},
		{"help", "(instead of SCRIPT) print a script with all fields of the events"},
		{"(others)", "-p, -t, -C, -i, -d, -N, -m, --input and the other common options of "
			     "'attar trace'"},
		{0}},
	.options = python_options,
	.max_operands = COMMAND_ANY,
	.passes_words = true,
	.complete = "file",
	.examples = python_examples,
	.run = python_run,
};
