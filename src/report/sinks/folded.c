/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, one per line: "root;caller;leaf 23", the input format of flame graph tools, with
 * their suffixes: _[k] kernel, _[i] inlined, _[j] JIT-compiled. Each stack is one line, of all
 * threads with that name.
 */
#include "report/sinks/render.h"

#include "base/escape.h"
#include "report/model/tree.h"
#include "report/model/tree_merge.h"

/* The frames from the root to a node, as text with the length at each depth. */
struct path {
	struct buf text;
	VEC(size_t) ends;
};

static void path_done(struct path *p)
{
	buf_done(&p->text);
	vec_done(&p->ends);
}

static void add_frame(struct buf *b, const char *name, const char *mark)
{
	size_t start = b->len;

	escape_folded(b, name, strlen(name));
	if (b->len == start)
		buf_str(b, "[unknown]");
	buf_str(b, mark);
}

/* Truncates the path to `depth` frames and adds one. */
static int path_add(
	struct path *p, uint32_t depth, const struct attar_section *s, const struct tree_node *node)
{
	p->ends.n = depth;
	p->text.len = depth ? p->ends.at[depth - 1] : 0;
	if (depth)
		buf_char(&p->text, ';');
	add_frame(&p->text, section_text(s, node->name), tree_suffix(node->kind));
	if (buf_failed(&p->text) || vec_push(&p->ends, p->text.len) < 0)
		return base_oom();
	return 0;
}

/* "2026-11-21;06:28:31;" before each stack of a report that has a time. */
static void time_frames(struct attar_renderer *r, const struct attar_report *report, struct buf *b)
{
	if (!r->opts.time_frames || !report->time)
		return;
	render_time(b, report, ';');
	buf_char(b, ';');
}

static int draw_tree(struct attar_renderer *r, const struct attar_section *tree, const char *before)
{
	struct tree_merge merged _cleanup_(tree_merge_done) = {0};
	struct attar_section *s = &merged.tree;
	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
	struct path path _cleanup_(path_done) = {0};
	uint32_t n, depth;
	int error = tree_merge(&merged, tree, TREE_MERGE_FOLDED);

	if (error == 0)
		error = tree_walk_init(&walk, s);
	while (error == 0 && tree_walk_next(&walk, &n, &depth)) {
		const struct tree_node *node = &s->nodes.at[n];

		error = path_add(&path, depth, s, node);
		if (error < 0 || !node->self)
			continue;
		buf_str(&r->out, before);
		buf_add(&r->out, path.text.data, path.text.len);
		buf_char(&r->out, ' ');
		buf_u64(&r->out, node->self);
		buf_char(&r->out, '\n');
		render_spill(r);
	}
	return walk.failed ? base_oom() : error;
}

static int folded_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf before _cleanup_(buf_done) = {0};
	size_t trees = 0;
	int n = 0;

	time_frames(r, report, &before);
	report_each_section (report, it) {
		if ((*it)->kind != ATTAR_SECTION_TREE)
			continue;
		trees++;
		n = draw_tree(r, *it, buf_text(&before));
		if (n < 0)
			return n;
	}
	if (!trees)
		return render_no_stacks(r, report);
	render_log_notes(r, report);
	return 0;
}

const struct render_format render_folded = {
	.sink = {.name = "folded",
		.extension = "folded",
		.media_type = "text/plain; charset=utf-8",
		.sections = RENDER_TREES,
		.wants_trees = true},
	.draw = folded_draw,
};
