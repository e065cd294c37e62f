/* SPDX-License-Identifier: MIT */
/*
 * nested-trace: calls within calls. Each -e ENTRY,EXIT is a function; calls of the same key that
 * begin and end within each other are a call tree.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/keytable.h"
#include "by_source.h"
#include "heatmap.h"
#include "keys.h"

enum { DEPTH_MAX = 64, NAME_BYTES = 64, KEYS_MAX = 65536, NODES_MAX = 65536 };

/* Sums of a node. */
enum { SUM_CALLS, SUM_SELF, SUM_THAN, SUMS };

enum impl { IMPL_DELAY, IMPL_CALL, IMPL_CALL_DELAY };

static const char *const impl_names[] = {"delay", "call", "call-delay"};

/* An event of -e, with two for each function. */
struct event {
	const char *name;
	uint32_t function;
	bool is_exit;
	struct attar_expr *key; /* NULL: the thread or CPU */
};

/* A node of the tree: a function as called from another node, and with --perins by its key. */
struct node_key {
	uint32_t parent;   /* number of the node; 0: none */
	uint32_t function; /* UINT32_MAX: not a call, but the key */
	uint64_t root;     /* of a key: its number */
};

struct node {
	uint32_t number;
};

/* A call that has not returned. */
struct call {
	uint32_t function, node;
	uint64_t began, inner; /* ns; time in the calls within it */
};

/* The open calls of a key, in the block of its row. */
struct open_calls {
	uint64_t number; /* of the key; 0: new */
	uint32_t depth, root;
	int64_t tid;
	char comm[NAME_BYTES];
	struct call calls[DEPTH_MAX];
};

struct nested_trace {
	struct attar_texts texts;
	const char *key, *impl_name, *heatmap_path;
	uint64_t than;
	bool perins, detail;

	enum impl impl;
	bool by_thread; /* without a key */
	struct by_source events;
	struct attar_keytable *open, *nodes;
	uint64_t n_keys;
	uint32_t n_nodes;
	uint64_t unreturned, uncalled, deep, lost;
	struct heatmap *heatmap;
};

/* ---- events ---- */

static int learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	struct nested_trace *t = self;
	uint32_t number = t->events.n - 1;
	struct event *e = event;

	e->name = attar_run_source_name(run, source);
	if (number >= 2 * t->texts.n)
		return attar_fail(-EINVAL,
			"'%s' appeared during the run: nested-trace needs to "
			"know entry and exit before",
			e->name);
	e->function = number / 2;
	e->is_exit = number % 2;
	return keys_compile(run, source, "key", t->key, ATTAR_EXPR_KEY, &e->key);
}

static void forget(void *event)
{
	attar_expr_free(((struct event *)event)->key);
}

static const char *function_name(const struct nested_trace *t, uint32_t function, bool of_exit)
{
	return ((const struct event *)by_source_at(&t->events, 2 * function + of_exit))->name;
}

/* ---- keys ---- */

static uint64_t instance(const struct nested_trace *t, const struct attar_event *ev)
{
	if (!t->by_thread)
		return ev->cpu;
	/* each CPU has an idle thread, all with the number 0 */
	return ev->thread->tid ? ev->thread->serial : UINT64_C(1) << 63 | ev->cpu;
}

static struct attar_keyrow *find_open(
	struct nested_trace *t, const struct event *e, const struct attar_event *ev)
{
	char key[ATTAR_EXPR_KEY_MAX];
	struct attar_expr_record record;
	size_t n;

	if (!e->key)
		return attar_keytable_at_u64(t->open, instance(t, ev));
	attar_event_get_expr_record(ev, &record);
	n = attar_expr_key(e->key, &record, key, sizeof(key));
	return attar_keytable_at(t->open, key, n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX);
}

/* ---- the tree ---- */

static struct attar_keyrow *find_node(struct nested_trace *t, const struct node_key *key)
{
	struct attar_keyrow *row = attar_keytable_at(t->nodes, key, sizeof(*key));
	struct node *node = row ? row->value : NULL;

	if (node && !node->number)
		node->number = ++t->n_nodes;
	return row;
}

