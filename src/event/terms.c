/* SPDX-License-Identifier: MIT */
#include "event/terms.h"

#include <ctype.h>
#include <stdio.h>

#include "attar/private/event.h"
#include "base/suggest.h"
#include "event/attributes.h"
#include "event/pmu.h"

enum { TERMS_MAX = 64 };

struct term {
	const char *at; /* in the text, for columns */
	const char *name;
	const char *value;    /* NULL: only the name */
	const char *value_at; /* in the text */
};

typedef VEC(struct term) term_list;

/* ---- parsing terms ---- */

static int cut_term(struct list *list, const char *at, const char *end, struct term *ret_term)
{
	const char *equal = memchr(at, '=', (size_t)(end - at)), *name_end = equal ? equal : end;
	struct term term = {.at = at};

	while (name_end > at && isspace((unsigned char)name_end[-1]))
		name_end--;
	term.name = list_text(list, at, (size_t)(name_end - at));
	if (equal) {
		const char *value = equal + 1;

		if (end - value >= 2 && (*value == '"' || *value == '\'') && end[-1] == *value) {
			value++;
			end--;
		}
		term.value = list_text(list, value, (size_t)(end - value));
		term.value_at = value;
	}
	if (!term.name || (equal && !term.value))
		return base_oom();
	*ret_term = term;
	return 0;
}

static int read_terms(struct parser *parser, term_list *ret_terms)
{
	const char *open = parser->p;

	do {
		const char *at = parser->p + 1, *end;
		struct term term;

		while (isspace((unsigned char)*at))
			at++;
		end = list_find(at, ",/");
		if (!end)
			return parser_fail(parser, open, -EINVAL,
				"missing closing '/'" ATTAR_FIX "the syntax is pmu/term=1,.../");
		parser->p = end;
		if (at == end && *end == '/' && !ret_terms->n)
			break;
		if (at == end || *at == '=')
			return parser_fail(parser, at, -EINVAL, "expected a term before '%c'", *at);
		if (ret_terms->n == TERMS_MAX)
			return parser_fail(parser, at, -EINVAL, "more than %d terms", TERMS_MAX);
		if (cut_term(parser->list, at, end, &term) < 0 || vec_push(ret_terms, term) < 0)
			return base_oom();
	} while (*parser->p == ',');
	parser->p++;
	return 0;
}

/* ---- building a spec ---- */

/* An event under construction. */
struct build {
	struct parser *parser;
	struct pmu *pmu; /* NULL: no PMU, only common terms */
	struct attar_event_spec spec;
	uint64_t words[PMU_WORDS];
	const char *name;         /* set by name=; NULL: not set */
	const struct term *field; /* the last event or bit field that set config; NULL: none */
	const char *missing;      /* a required parameter that is not given; NULL: none */
	term_list *terms;
	const struct parts *parts; /* the attributes after the terms; NULL: none */
	VEC(struct attar_event_option) options;
};

static int bad_term(struct build *b, const struct term *term, int code, const char *fmt, ...)
	ATTAR_PRINTF(4, 5);

static int bad_term(struct build *b, const struct term *term, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	code = parser_vfail(b->parser, term->at, code, fmt, args);
	va_end(args);
	return code;
}

/* A term without a value is 1. */
static int term_number(struct build *b, const struct term *term, uint64_t *ret_value)
{
	if (!term->value) {
		*ret_value = 1;
		return 0;
	}
	if (parse_u64(term->value, ret_value) < 0)
		return parser_context(
			b->parser, term->at, attar_context(-EINVAL, "%s", term->name));
	return 0;
}

static int put_field(struct build *b, const struct term *term, const struct pmu_format *format)
{
	uint64_t value;
	int r = term_number(b, term, &value);

	if (r < 0)
		return r;
	if (pmu_format_put(format, value, b->words) < 0)
		return bad_term(b, term, -ERANGE, "%s=%s: %s's '%s' has %u bits", term->name,
			term->value, b->pmu->name, CLIP(term->name), format->bits);
	return 0;
}

