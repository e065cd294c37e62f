/* SPDX-License-Identifier: MIT */
#include "run/result_files.h"

#include <fcntl.h>

#include "attar/profiler.h"
#include "base/base.h"
#include "base/vec.h"
#include "base/whole_file.h"
#include "run/run.h"

struct result_file {
	struct whole_file whole;
	FILE *file;
	char *option, *path; /* owned */
};

typedef VEC(struct result_file) result_files;

PART_STATE(result_files_of, result_files, PART_RESULT_FILES)

static int failed(const char *option, const char *path, int error)
{
	return attar_fail(
		-error, "%s: cannot write '%s': %s", option, CLIP(path), place_error(error));
}

/* Returns 0 or an errno. */
static int close_file(struct result_file *f, bool is_complete)
{
	int error = 0, r;

	if (is_complete && fflush(f->file))
		error = errno;
	r = whole_file_finish(&f->whole, fileno(f->file), is_complete && !error);
	if (fclose(f->file) && !error)
		error = errno;
	return error ? error : -r;
}

static void free_names(struct result_file *f)
{
	free(f->option);
	free(f->path);
}

int result_files_finish(struct attar_run *run)
{
	result_files *files = result_files_of(run);
	int r = 0;

	vec_each (files, f) {
		int error = close_file(f, r == 0);

		if (error && r == 0)
			r = failed(f->option, f->path, error);
		free_names(f);
	}
	vec_done(files);
	return r;
}

static void result_files_free(struct attar_run *run, void *self)
{
	result_files *files = self;

	vec_each (files, f) {
		close_file(f, false);
		free_names(f);
	}
	vec_done(files);
}

int run_file(struct attar_run *run, const char *option, const char *path, FILE **ret_file)
{
	struct result_file f = {.option = strdup(option), .path = strdup(path)};
	int fd = f.option && f.path ? whole_file_begin(&f.whole, path, place_default_mode(), 0)
				    : -ENOMEM;

	if (fd >= 0)
		f.file = fdopen(fd, "w");
	if (f.file && vec_push(result_files_of(run), f) == 0) {
		*ret_file = f.file;
		return 0;
	}
	if (f.file)
		close_file(&f, false);
	free_names(&f);
	return fd < 0 && fd != -ENOMEM ? failed(option, path, -fd) : base_oom();
}

int run_append_file(struct attar_run *run, const char *option, const char *path, FILE **ret_file)
{
	int fd = place_open_path(path, O_WRONLY | O_CREAT | O_APPEND, place_default_mode());
	FILE *file;

	if (fd < 0)
		return attar_fail(
			fd, "%s: cannot open '%s': %s", option, CLIP(path), place_error(-fd));
	file = fdopen(fd, "a");
	if (!file) {
		close(fd);
		return base_oom();
	}
	*ret_file = file;
	return 0;
}

const struct run_part part_result_files = {.size = sizeof(result_files), .free = result_files_free};
