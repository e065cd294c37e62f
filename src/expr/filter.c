/* SPDX-License-Identifier: MIT */
/*
 * The kernel's filter language as a dialect of expressions: its operands are comparisons of a field
 * with a constant, which is compared as a 64-bit number of the field's sign.
 */
#include "expr/filter.h"

#include <ctype.h>
#include <stdio.h>

#include "base/excerpt.h"
#include "base/proc.h"
#include "expr/build.h"

enum { DEPTH_MAX = 32, TEXT_MAX = 256, IDLE_MAX = 24 };

struct filter {
	struct expr expr; /* must be first: filter_of() */
	int32_t root;
	/* Why the kernel yields something else; NULL: it yields the same. */
	const char *inexact;
	bool is_kernel_only;     /* has operands that only the kernel has */
	struct attar_expr *user; /* it is a user's expression; NULL: in the kernel's language */
	const struct attar_expr_opts *opts; /* while it is parsed, for comm; NULL: none */
	/* The name of the task that caused the event, variable 0 of the filter; NULL: not used. */
	struct attar_expr *comm;
};

static struct filter *filter_of(const struct expr_parser *p)
{
	return (struct filter *)p->expr;
}

static void note_inexact(const struct expr_parser *p, bool is_inexact, const char *why)
{
	if (is_inexact && !filter_of(p)->inexact)
		filter_of(p)->inexact = why;
}

/* The left side and the operator of a comparison. */
struct comparison {
	struct attar_field field;
	bool is_text, is_real;
	bool is_comm; /* of the task's name; field has its size only */
	enum expr_op op;
	bool is_inverted; /* of a pattern */
};

static bool fails(struct expr_parser *p, const char *reason)
{
	expr_fail(p, reason);
	return false;
}

/* ---- the task that causes the event ---- */

/* Names that all events have in the kernel, if the event has no such field. */
static bool is_cpu(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "CPU");
}

static bool is_comm(const char *name)
{
	return !strcmp(name, "comm") || !strcmp(name, "COMM");
}

/* attar can yield the name of the task, too. */
static bool has_comm(const struct expr_parser *p, const char *name)
{
	const struct attar_expr_opts *opts = filter_of(p)->opts;

	return is_comm(name) && opts && opts->comm_get;
}

/*
 * The kernel compares 16 bytes, as if it were a field of this size. The last switch of a thread has
 * no valid _tid, since it is no longer in any PID namespace.
 */
static bool take_comm(struct expr_parser *p, struct comparison *c)
{
	struct filter *filter = filter_of(p);
	struct attar_expr_opts opts = {
		.size = sizeof(opts), .ctx = filter->opts->ctx, .comm_get = filter->opts->comm_get};
	bool has_tid = attar_format_field(p->format, "common_pid") && proc_has_first_pids();
	const char *name = has_tid ? "comm_get(_tid < 0 ? common_pid : _tid)" : "comm_get(_tid)";

	if (!filter->comm && attar_expr_new(name, p->format, &opts, &filter->comm) < 0)
		return false;
	c->field.place = ATTAR_FIELD_FIXED;
	c->is_text = c->is_comm = true;
	return true;
}

/* ---- comparisons ---- */

static bool take_field(struct expr_parser *p, struct comparison *c)
{
	size_t n = lex_word(p->p);
	const struct attar_field *field;
	struct attar_number_type type = {0};
	char name[TEXT_MAX];

	if (!n || n >= sizeof(name))
		return fails(p, "expected a field name");
	memcpy(name, p->p, n);
	name[n] = '\0';
	field = attar_format_field(p->format, name);
	if (!field && has_comm(p, name)) {
		p->p += n;
		return take_comm(p, c);
	}
	if (!field) {
		p->is_field = true;
		return fails(p, "no such field");
	}
	c->field = *field;
	c->is_text = field->kind == ATTAR_FIELD_STRING;
	if (perfume_type_of(field, &type) && type.is_array)
		return fails(p, "cannot compare an array");
	if (!c->is_text && !type.size && field->kind != ATTAR_FIELD_NUMBER)
		return fails(p, "only numbers and strings can be compared");
	if (!c->is_text)
		c->field.kind = ATTAR_FIELD_NUMBER;
	c->is_real = type.is_float;
	note_inexact(p, field->kind != ATTAR_FIELD_NUMBER && field->kind != ATTAR_FIELD_STRING,
		"the type of a field is unknown to the kernel");
	p->p += n;
	return true;
}

