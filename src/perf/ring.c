/* SPDX-License-Identifier: MIT */
/*
 * The memory-mapped ring of records. The kernel writes records with multiples of 8 bytes at
 * data_head, the reader starts at data_tail; both are free-running and used modulo the size.
 * Accesses are ordered as described in linux/perf_event.h: read data_head, then (acquire) the
 * records, then (release) write data_tail.
 */
#include "perf/ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

#include "attar/private/perf.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/kernel.h"
#include "perf/target.h"

enum { LARGEST_ORDER = 10 /* MAX_PAGE_ORDER of most kernels */ };

typedef VEC(struct attar_ring *) ring_list;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_to_pages(size_t bytes)
{
	size_t size = page_size();

	while (size < bytes && size < (size_t)1 << 40)
		size *= 2;
	return size;
}

static int map(struct attar_ring *r, size_t bytes)
{
	int prot = r->overwritten ? PROT_READ : PROT_READ | PROT_WRITE;
	void *base = mmap(NULL, page_size() + bytes, prot, MAP_SHARED, r->fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	r->page = base;
	r->data = (char *)base + page_size();
	r->size = bytes;
	return 0;
}

static void unmap(struct attar_ring *r)
{
	munmap(r->page, page_size() + r->size);
	r->page = NULL;
}

void ring_add_limit(struct buf *b, int error, size_t bytes)
{
	if (error == -EPERM)
		buf_printf(b,
			"the limit on locked memory (kernel.perf_event_mlock_kb, %lld, and ulimit "
			"-l) does not allow more",
			(long long)kernel_get()->mlock_kb);
	else if (bytes / page_size() * sizeof(void *) >= page_size() << LARGEST_ORDER)
		buf_str(b, "the kernel does not allow a larger one (ENOMEM)");
	else
		buf_str(b, "the kernel does not have enough memory (ENOMEM)");
}

static int map_failed(int error, const struct attar_ring *r, size_t bytes)
{
	bool any = r->cpu < 0;
	struct buf why _cleanup_(buf_done) = {0};

	if (error == -EPERM || error == -ENOMEM)
		ring_add_limit(&why, error, bytes);
	else
		buf_str(&why, strerror(-error));
	return attar_fail(error,
		error == -EPERM ? "cannot map a ring of %zu KiB for %s %d: %s;" ATTAR_FIX
				  "stop other profilers, or raise one of these limits"
				: "cannot map a ring of %zu KiB for %s %d: %s",
		bytes / 1024, any ? "thread" : "CPU", any ? r->tid : r->cpu,
		buf_failed(&why) ? strerror(-error) : buf_text(&why));
}

/* Maps all rings, or none and reports which one failed. */
static int map_with_size(
	struct attar_ring **rings, size_t n, size_t bytes, struct attar_ring **ret_refused)
{
	for (size_t i = 0; i < n; i++) {
		int r = map(rings[i], bytes);

		if (r == 0)
			continue;
		*ret_refused = rings[i];
		while (i > 0)
			unmap(rings[--i]);
		return r;
	}
	return 0;
}

/* All rings have the same size: if one cannot be mapped, the size of all is halved. */
static int map_all(struct attar_ring **rings, size_t n, size_t bytes)
{
	struct buf why _cleanup_(buf_done) = {0};
	struct attar_ring *refused;
	size_t wanted = bytes;
	int r, error = 0;

	while ((r = map_with_size(rings, n, bytes, &refused)) < 0) {
		if ((r != -EPERM && r != -ENOMEM) || bytes <= page_size())
			return map_failed(r, refused, bytes);
		error = r;
		bytes /= 2;
	}
	if (!error)
		return 0;
	ring_add_limit(&why, error, bytes * 2);
	log_note("rings have %zu KiB per CPU instead of %zu: %s; bursts of events may be lost",
		bytes / 1024, wanted / 1024, buf_text(&why));
	return 0;
}

/*
 * A ring belongs to a CPU, or to a thread on any CPU: the kernel does not allow other combinations.
 */
static pid_t ring_tid(const struct counter_fd *it)
{
	return it->cpu < 0 ? it->tid : -1;
}

/* Backward-written and other counters do not share rings. */
bool ring_serves(
	const struct attar_ring *r, const struct attar_counter *c, const struct counter_fd *it)
{
	return r->cpu == it->cpu && r->tid == ring_tid(it) && r->backward == c->attr.write_backward;
}

static struct attar_ring *ring_find(struct attar_ring **rings, size_t n,
	const struct attar_counter *c, const struct counter_fd *it)
{
	for (size_t i = 0; i < n; i++)
		if (ring_serves(rings[i], c, it))
			return rings[i];
	return NULL;
}

int ring_redirect(struct attar_ring **rings, size_t n, const struct attar_counter *c,
	const struct counter_fd *it)
{
	struct attar_ring *r = ring_find(rings, n, c, it);

	if (!r || r->fd == it->fd || it->gone)
		return 0;
	if (TEMP_FAILURE_RETRY(ioctl(it->fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd)) < 0)
		return attar_fail(-errno, "cannot redirect '%s' to the ring of CPU %d: %s",
			CLIP(c->name), it->cpu, strerror(errno));
	return 0;
}

int rings_redirect(struct attar_ring **rings, size_t n, const struct attar_counter *c, size_t first)
{
	for (size_t i = first; i < c->fds.n; i++) {
		int r = ring_redirect(rings, n, c, &c->fds.at[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The first fd on a CPU owns its ring. */
static int choose_owners(
	struct attar_counter *const *counters, size_t n, bool overwritten, ring_list *rings)
{
	for (size_t c = 0; c < n; c++)
		vec_each (&counters[c]->fds, it) {
			const struct perf_event_attr *attr = &counters[c]->attr;
			struct attar_ring *r;

			if (ring_find(rings->at, rings->n, counters[c], it))
				continue;
			r = calloc(1, sizeof(*r));
			if (!r || vec_push(rings, r) < 0) {
				free(r);
				return base_oom();
			}
			r->process = check_process;
			r->fd = it->fd;
			r->cpu = it->cpu;
			r->tid = ring_tid(it);
			r->watermark = attr->watermark ? attr->wakeup_watermark : 0;
			r->backward = attr->write_backward;
			r->overwritten = overwritten || r->backward;
		}
	return 0;
}

/* The kernel refuses this with EINVAL only. */
static int check_inherited(const struct attar_target *t, struct attar_counter *const *c, size_t n)
{
	for (size_t i = 0; t->any_cpu && i < n; i++)
		if (c[i]->attr.inherit)
			return attar_fail(-EINVAL,
				"'%s' cannot have a ring: it is inherited and opened on any "
				"CPU;" ATTAR_FIX "use only one of attr.inherit and any_cpu",
				CLIP(c[i]->name));
	return 0;
}

int rings_extend(struct attar_ring ***rings, size_t *n, struct attar_counter *const *counters,
	size_t n_counters)
{
	ring_list list = {.at = *rings, .n = *n, .size = *n};
	const struct attar_ring *like = *n ? list.at[0] : NULL;
	int r = like ? choose_owners(
			       counters, n_counters, like->overwritten && !like->backward, &list)
		     : 0;

	for (size_t i = *n; r == 0 && i < list.n; i++) {
		r = map(list.at[i], like->size);
		if (r < 0)
			r = map_failed(r, list.at[i], like->size);
	}
	while (r < 0 && list.n > *n)
		ring_free(list.at[--list.n]);
	*rings = list.at;
	*n = list.n;
	return r;
}

static int new_rings(const char *function, struct attar_target *target,
	struct attar_counter *const *counters, size_t n_counters, size_t bytes, bool overwritten,
	struct attar_ring ***ret_rings, size_t *ret_n)
{
	ring_list rings = {0};
	int r = 0;

	for (size_t c = 0; c < n_counters; c++)
		if (!counters[c])
			return check_missing(function, "counters[]");
	r = check_inherited(target, counters, n_counters);

	if (r == 0)
		r = choose_owners(counters, n_counters, overwritten, &rings);
	if (r == 0)
		r = map_all(rings.at, rings.n, round_to_pages(bytes));
	/* now, as a record that cannot be copied later would be taken for an invalid one */
	for (size_t i = 0; r == 0 && i < rings.n; i++)
		if (!(rings.at[i]->bounce = malloc(RING_RECORD_MAX)))
			r = base_oom();
	for (size_t c = 0; r == 0 && c < n_counters; c++)
		r = rings_redirect(rings.at, rings.n, counters[c], 0);
	if (r < 0) {
		attar_rings_free(rings.at, rings.n);
		return r;
	}
	*ret_rings = rings.at;
	*ret_n = rings.n;
	return 0;
}

int attar_rings_new(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(counters || !n_counters, "counters");
	CHECK_ARG(ret_rings, "ret_rings");
	CHECK_ARG(ret_n, "ret_n");

	return new_rings(__func__, target, counters, n_counters, bytes, false, ret_rings, ret_n);
}

int rings_new_overwritten(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(counters || !n_counters, "counters");
	CHECK_ARG(ret_rings, "ret_rings");
	CHECK_ARG(ret_n, "ret_n");

	return new_rings(__func__, target, counters, n_counters, bytes, true, ret_rings, ret_n);
}

void ring_free(struct attar_ring *r)
{
	if (r->page && is_own_process(r)) /* a child does not inherit the mapping */
		unmap(r);
	if (r->owns_fd)
		close(r->fd);
	free(r->bounce);
	vec_done(&r->positions);
	free(r);
}

void attar_rings_free(struct attar_ring **rings, size_t n)
{
	for (size_t i = 0; rings && i < n; i++)
		ring_free(rings[i]);
	free(rings);
}

int attar_ring_fd(const struct attar_ring *r)
{
	CHECK_ARG(r, "ring");

	return r->fd;
}

int attar_ring_cpu(const struct attar_ring *r)
{
	CHECK_ARG(r, "ring");

	return r->cpu;
}

size_t ring_data_size(const struct attar_ring *r)
{
	CHECK_ARG_OR(r, "ring", 0);

	return r->size;
}

void attar_ring_begin(struct attar_ring *r)
{
	if (r->overwritten)
		return;
	if (unlikely(!is_own_process(r))) {
		r->head = r->tail;
		return;
	}
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	if (unlikely(r->broken))
		r->tail = r->head;
}

/* Headers never wrap, since records are 8-byte aligned; payloads may. */
const struct perf_event_header *ring_record(
	struct attar_ring *r, uint64_t position, uint64_t readable)
{
	size_t offset = position & (r->size - 1), first = r->size - offset;
	const struct perf_event_header *header = (const void *)(r->data + offset);
	size_t size = header->size;

	if (unlikely(size < sizeof(*header) || size > readable))
		return NULL;
	if (likely(size <= first))
		return header;
	if (!r->bounce && !(r->bounce = malloc(RING_RECORD_MAX))) /* rings of tests */
		return NULL;
	memcpy(r->bounce, header, first);
	memcpy(r->bounce + first, r->data, size - first);
	return (const void *)r->bounce;
}

const struct perf_event_header *ring_take_odd(struct attar_ring *r)
{
	const struct perf_event_header *header = ring_record(r, r->tail, r->head - r->tail);

	if (!header) {
		r->broken = true;
		r->tail = r->head;
		log_warn("the ring of CPU %d has a record with an invalid size: its records from "
			 "here on are lost",
			r->cpu);
		return NULL;
	}
	r->newest = r->tail;
	r->tail += header->size;
	return header;
}

const struct perf_event_header *attar_ring_next(struct attar_ring *r)
{
	return ring_take(r);
}

void attar_ring_release(struct attar_ring *r)
{
	if (!r->overwritten && likely(is_own_process(r)))
		__atomic_store_n(&r->page->data_tail, r->newest, __ATOMIC_RELEASE);
}

void attar_ring_end(struct attar_ring *r)
{
	if (!r->overwritten && likely(is_own_process(r)))
		__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}
