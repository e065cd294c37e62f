/* SPDX-License-Identifier: MIT */
/* Event texts: their results, and the messages for invalid ones. */
#include "unit.h"

#include <stdio.h>

#include <linux/hw_breakpoint.h>

#include "attar/event.h"
#include "base/buf.h"
#include "event/generic_events.h"
#include "events.h"

static struct attar_catalog *catalog;

static int setup(void **state)
{
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1); /* read by libpfm4 when it is first used */
	return attar_catalog_new(
		&(struct attar_catalog_opts){
			.size = sizeof(struct attar_catalog_opts), .mount = true},
		&catalog);
}

static int teardown(void **state)
{
	catalog = attar_catalog_free(catalog);
	return 0;
}

static struct attar_event_list *parse(const char *text)
{
	return events_parse(catalog, text);
}

static void refuse(const char *text, int code, const char *sentence)
{
	events_refuse(catalog, text, code, sentence);
}

static void expect(const char *text, uint32_t type, uint64_t config)
{
	struct attar_event_list *list = parse(text);

	assert_int_equal(list->n, 1);
	assert_string_equal(list->at[0].name, text);
	assert_int_equal(list->at[0].type, type);
	assert_int_equal(list->at[0].config, config);
	assert_int_equal(list->at[0].group, -1);
	attar_event_list_free(list);
}

