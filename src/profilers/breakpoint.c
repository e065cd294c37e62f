/* SPDX-License-Identifier: MIT */
/* breakpoint: who reads, writes or executes an address, and which value is written. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "attar/private/event.h"
#include "attar/private/symbol.h"
#include "attar/run.h"
#include "memory/mappings.h"
#include "lib/registers.h"
#include "lib/store_value.h"

enum { PLACES_MAX = 64, DEPTH_MAX = 512, KEYS_MAX = 1 << 16 };

/* A watched location. */
struct place {
	const char *text; /* as written */
	uint64_t address;
	unsigned len, access; /* bytes; HW_BREAKPOINT_R ... */
	bool is_mapped;       /* of a symbol, or a process was seen that has mapped it */
	struct attar_expr *filter;
	uint64_t hits, recent, skipped;
};

/* The value of a location in a process, in the block of a row. */
struct value {
	bool is_known;
	uint64_t value;
};

/* The bytes before the end of an instruction. */
struct code {
	uint8_t bytes[STORE_BYTES];
	uint8_t n;
	bool is_read;
};

struct breakpoint {
	struct attar_texts addresses;
	const char *filter;
	bool graph;
	bool takes_stacks; /* for -g, or for outputs that are made for trees */

	struct place places[PLACES_MAX];
	uint32_t n_places;
	struct attar_keytable *values; /* by place and process: struct value */
	struct attar_keytable *codes;  /* by location: struct code */
	struct attar_stacks *stacks;
	uint64_t unknown;      /* hits after which the value is not known */
	uint64_t no_registers; /* the part of them without registers */
};

/* ---- addresses ---- */

/* "ADDRESS[/1|2|4|8][:rwx]": takes the end off the text. */
static int take_access(char *text, struct place *p)
{
	static const char letters[] = "rwx";
	char *colon = strrchr(text, ':'), *slash;

	p->access = HW_BREAKPOINT_W;
	if (colon && colon[1] && strspn(colon + 1, letters) == strlen(colon + 1)) {
		p->access = (strchr(colon, 'r') ? HW_BREAKPOINT_R : 0) |
			    (strchr(colon, 'w') ? HW_BREAKPOINT_W : 0) |
			    (strchr(colon, 'x') ? HW_BREAKPOINT_X : 0);
		*colon = '\0';
	} else if (colon > text && colon[-1] != ':' && !strchr(text, '@')) { /* no C++ or path */
		return attar_fail(-EINVAL,
			"'%s': unknown access '%s'" ATTAR_FIX "use r, w, rw or x", p->text,
			colon + 1);
	}
	if (p->access & HW_BREAKPOINT_X && p->access != HW_BREAKPOINT_X)
		return attar_fail(-EINVAL,
			"'%s': a breakpoint is either for execution (x) or for data (r, w, rw)",
			p->text);
	slash = strrchr(text, '/');
	p->len = p->access == HW_BREAKPOINT_X ? sizeof(long) : 4;
	if (!slash || !slash[1] || slash[2] || slash[1] < '0' || slash[1] > '9')
		return 0;
	p->len = (unsigned)(slash[1] - '0');
	*slash = '\0';
	if (p->len != 1 && p->len != 2 && p->len != 4 && p->len != 8)
		return attar_fail(-EINVAL, "'%s': the length must be 1, 2, 4 or 8 bytes", p->text);
	return 0;
}

static bool is_of_kernel(const struct place *p)
{
	return (int64_t)p->address < 0;
}

/* The processes of a run that watches only its command begin later. */
static bool watches_processes(struct attar_run *run)
{
	static const char command[] = " -- ";
	const char *words = run_target_words(run);

	return !words || strncmp(words, command, strlen(command)) != 0;
}

/*
 * The mappings of the kernel are known if it has /proc/kcore, though some of them have holes. Those
 * of a command are not known yet. A symbol is mapped with its program; what is after it may not
 * be.
 */
static int check_mapped(struct attar_run *run, struct place *p)
{
	uint8_t byte;
	int fd;

	p->is_mapped =
		!isdigit((unsigned char)*p->text) && (is_of_kernel(p) || !strchr(p->text, '+'));
	if (p->is_mapped)
		return 0;
	if (!is_of_kernel(p)) {
		p->is_mapped = watches_processes(run) && mappings_any(p->address);
		return 0;
	}
	fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	close(fd);
	if (symbols_code(
		    attar_run_symbols(run), attar_location_kernel(p->address), &byte, 1, NULL) == 0)
		return 0;
	attar_error_clear();
	return attar_fail(-EFAULT, "address 0x%" PRIx64 " is not mapped in the kernel", p->address);
}

