/* SPDX-License-Identifier: MIT */
#include "dwarf/line_table.h"

#include "dwarf/constants.h"

enum {
	FORMATS_MAX = 16,
	OPCODES_MAX = 256,
	NEAR_ROWS = 4,
	ROW_BYTES = 4, /* of the program, for most rows at least */
};

/* Rows with ascending addresses, relative to the address of the first. */
struct sequence {
	uint64_t start, end;
	size_t first, n; /* rows; n 0: they are not kept */
};

struct program {
	const struct debug_unit *unit;
	struct debug_unit as; /* the unit with the sizes of the program */
	struct debug_reader reader;
	struct line_table *table;
	const uint64_t *only; /* keep rows of sequences with this address; NULL: all */
	uint8_t min_length, opcode_base, line_range;
	int8_t line_base;
	uint8_t operands[OPCODES_MAX];
	struct { /* what a special opcode adds: divisions take long */
		uint16_t bytes;
		int16_t line;
	} special[OPCODES_MAX];
	VEC(struct sequence) sequences;
};

/* The state machine, and the current sequence. */
struct state {
	uint64_t address;
	uint32_t line;
	uint64_t place;        /* file and column, see with_file() */
	uint64_t start, last;  /* addresses of the first row and of the last one */
	struct line_row *rows; /* the rows of the table */
	size_t first, n, size; /* the first row of the sequence, and the number of all */
	uint64_t kept;         /* the place and line of the last row of the sequence */
	uint64_t next_start;   /* of the row that follows it, once its code has an end */
	uint64_t next;         /* its place and line */
	bool begun;            /* the sequence has a row */
	bool descends;         /* an address is lower than the one before */
	uint64_t room;         /* bytes after the last row in which another can be; 0: none */
};

/* ---- the header ---- */

struct format {
	uint64_t content;
	struct form form;
};

static int take_formats(struct program *p, struct format formats[FORMATS_MAX])
{
	int n = cursor_u8(&p->reader.c);

	if (n > FORMATS_MAX)
		return -1;
	for (int i = 0; i < n; i++) {
		formats[i].content = cursor_uleb(&p->reader.c);
		formats[i].form = form_find(cursor_uleb(&p->reader.c));
	}
	return p->reader.c.failed ? -1 : n;
}

/* DWARF 5: names with the forms that the table declares. */
static int take_names(struct program *p, bool files)
{
	struct format formats[FORMATS_MAX];
	int n = take_formats(p, formats), r = 0;
	uint64_t count = cursor_uleb(&p->reader.c);

	if (n < 0 || p->reader.c.failed)
		return -EBADMSG;
	for (uint64_t i = 0; r >= 0 && i < count; i++) {
		struct line_file file = {0};

		if (i > LINE_FILES_MAX || !n)
			return -EBADMSG;
		for (int j = 0; j < n; j++) {
			struct debug_value v;

			if (!debug_value_take(&p->as, &p->reader, &formats[j].form, 0, &v))
				return -EBADMSG;
			if (formats[j].content == DW_LNCT_path)
				file.name = v;
			else if (formats[j].content == DW_LNCT_directory_index)
				file.directory = (uint32_t)v.u;
		}
		r = files ? vec_push(&p->table->files, file)
			  : vec_push(&p->table->directories, file.name);
	}
	return r;
}

/* Takes a string of the header. An empty one ends a table. */
static bool take_string(struct program *p, struct debug_value *ret_value)
{
	struct cursor *c = &p->reader.c;
	const struct form text = form_find(DW_FORM_string);
	bool more = c->at < c->end && *c->at;

	if (!debug_value_take(&p->as, &p->reader, &text, 0, ret_value))
		return false;
	return more;
}

static int take_file(struct program *p, const struct debug_value *name)
{
	struct cursor *c = &p->reader.c;
	struct line_file file = {.name = *name, .directory = (uint32_t)cursor_uleb(c)};

	cursor_uleb(c); /* time of modification */
	cursor_uleb(c); /* size */
	if (p->table->files.n > LINE_FILES_MAX)
		return -EBADMSG;
	return vec_push(&p->table->files, file);
}

/* DWARF 2 to 4: directories and files are numbered from 1. */
static int take_old_names(struct program *p)
{
	struct debug_value name;
	int r = vec_push(&p->table->directories, (struct debug_value){0}); /* of the unit */

	while (r >= 0 && p->table->directories.n <= LINE_FILES_MAX && take_string(p, &name))
		r = vec_push(&p->table->directories, name);
	if (r >= 0)
		r = vec_push(&p->table->files, (struct line_file){0});
	while (r >= 0 && take_string(p, &name))
		r = take_file(p, &name);
	return r;
}

