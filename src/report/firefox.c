/* SPDX-License-Identifier: MIT */
/*
 * Profiles for the Firefox Profiler, in version 49 of its processed format, which newer versions
 * read (docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler). Each task at
 * the root of a call tree is a thread. A node of the tree is a stack and a frame; a sample is a
 * node with a weight of its own. Trees have no times: the samples of a thread follow each other,
 * each for its share of the time of the report.
 */
#include "report/render.h"

#include "base/escape.h"
#include "base/map.h"
#include "report/gzip.h"
#include "report/tree.h"

enum { FORMAT_VERSION = 49, GECKO_VERSION = 29, RESOURCE_LIBRARY = 1 };

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

struct node {
	uint32_t number; /* in the tree */
	int64_t parent;  /* index in the thread; -1: none */
	uint32_t function;
	const struct tree_source *source; /* NULL: none */
};

struct function {
	uint32_t name, module, file; /* strings of the thread */
};

/* A task of the tree, and tables of its own. */
struct thread {
	struct attar_section *tree;
	uint32_t root;
	VEC(struct node) nodes;
	VEC(struct function) functions;
	VEC(uint32_t) modules; /* strings */
	VEC(uint32_t) samples; /* indexes of nodes */
	struct map function_of, module_of;
	struct intern strings;
};

static void thread_done(struct thread *t)
{
	vec_done(&t->nodes);
	vec_done(&t->functions);
	vec_done(&t->modules);
	vec_done(&t->samples);
	map_done(&t->function_of);
	map_done(&t->module_of);
	intern_done(&t->strings);
}

/* ---- the tables of a thread ---- */

/* String 0 is "". */
static int string_of(struct thread *t, const char *text, uint32_t *ret_id)
{
	*ret_id = 0;
	return *text ? intern_id(&t->strings, text, ret_id) : 0;
}

static int add_module(struct thread *t, uint32_t module)
{
	if (map_get(&t->module_of, module))
		return 0;
	if (map_put(&t->module_of, module, t->modules.n) < 0)
		return -ENOMEM;
	return vec_push(&t->modules, module);
}

static int function_of(
	struct thread *t, const struct tree_node *node, struct node *new, uint32_t file)
{
	const struct attar_section *s = t->tree;
	uint32_t text = new->source ? new->source->function : node->name;
	struct function f;
	uint64_t key, *found;

	if (string_of(t, *section_text(s, text) ? section_text(s, text) : "[unknown]", &f.name) <
			0 ||
		string_of(t, section_text(s, node->module), &f.module) < 0 ||
		string_of(t, section_text(s, file), &f.file) < 0)
		return -ENOMEM;
	key = base_hash64(base_hash64((uint64_t)f.name << 32 | f.module) ^ f.file);
	found = map_get(&t->function_of, key);
	new->function = (uint32_t)(found ? *found : t->functions.n);
	if (found)
		return 0;
	if (map_put(&t->function_of, key, t->functions.n) < 0 || vec_push(&t->functions, f) < 0)
		return -ENOMEM;
	return add_module(t, f.module);
}

/* local: the index in the thread of each node of the tree. */
static int add_node(
	struct thread *t, uint32_t number, const struct tree_source *source, const uint32_t *local)
{
	const struct tree_node *node = &t->tree->nodes.at[number];
	struct node new = {.number = number,
		.parent = number == t->root ? -1 : (int64_t)local[node->parent],
		.source = source};
	int e = function_of(t, node, &new, new.source ? new.source->file : 0);

	if (e == 0 && node->self)
		e = vec_push(&t->samples, (uint32_t)t->nodes.n);
	return e == 0 ? vec_push(&t->nodes, new) : e;
}

/* ---- JSON ---- */

static void add_string(struct buf *b, const char *text)
{
	buf_char(b, '"');
	escape_json(b, text, strlen(text));
	buf_char(b, '"');
}

typedef void add_value(struct buf *b, const struct thread *t, size_t i);

/* "name":[...], */
static void add_list(
	struct buf *b, const char *name, const struct thread *t, size_t n, add_value *add)
{
	buf_printf(b, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_char(b, ',');
		add(b, t, i);
	}
	buf_str(b, "],");
}

static void none(struct buf *b, const struct thread *t, size_t i)
{
	buf_str(b, "null");
}

static void zero(struct buf *b, const struct thread *t, size_t i)
{
	buf_char(b, '0');
}

static void minus_one(struct buf *b, const struct thread *t, size_t i)
{
	buf_str(b, "-1");
}

static void no(struct buf *b, const struct thread *t, size_t i)
{
	buf_str(b, "false");
}

