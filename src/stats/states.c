/* SPDX-License-Identifier: MIT */
/* The time of objects in each state. */
#include "attar/states.h"

#include "attar/private/states.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "stats/keyed.h"
#include "stats/loss_windows.h"

enum { KEYS_DEFAULT = 1 << 16, GROUPS_DEFAULT = 1 << 14, KEYS_MIN = 8, KEYS_LIMIT = 1 << 24 };
enum { STATES_MAX = 32, VALUE_MAX = 1 << 16 };

/* The block and the group follow. */
struct object {
	struct attar_state state;
	struct object *older, *newer; /* by the time of the last change */
	uint32_t group_size;          /* GROUP_IS_KEY: none was set */
	bool is_lost;                 /* in no state since a loss; state.since is from before */
};

enum { GROUP_IS_KEY = UINT16_MAX };

struct attar_states {
	struct keyed keyed; /* of struct object */
	struct attar_keytable *table;
	struct attar_states_opts opts;
	struct windows windows;
	struct object *oldest, *newest;
	struct attar_states_stats stats;
	uint64_t time;      /* of segments */
	uint64_t lost_time; /* of those dropped for a loss, up to the next change */
};

static int check_opts(const struct attar_states_opts *o)
{
	CHECK_BELOW(o->states, "opts.states", STATES_MAX + 1);
	CHECK_FLAGS(o->flags, ATTAR_STATES_SAME_TASK | ATTAR_STATES_ONE_CPU);
	CHECK_BELOW(o->value_size, "opts.value_size", VALUE_MAX + 1);
	CHECK_BELOW(o->key_max, "opts.key_max", ATTAR_KEY_MAX + 1);
	CHECK_BELOW(o->group_max, "opts.group_max", ATTAR_KEY_MAX + 1);
	CHECK_BELOW(o->keys_max, "opts.keys_max", KEYS_LIMIT + 1);
	if (!o->states)
		return attar_fail(-EINVAL, "opts.states is 0, at least 1 is required");
	CHECK_BELOW(o->groups_max, "opts.groups_max", KEYS_LIMIT + 1);
	if (o->keys_max < KEYS_MIN || o->groups_max < KEYS_MIN)
		return attar_fail(-EINVAL, "opts.%s is %zu, at least %d is required",
			o->keys_max < KEYS_MIN ? "keys_max" : "groups_max",
			MIN(o->keys_max, o->groups_max), KEYS_MIN);
	return 0;
}

static int new_table(struct attar_states *s)
{
	struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = s->opts.states + 1,
		.hists = s->opts.states,
		.key_max = MAX(s->opts.key_max, s->opts.group_max),
		.keys_max = s->opts.groups_max,
		.rank = s->opts.states};

	return attar_keytable_new(&opts, &s->table);
}

int attar_states_new(const struct attar_states_opts *opts, struct attar_states **ret_states)
{
	CHECK_ARG(opts, "opts");
	CHECK_ARG(ret_states, "ret_states");

	struct attar_states_opts o = {0};
	struct attar_states *s;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	o.keys_max = o.keys_max ? o.keys_max : KEYS_DEFAULT;
	o.groups_max = o.groups_max ? o.groups_max : GROUPS_DEFAULT;
	r = check_opts(&o);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return base_oom();
	s->opts = o;
	r = new_table(s);
	if (r < 0) {
		free(s);
		return r;
	}
	s->windows.one_cpu = o.flags & ATTAR_STATES_ONE_CPU;
	keyed_init(&s->keyed, sizeof(struct object) + ROUND_UP(o.value_size, 8) + o.group_max,
		o.key_max, o.keys_max);
	*ret_states = s;
	return 0;
}

struct attar_states *attar_states_free(struct attar_states *states)
{
	if (!states)
		return NULL;
	attar_keytable_free(states->table);
	keyed_done(&states->keyed);
	windows_done(&states->windows);
	free(states);
	return NULL;
}

/* ---- the list by age ---- */

static void insert_newest(struct attar_states *s, struct object *o)
{
	o->older = s->newest;
	o->newer = NULL;
	*(s->newest ? &s->newest->newer : &s->oldest) = o;
	s->newest = o;
}

static void take_out(struct attar_states *s, const struct object *o)
{
	*(o->older ? &o->older->newer : &s->oldest) = o->newer;
	*(o->newer ? &o->newer->older : &s->newest) = o->older;
}

static void make_newest(struct attar_states *s, struct object *o)
{
	if (!o->newer)
		return;
	take_out(s, o);
	insert_newest(s, o);
}

/* ---- objects ---- */

static void forget(struct attar_states *s, struct object *o)
{
	take_out(s, o);
	keyed_unlink(&s->keyed, o);
	keyed_release(&s->keyed, o);
}

static void states_drop(struct attar_states *s, struct object *o, uint64_t *count)
{
	if (o->state.state == ATTAR_NO_STATE)
		return;
	++*count;
	s->stats.open--;
	o->state.state = ATTAR_NO_STATE;
}

