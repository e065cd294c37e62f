/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Contexts, probes and writes. Tests that need a listener use a pipe in place of the kernel's file.
 */
#include "tests.h"

#include <sched.h>
#include <sys/wait.h>

static void an_event_without_listeners_is_not_written(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", "u32 a", NULL);
	uint32_t a = 1;

	assert_non_null(probe);
	assert_false(perfume_probe_enabled(probe));
	assert_int_equal(perfume_write(probe, &a, sizeof(a)), 0);
	assert_int_equal(perfume_write(probe, NULL, 999999), 0);
	assert_int_equal(perfume_write_payload(probe, NULL, 999999), 0);
	perfume_free(ctx);
}

static void the_pieces_follow_the_index_in_one_buffer(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe =
		perfume_register(ctx, "perfume_unit", "u32 a", "u8 b", "__rel_loc char[] c", NULL);
	uint32_t a = 0x11223344, whole = 0x55667788;
	uint8_t b = 9;
	struct {
		uint32_t at;
		char text[4];
	} c = {4 << 16, "abc"};
	char expected[13];

	memcpy(expected, &a, 4);
	expected[4] = 9;
	memcpy(expected + 5, &c, 8);
	listen_to(&probe->event);
	assert_true(perfume_probe_enabled(probe));
	assert_int_equal(perfume_write(probe, &a, sizeof(a), &b, 1, &c, sizeof(c)), 13);
	expect_packet(expected, 13);
	assert_int_equal((perfume_write)(probe, &a, sizeof(a), &b, (size_t)1, &c, sizeof(c)), 13);
	expect_packet(expected, 13);
	assert_int_equal(perfume_write_payload(probe, expected, 13), 13);
	expect_packet(expected, 13);
	/* An int is accepted in place of a size_t. */
	assert_int_equal(perfume_write(probe, &whole, 4, &b, 1, &c, 8), 13);
	hang_up(&probe->event);
	perfume_free(ctx);
}

static void a_payload_that_does_not_fit_is_refused(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", "u32 a", "u32 b", NULL);
	static char big[PERFUME_PAYLOAD_MAX + 1];
	uint32_t a = 1;

	listen_to(&probe->event);
	errno = 1234;
	assert_int_equal(perfume_write(probe, &a, sizeof(a)), -EINVAL);
	assert_int_equal(perfume_write(probe, &a, sizeof(a), &a), -EINVAL);
	assert_int_equal(perfume_write(probe, &a, sizeof(a), &a, sizeof(a), &a, 4), -EINVAL);
	assert_int_equal(perfume_write(probe, &a, 3, &a, 4), -EINVAL);
	assert_int_equal(perfume_write(probe, &a, 4, &a, 3), -EINVAL);
	assert_int_equal(perfume_write(probe, big, 5, &a, 4), -EINVAL);
	assert_int_equal(perfume_write(probe, &a, 4, NULL, 4), -EFAULT);
	assert_int_equal(perfume_write(probe, &a, 4, big, sizeof(big) - 4), -EMSGSIZE);
	assert_non_null(strstr(perfume_error(), "longer"));
	assert_int_equal(perfume_write(probe, &a, 4, big, (size_t)-1), -EMSGSIZE);
	assert_int_equal(perfume_write_payload(probe, big, 7), -EINVAL);
	assert_int_equal(perfume_write_payload(probe, big, sizeof(big)), -EMSGSIZE);
	assert_int_equal(perfume_write_payload(probe, NULL, 8), -EFAULT);
	assert_int_equal(read(pipe_ends[0], big, 1), -1);
	errno = 1234;
	assert_int_equal(perfume_write(probe, &a, 4, big, sizeof(big) - 5), PERFUME_PAYLOAD_MAX);
	assert_int_equal(errno, 1234);
	hang_up(&probe->event);
	perfume_free(ctx);
}

static void errors_of_the_kernel_do_not_change_errno(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", NULL);

	listen_to(&probe->event);
	close(pipe_ends[0]);
	signal(SIGPIPE, SIG_IGN);
	errno = 1234;
	assert_int_equal(perfume_write(probe), -EPIPE);
	assert_int_equal(errno, 1234);
	pipe_ends[0] = -1;
	hang_up(&probe->event);
	perfume_free(ctx);
}

static void a_descriptor_that_the_program_closed_is_not_written_to(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", "u32 a", NULL);
	uint32_t a = 1;

	listen_to(&probe->event);
	ctx->file.fd = pipe_ends[1];
	close(pipe_ends[1]);
	/*
	 * Without user_events a listener cannot exist. With them, the error is EBADF for lack of a
	 * listener.
	 */
	assert_in_range(-perfume_write(probe, &a, sizeof(a)), 0, EBADF);
	assert_int_not_equal((int)(probe->event.target >> 32), pipe_ends[1]);
	pipe_ends[1] = -1;
	hang_up(&probe->event);
	perfume_free(ctx);
}

static void every_order_of_freeing_is_safe(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0), *other = perfume_init(0);
	struct perfume_probe *a, *b, *c;

	a = perfume_register(ctx, "perfume_a", "u32 a", NULL);
	assert_int_equal(perfume_deregister(ctx, a), 0);
	assert_int_equal(perfume_deregister(ctx, a), 0);
	assert_int_equal(perfume_deregister(other, a), -EINVAL);
	assert_int_equal(perfume_deregister(ctx, NULL), -EINVAL);
	assert_int_equal(perfume_deregister(NULL, a), -EINVAL);
	assert_int_equal(perfume_write(a), 0);
	perfume_free(ctx);

	ctx = perfume_init(0);
	a = perfume_register(ctx, "perfume_a", "u32 a", NULL);
	b = perfume_register(ctx, "perfume_b", "u32 a", NULL);
	c = perfume_register(ctx, "perfume_c", "u32 a", NULL);
	assert_int_equal(perfume_deregister(ctx, b), 0);
	perfume_probe_free(b);
	perfume_probe_free(a);
	perfume_probe_free(NULL);
	assert_ptr_equal(perfume_find(ctx, "perfume_c"), c);
	assert_null(perfume_find(ctx, "perfume_a"));
	perfume_free(ctx);
	perfume_free(other);
	perfume_free(NULL);
	assert_null(files);
}