static bool is_given(term_list *terms, const char *name)
{
	vec_each (terms, term)
		if (term->value && !strcmp(term->name, name))
			return true;
	return false;
}

/* Applies one "term=value" of a named event in sysfs. at: the term that the user wrote. */
static int put_event_term(struct build *b, const struct term *at, char *text)
{
	char *value = strchr(text, '=');
	struct term term = {.at = at->at, .name = text};
	const struct pmu_format *format;
	uint64_t number;
	int r;

	if (value)
		*value++ = '\0';
	term.value = value;
	if (value && !strcmp(value, "?")) {
		if (!is_given(b->terms, text) && !b->missing)
			b->missing = list_text(b->parser->list, text, strlen(text));
		return 0;
	}
	format = pmu_term(b->pmu, text);
	if (format)
		return put_field(b, &term, format);
	if (strncmp(text, "config", 6) || text[6 + strspn(text + 6, "1234")])
		return bad_term(b, at, -EBADMSG,
			"%s/%s/ in sysfs uses the term '%s', which the PMU's format does not have",
			b->pmu->name, at->name, CLIP(text));
	r = term_number(b, &term, &number);
	if (r == 0)
		b->words[text[6] ? text[6] - '0' : 0] |= number;
	return r;
}

static int put_event(struct build *b, const struct term *term)
{
	struct pmu_event event;
	char *save = NULL;
	int r = pmu_event_read(b->pmu, term->name, &event);

	if (r < 0)
		return parser_context(b->parser, term->at, r);
	for (char *part = strtok_r(event.terms, ",", &save); part && r == 0;
		part = strtok_r(NULL, ",", &save))
		r = put_event_term(b, term, part);
	if (r == 0) {
		b->spec.scale = event.scale;
		b->spec.per_package = event.per_package;
		b->spec.snapshot = event.snapshot;
		if (event.unit && !(b->spec.unit = list_text(
					    b->parser->list, event.unit, strlen(event.unit))))
			r = base_oom();
	}
	pmu_event_done(&event);
	return r;
}

/* Terms common to all PMUs. Returns 1, 0 if the term is not one of them, or a negative errno. */
static int put_common(struct build *b, const struct term *term)
{
	static const char *const numbers[] = {"config", "config1", "config2", "config3", "config4"};
	uint64_t value;
	int r;

	if (!strcmp(term->name, "name")) {
		if (!term->value || !term->value[0])
			return bad_term(b, term, -EINVAL, "name= is empty");
		b->name = term->value;
		return 1;
	}
	for (size_t i = 0; b->pmu && i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(term->name, numbers[i])) {
			r = term_number(b, term, &value);
			b->words[i] = r == 0 ? value : 0;
			return r < 0 ? r : 1;
		}
	if (strcmp(term->name, "period") && strcmp(term->name, "freq"))
		return 0;
	r = term_number(b, term, &value);
	if (r == 0 && !value)
		r = bad_term(b, term, -EINVAL, "%s must be at least 1", term->name);
	if (r < 0)
		return r;
	b->spec.period = term->name[0] == 'p' ? value : 0;
	b->spec.freq = term->name[0] == 'f' ? value : 0;
	return 1;
}

static const char *const option_names[] = {"call-graph", "stack-size", "max-events", "time",
	"inherit", "no-inherit", "overwrite", "no-overwrite", "percore", "aux-output", "aux-action",
	"aux-sample-size", "branch_type"};

/* Adds an attribute. Returns 1, 0 if the term is not one, or a negative errno. */
static int put_option(struct build *b, const struct term *term)
{
	struct attar_event_option option = {.name = term->name,
		.value = term->value,
		.column = parser_column(b->parser, term->at),
		.value_column = term->value ? parser_column(b->parser, term->value_at) : 0};
	int r = 0;

	if (attribute_is_known(term->name)) {
		r = attribute_check(b->parser, &option);
		if (r == 0)
			r = attribute_check_repeated(
				b->parser, b->options.at, b->options.n, &option);
		return r == 0 && vec_push(&b->options, option) == 0 ? 1 : r < 0 ? r : -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(option_names); i++)
		if (!strcmp(term->name, option_names[i]))
			return vec_push(&b->options, option) < 0 ? -ENOMEM : 1;
	return 0;
}

