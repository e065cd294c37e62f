/* SPDX-License-Identifier: MIT */
/*
 * Samples as a perf.data file: header, attributes with ids, records COMM, MMAP2 and SAMPLE, and the
 * formats of tracepoints.
 *
 * Format: tools/perf/Documentation/perf.data-file-format.txt of the kernel.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "handles.h"
#include "symbol.h"
#include "write_code.h"
#include "write_events.h"

enum {
	FEATURE_TRACING_DATA = 1,
	MOST_FRAMES = 256,
	COMM_SIZE = 16, /* of the kernel, with the 0 at the end */
};

struct section {
	uint64_t offset, size;
};

struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

/* An entry of the attributes: the event, and where its ids are. */
struct attr_entry {
	struct perf_event_attr attr;
	struct section ids;
};

/* A thread, and its name in the file so far. */
struct known {
	int tid;
	char comm[COMM_SIZE];
};

struct file {
	FILE *out;
	struct kp_file_events events;
	bool stacks;
	uint64_t data_at, last_time;
	struct known *known;
	size_t n_known;
	struct kp_code code;
	bool failed;
};

static void write_bytes(struct file *f, const void *bytes, size_t size)
{
	f->failed |= fwrite(bytes, 1, size, f->out) != size;
}

static void free_file(struct file *f)
{
	kp_file_events_done(&f->events);
	free(f->known);
	if (f->out)
		fclose(f->out);
	free(f);
}

/* ---- the header ---- */

/* The id of event i. */
static uint64_t id_of(size_t i)
{
	return i + 1;
}

static void write_header(struct file *f, uint64_t data_size)
{
	const struct kp_file_events *events = &f->events;
	uint64_t ids_at = sizeof(struct header), attrs_at = ids_at + events->n * sizeof(uint64_t);
	struct header header = {
		.magic = "PERFILE2",
		.size = sizeof(header),
		.attr_size = sizeof(struct attr_entry),
		.attrs = {attrs_at, events->n * sizeof(struct attr_entry)},
		.features = {events->tracing ? 1 << FEATURE_TRACING_DATA : 0},
	};

	f->data_at = attrs_at + header.attrs.size;
	header.data = (struct section){f->data_at, data_size};
	rewind(f->out);
	write_bytes(f, &header, sizeof(header));
	for (size_t i = 0; i < events->n; i++) {
		uint64_t id = id_of(i);

		write_bytes(f, &id, sizeof(id));
	}
	for (size_t i = 0; i < events->n; i++) {
		const struct attr_entry entry = {
			events->at[i].attr, {ids_at + i * sizeof(uint64_t), sizeof(uint64_t)}};

		write_bytes(f, &entry, sizeof(entry));
	}
}

/* After the data: where the formats of tracepoints are, and these. */
static void write_features(struct file *f, uint64_t at)
{
	const struct kp_file_events *events = &f->events;
	const struct section section = {at + sizeof(section), events->tracing_size};

	if (!events->tracing)
		return;
	write_bytes(f, &section, sizeof(section));
	write_bytes(f, events->tracing, events->tracing_size);
}

static int check_write(const char *path, const struct PmuAttr *attr)
{
	if (!path || !attr)
		return kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuBeginWrite(): path or pattr is NULL");
	if (attr->numEvt == 0 || !attr->evtList || attr->blockedSample)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PMU_FILE,
			"PmuBeginWrite(): a file requires a task of SAMPLING with an evtList");
	return SUCCESS;
}

PmuFile PmuBeginWrite(const char *path, const struct PmuAttr *attr, const int add_id_header)
{
	struct file *f;

	kp_begin();
	if (check_write(path, attr) != SUCCESS)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
	} else if (kp_file_events_find(&f->events, attr) == SUCCESS) {
		f->stacks = attr->callStack;
		f->out = fopen(path, "we");
		if (!f->out)
			kp_fail(LIBPERF_ERR_OPEN_INVALID_FILE, "cannot open %s: %m", path);
	}
	if (f && f->out && !kp_handle_add(f)) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		fclose(f->out);
		f->out = NULL;
	}
	if (f && !f->out) {
		free_file(f);
		return NULL;
	}
	if (f)
		write_header(f, 0);
	return f;
}

/* ---- records ---- */

/* The trailer of records other than samples, in the order of the bits of sample_type. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

static struct trailer trailer_of(const struct PmuData *row)
{
	return (struct trailer){.pid = (uint32_t)row->pid,
		.tid = (uint32_t)row->tid,
		.time = (uint64_t)row->ts,
		.cpu = (uint32_t)row->cpu,
		.id = id_of(0)};
}

/* A record of fixed fields, a text padded to 8 bytes, and the trailer. */
static void write_text_record(struct file *f, uint32_t type, uint16_t misc, const void *fields,
	size_t size, const char *text, const struct PmuData *row)
{
	const struct trailer trailer = trailer_of(row);
	const char zeros[8] = "";
	size_t length = strlen(text) + 1, padded = (length + 7) & ~7UL;
	struct perf_event_header header = {.type = type,
		.misc = misc,
		.size = (uint16_t)(sizeof(header) + size + padded + sizeof(trailer))};

	write_bytes(f, &header, sizeof(header));
	write_bytes(f, fields, size);
	write_bytes(f, text, length);
	write_bytes(f, zeros, padded - length);
	write_bytes(f, &trailer, sizeof(trailer));
}

