/* SPDX-License-Identifier: MIT */
/* Format text from a print format's nodes and conversions. */
#include <ctype.h>
#include <stdio.h>

#include "expr/print.h"

enum { PADDED_MAX = 4096 /* maximum size of text with a width */ };

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

static const struct expr_node *node_at(const struct print_run *run, int32_t index)
{
	return index < 0 ? NULL : expr_node(run->record.expr, index);
}

/* The text of a node: of an entry, or between flags. */
static void put_text_of(struct print_run *run, const struct expr_node *node)
{
	print_text(run, expr_text(run->record.expr, node), node->text_len);
}

static void put_symbolic(struct print_run *run, const struct expr_node *node)
{
	uint64_t value = expr_number(&run->record, node->a);

	for (const struct expr_node *e = node_at(run, node->b); e; e = node_at(run, e->a))
		if (e->number == value) {
			put_text_of(run, e);
			return;
		}
	print_form(run, "0x%llx", (unsigned long long)value);
}

static void put_flags(struct print_run *run, const struct expr_node *node)
{
	uint64_t left = expr_number(&run->record, node->a);
	bool any = false;

	for (const struct expr_node *e = node_at(run, node->b); e && left; e = node_at(run, e->a)) {
		if ((left & e->number) != e->number)
			continue;
		left &= ~e->number;
		if (any)
			put_text_of(run, node);
		put_text_of(run, e);
		any = true;
	}
	if (left && any)
		put_text_of(run, node);
	if (left)
		print_form(run, "0x%llx", (unsigned long long)left);
}

static void put_hex(struct print_run *run, const struct expr_node *node)
{
	struct expr_value v = expr_eval(&run->record, node->a);
	uint64_t n = MIN(expr_number(&run->record, node->b), v.bytes ? v.len : 0);

	for (uint64_t i = 0; i < n; i++)
		print_form(run, "%s%02x", i && node->op == EXPR_HEX ? " " : "", v.bytes[i]);
}

static void put_array(struct print_run *run, const struct expr_node *node)
{
	struct expr_value v = expr_eval(&run->record, node->a);
	uint64_t size = expr_number(&run->record, node->c), n = expr_number(&run->record, node->b);
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

/* Characters that no shell interprets, in quotes or not. */
static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-+=.,:/@%", c));
}

static void put_record_text(struct print_run *run, const char *text, size_t n)
{
	if (!run->for_shell) {
		print_text(run, text, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		print_text(run, is_plain(text[i]) ? text + i : "_", 1);
}

/* Writes a node as "%s" does. */
static void print_string(struct print_run *run, int32_t index)
{
	const struct expr_node *node = node_at(run, index);
	struct expr_value v;

	switch ((enum expr_op)node->op) {
	case EXPR_SYMBOLIC:
		put_symbolic(run, node);
		return;
	case EXPR_FLAGS:
		put_flags(run, node);
		return;
	case EXPR_HEX:
	case EXPR_HEX_STR:
		put_hex(run, node);
		return;
	case EXPR_ARRAY:
		put_array(run, node);
		return;
	case EXPR_BITMASK:
		v = expr_eval(&run->record, node->a);
		if (v.bytes)
			print_bitmap(run, v.bytes, v.len * 8, false);
		return;
	case EXPR_CHOOSE:
		print_string(run, expr_is_true(&run->record, node->a) ? node->b : node->c);
		return;
	case EXPR_CAST:
		print_string(run, node->a);
		return;
	default:
		break;
	}
	v = expr_eval(&run->record, index);
	if (v.bytes)
		put_record_text(run, (const char *)v.bytes, strnlen((const char *)v.bytes, v.len));
	else
		put_constant(run, v.number);
}

/* ---- conversions ---- */

static int amount(struct print_run *run, int value, bool is_node)
{
	int64_t number;

	if (!is_node)
		return value;
	number = (int64_t)expr_number(&run->record, value);
	return number < -PADDED_MAX ? -PADDED_MAX : number > PADDED_MAX ? PADDED_MAX : (int)number;
}

/* Text with a width: format it to a buffer first, then apply the width. */
static void put_padded(struct print_run *run, const struct print_piece *piece, int32_t node,
	int width, int precision)
{
	char text[PADDED_MAX] = "";
	struct print_run padded = *run;
	size_t n, blanks;
	bool left = strchr(piece->flags, '-') || width < 0;

	padded.at = text;
	padded.max = sizeof(text);
	padded.len = 0;
	print_string(&padded, node);
	n = MIN(padded.len, sizeof(text) - 1);
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
		if (run->for_shell && !is_plain((char)number))
			number = '_';
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
	const struct expr_node *node = node_at(run, index);

	if (!node || !node->is_unknown)
		return false;
	for (size_t i = 0; node->op == EXPR_UNKNOWN && i < ARRAY_SIZE(bases); i++)
		if (!strcmp(expr_text(run->record.expr, node), bases[i]))
			return true;
	return has_page_base(run, node->a) || has_page_base(run, node->b) ||
	       has_page_base(run, node->c);
}

/* Follows only the selected operand of "c ? a : b"; ignores casts. */
static int32_t chosen(struct print_run *run, int32_t index)
{
	for (;;) {
		const struct expr_node *node = node_at(run, index);

		if (node->op == EXPR_CAST && node->is_unknown)
			index = node->a;
		else if (node->op == EXPR_CHOOSE && !node_at(run, node->a)->is_unknown)
			index = expr_is_true(&run->record, node->a) ? node->b : node->c;
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
	const struct expr_node *node = node_at(run, index);

	if (node->op == EXPR_ADD && has_page_base(run, node->a) &&
		!node_at(run, node->b)->is_unknown)
		print_form(
			run, "pfn:0x%llx", (unsigned long long)expr_number(&run->record, node->b));
	else
		print_text(run, "?", 1);
}

void print_conversion(struct print_run *run, const struct print_piece *piece)
{
	int width, precision;
	int32_t node;

	print_before(run, piece);
	if (!piece->conversion)
		return;
	node = chosen(run, piece->node);
	if (node_at(run, node)->is_unknown) {
		put_unknown(run, node);
		return;
	}
	width = piece->width == -1 && !piece->width_node
			? 0
			: amount(run, piece->width, piece->width_node);
	precision = amount(run, piece->precision, piece->precision_node);
	if (piece->conversion == 'p')
		print_pointer(
			run, piece->suffix, width ? width : -1, expr_eval(&run->record, node));
	else if (piece->conversion != 's')
		put_number(run, piece, width, precision, expr_number(&run->record, node));
	else if (width || precision >= 0)
		put_padded(run, piece, node, width, precision);
	else
		print_string(run, node);
}
