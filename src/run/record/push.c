/* SPDX-License-Identifier: MIT */
#include "run/record/push.h"

#include <poll.h>
#include <time.h>

#include "base/buf.h"
#include "base/check_arg.h"
#include "base/vec.h"
#include "peer/sender.h"
#include "peer/symbol_list.h"
#include "perf/counter.h"
#include "run/input/late_ids.h"
#include "run/input/recorded_events.h"
#include "run/parts.h"
#include "run/record/push_modules.h"
#include "run/record/recorder.h"
#include "run/record/renewal.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "run/stop.h"
#include "source/share.h"
#include "stream/replay.h"
#include "stream/stream.h"

enum {
	QUEUE_BYTES = 8 << 20, /* of each receiver */
	/* Records are at most some rounds late: after these, all of them can be delivered. */
	QUIET_ROUNDS = REPLAY_ROUNDS + 1,
	WAIT_MS = 1000,
	/* Each receiver that begins costs a scan of /proc: some at once, then one a second. */
	BEGIN_NS = 1000000000,
	BEGIN_AT_ONCE = 4,
};

/* What is written for one receiver. */
struct pushed {
	struct recording_writer *writer; /* NULL: it begins after this round */
	uint64_t samples; /* that the writer had seen at the end of the previous round */
	struct map lost;  /* by the kernel before it connected, by id */
	parse_ints tids;  /* whose processes existed before it began */
};

struct run_push {
	const char *address;           /* of --push or push=; NULL: nothing is pushed */
	struct sender *sender;         /* NULL: none, or at its end */
	struct buf symbols;            /* the names of the kernel's functions, packed */
	struct buf copy;               /* of a record with a late id */
	struct push_modules modules;   /* that are loaded later */
	bool is_open;                  /* records are taken */
	unsigned quiet;                /* rounds without a record */
	uint64_t taken;                /* records of this round */
	uint64_t rounds;               /* that have ended */
	uint64_t may_begin;            /* see may_begin() */
	uint64_t ended[REPLAY_ROUNDS]; /* ns: when, by round modulo */
	struct recording_writer_stats stats; /* of the receiver that has seen most */
	struct peer_sender_stats *sent;      /* owned; NULL before the end */
};

static struct run_push *push_of(const struct attar_run *run)
{
	return run->parts.state[PART_PUSH];
}

bool push_is_wanted(const struct attar_run *run)
{
	return push_of(run)->address;
}

bool push_is_open(const struct attar_run *run)
{
	return push_of(run)->sender;
}

bool run_pushes(const struct attar_run *run)
{
	return run->opts.push != NULL;
}

/* ---- what is pushed ---- */

/* Whether the source is pushed, by push= or --push. */
static int push_source(struct attar_run *run, void *self, struct source *s)
{
	struct run_push *push = self;
	const struct attar_event_spec *spec = source_spec(s);
	const struct attar_event_option *own = spec ? attar_spec_get_option(spec, "push") : NULL;
	const char *address = own ? own->value : run->opts.push;

	if (!address)
		return 0;
	if (run->replay)
		return attar_fail(-EINVAL, "--push conflicts with --input and --pull");
	if (spec && (spec->transport == ATTAR_TRANSPORT_USDT ||
			    (spec->kind == ATTAR_EVENT_USER && spec->type != PERF_TYPE_TRACEPOINT)))
		return attar_fail(-EOPNOTSUPP,
			"'%s' cannot be pushed, since it does not come from the kernel",
			CLIP(s->name));
	if (push->address && strcmp(push->address, address) != 0)
		return attar_fail(-EINVAL,
			"events can be pushed to only one address, but '%s' and '%s' were given",
			CLIP(push->address), CLIP(address));
	push->address = address;
	s->use->pushes = true;
	return 0;
}

/*
 * Of several sources of one event, such as sched:sched_switch as start and as end of pairs, the
 * first is pushed: a receiver would take each occurrence for several.
 */
static void push_events_once(struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		for (struct source *it = s + 1; it < run->sources.list.at + run->sources.list.n;
			it++)
			if (s->use->pushes && sources_are_same(&run->sources, s, it))
				it->use->pushes = false;
}