static void the_word_of_a_freed_event_is_reused(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", NULL);
	uint32_t *word = probe->event.word;

	perfume_deregister(ctx, probe);
	assert_ptr_not_equal(probe->event.word, word);
	probe = perfume_register(ctx, "perfume_unit", NULL);
	assert_ptr_equal(probe->event.word, word);
	perfume_free(ctx);
}

static void there_are_words_for_many_events(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = NULL;
	char name[32];
	int i;

	for (i = 0; i < 2 * CHUNK_WORDS + 1; i++) {
		snprintf(name, sizeof(name), "perfume_%d", i);
		probe = perfume_register(ctx, name, NULL);
		assert_non_null(probe);
		assert_int_equal(*probe->event.word, 0);
	}
	*probe->event.word = 1;
	assert_true(perfume_probe_enabled(probe));
	assert_false(perfume_probe_enabled(perfume_find(ctx, "perfume_0")));
	*probe->event.word = 0;
	perfume_free(ctx);
}

static void an_added_probe_can_be_found(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);

	assert_int_equal(perfume_add(ctx, "perfume_plain"), 0);
	assert_non_null(perfume_find(ctx, "perfume_plain"));
	assert_int_equal(perfume_add(ctx, "not a name"), -EINVAL);
	assert_int_equal(perfume_add(NULL, "perfume_plain"), -EINVAL);
	perfume_free(ctx);
}

static void unknown_flags_are_refused(void **state)
{
	assert_null(perfume_init(128));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(perfume_error(), "PERFUME_PERSIST"));
}

static void the_check_has_a_message_for_each_result(void **state)
{
	int code;

	for (code = PERFUME_CHECK_OK; code <= PERFUME_CHECK_UNKNOWN_INTERFACE; code++)
		assert_true(strlen(perfume_check_str(code)) > 10);
	assert_string_equal(perfume_check_str(99), "not a result of perfume_check");
	assert_string_equal(perfume_check_str(-1), "not a result of perfume_check");
	assert_in_range(perfume_check(), PERFUME_CHECK_OK, PERFUME_CHECK_UNKNOWN_INTERFACE);
	assert_int_equal(
		perfume_interface() != PERFUME_INTERFACE_NONE, perfume_check() == PERFUME_CHECK_OK);
	assert_string_equal(perfume_interface_str(PERFUME_INTERFACE_NONE), "none");
	assert_string_equal(perfume_interface_str((enum perfume_interface)77), "unknown");
}

/*
 * A child made without fork(): its lock is free although the parent holds it, and its descriptors
 * are checked at once.
 */
static void the_lock_is_free_in_a_forked_child(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "perfume_unit", "u32 a", NULL);
	sigset_t old;
	int status;
	pid_t pid;

	listen_to(&probe->event);
	lock(&old);
	pid = _Fork();
	if (!pid) {
		uint32_t a = 5;
		int fresh = !home_get()->settled;
		int wrote = perfume_write(probe, &a, sizeof(a)) == 4;

		_exit(fresh && wrote && home_get()->settled ? 0 : 1);
	}
	unlock(&old);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_packet(&(uint32_t){5}, 4);
	hang_up(&probe->event);
	perfume_free(ctx);
}

static uint32_t changing;

static void *change(void *unused)
{
	sigset_t old;

	lock(&old);
	__atomic_store_n(&changing, 1, __ATOMIC_RELEASE);
	usleep(50000);
	__atomic_store_n(&changing, 2, __ATOMIC_RELEASE);
	unlock(&old);
	return unused;
}

/* Otherwise the child would keep a list as it was while another thread changed it. */
static void a_fork_waits_for_changes_of_the_lists(void **state)
{
	sigset_t before = {0}, after = {0};
	pthread_t thread;
	int status;
	pid_t pid;

	sigprocmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	while (!__atomic_load_n(&changing, __ATOMIC_ACQUIRE))
		sched_yield();
	pid = fork();
	sigprocmask(SIG_BLOCK, NULL, &after);
	if (!pid) {
		struct perfume_ctx *ctx = perfume_init(0);
		int ok = changing == 2 && !memcmp(&before, &after, sizeof(before)) &&
			 perfume_register(ctx, "perfume_child", NULL);

		perfume_free(ctx);
		_exit(ok ? 0 : 1);
	}
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_without_listeners_is_not_written),
		cmocka_unit_test(the_pieces_follow_the_index_in_one_buffer),
		cmocka_unit_test(a_payload_that_does_not_fit_is_refused),
		cmocka_unit_test(errors_of_the_kernel_do_not_change_errno),
		cmocka_unit_test(a_descriptor_that_the_program_closed_is_not_written_to),
		cmocka_unit_test(every_order_of_freeing_is_safe),
		cmocka_unit_test(the_word_of_a_freed_event_is_reused),
		cmocka_unit_test(there_are_words_for_many_events),
		cmocka_unit_test(an_added_probe_can_be_found),
		cmocka_unit_test(unknown_flags_are_refused),
		cmocka_unit_test(the_check_has_a_message_for_each_result),
		cmocka_unit_test(the_lock_is_free_in_a_forked_child),
		cmocka_unit_test(a_fork_waits_for_changes_of_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
