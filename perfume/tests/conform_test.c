/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The cases of the kernel's own tests of user_events (tools/testing/selftests/user_events), with
 * the library. Runs in a guest. The tests of each case: with the bare interface in bare_test.c;
 * with the library here, or in guest_test.c if marked +:
 *
 *	ftrace:
 *	register_events  registering_gives_an_index_and_keeps_the_event
 *	                 an_event_is_shared_and_kept_while_it_is_used
 *	write_events     invalid_writes_have_distinct_errors
 *	                 writes_are_counted_or_refused, the_last_listener_leaving_is_ebadf +
 *	write_empty_...  an_event_may_be_empty
 *	                 an_event_may_be_empty
 *	write_fault      an_unmapped_payload_page_is_faulted_in
 *	                 an_unmapped_payload_page_is_faulted_in +
 *	write_validator  dynamic_fields_must_lie_inside_and_end_with_nul
 *	                 dynamic_fields_must_lie_inside_and_end_with_nul
 *	print_fmt        every_type_has_a_print_format
 *	                 every_type_has_a_print_format
 *	dyn:
 *	basic_types, loc_types, size_types
 *	                 fields_of_these_types_are_taken
 *	                 fields_of_these_types_are_taken
 *	matching         an_event_matches_itself_only
 *	                 an_event_matches_itself_only
 *	abi:
 *	enablement       the_word_follows_the_listeners
 *	                 a_probe_follows_the_listeners
 *	flags            a_persistent_event_outlives_its_program
 *	                 a_persistent_event_stays +
 *	bit_sizes        bits_and_sizes_of_enable_words_are_checked
 *	                 (the library chooses bit and size)
 *	multi_format     one_name_may_have_many_formats
 *	                 one_name_may_have_many_formats
 *	forks            a_forked_child_is_enabled_too
 *	                 a_forked_child_writes_without_affecting_the_parent +
 *	clones           a_child_that_shares_memory_shares_the_words
 *	                 a_child_that_shares_memory_writes_too +
 *	perf:
 *	perf_write       perf_gets_the_payload_where_the_format_says
 *	                 perf_gets_the_payload +
 *	perf_empty_...   perf_gets_empty_events
 *	                 perf_gets_empty_events
 */
#include "kernel.h"
#include "perfume.h"

#define NAME "perfume_conform"

static struct perfume_ctx *ctx;

static int setup(void **state)
{
	ctx = perfume_init(0);
	forget_trace();
	return !ctx;
}

static int teardown(void **state)
{
	listen_in_ftrace(NAME, 0);
	perfume_free(ctx);
	WAIT_UNTIL(!event_exists(NAME));
	return 0;
}

static struct perfume_probe *probe_of(const char *fields)
{
	struct perfume_probe *probe = perfume_register(ctx, NAME, fields, NULL);

	if (!probe)
		fail_msg("'%s': %s", fields, perfume_error());
	return probe;
}

/* Frees all probes and waits until the event is removed. */
static void start_anew(void)
{
	teardown(NULL);
	ctx = perfume_init(0);
}

/* ---- ftrace ---- */

static int delete_event(void)
{
	return put_text_in(
		TRACEFS "dynamic_events", "-:user_events/" NAME " u32 field1; u32 field2");
}

static void an_event_is_shared_and_kept_while_it_is_used(void **state)
{
	struct perfume_probe *one = probe_of("u32 field1; u32 field2");
	struct perfume_probe *two = probe_of("u32 field1; u32 field2");
	struct perfume_probe *three = probe_of("u32   field1;u32 field2;");

	assert_null(perfume_register(ctx, NAME, "u32 field1; u32 field3", NULL));
	assert_int_equal(errno, EADDRINUSE);
	listen_in_ftrace(NAME, 1);
	assert_true(perfume_probe_enabled(one) && perfume_probe_enabled(two));
	assert_true(perfume_probe_enabled(three));
	listen_in_ftrace(NAME, 0);
	assert_false(perfume_probe_enabled(one) || perfume_probe_enabled(two));
	assert_false(perfume_probe_enabled(three));
	assert_int_equal(delete_event(), -EBUSY);
	assert_int_equal(perfume_deregister(ctx, one), 0);
	assert_int_equal(perfume_deregister(ctx, two), 0);
	assert_int_equal(delete_event(), -EBUSY);
	assert_int_equal(perfume_deregister(ctx, three), 0);
	WAIT_UNTIL(!event_exists(NAME));
}

