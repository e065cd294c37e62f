/* SPDX-License-Identifier: MIT */
/*
 * Perl with ithreads: each thread has its interpreter as the value of a key, the interpreter has a
 * list of stacks, and each of these has contexts, such as blocks, loops and calls. A call has the
 * statement of its caller, the interpreter has the current one. Offsets are from the headers of the
 * version (cop.h, cv.h, gv.h, hv.h, intrpvar.h, op.h, sv.h).
 *
 * Functions that are written in C (XS) have no context, but they are in the native stack.
 */
#include <stdio.h>
#include <string.h>

#include "attar/base.h"
#include "base/base.h"
#include "lang/runtime.h"
#include "lang/utf8.h"

enum { STACKS_MAX = 1024, CONTEXTS_MAX = 1 << 16 };

/* Of Perl 5.36, in bytes. */
enum {
	VERSION = 36,
	MY_STATEMENT = 208, /* of the interpreter */
	MY_STACK = 224,
	STACK_CONTEXTS = 8,
	STACK_PREVIOUS = 16,
	STACK_LAST = 32,
	CONTEXT_BYTES = 104,
	CONTEXT_TYPE = 0,
	CONTEXT_STATEMENT = 16, /* of the caller */
	CONTEXT_RETURN = 48,
	CONTEXT_CODE = 72,
	STATEMENT_LINE = 36,
	STATEMENT_FILE = 48,
	VALUE_BODY = 0,
	VALUE_FLAGS = 12,
	VALUE_GLOB = 16,
	CODE_PACKAGE = 32,
	CODE_NAME = 56,
	CODE_FLAGS = 92,
	GLOB_NAME = 32,
	GLOB_PACKAGE = 40,
	GLOB_EFFECTIVE = 56,
	PACKAGE_NAME = 32,
	PACKAGE_NAMES = 60,
	KEY_LENGTH = 4,
	KEY_TEXT = 8,
};

enum {
	TYPE = 0xf,
	BLOCK = 2,
	CALL = 9,
	FORMAT = 10,
	EVAL = 11,
	CALL_IN_PATTERN = 0x80,
	TRY = 0x80
};
enum { HAS_NAME = 0x8000, IS_LEXICAL = 0x10000, HAS_PACKAGE_NAME = 0x02000000, IS_UTF8 = 1 };

/* Functions of places that are not functions of Perl. */
enum { IN_EVAL = 1, IN_MAIN };

struct perl {
	uint64_t interpreter; /* the addresses of variables */
	uint64_t key;
};

/* ---- find ---- */

static int perl_open(void *state, const struct lang_module *module, struct lang_memory *memory,
	char ret_version[16])
{
	struct perl *p = state;
	uint64_t address = lang_variable(module, "PL_version");
	uint8_t version = 0;

	p->interpreter = lang_variable(module, "PL_curinterp");
	p->key = lang_variable(module, "PL_thr_key");
	if (!address || !lang_variable(module, "perl_run"))
		return 0;
	(void)lang_memory_read(memory, address, &version, sizeof(version));
	if (version != VERSION || !p->interpreter || !p->key)
		return attar_fail(-EOPNOTSUPP,
			"functions of Perl 5.%u%s are not shown: only Perl 5.36 with threads is "
			"known",
			version, p->key ? "" : " without threads");
	snprintf(ret_version, 16, "5.%u", version);
	return 1;
}

/* ---- frames of a thread ---- */

static uint64_t perl_interpreter(
	const struct perl *p, struct lang_memory *memory, const struct lang_thread *thread)
{
	uint32_t key;

	if (!lang_memory_read(memory, p->key, &key, sizeof(key)))
		return 0;
	return lang_specific(memory, thread, key);
}

static uint8_t perl_type(struct lang_memory *memory, uint64_t context)
{
	uint8_t type = 0;

	(void)lang_memory_read(memory, context + CONTEXT_TYPE, &type, sizeof(type));
	return type;
}

/*
 * The function of a context; 0: none. An expression in a pattern is not called; try { } is no
 * function either, nor is an eval of native code, which returns to no operation.
 */
static uint64_t perl_function(struct lang_memory *memory, uint64_t context, bool returns)
{
	uint8_t type = perl_type(memory, context);

	switch (type & TYPE) {
	case CALL:
		return type & CALL_IN_PATTERN ? 0
					      : lang_memory_word(memory, context + CONTEXT_CODE);
	case FORMAT:
		return lang_memory_word(memory, context + CONTEXT_CODE);
	case EVAL:
		return type & TRY || !returns ? 0 : IN_EVAL;
	default:
		return 0;
	}
}

/* Where a thread is while contexts are visited, the innermost first. */
struct walk {
	struct lang_place *places;
	size_t n, max;
	uint64_t statement; /* of the function that is visited next */
	uint64_t outermost; /* the context that was visited last */
	unsigned contexts;
};

/* Native code that calls a function has no operation to which the function returns. */
static void walk_context(struct walk *w, struct lang_memory *memory, uint64_t context)
{
	bool returns = lang_memory_word(memory, context + CONTEXT_RETURN) != 0;
	uint64_t function = perl_function(memory, context, returns);

	w->outermost = context;
	if (!function)
		return;
	w->places[w->n++] =
		(struct lang_place){.function = function, .at = w->statement, .is_entry = !returns};
	w->statement = lang_memory_word(memory, context + CONTEXT_STATEMENT);
}

static void walk_stack(struct walk *w, struct lang_memory *memory, uint64_t stack)
{
	uint64_t first = lang_memory_word(memory, stack + STACK_CONTEXTS);
	int32_t last = -1;

	(void)lang_memory_read(memory, stack + STACK_LAST, &last, sizeof(last));
	for (; last >= 0 && w->n < w->max && w->contexts < CONTEXTS_MAX; last--, w->contexts++)
		walk_context(w, memory, first + (uint64_t)last * CONTEXT_BYTES);
}

