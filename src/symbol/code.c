/* SPDX-License-Identifier: MIT */
/* The machine code at locations. */
#include <fcntl.h>

#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "symbol/dso_open.h"
#include "symbol/symbols.h"

struct code {
	void *bytes;
	size_t n;
	uint16_t machine;
};

/* at: an offset in the file, or a virtual address of its segments. */
static int read_elf(int fd, uint64_t at, bool is_address, struct code *code)
{
	struct byte_source source;
	struct elf elf;
	int r = byte_source_file(fd, &source);

	if (r == 0)
		r = elf_init(&elf, &source);
	if (r < 0)
		return r;
	code->machine = elf.machine;
	r = is_address && !elf_file_offset(&elf, at, &at)
		    ? -ENOENT
		    : byte_source_read(&source, at, code->bytes, code->n);
	elf_done(&elf);
	return r;
}

static int read_file(const struct attar_symbols *symbols, const struct dso *dso, uint64_t at,
	bool is_address, struct code *code)
{
	int fd _cleanup_close_ = symbols_file(symbols, &(struct dso_search){.key = &dso->key});

	return fd < 0 ? fd : read_elf(fd, at, is_address, code);
}

/* The code as it is now, since a kernel changes its code when it starts and while it runs. */
static int read_memory(uint64_t address, struct code *code)
{
	int fd _cleanup_close_ = open("/proc/kcore", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_elf(fd, address, true, code);
}

static int read_kernel(
	struct attar_symbols *symbols, const struct dso *kernel, uint64_t offset, struct code *code)
{
	const struct dso *vmlinux;
	uint64_t address = kernel_address(offset), slide;
	int r;

	if (!symbols->kernel.path || kernel->kernel)
		return attar_fail(-ENOENT, "it is code of a kernel other than the running one");
	r = read_memory(address, code);
	if (r == 0)
		return 0;
	attar_error_clear();
	vmlinux = vmlinux_of(symbols, &slide);
	if (vmlinux && read_file(symbols, vmlinux, address - slide, true, code) == 0)
		return 0;
	return attar_fail(-ENOENT,
		"/proc/kcore cannot be read (%s), and no vmlinux of the running kernel has it",
		r == -ENOENT ? "the kernel lacks it: CONFIG_PROC_KCORE" : strerror(-r));
}

static int read_jit(
	struct attar_symbols *symbols, struct dso *dso, uint64_t address, struct code *code)
{
	struct jit *jit = &dso->jit;
	bool kept = jit_is_open(jit), has_code;
	struct jit_code found;

	has_code = symbols_open_jit(symbols, jit) == 0 && jit_find(jit, address, &found) &&
		   jit_bytes_at(jit, &found, address, code->bytes, code->n, &code->machine) == 0;
	if (!kept)
		jit_close(jit);
	return has_code ? 0
			: attar_fail(-ENOENT,
				  "it is code of a JIT compiler, and no jitdump of the process has "
				  "it");
}

int symbols_code(struct attar_symbols *symbols, attar_location location, void *bytes, size_t n,
	uint16_t *ret_machine)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(bytes, "bytes");

	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));
	struct code code = {.bytes = bytes, .n = n};
	uint64_t offset = location & PLACE_OFFSET;
	int r = -ENOENT;

	if (dso->key.kind == ATTAR_DSO_IS_KERNEL)
		r = read_kernel(symbols, dso, offset, &code);
	else if (dso->key.kind == ATTAR_DSO_IS_FILE)
		r = read_file(symbols, dso, offset, false, &code);
	else if (dso->key.kind == ATTAR_DSO_IS_JIT)
		r = read_jit(symbols, dso, offset, &code);
	if (r < 0 && dso->key.kind != ATTAR_DSO_IS_KERNEL && dso->key.kind != ATTAR_DSO_IS_JIT)
		r = attar_fail(-ENOENT, "the code cannot be read from its file");
	if (r == 0 && ret_machine)
		*ret_machine = code.machine;
	return r;
}
