/* SPDX-License-Identifier: MIT */
/*
 * hostile_area MODE [N [FILE]]: a user who forges what libperfume shares with listeners, to delay,
 * starve or fill them. Prints "ready" and stays until it is killed.
 *
 *	busy		a ring whose head moves all the time, of records that are no events
 *	sparse N	N areas that claim all events and rings, without memory behind them
 *	events N	N processes with 32,768 events each
 *	descriptors N	N processes with 19,000 descriptors each
 *	locked N	N processes with an event each, whose lock is held for ever
 *	relock N	the same, and each disables its event again when it has been enabled
 *	silent N FILE	the same, whose enable word is in a page of a file that cannot be read
 *	skip		a ring that claims 2^40 lost events once a listener reads it
 *	lost		a program that claims 2^63 lost events once a listener reads it
 *	loses		a program that claims 1,000 lost events each ms
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../perfume/src/ring.h"

enum { SMALL = 65536, LARGE = 64 << 20, PART = LARGE / AREA_MARKS };

static struct area *forge(uint32_t n_slots, uint32_t n_rings, uint32_t ring_size)
{
	int fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct area *area;

	if (fd < 0 || ftruncate(fd, (off_t)(AREA_DATA + (uint64_t)ring_size * AREA_RINGS)))
		exit(1);
	area = mmap(NULL, AREA_DATA + ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		exit(1);
	area->magic = AREA_MAGIC;
	area->ring_size = ring_size;
	area->clock = AREA_CLOCK_MONOTONIC;
	area->n_slots = n_slots;
	area->n_rings = n_rings;
	area->pid = (uint32_t)getpid();
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return area;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void busy(void)
{
	struct area *area = forge(1, 1, LARGE);
	struct area_record record = {.size = 16, .slot = AREA_OWNER};
	struct area_ring *ring = &area->rings[0];
	uint64_t at, start, i;

	strcpy(area->slots[0].text, "e2e_hostile u32 a");
	area->slots[0].live = 1;
	for (at = 0; at < LARGE; at += record.size)
		memcpy((char *)area + AREA_DATA + at, &record, sizeof(record));
	puts("ready");
	fflush(stdout);
	/*
	 * Faster than a listener reads: 20 bytes in a nanosecond. Of eight processes, one runs when
	 * a listener does.
	 */
	start = now_ns();
	for (i = 1; i < 8 && fork(); i++)
		;
	prctl(PR_SET_PDEATHSIG, i < 8 ? SIGKILL : 0);
	for (;;) {
		at = LARGE + (now_ns() - start) * 20 / PART * PART;
		for (i = 0; i < AREA_MARKS; i++)
			ring->marks[(at / PART - i) % AREA_MARKS].position = at - i * PART;
		__atomic_store_n(&ring->reserved, at, __ATOMIC_RELEASE);
		__atomic_store_n(&ring->head, at, __ATOMIC_RELEASE);
	}
}

static struct area *forge_one_event(void)
{
	struct area *area = forge(1, 1, SMALL);

	strcpy(area->slots[0].text, "e2e_hostile u32 a");
	area->slots[0].live = 1;
	puts("ready");
	fflush(stdout);
	while (!__atomic_load_n(&area->claims[0].id, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(100000); /* the listener has read the ring, which is empty */
	return area;
}

static uint32_t word;
static const void *words = &word;

static struct area *forge_enabled(void)
{
	struct area *area = forge(1, 1, SMALL);

	strcpy(area->slots[0].text, "e2e_hostile u32 a");
	area->slots[0].word = (uintptr_t)words;
	area->slots[0].live = 1;
	return area;
}

static void hold_lock(void)
{
	forge_enabled()->lock = 1;
}

/* Each process has a page of its own. */
static void stall(void)
{
	forge_enabled();
}

static void map_words(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (words == MAP_FAILED)
		exit(1);
}

static void relock(void)
{
	struct area *area = forge_enabled();

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; usleep(100000))
		if (__atomic_exchange_n(&area->slots[0].wanted, 0, __ATOMIC_RELAXED))
			area->lock = 1;
}

static void skip(void)
{
	struct area_ring *ring = &forge_one_event()->rings[0];

	ring->marks[0].count = ring->count = 1ULL << 40;
	ring->marks[0].position = ring->reserved = 1ULL << 45;
	__atomic_store_n(&ring->head, 1ULL << 45, __ATOMIC_RELEASE);
}

static void loses(void)
{
	struct area *area = forge_one_event();

	for (;; usleep(1000))
		__atomic_fetch_add(&area->lost, 1000, __ATOMIC_RELAXED);
}

static void fill_events(void)
{
	struct area *area = forge(AREA_SLOTS, 1, SMALL);
	unsigned i;

	for (i = 0; i < AREA_SLOTS; i++) {
		snprintf(area->slots[i].text, AREA_TEXT, "e2e_hostile_%u u32 a", i);
		area->slots[i].live = 1;
	}
}

static void fill_descriptors(void)
{
	struct rlimit limit;
	int i;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (i = 0; i < 19000 && dup(0) >= 0; i++)
		;
}

/* Calls fn in n children, and returns when all are done with it. */
static void in_children(int n, void (*fn)(void))
{
	int ends[2], i;
	char byte;

	if (pipe(ends))
		exit(1);
	for (i = 0; i < n; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			fn();
			if (write(ends[1], "", 1) == 1)
				pause();
			_exit(1);
		}
	for (i = 0; i < n; i++)
		if (read(ends[0], &byte, 1) != 1)
			exit(1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1, i;

	if (!strcmp(mode, "busy"))
		busy();
	else if (!strcmp(mode, "sparse"))
		for (i = 0; i < n; i++)
			forge(AREA_SLOTS, AREA_RINGS, SMALL);
	else if (!strcmp(mode, "events"))
		in_children(n, fill_events);
	else if (!strcmp(mode, "descriptors"))
		in_children(n, fill_descriptors);
	else if (!strcmp(mode, "locked"))
		in_children(n, hold_lock);
	else if (!strcmp(mode, "relock"))
		in_children(n, relock);
	else if (!strcmp(mode, "silent") && argc > 3)
		map_words(argv[3]), in_children(n, stall);
	else if (!strcmp(mode, "skip"))
		skip();
	else if (!strcmp(mode, "lost"))
		forge_one_event()->lost = 1ULL << 63;
	else if (!strcmp(mode, "loses"))
		loses();
	else
		return 2;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