/* ---- receivers ---- */

static struct peer_sender_client *client_at(const struct attar_run *run, size_t i)
{
	return push_of(run)->sender ? peer_sender_client(push_of(run)->sender, i) : NULL;
}

/* NULL: the receiver has not begun. */
static struct recording_writer *writer_of(const struct peer_sender_client *client)
{
	const struct pushed *p = peer_sender_client_get(client);

	return p ? p->writer : NULL;
}

/* The writer of the next receiver that has begun, from number *i on; NULL: there is none. */
static struct recording_writer *next_writer(const struct attar_run *run, size_t *i)
{
	const struct peer_sender_client *client;

	while ((client = client_at(run, (*i)++)))
		if (writer_of(client))
			return writer_of(client);
	return NULL;
}

static void sink(void *ctx, const void *bytes, size_t n)
{
	peer_sender_write(ctx, bytes, n);
}

static struct pushed *free_pushed(struct pushed *p)
{
	if (p && p->writer)
		recording_writer_close(p->writer);
	if (p) {
		map_done(&p->lost);
		vec_done(&p->tids);
	}
	free(p);
	return NULL;
}

/*
 * Begins the recording of a receiver: events, formats, names and mappings of this time, except of
 * processes that have exited: /proc no longer has them.
 */
static int begin(struct attar_run *run, struct peer_sender_client *client)
{
	struct pushed *p = peer_sender_client_get(client);
	const struct buf *later = &push_of(run)->modules.records;
	struct recording_writer_opts opts = {
		.sink = sink,
		.ctx = client,
		.path = push_of(run)->address,
		.clockid = CLOCK_MONOTONIC,
		.all_processes = attar_run_target_kind(run) != ATTAR_TARGET_TASKS,
	};
	int r = renewal_list(run, &p->tids);

	if (r == 0)
		r = peer_sender_send_symbols(
			client, push_of(run)->symbols.data, push_of(run)->symbols.len);
	opts.pids = p->tids.at;
	opts.n_pids = p->tids.n;
	if (r == 0)
		r = recording_writer_open(&opts, &p->writer);
	if (r == 0)
		r = recorded_events_add(run, p->writer);
	if (r == 0)
		r = recording_writer_begin(p->writer);
	if (r == 0)
		r = recording_writer_write(p->writer, later->data, later->len);
	return r == 0 ? peer_sender_end_preamble(push_of(run)->sender, client) : r;
}

/*
 * What the rings have lost up to now is not the loss of a new receiver. What they contain may be
 * from before such a loss, so that a receiver begins when they have been read.
 */
static int take_new(struct attar_run *run)
{
	struct peer_sender_client *client;
	int r = 0;

	while (r == 0 && (client = peer_sender_take_new(push_of(run)->sender))) {
		struct pushed *p = calloc(1, sizeof(*p));

		peer_sender_client_set(client, p);
		r = p ? recorded_losses_begin(run->stream, &p->lost) : base_oom();
	}
	return r;
}

/* Receivers can connect again and again. */
static bool may_begin(struct attar_run *run)
{
	uint64_t now = base_now();

	if (push_of(run)->may_begin > now + (BEGIN_AT_ONCE - 1) * (uint64_t)BEGIN_NS)
		return false;
	push_of(run)->may_begin = MAX(push_of(run)->may_begin, now) + BEGIN_NS;
	return true;
}

static int begin_new(struct attar_run *run)
{
	struct peer_sender_client *client;
	int r = 0;

	for (size_t i = 0; r == 0 && (client = client_at(run, i)); i++) {
		if (!writer_of(client) && may_begin(run))
			r = begin(run, client);
	}
	return r;
}

/* Forgets those whose connection is over. */
static void drop_over(struct attar_run *run)
{
	struct peer_sender_client *client;

	for (size_t i = 0; (client = client_at(run, i));) {
		if (!peer_sender_client_is_over(client)) {
			i++;
			continue;
		}
		free_pushed(peer_sender_client_get(client));
		peer_sender_drop_client(push_of(run)->sender, client);
	}
}

