/* SPDX-License-Identifier: MIT */
/* attar kcore: reads memory of the running kernel, from /proc/kcore or a dump. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "attar/private/event.h"
#include "base/base.h"
#include "base/parse.h"
#include "base/user_file.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { VALUES_MAX = 65536, STRING_DEFAULT = 256 };

struct kcore {
	const char *place, *file;
	uint64_t n;    /* 0: not given */
	uint64_t size; /* of a value, bytes */
	bool string, symbols, json;
	uint64_t address;
};

/* /proc/kcore or a dump: an ELF file of 64 bits. */
struct core {
	int fd;
	Elf64_Phdr *segments;
	size_t n;
};

/* ---- arguments ---- */

static int take_operands(struct kcore *k, char *const *operands)
{
	const char *n = operands[0] ? operands[1] : NULL;

	k->place = operands[0];
	if (!k->place)
		return attar_fail(-EINVAL,
			"kcore requires an address" ATTAR_FIX "attar kcore ADDRESS|SYMBOL [N]");
	if (n && (parse_u64(n, &k->n) < 0 || !k->n || k->n > VALUES_MAX)) {
		attar_error_clear();
		return attar_fail(-EINVAL, "the number of values must be 1 to %d, not '%s'",
			VALUES_MAX, CLIP(n));
	}
	return 0;
}

/* ---- memory ---- */

static void close_core(struct core *core)
{
	if (core->fd >= 0)
		close(core->fd);
	free(core->segments);
}

static int read_segments(struct core *core)
{
	size_t size;
	Elf64_Ehdr head;

	if (pread(core->fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	size = head.e_phnum * sizeof(Elf64_Phdr);
	core->segments = malloc(size + 1);
	core->n = head.e_phnum;
	if (!core->segments)
		return -ENOMEM;
	return pread(core->fd, core->segments, size, (off_t)head.e_phoff) == (ssize_t)size
		       ? 0
		       : -ENOEXEC;
}

static int open_core(const struct kcore *k, struct core *core)
{
	const char *path = k->file ? k->file : "/proc/kcore";
	int r;

	*core = (struct core){
		.fd = k->file ? user_file_open(path, 0) : open(path, O_RDONLY | O_CLOEXEC)};
	r = core->fd < 0 ? -errno : read_segments(core);
	if (r < 0)
		close_core(core);
	if (r == -ENOENT && !k->file)
		return attar_fail(-EOPNOTSUPP,
			"/proc/kcore does not exist: the kernel lacks CONFIG_PROC_KCORE;" ATTAR_FIX
			"--file reads a memory dump");
	if ((r == -EPERM || r == -EACCES) && !k->file)
		return attar_fail(r,
			"cannot read %s" ATTAR_FIX "run as root, without kernel lockdown",
			CLIP(path));
	if (r == -ENOEXEC)
		return attar_fail(
			-EINVAL, "%s is not a memory dump in the 64-bit ELF format", CLIP(path));
	return r < 0 ? attar_fail(r, "cannot read %s: %s", CLIP(path), strerror(-r)) : 0;
}

/* Reads up to n bytes; fails if the first one cannot be read. Returns their number. */
static ssize_t read_memory(const struct core *core, uint64_t address, void *bytes, size_t n)
{
	for (size_t i = 0; i < core->n; i++) {
		const Elf64_Phdr *segment = &core->segments[i];
		uint64_t in = address - segment->p_vaddr;
		ssize_t got;

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
			in >= segment->p_filesz)
			continue;
		n = MIN(n, segment->p_filesz - in);
		got = TEMP_FAILURE_RETRY(
			pread(core->fd, bytes, n, (off_t)(segment->p_offset + in)));
		if (got > 0)
			return got;
		return attar_fail(got < 0 ? -errno : -EFAULT, "address 0x%llx cannot be read: %s",
			(unsigned long long)address, strerror(got < 0 ? errno : EFAULT));
	}
	return attar_fail(-EFAULT, "address 0x%llx is not in the memory of the kernel",
		(unsigned long long)address);
}

/* ---- the report ---- */

static void symbol_cell(
	struct attar_section *table, struct attar_symbols *symbols, uint64_t address)
{
	struct attar_symbol symbol;
	char text[512];

	if (attar_symbols_resolve(symbols, attar_location_kernel(address), &symbol) < 0) {
		attar_error_clear();
		attar_cell_none(table);
		return;
	}
	snprintf(text, sizeof(text), "%s+0x%llx", symbol.name, (unsigned long long)symbol.offset);
	attar_cell_text(table, text);
}

static int add_string(const struct kcore *k, const struct core *core, struct attar_section *table)
{
	size_t max = k->n ? k->n : STRING_DEFAULT;
	char *text _cleanup_free_ = calloc(1, max + 1);
	ssize_t n = text ? read_memory(core, k->address, text, max) : -ENOMEM;

	if (n < 0)
		return (int)n;
	attar_section_column(table, "address", ATTAR_UNIT_HEX);
	attar_section_column(table, "text", ATTAR_UNIT_TEXT);
	attar_section_row(table);
	attar_cell_u64(table, k->address);
	attar_cell_text(table, text);
	return 0;
}

static int add_values(const struct kcore *k, const struct core *core, struct attar_section *table,
	struct attar_symbols *symbols)
{
	uint64_t n = k->n ? k->n : 1;

	attar_section_column(table, "address", ATTAR_UNIT_HEX);
	attar_section_column(table, "hex", ATTAR_UNIT_HEX);
	attar_section_column(table, "value", ATTAR_UNIT_ID);
	if (k->symbols)
		attar_section_column(table, "symbol", ATTAR_UNIT_TEXT);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t address = k->address + i * k->size, value = 0;
		ssize_t got = read_memory(core, address, &value, k->size); /* little endian */

		if (got < 0)
			return (int)got;
		if (got < (ssize_t)k->size)
			return attar_fail(-EFAULT,
				"the memory ends after %zd of %llu bytes at address 0x%llx", got,
				(unsigned long long)k->size, (unsigned long long)address);
		attar_section_row(table);
		attar_cell_u64(table, address);
		attar_cell_u64(table, value);
		attar_cell_u64(table, value);
		if (k->symbols)
			symbol_cell(table, symbols, value);
	}
	return 0;
}

