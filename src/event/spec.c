/* SPDX-License-Identifier: MIT */
/*
 * The grammar of event strings, as in perf:
 *
 *	list  := item { ',' item }
 *	item  := event | [name ':'] '{' event { ',' event } '}' [':' letters]
 *	event := name [':' letters]		generic, raw (r1a8, 4:0x1a8), of a PMU
 *	       | name ':' letters '/' terms '/' [attributes]	generic
 *	       | system ':' name [parts] [':' letters]
 *	       | system ':' name ':' letters parts
 *	       | pmu '/' terms '/' [letters | attributes] [':' letters]
 *	       | 'mem:' addr ['/' len] [':' rwx] ['/' attributes] [':' letters]
 *	       | probe [parts] [':' letters]
 *	       | probe ':' letters parts
 *	       | profiler ['/' command line '/' attributes]
 *	probe := ('kprobe:' | 'kretprobe:' | 'uprobe:' | 'uretprobe:') place
 *	       | 'usdt:' [file ':'] provider ':' name
 *	       | 'sdt_' provider ':' name
 *	parts := '/' filter '/' attributes
 *	attributes := { name ['=' value] '/' }
 *
 * The string is parsed in one pass; each kind of event has its own source file.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/check_arg.h"
#include "base/excerpt.h"
#include "base/parse.h"
#include "event/list.h"
#include "event/modifier.h"
#include "event/pmu.h"
#include "event/probe.h"
#include "event/usdt_event.h"

static void skip_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->p))
		parser->p++;
}

/* The length of the name at the start of an event. */
static size_t word_span(const char *p)
{
	return strcspn(p, ",:/{} \t\n");
}

static bool is(const char *word, size_t n, const char *text)
{
	return strlen(text) == n && !memcmp(word, text, n);
}

/* ---- modifiers ---- */

/* Takes ":letters", or the letters directly after a PMU's closing slash. */
static int letters_after(struct parser *parser, struct letters *ret_letters)
{
	const char *bad, *at = parser->p;
	bool colon = *at == ':';
	size_t n = modifier_span(at + colon);

	*ret_letters = (struct letters){.at = at + colon, .n = n};
	if (!colon && (at == parser->text || at[-1] != '/')) {
		ret_letters->n = 0;
		return 0;
	}
	bad = modifier_unknown(at + colon, n);
	if (bad)
		return parser_fail(parser, bad, -EINVAL,
			"'%c' is not a modifier" ATTAR_FIX "use one of " MODIFIER_LETTERS
			" (u user, k kernel, p precise ...)",
			*bad);
	if (colon && !n)
		return parser_fail(
			parser, at, -EINVAL, "expected modifiers (such as u or k) after ':'");
	parser->p += colon + n;
	return 0;
}

/* ---- one event ---- */

/* "4:0x1a8" */
static int numeric(struct parser *parser, const char *word, size_t n)
{
	char type_text[16], config_text[32];
	size_t config_n = modifier_span(word + n + 1);
	struct attar_event_spec *spec;
	uint64_t type, config;
	int r;

	parser->p = word + n + 1 + config_n;
	if (n >= sizeof(type_text) || config_n >= sizeof(config_text))
		return parser_fail(parser, word, -EINVAL, "TYPE:CONFIG is too large");
	memcpy(type_text, word, n);
	type_text[n] = '\0';
	memcpy(config_text, word + n + 1, config_n);
	config_text[config_n] = '\0';
	if (parse_u64(type_text, &type) < 0 || parse_u64(config_text, &config) < 0)
		return parser_context(parser, word, attar_context(-EINVAL, "TYPE:CONFIG"));
	if (type > UINT32_MAX)
		return parser_fail(parser, word, -EINVAL, "TYPE:CONFIG is too large");
	r = parser_add(parser, ATTAR_EVENT_RAW, &spec);
	if (r < 0)
		return r;
	spec->type = (uint32_t)type;
	spec->config = config;
	spec->name = list_text(parser->list, word, n + 1 + config_n);
	return spec->name ? 0 : base_oom();
}

/* "usdt", or "sdt_PROVIDER" as perf calls it, unless there are tracepoints of that name. */
static bool is_usdt(struct parser *parser, const char *word, size_t n)
{
	return is(word, n, "usdt") ||
	       (n > 4 && !memcmp(word, "sdt_", 4) && !tracepoint_is_system(parser, word, n));
}

