/* SPDX-License-Identifier: MIT */
#include "cli/commands/frame_line.h"

#include "base/base.h"
#include "base/escape.h"

struct frame_line frame_line_of(const struct attar_frame *frame)
{
	return (struct frame_line){.name = frame->name,
		.mangled = frame->mangled,
		.module = frame->module,
		.file = frame->file,
		.offset = frame->offset,
		.line = frame->line,
		.column = frame->column,
		.inlined = frame->inlined};
}

static const char *name_of(const struct frame_line *line, bool mangled)
{
	return mangled ? line->mangled : line->name;
}

static void add_text(struct buf *b, const char *text)
{
	escape_text(b, text, strlen(text));
}

static void add_place(struct buf *b, const struct frame_line *line)
{
	if (!line->file)
		return;
	buf_str(b, " at ");
	add_text(b, line->file);
	if (line->line)
		buf_printf(b, ":%u", line->line);
	if (line->line && line->column)
		buf_printf(b, ":%u", line->column);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void frame_line_text(struct buf *b, const struct frame_line *line, bool mangled)
{
	const char *name = name_of(line, mangled);

	if (!name && line->is_file && !line->inlined)
		name = file_name(line->module);
	add_text(b, name ?: "[unknown]");
	if (name && !line->inlined && !line->is_interpreted)
		buf_printf(b, "+0x%llx", (unsigned long long)line->offset);
	if (!name && line->has_address)
		buf_printf(b, " 0x%llx", (unsigned long long)line->address);
	add_place(b, line);
}

void frame_line_module(struct buf *b, const struct frame_line *line)
{
	buf_str(b, " (");
	add_text(b, line->module);
	buf_char(b, ')');
}

void frame_line_columns(struct attar_section *table)
{
	attar_section_column(table, "symbol", ATTAR_UNIT_TEXT);
	attar_section_column(table, "offset", ATTAR_UNIT_HEX);
	attar_section_column(table, "inlined", ATTAR_UNIT_TEXT);
	attar_section_column(table, "file", ATTAR_UNIT_TEXT);
	attar_section_column(table, "line", ATTAR_UNIT_ID);
	attar_section_column(table, "column", ATTAR_UNIT_ID);
	attar_section_column(table, "dso", ATTAR_UNIT_TEXT);
}

static void text_cell(struct attar_section *table, const char *text)
{
	if (text)
		attar_cell_text(table, text);
	else
		attar_cell_none(table);
}

/* Lines and columns begin at 1; 0: unknown. */
static void number_cell(struct attar_section *table, uint32_t number)
{
	if (number)
		attar_cell_u64(table, number);
	else
		attar_cell_none(table);
}

void frame_line_cells(struct attar_section *table, const struct frame_line *line, bool mangled)
{
	text_cell(table, name_of(line, mangled));
	attar_cell_u64(table, line->offset);
	attar_cell_text(table, line->inlined ? "yes" : "no");
	text_cell(table, line->file);
	number_cell(table, line->line);
	number_cell(table, line->column);
	attar_cell_text(table, line->module);
}
