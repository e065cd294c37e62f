/* SPDX-License-Identifier: MIT */
/*
 * A child that is forked without an exec has copies of all objects: it can free them, but not use
 * them.
 */
#include "live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/attar-run.h"
#include "attar/private/perf.h"

enum { PAGES = 50 };

struct objects {
	struct attar_target *target, *launching;
	struct attar_counter *counter, *ringed;
	struct attar_group *group;
	struct attar_ring **rings;
	size_t n_rings;
	struct attar_symbols *symbols;
	struct attar_stream *stream;
	struct attar_shm_source *shm_source;
	struct attar_catalog *catalog;
	struct attar_run *run;
};

static int on_new_event(void *ctx, const struct attar_user_event *event)
{
	return 0;
}

static struct attar_counter *open_faults(struct attar_target *target)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP};
	struct attar_counter *counter;

	attar_stream_attr(&attr, true);
	assert_int_equal(attar_counter_open(target, &attr, "page-faults", 0, &counter), 0);
	return counter;
}

static void open_all(struct objects *o)
{
	static const char *const command[] = {"sleep", "60", NULL};
	struct attar_target_opts opts = {
		.size = sizeof(opts), .command = (char *const *)(uintptr_t)command};
	struct attar_stream_opts stream_opts = {.size = sizeof(stream_opts), .keep_own = true};
	struct attar_shm_source_opts shm_source_opts = {
		.size = sizeof(shm_source_opts), .patterns = "none", .on_new_event = on_new_event};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .disabled = 1};
	struct attar_group_event event = {"cpu-clock", &attr};

	o->target = live_self();
	o->counter = open_faults(o->target);
	o->ringed = open_faults(o->target);
	assert_int_equal(attar_target_new(&opts, &o->launching), 0);
	assert_int_equal(attar_target_start(o->launching), 0);
	assert_int_equal(attar_group_open(o->target, &event, 1, 0, &o->group), 0);
	assert_int_equal(
		attar_rings_new(o->target, &o->ringed, 1, 4096, &o->rings, &o->n_rings), 0);
	assert_int_equal(attar_counter_enable(o->ringed), 0);
	assert_int_equal(attar_symbols_new(NULL, &o->symbols), 0);
	assert_int_equal(
		attar_stream_live(o->target, &o->counter, 1, o->symbols, &stream_opts, &o->stream),
		0);
	assert_int_equal(attar_stream_start(o->stream), 0);
	assert_int_equal(attar_shm_source_new(&shm_source_opts, &o->shm_source), 0);
	assert_int_equal(attar_catalog_new(NULL, &o->catalog), 0);
	assert_int_equal(attar_run_new("stat", &o->run), 0);
}

static void close_all(struct objects *o)
{
	attar_run_free(o->run);
	attar_catalog_free(o->catalog);
	attar_stream_free(o->stream);
	attar_shm_source_free(o->shm_source);
	attar_rings_free(o->rings, o->n_rings);
	attar_group_close(o->group);
	attar_counter_close(o->ringed);
	attar_counter_close(o->counter);
	attar_target_free(o->target);
	attar_target_free(o->launching);
	attar_symbols_free(o->symbols);
}

static int failures;

static void refused(const char *call, int r)
{
	char begin[100];

	snprintf(begin, sizeof(begin), "%.*s(): ", (int)strcspn(call, "("), call);
	if (r == -ECHILD && strncmp(attar_error(), begin, strlen(begin)) == 0 &&
		strstr(attar_error(),
			"belongs to the parent process, which created it before it forked this "
			"one: create another one here"))
		return;
	fprintf(stderr, "in the child, %s gives %d: '%s'\n", call, r, attar_error());
	failures++;
}

#define REFUSED(call) refused(#call, call)

static void use_counters(struct objects *o)
{
	const struct perf_event_attr *attr = attar_counter_attr(o->counter);
	struct attar_group_event event = {"cpu-clock", attr};
	struct attar_counter *counter;
	struct attar_group *group;

	REFUSED(attar_counter_open(o->target, attr, "x", 0, &counter));
	REFUSED(attar_counter_enable(o->counter));
	REFUSED(attar_counter_disable(o->counter));
	REFUSED(attar_counter_set_period(o->counter, 1000));
	REFUSED(attar_counter_refresh(o->counter, 1));
	REFUSED(attar_counter_attach_bpf(o->counter, -1));
	REFUSED(attar_counter_filter(o->counter, "x"));
	REFUSED(attar_counter_modify(o->counter, attr));
	REFUSED(attar_counter_pause(o->counter, true));
	REFUSED(attar_counter_redirect(o->counter, NULL));
	REFUSED(attar_counter_signal(o->counter, SIGUSR1, 0));
	REFUSED(attar_counter_reset(o->counter));
	REFUSED(attar_group_open(o->target, &event, 1, 0, &group));
	REFUSED(attar_group_enable(o->group));
	REFUSED(attar_group_disable(o->group));
	REFUSED(attar_group_reset(o->group));
}

