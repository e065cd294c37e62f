/* SPDX-License-Identifier: MIT */
/* attar symbols: functions, source lines and inlined functions of addresses. */
#include <poll.h>
#include <stdio.h>

#include "attar/private/symbol.h"
#include "base/base.h"
#include "base/escape.h"
#include "base/parse.h"
#include "base/user_file.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/frame_line.h"
#include "cli/commands/llvm_answers.h"
#include "cli/signals.h"

enum {
	BATCH_MAX = 1 << 17,   /* addresses */
	INPUT_BYTES = 1 << 20, /* of a line at most */
	READ_BYTES = 1 << 16,  /* at once */
	OUTPUT_BYTES = 1 << 16,
	ANSWERS_MAX = 1 << 30, /* bytes of the answers of a batch */
	LINE_BYTES = 8,        /* of the input, for most lines at least */
	AHEAD = 8,
};

/* A line or argument that is no address, and is repeated; or the answer to "DATA ADDRESS". */
struct other {
	size_t index; /* of the query */
	char *line;   /* owned */
	bool is_answer;
};

/* An answer: with json of `lines`, with llvm of `llvm_answers`, else of `answers`, in bytes. */
struct part {
	uint32_t first, n;
};

struct lookup {
	const char *file;
	uint64_t pid; /* 0: a file */
	const char *style;
	bool llvm, mangled, json, no_inlines;
	char *const *words; /* addresses; end with NULL */
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	attar_location start; /* of the file */
	/* The queries. Answers are made in the order of addresses: what they touch is small. */
	VEC(uint64_t) addresses; /* 0: of one that is no address; with llvm alone none */
	VEC(attar_location) locations;
	VEC(struct part) parts;
	VEC(struct other) others;
	VEC(struct frame_line) lines; /* with json of all answers, otherwise of one */
	struct buf answers;
	struct llvm_answers llvm_answers;
	struct attar_section *table; /* with json */
	struct buf out;
	char *refused;    /* owned: the first line or argument that is no address; NULL: none */
	size_t n_refused; /* such lines or arguments */
	int failed;       /* a negative errno */
};

/* ---- arguments ---- */

static int take_words(struct lookup *l, char *const *operands)
{
	l->llvm = l->style && !strcmp(l->style, "llvm");
	if (l->style && !l->llvm && strcmp(l->style, "attar") != 0)
		return attar_fail(-EINVAL,
			"--style: no such style '%s'" ATTAR_FIX "use attar or llvm",
			CLIP(l->style));
	if (!l->pid && !operands[0])
		return attar_fail(-EINVAL, "symbols requires a file or -p" ATTAR_FIX
					   "attar symbols FILE|-p PID [ADDRESS...]");
	if (!l->pid)
		l->file = *operands++;
	l->words = operands;
	return 0;
}

/* ---- addresses ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* Skips a word and its blank. False: the line does not begin with them. */
static bool skip_word(const char **line, const char *word)
{
	const char *at = *line;

	for (; *word; word++)
		if (*at++ != *word)
			return false;
	*line = at;
	return true;
}

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

/*
 * A word up to a blank: hexadecimal; as llvm-symbolizer takes it, a number without 0x is decimal.
 */
static bool take_address(const struct lookup *l, const char *word, uint64_t *ret_address)
{
	bool hex = word[0] == '0' && (word[1] | 0x20) == 'x';
	const char *after;
	char *end;

	if (hex || !l->llvm) {
		after = take_digits(word + 2 * hex, ret_address);
		return after && (!*after || is_blank(*after));
	}
	if (parse_hex_digit(word[0]) < 0)
		return false;
	errno = 0;
	*ret_address = strtoull(word, &end, 0);
	return (!*end || is_blank(*end)) && !errno;
}

static attar_location locate(const struct lookup *l, uint64_t address)
{
	attar_location location;

	if (l->pid)
		return address >> 63 ? attar_location_kernel(address)
				     : attar_address_space_locate(l->space, address);
	if (symbols_vaddr(l->symbols, l->start, address, &location) == 0)
		return location;
	return address & 0xffffffffffffULL; /* of ATTAR_DSO_UNKNOWN */
}

/* Takes over the line. */
static int keep_other(struct lookup *l, char *line, bool is_answer)
{
	const struct other other = {.index = l->locations.n, .line = line, .is_answer = is_answer};

	if (line && vec_push(&l->others, other) == 0)
		return 0;
	free(line);
	return base_oom();
}

/* A line or argument that is not an address: it is repeated, and the others are answered. */
static int add_other(struct lookup *l, const char *line)
{
	if (!l->llvm && l->n_refused++ == 0)
		l->refused = strdup(line);
	if (l->n_refused && !l->refused)
		return base_oom();
	return keep_other(l, strdup(line), false);
}