struct mmap_fields {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};

/* The code that a process has mapped now, also without a file; none if it has ended. */
static void write_mappings(struct file *f, const struct PmuData *row)
{
	char path[64], line[4500];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", row->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset, inode;
		struct mmap_fields m = {.pid = (uint32_t)row->pid,
			.tid = (uint32_t)row->pid,
			.prot = PROT_READ | PROT_EXEC,
			.flags = MAP_PRIVATE};
		int used = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %*2cx%*c %lx %x:%x %lu %n", &start, &end, &offset, &m.maj,
			    &m.min, &inode, &used) != 6)
			continue;
		m.addr = start;
		m.len = end - start;
		m.pgoff = offset;
		m.ino = inode;
		write_text_record(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &m, sizeof(m),
			line[used] ? line + used : "//anon", row);
	}
	if (maps)
		fclose(maps);
}

/* The kernel as one mapping, which readers resolve by their own kallsyms. */
static void write_kernel(struct file *f, const struct PmuData *row)
{
	uint64_t text = kp_code_kernel_text(), start = text ? text : 0xffff000000000000;
	const struct mmap_fields m = {.pid = UINT32_MAX,
		.addr = start,
		.len = UINT64_MAX - start,
		.pgoff = start,
		.prot = PROT_EXEC};

	write_text_record(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_KERNEL, &m, sizeof(m),
		"[kernel.kallsyms]_text", row);
}

/* The code of the sample's stack that no earlier mapping has. */
static void write_code(struct file *f, const struct PmuData *row, const struct kp_frames *frames)
{
	struct kp_code_mapping mapping;

	for (size_t i = 0; frames && i < frames->n && i < MOST_FRAMES; i++) {
		struct mmap_fields m = {.pid = (uint32_t)row->pid,
			.tid = (uint32_t)row->pid,
			.prot = PROT_READ | PROT_EXEC,
			.flags = MAP_PRIVATE};

		if (!kp_code_needs(&f->code, row->pid, frames, &frames->at[i], &mapping))
			continue;
		m.addr = mapping.start;
		m.len = mapping.size;
		m.pgoff = mapping.offset;
		write_text_record(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &m, sizeof(m),
			mapping.path, row);
	}
}

static void write_name(struct file *f, struct known *thread, const struct PmuData *row)
{
	const uint32_t ids[] = {(uint32_t)row->pid, (uint32_t)row->tid};
	const char *comm = row->comm ? row->comm : "";

	if (strncmp(thread->comm, comm, COMM_SIZE - 1) == 0)
		return;
	snprintf(thread->comm, COMM_SIZE, "%s", comm);
	write_text_record(f, PERF_RECORD_COMM, 0, ids, sizeof(ids), thread->comm, row);
}

/* What precedes the sample: the name of its thread, and mappings of a new process. */
static int write_thread(struct file *f, const struct PmuData *row)
{
	struct known *known;

	for (size_t i = 0; i < f->n_known; i++)
		if (f->known[i].tid == row->tid) {
			write_name(f, &f->known[i], row);
			return SUCCESS;
		}
	known = reallocarray(f->known, f->n_known + 1, sizeof(*known));
	if (!known)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	if (f->n_known == 0)
		write_kernel(f, row);
	f->known = known;
	known[f->n_known] = (struct known){.tid = row->tid};
	write_name(f, &known[f->n_known++], row);
	if (row->pid == row->tid || f->n_known == 1)
		write_mappings(f, row);
	return SUCCESS;
}

static size_t chain_of(
	const struct kp_list *list, size_t i, bool *ret_kernel, uint64_t *ret_ips, size_t room)
{
	const struct kp_frames *frames = kp_list_frames(list, i);
	size_t n = 0;
	bool kernel = frames && frames->n > 0 && frames->at[0].kernel;

	*ret_kernel = kernel;
	if (!frames || frames->n == 0)
		return 0;
	ret_ips[n++] = kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
	for (size_t at = 0; at < frames->n && n + 1 < room; at++) {
		if (kernel && !frames->at[at].kernel) {
			kernel = false;
			ret_ips[n++] = PERF_CONTEXT_USER;
		}
		ret_ips[n++] = frames->at[at].ip;
	}
	return n;
}

static void write_branches(struct file *f, const struct PmuDataExt *ext)
{
	uint64_t n = ext ? ext->nr : 0;

	write_bytes(f, &n, sizeof(n));
	for (uint64_t i = 0; i < n; i++) {
		const struct BranchSampleRecord *branch = &ext->branchRecords[i];
		struct perf_branch_entry entry = {.from = branch->fromAddr,
			.to = branch->toAddr,
			.mispred = branch->misPred,
			.predicted = branch->predicted,
			.cycles = branch->cycles};

		write_bytes(f, &entry, sizeof(entry));
	}
}

