/* SPDX-License-Identifier: MIT */
/*
 * A call tree as text, the heaviest stacks first:
 *
 *	100.00%  split
 *	         main (split)
 *	 70.00%  +- hot
 *	         |  spin
 *	 29.50%  +- cold
 *
 * A node without visible siblings is shown directly below its parent; where the tree branches, each
 * branch is indented. A percentage is shown where it changes. Threads or processes with the same
 * name are one node, with their number.
 */
#include "report/sinks/text/text.h"

#include <math.h>

#include "base/escape.h"
#include "report/model/number.h"
#include "report/model/tree.h"
#include "report/model/tree_merge.h"

/* Siblings being drawn: children[at] to children[shown - 1] are visible. */
struct level {
	uint32_t at, shown, end;
	uint32_t parent;
	uint32_t guide; /* bytes of the guides in front of them */
	bool fork;
	uint64_t rest; /* total weight of the hidden ones; 0: below the cut-off */
};

/* The tasks that a node stands for. */
struct members {
	uint32_t n;
	bool has_threads; /* they are not all processes */
};

struct drawing {
	struct attar_renderer *r;
	struct attar_section *s;
	struct tree_order order;
	VEC(struct members) members; /* of each node */
	VEC(struct level) levels;
	struct buf guides; /* "|  " or spaces for each branch above */
	struct buf line;
	uint64_t cutoff; /* as a weight: nodes below are not drawn */
	uint64_t least;  /* minimum weight of drawn nodes; above cutoff if rows are limited */
	size_t drawn;    /* number of nodes */
	size_t most;     /* maximum number of nodes */
	uint32_t widest; /* maximum bytes of guides */
};

static void drawing_done(struct drawing *d)
{
	tree_order_done(&d->order);
	vec_done(&d->members);
	vec_done(&d->levels);
	buf_done(&d->guides);
	buf_done(&d->line);
}

static struct tree_node *node_of(struct drawing *d, uint32_t n)
{
	return &d->s->nodes.at[n];
}

static int count_members(
	struct drawing *d, const struct attar_section *section, const struct tree_merge *merged)
{
	for (size_t i = 0; i < d->s->nodes.n; i++)
		if (vec_push(&d->members, (struct members){0}) < 0)
			return base_oom();
	vec_each (&section->tasks, task) {
		struct members *m = &d->members.at[merged->of.at[task->node]];

		m->n++;
		m->has_threads |= task->tid != 0;
	}
	return 0;
}

