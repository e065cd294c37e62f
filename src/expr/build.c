/* SPDX-License-Identifier: MIT */
#include "expr/address.h"

#include <math.h>

#include "expr/functions.h"

enum { NODES_MAX = 8192, DEPTH_MAX = 300, STRINGS_MAX = 1 << 20 };
enum { COMM_BYTES = 16 /* TASK_COMM_LEN */, COMM_MAX = COMM_BYTES - 1 };

static const struct expr_type int_type = {.bits = 32, .is_signed = true};
static const struct expr_type u64_type = {.bits = 64};

static struct expr_node *node_at(const struct expr_parser *p, int32_t index)
{
	return &p->expr->nodes.at[index];
}

struct expr_node expr_node_of(enum expr_op op)
{
	return (struct expr_node){.op = (uint8_t)op, .type = u64_type, .a = -1, .b = -1, .c = -1};
}

/* ---- nodes ---- */

/* Adds a node whose operands exist. */
static int32_t build_add(struct expr_parser *p, struct expr_node node)
{
	int32_t operands[] = {node.a, node.b, node.c};
	unsigned depth = 0;

	/* Entries are a list, processed in a loop. */
	for (size_t i = 0; node.op != EXPR_ENTRY && i < ARRAY_SIZE(operands); i++) {
		if (operands[i] < 0)
			continue;
		depth = MAX(depth, node_at(p, operands[i])->depth + 1U);
		node.is_unknown |= node_at(p, operands[i])->is_unknown;
	}
	if (depth > DEPTH_MAX)
		return expr_fail(p, "the expression is nested too deeply");
	if (p->expr->nodes.n >= NODES_MAX)
		return expr_fail(p, "the expression is too long");
	node.depth = (uint16_t)depth;
	if (vec_push(&p->expr->nodes, node) < 0)
		return -1;
	return (int32_t)p->expr->nodes.n - 1;
}

static bool is_constant(const struct expr_parser *p, int32_t index)
{
	return node_at(p, index)->op == EXPR_NUMBER;
}

/* Adds an operator; replaces it by its value if its operands are constants. */
static int32_t add_operator(struct expr_parser *p, struct expr_node node)
{
	struct expr_run run = {.expr = p->expr};
	int32_t index = build_add(p, node);
	uint64_t value;

	if (index < 0 || node.type.kind != EXPR_CLASS_NUMBER || !is_constant(p, node.a) ||
		(node.b >= 0 && !is_constant(p, node.b)) || node.a != index - 1 - (node.b >= 0))
		return index;
	value = expr_number(&run, index);
	if (run.by_zeros)
		return index; /* counted when it is evaluated */
	p->expr->nodes.n = (size_t)node.a;
	return expr_add_integer(p, value, node.type.bits, node.type.is_signed);
}

/* ---- operands ---- */

int32_t expr_add_integer(struct expr_parser *p, uint64_t number, unsigned bits, bool is_signed)
{
	struct expr_node node = expr_node_of(EXPR_NUMBER);

	node.type.bits = (uint8_t)bits;
	node.type.is_signed = is_signed;
	node.number = expr_convert(number, node.type);
	return build_add(p, node);
}

int32_t expr_add_real(struct expr_parser *p, double real)
{
	struct expr_node node = expr_node_of(EXPR_REAL);

	node.type.kind = EXPR_CLASS_REAL;
	node.real = real;
	return build_add(p, node);
}

bool expr_keep(struct expr_parser *p, const char *text, size_t len, uint32_t *ret_offset)
{
	struct expr *expr = p->expr;

	if (expr->strings.n + len >= STRINGS_MAX) {
		expr_fail(p, "the expression is too long");
		return false;
	}
	if (vec_reserve(&expr->strings, len + 1) < 0)
		return false;
	*ret_offset = (uint32_t)expr->strings.n;
	memcpy(expr->strings.at + expr->strings.n, text, len);
	expr->strings.at[expr->strings.n + len] = '\0';
	expr->strings.n += len + 1;
	return true;
}

static int32_t add_text(struct expr_parser *p, struct expr_node node, const char *text, size_t len)
{
	node.text_len = (uint32_t)len;
	return expr_keep(p, text, len, &node.text) ? build_add(p, node) : -1;
}

int32_t expr_add_string(struct expr_parser *p, const char *text, size_t len)
{
	struct expr_node node = expr_node_of(EXPR_STRING);

	node.type = (struct expr_type){
		.kind = EXPR_CLASS_BYTES, .bits = 64, .is_text = true, .element = 1};
	return add_text(p, node, text, len);
}