/* "name", then "start size", as llvm-symbolizer writes them. */
static int add_data(struct lookup *l, uint64_t address)
{
	struct attar_symbol symbol = {0};
	struct buf answer = {0};
	int r = symbols_data(l->symbols, l->start, address, &symbol);

	if (r < 0 && r != -ENOENT)
		return r;
	llvm_name_add(&answer, symbol.mangled ?: "??", l->mangled);
	buf_printf(&answer, "%llu %llu\n\n", (unsigned long long)symbol.start,
		(unsigned long long)symbol.size);
	return keep_other(l, buf_take(&answer), true);
}

/* The address that begins the line, after CODE and DATA of llvm-symbolizer at its first column. */
static bool take_first(
	const struct lookup *l, const char *line, uint64_t *ret_address, bool *ret_is_data)
{
	*ret_is_data = l->llvm && l->file && !l->json && skip_word(&line, "DATA ");
	if (l->llvm && !*ret_is_data)
		skip_word(&line, "CODE ");
	return take_address(l, skip_blanks(line), ret_address);
}

static int add_location(struct lookup *l, uint64_t address, attar_location location)
{
	if ((l->json || !l->llvm) && vec_push(&l->addresses, address) < 0)
		return -ENOMEM;
	return vec_push(&l->locations, location);
}

/* Returns 0, -EINVAL or -ENOMEM. */
static int add_query(struct lookup *l, const char *line)
{
	uint64_t address = 0;
	bool is_data;
	int r;

	if (!take_first(l, line, &address, &is_data))
		r = add_other(l, line);
	else if (is_data)
		r = add_data(l, address);
	else
		return add_location(l, address, locate(l, address));
	return r == 0 ? add_location(l, address, 0) : r;
}

/* ---- output ---- */

static void add_text(struct buf *b, const char *text)
{
	escape_text(b, text, strlen(text));
}

/* "0x1234 inner at file.c:3:1", then "       inlined into outer+0x14 at file.c:9:2". */
static void write_query(struct lookup *l, uint64_t address)
{
	struct buf *b = &l->answers;
	size_t start = b->len, width;

	buf_printf(b, "0x%llx", (unsigned long long)address);
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

/* Makes the text of an answer. */
static int write_answer(struct lookup *l, uint64_t address, const struct attar_frame *frames,
	size_t n, struct part *part)
{
	size_t first = l->answers.len;

	if (first > ANSWERS_MAX)
		return attar_fail(
			-E2BIG, "the answers are too long" ATTAR_FIX "ask for fewer addresses");
	l->lines.n = 0;
	add_lines(l, frames, n);
	write_query(l, address);
	*part = (struct part){.first = (uint32_t)first, .n = (uint32_t)(l->answers.len - first)};
	return 0;
}

static void on_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct lookup *l = ctx;
	struct part *part = &l->parts.at[index];
	int r = 0;

	if (l->table) {
		part->first = (uint32_t)l->lines.n;
		add_lines(l, frames, n);
		part->n = (uint32_t)l->lines.n - part->first;
	} else if (l->llvm) {
		r = llvm_answers_add(&l->llvm_answers, frames, n, &part->first, &part->n);
	} else {
		r = write_answer(l, l->addresses.at[index], frames, n, part);
	}
	if (r < 0)
		l->failed = r;
}

static void add_rows(struct lookup *l, uint64_t address, struct part part)
{
	for (size_t i = 0; i < part.n; i++) {
		attar_section_row(l->table);
		attar_cell_u64(l->table, address);
		frame_line_cells(l->table, &l->lines.at[part.first + i], l->mangled);
	}
}

static void add_columns(struct attar_section *table)
{
	attar_section_column(table, "address", ATTAR_UNIT_HEX);
	frame_line_columns(table);
}

static void print_other(struct lookup *l, const struct other *other)
{
	if (l->table)
		return;
	if (other->is_answer) {
		buf_str(&l->out, other->line);
		return;
	}
	add_text(&l->out, other->line);
	buf_char(&l->out, '\n');
}

/* The parts that are printed soon are fetched: they are in any order. */
static void print_answer(struct lookup *l, size_t index)
{
	size_t next = MIN(index + AHEAD, l->parts.n - 1);
	struct part part = l->parts.at[index];

	if (l->table) {
		add_rows(l, l->addresses.at[index], part);
	} else if (l->llvm) {
		__builtin_prefetch(l->llvm_answers.lines.at + l->parts.at[next].first);
		llvm_answers_print(&l->llvm_answers, part.first, part.n, &l->out);
	} else {
		buf_add(&l->out, buf_text(&l->answers) + part.first, part.n);
	}
}

