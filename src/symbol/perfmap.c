/* SPDX-License-Identifier: MIT */
#include "symbol/perfmap.h"

#include "base/parse.h"

enum {
	READ_BYTES = 2 * PERFMAP_MAX_LINE,
	MAX_NESTED = 64, /* entries looked at for the newest that covers an address */
};

/* Parses a hexadecimal number and the blanks after it. NULL if missing, or larger than 64 bits. */
static const char *take_hex(const char *p, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *first;
	int digit;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	for (first = p; p < end && (digit = parse_hex_digit(*p)) >= 0; p++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (unsigned)digit;
	}
	if (p == first || p == end || *p != ' ')
		return NULL;
	while (p < end && *p == ' ')
		p++;
	*ret_value = value;
	return p;
}

/* Parses a line without its newline. Returns the start of the name, NULL if it is not an entry. */
static const char *perfmap_split(
	const char *p, const char *end, uint64_t *ret_start, uint64_t *ret_size)
{
	p = take_hex(p, end, ret_start);
	if (p)
		p = take_hex(p, end, ret_size);
	if (!p || p == end || !*ret_size || *ret_start + *ret_size < *ret_start)
		return NULL;
	return p;
}

/*
 * Adds the complete lines of text, which is at file offset `at`. Returns their size in bytes, or a
 * negative errno.
 */
static ssize_t add_lines(struct perfmap *map, const char *text, size_t n, uint64_t at)
{
	const char *p = text, *end = text + n, *newline;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		uint64_t start, size;

		if (map->entries.n >= PERFMAP_MAX_ENTRIES) {
			map->ended = true;
			break;
		}
		if (perfmap_split(p, newline, &start, &size)) {
			struct perfmap_entry entry = {
				.start = start,
				.size = (uint32_t)MIN(size, (uint64_t)UINT32_MAX),
				.line = (uint32_t)(at + (uint64_t)(p - text)),
			};

			if (vec_push(&map->entries, entry) < 0)
				return base_oom();
		}
		p = newline + 1;
	}
	return p - text;
}

static int add_from(struct perfmap *map, const struct byte_source *source, char *chunk)
{
	while (!map->ended && map->read < source->size) {
		size_t n = MIN((uint64_t)READ_BYTES, source->size - map->read);
		ssize_t used;

		if (map->read >= PERFMAP_MAX_BYTES ||
			byte_source_read(source, map->read, chunk, n) < 0) {
			map->ended = true;
			break;
		}
		used = add_lines(map, chunk, n, map->read);
		if (used < 0)
			return (int)used;
		if (!used) { /* half a line: its rest is still to come */
			map->ended = n > PERFMAP_MAX_LINE;
			break;
		}
		map->read += (uint64_t)used;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct perfmap_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Of entries with the same start, the last is the newest. */
static void keep_newest(struct perfmap *map)
{
	struct perfmap_entry *at = map->entries.at;
	size_t kept = 0;

	for (size_t i = 0; i < map->entries.n; i++) {
		if (kept && at[kept - 1].start == at[i].start)
			kept--;
		at[kept++] = at[i];
	}
	map->entries.n = kept;
}

int perfmap_merge(struct perfmap *map, size_t old)
{
	size_t n = map->entries.n, fresh = n - old;
	struct perfmap_entry *at = map->entries.at, *tail;

	if (!fresh)
		return 0;
	qsort(at + old, fresh, sizeof(*at), by_start);
	if (old && by_start(&at[old - 1], &at[old]) > 0) {
		tail = malloc(fresh * sizeof(*tail));
		if (!tail)
			return base_oom();
		memcpy(tail, at + old, fresh * sizeof(*tail));
		while (fresh) /* from the back, each to its location */
			at[--n] = old && by_start(&at[old - 1], &tail[fresh - 1]) > 0
					  ? at[--old]
					  : tail[--fresh];
		free(tail);
	}
	keep_newest(map);
	return 0;
}

int perfmap_index(struct perfmap *map, const struct byte_source *source)
{
	char *chunk _cleanup_free_ = NULL;
	size_t old = map->entries.n;
	int r, merged;

	if (map->ended || source->size <= map->read)
		return 0;
	chunk = malloc(READ_BYTES);
	if (!chunk)
		return base_oom();
	r = add_from(map, source, chunk);
	merged = perfmap_merge(map, old);
	return r < 0 ? r : merged;
}

const struct perfmap_entry *perfmap_find(const struct perfmap *map, uint64_t address)
{
	const struct perfmap_entry *at = map->entries.at, *best = NULL;
	size_t low = 0, high = map->entries.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, steps = 0; i-- > 0 && steps < MAX_NESTED; steps++)
		if (address - at[i].start < at[i].size && (!best || at[i].line > best->line))
			best = &at[i];
	return best;
}

/*
 * Reads the line at entry->line, up to max bytes of it. Returns its bytes without the newline, or
 * 0.
 */
static size_t read_line(
	const struct byte_source *source, const struct perfmap_entry *entry, char *line, size_t max)
{
	size_t n = entry->line < source->size ? MIN((uint64_t)max, source->size - entry->line) : 0;
	const char *newline;

	if (!n || byte_source_read(source, entry->line, line, n) < 0)
		return 0;
	newline = memchr(line, '\n', n);
	return newline ? (size_t)(newline - line) : n;
}

void perfmap_add_name(struct buf *name, const char *text, size_t n)
{
	enum { HASH = 17 }; /* "#0123456789abcdef" */
	size_t cut = PERFMAP_MAX_NAME - HASH;

	n = strnlen(text, n);
	if (n <= PERFMAP_MAX_NAME) {
		buf_add(name, text, n);
		return;
	}
	while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80) /* within a character of UTF-8 */
		cut--;
	buf_add(name, text, cut ?: PERFMAP_MAX_NAME - HASH);
	buf_printf(name, "#%016llx", (unsigned long long)base_hash_bytes(BASE_HASH_START, text, n));
}

int perfmap_name(
	const struct byte_source *source, const struct perfmap_entry *entry, struct buf *name)
{
	enum { USUAL = 512 };
	char line[PERFMAP_MAX_READ + 64];
	size_t n = read_line(source, entry, line, USUAL);
	uint64_t start, size;
	const char *text;

	if (n == USUAL)
		n = read_line(source, entry, line, sizeof(line));
	text = perfmap_split(line, line + n, &start, &size);
	if (!text || start != entry->start || !*text)
		return -ENODATA;
	perfmap_add_name(name, text, MIN((size_t)(line + n - text), (size_t)PERFMAP_MAX_READ));
	return buf_failed(name) ? base_oom() : 0;
}

size_t perfmap_bytes(const struct perfmap *map)
{
	return map->entries.size * sizeof(*map->entries.at);
}

void perfmap_done(struct perfmap *map)
{
	vec_done(&map->entries);
	*map = (struct perfmap){0};
}
