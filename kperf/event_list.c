/* SPDX-License-Identifier: MIT */
/* The names of events that this system has. Each list is made once and kept. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/event.h"
#include "attar/perf.h"
#include "error.h"
#include "pmu.h"

struct names {
	const char **at;
	unsigned n, room;
	bool is_made;
};

static struct names lists[ALL_EVENT + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((destructor)) static void forget(void)
{
	for (size_t i = 0; i <= ALL_EVENT; i++) {
		for (unsigned at = 0; i != ALL_EVENT && at < lists[i].n; at++)
			free((char *)lists[i].at[at]);
		free(lists[i].at);
		lists[i] = (struct names){0};
	}
}

static int add(struct names *names, const char *name)
{
	if (names->n == names->room) {
		unsigned room = names->room ? names->room * 2 : 64;
		const char **at = reallocarray(names->at, room, sizeof(*at));

		if (!at)
			return -ENOMEM;
		names->at = at;
		names->room = room;
	}
	if (!name)
		return -ENOMEM;
	names->at[names->n++] = name;
	return 0;
}

static int add_copy(struct names *names, const char *name)
{
	return add(names, strdup(name));
}

/* ---- core events ---- */

struct core_list {
	struct names *names;
	struct attar_target *self;
};

/* 1: yes, 0: no; -EMFILE, -ENFILE, -ENOMEM: unknown now, so that a list without it is not kept. */
static int can_be_opened(struct attar_target *self, const struct attar_named_event *event)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = event->type, .config = event->config, .disabled = 1};
	struct attar_counter *counter;
	int r = attar_counter_open(self, &attr, event->name, ATTAR_COUNTER_DEGRADE, &counter);

	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	attar_counter_close(counter);
	return 1;
}

static int add_named(void *ctx, const struct attar_named_event *event)
{
	struct core_list *list = ctx;

	int r = event->kind == ATTAR_EVENT_RAW ? 0 : can_be_opened(list->self, event);

	return r > 0 ? add_copy(list->names, event->name) : r;
}

static int make_core(struct attar_catalog *catalog, struct names *names)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct core_list list = {.names = names};
	int r = attar_target_new(&opts, &list.self);

	if (r == 0)
		r = attar_named_events(add_named, &list);
	attar_target_free(list.self);
	return r;
}

/* ---- events of devices ---- */

struct device_list {
	struct names *names;
	const char *pmu;
};

static int add_pmu_event(void *ctx, const struct attar_pmu_event *event)
{
	struct device_list *list = ctx;
	char *name;

	if (asprintf(&name, "%s/%s/", list->pmu, event->name) < 0)
		return -ENOMEM;
	return add(list->names, name);
}

static int make_uncore(struct attar_catalog *catalog, struct names *names)
{
	const struct attar_pmu *pmu;
	int r = 0;

	for (size_t i = 0; r == 0 && (pmu = attar_catalog_pmu(catalog, i)); i++) {
		struct device_list list = {.names = names, .pmu = pmu->name};

		if (pmu->system_wide)
			r = attar_pmu_events(pmu, add_pmu_event, &list);
	}
	return r;
}

/* ---- tracepoints ---- */

static int add_tracepoint(void *ctx, const char *system, const char *name)
{
	char *text;

	if (asprintf(&text, "%s:%s", system, name) < 0)
		return -ENOMEM;
	return add(ctx, text);
}

static int make_trace(struct attar_catalog *catalog, struct names *names)
{
	return attar_catalog_tracepoints(catalog, add_tracepoint, names);
}

typedef int make_fn(struct attar_catalog *catalog, struct names *names);

static make_fn *const makers[] = {
	[CORE_EVENT] = make_core,
	[UNCORE_EVENT] = make_uncore,
	[TRACE_EVENT] = make_trace,
};

static int make_one(enum PmuEventType type)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_catalog *catalog;
	struct names *names = &lists[type];
	int r;

	if (names->is_made)
		return 0;
	r = attar_catalog_new(&opts, &catalog);
	if (r < 0)
		return r;
	while (names->n > 0)
		free((char *)names->at[--names->n]); /* of an attempt that failed */
	r = makers[type](catalog, names);
	names->is_made = r == 0;
	attar_catalog_free(catalog);
	return r;
}

/* All lists; a system without tracefs has the others. */
static int make_all(void)
{
	struct names *all = &lists[ALL_EVENT];
	int r = 0;

	if (all->is_made)
		return 0;
	all->n = 0;
	for (int type = CORE_EVENT; type < ALL_EVENT; type++) {
		r = make_one(type);
		if (r == -ENOMEM || (r < 0 && type != TRACE_EVENT))
			return r;
		if (r < 0)
			kp_warn(LIBPERF_WARN_EVENT_DROPPED, "tracepoints are left out: %s",
				attar_error());
		for (unsigned i = 0; i < lists[type].n; i++)
			if (add(all, lists[type].at[i]) < 0)
				return -ENOMEM;
	}
	all->is_made = r == 0;
	return 0;
}

const char **PmuEventList(enum PmuEventType type, unsigned *n)
{
	int r;

	kp_begin();
	if (!n) {
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuEventList(): numEvt is NULL");
		return NULL;
	}
	*n = 0;
	if ((unsigned)type > ALL_EVENT) {
		kp_fail(LIBPERF_ERR_QUERY_EVENT_TYPE_INVALID,
			"PmuEventList(): %d is not a type of events", type);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	r = type == ALL_EVENT ? make_all() : make_one(type);
	if (r == 0)
		*n = lists[type].n;
	pthread_mutex_unlock(&lock);
	if (r < 0) {
		kp_fail_errno(r, LIBPERF_ERR_QUERY_EVENT_LIST_FAILED);
		return NULL;
	}
	return lists[type].at;
}
