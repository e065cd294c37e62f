/* SPDX-License-Identifier: MIT */
#include "run/rings.h"

#include <sys/resource.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "perf/kernel.h"
#include "perf/target.h"
#include "run/record/recorder.h"
#include "run/run.h"
#include "run/events/open.h"
#include "stream/stream.h"

enum {
	WATERMARK = 25,        /* percent of a ring; small ones overflow at 50 if a CPU is busy */
	WATERMARK_STACKS = 40, /* the same if samples have copies of stacks */
	WAIT_STACKS_MS = 400,  /* how long a ring with copies of stacks may wait below it */
};

uint32_t rings_max_stack(void)
{
	return (uint32_t)kernel_get()->max_stack;
}

size_t rings_bytes(const struct run_rings *rings)
{
	return rings->pages * RUN_PAGE_BYTES + rings->spare;
}

uint64_t rings_lost_for_dumps(const struct attar_run *run)
{
	return rings_of(run)->overwritten && run->stream ? stream_lost_while_stopped(run->stream)
							 : 0;
}

/* How many pages the limit on locked memory leaves for each ring; most: with none. */
static uint64_t lockable_pages(size_t rings, uint64_t most)
{
	const struct kernel *kernel = kernel_get();
	uint64_t bytes = (uint64_t)MAX(kernel->mlock_kb, INT64_C(0)) * 1024 *
			 (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit limit;
	uint64_t pages;

	if (kernel->ipc_lock || kernel->paranoid < 0 || getrlimit(RLIMIT_MEMLOCK, &limit) < 0 ||
		limit.rlim_cur > INT64_MAX)
		return most;
	pages = (bytes + limit.rlim_cur) / RUN_PAGE_BYTES / (rings + !rings);
	return MIN(most, pages - !!pages); /* each has a page of positions */
}

/* Rings that take most of the memory would push out what is measured. */
static int choose_pages(struct attar_run *run)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = run->opts.mmap_pages, most;
	const struct attar_target *t = run->target;
	size_t rings = t->cpus.n && t->cpus.at[0] >= 0 ? t->cpus.n : t->tids.n;

	most = memory / 4 / RUN_PAGE_BYTES / (rings + !rings);
	most = MAX(most, (uint64_t)RUN_DEFAULT_PAGES);
	if (!pages && rings_of(run)->has_stacks) {
		uint64_t room = lockable_pages(rings, most);

		for (pages = RUN_STACK_PAGES; pages > MAX(room, (uint64_t)RUN_DEFAULT_PAGES);)
			pages /= 2;
	}
	rings_of(run)->pages = pages ?: RUN_DEFAULT_PAGES;
	if (!run->sources.list.n || pages <= most)
		return 0;
	return attar_fail(-ERANGE,
		"--mmap-pages: %zu rings of %llu pages exceed a quarter of this machine's "
		"memory" ATTAR_FIX "use at most %llu pages",
		rings, (unsigned long long)pages, (unsigned long long)most);
}

/*
 * Reading few samples costs nearly as much as reading many, so that rings with copies of stacks may
 * reach their watermark. What is recorded or pushed is not to be late.
 */
static bool can_wait(const struct attar_run *run)
{
	return rings_of(run)->has_stacks && !run_records(run) && !run->opts.push;
}

int rings_choose(struct attar_run *run)
{
	struct run_rings *rings = rings_of(run);
	double percent = run->opts.watermark;
	int r = choose_pages(run);

	if (percent == 0) /* not given; with -m, the room that is left counts */
		percent = can_wait(run) && !run->opts.mmap_pages ? WATERMARK_STACKS : WATERMARK;
	rings->watermark = (uint32_t)((double)rings->pages * RUN_PAGE_BYTES * percent / 100);
	rings->wait_ms = can_wait(run) ? WAIT_STACKS_MS : POLL_MS;
	if (rings->has_within && rings->within_ms)
		rings->wait_ms = MIN(rings->wait_ms, (int)rings->within_ms);
	else if (rings->has_within && run->opts.watermark == 0)
		rings->watermark = 1;
	return r;
}

int run_read_within(struct attar_run *run, unsigned ms)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	struct run_rings *rings = rings_of(run);

	rings->within_ms = rings->has_within ? MIN(rings->within_ms, ms) : ms;
	rings->has_within = true;
	return 0;
}

const struct run_part part_rings = {.size = sizeof(struct run_rings)};
