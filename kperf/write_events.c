/* SPDX-License-Identifier: MIT */
/* Events are looked up as by PmuOpen(), so that the file has those that the task sampled. */
#include "write_events.h"

#include <stdlib.h>
#include <string.h>

#include "attar/event.h"
#include "data.h"
#include "error.h"
#include "task.h"
#include "tracing_data.h"

static void set_attr(const struct PmuAttr *attr, const struct EvtAttr *own,
	const struct attar_event_spec *spec, struct perf_event_attr *to)
{
	kp_sample_rate(attr, own, spec, to);
	to->exclude_user |= attr->excludeUser | own->excludeUser;
	to->exclude_kernel |= attr->excludeKernel | own->excludeKernel;
	to->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			  (attr->callStack ? PERF_SAMPLE_CALLCHAIN : 0) |
			  (to->type == PERF_TYPE_TRACEPOINT ? PERF_SAMPLE_RAW : 0) |
			  (attr->branchSampleFilter ? PERF_SAMPLE_BRANCH_STACK : 0);
	to->branch_sample_type = attr->branchSampleFilter;
	to->read_format = PERF_FORMAT_ID;
	to->sample_id_all = to->mmap = to->mmap2 = to->comm = to->task = 1;
}

/* Appends the events of an entry, and the formats of its tracepoints. */
static int add_list(struct kp_file_events *events, unsigned entry, const struct PmuAttr *attr,
	const struct attar_event_list *list, const struct attar_format ***formats,
	size_t *n_formats)
{
	const struct EvtAttr own =
		entry < attr->numEvtAttr ? attr->evtAttr[entry] : (struct EvtAttr){.groupId = -1};
	size_t most = events->n + list->n;
	struct kp_file_event *at = reallocarray(events->at, most, sizeof(*at));
	const struct attar_format **known = reallocarray(*formats, most, sizeof(*known));

	events->at = at ? at : events->at;
	*formats = known ? known : *formats;
	if (!at || !known)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (size_t i = 0; i < list->n; i++) {
		struct kp_file_event *event = &at[events->n++];

		*event = (struct kp_file_event){.entry = events->entries[entry]};
		attar_event_spec_attr(&list->at[i], &event->attr, sizeof(event->attr));
		set_attr(attr, &own, &list->at[i], &event->attr);
		if (event->attr.type == PERF_TYPE_TRACEPOINT && list->at[i].format)
			known[(*n_formats)++] = list->at[i].format;
	}
	return SUCCESS;
}

static int find_entries(struct kp_file_events *events, struct attar_catalog *catalog,
	const struct PmuAttr *attr, const struct attar_format ***formats, size_t *n_formats)
{
	int r = SUCCESS;

	events->entries = calloc(attr->numEvt, sizeof(*events->entries));
	for (; r == SUCCESS && events->entries && events->n_entries < attr->numEvt;) {
		unsigned entry = events->n_entries++;
		struct attar_event_list *list = NULL;

		events->entries[entry] = strdup(attr->evtList[entry]);
		if (!events->entries[entry])
			break;
		r = kp_event_parse(catalog, attr->evtList[entry], &list);
		if (r == SUCCESS)
			r = add_list(events, entry, attr, list, formats, n_formats);
		attar_event_list_free(list);
	}
	if (r == SUCCESS && (!events->entries || !events->entries[attr->numEvt - 1]))
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	return r;
}

int kp_file_events_find(struct kp_file_events *ret, const struct PmuAttr *attr)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	const struct attar_format **formats = NULL;
	struct attar_catalog *catalog = NULL;
	size_t n = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = attar_catalog_new(&opts, &catalog);
	if (r < 0)
		return kp_fail_errno(r, LIBPERF_ERR_INVALID_EVENT);
	r = find_entries(ret, catalog, attr, &formats, &n);
	if (r == SUCCESS) {
		int made = kp_tracing_data(catalog, formats, n, &ret->tracing, &ret->tracing_size);

		r = made < 0 ? kp_fail_errno(made, LIBPERF_ERR_INVALID_EVENT) : SUCCESS;
	}
	attar_catalog_free(catalog);
	free(formats);
	if (r != SUCCESS)
		kp_file_events_done(ret);
	return r;
}

void kp_file_events_done(struct kp_file_events *events)
{
	for (unsigned i = 0; i < events->n_entries; i++)
		free(events->entries[i]);
	free(events->entries);
	free(events->at);
	free(events->tracing);
	memset(events, 0, sizeof(*events));
}

int kp_file_events_index(const struct kp_file_events *events, const struct PmuData *row)
{
	const struct kp_raw *raw = kp_raw_of(row);

	for (size_t i = 0; row->evt && i < events->n; i++) {
		const struct kp_file_event *event = &events->at[i];

		if (strcmp(event->entry, row->evt) == 0 &&
			(!raw || event->attr.type != PERF_TYPE_TRACEPOINT ||
				raw->format->id == event->attr.config))
			return (int)i;
	}
	return -1;
}
