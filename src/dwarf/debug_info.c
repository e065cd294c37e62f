/* SPDX-License-Identifier: MIT */
#include "dwarf/debug_info.h"

#include "dwarf/function_name.h"
#include "dwarf/line_table.h"
#include "dwarf/scopes.h"
#include "dwarf/split.h"
#include "dwarf/unit_index.h"
#include "elf/go_table.h"

enum {
	TABLES_BYTES_MAX = 64 << 20,
	NAMES_MAX = 1 << 20,     /* numbers of names kept by entry */
	STRINGS_MAX = 192 << 20, /* bytes of names and paths */
	ENTRY_SHORT = 128,       /* bytes of most entries at most */
	ENTRY_BYTES = 4 << 10,   /* of the attributes of an entry, at most */
	FRAMES_MAX = 1 << 10,    /* functions inlined into each other */
	PARTS_MAX = 3,           /* parts that take less time to read than all of a unit */
	SPLIT_FILES_MAX = 16,    /* .dwo files that are open */
};

/* The tables of a unit. */
struct tables {
	struct debug_unit *unit;
	struct split_unit split; /* unit.file is NULL if it is not split */
	struct line_table lines;
	struct scope_table scopes;
	const char **paths; /* of files, interned; NULL: not known yet */
	uint64_t from, to;  /* the code that they have */
	size_t bytes;
	uint64_t used; /* when it was last used */
};

struct debug_info {
	struct debug_info_options options;
	struct debug_file file;
	struct unit_index index;
	struct split split;
	struct debug_file alt; /* dwz's */
	struct unit_index alt_index;
	bool alt_opened;
	struct go_table *go; /* lines of a Go program, for code without others; owned, or NULL */
	bool go_opened;
	struct map
		names; /* from entry (bit 63: of the dwz file), or string (bit 62), to its number */
	struct map by_unit; /* from offset of the unit to struct tables, owned */
	struct tables *last;
	uint64_t last_from, last_to; /* code of its unit; last_to 0: not known */
	size_t expected;             /* addresses of the next unit */
	uint64_t end;                /* see debug_info_end() */
	uint64_t clock;
	struct debug_info_stats stats;
};

/* ---- tables ---- */

static const struct debug_unit *scope_unit(const struct tables *tables)
{
	return tables->split.unit.file ? &tables->split.unit : tables->unit;
}

static void tables_free(struct debug_info *info, struct tables *tables)
{
	if (!tables)
		return;
	if (info->last == tables)
		info->last = NULL;
	line_table_done(&tables->lines);
	scope_table_done(&tables->scopes);
	if (tables->split.own)
		unit_index_forget(&info->index, tables->split.own);
	split_unit_close(&info->split, &tables->split);
	free(tables->paths);
	free(tables);
}

static void debug_info_drop(struct debug_info *info, struct tables *tables)
{
	info->stats.bytes -= tables->bytes;
	map_remove(&info->by_unit, tables->unit->offset);
	tables_free(info, tables);
}

/* Makes room after a unit was read. */
static void limit(struct debug_info *info, const struct tables *used)
{
	while (info->stats.bytes > info->options.max_bytes || info->split.open > SPLIT_FILES_MAX) {
		bool files = info->stats.bytes <= info->options.max_bytes;
		struct tables *oldest = NULL;

		map_each (&info->by_unit, slot) {
			struct tables *tables = (struct tables *)(uintptr_t)slot->value;

			if (tables != used && (!files || tables->split.own) &&
				(!oldest || tables->used < oldest->used))
				oldest = tables;
		}
		if (!oldest)
			return;
		info->stats.units_dropped++;
		debug_info_drop(info, oldest);
	}
}

