/* SPDX-License-Identifier: MIT */
#include "run/counts/cpus.h"

#include "attar/private/perf.h"
#include "base/buf.h"
#include "perf/target.h"
#include "run/run.h"
#include "run/stop.h"

enum { SELECTED_MAX = 1024 }; /* threads, with --cpus by CPU */

static bool contains(const int *list, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* The intersection of the CPUs of the event and of the target, as in attar_target_opts. */
static char *common_cpus(const struct attar_run *run, const struct attar_event_spec *spec)
{
	struct buf list = {0};
	size_t n;
	const int *cpus = target_cpus(run->target, &n);

	for (size_t i = 0; i < n; i++)
		if (contains(spec->cpus, spec->n_cpus, cpus[i]))
			buf_list(&list, &cpus[i], 1);
	return buf_take(&list);
}

/*
 * The selected tasks, if they are so few that opening the event on each is cheap. What a command
 * does before its exec is not counted, unless others are counted with it.
 */
static int choose_selected(struct attar_run *run, struct counted *c)
{
	int r = run_selected_target(run, &c->own_target);
	size_t n = r == 0 ? target_instances(c->own_target) : 0;

	if (r == 0)
		c->own_target->by_exec = run->command.argv && !run->select.pids.n &&
					 !run->select.tids.n && !run->opts.cgroups;
	if (n <= SELECTED_MAX)
		return r;
	return attar_fail(-E2BIG,
		"'%s' is not counted in %zu threads, which would cost too much: the limit is %d",
		CLIP(c->pub.name), n, SELECTED_MAX);
}

/* Events of an uncore or hybrid PMU are opened on the CPUs that the PMU names. */
static int choose_target(struct attar_run *run, struct counted *c, struct attar_target **ret_target)
{
	const struct attar_event_spec *spec = c->pub.spec;
	struct attar_target_opts opts = {.size = sizeof(opts), .stop = &stop_of(run)->asked};
	char *cpus _cleanup_free_ = NULL;
	int r;

	*ret_target = run->target;
	if (c->of_selected && !attar_run_is_selected(run, NULL)) {
		r = choose_selected(run, c);
		*ret_target = c->own_target;
		return r;
	}
	if (spec->system_wide && target_kind_of(run->target) != ATTAR_TARGET_SYSTEM)
		return attar_fail(-EOPNOTSUPP,
			"'%s' counts a device, not a task" ATTAR_FIX
			"use -a to watch the whole system",
			CLIP(c->pub.name));
	if (!spec->n_cpus || target_kind_of(run->target) != ATTAR_TARGET_SYSTEM)
		return 0;
	cpus = common_cpus(run, spec);
	if (!cpus)
		return base_oom();
	if (!*cpus)
		return attar_fail(-EOPNOTSUPP, "'%s' cannot be counted on any of the watched CPUs",
			CLIP(c->pub.name));
	opts.cpus = cpus;
	r = attar_target_new(&opts, &c->own_target);
	*ret_target = c->own_target;
	return r;
}

/* Members of a group are scheduled together: all must have the same cpus=. */
static int check_cpus(const struct counted *c, size_t n)
{
	const struct attar_event_spec *first = c->pub.spec;

	for (size_t i = 1; i < n; i++) {
		const struct attar_event_spec *spec = c[i].pub.spec;

		if (spec->n_only_cpus != first->n_only_cpus ||
			(spec->n_only_cpus &&
				memcmp(spec->only_cpus, first->only_cpus,
					spec->n_only_cpus * sizeof(*spec->only_cpus)) != 0))
			return attar_fail(-EINVAL,
				"'%s' and '%s' are in one group and must have the same cpus=",
				CLIP(c->pub.name), CLIP(c[i].pub.name));
	}
	return 0;
}

int count_cpus_choose(
	struct attar_run *run, struct counted *c, size_t n, struct attar_target **ret_target)
{
	int r = check_cpus(c, n);

	return r == 0 ? choose_target(run, c, ret_target) : r;
}
