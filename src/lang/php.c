/* SPDX-License-Identifier: MIT */
/*
 * PHP without ZTS, whose main thread executes all code: the variable executor_globals has the frame
 * that is executed. Offsets are from the headers of the version (Zend/zend_compile.h,
 * zend_globals.h, zend_hash.h, zend_modules.h, zend_types.h).
 *
 * Functions that are written in C have frames with names, but without files.
 */
#include <stdio.h>
#include <string.h>

#include "attar/base.h"
#include "base/base.h"
#include "lang/runtime.h"

enum { FRAMES_MAX = 1 << 16 };

/* Offsets in bytes. */
struct offsets {
	uint32_t api; /* ZEND_MODULE_API_NO, which changes with each version */
	const char *version;
	uint16_t current; /* of the globals */
	uint16_t file;    /* of a function */
};

static const struct offsets versions[] = {
	{.api = 20220829, .version = "8.2", .current = 488, .file = 152},
};

/* Of every version. */
enum {
	HASH_BUCKETS = 16, /* of the table of modules, whose first one is PHP itself */
	MODULE_API = 4,
	MODULE_ZTS = 9,
	FRAME_PLACE = 0,
	FRAME_FUNCTION = 24,
	FRAME_FLAGS = 40,
	FRAME_PREVIOUS = 48,
	FUNCTION_TYPE = 0,
	FUNCTION_NAME = 8,
	FUNCTION_CLASS = 16,
	CLASS_NAME = 8,
	PLACE_LINE = 24,
	STRING_LENGTH = 16,
	STRING_TEXT = 24,
	IN_C = 1,             /* a type of functions */
	FROM_NATIVE = 1 << 17 /* ZEND_CALL_TOP, a flag of frames */
};

struct php {
	const struct offsets *offsets;
	uint64_t globals;
};

/* ---- find ---- */

static int php_open(void *state, const struct lang_module *module, struct lang_memory *memory,
	char ret_version[16])
{
	struct php *p = state;
	uint64_t modules = lang_variable(module, "module_registry"), first;
	uint32_t api = 0;
	uint8_t is_zts = 0;

	p->globals = lang_variable(module, "executor_globals");
	if (!modules || (!p->globals && !lang_variable(module, "executor_globals_offset")))
		return 0;
	first = lang_memory_word(memory, lang_memory_word(memory, modules + HASH_BUCKETS));
	(void)lang_memory_read(memory, first + MODULE_API, &api, sizeof(api));
	(void)lang_memory_read(memory, first + MODULE_ZTS, &is_zts, sizeof(is_zts));
	for (size_t i = 0; !is_zts && p->globals && i < ARRAY_SIZE(versions); i++) {
		if (api != versions[i].api)
			continue;
		p->offsets = &versions[i];
		snprintf(ret_version, 16, "%s", versions[i].version);
		return 1;
	}
	return attar_fail(-EOPNOTSUPP,
		"functions of PHP with the API %u%s are not shown: only PHP 8.2 (API 20220829) "
		"without ZTS is known",
		api, is_zts || !p->globals ? " and ZTS" : "");
}

/* ---- frames ---- */

static struct lang_place php_place(struct lang_memory *memory, uint64_t frame, uint64_t function)
{
	uint32_t flags = 0;
	uint8_t type = 0;

	(void)lang_memory_read(memory, function + FUNCTION_TYPE, &type, sizeof(type));
	if (type == IN_C)
		return (struct lang_place){.function = function, .at = UINT64_MAX};
	(void)lang_memory_read(memory, frame + FRAME_FLAGS, &flags, sizeof(flags));
	return (struct lang_place){.function = function,
		.at = lang_memory_word(memory, frame + FRAME_PLACE),
		.is_entry = flags & FROM_NATIVE};
}

/* Frames without a function, or with one without a name in C, are not of the program. */
static size_t php_take(void *state, struct lang_memory *memory, const struct lang_thread *thread,
	struct lang_place *places, size_t max)
{
	const struct php *p = state;
	uint64_t frame;
	size_t n = 0;

	if (thread->tid != memory->pid)
		return 0;
	frame = lang_memory_word(memory, p->globals + p->offsets->current);
	for (unsigned i = 0; frame && n < max && i < FRAMES_MAX; i++) {
		uint64_t function = lang_memory_word(memory, frame + FRAME_FUNCTION);
		struct lang_place place = php_place(memory, frame, function);

		if (function && (place.at != UINT64_MAX ||
					lang_memory_word(memory, function + FUNCTION_NAME)))
			places[n++] = place;
		frame = lang_memory_word(memory, frame + FRAME_PREVIOUS);
	}
	return n;
}

/* ---- names ---- */

/* A string; a long one ends in "...". The name of a class without one has more after a null. */
static bool php_string(struct lang_memory *memory, uint64_t string, struct buf *ret_text)
{
	uint64_t length = lang_memory_word(memory, string + STRING_LENGTH);
	char bytes[LANG_TEXT_MAX];
	bool is_cut = length > sizeof(bytes);

	length = MIN(length, (uint64_t)sizeof(bytes));
	if (!string || !lang_memory_read(memory, string + STRING_TEXT, bytes, length))
		return false;
	buf_add(ret_text, bytes, strnlen(bytes, length));
	if (is_cut)
		buf_str(ret_text, "...");
	return true;
}

static bool php_name(void *state, struct lang_memory *memory, const struct lang_place *place,
	struct lang_names *ret_names)
{
	const struct php *p = state;
	uint64_t name = lang_memory_word(memory, place->function + FUNCTION_NAME);
	uint64_t class = lang_memory_word(memory, place->function + FUNCTION_CLASS);

	if (class && name) {
		if (!php_string(
			    memory, lang_memory_word(memory, class + CLASS_NAME), &ret_names->name))
			return false;
		buf_str(&ret_names->name, "::");
	}
	if (!name) /* the code of a file outside of functions */
		buf_str(&ret_names->name, "<main>");
	else if (!php_string(memory, name, &ret_names->name))
		return false;
	ret_names->line = 0;
	if (place->at == UINT64_MAX)
		return true;
	(void)lang_memory_read(
		memory, place->at + PLACE_LINE, &ret_names->line, sizeof(ret_names->line));
	return php_string(memory, lang_memory_word(memory, place->function + p->offsets->file),
		&ret_names->file);
}

const struct lang_runtime lang_php = {
	.language = "PHP",
	.pattern = "*php*",
	.loop = "execute_ex",
	.state_size = sizeof(struct php),
	.open = php_open,
	.take = php_take,
	.name = php_name,
};