/* Functions can be defined inside others: one that was not found may have been skipped. */
static int read_scopes(struct debug_info *info, struct tables *tables, const uint64_t *only)
{
	const struct debug_unit *unit = scope_unit(tables);
	const struct abbrevs *abbrevs = unit_index_abbrevs(&info->index, unit);
	int r;

	tables->scopes.to = UINT64_MAX;
	if (!abbrevs)
		return 0;
	r = scope_table_read(unit, abbrevs, only, &tables->scopes);
	if (r >= 0 && only && !scope_table_find(&tables->scopes, *only)) {
		scope_table_done(&tables->scopes);
		r = scope_table_read(unit, abbrevs, NULL, &tables->scopes);
	}
	return r;
}

static int read_tables(struct debug_info *info, struct tables *tables, const uint64_t *only)
{
	int r = line_table_read(tables->unit, only, &tables->lines);

	if (r == -ENOMEM)
		return r;
	if (tables->unit->dwo_name.class)
		split_open(&info->split, &info->index, tables->unit, &tables->split);
	if (read_scopes(info, tables, only) == -ENOMEM)
		return -ENOMEM;
	tables->from = MAX(tables->lines.from, tables->scopes.from);
	tables->to = MIN(tables->lines.to, tables->scopes.to);
	tables->paths = calloc(tables->lines.files.n + 1, sizeof(*tables->paths));
	if (!tables->paths)
		return base_oom();
	tables->bytes = sizeof(*tables) + line_table_memory(&tables->lines) +
			scope_table_memory(&tables->scopes) +
			(tables->lines.files.n + 1) * sizeof(*tables->paths);
	return 0;
}

static bool has_code(const struct tables *tables, uint64_t vaddr)
{
	return tables->from <= vaddr && vaddr < tables->to;
}

/* The tables that were read with the code of an address, or NULL. */
static struct tables *loaded(struct debug_info *info, const struct debug_unit *unit, uint64_t vaddr)
{
	const uint64_t *known = map_get(&info->by_unit, unit->offset);
	struct tables *tables = known ? (struct tables *)(uintptr_t)*known : NULL;

	if (!tables)
		return NULL;
	if (has_code(tables, vaddr))
		return tables;
	debug_info_drop(info, tables);
	return NULL;
}

static struct tables *debug_info_load(
	struct debug_info *info, struct debug_unit *unit, uint64_t vaddr)
{
	bool part = unit->parts < PARTS_MAX && info->expected <= PARTS_MAX;
	struct tables *tables = info->last;

	if (tables && tables->unit == unit && has_code(tables, vaddr))
		return tables;
	tables = loaded(info, unit, vaddr);
	if (tables) {
		tables->used = ++info->clock;
		info->last = tables;
		return tables;
	}
	tables = calloc(1, sizeof(*tables));
	if (!tables)
		return NULL;
	tables->used = ++info->clock;
	tables->unit = unit;
	unit->parts += part;
	if (read_tables(info, tables, part ? &vaddr : NULL) < 0 ||
		map_put(&info->by_unit, unit->offset, (uintptr_t)tables) < 0) {
		tables_free(info, tables);
		attar_error_clear();
		return NULL;
	}
	info->last = tables;
	info->stats.units_read++;
	info->stats.bytes += tables->bytes;
	limit(info, tables);
	return tables;
}

/* ---- the dwz file ---- */

static bool is_build(const struct debug_file *file, const uint8_t *id, size_t n)
{
	uint8_t found[ELF_MAX_BUILD_ID];

	return elf_build_id(&file->elf, found) == n && !memcmp(found, id, n);
}

/* Returns 0 or a negative errno: -ESTALE if it is of another build. */
static int try_alt(struct debug_info *info, const char *path, const uint8_t *id, size_t n)
{
	struct byte_source source;
	int fd = info->options.open(info->options.ctx, path), r;

	if (fd < 0)
		return fd;
	if (byte_source_file(fd, &source) < 0) {
		close(fd);
		return -EBADMSG;
	}
	r = debug_file_init(&info->alt, &source, false);
	if (r < 0)
		return r;
	if (is_build(&info->alt, id, n))
		return 0;
	debug_file_done(&info->alt);
	return -ESTALE;
}

