/* SPDX-License-Identifier: MIT */
/* attar symbols: functions, source lines and inlined functions of addresses. */
#include <stdio.h>

#include "base/base.h"
#include "base/escape.h"
#include "base/parse.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/frame_line.h"
#include "cli/signals.h"

enum {
	BATCH_MAX = 1 << 16, /* addresses */
	INPUT_BYTES = 1 << 20,
	OUTPUT_BYTES = 1 << 16,
	ANSWERS_MAX = 1 << 30, /* bytes of the answers of a batch */
	NAME_BYTES = 8 << 10,
};

struct query {
	uint64_t address;
	char *word;      /* owned: what is not an address, and is repeated; NULL: it is one */
	size_t first, n; /* with json its lines, otherwise its part of the answers, in bytes */
};

typedef VEC(struct frame_line) frame_lines;

/* Where in the answers a name or a path was written last: neighbours have the same. */
struct piece {
	const char *text;
	size_t at, n;
};

enum { PIECES = 64 };

struct lookup {
	const char *file;
	int pid; /* 0: a file */
	bool llvm, mangled, json, no_inlines;
	VEC(const char *) words;
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	attar_location start; /* of the file */
	VEC(struct query) queries;
	VEC(attar_location) locations;
	frame_lines lines; /* with json of all answers, otherwise of one */
	/* Answers are made in the order of addresses, and printed in that of the queries. */
	struct buf answers;
	struct piece names[PIECES], files[PIECES];
	frame_lines last_lines;      /* of the last answer with lines */
	struct query last;           /* ... and its text; n 0: none */
	struct attar_section *table; /* with json */
	struct buf out;
	char *refused;    /* owned: the first line that is not an address; NULL: none */
	size_t n_refused; /* such lines */
	int failed;       /* a negative errno */
};

/* ---- arguments ---- */

static int take_pid(struct lookup *l, const char *text)
{
	uint64_t pid;

	if (parse_u64(text, &pid) < 0 || !pid || pid > INT32_MAX) {
		attar_error_clear();
		return attar_fail(-EINVAL, "'%s' is not a process ID", CLIP(text));
	}
	l->pid = (int)pid;
	return 0;
}

static int take_style(struct lookup *l, const char *style)
{
	l->llvm = !strcmp(style, "llvm");
	if (!l->llvm && strcmp(style, "attar") != 0)
		return attar_fail(
			-EINVAL, "no such style '%s'" ATTAR_FIX "use attar or llvm", CLIP(style));
	return 0;
}

static int take_word(struct lookup *l, const char *word)
{
	if (!l->pid && !l->file) {
		l->file = word;
		return 0;
	}
	return vec_push(&l->words, word);
}

static int parse(struct lookup *l, int argc, char **argv)
{
	bool options = true;
	int r = 0;

	for (int i = 1; r == 0 && i < argc; i++) {
		const char *arg = argv[i];

		if (!options)
			r = take_word(l, arg);
		else if (!strcmp(arg, "--"))
			options = false;
		else if (!strcmp(arg, "-p") && i + 1 < argc)
			r = take_pid(l, argv[++i]);
		else if (!strncmp(arg, "--style=", 8))
			r = take_style(l, arg + 8);
		else if (!strcmp(arg, "--no-demangle"))
			l->mangled = true;
		else if (!strcmp(arg, "--no-inlines"))
			l->no_inlines = true;
		else if (!strcmp(arg, "--json"))
			l->json = true;
		else if (arg[0] == '-' && arg[1])
			r = attar_fail(-EINVAL,
				"no such option '%s'" ATTAR_FIX "'attar help symbols' lists them",
				CLIP(arg));
		else
			r = take_word(l, arg);
	}
	if (r == 0 && !l->file && !l->pid)
		r = attar_fail(-EINVAL, "symbols requires a file or -p" ATTAR_FIX
					"attar symbols FILE|-p PID [ADDRESS...]");
	return r;
}

/* ---- addresses ---- */

/* Takes hexadecimal digits. Returns what follows them; NULL: there are none, or too many. */
static const char *take_digits(const char *word, uint64_t *ret_address)
{
	const char *at = word;
	uint64_t address = 0;
	int digit;

	for (; (digit = parse_hex_digit(*at)) >= 0 && !(address >> 60); at++)
		address = address << 4 | (unsigned)digit;
	*ret_address = address;
	return at == word || digit >= 0 ? NULL : at;
}

