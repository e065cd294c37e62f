/* SPDX-License-Identifier: MIT */
/* Pools of threads, of which one does most of the work while the others have little to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overview/overview.h"

enum { POOL_MIN = 4 /* threads */ };

/* Shares of the work of the pool: of the busiest thread, and of each other that takes part. */
static const double uneven = 0.5, part = 0.005;

/* How much of the time the busiest thread runs, or waits for a CPU: nothing else delays it. */
static const double busy = 0.7;

static uint64_t work_of(const struct thread_row *row)
{
	return row->sums[SUM_STATE + THREAD_RUNNING];
}

/* By its work; one that looks for work again and again mostly sleeps for a short time. */
static bool takes_part(const struct overview_sums *sums, const struct thread_row *row, uint64_t all)
{
	const uint64_t slept = row->sums[SUM_STATE + THREAD_SLEEP],
		       idle = row->sums[SUM_LONG + THREAD_SLEEP] +
			      row->sums[SUM_OPEN + THREAD_SLEEP];

	return (double)work_of(row) >= part * (double)all ||
	       (slept > idle && slept - idle >= sums->elapsed / 2);
}

static int compare_names(const struct thread_row *a, const struct thread_row *b)
{
	return strncmp(a->group.comm, b->group.comm, THREAD_COMM_BYTES);
}

static int by_name(const void *a, const void *b)
{
	const struct thread_row *x = *(const struct thread_row *const *)a,
				*y = *(const struct thread_row *const *)b;
	int r = compare_names(x, y);

	return r ? r : (work_of(x) < work_of(y)) - (work_of(x) > work_of(y));
}

/* A thread for each CPU of a virtual machine: which of them has work is up to the guest. */
static bool is_virtual_machine(const struct thread_row *row)
{
	static const char *const names[] = {"qemu-system", "qemu-kvm", "kvm", "vcpu", "fc_vcpu",
		"VBoxHeadless", "VirtualBoxVM", "vmware-vmx", "bhyve"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(row->group.comm, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Threads with one name, the busiest one first. */
static void check_pool(
	struct overview_sums *sums, const struct thread_row *const *threads, size_t n)
{
	const struct thread_row *top = threads[0];
	size_t others = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += work_of(threads[i]);
	for (size_t i = 1; i < n; i++)
		others += takes_part(sums, threads[i], all);
	if (others < POOL_MIN - 1 || all <= sums->pool.all || is_virtual_machine(top) ||
		(double)work_of(top) < uneven * (double)all ||
		(double)(work_of(top) + top->sums[SUM_STATE + THREAD_READY]) <
			busy * (double)sums->elapsed)
		return;
	sums->pool = (struct overview_pool){.tid = top->group.tid,
		.pid = top->group.pid,
		.threads = n,
		.top = work_of(top),
		.all = all};
	memcpy(sums->pool.comm, top->group.comm, THREAD_COMM_BYTES);
}

/* Without the main thread: others that do other work often have its name. */
int overview_check_pools(struct overview_sums *sums, const struct thread_row *rows, size_t n)
{
	const struct thread_row **threads = malloc((n + 1) * sizeof(*threads));
	size_t found = 0;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rows[i].group.tid != rows[i].group.pid)
			threads[found++] = &rows[i];
	if (found)
		qsort(threads, found, sizeof(*threads), by_name);
	for (size_t i = 0, end; i < found; i = end) {
		end = i + 1;
		while (end < found && !compare_names(threads[i], threads[end]))
			end++;
		check_pool(sums, &threads[i], end - i);
	}
	free(threads);
	return 0;
}
