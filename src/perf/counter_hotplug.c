/* SPDX-License-Identifier: MIT */
/*
 * CPU hotplug. The event of a CPU that went offline stops, with its count; when the CPU returns, a
 * new event is opened in the same instance. The old count is stored negatively in the fd's base, so
 * that the new counts are added to it. The CPU has already run for a moment by then, so the count
 * has quality PARTIAL from then on.
 */
#include "perf/counter_hotplug.h"

#include <sys/ioctl.h>

#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/group.h"
#include "perf/negotiate.h"
#include "perf/target.h"

/* A single counter, or the group that it leads. */
struct team {
	struct attar_counter *const *members;
	size_t n;
};

static struct team group_of(struct attar_counter *const *c)
{
	struct attar_group *g = (*c)->group;

	return g ? (struct team){g->members, g->n} : (struct team){c, 1};
}

static bool leads(const struct attar_counter *c)
{
	return !c->group || c == c->group->members[0];
}

/* ---- a CPU goes offline ---- */

/* The base of a fd that was opened again is the count before, negated, until a reset. */
static uint64_t count_before(uint64_t base)
{
	return (int64_t)base < 0 ? -base : 0;
}

static void mark_dead(struct attar_counter *c, struct counter_fd *it)
{
	struct attar_value v;

	if (counter_read_fd(c, it, &v) < 0 || v.quality == ATTAR_QUALITY_ERROR)
		v = (struct attar_value){.raw = count_before(it->base.raw),
			.time_enabled = count_before(it->base.time_enabled),
			.time_running = count_before(it->base.time_running),
			.lost = count_before(it->base.lost)};
	it->base = (struct counter_base){.raw = -v.raw,
		.time_enabled = -v.time_enabled,
		.time_running = -v.time_running,
		.lost = -v.lost};
	it->gone = true;
	if (c->group)
		c->group->plain = false;
}

/* The leader last: reading it gives the values of all members. */
static void mark_group_dead(const struct team *team, size_t instance)
{
	for (size_t m = team->n; m-- > 0;)
		mark_dead(team->members[m], &team->members[m]->fds.at[instance]);
}

/* ---- a CPU comes online ---- */

/* Opens all or none; ret_fds has space for each. */
static int open_group_at(const struct team *team, struct instance p, int *ret_fds)
{
	for (size_t m = 0; m < team->n; m++) {
		int fd = instance_open(team->members[m], &p);

		if (fd < 0) {
			while (m > 0)
				close(ret_fds[--m]);
			return fd;
		}
		ret_fds[m] = fd;
		if (m == 0)
			p.group_fd = fd;
	}
	return 0;
}

/* A ring stays valid on the fd that it was mapped from, even after its event has stopped. */
static void let_go(struct attar_ring **rings, size_t n, int fd)
{
	for (size_t i = 0; i < n; i++)
		if (rings[i]->fd == fd) {
			rings[i]->owns_fd = true;
			return;
		}
	close(fd);
}

static void put_fd(const struct attar_target *t, struct counter_fd *it, int fd)
{
	it->fd = fd;
	it->departures = hotplug_departures(&t->hotplug, it->cpu);
	it->gone = false;
	it->gap = it->fresh = true;
	it->id = 0;
	it->id = counter_id(it);
}

static int not_again(const struct attar_counter *c, int cpu, int error)
{
	if (error == -ENOMEM)
		return base_oom();
	if (error != -ENODEV) /* otherwise the CPU is offline again */
		log_note("'%s' is not monitored on CPU %d, which came online: %s", CLIP(c->name),
			cpu, strerror(-error));
	return 0;
}

static int reopen(const struct team *team, const struct attar_target *t, size_t instance,
	struct attar_ring **rings, size_t n_rings)
{
	const struct counter_fd *it = &team->members[0]->fds.at[instance];
	int *fds _cleanup_free_ = calloc(team->n, sizeof(*fds));
	int r = fds ? open_group_at(team, counter_instance(t, it->cpu, it->cgroup), fds) : -ENOMEM;

	if (r < 0)
		return not_again(team->members[0], it->cpu, r);
	for (size_t m = 0; m < team->n; m++) {
		struct counter_fd *mine = &team->members[m]->fds.at[instance];

		let_go(rings, n_rings, mine->fd);
		put_fd(t, mine, fds[m]);
	}
	return 0;
}

static int counter_hotplug_append(
	const struct team *team, const struct attar_target *t, int cpu, int cgroup)
{
	int *fds _cleanup_free_ = calloc(team->n, sizeof(*fds));
	int r = fds ? 0 : -ENOMEM;

	for (size_t m = 0; r == 0 && m < team->n; m++)
		r = vec_reserve(&team->members[m]->fds, 1);
	if (r == 0)
		r = open_group_at(team, counter_instance(t, cpu, cgroup), fds);
	if (r < 0)
		return not_again(team->members[0], cpu, r);
	for (size_t m = 0; m < team->n; m++) {
		struct counter_fd *mine = vec_add(&team->members[m]->fds);

		mine->cpu = cpu;
		mine->tid = -1;
		mine->cgroup = cgroup;
		put_fd(t, mine, fds[m]);
	}
	return 0;
}

static bool has_instance(const struct attar_counter *c, int cpu, int cgroup)
{
	vec_each (&c->fds, it)
		if (it->cpu == cpu && it->cgroup == cgroup)
			return true;
	return false;
}