/* With --perins the calls of a key have a node of their own above them. */
static int begin_key(struct nested_trace *t, const struct attar_event *ev, struct open_calls *open)
{
	struct node_key key = {.function = UINT32_MAX};
	struct attar_keyrow *row;

	if (open->number)
		return 0;
	open->number = ++t->n_keys;
	open->tid = t->by_thread ? ev->thread->tid : (int64_t)ev->cpu;
	snprintf(open->comm, sizeof(open->comm), "%s", ev->thread->comm);
	if (!t->perins)
		return 0;
	key.root = open->number;
	row = find_node(t, &key);
	if (!row)
		return -ENOMEM;
	open->root = ((struct node *)row->value)->number;
	return 0;
}

static int enter(struct nested_trace *t, const struct event *e, const struct attar_event *ev,
	struct open_calls *open)
{
	struct node_key key = {.function = e->function, .parent = open->root};
	struct attar_keyrow *row;

	if (open->depth == DEPTH_MAX) {
		t->deep++;
		return 0;
	}
	if (open->depth)
		key.parent = open->calls[open->depth - 1].node;
	row = find_node(t, &key);
	if (!row)
		return -ENOMEM;
	open->calls[open->depth++] = (struct call){.function = e->function,
		.node = ((struct node *)row->value)->number,
		.began = ev->time};
	return 0;
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_column(lines, "depth", ATTAR_UNIT_ID);
	attar_section_column(lines, "call", ATTAR_UNIT_TEXT);
}

static void indent(char text[2 * DEPTH_MAX + NAME_BYTES * 2], uint32_t depth, const char *name)
{
	snprintf(text, 2 * DEPTH_MAX + NAME_BYTES * 2, "%*s%s%s", depth ? (int)(2 * depth - 2) : 0,
		"", depth ? "|-" : "", name);
}

/* --detail: a line for each call, when it returns. */
static int show(struct attar_run *run, struct nested_trace *t, const struct attar_event *ev,
	const struct call *call, uint32_t depth)
{
	struct attar_section *lines = attar_run_lines(run, "calls", columns);
	char text[2 * DEPTH_MAX + NAME_BYTES * 2];

	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, call->began));
	attar_cell_text(lines, ev->thread->comm);
	attar_cell_i64(lines, ev->thread->tid);
	attar_cell_u64(lines, ev->cpu);
	attar_cell_u64(lines, ev->time - call->began);
	attar_cell_u64(lines, depth);
	indent(text, depth, function_name(t, call->function, false));
	attar_cell_text(lines, text);
	return 0;
}

static int add_call(struct attar_run *run, struct nested_trace *t, const struct attar_event *ev,
	struct open_calls *open, const struct call *call)
{
	uint64_t duration = ev->time - call->began, *sums;
	struct node_key key = {.function = call->function, .parent = open->root};
	struct attar_keyrow *row;
	int r = 0;

	if (open->depth) {
		key.parent = open->calls[open->depth - 1].node;
		open->calls[open->depth - 1].inner += duration;
	}
	row = find_node(t, &key);
	if (!row)
		return -ENOMEM;
	sums = row->interval.sums;
	sums[SUM_CALLS]++;
	sums[SUM_SELF] += duration - call->inner;
	sums[SUM_THAN] += t->than && duration > t->than;
	if (t->detail && duration > t->than && attar_run_wants_lines(run))
		r = show(run, t, ev, call, open->depth);
	if (r == 0 && t->heatmap)
		r = heatmap_add(t->heatmap, function_name(t, call->function, false),
			function_name(t, call->function, true), ev->time, duration);
	return r < 0 ? r : attar_hist_add(&row->interval.hists[0], duration);
}

/* Calls within the one that returns have returned too, even if their exit was not seen. */
static int leave(struct attar_run *run, struct nested_trace *t, const struct event *e,
	const struct attar_event *ev, struct open_calls *open)
{
	uint32_t i = open->depth;

	while (i && open->calls[i - 1].function != e->function)
		i--;
	if (!i) {
		t->uncalled++;
		return 0;
	}
	t->unreturned += open->depth - i;
	open->depth = i - 1;
	return add_call(run, t, ev, open, &open->calls[i - 1]);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct nested_trace *t = self;
	struct attar_keyrow *row;
	struct event *e;
	int r = by_source_get(&t->events, run, self, ev->counter, &e);

	if (r < 0)
		return r;
	row = find_open(t, e, ev);
	r = row ? begin_key(t, ev, row->value) : -ENOMEM;
	if (r < 0)
		return r;
	return e->is_exit ? leave(run, t, e, ev, row->value) : enter(t, e, ev, row->value);
}

