/* SPDX-License-Identifier: MIT */
/* The attributes of events, and profilers as events, on a simulated tracefs. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "attar/event.h"
#include "attar/private/event.h"
#include "events.h"
#include "folder.h"

static struct attar_catalog *catalog;

static int setup(void **state)
{
	static const char *const profilers[] = {
		"profile", "trace", "bpf:kvm_exit", "blktrace", NULL};
	struct attar_catalog_opts opts = {.size = sizeof(opts), .profilers = profilers};
	const char *root = folder_make();
	char sys[128], tracing[128];

	folder_line("sys/bus/event_source/devices/cpu/type", "4");
	folder_line("sys/bus/event_source/devices/cpu/format/event", "config:0-7");
	folder_line("sys/bus/event_source/devices/cpu/format/size", "config:8-15");
	folder_tracepoint("sched", "sched_switch", 300);
	folder_tracepoint("sched", "sched_wakeup", 301);
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(tracing, sizeof(tracing), "%s/tracing", root);
	opts.sysfs = sys;
	opts.tracefs = tracing;
	return attar_catalog_new(&opts, &catalog);
}

static int teardown(void **state)
{
	catalog = attar_catalog_free(catalog);
	folder_remove();
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

/* The value of an attribute in a text of one event, and its column. */
static void expect_option(const char *text, const char *name, const char *value, unsigned column)
{
	struct attar_event_list *list = parse(text);
	const struct attar_event_option *option = attar_spec_get_option(list->at, name);

	assert_int_equal(list->n, 1);
	assert_non_null(option);
	assert_string_equal(option->value, value);
	assert_int_equal(option->value_column, column);
	attar_event_list_free(list);
}

static void test_members(void **state)
{
	struct attar_event_list *list =
		parse("sched:sched_switch/pid>1/stack/alias=out/cpus=0-2,5/untraced/,"
		      "sched:sched_wakeup//max-stack=16/period=7/,sched:sched_wakeup//freq=9/:u");
	const struct attar_event_spec *e = list->at;

	assert_int_equal(list->n, 3);
	assert_string_equal(e[0].name, "out");
	assert_string_equal(e[0].alias, "out");
	assert_string_equal(e[0].filter, "pid>1");
	assert_int_equal(e[0].filter_column, 20);
	assert_true(e[0].stack && e[0].untraced);
	assert_int_equal(e[0].max_stack, 0);
	assert_int_equal(e[0].n_only_cpus, 4);
	assert_int_equal(e[0].only_cpus[3], 5);
	assert_int_equal(e[0].n_cpus, 0);
	assert_int_equal(e[0].n_options, 4);
	assert_int_equal(e[0].options[1].column, 32);
	assert_int_equal(e[0].options[1].value_column, 38);
	assert_true(e[1].stack && !e[1].untraced);
	assert_int_equal(e[1].max_stack, 16);
	assert_int_equal(e[1].period, 7);
	assert_null(e[1].filter);
	assert_int_equal(e[1].filter_column, 0);
	assert_null(e[1].alias);
	assert_int_equal(e[2].freq, 9);
	assert_true(e[2].exclude_kernel);
	assert_null(attar_spec_get_option(&e[2], "stack"));
	attar_event_list_free(list);
}

