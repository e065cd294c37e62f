/* SPDX-License-Identifier: MIT */
#include "annotate/function.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "annotate/machine_code.h"
#include "annotate/source.h"
#include "attar/private/symbol.h"

/* Lines without code between two lines with code are shown if they are at most GAP. */
enum { BYTES_MAX = 1 << 18, FILES_MAX = 16, GAP = 6, PLACE_MAX = 300, TITLE_MAX = 1024 };

/* The line of a byte of the function. */
struct line {
	const char *file; /* NULL: unknown */
	uint32_t line;
	uint64_t weight;
};

struct lines {
	const struct annotated_function *function;
	struct line *at; /* of each byte, then sorted and joined */
	size_t n;
};

struct file {
	const struct line *first;
	size_t n;
	uint64_t weight;
};

static uint64_t size_of(const struct annotated_function *f)
{
	uint64_t last = f->n ? f->samples[f->n - 1].location - f->start + 1 : 1;
	uint64_t size = f->size > last ? f->size : last;

	return size < BYTES_MAX ? size : BYTES_MAX;
}

/* The weight of the samples in [from, to). */
static uint64_t weight_in(
	const struct annotated_function *f, attar_location from, attar_location to)
{
	uint64_t sum = 0;
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (f->samples[middle].location < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < f->n && f->samples[low].location < to; low++)
		sum += f->samples[low].weight;
	return sum;
}

static double share(const struct annotated_function *f, uint64_t weight)
{
	return f->weight ? 100.0 * (double)weight / (double)f->weight : 0;
}

static void weight_cells(struct attar_section *table, const struct annotated_function *f,
	uint64_t weight, bool has_code)
{
	attar_section_row(table);
	if (!has_code) {
		attar_cell_none(table);
		attar_cell_none(table);
		return;
	}
	attar_cell_double(table, share(f, weight));
	attar_cell_u64(table, weight);
}

/* ---- lines ---- */

/* The code's own line: the line of the innermost inlined function. */
static void on_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct lines *lines = ctx;
	attar_location at = lines->function->start + index;

	(void)n;
	lines->at[index] = (struct line){.file = frames[0].line ? frames[0].file : NULL,
		.line = frames[0].line,
		.weight = weight_in(lines->function, at, at + 1)};
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order;

	if (!x->file || !y->file)
		return (x->file != NULL) - (y->file != NULL);
	order = x->file == y->file ? 0 : strcmp(x->file, y->file);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static void function_join(struct lines *lines)
{
	size_t n = 0;

	for (size_t i = 0; i < lines->n; i++)
		if (n && by_line(&lines->at[n - 1], &lines->at[i]) == 0)
			lines->at[n - 1].weight += lines->at[i].weight;
		else
			lines->at[n++] = lines->at[i];
	lines->n = n;
}

static int find_lines(const struct annotated_function *f, struct lines *ret_lines)
{
	size_t n = size_of(f);
	attar_location *locations = malloc(n * sizeof(*locations));
	int r = -ENOMEM;

	*ret_lines = (struct lines){.function = f, .at = calloc(n, sizeof(struct line)), .n = n};
	for (size_t i = 0; locations && i < n; i++)
		locations[i] = f->start + i;
	if (locations && ret_lines->at)
		r = symbols_frames_batch(f->symbols, locations, n, on_frames, ret_lines);
	free(locations);
	if (r < 0)
		return r;
	qsort(ret_lines->at, n, sizeof(struct line), by_line);
	function_join(ret_lines);
	return 0;
}

/* Lines that were added to or removed from the source since then shift the shares. */
static void remark_newer(const struct annotated_function *f, const char *path,
	const struct annotate_source *source, struct attar_report *report)
{
	struct stat binary;

	if (f->kind != ATTAR_DSO_IS_FILE || stat(f->dso, &binary) < 0)
		return;
	if (source->changed.tv_sec > binary.st_mtim.tv_sec ||
		(source->changed.tv_sec == binary.st_mtim.tv_sec &&
			source->changed.tv_nsec > binary.st_mtim.tv_nsec))
		attar_report_remark(report,
			"the source file %s is newer than %s: if lines were added or removed, the "
			"shares are shown at the wrong lines (rebuild the program)",
			path, f->dso);
}

