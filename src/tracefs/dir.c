/* SPDX-License-Identifier: MIT */
#include "tracefs/dir.h"

#include <dirent.h>

static int dir_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int dir_names_add(dir_names *names, const char *word)
{
	char *copy = strdup(word);

	if (!copy || vec_push(names, copy) < 0) {
		free(copy);
		return base_oom();
	}
	return 0;
}

int dir_read(const char *path, dir_names *ret_names)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOMEM ? base_oom() : -errno;
	while (r == 0 && (entry = readdir(dir)) && ret_names->n < DIR_NAMES_MAX)
		if (entry->d_name[0] != '.')
			r = dir_names_add(ret_names, entry->d_name);
	closedir(dir);
	if (ret_names->n)
		qsort(ret_names->at, ret_names->n, sizeof(char *), dir_compare);
	return r;
}

void dir_names_done(dir_names *names)
{
	vec_each (names, name)
		free(*name);
	vec_done(names);
}
