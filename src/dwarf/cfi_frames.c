/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi_frames.h"

#include "dwarf/decompress.h"

enum { SECTION_MAX = 256 << 20, CIE_INSTRUCTIONS_MAX = 4096 };

/* ---- entries ---- */

static uint64_t offset_of(const struct cfi_frames *f, const struct cursor *c)
{
	return (uint64_t)(c->at - f->bytes);
}

static uint64_t vaddr_of(const struct cfi_frames *f, const struct cursor *c)
{
	return f->vaddr + offset_of(f, c);
}

/* Takes the length and id of the next entry. False at the end of the section. */
bool cfi_frames_take(const struct cfi_frames *f, struct cursor *all, struct cfi_entry *e)
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
	const struct cfi_frames *f, struct cfi_cie *cie, struct cursor *c, const char *letters)
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

static bool parse_cie(struct cfi_frames *f, struct cfi_entry *e, struct cfi_cie *cie)
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
	cie->address_size = f->elf.is64 ? 8 : 4;
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
	return ok && !c->failed && cie->return_reg < CFI_REGISTERS && cie->code_align &&
	       c->end - c->at <= CIE_INSTRUCTIONS_MAX; /* they are run for each function */
}

/* Finds the CIE of a function. Most functions follow one of the same CIE. */
static const struct cfi_cie *cie_at(struct cfi_frames *f, uint64_t offset)
{
	struct cursor at = {.at = f->bytes, .end = f->bytes + f->size};
	struct cfi_entry e;

	if (f->cie.offset == offset)
		return &f->cie;
	f->cie = (struct cfi_cie){.offset = UINT64_MAX};
	if (!cursor_take(&at, offset) || !cfi_frames_take(f, &at, &e) || !e.is_cie ||
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

int cfi_frames_code(struct cfi_frames *f, struct cfi_entry *e, struct cfi_code *ret_code)
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
	if (c->failed || !in_file(&f->elf, vaddr, size, &offset))
		return -EBADMSG;
	*ret_code = (struct cfi_code){
		.vaddr = vaddr, .size = size, .offset = offset, .cie = cie, .instructions = *c};
	return 0;
}

/* ---- the section ---- */

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

/* What addresses are converted with. */
static int keep_segments(struct cfi_frames *f, const struct elf *elf)
{
	f->elf.is64 = elf->is64;
	f->elf.machine = elf->machine;
	vec_each (&elf->segments, segment)
		if (segment->type == PT_LOAD && vec_push(&f->elf.segments, *segment) < 0)
			return base_oom();
	return 0;
}

int cfi_frames_read(const struct elf *elf, const struct elf_section *section, bool is_eh,
	struct cfi_frames **ret_frames)
{
	struct cfi_frames *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return base_oom();
	f->size = section->size;
	f->vaddr = section->addr;
	f->is_eh = is_eh;
	f->cie.offset = UINT64_MAX;
	r = section->flags & SHF_COMPRESSED
		    ? read_packed(elf, section, &f->bytes, &f->size)
		    : elf_section_read(elf, section, SECTION_MAX, &f->bytes);
	if (r == 0)
		r = keep_segments(f, elf);
	if (r < 0)
		cfi_frames_free(f);
	else
		*ret_frames = f;
	return r;
}

void cfi_frames_shrink(struct cfi_frames *f, uint64_t size)
{
	uint8_t *bytes = size && size < f->size ? realloc(f->bytes, size) : NULL;

	if (!bytes)
		return;
	f->bytes = bytes;
	f->size = size;
}

void cfi_frames_free(struct cfi_frames *f)
{
	if (!f)
		return;
	cfi_builder_done(&f->builder);
	vec_done(&f->places);
	vec_done(&f->found);
	elf_done(&f->elf);
	free(f->bytes);
	free(f);
}

size_t cfi_frames_memory(const struct cfi_frames *f)
{
	return f ? sizeof(*f) + f->size + f->places.size * sizeof(*f->places.at) +
			       f->found.size * sizeof(*f->found.at) +
			       slots_memory(&f->builder.slots)
		 : 0;
}
