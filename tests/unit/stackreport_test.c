/* SPDX-License-Identifier: MIT */
/* The table of functions for known samples: addresses of a file without symbols. */
#include "drawing.h"

#include "attar/sections.h"
#include "report/model/model.h"
#include "sections/stack_report.h"

struct profiled {
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	struct stack_space stacks;
	struct functions functions;
	struct samples samples;
	uint32_t task;
};

static void add(struct profiled *p, const uint64_t *ips, size_t n, uint64_t weight)
{
	attar_location locations[8];

	for (size_t i = 0; i < n; i++)
		locations[i] = attar_address_space_locate(p->space, ips[i]);
	assert_int_equal(
		samples_add(&p->samples, p->task,
			n ? stacks_intern(&p->stacks.stacks, locations, n) : STACKS_FULL, weight),
		0);
}

static int start(void **state)
{
	struct attar_symbols_opts opts = {.size = sizeof(opts), .no_kernel = true};
	struct attar_mapping mapping = {.start = 0x400000,
		.len = 0x100000,
		.pgoff = 0x1000,
		.path = "/nowhere/libx.so.6",
		.ino = 1};
	struct attar_process process = {.pid = 1};
	struct attar_thread thread = {.tid = 1, .comm = "task", .process = &process};
	struct profiled *p = calloc(1, sizeof(*p));

	assert_int_equal(attar_symbols_new(&opts, &p->symbols), 0);
	p->space = attar_address_space_new(p->symbols, 1 << 30);
	assert_int_equal(attar_address_space_map(p->space, &mapping), 0);
	assert_int_equal(stack_space_init(&p->stacks), 0);
	functions_init(&p->functions, p->symbols);
	p->task = stack_space_task(&p->stacks, &thread);
	*state = p;
	return 0;
}

static int stop(void **state)
{
	struct profiled *p = *state;

	samples_done(&p->samples);
	functions_done(&p->functions);
	stack_space_done(&p->stacks);
	attar_address_space_free(p->space);
	attar_symbols_free(p->symbols);
	free(p);
	return 0;
}

/* Frees the text. */
static void expect(struct attar_report *report, const char *format, const char *const *lines)
{
	char *text = draw_one(format, (struct attar_render_opts){0}, report);

	for (; *lines; lines++)
		if (!strstr(text, *lines))
			fail_msg("'%s' is not in:\n%s", *lines, text);
	free(text);
}

static struct stack_report report_of(struct profiled *p, struct attar_report *report, bool tree)
{
	struct stack_report sr = {.space = &p->stacks,
		.functions = &p->functions,
		.samples = &p->samples,
		.weight = "samples"};

	assert_int_equal(stack_report_table(&sr, report), 0);
	if (tree)
		assert_int_equal(stack_report_tree(&sr, report), 0);
	stack_report_done(&sr);
	return sr;
}

/*
 * Of 1000 samples, 10 ran at one address and 200 passed through another, twice by recursion. 988
 * are spread over addresses of which none has 0.5%.
 */
static void test_hot_addresses_are_listed_separately(void **state)
{
	static const char *const table[] = {
		",98.8,98.8,988,task,/nowhere/libx.so.6,[unknown]\n",
		",1,1,10,task,/nowhere/libx.so.6,libx.so.6+0x9f3c1\n",
		",0.2,0.2,2,task,[unknown],[no stack]\n",
		",0,20,0,task,/nowhere/libx.so.6,libx.so.6+0x5010\n",
		NULL,
	};
	static const char *const stacks[] = {
		"task;libx.so.6+0x9f3c1 10\n",
		"task;libx.so.6+0x5010;libx.so.6+0x5010;[unknown] 200\n",
		"task;[unknown] 788\n",
		NULL,
	};
	struct attar_report *report = attar_report_new("table"), *tree = attar_report_new("tree");
	struct profiled *p = *state;

	add(p, (uint64_t[]){0x400000 + 0x9e3c1}, 1, 10);
	add(p, (uint64_t[]){0x402000}, 1, 4);
	for (uint64_t i = 0; i < 492; i++)
		add(p, (uint64_t[]){0x410000 + i, 0x404010, 0x404010}, i < 100 ? 3 : 1, 2);
	add(p, NULL, 0, 2);
	assert_int_equal(p->samples.total, 1000);
	assert_true(report_of(p, report, false).unresolved == 1);
	report_of(p, tree, true);
	expect(report, "csv", table);
	expect(tree, "folded", stacks);
}

enum { CALLS = 3, DEPTH = 4, STACKS = CALLS * CALLS * CALLS * CALLS };

/* Stack i calls by the digits of i, of which the last i % (DEPTH + 1) are left out. */
static size_t make_stack(unsigned i, uint64_t ips[DEPTH], char *text, size_t size)
{
	size_t n = DEPTH - i % (DEPTH + 1), used = 0;

	for (size_t depth = 0; depth < n; depth++, i /= CALLS) {
		ips[n - 1 - depth] = 0x400000 + i % CALLS;
		used += (size_t)snprintf(text + used, size - used, ";libx.so.6+0x100%u", i % CALLS);
	}
	return n;
}