static void line_row(struct attar_section *table, const struct annotated_function *f,
	const struct annotate_source *source, uint32_t number, const struct line *line)
{
	const char *text = annotate_source_line(source, number);

	weight_cells(table, f, line ? line->weight : 0, line != NULL);
	attar_cell_u64(table, number);
	attar_cell_text(table, text ? text : "");
}

static int read_source(const struct annotated_function *f, const char *path,
	struct attar_report *report, struct annotate_source *ret_source)
{
	int fd = symbols_open_source(f->symbols, f->start, path), r;

	*ret_source = (struct annotate_source){0};
	if (fd < 0) {
		attar_report_remark(report, "%s", attar_error());
		return fd;
	}
	r = annotate_source_read(ret_source, fd);
	if (r < 0)
		attar_report_remark(
			report, "cannot read the source file %s: %s", path, strerror(-r));
	return r;
}

static void add_file(
	const struct annotated_function *f, struct attar_report *report, const struct file *file)
{
	struct annotate_source source;
	struct attar_section *table;
	char title[TITLE_MAX];
	int r = read_source(f, file->first->file, report, &source);

	snprintf(title, sizeof(title), "lines of %s in %s", f->name, file->first->file);
	if (r == 0)
		remark_newer(f, file->first->file, &source, report);
	table = attar_report_table(report, title);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, f->unit, ATTAR_UNIT_COUNT);
	attar_section_column(table, "line", ATTAR_UNIT_ID);
	attar_section_column(table, "source", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < file->n; i++) {
		const struct line *line = &file->first[i];
		uint32_t next = i ? line[-1].line + 1 : line->line;

		for (; line->line - next <= GAP && next < line->line; next++)
			line_row(table, f, &source, next, NULL);
		line_row(table, f, &source, line->line, line);
	}
	annotate_source_done(&source);
}

