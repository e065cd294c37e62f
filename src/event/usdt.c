/* SPDX-License-Identifier: MIT */
#include "event/usdt.h"

#include <stdio.h>

#include "elf/elf.h"
#include "elf/note.h"
#include "event/probe.h"
#include "event/user_event.h"

enum { CONVERTED_MAX = 16384, HEADER = 8, NOTES_MAX = 65536, NOTES_SIZE_MAX = 64 << 20 };

struct usdt {
	struct attar_format *format;
	const struct attar_format *fetched; /* of the uprobe; owned by the catalog */
	size_t n_fields;
	struct usdt_field fields[USDT_FIELDS];
	size_t fixed; /* bytes of the payload before the variable-length data */
	_Alignas(8) char raw[HEADER + CONVERTED_MAX];
};

/* ---- notes ---- */

struct notes {
	struct elf_file file;
	uint8_t *probes, *perfume; /* bytes of the two note sections, owned; NULL: none */
	size_t probes_size, perfume_size;
	uint64_t base;     /* address of .stapsdt.base; 0: none */
	struct map fields; /* address of a probe to the strings with its signs and fields */
};

static int read_section(struct notes *notes, const char *name, uint8_t **ret_bytes, size_t *ret_n)
{
	const struct elf_section *section = elf_section_named(&notes->file.elf, name);
	int r = section ? elf_section_read(&notes->file.elf, section, NOTES_SIZE_MAX, ret_bytes)
			: -ENODATA;

	if (r == 0)
		*ret_n = section->size;
	return r == -ENODATA ? 0 : r;
}

static int read_sections(struct notes *notes)
{
	const struct elf_section *base = elf_section_named(&notes->file.elf, ".stapsdt.base");
	int r = read_section(notes, ".note.stapsdt", &notes->probes, &notes->probes_size);

	if (r == 0)
		r = read_section(notes, ".note.perfume", &notes->perfume, &notes->perfume_size);
	notes->base = base ? base->addr : 0;
	return r;
}

/* Takes the next string of a note; NULL if it is not terminated within the note. */
static const char *take_string(const char **p, const char *end)
{
	const char *text = *p;
	size_t n = text < end ? strnlen(text, (size_t)(end - text)) : 0;

	if (text >= end || text + n == end)
		return NULL;
	*p = text + n + 1;
	return text;
}

/* The next note of that owner and type with at least `least` bytes. */
static bool next_note(struct elf_notes *notes, const char *owner, uint32_t type, size_t least,
	struct elf_note *ret_note)
{
	while (elf_note_next(notes, ret_note))
		if (elf_note_is(ret_note, owner, type) && ret_note->desc_size >= least)
			return true;
	return false;
}

/* Index all probes in one pass: a file may have many probes and notes. */
static int index_fields(struct notes *notes)
{
	struct elf_notes at = {.bytes = notes->perfume, .size = notes->perfume_size};
	struct elf_note note;

	for (int i = 0; i < NOTES_MAX && next_note(&at, "perfume", 1, 8, &note); i++) {
		const char *strings = (const char *)note.desc + 8, *p = strings,
			   *end = (const char *)note.desc + note.desc_size;
		uint64_t address;

		memcpy(&address, note.desc, 8);
		if (!take_string(&p, end) || !take_string(&p, end) ||
			map_get(&notes->fields, address))
			continue;
		if (map_put(&notes->fields, address, (uintptr_t)strings) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Sets the fields of the probe at that address, if it has a note. */
static void find_fields(const struct notes *notes, uint64_t pc, struct usdt_site *site)
{
	const uint64_t *strings = map_get(&notes->fields, pc);

	if (!strings)
		return;
	site->signs = (const char *)(uintptr_t)*strings;
	site->fields = site->signs + strlen(site->signs) + 1;
}

/* Three addresses; provider, name, operands. */
static int visit_note(
	const struct notes *notes, const struct elf_note *note, usdt_site_fn *fn, void *ctx)
{
	const char *p = (const char *)note->desc, *end = p + note->desc_size, *provider;
	const struct elf *elf = &notes->file.elf;
	struct usdt_site site = {0};
	uint64_t words[3], moved;

	memcpy(words, p, sizeof(words));
	p += sizeof(words);
	provider = take_string(&p, end);
	site.event = provider ? take_string(&p, end) : NULL;
	site.operands = site.event ? take_string(&p, end) : NULL;
	if (!site.operands || strcmp(provider, "perfume") != 0)
		return 0;
	moved = notes->base ? notes->base - words[1] : 0; /* by prelink(8) */
	if (!elf_file_offset(elf, words[0] + moved, &site.offset))
		return 0;
	if (words[2] && !elf_file_offset(elf, words[2] + moved, &site.ref))
		return 0;
	find_fields(notes, words[0], &site);
	return fn(ctx, &site);
}

static int each_note(struct notes *notes, usdt_site_fn *fn, void *ctx)
{
	struct elf_notes at;
	struct elf_note note;
	int r = read_sections(notes);

	if (r == 0)
		r = index_fields(notes);
	at = (struct elf_notes){.bytes = notes->probes, .size = notes->probes_size};
	for (int i = 0; r == 0 && i < NOTES_MAX && next_note(&at, "stapsdt", 3, 24, &note); i++)
		r = visit_note(notes, &note, fn, ctx);
	return r;
}

int usdt_each(const char *path, usdt_site_fn *fn, void *ctx)
{
	struct notes notes = {0};
	int r = elf_file_open(&notes.file, path);

	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	r = each_note(&notes, fn, ctx);
	map_done(&notes.fields);
	free(notes.probes);
	free(notes.perfume);
	elf_file_close(&notes.file);
	return r;
}

/* ---- the uprobe ---- */

static const struct attar_field *fetched_field(
	const struct usdt *usdt, unsigned i, const char *suffix)
{
	char name[32];

	snprintf(name, sizeof(name), "a%u%s", i, suffix);
	return attar_format_field(usdt->fetched, name);
}

/* Looks up the uprobe's fields and computes the offsets in the payload. */
static void resolve(struct usdt *usdt)
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
	struct probe probe = {.user = true, .offset = site->offset, .ref = site->ref, .file = path};
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
	resolve(usdt);
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
