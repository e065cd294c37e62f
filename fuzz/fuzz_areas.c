/* SPDX-License-Identifier: MIT */
/*
 * The memory that a program shares (libperfume): the input changes parts of a valid area, between
 * which a collector reads it. Each change is a byte with the part, two bytes with the position, a
 * byte with the number of bytes, and the bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../perfume/collector/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING = 64 << 10, RINGS = 4, SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
enum part { PART_HEAD, PART_RINGS, PART_SLOTS, PART_DATA, PART_CLAIMS, PART_POLL, PARTS };

static struct area *make(int *ret_fd)
{
	int fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct area *area;

	if (fd < 0 || ftruncate(fd, (off_t)(AREA_DATA + (uint64_t)RING * AREA_RINGS)) < 0)
		abort();
	area = mmap(
		NULL, AREA_DATA + (size_t)RING * RINGS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		abort();
	area->magic = AREA_MAGIC;
	area->ring_size = RING;
	area->n_slots = 1;
	area->n_rings = RINGS;
	area->pid = (uint32_t)getpid();
	area->clock = AREA_CLOCK_MONOTONIC;
	strcpy(area->slots[0].text, "forged u32 a");
	*ret_fd = fd;
	return area;
}

/* The word of an event, which the collector changes in this process: not a forged address. */
static void keep_words(struct area *area)
{
	static uint32_t word;

	for (size_t i = 0; i < 128; i++)
		area->slots[i].word = (uintptr_t)&word;
}

static void read_all(struct perfume_collector *collector)
{
	struct perfume_received event;
	unsigned sum = 0;

	perfume_collector_poll(collector, 1);
	while (perfume_collector_next(collector, &event) > 0)
		for (size_t i = 0; i < event.size; i++) /* all of it can be read */
			sum += ((const unsigned char *)event.payload)[i];
	__asm__ volatile("" ::"r"(sum));
}

static void change(struct area *area, enum part part, size_t at, const uint8_t *bytes, size_t n)
{
	const struct {
		void *start;
		size_t scale, size;
	} parts[] = {
		[PART_HEAD] = {area, 1, offsetof(struct area, claims)},
		[PART_RINGS] = {area->rings, 1, sizeof(area->rings[0]) * RINGS},
		[PART_SLOTS] = {area->slots, 1, sizeof(area->slots[0]) * 120},
		[PART_DATA] = {(char *)area + AREA_DATA, 8, (size_t)RING * RINGS},
		[PART_CLAIMS] = {area->claims, 1, sizeof(area->claims)},
	};

	at = at * parts[part].scale % parts[part].size;
	memcpy((char *)parts[part].start + at, bytes,
		n < parts[part].size - at ? n : parts[part].size - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfume_collector_options options = {
		.size = sizeof(options), .patterns = "*", .only_started = 1};
	struct perfume_collector *collector;
	int fd;
	struct area *area = make(&fd);

	if (perfume_collector_new(&options, &collector) < 0)
		abort();
	for (int polls = 0, added = 0; size >= 4 && polls < 8;) {
		enum part part = data[0] % PARTS;
		size_t at = data[1] | (size_t)data[2] << 8, n = data[3];

		data += 4;
		size -= 4;
		if (part == PART_POLL) {
			keep_words(area);
			if (!added++ && perfume_writer_add(collector, dup(fd), getpid()) < 0)
				break;
			read_all(collector);
			polls++;
			continue;
		}
		n = n < size ? n : size;
		change(area, part, at, data, n);
		data += n;
		size -= n;
	}
	keep_words(area);
	perfume_writer_add(collector, fd, getpid());
	read_all(collector);
	perfume_collector_free(collector);
	munmap(area, AREA_DATA + (size_t)RING * RINGS);
	return 0;
}
