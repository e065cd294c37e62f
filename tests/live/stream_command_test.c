/* SPDX-License-Identifier: MIT */
/* Streams of a command that the target launches. */
#include "live.h"

#include <errno.h>
#include <string.h>

/* Every page fault of a shell that starts another program. */
static void watch(struct live_stream *w, bool enable_on_exec)
{
	static const char *const command[] = {"sh", "-c", "ls / > /dev/null; exit 3", NULL};
	struct attar_target_opts opts = {
		.size = sizeof(opts), .command = (char *const *)(uintptr_t)command};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP,
		.enable_on_exec = enable_on_exec};

	attar_target_free(live_self());
	attar_stream_attr(&attr, true);
	if (attar_symbols_new(NULL, &w->symbols) < 0 || attar_target_new(&opts, &w->target) < 0 ||
		attar_counter_open(w->target, &attr, "page-faults", 0, &w->counter) < 0 ||
		attar_stream_live(w->target, &w->counter, 1, w->symbols, NULL, &w->stream) < 0)
		fail_msg("%s", attar_error());
}

/* Reads until the command has ended. All counted events are delivered, of both programs. */
static void expect_all(struct live_stream *w)
{
	struct attar_stream_stats stats;
	struct attar_value value;
	struct attar_event ev;
	size_t of_shell = 0, of_ls = 0;
	int r;

	while ((r = attar_stream_read(w->stream, -1, &ev)) > 0) {
		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		of_shell += strcmp(ev.thread->comm, "sh") == 0;
		of_ls += strcmp(ev.thread->comm, "ls") == 0;
	}
	assert_int_equal(r, -ENOTCONN);
	attar_stream_get_stats(w->stream, &stats);
	assert_int_equal(attar_counter_read(w->counter, &value), 0);
	assert_true(of_shell > 0);
	assert_true(of_ls > 0);
	assert_int_equal(stats.samples + stats.lost, value.value);
	assert_int_equal(attar_target_command_status(w->target), 3);
}

static void delivers_all(bool enable_on_exec)
{
	struct live_stream w;

	watch(&w, enable_on_exec);
	assert_int_equal(attar_stream_start(w.stream), 0);
	assert_int_equal(attar_target_start(w.target), 0);
	expect_all(&w);
	live_stream_done(&w);
}

static void test_start_enables_counters(void **state)
{
	delivers_all(false);
}

static void test_exec_enables_counters(void **state)
{
	delivers_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_enables_counters),
		cmocka_unit_test(test_exec_enables_counters),
	};

	return cmocka_run_group_tests_name("stream_command", tests, NULL, NULL);
}
