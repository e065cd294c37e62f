/* SPDX-License-Identifier: MIT */
#include "memory/allocations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/stats.h"
#include "lib/kernel_names.h"
#include "lib/keys.h"

enum { DEPTH_MAX = 512 };

/* An event of --alloc or --free. */
struct event {
	const char *name;
	uint32_t number;
	struct attar_expr *ptr, *size; /* NULL: it has none */
	/* The address of the probe; NULL: not a probe. */
	const struct attar_field *probe;
	bool is_program; /* emitted by a program */
	bool stacks;
	/* Without an address: how many, and for how many of them an event with the address came. */
	uint64_t calls, joined;
};

/* ---- events ---- */

static const struct attar_field *find_field(
	const struct attar_event_spec *spec, const char *a, const char *b)
{
	const struct attar_field *field =
		spec && spec->format ? attar_format_field(spec->format, a) : NULL;

	return !field && b && spec && spec->format ? attar_format_field(spec->format, b) : field;
}

/* The attribute, or else the first field that exists. */
static int compile(struct attar_run *run, uint32_t source, const char *attribute, const char *a,
	const char *b, struct attar_expr **ret_expr)
{
	const struct attar_field *field = find_field(attar_run_source_spec(run, source), a, b);

	return keys_compile(
		run, source, attribute, field ? field->name : NULL, ATTAR_EXPR_CONDITION, ret_expr);
}

/* The attribute with the address: ptr=, or key= as in multi-trace. */
static const char *address_of(const struct attar_event_spec *spec)
{
	bool has_key =
		spec && !attar_spec_get_option(spec, "ptr") && attar_spec_get_option(spec, "key");

	return has_key ? "key" : "ptr";
}

static int allocations_learn(
	const struct allocations *a, struct attar_run *run, uint32_t source, struct event *e)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	const char *address = address_of(spec);
	int r = a->key ? keys_compile(run, source, address, a->key, ATTAR_EXPR_CONDITION, &e->ptr)
		       : compile(run, source, address, "ptr", NULL, &e->ptr);

	e->name = attar_run_source_name(run, source);
	e->probe = find_field(spec, "__probe_ip", "__probe_func");
	e->is_program = spec && (spec->kind == ATTAR_EVENT_USER || spec->user_event);
	return r;
}

/* Of a function, the probe at its entry has the size, and the one at its return the address. */
static int lacks_both(const struct attar_event_spec *spec, const char *name)
{
	if (!spec || spec->kind != ATTAR_EVENT_PROBE)
		return attar_fail(-EINVAL,
			"--alloc: '%s' has neither an address nor a size" ATTAR_FIX
			"add ptr=EXPRESSION and size=EXPRESSION, as in %s//ptr=FIELD/size=FIELD/",
			name, name);
	return attar_fail(-EINVAL,
		"--alloc: '%s' has neither an address nor a size" ATTAR_FIX
		"give an option --alloc for each: uprobe:FUNCTION@FILE//args=(n=$arg1)/size=n/ "
		"and uretprobe:FUNCTION@FILE//args=(ptr=$retval)/",
		name);
}

static int learn_alloc(struct attar_run *run, void *self, uint32_t source, void *event)
{
	struct allocations *a = self;
	struct event *e = event;
	int r = allocations_learn(a, run, source, e);

	if (r == 0)
		r = compile(run, source, "size", "bytes_alloc", "bytes_req", &e->size);
	if (r == 0 && !e->ptr && !e->size)
		return lacks_both(attar_run_source_spec(run, source), e->name);
	e->number = a->allocs.n - 1;
	e->stacks = a->graph || attar_run_source_spec(run, source)->stack;
	a->has_stacks |= e->stacks;
	a->has_sizes |= e->size != NULL;
	a->has_calls |= !e->ptr;
	return r;
}

/* Memory of the kernel is also freed by kernel threads, and in interrupts of any task. */
static bool misses_frees(const struct attar_run *run, const struct attar_event_spec *spec)
{
	return spec && spec->kind == ATTAR_EVENT_TRACEPOINT && !spec->user_event &&
	       attar_run_is_live(run) && attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM;
}

