/* SPDX-License-Identifier: MIT */
/* Where a function lies in an ELF file, for a uprobe. */
#include <fcntl.h>
#include <gelf.h>

#include "base/limit.h"
#include "base/suggest.h"
#include "event/probe.h"

enum { BEST_MAX = 256 };

struct search {
	const char *name;
	uint64_t vaddr;
	bool found;
	struct suggest near;
	char best[BEST_MAX];
};

/* Names in .symtab may carry a version: "memcpy@@GLIBC_2.14". */
static bool is_named(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (!symbol[n] || symbol[n] == '@');
}

static void look_at(struct search *s, const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);
	const char *before = s->near.best;

	if (sym->st_shndx == SHN_UNDEF ||
		(type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	if (is_named(name, s->name)) {
		s->vaddr = sym->st_value;
		s->found = true;
		return;
	}
	if (strlen(name) >= BEST_MAX)
		return;
	suggest_offer(&s->near, name);
	if (s->near.best != before)
		s->near.best = strcpy(s->best, name);
}

static void search_table(struct search *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i <= INT32_MAX && !s->found; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (name && *name)
			look_at(s, &sym, name);
	}
}

int elf_file_offset(struct Elf *elf, uint64_t vaddr, uint64_t *ret_offset)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n) < 0)
		return -ENOENT;
	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || vaddr < ph.p_vaddr ||
			vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		*ret_offset = vaddr - ph.p_vaddr + ph.p_offset;
		return 0;
	}
	return -ENOENT;
}

static int search(Elf *elf, const char *path, const char *name, uint64_t *ret_offset)
{
	struct search s = {.name = name, .near.word = name};
	Elf_Scn *scn = NULL;

	if (elf_kind(elf) != ELF_K_ELF)
		return attar_fail(-ENOEXEC, "%s is no ELF file", CLIP(path));
	while (!s.found && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
			(shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			search_table(&s, elf, scn, &shdr);
	}
	if (s.found && elf_file_offset(elf, s.vaddr, ret_offset) == 0)
		return 0;
	if (s.near.best)
		return attar_fail(-ENOENT, "no function '%s' in %s: did you mean '%s'?", CLIP(name),
			CLIP(path), s.best);
	return attar_fail(-ENOENT,
		"no function '%s' in the symbol tables of %s: a file offset would do, as "
		"uprobe:0x1234@...",
		CLIP(name), CLIP(path));
}

int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset)
{
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	int r;
	Elf *elf;

	if (fd < 0)
		return attar_fail(
			-errno, "cannot open %s: %s", CLIP(path), limit_open_error(errno));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return attar_fail(-ENOSYS, "libelf is older than its header");
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return attar_fail(-ENOEXEC, "cannot read %s: %s", CLIP(path), elf_errmsg(-1));
	r = search(elf, path, name, ret_offset);
	elf_end(elf);
	return r;
}