static void use_rings(struct objects *o)
{
	struct attar_ring **rings;
	size_t n;

	REFUSED(attar_rings_new(o->target, &o->ringed, 1, 4096, &rings, &n));
	REFUSED(rings_freeze(o->rings, o->n_rings));
	REFUSED(rings_thaw(o->rings, o->n_rings));
	attar_ring_begin(o->rings[0]);
	failures += attar_ring_next(o->rings[0]) != NULL;
	attar_ring_release(o->rings[0]);
	attar_ring_end(o->rings[0]);
}

static void use_streams(struct objects *o)
{
	struct attar_stream_stats stats;
	struct attar_stream *stream;
	struct attar_event event;

	REFUSED(attar_stream_live(o->target, &o->counter, 1, o->symbols, NULL, &stream));
	REFUSED(attar_stream_start(o->stream));
	REFUSED(attar_stream_add(o->stream, o->counter, 1));
	REFUSED(attar_stream_next(o->stream, &event));
	REFUSED(attar_stream_read(o->stream, 0, &event));
	REFUSED(attar_stream_wait(o->stream, -1, 0));
	REFUSED(attar_stream_fd(o->stream));
	REFUSED(attar_stream_snapshot(o->stream));
	REFUSED(attar_stream_stop(o->stream));
	attar_stream_get_stats(o->stream, &stats);
}

static void use_targets_and_runs(struct objects *o)
{
	REFUSED(attar_target_start(o->launching));
	REFUSED(attar_target_follow_cpus(o->target, NULL, 0));
	if (!attar_target_ended(o->launching))
		failures++;
	REFUSED(attar_run_go(o->run, NULL));
	attar_run_stop(o->run);
}

/* Reading changes nothing: it is allowed, also if a page of the parent was mapped for it. */
static void read_values(struct objects *o)
{
	struct attar_value value;

	failures += attar_counter_read(o->counter, &value) != 0 || value.value < PAGES;
	failures += attar_counter_read_self(o->counter, &value) != 0 || value.by_self_read;
	failures += attar_group_read(o->group, &value) != 0;
}

/*
 * Returns the number of failures in a child that frees all objects, after using them if `use` is
 * set.
 */
static int in_a_child(struct objects *o, bool use)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (use) {
			use_counters(o);
			use_rings(o);
			use_streams(o);
			use_targets_and_runs(o);
			read_values(o);
		}
		close_all(o);
		_exit(failures);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static size_t delivered(struct attar_stream *stream)
{
	struct attar_event event;
	size_t n = 0;
	int r;

	while ((r = attar_stream_next(stream, &event)) > 0)
		n += event.record->type == PERF_RECORD_SAMPLE;
	assert_int_equal(r, 0);
	return n;
}

static void test_child_can_only_free_inherited_objects(void **state)
{
	struct attar_value value;
	struct objects o;

	open_all(&o);
	assert_int_equal(attar_counter_read_self(o.counter, &value), 0);
	live_fault(PAGES);
	assert_int_equal(in_a_child(&o, true), 0);
	assert_int_equal(in_a_child(&o, false), 0);
	assert_true(delivered(o.stream) >= PAGES);
	live_fault(PAGES);
	assert_true(delivered(o.stream) >= PAGES);
	assert_true(live_drain(o.rings[0], PERF_RECORD_SAMPLE) > 0);
	assert_false(attar_target_ended(o.launching));
	assert_int_equal(kill(target_command_pid(o.launching), 0), 0);
	close_all(&o);
}

/* Also during a round, when the next record has been found already. */
static void test_child_forked_during_a_round(void **state)
{
	struct attar_event event;
	struct objects o;

	open_all(&o);
	live_fault(PAGES);
	for (int i = 0; i < PAGES / 2; i++)
		assert_int_equal(attar_stream_next(o.stream, &event), 1);
	assert_int_equal(in_a_child(&o, true), 0);
	assert_true(delivered(o.stream) >= PAGES / 2);
	close_all(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_can_only_free_inherited_objects),
		cmocka_unit_test(test_child_forked_during_a_round),
	};

	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
