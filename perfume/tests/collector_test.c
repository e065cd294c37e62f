/* SPDX-License-Identifier: CC0-1.0 */
/* Programs write to rings and collectors read them: every loss is counted. */
#include "rings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- finding each other ---- */

static void a_running_program_is_found_and_enabled(void **state)
{
	struct program program = start("texts", 3, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	assert_int_equal(perfume_collector_scan(collector), 1);
	assert_int_equal(perfume_collector_scan(collector), 0);
	assert_int_equal(await_word(&program, "done"), 3);
	READ_UNTIL(collector, got.n == 3);
	assert_string_equal(got.names[0], "ring_text");
	assert_int_equal(got.pids[0], program.pid);
	assert_string_equal(got.texts[0], "text 0");
	assert_string_equal(got.texts[2], "text 2");
	assert_int_equal(got.out_of_order, 0);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void only_matching_events_are_enabled(void **state)
{
	struct program program = start("texts", 3, NULL);
	struct perfume_collector *collector = collector_for("nothing,ring_tick", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(await_word(&program, "done"), 3);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(got.n, 0);
	assert_int_equal(stats_of(collector).written, 0);
	perfume_collector_free(collector);
}

/* It has exited before we look, and its PID is free; its events are still there. */
static void a_short_program_is_read_from_its_first_event(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	struct program program = start("flash", 1000, perfume_collector_variable(collector));

	assert_int_equal(await_word(&program, "done"), 1000);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, got.n == 1000);
	assert_int_equal(got.n_wrong_sequence, 0);
	read_all(collector, 0);
	expect_balance(collector);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
}

/* It has written more than a poll reads. */
static void the_last_poll_reads_all_of_a_large_ring(void **state)
{
	const unsigned long n = 2000000;
	struct perfume_collector *collector = collector_for("ring_*", -1);
	struct program program;

	setenv("PERFUME_RING_KB", "65536", 1);
	program = start("flash", n, perfume_collector_variable(collector));
	unsetenv("PERFUME_RING_KB");
	assert_int_equal(await_word(&program, "done"), n);
	assert_int_equal(end_of(&program), 0);
	read_all(collector, 1);
	assert_int_equal(got.n, n);
	assert_int_equal(got.n_wrong_sequence, 0);
	expect_balance(collector);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* The next process gets this PID, if no other one of this PID namespace starts before. */
static int choose_next_pid(pid_t pid)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC), r;

	r = fd < 0 ? -1 : dprintf(fd, "%d", (int)pid - 1);
	if (fd >= 0)
		close(fd);
	return r;
}

static void a_program_with_the_pid_of_one_that_has_exited_is_not_read(void **state)
{
	struct perfume_collector *collector, *other;
	struct program program;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	collector = collector_for("ring_*", pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	usleep(20000); /* processes of the same clock tick are not distinguished */
	if (choose_next_pid(pid) < 0) {
		print_message("this process cannot choose the PID of its children\n");
		perfume_collector_free(collector);
		skip();
	}
	program = start("texts", 3, NULL);
	assert_int_equal(program.pid, pid);
	await_word(&program, "ready");
	assert_int_equal(perfume_collector_scan(collector), 0);
	other = collector_for("ring_*", pid);
	assert_int_equal(perfume_collector_scan(other), 1);
	assert_int_equal(await_word(&program, "done"), 3);
	assert_int_equal(end_of(&program), 0);
	assert_int_equal(perfume_collector_scan(collector), 0);
	perfume_collector_free(collector);
	perfume_collector_free(other);
}

static void requests_reach_programs_that_start_later(void **state)
{
	struct perfume_collector *collector = collector_for("ring_ordered", 0);
	struct perfume_collector *other = collector_for("ring_ordred", 0);
	struct program program;
	struct stat st;

	if (stat(geteuid() ? "/run/user" : REQUESTS_OF_ROOT, &st)) {
		print_message("this process cannot write the request file\n");
		skip();
	}
	program = start("ordered", 10, NULL);
	assert_int_equal(await_word(&program, "done"), 10);
	end_of(&program);
	READ_UNTIL(collector, got.n == 10);
	perfume_collector_free(collector);
	perfume_collector_free(other);
	program = start("ordered", 10, NULL);
	end_of(&program);
	if (!geteuid()) {
		assert_int_equal(stat(REQUESTS_OF_ROOT, &st), 0);
		assert_int_equal(st.st_size, 0);
	}
}

static void a_forked_child_is_read_too(void **state)
{
	struct program program = start("forking", 5, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(await_word(&program, "done"), 5);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	/* one of the parent, five of the child, texts of grandchild, vfork child and parent */
	assert_int_equal(got.n, 9);
	assert_int_equal(got.n_threads, 2);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_fork_in_the_middle_of_a_record_keeps_the_ring_valid(void **state)
{
	struct program program = start("forking_in_handlers", 200, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	assert_true(got.n > 200);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_program_is_read_after_an_exec(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	struct program program = start("execing", 5, perfume_collector_variable(collector));

	await_word(&program, "ready");
	assert_int_equal(await_word(&program, "done"), 5);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, got.n == 10);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void payloads_of_every_length_arrive_or_are_refused(void **state)
{
	struct program program = start("lengths", 1, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);
	const size_t expected[] = {4, 5, 7, 8, PERFUME_PAYLOAD_MAX - 1, PERFUME_PAYLOAD_MAX};
	struct perfume_received event;
	size_t i;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(await_word(&program, "refused"), 6);
	await_word(&program, "done");
	perfume_collector_poll(collector, 1);
	for (i = 0; i < 6; i++) {
		assert_int_equal(perfume_collector_next(collector, &event), 1);
		assert_int_equal(event.size, expected[i]);
	}
	assert_int_equal(perfume_collector_next(collector, &event), 0);
	end_of(&program);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* ---- threads ---- */

static void events_of_each_thread_are_in_order(void **state)
{
	struct program program = start("eight_threads", 3000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).written == 24000);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(got.ticks, 24000);
	assert_int_equal(got.n_threads, 8);
	assert_int_equal(got.n_wrong_sequence, 0);
	perfume_collector_free(collector);
}

static void rings_of_exited_threads_are_reused(void **state)
{
	struct program program = start("thousand_short_threads", 3, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).written == 3000);
	await_word(&program, "done");
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(got.ticks, 3000);
	assert_int_equal(stats_of(collector).lost_no_ring, 0);
	perfume_collector_free(collector);
}

static void more_threads_than_rings_are_counted(void **state)
{
	struct program program = start("three_hundred_threads", 9, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct perfume_collector_stats stats;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	await_word(&program, "done");
	READ_UNTIL(collector, stats_of(collector).read >= 2560);
	stats = stats_of(collector);
	assert_int_equal(stats.written, 256 * 10);
	assert_int_equal(stats.lost_no_ring, 44 * 10);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).lost_no_ring, 44 * 10);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* They neither lock nor search a ring for each event, but get one when other threads exit. */
static void threads_without_a_ring_do_not_delay_each_other(void **state)
{
	struct program program = start("crowd", 1000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	unsigned long refused;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	assert_in_range(await_word(&program, "locked"), 0, 44 * 1000 / 10);
	assert_int_equal(await_word(&program, "seated"), 44);
	refused = await_word(&program, "refused");
	assert_true(refused >= 44 * 1001);
	await_word(&program, "done");
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).lost_no_ring, refused);
	assert_int_equal(stats_of(collector).written, 256 + 44);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* A thread that jumps out of a signal handler never completes the record that it was writing. */
static void a_jump_out_of_a_record_takes_no_ring(void **state)
{
	struct program program = start("jumping", 300, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	while (waitid(P_PID, (id_t)program.pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) ==
			0 &&
		stats_of(collector).writers)
		read_all(collector, 0);
	assert_int_equal(await_word(&program, "refused"), 0);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(stats_of(collector).lost_no_ring, 0);
	assert_int_equal(got.ticks, 300);
	assert_int_equal(got.n_wrong_sequence, 0);
	perfume_collector_free(collector);
}

static void check_handlers(const char *mode)
{
	struct program program = start(mode, 2000, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);
	unsigned long handled, ticked;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	/* The program writes as fast as it can: losses are allowed, wrong counts are not. */
	READ_UNTIL(collector, stats_of(collector).written > 1000);
	while (waitid(P_PID, (id_t)program.pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) ==
			0 &&
		stats_of(collector).writers)
		read_all(collector, 0);
	handled = await_word(&program, "handled");
	ticked = await_word(&program, "ticked");
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(stats_of(collector).written, handled + ticked);
	assert_int_equal(stats_of(collector).lost_no_ring, 0);
	perfume_collector_free(collector);
}

static void signal_handlers_write_in_the_middle_of_a_write(void **state)
{
	check_handlers("interrupted");
}

static void signal_handlers_write_on_another_stack(void **state)
{
	check_handlers("interrupted_on_another_stack");
}

/* ---- loss ---- */

static void a_full_ring_keeps_the_newest_and_counts_the_rest(void **state)
{
	struct program program = start("emit", 1000000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct perfume_collector_stats stats;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	await_word(&program, "done");
	read_all(collector, 1);
	stats = stats_of(collector);
	assert_int_equal(stats.written, 1000000);
	assert_int_equal(stats.read + stats.lost, 1000000);
	/* 1 MiB holds 32768 records of 32 bytes, of which a sixteenth is not trusted. */
	assert_in_range(stats.read, 1 << 14, 1 << 16);
	assert_int_equal(got.last_i, 999999);
	/*
	 * The events that were read are the last ones written, except perhaps for the first chunk.
	 */
	assert_true(got.n_wrong_sequence <= 2);
	end_of(&program);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static uint64_t ticks_of(pid_t tid)
{
	unsigned t;

	for (t = 0; t < got.n_threads; t++)
		if (got.threads[t].tid == tid)
			return got.threads[t].n;
	return 0;
}

/* The records that say when the second and the third thread took the ring may be lost. */
static void threads_are_known_after_a_loss(void **state)
{
	struct program program = start("one_after_another", 20000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	pid_t tids[3];
	int i;

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	tids[0] = (pid_t)await_word(&program, "tid");
	READ_UNTIL(collector, got.ticks == 10);
	assert_int_equal(write(program.in, "", 1), 1);
	for (i = 1; i < 3; i++)
		tids[i] = (pid_t)await_word(&program, "tid");
	read_all(collector, 1);
	assert_true(stats_of(collector).lost > 0);
	assert_int_equal(ticks_of(tids[0]), 10);
	assert_in_range(ticks_of(tids[1]), 1, 19999);
	assert_int_equal(ticks_of(tids[2]), 20000);
	assert_int_equal(got.n_threads, 3);
	expect_balance(collector);
	end_of(&program);
	perfume_collector_free(collector);
}

static void a_later_collector_knows_the_thread_of_a_full_ring(void **state)
{
	struct program program = start("pausing", 100000, NULL);
	struct perfume_collector *first = collector_for("ring_tick", program.pid), *second;

	await_word(&program, "ready");
	perfume_collector_scan(first);
	await_word(&program, "filled");
	perfume_collector_free(first);
	second = collector_for("ring_tick", program.pid);
	perfume_collector_scan(second);
	assert_int_equal(write(program.in, "", 1), 1);
	await_word(&program, "done");
	READ_UNTIL(second, got.ticks == 10);
	assert_int_equal(ticks_of(program.pid), 10);
	end_of(&program);
	expect_balance(second);
	perfume_collector_free(second);
}

static void a_killed_writer_leaves_whole_records(void **state)
{
	int round;

	for (round = 0; round < 20; round++) {
		struct program program = start("for_ever", 1, NULL);
		struct perfume_collector *collector = collector_for("ring_tick", program.pid);

		await_word(&program, "ready");
		perfume_collector_scan(collector);
		READ_UNTIL(collector, stats_of(collector).written > 1000);
		kill(program.pid, SIGKILL);
		end_of(&program);
		READ_UNTIL(collector, stats_of(collector).writers == 0);
		expect_balance(collector);
		assert_true(got.ticks > 0);
		perfume_collector_free(collector);
	}
}

static void a_stopped_writer_does_not_block_others(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	const char *variable = perfume_collector_variable(collector);
	struct program stopped = start("for_ever", 1, variable), program;
	uint64_t before;

	await_word(&stopped, "ready");
	READ_UNTIL(collector, got.ticks > 100);
	kill(stopped.pid, SIGSTOP);
	waitpid(stopped.pid, NULL, WUNTRACED);
	read_all(collector, 1);
	before = got.n;
	program = start("texts", 100, variable);
	await_word(&program, "ready");
	await_word(&program, "done");
	READ_UNTIL(collector, got.n == before + 100);
	kill(stopped.pid, SIGKILL);
	end_of(&stopped);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* ---- collectors ---- */

static void two_collectors_read_the_same_events(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *first = collector_for("ring_tick", program.pid);
	struct perfume_collector *second = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(first);
	perfume_collector_scan(second);
	READ_UNTIL(first, stats_of(first).read > 1000);
	READ_UNTIL(second, stats_of(second).read > 1000);
	perfume_collector_free(first);
	read_all(second, 1);
	got.ticks = 0;
	READ_UNTIL(second, got.ticks > 10000);
	shutdown(program.in, SHUT_WR);
	await_word(&program, "done");
	end_of(&program);
	READ_UNTIL(second, stats_of(second).writers == 0);
	assert_int_equal(stats_of(second).lapses, 0);
	expect_balance(second);
	perfume_collector_free(second);
}

/* Events of other listeners are neither read nor counted as lost. */
static void a_collector_without_matching_events_counts_nothing(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *busy = collector_for("ring_tick", program.pid);
	struct perfume_collector *idle = collector_for("no_such_event", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(busy);
	perfume_collector_scan(idle);
	READ_UNTIL(busy, stats_of(busy).read > 10000);
	read_all(idle, 1);
	assert_int_equal(stats_of(idle).writers, 1);
	shutdown(program.in, SHUT_WR);
	await_word(&program, "done");
	end_of(&program);
	READ_UNTIL(idle, stats_of(idle).writers == 0);
	assert_int_equal(stats_of(idle).written, 0);
	assert_int_equal(stats_of(idle).read, 0);
	assert_int_equal(stats_of(idle).lost, 0);
	perfume_collector_free(idle);
	perfume_collector_free(busy);
}

/* By a program that writes nothing, with events of macros and of names. */
static void polling_notices_that_the_last_collector_left(void **state)
{
	struct program program = start("polling", 0, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	await_word(&program, "heard");
	perfume_collector_free(collector);
	await_word(&program, "left");
	await_word(&program, "left");
	end_of(&program);
}

static void a_ninth_collector_is_refused(void **state)
{
	struct program program = start("until_left", 1, NULL);
	struct perfume_collector *collectors[9];
	int i;

	await_word(&program, "ready");
	for (i = 0; i < 9; i++) {
		collectors[i] = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collectors[i]);
		assert_int_equal(stats_of(collectors[i]).no_claim, i == 8);
	}
	perfume_collector_free(collectors[3]);
	collectors[3] = collector_for("ring_tick", program.pid);
	perfume_collector_scan(collectors[3]);
	assert_int_equal(stats_of(collectors[3]).no_claim, 0);
	/* it looks for collectors once a millisecond, or later on a busy machine */
	READ_UNTIL(collectors[0], got.ticks > 0);
	for (i = 0; i < 9; i++)
		perfume_collector_free(collectors[i]);
	await_word(&program, "left");
	kill(program.pid, SIGKILL);
	end_of(&program);
}

static void events_are_toggled_while_64_threads_write(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	int i;

	await_word(&program, "ready");
	for (i = 0; i < 10000; i++) {
		struct perfume_collector *collector = collector_for("ring_tick", program.pid);

		assert_int_equal(perfume_collector_scan(collector), 1);
		if (i % 100 == 0) {
			got.ticks = 0;
			READ_UNTIL(collector, got.ticks > 0);
			assert_int_equal(stats_of(collector).forged, 0);
			assert_int_equal(got.wrong_payload, 0);
		}
		perfume_collector_free(collector);
	}
	shutdown(program.in, SHUT_WR);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
}

/* ---- plug-ins, and very many events ---- */

static void a_plugin_is_enabled_each_time_it_is_loaded(void **state)
{
	struct program program = start("plugins", 200, NULL);
	struct perfume_collector *collector = collector_for("ring_tick,plugin_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.n > 0);
	assert_int_equal(await_word(&program, "written"), 200);
	await_word(&program, "done");
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(got.n, 200);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void thirty_two_thousand_events_are_enabled(void **state)
{
	struct program program = start("dynamic", 32000, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(await_word(&program, "written"), 32000);
	await_word(&program, "done");
	READ_UNTIL(collector, got.n == 32000);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* ---- formats ---- */

static void an_event_has_its_tracefs_format(void **state)
{
	char text[4096];
	int n = perfume_collector_format(
		"order", "u64 id; __rel_loc char[] text; struct f64 x 8", 7, text, sizeof(text));

	assert_int_equal(n, strlen(text));
	assert_non_null(strstr(text, "name: order\nID: 7\nformat:\n"));
	assert_non_null(strstr(text, "\tfield:u64 id;\toffset:8;\tsize:8;\tsigned:0;\n"));
	assert_non_null(
		strstr(text, "\tfield:__rel_loc char text[];\toffset:16;\tsize:4;\tsigned:1;\n"));
	assert_non_null(strstr(text, "\tfield:struct f64 x;\toffset:20;\tsize:8;\tsigned:1;\n"));
	assert_non_null(strstr(text,
		"print fmt: \"id=%llu text=%s x=%llu\", REC->id, __get_rel_str(text), REC->x\n"));
	assert_int_equal(perfume_collector_format("order",
				 "u64 id; __rel_loc char[] text; struct f64 x 8", 7, text, 10),
		n);
	assert_string_equal(text, "name: ord");
	assert_int_equal(perfume_collector_format("order", "long id", 7, text, 10), -EINVAL);
	assert_int_equal(perfume_collector_format("order", "u64", 7, text, 10), -EINVAL);
	assert_int_equal(
		perfume_collector_format("order", "struct x y 99999", 7, text, 10), -EINVAL);
}

static void options_are_checked(void **state)
{
	struct perfume_collector_options options = {.size = sizeof(options)};
	struct perfume_collector *collector = NULL;
	char long_patterns[600];

	assert_int_equal(perfume_collector_new(NULL, &collector), -EINVAL);
	assert_int_equal(perfume_collector_new(&options, &collector), -EINVAL);
	options.patterns = memset(long_patterns, 'x', sizeof(long_patterns));
	long_patterns[599] = 0;
	assert_int_equal(perfume_collector_new(&options, &collector), -EINVAL);
	options.patterns = "a\nb";
	assert_int_equal(perfume_collector_new(&options, &collector), -EINVAL);
	options.patterns = "a";
	options.size = 3;
	assert_int_equal(perfume_collector_new(&options, &collector), -EINVAL);
	assert_null(collector);
	perfume_collector_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_running_program_is_found_and_enabled),
		CASE(only_matching_events_are_enabled),
		CASE(a_short_program_is_read_from_its_first_event),
		CASE(the_last_poll_reads_all_of_a_large_ring),
		CASE(a_program_with_the_pid_of_one_that_has_exited_is_not_read),
		CASE(requests_reach_programs_that_start_later),
		CASE(a_forked_child_is_read_too),
		CASE(a_fork_in_the_middle_of_a_record_keeps_the_ring_valid),
		CASE(a_program_is_read_after_an_exec),
		CASE(payloads_of_every_length_arrive_or_are_refused),
		CASE(events_of_each_thread_are_in_order),
		CASE(rings_of_exited_threads_are_reused),
		CASE(more_threads_than_rings_are_counted),
		CASE(threads_without_a_ring_do_not_delay_each_other),
		CASE(signal_handlers_write_in_the_middle_of_a_write),
		CASE(signal_handlers_write_on_another_stack),
		CASE(a_jump_out_of_a_record_takes_no_ring),
		CASE(a_full_ring_keeps_the_newest_and_counts_the_rest),
		CASE(threads_are_known_after_a_loss),
		CASE(a_later_collector_knows_the_thread_of_a_full_ring),
		CASE(a_killed_writer_leaves_whole_records),
		CASE(a_stopped_writer_does_not_block_others),
		CASE(two_collectors_read_the_same_events),
		CASE(a_collector_without_matching_events_counts_nothing),
		CASE(polling_notices_that_the_last_collector_left),
		CASE(a_ninth_collector_is_refused),
		CASE(events_are_toggled_while_64_threads_write),
		CASE(a_plugin_is_enabled_each_time_it_is_loaded),
		CASE(thirty_two_thousand_events_are_enabled),
		CASE(an_event_has_its_tracefs_format),
		CASE(options_are_checked),
	};

	live_alone();
	setenv("PERFUME_RING", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