static int colon(struct parser *parser, const char *word, size_t n)
{
	parser->p = word + n + 1;
	if (is_usdt(parser, word, n))
		return *word == 'u' ? usdt_parse(parser) : usdt_parse_sdt(parser, word + 4, n - 4);
	if (is(word, n, "mem"))
		return breakpoint_parse(parser);
	if (probe_word(word, n))
		return probe_parse(parser, word, n);
	if (n && isdigit((unsigned char)word[0]))
		return numeric(parser, word, n);
	return tracepoint_parse(parser, word, n);
}

/*
 * system:name, if it is not a probe, breakpoint or number. CPU vendors' event names have colons
 * too: they are looked up if there is no such tracepoint; if that fails, the tracepoint's error
 * message is kept. Existing tracepoint systems are not looked up in libpfm4, which also supports
 * tracepoints if debugfs is mounted, but has worse error messages.
 */
static int tracepoint_or_raw(struct parser *parser, const char *word, size_t n)
{
	char sentence[512];
	int r = word[n + 1] == ':' ? -ENOENT : colon(parser, word, n), raw;
	bool own = is(word, n, "mem") || probe_word(word, n) || is_usdt(parser, word, n) ||
		   (n && isdigit((unsigned char)word[0]));

	if (own || (r != -ENOENT && r != -ENODEV && r != -EOPNOTSUPP))
		return r;
	if (word[n + 1] != ':' && tracepoint_is_system(parser, word, n))
		return r;
	snprintf(sentence, sizeof(sentence), "%s", attar_error());
	raw = pfm_parse(parser, word);
	if (raw != 0)
		return raw;
	if (word[n + 1] == ':')
		return simple_event_unknown(parser, word, strcspn(word, ",/{} \t\n"));
	return attar_fail(r, "%s", sentence);
}

static int event_body(struct parser *parser)
{
	const char *word = parser->p;
	size_t n = word_span(word);
	char next = word[n];
	int r;

	r = recorded_probe_parse(parser);
	if (r != 0)
		return r < 0 ? r : 0;
	if (!n && !next)
		return parser_fail(parser, word, -EINVAL, "expected an event at the end");
	if (!n && next != ':')
		return parser_fail(parser, word, -EINVAL, "expected an event before '%c'", next);
	parser->p = word + n;
	r = profiler_event_parse(parser, word);
	if (r != 0)
		return r < 0 ? r : 0;
	if (next == '/')
		return terms_parse(parser, word, n);
	r = simple_event_parse(parser, word, n);
	if (r == 0 && next == ':')
		r = tracepoint_or_raw(parser, word, n);
	else if (r == 0 && (r = pfm_parse(parser, word)) == 0)
		r = simple_event_unknown(parser, word, n);
	return r < 0 ? r : 0;
}

/*
 * page-faults:k//stack/, sched:sched_switch:k//stack/: the letters may also be before terms, filter
 * and attributes. A generic event is added again, by its terms.
 */
static int late_parts(struct parser *parser, const struct letters *letters)
{
	size_t n = word_span(parser->event), first = parser->first;
	struct list *list = parser->list;
	struct attar_event_spec like;
	struct parts parts;
	int r;

	if (*parser->p != '/' || !letters->n ||
		memchr(parser->event, '/', (size_t)(letters->at - parser->event)))
		return 0;
	if (parser->event + n + 1 == letters->at && simple_event_generic(parser->event, n, &like)) {
		list->specs.n = list->letters.n = first;
		return terms_parse(parser, parser->event, n);
	}
	if (list->specs.n == first || list->specs.at[first].kind != ATTAR_EVENT_TRACEPOINT)
		return 0;
	r = parts_parse(parser, true, &parts);
	return r < 0 ? r : parts_apply(parser, &parts);
}

static int event(struct parser *parser)
{
	struct letters letters;
	int r;

	skip_blanks(parser);
	parser->event = parser->p;
	parser->first = parser->list->specs.n;
	parser->early = (struct letters){0};
	r = event_body(parser);
	letters = parser->early;
	if (r == 0 && !letters.n)
		r = letters_after(parser, &letters);
	if (r == 0)
		r = late_parts(parser, &letters);
	if (r < 0)
		return r;
	for (size_t i = parser->first; i < parser->list->specs.n; i++) {
		parser->list->letters.at[i].at = letters.at;
		parser->list->letters.at[i].n = letters.n;
	}
	parser->item++;
	skip_blanks(parser);
	return 0;
}

