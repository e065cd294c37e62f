/* SPDX-License-Identifier: MIT */
/*
 * The common conversions of print formats, %d, %u and %x of a field at a fixed offset, without
 * evaluating an expression and without printf. Where they are in the record and what they print is
 * determined once, in print_find_numbers().
 */
#include "base/digits.h"
#include "expr/print.h"

enum {
	WIDTH_MAX = 64,
	NUMBER_ROOM = DIGITS_MAX + 2 + RECENT_TEXT_MAX, /* bytes that writing one may overwrite */
};

static bool is_simple(const struct print_piece *piece)
{
	return strchr("dux", piece->conversion) && !piece->width_node && !piece->precision_node &&
	       piece->precision < 0 && piece->width <= WIDTH_MAX &&
	       !piece->flags[strspn(piece->flags, "0")];
}

/* A field, or an element of an array by a constant index. */
static void locate(const struct expr *expr, int32_t index, struct print_number *ret_number)
{
	const struct expr_node *node = expr_node(expr, index), *array, *element;
	const struct attar_field *field;

	if (node->op == EXPR_FIELD) {
		field = &expr->fields.at[node->field];
		if (field->place == ATTAR_FIELD_FIXED && field->kind == ATTAR_FIELD_NUMBER)
			*ret_number = (struct print_number){.offset = field->offset,
				.size = (uint8_t)field->size,
				.is_signed = field->is_signed};
		return;
	}
	if (node->op != EXPR_INDEX)
		return;
	array = expr_node(expr, node->a);
	element = expr_node(expr, node->b);
	if (array->op != EXPR_BYTES || element->op != EXPR_NUMBER)
		return;
	field = &expr->fields.at[array->field];
	if (field->place != ATTAR_FIELD_FIXED || !array->type.element ||
		element->number >= field->size / array->type.element)
		return;
	*ret_number = (struct print_number){
		.offset = field->offset + (uint32_t)element->number * array->type.element,
		.size = (uint8_t)array->type.element,
		.is_signed = array->type.is_signed};
}

/*
 * The number that is printed is the field, or its low bits, as a signed or unsigned number. False:
 * it is neither, because a signed field becomes a larger unsigned number.
 */
static bool find_bits(const struct print_piece *piece, struct print_number *number)
{
	bool is_larger = piece->bits > number->size * 8, is_signed_field = number->is_signed;

	number->unused = (uint8_t)(64 - MIN((unsigned)piece->bits, number->size * 8U));
	number->is_signed = piece->conversion == 'd' && (!is_larger || is_signed_field);
	number->is_hex = piece->conversion == 'x';
	return !is_larger || !is_signed_field || number->is_signed;
}

void print_find_numbers(struct print_program *program)
{
	vec_each (&program->pieces, piece) {
		struct print_number *number = &piece->quick;

		if (!piece->conversion || !is_simple(piece))
			continue;
		locate(&program->expr, piece->node, number);
		if (number->size > 8 || number->size & (number->size - 1) ||
			!find_bits(piece, number))
			number->size = 0;
		number->recent = (uint32_t)program->recent.n;
		if (number->size && !vec_add(&program->recent))
			number->size = 0;
		number->width = (uint8_t)MAX(piece->width, 0);
		number->has_zeroes = piece->flags[0] == '0';
	}
}

static inline uint64_t print_number_load(const uint8_t *at, unsigned size)
{
	union {
		uint64_t u64;
		uint32_t u32;
		uint16_t u16;
	} value;

	switch (size) {
	case 8:
		memcpy(&value.u64, at, 8);
		return value.u64;
	case 4:
		memcpy(&value.u32, at, 4);
		return value.u32;
	case 2:
		memcpy(&value.u16, at, 2);
		return value.u16;
	default:
		return *at;
	}
}

/* The number without its sign; bits: of the field. */
static inline uint64_t magnitude(
	const struct print_number *number, uint64_t bits, bool *ret_negative)
{
	uint64_t shifted = bits << number->unused;
	int64_t value = (int64_t)shifted >> number->unused;

	*ret_negative = number->is_signed && value < 0;
	if (!number->is_signed)
		return shifted >> number->unused;
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static inline char *add_digits(char *to, const struct print_number *number, uint64_t value)
{
	return number->is_hex ? digits_hex(to, value) : digits_u64(to, value);
}

static void put_padded(struct print_run *run, const struct print_number *number, uint64_t bits)
{
	char text[WIDTH_MAX + DIGITS_MAX + 1], *start = text + WIDTH_MAX + 1, *end;
	bool is_negative;
	uint64_t value = magnitude(number, bits, &is_negative);

	end = add_digits(start, number, value);
	while (number->has_zeroes && end - start + is_negative < number->width)
		*--start = '0';
	if (is_negative)
		*--start = '-';
	while (end - start < number->width)
		*--start = ' ';
	print_text(run, start, (size_t)(end - start));
}

/* The number, and the text before it. */
static inline void put_number(struct print_run *run, const struct print_piece *piece)
{
	const struct print_number *number = &piece->quick;
	struct recent_text *recent = &run->program->recent.at[number->recent];
	uint64_t bits = print_number_load(run->record.raw + number->offset, number->size), value;
	char *from, *to;
	bool is_negative;

	if (unlikely(number->width || run->len + piece->before_len + NUMBER_ROOM > run->max)) {
		print_before(run, piece);
		put_padded(run, number, bits);
		return;
	}
	from = run->at + run->len;
	to = recent_text_put(recent, bits, from);
	if (!to) {
		base_copy_short(from, print_text_before(run, piece), piece->before_len);
		to = from + piece->before_len;
		value = magnitude(number, bits, &is_negative);
		if (is_negative)
			*to++ = '-';
		to = add_digits(to, number, value);
		recent_text_keep(recent, bits, from, to);
	}
	*to = '\0';
	run->len = (size_t)(to - run->at);
}

void print_program(struct print_run *run)
{
	const struct print_piece *piece = run->program->pieces.at;
	size_t size = run->record.size;

	for (size_t n = run->program->pieces.n; n > 0; n--, piece++) {
		const struct print_number *number = &piece->quick;

		if (likely(number->size) && number->offset + number->size <= size)
			put_number(run, piece);
		else
			print_conversion(run, piece);
	}
}
