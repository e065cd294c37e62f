/* SPDX-License-Identifier: MIT */
/*
 * A file is: header, ids of the events, attributes, data, table of features, features. The header
 * is written twice: at the start without the size of the data, which marks an unfinished file, and
 * at the end. A pipe has records in place of header and features.
 */
#include "perfdata/write_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file_limit.h"
#include "base/place.h"

/* Build ids and times are known at the end; a pipe has the former as records. */
static const uint8_t features[] = {FEATURE_TRACING_DATA, FEATURE_BUILD_ID, FEATURE_HOSTNAME,
	FEATURE_OSRELEASE, FEATURE_VERSION, FEATURE_ARCH, FEATURE_NRCPUS, FEATURE_CPUDESC,
	FEATURE_TOTAL_MEM, FEATURE_CMDLINE, FEATURE_EVENT_DESC, FEATURE_CPU_TOPOLOGY,
	FEATURE_SAMPLE_TIME, FEATURE_CLOCKID, FEATURE_COMPRESSED, FEATURE_CLOCK_DATA,
	FEATURE_NAMES};

/* The others describe the machine. */
static bool is_of_records(enum data_feature feature)
{
	return feature == FEATURE_TRACING_DATA || feature == FEATURE_EVENT_DESC ||
	       feature == FEATURE_SAMPLE_TIME || feature == FEATURE_CLOCKID ||
	       feature == FEATURE_CLOCK_DATA;
}