/* Separators within quotes, parentheses and braces are part of a value. */
static void test_quotes(void **state)
{
	expect_option("sched:sched_switch//key=pid/", "key", "pid", 25);
	expect_option("sched:sched_switch//key=(pid/2)/", "key", "(pid/2)", 25);
	expect_option("sched:sched_switch//key={pid/2,(prio)}/", "key", "{pid/2,(prio)}", 25);
	expect_option("sched:sched_switch//key='pid/2'/", "key", "pid/2", 26);
	expect_option("sched:sched_switch//key=\"a\"==\"b\"/", "key", "\"a\"==\"b\"", 25);
	expect_option("sched:sched_switch//key=comm==\"a/b,c\"/", "key", "comm==\"a/b,c\"", 25);
	expect_option("sched:sched_switch//num='printf(\"%d\\n\", pid)'/", "num",
		"printf(\"%d\\n\", pid)", 26);
	expect_option("sched:sched_switch//alias=\"a\\\"b\"/", "alias", "a\"b", 28);
	expect_option("sched:sched_switch//alias = a b /", "alias", "a b", 29);
	expect_option("sched:sched_switch// key=pid / stack/", "key", "pid", 26);
	expect_option("sched:sched_switch//key=pid==1?2:3/", "key", "pid==1?2:3", 25);
	expect_option("sched:sched_switch//role=pid>>(1/1)/:u", "role", "pid>>(1/1)", 26);
}

/* The value of an expression may contain '='. */
static void test_every_name(void **state)
{
	static const char *const names[] = {"key", "printkey", "role", "top-by", "top-add", "comm",
		"ptr", "size", "num", "index"};
	char text[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "sched:sched_switch//%s=pid==1/", names[i]);
		expect_option(text, names[i], "pid==1", 22 + (unsigned)strlen(names[i]));
	}
	attar_event_list_free(parse("sched:sched_switch//top-by=pid/top-add=prio/top-add=pid/"));
}

/* The last '/' may be missing where the end of the event is clear. */
static void test_missing_slash(void **state)
{
	struct attar_event_list *list = parse("sched:sched_wakeup,sched:sched_switch/pid>1");

	assert_int_equal(list->n, 2);
	assert_string_equal(list->at[1].filter, "pid>1");
	attar_event_list_free(list);
	expect_option("sched:sched_switch/pid>1/stack/key=(a,b)", "key", "(a,b)", 36);
	list = parse("sched:sched_switch/");
	assert_null(list->at[0].filter);
	attar_event_list_free(list);
	refuse("sched:sched_wakeup/pid>1,cs", -EINVAL,
		"column 19: missing closing '/': the syntax is "
		"EVENT/FILTER/ATTRIBUTE/.../");
	refuse("sched:sched_wakeup/pid>1,sched:x/y/", -EINVAL,
		"column 25: missing closing '/': the syntax is "
		"EVENT/FILTER/ATTRIBUTE/.../");
	refuse("sched:sched_wakeup//key=1, sched:x/y/", -EINVAL,
		"column 26: missing closing '/': the syntax is "
		"EVENT/FILTER/ATTRIBUTE/.../");
	refuse("{sched:sched_wakeup/pid>1}", -EINVAL,
		"column 20: missing closing '/': the syntax is "
		"EVENT/FILTER/ATTRIBUTE/.../");
}

static void test_other_kinds(void **state)
{
	struct attar_event_list *list = parse("cpu/event=1,size=2/stack/alias=x/:u,cs//stack/,"
					      "page-faults/period=5,max-stack=3,key=addr/,"
					      "mem:0x10/8:rw/alias=m/,cycles/period=9/u,"
					      "cpu/event=3,cpus=1/alias=y/");
	const struct attar_event_spec *e = list->at;

	assert_int_equal(list->n, 6);
	assert_int_equal(e[0].config, 0x201); /* a term of the PMU, not the attribute */
	assert_null(attar_spec_get_option(&e[0], "size"));
	assert_true(e[0].stack && e[0].exclude_kernel);
	assert_string_equal(e[0].name, "x");
	assert_true(e[1].stack);
	assert_string_equal(e[1].name, "cs");
	assert_int_equal(e[2].period, 5);
	assert_int_equal(e[2].max_stack, 3);
	assert_string_equal(attar_spec_get_option(&e[2], "key")->value, "addr");
	assert_int_equal(attar_spec_get_option(&e[2], "key")->value_column, 85);
	assert_string_equal(e[3].name, "m");
	assert_int_equal(e[3].config2, 8);
	assert_true(e[4].exclude_kernel && !e[4].n_options);
	assert_string_equal(e[5].name, "y");
	assert_int_equal(e[5].only_cpus[0], 1);
	attar_event_list_free(list);
}

