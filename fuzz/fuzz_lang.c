/* SPDX-License-Identifier: MIT */
/* The memory of a process with a runtime: frames, names and tables of lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/base.h"
#include "base/base.h"
#include "lang/python_line.h"
#include "lang/ruby_line.h"
#include "lang/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { START = 1 << 16, KNOWN = 1 << 30 };

/* At KNOWN: what says that a version is known, for each runtime. */
union known {
	uint64_t words[8];
	uint32_t halves[16];
	char text[64];
};

static const struct {
	const struct lang_runtime *runtime;
	const char *variable; /* at KNOWN */
	union known known;
} targets[] = {
	{&lang_python, "Py_Version", {.words = {0x030b00f0}}},
	{&lang_python, "Py_Version", {.words = {0x030c00f0}}},
	{&lang_python, "Py_Version", {.words = {0x030d00f0}}},
	{&lang_python, "", {.words = {0}}}, /* by the name of the file */
	{&lang_ruby, "ruby_version", {.text = "3.1.2"}},
	{&lang_php, "module_registry",
		{.words = {[2] = KNOWN + 24, [3] = KNOWN + 32, [4] = 20220829ULL << 32}}},
	{&lang_perl, "PL_version", {.words = {36}}},
};

static const uint8_t *memory_bytes;
static size_t memory_size, target;

/* The input is repeated, so that most pointers lead somewhere. */
static ssize_t read_repeated(pid_t pid, uint64_t address, void *bytes, size_t n)
{
	uint8_t *to = bytes;

	(void)pid;
	if (address > (1ULL << 47))
		return -EFAULT;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = address + i;

		to[i] = at >= KNOWN && at < KNOWN + sizeof(union known)
				? (uint8_t)targets[target].known.text[at - KNOWN]
				: memory_bytes[at % memory_size];
	}
	return (ssize_t)n;
}

bool __wrap_elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr);
uint64_t __wrap_lang_pthread(struct lang_memory *memory, const struct lang_thread *thread);
uint64_t __wrap_lang_specific(
	struct lang_memory *memory, const struct lang_thread *thread, unsigned key);

bool __wrap_elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr)
{
	(void)elf;
	*ret_vaddr = START + 8 * strlen(name);
	if (strcmp(name, targets[target].variable) == 0)
		*ret_vaddr = KNOWN;
	else if (strcmp(name, "Py_Version") == 0)
		return false;
	else if (strcmp(name, "PyCode_Type") == 0) /* the type of the object at START */
		(void)read_repeated(0, START + 8, ret_vaddr, sizeof(*ret_vaddr));
	return true;
}

uint64_t __wrap_lang_pthread(struct lang_memory *memory, const struct lang_thread *thread)
{
	(void)thread;
	return lang_memory_word(memory, START);
}

uint64_t __wrap_lang_specific(
	struct lang_memory *memory, const struct lang_thread *thread, unsigned key)
{
	(void)thread;
	return lang_memory_word(memory, START + key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lang_place places[LANG_FRAMES_MAX];
	struct lang_memory *memory;
	struct lang_names names = {0};
	struct lang_module module = {.path = "python3.9"};
	const struct lang_runtime *runtime;
	uint64_t state[32] = {0};
	char version[16];
	size_t n;

	if (size < 16 || size > START)
		return 0;
	(void)python_line(data + 8, size - 8, data[0], data[1]);
	(void)python_line_310(data + 8, size - 8, data[0], data[1]);
	(void)python_line_38(data + 8, size - 8, data[0], data[1]);
	target = data[2] % ARRAY_SIZE(targets);
	runtime = targets[target].runtime;
	memory_bytes = data;
	memory_size = size;
	memory = calloc(1, sizeof(*memory));
	if (!memory || runtime->state_size > sizeof(state))
		abort();
	memory->read = read_repeated;
	if (runtime->open(state, &module, memory, version) == 1) {
		n = runtime->take(state, memory, &(struct lang_thread){0}, places, 64);
		for (size_t i = 0; i < n; i++)
			(void)runtime->name(state, memory, &places[i], &names);
		(void)runtime->name(
			state, memory, &(struct lang_place){START, START + 64, false}, &names);
		(void)ruby_row(memory, START, data[3]);
		(void)ruby_row(memory, START, data[3] << data[4] % 20);
	}
	attar_error_clear();
	buf_done(&names.name);
	buf_done(&names.file);
	free(memory);
	return 0;
}