static uint64_t clock_ns(int clockid)
{
	struct timespec ts = {0};

	clock_gettime(clockid, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * An existing recording is unlinked, so that a process that reads it keeps it. Devices and pipes
 * are written to. Returns a descriptor or a negative errno.
 */
static int create_at(const struct place *place, bool *ret_is_pipe)
{
	struct stat st;
	int fd, r = place_stat(place, &st);

	if (r == 0 && S_ISREG(st.st_mode) && !place->is_own_file &&
		unlinkat(place->dir, place->name, 0) < 0)
		return -errno;
	*ret_is_pipe = r == 0 && S_ISFIFO(st.st_mode);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && (!S_ISREG(st.st_mode) || place->is_own_file))
		return place_open(place, O_WRONLY, 0);
	fd = TEMP_FAILURE_RETRY(
		openat(place->dir, place->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	return fd < 0 ? -errno : fd;
}

/* Returns a descriptor, or a negative errno with an error message. */
static int create(const char *path, bool *ret_is_pipe)
{
	struct place place;
	int r = place_find(&place, path);

	if (r == 0) {
		r = create_at(&place, ret_is_pipe);
		place_done(&place);
	}
	if (r == -EPERM)
		return attar_fail(-EIO, "cannot create %s: %s", CLIP(path), place_error(-r));
	return r < 0 ? file_limit_fail(-r, "cannot create %s", CLIP(path)) : r;
}

static void begin_times(struct recording_writer *w)
{
	w->at = w->data_start = 0;
	w->stats.files++;
	w->clock_ns = w->opts.is_script ? 0 : clock_ns(w->opts.clockid);
	w->wall_ns = w->opts.is_script ? w->opts.wall_ns : clock_ns(CLOCK_REALTIME);
}

/*
 * Standard output, reopened if it is a pipe: O_NONBLOCK is a flag of the open file description,
 * which other processes share. Returns a descriptor, or -1 with errno.
 */
static int open_stdout(bool *ret_is_own_pipe)
{
	struct stat st;
	int fd = -1;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		fd = open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC);
	*ret_is_own_pipe = fd >= 0;
	return fd < 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : fd;
}

int writer_create(struct recording_writer *w)
{
	bool is_own_pipe = false;
	int fd;

	begin_times(w);
	if (w->opts.sink)
		return 0;
	fd = w->pipe ? open_stdout(&is_own_pipe) : create(w->opts.path, &is_own_pipe);
	if (fd < 0)
		return w->pipe ? file_limit_fail(errno, "cannot write %s", w->name) : fd;
	w->pipe |= is_own_pipe;
	w->file = file_writer_new(fd, w->opts.buffer);
	if (!w->file) {
		close(fd);
		return base_oom();
	}
	if (is_own_pipe)
		file_writer_set_wait_limit(w->file, w->opts.limit);
	return 0;
}

static int write_failed(struct recording_writer *w, int error)
{
	const char *text;
	struct file_written written = file_writer_done(w->file, &text);

	w->failed = error;
	if (text)
		return attar_fail(error, "%s", text);
	if (error == -ETIMEDOUT)
		return attar_fail(error,
			"cannot write %s after %llu bytes: its reader did not read %llu more",
			CLIP(w->name), (unsigned long long)written.at,
			(unsigned long long)file_writer_unwritten(w->file));
	return attar_fail(error, "cannot write %s after %llu bytes: %s", CLIP(w->name),
		(unsigned long long)written.at, strerror(-error));
}

static int add_bytes(struct recording_writer *w, const void *bytes, size_t len)
{
	int r = 0;

	w->at += len;
	w->stats.file_bytes += len;
	if (w->box)
		box_add(w->box, bytes, len);
	else if (w->file)
		r = file_writer_add(w->file, bytes, len);
	else
		w->opts.sink(w->opts.ctx, bytes, len);
	return r < 0 ? write_failed(w, r) : 0;
}

static int add_out(struct recording_writer *w)
{
	int r;

	if (w->failed)
		return w->failed;
	if (buf_failed(&w->out))
		return base_oom();
	r = w->out.len ? add_bytes(w, w->out.data, w->out.len) : 0;
	buf_reset(&w->out);
	return r;
}

int writer_give(struct recording_writer *w, const void *bytes, size_t len)
{
	int r = add_out(w);

	return r == 0 ? add_bytes(w, bytes, len) : r;
}

int writer_flush(struct recording_writer *w)
{
	int r = add_out(w);

	if (r == 0 && w->file)
		r = file_writer_push(w->file);
	return r < 0 && !w->failed ? write_failed(w, r) : r;
}

void writer_trim_attrs(struct recording_writer *w)
{
	static const uint32_t sizes[] = {PERF_ATTR_SIZE_VER9, PERF_ATTR_SIZE_VER8,
		PERF_ATTR_SIZE_VER7, PERF_ATTR_SIZE_VER6, PERF_ATTR_SIZE_VER5, PERF_ATTR_SIZE_VER4,
		PERF_ATTR_SIZE_VER3};
	uint32_t size = sizes[0];

	for (size_t i = 1; i < ARRAY_SIZE(sizes); i++) {
		bool zero = true;

		vec_each (&w->events, event)
			for (size_t word = sizes[i] / 8; word < size / 8; word++)
				zero &= !event->attr.words[word];
		if (!zero)
			break;
		size = sizes[i];
	}
	w->attr_size = size;
	vec_each (&w->events, event)
		event->attr.attr.size = size;
}

/* ---- features as records ---- */

/*
 * Features that are not known yet, or cannot be a record: perf treats the padding after the
 * topology as part of it.
 */
static bool is_record(enum data_feature feature)
{
	return feature != FEATURE_TRACING_DATA && feature != FEATURE_BUILD_ID &&
	       feature != FEATURE_SAMPLE_TIME && feature != FEATURE_CPU_TOPOLOGY &&
	       feature != FEATURE_NAMES;
}

/*
 * Without a record for the end: its number would have to be the one after the last feature that the
 * reading perf supports.
 */
static void put_feature_records(struct recording_writer *w, struct buf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct buf contents _cleanup_(buf_done) = {0};
		size_t size;

		if (!is_record(features[i]))
			continue;
		writer_put_feature(w, features[i], &contents);
		writer_pad(&contents, 8);
		size = sizeof(struct perf_event_header) + 8 + contents.len;
		if (!contents.len || size > UINT16_MAX)
			continue;
		writer_put_header(b, RECORD_FEATURE, 0, size);
		writer_put_u64(b, features[i]);
		buf_add(b, contents.data, contents.len);
	}
}

static void put_tracing_data_record(struct recording_writer *w, struct buf *b)
{
	struct buf contents _cleanup_(buf_done) = {0};

	writer_put_tracing_data(w, &contents);
	writer_pad(&contents, 8);
	if (!contents.len)
		return;
	writer_put_header(b, RECORD_TRACING_DATA, 0, sizeof(struct perf_event_header) + 4);
	writer_put_u32(b, (uint32_t)contents.len);
	buf_add(b, contents.data, contents.len);
}

/* ---- a file ---- */

static struct data_header header_of(const struct recording_writer *w)
{
	struct data_header header = {.magic = PERF_DATA_MAGIC,
		.size = sizeof(header),
		.attr_size = w->attr_size + sizeof(struct data_section)};

	header.attrs.offset = sizeof(header);
	vec_each (&w->events, event)
		header.attrs.offset += event->n_early * sizeof(*event->ids);
	header.attrs.size = w->events.n * header.attr_size;
	header.event_types.offset = header.attrs.offset + header.attrs.size;
	header.event_types.size = w->early_size;
	header.data.offset = header.event_types.offset + w->early_size;
	return header;
}

static bool has_late_ids(const struct writer_event *event)
{
	return event->n_ids > event->n_early;
}

/* late_at: where the ids of events are that have got new ones since the header was written. */
static void put_attrs(const struct recording_writer *w, uint64_t late_at, struct buf *b)
{
	uint64_t early_at = sizeof(struct data_header);

	vec_each (&w->events, event) {
		uint64_t *at = has_late_ids(event) ? &late_at : &early_at;
		struct data_section ids = {*at, event->n_ids * sizeof(*event->ids)};

		buf_add(b, &event->attr, w->attr_size);
		buf_add(b, &ids, sizeof(ids));
		early_at += event->n_early * sizeof(*event->ids);
		late_at += has_late_ids(event) ? ids.size : 0;
	}
}

/* The early features are dropped from a complete header. */
int writer_begin_file(struct recording_writer *w)
{
	struct buf early _cleanup_(buf_done) = {0};
	struct data_header header;

	vec_each (&w->events, event)
		event->n_early = event->n_ids;
	put_feature_records(w, &early);
	put_tracing_data_record(w, &early);
	writer_pad(&early, 8);
	if (buf_failed(&early))
		return base_oom();
	w->early_size = early.len;
	header = header_of(w);
	buf_add(&w->out, &header, sizeof(header));
	vec_each (&w->events, event)
		buf_add(&w->out, event->ids, event->n_ids * sizeof(*event->ids));
	put_attrs(w, 0, &w->out);
	buf_add(&w->out, early.data, early.len);
	w->data_start = header.data.offset;
	return writer_flush(w);
}

/* Appends the table of features and their contents, and sets their bits in the header. */
static int write_features(struct recording_writer *w, struct data_header *header)
{
	struct buf contents _cleanup_(buf_done) = {0};
	VEC(struct data_section) sections = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(features); i++) {
		struct data_section section = {.offset = contents.len};

		if (!w->opts.is_script || is_of_records(features[i]))
			writer_put_feature(w, features[i], &contents);
		section.size = contents.len - section.offset;
		if (!section.size)
			continue;
		header->features[features[i] / 64] |= 1ULL << features[i] % 64;
		r = vec_push(&sections, section);
	}
	vec_each (&sections, section) {
		section->offset += w->at + sections.n * sizeof(*section);
		buf_add(&w->out, section, sizeof(*section));
	}
	vec_done(&sections);
	buf_add(&w->out, contents.data, contents.len);
	if (r < 0 || buf_failed(&contents))
		return base_oom();
	return writer_flush(w);
}

