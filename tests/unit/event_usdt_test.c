/* SPDX-License-Identifier: MIT */
/* USDT notes: the arguments that uprobes fetch, and user events as the list shows them. */
#include "unit.h"

#include <elf.h>
#include <stdio.h>

#include "base/buf.h"
#include "event/usdt.h"
#include "event/usdt_operand.h"
#include "events.h"
#include "folder.h"

static const struct usdt_site no_file;

static void assert_operand(const char *operand, const char *fetched)
{
	struct buf b = {0};

	assert_int_equal(usdt_operand(&no_file, operand, &b), 0);
	assert_string_equal(buf_text(&b), fetched);
	buf_done(&b);
}

static void test_operands(void **state)
{
	struct buf b = {0};

	assert_operand("%rax", "%ax");
	assert_operand("%edi", "%di");
	assert_operand("%r11d", "%r11");
	assert_operand("-24(%rbp)", "-24(%bp)");
	assert_operand("(%rsp)", "+0(%sp)");
	assert_operand("120(%r12)", "+120(%r12)");
	assert_operand("$5", "\\5");
	assert_operand("$-5", "\\-5");
	assert_operand("x0", "%x0");
	assert_operand("w19", "%x19");
	assert_operand("sp", "%sp");
	assert_operand("[sp, 16]", "+16(%sp)");
	assert_operand("[x29, -16]", "-16(%x29)");
	assert_operand("[x1]", "+0(%x1)");
	/* operands that uprobes cannot fetch are reported, not guessed */
	assert_int_equal(usdt_operand(&no_file, "8(%rax,%rbx,8)", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "%xmm0", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "counter(%rip)", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "%r16", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "%ah", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "%fs:8(%rax)", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "8(%rax)x", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "x31", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "d0", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "[x0, x1]", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "[x0, 8]!", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "[x0, x1, lsl 3]", &b), -EOPNOTSUPP);
	assert_int_equal(usdt_operand(&no_file, "[x0], 8", &b), -EOPNOTSUPP);
	buf_done(&b);
}

/*
 * An operand is written to uprobe_events, where each line is a command: no part of a file's operand
 * may start one.
 */
static void test_operands_cannot_inject_commands(void **state)
{
	static const char *const commands[] = {"$1\n-:kprobes/other", "$[\np:mine do_exit]", "$",
		"$-", "$symbol", "x1\n", "%rax\n", "-8(%rbp\n)", "[sp\n, 8]"};
	struct buf b = {0};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (usdt_operand(&no_file, commands[i], &b) != -EOPNOTSUPP)
			fail_msg("'%s' is accepted", commands[i]);
	assert_null(strchr(buf_text(&b), '\n'));
	buf_done(&b);
}

static int plan(const struct usdt_site *site, size_t *ret_n, struct buf *fetch, struct buf *spelled)
{
	static struct usdt_field fields[USDT_FIELDS];

	buf_reset(fetch);
	buf_reset(spelled);
	return usdt_plan(site, fields, ret_n, fetch, spelled);
}

