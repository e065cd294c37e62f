/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi.h"

#include "dwarf/cfi_program.h"
#include "dwarf/decompress.h"

enum { SECTION_MAX = 256 << 20, FUNCTIONS_MAX = 1 << 22, ROWS_MAX = 1 << 25 };

/* A section of frame information. */
struct frames {
	const struct elf *elf;
	struct cfi_builder *b;
	struct cursor all;
	const uint8_t *start;
	uint64_t vaddr;     /* of the section */
	bool is_eh;         /* .eh_frame */
	struct cfi_cie cie; /* the last one */
};

/* An entry: a CIE, or the FDE of a function. */
struct entry {
	struct cursor c; /* after its id */
	uint64_t cie;    /* offset of the CIE in the section */
	bool is_cie;
	uint8_t offset_size; /* 4, or 8 in the 64-bit format */
};

static uint64_t offset_of(const struct frames *f, const struct cursor *c)
{
	return (uint64_t)(c->at - f->start);
}

static uint64_t vaddr_of(const struct frames *f, const struct cursor *c)
{
	return f->vaddr + offset_of(f, c);
}

/* Takes the length and id of the next entry. False at the end of the section. */
static bool take_entry(const struct frames *f, struct cursor *all, struct entry *e)
{
	uint64_t length = cursor_number(all, 4), id_at;
	const uint8_t *body;

	e->offset_size = 4;
	if (length == UINT32_MAX) {
		length = cursor_number(all, 8);
		e->offset_size = 8;
	}
	if (all->failed || !length)
		return false;
	id_at = offset_of(f, all);
	body = cursor_take(all, length);
	if (!body)
		return false;
	e->c = (struct cursor){.at = body, .end = body + length};
	if (f->is_eh) {
		uint64_t back = cursor_number(&e->c, 4);

		e->is_cie = !back;
		e->cie = id_at - back;
	} else {
		e->cie = cursor_number(&e->c, e->offset_size);
		e->is_cie = e->cie == (e->offset_size == 8 ? UINT64_MAX : UINT32_MAX);
	}
	return true;
}

/* "zRS", "zPLR", ...: each letter stands for data, whose size the z declares. */
static bool take_augmentation(
	const struct frames *f, struct cfi_cie *cie, struct cursor *c, const char *letters)
{
	uint64_t size = cursor_uleb(c);
	const uint8_t *bytes = cursor_take(c, size);
	struct cursor data;

	if (!bytes)
		return false;
	data = (struct cursor){.at = bytes, .end = bytes + size};
	cie->has_augmentation = true;
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->pointer_encoding = cursor_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'L':
			cursor_u8(&data);
			break;
		case 'P':
			encoding = cursor_u8(&data) & (uint8_t)~DW_EH_PE_indirect;
			cursor_pointer(&data, encoding, vaddr_of(f, &data), cie->address_size);
			break;
		case 'B': /* return addresses are signed with key B */
		case 'G':
			break; /* memory tagging */
		default:
			return false;
		}
	}
	return !data.failed;
}

