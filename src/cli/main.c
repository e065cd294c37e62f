/* SPDX-License-Identifier: MIT */
/* The attar command: selects the profiler or command, and returns its exit status. */
#include <stdio.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output_options.h"
#include "cli/perf_prof.h"
#include "cli/signals.h"

static int overview(void)
{
	struct buf b _cleanup_(buf_done) = {0};

	help_overview(&b);
	return print_buf(&b);
}

static int beginnings(void)
{
	struct buf b _cleanup_(buf_done) = {0};

	help_beginnings(&b);
	return print_buf(&b);
}

struct help {
	bool man, json;
};

static void help_of_all(struct buf *b, const struct help *h)
{
	if (h->man)
		help_man_overview(b);
	else if (h->json)
		help_json(b);
	else
		help_overview(b);
}

static void help_of_command(struct buf *b, const struct help *h, const struct command *command)
{
	if (h->man)
		help_man_command(b, command);
	else if (h->json)
		help_json_command(b, command);
	else
		help_command_page(b, command);
}

static void help_of_profiler(struct buf *b, const struct help *h, const struct attar_run *run)
{
	const struct attar_profiler *profiler = attar_run_profiler(run);
	const char *page = help_page(profiler->name);

	if (h->man) {
		help_man(b, run, profiler);
	} else if (h->json) {
		help_json_profiler(b, run, profiler);
	} else {
		if (page)
			buf_printf(b, "%s\n", page);
		help_profiler(b, run, profiler);
	}
}

/* attar help PROFILER prints the complete manual as text; with --man, in roff for man(1). */
static int help_run(void *state, const struct command_words *words)
{
	const char *name = words->operands[0];
	const struct help *h = state;
	struct buf b _cleanup_(buf_done) = {0};
	struct output_options output;
	struct attar_run *run;
	int r;

	if (!name) {
		help_of_all(&b, h);
	} else if (command_find(name)) {
		help_of_command(&b, h, command_find(name));
	} else {
		r = output_options_run_new(name, &output, &run);
		if (r < 0)
			return r == -ENOENT ? command_unknown(name) : report_error(STATUS_FAILED);
		help_of_profiler(&b, h, run);
		attar_run_free(run);
	}
	return print_buf(&b);
}

static const struct attar_option help_options[] = {ATTAR_FLAG(struct help, man, 0, "man", NULL),
	ATTAR_FLAG(struct help, json, 0, "json",
		"print a JSON object for programs: all names, or the options and page of NAME"),
	{0}};

static const struct attar_example help_examples[] = {
	{"help profile", "how to read the results of a profiler, and its options"},
	{"help --json", "names, summaries and examples of all profilers and commands, in JSON"},
	{0},
};

const struct command command_help = {
	.name = "help",
	.usage = "[NAME]",
	.summary = "show the manual of a profiler or command",
	.options = help_options,
	.state_size = sizeof(struct help),
	.max_operands = 1,
	.complete = "name",
	.examples = help_examples,
	.run = help_run,
};

static int completion_run(void *state, const struct command_words *words)
{
	const char *shell = words->n ? words->operands[0] : "";
	struct buf b _cleanup_(buf_done) = {0};

	if (!complete_script(&b, shell)) {
		attar_fail(-EINVAL,
			"completion: '%s' is not a shell" ATTAR_FIX
			"specify bash, zsh or fish, as in: attar completion bash",
			CLIP(shell));
		return report_error(STATUS_USAGE);
	}
	return print_buf(&b);
}

static const struct attar_example completion_examples[] = {
	{"completion bash", "a script for bash: source <(attar completion bash)"},
	{0},
};

const struct command command_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.summary = "print a completion script for a shell",
	.max_operands = 1,
	.complete = "shell",
	.examples = completion_examples,
	.run = completion_run,
};

int print_version(void)
{
	struct buf b _cleanup_(buf_done) = {0};

	buf_printf(&b, "attar %s\n", attar_version());
	return print_buf(&b);
}

/* The version, and which libraries this program has. */
static int print_build(void)
{
	static const struct {
		const char *what, *names;
	} lists[] = {{"linked", ATTAR_LINKED}, {"loaded on demand", ATTAR_LOADED},
		{"missing", ATTAR_LEFT_OUT}};
	struct buf b _cleanup_(buf_done) = {0};

	buf_printf(&b, "attar %s\n", attar_version());
#ifdef ATTAR_STATIC
	buf_str(&b, "static: cannot load shared libraries\n");
#endif
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (*lists[i].names)
			buf_printf(&b, "libraries %s: %s\n", lists[i].what, lists[i].names);
	return print_buf(&b);
}

static bool is_one_of(const char *arg, const char *a, const char *b)
{
	return !strcmp(arg, a) || !strcmp(arg, b);
}

/* attar --symbols FILE [PROFILER ...], as perf-prof has it: the addresses are on standard input. */
static int run_symbols(char *file)
{
	char name[] = "symbols", *words[] = {name, file, NULL};

	if (file)
		return command_run(&command_symbols, 2, words);
	attar_fail(-EINVAL, "--symbols needs a value" ATTAR_FIX "--symbols FILE");
	return report_error(STATUS_USAGE);
}

int main(int argc, char **argv)
{
	const struct command *command;

	attar_reader_main(argc, argv);
	if (!secure_getenv("ATTAR_NO_READERS"))
		attar_symbols_use_readers("/proc/self/exe");
	perf_prof_begin(argc ? argv[0] : NULL);
	console_init();
	signals_init();
	if (argc < 2) {
		beginnings();
		return STATUS_USAGE;
	}
	if (is_one_of(argv[1], "-h", "--help"))
		return overview();
	if (!strcmp(argv[1], "version"))
		return print_build();
	if (is_one_of(argv[1], "--version", "-V"))
		return print_version();
	if (!strcmp(argv[1], "--symbols"))
		return run_symbols(argv[2]);
	if (!strncmp(argv[1], "--symbols=", 10))
		return run_symbols(argv[1] + 10);
	command = command_find(argv[1]);
	if (command)
		return command_run(command, argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		attar_fail(-EINVAL,
			"expected a profiler before '%s'" ATTAR_FIX "attar -h lists them",
			CLIP(argv[1]));
		return report_error(STATUS_USAGE);
	}
	return command_profiler(argc - 1, argv + 1);
}
