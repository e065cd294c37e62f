/* SPDX-License-Identifier: MIT */
/*
 * Reading counters: one system call for each place of a counter or of a whole group, nothing allocated. The
 * kernel gives nothing (end of file) for a pinned event that lost its hardware counter, and it gives the whole
 * group, leader first, whichever member is read.
 */
#include "perf/readout.h"

#include "attar/record.h"
#include "perf/group.h"
#include "perf/value.h"

/* Of a lone counter: perhaps its number of members, value, enabled, running, id, lost. */
enum { WORDS_ALONE = 6 };

/* Of a thread, on one of the CPUs that it may run on. */
static bool is_part(const struct counter_fd *it)
{
	return it->tid >= 0 && it->cpu >= 0;
}

void readout_finish(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v)
{
	v->raw -= it->base.raw;
	v->time_enabled -= it->base.time_enabled;
	v->time_running -= it->base.time_running;
	v->lost -= it->base.lost;
	/* A task on one CPU: of what it spent on others it is not known whether this event waited. */
	if (is_part(it) && !c->shares)
		v->time_enabled = v->time_running;
	v->elsewhere = c->one_core_kind || is_part(it);
	value_judge(v);
}

static void sum_task(const struct attar_counter *c, struct readout_sum *s)
{
	if (!s->tid)
		return;
	s->task.elsewhere = c->one_core_kind || !c->every_cpu;
	if (s->task.quality != ATTAR_QUALITY_ERROR)
		value_judge(&s->task);
	attar_value_add(&s->total, &s->task);
	s->tid = 0;
}

static void sum_add(const struct attar_counter *c, struct readout_sum *s,
	const struct counter_fd *it, const struct attar_value *v)
{
	if (!is_part(it) || !c->shares) {
		attar_value_add(&s->total, v);
		return;
	}
	if (s->tid != it->tid) {
		sum_task(c, s);
		s->task = (struct attar_value){0};
		s->tid = it->tid;
	}
	attar_value_join(&s->task, v);
}

static int failed(const struct attar_counter *c, const struct counter_fd *it, int error)
{
	if (it->cpu < 0)
		return attar_fail(error, "cannot read '%s' of thread %d: %s", c->name, it->tid,
			strerror(-error));
	return attar_fail(
		error, "cannot read '%s' on CPU %d: %s", c->name, it->cpu, strerror(-error));
}

/* 1 and the block, 0 at end of file, or a negative errno. A group may have got members that we do not know. */
static int read_block(const struct attar_counter *c, const struct counter_fd *it, uint64_t *words,
	size_t size, struct attar_read *ret_block)
{
	ssize_t n;

	while ((n = TEMP_FAILURE_RETRY(read(it->fd, words, size))) < 0 && errno == ENOSPC &&
		c->group) {
		int r = group_grow(c->group);

		if (r < 0)
			return r;
		words = c->group->words;
		size = c->group->n_words * sizeof(*words);
	}
	if (n < 0)
		return failed(c, it, -errno);
	if (n > 0 && attar_read_parse(c->attr.read_format, words, (size_t)n, ret_block) < 0)
		return failed(c, it, -EIO);
	return n > 0;
}

static int read_own_block(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_read *ret_block)
{
	struct attar_group *g = c->group;

	return read_block(c, it, g->words, g->n_words * sizeof(*g->words), ret_block);
}

/* The counter's own part of a block. Its index is a guess: the id decides. */
static void take(const struct attar_counter *c, const struct counter_fd *it,
	const struct attar_read *block, uint64_t index, struct attar_value *v)
{
	struct attar_read_value own = attar_read_at(block, index);

	for (uint64_t i = 0; own.id != it->id && it->id && i < block->nr; i++)
		own = attar_read_at(block, i);
	*v = (struct attar_value){.id = it->id,
		.raw = own.value,
		.lost = own.lost,
		.time_enabled = attar_read_time_enabled(block),
		.time_running = attar_read_time_running(block)};
	if (it->id && own.id != it->id)
		value_error(v); /* the group was taken apart by its leader's end */
	else
		readout_finish(c, it, v);
}

static void take_nothing(const struct counter_fd *it, struct attar_value *v)
{
	*v = (struct attar_value){.id = it->id};
	value_error(v);
}

static int read_at(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *ret_value)
{
	uint64_t alone[WORDS_ALONE];
	struct attar_read block;
	int r = c->group ? read_own_block(c, it, &block)
			 : read_block(c, it, alone, sizeof(alone), &block);

	if (r < 0)
		return r;
	if (r == 0)
		take_nothing(it, ret_value);
	else
		take(c, it, &block, 0, ret_value);
	return 0;
}

int attar_counter_read_at(struct attar_counter *c, size_t place, struct attar_value *ret_value)
{
	return read_at(c, &c->fds.at[place], ret_value);
}

