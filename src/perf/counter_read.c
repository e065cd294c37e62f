/* SPDX-License-Identifier: MIT */
/*
 * Reads counters, with one system call per instance of a counter or of a whole group, and no
 * allocation. read(2) returns 0 (end of file) for a pinned event that lost its hardware counter,
 * and the whole group, leader first, whichever member is read.
 */
#include "perf/counter_read.h"

#include <time.h>

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "perf/group.h"
#include "perf/value.h"

/*
 * Maximum words of a counter without a group: number of members, value, enabled, running, id, lost.
 */
enum { WORDS_ALONE = 6 };
enum { EXIT_PAUSES = 1000, EXIT_PAUSE_NS = 50000 }; /* for a thread that is exiting */

/* True for an instance that counts a thread on one of its CPUs. */
static bool is_part(const struct counter_fd *it)
{
	return it->tid >= 0 && it->cpu >= 0;
}

static inline __attribute__((always_inline)) void finish(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v)
{
	v->raw -= it->base.raw;
	v->time_enabled -= it->base.time_enabled;
	v->time_running -= it->base.time_running;
	v->lost -= it->base.lost;
	/*
	 * A task on one CPU: time on other CPUs does not show whether this event was multiplexed.
	 */
	if (is_part(it) && !c->shares)
		v->time_enabled = v->time_running;
	v->elsewhere = c->one_core_kind || is_part(it);
	value_set_quality(v);
	if (unlikely(it->gap) && v->quality < ATTAR_QUALITY_PARTIAL)
		v->quality = ATTAR_QUALITY_PARTIAL;
}

void counter_read_finish(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v)
{
	finish(c, it, v);
}

static void sum_task(const struct attar_counter *c, struct counter_read_sum *s)
{
	if (!s->tid)
		return;
	s->task.elsewhere = c->one_core_kind || !c->every_cpu;
	if (s->task.quality != ATTAR_QUALITY_ERROR)
		value_set_quality(&s->task);
	attar_value_add(&s->total, &s->task);
	s->tid = 0;
}

static void sum_add(const struct attar_counter *c, struct counter_read_sum *s,
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
	value_join(&s->task, v);
}

static int failed(const struct attar_counter *c, const struct counter_fd *it, int error)
{
	if (it->cpu < 0)
		return attar_fail(error, "cannot read '%s' of thread %d: %s", CLIP(c->name),
			it->tid, strerror(-error));
	return attar_fail(
		error, "cannot read '%s' on CPU %d: %s", CLIP(c->name), it->cpu, strerror(-error));
}

/*
 * The result of read(2), as parsed by attar_read_parse(), but once for all members. Offsets are in
 * words relative to a value; 0: not in the format.
 */
struct block {
	const uint64_t *first; /* value */
	uint64_t nr;
	unsigned stride, id, lost;
	uint64_t time_enabled, time_running;
};

static inline __attribute__((always_inline)) bool parse_block(
	uint64_t format, const uint64_t *words, size_t n, struct block *b)
{
	bool ids = format & PERF_FORMAT_ID, losses = format & PERF_FORMAT_LOST_;
	bool enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED;
	bool running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	unsigned times = enabled + running,
		 gap = 1; /* words from a value to its id or lost count */

	if (n < 1 + times)
		return false;
	b->time_enabled = enabled ? words[1] : 0;
	b->time_running = running ? words[times] : 0;
	b->first = words;
	b->nr = 1;
	if (format & PERF_FORMAT_GROUP) {
		b->first += 1 + times;
		b->nr = words[0];
		n -= 1 + times;
	} else {
		gap += times;
	}
	b->stride = gap + ids + losses;
	b->id = ids ? gap : 0;
	b->lost = losses ? gap + ids : 0;
	/* The first test prevents an overflow in the second. */
	return b->nr <= n && b->nr * b->stride <= n;
}

/*
 * Handles an error of read(2). 1: read again; 0: the value is unknown. ENOSPC: the group may have
 * unknown additional members, and needs a larger buffer. ECHILD: a thread that inherited the group
 * has only a part of it: it is exiting; or it was created while the group was opened, and the
 * kernel gives no sum until it exits.
 */
static int handle_read_error(
	const struct attar_counter *c, const struct counter_fd *it, unsigned tries)
{
	const struct timespec pause = {.tv_nsec = EXIT_PAUSE_NS};

	if (errno == ENOSPC && c->group) {
		int r = group_grow(c->group);

		return r < 0 ? r : 1;
	}
	if (errno != ECHILD)
		return failed(c, it, -errno);
	if (tries >= EXIT_PAUSES) {
		log_debug("'%s' of thread %d is unknown: a thread was created while its group was "
			  "opened",
			CLIP(c->name), it->tid);
		return 0;
	}
	nanosleep(&pause, NULL);
	return 1;
}

