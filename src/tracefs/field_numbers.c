/* SPDX-License-Identifier: MIT */
/* The numbers in a field: one, or the elements of an array. */
#include "base/check_arg.h"
#include "tracefs/format.h"

struct numbers {
	struct attar_number_type type;
	const char *at;
	size_t n;
};

static bool has_size(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* n is 0 if the field has no numbers or exceeds the record. */
static struct numbers numbers_of(const struct attar_field *field, const void *raw, size_t size)
{
	struct numbers numbers = {0};
	size_t len;

	if (!attar_field_number_type(field, &numbers.type) || !has_size(numbers.type.size))
		return numbers;
	numbers.at = attar_field_bytes(field, raw, size, &len);
	if (numbers.at)
		numbers.n = len / numbers.type.size;
	if (!numbers.type.is_array)
		numbers.n = numbers.n > 0;
	return numbers;
}

size_t attar_field_count(const struct attar_field *field, const void *raw, size_t size)
{
	CHECK_ARG_OR(field, "field", 0);
	CHECK_ARG_OR(raw || !size, "raw", 0);

	return numbers_of(field, raw, size).n;
}

/* 0 for what does not fit, also for what is not a number. */
static uint64_t truncated(double value)
{
	static const double limit = 18446744073709551616.0; /* 2^64 */

	if (value >= 0 && value < limit)
		return (uint64_t)value;
	return value < 0 && value >= -limit / 2 ? (uint64_t)(int64_t)value : 0;
}

uint64_t attar_field_u64_at(const struct attar_field *field, const void *raw, size_t size, size_t i)
{
	CHECK_ARG_OR(field, "field", 0);
	CHECK_ARG_OR(raw || !size, "raw", 0);

	struct numbers numbers = numbers_of(field, raw, size);
	const char *at;

	if (i >= numbers.n)
		return 0;
	at = numbers.at + i * numbers.type.size;
	return numbers.type.is_float ? truncated(attar_number_double(&numbers.type, at))
				     : attar_number_u64(&numbers.type, at);
}

double attar_field_double_at(
	const struct attar_field *field, const void *raw, size_t size, size_t i)
{
	CHECK_ARG_OR(field, "field", 0);
	CHECK_ARG_OR(raw || !size, "raw", 0);

	struct numbers numbers = numbers_of(field, raw, size);
	const char *at;

	if (i >= numbers.n)
		return 0;
	at = numbers.at + i * numbers.type.size;
	if (numbers.type.is_float)
		return attar_number_double(&numbers.type, at);
	return numbers.type.is_signed ? (double)attar_number_i64(&numbers.type, at)
				      : (double)attar_number_u64(&numbers.type, at);
}
