/* SPDX-License-Identifier: MIT */
/*
 * Batches on the disk, each in a separate file, which is renamed when it is complete. Names begin
 * with the time of the batch, so that they sort by age; the process that holds the lock of the
 * directory sends them. docs/fleet.md describes the format.
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include "base/file.h"

#define SCAN_NS  10000000000ULL /* other processes may add files */
#define BODY_MAX (256ULL << 20)

enum { NAME_BYTES = 64, TABLE_MAX = 256 * 1024, UNFINISHED_S = 3 };

static const char magic[8] = "ATTARSP1", suffix[] = ".batch", unfinished[] = ".part";

/* Little-endian. crc_head is the CRC of the bytes after it and of the table. */
struct head {
	char magic[8];
	uint32_t crc_head, crc_body;
	uint64_t id, created, body;
	uint32_t rows, table;
	uint32_t date, zero;
};
_Static_assert(sizeof(struct head) == 56, "the format has no gaps");

struct file {
	char name[NAME_BYTES];
};

struct spool {
	char *path;
	int folder, lock;
	bool is_locked;
	uint64_t quota, bytes;
	uint64_t scanned;       /* base_now(); 0: never */
	VEC(struct file) files; /* sorted: the oldest is at[first] */
	size_t first;
	struct file sending; /* the one that spool_oldest() has read */
	VEC(struct spool_damage) damaged;
};

/* ---- the directory ---- */

static int default_path(struct buf *path)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		buf_printf(path, "%s/attar", state);
	else if (geteuid() == 0)
		buf_str(path, "/var/lib/attar");
	else if (home && *home == '/')
		buf_printf(path, "%s/.local/state/attar", home);
	else
		return attar_fail(-EINVAL,
			"no directory is known for rows that wait for the server" ATTAR_FIX
			"set XDG_STATE_HOME, or use ?spool=DIRECTORY");
	return 0;
}

static int make_folders(const char *path)
{
	char *copy _cleanup_free_ = strdup(path);

	if (!copy)
		return base_oom();
	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return attar_fail(-EIO, "cannot create the directory '%s': %s", CLIP(copy),
				strerror(errno));
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Rows of others would be sent, or ours read, if others could write or read there. */
static int check_owner(const struct spool *spool)
{
	struct stat st;

	if (fstat(spool->folder, &st) < 0)
		return attar_fail(-EIO, "cannot read '%s': %s", CLIP(spool->path), strerror(errno));
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return attar_fail(-EIO,
			"the spool '%s' is accessible to other users" ATTAR_FIX
			"use another directory (?spool=DIRECTORY), or chmod 700",
			CLIP(spool->path));
	return 0;
}

static int open_folder(struct spool *spool)
{
	int e = make_folders(spool->path);

	if (e < 0)
		return e;
	spool->folder = open(spool->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (spool->folder < 0)
		return attar_fail(
			-EIO, "cannot open the spool '%s': %s", CLIP(spool->path), strerror(errno));
	e = check_owner(spool);
	if (e < 0)
		return e;
	spool->lock =
		openat(spool->folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return spool->lock < 0 ? attar_fail(-EIO, "cannot write to the spool '%s': %s",
					 CLIP(spool->path), strerror(errno))
			       : 0;
}

int spool_open(const struct clickhouse_url *url, struct spool **ret_spool)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	struct buf path = {0};
	int e = 0;

	if (!spool)
		return base_oom();
	spool->folder = spool->lock = -1;
	spool->quota = url->quota;
	if (url->spool)
		buf_str(&path, url->spool);
	else
		e = default_path(&path);
	buf_printf(&path, "/%s", url->folder);
	spool->path = buf_take(&path);
	if (e == 0)
		e = spool->path ? open_folder(spool) : base_oom();
	if (e < 0) {
		spool_free(spool);
		return e;
	}
	*ret_spool = spool;
	return 0;
}

struct spool *spool_free(struct spool *spool)
{
	if (!spool)
		return NULL;
	if (spool->lock >= 0)
		close(spool->lock);
	if (spool->folder >= 0)
		close(spool->folder);
	vec_done(&spool->files);
	vec_done(&spool->damaged);
	free(spool->path);
	free(spool);
	return NULL;
}

const char *spool_path(const struct spool *spool)
{
	return spool->path;
}

bool spool_take_damaged(struct spool *spool, struct spool_damage *ret_damage)
{
	if (!spool->damaged.n)
		return false;
	*ret_damage = spool->damaged.at[--spool->damaged.n];
	return true;
}

/* ---- reading ---- */

static uint32_t sum(uint32_t crc, const void *bytes, size_t n)
{
	return n ? (uint32_t)crc32(crc, bytes, (uInt)n) : crc; /* NULL would begin anew */
}

static uint32_t sum_of_head(const struct head *head, const char *table)
{
	size_t at = offsetof(struct head, crc_body);
	uint32_t crc = sum(0, (const char *)head + at, sizeof(*head) - at);

	return sum(crc, table, le32toh(head->table));
}

/* -EBADMSG: the file has fewer bytes. Other errors do not mean that it is damaged. */
static int read_exactly(int fd, void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, (char *)to + at, n - at));

		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		at += (size_t)got;
	}
	return 0;
}

