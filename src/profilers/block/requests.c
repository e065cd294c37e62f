/* SPDX-License-Identifier: MIT */
#include "block/requests.h"

#include "attar/builtin.h"
#include "attar/private/states.h"
#include "block/flushes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512 };

/*
 * Open requests. Those with the same device, sector and kind have the slots from 0 on. Without a
 * sector it is 0.
 */
struct key {
	uint64_t dev, sector;
	uint32_t kind, slot;
};

enum { SLOTS_MAX = 1024, SUPERSEDED_MAX = 16 };

/* The block of an open request. */
struct open_request {
	struct block_request request;
	uint64_t issued;    /* ns; 0: not yet */
	bool has_next;      /* the next slot is used, too */
	bool asks_preflush; /* and it was not issued yet */
	bool asks_fua;
	bool is_requeued;   /* will be issued again */
	bool is_superseded; /* one was begun since that cannot be in flight at the same time */
	int32_t ioprio;     /* -1: unknown */
	uint32_t cpu;       /* a flush: where it was issued */
};

/* ---- requests ---- */

static struct attar_stamp stamp_at(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

static void begin(struct attar_run *run, const struct attar_event *ev, const struct key *key,
	struct block_request *request)
{
	*request = (struct block_request){0};
	request->dev = (uint32_t)key->dev;
	request->sector = key->sector;
	request->kind = key->kind;
	request->since = ev->time;
	request->tid = ev->thread ? ev->thread->tid : 0;
	request->is_selected = attar_run_is_selected(run, ev->thread) &&
			       attar_run_is_cpu_selected(run, (int)ev->cpu);
	block_event_text(request->comm, sizeof(request->comm), ev, BLOCK_COMM);
}

static int32_t ioprio_of(const struct attar_event *ev)
{
	return attar_arg_exists(ev, BLOCK_IOPRIO) ? (int32_t)attar_arg_u64(ev, BLOCK_IOPRIO) : -1;
}

/* "WS" or "FWFS" */
static bool is_write(const char *type)
{
	return type[block_asks_preflush(type)] == 'W';
}

/* ---- the open requests of a key ---- */

static struct attar_state *slot_of(struct block *block, struct key *key, uint32_t slot)
{
	key->slot = slot;
	return attar_states_get(block->states, key, sizeof(*key));
}

static bool has_next(const struct attar_state *state)
{
	return ((const struct open_request *)state->value)->has_next;
}

/* Since a loss. It may have completed. */
static bool is_stale(const struct attar_state *state)
{
	return state->state == ATTAR_NO_STATE;
}

/* "FWS" and "WSF": without what it asks of the device's cache, which the kernel may do itself. */
static bool is_same_type(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "F");
		b += strspn(b, "F");
		if (!*a || *a != *b)
			return *a == *b;
	}
}

/*
 * How little a request is like the request of an event: 0 if nothing tells them apart. Until the
 * request is issued, bios can be added to it, and another thread than the one that began it may
 * have the event; what completes is what was issued, or a part of it.
 */
static unsigned unlike(
	const struct open_request *open, const struct attar_event *ev, enum block_stage stage)
{
	bool is_completion = stage == BLOCK_COMPLETE,
	     other_bytes = open->request.bytes != block_event_bytes(ev);
	int32_t ioprio = ioprio_of(ev);
	char type[BLOCK_TYPE_BYTES];

	block_event_text(type, sizeof(type), ev, BLOCK_RWBS);
	if (!is_completion)
		return 4 * !is_same_type(open->request.type, type) +
		       2 * (!ev->thread || ev->thread->tid != open->request.tid) + other_bytes;
	return 4 * !is_same_type(open->request.type, type) + 2 * other_bytes +
	       (ioprio >= 0 && open->ioprio >= 0 && ioprio != open->ioprio);
}

/*
 * The request that passes to this stage: of all that have not reached it, the one that is most like
 * the request of the event, or began first; a stale or superseded one only if there is no other;
 * a flush that is stale is never issued. Of superseded requests with data it is the one that began
 * last, because the completions of the others are more likely to have been missed. ev: of a
 * request; NULL: of a bio. Sets its slot in the key. NULL: none.
 */
