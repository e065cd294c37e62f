/* SPDX-License-Identifier: MIT */
/* Which samples events with modifiers, and options that exclude code, have: every mode. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "events.h"
#include "perf/modes.h"
#include "run/parts/sample_filter.h"
#include "run/events/sources.h"

/* The modes in the order of their numbers, as the letters of the tables below. */
static const char letters[] = "?kuhKU"; /* K, U: of a guest */

/* The letters of the modes that are kept, and - for the others. */
struct row {
	const char *name, *kept;
};

static const struct row modifiers[] = {
	{"page-faults", "?kuhKU"},
	{"page-faults:u", "?-u--U"},
	{"page-faults:k", "?k--K-"},
	{"page-faults:h", "?--h--"},
	{"page-faults:uk", "?ku-KU"},
	{"page-faults:uh", "?-uh-U"},
	{"page-faults:kh", "?k-hK-"},
	{"page-faults:ukh", "?kuhKU"},
	{"page-faults:G", "----KU"},
	{"page-faults:H", "?kuh--"},
	{"page-faults:GH", "?kuhKU"},
	{"page-faults:uG", "-----U"},
	{"page-faults:kG", "----K-"},
	{"page-faults:uH", "?-u---"},
	{"page-faults:kH", "?k----"},
	{"page-faults:hH", "?--h--"},
};

static void test_modifiers(void **state)
{
	struct attar_catalog *catalog;

	assert_int_equal(attar_catalog_new(NULL, &catalog), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++) {
		struct attar_event_list *list = events_parse(catalog, modifiers[i].name);
		struct perf_event_attr attr = {0};
		char kept[sizeof(letters)] = "";

		assert_int_equal(attar_event_spec_attr(list->at, &attr, sizeof(attr)), 0);
		for (uint16_t mode = 0; letters[mode]; mode++)
			kept[mode] = modes_have(modes_of(&attr), mode) ? letters[mode] : '-';
		if (strcmp(kept, modifiers[i].kept) != 0)
			fail_msg("%s: %s", modifiers[i].name, kept);
		attar_event_list_free(list);
	}
	attar_catalog_free(catalog);
}

/* Live, the kernel excludes code; guests and the host are selected here. */
static const struct row options[] = {
	{"input=x", "?kuhKU"},
	{"input=x exclude-user", "?k-hK-"},
	{"input=x exclude-kernel", "?-u--U"},
	{"input=x exclude-host", "----KU"},
	{"input=x exclude-guest", "?kuh--"},
	{"input=x exclude-user exclude-host", "----K-"},
	{"input=x exclude-user exclude-guest", "?k-h--"},
	{"input=x exclude-kernel exclude-host", "-----U"},
	{"input=x exclude-kernel exclude-guest", "?-u---"},
	{"input=x exclude-user exclude-kernel", "?-----"},
	{"exclude-user", "?kuhKU"},
	{"exclude-kernel", "?kuhKU"},
	{"exclude-host", "----KU"},
	{"exclude-guest", "?kuh--"},
};

/* The same, of tracepoints and probes, which happen in the code that they are in. */
static const struct row of_code[] = {
	{"input=x exclude-user", "?kuhKU"},
	{"input=x exclude-kernel", "?kuhKU"},
	{"input=x exclude-user exclude-host", "----KU"},
	{"input=x exclude-kernel exclude-guest", "?kuh--"},
};

/* text is options without dashes, between spaces. */
static struct attar_run *run_with(const char *text)
{
	char words[128], *at = words, *name, *value;
	struct attar_run *run;

	snprintf(words, sizeof(words), "%s", text);
	assert_int_equal(attar_run_new("profile", &run), 0);
	while ((value = strsep(&at, " "))) {
		name = strsep(&value, "=");
		if (attar_run_set(run, name, value) < 0)
			fail_msg("%s", attar_error());
	}
	assert_int_equal(sample_filter_open(run), 0);
	return run;
}

static struct source_use use;

