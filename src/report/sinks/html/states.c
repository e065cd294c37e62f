/* SPDX-License-Identifier: MIT */
/*
 * The states of threads, packed as the tree is (html_tree.c):
 *
 *	{"name", "length",                                       ns
 *	 "names": ["running", ...],                              of states
 *	 "threads": [[pid, tid, comm, number of pieces], ...],   pid and tid null: a CPU
 *	 "wakers": [[comm, pid, tid, "f < g"], ...],             pid and tid null: no thread
 *	 "resolution", "merged",            see struct state_pieces
 *	 "threadsLeftOut", "statesLeftOut",
 *	 "pieces"}                          the pieces of all threads (numbers)
 *
 * A piece begins with the time since the end of the one before (of a thread's first piece: since
 * the start of the time line) and its length, both in ns. Then one state is 2 * its name + 1, the
 * number of its CPU + 1, of its stack's node in the first tree + 1, and of its waker + 1; each may
 * be 0: unknown. Several states are 2 * the number of their names, how many they are, and for each
 * name the name and its time.
 */
#include "report/sinks/html/html.h"

#include "report/model/state_pieces.h"
#include "report/model/tree.h"

enum { THREADS_MAX = 500, PIECES_MAX = 50000 };

struct states {
	struct attar_renderer *r;
	struct state_pieces pieces;
	VEC(uint32_t) nodes; /* of the page, by the nodes of the tree */
	struct intern names, wakers;
	VEC(const struct span_row *) waker_rows; /* by number: a row with this waker */
	VEC(uint64_t) sums;                      /* ns by name, of the present piece */
	bool failed;
};

static void states_done(struct states *s)
{
	state_pieces_done(&s->pieces);
	vec_done(&s->nodes);
	intern_done(&s->names);
	intern_done(&s->wakers);
	vec_done(&s->waker_rows);
	vec_done(&s->sums);
}

/* The page numbers nodes in the order of the walk. */
static int number_nodes(struct states *s, struct attar_section *tree)
{
	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
	uint32_t node, depth, number = 0;
	int r;

	if (!tree)
		return 0;
	r = tree_walk_init(&walk, tree);
	if (r < 0 || vec_reserve(&s->nodes, tree->nodes.n) < 0)
		return -ENOMEM;
	while (tree_walk_next(&walk, &node, &depth))
		s->nodes.at[node] = number++;
	s->nodes.n = tree->nodes.n;
	return walk.failed ? -ENOMEM : 0;
}

/* ---- pieces ---- */

/* Numbers of names are from 1 on: see intern_id(). */
static uint32_t name_of(struct states *s, const struct span_row *row)
{
	uint32_t id = 0;

	s->failed |= intern_id(&s->names, row->name, &id) < 0;
	while (!s->failed && s->sums.n <= id)
		s->failed |= vec_push(&s->sums, 0) < 0;
	return id;
}

/* From 1 on; 0: none. */
static uint32_t waker_of(struct states *s, const struct span_row *row)
{
	struct buf key _cleanup_(buf_done) = {0};
	uint32_t id = 0;

	if (!*row->waker)
		return 0;
	buf_printf(
		&key, "%u %u %s\n%s", row->waker_pid, row->waker_tid, row->waker, row->waker_stack);
	s->failed |= key.failed || intern_id(&s->wakers, buf_text(&key), &id) < 0;
	if (id > s->waker_rows.n)
		s->failed |= vec_push(&s->waker_rows, row) < 0;
	return id;
}

static void add_state(struct states *s, const struct span_row *row)
{
	struct buf *b = &s->r->out;
	bool has_node = row->has_node && row->node < s->nodes.n;

	html_number(b, 2 * (uint64_t)(name_of(s, row) - 1) + 1);
	html_number(b, (uint64_t)(row->cpu + 1));
	html_number(b, has_node ? s->nodes.at[row->node] + 1 : 0);
	html_number(b, waker_of(s, row));
}

