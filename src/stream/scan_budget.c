/* SPDX-License-Identifier: MIT */
#include "stream/scan_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "base/proc.h"

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

static void tell(struct scan_user *user)
{
	if (!user->told)
		log_note("reading the mappings of the processes of the user with uid %u takes "
			 "long: code in some of them has no names, or gets them later",
			(unsigned)user->uid);
	user->told = true;
}

/* If no user has spent a share, the user of the process does not matter. */
static bool has_time(struct scan_budget *budget, pid_t pid, uint64_t now)
{
	uint64_t more = (now - budget->began) / SCAN_SHARE;
	struct scan_user *user;

	if (budget->spent < SCAN_USER_NS + more)
		return true;
	user = user_of(budget, pid);
	if (!user || (user->spent < SCAN_USER_NS + more && budget->spent < SCAN_OTHERS_NS + more))
		return true;
	tell(user);
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

uint64_t scan_budget_end(struct scan_budget *budget, pid_t pid)
{
	uint64_t cpu = cpu_time() - budget->cpu_at;
	uint64_t took = MAX(cpu, (base_now() - budget->at) / SCAN_WAIT);
	struct scan_user *user = cpu < SCAN_FAST_NS ? NULL : user_of(budget, pid);

	if (user) {
		user->spent += took;
		budget->spent += took;
	}
	return cpu;
}
