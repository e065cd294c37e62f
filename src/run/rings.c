/* SPDX-License-Identifier: MIT */
#include "run/rings.h"

#include "perf/target.h"
#include "run/run.h"
#include "stream/stream.h"

enum { WAIT_STACKS_MS = 250 }; /* if samples have copies of stacks */

/* Rings that take most of the memory would push out what is measured. */
static int choose_pages(struct attar_run *run)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = run->opts.mmap_pages, most;
	const struct attar_target *t = run->target;
	size_t rings = t->cpus.n && t->cpus.at[0] >= 0 ? t->cpus.n : t->tids.n;

	most = memory / 4 / RUN_PAGE_BYTES / (rings + !rings);
	most = MAX(most, (uint64_t)RUN_DEFAULT_PAGES);
	if (!pages && run->user_stacks.by_cfi)
		for (pages = RUN_STACK_PAGES; pages > most;)
			pages /= 2;
	run->rings.pages = pages ?: RUN_DEFAULT_PAGES;
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
static int choose_wait(const struct attar_run *run)
{
	return run->user_stacks.by_cfi && !run->recorder.wanted && !run->opts.push
		       ? WAIT_STACKS_MS
		       : POLL_MS;
}

int rings_choose(struct attar_run *run)
{
	struct run_rings *rings = &run->rings;
	int r = choose_pages(run);

	rings->watermark = (uint32_t)((double)rings->pages * RUN_PAGE_BYTES *
				      run->opts.watermark / 100);
	rings->wait_ms = choose_wait(run);
	return r;
}