static int take_place(struct attar_run *run, struct breakpoint *b, const char *text)
{
	struct place *p = &b->places[b->n_places];
	char *copy = strdup(text);
	int r = copy ? 0 : -ENOMEM;

	if (b->n_places == PLACES_MAX)
		r = attar_fail(-E2BIG, "more than %d breakpoints", PLACES_MAX);
	if (r == 0) {
		*p = (struct place){.text = text};
		r = take_access(copy, p);
	}
	if (r == 0)
		r = catalog_address(attar_run_catalog(run), copy, 0, &p->address);
	if (r == 0 && p->access != HW_BREAKPOINT_X && p->address % p->len)
		r = attar_fail(-EINVAL, "'%s': address 0x%" PRIx64 " is not a multiple of %u bytes",
			text, p->address, p->len);
	if (r == 0 && p->address == 0)
		r = attar_fail(-EINVAL, "'%s': nothing is at address 0", text);
	if (r == 0)
		r = check_mapped(run, p);
	free(copy);
	b->n_places += r == 0;
	return r == -ENOENT ? -EINVAL : r;
}

/* ---- values ---- */

static struct value *value_of(struct breakpoint *b, uint32_t place, const struct attar_event *ev)
{
	bool is_shared = is_of_kernel(&b->places[place]);
	uint64_t key = (uint64_t)place << 32 | (is_shared ? 0 : ev->record->pid);
	struct attar_keyrow *row = attar_keytable_at_u64(b->values, key);

	return row ? row->value : NULL;
}

static attar_location locate(const struct attar_event *ev)
{
	uint64_t ip = ev->record->sample.ip;

	if ((ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		return attar_location_kernel(ip);
	return attar_thread_locate(ev->thread, ip);
}

/* Reads the code before an address of a file or of the kernel, once. */
static const struct code *code_before(
	struct attar_run *run, struct breakpoint *b, const struct attar_event *ev)
{
	attar_location location = locate(ev);
	struct attar_keyrow *row = attar_keytable_at_u64(b->codes, location);
	struct code *code = row ? row->value : NULL;

	if (!code || code->is_read)
		return code;
	code->is_read = true;
	if ((location & 0xffffffffffff) >= STORE_BYTES &&
		symbols_code(attar_run_symbols(run), location - STORE_BYTES, code->bytes,
			STORE_BYTES, NULL) == 0)
		code->n = STORE_BYTES;
	return code;
}

/* What a hit did. */
struct access {
	const char *name;
	struct value before, after;
};

/* x86-64 does not say what happened to data that are watched for both: the instruction does. */
static const char *name_access(const struct place *p, enum store_access access)
{
	switch (p->access) {
	case HW_BREAKPOINT_X:
		return "execution";
	case HW_BREAKPOINT_W:
		return "write";
	case HW_BREAKPOINT_R:
		return "read";
	default:
		return access == STORE_WRITES  ? "write"
		       : access == STORE_READS ? "read"
					       : "read or write";
	}
}

/* Finds the access and the value after it, from the one before. */
static void find_access(struct attar_run *run, struct breakpoint *b, const struct place *p,
	const struct attar_event *ev, struct access *a)
{
	const struct attar_regs *regs = &ev->record->sample.regs_intr;
	const struct watched watched = {.address = p->address,
		.len = p->len,
		.reads = p->access & HW_BREAKPOINT_R,
		.knows_old = a->before.is_known,
		.old = a->before.value};
	const struct code *code = p->access == HW_BREAKPOINT_X ? NULL : code_before(run, b, ev);
	uint64_t end = ev->record->sample.ip;

	a->after = (struct value){0};
	a->name = name_access(
		p, code ? store_access(code->bytes, code->n, end, regs, &watched) : STORE_UNKNOWN);
	if (p->access == HW_BREAKPOINT_R) /* changes nothing */
		a->after = a->before;
	else if (code)
		a->after.is_known =
			store_value(code->bytes, code->n, end, regs, &watched, &a->after.value);
	if (a->after.is_known || !(p->access & HW_BREAKPOINT_W) || !strcmp(a->name, "read"))
		return;
	b->unknown++;
	b->no_registers += !regs->nr;
}

/* ---- hits ---- */

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "breakpoint", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "access", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "old", ATTAR_UNIT_ID);
	attar_section_column(lines, "new", ATTAR_UNIT_ID);
	attar_section_main(lines);
}

static void value_cell(struct attar_section *lines, const struct value *value)
{
	if (value->is_known)
		attar_cell_u64(lines, value->value);
	else
		attar_cell_none(lines);
}

static int breakpoint_show(struct attar_run *run, const struct breakpoint *b,
	const struct attar_event *ev, const struct place *p, const struct access *access,
	const attar_location *locations, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "hits", columns);

	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_text(lines, p->text);
	attar_cell_text(lines, access->name);
	value_cell(lines, &access->before);
	value_cell(lines, &access->after);
	attar_row_stack(lines, attar_run_symbols(run), locations, b->graph ? n : n > 0);
	return 0;
}

