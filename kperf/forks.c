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
#include "topology.h"

/* What a new thread counted in one instance of a counter. */
struct part {
	size_t at; /* the instance of the task's counter whose count includes it */
	int cpu;
	struct attar_value before, pending; /* pending: not in a row yet */
	struct attar_value taken;           /* for the row */
};

/* The counter of a new thread that corresponds to one of the task. */
struct own_counter {
	struct attar_counter *counter; /* NULL: not open, or the thread has ended */
	struct part *parts;            /* of each instance */
	size_t n;
};

/* A thread that appeared after the open. */
struct new_thread {
	struct kp_thread thread;
	pid_t root;       /* the thread whose counters its own counts were inherited from */
	bool ended, over; /* over: the row has its last count */
	struct attar_target *target;
	struct own_counter *counters; /* as the counters of the task */
};

/* A FORK or EXIT record. */
struct change {
	bool is_exit;
	struct attar_task task;
};

struct kp_forks {
	struct kp_task *task;
	char *cpus;                  /* NULL: any */
	struct attar_target *target; /* of the dummy event */
	struct attar_counter *dummy;
	struct attar_layout layout;
	int stop_fd;
	bool running;
	pthread_t waiter;

	pthread_mutex_t lock; /* of all that follows */
	struct attar_ring **rings;
	size_t n_rings;
	struct change *changes;
	size_t n_changes;
	bool enabled;
	size_t refused; /* threads without a counter, because of the limit of open files */
	struct new_thread *threads;
	size_t n_threads;
};

/* ---- new threads; the lock is held ---- */

static struct new_thread *find_thread(const struct kp_forks *f, pid_t tid)
{
	for (size_t i = f->n_threads; i-- > 0;)
		if (f->threads[i].thread.tid == tid && !f->threads[i].ended)
			return &f->threads[i];
	return NULL;
}

/* -1: a record was lost. */
static pid_t root_of(const struct kp_forks *f, pid_t parent)
{
	const struct new_thread *new = find_thread(f, parent);

	if (new)
		return new->root;
	for (size_t i = 0; i < f->task->n_threads; i++)
		if (f->task->threads[i].tid == parent)
			return parent;
	return -1;
}

/* The instance of the counter that counts what a new thread counts on the CPU; c->n: none. */
static size_t instance_of(const struct kp_counter *c, pid_t root, int cpu)
{
	size_t i = 0;

	while (i < c->n && (c->instances[i].tid != root || c->instances[i].cpu != cpu))
		i++;
	return i;
}

static int make_parts(const struct kp_counter *c, pid_t root, struct own_counter *own)
{
	own->n = attar_counter_instances(own->counter);
	own->parts = calloc(own->n, sizeof(*own->parts));
	for (size_t i = 0; own->parts && i < own->n; i++) {
		int cpu = attar_counter_instance_at(own->counter, i).cpu;

		own->parts[i] = (struct part){.at = instance_of(c, root, cpu), .cpu = cpu};
	}
	return own->parts ? 0 : -ENOMEM;
}

/* Whether the thread that a new one descends from waits for the exec of enableOnExec. */
static bool root_waits(const struct kp_counter *c, pid_t root)
{
	size_t i = 0;

	while (i < c->n && c->instances[i].tid != root)
		i++;
	return attar_counter_waits_for_exec(c->counter, i);
}

/* Counts nothing before it has its filter. */
static int open_counter(
	const struct kp_forks *f, struct new_thread *new, size_t i, struct own_counter *own)
{
	const struct kp_counter *c = &f->task->counters[i];
	struct perf_event_attr attr = *attar_counter_attr(c->counter);
	bool counts = f->enabled && !root_waits(c, new->root);
	int r;

	attr.inherit = 0;
	attr.disabled = !counts || c->filter;
	r = attar_counter_open(
		new->target, &attr, attar_counter_name(c->counter), 0, &own->counter);
	if (r == 0)
		r = make_parts(c, new->root, own);
	if (r == 0 && c->filter) {
		r = attar_counter_filter(own->counter, c->filter);
		if (r == 0 && counts)
			attar_counter_enable(own->counter);
	}
	if (r < 0)
		own->counter = attar_counter_close(own->counter);
	return r;
}

/* What a thread without a counter counts is in the row of its root. */
static int open_counters(struct kp_forks *f, struct new_thread *new)
{
	const struct kp_task *task = f->task;
	char tid[16];
	struct attar_target_opts opts = {.size = sizeof(opts),
		.tids = tid,
		.cpus = f->cpus,
		.any_cpu = !f->cpus,
		.no_inherit = true};
	int r;

	snprintf(tid, sizeof(tid), "%d", new->thread.tid);
	r = attar_target_new(&opts, &new->target);
	for (size_t i = 0; i < task->n_counters && r == 0; i++) {
		r = task->counters[i].target ? 0 : open_counter(f, new, i, &new->counters[i]);
		if (r != -EMFILE && r != -ENFILE)
			r = 0;
	}
	return r;
}

