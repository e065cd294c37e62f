/* SPDX-License-Identifier: MIT */
/*
 * Parse records of all types. All but SAMPLE consist of a fixed-size part, for some types a string
 * or an array, and the trailer requested by sample_id_all. Layouts: enum perf_event_type in
 * linux/perf_event.h.
 */
#include "record/record.h"

#include <stdio.h>

#include "attar/private/record.h"
#include "base/check_arg.h"
#include "record/uapi.h"

/* A record's payload between header and trailer. */
struct body {
	const struct perf_event_header *header;
	const char *at, *end;
};

/*
 * The size of the fixed part is checked before a type's function is called, so these cannot read
 * past the end.
 */
static uint64_t u64(struct body *b)
{
	uint64_t value;

	memcpy(&value, b->at, sizeof(value));
	b->at += sizeof(value);
	return value;
}

static uint32_t u32(struct body *b)
{
	uint32_t value;

	memcpy(&value, b->at, sizeof(value));
	b->at += sizeof(value);
	return value;
}

static uint16_t u16(struct body *b)
{
	uint16_t value;

	memcpy(&value, b->at, sizeof(value));
	b->at += sizeof(value);
	return value;
}

static size_t left(const struct body *b)
{
	return (size_t)(b->end - b->at);
}

static const void *skip(struct body *b, size_t n)
{
	const void *at = b->at;

	b->at += n;
	return at;
}

/* The string that fills the rest, padded with NULs to whole words. */
static int text(struct body *b, const char *name, const char **ret_text)
{
	if (!memchr(b->at, '\0', left(b)))
		return record_bad(b->header, "the %s is not terminated", name);
	*ret_text = b->at;
	return 0;
}

static void mmap_common(struct body *b, struct attar_mmap *m)
{
	*m = (struct attar_mmap){0};
	m->pid = u32(b);
	m->tid = u32(b);
	m->addr = u64(b);
	m->len = u64(b);
	m->pgoff = u64(b);
}

static int parse_mmap(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	mmap_common(b, &rec->mmap);
	return text(b, "file name", &rec->mmap.filename);
}

bool record_has_build_id(const struct attar_layout *layout, uint16_t misc, const void *word)
{
	static const uint8_t zeros[3];
	const uint8_t *size = word;

	return misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
	       (layout->build_id ||
		       ((*size == 16 || *size == 20) && !memcmp(size + 1, zeros, sizeof(zeros))));
}

static int parse_mmap2(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	struct attar_mmap *m = &rec->mmap;

	mmap_common(b, m);
	if (record_has_build_id(layout, rec->misc, b->at)) {
		m->build_id_size =
			*(const uint8_t *)skip(b, 4); /* followed by three reserved bytes */
		if (m->build_id_size > sizeof(m->build_id))
			return record_bad(
				b->header, "invalid build ID size of %u bytes", m->build_id_size);
		memcpy(m->build_id, skip(b, sizeof(m->build_id)), m->build_id_size);
	} else {
		m->has_ino = true;
		m->maj = u32(b);
		m->min = u32(b);
		m->ino = u64(b);
		m->ino_generation = u64(b);
	}
	m->prot = u32(b);
	m->flags = u32(b);
	return text(b, "file name", &m->filename);
}

static int parse_lost(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->lost.id = rec->type == PERF_RECORD_LOST ? u64(b) : 0;
	rec->lost.lost = u64(b);
	return 0;
}

static int parse_comm(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->comm.pid = u32(b);
	rec->comm.tid = u32(b);
	rec->comm.exec = rec->misc & PERF_RECORD_MISC_COMM_EXEC;
	return text(b, "comm", &rec->comm.comm);
}

static int parse_task(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->task.pid = u32(b);
	rec->task.ppid = u32(b);
	rec->task.tid = u32(b);
	rec->task.ptid = u32(b);
	rec->task.time = u64(b);
	return 0;
}

static int parse_throttle(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->throttle.time = u64(b);
	rec->throttle.id = u64(b);
	rec->throttle.stream_id = u64(b);
	return 0;
}

static int parse_read(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	struct record_cursor c = {.end = (const record_word *)b->end};

	rec->read.pid = u32(b);
	rec->read.tid = u32(b);
	c.at = (const record_word *)b->at;
	if (!record_read(layout->read_format, &c, &rec->read.values))
		return record_bad(b->header, "the counter values are truncated");
	return 0;
}

static int parse_aux(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->aux.offset = u64(b);
	rec->aux.size = u64(b);
	rec->aux.flags = u64(b);
	return 0;
}

static int parse_itrace_start(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->itrace_start.pid = u32(b);
	rec->itrace_start.tid = u32(b);
	return 0;
}

