/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "task.h"

enum {
	METRICS = PMU_HHA_CROSS_SOCKET + 1,
	MOST = 1 << 12, /* events of a task */
	EVENTS = 2,     /* of a metric */
	CHANNELS = 4,   /* of memory on each die; the second die of a socket has the next ones */
};

/* How a metric is made of counts. */
static const struct metric {
	enum PmuMetricMode mode;
	const char *prefix, *part;  /* of the names of its PMUs */
	const char *events[EVENTS]; /* with two events, their quotient */
	unsigned bytes;             /* of each count */
} metrics[METRICS] = {
	[PMU_DDR_READ_BW] = {PMU_METRIC_CHANNEL, "hisi_sccl", "_ddrc", {"flux_rd"}, 32},
	[PMU_DDR_WRITE_BW] = {PMU_METRIC_CHANNEL, "hisi_sccl", "_ddrc", {"flux_wr"}, 32},
	/* The architecture's events LL_CACHE and LL_CACHE_MISS, of lines of 64 bytes. */
	[PMU_L3_TRAFFIC] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x32"}, 64},
	[PMU_L3_MISS] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x33"}, 1},
	[PMU_L3_REF] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x32"}, 1},
	[PMU_HHA_CROSS_NUMA] = {PMU_METRIC_NUMA, "hisi_sccl", "_hha", {"rx_sccl", "rx_ops_num"}, 1},
	[PMU_HHA_CROSS_SOCKET] = {PMU_METRIC_NUMA, "hisi_sccl", "_hha", {"rx_outer", "rx_ops_num"},
		1},
};

static bool is_of(const struct metric *metric, const char *pmu)
{
	return strncmp(pmu, metric->prefix, strlen(metric->prefix)) == 0 &&
	       strstr(pmu, metric->part);
}

static int check_attr(const struct PmuDeviceAttr *attr, unsigned len, const char *function)
{
	if (len == 0 || len > MOST)
		return kp_fail(
			LIBPERF_ERR_INVALID_MTRIC_PARAM, "%s(): there are no metrics", function);
	for (unsigned i = 0; i < len; i++) {
		if ((unsigned)attr[i].metric >= METRICS)
			return kp_fail(LIBPERF_ERR_INVALID_PMU_DEVICES_METRIC,
				"%s(): %d is not a metric", function, attr[i].metric);
		if (metrics[attr[i].metric].mode == PMU_METRIC_INVALID)
			return kp_fail(LIBPERF_ERR_NOT_SUPPORT_METRIC,
				"%s(): metric %d, of PCIe, the SMMU or the latency of the L3 "
				"cache, is not supported by this library",
				function, attr[i].metric);
	}
	return SUCCESS;
}

/* ---- opening ---- */

struct names {
	char *at[MOST];
	unsigned n;
};

/* Adds "PMU/event/" unless it is there for another metric. */
static int add_name(struct names *names, const char *pmu, const char *event)
{
	char *name;

	if (asprintf(&name, "%s/%s/", pmu, event) < 0)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (unsigned i = 0; i < names->n; i++)
		if (strcmp(names->at[i], name) == 0) {
			free(name);
			return SUCCESS;
		}
	if (names->n == MOST) {
		free(name);
		return kp_fail(LIBPERF_ERR_INVALID_MTRIC_PARAM,
			"the metrics need more than %d events", MOST);
	}
	names->at[names->n++] = name;
	return SUCCESS;
}

static int add_metric(struct attar_catalog *catalog, enum PmuDeviceMetric id, struct names *names)
{
	const struct metric *metric = &metrics[id];
	const struct attar_pmu *pmu;
	bool found = false;
	int r = SUCCESS;

	for (size_t i = 0; (pmu = attar_catalog_pmu(catalog, i)) && r == SUCCESS; i++) {
		if (!is_of(metric, pmu->name))
			continue;
		found = true;
		for (size_t e = 0; e < EVENTS && metric->events[e] && r == SUCCESS; e++)
			r = add_name(names, pmu->name, metric->events[e]);
	}
	if (r == SUCCESS && !found)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_METRIC,
			"metric %d needs a PMU %s*%s* in /sys/bus/event_source/devices: this "
			"machine has none",
			id, metric->prefix, metric->part);
	return r;
}

