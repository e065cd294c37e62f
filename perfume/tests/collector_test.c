/* SPDX-License-Identifier: CC0-1.0 */
/* Programs write to rings, collectors read them: nothing is lost untold, and neither can harm the other. */
#include "collector.h"
#include "../perfume.h"
#include "../src/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- programs and collectors ---- */

struct program {
	pid_t pid;
	FILE *out;
	int in;
};

/* variable: an environment setting for it, or NULL. */
static struct program start(const char *mode, unsigned long n, const char *variable)
{
	struct program program;
	int out[2], in[2];
	char number[32];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	snprintf(number, sizeof(number), "%lu", n);
	program.pid = fork();
	if (!program.pid) {
		/* A test that fails leaves nobody behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (variable)
			putenv(strdup(variable));
		execl(getenv("RING_WRITER"), "ring_writer", mode, number, NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	program.out = fdopen(out[0], "r");
	program.in = in[1];
	return program;
}

/* The number behind that word in the next line. */
static unsigned long hear(struct program *program, const char *word)
{
	char line[128] = "", heard[64];
	unsigned long number = 0;

	if (!fgets(line, sizeof(line), program->out) ||
		sscanf(line, "%63s %lu", heard, &number) != 2 || strcmp(heard, word))
		fail_msg("heard '%s' and not '%s'", line, word);
	return number;
}

static int end_of(struct program *program)
{
	int status;

	fclose(program->out);
	close(program->in);
	waitpid(program->pid, &status, 0);
	return status;
}

static struct perfume_collector *collector_for(const char *patterns, pid_t pid)
{
	struct perfume_collector_options options = {.size = sizeof(options), .patterns = patterns};
	struct perfume_collector *collector;

	options.pids = &pid;
	options.n_pids = pid > 0;
	options.only_started = pid < 0;
	assert_int_equal(perfume_collector_new(&options, &collector), 0);
	return collector;
}

/* What was received, of the events whose fields are (u64 i, u64 not_i). */
static struct {
	uint64_t n, ticks, wrong_payload, out_of_order, last_time;
	uint64_t last_i, first_i;
	struct {
		pid_t tid;
		uint64_t n, next;
	} threads[2048];
	unsigned n_threads;
	unsigned n_wrong_sequence;
	char names[4][64], texts[4][64];
	pid_t pids[4];
} got;

static void see_thread(pid_t tid, uint64_t i)
{
	unsigned t;

	for (t = 0; t < got.n_threads && got.threads[t].tid != tid; t++)
		;
	if (t == got.n_threads && t < 2048) {
		got.n_threads++;
		got.threads[t].tid = tid;
	}
	got.n_wrong_sequence += i != got.threads[t].next;
	got.threads[t].next = i + 1;
	got.threads[t].n++;
}

static void see(const struct perfume_received *event)
{
	uint64_t tick[2];

	got.out_of_order += event->time < got.last_time;
	got.last_time = event->time;
	if (got.n < 4) {
		snprintf(got.names[got.n], 64, "%s", event->source->name);
		got.pids[got.n] = event->source->pid;
	}
	if (!strcmp(event->source->name, "ring_text") && got.n < 4)
		snprintf(got.texts[got.n], 64, "%s", (const char *)event->payload + 8);
	if (!strcmp(event->source->name, "ring_tick")) {
		memcpy(tick, event->payload, sizeof(tick));
		got.wrong_payload += event->size != 16 || tick[0] != ~tick[1];
		got.first_i = got.ticks ? got.first_i : tick[0];
		got.last_i = tick[0];
		got.ticks++;
		see_thread(event->tid, tick[0]);
	}
	got.n++;
}

static void read_all(struct perfume_collector *collector, int all)
{
	struct perfume_received event;

	perfume_collector_poll(collector, all);
	while (perfume_collector_next(collector, &event) > 0)
		see(&event);
}

static struct perfume_collector_stats stats_of(struct perfume_collector *collector)
{
	struct perfume_collector_stats stats;

	perfume_collector_stats(collector, &stats);
	return stats;
}

/* Reads until the account says so, for half a minute at most. */
#define READ_UNTIL(collector, condition)                                                           \
	do {                                                                                       \
		int tries_ = 30000;                                                                \
		while (read_all(collector, 0), !(condition) && --tries_)                           \
			usleep(1000);                                                              \
		if (!tries_)                                                                       \
			fail_msg("still not: %s", #condition);                                     \
	} while (0)

static void expect_balance(struct perfume_collector *collector)
{
	struct perfume_collector_stats stats = stats_of(collector);

	assert_int_equal(stats.written, stats.read + stats.lost);
	assert_int_equal(stats.forged, 0);
	assert_int_equal(got.wrong_payload, 0);
}

static int forget(void **state)
{
	memset(&got, 0, sizeof(got));
	return 0;
}

/* The area of a program, as a collector maps it. */
static struct area *area_of(pid_t pid)
{
	char path[64], target[64];
	struct area *area;
	int fd, i, n;

	for (i = 0, fd = -1; i < 4096 && fd < 0; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, i);
		n = (int)readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, "/memfd:" AREA_NAME, 16))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	assert_true(fd >= 0);
	area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	close(fd);
	return area;
}

/* ---- finding each other ---- */

static void a_running_program_is_found_and_switched_on(void **state)
{
	struct program program = start("texts", 3, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	hear(&program, "ready");
	assert_int_equal(perfume_collector_scan(collector), 1);
	assert_int_equal(perfume_collector_scan(collector), 0);
	assert_int_equal(hear(&program, "done"), 3);
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

static void only_what_the_patterns_name_is_switched_on(void **state)
{
	struct program program = start("texts", 3, NULL);
	struct perfume_collector *collector = collector_for("nothing,ring_tick", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(hear(&program, "done"), 3);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(got.n, 0);
	assert_int_equal(stats_of(collector).written, 0);
	perfume_collector_free(collector);
}

/* It is gone before we look, and so is its number; what it wrote is not. */
static void a_program_that_flashes_by_is_read_from_its_first_event(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	struct program program = start("flash", 1000, perfume_collector_variable(collector));

	assert_int_equal(hear(&program, "done"), 1000);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, got.n == 1000);
	assert_int_equal(got.n_wrong_sequence, 0);
	read_all(collector, 0);
	expect_balance(collector);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
}

static void standing_orders_reach_programs_that_start_later(void **state)
{
	struct perfume_collector *collector = collector_for("ring_ordered", 0);
	struct perfume_collector *other = collector_for("ring_ordred", 0);
	struct program program;
	struct stat st;

	if (stat(geteuid() ? "/run/user" : ORDERS_OF_ROOT, &st)) {
		print_message("no place for standing orders here\n");
		skip();
	}
	program = start("ordered", 10, NULL);
	assert_int_equal(hear(&program, "done"), 10);
	end_of(&program);
	READ_UNTIL(collector, got.n == 10);
	perfume_collector_free(collector);
	perfume_collector_free(other);
	program = start("ordered", 10, NULL);
	end_of(&program);
	if (!geteuid()) {
		assert_int_equal(stat(ORDERS_OF_ROOT, &st), 0);
		assert_int_equal(st.st_size, 0);
	}
}

static void a_forked_child_is_read_too(void **state)
{
	struct program program = start("forking", 5, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(hear(&program, "done"), 5);
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	/* one of the parent, five of the child, texts of grandchild, vfork child and parent */
	assert_int_equal(got.n, 9);
	assert_int_equal(got.n_threads, 2);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_fork_in_the_middle_of_a_record_does_no_harm(void **state)
{
	struct program program = start("forking_in_handlers", 200, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	assert_true(got.n > 200);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_program_that_becomes_another_is_read_on(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	struct program program = start("execing", 5, perfume_collector_variable(collector));

	hear(&program, "ready");
	assert_int_equal(hear(&program, "done"), 5);
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

	hear(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(hear(&program, "refused"), 6);
	hear(&program, "done");
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

static void every_thread_is_read_in_its_order(void **state)
{
	struct program program = start("eight_threads", 3000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).written == 24000);
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(got.ticks, 24000);
	assert_int_equal(got.n_threads, 8);
	assert_int_equal(got.n_wrong_sequence, 0);
	perfume_collector_free(collector);
}

static void threads_that_end_leave_their_ring_to_others(void **state)
{
	struct program program = start("thousand_short_threads", 3, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, stats_of(collector).written == 3000);
	hear(&program, "done");
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

	hear(&program, "ready");
	perfume_collector_scan(collector);
	hear(&program, "done");
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

static void signal_handlers_write_in_the_middle_of_a_write(void **state)
{
	struct program program = start("interrupted", 2000, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);
	unsigned long handled, ticked;

	hear(&program, "ready");
	perfume_collector_scan(collector);
	/* The program writes as fast as it can; loss is no fault here, a wrong account is. */
	READ_UNTIL(collector, stats_of(collector).written > 1000);
	while (waitid(P_PID, (id_t)program.pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) ==
			0 &&
		stats_of(collector).writers)
		read_all(collector, 0);
	handled = hear(&program, "handled");
	ticked = hear(&program, "ticked");
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	assert_int_equal(stats_of(collector).written, handled + ticked);
	assert_int_equal(stats_of(collector).lost_no_ring, 0);
	perfume_collector_free(collector);
}

/* ---- loss ---- */

static void a_full_ring_keeps_the_newest_and_counts_the_rest(void **state)
{
	struct program program = start("emit", 1000000, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct perfume_collector_stats stats;

	hear(&program, "ready");
	perfume_collector_scan(collector);
	hear(&program, "done");
	read_all(collector, 1);
	stats = stats_of(collector);
	assert_int_equal(stats.written, 1000000);
	assert_int_equal(stats.read + stats.lost, 1000000);
	/* 1 MiB holds 32768 records of 32 bytes, of which a sixteenth is not trusted. */
	assert_in_range(stats.read, 1 << 14, 1 << 16);
	assert_int_equal(got.last_i, 999999);
	/* What was read is what was written last, but for the first chunk perhaps. */
	assert_true(got.n_wrong_sequence <= 2);
	end_of(&program);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_killed_writer_leaves_whole_records(void **state)
{
	int round;

	for (round = 0; round < 20; round++) {
		struct program program = start("for_ever", 1, NULL);
		struct perfume_collector *collector = collector_for("ring_tick", program.pid);

		hear(&program, "ready");
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

static void a_stopped_writer_holds_nobody_up(void **state)
{
	struct perfume_collector *collector = collector_for("ring_*", -1);
	const char *variable = perfume_collector_variable(collector);
	struct program stopped = start("for_ever", 1, variable), program;
	uint64_t before;

	hear(&stopped, "ready");
	READ_UNTIL(collector, got.ticks > 100);
	kill(stopped.pid, SIGSTOP);
	waitpid(stopped.pid, NULL, WUNTRACED);
	read_all(collector, 1);
	before = got.n;
	program = start("texts", 100, variable);
	hear(&program, "ready");
	hear(&program, "done");
	READ_UNTIL(collector, got.n == before + 100);
	kill(stopped.pid, SIGKILL);
	end_of(&stopped);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* ---- collectors ---- */

/* A collector that dies without a word is forgotten by the program when its lease is up; the next one is heard. */
static void a_killed_collector_costs_no_longer_than_its_lease(void **state)
{
	struct program program = start("until_left", 5, NULL);
	struct perfume_collector *collector;
	pid_t pid;

	hear(&program, "ready");
	pid = fork();
	if (!pid) {
		collector = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collector);
		READ_UNTIL(collector, got.ticks > 3);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	hear(&program, "left");
	hear(&program, "ready");
	collector = collector_for("ring_tick", program.pid);
	perfume_collector_scan(collector);
	hear(&program, "done");
	READ_UNTIL(collector, got.ticks == 1);
	/* What others had written before is none of ours. */
	assert_int_equal(got.last_i, 77);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).written, 1);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void a_stopped_collector_finds_its_events_off_and_says_so(void **state)
{
	struct program program = start("until_left", 5, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	read_all(collector, 0);
	/* As if stopped: no poll until the program has given us up. */
	hear(&program, "left");
	hear(&program, "ready");
	READ_UNTIL(collector, got.last_i == 77);
	assert_int_equal(stats_of(collector).lapses, 1);
	hear(&program, "done");
	end_of(&program);
	perfume_collector_free(collector);
}

static void two_collectors_read_the_same_and_leave_apart(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *first = collector_for("ring_tick", program.pid);
	struct perfume_collector *second = collector_for("ring_*", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(first);
	perfume_collector_scan(second);
	READ_UNTIL(first, stats_of(first).read > 1000);
	READ_UNTIL(second, stats_of(second).read > 1000);
	perfume_collector_free(first);
	read_all(second, 1);
	got.ticks = 0;
	READ_UNTIL(second, got.ticks > 10000);
	shutdown(program.in, SHUT_WR);
	hear(&program, "done");
	end_of(&program);
	READ_UNTIL(second, stats_of(second).writers == 0);
	assert_int_equal(stats_of(second).lapses, 0);
	expect_balance(second);
	perfume_collector_free(second);
}

/* What others listen to is neither ours to read nor ours to lose. */
static void a_collector_of_nothing_here_counts_nothing(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *busy = collector_for("ring_tick", program.pid);
	struct perfume_collector *idle = collector_for("no_such_event", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(busy);
	perfume_collector_scan(idle);
	READ_UNTIL(busy, stats_of(busy).read > 10000);
	read_all(idle, 1);
	assert_int_equal(stats_of(idle).writers, 1);
	shutdown(program.in, SHUT_WR);
	hear(&program, "done");
	end_of(&program);
	READ_UNTIL(idle, stats_of(idle).writers == 0);
	assert_int_equal(stats_of(idle).written, 0);
	assert_int_equal(stats_of(idle).read, 0);
	assert_int_equal(stats_of(idle).lost, 0);
	perfume_collector_free(idle);
	perfume_collector_free(busy);
}

static void a_ninth_collector_is_told_that_there_is_no_place(void **state)
{
	struct program program = start("until_left", 1, NULL);
	struct perfume_collector *collectors[9];
	int i;

	hear(&program, "ready");
	for (i = 0; i < 9; i++) {
		collectors[i] = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collectors[i]);
		assert_int_equal(stats_of(collectors[i]).no_claim, i == 8);
	}
	perfume_collector_free(collectors[3]);
	collectors[3] = collector_for("ring_tick", program.pid);
	perfume_collector_scan(collectors[3]);
	assert_int_equal(stats_of(collectors[3]).no_claim, 0);
	for (i = 0; i < 9; i++)
		perfume_collector_free(collectors[i]);
	hear(&program, "left");
	kill(program.pid, SIGKILL);
	end_of(&program);
}

static void switching_ten_thousand_times_while_64_threads_write(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	int i;

	hear(&program, "ready");
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
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
}

/* ---- plug-ins, and very many events ---- */

static void a_plugin_is_switched_on_each_time_it_is_loaded(void **state)
{
	struct program program = start("plugins", 200, NULL);
	struct perfume_collector *collector = collector_for("ring_tick,plugin_*", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.n > 0);
	assert_int_equal(hear(&program, "written"), 200);
	hear(&program, "done");
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(got.n, 200);
	expect_balance(collector);
	perfume_collector_free(collector);
}

static void thirty_two_thousand_events_are_switched_on(void **state)
{
	struct program program = start("dynamic", 32000, NULL);
	struct perfume_collector *collector = collector_for("ring_*", program.pid);

	hear(&program, "ready");
	perfume_collector_scan(collector);
	assert_int_equal(hear(&program, "written"), 32000);
	hear(&program, "done");
	READ_UNTIL(collector, got.n == 32000);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* ---- malice ---- */

static uint64_t seed = 88172645463325252ULL;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Sends a descriptor to the collector, as programs send their area. */
static void send_fd(const struct perfume_collector *collector, int fd)
{
	const char *id = strchr(perfume_collector_variable(collector), '=') + 1;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	char nothing = 0;
	struct iovec vec = {&nothing, 1};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
	struct cmsghdr *rights;
	int out = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  (size_t)snprintf(to.sun_path + 1, 64, "perfume-%.16s", id));

	assert_int_equal(connect(out, (struct sockaddr *)&to, n), 0);
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &fd, sizeof(int));
	assert_true(sendmsg(out, &message, 0) >= 0);
	close(out);
	close(fd);
}

#define FORGED_RING 65536

static struct area *forge(int *ret_fd, int seals)
{
	struct area *area;
	int fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)(AREA_DATA + (uint64_t)FORGED_RING * AREA_RINGS)), 0);
	area = mmap(NULL, AREA_DATA + 4 * FORGED_RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	area->magic = AREA_MAGIC;
	area->ring_size = FORGED_RING;
	area->n_slots = 4;
	area->n_rings = 4;
	area->pid = (uint32_t)getpid();
	area->clock = AREA_CLOCK_MONOTONIC;
	strcpy(area->slots[0].text, "forged u32 a");
	fcntl(fd, F_ADD_SEALS, seals);
	*ret_fd = fd;
	return area;
}

static void what_is_no_area_is_not_taken(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("*", -1);
	struct area *area;
	int fd;

	send_fd(collector, open("/dev/zero", O_RDWR | O_CLOEXEC));
	send_fd(collector, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	forge(&fd, F_SEAL_GROW);
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->magic++;
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->ring_size *= 2;
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->ring_size = 12345;
	send_fd(collector, fd);
	read_all(collector, 1);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
}

/* Random damage of every sort, while the collector reads: it ends, it does not crash, it stays within bounds. */
static void a_forging_program_does_no_harm(void **state)
{
	static const uint64_t odd[] = {0, 1, 8, 15, 16, 0xffff, 0x10000, 0x7fffffff, 0xffffffff,
		1ULL << 32, 1ULL << 63, UINT64_MAX, FORGED_RING, FORGED_RING - 8, 4096};
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int round, i;

	for (round = 0; round < 300; round++) {
		struct perfume_collector *collector = collector_for("*", -1);
		struct area *area;
		int fd;

		area = forge(&fd, sealed);
		send_fd(collector, fd);
		for (i = 0; i < 40; i++) {
			uint64_t *words = (uint64_t *)area;
			uint64_t *rings = (uint64_t *)area->rings;
			uint64_t value =
				random_number() % 4 ? odd[random_number() % 15] : random_number();

			/* the head, the rings' heads, the first slots, the records */
			switch (random_number() % 5) {
			case 0:
				words[1 + random_number() % 6] = value;
				break;
			case 1:
				rings[random_number() % (4 * sizeof(struct area_ring) / 8)] = value;
				break;
			case 2:
				((uint64_t *)area->slots)[random_number() % 200] = value;
				break;
			case 3:
				rings[random_number() % 4 * sizeof(struct area_ring) / 8 +
					random_number() % 3] =
					random_number() % FORGED_RING & ~7ULL;
				break;
			default:
				words[AREA_DATA / 8 + random_number() % (4 * FORGED_RING / 8)] =
					value;
			}
			area->n_rings = area->n_rings > 8 ? 8 : area->n_rings;
			read_all(collector, i % 2);
		}
		munmap(area, AREA_DATA + 4 * FORGED_RING);
		perfume_collector_free(collector);
	}
}

/* The time of its record would hold it back for ever. */
static void a_record_from_the_future_is_told_as_of_now(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("forged", -1);
	struct area_record record = {.size = 24, .time = UINT64_MAX / 2};
	struct perfume_received event;
	struct area *area;
	int fd;

	area = forge(&fd, sealed);
	send_fd(collector, fd);
	perfume_collector_poll(collector, 0);
	memcpy((char *)area + AREA_DATA, &record, sizeof(record));
	area->rings[0].reserved = area->rings[0].head = 24;
	area->rings[0].count = 1;
	perfume_collector_poll(collector, 0);
	perfume_collector_poll(collector, 0);
	assert_int_equal(perfume_collector_next(collector, &event), 1);
	assert_true(event.time < UINT64_MAX / 4);
	assert_int_equal(event.size, 8);
	munmap(area, AREA_DATA + 4 * FORGED_RING);
	perfume_collector_free(collector);
}

/* ---- a file system that is asked for a page and never answers: a thread of the snare's ---- */

static void fuse_reply(int fuse, uint64_t unique, int error, const void *body, size_t n)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + n), .error = error, .unique = unique};
	struct iovec pieces[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)body, n}};

	(void)!writev(fuse, pieces, 2);
}

static void fuse_answer(int fuse, const struct fuse_in_header *request)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_attr attr = {.ino = request->nodeid, .size = 4096, .nlink = 1};
	struct fuse_entry_out entry = {.nodeid = 2, .attr_valid = 99, .entry_valid = 99};
	struct fuse_attr_out attrs = {.attr_valid = 99};
	struct fuse_open_out open = {.fh = 1};

	attr.mode = request->nodeid == 1 && request->opcode != FUSE_LOOKUP ? S_IFDIR | 0755
									   : S_IFREG | 0644;
	entry.attr = attrs.attr = attr;
	switch (request->opcode) {
	case FUSE_INIT:
		fuse_reply(fuse, request->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_reply(fuse, request->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_reply(fuse, request->unique, 0, &attrs, sizeof(attrs));
		break;
	case FUSE_OPEN:
		fuse_reply(fuse, request->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
		break;
	default:
		fuse_reply(fuse, request->unique, -ENOSYS, NULL, 0);
	}
}

static void *fuse_serve(void *fuse)
{
	static char request[65536] __attribute__((aligned(8)));

	while (read((int)(intptr_t)fuse, request, sizeof(request)) > 0)
		fuse_answer((int)(intptr_t)fuse, (void *)request);
	return NULL;
}

/* A page of memory that whoever touches it waits for, for ever. NULL where it cannot be had. */
static void *page_that_never_comes(void)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), file;
	char options[128];
	pthread_t thread;
	void *page;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("snare", "/run", "fuse", 0, options) ||
		pthread_create(&thread, NULL, fuse_serve, (void *)(intptr_t)fuse))
		return NULL;
	file = open("/run/page", O_RDONLY | O_CLOEXEC);
	umount2("/run", MNT_DETACH);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	/* At the end it would be closed behind the one who is to answer for it. */
	close(file);
	return page == MAP_FAILED ? NULL : page;
}

/* A program whose enable word lies on such a page. It says on the pipe whether it could be done. */
static void lay_a_snare(const struct perfume_collector *collector, int end)
{
	void *page = page_that_never_comes();
	struct area *area;
	int fd;

	if (page) {
		area = forge(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		area->slots[0].word = (uintptr_t)page;
		area->slots[0].live = 1;
		send_fd(collector, fd);
	}
	if (write(end, page ? "y" : "n", 1) == 1)
		pause();
	_exit(1);
}

static int count_one(void *n, const struct perfume_registered *registered)
{
	*(int *)n += !strcmp(registered->source->name, "forged") && !registered->word;
	return 0;
}

static void memory_that_never_comes_holds_nobody_up(void **state)
{
	struct perfume_collector *collector = collector_for("forged", -1);
	struct timespec before, after;
	int ends[2], n = 0;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		lay_a_snare(collector, ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	clock_gettime(CLOCK_MONOTONIC, &before);
	read_all(collector, 0);
	read_all(collector, 0);
	perfume_collector_each(collector, count_one, &n);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 10);
	if (byte == 'y') {
		assert_int_equal(stats_of(collector).refused, 1);
		assert_int_equal(n, 1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	read_all(collector, 0);
	read_all(collector, 0);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
	close(ends[0]);
	close(ends[1]);
	if (byte == 'n') {
		print_message("no file system of our own here\n");
		skip();
	}
}

/* A collector that was killed at a bad moment has left the program's lock closed. */
static void a_lock_that_stays_closed_is_opened(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct area *area;

	hear(&program, "ready");
	area = area_of(program.pid);
	area->lock = 1;
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.ticks > 1000);
	assert_int_equal(area->lock, 0);
	munmap(area, sizeof(*area));
	shutdown(program.in, SHUT_WR);
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	perfume_collector_free(collector);
}

/* It was stopped for so long that a ninth one has taken its place. */
static void a_place_that_was_lost_is_not_shared(void **state)
{
	struct program program = start("for_ever", 1, NULL);
	struct perfume_collector *collectors[9];
	struct area *area;
	int i;

	hear(&program, "ready");
	area = area_of(program.pid);
	for (i = 0; i < 9; i++) {
		collectors[i] = collector_for("ring_tick", program.pid);
		if (i == 8)
			area->claims[0].lease = 1;
		perfume_collector_scan(collectors[i]);
		assert_int_equal(stats_of(collectors[i]).no_claim, 0);
	}
	read_all(collectors[0], 0);
	assert_int_equal(stats_of(collectors[0]).no_claim, 1);
	perfume_collector_free(collectors[5]);
	read_all(collectors[0], 0);
	assert_int_equal(stats_of(collectors[0]).no_claim, 0);
	got.ticks = 0;
	READ_UNTIL(collectors[0], got.ticks > 1000);
	for (i = 0; i < 9; i++)
		if (i != 5)
			perfume_collector_free(collectors[i]);
	munmap(area, sizeof(*area));
	kill(program.pid, SIGKILL);
	end_of(&program);
}

/* Its memory has the area too, and what the area says about addresses must not be written there. */
static void a_collector_is_not_taken_for_a_program(void **state)
{
	struct program program = start("for_ever", 1, NULL);
	struct perfume_collector *collector;
	int ends[2];
	char byte;
	pid_t pid;

	hear(&program, "ready");
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		collector = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collector);
		READ_UNTIL(collector, got.ticks > 3);
		if (write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	collector = collector_for("ring_tick", pid);
	assert_int_equal(perfume_collector_scan(collector), 0);
	perfume_collector_free(collector);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	kill(program.pid, SIGKILL);
	end_of(&program);
}

/* The descriptors that come with the next message to this socket: how many, -1 without a message. */
static int wait_for_descriptors(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	char text[16];
	struct iovec vec = {text, sizeof(text)};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1, .msg_control = control};
	int caller = accept(fd, NULL, NULL);

	message.msg_controllen = sizeof(control);
	if (caller < 0 || recvmsg(caller, &message, 0) <= 0)
		return -1;
	return CMSG_FIRSTHDR(&message) != NULL;
}

/* The collector that a root program is told of was killed, and somebody else has taken its name. */
static void another_user_is_not_sent_anything(void **state)
{
	struct sockaddr_un name = {AF_UNIX, "\0perfume-0123456789abcdef"};
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + 25;
	struct program program;
	int fd, status;
	pid_t pid;

	if (geteuid()) {
		print_message("only root can be another user\n");
		skip();
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, n), 0);
	pid = fork();
	if (!pid) {
		/* Whose name it is, listen() settles. */
		if (setuid(65534) || listen(fd, 5))
			_exit(1);
		raise(SIGSTOP);
		_exit(wait_for_descriptors(fd) == -1 ? 0 : 2);
	}
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGCONT);
	program = start("flash", 5, "PERFUME_COLLECTOR=0123456789abcdef:ring_*");
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(fd);
}

/* Whoever may read the file of standing orders may lock it. */
static void a_lock_on_the_standing_orders_holds_nobody_up(void **state)
{
	struct perfume_collector *collector;
	struct timespec before, after;
	int fd = open(ORDERS_OF_ROOT, O_RDONLY | O_CLOEXEC);

	if (geteuid() || fd < 0) {
		print_message("no standing orders here\n");
		skip();
	}
	assert_int_equal(flock(fd, LOCK_SH), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	collector = collector_for("ring_tick", 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 5);
	close(fd);
	perfume_collector_free(collector);
}

/* Somebody who may write to the area scribbles all over it. The program goes on. */
static void a_scribbling_collector_does_no_harm(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct area *area;
	int i;

	hear(&program, "ready");
	area = area_of(program.pid);
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.ticks > 1000);
	for (i = 0; i < 200000; i++)
		((uint64_t *)area)[random_number() % (offsetof(struct area, slots) / 8 + 300)] =
			random_number() % 3 ? random_number() : 0;
	munmap(area, sizeof(*area));
	shutdown(program.in, SHUT_WR);
	hear(&program, "done");
	assert_int_equal(end_of(&program), 0);
	read_all(collector, 1);
	perfume_collector_free(collector);
}

/* ---- formats ---- */

static void an_event_has_the_format_that_tracefs_would_show(void **state)
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

/*
 * Collectors see every program of the system, so a second run of these tests would disturb this one. As root we
 * go where nobody else is: an own table of processes, own sockets, an own /run.
 */
static void live_alone(void)
{
	pid_t child;
	int status;

	if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) < 0)
		return;
	child = fork();
	if (child > 0) {
		waitpid(child, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (child < 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0 ||
		mount("run", "/run", "tmpfs", 0, NULL) < 0) {
		perror("cannot live alone");
		_exit(1);
	}
}

#define CASE(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_running_program_is_found_and_switched_on),
		CASE(only_what_the_patterns_name_is_switched_on),
		CASE(a_program_that_flashes_by_is_read_from_its_first_event),
		CASE(standing_orders_reach_programs_that_start_later),
		CASE(a_forked_child_is_read_too),
		CASE(a_fork_in_the_middle_of_a_record_does_no_harm),
		CASE(a_program_that_becomes_another_is_read_on),
		CASE(payloads_of_every_length_arrive_or_are_refused),
		CASE(every_thread_is_read_in_its_order),
		CASE(threads_that_end_leave_their_ring_to_others),
		CASE(more_threads_than_rings_are_counted),
		CASE(signal_handlers_write_in_the_middle_of_a_write),
		CASE(a_full_ring_keeps_the_newest_and_counts_the_rest),
		CASE(a_killed_writer_leaves_whole_records),
		CASE(a_stopped_writer_holds_nobody_up),
		CASE(a_killed_collector_costs_no_longer_than_its_lease),
		CASE(a_stopped_collector_finds_its_events_off_and_says_so),
		CASE(two_collectors_read_the_same_and_leave_apart),
		CASE(a_collector_of_nothing_here_counts_nothing),
		CASE(a_ninth_collector_is_told_that_there_is_no_place),
		CASE(switching_ten_thousand_times_while_64_threads_write),
		CASE(a_plugin_is_switched_on_each_time_it_is_loaded),
		CASE(thirty_two_thousand_events_are_switched_on),
		CASE(what_is_no_area_is_not_taken),
		CASE(a_forging_program_does_no_harm),
		CASE(a_record_from_the_future_is_told_as_of_now),
		CASE(memory_that_never_comes_holds_nobody_up),
		CASE(a_lock_that_stays_closed_is_opened),
		CASE(a_place_that_was_lost_is_not_shared),
		CASE(a_collector_is_not_taken_for_a_program),
		CASE(another_user_is_not_sent_anything),
		CASE(a_lock_on_the_standing_orders_holds_nobody_up),
		CASE(a_scribbling_collector_does_no_harm),
		CASE(an_event_has_the_format_that_tracefs_would_show),
		CASE(options_are_checked),
	};

	live_alone();
	setenv("PERFUME_RING", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