static void test_expressions_of_attributes(void **state)
{
	static const struct {
		const char *name, *value, *expr;
		size_t name_len;
	} cases[] = {
		{"key", "a:b", "a:b",
			0}, /* only values of the form [NAME:]EXPRESSION have a name */
		{"index", "pid", "pid", 0},
		{"top-by", "bytes", "bytes", 0},
		{"top-by", "KB-1:bytes/1024", "bytes/1024", 4},
		{"printkey", "1:2", "1:2", 0},
		{"column", "-1:2", "-1:2", 0},
		{"column", "a ? b:c", "a ? b:c", 0},
		{"alias", "x", NULL, 7},
		{"stack", NULL, NULL, 7},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct attar_event_option option = {cases[i].name, cases[i].value};
		size_t name_len = 7;
		const char *expr = event_option_expr(&option, &name_len);

		if (cases[i].expr)
			assert_string_equal(expr, cases[i].expr);
		else
			assert_null(expr);
		assert_int_equal(name_len, cases[i].name_len);
	}
}

static void test_letters_before_attributes(void **state)
{
	struct attar_event_list *list =
		parse("page-faults:k//stack/,cs:u/period=3,alias=x/key=pid/,"
		      "sched:sched_switch:u/pid>1/stack/,r1a:pp//stack/,page-faults:k");
	const struct attar_event_spec *e = list->at;

	assert_int_equal(list->n, 5);
	assert_true(e[0].stack && e[0].exclude_user && !e[0].exclude_kernel);
	assert_string_equal(e[0].name, "page-faults:k");
	assert_int_equal(e[0].kind, ATTAR_EVENT_SOFTWARE);
	assert_int_equal(e[1].period, 3);
	assert_true(!e[1].stack && !e[1].exclude_user && e[1].exclude_kernel);
	assert_string_equal(e[1].name, "x");
	assert_string_equal(attar_spec_get_option(&e[1], "key")->value, "pid");
	assert_true(e[2].stack && e[2].exclude_kernel);
	assert_string_equal(e[2].filter, "pid>1");
	assert_int_equal(e[2].item, 2);
	assert_true(e[3].stack);
	assert_int_equal(e[3].precise_ip, 2);
	assert_true(!e[4].stack && e[4].exclude_user);
	attar_event_list_free(list);
	refuse("page-faults:k/stak/", -ENOENT,
		"column 15: a generic event has no event or term 'stak': did you mean 'stack'?");
	refuse("sched:sched_switch:k//stak/", -EINVAL,
		"column 23: no attribute 'stak': did you mean 'stack'?");
	refuse("cs//stack/:k/stack/", -EINVAL, "column 13: expected ',' before '/stack/'");
}

static void test_profilers(void **state)
{
	struct attar_event_list *list =
		parse("sched:sched_switch,profile/-F 500 -g/untraced/,bpf:kvm_exit//,"
		      "trace/-e 'sched:sched_switch/pid>1/' --x=\"a b\"\\ c/alias=t/,profile");
	const struct attar_event_spec *e = list->at;

	assert_int_equal(list->n, 5);
	assert_int_equal(e[1].kind, ATTAR_EVENT_PROFILER);
	assert_string_equal(event_kind_name(e[1].kind), "profiler");
	assert_string_equal(e[1].profiler, "profile");
	assert_string_equal(e[1].name, "profile");
	assert_int_equal(e[1].n_arguments, 3);
	assert_string_equal(e[1].arguments[0], "-F");
	assert_string_equal(e[1].arguments[1], "500");
	assert_string_equal(e[1].arguments[2], "-g");
	assert_null(e[1].arguments[3]);
	assert_true(e[1].untraced);
	assert_null(e[1].filter);
	assert_int_equal(e[1].filter_column, 28);
	assert_string_equal(e[2].profiler, "bpf:kvm_exit");
	assert_int_equal(e[2].n_arguments, 0);
	assert_null(e[2].arguments[0]);
	assert_string_equal(e[3].name, "t");
	assert_int_equal(e[3].n_arguments, 3);
	assert_string_equal(e[3].arguments[1], "sched:sched_switch/pid>1/");
	assert_string_equal(e[3].arguments[2], "--x=a b c");
	assert_string_equal(e[4].profiler, "profile");
	assert_null(e[0].profiler);
	attar_event_list_free(list);
	refuse("profile/-F 500 -g/untracd/", -EINVAL,
		"column 19: no attribute 'untracd': did you mean 'untraced'?");
}