int kp_device_open(struct kp_origin *origin, const struct PmuDeviceAttr *attr, unsigned len)
{
	int r = check_attr(attr, len, "PmuDeviceOpen"), pd = -1;
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	pthread_mutex_lock(&origin->lock);
	for (unsigned i = 0; i < len && r == SUCCESS; i++)
		r = add_metric(origin->catalog, attr[i].metric, names);
	pthread_mutex_unlock(&origin->lock);
	if (r == SUCCESS) {
		const struct PmuAttr events = {.evtList = names->at, .numEvt = names->n};

		pd = kp_open(origin, COUNTING, &events, false);
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

/* ---- metrics of rows ---- */

/* A metric of one place, with the sums of its events. */
struct place {
	struct PmuDeviceData data;
	uint64_t sums[EVENTS];
};

struct places {
	struct place *at;
	size_t n;
};

/* Which event of the metric the row counts: 0 or 1; -1: it is of something else. */
static int event_of(const struct metric *metric, const struct PmuData *row)
{
	const char *slash = row->evt ? strchr(row->evt, '/') : NULL;

	for (int e = 0; slash && is_of(metric, row->evt) && e < EVENTS && metric->events[e]; e++) {
		size_t n = strlen(metric->events[e]);

		if (strncmp(slash + 1, metric->events[e], n) == 0 &&
			strcmp(slash + 1 + n, "/") == 0)
			return e;
	}
	return -1;
}

/* "hisi_sccl3_ddrc5_1/...": 5; of the same die if the text before it is the same. */
static int controller_of(const struct metric *metric, const char *evt, size_t *ret_die)
{
	const char *part = strstr(evt, metric->part);

	*ret_die = (size_t)(part - evt);
	return atoi(part + strlen(metric->part));
}

/* Controllers need not have consecutive numbers: a channel is the rank among those of the die. */
static unsigned channel_of(const struct metric *metric, const struct PmuData *rows, unsigned len,
	const struct PmuData *row)
{
	size_t die, other;
	int number = controller_of(metric, row->evt, &die);
	uint64_t lower = 0;

	for (unsigned i = 0; i < len; i++) {
		int n;

		if (event_of(metric, &rows[i]) < 0)
			continue;
		n = controller_of(metric, rows[i].evt, &other);
		if (other == die && strncmp(rows[i].evt, row->evt, die) == 0 && n < number &&
			n >= 0 && n < 64)
			lower |= UINT64_C(1) << n;
	}
	return (unsigned)__builtin_popcountll(lower) + (row->cpuTopo->numaId & 1 ? CHANNELS : 0);
}

static void set_id(struct PmuDeviceData *data, const struct metric *metric,
	const struct PmuData *rows, unsigned len, const struct PmuData *row)
{
	switch (metric->mode) {
	case PMU_METRIC_CORE:
		data->coreId = (unsigned)row->cpu;
		break;
	case PMU_METRIC_NUMA:
		data->numaId = (unsigned)row->cpuTopo->numaId;
		break;
	default:
		data->channelId = channel_of(metric, rows, len, row);
		data->ddrNumaId = (unsigned)row->cpuTopo->numaId;
		data->socketId = (unsigned)row->cpuTopo->socketId;
	}
}

static bool is_same(const struct PmuDeviceData *a, const struct PmuDeviceData *b)
{
	if (a->metric != b->metric)
		return false;
	if (a->mode == PMU_METRIC_CHANNEL)
		return a->channelId == b->channelId && a->ddrNumaId == b->ddrNumaId &&
		       a->socketId == b->socketId;
	return a->coreId == b->coreId; /* or numaId, in the same place */
}

static int by_place(const void *left, const void *right)
{
	const struct PmuDeviceData *a = &((const struct place *)left)->data;
	const struct PmuDeviceData *b = &((const struct place *)right)->data;

	if (a->mode != PMU_METRIC_CHANNEL)
		return (a->coreId > b->coreId) - (a->coreId < b->coreId);
	if (a->socketId != b->socketId)
		return a->socketId < b->socketId ? -1 : 1;
	if (a->ddrNumaId != b->ddrNumaId)
		return a->ddrNumaId < b->ddrNumaId ? -1 : 1;
	return (a->channelId > b->channelId) - (a->channelId < b->channelId);
}

/* Adds the count to its place after the first `from`, which are of other metrics. */
static int add_count(struct places *places, size_t from, const struct PmuDeviceData *id, int event,
	uint64_t count)
{
	struct place *grown;
	size_t i = from;

	while (i < places->n && !is_same(&places->at[i].data, id))
		i++;
	if (i == places->n) {
		grown = reallocarray(places->at, places->n + 1, sizeof(*grown));
		if (!grown)
			return kp_fail(COMMON_ERR_NOMEM, "out of memory");
		places->at = grown;
		places->at[places->n++] = (struct place){.data = *id};
	}
	places->at[i].sums[event] += count;
	return SUCCESS;
}

static int compute(
	struct places *places, enum PmuDeviceMetric id, const struct PmuData *rows, unsigned len)
{
	const struct metric *metric = &metrics[id];
	size_t from = places->n;
	int r = SUCCESS;

	for (unsigned i = 0; i < len && r == SUCCESS; i++) {
		struct PmuDeviceData data = {.metric = id, .mode = metric->mode};
		int event = event_of(metric, &rows[i]);

		if (event < 0 || !rows[i].cpuTopo)
			continue;
		set_id(&data, metric, rows, len, &rows[i]);
		r = add_count(places, from, &data, event, rows[i].count);
	}
	for (size_t i = from; i < places->n; i++) {
		struct place *p = &places->at[i];

		p->data.count = (double)p->sums[0] * metric->bytes;
		if (metric->events[1])
			p->data.count = p->sums[1] ? p->data.count / (double)p->sums[1] : 0;
	}
	if (places->n > from)
		qsort(&places->at[from], places->n - from, sizeof(*places->at), by_place);
	return r;
}

/* The caller's array, known by its address, with memory of the rows. */
static int publish(
	const struct places *places, struct kp_origin *origin, struct PmuDeviceData **ret)
{
	struct PmuDeviceData *array = calloc(places->n, sizeof(*array));
	struct kp_list *list = kp_list_new(origin);

	if (!array || !list) {
		free(array);
		kp_list_free(list);
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < places->n; i++)
		array[i] = places->at[i].data;
	*ret = kp_list_publish_as(list, array);
	return (int)places->n;
}

static bool is_repeated(const struct PmuDeviceAttr *attr, unsigned i)
{
	for (unsigned before = 0; before < i; before++)
		if (attr[before].metric == attr[i].metric)
			return true;
	return false;
}

int PmuGetDevMetric(struct PmuData *rows, unsigned len, struct PmuDeviceAttr *attr,
	unsigned attr_len, struct PmuDeviceData **data)
{
	struct places places = {0};
	struct kp_list *list;
	int r, n = -1;

	kp_begin();
	if (data)
		*data = NULL;
	if (!rows || !attr || !data)
		return kp_error(LIBPERF_ERR_PMU_DEVICES_NULL,
			"PmuGetDevMetric(): pmuData, attr or data is NULL");
	if (check_attr(attr, attr_len, "PmuGetDevMetric") != SUCCESS)
		return -1;
	list = kp_list_find(rows);
	if (!list || len > list->n)
		return kp_error(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuGetDevMetric(): the data is not from PmuRead(), has fewer than %u "
			"elements, or is already freed",
			len);
	r = SUCCESS;
	for (unsigned i = 0; i < attr_len && r == SUCCESS; i++)
		if (!is_repeated(attr, i))
			r = compute(&places, attr[i].metric, rows, len);
	if (r == SUCCESS && places.n == 0)
		kp_fail(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuGetDevMetric(): the data has no counts of these metrics: it is of "
			"another task than theirs");
	else if (r == SUCCESS)
		n = publish(&places, kp_list_origin(list), data);
	free(places.at);
	return n;
}

void DevDataFree(struct PmuDeviceData *data)
{
	kp_list_release(data, "DevDataFree");
}

const char **PmuDeviceBdfList(enum PmuBdfType type, unsigned *n)
{
	kp_begin();
	if (n)
		*n = 0;
	if (!n)
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuDeviceBdfList(): numBdf is NULL");
	else if (type != PMU_BDF_TYPE_PCIE && type != PMU_BDF_TYPE_SMMU)
		kp_fail(LIBPERF_ERR_INVALID_PMU_BDF_TYPE,
			"PmuDeviceBdfList(): %d is not a type of devices", type);
	else
		kp_fail(LIBPERF_ERR_NOT_SUPPORT_METRIC,
			"PmuDeviceBdfList(): metrics of PCIe and the SMMU are not supported by "
			"this library");
	return NULL;
}