static bool parse_cie(struct frames *f, struct entry *e, struct cfi_cie *cie)
{
	struct cursor *c = &e->c;
	uint8_t version = cursor_u8(c);
	const char *letters = (const char *)c->at;
	const uint8_t *nul = memchr(c->at, 0, (size_t)(c->end - c->at));
	bool ok = nul && (version == 1 || version == 3 || version == 4);

	if (!ok)
		return false;
	c->at = nul + 1;
	cie->pointer_encoding = DW_EH_PE_absptr;
	cie->address_size = f->elf->is64 ? 8 : 4;
	if (version == 4) {
		cie->address_size = cursor_u8(c);
		if (cursor_u8(c) || (cie->address_size != 8 && cie->address_size != 4))
			return false;
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	cie->return_reg = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	if (*letters == 'z')
		ok = take_augmentation(f, cie, c, letters + 1);
	else
		ok = !*letters;
	cie->instructions = *c;
	return ok && !c->failed && cie->return_reg < CFI_REGISTERS && cie->code_align;
}

/* Finds the CIE of a function. Most functions follow one of the same CIE. */
static const struct cfi_cie *cie_at(struct frames *f, uint64_t offset)
{
	struct cursor at = {.at = f->start, .end = f->all.end};
	struct entry e;

	if (f->cie.offset == offset)
		return &f->cie;
	f->cie = (struct cfi_cie){.offset = UINT64_MAX};
	if (!cursor_take(&at, offset) || !take_entry(f, &at, &e) || !e.is_cie ||
		!parse_cie(f, &e, &f->cie))
		return NULL;
	f->cie.offset = offset;
	return &f->cie;
}

static bool in_file(const struct elf *elf, uint64_t vaddr, uint64_t size, uint64_t *ret_offset)
{
	uint64_t last;

	return size && vaddr + size > vaddr && elf_file_offset(elf, vaddr, ret_offset) &&
	       elf_file_offset(elf, vaddr + size - 1, &last) && last - *ret_offset == size - 1 &&
	       last < UINT32_MAX;
}

/* Adds a function. Returns 0, -EBADMSG or -ENOMEM. */
static int add_function(struct frames *f, struct entry *e)
{
	const struct cfi_cie *cie = cie_at(f, e->cie);
	struct cursor *c = &e->c;
	uint64_t vaddr, size, offset;

	if (!cie)
		return -EBADMSG;
	vaddr = cursor_pointer(c, cie->pointer_encoding, vaddr_of(f, c), cie->address_size);
	size = cursor_pointer(c, cie->pointer_encoding & DW_EH_PE_format, 0, cie->address_size);
	if (cie->has_augmentation)
		cursor_take(c, cursor_uleb(c));
	if (c->failed || !in_file(f->elf, vaddr, size, &offset))
		return -EBADMSG;
	return cfi_program_run(f->b, cie, c, vaddr, size, offset);
}

static int read_frames(struct frames *f)
{
	struct cfi_table *t = f->b->table;
	struct entry e;
	int r = 0;

	while (r != -ENOMEM && f->all.at < f->all.end && take_entry(f, &f->all, &e)) {
		if (e.is_cie)
			continue;
		if (f->b->functions.n >= FUNCTIONS_MAX || f->b->rows.n >= ROWS_MAX) {
			t->skipped++;
			break;
		}
		t->functions++;
		r = add_function(f, &e);
		t->skipped += r < 0;
	}
	return r == -ENOMEM ? r : 0;
}

/* Appends no NUL. Returns 0; -ENODATA: it has no bytes, or cannot be decompressed; -ENOMEM. */
static int read_packed(const struct elf *elf, const struct elf_section *section,
	uint8_t **ret_bytes, uint64_t *ret_size)
{
	struct elf_section packed = *section;
	uint8_t *from _cleanup_free_ = NULL, *bytes _cleanup_free_ = NULL;
	uint64_t size = section->size;
	uint32_t method;
	int r;

	if (!decompress_header(elf, &packed.offset, &packed.size, &size, &method) || !size ||
		size > SECTION_MAX)
		return -ENODATA;
	r = elf_section_read(elf, &packed, SECTION_MAX, &from);
	if (r < 0)
		return r;
	bytes = malloc(size);
	if (!bytes)
		return base_oom();
	if (decompress(method, from, packed.size, bytes, size) < 0)
		return -ENODATA;
	*ret_bytes = TAKE_PTR(bytes);
	*ret_size = size;
	return 0;
}

static int read_section(
	struct cfi_builder *b, const struct elf *elf, const struct elf_section *section, bool is_eh)
{
	uint8_t *bytes _cleanup_free_ = NULL;
	uint64_t size = section->size;
	int r = section->flags & SHF_COMPRESSED
			? read_packed(elf, section, &bytes, &size)
			: elf_section_read(elf, section, SECTION_MAX, &bytes);
	struct frames f = {.elf = elf,
		.b = b,
		.start = bytes,
		.vaddr = section->addr,
		.is_eh = is_eh,
		.cie = {.offset = UINT64_MAX}};

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	f.all = (struct cursor){.at = bytes, .end = bytes + size};
	return read_frames(&f);
}

/* A file without section headers: PT_GNU_EH_FRAME leads to the frames. */
static bool find_by_segment(const struct elf *elf, struct elf_section *ret_section)
{
	uint8_t header[12];
	struct cursor c = {.at = header + 4, .end = header + sizeof(header)};

	vec_each (&elf->segments, hdr) {
		uint64_t vaddr, offset;

		if (hdr->type != PT_GNU_EH_FRAME || hdr->filesz < sizeof(header) ||
			byte_source_read(&elf->source, hdr->offset, header, sizeof(header)) < 0 ||
			header[0] != 1)
			continue;
		vaddr = cursor_pointer(&c, header[1], hdr->vaddr + 4, elf->is64 ? 8 : 4);
		if (c.failed)
			return false;
		vec_each (&elf->segments, s) {
			if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
				continue;
			offset = vaddr - s->vaddr;
			*ret_section = (struct elf_section){.type = SHT_PROGBITS,
				.addr = vaddr,
				.offset = s->offset + offset,
				.size = s->filesz - offset};
			return true;
		}
	}
	return false;
}

int cfi_read(const struct elf *elf, struct cfi_table *ret_table)
{
	struct cfi_builder b = {.table = ret_table};
	const struct elf_section *section = elf_section_named(elf, ".eh_frame");
	struct elf_section found;
	int r = 0;

	*ret_table = (struct cfi_table){.machine = elf->machine};
	if (!section && find_by_segment(elf, &found))
		section = &found;
	if (section)
		r = read_section(&b, elf, section, true);
	section = elf_section_named(elf, ".debug_frame");
	if (r == 0 && section && !b.functions.n)
		r = read_section(&b, elf, section, false);
	if (r == 0 && b.functions.n)
		r = cfi_builder_finish(&b);
	cfi_builder_done(&b);
	if (r < 0)
		cfi_table_done(ret_table);
	return r;
}
