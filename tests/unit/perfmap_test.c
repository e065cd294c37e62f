/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attar/symbol.h"
#include "symbol/perfmap.h"
#include "symbol_child.h"

static struct byte_source bytes(const char *text, size_t n)
{
	return (struct byte_source){.fd = -1, .memory = (const uint8_t *)text, .size = n};
}

/* "" when there is no entry, "?" when its name cannot be read */
static const char *name_at(
	const struct perfmap *map, const struct byte_source *source, uint64_t address)
{
	static struct buf name;
	const struct perfmap_entry *entry = perfmap_find(map, address);

	buf_reset(&name);
	if (!entry)
		return "";
	return perfmap_name(source, entry, &name) < 0 ? "?" : buf_text(&name);
}

static void test_lines(void **state)
{
	static const char text[] = "2000 100 second\n"
				   "1000 10 first with blanks \n"
				   "0x3000 0x20 third\n"
				   "4000 0 empty\n"
				   "5000 10\n"
				   "6000\n"
				   "not a line\n"
				   "fffffffffffffff0 20 beyond the end\n"
				   "12345678901234567 1 wide\n"
				   "7000 10 \x1b[31mred\n"
				   "8000 10 half";
	struct byte_source source = bytes(text, sizeof(text) - 1);
	struct perfmap map = {0};

	assert_int_equal(perfmap_index(&map, &source), 0);
	assert_int_equal(map.entries.n, 4);
	assert_string_equal(name_at(&map, &source, 0x1000), "first with blanks ");
	assert_string_equal(name_at(&map, &source, 0x100f), "first with blanks ");
	assert_string_equal(name_at(&map, &source, 0x1010), "");
	assert_string_equal(name_at(&map, &source, 0x20ff), "second");
	assert_string_equal(name_at(&map, &source, 0x3001), "third");
	assert_string_equal(name_at(&map, &source, 0x7001), "\x1b[31mred");
	assert_string_equal(name_at(&map, &source, 0x8000), "");
	perfmap_done(&map);
}

/*
 * Of the entries that cover an address the newest counts; an entry replaces older ones with its
 * start.
 */
static unsigned truth(const unsigned line[512], const unsigned size[512], unsigned address)
{
	unsigned newest = 0;

	for (unsigned start = address < 8 ? 0 : address - 8; start <= address; start++)
		if (start + size[start] > address)
			newest = MAX(newest, line[start]);
	return newest;
}

/* Appended in pieces, as a running program does. */
static void test_growth(void **state)
{
	static char text[65536];
	unsigned line_of[512] = {0}, size_of[512] = {0};
	struct perfmap map = {0};
	struct byte_source source = bytes(text, 0);
	uint64_t seed = 42;
	size_t n = 0;

	for (unsigned line = 1; line <= 2000; line++) {
		unsigned start;

		seed = base_hash64(seed + line);
		start = seed % 448;
		line_of[start] = line;
		size_of[start] = 1 + (seed >> 32) % 8;
		n += (size_t)sprintf(text + n, "%x %x f%u\n", start, size_of[start], line);
		source.size = n - line % 5; /* mostly in the middle of a line */
		if (line % 7 == 0)
			assert_int_equal(perfmap_index(&map, &source), 0);
	}
	source.size = n;
	assert_int_equal(perfmap_index(&map, &source), 0);
	for (unsigned address = 0; address < 512; address++) {
		unsigned line = truth(line_of, size_of, address);
		char want[16] = "";

		if (line)
			snprintf(want, sizeof(want), "f%u", line);
		assert_string_equal(name_at(&map, &source, address), want);
	}
	perfmap_done(&map);
}

static void test_missing_map(void **state)
{
	char *zeros = calloc(1, 1 << 20);
	struct byte_source source = bytes(zeros, 1 << 20);
	struct perfmap map = {0};

	assert_int_equal(perfmap_index(&map, &source), 0);
	assert_true(map.ended);
	assert_int_equal(map.entries.n, 0);
	perfmap_done(&map);
	free(zeros);
}

/* This process as one with a JIT compiler: which files in /tmp are trusted. */
struct jitted {
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	char path[64];
};

enum { JIT_START = 0x10000000, JIT_LEN = 0x10000 };

static int start(void **state)
{
	struct attar_mapping mapping = {.start = JIT_START, .len = JIT_LEN, .path = "//anon"};
	struct jitted *jitted = calloc(1, sizeof(*jitted));

	assert_int_equal(attar_symbols_new(NULL, &jitted->symbols), 0);
	jitted->space = attar_address_space_new(jitted->symbols, getpid());
	assert_int_equal(attar_address_space_map(jitted->space, &mapping), 0);
	snprintf(jitted->path, sizeof(jitted->path), "/tmp/perf-%d.map", getpid());
	*state = jitted;
	return 0;
}

static int stop(void **state)
{
	struct jitted *jitted = *state;

	child_shell("rm -rf '%s'", jitted->path);
	attar_address_space_free(jitted->space);
	attar_symbols_free(jitted->symbols);
	free(jitted);
	return 0;
}

