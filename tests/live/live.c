/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/event.h"
#include "perf/breakpoints.h"
#include "tracefs/tracefs.h"

void live_skip(const char *reason)
{
	print_message("%s\n", reason);
	skip();
}

void live_need_root(const char *what)
{
	if (geteuid() == 0)
		return;
	print_message("only root may %s\n", what);
	skip();
}

void live_need_breakpoints(void)
{
	if (breakpoints_test() == 0)
		live_skip("hardware breakpoints have no effect on this machine");
}

struct attar_target *live_self(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.disabled = 1};
	struct attar_counter *probe;
	struct attar_target *target;

	assert_int_equal(attar_target_new(&opts, &target), 0);
	if (attar_counter_open(target, &attr, "dummy", 0, &probe) < 0) {
		attar_target_free(target);
		live_skip(attar_error());
	}
	attar_counter_close(probe);
	return target;
}

struct attar_counter *live_software(struct attar_target *target, uint64_t config)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = config, .disabled = 1};
	struct attar_counter *counter;

	if (attar_counter_open(target, &attr, "software event", 0, &counter) < 0)
		fail_msg("%s", attar_error());
	return counter;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

char *live_map(size_t n)
{
	char *area = mmap(
		NULL, n * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(area, MAP_FAILED);
	madvise(area, n * page_size(), MADV_NOHUGEPAGE);
	return area;
}

void live_unmap(char *area, size_t n)
{
	munmap(area, n * page_size());
}

/* Not instrumented: a sanitizer would cause faults in its own memory, too. */
__attribute__((no_sanitize("address"))) static void write_each(
	volatile char *bytes, size_t n, size_t page)
{
	for (size_t i = 0; i < n; i++)
		bytes[i * page] = 1;
}

void live_touch(char *area, size_t first, size_t end)
{
	size_t page = page_size();

	write_each(area + first * page, end - first, page);
}

void live_fault(size_t n)
{
	char *area = live_map(n);

	live_touch(area, 0, n);
	live_unmap(area, n);
}

size_t live_drain(struct attar_ring *ring, uint32_t type)
{
	const struct perf_event_header *header;
	size_t n = 0;

	attar_ring_begin(ring);
	while ((header = attar_ring_next(ring)))
		n += header->type == type;
	attar_ring_end(ring);
	return n;
}

void live_getppid(size_t n)
{
	for (size_t i = 0; i < n; i++)
		syscall(SYS_getppid);
}

static uint64_t tracepoint_id(const char *name)
{
	const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	unsigned long long id = 0;

	for (size_t i = 0; i < 2 && !id; i++) {
		char path[256];
		FILE *f;

		snprintf(path, sizeof(path), "%s/events/%s/id", roots[i], name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%llu", &id) != 1)
			id = 0;
		if (f)
			fclose(f);
	}
	return id;
}

struct perf_event_attr live_tracepoint(const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = tracepoint_id(name), .disabled = 1};

	if (!attr.config && tracefs_mount() >= 0)
		attr.config = tracepoint_id(name);
	if (!attr.config)
		live_skip("tracefs is not mounted or not readable, so there are no tracepoints");
	return attr;
}

struct perf_event_attr live_sys_enter(void)
{
	return live_tracepoint("raw_syscalls/sys_enter");
}

struct perf_event_attr live_sys_exit(void)
{
	return live_tracepoint("raw_syscalls/sys_exit");
}

#if defined(__x86_64__)
const char live_getppid_filter[] = "id == 110";
#else
const char live_getppid_filter[] = "id == 173";
#endif

void live_stream_done(struct live_stream *s)
{
	attar_stream_free(s->stream);
	attar_counter_close(s->counter);
	attar_target_free(s->target);
	attar_symbols_free(s->symbols);
}