/* Accepts connections, and sends pending data. */
static int push_round_begin(struct attar_run *run, void *self)
{
	int r;

	if (!push_of(run)->sender)
		return 0;
	r = peer_sender_turn(push_of(run)->sender);
	drop_over(run);
	return r == 0 ? take_new(run) : r;
}

/* Before the command starts: connected receivers get all records. */
static int push_begin(struct attar_run *run, void *self)
{
	int r = push_round_begin(run, self);

	return r == 0 ? begin_new(run) : r;
}

/* ---- listening ---- */

/* Waits for the first receiver: what happens before would be lost. */
static int wait_for_client(struct attar_run *run)
{
	struct pollfd fds[] = {{.fd = peer_sender_fd(push_of(run)->sender), .events = POLLIN},
		{.fd = stop_of(run)->fd, .events = POLLIN}};
	struct peer_sender_stats stats;
	int r;

	for (;;) {
		r = peer_sender_turn(push_of(run)->sender);
		peer_sender_get_stats(push_of(run)->sender, &stats);
		if (r < 0 || stats.clients)
			return r;
		if (poll(fds, ARRAY_SIZE(fds), WAIT_MS) > 0 && fds[1].revents)
			return attar_fail(-ECANCELED,
				"stopped while waiting for an attar that pulls events from %s",
				CLIP(push_of(run)->address));
	}
}

/* Without permission, receivers have no names. */
static int pack_symbols(struct attar_run *run)
{
	int r = symbol_list_pack("/proc/kallsyms", &push_of(run)->symbols);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		log_debug("names of kernel functions are not pushed: %s", attar_error());
	attar_error_clear();
	return 0;
}

/* Before the first receiver connects. What is loaded from then on is announced. */
static int read_symbols(struct attar_run *run)
{
	struct push_modules *modules = &push_of(run)->modules;
	int r = push_modules_open(modules);

	if (r == 0 && modules->fd >= 0)
		r = stream_watch(run->stream, modules->fd);
	return r == 0 ? pack_symbols(run) : r;
}

/* A run that only pushes waits for the first receiver. */
static int push_listen(struct attar_run *run, void *self)
{
	const struct peer_sender_opts opts = {.option = "--push",
		.address = push_of(run)->address,
		.tls = {run->opts.peer_psk, run->opts.peer_cert, run->opts.peer_key,
			run->opts.peer_ca},
		.queue_bytes = QUEUE_BYTES};
	int r;

	if (run->opts.push && !push_of(run)->address)
		return attar_fail(-EINVAL, "--push: '%s' has no events that can be pushed",
			run->profiler->name);
	if (!push_of(run)->address)
		return 0;
	if (run->command.rounds > 1)
		return attar_fail(-EINVAL, "--push conflicts with repeated runs of a command");
	push_events_once(run);
	r = peer_sender_new(&opts, &push_of(run)->sender);
	if (r == 0)
		r = stream_watch(run->stream, peer_sender_fd(push_of(run)->sender));
	if (r == 0)
		r = read_symbols(run);
	if (r < 0 || !run_records(run))
		return r;
	log_note("events are pushed as soon as another attar pulls them from %s",
		CLIP(push_of(run)->address));
	return wait_for_client(run);
}

/* ---- records ---- */

void push_note(struct attar_run *run, const struct perf_event_header *header)
{
	struct recording_writer *w;

	for (size_t i = 0; (w = next_writer(run, &i)); push_of(run)->taken++)
		recording_writer_note(w, header);
}

void push_id(struct attar_run *run, size_t event, uint64_t id)
{
	struct recording_writer *w;

	for (size_t i = 0; (w = next_writer(run, &i));)
		recording_writer_add_id(w, event, id);
}

void push_bytes(struct attar_run *run, const void *bytes, size_t n)
{
	struct recording_writer *w;

	for (size_t i = 0; (w = next_writer(run, &i));)
		recording_writer_write(w, bytes, n);
}

void push_running(struct attar_run *run, const parse_ints *tids)
{
	struct recording_writer *w;

	for (size_t i = 0; (w = next_writer(run, &i)); push_of(run)->taken++)
		recording_writer_add_running(w, tids->at, tids->n);
}

