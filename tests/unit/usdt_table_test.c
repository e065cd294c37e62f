/* SPDX-License-Identifier: MIT */
/* Files whose USDT notes are wrong: only what is true is found, and nothing else is fetched. */
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "event/usdt_table.h"
#include "events.h"
#include "folder.h"
#include "usdt_file.h"

/* Short names of the places in the file. */
enum {
	CODE = USDT_FILE_CODE,
	CODE_SIZE = USDT_FILE_CODE_SIZE,
	ADDRESS = USDT_FILE_ADDRESS,
	DATA = USDT_FILE_DATA,
};

/* Appends a note with three addresses and n bytes of strings. */
static void add_note(struct buf *b, uint64_t pc, uint64_t semaphore, const char *strings, size_t n)
{
	const char zeros[4] = {0};

	buf_add(b, (uint32_t[]){8, (uint32_t)(24 + n), 3}, 12);
	buf_add(b, "stapsdt", 8);
	buf_add(b, (uint64_t[]){pc, 0, semaphore}, 24);
	buf_add(b, strings, n);
	buf_add(b, zeros, (4 - n % 4) % 4);
}

#define NOTE(b, pc, semaphore, strings) add_note(b, pc, semaphore, strings, sizeof(strings))

static void read_file(struct usdt_table *table, struct buf *notes, const char *provider)
{
	struct buf file = {0};
	char path[256];

	snprintf(path, sizeof(path), "%s/file", folder_make());
	usdt_file_make(&file, notes->data, notes->len);
	folder_put("file", file.data, file.len);
	assert_int_equal(usdt_table_add(table, path, provider, "*"), 0);
	usdt_table_sort(table);
	folder_remove();
	buf_done(&file);
	buf_done(notes);
}

static void test_arguments(void **state)
{
	struct usdt_table table = {0};
	struct buf notes = {0};
	const struct usdt_location *l;

	NOTE(&notes, ADDRESS + 16, DATA + 2,
		"p\0a\0-4@%edi 8@-16(%rbp) 1@$200 -2@counter(%rip) 4@counter+4(%rip) 8f@8(%rsp)");
	NOTE(&notes, ADDRESS + 4, 0, "p\0a\0-4@%edi");
	NOTE(&notes, ADDRESS + 8, 0, "p\0a\0-4@$3");
	NOTE(&notes, ADDRESS + 8, 0, "p\0a\0-4@$3");
	NOTE(&notes, ADDRESS, 0, "q\0b\0");
	read_file(&table, &notes, "p");
	assert_int_equal(table.locations.n, 3);
	l = table.locations.at;
	/* Sorted by arguments, then by offset; equal arguments are the same string. */
	assert_string_equal(l[0].arguments, "s32 arg1");
	assert_string_equal(l[0].fetch, " arg1=%di:s32");
	assert_int_equal(l[0].offset, CODE + 4);
	assert_string_equal(l[1].fetch, " arg1=\\3:s32");
	assert_int_equal(l[1].offset, CODE + 8);
	assert_ptr_equal(l[0].arguments, l[1].arguments);
	assert_string_equal(
		l[2].arguments, "s32 arg1, u64 arg2, u8 arg3, s16 arg4, u32 arg5, x64 arg6");
	/* The difference between address and offset of the code is 0x400000. */
	assert_string_equal(l[2].fetch,
		" arg1=%di:s32 arg2=-16(%bp):u64 arg3=\\200:u8 arg4=@+0x3010:s16"
		" arg5=@+0x3014:u32 arg6=+8(%sp):x64");
	assert_int_equal(l[2].ref, CODE + CODE_SIZE + 2);
	assert_string_equal(l[2].unfetched, "");
	usdt_table_done(&table);
}

static void test_arguments_that_cannot_be_fetched(void **state)
{
	struct usdt_table table = {0};
	struct buf notes = {0};
	const struct usdt_location *l;

	NOTE(&notes, ADDRESS, 0,
		"p\0a\0-4@%eax 16@%xmm0 3@%ebx 8@nothing(%rip) 8@(%rax,%rbx,8) 4@$1\n-:other "
		"4@%ecx");
	read_file(&table, &notes, "*");
	assert_int_equal(table.locations.n, 1);
	l = table.locations.at;
	assert_string_equal(
		l->arguments, "s32 arg1, ? arg2, ? arg3, ? arg4, ? arg5, ? arg6, u32 arg7");
	assert_string_equal(l->fetch, " arg1=%ax:s32 arg7=%cx:u32");
	assert_string_equal(l->unfetched,
		" arg2 (%xmm0) arg3 (%ebx) arg4 (nothing(%rip)) arg5 ((%rax,%rbx,8)) "
		"arg6 ($1\n-:other)");
	usdt_table_done(&table);
}