static void print_answers(struct lookup *l)
{
	const struct other *other = l->others.at, *end = other + l->others.n;

	for (size_t i = 0; i < l->parts.n; i++) {
		if (other < end && other->index == i)
			print_other(l, other++);
		else
			print_answer(l, i);
		if (l->out.len < OUTPUT_BYTES)
			continue;
		fwrite(l->out.data, 1, l->out.len, stdout);
		buf_reset(&l->out);
	}
}

static void forget_queries(struct lookup *l)
{
	vec_each (&l->others, other)
		free(other->line);
	l->others.n = l->addresses.n = l->locations.n = l->parts.n = l->lines.n = 0;
	buf_reset(&l->answers);
	llvm_answers_reset(&l->llvm_answers);
}

static int symbols_resolve(struct lookup *l)
{
	size_t n = l->locations.n;
	int r = vec_reserve(&l->parts, n);

	if (r == 0 && l->llvm)
		r = llvm_answers_reserve(&l->llvm_answers, n);
	if (r < 0)
		return r;
	l->parts.n = n;
	r = symbols_frames_batch(l->symbols, l->locations.at, n, on_frames, l);
	if (r == 0)
		r = l->failed;
	return buf_failed(&l->answers) ? base_oom() : r;
}

/* Resolves and prints the addresses so far. */
static int flush(struct lookup *l)
{
	int r = symbols_resolve(l);

	if (r == 0)
		print_answers(l);
	forget_queries(l);
	if (buf_failed(&l->out))
		return base_oom();
	if (l->out.len)
		fwrite(l->out.data, 1, l->out.len, stdout);
	fflush(stdout);
	buf_reset(&l->out);
	return r;
}

/* ---- input ---- */

/* Blank lines are repeated in the style of llvm-symbolizer, and otherwise ignored. */
static int take_line(struct lookup *l, char *line, char *end)
{
	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	return l->llvm || *skip_blanks(line) ? add_query(l, line) : 0;
}

/* An address alone in its line, as nearly all are. Returns the next line, or NULL. */
static const char *take_plain(const struct lookup *l, const char *line, uint64_t *ret_address)
{
	bool hex = line[0] == '0' && line[1] == 'x';
	const char *end = hex || !l->llvm ? take_digits(line + 2 * hex, ret_address) : NULL;

	return end && *end == '\n' ? end + 1 : NULL;
}

/* The whole lines of the input, after which there is a NUL; moves the rest to the front. */
static int take_lines(struct lookup *l, char *bytes, size_t *n)
{
	size_t more = MIN(*n / LINE_BYTES, (size_t)BATCH_MAX);
	const char *next;
	char *at = bytes, *end;
	uint64_t address;
	int r = vec_reserve(&l->locations, more);

	while (r == 0) {
		next = take_plain(l, at, &address);
		if (next) {
			r = add_location(l, address, locate(l, address));
		} else {
			end = memchr(at, '\n', *n - (size_t)(at - bytes));
			if (!end)
				break;
			r = take_line(l, at, end);
			next = end + 1;
		}
		at += next - at;
		if (r == 0 && l->locations.n >= BATCH_MAX)
			r = flush(l);
	}
	*n -= (size_t)(at - bytes);
	memmove(bytes, at, *n);
	return r;
}

/* Whether a read returns without waiting. */
static bool has_more_input(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) > 0;
}

/* Reads more of the input. Returns the number of bytes, 0 at its end, or a negative errno. */
static ssize_t read_more(struct lookup *l, char *bytes, size_t n)
{
	ssize_t got = TEMP_FAILURE_RETRY(read(STDIN_FILENO, bytes, MIN(n, (size_t)READ_BYTES)));
	int error = errno;

	if (got >= 0)
		return got;
	flush(l);
	return attar_fail(-error, "cannot read standard input: %s", strerror(error));
}

/* Answers the lines so far before it waits for others, so that a program can ask line by line. */
static int read_input(struct lookup *l)
{
	char *bytes _cleanup_free_ = malloc(INPUT_BYTES + 1);
	size_t n = 0;
	int r = bytes ? 0 : base_oom();

	while (r == 0) {
		ssize_t got = read_more(l, bytes + n, INPUT_BYTES - n);

		if (got < 0)
			return (int)got;
		if (!got)
			break;
		n += (size_t)got;
		bytes[n] = '\0';
		r = take_lines(l, bytes, &n);
		if (r == 0 && (n == INPUT_BYTES || !has_more_input()))
			r = flush(l);
		if (r == 0 && n == INPUT_BYTES)
			r = attar_fail(-EINVAL, "a line of standard input is too long");
	}
	if (r == 0 && n)
		r = take_line(l, bytes, bytes + n);
	return r;
}

