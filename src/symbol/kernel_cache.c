/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

enum { FILE_MAX = 256 << 20 };

static const char magic[16] = "attar kernel 1\n";

/* Followed by the symbols, the regions and the names. */
struct header {
	char magic[sizeof(magic)];
	char boot[40];
	uint64_t modules;
	char first[2048]; /* of kallsyms */
	uint64_t symbols, regions, names;
};

/* ---- what it is valid for ---- */

static bool make_header(const struct kernel_cache_key *key, struct header *h)
{
	struct buf boot _cleanup_(buf_done) = {0};
	int fd _cleanup_close_ = open(key->kallsyms, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*h = (struct header){.modules = key->modules};
	memcpy(h->magic, magic, sizeof(magic));
	if (fd < 0 || TEMP_FAILURE_RETRY(read(fd, h->first, sizeof(h->first))) <= 0 ||
		file_read("/proc/sys/kernel/random/boot_id", 4096, &boot) < 0)
		return false;
	snprintf(h->boot, sizeof(h->boot), "%s", buf_text(&boot));
	return true;
}

/* Opens the directory if nobody else can write to it. */
static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- reading ---- */

/* Whether all indexes are within the arrays. */
static bool is_sound(const struct kallsyms *list)
{
	if (!list->names.len || list->names.data[list->names.len - 1])
		return false;
	vec_each (&list->symbols, symbol)
		if (symbol->name >= list->names.len)
			return false;
	vec_each (&list->regions, region)
		if (!region->n || region->first > list->symbols.n ||
			region->n > list->symbols.n - region->first ||
			region->owner >= list->names.len)
			return false;
	return true;
}

static bool read_all(int fd, void *to, uint64_t n)
{
	uint8_t *at = to;

	while (n) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, at, n));

		if (got <= 0)
			return false;
		at += got;
		n -= (uint64_t)got;
	}
	return true;
}

/* Whether the sizes of the parts add up to the size of the file. */
static bool has_sizes(const struct header *h, const struct stat *st)
{
	uint64_t n = (uint64_t)st->st_size - sizeof(*h);

	return st->st_size >= (off_t)sizeof(*h) && n <= FILE_MAX && h->symbols && h->regions &&
	       h->symbols <= n && h->regions <= n && h->names <= n &&
	       h->symbols * sizeof(struct kallsyms_symbol) +
			       h->regions * sizeof(struct kallsyms_region) + h->names ==
		       n;
}

/* Reads count elements into an empty vector. */
#define TAKE(v, fd, count)                                                                         \
	(vec_reserve(v, count) == 0 && read_all(fd, (v)->at, (count) * sizeof(*(v)->at)) &&        \
		((v)->n = (count), true))

static bool read_parts(int fd, const struct header *h, struct kallsyms *list)
{
	if (!TAKE(&list->symbols, fd, h->symbols) || !TAKE(&list->regions, fd, h->regions) ||
		!buf_reserve(&list->names, h->names) || !read_all(fd, list->names.data, h->names))
		return false;
	list->names.len = h->names;
	return is_sound(list);
}

bool kernel_cache_read(
	const char *directory, const struct kernel_cache_key *key, struct kallsyms *list)
{
	int at _cleanup_close_ = open_directory(directory), fd _cleanup_close_ = -1;
	struct header wanted, h;
	struct stat st;
	bool is_valid;

	*list = (struct kallsyms){0};
	if (at < 0)
		return false;
	fd = openat(at, "kallsyms", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !read_all(fd, &h, sizeof(h)) ||
		!make_header(key, &wanted))
		return false;
	is_valid = !memcmp(&h, &wanted, offsetof(struct header, symbols)) && has_sizes(&h, &st) &&
		   read_parts(fd, &h, list);
	if (!is_valid)
		kallsyms_done(list);
	return is_valid;
}

/* ---- writing ---- */

static bool is_module(const char *owner)
{
	return strcmp(owner, "[bpf]") != 0 && strncmp(owner, "[__builtin__", 12) != 0;
}

/* The regions to write: what follows the start of the last function is not in them. */
static bool choose_regions(const struct kallsyms *list, struct kallsyms *chosen)
{
	vec_each (&list->regions, region) {
		struct kallsyms_region *copy;

		if (!is_module(list->names.data + region->owner))
			continue;
		copy = vec_add(&chosen->regions);
		if (!copy)
			return false;
		*copy = *region;
		copy->end = region->high | list->symbols.at[region->first + region->n - 1].low;
	}
	return chosen->regions.n > 0;
}

static bool write_to(
	int fd, const struct header *h, const struct kallsyms *list, const struct kallsyms *chosen)
{
	return file_write_all(fd, h, sizeof(*h)) == 0 &&
	       file_write_all(fd, list->symbols.at, h->symbols * sizeof(*list->symbols.at)) == 0 &&
	       file_write_all(fd, chosen->regions.at, h->regions * sizeof(*chosen->regions.at)) ==
		       0 &&
	       file_write_all(fd, list->names.data, h->names) == 0;
}

static void replace(
	int at, const struct header *h, const struct kallsyms *list, const struct kallsyms *chosen)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "kallsyms.%d", (int)getpid());
	fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (!write_to(fd, h, list, chosen) || renameat(at, name, at, "kallsyms") < 0)
		unlinkat(at, name, 0);
	close(fd);
}

void kernel_cache_write(
	const char *directory, const struct kernel_cache_key *key, const struct kallsyms *list)
{
	int at _cleanup_close_ = -1;
	struct kallsyms chosen = {0};
	struct header h;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return;
	at = open_directory(directory);
	if (at >= 0 && make_header(key, &h) && choose_regions(list, &chosen)) {
		h.symbols = list->symbols.n;
		h.regions = chosen.regions.n;
		h.names = list->names.len;
		replace(at, &h, list, &chosen);
	}
	kallsyms_done(&chosen);
}
