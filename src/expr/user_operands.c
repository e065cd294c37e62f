/* SPDX-License-Identifier: MIT */
/* The operands of users' expressions: fields, variables, functions, sizeof. */
#include <stdio.h>

#include "base/proc.h"
#include "base/suggest.h"
#include "expr/functions.h"
#include "expr/print_parse.h"
#include "expr/user.h"

enum { NAME_MAX_LENGTH = 128 };

static const struct {
	const char *name;
	size_t offset; /* in struct attar_expr_record */
	uint8_t bits;
	bool is_signed;
} members[] = {
	{"_cpu", offsetof(struct attar_expr_record, cpu), 32, true},
	{"_pid", offsetof(struct attar_expr_record, pid), 32, true},
	{"_tid", offsetof(struct attar_expr_record, tid), 32, true},
	{"_time", offsetof(struct attar_expr_record, time), 64, false},
	{"_period", offsetof(struct attar_expr_record, period), 64, false},
};

/* ---- names of values ---- */

static int32_t add_variable(struct expr_parser *p, size_t i)
{
	const struct attar_expr_variable *v = &p->user->variables.at[i];
	struct expr_node node = expr_node_of(EXPR_VARIABLE);

	if (v->is_text)
		return expr_add_text_variable(p, i);
	node.number = i;
	node.type.is_signed = v->is_signed;
	return expr_add_formatted(p, node);
}

/* The characters of text are signed, even if characters of the kernel are not. */
static int32_t add_field(struct expr_parser *p, const struct attar_field *field)
{
	struct attar_field copy = *field;
	struct attar_number_type type = {0};
	bool is_number = field->kind == ATTAR_FIELD_NUMBER;

	if (perfume_type_of(field, &type)) {
		is_number = !type.is_array;
		copy.kind = is_number ? ATTAR_FIELD_NUMBER : ATTAR_FIELD_ARRAY;
		copy.is_signed = type.is_signed;
		copy.element = type.size;
	}
	if (type.is_array && type.is_float)
		return expr_fail(p, "arrays of floating-point numbers cannot be used");
	if (field->kind == ATTAR_FIELD_STRING)
		copy.is_signed = true;
	if (copy.kind == ATTAR_FIELD_BYTES)
		copy.element = 0; /* a struct */
	return expr_add_field(p, is_number ? EXPR_FIELD : EXPR_BYTES, &copy, type.is_float);
}

static int32_t add_member(struct expr_parser *p, size_t i)
{
	struct expr_node node = expr_node_of(EXPR_MEMBER);

	node.number = members[i].offset;
	node.type.bits = members[i].bits;
	node.type.is_signed = members[i].is_signed;
	return expr_add_formatted(p, node);
}

/* NAME_offset and NAME_len of a field whose bytes are elsewhere in the record. */
static int32_t add_location(struct expr_parser *p, char *name, size_t n)
{
	bool is_len = n > 4 && !strcmp(name + n - 4, "_len");
	const struct attar_field *field;
	struct attar_field word = {.size = 2, .element = 2};
	int32_t node;

	if (!p->format || (!is_len && (n <= 7 || strcmp(name + n - 7, "_offset") != 0)))
		return -1;
	name[n - (is_len ? 4 : 7)] = '\0';
	field = attar_format_field(p->format, name);
	if (!field || field->place == ATTAR_FIELD_FIXED)
		return -1;
	word.offset = (uint16_t)(field->offset + (is_len ? 2 : 0));
	node = expr_add_field(p, EXPR_FIELD, &word, false);
	if (field->place == ATTAR_FIELD_REL_LOC && !is_len)
		node = expr_add_infix(
			p, EXPR_ADD, node, expr_add_integer(p, field->offset + 4U, 32, true));
	return node;
}

/* Names that are a function of the event's thread. */
static const struct {
	const char *name, *function;
} task_names[] = {{"_comm", "comm_get"}, {"_cgroup", "cgroup_get"}, {"_unit", "unit_get"},
	{"_container", "container_get"}, {"_pod", "pod_get"}};

