/* SPDX-License-Identifier: MIT */
/* Parse print formats: the format string, and an expression for each conversion. */
#include <ctype.h>

#include "expr/check.h"
#include "expr/print.h"
#include "expr/print_parse.h"

enum { PIECES_MAX = 512, DEPTH_MAX = 200 };

/* The format string, its position, and the arguments after it. */
struct source {
	struct expr_parser arguments;
	struct print_program *program;
	const char *p;
};

static bool argument(struct source *s, int32_t *ret_node)
{
	if (!expr_expect(&s->arguments, ","))
		return false;
	*ret_node = expr_parse(&s->arguments);
	return *ret_node >= 0;
}

/* A number, or the next argument for '*'. */
static bool amount(struct source *s, int32_t *ret_amount, bool *ret_is_node)
{
	*ret_amount = 0;
	if (*s->p == '*') {
		s->p++;
		*ret_is_node = true;
		return argument(s, ret_amount);
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
	return argument(s, &piece->node);
}

/* Stores the text up to the next conversion. */
static bool text_before(struct source *s, struct print_piece *piece)
{
	struct buf text _cleanup_(buf_done) = {0};

	for (; *s->p && (*s->p != '%' || s->p[1] == '%'); s->p++) {
		buf_char(&text, *s->p);
		s->p += *s->p == '%';
	}
	piece->before_len = (uint32_t)text.len;
	return !buf_failed(&text) &&
	       expr_keep(&s->arguments, buf_text(&text), text.len, &piece->before);
}

static bool pieces(struct source *s)
{
	for (;;) {
		struct print_piece piece = {.node = -1};
		bool more;

		if (!text_before(s, &piece))
			return false;
		more = *s->p == '%';
		if (more && (s->p++, !conversion(s, &piece)))
			return false;
		if (s->program->pieces.n >= PIECES_MAX || vec_push(&s->program->pieces, piece) < 0)
			return false;
		if (!more)
			return true;
	}
}

static bool parse(struct source *s)
{
	struct buf fmt _cleanup_(buf_done) = {0};

	if (!lex_string(&s->arguments.p, &fmt) || buf_failed(&fmt))
		return false;
	s->p = buf_text(&fmt);
	if (!pieces(s))
		return false;
	lex_blanks(&s->arguments.p);
	return !*s->arguments.p;
}

struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs)
{
	static const struct expr_dialect dialect = {
		.operand = print_operand, .is_c = true, .depth_max = DEPTH_MAX};
	struct source s = {.arguments = {.text = format->print,
				   .p = format->print,
				   .dialect = &dialect,
				   .format = format,
				   .tracefs = tracefs}};

	s.program = calloc(1, sizeof(*s.program));
	if (!s.program)
		return NULL;
	s.arguments.expr = &s.program->expr;
	if (parse(&s)) {
		print_find_numbers(s.program);
		return s.program;
	}
	print_free(s.program);
	return NULL;
}

void print_free(struct print_program *program)
{
	if (!program)
		return;
	expr_done(&program->expr);
	vec_done(&program->pieces);
	free(program);
}