/* Appends the ids of events that have got new ones since the header was written. */
static void put_late_ids(struct recording_writer *w)
{
	vec_each (&w->events, event)
		if (has_late_ids(event))
			buf_add(&w->out, event->ids, event->n_ids * sizeof(*event->ids));
}

/* ---- the end of a file, by the thread that writes ---- */

struct ending {
	const char *path;
	unsigned rotate; /* see recording_writer_opts; 0: no file follows */
	struct data_header header;
	struct data_section early; /* dropped from the header if the features were written */
	uint64_t data_end;
	struct buf attrs; /* with the final ids */
};

static void free_ending(struct ending *e)
{
	buf_done(&e->attrs);
	free(e);
}

static int overwrite(int fd, const void *bytes, size_t n, uint64_t at)
{
	ssize_t done = pwrite(fd, bytes, n, (off_t)at);

	return done == (ssize_t)n ? 0 : done < 0 ? -errno : -EIO;
}

/* On a full disk, the header, which exists, can still refer to the records that were written. */
static void refer_to_data_only(struct ending *e, const struct file_written *written)
{
	uint64_t end = MIN(written->at, e->data_end);

	memset(e->header.features, 0, sizeof(e->header.features));
	e->header.event_types = e->early;
	e->header.data.size = MAX(end, e->header.data.offset) - e->header.data.offset;
	(void)!ftruncate(written->fd, (off_t)end);
}

static int complete(struct ending *e, struct file_written *written)
{
	int error = written->error, r;

	if (!error)
		error = overwrite(written->fd, e->attrs.data, e->attrs.len, e->header.attrs.offset);
	if (error)
		refer_to_data_only(e, written);
	r = overwrite(written->fd, &e->header, sizeof(e->header), 0);
	error = error ?: r;
	if (close(written->fd) < 0 && !error)
		error = -errno;
	if (error && !written->error)
		attar_fail(error, "cannot write %s after %llu bytes: %s", CLIP(e->path),
			(unsigned long long)written->at, strerror(-error));
	return error;
}

