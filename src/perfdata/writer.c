/* SPDX-License-Identifier: MIT */
/* The life of a writer: events, records and rounds. write_file.c has the layout of the file. */
#include "perfdata/writer.h"

#include <unistd.h>

#include "base/file.h"
#include "perfdata/write_file.h"
#include "perfdata/writer_internal.h"

enum { PLAIN_BYTES = 256 << 10 }; /* that are compressed at once, or by a round */

static int create_box(struct recording_writer *w)
{
	w->box = malloc(sizeof(*w->box));
	return w->box ? box_init(w->box, w->opts.keep_ns, w->opts.keep_bytes) : base_oom();
}

static void free_box(struct recording_writer *w)
{
	if (w->box)
		box_done(w->box);
	free(w->box);
}

int recording_writer_open(
	const struct recording_writer_opts *opts, struct recording_writer **ret_writer)
{
	struct recording_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return base_oom();
	w->opts = *opts;
	w->pipe = opts->sink || !strcmp(opts->path, "-");
	w->name = w->pipe && !opts->sink ? "standard output" : opts->path;
	r = dsos_init(&w->files, 0);
	if (r == 0 && (opts->compress || opts->keep_ns))
		r = compress_init(&w->compressor);
	if (r == 0)
		r = opts->keep_ns ? create_box(w) : writer_create(w);
	if (r < 0) {
		dsos_done(&w->files);
		free_box(w);
		compress_done(&w->compressor);
		free(w);
		return r;
	}
	*ret_writer = w;
	return 0;
}

int recording_writer_add_event(
	struct recording_writer *w, const struct recording_writer_event *event)
{
	struct writer_event copy = {.name = strdup(event->name),
		.ids = malloc(event->n_ids * sizeof(*event->ids) + 1),
		.n_ids = event->n_ids,
		.system = event->system ? strdup(event->system) : NULL,
		.format_text = event->format_text,
		.format_len = event->format_len};
	size_t size = event->attr->size ?: PERF_ATTR_SIZE_VER0;

	memcpy(&copy.attr, event->attr, MIN(size, sizeof(copy.attr)));
	if (!copy.name || !copy.ids || (event->system && !copy.system) ||
		vec_push(&w->events, copy) < 0) {
		free(copy.name);
		free(copy.ids);
		free(copy.system);
		return base_oom();
	}
	if (event->n_ids)
		memcpy(copy.ids, event->ids, event->n_ids * sizeof(*event->ids));
	if (w->events.n == 1)
		attar_layout_init(&w->layout, &copy.attr.attr);
	return 0;
}

/* Compresses what was collected; small pieces would compress badly. */
int writer_compress(struct recording_writer *w)
{
	int r = buf_failed(&w->plain) ? base_oom() : 0;

	if (r == 0 && w->plain.len)
		r = compress_add(&w->compressor, w->plain.data, w->plain.len, &w->out);
	buf_reset(&w->plain);
	return r == 0 ? writer_flush(w) : r;
}

int recording_writer_write(struct recording_writer *w, const void *bytes, size_t len)
{
	w->stats.bytes += len;
	if (!w->compressor.stream)
		return writer_give(w, bytes, len);
	buf_add(&w->plain, bytes, len);
	return w->plain.len < PLAIN_BYTES ? 0 : writer_compress(w);
}

/* Records of the tools are not compressed: readers expect records of the kernel there. */
static int write_update(struct recording_writer *w, const struct buf *records)
{
	int r = buf_failed(records) ? base_oom() : 0;

	if (r < 0 || !w->compressor.stream)
		return r < 0 ? r : recording_writer_write(w, records->data, records->len);
	r = writer_compress(w);
	buf_add(&w->out, records->data, records->len);
	return r == 0 ? writer_flush(w) : r;
}

