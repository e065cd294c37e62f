/* SPDX-License-Identifier: MIT */
#include "symbol/address_space.h"

#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "base/log.h"
#include "base/proc.h"
#include "symbol/maps.h"
#include "symbol/symbols.h"

enum { HUGE_PAGE = 2 << 20 };   /* bytes */
enum { SCANNED_MAX = 1 << 12 }; /* mappings of code: programs with JIT code have some hundred */

struct attar_address_space *attar_address_space_new(struct attar_symbols *symbols, pid_t pid)
{
	CHECK_ARG_OR(symbols, "symbols", NULL);

	struct attar_address_space *space = calloc(1, sizeof(*space));

	if (!space) {
		base_oom();
		return NULL;
	}
	space->symbols = symbols;
	space->pids[0] = pid;
	return space;
}

static void unref_dsos(struct attar_address_space *space, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		dsos_unref(&space->symbols->dsos, ranges[i].dso);
		dsos_unref(&space->symbols->dsos, ranges[i].memfd);
	}
}

static void ref_dsos(struct attar_address_space *space, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		dsos_ref(&space->symbols->dsos, ranges[i].dso);
		dsos_ref(&space->symbols->dsos, ranges[i].memfd);
	}
}

/* Before ranges are moved or freed. */
static void forget(struct attar_address_space *space)
{
	space->last = NULL;
	memset(space->recent, 0, sizeof(space->recent));
	space->oldest = 0;
}

static void address_space_drop(struct attar_address_space *space)
{
	if (space->ranges && !--space->ranges->refs) {
		unref_dsos(space, space->ranges->at, space->ranges->n);
		space->symbols->ranges -= space->ranges->size;
		free(space->ranges);
	}
	space->ranges = NULL;
	forget(space);
	if (space->jit)
		dsos_unref(&space->symbols->dsos, space->jit);
	space->jit = 0;
}

struct attar_address_space *attar_address_space_free(struct attar_address_space *space)
{
	if (space) {
		address_space_drop(space);
		free(space);
	}
	return NULL;
}

struct attar_address_space *address_space_fork(const struct attar_address_space *space, pid_t pid)
{
	CHECK_ARG_OR(space, "space", NULL);

	struct attar_address_space *child = attar_address_space_new(space->symbols, pid);

	if (!child)
		return NULL;
	for (int i = 1; i < DSO_SEARCH_PIDS && pid != space->pids[i - 1]; i++)
		child->pids[i] = space->pids[i - 1];
	child->ranges = space->ranges;
	if (child->ranges)
		child->ranges->refs++;
	return child;
}

void address_space_reset(struct attar_address_space *space)
{
	CHECK_ARG_OR(space, "space", );

	address_space_drop(space);
}

