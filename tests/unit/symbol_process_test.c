/* SPDX-License-Identifier: MIT */
/* Names of other processes: running, exited, with deleted files and in a mount namespace. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/symbol.h"
#include "attar/symbol.h"
#include "symbol/symbols.h"
#include "symbol_child.h"

struct seen {
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	struct child child;
	const char *directory;
};

static int start(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	assert_int_equal(attar_symbols_new(NULL, &seen->symbols), 0);
	seen->directory = child_directory();
	assert_non_null(seen->directory);
	*state = seen;
	return 0;
}

static int stop(void **state)
{
	struct seen *seen = *state;

	child_stop(&seen->child);
	attar_address_space_free(seen->space);
	attar_symbols_free(seen->symbols);
	free(seen);
	child_clean();
	return 0;
}

static void run(struct seen *seen, const char *program)
{
	assert_true(child_start(&seen->child, program, NULL, NULL));
}

/* Another cache instead of the one so far. */
static void renew(struct seen *seen, const struct attar_symbols_opts *opts)
{
	seen->space = attar_address_space_free(seen->space);
	attar_symbols_free(seen->symbols);
	assert_int_equal(attar_symbols_new(opts, &seen->symbols), 0);
}

static void scan_pid(struct seen *seen, pid_t pid)
{
	attar_address_space_free(seen->space);
	seen->space = attar_address_space_new(seen->symbols, pid);
	assert_int_equal(attar_address_space_scan(seen->space), 0);
}

static void scan(struct seen *seen)
{
	scan_pid(seen, seen->child.pid);
}

static attar_location scan_libc(struct seen *seen)
{
	scan_pid(seen, getpid());
	return attar_address_space_locate(seen->space, (uintptr_t)tsearch + 1);
}

static attar_location location(struct seen *seen, unsigned i)
{
	return attar_address_space_locate(seen->space, seen->child.functions[i].address + 1);
}

static void check_name(struct seen *seen, unsigned i, attar_location where)
{
	struct attar_symbol symbol;

	assert_int_equal(attar_symbols_resolve(seen->symbols, where, &symbol), 0);
	assert_string_equal(symbol.name, seen->child.functions[i].name);
	assert_int_equal(symbol.offset, 1);
	assert_int_equal(symbol.kind, ATTAR_DSO_IS_FILE);
}

static void check_names(struct seen *seen)
{
	for (unsigned i = 0; i < seen->child.n; i++)
		check_name(seen, i, location(seen, i));
}

static void check_nameless(struct seen *seen)
{
	struct attar_symbol symbol;

	for (unsigned i = 0; i < seen->child.n; i++) {
		assert_int_equal(
			attar_symbols_resolve(seen->symbols, location(seen, i), &symbol), -ENOENT);
		assert_null(symbol.name);
	}
}

static struct attar_symbols_stats stats(struct seen *seen)
{
	struct attar_symbols_stats s;

	symbols_get_stats(seen->symbols, &s);
	return s;
}

/* Copies the target to the test's own directory. */
static const char *copy(struct seen *seen, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", seen->directory, name);
	assert_true(child_copy_file("symbol_target", path));
	return path;
}

/* Puts another file in the place of the program. */
static void replace(const char *program, const char *name)
{
	char other[256];

	snprintf(other, sizeof(other), "%s.new", program);
	assert_true(child_copy_file(name, other));
	assert_int_equal(rename(other, program), 0);
}

static void test_running_process(void **state)
{
	struct seen *seen = *state;

	run(seen, child_path("symbol_target"));
	scan(seen);
	check_names(seen);
	assert_true(stats(seen).files_read >= 1);
	assert_int_equal(stats(seen).files_unreadable, 0);
}

static void test_static_pie(void **state)
{
	struct seen *seen = *state;
	const char *program = child_path("symbol_target_static");

	if (access(program, X_OK) < 0) {
		print_message("skipped: %s is not built with sanitizers\n", program);
		skip();
	}
	run(seen, program);
	scan(seen);
	check_names(seen);
}

static void test_exited_after_the_sample(void **state)
{
	struct seen *seen = *state;
	attar_location locations[8];

	run(seen, copy(seen, "x"));
	scan(seen);
	for (unsigned i = 0; i < seen->child.n; i++)
		locations[i] = location(seen, i);
	child_stop(&seen->child);
	child_clean();
	for (unsigned i = 0; i < seen->child.n; i++)
		check_name(seen, i, locations[i]);
}

static void test_exited_before_the_sample(void **state)
{
	struct seen *seen = *state;

	run(seen, copy(seen, "x"));
	scan(seen);
	child_stop(&seen->child);
	check_names(seen);
}

static void test_deleted_file(void **state)
{
	struct seen *seen = *state;
	const char *program = copy(seen, "x");
	struct attar_symbol symbol;

	run(seen, program);
	assert_int_equal(unlink(program), 0);
	scan(seen);
	check_names(seen);
	attar_symbols_resolve(seen->symbols, location(seen, 0), &symbol);
	assert_string_equal(symbol.dso, program);
}