/* The event is named by an id that it has. */
static void put_update_of_bytes(
	struct buf *b, uint64_t type, const struct writer_event *e, const void *bytes, size_t n)
{
	writer_put_header(b, RECORD_EVENT_UPDATE, 0,
		sizeof(struct perf_event_header) + 2 * sizeof(uint64_t) + n);
	writer_put_u64(b, type);
	writer_put_u64(b, e->ids[0]);
	buf_add(b, bytes, n);
}

static void put_update(struct buf *b, uint64_t type, const struct writer_event *e,
	const uint64_t *values, size_t n)
{
	put_update_of_bytes(b, type, e, values, n * sizeof(*values));
}

static int write_late_id(struct recording_writer *w, const struct writer_event *e, uint64_t id)
{
	struct buf record _cleanup_(buf_done) = {0};

	put_update(&record, EVENT_UPDATE_IDS, e, &id, 1);
	return write_update(w, &record);
}

int recording_writer_add_id(struct recording_writer *w, size_t event, uint64_t id)
{
	struct writer_event *e = event < w->events.n ? &w->events.at[event] : NULL;
	uint64_t *grown;

	if (!e)
		return 0;
	for (size_t i = 0; i < e->n_ids; i++)
		if (e->ids[i] == id)
			return 0;
	grown = reallocarray(e->ids, e->n_ids + 1, sizeof(*grown));
	if (!grown)
		return base_oom();
	e->ids = grown;
	e->ids[e->n_ids++] = id;
	return w->pipe && w->begun && e->n_ids > 1 ? write_late_id(w, e, id) : 0;
}

/* Readers leave out the samples of this process, unless they need all. */
static void put_recorder(struct recording_writer *w)
{
	const uint64_t pid = (uint64_t)getpid();

	if (w->events.n && w->events.at[0].n_ids)
		put_update(&w->out, EVENT_UPDATE_RECORDER, &w->events.at[0], &pid, 1);
}

/* What runs first on a CPU that comes online later has not run there since the start. */
static void put_online(struct recording_writer *w)
{
	enum { LIST_MAX = 4096 };
	struct buf list _cleanup_(buf_done) = {0};
	char text[LIST_MAX] = "";

	if (!w->events.n || !w->events.at[0].n_ids)
		return;
	if (file_read("/sys/devices/system/cpu/online", sizeof(text) - 8, &list) < 0) {
		attar_error_clear();
		return;
	}
	memcpy(text, list.data, strcspn(list.data, "\n"));
	put_update_of_bytes(
		&w->out, EVENT_UPDATE_ONLINE, &w->events.at[0], text, (strlen(text) / 8 + 1) * 8);
}

/* The features precede the data in a pipe, and follow them in a file. */
static int begin_file(struct recording_writer *w)
{
	int r = w->pipe ? writer_begin_pipe(w) : writer_begin_file(w);

	if (r == 0 && !w->opts.is_script) {
		put_recorder(w);
		put_online(w);
		r = writer_put_tasks(w, &w->out);
	}
	if (r == 0 && buf_failed(&w->out))
		r = base_oom();
	return r == 0 ? writer_flush(w) : r;
}

int recording_writer_begin(struct recording_writer *w)
{
	writer_trim_attrs(w);
	live_tasks_init(&w->tasks, &w->layout);
	w->begun = true;
	if (!w->box)
		return begin_file(w);
	w->tasks.max_memory = w->opts.keep_bytes / 2;
	return writer_follow_tasks(w);
}

void writer_note_map(struct recording_writer *w, const struct perf_event_header *header)
{
	const struct attar_mmap *m;
	struct attar_record record;
	struct attar_mapping mapping;

	if (attar_record_parse(&w->layout, header, header->size, &record) < 0) {
		attar_error_clear();
		return;
	}
	m = &record.mmap;
	mapping = (struct attar_mapping){.path = m->filename,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = (uint32_t)m->ino_generation,
		.build_id_size = m->build_id_size};
	memcpy(mapping.build_id, m->build_id, sizeof(mapping.build_id));
	writer_add_file(w, &mapping);
}

