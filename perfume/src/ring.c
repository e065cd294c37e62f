/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Writing to the rings. Each thread has its own ring, and another one for a signal handler that
 * interrupts it in the middle of a record, so that a ring never has concurrent writers.
 */
#include "internal.h"

#define LEVELS 3 /* the thread, a handler in it, a handler in that */

/* Private state of a ring's writer; shared memory is untrusted. */
struct ring {
	unsigned char *data; /* mapped twice, so that records are contiguous at the end */
	struct area_ring *seen;
	/*
	 * Head and count change together, by `current`: the writer may leave a record unfinished
	 * at any instruction, see depth_now().
	 */
	struct {
		uint64_t head, count;
	} done[2];
	uint32_t current;
	pid_t owner;
	uint64_t looked; /* time of the last check of the claims, in clock ticks */
	uint64_t stuck;  /* 1 + `read` of the ring when a wait for it was given up; 0: none */
	uint32_t alive;  /* the collectors that were alive then */
};

static struct ring rings[AREA_RINGS];

static __thread struct {
	struct ring *ring[LEVELS];
	uint32_t fork;             /* fork generation of the process that owns the rings */
	uint32_t depth;            /* records that are being written */
	uint32_t refused;          /* 1: there was no ring for this thread */
	const char *frame[LEVELS]; /* an address in the stack frame that writes the record */
} mine __attribute__((tls_model("initial-exec")));

/* ---- the clock ---- */

static uint64_t ticks(uint32_t clock)
{
#ifdef __x86_64__
	if (likely(clock == AREA_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (likely(clock == AREA_CLOCK_COUNTER)) {
		uint64_t now;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
		return now;
	}
#endif
	return now_ns();
}

/* The TSC is reliable if the kernel uses it as its clock source. */
static uint32_t choose_clock(void)
{
#ifdef __x86_64__
	const char *path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, source, sizeof(source) - 1) > 0 &&
		(!strcmp(source, "tsc\n") || !strcmp(source, "kvm-clock\n"))) {
		close(fd);
		return AREA_CLOCK_TSC;
	}
	close(fd);
	return AREA_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	return AREA_CLOCK_COUNTER;
#else
	return AREA_CLOCK_MONOTONIC;
#endif
}

/* Ticks in about a fifth of a second. */
static uint64_t ticks_between_looks(uint32_t clock)
{
	uint64_t hz = 1000000000;

#ifdef __aarch64__
	if (clock == AREA_CLOCK_COUNTER)
		__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
	/* TSCs run at 1 to 5 GHz. */
	return clock == AREA_CLOCK_TSC ? 1ULL << 29 : hz / 5;
}

/* ---- ring allocation ---- */

/* Returns whether this code runs in a signal handler that interrupted the writing of a record. */
static int rings_in_use(void)
{
	return mine.depth != 0;
}

static void rings_forget(void)
{
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (rings[i].data)
			munmap(rings[i].data, 2 * (size_t)shared.ring_size);
	memset(rings, 0, shared.n_rings * sizeof(rings[0]));
	shared.n_rings = 0;
	shared.searched = 0;
	shared.fork++;
}

static void rings_leave(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (rings[i].data)
			mmap(rings[i].data, 2 * (size_t)shared.ring_size, PROT_READ | PROT_WRITE,
				flags, -1, 0);
}

static unsigned char *map_twice(uint32_t i)
{
	size_t size = shared.ring_size;
	off_t at = (off_t)(AREA_DATA + (uint64_t)i * size);
	unsigned char *data = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int k;

	for (k = 0; k < 2 && data != MAP_FAILED; k++)
		if (mmap(data + (size_t)k * size, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, shared.fd, at) == MAP_FAILED) {
			munmap(data, 2 * size);
			data = MAP_FAILED;
		}
	return data == MAP_FAILED ? NULL : data;
}