/* The main program is a block outside of all functions. Threads and BEGIN blocks have none. */
static size_t perl_take(void *state, struct lang_memory *memory, const struct lang_thread *thread,
	struct lang_place *places, size_t max)
{
	uint64_t interpreter = perl_interpreter(state, memory, thread);
	uint64_t stack = lang_memory_word(memory, interpreter + MY_STACK);
	struct walk w = {.places = places,
		.max = max,
		.statement = lang_memory_word(memory, interpreter + MY_STATEMENT)};

	if (!interpreter || !max)
		return 0;
	for (unsigned i = 0; stack && i < STACKS_MAX; i++) {
		walk_stack(&w, memory, stack);
		stack = lang_memory_word(memory, stack + STACK_PREVIOUS);
	}
	if (w.outermost && w.n < max && (perl_type(memory, w.outermost) & TYPE) == BLOCK)
		places[w.n++] = (struct lang_place){
			.function = IN_MAIN, .at = w.statement, .is_entry = true};
	return w.n;
}

/* ---- names ---- */

/* A key of a hash, in Latin-1 or UTF-8; a long one ends in "...". */
static bool perl_key(struct lang_memory *memory, uint64_t key, struct buf *ret_text)
{
	uint8_t bytes[LANG_TEXT_MAX], flags = 0;
	int32_t length = 0;
	size_t n;

	(void)lang_memory_read(memory, key + KEY_LENGTH, &length, sizeof(length));
	if (!key || length <= 0)
		return false;
	n = MIN((size_t)length, sizeof(bytes));
	(void)lang_memory_read(
		memory, key + KEY_TEXT + (uint64_t)length + 1, &flags, sizeof(flags));
	if (!lang_memory_read(memory, key + KEY_TEXT, bytes, n))
		return false;
	if (flags & IS_UTF8)
		buf_add(ret_text, (const char *)bytes, n);
	else
		for (size_t i = 0; i < n; i++)
			utf8_add(ret_text, bytes[i]);
	if ((size_t)length > n)
		buf_str(ret_text, "...");
	return true;
}

static uint64_t perl_body(struct lang_memory *memory, uint64_t value)
{
	return lang_memory_word(memory, value + VALUE_BODY);
}

/* "Package::". A package with aliases has several names; one that is deleted has none. */
static void perl_package(struct lang_memory *memory, uint64_t package, struct buf *ret_text)
{
	uint64_t body = perl_body(memory, package);
	uint64_t name = lang_memory_word(memory, body + PACKAGE_NAME);
	uint32_t flags = 0;
	int32_t names = 0;

	(void)lang_memory_read(memory, package + VALUE_FLAGS, &flags, sizeof(flags));
	(void)lang_memory_read(memory, body + PACKAGE_NAMES, &names, sizeof(names));
	if (names)
		name = lang_memory_word(memory, name);
	if (!(flags & HAS_PACKAGE_NAME) || !perl_key(memory, name, ret_text))
		buf_str(ret_text, "__ANON__");
	buf_str(ret_text, "::");
}

/* A function has a name, or a glob that has one. */
static bool perl_function_name(struct lang_memory *memory, uint64_t function, struct buf *ret_text)
{
	uint64_t body = perl_body(memory, function), glob, effective;
	uint32_t flags = 0;

	(void)lang_memory_read(memory, body + CODE_FLAGS, &flags, sizeof(flags));
	glob = lang_memory_word(memory, body + CODE_NAME);
	if (flags & HAS_NAME) {
		if (!(flags & IS_LEXICAL))
			perl_package(
				memory, lang_memory_word(memory, body + CODE_PACKAGE), ret_text);
		return perl_key(memory, glob, ret_text);
	}
	effective = lang_memory_word(
		memory, lang_memory_word(memory, glob + VALUE_GLOB) + GLOB_EFFECTIVE);
	body = perl_body(memory, effective ?: glob);
	perl_package(memory, lang_memory_word(memory, body + GLOB_PACKAGE), ret_text);
	return perl_key(memory, lang_memory_word(memory, body + GLOB_NAME), ret_text);
}

/* A string that ends in a null; a long one ends in "...". */
static bool perl_text(struct lang_memory *memory, uint64_t text, struct buf *ret_text)
{
	char c = 1;

	for (size_t i = 0; i < LANG_TEXT_MAX; i++) {
		if (!lang_memory_read(memory, text + i, &c, 1))
			return false;
		if (!c)
			return true;
		buf_char(ret_text, c);
	}
	buf_str(ret_text, "...");
	return true;
}

static bool perl_name(void *state, struct lang_memory *memory, const struct lang_place *place,
	struct lang_names *ret_names)
{
	(void)state;
	if (place->function == IN_EVAL)
		buf_str(&ret_names->name, "(eval)");
	else if (place->function == IN_MAIN)
		buf_str(&ret_names->name, "<main>");
	else if (!perl_function_name(memory, place->function, &ret_names->name))
		return false;
	ret_names->line = 0;
	(void)lang_memory_read(
		memory, place->at + STATEMENT_LINE, &ret_names->line, sizeof(ret_names->line));
	return perl_text(
		memory, lang_memory_word(memory, place->at + STATEMENT_FILE), &ret_names->file);
}

const struct lang_runtime lang_perl = {
	.language = "Perl",
	.pattern = "*perl*",
	.loop = "Perl_runops_standard",
	.state_size = sizeof(struct perl),
	.open = perl_open,
	.take = perl_take,
	.name = perl_name,
};
