/* SPDX-License-Identifier: MIT */
/*
 * A histogram as text:
 *
 *	latency
 *	84,000 values, min 1.50 us, mean 41.7 us, p50 16.0 us, p99 240 us, max 255 us
 *	    low     high   count
 *	2.00 us  4.00 us   7,000  ██████████▎
 */
#include "report/sinks/text/text.h"

#include "report/model/number.h"
#include "report/model/width.h"

enum { BAR_WITHOUT_LIMIT = 50 };

struct bucket {
	double low, high;
	uint64_t count;
};

struct histogram {
	struct attar_renderer *r;
	const struct attar_section *s;
	VEC(struct bucket) buckets;
	unsigned widths[3]; /* of low, high, count */
	bool hides_high;    /* the terminal is too narrow for three numbers */
	uint64_t most;
	struct buf cell;
};

static void histogram_done(struct histogram *h)
{
	h->r->out.failed |= h->cell.failed;
	vec_done(&h->buckets);
	buf_done(&h->cell);
}

static struct bucket bucket_at(const struct attar_section *s, uint32_t row)
{
	return (struct bucket){.low = section_cell(s, row, 0).real,
		.high = section_cell(s, row, 1).real,
		.count = section_cell(s, row, 2).u64};
}

/* Joins adjacent buckets so that there are at most opts.max_rows. */
static void join_buckets(struct histogram *h)
{
	uint32_t most = h->r->opts.max_rows ? h->r->opts.max_rows : UINT32_MAX;
	uint32_t joined = h->s->rows / most + (h->s->rows % most != 0);

	for (uint32_t row = 0; row < h->s->rows; row++) {
		struct bucket next = bucket_at(h->s, row), *last;

		if (row % joined == 0) {
			h->r->out.failed |= vec_push(&h->buckets, next) < 0;
			continue;
		}
		if (!h->buckets.n)
			return;
		last = &h->buckets.at[h->buckets.n - 1];
		last->high = next.high;
		if (__builtin_add_overflow(last->count, next.count, &last->count))
			last->count = UINT64_MAX;
	}
}

static const char *cell_text(struct histogram *h, const struct bucket *bucket, int column)
{
	struct cell cell = {CELL_DOUBLE, .real = column ? bucket->high : bucket->low};

	buf_reset(&h->cell);
	if (column == 2)
		buf_grouped(&h->cell, bucket->count);
	else
		number_cell(&h->cell, h->s->columns.at[0].unit, cell);
	return buf_text(&h->cell);
}

static const char *const names[] = {"low", "high", "count"};

static void measure(struct histogram *h)
{
	for (int i = 0; i < 3; i++)
		h->widths[i] = width_of(names[i]);
	vec_each (&h->buckets, it) {
		h->most = MAX(h->most, it->count);
		for (int i = 0; i < 3; i++)
			h->widths[i] = MAX(h->widths[i], width_of(cell_text(h, it, i)));
	}
	h->hides_high =
		h->r->opts.columns &&
		h->widths[0] + h->widths[1] + h->widths[2] + 2 * LAYOUT_GAP > h->r->opts.columns;
}

/* bucket NULL: the names of the columns. Returns the width used. */
static unsigned draw_cells(struct histogram *h, const struct bucket *bucket)
{
	unsigned used = 0;

	for (int i = 0; i < 3; i++) {
		struct text_field field = {.width = h->widths[i],
			.right = true,
			.style = bucket ? TEXT_PLAIN : TEXT_HEADING};

		if (i == 1 && h->hides_high)
			continue;
		if (i)
			text_add(h->r, &used, TEXT_PLAIN, "  ");
		text_add_field(h->r, &used, &field, bucket ? cell_text(h, bucket, i) : names[i]);
	}
	return used;
}

static void add_blocks(struct buf *b, unsigned eighths)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

	for (; eighths >= 8; eighths -= 8)
		buf_str(b, "█");
	buf_str(b, parts[eighths]);
}

/* A bar in the rest of the line, of eighths of a column; not empty unless the bucket is. */
static void draw_bar(struct histogram *h, unsigned used, uint64_t count)
{
	unsigned columns = h->r->opts.columns, steps = h->r->opts.ascii ? 1 : 8, n;
	unsigned room = columns ? (columns > used + 2 ? columns - used - 2 : 0) : BAR_WITHOUT_LIMIT;

	if (!count || !room)
		return;
	n = (unsigned)((double)(room * steps) * ((double)count / (double)h->most) + 0.5);
	text_add(h->r, &used, TEXT_PLAIN, "  ");
	n = MAX(n, 1u);
	if (steps == 8)
		add_blocks(&h->r->out, n);
	else
		for (; n; n--)
			buf_char(&h->r->out, '#');
}

static void draw_summary(struct histogram *h)
{
	struct buf line _cleanup_(buf_done) = {0};

	render_summary(&line, h->s);
	if (line.len)
		text_wrap(h->r, TEXT_PLAIN, buf_text(&line));
	h->r->out.failed |= line.failed;
}

void text_histogram(struct attar_renderer *r, const struct attar_section *s)
{
	struct histogram h _cleanup_(histogram_done) = {.r = r, .s = s};

	text_heading(r, section_text(s, s->name), "");
	draw_summary(&h);
	if (!s->rows) {
		if (!s->summary.is_set)
			text_nothing(r);
		return;
	}
	join_buckets(&h);
	measure(&h);
	draw_cells(&h, NULL);
	buf_char(&r->out, '\n');
	vec_each (&h.buckets, it) {
		draw_bar(&h, draw_cells(&h, it), it->count);
		buf_char(&r->out, '\n');
		render_spill(r);
	}
}