/* A path after an option has slashes, and a list of events commas. */
static void test_profiler_options(void **state)
{
	static const struct {
		const char *text, *last, *attribute;
		size_t n_arguments, n_events;
	} cases[] = {
		{"blktrace/-d /dev/sda --than 10ms/", "10ms", NULL, 4, 1},
		{"blktrace/-d /dev/sda/", "/dev/sda", NULL, 2, 1},
		{"blktrace/-d /dev/sda", "/dev/sda", NULL, 2, 1},
		{"blktrace/-d /dev/sda/,sched:sched_switch", "/dev/sda", NULL, 2, 2},
		{"{blktrace/-d /dev/sda/}", "/dev/sda", NULL, 2, 1},
		{"blktrace/--device=/dev/sda -m 8/untraced/", "8", "untraced", 3, 1},
		{"blktrace/-d \"/dev/sda\"/untraced/", "/dev/sda", "untraced", 2, 1},
		{"blktrace/-d sda/untraced/alias=x/", "sda", "untraced", 2, 1},
		{"profile/-F 500 /untraced/", "500", "untraced", 2, 1},
		{"profile/-g /untraced/", "-g", "untraced", 1, 1},
		{"trace/-e sched:sched_switch,sched:sched_wakeup -F 5/untraced/", "5", "untraced",
			4, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct attar_event_list *list = parse(cases[i].text);
		const struct attar_event_spec *e = list->at;

		assert_int_equal(list->n, cases[i].n_events);
		assert_int_equal(e->n_arguments, cases[i].n_arguments);
		assert_string_equal(e->arguments[e->n_arguments - 1], cases[i].last);
		if (cases[i].attribute)
			assert_string_equal(e->options[0].name, cases[i].attribute);
		else
			assert_int_equal(e->n_options, 0);
		attar_event_list_free(list);
	}
	refuse("profile/-F 500,sched:sched_switch", -EINVAL,
		"column 8: missing closing '/': the syntax is EVENT/FILTER/ATTRIBUTE/.../");
}

static void test_bad_attributes(void **state)
{
	refuse("sched:sched_switch//stak/", -EINVAL,
		"column 21: no attribute 'stak': did you mean 'stack'?");
	refuse("sched:sched_switch//aliass=x/", -EINVAL,
		"column 21: no attribute 'aliass': did you mean 'alias'?");
	refuse("sched:sched_switch//qqqqqqqq/", -EINVAL,
		"column 21: no attribute 'qqqqqqqq': the attributes are stack, max-stack, "
		"alias, cpus, key, printkey, role, untraced, optional, column, main, top-by, "
		"top-add, comm, ptr, size, num, index, period, freq, batch, transport, args, exec, "
		"trigger, push, pull, vm");
	refuse("sched:sched_switch//stack=1/", -EINVAL,
		"column 21: stack takes no value: write stack");
	refuse("sched:sched_switch//key/", -EINVAL, "column 21: key needs a value: key=EXPRESSION");
	refuse("sched:sched_switch//key=/", -EINVAL,
		"column 21: key needs a value: key=EXPRESSION");
	refuse("sched:sched_switch//alias=\"\"/", -EINVAL,
		"column 21: alias needs a value: alias=NAME");
	refuse("sched:sched_switch//max-stack=x/", -EINVAL,
		"column 31: max-stack: 'x' is not a number");
	refuse("sched:sched_switch//max-stack=0/", -ERANGE,
		"column 31: max-stack: 0 is not between 1 and 65535");
	refuse("sched:sched_switch//cpus=1-/", -EINVAL,
		"column 26: cpus: '1-' is not a list such as 0-3,8");
	refuse("sched:sched_switch//cpus=9-8/", -EINVAL,
		"column 26: cpus: the range 9-8 in '9-8' is reversed");
	refuse("sched:sched_switch//period=0/", -ERANGE,
		"column 28: period: the value must be at least 1");
	refuse("sched:sched_switch//period=1/freq=1/", -EINVAL,
		"column 30: period and freq are mutually exclusive");
	refuse("sched:sched_switch//key=1/key=2/", -EINVAL,
		"column 27: key is specified twice: it may be specified only once");
	refuse("cycles/stack/stack/", -EINVAL,
		"column 14: stack is specified twice: it may be specified only once");
	refuse("sched:sched_switch//stack//alias=x/", -EINVAL,
		"column 27: empty attribute: remove a '/' or insert an attribute such as "
		"stack");
	refuse("sched:sched_switch/pid>1//", -EINVAL,
		"column 26: empty attribute: remove a '/' or insert an attribute such as "
		"stack");
	refuse("sched:sched_switch//transport=shm/", -EINVAL,
		"column 21: only events of user_events have a transport");
	refuse("cycles/stak/", -ENOENT,
		"column 8: a generic event has no event or term 'stak': did you mean "
		"'stack'?");
}

static void test_unbalanced(void **state)
{
	refuse("sched:sched_switch/comm==\"x/", -EINVAL,
		"column 26: missing closing quote for this \"");
	refuse("sched:sched_switch//alias='x/stack/", -EINVAL,
		"column 27: missing closing quote for this '");
	refuse("sched:sched_switch//key=(pid/2/", -EINVAL,
		"column 25: missing closing ) for this (");
	refuse("sched:sched_switch//key={pid,prio/", -EINVAL,
		"column 25: missing closing } for this {");
}

/* Long and multi-byte texts are cut so that the caret is below the column. */
static void test_excerpt(void **state)
{
	struct attar_event_list *list;
	char text[600];

	list = parse("sched:sched_switch//alias=\xc3\xa4\xc3\xb6/key=pid-/");
	attar_fail(-EINVAL, "key: wrong");
	assert_int_equal(spec_error(list->at, 39, -EINVAL), -EINVAL);
	assert_string_equal(attar_error(),
		"key: wrong\n    sched:sched_switch//alias=\xc3\xa4\xc3\xb6/key=pid-/\n"
		"                                        ^");
	attar_event_list_free(list);
	for (size_t i = 0; i < 3 * 40; i += 3)
		memcpy(text + i, "cs,", 3);
	strcpy(text + 120, "sched:sched_switch//stak/");
	memcpy(text + 145, text, 120);
	text[145 + 120] = '\0';
	assert_int_equal(attar_event_list_parse(catalog, text, &list), -EINVAL);
	assert_string_equal(strchr(attar_error(), '\n'),
		"\n    ...,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,sched:sched_switch//"
		"stak/cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs...\n"
		"                                                                   ^");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_every_name),
		cmocka_unit_test(test_missing_slash),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_expressions_of_attributes),
		cmocka_unit_test(test_letters_before_attributes),
		cmocka_unit_test(test_profilers),
		cmocka_unit_test(test_profiler_options),
		cmocka_unit_test(test_profiler_options),
		cmocka_unit_test(test_bad_attributes),
		cmocka_unit_test(test_unbalanced),
		cmocka_unit_test(test_excerpt),
	};

	return cmocka_run_group_tests_name("event_attributes", tests, setup, teardown);
}
