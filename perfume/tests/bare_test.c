/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The kernel's interface as of 6.4, without the library: the cases of the kernel's own tests, and
 * what the library relies on. Runs in a guest with user_events.
 */
#include "kernel.h"

#include <sched.h>

struct user_reg {
	uint32_t size;
	uint8_t enable_bit;
	uint8_t enable_size;
	uint16_t flags;
	uint64_t enable_addr;
	uint64_t name_args;
	uint32_t write_index;
} __attribute__((packed));

struct user_unreg {
	uint32_t size;
	uint8_t disable_bit;
	uint8_t reserved;
	uint16_t reserved2;
	uint64_t disable_addr;
} __attribute__((packed));

#define REG          _IOWR('*', 0, struct user_reg *)
#define DEL          _IOW('*', 1, char *)
#define UNREG        _IOW('*', 2, struct user_unreg *)
#define PERSIST      1
#define MULTI_FORMAT 2

#define NAME "perfume_bare"

static int fd;
static uint32_t word;

static int reg_size(
	void *at, int size, int bit, int flags, const char *command, uint32_t *ret_index)
{
	struct user_reg reg = {.size = sizeof(reg), .enable_bit = (uint8_t)bit};

	reg.enable_size = (uint8_t)size;
	reg.flags = (uint16_t)flags;
	reg.enable_addr = (uintptr_t)at;
	reg.name_args = (uintptr_t)command;
	if (ioctl(fd, REG, &reg))
		return -errno;
	if (ret_index)
		*ret_index = reg.write_index;
	return 0;
}

static int reg(int bit, const char *command, uint32_t *ret_index)
{
	return reg_size(&word, sizeof(word), bit, 0, command, ret_index);
}

static int unreg(void *at, int bit)
{
	struct user_unreg unreg = {.size = sizeof(unreg), .disable_bit = (uint8_t)bit};

	unreg.disable_addr = (uintptr_t)at;
	return ioctl(fd, UNREG, &unreg) ? -errno : 0;
}

static int del(const char *name)
{
	return ioctl(fd, DEL, name) ? -errno : 0;
}

/* An unreferenced event disappears after a moment. */
static int gone(void)
{
	del(NAME);
	return !event_exists(NAME);
}

static int open_file(void **state)
{
	word = 0;
	fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
	forget_trace();
	return fd < 0;
}

static int close_file(void **state)
{
	int bit;

	listen_in_ftrace(NAME, 0);
	for (bit = 0; bit < 32; bit++)
		unreg(&word, bit);
	close(fd);
	fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
	WAIT_UNTIL(gone());
	close(fd);
	return 0;
}

/* ---- registering ---- */