static int unknown_term(struct build *b, const struct term *term)
{
	static const char *const common[] = {
		"config", "config1", "config2", "config3", "config4", "name", "period", "freq"};
	dir_names words _cleanup_(dir_names_done) = {0};
	struct suggest s = {.word = term->name};
	const char *name, *value;

	if (b->pmu && pmu_event_names(b->pmu, &words) == 0)
		pmu_term_names(b->pmu, &words);
	vec_each (&words, word)
		suggest_offer(&s, *word);
	for (size_t i = b->pmu ? 0 : 5; i < ARRAY_SIZE(common); i++)
		suggest_offer(&s, common[i]);
	for (size_t i = 0; i < ARRAY_SIZE(option_names); i++)
		suggest_offer(&s, option_names[i]);
	for (size_t i = 0; (name = event_attribute(i, &value)); i++)
		suggest_offer(&s, name);
	if (!s.best)
		return bad_term(b, term, -ENOENT, "%s%s has no event or term '%s'",
			b->pmu ? "PMU " : "a generic event", b->pmu ? b->pmu->name : "",
			CLIP(term->name));
	return bad_term(b, term, -ENOENT,
		"%s%s has no event or term '%s'" ATTAR_FIX "did you mean '%s'?",
		b->pmu ? "PMU " : "a generic event", b->pmu ? b->pmu->name : "", CLIP(term->name),
		s.best);
}

/*
 * A generic event name between the slashes of a core PMU. If there are several core PMUs, the upper
 * half of config selects one (since 5.13); for raw events the type does.
 */
static bool put_generic(struct build *b, const struct term *term)
{
	struct attar_event_spec like = {.unit = "", .scale = 1};

	if (term->value || !b->pmu || !b->pmu->pub.core ||
		!simple_event_generic(term->name, strlen(term->name), &like) ||
		like.kind == ATTAR_EVENT_SOFTWARE)
		return false;
	b->words[0] = like.config;
	if (like.kind == ATTAR_EVENT_RAW)
		return true;
	b->spec.kind = like.kind;
	b->spec.type = like.type;
	if (pmu_core(b->parser->catalog, 1))
		b->words[0] |= (uint64_t)b->pmu->pub.type << 32;
	return true;
}

static int put_term(struct build *b, const struct term *term)
{
	const struct pmu_format *format;
	int r;

	if (b->pmu && !term->value && pmu_has_event(b->pmu, term->name)) {
		b->field = term;
		return put_event(b, term);
	}
	format = b->pmu ? pmu_term(b->pmu, term->name) : NULL;
	if (format) {
		b->field = format->word == 0 ? term : b->field;
		return put_field(b, term, format);
	}
	r = put_common(b, term);
	if (r == 0)
		r = put_option(b, term);
	if (r != 0)
		return r < 0 ? r : 0;
	return put_generic(b, term) ? 0 : unknown_term(b, term);
}

/* ---- adding a spec to the list ---- */

static int name_spec(struct build *b, const char *word, size_t word_n, const char *text, size_t n)
{
	struct list *list = b->parser->list;
	char *name;

	if (b->name) {
		b->spec.name = b->name;
		return 0;
	}
	if (!b->pmu && !n) {
		b->spec.name = list_text(list, word, word_n);
		return b->spec.name ? 0 : base_oom();
	}
	if (asprintf(&name, "%.*s/%.*s/", b->pmu ? (int)strlen(b->pmu->name) : (int)word_n,
		    b->pmu ? b->pmu->name : word, (int)n, text) < 0)
		return base_oom();
	b->spec.name = list_own(list, name);
	return b->spec.name ? 0 : base_oom();
}