/* A value that is not known does not pass. */
static bool passes(struct place *p, const struct attar_event *ev, const struct access *access)
{
	const struct attar_expr_value variables[] = {{.number = access->after.value},
		{.number = access->before.value}, {.number = p->address}};
	struct attar_expr_record record;

	if (!p->filter)
		return true;
	attar_event_get_expr_record(ev, &record);
	record.variables = variables;
	if (access->after.is_known && attar_expr_is_true(p->filter, &record))
		return true;
	p->skipped++;
	return false;
}

/* Whether the hit passes --filter: 1 or 0; -ENOMEM. */
static int take_hit(struct attar_run *run, struct breakpoint *b, const struct attar_event *ev,
	struct access *ret_access)
{
	struct place *p = &b->places[ev->counter];
	struct value *value = value_of(b, ev->counter, ev);

	if (!value)
		return -ENOMEM;
	ret_access->before = *value;
	find_access(run, b, p, ev, ret_access);
	*value = ret_access->after;
	if (!passes(p, ev, ret_access))
		return 0;
	p->hits++;
	p->recent++;
	return 1;
}

/* As an event of another profiler. */
static int breakpoint_emits(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct access access;

	return take_hit(run, self, ev, &access);
}

static int on_hit(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct breakpoint *b = self;
	const struct place *p = &b->places[ev->counter];
	attar_location locations[DEPTH_MAX];
	struct access access;
	size_t n;
	int r = take_hit(run, b, ev, &access);

	if (r <= 0)
		return r;
	r = 0;
	n = attar_event_stack(ev, locations, DEPTH_MAX);
	if (attar_run_wants(run, ATTAR_WANT_LINES))
		r = breakpoint_show(run, b, ev, p, &access, locations, n);
	return r < 0 || !b->stacks ? r : attar_stacks_add(b->stacks, ev->thread, locations, n, 1);
}

/* A process maps the address during the run. */
static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_record *r = ev->record;
	struct breakpoint *b = self;

	if (r->type != PERF_RECORD_MMAP2)
		return 0;
	for (uint32_t i = 0; i < b->n_places; i++)
		b->places[i].is_mapped |= b->places[i].address - r->mmap.addr < r->mmap.len;
	return 0;
}

/* ---- reports ---- */

static void remark_unmapped(struct attar_report *report, const struct place *p)
{
	if (p->hits || p->skipped || p->is_mapped)
		return;
	attar_report_remark(report,
		is_of_kernel(p) ? "no hits of %s: it is not known whether the kernel has mapped it"
				: "no hits of %s: no process was seen that has mapped it",
		p->text);
}

static void remark_unknown(struct attar_report *report, const struct breakpoint *b)
{
	const uint64_t undecoded = b->unknown - b->no_registers;

	if (undecoded)
		attar_report_remark(report,
			"the value after %" PRIu64 " hit%s is unknown: it depends on a value that "
			"is not known yet (add, inc), their code cannot be read, or attar does not "
			"decode the instructions",
			undecoded, undecoded == 1 ? "" : "s");
	if (b->no_registers)
		attar_report_remark(report,
			"the value after %" PRIu64 " hit%s is unknown: the recording has no "
			"registers; record with 'attar record', or 'perf record --intr-regs'",
			b->no_registers, b->no_registers == 1 ? "" : "s");
}

static int breakpoint_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct breakpoint *b = self;
	const struct attar_stacks_opts opts = {
		.size = sizeof(opts), .weight = "hits", .tree = true, .for_trees = !b->graph};
	struct attar_section *table = attar_report_table(report, "breakpoints");
	uint64_t skipped = 0;

	attar_section_column(table, "breakpoint", ATTAR_UNIT_TEXT);
	attar_section_column(table, "address", ATTAR_UNIT_HEX);
	attar_section_column(table, "hits", ATTAR_UNIT_COUNT);
	for (uint32_t i = 0; i < b->n_places; i++) {
		struct place *p = &b->places[i];

		attar_section_row(table);
		attar_cell_text(table, p->text);
		attar_cell_u64(table, p->address);
		attar_cell_u64(table, scope == ATTAR_SCOPE_WHOLE ? p->hits : p->recent);
		p->recent = 0;
		skipped += p->skipped;
		remark_unmapped(report, p);
	}
	remark_unknown(report, b);
	if (skipped)
		attar_report_remark(report, "%" PRIu64 " hit%s did not pass --filter", skipped,
			skipped == 1 ? "" : "s");
	return attar_run_stacks(run, report, b->stacks, scope, &opts);
}