static int learn_free(struct attar_run *run, void *self, uint32_t source, void *event)
{
	struct allocations *a = self;
	struct event *e = event;
	int r = allocations_learn(a, run, source, e);

	a->misses_frees |= misses_frees(run, attar_run_source_spec(run, source));
	if (r == 0 && !e->ptr)
		return attar_fail(-EINVAL,
			"--free: '%s' has no field 'ptr'" ATTAR_FIX
			"add ptr=EXPRESSION, as in %s//ptr=FIELD/",
			e->name, e->name);
	return r;
}

static void forget(void *event)
{
	struct event *e = event;

	attar_expr_free(e->ptr);
	attar_expr_free(e->size);
}

/* Only stacks of allocations are shown. */
static int add_events(struct allocations *a, struct attar_run *run, const struct attar_texts *texts,
	bool stacks, struct by_source *table, attar_event_fn *fn)
{
	uint32_t first = attar_run_sources(run);
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->n; i++)
		r = attar_run_events(run, texts->at[i], stacks, fn);
	return r < 0 ? r : by_source_learn(table, run, a, first);
}

int allocations_create_tables(struct allocations *a)
{
	const struct attar_pairs_opts open = {.size = sizeof(open),
		.payload_size = sizeof(struct allocation),
		.key_max = sizeof(struct allocation_key),
		.open_max = a->max};
	const struct attar_pairs_opts calls = {.size = sizeof(calls),
		.policy = ATTAR_PAIRS_NESTED,
		.flags = ATTAR_PAIRS_SAME_TASK,
		.payload_size = sizeof(struct allocation)};
	int r = attar_pairs_new(&open, &a->open);

	if (r == 0)
		r = attar_pairs_new(&calls, &a->calls);
	return r < 0 ? r : attar_stack_table_new(0, &a->stacks);
}

int allocations_add(struct allocations *a, struct attar_run *run, attar_event_fn *on_alloc,
	attar_event_fn *on_free)
{
	/* a free in a softirq can interrupt any thread */
	int r = attar_run_keep_own(run);

	attar_run_all_cpus(run, true); /* also, a free can be on any CPU */
	if (!a->alloc.n || !a->free.n)
		return attar_fail(-EINVAL,
			"events of allocations and of frees are required" ATTAR_FIX
			"--alloc kmem:kmalloc --free kmem:kfree");
	a->allocs = (struct by_source){
		.size = sizeof(struct event), .learn = learn_alloc, .forget = forget};
	a->frees = (struct by_source){
		.size = sizeof(struct event), .learn = learn_free, .forget = forget};
	if (r == 0)
		r = add_events(a, run, &a->alloc, a->graph, &a->allocs, on_alloc);
	if (r == 0)
		r = add_events(a, run, &a->free, false, &a->frees, on_free);
	if (r == 0 && !a->has_stacks)
		r = run_check_no_tree(run);
	if (a->has_stacks)
		kernel_names_read(run);
	a->frames = frames_new(attar_run_symbols(run));
	if (r == 0 && !a->frames)
		r = -ENOMEM;
	return r < 0 ? r : allocations_create_tables(a);
}

/* ---- matching ---- */

/* The process, if the event is of a program: of a probe in user space, or emitted by it. */
static uint64_t space_of(const struct event *e, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	bool is_user = e->is_program;

	if (e->probe)
		is_user = (int64_t)attar_field_u64(e->probe, s->raw, s->raw_size) >= 0;
	return is_user ? (uint64_t)ev->record->pid + 1 : 0;
}

static void allocations_fill(const struct allocations *a, const struct event *e,
	const struct attar_event *ev, struct attar_expr_record *record, struct allocation *ret_made)
{
	attar_location locations[DEPTH_MAX];

	*ret_made = (struct allocation){.event = e->number, .space = space_of(e, ev)};
	ret_made->size = e->size ? attar_expr_number(e->size, record) : 0;
	if (e->stacks) {
		size_t n = attar_event_stack(ev, locations, DEPTH_MAX);

		ret_made->is_perf = frames_are_of_perf(a->frames, locations, n);
		ret_made->stack = attar_stack_table_add(a->stacks, locations, n);
	}
	snprintf(ret_made->comm, sizeof(ret_made->comm), "%s", ev->thread->comm);
}

