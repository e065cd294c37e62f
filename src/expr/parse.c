/* SPDX-License-Identifier: MIT */
/* Parse expressions: precedence climbing for infix operators, recursive descent for the rest. */
#include "expr/address.h"

enum { TYPE_MAX = 80 /* bytes of a type in a cast */ };

static int32_t unary(struct expr_parser *p);

bool expr_expect(struct expr_parser *p, const char *text)
{
	static const char *const reasons[] = {"expected ')'", "expected '('", "expected ']'",
		"expected ':'", "expected ','", "expected '}'"};
	const char *reason = "syntax error";

	if (lex_take(&p->p, text))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (*text == reasons[i][strlen("expected '")] && !text[1])
			reason = reasons[i];
	expr_fail(p, reason);
	return false;
}

/* ---- operands ---- */

bool expr_parse_string(struct expr_parser *p, uint32_t *ret_text, uint32_t *ret_len)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *joined;

	if (!lex_string(&p->p, &text)) {
		expr_fail(p, "missing closing quote");
		return false;
	}
	if (buf_failed(&text))
		return false;
	joined = buf_text(&text);
	*ret_len = (uint32_t)strlen(joined);
	return expr_keep(p, joined, *ret_len, ret_text);
}

static int32_t string(struct expr_parser *p)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *start = p->p;

	if (!lex_string(&p->p, &text)) {
		p->p = start;
		return expr_fail(p, "missing closing quote");
	}
	return buf_failed(&text) ? -1
				 : expr_add_string(p, buf_text(&text), strlen(buf_text(&text)));
}

/* Whether a number has a fraction: "1.5", but not "1". */
static bool is_real(struct expr_parser *p)
{
	size_t n = strspn(p->p, "0123456789");

	return p->dialect->is_strict && n && p->p[n] == '.';
}

/* What begins with a digit is meant as a number. */
static int32_t no_constant(struct expr_parser *p)
{
	if (*p->p == '\'')
		return expr_fail(p, "a character is in single quotes, and text in double quotes");
	if (*p->p == '$' && p->dialect->is_strict)
		return expr_fail(p, "what a probe fetches is a field" ATTAR_FIX
				    "name it with args=, as in args=(ptr=$retval)");
	if (*p->p < '0' || *p->p > '9')
		return expr_fail(p, "expected an operand");
	return expr_fail(p, lex_is_too_large(p->p) ? "the number does not fit in 64 bits"
						   : "this is not a number");
}

static int32_t constant(struct expr_parser *p)
{
	struct lex_integer integer;
	double real;
	char c;

	if (is_real(p) && lex_real(&p->p, &real))
		return expr_add_real(p, real);
	if (lex_integer(&p->p, &integer))
		return expr_add_integer(p, integer.value, integer.bits, integer.is_signed);
	if (lex_character(&p->p, &c))
		return expr_add_integer(p, (uint64_t)(int64_t)(int8_t)c, 32, true);
	return no_constant(p);
}

/* 1 for "++", -1 for "--", which it takes; 0 for neither. */
static int take_step(struct expr_parser *p)
{
	return lex_take(&p->p, "++") ? 1 : lex_take(&p->p, "--") ? -1 : 0;
}

static int32_t primary(struct expr_parser *p)
{
	int32_t node;

	lex_blanks(&p->p);
	if (p->dialect->operand(p, &node))
		return node;
	if (lex_take(&p->p, "(")) {
		node = expr_parse_sequence(p);
		return node >= 0 && expr_expect(p, ")") ? node : -1;
	}
	return *p->p == '"' ? string(p) : constant(p);
}

/* a++, a-- */
static int32_t postfix_step(struct expr_parser *p, int32_t a)
{
	const char *start;
	int by;

	lex_blanks(&p->p);
	start = p->p;
	by = take_step(p);
	if (!by)
		return a;
	p->mark = start;
	a = expr_add_step(p, a, by, true);
	p->mark = NULL;
	return a;
}