static void test_plan(void **state)
{
	struct usdt_site site = {.event = "order",
		.operands = "8@-104(%rbp) 8@-96(%rbp) 8@-88(%rbp) -8@-80(%rbp) 8@-72(%rbp) "
			    "8@-64(%rbp) 8@%rax",
		.fields = "u64 id; f64 price; __rel_loc char[] symbol; s32 change; __rel_loc u32[] "
			  "lots; "
			  "f32[100] curve",
		.signs = "nntnma"};
	struct buf fetch = {0}, spelled = {0};
	size_t n;

	assert_int_equal(plan(&site, &n, &fetch, &spelled), 0);
	assert_int_equal(n, 6);
	assert_string_equal(buf_text(&fetch),
		" a0=-104(%bp):u64 a1=-96(%bp):u64 a2=+0(-88(%bp)):string a3=-80(%bp):u64"
		" a4n=-64(%bp):u64 a4c0=+0(-72(%bp)):u32[64] a4c1=+256(-72(%bp)):u32[64]"
		" a4c2=+512(-72(%bp)):u32[64] a4c3=+768(-72(%bp)):u32[64]"
		" a5c0=+0(%ax):u32[64] a5c1=+256(%ax):u32[36]");
	assert_string_equal(buf_text(&spelled), "u64 id; struct f64 price 8; __rel_loc char[] "
						"symbol; s32 change; __rel_loc u32[] lots; "
						"struct f32x100 curve 400");
	/* operands end before the fields do: tools refuse more than twelve */
	site.operands = "8@-104(%rbp) 8@-96(%rbp)";
	assert_int_equal(plan(&site, &n, &fetch, &spelled), 0);
	assert_int_equal(n, 2);
	assert_string_equal(buf_text(&spelled), "u64 id; struct f64 price 8");
	/* a note without names */
	site.fields = site.signs = NULL;
	site.operands = "8@[sp, 16] -4@w3";
	assert_int_equal(plan(&site, &n, &fetch, &spelled), 0);
	assert_int_equal(n, 2);
	assert_string_equal(buf_text(&spelled), "u64 arg1; s32 arg2");
	assert_string_equal(buf_text(&fetch), " a0=+16(%sp):u64 a1=%x3:u32");
	buf_done(&fetch);
	buf_done(&spelled);
}

static void test_invalid_notes(void **state)
{
	static const struct {
		const char *fields, *signs;
	} wrong[] = {{"u64", "n"}, {"u63 id", "n"}, {"u64 id", "x"}, {"u64 id", "t"},
		{"f32[0] a", "a"}, {"u64[4000000000] a", "a"}, {"", "n"}, {"u64 a; ", "nn"},
		{"u8[4294967295] a; u8 b", "nn"}};
	struct buf fetch = {0}, spelled = {0};
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct usdt_site site = {.event = "x",
			.operands = "8@%rax 8@%rbx",
			.fields = wrong[i].fields,
			.signs = wrong[i].signs};

		assert_int_equal(plan(&site, &n, &fetch, &spelled), -EBADMSG);
	}
	assert_int_equal(
		plan(&(struct usdt_site){.event = "x", .operands = "3@%rax"}, &n, &fetch, &spelled),
		-EBADMSG);
	assert_string_equal(
		attar_error(), "malformed fields of the USDT probe 'perfume:x': u24 arg1");
	buf_done(&fetch);
	buf_done(&spelled);
}

static int count(void *ctx, const struct usdt_site *site)
{
	++*(int *)ctx;
	return 0;
}