/* Changes in the present segment may have been lost: its state is unknown. */
static inline void drop_if_lost(struct attar_states *s, struct object *o)
{
	if (likely(o->state.since >= windows_end(&s->windows, o->state.cpu)))
		return;
	o->is_lost |= o->state.state != ATTAR_NO_STATE;
	states_drop(s, o, &s->stats.lost);
}

/* What happens from here on is known again, or counted separately. */
static inline void end_loss(struct attar_states *s, struct object *o, uint64_t time)
{
	if (likely(!o->is_lost))
		return;
	s->lost_time += time > o->state.since ? time - o->state.since : 0;
	o->is_lost = false;
}

static struct object *new_object(struct attar_states *s, const struct keyed_key *key)
{
	struct object *o;

	if (keyed_is_full(&s->keyed)) {
		o = s->oldest;
		states_drop(s, o, &s->stats.evicted);
		forget(s, o);
	}
	o = keyed_new(&s->keyed, key);
	if (!o)
		return NULL;
	memset(o, 0, s->keyed.size);
	o->state = (struct attar_state){.key = keyed_bytes(&s->keyed, o),
		.key_size = key->size,
		.state = ATTAR_NO_STATE,
		.ended = ATTAR_NO_STATE,
		.value = o + 1};
	o->group_size = GROUP_IS_KEY;
	keyed_link(&s->keyed, o);
	insert_newest(s, o);
	return o;
}

/* The key was reused: what is known is of another task. */
static void check_task(struct attar_states *s, struct object *o, const struct attar_stamp *at)
{
	if (!(s->opts.flags & ATTAR_STATES_SAME_TASK) || o->state.task == at->task ||
		o->state.task == ATTAR_NO_TASK || at->task == ATTAR_NO_TASK)
		return;
	states_drop(s, o, &s->stats.reused);
	o->is_lost = false;
	memset(o->state.value, 0, s->opts.value_size);
	o->group_size = GROUP_IS_KEY;
}

static char *group_of(const struct attar_states *s, struct object *o)
{
	return (char *)(o + 1) + ROUND_UP(s->opts.value_size, 8);
}

static inline int add_segment(struct attar_states *s, struct object *o, uint64_t time)
{
	bool is_key = o->group_size == GROUP_IS_KEY;
	struct attar_keyrow *row = attar_keytable_at(s->table,
		is_key ? o->state.key : group_of(s, o), is_key ? o->state.key_size : o->group_size);
	uint64_t duration = time - o->state.since;

	if (!row || attar_hist_add(&row->interval.hists[o->state.state], duration) < 0)
		return -ENOMEM;
	row->interval.sums[o->state.state] += duration;
	row->interval.sums[s->opts.states] += duration;
	s->time += duration;
	s->stats.segments++;
	s->stats.open--;
	o->state.ended = o->state.state;
	o->state.duration = duration;
	o->state.state = ATTAR_NO_STATE;
	return 0;
}

/* Ends the present segment, if there is one. */
static inline int end_segment(struct attar_states *s, struct object *o, uint64_t time)
{
	int r = 0;

	if (o->state.state == ATTAR_NO_STATE)
		return 0;
	if (unlikely(time < o->state.since))
		states_drop(s, o, &s->stats.backward);
	else
		r = add_segment(s, o, time);
	if (unlikely(r < 0))
		states_drop(s, o, &s->stats.evicted);
	return r;
}

static inline void begin_segment(
	struct attar_states *s, struct object *o, uint32_t state, const struct attar_stamp *at)
{
	end_loss(s, o, at->time);
	o->state.state = state;
	o->state.since = at->time;
	o->state.task = at->task;
	o->state.cpu = at->cpu;
	if (state == ATTAR_NO_STATE)
		return;
	s->stats.begun++;
	s->stats.open++;
}

static inline int change(
	struct attar_states *s, struct object *o, uint32_t state, const struct attar_stamp *at)
{
	int r;

	if (state >= s->opts.states)
		state = ATTAR_NO_STATE;
	drop_if_lost(s, o);
	make_newest(s, o);
	o->state.ended = ATTAR_NO_STATE;
	if (o->state.state == state && state != ATTAR_NO_STATE && at->time >= o->state.since)
		return 0;
	r = end_segment(s, o, at->time);
	begin_segment(s, o, state, at);
	return r;
}

static inline struct attar_state *states_set(struct attar_states *s, const struct keyed_key *key,
	uint32_t state, const struct attar_stamp *at)
{
	struct object *o = keyed_find(&s->keyed, key);

	if (unlikely(!o)) {
		o = new_object(s, key);
		if (!o)
			return NULL;
	} else {
		check_task(s, o, at);
	}
	return change(s, o, state, at) < 0 ? NULL : &o->state;
}

