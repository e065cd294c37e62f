/* SPDX-License-Identifier: MIT */
/* The events of other hosts: the hosts, and the merge. */
#include "run/input/hosts.h"

#include <poll.h>

#include "peer/receiver.h"
#include "run/input/pull.h"
#include "run/input/recorded_names.h"
#include "run/input/replay.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/parts/sample_filter.h"
#include "run/stop.h"
#include "stream/stream.h"

/* A host that has sent nothing for so long, not even times, is not waited for. */
enum { SILENT_MS = 2000 };

bool hosts_are_over(const struct attar_run *run)
{
	if (!hosts_are_used(hosts_of(run)) || run->stream || run->command.argv)
		return false;
	vec_each (&hosts_of(run)->list, h)
		if (!(*h)->is_over || (*h)->has_front)
			return false;
	return true;
}

/* ---- starting ---- */

int hosts_check(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;

	if (!hosts_are_used(hosts_of(run)))
		return 0;
	if (o->push)
		return attar_fail(-EINVAL, "--push conflicts with events of other hosts (pull=)");
	if (rings_of(run)->overwritten)
		return attar_fail(-EINVAL,
			"--overwrite and --dump-when conflict with events of other hosts (pull=)");
	if (sample_filter_is_on(run))
		return attar_fail(-EINVAL,
			"options that select samples, such as --exclude-pid, conflict with events "
			"of other hosts (pull=)" ATTAR_FIX "use a filter in the event");
	if (run->command.rounds > 1)
		return attar_fail(-EINVAL, "repeated runs conflict with pull=");
	return 0;
}

static int start(struct run_host *h, uint64_t number)
{
	int r;

	h->reader->select.keeps_own = h->run->select.keeps_own;
	r = replay_start(h->reader);
	if (r < 0)
		return r;
	h->reader->stream->procs.kernel = h->reader->replay->names.kernel;
	/* serial numbers of threads are unique in a run */
	h->reader->stream->procs.serial = (number + 1) << 40;
	vec_each (&h->numbers, it)
		h->run->sources.list.at[*it].attr =
			h->reader->sources.list.at[it - h->numbers.at].attr;
	return 0;
}

int hosts_start(struct attar_run *run)
{
	int r = 0;

	vec_each (&hosts_of(run)->list, h)
		if (r == 0)
			r = start(*h, (uint64_t)(h - hosts_of(run)->list.at));
	return r;
}

int hosts_stop(struct attar_run *run)
{
	int r = 0;

	vec_each (&hosts_of(run)->list, h)
		if (r == 0)
			r = attar_stream_stop((*h)->reader->stream);
	return r;
}

/* ---- merging ---- */

/* A time of the host by this machine's clock. 0 and UINT64_MAX stay. */
static uint64_t here(const struct run_host *h, uint64_t time)
{
	return time && time != UINT64_MAX ? receiver_here(pull_of(h->reader)->receiver, time)
					  : time;
}

static void hosts_take(struct run_host *h, const struct attar_event *ev)
{
	struct procs *procs = &h->reader->stream->procs;

	if (ev->record->type != PERF_RECORD_SAMPLE) {
		recorded_names_see(h->reader, ev->record);
		if (h->reader->replay->names.same_boot && !procs->kernel)
			procs->kernel = ATTAR_DSO_KERNEL;
	}
	h->front = *ev;
	h->record = *ev->record;
	h->record.time = here(h, ev->record->time);
	h->front.record = &h->record;
	h->front.time = here(h, ev->time);
	h->front.lost_from = here(h, ev->lost_from);
	h->front.lost_to = here(h, ev->lost_to);
	h->has_front = true;
}

/* Reads until there is an event, or no more data for now. */
static int read_host(struct run_host *h)
{
	struct attar_stream *stream = h->reader->stream;
	struct attar_event ev;
	int r;

	do {
		r = attar_stream_next(stream, &ev);
	} while (r == 0 && !stream_drained(stream) &&
		 !recording_is_starved(h->reader->replay->recording));
	if (r > 0)
		hosts_take(h, &ev);
	if (r != 0)
		return MIN(r, 0);
	h->is_over = stream_drained(stream);
	h->reached = h->is_over ? UINT64_MAX : MAX(h->reached, here(h, stream->horizon));
	return 0;
}

static int read_live(struct attar_run *run)
{
	struct run_hosts *hosts = hosts_of(run);
	int r = run->stream ? attar_stream_next(run->stream, &hosts->live) : 0;

	hosts->has_live = r > 0;
	if (r == 0)
		hosts->live_reached = run->stream && !stream_drained(run->stream)
					      ? run->stream->horizon
					      : UINT64_MAX;
	return MIN(r, 0);
}

/* The host whose next event is the oldest; NULL: this machine, if *ret_time is not UINT64_MAX. */
static struct run_host *oldest(const struct run_hosts *hosts, uint64_t *ret_time)
{
	struct run_host *first = NULL;

	*ret_time = hosts->has_live ? hosts->live.time : UINT64_MAX;
	vec_each (&hosts->list, h)
		if ((*h)->has_front && (*h)->front.time < *ret_time) {
			first = *h;
			*ret_time = first->front.time;
		}
	return first;
}

/* Reads from the hosts that may have an older event. */
static int read_all(struct attar_run *run)
{
	struct run_hosts *hosts = hosts_of(run);
	uint64_t time;
	int r = 0;

	vec_each (&hosts->list, h) {
		oldest(hosts, &time);
		if (r == 0 && !(*h)->has_front && !(*h)->is_over && (*h)->reached < time)
			r = read_host(*h);
	}
	oldest(hosts, &time);
	if (r == 0 && !hosts->has_live && hosts->live_reached < time)
		r = read_live(run);
	return r;
}

