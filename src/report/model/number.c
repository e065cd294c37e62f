/* SPDX-License-Identifier: MIT */
#include "report/model/number.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/digits.h"

enum { NS_PER_S = 1000000000 };

void number_double(struct buf *b, double value)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_str(b, text);
}

/* A double with grouped digits and `decimals` decimal places. */
static void grouped_double(struct buf *b, double value, int decimals)
{
	char text[400], *point;
	size_t whole;

	snprintf(text, sizeof(text), "%.*f", decimals, fabs(value));
	point = strchr(text, '.');
	whole = point ? (size_t)(point - text) : strlen(text);
	if (value < 0)
		buf_char(b, '-');
	for (size_t i = 0; text[i]; i++) {
		if (i && i < whole && (whole - i) % 3 == 0)
			buf_char(b, ',');
		buf_char(b, text[i]);
	}
}

/* The prefixes of a unit: each is `factor` times the previous one. */
struct scale {
	double factor;
	const char *steps[8];
};

static const struct scale *scale_of(enum attar_unit unit)
{
	static const struct scale ns = {1000, {"ns", "us", "ms", "s"}};
	static const struct scale bytes = {1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}};
	static const struct scale hz = {1000, {"Hz", "kHz", "MHz", "GHz"}};

	return unit == ATTAR_UNIT_NS ? &ns : unit == ATTAR_UNIT_BYTES ? &bytes : &hz;
}

void number_scaled(struct buf *b, enum attar_unit unit, double value)
{
	const struct scale *scale = scale_of(unit);
	double size = fabs(value);
	int step = 0, decimals;

	while (scale->steps[step + 1] && size >= scale->factor - 0.5) {
		size /= scale->factor;
		step++;
	}
	decimals = (step == 0 && size == floor(size)) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
	grouped_double(b, value < 0 ? -size : size, decimals);
	buf_printf(b, " %s", scale->steps[step]);
}

double number_value(struct cell cell)
{
	return cell.kind == CELL_U64      ? (double)cell.u64
	       : cell.kind == CELL_I64    ? (double)cell.i64
	       : cell.kind == CELL_DOUBLE ? cell.real
					  : NAN;
}

static double as_double(struct cell cell)
{
	return cell.kind == CELL_DOUBLE ? cell.real
	       : cell.kind == CELL_I64  ? (double)cell.i64
					: (double)cell.u64;
}

static bool is_number(struct cell cell)
{
	return cell.kind == CELL_U64 || cell.kind == CELL_I64 ||
	       (cell.kind == CELL_DOUBLE && isfinite(cell.real));
}

/* What is not a number: infinities, NaN and none. */
static void add_no_number(struct buf *b, struct cell cell)
{
	if (cell.kind == CELL_DOUBLE && isinf(cell.real))
		buf_str(b, cell.real < 0 ? "-inf" : "inf");
	else
		buf_char(b, '-');
}

/* Absolute values; least is not 0; both are 0 without values. */
struct number_range {
	double least, most;
	bool has_fractions; /* of nanoseconds */
};

static void number_range_add(struct number_range *range, struct cell cell)
{
	double size = is_number(cell) ? fabs(as_double(cell)) : 0;

	if (size == 0)
		return;
	range->least = range->least == 0 ? size : MIN(range->least, size);
	range->most = MAX(range->most, size);
	range->has_fractions |= size != floor(size);
}

static const struct number_scale duration_scales[] = {{.name = "ns", .ns = 1},
	{.name = "us", .ns = 1e3}, {.name = "ms", .ns = 1e6}, {.name = "s", .ns = 1e9}};

/*
 * Microseconds with three decimals show nanoseconds. Larger units are for values that need no such
 * precision, or too many digits.
 */
static struct number_scale number_exact_scale(const struct number_range *range)
{
	struct number_scale scale;
	size_t i = 1;

	if (range->most == 0)
		return (struct number_scale){0};
	if (range->most < 1000 && !range->has_fractions)
		return duration_scales[0];
	while (i < 3 && (range->least >= duration_scales[i + 1].ns * 10 ||
				range->most >= duration_scales[i].ns * 1e8))
		i++;
	scale = duration_scales[i];
	scale.decimals = 3;
	scale.is_exact = true;
	return scale;
}

