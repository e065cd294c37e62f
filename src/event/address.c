/* SPDX-License-Identifier: MIT */
/* Addresses by name: numbers, variables and functions of the kernel, of programs and libraries. */
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "attar/private/event.h"
#include "base/check_arg.h"
#include "base/parse.h"
#include "base/proc.h"
#include "elf/elf.h"
#include "elf/function.h"
#include "elf/kallsyms_text.h"
#include "event/catalog.h"
#include "event/probe.h"

/* "SYMBOL[+OFFSET][@FILE[+OFFSET]]", split into its parts. */
struct place {
	char symbol[256];
	const char *file; /* NULL: none. With the offset after it. */
	uint64_t offset;
};

static int take_apart(const char *text, struct place *place)
{
	const char *at = strchr(text, '@'), *plus = strchr(text, '+');
	size_t n = strcspn(text, "+@");
	char number[32];

	*place = (struct place){.file = at ? at + 1 : NULL};
	if (!n || n >= sizeof(place->symbol) || (at && !at[1]))
		return attar_fail(-EINVAL,
			"'%s' is not an address" ATTAR_FIX
			"use a number, SYMBOL or SYMBOL@FILE, with +OFFSET",
			CLIP(text));
	memcpy(place->symbol, text, n);
	if (!plus || (at && plus > at))
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(plus + 1, "@"), plus + 1);
	return parse_u64(number, &place->offset);
}

/* Takes the offset off the name of a file. Returns the name, to be freed; NULL: it has none. */
static char *take_offset(struct place *place)
{
	const char *plus = strrchr(place->file, '+');
	uint64_t offset;

	if (!plus || plus == place->file || parse_u64(plus + 1, &offset) < 0)
		return NULL;
	place->offset += offset;
	return strndup(place->file, (size_t)(plus - place->file));
}

/* Names of files may end with "+1", too: such a file is preferred. */
static int find_file(struct place *place, char **ret_path)
{
	int r = probe_find_file(place->file, ret_path);
	char *name = r == -ENOENT ? take_offset(place) : NULL;

	if (name)
		r = probe_find_file(name, ret_path);
	free(name);
	return r;
}

/* ---- the kernel ---- */

struct search {
	const char *name;
	uint64_t address;
	bool hidden;
};

static int address_compare(void *ctx, const struct kallsyms_line *line)
{
	struct search *s = ctx;

	if (line->name_len != strlen(s->name) || memcmp(line->name, s->name, line->name_len) != 0)
		return 0;
	s->address = line->address;
	return 1;
}

static int find_in_kernel(
	const struct attar_catalog *catalog, const struct place *place, uint64_t *ret_address)
{
	struct search s = {.name = place->symbol};
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/kallsyms", catalog->tracefs.proc);
	r = kallsyms_each(path, address_compare, &s);
	if (r < 0)
		return attar_fail(r, "cannot look up '%s' in %s: %s", CLIP(place->symbol), path,
			strerror(-r));
	if (!r)
		return attar_fail(-ENOENT,
			"the kernel has no symbol '%s' (names of variables need "
			"CONFIG_KALLSYMS_ALL);" ATTAR_FIX
			"for one of a program use -p PID or SYMBOL@FILE",
			CLIP(place->symbol));
	if (!s.address)
		return attar_fail(-EACCES, "the kernel hides its addresses" ATTAR_FIX
					   "run as root, or set kernel.kptr_restrict");
	*ret_address = s.address + place->offset;
	return 0;
}

/* ---- files ---- */

/* Where a process has mapped the beginning of a file. */
static int mapped_at(
	const struct attar_catalog *catalog, const char *file, pid_t pid, uint64_t *ret_base)
{
	char path[4096], line[4096 + 128];
	uint64_t start, offset;
	FILE *maps;
	int at;

	snprintf(path, sizeof(path), "%s/%d/maps", catalog->tracefs.proc, proc_with_memory(pid));
	maps = fopen(path, "re");
	if (!maps)
		return attar_fail(-errno, "cannot read %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &start, &offset,
			    &at) == 2 &&
			!offset && !strcmp(line + at, file)) {
			*ret_base = start;
			fclose(maps);
			return 0;
		}
	}
	fclose(maps);
	return attar_fail(-ENOENT, "process %d has not mapped %s", pid, CLIP(file));
}

