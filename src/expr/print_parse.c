/* SPDX-License-Identifier: MIT */
/* Parse print formats: the format string, and an expression for each conversion. */
#include <ctype.h>

#include "base/buf.h"
#include "expr/expression.h"

enum { PIECES_MAX = 512 };

/* A number, or the next argument for '*'. */
static bool amount(struct print_source *s, const char **fmt, int *ret_amount, bool *ret_is_node)
{
	*ret_amount = 0;
	if (**fmt == '*') {
		++*fmt;
		*ret_is_node = true;
		return print_take(s, ",") && (*ret_amount = print_expression(s)) >= 0;
	}
	for (; isdigit((unsigned char)**fmt); ++*fmt)
		if ((*ret_amount = *ret_amount * 10 + (**fmt - '0')) > 4096)
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

static const char *pointer_suffix(struct print_source *s, const char **fmt)
{
	size_t n = 0;

	while (isalnum((unsigned char)(*fmt)[n]) && n < 6)
		n++;
	*fmt += n;
	return print_keep(s, strndup(*fmt - n, n));
}

static bool conversion(struct print_source *s, const char **fmt, struct print_piece *piece)
{
	size_t n = strspn(*fmt, "-+ #0");

	if (n >= sizeof(piece->flags))
		return false;
	memcpy(piece->flags, *fmt, n);
	*fmt += n;
	piece->width = piece->precision = -1;
	piece->suffix = "";
	if ((**fmt == '*' || isdigit((unsigned char)**fmt)) &&
		!amount(s, fmt, &piece->width, &piece->width_node))
		return false;
	if (**fmt == '.' && (++*fmt, !amount(s, fmt, &piece->precision, &piece->precision_node)))
		return false;
	piece->bits = (uint8_t)length_bits(fmt);
	piece->conversion = **fmt == 'i' ? 'd' : **fmt;
	if (!**fmt || !strchr("diuxXocsp", *(*fmt)++))
		return false;
	if (piece->conversion == 'p' && !(piece->suffix = pointer_suffix(s, fmt)))
		return false;
	return print_take(s, ",") && (piece->node = print_expression(s)) >= 0;
}

static bool pieces(struct print_source *s, const char *fmt)
{
	struct buf before _cleanup_(buf_done) = {0};

	for (;;) {
		struct print_piece piece = {.node = -1};
		bool more;

		buf_reset(&before);
		buf_str(&before, "");
		for (; *fmt && (*fmt != '%' || fmt[1] == '%'); fmt++) {
			buf_char(&before, *fmt);
			fmt += *fmt == '%';
		}
		more = *fmt == '%';
		if (more && (fmt++, !conversion(s, &fmt, &piece)))
			return false;
		piece.before =
			print_keep(s, buf_failed(&before) ? NULL : strdup(buf_text(&before)));
		if (!piece.before || s->program->pieces.n >= PIECES_MAX ||
			vec_push(&s->program->pieces, piece) < 0)
			return false;
		if (!more)
			return true;
	}
}

struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs)
{
	struct print_source s = {.p = format->print, .format = format, .tracefs = tracefs};
	const char *fmt;

	s.program = calloc(1, sizeof(*s.program));
	if (!s.program)
		return NULL;
	fmt = print_literal(&s);
	if (fmt && pieces(&s, fmt) && (print_blanks(&s), !*s.p))
		return s.program;
	print_free(s.program);
	return NULL;
}

void print_free(struct print_program *program)
{
	if (!program)
		return;
	vec_each (&program->strings, text)
		free(*text);
	vec_done(&program->strings);
	vec_done(&program->pieces);
	vec_done(&program->nodes);
	free(program);
}
