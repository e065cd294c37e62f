/* SPDX-License-Identifier: MIT */
/*
 * AUX areas. Positions are absolute and free-running, including the tail: the kernel computes the
 * unread size as aux_head - aux_tail (perf_aux_output_begin() in kernel/events/ring_buffer.c), so a
 * tail modulo the area's size would stop the trace forever after the first wraparound.
 */
#include "perf/aux.h"

#include <sys/mman.h>

#include "attar/private/record.h"
#include "attar/record.h"
#include "base/buf.h"
#include "base/check_arg.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int refused(const struct attar_ring *ring, int error, size_t bytes)
{
	if (error == EOPNOTSUPP)
		return attar_fail(-error,
			"no AUX area for the ring of CPU %d: the PMU of its first counter has "
			"none;" ATTAR_FIX
			"open a counter of a tracing PMU (Intel PT, Arm SPE, CoreSight) first",
			ring->cpu);
	if (error == EPERM || error == ENOMEM) {
		struct buf why _cleanup_(buf_done) = {0};

		ring_add_limit(&why, -error, bytes);
		return attar_fail(-error,
			"cannot map an AUX area for the ring of CPU %d, not even of %zu KiB: %s",
			ring->cpu, bytes / 1024, buf_text(&why));
	}
	return attar_fail(-error, "cannot map an AUX area for the ring of CPU %d: %s", ring->cpu,
		strerror(error));
}

/* The ring's page has the area's offset in the file: set it before the area is mapped. */
static int map(struct attar_aux *aux, const struct attar_ring *ring, size_t bytes)
{
	int prot = aux->snapshot ? PROT_READ : PROT_READ | PROT_WRITE;
	uint64_t offset = page_size() + ring->size;
	void *area;

	ring->page->aux_offset = offset;
	ring->page->aux_size = bytes;
	area = mmap(NULL, bytes, prot, MAP_SHARED, ring->fd, (off_t)offset);
	if (area == MAP_FAILED)
		return -errno;
	aux->page = ring->page;
	aux->area = area;
	aux->size = bytes;
	return 0;
}

static int map_what_fits(struct attar_aux *aux, const struct attar_ring *ring, size_t wanted)
{
	struct buf why _cleanup_(buf_done) = {0};
	size_t bytes = page_size();
	int r, error = 0;

	while (bytes < wanted && bytes < (size_t)1 << 40)
		bytes *= 2;
	wanted = bytes;
	while ((r = map(aux, ring, bytes)) < 0) {
		if ((r != -EPERM && r != -ENOMEM) || bytes == page_size())
			return refused(ring, -r, bytes);
		error = r;
		bytes /= 2;
	}
	if (!error)
		return 0;
	ring_add_limit(&why, error, bytes * 2);
	log_note("the AUX area for the ring of CPU %d has %zu KiB instead of %zu: %s; parts of the "
		 "trace may be lost",
		ring->cpu, bytes / 1024, wanted / 1024, buf_text(&why));
	return 0;
}

int attar_aux_new(struct attar_ring *ring, size_t bytes, bool snapshot, struct attar_aux **ret_aux)
{
	CHECK_OWN(ring, "ring");
	CHECK_ARG(ret_aux, "ret_aux");

	struct attar_aux *aux;
	int r;

	if (ring->overwritten)
		return attar_fail(-EINVAL,
			"no AUX area for the ring of CPU %d: the ring is overwritable, and its "
			"page is read-only",
			ring->cpu);
	aux = calloc(1, sizeof(*aux));
	if (!aux)
		return base_oom();
	aux->process = check_process;
	aux->snapshot = snapshot;
	r = map_what_fits(aux, ring, bytes);
	if (r < 0) {
		free(aux);
		return r;
	}
	*ret_aux = aux;
	return 0;
}

struct attar_aux *attar_aux_free(struct attar_aux *aux)
{
	if (!aux)
		return NULL;
	if (is_own_process(aux)) /* a child does not inherit the mapping */
		munmap((void *)aux->area, aux->size);
	free(aux);
	return NULL;
}

