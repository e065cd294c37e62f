/* SPDX-License-Identifier: MIT */
/*
 * Profiles for pprof (github.com/google/pprof/blob/main/proto/profile.proto): a compressed message
 * of samples, locations, functions, mappings and a table of strings, which refer to each other by
 * number. Each tree of a report is a type of value. The task at the root of a stack is not code: it
 * becomes the labels comm, pid and tid of its samples.
 */
#include "report/sinks/render.h"

#include "base/escape.h"
#include "base/map.h"
#include "base/protobuf.h"
#include "report/sinks/gzip.h"
#include "report/model/tree.h"

/* Numbers of the fields of each message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_NAME = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILE = 4,
};

/* A function of a location, and the line in it. */
struct line {
	uint64_t function, number;
	uint64_t caller; /* the location that it was inlined into; 0: none */
};

/* A node as code: what its samples refer to. */
struct frame {
	uint32_t location; /* 0: not code */
	uint32_t root;     /* of its stack */
	bool inlined;      /* its location includes the location of its parent */
};

/* Texts of the tree, and the number of their mapping. */
struct module {
	uint32_t name, build_id;
	uint64_t mapping;
};

struct pprof {
	struct attar_section *tree;
	size_t type, types; /* the number of the tree, and of all trees */
	struct buf out;     /* the profile */
	struct buf message, part, packed;
	struct intern strings;
	struct map mappings, functions, locations; /* what identifies one -> its number */
	VEC(struct line) lines;                    /* of location n: n - 1 */
	VEC(struct frame) frames;                  /* of the tree's nodes */
	struct map names;                          /* texts of the tree -> functions */
	struct buf labels;                         /* of the task at labels_root */
	uint32_t labels_root;
	struct module module; /* the newest one */
	int error;
};

static void pprof_done(struct pprof *p)
{
	buf_done(&p->out);
	buf_done(&p->message);
	buf_done(&p->part);
	buf_done(&p->packed);
	intern_done(&p->strings);
	map_done(&p->mappings);
	map_done(&p->functions);
	map_done(&p->locations);
	map_done(&p->names);
	vec_done(&p->lines);
	vec_done(&p->frames);
	buf_done(&p->labels);
}

/* The number of a string; 0 for NULL and "". */
static uint64_t string_of(struct pprof *p, const char *text)
{
	uint32_t id = 0;

	if (text && *text && intern_id(&p->strings, text, &id) < 0)
		p->error = -ENOMEM;
	return id;
}

/* The number of a key, from 1; *ret_new: it is the first time. */
static uint64_t number_of(struct pprof *p, struct map *map, uint64_t key, bool *ret_new)
{
	uint64_t *found = map_get(map, key);

	*ret_new = !found;
	if (found)
		return *found;
	if (map_put(map, key, map->n + 1) < 0)
		p->error = -ENOMEM;
	return map->n;
}

