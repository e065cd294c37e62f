/* SPDX-License-Identifier: MIT */
/*
 * A file is: header, ids of the events, attributes, data, table of features, features. The header
 * is written twice: at the start without the size of the data, which marks an unfinished file, and
 * at the end. A pipe has records in place of header and features.
 */
#include "recording/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limit.h"

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
 * are written to.
 */
static int open_output(struct recording_writer *w)
{
	struct stat st;

	if (lstat(w->opts.path, &st) == 0 && S_ISREG(st.st_mode) && unlink(w->opts.path) < 0)
		return attar_fail(-errno, "cannot replace %s: %s", CLIP(w->name), strerror(errno));
	w->fd = open(w->opts.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return limit_fail_open(errno, "cannot create %s", CLIP(w->name));
	w->owns_fd = true;
	w->pipe = S_ISFIFO(st.st_mode);
	return 0;
}

int writer_create(struct recording_writer *w)
{
	w->at = w->data_start = 0;
	w->stats.files++;
	w->clock_ns = w->opts.is_script ? 0 : clock_ns(w->opts.clockid);
	w->wall_ns = w->opts.is_script ? w->opts.wall_ns : clock_ns(CLOCK_REALTIME);
	if (w->pipe) {
		w->fd = STDOUT_FILENO;
		return 0;
	}
	return open_output(w);
}

static int write_failed(struct recording_writer *w, int error)
{
	w->failed = error;
	return attar_fail(error, "cannot write %s after %llu bytes: %s", CLIP(w->name),
		(unsigned long long)w->at, strerror(-error));
}

int writer_write_all(struct recording_writer *w, const void *bytes, size_t len)
{
	const char *at = bytes;

	if (w->opts.sink) {
		w->opts.sink(w->opts.ctx, bytes, len);
		w->at += len;
		w->stats.file_bytes += len;
		return 0;
	}
	while (len) {
		ssize_t n = write(w->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return write_failed(w, -errno);
		w->at += (size_t)n;
		w->stats.file_bytes += (size_t)n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int writer_flush(struct recording_writer *w)
{
	int r;

	if (w->failed)
		return w->failed;
	if (buf_failed(&w->out))
		return base_oom();
	r = writer_write_all(w, w->out.data, w->out.len);
	buf_reset(&w->out);
	return r;
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
 * Features that are not known yet, or cannot be a record: perf treats the padding behind the
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

/* The early features are dropped from a complete header. */
int writer_begin_file(struct recording_writer *w)
{
	struct buf early _cleanup_(buf_done) = {0};
	struct data_section ids = {.offset = sizeof(struct data_header)};
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
	vec_each (&w->events, event) {
		ids.size = event->n_ids * sizeof(*event->ids);
		buf_add(&w->out, &event->attr, w->attr_size);
		buf_add(&w->out, &ids, sizeof(ids));
		ids.offset += ids.size;
	}
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

static bool has_late_ids(const struct writer_event *event)
{
	return event->n_ids > event->n_early;
}

/* Appends the ids of events that have got new ones since the header was written. */
static int write_late_ids(struct recording_writer *w)
{
	int r = 0;

	vec_each (&w->events, event)
		if (r == 0 && has_late_ids(event))
			r = writer_write_all(w, event->ids, event->n_ids * sizeof(*event->ids));
	return r;
}

/* Lets the header refer to these ids, which are at `offset`. */
static int refer_to_late_ids(
	struct recording_writer *w, const struct data_header *header, uint64_t offset)
{
	struct data_section ids = {.offset = offset};
	uint64_t at = header->attrs.offset + w->attr_size;

	vec_each (&w->events, event) {
		ids.size = event->n_ids * sizeof(*event->ids);
		if (has_late_ids(event)) {
			if (pwrite(w->fd, &ids, sizeof(ids), (off_t)at) != sizeof(ids))
				return write_failed(w, -errno);
			ids.offset += ids.size;
		}
		at += header->attr_size;
	}
	return 0;
}

/* On a full disk the header, which exists, can still be completed. */
static int finish_file(struct recording_writer *w)
{
	struct data_header header = header_of(w);
	const struct data_section early = header.event_types;
	int r = writer_flush(w);
	uint64_t end, late;

	header.event_types = (struct data_section){0};
	header.data.size = w->at - w->data_start;
	end = w->at;
	if (r == 0)
		r = write_features(w, &header);
	late = w->at;
	if (r == 0)
		r = write_late_ids(w);
	if (r == 0)
		r = refer_to_late_ids(w, &header, late);
	if (r < 0) {
		memset(header.features, 0, sizeof(header.features));
		header.event_types = early;
		(void)!ftruncate(w->fd, (off_t)end);
	}
	if (pwrite(w->fd, &header, sizeof(header), 0) != sizeof(header) && r == 0)
		r = write_failed(w, -errno);
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

int writer_finish(struct recording_writer *w)
{
	int r = w->failed;

	if (w->begun && w->fd >= 0) {
		int finished = w->pipe ? finish_pipe(w) : finish_file(w);

		r = r < 0 ? r : finished;
	}
	if (w->owns_fd && close(w->fd) < 0 && r == 0)
		r = write_failed(w, -errno);
	w->fd = -1;
	w->owns_fd = false;
	return r;
}