int writer_rename_files(const char *path, unsigned rotate)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* not /dev/null */
		return 0;
	for (unsigned i = rotate; i > 0; i--) {
		struct buf from _cleanup_(buf_done) = {0}, to _cleanup_(buf_done) = {0};

		buf_str(&from, path);
		if (i > 1)
			buf_printf(&from, ".%u", i - 1);
		buf_printf(&to, "%s.%u", path, i);
		if (buf_failed(&from) || buf_failed(&to))
			return base_oom();
		if (rename(buf_text(&from), buf_text(&to)) < 0 && errno != ENOENT)
			return attar_fail(-errno, "cannot rename %s to %s: %s", buf_text(&from),
				buf_text(&to), strerror(errno));
	}
	return 0;
}

static int begin_next(const struct ending *e, struct file_written *written)
{
	bool is_pipe;
	int r = writer_rename_files(e->path, e->rotate);

	if (r == 0)
		r = create(e->path, &is_pipe);
	if (r < 0)
		return r;
	written->fd = r;
	written->at = 0;
	return 0;
}

/* A file of which nothing was written after an error does not exist. */
static void end_file(void *ctx, struct file_written *written)
{
	struct ending *e = ctx;

	if (written->fd >= 0) {
		written->error = complete(e, written);
		written->fd = -1;
	}
	if (e->rotate && !written->error)
		written->error = begin_next(e, written);
	free_ending(e);
}

/* Returns NULL with an error message: out of memory. */
static struct ending *new_ending(struct recording_writer *w, unsigned rotate)
{
	struct ending *e = calloc(1, sizeof(*e));

	if (!e) {
		base_oom();
		return NULL;
	}
	e->path = w->name;
	e->rotate = rotate;
	e->header = header_of(w);
	e->early = e->header.event_types;
	e->header.event_types = (struct data_section){0};
	return e;
}

/* Lets the thread complete the file after what was given to it, also after an error. */
static int finish_file(struct recording_writer *w, unsigned rotate)
{
	struct ending *e = new_ending(w, rotate);
	int r = e ? writer_flush(w) : -ENOMEM, error;

	if (!e)
		return r;
	e->data_end = w->at;
	e->header.data.size = w->at - w->data_start;
	if (r == 0)
		r = write_features(w, &e->header);
	put_attrs(w, w->at, &e->attrs);
	put_late_ids(w);
	if (r == 0)
		r = writer_flush(w);
	if (buf_failed(&e->attrs)) {
		free_ending(e);
		return base_oom();
	}
	error = file_writer_then(w->file, end_file, e);
	return error < 0 && r == 0 ? write_failed(w, error) : r;
}

int writer_rotate(struct recording_writer *w)
{
	int r = finish_file(w, w->opts.rotate);

	begin_times(w);
	return r;
}

/* ---- a pipe ---- */

static void put_attr_records(struct recording_writer *w)
{
	vec_each (&w->events, event) {
		size_t ids = event->n_ids * sizeof(*event->ids);
		size_t size = sizeof(struct perf_event_header) + w->attr_size + ids;

		/* A record has 64 KiB; further ids, of thousands of CPUs, do not fit. */
		while (size > UINT16_MAX)
			size -= sizeof(*event->ids), ids -= sizeof(*event->ids);
		writer_put_header(&w->out, RECORD_ATTR, 0, size);
		buf_add(&w->out, &event->attr, w->attr_size);
		buf_add(&w->out, event->ids, ids);
	}
}

int writer_begin_pipe(struct recording_writer *w)
{
	writer_put_u64(&w->out, PERF_DATA_MAGIC);
	writer_put_u64(&w->out, DATA_PIPE_HEADER);
	put_attr_records(w);
	put_feature_records(w, &w->out);
	put_tracing_data_record(w, &w->out);
	return writer_flush(w);
}

static int finish_pipe(struct recording_writer *w)
{
	writer_put_build_ids(w, &w->out);
	return writer_flush(w);
}

static int close_file(struct recording_writer *w)
{
	int error = file_writer_wait(w->file);
	int r = error < 0 && !w->failed ? write_failed(w, error) : 0;

	error = file_writer_free(TAKE_PTR(w->file));
	if (error < 0 && !w->failed)
		r = attar_fail(error, "cannot write %s: %s", CLIP(w->name), strerror(-error));
	return r;
}

int writer_finish(struct recording_writer *w)
{
	int r = w->failed, error = 0;

	if (w->begun && (w->file || w->opts.sink))
		error = w->pipe ? finish_pipe(w) : finish_file(w, 0);
	w->begun = false;
	r = r < 0 ? r : error;
	if (!w->file)
		return r;
	error = close_file(w);
	return r < 0 ? r : error;
}
