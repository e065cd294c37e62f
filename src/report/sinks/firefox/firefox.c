/* SPDX-License-Identifier: MIT */
/*
 * Profiles for the Firefox Profiler, in version 49 of its processed format, which newer versions
 * read (docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler). Each thread
 * of the time line is a thread, with its samples of all roots of a call tree: exec(2) gives a
 * thread another name, and so another root. A root that no thread of the time line has is a thread
 * by itself. A node of the tree is a stack and a frame; a sample is a node with a weight. The time
 * line has the times of samples; without one, the samples of a thread follow each other, each for
 * its share of the time of the report. Spans and events of the time line are markers.
 */
#include "base/escape.h"
#include "report/sinks/firefox/markers.h"
#include "report/sinks/firefox/thread.h"
#include "report/sinks/gzip.h"
#include "report/model/number.h"
#include "report/sinks/render.h"
#include "report/model/spans.h"
#include "report/model/tree.h"

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

struct root {
	bool is_timed;   /* rows of the time line have samples of it */
	uint64_t thread; /* of the weights that no row has, see struct timed */
	double time;     /* ms: where the next of them is placed in a thread of its own */
};

struct nodes {
	struct attar_section *tree;
	uint32_t *root_of, *local;
	double *cpu;                        /* of each node, see tree_set_cpu(); 0: unknown */
	struct root *roots;                 /* by number of their node */
	uint64_t *left;                     /* of the weight of each node: not in a row */
	const struct tree_source **sources; /* of each node */
	uint32_t *thread_of, thread;        /* the last thread that has a node; the newest one */
	VEC(uint32_t) listed;               /* of the newest thread */
};

static int nodes_init(struct nodes *o, struct attar_section *tree)
{
	size_t n = tree->nodes.n, at = 0, cpu = 0;
	double whole = 0;

	o->tree = tree;
	o->root_of = calloc(n + 1, sizeof(*o->root_of));
	o->local = calloc(n + 1, sizeof(*o->local));
	o->cpu = calloc(n + 1, sizeof(*o->cpu));
	o->roots = calloc(n + 1, sizeof(*o->roots));
	o->left = calloc(n + 1, sizeof(*o->left));
	o->sources = calloc(n + 1, sizeof(*o->sources));
	o->thread_of = calloc(n + 1, sizeof(*o->thread_of));
	if (!o->root_of || !o->local || !o->cpu || !o->roots || !o->left || !o->sources ||
		!o->thread_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t up = tree->nodes.at[i].parent;

		while (cpu < tree->cpu.n && tree->cpu.at[cpu].node == ATTAR_TREE_ROOT)
			whole = tree->cpu.at[cpu++].ns;
		o->cpu[i] = up == ATTAR_TREE_ROOT ? whole : o->cpu[up];
		while (cpu < tree->cpu.n && tree->cpu.at[cpu].node == i)
			o->cpu[i] = tree->cpu.at[cpu++].ns;
		o->root_of[i] = up == ATTAR_TREE_ROOT ? i : o->root_of[up];
		o->left[i] = tree->nodes.at[i].self;
		o->sources[i] = tree_source_of(tree, i, &at);
	}
	return 0;
}

static void nodes_done(struct nodes *o)
{
	free(o->root_of);
	free(o->local);
	free(o->cpu);
	free(o->roots);
	free(o->left);
	free(o->sources);
	free(o->thread_of);
	vec_done(&o->listed);
}

/* The task of a root; NULL: unknown. */
static const struct tree_task *task_of(const struct nodes *o, uint32_t root)
{
	const struct attar_section *tree = o->tree;
	const struct tree_task key = {.node = root};

	return tree->tasks.n
		       ? bsearch(&key, tree->tasks.at, tree->tasks.n, sizeof(key), tree_task_order)
		       : NULL;
}

/* ---- the profile ---- */

/* A sample: a row of the time line with a stack, or the weight of a node. */
struct timed {
	uint32_t node;   /* of the tree */
	uint64_t thread; /* a track; number of tracks + number of a root: a thread of its own */
	uint64_t weight;
	double time;   /* ms */
	bool is_begin; /* of its weight, as states have it; otherwise its end, as samples have it */
};

struct track {
	const char *name;
	bool has_thread, is_drawn;
	uint32_t pid, tid;
	size_t first, n; /* its markers */
	double time;     /* ms: where the next weight of a root without rows is placed */
};

