/* SPDX-License-Identifier: MIT */
#include "report/sinks/firefox/thread.h"

#include "base/escape.h"
#include "report/sinks/firefox/markers.h"
#include "report/model/number.h"

enum { RESOURCE_LIBRARY = 1 };

void firefox_thread_done(struct firefox_thread *t)
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
static int string_of(struct firefox_thread *t, const char *text, uint32_t *ret_id)
{
	*ret_id = 0;
	return *text ? intern_id(&t->strings, text, ret_id) : 0;
}

static int add_module(struct firefox_thread *t, uint32_t module)
{
	if (map_get(&t->module_of, module))
		return 0;
	if (map_put(&t->module_of, module, t->modules.n) < 0)
		return -ENOMEM;
	return vec_push(&t->modules, module);
}

static int function_of(struct firefox_thread *t, const struct tree_node *node,
	struct firefox_node *new, uint32_t file)
{
	const struct attar_section *s = t->tree;
	uint32_t text = new->source ? new->source->function : node->name;
	struct firefox_function f;
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

int firefox_thread_add_node(struct firefox_thread *t, uint32_t number,
	const struct tree_source *source, const uint32_t *local)
{
	const struct tree_node *node = &t->tree->nodes.at[number];
	struct firefox_node new = {.number = number,
		.parent = node->parent == ATTAR_TREE_ROOT ? -1 : (int64_t)local[node->parent],
		.source = source};
	int e = function_of(t, node, &new, new.source ? new.source->file : 0);

	return e == 0 ? vec_push(&t->nodes, new) : e;
}

/* ---- JSON ---- */

typedef void add_value(struct buf *b, const struct firefox_thread *t, size_t i);

/* "name":[...], */
static void add_list(
	struct buf *b, const char *name, const struct firefox_thread *t, size_t n, add_value *add)
{
	buf_printf(b, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_char(b, ',');
		add(b, t, i);
	}
	buf_str(b, "],");
}

static void none(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_str(b, "null");
}

static void zero(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_char(b, '0');
}

static void minus_one(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_str(b, "-1");
}

static void no(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_str(b, "false");
}

static void one(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_char(b, '0' + RESOURCE_LIBRARY);
}

static void index_itself(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_u64(b, i);
}

static void parent(struct buf *b, const struct firefox_thread *t, size_t i)
{
	if (t->nodes.at[i].parent < 0)
		buf_str(b, "null");
	else
		buf_u64(b, (uint64_t)t->nodes.at[i].parent);
}

static void category(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_u64(b, t->tree->nodes.at[t->nodes.at[i].number].kind);
}

static void function(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_u64(b, t->nodes.at[i].function);
}

static void line(struct buf *b, const struct firefox_thread *t, size_t i)
{
	const struct tree_source *source = t->nodes.at[i].source;

	if (source && source->line)
		buf_u64(b, source->line);
	else
		buf_str(b, "null");
}

static void function_name(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_u64(b, t->functions.at[i].name);
}

/* A function without a module has no resource. */
static void function_resource(struct buf *b, const struct firefox_thread *t, size_t i)
{
	const struct firefox_function *f = &t->functions.at[i];

	if (f->module)
		buf_u64(b, *map_get(&t->module_of, f->module));
	else
		buf_str(b, "-1");
}

static void function_file(struct buf *b, const struct firefox_thread *t, size_t i)
{
	if (t->functions.at[i].file)
		buf_u64(b, t->functions.at[i].file);
	else
		buf_str(b, "null");
}

static void module_name(struct buf *b, const struct firefox_thread *t, size_t i)
{
	buf_u64(b, t->modules.at[i]);
}

static void string(struct buf *b, const struct firefox_thread *t, size_t i)
{
	escape_json_text(b, intern_get(&t->strings, (uint32_t)i));
}

static void sample_stack(struct buf *b, const struct firefox_thread *t, size_t i)
{
	if (t->samples.at[i].node == FIREFOX_NO_STACK)
		buf_str(b, "null");
	else
		buf_u64(b, t->samples.at[i].node);
}

/* The first one follows no other sample. */
static void sample_cpu(struct buf *b, const struct firefox_thread *t, size_t i)
{
	if (i)
		buf_u64(b, (uint64_t)(t->samples.at[i].cpu_ns + 0.5));
	else
		buf_str(b, "null");
}

static void sample_weight(struct buf *b, const struct firefox_thread *t, size_t i)
{
	if (t->tree->unit == ATTAR_UNIT_NS)
		number_double(b, (double)t->samples.at[i].weight * 1e-6);
	else
		buf_u64(b, t->samples.at[i].weight);
}

static void sample_time(struct buf *b, const struct firefox_thread *t, size_t i)
{
	number_double(b, t->samples.at[i].time);
}

static const char *weight_type(enum attar_unit unit)
{
	return unit == ATTAR_UNIT_NS      ? "tracing-ms"
	       : unit == ATTAR_UNIT_BYTES ? "bytes"
					  : "samples";
}

static void add_samples(struct buf *b, const struct firefox_thread *t)
{
	buf_str(b, "\"samples\":{");
	add_list(b, "stack", t, t->samples.n, sample_stack);
	add_list(b, "weight", t, t->samples.n, sample_weight);
	add_list(b, "time", t, t->samples.n, sample_time);
	if (t->has_cpu)
		add_list(b, "threadCPUDelta", t, t->samples.n, sample_cpu);
	buf_printf(b, "\"weightType\":\"%s\",\"length\":%zu},",
		weight_type(t->tree ? t->tree->unit : ATTAR_UNIT_COUNT), t->samples.n);
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

static void add_tables(struct buf *b, const struct firefox_thread *t)
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

void firefox_thread_begin(struct buf *b, const char *name, uint32_t pid, uint32_t tid)
{
	buf_str(b, "{\"processType\":\"default\",\"processStartupTime\":0,"
		   "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		   "\"pausedRanges\":[],\"isMainThread\":false,\"name\":");
	escape_json_text(b, name);
	buf_str(b, ",\"processName\":");
	escape_json_text(b, name);
	buf_printf(b, ",\"pid\":\"%u\",\"tid\":%u,", pid, tid ? tid : pid);
}

int firefox_thread_end(struct buf *b, struct firefox_thread *t, const struct span_row *rows,
	size_t n, uint64_t began)
{
	int e;

	add_samples(b, t);
	e = firefox_markers(b, &t->strings, rows, n, began);
	add_tables(b, t);
	buf_str(b, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		   "\"functionSize\":[],\"length\":0},");
	add_list(b, "stringArray", t, MAX(t->strings.texts.n, (size_t)1), string);
	b->len--; /* the comma */
	buf_char(b, '}');
	return e;
}
