/* SPDX-License-Identifier: MIT */
/* attar kcore: reads memory of the running kernel, from /proc/kcore or a dump. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/parse.h"
#include "cli/cli.h"

enum { VALUES_MAX = 65536, STRING_DEFAULT = 256 };

struct kcore {
	const char *place, *file;
	uint64_t n; /* 0: not given */
	unsigned size;
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

static int take_word(struct kcore *k, const char *word)
{
	if (!k->place) {
		k->place = word;
		return 0;
	}
	if (k->n)
		return attar_fail(-EINVAL, "unexpected argument '%s'", CLIP(word));
	if (parse_u64(word, &k->n) < 0 || !k->n || k->n > VALUES_MAX) {
		attar_error_clear();
		return attar_fail(-EINVAL, "the number of values must be 1 to %d, not '%s'",
			VALUES_MAX, CLIP(word));
	}
	return 0;
}

static int parse(struct kcore *k, int argc, char **argv)
{
	int r = 0;

	for (int i = 1; r == 0 && i < argc; i++) {
		const char *arg = argv[i];

		if (arg[0] == '-' && strchr("1248", arg[1]) && arg[1] && !arg[2])
			k->size = (unsigned)(arg[1] - '0');
		else if (!strcmp(arg, "--string"))
			k->string = true;
		else if (!strcmp(arg, "--symbols"))
			k->symbols = true;
		else if (!strcmp(arg, "--json"))
			k->json = true;
		else if (!strcmp(arg, "--file") && i + 1 < argc)
			k->file = argv[++i];
		else if (arg[0] == '-')
			r = attar_fail(-EINVAL,
				"no such option '%s'" ATTAR_FIX "'attar help kcore' lists them",
				CLIP(arg));
		else
			r = take_word(k, arg);
	}
	if (r == 0 && !k->place)
		r = attar_fail(-EINVAL,
			"kcore requires an address" ATTAR_FIX "attar kcore ADDRESS|SYMBOL [N]");
	return r;
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

	*core = (struct core){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	r = core->fd < 0 ? -errno : read_segments(core);
	if (r < 0)
		close_core(core);
	if (r == -ENOENT && !k->file)
		return attar_fail(-EOPNOTSUPP,
			"/proc/kcore does not exist: the kernel lacks CONFIG_PROC_KCORE;" ATTAR_FIX
			"--file reads a memory dump");
	if (r == -EPERM || r == -EACCES)
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
				"the memory ends after %zd of %u bytes at address 0x%llx", got,
				k->size, (unsigned long long)address);
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
		r = attar_catalog_address(catalog, k->place, 0, &k->address);
	attar_catalog_free(catalog);
	return r;
}

static int fill(struct kcore *k, struct attar_report *report)
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

int command_kcore(int argc, char **argv)
{
	struct kcore k = {.size = 8};
	struct attar_report *report;
	int r, status;

	if (parse(&k, argc, argv) < 0)
		return report_error(STATUS_USAGE);
	report = attar_report_new("kcore");
	r = report ? fill(&k, report) : base_oom();
	status = r < 0 ? report_error(r == -ENOENT ? STATUS_USAGE : status_of(r))
		       : print_report(report, k.json, true);
	attar_report_free(report);
	return status;
}
