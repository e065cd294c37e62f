/* SPDX-License-Identifier: MIT */
#include "event/usdt_files.h"

#include <stdio.h>

#include "base/file.h"
#include "base/proc.h"

enum { MAPS_MAX = 64 << 20, PATH_BYTES = 4200 };

/* The path of an executable mapping, from a line of /proc/PID/maps; NULL for other lines. */
static char *code_path(char *line)
{
	char *path = strchr(line, '/'), *access = strchr(line, ' ');

	if (!path || !access || access[3] != 'x')
		return NULL;
	return strstr(path, " (deleted)") ? NULL : path;
}

int usdt_each_file(pid_t pid, usdt_file_fn *fn, void *ctx)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[PATH_BYTES], *save = NULL;
	int r = 0;

	pid = proc_with_memory(pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (file_read(path, MAPS_MAX, &b) < 0 || !b.len) {
		attar_error_clear();
		return 0;
	}
	for (char *line = strtok_r(b.data, "\n", &save); line && r == 0;
		line = strtok_r(NULL, "\n", &save)) {
		char *file = code_path(line), *full;

		if (!file)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, file);
		full = realpath(access(file, F_OK) == 0 ? file : path, NULL);
		if (full)
			r = fn(ctx, full);
		free(full);
	}
	return r;
}

/* The real path of the file that execvp(3) would run, to be freed; NULL if there is none. */
static char *program_path(const char *name)
{
	const char *folders = getenv("PATH");
	char path[PATH_BYTES];

	if (strchr(name, '/') || !folders)
		return realpath(name, NULL);
	for (const char *p = folders; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, name);
		p += n;
		if (access(path, X_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

int usdt_program_file(const char *name, usdt_file_fn *fn, void *ctx)
{
	char *path = program_path(name);
	int r = path ? fn(ctx, path) : 0;

	free(path);
	return r;
}
