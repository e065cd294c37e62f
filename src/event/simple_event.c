/* SPDX-License-Identifier: MIT */
/* Events of one word: generic events, raw numbers, named events of a PMU. */
#include <stdio.h>

#include "base/suggest.h"
#include "event/list.h"
#include "event/generic_events.h"
#include "event/pmu.h"
#include "event/terms.h"

/* "r1a8": hexadecimal digits after an r. */
static bool raw_config(const char *word, size_t n, uint64_t *ret_config)
{
	uint64_t config = 0;

	if (n < 2 || n > 17 || word[0] != 'r')
		return false;
	for (size_t i = 1; i < n; i++) {
		int digit = parse_hex_digit(word[i]);

		if (digit < 0)
			return false;
		config = config << 4 | (uint64_t)digit;
	}
	*ret_config = config;
	return true;
}

static bool simple_event_set(
	struct attar_event_spec *spec, enum attar_event_kind kind, uint32_t type)
{
	spec->kind = kind;
	spec->type = type;
	return true;
}

static bool from_table(const struct name *list, size_t list_n, const char *word, size_t n,
	struct attar_event_spec *spec)
{
	const struct name *found = names_find(list, list_n, word, n);

	if (!found)
		return false;
	spec->config = found->config;
	if (found->unit) {
		spec->unit = found->unit;
		spec->scale = found->scale;
	}
	return true;
}

bool simple_event_generic(const char *word, size_t n, struct attar_event_spec *spec)
{
	const struct name *list;
	size_t list_n;

	list = names_hardware(&list_n);
	if (from_table(list, list_n, word, n, spec))
		return simple_event_set(spec, ATTAR_EVENT_HARDWARE, PERF_TYPE_HARDWARE);
	list = names_software(&list_n);
	if (from_table(list, list_n, word, n, spec))
		return simple_event_set(spec, ATTAR_EVENT_SOFTWARE, PERF_TYPE_SOFTWARE);
	if (names_cache(word, n, &spec->config))
		return simple_event_set(spec, ATTAR_EVENT_CACHE, PERF_TYPE_HW_CACHE);
	if (raw_config(word, n, &spec->config))
		return simple_event_set(spec, ATTAR_EVENT_RAW, PERF_TYPE_RAW);
	return false;
}

static int add_generic(
	struct parser *parser, const struct attar_event_spec *like, const char *word, size_t n)
{
	struct attar_event_spec *spec;
	int r = parser_add(parser, like->kind, &spec);

	if (r < 0)
		return r;
	spec->type = like->type;
	spec->config = like->config;
	spec->unit = like->unit;
	spec->scale = like->scale;
	spec->name = list_text(parser->list, word, n);
	return spec->name ? 1 : base_oom();
}

/* On hybrid CPUs, one event for each core PMU. */
static int add_per_core(struct parser *parser, const char *word, size_t n)
{
	struct pmu *pmu;
	int r = 1;

	for (size_t i = 0; r > 0 && (pmu = pmu_core(parser->catalog, i)); i++)
		r = terms_add_word(parser, pmu, word, n);
	return r;
}

static int add_named(struct parser *parser, const char *word, size_t n)
{
	char name[256];
	int r = 0;

	if (n >= sizeof(name))
		return 0;
	memcpy(name, word, n);
	name[n] = '\0';
	r = pmu_load(parser->catalog);
	for (size_t i = 0; r >= 0 && i < parser->catalog->pmus.n; i++)
		if (pmu_has_event(parser->catalog->pmus.at[i], name))
			r = terms_add_word(parser, parser->catalog->pmus.at[i], word, n);
	return r;
}

int simple_event_parse(struct parser *parser, const char *word, size_t n)
{
	struct attar_event_spec like = {.unit = "", .scale = 1};

	if (!simple_event_generic(word, n, &like))
		return add_named(parser, word, n);
	if (like.kind != ATTAR_EVENT_SOFTWARE && pmu_core(parser->catalog, 1))
		return add_per_core(parser, word, n);
	return add_generic(parser, &like, word, n);
}

/* ---- did you mean ---- */

static void offer_table(struct suggest *s, const struct name *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		suggest_offer(s, list[i].name);
		if (list[i].alias)
			suggest_offer(s, list[i].alias);
	}
}

static void offer_pmus(struct suggest *s, struct attar_catalog *catalog, dir_names *words)
{
	vec_each (&catalog->pmus, pmu)
		if (pmu_event_names(*pmu, words) < 0)
			return;
	vec_each (words, word)
		suggest_offer(s, *word);
}

/* "sched_switch": a tracepoint without its system. */
static const char *find_tracepoint(struct parser *parser, const char *name)
{
	struct tracefs *tracefs = &parser->catalog->tracefs;
	dir_names systems _cleanup_(dir_names_done) = {0};
	char *full;

	if (tracefs_systems(tracefs, &systems) < 0)
		return NULL;
	vec_each (&systems, system) {
		dir_names events _cleanup_(dir_names_done) = {0};

		if (tracefs_events(tracefs, *system, &events) < 0)
			return NULL;
		vec_each (&events, event)
			if (!strcmp(*event, name))
				return asprintf(&full, "%s:%s", *system, name) < 0
					       ? NULL
					       : list_own(parser->list, full);
	}
	return NULL;
}

int simple_event_unknown(struct parser *parser, const char *word, size_t n)
{
	dir_names words _cleanup_(dir_names_done) = {0};
	char *text _cleanup_free_ = strndup(word, n);
	char cache[NAMES_CACHE_MAX][NAMES_CACHE_LEN], about[64];
	struct suggest s = {.word = text};
	const struct name *list;
	uint64_t config;
	size_t list_n;

	if (!text)
		return base_oom();
	list = names_hardware(&list_n);
	offer_table(&s, list, list_n);
	list = names_software(&list_n);
	offer_table(&s, list, list_n);
	for (unsigned i = 0; i < NAMES_CACHE_MAX && names_cache_at(i, cache[i], about, &config);
		i++)
		suggest_offer(&s, cache[i]);
	offer_pmus(&s, parser->catalog, &words);
	s.best = find_tracepoint(parser, text) ?: s.best;
	if (s.best)
		return parser_fail(parser, word, -ENOENT,
			"no event '%s'" ATTAR_FIX "did you mean '%s'?", CLIP(text), s.best);
	return parser_fail(parser, word, -ENOENT, "no event '%s'" ATTAR_FIX "see 'attar list%s'",
		CLIP(text), parser->catalog->tracefs.recorded ? " --input FILE" : "");
}