static void count_thread(struct new_thread *new, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct own_counter *own = &new->counters[i];
		struct attar_value now = {0}, since;

		for (size_t at = 0; own->counter && at < own->n; at++) {
			if (attar_counter_read_at(own->counter, at, &now) < 0)
				continue;
			since = attar_value_since(&now, &own->parts[at].before);
			attar_value_add(&own->parts[at].pending, &since);
			own->parts[at].before = now;
		}
	}
}

/* Its counts stay. */
static void close_thread(struct new_thread *new, size_t n)
{
	for (size_t i = 0; i < n; i++)
		new->counters[i].counter = attar_counter_close(new->counters[i].counter);
	attar_target_free(new->target);
	new->target = NULL;
}

static void free_thread(struct new_thread *new, size_t n)
{
	close_thread(new, n);
	for (size_t i = 0; i < n; i++)
		free(new->counters[i].parts);
	free(new->counters);
}

static void remove_over(struct kp_forks *f)
{
	size_t left = 0;

	for (size_t i = 0; i < f->n_threads; i++)
		if (f->threads[i].over)
			free_thread(&f->threads[i], f->task->n_counters);
		else
			f->threads[left++] = f->threads[i];
	f->n_threads = left;
}

static void add_thread(struct kp_forks *f, const struct attar_task *fork)
{
	struct new_thread new = {.root = root_of(f, (pid_t)fork->ptid)};
	struct new_thread *threads = reallocarray(f->threads, f->n_threads + 1, sizeof(*threads));
	int r;

	if (threads)
		f->threads = threads;
	if (!threads || new.root < 0)
		return;
	pthread_mutex_lock(&f->task->origin->lock);
	r = kp_thread_read(f->task->origin, (pid_t)fork->tid, &new.thread);
	pthread_mutex_unlock(&f->task->origin->lock);
	new.thread.pid = (pid_t)fork->pid;
	new.counters = calloc(f->task->n_counters, sizeof(*new.counters));
	if (r != SUCCESS || !new.counters) {
		free(new.counters);
		return;
	}
	r = open_counters(f, &new);
	f->refused += r == -EMFILE || r == -ENFILE;
	threads[f->n_threads++] = new;
}

/* ---- records ---- */

static void keep_change(struct kp_forks *f, const struct attar_record *record)
{
	struct change *changes;

	if (record->type != PERF_RECORD_FORK && record->type != PERF_RECORD_EXIT)
		return;
	changes = reallocarray(f->changes, f->n_changes + 1, sizeof(*changes));
	if (!changes)
		return;
	f->changes = changes;
	changes[f->n_changes++] =
		(struct change){.is_exit = record->type == PERF_RECORD_EXIT, .task = record->task};
}

static void read_ring(struct kp_forks *f, struct attar_ring *ring)
{
	const struct perf_event_header *header;
	struct attar_record record;

	attar_ring_begin(ring);
	while ((header = attar_ring_next(ring))) {
		if (attar_record_parse(&f->layout, header, header->size, &record) == 0)
			keep_change(f, &record);
		attar_ring_release(ring);
	}
	attar_ring_end(ring);
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->task.time > y->task.time) - (x->task.time < y->task.time);
}

static void apply(struct kp_forks *f, const struct change *change)
{
	struct new_thread *new;

	if (!change->is_exit) {
		add_thread(f, &change->task);
		return;
	}
	new = find_thread(f, (pid_t)change->task.tid);
	if (!new)
		return;
	count_thread(new, f->task->n_counters);
	close_thread(new, f->task->n_counters);
	new->ended = true;
}

/*
 * A process's records are in the rings of several CPUs. Once a round over all rings finds nothing,
 * the records that were found before are all up to their time. The lock is held.
 */
static void follow(struct kp_forks *f)
{
	size_t before;

	do {
		before = f->n_changes;
		for (size_t i = 0; i < f->n_rings; i++)
			read_ring(f, f->rings[i]);
	} while (f->n_changes > before);
	if (f->n_changes > 0)
		qsort(f->changes, f->n_changes, sizeof(*f->changes), by_time);
	for (size_t i = 0; i < f->n_changes; i++)
		apply(f, &f->changes[i]);
	f->n_changes = 0;
}

/* The descriptors of all processes are waited for: one with a ring hangs up when its ended. */
static void *wait_for_forks(void *arg)
{
	struct kp_forks *f = arg;
	size_t n = attar_counter_instances(f->dummy);
	struct pollfd *fds = calloc(n + 1, sizeof(*fds));

	if (!fds)
		return NULL;
	fds[0] = (struct pollfd){.fd = f->stop_fd, .events = POLLIN};
	for (size_t i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){
			.fd = attar_counter_instance_at(f->dummy, i).fd, .events = POLLIN};
	while (!(fds[0].revents & POLLIN) && (poll(fds, n + 1, -1) >= 0 || errno == EINTR)) {
		for (size_t i = 0; i < n; i++)
			if (fds[i + 1].revents & (POLLHUP | POLLERR)) /* its tasks have ended */
				fds[i + 1].fd = -1;
		pthread_mutex_lock(&f->lock);
		follow(f);
		pthread_mutex_unlock(&f->lock);
	}
	free(fds);
	return NULL;
}