/* The head and the table. -EBADMSG: they are damaged. */
static int read_head(int fd, struct head *head, struct batch **ret_batch)
{
	struct batch *batch;
	char *table _cleanup_free_ = NULL;
	int e = read_exactly(fd, head, sizeof(*head));
	size_t n;

	if (e < 0)
		return e;
	n = le32toh(head->table);
	if (memcmp(head->magic, magic, sizeof(magic)) || n > TABLE_MAX ||
		le64toh(head->body) > BODY_MAX)
		return -EBADMSG;
	table = calloc(1, n + 1);
	e = table ? read_exactly(fd, table, n) : -ENOMEM;
	if (e < 0)
		return e;
	if (sum_of_head(head, table) != le32toh(head->crc_head) || strlen(table) != n ||
		!tables_is_valid(table))
		return -EBADMSG;
	batch = batch_new(table, (uint16_t)le32toh(head->date));
	if (!batch)
		return -ENOMEM;
	batch->id = le64toh(head->id);
	batch->created = le64toh(head->created);
	batch->rows = le32toh(head->rows);
	batch->is_spooled = true;
	*ret_batch = batch;
	return 0;
}

static int read_body(int fd, const struct head *head, struct batch *batch)
{
	size_t n = le64toh(head->body);
	struct stat st;
	char rest;
	int e;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < n) /* not worth its memory */
		return -EBADMSG;
	e = buf_reserve(&batch->body, n) ? read_exactly(fd, batch->body.data, n) : -ENOMEM;
	if (e < 0)
		return e;
	batch->body.len = n;
	e = read_exactly(fd, &rest, 1); /* -EBADMSG: the end, as it has to be */
	if (e == -EBADMSG)
		return sum(0, batch->body.data, n) == le32toh(head->crc_body) ? 0 : -EBADMSG;
	return e == 0 ? -EBADMSG : e;
}

/* "CREATED-BATCH.batch" or "BATCH.part"; batch NULL: the head is damaged, too. */
static void count_damaged(struct spool *spool, const char *name, const struct batch *batch)
{
	const char *number = strchr(name, '-');
	struct spool_damage damage = {.id = strtoull(number ? number + 1 : name, NULL, 16),
		.rows = batch ? batch->rows : 0};

	vec_push(&spool->damaged, damage); /* a failure makes only the sums less exact */
}

/* -EBADMSG: it is damaged; that has been counted. Other errors: it cannot be read now. */
static int read_batch(struct spool *spool, const char *name, struct batch **ret_batch)
{
	int fd _cleanup_close_ = openat(spool->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct batch *batch = NULL;
	struct head head;
	int e = fd < 0 ? -errno : read_head(fd, &head, &batch);

	if (e == 0)
		e = read_body(fd, &head, batch);
	if (e == 0) {
		*ret_batch = batch;
		return 0;
	}
	if (e == -EBADMSG)
		count_damaged(spool, name, batch);
	batch_free(batch);
	return e;
}

/* ---- the list of files ---- */

static int order(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), len = strlen(end);

	return n > len && n < NAME_BYTES && !strcmp(name + n - len, end);
}

/* A file that its writer did not finish: no process holds its lock or has just created it. */
static void clean_unfinished(struct spool *spool, const char *name)
{
	int fd _cleanup_close_ = openat(spool->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct batch *batch = NULL;
	struct head head;
	struct stat st;
	int e;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
		time(NULL) - st.st_mtime < UNFINISHED_S)
		return;
	e = read_head(fd, &head, &batch);
	if (e == 0 || e == -EBADMSG) {
		count_damaged(spool, name, batch);
		unlinkat(spool->folder, name, 0);
	}
	batch_free(batch);
}

