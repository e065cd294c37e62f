/* SPDX-License-Identifier: CC0-1.0 */
/* Static events: the bytes that their macros produce. */
#include "tests.h"

#include <stdbool.h>

PERFUME_EVENT(plain)
PERFUME_EVENT(order_placed, (u64, id), (f64, price), (str, symbol))
PERFUME_EVENT(
	integers, (u8, a), (s8, b), (u16, c), (s16, d), (u32, e), (s32, f), (u64, g), (s64, h))
PERFUME_EVENT(others, (f32, a), (bool, b), (ptr, c), (array, d, u16, 3))
PERFUME_EVENT(dynamic, (str, a), (strn, b), (bytes, c), (u32s, d), (f64s, e), (u8, f))
PERFUME_EVENT(twenty, (u8, a), (u8, b), (u8, c), (u8, d), (u8, e), (u8, f), (u8, g), (u8, h),
	(u8, i), (u8, j), (u8, k), (u8, l), (u8, m), (u8, n), (u8, o), (u8, p), (u8, q), (u8, r),
	(u8, s), (u8, t))
PERFUME_EVENT(twenty_dynamic, (str, a), (str, b), (str, c), (str, d), (str, e), (str, f), (str, g),
	(str, h), (str, i), (str, j), (bytes, k), (bytes, l), (bytes, m), (bytes, n), (bytes, o),
	(u8s, p), (u8s, q), (u8s, r), (u8s, s), (u8s, t))

#define perfume_plain(...) PERFUME(plain, ##__VA_ARGS__)

/* The expected bytes, assembled by hand. */
static struct {
	unsigned char bytes[8192];
	size_t n;
} want;

static void want_bytes(const void *bytes, size_t n)
{
	memcpy(want.bytes + want.n, bytes, n);
	want.n += n;
}

static void want_place(unsigned offset, unsigned size)
{
	uint32_t place = size << 16 | offset;

	want_bytes(&place, sizeof(place));
}

#define WANT(type, value) want_bytes(&(type){value}, sizeof(type))

static void expect_wanted(void)
{
	expect_packet(want.bytes, want.n);
	want.n = 0;
}

static void events_are_registered_before_main(void **state)
{
	assert_non_null(perfume_event_plain.file);
	assert_ptr_equal(perfume_event_plain.file, perfume_event_dynamic.file);
	assert_int_equal(PERFUME_EVENT_ERROR(plain), 0);
	assert_int_equal(__stop_perfume_events - __start_perfume_events, 7);
}

static void an_event_without_fields_has_no_payload(void **state)
{
	assert_int_equal((perfume_plain)(), 0);
	listen_to(&perfume_event_plain);
	assert_int_equal((perfume_plain)(), 0);
	expect_wanted();
	assert_int_equal(perfume_plain(), 0);
	expect_wanted();
	hang_up(&perfume_event_plain);
	assert_string_equal(perfume_event_plain.fields, "");
}

static int evaluated;

static uint64_t next_id(void)
{
	return (uint64_t)++evaluated;
}

static void arguments_are_evaluated_only_with_a_listener(void **state)
{
	evaluated = 0;
	assert_int_equal(PERFUME(order_placed, next_id(), 2.5, "x"), 0);
	assert_int_equal(evaluated, 0);
	assert_false(perfume_order_placed_enabled());
	listen_to(&perfume_event_order_placed);
	assert_true(perfume_order_placed_enabled());
	assert_int_equal(PERFUME(order_placed, next_id(), 2.5, "x"), 22);
	assert_int_equal(evaluated, 1);
	hang_up(&perfume_event_order_placed);
	assert_int_equal(PERFUME(order_placed, next_id(), 2.5, "x"), 0);
	assert_int_equal(evaluated, 1);
}

static void a_string_follows_the_fixed_fields(void **state)
{
	listen_to(&perfume_event_order_placed);
	assert_int_equal(perfume_order_placed(77, 2.5, "ATTAR"), 26);
	WANT(uint64_t, 77);
	WANT(double, 2.5);
	want_place(0, 6);
	want_bytes("ATTAR", 6);
	expect_wanted();
	assert_int_equal(perfume_order_placed(78, -1, NULL), 27);
	WANT(uint64_t, 78);
	WANT(double, -1);
	want_place(0, 7);
	want_bytes("(null)", 7);
	expect_wanted();
	hang_up(&perfume_event_order_placed);
	assert_string_equal(
		perfume_event_order_placed.fields, "u64 id; f64 price; __rel_loc char[] symbol");
	assert_int_equal(perfume_event_order_placed.min_size, 20);
}

static void integers_are_packed(void **state)
{
	listen_to(&perfume_event_integers);
	assert_int_equal(perfume_integers(1, -2, 3, -4, 5, -6, 7, -8), 30);
	WANT(uint8_t, 1);
	WANT(int8_t, -2);
	WANT(uint16_t, 3);
	WANT(int16_t, -4);
	WANT(uint32_t, 5);
	WANT(int32_t, -6);
	WANT(uint64_t, 7);
	WANT(int64_t, -8);
	expect_wanted();
	hang_up(&perfume_event_integers);
}

static void booleans_addresses_and_arrays_are_fixed_fields(void **state)
{
	const uint16_t three[] = {100, 200, 300};

	listen_to(&perfume_event_others);
	assert_int_equal(perfume_others(1.5f, 256, &want, three), 19);
	WANT(float, 1.5f);
	WANT(uint8_t, 1);
	WANT(uint64_t, (uintptr_t)&want);
	want_bytes(three, sizeof(three));
	expect_wanted();
	hang_up(&perfume_event_others);
	assert_string_equal(perfume_event_others.fields, "f32 a; u8 b; u64 c; u16[3] d");
}

