/* SPDX-License-Identifier: MIT */
/* Creates the target from the options, or one of this user's processes only. */
#include <stdio.h>
#include <sys/stat.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/escape.h"
#include "base/proc.h"
#include "perf/kernel.h"
#include "perf/target.h"
#include "run/parts/target_names.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/input/range.h"
#include "run/input/replay.h"
#include "run/parts/group_select.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/stop.h"

enum { ENVIRONMENT_MAX = 8 }; /* of run_add_environment() */

static int add_own_process(void *ctx, pid_t pid)
{
	struct buf *pids = ctx;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid != getpid() && stat(path, &st) == 0 && st.st_uid == geteuid())
		buf_list(pids, &pid, 1);
	return 0;
}

/* "1,22,333": the processes of this user, without this one. */
static int own_processes(struct buf *ret_pids)
{
	int r = proc_each_process(add_own_process, ret_pids);

	return r == 0 && buf_failed(ret_pids) ? base_oom() : r;
}

static bool counts_are_restricted(const struct attar_run *run)
{
	vec_each (&counts_of(run)->list, c)
		if (c->pub.spec->n_only_cpus)
			return true;
	return false;
}

bool exited_threads_reported(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	bool command = run->command.argv && !run_watches_system(run);

	return threads_of(run)->each && !run->replay &&
	       kernel_get()->version >= KERNEL_VERSION_OF(6, 12) && !o->interval && !o->cpus &&
	       !o->tids && !o->cgroups && (o->pids || command);
}

/* Counting needs one instance per thread; rings and per-CPU counts need one per thread and CPU. */
static bool is_any_cpu(const struct attar_run *run, const struct attar_target_opts *opts)
{
	bool tasks = opts->pids || opts->tids || opts->every_thread ||
		     (opts->command && !opts->system_wide);

	return tasks && !opts->cpus && !opts->cgroups && !run->sources.list.n &&
	       !counts_of(run)->each_cpu && !counts_are_restricted(run) &&
	       !exited_threads_reported(run);
}

/* --cpus, which selects events but not the CPUs of the target. */
static int check_cpus(struct attar_run *run)
{
	run->select.cpus.n = 0;
	return target_parse_cpus(run->opts.cpus, &run->select.cpus);
}

/* With other targets, the command only determines the duration, unless the profiler selects it. */
static int check_children(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	const char *other = o->all_cpus ? "--all-cpus" : NULL;

	if (!o->no_children || o->pids || !run->command.argv)
		return 0;
	if (!other && !run->select.is_on)
		other = o->cpus ? "--cpus" : o->tids ? "--tids" : o->cgroups ? "--cgroups" : NULL;
	if (!other)
		return 0;
	return attar_fail(-EINVAL,
		"--no-children conflicts with %s, which selects what is watched: the command only "
		"determines the duration",
		other);
}

char *const *run_command(const struct attar_run *run)
{
	CHECK_OWN_OR(run, "run", NULL);

	return run->command.argv;
}

int run_add_environment(struct attar_run *run, const char *variable)
{
	CHECK_OWN(run, "run");

	const char *text = intern_text(&run->texts, variable);

	return text && vec_push(&run->command.environment, text) >= 0 ? 0 : base_oom();
}

/* The variables of the profiler, then those for events of programs. */
static int put_environment(struct attar_run *run, const char **environment)
{
	size_t n = run->command.environment.n;

	if (n > ENVIRONMENT_MAX)
		return attar_fail(-E2BIG, "more than %d variables for the environment of a command",
			ENVIRONMENT_MAX);
	if (n)
		memcpy(environment, run->command.environment.at, n * sizeof(*environment));
	user_events_environment(&run->sources.programs.events, environment + n);
	return 0;
}