/*
 * The return of a call: its address belongs to the size of the call. Its stack is better than that
 * of the call, in which the caller of a function without a frame pointer is missing.
 */
static void join_call(struct allocations *a, const struct event *e, const struct attar_event *ev,
	struct allocation *made)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	const struct attar_start *call =
		e->size ? NULL : attar_pairs_end_u64(a->calls, ev->thread->serial, &at);
	const struct allocation *called = call ? call->payload : NULL;

	if (!called)
		return;
	((struct event *)by_source_at(&a->allocs, called->event))->joined++;
	made->size = called->size;
	if (!made->stack)
		made->stack = called->stack;
}

static int leave_out(
	struct allocations *a, const struct attar_event *ev, const struct allocation *made)
{
	left_out_add(&a->perf, made->size);
	allocations_keep(a, ev, made);
	return 0;
}

int allocations_take(struct allocations *a, struct attar_run *run, const struct attar_event *ev,
	struct allocation *ret_made)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	struct attar_expr_record record;
	struct attar_start *call;
	struct event *e;
	int r = by_source_get(&a->allocs, run, a, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	allocations_fill(a, e, ev, &record, ret_made);
	if (!e->ptr) {
		e->calls++;
		call = attar_pairs_start_u64(a->calls, ev->thread->serial, &at);
		if (call)
			*(struct allocation *)call->payload = *ret_made;
		return 0;
	}
	if (a->has_calls)
		join_call(a, e, ev, ret_made);
	ret_made->ptr = attar_expr_number(e->ptr, &record);
	/* 0: it failed */
	if (!ret_made->ptr || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	return ret_made->is_perf ? leave_out(a, ev, ret_made) : 1;
}

void allocations_keep(
	struct allocations *a, const struct attar_event *ev, const struct allocation *made)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	const struct allocation_key key = {.space = made->space, .ptr = made->ptr};
	struct attar_start *start = attar_pairs_start(a->open, &key, sizeof(key), &at);

	if (start)
		*(struct allocation *)start->payload = *made;
}

int allocations_end(struct allocations *a, struct attar_run *run, const struct attar_event *ev,
	struct allocation *ret_freed, uint64_t *ret_age)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	const struct attar_start *start;
	struct attar_expr_record record;
	struct allocation_key key;
	struct event *e;
	int r = by_source_get(&a->frees, run, a, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	key.space = space_of(e, ev);
	key.ptr = attar_expr_number(e->ptr, &record);
	start = key.ptr ? attar_pairs_end(a->open, &key, sizeof(key), &at) : NULL;
	if (!start)
		return 0;
	*ret_freed = *(const struct allocation *)start->payload;
	*ret_age = ev->time - start->time;
	return !ret_freed->is_perf;
}

void allocations_lost(struct allocations *a, const struct attar_event *ev)
{
	attar_pairs_lost(a->open, (int)ev->cpu, ev->lost_from, ev->lost_to);
	attar_pairs_lost(a->calls, (int)ev->cpu, ev->lost_from, ev->lost_to);
}

void allocations_exited(struct allocations *a, const struct attar_event *ev)
{
	if (ev->thread)
		attar_pairs_exit(a->calls, ev->thread->serial);
}

/* ---- reports ---- */

const char *allocations_name(const struct allocations *a, uint32_t event)
{
	return a->names ? a->names[event]
			: ((const struct event *)by_source_at(&a->allocs, event))->name;
}

void allocations_add_stack(const struct allocations *a, struct attar_run *run,
	struct attar_section *section, uint32_t stack)
{
	size_t n;
	const attar_location *locations = attar_stack_table_get(a->stacks, stack, &n);

	if (n)
		attar_row_stack(section, attar_run_symbols(run), locations, n);
}