static void test_files_without_probes(void **state)
{
	int n = 0;

	assert_int_equal(usdt_each("/proc/self/exe", count, &n), 0);
	assert_int_equal(usdt_each("/etc/passwd", count, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(usdt_each("/no/such/file", count, &n), -ENOENT);
}

/* ---- a file of very many probes ---- */

enum { PROBES = 20000, CODE = 0x1000 };

/* A note of n bytes, all multiples of 4 here. */
static void add_note(
	struct buf *b, const char owner[8], uint32_t type, const void *desc, uint32_t n)
{
	buf_add(b, (uint32_t[]){8, n, type}, 12);
	buf_add(b, owner, 8);
	buf_add(b, desc, n);
}

/* Probes at the bytes of the code; notes of fields of all of them in reverse order. */
static void add_notes(struct buf *probes, struct buf *fields)
{
	struct {
		uint64_t pc, base, semaphore;
		char strings[12];
	} __attribute__((packed)) probe = {.strings = "perfume\0e\0"};
	struct {
		uint64_t pc;
		char strings[8];
	} field = {.strings = "n\0u64 a"};

	for (uint64_t i = 0; i < PROBES; i++) {
		probe.pc = CODE + i;
		add_note(probes, "stapsdt", 3, &probe, sizeof(probe));
		field.pc = CODE + PROBES - 1 - i;
		add_note(fields, "perfume", 1, &field, sizeof(field));
	}
}

static void make_file(void)
{
	static const char names[] = "\0.note.stapsdt\0.note.perfume\0.shstrtab";
	struct buf probes = {0}, fields = {0}, file = {0};
	Elf64_Shdr sections[4] = {{0}, {.sh_name = 1, .sh_type = SHT_NOTE, .sh_addralign = 4},
		{.sh_name = 15, .sh_type = SHT_NOTE, .sh_addralign = 4},
		{.sh_name = 29, .sh_type = SHT_STRTAB, .sh_size = sizeof(names)}};
	Elf64_Phdr code = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = CODE,
		.p_filesz = PROBES,
		.p_memsz = PROBES};
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_shoff = sizeof(h) + sizeof(code),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(code),
		.e_phnum = 1,
		.e_shentsize = sizeof(*sections),
		.e_shnum = ARRAY_SIZE(sections),
		.e_shstrndx = 3};

	add_notes(&probes, &fields);
	sections[1].sh_offset = sizeof(h) + sizeof(code) + sizeof(sections);
	sections[1].sh_size = probes.len;
	sections[2].sh_offset = sections[1].sh_offset + probes.len;
	sections[2].sh_size = fields.len;
	sections[3].sh_offset = sections[2].sh_offset + fields.len;
	buf_add(&file, &h, sizeof(h));
	buf_add(&file, &code, sizeof(code));
	buf_add(&file, sections, sizeof(sections));
	buf_add(&file, probes.data, probes.len);
	buf_add(&file, fields.data, fields.len);
	buf_add(&file, names, sizeof(names));
	folder_put("many", file.data, file.len);
	buf_done(&probes);
	buf_done(&fields);
	buf_done(&file);
}

static int count_complete(void *ctx, const struct usdt_site *site)
{
	if (!strcmp(site->event, "e") && !strcmp(site->signs, "n") &&
		!strcmp(site->fields, "u64 a"))
		++*(int *)ctx;
	return 0;
}

static void test_many_probes(void **state)
{
	char path[256];
	int complete = 0;

	snprintf(path, sizeof(path), "%s/many", folder_make());
	make_file();
	assert_int_equal(usdt_each(path, count_complete, &complete), 0);
	assert_int_equal(complete, PROBES);
	folder_remove();
}

/* On a system without tracefs: no kernel has the event, so programs are searched for it. */
static void test_specs(void **state)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .tracefs = "/no/such/folder"};
	struct attar_event_list *list;
	struct attar_catalog *catalog;

	assert_int_equal(attar_catalog_new(&opts, &catalog), 0);
	list = events_parse(
		catalog, "user_events:unit_a,page-faults,user_events:b*/transport=usdt/");
	assert_int_equal(list->n, 3);
	assert_int_equal(list->at[0].kind, ATTAR_EVENT_USER);
	assert_string_equal(list->at[0].name, "user_events:unit_a");
	assert_string_equal(list->at[0].user_event, "unit_a");
	assert_int_equal(list->at[0].transport, ATTAR_TRANSPORT_NONE);
	assert_string_equal(list->at[2].user_event, "b*");
	assert_int_equal(list->at[2].transport, ATTAR_TRANSPORT_USDT);
	attar_event_list_free(list);
	assert_int_equal(
		attar_event_list_parse(catalog, "user_events:a/transport=x/", &list), -EINVAL);
	list = events_parse(catalog, "user_events:a/n>5/transport=shm/");
	assert_string_equal(list->at[0].filter, "n>5");
	assert_int_equal(list->at[0].transport, ATTAR_TRANSPORT_SHM);
	attar_event_list_free(list);
	attar_catalog_free(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_operands_cannot_inject_commands),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_invalid_notes),
		cmocka_unit_test(test_files_without_probes),
		cmocka_unit_test(test_many_probes),
		cmocka_unit_test(test_specs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
