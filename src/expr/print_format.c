/* SPDX-License-Identifier: MIT */
/* Format text from a print format's nodes and conversions. */
#include <stdio.h>

#include "expr/print.h"

enum { PADDED_MAX = 4096 /* maximum size of text with a width */ };

void print_text(struct print_run *run, const char *text, size_t n)
{
	if (run->len + 1 < run->max) {
		size_t fits = MIN(n, run->max - run->len - 1);

		memcpy(run->at + run->len, text, fits);
		run->at[run->len + fits] = '\0';
	}
	run->len += n;
}

void print_form(struct print_run *run, const char *fmt, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n > 0)
		print_text(run, text, MIN((size_t)n, sizeof(text) - 1));
}

/* ---- nodes that produce text ---- */

static const struct print_node *node_at(const struct print_run *run, int32_t index)
{
	return index < 0 ? NULL : &run->program->nodes.at[index];
}

static void put_symbolic(struct print_run *run, const struct print_node *node)
{
	uint64_t value = print_eval(run, node->a).number;

	for (const struct print_node *e = node_at(run, node->b); e; e = node_at(run, e->a))
		if (e->number == value) {
			print_text(run, e->text, strlen(e->text));
			return;
		}
	print_form(run, "0x%llx", (unsigned long long)value);
}

static void put_flags(struct print_run *run, const struct print_node *node)
{
	uint64_t left = print_eval(run, node->a).number;
	bool any = false;

	for (const struct print_node *e = node_at(run, node->b); e && left;
		e = node_at(run, e->a)) {
		if ((left & e->number) != e->number)
			continue;
		left &= ~e->number;
		print_text(run, node->text, any ? strlen(node->text) : 0);
		print_text(run, e->text, strlen(e->text));
		any = true;
	}
	if (left)
		print_form(run, "%s0x%llx", any ? node->text : "", (unsigned long long)left);
}

static void put_hex(struct print_run *run, const struct print_node *node)
{
	struct print_value v = print_eval(run, node->a);
	uint64_t n = MIN(print_eval(run, node->b).number, v.bytes ? v.len : 0);

	for (uint64_t i = 0; i < n; i++)
		print_form(run, "%s%02x", i && node->op == PRINT_HEX ? " " : "", v.bytes[i]);
}

static void put_array(struct print_run *run, const struct print_node *node)
{
	struct print_value v = print_eval(run, node->a);
	uint64_t size = print_eval(run, node->c).number, n = print_eval(run, node->b).number;
	struct attar_field f = {.size = (uint16_t)size};

	print_text(run, "{", 1);
	for (uint64_t i = 0; v.bytes && size >= 1 && size <= 8 && i < n && (i + 1) * size <= v.len;
		i++)
		print_form(run, "%s0x%llx", i ? "," : "",
			(unsigned long long)attar_field_u64(&f, v.bytes + i * size, size));
	print_text(run, "}", 1);
}

static void put_constant(struct print_run *run, uint64_t address)
{
	const char *text = tracefs_string(run->tracefs, address);

	if (text)
		print_text(run, text, strlen(text));
	else
		print_form(run, address ? "0x%llx" : "(null)", (unsigned long long)address);
}

void print_string(struct print_run *run, int32_t index)
{
	const struct print_node *node = &run->program->nodes.at[index];
	struct print_value v;

	switch ((enum print_op)node->op) {
	case PRINT_SYMBOLIC:
		put_symbolic(run, node);
		return;
	case PRINT_FLAGS:
		put_flags(run, node);
		return;
	case PRINT_HEX:
	case PRINT_HEX_STR:
		put_hex(run, node);
		return;
	case PRINT_ARRAY:
		put_array(run, node);
		return;
	case PRINT_BITMASK:
		v = print_eval(run, node->a);
		if (v.bytes)
			print_bitmap(run, v.bytes, v.len * 8, false);
		return;
	case PRINT_CHOOSE:
		v = print_eval(run, node->a);
		print_string(run, v.bytes || v.number ? node->b : node->c);
		return;
	case PRINT_CAST:
		print_string(run, node->a);
		return;
	default:
		break;
	}
	v = print_eval(run, index);
	if (v.bytes)
		print_text(run, (const char *)v.bytes, strnlen((const char *)v.bytes, v.len));
	else
		put_constant(run, v.number);
}

/* ---- conversions ---- */

static int amount(const struct print_run *run, int value, bool is_node)
{
	int64_t number;

	if (!is_node)
		return value;
	number = (int64_t)print_eval(run, value).number;
	return number < -PADDED_MAX ? -PADDED_MAX : number > PADDED_MAX ? PADDED_MAX : (int)number;
}

