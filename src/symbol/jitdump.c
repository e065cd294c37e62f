/* SPDX-License-Identifier: MIT */
#include "symbol/jitdump.h"

enum {
	CHUNK_BYTES = 64 << 10,
	LINE_BYTES = 16,        /* of a source line, before the path */
	LINE_RECORD_BYTES = 32, /* of the record with the lines of a function, before them */
	ELF_HEADER_BYTES = 64,  /* see find_line() */
};

#define MAGIC 0x4a695444u /* "JiTD"; of the other byte order: another machine's */

struct file_header {
	uint32_t magic, version, size, machine, unused, pid;
	uint64_t timestamp, flags;
};

struct record_header {
	uint32_t id, size; /* size: bytes, with this header */
	uint64_t timestamp;
};

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1, CODE_LINES = 2 };

struct code_load { /* the name with a NUL and the code follow */
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct code_move {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct code_lines {
	struct record_header header;
	uint64_t address, n;
};

static const char digits[] = "0123456789";

bool jitdump_is_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n;

	if (strncmp(name, "jit-", 4))
		return false;
	n = strspn(name + 4, digits);
	return n && !strcmp(name + 4 + n, ".dump");
}

/* ---- the index ---- */

/* Whether code can be added. At the limit of an index, no further records are read. */
static bool has_room(struct jitdump *dump, uint64_t start, uint64_t size)
{
	const size_t max = PERFMAP_MAX_ENTRIES;

	if (!size || start + size < start)
		return false;
	dump->ended |= dump->code.entries.n >= max || dump->newest.n >= max ||
		       dump->lines.n >= max || dump->moved.n >= max;
	return !dump->ended;
}

static int jitdump_add(struct jitdump *dump, uint64_t start, uint64_t size)
{
	struct perfmap_entry entry = {.start = start,
		.size = (uint32_t)MIN(size, (uint64_t)UINT32_MAX),
		.line = (uint32_t)dump->read};

	if (map_put(&dump->newest, start, dump->read) < 0)
		return -ENOMEM;
	return vec_push(&dump->code.entries, entry);
}

static int add_load(struct jitdump *dump, const struct code_load *load)
{
	uint32_t lines = dump->next_addr == load->address ? dump->next_lines : 0;
	int r;

	dump->next_lines = 0;
	if (!has_room(dump, load->address, load->size))
		return 0;
	r = jitdump_add(dump, load->address, load->size);
	return r == 0 && lines ? map_put(&dump->lines, dump->read, lines) : r;
}

/* Moved code has the name and the lines of where it was loaded. */
static int add_move(struct jitdump *dump, const struct code_move *move)
{
	const uint64_t *old = map_get(&dump->newest, move->from);
	uint64_t *origin, *lines, load;
	int r;

	if (!old || !has_room(dump, move->to, move->size))
		return 0;
	origin = map_get(&dump->moved, *old);
	lines = map_get(&dump->lines, *old);
	load = origin ? *origin : *old;
	r = lines ? map_put(&dump->lines, dump->read, *lines) : 0;
	if (r == 0)
		r = map_put(&dump->moved, dump->read, load);
	return r == 0 ? jitdump_add(dump, move->to, move->size) : r;
}

static bool read_at(
	const struct byte_source *source, uint64_t size, uint64_t at, void *bytes, size_t n)
{
	return size >= n && byte_source_read(source, at, bytes, n) == 0;
}

/* Indexes the record at dump->read, which is complete. */
static int add_record(
	struct jitdump *dump, const struct byte_source *source, const struct record_header *header)
{
	struct code_load load;
	struct code_move move;
	struct code_lines lines;