/* The largest unit of which the largest value has at least one; nanoseconds if all are 0. */
static struct number_scale number_scale_for(const struct number_range *range)
{
	struct number_scale scale;
	size_t i = 0;
	double most;

	while (i < 3 && range->most >= duration_scales[i + 1].ns)
		i++;
	scale = duration_scales[i];
	most = range->most / scale.ns;
	scale.decimals = most >= 1000 ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : 3;
	if (i == 0 && !range->has_fractions)
		scale.decimals = 0;
	return scale;
}

void number_scales(struct number_scale *scales, const struct attar_section *s, uint32_t first,
	uint32_t n, bool is_exact)
{
	struct number_range all = {0};

	for (size_t i = 0; i < s->columns.n; i++) {
		struct number_range range = {0};
		bool is_time = s->columns.at[i].unit == ATTAR_UNIT_NS;

		for (uint32_t row = first; is_time && n > 1 && row < first + n; row++) {
			number_range_add(&range, section_cell(s, row, i));
			number_range_add(&all, section_cell(s, row, i));
		}
		scales[i] = is_time && n > 1 ? number_scale_for(&range) : (struct number_scale){0};
	}
	for (size_t i = 0; i < s->columns.n; i++)
		if (is_exact)
			scales[i] = number_exact_scale(&all);
		else if (s->kind == ATTAR_SECTION_TIME_SERIES && n > 1)
			scales[i] = number_scale_for(&all); /* its columns are compared */
}

/* Fewer than two digits would be seen; 0 is seen. */
static bool number_is_small(const struct number_scale *scale, double value)
{
	static const double least[] = {10, 1, 0.1, 0.01};

	return value != 0 && fabs(value) < least[scale->decimals] && scale->ns > 1;
}

void number_in_scale(struct buf *b, const struct number_scale *scale, struct cell cell)
{
	double value;

	if (!is_number(cell)) {
		add_no_number(b, cell);
		return;
	}
	value = as_double(cell) / scale->ns;
	if (scale->is_exact && value != 0 && fabs(value) < 0.0005)
		buf_str(b, value < 0 ? ">-0.001" : "<0.001");
	else if (!scale->is_exact && number_is_small(scale, value))
		number_scaled(b, ATTAR_UNIT_NS, as_double(cell));
	else
		grouped_double(b, value, scale->decimals);
}

/* Small numbers, of which two decimals show little, have three digits. */
static void count_double(struct buf *b, double value)
{
	double size = fabs(value);

	if (size >= 1e21)
		number_double(b, value);
	else if (size > 0 && size < 0.01)
		buf_printf(b, "%.3g", value);
	else
		grouped_double(b, value, value == floor(value) ? 0 : 2);
}

static void number_count(struct buf *b, struct cell cell)
{
	if (cell.kind == CELL_DOUBLE) {
		count_double(b, cell.real);
	} else if (cell.kind == CELL_I64 && cell.i64 < 0) {
		buf_char(b, '-');
		buf_grouped(b, 0 - cell.u64);
	} else {
		buf_grouped(b, cell.u64);
	}
}

/* Digits without grouping. */
static void digits(struct buf *b, struct cell cell)
{
	if (cell.kind == CELL_DOUBLE)
		number_double(b, cell.real);
	else if (cell.kind == CELL_I64)
		buf_i64(b, cell.i64);
	else
		buf_u64(b, cell.u64);
}

struct number_moment number_moment(uint64_t time)
{
	struct number_moment m = {.ns = (uint32_t)(time % NS_PER_S)};
	time_t seconds = (time_t)(time / NS_PER_S);
	struct tm tm = {0};

	localtime_r(&seconds, &tm);
	strftime(m.date, sizeof(m.date), "%Y-%m-%d", &tm);
	strftime(m.clock, sizeof(m.clock), "%H:%M:%S", &tm);
	return m;
}

static void clock_time(struct buf *b, struct cell cell)
{
	struct number_moment m = number_moment(cell.u64);

	buf_printf(b, "%s.%06u", m.clock, m.ns / 1000);
}

static void utc_time(struct buf *b, uint64_t time)
{
	struct number_seconds seconds = {0};

	number_add_utc(b, &seconds, time);
}

