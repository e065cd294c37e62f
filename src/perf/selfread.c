/* SPDX-License-Identifier: MIT */
#include "perf/selfread.h"

#include <sys/mman.h>

#include "base/check_arg.h"
#include "perf/counter_read.h"

/* The kernel changes a page when it schedules the thread, not a hundred times in a row. */
enum { TRIES_MAX = 100 };

/* config1 of armv8_pmuv3. User-space access since 5.17, with kernel.perf_user_access=1. */
enum {
	ARM64_LONG = 1,  /* a 64-bit counter */
	ARM64_RDPMC = 2, /* readable from user space */
};

/* ---- CPU instructions ---- */

#if defined(__x86_64__)

static uint64_t read_pmc(uint32_t index)
{
	return __builtin_ia32_rdpmc((int)index);
}

static uint64_t read_clock(void)
{
	return __builtin_ia32_rdtsc();
}

static inline bool has_counter(uint32_t index)
{
	return index != 0;
}

void selfread_ask(struct perf_event_attr *attr)
{
}

#elif defined(__aarch64__)

#define SYSTEM_REGISTER(name)                                                                      \
	({                                                                                         \
		uint64_t value_;                                                                   \
		__asm__ volatile("mrs %0, " #name : "=r"(value_));                                 \
		value_;                                                                            \
	})
#define EVENT_COUNTER(n)                                                                           \
	case n:                                                                                    \
		return SYSTEM_REGISTER(pmevcntr##n##_el0)

static inline bool has_counter(uint32_t index)
{
	return index && index <= 32;
}

/* The cycle counter is number 31 for user space, whatever its number in the hardware. */
static uint64_t read_pmc(uint32_t index)
{
	switch (index) {
		EVENT_COUNTER(0);
		EVENT_COUNTER(1);
		EVENT_COUNTER(2);
		EVENT_COUNTER(3);
		EVENT_COUNTER(4);
		EVENT_COUNTER(5);
		EVENT_COUNTER(6);
		EVENT_COUNTER(7);
		EVENT_COUNTER(8);
		EVENT_COUNTER(9);
		EVENT_COUNTER(10);
		EVENT_COUNTER(11);
		EVENT_COUNTER(12);
		EVENT_COUNTER(13);
		EVENT_COUNTER(14);
		EVENT_COUNTER(15);
		EVENT_COUNTER(16);
		EVENT_COUNTER(17);
		EVENT_COUNTER(18);
		EVENT_COUNTER(19);
		EVENT_COUNTER(20);
		EVENT_COUNTER(21);
		EVENT_COUNTER(22);
		EVENT_COUNTER(23);
		EVENT_COUNTER(24);
		EVENT_COUNTER(25);
		EVENT_COUNTER(26);
		EVENT_COUNTER(27);
		EVENT_COUNTER(28);
		EVENT_COUNTER(29);
		EVENT_COUNTER(30);
	default:
		return SYSTEM_REGISTER(pmccntr_el0);
	}
}

static uint64_t read_clock(void)
{
	return SYSTEM_REGISTER(cntvct_el0);
}

/* For other event types config1 has another meaning. */
void selfread_ask(struct perf_event_attr *attr)
{
	bool cycles = attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES;

	if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
		attr->type == PERF_TYPE_RAW)
		attr->config1 |= ARM64_RDPMC | (cycles ? ARM64_LONG : 0);
}

#else
#error "unsupported architecture: only x86-64 and arm64"
#endif

/* ---- the page ---- */

/* The kernel changes the page on this CPU, so a compiler barrier is sufficient. */
static inline void in_order(void)
{
	__asm__ volatile("" ::: "memory");
}

typedef const volatile struct perf_event_mmap_page page_type;

/* ns since the kernel wrote the page's times, from clock cycles. */
static inline uint64_t time_since(page_type *page, uint64_t cycles)
{
	unsigned shift = page->time_shift & 63;
	uint64_t rest;

	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	rest = cycles & (((uint64_t)1 << shift) - 1);
	return page->time_offset + (cycles >> shift) * page->time_mult +
	       ((rest * page->time_mult) >> shift);
}

/* Sign-extends a hardware counter of fewer than 64 bits: shifts left unsigned, right signed. */
static inline uint64_t sign_extend(uint64_t pmc, unsigned width)
{
	unsigned more = width && width < 64 ? 64 - width : 0;

	return (uint64_t)((int64_t)(pmc << more) >> more);
}

/* index is read once: the kernel may remove the counter between test and use. */
static inline bool read_page(
	page_type *page, const struct selfread_cpu *cpu, struct selfread_counts *ret_counts)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		uint32_t sequence = page->lock, index = page->index;
		struct selfread_counts c;
		uint64_t since;

		in_order();
		if (!page->cap_user_rdpmc || !page->cap_user_time || !has_counter(index))
			return false;
		since = time_since(page, cpu->clock());
		c.time_enabled = page->time_enabled + since;
		c.time_running = page->time_running + since;
		c.raw = (uint64_t)page->offset + sign_extend(cpu->pmc(index - 1), page->pmc_width);
		in_order();
		if (page->lock == sequence && !(sequence & 1)) {
			*ret_counts = c;
			return true;
		}
	}
	return false;
}

bool selfread_page(const struct perf_event_mmap_page *page, const struct selfread_cpu *cpu,
	struct selfread_counts *ret_counts)
{
	return read_page(page, cpu, ret_counts);
}

/* ---- the counter ---- */

/* The page does not contain children's counts, and this CPU has no counters of other threads. */
static bool is_own(const struct attar_counter *c)
{
	return c->self && pthread_equal(c->owner, pthread_self()) && !c->attr.inherit;
}

/* Maps the page only, without records; tried once. */
static void map_page(struct attar_counter *c)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, c->fds.at[0].fd, 0);

	c->self_page_asked = true;
	if (page == MAP_FAILED)
		return;
	c->self_page = page;
	c->fds.at[0].id = counter_id(&c->fds.at[0]);
}

void selfread_done(struct attar_counter *c)
{
	if (c->self_page && is_own_process(c)) /* a child does not inherit the mapping */
		munmap((void *)c->self_page, (size_t)sysconf(_SC_PAGESIZE));
}

int attar_counter_read_self(struct attar_counter *c, struct attar_value *ret_value)
{
	CHECK_ARG(c, "counter");
	CHECK_ARG(ret_value, "ret_value");

	static const struct selfread_cpu cpu = {.pmc = read_pmc, .clock = read_clock};
	const struct counter_fd *it = c->fds.at;
	struct selfread_counts counts;

	if (!is_own(c) || unlikely(!is_own_process(c)))
		return attar_counter_read(c, ret_value);
	if (unlikely(!c->self_page_asked))
		map_page(c);
	if (!c->self_page || !read_page(c->self_page, &cpu, &counts))
		return attar_counter_read(c, ret_value);
	*ret_value = (struct attar_value){.id = it->id,
		.raw = counts.raw,
		.time_enabled = counts.time_enabled,
		.time_running = counts.time_running,
		.lost = it->base.lost,
		.by_self_read = true};
	counter_read_finish(c, it, ret_value);
	return 0;
}