static int32_t postfix(struct expr_parser *p)
{
	const char *start = p->p;
	int32_t a = primary(p), b;

	while (a >= 0 && p->dialect->is_c && lex_take(&p->p, "[")) {
		b = expr_parse(p);
		if (b < 0 || !expr_expect(p, "]"))
			return -1;
		p->mark = start;
		a = expr_add_infix(p, EXPR_INDEX, a, b);
		p->mark = NULL;
	}
	return a < 0 || !p->dialect->is_strict ? a : postfix_step(p, a);
}

/* ---- casts ---- */

/*
 * The length of the words of a type before ')': "unsigned int", "struct x *". Returns 0 for
 * something else, such as "a * b".
 */
static size_t type_length(const char *start, bool *ret_is_pointer)
{
	const char *at = start;

	*ret_is_pointer = false;
	for (size_t n; *at != ')'; at += n) {
		bool is_const;

		n = lex_name(at);
		is_const = n == 5 && !strncmp(at, "const", n);
		if (n && *ret_is_pointer && !is_const)
			return 0;
		*ret_is_pointer |= *at == '*';
		if (!n && *at != '*' && *at != ' ')
			return 0;
		n = MAX(n, 1UL);
	}
	return (size_t)(at - start);
}

static bool has_word(const char *text, size_t n, const char *word)
{
	size_t len = strlen(word), next;

	for (size_t i = 0; i < n; i += MAX(next, 1UL)) {
		next = lex_name(text + i);
		if (next == len && !strncmp(text + i, word, len))
			return true;
	}
	return false;
}

/* In the language of users, char is signed on all machines; the kernel's is not. */
static bool is_signed_char(const struct expr_parser *p, size_t n)
{
	return p->dialect->is_strict && has_word(p->p, n, "char") && !has_word(p->p, n, "unsigned");
}

bool expr_parse_type(struct expr_parser *p, struct expr_cast *ret_cast)
{
	struct expr_cast cast = {0};
	size_t n = type_length(p->p, &cast.is_pointer), words = 0;
	unsigned size;

	if (!n || n > TYPE_MAX)
		return false;
	/* The type that a pointer points to: without the last '*'. */
	for (size_t i = 0; i < n; i++)
		if (p->p[i] == '*')
			words = i;
	size = format_type_size(p->p, cast.is_pointer ? words : n, &cast.is_signed);
	if (cast.is_pointer)
		cast.element = (uint16_t)size;
	else
		cast.bits = (uint8_t)(size * 8); /* an unknown typedef has 0 */
	cast.is_signed |= is_signed_char(p, n);
	p->p += n + 1;
	*ret_cast = cast;
	return true;
}

/* In the language of users, fields are named without a prefix, and hide types. */
static bool is_field(const struct expr_parser *p, const char *name, size_t n)
{
	for (size_t i = 0; p->dialect->is_strict && p->format && i < p->format->n_fields; i++)
		if (!strncmp(p->format->fields[i].name, name, n) && !p->format->fields[i].name[n])
			return true;
	return false;
}

/* A parenthesis starts a type if it is followed by a word other than the record or a function. */
static bool opens_type(const struct expr_parser *p)
{
	const char *at = p->p;
	size_t n;

	lex_blanks(&at);
	n = lex_name(at);
	if (!n || (n == 3 && !strncmp(at, "REC", 3)) || is_field(p, at, n))
		return false;
	at += n;
	lex_blanks(&at);
	return *at != '(';
}

/* An operand follows a type in parentheses, but not a value. */
static bool before_operand(struct expr_parser *p)
{
	lex_blanks(&p->p);
	return lex_word(p->p) || (*p->p && strchr("(\"'", *p->p));
}

/* Returns false with p->p unchanged if there is no cast. */
static bool parse_cast(struct expr_parser *p, struct expr_cast *ret_cast)
{
	const char *before = p->p;

	if (lex_take(&p->p, "(") && opens_type(p) && expr_parse_type(p, ret_cast) &&
		(ret_cast->bits || ret_cast->is_pointer ||
			(!p->dialect->is_strict && before_operand(p))))
		return true;
	p->p = before;
	return false;
}

