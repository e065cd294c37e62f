/* SPDX-License-Identifier: MIT */
/*
 * CPython: the variable _PyRuntime leads to the interpreters, these to their threads, and a thread
 * to its frames. Offsets are from the headers of the version (Include/internal/pycore_frame.h,
 * pycore_interp.h, pycore_runtime.h, Include/cpython/code.h).
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/base.h"
#include "base/base.h"
#include "lang/python_line.h"
#include "lang/runtime.h"
#include "lang/utf8.h"

enum { INTERPRETERS_MAX = 64, THREADS_MAX = 65536, FRAMES_MAX = 65536, LINES_MAX = 1 << 20 };

/* How a thread has its frames. */
enum frames {
	OBJECTS, /* a list of objects; native code executes each of them */
	ENTRIES, /* the first frame of native code has a flag */
	SHIMS,   /* native code adds a frame without a function */
};

enum { SHIM = 3 /* the owner of such a frame */ };

enum { DESCRIBED = 13 /* the version that has its own offsets in its memory */ };

/* Offsets in bytes. */
struct offsets {
	unsigned minor; /* of the version 3.x */
	enum frames frames;
	python_line_fn *line;
	struct {
		uint16_t interpreters;
	} runtime;
	struct {
		uint16_t next, threads;
	} interpreter;
	struct {
		uint16_t next, native_id, pthread, frame; /* native_id 0: it has none */
	} thread;
	bool has_cframe; /* the thread leads to a structure, and this, at cframe, to the frame */
	uint16_t cframe;
	struct {
		uint16_t code, previous, instruction, owner; /* or the flag */
	} frame;
	struct {
		uint16_t file, name, first_line, lines, code;
	} code;
	struct {
		uint16_t length, state, ascii, other; /* the text of the two kinds of strings */
	} string;
};

static const struct offsets versions[] = {
	{.minor = 8,
		.frames = OBJECTS,
		.line = python_line_38,
		.runtime = {.interpreters = 32},
		.interpreter = {.next = 0, .threads = 8},
		.thread = {.next = 8, .pthread = 176, .frame = 24},
		.frame = {.code = 32, .previous = 24, .instruction = 104},
		.code = {.file = 104, .name = 112, .first_line = 40, .lines = 120},
		.string = {.length = 16, .state = 32, .ascii = 48, .other = 72}},
	{.minor = 9,
		.frames = OBJECTS,
		.line = python_line_38,
		.runtime = {.interpreters = 32},
		.interpreter = {.next = 0, .threads = 8},
		.thread = {.next = 8, .pthread = 176, .frame = 24},
		.frame = {.code = 32, .previous = 24, .instruction = 104},
		.code = {.file = 104, .name = 112, .first_line = 40, .lines = 120},
		.string = {.length = 16, .state = 32, .ascii = 48, .other = 72}},
	{.minor = 10,
		.frames = OBJECTS,
		.line = python_line_310,
		.runtime = {.interpreters = 32},
		.interpreter = {.next = 0, .threads = 8},
		.thread = {.next = 8, .pthread = 176, .frame = 24},
		.frame = {.code = 32, .previous = 24, .instruction = 96},
		.code = {.file = 104, .name = 112, .first_line = 40, .lines = 120},
		.string = {.length = 16, .state = 32, .ascii = 48, .other = 72}},
	{.minor = 11,
		.frames = ENTRIES,
		.line = python_line,
		.runtime = {.interpreters = 40},
		.interpreter = {.next = 0, .threads = 16},
		.thread = {.next = 8, .native_id = 160, .pthread = 152, .frame = 56},
		.has_cframe = true,
		.cframe = 8,
		.frame = {.code = 32, .previous = 48, .instruction = 56, .owner = 68},
		.code = {.file = 112, .name = 128, .first_line = 72, .lines = 136, .code = 184},
		.string = {.length = 16, .state = 32, .ascii = 48, .other = 72}},
	{.minor = 12,
		.frames = SHIMS,
		.line = python_line,
		.runtime = {.interpreters = 40},
		.interpreter = {.next = 0, .threads = 72},
		.thread = {.next = 8, .native_id = 144, .pthread = 136, .frame = 56},
		.has_cframe = true,
		.cframe = 0,
		.frame = {.code = 0, .previous = 8, .instruction = 56, .owner = 70},
		.code = {.file = 112, .name = 128, .first_line = 68, .lines = 136, .code = 192},
		.string = {.length = 16, .state = 32, .ascii = 40, .other = 56}},
	{.minor = DESCRIBED, .frames = SHIMS, .line = python_line},
};
/* Of every version. */
enum { OBJECT_TYPE = 8, BYTES_SIZE = 16, BYTES_DATA = 32 };

struct python {
	struct offsets offsets;
	uint64_t runtime;   /* the address of _PyRuntime */
	uint64_t code_type; /* of PyCode_Type */
};

/* ---- find ---- */

/*
 * What 3.13 says of itself in _PyRuntime (struct _Py_DebugOffsets): which of its numbers of 64 bits
 * is which offset.
 */
