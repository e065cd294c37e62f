/* SPDX-License-Identifier: MIT */
#include "symbol/debugfile.h"

#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <zlib.h>

#include "symbol/dso_open.h"

enum {
	MAX_PACKED = 16 << 20, /* bytes of .gnu_debugdata */
	MAX_UNPACKED = 64 << 20,
	MAX_UNPACKER = 96 << 20, /* memory that xz may ask for */
	MAX_CRC = 512 << 20,     /* bytes of a debug file that is known by CRC only */
	READ_BYTES = 64 << 10,
};

/* Identifies the debug file of a binary. */
struct identity {
	const struct debugfile *which;
	uint8_t id[ELF_MAX_BUILD_ID];
	size_t id_size;
	char link[256]; /* "" when there is none */
	uint32_t crc;
};

static bool crc_fits(const struct byte_source *source, uint32_t crc)
{
	uint8_t *block _cleanup_free_ = source->size <= MAX_CRC ? malloc(READ_BYTES) : NULL;
	uint32_t sum = 0;

	for (uint64_t at = 0; block && at < source->size; at += READ_BYTES) {
		size_t n = MIN((uint64_t)READ_BYTES, source->size - at);

		if (byte_source_read(source, at, block, n) < 0)
			return false;
		sum = (uint32_t)crc32(sum, block, (uInt)n);
	}
	return block && sum == crc;
}

/* Why the file does not belong to the binary; NULL: it does. */
static const char *misfit(const struct identity *wanted, const struct byte_source *source)
{
	uint8_t id[ELF_MAX_BUILD_ID];
	struct elf elf;
	bool has_symbols;
	size_t n;

	if (elf_init(&elf, source) < 0)
		return "it is malformed";
	n = elf_build_id(&elf, id);
	has_symbols = elf_section_typed(&elf, SHT_SYMTAB);
	elf_done(&elf);
	if (!has_symbols)
		return "it has no symbols";
	if (n && wanted->id_size)
		return n == wanted->id_size && !memcmp(id, wanted->id, n)
			       ? NULL
			       : "it is from another build";
	return wanted->link[0] && crc_fits(source, wanted->crc)
		       ? NULL
		       : "its CRC differs from that in the binary";
}

static void add_unfit(const struct identity *wanted, const struct buf *path, const char *reason)
{
	const struct debugfile *which = wanted->which;

	log_debug("%s is not the debug file of %s: %s", buf_text(path), which->path, reason);
	if (!which->unfit || which->unfit->len)
		return;
	buf_str(which->unfit, buf_text(path));
	*which->reason = reason;
}

static int open_file(const struct debugfile *which, const char *path)
{
	int handle _cleanup_close_ = -1;

	if (which->opener)
		return which->opener->other(which->opener->ctx, which->root, path);
	handle = dso_open_path(which->root, path, 0);
	return handle < 0 ? handle : dso_reopen(handle);
}

/* Returns an fd if the file matches. */
static int try(const struct identity *wanted, const struct buf *path)
{
	struct byte_source source;
	int fd _cleanup_close_ = -1;
	const char *reason;

	if (buf_failed(path))
		return base_oom();
	fd = open_file(wanted->which, buf_text(path));
	if (fd < 0 || byte_source_file(fd, &source) < 0)
		return -ENOENT;
	reason = misfit(wanted, &source);
	if (reason) {
		add_unfit(wanted, path, reason);
		return -ENOENT;
	}
	return TAKE_FD(fd);
}