/* Offsets count from the end of the word that contains them. */
static void dynamic_fields_follow_in_their_order(void **state)
{
	const uint32_t numbers[] = {11, 22};
	const double reals[] = {0.5};

	listen_to(&perfume_event_dynamic);
	assert_int_equal(
		perfume_dynamic("one", "twofold", 3, "\0\1", 2, numbers, 2, reals, 1, 9), 47);
	want_place(17, 4);
	want_place(13 + 4, 4);
	want_place(9 + 8, 2);
	want_place(5 + 10, 8);
	want_place(1 + 18, 8);
	WANT(uint8_t, 9);
	want_bytes("one", 4);
	want_bytes("two", 4);
	want_bytes("\0\1", 2);
	want_bytes(numbers, sizeof(numbers));
	want_bytes(reals, sizeof(reals));
	expect_wanted();
	assert_int_equal(perfume_dynamic("", NULL, 0, NULL, 0, NULL, 0, NULL, 0, 9), 23);
	hang_up(&perfume_event_dynamic);
}

static void twenty_fields_fit(void **state)
{
	unsigned char all[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	int i;

	listen_to(&perfume_event_twenty);
	perfume_twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
	expect_packet(all, sizeof(all));
	hang_up(&perfume_event_twenty);
	listen_to(&perfume_event_twenty_dynamic);
	perfume_twenty_dynamic("", "", "", "", "", "", "", "", "", "", "x", 1, "x", 1, "x", 1, "x",
		1, "x", 1, all, 1, all, 1, all, 1, all, 1, all, 1);
	for (i = 0; i < 20; i++)
		want_place((unsigned)(4 * (19 - i) + i), 1);
	want_bytes("\0\0\0\0\0\0\0\0\0\0xxxxx\1\1\1\1\1", 20);
	expect_wanted();
	hang_up(&perfume_event_twenty_dynamic);
}

static void a_too_long_payload_is_refused(void **state)
{
	static char text[PERFUME_PAYLOAD_MAX];

	memset(text, 'x', sizeof(text) - 1);
	listen_to(&perfume_event_order_placed);
	assert_int_equal(perfume_order_placed(1, 1, text), -EMSGSIZE);
	assert_int_equal(perfume_order_placed(1, 1, text + 20), PERFUME_PAYLOAD_MAX);
	hang_up(&perfume_event_order_placed);
	listen_to(&perfume_event_dynamic);
	assert_int_equal(perfume_dynamic(text, text, SIZE_MAX, text, SIZE_MAX, NULL, SIZE_MAX / 4,
				 NULL, 0, 1),
		-EMSGSIZE);
	assert_non_null(strstr(perfume_error(), "longer"));
	hang_up(&perfume_event_dynamic);
}

/* On kernels before 6.4 the word permanently says to check the status page. */
static void the_status_page_is_used_if_the_word_is_set(void **state)
{
	static uint8_t page[4096];
	struct perfume_event *event = &perfume_event_order_placed;

	kernel.status = page;
	kernel.interface = PERFUME_INTERFACE_STATUS_BITS;
	listen_to(event);
	*event->word = PERFUME_WORD_STATUS;
	event->status = 13;
	evaluated = 0;
	page[13] = 0xff;
	page[1] = (uint8_t)~0x20;
	assert_int_equal(PERFUME(order_placed, next_id(), 2.5, "x"), 0);
	assert_int_equal(perfume_order_placed(1, 2.5, "x"), 0);
	assert_false(perfume_order_placed_enabled());
	assert_int_equal(evaluated, 0);
	page[1] = 0x20;
	assert_int_equal(PERFUME(order_placed, next_id(), 2.5, "x"), 22);
	assert_int_equal(perfume_order_placed(1, 2.5, "x"), 22);
	kernel.interface = PERFUME_INTERFACE_STATUS_BYTES;
	assert_int_equal(perfume_order_placed(1, 2.5, "x"), 22);
	page[13] = 0;
	assert_int_equal(perfume_order_placed(1, 2.5, "x"), 0);
	*event->word = 0;
	hang_up(event);
	kernel.interface = PERFUME_INTERFACE_NONE;
	kernel.status = NULL;
}

static void two_source_files_must_agree_on_the_fields(void **state)
{
	static uint32_t word;
	static struct perfume_event event = {&word, "disputed", "u32 a", 4};
	static struct perfume_entry ours = {&event, "u32 a", {-1}},
				    theirs = {&event, "u64 a", {-1}};
	struct perfume_entry *section[] = {&ours, &theirs};

	event.target = PERFUME_NO_TARGET;
	perfume_image_add(section, section + 1);
	assert_non_null(event.file);
	perfume_image_remove(section, section + 1);
	assert_null(event.file);
	perfume_image_add(section, section + 2);
	assert_null(event.file);
	assert_int_equal(perfume_event_error(&event), -EEXIST);
	assert_non_null(strstr(perfume_error(), "different fields"));
	perfume_image_remove(section, section + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_registered_before_main),
		cmocka_unit_test(an_event_without_fields_has_no_payload),
		cmocka_unit_test(arguments_are_evaluated_only_with_a_listener),
		cmocka_unit_test(a_string_follows_the_fixed_fields),
		cmocka_unit_test(integers_are_packed),
		cmocka_unit_test(booleans_addresses_and_arrays_are_fixed_fields),
		cmocka_unit_test(dynamic_fields_follow_in_their_order),
		cmocka_unit_test(twenty_fields_fit),
		cmocka_unit_test(a_too_long_payload_is_refused),
		cmocka_unit_test(the_status_page_is_used_if_the_word_is_set),
		cmocka_unit_test(two_source_files_must_agree_on_the_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