static bool is_map(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_MMAP || header->type == PERF_RECORD_MMAP2;
}

/* By event; before Linux 6.0 a LOST record can be about any of them. */
static bool counts_losses(const struct recording_writer *w)
{
	return w->events.n && w->events.at[0].attr.attr.read_format & PERF_FORMAT_LOST_;
}

void recording_writer_note(struct recording_writer *w, const struct perf_event_header *header)
{
	uint64_t time, lost;

	w->stats.records++;
	time = attar_record_time(&w->layout, header);
	if (w->box)
		box_note(w->box, header, time);
	else if (w->opts.rotate)
		live_tasks_note(&w->tasks, header);
	if (header->type == PERF_RECORD_SAMPLE) {
		w->stats.samples++;
		if (time > w->last_time)
			w->last_time = time;
		if (unlikely(time < w->first_time || !w->first_time))
			w->first_time = time;
	} else if (is_map(header) && (w->box || header->misc & PERF_RECORD_MISC_MMAP_DATA)) {
		return; /* of data there are no build IDs, and dumps take their own files */
	} else if (is_map(header)) {
		writer_note_map(w, header);
	} else if (header->type == PERF_RECORD_LOST && header->size >= 24) {
		memcpy(&lost, (const char *)header + 16, sizeof(lost));
		w->stats.lost += lost;
		w->tasks.is_stale |= !counts_losses(w);
	}
}

int recording_writer_add_running(struct recording_writer *w, const pid_t *tids, size_t n)
{
	struct buf records _cleanup_(buf_done) = {0};
	int r = writer_put_running(w, tids, n, &records);
	const struct perf_event_header *header;

	for (size_t at = 0; r == 0 && writer_follows(w) && at < records.len; at += header->size) {
		header = (const void *)(records.data + at);
		if (w->box)
			box_note(w->box, header, 0);
		else
			live_tasks_note(&w->tasks, header);
	}
	return r == 0 ? recording_writer_write(w, records.data, records.len) : r;
}

/* The trailer has zeros as its time and task. */
int recording_writer_add_lost(
	struct recording_writer *w, size_t event, uint64_t id, int cpu, uint64_t n)
{
	struct buf record _cleanup_(buf_done) = {0};
	struct attar_layout layout;
	uint32_t number = (uint32_t)cpu;
	char trailer[64] = {0}, *end;

	if (w->pipe && w->events.at[event].n_ids)
		id = w->events.at[event].ids[0]; /* which the header has */
	attar_layout_init(&layout, &w->events.at[event].attr.attr);
	end = trailer + layout.trailer_size;
	if (layout.back_id > 0)
		memcpy(end - layout.back_id, &id, sizeof(id));
	if (layout.back_cpu > 0)
		memcpy(end - layout.back_cpu, &number, sizeof(number));
	writer_put_header(&record, PERF_RECORD_LOST_SAMPLES, 0,
		sizeof(struct perf_event_header) + sizeof(n) + layout.trailer_size);
	writer_put_u64(&record, n);
	buf_add(&record, trailer, layout.trailer_size);
	if (buf_failed(&record))
		return base_oom();
	w->stats.records++;
	w->tasks.is_stale |= n && w->events.at[event].attr.attr.task;
	return recording_writer_write(w, record.data, record.len);
}

int recording_writer_add_missing(struct recording_writer *w, int cpu, uint64_t n)
{
	const uint64_t values[] = {n, (uint64_t)cpu};
	struct buf record _cleanup_(buf_done) = {0};

	if (!w->events.n || !w->events.at[0].n_ids)
		return 0;
	put_update(&record, EVENT_UPDATE_MISSING, &w->events.at[0], values, ARRAY_SIZE(values));
	return write_update(w, &record);
}

int recording_writer_add_waits(struct recording_writer *w, const struct recording_waits *waits,
	enum recording_moment moment)
{
	struct buf records _cleanup_(buf_done) = {0}, contents _cleanup_(buf_done) = {0};
	const struct writer_event *e = w->events.at;

