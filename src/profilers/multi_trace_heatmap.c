/* SPDX-License-Identifier: MIT */
/* multi-trace --heatmap: a file with the time and latency of each pair. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "multi_trace.h"

enum { FILES_MAX = 64 };

struct heatmap {
	FILE *files[FILES_MAX];
	uint32_t relations[FILES_MAX][2]; /* start and end event of each file */
	size_t n;
};

static int fail(const char *path)
{
	return attar_fail(-errno, "--heatmap: cannot write '%s': %s", path, strerror(errno));
}

/* "FILE-START-END.lat", as trace2heatmap.pl reads it. */
static int open_file(struct multi_trace *m, const uint32_t relation[2], FILE **ret_file)
{
	struct heatmap *h = m->heatmap;
	char path[PATH_BYTES];
	size_t prefix = strlen(m->heatmap_path);

	if (h->n == FILES_MAX)
		return attar_fail(-E2BIG, "--heatmap: more than %d pairs of events", FILES_MAX);
	if (m->impl == &trace_impl_syscalls)
		snprintf(path, sizeof(path), "%s-syscalls.lat", m->heatmap_path);
	else
		snprintf(path, sizeof(path), "%s-%s-%s.lat", m->heatmap_path,
			m->events[relation[0]].name, m->events[relation[1]].name);
	for (char *c = path + (prefix < sizeof(path) ? prefix : 0); *c; c++)
		*c = *c == '/' ? '_' : *c;
	h->files[h->n] = fopen(path, "we");
	if (!h->files[h->n])
		return fail(path);
	memcpy(h->relations[h->n], relation, sizeof(h->relations[0]));
	*ret_file = h->files[h->n++];
	return 0;
}

int heatmap_open(struct multi_trace *m)
{
	if (!m->heatmap_path)
		return 0;
	if (strlen(m->heatmap_path) > PATH_BYTES / 2)
		return attar_fail(-EINVAL, "--heatmap: the path is too long");
	m->heatmap = calloc(1, sizeof(*m->heatmap));
	return m->heatmap ? 0 : -ENOMEM;
}

int heatmap_add(struct multi_trace *m, const uint32_t relation[2], uint64_t time, uint64_t latency)
{
	struct heatmap *h = m->heatmap;
	FILE *file = NULL;
	int r = 0;

	for (size_t i = 0; !file && i < h->n; i++)
		if (!memcmp(h->relations[i], relation, sizeof(h->relations[0])))
			file = h->files[i];
	if (!file)
		r = open_file(m, relation, &file);
	if (r < 0)
		return r;
	if (fprintf(file, "%llu %llu\n", (unsigned long long)time, (unsigned long long)latency) < 0)
		return fail(m->heatmap_path);
	return 0;
}

int heatmap_end(struct multi_trace *m)
{
	struct heatmap *h = m->heatmap;
	int r = 0;

	for (size_t i = 0; h && i < h->n; i++)
		if (fclose(h->files[i]) && r == 0)
			r = fail(m->heatmap_path);
	if (h)
		h->n = 0;
	return r;
}

void heatmap_close(struct multi_trace *m)
{
	for (size_t i = 0; m->heatmap && i < m->heatmap->n; i++)
		fclose(m->heatmap->files[i]);
	free(m->heatmap);
}