static __attribute__((cold, noinline)) ssize_t read_again(const struct attar_counter *c,
	const struct counter_fd *it, uint64_t *alone, const uint64_t **ret_words)
{
	struct attar_group *g = c->group;
	ssize_t n;

	for (unsigned tries = 0;; tries++) {
		int r = handle_read_error(c, it, tries);

		if (r <= 0)
			return r;
		*ret_words = g ? g->words : alone;
		n = TEMP_FAILURE_RETRY(read(it->fd, g ? g->words : alone,
			(g ? g->n_words : WORDS_ALONE) * sizeof(*alone)));
		if (n >= 0)
			return n;
	}
}

/*
 * Returns 1 and the block, in the words of the group or in `alone`; 0 at end of file; or a negative
 * errno. Inlined into its callers: returns after a system call are mispredicted and would cost more
 * than everything else here.
 */
static inline __attribute__((always_inline)) int read_block(const struct attar_counter *c,
	const struct counter_fd *it, uint64_t *alone, struct block *ret_block)
{
	uint64_t *into = c->group ? c->group->words : alone;
	size_t size = (c->group ? c->group->n_words : WORDS_ALONE) * sizeof(*into);
	const uint64_t *words = into;
	ssize_t n = TEMP_FAILURE_RETRY(read(it->fd, into, size));

	if (unlikely(n < 0))
		n = read_again(c, it, alone, &words);
	if (unlikely(n <= 0))
		return (int)n;
	if (!parse_block(c->attr.read_format, words, (size_t)n / sizeof(*words), ret_block))
		return failed(c, it, -EIO);
	return 1;
}

/* The value with this id; NULL: not found. */
static __attribute__((cold, noinline)) const uint64_t *search(const struct block *b, uint64_t id)
{
	for (uint64_t i = 0; i < b->nr && b->id; i++)
		if (b->first[i * b->stride + b->id] == id)
			return &b->first[i * b->stride];
	return NULL;
}

static __attribute__((cold, noinline)) void take_nothing(
	const struct counter_fd *it, struct attar_value *v)
{
	*v = (struct attar_value){.id = counter_id(it)};
	value_error(v);
}

/* Takes the counter's values from a block. index is where they are expected; the id is checked. */
static inline __attribute__((always_inline)) void counter_read_take(const struct attar_counter *c,
	const struct counter_fd *it, const struct block *b, uint64_t index, struct attar_value *v)
{
	const uint64_t *own = b->first + index * b->stride;

	if (unlikely(index >= b->nr || (it->id && own[b->id] != it->id)))
		own = search(b, it->id);
	if (unlikely(!own)) {
		take_nothing(it, v); /* the group was dissolved because its leader was closed */
		return;
	}
	*v = (struct attar_value){.raw = own[0],
		.id = b->id ? own[b->id] : it->id,
		.lost = b->lost ? own[b->lost] : 0,
		.time_enabled = b->time_enabled,
		.time_running = b->time_running};
	finish(c, it, v);
}

/* Its CPU is offline: its counts were added to base at that time. */
static __attribute__((cold, noinline)) int take_gone(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *v)
{
	*v = (struct attar_value){.id = it->id};
	finish(c, it, v);
	return 0;
}

static inline __attribute__((always_inline)) int read_at(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *ret_value)
{
	uint64_t alone[WORDS_ALONE];
	struct block block;
	int r;

	if (unlikely(it->gone))
		return take_gone(c, it, ret_value);
	r = read_block(c, it, alone, &block);
	if (r < 0)
		return r;
	if (r == 0)
		take_nothing(it, ret_value);
	else
		counter_read_take(c, it, &block, 0, ret_value);
	return 0;
}

int counter_read_fd(
	const struct attar_counter *c, const struct counter_fd *it, struct attar_value *ret_value)
{
	return read_at(c, it, ret_value);
}

/*
 * Compares the kernel's time, not that since the last reset. The words of the group may be in use
 * by another thread.
 */
bool counter_waits_for_exec(const struct attar_counter *c, const struct counter_fd *it)
{
	size_t size = (c->group ? c->group->n_words : WORDS_ALONE) * sizeof(uint64_t);
	struct block block;
	uint64_t *words;
	bool waits;
	ssize_t n;

	if (!c->attr.enable_on_exec || it->gone)
		return false;
	words = malloc(size);
	n = words ? TEMP_FAILURE_RETRY(read(it->fd, words, size)) : 0;
	waits = n > 0 &&
		parse_block(c->attr.read_format, words, (size_t)n / sizeof(*words), &block) &&
		block.time_enabled == 0;
	free(words);
	return waits;
}