/* Each note but the last is wrong. */
static void test_lying_notes(void **state)
{
	static const char many[] = "p\0many\0"
				   "4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax "
				   "4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax 4@%eax";
	struct usdt_table table = {0};
	struct buf notes = {0};
	const struct usdt_location *l;

	NOTE(&notes, ADDRESS - 1, 0, "p\0before\0");
	NOTE(&notes, ADDRESS + CODE_SIZE, 0, "p\0behind\0");
	NOTE(&notes, DATA, 0, "p\0data\0");
	NOTE(&notes, UINT64_MAX, 0, "p\0last\0");
	NOTE(&notes, ADDRESS, DATA + 0x180, "p\0semaphore_in_bss\0");
	NOTE(&notes, ADDRESS, 5, "p\0semaphore_nowhere\0");
	NOTE(&notes, ADDRESS, 0, "p\nq\0newline\0");
	NOTE(&notes, ADDRESS, 0, "p\0a:b\0");
	NOTE(&notes, ADDRESS, 0, "p\0a\033[2J\0");
	NOTE(&notes, ADDRESS, 0, "\0a\0");
	NOTE(&notes, ADDRESS, 0, "p\0\0");
	add_note(&notes, ADDRESS, 0, "p\0a\0-4@%eax", 11);
	add_note(&notes, ADDRESS, 0, "p\0a", 3);
	add_note(&notes, ADDRESS, 0, "p", 1);
	add_note(&notes, ADDRESS, 0, "", 0);
	NOTE(&notes, ADDRESS + 1, 0, "p\0words\0garbage @@@ 99999999999@%eax");
	NOTE(&notes, ADDRESS + 2, 0, many);
	read_file(&table, &notes, "*");
	assert_int_equal(table.locations.n, 2);
	l = table.locations.at;
	assert_string_equal(l[0].name, "many");
	assert_null(strstr(l[0].arguments, "arg13"));
	assert_non_null(strstr(l[0].arguments, "arg12"));
	assert_string_equal(l[1].name, "words");
	assert_string_equal(l[1].arguments, "");
	usdt_table_done(&table);
}

/* A note that ends behind its section. */
static void test_cut_notes(void **state)
{
	struct buf whole = {0};

	NOTE(&whole, ADDRESS, 0, "p\0a\0-4@%eax");
	for (size_t n = 0; n <= whole.len; n++) {
		struct usdt_table table = {0};
		struct buf notes = {0};

		buf_add(&notes, whole.data, n);
		read_file(&table, &notes, "*");
		assert_int_equal(table.locations.n, n == whole.len);
		usdt_table_done(&table);
	}
	buf_done(&whole);
}

/* Without tracefs, each location is an event of the uprobe PMU, and its semaphore is used. */
static void test_events_of_the_pmu(void **state)
{
	const char *root = folder_make();
	char sysfs[128], file[128], text[256], name[256];
	struct attar_catalog_opts opts = {
		.size = sizeof(opts), .sysfs = sysfs, .tracefs = "/no/such/folder"};
	struct buf notes = {0}, elf = {0};
	struct attar_event_list *list;
	struct attar_catalog *catalog;
	struct stat at_path, at_link;

	snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
	snprintf(file, sizeof(file), "%s/file", root);
	folder_line("sys/bus/event_source/devices/uprobe/type", "7");
	folder_line("sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", "config:32-63");
	NOTE(&notes, ADDRESS + 4, DATA + 2, "p\0a\0-4@%edi");
	NOTE(&notes, ADDRESS + 8, 0, "p\0a\0-4@%eax");
	NOTE(&notes, ADDRESS + 12, 0, "q\0a\0");
	usdt_file_make(&elf, notes.data, notes.len);
	folder_put("file", elf.data, elf.len);
	assert_int_equal(attar_catalog_new(&opts, &catalog), 0);
	snprintf(text, sizeof(text), "usdt:%s:p:a:u,usdt:%s:a", file, file);
	list = events_parse(catalog, text);
	assert_int_equal(list->n, 5);
	assert_int_equal(stat(file, &at_path), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(list->at[i].type, 7);
		assert_int_equal(stat((const char *)(uintptr_t)list->at[i].config1, &at_link), 0);
		assert_int_equal(at_link.st_ino, at_path.st_ino);
	}
	assert_int_equal(list->at[0].config2, CODE + 4);
	assert_int_equal(list->at[0].config, (uint64_t)(CODE + CODE_SIZE + 2) << 32);
	assert_true(list->at[0].exclude_kernel);
	assert_int_equal(list->at[1].config2, CODE + 8);
	assert_int_equal(list->at[1].config, 0);
	snprintf(name, sizeof(name), "usdt:%s:q:a", file);
	assert_string_equal(list->at[4].name, name);
	assert_int_equal(list->at[4].item, 1);
	attar_event_list_free(list);
	snprintf(text, sizeof(text), "usdt:%s:p:b", file);
	assert_int_equal(attar_event_list_parse(catalog, text, &list), -ENOENT);
	assert_int_equal(attar_event_list_parse(catalog, "usdt:p:a", &list), -EINVAL);
	assert_int_equal(attar_event_list_parse(catalog, "sdt_p:", &list), -EINVAL);
	attar_catalog_free(catalog);
	/* With the program named in the options of the catalog. */
	opts.program = file;
	assert_int_equal(attar_catalog_new(&opts, &catalog), 0);
	list = events_parse(catalog, "usdt:p:a,sdt_q:a");
	assert_int_equal(list->n, 3);
	assert_string_equal(list->at[2].name, "sdt_q:a");
	attar_event_list_free(list);
	attar_catalog_free(catalog);
	buf_done(&notes);
	buf_done(&elf);
	folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_arguments_that_cannot_be_fetched),
		cmocka_unit_test(test_lying_notes),
		cmocka_unit_test(test_cut_notes),
		cmocka_unit_test(test_events_of_the_pmu),
	};

	return cmocka_run_group_tests_name("usdt_table", tests, NULL, NULL);
}