static void writes_are_counted_or_refused(void **state)
{
	struct perfume_probe *probe = perfume_register(ctx, NAME, "u32 a", "u32 b", NULL);
	uint32_t data[3] = {1, 2, 3};

	assert_int_equal(perfume_write_payload(probe, data, 8), 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(perfume_write_payload(probe, data, 7), -EINVAL);
	assert_int_equal(perfume_write(probe, &data[0], 4), -EINVAL);
	assert_int_equal(perfume_write(probe, &data[0], 4, &data[1], 3), -EINVAL);
	assert_int_equal(perfume_write_payload(probe, NULL, 8), -EFAULT);
	assert_int_equal(traced(NAME ": a="), 0);
	assert_int_equal(perfume_write(probe, &data[0], 4, &data[1], 4), 8);
	assert_int_equal(perfume_write_payload(probe, data, 12), 12);
	assert_int_equal(traced(NAME ": a="), 2);
}

static void an_event_may_be_empty(void **state)
{
	struct perfume_probe *probe;

	assert_int_equal(perfume_add(ctx, NAME), 0);
	probe = perfume_find(ctx, NAME);
	listen_in_ftrace(NAME, 1);
	assert_true(perfume_probe_enabled(probe));
	assert_int_equal(perfume_write(probe), 0);
	assert_int_equal(traced(NAME ":"), 1);
}

static void dynamic_fields_must_lie_inside_and_end_with_nul(void **state)
{
	struct perfume_probe *probe = probe_of("__rel_loc char[] data");
	const uint32_t outside[] = {5 << 16 | 1024, 5 << 16 | 1, (5 + 1024) << 16, (5 + 1) << 16};
	struct {
		uint32_t place;
		char text[8];
	} data = {5 << 16, "Test"};
	size_t i;

	listen_in_ftrace(NAME, 1);
	assert_int_equal(perfume_write(probe, &data, 3), -EINVAL);
	assert_int_equal(perfume_write(probe, &data, 9), 9);
	assert_int_equal(traced(NAME ": data=Test"), 1);
	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		data.place = outside[i];
		assert_int_equal(perfume_write(probe, &data, 9), -EFAULT);
	}
	data.place = 5 << 16;
	memset(data.text, 'A', sizeof(data.text));
	assert_int_equal(perfume_write(probe, &data, 9), -EFAULT);
	assert_int_equal(traced(NAME ":"), 1);
}

static void every_type_has_a_print_format(void **state)
{
	char text[256];
	const char *format;

	for (const struct print_format *type = print_formats; type->type; type++) {
		snprintf(text, sizeof(text), "%s data", type->type);
		probe_of(text);
		snprintf(text, sizeof(text), "print fmt: %s\n", type->print);
		format = text_of(TRACEFS "events/user_events/" NAME "/format");
		if (!strstr(format, text))
			fail_msg("%s: %s", type->type, strstr(format, "print fmt"));
		start_anew();
	}
}

/* ---- dyn ---- */

static void fields_of_these_types_are_taken(void **state)
{
	static const char *const good[] = {"u64 a", "u32 a", "u16 a", "u8 a", "s64 a", "s32 a",
		"s16 a", "s8 a", "char a", "unsigned char a", "int a", "unsigned int a", "short a",
		"unsigned short a", "char[20] a", "unsigned char[20] a", "char[0x14] a",
		"unsigned char[0x14] a", "__data_loc char[] a", "__data_loc unsigned char[] a",
		"__rel_loc char[] a", "__rel_loc unsigned char[] a", "struct custom a 20",
		/* The library describes these as structs. */
		"f32 a", "f64 a", "u32[4] a", "f64[3] a"};
	static const char *const bad[] = {"char[aa] a", "char[9999] a", "char[0x0000000000001] a",
		"struct custom a", "char a 20", "long a", "float a", "double a", "char[1025] a"};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		probe_of(good[i]);
		assert_true(event_exists(NAME));
		start_anew();
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (perfume_register(ctx, NAME, bad[i], NULL) || errno != EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		assert_false(event_exists(NAME));
	}
}

