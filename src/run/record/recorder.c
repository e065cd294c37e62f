/* SPDX-License-Identifier: MIT */
#include "run/record/recorder.h"

#include <time.h>

#include "attar/builtin.h"
#include "attar/private/stream.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "base/proc.h"
#include "event/sample_attr.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"
#include "run/input/late_ids.h"
#include "run/input/recorded_events.h"
#include "run/parts.h"
#include "run/parts/switch_records.h"
#include "run/record/blackbox.h"
#include "run/record/portable.h"
#include "run/record/recorded_groups.h"
#include "run/record/recorded_waits.h"
#include "run/record/push.h"
#include "run/record/renewal.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "stream/stream.h"

/* What attar breakpoint needs of asm/perf_regs.h: the general registers and the flags. */
#ifdef __x86_64__
static const uint64_t STORE_REGISTERS = 0xff03ff;
#else
static const uint64_t STORE_REGISTERS = 0; /* it does not decode the instructions */
#endif

/* ---- events ---- */

/* Events that attar builds from what programs write have no records in a ring. */
static int check_spec(const struct attar_event_spec *spec)
{
	if (spec->transport == ATTAR_TRANSPORT_USDT ||
		(spec->kind == ATTAR_EVENT_USER && spec->type != PERF_TYPE_TRACEPOINT))
		return attar_fail(-EOPNOTSUPP,
			"--event: '%s' cannot be recorded, since it does not come from the "
			"kernel" ATTAR_FIX "use 'attar trace'",
			CLIP(spec->name));
	return 0;
}

static bool is_tracepoint(const struct attar_event_spec *spec)
{
	return spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE ||
	       spec->kind == ATTAR_EVENT_USER;
}

/* Clocks and hardware events are sampled by frequency, others too if there is a frequency. */
static bool is_recorded_each(
	const struct run_recorder *recorder, const struct attar_event_spec *spec)
{
	return event_is_each(spec) && !(spec->kind == ATTAR_EVENT_SOFTWARE && recorder->opts.freq);
}

/* They say what the addresses of page faults belong to; one event has them. */
static bool has_data_mappings(const struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (s->attr.mmap_data)
			return true;
	return false;
}

static int add_event(struct attar_run *run, const struct attar_event_spec *spec)
{
	struct perf_event_attr attr = {0};
	int r = check_spec(spec);

	if (r < 0)
		return r;
	run_stack_attr(&run->opts, recorder_of(run)->opts.stacks, spec, &attr);
	event_sample_attr(spec, &attr);
	if (is_tracepoint(spec))
		attr.sample_type |= PERF_SAMPLE_RAW;
	/* Each sample is one event: 8 bytes less in each record. */
	if (is_tracepoint(spec) && !spec->period && !spec->freq)
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	if (spec->kind == ATTAR_EVENT_BREAKPOINT) { /* to find the values that are written */
		attr.sample_type |= STORE_REGISTERS ? PERF_SAMPLE_REGS_INTR : 0;
		attr.sample_regs_intr = STORE_REGISTERS;
	}
	attr.mmap_data = event_is_page_fault(spec) && !has_data_mappings(run);
	if (is_recorded_each(recorder_of(run), spec)) {
		attr.sample_period = 1;
	} else {
		attr.freq = 1;
		attr.sample_freq = run->opts.freq;
	}
	return run_add_spec(run, spec, &attr, NULL);
}

static int add_events(struct attar_run *run, const char *text)
{
	const struct attar_event_list *list;
	int r = run_parse_events(run, text, &list);

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = add_event(run, &list->at[i]);
	return r;
}

/* Never called: records are not delivered. */
static int ignore_event(struct attar_run *run, void *self, const struct attar_event *event)
{
	return 0;
}

/* The layout of its records is as in samples of other events. */
static int add_switches(struct attar_run *run)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD,
		.context_switch = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1};

	return run_add_source(run, "dummy:u", &attr, ignore_event);
}

/* Readers complete switches of whole CPUs only. */
static bool needs_switches(const struct attar_run *run)
{
	if (attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM || !proc_has_first_pids())
		return false;
	vec_each (&run->sources.list, s)
		if (switch_records_concern(s))
			return true;
	return false;
}

static int recorder_complete(struct attar_run *run, void *self)
{
	const struct attar_run_record_opts *opts = &recorder_of(run)->opts;

	if (!recorder_of(run)->is_on ||
		(!opts->switches && (opts->no_switches || !needs_switches(run))))
		return 0;
	return add_switches(run);
}