static struct attar_state *find(
	struct block *block, struct key *key, enum block_stage stage, const struct attar_event *ev)
{
	bool is_data = key->kind == BLOCK_DATA;
	struct attar_state *state = slot_of(block, key, 0);
	uint32_t found = SLOTS_MAX;
	bool is_found_stale = true, is_alone = state && !has_next(state);
	unsigned least = UINT_MAX;
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < SLOTS_MAX && state; i++) {
		const struct open_request *open = state->value;
		bool stale = is_stale(state) || open->is_superseded;
		bool fits =
			is_stale(state) ? is_data || stage == BLOCK_COMPLETE : state->state < stage;
		uint64_t since = open->request.since;
		uint64_t order = open->is_superseded && is_data ? UINT64_MAX - since : since;
		unsigned differs = fits && ev && !is_alone ? unlike(open, ev, stage) : 0;

		if (fits && (stale < is_found_stale ||
				    (stale == is_found_stale &&
					    (differs < least ||
						    (differs == least && order < first))))) {
			found = i;
			first = order;
			least = differs;
			is_found_stale = stale;
		}
		if (!open->has_next)
			break;
		state = slot_of(block, key, i + 1);
	}
	if (found == key->slot) /* as nearly always: the only one */
		return state;
	return found < SLOTS_MAX ? slot_of(block, key, found) : NULL;
}

/* Ends the request in the slot of the key; the last slot takes its place. */
static int remove_open(struct block *block, const struct key *key, const struct attar_stamp *at)
{
	struct attar_state *state = attar_states_get(block->states, key, sizeof(*key));
	struct key last = *key, before = *key;
	struct attar_stamp since;
	struct open_request open;
	uint32_t stage;

	if (!state)
		return 0;
	while (has_next(state) && (state = slot_of(block, &last, last.slot + 1)))
		;
	if (!state || !last.slot) {
		attar_states_exit(block->states, key, sizeof(*key), at);
		return 0;
	}
	open = *(struct open_request *)state->value;
	stage = state->state;
	since = (struct attar_stamp){
		.time = state->since, .task = ATTAR_NO_TASK, .cpu = state->cpu};
	attar_states_exit(block->states, &last, sizeof(last), at);
	state = slot_of(block, &before, last.slot - 1);
	if (state)
		((struct open_request *)state->value)->has_next = false;
	if (last.slot == key->slot)
		return 0;
	attar_states_exit(block->states, key, sizeof(*key), at);
	state = states_set_key(block->states, key, sizeof(*key), stage, &since);
	if (!state)
		return -ENOMEM;
	attar_state_set_group(block->states, state, "", 0); /* its table is not used */
	open.has_next = last.slot > key->slot + 1;
	*(struct open_request *)state->value = open;
	return 0;
}

/*
 * Adds a request to the requests of its key, in the next free slot. What had the key before and
 * cannot be open any more has ended unseen, and is forgotten.
 */
static struct attar_state *add_open(
	struct block *block, struct key *key, enum block_stage stage, const struct attar_stamp *at)
{
	struct attar_state *state = slot_of(block, key, 0), *added;

	while (state && has_next(state) && key->slot + 2 < SLOTS_MAX)
		state = slot_of(block, key, key->slot + 1);
	if (state && (is_stale(state) || key->slot + 1 == SLOTS_MAX ||
			     (state->state < BLOCK_ISSUE && !block->sees_merges))) {
		states_set_key(block->states, key, sizeof(*key), ATTAR_NO_STATE, at);
	} else if (state) {
		((struct open_request *)state->value)->has_next = true;
		key->slot++;
	}
	added = states_set_key(block->states, key, sizeof(*key), stage, at);
	if (!added)
		return NULL;
	attar_state_set_group(block->states, added, "", 0); /* its table is not used */
	*(struct open_request *)added->value = (struct open_request){0};
	return added;
}

