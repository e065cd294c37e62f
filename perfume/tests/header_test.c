/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Self-describing events: the bytes are those of LinuxTracepoints' eventheader.h, and attar decodes
 * them.
 */
#include "tests.h"

#include "attar/eventheader.h"

PERFUME_HEADER_EVENT(Shop, 4, 2a, order_placed, (u64, id), (str, symbol))
PERFUME_HEADER_EVENT(Shop, 4, 2a, order_gone, (u64, id))
PERFUME_HEADER_EVENT(Shop, 5, 0Gshops, opened)
PERFUME_HEADER_EVENT(Shop, 1, ffffffffffffffff, all_kinds, (u8, a), (s8, b), (u16, c), (s16, d),
	(u32, e), (s32, f), (s64, g), (f32, h), (f64, i), (bool, j), (ptr, k), (strn, l),
	(bytes, m), (u8s, n), (s16s, o), (f64s, p), (array, q, u32, 3), (s32s, r), (u64s, s),
	(f32s, t))

/* Returns the received event as attar prints it. */
static const char *printed(void)
{
	static char text[1024];
	unsigned char got[8192];
	ssize_t n = read(pipe_ends[0], got, sizeof(got));

	assert_true(n > 4);
	attar_eventheader_print(got + 4, (size_t)n - 4, text, sizeof(text));
	return text;
}

static void the_bytes_are_those_of_the_encoding(void **state)
{
	static const char wanted[] = "\7\0\0\0\0\0\0\4"
				     "\31\0\1\0"
				     "order_placed\0"
				     "id\0\5"
				     "symbol\0\12"
				     "\115\0\0\0\0\0\0\0"
				     "\5\0ATTAR";

	listen_to(&perfume_event_order_placed);
	assert_int_equal(perfume_order_placed(77, "ATTAR"), sizeof(wanted) - 1);
	expect_packet(wanted, sizeof(wanted) - 1);
	hang_up(&perfume_event_order_placed);
	assert_int_equal(perfume_order_placed(77, "ATTAR"), 0);
}

static void events_of_one_level_and_keyword_share_a_tracepoint(void **state)
{
	assert_string_equal(perfume_event_order_placed.name, "Shop_L4K2a");
	assert_string_equal(perfume_event_order_gone.name, "Shop_L4K2a");
	assert_string_equal(perfume_event_opened.name, "Shop_L5K0Gshops");
	assert_string_equal(perfume_event_opened.fields,
		"u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level");
	assert_int_equal(PERFUME_EVENT_ERROR(order_placed), 0);
	assert_int_equal(PERFUME_EVENT_ERROR(order_gone), 0);
}

static void an_activity_precedes_the_description(void **state)
{
	struct perfume_activity parent = {.id = "0123456789abcde"}, own = {.id = "ABCDEFGHIJKLMNO"};

	listen_to(&perfume_event_opened);
	assert_int_equal(perfume_opened_in(&parent), 39);
	expect_packet("\7\0\0\0\0\0\0\5\20\0\2\2000123456789abcde\0\7\0\1\0opened", 39);
	own.related = parent.id;
	own.opcode = PERFUME_OPCODE_START;
	assert_int_equal(perfume_opened_in(&own), 55);
	assert_string_equal(printed(),
		"opened level=verbose opcode=start activity=41424344-4546-4748-494a-4b4c4d4e4f00 "
		"related=30313233-3435-3637-3839-616263646500");
	hang_up(&perfume_event_opened);
}

static void every_kind_of_field_is_decoded(void **state)
{
	const uint8_t bytes[] = {1, 2};
	const int16_t shorts[] = {-1, 2};
	const double reals[] = {0.5, 1e300};
	const uint32_t three[] = {1, 2, 3};

	listen_to(&perfume_event_all_kinds);
	assert_true(perfume_all_kinds(1, -2, 3, -4, 5, -6, INT64_MIN, 0.1f, 0.1, 5, (void *)0xbeef,
			    "texts", 4, bytes, 2, bytes, 2, shorts, 2, reals, 2, three, NULL, 0,
			    NULL, 0, NULL, 0) > 0);
	assert_string_equal(printed(),
		"all_kinds level=critical: a=1 b=-2 c=3 d=-4 e=5 f=-6 g=-9223372036854775808 h=0.1 "
		"i=0.1 j=true k=0xbeef l=text m=0102 n=[1,2] o=[-1,2] p=[0.5,1e+300] q=[1,2,3] "
		"r=[] "
		"s=[] t=[]");
	hang_up(&perfume_event_all_kinds);
}

static void a_too_long_payload_is_refused(void **state)
{
	static char text[PERFUME_PAYLOAD_MAX];

	memset(text, 'x', sizeof(text) - 1);
	listen_to(&perfume_event_order_placed);
	assert_int_equal(perfume_order_placed(1, text), -EMSGSIZE);
	assert_int_equal(perfume_order_placed(1, text + 46), PERFUME_PAYLOAD_MAX);
	hang_up(&perfume_event_order_placed);
}

static void activities_have_unique_ids(void **state)
{
	uint8_t one[16], other[16];

	perfume_activity_new(one);
	perfume_activity_new(other);
	assert_memory_not_equal(one, other, 16);
	assert_int_equal(one[6] >> 4, 4);
	assert_int_equal(one[8] >> 6, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_those_of_the_encoding),
		cmocka_unit_test(events_of_one_level_and_keyword_share_a_tracepoint),
		cmocka_unit_test(an_activity_precedes_the_description),
		cmocka_unit_test(every_kind_of_field_is_decoded),
		cmocka_unit_test(a_too_long_payload_is_refused),
		cmocka_unit_test(activities_have_unique_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
