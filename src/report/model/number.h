/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text: for programs (exact, shortest) and for people (grouped, scaled, with a unit).
 * Requires the C numeric locale, which attar_renderer_draw() sets.
 */
#ifndef REPORT_MODEL_NUMBER_H
#define REPORT_MODEL_NUMBER_H

#include "base/buf.h"
#include "base/recent.h"
#include "report/model/model.h"

/* The value of a number cell; NaN for strings, fields and none. */
double number_value(struct cell cell);

/* The shortest decimal that reads back as the same double; value must be finite. */
void number_double(struct buf *b, double value);

/* A duration as "1.23 us", bytes as "9.8 MiB", a rate as "2.40 GHz": three digits and the unit. */
void number_scaled(struct buf *b, enum attar_unit unit, double value);

/* How the durations of a column are written. */
struct number_scale {
	const char *name; /* of the unit, "us"; NULL: each cell has its own */
	double ns;        /* of one */
	int decimals;
	bool is_exact; /* small values do not get a unit of their own */
};

/*
 * Sets scales[i] for each column of a section, from the durations in n rows from `first` on. The
 * largest value has four digits, or, if is_exact, all columns have the unit in which nanoseconds
 * are seen. A single row cannot be compared: its cells have their own units.
 */
void number_scales(struct number_scale *scales, const struct attar_section *s, uint32_t first,
	uint32_t n, bool is_exact);

/*
 * "1,234.567", without the unit; "-" for none and for NaN. What has fewer than two digits has its
 * own unit, "16.1 us", or, if the scale is exact, is "<0.001".
 */
void number_in_scale(struct buf *b, const struct number_scale *scale, struct cell cell);

/* A number cell for people, in its column's unit; "-" for none and for NaN. */
void number_cell(struct buf *b, enum attar_unit unit, struct cell cell);

/*
 * The same for programs: plain digits without a unit; a TIME as "2026-11-21T06:28:31.000000000Z".
 */
void number_plain(struct buf *b, enum attar_unit unit, struct cell cell);

/* Local date "YYYY-MM-DD" and time "HH:MM:SS" of ns since 1970, and the nanoseconds. */
struct number_moment {
	char date[32];
	char clock[16];
	uint32_t ns;
};
struct number_moment number_moment(uint64_t time);

/*
 * Times of event lines: as number_cell() writes them, and as number_plain() does. The text of the
 * last second is kept, because the C library takes longer for it than a whole line does.
 */
enum { NUMBER_CLOCK_WIDTH = 15 /* "06:28:31.000000" */ };
struct number_seconds {
	uint64_t clock_second; /* since 1970; valid if the text is not empty */
	char clock[16];
	struct recent_text utc, digits;
};
void number_add_clock(struct buf *b, struct number_seconds *seconds, uint64_t time);
void number_add_utc(struct buf *b, struct number_seconds *seconds, uint64_t time);
/* As digits, in ns. */
void number_add_ns(struct buf *b, struct number_seconds *seconds, uint64_t time);

#endif
