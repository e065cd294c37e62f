/* SPDX-License-Identifier: MIT */
/*
 * Times of single pairs, states and events for outputs that draw time lines: profilers add them
 * with attar_run_add_span() as they end, and the report of the whole run lists them. Strings are
 * interned, stacks are numbers of the profiler's struct attar_stacks, and records of tracepoints
 * are copied: nothing is resolved or formatted before the report. The number of spans and the bytes
 * of records and strings are limited; what does not fit is counted.
 */
#include "attar/private/report.h"
#include "base/check_arg.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/option_struct.h"
#include "report/model/model.h"
#include "run/parts.h"
#include "run/run.h"
#include "sections/functions.h"
#include "sections/weighted_stacks.h"

enum { RECORD_MAX = 4096, MEBIBYTES_MAX = 64 /* of records, texts and stacks of wakers */ };

#define NO_RECORD UINT32_MAX

struct span_track {
	int32_t pid, tid; /* -1: none */
	uint32_t name;    /* of the thread, the newest one, or of the track */
};

/* Strings are numbers in run_spans.texts; 0: none. */
struct span {
	uint64_t begin, duration; /* ns */
	uint64_t stack, weight;   /* see attar_span.stack; 0: none */
	uint32_t track;           /* index */
	uint32_t name, category, detail;
	int32_t cpu;
	uint32_t record; /* index; UINT32_MAX: none */
	uint32_t waker;  /* in run_spans.wakers; 0: none */
	uint32_t node;   /* in the tree of the present report */
	bool is_sample;
};

struct span_record {
	const struct attar_format *format; /* borrowed from the run */
	size_t at;                         /* in run_spans.raw */
	uint32_t size;
};

struct span_waker {
	uint32_t comm; /* in run_spans.texts */
	int32_t pid, tid;
	size_t at, depth; /* of its stack in span_wakers.locations */
	struct buf text;  /* "f < g < main"; empty before span_wakers_resolve() */
};

/* Each waker with its stack once: few places of few programs wake up most threads. */
struct span_wakers {
	VEC(struct span_waker) all;
	VEC(attar_location) locations;
	struct map number_of; /* hash of a waker -> its number */
};

struct run_spans {
	VEC(struct span) all;
	VEC(struct span_track) tracks;
	VEC(struct span_record) records;
	VEC(char) raw;
	struct span_wakers wakers;
	struct map track_of; /* hash of pid and tid, or of the name -> index */
	struct intern texts;
	uint64_t refused; /* spans for which there was no room */
};

static struct run_spans *spans_of(const struct attar_run *run)
{
	return run->parts.state[PART_SPANS];
}

/* ---- wakers ---- */

static uint64_t waker_hash(const struct span_waker *key, const attar_location *stack)
{
	uint64_t hash = base_hash64((uint64_t)(uint32_t)key->tid << 32 | key->comm);

	for (size_t i = 0; i < key->depth; i++)
		hash = base_hash64(hash ^ stack[i]);
	return hash;
}

static bool is_same_waker(const struct span_wakers *wakers, const struct span_waker *a,
	const struct span_waker *b, const attar_location *stack)
{
	return a->comm == b->comm && a->pid == b->pid && a->tid == b->tid && a->depth == b->depth &&
	       (!a->depth ||
		       !memcmp(&wakers->locations.at[a->at], stack, a->depth * sizeof(*stack)));
}

/* Adds a waker, or finds an equal one. *ret_number: from 1 on. Returns 0 or -ENOMEM. */
static int span_wakers_add(struct span_wakers *wakers, struct intern *texts,
	const struct attar_waker *waker, uint32_t *ret_number)
{
	struct span_waker new = {.pid = waker->pid, .tid = waker->tid, .depth = waker->depth};
	uint64_t hash, *known;

	if (intern_id(texts, waker->comm, &new.comm) < 0)
		return -ENOMEM;
	hash = waker_hash(&new, waker->stack);
	known = map_get(&wakers->number_of, hash);
	if (known && is_same_waker(wakers, &wakers->all.at[*known - 1], &new, waker->stack)) {
		*ret_number = (uint32_t)*known;
		return 0;
	}
	new.at = wakers->locations.n;
	if (vec_reserve(&wakers->locations, new.depth) < 0 || vec_push(&wakers->all, new) < 0)
		return -ENOMEM;
	if (new.depth)
		memcpy(wakers->locations.at + new.at, waker->stack,
			new.depth * sizeof(*waker->stack));
	wakers->locations.n += new.depth;
	*ret_number = (uint32_t)wakers->all.n;
	return map_put(&wakers->number_of, hash, *ret_number);
}

/* Names the functions of all stacks that have no text yet. */
static void span_wakers_resolve(struct span_wakers *wakers, struct attar_symbols *symbols)
{
	char place[LOCATION_TEXT_MAX];

	vec_each (&wakers->all, waker) {
		if (waker->text.len)
			continue;
		for (size_t i = 0; i < waker->depth; i++) {
			attar_location location = wakers->locations.at[waker->at + i];
			struct attar_symbol symbol;
			bool has_name = attar_symbols_resolve(symbols, location, &symbol) == 0;

			if (!has_name)
				location_text(symbols, location, place);
			buf_str(&waker->text, i ? " < " : "");
			buf_str(&waker->text, has_name ? symbol.name : place);
		}
	}
}