static void add_states(struct states *s, const struct span_row *rows, size_t n)
{
	struct buf *b = &s->r->out;
	size_t used = 0;

	for (size_t i = 0; i < s->sums.n; i++)
		s->sums.at[i] = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t name = name_of(s, &rows[i]);

		if (s->failed)
			return;
		s->sums.at[name] += rows[i].duration;
	}
	for (size_t i = 0; i < s->sums.n; i++)
		used += s->sums.at[i] > 0;
	html_number(b, 2 * used);
	html_number(b, n);
	for (size_t i = 0; i < s->sums.n; i++) {
		if (!s->sums.at[i])
			continue;
		html_number(b, i - 1);
		html_number(b, s->sums.at[i]);
	}
}

static void add_pieces(struct states *s)
{
	struct buf *b = &s->r->out;
	uint64_t end = 0;

	buf_str(b, ",\n\"pieces\":\"");
	for (size_t i = 0; i < s->pieces.all.n && !s->failed; i++) {
		const struct state_piece *piece = &s->pieces.all.at[i];
		const struct span_row *first = &s->pieces.rows.at[piece->first];
		const struct span_row *last = first + piece->n - 1;

		if (!piece->first || first[-1].track != first->track)
			end = s->pieces.begin;
		html_number(b, first->time - MIN(end, first->time));
		end = last->time + last->duration;
		html_number(b, end - first->time);
		if (piece->n == 1)
			add_state(s, first);
		else
			add_states(s, first, piece->n);
		render_spill(s->r);
	}
	buf_char(b, '"');
}

/* ---- threads, names and wakers ---- */

static void add_thread(struct states *s, const struct span_row *row, size_t pieces)
{
	struct buf *b = &s->r->out;

	if (row->has_thread)
		buf_printf(b, "[%u,%u,", row->pid, row->tid);
	else
		buf_str(b, "[null,null,");
	html_string(b, row->thread);
	buf_printf(b, ",%zu]", pieces);
}

static void add_threads(struct states *s)
{
	const struct state_pieces *p = &s->pieces;

	for (size_t i = 0, begin = 0; i < p->all.n; i++) {
		const struct span_row *row = &p->rows.at[p->all.at[i].first];

		if (i + 1 < p->all.n && p->rows.at[p->all.at[i + 1].first].track == row->track)
			continue;
		buf_str(&s->r->out, begin ? "," : "");
		add_thread(s, row, i + 1 - begin);
		begin = i + 1;
	}
}

static void add_names(struct states *s)
{
	for (uint32_t id = 1; id < s->sums.n; id++) {
		buf_str(&s->r->out, id > 1 ? "," : "");
		html_string(&s->r->out, intern_get(&s->names, id));
	}
}

static void add_wakers(struct states *s)
{
	struct buf *b = &s->r->out;

	for (size_t i = 0; i < s->waker_rows.n; i++) {
		const struct span_row *row = s->waker_rows.at[i];

		buf_str(b, i ? ",[" : "[");
		html_string(b, row->waker);
		if (row->waker_tid)
			buf_printf(b, ",%u,%u,", row->waker_pid, row->waker_tid);
		else
			buf_str(b, ",null,null,");
		html_string(b, row->waker_stack);
		buf_char(b, ']');
		render_spill(s->r);
	}
}

int html_states(
	struct attar_renderer *r, const struct attar_section *section, struct attar_section *tree)
{
	struct states s _cleanup_(states_done) = {.r = r};
	struct state_pieces *p = &s.pieces;
	struct buf *b = &r->out;

	if (state_pieces_init(p, section, THREADS_MAX, PIECES_MAX) < 0 ||
		number_nodes(&s, tree) < 0)
		return base_oom();
	buf_str(b, "{\"name\":");
	html_string(b, section_text(section, section->name));
	buf_printf(b,
		",\"length\":%llu,\"resolution\":%llu,\"merged\":%zu,\"threadsLeftOut\":%zu,"
		"\"statesLeftOut\":%zu,\"threads\":[",
		(unsigned long long)(p->end - p->begin), (unsigned long long)p->resolution,
		p->merged, p->threads_left_out, p->states_left_out);
	add_threads(&s);
	buf_char(b, ']');
	add_pieces(&s);
	buf_str(b, ",\n\"names\":[");
	add_names(&s);
	buf_str(b, "],\"wakers\":[");
	add_wakers(&s);
	buf_str(b, "]}");
	return s.failed ? base_oom() : 0;
}
