/* SPDX-License-Identifier: MIT */
/* Converts the operands of a USDT note to fetch arguments of a uprobe. */
#include <stdio.h>

#include "event/usdt.h"
#include "event/usdt_operand.h"

enum {
	ELEMENTS = 64,      /* maximum array length of a uprobe argument (MAX_ARRAY_LEN) */
	FETCH_BYTES = 2048, /* for all arrays: a record must fit in a page */
	CHUNKS_MAX = 4,
};

/* ---- fields ---- */

/* The size in bytes of "u32", "f64" etc.; 0: not a number type. */
static unsigned number_size(const char *type)
{
	unsigned bits;
	char kind, rest = 0;

	if (!strncmp(type, "char", 4))
		return 1;
	if (sscanf(type, "%c%u%c", &kind, &bits, &rest) < 2 || !strchr("usf", kind) ||
		(rest && rest != '['))
		return 0;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

/* One of "u64 id; u32[4] lots; __rel_loc char[] text"; written in the kernel's syntax. */
static int plan_field(const char *text, size_t n, struct usdt_field *f, struct buf *spelled)
{
	char copy[512], *name, *type = copy, *bracket;
	bool is_float;

	if (n >= sizeof(copy))
		return -EBADMSG;
	memcpy(copy, text, n);
	copy[n] = '\0';
	name = strrchr(copy, ' ');
	if (!name || strlen(name + 1) >= sizeof(f->name))
		return -EBADMSG;
	*name++ = '\0';
	strcpy(f->name, name);
	buf_str(spelled, spelled->len ? "; " : "");
	if (strchr("tpm", f->sign)) {
		if (strncmp(type, "__rel_loc ", 10) != 0)
			return -EBADMSG;
		buf_printf(spelled, "%s %s", type, name);
		type += 10;
	}
	f->size = (uint8_t)number_size(type);
	f->is_char = !strncmp(type, "char", 4);
	is_float = *type == 'f';
	bracket = strchr(type, '[');
	f->count = bracket ? (uint32_t)strtoul(bracket + 1, NULL, 10) : 1;
	if (!f->size || (f->sign == 'n' && f->count != 1) ||
		(f->sign == 'a' && (!f->count || f->count > FETCH_BYTES / f->size)))
		return -EBADMSG;
	if (bracket)
		*bracket = '\0';
	if (f->sign == 'a')
		buf_printf(spelled, "struct %sx%u %s %u", type, f->count, name, f->count * f->size);
	else if (f->sign == 'n' && is_float)
		buf_printf(spelled, "struct %s %s %u", type, name, f->size);
	else if (f->sign == 'n')
		buf_printf(spelled, "%s %s", type, name);
	return 0;
}

static void fetch_chunks(
	struct usdt_field *f, unsigned i, const char *at, unsigned *left, struct buf *fetch)
{
	unsigned bytes = ELEMENTS * f->size, fixed = f->sign == 'a' ? f->count : 0;
	unsigned wanted = fixed ? (fixed + ELEMENTS - 1) / ELEMENTS : CHUNKS_MAX;

	wanted = MIN(wanted, (unsigned)USDT_CHUNKS);
	for (f->n_chunks = 0; f->n_chunks < wanted && (*left >= bytes || !f->n_chunks || fixed);
		f->n_chunks++) {
		unsigned before = f->n_chunks * ELEMENTS;
		unsigned n = fixed ? MIN(fixed - before, (unsigned)ELEMENTS) : ELEMENTS;

		buf_printf(fetch, " a%uc%u=+%u(%s):u%u[%u]", i, f->n_chunks, before * f->size, at,
			f->size * 8, n);
		*left -= MIN(*left, bytes);
	}
}

/*
 * Adds the operands of one field (two for types p and m). Returns 0 or a negative errno; -ENODATA:
 * no more operands.
 */
static int fetch_field(const struct usdt_site *site, struct usdt_field *f, unsigned i,
	const char **operands, unsigned *left, struct buf *fetch)
{
	struct buf at _cleanup_(buf_done) = {0}, length _cleanup_(buf_done) = {0};
	struct usdt_type type;
	char text[USDT_OPERAND_MAX];
	int r;

	*operands = usdt_operand_next(*operands, text, sizeof(text), &type);
	if (!*operands)
		return -ENODATA;
	r = usdt_operand(site, text, &at);
	if (r == 0 && strchr("pm", f->sign)) {
		*operands = usdt_operand_next(*operands, text, sizeof(text), &type);
		if (!*operands)
			return -ENODATA;
		r = usdt_operand(site, text, &length);
		buf_printf(fetch, " a%un=%s:u64", i, buf_text(&length));
	}
	if (r < 0)
		return r;
	if (f->sign == 'n')
		buf_printf(fetch, " a%u=%s:u%u", i, buf_text(&at), MIN(type.size, 8U) * 8);
	else if (f->sign == 't')
		buf_printf(fetch, " a%u=+0(%s):string", i, buf_text(&at));
	else
		fetch_chunks(f, i, buf_text(&at), left, fetch);
	return 0;
}

/* A note without names: "8@%rax -4@%ebx" are u64 arg1 and s32 arg2. */
static void make_field_names(const char *operands, struct buf *fields, struct buf *signs)
{
	struct usdt_type type;
	char text[USDT_OPERAND_MAX];

	for (unsigned i = 1; (operands = usdt_operand_next(operands, text, sizeof(text), &type));
		i++) {
		buf_printf(fields, "%s%c%u arg%u", i > 1 ? "; " : "", type.is_signed ? 's' : 'u',
			MIN(type.size, 8U) * 8, i);
		buf_char(signs, 'n');
	}
}

int usdt_plan(const struct usdt_site *site, struct usdt_field fields[USDT_FIELDS], size_t *ret_n,
	struct buf *fetch, struct buf *spelled)
{
	struct buf invented _cleanup_(buf_done) = {0}, invented_signs _cleanup_(buf_done) = {0};
	const char *fields_text = site->fields, *signs = site->signs, *operands = site->operands;
	const char *text;
	unsigned left = FETCH_BYTES;
	size_t n = 0;
	int r = 0;

	if (!fields_text || !signs) {
		make_field_names(operands, &invented, &invented_signs);
		fields_text = buf_text(&invented);
		signs = buf_text(&invented_signs);
	}
	for (text = fields_text; *signs && n < USDT_FIELDS; signs++, n++) {
		struct usdt_field *f = &fields[n];
		size_t span = strcspn(text, ";"), before = spelled->len;

		*f = (struct usdt_field){.sign = *signs};
		r = strchr("ntpma", *signs) ? plan_field(text, span, f, spelled) : -EBADMSG;
		if (r == 0)
			r = fetch_field(site, f, (unsigned)n, &operands, &left, fetch);
		if (r == 0 && strchr("pma", f->sign) && !f->n_chunks)
			r = -EBADMSG;
		if (r < 0 && spelled->data)
			spelled->data[spelled->len = before] = '\0';
		/* USDT probes have at most 12 operands: skip the remaining fields. */
		if (r == -ENODATA)
			break;
		if (r == -EBADMSG)
			return attar_fail(r, "malformed fields of the USDT probe 'perfume:%s': %s",
				CLIP(site->event), fields_text);
		if (r < 0)
			return r;
		text += span + (text[span] == ';');
		text += strspn(text, " ");
	}
	*ret_n = n;
	return buf_failed(fetch) || buf_failed(spelled) ? base_oom() : 0;
}