void debugfile_id_path(
	struct buf *path, const char *root, size_t n, const uint8_t *id, size_t id_size)
{
	buf_add(path, root, n);
	buf_printf(path, "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < id_size; i++)
		buf_printf(path, "%02x", id[i]);
	buf_str(path, ".debug");
}

static int try_build_id(const struct identity *wanted, const char *root, size_t n)
{
	struct buf path _cleanup_(buf_done) = {0};

	if (wanted->id_size < 2)
		return -ENOENT;
	debugfile_id_path(&path, root, n, wanted->id, wanted->id_size);
	return try(wanted, &path);
}

/* root + the binary's directory + below + the link's name */
static int try_link(const struct identity *wanted, const char *root, size_t n, const char *below)
{
	const char *binary = wanted->which->path, *slash = strrchr(binary, '/');
	struct buf path _cleanup_(buf_done) = {0};

	if (!wanted->link[0] || !slash)
		return -ENOENT;
	buf_add(&path, root, n);
	buf_add(&path, binary, (size_t)(slash - binary) + 1);
	buf_str(&path, below);
	buf_str(&path, wanted->link);
	if (!strcmp(buf_text(&path), binary)) /* it points to itself */
		return -ENOENT;
	return try(wanted, &path);
}

static int try_server(const struct identity *wanted)
{
	const struct debugfile *which = wanted->which;
	int fd _cleanup_close_ = -ENOENT;
	struct byte_source source;

	if (which->opener && which->server)
		fd = which->opener->download(
			which->opener->ctx, which->path, wanted->id, wanted->id_size);
	else if (which->server)
		fd = debuginfod_open(which->server, which->path, wanted->id, wanted->id_size);
	if (fd < 0 || byte_source_file(fd, &source) < 0 || misfit(wanted, &source))
		return -ENOENT;
	return TAKE_FD(fd);
}

typedef int try_fn(const struct identity *wanted, const char *root, size_t n);

static int try_link_below(const struct identity *wanted, const char *root, size_t n)
{
	return try_link(wanted, root, n, "");
}

static int each_root(const struct identity *wanted, try_fn *fn)
{
	int r = -ENOENT;

	for (const char *p = wanted->which->roots; r < 0 && *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if (n)
			r = fn(wanted, p, n);
		p += n;
	}
	return r;
}

int debugfile_open(const struct debugfile *which)
{
	struct identity wanted = {.which = which};
	int r;

	wanted.id_size = elf_build_id(which->elf, wanted.id);
	if (!elf_debuglink(which->elf, wanted.link, &wanted.crc))
		wanted.link[0] = '\0';
	r = each_root(&wanted, try_build_id);
	if (r < 0)
		r = try_link(&wanted, "", 0, "");
	if (r < 0)
		r = try_link(&wanted, "", 0, ".debug/");
	if (r < 0)
		r = each_root(&wanted, try_link_below);
	if (r < 0)
		r = try_server(&wanted);
	return r < 0 ? -ENOENT : r;
}

/* Grow in steps, so that memory use follows the actual output. */
static int unpack(lzma_stream *xz, struct buf *image)
{
	uint8_t step[16384];
	lzma_ret r;

	do {
		xz->next_out = step;
		xz->avail_out = sizeof(step);
		r = lzma_code(xz, LZMA_FINISH);
		buf_add(image, step, sizeof(step) - xz->avail_out);
		if (buf_failed(image))
			return base_oom();
	} while (r == LZMA_OK && image->len <= MAX_UNPACKED);
	return r == LZMA_STREAM_END ? 0 : -ENOENT;
}

int debugfile_unpack(const struct elf *elf, uint8_t **ret_image, size_t *ret_size)
{
	const struct elf_section *section = elf_section_named(elf, ".gnu_debugdata");
	struct buf image _cleanup_(buf_done) = {0};
	uint8_t *packed _cleanup_free_ = NULL;
	lzma_stream xz = LZMA_STREAM_INIT;
	int r;

	if (!section || section->type == SHT_NOBITS || !section->size || section->size > MAX_PACKED)
		return -ENOENT;
	if (section->offset > elf->source.size ||
		section->size > elf->source.size - section->offset)
		return -ENOENT;
	packed = malloc(section->size);
	if (!packed)
		return base_oom();
	if (byte_source_read(&elf->source, section->offset, packed, section->size) < 0)
		return -ENOENT;
	if (lzma_stream_decoder(&xz, MAX_UNPACKER, 0) != LZMA_OK)
		return -ENOENT;
	xz.next_in = packed;
	xz.avail_in = section->size;
	r = unpack(&xz, &image);
	lzma_end(&xz);
	if (r < 0)
		return r;
	*ret_size = image.len;
	*ret_image = (uint8_t *)buf_take(&image);
	return *ret_image ? 0 : -ENOENT;
}
