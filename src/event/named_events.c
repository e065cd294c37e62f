/* SPDX-License-Identifier: MIT */
#include "attar/event.h"

#include "base/check_arg.h"
#include "event/generic_events.h"
#include "event/pfm.h"

struct iteration {
	attar_named_event_fn *fn;
	void *ctx;
};

static int each_of_list(const struct iteration *it, enum attar_event_kind kind, uint32_t type,
	const struct name *list, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct attar_named_event event = {.kind = kind,
			.name = list[i].name,
			.alias = list[i].alias,
			.about = list[i].about,
			.type = type,
			.config = list[i].config};

		r = it->fn(it->ctx, &event);
	}
	return r;
}

static int each_of_caches(const struct iteration *it)
{
	char name[NAMES_CACHE_LEN], about[64];
	struct attar_named_event event = {.kind = ATTAR_EVENT_CACHE,
		.name = name,
		.about = about,
		.type = PERF_TYPE_HW_CACHE};
	int r = 0;

	for (unsigned i = 0; r == 0 && names_cache_at(i, name, about, &event.config); i++)
		r = it->fn(it->ctx, &event);
	return r;
}

static int pass_raw(void *ctx, const char *name, const char *about)
{
	const struct iteration *it = ctx;
	const struct attar_named_event event = {
		.kind = ATTAR_EVENT_RAW, .name = name, .about = about, .type = PERF_TYPE_RAW};

	return it->fn(it->ctx, &event);
}

int attar_named_events(attar_named_event_fn *fn, void *ctx)
{
	CHECK_ARG(fn, "fn");

	struct iteration it = {fn, ctx};
	const struct name *list;
	size_t n;
	int r;

	list = names_hardware(&n);
	r = each_of_list(&it, ATTAR_EVENT_HARDWARE, PERF_TYPE_HARDWARE, list, n);
	if (r == 0)
		r = each_of_caches(&it);
	if (r == 0)
		r = pfm_events(pass_raw, &it);
	list = names_software(&n);
	if (r == 0)
		r = each_of_list(&it, ATTAR_EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, list, n);
	return r;
}
