/* SPDX-License-Identifier: MIT */
#include "event/attributes.h"

#include <stdio.h>

#include "attar/private/event.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/excerpt.h"
#include "base/parse.h"
#include "base/suggest.h"

enum { CPU_MAX = 8191, STACK_MAX = UINT16_MAX };

enum form {
	FORM_NONE,  /* no value */
	FORM_VALUE, /* any text, interpreted by the profiler */
	FORM_FRAMES,
	FORM_CPUS,
	FORM_RATE,
};

struct attribute {
	const char *name, *value;
	enum form form;
	bool repeats;
};

static const struct attribute attributes[] = {
	{"stack", NULL, FORM_NONE},
	{"max-stack", "FRAMES", FORM_FRAMES},
	{"alias", "NAME", FORM_VALUE},
	{"cpus", "LIST", FORM_CPUS},
	{"key", "EXPRESSION", FORM_VALUE},
	{"printkey", "[HEADING:]EXPRESSION", FORM_VALUE},
	{"role", "EXPRESSION", FORM_VALUE},
	{"untraced", NULL, FORM_NONE},
	{"optional", NULL, FORM_NONE},
	{"column", "[NAME:]EXPRESSION", FORM_VALUE, .repeats = true},
	{"main", "NAME", FORM_VALUE},
	{"top-by", "[NAME:]EXPRESSION", FORM_VALUE, .repeats = true},
	{"top-add", "[NAME:]EXPRESSION", FORM_VALUE, .repeats = true},
	{"comm", "EXPRESSION", FORM_VALUE},
	{"ptr", "EXPRESSION", FORM_VALUE},
	{"size", "EXPRESSION", FORM_VALUE},
	{"num", "EXPRESSION", FORM_VALUE},
	{"index", "FIELD", FORM_VALUE},
	{"period", "COUNT", FORM_RATE},
	{"freq", "HZ", FORM_RATE},
	{"batch", "COUNT", FORM_RATE},
	{"transport", "kernel|shm|usdt", FORM_VALUE},
	{"args", "NAME=FETCH[:TYPE] ...", FORM_VALUE},
	{"exec", "EXPRESSION", FORM_VALUE},
	{"trigger", NULL, FORM_NONE},
	{"push", "ADDRESS", FORM_VALUE},
	{"pull", "ADDRESS", FORM_VALUE},
	{"vm", "GUEST", FORM_VALUE},
};

const char *event_attribute(size_t i, const char **ret_value)
{
	CHECK_ARG_OR(ret_value, "ret_value", NULL);

	if (i >= ARRAY_SIZE(attributes))
		return NULL;
	*ret_value = attributes[i].value;
	return attributes[i].name;
}

static const struct attribute *attributes_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (!strcmp(attributes[i].name, name))
			return &attributes[i];
	return NULL;
}

bool attribute_is_known(const char *name)
{
	return attributes_find(name) != NULL;
}

/* ---- errors ---- */

static int bad_option(struct parser *parser, const struct attar_event_option *option,
	const char *fmt, ...) ATTAR_PRINTF(3, 4);

static int bad_option(
	struct parser *parser, const struct attar_event_option *option, const char *fmt, ...)
{
	va_list args;
	int r;

	va_start(args, fmt);
	r = parser_vfail(parser, parser->text + option->column - 1, -EINVAL, fmt, args);
	va_end(args);
	return r;
}

static int bad_value(struct parser *parser, const struct attar_event_option *option, int code)
{
	attar_context(code, "%s", option->name);
	return parser_context(parser, parser->text + option->value_column - 1, code);
}

static int unknown(struct parser *parser, const struct attar_event_option *option)
{
	struct suggest s = {.word = option->name};
	struct buf names _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		suggest_offer(&s, attributes[i].name);
		buf_printf(&names, "%s%s", i ? ", " : "", attributes[i].name);
	}
	if (s.best)
		return bad_option(parser, option,
			"no attribute '%s'" ATTAR_FIX "did you mean '%s'?", CLIP(option->name),
			s.best);
	return bad_option(parser, option, "no attribute '%s'" ATTAR_FIX "the attributes are %s",
		CLIP(option->name), buf_text(&names));
}

/* ---- values ---- */

static int read_frames(const char *value, uint64_t *ret_frames)
{
	int r = parse_u64(value, ret_frames);

	if (r < 0)
		return r;
	return *ret_frames >= 1 && *ret_frames <= STACK_MAX
		       ? 0
		       : attar_fail(-ERANGE, "%s is not between 1 and %d", CLIP(value), STACK_MAX);
}

static int read_rate(const char *value, uint64_t *ret_rate)
{
	int r = parse_u64(value, ret_rate);

	return r == 0 && !*ret_rate ? attar_fail(-ERANGE, "the value must be at least 1") : r;
}

static int check_value(struct parser *parser, const struct attar_event_option *option, int form)
{
	parse_ints cpus = {0};
	uint64_t number;
	int r = 0;

	if (form == FORM_FRAMES)
		r = read_frames(option->value, &number);
	else if (form == FORM_RATE)
		r = read_rate(option->value, &number);
	else if (form == FORM_CPUS)
		r = parse_list(option->value, CPU_MAX, &cpus);
	vec_done(&cpus);
	return r < 0 && r != -ENOMEM ? bad_value(parser, option, r) : r;
}

