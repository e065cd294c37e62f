/* SPDX-License-Identifier: MIT */
#include "lib/by_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct by_source_entry {
	const struct attar_event_spec *spec;
	void *event;
};

static int learn(
	struct by_source *t, struct attar_run *run, void *self, uint32_t source, uint32_t *ret_i)
{
	struct by_source_entry *more = realloc(t->entries, (t->n + 1) * sizeof(*more));
	void *event = calloc(1, t->size);

	if (more)
		t->entries = more;
	if (!more || !event) {
		free(event);
		return -ENOMEM;
	}
	more[t->n].spec = attar_run_source_spec(run, source);
	more[t->n].event = event;
	*ret_i = t->n++;
	return t->learn(run, self, source, event);
}

int by_source_learn(struct by_source *t, struct attar_run *run, void *self, uint32_t first)
{
	uint32_t n = attar_run_sources(run), i;
	int r = 0;

	for (; r == 0 && first < n; first++)
		r = learn(t, run, self, first, &i);
	return r;
}

static int bind(struct by_source *t, struct attar_run *run, void *self, uint32_t source)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	uint32_t n = attar_run_sources(run), *bound, i;
	int r = 0;

	if (source >= t->n_bound) {
		bound = realloc(t->bound, n * sizeof(*bound));
		if (!bound)
			return -ENOMEM;
		memset(bound + t->n_bound, 0, (n - t->n_bound) * sizeof(*bound));
		t->bound = bound;
		t->n_bound = n;
	}
	for (i = 0; i < t->n && t->entries[i].spec != spec;)
		i++;
	if (i == t->n)
		r = learn(t, run, self, source, &i);
	if (r == 0)
		t->bound[source] = i + 1;
	return r;
}

int by_source_get(
	struct by_source *t, struct attar_run *run, void *self, uint32_t source, void *ret_event)
{
	int r = source < t->n_bound && t->bound[source] ? 0 : bind(t, run, self, source);

	if (r == 0)
		*(void **)ret_event = t->entries[t->bound[source] - 1].event;
	return r;
}

void *by_source_at(const struct by_source *t, uint32_t i)
{
	return i < t->n ? t->entries[i].event : NULL;
}

bool by_source_is_dummy(const struct attar_event_spec *spec)
{
	return spec && spec->kind == ATTAR_EVENT_USER && spec->type == PERF_TYPE_SOFTWARE;
}

/* A found event has a copy of the spec, except that a pattern is replaced by a name. */
static bool is_found_for(const struct attar_event_spec *asked, const struct attar_event_spec *spec)
{
	return asked && asked != spec && asked->user_event == spec->user_event &&
	       (by_source_is_dummy(asked) || !strcmp(asked->name, spec->name));
}

void *by_source_asked(const struct by_source *t, const struct attar_event_spec *spec)
{
	for (uint32_t i = 0; spec && spec->user_event && i < t->n; i++)
		if (is_found_for(t->entries[i].spec, spec))
			return t->entries[i].event;
	return NULL;
}

void by_source_done(struct by_source *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->forget)
			t->forget(t->entries[i].event);
		free(t->entries[i].event);
	}
	free(t->entries);
	free(t->bound);
}
