/* SPDX-License-Identifier: MIT */
/*
 * Records in memory, and the files that they are written to on request. The compressed bytes are
 * copied as they are; a file begins with the tasks at the start of its records.
 */
#include "perfdata/write_file.h"

static int end_segment(struct recording_writer *w, uint64_t now)
{
	struct buf end _cleanup_(buf_done) = {0};
	int r = writer_flush(w);

	if (r == 0)
		r = compress_end(&w->compressor, &end);
	return r == 0 ? box_seal(w->box, &end, now) : r;
}

int writer_round_box(struct recording_writer *w)
{
	const uint64_t now = base_now();
	bool is_full = box_round(w->box, now);
	int r = writer_compress(w);

	writer_put_header(&w->out, RECORD_FINISHED_ROUND, 0, sizeof(struct perf_event_header));
	if (r == 0)
		r = is_full ? end_segment(w, now) : writer_flush(w);
	return r == 0 ? box_drop(w->box, &w->tasks, now) : r;
}

/* ---- a file ---- */

static int copy_events(const struct recording_writer *w, struct recording_writer *out)
{
	int r = 0;

	vec_each (&w->events, e) {
		const struct recording_writer_event event = {.name = e->name,
			.attr = &e->attr.attr,
			.ids = e->ids,
			.n_ids = e->n_ids,
			.system = e->system,
			.format_text = e->format_text,
			.format_len = e->format_len};

		if (r == 0)
			r = recording_writer_add_event(out, &event);
	}
	return r;
}

/* Appends the records of tasks of a segment to those that are written, unless it is left out. */
static int take_tasks(
	const struct box_segment *segment, struct recording_writer *out, bool is_left_out)
{
	struct buf records _cleanup_(buf_done) = {0};
	const struct perf_event_header *header;
	int r = box_get_tasks(segment, &records);

	for (size_t at = 0; r == 0 && at < records.len; at += header->size) {
		header = (const void *)(records.data + at);
		if (header->type == PERF_RECORD_MMAP || header->type == PERF_RECORD_MMAP2)
			writer_note_map(out, header);
		out->stats.records += is_left_out;
	}
	if (r == 0 && is_left_out)
		r = writer_give(out, records.data, records.len);
	return r;
}

static int put_segment(const struct box_segment *segment, struct recording_writer *out)
{
	out->stats.samples += segment->samples;
	out->stats.records += segment->records;
	if (segment->samples && !out->first_time)
		out->first_time = segment->first;
	out->last_time = MAX(out->last_time, segment->last);
	return writer_give(out, segment->events, segment->n_events);
}

static int put_segments(
	const struct recording_writer *w, uint64_t from, struct recording_writer *out)
{
	int r = 0;

	vec_each (&w->box->segments, segment) {
		bool is_left_out = segment->ended < from;

		if (r == 0)
			r = take_tasks(segment, out, is_left_out);
		if (r == 0 && !is_left_out)
			r = put_segment(segment, out);
	}
	return r;
}

static int put_dump(const struct recording_writer *w, uint64_t from, struct recording_writer *out)
{
	int r = copy_events(w, out);

	if (r == 0)
		r = recording_writer_begin(out);
	if (r < 0)
		return r;
	box_put_groups(w->box, &out->out);
	r = writer_flush(out);
	if (r == 0)
		r = put_segments(w, from, out);
	return r == 0 ? writer_flush(out) : r;
}

int recording_writer_dump(struct recording_writer *w, const struct recording_dump *dump,
	struct recording_writer **ret_dump)
{
	const struct recording_writer_opts opts = {.path = dump->path,
		.buffer = dump->buffer,
		.limit = dump->limit,
		.compress = true,
		.clockid = w->opts.clockid,
		.tasks = &w->tasks};
	struct recording_writer *out;
	int r = w->failed ?: writer_compress(w);

	if (r == 0)
		r = end_segment(w, base_now());
	if (r == 0)
		r = writer_rename_files(dump->path, dump->rotate);
	if (r == 0)
		r = recording_writer_open(&opts, &out);
	if (r < 0)
		return r;
	r = put_dump(w, dump->from, out);
	if (r < 0)
		(void)recording_writer_close(out);
	else
		*ret_dump = out;
	return r;
}

void recording_writer_get_kept(const struct recording_writer *w, struct recording_kept *ret_kept)
{
	const struct box *box = w->box;
	struct recording_kept kept = {
		.bytes = box->bytes + box->events.len + w->tasks.memory,
		.samples = box->now.samples,
		.first = box->now.first,
		.last = box->now.last,
	};

	vec_each (&box->segments, segment) {
		kept.samples += segment->samples;
		kept.last = MAX(kept.last, segment->last);
		if (segment->samples)
			kept.first = kept.first ? MIN(kept.first, segment->first) : segment->first;
	}
	*ret_kept = kept;
}
