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

#include "lib/keys.h"
#include "nested_trace/nested_trace.h"

enum { KEYS_MAX = 65536, NODES_MAX = 65536, STACK_MAX = 127 };

static const char *const impl_names[] = {"delay", "call", "call-delay"};

/* ---- events ---- */

static bool accompanies(const struct attar_event_spec *spec)
{
	return spec && (spec->untraced || spec->kind == ATTAR_EVENT_PROFILER);
}

/* All that a pattern or a profiler stands for, and those with the same alias, are one. */
static uint32_t number_of(struct nested_trace *t, const char *name)
{
	const struct nested_event *e;

	for (uint32_t i = 0; (e = by_source_at(&t->events, i)); i++)
		if (nested_accompanies(e->function) && e->name && !strcmp(e->name, name))
			return e->function;
	return ACCOMPANIES + t->n_accompany++;
}

static bool is_return(const struct attar_event_spec *spec)
{
	return !strncmp(spec->name, "uretprobe:", 10) || !strncmp(spec->name, "kretprobe:", 10);
}

/* Of a pattern of probes, each function has its entry, and its exit by the same name. */
static bool is_of_functions(const struct attar_event_spec *spec)
{
	return spec && spec->kind == ATTAR_EVENT_PROBE && spec->pattern && !spec->alias;
}

static void learn_function(
	struct nested_trace *t, const struct attar_event_spec *spec, struct nested_event *event)
{
	const char *function = strchr(spec->name, ':');
	const struct nested_event *e;

	event->is_exit = is_return(spec);
	for (uint32_t i = 0; event->is_exit && (e = by_source_at(&t->events, i)); i++) {
		const char *colon = e->name && !e->is_exit ? strchr(e->name, ':') : NULL;

		if (!colon || strcmp(colon, function) != 0)
			continue;
		event->function = e->function;
		return;
	}
	event->function = t->n_asked / 2;
	t->n_asked += 2;
}

/* An event that a program registers is the entry or the exit that it was found for. */
static int nested_trace_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	struct nested_trace *t = self;
	const struct nested_event *asked = by_source_asked(&t->events, spec);
	struct nested_event *e = event;
	int r;

	if (asked) {
		e->function = asked->function;
		e->is_exit = asked->is_exit;
	} else if (accompanies(spec)) {
		e->function = number_of(t, attar_run_source_name(run, source));
	} else if (is_of_functions(spec)) {
		learn_function(t, spec, e);
	} else {
		e->function = t->n_asked / 2;
		e->is_exit = t->n_asked++ % 2;
	}
	e->name = attar_run_source_name(run, source);
	r = keys_compile(run, source, "key", t->key, ATTAR_EXPR_KEY, &e->key);
	if (r == -EINVAL && accompanies(spec) && !attar_spec_get_option(spec, "key")) {
		attar_error_clear(); /* it is assigned by its thread */
		r = 0;
	}
	if (r == 0 && !t->printkey && !accompanies(spec)) {
		r = keys_compile(run, source, "printkey", NULL, 0, &t->printkey);
		if (r == 0 && t->printkey)
			r = keys_check_printed(spec, e->key);
	}
	t->has_keys |= e->key != NULL;
	t->has_keyless |= !e->key && accompanies(spec);
	return r;
}

static void forget(void *event)
{
	attar_expr_free(((struct nested_event *)event)->key);
}

const char *nested_trace_function(const struct nested_trace *t, uint32_t function, bool of_exit)
{
	const struct nested_event *e;
	const char *name = "";

	for (uint32_t i = 0; (e = by_source_at(&t->events, i)); i++)
		if (e->function == function) {
			name = e->name;
			if (e->is_exit == of_exit)
				break;
		}
	return name;
}

/* ---- keys ---- */

/* Each CPU has an idle thread, all with the number 0. */
static uint64_t thread_number(const struct attar_event *ev)
{
	return ev->thread && ev->thread->tid ? ev->thread->serial : UINT64_C(1) << 63 | ev->cpu;
}