/* ---- open flushes ---- */

static bool flushes_has_requeued(struct block *block, struct key key)
{
	struct attar_state *state = slot_of(block, &key, 0);

	for (; state; state = has_next(state) ? slot_of(block, &key, key.slot + 1) : NULL)
		if (((struct open_request *)state->value)->is_requeued)
			return true;
	return false;
}

/*
 * A flush is issued. A hardware queue has one flush in the device at a time, and a CPU issues to
 * one queue: the completion of a flush that this CPU has issued before was missed. The completion
 * of a flush of another CPU was missed too, unless the device is known to have several queues.
 */
static int flushes_issue(struct block *block, struct key key, const struct attar_event *ev)
{
	const struct attar_stamp at = stamp_at(ev);
	bool overlap = block_flushes_overlap(block, key.dev);
	struct attar_state *state = slot_of(block, &key, 0);
	int r = 0;

	if (flushes_has_requeued(block, key)) /* this one */
		return 0;
	while (r == 0 && state) {
		struct open_request *open = state->value;
		bool is_last = !open->has_next, is_issued = open->issued > 0;
		bool is_missed = is_issued && (!overlap || open->cpu == ev->cpu);

		if (is_missed && !open->is_superseded && !is_stale(state)) {
			open->is_superseded = true;
			block->missed++;
		}
		if (is_issued && open->cpu == ev->cpu)
			r = remove_open(block, &key, &at); /* the last one takes its slot */
		else
			key.slot++;
		state = is_last ? NULL : slot_of(block, &key, key.slot);
	}
	return r;
}

/* ---- requests that cannot be in flight at the same time ---- */

/*
 * A request with data begins. A sector is not written twice at the same time, and a thread does not
 * read it twice: the completion of such a request that is open was missed, unless it is seen later,
 * as with asynchronous I/O. Other threads can read the same sector.
 */
static int supersede(struct block *block, struct key key, const struct attar_event *ev)
{
	const struct attar_stamp at = stamp_at(ev);
	struct attar_state *state = slot_of(block, &key, 0);
	int32_t tid = ev->thread ? ev->thread->tid : 0;
	char type[BLOCK_TYPE_BYTES];
	size_t n = 0;
	int r = 0;

	block_event_text(type, sizeof(type), ev, BLOCK_RWBS);
	while (r == 0 && state) {
		struct open_request *open = state->value;
		bool is_last = !open->has_next;
		bool is_same = (tid && open->request.tid == tid) ||
			       (is_write(type) && is_write(open->request.type));

		if (is_same && !open->is_superseded && !is_stale(state)) {
			open->is_superseded = true;
			block->unfinished++;
		}
		n += open->is_superseded;
		if (open->is_superseded && n > SUPERSEDED_MAX)
			r = remove_open(block, &key, &at); /* the last one takes its slot */
		else
			key.slot++;
		state = is_last ? NULL : slot_of(block, &key, key.slot);
	}
	return r;
}

/* The request is seen again: it was not missed. */
static void unset_superseded(struct block *block, struct open_request *open)
{
	block->unfinished -= open->is_superseded;
	open->is_superseded = false;
}

/* ---- other changes ---- */

/* The request is known by another key from now on. Stage and times stay. */
static int move(struct block *block, struct attar_state *state, struct key *from, struct key *to)
{
	struct open_request open = *(struct open_request *)state->value;
	uint32_t stage = state->state;
	struct attar_stamp at = {.time = state->since, .task = ATTAR_NO_TASK, .cpu = state->cpu};
	int r = remove_open(block, from, &at);

	if (r < 0)
		return r;
	state = add_open(block, to, stage, &at);
	if (!state)
		return -ENOMEM;
	open.request.sector = to->sector;
	open.has_next = false;
	*(struct open_request *)state->value = open;
	return 0;
}

/* ---- stages ---- */

static struct key key_of(struct block *block, const struct attar_event *ev, bool is_bio)
{
	uint64_t dev = attar_arg_u64(ev, BLOCK_DEV), sector = attar_arg_u64(ev, BLOCK_AT);
	char type[BLOCK_TYPE_BYTES];
	enum block_kind kind;

