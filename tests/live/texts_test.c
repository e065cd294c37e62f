/* SPDX-License-Identifier: MIT */
/* Texts of system calls that the kernel has copied stay known until they are not needed. */
#include "live.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/event.h"
#include "base/base.h"
#include "bpf/texts.h"

enum { LONG_BYTES = 1000, LONG_CALLS = 6000, SHORT_BYTES = 8, SHORT_CALLS = 40000 };

static char path[LONG_BYTES + 1];
static uint64_t entered[SHORT_CALLS + 1];

/* A path of n bytes, which no other call has: the number, then slashes. */
static void name_path(unsigned i, size_t n)
{
	memset(path, '/', n);
	path[snprintf(path, 8, "%06u", i)] = '/';
	path[n] = '\0';
}

static void make_calls(unsigned first, unsigned end, size_t n)
{
	for (unsigned i = first; i < end; i++) {
		name_path(i, n);
		entered[i] = base_now();
		(void)!chroot(path);
	}
	entered[end] = base_now();
}

static enum texts_found find(struct texts *texts, unsigned i, const char **ret_text, size_t *ret_n)
{
	return texts_get(
		texts, gettid(), (uintptr_t)path, entered[i], entered[i + 1], ret_text, ret_n);
}

/* Some of them: the search for one is long. */
static void expect_texts(struct texts *texts, unsigned calls, size_t n)
{
	const char *text;
	size_t size;

	for (unsigned i = 0; i < calls; i += 7) {
		if (find(texts, i, &text, &size) == TEXTS_NONE)
			texts_read(texts, entered[i]);
		name_path(i, n);
		assert_int_equal(find(texts, i, &text, &size), TEXTS_FOUND);
		assert_int_equal(size, n);
		assert_memory_equal(text, path, n);
	}
}

/* Reads twice while all texts are needed: together they have no room, by bytes or by number. */
static void read_all(unsigned calls, size_t n)
{
	struct texts *texts;

	live_need_root("programs in the kernel");
	if (texts_new(TEXTS_COPY_CALLS, 0, &texts) < 0)
		live_skip(attar_error());
	assert_int_equal(texts_want(texts, "chroot", 0), 0);
	assert_int_equal(texts_attach(texts), 0);
	make_calls(0, calls / 2, n);
	texts_read(texts, 0);
	make_calls(calls / 2, calls, n);
	texts_read(texts, 0);
	expect_texts(texts, calls, n);
	texts_free(texts);
}

static void test_more_bytes_than_are_kept(void **state)
{
	read_all(LONG_CALLS, LONG_BYTES);
}

static void test_more_texts_than_are_kept(void **state)
{
	read_all(SHORT_CALLS, SHORT_BYTES);
}

/* Texts that are not needed make room: the newest ones are known. */
static void test_texts_make_room(void **state)
{
	const unsigned calls = LONG_CALLS;
	const char *text;
	struct texts *texts;
	size_t size;

	live_need_root("programs in the kernel");
	if (texts_new(TEXTS_COPY_CALLS, 0, &texts) < 0)
		live_skip(attar_error());
	assert_int_equal(texts_want(texts, "chroot", 0), 0);
	assert_int_equal(texts_attach(texts), 0);
	make_calls(0, calls / 2, LONG_BYTES);
	texts_read(texts, 0);
	make_calls(calls / 2, calls, LONG_BYTES);
	texts_read(texts, entered[calls / 2]);
	assert_int_equal(find(texts, 0, &text, &size), TEXTS_NONE);
	assert_int_equal(find(texts, calls - 1, &text, &size), TEXTS_FOUND);
	texts_free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_bytes_than_are_kept),
		cmocka_unit_test(test_more_texts_than_are_kept),
		cmocka_unit_test(test_texts_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