/* ---- life ---- */

static int add_filter(struct attar_run *run, struct breakpoint *b, uint32_t i)
{
	static const struct attar_expr_variable variables[] = {
		{.name = "data"}, {.name = "old"}, {.name = "address"}};
	const struct attar_expr_opts opts = {.size = sizeof(opts),
		.flags = ATTAR_EXPR_CONDITION,
		.what = "filter",
		.n_variables = 3,
		.variables = variables};

	return b->filter ? attar_run_expr(run, i, b->filter, &opts, &b->places[i].filter) : 0;
}

static int add_source(struct attar_run *run, struct breakpoint *b, uint32_t i)
{
	const struct place *p = &b->places[i];
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
		.bp_type = p->access,
		.bp_addr = p->address,
		.bp_len = p->len,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = registers_all()};
	int r;

	if (b->takes_stacks)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	r = attar_run_source(run, p->text, &attr, on_hit);
	return r < 0 ? r : add_filter(run, b, i);
}

/* The mappings of processes, also mappings of data. */
static int add_mappings(struct attar_run *run)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap_data = 1,
		.mmap2 = 1};

	return attar_run_source(run, "mappings", &attr, on_hit);
}

static int breakpoint_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts values = {.size = sizeof(values),
		.sums = 1,
		.value_size = sizeof(struct value),
		.keys_max = KEYS_MAX};
	const struct attar_keytable_opts codes = {.size = sizeof(codes),
		.sums = 1,
		.value_size = sizeof(struct code),
		.keys_max = KEYS_MAX};
	struct breakpoint *b = self;
	bool wants_mappings = false;
	int r = b->addresses.n ? 0
			       : attar_fail(-EINVAL,
					 "breakpoint needs an address" ATTAR_FIX
					 "attar breakpoint ADDRESS[/1|2|4|8][:rwx], or SYMBOL");

	b->takes_stacks = b->graph || attar_run_wants(run, ATTAR_WANT_TREE);
	for (size_t i = 0; r == 0 && i < b->addresses.n; i++)
		r = take_place(run, b, b->addresses.at[i]);
	for (uint32_t i = 0; r == 0 && i < b->n_places; i++)
		r = add_source(run, b, i);
	for (uint32_t i = 0; i < b->n_places; i++)
		wants_mappings |= !b->places[i].is_mapped && !is_of_kernel(&b->places[i]);
	if (r == 0 && wants_mappings && attar_run_is_live(run))
		r = add_mappings(run);
	if (r == 0)
		r = attar_keytable_new(&values, &b->values);
	if (r == 0)
		r = attar_keytable_new(&codes, &b->codes);
	return r < 0 || !b->takes_stacks ? r : attar_stacks_new(attar_run_symbols(run), &b->stacks);
}

static void breakpoint_close(void *self)
{
	struct breakpoint *b = self;

	for (uint32_t i = 0; i < b->n_places; i++)
		attar_expr_free(b->places[i].filter);
	attar_keytable_free(b->values);
	attar_keytable_free(b->codes);
	attar_stacks_free(b->stacks);
}

#define T struct breakpoint

static const struct attar_option options[] = {
	ATTAR_LIST(T, addresses, 0, "address", "ADDRESS",
		"ADDRESS[/1|2|4|8][:rwx], also without the option: a number, SYMBOL of the "
		"kernel or of the program of -p, or SYMBOL@FILE, with +OFFSET; 4 bytes and w by "
		"default"),
	ATTAR_TEXT(T, filter, 0, "filter", "EXPR",
		"only hits for which this expression on data (the new value), old and address is "
		"true"),
	ATTAR_FLAG(T, graph, 'g', "call-graph",
		"show the stack of each hit, and a tree of all stacks"),
	{0}};

static const struct attar_example examples[] = {
	{"breakpoint counter/8:w -p 1234",
		"the code that writes a variable of a process, and the values"},
	{"breakpoint counter/8 -p 1234 --filter 'data > 100 && old <= 100'",
		"writes that raise it above 100"},
	{"breakpoint schedule:x -g -d 1s", "the callers of a kernel function"}, {0}};

const struct attar_profiler profiler_breakpoint = {
	.name = "breakpoint",
	.group = "Events",
	.summary = "code that reads, writes or executes an address, and the values written",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS | ATTAR_GIVES_TREE | ATTAR_READS_KERNEL_MEMORY,
	.needs = "perf events, whole system",
	.self_size = sizeof(struct breakpoint),
	.options = options,
	.examples = examples,
	.open = breakpoint_open,
	.record = on_record,
	.report = breakpoint_report,
	.close = breakpoint_close,
	.emits = breakpoint_emits,
	.operand = "address",
};