int32_t expr_add_text_variable(struct expr_parser *p, size_t i)
{
	struct expr_node node = expr_node_of(EXPR_VARIABLE);

	node.number = i;
	node.type = (struct expr_type){.kind = EXPR_CLASS_BYTES,
		.bits = 64,
		.is_text = true,
		.is_signed = true,
		.element = 1};
	return expr_add_formatted(p, node);
}

int32_t expr_add_unknown(struct expr_parser *p, const char *name)
{
	struct expr_node node = expr_node_of(EXPR_UNKNOWN);

	node.is_unknown = true;
	return add_text(p, node, name, strlen(name));
}

static struct expr_type field_type(enum expr_op op, const struct attar_field *field, bool is_real)
{
	struct expr_type type = {.kind = EXPR_CLASS_BYTES,
		.bits = 64,
		.is_signed = field->is_signed,
		.is_text = field->kind == ATTAR_FIELD_STRING,
		.element = field->element};

	if (op == EXPR_LENGTH)
		return int_type;
	if (op == EXPR_ADDRESS)
		type.is_signed = false;
	if (op == EXPR_FIELD) {
		type.kind = is_real ? EXPR_CLASS_REAL : EXPR_CLASS_NUMBER;
		type.bits = (uint8_t)(field->size * 8);
	}
	return type;
}

/* The kernel ends names of tasks, "comm" and "prev_comm", with a NUL; other text can lack it. */
static uint64_t text_max(const struct attar_field *field)
{
	if (field->kind != ATTAR_FIELD_STRING || field->place != ATTAR_FIELD_FIXED)
		return 0;
	if (field->size == COMM_BYTES && strstr(field->name, "comm"))
		return COMM_MAX;
	return field->size == COMM_MAX ? 0 : field->size; /* the message is about names */
}

int32_t expr_add_field(
	struct expr_parser *p, enum expr_op op, const struct attar_field *field, bool is_real)
{
	struct expr_node node = expr_node_of(op);
	struct attar_field copy;

	if (!field)
		return -1;
	copy = *field;
	copy.name = copy.type = NULL;
	node.type = field_type(op, field, is_real);
	node.number = op == EXPR_BYTES ? text_max(field) : 0;
	node.field = (uint32_t)p->expr->fields.n;
	if (vec_push(&p->expr->fields, copy) < 0)
		return -1;
	return build_add(p, node);
}

/* ---- operators ---- */

/* The type of an operand in arithmetic. */
static struct expr_type promote(struct expr_type type)
{
	if (type.kind != EXPR_CLASS_NUMBER)
		return (struct expr_type){.bits = 64, .is_signed = type.is_signed};
	return type.bits < 32 ? int_type : type;
}

static struct expr_type common_type(struct expr_type a, struct expr_type b)
{
	struct expr_type type = {0};

	a = promote(a);
	b = promote(b);
	type.bits = MAX(a.bits, b.bits);
	type.is_signed = (a.is_signed || a.bits < type.bits) && (b.is_signed || b.bits < type.bits);
	return type;
}

static bool is_real(const struct expr_parser *p, int32_t index)
{
	return index >= 0 && node_at(p, index)->type.kind == EXPR_CLASS_REAL;
}

static int32_t only_compares(struct expr_parser *p)
{
	return expr_fail(
		p, p->dialect->is_strict
			   ? "floating-point numbers can only be compared, or cast to an "
			     "integer type such as (long)"
			   : "floating-point numbers can only be compared with each other");
}

static bool is_bytes(const struct expr_parser *p, int32_t index)
{
	return index >= 0 && node_at(p, index)->type.kind == EXPR_CLASS_BYTES;
}

/* Whether an operand is a number; dialects that are not strict accept others too. */
static bool is_number(struct expr_parser *p, int32_t index)
{
	if (!p->dialect->is_strict || !is_bytes(p, index))
		return true;
	expr_fail(p, node_at(p, index)->type.is_text ? "text is not a number" ATTAR_FIX
						       "compare it with ==, != or ~"
						     : "an array is not a number" ATTAR_FIX
						       "use one of its elements, as in a[0]");
	return false;
}