	block_event_text(type, sizeof(type), ev, BLOCK_RWBS);
	kind = block_kind_of(type, sector, attar_arg_u64(ev, BLOCK_N_SECTORS));
	return (struct key){
		.dev = is_bio ? block_devices_disk(&block->selected, (uint32_t)dev) : dev,
		.sector = kind == BLOCK_FLUSH || kind == BLOCK_COMMAND ? 0 : sector,
		.kind = kind};
}

/* Whether it is of a selected device; if not, --count does not count the event. */
static bool is_of_device(struct attar_run *run, const struct block *block, const struct key *key)
{
	if (block_devices_has(&block->selected, key->dev, key->sector))
		return true;
	attar_run_pass_over(run);
	return false;
}

/* A write that waits for a flush, before its own data if it has some. */
static int wait_for_flush(struct attar_run *run, struct block *block, const struct attar_event *ev,
	const struct key *key)
{
	struct block_request request;

	begin(run, ev, key, &request);
	request.bytes = (uint32_t)(attar_arg_u64(ev, BLOCK_N_SECTORS) * SECTOR);
	block->is_selected = request.is_selected;
	return block_flushes_wait(&block->flushes, &request, ev->time);
}

/* A flush begins for one of the writes that wait for it: it has begun with that. */
static struct attar_state *add_flush(struct attar_run *run, struct block *block,
	const struct attar_event *ev, struct key *key, enum block_stage stage)
{
	const struct block_request *waiting =
		block_flushes_next(&block->flushes, (uint32_t)key->dev);
	struct attar_stamp at = stamp_at(ev);
	struct block_request request;
	struct attar_state *state;

	begin(run, ev, key, &request);
	if (waiting) {
		at.time = request.since = waiting->since;
		request.tid = waiting->tid;
		request.is_selected = waiting->is_selected;
		memcpy(request.comm, waiting->comm, sizeof(request.comm));
	}
	state = add_open(block, key, waiting ? BLOCK_GETRQ : stage, &at);
	if (state)
		((struct open_request *)state->value)->request = request;
	return state;
}

/* It may be inserted again before it is issued again. */
static bool was_requeued(struct block *block, struct key *key, enum block_stage stage)
{
	struct attar_state *state = slot_of(block, key, 0);

	for (; state; state = has_next(state) ? slot_of(block, key, key->slot + 1) : NULL) {
		struct open_request *open = state->value;

		if (open->is_requeued) {
			open->is_requeued = stage != BLOCK_ISSUE;
			return true;
		}
	}
	return false;
}

/* The request of the event, in the stage before or, if it is new, perhaps in this one. */
static int get_open(struct attar_run *run, struct block *block, const struct attar_event *ev,
	enum block_stage stage, struct key *key, struct attar_state **ret_state)
{
	const struct attar_stamp at = stamp_at(ev);
	struct attar_state *state = stage == BLOCK_GETRQ ? NULL : find(block, key, stage, ev);
	int r = 0;

	*ret_state = state;
	if (state || (stage != BLOCK_GETRQ && was_requeued(block, key, stage)))
		return 0;
	if (key->kind == BLOCK_FLUSH) {
		state = add_flush(run, block, ev, key, stage);
	} else {
		if (key->kind == BLOCK_DATA)
			r = supersede(block, *key, ev);
		state = r == 0 ? add_open(block, key, stage, &at) : NULL;
		if (state)
			begin(run, ev, key, &((struct open_request *)state->value)->request);
	}
	*ret_state = state;
	return state ? 0 : -ENOMEM;
}

static int pass(struct attar_run *run, struct block *block, const struct attar_event *ev,
	enum block_stage stage)
{
	struct key key = key_of(block, ev, stage == BLOCK_GETRQ);
	const struct attar_stamp at = stamp_at(ev);
	struct block_request *request;
	struct attar_state *state;
	struct open_request *open;
	bool is_new;
	int r;