static uint64_t mapping_of(struct pprof *p, const char *module, const char *build_id)
{
	uint64_t file = string_of(p, module), build = string_of(p, build_id), id;
	bool is_new, has_sources = p->tree->sources.n > 0;

	if (!file)
		return 0;
	id = number_of(p, &p->mappings, file << 32 | build, &is_new);
	if (!is_new)
		return id;
	protobuf_number(&p->message, MAPPING_ID, id);
	protobuf_number(&p->message, MAPPING_FILE, file);
	protobuf_number(&p->message, MAPPING_BUILD_ID, build);
	protobuf_number(&p->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_number(&p->message, MAPPING_HAS_FILES, has_sources);
	protobuf_number(&p->message, MAPPING_HAS_LINES, has_sources);
	protobuf_number(&p->message, MAPPING_HAS_INLINED, has_sources);
	protobuf_message(&p->out, PROFILE_MAPPING, &p->message);
	return id;
}

/* Most nodes have the module of the one before. */
static uint64_t mapping_of_node(
	struct pprof *p, const struct tree_node *node, const struct tree_code *code)
{
	struct module *m = &p->module;
	uint32_t build_id = code ? code->build_id : 0;

	if (!m->mapping || m->name != node->module || m->build_id != build_id)
		*m = (struct module){node->module, build_id,
			mapping_of(p, section_text(p->tree, node->module),
				code ? section_text(p->tree, build_id) : NULL)};
	return m->mapping;
}

/*
 * Without a system name, which would be the mangled one: pprof shortens the names of functions
 * whose names are equal, as if they were mangled.
 */
static uint64_t function_of(struct pprof *p, const char *name, const char *file)
{
	uint64_t text = string_of(p, *name ? name : "[unknown]"), path = string_of(p, file), id;
	bool is_new;

	id = number_of(p, &p->functions, text << 32 | path, &is_new);
	if (!is_new)
		return id;
	protobuf_number(&p->message, FUNCTION_ID, id);
	protobuf_number(&p->message, FUNCTION_NAME, text);
	protobuf_number(&p->message, FUNCTION_FILE, path);
	protobuf_message(&p->out, PROFILE_FUNCTION, &p->message);
	return id;
}

/* The function for a text of the tree, without a file. */
static uint64_t function_of_name(struct pprof *p, uint32_t name)
{
	uint64_t key = (uint64_t)name + 1, *found = map_get(&p->names, key), id;

	if (found)
		return *found;
	id = function_of(p, section_text(p->tree, name), NULL);
	if (map_put(&p->names, key, id) < 0)
		p->error = -ENOMEM;
	return id;
}

/* The lines of a location: the line of its inlined function first, then its callers' lines. */
static void add_location(
	struct pprof *p, uint64_t id, uint64_t mapping, uint64_t address, struct line line)
{
	struct buf *b = &p->message;

	protobuf_number(b, LOCATION_ID, id);
	protobuf_number(b, LOCATION_MAPPING, mapping);
	protobuf_number(b, LOCATION_ADDRESS, address);
	for (;;) {
		protobuf_number(&p->part, LINE_FUNCTION, line.function);
		protobuf_number(&p->part, LINE_NUMBER, line.number);
		protobuf_message(b, LOCATION_LINE, &p->part);
		if (!line.caller)
			break;
		line = p->lines.at[line.caller - 1];
	}
	protobuf_message(&p->out, PROFILE_LOCATION, b);
}

static uint64_t location_of(
	struct pprof *p, uint64_t mapping, uint64_t address, const struct line *line)
{
	uint64_t key = base_hash64(mapping), id;
	bool is_new;

	key = base_hash64(key ^ address);
	key = base_hash64(key ^ line->function);
	key = base_hash64(key ^ line->number);
	key = base_hash64(key ^ line->caller);
	id = number_of(p, &p->locations, key, &is_new);
	if (!is_new || p->error)
		return id;
	if (vec_push(&p->lines, *line) < 0)
		p->error = -ENOMEM;
	else
		add_location(p, id, mapping, address, *line);
	return id;
}

/* Positions in the tables of a tree, which are in the order of its nodes. */
struct position {
	size_t code, source;
};

static uint64_t location_of_node(
	struct pprof *p, uint32_t number, struct position *at, bool *ret_inlined)
{
	struct attar_section *tree = p->tree;
	const struct tree_node *node = &tree->nodes.at[number];
	const struct tree_code *code = tree_code_of(tree, number, &at->code);
	const struct tree_source *source = tree_source_of(tree, number, &at->source);
	struct line line = {.number = source ? source->line : 0};

	line.function = source ? function_of(p, section_text(tree, source->function),
					 source->file ? section_text(tree, source->file) : NULL)
			       : function_of_name(p, node->name);
	if (source && source->inlined && node->parent != ATTAR_TREE_ROOT)
		line.caller = p->frames.at[node->parent].location;
	*ret_inlined = line.caller != 0;
	return location_of(p, mapping_of_node(p, node, code), code ? code->address : 0, &line);
}

/* The process and thread of a node; NULL: it has none. */
static const struct tree_task *task_at(const struct pprof *p, uint32_t node)
{
	const struct tree_task key = {.node = node};

	return p->tree->tasks.n ? bsearch(&key, p->tree->tasks.at, p->tree->tasks.n, sizeof(key),
					  tree_task_order)
				: NULL;
}

/* What tasks are in, such as containers or hosts, is a root above them. */
static bool is_group(const struct pprof *p, uint32_t number)
{
	return p->tree->nodes.at[number].parent == ATTAR_TREE_ROOT &&
	       p->tree->nodes.at[number].kind == ATTAR_FRAME_TASK && !task_at(p, number);
}

/* A task, or a group. Other nodes of this kind are states, which are frames. */
static bool is_task(const struct pprof *p, uint32_t number)
{
	const struct tree_node *node = &p->tree->nodes.at[number];

	if (node->kind != ATTAR_FRAME_TASK)
		return false;
	return node->parent == ATTAR_TREE_ROOT || (is_group(p, node->parent) && task_at(p, number));
}

/* pprof names a profile after its first mapping: the program with the most samples, no library. */
static void add_program(struct pprof *p)
{
	const struct attar_section *tree = p->tree;
	const struct tree_node *best = NULL;
	uint32_t build_id = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < tree->nodes.n; i++) {
		const struct tree_node *node = &tree->nodes.at[i];
		const char *module;

		if (best && node->total <= best->total)
			continue;
		module = section_text(tree, node->module);
		if (*module != '/' || strstr(module, ".so"))
			continue;
		const struct tree_code *code = tree_code_of(tree, i, &at);

		best = node;
		build_id = code ? code->build_id : 0;
	}
	if (best)
		mapping_of(p, section_text(tree, best->module),
			build_id ? section_text(tree, build_id) : NULL);
}