/* A dummy event writes a record for each new thread, and wakes the waiter at once. */
static int open_dummy(struct kp_forks *f, const struct PmuAttr *pmu_attr)
{
	char *pids = kp_join_pids(pmu_attr);
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
	f->enabled = task->by_exec;
	pthread_mutex_init(&f->lock, NULL);
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	f->cpus = kp_target_cpus(task, attr);
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
	for (size_t i = 0; i < f->n_threads; i++)
		free_thread(&f->threads[i], f->task->n_counters);
	free(f->threads);
	free(f->changes);
	attar_rings_free(f->rings, f->n_rings);
	attar_counter_close(f->dummy);
	attar_target_free(f->target);
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	free(f->cpus);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- counts ---- */

static void switch_thread(struct new_thread *new, size_t n, bool on)
{
	if (on)
		count_thread(new, n);
	for (size_t i = 0; i < n; i++) {
		struct own_counter *own = &new->counters[i];

		for (size_t at = 0; on && at < own->n; at++)
			own->parts[at].pending = (struct attar_value){0};
		if (own->counter && on)
			attar_counter_resume(own->counter);
		else if (own->counter)
			attar_counter_disable(own->counter);
	}
}

int kp_forks_switch(struct kp_forks *f, bool on)
{
	if (!f)
		return SUCCESS;
	pthread_mutex_lock(&f->lock);
	follow(f);
	f->enabled = on;
	for (size_t i = 0; i < f->n_threads; i++) {
		switch_thread(&f->threads[i], f->task->n_counters, on);
		f->threads[i].over = on && f->threads[i].ended;
	}
	remove_over(f);
	pthread_mutex_unlock(&f->lock);
	return SUCCESS;
}

void kp_forks_read(struct kp_forks *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	follow(f);
	for (size_t i = 0; i < f->n_threads; i++)
		count_thread(&f->threads[i], f->task->n_counters);
	if (f->refused > 0)
		kp_warn(LIBPERF_WARN_TOO_MANY_FD,
			"includeNewFork: %zu new threads have no rows of their own, because the "
			"limit of open files is reached: raise RLIMIT_NOFILE",
			f->refused);
	f->refused = 0;
	pthread_mutex_unlock(&f->lock);
}

/* Moves what is pending out of the count that includes it, as far as that has not been read. */
static void take(const struct kp_counter *c, struct part *part)
{
	uint64_t *from = part->at < c->n ? &c->before[part->at].value : NULL;
	uint64_t most = from ? *from : 0, pending = part->pending.value;

	part->taken = part->pending;
	part->taken.value = pending < most ? pending : most;
	if (from)
		*from -= part->taken.value;
	part->pending = (struct attar_value){.value = pending - part->taken.value};
}

static void take_all(const struct kp_forks *f, struct new_thread *new)
{
	for (size_t i = 0; i < f->task->n_counters; i++)
		for (size_t at = 0; at < new->counters[i].n; at++)
			take(&f->task->counters[i], &new->counters[i].parts[at]);
	new->over = new->ended;
}

void kp_forks_take(struct kp_forks *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n_threads; i++)
		take_all(f, &f->threads[i]);
	pthread_mutex_unlock(&f->lock);
}

static struct PmuData *row_of_part(const struct kp_forks *f, const struct kp_counter *c,
	const struct new_thread *new, const struct part *part, int64_t ts, size_t first,
	struct kp_list *list)
{
	const char *name = f->task->events[c->event].name;
	struct PmuData *row;

	for (size_t i = first; i < list->n; i++)
		if (list->rows[i].evt == name && list->rows[i].cpu == part->cpu)
			return &list->rows[i];
	row = kp_count_row(f->task, c, &new->thread, ts, list);
	if (row) {
		row->cpu = part->cpu;
		row->cpuTopo = kp_topology(part->cpu);
		row->countPercent = -1;
	}
	return row;
}

static int add_rows(
	const struct kp_forks *f, struct new_thread *new, int64_t ts, struct kp_list *list)
{
	size_t first = list->n;

	for (size_t i = 0; i < f->task->n_counters; i++) {
		struct own_counter *own = &new->counters[i];

		for (size_t at = 0; at < own->n; at++) {
			const struct kp_counter *c = &f->task->counters[i];
			struct PmuData *row =
				row_of_part(f, c, new, &own->parts[at], ts, first, list);

			if (!row)
				return kp_fail(COMMON_ERR_NOMEM, "out of memory");
			kp_count_add(row, &own->parts[at].taken);
			own->parts[at].taken = (struct attar_value){0};
		}
	}
	return SUCCESS;
}

int kp_forks_rows(struct kp_forks *f, int64_t ts, struct kp_list *list)
{
	int r = SUCCESS;

	if (!f)
		return SUCCESS;
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->n_threads && r == SUCCESS; i++)
		r = add_rows(f, &f->threads[i], ts, list);
	remove_over(f);
	pthread_mutex_unlock(&f->lock);
	return r;
}