bool attar_counter_waits_for_exec(const struct attar_counter *c, size_t instance)
{
	CHECK_ARG_OR(c, "counter", false);

	return instance < c->fds.n && counter_waits_for_exec(c, &c->fds.at[instance]);
}

int attar_counter_read_at(struct attar_counter *c, size_t instance, struct attar_value *ret_value)
{
	CHECK_ARG(c, "counter");
	CHECK_ARG(ret_value, "ret_value");
	CHECK_BELOW(instance, "instance", c->fds.n);

	return read_at(c, &c->fds.at[instance], ret_value);
}

static __attribute__((noinline)) int read_sum(
	const struct attar_counter *c, struct attar_value *ret_value)
{
	struct counter_read_sum sum = {0};
	struct attar_value v;

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

int attar_counter_read(struct attar_counter *c, struct attar_value *ret_value)
{
	CHECK_ARG(c, "counter");
	CHECK_ARG(ret_value, "ret_value");

	/* On a machine with one CPU, the part of a task is all of it. */
	return c->fds.n == 1 && !is_part(c->fds.at) ? read_at(c, c->fds.at, ret_value)
						    : read_sum(c, ret_value);
}

/* values[0..n) are the parts of one thread. */
static void settle_task(const struct attar_counter *c, struct attar_value *values, size_t n)
{
	struct attar_value whole = {0};

	for (size_t i = 0; i < n; i++)
		value_join(&whole, &values[i]);
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
	CHECK_ARG_OR(c, "counter", );
	CHECK_ARG_OR(values, "values", );

	if (!c->shares || !c->fds.n || !is_part(c->fds.at))
		return;
	for (size_t i = 0, n; i < c->fds.n; i += n) {
		for (n = 1; i + n < c->fds.n && c->fds.at[i + n].tid == c->fds.at[i].tid;)
			n++;
		settle_task(c, &values[i], n);
	}
}

uint64_t counter_lost(const struct attar_counter *c)
{
	CHECK_ARG_OR(c, "counter", 0);

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

void counter_take_out(struct attar_counter *c, size_t instance, const struct attar_value *reported,
	struct attar_value *sum)
{
	struct counter_fd *it = &c->fds.at[instance];
	struct attar_value v = *reported;

	if (c->group)
		c->group->plain = false;
	rebase(it, &v);
	if (!c->shares)
		v.time_enabled = v.time_running;
	value_join(sum, &v);
	if (!c->shares)
		sum->time_enabled = sum->time_running;
	sum->elsewhere = c->one_core_kind || !c->every_cpu;
	value_set_quality(sum);
}

int attar_counter_reset(struct attar_counter *c)
{
	CHECK_OWN(c, "counter");

	struct attar_value v;

	if (c->group)
		c->group->plain = false;
	vec_each (&c->fds, it) {
		int r = read_at(c, it, &v);

		if (r < 0)
			return r;
		rebase(it, &v);
	}
	return 0;
}

/* ---- groups ---- */

/* Kernels before 4.13 cannot read inherited groups as a block: reads their members one by one. */
static int read_one_by_one(struct attar_group *g, size_t instance, struct attar_value *ret_values)
{
	for (size_t m = 0; m < g->n; m++) {
		int r = read_at(g->members[m], &g->members[m]->fds.at[instance], &ret_values[m]);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The fast path: all members are at their previous index and counted during all of the enabled
 * time. Returns false otherwise.
 */
static inline __attribute__((always_inline)) bool take_plain(const struct attar_group *g,
	size_t instance, const struct block *b, struct attar_value *values)
{
	const struct attar_counter *leader = g->members[0];
	bool part = is_part(&leader->fds.at[instance]);
	uint64_t enabled = part && !leader->shares ? b->time_running : b->time_enabled;
	const uint64_t *ids = g->ids + instance * g->n, *own = b->first, none = 0;
	const uint64_t *lost = b->lost ? own + b->lost : &none;
	size_t lost_stride = b->lost ? b->stride : 0;

	if (!g->plain || b->nr < g->n || !b->id || (instance + 1) * g->n > g->n_ids || !enabled ||
		b->time_running < enabled - enabled / VALUE_GRAIN)
		return false;
	for (size_t m = 0; m < g->n; m++, own += b->stride, lost += lost_stride) {
		if (own[b->id] != ids[m])
			return false;
		values[m] = (struct attar_value){.value = own[0],
			.raw = own[0],
			.time_enabled = enabled,
			.time_running = b->time_running,
			.lost = *lost,
			.id = ids[m],
			.quality = ATTAR_QUALITY_EXACT,
			.elsewhere = part};
	}
	return true;
}

static __attribute__((noinline)) void take_each(const struct attar_group *g, size_t instance,
	const struct block *b, struct attar_value *values)
{
	for (size_t m = 0; m < g->n; m++)
		counter_read_take(
			g->members[m], &g->members[m]->fds.at[instance], b, m, &values[m]);
}

/* r is 0 if read(2) returned end of file: the block is empty. */
static inline __attribute__((always_inline)) void take_block(const struct attar_group *g,
	size_t instance, int r, const struct block *b, struct attar_value *values)
{
	for (size_t m = 0; unlikely(r == 0) && m < g->n; m++)
		take_nothing(&g->members[m]->fds.at[instance], &values[m]);
	if (r > 0 && unlikely(!take_plain(g, instance, b, values)))
		take_each(g, instance, b, values);
}

static inline __attribute__((always_inline)) int read_group_at(
	struct attar_group *g, size_t instance, struct attar_value *ret_values)
{
	const struct attar_counter *leader = g->members[0];
	struct block block;
	int r;

	if (unlikely(!(leader->attr.read_format & PERF_FORMAT_GROUP) ||
		     leader->fds.at[instance].gone))
		return read_one_by_one(g, instance, ret_values);
	r = read_block(leader, &leader->fds.at[instance], NULL, &block);
	if (unlikely(r < 0))
		return r;
	take_block(g, instance, r, &block, ret_values);
	return 0;
}

int attar_group_read_at(struct attar_group *g, size_t instance, struct attar_value *ret_values)
{
	CHECK_ARG(g, "group");
	CHECK_ARG(ret_values, "ret_values");

	CHECK_BELOW(instance, "instance", g->members[0]->fds.n);

	return read_group_at(g, instance, ret_values);
}

static __attribute__((noinline)) int read_group_sums(
	struct attar_group *g, struct attar_value *ret_values)
{
	memset(g->sums, 0, g->n * sizeof(*g->sums));
	for (size_t i = 0; i < g->members[0]->fds.n; i++) {
		int r = read_group_at(g, i, g->scratch);

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

int attar_group_read(struct attar_group *g, struct attar_value *ret_values)
{
	CHECK_ARG(g, "group");
	CHECK_ARG(ret_values, "ret_values");

	return g->members[0]->fds.n == 1 ? read_group_at(g, 0, ret_values)
					 : read_group_sums(g, ret_values);
}

/* Like take_plain(), but only the values. */
static inline __attribute__((always_inline)) bool take_plain_values(
	const struct attar_group *g, const struct block *b, uint64_t *values)
{
	const uint64_t *own = b->first;

	if (!g->plain || b->nr < g->n || !b->id || g->n > g->n_ids || !b->time_enabled ||
		b->time_running != b->time_enabled)
		return false;
	for (size_t m = 0; m < g->n; m++, own += b->stride) {
		if (own[b->id] != g->ids[m])
			return false;
		values[m] = own[0];
	}
	return true;
}

/* Reads the values into scratch; returns their worst quality. */
static __attribute__((noinline)) int give_values(const struct attar_group *g, uint64_t *ret_values)
{
	int worst = ATTAR_QUALITY_IDLE;

	for (size_t m = 0; m < g->n; m++) {
		ret_values[m] = g->scratch[m].value;
		worst = MAX(worst, (int)g->scratch[m].quality);
	}
	return worst;
}

int group_values(struct attar_group *g, uint64_t *ret_values)
{
	CHECK_ARG(g, "group");
	CHECK_ARG(ret_values, "ret_values");

	const struct attar_counter *leader = g->members[0];
	struct block block = {0};
	int r;

	if (leader->fds.n != 1 || !(leader->attr.read_format & PERF_FORMAT_GROUP) ||
		leader->fds.at[0].gone) {
		r = attar_group_read(g, g->scratch);
		return r < 0 ? r : give_values(g, ret_values);
	}
	r = read_block(leader, leader->fds.at, NULL, &block);
	if (unlikely(r < 0))
		return r;
	if (r > 0 && take_plain_values(g, &block, ret_values))
		return ATTAR_QUALITY_EXACT;
	take_block(g, 0, r, &block, g->scratch);
	return give_values(g, ret_values);
}

int attar_group_reset(struct attar_group *g)
{
	CHECK_OWN(g, "group");

	g->plain = false;
	for (size_t i = 0; i < g->members[0]->fds.n; i++) {
		int r = attar_group_read_at(g, i, g->scratch);

		if (r < 0)
			return r;
		for (size_t m = 0; m < g->n; m++)
			rebase(&g->members[m]->fds.at[i], &g->scratch[m]);
	}
	return 0;
}
