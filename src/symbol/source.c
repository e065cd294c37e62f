/* SPDX-License-Identifier: MIT */
#include "symbol/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "elf/go_table.h"
#include "symbol/debugfile.h"
#include "symbol/dso_load.h"
#include "symbol/symbols.h"

static int open_other(void *ctx, const char *path)
{
	const struct attar_symbols *symbols = ctx;
	const struct file_opener *opener = symbols->dsos.opener;
	int handle _cleanup_close_ = -1;

	if (opener)
		return opener->other(opener->ctx, AT_FDCWD, path);
	handle = dso_open_path(AT_FDCWD, path, 0);
	return handle < 0 ? handle : dso_reopen(handle);
}

static void add_missing(void *ctx, enum debug_part part, const char *path, const char *reason)
{
	struct attar_symbols *symbols = ctx;

	source_add_missing(&symbols->sources,
		part == DEBUG_PART_DWO ? SOURCE_PART_DWO : SOURCE_PART_DWZ, path, reason);
}

static void set_path(const struct attar_symbols *symbols, int fd, char path[PATH_MAX])
{
	const struct file_opener *opener = symbols->dsos.opener;
	char link[64];
	ssize_t n;

	if (opener) {
		snprintf(path, PATH_MAX, "%s", opener->path(opener->ctx, fd));
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
}

/* Opens the debug information in a file; owns the fd. */
static int open_in(struct attar_symbols *symbols, struct dso *dso, int fd)
{
	char path[PATH_MAX];
	struct debug_info_options options = {.path = path,
		.binary = dso->key.path,
		.roots = symbols->debug_path,
		.open = open_other,
		.missing = add_missing,
		.ctx = symbols,
		.strings = &symbols->sources.strings,
		.max_bytes = symbols->sources.max_bytes};
	int r = byte_source_file(fd, &options.source);

	if (r < 0) {
		close(fd);
		return r;
	}
	set_path(symbols, fd, path);
	return debug_info_open(&options, &dso->source);
}

static int duplicate(int fd)
{
	return fd < 0 ? -ENOENT : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int find_separate(struct attar_symbols *symbols, struct dso *dso, const struct elf *elf)
{
	struct buf unfit _cleanup_(buf_done) = {0};
	const char *reason = NULL;
	int fd = debugfile_open(&(struct debugfile){.elf = elf,
		.path = dso->key.path,
		.roots = symbols->debug_path,
		.root = AT_FDCWD,
		.server = &symbols->debuginfod,
		.opener = symbols->dsos.opener,
		.unfit = &unfit,
		.reason = &reason});

	if (fd < 0 && unfit.len && !buf_failed(&unfit))
		source_add_missing(&symbols->sources, SOURCE_PART_LINK, buf_text(&unfit), reason);
	return fd;
}

/* Opens the separate debug file of a binary. */
static int open_separate(struct attar_symbols *symbols, struct dso *dso, const struct elf *elf)
{
	struct byte_source source;
	struct elf debug;
	int fd = duplicate(dso->debug_fd);

	if (fd < 0)
		fd = kept_files_open_debug(symbols->kept, &dso->key);
	if (fd < 0)
		fd = find_separate(symbols, dso, elf);
	if (fd < 0)
		return fd;
	if (byte_source_file(fd, &source) >= 0 && elf_init(&debug, &source) >= 0) {
		dso->source_bias = -dso_bias(elf, &debug);
		elf_done(&debug);
	}
	return open_in(symbols, dso, fd);
}

static bool same_build(const struct dso *dso, const struct elf *elf)
{
	uint8_t id[ELF_MAX_BUILD_ID];

	return elf_build_id(elf, id) == dso->build_id_size &&
	       !memcmp(id, dso->build_id, dso->build_id_size);
}

/* The debug file of a binary without debug information, else the lines of a Go program in it. */
static int open_other_source(
	struct attar_symbols *symbols, struct dso *dso, const struct elf *elf, int fd)
{
	int r = open_separate(symbols, dso, elf);

	if (r < 0 && go_table_exists(elf)) {
		dso->source_bias = 0;
		return open_in(symbols, dso, fd);
	}
	close(fd);
	return r;
}

/* The binary itself, else its debug file. */
static int open_source(struct attar_symbols *symbols, struct dso *dso)
{
	int fd = duplicate(dso->fd), r;
	struct byte_source source;
	struct elf elf;

	if (fd < 0)
		fd = symbols_file(symbols, &(struct dso_search){.key = &dso->key});
	if (fd < 0)
		return fd;
	r = byte_source_file(fd, &source);
	if (r >= 0)
		r = elf_init(&elf, &source);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (!same_build(dso, &elf)) {
		close(fd);
		r = -ESTALE;
	} else if (elf_section_named(&elf, ".debug_info") ||
		   elf_section_named(&elf, ".zdebug_info")) {
		r = open_in(symbols, dso, fd);
	} else {
		r = open_other_source(symbols, dso, &elf, fd);
	}
	elf_done(&elf);
	return r;
}

void source_close(struct attar_symbols *symbols, struct dso *dso)
{
	struct debug_info_stats stats;

	dso->source_missing = false;
	if (!dso->source)
		return;
	debug_info_get_stats(dso->source, &stats);
	symbols->sources.closed.units_read += stats.units_read;
	symbols->sources.closed.units_dropped += stats.units_dropped;
	debug_info_close(dso->source);
	dso->source = NULL;
	dso->source_units = 0;
	symbols->sources.open--;
}

/* The DSO whose debug information was not used for longest. */
static struct dso *oldest(const struct attar_symbols *symbols, const struct dso *used)
{
	struct dso *found = NULL;

	vec_each (&symbols->dsos.at, at)
		if (*at != used && (*at)->source &&
			(!found || (*at)->source_used < found->source_used))
			found = *at;
	return found;
}

static size_t bytes_of_all(const struct attar_symbols *symbols)
{
	struct debug_info_stats stats;
	size_t sum = 0;

	vec_each (&symbols->dsos.at, at) {
		if (!(*at)->source)
			continue;
		debug_info_get_stats((*at)->source, &stats);
		sum += stats.bytes;
	}
	return sum;
}

void source_limit(struct attar_symbols *symbols, struct dso *used)
{
	struct symbol_sources *sources = &symbols->sources;
	struct debug_info_stats stats;
	struct dso *dso;

	debug_info_get_stats(used->source, &stats);
	if (stats.units_read == used->source_units)
		return;
	used->source_units = stats.units_read;
	while (sources->open > 1 &&
		(sources->open > SOURCES_OPEN_MAX || bytes_of_all(symbols) > sources->max_bytes)) {
		dso = oldest(symbols, used);
		if (!dso)
			return;
		source_close(symbols, dso);
		sources->closed.units_dropped++;
	}
}

struct debug_info *source_of(struct attar_symbols *symbols, struct dso *dso)
{
	if (dso->source_missing || dso->state != DSO_LOADED || dso->image)
		return NULL;
	dso->source_used = ++symbols->sources.clock;
	if (dso->source)
		return dso->source;
	if (open_source(symbols, dso) < 0) {
		dso->source_missing = true;
		dso->source = NULL;
		attar_error_clear();
		return NULL;
	}
	symbols->sources.open++;
	return dso->source;
}