static int answer(struct lookup *l)
{
	int r = 0;

	if (!*l->words)
		r = read_input(l);
	for (char *const *word = l->words; r == 0 && *word; word++)
		r = add_query(l, *word);
	return r == 0 ? flush(l) : r;
}

/* ---- the command ---- */

static int open_target(struct lookup *l)
{
	/* Nothing else depends on this process: it reads the file faster than it is told of it. */
	const struct attar_symbols_opts opts = {.size = sizeof(opts),
		.mangled = l->mangled || (l->llvm && !l->json),
		.own_in_process = !l->pid};
	int r = attar_symbols_new(&opts, &l->symbols);

	if (r < 0)
		return r;
	signals_take_downloads(l->symbols);
	if (!l->pid) {
		USER_RIGHTS;

		return symbols_find_file(l->symbols, l->file, &l->start);
	}
	l->space = attar_address_space_new(l->symbols, (int)l->pid);
	return l->space ? attar_address_space_scan(l->space) : base_oom();
}

static void refuse(const struct lookup *l, const char *what)
{
	if (l->n_refused == 1)
		attar_fail(-EINVAL, "the %s '%s' is not a hexadecimal address", what,
			CLIP(l->refused));
	else
		attar_fail(-EINVAL, "%zu %ss are not hexadecimal addresses; the first is '%s'",
			l->n_refused, what, CLIP(l->refused));
}

/* What the run has printed, and whether it took all lines or arguments. */
static int end(const struct lookup *l, const struct attar_report *report)
{
	int status = report ? print_report(report, true, true) : print_end();

	if (!l->n_refused || status != STATUS_OK)
		return status;
	refuse(l, *l->words ? "argument" : "line");
	return report_error(*l->words ? STATUS_USAGE : STATUS_FAILED);
}

static void lookup_done(struct lookup *l)
{
	forget_queries(l);
	vec_done(&l->addresses);
	vec_done(&l->locations);
	vec_done(&l->parts);
	vec_done(&l->others);
	vec_done(&l->lines);
	buf_done(&l->answers);
	llvm_answers_done(&l->llvm_answers);
	buf_done(&l->out);
	free(l->refused);
	attar_address_space_free(l->space);
	attar_symbols_free(l->symbols);
}

static int symbols_run(void *state, const struct command_words *words)
{
	struct attar_report *report = NULL;
	struct lookup *l = state;
	int status, r = take_words(l, words->operands);

	if (r < 0)
		return report_error(STATUS_USAGE);
	l->llvm_answers.mangled = l->mangled;
	l->llvm_answers.no_inlines = l->no_inlines;
	if (l->json) {
		report = attar_report_new("symbols");
		attar_report_interval(report, base_realtime(), 0);
		l->table = attar_report_table(report, "addresses");
		add_columns(l->table);
	}
	r = open_target(l);
	if (r == 0)
		r = answer(l);
	if (r < 0)
		status = report_error(status_of(r));
	else
		status = end(l, report);
	attar_report_free(report);
	signals_release();
	lookup_done(l);
	signals_raise();
	return status;
}

#define T struct lookup

static const struct attar_option symbols_options[] = {
	ATTAR_COUNT(T, pid, 'p', "pid", "PID",
		"addresses of the memory of this process (or of the kernel) instead of a file",
		.min = 1, .max = INT32_MAX, .complete = "pid"),
	ATTAR_FLAG(T, no_inlines, 0, "no-inlines",
		"print only the innermost function, not the functions it was inlined into"),
	ATTAR_FLAG(T, mangled, 0, "no-demangle", "print linkage names of C++ and Rust"),
	ATTAR_TEXT(T, style, 0, "style", "attar|llvm",
		"llvm: accept input and print output as llvm-symbolizer does (numbers without 0x "
		"are decimal, 'DATA ADDRESS' asks for a variable)"),
	ATTAR_FLAG(T, json, 0, "json", "print a report in JSON"), {0}};

static const struct command_operand symbols_operands[] = {
	{"FILE", "a binary, shared library or vmlinux; addresses are those of its symbol table, in "
		 "a .o or .ko file offsets in .text"},
	{"ADDRESS...",
		"hexadecimal; without any, addresses are read from standard input, one per line"},
	{0},
};

static const struct attar_example symbols_examples[] = {
	{"symbols ./program 1480", "an address in a file"},
	{"symbols -p 1234 7f12a4c01480", "an address in a process"},
	{0},
};

const struct command command_symbols = {
	.name = "symbols",
	.usage = "[OPTIONS] FILE|-p PID [ADDRESS...]",
	.summary = "show functions, source lines and inlined functions of addresses",
	.operands = symbols_operands,
	.options = symbols_options,
	.state_size = sizeof(T),
	.max_operands = COMMAND_ANY,
	.complete = "file",
	.examples = symbols_examples,
	.run = symbols_run,
};