	switch (header->id) {
	case CODE_LOAD:
		if (!read_at(source, header->size, dump->read, &load, sizeof(load)))
			return 0;
		return add_load(dump, &load);
	case CODE_MOVE:
		if (!read_at(source, header->size, dump->read, &move, sizeof(move)))
			return 0;
		return add_move(dump, &move);
	case CODE_LINES: /* of the next record of loaded code */
		if (!read_at(source, header->size, dump->read, &lines, sizeof(lines)))
			return 0;
		dump->next_addr = lines.address;
		dump->next_lines = (uint32_t)dump->read;
	}
	return 0;
}

/* False: there is no header yet, or it is not the header of such a file. */
static bool read_header(struct jitdump *dump, const struct byte_source *source)
{
	struct file_header header;

	if (dump->read)
		return true;
	if (byte_source_read(source, 0, &header, sizeof(header)) < 0)
		return false;
	if (header.magic != MAGIC || header.size < sizeof(header)) {
		dump->ended = true;
		return false;
	}
	dump->read = header.size;
	return true;
}

static int add_records(struct jitdump *dump, const struct byte_source *source)
{
	struct record_header header;
	int r = 0;

	while (r == 0 && !dump->ended && dump->read < source->size &&
		source->size - dump->read >= sizeof(header)) {
		if (byte_source_read(source, dump->read, &header, sizeof(header)) < 0 ||
			header.size < sizeof(header) || dump->read + header.size > UINT32_MAX) {
			dump->ended = true;
			break;
		}
		if (header.size > source->size - dump->read)
			break; /* its rest is still to be written */
		r = add_record(dump, source, &header);
		dump->read += header.size;
	}
	return r;
}

int jitdump_index(struct jitdump *dump, const struct byte_source *source)
{
	size_t old = dump->code.entries.n;
	int r, merged;

	if (dump->ended || source->size <= dump->read || !read_header(dump, source))
		return 0;
	r = add_records(dump, source);
	merged = perfmap_merge(&dump->code, old);
	return r < 0 ? r : merged;
}

/* ---- names and lines ---- */

/* Reads the load record of an entry. */
static bool read_load(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, uint64_t *ret_at, struct code_load *ret_load)
{
	const uint64_t *origin = map_get(&dump->moved, entry->line);

	*ret_at = origin ? *origin : entry->line;
	return byte_source_read(source, *ret_at, ret_load, sizeof(*ret_load)) == 0 &&
	       ret_load->header.id == CODE_LOAD && ret_load->header.size >= sizeof(*ret_load);
}

int jitdump_name(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, struct buf *name)
{
	char text[PERFMAP_MAX_READ];
	struct code_load load;
	uint64_t at;
	size_t n;

	if (!read_load(dump, source, entry, &at, &load))
		return -ENODATA;
	n = MIN((size_t)load.header.size - sizeof(load), sizeof(text));
	if (byte_source_read(source, at + sizeof(load), text, n) < 0 || !n || !text[0])
		return -ENODATA;
	perfmap_add_name(name, text, n);
	return buf_failed(name) ? base_oom() : 0;
}

int jitdump_code(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, uint64_t address, void *bytes, size_t n,
	uint16_t *ret_machine)
{
	uint64_t at, offset = address - entry->start;
	struct file_header file;
	struct code_load load;

	if (!read_load(dump, source, entry, &at, &load) ||
		load.size > load.header.size - sizeof(load) || offset > load.size ||
		n > load.size - offset || byte_source_read(source, 0, &file, sizeof(file)) < 0)
		return -ENODATA;
	at += load.header.size - load.size + offset; /* the code is at the end of the record */
	if (byte_source_read(source, at, bytes, n) < 0)
		return -ENODATA;
	*ret_machine = (uint16_t)file.machine;
	return 0;
}

/* Bytes of a file, read in chunks from front to back. */
struct window {
	const struct byte_source *source;
	uint64_t at, end; /* in the file: what was not taken yet */
	char *chunk;
	size_t first, n; /* in chunk: what was read and not taken yet */
};

/* The next bytes: at least `least`, otherwise NULL. */
static const char *jitdump_fill(struct window *w, size_t least)
{
	if (w->n < least) {
		w->first = 0;
		w->n = MIN((uint64_t)CHUNK_BYTES, w->end - w->at);
		if (byte_source_read(w->source, w->at, w->chunk, w->n) < 0)
			w->n = 0;
	}
	return w->n < least ? NULL : w->chunk + w->first;
}

static void jitdump_take(struct window *w, size_t n)
{
	w->first += n;
	w->at += n;
	w->n -= n;
}

struct source_line {
	uint64_t address;
	uint32_t line;
	const char *file; /* borrowed until the next one */
	bool same_file;   /* as the line before */
};

/* Reads a line of the record. The file "\377" is the file of the line before. */
static bool take_line(struct window *w, struct source_line *ret_line)
{
	const char *bytes = jitdump_fill(w, LINE_BYTES), *nul;
	size_t n;

	if (bytes && !memchr(bytes + LINE_BYTES, '\0', w->n - LINE_BYTES)) {
		w->n = 0; /* the path ends beyond the chunk */
		bytes = jitdump_fill(w, LINE_BYTES);
	}
	if (!bytes)
		return false;
	n = MIN(w->n - LINE_BYTES, (size_t)JITDUMP_MAX_PATH);
	nul = memchr(bytes + LINE_BYTES, '\0', n);
	if (!nul)
		return false;
	memcpy(&ret_line->address, bytes, 8);
	memcpy(&ret_line->line, bytes + 8, 4);
	ret_line->file = bytes + LINE_BYTES;
	ret_line->same_file = !strcmp(ret_line->file, "\377");
	jitdump_take(w, (size_t)(nul + 1 - bytes));
	return true;
}

/*
 * The line of the highest address up to this one. False: there is none; or a line is of other code,
 * so that the record is malformed: V8 11.3 writes paths of another length than declared. V8 adds to
 * each address the size of the header of the ELF file that perf inject writes around the code.
 */
static bool find_line(struct window *w, uint64_t n, const struct code_load *load, uint64_t address,
	struct buf *file, uint32_t *ret_line)
{
	struct buf current _cleanup_(buf_done) = {0};
	struct source_line line;
	uint64_t best = 0, bias = 0;
	bool found = false;

