/* SPDX-License-Identifier: MIT */
#include "sections/stack_report.h"

#include "attar/private/report.h"
#include "attar/sections.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/radix.h"
#include "report/model/model.h"
#include "report/model/tree.h"
#include "symbol/reader.h"
#include "symbol/symbols.h"

/* ---- idle CPUs ---- */

/*
 * The functions in which the idle task waits, in Linux 3.16 to 7.0 on x86 and arm64. No record says
 * that a CPU was idle; attr.exclude_idle would also exclude interrupt handlers that run on an idle
 * CPU.
 */
static const char *const waiting[] = {"acpi_idle_do_entry", "acpi_idle_enter",
	"acpi_processor_ffh_cstate_enter", "acpi_safe_halt", "amd_e400_idle", "arch_cpu_idle",
	"cpu_do_idle", "cpu_idle_poll", "cpu_startup_entry", "cpuidle_enter", "cpuidle_enter_state",
	"cpuidle_idle_call", "default_idle", "default_idle_call", "do_idle", "intel_idle",
	"intel_idle_hlt", "intel_idle_ibrs", "intel_idle_irq", "intel_idle_s2idle", "io_idle",
	"mwait_idle", "mwait_idle_with_hints", "native_safe_halt", "poll_idle",
	"psci_cpu_suspend_enter", "pv_native_safe_halt", "tdx_safe_halt", "x86_idle",
	"xen_safe_halt"};

static bool is_idle(struct stack_report *sr, uint64_t key)
{
	size_t n;
	const uint64_t *locations = stacks_locations(&sr->space->stacks, (uint32_t)key, &n);
	uint32_t task = (uint32_t)(key >> 32);
	const struct function *fn;
	int function;

	if (!task || sr->space->tasks.at[task].tid || !n) /* task 0 represents several */
		return false;
	function = functions_of(sr->functions, locations[0]);
	if (function < 0)
		return false;
	fn = &sr->functions->all.at[function];
	for (size_t i = 0; fn->kind == ATTAR_DSO_IS_KERNEL && i < ARRAY_SIZE(waiting); i++)
		if (!strcmp(fn->name, waiting[i]))
			return true;
	return false;
}

/* ---- addresses without a name ---- */

/* An unnamed address with at least this share of the total weight gets its own row. */
enum { HOT_PER_THOUSAND = 5, STACK_LINES_MAX = 1 << 18 };

struct nameless {
	uint64_t location, weight;
	uint64_t seen_in; /* the last stack that was added to it: recursion counts once */
};

struct nameless_locations {
	VEC(struct nameless) all;
	struct map index; /* location -> number in all */
	uint64_t stack_serial;
};

static int weigh_location(struct nameless_locations *p, attar_location location, uint64_t weight)
{
	uint64_t *found = map_get(&p->index, location);
	struct nameless *it;

	if (!found && (vec_push(&p->all, (struct nameless){.location = location}) < 0 ||
			      map_put(&p->index, location, p->all.n - 1) < 0))
		return base_oom();
	it = &p->all.at[found ? *found : p->all.n - 1];
	if (it->seen_in != p->stack_serial)
		it->weight += weight;
	it->seen_in = p->stack_serial;
	return 0;
}

static int weigh_nameless(
	struct stack_report *sr, struct nameless_locations *p, uint32_t stack, uint64_t weight)
{
	size_t n;
	const uint64_t *locations = stacks_locations(&sr->space->stacks, stack, &n);
	int r = 0;

	p->stack_serial++;
	for (size_t i = 0; r == 0 && i < n; i++) {
		int function = functions_of(sr->functions, locations[i]);

		if (function < 0)
			return function;
		if (sr->functions->all.at[function].mixed)
			r = weigh_location(p, locations[i], weight);
	}
	return r;
}

/* Readers of files (symbol/reader.h) are asked for all names together, which is cheaper. */
static void look_up_names(struct stack_report *sr)
{
	enum { TOGETHER_MAX = 1 << 18 };
	struct functions *f = sr->functions;
	VEC(attar_location) unknown = {0};
	const uint64_t *locations;
	size_t n;

	if (!readers_are_used(f->symbols))
		return;
	vec_each (&sr->samples->pairs, it) {
		locations = stacks_locations(&sr->space->stacks, (uint32_t)it->key, &n);
		for (size_t i = 0; i < n; i++)
			if (!map_get(&f->by_location, locations[i]))
				(void)vec_push(&unknown, locations[i]);
		if (unknown.n > TOGETHER_MAX) {
			symbols_prefetch(f->symbols, unknown.at, unknown.n);
			unknown.n = 0;
		}
	}
	symbols_prefetch(f->symbols, unknown.at, unknown.n);
	vec_done(&unknown);
}