static void test_replaced_while_running(void **state)
{
	struct seen *seen = *state;
	const char *program = copy(seen, "x");

	run(seen, program);
	scan(seen);
	replace(program, "unit_symbol_process");
	check_names(seen);
	assert_int_equal(stats(seen).files_replaced, 0);
}

/* No name is better than names of another build. */
static void test_replaced_after_exit(void **state)
{
	struct seen *seen = *state;
	const char *program = copy(seen, "x");

	run(seen, program);
	scan(seen);
	child_stop(&seen->child);
	replace(program, "symbol_target");
	check_nameless(seen);
	assert_int_equal(stats(seen).files_replaced, 1);
}

static bool own_mounts(void *ctx)
{
	struct seen *seen = ctx;
	char program[128];

	snprintf(program, sizeof(program), "%s/hidden", seen->directory);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", seen->directory, "tmpfs", 0, NULL) == 0 &&
	       child_copy_file("symbol_target", program);
}

static bool run_hidden(struct seen *seen, child_prepare_fn *prepare, void *ctx)
{
	char program[128];

	snprintf(program, sizeof(program), "%s/hidden", seen->directory);
	if (geteuid() == 0)
		return child_start(&seen->child, program, prepare, ctx);
	print_message("skipped: a mount namespace requires root\n");
	return false;
}

static void test_mount_namespace(void **state)
{
	struct seen *seen = *state;
	attar_location locations[8];

	if (!run_hidden(seen, own_mounts, seen))
		skip();
	scan(seen);
	for (unsigned i = 0; i < seen->child.n; i++)
		locations[i] = location(seen, i);
	child_stop(&seen->child);
	for (unsigned i = 0; i < seen->child.n; i++)
		check_name(seen, i, locations[i]);
}

static bool join_mounts(void *ctx)
{
	const struct child *first = ctx;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", first->pid);
	return setns(open(name, O_RDONLY), CLONE_NEWNS) == 0;
}

/* A short-lived process of a container: its parent, still running, has the same files. */
static void test_mount_namespace_of_the_parent(void **state)
{
	struct seen *seen = *state;
	struct attar_address_space *parent;
	struct child first;

	if (!run_hidden(seen, own_mounts, seen))
		skip();
	first = seen->child;
	parent = attar_address_space_new(seen->symbols, first.pid);
	assert_true(run_hidden(seen, join_mounts, &first));
	seen->space = address_space_fork(parent, seen->child.pid);
	assert_int_equal(attar_address_space_scan(seen->space), 0);
	child_stop(&seen->child);
	check_names(seen);
	attar_address_space_free(parent);
	child_stop(&first);
}

static void test_nonexistent_process(void **state)
{
	struct seen *seen = *state;

	run(seen, child_path("symbol_target"));
	seen->space = attar_address_space_new(seen->symbols, seen->child.pid);
	child_stop(&seen->child);
	assert_int_equal(attar_address_space_scan(seen->space), -ESRCH);
	assert_non_null(strstr(attar_error(), "no such process"));
}

static void check_tsearch(struct seen *seen, attar_location libc)
{
	struct attar_symbol symbol;

	assert_int_equal(attar_symbols_resolve(seen->symbols, libc, &symbol), 0);
	assert_string_equal(symbol.name, "tsearch");
}

/* With another cache: a location in a program that has exited. */
static attar_location locate_exited(struct seen *seen, const struct attar_symbols_opts *opts)
{
	attar_location own;

	renew(seen, opts);
	run(seen, copy(seen, "x"));
	scan(seen);
	own = location(seen, 0);
	child_stop(&seen->child);
	return own;
}

/* With one file open at a time, every name is still found. */
static void test_few_open_files(void **state)
{
	struct attar_symbols_opts opts = {.size = sizeof(opts), .max_open_files = 1};
	struct seen *seen = *state;
	attar_location own, libc;

	own = locate_exited(seen, &opts);
	child_clean();
	libc = scan_libc(seen);
	check_name(seen, 0, own);
	check_tsearch(seen, libc);
}

static size_t with_symbols(const struct attar_symbols *symbols)
{
	size_t n = 0;

	vec_each (&symbols->dsos.at, dso)
		n += (*dso)->bytes > 0;
	return n;
}

/* Readers have the symbols themselves. */
static void check_with_symbols(const struct seen *seen, size_t n)
{
	if (!seen->symbols->readers)
		assert_int_equal(with_symbols(seen->symbols), n);
}

/* With room for the symbols of one file, every name is found until the other file is deleted. */
static void test_little_memory_for_symbols(void **state)
{
	struct attar_symbols_opts opts = {.size = sizeof(opts), .max_symbol_bytes = 1};
	struct seen *seen = *state;
	struct attar_symbol symbol;
	attar_location own, libc;

	own = locate_exited(seen, &opts);
	libc = scan_libc(seen);
	for (int i = 0; i < 3; i++) {
		check_name(seen, 0, own);
		check_with_symbols(seen, 1);
		check_tsearch(seen, libc);
		check_with_symbols(seen, 1);
	}
	assert_int_equal(stats(seen).files_read, 2);
	child_clean();
	if (!seen->symbols->readers)
		assert_int_equal(attar_symbols_resolve(seen->symbols, own, &symbol), -ENOENT);
	check_tsearch(seen, libc);
}