/* ---- groups and lists ---- */

/* The PMU's maximum precision; 3 if it does not report one. */
static void be_precise(struct parser *parser, struct attar_event_spec *spec)
{
	const struct attar_pmu *pmu = NULL;
	struct pmu *core =
		spec->pmu ? pmu_match(parser->catalog, spec->pmu, 0) : pmu_core(parser->catalog, 0);
	int64_t max = 3;

	if (core)
		pmu = &core->pub;
	if (!pmu || attar_pmu_cap(pmu, "max_precise", &max) < 0 || max < 0 || max > 3)
		max = 3;
	spec->precise_ip = (uint8_t)max;
}

static int spec_finish(struct parser *parser, size_t first, struct letters of_group)
{
	struct list *list = parser->list;

	for (size_t i = first; i < list->specs.n; i++) {
		struct attar_event_spec *spec = &list->specs.at[i];
		int r = modifier_apply(list, spec, list->letters.at[i], of_group);

		if (r < 0)
			return parser_context(parser, parser->text + spec->column - 1, r);
		if (spec->precise_max)
			be_precise(parser, spec);
	}
	return 0;
}

static int group(struct parser *parser)
{
	size_t first = parser->list->specs.n;
	const char *open = parser->p++;
	struct letters letters;
	int r;

	for (;;) {
		r = event(parser);
		if (r < 0)
			return r;
		if (*parser->p == '}')
			break;
		if (*parser->p != ',')
			return parser_fail(parser, *parser->p ? parser->p : open, -EINVAL,
				*parser->p ? "expected ',' or '}'" : "missing '}' for this '{'");
		parser->p++;
	}
	parser->p++;
	r = letters_after(parser, &letters);
	if (r < 0)
		return r;
	r = group_make(parser, first);
	return r < 0 ? r : spec_finish(parser, first, letters);
}

/* A group may have a name, as in perf; it is ignored. */
static void skip_group_name(struct parser *parser)
{
	size_t n = word_span(parser->p);

	if (n && parser->p[n] == ':' && parser->p[n + 1] == '{')
		parser->p += n + 1;
}

static int item(struct parser *parser)
{
	size_t first = parser->list->specs.n;
	int r;

	skip_blanks(parser);
	skip_group_name(parser);
	if (*parser->p == '{')
		return group(parser);
	r = event(parser);
	return r < 0 ? r : spec_finish(parser, first, (struct letters){.at = parser->p});
}

static int items(struct parser *parser)
{
	for (;;) {
		int r = item(parser);

		if (r < 0)
			return r;
		skip_blanks(parser);
		if (!*parser->p)
			return 0;
		if (*parser->p != ',')
			return parser_fail(parser, parser->p, -EINVAL,
				"expected ',' before '%.20s'", parser->p);
		parser->p++;
	}
}

/* Whether the event string is the cause of an error, not the system. */
static bool is_in_text(int error)
{
	return error != -ENOMEM && error != -ECANCELED && error != -EACCES && error != -EPERM &&
	       error != -ENODEV;
}

int attar_event_list_parse(
	struct attar_catalog *catalog, const char *text, struct attar_event_list **ret_list)
{
	CHECK_ARG(catalog, "catalog");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_list, "ret_list");

	struct parser parser = {.catalog = catalog, .text = text, .p = text};
	int r;

	if (strnlen(text, LIST_TEXT_MAX) == LIST_TEXT_MAX)
		return attar_fail(
			-E2BIG, "the event string is longer than %d bytes", LIST_TEXT_MAX);
	parser.list = calloc(1, sizeof(*parser.list));
	if (!parser.list || !(parser.list->text = strdup(text))) {
		free(parser.list);
		return base_oom();
	}
	r = items(&parser);
	if (r < 0) {
		if (parser.wrong && is_in_text(r))
			r = excerpt_append(text, parser_column(&parser, parser.wrong), r);
		attar_event_list_free(&parser.list->pub);
		return r;
	}
	parser.list->pub.at = parser.list->specs.at;
	parser.list->pub.n = parser.list->specs.n;
	*ret_list = &parser.list->pub;
	return 0;
}
