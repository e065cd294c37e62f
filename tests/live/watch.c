/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const struct perf_event_attr watch_silent = {.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = 1};

void watch_target(struct watch *w, struct attar_target *target, const struct perf_event_attr *attr)
{
	struct perf_event_attr a = *attr;

	w->target = target;
	a.disabled = 1;
	if (attar_counter_open(target, &a, "it", 0, &w->c) < 0) {
		attar_target_free(target);
		if (strstr(attar_error(), "or newer; this is kernel"))
			live_skip(attar_error());
		fail_msg("%s", attar_error());
	}
	if (attar_rings_new(target, &w->c, 1, 1 << 18, &w->rings, &w->n) < 0)
		fail_msg("%s", attar_error());
	attar_layout_init(&w->layout, attar_counter_attr(w->c));
	assert_int_equal(attar_counter_enable(w->c), 0);
}

void watch_self(struct watch *w, const struct perf_event_attr *attr)
{
	watch_target(w, live_self(), attr);
}

void watch_done(struct watch *w)
{
	attar_rings_free(w->rings, w->n);
	attar_counter_close(w->c);
	attar_target_free(w->target);
}

size_t watch_count(struct watch *w, uint32_t type, watch_is *is, const void *wanted)
{
	const struct perf_event_header *header;
	struct attar_record r;
	size_t n = 0;

	attar_counter_disable(w->c);
	for (size_t i = 0; i < w->n; i++) {
		attar_ring_begin(w->rings[i]);
		while ((header = attar_ring_next(w->rings[i]))) {
			if (attar_record_parse(&w->layout, header, header->size, &r) < 0)
				fail_msg("%s", attar_error());
			n += r.type == type && (!is || is(&r, wanted));
		}
		attar_ring_end(w->rings[i]);
	}
	return n;
}

struct child child_new(void (*act)(void))
{
	struct child c;
	int ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	c.pid = fork();
	if (c.pid == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			act();
		_exit(0);
	}
	close(ends[0]);
	c.go = ends[1];
	return c;
}

void child_end(struct child *c)
{
	close(c->go);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

void child_run(struct child *c)
{
	assert_int_equal(write(c->go, "x", 1), 1);
	child_end(c);
}

struct attar_target *child_target(const struct child *c)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .any_cpu = true};
	struct attar_target *target;
	char text[16];

	snprintf(text, sizeof(text), "%d", c->pid);
	opts.tids = text;
	assert_int_equal(attar_target_new(&opts, &target), 0);
	return target;
}

void watch_doze(void)
{
	usleep(5000);
}

void watch_rename(void)
{
	char before[16];

	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "attar renamed");
	prctl(PR_SET_NAME, before);
}
