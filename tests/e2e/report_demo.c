/* SPDX-License-Identifier: MIT */
/*
 * report_demo KIND FORMAT [NUMBER]: prints a report with known contents, to test the renderers.
 * NUMBER is the seed of "random" and the number of stacks of "many".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/report.h"
#include "attar/report.h"

static uint64_t state;

/* SplitMix64: the same on every machine. */
static uint64_t rnd(uint64_t below)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % below;
}

static void finish(struct attar_report *report, uint64_t seen)
{
	struct attar_notes notes = {seen, 0, 0, 0.0125, 0.008, 10276044};

	attar_report_interval(report, 1700000000000000000, 5000000000);
	attar_report_remark(report, "cycles are not available: cpu-clock was sampled");
	attar_report_notes(report, &notes);
}

static void functions(struct attar_report *report)
{
	static const struct {
		double self, total;
		const char *comm, *dso, *symbol;
	} rows[] = {
		{39.5, 65, "split", "split", "hot"},
		{30, 30, "split", "split", "cold"},
		{20, 20, "split", "[kernel]", "sys_read"},
		{5.5, 5.5, "node", "perf-77.map", "LazyCompile:~run app.js:3"},
		{5, 100, "split", "split", "main"},
	};
	struct attar_section *t = attar_report_table(report, "functions");

	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "total", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "dso", ATTAR_UNIT_TEXT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		attar_section_row(t);
		attar_cell_double(t, rows[i].self);
		attar_cell_double(t, rows[i].total);
		attar_cell_text(t, rows[i].comm);
		attar_cell_text(t, rows[i].dso);
		attar_cell_text(t, rows[i].symbol);
	}
}

/*
 * 1,000 samples of two processes, one with two threads:
 *	split 100 (650): thread 100 (450), thread 101 (200); node 77 (350)
 */
static void split(struct attar_report *report)
{
	struct attar_section *s = attar_report_tree(report, "samples", ATTAR_UNIT_COUNT);
	uint32_t process = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "split", NULL, 0);
	uint32_t one = attar_tree_node(s, process, ATTAR_FRAME_TASK, "split-main", NULL, 0);
	uint32_t two = attar_tree_node(s, process, ATTAR_FRAME_TASK, "split-worker", NULL, 0);
	uint32_t node = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "node", NULL, 0);
	uint32_t main = attar_tree_node(s, one, ATTAR_FRAME_USER, "main", "split", 50);
	uint32_t hot = attar_tree_node(s, main, ATTAR_FRAME_USER, "hot", "split", 100);
	uint32_t start = attar_tree_node(s, two, ATTAR_FRAME_USER, "start_thread", "libc.so.6", 0);
	uint32_t cold = attar_tree_node(s, start, ATTAR_FRAME_USER, "cold", "split", 150);
	uint32_t js = attar_tree_node(
		s, node, ATTAR_FRAME_JIT, "LazyCompile:~run app.js:3", "perf-77.map", 100);

	attar_tree_node(s, hot, ATTAR_FRAME_INLINED, "mix", "split", 100);
	attar_tree_node(s, hot, ATTAR_FRAME_KERNEL, "sys_read", "[kernel]", 200);
	attar_tree_node(s, cold, ATTAR_FRAME_USER, "hot", "split", 50);
	attar_tree_node(s, js, ATTAR_FRAME_UNKNOWN, "0x7f0012345678", NULL, 250);
	attar_tree_task(s, node, 77, 0);
	attar_tree_task(s, process, 100, 0);
	attar_tree_task(s, one, 100, 100);
	attar_tree_task(s, two, 100, 101);
	attar_tree_code(s, main, 0x1160, "0123456789abcdef", 1700000000000000001);
	attar_tree_code(s, hot, 0x1240, NULL, 0);
}