static bool is_silent(const struct run_host *h)
{
	const struct receiver *receiver = pull_of(h->reader)->receiver;

	return base_now() - receiver_last_received(receiver) > SILENT_MS * UINT64_C(1000000);
}

/* Whether a host may still send an event from before `time`. */
static bool must_wait(const struct run_hosts *hosts, uint64_t time)
{
	if (!hosts->has_live && hosts->live_reached < time)
		return true;
	vec_each (&hosts->list, h)
		if (!(*h)->has_front && !(*h)->is_over && (*h)->reached < time && !is_silent(*h))
			return true;
	return false;
}

int hosts_next(struct attar_run *run, struct attar_event *ret_event)
{
	struct run_hosts *hosts = hosts_of(run);
	struct run_host *h;
	uint64_t time;
	int r = read_all(run);

	if (r < 0)
		return r;
	h = oldest(hosts, &time);
	if (time == UINT64_MAX || must_wait(hosts, time))
		return 0;
	*ret_event = h ? h->front : hosts->live;
	*(h ? &h->has_front : &hosts->has_live) = false;
	hosts->current = h;
	hosts->late_from = 0;
	if (time < hosts->delivered) {
		if (h && h->record.type == PERF_RECORD_SAMPLE)
			h->late++;
		hosts->late_from = time;
		ret_event->time = hosts->delivered;
	}
	hosts->delivered = ret_event->time;
	return 1;
}

static int deliver_loss(struct attar_run *run, const struct attar_event *ev)
{
	return run->profiler->lost ? run->profiler->lost(run, run->self, ev) : 0;
}

/* What began before a late event and has not ended may have ended by it. */
static int lose(struct attar_run *run, struct attar_event *ev)
{
	ev->lost_from = hosts_of(run)->late_from;
	ev->lost_to = ev->time;
	return deliver_loss(run, ev);
}

int hosts_deliver(struct attar_run *run, struct attar_event *ev)
{
	struct run_host *h = hosts_of(run)->current;
	uint32_t type = ev->record->type;

	if (type == PERF_RECORD_SAMPLE)
		return hosts_of(run)->late_from && run->profiler->uses & ATTAR_COMBINES_HOSTS
			       ? lose(run, ev)
			       : replay_deliver(h->reader, ev);
	return type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES ? deliver_loss(run, ev)
									    : 0;
}

/* ---- waiting ---- */

/* Only those are polled whose next event is not known: the others have to wait for these. */
int hosts_wait(struct attar_run *run, int timeout_ms)
{
	VEC(struct pollfd) fds = {0};
	int r = vec_push(&fds, ((struct pollfd){.fd = stop_of(run)->fd, .events = POLLIN}));

	if (r == 0 && run->stream)
		r = vec_push(
			&fds, ((struct pollfd){.fd = run->stream->epoll_fd, .events = POLLIN}));
	vec_each (&hosts_of(run)->list, h)
		if (r == 0 && !(*h)->has_front && !(*h)->is_over)
			r = vec_push(&fds,
				((struct pollfd){.fd = receiver_fd(pull_of((*h)->reader)->receiver),
					.events = POLLIN}));
	if (r < 0)
		return base_oom();
	poll(fds.at, fds.n, timeout_ms);
	r = fds.at[0].revents ? 2 : 1;
	vec_done(&fds);
	if (r != 2 && run->stream)
		return attar_stream_wait(run->stream, stop_of(run)->fd, 0);
	return r;
}

/* ---- what the report says ---- */

uint64_t hosts_add_stats(const struct attar_run *run, struct attar_stream_stats *stats)
{
	uint64_t undelivered = 0;

	vec_each (&hosts_of(run)->list, h) {
		struct attar_stream_stats of = {0};
		const struct attar_run *reader = (*h)->reader;

		if (!reader || !reader->stream)
			continue;
		attar_stream_get_stats(reader->stream, &of);
		stats->samples += of.samples;
		stats->lost += of.lost;
		stats->lost_side_band += of.lost_side_band;
		stats->throttled += of.throttled;
		stats->malformed += of.malformed;
		stats->disordered += of.disordered;
		undelivered += reader->notes.dropped;
		undelivered += (*h)->has_front && (*h)->record.type == PERF_RECORD_SAMPLE;
	}
	if (hosts_of(run)->has_live && hosts_of(run)->live.record->type == PERF_RECORD_SAMPLE)
		undelivered++;
	return undelivered;
}

static void remark_late(
	const struct attar_run *run, const struct run_host *h, struct attar_report *report)
{
	bool combines = run->profiler->uses & ATTAR_COMBINES_HOSTS;

	if (h->late)
		attar_report_remark(report,
			"%llu event%s of %s arrived after newer events of other hosts had been %s",
			(unsigned long long)h->late, PLURAL_S(h->late), h->name,
			combines ? "processed: they and pairs that began before them are left out"
				 : "shown, and were given the newest time");
}

void hosts_remark(const struct attar_run *run, struct attar_report *report)
{
	vec_each (&hosts_of(run)->list, h) {
		struct attar_run *reader = (*h)->reader;

		if (!reader || !reader->stream)
			continue;
		reader->clock.ended = run->clock.ended;
		remark_late(run, *h, report);
		replay_damage_remark(reader, report);
		replay_remark(reader, report, ATTAR_SCOPE_INTERVAL); /* without --cpus */
	}
}
