/* SPDX-License-Identifier: MIT */
/* Tasks of metrics, and the devices that metrics can be of. */
#include "device.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "metric.h"
#include "task.h"
#include "topology.h"

struct names {
	char *at[KP_MOST_EVENTS];
	struct EvtAttr attrs[KP_MOST_EVENTS];
	unsigned n;
};

/* Adds the event unless it is there for another metric. Owns the name. */
static int add_name(struct names *names, char *name, int group)
{
	if (!name)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (unsigned i = 0; i < names->n; i++)
		if (strcmp(names->at[i], name) == 0) {
			free(name);
			return SUCCESS;
		}
	if (names->n == KP_MOST_EVENTS) {
		free(name);
		return kp_fail(LIBPERF_ERR_INVALID_MTRIC_PARAM,
			"the metrics need more than %d events", KP_MOST_EVENTS);
	}
	names->attrs[names->n] = (struct EvtAttr){.groupId = group};
	names->at[names->n++] = name;
	return SUCCESS;
}

/* "PMU/event/", "PMU/event,filter/"; NULL: out of memory. */
static char *make_name(const char *pmu, const char *event, const char *filter)
{
	char *name;

	return asprintf(&name, "%s/%s%s%s/", pmu, event, *filter ? "," : "", filter) < 0 ? NULL
											 : name;
}

static int is_name(void *ctx, const struct attar_pmu_event *event)
{
	return strcmp(event->name, ctx) == 0;
}

static bool has_event(struct attar_catalog *catalog, const char *name, const char *event)
{
	const struct attar_pmu *pmu;

	for (size_t i = 0; (pmu = attar_catalog_pmu(catalog, i)); i++)
		if (strcmp(pmu->name, name) == 0)
			return attar_pmu_events(pmu, is_name, (char *)event) > 0;
	return false;
}

/* The counts of one device, which begin and end together. */
static int add_device(
	struct kp_origin *origin, const struct PmuDeviceAttr *attr, int group, struct names *names)
{
	const struct kp_metric *metric = &kp_metrics[attr->metric];
	const char *pmu;
	char filter[KP_FILTER_SIZE];
	int r = kp_metric_filter(origin, attr, filter, &pmu);

	for (size_t e = 0; e < KP_METRIC_EVENTS && metric->events[e] && r == SUCCESS; e++) {
		bool is_named = has_event(origin->catalog, pmu, metric->events[e]);

		r = add_name(names,
			make_name(pmu, is_named ? metric->events[e] : metric->codes[e], filter),
			metric->events[1] ? group : -1);
	}
	return r;
}

/* Its counts have a known unit. */
static bool has_identifier(
	const struct kp_origin *origin, const struct kp_metric *metric, const char *pmu)
{
	unsigned long identifier;
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/bus/event_source/devices/%s", origin->sysfs, pmu);
	return metric->identifier == 0 ||
	       (kp_read_hex(folder, "identifier", &identifier) && identifier == metric->identifier);
}

static int add_metric(struct kp_origin *origin, enum PmuDeviceMetric id, struct names *names)
{
	const struct kp_metric *metric = &kp_metrics[id];
	const struct attar_pmu *pmu;
	bool found = false;
	int r = SUCCESS;

	for (size_t i = 0; (pmu = attar_catalog_pmu(origin->catalog, i)) && r == SUCCESS; i++) {
		if (!kp_metric_is_of(metric, pmu->name) ||
			!has_identifier(origin, metric, pmu->name))
			continue;
		found = true;
		for (size_t e = 0; e < KP_METRIC_EVENTS && metric->events[e] && r == SUCCESS; e++)
			r = add_name(names, make_name(pmu->name, metric->events[e], ""), -1);
	}
	if (r == SUCCESS && !found)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_METRIC,
			"metric %d needs a PMU %s*%s* in /sys/bus/event_source/devices%s: this "
			"machine has none",
			id, metric->prefix, metric->part,
			metric->identifier ? " with a known clock" : "");
	return r;
}