int run_record(struct attar_run *run, const struct attar_run_record_opts *opts)
{
	CHECK_OPENING(run);

	struct run_recorder *recorder = recorder_of(run);
	int r = option_struct_take(&recorder->opts, sizeof(recorder->opts), opts);

	if (r < 0)
		return r;
	if (!recorder->opts.path && !run->opts.push)
		return attar_fail(-EINVAL, "run_record(): opts.path is missing");
	if (run->opts.input)
		return attar_fail(-EINVAL, "--input: only the running system can be recorded");
	if (recorder->opts.portable && (!recorder->opts.path || !strcmp(recorder->opts.path, "-")))
		return attar_fail(-EINVAL, "--portable: names are added to a finished file, which "
					   "a pipe is not" ATTAR_FIX "give a file with --output");
	if (recorder->opts.rotate && !recorder->opts.max_bytes)
		return attar_fail(-EINVAL, "--rotate requires --max-size, the size at which a new "
					   "file begins" ATTAR_FIX "add --max-size");
	r = blackbox_prepare(run, &recorder->opts);
	if (r < 0)
		return r;
	recorder_of(run)->is_on = true;
	recorder_of(run)->to_file = recorder->opts.path;
	recorder->left = UINT64_MAX;
	/* They can concern other tasks. Who reads the recording knows whether it needs them. */
	r = attar_run_keep_own(run);
	if (r < 0)
		return r;
	if (recorder->opts.freq)
		run->opts.freq = recorder->opts.freq;
	if (!recorder->opts.events)
		return attar_run_sampler(run, recorder->opts.stacks, ignore_event);
	return add_events(run, recorder->opts.events);
}

int run_get_recorded(const struct attar_run *run, struct attar_run_recorded *ret_recorded)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(ret_recorded, "ret_recorded");

	const struct run_recorder *recorder = recorder_of(run);
	struct recording_writer_stats stats = recorder->stats;

	if (!recorder_of(run)->is_on)
		return 0;
	if (recorder->writer)
		recording_writer_get_stats(recorder->writer, &stats);
	*ret_recorded = (struct attar_run_recorded){
		.path = recorder->opts.path ?: run->opts.push,
		.samples = stats.samples,
		.records = stats.records,
		.bytes = stats.bytes,
		.file_bytes = stats.file_bytes,
		.files = stats.files,
		.is_full = recorder->is_full,
	};
	return 1;
}

/* ---- the file ---- */

/* Opens the file and writes what exists. */
static int recorder_begin(struct attar_run *run, void *self)
{
	struct run_recorder *recorder = self;
	bool tasks = attar_run_target_kind(run) == ATTAR_TARGET_TASKS;
	struct recording_writer_opts opts = {
		.path = recorder->opts.path,
		.buffer = run->opts.buffer,
		.limit = {run->hooks.give_up, run->hooks.ctx},
		.compress = recorder->opts.compress,
		.portable = recorder->opts.portable,
		.clockid = CLOCK_MONOTONIC,
		.max_bytes = recorder->opts.max_bytes,
		.rotate = (unsigned)recorder->opts.rotate,
		.pids = run->target->tids.at,
		/* The records of a command have its name and mappings from its exec on. */
		.n_pids = tasks && !run->target->by_exec ? run->target->tids.n : 0,
		.all_processes = !tasks,
	};
	int r;

	if (!recorder_of(run)->is_on || !recorder->opts.path)
		return 0;
	blackbox_set_writer(run, &opts);
	r = recording_writer_open(&opts, &recorder->writer);
	if (r == 0)
		r = recorded_events_add(run, recorder->writer);
	if (r == 0)
		r = portable_begin(run);
	if (r == 0)
		r = recording_writer_begin(recorder->writer);
	if (r == 0)
		r = recorded_groups_add(run, recorder->writer);
	if (blackbox_is_on(run)) /* files begin later */
		return r;
	return r == 0 ? recorded_waits_add(run, recorder->writer, RECORDING_BEGAN) : r;
}

/* ---- records ---- */

int recorder_add_ids(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);
	const struct attar_stream *stream = run->stream;
	bool is_late = recorder->known_ids > 0;
	int r = 0;

	if (likely(stream->ids.n == recorder->known_ids))
		return 0;
	recorder->known_ids = stream->ids.n;
	for (size_t i = 0; i < stream->n_counters; i++)
		vec_each (&stream->counters[i]->fds, fd) {
			if (r == 0)
				r = late_ids_add(&recorder->ids, i, counter_id(fd), is_late);
			if (r == 0 && recorder->writer)
				r = recording_writer_add_id(recorder->writer, i, counter_id(fd));
			push_id(run, i, counter_id(fd));
		}
	if (stream_software_event(stream) != NO_COUNTER)
		late_ids_take_foreign(&recorder->ids, stream_software_event(stream));
	return r;
}

