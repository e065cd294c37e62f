/* SPDX-License-Identifier: MIT */
#include "run/input/recorded_events.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"
#include "perf/counter.h"
#include "run/parts.h"
#include "run/run.h"
#include "source/share.h"
#include "stream/stream.h"

#define EVENT_SYNTAX ":,/{}@\"'*?[\n" /* what an alias that is a name in the file must not have */

enum { FORMAT_MAX = 1 << 20 };

/* The text of a tracepoint's format file, which writers borrow. */
struct recorded_format {
	const struct attar_format *format;
	char *text; /* owned */
};

struct recorded_formats {
	VEC(struct recorded_format) list;
};

/* Reads the format of a tracepoint; NULL if it cannot be read: its fields have no names then. */
static const char *read_format(struct attar_run *run, const struct attar_format *format)
{
	struct buf path _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	struct attar_catalog *catalog = attar_run_catalog(run);
	struct recorded_formats *formats = run->parts.state[PART_RECORDED_EVENTS];
	struct recorded_format new = {.format = format};
	const char *tracefs;

	vec_each (&formats->list, known)
		if (known->format == format)
			return known->text;
	if (!catalog || attar_catalog_tracefs(catalog, &tracefs) < 0)
		return NULL;
	buf_printf(&path, "%s/events/%s/%s/format", tracefs, format->system, format->name);
	if (buf_failed(&path) || file_read(buf_text(&path), FORMAT_MAX, &text) < 0)
		return NULL;
	new.text = buf_take(&text);
	if (!new.text || vec_push(&formats->list, new) < 0) {
		free(new.text);
		return NULL;
	}
	return new.text;
}

static void recorded_events_detach(struct attar_run *run, void *self)
{
	struct recorded_formats *formats = self;

	vec_each (&formats->list, known)
		free(known->text);
	vec_done(&formats->list);
}

const struct run_part part_recorded_events = {
	.size = sizeof(struct recorded_formats), .detach = recorded_events_detach};

static const char *name_of(const struct source *s, const struct attar_counter *counter)
{
	return s                                             ? s->name
	       : counter->attr.config == PERF_COUNT_SW_DUMMY ? "dummy:u"
							     : counter->name;
}

/* Whether a text means an event itself, so that it cannot be the name of another one. */
static bool is_event(struct attar_run *run, const char *text)
{
	struct attar_event_list *list;

	if (strpbrk(text, EVENT_SYNTAX))
		return true;
	if (attar_event_list_parse(attar_run_catalog(run), text, &list) < 0) {
		attar_error_clear();
		return false;
	}
	attar_event_list_free(list);
	return true;
}

/*
 * Whether an alias is the name of the event in the file, or the text that requested a probe, whose
 * name in tracefs is made up. Another event can have the same: two probes with different arguments,
 * or an alias that is given twice; and a counter several.
 */
static bool has_given_name(struct attar_run *run, const struct source *s)
{
	const char *alias = s->spec->alias;

	if (alias ? is_event(run, alias) : s->spec->kind != ATTAR_EVENT_PROBE)
		return false;
	vec_each (&run->sources.list, other) {
		bool same =
			source_counter(&run->sources, other) == source_counter(&run->sources, s);

		if (same == (strcmp(other->name, s->name) != 0))
			return false;
	}
	return true;
}

static int add_counter(struct attar_run *run, struct recording_writer *w, const struct source *s,
	const struct attar_counter *counter)
{
	const struct attar_format *format = s && s->spec ? s->spec->format : NULL;
	struct recording_writer_event event = {
		.name = name_of(s, counter), .attr = &counter->attr, .n_ids = counter->fds.n};
	_cleanup_free_ uint64_t *ids = calloc(counter->fds.n + 1, sizeof(*ids));
	char name[256];

	if (!ids)
		return base_oom();
	for (size_t i = 0; i < counter->fds.n; i++)
		ids[i] = counter_id(&counter->fds.at[i]);
	event.ids = ids;
	if (format && counter->attr.type == PERF_TYPE_TRACEPOINT) {
		snprintf(name, sizeof(name), "%s:%s", format->system, format->name);
		if (!has_given_name(run, s))
			event.name = name; /* as perf calls it, not the text that requested it */
		event.format_text = read_format(run, format);
		event.format_len = event.format_text ? strlen(event.format_text) : 0;
		event.system = event.format_text ? format->system : NULL;
	}
	return recording_writer_add_event(w, &event);
}

/* The counters of sources come first. NULL: another counter. */
static const struct source *source_of(const struct attar_run *run, size_t number)
{
	const struct attar_stream *stream = run->stream;
	size_t i = stream->numbers[number];
	const struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	return s && s->counter == stream->counters[number] ? s : NULL;
}

int recorded_events_add(struct attar_run *run, struct recording_writer *w)
{
	const struct attar_stream *stream = run->stream;
	int r = 0;

	for (size_t i = 0; r == 0 && i < stream->n_counters; i++)
		r = add_counter(run, w, source_of(run, i), stream->counters[i]);
	return r;
}

/* ---- losses ---- */

/* The losses of one instance of an event, since `earlier`; 0 if they cannot be read. */
static uint64_t new_losses(
	const struct attar_counter *counter, const struct counter_fd *fd, struct map *earlier)
{
	uint64_t *before = map_get(earlier, counter_id(fd));
	struct attar_value value;

	if (counter_read_fd(counter, fd, &value) < 0)
		return 0;
	return difference_or_0(value.lost, before ? *before : 0);
}

static int add_loss(struct recording_writer *w, size_t event, const struct attar_counter *counter,
	const struct counter_fd *fd, struct map *earlier)
{
	uint64_t id = counter_id(fd), n = new_losses(counter, fd, earlier), *before;
	int r;

	before = map_get(earlier, id);
	/* a LOST record of this file may report what an earlier file has counted: 0 says so */
	if (!n && !before)
		return 0;
	r = w ? recording_writer_add_lost(w, event, id, fd->cpu, n) : 0;
	return r == 0 ? map_put(earlier, id, n + (before ? *before : 0)) : r;
}

int recorded_losses_add(
	struct recording_writer *w, const struct attar_stream *stream, struct map *earlier)
{
	int r = 0;

	for (size_t i = 0; i < stream->n_counters; i++)
		vec_each (&stream->counters[i]->fds, fd)
			if (r == 0)
				r = add_loss(w, i, stream->counters[i], fd, earlier);
	return r;
}

int recorded_losses_begin(const struct attar_stream *stream, struct map *earlier)
{
	return recorded_losses_add(NULL, stream, earlier);
}