static int take_header(struct program *p)
{
	struct debug_reader *reader = &p->reader;
	struct cursor *c = &reader->c;
	uint64_t length, program;
	int r;

	p->table->version = p->as.version = (uint8_t)MIN(cursor_number(c, 2), 255UL);
	if (p->as.version < 2 || p->as.version > 5)
		return -EBADMSG;
	if (p->as.version >= 5) {
		p->as.address_size = cursor_u8(c);
		cursor_u8(c); /* size of a segment selector */
	}
	length = cursor_number(c, p->as.offset_size);
	program = debug_reader_offset(reader) + length;
	p->min_length = cursor_u8(c);
	if (p->as.version >= 4)
		cursor_u8(c); /* operations of an instruction */
	cursor_u8(c);         /* the default of is_stmt */
	p->line_base = (int8_t)cursor_u8(c);
	p->line_range = cursor_u8(c);
	p->opcode_base = cursor_u8(c);
	for (int i = 1; i < p->opcode_base; i++)
		p->operands[i] = cursor_u8(c);
	if (c->failed || !p->opcode_base)
		return -EBADMSG;
	if (p->as.version >= 5) {
		r = take_names(p, false);
		r = r < 0 ? r : take_names(p, true);
	} else {
		r = take_old_names(p);
	}
	if (r < 0)
		return r;
	if (length > (uint64_t)(c->end - reader->start) ||
		program > reader->offset + (uint64_t)(c->end - reader->start))
		return -EBADMSG;
	c->at = reader->start + (program - reader->offset);
	return c->failed ? -EBADMSG : 0;
}

/* ---- the program ---- */

enum { COLUMN_AT = 32, FILE_AT = 48 }; /* bits of the place of a row; the line is below them */

static inline uint64_t with_column(uint64_t place, uint64_t column)
{
	return (place & ~((uint64_t)UINT16_MAX << COLUMN_AT)) | (uint64_t)(uint16_t)column
									<< COLUMN_AT;
}

static uint64_t with_file(uint64_t place, uint64_t file)
{
	uint64_t number = file > LINE_FILES_MAX ? (uint64_t)LINE_NO_FILE : file;

	return (place & ~((uint64_t)UINT16_MAX << FILE_AT)) | number << FILE_AT;
}

/* No row has these. */
static const uint64_t no_place = UINT64_MAX;

static void reset(struct state *s)
{
	*s = (struct state){.line = 1,
		.place = with_file(0, 1),
		.rows = s->rows,
		.first = s->n,
		.n = s->n,
		.size = s->size,
		.kept = no_place,
		.next = no_place};
}

/* Makes room for one more row. */
static int more_rows(struct program *p, struct state *s)
{
	struct line_table *table = p->table;
	int r;

	table->rows.n = s->n;
	r = s->n >= LINE_ROWS_MAX ? -EBADMSG : vec_reserve(&table->rows, 1);
	s->rows = table->rows.at;
	s->size = table->rows.size;
	return r;
}

/* Keeps the next row, if `keeps`, and it differs from the one before. There must be room for it. */
static inline void keep_next(struct state *s, bool keeps)
{
	keeps &= s->next != s->kept;
	s->rows[s->n] = (struct line_row){
		.start = (uint32_t)s->next_start,
		.line = (uint32_t)s->next,
		.column = (uint16_t)(s->next >> COLUMN_AT),
		.file = (uint16_t)(s->next >> FILE_AT),
	};
	s->n += keeps;
	s->kept = keeps ? s->next : s->kept;
}

/* Only the last row of an address is found, and equal rows are one. */
static inline void put_row(struct state *s, uint64_t start, uint64_t row)
{
	keep_next(s, start != s->next_start);
	s->next_start = start;
	s->next = row;
}

/* A sequence that descends is not kept, nor are rows too far from its start. */
static int add_row(struct program *p, struct state *s, uint64_t row)
{
	int r = s->n < s->size ? 0 : more_rows(p, s);
	uint64_t start;

	if (r < 0)
		return r;
	if (!s->begun)
		s->start = s->last = s->address;
	s->begun = true;
	s->descends |= s->address < s->last;
	s->last = s->address;
	start = s->address - s->start;
	s->room = s->descends || start > UINT32_MAX ? 0 : UINT32_MAX - start + 1;
	if (s->room)
		put_row(s, start, row);
	return 0;
}