static size_t span_wakers_bytes(const struct span_wakers *wakers)
{
	return wakers->all.n * sizeof(*wakers->all.at) +
	       wakers->locations.n * sizeof(*wakers->locations.at);
}

static void span_wakers_done(struct span_wakers *wakers)
{
	vec_each (&wakers->all, waker)
		buf_done(&waker->text);
	vec_done(&wakers->all);
	vec_done(&wakers->locations);
	map_done(&wakers->number_of);
}

/* ---- life ---- */

static void spans_free(struct attar_run *run, void *self)
{
	struct run_spans *spans = self;

	vec_done(&spans->all);
	vec_done(&spans->tracks);
	vec_done(&spans->records);
	vec_done(&spans->raw);
	span_wakers_done(&spans->wakers);
	map_done(&spans->track_of);
	intern_done(&spans->texts);
}

/* ---- adding ---- */

static int text_id(struct run_spans *spans, const char *text, uint32_t *ret_id)
{
	*ret_id = 0;
	return text && *text ? intern_id(&spans->texts, text, ret_id) : 0;
}

static int find_track(
	struct run_spans *spans, uint64_t key, struct span_track track, uint32_t *ret_track)
{
	const uint64_t *found = map_get(&spans->track_of, key);

	if (found) {
		*ret_track = (uint32_t)*found;
		spans->tracks.at[*ret_track].name = track.name;
		return 0;
	}
	*ret_track = (uint32_t)spans->tracks.n;
	if (vec_push(&spans->tracks, track) < 0)
		return -ENOMEM;
	return map_put(&spans->track_of, key, *ret_track);
}

/* A name, a thread, or the CPU of an idle thread: all idle threads have the number 0. */
static int track_of(struct run_spans *spans, const struct attar_span *span, uint32_t *ret_track)
{
	const struct attar_thread *thread = span->thread;
	struct span_track track = {.pid = -1, .tid = -1};
	bool is_cpu = !span->track && (!thread || thread->tid <= 0);
	char cpu[32];

	snprintf(cpu, sizeof(cpu), "CPU %d", span->cpu);
	if (text_id(spans, span->track ?: is_cpu ? cpu : thread->comm, &track.name) < 0)
		return -ENOMEM;
	if (span->track || is_cpu)
		return find_track(spans, base_hash64(track.name), track, ret_track);
	track.tid = thread->tid;
	track.pid = thread->process ? thread->process->pid : thread->tid;
	return find_track(spans, (uint64_t)track.pid << 32 | (uint32_t)track.tid, track, ret_track);
}

/* The fields are formatted by the report. */
static int copy_record(struct run_spans *spans, const struct attar_span *span, uint32_t *ret_record)
{
	struct span_record record = {.format = span->format,
		.at = spans->raw.n,
		.size = (uint32_t)MIN(span->raw_size, (size_t)RECORD_MAX)};

	*ret_record = NO_RECORD;
	if (!span->format || !span->raw)
		return 0;
	if (vec_reserve(&spans->raw, record.size) < 0)
		return -ENOMEM;
	memcpy(spans->raw.at + spans->raw.n, span->raw, record.size);
	spans->raw.n += record.size;
	*ret_record = (uint32_t)spans->records.n;
	return vec_push(&spans->records, record);
}

static bool has_room(const struct attar_run *run, const struct run_spans *spans)
{
	return spans->all.n < run->hooks.want_spans &&
	       spans->raw.n + spans->texts.bytes + span_wakers_bytes(&spans->wakers) <
		       (size_t)MEBIBYTES_MAX << 20;
}

int attar_run_add_span(struct attar_run *run, const struct attar_span *span)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(span, "span");

	struct run_spans *spans = spans_of(run);
	struct span new = {.begin = span->begin,
		.duration = span->end > span->begin ? span->end - span->begin : 0,
		.stack = span->stack,
		.weight = span->weight,
		.cpu = span->cpu,
		.is_sample = span->is_sample,
		.node = ATTAR_TREE_ROOT};

	if (!has_room(run, spans)) {
		spans->refused += run->hooks.want_spans != 0;
		return 0;
	}
	if (track_of(spans, span, &new.track) < 0 || text_id(spans, span->name, &new.name) < 0 ||
		text_id(spans, span->category, &new.category) < 0 ||
		text_id(spans, span->detail, &new.detail) < 0 ||
		copy_record(spans, span, &new.record) < 0 ||
		(span->waker && span_wakers_add(&spans->wakers, &spans->texts, span->waker,
					&new.waker) < 0) ||
		vec_push(&spans->all, new) < 0)
		return base_oom();
	return 0;
}

