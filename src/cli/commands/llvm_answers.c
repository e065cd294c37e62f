/* SPDX-License-Identifier: MIT */
#include "cli/commands/llvm_answers.h"

#include "attar/private/symbol.h"
#include "base/digits.h"
#include "base/escape.h"

enum {
	BYTES_MAX = 1 << 30, /* of texts, and of lines */
	NAME_BYTES = 8 << 10,
	LINES = 2,       /* of an answer, mostly at most */
	COPY_BYTES = 32, /* of a text that are copied at once */
};

/* ---- texts ---- */

void llvm_name_add(struct buf *b, const char *name, bool mangled)
{
	char demangled[NAME_BYTES];

	if (!mangled && symbol_demangle(name, demangled, sizeof(demangled)) > 0)
		name = demangled;
	escape_text(b, name, strlen(name));
	buf_char(b, '\n');
}

static void write_name(struct llvm_answers *a, const char *name)
{
	llvm_name_add(&a->texts, name, a->mangled);
}

static void write_file(struct llvm_answers *a, const char *file)
{
	escape_text(&a->texts, file, strlen(file));
	buf_char(&a->texts, ':');
}

/* Where the text of a name or a path is; it is written if it was not one of the last. */
static inline uint32_t text_of(struct llvm_answers *a, struct llvm_text *texts,
	void (*write)(struct llvm_answers *, const char *), const char *key)
{
	struct llvm_text *text = &texts[((uintptr_t)key >> 3 ^ (uintptr_t)key >> 11) % LLVM_TEXTS];
	uint32_t n = 0;

	if (likely(text->key == key))
		return text->at;
	*text = (struct llvm_text){.key = key, .at = (uint32_t)a->texts.len};
	buf_add(&a->texts, &n, sizeof(n));
	write(a, key);
	n = (uint32_t)(a->texts.len - text->at - sizeof(n));
	if (buf_reserve(&a->texts, COPY_BYTES)) /* see copy_text() */
		memcpy(a->texts.data + text->at, &n, sizeof(n));
	return text->at;
}

/* ---- answers ---- */

static struct llvm_line line_of(
	struct llvm_answers *a, const struct attar_frame *frame, const char *mangled)
{
	return (struct llvm_line){.name = text_of(a, a->names, write_name, mangled ?: "??"),
		.file = text_of(a, a->files, write_file, frame->file ?: "??"),
		.line = frame->line,
		.column = frame->column};
}

/* Whether the lines from `first` on belong to the last answer. */
static bool is_last(const struct llvm_answers *a, size_t first)
{
	const struct llvm_line *lines = a->lines.at;
	size_t n = a->lines.n - first;

	return n == first - a->last && !memcmp(lines + a->last, lines + first, n * sizeof(*lines));
}

int llvm_answers_reserve(struct llvm_answers *a, size_t n)
{
	return vec_reserve(&a->lines, LINES * n);
}

int llvm_answers_add(struct llvm_answers *a, const struct attar_frame *frames, size_t n,
	uint32_t *ret_first, uint32_t *ret_n)
{
	size_t shown = a->no_inlines ? 1 : n, first = a->lines.n;

	if (a->texts.len > BYTES_MAX || first > BYTES_MAX / sizeof(*a->lines.at))
		return attar_fail(
			-E2BIG, "the answers are too long" ATTAR_FIX "ask for fewer addresses");
	if (vec_reserve(&a->lines, shown) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < shown; i++) {
		/* without inlined functions: the line in the innermost one, the name of the last */
		const char *mangled = frames[a->no_inlines ? n - 1 : i].mangled;

		a->lines.at[a->lines.n++] = line_of(a, &frames[i], mangled);
	}
	if (is_last(a, first))
		a->lines.n = first;
	else
		a->last = first;
	*ret_first = (uint32_t)a->last;
	*ret_n = (uint32_t)shown;
	return buf_failed(&a->texts) ? base_oom() : 0;
}

static inline uint32_t length_of(const char *text)
{
	uint32_t n;

	memcpy(&n, text, sizeof(n));
	return n;
}

/* Most texts are short: up to COPY_BYTES more are copied, which takes less time than memcpy(3). */
static inline char *copy_text(char *to, const char *text, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += COPY_BYTES)
		memcpy(to + i, text + sizeof(n) + i, COPY_BYTES);
	return to + n;
}

void llvm_answers_print(const struct llvm_answers *a, size_t first, size_t n, struct buf *out)
{
	for (const struct llvm_line *l = a->lines.at + first; l < a->lines.at + first + n; l++) {
		const char *name = a->texts.data + l->name, *file = a->texts.data + l->file;
		uint32_t name_n = length_of(name), file_n = length_of(file);
		char *to;

		if (!buf_reserve(out, (size_t)name_n + file_n + COPY_BYTES + 2 * DIGITS_MAX + 2))
			return;
		to = copy_text(out->data + out->len, name, name_n);
		to = copy_text(to, file, file_n);
		to = digits_u64(to, l->line);
		*to++ = ':';
		to = digits_u64(to, l->column);
		*to++ = '\n';
		out->len = (size_t)(to - out->data);
	}
	buf_char(out, '\n');
}

void llvm_answers_reset(struct llvm_answers *a)
{
	buf_reset(&a->texts);
	memset(a->names, 0, sizeof(a->names));
	memset(a->files, 0, sizeof(a->files));
	a->lines.n = a->last = 0;
}

void llvm_answers_done(struct llvm_answers *a)
{
	buf_done(&a->texts);
	vec_done(&a->lines);
}
