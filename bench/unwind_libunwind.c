/* SPDX-License-Identifier: MIT */
/*
 * User stacks by libunwind, from the same registers, copied stacks and mappings as attar's. The
 * search tables (.eh_frame_hdr) are read from mapped files, which are opened when the mappings have
 * changed; libunwind keeps what it found for an address in its cache.
 */
#include <fcntl.h>
#include <libunwind.h>
#include <string.h>
#include <sys/mman.h>

#include "elf/elf.h"
#include "symbol/address_space.h"
#include "symbol/dso.h"
#include "symbol/symbols.h"
#include "unwind/registers.h"
#include "unwinding.h"

enum { MODULES_MAX = 256, HEADER_BYTES = 12, ENTRY_BYTES = 8 };

/* A file mapped as code. */
struct module {
	uint64_t start, end; /* of the code */
	uint64_t bias;       /* address - that in the file */
	const uint8_t *bytes;
	uint64_t size;
	struct elf_file file;
	const struct elf_section *table; /* .eh_frame_hdr; NULL: none */
};

static struct {
	const struct ranges *ranges; /* whose modules were read */
	size_t n_ranges;
	struct module modules[MODULES_MAX];
	size_t n;
	const struct attar_unwind_input *input;
	struct unwind_sampled sampled;
	struct unwind_frame first;
} now;

/* The bytes of a file at an address, or NULL. */
static const uint8_t *module_bytes(const struct module *m, uint64_t address, uint64_t n)
{
	vec_each (&m->file.elf.segments, s) {
		uint64_t at = address - m->bias - s->vaddr;

		if (s->type == PT_LOAD && at < s->filesz && n <= s->filesz - at &&
			s->offset + at + n <= m->size)
			return m->bytes + s->offset + at;
	}
	return NULL;
}

static int access_mem(
	unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write, void *arg)
{
	uint64_t at = address - now.first.reg[now.first.machine->sp];

	(void)as;
	(void)arg;
	if (write)
		return -UNW_EINVAL;
	if (now.input->stack_size >= 8 && at <= now.input->stack_size - 8) {
		memcpy(value, (const char *)now.input->stack + at, 8);
		return 0;
	}
	for (size_t i = 0; i < now.n; i++) {
		const uint8_t *bytes = module_bytes(&now.modules[i], address, 8);

		if (bytes) {
			memcpy(value, bytes, 8);
			return 0;
		}
	}
	return -UNW_EINVAL;
}

static int access_reg(
	unw_addr_space_t as, unw_regnum_t number, unw_word_t *value, int write, void *arg)
{
	(void)as;
	(void)arg;
	if (write || number < 0 || number > UNW_X86_64_RIP)
		return -UNW_EINVAL;
	*value = number == UNW_X86_64_RIP ? now.first.pc : now.first.reg[number];
	return 0;
}

static int access_fpreg(
	unw_addr_space_t as, unw_regnum_t number, unw_fpreg_t *value, int write, void *arg)
{
	(void)as, (void)number, (void)value, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static int find_proc_info(
	unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need_info, void *arg)
{
	for (size_t i = 0; i < now.n; i++) {
		const struct module *m = &now.modules[i];
		unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
		const uint8_t *header;
		uint32_t entries;

		if (ip < m->start || ip >= m->end || !m->table)
			continue;
		header = module_bytes(m, m->table->addr + m->bias, HEADER_BYTES);
		if (!header)
			return -UNW_ENOINFO;
		memcpy(&entries, header + 8, sizeof(entries));
		table.start_ip = m->start;
		table.end_ip = m->end;
		table.u.rti.segbase = m->table->addr + m->bias;
		table.u.rti.table_data = table.u.rti.segbase + HEADER_BYTES;
		table.u.rti.table_len = (uint64_t)entries * ENTRY_BYTES / sizeof(unw_word_t);
		return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &table, info, need_info, arg);
	}
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	(void)as, (void)info, (void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *address, void *arg)
{
	(void)as, (void)address, (void)arg;
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t address, char *name, size_t size,
	unw_word_t *offset, void *arg)
{
	(void)as, (void)address, (void)name, (void)size, (void)offset, (void)arg;
	return -UNW_EINVAL;
}

static bool add_module(const struct range *range, const char *path)
{
	struct module *m = &now.modules[now.n];
	void *bytes;

	*m = (struct module){.start = range->start, .end = range->start + range->len};
	if (elf_file_open(&m->file, path) < 0)
		return false;
	m->size = m->file.elf.source.size;
	bytes = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->file.fd, 0);
	if (bytes == MAP_FAILED) {
		elf_file_close(&m->file);
		return false;
	}
	m->bytes = bytes;
	vec_each (&m->file.elf.segments, s)
		if (s->type == PT_LOAD && s->flags & PF_X)
			m->bias = range->start - range->pgoff - (s->vaddr - s->offset);
	m->table = elf_section_named(&m->file.elf, ".eh_frame_hdr");
	now.n++;
	return true;
}

static void read_modules(const struct attar_address_space *space)
{
	while (now.n) {
		struct module *m = &now.modules[--now.n];

		munmap((void *)m->bytes, m->size);
		elf_file_close(&m->file);
	}
	for (size_t i = 0; i < space->ranges->n && now.n < MODULES_MAX; i++) {
		const struct range *range = &space->ranges->at[i];
		const struct dso *dso = dsos_get(&space->symbols->dsos, range->dso);

		if (dso->key.kind == ATTAR_DSO_IS_FILE)
			add_module(range, dso->key.path);
	}
	now.ranges = space->ranges;
	now.n_ranges = space->ranges->n;
}

size_t libunwind_unwind(struct attar_address_space *space, const struct attar_unwind_input *input,
	uint64_t *ret_addresses, size_t max)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	static unw_addr_space_t as;
	unw_cursor_t cursor;
	unw_word_t pc;
	size_t n = 0;

	if (!space->ranges || !unwind_frame_init(&now.first, &input->regs, &now.sampled) ||
		now.first.machine->elf != EM_X86_64)
		return 0;
	if (!as) {
		as = unw_create_addr_space(&accessors, 0);
		unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	}
	if (now.ranges != space->ranges || now.n_ranges != space->ranges->n) {
		read_modules(space);
		unw_flush_cache(as, 0, 0);
	}
	now.input = input;
	if (unw_init_remote(&cursor, as, NULL) < 0)
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0)
			break;
		ret_addresses[n++] = pc;
	} while (n < max && unw_step(&cursor) > 0);
	return n;
}