static void one(struct buf *b, const struct thread *t, size_t i)
{
	buf_char(b, '0' + RESOURCE_LIBRARY);
}

static void index_itself(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, i);
}

static void parent(struct buf *b, const struct thread *t, size_t i)
{
	if (t->nodes.at[i].parent < 0)
		buf_str(b, "null");
	else
		buf_u64(b, (uint64_t)t->nodes.at[i].parent);
}

static void category(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, t->tree->nodes.at[t->nodes.at[i].number].kind);
}

static void function(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, t->nodes.at[i].function);
}

static void line(struct buf *b, const struct thread *t, size_t i)
{
	const struct tree_source *source = t->nodes.at[i].source;

	if (source && source->line)
		buf_u64(b, source->line);
	else
		buf_str(b, "null");
}

static void function_name(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, t->functions.at[i].name);
}

/* A function without a module has no resource. */
static void function_resource(struct buf *b, const struct thread *t, size_t i)
{
	const struct function *f = &t->functions.at[i];

	if (f->module)
		buf_u64(b, *map_get(&t->module_of, f->module));
	else
		buf_str(b, "-1");
}

static void function_file(struct buf *b, const struct thread *t, size_t i)
{
	if (t->functions.at[i].file)
		buf_u64(b, t->functions.at[i].file);
	else
		buf_str(b, "null");
}

static void module_name(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, t->modules.at[i]);
}

static void string(struct buf *b, const struct thread *t, size_t i)
{
	add_string(b, intern_get(&t->strings, (uint32_t)i));
}

static void sample_stack(struct buf *b, const struct thread *t, size_t i)
{
	buf_u64(b, t->samples.at[i]);
}

static void sample_weight(struct buf *b, const struct thread *t, size_t i)
{
	uint64_t self = t->tree->nodes.at[t->nodes.at[t->samples.at[i]].number].self;

	if (t->tree->unit == ATTAR_UNIT_NS)
		number_double(b, (double)self * 1e-6);
	else
		buf_u64(b, self);
}

static const char *weight_type(enum attar_unit unit)
{
	return unit == ATTAR_UNIT_NS      ? "tracing-ms"
	       : unit == ATTAR_UNIT_BYTES ? "bytes"
					  : "samples";
}

static void add_times(struct buf *b, const struct thread *t, double duration_ms)
{
	double whole = (double)MAX(t->tree->whole, UINT64_C(1)), at = 0;

	buf_str(b, "\"time\":[");
	for (size_t i = 0; i < t->samples.n; i++) {
		if (i)
			buf_char(b, ',');
		number_double(b, at);
		at += duration_ms / whole *
		      (double)t->tree->nodes.at[t->nodes.at[t->samples.at[i]].number].self;
	}
	buf_str(b, "],");
}

static void add_samples(struct buf *b, const struct thread *t, double duration_ms)
{
	buf_str(b, "\"samples\":{");
	add_list(b, "stack", t, t->samples.n, sample_stack);
	add_list(b, "weight", t, t->samples.n, sample_weight);
	add_times(b, t, duration_ms);
	buf_printf(b, "\"weightType\":\"%s\",\"length\":%zu},", weight_type(t->tree->unit),
		t->samples.n);
}

struct list_column {
	const char *name;
	add_value *add;
};

static const struct list_column stack_columns[] = {
	{"prefix", parent}, {"frame", index_itself}, {"category", category}, {"subcategory", zero}};

static const struct list_column frame_columns[] = {{"address", minus_one}, {"inlineDepth", zero},
	{"category", category}, {"subcategory", zero}, {"func", function}, {"nativeSymbol", none},
	{"innerWindowID", zero}, {"implementation", none}, {"line", line}, {"column", none}};

static const struct list_column function_columns[] = {{"name", function_name}, {"isJS", no},
	{"relevantForJS", no}, {"resource", function_resource}, {"fileName", function_file},
	{"lineNumber", none}, {"columnNumber", none}};

static const struct list_column resource_columns[] = {
	{"lib", none}, {"name", module_name}, {"host", none}, {"type", one}};

static const struct {
	const char *name;
	const struct list_column *columns;
	size_t n;
} tables[] = {
	{"stackTable", stack_columns, ARRAY_SIZE(stack_columns)},
	{"frameTable", frame_columns, ARRAY_SIZE(frame_columns)},
	{"funcTable", function_columns, ARRAY_SIZE(function_columns)},
	{"resourceTable", resource_columns, ARRAY_SIZE(resource_columns)},
};

