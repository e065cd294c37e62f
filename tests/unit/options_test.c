/* SPDX-License-Identifier: MIT */
/* Options of a run by name and value, and the messages for invalid ones. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "run/run.h"

static int start(void **state)
{
	return attar_run_new("profile", (struct attar_run **)state);
}

static int stop(void **state)
{
	attar_run_free(*state);
	return 0;
}

static void refused(
	struct attar_run *run, const char *name, const char *value, int error, const char *text)
{
	assert_int_equal(attar_run_set(run, name, value), error);
	assert_string_equal(attar_error(), text);
}

static void test_values(void **state)
{
	struct attar_run *run = *state;

	assert_int_equal(run->opts.freq, 997);
	assert_int_equal(attar_run_set(run, "freq", "99"), 0);
	assert_int_equal(run->opts.freq, 99);
	assert_int_equal(attar_run_set(run, "interval", "1000"), 0); /* no unit: ms */
	assert_int_equal(run->opts.interval, 1000000000);
	assert_int_equal(attar_run_set(run, "duration", "2"), 0); /* no unit: s */
	assert_int_equal(run->opts.duration, 2000000000);
	assert_int_equal(attar_run_set(run, "duration", "250ms"), 0);
	assert_int_equal(run->opts.duration, 250000000);
	assert_int_equal(attar_run_set(run, "watermark", "12.5"), 0);
	assert_true(run->opts.watermark == 12.5);
	assert_int_equal(run->opts.user_callchain, -1);
	assert_int_equal(attar_run_set(run, "no-user-callchain", NULL), 0);
	assert_int_equal(run->opts.user_callchain, 0);
	assert_int_equal(attar_run_set(run, "user-callchain", NULL), 0);
	assert_int_equal(run->opts.user_callchain, 1);
}

struct added {
	struct attar_texts outputs;
	const char *format;
};

static void test_options_of_the_caller(void **state)
{
	static const struct attar_option options[] = {
		ATTAR_LIST(struct added, outputs, 'o', "output", "FILE", "a file"),
		ATTAR_TEXT(struct added, format, 0, "format", "NAME", "a format"), {0}};
	static const struct attar_option taken[] = {
		ATTAR_TEXT(struct added, format, 'F', "other", "NAME", "a letter of another"), {0}};
	struct added added = {0};
	struct attar_run *run;

	assert_int_equal(attar_run_new("profile", &run), 0);
	assert_int_equal(attar_run_add_options(run, "Output", options, &added), 0);
	assert_int_equal(attar_run_set(run, "output", "a.html"), 0);
	assert_int_equal(attar_run_set(run, "output", "b.json"), 0);
	assert_int_equal(added.outputs.n, 2);
	assert_string_equal(added.outputs.at[1], "b.json");
	assert_int_equal(attar_run_set(run, "format", "csv"), 0);
	assert_int_equal(attar_run_set(run, "format", "json"), 0);
	assert_string_equal(added.format, "json");
	assert_int_equal(attar_run_add_options(run, "Output", options, &added), -EEXIST);
	assert_int_equal(attar_run_add_options(run, "Other", taken, &added), -EEXIST);
	attar_run_free(run);
}

static void test_lists_accumulate(void **state)
{
	static const char *const names[] = {"cpus", "pids", "tids", "cgroups", "event"};
	struct attar_run *run = *state;
	const char *const *values[] = {&run->opts.cpus, &run->opts.pids, &run->opts.tids,
		&run->opts.cgroups, &run->opts.event};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(attar_run_set(run, names[i], "1"), 0);
		assert_int_equal(attar_run_set(run, names[i], "2-3,5"), 0);
		assert_int_equal(attar_run_set(run, names[i], ""), -EINVAL);
		assert_string_equal(*values[i], "1,2-3,5");
	}
}

