/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static pid_t maker;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

void folder_remove(void)
{
	if (*root)
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	*root = '\0';
}

/* Not in a child that exits. */
static void leave(void)
{
	if (getpid() == maker)
		folder_remove();
}

const char *folder_make(void)
{
	if (*root || (!maker && atexit(leave)))
		abort();
	maker = getpid();
	strcpy(root, access("/dev/shm", W_OK) ? "/tmp/attar.XXXXXX" : "/dev/shm/attar.XXXXXX");
	if (!mkdtemp(root))
		abort();
	return root;
}

static FILE *create(const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	file = fopen(path, "w");
	if (!file)
		abort();
	return file;
}

void folder_put(const char *name, const char *bytes, size_t n)
{
	FILE *file = create(name);

	fwrite(bytes, 1, n, file);
	fclose(file);
}

void folder_line(const char *name, const char *line)
{
	FILE *file = create(name);

	fprintf(file, "%s\n", line);
	fclose(file);
}

void folder_tracepoint(const char *system, const char *name, int id)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "tracing/events/%s/%s/id", system, name);
	folder_line(path, "1");
	snprintf(path, sizeof(path), "tracing/events/%s/%s/format", system, name);
	snprintf(text, sizeof(text),
		"name: %s\nID: %d\nformat:\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"pid=%%d\", REC->pid\n",
		name, id);
	folder_line(path, text);
}
