/* SPDX-License-Identifier: MIT */
/*
 * attar/option.h - the options of a profiler: a table that names a member of the profiler's struct
 * for each option. A run parses the values (attar_run_set(), attar/run.h).
 *
 *	struct tick { uint64_t period; bool graph; };
 *
 *	static const struct attar_option options[] = {
 *		ATTAR_TIME(struct tick, period, 0, "period", "TIME", "time between ticks"),
 *		ATTAR_FLAG(struct tick, graph, 'g', "call-graph", "with stacks"),
 *		{0}};
 */
#ifndef ATTAR_OPTION_H
#define ATTAR_OPTION_H

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum attar_option_type {
	ATTAR_OPTION_FLAG,    /* bool; no value */
	ATTAR_OPTION_SWITCH,  /* int: -1 not given, 1 --name, 0 --no-name */
	ATTAR_OPTION_COUNT,   /* uint64_t */
	ATTAR_OPTION_TIME,    /* uint64_t, ns; a bare number counts in `bare` ns */
	ATTAR_OPTION_SIZE,    /* uint64_t, bytes */
	ATTAR_OPTION_PERCENT, /* double */
	ATTAR_OPTION_TEXT,   /* const char *; owned by the run; if repeated, the last one is used */
	ATTAR_OPTION_LIST,   /* struct attar_texts; each occurrence adds one */
	ATTAR_OPTION_JOINED, /* const char *; owned by the run; values are joined with commas */
};

struct attar_texts {
	const char **at; /* owned by the run */
	size_t n;
};

struct attar_option {
	char letter;       /* 0: none */
	const char *name;  /* long name, without -- */
	const char *value; /* name of the value in help; NULL for a flag or switch */
	/* One line, no full stop; NULL: not listed, as an old name, or one for presets only. */
	const char *help;
	enum attar_option_type type;
	size_t offset;        /* of the member in the struct of the table */
	uint64_t bare;        /* TIME: ns per unit of a number without unit */
	uint64_t min, max;    /* COUNT, TIME, SIZE: limits, 0: none; PERCENT: 0: 0 and 100 */
	const char *complete; /* of the value: "file", "pid", "event", ...; NULL: none */
	/*
	 * The value of --NAME alone; --NAME=VALUE gives another, unless `value` is NULL. NULL: a
	 * value is required.
	 */
	const char *implied;
};

/* Options under one help heading. */
struct attar_option_group {
	const char *title;
	const struct attar_option *options; /* ends with a NULL name */
};

/* 1 if the member has this type, otherwise -1. */
#ifdef __cplusplus
extern "C++" {
template <typename A, typename B> struct attar_same_type {
	enum { value = -1 };
};
template <typename A> struct attar_same_type<A, A> {
	enum { value = 1 };
};
}
#define ATTAR_HAS_TYPE(state_, member_, want_)                                                     \
	attar_same_type<decltype(static_cast<state_ *>(nullptr)->member_), want_>::value
#else
#define ATTAR_HAS_TYPE(state_, member_, want_)                                                     \
	(__builtin_types_compatible_p(__typeof__(((state_ *)0)->member_), want_) ? 1 : -1)
#endif

/* The offset of a member, or a compile error if its type is not the one that the option writes. */
#define ATTAR_OFFSET(state_, member_, want_)                                                       \
	(offsetof(state_, member_) + 0 * sizeof(char[ATTAR_HAS_TYPE(state_, member_, want_)]))

/*
 * Further members of an option, after the help of ATTAR_COUNT() and the other macros. In C they may
 * also be written as designated initializers, `.min = 1`; C++ allows the macros only.
 *
 *	ATTAR_COUNT(struct state, depth, 0, "depth", "N", "levels to show", ATTAR_MIN(1))
 */