/* ---- operators ---- */

/* "&REC->field": where the field is. */
static int32_t address(struct expr_parser *p)
{
	int32_t a = unary(p);
	const struct expr_node *node;
	struct attar_field field;

	if (p->dialect->is_strict)
		return expr_add_address(p, a);
	if (a < 0)
		return -1;
	node = expr_node(p->expr, a);
	if (node->op != EXPR_FIELD && node->op != EXPR_BYTES)
		return expr_fail(p, "& needs a field");
	field = p->expr->fields.at[node->field];
	return expr_add_field(p, EXPR_ADDRESS, &field, false);
}

static int32_t dereference(struct expr_parser *p, const char *start)
{
	int32_t a = unary(p);

	p->mark = start;
	a = a < 0 ? -1 : expr_add_infix(p, EXPR_INDEX, a, expr_add_integer(p, 0, 32, true));
	p->mark = NULL;
	return a;
}

/* An operand that starts with this operator or cast. */
static int32_t prefix(struct expr_parser *p, enum expr_op op)
{
	const char *start = p->p - 1;
	int32_t a = unary(p);

	p->mark = start;
	a = op == EXPR_ADD ? a : expr_add_prefix(p, op, a);
	p->mark = NULL;
	return a;
}

static int32_t cast_operand(struct expr_parser *p, const char *start, const struct expr_cast *cast)
{
	int32_t a = unary(p);

	p->mark = start;
	a = expr_add_cast(p, cast, a);
	p->mark = NULL;
	return a;
}

/* ++a, --a */
static int32_t prefix_step(struct expr_parser *p, const char *start, int by)
{
	int32_t a = unary(p);

	p->mark = start;
	a = expr_add_step(p, a, by, false);
	p->mark = NULL;
	return a;
}

static int32_t unary_inside(struct expr_parser *p)
{
	const char *start = p->p;
	struct expr_cast cast;
	int by;

	if (lex_take(&p->p, "!"))
		return prefix(p, EXPR_NOT);
	if (!p->dialect->is_c)
		return primary(p);
	if (p->dialect->is_strict && (by = take_step(p)))
		return prefix_step(p, start, by);
	if (lex_take(&p->p, "-"))
		return prefix(p, EXPR_NEGATE);
	if (lex_take(&p->p, "+"))
		return prefix(p, EXPR_ADD);
	if (lex_take(&p->p, "~"))
		return prefix(p, EXPR_INVERT);
	if (lex_take(&p->p, "*"))
		return dereference(p, start);
	if (lex_take(&p->p, "&"))
		return address(p);
	if (parse_cast(p, &cast))
		return cast_operand(p, start, &cast);
	return postfix(p);
}

static int32_t unary(struct expr_parser *p)
{
	int32_t a;

	lex_blanks(&p->p);
	if (p->depth >= p->dialect->depth_max)
		return expr_fail(p, "the expression is nested too deeply");
	p->depth++;
	a = unary_inside(p);
	p->depth--;
	return a;
}

int32_t expr_parse_unary(struct expr_parser *p)
{
	return unary(p);
}

struct infix {
	const char *text;
	uint8_t op;     /* enum expr_op */
	uint8_t rank;   /* higher binds tighter */
	bool is_strict; /* only in the language of users */
};

/* Of two with a common prefix, the longer comes first. */
static const struct infix infixes[] = {
	{"<<", EXPR_SHIFT_LEFT, 8},
	{">>", EXPR_SHIFT_RIGHT, 8},
	{"<=", EXPR_LESS_EQUAL, 7},
	{">=", EXPR_GREATER_EQUAL, 7},
	{"==", EXPR_EQUAL, 6},
	{"!=", EXPR_NOT_EQUAL, 6},
	{"&&", EXPR_AND, 2},
	{"||", EXPR_OR, 1},
	{"*", EXPR_MULTIPLY, 10},
	{"/", EXPR_DIVIDE, 10},
	{"%", EXPR_REMAINDER, 10},
	{"+", EXPR_ADD, 9},
	{"-", EXPR_SUBTRACT, 9},
	{"<", EXPR_LESS, 7},
	{">", EXPR_GREATER, 7},
	{"&", EXPR_BIT_AND, 5},
	{"^", EXPR_BIT_XOR, 4},
	{"|", EXPR_BIT_OR, 3},
	{"~", EXPR_GLOB, 7, true},
};