/* Adds the attributes after the terms to those among them. */
static int add_parts(struct build *b)
{
	int r = 0;

	for (size_t i = 0; b->parts && r == 0 && i < b->parts->n_options; i++) {
		r = attribute_check_repeated(
			b->parser, b->options.at, b->options.n, &b->parts->options[i]);
		if (r == 0)
			r = vec_push(&b->options, b->parts->options[i]);
	}
	return r;
}

static int terms_finish(struct build *b)
{
	struct list *list = b->parser->list;
	struct attar_event_spec *spec, added;
	int r = add_parts(b);

	if (r == 0)
		r = parser_add(b->parser, b->spec.kind, &spec);
	if (r < 0)
		return r;
	added = *spec;
	*spec = b->spec;
	spec->item = added.item;
	spec->column = added.column;
	spec->text = added.text;
	spec->group = -1;
	spec->config = b->words[0];
	spec->config1 = b->words[1];
	spec->config2 = b->words[2];
	spec->config3 = b->words[3];
	spec->config4 = b->words[4];
	list->letters.at[list->specs.n - 1].named = b->name != NULL;
	spec->options = b->options.at;
	spec->n_options = b->options.n;
	if (b->options.n && !list_own(list, TAKE_PTR(b->options.at)))
		return base_oom();
	r = attributes_apply(b->parser, list->specs.n - 1);
	if (r < 0 || !b->pmu)
		return r;
	spec->pmu = list_text(list, b->pmu->name, strlen(b->pmu->name));
	spec->system_wide = b->pmu->pub.system_wide;
	return spec->pmu ? list_cpus(list, spec, b->pmu->cpus.at, b->pmu->cpus.n) : base_oom();
}

/* Builds an event and adds it; word/text/ is how it was written. */
static int build(struct build *b, const char *word, size_t word_n, const char *text, size_t n)
{
	int r = 0;

	if (b->pmu) {
		b->spec.kind = ATTAR_EVENT_PMU;
		b->spec.type = b->pmu->pub.type;
		b->spec.unit = "";
		b->spec.scale = 1;
	}
	vec_each (b->terms, term)
		if (r == 0)
			r = put_term(b, term);
	if (r == 0 && b->field && b->spec.type != (b->pmu ? b->pmu->pub.type : 0))
		r = bad_term(b, b->field, -EINVAL,
			"'%s' cannot be combined with a generic event" ATTAR_FIX
			"use the PMU's raw terms instead",
			CLIP(b->field->name));
	if (r == 0 && b->missing)
		r = parser_fail(b->parser, b->parser->event, -EINVAL,
			"%s/%.*s/ needs a value of '%s'" ATTAR_FIX "%s=VALUE", b->pmu->name, (int)n,
			text, b->missing, b->missing);
	if (r == 0)
		r = name_spec(b, word, word_n, text, n);
	if (r == 0)
		r = terms_finish(b);
	vec_done(&b->options);
	return r;
}

int terms_add_word(struct parser *parser, struct pmu *pmu, const char *word, size_t n)
{
	char *name = list_text(parser->list, word, n);
	struct term term = {.at = word, .name = name};
	term_list terms = {.at = &term, .n = 1};
	struct build b = {.parser = parser, .pmu = pmu, .terms = &terms};
	int r = name ? build(&b, word, n, word, n) : base_oom();

	return r < 0 ? r : 1;
}

static int unknown_pmu(struct parser *parser, const char *name)
{
	struct suggest s = {.word = name};

	vec_each (&parser->catalog->pmus, pmu)
		suggest_offer(&s, (*pmu)->name);
	if (s.best)
		return parser_fail(parser, parser->event, -ENOENT,
			"no PMU '%s'" ATTAR_FIX "did you mean '%s'?", CLIP(name), s.best);
	return parser_fail(parser, parser->event, -EOPNOTSUPP,
		"this machine has no PMU '%s'" ATTAR_FIX "see 'attar list'", CLIP(name));
}

