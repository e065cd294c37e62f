/* SPDX-License-Identifier: MIT */
#include "run/record/portable.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/proc.h"
#include "perf/target.h"
#include "perfdata/portable_names.h"
#include "run/record/recorder.h"
#include "run/run.h"
#include "stream/stream.h"
#include "symbol/kept_files.h"
#include "symbol/maps.h"
#include "symbol/symbols.h"

enum { DEPTH_MAX = 1024, SHOWN_MAX = 3 };

#define KERNEL_HALF (1ULL << 63)

/* ---- while events are recorded ---- */

struct portable {
	struct attar_layout layout;
	struct kept_files files;
	struct map scanned; /* processes */
	pid_t pid;          /* that is being read */
};

static int keep_mapping(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct portable *p = ctx;

	kept_files_map(&p->files, p->pid, mapping);
	return 0;
}

static int scan(void *ctx, int pid)
{
	struct portable *p = ctx;

	if (map_get(&p->scanned, (uint64_t)pid))
		return 0;
	p->pid = pid;
	(void)maps_read_code(pid, keep_mapping, p); /* it may have ended */
	attar_error_clear();
	return map_put(&p->scanned, (uint64_t)pid, 1);
}

static int scan_existing(struct portable *p, const struct attar_run *run)
{
	const struct attar_target *target = run->target;
	int r = 0;

	if (attar_run_target_kind(run) != ATTAR_TARGET_TASKS)
		return proc_each_process(scan, p);
	for (size_t i = 0; r == 0 && !target->by_exec && i < target->tids.n; i++)
		r = scan(p, procs_pid_of(target->tids.at[i]));
	return r;
}

int portable_begin(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);
	struct portable *p;
	int r;

	if (!recorder->opts.portable || !run->stream->n_counters)
		return 0;
	p = recorder->portable = calloc(1, sizeof(*p));
	if (!p)
		return base_oom();
	p->layout = run->stream->layouts[0];
	r = kept_files_init(&p->files);
	return r == 0 ? portable_read_running(run) : r;
}

int portable_read_running(struct attar_run *run)
{
	struct portable *p = recorder_of(run)->portable;
	int r = scan_existing(p, run);

	map_done(&p->scanned);
	return r;
}

void portable_note(struct portable *p, const struct perf_event_header *header)
{
	struct attar_mapping mapping;
	struct attar_record record;
	bool wanted = header->type == PERF_RECORD_FORK || header->type == PERF_RECORD_MMAP ||
		      header->type == PERF_RECORD_MMAP2;

	if (!wanted || attar_record_parse(&p->layout, header, header->size, &record) < 0)
		return;
	if (header->type != PERF_RECORD_FORK) {
		if (procs_mapping(&record, &mapping))
			kept_files_map(&p->files, (pid_t)record.mmap.pid, &mapping);
	} else if (record.task.pid != record.task.ppid) {
		kept_files_fork(&p->files, (pid_t)record.task.pid, (pid_t)record.task.ppid);
	}
}

void portable_round(struct portable *p)
{
	kept_files_look(&p->files);
}

void portable_done(struct portable *p)
{
	if (!p)
		return;
	kept_files_done(&p->files);
	free(p);
}

/* ---- the locations of a recording ---- */

struct collection {
	struct attar_symbols *symbols;
	struct attar_symbols *beside;  /* of the run */
	const struct kept_files *kept; /* NULL: none */
	bool is_cancelled;             /* downloads */
	struct attar_stream *stream;
	struct map seen;
	VEC(attar_location) locations;
	uint64_t refused; /* over the limit */
};

static int add(struct collection *c, attar_location location)
{
	if (map_get(&c->seen, location))
		return 0;
	if (c->locations.n == NAMES_LOCATIONS_MAX) {
		c->refused++;
		return 0;
	}
	if (map_put(&c->seen, location, 1) < 0)
		return -ENOMEM;
	return vec_push(&c->locations, location);
}

/* The unwinder looks up the byte after the location of a signal. */
static int add_frame(struct collection *c, attar_location location)
{
	enum attar_dso_kind kind;
	int r = add(c, location);

	(void)attar_symbols_dso(c->symbols, location, &kind);
	return r == 0 && kind == ATTAR_DSO_IS_VDSO ? add(c, location + 1) : r;
}

static int add_stack(struct collection *c, const struct attar_event *ev)
{
	attar_location stack[DEPTH_MAX];
	size_t n = attar_event_stack(ev, stack, DEPTH_MAX);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_frame(c, stack[i]);
	return r;
}

/* Tracepoints have addresses of kernel functions in their fields, which are aligned. */
static int add_fields(struct collection *c, const struct attar_sample *sample)
{
	const char *raw = sample->raw;
	struct attar_symbol symbol;
	int r = 0;

	for (size_t at = 0; r == 0 && raw && at + 8 <= sample->raw_size; at += 8) {
		uint64_t value;

		memcpy(&value, raw + at, sizeof(value));
		if (value & KERNEL_HALF && attar_symbols_resolve(c->symbols,
						   attar_location_kernel(value), &symbol) == 0)
			r = add(c, attar_location_kernel(value));
	}
	return r;
}

