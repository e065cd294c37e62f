/* SPDX-License-Identifier: MIT */
#include "peer/symbol_list.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "elf/kallsyms.h"
#include "elf/kallsyms_text.h"

enum { CHUNK = 64 << 10, TEXT_MAX = 64 << 20 };

struct list {
	struct buf text;
	bool in_functions; /* the last line was one */
};

static void put(struct buf *text, const struct kallsyms_line *line)
{
	buf_printf(text, "%llx %c ", (unsigned long long)line->address, line->type);
	buf_add(text, line->name, line->name_len);
	if (line->owner) {
		buf_char(text, '\t');
		buf_add(text, line->owner, line->owner_len);
	}
	buf_char(text, '\n');
}

static int keep(void *ctx, const struct kallsyms_line *line)
{
	struct list *list = ctx;
	bool is_code = kallsyms_is_code(line), is_function = is_code && !kallsyms_is_noise(line);

	if (!line->address || (!is_function && (is_code || !list->in_functions)))
		return 0;
	list->in_functions = is_function;
	put(&list->text, line);
	return buf_failed(&list->text) ? base_oom() : 0;
}

static int deflate_text(const struct buf *text, struct buf *packed)
{
#ifdef HAVE_ZLIB
	uLongf n = compressBound(text->len);

	if (!buf_reserve(packed, n) ||
		compress2((Bytef *)packed->data + packed->len, &n, (const Bytef *)text->data,
			text->len, Z_BEST_SPEED) != Z_OK)
		return base_oom();
	packed->len += n;
	return 0;
#else
	return attar_fail(-ENOTSUP, "attar was built without zlib");
#endif
}

int symbol_list_pack(const char *kallsyms, struct buf *packed)
{
	struct list list = {0};
	int r = kallsyms_each(kallsyms, keep, &list);

	if (r == 0 && !list.text.len)
		r = attar_fail(-EACCES, "%s hides the addresses of the kernel's functions",
			CLIP(kallsyms));
	if (r == 0)
		r = deflate_text(&list.text, packed);
	buf_done(&list.text);
	return r;
}

#ifdef HAVE_ZLIB

/* Inflates to the end of the stream. */
static int inflate_all(z_stream *z, struct buf *text)
{
	int r = Z_OK;

	while (r == Z_OK && text->len < TEXT_MAX) {
		if (!buf_reserve(text, CHUNK))
			return base_oom();
		z->next_out = (Bytef *)text->data + text->len;
		z->avail_out = CHUNK;
		r = inflate(z, Z_NO_FLUSH);
		text->len += CHUNK - z->avail_out;
	}
	if (r == Z_MEM_ERROR)
		return base_oom();
	return r == Z_STREAM_END
		       ? 0
		       : attar_fail(-EBADMSG, "the sender's kernel symbols are corrupted");
}

int symbol_list_unpack(const void *packed, size_t n, struct buf *text)
{
	z_stream z = {.next_in = (Bytef *)packed, .avail_in = (uInt)n};
	int r;

	if (inflateInit(&z) != Z_OK)
		return base_oom();
	r = inflate_all(&z, text);
	inflateEnd(&z);
	return r;
}

#else

int symbol_list_unpack(const void *packed, size_t n, struct buf *text)
{
	return attar_fail(-ENOTSUP, "attar was built without zlib");
}

#endif
