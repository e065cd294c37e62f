/* SPDX-License-Identifier: MIT */
#include "core_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "symbol/address_space.h"
#include "symbol/dso.h"
#include "symbol/symbols.h"

enum { PAGE = 4096 };

/* struct elf_prstatus of x86-64; its registers are struct user_regs_struct of sys/user.h. */
enum {
	STATUS_BYTES = 336,
	STATUS_PID = 32,
	STATUS_REGISTERS = 112,
	REGISTER_PC = 16,
	REGISTER_SP = 19,
};

/* The DWARF numbers of the first registers: r15 to r12, rbp, rbx, r11 to r8, rax, rcx to rdi. */
static const uint8_t order[] = {15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5};

static void add_note(struct buf *notes, uint32_t type, const void *bytes, size_t n)
{
	const Elf64_Nhdr header = {.n_namesz = 5, .n_descsz = (uint32_t)n, .n_type = type};
	static const char name[8] = "CORE";

	buf_add(notes, &header, sizeof(header));
	buf_add(notes, name, sizeof(name));
	buf_add(notes, bytes, n);
	buf_add(notes, "\0\0\0", -n & 3);
}

static void add_registers(struct buf *notes, const struct unwind_frame *frame)
{
	uint64_t registers[27] = {[REGISTER_PC] = frame->pc, [REGISTER_SP] = frame->reg[7]};
	uint8_t status[STATUS_BYTES] = {[STATUS_PID] = 1};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		registers[i] = frame->reg[order[i]];
	memcpy(status + STATUS_REGISTERS, registers, sizeof(registers));
	add_note(notes, NT_PRSTATUS, status, sizeof(status));
}

static void add_files(struct buf *notes, const struct attar_address_space *space)
{
	struct buf places _cleanup_(buf_done) = {0}, names _cleanup_(buf_done) = {0};
	uint64_t start[2] = {0, PAGE}; /* the number of files; the unit of their offsets */

	buf_add(&places, start, sizeof(start));
	for (size_t i = 0; space->ranges && i < space->ranges->n; i++) {
		const struct range *range = &space->ranges->at[i];
		const struct dso *dso = dsos_get(&space->symbols->dsos, range->dso);
		uint64_t place[] = {range->start, range->start + range->len, range->pgoff / PAGE};

		if (dso->key.kind != ATTAR_DSO_IS_FILE)
			continue;
		buf_add(&places, place, sizeof(place));
		buf_add(&names, dso->key.path, strlen(dso->key.path) + 1);
		start[0]++;
	}
	memcpy(places.data, start, sizeof(start));
	buf_add(&places, names.data, names.len);
	add_note(notes, NT_FILE, places.data, places.len);
}

/* The stack was copied from the stack pointer on. */
static int write_file(const char *path, const struct buf *notes, uint64_t sp,
	const struct attar_unwind_input *input)
{
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2};
	Elf64_Phdr parts[] = {{.p_type = PT_NOTE, .p_filesz = notes->len, .p_align = 4},
		{.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_vaddr = sp,
			.p_filesz = input->stack_size,
			.p_memsz = input->stack_size,
			.p_align = 1}};
	FILE *file = fopen(path, "w");
	bool done;

	parts[0].p_offset = sizeof(header) + sizeof(parts);
	parts[1].p_offset = parts[0].p_offset + notes->len;
	done = file && fwrite(&header, sizeof(header), 1, file) == 1 &&
	       fwrite(parts, sizeof(parts), 1, file) == 1 &&
	       fwrite(notes->data, notes->len, 1, file) == 1 &&
	       fwrite(input->stack, 1, input->stack_size, file) == input->stack_size;
	if (file && fclose(file) != 0)
		done = false;
	return done ? 0 : -errno;
}

int core_file_write(const char *path, const struct attar_address_space *space,
	const struct attar_unwind_input *input, const struct unwind_frame *frame)
{
	struct buf notes _cleanup_(buf_done) = {0};

	if (frame->machine->elf != EM_X86_64)
		return -EOPNOTSUPP;
	add_registers(&notes, frame);
	add_files(&notes, space);
	return write_file(path, &notes, frame->reg[7], input);
}
