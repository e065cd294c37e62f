/* SPDX-License-Identifier: MIT */
/*
 * What attar's parser reads in a perf.data file: a line of JSON for each of the kernel's records,
 * with its offset in the file, so that a test can compare it with what perf reads.
 *
 *	record_dump perf.data
 *
 * The file's format: tools/perf/Documentation/perf.data-file-format.txt in the kernel's sources.
 */
#include <inttypes.h>
#include <stdio.h>

#include "attar/private/record.h"
#include "attar/private/sample.h"
#include "attar/sample.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/vec.h"
#include "record/uapi.h"
#include "../unit/record_fields.h"

#define SWITCHES (RECORD_IS(SWITCH) | RECORD_IS(SWITCH_CPU_WIDE))

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
};

/* One event of the file: its layout, and the IDs by which its records identify it. */
struct event {
	struct attar_layout layout;
	const uint64_t *ids;
	uint64_t n_ids;
};

typedef VEC(struct event) event_list;

static void die(const char *what)
{
	fprintf(stderr, "record_dump: %s\n", what);
	exit(1);
}

static const void *inside(const struct buf *file, uint64_t offset, uint64_t size)
{
	if (offset > file->len || size > file->len - offset)
		die("a section lies outside the file");
	return file->data + offset;
}

static void read_events(
	const struct buf *file, const struct file_header *header, event_list *events)
{
	const char *at = inside(file, header->attrs.offset, header->attrs.size);

	for (uint64_t i = 0; i < header->attrs.size / header->attr_size; i++) {
		const char *entry = at + i * header->attr_size;
		uint64_t attr_size = header->attr_size - sizeof(struct section);
		union uapi_attr attr = {0};
		struct event event = {0};
		struct section ids;

		memcpy(&attr, entry, MIN(attr_size, sizeof(attr)));
		memcpy(&ids, entry + attr_size, sizeof(ids));
		attar_layout_init(&event.layout, &attr.attr);
		event.ids = inside(file, ids.offset, ids.size);
		event.n_ids = ids.size / sizeof(uint64_t);
		if (vec_push(events, event) < 0)
			die("out of memory");
	}
}

/*
 * Several events of one file are distinguished by PERF_SAMPLE_IDENTIFIER, which perf then requests.
 */
static const struct attar_layout *layout_of(
	const event_list *events, const struct perf_event_header *header)
{
	uint64_t id = attar_record_identifier(header);

	for (size_t i = 0; i < events->n; i++)
		for (uint64_t j = 0; j < events->at[i].n_ids; j++)
			if (events->at[i].ids[j] == id)
				return &events->at[i].layout;
	return &events->at[0].layout;
}

static void number(struct buf *b, const char *name, uint64_t value)
{
	buf_printf(b, ", \"%s\": %" PRIu64, name, value);
}

static void text(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, ", \"%s\": \"", name);
	escape_json(b, value, strlen(value));
	buf_char(b, '"');
}

static void numbers(struct buf *b, const char *name, const uint64_t *values, uint64_t n)
{
	buf_printf(b, ", \"%s\": [", name);
	for (uint64_t i = 0; i < n; i++)
		buf_printf(b, "%s%" PRIu64, i ? ", " : "", values[i]);
	buf_char(b, ']');
}

static void bytes(struct buf *b, const char *name, const void *at, uint64_t n)
{
	buf_printf(b, ", \"%s\": \"", name);
	for (uint64_t i = 0; i < n; i++)
		buf_printf(b, "%02x", ((const unsigned char *)at)[i]);
	buf_char(b, '"');
}

static void put_read(struct buf *b, const struct attar_read *read)
{
	number(b, "time_enabled", attar_read_time_enabled(read));
	number(b, "time_running", attar_read_time_running(read));
	buf_str(b, ", \"read\": [");
	for (uint32_t i = 0; i < read->nr; i++) {
		struct attar_read_value v = attar_read_at(read, i);

		buf_printf(b, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? ", " : "", v.id,
			v.value, v.lost);
	}
	buf_char(b, ']');
}

