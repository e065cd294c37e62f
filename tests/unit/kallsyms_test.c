/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>

#include "elf/kallsyms.h"

static const char fixture[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T startup\n"
			      "ffffffff81000100 t helper\n"
			      "ffffffff81000180 T __pfx_getpid\n"
			      "ffffffff81000190 T __ia32_sys_getpid\n"
			      "ffffffff81000190 T __x64_sys_getpid\n"
			      "ffffffff81000200 W weak\n"
			      "ffffffff81000300 T _etext\n"
			      "ffffffff81000400 D some_data\n"
			      "ffffffff81000500 D more_data\n"
			      "ffffffffc0203080 t second\t[ext4]\n"
			      "ffffffffc0203000 t first\t[ext4]\n"
			      "ffffffffc0203080 T second_global\t[ext4]\n"
			      "ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]";

static void check(const struct kallsyms *list, uint64_t address, const char *name,
	const char *owner, uint64_t offset)
{
	struct kallsyms_hit hit;

	assert_true(kallsyms_find(list, address, &hit));
	assert_string_equal(hit.name, name);
	assert_string_equal(hit.owner ?: "", owner);
	assert_int_equal(address - hit.start, offset);
	assert_true(hit.size > offset);
}

static void test_fixture(void **state)
{
	struct kallsyms_hit hit;
	struct kallsyms list;

	assert_int_equal(kallsyms_parse(&list, fixture, sizeof(fixture) - 1), 0);
	check(&list, 0xffffffff81000000, "startup", "", 0);
	check(&list, 0xffffffff810000ff, "startup", "", 0xff);
	check(&list, 0xffffffff81000189, "helper", "", 0x89);
	check(&list, 0xffffffff81000191, "__x64_sys_getpid", "", 1);
	check(&list, 0xffffffff810002ff, "weak", "", 0xff);
	check(&list, 0xffffffff810003ff, "_etext", "", 0xff);
	assert_false(kallsyms_find(&list, 0xffffffff81000400, &hit));
	assert_false(kallsyms_find(&list, 0xffffffff81000fff, &hit));
	assert_false(kallsyms_find(&list, 0xffffffff80ffffff, &hit));
	check(&list, 0xffffffffc0203000, "first", "[ext4]", 0);
	check(&list, 0xffffffffc0203085, "second_global", "[ext4]", 5);
	check(&list, 0xffffffffc0300010, "bpf_prog_6deef7357e7b4530", "[bpf]", 0x10);
	check(&list, 0xffffffffc0303000, "bpf_prog_6deef7357e7b4530", "[bpf]", 0x3000);
	assert_false(kallsyms_find(&list, 0xffffffffc0400000, &hit));
	assert_false(kallsyms_find(&list, 0, &hit));
	kallsyms_done(&list);
}

static void test_hidden(void **state)
{
	static const char zeros[] = "0000000000000000 T _stext\n0000000000000000 T _text\n";
	struct kallsyms list;

	assert_int_equal(kallsyms_parse(&list, zeros, sizeof(zeros) - 1), -EACCES);
	assert_int_equal(list.lines, 2);
	kallsyms_done(&list);
}

static void test_random_bytes(void **state)
{
	static const char noise[] =
		"\n\n \nxyz\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n[\n"
		"ffffffff81000000 T \t[x]\nfffffffffffffffff81000000 T wide\n";
	struct kallsyms list;

	/* "wide" has too many digits; only the upper ones are lost. */
	assert_int_equal(kallsyms_parse(&list, noise, sizeof(noise) - 1), 0);
	check(&list, 0xffffffff81000000, "wide", "", 0);
	kallsyms_done(&list);
	assert_int_equal(kallsyms_parse(&list, "", 0), -ENODATA);
	kallsyms_done(&list);
}

/* Every function listed by the running kernel is found by its address. */
static void test_live(void **state)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], type;
	unsigned long long address, checked = 0;
	struct kallsyms list;
	int r = kallsyms_read(&list, "/proc/kallsyms");

	if (r == -EACCES)
		print_message("skipped: the kernel hides symbol addresses from this user\n");
	if (r == -EACCES || !f) {
		kallsyms_done(&list);
		skip();
	}
	assert_int_equal(r, 0);
	while (fgets(line, sizeof(line), f)) {
		struct kallsyms_hit hit;

		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3 ||
			!strchr("tTwW", type) || !strncmp(name, "__pfx_", 6) || name[0] == '$')
			continue;
		assert_true(kallsyms_find(&list, address, &hit));
		assert_int_equal(hit.start, address);
		checked++;
	}
	assert_true(checked > 1000);
	fclose(f);
	kallsyms_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixture),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests_name("kallsyms", tests, NULL, NULL);
}