	if (!is_of_device(run, block, &key))
		return 0;
	if (key.kind == BLOCK_ASKING) /* schedulers before Linux 5.0 had an insert, too */
		return stage == BLOCK_GETRQ ? wait_for_flush(run, block, ev, &key) : 0;
	if (key.kind == BLOCK_FLUSH && stage == BLOCK_ISSUE) {
		r = flushes_issue(block, key, ev);
		if (r < 0)
			return r;
	}
	r = get_open(run, block, ev, stage, &key, &state);
	if (r < 0 || !state)
		return r;
	is_new = state->state == stage;
	if (!is_new)
		state = states_set_key(block->states, &key, sizeof(key), stage, &at);
	if (!state)
		return -ENOMEM;
	open = state->value;
	if (key.kind == BLOCK_DATA)
		unset_superseded(block, open);
	request = &open->request;
	if (!is_new && state->ended == ATTAR_NO_STATE)
		request->is_partial = true;
	request->bytes = (uint32_t)block_event_bytes(ev);
	open->ioprio = ioprio_of(ev);
	block_event_text(request->type, sizeof(request->type), ev, BLOCK_RWBS);
	block->is_selected = request->is_selected;
	if (stage == BLOCK_ISSUE) {
		open->issued = ev->time;
		open->cpu = ev->cpu;
		if (open->asks_preflush)
			block_flushes_end(&block->flushes, request->dev, request->sector);
		open->asks_preflush = false;
		open->asks_fua &= !block_asks_fua(request->type); /* the device does it */
	} else if (stage == BLOCK_GETRQ) {
		open->asks_preflush = block_asks_preflush(request->type);
		open->asks_fua = block_asks_fua(request->type);
		r = open->asks_preflush ? wait_for_flush(run, block, ev, &key) : 0;
	}
	if (!request->is_selected)
		attar_run_pass_over(run);
	if (r < 0 || is_new || state->ended == ATTAR_NO_STATE || !request->is_selected ||
		!block->passed)
		return r;
	return block->passed(block, request, state->ended, stage, state->duration);
}

static int on_getrq(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_GETRQ);
}

static int on_insert(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_INSERT);
}

static int on_issue(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return pass(run, self, ev, BLOCK_ISSUE);
}

static int on_requeue(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	struct key key = key_of(block, ev, false);
	struct attar_state *state;

	if (!is_of_device(run, block, &key))
		return 0;
	state = find(block, &key, BLOCK_COMPLETE, ev);
	if (state && state->state == BLOCK_ISSUE)
		((struct open_request *)state->value)->is_requeued = true;
	return 0;
}

/* A bio was put before a request, which thus begins with its sector. */
static int on_frontmerge(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	struct key bio = key_of(block, ev, true), request = bio;
	struct attar_state *state;

	request.sector += attar_arg_u64(ev, BLOCK_N_SECTORS);
	if (!is_of_device(run, block, &bio))
		return 0;
	state = find(block, &request, BLOCK_ISSUE, NULL);
	return state ? move(block, state, &request, &bio) : 0;
}

/* A request was appended to another one. */
static int on_merge(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	struct key key = key_of(block, ev, false);
	const struct attar_stamp at = stamp_at(ev);
	struct attar_state *state;

	if (!is_of_device(run, block, &key))
		return 0;
	state = find(block, &key, BLOCK_ISSUE, ev);
	if (!state)
		return 0;
	unset_superseded(block, state->value);
	return remove_open(block, &key, &at);
}

/* The flush that the kernel makes after data for which the device has no FUA. */
static int end_data(
	struct block *block, const struct attar_event *ev, const struct open_request *open)
{
	return open->asks_fua && open->issued
		       ? block_flushes_wait(&block->flushes, &open->request, ev->time)
		       : 0;
}

static void leave_out(struct block *block, const struct block_request *request)
{
	if (request->kind != BLOCK_FLUSH)
		return;
	if (!block->left_out++)
		memcpy(block->left_out_comm, request->comm, sizeof(block->left_out_comm));
}