int32_t expr_add_prefix(struct expr_parser *p, enum expr_op op, int32_t a)
{
	struct expr_node node = expr_node_of(op);

	if (a < 0)
		return -1;
	if (op != EXPR_NOT && is_real(p, a))
		return only_compares(p);
	if (!is_number(p, a))
		return -1;
	node.a = a;
	node.type = op == EXPR_NOT ? int_type : promote(node_at(p, a)->type);
	return add_operator(p, node);
}

static bool is_comparison(enum expr_op op)
{
	return op >= EXPR_LESS && op <= EXPR_NOT_EQUAL;
}

/* In the language of users, "price > 10" compares with 10.0. */
static void make_reals(struct expr_parser *p, struct expr_node *node)
{
	int32_t *constant = is_real(p, node->a) ? &node->b : &node->a;
	const struct expr_node *n = node_at(p, *constant);
	double real;

	if (!p->dialect->is_strict || n->op != EXPR_NUMBER ||
		is_real(p, node->a) == is_real(p, node->b))
		return;
	real = n->type.is_signed ? (double)(int64_t)n->number : (double)n->number;
	*constant = expr_add_real(p, real);
}

/* In the language of users, `pid == "x"` and `comm == 5`. */
static bool compares_text_with_number(const struct expr_parser *p, const struct expr_node *node)
{
	struct expr_type a = node_at(p, node->a)->type, b = node_at(p, node->b)->type;

	if (!p->dialect->is_strict || (node->op != EXPR_EQUAL && node->op != EXPR_NOT_EQUAL))
		return false;
	return is_bytes(p, node->a) != is_bytes(p, node->b) && (a.is_text || b.is_text);
}

/* In the language of users, "_cpu << 32" has 64 bits: in C, its value is undefined. */
static bool leaves_32_bits(const struct expr_parser *p, int32_t count)
{
	const struct expr_node *n = node_at(p, count);

	return n->op == EXPR_NUMBER && n->number >= 32 && n->number < 64;
}

/* Derives the types of an operator from its operands. Returns false if they do not fit. */
static bool check_types(struct expr_parser *p, struct expr_node *node)
{
	struct expr_type a = node_at(p, node->a)->type, b = node_at(p, node->b)->type;
	bool real = a.kind == EXPR_CLASS_REAL || b.kind == EXPR_CLASS_REAL;
	bool text = a.kind == EXPR_CLASS_BYTES && b.kind == EXPR_CLASS_BYTES && a.is_text &&
		    b.is_text &&
		    (node->op == EXPR_EQUAL || node->op == EXPR_NOT_EQUAL || node->op == EXPR_GLOB);

	if (node->op == EXPR_AND || node->op == EXPR_OR) {
		node->type = int_type;
		return is_number(p, node->a) && is_number(p, node->b);
	}
	if (node->op == EXPR_GLOB && !text) {
		expr_fail(p, "~ can only compare strings");
		return false;
	}
	if (compares_text_with_number(p, node)) {
		expr_fail(p, "one side is text and the other a number: both must be of the same "
			     "kind, and only text is in double quotes");
		return false;
	}
	if (!text && !(is_number(p, node->a) && is_number(p, node->b)))
		return false;
	if (real && a.kind != b.kind && is_comparison(node->op) && p->dialect->is_strict) {
		expr_fail(p, "one side is an integer and the other a floating-point "
			     "number" ATTAR_FIX
			     "use an integer, or cast the floating-point number as in (long)x");
		return false;
	}
	if (real && (a.kind != b.kind || !is_comparison(node->op))) {
		only_compares(p);
		return false;
	}
	node->operand = common_type(a, b);
	if (node->op == EXPR_SHIFT_LEFT || node->op == EXPR_SHIFT_RIGHT)
		node->operand = promote(a);
	if (node->op == EXPR_SHIFT_LEFT && p->dialect->is_strict && leaves_32_bits(p, node->b))
		node->operand.bits = 64;
	if (real || text)
		node->operand.kind = a.kind;
	node->type = is_comparison(node->op) || text ? int_type : node->operand;
	return true;
}

/* Whether a constant index is after the last element of a field of fixed size. */
static bool exceeds(
	const struct expr_parser *p, const struct expr_node *array, const struct expr_node *index)
{
	const struct attar_field *field;

	if (array->op != EXPR_BYTES || index->op != EXPR_NUMBER)
		return false;
	field = &p->expr->fields.at[array->field];
	return field->place == ATTAR_FIELD_FIXED &&
	       index->number >= field->size / array->type.element;
}