/* Sends a record of the kernel; not one that attar itself has made. */
static int push_record(struct attar_run *run, void *self, const struct attar_event *event)
{
	struct run_push *push = self;
	const struct perf_event_header *header = event->record->header;
	const struct late_ids *ids;

	if (likely(!push->sender) || !header)
		return 0;
	(void)recorder_add_ids(run); /* without memory, samples of a CPU are missing */
	ids = &recorder_of(run)->ids;
	if (unlikely(ids->any || late_ids_is_foreign(ids, header))) {
		buf_reset(&push->copy);
		header = late_ids_copy(ids, header, &push->copy);
	}
	if (header->type != PERF_RECORD_SAMPLE)
		renewal_follow(run, header);
	push_note(run, header);
	push_bytes(run, header, header->size);
	return 0;
}

static int end_round(struct attar_run *run, struct peer_sender_client *client)
{
	const struct attar_counter *first = run->stream->counters[0];
	struct pushed *p = peer_sender_client_get(client);
	struct recording_writer_stats stats;
	struct peer_sender_round round = {.attr = &first->attr};
	int r = recording_writer_round(p->writer);

	if (r < 0)
		return r;
	recording_writer_get_stats(p->writer, &stats);
	round.samples = stats.samples - p->samples;
	round.time = stats.last_time;
	round.id = first->fds.n ? counter_id(&first->fds.at[0]) : 0;
	p->samples = stats.samples;
	if (stats.samples >= push_of(run)->stats.samples)
		push_of(run)->stats = stats;
	return peer_sender_end_round(push_of(run)->sender, client, &round);
}

/*
 * What the kernel has written before a round began is in that round, or some rounds later: see
 * REPLAY_ROUNDS.
 */
static int tell_time(struct attar_run *run)
{
	uint64_t *oldest = &push_of(run)->ended[push_of(run)->rounds++ % REPLAY_ROUNDS],
		 time = *oldest;
	struct peer_sender_client *client;
	int r = 0;

	*oldest = base_now();
	for (size_t i = 0; time && r == 0 && (client = client_at(run, i)); i++)
		r = peer_sender_send_time(push_of(run)->sender, client, time);
	return r;
}

/*
 * The names of functions of new modules are in effect from the time before which all events were
 * sent, because the module may have run before it was announced.
 */
static int add_modules(struct attar_run *run)
{
	const struct attar_counter *first = run->stream->counters[0];
	const struct buf *records = &push_of(run)->modules.records;
	const struct peer_sender_round round = {
		.attr = &first->attr,
		.id = first->fds.n ? counter_id(&first->fds.at[0]) : 0,
		.time = push_of(run)->ended[push_of(run)->rounds % REPLAY_ROUNDS],
	};
	size_t before = records->len;
	int r = push_modules_turn(&push_of(run)->modules, &round);

	if (r < 0 || records->len == before)
		return r;
	push_bytes(run, records->data + before, records->len - before);
	push_of(run)->taken++;
	return 0;
}

/* A receiver delivers a round when some others have followed. */
static int end_rounds(struct attar_run *run)
{
	struct peer_sender_client *client;
	int r = 0;

	push_of(run)->quiet = push_of(run)->taken ? 0 : push_of(run)->quiet + 1;
	push_of(run)->taken = 0;
	if (push_of(run)->quiet > QUIET_ROUNDS)
		return 0;
	for (size_t i = 0; (client = client_at(run, i)); i++)
		if (r == 0 && writer_of(client))
			r = end_round(run, client);
	return r;
}

int push_round(struct attar_run *run)
{
	int r;

	if (likely(!push_of(run)->sender))
		return 0;
	r = add_modules(run);
	if (r == 0)
		r = end_rounds(run);
	if (r == 0)
		r = tell_time(run);
	return r == 0 ? begin_new(run) : r;
}

/* ---- the end ---- */

/*
 * What the rings have lost, and what did not fit the receiver's queue: of both, records in the data
 * say only a part, or nothing when no record followed.
 */
static int put_losses(struct attar_run *run, struct peer_sender_client *client)
{
	struct pushed *p = peer_sender_client_get(client);
	const struct attar_counter *first = run->stream->counters[0];
	uint64_t dropped = peer_sender_client_lost(client);
	int r = recorder_add_losses(run, p->writer, &p->lost);

	if (r < 0 || !dropped || !first->fds.n)
		return r;
	return recording_writer_add_lost(p->writer, 0, counter_id(&first->fds.at[0]), -1, dropped);
}

