/* SPDX-License-Identifier: MIT */
#include "event/probe_args.h"

#include <ctype.h>

#include "event/kernel_types.h"

#if defined(__x86_64__)
static const char *const argument_registers[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
#elif defined(__aarch64__)
static const char *const argument_registers[] = {
	"%x0", "%x1", "%x2", "%x3", "%x4", "%x5", "%x6", "%x7"};
#else
static const char *const argument_registers[] = {""};
#endif

/* One argument: NAME=TEXT, or only the text. */
struct argument {
	const char *at;   /* with its name */
	const char *text; /* without */
	size_t n;         /* bytes of the text */
};

/* The text without the outer parentheses. */
static const char *probe_args_inside(const char *p, const char **ret_end)
{
	size_t n = strlen(p);

	*ret_end = p + n;
	if (n < 2 || *p != '(' || p[n - 1] != ')')
		return p;
	*ret_end = p + n - 1;
	return p + 1;
}

/* Takes the next argument, up to a blank outside of parentheses. */
static bool take_argument(const char **p, const char *end, struct argument *ret_argument)
{
	unsigned depth = 0;
	size_t name = 0;
	const char *at;

	while (*p < end && isspace((unsigned char)**p))
		(*p)++;
	for (at = *p; *p < end && (depth || !isspace((unsigned char)**p)); (*p)++) {
		depth += **p == '(' || **p == '[';
		depth -= depth && (**p == ')' || **p == ']');
	}
	while (at + name < *p && (isalnum((unsigned char)at[name]) || at[name] == '_'))
		name++;
	ret_argument->at = at;
	ret_argument->text = name && at + name < *p && at[name] == '=' ? at + name + 1 : at;
	ret_argument->n = (size_t)(*p - ret_argument->text);
	return at < *p;
}

bool probe_args_are_c(const struct attar_event_option *option)
{
	const char *end, *p = probe_args_inside(option->value, &end);
	struct argument a;

	while (take_argument(&p, end, &a))
		if (fetch_is_c(a.text, a.n))
			return true;
	return false;
}

/*
 * The kernel has $argN for kprobes only: in a uprobe it is the register of the calling convention.
 */
static const char *argument_register(const char *p)
{
	unsigned long n;

	if (strncmp(p, "$arg", 4) != 0 || !isdigit((unsigned char)p[4]) ||
		isdigit((unsigned char)p[5]))
		return NULL;
	n = (unsigned long)(p[4] - '0');
	return n >= 1 && n <= ARRAY_SIZE(argument_registers) ? argument_registers[n - 1] : NULL;
}

/* The position of an argument's text in the event string. */
static const char *position(
	const struct parser *parser, const struct attar_event_option *option, const char *at)
{
	const char *value = parser->text + option->value_column - 1;
	const size_t n = (size_t)(at - option->value);

	/* quotes and backslashes are removed from the value */
	return strncmp(value, option->value, n) == 0 ? value + n : value;
}

static int put_user_text(struct parser *parser, const struct attar_event_option *option,
	const struct argument *a, struct buf *b)
{
	const char *p = a->text, *end = a->text + a->n, *name;

	while (p < end) {
		name = argument_register(p);
		if (!name && !strncmp(p, "$arg", 4))
			return parser_fail(parser, position(parser, option, p), -EINVAL,
				"args: '%s': $arg1 to $arg%zu are passed in registers",
				CLIP_N(p, 5), ARRAY_SIZE(argument_registers));
		buf_str(b, name ? name : "");
		if (name)
			p += strlen("$arg1");
		else
			buf_char(b, *p++);
	}
	return 0;
}

static int put_c(struct parser *parser, const struct attar_event_option *option,
	const struct fetch_names *names, const struct argument *a, struct buf *b)
{
	struct fetch_names known = *names;
	const char *wrong = a->text;
	int r = kernel_types(parser->catalog, names->function, &known.btf);

	if (r == 0)
		r = fetch_compile(&known, a->text, a->n, b, &wrong);
	return r < 0 && r != -ENOMEM ? parser_context(parser, position(parser, option, wrong), r)
				     : r;
}

static int put_argument(struct parser *parser, const struct attar_event_option *option,
	bool is_user, const struct fetch_names *names, const struct argument *a, struct buf *b)
{
	const bool is_c = fetch_is_c(a->text, a->n);

	buf_char(b, ' ');
	buf_add(b, a->at, (size_t)(a->text - a->at));
	if (is_c && is_user)
		return parser_fail(parser, position(parser, option, a->text), -EINVAL,
			"args: '%s': members are known of structs of the kernel, not of programs",
			CLIP_N(a->text, a->n));
	if (is_c)
		return put_c(parser, option, names, a, b);
	if (is_user)
		return put_user_text(parser, option, a, b);
	buf_add(b, a->text, a->n);
	return 0;
}

int probe_args_read(struct parser *parser, const struct attar_event_option *option, bool is_user,
	const struct fetch_names *names, struct buf *ret_fetch)
{
	const char *end, *p = probe_args_inside(option->value, &end);
	struct argument a;
	int r = 0;

	while (r == 0 && take_argument(&p, end, &a))
		r = put_argument(parser, option, is_user, names, &a, ret_fetch);
	return r == 0 && buf_failed(ret_fetch) ? base_oom() : r;
}