struct profile {
	struct buf json;
	const struct attar_report *report;
	uint64_t began; /* ns */
	double duration_ms;
	const struct attar_section *timed_tree; /* to whose nodes rows belong */
	VEC(struct timed) timed;                /* sorted by thread and time when drawn */
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
			e = vec_push(&p->timed,
				(struct timed){row->node, row->track, row->weight,
					firefox_ms(row->time, p->began), !row->is_sample});
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

/* ---- the threads of a tree ---- */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The nodes on the stacks of the samples. */
static int list_nodes(struct nodes *o, const struct timed *samples, size_t n)
{
	o->listed.n = 0;
	o->thread++;
	for (size_t i = 0; i < n; i++)
		for (uint32_t node = samples[i].node;
			node != ATTAR_TREE_ROOT && o->thread_of[node] != o->thread;
			node = o->tree->nodes.at[node].parent) {
			o->thread_of[node] = o->thread;
			if (vec_push(&o->listed, node) < 0)
				return -ENOMEM;
		}
	qsort(o->listed.at, o->listed.n, sizeof(*o->listed.at), compare_numbers);
	return 0;
}

static int add_nodes(
	struct nodes *o, const struct timed *samples, size_t n, struct firefox_thread *t)
{
	int e = list_nodes(o, samples, n);