static int add_sample(struct collection *c, const struct attar_event *ev)
{
	const struct attar_sample *sample = &ev->record->sample;
	int r = add_stack(c, ev);

	if (r == 0 && sample->ip)
		r = add(c, sample->ip & KERNEL_HALF ? attar_location_kernel(sample->ip)
						    : attar_thread_locate(ev->thread, sample->ip));
	return r == 0 ? add_fields(c, sample) : r;
}

static int collect(struct collection *c)
{
	struct attar_event ev;
	int r = attar_stream_start(c->stream);

	while (r >= 0 && !stream_drained(c->stream)) {
		r = attar_stream_next(c->stream, &ev);
		if (r > 0 && ev.record->type == PERF_RECORD_SAMPLE)
			r = add_sample(c, &ev);
	}
	return MIN(r, 0);
}

/* After a download was cancelled, none begins for the next file either. */
static int new_symbols(struct collection *c)
{
	int r = attar_symbols_new(NULL, &c->symbols);

	if (r < 0)
		return r;
	c->symbols->debuginfod.is_cancelled = c->is_cancelled;
	c->symbols->kept = c->kept;
	__atomic_store_n(&c->beside->beside, c->symbols, __ATOMIC_RELAXED);
	return 0;
}

static void free_symbols(struct collection *c)
{
	if (!c->symbols)
		return;
	__atomic_store_n(&c->beside->beside, NULL, __ATOMIC_RELAXED);
	c->is_cancelled = __atomic_load_n(&c->symbols->debuginfod.is_cancelled, __ATOMIC_RELAXED);
	c->symbols = attar_symbols_free(c->symbols);
}

/* ---- what has no names ---- */

struct missing {
	size_t n;
	struct buf text; /* of the first few */
};

static void put_missing(struct missing *missing, const char *what, const char *reason)
{
	if (missing->n < SHOWN_MAX)
		buf_printf(&missing->text, "%s%s (%s)", missing->n ? ", " : "", what, reason);
	missing->n++;
}

static void find_missing(const struct dso *dso, struct missing *missing)
{
	char what[64], reason[64];

	if (!dso->kept || dso->stored)
		return;
	if (dso->key.kind == ATTAR_DSO_IS_FILE && dso->state == DSO_LOST) {
		put_missing(missing, dso->key.path,
			dso->error == -ENOENT ? "not found after its process has exited"
					      : dso_lost_reason(dso));
	} else if (dso->key.kind == ATTAR_DSO_IS_JIT && !dso->jit.path[0] && !dso->jit.dump_path) {
		snprintf(what, sizeof(what), "JIT code of process %d", dso->jit.pid);
		snprintf(reason, sizeof(reason), "no /tmp/perf-%d.map",
			dso->jit.inner ?: dso->jit.pid);
		put_missing(missing, what, reason);
	}
}

static void say_missing(const struct collection *c, const char *path)
{
	struct missing missing = {0};

	vec_each (&c->symbols->dsos.at, dso)
		find_missing(*dso, &missing);
	if (missing.n > SHOWN_MAX)
		buf_printf(&missing.text, " and %zu more", missing.n - SHOWN_MAX);
	if (missing.n)
		log_note("%s has no names of %s", path, buf_text(&missing.text));
	buf_done(&missing.text);
}

/* ---- the file ---- */

static int add_to(struct collection *c, const char *path, struct recording *recording)
{
	struct buf bytes _cleanup_(buf_done) = {0};
	int r = new_symbols(c);

	if (r == 0)
		r = stream_replay(recording, c->symbols, &c->stream);
	if (r == 0)
		r = collect(c);
	if (r == 0)
		r = portable_names_encode(c->symbols, c->locations.at, c->locations.n, &bytes);
	if (r == 0 && c->refused)
		log_note("%s has names for %d addresses; %llu more %s left out", path,
			NAMES_LOCATIONS_MAX, (unsigned long long)c->refused,
			c->refused == 1 ? "was" : "were");
	if (r == 0)
		say_missing(c, path);
	return r == 0 ? portable_names_put(path, &bytes) : r;
}

static int portable_add(const char *path, const struct portable *portable,
	struct attar_symbols *symbols, bool *cancelled)
{
	struct collection c = {.beside = symbols,
		.kept = portable ? &portable->files : NULL,
		.is_cancelled = *cancelled};
	struct recording *recording;
	int r = recording_open(path, &recording);

	if (r < 0)
		return r;
	r = add_to(&c, path, recording);
	attar_stream_free(c.stream);
	free_symbols(&c);
	*cancelled = c.is_cancelled;
	recording_close(recording);
	map_done(&c.seen);
	vec_done(&c.locations);
	return r;
}

int portable_add_all(const struct run_recorder *recorder, struct attar_symbols *symbols)
{
	struct buf path _cleanup_(buf_done) = {0};
	bool cancelled = false;
	int r = portable_add(recorder->opts.path, recorder->portable, symbols, &cancelled);

	for (uint64_t i = 1; r == 0 && i <= recorder->opts.rotate && i < recorder->stats.files;
		i++) {
		buf_reset(&path);
		buf_printf(&path, "%s.%llu", recorder->opts.path, (unsigned long long)i);
		r = buf_failed(&path) ? base_oom()
				      : portable_add(buf_text(&path), recorder->portable, symbols,
						&cancelled);
	}
	return r < 0 ? attar_context(r, "--portable") : 0;
}