/* Makes the hot addresses separate functions. Returns how many, or -ENOMEM. */
static int separate_hot(struct stack_report *sr)
{
	uint64_t whole = sr->samples->total - sr->idle;
	struct nameless_locations p = {0};
	int r = 0, n = 0;

	vec_each (&sr->samples->pairs, it) {
		if (r == 0 && !is_idle(sr, it->key))
			r = weigh_nameless(sr, &p, (uint32_t)it->key, it->weight);
	}
	vec_each (&p.all, it)
		if (r >= 0 && it->weight * 1000 >= whole * HOT_PER_THOUSAND) {
			r = functions_separate(sr->functions, it->location);
			n += r;
		}
	vec_done(&p.all);
	map_done(&p.index);
	return r < 0 ? r : n;
}

/* ---- the tree of stacks ---- */

/* Keys of the tree: a function's number, or a task's with this bit set. */
#define TASK_KEY 0x80000000u

/* Where the tree was entered for a stack: what the next one has in common with it is known. */
struct entered {
	const uint64_t *locations; /* innermost first */
	size_t n;
	VEC(size_t) depths; /* of the tree after each location, outermost first; [0]: of the task */
};

/* How many outer locations are the same as before; not the innermost, which is no caller. */
static size_t common_callers(const struct entered *before, const uint64_t *locations, size_t n)
{
	size_t same = 0, max = MIN(n, before->n);

	while (same + 1 < max && locations[n - 1 - same] == before->locations[before->n - 1 - same])
		same++;
	return same;
}

/* Enters the location's functions, below the depth that was entered last. Returns the node. */
static uint32_t enter_location(struct stack_report *sr, struct entered *e, attar_location location)
{
	size_t depth = e->depths.at[e->depths.n - 1];
	uint32_t node = sr->tree.path.at[depth - 1].node;
	const uint32_t *numbers;
	int count = functions_at(sr->functions, location, &numbers);

	if (count < 0)
		return CALLTREE_ROOT;
	while (count-- > 0 && node != CALLTREE_ROOT)
		node = calltree_enter(&sr->tree, depth++, numbers[count]);
	return vec_push(&e->depths, depth) < 0 ? CALLTREE_ROOT : node;
}

static int add_stack(struct stack_report *sr, struct entered *e, uint64_t key, uint64_t weight)
{
	size_t n, same = 0;
	const uint64_t *locations = stacks_locations(&sr->space->stacks, (uint32_t)key, &n);
	uint32_t task = (uint32_t)(key >> 32) | TASK_KEY, node;

	if (e->depths.n && sr->tree.path.at[0].key == task)
		same = common_callers(e, locations, n);
	else if (calltree_enter(&sr->tree, 0, task) == CALLTREE_ROOT ||
		 (!e->depths.n && vec_push(&e->depths, 1) < 0))
		return base_oom();
	e->depths.n = same + 1;
	node = sr->tree.path.at[e->depths.at[same] - 1].node;
	for (size_t i = n - same; i-- > 0 && node != CALLTREE_ROOT;)
		node = enter_location(sr, e, locations[i]);
	if (node == CALLTREE_ROOT)
		return base_oom();
	e->locations = locations;
	e->n = n;
	sr->tree.nodes.at[node].self += weight;
	return sr->nodes ? map_put(sr->nodes, key, node) : 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct samples_pair *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Task by task: consecutive stacks of one task have many callers in common. */
static int add_stacks(struct stack_report *sr)
{
	size_t n = sr->samples->pairs.n;
	struct samples_pair *pairs = malloc((n + 1) * sizeof(*pairs));
	struct entered e = {0};
	int r = pairs ? 0 : base_oom();

	for (size_t i = 0; r == 0 && i < n; i++)
		pairs[i] = sr->samples->pairs.at[i];
	pairs = radix_sort(pairs, r == 0 ? n : 0, sizeof(*pairs), sizeof(pairs->key), compare_keys);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!is_idle(sr, pairs[i].key))
			r = add_stack(sr, &e, pairs[i].key, pairs[i].weight);
	vec_done(&e.depths);
	free(pairs);
	return r;
}

