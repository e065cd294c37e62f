/* SPDX-License-Identifier: MIT */
#include "event/usdt.h"

#include <stdio.h>

#include "event/probe.h"
#include "event/user_event.h"

enum { CONVERTED_MAX = 16384, HEADER = 8 };

struct usdt {
	struct attar_format *format;
	const struct attar_format *fetched; /* of the uprobe; owned by the catalog */
	size_t n_fields;
	struct usdt_field fields[USDT_FIELDS];
	size_t fixed; /* bytes of the payload before the variable-length data */
	_Alignas(8) char raw[HEADER + CONVERTED_MAX];
};

/* ---- the uprobe ---- */

static const struct attar_field *fetched_field(
	const struct usdt *usdt, unsigned i, const char *suffix)
{
	char name[32];

	snprintf(name, sizeof(name), "a%u%s", i, suffix);
	return attar_format_field(usdt->fetched, name);
}

/* Looks up the uprobe's fields and computes the offsets in the payload. */
static void usdt_resolve(struct usdt *usdt)
{
	unsigned at = 0;

	for (unsigned i = 0; i < usdt->n_fields; i++) {
		struct usdt_field *f = &usdt->fields[i];

		f->value = fetched_field(usdt, i, "");
		f->length = fetched_field(usdt, i, "n");
		for (unsigned c = 0; c < f->n_chunks; c++) {
			char suffix[16];

			snprintf(suffix, sizeof(suffix), "c%u", c);
			f->chunks[c] = fetched_field(usdt, i, suffix);
		}
		f->offset = at;
		at += strchr("tpm", f->sign) ? 4 : f->size * f->count;
	}
	usdt->fixed = at;
}

int usdt_new(struct attar_catalog *catalog, const char *path, const struct usdt_site *site,
	struct usdt **ret_usdt)
{
	struct buf fetch _cleanup_(buf_done) = {0}, spelled _cleanup_(buf_done) = {0};
	struct probe probe = {.user = true, .offset = site->offset, .ref = site->ref, .link = path};
	struct usdt *usdt = calloc(1, sizeof(*usdt));
	const char *system, *name;
	int r;

	if (!usdt)
		return base_oom();
	r = usdt_plan(site, usdt->fields, &usdt->n_fields, &fetch, &spelled);
	if (r == 0) {
		probe.fetch = buf_text(&fetch);
		r = dynamic_event_create(&catalog->tracefs, &probe, &system, &name);
	}
	if (r == 0)
		r = attar_catalog_format(catalog, system, name, &usdt->fetched);
	if (r == 0)
		r = userevent_format(site->event, buf_text(&spelled), 0, &usdt->format);
	if (r < 0) {
		usdt_free(usdt);
		return r;
	}
	usdt_resolve(usdt);
	*ret_usdt = usdt;
	return 0;
}

struct usdt *usdt_free(struct usdt *usdt)
{
	if (usdt)
		attar_format_free(usdt->format);
	free(usdt);
	return NULL;
}

uint64_t usdt_id(const struct usdt *usdt)
{
	return usdt->fetched->id;
}

const struct attar_format *usdt_format(const struct usdt *usdt)
{
	return usdt->format;
}

/* ---- records ---- */

struct record {
	const void *raw;
	size_t size;
};

/* Copies at most n bytes of the chunks to a buffer of `room` bytes. Returns the bytes copied. */
static size_t copy_chunks(
	const struct usdt_field *f, const struct record *from, size_t n, char *to, size_t room)
{
	size_t done = 0;

	n = MIN(n, room);
	for (unsigned c = 0; c < f->n_chunks && done < n; c++) {
		size_t len = 0;
		const void *at =
			f->chunks[c] ? attar_field_bytes(f->chunks[c], from->raw, from->size, &len)
				     : NULL;

		len = MIN(len, n - done);
		if (!at || !len)
			break;
		memcpy(to + done, at, len);
		done += len;
	}
	return done;
}

/* Writes the data after the fixed part to `to`. Returns its size in bytes. */
static size_t copy_dynamic(
	const struct usdt_field *f, const struct record *from, char *to, size_t room)
{
	uint64_t n = f->length ? attar_field_u64(f->length, from->raw, from->size) : 0;
	size_t len = 0;
	const char *text;

	if (f->sign != 't') {
		len = copy_chunks(f, from, n > room ? room : n * f->size, to, room);
		if (f->is_char && len < room)
			to[len++] = '\0';
		return len;
	}
	text = f->value ? attar_field_string(f->value, from->raw, from->size, &len) : NULL;
	len = text ? MIN(len, room - 1) : 0;
	if (len)
		memcpy(to, text, len);
	to[len] = '\0';
	return len + 1;
}

size_t usdt_convert(struct usdt *usdt, const void *raw, size_t size, const void **ret_raw)
{
	struct record from = {raw, size};
	char *payload = usdt->raw + HEADER;
	size_t end = usdt->fixed;

	if (size < HEADER || usdt->fixed > CONVERTED_MAX)
		return 0;
	memcpy(usdt->raw, raw, HEADER);
	for (size_t i = 0; i < usdt->n_fields; i++) {
		const struct usdt_field *f = &usdt->fields[i];
		char *to = payload + f->offset;
		uint64_t value;

		if (f->sign == 'n') {
			value = f->value ? attar_field_u64(f->value, raw, size) : 0;
			memcpy(to, &value, f->size);
		} else if (f->sign == 'a') {
			memset(to, 0, (size_t)f->size * f->count);
			copy_chunks(f, &from, (size_t)f->size * f->count, to,
				(size_t)f->size * f->count);
		} else {
			size_t n = end < CONVERTED_MAX ? copy_dynamic(f, &from, payload + end,
								 CONVERTED_MAX - end)
						       : 0;
			uint32_t place = (uint32_t)(n << 16 | (end - (f->offset + 4)));

			memcpy(to, &place, sizeof(place));
			end += n;
		}
	}
	*ret_raw = usdt->raw;
	return HEADER + end;
}
