/* SPDX-License-Identifier: MIT */
/*
 * Formats of tracepoints are at the end of perf's files, so a truncated or unfinished one lacks
 * them. If the running kernel made the recording, the numbers of its tracepoints are the numbers of
 * tracefs. The first records of the data tell which kernel it was: they map its code.
 */
#include <stdio.h>

#include "base/file.h"
#include "perfdata/internal.h"
#include "perfdata/running_kernel.h"
#include "tracefs/dir.h"
#include "tracefs/tracefs.h"

enum {
	RECORDS_MAX = 4096, /* in front of the mapping of the kernel */
	FORMAT_BYTES_MAX = 1 << 20,
	ID_BYTES_MAX = 32,
};

/* PERF_RECORD_MMAP. */
struct mapping {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	char name[32];
};

static bool is_of_kernel(const struct mapping *m)
{
	static const char name[] = "[kernel.kallsyms]";

	return m->header.type == PERF_RECORD_MMAP && m->header.size >= sizeof(*m) &&
	       m->pid == UINT32_MAX && !strncmp(m->name, name, sizeof(name) - 1);
}

/*
 * Start and length of the kernel's code, in bytes, are the same for one build and, where addresses
 * are random, of one boot. They are 0 where they were hidden.
 */
static bool is_running(const struct mapping *m)
{
	const struct kernel_code *code = running_kernel_code();

	return code->start && m->start == code->start && m->pgoff == code->start &&
	       m->len == code->end - code->start;
}

static bool is_of_running_kernel(const struct recording *r)
{
	uint64_t at = r->raw.offset;
	struct mapping m;

	for (int i = 0; i < RECORDS_MAX && at < MIN(r->data_end, r->file_size); i++) {
		memset(&m, 0, sizeof(m));
		if (pread(r->fd, &m, sizeof(m), (off_t)at) < (ssize_t)sizeof(m.header) ||
			m.header.type == PERF_RECORD_SAMPLE || m.header.size < sizeof(m.header))
			return false;
		if (is_of_kernel(&m))
			return is_running(&m);
		at += m.header.size;
	}
	return false;
}

/* Whether the event is a tracepoint without a format. */
static bool lacks_format(const struct recording *r, const struct event_entry *entry)
{
	const struct perf_event_attr *attr = &entry->event.attr;

	return attr->type == PERF_TYPE_TRACEPOINT && !map_get(&r->tracing.by_id, attr->config);
}

static bool is_needed(const struct recording *r, uint64_t id)
{
	vec_each (&r->events, entry)
		if ((*entry)->event.attr.config == id && lacks_format(r, *entry))
			return true;
	return false;
}

/* The number of a probe, or of another event that programs make, may belong to a later one. */
static bool is_permanent(const char *system, const char *format)
{
	return strcmp(system, "synthetic") && strcmp(system, "user_events") &&
	       !strstr(format, "field:unsigned long __probe_");
}

static int add_event(struct recording *r, const char *events, const char *system, const char *name)
{
	struct buf path _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};
	const char *kept, *kept_system;

	buf_printf(&path, "%s/%s/%s/id", events, system, name);
	if (file_read(buf_text(&path), ID_BYTES_MAX, &text) < 0 ||
		!is_needed(r, strtoull(buf_text(&text), NULL, 10)))
		return 0;
	buf_reset(&path);
	buf_reset(&text);
	buf_printf(&path, "%s/%s/%s/format", events, system, name);
	if (file_read(buf_text(&path), FORMAT_BYTES_MAX, &text) < 0 ||
		!is_permanent(system, buf_text(&text)))
		return 0;
	kept = recording_keep(r, buf_text(&text));
	kept_system = recording_keep(r, system);
	if (!kept || !kept_system)
		return -ENOMEM;
	r->facts.running_formats = true;
	return recording_add_format(r, kept_system, (struct recording_text){kept, strlen(kept)});
}

static int add_system(struct recording *r, struct tracefs *tracefs, const char *system)
{
	struct buf events _cleanup_(buf_done) = {0};
	dir_names names = {0};
	int ret = tracefs_events(tracefs, system, &names);

	buf_printf(&events, "%s/events", tracefs->path);
	for (size_t i = 0; ret >= 0 && i < names.n; i++)
		ret = add_event(r, buf_text(&events), system, names.at[i]);
	dir_names_done(&names);
	return ret;
}

static bool lacks_any_format(const struct recording *r)
{
	vec_each (&r->events, entry)
		if (lacks_format(r, *entry))
			return true;
	return false;
}

int recording_take_running_formats(struct recording *r)
{
	struct tracefs tracefs = {0};
	dir_names systems = {0};
	int ret;

	if (r->facts.swapped || r->facts.script || !lacks_any_format(r) || !is_of_running_kernel(r))
		return 0;
	ret = tracefs_init(&tracefs, "/sys", "/proc", NULL);
	if (ret == 0)
		ret = tracefs_systems(&tracefs, &systems);
	for (size_t i = 0; ret >= 0 && i < systems.n; i++)
		ret = add_system(r, &tracefs, systems.at[i]);
	dir_names_done(&systems);
	tracefs_done(&tracefs);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) /* tracefs cannot be read: the formats stay unknown */
		attar_error_clear();
	return 0;
}