/* ---- the report ---- */

/* Finds the stacks of all spans in the tree that was just made of `stacks`. */
static void spans_find_nodes(struct run_spans *spans, const struct attar_stacks *stacks)
{
	vec_each (&spans->all, span)
		span->node = stacks_node(stacks, span->stack);
}

static void add_number(struct attar_section *section, int64_t number)
{
	if (number < 0)
		attar_cell_none(section);
	else
		attar_cell_u64(section, (uint64_t)number);
}

static void add_waker(const struct run_spans *spans, struct attar_section *out, uint32_t number)
{
	const struct span_waker *waker = &spans->wakers.all.at[number - 1];

	attar_cell_text(out, intern_get(&spans->texts, waker->comm));
	add_number(out, waker->pid ? waker->pid : -1);
	add_number(out, waker->tid ? waker->tid : -1);
	attar_cell_text(out, buf_text(&waker->text));
}

static void add_span(struct attar_run *run, struct attar_section *out, const struct span *span)
{
	const struct run_spans *spans = spans_of(run);
	const struct span_track *track = &spans->tracks.at[span->track];
	const struct span_record *record;

	attar_section_row(out);
	attar_cell_u64(out, attar_run_realtime(run, span->begin));
	attar_cell_u64(out, span->duration);
	add_number(out, track->pid);
	add_number(out, track->tid);
	attar_cell_text(out, intern_get(&spans->texts, track->name));
	add_number(out, span->cpu);
	attar_cell_text(out, intern_get(&spans->texts, span->category));
	attar_cell_text(out, intern_get(&spans->texts, span->name));
	add_number(out, span->node == ATTAR_TREE_ROOT ? -1 : (int64_t)span->node);
	attar_cell_u64(out, span->weight);
	attar_cell_u64(out, span->is_sample);
	if (span->record != NO_RECORD) {
		record = &spans->records.at[span->record];
		cell_fields(out, record->format, spans->raw.at + record->at, record->size, false);
	} else if (span->detail) {
		attar_cell_text(out, intern_get(&spans->texts, span->detail));
	} else {
		attar_cell_none(out);
	}
	if (span->waker)
		add_waker(spans, out, span->waker);
}

static void remark_refused(const struct attar_run *run, struct attar_report *report)
{
	const struct run_spans *spans = spans_of(run);
	struct buf limit _cleanup_(buf_done) = {0};

	if (!spans->refused)
		return;
	if (spans->all.n >= run->hooks.want_spans)
		buf_str(&limit, "--spans");
	else
		buf_printf(&limit, "names and fields take at most %d MiB", MEBIBYTES_MAX);
	attar_report_remark(report,
		"the time line has the first %zu pairs, states and events; %llu later %s left "
		"out (%s)",
		spans->all.n, (unsigned long long)spans->refused,
		spans->refused == 1 ? "one is" : "ones are", buf_text(&limit));
}

/* Adds the time line to a report of the whole run, if an output draws it. */
static int spans_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct run_spans *spans = self;
	struct attar_section *out;

	if (!run->hooks.want_spans || scope != ATTAR_SCOPE_WHOLE)
		return 0;
	span_wakers_resolve(&spans->wakers, attar_run_symbols(run));
	out = report_spans(report, "time line");
	for (size_t i = 0; i < spans->all.n; i++)
		add_span(run, out, &spans->all.at[i]);
	remark_refused(run, report);
	return 0;
}

const struct run_part part_spans = {
	.size = sizeof(struct run_spans), .report = spans_report, .free = spans_free};

/* ---- the stacks that spans refer to ---- */

/* The newest tree is there for outputs that are made for trees. */
static void mark_added_tree(struct attar_report *report)
{
	for (size_t i = report->sections.n; i > 0; i--) {
		if (report->sections.at[i - 1]->kind == ATTAR_SECTION_TREE) {
			section_for_trees(report->sections.at[i - 1]);
			return;
		}
	}
}

int attar_run_stacks(struct attar_run *run, struct attar_report *report,
	struct attar_stacks *stacks, enum attar_scope scope, const struct attar_stacks_opts *opts)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(report, "report");

	struct run_spans *spans = spans_of(run);
	struct attar_stacks_opts with_tree = {0};
	double unresolved = 0;
	bool is_added;
	int r = option_struct_take(&with_tree, sizeof(with_tree), opts);

	if (r < 0 || !stacks)
		return r;
	with_tree.size = sizeof(with_tree);
	is_added = !with_tree.tree && attar_run_wants(run, ATTAR_WANT_TREE);
	with_tree.tree |= is_added;
	if (spans->all.n)
		stacks_keep_nodes(stacks);
	r = attar_stacks_report(stacks, report, scope, &with_tree, &unresolved);
	if (r == 0 && is_added)
		mark_added_tree(report);
	if (r == 0 && scope == ATTAR_SCOPE_WHOLE)
		spans_find_nodes(spans, stacks);
	if (r == 0)
		run->notes.unresolved = unresolved;
	return r;
}