static int add_names(struct kp_origin *origin, const struct PmuDeviceAttr *attr, unsigned len,
	struct names *names)
{
	int r = SUCCESS;

	pthread_mutex_lock(&origin->lock);
	for (unsigned i = 0; i < len && r == SUCCESS; i++)
		r = kp_metrics[attr[i].metric].filter == KP_FILTER_NONE
			    ? add_metric(origin, attr[i].metric, names)
			    : add_device(origin, &attr[i], (int)i, names);
	pthread_mutex_unlock(&origin->lock);
	return r;
}

int kp_device_open(struct kp_origin *origin, const struct PmuDeviceAttr *attr, unsigned len)
{
	int r = kp_metric_check(attr, len, "PmuDeviceOpen"), pd = -1;
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	if (r == SUCCESS)
		r = add_names(origin, attr, len, names);
	if (r == SUCCESS) {
		const struct PmuAttr events = {.evtList = names->at,
			.numEvt = names->n,
			.evtAttr = names->attrs,
			.numEvtAttr = names->n};

		pd = kp_open(origin, COUNTING, &events, KP_USE_METRICS);
		if (pd > 0)
			kp_succeed();
	}
	while (names->n > 0)
		free(names->at[--names->n]);
	free(names);
	return pd;
}

int PmuDeviceOpen(struct PmuDeviceAttr *attr, unsigned len)
{
	struct kp_origin *origin;
	int pd;

	kp_begin();
	if (!attr)
		return kp_error(LIBPERF_ERR_INVALID_MTRIC_PARAM, "PmuDeviceOpen(): attr is NULL");
	origin = kp_origin_new(NULL);
	if (!origin)
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	pd = kp_device_open(origin, attr, len);
	kp_origin_unref(origin);
	return pd;
}

/* ---- devices ---- */

/* Each list is made once and kept. */
static struct {
	struct kp_bdfs bdfs;
	const char **texts; /* NULL: not made yet */
} lists[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((destructor)) static void forget(void)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		kp_bdfs_done(&lists[i].bdfs);
		free(lists[i].texts);
		lists[i].texts = NULL;
	}
}

/* Those that an attribute may name, then NULL. NULL: out of memory. */
static const char **texts_of(const struct kp_bdfs *bdfs)
{
	const char **texts = calloc(bdfs->n + 1, sizeof(*texts));
	size_t n = 0;

	if (!texts)
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (size_t i = 0; texts && i < bdfs->n; i++)
		if (!bdfs->at[i].is_root_port)
			texts[n++] = bdfs->at[i].text;
	return texts;
}

/* The lock is held. */
static void make_list(enum PmuBdfType type)
{
	struct attar_catalog *catalog;

	if (attar_catalog_new(NULL, &catalog) < 0) {
		kp_fail(COMMON_ERR_NOMEM, "%s", attar_error());
		return;
	}
	if (kp_bdfs_find("/sys", catalog, type, &lists[type].bdfs) == SUCCESS)
		lists[type].texts = texts_of(&lists[type].bdfs);
	attar_catalog_free(catalog);
}

static unsigned count(const char *const *texts)
{
	unsigned n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

const char **PmuDeviceBdfList(enum PmuBdfType type, unsigned *n)
{
	const char **texts;

	kp_begin();
	if (n)
		*n = 0;
	if (!n) {
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuDeviceBdfList(): numBdf is NULL");
		return NULL;
	}
	if (type != PMU_BDF_TYPE_PCIE && type != PMU_BDF_TYPE_SMMU) {
		kp_fail(LIBPERF_ERR_INVALID_PMU_BDF_TYPE,
			"PmuDeviceBdfList(): %d is not a type of devices", type);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	if (!lists[type].texts)
		make_list(type);
	texts = lists[type].texts;
	pthread_mutex_unlock(&lock);
	*n = count(texts);
	return texts;
}