/* Text with a width: format it to a buffer first, then apply the width. */
static void put_padded(struct print_run *run, const struct print_piece *piece, int32_t node,
	int width, int precision)
{
	char text[PADDED_MAX] = "";
	struct print_run apart = *run;
	size_t n, blanks;
	bool left = strchr(piece->flags, '-') || width < 0;

	apart.at = text;
	apart.max = sizeof(text);
	apart.len = 0;
	print_string(&apart, node);
	n = MIN(apart.len, sizeof(text) - 1);
	if (precision >= 0)
		n = MIN(n, (size_t)precision);
	width = abs(width);
	blanks = (size_t)width > n ? (size_t)width - n : 0;
	for (size_t i = 0; !left && i < blanks; i++)
		print_text(run, " ", 1);
	print_text(run, text, n);
	for (size_t i = 0; left && i < blanks; i++)
		print_text(run, " ", 1);
}

/* For "%#x" and zero, the kernel writes 0x0, the C library 0. */
static void put_zero(struct print_run *run, const struct print_piece *piece, int width)
{
	bool zeroes = strchr(piece->flags, '0') && !strchr(piece->flags, '-');

	width = abs(width);
	if (zeroes)
		print_form(run, "0%c%0*d", piece->conversion, MAX(width - 2, 1), 0);
	else
		print_form(run, strchr(piece->flags, '-') ? "%-*s" : "%*s", width,
			piece->conversion == 'x' ? "0x0" : "0X0");
}

static void put_number(struct print_run *run, const struct print_piece *piece, int width,
	int precision, uint64_t number)
{
	char spec[32];

	if (piece->conversion == 'c') {
		snprintf(spec, sizeof(spec), "%%%s*c", piece->flags);
		print_form(run, spec, MAX(width, 0), (int)(unsigned char)number);
		return;
	}
	if (piece->bits < 64) {
		number &= (1ULL << piece->bits) - 1;
		if (piece->conversion == 'd' && number >> (piece->bits - 1))
			number |= ~0ULL << piece->bits;
	}
	snprintf(spec, sizeof(spec), "%%%s*.*ll%c", piece->flags, piece->conversion);
	if (!number && strchr(piece->flags, '#') && (piece->conversion | 32) == 'x') {
		put_zero(run, piece, width);
		return;
	}
	print_form(run, spec, MAX(width, 0), precision, (unsigned long long)number);
}

/* ---- values that depend on unknown names ---- */

/* Whether an expression uses the name of the base of the struct page array. */
static bool has_page_base(const struct print_run *run, int32_t index)
{
	static const char *const bases[] = {"vmemmap_base", "vmemmap", "memstart_addr", "mem_map"};
	const struct print_node *node = node_at(run, index);

	if (!node || !node->is_unknown)
		return false;
	for (size_t i = 0; node->op == PRINT_UNKNOWN && i < ARRAY_SIZE(bases); i++)
		if (!strcmp(node->text, bases[i]))
			return true;
	return has_page_base(run, node->a) || has_page_base(run, node->b) ||
	       has_page_base(run, node->c);
}

/* Follows only the selected operand of "c ? a : b"; ignores casts. */
static int32_t chosen(const struct print_run *run, int32_t index)
{
	for (;;) {
		const struct print_node *node = &run->program->nodes.at[index];

		if (node->op == PRINT_CAST && node->is_unknown)
			index = node->a;
		else if (node->op == PRINT_CHOOSE && !node_at(run, node->a)->is_unknown)
			index = print_is_true(run, node->a) ? node->b : node->c;
		else
			return index;
	}
}

/*
 * The address of a struct page, pfn_to_page(), is relative to a base that is unknown in user space:
 * print the page frame number instead.
 */
static void put_unknown(struct print_run *run, int32_t index)
{
	const struct print_node *node = &run->program->nodes.at[index];

	if (node->op == PRINT_BINARY && node->token == '+' && has_page_base(run, node->a) &&
		!node_at(run, node->b)->is_unknown)
		print_form(run, "pfn:0x%llx", (unsigned long long)print_eval(run, node->b).number);
	else
		print_text(run, "?", 1);
}

static void put_piece(struct print_run *run, const struct print_piece *piece)
{
	int width, precision;
	int32_t node;

	print_text(run, piece->before, strlen(piece->before));
	if (!piece->conversion)
		return;
	node = chosen(run, piece->node);
	if (run->program->nodes.at[node].is_unknown) {
		put_unknown(run, node);
		return;
	}
	width = piece->width == -1 && !piece->width_node
			? 0
			: amount(run, piece->width, piece->width_node);
	precision = amount(run, piece->precision, piece->precision_node);
	if (piece->conversion == 'p')
		print_pointer(run, piece->suffix, width ? width : -1, print_eval(run, node));
	else if (piece->conversion != 's')
		put_number(run, piece, width, precision, print_eval(run, node).number);
	else if (width || precision >= 0)
		put_padded(run, piece, node, width, precision);
	else
		print_string(run, node);
}

void print_program(struct print_run *run)
{
	vec_each (&run->program->pieces, piece)
		put_piece(run, piece);
}
