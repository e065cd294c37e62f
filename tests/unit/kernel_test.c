/* SPDX-License-Identifier: MIT */
/* Kernel symbols through the public interface, with a list of our own and later symbols. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/symbol.h"
#include "attar/symbol.h"
#include "symbol/kernel.h"
#include "symbol_child.h"

struct notes {
	unsigned n;
	char last[512];
};

static void note(void *ctx, enum attar_level level, const char *text)
{
	struct notes *notes = ctx;

	if (level != ATTAR_NOTE)
		return;
	notes->n++;
	snprintf(notes->last, sizeof(notes->last), "%s", text);
}

/* A cache whose kernel list is this text. */
static struct attar_symbols *new_symbols(const char *text)
{
	static char path[96];
	struct attar_symbols_opts opts = {.size = sizeof(opts), .kallsyms_path = path};
	struct attar_symbols *symbols;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kallsyms", child_directory());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(attar_symbols_new(&opts, &symbols), 0);
	return symbols;
}

static void check(struct attar_symbols *symbols, uint64_t address, const char *name,
	const char *dso, uint64_t offset)
{
	struct attar_symbol symbol;

	assert_int_equal(
		attar_symbols_resolve(symbols, attar_location_kernel(address), &symbol), 0);
	assert_string_equal(symbol.name, name);
	assert_string_equal(symbol.dso, dso);
	assert_int_equal(symbol.offset, offset);
	assert_int_equal(symbol.start, address - offset);
	assert_int_equal(symbol.kind, ATTAR_DSO_IS_KERNEL);
}

static void check_unresolved(struct attar_symbols *symbols, uint64_t address)
{
	struct attar_symbol symbol;

	assert_int_equal(
		attar_symbols_resolve(symbols, attar_location_kernel(address), &symbol), -ENOENT);
	assert_null(symbol.name);
	assert_string_equal(symbol.dso, "[kernel.kallsyms]");
}

static const char list[] = "ffffffff81000000 T _stext\n"
			   "ffffffff81000100 T do_idle\n"
			   "ffffffff81000200 T _RNvC6_123foo3bar\n"
			   "ffffffff81001000 T _etext\n"
			   "ffffffffc0100000 t ext4_sync\t[ext4]\n";

static void test_names(void **state)
{
	struct attar_symbols *symbols = new_symbols(list);

	check(symbols, 0xffffffff81000123, "do_idle", "[kernel.kallsyms]", 0x23);
	check(symbols, 0xffffffff81000201, "123foo::bar", "[kernel.kallsyms]", 1);
	check(symbols, 0xffffffffc0100010, "ext4_sync", "[ext4]", 0x10);
	check_unresolved(symbols, 0xffffffff80000000);
	attar_symbols_free(symbols);
	child_clean();
}

/* BPF programs are loaded, unloaded, and loaded again at the same address. */
static void test_late_symbols(void **state)
{
	struct attar_symbols *symbols = new_symbols(list);

	assert_int_equal(
		symbols_ksymbol(symbols, 0xffffffffc0200000, 0x100, "bpf_prog_a", false), 0);
	assert_int_equal(
		symbols_ksymbol(symbols, 0xffffffffc0200200, 0x100, "bpf_prog_b", false), 0);
	assert_int_equal(
		symbols_ksymbol(symbols, 0xffffffffc0300000, 0x80, "ftrace_trampoline", false), 0);
	check(symbols, 0xffffffffc0200010, "bpf_prog_a", "[bpf]", 0x10);
	check(symbols, 0xffffffffc02002ff, "bpf_prog_b", "[bpf]", 0xff);
	check(symbols, 0xffffffffc0300000, "ftrace_trampoline", "[kernel.kallsyms]", 0);
	check_unresolved(symbols, 0xffffffffc0200180);
	assert_int_equal(
		symbols_ksymbol(symbols, 0xffffffffc0200000, 0x100, "bpf_prog_a", true), 0);
	check(symbols, 0xffffffffc0200010, "bpf_prog_a", "[bpf]", 0x10);
	assert_int_equal(
		symbols_ksymbol(symbols, 0xffffffffc0200080, 0x200, "bpf_prog_c", false), 0);
	check(symbols, 0xffffffffc0200200, "bpf_prog_c", "[bpf]", 0x180);
	check_unresolved(symbols, 0xffffffffc0200010);
	assert_int_equal(symbols_ksymbol(symbols, 0xffffffffc0200000, 0, "none", false), -EINVAL);
	attar_symbols_free(symbols);
	child_clean();
}