static int falling(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/*
 * Sets the minimum total so that at most max_rows nodes remain; no parent weighs less than its
 * children.
 */
static int limit_rows(struct drawing *d)
{
	size_t n = d->s->nodes.n, most = d->r->opts.max_rows;
	uint64_t *totals _cleanup_free_ = NULL;

	d->most = most ? most : SIZE_MAX;
	if (!most || n <= most)
		return 0;
	totals = malloc(n * sizeof(*totals));
	if (!totals)
		return base_oom();
	for (size_t i = 0; i < n; i++)
		totals[i] = d->s->nodes.at[i].total;
	qsort(totals, n, sizeof(*totals), falling);
	d->least = MAX(d->least, totals[most - 1]);
	return 0;
}

/* The share as a percentage in 7 columns; empty if not `shown`. */
static void add_share(struct drawing *d, unsigned *used, uint64_t weight, bool shown)
{
	double percent = 100 * tree_share(d->s, weight);
	struct text_field field = {.width = 7, .right = true, .style = text_heat(percent)};

	buf_reset(&d->line);
	if (shown)
		buf_printf(&d->line, "%.2f%%", percent);
	text_add_field(d->r, used, &field, buf_text(&d->line));
	text_add(d->r, used, TEXT_PLAIN, "  ");
}

static void add_guides(struct drawing *d, unsigned *used, const struct level *level)
{
	buf_reset(&d->line);
	buf_add(&d->line, buf_text(&d->guides), level->guide);
	if (level->fork)
		buf_str(&d->line, "+- ");
	text_add(d->r, used, TEXT_DIM, buf_text(&d->line));
}

static void add_escaped(struct drawing *d, unsigned *used, enum text_style style,
	const char *before, const char *text, const char *behind)
{
	buf_reset(&d->line);
	buf_str(&d->line, before);
	escape_text(&d->line, text, strlen(text));
	buf_str(&d->line, behind);
	text_add(d->r, used, style, buf_text(&d->line));
}

/* The last part of a path. */
static const char *file_name(const char *path)
{
	const char *slash = *path == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* The module if it differs from the caller's, and the self share of a node with children. */
static void add_remarks(struct drawing *d, unsigned *used, const struct level *level, uint32_t n)
{
	const struct tree_node *node = node_of(d, n);
	uint32_t above = level->parent == ATTAR_TREE_ROOT ? 0 : node_of(d, level->parent)->module;

	if (node->module && node->module != above)
		add_escaped(
			d, used, TEXT_DIM, " (", file_name(section_text(d->s, node->module)), ")");
	if (node->kind == ATTAR_FRAME_INLINED)
		text_add(d->r, used, TEXT_DIM, " (inlined)");
	if (node->self < node->total && node->self && node->self >= d->cutoff) {
		buf_reset(&d->line);
		buf_printf(&d->line, ", self %.2f%%", 100 * tree_share(d->s, node->self));
		text_add(d->r, used, TEXT_DIM, buf_text(&d->line));
	}
}

/* How many threads or processes with the name it is. */
static void add_members(struct drawing *d, unsigned *used, uint32_t n)
{
	const struct members *m = &d->members.at[n];

	if (m->n < 2)
		return;
	buf_reset(&d->line);
	buf_str(&d->line, " (");
	buf_grouped(&d->line, m->n);
	buf_str(&d->line, m->has_threads ? " threads)" : " processes)");
	text_add(d->r, used, TEXT_DIM, buf_text(&d->line));
}

static void end_line(struct drawing *d)
{
	struct buf *b = &d->r->out;

	while (b->len && b->data[b->len - 1] == ' ')
		b->data[--b->len] = '\0';
	buf_char(b, '\n');
	render_spill(d->r);
}

static void draw_node(struct drawing *d, const struct level *level, uint32_t n)
{
	const struct tree_node *node = node_of(d, n);
	bool same = level->parent != ATTAR_TREE_ROOT && !level->fork &&
		    node_of(d, level->parent)->total == node->total;
	unsigned used = 0;

	add_share(d, &used, node->total, !same);
	add_guides(d, &used, level);
	add_escaped(d, &used, TEXT_PLAIN, "", section_text(d->s, node->name), "");
	add_members(d, &used, n);
	add_remarks(d, &used, level, n);
	end_line(d);
	d->drawn++;
}

/* A line for the hidden siblings. */
static void draw_rest(struct drawing *d, const struct level *level)
{
	unsigned used = 0;

	if (!level->rest)
		return;
	add_share(d, &used, level->rest, true);
	add_guides(d, &used, level);
	buf_reset(&d->line);
	buf_char(&d->line, '(');
	buf_grouped(&d->line, level->end - level->shown);
	buf_printf(&d->line, " more below %.2f%%)", 100 * tree_share(d->s, d->least));
	text_add(d->r, &used, TEXT_DIM, buf_text(&d->line));
	end_line(d);
}

/* The guide in front of the lines below a branch. */
static void add_guide(struct drawing *d, const struct level *level)
{
	bool more = level->at < level->shown || level->rest;

	d->guides.len = level->guide;
	if (level->fork)
		buf_str(&d->guides, more ? "|  " : "   ");
}

/* Opens the children of a node; `above` is the node's level, NULL for the roots. */
static int push_level(struct drawing *d, const struct level *above, uint32_t node)
{
	struct tree_range range = tree_children(&d->order, node);
	struct level level = {range.at, range.at, range.end, node, .guide = 0};

	if (above) {
		add_guide(d, above);
		level.guide = (uint32_t)d->guides.len;
	}
	while (level.shown < level.end &&
		node_of(d, d->order.children[level.shown])->total >= d->least)
		level.shown++;
	for (uint32_t i = level.shown; i < level.end; i++)
		level.rest += node_of(d, d->order.children[i])->total;
	if (level.rest < d->cutoff)
		level.rest = 0;
	level.fork = above && level.shown - level.at + (level.rest > 0) > 1;
	return vec_push(&d->levels, level) < 0 ? base_oom() : 0;
}

/* If the indentation fills the line, prints "(deeper)" instead of the children. */
static bool too_deep(struct drawing *d, struct level *level)
{
	unsigned used = 0;

	if (level->guide <= d->widest || level->at == level->shown)
		return false;
	add_share(d, &used, 0, false);
	add_guides(d, &used, level);
	text_add(d->r, &used, TEXT_DIM, "(deeper)");
	end_line(d);
	return true;
}

static int draw_levels(struct drawing *d)
{
	int n = push_level(d, NULL, ATTAR_TREE_ROOT);

	while (n == 0 && d->levels.n) {
		struct level level, *top = &d->levels.at[d->levels.n - 1];
		uint32_t node;

		if (too_deep(d, top)) {
			d->levels.n--;
			continue;
		}
		if (top->at == top->shown || d->drawn == d->most) {
			draw_rest(d, top);
			d->levels.n--;
			continue;
		}
		node = d->order.children[top->at++];
		level = *top; /* a push moves the levels */
		draw_node(d, &level, node);
		n = push_level(d, &level, node);
	}
	return n;
}

/* A line for further frames with the same weight as the last one within max_rows. */
static void draw_more(struct drawing *d)
{
	size_t n = 0;
	unsigned used = 0;

	for (size_t i = 0; i < d->s->nodes.n; i++)
		n += d->s->nodes.at[i].total >= d->least;
	if (n <= d->drawn)
		return;
	buf_reset(&d->line);
	buf_char(&d->line, '(');
	buf_grouped(&d->line, n - d->drawn);
	buf_str(&d->line, " more frames)");
	text_add(d->r, &used, TEXT_DIM, buf_text(&d->line));
	end_line(d);
}

/* The cut-off as a weight; at least 1, so that nodes without weight are not drawn. */
static uint64_t weight_of(const struct attar_section *s)
{
	double weight = ceil(s->cutoff * (double)s->whole);

	if (!(weight >= 1))
		return 1;
	return weight < (double)s->whole ? (uint64_t)weight : s->whole;
}

/* ", 3,960 in all" */
static void draw_heading(struct drawing *d)
{
	struct attar_section *s = d->s;

	buf_str(&d->line, ", ");
	number_cell(&d->line, s->unit, (struct cell){CELL_U64, .u64 = s->whole});
	buf_str(&d->line, " in all");
	text_heading(d->r, section_text(s, s->name), buf_text(&d->line));
}

int text_tree(struct attar_renderer *r, struct attar_section *section)
{
	struct tree_merge merged _cleanup_(tree_merge_done) = {0};
	struct attar_section *s = &merged.tree;
	struct drawing d _cleanup_(drawing_done) = {.r = r, .s = s};
	unsigned columns = r->opts.columns, used = 0;
	int n = tree_merge(&merged, section, TREE_MERGE_EXACT);

	if (n == 0)
		n = tree_order_init(&d.order, s);
	if (n < 0)
		return n;
	draw_heading(&d);
	if (!s->whole) {
		text_add(r, &used, TEXT_DIM, "(nothing)");
		buf_char(&r->out, '\n');
		return 0;
	}
	d.widest = !columns ? UINT32_MAX : columns > 48 ? columns - 32 : columns / 3;
	d.cutoff = d.least = weight_of(s);
	n = limit_rows(&d);
	if (n == 0)
		n = count_members(&d, section, &merged);
	if (n == 0)
		n = draw_levels(&d);
	if (d.drawn == d.most)
		draw_more(&d);
	r->out.failed |= d.guides.failed || d.line.failed;
	return n;
}
