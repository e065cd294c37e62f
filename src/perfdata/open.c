/* SPDX-License-Identifier: MIT */
/* Opening and closing of recordings, and their descriptions. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file_limit.h"
#include "base/user_file.h"
#include "perfdata/internal.h"
#include "perfdata/script.h"

enum {
	ASK_MS = 100,
	SCRIPT_BYTES_MAX = 16 << 20,
	ANYBODY = 65534, /* owns what others send, and files that all can change */
};

static int denied(const char *path, int r)
{
	return file_limit_fail(-r, "cannot open %s", CLIP(path));
}

/* The data file of a directory written by perf record --kcore. */
static int open_directory(struct recording *r)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/data.0", r->path);
	if (!access(path, F_OK))
		return attar_fail(-ENOTSUP,
			"%s was recorded with 'perf record --threads', which is not "
			"supported" ATTAR_FIX "record it without --threads",
			CLIP(r->path));
	snprintf(path, sizeof(path), "%s/data", r->path);
	fd = user_file_open(path, 0);
	if (fd < 0)
		return attar_fail(-EISDIR, "%s is a directory, not a recording", CLIP(r->path));
	close(r->fd);
	r->fd = fd;
	return 0;
}

static int open_input(struct recording *r, const char *path)
{
	struct stat st;

	r->path = strdup(strcmp(path, "-") ? path : "standard input");
	if (!r->path)
		return base_oom();
	if (strcmp(path, "-")) {
		/* O_NONBLOCK: see wait_for_writer() */
		r->fd = user_file_open(path, O_NONBLOCK | O_NOCTTY);
		r->owns_fd = true;
	}
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return denied(r->path, -errno);
	if (S_ISDIR(st.st_mode)) {
		int ret = open_directory(r);

		if (ret < 0)
			return ret;
		if (fstat(r->fd, &st) < 0)
			return denied(r->path, -errno);
	}
	r->seekable = S_ISREG(st.st_mode);
	r->facts.owner = st.st_mode & S_IWOTH ? ANYBODY : st.st_uid;
	r->facts.pipe = !r->seekable;
	r->file_size = r->seekable ? (uint64_t)st.st_size : UINT64_MAX;
	return 0;
}

/* An input is asked again from time to time: it may have a time limit, or be told to stop. */
static int wait_for_bytes(const struct recording *r)
{
	struct pollfd fd = {.fd = r->fd, .events = POLLIN};

	return poll(&fd, 1, r->input.read ? ASK_MS : -1) < 0 && errno != EINTR ? -1 : 0;
}

static ssize_t read_some(struct recording *r, char *bytes, size_t n, size_t at)
{
	ssize_t got;

	if (!r->facts.pipe)
		return pread(r->fd, bytes, n, (off_t)at);
	if (!r->input.read)
		return read(r->fd, bytes, n);
	while ((got = r->input.read(r->input.ctx, bytes, n)) == -EAGAIN)
		if (wait_for_bytes(r) < 0)
			return -1;
	if (got >= 0)
		return got;
	errno = (int)-got;
	return -1;
}

static int unread(const struct recording *r)
{
	if (errno == EINTR)
		return attar_fail(-EINTR, "interrupted");
	if (errno == ECANCELED)
		return attar_fail(-ECANCELED, "stopped while waiting for %s", CLIP(r->path));
	return attar_fail(-errno, "cannot read %s: %s", CLIP(r->path), strerror(errno));
}

/* Until a FIFO has a writer, open(2) would wait, and poll(2) does, which a signal ends. */
static int wait_for_writer(const struct recording *r)
{
	struct pollfd fd = {.fd = r->fd, .events = POLLIN};

	if (r->seekable || !r->owns_fd)
		return 0;
	if (poll(&fd, 1, -1) < 0)
		return -1;
	return fcntl(r->fd, F_SETFL, 0);
}

/* Reads the start of the input. A pipe is read byte for byte as far as its shorter header. */
static int read_start(struct recording *r, struct data_header *ret_header, size_t *ret_len)
{
	char *bytes = (char *)ret_header;
	size_t want = r->facts.pipe ? DATA_PIPE_HEADER : sizeof(*ret_header), len = 0;

	if (wait_for_writer(r) < 0)
		return unread(r);
	while (len < want) {
		ssize_t got = read_some(r, bytes + len, want - len, len);

		if (got < 0)
			return unread(r);
		if (!got)
			break;
		len += (size_t)got;
	}
	*ret_len = len;
	return 0;
}

/* Reads the rest of a script, up to the end of the file or pipe. */
static int read_text(struct recording *r, struct buf *text)
{
	char bytes[16384];
	ssize_t got;

	while ((got = read_some(r, bytes, sizeof(bytes), text->len)) > 0) {
		if (text->len + (size_t)got > SCRIPT_BYTES_MAX)
			return attar_fail(-EFBIG, "%s is larger than %d bytes", CLIP(r->path),
				SCRIPT_BYTES_MAX);
		buf_add(text, bytes, (size_t)got);
	}
	if (got < 0)
		return unread(r);
	return buf_failed(text) ? base_oom() : 0;
}