static void add_tables(struct buf *b, const struct thread *t)
{
	const size_t rows[] = {t->nodes.n, t->nodes.n, t->functions.n, t->modules.n};

	_Static_assert(ARRAY_SIZE(rows) == ARRAY_SIZE(tables), "rows of each table");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		buf_printf(b, "\"%s\":{", tables[i].name);
		for (size_t c = 0; c < tables[i].n; c++)
			add_list(
				b, tables[i].columns[c].name, t, rows[i], tables[i].columns[c].add);
		buf_printf(b, "\"length\":%zu},", rows[i]);
	}
}

static void add_head(struct buf *b, const struct thread *t, uint32_t pid, uint32_t tid)
{
	const char *name = section_text(t->tree, t->tree->nodes.at[t->root].name);

	buf_str(b, "{\"processType\":\"default\",\"processStartupTime\":0,"
		   "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		   "\"pausedRanges\":[],\"isMainThread\":false,\"name\":");
	add_string(b, name);
	buf_str(b, ",\"processName\":");
	add_string(b, name);
	buf_printf(b, ",\"pid\":\"%u\",\"tid\":%u,", pid, tid ? tid : pid);
}

static void add_thread(struct buf *b, const struct thread *t, double duration_ms)
{
	const struct tree_task key = {.node = t->root}, *task = NULL;

	if (t->tree->tasks.n)
		task = bsearch(
			&key, t->tree->tasks.at, t->tree->tasks.n, sizeof(key), tree_task_order);
	add_head(b, t, task ? task->pid : 0, task ? task->tid : 0);
	add_samples(b, t, duration_ms);
	buf_str(b, "\"markers\":{\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
		   "\"phase\":[],\"startTime\":[],\"length\":0},");
	add_tables(b, t);
	buf_str(b, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		   "\"functionSize\":[],\"length\":0},");
	add_list(b, "stringArray", t, MAX(t->strings.texts.n, (size_t)1), string);
	b->len--; /* the comma */
	buf_char(b, '}');
}

/* ---- the profile ---- */

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

/* The thread of the root at position *at of the order, which moves behind it. */
static int draw_thread(struct buf *b, struct attar_section *tree, const struct by_root *o,
	size_t *at, double duration_ms)
{
	struct thread t _cleanup_(thread_done) = {.tree = tree, .root = o->order[*at]};
	int e = 0;

	for (; *at < tree->nodes.n && o->roots[o->order[*at]] == t.root && e == 0; ++*at) {
		uint32_t number = o->order[*at];

		o->local[number] = (uint32_t)t.nodes.n;
		e = add_node(&t, number, o->sources[number], o->local);
	}
	if (e == 0)
		add_thread(b, &t, duration_ms);
	return e;
}

static int draw_tree(struct buf *b, struct attar_section *tree, double duration_ms, bool *first)
{
	struct by_root o _cleanup_(by_root_done) = {0};
	int e = order_by_root(&o, tree);

	tree_sum(tree);
	for (size_t at = 0; at < tree->nodes.n && e == 0; *first = false) {
		if (!*first)
			buf_char(b, ',');
		e = draw_thread(b, tree, &o, &at, duration_ms);
	}
	return e;
}

static void add_meta(struct buf *b, const struct attar_report *report)
{
	double start = (double)(report->time - MIN(report->interval_ns, report->time)) * 1e-6;

	buf_printf(b, "{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":1,",
		GECKO_VERSION, FORMAT_VERSION);
	buf_str(b, "\"startTime\":");
	number_double(b, start);
	buf_str(b, ",\"processType\":0,\"product\":\"attar\",\"stackwalk\":1,\"debug\":false,"
		   "\"gcpoison\":0,\"asyncstack\":0,\"symbolicated\":true,\"markerSchema\":[],"
		   "\"usesOnlyOneStackType\":true,\"sampleUnits\":{\"time\":\"ms\","
		   "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\"categories\":[");
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
		buf_printf(b, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].colour);
	buf_str(b, "]},\"libs\":[],\"pages\":[],\"threads\":[");
}

static int draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf json _cleanup_(buf_done) = {0};
	bool first = true, any = false;
	int e = 0;

	add_meta(&json, report);
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE && e == 0) {
			any = true;
			e = draw_tree(&json, *it, (double)report->interval_ns * 1e-6, &first);
		}
	if (!any)
		return render_no_stacks(r, report);
	buf_str(&json, "]}");
	if (e < 0 || buf_failed(&json))
		return base_oom();
	e = gzip(&r->out, json.data, json.len);
	render_log_notes(r, report);
	return e;
}

const struct render_format render_firefox = {
	.sink = {.name = "firefox",
		.extension = "json.gz",
		.media_type = "application/gzip",
		.sections = RENDER_TREES,
		.whole_run = true,
		.wants_trees = true,
		.is_binary = true},
	.draw = draw,
};