static uint64_t instance(const struct nested_trace *t, const struct attar_event *ev)
{
	return t->by_thread ? thread_number(ev) : ev->cpu;
}

/* The key of the newest call of a thread, for events without the fields of the keys. */
struct newest_key {
	size_t size;
	char bytes[ATTAR_KEY_MAX];
};

static struct newest_key *newest_key(struct nested_trace *t, const struct attar_event *ev)
{
	uint64_t thread = thread_number(ev);
	struct attar_keyrow *row = attar_keytable_at(t->newest, &thread, sizeof(thread));

	return row ? row->value : NULL;
}

static size_t key_of(const struct nested_trace *t, const struct nested_event *e,
	const struct attar_event *ev, char key[ATTAR_EXPR_KEY_MAX])
{
	struct attar_expr_record record;
	uint64_t number;
	size_t n;

	if (!e->key) {
		number = instance(t, ev);
		memcpy(key, &number, sizeof(number));
		return sizeof(number);
	}
	attar_event_get_expr_record(ev, &record);
	n = attar_expr_key(e->key, &record, key, ATTAR_EXPR_KEY_MAX);
	return n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX;
}

static size_t key_of_event(struct nested_trace *t, const struct nested_event *e,
	const struct attar_event *ev, char key[ATTAR_EXPR_KEY_MAX])
{
	bool is_keyless = t->has_keys && !e->key;
	struct newest_key *newest = t->has_keys && t->has_keyless ? newest_key(t, ev) : NULL;
	size_t n;

	if (is_keyless) {
		if (newest)
			memcpy(key, newest->bytes, newest->size);
		return newest ? newest->size : 0;
	}
	n = key_of(t, e, ev, key);
	if (newest && !e->is_exit && !nested_accompanies(e->function)) {
		memcpy(newest->bytes, key, n);
		newest->size = n;
	}
	return n;
}

/* ---- the tree ---- */

static struct attar_keyrow *find_node(struct nested_trace *t, const struct nested_node_key *key)
{
	struct attar_keyrow *row = attar_keytable_at(t->nodes, key, sizeof(*key));
	struct nested_node *node = row ? row->value : NULL;

	if (node && !node->number)
		node->number = ++t->n_nodes;
	return row;
}

/* With --perins, a separate node is above the calls of each key. */
static int begin_key(
	struct nested_trace *t, const struct attar_event *ev, struct nested_open_calls *open)
{
	struct nested_node_key key = {.function = UINT32_MAX};
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
	open->root = ((struct nested_node *)row->value)->number;
	return 0;
}

static int enter(struct nested_trace *t, const struct nested_event *e, const struct attar_event *ev,
	struct nested_open_calls *open)
{
	struct nested_node_key key = {.function = e->function, .parent = open->root};
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
	open->calls[open->depth++] = (struct nested_call){.function = e->function,
		.node = ((struct nested_node *)row->value)->number,
		.began = ev->time};
	return 0;
}

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_main(lines);
	attar_section_column(lines, "depth", ATTAR_UNIT_ID);
	attar_section_column(lines, "call", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void add_name(struct attar_section *lines, const struct nested_trace *t, uint32_t function,
	uint32_t depth)
{
	char text[NESTED_TEXT_BYTES];

	attar_cell_u64(lines, depth);
	nested_trace_indent(text, depth, nested_trace_function(t, function, false));
	attar_cell_text(lines, text);
}

/* --detail: a line for each call, when it returns. */
static int nested_trace_show(struct attar_run *run, const struct nested_trace *t,
	const struct attar_event *ev, const struct nested_call *call, uint32_t depth)
{
	struct attar_section *lines = attar_run_lines(run, "calls", columns);

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, call->began);
	attar_cell_u64(lines, ev->time - call->began);
	add_name(lines, t, call->function, depth);
	return 0;
}