static const struct {
	uint8_t number, offset;
} described[] = {
	{5, offsetof(struct offsets, runtime.interpreters)},
	{8, offsetof(struct offsets, interpreter.next)},
	{9, offsetof(struct offsets, interpreter.threads)},
	{21, offsetof(struct offsets, thread.next)},
	{23, offsetof(struct offsets, thread.frame)},
	{24, offsetof(struct offsets, thread.pthread)},
	{25, offsetof(struct offsets, thread.native_id)},
	{29, offsetof(struct offsets, frame.previous)},
	{30, offsetof(struct offsets, frame.code)},
	{31, offsetof(struct offsets, frame.instruction)},
	{33, offsetof(struct offsets, frame.owner)},
	{35, offsetof(struct offsets, code.file)},
	{37, offsetof(struct offsets, code.name)},
	{38, offsetof(struct offsets, code.lines)},
	{39, offsetof(struct offsets, code.first_line)},
	{43, offsetof(struct offsets, code.code)},
	{68, offsetof(struct offsets, string.state)},
	{69, offsetof(struct offsets, string.length)},
	{70, offsetof(struct offsets, string.ascii)},
};

enum { FREE_THREADED = 2 /* the number that says so */ };

/* False: it is another build than those that are known. */
static bool python_read_offsets(struct python *p, struct lang_memory *memory)
{
	if (lang_memory_word(memory, p->runtime + 8 * FREE_THREADED))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(described); i++) {
		uint64_t offset = lang_memory_word(memory, p->runtime + 8 * described[i].number);
		uint16_t *to = (void *)((char *)&p->offsets + described[i].offset);

		if (offset > UINT16_MAX)
			return false;
		*to = (uint16_t)offset;
	}
	p->offsets.string.other = p->offsets.string.ascii + 16; /* a length and a pointer */
	return true;
}

/* Py_Version is 0xMMmmuuRS. Before 3.11, only the name of the file has the version. */
static unsigned python_minor(const struct lang_module *module, struct lang_memory *memory)
{
	uint64_t version = lang_memory_word(memory, lang_variable(module, "Py_Version"));
	const char *slash = strrchr(module->path, '/');
	const char *name = strstr(slash ?: module->path, "python3.");

	if (version >> 24 == 3)
		return version >> 16 & 0xff;
	return name && !version ? (unsigned)strtoul(name + strlen("python3."), NULL, 10) : 0;
}

static int python_version(struct python *p, const struct lang_module *module,
	struct lang_memory *memory, char ret_version[16])
{
	unsigned minor = python_minor(module, memory);

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		if (minor != versions[i].minor)
			continue;
		p->offsets = versions[i];
		if (minor >= DESCRIBED && !python_read_offsets(p, memory))
			break;
		snprintf(ret_version, 16, "3.%u", minor);
		return 1;
	}
	return attar_fail(-EOPNOTSUPP,
		"functions of this Python 3.%u are not shown: only Python 3.8 to 3.13 is known",
		minor);
}

static int python_open(void *state, const struct lang_module *module, struct lang_memory *memory,
	char ret_version[16])
{
	struct python *p = state;

	p->runtime = lang_variable(module, "_PyRuntime");
	p->code_type = lang_variable(module, "PyCode_Type");
	if (!p->runtime || !p->code_type)
		return 0;
	return python_version(p, module, memory, ret_version);
}

/* ---- frames of a thread ---- */

static bool python_is_thread(const struct offsets *o, struct lang_memory *memory, uint64_t thread,
	const struct lang_thread *wanted, uint64_t pthread)
{
	if (pthread)
		return lang_memory_word(memory, thread + o->thread.pthread) == pthread;
	return o->thread.native_id &&
	       lang_memory_word(memory, thread + o->thread.native_id) == (uint64_t)wanted->inside;
}

/* The state of a thread; 0: none. */
static uint64_t python_thread(
	const struct python *p, struct lang_memory *memory, const struct lang_thread *wanted)
{
	const struct offsets *o = &p->offsets;
	uint64_t interpreter = lang_memory_word(memory, p->runtime + o->runtime.interpreters);
	uint64_t pthread = lang_pthread(memory, wanted);
	unsigned threads = 0;

	for (unsigned i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		uint64_t thread = lang_memory_word(memory, interpreter + o->interpreter.threads);

		for (; thread && threads < THREADS_MAX; threads++) {
			if (python_is_thread(o, memory, thread, wanted, pthread))
				return thread;
			thread = lang_memory_word(memory, thread + o->thread.next);
		}
		interpreter = lang_memory_word(memory, interpreter + o->interpreter.next);
	}
	return 0;
}

/* A frame object has the number of the instruction, in bytes or, in 3.10, in units of 2. */
static uint64_t object_at(const struct offsets *o, struct lang_memory *memory, uint64_t frame)
{
	int32_t last = -1;

	(void)lang_memory_read(memory, frame + o->frame.instruction, &last, sizeof(last));
	if (last < 0)
		return UINT64_MAX;
	return (uint64_t)last * (o->minor == 10 ? 2 : 1);
}

