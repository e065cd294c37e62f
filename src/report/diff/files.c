/* SPDX-License-Identifier: MIT */
/*
 * Files of code that have the same name in other directories, such as two builds of a program: rows
 * of one are compared with rows of the other. A name that several files of a side have is not used.
 */
#include "report/diff/parts.h"
#include "report/model/model.h"

enum { SHOWN_MAX = 3 };

/* What is known of a file name: the number of the path on each side, and of how many paths. */
struct named_file {
	uint32_t name, path[SIDES], n[SIDES];
};

typedef VEC(struct named_file) named_files;

bool diff_is_file(const struct attar_section *s, size_t column)
{
	const struct column *c = &s->columns.at[column];

	return c->unit == ATTAR_UNIT_TEXT && !strcmp(section_text(s, c->name), "dso");
}

const char *diff_same_file(struct diff *d, const char *path)
{
	const uint64_t *same = NULL;
	uint32_t id;

	if (d->same_files.n && intern_id(&d->files, path, &id) == 0)
		same = map_get(&d->same_files, id);
	return same ? intern_get(&d->files, (uint32_t)*same) : path;
}

static struct named_file *file_of(struct diff *d, named_files *files, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t name;

	if (intern_id(&d->files, slash ? slash + 1 : path, &name) < 0)
		return NULL;
	vec_each (files, it)
		if (it->name == name)
			return it;
	if (vec_push(files, (struct named_file){.name = name}) < 0)
		return NULL;
	return &files->at[files->n - 1];
}

static int add_path(struct diff *d, named_files *files, int side, const char *path)
{
	struct named_file *file = file_of(d, files, path);
	uint32_t id;

	if (!file || intern_id(&d->files, path, &id) < 0)
		return -ENOMEM;
	if (file->path[side] != id)
		file->n[side]++;
	file->path[side] = id;
	return 0;
}

static int add_section(struct diff *d, named_files *files, int side, const struct attar_section *s)
{
	int e = 0;

	for (size_t i = 0; i < s->columns.n; i++) {
		if (s->kind != ATTAR_SECTION_TABLE || !diff_is_file(s, i))
			continue;
		for (uint32_t row = 0; row < s->rows && e == 0; row++) {
			struct cell cell = section_cell(s, row, i);

			if (cell.kind == CELL_TEXT)
				e = add_path(d, files, side, section_text(s, cell.text));
		}
	}
	return e;
}

/* One remark names the first pairs. */
static void add_remark(struct diff *d, const named_files *files)
{
	struct buf text _cleanup_(buf_done) = {0};
	size_t shown = 0;

	vec_each (files, it) {
		if (!map_get(&d->same_files, it->path[BEFORE]) || shown++ >= SHOWN_MAX)
			continue;
		buf_printf(&text, "%s'%s' and '%s'", shown > 1 ? ", " : "",
			intern_get(&d->files, it->path[BEFORE]),
			intern_get(&d->files, it->path[AFTER]));
	}
	if (shown > SHOWN_MAX)
		buf_printf(&text, ", and %zu more", shown - SHOWN_MAX);
	if (shown && !buf_failed(&text))
		attar_report_remark(d->out,
			"compared as the same file, because only the directory differs: %s",
			buf_text(&text));
}

int diff_find_files(struct diff *d)
{
	named_files files = {0};
	int e = 0;

	for (int side = BEFORE; side < SIDES; side++)
		side_each(&d->sides[side], report) report_each_section (*report, it) if (e == 0) e =
			add_section(d, &files, side, *it);
	vec_each (&files, it)
		if (e == 0 && it->n[BEFORE] == 1 && it->n[AFTER] == 1 &&
			it->path[BEFORE] != it->path[AFTER])
			e = map_put(&d->same_files, it->path[BEFORE], it->path[AFTER]);
	if (e == 0)
		add_remark(d, &files);
	vec_done(&files);
	return e;
}