static void check_options(const struct row *rows, size_t n_rows, const struct source *source)
{
	for (size_t i = 0; i < n_rows; i++) {
		struct attar_run *run = run_with(rows[i].name);
		char kept[sizeof(letters)] = "";

		for (uint16_t mode = 0; letters[mode]; mode++) {
			const struct attar_record record = {.misc = mode};
			const struct attar_event event = {.record = &record};

			kept[mode] = sample_filter_keeps(run, source, &event) ? letters[mode] : '-';
		}
		if (strcmp(kept, rows[i].kept) != 0)
			fail_msg("%s: %s", rows[i].name, kept);
		attar_run_free(run);
	}
}

static void test_options(void **state)
{
	const struct source clock = {.attr = {.type = PERF_TYPE_SOFTWARE}, .use = &use};

	check_options(options, ARRAY_SIZE(options), &clock);
}

static void test_options_of_tracepoints_and_probes(void **state)
{
	static const struct attar_event_spec probe = {.kind = ATTAR_EVENT_PROBE},
					     user = {.kind = ATTAR_EVENT_USER};
	const struct source sources[] = {{.attr = {.type = PERF_TYPE_TRACEPOINT}, .use = &use},
		{.spec = &probe, .use = &use}, {.spec = &user, .use = &use}};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		check_options(of_code, ARRAY_SIZE(of_code), &sources[i]);
}

/* The parts of call chains that options drop: an address is 100 times its context. */
static const struct row callchains[] = {
	{"input=x exclude-user", "?k-hK-"},
	{"input=x exclude-kernel", "?-u--U"},
	{"input=x no-user-callchain", "?k-hK-"},
	{"input=x no-kernel-callchain", "?-u--U"},
};

static void test_callchains(void **state)
{
	static const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 100, PERF_CONTEXT_USER, 200,
		PERF_CONTEXT_HV, 300, PERF_CONTEXT_GUEST_KERNEL, 400, PERF_CONTEXT_GUEST_USER, 500};
	const struct attar_record record = {
		.sample = {.callchain = chain, .callchain_nr = ARRAY_SIZE(chain)}};

	for (size_t i = 0; i < ARRAY_SIZE(callchains); i++) {
		struct attar_run *run = run_with(callchains[i].name);
		struct attar_event event = {.record = &record};
		struct attar_record copy;
		char kept[sizeof(letters)] = "?-----";

		assert_int_equal(sample_filter_drop_calls(run, &event, &copy), 0);
		for (size_t k = 0; k < copy.sample.callchain_nr; k++)
			if (copy.sample.callchain[k] < PERF_CONTEXT_MAX)
				kept[copy.sample.callchain[k] / 100] =
					letters[copy.sample.callchain[k] / 100];
		if (strcmp(kept, callchains[i].kept) != 0)
			fail_msg("%s: %s", callchains[i].name, kept);
		attar_run_free(run);
	}
}

/* How well an event of a recording is a requested one. */
static void test_fit(void **state)
{
	static const struct perf_event_attr all = {0}, u = {.exclude_kernel = 1, .exclude_hv = 1},
					    k = {.exclude_user = 1, .exclude_hv = 1},
					    hv = {.exclude_user = 1, .exclude_kernel = 1},
					    host = {.exclude_guest = 1},
					    guest = {.exclude_host = 1};
	static const struct {
		const struct perf_event_attr *wanted, *recorded;
		enum modes_fit fit;
	} rows[] = {{&all, &all, FIT_EXACT}, {&u, &u, FIT_EXACT}, {&u, &all, FIT_MORE},
		{&k, &all, FIT_MORE}, {&hv, &all, FIT_MORE}, {&hv, &u, FIT_NONE},
		{&all, &u, FIT_PARTS}, {&u, &k, FIT_NONE}, {&all, &host, FIT_EXACT},
		{&guest, &all, FIT_EXACT}, {&u, &host, FIT_MORE}, {&guest, &host, FIT_NONE},
		{&host, &guest, FIT_NONE}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (modes_fit(modes_of(rows[i].wanted), modes_of(rows[i].recorded)) != rows[i].fit)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_options_of_tracepoints_and_probes),
		cmocka_unit_test(test_callchains),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