/* A text, and the part of a second after a point. */
static void add_fraction(struct buf *b, const char *second, uint64_t value, unsigned digits)
{
	size_t len = strlen(second);
	char *to;

	if (!buf_reserve(b, len + 1 + DIGITS_MAX))
		return;
	to = b->data + b->len;
	memcpy(to, second, len);
	to += len;
	*to++ = '.';
	to = digits_padded(to, value, digits);
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

void number_add_clock(struct buf *b, struct number_seconds *seconds, uint64_t time)
{
	uint64_t second = time / NS_PER_S;

	if (second != seconds->clock_second || !*seconds->clock) {
		struct number_moment m = number_moment(time);

		memcpy(seconds->clock, m.clock, sizeof(seconds->clock));
		seconds->clock_second = second;
	}
	add_fraction(b, seconds->clock, time % NS_PER_S / 1000, 6);
}

static void seconds_of_clock(struct buf *b, uint64_t time)
{
	buf_u64(b, time / NS_PER_S);
	add_fraction(b, "", time % NS_PER_S, 9);
}

static void read_utc(struct recent_text *utc, uint64_t second)
{
	time_t since = (time_t)second;
	struct tm tm = {0};

	gmtime_r(&since, &tm);
	utc->value = second;
	utc->len = strftime(utc->text, sizeof(utc->text), "%Y-%m-%dT%H:%M:%S.", &tm);
}

void number_add_utc(struct buf *b, struct number_seconds *seconds, uint64_t time)
{
	uint64_t second = time / NS_PER_S;
	char *to;

	if (second != seconds->utc.value || !seconds->utc.len)
		read_utc(&seconds->utc, second);
	if (!buf_reserve(b, RECENT_TEXT_MAX + DIGITS_MAX))
		return;
	to = recent_text_put(&seconds->utc, second, b->data + b->len);
	to = digits_padded(to, time % NS_PER_S, 9);
	*to++ = 'Z';
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

void number_add_ns(struct buf *b, struct number_seconds *seconds, uint64_t time)
{
	uint64_t second = time / NS_PER_S;
	char *from, *to;

	if (!second) {
		buf_u64(b, time);
		return;
	}
	if (!buf_reserve(b, RECENT_TEXT_MAX + DIGITS_MAX))
		return;
	from = b->data + b->len;
	to = recent_text_put(&seconds->digits, second, from);
	if (!to) {
		to = digits_u64(from, second);
		recent_text_keep(&seconds->digits, second, from, to);
	}
	to = digits_padded(to, time % NS_PER_S, 9);
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

/* Times and addresses are integers: a double is shown as a plain number. */
static enum attar_unit unit_for(enum attar_unit unit, struct cell cell)
{
	bool whole = unit == ATTAR_UNIT_TIME || unit == ATTAR_UNIT_HEX || unit == ATTAR_UNIT_CLOCK;

	return whole && cell.kind == CELL_DOUBLE ? ATTAR_UNIT_ID : unit;
}

void number_cell(struct buf *b, enum attar_unit unit, struct cell cell)
{
	if (!is_number(cell)) {
		add_no_number(b, cell);
		return;
	}
	switch (unit_for(unit, cell)) {
	case ATTAR_UNIT_PERCENT:
		grouped_double(b, as_double(cell), 2);
		buf_char(b, '%');
		break;
	case ATTAR_UNIT_NS:
	case ATTAR_UNIT_BYTES:
	case ATTAR_UNIT_HZ:
		number_scaled(b, unit, as_double(cell));
		break;
	case ATTAR_UNIT_TIME:
		clock_time(b, cell);
		break;
	case ATTAR_UNIT_CLOCK:
		seconds_of_clock(b, cell.u64);
		break;
	case ATTAR_UNIT_HEX:
		buf_printf(b, "0x%llx", (unsigned long long)cell.u64);
		break;
	case ATTAR_UNIT_ID:
		digits(b, cell);
		break;
	default:
		number_count(b, cell);
	}
}

void number_plain(struct buf *b, enum attar_unit unit, struct cell cell)
{
	if (!is_number(cell))
		return;
	unit = unit_for(unit, cell);
	if (unit == ATTAR_UNIT_TIME)
		utc_time(b, cell.u64);
	else if (unit == ATTAR_UNIT_CLOCK)
		seconds_of_clock(b, cell.u64);
	else if (unit == ATTAR_UNIT_HEX)
		buf_printf(b, "0x%llx", (unsigned long long)cell.u64);
	else
		digits(b, cell);
}
