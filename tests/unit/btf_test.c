/* SPDX-License-Identifier: MIT */
/* Offsets of members from type information, which is also cut and damaged. */
#include "unit.h"

#include <linux/btf.h>

#include "attar/base.h"
#include "btf/btf.h"

static const char strings[] = "\0int\0task\0prio\0se\0inner\0flag\0deep";

enum { INT = 1, TASK = 5, PRIO = 10, SE = 15, INNER = 18, FLAG = 24, DEEP = 29 };

static void add_type(struct buf *b, uint32_t name, uint32_t kind, bool kflag, uint32_t n)
{
	const struct btf_type type = {
		.name_off = name, .info = kind << 24 | (uint32_t)kflag << 31 | n, .size = 4};

	buf_add(b, &type, sizeof(type));
}

static void add_member(struct buf *b, uint32_t name, uint32_t type, uint32_t offset)
{
	const struct btf_member member = {name, type, offset};

	buf_add(b, &member, sizeof(member));
}

/*
 *	union { int flag : 8; struct { int deep; }; }	at byte 16 of
 *	struct task { int prio; ...; int se; }
 */
static struct buf make(void)
{
	struct buf types = {0}, b = {0};
	struct btf_header head = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(head)};
	const uint32_t words[3] = {0};

	add_type(&types, INT, BTF_KIND_INT, false, 0); /* 1 */
	buf_add(&types, words, 4);
	add_type(&types, 0, BTF_KIND_ARRAY, false, 0); /* 2 */
	buf_add(&types, words, 12);
	add_type(&types, 0, BTF_KIND_STRUCT, false, 1); /* 3 */
	add_member(&types, DEEP, 1, 32);
	add_type(&types, 0, BTF_KIND_UNION, true, 2); /* 4 */
	add_member(&types, FLAG, 1, 8U << 24 | 8);
	add_member(&types, 0, 3, 0);
	add_type(&types, TASK, BTF_KIND_PTR, false, 0); /* 5: of the same name */
	add_type(&types, TASK, BTF_KIND_STRUCT, false, 3);
	add_member(&types, PRIO, 1, 0);
	add_member(&types, 0, 4, 128);
	add_member(&types, SE, 1, 192);
	head.type_len = head.str_off = (uint32_t)types.len;
	head.str_len = sizeof(strings);
	buf_add(&b, &head, sizeof(head));
	buf_add(&b, types.data, types.len);
	buf_add(&b, strings, sizeof(strings));
	buf_done(&types);
	return b;
}

static void test_offsets_of_members(void **state)
{
	static const struct {
		const char *member;
		uint32_t offset;
	} truth[] = {{"prio", 0}, {"se", 24}, {"flag", 17}, {"deep", 20}};
	struct btf btf;
	uint32_t offset;

	assert_int_equal(btf_take(&btf, make(), NULL), 0);
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		assert_int_equal(btf_offset(&btf, "task", truth[i].member, &offset), 0);
		assert_int_equal(offset, truth[i].offset);
	}
	assert_int_equal(btf_offset(&btf, "task", "pri", &offset), -ENOENT);
	assert_string_equal(attar_error(), "the kernel's struct task has no member 'pri'");
	assert_int_equal(btf_offset(&btf, "inner", "deep", &offset), -ENOENT);
	btf_done(&btf);
}

/* Cut anywhere it is refused, or says less; each byte may have any value. */
static void test_damaged_information_is_refused(void **state)
{
	struct buf whole = make();

	for (size_t n = 0; n < whole.len; n++) {
		struct buf part = {0};
		struct btf btf;

		buf_add(&part, whole.data, n);
		assert_int_equal(btf_take(&btf, part, NULL), -EBADMSG);
		btf_done(&btf);
	}
	for (size_t i = 0; i < whole.len * 3; i++) {
		struct buf part = {0};
		struct btf btf;
		uint32_t offset;

		buf_add(&part, whole.data, whole.len);
		part.data[i / 3] = (char)(i % 3 == 0 ? 0xff : i % 3 == 1 ? 0 : 0x7f);
		if (btf_take(&btf, part, NULL) == 0) {
			btf_offset(&btf, "task", "deep", &offset);
			btf_offset(&btf, "task", "absent", &offset);
		}
		btf_done(&btf);
	}
	buf_done(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_of_members),
		cmocka_unit_test(test_damaged_information_is_refused),
	};

	return cmocka_run_group_tests_name("btf", tests, NULL, NULL);
}
