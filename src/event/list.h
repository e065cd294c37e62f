/* SPDX-License-Identifier: MIT */
/* A list of events under construction, and the parser that walks over the text it is made from. */
#ifndef EVENT_LIST_H
#define EVENT_LIST_H

#include "event/catalog.h"

enum { LIST_EVENTS_MAX = 16384, LIST_TEXT_MAX = 1 << 20 };

/* Modifier letters as they stand in the text. */
struct letters {
	const char *at;
	size_t n;
	bool named; /* the user named the event: the letters are not put behind its name */
};

struct list {
	struct attar_event_list pub; /* first: a struct attar_event_list * is this */
	VEC(struct attar_event_spec) specs;
	VEC(struct letters) letters;        /* one per spec */
	VEC(void *) owned;                  /* strings and arrays that specs point to */
	VEC(struct attar_format *) formats; /* those that no file of tracefs holds */
};

static inline struct list *list_of(struct attar_event_list *pub)
{
	return (struct list *)pub;
}

/* Makes p part of the list, which frees it at once when it cannot. p, or NULL. */
void *list_own(struct list *list, void *p);

/* A copy of n bytes as a string of the list; NULL when out of memory. */
char *list_text(struct list *list, const char *at, size_t n);

/* Copies the array of CPUs into the list and the spec. */
int list_cpus(struct list *list, struct attar_event_spec *spec, const int *cpus, size_t n);

struct parser {
	struct attar_catalog *catalog;
	struct list *list;
	const char *text; /* all of it */
	const char *p;    /* what comes next */
	unsigned item;
	const char *event; /* where the event at hand began */
	size_t first;      /* its first spec */
};

/* Fails with "events, column N: ..." for the place `at` in the text. */
int parser_fail(const struct parser *parser, const char *at, int code, const char *fmt, ...)
	ATTAR_PRINTF(4, 5);

/* The same with the arguments of a caller that has a `...` of its own. */
int parser_vfail(const struct parser *parser, const char *at, int code, const char *fmt,
	va_list args) ATTAR_PRINTF(4, 0);

/* Puts the column in front of an error text that is already there. */
int parser_context(const struct parser *parser, const char *at, int code);

/* A new spec for the event at hand, borrowed until the next. 0; -E2BIG when there are too many, -ENOMEM. */
int parser_add(
	struct parser *parser, enum attar_event_kind kind, struct attar_event_spec **ret_spec);

/*
 * The parts between slashes: "/filter/option/option=value/" at parser->p, which moves behind it.
 * Quotes and parentheses protect slashes. The first part is the filter.
 */
int parser_parts(struct parser *parser, const char **ret_filter,
	const struct attar_event_option **ret_options, size_t *ret_n);

/*
 * Makes the specs from `first` on one group; or several, one for each PMU among them: the kernel
 * groups no two PMUs, but lets software events join any.
 */
int group_make(struct parser *parser, size_t first);

/* Events of each kind that has a grammar of its own; parser->p stands behind "system:" or "mem:". */
int tracepoint_parse(struct parser *parser, const char *system, size_t n);
/* The tracepoints that system:name, or the pattern, stands for. */
int tracepoint_add(struct parser *parser, const char *system, const char *name);
/* Whether the kernel has tracepoints of the system that the first n bytes of word name. */
bool tracepoint_is_system(struct parser *parser, const char *word, size_t n);
int breakpoint_parse(struct parser *parser);

/* pmu/terms/ with the n bytes of the PMU's name at word; parser->p stands at the slash. */
int terms_parse(struct parser *parser, const char *word, size_t n);

/*
 * The event named by one word: generic, raw, or named by a PMU. Adds one spec for each PMU that
 * counts it. 1, 0 when no such event is known, or a negative errno with its sentence.
 */
int simple_event_parse(struct parser *parser, const char *word, size_t n);

/* The generic or raw event that a word stands for: the spec's kind, type, config, unit. */
bool simple_event_generic(const char *word, size_t n, struct attar_event_spec *spec);

/*
 * A name that only libpfm4 knows, with its own modifiers; parser->p moves behind it. 1, 0 when it
 * is not known either (or the library is not there), or a negative errno with its sentence.
 */
int pfm_parse(struct parser *parser, const char *word);

/* Fails with "no event" and what may have been meant. */
int simple_event_unknown(struct parser *parser, const char *word, size_t n);

#endif