/* The lowest address of its segments; 0 for a file that can be mapped anywhere. */
static uint64_t lowest_address(const struct elf *elf)
{
	uint64_t lowest = UINT64_MAX;

	vec_each (&elf->segments, segment)
		if (segment->type == PT_LOAD && segment->vaddr < lowest)
			lowest = segment->vaddr;
	return lowest == UINT64_MAX ? 0 : lowest;
}

static int find_in_file(const struct attar_catalog *catalog, const struct place *place,
	const char *path, pid_t pid, uint64_t *ret_address)
{
	struct elf_file file;
	uint64_t vaddr, base = 0;
	bool found, moves;
	int r = elf_file_open(&file, path);

	if (r < 0)
		return attar_context(r, "%s", CLIP(path));
	found = elf_symbol_address(&file.elf, place->symbol, &vaddr);
	moves = !lowest_address(&file.elf);
	elf_file_close(&file);
	if (!found)
		return attar_fail(
			-ENOENT, "%s has no symbol '%s'", CLIP(path), CLIP(place->symbol));
	if (moves && !pid)
		return attar_fail(-EINVAL,
			"the address of '%s' is only known while %s runs" ATTAR_FIX
			"use -p PID, or build it with -no-pie",
			CLIP(place->symbol), CLIP(path));
	if (moves)
		r = mapped_at(catalog, path, pid, &base);
	if (r == 0)
		*ret_address = base + vaddr + place->offset;
	return r;
}

/* ---- numbers ---- */

/* Whether a process has mapped an address of user space; also if its mappings cannot be read. */
static bool is_mapped(const struct attar_catalog *catalog, uint64_t address, pid_t pid)
{
	char path[4096], line[4096 + 128];
	uint64_t start, end;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "%s/%d/maps", catalog->tracefs.proc, proc_with_memory(pid));
	maps = (int64_t)address < 0 || !pid ? NULL : fopen(path, "re");
	if (!maps)
		return true;
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
			address >= start && address < end;
	fclose(maps);
	return found;
}

static int take_number(
	const struct attar_catalog *catalog, const char *text, pid_t pid, uint64_t *ret_address)
{
	int r = parse_u64(text, ret_address);

	if (r == 0 && !is_mapped(catalog, *ret_address, pid))
		return attar_fail(
			-EFAULT, "address %s is not mapped in process %d", CLIP(text), pid);
	return r;
}

static int find_in_program(const struct attar_catalog *catalog, const struct place *place,
	pid_t pid, uint64_t *ret_address)
{
	char exe[64], real[PATH_MAX], *path = NULL;
	int r;

	snprintf(exe, sizeof(exe), "%s/%d/exe", catalog->tracefs.proc, proc_with_memory(pid));
	if (pid && !realpath(exe, real))
		return attar_fail(errno == ENOENT ? -ESRCH : -errno, "cannot read %s: %s", exe,
			strerror(errno));
	r = pid ? 0 : probe_find_file(catalog->program, &path);
	if (r == 0)
		r = find_in_file(catalog, place, pid ? real : path, pid, ret_address);
	free(path);
	return r;
}

int catalog_address(
	struct attar_catalog *catalog, const char *text, pid_t pid, uint64_t *ret_address)
{
	CHECK_ARG(catalog, "catalog");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_address, "ret_address");

	struct place place;
	char *path = NULL;
	int r;

	if (!pid && catalog->pids)
		pid = (pid_t)strtol(catalog->pids, NULL, 10);
	if (isdigit((unsigned char)*text))
		return take_number(catalog, text, pid, ret_address);
	r = take_apart(text, &place);
	if (r < 0)
		return r;
	if (place.file) {
		r = find_file(&place, &path);
		if (r == 0)
			r = find_in_file(catalog, &place, path, pid, ret_address);
		free(path);
		return r;
	}
	r = pid || catalog->program ? find_in_program(catalog, &place, pid, ret_address) : -ENOENT;
	if (r != -ENOENT)
		return r;
	attar_error_clear();
	r = find_in_kernel(catalog, &place, ret_address);
	if (r == -ENOENT && pid)
		return attar_fail(r, "neither process %d nor the kernel has a symbol '%s'", pid,
			CLIP(place.symbol));
	if (r == -ENOENT && catalog->program)
		return attar_fail(r, "neither %s nor the kernel has a symbol '%s'",
			CLIP(catalog->program), CLIP(place.symbol));
	return r;
}