/* Adds CPUs that did not exist when the target was created. */
static int append_all(const struct team *team, const struct attar_target *t)
{
	bool in_groups = t->kind == ATTAR_TARGET_CGROUPS && !team->members[0]->every_task;
	int first = in_groups ? 0 : -1, end = in_groups ? (int)t->cgroups.n : 0;

	vec_each (&t->cpus, cpu)
		for (int cgroup = first; cgroup < end; cgroup++) {
			int r = 0;

			if (counter_covers(team->members[0], *cpu) &&
				hotplug_is_online(&t->hotplug, *cpu) &&
				!has_instance(team->members[0], *cpu, cgroup))
				r = counter_hotplug_append(team, t, *cpu, cgroup);
			if (r < 0)
				return r;
		}
	return 0;
}

static int follow_team(const struct team *team, const struct attar_target *t,
	struct attar_ring **rings, size_t n_rings)
{
	struct attar_counter *leader = team->members[0];

	for (size_t i = 0; i < leader->fds.n; i++) {
		const struct counter_fd *it = &leader->fds.at[i];
		int r = 0;

		if (!it->gone && it->departures != hotplug_departures(&t->hotplug, it->cpu))
			mark_group_dead(team, i);
		if (it->gone && hotplug_is_online(&t->hotplug, it->cpu))
			r = reopen(team, t, i, rings, n_rings);
		if (r < 0)
			return r;
	}
	return t->every_cpu ? append_all(team, t) : 0;
}

/* ---- enabling new events ---- */

static int counter_hotplug_start(
	struct attar_counter *c, struct counter_fd *it, struct attar_ring **rings, size_t n_rings)
{
	int r = counter_restore(c, it);

	it->fresh = false;
	if (r == 0 && n_rings)
		r = ring_redirect(rings, n_rings, c, it);
	if (r == 0 && leads(c) &&
		ioctl(it->fd, c->enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0)
		r = attar_fail(-errno, "cannot enable '%s' on CPU %d: %s", CLIP(c->name), it->cpu,
			strerror(errno));
	return r;
}

/* Siblings first: they count once their leader is enabled. */
static int start_team(const struct team *team, struct attar_ring **rings, size_t n_rings)
{
	for (size_t m = team->n; m-- > 0;)
		vec_each (&team->members[m]->fds, it) {
			int r = it->fresh ? counter_hotplug_start(
						    team->members[m], it, rings, n_rings)
					  : 0;

			if (r < 0)
				return r;
		}
	return 0;
}

/* ---- both ---- */

static int know_new_cpus(struct attar_target *t)
{
	for (size_t i = 0; t->every_cpu && i < t->hotplug.online.n; i++) {
		int cpu = t->hotplug.online.at[i];
		size_t at = t->cpus.n;

		while (at && t->cpus.at[at - 1] > cpu)
			at--;
		if (at && t->cpus.at[at - 1] == cpu)
			continue;
		if (vec_reserve(&t->cpus, 1) < 0)
			return base_oom();
		memmove(&t->cpus.at[at + 1], &t->cpus.at[at],
			(t->cpus.n++ - at) * sizeof(*t->cpus.at));
		t->cpus.at[at] = cpu;
	}
	return 0;
}

static void counter_hotplug_note(const struct attar_target *t)
{
	const struct hotplug *h = &t->hotplug;

	vec_each (&t->cpus, cpu) {
		bool went = parse_ints_have(&h->went, *cpu), on = hotplug_is_online(h, *cpu);

		if (went && !on)
			log_note(
				"CPU %d went offline: it is not monitored until it is online again",
				*cpu);
		else if (went || parse_ints_have(&h->came, *cpu))
			log_note("CPU %d came online and is monitored from now on; events just "
				 "before are missing",
				*cpu);
	}
}

static int counter_hotplug_look(struct attar_target *t)
{
	int r = hotplug_look(&t->hotplug);

	if (r == 0)
		r = know_new_cpus(t);
	if (r == 0)
		counter_hotplug_note(t);
	return r;
}

int counter_hotplug_follow(struct attar_target *t, struct attar_counter *const *counters, size_t n,
	struct attar_ring ***rings, size_t *n_rings)
{
	bool changed = false;
	int r = t->listens ? counter_hotplug_look(t) : 0;

	for (size_t i = 0; r == 0 && t->listens && i < n; i++) {
		struct team team = group_of(&counters[i]);

		if (!leads(counters[i]) || counters[i]->changes_seen == t->hotplug.changes)
			continue;
		counters[i]->changes_seen = t->hotplug.changes;
		changed = true;
		r = follow_team(&team, t, rings ? *rings : NULL, rings ? *n_rings : 0);
	}
	if (r == 0 && changed && rings)
		r = rings_extend(rings, n_rings, counters, n);
	for (size_t i = 0; r == 0 && changed && i < n; i++) {
		struct team team = group_of(&counters[i]);

		if (leads(counters[i]))
			r = start_team(&team, rings ? *rings : NULL, rings ? *n_rings : 0);
	}
	return r < 0 ? r : changed;
}

int attar_target_follow_cpus(
	struct attar_target *target, struct attar_counter *const *counters, size_t n)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(counters || !n, "counters");

	return counter_hotplug_follow(target, counters, n, NULL, NULL);
}
