/* SPDX-License-Identifier: MIT */
#include "run/recorder.h"

#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/file.h"
#include "base/opts.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"
#include "run/portable.h"
#include "run/run.h"
#include "stream/stream.h"

enum { FORMAT_MAX = 1 << 20 };

/* ---- events ---- */

/* Events that attar builds from what programs write have no records in a ring. */
static int check_spec(const struct attar_event_spec *spec)
{
	if (spec->transport == ATTAR_TRANSPORT_USDT ||
		(spec->kind == ATTAR_EVENT_USER && spec->type != PERF_TYPE_TRACEPOINT))
		return attar_fail(-EOPNOTSUPP,
			"--event: '%s' cannot be recorded, since it does not come from the kernel: "
			"use "
			"'attar trace'",
			CLIP(spec->name));
	return 0;
}

static bool is_tracepoint(const struct attar_event_spec *spec)
{
	return spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE ||
	       spec->kind == ATTAR_EVENT_USER;
}

/* Tracepoints, probes and breakpoints are recorded each time, others by frequency. */
static int add_event(struct attar_run *run, const struct attar_event_spec *spec)
{
	struct perf_event_attr attr = {0};
	int r = check_spec(spec);

	if (r < 0)
		return r;
	run_stack_attr(&run->opts, run->recorder.opts.stacks, spec, &attr);
	if (is_tracepoint(spec))
		attr.sample_type |= PERF_SAMPLE_RAW;
	/* Each sample is one event: 8 bytes less in each record. */
	if (is_tracepoint(spec) && !spec->period && !spec->freq)
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	if (spec->kind == ATTAR_EVENT_BREAKPOINT || spec->precise_ip)
		attr.sample_type |= PERF_SAMPLE_ADDR;
	if (is_tracepoint(spec) || spec->kind == ATTAR_EVENT_BREAKPOINT) {
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

int attar_run_record(struct attar_run *run, const struct attar_run_record_opts *opts)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	struct run_recorder *recorder = &run->recorder;
	int r = opts_take(&recorder->opts, sizeof(recorder->opts), opts);

	if (r < 0)
		return r;
	if (!recorder->opts.path)
		return attar_fail(-EINVAL, "attar_run_record(): opts.path is missing");
	if (run->opts.input)
		return attar_fail(-EINVAL, "--input: only the running system can be recorded");
	if (recorder->opts.portable && !strcmp(recorder->opts.path, "-"))
		return attar_fail(-EINVAL,
			"--portable: names are added to a finished file, which a pipe is not: "
			"give a file with --output");
	if (recorder->opts.rotate && !recorder->opts.max_bytes)
		return attar_fail(-EINVAL, "--rotate needs --max-size, the size of each file");
	recorder->wanted = true;
	if (recorder->opts.freq)
		run->opts.freq = recorder->opts.freq;
	if (!recorder->opts.events)
		return attar_run_sampler(run, recorder->opts.stacks, ignore_event);
	return add_events(run, recorder->opts.events);
}

int attar_run_get_recorded(const struct attar_run *run, struct attar_run_recorded *ret_recorded)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(ret_recorded, "ret_recorded");

	const struct run_recorder *recorder = &run->recorder;
	struct recording_writer_stats stats = recorder->stats;

	if (!recorder->wanted)
		return 0;
	if (recorder->writer)
		recording_writer_get_stats(recorder->writer, &stats);
	*ret_recorded = (struct attar_run_recorded){
		.path = recorder->opts.path,
		.samples = stats.samples,
		.records = stats.records,
		.bytes = stats.bytes,
		.file_bytes = stats.file_bytes,
		.files = stats.files,
		.is_full = recorder->full,
	};
	return 1;
}

/* ---- the file ---- */

/* Reads the format of a tracepoint; NULL if it cannot be read: its fields have no names then. */
static char *read_format(struct attar_run *run, const struct attar_format *format)
{
	struct run_recorder *recorder = &run->recorder;
	struct buf path _cleanup_(buf_done) = {0}, text = {0};
	struct attar_catalog *catalog = attar_run_catalog(run);
	char **grown, *taken;
	const char *tracefs;

	if (!catalog || attar_catalog_tracefs(catalog, &tracefs) < 0)
		return NULL;
	buf_printf(&path, "%s/events/%s/%s/format", tracefs, format->system, format->name);
	grown = realloc(recorder->formats, (recorder->n_formats + 1) * sizeof(*grown));
	if (grown)
		recorder->formats = grown;
	if (!grown || buf_failed(&path) || file_read(buf_text(&path), FORMAT_MAX, &text) < 0) {
		buf_done(&text);
		return NULL;
	}
	taken = buf_take(&text);
	if (taken)
		grown[recorder->n_formats++] = taken;
	return taken;
}

/* The name that perf uses: that of the tracepoint, not of the text that requested it. */
static const char *name_of(const struct source *s, const struct attar_counter *counter)
{
	return s                                             ? s->name
	       : counter->attr.config == PERF_COUNT_SW_DUMMY ? "dummy:u"
							     : counter->name;
}

