/* SPDX-License-Identifier: MIT */
#include "base/scan_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"

enum { SCAN_AT_ONCE = 64 }; /* files, before a look at the time */

/* NULL: root, the caller, or a process that has ended */
static struct scan_user *user_of(struct scan_budget *budget, pid_t pid)
{
	unsigned i;
	uid_t uid;

	if (!proc_user(pid, &uid) || !uid || uid == geteuid())
		return NULL;
	for (i = 0; i < budget->n_users && budget->users[i].uid != uid; i++)
		;
	if (i == SCAN_USERS)
		return &budget->users[SCAN_USERS - 1];
	if (i == budget->n_users)
		budget->users[budget->n_users++].uid = uid;
	return &budget->users[i];
}

static uint64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void tell(const struct scan_budget *budget, struct scan_user *user)
{
	if (!user->told)
		log_note("reading the %s of the processes of the user with uid %u takes long: %s",
			budget->what, (unsigned)user->uid, budget->effect);
	user->told = true;
}

/* If no user has spent a share, the user of the process does not matter. */
static bool has_time(struct scan_budget *budget, pid_t pid, uint64_t now)
{
	uint64_t more = (now - budget->began) / SCAN_SHARE;
	struct scan_user *user;

	if (budget->spent < budget->user_ns + more)
		return true;
	user = user_of(budget, pid);
	if (!user || (user->spent < budget->user_ns + more &&
			     budget->spent < SCAN_OTHERS * budget->user_ns + more))
		return true;
	tell(budget, user);
	return false;
}

bool scan_budget_begin(struct scan_budget *budget, pid_t pid)
{
	budget->at = base_now();
	if (!budget->began)
		budget->began = budget->at;
	if (!has_time(budget, pid, budget->at))
		return false;
	budget->cpu_at = cpu_time();
	return true;
}

/* Where busy processes take the CPUs, reading takes longer than its CPU time. */
static uint64_t time_taken(const struct scan_budget *budget)
{
	return MAX(cpu_time() - budget->cpu_at, (base_now() - budget->at) / SCAN_WAIT);
}

bool scan_budget_goes_on(struct scan_budget *budget, pid_t pid)
{
	struct scan_user *user;

	if (time_taken(budget) < budget->user_ns)
		return true;
	user = user_of(budget, pid);
	if (user)
		tell(budget, user);
	return !user;
}

uint64_t scan_budget_end(struct scan_budget *budget, pid_t pid)
{
	uint64_t cpu = cpu_time() - budget->cpu_at, took = time_taken(budget);
	struct scan_user *user =
		cpu < SCAN_FAST_NS && took < SCAN_STALL_NS ? NULL : user_of(budget, pid);

	if (user) {
		user->spent += took;
		budget->spent += took;
	}
	return cpu;
}

struct fd_scan {
	struct scan_budget *budget;
	pid_t pid;
	proc_fn *fn;
	void *ctx;
	size_t n;
	bool is_over;
};

static int scan_fd(void *ctx, int fd)
{
	struct fd_scan *scan = ctx;

	scan->is_over =
		++scan->n % SCAN_AT_ONCE == 0 && !scan_budget_goes_on(scan->budget, scan->pid);
	return scan->is_over ? 1 : scan->fn(scan->ctx, fd);
}

int scan_budget_each_fd(struct scan_budget *budget, pid_t pid, proc_fn *fn, void *ctx)
{
	struct fd_scan scan = {budget, pid, fn, ctx, 0, false};
	int r;

	if (!scan_budget_begin(budget, pid))
		return 0;
	r = proc_each_fd(pid, scan_fd, &scan);
	scan_budget_end(budget, pid);
	return scan.is_over ? 0 : r;
}