static void an_event_matches_itself_only(void **state)
{
	static const struct {
		const char *first, *second;
		int matches;
	} pairs[] = {
		{"u32 a", "u32 a", 1},
		{"u32 a; u32 b", "u32 a;u32 b", 1},
		{"u32 a; u32 b", "u32 a; u32 b;", 1},
		{"u32 a", "u32 b", 0},
		{"u32 a; u32 b", "u32 b; u32 a", 0},
		{"u64 a; u64 b", "u32 a; u32 b", 0},
		{"struct my_struct a 20", "struct my_struct a 20", 1},
		{"struct my_struct a 20", "struct my_struct b 20", 0},
		{"struct my_struct a 20", "struct my_struct a 21", 0},
	};
	struct perfume_probe *second;
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		probe_of(pairs[i].first);
		second = perfume_register(ctx, NAME, pairs[i].second, NULL);
		if ((second != NULL) != pairs[i].matches)
			fail_msg("'%s' and '%s'", pairs[i].first, pairs[i].second);
		if (!pairs[i].matches)
			assert_int_equal(errno, EADDRINUSE);
		start_anew();
	}
}

/* ---- abi ---- */

static void a_probe_follows_the_listeners(void **state)
{
	struct perfume_probe *probe = probe_of("u32 a"), *later;

	assert_false(perfume_probe_enabled(probe));
	listen_in_ftrace(NAME, 1);
	assert_true(perfume_probe_enabled(probe));
	/* The event already has a listener. */
	later = probe_of("u32 a");
	assert_true(perfume_probe_enabled(later));
	assert_int_equal(perfume_deregister(ctx, probe), 0);
	assert_false(perfume_probe_enabled(probe));
	assert_true(perfume_probe_enabled(later));
	listen_in_ftrace(NAME, 0);
	listen_in_ftrace(NAME, 1);
	assert_false(perfume_probe_enabled(probe));
	assert_true(perfume_probe_enabled(later));
}

static void one_name_may_have_many_formats(void **state)
{
	struct perfume_ctx *multi = perfume_init(PERFUME_MULTI_FORMAT);
	struct perfume_probe *one = perfume_register(multi, NAME, "u32 multi_first", NULL);
	struct perfume_probe *two = perfume_register(multi, NAME, "u64 multi_second", NULL);
	struct perfume_probe *again;
	char first[256];

	if (!(perfume_probe_flags(one) & PERFUME_MULTI_FORMAT)) {
		perfume_free(multi);
		print_message("this kernel has no MULTI_FORMAT\n");
		skip();
	}
	again = perfume_register(multi, NAME, "u64 multi_second", NULL);
	assert_non_null(two);
	assert_non_null(again);
	strcpy(first, multi_folder(NAME, "multi_first"));
	assert_true(*first);
	assert_true(*multi_folder(NAME, "multi_second"));
	assert_string_not_equal(first, multi_folder(NAME, "multi_second"));
	/*
	 * The kernel keeps an event until the file that registered it is closed: one context, one
	 * file.
	 */
	perfume_free(multi);
	WAIT_UNTIL(!*multi_folder(NAME, "multi_first") && !*multi_folder(NAME, "multi_second"));
}

/* ---- perf ---- */

static void perf_gets_empty_events(void **state)
{
	struct perf_event_mmap_page *ring;
	struct perf_event_header *record;
	struct perfume_probe *probe;
	int perf;

	assert_int_equal(perfume_add(ctx, NAME), 0);
	probe = perfume_find(ctx, NAME);
	perf = open_perf(NAME, &ring);
	assert_true(perfume_probe_enabled(probe));
	assert_int_equal(perfume_write_payload(probe, NULL, 0), 0);
	record = (void *)((char *)ring + 4096);
	assert_int_equal(record->type, PERF_RECORD_SAMPLE);
	assert_true(ring->data_head > 0);
	munmap(ring, 2 * 4096);
	close(perf);
	WAIT_UNTIL(!perfume_probe_enabled(probe));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_event_is_shared_and_kept_while_it_is_used),
		CASE(writes_are_counted_or_refused),
		CASE(an_event_may_be_empty),
		CASE(dynamic_fields_must_lie_inside_and_end_with_nul),
		CASE(every_type_has_a_print_format),
		CASE(fields_of_these_types_are_taken),
		CASE(an_event_matches_itself_only),
		CASE(a_probe_follows_the_listeners),
		CASE(one_name_may_have_many_formats),
		CASE(perf_gets_empty_events),
	};

	if (access(DATA_FILE, W_OK))
		skip_whole_test("no user_events here: this test runs in a guest that has them");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
