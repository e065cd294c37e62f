/* SPDX-License-Identifier: MIT */
/* What is written, in order, by a thread or without one; slow readers, errors, and steps. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file_writer.h"

enum { LIMIT = 1 << 20, TOTAL = 8 << 20 };

static const size_t limits[] = {0, LIMIT, 1};

static char path[] = "/tmp/attar-file-writer-XXXXXX";
static unsigned char pattern[TOTAL];

static int make_pattern(void **state)
{
	uint32_t x = 1;

	for (size_t i = 0; i < TOTAL; i++) {
		x = x * 1664525 + 1013904223;
		pattern[i] = (unsigned char)(x >> 24);
	}
	close(mkstemp(path));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(path);
}

static struct file_writer *begin(const char *name, size_t limit)
{
	int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct file_writer *w = file_writer_new(fd, limit);

	assert_true(fd >= 0);
	assert_non_null(w);
	return w;
}

/* In pieces of 1 to 700,000 bytes. */
static int add_pattern(struct file_writer *w)
{
	size_t at = 0, n = 1;
	int r = 0;

	while (r == 0 && at < TOTAL) {
		r = file_writer_add(w, pattern + at, MIN(n, TOTAL - at));
		at += n;
		n = n % 700000 * 3 + 1;
		if (r == 0 && n % 2)
			r = file_writer_push(w);
	}
	return r;
}

static void check_file(const char *name, const void *expected, size_t n)
{
	unsigned char *got = malloc(n + 1);
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, got, n + 1), n);
	assert_memory_equal(got, expected, n);
	close(fd);
	free(got);
}

static void test_order(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct file_writer *w = begin(path, limits[i]);
		const char *text;

		assert_int_equal(add_pattern(w), 0);
		assert_int_equal(file_writer_given(w), TOTAL);
		assert_int_equal(file_writer_wait(w), 0);
		check_file(path, pattern, TOTAL);
		assert_int_equal(file_writer_done(w, &text).at, TOTAL);
		assert_null(text);
		assert_int_equal(file_writer_free(w), 0);
	}
}

struct reader {
	int fd;
	unsigned char *got;
	size_t n;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	ssize_t n;

	while ((n = read(r->fd, r->got + r->n, TOTAL - r->n)) > 0)
		r->n += (size_t)n;
	return NULL;
}

/* What fits the limit does not wait for the reader of a pipe; more does, and nothing is lost. */
static void test_reader_that_stalls(void **state)
{
	struct reader reader = {.got = malloc(TOTAL)};
	struct file_writer *w;
	pthread_t thread;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	reader.fd = fds[0];
	w = file_writer_new(fds[1], LIMIT);
	assert_int_equal(file_writer_add(w, pattern, LIMIT), 0);
	assert_int_equal(file_writer_push(w), 0);
	assert_false(file_writer_is_ready(w));
	pthread_create(&thread, NULL, read_all, &reader);
	assert_int_equal(file_writer_add(w, pattern + LIMIT, TOTAL - LIMIT), 0);
	assert_int_equal(file_writer_wait(w), 0);
	assert_true(file_writer_is_ready(w));
	assert_int_equal(file_writer_free(w), 0);
	pthread_join(thread, NULL);
	assert_int_equal(reader.n, TOTAL);
	assert_memory_equal(reader.got, pattern, TOTAL);
	close(fds[0]);
	free(reader.got);
}

static bool is_over(void *ctx, uint64_t stalled_ns)
{
	int *left = ctx;

	assert_true(stalled_ns < 60000000000);
	return --*left < 0;
}

/* A wait for a reader that takes nothing ends at the limit; what is left is known. */
static void test_wait_limit(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int fds[2], left = 2;
		struct file_writer *w;
		uint64_t unwritten;
		char *got = malloc(TOTAL);

		assert_int_equal(pipe(fds), 0);
		w = file_writer_new(fds[1], limits[i]);
		file_writer_set_wait_limit(w, (struct wait_limit){is_over, &left});
		file_writer_add(w, pattern, TOTAL);
		assert_int_equal(file_writer_wait(w), -ETIMEDOUT);
		assert_int_equal(file_writer_add(w, "x", 1), -ETIMEDOUT);
		assert_true(left < 0);
		unwritten = file_writer_unwritten(w);
		assert_int_equal(file_writer_free(w), -ETIMEDOUT);
		assert_int_equal(read(fds[0], got, TOTAL), TOTAL + 1 - unwritten);
		close(fds[0]);
		free(got);
	}
}

static void note_error(void *ctx, struct file_written *written)
{
	int *seen = ctx;

	assert_int_equal(*seen, 0);
	*seen = written->error;
}

/* An error is that of the first failure, and stays; steps hear of it. */
static void test_full_disk(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct file_writer *w = begin("/dev/full", limits[i]);
		int seen = 0;

		assert_int_equal(add_pattern(w), -ENOSPC);
		assert_int_equal(file_writer_add(w, "x", 1), -ENOSPC);
		assert_int_equal(file_writer_then(w, note_error, &seen), -ENOSPC);
		assert_int_equal(file_writer_wait(w), -ENOSPC);
		assert_int_equal(seen, -ENOSPC);
		assert_int_equal(file_writer_free(w), -ENOSPC);
	}
}

/* A former file has what was added before, also if it is slow, and is closed. */
static void test_files_follow_each_other(void **state)
{
	struct reader reader = {.got = malloc(TOTAL)};
	struct file_writer *w;
	int fds[2], fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(pipe(fds), 0);
	reader.fd = fds[0];
	w = file_writer_new(fds[1], LIMIT);
	assert_int_equal(file_writer_add(w, pattern, 300000), 0);
	assert_int_equal(file_writer_continue(w, fd), 0);
	assert_int_equal(file_writer_fd(w), fd);
	assert_int_equal(file_writer_add(w, pattern + 300000, 500000), 0);
	assert_int_equal(file_writer_given(w), 500000);
	assert_true(file_writer_has_steps(w));
	read_all(&reader); /* ends, since the writer closes the pipe */
	assert_int_equal(reader.n, 300000);
	assert_memory_equal(reader.got, pattern, 300000);
	assert_int_equal(file_writer_free(w), 0);
	check_file(path, pattern + 300000, 500000);
	close(fds[0]);
	free(reader.got);
}

static void fail_in_step(void *ctx, struct file_written *written)
{
	written->error = attar_fail(-EIO, "cannot go on with %s", (const char *)ctx);
}

/* The text of the error of a step crosses threads; later steps do not replace it. */
static void test_step_that_fails(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct file_writer *w = begin(path, limits[i]);
		int seen = 0;
		const char *text;

		file_writer_add(w, "before", 6);
		file_writer_then(w, fail_in_step, (void *)"x");
		file_writer_add(w, "dropped", 7);
		file_writer_then(w, fail_in_step, (void *)"y");
		file_writer_then(w, note_error, &seen);
		assert_int_equal(file_writer_wait(w), -EIO);
		assert_int_equal(seen, -EIO);
		assert_int_equal(file_writer_done(w, &text).at, 6);
		assert_string_equal(text, "cannot go on with x");
		assert_int_equal(file_writer_free(w), -EIO);
		check_file(path, "before", 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_reader_that_stalls),
		cmocka_unit_test(test_wait_limit),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_files_follow_each_other),
		cmocka_unit_test(test_step_that_fails),
	};

	return cmocka_run_group_tests(tests, make_pattern, remove_file);
}
