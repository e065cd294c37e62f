/* SPDX-License-Identifier: MIT */
/*
 * Profiles for the Firefox Profiler, in version 49 of its processed format, which newer versions
 * read (docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler). Each task at
 * the root of a call tree is a thread. A node of the tree is a stack and a frame; a sample is a
 * node with a weight. The time line has the times of samples; without one, those of a thread follow
 * each other, each for its share of the time of the report. Spans and events of the time line are
 * markers.
 */
#include "report/firefox_markers.h"
#include "report/firefox_thread.h"
#include "report/gzip.h"
#include "report/render.h"
#include "report/spans.h"
#include "report/tree.h"

enum { FORMAT_VERSION = 49, GECKO_VERSION = 29 };

/* Categories, by kind of frame. */
static const struct {
	const char *name, *colour;
} categories[] = {
	[ATTAR_FRAME_USER] = {"User", "yellow"},
	[ATTAR_FRAME_KERNEL] = {"Kernel", "orange"},
	[ATTAR_FRAME_INLINED] = {"Inlined", "purple"},
	[ATTAR_FRAME_JIT] = {"JIT", "green"},
	[ATTAR_FRAME_UNKNOWN] = {"Unknown", "grey"},
	[ATTAR_FRAME_TASK] = {"Other", "grey"},
};

_Static_assert(ARRAY_SIZE(categories) == FIREFOX_STACK_CATEGORIES, "markers have the next numbers");

/* ---- the samples of a thread ---- */

/* A tree's nodes by root: those of each follow each other. */
struct by_root {
	uint32_t *roots, *order, *local;
	const struct tree_source **sources; /* of each node */
};