static void test_hidden(void **state)
{
	struct attar_symbols *symbols =
		new_symbols("0000000000000000 T _stext\n0000000000000000 T do_idle\n");
	struct notes notes = {0};

	attar_log_set(note, &notes);
	check_unresolved(symbols, 0xffffffff81000123);
	check_unresolved(symbols, 0xffffffff81000124);
	attar_log_set(NULL, NULL);
	assert_int_equal(notes.n, 1);
	assert_non_null(strstr(notes.last, "kernel functions are not resolved"));
	assert_non_null(strstr(notes.last, "kernel.kptr_restrict="));
	assert_non_null(strstr(notes.last, "CAP_SYSLOG"));
	attar_symbols_free(symbols);
	child_clean();
}

static void test_no_list(void **state)
{
	struct attar_symbols_opts opts = {
		.size = sizeof(opts), .kallsyms_path = "/nowhere/kallsyms"};
	struct attar_symbols *symbols;
	struct notes notes = {0};

	attar_log_set(note, &notes);
	assert_int_equal(attar_symbols_new(&opts, &symbols), 0);
	check_unresolved(symbols, 0xffffffff81000123);
	check_unresolved(symbols, 0xffffffff81000124);
	attar_log_set(NULL, NULL);
	assert_int_equal(notes.n, 1);
	assert_string_equal(notes.last,
		"kernel functions are not resolved: cannot open /nowhere/kallsyms: "
		"No such file or directory");
	attar_symbols_free(symbols);

	opts = (struct attar_symbols_opts){.size = sizeof(opts), .no_kernel = true};
	assert_int_equal(attar_symbols_new(&opts, &symbols), 0);
	check_unresolved(symbols, 0xffffffff81000123);
	attar_symbols_free(symbols);
}

static void write_file(const char *path, const char *text, const char *more)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s%s", text, more);
	fclose(f);
}

/* Modules are loaded right after an address was looked up in vain, also again and again. */
static void test_a_module_that_is_loaded_after_a_look(void **state)
{
	char path[96], modules[96];
	struct kernel kernel = {.path = path, .modules_path = modules};
	struct kernel_hit hit;

	snprintf(path, sizeof(path), "%s/kallsyms", child_directory());
	snprintf(modules, sizeof(modules), "%s/modules", child_directory());
	write_file(path, list, "");
	write_file(modules, "", "");
	assert_false(kernel_find(&kernel, 0xffffffffc0300010, &hit));
	assert_false(kernel_find(&kernel, 0xffffffffc0300010, &hit));
	write_file(path, list, "ffffffffc0300000 t first\t[first]\n");
	write_file(modules, "first 4096 0 - Live 0xffffffffc0300000\n", "");
	assert_true(kernel_find(&kernel, 0xffffffffc0300010, &hit));
	assert_string_equal(hit.name, "first");
	assert_false(kernel_find(&kernel, 0xffffffffc0400010, &hit));
	write_file(path, list, "ffffffffc0400000 t second\t[second]\n");
	write_file(modules, "second 4096 0 - Live 0xffffffffc0400000\n", "");
	assert_true(kernel_find(&kernel, 0xffffffffc0400010, &hit));
	assert_true(kernel_find(&kernel, 0xffffffffc0300010, &hit)); /* it may be unloaded now */

	for (int i = 0; i < 1000; i++)
		assert_false(kernel_find(&kernel, 0xffffffffc0500010, &hit));
	assert_true(kernel.checked_to <= base_now()); /* modules were not read for each */
	kernel_done(&kernel);
	child_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_late_symbols),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_no_list),
		cmocka_unit_test(test_a_module_that_is_loaded_after_a_look),
	};

	return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