/* Two labels at ten seconds; the second has no value at the sixth. */
static void series(struct attar_report *report)
{
	struct attar_section *s = attar_report_time_series(report, "activity");

	attar_section_column(s, "switches", ATTAR_UNIT_COUNT);
	attar_section_column(s, "wait", ATTAR_UNIT_NS);
	for (uint64_t i = 0; i < 10; i++) {
		attar_time_series_point(s, (1700000000 + i) * 1000000000);
		attar_cell_u64(s, 100 * i);
		if (i != 5)
			attar_cell_double(s, 250000 + 1000.5 * (double)(i % 3));
	}
}

/* Every kind of section. */
static void make_split(struct attar_report *report, uint64_t number)
{
	struct attar_section *h, *e;

	functions(report);
	split(report);
	h = attar_report_histogram(report, "latency", ATTAR_UNIT_NS);
	for (int i = 0; i < 8; i++)
		attar_histogram_bucket(h, 1000 << i, 2000 << i, (uint64_t)(i * (8 - i)) * 1000);
	attar_histogram_summary(h, 84000, 3.5e9, 1500, 255000);
	attar_histogram_quantile(h, 0.5, 16000);
	attar_histogram_quantile(h, 0.95, 120000);
	attar_histogram_quantile(h, 0.99, 240000);
	series(report);
	e = attar_report_events(report, "wakeups");
	attar_section_column(e, "time", ATTAR_UNIT_TIME);
	attar_section_column(e, "pid", ATTAR_UNIT_ID);
	attar_section_column(e, "address", ATTAR_UNIT_HEX);
	attar_section_row(e);
	attar_cell_u64(e, 1700000000123456789);
	attar_cell_u64(e, 12345);
	attar_cell_u64(e, 0xffffffff81000000);
	attar_row_detail(e, "main+0x17 (split)");
	attar_row_detail(e, "_start+0x2e (split)");
	finish(report, 1000);
}

static void make_tables(struct attar_report *report, uint64_t number)
{
	functions(report);
	finish(report, 1000);
}

/* Durations that sort differently as text, a gap, and integers beyond the range of doubles. */
static void make_numbers(struct attar_report *report, uint64_t number)
{
	static const char *const names[] = {"beta", "Alpha", "gamma", "none", "big"};
	static const uint64_t waits[] = {9000, 100000, 10000, 0, 2500000};
	struct attar_section *t = attar_report_table(report, "numbers");

	attar_section_column(t, "name", ATTAR_UNIT_TEXT);
	attar_section_column(t, "wait", ATTAR_UNIT_NS);
	attar_section_column(t, "change", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < 5; i++) {
		attar_section_row(t);
		attar_cell_text(t, names[i]);
		if (waits[i])
			attar_cell_u64(t, waits[i]);
		else
			attar_cell_none(t);
		if (i == 4)
			attar_cell_u64(t, UINT64_MAX);
		else
			attar_cell_i64(t, (int64_t[]){3, -1000, 20, 0}[i]);
	}
	finish(report, 5);
}

static void make_empty(struct attar_report *report, uint64_t number)
{
	attar_report_tree(report, "samples", ATTAR_UNIT_COUNT);
	finish(report, 0);
}

