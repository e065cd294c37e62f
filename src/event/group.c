/* SPDX-License-Identifier: MIT */
#include "event/list.h"
#include "event/pmu.h"

/*
 * The PMU whose counters an event uses; NULL for software events, which can be in any group.
 */
static const char *owner(struct attar_catalog *catalog, const struct attar_event_spec *spec)
{
	struct pmu *core;

	switch (spec->kind) {
	case ATTAR_EVENT_SOFTWARE:
	case ATTAR_EVENT_TRACEPOINT:
	case ATTAR_EVENT_PROBE:
	case ATTAR_EVENT_BREAKPOINT:
		return NULL;
	default:
		break;
	}
	if (spec->pmu)
		return strcmp(spec->pmu, "msr") ? spec->pmu : NULL;
	if (spec->type > PERF_TYPE_MAX)
		return ""; /* a numeric type without a known PMU */
	core = pmu_core(catalog, 0);
	return core ? core->name : "cpu";
}

typedef VEC(const char *) owner_list;

static int number_of(owner_list *owners, const char *name, size_t *ret_index)
{
	*ret_index = 0;
	if (!name)
		return 0;
	for (; *ret_index < owners->n; ++*ret_index)
		if (!strcmp(owners->at[*ret_index], name))
			return 0;
	return vec_push(owners, name);
}

/* Moves element `from` down to `to`; the order of the others does not change. */
static void move_down(struct list *list, size_t from, size_t to)
{
	struct attar_event_spec spec = list->specs.at[from];
	struct letters letters = list->letters.at[from];

	memmove(&list->specs.at[to + 1], &list->specs.at[to], (from - to) * sizeof(spec));
	memmove(&list->letters.at[to + 1], &list->letters.at[to], (from - to) * sizeof(letters));
	list->specs.at[to] = spec;
	list->letters.at[to] = letters;
}

/* Logs a note if the user put events of several PMUs into a group, not a pattern or core type. */
static void note_split(const struct parser *parser, size_t first, size_t owners)
{
	const struct list *list = parser->list;
	unsigned items = 0;

	for (size_t i = first; i < list->specs.n; i++)
		if (i == first || list->specs.at[i].item != list->specs.at[i - 1].item)
			items++;
	if (items * owners > list->specs.n - first)
		log_note("a group cannot contain events of %zu PMUs: it was split into one group "
			 "per PMU",
			owners);
}

int group_make(struct parser *parser, size_t first)
{
	struct list *list = parser->list;
	owner_list owners = {0};
	int r = 0, base = (int)list->pub.n_groups;

	for (size_t i = first; i < list->specs.n && r == 0; i++) {
		struct attar_event_spec *spec = &list->specs.at[i];
		size_t index;

		r = number_of(&owners, owner(parser->catalog, spec), &index);
		spec->group = base + (int)index;
	}
	if (r == 0 && owners.n > 1)
		note_split(parser, first, owners.n);
	for (size_t i = first; r == 0 && i < list->specs.n; i++) {
		size_t to = i;

		while (to > first && list->specs.at[to - 1].group > list->specs.at[i].group)
			to--;
		move_down(list, i, to);
	}
	list->pub.n_groups += owners.n ? (unsigned)owners.n : 1;
	vec_done(&owners);
	return r < 0 ? base_oom() : 0;
}