static const char *name_of(struct jitted *jitted, uint64_t address, struct attar_symbol *symbol)
{
	attar_location place = attar_address_space_locate(jitted->space, address);

	if (attar_symbols_resolve(jitted->symbols, place, symbol) < 0)
		return "";
	return symbol->name;
}

/* The process as at its first address: a file that was not found is not searched for at once. */
static void forget(struct jitted *jitted)
{
	struct attar_mapping mapping = {.start = JIT_START, .len = JIT_LEN, .path = "//anon"};

	attar_address_space_free(jitted->space);
	jitted->space = attar_address_space_new(jitted->symbols, getpid());
	assert_int_equal(attar_address_space_map(jitted->space, &mapping), 0);
}

/* Of a file that was created after the first search. */
static const char *name_soon(struct jitted *jitted, uint64_t address, struct attar_symbol *symbol)
{
	uint64_t end = base_now() + UINT64_C(10000000000);
	const char *name;

	do
		name = name_of(jitted, address, symbol);
	while (!*name && base_now() < end);
	return name;
}

static void test_own_map(void **state)
{
	struct jitted *jitted = *state;
	struct attar_symbol symbol;

	assert_string_equal(name_of(jitted, JIT_START + 0x105, &symbol), "");
	assert_int_equal(symbol.kind, ATTAR_DSO_IS_JIT);
	assert_string_equal(symbol.dso, "[anon]");
	assert_true(child_shell("echo '%x 10 early' > '%s'", JIT_START + 0x100, jitted->path));
	assert_string_equal(name_soon(jitted, JIT_START + 0x105, &symbol), "early");
	assert_int_equal(symbol.offset, 5);
	assert_int_equal(symbol.start, JIT_START + 0x100);
	assert_int_equal(symbol.size, 0x10);
	assert_string_equal(symbol.dso, jitted->path);
	/* Code that was compiled later. */
	assert_true(child_shell("echo '%x 10 late' >> '%s'", JIT_START + 0x200, jitted->path));
	assert_string_equal(name_of(jitted, JIT_START + 0x205, &symbol), "late");
	assert_string_equal(name_of(jitted, JIT_START + 0x105, &symbol), "early");
	/* Truncated: no name is better than one of another line. */
	assert_true(child_shell("printf 'x' > '%s'", jitted->path));
	assert_string_equal(name_of(jitted, JIT_START + 0x205, &symbol), "late");
}

static void refuse(struct jitted *jitted, const char *why)
{
	struct attar_symbol symbol;

	print_message("%s\n", why);
	forget(jitted);
	assert_string_equal(name_of(jitted, JIT_START + 0x105, &symbol), "");
	assert_true(child_shell("rm -rf '%s'", jitted->path));
}

static void test_untrusted_map_is_ignored(void **state)
{
	struct jitted *jitted = *state;
	const char *line = "10000100 10 lie";

	assert_true(child_shell("echo '%s' > '%s.x' && ln -s '%s.x' '%s'", line, jitted->path,
		jitted->path, jitted->path));
	refuse(jitted, "a symbolic link");
	assert_true(child_shell("ln '%s.x' '%s'", jitted->path, jitted->path));
	refuse(jitted, "a second name of a file");
	assert_true(child_shell("rm '%s.x'", jitted->path));
	assert_int_equal(mkfifo(jitted->path, 0600), 0);
	refuse(jitted, "a fifo");
	assert_int_equal(mkdir(jitted->path, 0700), 0);
	refuse(jitted, "a directory");
	if (geteuid() != 0)
		return;
	assert_true(child_shell(
		"echo '%s' > '%s' && chown 65534 '%s'", line, jitted->path, jitted->path));
	refuse(jitted, "another user's file");
}

/* The file belongs to the user that the process has now. */
static void test_user_changes(void **state)
{
	struct jitted *jitted = *state;
	struct attar_symbol symbol;
	char name[16];

	if (geteuid() != 0)
		skip();
	assert_string_equal(name_of(jitted, JIT_START + 0x105, &symbol), "");
	assert_true(child_shell(
		"echo '10000100 10 mine' > '%s' && chown 65534 '%s'", jitted->path, jitted->path));
	forget(jitted);
	assert_string_equal(name_of(jitted, JIT_START + 0x105, &symbol), "");
	forget(jitted);
	assert_int_equal(seteuid(65534), 0);
	snprintf(name, sizeof(name), "%s", name_of(jitted, JIT_START + 0x105, &symbol));
	assert_int_equal(seteuid(0), 0);
	assert_string_equal(name, "mine");
}

static void test_sparse(void **state)
{
	struct jitted *jitted = *state;

	assert_true(child_shell("truncate -s 10G '%s'", jitted->path));
	refuse(jitted, "10 GB of nothing");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_missing_map),
		CASE(test_own_map),
		CASE(test_untrusted_map_is_ignored),
		CASE(test_user_changes),
		CASE(test_sparse),
	};

	return cmocka_run_group_tests_name("perfmap", tests, NULL, NULL);
}