static int add_counter(
	struct attar_run *run, const struct source *s, const struct attar_counter *counter)
{
	const struct attar_format *format = s && s->spec ? s->spec->format : NULL;
	struct recording_writer_event event = {
		.name = name_of(s, counter), .attr = &counter->attr, .n_ids = counter->fds.n};
	_cleanup_free_ uint64_t *ids = calloc(counter->fds.n + 1, sizeof(*ids));
	char name[256];

	if (!ids)
		return base_oom();
	for (size_t i = 0; i < counter->fds.n; i++)
		ids[i] = counter_id(&counter->fds.at[i]);
	event.ids = ids;
	if (format && counter->attr.type == PERF_TYPE_TRACEPOINT) {
		snprintf(name, sizeof(name), "%s:%s", format->system, format->name);
		event.name = name;
		event.format_text = read_format(run, format);
		event.format_len = event.format_text ? strlen(event.format_text) : 0;
		event.system = event.format_text ? format->system : NULL;
	}
	return recording_writer_add_event(run->recorder.writer, &event);
}

static int add_counters(struct attar_run *run)
{
	const struct attar_stream *stream = run->stream;
	int r = 0;

	for (size_t i = 0; r == 0 && i < stream->n_counters; i++)
		r = add_counter(run, i < run->sources.list.n ? &run->sources.list.at[i] : NULL,
			stream->counters[i]);
	return r;
}

int recorder_begin(struct attar_run *run)
{
	struct run_recorder *recorder = &run->recorder;
	bool tasks = attar_run_target_kind(run) == ATTAR_TARGET_TASKS;
	const struct recording_writer_opts opts = {
		.path = recorder->opts.path,
		.compress = recorder->opts.compress,
		.portable = recorder->opts.portable,
		.clockid = CLOCK_MONOTONIC,
		.max_bytes = recorder->opts.max_bytes,
		.rotate = (unsigned)recorder->opts.rotate,
		.pids = run->target->tids.at,
		/* Records of a command tell its own name and mappings at its exec. */
		.n_pids = tasks && !run->target->by_exec ? run->target->tids.n : 0,
		.all_processes = !tasks,
	};
	int r;

	if (!recorder->wanted)
		return 0;
	r = recording_writer_open(&opts, &recorder->writer);
	if (r == 0)
		r = add_counters(run);
	return r == 0 ? recording_writer_begin(recorder->writer) : r;
}

/* ---- records ---- */

/* A CPU that comes online has new ids. */
static int add_new_ids(struct run_recorder *recorder, const struct attar_stream *stream)
{
	int r = 0;

	if (likely(stream->ids.n == recorder->known_ids))
		return 0;
	recorder->known_ids = stream->ids.n;
	for (size_t i = 0; i < stream->n_counters; i++)
		vec_each (&stream->counters[i]->fds, fd)
			if (r == 0)
				r = recording_writer_add_id(recorder->writer, i, counter_id(fd));
	return r;
}

/* Writes the records of a ring. Returns 1 if there were some. */
static int write_ring(struct recording_writer *w, struct attar_ring *ring)
{
	const struct perf_event_header *header;
	uint64_t start;
	size_t len, first;
	int r;

	attar_ring_begin(ring);
	start = ring->tail;
	while ((header = ring_take(ring)))
		recording_writer_note(w, header);
	len = ring->tail - start;
	if (!len)
		return 0;
	first = MIN(len, ring->size - (start & (ring->size - 1)));
	r = recording_writer_write(w, ring_at(ring, start), first);
	if (r == 0 && first < len)
		r = recording_writer_write(w, ring->data, len - first);
	attar_ring_end(ring);
	return r == 0 ? 1 : r;
}

int recorder_drain(struct attar_run *run)
{
	struct run_recorder *recorder = &run->recorder;
	struct attar_stream *stream = run->stream;
	bool any = false;
	int r = stream->target->listens && !stream->stopped ? stream_follow_cpus(stream) : 0;

	if (!recorder->writer || recorder->full)
		return r;
	if (r >= 0)
		r = add_new_ids(recorder, stream);
	for (size_t i = 0; r >= 0 && i < stream->n_rings; i++) {
		r = write_ring(recorder->writer, stream->rings[i]);
		any |= r > 0;
	}
	if (r >= 0)
		r = any ? recording_writer_round(recorder->writer) : 0;
	recorder->full = r > 0;
	recording_writer_get_stats(recorder->writer, &recorder->stats);
	run->notes.delivered = recorder->stats.samples;
	return MIN(r, 0);
}

int recorder_end(struct attar_run *run)
{
	struct run_recorder *recorder = &run->recorder;
	int r;

	if (!recorder->writer)
		return 0;
	r = recording_writer_finish(recorder->writer);
	recording_writer_get_stats(recorder->writer, &recorder->stats);
	recording_writer_close(recorder->writer);
	recorder->writer = NULL;
	return r == 0 && recorder->opts.portable ? portable_add_all(recorder) : r;
}

void recorder_done(struct attar_run *run)
{
	struct run_recorder *recorder = &run->recorder;

	(void)recorder_end(run);
	for (size_t i = 0; i < recorder->n_formats; i++)
		free(recorder->formats[i]);
	free(recorder->formats);
}