size_t attar_aux_size(const struct attar_aux *aux)
{
	CHECK_ARG_OR(aux, "aux", 0);

	return aux->size;
}

/* size bytes from the position on, in one or two parts. */
static struct attar_aux_data span(const struct attar_aux *aux, uint64_t position, size_t size)
{
	size_t offset = position & (aux->size - 1), first = MIN(size, aux->size - offset);
	struct attar_aux_data data = {.offset = position, .size = size};

	data.parts[0].bytes = aux->area + offset;
	data.parts[0].size = first;
	data.parts[1].bytes = size > first ? aux->area : NULL;
	data.parts[1].size = size - first;
	return data;
}

static void set_flags(struct attar_aux_data *data, uint64_t flags)
{
	data->truncated = flags & PERF_AUX_FLAG_TRUNCATED;
	data->overwritten = flags & PERF_AUX_FLAG_OVERWRITE;
	data->partial = flags & PERF_AUX_FLAG_PARTIAL;
	data->collision = flags & PERF_AUX_FLAG_COLLISION;
	data->format = (uint8_t)((flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK) >> 8);
}

/* NULL, or the reason why the bytes from offset on are not available. */
static const char *missing(const struct attar_aux *aux, uint64_t offset, uint64_t size)
{
	uint64_t head = __atomic_load_n(&aux->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = aux->page->aux_tail;

	if (size > aux->size)
		return "it is larger than the area";
	if (offset - tail > aux->size)
		return "it was already released, or is beyond the area";
	return head - offset < size || head - offset > aux->size
		       ? "the kernel has not written that far"
		       : NULL;
}

int attar_aux_read(
	struct attar_aux *aux, const struct attar_record *record, struct attar_aux_data *ret_data)
{
	CHECK_OWN(aux, "aux");
	CHECK_ARG(record, "record");
	CHECK_ARG(ret_data, "ret_data");

	uint64_t offset = record->aux.offset, size = record->aux.size;
	const char *why;

	if (record->type != PERF_RECORD_AUX)
		return attar_fail(-EINVAL, "a %s record does not describe AUX data",
			record_name(record->type));
	if (aux->snapshot)
		return attar_fail(-EINVAL,
			"the AUX area is a snapshot area" ATTAR_FIX
			"read it with attar_aux_snapshot(), since the data of a record may be "
			"overwritten");
	why = missing(aux, offset, size);
	if (why)
		return attar_fail(-EBADMSG, "invalid AUX record of %llu bytes at %llu: %s",
			(unsigned long long)size, (unsigned long long)offset, why);
	*ret_data = span(aux, offset, (size_t)size);
	set_flags(ret_data, record->aux.flags);
	return 0;
}

void attar_aux_release(struct attar_aux *aux, const struct attar_aux_data *data)
{
	CHECK_OWN_OR(aux, "aux", );
	CHECK_ARG_OR(data, "data", );

	uint64_t end = data->offset + data->size;

	if (!aux->snapshot && end - aux->page->aux_tail <= aux->size)
		__atomic_store_n(&aux->page->aux_tail, end, __ATOMIC_RELEASE);
}

/*
 * Intel PT's head is an offset into the area; the bytes after it are zero before the first
 * wraparound.
 */
static bool has_wrapped(const struct attar_aux *aux, uint64_t head)
{
	if (head >= aux->size)
		return true;
	for (size_t i = aux->size; i > head; i--)
		if (aux->area[i - 1])
			return true;
	return false;
}

int attar_aux_snapshot(struct attar_aux *aux, struct attar_aux_data *ret_data)
{
	CHECK_OWN(aux, "aux");
	CHECK_ARG(ret_data, "ret_data");

	uint64_t head = __atomic_load_n(&aux->page->aux_head, __ATOMIC_ACQUIRE);
	size_t size = has_wrapped(aux, head) ? aux->size : (size_t)head;

	if (!aux->snapshot)
		return attar_fail(-EINVAL, "not a snapshot area" ATTAR_FIX
					   "read the data of AUX records with attar_aux_read()");
	*ret_data = span(aux, head - size, size);
	ret_data->overwritten = true;
	return 0;
}