/* The same for an event within a call. */
static int show_event(struct attar_run *run, const struct nested_trace *t,
	const struct nested_event *e, const struct attar_event *ev, uint32_t depth)
{
	struct attar_section *lines = attar_run_lines(run, "calls", columns);
	attar_location stack[STACK_MAX];

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_none(lines);
	add_name(lines, t, e->function, depth);
	if (attar_run_source_spec(run, ev->counter)->stack)
		attar_row_stack(lines, attar_run_symbols(run), stack,
			attar_event_stack(ev, stack, STACK_MAX));
	return 0;
}

/* Calls of a key that is an expression have a separate track. */
static int add_span(struct attar_run *run, const struct nested_trace *t,
	const struct nested_event *e, const struct attar_event *ev, const struct attar_keyrow *open,
	const struct nested_call *call)
{
	char track[2 * NAME_BYTES];
	struct attar_span span = {.begin = call->began,
		.end = ev->time,
		.thread = t->by_thread ? ev->thread : NULL,
		.cpu = (int32_t)ev->cpu,
		.category = "call",
		.name = nested_trace_function(t, call->function, false)};

	if (e->key) {
		keys_text(e->key, open->key, open->key_size, track, sizeof(track));
		span.track = track;
	}
	return attar_run_add_span(run, &span);
}

static int add_call(struct attar_run *run, struct nested_trace *t, const struct attar_event *ev,
	struct nested_open_calls *open, const struct nested_call *call)
{
	uint64_t duration = ev->time - call->began, *sums;
	struct nested_node_key key = {.function = call->function, .parent = open->root};
	struct attar_keyrow *row;
	int r = 0;

	if (open->depth) {
		key.parent = open->calls[open->depth - 1].node;
		open->calls[open->depth - 1].inner += duration;
	}
	if (!attar_run_is_cpu_selected(run, (int)ev->cpu))
		return 0;
	row = find_node(t, &key);
	if (!row)
		return -ENOMEM;
	sums = row->interval.sums;
	sums[SUM_CALLS]++;
	sums[SUM_SELF] += duration - call->inner;
	sums[SUM_THAN] += t->than && duration > t->than;
	if ((t->detail || (t->print_beyond && t->than)) && duration > t->than &&
		attar_run_wants(run, ATTAR_WANT_LINES))
		r = nested_trace_show(run, t, ev, call, open->depth);
	if (r == 0 && t->heatmap)
		r = heatmap_add(t->heatmap, nested_trace_function(t, call->function, false),
			nested_trace_function(t, call->function, true), ev->time, duration);
	return r < 0 ? r : attar_hist_add(&row->interval.hists[0], duration);
}

/* Calls within the one that returns have returned too, even if their exit was not seen. */
static int leave(struct attar_run *run, struct nested_trace *t, const struct nested_event *e,
	const struct attar_event *ev, const struct attar_keyrow *row)
{
	struct nested_open_calls *open = row->value;
	uint32_t i = open->depth;

	while (i && open->calls[i - 1].function != e->function)
		i--;
	if (!i) {
		t->uncalled++;
		return 0;
	}
	t->unreturned += open->depth - i;
	open->depth = i - 1;
	if (attar_run_wants(run, ATTAR_WANT_SPANS) &&
		attar_run_is_cpu_selected(run, (int)ev->cpu) &&
		add_span(run, t, e, ev, row, &open->calls[i - 1]) < 0)
		return -ENOMEM;
	return add_call(run, t, ev, open, &open->calls[i - 1]);
}