static void add_file(struct spool *spool, const char *name)
{
	struct file *file;
	struct stat st;

	if (fstatat(spool->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	spool->bytes += (uint64_t)st.st_size;
	file = ends_in(name, suffix) ? vec_add(&spool->files) : NULL;
	if (file)
		strcpy(file->name, name);
}

static void scan(struct spool *spool)
{
	int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	spool->scanned = base_now();
	if (!folder) {
		if (fd >= 0)
			close(fd);
		return; /* the list stays as it is until the next scan */
	}
	spool->files.n = spool->first = 0;
	spool->bytes = 0;
	for (struct dirent *it = readdir(folder); it; it = readdir(folder)) {
		if (ends_in(it->d_name, unfinished))
			clean_unfinished(spool, it->d_name);
		else if (ends_in(it->d_name, suffix))
			add_file(spool, it->d_name);
	}
	closedir(folder);
	if (spool->files.n)
		qsort(spool->files.at, spool->files.n, sizeof(*spool->files.at), order);
}

static void scan_sometimes(struct spool *spool)
{
	if (!spool->scanned || base_now() - spool->scanned > SCAN_NS)
		scan(spool);
}

/* -EWOULDBLOCK: another process has it. */
static int take_lock(struct spool *spool)
{
	if (!spool->is_locked && flock(spool->lock, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	spool->is_locked = true;
	return 0;
}

static void unlink_file(struct spool *spool, const char *name)
{
	struct stat st;

	if (fstatat(spool->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		spool->bytes -= MIN(spool->bytes, (uint64_t)st.st_size);
	unlinkat(spool->folder, name, 0);
}

int spool_oldest(struct spool *spool, struct batch **ret_batch)
{
	int e = 0;

	*ret_batch = NULL;
	scan_sometimes(spool);
	if (spool->first < spool->files.n)
		e = take_lock(spool);
	if (e < 0)
		return e == -EWOULDBLOCK ? 0
					 : attar_fail(e, "cannot lock the spool %s: %s",
						   spool->path, strerror(-e));
	while (spool->first < spool->files.n) {
		spool->sending = spool->files.at[spool->first];
		e = read_batch(spool, spool->sending.name, ret_batch);
		if (e == 0)
			return 0;
		if (e != -EBADMSG && e != -ENOENT)
			return attar_fail(e, "cannot read '%s' in the spool %s: %s",
				spool->sending.name, spool->path, strerror(-e));
		unlink_file(spool, spool->sending.name);
		spool->first++;
	}
	return 0;
}

/* The list may have been read again, and batches added, since spool_oldest(). */
void spool_remove(struct spool *spool)
{
	size_t i = spool->first;

	unlink_file(spool, spool->sending.name);
	while (i < spool->files.n && strcmp(spool->files.at[i].name, spool->sending.name) != 0)
		i++;
	if (i == spool->files.n)
		return;
	for (; i > spool->first; i--)
		spool->files.at[i] = spool->files.at[i - 1];
	spool->first++;
}

/* ---- writing ---- */

static int write_parts(int fd, const struct batch *batch)
{
	size_t n = strlen(batch->table);
	struct head head = {.crc_body = htole32(sum(0, batch->body.data, batch->body.len)),
		.id = htole64(batch->id),
		.created = htole64(batch->created),
		.body = htole64(batch->body.len),
		.rows = htole32(batch->rows),
		.table = htole32((uint32_t)n),
		.date = htole32(batch->date)};
	int e;

	memcpy(head.magic, magic, sizeof(magic));
	head.crc_head = htole32(sum_of_head(&head, batch->table));
	e = file_write_all(fd, &head, sizeof(head));
	if (e == 0)
		e = file_write_all(fd, batch->table, n);
	if (e == 0)
		e = file_write_all(fd, batch->body.data, batch->body.len);
	return e == 0 && fdatasync(fd) < 0 ? -errno : e;
}

/* Keeps the list sorted; a batch is rarely older than those in it. */
static void list_file(struct spool *spool, const char *name, size_t bytes)
{
	struct file *file = vec_add(&spool->files);

	spool->bytes += bytes;
	if (!file)
		return; /* the next scan finds it */
	strcpy(file->name, name);
	for (size_t i = spool->files.n - 1; i > spool->first; i--) {
		struct file swapped = spool->files.at[i - 1];

		if (strcmp(swapped.name, name) < 0)
			break;
		spool->files.at[i - 1] = spool->files.at[i];
		spool->files.at[i] = swapped;
	}
}

int spool_put(struct spool *spool, const struct batch *batch)
{
	size_t bytes = sizeof(struct head) + strlen(batch->table) + batch->body.len;
	char name[NAME_BYTES], part[NAME_BYTES];
	int fd _cleanup_close_ = -1, e;

	scan_sometimes(spool);
	if (spool->bytes + bytes > spool->quota)
		return attar_fail(-EDQUOT, "the spool %s has reached its quota", spool->path);
	snprintf(name, sizeof(name), "%020llu-%016llx%s", (unsigned long long)batch->created,
		(unsigned long long)batch->id, suffix);
	snprintf(part, sizeof(part), "%016llx%s", (unsigned long long)batch->id, unfinished);
	fd = openat(
		spool->folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return attar_fail(
			-errno, "cannot write to the spool %s: %s", spool->path, strerror(errno));
	flock(fd, LOCK_EX); /* others see that it is being written */
	e = write_parts(fd, batch);
	if (e == 0 && renameat(spool->folder, part, spool->folder, name) < 0)
		e = -errno;
	if (e < 0) {
		unlinkat(spool->folder, part, 0);
		return attar_fail(e, "cannot write to the spool %s: %s", spool->path, strerror(-e));
	}
	list_file(spool, name, bytes);
	return 0;
}
