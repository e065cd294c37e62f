/* SPDX-License-Identifier: MIT */
/*
 * A stripped binary and the locations where its symbols may be; made with objcopy from
 * symbol_target.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/dso_load.h"
#include "symbol_child.h"

struct place {
	const char *directory;
	char program[96], debug[96],
		root[96]; /* the stripped binary, its debug file, a root of debug files */
	uint64_t vaddr;   /* of target_local */
};

static uint64_t vaddr_of(const char *program, const char *symbol)
{
	char command[512];
	unsigned long vaddr = 0;
	FILE *f;

	snprintf(command, sizeof(command), "nm '%s' | sed -n 's/ [tT] %s$//p'", program, symbol);
	f = popen(command, "r");
	assert_non_null(f);
	if (fscanf(f, "%lx", &vaddr) != 1)
		vaddr = 0;
	pclose(f);
	return vaddr;
}

static int start(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	p->directory = child_directory();
	assert_non_null(p->directory);
	snprintf(p->program, sizeof(p->program), "%s/x", p->directory);
	snprintf(p->debug, sizeof(p->debug), "%s/x.debug", p->directory);
	snprintf(p->root, sizeof(p->root), "%s/root", p->directory);
	p->vaddr = vaddr_of(child_path("symbol_target"), "target_local");
	assert_true(p->vaddr);
	assert_true(child_shell(
		"objcopy --only-keep-debug '%s' '%s'", child_path("symbol_target"), p->debug));
	assert_true(child_shell("strip -o '%s' '%s'", p->program, child_path("symbol_target")));
	*state = p;
	return 0;
}

static int stop(void **state)
{
	free(*state);
	child_clean();
	return 0;
}

/* Whether loading the stripped binary finds target_local at its address. */
static bool named(const struct place *p)
{
	struct dso dso = {.key = {.kind = ATTAR_DSO_IS_FILE, .path = p->program},
		.debug_fd = -1,
		.state = DSO_OPEN};
	struct buf name _cleanup_(buf_done) = {0};
	bool found = false, read;
	size_t index;

	dso.fd = open(p->program, O_RDONLY);
	assert_true(dso.fd >= 0);
	assert_int_equal(dso_load(&dso, p->root, NULL, NULL), 0);
	if (dso_find(&dso, p->vaddr + 1, &index, &read)) {
		assert_int_equal(symtab_start(&dso.table, index), p->vaddr);
		assert_int_equal(symtab_name(&dso.table, index, &name), 0);
		assert_string_equal(name.data, "target_local");
		found = true;
	}
	dso_close(&dso);
	vec_done(&dso.segments);
	symtab_done(&dso.table);
	return found;
}

/* root/.build-id/xx/yyyy.debug as the path of a debug file */
static const char *by_build_id(const struct place *p)
{
	static char path[256];
	uint8_t id[ELF_MAX_BUILD_ID];
	struct byte_source source;
	struct elf elf;
	int n, fd = open(p->program, O_RDONLY);

	assert_int_equal(byte_source_file(fd, &source), 0);
	assert_int_equal(elf_init(&elf, &source), 0);
	assert_int_equal(elf_build_id(&elf, id), 20);
	n = snprintf(path, sizeof(path), "%s/.build-id/%02x", p->root, id[0]);
	assert_true(child_shell("mkdir -p '%s'", path));
	n += snprintf(path + n, sizeof(path) - (size_t)n, "/");
	for (int i = 1; i < 20; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	elf_done(&elf);
	close(fd);
	return path;
}

static void test_stripped_without_debug_file(void **state)
{
	struct place *p = *state;

	assert_int_equal(unlink(p->debug), 0);
	assert_false(named(p));
}

static void test_build_id(void **state)
{
	struct place *p = *state;

	assert_true(child_shell("mv '%s' '%s'", p->debug, by_build_id(p)));
	assert_true(named(p));
}

static void test_build_id_of_another_file(void **state)
{
	struct place *p = *state;

	assert_true(child_shell("objcopy --only-keep-debug '%s' '%s'", child_path("unit_debugfile"),
		by_build_id(p)));
	assert_false(named(p));
}

/* None of these may block, or be taken for a debug file. */
static void test_invalid_files_at_the_path(void **state)
{
	struct place *p = *state;
	const char *path = by_build_id(p);

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(named(p));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(named(p));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_false(named(p));
	assert_int_equal(unlink(path), 0);
	assert_true(child_shell("truncate -s 10G '%s'", path));
	assert_false(named(p));
	assert_true(child_shell("head -c 4096 /dev/urandom > '%s'", path));
	assert_false(named(p));
}

static void link_to(const struct place *p, const char *debug)
{
	assert_true(child_shell("objcopy --add-gnu-debuglink='%s' '%s'", debug, p->program));
}

static void forget_build_id(const struct place *p)
{
	assert_true(child_shell(
		"objcopy --remove-section .note.gnu.build-id '%s' 2>/dev/null", p->program));
}

static void test_link_in_the_same_directory(void **state)
{
	struct place *p = *state;

	forget_build_id(p);
	assert_false(named(p));
	link_to(p, p->debug);
	assert_true(named(p));
}

static void test_link_in_debug_directory(void **state)
{
	struct place *p = *state;

	link_to(p, p->debug);
	assert_true(child_shell(
		"mkdir '%s/.debug' && mv '%s' '%s/.debug'", p->directory, p->debug, p->directory));
	assert_true(named(p));
}

static void test_link_below_root(void **state)
{
	struct place *p = *state;

	forget_build_id(p);
	link_to(p, p->debug);
	assert_true(child_shell("mkdir -p '%s%s' && mv '%s' '%s%s'", p->root, p->directory,
		p->debug, p->root, p->directory));
	assert_true(named(p));
}

static void test_link_with_another_crc(void **state)
{
	struct place *p = *state;

	forget_build_id(p);
	link_to(p, p->debug);
	assert_true(child_shell("printf x >> '%s'", p->debug));
	assert_false(named(p));
}

static void test_minidebuginfo(void **state)
{
	struct place *p = *state;

	if (!child_shell("command -v xz > /dev/null")) {
		print_message("skipped: xz (xz-utils) is not installed\n");
		skip();
	}
	assert_true(child_shell(
		"cd '%s' && objcopy -S --remove-section .gdb_index --remove-section .comment "
		"--keep-symbol=target_local x.debug mini && xz mini && "
		"objcopy --add-section .gnu_debugdata=mini.xz x && rm x.debug",
		p->directory));
	assert_true(named(p));
	assert_true(
		child_shell("cd '%s' && head -c 100 mini.xz > cut.xz && objcopy --update-section "
			    ".gnu_debugdata=cut.xz x",
			p->directory));
	assert_false(named(p));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_stripped_without_debug_file),
		CASE(test_build_id),
		CASE(test_build_id_of_another_file),
		CASE(test_invalid_files_at_the_path),
		CASE(test_link_in_the_same_directory),
		CASE(test_link_in_debug_directory),
		CASE(test_link_below_root),
		CASE(test_link_with_another_crc),
		CASE(test_minidebuginfo),
	};

	if (!child_shell("command -v objcopy > /dev/null")) {
		print_message("1..0 # SKIP objcopy (binutils) is not installed\n");
		return 0;
	}
	return cmocka_run_group_tests_name("debugfile", tests, NULL, NULL);
}