/* An event that accompanies the calls: it is in the innermost one that is open. */
static int add_event(struct attar_run *run, struct nested_trace *t, const struct nested_event *e,
	const struct attar_event *ev, const struct nested_open_calls *open)
{
	const struct nested_call *call;
	struct nested_node_key key = {.function = e->function};
	struct attar_keyrow *row;

	if (!open->depth || !attar_run_is_cpu_selected(run, (int)ev->cpu))
		return 0;
	call = &open->calls[open->depth - 1];
	key.parent = call->node;
	row = find_node(t, &key);
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_CALLS]++;
	if (!t->detail || ev->time - call->began < t->than ||
		!attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	return show_event(run, t, e, ev, open->depth);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct nested_trace *t = self;
	char key[ATTAR_EXPR_KEY_MAX];
	struct attar_keyrow *row;
	struct nested_event *e;
	int r = by_source_get(&t->events, run, self, ev->counter, &e);
	size_t n;

	if (r < 0)
		return r;
	n = key_of_event(t, e, ev, key);
	if (nested_accompanies(e->function)) {
		row = n ? attar_keytable_find(t->open, key, n) : NULL;
		return row ? add_event(run, t, e, ev, row->value) : 0;
	}
	row = attar_keytable_at(t->open, key, n);
	r = row ? begin_key(t, ev, row->value) : -ENOMEM;
	if (r < 0)
		return r;
	return e->is_exit ? leave(run, t, e, ev, row) : enter(t, e, ev, row->value);
}

/* Entries and exits may be among the lost events. */
static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct nested_trace *t = self;
	struct attar_keyrow *row = NULL;

	while ((row = attar_keytable_next(t->open, row))) {
		t->lost += ((struct nested_open_calls *)row->value)->depth;
		((struct nested_open_calls *)row->value)->depth = 0;
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
		t->exited += ((struct nested_open_calls *)row->value)->depth;
		((struct nested_open_calls *)row->value)->depth = 0;
	}
	return 0;
}

/* ---- life ---- */

static int find_impl(struct nested_trace *t)
{
	for (unsigned i = 0; i < sizeof(impl_names) / sizeof(impl_names[0]); i++)
		if (!strcmp(t->impl_name, impl_names[i])) {
			t->impl = (enum nested_impl)i;
			return 0;
		}
	if (!strcmp(t->impl_name, "pair") || !strcmp(t->impl_name, "syscalls"))
		return attar_fail(-EINVAL,
			"--impl: '%s' is not one of delay, call, call-delay;" ATTAR_FIX
			"multi-trace has it",
			t->impl_name);
	return attar_fail(
		-EINVAL, "--impl: '%s' is not one of delay, call, call-delay", t->impl_name);
}

/* "EVENT,EVENT" */
static bool is_same_twice(const char *text)
{
	size_t half = strlen(text) / 2;

	return text[half] == ',' && strlen(text) == 2 * half + 1 &&
	       !strncmp(text, text + half + 1, half);
}

/* The only event of -e from source `first` on, if it is of entries of functions; or NULL. */
static const struct attar_event_spec *only_entries(struct attar_run *run, uint32_t first)
{
	const struct attar_event_spec *spec, *found = NULL;

	for (uint32_t i = first; i < attar_run_sources(run); i++) {
		spec = attar_run_source_spec(run, i);
		if (accompanies(spec))
			continue;
		if (!spec || spec->kind != ATTAR_EVENT_PROBE || spec->alias || is_return(spec) ||
			(strncmp(spec->name, "uprobe:", 7) && strncmp(spec->name, "kprobe:", 7)) ||
			(found && found->item != spec->item))
			return NULL;
		found = spec;
	}
	return found;
}

/* Entries of functions alone: their exits are the returns. */
static int add_returns(struct attar_run *run, struct nested_trace *t, uint32_t first)
{
	const struct attar_event_spec *spec = only_entries(run, first);
	const char *entry;
	char *text;
	int r;

	if (!spec)
		return 0;
	entry = spec->pattern ? spec->pattern : spec->name;
	if (asprintf(&text, "%cret%s", *entry, entry + 1) < 0)
		return -ENOMEM;
	first = attar_run_sources(run);
	r = attar_run_events(run, text, false, on_event);
	free(text);
	return r < 0 ? r : by_source_learn(&t->events, run, t, first);
}

