/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "attar/record.h"
#include "error.h"
#include "forks.h"
#include "task.h"

/* A thread that appeared after the open. */
struct new_thread {
	struct kp_thread thread;
	pid_t root; /* the thread whose counters its own counts were inherited from */
	struct attar_target *target;
	struct attar_counter **counters; /* as those of the task; NULL: not open */
	struct attar_value *before;
};

struct kp_forks {
	struct kp_task *task;
	struct attar_target *target; /* of the dummy event */
	struct attar_counter *dummy;
	struct attar_layout layout;
	struct attar_ring **rings;
	size_t n_rings;
	int stop_fd;
	bool running;
	pthread_t waiter;

	pthread_mutex_t lock; /* of all that follows */
	bool enabled;
	struct new_thread *threads;
	size_t n_threads;
};

static pid_t root_of(const struct kp_forks *f, pid_t parent)
{
	for (size_t i = f->n_threads; i-- > 0;)
		if (f->threads[i].thread.tid == parent)
			return f->threads[i].root;
	return parent;
}

/* Counts nothing before it has its filter. */
static void open_counter(const struct kp_forks *f, struct new_thread *new, size_t i)
{
	const struct kp_counter *c = &f->task->counters[i];
	struct perf_event_attr attr = *attar_counter_attr(c->counter);

	attr.inherit = 0;
	attr.enable_on_exec = 0;
	attr.disabled = !f->enabled || c->filter;
	if (attar_counter_open(
		    new->target, &attr, attar_counter_name(c->counter), 0, &new->counters[i]) < 0 ||
		!c->filter)
		return;
	if (attar_counter_filter(new->counters[i], c->filter) == 0 && f->enabled)
		attar_counter_enable(new->counters[i]);
}

/* A counter that the thread cannot have, because it has ended, stays NULL: its row has no count. */
static void open_counters(struct kp_forks *f, struct new_thread *new)
{
	const struct kp_task *task = f->task;
	char tid[16];
	struct attar_target_opts opts = {
		.size = sizeof(opts), .tids = tid, .any_cpu = true, .no_inherit = true};

	snprintf(tid, sizeof(tid), "%d", new->thread.tid);
	if (attar_target_new(&opts, &new->target) < 0)
		return;
	for (size_t i = 0; i < task->n_counters; i++)
		open_counter(f, new, i);
}

/* The lock is held. */
static void add_thread(struct kp_forks *f, const struct attar_task *fork)
{
	size_t n = f->task->n_counters;
	struct new_thread *threads = reallocarray(f->threads, f->n_threads + 1, sizeof(*threads)),
			  *new;

	if (!threads)
		return;
	f->threads = threads;
	new = &threads[f->n_threads];
	*new = (struct new_thread){.root = root_of(f, (pid_t)fork->ptid)};
	pthread_mutex_lock(&f->task->origin->lock);
	kp_thread_read(f->task->origin, (pid_t)fork->tid, &new->thread);
	pthread_mutex_unlock(&f->task->origin->lock);
	new->thread.pid = (pid_t)fork->pid;
	new->counters = calloc(n, sizeof(*new->counters));
	new->before = calloc(n, sizeof(*new->before));
	if (!new->thread.comm || !new->counters || !new->before) {
		free(new->counters);
		free(new->before);
		return;
	}
	open_counters(f, new);
	f->n_threads++;
}

static void read_ring(struct kp_forks *f, struct attar_ring *ring)
{
	const struct perf_event_header *header;
	struct attar_record record;

	attar_ring_begin(ring);
	while ((header = attar_ring_next(ring))) {
		if (attar_record_parse(&f->layout, header, header->size, &record) == 0 &&
			record.type == PERF_RECORD_FORK) {
			pthread_mutex_lock(&f->lock);
			add_thread(f, &record.task);
			pthread_mutex_unlock(&f->lock);
		}
		attar_ring_release(ring);
	}
	attar_ring_end(ring);
}

static void *wait_for_forks(void *arg)
{
	struct kp_forks *f = arg;
	struct pollfd *fds = calloc(f->n_rings + 1, sizeof(*fds));

	if (!fds)
		return NULL;
	fds[0] = (struct pollfd){.fd = f->stop_fd, .events = POLLIN};
	for (size_t i = 0; i < f->n_rings; i++)
		fds[i + 1] = (struct pollfd){.fd = attar_ring_fd(f->rings[i]), .events = POLLIN};
	while (!(fds[0].revents & POLLIN) && (poll(fds, f->n_rings + 1, -1) >= 0 || errno == EINTR))
		for (size_t i = 0; i < f->n_rings; i++) {
			if (fds[i + 1].revents & POLLIN)
				read_ring(f, f->rings[i]);
			if (fds[i + 1].revents & (POLLHUP | POLLERR)) /* its tasks have ended */
				fds[i + 1].fd = -1;
		}
	free(fds);
	return NULL;
}