/* In the language of users, whether a has elements, and the constant element b. */
static bool has_element(struct expr_parser *p, int32_t a, int32_t b)
{
	const struct expr_node *array = node_at(p, a), *index = node_at(p, b);
	unsigned element = array->type.element;

	if (!is_bytes(p, a) || !element || element > 8 || (element & (element - 1)))
		expr_fail(p, "this has no elements: only arrays, text and addresses of fields "
			     "have elements");
	else if (exceeds(p, array, index))
		expr_fail(p, "the array has fewer elements");
	return is_number(p, b) && !p->reason;
}

static int32_t add_index(struct expr_parser *p, int32_t a, int32_t b)
{
	struct expr_node node = expr_node_of(EXPR_INDEX);
	const struct expr_type *array = &node_at(p, a)->type;
	unsigned element = array->element;

	if (is_real(p, a) || is_real(p, b))
		return only_compares(p);
	if (p->dialect->is_strict && !has_element(p, a, b))
		return -1;
	node.a = a;
	node.b = b;
	node.type = int_type;
	if (element == 1 || element == 2 || element == 4 || element == 8)
		node.type = (struct expr_type){
			.bits = (uint8_t)(element * 8), .is_signed = array->is_signed};
	return build_add(p, node);
}

/* Whether a number has the same value after its conversion to the common type. */
static bool fits(const struct expr_parser *p, int32_t a, struct expr_type common)
{
	struct expr_type type = node_at(p, a)->type;

	return type.kind == EXPR_CLASS_NUMBER && common.kind == EXPR_CLASS_NUMBER &&
	       (common.bits == 64 || common.is_signed || !type.is_signed);
}

/* Turns "value == constant" into a range. Its operands have the same type after promotion. */
static void make_range(struct expr_parser *p, struct expr_node *node)
{
	const struct expr_node *a = node_at(p, node->a);
	uint64_t c = node->number, least = node->operand.is_signed ? 1ULL << 63 : 0;

	switch ((enum expr_op)node->op) {
	case EXPR_EQUAL:
	case EXPR_NOT_EQUAL:
		node->is_inverted = node->op == EXPR_NOT_EQUAL;
		break;
	case EXPR_LESS_EQUAL:
	case EXPR_GREATER: /* the others */
		node->number = least;
		node->span = c - least;
		node->is_inverted = node->op == EXPR_GREATER;
		break;
	default: /* EXPR_LESS: those that are not greater or equal */
		node->span = least - 1 - c;
		node->is_inverted = node->op == EXPR_LESS;
	}
	node->op = EXPR_RANGE;
	node->mask = UINT64_MAX;
	if (a->op == EXPR_BIT_AND && a->has_constant) {
		node->mask = a->number;
		node->a = a->a;
	}
}

/* Turns a comparison of a field with a floating-point constant into a range. */
static void make_real_range(struct expr_node *node, double c)
{
	node->is_inverted = node->op == EXPR_NOT_EQUAL;
	node->real = node->greatest = c;
	if (node->op == EXPR_LESS || node->op == EXPR_LESS_EQUAL)
		node->real = c == -INFINITY && node->op == EXPR_LESS ? NAN : -INFINITY;
	if (node->op == EXPR_GREATER || node->op == EXPR_GREATER_EQUAL)
		node->greatest = c == INFINITY && node->op == EXPR_GREATER ? NAN : INFINITY;
	if (node->op == EXPR_LESS)
		node->greatest = nextafter(c, -INFINITY);
	if (node->op == EXPR_GREATER)
		node->real = nextafter(c, INFINITY);
	node->op = EXPR_REAL_RANGE;
}

/* Stores a constant right operand in the operator. */
static void take_constant(struct expr_parser *p, struct expr_node *node)
{
	const struct expr_node *a = node_at(p, node->a), *b = node_at(p, node->b);
	bool is_shift = node->op == EXPR_SHIFT_LEFT || node->op == EXPR_SHIFT_RIGHT;

	if (node->operand.kind == EXPR_CLASS_BYTES && a->op == EXPR_BYTES && b->op == EXPR_STRING) {
		node->has_constant = true;
		node->text = b->text;
		node->text_len = b->text_len;
	}
	if (node->operand.kind == EXPR_CLASS_REAL && a->op == EXPR_FIELD && b->op == EXPR_REAL)
		make_real_range(node, b->real);
	if (node->operand.kind != EXPR_CLASS_NUMBER || b->op != EXPR_NUMBER ||
		node->op == EXPR_AND || node->op == EXPR_OR)
		return;
	node->has_constant = true;
	node->number = is_shift ? b->number : expr_convert(b->number, node->operand);
	if (is_comparison(node->op) && a->op != EXPR_NUMBER && fits(p, node->a, node->operand))
		make_range(p, node);
}