static bool take_operator(struct expr_parser *p, struct comparison *c)
{
	static const struct {
		const char *text;
		enum expr_op op;
	} operators[] = {{"==", EXPR_EQUAL}, {"!=", EXPR_NOT_EQUAL}, {"<=", EXPR_LESS_EQUAL},
		{"<", EXPR_LESS}, {">=", EXPR_GREATER_EQUAL}, {">", EXPR_GREATER},
		{"&", EXPR_BIT_AND}, {"~", EXPR_GLOB}};
	size_t i = 0;

	while (i < ARRAY_SIZE(operators) && !lex_take(&p->p, operators[i].text))
		i++;
	if (i == ARRAY_SIZE(operators))
		return fails(p, "expected one of == != < <= > >= & ~");
	c->op = operators[i].op;
	if (c->op == EXPR_EQUAL || c->op == EXPR_NOT_EQUAL)
		return true;
	if (c->is_text && c->op != EXPR_GLOB)
		return fails(p, "strings can only be compared with ==, != or ~");
	if (!c->is_text && c->op == EXPR_GLOB)
		return fails(p, "~ can only compare strings");
	if (c->is_real && c->op == EXPR_BIT_AND)
		return fails(p, "& can only test bits of integers");
	return true;
}

/* The kernel's matcher treats some patterns specially: filter_parse_regex(). */
static void check_pattern(
	const struct expr_parser *p, const struct comparison *c, const char *pattern, size_t n)
{
	bool is_end = n && pattern[0] == '*' && strcspn(pattern + 1, "*?[\\\"'") >= n - 1;

	note_inexact(p, n && isdigit((unsigned char)pattern[0]),
		"the kernel does not match patterns that start with a digit");
	note_inexact(p, !n, "the kernel's filters cannot have an empty pattern");
	note_inexact(p, is_end && c->field.place == ATTAR_FIELD_FIXED,
		"the kernel compares the end of a fixed-size field, not of its text");
}

/* Quotes around a word are optional here. A pattern that starts with '!' must not match. */
static int32_t text(struct expr_parser *p, struct comparison *c)
{
	size_t n;
	const char *start;

	lex_blanks(&p->p);
	note_inexact(p, *p->p != '"' && *p->p != '\'', "the kernel requires quotes around text");
	start = lex_text(&p->p, &n);
	if (!start)
		return expr_fail(p, "missing closing quote");
	if (n >= TEXT_MAX) {
		p->p = start;
		return expr_fail(p, "the string is too long");
	}
	c->is_inverted = c->op == EXPR_GLOB && n && *start == '!';
	if (c->op == EXPR_GLOB)
		check_pattern(p, c, start + c->is_inverted, n - c->is_inverted);
	return expr_add_string(p, start + c->is_inverted, n - c->is_inverted);
}

/* The kernel converts the number to the type of the field, and compares then. */
static void check_number(
	const struct expr_parser *p, const struct comparison *c, const char *start, int64_t number)
{
	struct expr_type type = {
		.bits = (uint8_t)(MIN(c->field.size, 8) * 8), .is_signed = c->field.is_signed};
	uint64_t converted = type.bits ? expr_convert((uint64_t)number, type) : 0;
	bool fits = converted == (uint64_t)number;

	if (c->op == EXPR_BIT_AND && type.bits && type.bits < 64)
		fits |= (uint64_t)number >> type.bits == 0;
	if (*start != '-' && type.is_signed && number < 0)
		fits = false;
	note_inexact(p, *start == '-' && !type.is_signed,
		"the field is unsigned: use a number that is not negative, such as 0xffffffff");
	note_inexact(p, !fits, "a number does not fit in its field");
	note_inexact(p, *start == '+', "the kernel's filters cannot have a number with a '+'");
}

/* The right side. */
static int32_t constant(struct expr_parser *p, struct comparison *c)
{
	const char *start;
	int64_t number;
	double real;

	if (c->is_text)
		return text(p, c);
	if (c->is_real)
		return lex_real(&p->p, &real) ? expr_add_real(p, real)
					      : expr_fail(p, "expected a number");
	lex_blanks(&p->p);
	start = p->p;
	if (!lex_signed(&p->p, &number))
		return expr_fail(p, lex_is_too_large(p->p) ? "the number does not fit in 64 bits"
							   : "expected a number");
	check_number(p, c, start, number);
	return expr_add_integer(p, (uint64_t)number, 64, c->field.is_signed);
}

static int32_t comparison(struct expr_parser *p)
{
	struct comparison c = {0};
	const char *start;
	int32_t a, b, node;

	if (!take_field(p, &c) || !take_operator(p, &c))
		return -1;
	a = c.is_comm ? expr_add_text_variable(p, 0)
		      : expr_add_field(p, c.is_text ? EXPR_BYTES : EXPR_FIELD, &c.field, c.is_real);
	lex_blanks(&p->p);
	start = p->p;
	b = constant(p, &c);
	p->mark = start;
	node = expr_add_infix(p, c.op, a, b);
	p->mark = NULL;
	if (node >= 0 && c.op == EXPR_GLOB)
		p->expr->nodes.at[node].is_inverted = c.is_inverted;
	if (c.op == EXPR_BIT_AND && node >= 0)
		node = expr_add_infix(
			p, EXPR_NOT_EQUAL, node, expr_add_integer(p, 0, 64, c.field.is_signed));
	if (node >= 0)
		p->expr->nodes.at[node].needs_fields = true;
	return node;
}