/* Entries and exits may be among the lost events. */
static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct nested_trace *t = self;
	struct attar_keyrow *row = NULL;

	while ((row = attar_keytable_next(t->open, row))) {
		t->lost += ((struct open_calls *)row->value)->depth;
		((struct open_calls *)row->value)->depth = 0;
	}
	return 0;
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct nested_trace *t = self;
	struct attar_keyrow *row;
	uint64_t key;

	if (!ev->thread || !t->by_thread || t->key)
		return 0;
	key = ev->thread->serial;
	row = attar_keytable_find(t->open, &key, sizeof(key));
	if (row) {
		t->unreturned += ((struct open_calls *)row->value)->depth;
		((struct open_calls *)row->value)->depth = 0;
	}
	return 0;
}

/* ---- reports ---- */

/* The nodes in order of their numbers: parents are before their children. */
struct listing {
	struct attar_run *run;
	const struct nested_trace *t;
	enum attar_scope scope;
	struct attar_keyrow **rows; /* by number - 1; NULL: evicted */
	struct attar_section *table, *tree;
};

static void get_key(const struct attar_keyrow *row, struct node_key *ret_key)
{
	memcpy(ret_key, row->key, sizeof(*ret_key));
}

static void name_of(const struct listing *l, const struct node_key *key, char text[NAME_BYTES * 2])
{
	const struct attar_keyrow *row = NULL;

	text[0] = '\0';
	if (key->function != UINT32_MAX) {
		snprintf(text, NAME_BYTES * 2, "%s", function_name(l->t, key->function, false));
		return;
	}
	while ((row = attar_keytable_next(l->t->open, row))) {
		const struct open_calls *open = row->value;
		const struct event *e = by_source_at(&l->t->events, 0);

		if (open->number != key->root)
			continue;
		if (e->key)
			attar_expr_key_format(
				e->key, row->key, row->key_size, text, NAME_BYTES * 2);
		else if (l->t->by_thread)
			snprintf(text, NAME_BYTES * 2, "%s (%" PRId64 ")", open->comm, open->tid);
		else
			snprintf(text, NAME_BYTES * 2, "CPU %" PRId64, open->tid);
	}
}

static void add_row(const struct listing *l, const struct attar_keyrow *row,
	const struct node_key *key, uint32_t depth)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, l->scope);
	char name[NAME_BYTES * 2], text[2 * DEPTH_MAX + NAME_BYTES * 2];

	name_of(l, key, name);
	indent(text, depth, name);
	attar_section_row(l->table);
	attar_cell_u64(l->table, depth);
	attar_cell_text(l->table, text);
	if (key->function == UINT32_MAX)
		return;
	if (l->t->impl == IMPL_CALL) {
		attar_cell_u64(l->table, sums->sums[SUM_CALLS]);
		return;
	}
	attar_cell_hist(l->table, &sums->hists[0]);
	attar_cell_u64(l->table, sums->sums[SUM_SELF]);
	if (l->t->than)
		attar_cell_u64(l->table, sums->sums[SUM_THAN]);
}

static uint32_t add_tree_node(const struct listing *l, const struct attar_keyrow *row,
	const struct node_key *key, uint32_t parent)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, l->scope);
	char name[NAME_BYTES * 2];

	if (!l->tree)
		return 0;
	name_of(l, key, name);
	return attar_tree_node(l->tree, parent,
		key->function == UINT32_MAX ? ATTAR_FRAME_TASK : ATTAR_FRAME_USER, name, NULL,
		l->t->impl == IMPL_CALL ? sums->sums[SUM_CALLS] : sums->sums[SUM_SELF]);
}

static bool is_called(const struct listing *l, const struct attar_keyrow *row)
{
	return attar_keyrow_sums(row, l->scope)->sums[SUM_CALLS];
}

