/* SPDX-License-Identifier: MIT */
/*
 * The common conversions of print formats, %d, %u and %x of a field at a fixed offset, without
 * evaluating an expression and without printf.
 */
#include "base/digits.h"
#include "expr/print.h"

enum { WIDTH_MAX = 64 };

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

void print_find_numbers(struct print_program *program)
{
	vec_each (&program->pieces, piece) {
		struct print_number *number = &piece->quick;

		if (!piece->conversion || !is_simple(piece))
			continue;
		locate(&program->expr, piece->node, number);
		if (number->size > 8 || number->size & (number->size - 1))
			number->size = 0;
		number->width = (uint8_t)MAX(piece->width, 0);
		number->has_zeroes = piece->flags[0] == '0';
	}
}

static uint64_t load(const struct print_number *number, const uint8_t *at)
{
	struct attar_number_type type = {.size = number->size, .is_signed = number->is_signed};

	return attar_number_u64(&type, at);
}

/* The value as an integer of the conversion's size: what %d, %u or %x print, and its sign. */
static inline uint64_t convert(const struct print_piece *piece, uint64_t value, bool *ret_negative)
{
	unsigned unused = 64U - piece->bits;
	bool is_signed = piece->conversion == 'd';
	int64_t shifted = (int64_t)(value << unused);

	*ret_negative = is_signed && shifted < 0;
	value = is_signed ? (uint64_t)(shifted >> unused) : (uint64_t)shifted >> unused;
	return *ret_negative ? 0 - value : value;
}

static inline char *add_digits(char *to, const struct print_piece *piece, uint64_t value)
{
	return piece->conversion == 'x' ? digits_hex(to, value) : digits_u64(to, value);
}

static void put_padded(
	struct print_run *run, const struct print_piece *piece, uint64_t value, bool is_negative)
{
	char text[WIDTH_MAX + DIGITS_MAX + 1], *start = text + WIDTH_MAX + 1,
					       *end = add_digits(start, piece, value);
	const struct print_number *number = &piece->quick;

	while (number->has_zeroes && end - start + is_negative < number->width)
		*--start = '0';
	if (is_negative)
		*--start = '-';
	while (end - start < number->width)
		*--start = ' ';
	print_text(run, start, (size_t)(end - start));
}

bool print_number(struct print_run *run, const struct print_piece *piece)
{
	const struct print_number *number = &piece->quick;
	bool is_negative;
	uint64_t value;
	char *to;

	if ((size_t)number->offset + number->size > run->record.size)
		return false;
	value = convert(piece, load(number, run->record.raw + number->offset), &is_negative);
	if (unlikely(number->width || run->len + DIGITS_MAX + 2 > run->max)) {
		put_padded(run, piece, value, is_negative);
		return true;
	}
	to = run->at + run->len;
	if (is_negative)
		*to++ = '-';
	to = add_digits(to, piece, value);
	*to = '\0';
	run->len = (size_t)(to - run->at);
	return true;
}