/* ---- operands that only the kernel has ---- */

/* Skips "CPUS{...}", a text in quotes, or a word. Returns its first character; 0: there is none. */
static char skip_constant(const char **p)
{
	const char *start;
	size_t n;

	lex_blanks(p);
	start = *p;
	n = lex_word(start);
	if (!strncmp(start, "CPUS{", 5))
		n = strcspn(start, "}") + 1;
	else if (*start == '"' || *start == '\'')
		return lex_text(p, &n) ? *start : 0;
	if (!n || strlen(start) < n)
		return 0;
	*p += n;
	return start[n - 1] == '}' ? '{' : *start;
}

/* Whether the constant, in quotes, can be a name, or a pattern of names. */
static bool names_task(struct expr_parser *p, const char *constant, bool is_pattern)
{
	size_t n;
	const char *text = lex_text(&constant, &n);
	bool is_inverted = is_pattern && text && n && *text == '!';

	return !text || expr_comm_fits(p, is_pattern, text + is_inverted, n - is_inverted);
}

/*
 * "filename.ustring ~ "*.c"", "ip.function == schedule", "cpu & CPUS{1-3}", a text that a field
 * points to, the number of the CPU, and the name of the task if attar does not have it. Returns
 * false with p->p unchanged if attar can apply this comparison too.
 */
static bool kernel_only(struct expr_parser *p, int32_t *ret_node)
{
	static const char *const operators[] = {"==", "!=", "<=", "<", ">=", ">", "&", "~"};
	const char *at = p->p, *constant;
	size_t n = lex_word(at), i = 0;
	char name[TEXT_MAX], operand;
	const struct attar_field *field;
	bool is_generic, is_special;

	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	field = attar_format_field(p->format, name);
	at += n;
	is_generic = !field && (is_cpu(name) || is_comm(name));
	is_special = (is_generic && !has_comm(p, name)) || lex_take(&at, ".ustring") ||
		     lex_take(&at, ".function");
	while (i < ARRAY_SIZE(operators) && !lex_take(&at, operators[i]))
		i++;
	constant = at;
	operand = i < ARRAY_SIZE(operators) ? skip_constant(&at) : 0;
	if (field && field->is_pointer && strstr(field->type, "char"))
		is_special |= operand == '"' || operand == '\'';
	if (!operand || !(is_special || operand == '{') || (!field && !is_generic))
		return false;
	filter_of(p)->is_kernel_only = true;
	*ret_node = -1;
	if (!is_generic || !is_comm(name) || names_task(p, constant, *operators[i] == '~'))
		*ret_node = expr_add_integer(p, 1, 32, true);
	p->p = at;
	return true;
}

static bool operand(struct expr_parser *p, int32_t *ret_node)
{
	if (*p->p == '(')
		return false;
	if (!kernel_only(p, ret_node))
		*ret_node = comparison(p);
	return true;
}

static int no_field(const struct expr_parser *p)
{
	struct buf fields _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < p->format->n_fields; i++)
		if (!p->format->fields[i].is_common)
			buf_printf(
				&fields, "%s%s", fields.len ? ", " : "", p->format->fields[i].name);
	return attar_fail(-EINVAL, "filter '%s': '%s:%s' has no field '%s'; its fields are %s",
		CLIP(p->text), CLIP(p->format->system), CLIP(p->format->name),
		CLIP_N(p->at, lex_word(p->at)), buf_text(&fields));
}

/* The same message as for an expression of users. */
static int too_long(const struct expr_parser *p, const struct attar_expr_opts *opts)
{
	size_t column = (size_t)(p->at - p->text) + 1;
	int r;

	base_fail_text(-EINVAL, p->reason);
	r = attar_context(-EINVAL, "%s", opts && opts->what ? opts->what : "filter");
	if (!opts || !opts->ret_column)
		return excerpt_append(p->text, column, r);
	*opts->ret_column = (unsigned)column;
	return r;
}

static int failure(const struct expr_parser *p)
{
	if (p->is_field)
		return no_field(p);
	if (!p->reason)
		return base_oom();
	base_fail_text(-EINVAL, p->reason);
	return attar_context(-EINVAL, "filter '%s' of '%s:%s', column %zu", CLIP(p->text),
		CLIP(p->format->system), CLIP(p->format->name), (size_t)(p->at - p->text) + 1);
}

/*
 * opts: for the name of the task, borrowed until this returns; NULL: only the kernel has it.
 * *ret_is_final: the error is one in each language.
 */
