/* SPDX-License-Identifier: MIT */
/* The tracing data of a recording: see tracing_data.c for the layout. */
#include "base/file.h"
#include "perfdata/writer_internal.h"
#include "tracefs/tracefs.h"

enum { TRACEFS_FILE_MAX = 4 << 20 };

/* A name with its NUL, and a file of tracefs with its size; an empty one if it cannot be read. */
static void put_file(struct buf *b, const char *name, const char *path)
{
	struct buf text _cleanup_(buf_done) = {0};

	if (file_read(path, TRACEFS_FILE_MAX, &text) < 0)
		buf_reset(&text);
	buf_add(b, name, strlen(name) + 1);
	writer_put_u64(b, text.len);
	buf_add(b, buf_text(&text), text.len);
}

static bool is_first_of_system(const struct recording_writer *w, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (w->events.at[i].system &&
			!strcmp(w->events.at[i].system, w->events.at[index].system))
			return false;
	return true;
}

/* All formats of the system of this event. */
static void put_system(const struct recording_writer *w, const char *system, struct buf *b)
{
	uint32_t n = 0;

	vec_each (&w->events, event)
		n += event->system && !strcmp(event->system, system);
	buf_add(b, system, strlen(system) + 1);
	writer_put_u32(b, n);
	vec_each (&w->events, event) {
		if (!event->system || strcmp(event->system, system))
			continue;
		writer_put_u64(b, event->format_len);
		buf_add(b, event->format_text, event->format_len);
	}
}

static void put_systems(const struct recording_writer *w, struct buf *b)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w->events.n; i++)
		n += w->events.at[i].system && is_first_of_system(w, i);
	writer_put_u32(b, n);
	for (size_t i = 0; i < w->events.n; i++)
		if (w->events.at[i].system && is_first_of_system(w, i))
			put_system(w, w->events.at[i].system, b);
}

static void put_printk_formats(const char *tracefs, struct buf *b)
{
	struct buf text _cleanup_(buf_done) = {0}, path _cleanup_(buf_done) = {0};

	buf_printf(&path, "%s/printk_formats", tracefs);
	if (file_read(buf_text(&path), TRACEFS_FILE_MAX, &text) < 0)
		buf_reset(&text);
	writer_put_u32(b, (uint32_t)text.len);
	buf_add(b, buf_text(&text), text.len);
}

void writer_put_tracing_data(const struct recording_writer *w, struct buf *b)
{
	static const char magic[] = "\027\010\104tracing0.6";
	const char layout[2] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};
	struct buf path _cleanup_(buf_done) = {0};
	_cleanup_free_ char *tracefs = NULL;
	bool any = false;

	vec_each (&w->events, event)
		any |= event->system != NULL;
	if (!any || (!w->opts.is_script && tracefs_find("/proc", &tracefs) < 0))
		return;
	buf_add(b, magic, sizeof(magic));
	buf_add(b, layout, sizeof(layout));
	writer_put_u32(b, (uint32_t)sysconf(_SC_PAGESIZE));
	buf_printf(&path, "%s/events/header_page", tracefs ? tracefs : "");
	put_file(b, "header_page", buf_text(&path));
	buf_reset(&path);
	buf_printf(&path, "%s/events/header_event", tracefs ? tracefs : "");
	put_file(b, "header_event", buf_text(&path));
	writer_put_u32(b, 0); /* formats of ftrace */
	put_systems(w, b);
	writer_put_u32(b, 0); /* kallsyms */
	put_printk_formats(tracefs ? tracefs : "", b);
	writer_put_u64(b, 0); /* saved_cmdlines: the recording has COMM records */
}
