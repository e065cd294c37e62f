/* SPDX-License-Identifier: MIT */
/*
 * The command line of attar fleet: the values of its own options, then the profiler with its
 * options. Those for outputs are for this process; all others are also checked here, and sent to
 * the hosts.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "attar/private/report.h"
#include "base/user_file.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"

enum { SSH_WORDS_MAX = 64 };

/* ---- options of attar fleet ---- */

static int add_host(struct fleet_args *args, const char *name, size_t n)
{
	char *host = strndup(name, n);

	if (!host || vec_push(&args->hosts, host) < 0) {
		free(host);
		return base_oom();
	}
	if (!n || *host == '-')
		return attar_fail(-EINVAL, "--hosts: '%s' is not a host name", CLIP(host));
	for (const char *c = host; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return attar_fail(-EINVAL,
				"--hosts: '%s' contains a space or a control character" ATTAR_FIX
				"separate hosts with commas",
				CLIP(host));
	for (size_t i = 0; i + 1 < args->hosts.n; i++)
		if (!strcmp(args->hosts.at[i], host))
			return attar_fail(-EINVAL, "--hosts: '%s' is given twice", CLIP(host));
	if (args->hosts.n > FLEET_HOSTS_MAX)
		return attar_fail(-E2BIG,
			"--hosts: more than %d hosts" ATTAR_FIX
			"use 'attar agent' and a database (docs/fleet.md)",
			FLEET_HOSTS_MAX);
	return 0;
}

static int add_hosts(struct fleet_args *args, const char *list)
{
	for (;;) {
		size_t n = strcspn(list, ",");
		int r = add_host(args, list, n);

		if (r < 0 || !list[n])
			return r;
		list += n + 1;
	}
}

static int check_pulls(const struct attar_texts *pulls)
{
	for (size_t i = 0; i < pulls->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(pulls->at[i], pulls->at[k]))
				return attar_fail(
					-EINVAL, "--pull: '%s' is given twice", CLIP(pulls->at[i]));
	return pulls->n <= FLEET_HOSTS_MAX
		       ? 0
		       : attar_fail(-E2BIG, "--pull: more than %d addresses", FLEET_HOSTS_MAX);
}

static int check_ssh(const struct fleet *f)
{
	char *copy _cleanup_free_ = strdup(f->order.ssh), *words[SSH_WORDS_MAX + 1];
	int n = copy ? words_split(copy, words, SSH_WORDS_MAX) : base_oom();

	if (n < 0)
		return attar_context(n, "--ssh");
	if (!n)
		return attar_fail(-EINVAL, "--ssh: the command is empty");
	return 0;
}

static int open_copy(struct fleet *f)
{
	const char *path = f->order.copy;
	struct stat st;

	f->order.copy_fd = user_file_open(path, 0);
	if (f->order.copy_fd < 0 || fstat(f->order.copy_fd, &st) < 0)
		return attar_fail(-EINVAL, "--copy: '%s': %s", CLIP(path), strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return attar_fail(-EINVAL, "--copy: '%s' is not an executable file", CLIP(path));
	f->order.copy_size = (uint64_t)st.st_size;
	return 0;
}

static int check_options(struct fleet *f)
{
	const char *attar = f->order.attar;
	int r = f->args.host_list ? add_hosts(&f->args, f->args.host_list) : 0;

	if (r == 0)
		r = check_pulls(&f->args.pulls);
	if (r == 0)
		r = check_ssh(f);
	if (r == 0 && f->order.copy)
		r = open_copy(f);
	if (r == 0 && *attar == '-')
		r = attar_fail(-EINVAL, "--attar: '%s' is not a path", CLIP(attar));
	return r;
}

/* ---- the profiler and its options ---- */

static void add_word(struct fleet *f, const char *word)
{
	buf_add(&f->order.words, word, strlen(word) + 1);
}

/* Sets an option of the profiler. Returns the number of words, or a negative errno. */
static int take_word(struct fleet *f, char **words)
{
	enum { VALUES = offsetof(struct output_options, output_table) };
	char before[VALUES];
	int r;

	memcpy(before, &f->options, VALUES);
	r = args_set(f->run, words[0], words[1]);
	/* what changed the options for outputs is not for the hosts */
	if (r > 0 && !memcmp(before, &f->options, VALUES))
		for (int i = 0; i < r; i++)
			add_word(f, words[i]);
	return r;
}

/* What the outputs here need of the hosts. */
struct needs {
	bool trees, spans, states;
};

static void add_needs(struct needs *needs, const struct attar_sink *sink)
{
	if (!sink)
		return;
	needs->trees |= sink->wants_trees;
	needs->spans |= sink->wants_spans;
	needs->states |= sink->wants_states;
}

static struct needs needs_of(const struct output_options *options)
{
	struct needs needs = {.trees = options->flame_graphs.n > 0, .spans = options->time_lines};

	if (options->format)
		add_needs(&needs, attar_sink_find(options->format));
	for (size_t i = 0; i < options->outputs.n; i++)
		add_needs(&needs, sink_of_path(options->outputs.at[i]));
	for (size_t i = 0; i < options->flame_graphs.n; i++)
		add_needs(&needs, sink_of_path(options->flame_graphs.at[i]));
	return needs;
}

/* What makes the hosts send it. */
static void add_format(struct fleet *f)
{
	unsigned gives = attar_run_profiler(f->run)->uses;
	struct needs needs = needs_of(&f->options);
	char spans[32];

	add_word(f, "--format");
	add_word(f, "json");
	if (gives & ATTAR_GIVES_TREE && needs.trees) {
		add_word(f, "--flame-graph");
		add_word(f, "/dev/null");
	}
	if ((needs.spans && gives & (ATTAR_GIVES_SPANS | ATTAR_GIVES_TIMES)) ||
		(needs.states && gives & ATTAR_GIVES_STATES)) {
		snprintf(spans, sizeof(spans), "%llu", (unsigned long long)f->options.spans);
		add_word(f, "--time-lines");
		add_word(f, "--spans");
		add_word(f, spans);
	}
}

static int new_run(struct fleet *f, const char *profiler)
{
	int r = output_options_run_new(profiler, &f->options, &f->run);

	if (r == -ENOENT) {
		command_unknown(profiler);
		attar_error_clear();
		return r;
	}
	if (r == 0 && output_options_has_own(attar_run_profiler(f->run)))
		return attar_fail(-EINVAL,
			"'attar %s' writes a file on each host instead of a report, so there is "
			"nothing to merge",
			profiler);
	return r;
}

static int take_profiler(struct fleet *f, char **words)
{
	int r = new_run(f, words[0]);

	if (r < 0)
		return r;
	add_word(f, *words++);
	for (; *words && strcmp(*words, "--"); words += r) {
		r = take_word(f, words);
		if (r < 0)
			return r;
	}
	add_format(f);
	f->order.has_command = *words != NULL;
	if (*words && !words[1])
		return attar_fail(-EINVAL, "expected a command after --");
	for (; *words; words++)
		add_word(f, *words);
	return buf_failed(&f->order.words) ? base_oom() : run_set_preset(f->run);
}

/* Returns the number of words of a --pull; 0: it is something else. */
static int pull_words(char **words)
{
	return !strcmp(words[0], "--pull") && words[1] ? 2 : !strncmp(words[0], "--pull=", 7);
}

char **fleet_words(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 2, sizeof(*words));
	int n = 1, pulls = 0, end = 0;

	while (end < argc && strcmp(argv[end], "--"))
		end++;
	for (int i = 1; words && i < end; i += pull_words(argv + i) ?: 1) {
		for (int k = 0; k < pull_words(argv + i); k++)
			words[n++] = argv[i + k];
		pulls += pull_words(argv + i) != 0;
	}
	if (pulls < 2) {
		free(words);
		return NULL;
	}
	words[0] = (char *)"fleet";
	for (int i = 0; i < argc; i += (i < end ? pull_words(argv + i) : 0) ?: 1)
		if (i >= end || !pull_words(argv + i))
			words[n++] = argv[i];
	return words;
}

int fleet_args_take(struct fleet *f, char **words)
{
	struct fleet_args *args = &f->args;
	int r = check_options(f);

	if (r < 0 || args->serve)
		return r;
	if (!args->hosts.n && !args->pulls.n)
		return attar_fail(-EINVAL, "fleet requires hosts" ATTAR_FIX
					   "attar fleet -H host1,host2 profile -d 10s");
	if (!*words)
		return attar_fail(-EINVAL,
			"fleet requires a profiler" ATTAR_FIX "attar fleet %s %s profile -d 10s",
			args->hosts.n ? "-H" : "--pull",
			CLIP(args->hosts.n ? args->hosts.at[0] : args->pulls.at[0]));
	r = take_profiler(f, words);
	if (r == 0 && args->pulls.n && f->order.has_command)
		return attar_fail(-EINVAL,
			"no command can run on hosts that push (--pull)" ATTAR_FIX
			"run it there: attar record --push ADDRESS -- COMMAND");
	return r;
}
