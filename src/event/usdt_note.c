/* SPDX-License-Identifier: MIT */
#include "event/usdt_note.h"

#include <ctype.h>

#include "base/map.h"
#include "elf/note.h"

enum { NOTES_MAX = 65536, NOTES_SIZE_MAX = 4 << 20 };

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

/* Whether an address is in code of the file; a breakpoint elsewhere would change data. */
static bool is_code(const struct elf *elf, uint64_t vaddr)
{
	vec_each (&elf->segments, s)
		if (s->type == PT_LOAD && s->flags & PF_X && vaddr >= s->vaddr &&
			vaddr - s->vaddr < s->filesz)
			return true;
	return false;
}

/* Names are printed and are parts of event names. */
static bool is_name(const char *text)
{
	size_t n = 0;

	while (isgraph((unsigned char)text[n]) && !strchr(":,/{}\"'", text[n]))
		n++;
	return n && !text[n];
}

/* Three addresses; provider, name, operands. */
static int visit_note(
	const struct notes *notes, const struct elf_note *note, usdt_site_fn *fn, void *ctx)
{
	const char *p = (const char *)note->desc, *end = p + note->desc_size;
	const struct elf *elf = &notes->file.elf;
	struct usdt_site site = {.elf = elf};
	uint64_t words[3], moved;

	memcpy(words, p, sizeof(words));
	p += sizeof(words);
	site.provider = take_string(&p, end);
	site.event = site.provider ? take_string(&p, end) : NULL;
	site.operands = site.event ? take_string(&p, end) : NULL;
	if (!site.operands || !is_name(site.provider) || !is_name(site.event))
		return 0;
	moved = notes->base ? notes->base - words[1] : 0; /* by prelink(8) */
	site.vaddr = words[0] + moved;
	if (!is_code(elf, site.vaddr) || !elf_file_offset(elf, site.vaddr, &site.offset))
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
