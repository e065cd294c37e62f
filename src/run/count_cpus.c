/* SPDX-License-Identifier: MIT */
#include "run/count_cpus.h"

#include "base/buf.h"
#include "perf/target.h"
#include "run/run.h"

/* A CPU list in the format of attar_target_opts. */
static char *cpu_list(const int *cpus, size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%d", i ? "," : "", cpus[i]);
	return buf_take(&b);
}

static bool contains(const int *list, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* The intersection of the CPUs of the event and of the target. */
static char *common_cpus(const struct attar_run *run, const struct attar_event_spec *spec)
{
	VEC(int) both = {0};
	size_t n;
	const int *cpus = attar_target_cpus(run->target, &n);
	char *list = NULL;

	for (size_t i = 0; i < n; i++)
		if (contains(spec->cpus, spec->n_cpus, cpus[i]) && vec_push(&both, cpus[i]) < 0)
			goto out;
	list = cpu_list(both.at, both.n);
out:
	vec_done(&both);
	return list;
}

/* Events of an uncore or hybrid PMU are opened on the CPUs that the PMU names. */
static int choose_target(struct attar_run *run, struct counted *c, struct attar_target **ret_target)
{
	const struct attar_event_spec *spec = c->pub.spec;
	struct attar_target_opts opts = {.size = sizeof(opts), .stop = &run->stop.asked};
	char *cpus _cleanup_free_ = NULL;
	int r;

	*ret_target = run->target;
	if (spec->system_wide && attar_target_kind_of(run->target) != ATTAR_TARGET_SYSTEM)
		return attar_fail(-EOPNOTSUPP,
			"'%s' counts a device, not a task" ATTAR_FIX
			"use -a to watch the whole system",
			CLIP(c->pub.name));
	if (!spec->n_cpus || attar_target_kind_of(run->target) != ATTAR_TARGET_SYSTEM)
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

bool count_cpus_restricted(const struct attar_run *run)
{
	vec_each (&run->counts.list, c)
		if (c->pub.spec->n_only_cpus)
			return true;
	return false;
}

/* Members of a group are scheduled together: cpus= of one must be that of all. */
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