static int parse_kernel(const char *text, const struct attar_format *format,
	const struct attar_expr_opts *opts, bool *ret_is_final, struct filter **ret_filter)
{
	static const struct expr_dialect dialect = {.operand = operand, .depth_max = DEPTH_MAX};
	struct filter *filter = calloc(1, sizeof(*filter));
	struct expr_parser p = {.text = text, .p = text, .dialect = &dialect, .format = format};

	*ret_is_final = false;
	if (!filter)
		return base_oom();
	p.expr = &filter->expr;
	filter->opts = opts;
	filter->root = expr_parse(&p);
	lex_blanks(&p.p);
	if (filter->root >= 0 && *p.p)
		filter->root = expr_fail(&p, "expected && or ||");
	*ret_is_final = filter->root < 0 && p.is_too_long;
	if (filter->root < 0) {
		filter_free(filter);
		return p.is_too_long ? too_long(&p, opts) : failure(&p);
	}
	filter->opts = NULL;
	*ret_filter = filter;
	return 0;
}

int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter)
{
	bool is_final;

	return parse_kernel(text, format, NULL, &is_final, ret_filter);
}

struct filter *filter_free(struct filter *filter)
{
	if (!filter)
		return NULL;
	attar_expr_free(filter->user);
	attar_expr_free(filter->comm);
	expr_done(&filter->expr);
	free(filter);
	return NULL;
}

/* ---- which language, and where it runs ---- */

/* The kernel copies at most a page of 4096 bytes; attar may add a condition. */
enum { KERNEL_TEXT_MAX = 4000 };

static int parse_user(const char *text, const struct attar_format *format,
	const struct attar_expr_opts *opts, struct filter **ret_filter)
{
	struct attar_expr_opts own = {.size = sizeof(own)};
	struct filter *filter = calloc(1, sizeof(*filter));
	int r;

	if (!filter)
		return base_oom();
	if (opts)
		own = *opts;
	own.flags |= ATTAR_EXPR_CONDITION;
	if (!own.what)
		own.what = "filter";
	r = attar_expr_new(text, format, &own, &filter->user);
	if (r < 0) {
		filter_free(filter);
		return r;
	}
	filter->inexact = "the kernel's filters can only compare a field with a constant";
	*ret_filter = filter;
	return 0;
}

int filter_choose(const char *text, const struct attar_format *format, bool has_kernel,
	const struct attar_expr_opts *opts, struct filter_choice *ret_choice)
{
	struct filter *filter;
	bool is_kernel_only = false, is_final;
	int r = parse_kernel(text, format, opts, &is_final, &filter);

	if (r == 0 && strlen(text) > KERNEL_TEXT_MAX && !filter->inexact)
		filter->inexact = "the filter is too long for the kernel";
	if (r == 0 && filter->is_kernel_only && (!has_kernel || filter->inexact)) {
		is_kernel_only = true;
		filter_free(filter);
		r = -EINVAL;
	}
	if (r == -EINVAL && !is_final)
		r = parse_user(text, format, opts, &filter);
	if (r == -EINVAL && is_kernel_only)
		return attar_fail(-EINVAL,
			"filter '%s': only the kernel can evaluate .ustring, .function, CPUS{}, "
			"%s and strings that fields point to, and it cannot apply this filter",
			CLIP(text), opts && opts->comm_get ? "cpu" : "cpu, comm");
	if (r < 0)
		return r;
	*ret_choice = (struct filter_choice){
		.in_kernel = has_kernel && !filter->inexact,
		.is_of_users = filter->user,
		.keep = filter->is_kernel_only ? filter_free(filter) : filter,
	};
	if (!ret_choice->in_kernel)
		ret_choice->why =
			has_kernel ? filter->inexact : "the kernel does not have these events";
	return 0;
}

/* The name that the kernel compares. An idle task's has its CPU, other tools omit it. */
static void name_task(const struct filter *filter, const struct attar_expr_record *record,
	char idle[static IDLE_MAX], struct attar_expr_value *ret_comm)
{
	attar_expr_eval(filter->comm, record, ret_comm);
	if (!record->tid) {
		ret_comm->len = (size_t)snprintf(idle, IDLE_MAX, "swapper/%d", record->cpu);
		ret_comm->bytes = idle;
	}
}

bool filter_keeps(const struct filter *filter, const struct attar_expr_record *record)
{
	struct expr_run run = {.expr = &filter->expr, .raw = record->raw};
	struct attar_expr_record named;
	struct attar_expr_value comm;
	char idle[IDLE_MAX];

	if (filter->user)
		return attar_expr_is_true(filter->user, record);
	if (filter->comm) {
		name_task(filter, record, idle, &comm);
		named = *record;
		named.variables = &comm;
		run.record = &named;
	}
	run.size = record->raw ? record->raw_size : 0;
	return expr_is_true(&run, filter->root);
}