/* Depth first; nodes are at most DEPTH_MAX + 1 deep. */
static bool add_nodes(const struct listing *l, uint32_t parent, uint32_t tree_parent,
	uint32_t depth, bool only_ask)
{
	struct node_key key;
	bool any = false;

	for (uint32_t i = 0; i < l->t->n_nodes; i++) {
		uint32_t node = ATTAR_TREE_ROOT;

		if (!l->rows[i])
			continue;
		get_key(l->rows[i], &key);
		if (key.parent != parent ||
			(!is_called(l, l->rows[i]) && !add_nodes(l, i + 1, 0, depth + 1, true)))
			continue;
		any = true;
		if (only_ask)
			return true;
		add_row(l, l->rows[i], &key, depth);
		node = add_tree_node(l, l->rows[i], &key, tree_parent);
		add_nodes(l, i + 1, node, depth + 1, false);
	}
	return any;
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
	uint32_t n = t->events.n / 2;
	struct attar_hist *hists = calloc(n, sizeof(*hists));
	uint64_t(*sums)[SUMS] = calloc(n, sizeof(*sums));
	const struct attar_keyrow *row = NULL;
	struct node_key key;
	int r = hists && sums ? 0 : -ENOMEM;

	while (r == 0 && (row = attar_keytable_next(t->nodes, row))) {
		const struct attar_keysums *of = attar_keyrow_sums(row, scope);

		get_key(row, &key);
		if (key.function == UINT32_MAX)
			continue;
		r = attar_hist_merge(&hists[key.function], &of->hists[0]);
		for (int i = 0; i < SUMS; i++)
			sums[key.function][i] += of->sums[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (r == 0 && hists[i].count) {
			attar_section_row(table);
			attar_cell_text(table, function_name(t, i, false));
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

	l.rows = calloc(t->n_nodes + 1, sizeof(*l.rows));
	if (!l.rows)
		return -ENOMEM;
	while ((row = attar_keytable_next(t->nodes, row)))
		l.rows[((const struct node *)row->value)->number - 1] = row;
	if (attar_run_wants_tree(run))
		l.tree = attar_report_tree(
			report, "stacks", t->impl == IMPL_CALL ? ATTAR_UNIT_COUNT : ATTAR_UNIT_NS);
	add_nodes(&l, 0, ATTAR_TREE_ROOT, 0, false);
	free(l.rows);
	return 0;
}

static void remark(struct attar_report *report, uint64_t n, const char *what)
{
	if (n)
		attar_report_remark(report, "%" PRIu64 " %s", n, what);
}

static uint64_t count_open(const struct nested_trace *t)
{
	struct attar_keyrow *row = NULL;
	uint64_t n = 0;

	while ((row = attar_keytable_next(t->open, row)))
		n += ((const struct open_calls *)row->value)->depth;
	return n;
}

static int nested_trace_report(
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
	remark(report, count_open(t), "calls have not returned yet");
	remark(report, t->uncalled, "exits have no entry: it was before the start, or not seen");
	remark(report, t->unreturned, "calls have no exit: the calls around them have returned");
	remark(report, t->deep, "entries were not followed: more than 64 calls within each other");
	remark(report, t->lost, "calls were dropped, because events were lost meanwhile");
	attar_report_evicted(report, t->open, "keys");
	attar_report_evicted(report, t->nodes, "calls");
	return r;
}

/* ---- life ---- */

static int find_impl(struct nested_trace *t)
{
	for (unsigned i = 0; i < sizeof(impl_names) / sizeof(impl_names[0]); i++)
		if (!strcmp(t->impl_name, impl_names[i])) {
			t->impl = (enum impl)i;
			return 0;
		}
	return attar_fail(
		-EINVAL, "--impl: '%s' is not one of delay, call, call-delay", t->impl_name);
}

/* Each -e has an entry and an exit. */
static int add_functions_of(struct attar_run *run, struct nested_trace *t)
{
	int r = t->texts.n ? 0
			   : attar_fail(-EINVAL, "nested-trace needs an entry and an exit: "
						 "-e irq:softirq_entry,irq:softirq_exit");

	for (size_t i = 0; r == 0 && i < t->texts.n; i++) {
		uint32_t first = attar_run_sources(run);

		r = attar_run_events(run, t->texts.at[i], false, on_event);
		if (r == 0 && attar_run_sources(run) - first != 2)
			r = attar_fail(-EINVAL,
				"-e '%s' has %u events: an entry and an exit are needed, "
				"separated by a comma",
				t->texts.at[i], attar_run_sources(run) - first);
		if (r == 0)
			r = by_source_learn(&t->events, run, t, first);
	}
	return r;
}

static int check_keys(const struct nested_trace *t)
{
	const struct event *first = by_source_at(&t->events, 0), *e;

	for (uint32_t i = 1; (e = by_source_at(&t->events, i)); i++)
		if (!keys_are_alike(first->key, e->key))
			return attar_fail(-EINVAL,
				"the keys of '%s' and '%s' have different types; set key= of each "
				"event, or -k",
				first->name, e->name);
	return 0;
}

static int nested_trace_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts open = {.size = sizeof(open),
		.sums = 1,
		.value_size = sizeof(struct open_calls),
		.key_max = ATTAR_KEY_MAX,
		.keys_max = KEYS_MAX};
	const struct attar_keytable_opts nodes = {.size = sizeof(nodes),
		.sums = SUMS,
		.hists = 1,
		.value_size = sizeof(struct node),
		.key_max = sizeof(struct node_key),
		.keys_max = NODES_MAX};
	struct nested_trace *t = self;
	int r = find_impl(t);

	t->by_thread = attar_run_target_kind(run) == ATTAR_TARGET_TASKS;
	t->events =
		(struct by_source){.size = sizeof(struct event), .learn = learn, .forget = forget};
	if (r == 0)
		r = attar_run_keep_own(run); /* an interrupt can happen in any thread */
	if (r == 0)
		r = add_functions_of(run, t);
	if (r == 0)
		r = check_keys(t);
	if (r == 0)
		r = heatmap_new(t->heatmap_path, &t->heatmap);
	if (r == 0)
		r = attar_keytable_new(&open, &t->open);
	return r < 0 ? r : attar_keytable_new(&nodes, &t->nodes);
}

static int nested_trace_ended(struct attar_run *run, void *self)
{
	return heatmap_end(((struct nested_trace *)self)->heatmap);
}

static void nested_trace_close(void *self)
{
	struct nested_trace *t = self;

	by_source_done(&t->events);
	attar_keytable_free(t->open);
	attar_keytable_free(t->nodes);
	heatmap_free(t->heatmap);
}

static void nested_trace_defaults(void *self)
{
	((struct nested_trace *)self)->impl_name = "call-delay";
}

#define T struct nested_trace

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "ENTRY,EXIT",
		"the entry and the exit of a function; repeat it for other functions; attributes: "
		"key, alias",
		.complete = "event"),
	ATTAR_TEXT(T, key, 'k', "key", "EXPR",
		"calls with the same value are within each other (default: by thread with -p, -t "
		"or a command, otherwise by CPU)"),
	ATTAR_TEXT(T, impl_name, 0, "impl", "NAME",
		"what to report: call-delay (call tree with times, default), call (call tree with "
		"counts), delay (times by function)"),
	ATTAR_TIME(T, than, 0, "than", "TIME", "also count calls that take longer", .bare = 1),
	ATTAR_FLAG(T, perins, 0, "perins", "a call tree for each key"),
	ATTAR_FLAG(T, detail, 0, "detail",
		"print each call when it returns (with --than: those that take longer)"),
	ATTAR_TEXT(T, heatmap_path, 0, "heatmap", "FILE",
		"write time and duration of each call to FILE-ENTRY-EXIT.lat, in ns",
		.complete = "file"),
	{0}};

static const struct attar_example examples[] = {
	{"nested-trace -e irq:softirq_entry,irq:softirq_exit "
	 "-e timer:timer_expire_entry,timer:timer_expire_exit -i 1s",
		"software interrupts and the timers that expire in them"},
	{"nested-trace -e 'uprobe:parse@./server,uretprobe:parse@./server' "
	 "-e 'uprobe:read_line@./server,uretprobe:read_line@./server' -p 1234",
		"the call tree of two functions of a program"},
	{0}};

const struct attar_profiler profiler_nested_trace = {
	.name = "nested-trace",
	.group = "Events",
	.summary = "the call tree of functions with entry and exit events: how often, how long",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_TREE,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct nested_trace),
	.options = options,
	.examples = examples,
	.defaults = nested_trace_defaults,
	.open = nested_trace_open,
	.lost = on_lost,
	.exited = on_exited,
	.ended = nested_trace_ended,
	.report = nested_trace_report,
	.close = nested_trace_close,
};
