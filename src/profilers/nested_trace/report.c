/* SPDX-License-Identifier: MIT */
/* nested-trace: the report, as a tree of calls or as a table of functions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/report.h"
#include "lib/keys.h"
#include "nested_trace/nested_trace.h"

void nested_trace_indent(char text[NESTED_TEXT_BYTES], uint32_t depth, const char *name)
{
	snprintf(text, NESTED_TEXT_BYTES, "%*s%s%s", depth ? (int)(2 * depth - 2) : 0, "",
		depth ? "|-" : "", name);
}

/* What a node of the tree is in a report. Parents have smaller numbers than their children. */
struct item {
	struct attar_keyrow *row;      /* NULL: evicted */
	uint32_t first_child, sibling; /* numbers; 0: none */
	bool shown;                    /* it or a call within it occurred */
};

struct listing {
	struct attar_run *run;
	const struct nested_trace *t;
	enum attar_scope scope;
	struct item *items; /* by number; [0] is above the first calls */
	struct attar_section *table, *tree;
};

static void get_key(const struct attar_keyrow *row, struct nested_node_key *ret_key)
{
	memcpy(ret_key, row->key, sizeof(*ret_key));
}

static void print_key(const struct listing *l, const struct attar_expr *key,
	const struct attar_keyrow *row, char text[NAME_BYTES * 2])
{
	struct attar_expr_value value;

	attar_expr_key_value(key, row->key, row->key_size, 0, &value);
	keys_print(l->run, l->t->printkey, value.number, text, NAME_BYTES * 2);
}

static void name_of(
	const struct listing *l, const struct nested_node_key *key, char text[NAME_BYTES * 2])
{
	const struct attar_keyrow *row = NULL;

	text[0] = '\0';
	if (key->function != UINT32_MAX) {
		snprintf(text, NAME_BYTES * 2, "%s",
			nested_trace_function(l->t, key->function, false));
		return;
	}
	while ((row = attar_keytable_next(l->t->open, row))) {
		const struct nested_open_calls *open = row->value;
		const struct nested_event *e = by_source_at(&l->t->events, 0);

		if (open->number != key->root)
			continue;
		if (l->t->printkey)
			print_key(l, e->key, row, text);
		else if (e->key)
			attar_expr_key_format(
				e->key, row->key, row->key_size, text, NAME_BYTES * 2);
		else if (l->t->by_thread)
			snprintf(text, NAME_BYTES * 2, "%s (%" PRId64 ")", open->comm, open->tid);
		else
			snprintf(text, NAME_BYTES * 2, "CPU %" PRId64, open->tid);
	}
}

static void add_row(const struct listing *l, const struct attar_keyrow *row,
	const struct nested_node_key *key, uint32_t depth)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, l->scope);
	char name[NAME_BYTES * 2], text[NESTED_TEXT_BYTES];

	name_of(l, key, name);
	nested_trace_indent(text, depth, name);
	attar_section_row(l->table);
	attar_cell_u64(l->table, depth);
	attar_cell_text(l->table, text);
	if (key->function == UINT32_MAX)
		return;
	if (l->t->impl == IMPL_CALL || nested_accompanies(key->function)) {
		attar_cell_u64(l->table, sums->sums[SUM_CALLS]);
		return;
	}
	attar_cell_hist(l->table, &sums->hists[0]);
	attar_cell_u64(l->table, sums->sums[SUM_SELF]);
	if (l->t->than)
		attar_cell_u64(l->table, sums->sums[SUM_THAN]);
}

static uint32_t add_tree_node(const struct listing *l, const struct attar_keyrow *row,
	const struct nested_node_key *key, uint32_t parent)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, l->scope);
	char name[NAME_BYTES * 2];

	if (!l->tree || (l->t->impl != IMPL_CALL && nested_accompanies(key->function)))
		return 0;
	name_of(l, key, name);
	return attar_tree_node(l->tree, parent,
		key->function == UINT32_MAX ? ATTAR_FRAME_TASK : ATTAR_FRAME_USER, name, NULL,
		l->t->impl == IMPL_CALL ? sums->sums[SUM_CALLS] : sums->sums[SUM_SELF]);
}

/* Children are prepended from the last to the first, so that they are in order of their numbers. */
static void link_items(const struct listing *l)
{
	struct nested_node_key key;

	for (uint32_t i = l->t->n_nodes; i; i--) {
		struct item *item = &l->items[i];

		if (!item->row)
			continue;
		get_key(item->row, &key);
		item->shown |= attar_keyrow_sums(item->row, l->scope)->sums[SUM_CALLS] > 0;
		item->sibling = l->items[key.parent].first_child;
		l->items[key.parent].first_child = i;
		l->items[key.parent].shown |= item->shown;
	}
}