/* The last switch of a thread has no valid _tid, since it is no longer in any PID namespace. */
static int32_t add_task_name(struct expr_parser *p, const char *name)
{
	const char *before = p->p, *tid = "_tid";
	struct expr_node node = expr_node_of(EXPR_CALL);

	while (strcmp(functions[node.number].name, name) != 0)
		node.number++;
	if (functions[node.number].refusal(&p->user->opts))
		return -1;
	if (p->format && attar_format_field(p->format, "common_pid") && proc_has_first_pids())
		tid = "_tid < 0 ? common_pid : _tid";
	node.type = functions[node.number].type;
	node.field = (uint32_t)p->user->n_texts++;
	p->p = tid;
	node.a = expr_parse(p);
	p->p = before;
	return node.a < 0 ? -1 : expr_add_formatted(p, node);
}

/* The node of a name that is not a function, -1 if there is none. */
static int32_t value(struct expr_parser *p, char *name, size_t n)
{
	const struct attar_field *field = p->format ? attar_format_field(p->format, name) : NULL;

	for (size_t i = 0; i < p->user->variables.n; i++)
		if (!strcmp(p->user->variables.at[i].name, name))
			return add_variable(p, i);
	if (field)
		return add_field(p, field);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!strcmp(members[i].name, name))
			return add_member(p, i);
	for (size_t i = 0; i < ARRAY_SIZE(task_names); i++)
		if (!strcmp(name, task_names[i].name))
			return add_task_name(p, task_names[i].function);
	if (!strcmp(name, "true") || !strcmp(name, "false"))
		return expr_add_integer(p, name[0] == 't', 32, true);
	return add_location(p, name, n);
}

/* ---- functions ---- */

/* Whether the argument is what the function expects; otherwise records why not. */
static bool accepts(struct expr_parser *p, char wanted, int32_t index)
{
	const struct expr_type *type = &expr_node(p->expr, index)->type;
	bool is_bytes = type->kind == EXPR_CLASS_BYTES;

	if (wanted == 'n' && type->kind != EXPR_CLASS_NUMBER)
		expr_fail(p, "this argument must be a number");
	else if (wanted == 't' && !(is_bytes && type->is_text))
		expr_fail(p, "this argument must be text");
	else if (wanted == 'a' && !(is_bytes && type->element))
		expr_fail(p, "this argument must be text or an array");
	return !p->reason;
}

static bool argument(struct expr_parser *p, char wanted, int32_t *ret_node)
{
	lex_blanks(&p->p);

	const char *start = p->p;

	*ret_node = expr_parse(p);
	if (*ret_node < 0)
		return false;
	p->mark = start;
	accepts(p, wanted, *ret_node);
	p->mark = NULL;
	return !p->reason;
}

/* A format and its arguments. The pieces are consecutive: the pieces of nested calls come first. */
static bool formatted(struct expr_parser *p, struct expr_node *node)
{
	struct buf fmt _cleanup_(buf_done) = {0};
	print_pieces pieces _cleanup_(print_pieces_done) = {0};

	lex_blanks(&p->p);
	p->mark = p->p;
	if (*p->p != '"')
		expr_fail(p, "expected a format in double quotes");
	else if (!lex_string(&p->p, &fmt))
		expr_fail(p, "missing closing quote");
	else
		print_parse_pieces(p, buf_text(&fmt), &pieces);
	p->mark = NULL;
	if (p->reason || buf_failed(&fmt))
		return false;
	node->text = (uint32_t)p->user->pieces.n;
	node->text_len = (uint32_t)pieces.n;
	vec_each (&pieces, piece)
		if (vec_push(&p->user->pieces, *piece) < 0)
			return false;
	return true;
}

/*
 * The kernel's own copy of what the argument NAME points to, the field __NAME_val that events of
 * system calls have since Linux 6.19; -1: there is none. Takes the ')'.
 */
static int32_t copy_of(struct expr_parser *p)
{
	const char *before = p->p, *start;
	const struct attar_field *field;
	char name[128];
	size_t n;

	lex_blanks(&p->p);
	start = p->p;
	n = strspn(start, "abcdefghijklmnopqrstuvwxyz_0123456789");
	p->p += n;
	if (n && n < sizeof(name) - 8 && p->format && lex_take(&p->p, ")")) {
		snprintf(name, sizeof(name), "__%.*s_val", (int)n, start);
		field = attar_format_field(p->format, name);
		if (field)
			return add_field(p, field);
	}
	p->p = before;
	return -1;
}