static void end_writers(struct attar_run *run)
{
	struct peer_sender_client *client;

	for (size_t i = 0; (client = client_at(run, i)); i++) {
		peer_sender_client_set(client, free_pushed(peer_sender_client_get(client)));
		peer_sender_end_preamble(
			push_of(run)->sender, client); /* build IDs are at the end */
	}
}

/* Waits until the receivers have the data, unless they do not read. */
static int push_end(struct attar_run *run, void *self)
{
	struct peer_sender_client *client;
	int r = push_round(run);

	if (!push_of(run)->sender || r < 0)
		return r;
	for (size_t i = 0; (client = client_at(run, i)); i++)
		if (r == 0 && writer_of(client))
			r = put_losses(run, client);
	end_writers(run);
	r = peer_sender_finish(push_of(run)->sender, stop_of(run)->seen ? -1 : stop_of(run)->fd);
	push_of(run)->sent = calloc(1, sizeof(*push_of(run)->sent));
	if (push_of(run)->sent)
		peer_sender_get_stats(push_of(run)->sender, push_of(run)->sent);
	else if (r == 0)
		r = base_oom();
	push_of(run)->sender = peer_sender_free(push_of(run)->sender);
	return r;
}

/* The message for each of the totals that is not 0. */
static void push_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct peer_sender_stats *sent = push_of(run)->sent;

	if (!sent)
		return;
	attar_report_remark(report, "%llu sample%s pushed to %llu receiver%s at %s",
		(unsigned long long)sent->samples, sent->samples == 1 ? " was" : "s were",
		(unsigned long long)sent->clients, PLURAL_S(sent->clients), push_of(run)->address);
	if (sent->lost)
		attar_report_remark(report,
			"%llu pushed sample%s lost, because a receiver did not read fast enough",
			(unsigned long long)sent->lost, sent->lost == 1 ? " was" : "s were");
	if (sent->unacknowledged)
		attar_report_remark(report,
			"%llu pushed sample%s not acknowledged: it is unknown how many arrived",
			(unsigned long long)sent->unacknowledged,
			sent->unacknowledged == 1 ? " was" : "s were");
	if (sent->lost_records)
		attar_report_remark(report,
			"names and mappings of %llu read%s of the rings were lost, because a "
			"receiver did not read fast enough",
			(unsigned long long)sent->lost_records, PLURAL_S(sent->lost_records));
	if (sent->cut)
		attar_report_remark(report, "%llu receiver%s closed the connection before the end",
			(unsigned long long)sent->cut, PLURAL_S(sent->cut));
	if (sent->silent)
		attar_report_remark(report,
			"%llu receiver%s disconnected, after %d seconds in which nothing was read",
			(unsigned long long)sent->silent, sent->silent == 1 ? " was" : "s were",
			SENDER_SILENT_S);
	if (sent->refused)
		attar_report_remark(report, "%llu connection%s refused: %s",
			(unsigned long long)sent->refused, sent->refused == 1 ? " was" : "s were",
			sent->refusal);
}

void push_get_recorded(const struct attar_run *run, struct recording_writer_stats *ret_stats)
{
	*ret_stats = push_of(run)->stats;
}

static int push_drained(struct attar_run *run, void *self)
{
	return push_round(run);
}

static void push_detach(struct attar_run *run, void *self)
{
	struct run_push *push = self;

	buf_done(&push->symbols);
	buf_done(&push->copy);
	push_modules_done(&push->modules);
	free(push->sent);
	push->sent = NULL;
	if (!push->sender)
		return;
	end_writers(run);
	push->sender = peer_sender_free(push->sender);
}

const struct run_part part_push = {.size = sizeof(struct run_push),
	.source = push_source,
	.listen = push_listen,
	.begin = push_begin,
	.round = push_round_begin,
	.record = push_record,
	.kept = push_record,
	.drained = push_drained,
	.finish = push_end,
	.remark = push_remark,
	.detach = push_detach};