/* The linker sets the addresses of removed code to 0 or -1. */
static bool is_good(const struct program *p, const struct state *s)
{
	return s->start && s->start < s->last && !s->descends && s->start < UINT64_MAX - 1 &&
	       (p->as.address_size == 8 || s->start < UINT32_MAX - 1);
}

static int end_sequence(struct program *p, struct state *s)
{
	struct sequence sequence = {.start = s->start, .end = s->last, .first = s->first};
	bool good = is_good(p, s);
	int r = s->n < s->size ? 0 : more_rows(p, s);

	if (r < 0)
		return r;
	keep_next(s, true);
	if (good && (!p->only || (s->start <= *p->only && *p->only < s->last)))
		sequence.n = s->n - s->first;
	s->n = s->first + sequence.n;
	return good ? vec_push(&p->sequences, sequence) : 0;
}

static int extended(struct program *p, struct state *s, struct cursor *c)
{
	uint64_t n = cursor_uleb(c);
	const uint8_t *bytes = cursor_take(c, n);
	struct cursor operand;
	int r = 0;

	if (!bytes || !n)
		return c->failed ? -EBADMSG : 0;
	operand = (struct cursor){.at = bytes, .end = bytes + n};
	switch (cursor_u8(&operand)) {
	case DW_LNE_end_sequence:
		r = add_row(p, s, with_file(s->place, LINE_NO_FILE));
		r = r < 0 ? r : end_sequence(p, s);
		reset(s);
		break;
	case DW_LNE_set_address:
		if (n - 1 == 8 || n - 1 == 4)
			s->address = cursor_number(&operand, n - 1);
		break;
	case DW_LNE_define_file:
		c->at = operand.at;
		if (p->as.version < 5) {
			struct debug_value name;

			p->reader.c = *c;
			r = take_string(p, &name) ? take_file(p, &name) : 0;
			*c = p->reader.c;
		}
		if (c->at > operand.end) /* the name is longer than the operation */
			r = -EBADMSG;
		c->at = operand.end;
		break;
	}
	return r;
}

static int standard(struct program *p, struct state *s, struct cursor *c, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(p, s, s->place | s->line);
	case DW_LNS_advance_pc:
		s->address += cursor_uleb(c) * p->min_length;
		break;
	case DW_LNS_advance_line:
		s->line += (uint32_t)cursor_sleb(c);
		break;
	case DW_LNS_set_file:
		s->place = with_file(s->place, cursor_uleb(c));
		break;
	case DW_LNS_set_column:
		s->place = with_column(s->place, cursor_uleb(c));
		break;
	case DW_LNS_const_add_pc:
		s->address += p->special[255].bytes;
		break;
	case DW_LNS_fixed_advance_pc:
		s->address += cursor_number(c, 2);
		break;
	default:
		for (int i = 0; i < p->operands[opcode]; i++)
			cursor_uleb(c);
	}
	return 0;
}

static void find_special(struct program *p)
{
	for (int opcode = p->opcode_base; p->line_range && opcode < OPCODES_MAX; opcode++) {
		int adjusted = opcode - p->opcode_base;

		p->special[opcode].bytes = (uint16_t)(adjusted / p->line_range * p->min_length);
		p->special[opcode].line = (int16_t)(p->line_base + adjusted % p->line_range);
	}
}

/*
 * Runs the opcodes that most are, up to another one. The state is local: the compiler keeps it in
 * registers.
 */
static const uint8_t *run_simple(
	const struct program *p, struct state *state, const uint8_t *at, const uint8_t *end)
{
	struct state s = *state;

	while (at < end - 1) { /* the longest of them have two bytes */
		uint64_t address = s.address;
		uint32_t line = s.line;
		uint8_t opcode = *at;

		if (opcode >= p->opcode_base) {
			address += p->special[opcode].bytes;
			line += (uint32_t)p->special[opcode].line;
		} else if (opcode == DW_LNS_set_column && at[1] < 0x80) {
			s.place = with_column(s.place, at[1]);
			at += 2;
			continue;
		} else if (opcode == DW_LNS_negate_stmt && !p->operands[opcode]) {
			at++;
			continue;
		} else if (opcode == DW_LNS_advance_line && at[1] < 0x80) {
			s.line += (at[1] ^ 0x40U) - 0x40; /* bit 6 is the sign */
			at += 2;
			continue;
		} else if (opcode != DW_LNS_copy) {
			break;
		}
		if (unlikely(s.n >= s.size || address - s.last >= s.room))
			break;
		put_row(&s, address - s.start, s.place | line);
		s.room -= address - s.last;
		s.address = s.last = address;
		s.line = line;
		at++;
	}
	*state = s;
	return at;
}