static void make_hostile(struct attar_report *report, uint64_t number)
{
	static const char *const names[] = {
		"</script><script>document.title='PWN'</script>",
		"<!--<script>",
		"\" onmouseover=\"alert(1)",
		"'; alert(1); '",
		"\\u003c\\\"\\",
		"\033]0;PWN\007",
		"a\nb\tc\r",
		"\xff\xfe\x80 bad \xed\xa0\x80",
		"=HYPERLINK(\"http://x\")",
		"semi;colon 17",
		"<img src=x onerror=alert(1)>",
		"${alert(1)}`",
		"\u202eright to left",
		"漢字 😀 e\u0301",
		"__proto__",
		"constructor",
		"",
	};
	struct attar_section *s = attar_report_tree(report, names[0], ATTAR_UNIT_NS);
	struct attar_section *t = attar_report_table(report, names[10]);
	struct attar_section *h = attar_report_histogram(report, names[0], ATTAR_UNIT_NS);
	struct attar_section *series = attar_report_time_series(report, names[1]);
	uint32_t root = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, names[0], NULL, 0);
	char big[10001];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	attar_section_column(t, names[3], ATTAR_UNIT_TEXT);
	attar_section_column(t, names[0], ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		attar_tree_node(
			s, root, (enum attar_frame_kind)(i % 5), names[i], names[16 - i], i + 1);
		attar_section_row(t);
		attar_cell_text(t, names[i]);
		attar_cell_u64(t, UINT64_MAX - i);
	}
	attar_tree_node(s, root, ATTAR_FRAME_USER, big, big, 1000);
	attar_tree_code(s, 1, UINT64_MAX, "ff", UINT64_MAX);
	attar_histogram_bucket(h, -1.0 / 0.0, 0, 0);
	attar_histogram_bucket(h, 0, 0.0 / 0.0, UINT64_MAX);
	attar_histogram_summary(h, UINT64_MAX, 0.0 / 0.0, -1.0 / 0.0, 1.0 / 0.0);
	attar_histogram_quantile(h, 0.5, 0.0 / 0.0);
	attar_section_column(series, names[0], ATTAR_UNIT_NS);
	attar_section_column(series, names[2], ATTAR_UNIT_COUNT);
	for (uint64_t i = 0; i < 3; i++) {
		attar_time_series_point(series, UINT64_MAX * (i % 2));
		attar_cell_double(series, (double[]){0.0 / 0.0, 1 / 0.0, 1e300}[i]);
		attar_cell_text(series, names[10]);
	}
	attar_report_remark(report, "%s", names[0]);
	finish(report, UINT64_MAX);
}

/*
 * Stacks like those of a large C++ service: 4,000 functions with long names, each calling up to six
 * others, 12 to 40 frames deep; `number` distinct ones.
 */
struct many {
	struct attar_section *s;
	char names[4000][120];
	uint32_t *children; /* of node n, by which of six calls: n * 6 + call; 0 none */
	uint8_t *leaf;
};

static void name_functions(struct many *m)
{
	static const char *const parts[] = {"storage", "detail", "executor", "net", "Session",
		"Handler", "query", "Planner", "index", "BTree", "cache", "Shard"};

	for (int i = 0; i < 4000; i++)
		snprintf(m->names[i], sizeof(m->names[i]),
			"acme::%s::%s::%s_%d(acme::%s const&, std::vector<acme::%s>&)",
			parts[rnd(12)], parts[rnd(12)], parts[rnd(12)], i, parts[rnd(12)],
			parts[rnd(12)]);
}

static uint32_t function_called(uint32_t caller, uint32_t call)
{
	return (caller * 2654435761u + call * 40503u + 12345u) % 4000;
}

/* One random stack. Returns true if it is new. */
static bool add_stack(struct many *m, size_t *n)
{
	uint32_t node = (uint32_t)rnd(4), function = node, depth = 12 + (uint32_t)rnd(29);

	for (uint32_t i = 0; i < depth; i++) {
		uint32_t call = (uint32_t)(rnd(6) * rnd(2)), *child = &m->children[node * 6 + call];

		function = function_called(function, call);
		if (!*child)
			*child = attar_tree_node(m->s, node,
				i + 2 > depth && function % 5 == 0 ? ATTAR_FRAME_KERNEL
								   : ATTAR_FRAME_USER,
				m->names[function], function % 3 ? "service" : "libacme.so",
				i + 1 == depth ? 1 + rnd(20) : 0);
		else if (i + 1 == depth)
			return false;
		node = *child;
	}
	*n = node;
	return true;
}

