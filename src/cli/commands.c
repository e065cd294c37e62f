/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <ctype.h>
#include <string.h>

#include "base/options.h"
#include "base/suggest.h"
#include "cli/cli.h"

const struct command *const commands[] = {&command_list, &command_doctor, &command_user_events,
	&command_kcore, &command_symbols, &command_python, &command_stack, &command_diff,
	&command_agent, &command_fleet, &command_usdt, &command_help, &command_completion, NULL};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* ---- the command line ---- */

struct reader {
	const struct command *command;
	struct options options;
	struct command_words words;
	bool ended; /* the words that follow are operands */
	bool help, version;
};

/* A number such as -4@%edi, unless the command has digits as options. */
static bool is_number(const struct options *options, const char *word)
{
	for (char digit = '0'; digit <= '9'; digit++)
		if (options_find_letter(options, digit))
			return false;
	return isdigit((unsigned char)word[1]);
}

static bool is_operand(const struct reader *r, const char *word)
{
	return r->ended || word[0] != '-' || !word[1] || is_number(&r->options, word);
}

static int take_operand(struct reader *r, char *word)
{
	const struct command *c = r->command;

	if (r->words.n == c->max_operands)
		return attar_fail(-EINVAL, "unexpected argument '%s'" ATTAR_FIX "attar %s %s",
			CLIP(word), c->name, c->usage);
	r->words.operands[r->words.n++] = word;
	r->ended |= c->rest && (!*c->rest || !strcmp(c->rest, word));
	return 1;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help");
}

/* Returns the number of words used, or a negative errno. */
static int take_word(struct reader *r, char *word, const char *next)
{
	if (!r->ended && !strcmp(word, "--")) {
		r->ended = true;
		return 1;
	}
	if (is_operand(r, word))
		return take_operand(r, word);
	if (is_help(word)) {
		r->help = true;
		return next && !strcmp(next, "all") ? 2 : 1; /* as for profilers */
	}
	if (!strcmp(word, "-V") || !strcmp(word, "--version"))
		r->version = true;
	else
		return options_set_word(&r->options, word, next);
	return 1;
}

static int read_words(struct reader *r)
{
	int used = 0;

	for (int i = 1; i < r->words.argc && used >= 0; i += used)
		used = take_word(r, r->words.argv[i], r->words.argv[i + 1]);
	return MIN(used, 0);
}

static int print_help(const struct command *command)
{
	struct buf b _cleanup_(buf_done) = {0};

	help_command(&b, command);
	return print_buf(&b);
}

/* A command that continued after running out of memory printed incomplete results. */
static int check_stdout(int status)
{
	if (status != STATUS_OK || !base_oom_count())
		return status;
	attar_fail(-ENOMEM, "out of memory: the output is incomplete");
	return report_error(STATUS_FAILED);
}

int command_run(const struct command *c, int argc, char **argv)
{
	void *state _cleanup_free_ = calloc(1, c->state_size + 1);
	char **operands _cleanup_free_ = calloc((size_t)argc + 1, sizeof(*operands));
	struct reader r = {.command = c,
		.options.name = c->name,
		.words = {.argc = argc, .argv = argv, .operands = operands},
		.ended = c->passes_words && !(argc == 2 && is_help(argv[1]))};
	int e = state && operands ? 0 : base_oom(), status;

	if (state && c->defaults)
		memcpy(state, c->defaults, c->state_size);
	if (c->options)
		options_add(&r.options, "Options", c->options, state);
	if (e == 0)
		e = read_words(&r);
	if (e < 0)
		status = report_error(e == -ENOMEM ? STATUS_FAILED : STATUS_USAGE);
	else if (r.version)
		status = print_version();
	else if (r.help)
		status = print_help(c);
	else
		status = check_stdout(c->run(state, &r.words));
	options_done(&r.options);
	return status;
}

/* ---- unknown names ---- */

/* Commands that users know, whose names are not similar to names of attar. */
static const struct {
	const char *name, *ours;
} elsewhere[] = {
	{"report", "attar profile --input FILE"},
	{"script", "attar trace --input FILE"},
	{"sched", "attar rundelay"},
	{"timechart", "attar wall -o FILE.html"},
	{"mem", "attar ldlat-loads"},
	{"probe", "attar trace -e kprobe:FUNCTION"},
	{"archive", "attar record --portable"},
	{"daemon", "attar agent"},
	{"funccount", "attar stat -e kprobe:FUNCTION"},
	{"funclatency", "attar multi-trace -e kprobe:FUNCTION -e kretprobe:FUNCTION"},
	{"argdist", "attar num-dist"},
	/* of bcc and bpftrace */
	{"cachetop", "attar cachestat"},
	{"dbslower", "attar pgslow"},
	{"ext4slower", "attar fileslower"},
	{"filetop", "attar fileslower"},
	{"gethostlatency", "attar dnslat"},
	{"killsnoop", "attar signals"},
	{"offcputime", "attar offcpu"},
	{"runqslower", "attar rundelay --than 10ms"},
	{"tcptracer", "attar tcpstates"},
	{"threadsnoop", "attar forks"},
	{"wakeuptime", "attar offcpu"},
	{"xfsslower", "attar fileslower"},
	/* of the system */
	{"atop", "attar overview"},
	{"dig", "attar dnslat"},
	{"dns", "attar dnslat"},
	{"dstat", "attar overview"},
	{"flamegraph", "attar profile -g -o FILE.html"},
	{"free", "attar page-faults"},
	{"gdb", "attar stack -p PID"},
	{"heaptrack", "attar heap -- COMMAND"},
	{"htop", "attar oncpu -i 1s"},
	{"iftop", "attar tcptop"},
	{"iostat", "attar biolatency -D -i 1s"},
	{"iotop", "attar biotop -i 1s"},
	{"jstack", "attar stack -p PID"},
	{"leak", "attar memleak"},
	{"lockstat", "attar locks"},
	{"lsof", "attar fds"},
	{"ltrace", "attar trace -e uprobe:FUNCTION -p PID"},
	{"mpstat", "attar cpu-util -i 1s"},
	{"nethogs", "attar tcptop"},
	{"netstat", "attar tcptop"},
	{"pidstat", "attar task-state -i 1s"},
	{"postgres", "attar pgslow"},
	{"ps", "attar oncpu -i 1s"},
	{"pstack", "attar stack -p PID"},
	{"sar", "attar overview"},
	{"ss", "attar tcptop"},
	{"strace", "attar calls -p PID"},
	{"tcpdump", "attar tcplife"},
	{"time", "attar stat -- COMMAND"},
	{"top10", "attar overview"},
	{"uptime", "attar overview"},
	{"valgrind", "attar memleak"},
	{"vmstat", "attar cpu-util -i 1s"},
	{"why", "attar overview"},
};

static const char *find_elsewhere(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!strcmp(elsewhere[i].name, name))
			return elsewhere[i].ours;
	return NULL;
}

int command_unknown(const char *name)
{
	struct suggest near = {.word = name};
	const char *ours = find_elsewhere(name);

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&near, (*p)->name);
	for (const struct command *const *c = commands; *c; c++)
		suggest_offer(&near, (*c)->name);
	if (ours)
		attar_fail(-ENOENT, "unknown profiler or command '%s'" ATTAR_FIX "use '%s'", name,
			ours);
	else if (near.best)
		attar_fail(-ENOENT,
			"unknown profiler or command '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), near.best);
	else
		attar_fail(-ENOENT,
			"unknown profiler or command '%s'" ATTAR_FIX "'attar -h' lists them",
			CLIP(name));
	return report_error(STATUS_USAGE);
}
