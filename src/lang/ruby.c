/* SPDX-License-Identifier: MIT */
/*
 * CRuby: the variable ruby_current_vm_ptr leads to the ractors, these to their threads, and a
 * thread to the frames of its current fiber. Offsets are from the headers of the version
 * (vm_core.h, ractor_core.h, iseq.h, internal/core/rstring.h, rarray.h).
 *
 * Methods that are written in C have frames, too. They are left out: the native frames of an
 * extension are in the native stack, and the names of methods of Ruby itself cannot be found from
 * outside.
 */
#include <stdio.h>
#include <string.h>

#include "attar/base.h"
#include "base/base.h"
#include "lang/ruby_line.h"
#include "lang/runtime.h"

enum { RACTORS_MAX = 1024, THREADS_MAX = 65536, CONTROL_FRAMES_MAX = 1 << 17, ROWS_MAX = 1 << 24 };

/* Offsets in bytes. */
struct offsets {
	const char *version; /* the begin of it, with a dot at the end */
	struct {
		uint16_t ractors;
	} vm;
	struct {
		uint16_t next, threads;
	} ractor;
	struct {
		uint16_t next, context, pthread, native_id;
	} thread;
	struct {
		uint16_t stack, words, frame;
	} context;
	struct {
		uint16_t pc, iseq, environment, size;
	} frame;
	struct {
		uint16_t body;
	} iseq;
	struct {
		uint16_t code, path, label, rows, row_count, row_index;
	} body;
	struct {
		uint16_t size;
	} row;
	struct {
		uint16_t length, embedded, pointer;
	} string;
};

/* Some of them depend on the size of mutexes of the C library, as on x86-64. */
static const struct offsets versions[] = {
#ifdef __x86_64__
	{.version = "3.1.",
		.vm = {.ractors = 8},
		.ractor = {.next = 568, .threads = 304},
		.thread = {.next = 0, .context = 40, .pthread = 80, .native_id = 88},
		.context = {.stack = 0, .words = 8, .frame = 16},
		.frame = {.pc = 0, .iseq = 16, .environment = 32, .size = 64},
		.iseq = {.body = 16},
		.body = {.code = 8,
			.path = 64,
			.label = 80,
			.rows = 120,
			.row_count = 136,
			.row_index = 144},
		.row = {.size = 12},
		.string = {.length = 16, .embedded = 16, .pointer = 24}},
#else
	{.version = "-"},
#endif
};

/* Of every version. */
enum { TYPE = 0x1f, TYPE_STRING = 5, TYPE_ARRAY = 7, FINISH = 0x20 /* of a frame */ };
enum { NOT_EMBEDDED = 1 << 13, EMBEDDED_LENGTH = 14 /* where in the flags it is */ };
enum { ARRAY_EMBEDDED = 1 << 13, ARRAY_VALUES = 16, ARRAY_POINTER = 32 };

struct ruby {
	const struct offsets *offsets;
	uint64_t vm; /* the address of the pointer to it */
};

/* ---- find ---- */

static int ruby_open(void *state, const struct lang_module *module, struct lang_memory *memory,
	char ret_version[16])
{
	struct ruby *r = state;
	uint64_t version = lang_variable(module, "ruby_version");
	char text[8] = "";

	r->vm = lang_variable(module, "ruby_current_vm_ptr");
	if (!r->vm || !version)
		return 0;
	(void)lang_memory_read(memory, version, text, sizeof(text) - 1);
	text[strspn(text, "0123456789.")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		size_t n = strlen(versions[i].version);

		if (strncmp(text, versions[i].version, n) != 0)
			continue;
		r->offsets = &versions[i];
		snprintf(ret_version, 16, "%.*s", (int)n - 1, text);
		return 1;
	}
	return attar_fail(-EOPNOTSUPP,
		"functions of Ruby %s are not shown: only Ruby 3.1 on x86-64 is known", text);
}

/* ---- frames of a thread ---- */

static bool ruby_is_thread(const struct offsets *o, struct lang_memory *memory, uint64_t thread,
	const struct lang_thread *wanted, uint64_t pthread)
{
	int32_t id;

	if (pthread)
		return lang_memory_word(memory, thread + o->thread.pthread) == pthread;
	return lang_memory_read(memory, thread + o->thread.native_id, &id, sizeof(id)) &&
	       id == wanted->inside;
}

/* The lists are rings with a head, whose links lead to links. */
static uint64_t ruby_thread(
	const struct ruby *r, struct lang_memory *memory, const struct lang_thread *wanted)
{
	const struct offsets *o = r->offsets;
	uint64_t ractors = lang_memory_word(memory, r->vm) + o->vm.ractors;
	uint64_t link = lang_memory_word(memory, ractors), pthread = lang_pthread(memory, wanted);
	unsigned n = 0;

	for (unsigned i = 0; link && link != ractors && i < RACTORS_MAX; i++) {
		uint64_t threads = link - o->ractor.next + o->ractor.threads;
		uint64_t thread = lang_memory_word(memory, threads);

		for (; thread && thread != threads && n < THREADS_MAX; n++) {
			if (ruby_is_thread(o, memory, thread - o->thread.next, wanted, pthread))
				return thread - o->thread.next;
			thread = lang_memory_word(memory, thread);
		}
		link = lang_memory_word(memory, link);
	}
	return 0;
}