/* Hexadecimal; as llvm-symbolizer, a number without 0x is decimal. */
static bool take_address(const struct lookup *l, const char *word, uint64_t *ret_address)
{
	bool hex = word[0] == '0' && (word[1] | 0x20) == 'x';
	const char *after;
	char *end;

	if (hex || !l->llvm) {
		after = take_digits(word + 2 * hex, ret_address);
		return after && !*after;
	}
	if (parse_hex_digit(word[0]) < 0)
		return false;
	errno = 0;
	*ret_address = strtoull(word, &end, 0);
	return !*end && !errno;
}

static attar_location locate(const struct lookup *l, uint64_t address)
{
	attar_location location;

	if (l->pid)
		return address >> 63 ? attar_location_kernel(address)
				     : attar_address_space_locate(l->space, address);
	if (attar_symbols_vaddr(l->symbols, l->start, address, &location) == 0)
		return location;
	return address & 0xffffffffffffULL; /* of ATTAR_DSO_UNKNOWN */
}

/* A word that is not an address. Lines of the input are repeated, and the others are answered. */
static int add_word(struct lookup *l, const char *word, struct query *query)
{
	if (!l->llvm && l->words.n)
		return attar_fail(-EINVAL, "'%s' is not a hexadecimal address", CLIP(word));
	query->word = strdup(word);
	if (!l->llvm && l->n_refused++ == 0)
		l->refused = strdup(word);
	return query->word && (l->refused || !l->n_refused) ? 0 : base_oom();
}

/* Returns 0, -EINVAL or -ENOMEM. */
static int add_query(struct lookup *l, const char *word)
{
	attar_location location = 0;
	struct query query = {0};
	int r = 0;

	if (take_address(l, word, &query.address))
		location = locate(l, query.address);
	else
		r = add_word(l, word, &query);
	if (r == 0)
		r = vec_push(&l->locations, location);
	if (r == 0)
		r = vec_push(&l->queries, query);
	if (r < 0)
		free(query.word);
	return r;
}

/* ---- output ---- */

static void add_text(struct buf *b, const char *text)
{
	escape_text(b, text, strlen(text));
}

/* "0x1234 inner at file.c:3:1", then "       inlined into outer+0x14 at file.c:9:2". */
static void write_query(struct lookup *l, const struct query *query)
{
	struct buf *b = &l->answers;
	size_t start = b->len, width;

	buf_printf(b, "0x%llx", (unsigned long long)query->address);
	width = b->len - start;
	vec_each (&l->lines, line) {
		if (line > l->lines.at)
			buf_printf(b, "%*s inlined into", (int)width, "");
		buf_char(b, ' ');
		frame_line_text(b, line, l->mangled);
		if (l->pid && !line->inlined)
			frame_line_module(b, line);
		buf_char(b, '\n');
	}
}

static void add_name(struct lookup *l, const char *mangled)
{
	char name[NAME_BYTES];

	if (!l->mangled && attar_symbol_demangle(mangled, name, sizeof(name)) > 0)
		add_text(&l->answers, name);
	else
		add_text(&l->answers, mangled);
}

static struct piece *piece_of(struct piece *pieces, const char *text)
{
	return &pieces[base_hash64((uintptr_t)text) % PIECES];
}

/* Appends the text of a piece again. False: it was not written yet. */
static bool add_piece(struct lookup *l, const struct piece *piece, const char *text)
{
	struct buf *b = &l->answers;

	if (piece->text != text)
		return false;
	if (buf_reserve(b, piece->n))
		buf_add(b, b->data + piece->at, piece->n);
	return true;
}

static void keep_piece(struct lookup *l, struct piece *piece, const char *text, size_t start)
{
	*piece = (struct piece){.text = text, .at = start, .n = l->answers.len - start};
}

static void write_name(struct lookup *l, const char *mangled)
{
	struct piece *piece = piece_of(l->names, mangled);
	size_t start = l->answers.len;

	if (add_piece(l, piece, mangled))
		return;
	add_name(l, mangled);
	buf_char(&l->answers, '\n');
	keep_piece(l, piece, mangled, start);
}

static void write_file(struct lookup *l, const char *file)
{
	struct piece *piece = piece_of(l->files, file);
	size_t start = l->answers.len;

	if (add_piece(l, piece, file))
		return;
	add_text(&l->answers, file);
	buf_char(&l->answers, ':');
	keep_piece(l, piece, file, start);
}