#ifdef __cplusplus
#define ATTAR_BARE(ns_)       (attar_option_more{ATTAR_CAST(uint64_t, ns_), 0, 0, NULL, NULL})
#define ATTAR_MIN(min_)       (attar_option_more{0, ATTAR_CAST(uint64_t, min_), 0, NULL, NULL})
#define ATTAR_MAX(max_)       (attar_option_more{0, 0, ATTAR_CAST(uint64_t, max_), NULL, NULL})
#define ATTAR_COMPLETE(what_) (attar_option_more{0, 0, 0, (what_), NULL})
#define ATTAR_IMPLIED(text_)  (attar_option_more{0, 0, 0, NULL, (text_)})
#else
#define ATTAR_BARE(ns_)       .bare = (ns_)
#define ATTAR_MIN(min_)       .min = (min_)
#define ATTAR_MAX(max_)       .max = (max_)
#define ATTAR_COMPLETE(what_) .complete = (what_)
#define ATTAR_IMPLIED(text_)  .implied = (text_)
#endif

#ifdef __cplusplus
extern "C++" {
struct attar_option_more {
	uint64_t bare, min, max;
	const char *complete, *implied;
};
constexpr attar_option attar_option_of(const attar_option &option)
{
	return option;
}
template <typename... More>
constexpr attar_option attar_option_of(
	const attar_option &o, const attar_option_more &with, const More &...more)
{
	return attar_option_of(attar_option{o.letter, o.name, o.value, o.help, o.type, o.offset,
				       o.bare | with.bare, o.min | with.min, o.max | with.max,
				       with.complete ? with.complete : o.complete,
				       with.implied ? with.implied : o.implied},
		more...);
}
template <typename... More>
constexpr attar_option attar_option_of(char letter, const char *name, const char *value,
	attar_option_type type, size_t offset, const char *help, const More &...more)
{
	return attar_option_of(
		attar_option{letter, name, value, help, type, offset, 0, 0, 0, nullptr, nullptr},
		more...);
}
}
#define ATTAR_VALUE(kind_, ctype_, state_, member_, letter_, name_, value_, ...)                   \
	attar_option_of((letter_), (name_), (value_), ATTAR_OPTION_##kind_,                        \
		ATTAR_OFFSET(state_, member_, ctype_), __VA_ARGS__)
#else
#define ATTAR_VALUE(kind_, ctype_, state_, member_, letter_, name_, value_, ...)                   \
	{                                                                                          \
		.letter = (letter_), .name = (name_), .value = (value_),                           \
		.type = ATTAR_OPTION_##kind_, .offset = ATTAR_OFFSET(state_, member_, ctype_),     \
		.help = __VA_ARGS__                                                                \
	}
#endif

/*
 * Elements of a table of options, for a member of the profiler's state (struct): --NAME, and
 * -LETTER unless letter is 0. value is the name of the value in help, help is one line. The member
 * has the type that enum attar_option_type says.
 *
 *	ATTAR_FLAG(struct state, member, letter, name, help)
 *	ATTAR_SWITCH(struct state, member, name, help)
 *	ATTAR_COUNT(struct state, member, letter, name, value, help, ...)
 *
 * The others have the parameters of ATTAR_COUNT(). ATTAR_MIN(), ATTAR_BARE() and others may
 * follow. A member of another type does not compile.
 */
#define ATTAR_FLAG(state_, member_, letter_, name_, help_)                                         \
	ATTAR_VALUE(FLAG, bool, state_, member_, letter_, name_, NULL, help_)
#define ATTAR_SWITCH(state_, member_, name_, help_)                                                \
	ATTAR_VALUE(SWITCH, int, state_, member_, 0, name_, NULL, help_)
#define ATTAR_COUNT(...)   ATTAR_VALUE(COUNT, uint64_t, __VA_ARGS__)
#define ATTAR_TIME(...)    ATTAR_VALUE(TIME, uint64_t, __VA_ARGS__)
#define ATTAR_SIZE(...)    ATTAR_VALUE(SIZE, uint64_t, __VA_ARGS__)
#define ATTAR_PERCENT(...) ATTAR_VALUE(PERCENT, double, __VA_ARGS__)
#define ATTAR_TEXT(...)    ATTAR_VALUE(TEXT, const char *, __VA_ARGS__)
#define ATTAR_LIST(...)    ATTAR_VALUE(LIST, struct attar_texts, __VA_ARGS__)
#define ATTAR_JOINED(...)  ATTAR_VALUE(JOINED, const char *, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