static void test_generic(void **state)
{
	expect("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	expect("cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	expect("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	expect("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	expect("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES);
	expect("idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
	expect("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	expect("faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	expect("task-clock:u", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	expect("r1a8", PERF_TYPE_RAW, 0x1a8);
	expect("rFFFFFFFFFFFFFFFF", PERF_TYPE_RAW, UINT64_MAX);
	expect("4:0x1a8:k", PERF_TYPE_RAW, 0x1a8);
	expect("1:3", PERF_TYPE_SOFTWARE, 3);
}

/* All generic names of the kernel's two lists, with the numbers of its ABI. */
static void test_generic_numbers(void **state)
{
	static const char *const names[2][12] = {
		{"cycles", "instructions", "cache-references", "cache-misses", "branches",
			"branch-misses", "bus-cycles", "stalled-cycles-frontend",
			"stalled-cycles-backend", "ref-cycles"},
		{"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
			"minor-faults", "major-faults", "alignment-faults", "emulation-faults",
			"dummy", "bpf-output", "cgroup-switches"},
	};
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} others[] = {{"cpu-cycles", 0, 0}, {"branch-instructions", 0, 4},
		{"idle-cycles-frontend", 0, 7}, {"idle-cycles-backend", 0, 8}, {"faults", 1, 2},
		{"cs", 1, 3}, {"migrations", 1, 4}};

	for (uint32_t type = 0; type < 2; type++)
		for (uint64_t i = 0; i < 12 && names[type][i]; i++)
			expect(names[type][i], type, i);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect(others[i].name, others[i].type, others[i].config);
}

static uint64_t cache(const char *text)
{
	uint64_t config = UINT64_MAX;

	names_cache(text, strlen(text), &config);
	return config;
}

static void test_caches(void **state)
{
	char name[NAMES_CACHE_LEN], about[64];
	uint64_t config;
	unsigned n = 0;

	expect("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	expect("LLC-stores", PERF_TYPE_HW_CACHE, 0x102);
	expect("dTLB-load-misses:u", PERF_TYPE_HW_CACHE, 0x10003);
	expect("node-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10206);
	assert_int_equal(cache("l1d-read-miss"), 0x10000);
	assert_int_equal(cache("L1-data-misses-load"), 0x10000);
	assert_int_equal(cache("L1-dcache"), 0);
	assert_int_equal(cache("L2-misses"), 0x10002);
	assert_int_equal(cache("Data-TLB-speculative-read"), 0x203);
	assert_int_equal(cache("bpu"), 5);
	assert_int_equal(cache("LLC-loads-ops"), 2);
	/* Operations that a cache lacks, and invalid names. */
	assert_int_equal(cache("iTLB-stores"), UINT64_MAX);
	assert_int_equal(cache("L1-dcache-"), UINT64_MAX);
	assert_int_equal(cache("L1-dcacheloads"), UINT64_MAX);
	assert_int_equal(cache("L1-dcache-loads-stores"), UINT64_MAX);
	assert_int_equal(cache("L1"), UINT64_MAX);
	for (; names_cache_at(n, name, about, &config); n++)
		assert_int_equal(cache(name), config);
	assert_int_equal(n, 2 * (3 + 2 + 3 + 3 + 1 + 1 + 3));
	assert_true(n <= NAMES_CACHE_MAX);
}

static void test_modifiers(void **state)
{
	struct attar_event_list *list =
		parse("cycles:u,instructions:kppI,branches:GDe,{cs:u,faults}:SWH");
	const struct attar_event_spec *e = list->at;
	struct perf_event_attr attr = {.sample_period = 7};

	assert_int_equal(list->n, 5);
	assert_true(!e[0].exclude_user && e[0].exclude_kernel && e[0].exclude_hv &&
		    !e[0].exclude_guest);
	assert_true(
		e[1].exclude_user && !e[1].exclude_kernel && e[1].exclude_hv && e[1].exclude_idle);
	assert_int_equal(e[1].precise_ip, 2);
	assert_true(e[2].exclude_host && !e[2].exclude_guest && e[2].pinned && e[2].exclusive);
	assert_true(!e[2].exclude_user && !e[2].exclude_kernel);
	assert_true(
		e[3].sample_read && e[3].weak_group && e[3].exclude_guest && e[3].exclude_kernel);
	assert_true(e[4].sample_read && !e[4].exclude_kernel);
	assert_string_equal(e[3].name, "cs:uSWH");
	assert_string_equal(e[4].name, "faults:SWH");
	assert_int_equal(e[0].group, -1);
	assert_int_equal(e[3].group, 0);
	assert_int_equal(e[4].group, 0);
	assert_int_equal(list->n_groups, 1);
	assert_int_equal(e[4].column, 47);
	assert_int_equal(e[4].item, 4);
	assert_int_equal(attar_event_spec_attr(&e[1], &attr, sizeof(attr)), 0);
	assert_int_equal(attr.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(attr.size, sizeof(attr));
	assert_int_equal(attr.precise_ip, 2);
	assert_true(attr.exclude_user && attr.exclude_idle && !attr.exclude_kernel);
	assert_int_equal(attr.sample_period, 7); /* values that are not the spec's are unchanged */
	attar_event_list_free(list);
}

static void test_attr_sizes(void **state)
{
	struct attar_event_spec spec = {
		.type = 9, .config = 1, .config2 = 2, .config3 = 3, .config4 = 4};
	unsigned char bytes[200];

	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(attar_event_spec_attr(&spec, bytes, sizeof(bytes)), 0);
	assert_int_equal(bytes[128], 3);
	assert_int_equal(bytes[136], 4);
	assert_int_equal(bytes[4], 200);
	assert_int_equal(attar_event_spec_attr(&spec, bytes, 136), -E2BIG);
	spec.config4 = 0;
	assert_int_equal(attar_event_spec_attr(&spec, bytes, 136), 0);
	assert_int_equal(attar_event_spec_attr(&spec, bytes, 128), -E2BIG);
	assert_string_equal(attar_error(), "the event needs config3 (kernel 6.3): perf_event_attr "
					   "must have at least 136 bytes, not 128");
}

static void test_breakpoints(void **state)
{
	struct attar_event_list *list =
		parse("mem:0x1000/8:w:u,mem:4096,mem:0xffffffff81000000:x,mem:0x10:k");
	const struct attar_event_spec *e = list->at;

	assert_int_equal(list->n, 4);
	assert_int_equal(e[0].type, PERF_TYPE_BREAKPOINT);
	assert_int_equal(e[0].bp_type, HW_BREAKPOINT_W);
	assert_int_equal(e[0].config1, 0x1000);
	assert_int_equal(e[0].config2, 8);
	assert_true(e[0].exclude_kernel);
	assert_string_equal(e[0].name, "mem:0x1000/8:w:u");
	assert_int_equal(e[1].bp_type, HW_BREAKPOINT_RW);
	assert_int_equal(e[1].config1, 4096);
	assert_int_equal(e[1].config2, 4);
	assert_int_equal(e[2].bp_type, HW_BREAKPOINT_X);
	assert_int_equal(e[2].config1, 0xffffffff81000000);
	assert_int_equal(e[2].config2, sizeof(long));
	assert_true(e[3].exclude_user && e[3].bp_type == HW_BREAKPOINT_RW);
	attar_event_list_free(list);
	refuse("mem:0x1000/9", -EINVAL,
		"column 12: the length of a breakpoint must be 1 to 8 bytes, not 9");
	refuse("mem:0x1000:rx", -EINVAL,
		"column 12: a breakpoint is either for execution (x) or for data (r, w, "
		"rw)");
	refuse("mem:main", -EINVAL, "column 5: 'main' is not a number");
	refuse("mem:0x1000/4:x", -EINVAL,
		"column 1: an execute breakpoint must have no length, or length 8");
}

static void test_error_messages(void **state)
{
	refuse("", -EINVAL, "column 1: expected an event at the end");
	refuse("cycles,", -EINVAL, "column 8: expected an event at the end");
	refuse("cycles,,faults", -EINVAL, "column 8: expected an event before ','");
	refuse("cycles, cycels", -ENOENT,
		"column 9: no event 'cycels': did you mean 'cycles'?");
	refuse("L1-dcache-load-mises", -ENOENT,
		"column 1: no event 'L1-dcache-load-mises': did you mean "
		"'L1-dcache-load-misses'?");
	refuse("qqqqqqqqqqq", -ENOENT,
		"column 1: no event 'qqqqqqqqqqq': see 'attar list'");
	refuse("cycles:ux", -EINVAL,
		"column 9: 'x' is not a modifier: use one of ukhGHpPSDeIW (u user, k "
		"kernel, p precise ...)");
	refuse("cycles:", -EINVAL,
		"column 7: expected modifiers (such as u or k) after ':'");
	refuse("cycles:pppp", -EINVAL,
		"column 1: more than three p modifiers: ppp is the highest precision");
	refuse("{cycles,faults", -EINVAL, "column 1: missing '}' for this '{'");
	refuse("{cycles faults}", -EINVAL, "column 9: expected ',' or '}'");
	refuse("cycles faults", -EINVAL, "column 8: expected ',' before 'faults'");
	refuse("{}", -EINVAL, "column 2: expected an event before '}'");
	refuse("cycles}", -EINVAL, "column 7: expected ',' before '}'");
}

static void test_too_many(void **state)
{
	struct buf text = {0};

	for (int i = 0; i < 16384; i++)
		buf_str(&text, i ? ",cs" : "cs");
	attar_event_list_free(parse(buf_text(&text)));
	buf_str(&text, ",cs");
	refuse(buf_text(&text), -E2BIG, "column 49153: more than 16384 events");
	buf_done(&text);
}

/* ---- tracepoints of this machine ---- */

static bool has_tracefs(void)
{
	const char *path;

	return attar_catalog_tracefs(catalog, &path) == 0;
}

static void test_tracepoints(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	if (!has_tracefs())
		skip();
	list = parse("sched:sched_switch,{sched:sched_wakeup:u,cs}, sched:sched_process_*");
	e = list->at;
	assert_true(list->n > 5);
	assert_int_equal(e[0].type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(e[0].config, e[0].format->id);
	assert_string_equal(e[0].name, "sched:sched_switch");
	assert_string_equal(e[1].name, "sched:sched_wakeup:u");
	assert_true(e[1].exclude_kernel);
	assert_int_equal(e[1].group, 0);
	assert_int_equal(e[2].group, 0);
	for (size_t i = 3; i < list->n; i++) {
		assert_memory_equal(e[i].name, "sched:sched_process_", 20);
		assert_int_equal(e[i].item, 3);
	}
	attar_event_list_free(list);
	refuse("sched:sched_swich", -ENOENT,
		"column 1: no tracepoint 'sched:sched_swich': did you mean "
		"'sched:sched_switch'?");
	refuse("cycles,sched:zz*", -ENOENT, "column 8: no tracepoint matches 'sched:zz*'");
	refuse("sched:", -EINVAL,
		"column 7: the syntax of a tracepoint is system:name, such as "
		"sched:sched_switch");
	refuse(":x", -EINVAL,
		"column 2: the syntax of a tracepoint is system:name, such as "
		"sched:sched_switch");
}

static void test_parts(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	if (!has_tracefs())
		skip();
	list = parse("sched:sched_wakeup/prio<10 && comm==\"a/b,c\"/stack/alias=x/key=(pid/2)/,"
		     "sched:sched_switch//alias=\"/tmp/f\"/,sched:sched_switch/'next_pid>1'/");
	e = list->at;
	assert_int_equal(list->n, 3);
	assert_string_equal(e[0].name, "x");
	assert_string_equal(e[0].filter, "prio<10 && comm==\"a/b,c\"");
	assert_int_equal(e[0].n_options, 3);
	assert_string_equal(e[0].options[0].name, "stack");
	assert_null(e[0].options[0].value);
	assert_string_equal(e[0].options[1].name, "alias");
	assert_string_equal(e[0].options[1].value, "x");
	assert_string_equal(e[0].options[2].value, "(pid/2)");
	assert_null(e[1].filter);
	assert_string_equal(e[1].options[0].value, "/tmp/f");
	assert_string_equal(e[2].filter, "next_pid>1");
	assert_int_equal(e[2].n_options, 0);
	attar_event_list_free(list);
	refuse("sched:sched_wakeup/prio<10,cs", -EINVAL,
		"column 19: missing closing '/': the syntax is "
		"EVENT/FILTER/ATTRIBUTE/.../");
	refuse("sched:sched_wakeup//9<x/", -EINVAL,
		"column 21: '9<x' is not an attribute such as stack or alias=x: a filter with a "
		"'/' needs parentheses, as in EVENT/(a/b)>1/");
}

/* Encodings for other CPUs: libpfm4 returns them on request. */
static void test_raw_names(void **state)
{
	struct attar_event_list *list = NULL;
	const struct attar_event_spec *e;

	if (attar_event_list_parse(
		    catalog, "skl::UOPS_ISSUED:ANY:u,cs,skl::INST_RETIRED:ANY_P", &list) < 0) {
		print_message("skipped: %s (libpfm.so.4 is missing?)\n", attar_error());
		skip();
	}
	e = list->at;
	assert_int_equal(list->n, 3);
	assert_int_equal(e[0].kind, ATTAR_EVENT_RAW);
	assert_int_equal(e[0].type, PERF_TYPE_RAW);
	assert_int_equal(e[0].config & 0xffff, 0x10e); /* event 0x0e, umask 0x01 */
	assert_true(e[0].exclude_kernel && !e[0].exclude_user);
	assert_string_equal(e[0].name, "skl::UOPS_ISSUED:ANY:u");
	assert_int_equal(e[1].kind, ATTAR_EVENT_SOFTWARE);
	assert_int_equal(e[2].config & 0xffff, 0xc0);
	assert_true(!e[2].exclude_kernel && !e[2].exclude_user);
	attar_event_list_free(list);
	assert_int_equal(
		attar_event_list_parse(catalog, "cs,skl::UOPS_ISSUED:NONSENSE", &list), -EINVAL);
	assert_memory_equal(attar_error(), "libpfm4 cannot encode '", 23);
	refuse("skl::NO_SUCH_EVENT", -ENOENT,
		"column 1: no event 'skl::NO_SUCH_EVENT': see 'attar list'");
}

/* Parses the names of the event, except those of libpfm4. */
static int expect_named(void *ctx, const struct attar_named_event *event)
{
	unsigned *found = ctx;

	found[event->kind]++;
	assert_true(*event->about);
	if (event->kind == ATTAR_EVENT_RAW)
		return 0;
	expect(event->name, event->type, event->config);
	if (event->alias)
		expect(event->alias, event->type, event->config);
	return 0;
}

static int stop_at_caches(void *ctx, const struct attar_named_event *event)
{
	return event->kind == ATTAR_EVENT_CACHE ? 7 : 0;
}

static void test_named_events_are_parsed_as_listed(void **state)
{
	unsigned found[ATTAR_EVENT_PROFILER + 1] = {0};

	assert_int_equal(attar_named_events(expect_named, found), 0);
	assert_int_equal(found[ATTAR_EVENT_HARDWARE], PERF_COUNT_HW_MAX);
	assert_true(found[ATTAR_EVENT_CACHE] > 20 && found[ATTAR_EVENT_SOFTWARE] >= 10);
	assert_int_equal(attar_named_events(stop_at_caches, NULL), 7);
}

struct listed {
	size_t n;
	bool has_switch;
	char last[512];
};

static int note_tracepoint(void *ctx, const char *system, const char *name)
{
	struct listed *l = ctx;
	char full[512];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	l->n++;
	l->has_switch |= !strcmp(full, "sched:sched_switch");
	if (!strncmp(l->last, full, strlen(system) + 1))
		assert_true(strcmp(l->last, full) < 0);
	memcpy(l->last, full, sizeof(full));
	return 0;
}

static int stop_at_first(void *ctx, const char *system, const char *name)
{
	++*(unsigned *)ctx;
	return 7;
}

static void test_tracepoints_are_listed(void **state)
{
	struct listed l = {0};
	unsigned calls = 0;

	if (!has_tracefs())
		skip();
	assert_int_equal(attar_catalog_tracepoints(catalog, note_tracepoint, &l), 0);
	assert_true(l.has_switch && l.n > 10);
	assert_int_equal(attar_catalog_tracepoints(catalog, stop_at_first, &calls), 7);
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generic),
		cmocka_unit_test(test_generic_numbers),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_attr_sizes),
		cmocka_unit_test(test_breakpoints),
		cmocka_unit_test(test_error_messages),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_raw_names),
		cmocka_unit_test(test_named_events_are_parsed_as_listed),
		cmocka_unit_test(test_tracepoints_are_listed),
	};

	return cmocka_run_group_tests_name("event_spec", tests, setup, teardown);
}
