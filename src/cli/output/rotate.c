/* SPDX-License-Identifier: MIT */
#include "cli/output/rotate.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/place.h"
#include "base/vec.h"

#define SECOND UINT64_C(1000000000)

enum { MAX_SAME_TIME = 10000 };

/* A file of the pattern. */
struct file {
	char *name;
	struct timespec time;
	uint64_t bytes;
};

typedef VEC(struct file) files;

static void files_done(files *all)
{
	vec_each (all, it)
		free(it->name);
	vec_done(all);
}

/* ---- names ---- */

bool rotation_is_due(const struct rotation *r, uint64_t begun)
{
	return r->is_full || r->begun / r->period != begun / r->period;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The end of the last conversion: after it, names have a number if they are taken. */
static const char *place_of_number(const char *pattern)
{
	const char *end = pattern;

	for (const char *p = strchr(pattern, '%'); p; p = strchr(end, '%'))
		end = p + 2;
	return end;
}

/* The name for a time; to be freed. NULL: out of memory. */
static char *make_name(const char *pattern, uint64_t time, unsigned number)
{
	const char *place = place_of_number(pattern);
	time_t seconds = (time_t)(time / SECOND);
	struct buf b = {0};
	struct tm tm;
	char text[8];

	gmtime_r(&seconds, &tm);
	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && strftime(text, sizeof(text), (char[]){'%', *++p, '\0'}, &tm))
			buf_str(&b, text);
		else
			buf_char(&b, *p);
		if (p + 1 == place && number)
			buf_printf(&b, ".%u", number);
	}
	return buf_take(&b);
}

bool rotation_has_time(const char *pattern)
{
	for (const char *p = strchr(pattern, '%'); p && p[1]; p = strchr(p + 2, '%'))
		if (strchr("YmdHMS", p[1]))
			return true;
	return false;
}

static int check_conversions(const char *pattern)
{
	const char *part = last_part(pattern);

	for (const char *p = strchr(pattern, '%'); p; p = strchr(p + 2, '%')) {
		if (!p[1] || !strchr("YmdHMS%", p[1]))
			return attar_fail(-EINVAL,
				"--rotate-every: '%s': names can contain %%Y, %%m, %%d, %%H, %%M, "
				"%%S, and %%%% for %%",
				CLIP(pattern));
		if (p < part)
			return attar_fail(-EINVAL,
				"--rotate-every: '%s': only the file name can contain the time, "
				"not a directory",
				CLIP(pattern));
	}
	return 0;
}

int rotation_check(const struct rotation *r)
{
	char *now _cleanup_free_ = NULL, *next _cleanup_free_ = NULL;
	uint64_t time = base_realtime();
	int error = check_conversions(r->pattern);

	if (error < 0)
		return error;
	now = make_name(r->pattern, time, 0);
	next = make_name(r->pattern, time + r->period, 0);
	if (!now || !next)
		return base_oom();
	if (strcmp(now, next) != 0)
		return 0;
	return attar_fail(-EINVAL,
		"--rotate-every: '%s' has the same name for the next file" ATTAR_FIX
		"add the time to it, for example %%Y%%m%%d-%%H%%M%%S",
		CLIP(r->pattern));
}

/* True if a name can be one of the pattern, which is the last part of a path. */
static bool matches(const char *pattern, const char *name)
{
	const char *rest = place_of_number(pattern);
	size_t digits;

	for (const char *p = pattern; p < rest; p++) {
		if (*p == '%' && *++p != '%') {
			digits = *p == 'Y' ? 4 : 2;
			if (strspn(name, "0123456789") < digits)
				return false;
			name += digits;
		} else if (*name++ != *p) {
			return false;
		}
	}
	if (!strcmp(name, rest))
		return true;
	digits = *name == '.' ? strspn(name + 1, "0123456789") : 0;
	return digits && !strcmp(name + 1 + digits, rest);
}

int rotation_open(struct rotation *r, uint64_t time, mode_t mode, int *ret_fd)
{
	char *name = NULL;
	int fd = -EEXIST;

	for (unsigned n = 0; fd == -EEXIST && n < MAX_SAME_TIME; n++) {
		free(name);
		name = make_name(r->pattern, time, n);
		if (!name)
			return base_oom();
		fd = place_open_path(name, O_WRONLY | O_CREAT | O_EXCL, mode);
	}
	if (fd < 0) {
		attar_fail(-EIO, "cannot write '%s': %s", CLIP(name), place_error(-fd));
		free(name);
		return -EIO;
	}
	*ret_fd = fd;
	free(r->name);
	r->name = name;
	r->begun = time;
	r->is_full = false;
	return 0;
}

void rotation_done(struct rotation *r)
{
	free(r->name);
	r->name = NULL;
}

/* ---- the quota ---- */

static int add_file(files *all, const char *name, const struct stat *st)
{
	struct file file = {strdup(name), st->st_mtim, (uint64_t)st->st_size};

	if (!file.name || vec_push(all, file) < 0) {
		free(file.name);
		return base_oom();
	}
	return 0;
}

/* The files of the pattern but the current one, and what they have. */
static int list_files(const struct rotation *r, DIR *dir, files *all, uint64_t *ret_bytes)
{
	const char *pattern = last_part(r->pattern), *current = last_part(r->name);
	struct dirent *entry;
	struct stat st;
	int error = 0;

	*ret_bytes = 0;
	while (error == 0 && (entry = readdir(dir))) {
		if (!matches(pattern, entry->d_name) || !strcmp(entry->d_name, current) ||
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		error = add_file(all, entry->d_name, &st);
		*ret_bytes += (uint64_t)st.st_size;
	}
	return error;
}

static int rotate_compare(const void *a, const void *b)
{
	const struct file *left = a, *right = b;

	if (left->time.tv_sec != right->time.tv_sec)
		return left->time.tv_sec < right->time.tv_sec ? -1 : 1;
	if (left->time.tv_nsec != right->time.tv_nsec)
		return left->time.tv_nsec < right->time.tv_nsec ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int delete_oldest(DIR *dir, files *all, uint64_t max_bytes, uint64_t *bytes)
{
	int error = 0;

	if (all->n)
		qsort(all->at, all->n, sizeof(*all->at), rotate_compare);
	vec_each (all, it) {
		if (*bytes <= max_bytes)
			break;
		if (unlinkat(dirfd(dir), it->name, 0) == 0 || errno == ENOENT)
			*bytes -= it->bytes;
		else if (error == 0)
			error = attar_fail(-EIO, "cannot delete '%s' to keep within the quota: %s",
				CLIP(it->name), strerror(errno));
	}
	return error;
}

static int delete_over_quota(struct rotation *r, uint64_t max_bytes)
{
	int folder = place_open_directory(r->name), error;
	files all _cleanup_(files_done) = {0};
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);

	if (!dir) {
		error = folder < 0 ? -folder : errno;
		if (folder >= 0)
			close(folder);
		return attar_fail(-EIO, "cannot list the directory of '%s': %s", CLIP(r->name),
			place_error(error));
	}
	error = list_files(r, dir, &all, &r->others);
	if (error == 0)
		error = delete_oldest(dir, &all, max_bytes, &r->others);
	closedir(dir);
	return error;
}

int rotation_keep(struct rotation *r, uint64_t own)
{
	r->is_full = own >= r->max_bytes;
	if (own + r->others <= r->max_bytes && r->begun == r->counted)
		return 0;
	r->counted = r->begun;
	return delete_over_quota(r, r->is_full ? 0 : r->max_bytes - own);
}