/* With its length in front, a multiple of 8 bytes, as the kernel writes it. */
static size_t raw_room(const struct kp_raw *raw)
{
	return (sizeof(uint32_t) + (raw ? raw->size : 0) + 7) & ~(size_t)7;
}

static void write_raw(struct file *f, const struct kp_raw *raw)
{
	const char zeros[8] = "";
	uint32_t size = (uint32_t)(raw_room(raw) - sizeof(size));
	size_t used = raw ? raw->size : 0;

	write_bytes(f, &size, sizeof(size));
	if (raw)
		write_bytes(f, raw->bytes, used);
	write_bytes(f, zeros, size - used);
}

static int write_sample(struct file *f, const struct kp_list *list, size_t i)
{
	const struct PmuData *row = &list->rows[i];
	const struct kp_raw *raw = kp_raw_of(row);
	bool kernel, branches = f->events.at[0].attr.sample_type & PERF_SAMPLE_BRANCH_STACK,
		     is_traced;
	uint64_t ips[MOST_FRAMES + 2], n = chain_of(list, i, &kernel, ips, MOST_FRAMES + 2);
	int event = kp_file_events_index(&f->events, row);
	struct {
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period;
	} fields = {.ip = n > 1 ? ips[1] : 0,
		.pid = (uint32_t)row->pid,
		.tid = (uint32_t)row->tid,
		.time = (uint64_t)row->ts,
		.cpu = (uint32_t)row->cpu,
		.period = row->period};
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
		.misc = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.size = sizeof(header) + sizeof(fields)};

	if (event < 0)
		return kp_fail(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuWriteData(): '%s' is not an event of the file",
			row->evt ? row->evt : "NULL");
	fields.id = id_of((size_t)event);
	is_traced = f->events.at[event].attr.sample_type & PERF_SAMPLE_RAW;
	header.size += f->stacks ? (uint16_t)((n + 1) * sizeof(n)) : 0;
	header.size += is_traced ? (uint16_t)raw_room(raw) : 0;
	if (branches)
		header.size += (uint16_t)(8 + (row->ext ? row->ext->nr : 0) *
						      sizeof(struct perf_branch_entry));
	write_bytes(f, &header, sizeof(header));
	write_bytes(f, &fields, sizeof(fields));
	if (f->stacks) {
		write_bytes(f, &n, sizeof(n));
		write_bytes(f, ips, n * sizeof(n));
	}
	if (is_traced)
		write_raw(f, raw);
	if (branches)
		write_branches(f, row->ext);
	return SUCCESS;
}

static struct file *check_file(PmuFile file, const char *function)
{
	struct file *f = file;

	if (f && kp_handle_exists(f))
		return f;
	kp_fail(LIBPERF_ERR_INVALID_PMU_FILE,
		"%s(): this is not a file of PmuBeginWrite(), or it has ended", function);
	return NULL;
}

int PmuWriteData(PmuFile file, struct PmuData *rows, int len)
{
	const struct kp_list *list;
	struct file *f;
	int r = SUCCESS;

	kp_begin();
	f = check_file(file, "PmuWriteData");
	if (!f)
		return Perrorno();
	if (len == 0)
		return SUCCESS;
	list = rows ? kp_list_find(rows) : NULL;
	if (!list || len < 0 || (size_t)len > list->n)
		return kp_fail(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuWriteData(): the data is not from "
			"PmuRead(), or has fewer elements than len");
	if (kp_list_origin(list)->type != SAMPLING)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PMU_FILE,
			"PmuWriteData(): the data is not of a "
			"task of SAMPLING: files have samples");
	for (int i = 0; i < len && r == SUCCESS; i++) {
		r = write_thread(f, &rows[i]);
		if (r == SUCCESS)
			write_code(f, &rows[i], kp_list_frames(list, (size_t)i));
		if (r == SUCCESS)
			r = write_sample(f, list, (size_t)i);
	}
	if (r == SUCCESS)
		kp_succeed(); /* files of code that cannot be read are no error */
	if (r == SUCCESS && f->failed)
		r = kp_fail(COMMON_ERR_WRITE, "cannot write to the file: %m");
	return r;
}

void PmuEndWrite(PmuFile file)
{
	struct file *f;
	off_t end;

	kp_begin();
	f = check_file(file, "PmuEndWrite");
	if (!f || !kp_handle_remove(f))
		return;
	end = ftello(f->out);
	if (end > 0)
		write_features(f, (uint64_t)end);
	write_header(f, end > 0 ? (uint64_t)end - f->data_at : 0);
	if (f->failed || fflush(f->out) != 0)
		kp_fail(COMMON_ERR_WRITE, "cannot write to the file: %m");
	free_file(f);
}