int run_open_target(struct attar_run *run, bool own)
{
	struct buf pids _cleanup_(buf_done) = {0};
	const char *environment[ENVIRONMENT_MAX + 3];
	struct attar_target_opts opts = {.size = sizeof(opts),
		.cpus = run->select.has_all_cpus ? NULL : run->opts.cpus,
		.pids = run->select.is_on ? NULL : run->opts.pids,
		.tids = run->select.is_on ? NULL : run->opts.tids,
		.cgroups = run->select.is_on ? NULL : run->opts.cgroups,
		.command = run->command.argv,
		.environment = environment,
		.prepare = run->hooks.prepare,
		.prepare_ctx = run->hooks.ctx,
		.stop = &stop_of(run)->asked,
		.descendants = !run->opts.no_children,
		.only_threads = run->opts.no_children,
		.skip_ended = true};
	int r;

	r = put_environment(run, environment);
	if (r < 0)
		return r;
	if (run->opts.all_cpus && (opts.pids || opts.tids || run->opts.cgroups))
		return attar_fail(
			-EINVAL, "--all-cpus conflicts with --pids, --tids and --cgroups");
	r = check_children(run);
	if (r == 0)
		r = target_names_check(run);
	if (r < 0)
		return r;
	opts.every_thread = threads_of(run)->each && !own && run_watches_system(run);
	opts.system_wide =
		run->command.argv && !own && !opts.every_thread && run_watches_system(run);
	if (own) {
		r = own_processes(&pids);
		if (r < 0)
			return r;
		if (!pids.len)
			return attar_fail(-EACCES, "this user has no other processes to watch");
		opts.pids = pids.data;
		opts.skip_refused = true;
		opts.descendants = false;
	}
	opts.any_cpu = is_any_cpu(run, &opts);
	run->target = attar_target_free(run->target);
	r = run->select.has_all_cpus ? check_cpus(run) : 0;
	if (r == 0)
		r = attar_target_new(&opts, &run->target);
	if (r == 0 && run->select.is_on && !run->select.has_names) /* others may match later */
		r = target_end_with(run->target, &run->select.pids, &run->select.tids);
	if (r == 0)
		r = groups_open_target(run);
	return r == 0 ? rings_choose(run) : r;
}

int run_selected_target(struct attar_run *run, struct attar_target **ret_target)
{
	struct attar_target_opts opts = {.size = sizeof(opts),
		.cpus = run->opts.cpus,
		.cgroups = run->opts.cgroups,
		.any_cpu = !run->opts.cpus && !run->opts.cgroups,
		.skip_refused = true,
		.stop = &stop_of(run)->asked,
		.descendants = !run->opts.no_children,
		.only_threads = run->opts.no_children};
	struct buf pids _cleanup_(buf_done) = {0}, tids _cleanup_(buf_done) = {0};
	const int command = select_command_pid(run);

	buf_list(&pids, run->select.pids.at, run->select.pids.n);
	if (command && !run->opts.cgroups)
		buf_list(&pids, &command, 1);
	buf_list(&tids, run->select.tids.at, run->select.tids.n);
	if (buf_failed(&pids) || buf_failed(&tids))
		return base_oom();
	opts.pids = pids.len ? pids.data : NULL;
	opts.tids = tids.len ? tids.data : NULL;
	return attar_target_new(&opts, ret_target);
}

size_t run_target_tids(const struct attar_run *run, const int **ret_tids)
{
	CHECK_OWN_OR(run, "run", 0);

	*ret_tids = run->target ? run->target->tids.at : NULL;
	return run->target ? run->target->tids.n : 0;
}

const char *run_target_words(struct attar_run *run)
{
	CHECK_OWN_OR(run, "run", NULL);

	const struct common_opts *o = &run->opts;
	const struct {
		const char *option, *value;
	} options[] = {
		{"-p", o->pids}, {"-t", o->tids}, {"-C", o->cpus}, {"--cgroups", o->cgroups}};
	struct buf words _cleanup_(buf_done) = {0};
	const char *text;

	if (run->replay) {
		if (!run->replay->range.is_of_box) {
			buf_str(&words, " --input ");
			escape_shell(&words, o->input);
		}
		range_words(o, &words);
	}
	if (o->all_cpus && run->command.argv)
		buf_str(&words, " -a");
	if (o->no_children)
		buf_str(&words, " --no-children");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!options[i].value)
			continue;
		buf_printf(&words, " %s ", options[i].option);
		escape_shell(&words, options[i].value);
	}
	if (run->command.argv)
		buf_str(&words, " --");
	for (char *const *word = run->command.argv; word && *word; word++) {
		buf_char(&words, ' ');
		escape_shell(&words, *word);
	}
	text = buf_failed(&words) ? NULL : intern_text(&run->texts, buf_text(&words));
	if (!text)
		base_oom();
	return text;
}
