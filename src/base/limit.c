/* SPDX-License-Identifier: MIT */
#include "base/limit.h"

#include <stdio.h>
#include <sys/resource.h>

static __thread char text[256];

static struct rlimit open_files(void)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit;
}

uint64_t limit_open_files(void)
{
	return open_files().rlim_cur;
}

const char *limit_raise_files(uint64_t needed)
{
	struct rlimit limit = open_files();
	int n = snprintf(text, sizeof(text), "run ulimit -n %llu", (unsigned long long)needed);

	if (needed > limit.rlim_max && geteuid())
		snprintf(text + n, sizeof(text) - (size_t)n,
			" as root, because the hard limit is %llu",
			(unsigned long long)limit.rlim_max);
	return text;
}

const char *limit_open_error(int error)
{
	char remedy[128];
	uint64_t limit;

	if (error == ENFILE)
		return "the system's limit of open files is reached: raise sysctl fs.file-max";
	if (error != EMFILE)
		return strerror(error);
	limit = limit_open_files();
	snprintf(remedy, sizeof(remedy), "%s", limit_raise_files(MAX(2 * limit, (uint64_t)1024)));
	snprintf(text, sizeof(text), "the limit of %llu open files is reached: %s",
		(unsigned long long)limit, remedy);
	return text;
}
