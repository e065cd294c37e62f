/* SPDX-License-Identifier: MIT */
#include "report/model/spans.h"

static const char *text_of(const struct attar_section *s, uint32_t row, enum attar_span_column at)
{
	struct cell cell = section_cell(s, row, at);

	return cell.kind == CELL_TEXT ? section_text(s, cell.text) : "";
}

/* Returns false if the cell has no number. */
static bool number_of(const struct attar_section *s, uint32_t row, enum attar_span_column at,
	uint64_t *ret_number)
{
	struct cell cell = section_cell(s, row, at);

	*ret_number = cell.kind == CELL_U64 ? cell.u64 : 0;
	return cell.kind == CELL_U64;
}

static void read_row(const struct attar_section *s, uint32_t at, struct span_row *row)
{
	uint64_t number;

	*row = (struct span_row){.number = at,
		.thread = text_of(s, at, ATTAR_SPAN_THREAD),
		.category = text_of(s, at, ATTAR_SPAN_CATEGORY),
		.name = text_of(s, at, ATTAR_SPAN_NAME),
		.detail = text_of(s, at, ATTAR_SPAN_DETAIL),
		.waker = text_of(s, at, ATTAR_SPAN_WAKER),
		.waker_stack = text_of(s, at, ATTAR_SPAN_WAKER_STACK)};
	number_of(s, at, ATTAR_SPAN_TIME, &row->time);
	number_of(s, at, ATTAR_SPAN_DURATION, &number);
	row->duration = MIN(number, UINT64_MAX - row->time);
	row->has_thread = number_of(s, at, ATTAR_SPAN_TID, &number);
	row->tid = (uint32_t)number;
	number_of(s, at, ATTAR_SPAN_PID, &number);
	row->pid = (uint32_t)number;
	row->has_node = number_of(s, at, ATTAR_SPAN_NODE, &number);
	row->node = (uint32_t)number;
	number_of(s, at, ATTAR_SPAN_WEIGHT, &row->weight);
	row->cpu = number_of(s, at, ATTAR_SPAN_CPU, &number) ? (int64_t)number : -1;
	number_of(s, at, ATTAR_SPAN_WAKER_PID, &number);
	row->waker_pid = (uint32_t)number;
	number_of(s, at, ATTAR_SPAN_WAKER_TID, &number);
	row->waker_tid = (uint32_t)number;
	number_of(s, at, ATTAR_SPAN_SAMPLE, &number);
	row->is_sample = number != 0;
}

static int spans_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Tracks without a thread come last, by name: "CPU 2" before "CPU 10". */
static int compare_tracks(const struct span_row *a, const struct span_row *b)
{
	int n = spans_compare(!a->has_thread, !b->has_thread);

	n = n ? n : spans_compare(a->pid, b->pid);
	n = n ? n : spans_compare(a->tid, b->tid);
	return n || a->has_thread ? n : strverscmp(a->thread, b->thread);
}

static int compare_rows(const void *x, const void *y)
{
	const struct span_row *a = x, *b = y;
	int n = compare_tracks(a, b);

	n = n ? n : spans_compare(a->time, b->time);
	n = n ? n : spans_compare(b->duration, a->duration);
	return n || !a->duration ? (n ? n : spans_compare(a->number, b->number))
				 : spans_compare(b->number, a->number);
}

int span_rows_init(struct span_rows *rows, const struct attar_section *section)
{
	rows->n = section->rows;
	rows->at = calloc(rows->n + 1, sizeof(*rows->at));
	if (!rows->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->n; i++)
		read_row(section, i, &rows->at[i]);
	qsort(rows->at, rows->n, sizeof(*rows->at), compare_rows);
	for (size_t i = 1; i < rows->n; i++)
		rows->at[i].track = rows->at[i - 1].track +
				    (compare_tracks(&rows->at[i - 1], &rows->at[i]) != 0);
	return 0;
}

static bool continues(const struct span_row *before, const struct span_row *row)
{
	return before->track == row->track && before->time + before->duration == row->time &&
	       strcmp(row->category, "state") == 0 && strcmp(before->category, "state") == 0 &&
	       strcmp(before->name, row->name) == 0;
}

void span_rows_join(struct span_rows *rows)
{
	struct span_row *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct span_row *row = &rows->at[i];

		if (row->is_sample)
			continue;
		if (last && continues(last, row)) {
			last->duration += row->duration;
			last->has_node &= row->has_node && last->node == row->node;
			last->waker = row->waker;
			last->waker_stack = row->waker_stack;
			last->waker_pid = row->waker_pid;
			last->waker_tid = row->waker_tid;
		} else {
			last = &rows->at[n++];
			*last = *row;
		}
	}
	rows->n = n;
}

void span_rows_done(struct span_rows *rows)
{
	free(rows->at);
	*rows = (struct span_rows){0};
}