/* In the language of users, an address plus or minus an integer or another address. */
static bool moves(const struct expr_parser *p, enum expr_op op, int32_t a, int32_t b)
{
	bool of_a = is_bytes(p, a), of_b = is_bytes(p, b);

	return p->dialect->is_strict && (of_a || of_b) && !is_real(p, a) && !is_real(p, b) &&
	       ((op == EXPR_ADD && of_a != of_b) || (op == EXPR_SUBTRACT && of_a));
}

/* In the language of users, at least one address is compared with another that is not text. */
static bool compares_addresses(const struct expr_parser *p, enum expr_op op, int32_t a, int32_t b)
{
	struct expr_type of_a = node_at(p, a)->type, of_b = node_at(p, b)->type;

	return p->dialect->is_strict && is_comparison(op) && is_bytes(p, a) && is_bytes(p, b) &&
	       (of_a.is_address || of_b.is_address) && !(of_a.is_text && of_b.is_text);
}

/* ---- comparisons of text that no event fulfils ---- */

/* The largest number of bytes of the text of a node; 0: unknown. */
static uint64_t most_bytes(const struct expr_parser *p, const struct expr_node *node)
{
	bool is_comm = node->op == EXPR_CALL && !strcmp(functions[node->number].name, "comm_get");

	if (node->op == EXPR_BYTES)
		return node->number;
	is_comm |= node->op == EXPR_VARIABLE && !p->dialect->is_strict; /* of filters */
	return is_comm ? COMM_MAX : 0;
}

/* The smallest number of bytes that match. */
static uint64_t least_bytes(const char *pattern, size_t n)
{
	uint64_t least = 0;

	for (size_t i = 0; i < n; i++) {
		const char *end = pattern[i] == '[' ? memchr(pattern + i, ']', n - i) : NULL;

		least += pattern[i] != '*';
		if (pattern[i] == '\\')
			i++;
		else if (end)
			i = (size_t)(end - pattern);
	}
	return least;
}

static bool text_fits(
	struct expr_parser *p, uint64_t most, bool is_pattern, const char *text, size_t n)
{
	if (!most || (is_pattern ? least_bytes(text, n) : n) <= most)
		return true;
	p->is_too_long = true;
	expr_fail(p, most == COMM_MAX
			     ? "the names of threads have at most 15 characters, and this text has "
			       "more" ATTAR_FIX "use the first 15 characters"
			     : "this text is longer than the field that it is compared with");
	return false;
}

bool expr_comm_fits(struct expr_parser *p, bool is_pattern, const char *text, size_t n)
{
	return text_fits(p, COMM_MAX, is_pattern, text, n);
}

static bool fits_other_side(struct expr_parser *p, const struct expr_node *node)
{
	const struct expr_node *a = node_at(p, node->a), *b = node_at(p, node->b);
	const struct expr_node *constant = b->op == EXPR_STRING ? b : a;

	if (node->operand.kind != EXPR_CLASS_BYTES || constant->op != EXPR_STRING)
		return true;
	return text_fits(p, most_bytes(p, constant == b ? a : b), node->op == EXPR_GLOB,
		expr_text(p->expr, constant), constant->text_len);
}

/* "[^a-z]" as "[!a-z]": filters of the kernel have the latter only. */
static void replace_carets(struct expr_parser *p, const struct expr_node *pattern)
{
	char *at = p->expr->strings.at + pattern->text, *end = at + pattern->text_len;

	for (; at < end; at++) {
		char *first = at + 1, *last = NULL;

		if (*at == '\\') {
			at++;
		} else if (*at == '[' && first < end) {
			const char *rest = first + 1 + (*first == '^');

			if (rest < end)
				last = memchr(rest, ']', (size_t)(end - rest));
			if (last && *first == '^')
				*first = '!';
			at = last ? last : at;
		}
	}
}