	if (!w->events.n || !e->n_ids)
		return 0;
	recording_waits_put(waits, moment, &contents);
	put_update_of_bytes(&records, EVENT_UPDATE_WAITS, e, contents.data, contents.len);
	vec_each (&waits->threads, thread) {
		buf_reset(&contents);
		recording_waits_put_thread(thread, moment, &contents);
		put_update_of_bytes(&records, EVENT_UPDATE_WAIT, e, contents.data, contents.len);
	}
	return buf_failed(&contents) ? base_oom() : write_update(w, &records);
}

int recording_writer_add_group(struct recording_writer *w, const struct recording_group *group)
{
	struct buf record _cleanup_(buf_done) = {0}, contents _cleanup_(buf_done) = {0};
	const struct writer_event *e = w->events.at;

	if (!w->events.n || !e->n_ids)
		return 0;
	recording_group_put(group, &contents);
	put_update_of_bytes(&record, EVENT_UPDATE_GROUP, e, contents.data, contents.len);
	if (w->box && !buf_failed(&contents) && !buf_failed(&record))
		return box_keep_group(w->box, group->pid, &record);
	return buf_failed(&contents) ? base_oom() : write_update(w, &record);
}

int recording_writer_add_scheds(
	struct recording_writer *w, const recording_scheds *scheds, enum recording_moment moment)
{
	struct buf records _cleanup_(buf_done) = {0}, contents _cleanup_(buf_done) = {0};
	const struct writer_event *e = w->events.at;

	if (!w->events.n || !e->n_ids)
		return 0;
	for (size_t i = 0; i < scheds->n; i += RECORDING_SCHEDS_AT_ONCE) {
		buf_reset(&contents);
		recording_scheds_put(&scheds->at[i], MIN(scheds->n - i, RECORDING_SCHEDS_AT_ONCE),
			moment, &contents);
		put_update_of_bytes(&records, EVENT_UPDATE_SCHEDS, e, contents.data, contents.len);
	}
	return buf_failed(&contents) ? base_oom() : write_update(w, &records);
}

int recording_writer_rotate(struct recording_writer *w)
{
	int r;

	if (!w->opts.rotate || w->pipe)
		return 1;
	r = writer_compress(w);
	if (r == 0)
		r = writer_rotate(w);
	w->first_time = w->last_time = 0;
	compress_restart(&w->compressor);
	return r == 0 ? begin_file(w) : r;
}

int recording_writer_round(struct recording_writer *w)
{
	int r;

	if (w->failed)
		return w->failed;
	if (w->box)
		return writer_round_box(w);
	r = writer_compress(w);
	if (r == 0)
		r = live_tasks_round(&w->tasks);
	if (r < 0)
		return r;
	writer_put_header(&w->out, RECORD_FINISHED_ROUND, 0, sizeof(struct perf_event_header));
	r = writer_flush(w);
	return r < 0 ? r : w->opts.max_bytes && w->at >= w->opts.max_bytes;
}

void recording_writer_get_stats(
	const struct recording_writer *w, struct recording_writer_stats *ret_stats)
{
	*ret_stats = w->stats;
	ret_stats->first_time = w->first_time;
	ret_stats->last_time = w->last_time;
}

int recording_writer_finish(struct recording_writer *w)
{
	if (w->plain.len && !w->failed)
		w->failed = writer_compress(w);
	return writer_finish(w);
}

int recording_writer_close(struct recording_writer *w)
{
	int r;

	if (!w)
		return 0;
	r = recording_writer_finish(w);
	compress_done(&w->compressor);
	vec_each (&w->events, event) {
		free(event->name);
		free(event->ids);
		free(event->system);
	}
	vec_done(&w->events);
	dsos_done(&w->files);
	live_tasks_done(&w->tasks);
	free_box(w);
	buf_done(&w->out);
	buf_done(&w->plain);
	free(w);
	return r;
}