/* The location of the first function of a copy, which has run. */
static attar_location run_copy(struct seen *seen, const char *name, bool is_longer)
{
	const char *program = copy(seen, name);
	attar_location where;
	int fd;

	if (is_longer) {
		fd = open(program, O_WRONLY | O_APPEND);
		assert_int_equal(write(fd, "", 1), 1);
		close(fd);
	}
	run(seen, program);
	scan(seen);
	where = location(seen, 0);
	child_stop(&seen->child);
	return where;
}

static void check_copy(struct seen *seen, attar_location where, const char *name)
{
	enum attar_dso_kind kind;
	const char *path = attar_symbols_dso(seen->symbols, where, &kind);

	check_name(seen, 0, where);
	assert_string_equal(strrchr(path, '/') + 1, name);
}

/* Copies of a file share its symbols, which were read once; another size is another file. */
static void test_copies_of_a_file(void **state)
{
	struct seen *seen = *state;
	attar_location x = run_copy(seen, "x", false), y = run_copy(seen, "y", false);
	attar_location z = run_copy(seen, "z", true);

	check_copy(seen, x, "x");
	check_copy(seen, y, "y");
	check_with_symbols(seen, 1);
	check_copy(seen, z, "z");
	check_with_symbols(seen, 2);
	assert_int_equal(stats(seen).files_read, 2);
	assert_ptr_equal(symbols_cfi(seen->space, x), symbols_cfi(seen->space, y));
	assert_ptr_not_equal(symbols_cfi(seen->space, x), symbols_cfi(seen->space, z));
}

/* If the symbols were dropped and their file was deleted, a copy has its own. */
static void test_copy_of_a_deleted_file(void **state)
{
	const struct attar_symbols_opts opts = {.size = sizeof(opts), .max_symbol_bytes = 1};
	struct seen *seen = *state;
	attar_location x, y, libc;
	char path[256];

	renew(seen, &opts);
	x = run_copy(seen, "x", false);
	y = run_copy(seen, "y", false);
	libc = scan_libc(seen);
	check_copy(seen, x, "x");
	check_copy(seen, y, "y");
	check_tsearch(seen, libc);
	snprintf(path, sizeof(path), "%s/x", seen->directory);
	assert_int_equal(unlink(path), 0);
	check_copy(seen, y, "y");
	check_tsearch(seen, libc);
	check_copy(seen, y, "y");
}

/*
 * map_files names a mapping by its bounds, which change when it is split: another mapping is used.
 */
static void test_deleted_file_with_split_mapping(void **state)
{
	struct seen *seen = *state;
	const char *program = copy(seen, "x");
	struct attar_mapping part = {.path = program};
	struct stat st;

	assert_int_equal(stat(program, &st), 0);
	run(seen, program);
	assert_int_equal(unlink(program), 0);
	scan(seen);
	part.start = seen->child.functions[0].address;
	part.len = 16;
	part.pgoff = attar_address_space_locate(seen->space, part.start) & 0xffffffffffff;
	part.maj = major(st.st_dev);
	part.min = minor(st.st_dev);
	part.ino = st.st_ino;
	renew(seen, NULL);
	seen->space = attar_address_space_new(seen->symbols, seen->child.pid);
	assert_int_equal(attar_address_space_map(seen->space, &part), 0);
	check_name(seen, 0, location(seen, 0));
}

enum { MEMFD = 77 };

static bool copy_into_memory(void *ctx)
{
	int to = memfd_create("attar", 0);

	return child_copy("symbol_target", to) && dup2(to, MEMFD) == MEMFD;
}

static void test_program_in_memory(void **state)
{
	struct seen *seen = *state;
	char program[32];

	if (geteuid() != 0) {
		print_message("# skipped: following map_files requires root\n");
		skip();
	}
	snprintf(program, sizeof(program), "/proc/self/fd/%d", MEMFD);
	assert_true(child_start(&seen->child, program, copy_into_memory, NULL));
	scan(seen);
	check_names(seen);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_running_process),
		CASE(test_static_pie),
		CASE(test_exited_after_the_sample),
		CASE(test_exited_before_the_sample),
		CASE(test_deleted_file),
		CASE(test_replaced_while_running),
		CASE(test_replaced_after_exit),
		CASE(test_mount_namespace),
		CASE(test_mount_namespace_of_the_parent),
		CASE(test_deleted_file_with_split_mapping),
		CASE(test_program_in_memory),
		CASE(test_nonexistent_process),
		CASE(test_few_open_files),
		CASE(test_little_memory_for_symbols),
		CASE(test_copies_of_a_file),
		CASE(test_copy_of_a_deleted_file),
	};

	return cmocka_run_group_tests_name("symbol_process", tests, NULL, NULL);
}