/* A dummy event writes a record for each new thread, and wakes the waiter at once. */
static int open_dummy(struct kp_forks *f, const struct PmuAttr *pmu_attr)
{
	char *pids = kp_join_numbers(pmu_attr->pidList, pmu_attr->numPid);
	struct attar_target_opts opts = {.size = sizeof(opts), .pids = pids};
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_period = 1,
		.disabled = 1,
		.sample_id_all = 1,
		.task = 1,
		.exclude_kernel = 1, /* without privileges too; records of tasks are the same */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int r = attar_target_new(&opts, &f->target);

	free(pids);
	if (r == 0)
		r = attar_counter_open(f->target, &attr, "dummy", 0, &f->dummy);
	if (r < 0)
		return r;
	attar_layout_init(&f->layout, attar_counter_attr(f->dummy));
	return attar_rings_new(f->target, &f->dummy, 1, 64 << 10, &f->rings, &f->n_rings);
}

int kp_forks_open(struct kp_task *task, const struct PmuAttr *attr)
{
	struct kp_forks *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	task->forks = f;
	f->task = task;
	pthread_mutex_init(&f->lock, NULL);
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (f->stop_fd < 0)
		return kp_fail(LIBPERF_ERR_TOO_MANY_FD, "eventfd(): %m");
	r = open_dummy(f, attr);
	if (r < 0)
		return kp_fail_errno(r, LIBPERF_ERR_FAIL_LISTEN_PROC);
	if (pthread_create(&f->waiter, NULL, wait_for_forks, f) != 0)
		return kp_fail(LIBPERF_ERR_FAIL_LISTEN_PROC, "includeNewFork: no thread: %m");
	f->running = true;
	/* Not before: the waiter is not a new thread if the caller monitors itself. */
	r = attar_counter_enable(f->dummy);
	return r < 0 ? kp_fail_errno(r, LIBPERF_ERR_FAIL_LISTEN_PROC) : SUCCESS;
}

void kp_forks_free(struct kp_forks *f)
{
	if (!f)
		return;
	if (f->running && eventfd_write(f->stop_fd, 1) == 0)
		pthread_join(f->waiter, NULL);
	for (size_t i = 0; i < f->n_threads; i++) {
		for (size_t at = 0; at < f->task->n_counters; at++)
			attar_counter_close(f->threads[i].counters[at]);
		free(f->threads[i].counters);
		free(f->threads[i].before);
		attar_target_free(f->threads[i].target);
	}
	free(f->threads);
	attar_rings_free(f->rings, f->n_rings);
	attar_counter_close(f->dummy);
	attar_target_free(f->target);
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int kp_forks_switch(struct kp_forks *f, bool on)
{
	if (!f)
		return SUCCESS;
	pthread_mutex_lock(&f->lock);
	f->enabled = on;
	for (size_t i = 0; i < f->n_threads; i++)
		for (size_t at = 0; at < f->task->n_counters; at++) {
			struct attar_counter *counter = f->threads[i].counters[at];

			if (counter && on) {
				attar_counter_read(counter, &f->threads[i].before[at]);
				attar_counter_enable(counter);
			} else if (counter) {
				attar_counter_disable(counter);
			}
		}
	pthread_mutex_unlock(&f->lock);
	return SUCCESS;
}

/* The row of the thread that the count was inherited from already has it. */
static void subtract(struct kp_list *list, const struct PmuData *row, pid_t root)
{
	for (size_t i = 0; i < list->n; i++) {
		struct PmuData *other = &list->rows[i];

		if (other->tid != root || other->evt != row->evt)
			continue;
		other->count -= row->count < other->count ? row->count : other->count;
		return;
	}
}

int kp_forks_read(struct kp_forks *f, int64_t ts, struct kp_list *list)
{
	int r = SUCCESS;

	if (!f)
		return SUCCESS;
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n_threads; i++)
		for (size_t at = 0; at < f->task->n_counters && r == SUCCESS; at++) {
			struct new_thread *new = &f->threads[i];
			struct attar_value now = {0}, since;
			struct PmuData *row;

			if (!new->counters[at] || attar_counter_read(new->counters[at], &now) < 0)
				continue;
			since = attar_value_since(&now, &new->before[at]);
			new->before[at] = now;
			row = kp_count_row(f->task, &f->task->counters[at], &new->thread, ts, list);
			if (!row) {
				r = kp_fail(COMMON_ERR_NOMEM, "out of memory");
				break;
			}
			kp_count_set(row, &since);
			subtract(list, row, new->root);
		}
	pthread_mutex_unlock(&f->lock);
	return r;
}
