/* SPDX-License-Identifier: MIT */
/*
 * Profiles for speedscope (speedscope.app/file-format-schema.json): a list of frames, and for each
 * tree of the report a profile of its stacks, outermost frame first, with their weights. The
 * heaviest stacks come first; they have no times.
 */
#include "report/sinks/render.h"

#include "base/escape.h"
#include "base/map.h"
#include "report/model/tree.h"

struct frames {
	struct map numbers; /* hash of name, file and line -> number */
	VEC(uint32_t) of;   /* of each node of all trees, one tree after the other */
};

static void frames_done(struct frames *f)
{
	map_done(&f->numbers);
	vec_done(&f->of);
}

/* A node's function; its file is the source file, or else the binary. */
static void add_frame(struct buf *b, const struct attar_section *tree, const struct tree_node *node,
	const struct tree_source *source)
{
	const char *name = section_text(tree, source ? source->function : node->name);
	uint32_t file = source && source->file ? source->file : node->module;

	buf_str(b, "{\"name\":");
	escape_json_text(b, *name ? name : "[unknown]");
	if (file) {
		buf_str(b, ",\"file\":");
		escape_json_text(b, section_text(tree, file));
	}
	if (source && source->line)
		buf_printf(b, ",\"line\":%u", source->line);
	buf_char(b, '}');
}

/* Numbers the frames of a tree; a new one is appended to the list. */
static int number_frames(struct frames *f, struct attar_section *tree, struct buf *b)
{
	size_t at = 0;

	for (uint32_t i = 0; i < tree->nodes.n; i++) {
		const struct tree_node *node = &tree->nodes.at[i];
		const struct tree_source *source = tree_source_of(tree, i, &at);
		uint64_t key = base_hash64(node->name), *known;

		key = base_hash64(key ^ node->module);
		key = base_hash64(key ^ (source ? (uint64_t)source->file << 32 | source->line : 0));
		known = map_get(&f->numbers, key);
		if (!known) {
			buf_str(b, f->numbers.n ? "," : "");
			add_frame(b, tree, node, source);
		}
		if (vec_push(&f->of, (uint32_t)(known ? *known : f->numbers.n)) < 0 ||
			(!known && map_put(&f->numbers, key, f->numbers.n) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* numbers: of the frames of the tree's nodes. path: room for the deepest stack. */
static void add_stack(struct attar_renderer *r, const struct attar_section *tree,
	const uint32_t *numbers, uint32_t leaf, uint32_t *path)
{
	const char *comma = "[";
	size_t depth = 0;

	for (uint32_t n = leaf; n != ATTAR_TREE_ROOT; n = tree->nodes.at[n].parent)
		path[depth++] = numbers[n];
	while (depth-- > 0) {
		buf_str(&r->out, comma);
		buf_u64(&r->out, path[depth]);
		comma = ",";
	}
	buf_char(&r->out, ']');
	render_spill(r);
}

static const char *unit_of(enum attar_unit unit)
{
	return unit == ATTAR_UNIT_NS ? "nanoseconds" : unit == ATTAR_UNIT_BYTES ? "bytes" : "none";
}

/* The nodes with a self weight in the order of a walk: the heaviest first. */
static int list_leaves(struct attar_section *tree, uint32_t *leaves, size_t *ret_n, size_t *ret_max)
{
	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
	uint32_t node, depth;
	int e = tree_walk_init(&walk, tree);

	*ret_n = *ret_max = 0;
	while (e == 0 && tree_walk_next(&walk, &node, &depth)) {
		*ret_max = MAX(*ret_max, (size_t)depth + 1);
		if (tree->nodes.at[node].self)
			leaves[(*ret_n)++] = node;
	}
	return walk.failed ? -ENOMEM : e;
}

static void add_profile_head(struct attar_renderer *r, const struct attar_section *tree)
{
	buf_str(&r->out, "{\"type\":\"sampled\",\"name\":");
	escape_json_text(&r->out, section_text(tree, tree->weight ? tree->weight : tree->name));
	buf_printf(&r->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"samples\":[",
		unit_of(tree->unit), (unsigned long long)tree->whole);
}

static int add_profile(
	struct attar_renderer *r, struct attar_section *tree, const uint32_t *numbers)
{
	uint32_t *leaves = calloc(tree->nodes.n + 1, sizeof(*leaves)), *path = NULL;
	size_t n, deepest;
	int e = leaves ? list_leaves(tree, leaves, &n, &deepest) : -ENOMEM;

	if (e == 0 && !(path = calloc(deepest + 1, sizeof(*path))))
		e = -ENOMEM;
	if (e == 0) {
		add_profile_head(r, tree);
		for (size_t i = 0; i < n; i++) {
			buf_str(&r->out, i ? "," : "");
			add_stack(r, tree, numbers, leaves[i], path);
		}
		buf_str(&r->out, "],\"weights\":[");
		for (size_t i = 0; i < n; i++) {
			buf_str(&r->out, i ? "," : "");
			buf_u64(&r->out, tree->nodes.at[leaves[i]].self);
			render_spill(r);
		}
		buf_str(&r->out, "]}");
	}
	free(leaves);
	free(path);
	return e < 0 ? base_oom() : 0;
}

static int add_profiles(
	struct attar_renderer *r, const struct attar_report *report, const struct frames *frames)
{
	const uint32_t *numbers = frames->of.at;
	const char *comma = "";
	int e = 0;

	report_each_section (report, it) {
		if ((*it)->kind != ATTAR_SECTION_TREE || e < 0)
			continue;
		buf_str(&r->out, comma);
		e = add_profile(r, *it, numbers);
		numbers += (*it)->nodes.n;
		comma = ",";
	}
	return e;
}

static int speedscope_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct frames frames _cleanup_(frames_done) = {0};
	size_t trees = 0;
	int e = 0;

	buf_str(&r->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			 "\"shared\":{\"frames\":[");
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE && e == 0) {
			trees++;
			e = number_frames(&frames, *it, &r->out);
		}
	if (e < 0)
		return base_oom();
	if (!trees) {
		buf_reset(&r->out);
		return render_no_stacks(r, report);
	}
	buf_str(&r->out, "]},\"profiles\":[");
	e = add_profiles(r, report, &frames);
	buf_str(&r->out, "],\"exporter\":\"attar " ATTAR_VERSION "\",\"name\":");
	escape_json_text(&r->out, r->command ? r->command : report_text(report, report->profiler));
	buf_str(&r->out, "}\n");
	render_log_notes(r, report);
	return e;
}

const struct render_format render_speedscope = {
	.sink = {.name = "speedscope",
		.extension = "speedscope.json",
		.media_type = "application/json",
		.sections = RENDER_TREES,
		.whole_run = true,
		.wants_trees = true},
	.draw = speedscope_draw,
};
