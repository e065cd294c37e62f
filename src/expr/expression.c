/* SPDX-License-Identifier: MIT */
/*
 * Parse expressions of print formats: precedence climbing for C operators, and the functions of the
 * kernel's macros.
 */
#include <ctype.h>

#include "base/buf.h"
#include "base/parse.h"
#include "tracefs/format.h"
#include "expr/expression.h"

enum { NODES_MAX = 8192, DEPTH_MAX = 200 };

static int32_t unary(struct print_source *s);

/* ---- lexer ---- */

void print_blanks(struct print_source *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

bool print_take(struct print_source *s, const char *text)
{
	size_t n = strlen(text);

	print_blanks(s);
	if (strncmp(s->p, text, n))
		return false;
	s->p += n;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	if (isdigit((unsigned char)*p))
		return 0;
	while (is_word(p[n]))
		n++;
	return n;
}

/* ---- nodes ---- */

static int32_t add(struct print_source *s, struct print_node node)
{
	int32_t below[] = {node.a, node.b, node.c};
	unsigned depth = 0;

	node.is_unknown = node.op == PRINT_UNKNOWN;
	/* Entries are a list, processed in a loop. */
	for (size_t i = 0; node.op != PRINT_ENTRY && i < ARRAY_SIZE(below); i++) {
		const struct print_node *child;

		if (below[i] < 0)
			continue;
		child = &s->program->nodes.at[below[i]];
		depth = MAX(depth, child->depth + 1U);
		node.is_unknown |= child->is_unknown;
	}
	if (depth > DEPTH_MAX || s->program->nodes.n >= NODES_MAX)
		return -1;
	node.depth = (uint16_t)depth;
	return vec_push(&s->program->nodes, node) < 0 ? -1 : (int32_t)s->program->nodes.n - 1;
}

static struct print_node node_of(enum print_op op)
{
	return (struct print_node){.op = (uint8_t)op, .bits = 64, .a = -1, .b = -1, .c = -1};
}

/* Creates a node with one or two operands (b: -1 for one); returns -1 if they failed to parse. */
static int32_t add_over(struct print_source *s, enum print_op op, int32_t a, int32_t b)
{
	struct print_node node = node_of(op);

	node.a = a;
	node.b = b;
	return a < 0 ? -1 : add(s, node);
}

static int32_t add_number(struct print_source *s, uint64_t number, unsigned bits, bool is_signed)
{
	struct print_node node = node_of(PRINT_NUMBER);

	node.number = number;
	node.bits = (uint8_t)bits;
	node.is_signed = is_signed;
	return add(s, node);
}

const char *print_keep(struct print_source *s, char *text)
{
	if (text && vec_push(&s->program->strings, text) == 0)
		return text;
	free(text);
	return NULL;
}

static int32_t add_infix(struct print_source *s, uint16_t token, int32_t a, int32_t b)
{
	struct print_node node = node_of(PRINT_BINARY);

	node.token = token;
	node.a = a;
	node.b = b;
	return add(s, node);
}

static int32_t add_string(struct print_source *s, const char *text)
{
	struct print_node node = node_of(PRINT_STRING);

	node.text = text;
	return text ? add(s, node) : -1;
}

/* ---- literals ---- */

static char escape(const char **p)
{
	static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v";
	const char *known;
	int value = 0, digits = 0;
	char c = *(*p)++;

	if (c == 'x') {
		for (; isxdigit((unsigned char)**p) && digits < 2; ++*p, digits++)
			value = value * 16 + parse_hex_digit(**p);
		return (char)value;
	}
	if (c >= '0' && c <= '7') {
		for (--*p; **p >= '0' && **p <= '7' && digits < 3; ++*p, digits++)
			value = value * 8 + (**p - '0');
		return (char)value;
	}
	known = c ? strchr(from, c) : NULL;
	if (!c)
		--*p; /* the text ends in a backslash */
	return known ? to[known - from] : c;
}

const char *print_literal(struct print_source *s)
{
	struct buf b _cleanup_(buf_done) = {0};

	print_blanks(s);
	if (*s->p != '"')
		return NULL;
	buf_str(&b, "");
	for (; *s->p == '"'; print_blanks(s)) {
		for (s->p++; *s->p && *s->p != '"';) {
			char c = *s->p++;

			buf_char(&b, c == '\\' ? escape(&s->p) : c);
		}
		if (*s->p++ != '"')
			return NULL;
	}
	return print_keep(s, buf_take(&b));
}

/*
 * A C constant has the first type that can represent it: int, unsigned (not for decimals), long,
 * unsigned long.
 */
static int32_t number(struct print_source *s)
{
	bool decimal = s->p[0] != '0', is_unsigned = false, is_long = false;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(s->p, &end, 0);
	if (errno || end == s->p)
		return -1;
	for (; *end && strchr("uUlL", *end); end++) {
		is_unsigned |= (*end | 32) == 'u';
		is_long |= (*end | 32) == 'l';
	}
	if (is_word(*end))
		return -1;
	s->p = end;
	if (!is_long && value <= INT32_MAX)
		return add_number(s, value, 32, !is_unsigned);
	if (!is_long && value <= UINT32_MAX && (is_unsigned || !decimal))
		return add_number(s, value, 32, false);
	return add_number(s, value, 64, !is_unsigned && value <= INT64_MAX);
}

static int32_t character(struct print_source *s)
{
	char c;

	s->p++;
	c = *s->p ? *s->p++ : 0;
	if (c == '\\')
		c = escape(&s->p);
	return *s->p++ == '\'' ? add_number(s, (uint64_t)(int64_t)c, 32, true) : (s->p--, -1);
}

/* ---- types ---- */

/*
 * Parses the words of a type up to its ')'. Returns its size in bits, 0 if unknown. "struct x *" is
 * a pointer; element is the type it points to.
 */
static bool type_name(struct print_source *s, struct print_node *ret_cast)
{
	const char *start = s->p, *end = strchr(s->p, ')');
	struct print_node cast = node_of(PRINT_CAST);
	unsigned size;

	if (!end || end - start > 80)
		return false;
	for (const char *p = start; p < end; p++) {
		if (!is_word(*p) && *p != '*' && *p != ' ')
			return false;
		cast.is_pointer |= *p == '*';
	}
	size = format_type_size(start, (size_t)(end - start - cast.is_pointer), &cast.is_signed);
	if (cast.is_pointer) {
		cast.element = (uint8_t)size;
		cast.is_signed = false;
	} else if (size) {
		cast.bits = (uint8_t)(size * 8);
	} else {
		cast.bits = 0; /* an unknown typedef: the value is unchanged */
	}
	s->p = end + 1;
	*ret_cast = cast;
	return true;
}

/* A parenthesis starts a type if it is followed by a word other than the record or a function. */
static bool opens_type(const struct print_source *s)
{
	const char *p = s->p;
	size_t n;

	while (*p == ' ')
		p++;
	n = word_length(p);
	if (!n || (n == 3 && !strncmp(p, "REC", 3)))
		return false;
	p += n;
	while (*p == ' ')
		p++;
	return *p != '(';
}

/* ---- fields and functions ---- */

static const struct attar_field *field(struct print_source *s)
{
	char name[128];
	size_t n;

	print_blanks(s);
	n = word_length(s->p);
	if (!n || n >= sizeof(name))
		return NULL;
	memcpy(name, s->p, n);
	name[n] = '\0';
	s->p += n;
	return attar_format_field(s->format, name);
}

static int32_t of_field(struct print_source *s, enum print_op op, const struct attar_field *f)
{
	struct print_node node = node_of(op);

	node.field = f;
	return f ? add(s, node) : -1;
}

/*
 * Parses one {value, "text"}. Returns 1 and its node; 0 for an end marker ({-1, NULL}, {}) and for
 * an unknown value, which never matches; -1 if it is malformed.
 */
static int entry(struct print_source *s, int32_t *ret_node)
{
	struct print_run constant = {.program = s->program};
	struct print_node node = node_of(PRINT_ENTRY);
	int32_t value;

	if (!print_take(s, "{"))
		return -1;
	if (print_take(s, "}"))
		return 0;
	value = print_expression(s);
	if (value < 0 || !print_take(s, ","))
		return -1;
	print_blanks(s);
	if (*s->p != '"')
		return print_expression(s) >= 0 && print_take(s, "}") ? 0 : -1;
	node.text = print_literal(s);
	if (!node.text || !print_take(s, "}"))
		return -1;
	if (s->program->nodes.at[value].is_unknown)
		return 0;
	node.number = print_eval(&constant, value).number;
	*ret_node = add(s, node);
	return *ret_node < 0 ? -1 : 1;
}

/* Parses all entries as a list. Returns false if they are malformed; an empty list is -1. */
static bool entries(struct print_source *s, int32_t *ret_first)
{
	int32_t last = -1, node;

	*ret_first = -1;
	while (print_take(s, ",")) {
		int r = entry(s, &node);

		if (r < 0)
			return false;
		if (r == 0)
			continue;
		if (last >= 0)
			s->program->nodes.at[last].a = node;
		else
			*ret_first = node;
		last = node;
	}
	return true;
}

static int32_t symbolic(struct print_source *s)
{
	struct print_node node = node_of(PRINT_SYMBOLIC);

	node.a = print_expression(s);
	return node.a >= 0 && entries(s, &node.b) && print_take(s, ")") ? add(s, node) : -1;
}

static int32_t flags(struct print_source *s)
{
	struct print_node node = node_of(PRINT_FLAGS);

	node.a = print_expression(s);
	if (node.a < 0 || !print_take(s, ",") || !(node.text = print_literal(s)))
		return -1;
	return entries(s, &node.b) && print_take(s, ")") ? add(s, node) : -1;
}

/* Parses n arguments and the closing parenthesis. */
static int32_t arguments(struct print_source *s, enum print_op op, int n)
{
	struct print_node node = node_of(op);
	int32_t *to[] = {&node.a, &node.b, &node.c};

	for (int i = 0; i < n; i++)
		if ((i && !print_take(s, ",")) || (*to[i] = print_expression(s)) < 0)
			return -1;
	return print_take(s, ")") ? add(s, node) : -1;
}

static int32_t of_named_field(struct print_source *s, enum print_op op)
{
	const struct attar_field *f = field(s);

	return print_take(s, ")") ? of_field(s, op, f) : -1;
}

static int32_t bitmask(struct print_source *s)
{
	int32_t a = of_named_field(s, PRINT_DYNAMIC);

	return add_over(s, PRINT_BITMASK, a, -1);
}

/* __print_dynamic_array(field, size) */
static int32_t dynamic_array(struct print_source *s)
{
	struct print_node node = node_of(PRINT_ARRAY);
	const struct attar_field *f = field(s);

	node.a = of_field(s, PRINT_DYNAMIC, f);
	node.b = of_field(s, PRINT_LENGTH, f);
	if (node.a < 0 || node.b < 0 || !print_take(s, ",") || (node.c = print_expression(s)) < 0 ||
		!print_take(s, ")"))
		return -1;
	node.b = add_infix(s, '/', node.b, node.c);
	return node.b < 0 ? -1 : add(s, node);
}

static int32_t size_of(struct print_source *s)
{
	const struct attar_field *f;
	struct print_node cast;

	if (print_take(s, "REC->")) {
		f = field(s);
		return f && print_take(s, ")") ? add_number(s, f->size, 64, false) : -1;
	}
	if (!type_name(s, &cast) || (!cast.bits && !cast.is_pointer))
		return -1;
	return add_number(s, cast.is_pointer ? sizeof(void *) : cast.bits / 8U, 64, false);
}

/* __builtin_expect(value, likely) is value. */
static int32_t expected(struct print_source *s)
{
	int32_t a = print_expression(s);

	return a >= 0 && print_take(s, ",") && print_expression(s) >= 0 && print_take(s, ")") ? a
											      : -1;
}

static bool named(const char *name, size_t n, const char *text)
{
	return strlen(text) == n && !strncmp(name, text, n);
}

/* "__get_rel_x" for relative fields is treated as "__get_x": the field knows how it is stored. */
static int32_t function(struct print_source *s, const char *name, size_t n)
{
	char plain[64];
	const char *rel;

	if (n >= sizeof(plain))
		return -1;
	memcpy(plain, name, n);
	plain[n] = '\0';
	rel = strstr(plain, "_rel_");
	if (rel) {
		memmove(plain + (rel - plain), rel + 4, strlen(rel + 4) + 1);
		n -= 4;
	}
	if (named(plain, n, "__get_str") || named(plain, n, "__get_dynamic_array") ||
		named(plain, n, "__get_sockaddr"))
		return of_named_field(s, PRINT_DYNAMIC);
	if (named(plain, n, "__get_dynamic_array_len"))
		return of_named_field(s, PRINT_LENGTH);
	if (named(plain, n, "__get_bitmask") || named(plain, n, "__get_cpumask"))
		return bitmask(s);
	if (named(plain, n, "__print_symbolic"))
		return symbolic(s);
	if (named(plain, n, "__print_flags"))
		return flags(s);
	if (named(plain, n, "__print_hex"))
		return arguments(s, PRINT_HEX, 2);
	if (named(plain, n, "__print_hex_str"))
		return arguments(s, PRINT_HEX_STR, 2);
	if (named(plain, n, "__print_array"))
		return arguments(s, PRINT_ARRAY, 3);
	if (named(plain, n, "__print_dynamic_array"))
		return dynamic_array(s);
	if (named(plain, n, "__print_ns_to_secs"))
		return arguments(s, PRINT_SECONDS, 1);
	if (named(plain, n, "__print_ns_without_secs"))
		return arguments(s, PRINT_REST_NS, 1);
	if (named(plain, n, "__builtin_expect"))
		return expected(s);
	return named(plain, n, "sizeof") ? size_of(s) : -1;
}

/* ---- expressions ---- */

static int32_t add_unknown(struct print_source *s, const char *name)
{
	struct print_node node = node_of(PRINT_UNKNOWN);

	node.text = print_keep(s, strdup(name));
	return node.text ? add(s, node) : -1;
}

static int32_t constant(struct print_source *s, const char *name, size_t n)
{
	char text[128];
	uint64_t value;

	if (named(name, n, "true") || named(name, n, "false"))
		return add_number(s, name[0] == 't', 32, true);
	if (named(name, n, "NULL"))
		return add_number(s, 0, 64, false);
	if (named(name, n, "jiffies"))
		return add(s, node_of(PRINT_JIFFIES));
	if (n >= sizeof(text))
		return -1;
	memcpy(text, name, n);
	text[n] = '\0';
	if (!tracefs_constant(s->tracefs, text, &value))
		return add_unknown(s, text);
	if (value + 0x80000000ULL <= UINT32_MAX) /* an int, as enumerators are */
		return add_number(s, value, 32, true);
	return add_number(s, value, 64, true);
}

static int32_t primary(struct print_source *s)
{
	const char *name = s->p;
	size_t n = word_length(name);
	int32_t inside;

	if (print_take(s, "REC->") || print_take(s, "(REC)->"))
		return of_field(s, PRINT_FIELD, field(s));
	if (*s->p == '"') {
		const char *text = print_literal(s);

		return add_string(s, text);
	}
	if (*s->p == '\'')
		return character(s);
	if (isdigit((unsigned char)*s->p))
		return number(s);
	if (print_take(s, "(")) {
		inside = print_expression(s);
		return print_take(s, ")") ? inside : -1;
	}
	if (!n)
		return -1;
	s->p += n;
	if (print_take(s, "("))
		return function(s, name, n);
	return constant(s, name, n);
}

static int32_t postfix(struct print_source *s)
{
	int32_t a = primary(s), b;

	while (a >= 0 && print_take(s, "[")) {
		b = print_expression(s);
		a = b >= 0 && print_take(s, "]") ? add_over(s, PRINT_INDEX, a, b) : -1;
	}
	return a;
}

/* An operand follows a type in parentheses, but not a value. */
static bool before_operand(struct print_source *s)
{
	print_blanks(s);
	return is_word(*s->p) || (*s->p && strchr("(\"'", *s->p));
}

/* Returns -1 and leaves s->p unchanged if there is an expression instead of a type. */
static int32_t cast(struct print_source *s, bool *ret_is_cast)
{
	const char *before = s->p;
	struct print_node node;

	*ret_is_cast = type_name(s, &node) && (node.bits || node.is_pointer || before_operand(s));
	if (!*ret_is_cast) {
		s->p = before;
		return -1;
	}
	node.a = unary(s);
	return node.a < 0 ? -1 : add(s, node);
}

static int32_t one_sided(struct print_source *s, enum print_op op)
{
	return add_over(s, op, unary(s), -1);
}

static int32_t unary_inside(struct print_source *s)
{
	const char *before;
	bool is_cast;
	int32_t a;

	print_blanks(s);
	before = s->p;
	if (print_take(s, "-"))
		return one_sided(s, PRINT_NEGATE);
	if (print_take(s, "+"))
		return unary(s);
	if (print_take(s, "!"))
		return one_sided(s, PRINT_NOT);
	if (print_take(s, "~"))
		return one_sided(s, PRINT_INVERT);
	if (print_take(s, "*"))
		return one_sided(s, PRINT_DEREF);
	if (print_take(s, "&"))
		return print_take(s, "REC->") ? of_field(s, PRINT_ADDRESS, field(s)) : -1;
	if (print_take(s, "(") && opens_type(s)) {
		a = cast(s, &is_cast);
		if (is_cast)
			return a;
	}
	s->p = before;
	return postfix(s);
}

static int32_t unary(struct print_source *s)
{
	int32_t a = -1;

	if (++s->depth <= DEPTH_MAX)
		a = unary_inside(s);
	s->depth--;
	return a;
}

struct infix {
	const char *text;
	uint16_t token;
	uint8_t rank; /* higher binds tighter */
};

/* Of two with a common prefix, the longer comes first. */
static const struct infix infixes[] = {
	{"<<", TOKEN_SHL, 8},
	{">>", TOKEN_SHR, 8},
	{"<=", TOKEN_LE, 7},
	{">=", TOKEN_GE, 7},
	{"==", TOKEN_EQ, 6},
	{"!=", TOKEN_NE, 6},
	{"&&", TOKEN_AND, 2},
	{"||", TOKEN_OR, 1},
	{"*", '*', 10},
	{"/", '/', 10},
	{"%", '%', 10},
	{"+", '+', 9},
	{"-", '-', 9},
	{"<", '<', 7},
	{">", '>', 7},
	{"&", '&', 5},
	{"^", '^', 4},
	{"|", '|', 3},
};

static const struct infix *infix_at(struct print_source *s)
{
	print_blanks(s);
	for (size_t i = 0; i < ARRAY_SIZE(infixes); i++)
		if (!strncmp(s->p, infixes[i].text, strlen(infixes[i].text)))
			return &infixes[i];
	return NULL;
}

static int32_t binary(struct print_source *s, unsigned least)
{
	int32_t a = unary(s), b;
	const struct infix *op;

	while (a >= 0 && (op = infix_at(s)) && op->rank >= least) {
		s->p += strlen(op->text);
		b = binary(s, op->rank + 1U);
		a = b < 0 ? -1 : add_infix(s, op->token, a, b);
	}
	return a;
}

static int32_t expression_inside(struct print_source *s)
{
	struct print_node node = node_of(PRINT_CHOOSE);

	node.a = binary(s, 1);
	if (node.a < 0 || !print_take(s, "?"))
		return node.a;
	node.b = print_expression(s);
	if (node.b < 0 || !print_take(s, ":") || (node.c = print_expression(s)) < 0)
		return -1;
	return add(s, node);
}

int32_t print_expression(struct print_source *s)
{
	int32_t a = -1;

	if (++s->depth <= DEPTH_MAX)
		a = expression_inside(s);
	s->depth--;
	return a;
}
