/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "elf/kallsyms.h"
#include "peer/symbol_list.h"

static const char listed[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 t helper\n"
			     "ffffffff81000180 T __pfx_getpid\n"
			     "ffffffff81000190 T __x64_sys_getpid\n"
			     "ffffffff81000300 T _etext\n"
			     "ffffffff81000400 D some_data\n"
			     "ffffffff81000500 D more_data\n"
			     "ffffffff81000600 T later\n"
			     "ffffffffc0203080 t second\t[ext4]\n"
			     "ffffffffc0203000 t first\t[ext4]\n"
			     "ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static int pack(const char *text, struct buf *packed)
{
	char path[] = "/tmp/attar-unit-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = symbol_list_pack(path, packed);
	unlink(path);
	return r;
}

/* Every address has the same name as in the list that was packed. */
static void test_names(void **state)
{
	static const uint64_t from[] = {0xffffffff80fffff0, 0xffffffffc0202ff0, 0xffffffffc02ffff0};
	struct buf packed _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	struct kallsyms before, after;
	unsigned named = 0;

	assert_int_equal(pack(listed, &packed), 0);
	assert_int_equal(symbol_list_unpack(packed.data, packed.len, &text), 0);
	assert_null(strstr(buf_text(&text), "__pfx_getpid"));
	assert_null(strstr(buf_text(&text), "more_data"));
	assert_int_equal(kallsyms_parse(&before, listed, strlen(listed)), 0);
	assert_int_equal(kallsyms_parse(&after, text.data, text.len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		for (uint64_t at = from[i]; at < from[i] + 0x800; at += 8) {
			struct kallsyms_hit x, y;
			bool is_named = kallsyms_find(&before, at, &x);

			assert_int_equal(kallsyms_find(&after, at, &y), is_named);
			if (!is_named)
				continue;
			named++;
			assert_string_equal(x.name, y.name);
			assert_string_equal(x.owner ?: "", y.owner ?: "");
			assert_int_equal(x.start, y.start);
		}
	assert_true(named > 100);
	kallsyms_done(&before);
	kallsyms_done(&after);
}

static void test_hidden_addresses(void **state)
{
	struct buf packed _cleanup_(buf_done) = {0};

	assert_int_equal(pack("0000000000000000 T _stext\n", &packed), -EACCES);
	assert_int_equal(symbol_list_pack("/nonexistent", &packed), -ENOENT);
	assert_int_equal(packed.len, 0);
}

static void test_damaged(void **state)
{
	struct buf packed _cleanup_(buf_done) = {0};

	assert_int_equal(pack(listed, &packed), 0);
	for (size_t n = 0; n < packed.len; n++) {
		struct buf text _cleanup_(buf_done) = {0};

		assert_int_equal(symbol_list_unpack(packed.data, n, &text), -EBADMSG);
	}
	for (size_t i = 0; i < packed.len; i++) {
		struct buf text _cleanup_(buf_done) = {0};

		packed.data[i] ^= 0x55;
		assert_int_equal(symbol_list_unpack(packed.data, packed.len, &text), -EBADMSG);
		packed.data[i] ^= 0x55;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("symbol_list", tests, NULL, NULL);
}