/* Returns a ring whose thread has exited, otherwise a new one, otherwise NULL. */
static struct ring *find_ring(void)
{
	struct ring *ring;
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (syscall(SYS_tgkill, shared.pid, rings[i].owner, 0) < 0 && errno == ESRCH)
			return &rings[i];
	if (i == AREA_RINGS)
		return NULL;
	if (!i) {
		shared.clock = choose_clock();
		shared.look_ticks = ticks_between_looks(shared.clock);
	}
	ring = &rings[i];
	ring->data = map_twice(i);
	if (!ring->data)
		return NULL;
	ring->seen = &shared.area->rings[i];
	shared.n_rings++;
	shared.area->clock = shared.clock;
	__atomic_store_n(&shared.area->n_rings, shared.n_rings, __ATOMIC_RELEASE);
	return ring;
}

/* ---- records ---- */

static void put_mark(struct area_ring *seen, uint64_t position, uint64_t count, uint32_t sixteenth)
{
	/*
	 * A reader that sees the new position also sees the new count, or detects that the position
	 * changed.
	 */
	__atomic_store_n(&seen->marks[sixteenth].position, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	seen->marks[sixteenth].count = count;
	__atomic_store_n(&seen->marks[sixteenth].position, position, __ATOMIC_RELEASE);
}

#define OWNER_SIZE (sizeof(struct area_record) + 8)

/* Writes the tid of the records that follow. This is not an event and not counted. */
static void put_owner(struct ring *ring, uint64_t position)
{
	struct area_record head = {OWNER_SIZE, AREA_OWNER, 8 - sizeof(ring->owner), 0};
	unsigned char *at = ring->data + (position & (shared.ring_size - 1));

	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &ring->owner, sizeof(ring->owner));
}

/* Announces that the bytes up to `end` change. */
static void reserve(struct ring *ring, uint64_t end)
{
	__atomic_store_n(&ring->seen->reserved, end, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void publish(struct ring *ring, uint64_t head, uint64_t count)
{
	uint32_t next = !ring->current;

	ring->done[next].head = head;
	ring->done[next].count = count;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ring->current = next;
	__atomic_store_n(&ring->seen->count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->seen->head, head, __ATOMIC_RELEASE);
}

static void put_record(
	struct ring *ring, uint16_t slot, const void *payload, size_t n, uint64_t time)
{
	uint32_t padding = (uint32_t)-n & 7, part = shared.ring_size / AREA_MARKS;
	uint64_t start = ring->done[ring->current].head;
	uint64_t count = ring->done[ring->current].count + 1;
	uint64_t end = start + sizeof(struct area_record) + n + padding;
	unsigned char *at = ring->data + (start & (shared.ring_size - 1));
	struct area_record head = {(uint32_t)(end - start), slot, (uint16_t)padding, time};

	reserve(ring, end + OWNER_SIZE);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), payload, n);
	if (unlikely((end ^ start) & ~(uint64_t)(part - 1))) {
		put_mark(ring->seen, end, count, (uint32_t)(end / part % AREA_MARKS));
		put_owner(ring, end);
		end += OWNER_SIZE;
	}
	publish(ring, end, count);
}

/* ---- the ring of this thread ---- */

static void take_over(struct ring *ring)
{
	uint64_t head = ring->done[ring->current].head;

	ring->owner = (pid_t)syscall(SYS_gettid);
	reserve(ring, head + OWNER_SIZE);
	put_owner(ring, head);
	publish(ring, head + OWNER_SIZE, ring->done[ring->current].count);
}

/*
 * Returns whether this thread should do without a ring: all were taken when the last thread
 * searched for one. A search is a system call for each ring, so that threads without a ring share
 * one in a fifth of a second. The first search of a thread does not wait.
 */
static int rings_were_taken(void)
{
	uint64_t searched = __atomic_load_n(&shared.searched, __ATOMIC_RELAXED);

	return mine.refused && mine.fork == shared.fork && searched &&
	       ticks(shared.clock) - searched < shared.look_ticks;
}

