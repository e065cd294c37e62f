/* SPDX-License-Identifier: MIT */
/* Parse print formats: the format string, and an expression for each conversion. */
#include <ctype.h>

#include "expr/address.h"
#include "expr/print_parse.h"

enum { PIECES_MAX = 512, DEPTH_MAX = 200 };

/* The position in the format string, and the arguments after it. */
struct source {
	struct expr_parser *arguments;
	const char *p;
};

/* Parses the argument of a conversion, or of '*'. In the language of users, checks its type. */
static bool argument(struct source *s, char conversion, int32_t *ret_node)
{
	struct expr_parser *p = s->arguments;
	const char *start;
	bool is_bytes;

	p->mark = NULL;
	lex_blanks(&p->p);
	if (!lex_take(&p->p, ",")) {
		expr_fail(p, "the format has more conversions than there are arguments");
		return false;
	}
	lex_blanks(&p->p);
	start = p->p;
	*ret_node = expr_parse(p);
	if (*ret_node < 0 || !p->dialect->is_strict)
		return *ret_node >= 0;
	if (conversion == 'p' && expr_node(p->expr, *ret_node)->type.is_address)
		*ret_node = expr_add_offset(p, *ret_node);
	if (*ret_node < 0)
		return false;
	is_bytes = expr_node(p->expr, *ret_node)->type.kind == EXPR_CLASS_BYTES;
	p->mark = start;
	if (expr_node(p->expr, *ret_node)->type.kind == EXPR_CLASS_REAL)
		expr_fail(p, "floating-point numbers cannot be printed" ATTAR_FIX
			     "cast them, as in (long)");
	else if (conversion == 's' && !expr_node(p->expr, *ret_node)->type.is_text)
		expr_fail(p, "%s prints text, but this is not text");
	else if (conversion != 's' && conversion != 'p' && is_bytes)
		expr_fail(p, "this conversion prints a number, but this is not a number");
	p->mark = NULL;
	return !p->reason;
}

/* A number, or the next argument for '*'. */
static bool amount(struct source *s, int32_t *ret_amount, bool *ret_is_node)
{
	*ret_amount = 0;
	if (*s->p == '*') {
		s->p++;
		*ret_is_node = true;
		return argument(s, '*', ret_amount);
	}
	for (; isdigit((unsigned char)*s->p); s->p++)
		if ((*ret_amount = *ret_amount * 10 + (*s->p - '0')) > 4096)
			return false;
	return true;
}

static unsigned length_bits(const char **fmt)
{
	unsigned bits = 32;

	for (; **fmt && strchr("hlzjtqL", **fmt); ++*fmt)
		bits = **fmt != 'h' ? 64 : bits == 16 ? 8 : 16;
	return bits;
}

/* The letters and digits after %p; longer ones are not known. */
static void pointer_suffix(struct source *s, struct print_piece *piece)
{
	size_t n = 0;

	for (; isalnum((unsigned char)*s->p) && n + 1 < sizeof(piece->suffix); s->p++)
		piece->suffix[n++] = *s->p;
}

/*
 * Users need not specify the size of a field: without "h" or "hh", the whole value is printed.
 * Unsigned conversions of negative numbers use as many bits as their type has.
 */
static uint8_t value_bits(const struct source *s, const struct print_piece *piece)
{
	const struct expr_type *type = &expr_node(s->arguments->expr, piece->node)->type;

	if (piece->bits < 32)
		return piece->bits;
	return piece->conversion == 'd' || piece->conversion == 'p' ? 64 : type->bits;
}

static bool conversion(struct source *s, struct print_piece *piece)
{
	size_t n = strspn(s->p, "-+ #0");

	if (n >= sizeof(piece->flags))
		return false;
	memcpy(piece->flags, s->p, n);
	s->p += n;
	piece->width = piece->precision = -1;
	if ((*s->p == '*' || isdigit((unsigned char)*s->p)) &&
		!amount(s, &piece->width, &piece->width_node))
		return false;
	if (*s->p == '.' && (s->p++, !amount(s, &piece->precision, &piece->precision_node)))
		return false;
	piece->bits = (uint8_t)length_bits(&s->p);
	piece->conversion = *s->p == 'i' ? 'd' : *s->p;
	if (!*s->p || !strchr("diuxXocsp", *s->p++))
		return false;
	if (piece->conversion == 'p')
		pointer_suffix(s, piece);
	if (!argument(s, piece->conversion, &piece->node))
		return false;
	if (s->arguments->dialect->is_strict)
		piece->bits = value_bits(s, piece);
	return true;
}

/*
 * Whether what follows '%' is a conversion of C. In the language of users, anything else is printed
 * as it is, as glibc does: "pid%10=%d".
 */
static bool is_conversion(const struct source *s, const char *p)
{
	p += strspn(p, "-+ #0'");
	p += strspn(p, "0123456789*.");
	p += strspn(p, "hlzjtqL");
	return !s->arguments->dialect->is_strict || isalpha((unsigned char)*p);
}

/* Stores the text up to the next conversion. */
static bool text_before(struct source *s, struct print_piece *piece)
{
	struct buf text _cleanup_(buf_done) = {0};

	for (; *s->p; s->p++) {
		bool is_percent = *s->p == '%' && s->p[1] == '%';

		if (*s->p == '%' && !is_percent && is_conversion(s, s->p + 1))
			break;
		buf_char(&text, *s->p);
		s->p += is_percent;
	}
	piece->before_len = (uint32_t)text.len;
	return !buf_failed(&text) &&
	       expr_keep(s->arguments, buf_text(&text), text.len, &piece->before);
}

bool print_parse_pieces(struct expr_parser *p, const char *fmt, print_pieces *pieces)
{
	struct source s = {.arguments = p, .p = fmt};
	const char *start = p->mark;

	for (;;) {
		struct print_piece piece = {.node = -1};
		bool more;

		if (!text_before(&s, &piece))
			return false;
		more = *s.p == '%';
		if (more && (s.p++, !conversion(&s, &piece))) {
			p->mark = start;
			expr_fail(p, "the format has an unknown conversion" ATTAR_FIX
				     "the conversions are %d %i %u %x %X %o %c %s %p");
			return false;
		}
		if (pieces->n >= PIECES_MAX || vec_push(pieces, piece) < 0)
			return false;
		if (!more)
			return true;
	}
}

void print_pieces_done(print_pieces *pieces)
{
	vec_done(pieces);
}

static bool parse(struct expr_parser *p, struct print_program *program)
{
	struct buf fmt _cleanup_(buf_done) = {0};

	if (!lex_string(&p->p, &fmt) || buf_failed(&fmt))
		return false;
	if (!print_parse_pieces(p, buf_text(&fmt), &program->pieces))
		return false;
	lex_blanks(&p->p);
	return !*p->p;
}

struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs)
{
	static const struct expr_dialect dialect = {
		.operand = print_operand, .is_c = true, .depth_max = DEPTH_MAX};
	struct expr_parser p = {.text = format->print,
		.p = format->print,
		.dialect = &dialect,
		.format = format,
		.tracefs = tracefs};
	struct print_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	p.expr = &program->expr;
	if (parse(&p, program)) {
		print_find_numbers(program);
		return program;
	}
	print_free(program);
	return NULL;
}

void print_free(struct print_program *program)
{
	if (!program)
		return;
	expr_done(&program->expr);
	vec_done(&program->pieces);
	vec_done(&program->recent);
	free(program);
}