struct attar_state *states_set_key(struct attar_states *states, const void *key, size_t key_size,
	uint32_t state, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_key(&states->keyed, key, MIN(key_size, states->keyed.key_max));

	return states_set(states, &k, state, at);
}

struct attar_state *attar_states_set_u64(
	struct attar_states *states, uint64_t key, uint32_t state, const struct attar_stamp *at)
{
	struct keyed_key k = keyed_number(&key);

	return states_set(states, &k, state, at);
}

int state_change(struct attar_states *states, struct attar_state *state, uint32_t to,
	const struct attar_stamp *at)
{
	struct object *o = (struct object *)state;

	check_task(states, o, at);
	return change(states, o, to, at);
}

void attar_state_set_group(struct attar_states *states, struct attar_state *state,
	const void *group, size_t group_size)
{
	struct object *o = (struct object *)state;

	if (!states->opts.group_max)
		return;
	o->group_size = (uint32_t)MIN(group_size, states->opts.group_max);
	memcpy(group_of(states, o), group, o->group_size);
}

struct attar_state *attar_states_get(struct attar_states *states, const void *key, size_t key_size)
{
	CHECK_ARG_OR(states, "states", NULL);
	CHECK_ARG_OR(key, "key", NULL);

	struct keyed_key k = keyed_key(&states->keyed, key, MIN(key_size, states->keyed.key_max));
	struct object *o = keyed_find(&states->keyed, &k);

	if (!o)
		return NULL;
	drop_if_lost(states, o);
	return &o->state;
}

struct attar_state *states_at_u64(struct attar_states *states, uint64_t key)
{
	struct keyed_key k = keyed_number(&key);
	struct object *o = keyed_find(&states->keyed, &k);

	if (likely(o))
		drop_if_lost(states, o);
	else
		o = new_object(states, &k);
	return o ? &o->state : NULL;
}

struct attar_state *attar_states_next(struct attar_states *states, const struct attar_state *state)
{
	CHECK_ARG_OR(states, "states", NULL);

	const struct object *previous = (const struct object *)state;
	struct object *o = previous ? previous->newer : states->oldest;

	if (!o)
		return NULL;
	drop_if_lost(states, o);
	return &o->state;
}

int attar_states_exit(
	struct attar_states *states, const void *key, size_t key_size, const struct attar_stamp *at)
{
	CHECK_ARG(states, "states");
	CHECK_ARG(key, "key");
	CHECK_ARG(at, "at");

	struct keyed_key k = keyed_key(&states->keyed, key, MIN(key_size, states->keyed.key_max));
	struct object *o = keyed_find(&states->keyed, &k);
	int r;

	if (!o)
		return 0;
	check_task(states, o, at);
	drop_if_lost(states, o);
	end_loss(states, o, at->time);
	r = end_segment(states, o, at->time);
	forget(states, o);
	return r;
}

void attar_states_lost(struct attar_states *states, int cpu, uint64_t from, uint64_t to)
{
	CHECK_ARG_OR(states, "states", );

	if (from <= to)
		windows_add(&states->windows, cpu, to);
}

void state_drop(struct attar_states *states, struct attar_state *state)
{
	CHECK_ARG_OR(states, "states", );
	CHECK_ARG_OR(state, "state", );

	struct object *o = (struct object *)state;

	drop_if_lost(states, o);
	states_drop(states, o, &states->stats.unseen);
}

void state_forget(struct attar_states *states, struct attar_state *state)
{
	CHECK_ARG_OR(states, "states", );
	CHECK_ARG_OR(state, "state", );

	uint64_t forgotten = 0;

	states_drop(states, (struct object *)state, &forgotten);
}

int attar_states_close(struct attar_states *states, uint64_t time)
{
	CHECK_ARG(states, "states");

	int r = 0;

	for (struct object *o = states->oldest; o; o = o->newer) {
		struct attar_stamp at = {time, o->state.task, o->state.cpu};
		uint32_t state;
		int failed;

		drop_if_lost(states, o);
		state = o->state.state;
		if (state == ATTAR_NO_STATE) {
			end_loss(states, o, time);
			continue;
		}
		failed = end_segment(states, o, time);
		r = failed < 0 ? failed : r;
		begin_segment(states, o, state, &at);
	}
	return r;
}

struct attar_keytable *attar_states_table(const struct attar_states *states)
{
	CHECK_ARG_OR(states, "states", NULL);

	return states->table;
}

static double lost_share(const struct attar_states *s)
{
	double all = (double)s->time + (double)s->lost_time;

	return all > 0 ? (double)s->lost_time / all : 0;
}

void attar_states_get_stats(const struct attar_states *states, struct attar_states_stats *ret_stats)
{
	CHECK_ARG_OR(states, "states", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	*ret_stats = states->stats;
	ret_stats->keys = states->keyed.n;
	ret_stats->memory = sizeof(*states) + keyed_memory(&states->keyed);
	ret_stats->lost_share = lost_share(states);
}