static struct ring *search_ring(void)
{
	struct ring *ring;

	/*
	 * A vfork child shares the memory of the waiting parent thread and must not leave a ring in
	 * it.
	 */
	if (getpid() != shared.pid)
		return NULL;
	ring = find_ring();
	mine.refused = !ring;
	if (ring)
		take_over(ring);
	else
		__atomic_store_n(&shared.searched, ticks(shared.clock), __ATOMIC_RELAXED);
	return ring;
}

static __attribute__((noinline, cold)) struct ring *get_ring(uint32_t level)
{
	struct ring *ring;
	int saved = errno;
	sigset_t old;

	if (rings_were_taken())
		return NULL;
	lock(&old);
	if (mine.fork != shared.fork) {
		memset(mine.ring, 0, sizeof(mine.ring));
		mine.fork = shared.fork;
	}
	ring = mine.ring[level];
	if (!ring && !rings_were_taken())
		ring = mine.ring[level] = search_ring();
	unlock(&old);
	errno = saved;
	return ring;
}

/*
 * Returns how many records are being written, if the thread was interrupted in the middle of
 * `depth` records. A signal handler that leaves with siglongjmp() never returns to the record that
 * it interrupted: the stack frame that wrote it is gone if the current frame is above it. On an
 * alternate signal stack, addresses do not say this, and the records count as being written.
 */
static __attribute__((noinline, cold)) uint32_t depth_now(uint32_t depth, const char *here)
{
	uint32_t n = depth < LEVELS ? depth : LEVELS, i;
	stack_t stack;

	for (i = 0; i < n && here < mine.frame[i]; i++)
		;
	if (i == n || sigaltstack(NULL, &stack) || stack.ss_flags & SS_ONSTACK)
		return depth;
	return i;
}

/* ---- writing ---- */

/*
 * Returns the collectors with a valid lease, so that a killed collector does not cause permanent
 * overhead.
 */
static void look(struct ring *ring, uint64_t now_ticks)
{
	uint64_t now = now_ns();
	uint32_t k;

	ring->alive = 0;
	for (k = 0; k < AREA_CLAIMS; k++)
		if (__atomic_load_n(&shared.area->claims[k].lease, __ATOMIC_RELAXED) > now)
			ring->alive |= 1u << k;
	ring->looked = now_ticks;
}

/*
 * Removes exited collectors from `wanted` and returns the rest. If none remains, disables the
 * event, unless a collector is just being added: it sets `wanted` first, then the word.
 */
static __attribute__((noinline, cold)) uint32_t drop(
	const struct perfume_event *event, struct area_slot *slot, uint32_t dead)
{
	uint32_t wanted = __atomic_and_fetch(&slot->wanted, ~dead, __ATOMIC_SEQ_CST);
	uint32_t *word = __atomic_load_n(&event->word, __ATOMIC_RELAXED);

	if (!wanted && word != &unused_word) {
		__atomic_fetch_and(word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_SEQ_CST);
		wanted = __atomic_load_n(&slot->wanted, __ATOMIC_SEQ_CST);
		if (wanted)
			__atomic_fetch_or(word, PERFUME_WORD_RING, __ATOMIC_RELAXED);
	}
	return wanted & ~dead;
}

/* The coarse clock needs no system call. */
static uint32_t with_valid_lease(uint32_t wanted)
{
	struct timespec coarse;
	uint32_t alive = 0, k;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
	now = (uint64_t)coarse.tv_sec * 1000000000 + (uint64_t)coarse.tv_nsec;
	for (k = 0; k < AREA_CLAIMS && wanted >> k; k++)
		if (wanted >> k & 1 &&
			__atomic_load_n(&shared.area->claims[k].lease, __ATOMIC_RELAXED) > now)
			alive |= 1u << k;
	return alive;
}

