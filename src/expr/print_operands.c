/* SPDX-License-Identifier: MIT */
/*
 * The operands of print formats: fields of the record, the kernel's macros as functions, and names
 * of constants.
 */
#include "expr/build.h"
#include "expr/print_parse.h"

enum { NAME_MAX_LENGTH = 128 };

/* ---- fields ---- */

static const struct attar_field *field(struct expr_parser *p)
{
	char name[NAME_MAX_LENGTH];
	const struct attar_field *found = NULL;

	if (lex_copy_name(&p->p, name, sizeof(name)))
		found = attar_format_field(p->format, name);
	if (!found)
		expr_fail(p, "expected a field");
	return found;
}

static int32_t record_field(struct expr_parser *p)
{
	const struct attar_field *f = field(p);

	return expr_add_field(
		p, f && f->kind == ATTAR_FIELD_NUMBER ? EXPR_FIELD : EXPR_BYTES, f, false);
}

static int32_t named_field(struct expr_parser *p, enum expr_op op)
{
	const struct attar_field *f = field(p);

	return f && expr_expect(p, ")") ? expr_add_field(p, op, f, false) : -1;
}

/* __get_str(field), __get_dynamic_array(field) */
static int32_t get_bytes(struct expr_parser *p)
{
	return named_field(p, EXPR_BYTES);
}

/* __get_dynamic_array_len(field) */
static int32_t get_length(struct expr_parser *p)
{
	return named_field(p, EXPR_LENGTH);
}

/* ---- tables of values and texts ---- */

/*
 * Parses one {value, "text"}. Returns 1 and its node; 0 for an end marker ({-1, NULL}, {}) and for
 * an unknown value, which never matches; -1 if it is malformed.
 */
static int entry(struct expr_parser *p, int32_t *ret_node)
{
	struct expr_run run = {.expr = p->expr};
	struct expr_node node = expr_node_of(EXPR_ENTRY);
	int32_t value;

	if (!expr_expect(p, "{"))
		return -1;
	if (lex_take(&p->p, "}"))
		return 0;
	value = expr_parse(p);
	if (value < 0 || !expr_expect(p, ","))
		return -1;
	lex_blanks(&p->p);
	if (*p->p != '"')
		return expr_parse(p) >= 0 && expr_expect(p, "}") ? 0 : -1;
	if (!expr_parse_string(p, &node.text, &node.text_len) || !expr_expect(p, "}"))
		return -1;
	if (expr_node(p->expr, value)->is_unknown)
		return 0;
	node.number = expr_number(&run, value);
	*ret_node = expr_add_formatted(p, node);
	return *ret_node < 0 ? -1 : 1;
}

/* Parses all entries as a list. Returns false if they are malformed; an empty list is -1. */
static bool entries(struct expr_parser *p, int32_t *ret_first)
{
	int32_t last = -1, node;

	*ret_first = -1;
	while (lex_take(&p->p, ",")) {
		int r = entry(p, &node);

		if (r < 0)
			return false;
		if (r == 0)
			continue;
		if (last >= 0)
			p->expr->nodes.at[last].a = node;
		else
			*ret_first = node;
		last = node;
	}
	return true;
}

static int32_t symbolic(struct expr_parser *p)
{
	struct expr_node node = expr_node_of(EXPR_SYMBOLIC);

	node.a = expr_parse(p);
	return node.a >= 0 && entries(p, &node.b) && expr_expect(p, ")")
		       ? expr_add_formatted(p, node)
		       : -1;
}

static int32_t flags(struct expr_parser *p)
{
	struct expr_node node = expr_node_of(EXPR_FLAGS);

	node.a = expr_parse(p);
	if (node.a < 0 || !expr_expect(p, ",") ||
		!expr_parse_string(p, &node.text, &node.text_len) || !entries(p, &node.b) ||
		!expr_expect(p, ")"))
		return -1;
	return expr_add_formatted(p, node);
}

/* ---- arrays ---- */

/* Parses n arguments and the closing parenthesis. */
static int32_t arguments(struct expr_parser *p, enum expr_op op, int n)
{
	struct expr_node node = expr_node_of(op);
	int32_t *to[] = {&node.a, &node.b, &node.c};

	for (int i = 0; i < n; i++)
		if ((i && !expr_expect(p, ",")) || (*to[i] = expr_parse(p)) < 0)
			return -1;
	return expr_expect(p, ")") ? expr_add_formatted(p, node) : -1;
}

static int32_t hex(struct expr_parser *p)
{
	return arguments(p, EXPR_HEX, 2);
}

static int32_t hex_string(struct expr_parser *p)
{
	return arguments(p, EXPR_HEX_STR, 2);
}

static int32_t array(struct expr_parser *p)
{
	return arguments(p, EXPR_ARRAY, 3);
}