/* In any order, each stack has its weight: also parts of others, and those that differ early. */
static void test_stacks_keep_their_weights(void **state)
{
	static char want[STACKS][128];
	const char *lines[STACKS + 1] = {0};
	struct attar_report *tree = attar_report_new("tree");
	struct profiled *p = *state;
	size_t n_lines = 0;

	for (unsigned i = 0; i < STACKS; i++) {
		uint64_t ips[DEPTH];
		unsigned number = i * 7 % STACKS, weight = 0;
		char text[100] = "", other[100];

		add(p, ips, make_stack(number, ips, text, sizeof(text)), 1 + number);
		for (unsigned j = 0; j < STACKS; j++) {
			*other = '\0';
			make_stack(j, ips, other, sizeof(other));
			weight += strcmp(text, other) ? 0 : 1 + j;
		}
		snprintf(want[i], sizeof(want[i]), "task%s %u\n", *text ? text : ";[no stack]",
			weight);
		if (*text)
			lines[n_lines++] = want[i];
	}
	report_of(p, tree, true);
	expect(tree, "folded", lines);
}

/* The name of an address does not change between reports; an address without a file has none. */
static void test_separate_addresses_stay_separate(void **state)
{
	static const char *const first[] = {
		",66.66666666666667,66.66666666666667,200,task,[unknown],[unknown]\n",
		",33.333333333333336,33.333333333333336,100,task,/nowhere/"
		"libx.so.6,libx.so.6+0x1000\n",
		NULL,
	};
	static const char *const second[] = {
		",99.9,99.9,999,task,[unknown],[unknown]\n",
		",0.1,0.1,1,task,/nowhere/libx.so.6,libx.so.6+0x1000\n",
		NULL,
	};
	struct attar_report *report = attar_report_new("first");
	struct profiled *p = *state;

	add(p, (uint64_t[]){0x400000}, 1, 100);
	add(p, (uint64_t[]){0x1000}, 1, 200);
	report_of(p, report, false);
	expect(report, "csv", first);
	samples_reset(&p->samples);
	report = attar_report_new("second");
	add(p, (uint64_t[]){0x400000}, 1, 1);
	add(p, (uint64_t[]){0x1000}, 1, 999);
	report_of(p, report, false);
	expect(report, "csv", second);
}

/* Single events show every address. */
static void test_lines_show_every_address(void **state)
{
	struct attar_report *report = attar_report_new("lines");
	struct attar_section *lines = attar_report_events(report, "events");
	static const char *const want[] = {
		"9f3c1 libx.so.6+0x9f3c1 (/nowhere/libx.so.6)",
		"7777 [unknown] ([unknown])",
		NULL,
	};
	struct profiled *p = *state;
	attar_location locations[] = {attar_address_space_locate(p->space, 0x400000 + 0x9e3c1),
		attar_address_space_locate(p->space, 0x7776)}; /* of the call */

	attar_section_column(lines, "n", ATTAR_UNIT_COUNT);
	attar_section_row(lines);
	attar_cell_u64(lines, 1);
	attar_row_stack(lines, p->symbols, locations, 2);
	expect(report, "text", want);
}

/* A program with ever new stacks cannot make a report grow without a limit. */
static void test_lines_of_stacks_are_limited(void **state)
{
	enum { DEPTH = 256, LINES = 1 << 18, ROWS = LINES / DEPTH };
	struct attar_report *report = attar_report_new("stacks");
	struct attar_section *table = attar_report_table(report, "stacks");
	attar_location locations[DEPTH];
	struct profiled *p = *state;

	for (int i = 0; i < DEPTH; i++)
		locations[i] = attar_address_space_locate(p->space, 0x1000);
	attar_section_column(table, "n", ATTAR_UNIT_COUNT);
	for (uint64_t i = 0; i < ROWS + 2; i++) {
		attar_section_row(table);
		attar_cell_u64(table, i);
		attar_row_stack(table, p->symbols, locations, DEPTH);
		assert_int_equal(report->remarks.n, i >= ROWS);
	}
	attar_row_stack(table, p->symbols, locations, 1);
	assert_int_equal(table->details.n, LINES);
	assert_string_equal(report_text(report, report->remarks.at[0]),
		"stacks: rows from 1025 on have no stack, because the stacks of a table have at "
		"most 262144 lines");
	assert_int_equal(table->rows, ROWS + 2);
	report_clear_rows(report);
	attar_section_row(table);
	attar_cell_u64(table, 1);
	attar_row_stack(table, p->symbols, locations, 1);
	assert_int_equal(table->details.n, 1);
	attar_report_free(report);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_hot_addresses_are_listed_separately),
		CASE(test_stacks_keep_their_weights),
		CASE(test_separate_addresses_stay_separate),
		CASE(test_lines_show_every_address),
		CASE(test_lines_of_stacks_are_limited),
	};

	return cmocka_run_group_tests_name("stackreport", tests, NULL, NULL);
}