static bool has_functions(struct attar_run *run, uint32_t first)
{
	for (; first < attar_run_sources(run); first++)
		if (is_of_functions(attar_run_source_spec(run, first)))
			return true;
	return false;
}

/* Each -e has an entry and an exit, and may have events that accompany calls. */
static int add_functions_of(struct attar_run *run, struct nested_trace *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->texts.n; i++) {
		uint32_t first = attar_run_sources(run), n = t->n_asked;

		r = attar_run_events(run, t->texts.at[i], false, on_event);
		if (r == 0)
			r = by_source_learn(&t->events, run, t, first);
		if (r == 0)
			r = add_returns(run, t, first);
		n = t->n_asked - n;
		if (r == 0 && n != 2 && !has_functions(run, first) &&
			(n || first == attar_run_sources(run)))
			r = attar_fail(-EINVAL,
				"-e '%s' has %u event%s: give an entry and an exit, separated by a "
				"comma",
				t->texts.at[i], n, n == 1 ? "" : "s");
		if (r == 0 && is_same_twice(t->texts.at[i]))
			r = attar_fail(-EINVAL,
				"-e '%s': entry and exit are the same event" ATTAR_FIX
				"give the event that ends the function, or a filter to each",
				t->texts.at[i]);
	}
	if (r == 0 && !t->n_asked)
		r = attar_fail(-EINVAL, "nested-trace needs an entry and an exit" ATTAR_FIX
					"-e irq:softirq_entry,irq:softirq_exit");
	return r;
}

/* The CPU of events from shared memory is unknown. */
static bool all_of_programs(struct attar_run *run)
{
	const struct attar_event_spec *spec;

	for (uint32_t i = 0; i < attar_run_sources(run); i++) {
		spec = attar_run_source_spec(run, i);
		if (!accompanies(spec) && !by_source_is_dummy(spec))
			return false;
	}
	return true;
}

static int check_keys(const struct nested_trace *t)
{
	const struct nested_event *first = NULL, *e;

	for (uint32_t i = 0; (e = by_source_at(&t->events, i)); i++) {
		if (!e->key && nested_accompanies(e->function))
			continue;
		first = first ?: e;
		if (!keys_are_alike(first->key, e->key))
			return attar_fail(-EINVAL,
				"the keys of '%s' and '%s' have different types;" ATTAR_FIX
				"set key= of each event, or -k",
				first->name, e->name);
	}
	return 0;
}

/* Lines of calls are of one thread, CPU or key anyway. */
static int check_detail(const char *list)
{
	static const char *const words[] = {"all", "samecpu", "samepid", "sametid", "samekey"};

	for (const char *text = list; text && *text;) {
		size_t n = strcspn(text, ","), i = 0;

		while (i < sizeof(words) / sizeof(words[0]) &&
			(strlen(words[i]) != n || memcmp(words[i], text, n) != 0))
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			return attar_fail(-EINVAL,
				"--detail: '%.*s' is not one of samecpu, samepid, sametid, samekey",
				(int)n, text);
		text += n + (text[n] == ',');
	}
	return 0;
}