/* ROOT/.build-id/ab/cdef.debug */
static bool try_build_id(struct debug_info *info, const uint8_t *id, size_t n)
{
	for (const char *p = info->options.roots ?: ""; *p && n > 1; p += strspn(p, ":")) {
		struct buf path _cleanup_(buf_done) = {0};
		size_t length = strcspn(p, ":");

		buf_add(&path, p, length);
		buf_printf(&path, "/.build-id/%02x/", id[0]);
		for (size_t i = 1; i < n; i++)
			buf_printf(&path, "%02x", id[i]);
		buf_str(&path, ".debug");
		if (length && try_alt(info, buf_text(&path), id, n) == 0)
			return true;
		p += length;
	}
	return false;
}

/* .gnu_debugaltlink: a path, which may be relative to the debug file, and a build ID. */
static void open_alt(struct debug_info *info)
{
	const struct elf_section *link = elf_section_named(&info->file.elf, ".gnu_debugaltlink");
	struct buf path _cleanup_(buf_done) = {0};
	uint8_t *bytes _cleanup_free_ = NULL;
	const char *slash;
	size_t n, rest;
	int r;

	if (!link || !info->options.open ||
		elf_section_read(&info->file.elf, link, 8192, &bytes) < 0)
		return;
	n = strlen((char *)bytes);
	rest = n < link->size ? link->size - n - 1 : 0;
	if (!n || !rest || rest > ELF_MAX_BUILD_ID)
		return;
	slash = info->options.path ? strrchr(info->options.path, '/') : NULL;
	if (bytes[0] != '/' && slash)
		buf_add(&path, info->options.path, (size_t)(slash - info->options.path) + 1);
	buf_str(&path, (char *)bytes);
	r = try_alt(info, buf_text(&path), bytes + n + 1, rest);
	if (r == 0 || try_build_id(info, bytes + n + 1, rest))
		info->alt_index.file = &info->alt;
	else if (info->options.missing)
		info->options.missing(
			info->options.ctx, DEBUG_PART_DWZ, buf_text(&path), debug_file_reason(r));
}

static struct debug_file *alt_file(struct debug_info *info)
{
	if (!info->alt_opened)
		open_alt(info);
	info->alt_opened = true;
	return info->alt_index.file;
}

/* ---- names ---- */

/* Takes the attributes of an entry of which n bytes were read. False: it is longer. */
static bool take_naming(const struct debug_unit *unit, const struct abbrevs *abbrevs,
	struct debug_reader *reader, struct naming *naming)
{
	const struct abbrev *abbrev = abbrevs_find(abbrevs, cursor_uleb(&reader->c));

	for (uint32_t i = 0; abbrev && i < abbrev->n; i++) {
		const struct abbrev_attribute *a = &abbrevs->attributes.at[abbrev->first + i];
		struct debug_value value;

		if (!debug_value_take(unit, reader, &a->form, a->implicit, &value))
			return false;
		naming_take(naming, a->name, &value);
	}
	return true;
}

static bool read_naming(struct debug_info *info, const struct debug_unit *unit, uint64_t offset,
	struct naming *naming)
{
	const struct abbrevs *abbrevs = unit_index_abbrevs(&info->index, unit);
	uint64_t rest = unit->end - offset;

	*naming = (struct naming){0};
	for (uint64_t n = ENTRY_SHORT; abbrevs; n = ENTRY_BYTES) {
		struct debug_reader reader = {.offset = offset};

		reader.start = reader.c.at =
			debug_file_view(unit->file, DEBUG_INFO, offset, (size_t)MIN(rest, n));
		if (!reader.start)
			return false;
		reader.c.end = reader.start + MIN(rest, n);
		if (take_naming(unit, abbrevs, &reader, naming) || n >= MIN(rest, ENTRY_BYTES))
			return true;
	}
	return false;
}

static uint32_t intern_name(struct debug_info *info, const struct buf *text)
{
	uint32_t number = 0;

	if (!text->len || buf_failed(text) || info->options.strings->bytes > STRINGS_MAX ||
		intern_id(info->options.strings, buf_text(text), &number) < 0)
		return 0;
	return number;
}