/* The index of the first range that ends after address; n if there is none. */
static size_t first_after(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges ? ranges->n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct range *r = &ranges->at[middle];

		/* Compare the difference, because a mapping may end at 2^64. */
		if (r->start > address || address - r->start < r->len)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Unshares the ranges and reserves space for `more`. */
static int own(struct attar_address_space *space, size_t more)
{
	struct ranges *old = space->ranges, *ranges;
	size_t n = old ? old->n : 0, size;

	forget(space);
	if (old && old->refs == 1 && n + more <= old->size)
		return 0;
	size = n + more + (n + more) / 2 + 4;
	if (old && old->refs == 1) {
		ranges = realloc(old, sizeof(*ranges) + size * sizeof(*ranges->at));
		if (!ranges)
			return base_oom();
		space->symbols->ranges -= ranges->size;
	} else {
		ranges = malloc(sizeof(*ranges) + size * sizeof(*ranges->at));
		if (!ranges)
			return base_oom();
		ranges->n = n;
		if (n)
			memcpy(ranges->at, old->at, n * sizeof(*ranges->at));
		ref_dsos(space, ranges->at, n);
		if (old)
			old->refs--;
	}
	ranges->refs = 1;
	ranges->size = size;
	space->symbols->ranges += size;
	space->ranges = ranges;
	return 0;
}

/* JIT compilers change protections page by page: merge adjacent ranges of an owner. */
static void address_space_join(struct attar_address_space *space, size_t i)
{
	struct ranges *ranges = space->ranges;
	struct range *a = &ranges->at[i], *b = a + 1;

	if (i + 1 >= ranges->n || a->dso != b->dso || a->start + a->len != b->start ||
		a->pgoff != a->start || a->memfd || b->memfd || b->pgoff != b->start)
		return;
	a->len += b->len;
	a->settled = a->settled && b->settled;
	unref_dsos(space, b, 1);
	memmove(b, b + 1, (ranges->n - i - 2) * sizeof(*b));
	ranges->n--;
}

static uint64_t last_of(const struct range *r)
{
	return r->start + (r->len - 1);
}

/* Replaces the overlapped ranges; the first and last keep their parts that do not overlap. */
static int address_space_insert(struct attar_address_space *space, const struct range *new)
{
	size_t first = first_after(space->ranges, new->start), end = first, n = 0;
	struct ranges *ranges = space->ranges;
	struct range pieces[3];
	int r;

	while (ranges && end < ranges->n && ranges->at[end].start <= last_of(new))
		end++;
	if (first < end && ranges->at[first].start < new->start) {
		pieces[n] = ranges->at[first];
		pieces[n++].len = new->start - ranges->at[first].start;
	}
	pieces[n++] = *new;
	if (first < end && last_of(&ranges->at[end - 1]) > last_of(new)) {
		uint64_t cut = last_of(new) + 1 - ranges->at[end - 1].start;

		pieces[n] = ranges->at[end - 1];
		pieces[n].start += cut;
		pieces[n].pgoff += cut;
		pieces[n++].len -= cut;
	}
	if (ranges && ranges->n - (end - first) + n > SPACE_MAX_RANGES) {
		space->symbols->ranges_refused++;
		return attar_fail(-ENOSPC, "process %d has more than %d executable mappings",
			space->pids[0], SPACE_MAX_RANGES);
	}
	r = own(space, n);
	if (r < 0)
		return r;
	ranges = space->ranges;
	ref_dsos(space, pieces, n);
	unref_dsos(space, ranges->at + first, end - first);
	memmove(ranges->at + first + n, ranges->at + end, (ranges->n - end) * sizeof(*ranges->at));
	memcpy(ranges->at + first, pieces, n * sizeof(*pieces));
	ranges->n += n - (end - first);
	for (size_t i = first + n; i-- > (first ? first - 1 : 0);)
		address_space_join(space, i);
	return 0;
}

static uint16_t jit_dso(struct attar_address_space *space)
{
	struct dso_key key = {.kind = ATTAR_DSO_IS_JIT, .path = "[anon]"};
	struct dso *dso;

	if (!space->jit) {
		key.owner = ++space->symbols->spaces;
		space->jit = dsos_intern(&space->symbols->dsos, &key);
		dsos_ref(&space->symbols->dsos, space->jit);
		dso = dsos_get(&space->symbols->dsos, space->jit);
		if (dso->key.kind == ATTAR_DSO_IS_JIT)
			jit_init(&dso->jit, space->pids[0]);
	}
	return space->jit;
}

/* JIT compilers map the file that describes their code, so that it is found. */
static void set_jitdump(struct attar_address_space *space, const char *path)
{
	struct dso *dso = dsos_get(&space->symbols->dsos, jit_dso(space));
	const char *copy = intern_text(&space->symbols->sources.strings, path);

	if (copy && dso->key.kind == ATTAR_DSO_IS_JIT)
		jit_set_dump(&dso->jit, copy);
}

static uint16_t file_dso(struct attar_address_space *space, const struct attar_mapping *mapping)
{
	struct dso_key key;
	char *path _cleanup_free_ = dso_key_of_file(mapping, &key);

	if (!path) {
		base_oom();
		return ATTAR_DSO_UNKNOWN;
	}
	return dsos_intern(&space->symbols->dsos, &key);
}

/* [vdso]; and kernel code without symbols: [vsyscall], [uprobes]. */
static uint16_t special_dso(struct attar_address_space *space, const struct attar_mapping *mapping)
{
	bool vdso = !strcmp(mapping->path, "[vdso]");
	struct dso_key key = {
		.kind = vdso ? ATTAR_DSO_IS_VDSO : ATTAR_DSO_IS_UNKNOWN,
		.owner = mapping->start >> 32 ? 64 : 32,
		.path = mapping->path,
	};

	return dsos_intern(&space->symbols->dsos, &key);
}

/* ---- code in huge pages ---- */

/*
 * Programs copy their code to huge pages (node --use-largepages): anonymous memory replaces whole
 * huge pages of a mapping, and still has the code of its file.
 */
static bool replaces_code(const struct attar_address_space *space, const struct range *new)
{
	size_t i = first_after(space->ranges, new->start);
	const struct range *old;

	if (!space->ranges || i == space->ranges->n || new->start % HUGE_PAGE ||
		new->len % HUGE_PAGE)
		return false;
	old = &space->ranges->at[i];
	return old->start <= new->start &&last_of(old) >= last_of(new) &&
	       !old->memfd &&dsos_get(&space->symbols->dsos, old->dso)->key.kind ==
		       ATTAR_DSO_IS_FILE;
}

static bool continues(const struct range *a, const struct range *b)
{
	return a->start + a->len == b->start;
}

/* The same in /proc/PID/maps: anonymous memory in a hole of a file's mapping, which begins again at
 * start. */
static void fill_hole(struct attar_address_space *space, uint64_t start)
{
	size_t i = first_after(space->ranges, start);
	struct range *before, *hole, *after;

	if (i < 2 || !space->jit)
		return;
	after = &space->ranges->at[i];
	hole = after - 1;
	before = after - 2;
	if (hole->dso != space->jit || before->dso != after->dso || !continues(before, hole) ||
		!continues(hole, after) ||
		before->start - before->pgoff != after->start - after->pgoff)
		return;
	unref_dsos(space, hole, 1);
	hole->dso = before->dso;
	hole->memfd = 0;
	ref_dsos(space, hole, 1);
	hole->pgoff = before->pgoff + before->len;
	hole->settled = false;
}

int attar_address_space_map(struct attar_address_space *space, const struct attar_mapping *mapping)
{
	CHECK_ARG(space, "space");
	CHECK_ARG(mapping, "mapping");

	struct range range = {
		.start = mapping->start, .len = mapping->len, .pgoff = mapping->pgoff};
	const char *path = mapping->path ?: "";
	int r;

	if (!range.len || range.start + (range.len - 1) < range.start)
		return attar_fail(-EINVAL,
			"a mapping of process %d is empty or its range overflows", space->pids[0]);
	if (jitdump_is_path(path))
		set_jitdump(space, path);
	if (maps_is_anonymous(path)) {
		if (replaces_code(space, &range))
			return 0;
		range.dso = jit_dso(space);
		range.memfd = maps_is_memfd(path) ? file_dso(space, mapping) : 0;
		if (!range.memfd)
			range.pgoff = range.start;
	} else if (path[0] == '[') {
		range.dso = special_dso(space, mapping);
		range.pgoff = 0;
	} else {
		range.dso = file_dso(space, mapping);
	}
	ref_dsos(space, &range, 1);
	r = address_space_insert(space, &range);
	unref_dsos(space, &range, 1);
	if (r == 0)
		fill_hole(space, range.start);
	return r;
}

struct scan {
	struct attar_address_space *space;
	unsigned n;
};

static int scan_one(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct scan *scan = ctx;

	if (scan->n++ == SCANNED_MAX)
		return -E2BIG;
	return attar_address_space_map(scan->space, mapping) == -ENOMEM ? -ENOMEM : 0;
}

/* The process of another user may have many, to keep attar busy. */
static void note_cut(struct attar_address_space *space)
{
	if (!space->symbols->told_cut)
		log_note("process %d has more than %d mappings of code: code in the others has no "
			 "names, also of other such processes",
			(int)space->pids[0], SCANNED_MAX);
	space->is_cut = space->symbols->told_cut = true;
}

int attar_address_space_scan(struct attar_address_space *space)
{
	CHECK_ARG(space, "space");

	struct scan scan = {.space = space};
	int r = maps_read_code(space->pids[0], scan_one, &scan);

	if (r != -E2BIG)
		return r;
	note_cut(space);
	return 0;
}

/* ---- on the first location ---- */

static bool holds_elf(int fd)
{
	char magic[SELFMAG];

	return TEMP_FAILURE_RETRY(pread(fd, magic, SELFMAG, 0)) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static bool has_ended(pid_t pid)
{
	return pid <= 0 || !proc_running_thread(pid);
}

/*
 * A memfd is a JIT compiler's buffer or a program: runc runs a sealed copy of itself. After the
 * process has ended, it is a buffer if the files of a JIT compiler are left.
 */
static bool is_program(struct attar_address_space *space, const struct range *range)
{
	struct dso *jit = dsos_get(&space->symbols->dsos, range->dso);
	const struct dso *file = dsos_get(&space->symbols->dsos, range->memfd);
	struct dso_search where = {
		.key = &file->key, .start = range->start, .end = range->start + range->len};
	int fd _cleanup_close_ = -1;

	if (symbols_are_stored(space->symbols))
		return stored_match(space->symbols->stored, file);
	memcpy(where.pids, space->pids, sizeof(where.pids));
	fd = symbols_file(space->symbols, &where);
	if (fd >= 0 || !has_ended(space->pids[0]))
		return fd >= 0 && holds_elf(fd);
	symbols_open(space->symbols, jit, &where);
	return !jit->jit.path[0] && !jit->jit.dump_path;
}

static void settle_memfd(struct attar_address_space *space, struct range *range)
{
	uint16_t unused = range->memfd;

	if (is_program(space, range)) {
		unused = range->dso;
		range->dso = range->memfd;
	} else {
		range->pgoff = range->start;
	}
	range->memfd = 0;
	dsos_unref(&space->symbols->dsos, unused);
}

static void settle(struct attar_address_space *space, struct range *range)
{
	struct dso_search where = {.start = range->start, .end = range->start + range->len};
	struct dso *dso;

	if (range->memfd)
		settle_memfd(space, range);
	range->settled = true;
	dso = dsos_get(&space->symbols->dsos, range->dso);
	dso->kept = true;
	where.key = &dso->key;
	memcpy(where.pids, space->pids, sizeof(where.pids));
	symbols_open(space->symbols, dso, &where);
}

/* The range of an address, or NULL. The stacks of a program go through the same few ranges. */
static struct range *find_range(struct attar_address_space *space, uint64_t ip)
{
	struct range *range;
	size_t i;

	for (i = 0; i < SPACE_RECENT && (range = space->recent[i]); i++)
		if (ip - range->start < range->len)
			return range;
	i = first_after(space->ranges, ip);
	if (!space->ranges || i == space->ranges->n || space->ranges->at[i].start > ip)
		return NULL;
	range = &space->ranges->at[i];
	space->recent[space->oldest++ % SPACE_RECENT] = range;
	return range;
}

attar_location attar_address_space_locate(struct attar_address_space *space, uint64_t ip)
{
	struct range *range = find_range(space, ip);

	if (!range)
		return ip & PLACE_OFFSET;
	space->last = range;
	if (unlikely(!range->settled))
		settle(space, range);
	return (uint64_t)range->dso << 48 | ((ip - range->start + range->pgoff) & PLACE_OFFSET);
}