static void make_many(struct attar_report *report, uint64_t number)
{
	struct many *m = calloc(1, sizeof(*m));
	size_t room = number * 41 + 4, last;

	m->s = attar_report_tree(report, "samples", ATTAR_UNIT_COUNT);
	m->children = calloc(room * 6, sizeof(*m->children));
	name_functions(m);
	for (uint32_t i = 0; i < 4; i++) {
		attar_tree_node(m->s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK,
			(const char *[]){"service", "proxy", "cron", "bash"}[i], NULL, 0);
		attar_tree_task(m->s, i, 100 + i, 100 + i);
	}
	for (uint64_t i = 0; i < number;)
		i += add_stack(m, &last);
	finish(report, number);
	free(m->children);
	free(m);
}

/* One stack of depth `number`. */
static void make_deep(struct attar_report *report, uint64_t number)
{
	struct attar_section *s = attar_report_tree(report, "samples", ATTAR_UNIT_COUNT);
	uint32_t node = attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "deep", NULL, 0);
	char name[32];

	for (uint64_t i = 0; i < number; i++) {
		snprintf(name, sizeof(name), "recurse %u", (unsigned)i);
		node = attar_tree_node(s, node, ATTAR_FRAME_USER, name, "deep", i + 1 == number);
	}
	finish(report, number);
}

/* Any bytes except NUL, or words from a small set so that names repeat. */
static void random_name(char *name, size_t size)
{
	size_t n = rnd(4) ? rnd(12) : rnd(size - 1);

	for (size_t i = 0; i < n; i++)
		name[i] = (char)(rnd(3) ? "abAB:<>\";,= \\_0"[rnd(15)] : 1 + rnd(255));
	name[n] = '\0';
}

static double random_double(void)
{
	uint64_t bits = (rnd(UINT32_MAX) << 32) | rnd(UINT32_MAX);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return rnd(4) ? (double)rnd(10000) / 100 : value;
}

static void random_cell(struct attar_section *s)
{
	char name[400];

	switch (rnd(5)) {
	case 0:
		attar_cell_u64(s, rnd(2) ? rnd(1000) : UINT64_MAX - rnd(1000));
		break;
	case 1:
		attar_cell_i64(s, (int64_t)(rnd(2) ? 0 - rnd(1000) : INT64_MIN + rnd(1000)));
		break;
	case 2:
		attar_cell_double(s, random_double());
		break;
	case 3:
		random_name(name, sizeof(name));
		attar_cell_text(s, name);
		break;
	default:
		attar_cell_none(s);
	}
}

static void random_rows(struct attar_section *s)
{
	uint32_t columns = 1 + (uint32_t)rnd(6), rows = (uint32_t)rnd(12);
	char name[400];

	for (uint32_t i = 0; i < columns; i++) {
		random_name(name, sizeof(name));
		attar_section_column(s, name, (enum attar_unit)rnd(9));
	}
	for (uint32_t row = 0; row < rows; row++) {
		attar_section_row(s);
		for (uint32_t i = (uint32_t)rnd(columns + 1); i-- > 0;)
			random_cell(s);
		for (uint32_t i = (uint32_t)(rnd(3) * rnd(2)); i-- > 0;) {
			random_name(name, sizeof(name));
			attar_row_detail(s, name);
		}
	}
}

static void random_tree(struct attar_section *s)
{
	uint32_t n = 1 + (uint32_t)rnd(300);
	char name[400], module[400];

	for (uint32_t i = 0; i < n; i++) {
		enum attar_frame_kind kind = (enum attar_frame_kind)rnd(6);
		uint32_t parent =
			i && rnd(20) ? i - 1 - (uint32_t)rnd(i < 9 ? i : 9) : ATTAR_TREE_ROOT;

		random_name(name, sizeof(name) - 8);
		random_name(module, rnd(2) ? 3 : sizeof(module));
		snprintf(name + strlen(name), 8, "%u",
			i % 50); /* few have the same name below one parent */
		attar_tree_node(
			s, parent, kind, name, rnd(3) ? module : NULL, rnd(3) * rnd(50) * 7);
		if (kind == ATTAR_FRAME_TASK)
			attar_tree_task(s, i, (uint32_t)rnd(5), (uint32_t)rnd(5));
		else if (rnd(9) == 0)
			attar_tree_code(
				s, i, rnd(UINT64_MAX), rnd(2) ? "00ff" : NULL, rnd(UINT64_MAX));
	}
	tree_cutoff(s, (double)rnd(100) / 1000);
}