/* The name with a number; NULL: it is 0. */
static const char *text_with(const struct debug_info *info, uint32_t number)
{
	return number ? intern_get(info->options.strings, number) : NULL;
}

static uint32_t text_of(
	struct debug_info *info, const struct debug_unit *unit, const struct debug_value *value)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct debug_file *alt = value->class == DEBUG_ALT_STRING ? alt_file(info) : NULL;

	if (!value->class || !debug_unit_string(unit, value, alt, DEBUG_INFO, &text))
		return 0;
	return intern_name(info, &text);
}

/* The unit of an entry that another refers to. */
static const struct debug_unit *unit_at(
	struct debug_info *info, const struct debug_unit *from, const struct debug_value *ref)
{
	if (ref->class == DEBUG_ALT_REF)
		return alt_file(info) ? unit_index_at(&info->alt_index, ref->u) : NULL;
	if (ref->class != DEBUG_REF)
		return NULL;
	if (ref->u >= from->root && ref->u < from->end)
		return from;
	if (from->file == &info->file)
		return unit_index_at(&info->index, ref->u);
	return from->file == &info->alt ? unit_index_at(&info->alt_index, ref->u) : NULL;
}

/* The key of an entry in info->names; 0: not kept, because the file may be closed. */
static uint64_t key_of(
	const struct debug_info *info, const struct debug_unit *unit, uint64_t offset)
{
	if (unit->file == &info->file)
		return offset;
	return unit->file == &info->alt ? offset | 1ULL << 63 : 0;
}

static uint32_t find_name(struct debug_info *info, const struct debug_unit *unit, uint64_t offset)
{
	uint32_t plain = 0, number;
	struct naming naming;

	for (int i = 0; unit && i < NAMING_ORIGINS_MAX; i++) {
		if (!read_naming(info, unit, offset, &naming))
			break;
		number = text_of(info, unit, &naming.linkage);
		if (number)
			return number;
		if (!plain)
			plain = text_of(info, unit, &naming.name);
		offset = naming.origin.u;
		unit = unit_at(info, unit, &naming.origin);
	}
	return plain;
}

/* Keeps the number of a name. key: 0: it is not kept. */
static uint32_t keep_name(struct debug_info *info, uint64_t key, uint32_t name)
{
	if (info->names.n >= NAMES_MAX)
		map_done(&info->names);
	if (key)
		map_put(&info->names, key, name);
	return name;
}

/* Many inlined copies of a function have the same origin: its name is kept. */
static uint32_t name_of_origin(
	struct debug_info *info, const struct debug_unit *unit, uint64_t offset)
{
	uint64_t key = key_of(info, unit, offset);
	const uint64_t *known = key ? map_get(&info->names, key) : NULL;

	if (known)
		return (uint32_t)*known;
	return keep_name(info, key, find_name(info, unit, offset));
}

/* The linker stores equal strings once: functions inlined into several units share their names. */
static uint32_t name_of_value(
	struct debug_info *info, const struct debug_unit *unit, const struct debug_value *value)
{
	bool keep = unit->file == &info->file &&
		    (value->class == DEBUG_STRING || value->class == DEBUG_LINE_STRING);
	uint64_t key = 1ULL << 62 | (uint64_t)value->class << 32 | value->u;
	const uint64_t *known = keep ? map_get(&info->names, key) : NULL;

	return known ? (uint32_t)*known
		     : keep_name(info, keep ? key : 0, text_of(info, unit, value));
}