static int ring_listens(const struct perfume_event *event)
{
	uint32_t at = __atomic_load_n(&event->slot, __ATOMIC_RELAXED), wanted;
	struct area_slot *slot;

	if (!at)
		return 0;
	slot = &shared.area->slots[at - 1];
	wanted = __atomic_load_n(&slot->wanted, __ATOMIC_ACQUIRE);
	if (with_valid_lease(wanted))
		return 1;
	/* A child that has not reinitialized must not write to its parent's area. */
	return home_get()->settled && drop(event, slot, wanted);
}

/* Returns whether a collector that is alive wants the event. */
static __attribute__((noinline, cold)) int is_still_wanted(const struct perfume_event *event,
	struct area_slot *slot, struct ring *ring, uint32_t wanted, uint64_t now)
{
	look(ring, now);
	return !(wanted & ~ring->alive) || drop(event, slot, wanted & ~ring->alive);
}

/*
 * With PERFUME_PACED, events are not overwritten before a collector that keeps reading has read
 * them: the writer waits for it when the ring is nearly full. It gives up when the collector has
 * read nothing for two seconds, until it reads again.
 */
#ifdef PERFUME_PACED
#define READER_WAIT 2000000000ULL /* ns */

static __attribute__((noinline, cold)) void wait_for_reader(struct ring *ring, uint64_t head)
{
	const struct timespec nap = {.tv_nsec = 50000};
	uint64_t read = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED), since = now_ns(), now;

	if (read + 1 == ring->stuck)
		return;
	while (head - read > shared.ring_size / 2) {
		nanosleep(&nap, NULL);
		now = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED);
		if (now != read)
			since = now_ns();
		else if (now_ns() - since > READER_WAIT)
			break;
		read = now;
	}
	ring->stuck = head - read > shared.ring_size / 2 ? read + 1 : 0;
}

static inline void pace(struct ring *ring)
{
	const uint64_t head = ring->done[ring->current].head;
	const uint64_t read = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED);

	if (unlikely(head - read > shared.ring_size / 4 * 3))
		wait_for_reader(ring, head);
}
#else
static inline void pace(struct ring *ring)
{
	(void)ring;
}
#endif

static inline __attribute__((always_inline)) int write_at_level(
	struct perfume_event *event, uint32_t at, uint32_t level, const void *payload, size_t n)
{
	struct area_slot *slot = &shared.area->slots[at];
	uint32_t wanted = __atomic_load_n(&slot->wanted, __ATOMIC_ACQUIRE);
	struct ring *ring = level < LEVELS ? mine.ring[level] : NULL;
	uint64_t now;

	if (unlikely(!wanted)) {
		drop(event, slot, 0);
		return 0;
	}
	if (unlikely(!ring || mine.fork != shared.fork))
		ring = level < LEVELS ? get_ring(level) : NULL;
	if (unlikely(!ring)) {
		__atomic_fetch_add(&shared.area->lost, 1, __ATOMIC_RELAXED);
		return -ENOBUFS;
	}
	now = ticks(shared.clock);
	if (unlikely(wanted & ~ring->alive || now - ring->looked > shared.look_ticks) &&
		!is_still_wanted(event, slot, ring, wanted, now))
		return 0;
	pace(ring);
	put_record(ring, (uint16_t)at, payload, n, now);
	return (int)n;
}

static int ring_write(struct perfume_event *event, const void *payload, size_t n)
{
	/* Another thread may deregister the event meanwhile. */
	uint32_t slot = __atomic_load_n(&event->slot, __ATOMIC_RELAXED), level = mine.depth;
	char here = 0;
	int ret;

	if (unlikely(!slot))
		return 0;
	if (unlikely(level))
		level = depth_now(level, &here);
	if (likely(level < LEVELS))
		mine.frame[level] = &here;
	mine.depth = level + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = write_at_level(event, slot - 1, level, payload, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine.depth = level;
	return ret;
}
