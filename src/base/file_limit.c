/* SPDX-License-Identifier: MIT */
#include "base/file_limit.h"

#include <stdio.h>
#include <sys/resource.h>

static __thread char text[256];

static struct rlimit open_files(void)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit;
}

uint64_t file_limit_get(void)
{
	return open_files().rlim_cur;
}

unsigned file_limit_for_cache(void)
{
	uint64_t quarter = MIN((file_limit_get() ?: 256) / 4, (uint64_t)256);

	return (unsigned)MAX(quarter, (uint64_t)4);
}

const char *file_limit_raise(uint64_t needed)
{
	struct rlimit limit = open_files();
	int n = snprintf(text, sizeof(text), "run ulimit -n %llu", (unsigned long long)needed);

	if (needed > limit.rlim_max && geteuid())
		snprintf(text + n, sizeof(text) - (size_t)n,
			" as root, because the hard limit is %llu",
			(unsigned long long)limit.rlim_max);
	return text;
}

int file_limit_fail(int error, const char *fmt, ...)
{
	uint64_t limit = file_limit_get();
	char what[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	if (error == ENFILE)
		return attar_fail(-error,
			"%s: the system's limit of open files is reached" ATTAR_FIX
			"raise sysctl fs.file-max",
			what);
	if (error != EMFILE)
		return attar_fail(-error, "%s: %s", what, strerror(error));
	return attar_fail(-error, "%s: the limit of %llu open files is reached" ATTAR_FIX "%s",
		what, (unsigned long long)limit, file_limit_raise(MAX(2 * limit, (uint64_t)1024)));
}