static void put_branches(struct buf *b, const struct attar_sample *s)
{
	buf_str(b, ", \"branches\": [");
	for (uint32_t i = 0; i < s->branch_nr; i++) {
		struct attar_branch e = attar_branch_at(s, i);

		buf_printf(b, "%s[%" PRIu64 ", %" PRIu64 ", %u, %d, %d, %d, %d]", i ? ", " : "",
			e.from, e.to, e.cycles, e.mispredicted, e.predicted, e.in_tx, e.abort);
	}
	buf_char(b, ']');
}

static void put_sample(struct buf *b, uint64_t type, const struct attar_sample *s)
{
	number(b, "ip", s->ip);
	if (type & PERF_SAMPLE_PERIOD)
		number(b, "period", s->period);
	number(b, "addr", s->addr);
	if (type & PERF_SAMPLE_READ)
		put_read(b, &s->read);
	numbers(b, "callchain", s->callchain, s->callchain_nr);
	bytes(b, "raw", s->raw, s->raw_size);
	put_branches(b, s);
	number(b, "regs_user_abi", s->regs_user.abi);
	numbers(b, "regs_user", s->regs_user.values, s->regs_user.nr);
	number(b, "regs_intr_abi", s->regs_intr.abi);
	numbers(b, "regs_intr", s->regs_intr.values, s->regs_intr.nr);
	number(b, "stack_size", s->stack_size);
	number(b, "weight", s->weight);
	number(b, "data_src", s->data_src);
	number(b, "transaction", s->transaction);
	number(b, "phys_addr", s->phys_addr);
	number(b, "cgroup", s->cgroup);
	number(b, "data_page_size", s->data_page_size);
	number(b, "code_page_size", s->code_page_size);
	bytes(b, "aux", s->aux, s->aux_size);
	number(b, "rest_size", s->rest_size);
}

static void put_mmap(struct buf *b, const struct attar_mmap *m)
{
	number(b, "mmap_pid", m->pid);
	number(b, "mmap_tid", m->tid);
	number(b, "addr", m->addr);
	number(b, "len", m->len);
	number(b, "pgoff", m->pgoff);
	number(b, "maj", m->maj);
	number(b, "min", m->min);
	number(b, "ino", m->ino);
	number(b, "ino_generation", m->ino_generation);
	number(b, "prot", m->prot);
	bytes(b, "build_id", m->build_id, m->build_id_size);
	text(b, "filename", m->filename);
}

static void put_namespaces(struct buf *b, const struct attar_record *rec)
{
	number(b, "of_pid", rec->namespaces.pid);
	number(b, "of_tid", rec->namespaces.tid);
	buf_str(b, ", \"links\": {");
	for (uint64_t i = 0; i < rec->namespaces.nr; i++)
		buf_printf(b, "%s\"%s\": [%" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
			namespace_name(i), rec->namespaces.links[i].dev,
			rec->namespaces.links[i].inode);
	buf_char(b, '}');
}

static const struct {
	const char *name;
	struct record_field field;
} plain[] = {
	{"comm_pid", {RECORD_IS(COMM), RECORD_FIELD(comm.pid)}},
	{"comm_tid", {RECORD_IS(COMM), RECORD_FIELD(comm.tid)}},
	{"exec", {RECORD_IS(COMM), RECORD_FIELD(comm.exec)}},
	{"comm", {RECORD_IS(COMM), RECORD_FIELD(comm.comm)}},
	{"task_pid", {RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.pid)}},
	{"task_ppid", {RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.ppid)}},
	{"task_tid", {RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.tid)}},
	{"task_ptid", {RECORD_IS(FORK) | RECORD_IS(EXIT), RECORD_FIELD(task.ptid)}},
	{"read_pid", {RECORD_IS(READ), RECORD_FIELD(read.pid)}},
	{"read_tid", {RECORD_IS(READ), RECORD_FIELD(read.tid)}},
	{"lost", {RECORD_IS(LOST) | RECORD_IS(LOST_SAMPLES), RECORD_FIELD(lost.lost)}},
	{"other_pid", {SWITCHES, RECORD_FIELD(context_switch.other_pid)}},
	{"other_tid", {SWITCHES, RECORD_FIELD(context_switch.other_tid)}},
	{"out", {SWITCHES, RECORD_FIELD(context_switch.out)}},
	{"preempt", {SWITCHES, RECORD_FIELD(context_switch.preempt)}},
	{"addr", {RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.addr)}},
	{"len", {RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.len)}},
	{"ksym_type", {RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.ksym_type)}},
	{"flags", {RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.flags)}},
	{"name", {RECORD_IS(KSYMBOL), RECORD_FIELD(ksymbol.name)}},
	{"bpf_type", {RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.bpf_type)}},
	{"flags", {RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.flags)}},
	{"bpf_id", {RECORD_IS(BPF_EVENT), RECORD_FIELD(bpf_event.id)}},
	{"cgroup_id", {RECORD_IS(CGROUP), RECORD_FIELD(cgroup.id)}},
	{"path", {RECORD_IS(CGROUP), RECORD_FIELD(cgroup.path)}},
	{"aux_offset", {RECORD_IS(AUX), RECORD_FIELD(aux.offset)}},
	{"aux_size", {RECORD_IS(AUX), RECORD_FIELD(aux.size)}},
	{"flags", {RECORD_IS(AUX), RECORD_FIELD(aux.flags)}},
	{"of_pid", {RECORD_IS(ITRACE_START), RECORD_FIELD(itrace_start.pid)}},
	{"of_tid", {RECORD_IS(ITRACE_START), RECORD_FIELD(itrace_start.tid)}},
};

