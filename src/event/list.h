/* SPDX-License-Identifier: MIT */
/* An event list under construction, and the parser of event strings. */
#ifndef EVENT_LIST_H
#define EVENT_LIST_H

#include "event/catalog.h"

enum { LIST_EVENTS_MAX = 16384, LIST_TEXT_MAX = 1 << 20 };

/* Modifier letters in the event string. */
struct letters {
	const char *at;
	size_t n;
	bool named; /* the user named the event: letters are not appended to the name */
};

struct list {
	struct attar_event_list pub; /* first: a struct attar_event_list * is this */
	VEC(struct attar_event_spec) specs;
	VEC(struct letters) letters;        /* one per spec */
	VEC(void *) owned;                  /* strings and arrays that specs point to */
	VEC(struct attar_format *) formats; /* formats that are not from tracefs */
	VEC(int) files;                     /* see list_file() */
	char *text;                         /* the event string */
};

static inline struct list *list_of(struct attar_event_list *pub)
{
	return (struct list *)pub;
}

/* Transfers ownership of p to the list. Returns p; frees p and returns NULL if out of memory. */
void *list_own(struct list *list, void *p);

/* Copies n bytes to a string owned by the list; NULL if out of memory. */
char *list_text(struct list *list, const char *at, size_t n);

/*
 * Keeps a file open with O_PATH as long as the list, which owns fd from now on. Returns
 * "/proc/self/fd/N": this file for attar and the kernel, even if another user puts another file at
 * its path. NULL, with an error message, if fd is negative (errno is why) or out of memory.
 */
const char *list_file(struct list *list, int fd);

/*
 * The first character of `ends` in text outside quotes, parentheses and braces; NULL if there is
 * none. A backslash in quotes escapes the next character.
 */
const char *list_find(const char *text, const char *ends);

/*
 * The quote that closes the one at `open`, before `end` (NULL: the end of the text); NULL if there
 * is none. A backslash escapes the next character.
 */
const char *quote_close(const char *open, const char *end);

/* Copies the text in quotes, without backslashes before such quotes. NULL if out of memory. */
char *quote_text(const char *open, const char *close);

/* The quote or opening parenthesis or brace that is not closed in text; NULL: all are closed. */
const char *list_unclosed(const char *text);

/* Copies the array of CPUs to the spec; the list owns the copy. */
int list_cpus(struct list *list, struct attar_event_spec *spec, const int *cpus, size_t n);

struct parser {
	struct attar_catalog *catalog;
	struct list *list;
	const char *text; /* all of it */
	const char *p;    /* next character */
	unsigned item;
	const char *event;    /* start of the current event */
	size_t first;         /* its first spec */
	struct letters early; /* of a probe, before its filter and attributes */
	const char *wrong;    /* the position of the last error; NULL: none */
};

/* Fails because of the text at position `at`, which the error message then shows. */
int parser_fail(struct parser *parser, const char *at, int code, const char *fmt, ...)
	ATTAR_PRINTF(4, 5);

/* The same with a va_list. */
int parser_vfail(struct parser *parser, const char *at, int code, const char *fmt, va_list args)
	ATTAR_PRINTF(4, 0);

/* The same with the current error message. */
int parser_context(struct parser *parser, const char *at, int code);

/* The column of a position in the text, from 1. */
unsigned parser_column(const struct parser *parser, const char *at);

/*
 * Adds a spec for the current event; borrowed until the next call. Returns 0; -E2BIG if there are
 * too many, -ENOMEM.
 */
int parser_add(
	struct parser *parser, enum attar_event_kind kind, struct attar_event_spec **ret_spec);

/* The same for an event of tracefs with this format, which the spec borrows. */
int parser_add_format(struct parser *parser, enum attar_event_kind kind,
	const struct attar_format *format, struct attar_event_spec **ret_spec);

/* What follows the name of an event between slashes. */
struct parts {
	const char *filter; /* NULL: none */
	unsigned filter_column;
	const struct attar_event_option *options; /* the attributes */
	size_t n_options;
};

/*
 * Parses "/filter/attribute/attribute=value/" at parser->p, which is advanced past it. Slashes
 * within quotes, parentheses and braces are not separators. Without a '/' at parser->p, there are
 * no parts. has_filter: the first part is the filter, or the command line of a profiler.
 */
int parts_parse(struct parser *parser, bool has_filter, struct parts *ret_parts);

/* Whether the attributes have `optional`: an event that does not exist is left out. */
bool parts_are_optional(const struct parts *parts);

/* Sets filter and attributes of all specs of the current event. */
int parts_apply(struct parser *parser, const struct parts *parts);

/*
 * Groups the specs from `first` on: one group per PMU, because the kernel does not allow events of
 * different PMUs in a group. Software events can be in any group.
 */
int group_make(struct parser *parser, size_t first);

/*
 * A probe or an event with an alias, by the name that it has in the recording. Returns 1, 0 if the
 * text does not begin with such a name, or a negative errno.
 */
int recorded_probe_parse(struct parser *parser);

/*
 * Parsers for event kinds with their own grammar; parser->p is after "system:" or "mem:".
 */
int tracepoint_parse(struct parser *parser, const char *system, size_t n);
/* Adds the tracepoint system:name, or all that match the pattern. */
int tracepoint_add(struct parser *parser, const char *system, const char *name);
/* Whether the first n bytes of word are the name of a tracepoint system. */
bool tracepoint_is_system(struct parser *parser, const char *word, size_t n);
int breakpoint_parse(struct parser *parser);

/*
 * Parses PROFILER or PROFILER/COMMAND LINE/attributes/, where the n bytes at word are its name.
 * Returns 1, 0 if the catalog does not have such a profiler, or a negative errno with an error
 * message.
 */
int profiler_event_parse(struct parser *parser, const char *word);

/* pmu/terms/ where the n bytes at word are the PMU's name; parser->p is at the slash. */
int terms_parse(struct parser *parser, const char *word, size_t n);

/*
 * Parses an event of one word: generic, raw, or a PMU's named event. Adds one spec for each PMU
 * that has it. Returns 1, 0 if the event is unknown, or a negative errno with an error message.
 */
int simple_event_parse(struct parser *parser, const char *word, size_t n);

/*
 * Sets kind, type, config and unit of the spec for a generic or raw event; false if it is neither.
 */
bool simple_event_generic(const char *word, size_t n, struct attar_event_spec *spec);

/*
 * Parses a libpfm4 event name with its modifiers; parser->p is advanced past it. Returns 1, 0 if it
 * is unknown (or the library is not installed), or a negative errno with an error message.
 */
int pfm_parse(struct parser *parser, const char *word);

/* Fails with "no event" and suggests a similar name. */
int simple_event_unknown(struct parser *parser, const char *word, size_t n);

#endif