static const char *scope_name(struct debug_info *info, struct tables *tables, struct scope *scope)
{
	const struct debug_unit *unit = scope_unit(tables), *origin;
	uint64_t offset = unit->offset + scope->entry;
	struct naming naming;

	if (scope->name_class) {
		struct debug_value value = {.u = scope->name, .class = scope->name_class};

		scope->name_class = DEBUG_NONE;
		origin = unit_at(info, unit, &value);
		scope->name = origin ? name_of_origin(info, origin, value.u)
				     : name_of_value(info, unit, &value);
	}
	if (!scope->name && read_naming(info, unit, offset, &naming)) {
		scope->name = text_of(info, unit, &naming.linkage);
		origin = scope->name ? NULL : unit_at(info, unit, &naming.origin);
		if (origin)
			scope->name = name_of_origin(info, origin, naming.origin.u);
		if (!scope->name)
			scope->name = text_of(info, unit, &naming.name);
	}
	return text_with(info, scope->name);
}

static void read_path(struct debug_info *info, struct tables *tables, uint64_t file)
{
	struct buf path _cleanup_(buf_done) = {0};

	if (line_table_path(&tables->lines, tables->unit, alt_file(info), file, &path))
		tables->paths[file] = text_with(info, intern_name(info, &path));
}

static const char *path_of(struct debug_info *info, struct tables *tables, uint64_t file)
{
	if (file >= tables->lines.files.n)
		return NULL;
	if (!tables->paths[file])
		read_path(info, tables, file);
	return tables->paths[file];
}

/* ---- look-ups ---- */

/* Where a row or a function that was found ends; 0: it is not known. */
static uint64_t end_of_tables(const struct tables *tables, uint64_t vaddr)
{
	const struct line_table *lines = &tables->lines;
	const struct scope_table *scopes = &tables->scopes;
	uint64_t line, scope;

	if (lines->last + 1 >= lines->rows.n || scopes->last + 1 >= scopes->starts.n)
		return 0;
	line = lines->base + lines->rows.at[lines->last + 1].start;
	scope = scopes->base + scopes->starts.at[scopes->last + 1].start;
	if (vaddr < lines->base || vaddr < scopes->base)
		return 0;
	line = MIN(line, scope);
	return MIN(line, tables->to);
}

void debug_info_expect(struct debug_info *info, size_t n)
{
	info->expected = n;
}

uint64_t debug_info_end(const struct debug_info *info)
{
	return info->end;
}

/* The tables with an address. Addresses are mostly looked up in their order. */
static struct tables *tables_of(struct debug_info *info, uint64_t vaddr)
{
	struct debug_unit *unit;
	struct tables *tables;

	if (info->last && info->last_from <= vaddr && vaddr < info->last_to &&
		has_code(info->last, vaddr))
		return info->last;
	info->last_to = 0;
	unit = unit_index_find(&info->index, vaddr);
	tables = unit ? debug_info_load(info, unit, vaddr) : NULL;
	if (tables) {
		info->last_from = vaddr;
		info->last_to = info->index.end;
	}
	return tables;
}

static struct go_table *go_table_of(struct debug_info *info)
{
	struct go_table *table;

	if (info->go_opened)
		return info->go;
	info->go_opened = true;
	table = malloc(sizeof(*table));
	if (!table || !go_table_open(&info->file.elf, table)) {
		free(table);
		return NULL;
	}
	go_table_open_inlined(&info->file.elf, table);
	return info->go = table;
}

/* A name or path of a Go program, or NULL. */
static const char *go_text(struct debug_info *info, uint64_t at)
{
	struct buf text _cleanup_(buf_done) = {0};
	uint32_t number = go_table_text(info->go, at, &text) ? intern_name(info, &text) : 0;

	return text_with(info, number);
}

/* The functions at an address of a Go program without DWARF. */
static size_t find_go(
	struct debug_info *info, uint64_t vaddr, struct debug_frame *frames, size_t max)
{
	struct go_table *table = go_table_of(info);
	struct go_frame found[GO_FRAMES_MAX];
	size_t n = table ? go_table_find(table, vaddr, found, GO_FRAMES_MAX) : 0;

	for (size_t i = 0; i < MIN(n, max); i++)
		frames[i] = (struct debug_frame){
			.function = go_text(info, found[i].name),
			.file = go_text(info, found[i].file),
			.line = found[i].line,
			.inlined = found[i].inlined,
		};
	return n;
}

