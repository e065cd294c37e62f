/* SPDX-License-Identifier: MIT */
/*
 * Vendor names of raw events ("INST_RETIRED:ANY_P", "skl::UOPS_ISSUED:ANY:u"), encoded by libpfm4.
 * The library is loaded with dlopen(3) only for a name that is otherwise unknown: its tables are
 * large and rarely needed, and it is optional.
 */
#include "event/pfm.h"

#include "base/library.h"
#include "event/list.h"

#ifdef HAVE_PFM

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>

#define FUNCTIONS(F)                                                                               \
	F(initialize, pfm_initialize)                                                              \
	F(encode, pfm_get_os_event_encoding)                                                       \
	F(message, pfm_strerror)                                                                   \
	F(pmu, pfm_get_pmu_info)                                                                   \
	F(event, pfm_get_event_info)                                                               \
	F(next, pfm_get_event_next)

LIBRARY_FUNCTIONS(pfm, FUNCTIONS);

static bool pfm_load(struct pfm *ret_pfm)
{
	int r = library_load("libpfm.so.4", pfm_names, ARRAY_SIZE(pfm_names), ret_pfm);

	if (r == -ENOENT)
		log_debug("vendor names of raw events are not available: %s", dlerror());
	return r == 0 && ret_pfm->initialize() == PFM_SUCCESS;
}

static int pfm_add(struct parser *parser, const char *text, const struct perf_event_attr *attr)
{
	struct attar_event_spec *spec;
	int r = parser_add(parser, ATTAR_EVENT_RAW, &spec);

	if (r < 0)
		return r;
	spec->name = text;
	spec->type = attr->type;
	spec->config = attr->config;
	spec->config1 = attr->config1;
	spec->config2 = attr->config2;
	spec->exclude_user = attr->exclude_user;
	spec->exclude_kernel = attr->exclude_kernel;
	spec->exclude_hv = attr->exclude_hv;
	spec->exclude_guest = attr->exclude_guest;
	spec->exclude_host = attr->exclude_host;
	spec->precise_ip = attr->precise_ip;
	return 1;
}

int pfm_parse(struct parser *parser, const char *word)
{
	size_t n = strcspn(word, ",/{} \t\n");
	char *text = list_text(parser->list, word, n);
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	struct pfm pfm;
	int r;

	if (!text)
		return base_oom();
	if (!pfm_load(&pfm))
		return 0;
	r = pfm.encode(text, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT, &arg);
	if (r == PFM_ERR_NOTFOUND || r == PFM_ERR_NOTSUPP || r == PFM_ERR_NOINIT)
		return 0;
	if (r != PFM_SUCCESS)
		return parser_fail(parser, word, -EINVAL, "libpfm4 cannot encode '%s': %s",
			CLIP(text), pfm.message(r));
	parser->p = word + n;
	return pfm_add(parser, text, &attr);
}

static int events_of(const struct pfm *pfm, const pfm_pmu_info_t *pmu, pfm_event_fn *fn, void *ctx)
{
	int r = 0;

	for (int i = pmu->first_event; i >= 0 && r == 0; i = pfm->next(i)) {
		pfm_event_info_t event = {.size = sizeof(event)};

		if (pfm->event(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
			r = fn(ctx, event.name, event.desc);
	}
	return r;
}

int pfm_events(pfm_event_fn *fn, void *ctx)
{
	struct pfm pfm;
	int r = 0;

	if (!pfm_load(&pfm))
		return 0;
	for (int i = 0; i < PFM_PMU_MAX && r == 0; i++) {
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm.pmu((pfm_pmu_t)i, &pmu) == PFM_SUCCESS && pmu.is_present &&
			pmu.type == PFM_PMU_TYPE_CORE)
			r = events_of(&pfm, &pmu, fn, ctx);
	}
	return r;
}

#else

int pfm_events(pfm_event_fn *fn, void *ctx)
{
	return 0;
}

int pfm_parse(struct parser *parser, const char *word)
{
	return 0;
}

#endif
