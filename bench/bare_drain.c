/* SPDX-License-Identifier: MIT */
/*
 * bare_drain none|record|read CALLS PAGES: the minimum cost of reading a flood of
 * raw_syscalls:sys_enter on the first CPU.
 *
 * none: no event is open; the speed of the flood itself.
 *
 * record: the kernel records and nothing reads; the cost of the kernel. PAGES must hold all
 * records.
 *
 * read: a plain reader decodes every field of a record and counts by system call number. PAGES must
 * be a power of two.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "flood.h"

#define EVENT "/sys/kernel/tracing/events/raw_syscalls/sys_enter/"

/* IDENTIFIER, IP, TID, TIME, CPU, PERIOD, RAW: the fields that attar requests, in record order. */
struct sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period;
	uint32_t raw_size;
	char raw[];
} __attribute__((packed));

struct counter_table {
	uint64_t seen, lost, wakeups, by_id[512], mixed;
};

static int event_id(void)
{
	FILE *f = fopen(EVENT "id", "r");
	int id = -1;

	if (!f || fscanf(f, "%d", &id) != 1) {
		fprintf(stderr, "bare_drain: no " EVENT "id: is tracefs mounted?\n");
		exit(1);
	}
	fclose(f);
	return id;
}

/* The offset of the field "id" in a record's raw data. */
static unsigned id_offset(void)
{
	FILE *f = fopen(EVENT "format", "r");
	unsigned offset = 8;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " field:long id; offset:%u;", &offset) == 1)
			break;
	if (f)
		fclose(f);
	return offset;
}

static int open_event(size_t ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event_id(),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = ring / 4,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		perror("bare_drain: perf_event_open");
		exit(1);
	}
	return fd;
}

static void count(struct counter_table *counts, const struct sample *s, unsigned offset)
{
	uint64_t id;

	if (s->header.type == PERF_RECORD_LOST) {
		counts->lost += ((const uint64_t *)(&s->header + 1))[1];
		return;
	}
	if (s->header.type != PERF_RECORD_SAMPLE)
		return;
	memcpy(&id, s->raw + offset, sizeof(id));
	counts->seen++;
	counts->by_id[id % 512]++;
	counts->mixed +=
		s->id ^ s->ip ^ s->pid ^ s->tid ^ s->time ^ s->cpu ^ s->period ^ s->raw_size;
}

static void drain(struct perf_event_mmap_page *page, const char *data, size_t size, unsigned offset,
	struct counter_table *counts)
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	char whole[65536] __attribute__((aligned(8)));

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + (tail & (size - 1)));
		size_t length = h->size, first = size - (tail & (size - 1));

		if (length > first) {
			memcpy(whole, h, first);
			memcpy(whole + first, data, length - first);
			h = (const void *)whole;
		}
		count(counts, (const struct sample *)h, offset);
		tail += length;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	size_t page_size = sysconf(_SC_PAGESIZE), size = argc > 3 ? atoi(argv[3]) * page_size : 0;
	const char *mode = argc > 3 ? argv[1] : "";
	int reads = !strcmp(mode, "read"), fd = -1;
	struct perf_event_mmap_page *page = NULL;
	struct counter_table counts = {0};
	uint64_t start, reader_ns;
	struct flood flood;
	unsigned offset;

	if (!reads && strcmp(mode, "record") && strcmp(mode, "none")) {
		fprintf(stderr, "usage: bare_drain none|record|read CALLS PAGES\n");
		return 2;
	}
	if (flood_start(&flood, strtoull(argv[2], NULL, 0)))
		return 1;
	if (strcmp(mode, "none")) {
		fd = open_event(size);
		page = mmap(NULL, page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED) {
			perror("bare_drain: mmap");
			return 1;
		}
	}
	offset = id_offset();
	close(flood.go);
	start = cpu_time();
	while (reads) {
		struct pollfd fds[] = {
			{.fd = fd, .events = POLLIN}, {.fd = flood.done, .events = POLLIN}};

		poll(fds, 2, 100);
		counts.wakeups++;
		drain(page, (char *)page + page_size, size, offset, &counts);
		if (fds[1].revents)
			break;
	}
	if (reads)
		drain(page, (char *)page + page_size, size, offset, &counts);
	reader_ns = cpu_time() - start;
	flood_print(flood_finish(&flood), counts.seen, counts.lost, reads ? reader_ns : 0,
		counts.wakeups);
	return counts.mixed == 1; /* so that the compiler does not remove the decoding */
}