/* cycles/period=1000/ on hybrid CPUs: cpu_core/cycles,period=1000/ and so on for each core PMU. */
static int add_generic_per_core(struct parser *parser, term_list *terms, const struct parts *parts,
	const char *name, const char *text, size_t n)
{
	term_list all = {0};
	char *full;
	struct pmu *pmu;
	int r = vec_push(&all, (struct term){.at = parser->event, .name = name});

	vec_each (terms, term)
		if (r == 0)
			r = vec_push(&all, *term);
	if (r < 0 || asprintf(&full, "%s%s%.*s", name, n ? "," : "", (int)n, text) < 0) {
		vec_done(&all);
		return base_oom();
	}
	for (size_t i = 0; r == 0 && (pmu = pmu_core(parser->catalog, i)); i++) {
		struct build b = {.parser = parser, .pmu = pmu, .terms = &all, .parts = parts};

		r = build(&b, name, strlen(name), full, strlen(full));
	}
	free(full);
	vec_done(&all);
	return r < 0 ? r : 1;
}

/*
 * cycles/period=1000/: a generic event with common terms. Returns 0 if the name is not a generic
 * event.
 */
static int add_generic(struct parser *parser, term_list *terms, const struct parts *parts,
	const char *name, const char *text, size_t n)
{
	struct attar_event_spec like = {.unit = "", .scale = 1};
	struct build b = {.parser = parser, .terms = terms, .parts = parts, .spec = like};
	int r;

	if (!simple_event_generic(name, strlen(name), &b.spec))
		return 0;
	if (b.spec.kind != ATTAR_EVENT_SOFTWARE && pmu_core(parser->catalog, 1))
		return add_generic_per_core(parser, terms, parts, name, text, n);
	b.words[0] = b.spec.config;
	r = build(&b, name, strlen(name), text, n);
	return r < 0 ? r : 1;
}

/*
 * Adds the event for each PMU that matches the name; if several match, PMUs without it are skipped.
 */
static int add_each(struct parser *parser, const char *name, term_list *terms,
	const struct parts *parts, const char *text, size_t n)
{
	bool several = pmu_match(parser->catalog, name, 1);
	struct pmu *pmu;
	int r = 0;

	for (size_t i = 0; (pmu = pmu_match(parser->catalog, name, i)); i++) {
		struct build b = {.parser = parser, .pmu = pmu, .terms = terms, .parts = parts};

		r = build(&b, name, strlen(name), text, n);
		if (r < 0 && (!several || r == -ENOMEM))
			return r;
	}
	return parser->list->specs.n > parser->first ? 1 : r;
}

/* pmu/terms/attribute/attribute/, as opposed to pmu/terms/letters. */
static int read_attributes(struct parser *parser, struct parts *ret_parts)
{
	const char *end = list_find(parser->p, ",/}");

	*ret_parts = (struct parts){0};
	if (!end || *end != '/' || *parser->p == ':' || isspace((unsigned char)*parser->p))
		return 0;
	parser->p--;
	return parts_parse(parser, false, ret_parts);
}

int terms_parse(struct parser *parser, const char *word, size_t n)
{
	char *name = list_text(parser->list, word, n);
	const char *text = parser->p + 1;
	term_list terms = {0};
	struct parts parts;
	size_t text_n;
	int r;

	if (!name)
		return base_oom();
	r = read_terms(parser, &terms);
	text_n = (size_t)(parser->p - 1 - text);
	if (r == 0)
		r = read_attributes(parser, &parts);
	if (r == 0)
		r = add_each(parser, name, &terms, &parts, text, text_n);
	if (r == 0)
		r = add_generic(parser, &terms, &parts, name, text, text_n);
	if (r == 0)
		r = unknown_pmu(parser, name);
	vec_done(&terms);
	return r < 0 ? r : 0;
}