static int give_bytes(struct attar_run *run, const void *bytes, size_t n)
{
	struct recording_writer *w = recorder_of(run)->writer;

	if (!n)
		return 0;
	push_bytes(run, bytes, n);
	return w ? recording_writer_write(w, bytes, n) : 0;
}

/* True after the last sample of --count: later losses do not concern the recording. */
static bool recorder_has_all(const struct attar_run *run)
{
	const struct run_recorder *recorder = recorder_of(run);

	return recorder_of(run)->is_on && run->opts.count && !recorder->left;
}

/* What the kernel has counted includes what was lost after the last sample. */
int recorder_add_losses(struct attar_run *run, struct recording_writer *w, struct map *earlier)
{
	return recorder_has_all(run) ? 0 : recorded_losses_add(w, run->stream, earlier);
}

/* Takes one of the samples that are left. */
static bool take_sample(struct run_recorder *recorder)
{
	if (!recorder->left)
		return false;
	recorder->left--;
	return true;
}

/* Takes the report of a loss, which is none of the recording after its last sample. */
static bool take_loss(struct run_recorder *recorder)
{
	recorder->losses++;
	return recorder->left > 0;
}

/* Appends what the ring has between two positions. */
static void copy_bytes(const struct attar_ring *ring, uint64_t start, uint64_t end, struct buf *to)
{
	size_t len = end - start, first = MIN(len, ring->size - (start & (ring->size - 1)));

	buf_add(to, ring_at(ring, start), first);
	buf_add(to, ring->data, len - first);
}

/* Writes the records of a ring to the file and to receivers. Returns 1 if there were some. */
static int write_ring(struct attar_run *run, size_t number)
{
	struct attar_ring *ring = run->stream->rings[number];
	struct run_recorder *recorder = recorder_of(run);
	struct recording_writer *w = recorder->writer;
	struct buf copies _cleanup_(buf_done) = {0};
	bool copied;
	const struct perf_event_header *header;
	uint64_t start, end, samples = 0;
	size_t len, first;
	int r;

	attar_ring_begin(ring);
	start = end = ring->tail;
	copied = recorder->ids.any || recorder->left < (ring->head - start) / sizeof(*header);
	while ((header = ring_take(ring))) {
		if (unlikely(!copied && late_ids_is_foreign(&recorder->ids, header))) {
			copy_bytes(ring, start, end, &copies);
			copied = true;
		}
		end = ring->tail; /* an invalid record moves the tail to the head */
		samples += header->type == PERF_RECORD_SAMPLE;
		if (header->type == PERF_RECORD_SAMPLE && !take_sample(recorder))
			continue;
		if (header->type == PERF_RECORD_LOST && !take_loss(recorder))
			continue;
		if (unlikely(copied))
			header = late_ids_copy(&recorder->ids, header, &copies);
		if (w)
			recording_writer_note(w, header);
		if (recorder->portable)
			portable_note(recorder->portable, header);
		if (header->type != PERF_RECORD_SAMPLE) {
			renewal_follow(run, header);
			recorded_groups_follow(run, header);
		}
		push_note(run, header);
	}
	missing_take_samples(run->stream, number, samples);
	len = end - start;
	if (!len)
		return 0;
	first = MIN(len, ring->size - (start & (ring->size - 1)));
	if (copied) {
		r = buf_failed(&copies) ? base_oom() : give_bytes(run, copies.data, copies.len);
	} else {
		r = give_bytes(run, ring_at(ring, start), first);
		if (r == 0 && first < len)
			r = give_bytes(run, ring->data, len - first);
	}
	attar_ring_end(ring);
	return r == 0 ? 1 : r;
}

/* What follows the last sample of --count has no samples, but names and mappings. */
static uint64_t samples_left(const struct attar_run *run)
{
	uint64_t count = run->opts.count, delivered = run->notes.delivered;

	return count ? count - MIN(count, delivered) : UINT64_MAX;
}

/* The file has all records; without one, what is pushed counts. */
static void recorder_count(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);

	if (recorder->writer)
		recording_writer_get_stats(recorder->writer, &recorder->stats);
	else
		push_get_recorded(run, &recorder->stats);
	run->notes.delivered = recorder->stats.samples;
	run->notes.recorded_lost = recorder->stats.lost;
	run->notes.has_all_recorded = recorder_has_all(run);
}

