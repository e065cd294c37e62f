/* SPDX-License-Identifier: MIT */
/*
 * Profiles for the Firefox Profiler, in version 49 of its processed format, which newer versions
 * read (docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler). Each task at
 * the root of a call tree is a thread, or each thread of the time line with samples of it. A node
 * of the tree is a stack and a frame; a sample is a node with a weight. The time line has the times
 * of samples; without one, those of a task follow each other, each for its share of the time of the
 * report. Spans and events of the time line are markers.
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

/* ---- the nodes of a tree ---- */

/* A tree's nodes by root: those of each follow each other. */
struct by_root {
	uint32_t *roots, *order, *local;
	uint64_t *left;                     /* of the weight of each node: not drawn yet */
	const struct tree_source **sources; /* of each node */
	uint32_t *thread_of, thread;        /* the last thread that has a node; the newest one */
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
	o->left = calloc(n + 1, sizeof(*o->left));
	o->sources = calloc(n + 1, sizeof(*o->sources));
	o->thread_of = calloc(n + 1, sizeof(*o->thread_of));
	if (!o->roots || !o->order || !o->local || !o->left || !o->sources || !o->thread_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t up = tree->nodes.at[i].parent;

		o->roots[i] = up == ATTAR_TREE_ROOT ? i : o->roots[up];
		o->order[i] = i;
		o->left[i] = tree->nodes.at[i].self;
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
	free(o->left);
	free(o->sources);
	free(o->thread_of);
}

/* ---- the profile ---- */

/* A sample: a row of the time line with a stack, or the weight of a node. */
struct timed {
	uint32_t node; /* of the tree */
	uint32_t track;
	uint64_t weight;
	double time; /* ms */
};

struct track {
	const char *name;
	bool has_thread, is_drawn;
	uint32_t pid, tid;
	size_t first, n; /* its markers */
};

struct profile {
	struct buf json;
	const struct attar_report *report;
	uint64_t began; /* ns */
	double duration_ms;
	const struct attar_section *timed_tree; /* to whose nodes rows belong */
	VEC(struct timed) timed;                /* sorted by root, track and time when drawn */
	size_t timed_at;                        /* of the present root */
	struct span_rows rows;
	VEC(struct track) tracks;
	struct map track_of; /* pid << 32 | tid -> track */
	bool any;            /* a thread was added */
};

static void profile_done(struct profile *p)
{
	buf_done(&p->json);
	vec_done(&p->timed);
	vec_done(&p->tracks);
	span_rows_done(&p->rows);
	map_done(&p->track_of);
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* The first row of a track. */
static int add_track(struct profile *p, const struct span_row *row)
{
	const struct track track = {.name = row->thread,
		.has_thread = row->has_thread,
		.pid = row->pid,
		.tid = row->has_thread ? row->tid : row->track};
	int e = vec_push(&p->tracks, track);

	return e == 0 && row->has_thread
		       ? map_put(&p->track_of, thread_key(row->pid, row->tid), row->track)
		       : e;
}

/* Samples have the parts of states that were divided; markers have whole states. */
static int read_rows(struct profile *p, const struct attar_section *spans)
{
	int e = span_rows_init(&p->rows, spans);

	for (size_t i = 0; i < p->rows.n && e == 0; i++) {
		const struct span_row *row = &p->rows.at[i];

		if (row->track == p->tracks.n)
			e = add_track(p, row);
		if (e == 0 && row->has_node)
			e = vec_push(&p->timed, (struct timed){row->node, row->track, row->weight,
							firefox_ms(row->time, p->began)});
	}
	span_rows_join(&p->rows);
	for (size_t i = 0; i < p->rows.n && e == 0; i++) {
		struct track *track = &p->tracks.at[p->rows.at[i].track];

		track->first = track->n++ ? track->first : i;
	}
	return e;
}

static void separate(struct profile *p)
{
	if (p->any)
		buf_char(&p->json, ',');
	p->any = true;
}

/* Ends a thread that has begun, with the markers of its track; NULL: none. */
static int end_thread(struct profile *p, struct firefox_thread *t, struct track *track)
{
	bool has_markers = track && !track->is_drawn && track->n;

	if (track)
		track->is_drawn = true;
	return firefox_thread_end(&p->json, t, has_markers ? &p->rows.at[track->first] : NULL,
		has_markers ? track->n : 0, p->began);
}

/* ---- the threads of a root ---- */

/* The nodes of one root. */
struct root {
	struct attar_section *tree;
	struct by_root *o;
	uint32_t node;     /* the root */
	size_t first, end; /* in the order */
};

/* The nodes on the stacks of the samples. */
static int add_nodes(
	const struct root *root, const struct timed *samples, size_t n, struct firefox_thread *t)
{
	struct by_root *o = root->o;
	int e = 0;

	o->thread++;
	for (size_t i = 0; i < n; i++)
		for (uint32_t node = samples[i].node; o->thread_of[node] != o->thread;
			node = root->tree->nodes.at[node].parent) {
			o->thread_of[node] = o->thread;
			if (node == root->node)
				break;
		}
	for (size_t i = root->first; i < root->end && e == 0; i++) {
		uint32_t number = o->order[i];

		if (o->thread_of[number] != o->thread)
			continue;
		o->local[number] = (uint32_t)t->nodes.n;
		e = firefox_thread_add_node(t, number, o->sources[number], o->local);
	}
	return e;
}

/* A thread with these samples, which is that of the track, or else the task of the root. */
static int draw_thread(struct profile *p, const struct root *root, const struct timed *samples,
	size_t n, struct track *track)
{
	struct firefox_thread t _cleanup_(firefox_thread_done) = {
		.tree = root->tree, .root = root->node};
	const struct tree_task key = {.node = root->node}, *task = NULL;
	int e = add_nodes(root, samples, n, &t);

	for (size_t i = 0; i < n && e == 0; i++)
		e = vec_push(&t.samples, (struct firefox_sample){root->o->local[samples[i].node],
						 samples[i].weight, samples[i].time});
	if (e < 0)
		return e;
	separate(p);
	if (track) {
		firefox_thread_begin(&p->json, track->name, track->pid, track->tid);
		return end_thread(p, &t, track);
	}
	if (root->tree->tasks.n)
		task = bsearch(&key, root->tree->tasks.at, root->tree->tasks.n, sizeof(key),
			tree_task_order);
	firefox_thread_begin(&p->json,
		section_text(root->tree, root->tree->nodes.at[root->node].name),
		task ? task->pid : 0, task ? task->tid : 0);
	if (task) {
		const uint64_t *number = map_get(&p->track_of, thread_key(task->pid, task->tid));

		track = number ? &p->tracks.at[*number] : NULL;
	}
	return end_thread(p, &t, track);
}

typedef VEC(struct timed) timed_samples;

/*
 * The weights that no row of the time line has: at the end of the report or, if the root has no
 * rows at all, one after the other, each for its share of the time of the report.
 */
static int add_rest(
	const struct profile *p, const struct root *root, bool is_timed, timed_samples *samples)
{
	double whole = (double)MAX(root->tree->whole, UINT64_C(1));
	double time = is_timed ? p->duration_ms : 0;

	for (size_t i = root->first; i < root->end; i++) {
		uint32_t node = root->o->order[i];
		uint64_t left = root->o->left[node];

		if (left && vec_push(samples, (struct timed){node, 0, left, time}) < 0)
			return -ENOMEM;
		time += is_timed ? 0 : p->duration_ms / whole * (double)left;
	}
	return 0;
}

/* The samples of a track at position i of the time line, which has n of the root. */
static size_t count_track(const struct timed *timed, size_t n)
{
	size_t i = 0;

	while (i < n && timed[i].track == timed->track)
		i++;
	return i;
}

/* The rows of the root, from the present position on. */
static size_t count_timed(const struct profile *p, const struct root *root)
{
	size_t n = 0;

	if (root->tree != p->timed_tree)
		return 0;
	while (p->timed_at + n < p->timed.n &&
		root->o->roots[p->timed.at[p->timed_at + n].node] == root->node)
		n++;
	return n;
}

/* A thread for each track; what they do not have belongs to the only one, or to another thread. */
static int draw_threads_of(struct profile *p, const struct root *root)
{
	const struct timed *timed = p->timed.at + p->timed_at;
	size_t n = count_timed(p, root), one = count_track(timed, n);
	timed_samples samples = {0};
	struct track *only = n && one == n ? &p->tracks.at[timed->track] : NULL;
	int e = 0;

	p->timed_at += n;
	for (size_t i = 0; i < n && e == 0; i++) {
		uint64_t *left = &root->o->left[timed[i].node];

		*left -= MIN(*left, timed[i].weight);
		if (only)
			e = vec_push(&samples, timed[i]);
	}
	for (size_t i = 0; i < n && !only && e == 0; i += one) {
		one = count_track(timed + i, n - i);
		e = draw_thread(p, root, timed + i, one, &p->tracks.at[timed[i].track]);
	}
	if (e == 0)
		e = add_rest(p, root, n > 0, &samples);
	if (e == 0 && (samples.n || !n))
		e = draw_thread(p, root, samples.at, samples.n, only);
	vec_done(&samples);
	return e;
}

static int compare_timed(const void *a, const void *b, void *ctx)
{
	const struct timed *x = a, *y = b;
	const uint32_t *roots = ctx;

	if (roots[x->node] != roots[y->node])
		return roots[x->node] < roots[y->node] ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
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

static int draw_tree(struct profile *p, struct attar_section *tree)
{
	struct by_root o _cleanup_(by_root_done) = {0};
	struct root root = {.tree = tree, .o = &o};
	int e;

	tree_sum(tree);
	e = order_by_root(&o, tree);
	if (e == 0 && tree == p->timed_tree)
		sort_timed(p, &o);
	for (; root.first < tree->nodes.n && e == 0; root.first = root.end) {
		root.node = o.order[root.first];
		while (root.end < tree->nodes.n && o.roots[o.order[root.end]] == root.node)
			root.end++;
		e = draw_threads_of(p, &root);
	}
	return e;
}

/* Threads, CPUs and other tracks without stacks. */
static int draw_tracks(struct profile *p)
{
	int e = 0;

	vec_each (&p->tracks, track) {
		struct firefox_thread t _cleanup_(firefox_thread_done) = {0};

		if (e < 0 || track->is_drawn || !track->n)
			continue;
		separate(p);
		firefox_thread_begin(&p->json, track->name, track->pid, track->tid);
		e = end_thread(p, &t, track);
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
	e = gzip(&r->out, p.json.data, p.json.len, GZIP_SMALL);
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