	for (uint64_t i = 0; i < n; i++) {
		if (!take_line(w, &line))
			return false;
		if (i == 0 && line.address - load->address == ELF_HEADER_BYTES)
			bias = ELF_HEADER_BYTES;
		line.address -= bias;
		if (line.address - load->address > load->size)
			return false;
		if (!line.same_file) {
			buf_reset(&current);
			buf_str(&current, line.file);
		}
		if (line.address > address || (found && line.address < best))
			continue;
		found = true;
		best = line.address;
		*ret_line = line.line;
		buf_reset(file);
		buf_str(file, buf_text(&current));
	}
	return found && file->len && !buf_failed(&current);
}

int jitdump_line(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, uint64_t address, struct buf *file, uint32_t *ret_line)
{
	const uint64_t *record = map_get(&dump->lines, entry->line);
	char *chunk _cleanup_free_ = NULL;
	struct window w = {.source = source};
	struct code_lines lines;
	struct code_load load;
	uint64_t at;

	if (!record || !read_load(dump, source, entry, &at, &load) ||
		byte_source_read(source, *record, &lines, sizeof(lines)) < 0 ||
		lines.header.id != CODE_LINES || lines.header.size < LINE_RECORD_BYTES)
		return -ENODATA;
	chunk = malloc(CHUNK_BYTES);
	if (!chunk)
		return base_oom();
	w.chunk = chunk;
	w.at = *record + LINE_RECORD_BYTES;
	w.end = *record + lines.header.size;
	lines.n = MIN(lines.n, (uint64_t)JITDUMP_MAX_LINES);
	/* Lines have the addresses of where the code was loaded. */
	address += load.address - entry->start;
	return find_line(&w, lines.n, &load, address, file, ret_line) ? 0 : -ENODATA;
}

size_t jitdump_bytes(const struct jitdump *dump)
{
	return perfmap_bytes(&dump->code) +
	       (dump->newest.size + dump->lines.size + dump->moved.size) * sizeof(struct map_slot);
}

void jitdump_done(struct jitdump *dump)
{
	perfmap_done(&dump->code);
	map_done(&dump->newest);
	map_done(&dump->lines);
	map_done(&dump->moved);
	*dump = (struct jitdump){0};
}