int32_t expr_add_infix(struct expr_parser *p, enum expr_op op, int32_t a, int32_t b)
{
	struct expr_node node = expr_node_of(op);

	if (a < 0 || b < 0)
		return -1;
	if (op == EXPR_INDEX)
		return add_index(p, a, b);
	if (moves(p, op, a, b))
		return expr_add_move(p, op, a, b);
	if (compares_addresses(p, op, a, b)) {
		a = expr_add_offset(p, a);
		b = expr_add_offset(p, b);
		return expr_add_infix(p, op, a, b);
	}
	node.a = a;
	node.b = b;
	if (op == EXPR_GLOB && p->dialect->is_strict && node_at(p, b)->op == EXPR_STRING)
		replace_carets(p, node_at(p, b));
	make_reals(p, &node);
	if (node.a < 0 || node.b < 0 || !check_types(p, &node) || !fits_other_side(p, &node))
		return -1;
	node.needs_fields = p->needs_fields && (is_comparison(op) || op == EXPR_GLOB);
	take_constant(p, &node);
	return add_operator(p, node);
}

static struct expr_type choose_type(struct expr_type b, struct expr_type c)
{
	struct expr_type type = {.kind = EXPR_CLASS_ANY, .bits = 64};

	if (b.kind == EXPR_CLASS_NUMBER && c.kind == EXPR_CLASS_NUMBER)
		return common_type(b, c);
	if (b.kind == EXPR_CLASS_NUMBER)
		b = c;
	else if (c.kind == EXPR_CLASS_NUMBER)
		c = b;
	else if (b.kind == EXPR_CLASS_BYTES && c.kind == EXPR_CLASS_BYTES)
		type.kind = EXPR_CLASS_BYTES;
	type.is_text = b.is_text && c.is_text;
	type.is_signed = b.is_signed && c.is_signed;
	type.element = b.element == c.element ? b.element : 0;
	return type;
}

/* In the language of users, the type of "a ? b : c" is known before it is evaluated. */
static bool is_choice(struct expr_parser *p, int32_t b, int32_t c)
{
	if (!p->dialect->is_strict || is_bytes(p, b) == is_bytes(p, c))
		return true;
	expr_fail(p, "one of the values is a number, the other is not");
	return false;
}

int32_t expr_add_choose(struct expr_parser *p, int32_t a, int32_t b, int32_t c)
{
	struct expr_node node = expr_node_of(EXPR_CHOOSE);

	if (a < 0 || b < 0 || c < 0)
		return -1;
	if (is_real(p, b) || is_real(p, c))
		return only_compares(p);
	if (!is_number(p, a) || !is_choice(p, b, c))
		return -1;
	node.a = a;
	node.b = b;
	node.c = c;
	node.type = choose_type(node_at(p, b)->type, node_at(p, c)->type);
	return build_add(p, node);
}

/* A floating-point number as an integer. */
static int32_t add_truncated(struct expr_parser *p, const struct expr_cast *cast, int32_t a)
{
	struct expr_node node = expr_node_of(EXPR_TRUNCATE);

	node.a = a;
	node.type.bits = cast->bits;
	node.type.is_signed = cast->is_signed;
	return build_add(p, node);
}

int32_t expr_add_cast(struct expr_parser *p, const struct expr_cast *cast, int32_t a)
{
	struct expr_node node = expr_node_of(EXPR_CAST);

	if (a < 0)
		return -1;
	if (is_real(p, a) && p->dialect->is_strict && cast->bits)
		return add_truncated(p, cast, a);
	if (is_real(p, a))
		return only_compares(p);
	if (!cast->is_pointer && expr_is_place(p, a))
		a = expr_add_offset(p, a);
	if (a < 0 || (!cast->is_pointer && !is_number(p, a)))
		return -1;
	node.a = a;
	node.type = node_at(p, a)->type;
	if (node.type.kind != EXPR_CLASS_NUMBER) {
		/* An integer type or an unknown one does not change bytes. */
		if (cast->is_pointer && cast->element) {
			node.type.element = cast->element;
			node.type.is_signed = cast->is_signed;
			/* (char *)&common_type + name_offset is text, as in C */
			node.type.is_text =
				cast->element == 1 && (node.type.is_text || expr_is_place(p, a));
		}
	} else if (cast->is_pointer) {
		node.type = u64_type;
	} else if (cast->bits) {
		node.type.bits = cast->bits;
		node.type.is_signed = cast->is_signed;
	}
	return add_operator(p, node);
}

int32_t expr_add_formatted(struct expr_parser *p, struct expr_node node)
{
	return build_add(p, node);
}

void expr_done(struct expr *expr)
{
	vec_done(&expr->nodes);
	vec_done(&expr->fields);
	vec_done(&expr->strings);
}