/* Depth first; nodes are at most DEPTH_MAX + 1 deep. */
static void add_children(
	const struct listing *l, uint32_t parent, uint32_t tree_parent, uint32_t depth)
{
	struct nested_node_key key;

	for (uint32_t i = l->items[parent].first_child; i; i = l->items[i].sibling) {
		if (!l->items[i].shown)
			continue;
		get_key(l->items[i].row, &key);
		add_row(l, l->items[i].row, &key, depth);
		add_children(l, i, add_tree_node(l, l->items[i].row, &key, tree_parent), depth + 1);
	}
}

static void add_call_columns(const struct nested_trace *t, struct attar_section *table)
{
	if (t->impl != IMPL_DELAY)
		attar_section_column(table, "depth", ATTAR_UNIT_ID);
	attar_section_column(table, "call", ATTAR_UNIT_TEXT);
	if (t->impl == IMPL_CALL) {
		attar_section_column(table, "count", ATTAR_UNIT_COUNT);
		return;
	}
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
	attar_section_column(table, "self", ATTAR_UNIT_NS);
	if (t->than)
		attar_section_column(table, "than", ATTAR_UNIT_COUNT);
}

/* --impl delay: calls of a function from anywhere are one row. */
static int add_functions(
	const struct nested_trace *t, struct attar_section *table, enum attar_scope scope)
{
	uint32_t n = t->n_asked / 2;
	struct attar_hist *hists = calloc(n, sizeof(*hists));
	uint64_t(*sums)[SUMS] = calloc(n, sizeof(*sums));
	const struct attar_keyrow *row = NULL;
	struct nested_node_key key;
	int r = hists && sums ? 0 : -ENOMEM;

	while (r == 0 && (row = attar_keytable_next(t->nodes, row))) {
		const struct attar_keysums *of = attar_keyrow_sums(row, scope);

		get_key(row, &key);
		if (key.function >= n) /* not a function */
			continue;
		r = attar_hist_merge(&hists[key.function], &of->hists[0]);
		for (int i = 0; i < SUMS; i++)
			sums[key.function][i] += of->sums[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (r == 0 && hists[i].count) {
			attar_section_row(table);
			attar_cell_text(table, nested_trace_function(t, i, false));
			attar_cell_hist(table, &hists[i]);
			attar_cell_u64(table, sums[i][SUM_SELF]);
			if (t->than)
				attar_cell_u64(table, sums[i][SUM_THAN]);
		}
		attar_hist_done(&hists[i]);
	}
	free(hists);
	free(sums);
	return r;
}

static int add_tree(struct attar_run *run, const struct nested_trace *t,
	struct attar_report *report, struct attar_section *table, enum attar_scope scope)
{
	struct listing l = {.run = run, .t = t, .scope = scope, .table = table};
	struct attar_keyrow *row = NULL;

	l.items = calloc(t->n_nodes + 1, sizeof(*l.items));
	if (!l.items)
		return -ENOMEM;
	while ((row = attar_keytable_next(t->nodes, row)))
		l.items[((const struct nested_node *)row->value)->number].row = row;
	link_items(&l);
	if (attar_run_wants(run, ATTAR_WANT_TREE)) {
		l.tree = attar_report_tree(
			report, "stacks", t->impl == IMPL_CALL ? ATTAR_UNIT_COUNT : ATTAR_UNIT_NS);
		section_for_trees(l.tree);
	}
	add_children(&l, 0, ATTAR_TREE_ROOT, 0);
	free(l.items);
	return 0;
}

static void remark(struct attar_report *report, uint64_t n, const char *one, const char *many)
{
	if (n)
		attar_report_remark(report, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

static uint64_t count_open(const struct nested_trace *t)
{
	struct attar_keyrow *row = NULL;
	uint64_t n = 0;

	while ((row = attar_keytable_next(t->open, row)))
		n += ((const struct nested_open_calls *)row->value)->depth;
	return n;
}

int nested_trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct nested_trace *t = self;
	struct attar_section *table = attar_report_table(report, "calls");
	int r = attar_keytable_end_interval(t->nodes);

	add_call_columns(t, table);
	if (r == 0 && t->impl == IMPL_DELAY)
		r = add_functions(t, table, scope);
	else if (r == 0)
		r = add_tree(run, t, report, table, scope);
	remark(report, count_open(t), "call has not returned yet", "calls have not returned yet");
	remark(report, t->uncalled, "exit has no entry: it was before the start, or missed",
		"exits have no entry: it was before the start, or missed");
	remark(report, t->unreturned, "call has no exit: its caller has returned",
		"calls have no exit: their callers have returned");
	remark(report, t->exited, "call has no exit: its thread has exited",
		"calls have no exit: their threads have exited");
	remark(report, t->deep, "entry was ignored: more than 64 calls were nested",
		"entries were ignored: more than 64 calls were nested");
	remark(report, t->lost, "call was dropped, because events were lost meanwhile",
		"calls were dropped, because events were lost meanwhile");
	attar_report_evicted(report, t->open, "keys");
	attar_report_evicted(report, t->nodes, "calls");
	return r;
}