/* Hot addresses are found when others are known to have no name: stacks are then added again. */
static int make_tree(struct stack_report *sr)
{
	int r = add_stacks(sr), separated;

	if (r < 0 || !sr->functions->has_mixed)
		return r;
	separated = separate_hot(sr);
	if (separated <= 0)
		return separated;
	calltree_reset(&sr->tree);
	return add_stacks(sr);
}

/* ---- the table ---- */

/* A function as run by tasks of one name. */
struct row {
	const char *comm;
	uint32_t function;
	uint64_t self, total;
};

struct rows {
	VEC(struct row) all;
	struct map index; /* comm and function, hashed -> row */
	uint64_t unresolved, unmapped;
};

static struct row *row_of(struct rows *rows, const char *comm, uint32_t function)
{
	uint64_t key = base_hash64((uintptr_t)comm) ^ function, *found = map_get(&rows->index, key);

	if (found)
		return &rows->all.at[*found];
	if (vec_push(&rows->all, (struct row){.comm = comm, .function = function}) < 0 ||
		map_put(&rows->index, key, rows->all.n - 1) < 0)
		return NULL;
	return &rows->all.at[rows->all.n - 1];
}

/* Code of a JIT compiler without perf map and jitdump, whose path would be the path of the DSO. */
static bool is_unmapped(const struct function *fn)
{
	return !fn->named && fn->kind == ATTAR_DSO_IS_JIT && fn->dso[0] != '/';
}

static int add_to_row(struct stack_report *sr, struct rows *rows, const char *comm, int function,
	uint64_t self, uint64_t total)
{
	struct row *row = function < 0 ? NULL : row_of(rows, comm, (uint32_t)function);

	if (!row)
		return base_oom();
	row->self += self;
	row->total += total;
	if (!sr->functions->all.at[function].named)
		rows->unresolved += self;
	if (is_unmapped(&sr->functions->all.at[function]))
		rows->unmapped += self;
	return 0;
}

/* What a node has from the nodes that it is below. */
struct inherited {
	const char *comm;
	uint64_t rows; /* a bit for each row: a clear one is not among them */
};

static uint64_t row_bit(uint32_t row)
{
	return (uint64_t)1 << (base_hash64(row) & 63);
}

/* Recursion counts once. */
static bool is_nested(struct stack_report *sr, const struct calltree_node *node, uint32_t row)
{
	const struct calltree_node *nodes = sr->tree.nodes.at, *outer = &nodes[node->parent];

	for (; !(outer->key & TASK_KEY); outer = &nodes[outer->parent])
		if (sr->functions->all.at[outer->key].row == row)
			return true;
	return false;
}

/* Adds a node, after those that it is below; in is an array of all nodes. */
static int add_node(struct stack_report *sr, struct rows *rows, struct inherited *in,
	uint32_t number, uint64_t total)
{
	const struct calltree_node *node = &sr->tree.nodes.at[number];
	struct inherited from;
	uint32_t row;

	if (node->key & TASK_KEY) {
		in[number] =
			(struct inherited){.comm = sr->space->tasks.at[node->key & ~TASK_KEY].comm};
		if (!node->self) /* else a stack without locations, which ends at its task */
			return 0;
		return add_to_row(sr, rows, in[number].comm, functions_no_stack(sr->functions),
			node->self, node->self);
	}
	row = sr->functions->all.at[node->key].row;
	from = in[node->parent];
	in[number] = (struct inherited){from.comm, from.rows | row_bit(row)};
	if (from.rows & row_bit(row) && is_nested(sr, node, row))
		total = 0;
	return add_to_row(sr, rows, from.comm, (int)row, node->self, total);
}

