/* SPDX-License-Identifier: MIT */
#include "lib/heatmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"

enum { FILES_MAX = 64, PATH_BYTES = 4096 };

struct heatmap {
	struct attar_run *run;
	const char *path;
	struct {
		FILE *file; /* owned by the run */
		const char *name, *other;
	} files[FILES_MAX];
	size_t n;
};

static int open_file(struct heatmap *h, const char *name, const char *other, FILE **ret_file)
{
	size_t prefix = strlen(h->path);
	char path[PATH_BYTES];
	int r;

	if (h->n == FILES_MAX)
		return attar_fail(-E2BIG, "--heatmap: more than %d files", FILES_MAX);
	snprintf(path, sizeof(path), "%s-%s%s%s.lat", h->path, name, other ? "-" : "",
		other ? other : "");
	for (char *c = path + prefix; *c; c++)
		*c = *c == '/' ? '_' : *c;
	r = run_file(h->run, "--heatmap", path, ret_file);
	if (r < 0)
		return r;
	h->files[h->n].file = *ret_file;
	h->files[h->n].name = name;
	h->files[h->n++].other = other;
	return 0;
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

int heatmap_new(struct attar_run *run, const char *path, struct heatmap **ret_heatmap)
{
	struct heatmap *h = NULL;

	if (path && strlen(path) > PATH_BYTES / 2)
		return attar_fail(-EINVAL, "--heatmap: the path is too long");
	if (path) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return -ENOMEM;
		h->run = run;
		h->path = path;
	}
	*ret_heatmap = h;
	return 0;
}

int heatmap_add(
	struct heatmap *h, const char *name, const char *other, uint64_t time, uint64_t value)
{
	FILE *file = NULL;
	int r = 0;

	for (size_t i = 0; !file && i < h->n; i++)
		if (equal(h->files[i].name, name) && equal(h->files[i].other, other))
			file = h->files[i].file;
	if (!file)
		r = open_file(h, name, other, &file);
	if (r < 0)
		return r;
	if (fprintf(file, "%llu %llu\n", (unsigned long long)time, (unsigned long long)value) < 0)
		return attar_fail(-errno, "--heatmap: cannot write '%s-%s.lat': %s", h->path, name,
			strerror(errno));
	return 0;
}

void heatmap_free(struct heatmap *h)
{
	free(h);
}
