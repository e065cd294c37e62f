/* SPDX-License-Identifier: MIT */
/* Who uses the CPUs for which others wait. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cgroups.h"
#include "overview/findings.h"

enum {
	USERS = 3,          /* that are named */
	USED = 20,          /* percent of a CPU */
	WANTS = 90,         /* percent of the active time of a process */
	PROCESSES_MAX = 64, /* the most active ones, whose control groups are read */
	ANCESTORS_MAX = 16,
	GROUP_BYTES = 96,
};

/* Processes with one name in one control group; or their children that have ended. */
struct user {
	const struct usage *usage; /* of the most active one */
	bool is_children;
	unsigned processes;
	uint64_t ticks;
	char group[GROUP_BYTES]; /* "": the group of all */
};

static int by_ticks(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return (x->ticks < y->ticks) - (x->ticks > y->ticks);
}

static void add_user(
	struct user *users, size_t *n, const struct usage *usage, uint64_t ticks, bool is_children)
{
	if (ticks)
		users[(*n)++] = (struct user){
			.usage = usage, .is_children = is_children, .processes = 1, .ticks = ticks};
}

/* The first ancestor that has not ended: it gets the times of those that it waits for. 0: none. */
static pid_t heir_of(const struct usages *from, const struct usages *to, const struct usage *ended)
{
	const struct usage *parent = usages_of(from, ended->parent);

	for (int i = 0; parent && i < ANCESTORS_MAX; i++) {
		if (usages_same(to, parent))
			return parent->pid;
		parent = usages_of(from, parent->parent);
	}
	return 0;
}

/* In this time: without what those had used before that have ended since. */
static uint64_t children_since(const struct usages *from, const struct usages *to,
	const struct usage *before, const struct usage *now)
{
	uint64_t ticks = now->children - before->children;

	for (size_t i = 0; ticks && i < from->n; i++) {
		const struct usage *child = &from->at[i];
		uint64_t had = child->cpu + child->children;

		if (had && !usages_same(to, child) && heir_of(from, to, child) == now->pid)
			ticks -= had < ticks ? had : ticks;
	}
	return ticks;
}

/* Without one process, and those that are watched. The most active ones first. */
static size_t read_users(const struct overview_sums *sums, const struct usages *from, pid_t except,
	struct user *users)
{
	const struct usages *to = &sums->overview->usage.now;
	size_t n = 0;

	for (size_t i = 0; i < to->n; i++) {
		const struct usage *now = &to->at[i], *before = usages_same(from, now);

		if (now->pid == except || (sums->overview->has_selection && now->is_selected))
			continue;
		add_user(users, &n, now, now->cpu - (before ? before->cpu : 0), false);
		if (before)
			add_user(users, &n, now, children_since(from, to, before, now), true);
	}
	if (n)
		qsort(users, n, sizeof(*users), by_ticks);
	return n;
}

static bool is_same_user(const struct user *a, const struct user *b)
{
	return a->is_children == b->is_children && !strcmp(a->usage->comm, b->usage->comm) &&
	       !strcmp(a->group, b->group);
}

/* Adds up those with the same name, without those that use less than 1 % of a CPU. */
static size_t merge_users(struct user *users, size_t n, uint64_t all)
{
	char group[PATH_MAX];
	size_t names = 0;

	for (size_t i = 0; i < n && i < PROCESSES_MAX && 100 * users[i].ticks >= all; i++) {
		struct user *same = users, user = users[i];

		if (cgroups_group(user.usage->pid, "cpu", group, sizeof(group)) &&
			strcmp(group, "/") != 0)
			snprintf(user.group, sizeof(user.group), "%s", group);
		while (same < users + names && !is_same_user(same, &user))
			same++;
		if (same == users + names) {
			users[names++] = user;
			continue;
		}
		same->processes++;
		same->ticks += user.ticks;
	}
	if (names)
		qsort(users, names, sizeof(*users), by_ticks);
	return names;
}