/* A call, after its '('. */
static int32_t call(struct expr_parser *p, const char *start, size_t i)
{
	const struct function *f = &functions[i];
	const char *refusal = f->refusal ? f->refusal(&p->user->opts) : NULL;
	struct expr_node node = expr_node_of(EXPR_CALL);
	int32_t *to[] = {&node.a, &node.b, &node.c}, copy = f->reads_memory ? copy_of(p) : -1;

	if (copy >= 0)
		return copy;
	if (refusal) {
		p->p = start;
		p->is_forbidden = f->runs_commands;
		return expr_fail(p, refusal);
	}
	node.number = i;
	node.type = f->type;
	if (f->type.kind == EXPR_CLASS_BYTES)
		node.field = (uint32_t)p->user->n_texts++;
	for (size_t n = 0; f->arguments[n]; n++) {
		if (n && !expr_expect(p, ","))
			return -1;
		if (f->arguments[n] == 'f' ? !formatted(p, &node)
					   : !argument(p, f->arguments[n], to[n]))
			return -1;
		if (f->arguments[n] == 'f' && *(p->p + strspn(p->p, " \t\n")) == ',')
			return expr_fail(p,
				"the format has more arguments than conversions" ATTAR_FIX
				"the conversions are %d %i %u %x %X %o %c %s %p, without "
				"positions as in %1$d");
	}
	return expr_expect(p, ")") ? expr_add_formatted(p, node) : -1;
}

static int32_t function(struct expr_parser *p, const char *start, const char *name)
{
	for (size_t i = 0; functions[i].name; i++)
		if (!strcmp(functions[i].name, name))
			return call(p, start, i);
	p->p = start;
	p->is_field = true;
	return expr_fail(p, "no such function");
}

/* ---- sizeof ---- */

static int32_t size_of_value(struct expr_parser *p, int32_t index)
{
	const struct expr_node *node = index < 0 ? NULL : expr_node(p->expr, index);
	const struct attar_field *field;

	if (!node)
		return -1;
	if (node->type.kind == EXPR_CLASS_NUMBER)
		return expr_add_integer(p, node->type.bits / 8U, 64, false);
	if (node->op == EXPR_STRING)
		return expr_add_integer(p, node->text_len + 1U, 64, false);
	if (node->type.is_address)
		return expr_add_integer(p, sizeof(void *), 64, false);
	field = node->op == EXPR_BYTES ? &p->expr->fields.at[node->field] : NULL;
	if (field && field->place == ATTAR_FIELD_FIXED)
		return expr_add_integer(p, field->size, 64, false);
	return expr_fail(p, "its size differs between records" ATTAR_FIX "use len()");
}

static int32_t size_of(struct expr_parser *p)
{
	const char *before = p->p;
	struct expr_cast type;
	int32_t a;

	if (lex_take(&p->p, "(") && expr_parse_type(p, &type) && (type.bits || type.is_pointer))
		return expr_add_integer(p, type.is_pointer ? 8 : type.bits / 8U, 64, false);
	p->p = before;
	a = expr_parse_unary(p);
	p->mark = before;
	a = size_of_value(p, a);
	p->mark = NULL;
	return a;
}

/* ---- operands ---- */

bool user_operand(struct expr_parser *p, int32_t *ret_node)
{
	const char *start = p->p;
	size_t n = lex_name(start);
	char name[NAME_MAX_LENGTH];

	if (!n)
		return false;
	if (!lex_copy_name(&p->p, name, sizeof(name))) {
		*ret_node = expr_fail(p, "the name is too long");
		return true;
	}
	if (!strcmp(name, "sizeof")) {
		*ret_node = size_of(p);
		return true;
	}
	*ret_node = lex_take(&p->p, "(") ? function(p, start, name) : value(p, name, n);
	if (*ret_node < 0 && !p->reason) {
		p->p = start;
		p->is_field = true;
		expr_fail(p, "no such field or variable");
	}
	return true;
}

void user_suggest(const struct attar_expr *e, struct suggest *s)
{
	for (size_t i = 0; i < e->variables.n; i++)
		if (lex_name(e->variables.at[i].name) == strlen(e->variables.at[i].name))
			suggest_offer(s, e->variables.at[i].name);
	for (size_t i = 0; e->format && i < e->format->n_fields; i++)
		suggest_offer(s, e->format->fields[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		suggest_offer(s, members[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(task_names) && (i == 0 || e->opts.group_get); i++)
		suggest_offer(s, task_names[i].name);
	for (size_t i = 0; functions[i].name; i++)
		suggest_offer(s, functions[i].name);
}
