/* SPDX-License-Identifier: MIT */
/* A folder of small files for fuzz targets whose subject reads sysfs and tracefs. Gone at exit. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_root[64];

static int tree_remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void tree_remove(void)
{
	nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void tree_make(void)
{
	strcpy(tree_root,
		access("/dev/shm", W_OK) ? "/tmp/attar-fuzz.XXXXXX" : "/dev/shm/attar-fuzz.XXXXXX");
	if (!mkdtemp(tree_root))
		abort();
	atexit(tree_remove);
}

/* Writes a file below the root, with the folders it needs. */
static void tree_put(const char *name, const char *bytes, size_t n)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", tree_root, name);
	for (char *p = path + strlen(tree_root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	file = fopen(path, "w");
	if (!file)
		abort();
	fwrite(bytes, 1, n, file);
	fclose(file);
}

static void tree_text(const char *name, const char *text)
{
	tree_put(name, text, strlen(text));
}

#endif