int attar_counter_read(struct attar_counter *c, struct attar_value *ret_value)
{
	struct readout_sum sum = {0};
	struct attar_value v;

	if (c->fds.n == 1)
		return read_at(c, c->fds.at, ret_value);
	vec_each (&c->fds, it) {
		int r = read_at(c, it, &v);

		if (r < 0)
			return r;
		sum_add(c, &sum, it, &v);
	}
	sum_task(c, &sum);
	*ret_value = sum.total;
	return 0;
}

/* values[0..n) are the parts of one thread. */
static void settle_task(const struct attar_counter *c, struct attar_value *values, size_t n)
{
	struct attar_value whole = {0};

	for (size_t i = 0; i < n; i++)
		attar_value_join(&whole, &values[i]);
	if (c->one_core_kind || !c->every_cpu || whole.quality > ATTAR_QUALITY_SCALED)
		return;
	for (size_t i = 0; i < n; i++) {
		if (values[i].quality != ATTAR_QUALITY_PARTIAL)
			continue;
		values[i].quality = whole.quality;
		values[i].value =
			whole.raw ? value_scale(values[i].raw, whole.value, whole.raw) : 0;
	}
}

void attar_values_settle(const struct attar_counter *c, struct attar_value *values)
{
	if (!c->shares || !c->fds.n || !is_part(c->fds.at))
		return;
	for (size_t i = 0, n; i < c->fds.n; i += n) {
		for (n = 1; i + n < c->fds.n && c->fds.at[i + n].tid == c->fds.at[i].tid;)
			n++;
		settle_task(c, &values[i], n);
	}
}

uint64_t attar_counter_lost(const struct attar_counter *c)
{
	struct attar_value v;
	uint64_t lost = 0;

	vec_each (&c->fds, it)
		if (read_at(c, it, &v) == 0)
			lost += v.lost;
	return lost;
}

static void rebase(struct counter_fd *it, const struct attar_value *v)
{
	it->base.raw += v->raw;
	it->base.time_enabled += v->time_enabled;
	it->base.time_running += v->time_running;
	it->base.lost += v->lost;
}

int attar_counter_reset(struct attar_counter *c)
{
	struct attar_value v;

	vec_each (&c->fds, it) {
		int r = read_at(c, it, &v);

		if (r < 0)
			return r;
		rebase(it, &v);
	}
	return 0;
}

/* ---- groups ---- */

/* Kernels before 4.13 give no block of a group that is inherited: its members are read one by one then. */
static int read_one_by_one(struct attar_group *g, size_t place, struct attar_value *ret_values)
{
	for (size_t m = 0; m < g->n; m++) {
		int r = read_at(g->members[m], &g->members[m]->fds.at[place], &ret_values[m]);

		if (r < 0)
			return r;
	}
	return 0;
}

int attar_group_read_at(struct attar_group *g, size_t place, struct attar_value *ret_values)
{
	const struct attar_counter *leader = g->members[0];
	struct attar_read block;
	int r;

	if (!(leader->attr.read_format & PERF_FORMAT_GROUP))
		return read_one_by_one(g, place, ret_values);
	r = read_own_block(leader, &leader->fds.at[place], &block);
	if (r < 0)
		return r;
	for (size_t m = 0; m < g->n; m++) {
		const struct attar_counter *c = g->members[m];

		if (r == 0)
			take_nothing(&c->fds.at[place], &ret_values[m]);
		else
			take(c, &c->fds.at[place], &block, m, &ret_values[m]);
	}
	return 0;
}

int attar_group_read(struct attar_group *g, struct attar_value *ret_values)
{
	size_t places = g->members[0]->fds.n;

	if (places == 1)
		return attar_group_read_at(g, 0, ret_values);
	memset(g->sums, 0, g->n * sizeof(*g->sums));
	for (size_t i = 0; i < places; i++) {
		int r = attar_group_read_at(g, i, g->scratch);

		if (r < 0)
			return r;
		for (size_t m = 0; m < g->n; m++) {
			struct attar_counter *c = g->members[m];

			sum_add(c, &g->sums[m], &c->fds.at[i], &g->scratch[m]);
		}
	}
	for (size_t m = 0; m < g->n; m++) {
		sum_task(g->members[m], &g->sums[m]);
		ret_values[m] = g->sums[m].total;
	}
	return 0;
}

int attar_group_reset(struct attar_group *g)
{
	for (size_t i = 0; i < g->members[0]->fds.n; i++) {
		int r = attar_group_read_at(g, i, g->scratch);

		if (r < 0)
			return r;
		for (size_t m = 0; m < g->n; m++)
			rebase(&g->members[m]->fds.at[i], &g->scratch[m]);
	}
	return 0;
}