int attribute_check(struct parser *parser, const struct attar_event_option *option)
{
	const struct attribute *a = attributes_find(option->name);

	if (!a)
		return unknown(parser, option);
	if (!a->value && option->value)
		return bad_option(
			parser, option, "%s takes no value" ATTAR_FIX "write %s", a->name, a->name);
	if (a->value && (!option->value || !*option->value))
		return bad_option(parser, option, "%s needs a value" ATTAR_FIX "%s=%s", a->name,
			a->name, a->value);
	return check_value(parser, option, a->form);
}

int attribute_check_repeated(struct parser *parser, const struct attar_event_option *options,
	size_t n, const struct attar_event_option *new)
{
	const struct attribute *a = attributes_find(new->name);

	for (size_t i = 0; i < n && a && !a->repeats; i++)
		if (!strcmp(options[i].name, new->name))
			return bad_option(parser, new,
				"%s is specified twice: it may be specified only once", new->name);
	return 0;
}

/* ---- what they set ---- */

const struct attar_event_option *attar_spec_get_option(
	const struct attar_event_spec *spec, const char *name)
{
	CHECK_ARG_OR(spec, "spec", NULL);
	CHECK_ARG_OR(name, "name", NULL);

	for (size_t i = 0; i < spec->n_options; i++)
		if (!strcmp(spec->options[i].name, name))
			return &spec->options[i];
	return NULL;
}

/* The bytes of NAME in "[NAME:]EXPRESSION"; a number is the first operand of ?: instead. */
static size_t heading_len(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return n && text[n] == ':' && strcspn(text, "0123456789-") ? n : 0;
}

const char *event_option_expr(const struct attar_event_option *option, size_t *ret_name_len)
{
	CHECK_ARG_OR(option, "option", NULL);
	CHECK_ARG_OR(ret_name_len, "ret_name_len", NULL);

	const struct attribute *a = attributes_find(option->name);
	bool is_expr = a && a->value && option->value &&
		       (!strcmp(a->value, "FIELD") || strstr(a->value, "EXPRESSION"));
	size_t n = is_expr && *a->value == '[' ? heading_len(option->value) : 0;

	if (!is_expr)
		return NULL;
	*ret_name_len = n;
	return option->value + (n ? n + 1 : 0);
}

static int set_cpus(struct list *list, struct attar_event_spec *spec, const char *value)
{
	parse_ints cpus = {0};
	int r = parse_list(value, CPU_MAX, &cpus);

	if (r == 0 && !list_own(list, cpus.at))
		return base_oom();
	if (r < 0) {
		vec_done(&cpus);
		return r;
	}
	spec->only_cpus = cpus.at;
	spec->n_only_cpus = cpus.n;
	return 0;
}

static int set_rates(struct parser *parser, struct attar_event_spec *spec)
{
	const struct attar_event_option *period = attar_spec_get_option(spec, "period"),
					*freq = attar_spec_get_option(spec, "freq");

	if ((period || spec->period) && (freq || spec->freq))
		return bad_option(
			parser, freq ? freq : period, "period and freq are mutually exclusive");
	if (period)
		read_rate(period->value, &spec->period);
	if (freq)
		read_rate(freq->value, &spec->freq);
	return 0;
}

/* Only user events have a transport; they have taken it from the options before. */
static int check_transport(struct parser *parser, const struct attar_event_spec *spec)
{
	const struct attar_event_option *transport = attar_spec_get_option(spec, "transport");

	if (!transport || spec->transport || spec->user_event || spec->kind == ATTAR_EVENT_USER)
		return 0;
	return bad_option(parser, transport, "only events of user_events have a transport");
}

int attributes_apply(struct parser *parser, size_t i)
{
	struct list *list = parser->list;
	struct attar_event_spec *spec = &list->specs.at[i];
	const struct attar_event_option *alias = attar_spec_get_option(spec, "alias"),
					*depth = attar_spec_get_option(spec, "max-stack"),
					*cpus = attar_spec_get_option(spec, "cpus");
	uint64_t frames = 0;
	int r = check_transport(parser, spec);

	if (r == 0)
		r = set_rates(parser, spec);
	if (r == 0 && depth)
		r = read_frames(depth->value, &frames);
	spec->max_stack = (uint16_t)frames;
	spec->stack = depth || attar_spec_get_option(spec, "stack");
	spec->untraced = attar_spec_get_option(spec, "untraced") != NULL;
	if (alias) {
		spec->alias = spec->name = alias->value;
		list->letters.at[i].named = true;
	}
	return r == 0 && cpus ? set_cpus(list, spec, cpus->value) : r;
}

int spec_error(const struct attar_event_spec *spec, unsigned column, int code)
{
	CHECK_ARG(spec, "spec");

	return spec->text ? excerpt_append(spec->text, column, code) : code;
}