int allocations_weigh(
	const struct allocations *a, struct attar_stacks *stacks, const struct allocation *made)
{
	struct attar_process process = {.pid = -1};
	struct attar_thread thread = {.tid = -1, .comm = made->comm, .process = &process};
	const attar_location *locations;
	size_t n;

	thread.comm_hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (const char *c = made->comm; *c; c++)
		thread.comm_hash = (thread.comm_hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	locations = attar_stack_table_get(a->stacks, made->stack, &n);
	return attar_stacks_add(stacks, &thread, locations, n, a->has_sizes ? made->size : 1);
}

const struct attar_stacks_opts *allocations_stacks_opts(const struct allocations *a)
{
	static const struct attar_stacks_opts bytes = {.size = sizeof(bytes),
						      .weight = "bytes",
						      .unit = ATTAR_UNIT_BYTES,
						      .tree = true,
						      .for_trees = true},
					      objects = {.size = sizeof(objects),
						      .weight = "objects",
						      .tree = true,
						      .for_trees = true};

	return a->has_sizes ? &bytes : &objects;
}

void allocations_add_bytes(
	const struct allocations *a, struct attar_section *section, uint64_t bytes)
{
	if (a->has_sizes)
		attar_cell_u64(section, bytes);
	else
		attar_cell_none(section);
}

static void remark(struct attar_report *report, uint64_t n, const char *one, const char *several,
	const char *what)
{
	if (n)
		attar_report_remark(report, "%" PRIu64 " %s %s", n, n == 1 ? one : several, what);
}

/* Remarks on events of which no address is known. Returns the number of allocations. */
static uint64_t remark_calls(const struct allocations *a, struct attar_report *report)
{
	const struct event *e;
	uint64_t n = 0;

	for (uint32_t i = 0; (e = by_source_at(&a->allocs, i)); i++) {
		if (!e->calls || e->joined)
			continue;
		n += e->calls;
		attar_report_remark(report,
			"%" PRIu64 " allocation%s by '%s' %s not counted: its events have a size "
			"but no address, and no event with the address followed in the same "
			"thread; add this event to --alloc, for a probe that of the return, such "
			"as uretprobe:FUNCTION@FILE//args=(ptr=$retval)/",
			e->calls, e->calls == 1 ? "" : "s", e->name, e->calls == 1 ? "is" : "are");
	}
	return n;
}

void allocations_add_remarks(
	struct allocations *a, struct attar_report *report, enum attar_scope scope)
{
	uint64_t without_address = remark_calls(a, report);
	struct attar_pairs_stats stats;

	attar_pairs_get_stats(a->open, &stats);
	if (a->misses_frees && stats.open)
		attar_report_remark(report,
			"some of this memory may have been freed: the kernel also frees in kernel "
			"threads and in interrupts of other tasks, whose events are not recorded; "
			"-a records the events of all tasks");
	if (stats.unpaired[ATTAR_UNPAIRED_EVICTED])
		attar_report_remark(report,
			"%" PRIu64 " of the oldest allocations %s dropped, because more than "
			"%" PRIu64 " were outstanding: use a larger --allocations",
			stats.unpaired[ATTAR_UNPAIRED_EVICTED],
			stats.unpaired[ATTAR_UNPAIRED_EVICTED] == 1 ? "was" : "were", a->max);
	remark(report, stats.unpaired[ATTAR_UNPAIRED_LOST], "allocation was", "allocations were",
		"dropped, because the free may be among the lost events");
	remark(report, stats.unpaired[ATTAR_UNPAIRED_REPLACED], "address was", "addresses were",
		"allocated again without a free");
	if (stats.starts || !without_address) /* otherwise frees of these allocations */
		remark(report, stats.unpaired[ATTAR_UNPAIRED_END], "free", "frees",
			"of addresses that were allocated before the start, by other events, or "
			"that were freed twice");
	remark(report, stats.unpaired[ATTAR_UNPAIRED_END_LOST], "free", "frees",
		"after lost events, whose allocations may be among these, or were dropped because "
		"of them");
	remark(report, stack_table_refused(a->stacks), "allocation has", "allocations have",
		"no stack, because the table of stacks is full");
	left_out_remark_allocations(&a->perf, report, scope);
	attar_pairs_get_stats(a->calls, &stats);
	remark(report, stats.unpaired[ATTAR_UNPAIRED_END], "allocation", "allocations",
		"whose calls began before the start, of unknown size");
}

void allocations_done(struct allocations *a)
{
	by_source_done(&a->allocs);
	by_source_done(&a->frees);
	frames_free(a->frames);
	attar_pairs_free(a->open);
	attar_pairs_free(a->calls);
	attar_stack_table_free(a->stacks);
}
