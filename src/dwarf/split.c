/* SPDX-License-Identifier: MIT */
#include "dwarf/split.h"

#include "dwarf/constants.h"
#include "dwarf/package.h"

enum { UNITS_OF_FILE_MAX = 1 << 12 };

static int open_file(const struct split *split, const char *path, struct debug_file *file)
{
	struct byte_source source;
	int fd = split->open_path ? split->open_path(split->ctx, path) : -ENOENT;

	if (fd < 0)
		return fd;
	if (byte_source_file(fd, &source) < 0) {
		close(fd);
		return -ENOEXEC;
	}
	return debug_file_init(file, &source, true);
}

/* BINARY.dwp */
static bool open_package(struct split *split)
{
	const char *next_to[] = {split->binary, split->path};

	for (size_t i = 0; !split->package_opened && i < ARRAY_SIZE(next_to); i++) {
		struct buf path _cleanup_(buf_done) = {0};

		if (!next_to[i])
			continue;
		buf_printf(&path, "%s.dwp", next_to[i]);
		if (open_file(split, buf_text(&path), &split->package) >= 0)
			break;
	}
	split->package_opened = true;
	return debug_file_has(&split->package, DEBUG_CU_INDEX);
}

/*
 * Completes a unit whose header was read: its sections start at these offsets. True if it is that
 * of the skeleton.
 */
static bool take_unit(struct unit_index *index, struct debug_unit *skeleton,
	const struct package_unit *at, struct debug_unit *unit)
{
	const struct abbrevs *abbrevs;

	unit->skeleton = skeleton;
	unit->abbrev += at->abbrev;
	unit->str_offsets_base = at->str_offsets;
	unit->rnglists_base = at->rnglists;
	if (unit->version >= 5) { /* after the headers of the sections */
		unit->str_offsets_base += unit->offset_size == 8 ? 16 : 8;
		unit->rnglists_base += unit->offset_size == 8 ? 20 : 12;
	}
	abbrevs = unit_index_abbrevs(index, unit);
	return abbrevs && debug_unit_root(unit, abbrevs) >= 0 && unit->dwo_id == skeleton->dwo_id;
}

static bool find_in_package(struct split *split, struct unit_index *index,
	struct debug_unit *skeleton, struct debug_unit *unit)
{
	struct package_unit at;

	return open_package(split) && package_find(&split->package, skeleton->dwo_id, &at) &&
	       debug_unit_header(&split->package, at.info, unit) >= 0 &&
	       take_unit(index, skeleton, &at, unit);
}

/* *ret_other: it has units of another build. */
static bool find_in_file(struct unit_index *index, struct debug_file *file,
	struct debug_unit *skeleton, struct debug_unit *unit, bool *ret_other)
{
	uint64_t offset = 0;

	*ret_other = false;
	for (int i = 0; i < UNITS_OF_FILE_MAX; i++) {
		int r = debug_unit_header(file, offset, unit);

		if (r < 0 && r != -EOPNOTSUPP)
			return false;
		offset = unit->end;
		if (r >= 0 && unit->type != DW_UT_split_type &&
			take_unit(index, skeleton, &(struct package_unit){0}, unit))
			return true;
		*ret_other |= r >= 0 && unit->dwo_id && unit->dwo_id != skeleton->dwo_id;
	}
	return false;
}

/* In the unit's directory. False: the skeleton does not name it. */
static bool put_path(const struct debug_unit *skeleton, struct buf *path)
{
	struct buf name _cleanup_(buf_done) = {0};

	if (!debug_unit_string(skeleton, &skeleton->dwo_name, NULL, DEBUG_INFO, &name))
		return false;
	if (buf_text(&name)[0] != '/' &&
		debug_unit_string(skeleton, &skeleton->directory, NULL, DEBUG_INFO, path))
		buf_char(path, '/');
	buf_str(path, buf_text(&name));
	return true;
}

/* Next to the binary, if both were moved. Sets path if a file is there. */
static int open_next_to(
	const struct split *split, const char *name, struct buf *path, struct debug_file *file)
{
	const char *slash = split->binary ? strrchr(split->binary, '/') : NULL;
	struct buf next _cleanup_(buf_done) = {0};
	int r;

	if (!slash || name[0] == '/')
		return -ENOENT;
	buf_add(&next, split->binary, (size_t)(slash - split->binary) + 1);
	buf_str(&next, name);
	r = open_file(split, buf_text(&next), file);
	if (r != -ENOENT) {
		buf_reset(path);
		buf_str(path, buf_text(&next));
	}
	return r;
}

static int open_dwo(const struct split *split, const struct debug_unit *skeleton, struct buf *path,
	struct debug_file *file)
{
	struct buf name _cleanup_(buf_done) = {0};
	int r, next;

	if (!put_path(skeleton, path)) {
		log_debug("cannot read the name of the .dwo file of a unit");
		return -ENOENT;
	}
	r = open_file(split, buf_text(path), file);
	if (r < 0 && debug_unit_string(skeleton, &skeleton->dwo_name, NULL, DEBUG_INFO, &name)) {
		next = open_next_to(split, buf_text(&name), path, file);
		r = next == -ENOENT ? r : next;
	}
	return r;
}

static void say_missing(const struct split *split, const struct buf *path, const char *reason)
{
	log_debug("cannot use the .dwo file %s of a unit: %s", buf_text(path), reason);
	if (path->len && split->missing)
		split->missing(split->ctx, DEBUG_PART_DWO, buf_text(path), reason);
}

void split_open(struct split *split, struct unit_index *index, struct debug_unit *skeleton,
	struct split_unit *ret_unit)
{
	struct buf path _cleanup_(buf_done) = {0};
	struct debug_file *file;
	bool other;
	int r;

	*ret_unit = (struct split_unit){0};
	if (find_in_package(split, index, skeleton, &ret_unit->unit))
		return;
	ret_unit->unit.file = NULL;
	file = calloc(1, sizeof(*file));
	r = file ? open_dwo(split, skeleton, &path, file) : -ENOMEM;
	if (r < 0) {
		say_missing(split, &path, debug_file_reason(r));
		free(file);
		return;
	}
	split->open++;
	ret_unit->own = file;
	if (find_in_file(index, file, skeleton, &ret_unit->unit, &other))
		return;
	say_missing(split, &path, debug_file_reason(other ? -ESTALE : -EBADMSG));
	unit_index_forget(index, file);
	split_unit_close(split, ret_unit);
}

void split_unit_close(struct split *split, struct split_unit *unit)
{
	if (unit->own) {
		debug_file_done(unit->own);
		free(unit->own);
		split->open--;
	}
	*unit = (struct split_unit){0};
}

void split_done(struct split *split)
{
	debug_file_done(&split->package);
}