static int by_weight(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* Returns whether there is a line. */
static bool add_lines(const struct lines *lines, struct attar_report *report)
{
	struct file files[FILES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < lines->n; i++) {
		const struct line *line = &lines->at[i];

		if (!line->file)
			continue;
		if (!n || strcmp(files[n - 1].first->file, line->file) != 0) {
			if (n == FILES_MAX)
				break;
			files[n++] = (struct file){.first = line};
		}
		files[n - 1].n++;
		files[n - 1].weight += line->weight;
	}
	qsort(files, n, sizeof(*files), by_weight);
	for (size_t i = 0; i < n; i++)
		if (files[i].weight || !i)
			add_file(lines->function, report, &files[i]);
	return n > 0;
}

/* ---- instructions ---- */

struct listing {
	const struct annotated_function *function;
	struct attar_section *table;
};

/* "file.c:12", the path without folders. */
static void place_cell(
	struct attar_section *table, struct attar_symbols *symbols, attar_location location)
{
	struct attar_frame frame;
	char text[PLACE_MAX];
	const char *slash;

	attar_symbols_frames(symbols, location, &frame, 1);
	if (!frame.file || !frame.line) {
		attar_cell_none(table);
		return;
	}
	slash = strrchr(frame.file, '/');
	snprintf(text, sizeof(text), "%s:%u", slash ? slash + 1 : frame.file, frame.line);
	attar_cell_text(table, text);
}

static void instruction_row(const struct listing *l, uint64_t offset, size_t size, const char *text)
{
	const struct annotated_function *f = l->function;
	attar_location at = f->start + offset;

	weight_cells(l->table, f, weight_in(f, at, at + size), true);
	attar_cell_u64(l->table, f->vaddr + offset);
	place_cell(l->table, f->symbols, at);
	if (text)
		attar_cell_text(l->table, text);
	else
		attar_cell_none(l->table);
}

static int on_instruction(void *ctx, uint64_t address, size_t size, const char *text)
{
	const struct listing *l = ctx;

	instruction_row(l, address - l->function->vaddr, size, text);
	return 0;
}

/* Without capstone, or the code: the addresses of samples. */
static void add_addresses(const struct listing *l, struct attar_report *report, const char *why)
{
	const struct annotated_function *f = l->function;

	attar_report_remark(report,
		"the instructions of %s are unknown, and addresses of samples are shown instead: "
		"%s",
		f->name, why);
	for (size_t i = 0; i < f->n; i++)
		instruction_row(l, f->samples[i].location - f->start, 1, NULL);
}

static int add_instructions(const struct annotated_function *f, struct attar_report *report)
{
	struct listing l = {.function = f};
	size_t n = size_of(f);
	uint8_t *bytes = malloc(n);
	char title[TITLE_MAX];
	uint16_t machine = 0;
	int r;

	if (!bytes)
		return -ENOMEM;
	snprintf(title, sizeof(title), "instructions of %s", f->name);
	l.table = attar_report_table(report, title);
	attar_section_column(l.table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(l.table, f->unit, ATTAR_UNIT_COUNT);
	attar_section_column(l.table, "address", ATTAR_UNIT_HEX);
	attar_section_column(l.table, "line", ATTAR_UNIT_TEXT);
	attar_section_column(l.table, "instruction", ATTAR_UNIT_TEXT);
	if (symbols_code(f->symbols, f->start, bytes, n, &machine) < 0) {
		add_addresses(&l, report, attar_error());
		r = 0;
	} else {
		r = machine_code_decode(bytes, n, f->vaddr, machine, on_instruction, &l);
	}
	free(bytes);
	if (r != -EOPNOTSUPP)
		return r;
	add_addresses(&l, report, "libcapstone is not installed, or attar is built without it");
	return 0;
}

static void remark_no_lines(const struct annotated_function *f, struct attar_report *report)
{
	struct utsname names;

	if (f->kind == ATTAR_DSO_IS_JIT)
		attar_report_remark(report,
			"the source lines of %s are unknown: %s has no lines for it; a jitdump can "
			"contain lines (as that of node --perf-prof), a perf map contains names "
			"only",
			f->name, f->dso);
	else if (f->kind != ATTAR_DSO_IS_KERNEL || uname(&names) < 0)
		attar_report_remark(report,
			"%s has no debug information: its source lines are unknown (build it with "
			"-g, or install its debug file)",
			f->name);
	else if (strcmp(f->dso, "[bpf]") == 0)
		attar_report_remark(report,
			"%s is a BPF program: source lines are only available for the kernel and "
			"its modules",
			f->name);
	else if (strcmp(f->dso, "[kernel.kallsyms]") != 0)
		attar_report_remark(report,
			"the source lines of %s are unknown: no file of the module %s with debug "
			"information was found (run as root, and install it below "
			"/usr/lib/debug/lib/modules/%s, on Debian with the package "
			"linux-image-%s-dbg, or set DEBUGINFOD_URLS)",
			f->name, f->dso, names.release, names.release);
	else
		attar_report_remark(report,
			"the source lines of %s are unknown: no vmlinux with debug information for "
			"this kernel was found (install it as "
			"/usr/lib/debug/boot/vmlinux-%s, on Debian with the package "
			"linux-image-%s-dbg, or set DEBUGINFOD_URLS)",
			f->name, names.release, names.release);
}

int annotate_function_report(const struct annotated_function *function, struct attar_report *report)
{
	struct lines lines;
	bool has_lines = false;
	int r = find_lines(function, &lines);

	if (r == 0)
		has_lines = add_lines(&lines, report);
	free(lines.at);
	if (r == 0 && !has_lines)
		remark_no_lines(function, report);
	if (r == 0 && (function->instructions || !has_lines))
		r = add_instructions(function, report);
	return r;
}
