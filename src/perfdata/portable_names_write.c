/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "attar/private/symbol.h"
#include "base/file_limit.h"
#include "dwarf/cfi.h"
#include "elf/kernel_notes.h"
#include "perfdata/internal.h"
#include "perfdata/portable_names.h"
#include "perfdata/writer_internal.h"
#include "symbol/symbols.h"

enum { RULE_BITS = 9, RULE_VALUE = (1 << 23) - 1 };

/* The modules are written one after the other, and the texts that they refer to in front. */
struct encoder {
	struct attar_symbols *symbols;
	struct intern texts;
	struct buf modules;
	uint32_t n_modules;
	bool failed;
};

static void put_text(struct encoder *e, const char *text, struct buf *b)
{
	uint32_t number = 0;

	if (text && *text && intern_id(&e->texts, text, &number) < 0)
		e->failed = true;
	writer_put_u32(b, number);
}

static void put_build_id(struct buf *b, const uint8_t *id, size_t size)
{
	uint8_t bytes[ELF_MAX_BUILD_ID] = {0};

	if (size)
		memcpy(bytes, id, size);
	writer_put_u32(b, (uint32_t)size);
	buf_add(b, bytes, sizeof(bytes));
}

/* ---- call frame information ---- */

static uint32_t rule_word(struct cfi_rule rule)
{
	return (uint32_t)rule.reg | (uint32_t)rule.how << 6 |
	       ((uint32_t)rule.value & RULE_VALUE) << RULE_BITS;
}

static void put_rules(const struct cfi_rules *rules, struct buf *b)
{
	writer_put_u32(b, (uint32_t)(rules->n | rules->cfa_reg << 8 | rules->return_reg << 16 |
				     rules->cfa_expression << 24 | rules->is_signal << 25));
	writer_put_u32(b, (uint32_t)rules->cfa_offset);
	for (unsigned i = 0; i < rules->n; i++)
		writer_put_u32(b, rule_word(rules->rules[i]));
}

static void put_cfi(const struct cfi_table *table, struct buf *b)
{
	writer_put_u32(b, table->machine);
	writer_put_u32(b, (uint32_t)table->expressions.n);
	vec_each (&table->expressions, it) {
		writer_put_u32(b, it->size);
		buf_add(b, table->bytes.at + it->offset, it->size);
	}
	writer_put_u32(b, (uint32_t)table->at.n);
	for (size_t i = 1; i < table->at.n; i++)
		put_rules(cfi_table_rules(table, i), b);
	writer_put_u32(b, table->n);
	for (uint32_t i = 0; i < table->n; i++) {
		writer_put_u32(b, table->starts[i]);
		writer_put_u32(b, table->rule_of[i]);
	}
}

/* ---- locations ---- */

struct place_frames {
	uint32_t first, n;
};

/* The frames of a module, one place after another in any order. */
struct module_frames {
	struct encoder *e;
	struct place_frames *of; /* by the index of the location; owned */
	uint32_t n;
	struct buf bytes;
};

/* Adds none if they add nothing to the symbol. */
static void put_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct module_frames *all = ctx;
	struct buf *b = &all->bytes;

	if (n == 1 && !frames[0].file && !frames[0].line)
		return;
	for (size_t i = 0; i < n; i++) {
		put_text(all->e, frames[i].mangled, b);
		put_text(all->e, frames[i].file, b);
		writer_put_u32(b, frames[i].line);
		writer_put_u32(b, frames[i].column);
		writer_put_u32(b, frames[i].inlined);
	}
	all->of[index] = (struct place_frames){.first = all->n, .n = (uint32_t)n};
	all->n += (uint32_t)n;
}

static void put_place(
	struct encoder *e, attar_location location, uint32_t frame, uint32_t frames, struct buf *b)
{
	struct attar_symbol symbol;
	bool named = attar_symbols_resolve(e->symbols, location, &symbol) == 0;
	bool is_separate = symbol.kind == ATTAR_DSO_IS_KERNEL || symbol.kind == ATTAR_DSO_IS_JIT;

	writer_put_u64(b, location & PLACE_OFFSET);
	writer_put_u64(b, named ? symbol.start : 0);
	writer_put_u64(b, named ? symbol.size : 0);
	writer_put_u64(b, named ? symbol.offset : 0);
	put_text(e, named ? symbol.mangled : NULL, b);
	put_text(e, is_separate ? symbol.dso : NULL, b);
	writer_put_u32(b, frame);
	writer_put_u32(b, frames);
}

static void put_key(struct encoder *e, const struct dso *dso, const char *shown, struct buf *b)
{
	const struct dso_key *key = &dso->key;
	bool jit = key->kind == ATTAR_DSO_IS_JIT;

	writer_put_u32(b, key->kind);
	writer_put_u32(b, jit ? 0 : key->owner);
	writer_put_u32(b, jit ? (uint32_t)dso->jit.pid : 0);
	writer_put_u32(b, key->generation);
	writer_put_u64(b, key->dev);
	writer_put_u64(b, key->ino);
	put_build_id(b, key->build_id, key->build_id_size);
	put_text(e, key->path, b);
	put_text(e, jit ? shown : NULL, b);
}

/* The build ID of the file that was read, or of the running kernel. */
static void put_file_id(struct encoder *e, attar_location location)
{
	uint8_t ours[ELF_MAX_BUILD_ID];
	const uint8_t *id = ours;
	size_t size = attar_location_dso(location) == ATTAR_DSO_KERNEL
			      ? kernel_notes_build_id(ours)
			      : symbols_build_id(e->symbols, location, &id);

	put_build_id(&e->modules, id, size);
}