static int nested_trace_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts open = {.size = sizeof(open),
		.sums = 1,
		.value_size = sizeof(struct nested_open_calls),
		.key_max = ATTAR_KEY_MAX,
		.keys_max = KEYS_MAX};
	const struct attar_keytable_opts nodes = {.size = sizeof(nodes),
		.sums = SUMS,
		.hists = 1,
		.value_size = sizeof(struct nested_node),
		.key_max = sizeof(struct nested_node_key),
		.keys_max = NODES_MAX};
	const struct attar_keytable_opts newest = {.size = sizeof(newest),
		.sums = 1,
		.value_size = sizeof(struct newest_key),
		.key_max = sizeof(uint64_t),
		.keys_max = KEYS_MAX};
	struct nested_trace *t = self;
	int r = find_impl(t);

	if (r == 0)
		r = check_detail(t->detail);
	t->by_thread = attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM;
	t->events = (struct by_source){
		.size = sizeof(struct nested_event), .learn = nested_trace_learn, .forget = forget};
	if (r == 0)
		r = attar_run_keep_own(run); /* an interrupt can happen in any thread */
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = add_functions_of(run, t);
	if (r == 0) {
		t->by_thread |= all_of_programs(run);
		r = check_keys(t);
	}
	if (r == 0)
		r = heatmap_new(run, t->heatmap_path, &t->heatmap);
	if (r == 0)
		r = attar_keytable_new(&open, &t->open);
	if (r == 0)
		r = attar_keytable_new(&newest, &t->newest);
	return r < 0 ? r : attar_keytable_new(&nodes, &t->nodes);
}

static void nested_trace_close(void *self)
{
	struct nested_trace *t = self;

	by_source_done(&t->events);
	attar_keytable_free(t->open);
	attar_keytable_free(t->newest);
	attar_keytable_free(t->nodes);
	attar_expr_free(t->printkey);
	heatmap_free(t->heatmap);
}

static void nested_trace_defaults(void *self)
{
	((struct nested_trace *)self)->impl_name = "call-delay";
}

#define T struct nested_trace

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "ENTRY,EXIT",
		"the entry and the exit of a function; repeat it for each function; profilers and "
		"events with untraced are shown within calls; attributes: key, printkey, "
		"untraced, alias",
		.complete = "event"),
	ATTAR_TEXT(T, key, 'k', "key", "EXPR",
		"calls with the same value can be nested (default: by thread with -p, -t "
		"or a command, otherwise by CPU)"),
	ATTAR_TEXT(T, impl_name, 0, "impl", "NAME",
		"the report: call-delay (call tree with times, default), call (call tree with "
		"counts), delay (times by function)"),
	ATTAR_TIME(T, than, 0, "than", "TIME", "also count calls that take longer", .bare = 1),
	ATTAR_FLAG(T, print_beyond, 0, "print-beyond", "print each call that --than selects"),
	ATTAR_FLAG(T, perins, 0, "perins", "a call tree for each key"),
	ATTAR_TEXT(T, detail, 0, "detail", "LIST",
		"print each call when it returns (with --than: those that take longer); samecpu, "
		"samepid, sametid and samekey change nothing: calls are of one thread, CPU or key",
		.implied = "all"),
	ATTAR_TEXT(T, heatmap_path, 0, "heatmap", "FILE",
		"write time and duration of each call to FILE-ENTRY-EXIT.lat, in ns",
		.complete = "file"),
	{0}};

static const struct attar_example examples[] = {
	{"nested-trace -e irq:softirq_entry,irq:softirq_exit "
	 "-e timer:timer_expire_entry,timer:timer_expire_exit -i 1s",
		"soft interrupts and the timers that expire in them"},
	{"nested-trace -e 'uprobe:parse@./server,uretprobe:parse@./server' "
	 "-e 'uprobe:read_line@./server,uretprobe:read_line@./server' -p 1234",
		"the call tree of two functions of a program"},
	{0}};

const struct attar_profiler profiler_nested_trace = {
	.name = "nested-trace",
	.group = "Events",
	.summary =
		"call tree of functions with entry and exit events: number of calls and duration",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_TREE | ATTAR_GIVES_SPANS,
	.needs = "perf events, whole system, tracefs",
	.operand = "event",
	.self_size = sizeof(struct nested_trace),
	.options = options,
	.examples = examples,
	.defaults = nested_trace_defaults,
	.open = nested_trace_open,
	.lost = on_lost,
	.exited = on_exited,
	.report = nested_trace_report,
	.close = nested_trace_close,
};