	vec_each (&o->listed, number) {
		if (e < 0)
			break;
		o->local[*number] = (uint32_t)t->nodes.n;
		e = firefox_thread_add_node(t, *number, o->sources[*number], o->local);
	}
	return e;
}

/*
 * Samples have the time on a CPU since the one before. Before the first one, and after the last one
 * if its time is the begin of its weight, a sample without a stack makes them complete.
 */
static int add_samples(
	const struct nodes *o, const struct timed *samples, size_t n, struct firefox_thread *t)
{
	double pending = 0;
	int e = 0;

	for (size_t i = 0; i < n && e == 0; i++) {
		const struct timed *s = &samples[i];
		double cpu = o->cpu[s->node] * (double)s->weight, before = s->is_begin ? 0 : cpu;

		t->has_cpu |= o->cpu[s->node] > 0;
		if (i == 0 && before > 0)
			e = vec_push(
				&t->samples, ((struct firefox_sample){.node = FIREFOX_NO_STACK,
						     .time = MAX(s->time - before * 1e-6, 0.0)}));
		if (e == 0)
			e = vec_push(&t->samples, ((struct firefox_sample){o->local[s->node],
							  s->weight, s->time, pending + before}));
		pending = cpu - before;
	}
	if (e == 0 && pending > 0)
		e = vec_push(&t->samples, ((struct firefox_sample){.node = FIREFOX_NO_STACK,
						  .time = samples[n - 1].time + pending * 1e-6,
						  .cpu_ns = pending}));
	return e;
}

/* The thread with these samples: a track, or one of the root that they have. */
static int draw_thread(struct profile *p, struct nodes *o, const struct timed *samples, size_t n)
{
	struct firefox_thread t _cleanup_(firefox_thread_done) = {.tree = o->tree};
	struct track *track = samples->thread < p->tracks.n ? &p->tracks.at[samples->thread] : NULL;
	uint32_t root = o->root_of[samples->node];
	const struct tree_task *task = task_of(o, root);
	int e = add_nodes(o, samples, n, &t);

	if (e == 0)
		e = add_samples(o, samples, n, &t);
	if (e < 0)
		return e;
	separate(p);
	if (track)
		firefox_thread_begin(&p->json, track->name, track->pid, track->tid);
	else
		firefox_thread_begin(&p->json, section_text(o->tree, o->tree->nodes.at[root].name),
			task ? task->pid : 0, task ? task->tid : 0);
	return end_thread(p, &t, track);
}

static uint64_t own_thread(const struct profile *p, uint32_t root)
{
	return p->tracks.n + (uint64_t)root;
}

/*
 * The rows have weights of the nodes. What they do not have of a root is in the only thread that
 * has rows of it, or else in one of its own. Nodes that the tree does not have are of a report that
 * was not made by a run.
 */
static void take_rows(struct profile *p, struct nodes *o)
{
	size_t n = 0;

	for (size_t i = 0; i < p->timed.n && o->tree == p->timed_tree; i++) {
		const struct timed row = p->timed.at[i];
		uint32_t number;
		struct root *root;

		if (row.node >= o->tree->nodes.n)
			continue;
		number = o->root_of[row.node];
		root = &o->roots[number];
		o->left[row.node] -= MIN(o->left[row.node], row.weight);
		root->thread = !root->is_timed || root->thread == row.thread
				       ? row.thread
				       : own_thread(p, number);
		root->is_timed = true;
		p->timed.at[n++] = row;
	}
	p->timed.n = n;
}

/* Roots without rows: in the track of their thread, or else in a thread of their own. */
static void find_threads(struct profile *p, struct nodes *o)
{
	vec_each (&p->tracks, track)
		track->time = 0;
	for (uint32_t i = 0; i < o->tree->nodes.n; i++) {
		const struct tree_task *task;
		const uint64_t *track;

		if (o->root_of[i] != i || o->roots[i].is_timed)
			continue;
		task = task_of(o, i);
		track = task ? map_get(&p->track_of, thread_key(task->pid, task->tid)) : NULL;
		o->roots[i].thread = track ? *track : own_thread(p, i);
	}
}

/*
 * The weights that no row of the time line has: at the end of the report or, if the root has no
 * rows at all, one after the other, each for its share of the time of the report.
 */
static int add_rest(struct profile *p, struct nodes *o)
{
	double whole = (double)MAX(o->tree->whole, UINT64_C(1));

	for (uint32_t i = 0; i < o->tree->nodes.n; i++) {
		struct root *root = &o->roots[o->root_of[i]];
		double *time =
			root->thread < p->tracks.n ? &p->tracks.at[root->thread].time : &root->time;

		if (o->left[i] &&
			vec_push(&p->timed, (struct timed){i, root->thread, o->left[i],
						    root->is_timed ? p->duration_ms : *time,
						    !root->is_timed}) < 0)
			return -ENOMEM;
		*time += root->is_timed ? 0 : p->duration_ms / whole * (double)o->left[i];
	}
	return 0;
}

static int compare_timed(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static int draw_tree(struct profile *p, struct attar_section *tree)
{
	struct nodes o _cleanup_(nodes_done) = {0};
	size_t n;
	int e;

	tree_sum(tree);
	e = nodes_init(&o, tree);
	if (e < 0)
		return e;
	take_rows(p, &o);
	find_threads(p, &o);
	e = add_rest(p, &o);
	if (p->timed.n)
		qsort(p->timed.at, p->timed.n, sizeof(*p->timed.at), compare_timed);
	for (size_t i = 0; i < p->timed.n && e == 0; i += n) {
		const struct timed *first = &p->timed.at[i];

		for (n = 1; i + n < p->timed.n && first[n].thread == first->thread;)
			n++;
		e = draw_thread(p, &o, first, n);
	}
	p->timed.n = 0;
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

/* The ms between two samples of a thread on a CPU; 1: unknown. */
static double interval_ms(const struct attar_report *report)
{
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE && (*it)->unit == ATTAR_UNIT_COUNT &&
			(*it)->cpu.n)
			return (*it)->cpu.at[0].ns * 1e-6;
	return 1;
}

static void add_meta(struct profile *p, const char *command)
{
	struct buf *b = &p->json;

	buf_printf(b, "{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":",
		GECKO_VERSION, FORMAT_VERSION);
	number_double(b, interval_ms(p->report));
	buf_str(b, ",\"startTime\":");
	number_double(b, (double)p->began * 1e-6);
	buf_str(b, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	number_double(b, p->duration_ms);
	if (command) {
		buf_str(b, ",\"arguments\":");
		escape_json_text(b, command);
	}
	buf_str(b, ",\"processType\":0,\"product\":\"attar\",\"stackwalk\":1,\"debug\":false,"
		   "\"gcpoison\":0,\"asyncstack\":0,\"symbolicated\":true,\"markerSchema\":[");
	firefox_marker_schema(b);
	buf_str(b, "],\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
		   "\"sourceCodeIsNotOnSearchfox\":true,\"sampleUnits\":{\"time\":\"ms\","
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

static int firefox_draw(struct attar_renderer *r, const struct attar_report *report)
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
	add_meta(&p, r->command);
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
	.draw = firefox_draw,
};