static void registering_gives_an_index_and_keeps_the_event(void **state)
{
	uint32_t index = 9;

	assert_int_equal(reg(31, NAME " u32 field1; u32 field2", &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(reg(31, NAME " u32 field1; u32 field2", &index), -EADDRINUSE);
	assert_int_equal(reg(30, NAME " u32 field1; u32 field2", &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(reg(29, NAME " u32 field1;u32 field2", &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(reg(28, NAME " u32 field1; u32 field3", &index), -EADDRINUSE);
	assert_int_equal(listen_in_ftrace(NAME, 1), 0);
	assert_int_equal(word, 7u << 29);
	assert_int_equal(listen_in_ftrace(NAME, 0), 0);
	assert_int_equal(word, 0);
	assert_int_equal(del(NAME), -EBUSY);
	assert_int_equal(unreg(&word, 31), 0);
	assert_int_equal(unreg(&word, 30), 0);
	assert_int_equal(unreg(&word, 29), 0);
	assert_int_equal(unreg(&word, 29), -ENOENT);
	assert_true(event_exists(NAME));
	close(fd);
	WAIT_UNTIL(!event_exists(NAME));
	fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
}

static void bits_and_sizes_of_enable_words_are_checked(void **state)
{
	static uint64_t wide;
	const int wrong[] = {1, 2, 3, 5, 6, 7, 9, 128};
	size_t i;

	assert_int_equal(reg_size(&word, 4, 0, 0, NAME, NULL), 0);
	assert_int_equal(reg_size(&word, 4, 31, 0, NAME, NULL), 0);
	assert_int_equal(reg_size(&word, 4, 32, 0, NAME, NULL), -EINVAL);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(reg_size(&wide, wrong[i], 0, 0, NAME, NULL), -EINVAL);
	assert_int_equal(reg_size(&wide, 8, 63, 0, NAME, NULL), 0);
	assert_int_equal(reg_size(&wide, 8, 64, 0, NAME, NULL), -EINVAL);
	assert_int_equal(reg_size((char *)&wide + 1, 4, 0, 0, NAME, NULL), -EINVAL);
	assert_int_equal(unreg(&wide, 63), 0);
}

static void an_enable_word_that_cannot_be_written_is_refused(void **state)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(reg_size(page, 4, 0, 0, NAME, NULL), -ENOMEM);
	munmap(page, 4096);
}

static void the_word_follows_the_listeners(void **state)
{
	assert_int_equal(reg(0, NAME, NULL), 0);
	assert_int_equal(word, 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(word, 1);
	listen_in_ftrace(NAME, 0);
	assert_int_equal(word, 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(word, 1);
	/* The event already has a listener: the new bit is set at once. */
	assert_int_equal(reg(5, NAME, NULL), 0);
	assert_int_equal(word, 0x21);
	assert_int_equal(unreg(&word, 0), 0);
	assert_int_equal(word, 0x20);
	assert_int_equal(unreg(&word, 5), 0);
	assert_int_equal(word, 0);
	listen_in_ftrace(NAME, 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(word, 0);
}

static void a_persistent_event_outlives_its_program(void **state)
{
	assert_int_equal(reg_size(&word, 4, 0, PERSIST, NAME, NULL), 0);
	assert_int_equal(unreg(&word, 0), 0);
	close(fd);
	fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
	usleep(100000);
	assert_true(event_exists(NAME));
	assert_int_equal(del(NAME), 0);
	assert_false(event_exists(NAME));
	assert_int_equal(reg_size(&word, 4, 0, 1 << 15, NAME, NULL), -EINVAL);
	assert_false(event_exists(NAME));
}

static void one_name_may_have_many_formats(void **state)
{
	char first[256];
	int error = reg_size(&word, 4, 0, MULTI_FORMAT, NAME " u32 multi_first", NULL);

	if (error == -EINVAL) {
		print_message("this kernel has no MULTI_FORMAT\n");
		skip();
	}
	assert_int_equal(error, 0);
	assert_int_equal(reg_size(&word, 4, 1, MULTI_FORMAT, NAME " u64 multi_second", NULL), 0);
	assert_int_equal(reg_size(&word, 4, 2, MULTI_FORMAT, NAME " u64 multi_second", NULL), 0);
	strcpy(first, multi_folder(NAME, "multi_first"));
	assert_true(*first);
	assert_true(*multi_folder(NAME, "multi_second"));
	assert_string_not_equal(first, multi_folder(NAME, "multi_second"));
	/* The file refers to both until it is closed. */
	close(fd);
	fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
	assert_int_equal(unreg(&word, 0), 0);
	WAIT_UNTIL(!*multi_folder(NAME, "multi_first"));
	assert_int_equal(unreg(&word, 1), 0);
	usleep(100000);
	assert_true(*multi_folder(NAME, "multi_second"));
	assert_int_equal(unreg(&word, 2), 0);
	WAIT_UNTIL(!*multi_folder(NAME, "multi_second"));
}

/* ---- processes ---- */

/* The child has copies of the words, and of their registration in the kernel. */
static void a_forked_child_is_enabled_too(void **state)
{
	int status;
	pid_t pid;

	assert_int_equal(reg(0, NAME, NULL), 0);
	pid = fork();
	if (!pid) {
		int tries = 10000;

		while (!__atomic_load_n(&word, __ATOMIC_RELAXED) && --tries)
			usleep(1000);
		_exit(tries && !unreg(&word, 0) && !word ? 0 : 1);
	}
	listen_in_ftrace(NAME, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The page is shared until one process writes to it; the kernel updates it with a delay. */
	WAIT_UNTIL(__atomic_load_n(&word, __ATOMIC_RELAXED) == 1);
	listen_in_ftrace(NAME, 0);
	WAIT_UNTIL(__atomic_load_n(&word, __ATOMIC_RELAXED) == 0);
	assert_int_equal(unreg(&word, 0), 0);
}

static int cloned(void *none)
{
	_exit(unreg(&word, 0) ? 1 : 0);
}

static void a_child_that_shares_memory_shares_the_words(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;
	pid_t pid;

	assert_int_equal(reg(0, NAME, NULL), 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(word, 1);
	pid = clone(cloned, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(word, 0);
	assert_int_equal(unreg(&word, 0), -ENOENT);
}

/* ---- fields ---- */

/*
 * Creates the event with these fields through dynamic_events, and deletes it. Returns 0 or a
 * negative errno.
 */
static int parsed(const char *fields)
{
	char command[256];
	int error;

	snprintf(command, sizeof(command), "u:" NAME " %s", fields);
	error = put_text_in(TRACEFS "dynamic_events", command);
	if (!error)
		WAIT_UNTIL(gone());
	return error;
}

static void fields_of_these_types_are_taken(void **state)
{
	static const char *const good[] = {"u64 a", "u32 a", "u16 a", "u8 a", "s64 a", "s32 a",
		"s16 a", "s8 a", "char a", "unsigned char a", "int a", "unsigned int a", "short a",
		"unsigned short a", "char[20] a", "unsigned char[20] a", "char[0x14] a",
		"unsigned char[0x14] a", "__data_loc char[] a", "__data_loc unsigned char[] a",
		"__rel_loc char[] a", "__rel_loc unsigned char[] a", "struct custom a 20"};
	static const char *const bad[] = {"char[aa] a", "char[9999] a", "char[0x0000000000001] a",
		"struct custom a", "char a 20", "long a", "float a", "double a", "u32[4] a",
		"char[1025] a"};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (parsed(good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parsed(bad[i]) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
}

static void an_event_matches_itself_only(void **state)
{
	static const struct {
		const char *first, *second;
		int matches;
	} pairs[] = {
		{"u32 a", "u32 a", 1},
		{"u32 a; u32 b", "u32 a; u32 b", 1},
		{"u32 a; u32 b", "u32 a; u32 b;", 1},
		{"u32 a", "u32 b", 0},
		{"u32 a; u32 b", "u32 b; u32 a", 0},
		{"u64 a; u64 b", "u32 a; u32 b", 0},
		{"struct my_struct a 20", "struct my_struct a 20", 1},
		{"struct my_struct a 20", "struct my_struct b 20", 0},
		{"struct my_struct a 20", "struct my_struct a 21", 0},
	};
	char command[256];
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		snprintf(command, sizeof(command), NAME " %s", pairs[i].first);
		assert_int_equal(reg(0, command, NULL), 0);
		snprintf(command, sizeof(command), NAME " %s", pairs[i].second);
		if (reg(1, command, NULL) != (pairs[i].matches ? 0 : -EADDRINUSE))
			fail_msg("'%s' and '%s'", pairs[i].first, pairs[i].second);
		unreg(&word, 0);
		unreg(&word, 1);
		close(fd);
		fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
		WAIT_UNTIL(gone());
	}
}

static void every_type_has_a_print_format(void **state)
{
	char command[256], expected[256];
	const char *format;

	for (const struct print_format *type = print_formats; type->type; type++) {
		snprintf(command, sizeof(command), NAME " %s data", type->type);
		assert_int_equal(reg(0, command, NULL), 0);
		snprintf(expected, sizeof(expected), "print fmt: %s\n", type->print);
		format = text_of(TRACEFS "events/user_events/" NAME "/format");
		if (!strstr(format, expected))
			fail_msg("%s: %s", type->type, strstr(format, "print fmt"));
		unreg(&word, 0);
		close(fd);
		fd = open(DATA_FILE, O_WRONLY | O_CLOEXEC);
		WAIT_UNTIL(gone());
	}
}

/* ---- writing ---- */

static int put(const void *head, size_t n_head, const void *body, size_t n_body)
{
	struct iovec pieces[] = {
		{(void *)(uintptr_t)head, n_head}, {(void *)(uintptr_t)body, n_body}};
	ssize_t n = writev(fd, pieces, 2);

	return n < 0 ? -errno : (int)n;
}

static void invalid_writes_have_distinct_errors(void **state)
{
	uint32_t index = 0, wrong = 77, negative = (uint32_t)-1, data[3] = {1, 2, 3};
	int before;

	assert_int_equal(reg(31, NAME " u32 a; u32 b", &index), 0);
	assert_int_equal(put(&wrong, 4, data, 8), -ENOENT);
	assert_int_equal(put(&negative, 4, data, 8), -EINVAL);
	assert_int_equal(put(&index, 3, data, 0), -EFAULT);
	assert_int_equal(put(&index, 4, data, 7), -EINVAL);
	assert_int_equal(put(&index, 4, data, 8), -EBADF);
	listen_in_ftrace(NAME, 1);
	before = traced(NAME ":");
	assert_int_equal(put(&index, 4, data, 7), -EINVAL);
	assert_int_equal(put(&index, 4, (void *)8, 8), -EFAULT);
	assert_int_equal(put(&index, 4, data, 8), 12);
	assert_int_equal(put(&index, 4, data, 12), 16);
	assert_int_equal(traced(NAME ":"), before + 2);
	assert_int_equal(traced(NAME ": a="), before + 2);
}

static void an_event_may_be_empty(void **state)
{
	uint32_t index = 0;

	assert_int_equal(reg(31, NAME, &index), 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(put(&index, 4, NULL, 0), 4);
	assert_int_equal(traced(NAME ":"), 1);
}

static void an_unmapped_payload_page_is_faulted_in(void **state)
{
	uint32_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t index = 0;

	assert_int_equal(reg(31, NAME " u64 anon", &index), 0);
	listen_in_ftrace(NAME, 1);
	page[0] = index;
	assert_int_equal(write(fd, page, 12), 12);
	assert_int_equal(madvise(page, 4096, MADV_DONTNEED), 0);
	assert_int_equal(write(fd, page, 12), 12);
	munmap(page, 4096);
}

static void dynamic_fields_must_lie_inside_and_end_with_nul(void **state)
{
	struct {
		uint32_t place;
		char text[8];
	} data = {5 << 16, "Test"};
	uint32_t index = 0;

	assert_int_equal(reg(31, NAME " __rel_loc char[] data", &index), 0);
	assert_int_equal(put(&index, 4, NULL, 0), -EINVAL);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(put(&index, 4, &data, 9), 13);
	assert_int_equal(traced(NAME ": data=Test"), 1);
	data.place = 5 << 16 | 1024;
	assert_int_equal(put(&index, 4, &data, 9), -EFAULT);
	data.place = 5 << 16 | 1;
	assert_int_equal(put(&index, 4, &data, 9), -EFAULT);
	data.place = (5 + 1024) << 16;
	assert_int_equal(put(&index, 4, &data, 9), -EFAULT);
	data.place = (5 + 1) << 16;
	assert_int_equal(put(&index, 4, &data, 9), -EFAULT);
	data.place = 5 << 16;
	memset(data.text, 'A', sizeof(data.text));
	assert_int_equal(put(&index, 4, &data, 9), -EFAULT);
}

/* The reason for PERFUME_PAYLOAD_MAX. */
static void a_payload_longer_than_a_page_is_lost_silently(void **state)
{
	static char data[8192];
	uint32_t index = 0;

	assert_int_equal(reg(31, NAME " u32 a", &index), 0);
	listen_in_ftrace(NAME, 1);
	assert_int_equal(put(&index, 4, data, 4000), 4004);
	assert_int_equal(traced(NAME ":"), 1);
	assert_int_equal(put(&index, 4, data, 4100), 4104);
	assert_int_equal(traced(NAME ":"), 1);
}

/* ---- perf ---- */

/* Returns the offset of a field in the event's format. */
static unsigned offset_of(const char *field)
{
	const char *format = text_of(TRACEFS "events/user_events/" NAME "/format");
	const char *line = strstr(format, field);

	assert_non_null(line);
	return (unsigned)strtoul(strstr(line, "offset:") + 7, NULL, 10);
}

static void perf_gets_the_payload_where_the_format_says(void **state)
{
	struct perf_event_mmap_page *ring;
	struct {
		struct perf_event_header header;
		uint32_t size;
		unsigned char raw[];
	} * record;
	uint32_t index = 0, data[2] = {0xaabb, 0xccdd}, got;
	int perf;

	assert_int_equal(reg(31, NAME " u32 field1; u32 field2", &index), 0);
	perf = open_perf(NAME, &ring);
	assert_int_equal(word, 1u << 31);
	assert_int_equal(put(&index, 4, data, 8), 12);
	record = (void *)((char *)ring + 4096);
	assert_int_equal(record->header.type, PERF_RECORD_SAMPLE);
	memcpy(&got, record->raw + offset_of("field2;"), 4);
	assert_int_equal(got, 0xccdd);
	munmap(ring, 2 * 4096);
	close(perf);
	WAIT_UNTIL(!__atomic_load_n(&word, __ATOMIC_RELAXED));
}

static void perf_gets_empty_events(void **state)
{
	struct perf_event_mmap_page *ring;
	struct perf_event_header *record;
	uint32_t index = 0;
	int perf;

	assert_int_equal(reg(31, NAME, &index), 0);
	perf = open_perf(NAME, &ring);
	assert_int_equal(word, 1u << 31);
	assert_int_equal(put(&index, 4, NULL, 0), 4);
	record = (void *)((char *)ring + 4096);
	assert_int_equal(record->type, PERF_RECORD_SAMPLE);
	assert_true(ring->data_head > 0);
	munmap(ring, 2 * 4096);
	close(perf);
	WAIT_UNTIL(!__atomic_load_n(&word, __ATOMIC_RELAXED));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_file, close_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(registering_gives_an_index_and_keeps_the_event),
		CASE(bits_and_sizes_of_enable_words_are_checked),
		CASE(an_enable_word_that_cannot_be_written_is_refused),
		CASE(the_word_follows_the_listeners),
		CASE(a_persistent_event_outlives_its_program),
		CASE(one_name_may_have_many_formats),
		CASE(a_forked_child_is_enabled_too),
		CASE(a_child_that_shares_memory_shares_the_words),
		CASE(fields_of_these_types_are_taken),
		CASE(an_event_matches_itself_only),
		CASE(every_type_has_a_print_format),
		CASE(invalid_writes_have_distinct_errors),
		CASE(an_event_may_be_empty),
		CASE(an_unmapped_payload_page_is_faulted_in),
		CASE(dynamic_fields_must_lie_inside_and_end_with_nul),
		CASE(a_payload_longer_than_a_page_is_lost_silently),
		CASE(perf_gets_the_payload_where_the_format_says),
		CASE(perf_gets_empty_events),
	};

	if (access(DATA_FILE, W_OK))
		skip_whole_test("no user_events here: this test runs in a guest that has them");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
