/* SPDX-License-Identifier: MIT */
/*
 * Capstone is loaded with dlopen(3) when instructions are to be shown: its tables are large and
 * rarely needed, and it is optional.
 */
#include "annotate/machine_code.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Only its header is needed to build this. */
#if __has_include(<capstone/capstone.h>)

#include <capstone/capstone.h>
#include <dlfcn.h>

#define TEXT_OF(number)  #number
#define LIBRARY(version) "libcapstone.so." TEXT_OF(version)

struct decoder {
	cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
	cs_err (*option)(csh handle, cs_opt_type type, size_t value);
	cs_insn *(*allocate)(csh handle);
	bool (*next)(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
		cs_insn *instruction);
	void (*release)(cs_insn *instructions, size_t n);
	cs_err (*close)(csh *handle);
};

static bool machine_code_load(struct decoder *d)
{
	/* Never closed: another part of the program may use it too. */
	void *library = dlopen(LIBRARY(CS_API_MAJOR), RTLD_NOW | RTLD_NODELETE);

	if (!library)
		return false;
	*(void **)&d->open = dlsym(library, "cs_open");
	*(void **)&d->option = dlsym(library, "cs_option");
	*(void **)&d->allocate = dlsym(library, "cs_malloc");
	*(void **)&d->next = dlsym(library, "cs_disasm_iter");
	*(void **)&d->release = dlsym(library, "cs_free");
	*(void **)&d->close = dlsym(library, "cs_close");
	return d->open && d->option && d->allocate && d->next && d->release && d->close;
}

static bool machine_code_start(const struct decoder *d, uint16_t machine, csh *ret_handle)
{
	bool x86 = machine == EM_X86_64;

	if (!x86 && machine != EM_AARCH64)
		return false;
	if (d->open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN,
		    ret_handle) != CS_ERR_OK)
		return false;
	if (x86) /* as objdump and gdb write them */
		d->option(*ret_handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->option(*ret_handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	return true;
}

int machine_code_decode(const uint8_t *bytes, size_t n, uint64_t address, uint16_t machine,
	instruction_fn *fn, void *ctx)
{
	struct decoder d;
	cs_insn *instruction;
	csh handle;
	int r = 0;

	if (!machine_code_load(&d) || !machine_code_start(&d, machine, &handle))
		return -EOPNOTSUPP;
	instruction = d.allocate(handle);
	while (r == 0 && instruction && d.next(handle, &bytes, &n, &address, instruction)) {
		char text[sizeof(instruction->mnemonic) + sizeof(instruction->op_str) + 1];

		snprintf(text, sizeof(text), "%s%s%s", instruction->mnemonic,
			*instruction->op_str ? " " : "", instruction->op_str);
		r = fn(ctx, instruction->address, instruction->size, text);
	}
	if (instruction)
		d.release(instruction, 1);
	else
		r = -ENOMEM;
	d.close(&handle);
	return r;
}

#else

int machine_code_decode(const uint8_t *bytes, size_t n, uint64_t address, uint16_t machine,
	instruction_fn *fn, void *ctx)
{
	(void)bytes;
	(void)n;
	(void)address;
	(void)machine;
	(void)fn;
	(void)ctx;
	return -EOPNOTSUPP;
}

#endif