static int add_frames(struct pprof *p)
{
	struct position at = {0};

	p->frames.n = 0;
	for (uint32_t i = 0; i < p->tree->nodes.n && !p->error; i++) {
		const struct tree_node *node = &p->tree->nodes.at[i];
		bool has_labels = is_task(p, i);
		struct frame frame = {.root = i};

		if (node->parent != ATTAR_TREE_ROOT && !has_labels)
			frame.root = p->frames.at[node->parent].root;
		if (!has_labels)
			frame.location = (uint32_t)location_of_node(p, i, &at, &frame.inlined);
		if (vec_push(&p->frames, frame) < 0)
			return -ENOMEM;
	}
	return p->error;
}

static void add_label(struct pprof *p, const char *key, const char *text, uint64_t number)
{
	protobuf_number(&p->part, LABEL_KEY, string_of(p, key));
	protobuf_number(&p->part, LABEL_STRING, string_of(p, text));
	protobuf_number(&p->part, LABEL_NUMBER, number);
	protobuf_message(&p->labels, SAMPLE_LABEL, &p->part);
}

static void set_labels(struct pprof *p, uint32_t root)
{
	const struct tree_node *node = &p->tree->nodes.at[root];
	const struct tree_task *task = task_at(p, root);

	buf_reset(&p->labels);
	p->labels_root = root;
	if (!is_task(p, root))
		return;
	add_label(p, "comm", section_text(p->tree, node->name), 0);
	if (node->parent != ATTAR_TREE_ROOT)
		add_label(
			p, "group", section_text(p->tree, p->tree->nodes.at[node->parent].name), 0);
	if (task && task->pid)
		add_label(p, "pid", NULL, task->pid);
	if (task && task->tid)
		add_label(p, "tid", NULL, task->tid);
}

/* The locations from the innermost one. A sample of a task without a stack has one, too. */
static void add_locations(struct pprof *p, uint32_t leaf)
{
	uint32_t n = leaf;

	while (n != ATTAR_TREE_ROOT && p->frames.at[n].location) {
		protobuf_varint(&p->packed, p->frames.at[n].location);
		while (p->frames.at[n].inlined)
			n = p->tree->nodes.at[n].parent;
		n = p->tree->nodes.at[n].parent;
	}
	if (!p->packed.len) {
		struct line none = {.function = function_of(p, "[no stack]", NULL)};

		protobuf_varint(&p->packed, location_of(p, 0, 0, &none));
	}
}

