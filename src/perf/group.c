/* SPDX-License-Identifier: MIT */
/*
 * Groups. Only the leader is opened disabled: the kernel enables and disables with it those
 * siblings that are enabled themselves, so a sibling opened disabled would never count.
 */
#include "perf/group.h"

#include "base/check_arg.h"
#include "perf/counter_read.h"
#include "perf/target.h"

enum {
	MEMBERS_MAX = 512,
	MORE_MEMBERS = 4,          /* space for members added by other processes */
	WORDS_MAX = 64 * 1024 / 8, /* the kernel's limit for a group */
};

/* The words of a read: number of members and times, then value, id and lost of each. */
static size_t words_for(size_t n)
{
	return 3 + 3 * n;
}

int group_grow(struct attar_group *g)
{
	size_t n = 2 * g->n_words;
	uint64_t *words;

	if (n > WORDS_MAX)
		return attar_fail(-ENOSPC, "the group of '%s' has too many members to read",
			CLIP(g->members[0]->name));
	words = realloc(g->words, n * sizeof(*words));
	if (!words)
		return base_oom();
	g->words = words;
	g->n_words = n;
	return 0;
}

/* Conflicts that the kernel refuses with EINVAL only. */
static int check_member(const struct attar_group_event *leader, const struct attar_group_event *e)
{
	const char *what = e->attr->pinned ? "pinned" : e->attr->exclusive ? "exclusive" : NULL;

	if (what)
		return attar_fail(-EINVAL,
			"'%s' cannot be %s: only the leader of its group, '%s', can", CLIP(e->name),
			what, CLIP(leader->name));
	if (e->attr->use_clockid &&
		(!leader->attr->use_clockid || e->attr->clockid != leader->attr->clockid))
		return attar_fail(-EINVAL,
			"'%s' and the leader of its group, '%s', have different clocks (clockid)",
			CLIP(e->name), CLIP(leader->name));
	return 0;
}

static void follow_leader(struct attar_counter *c, const struct attar_counter *leader)
{
	c->attr.disabled = c->attr.enable_on_exec = 0;
	c->attr.inherit = leader->attr.inherit;
	c->attr.inherit_thread = leader->attr.inherit_thread;
	c->attr.use_clockid = leader->attr.use_clockid;
	c->attr.clockid = leader->attr.clockid;
}

static int add_member(struct attar_group *g, const struct attar_target *t,
	const struct attar_group_event *leader, const struct attar_group_event *e)
{
	struct attar_counter *c;
	int r = g->n ? check_member(leader, e) : 0;

	if (r == 0)
		r = counter_new(t, e->attr, e->name, &c);
	if (r < 0)
		return r;
	g->members[g->n++] = c;
	c->group = g;
	c->attr.read_format |= PERF_FORMAT_GROUP;
	if (c != g->members[0])
		follow_leader(c, g->members[0]);
	return 0;
}

/* Members are scheduled together: if one waits for a hardware counter, all wait. */
static void share_together(struct attar_group *g)
{
	bool shares = false;

	for (size_t i = 0; i < g->n; i++)
		shares |= g->members[i]->shares;
	for (size_t i = 0; i < g->n; i++)
		g->members[i]->shares = shares;
}

/* Caches the ids after instances were opened. Without memory, reads work but are slower. */
static void note_ids(struct attar_group *g)
{
	size_t n = g->members[0]->fds.n * g->n;
	uint64_t *ids = realloc(g->ids, n * sizeof(*ids));

	if (!ids)
		return;
	for (size_t i = 0; i < n; i++)
		ids[i] = g->members[i % g->n]->fds.at[i / g->n].id;
	g->ids = ids;
	g->n_ids = n;
}

static int make_members(struct attar_group *g, const struct attar_target *t,
	const struct attar_group_event *events, size_t n)
{
	g->n_words = words_for(n + MORE_MEMBERS);
	g->members = calloc(n, sizeof(*g->members));
	g->words = calloc(g->n_words, sizeof(*g->words));
	g->scratch = calloc(n, sizeof(*g->scratch));
	g->sums = calloc(n, sizeof(*g->sums));
	if (!g->members || !g->words || !g->scratch || !g->sums)
		return base_oom();
	for (size_t i = 0; i < n; i++) {
		int r = add_member(g, t, &events[0], &events[i]);

		if (r < 0)
			return r;
	}
	share_together(g);
	g->plain = true;
	for (size_t i = 0; i < n; i++)
		g->plain &= !g->members[i]->one_core_kind;
	return 0;
}

int group_open_on(struct attar_target *target, struct counter_cpus cpus,
	const struct attar_group_event *events, size_t n, unsigned flags,
	struct attar_group **ret_group)
{
	struct attar_group *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return base_oom();
	g->process = check_process;
	r = make_members(g, target, events, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = counter_restrict(g->members[i], target, cpus);
	if (r == 0)
		r = counters_open_instances(g->members, g->n, target, flags);
	if (r < 0) {
		attar_group_close(g);
		return r;
	}
	note_ids(g);
	*ret_group = g;
	return 0;
}

int attar_group_open(struct attar_target *target, const struct attar_group_event *events, size_t n,
	unsigned flags, struct attar_group **ret_group)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(events, "events");
	CHECK_ARG(ret_group, "ret_group");

	CHECK_FLAGS(flags, ATTAR_COUNTER_DEGRADE | ATTAR_COUNTER_SELF_READ);
	if (!n || n > MEMBERS_MAX)
		return attar_fail(
			-EINVAL, "a group must have 1 to %d events, not %zu", MEMBERS_MAX, n);
	for (size_t i = 0; i < n; i++) {
		CHECK_ARG(events[i].name, "events[].name");
		CHECK_ARG(events[i].attr, "events[].attr");
	}
	return group_open_on(target, (struct counter_cpus){0}, events, n, flags, ret_group);
}

struct attar_group *attar_group_close(struct attar_group *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->n; i++)
		counter_free(g->members[i]);
	free(g->members);
	free(g->words);
	free(g->ids);
	free(g->scratch);
	free(g->sums);
	free(g);
	return NULL;
}

struct attar_counter *attar_group_counter(struct attar_group *g, size_t i)
{
	CHECK_ARG_OR(g, "group", NULL);

	return i < g->n ? g->members[i] : NULL;
}