/* "python3 (pid 7, control group /batch) uses 77 % of a CPU", "16 processes indexer use ..." */
static void say_user(struct overview_finding *finding, const struct user *user, double share)
{
	const struct usage *usage = user->usage;

	overview_say(finding, "%s", user->is_children ? "ended children of " : "");
	if (user->processes > 1)
		overview_say(finding, "%u processes %s%s", user->processes, usage->comm,
			*user->group ? " (" : "");
	else
		overview_say(finding, "%s (pid %d%s", usage->comm, (int)usage->pid,
			*user->group ? ", " : "");
	if (*user->group)
		overview_say(finding, "control group %s", user->group);
	overview_say(finding, "%s use%s %.0f %% of a CPU",
		user->processes == 1 || *user->group ? ")" : "",
		user->processes > 1 || user->is_children ? "" : "s", share);
}

/* What is no process. Returns what comes before the next one. */
static const char *say_other(
	struct overview_finding *finding, const char *before, const char *what, double cpus)
{
	if (100 * cpus < USED)
		return before;
	overview_say(finding, "%s%s %.0f %% of a CPU", before, what, 100 * cpus);
	return ", ";
}

/* Other threads of a process that waits. Returns what comes before the next one. */
static const char *say_own(const struct overview_sums *sums, struct overview_finding *finding,
	const struct usages *from, pid_t pid, const char *before, double all)
{
	const struct usage *now = usages_of(&sums->overview->usage.now, pid);
	const struct usage *began = now ? usages_same(from, now) : NULL;
	double share = began ? 100 * (double)(now->cpu - began->cpu) / all : 0;

	if (share < USED || now->threads < 2)
		return before;
	overview_say(finding, "%sthreads of its own use %.0f %% of a CPU", before, share);
	return ", ";
}

void overview_say_users(
	const struct overview_sums *sums, struct overview_finding *finding, pid_t except)
{
	const struct usage_readings *usage = &sums->overview->usage;
	const struct usages *from = sums->scope == ATTAR_SCOPE_WHOLE || !usage->last.time
					    ? &usage->began
					    : &usage->last;
	struct user *users = calloc(2 * usage->now.n + 1, sizeof(*users));
	const char *before = "; meanwhile ";
	double all = (double)(usage->now.time - from->time) / 1e9 * (double)sysconf(_SC_CLK_TCK);
	size_t n =
		users && from->time && usage->now.time > from->time
			? merge_users(users, read_users(sums, from, except, users), (uint64_t)all)
			: 0;

	if (from->time && usage->now.time > from->time)
		before = say_own(sums, finding, from, except, before, all);
	for (size_t i = 0; i < n && i < USERS && 100 * (double)users[i].ticks >= USED * all; i++) {
		overview_say(finding, "%s", before);
		say_user(finding, &users[i], 100 * (double)users[i].ticks / all);
		before = ", ";
	}
	before = say_other(finding, before, "interrupts use", sums->system.irqs);
	say_other(finding, before, "the host of this virtual machine takes", sums->system.stolen);
	free(users);
}

bool overview_is_own_load(const struct overview_sums *sums)
{
	double own = 0;

	if (!sums->overview->has_selection || !sums->is_service || !attar_run_is_live(sums->run))
		return false;
	for (int part = 0; part <= PART_UNDIVIDED; part++)
		own += (double)sums->parts[part];
	return own / (double)sums->elapsed > sums->system.busy / 2;
}

/* Time that a process sleeps, on purpose, is no time in which it wants anything. */
bool overview_starving(const struct overview_sums *sums)
{
	const struct overview_process *process = overview_top(sums, PART_READY);
	uint64_t wants, active = 0;

	if (!sums->overview->has_selection || !process)
		return false;
	wants = process->parts[PART_READY];
	for (int part = 0; part <= PART_UNDIVIDED; part++)
		wants += process->parts[part];
	for (int part = 0; part < ACTIVE_PARTS; part++)
		active += part == PART_SLEEP ? 0 : process->parts[part];
	return 100 * wants >= WANTS * active;
}