static void random_histogram(struct attar_section *s)
{
	for (uint64_t n = rnd(20), low = 0, width; n-- > 0; low += width) {
		width = 1 + rnd(1000);
		attar_histogram_bucket(s, (double)low, (double)(low + width),
			rnd(3) ? rnd(1000) : UINT64_MAX - rnd(5));
	}
	if (rnd(2))
		attar_histogram_summary(
			s, rnd(1000), random_double(), random_double(), random_double());
	for (uint64_t percent = rnd(100); percent < 100; percent += 1 + rnd(60))
		attar_histogram_quantile(s, (double)percent / 100, random_double());
}

static void random_series(struct attar_section *s)
{
	uint32_t labels = (uint32_t)rnd(6);
	uint64_t time = rnd(3) ? 1700000000000000000 : 0;
	char name[400];

	for (uint32_t i = 0; i < labels; i++) {
		random_name(name, sizeof(name));
		attar_section_column(s, name, (enum attar_unit)rnd(9));
	}
	for (uint64_t n = rnd(40); n-- > 0; time += rnd(3000000000)) {
		attar_time_series_point(s, time);
		for (uint32_t i = (uint32_t)rnd(labels + 1); i-- > 0;)
			random_cell(s);
	}
}

static void make_random(struct attar_report *report, uint64_t number)
{
	char name[400];

	for (uint64_t sections = 1 + rnd(4); sections-- > 0;) {
		random_name(name, sizeof(name));
		if (rnd(2))
			random_rows(rnd(2) ? attar_report_table(report, name)
					   : attar_report_events(report, name));
		if (rnd(3) == 0)
			random_histogram(attar_report_histogram(
				report, name, (enum attar_unit)(1 + rnd(8))));
		if (rnd(3) == 0)
			random_series(attar_report_time_series(report, name));
	}
	random_tree(attar_report_tree(report, "samples", (enum attar_unit)rnd(9)));
	random_name(name, sizeof(name));
	attar_report_remark(report, "%s", name);
	finish(report, rnd(1000));
}

static int draw(struct attar_report *report, const char *format)
{
	const char *columns = getenv("COLUMNS");
	struct attar_render_opts opts = {
		.size = sizeof(opts),
		.columns = columns ? (unsigned)atoi(columns) : 0,
		.command = "attar profile -F 997 -g -- ./split",
	};
	struct attar_renderer *renderer;
	int n = attar_renderer_new(format, stdout, &opts, &renderer);

	if (n == 0) {
		n = attar_renderer_draw(renderer, report);
		attar_renderer_free(renderer);
	}
	if (n < 0)
		fprintf(stderr, "report_demo: %s\n", attar_error());
	return n < 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct attar_report *report, uint64_t number);
	} kinds[] = {
		{"split", make_split},
		{"tables", make_tables},
		{"numbers", make_numbers},
		{"empty", make_empty},
		{"hostile", make_hostile},
		{"many", make_many},
		{"random", make_random},
		{"deep", make_deep},
	};
	struct attar_report *report = attar_report_new("profile");
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	int status = 2;

	if (!report)
		return 1;
	state = number;
	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		kinds[i].make(report, number);
		status = draw(report, argv[2]);
	}
	if (status == 2)
		fprintf(stderr,
			"usage: report_demo split|tables|empty|hostile|many|deep|random FORMAT "
			"[NUMBER]\n");
	attar_report_free(report);
	return status;
}