static uint64_t frame_at(
	const struct offsets *o, struct lang_memory *memory, uint64_t frame, uint64_t code)
{
	uint64_t instruction = lang_memory_word(memory, frame + o->frame.instruction);

	return instruction >= code + o->code.code ? instruction - code - o->code.code : UINT64_MAX;
}

static struct lang_place python_place(
	const struct offsets *o, struct lang_memory *memory, uint64_t frame)
{
	uint64_t code = lang_memory_word(memory, frame + o->frame.code);
	uint8_t owner = 0;

	(void)lang_memory_read(memory, frame + o->frame.owner, &owner, 1);
	return (struct lang_place){.function = code,
		.at = o->frames == OBJECTS ? object_at(o, memory, frame)
					   : frame_at(o, memory, frame, code),
		.is_entry = o->frames == OBJECTS || (o->frames == ENTRIES && owner)};
}

static bool python_is_shim(const struct offsets *o, struct lang_memory *memory, uint64_t frame)
{
	uint8_t owner = 0;

	return o->frames == SHIMS && lang_memory_read(memory, frame + o->frame.owner, &owner, 1) &&
	       owner == SHIM;
}

static size_t python_take(void *state, struct lang_memory *memory, const struct lang_thread *wanted,
	struct lang_place *places, size_t max)
{
	const struct python *p = state;
	const struct offsets *o = &p->offsets;
	uint64_t thread = python_thread(p, memory, wanted), frame = 0;
	size_t n = 0;

	if (thread)
		frame = lang_memory_word(memory, thread + o->thread.frame);
	if (frame && o->has_cframe)
		frame = lang_memory_word(memory, frame + o->cframe);
	for (unsigned i = 0; frame && n < max && i < FRAMES_MAX; i++) {
		if (!python_is_shim(o, memory, frame))
			places[n++] = python_place(o, memory, frame);
		else if (n)
			places[n - 1].is_entry = true;
		frame = lang_memory_word(memory, frame + o->frame.previous);
	}
	return n;
}

/* ---- names ---- */

static uint32_t character(const uint8_t *bytes, unsigned width)
{
	uint32_t c = 0;

	memcpy(&c, bytes, width); /* both architectures are little-endian */
	return c;
}

/* A str; a long one ends in "...". False if the object is none. */
static bool python_string(
	const struct offsets *o, struct lang_memory *memory, uint64_t object, struct buf *ret_text)
{
	uint64_t length = lang_memory_word(memory, object + o->string.length);
	uint8_t bytes[LANG_TEXT_MAX];
	uint32_t state;
	unsigned width;
	bool is_cut;

	if (!lang_memory_read(memory, object + o->string.state, &state, sizeof(state)))
		return false;
	width = state >> 2 & 7; /* interned:2, kind:3, compact:1, ascii:1 */
	if (!(state & 1 << 5) || (width != 1 && width != 2 && width != 4))
		return false;
	is_cut = length > sizeof(bytes) / width;
	length = MIN(length, (uint64_t)(sizeof(bytes) / width));
	object += state & 1 << 6 ? o->string.ascii : o->string.other;
	if (!lang_memory_read(memory, object, bytes, length * width))
		return false;
	for (uint64_t i = 0; i < length; i++)
		utf8_add(ret_text, character(bytes + i * width, width));
	if (is_cut)
		buf_str(ret_text, "...");
	return true;
}

static uint32_t python_line_at(
	const struct offsets *o, struct lang_memory *memory, const struct lang_place *place)
{
	uint64_t object = lang_memory_word(memory, place->function + o->code.lines);
	uint64_t size = object ? lang_memory_word(memory, object + BYTES_SIZE) : 0;
	uint32_t first = 0, line;
	uint8_t *table;

	(void)lang_memory_read(memory, place->function + o->code.first_line, &first, sizeof(first));
	if (place->at == UINT64_MAX) /* it has not begun */
		return first;
	if (!object || size > LINES_MAX)
		return 0;
	table = malloc(size ?: 1);
	if (!table || !lang_memory_read(memory, object + BYTES_DATA, table, size)) {
		free(table);
		return 0;
	}
	line = o->line(table, size, first, place->at);
	free(table);
	return line;
}

static bool python_name(void *state, struct lang_memory *memory, const struct lang_place *place,
	struct lang_names *ret_names)
{
	const struct python *p = state;
	const struct offsets *o = &p->offsets;
	uint64_t code = place->function;

	if (!code || lang_memory_word(memory, code + OBJECT_TYPE) != p->code_type)
		return false;
	if (!python_string(
		    o, memory, lang_memory_word(memory, code + o->code.name), &ret_names->name) ||
		!python_string(
			o, memory, lang_memory_word(memory, code + o->code.file), &ret_names->file))
		return false;
	ret_names->line = python_line_at(o, memory, place);
	return true;
}

const struct lang_runtime lang_python = {
	.language = "Python",
	.pattern = "*python3*",
	.loop = "_PyEval_EvalFrameDefault",
	.state_size = sizeof(struct python),
	.open = python_open,
	.take = python_take,
	.name = python_name,
};