static int parse_switch(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	bool cpu_wide = rec->type == PERF_RECORD_SWITCH_CPU_WIDE;

	rec->context_switch.other_pid = cpu_wide ? u32(b) : UINT32_MAX;
	rec->context_switch.other_tid = cpu_wide ? u32(b) : UINT32_MAX;
	rec->context_switch.out = rec->misc & PERF_RECORD_MISC_SWITCH_OUT;
	rec->context_switch.preempt = rec->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	return 0;
}

static int parse_namespaces(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->namespaces.pid = u32(b);
	rec->namespaces.tid = u32(b);
	rec->namespaces.nr = u64(b);
	rec->namespaces.links = (const struct attar_ns_link *)b->at;
	if (rec->namespaces.nr > left(b) / sizeof(struct attar_ns_link))
		return record_bad(b->header, "%llu namespaces do not fit",
			(unsigned long long)rec->namespaces.nr);
	return 0;
}

static int parse_ksymbol(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->ksymbol.addr = u64(b);
	rec->ksymbol.len = u32(b);
	rec->ksymbol.ksym_type = u16(b);
	rec->ksymbol.flags = u16(b);
	return text(b, "symbol name", &rec->ksymbol.name);
}

static int parse_bpf_event(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->bpf_event.bpf_type = u16(b);
	rec->bpf_event.flags = u16(b);
	rec->bpf_event.id = u32(b);
	rec->bpf_event.tag = skip(b, 8);
	return 0;
}

static int parse_cgroup(const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->cgroup.id = u64(b);
	return text(b, "cgroup path", &rec->cgroup.path);
}

static int parse_text_poke(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->text_poke.addr = u64(b);
	rec->text_poke.old_len = u16(b);
	rec->text_poke.new_len = u16(b);
	if ((size_t)rec->text_poke.old_len + rec->text_poke.new_len > left(b))
		return record_bad(b->header, "%u old and %u new bytes of code do not fit",
			rec->text_poke.old_len, rec->text_poke.new_len);
	rec->text_poke.old_bytes = skip(b, rec->text_poke.old_len);
	rec->text_poke.new_bytes = skip(b, rec->text_poke.new_len);
	return 0;
}

static int parse_aux_output_hw_id(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->aux_output_hw_id.hw_id = u64(b);
	return 0;
}

static int parse_callchain_deferred(
	const struct attar_layout *layout, struct body *b, struct attar_record *rec)
{
	rec->callchain_deferred.cookie = u64(b);
	rec->callchain_deferred.nr = u64(b);
	rec->callchain_deferred.ips = (const uint64_t *)b->at;
	if (rec->callchain_deferred.nr > left(b) / sizeof(uint64_t))
		return record_bad(b->header, "a call chain of %llu entries does not fit",
			(unsigned long long)rec->callchain_deferred.nr);
	return 0;
}