size_t debug_info_find(
	struct debug_info *info, uint64_t vaddr, struct debug_frame *frames, size_t max)
{
	struct tables *tables = tables_of(info, vaddr);
	struct debug_frame frame = {0};
	const struct line_row *row;
	uint32_t number;
	size_t n = 0;

	info->end = 0;
	if (!tables)
		return find_go(info, vaddr, frames, max);
	row = line_table_find(&tables->lines, vaddr);
	number = scope_table_find(&tables->scopes, vaddr);
	info->end = end_of_tables(tables, vaddr);
	info->end = MIN(info->end, info->last_to);
	if (!row && !number)
		return 0;
	if (row) {
		frame.file = path_of(info, tables, row->file);
		frame.line = row->line;
		frame.column = row->column;
	}
	while (number && n < FRAMES_MAX) {
		struct scope *scope = &tables->scopes.scopes.at[number];

		frame.inlined = scope->inlined && scope->parent;
		if (n < max) {
			frame.function = scope_name(info, tables, scope);
			frames[n] = frame;
		}
		n++;
		frame = (struct debug_frame){
			.line = scope->call_line, .column = scope->call_column};
		if (n < max && scope->inlined)
			frame.file = path_of(info, tables, scope->call_file);
		number = scope->inlined ? scope->parent : 0;
	}
	if (!n && max)
		frames[0] = frame;
	return n ?: 1;
}

uint64_t debug_info_unit(struct debug_info *info, uint64_t vaddr, uint64_t *ret_end)
{
	uint64_t unit = unit_index_offset(&info->index, vaddr);

	*ret_end = info->index.end;
	return unit;
}

void debug_info_get_stats(const struct debug_info *info, struct debug_info_stats *ret_stats)
{
	*ret_stats = info->stats;
}

/* ---- life cycle ---- */

static int set_options(struct debug_info *info, const struct debug_info_options *options)
{
	info->options = *options;
	info->options.max_bytes = options->max_bytes ?: TABLES_BYTES_MAX;
	info->options.path = options->path ? strdup(options->path) : NULL;
	info->options.binary = options->binary ? strdup(options->binary) : NULL;
	info->options.roots = options->roots ? strdup(options->roots) : NULL;
	if ((options->path && !info->options.path) || (options->binary && !info->options.binary) ||
		(options->roots && !info->options.roots))
		return base_oom();
	return 0;
}

static bool has_lines(const struct debug_info *info)
{
	return go_table_exists(&info->file.elf) ||
	       (debug_file_has(&info->file, DEBUG_INFO) &&
		       debug_file_has(&info->file, DEBUG_ABBREV));
}

int debug_info_open(const struct debug_info_options *options, struct debug_info **ret_info)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int r;

	if (!info) {
		if (!options->source.memory)
			close(options->source.fd);
		return base_oom();
	}
	info->alt.fd = info->split.package.fd = -1;
	r = debug_file_init(&info->file, &options->source, false);
	if (r >= 0)
		r = set_options(info, options);
	if (r >= 0 && !has_lines(info))
		r = -ENODATA;
	if (r < 0) {
		debug_info_close(info);
		return r;
	}
	info->index.file = &info->file;
	info->split = (struct split){.binary = info->options.binary,
		.path = info->options.path,
		.open_path = info->options.open,
		.missing = info->options.missing,
		.ctx = info->options.ctx,
		.package.fd = -1};
	*ret_info = info;
	return 0;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	map_each (&info->by_unit, slot)
		tables_free(info, (struct tables *)(uintptr_t)slot->value);
	map_done(&info->by_unit);
	map_done(&info->names);
	unit_index_done(&info->index);
	unit_index_done(&info->alt_index);
	split_done(&info->split);
	debug_file_done(&info->file);
	debug_file_done(&info->alt);
	free(info->go);
	free((char *)info->options.path);
	free((char *)info->options.binary);
	free((char *)info->options.roots);
	free(info);
}