static bool ruby_is_entry(const struct offsets *o, struct lang_memory *memory, uint64_t frame)
{
	uint64_t environment = lang_memory_word(memory, frame + o->frame.environment);

	return lang_memory_word(memory, environment) & FINISH;
}

/* Frames grow down from the end of the stack. Frames of Ruby code have an iseq and a pc. */
static size_t ruby_take(void *state, struct lang_memory *memory, const struct lang_thread *wanted,
	struct lang_place *places, size_t max)
{
	const struct ruby *r = state;
	const struct offsets *o = r->offsets;
	uint64_t thread = ruby_thread(r, memory, wanted), context, frame, end;
	size_t n = 0;

	if (!thread)
		return 0;
	context = lang_memory_word(memory, thread + o->thread.context);
	frame = lang_memory_word(memory, context + o->context.frame);
	end = lang_memory_word(memory, context + o->context.stack) +
	      8 * lang_memory_word(memory, context + o->context.words);
	for (unsigned i = 0; frame && frame < end && n < max && i < CONTROL_FRAMES_MAX; i++) {
		uint64_t iseq = lang_memory_word(memory, frame + o->frame.iseq);
		uint64_t pc = lang_memory_word(memory, frame + o->frame.pc);

		if (iseq && pc)
			places[n++] = (struct lang_place){.function = iseq,
				.at = pc,
				.is_entry = ruby_is_entry(o, memory, frame)};
		frame += o->frame.size;
	}
	return n;
}

/* ---- names ---- */

/* A String; a long one ends in "...". False if the object is none. */
static bool ruby_string(
	const struct offsets *o, struct lang_memory *memory, uint64_t object, struct buf *ret_text)
{
	uint64_t flags = lang_memory_word(memory, object);
	uint64_t length = flags >> EMBEDDED_LENGTH & 0x1f, from = object + o->string.embedded;
	char bytes[LANG_TEXT_MAX];
	bool is_cut;

	if ((flags & TYPE) != TYPE_STRING)
		return false;
	if (flags & NOT_EMBEDDED) {
		from = lang_memory_word(memory, object + o->string.pointer);
		length = lang_memory_word(memory, object + o->string.length);
	}
	is_cut = length > sizeof(bytes);
	length = MIN(length, (uint64_t)sizeof(bytes));
	if (!lang_memory_read(memory, from, bytes, length))
		return false;
	buf_add(ret_text, bytes, length);
	if (is_cut)
		buf_str(ret_text, "...");
	return true;
}

/* A path is a String, or an Array of the path and the real path. */
static bool ruby_path(
	const struct offsets *o, struct lang_memory *memory, uint64_t object, struct buf *ret_text)
{
	uint64_t flags = lang_memory_word(memory, object);

	if ((flags & TYPE) == TYPE_ARRAY)
		object = lang_memory_word(memory,
			flags & ARRAY_EMBEDDED ? object + ARRAY_VALUES
					       : lang_memory_word(memory, object + ARRAY_POINTER));
	return ruby_string(o, memory, object, ret_text);
}

/* The pc is after the instruction that is being executed, except at the begin of the function. */
static uint32_t ruby_line(const struct offsets *o, struct lang_memory *memory, uint64_t body,
	const struct lang_place *place)
{
	uint64_t rows = lang_memory_word(memory, body + o->body.rows);
	uint64_t index = lang_memory_word(memory, body + o->body.row_index);
	uint64_t word = (place->at - lang_memory_word(memory, body + o->body.code)) / 8;
	uint32_t count = 0, row = 1, line = 0;

	if (!lang_memory_read(memory, body + o->body.row_count, &count, sizeof(count)) || !count ||
		count > ROWS_MAX || word > UINT32_MAX)
		return 0;
	if (count > 1)
		row = ruby_row(memory, index, (uint32_t)word - (word > 0));
	if (!row || row > count ||
		!lang_memory_read(
			memory, rows + (uint64_t)(row - 1) * o->row.size, &line, sizeof(line)))
		return 0;
	return line;
}

static bool ruby_name(void *state, struct lang_memory *memory, const struct lang_place *place,
	struct lang_names *ret_names)
{
	const struct ruby *r = state;
	const struct offsets *o = r->offsets;
	uint64_t body = lang_memory_word(memory, place->function + o->iseq.body);

	if (!ruby_string(
		    o, memory, lang_memory_word(memory, body + o->body.label), &ret_names->name) ||
		!ruby_path(
			o, memory, lang_memory_word(memory, body + o->body.path), &ret_names->file))
		return false;
	ret_names->line = ruby_line(o, memory, body, place);
	return true;
}

const struct lang_runtime lang_ruby = {
	.language = "Ruby",
	.pattern = "*ruby*",
	.loop = "rb_vm_exec",
	.state_size = sizeof(struct ruby),
	.open = ruby_open,
	.take = ruby_take,
	.name = ruby_name,
};