/* "function\nfile:line:column\n" for each frame, then an empty line. */
static void write_llvm(struct lookup *l)
{
	struct buf *b = &l->answers;

	vec_each (&l->lines, line) {
		write_name(l, line->mangled ?: "??");
		write_file(l, line->file ?: "??");
		buf_u64(b, line->line);
		buf_char(b, ':');
		buf_u64(b, line->column);
		buf_char(b, '\n');
	}
	buf_char(b, '\n');
}

/* Whether both are printed alike by write_llvm(). Names and paths are interned. */
static bool same_lines(const frame_lines *a, const frame_lines *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++) {
		const struct frame_line *x = &a->at[i], *y = &b->at[i];

		same = x->mangled == y->mangled && x->file == y->file && x->line == y->line &&
		       x->column == y->column;
	}
	return same;
}

/* Without inlined functions: the line in the innermost one, the name of the last. */
static void add_lines(struct lookup *l, const struct attar_frame *frames, size_t n)
{
	for (size_t i = 0; i < (l->no_inlines ? 1 : n); i++) {
		const struct attar_frame *named = l->no_inlines ? &frames[n - 1] : &frames[i];
		struct frame_line line = frame_line_of(&frames[i]);

		line.name = named->name;
		line.mangled = named->mangled;
		line.inlined &= !l->no_inlines;
		if (vec_push(&l->lines, line) < 0)
			l->failed = -ENOMEM;
	}
}

static void keep_lines(struct lookup *l)
{
	frame_lines lines = l->last_lines;

	l->last_lines = l->lines;
	l->lines = lines;
}

/* Makes the text of an answer; takes that of the last one if it is the same. */
static void write_answer(
	struct lookup *l, struct query *query, const struct attar_frame *frames, size_t n)
{
	query->first = l->answers.len;
	if (query->word)
		return;
	if (query->first > ANSWERS_MAX) {
		l->failed = attar_fail(
			-E2BIG, "the answers are too long" ATTAR_FIX "ask for fewer addresses");
		return;
	}
	l->lines.n = 0;
	add_lines(l, frames, n);
	if (l->llvm && l->last.n && same_lines(&l->lines, &l->last_lines)) {
		query->first = l->last.first;
		query->n = l->last.n;
		return;
	}
	if (l->llvm)
		write_llvm(l);
	else
		write_query(l, query);
	query->n = l->answers.len - query->first;
	l->last = *query;
	keep_lines(l);
}

static void on_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct lookup *l = ctx;
	struct query *query = &l->queries.at[index];

	if (!l->table) {
		write_answer(l, query, frames, n);
		return;
	}
	if (query->word)
		return;
	query->first = l->lines.n;
	add_lines(l, frames, n);
	query->n = l->lines.n - query->first;
}

static void add_rows(struct lookup *l, const struct query *query)
{
	for (size_t i = 0; i < query->n; i++) {
		attar_section_row(l->table);
		attar_cell_u64(l->table, query->address);
		frame_line_cells(l->table, &l->lines.at[query->first + i], l->mangled);
	}
}

static void add_columns(struct attar_section *table)
{
	attar_section_column(table, "address", ATTAR_UNIT_HEX);
	frame_line_columns(table);
}

static void print_text(struct lookup *l, const struct query *query)
{
	if (query->word) {
		add_text(&l->out, query->word);
		buf_char(&l->out, '\n');
	}
	buf_add(&l->out, buf_text(&l->answers) + query->first, query->n);
	if (l->out.len < OUTPUT_BYTES)
		return;
	fwrite(l->out.data, 1, l->out.len, stdout);
	buf_reset(&l->out);
}

/* Resolves and prints the addresses so far. */
static int flush(struct lookup *l)
{
	int r = attar_symbols_frames_batch(
		l->symbols, l->locations.at, l->locations.n, on_frames, l);

	if (r == 0)
		r = l->failed;
	if (buf_failed(&l->answers))
		r = base_oom();
	vec_each (&l->queries, query) {
		if (r == 0 && l->table)
			add_rows(l, query);
		else if (r == 0)
			print_text(l, query);
		free(query->word);
	}
	l->queries.n = l->locations.n = l->lines.n = l->last.n = 0;
	buf_reset(&l->answers);
	memset(l->names, 0, sizeof(l->names));
	memset(l->files, 0, sizeof(l->files));
	if (buf_failed(&l->out))
		return base_oom();
	if (l->out.len)
		fwrite(l->out.data, 1, l->out.len, stdout);
	fflush(stdout);
	buf_reset(&l->out);
	return r;
}