static int run_one(struct program *p, struct state *s, struct cursor *c)
{
	uint8_t opcode = *c->at++;

	if (!opcode)
		return extended(p, s, c);
	if (opcode < p->opcode_base)
		return standard(p, s, c, opcode);
	if (!p->line_range)
		return -EBADMSG;
	s->address += p->special[opcode].bytes;
	s->line += (uint32_t)p->special[opcode].line;
	return add_row(p, s, s->place | s->line);
}

static int run(struct program *p)
{
	struct cursor c = p->reader.c;
	struct state s = {0};
	int r = vec_reserve(&p->table->rows, (size_t)(c.end - c.at) / ROW_BYTES + 1);

	s.rows = p->table->rows.at;
	s.size = p->table->rows.size;
	reset(&s);
	find_special(p);
	while (r >= 0 && c.at < c.end && !c.failed) {
		if (p->line_range)
			c.at = run_simple(p, &s, c.at, c.end);
		if (c.at < c.end)
			r = run_one(p, &s, &c);
	}
	p->table->rows.n = s.first; /* without a sequence that does not end */
	return r;
}

/* ---- the table ---- */

static int by_start(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool same_line(const struct line_row *a, const struct line_row *b)
{
	return a->line == b->line && a->column == b->column && a->file == b->file;
}

/* Appends a row to the rows of other sequences. */
static size_t line_table_append(struct line_row *rows, size_t n, const struct line_row *row)
{
	if (n && rows[n - 1].start == row->start)
		n--;
	if (n && same_line(&rows[n - 1], row))
		return n;
	rows[n] = *row;
	return n + 1;
}

/* Appends the rows of a sequence, without those that overlap another one. */
static size_t append_sequence(
	const struct program *p, const struct sequence *sequence, struct line_row *rows, size_t n)
{
	const struct line_row *from = p->table->rows.at + sequence->first;
	uint64_t distance = sequence->start - p->table->base;

	for (size_t i = 0; i < sequence->n; i++) {
		struct line_row row = from[i];
		uint64_t start = row.start + distance;

		if (start > UINT32_MAX || (n && start < rows[n - 1].start))
			continue;
		row.start = (uint32_t)start;
		n = line_table_append(rows, n, &row);
	}
	return n;
}

/* The rows of several sequences in the order of addresses. */
static int join_sequences(struct program *p)
{
	struct line_table *t = p->table;
	struct line_row *rows = malloc(t->rows.n * sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return base_oom();
	qsort(p->sequences.at, p->sequences.n, sizeof(*p->sequences.at), by_start);
	t->base = p->sequences.at[0].start;
	vec_each (&p->sequences, sequence)
		n = append_sequence(p, sequence, rows, n);
	free(t->rows.at);
	t->rows.at = rows;
	t->rows.n = n;
	return 0;
}

/* Rows in the order of addresses, relative to the first. */
static int line_table_finish(struct program *p)
{
	struct line_table *t = p->table;
	int r = 0;

	if (!t->rows.n) {
		vec_done(&t->rows);
		return 0;
	}
	t->base = p->sequences.at[0].start;
	if (p->sequences.n > 1)
		r = join_sequences(p);
	t->rows.at = realloc(t->rows.at, t->rows.n * sizeof(*t->rows.at)) ?: t->rows.at;
	t->rows.size = t->rows.n;
	return r;
}

/* Keeps the only sequence with p->only. False: others overlap it, and all are needed. */
static bool take_only(struct program *p)
{
	struct sequence found = {.start = *p->only, .end = *p->only + 1};

	vec_each (&p->sequences, sequence)
		if (sequence->n)
			found = *sequence;
	vec_each (&p->sequences, sequence)
		if (sequence->start < found.end && sequence->end > found.start &&
			(sequence->start != found.start || sequence->first != found.first))
			return false;
	p->table->from = found.start;
	p->table->to = found.end;
	if (found.n)
		p->sequences.at[0] = found;
	p->sequences.n = found.n > 0;
	return true;
}

/* The bytes of a program; its length precedes it. */
static int borrow_program(struct program *p)
{
	struct debug_file *file = p->unit->file;
	uint64_t offset = p->unit->lines.u, length;
	const uint8_t *bytes;
	int r;

	p->as.offset_size = 4;
	if (!debug_file_number(file, DEBUG_LINE, offset, 4, &length))
		return -EBADMSG;
	offset += 4;
	if (length == UINT32_MAX) {
		if (!debug_file_number(file, DEBUG_LINE, offset, 8, &length))
			return -EBADMSG;
		p->as.offset_size = 8;
		offset += 8;
	}
	if (length > LINE_PROGRAM_MAX)
		return -EBADMSG;
	r = debug_file_borrow(file, DEBUG_LINE, offset, length, &bytes);
	if (r < 0)
		return r;
	p->reader.offset = offset;
	p->reader.start = p->reader.c.at = bytes;
	p->reader.c.end = bytes + length;
	return 0;
}

static int read_program(struct program *p)
{
	int r = borrow_program(p);

	if (r >= 0)
		r = take_header(p);
	if (r >= 0)
		r = run(p);
	if (p->only && !take_only(p))
		return -EAGAIN;
	return r == -ENOMEM ? r : line_table_finish(p);
}

int line_table_read(
	const struct debug_unit *unit, const uint64_t *only, struct line_table *ret_table)
{
	struct program p = {.unit = unit, .as = *unit, .table = ret_table, .only = only};
	int r;

	*ret_table = (struct line_table){.to = UINT64_MAX};
	if (unit->lines.class != DEBUG_OFFSET && unit->lines.class != DEBUG_CONSTANT)
		return 0;
	r = read_program(&p);
	vec_done(&p.sequences);
	if (r < 0)
		line_table_done(ret_table);
	return r == -EAGAIN ? line_table_read(unit, NULL, ret_table) : r;
}

void line_table_done(struct line_table *table)
{
	vec_done(&table->rows);
	vec_done(&table->files);
	vec_done(&table->directories);
	*table = (struct line_table){0};
}

/* The row with a start; the one found last and those after it are tried first. */
static size_t row_of(const struct line_table *table, uint32_t start)
{
	const struct line_row *rows = table->rows.at;
	size_t low = table->last, n = table->rows.n;

	if (rows[low].start <= start)
		for (size_t end = MIN(n, low + NEAR_ROWS); low + 1 < end; low++)
			if (start < rows[low + 1].start)
				return low;
	low = 0;
	while (n > 1) { /* rows[low].start <= start */
		size_t half = n / 2;

		low = rows[low + half].start <= start ? low + half : low;
		n -= half;
	}
	return low;
}

const struct line_row *line_table_find(struct line_table *table, uint64_t address)
{
	uint64_t start = address - table->base;
	const struct line_row *row;

	if (!table->rows.n || address < table->base || start > UINT32_MAX)
		return NULL;
	table->last = row_of(table, (uint32_t)start);
	row = &table->rows.at[table->last];
	return row->file == LINE_NO_FILE ? NULL : row;
}

static void line_table_join(struct buf *path, const char *directory)
{
	char *rest _cleanup_free_ = buf_take(path);

	buf_str(path, directory);
	if (rest && *rest) {
		if (path->len && path->data[path->len - 1] != '/')
			buf_char(path, '/');
		buf_str(path, rest);
	}
}

bool line_table_path(const struct line_table *table, const struct debug_unit *unit,
	struct debug_file *alt, uint64_t number, struct buf *path)
{
	struct buf directory _cleanup_(buf_done) = {0};
	const struct line_file *file;

	if (number >= table->files.n)
		return false;
	file = &table->files.at[number];
	if (!debug_unit_string(unit, &file->name, alt, DEBUG_LINE, path))
		return false;
	if (buf_text(path)[0] == '/')
		return true;
	if (file->directory < table->directories.n &&
		debug_unit_string(
			unit, &table->directories.at[file->directory], alt, DEBUG_LINE, &directory))
		line_table_join(path, buf_text(&directory));
	if (buf_text(path)[0] == '/')
		return true;
	buf_reset(&directory);
	if (debug_unit_string(unit, &unit->directory, alt, DEBUG_INFO, &directory))
		line_table_join(path, buf_text(&directory));
	return true;
}

size_t line_table_memory(const struct line_table *table)
{
	return table->rows.size * sizeof(*table->rows.at) +
	       table->files.size * sizeof(*table->files.at) +
	       table->directories.size * sizeof(*table->directories.at);
}