static int end_request(struct attar_run *run, struct block *block, const struct attar_event *ev,
	const struct attar_state *state)
{
	struct open_request *open = state->value;
	struct block_request *request = &open->request;
	int r = end_data(block, ev, open);

	if (state->ended == ATTAR_NO_STATE)
		request->is_partial = true;
	block->is_selected = request->is_selected;
	if (!request->is_selected) {
		attar_run_pass_over(run);
		leave_out(block, request);
		return r;
	}
	request->error = (int)attar_arg_i64(ev, BLOCK_ERROR);
	if (r == 0 && block->passed && !request->is_partial)
		r = block->passed(block, request, state->ended, BLOCK_COMPLETE, state->duration);
	if (r < 0 || !block->completed)
		return r;
	return block->completed(run, block, ev, request, ev->time - request->since,
		open->issued ? ev->time - open->issued : 0);
}

static int on_complete(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;
	struct key key = key_of(block, ev, false);
	const struct attar_stamp at = stamp_at(ev);
	uint64_t n = attar_arg_u64(ev, BLOCK_N_SECTORS);
	struct attar_state *state;
	struct open_request *open;
	int r;

	if (!is_of_device(run, block, &key))
		return 0;
	if (key.kind == BLOCK_ASKING) {
		block->is_selected =
			block_flushes_end(&block->flushes, (uint32_t)key.dev, key.sector);
		return 0;
	}
	state = find(block, &key, BLOCK_COMPLETE, ev);
	if (!state) {
		block->unknown++;
		return 0;
	}
	open = state->value;
	if (key.kind == BLOCK_DATA)
		unset_superseded(block, open);
	else if (open->is_superseded)
		block_flushes_set_overlap(block, key.dev);
	if (key.kind == BLOCK_DATA && open->issued && n * SECTOR < open->request.bytes &&
		*open->request.type != 'D') {
		struct key rest = key; /* a part has completed */

		rest.sector += n;
		rest.slot = 0;
		open->request.bytes -= (uint32_t)(n * SECTOR);
		return move(block, state, &key, &rest);
	}
	state = states_set_key(block->states, &key, sizeof(key), BLOCK_COMPLETE, &at);
	if (!state)
		return -ENOMEM;
	r = end_request(run, block, ev, state);
	return r < 0 ? r : remove_open(block, &key, &at);
}

int block_on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct block *block = self;

	(void)run;
	attar_states_lost(block->states, -1, ev->lost_from, ev->lost_to);
	block_flushes_forget(&block->flushes);
	return 0;
}

/*
 * How many completions of requests with data were missed. If no later request of the same sector
 * shows it, only the kernel's count at the end does, which has the completions of flushes, too.
 */
static uint64_t missed_requests(const struct attar_run *run, const struct block *block)
{
	uint64_t all = run_source_undelivered(run, block->completions);

	return all > block->unfinished + block->missed ? all - block->missed : block->unfinished;
}

void block_add_remarks(
	const struct attar_run *run, const struct block *block, struct attar_report *report)
{
	uint64_t requests = missed_requests(run, block);
	struct attar_states_stats stats;

	attar_states_get_stats(block->states, &stats);
	if (block->unknown)
		attar_report_remark(report,
			"completed requests whose start was missed, or before the measurement: "
			"%llu",
			(unsigned long long)block->unknown);
	if (requests)
		attar_report_remark(report,
			"requests whose completion was missed, which are not counted: %llu",
			(unsigned long long)requests);
	if (block->missed)
		attar_report_remark(report,
			"flushes whose completion was missed, which are not counted: %llu",
			(unsigned long long)block->missed);
	if (block->left_out)
		attar_report_remark(report,
			"%llu flush%s left out: other threads than the selected ones, such as "
			"'%s', asked for them, perhaps for an fsync() of these; -a shows them",
			(unsigned long long)block->left_out,
			block->left_out == 1 ? " is" : "es are", block->left_out_comm);
	attar_report_dropped(report, block->states, "stages of requests");
	if (stats.evicted)
		attar_report_remark(report,
			"open requests dropped because there were too many: %llu",
			(unsigned long long)stats.evicted);
}