/* ---- input ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int take_line(struct lookup *l, char *line)
{
	char *end;

	while (is_blank(*line))
		line++;
	for (end = line; *end && !is_blank(*end); end++)
		;
	*end = '\0';
	return *line ? add_query(l, line) : 0;
}

/* The whole lines of the input; moves the rest to the front. */
static int take_lines(struct lookup *l, char *bytes, size_t *n)
{
	char *at = bytes, *end;
	int r = 0;

	while (r == 0 && (end = memchr(at, '\n', *n - (size_t)(at - bytes)))) {
		*end = '\0';
		r = take_line(l, at);
		at = end + 1;
		if (r == 0 && l->queries.n >= BATCH_MAX)
			r = flush(l);
	}
	*n -= (size_t)(at - bytes);
	memmove(bytes, at, *n);
	return r;
}

/* Answers the lines received so far, so that a program can ask line by line. */
static int read_input(struct lookup *l)
{
	char *bytes _cleanup_free_ = malloc(INPUT_BYTES + 1);
	size_t n = 0;
	int r = bytes ? 0 : base_oom();

	while (r == 0) {
		ssize_t got = TEMP_FAILURE_RETRY(read(STDIN_FILENO, bytes + n, INPUT_BYTES - n));

		if (got < 0)
			return attar_fail(
				-errno, "cannot read standard input: %s", strerror(errno));
		if (!got)
			break;
		n += (size_t)got;
		r = take_lines(l, bytes, &n);
		if (r == 0)
			r = flush(l);
		if (r == 0 && n == INPUT_BYTES)
			r = attar_fail(-EINVAL, "a line of standard input is too long");
	}
	if (r == 0 && n) {
		bytes[n] = '\0';
		r = take_line(l, bytes);
	}
	return r;
}

static int answer(struct lookup *l)
{
	int r = 0;

	if (!l->words.n)
		r = read_input(l);
	for (size_t i = 0; r == 0 && i < l->words.n; i++)
		r = add_query(l, l->words.at[i]);
	return r == 0 ? flush(l) : r;
}

/* ---- the command ---- */

static int open_target(struct lookup *l)
{
	int r = attar_symbols_new(NULL, &l->symbols);

	if (r < 0)
		return r;
	signals_take_downloads(l->symbols);
	if (!l->pid)
		return attar_symbols_file(l->symbols, l->file, &l->start);
	l->space = attar_address_space_new(l->symbols, l->pid);
	return l->space ? attar_address_space_scan(l->space) : base_oom();
}

/* What the run has printed, and whether it took all lines. */
static int end(const struct lookup *l, const struct attar_report *report)
{
	int status = report ? print_report(report, true, true) : print_end();

	if (!l->n_refused || status != STATUS_OK)
		return status;
	attar_fail(-EINVAL, "lines that are not hexadecimal addresses: %zu, first '%s'",
		l->n_refused, CLIP(l->refused));
	return report_error(STATUS_FAILED);
}

static void lookup_done(struct lookup *l)
{
	vec_each (&l->queries, query)
		free(query->word);
	vec_done(&l->queries);
	vec_done(&l->locations);
	vec_done(&l->lines);
	vec_done(&l->last_lines);
	vec_done(&l->words);
	buf_done(&l->answers);
	buf_done(&l->out);
	free(l->refused);
	attar_address_space_free(l->space);
	attar_symbols_free(l->symbols);
}

int command_symbols(int argc, char **argv)
{
	struct attar_report *report = NULL;
	struct lookup l = {0};
	int status, r = parse(&l, argc, argv);

	if (r < 0) {
		lookup_done(&l);
		return report_error(STATUS_USAGE);
	}
	if (l.json) {
		report = attar_report_new("symbols");
		attar_report_span(report, base_realtime(), 0);
		l.table = attar_report_table(report, "addresses");
		add_columns(l.table);
	}
	r = open_target(&l);
	if (r == 0)
		r = answer(&l);
	if (r < 0)
		status = report_error(status_of(r));
	else
		status = end(&l, report);
	attar_report_free(report);
	signals_release();
	lookup_done(&l);
	signals_raise();
	return status;
}