/* The known types: size of the fixed part in bytes, and parser. */
static const struct kind {
	const char *name;
	uint16_t fixed;
	int (*parse)(const struct attar_layout *layout, struct body *b, struct attar_record *rec);
} kinds[] = {
	[PERF_RECORD_MMAP] = {"MMAP", 32, parse_mmap},
	[PERF_RECORD_LOST] = {"LOST", 16, parse_lost},
	[PERF_RECORD_COMM] = {"COMM", 8, parse_comm},
	[PERF_RECORD_EXIT] = {"EXIT", 24, parse_task},
	[PERF_RECORD_THROTTLE] = {"THROTTLE", 24, parse_throttle},
	[PERF_RECORD_UNTHROTTLE] = {"UNTHROTTLE", 24, parse_throttle},
	[PERF_RECORD_FORK] = {"FORK", 24, parse_task},
	[PERF_RECORD_READ] = {"READ", 8, parse_read},
	[PERF_RECORD_SAMPLE] = {"SAMPLE", 0, NULL},
	[PERF_RECORD_MMAP2] = {"MMAP2", 64, parse_mmap2},
	[PERF_RECORD_AUX] = {"AUX", 24, parse_aux},
	[PERF_RECORD_ITRACE_START] = {"ITRACE_START", 8, parse_itrace_start},
	[PERF_RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", 8, parse_lost},
	[PERF_RECORD_SWITCH] = {"SWITCH", 0, parse_switch},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", 8, parse_switch},
	[PERF_RECORD_NAMESPACES] = {"NAMESPACES", 16, parse_namespaces},
	[PERF_RECORD_KSYMBOL] = {"KSYMBOL", 16, parse_ksymbol},
	[PERF_RECORD_BPF_EVENT] = {"BPF_EVENT", 16, parse_bpf_event},
	[PERF_RECORD_CGROUP] = {"CGROUP", 8, parse_cgroup},
	[PERF_RECORD_TEXT_POKE] = {"TEXT_POKE", 12, parse_text_poke},
	[PERF_RECORD_AUX_OUTPUT_HW_ID_] = {"AUX_OUTPUT_HW_ID", 8, parse_aux_output_hw_id},
	[PERF_RECORD_CALLCHAIN_DEFERRED_] = {"CALLCHAIN_DEFERRED", 16, parse_callchain_deferred},
};

static const struct kind *kind_of(uint32_t type)
{
	return type < ARRAY_SIZE(kinds) && kinds[type].name ? &kinds[type] : NULL;
}

const char *record_name(uint32_t type)
{
	const struct kind *kind = kind_of(type);

	return kind ? kind->name : "?";
}

int record_bad(const struct perf_event_header *header, const char *fmt, ...)
{
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return attar_fail(-EBADMSG, "malformed %s record of %u bytes: %s",
		record_name(header->type), header->size, why);
}

/* The trailer (struct sample_id): task, time, CPU and event of the record. */
static void read_trailer(
	const struct attar_layout *layout, const char *end, struct attar_record *rec)
{
	if (layout->back_tid > 0) {
		memcpy(&rec->pid, end - layout->back_tid, sizeof(rec->pid));
		memcpy(&rec->tid, end - layout->back_tid + 4, sizeof(rec->tid));
	}
	if (layout->back_time > 0)
		memcpy(&rec->time, end - layout->back_time, sizeof(rec->time));
	if (layout->back_id > 0)
		memcpy(&rec->id, end - layout->back_id, sizeof(rec->id));
	if (layout->back_stream_id > 0)
		memcpy(&rec->stream_id, end - layout->back_stream_id, sizeof(rec->stream_id));
	if (layout->back_cpu > 0)
		memcpy(&rec->cpu, end - layout->back_cpu, sizeof(rec->cpu));
}

size_t record_end(const struct attar_layout *layout, const struct perf_event_header *header,
	const char *bytes)
{
	size_t fixed = sizeof(*header) + 16, end;
	uint16_t lens[2];

	if (header->size < fixed)
		return header->size;
	switch (header->type) {
	case PERF_RECORD_KSYMBOL:
		end = fixed + strnlen(bytes + fixed, header->size - fixed) + 1;
		break;
	case PERF_RECORD_BPF_EVENT:
		end = fixed;
		break;
	case PERF_RECORD_TEXT_POKE:
		memcpy(lens, bytes + 16, sizeof(lens));
		end = 16 + sizeof(lens) + lens[0] + lens[1];
		break;
	default:
		return header->size;
	}
	end = (end + 7) / 8 * 8 + layout->trailer_size;
	return MIN(end, header->size);
}

size_t attar_record_end(const struct attar_layout *layout, const struct perf_event_header *header)
{
	CHECK_ARG_OR(layout, "layout", 0);
	CHECK_ARG_OR(header, "header", 0);

	return record_end(layout, header, (const char *)header);
}

int record_other(const struct attar_layout *layout, const struct perf_event_header *header,
	struct attar_record *rec)
{
	const struct kind *kind = kind_of(header->type);
	const char *bytes = (const char *)header;
	struct body body = {.header = header, .at = bytes + sizeof(*header)};

	rec->pid = rec->tid = rec->cpu = UINT32_MAX;
	rec->time = rec->id = rec->stream_id = 0;
	if (header->size < sizeof(*header))
		return record_bad(header, "smaller than its header");
	if (!kind)
		return 0;
	if (header->size < sizeof(*header) + kind->fixed + layout->trailer_size)
		return record_bad(header, "its fixed-size fields take %zu bytes",
			sizeof(*header) + kind->fixed + layout->trailer_size);
	body.end = bytes + attar_record_trailer_end(layout, header);
	read_trailer(layout, body.end, rec);
	body.end -= layout->trailer_size;
	return kind->parse(layout, &body, rec);
}

int record_odd(
	const struct attar_layout *layout, const void *bytes, size_t len, struct attar_record *rec)
{
	const struct perf_event_header *header = bytes;

	if (len < sizeof(*header))
		return attar_fail(-EBADMSG, "%zu bytes are too short for a record", len);
	if ((uintptr_t)bytes % 8)
		return attar_fail(
			-EBADMSG, "misaligned record: it must start at a multiple of 8 bytes");
	if (header->size > len)
		return record_bad(header, "only %zu bytes are available", len);
	if (kind_of(header->type))
		return record_bad(header, "its size is not a multiple of 8");
	*rec = (struct attar_record){
		.type = header->type, .misc = header->misc, .size = header->size, .header = header};
	return record_other(layout, header, rec);
}