/* Operators such as "+=", which the language does not have. */
static bool is_compound_assignment(struct expr_parser *p, const struct infix *infix)
{
	const char *after = p->p + strlen(infix->text);

	if (!p->dialect->is_strict || infix->rank < 3 || infix->rank == 6 || infix->rank == 7 ||
		*after != '=' || after[1] == '=')
		return false;
	expr_fail(p, "there is no such operator" ATTAR_FIX "write a = a + b for a += b");
	return true;
}

static const struct infix *infix_at(struct expr_parser *p)
{
	uint8_t rank_max = p->dialect->is_c ? UINT8_MAX : 2;

	lex_blanks(&p->p);
	for (size_t i = 0; i < ARRAY_SIZE(infixes); i++)
		if (infixes[i].rank <= rank_max &&
			(!infixes[i].is_strict || p->dialect->is_strict) &&
			!strncmp(p->p, infixes[i].text, strlen(infixes[i].text)))
			return is_compound_assignment(p, &infixes[i]) ? NULL : &infixes[i];
	return NULL;
}

static int32_t binary(struct expr_parser *p, unsigned least)
{
	int32_t a = unary(p), b;
	const struct infix *infix;

	while (a >= 0 && (infix = infix_at(p)) && infix->rank >= least) {
		const char *start = p->p;

		p->p += strlen(infix->text);
		b = binary(p, infix->rank + 1U);
		p->mark = start;
		a = expr_add_infix(p, infix->op, a, b);
		p->mark = NULL;
	}
	return a;
}

/* The operands after "?" of "a ? b : c". */
static int32_t parse_choose(struct expr_parser *p, int32_t a)
{
	const char *start = p->p - 1;
	int32_t b = -1, c = -1;

	if (p->depth >= p->dialect->depth_max)
		return expr_fail(p, "the expression is nested too deeply");
	p->depth++;
	b = expr_parse_sequence(p);
	if (b >= 0 && expr_expect(p, ":"))
		c = expr_parse(p);
	p->depth--;
	p->mark = start;
	a = expr_add_choose(p, a, b, c);
	p->mark = NULL;
	return a;
}

/* The value after "a =". */
static int32_t assignment(struct expr_parser *p, int32_t a)
{
	const char *start = p->p - 1;
	int32_t b;

	if (p->depth >= p->dialect->depth_max)
		return expr_fail(p, "the expression is nested too deeply");
	p->depth++;
	b = expr_parse(p);
	p->depth--;
	p->mark = start;
	a = expr_add_assignment(p, a, b);
	p->mark = NULL;
	return a;
}

int32_t expr_parse(struct expr_parser *p)
{
	int32_t a = binary(p, 1);

	if (a >= 0 && p->dialect->is_c && lex_take(&p->p, "?"))
		a = parse_choose(p, a);
	if (a >= 0 && p->dialect->is_strict && p->p[0] == '=' && p->p[1] != '=' &&
		lex_take(&p->p, "="))
		a = assignment(p, a);
	return a;
}

int32_t expr_parse_sequence(struct expr_parser *p)
{
	int32_t a = expr_parse(p);

	while (a >= 0 && p->dialect->is_strict && lex_take(&p->p, ",")) {
		struct expr_node node = expr_node_of(EXPR_SEQUENCE);

		node.a = a;
		node.b = expr_parse(p);
		if (node.b < 0)
			return -1;
		node.type = expr_node(p->expr, node.b)->type;
		a = expr_add_formatted(p, node);
	}
	return a;
}
