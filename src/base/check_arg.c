/* SPDX-License-Identifier: MIT */
#include "base/check_arg.h"

#include <pthread.h>

unsigned check_process;

static void count_fork(void)
{
	check_process++;
}

/* Fails only if out of memory; forks are not detected then. */
static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

int check_missing(const char *function, const char *argument)
{
	return attar_fail(-EINVAL, "%s(): %s is NULL", function, argument);
}

int check_flags(const char *function, unsigned unknown)
{
	return attar_fail(-EINVAL, "%s(): unknown flags 0x%x", function, unknown);
}

int check_range(const char *function, const char *argument, size_t value, size_t end)
{
	return attar_fail(
		-EINVAL, "%s(): %s is %zu, but must be below %zu", function, argument, value, end);
}

int check_foreign(const char *function, const char *argument)
{
	return attar_fail(-ECHILD,
		"%s(): %s belongs to the parent process, which created it before it forked this "
		"one" ATTAR_FIX "create another one here",
		function, argument);
}