static void add_sample(struct pprof *p, uint32_t leaf)
{
	add_locations(p, leaf);
	protobuf_message(&p->message, SAMPLE_LOCATION, &p->packed);
	for (size_t i = 0; i < p->types; i++)
		protobuf_varint(&p->packed,
			i == p->type ? MIN(p->tree->nodes.at[leaf].self, (uint64_t)INT64_MAX) : 0);
	protobuf_message(&p->message, SAMPLE_VALUE, &p->packed);
	if (p->labels_root != p->frames.at[leaf].root)
		set_labels(p, p->frames.at[leaf].root);
	buf_add(&p->message, p->labels.data, p->labels.len);
	protobuf_message(&p->out, PROFILE_SAMPLE, &p->message);
}

static int add_tree(struct pprof *p, struct attar_section *tree)
{
	int r;

	p->tree = tree;
	p->labels_root = ATTAR_TREE_ROOT;
	p->module = (struct module){0};
	map_done(&p->names);
	tree_sum(tree);
	add_program(p);
	r = add_frames(p);
	for (uint32_t i = 0; r == 0 && i < tree->nodes.n; i++) {
		if (tree->nodes.at[i].self)
			add_sample(p, i);
		r = p->error;
	}
	return r < 0 ? base_oom() : 0;
}

/* ---- the profile ---- */

static const char *unit_of(enum attar_unit unit)
{
	return unit == ATTAR_UNIT_NS ? "nanoseconds" : unit == ATTAR_UNIT_BYTES ? "bytes" : "count";
}

static void add_type(struct pprof *p, const struct attar_section *tree)
{
	const char *name = section_text(tree, tree->weight ? tree->weight : tree->name);
	uint64_t id = string_of(p, name);

	protobuf_number(&p->message, TYPE_NAME, id);
	protobuf_number(&p->message, TYPE_UNIT, string_of(p, unit_of(tree->unit)));
	protobuf_message(&p->out, PROFILE_SAMPLE_TYPE, &p->message);
	if (p->types++ == 0)
		protobuf_number(&p->out, PROFILE_DEFAULT_TYPE, id);
}

static void add_comment(struct pprof *p, const char *text)
{
	protobuf_varint(&p->packed, string_of(p, text));
}

static void add_comments(
	struct pprof *p, const struct attar_renderer *r, const struct attar_report *report)
{
	struct buf notes _cleanup_(buf_done) = {0};

	if (r->command)
		add_comment(p, r->command);
	for (size_t i = 0; i < report->remarks.n; i++)
		add_comment(p, report_text(report, report->remarks.at[i]));
	if (report->has_notes) {
		render_notes(&notes, &report->notes);
		add_comment(p, buf_text(&notes));
	}
	if (p->packed.len)
		protobuf_message(&p->out, PROFILE_COMMENT, &p->packed);
}

/* The last part: its numbers are known when all others have been written. */
static void add_strings(struct pprof *p)
{
	protobuf_bytes(&p->out, PROFILE_STRING, "", 0);
	for (uint32_t i = 1; i < p->strings.texts.n; i++) {
		const char *text = intern_get(&p->strings, i);

		escape_file_text(&p->part, text, strlen(text));
		protobuf_message(&p->out, PROFILE_STRING, &p->part);
	}
}

static int add_profile(
	struct pprof *p, const struct attar_renderer *r, const struct attar_report *report)
{
	int e = 0;

	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE)
			add_type(p, *it);
	if (!p->types)
		return render_no_stacks(r, report);
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE && e == 0) {
			e = add_tree(p, *it);
			p->type++;
		}
	protobuf_number(
		&p->out, PROFILE_TIME, report->time - MIN(report->interval_ns, report->time));
	protobuf_number(&p->out, PROFILE_DURATION, report->interval_ns);
	add_comments(p, r, report);
	add_strings(p);
	return e < 0 ? e : p->error || buf_failed(&p->out) ? base_oom() : 0;
}

static int pprof_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct pprof p _cleanup_(pprof_done) = {0};
	int e = add_profile(&p, r, report);

	return e < 0 ? e : gzip(&r->out, p.out.data, p.out.len, GZIP_FAST);
}

const struct render_format render_pprof = {
	.sink = {.name = "pprof",
		.extension = "pb.gz",
		.media_type = "application/gzip",
		.sections = RENDER_TREES,
		.whole_run = true,
		.has_notes = true,
		.wants_trees = true,
		.is_binary = true},
	.draw = pprof_draw,
};