static void put_plain(struct buf *b, const struct attar_record *rec)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (!record_has(rec, &plain[i].field))
			continue;
		if (plain[i].field.kind == RECORD_TEXT)
			text(b, plain[i].name, record_text(rec, &plain[i].field));
		else
			number(b, plain[i].name, record_number(rec, &plain[i].field));
	}
}

static void put_payload(
	struct buf *b, const struct attar_layout *layout, const struct attar_record *rec)
{
	put_plain(b, rec);
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		put_sample(b, layout->sample_type, &rec->sample);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mmap(b, &rec->mmap);
		break;
	case PERF_RECORD_READ:
		put_read(b, &rec->read.values);
		break;
	case PERF_RECORD_NAMESPACES:
		put_namespaces(b, rec);
		break;
	case PERF_RECORD_TEXT_POKE:
		number(b, "addr", rec->text_poke.addr);
		bytes(b, "old", rec->text_poke.old_bytes, rec->text_poke.old_len);
		bytes(b, "new", rec->text_poke.new_bytes, rec->text_poke.new_len);
		break;
	}
}

static void dump(const event_list *events, const char *record, uint64_t left, uint64_t offset)
{
	const struct perf_event_header *header = (const void *)record;
	const struct attar_layout *layout = layout_of(events, header);
	struct buf b _cleanup_(buf_done) = {0};
	struct attar_record rec;

	if (attar_record_parse(layout, record, left, &rec) < 0)
		die(attar_error());
	buf_printf(&b, "{\"offset\": %" PRIu64 ", \"type\": \"%s\", \"misc\": %u", offset,
		record_name(rec.type), rec.misc);
	number(&b, "pid", rec.pid);
	number(&b, "tid", rec.tid);
	number(&b, "cpu", rec.cpu);
	number(&b, "time", rec.time);
	number(&b, "id", rec.id);
	put_payload(&b, layout, &rec);
	buf_str(&b, "}\n");
	fputs(buf_text(&b), stdout);
}

int main(int argc, char **argv)
{
	struct buf file _cleanup_(buf_done) = {0};
	struct file_header header;
	event_list events = {0};

	if (argc != 2 || file_read(argv[1], 1 << 30, &file) < 0)
		die(argc == 2 ? attar_error() : "usage: record_dump perf.data");
	memcpy(&header, inside(&file, 0, sizeof(header)), sizeof(header));
	if (memcmp(header.magic, "PERFILE2", 8) || header.attr_size <= sizeof(struct section))
		die("not a perf.data file of this machine");
	read_events(&file, &header, &events);
	inside(&file, header.data.offset, header.data.size);
	for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= header.data.size;) {
		const char *record = file.data + header.data.offset + at;
		const struct perf_event_header *h = (const void *)record;

		if (h->size < sizeof(*h))
			die("a record of no size");
		if (h->type < 64) /* larger types are perf's own records */
			dump(&events, record, header.data.size - at, header.data.offset + at);
		at += h->size;
	}
	vec_done(&events);
	return 0;
}