static int check_magic(struct recording *r, struct data_header *header, size_t len)
{
	if (!len && r->input.damage && r->input.damage(r->input.ctx))
		recording_damage(r, "%s", r->input.damage(r->input.ctx));
	if (!len && !r->stats.damage)
		return attar_fail(-EBADMSG, "'%s' is empty: it is not a recording", CLIP(r->path));
	if (!len)
		return attar_fail(-EBADMSG, "%s: %s", CLIP(r->path), r->stats.damage);
	if (len >= 8 && (header->magic == PERF_DATA_MAGIC_V1 ||
				header->magic == __builtin_bswap64(PERF_DATA_MAGIC_V1)))
		return attar_fail(-ENOTSUP,
			"%s is a perf.data file of version 1, written before Linux 2.6.37: only "
			"version 2 "
			"is supported",
			CLIP(r->path));
	if (len < DATA_PIPE_HEADER || (header->magic != PERF_DATA_MAGIC &&
					      header->magic != __builtin_bswap64(PERF_DATA_MAGIC)))
		return attar_fail(-EBADMSG,
			"%s is not a recording: it does not start with PERFILE2, as perf.data does",
			CLIP(r->path));
	r->facts.swapped = header->magic != PERF_DATA_MAGIC;
	if (r->facts.swapped)
		for (size_t i = 0; i < sizeof(*header) / 8; i++)
			((uint64_t *)header)[i] = __builtin_bswap64(((uint64_t *)header)[i]);
	if (header->size == DATA_PIPE_HEADER) {
		r->raw.offset = DATA_PIPE_HEADER;
		r->data_end = UINT64_MAX;
		/* Also if it was saved to a file, which is read like one. */
		r->facts.pipe = true;
		return 0;
	}
	if (r->facts.pipe)
		return attar_fail(-ENOTSUP,
			"%s is a pipe, but the recording in it has the format of a file" ATTAR_FIX
			"give the file's name instead",
			CLIP(r->path));
	if (len < sizeof(*header) || header->size < sizeof(*header))
		return attar_fail(
			-EBADMSG, "%s: the header of the recording is truncated", CLIP(r->path));
	return 0;
}

/* Reads a pipe up to its first records, so that its events are known. */
static int read_ahead(struct recording *r)
{
	for (;;) {
		int ret = recording_next(r, &r->pending);

		if (ret != -EAGAIN)
			return ret < 0 ? ret : 0;
		if (wait_for_bytes(r) < 0)
			return attar_fail(
				-errno, "cannot read %s: %s", CLIP(r->path), strerror(errno));
	}
}

/* Replaces a script by the recording that it describes. */
static int compile_script(struct recording *r, struct data_header *ret_header, size_t *ret_len)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct stat st;
	int fd = -1, ret;

	buf_add(&text, (const char *)ret_header, *ret_len);
	ret = read_text(r, &text);
	if (ret >= 0)
		ret = script_compile(r->path, buf_text(&text), text.len, &fd);
	if (ret < 0)
		return ret;
	if (r->owns_fd)
		close(r->fd);
	r->fd = fd;
	r->owns_fd = r->seekable = r->facts.script = true;
	r->facts.pipe = false;
	r->file_size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	return read_start(r, ret_header, ret_len);
}

static bool is_script(const struct data_header *header, size_t len)
{
	return len > strlen(SCRIPT_MAGIC) && !memcmp(header, SCRIPT_MAGIC, strlen(SCRIPT_MAGIC));
}

static int open_recording(struct recording *r, const char *path)
{
	struct data_header header = {0};
	size_t len = 0;
	int ret;

	ret = r->input.read ? 0 : open_input(r, path);
	if (ret >= 0)
		ret = read_start(r, &header, &len);
	if (ret >= 0 && !r->input.read && is_script(&header, len))
		ret = compile_script(r, &header, &len);
	if (ret >= 0)
		ret = check_magic(r, &header, len);
	if (ret < 0)
		return ret;
	if (r->facts.pipe)
		ret = read_ahead(r);
	else
		ret = recording_read_header(r, &header);
	if (ret >= 0 && !r->facts.pipe && r->stats.damage)
		ret = recording_take_running_formats(r);
	if (ret >= 0)
		ret = recording_complete_events(r);
	if (ret >= 0 && !r->events.n)
		return attar_fail(-EBADMSG, "%s: the recording has no events%s%s", CLIP(r->path),
			r->stats.damage ? ": " : "", r->stats.damage ? r->stats.damage : "");
	return ret;
}

int recording_open_input(
	const char *name, const struct recording_input *input, struct recording **ret_recording)
{
	struct recording *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return base_oom();
	r->facts.clockid = -1;
	if (input->read) {
		r->input = *input;
		r->fd = input->fd;
		r->path = strdup(name);
		r->facts.pipe = true;
		r->facts.owner = ANYBODY;
		r->file_size = UINT64_MAX;
	}
	ret = input->read && !r->path ? base_oom() : open_recording(r, name);
	if (ret < 0) {
		recording_close(r);
		return ret;
	}
	*ret_recording = r;
	return 0;
}

int recording_open(const char *path, struct recording **ret_recording)
{
	const struct recording_input none = {0};

	return recording_open_input(path, &none, ret_recording);
}

struct recording *recording_close(struct recording *r)
{
	if (!r)
		return NULL;
	if (r->owns_fd && r->fd >= 0)
		close(r->fd);
	vec_each (&r->events, entry) {
		free((*entry)->ids);
		free((*entry)->name);
		attar_format_free((*entry)->format);
		free(*entry);
	}
	vec_each (&r->texts, text)
		free(*text);
	vec_done(&r->events);
	vec_done(&r->steps);
	vec_done(&r->texts);
	vec_done(&r->build_ids);
	vec_done(&r->missing);
	for (int moment = 0; moment < RECORDING_MOMENTS; moment++)
		recording_waits_done(&r->waits[moment]);
	for (int moment = 0; moment < RECORDING_MOMENTS; moment++)
		vec_done(&r->scheds[moment]);
	vec_done(&r->groups);
	vec_done(&r->tracing.events);
	free(r->tracing.bytes);
	free(r->names);
	map_done(&r->tracing.by_id);
	map_done(&r->event_of_id);
	buf_done(&r->gathered);
	decompress_done(&r->decompressor);
	chunk_pool_done(&r->pool);
	free(r->aligned);
	free(r->path);
	free(r);
	return NULL;
}