static void test_invalid_options_are_refused(void **state)
{
	struct attar_run *run = *state;

	refused(run, "freqq", "1", -ENOENT, "no such option --freqq: did you mean --freq?");
	refused(run, "no-exclude-user", NULL, -ENOENT,
		"no such option --no-exclude-user; leave it out: --exclude-user is off by default");
	refused(run, "freq", NULL, -EINVAL, "--freq needs a value: --freq HZ");
	refused(run, "freq", "0", -ERANGE, "--freq: 0 is too small: the minimum is 1");
	refused(run, "freq", "99Hz", -EINVAL, "--freq: '99Hz' is not a number");
	refused(run, "exclude-user", "yes", -EINVAL, "--exclude-user takes no value");
	refused(run, "interval", "1us", -ERANGE,
		"--interval: 1us is too short: the minimum is 1ms");
	refused(run, "watermark", "101", -ERANGE,
		"--watermark: '101' is not a percentage between 1 and 100");
	refused(run, "watermark", "0", -ERANGE,
		"--watermark: '0' is not a percentage between 1 and 100");
	refused(run, "watermark", "1s", -ERANGE,
		"--watermark: '1s' is not a percentage between 1 and 100");
	refused(run, "mmap-pages", "9999999", -ERANGE,
		"--mmap-pages: 9999999 is not between 1 and 65536");
	refused(run, "cpus", "", -EINVAL, "--cpus: the value is empty");
	assert_int_equal(run->opts.freq, 997); /* untouched */
}

static void test_profilers(void **state)
{
	const struct attar_profiler *const *p = attar_profilers();
	struct attar_run *run;

	for (; p[0] && p[1]; p++)
		assert_true(strcmp(p[0]->name, p[1]->name) < 0);
	assert_int_equal(attar_run_new("profil", &run), -ENOENT);
	assert_string_equal(attar_error(), "no such profiler 'profil': did you mean 'profile'?");
	assert_int_equal(attar_run_new("zzz", &run), -ENOENT);
	assert_string_equal(attar_error(), "no such profiler 'zzz': 'attar -h' lists them");
}

/*
 * An option without help is an old name, and the same table lists an option for the same member; or
 * it is accepted although it changes nothing, or refused with a reason.
 */
static bool is_listed(const struct attar_option *table, const struct attar_option *option)
{
	static const char *const accepted[] = {"order", "inherit", "ptrace", "kvmclock",
		"nr_running_min", "nr_running_max", "sched_policy", "prio", "python-callchain",
		"no-inherit", "no-order"};

	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		if (!strcmp(option->name, accepted[i]))
			return true;
	for (const struct attar_option *o = table; o->name; o++)
		if (o->help && o->offset == option->offset && o->type == option->type)
			return true;
	return false;
}

/* Of a preset, options that it does not offer are left to the profiler that it runs. */
static bool is_builtin(const struct attar_profiler *profiler)
{
	for (const struct attar_profiler *const *b = attar_builtin_profilers(); *b; b++)
		if (*b == profiler)
			return true;
	return false;
}

/* In each profiler, a letter has one meaning, even if a common option has it elsewhere. */
static void test_options_are_unique(void **state)
{
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		struct attar_run *run;
		bool letters[256] = {0};

		assert_int_equal(attar_run_new((*p)->name, &run), 0);
		for (const struct attar_option_group *g = attar_run_option_groups(run); g->title;
			g++)
			for (const struct attar_option *o = g->options; o->name; o++) {
				assert_false(o->letter && letters[(unsigned char)o->letter]);
				letters[(unsigned char)o->letter] = true;
				assert_false(o->letter == 'h');
				if (is_builtin(*p) && !is_listed(g->options, o))
					fail_msg("--%s of %s", o->name, (*p)->name);
			}
		attar_run_free(run);
	}
}

/* A run that could not be stopped is refused. */
static void test_run_without_descriptors_is_refused(void **state)
{
	struct attar_run *run = NULL;
	struct rlimit limit, none;
	char sentence[128];
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC), r;

	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = attar_run_new("profile", &run);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(r, -EMFILE);
	assert_null(run);
	snprintf(sentence, sizeof(sentence),
		"cannot open an eventfd: the limit of %d open files is reached: run ulimit -n 1024",
		lowest);
	assert_string_equal(attar_error(), sentence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, start, stop),
		cmocka_unit_test_setup_teardown(test_lists_accumulate, start, stop),
		cmocka_unit_test_setup_teardown(test_invalid_options_are_refused, start, stop),
		cmocka_unit_test(test_options_of_the_caller),
		cmocka_unit_test(test_profilers),
		cmocka_unit_test(test_options_are_unique),
		cmocka_unit_test(test_run_without_descriptors_is_refused),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