static int find_address(struct kcore *k)
{
	struct attar_catalog *catalog = NULL;
	int r = attar_catalog_new(NULL, &catalog);

	if (r == 0)
		r = catalog_address(catalog, k->place, 0, &k->address);
	attar_catalog_free(catalog);
	return r;
}

static int kcore_fill(struct kcore *k, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "memory");
	struct attar_symbols *symbols = NULL;
	struct core core;
	int r = open_core(k, &core);

	if (r < 0)
		return r;
	r = find_address(k);
	if (r == 0 && k->symbols)
		r = attar_symbols_new(NULL, &symbols);
	if (r == 0)
		r = k->string ? add_string(k, &core, table) : add_values(k, &core, table, symbols);
	attar_symbols_free(symbols);
	close_core(&core);
	return r;
}

static int kcore_run(void *state, const struct command_words *words)
{
	struct kcore *k = state;
	struct attar_report *report;
	int r, status;

	if (take_operands(k, words->operands) < 0)
		return report_error(STATUS_USAGE);
	report = attar_report_new("kcore");
	r = report ? kcore_fill(k, report) : base_oom();
	status = r < 0 ? report_error(r == -ENOENT ? STATUS_USAGE : status_of(r))
		       : print_report(report, k->json, true);
	attar_report_free(report);
	return status;
}

#define T struct kcore

static const struct attar_option kcore_options[] = {
	ATTAR_COUNT(T, size, '1', "u8", NULL, "values of 1 byte", .implied = "1"),
	ATTAR_COUNT(T, size, '2', "u16", NULL, "values of 2 bytes", .implied = "2"),
	ATTAR_COUNT(T, size, '4', "u32", NULL, "values of 4 bytes", .implied = "4"),
	ATTAR_COUNT(T, size, '8', "u64", NULL, "values of 8 bytes (default)", .implied = "8"),
	ATTAR_FLAG(T, string, 0, "string", "read a string up to its NUL"),
	ATTAR_FLAG(T, symbols, 0, "symbols", "also show the symbol that each value points to"),
	ATTAR_TEXT(T, file, 0, "file", "FILE", "read this memory dump (ELF) instead of /proc/kcore",
		.complete = "file"),
	ATTAR_FLAG(T, json, 0, "json", "print a report in JSON"), {0}};

static const struct command_operand kcore_operands[] = {
	{"ADDRESS|SYMBOL",
		"the address: a number, or a variable or function, optionally with +OFFSET"},
	{"N", "the number of values (default 1); with --string: the maximum length (default 256)"},
	{0},
};

static const struct attar_example kcore_examples[] = {
	{"kcore jiffies", "the value of a variable of the kernel"},
	{"kcore --string linux_banner", "a string"},
	{0},
};

const struct command command_kcore = {
	.name = "kcore",
	.usage = "[OPTIONS] ADDRESS|SYMBOL [N]",
	.summary = "read memory of the running kernel",
	.operands = kcore_operands,
	.options = kcore_options,
	.state_size = sizeof(T),
	.defaults = &(const T){.size = 8},
	.max_operands = 2,
	.examples = kcore_examples,
	.run = kcore_run,
};