/* The locations of one module, which are sorted. */
static void put_module(struct encoder *e, const attar_location *locations, size_t n)
{
	struct place_frames *of _cleanup_free_ = calloc(n, sizeof(*of));
	struct module_frames all = {.e = e, .of = of};
	struct buf places _cleanup_(buf_done) = {0};
	struct dso *dso = dsos_get(&e->symbols->dsos, attar_location_dso(locations[0]));
	enum attar_dso_kind kind;

	if (!of || symbols_frames_batch(e->symbols, locations, n, put_frames, &all) < 0)
		e->failed = true;
	symbols_prefetch(e->symbols, locations, n);
	for (size_t i = 0; of && i < n; i++)
		put_place(e, locations[i], of[i].n ? of[i].first : 0, of[i].n, &places);
	put_key(e, dso, attar_symbols_dso(e->symbols, locations[0], &kind), &e->modules);
	put_file_id(e, locations[0]);
	writer_put_u32(&e->modules, (uint32_t)n);
	writer_put_u32(&e->modules, all.n);
	writer_put_u32(&e->modules, dso->cfi_read);
	buf_add(&e->modules, all.bytes.data, all.bytes.len);
	buf_add(&e->modules, places.data, places.len);
	e->failed |= cfi_complete(dso_cfi(dso)) < 0;
	if (dso->cfi_read)
		put_cfi(dso_cfi(dso), &e->modules);
	e->failed |= buf_failed(&all.bytes) || buf_failed(&places);
	buf_done(&all.bytes);
	e->n_modules++;
}

static void put_all(const struct encoder *e, struct buf *bytes)
{
	size_t at;
	uint64_t size;

	writer_put_u64(bytes, NAMES_MAGIC);
	writer_put_u32(bytes, NAMES_VERSION);
	writer_put_u32(bytes, (uint32_t)e->texts.n);
	at = bytes->len;
	writer_put_u64(bytes, 0);
	for (uint32_t i = 1; i <= e->texts.n; i++)
		buf_add(bytes, intern_get(&e->texts, i), strlen(intern_get(&e->texts, i)) + 1);
	size = bytes->len - at - sizeof(size);
	if (!buf_failed(bytes))
		memcpy(bytes->data + at, &size, sizeof(size));
	writer_put_u32(bytes, e->n_modules);
	buf_add(bytes, e->modules.data, e->modules.len);
}

static int by_value(const void *a, const void *b)
{
	attar_location x = *(const attar_location *)a, y = *(const attar_location *)b;

	return (x > y) - (x < y);
}

int portable_names_encode(
	struct attar_symbols *symbols, const attar_location *locations, size_t n, struct buf *bytes)
{
	attar_location *sorted _cleanup_free_ = malloc((n ?: 1) * sizeof(*sorted));
	struct encoder e = {.symbols = symbols};

	if (!sorted)
		return base_oom();
	if (n)
		memcpy(sorted, locations, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	for (size_t i = 0, end; i < n; i = end) {
		unsigned dso = attar_location_dso(sorted[i]);

		for (end = i; end < n && attar_location_dso(sorted[end]) == dso;)
			end++;
		if (dsos_get(&symbols->dsos, dso)->key.kind != ATTAR_DSO_IS_UNKNOWN)
			put_module(&e, sorted + i, end - i);
	}
	put_all(&e, bytes);
	e.failed |= buf_failed(&e.modules) || buf_failed(bytes);
	intern_done(&e.texts);
	buf_done(&e.modules);
	return e.failed ? base_oom() : 0;
}

/* ---- the file ---- */

/* Where the header refers to the feature, which has the highest number: the end of the table. */
static uint64_t entry_of(const struct data_header *header)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(header->features); i++)
		n += (unsigned)__builtin_popcountll(header->features[i]);
	return header->data.offset + header->data.size +
	       (uint64_t)(n - 1) * sizeof(struct data_section);
}

static int put(int fd, const struct buf *bytes)
{
	struct data_header header;
	struct data_section section = {.size = bytes->len};
	off_t end = lseek(fd, 0, SEEK_END);
	ssize_t n;

	if (end < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return errno ? -errno : -EBADMSG;
	if (!(header.features[FEATURE_NAMES / 64] >> FEATURE_NAMES % 64 & 1))
		return -EBADMSG;
	section.offset = (uint64_t)end;
	for (size_t at = 0; at < bytes->len;) {
		n = TEMP_FAILURE_RETRY(
			pwrite(fd, bytes->data + at, bytes->len - at, end + (off_t)at));
		if (n <= 0) {
			int error = n ? -errno : -EIO;

			(void)!ftruncate(fd, end);
			return error;
		}
		at += (size_t)n;
	}
	n = pwrite(fd, &section, sizeof(section), (off_t)entry_of(&header));
	if (n == sizeof(section))
		return 0;
	return n < 0 ? -errno : -EIO;
}

int portable_names_put(const char *path, const struct buf *bytes)
{
	int fd, r;

	if (bytes->len > RECORDING_FEATURE_MAX)
		return attar_fail(-EFBIG,
			"%s gets no names: they would have %zu bytes, at most %d are supported",
			CLIP(path), bytes->len, RECORDING_FEATURE_MAX);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return file_limit_fail(errno, "cannot open %s", CLIP(path));
	errno = 0;
	r = put(fd, bytes);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r < 0 ? attar_fail(r, "cannot write names to %s: %s", CLIP(path), strerror(-r)) : 0;
}
