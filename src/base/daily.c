/* SPDX-License-Identifier: MIT */
#include "base/daily.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY_S = 24 * 60 * 60 };

/* A folder that others can write to may have a file of theirs, or a link. */
static bool is_of_user(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && st->st_uid == geteuid() && S_ISREG(st->st_mode);
}

bool daily_is_first_in(const char *folder, const char *name, long long now)
{
	const struct timespec times[2] = {{.tv_sec = now}, {.tv_sec = now}};
	char path[PATH_MAX];
	struct stat st;
	bool is_new;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	is_new = fd >= 0;
	if (!is_new && errno == EEXIST)
		fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (!is_of_user(fd, &st))
		is_new = true;
	else if (is_new || now < st.st_mtime || now - st.st_mtime >= DAY_S)
		is_new = futimens(fd, times) == 0 || is_new;
	close(fd);
	return is_new;
}

bool daily_is_first(const char *name)
{
	const char *folder = secure_getenv("XDG_RUNTIME_DIR");
	char text[64];

	if (geteuid() == 0) {
		mkdir("/run/attar", 0700);
		return daily_is_first_in("/run/attar", name, time(NULL));
	}
	snprintf(text, sizeof(text), "attar-%s", name);
	return !folder || daily_is_first_in(folder, text, time(NULL));
}
