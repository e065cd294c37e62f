/* SPDX-License-Identifier: MIT */
/* The text of a preset: what it makes of a profiler, and what is refused. */
#include "unit.h"

#include <stdlib.h>

#include "attar/builtin.h"
#include "base/base.h"
#include "presets/presets.h"

#define BEGIN "name: mine\nsummary: a\n"

static const struct attar_profiler *parse(const char *text)
{
	const struct attar_profiler *p = NULL;

	if (preset_parse("x.preset", text, &p) < 0)
		fail_msg("%s", attar_error());
	return p;
}

static void test_profiler_has_its_name_options_and_examples(void **state)
{
	const struct attar_profiler *p = parse("# c\nname: mine\ngroup: G\nsummary: a\n"
					       "run: snoop -e 'a b'\n\t--tasks\n"
					       "example: mine -i 1s | each second\n");

	assert_string_equal(p->name, "mine");
	assert_string_equal(p->group, "G");
	assert_string_equal(p->summary, "a");
	assert_string_equal(p->preset[0], "-e");
	assert_string_equal(p->preset[1], "a b");
	assert_string_equal(p->preset[2], "--tasks");
	assert_null(p->preset[3]);
	assert_string_equal(p->examples[0].command, "mine -i 1s");
	assert_string_equal(p->examples[0].what, "each second");
	assert_null(p->examples[1].command);
	preset_free(p);
}

static void test_needs_are_those_of_its_events(void **state)
{
	static const struct {
		const char *run, *needs;
	} cases[] = {
		{"top -e sched:sched_switch", "perf events, whole system, tracefs!"},
		{"top -e kprobe:f", "perf events, whole system, kprobes!"},
		{"top -e kretprobe:a_b", "perf events, whole system, kprobes!"},
		{"top -e uprobe:f@/x", "perf events, whole system, uprobes!, tracefs"},
		{"top -e uretprobe:f@/x", "perf events, whole system, uprobes!, tracefs"},
		{"top -e usdt:/x:a:b__c", "perf events, whole system, uprobes!, tracefs"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];
		const struct attar_profiler *p;

		snprintf(text, sizeof(text), BEGIN "run: %s\n", cases[i].run);
		p = parse(text);
		assert_string_equal(p->needs, cases[i].needs);
		preset_free(p);
	}
}

static void test_mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"name mine\n", "x.preset: 'name mine': the syntax of a line is KEY: VALUE"},
		{BEGIN, "x.preset: no 'run'"},
		{BEGIN "run: \n", "x.preset: no 'run'"},
		{BEGIN "run: mine\n", "x.preset: run: 'mine' runs itself"},
		{BEGIN "run: nothing\n", "x.preset: run: no such profiler 'nothing'"},
		{"name: mine\nrun: top\n", "x.preset: no 'summary'"},
		{BEGIN "run: top\nexample: x\n",
			"x.preset: 'x': the syntax of an example is COMMAND | WHAT IT SHOWS"},
		{BEGIN "run: snoop\nwithout: tasks xyz\n",
			"x.preset: without: 'snoop' has no option 'xyz'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct attar_profiler *p = NULL;

		assert_int_equal(preset_parse("x.preset", cases[i].text, &p), -EINVAL);
		assert_string_equal(attar_error(), cases[i].error);
		assert_null(p);
	}
}

static void test_hidden_options_are_hidden_in_the_preset_only(void **state)
{
	const struct attar_profiler *p = parse(BEGIN "run: snoop\nwithout: tasks\n"),
				    *snoop = profiler_find("snoop");
	size_t i = 0;

	while (strcmp(p->options[i].name, "tasks") != 0)
		i++;
	assert_null(p->options[i].help);
	assert_string_equal(snoop->options[i].name, "tasks");
	assert_non_null(snoop->options[i].help);
	preset_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiler_has_its_name_options_and_examples),
		cmocka_unit_test(test_needs_are_those_of_its_events),
		cmocka_unit_test(test_mistakes_are_named),
		cmocka_unit_test(test_hidden_options_are_hidden_in_the_preset_only),
	};

	setenv("ATTAR_PRESETS", "", 1);
	return cmocka_run_group_tests_name("presets", tests, NULL, NULL);
}