/* __print_dynamic_array(field, size) */
static int32_t dynamic_array(struct expr_parser *p)
{
	struct expr_node node = expr_node_of(EXPR_ARRAY);
	const struct attar_field *f = field(p);
	int32_t length;

	node.a = expr_add_field(p, EXPR_BYTES, f, false);
	length = expr_add_field(p, EXPR_LENGTH, f, false);
	if (node.a < 0 || length < 0 || !expr_expect(p, ",") || (node.c = expr_parse(p)) < 0 ||
		!expr_expect(p, ")"))
		return -1;
	node.b = expr_add_infix(p, EXPR_DIVIDE, length, node.c);
	return node.b < 0 ? -1 : expr_add_formatted(p, node);
}

static int32_t bitmask(struct expr_parser *p)
{
	struct expr_node node = expr_node_of(EXPR_BITMASK);

	node.a = named_field(p, EXPR_BYTES);
	return node.a < 0 ? -1 : expr_add_formatted(p, node);
}

/* ---- numbers ---- */

static int32_t part_of_time(struct expr_parser *p, enum expr_op op)
{
	int32_t a = expr_add_cast(p, &(struct expr_cast){.bits = 64}, expr_parse(p));

	if (a < 0 || !expr_expect(p, ")"))
		return -1;
	return expr_add_infix(p, op, a, expr_add_integer(p, 1000000000, 64, false));
}

static int32_t seconds(struct expr_parser *p)
{
	return part_of_time(p, EXPR_DIVIDE);
}

static int32_t rest_of_second(struct expr_parser *p)
{
	return part_of_time(p, EXPR_REMAINDER);
}

/* __builtin_expect(value, likely) is value. */
static int32_t expected(struct expr_parser *p)
{
	int32_t a = expr_parse(p);

	return a >= 0 && expr_expect(p, ",") && expr_parse(p) >= 0 && expr_expect(p, ")") ? a : -1;
}

static int32_t size_of(struct expr_parser *p)
{
	const struct attar_field *f;
	struct expr_cast type;

	if (lex_take(&p->p, "REC->")) {
		f = field(p);
		return f && expr_expect(p, ")") ? expr_add_integer(p, f->size, 64, false) : -1;
	}
	if (!expr_parse_type(p, &type) || (!type.bits && !type.is_pointer))
		return expr_fail(p, "expected a type");
	return expr_add_integer(p, type.is_pointer ? sizeof(void *) : type.bits / 8U, 64, false);
}

/* ---- names ---- */

static const struct {
	const char *name;
	int32_t (*parse)(struct expr_parser *p); /* after the '(' */
} functions[] = {
	{"__get_str", get_bytes},
	{"__get_dynamic_array", get_bytes},
	{"__get_sockaddr", get_bytes},
	{"__get_dynamic_array_len", get_length},
	{"__get_bitmask", bitmask},
	{"__get_cpumask", bitmask},
	{"__print_symbolic", symbolic},
	{"__print_flags", flags},
	{"__print_hex", hex},
	{"__print_hex_str", hex_string},
	{"__print_array", array},
	{"__print_dynamic_array", dynamic_array},
	{"__print_ns_to_secs", seconds},
	{"__print_ns_without_secs", rest_of_second},
	{"__builtin_expect", expected},
	{"sizeof", size_of},
};

/*
 * "__get_rel_x" for relative fields is treated as "__get_x": the field describes how it is stored.
 */
static int32_t function(struct expr_parser *p, char *name)
{
	char *rel = strstr(name, "_rel_");

	if (rel)
		memmove(rel, rel + 4, strlen(rel + 4) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strcmp(name, functions[i].name))
			return functions[i].parse(p);
	return expr_fail(p, "unknown function");
}

static int32_t constant(struct expr_parser *p, const char *name)
{
	uint64_t value;

	if (!strcmp(name, "true") || !strcmp(name, "false"))
		return expr_add_integer(p, name[0] == 't', 32, true);
	if (!strcmp(name, "NULL"))
		return expr_add_integer(p, 0, 64, false);
	if (!strcmp(name, "jiffies"))
		return expr_add_formatted(p, expr_node_of(EXPR_JIFFIES));
	if (!tracefs_constant(p->tracefs, name, &value))
		return expr_add_unknown(p, name);
	/* An int, as enumerators are. */
	return expr_add_integer(p, value, value + 0x80000000ULL <= UINT32_MAX ? 32 : 64, true);
}

bool print_operand(struct expr_parser *p, int32_t *ret_node)
{
	char name[NAME_MAX_LENGTH];

	if (lex_take(&p->p, "REC->") || lex_take(&p->p, "(REC)->")) {
		*ret_node = record_field(p);
		return true;
	}
	if (!lex_name(p->p))
		return false;
	if (!lex_copy_name(&p->p, name, sizeof(name)))
		*ret_node = expr_fail(p, "the name is too long");
	else if (lex_take(&p->p, "("))
		*ret_node = function(p, name);
	else
		*ret_node = constant(p, name);
	return true;
}