static int compare_root(const void *a, const void *b, void *ctx)
{
	const uint32_t *roots = ctx, x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (roots[x] != roots[y])
		return roots[x] < roots[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int order_by_root(struct by_root *o, const struct attar_section *tree)
{
	size_t n = tree->nodes.n, at = 0;

	o->roots = calloc(n + 1, sizeof(*o->roots));
	o->order = calloc(n + 1, sizeof(*o->order));
	o->local = calloc(n + 1, sizeof(*o->local));
	o->sources = calloc(n + 1, sizeof(*o->sources));
	if (!o->roots || !o->order || !o->local || !o->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t up = tree->nodes.at[i].parent;

		o->roots[i] = up == ATTAR_TREE_ROOT ? i : o->roots[up];
		o->order[i] = i;
		o->sources[i] = tree_source_of(tree, i, &at);
	}
	qsort_r(o->order, n, sizeof(*o->order), compare_root, o->roots);
	return 0;
}

static void by_root_done(struct by_root *o)
{
	free(o->roots);
	free(o->order);
	free(o->local);
	free(o->sources);
}

/* Samples without times follow each other, each for its share of the time of the report. */
static int spread_samples(struct firefox_thread *t, double duration_ms)
{
	double whole = (double)MAX(t->tree->whole, UINT64_C(1)), time = 0;

	for (uint32_t i = 0; i < t->nodes.n; i++) {
		uint64_t self = t->tree->nodes.at[t->nodes.at[i].number].self;

		if (self && vec_push(&t->samples, (struct firefox_sample){i, self, time}) < 0)
			return -ENOMEM;
		time += duration_ms / whole * (double)self;
	}
	return 0;
}

/* ---- the profile ---- */

/* A row of the time line with a stack. */
struct timed {
	uint32_t node; /* of the tree */
	uint64_t weight;
	double time; /* ms */
};

struct profile {
	struct buf json;
	const struct attar_report *report;
	uint64_t began; /* ns */
	double duration_ms;
	const struct attar_section *timed_tree; /* to whose nodes rows belong */
	VEC(struct timed) timed;                /* sorted by root and time, when it is drawn */
	size_t timed_at;                        /* of the present root */
	struct span_rows rows;
	struct map track_of; /* pid << 32 | tid -> number of its first row */
	bool any;            /* a thread was added */
};

static void profile_done(struct profile *p)
{
	buf_done(&p->json);
	vec_done(&p->timed);
	span_rows_done(&p->rows);
	map_done(&p->track_of);
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* Samples have the parts of states that were divided; markers have whole states. */
static int read_rows(struct profile *p, const struct attar_section *spans)
{
	int e = span_rows_init(&p->rows, spans);

	for (size_t i = 0; i < p->rows.n && e == 0; i++) {
		const struct span_row *row = &p->rows.at[i];

		if (row->has_node)
			e = vec_push(&p->timed, (struct timed){row->node, row->weight,
							firefox_ms(row->time, p->began)});
	}
	span_rows_join(&p->rows);
	for (size_t i = 0; i < p->rows.n && e == 0; i++) {
		const struct span_row *row = &p->rows.at[i];

		if (row->has_thread && (!i || row[-1].track != row->track))
			e = map_put(&p->track_of, thread_key(row->pid, row->tid), i);
	}
	return e;
}

/* The number of rows of the track that begins with row i. */
static size_t track_length(const struct profile *p, size_t i)
{
	size_t n = 1;

	while (i + n < p->rows.n && p->rows.at[i + n].track == p->rows.at[i].track)
		n++;
	return n;
}

/* Takes the rows of a thread out of the map, so that no other thread has them too. */
static size_t take_rows(
	struct profile *p, uint32_t pid, uint32_t tid, const struct span_row **ret_rows)
{
	const uint64_t *first = map_get(&p->track_of, thread_key(pid, tid));
	size_t n = first ? track_length(p, *first) : 0;

	*ret_rows = first ? &p->rows.at[*first] : NULL;
	map_remove(&p->track_of, thread_key(pid, tid));
	return n;
}

static void separate(struct profile *p)
{
	if (p->any)
		buf_char(&p->json, ',');
	p->any = true;
}

static int draw_thread_of_tree(struct profile *p, struct firefox_thread *t)
{
	const struct tree_task key = {.node = t->root}, *task = NULL;
	const struct span_row *rows = NULL;
	uint32_t pid, tid;
	size_t n;

	if (t->tree->tasks.n)
		task = bsearch(
			&key, t->tree->tasks.at, t->tree->tasks.n, sizeof(key), tree_task_order);
	pid = task ? task->pid : 0;
	tid = task ? task->tid : 0;
	n = task ? take_rows(p, pid, tid, &rows) : 0;
	separate(p);
	firefox_thread_begin(
		&p->json, section_text(t->tree, t->tree->nodes.at[t->root].name), pid, tid);
	return firefox_thread_end(&p->json, t, rows, n, p->began);
}

static int compare_timed(const void *a, const void *b, void *ctx)
{
	const struct timed *x = a, *y = b;
	const uint32_t *roots = ctx;

	if (roots[x->node] != roots[y->node])
		return roots[x->node] < roots[y->node] ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Nodes that the tree does not have are of a report that was not made by a run. */
static void sort_timed(struct profile *p, const struct by_root *o)
{
	size_t n = 0;

	vec_each (&p->timed, it)
		if (it->node < p->timed_tree->nodes.n)
			p->timed.at[n++] = *it;
	p->timed.n = n;
	if (n)
		qsort_r(p->timed.at, n, sizeof(*p->timed.at), compare_timed, o->roots);
}

/* Samples of the time line; what it has no room for is at the end of the report. */
static int add_timed(struct profile *p, struct firefox_thread *t, const struct by_root *o)
{
	uint64_t *left = calloc(t->nodes.n + 1, sizeof(*left));
	size_t first = p->timed_at;
	int e = left ? 0 : -ENOMEM;

	for (uint32_t i = 0; e == 0 && i < t->nodes.n; i++)
		left[i] = t->tree->nodes.at[t->nodes.at[i].number].self;
	for (; e == 0 && p->timed_at < p->timed.n; p->timed_at++) {
		const struct timed *timed = &p->timed.at[p->timed_at];
		uint32_t node = o->local[timed->node];

		if (o->roots[timed->node] != t->root)
			break;
		e = vec_push(
			&t->samples, (struct firefox_sample){node, timed->weight, timed->time});
		left[node] -= MIN(left[node], timed->weight);
	}
	for (uint32_t i = 0; e == 0 && p->timed_at > first && i < t->nodes.n; i++)
		if (left[i])
			e = vec_push(
				&t->samples, (struct firefox_sample){i, left[i], p->duration_ms});
	free(left);
	return e;
}

/* The thread of the root at position *at of the order, which moves behind it. */
static int draw_root(
	struct profile *p, struct attar_section *tree, const struct by_root *o, size_t *at)
{
	struct firefox_thread t _cleanup_(firefox_thread_done) = {
		.tree = tree, .root = o->order[*at]};
	int e = 0;

	for (; *at < tree->nodes.n && o->roots[o->order[*at]] == t.root && e == 0; ++*at) {
		uint32_t number = o->order[*at];

		o->local[number] = (uint32_t)t.nodes.n;
		e = firefox_thread_add_node(&t, number, o->sources[number], o->local);
	}
	if (e == 0 && tree == p->timed_tree)
		e = add_timed(p, &t, o);
	if (e == 0 && !t.samples.n)
		e = spread_samples(&t, p->duration_ms);
	return e == 0 ? draw_thread_of_tree(p, &t) : e;
}

static int draw_tree(struct profile *p, struct attar_section *tree)
{
	struct by_root o _cleanup_(by_root_done) = {0};
	int e = order_by_root(&o, tree);

	tree_sum(tree);
	if (e == 0 && tree == p->timed_tree)
		sort_timed(p, &o);
	for (size_t at = 0; at < tree->nodes.n && e == 0;)
		e = draw_root(p, tree, &o, &at);
	return e;
}

/* Threads, CPUs and other tracks without stacks. */
static int draw_tracks(struct profile *p)
{
	int e = 0;

	for (size_t i = 0, n; i < p->rows.n && e == 0; i += n) {
		struct firefox_thread t _cleanup_(firefox_thread_done) = {0};
		const struct span_row *row = &p->rows.at[i];

		n = track_length(p, i);
		if (row->has_thread && !map_get(&p->track_of, thread_key(row->pid, row->tid)))
			continue;
		separate(p);
		firefox_thread_begin(
			&p->json, row->thread, row->pid, row->has_thread ? row->tid : row->track);
		e = firefox_thread_end(&p->json, &t, row, n, p->began);
	}
	return e;
}

static void add_meta(struct profile *p)
{
	struct buf *b = &p->json;

	buf_printf(b, "{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":1,",
		GECKO_VERSION, FORMAT_VERSION);
	buf_str(b, "\"startTime\":");
	number_double(b, (double)p->began * 1e-6);
	buf_str(b, ",\"processType\":0,\"product\":\"attar\",\"stackwalk\":1,\"debug\":false,"
		   "\"gcpoison\":0,\"asyncstack\":0,\"symbolicated\":true,\"markerSchema\":[");
	firefox_marker_schema(b);
	buf_str(b, "],\"usesOnlyOneStackType\":true,\"sampleUnits\":{\"time\":\"ms\","
		   "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\"categories\":[");
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
		buf_printf(b, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].colour);
	firefox_marker_categories(b);
	buf_str(b, "]},\"libs\":[],\"pages\":[],\"threads\":[");
}

static int draw_threads(struct profile *p)
{
	int e = 0;

	report_each_section (p->report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE && e == 0)
			e = draw_tree(p, *it);
	return e == 0 ? draw_tracks(p) : e;
}

static int draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct profile p _cleanup_(profile_done) = {.report = report,
		.began = report->time - MIN(report->interval_ns, report->time),
		.duration_ms = (double)report->interval_ns * 1e-6};
	bool any = false;
	int e = 0;

	report_each_section (report, it) {
		bool is_tree = (*it)->kind == ATTAR_SECTION_TREE;

		any |= is_tree || (*it)->kind == ATTAR_SECTION_SPANS;
		p.timed_tree = is_tree && !p.timed_tree ? *it : p.timed_tree;
		if ((*it)->kind == ATTAR_SECTION_SPANS && !p.rows.at)
			e = read_rows(&p, *it);
	}
	if (!any)
		return render_no_stacks(r, report);
	add_meta(&p);
	if (e == 0)
		e = draw_threads(&p);
	buf_str(&p.json, "]}");
	if (e < 0 || buf_failed(&p.json))
		return base_oom();
	e = gzip(&r->out, p.json.data, p.json.len);
	render_log_notes(r, report);
	return e;
}

const struct render_format render_firefox = {
	.sink = {.name = "firefox",
		.extension = "json.gz",
		.media_type = "application/gzip",
		.sections = RENDER_TREES | RENDER_SPANS,
		.whole_run = true,
		.wants_trees = true,
		.wants_spans = true,
		.is_binary = true},
	.draw = draw,
};
