/* SPDX-License-Identifier: MIT */
/* Metrics of rows of PmuRead(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "metric.h"
#include "topology.h"

enum { CHANNELS = 4 }; /* of memory on each die; the second die of a socket has the next ones */

/* A metric of one place, with the sums of its events. */
struct place {
	struct PmuDeviceData data;
	uint64_t sums[KP_METRIC_EVENTS];
};

struct places {
	struct place *at;
	size_t n;
};

static bool is_event(const char *terms, const char *event, const char *filter)
{
	size_t n = event ? strlen(event) : 0;

	return event && strncmp(terms, event, n) == 0 &&
	       strncmp(terms + n, ",", *filter ? 1 : 0) == 0 &&
	       strncmp(terms + n + (*filter ? 1 : 0), filter, strlen(filter)) == 0 &&
	       strcmp(terms + n + (*filter ? 1 : 0) + strlen(filter), "/") == 0;
}

/* Which event of the metric the row counts; -1: it is of something else. */
static int event_of(const struct kp_metric *metric, const struct PmuData *row, const char *filter)
{
	const char *slash = row->evt ? strchr(row->evt, '/') : NULL;

	for (int e = 0; slash && kp_metric_is_of(metric, row->evt) && e < KP_METRIC_EVENTS &&
			metric->events[e];
		e++)
		if (is_event(slash + 1, metric->events[e], filter) ||
			is_event(slash + 1, metric->codes[e], filter))
			return e;
	return -1;
}

/* "hisi_sccl3_ddrc5_1/...": 5; of the same die if the text before it is the same. */
static int controller_of(const struct kp_metric *metric, const char *evt, size_t *ret_die)
{
	const char *part = strstr(evt, metric->part);

	*ret_die = (size_t)(part - evt);
	return atoi(part + strlen(metric->part));
}

/* Numbers of controllers may have gaps: a channel is the rank among the controllers of a die. */
static unsigned channel_of(const struct kp_metric *metric, const struct PmuData *rows, unsigned len,
	const struct PmuData *row)
{
	size_t die, other;
	int number = controller_of(metric, row->evt, &die);
	uint64_t lower = 0;

	for (unsigned i = 0; i < len; i++) {
		int n;

		if (event_of(metric, &rows[i], "") < 0)
			continue;
		n = controller_of(metric, rows[i].evt, &other);
		if (other == die && strncmp(rows[i].evt, row->evt, die) == 0 && n < number &&
			n >= 0 && n < 64)
			lower |= UINT64_C(1) << n;
	}
	return (unsigned)__builtin_popcountll(lower) + (row->cpuTopo->numaId & 1 ? CHANNELS : 0);
}

static void set_id(struct PmuDeviceData *data, const struct kp_metric *metric,
	const struct PmuData *rows, unsigned len, const struct PmuData *row)
{
	switch (metric->mode) {
	case PMU_METRIC_CORE:
		data->coreId = (unsigned)row->cpu;
		break;
	case PMU_METRIC_CLUSTER:
		data->clusterId = (unsigned)kp_cluster(row->cpu);
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
	/* or numaId or clusterId, in the same place */
	return a->mode == PMU_METRIC_BDF || a->coreId == b->coreId;
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

static double value_of(const struct kp_metric *metric, const uint64_t *sums)
{
	uint64_t divisor = metric->events[1] ? sums[1] - sums[2] : 1;

	return divisor == 0 || sums[1] < sums[2] ? 0
						 : (double)sums[0] * metric->unit / (double)divisor;
}

/* The metric of a device has rows with this filter, "" for others; its place refers to attr. */
static int compute(struct places *places, const struct PmuDeviceAttr *attr,
	const struct PmuData *rows, unsigned len, const char *filter)
{
	const struct kp_metric *metric = &kp_metrics[attr->metric];
	size_t from = places->n;
	int r = SUCCESS;

	for (unsigned i = 0; i < len && r == SUCCESS; i++) {
		struct PmuDeviceData data = {.metric = attr->metric, .mode = metric->mode};
		int event = event_of(metric, &rows[i], filter);

		if (event < 0 || !rows[i].cpuTopo)
			continue;
		if (metric->mode == PMU_METRIC_BDF)
			data.bdf = (char *)kp_metric_target(attr);
		else
			set_id(&data, metric, rows, len, &rows[i]);
		r = add_count(places, from, &data, event, rows[i].count);
	}
	for (size_t i = from; i < places->n; i++)
		places->at[i].data.count = value_of(metric, places->at[i].sums);
	if (places->n > from)
		qsort(&places->at[from], places->n - from, sizeof(*places->at), by_place);
	return r;
}

static int compute_of(struct kp_origin *origin, struct places *places,
	const struct PmuDeviceAttr *attr, const struct PmuData *rows, unsigned len)
{
	char filter[KP_FILTER_SIZE] = "";
	const char *pmu;
	int r = SUCCESS;

	if (kp_metrics[attr->metric].filter != KP_FILTER_NONE) {
		pthread_mutex_lock(&origin->lock);
		r = kp_metric_filter(origin, attr, filter, &pmu);
		pthread_mutex_unlock(&origin->lock);
	}
	return r == SUCCESS ? compute(places, attr, rows, len, filter) : r;
}

/* Memory of the list with a text of the caller. */
static bool copy_text(struct kp_list *list, char **text)
{
	char *copy = kp_list_alloc(list, strlen(*text) + 1);

	if (copy)
		strcpy(copy, *text);
	*text = copy;
	return copy;
}

/* The caller's array, known by its address, with memory of the rows. */
static int publish(
	const struct places *places, struct kp_origin *origin, struct PmuDeviceData **ret)
{
	struct PmuDeviceData *array = calloc(places->n, sizeof(*array));
	struct kp_list *list = kp_list_new(origin);
	bool copied = array && list;

	for (size_t i = 0; copied && i < places->n; i++) {
		array[i] = places->at[i].data;
		if (array[i].mode == PMU_METRIC_BDF)
			copied = copy_text(list, &array[i].bdf);
	}
	if (!copied) {
		free(array);
		kp_list_free(list);
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	}
	*ret = kp_list_publish_as(list, array);
	return (int)places->n;
}

static bool is_repeated(const struct PmuDeviceAttr *attr, unsigned i)
{
	for (unsigned before = 0; before < i; before++)
		if (attr[before].metric == attr[i].metric &&
			(kp_metrics[attr[i].metric].filter == KP_FILTER_NONE ||
				strcmp(kp_metric_target(&attr[before]),
					kp_metric_target(&attr[i])) == 0))
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
	if (kp_metric_check(attr, attr_len, "PmuGetDevMetric") != SUCCESS)
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
			r = compute_of(kp_list_origin(list), &places, &attr[i], rows, len);
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