/* ---- life ---- */

static const struct attar_input inputs[BLOCK_EVENTS] = {
	{.event = "block:block_getrq",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm"},
		.on_event = on_getrq,
		.optional = true},
	{.event = "block:block_rq_insert",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm", "?bytes", "?error",
			"?ioprio"},
		.on_event = on_insert,
		.optional = true},
	{.event = "block:block_rq_issue",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "comm", "?bytes", "?error",
			"?ioprio"},
		.on_event = on_issue},
	{.event = "block:block_bio_frontmerge",
		.fields = {"dev", "sector", "nr_sector", "rwbs"},
		.on_event = on_frontmerge,
		.optional = true},
	{.event = "block:block_rq_complete",
		.fields = {"dev", "sector", "nr_sector", "rwbs", "?comm", "?bytes", "error|errors",
			"?ioprio"},
		.on_event = on_complete},
	{.event = "block:block_rq_requeue",
		.fields = {"dev", "sector", "nr_sector", "rwbs"},
		.on_event = on_requeue,
		.optional = true},
	{.event = "block:block_rq_merge", /* Linux 5.11 */
		.fields = {"dev", "sector", "nr_sector", "rwbs"},
		.on_event = on_merge,
		.optional = true},
};

/* ---- as events of other profilers ---- */

int block_emits(struct attar_run *run, struct block *block, const struct attar_event *ev)
{
	const char *name = attar_run_source_name(run, ev->counter);
	int r = 0;

	block->is_selected = attar_run_is_selected(run, ev->thread);
	for (size_t i = 0; r == 0 && i < BLOCK_EVENTS; i++)
		if (!strcmp(name, inputs[i].event))
			r = inputs[i].on_event(run, block, ev);
	if (r < 0)
		return r;
	return block->is_selected &&
	       block_devices_has(&block->selected,
		       block_devices_disk(&block->selected, (uint32_t)attar_arg_u64(ev, BLOCK_DEV)),
		       attar_arg_u64(ev, BLOCK_AT));
}

static void add_filter(struct block *block, size_t i)
{
	const struct block_device *named = &block->selected.devs[0];
	char sectors[64] = "";

	if (named->last)
		snprintf(sectors, sizeof(sectors), "&&sector>=%" PRIu64 "&&sector<=%" PRIu64,
			named->first, named->last);
	snprintf(block->events[i], sizeof(block->events[i]), "%s/dev==%u%s/", inputs[i].event,
		named->dev, sectors);
}

/* With one device, the kernel drops the requests of others; a bio may be for a partition. */
static int open_events(struct attar_run *run, struct block *block)
{
	int r = 0;

	for (size_t i = 0; i < BLOCK_EVENTS; i++) {
		block->inputs[i] = inputs[i];
		if (block->selected.n_devs != 1 || strncmp(inputs[i].event, "block:block_rq_", 15))
			continue;
		add_filter(block, i);
		block->inputs[i].event = block->events[i];
	}
	for (size_t i = 0; r == 0 && i < BLOCK_EVENTS; i++) {
		uint32_t before = attar_run_sources(run);

		r = attar_run_input(run, &block->inputs[i]);
		if (inputs[i].on_event == on_merge)
			block->sees_merges = attar_run_sources(run) > before;
		if (inputs[i].on_event == on_complete)
			block->completions = before;
	}
	return r;
}

int block_open(struct attar_run *run, struct block *block)
{
	const struct attar_states_opts opts = {.size = sizeof(opts),
		.states = BLOCK_STAGES,
		.value_size = sizeof(struct open_request),
		.key_max = sizeof(struct key),
		.group_max = 1};
	int r = block_devices_parse(&block->selected, block->devices);

	if (r == 0)
		r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = open_events(run, block);
	return r == 0 ? attar_states_new(&opts, &block->states) : r;
}

void block_close(struct block *block)
{
	attar_states_free(block->states);
	block_flushes_done(&block->flushes);
}