static int add_rows(struct stack_report *sr, struct rows *rows)
{
	size_t n = sr->tree.nodes.n;
	uint64_t *totals = calloc(n + 1, sizeof(*totals));
	struct inherited *in = malloc((n + 1) * sizeof(*in));
	int r = totals && in ? 0 : base_oom();

	for (size_t i = r == 0 ? n : 0; i-- > 0;) {
		const struct calltree_node *node = &sr->tree.nodes.at[i];

		totals[i] += node->self;
		if (node->parent != CALLTREE_ROOT)
			totals[node->parent] += totals[i];
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_node(sr, rows, in, (uint32_t)i, totals[i]);
	free(totals);
	free(in);
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void write_table(struct stack_report *sr, struct rows *rows, struct attar_report *report)
{
	struct attar_section *t = attar_report_table(report, "functions");
	uint64_t whole = sr->samples->total - sr->idle;

	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "total", ATTAR_UNIT_PERCENT);
	attar_section_column(t, sr->weight, sr->unit);
	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "dso", ATTAR_UNIT_TEXT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	vec_each (&rows->all, row) {
		const struct function *fn = &sr->functions->all.at[row->function];

		attar_section_row(t);
		attar_cell_double(t, percent(row->self, whole));
		attar_cell_double(t, percent(row->total, whole));
		attar_cell_u64(t, row->self);
		attar_cell_text(t, row->comm);
		attar_cell_text(t, fn->dso);
		attar_cell_text(t, fn->name);
	}
}

/* The weight that is not shown, and the weight of tasks without a name of their own. */
static void add_up(struct stack_report *sr)
{
	sr->idle = sr->others = 0;
	vec_each (&sr->samples->pairs, it) {
		if (is_idle(sr, it->key))
			sr->idle += it->weight;
		else if (it->key >> 32 == TASKS_OTHER)
			sr->others += it->weight;
	}
}

int stack_report_table(struct stack_report *sr, struct attar_report *report)
{
	struct rows rows = {0};
	uint64_t busy;
	int r;

	look_up_names(sr);
	add_up(sr);
	r = make_tree(sr);
	if (r == 0)
		r = add_rows(sr, &rows);
	if (r == 0) {
		if (rows.all.n)
			qsort(rows.all.at, rows.all.n, sizeof(*rows.all.at), compare_rows);
		if (!sr->no_table)
			write_table(sr, &rows, report);
		busy = sr->samples->total - sr->idle;
		sr->unresolved = busy ? (double)rows.unresolved / (double)busy : 0;
		sr->unmapped = busy ? (double)rows.unmapped / (double)busy : 0;
	}
	vec_done(&rows.all);
	map_done(&rows.index);
	return r;
}

/* ---- the section of the tree ---- */

static enum attar_frame_kind frame_kind(const struct function *fn)
{
	if (!fn->named)
		return ATTAR_FRAME_UNKNOWN;
	if (fn->kind == ATTAR_DSO_IS_LABEL)
		return ATTAR_FRAME_TASK;
	return fn->kind == ATTAR_DSO_IS_KERNEL ? ATTAR_FRAME_KERNEL
	       : fn->kind == ATTAR_DSO_IS_JIT  ? ATTAR_FRAME_JIT
					       : ATTAR_FRAME_USER;
}

/* The function that has the code of a node: those that were inlined are part of their parent's. */
static const struct function *code_of(struct stack_report *sr, const struct calltree_node *node)
{
	const struct function *all = sr->functions->all.at;

	while (all[node->key].inlined && !(sr->tree.nodes.at[node->parent].key & TASK_KEY))
		node = &sr->tree.nodes.at[node->parent];
	return &all[node->key];
}

/* The texts of a function, as the report keeps them: many nodes have the same. */
struct kept_texts {
	uint32_t name, module, build_id;
	bool is_kept;
};

static const struct kept_texts *keep_texts(
	struct attar_report *report, struct kept_texts *kept, const struct function *fn)
{
	if (!kept->is_kept)
		*kept = (struct kept_texts){.name = report_keep(report, fn->name),
			.module = report_keep(report, fn->dso) & (TREE_MODULES - 1),
			.build_id = report_keep(report, fn->build_id),
			.is_kept = true};
	return kept;
}

static void write_task(struct stack_report *sr, struct attar_section *out,
	const struct calltree_node *node, uint32_t parent)
{
	const struct task *task = &sr->space->tasks.at[node->key & ~TASK_KEY];
	uint32_t number =
		attar_tree_node(out, parent, ATTAR_FRAME_TASK, task->comm, NULL, node->self);

	if (task->pid >= 0) /* an exiting task has no valid pid and tid */
		attar_tree_task(out, number, (uint32_t)task->pid, (uint32_t)task->tid);
}

static void write_function(struct stack_report *sr, struct attar_section *out,
	struct kept_texts *kept, const struct calltree_node *node, uint32_t parent)
{
	const struct function *all = sr->functions->all.at, *fn = &all[node->key];
	const struct function *code = code_of(sr, node);
	const struct kept_texts *texts = keep_texts(out->report, &kept[node->key], fn);
	uint32_t number = tree_add_node(out, &(struct tree_node){.parent = parent,
						     .name = texts->name,
						     .module = texts->module,
						     .kind = frame_kind(fn),
						     .self = node->self});

	if (code->address) {
		texts = keep_texts(out->report, &kept[code - all], code);
		tree_add_code(out, &(struct tree_code){.node = number,
					   .build_id = texts->build_id,
					   .address = code->address});
	}
	if (sr->cpu_label && fn->kind == ATTAR_DSO_IS_LABEL && strcmp(fn->name, sr->cpu_label) == 0)
		tree_set_cpu(out, number, sr->cpu_ns);
	if (fn->file || fn->inlined)
		tree_set_source(out, number, fn->plain, fn->file, fn->line, fn->inlined);
}

/* A root for each group, before all other nodes. of: group + 1 -> root. */
static int write_groups(struct stack_report *sr, struct attar_section *out, struct map *of)
{
	const struct stack_groups *groups = &sr->space->groups;

	vec_each (&sr->tree.nodes, node) {
		uint32_t task = node->key & ~TASK_KEY, group, number;

		if (!(node->key & TASK_KEY) || task == TASKS_OTHER)
			continue;
		group = sr->space->tasks.at[task].group;
		if (map_get(of, (uint64_t)group + 1))
			continue;
		number = attar_tree_node(out, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK,
			group ? groups->text_of(groups->ctx, groups->kind, group) : groups->none,
			NULL, 0);
		if (map_put(of, (uint64_t)group + 1, number) < 0)
			return base_oom();
	}
	if (sr->nodes && of->n)
		map_each (sr->nodes, it)
			it->value += of->n;
	return 0;
}

static uint32_t parent_of(
	const struct stack_report *sr, const struct map *groups, const struct calltree_node *node)
{
	const uint32_t task = node->key & ~TASK_KEY;
	const uint64_t *root;

	if (node->parent != CALLTREE_ROOT)
		return node->parent + (uint32_t)groups->n;
	root = node->key & TASK_KEY && task != TASKS_OTHER
		       ? map_get(groups, (uint64_t)sr->space->tasks.at[task].group + 1)
		       : NULL;
	return root ? (uint32_t)*root : ATTAR_TREE_ROOT;
}

int stack_report_tree(struct stack_report *sr, struct attar_report *report)
{
	struct attar_section *out = attar_report_tree(report, "stacks", sr->unit);
	struct kept_texts *kept = calloc(sr->functions->all.n + 1, sizeof(*kept));
	struct map groups _cleanup_(map_done) = {0};

	if (!kept || (sr->space->groups.number_of && write_groups(sr, out, &groups) < 0)) {
		free(kept);
		return base_oom();
	}
	out->weight = report_keep(report, sr->weight);
	if (sr->cpu_ns > 0 && !sr->cpu_label)
		tree_set_cpu(out, ATTAR_TREE_ROOT, sr->cpu_ns);
	vec_each (&sr->tree.nodes, node) {
		uint32_t parent = parent_of(sr, &groups, node);

		if (node->key & TASK_KEY)
			write_task(sr, out, node, parent);
		else
			write_function(sr, out, kept, node, parent);
	}
	free(kept);
	return 0;
}

void stack_report_done(struct stack_report *sr)
{
	calltree_done(&sr->tree);
}

/* ---- lines ---- */

/*
 * The address of a location, which leaves out the high bits: kernel code lies in the upper
 * half.
 */
static uint64_t shown_address(attar_location location)
{
	return (uint64_t)((int64_t)(location << 16) >> 16);
}

/* The frame before, nearer to the innermost one. */
struct inner_frame {
	bool exists, is_kernel, is_signal;
};

/*
 * The bytes from a location to the address that is shown. Callers are located one byte before the
 * return address, see attar_event_stack(), except for user code that a signal interrupted and
 * calls in last branch records.
 */
static unsigned bytes_to_return(const struct attar_symbols *symbols,
	const struct attar_symbol *symbol, bool named, struct inner_frame *inner)
{
	const struct inner_frame before = *inner;
	bool is_kernel = symbol->kind == ATTAR_DSO_IS_KERNEL;
	bool is_caller = before.exists && before.is_kernel == is_kernel;

	*inner = (struct inner_frame){.exists = true, .is_kernel = is_kernel};
	if (is_kernel || !is_caller)
		return is_caller;
	/* its handler returns to a trampoline: no call ends at the start of a function */
	inner->is_signal = symbols->unwind_cache && named && !symbol->offset;
	return !inner->is_signal && !before.is_signal && !symbols->branch_stacks.n;
}

/* " at FILE:LINE", if lines are shown. */
static void add_line(
	const struct attar_symbols *symbols, const struct attar_frame *frame, struct buf *line)
{
	if (symbols->show_lines && frame->file)
		buf_printf(line, " at %s:%u", frame->file, frame->line);
}

/* A row for each function that was inlined, before the row of the function that they are in. */
static void add_inlined(struct attar_section *section, const struct attar_symbols *symbols,
	const struct attar_frame *frames, int n)
{
	struct buf line _cleanup_(buf_done) = {0};

	for (int i = 0; symbols->show_inlined && i + 1 < n; i++) {
		buf_reset(&line);
		buf_printf(&line, "%16s %s (inlined)", "", frames[i].name ?: "[unknown]");
		add_line(symbols, &frames[i], &line);
		attar_row_detail(section, buf_text(&line));
	}
}

/* The functions and lines of a location, if they are shown. Returns their number, or 0. */
static int source_frames(
	struct attar_symbols *symbols, attar_location location, struct attar_frame *frames)
{
	int n;

	if (!symbols->show_inlined && !symbols->show_lines)
		return 0;
	n = attar_symbols_frames(symbols, location, frames, FUNCTIONS_INLINED_MAX);
	return MIN(n, (int)FUNCTIONS_INLINED_MAX);
}

/*
 * Whether the section has room for the stack of its newest row. A remark names the first row of the
 * section without a stack.
 */
static bool row_stack_fits(struct attar_section *section, size_t n)
{
	if (section->stacks_left_out || section->details.n + n <= STACK_LINES_MAX)
		return !section->stacks_left_out;
	section->stacks_left_out = true;
	attar_report_remark(section->report,
		"%s: rows from %u on have no stack, because the stacks of a table have at most %d "
		"lines",
		section_text(section, section->name), section->rows, STACK_LINES_MAX);
	return false;
}

void attar_row_stack(struct attar_section *section, struct attar_symbols *symbols,
	const attar_location *locations, size_t n)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(symbols, "symbols", );
	CHECK_ARG_OR(locations, "locations", );

	struct attar_frame frames[FUNCTIONS_INLINED_MAX];
	struct buf line _cleanup_(buf_done) = {0};
	struct inner_frame inner = {.exists = false};
	char text[LOCATION_TEXT_MAX];

	if (!row_stack_fits(section, n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct attar_symbol sym;
		bool named = attar_symbols_resolve(symbols, locations[i], &sym) == 0;
		unsigned after_call;
		int count;

		if (sym.kind == ATTAR_DSO_IS_LABEL) {
			attar_row_detail(section, sym.name);
			continue;
		}
		after_call = bytes_to_return(symbols, &sym, named, &inner);
		count = source_frames(symbols, locations[i], frames);
		add_inlined(section, symbols, frames, count);
		buf_reset(&line);
		buf_printf(&line, "%16llx ",
			(unsigned long long)shown_address(locations[i] + after_call));
		if (named) {
			buf_printf(&line, "%s+0x%llx", sym.name,
				sym.offset ? (unsigned long long)sym.offset + after_call : 0);
		} else if (sym.kind == ATTAR_DSO_IS_FILE || sym.kind == ATTAR_DSO_IS_VDSO) {
			location_text(symbols, locations[i] + after_call, text);
			buf_str(&line, text);
		} else {
			buf_str(&line, "[unknown]");
		}
		if (count > 0)
			add_line(symbols, &frames[symbols->show_inlined ? count - 1 : 0], &line);
		buf_printf(&line, " (%s)", sym.dso);
		attar_row_detail(section, buf_text(&line));
	}
}