static int end_round(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);
	int r = recording_writer_round(recorder->writer);

	if (r <= 0 || !recorder->opts.rotate)
		return r;
	r = recorder_add_losses(run, recorder->writer, &recorder->lost);
	if (r == 0)
		r = recording_writer_rotate(recorder->writer);
	return r < 0 ? r : recorded_groups_add(run, recorder->writer) ?: r;
}

static int follow_cpus(struct attar_stream *stream)
{
	return stream->target->listens && !stream->stopped ? stream_follow_cpus(stream) : 0;
}

/*
 * After losses were reported in this round, or earlier in the same second. Returns 1 if names were
 * written.
 */
static int renew_names(struct attar_run *run, bool is_loss)
{
	stream_renew_names(run->stream, is_loss, base_now(), recorder_of(run)->losses);
	return renewal_turn(run);
}

/* Writes the contents of the rings. */
static int recorder_drain(struct attar_run *run, void *self)
{
	struct run_recorder *recorder = self;
	struct attar_stream *stream = run->stream;
	const uint64_t losses = recorder->losses;
	bool any = false;
	int r;

	if (!recorder_of(run)->is_on)
		return 0;
	r = follow_cpus(stream);
	if (recorder->is_full)
		return r < 0 ? r : 1;
	recorder->left = samples_left(run);
	if (r >= 0)
		r = recorder_add_ids(run);
	for (size_t i = 0; r >= 0 && i < stream->n_rings; i++) {
		r = write_ring(run, i);
		any |= r > 0;
	}
	if (r >= 0)
		r = renew_names(run, recorder->losses > losses);
	any |= r > 0;
	if (r >= 0 && recorder->writer)
		r = recorded_groups_turn(run, recorder->writer);
	any |= r > 0;
	if (recorder->portable)
		portable_round(recorder->portable);
	if (r >= 0)
		r = push_round(run);
	if (r >= 0)
		r = any && recorder->writer ? end_round(run) : 0;
	recorder->is_full = run->clock.has_enough = r > 0;
	stream->drained = r == 0 && stream->stopped;
	recorder_count(run);
	return r < 0 ? r : 1;
}

/* Not of a recording that has all samples of --count: what follows them is not missing. */
static int add_missing(const struct attar_run *run)
{
	struct attar_stream_stats stats;
	const struct attar_cpu_count *missing;
	int r = 0;

	if (!run->stream || recorder_has_all(run))
		return 0;
	attar_stream_get_stats(run->stream, &stats); /* which finds them */
	for (size_t i = 0, n = stream_get_missing(run->stream, &missing); r == 0 && i < n; i++)
		r = recording_writer_add_missing(
			recorder_of(run)->writer, missing[i].cpu, missing[i].count);
	return r;
}

/* The command still exists. What follows the last sample of --count is none of the recording. */
static int recorder_ended(struct attar_run *run, void *self)
{
	struct recording_writer *w = recorder_of(run)->writer;

	if (blackbox_is_on(run)) /* each file has it */
		return 0;
	return w && !recorder_has_all(run) ? recorded_waits_add(run, w, RECORDING_ENDED) : 0;
}

/* What the kernel has counted, at the end of a file. */
static int add_counts(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);
	int r = run->stream ? recorder_add_losses(run, recorder->writer, &recorder->lost) : 0;

	return r == 0 ? add_missing(run) : r;
}

/* Completes the file. */
static int recorder_end(struct attar_run *run, void *self)
{
	struct run_recorder *recorder = self;
	int r, finished;

	if (!recorder->writer)
		return 0;
	r = blackbox_is_on(run) ? blackbox_end(run) : add_counts(run);
	finished = recording_writer_finish(recorder->writer);
	r = finished < 0 ? finished : r;
	recorder_count(run);
	recording_writer_close(recorder->writer);
	recorder->writer = NULL;
	return r == 0 && recorder->opts.portable ? portable_add_all(recorder, run->symbols) : r;
}

/* No names are added to the recording of a failed run. */
static void recorder_detach(struct attar_run *run, void *self)
{
	struct run_recorder *recorder = self;

	recorder->opts.portable = false;
	if (blackbox_is_on(run))
		(void)recording_writer_close(TAKE_PTR(recorder->writer));
	(void)recorder_end(run, recorder);
	portable_done(recorder->portable);
	map_done(&recorder->lost);
	map_done(&recorder->groups.of);
	vec_done(&recorder->groups.executed);
	late_ids_done(&recorder->ids);
}

const struct run_part part_recorder = {.size = sizeof(struct run_recorder),
	.complete = recorder_complete,
	.begin = recorder_begin,
	.drain = recorder_drain,
	.ended = recorder_ended,
	.finish = recorder_end,
	.detach = recorder_detach};
