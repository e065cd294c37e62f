/* SPDX-License-Identifier: MIT */
/*
 * Encode a model as bytes, in the order of perf_output_sample() and related functions in
 * kernel/events.
 */
#include "record_encoder.h"

#include <assert.h>
#include <string.h>

#include "base/base.h"
#include "record/uapi.h"

struct encoder {
	const struct model *m;
	char *start, *at;
};

static void put(struct encoder *e, const void *bytes, size_t n)
{
	assert(e->at + n <= e->start + MODEL_RECORD_MAX);
	if (n)
		memcpy(e->at, bytes, n);
	e->at += n;
}

static void put16(struct encoder *e, uint16_t value)
{
	if (e->m->swapped)
		value = __builtin_bswap16(value);
	put(e, &value, sizeof(value));
}

static void put32(struct encoder *e, uint32_t value)
{
	if (e->m->swapped)
		value = __builtin_bswap32(value);
	put(e, &value, sizeof(value));
}

static void put64(struct encoder *e, uint64_t value)
{
	if (e->m->swapped)
		value = __builtin_bswap64(value);
	put(e, &value, sizeof(value));
}

static void put_words(struct encoder *e, const uint64_t *words, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		put64(e, words[i]);
}

/*
 * The bit fields of struct perf_branch_entry as a big-endian compiler lays them out: first,
 * highest.
 */
static void put_branch_flags(struct encoder *e, uint64_t flags)
{
	static const unsigned widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};
	uint64_t word = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(widths); i++) {
		word = word << widths[i] | (flags & ((1ULL << widths[i]) - 1));
		flags >>= widths[i];
	}
	put64(e, word);
}

static void pad(struct encoder *e)
{
	while ((e->at - e->start) % 8)
		put(e, "", 1);
}

static void put_text(struct encoder *e, const char *text)
{
	put(e, text, strlen(text) + 1);
	pad(e);
}

static void put_read(struct encoder *e, const struct attar_read *read)
{
	uint64_t format = e->m->attr.read_format;
	bool group = format & PERF_FORMAT_GROUP;

	if (group)
		put64(e, read->nr);
	else
		put64(e, e->m->values[0].value);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put64(e, e->m->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put64(e, e->m->time_running);
	for (uint64_t i = 0; i < read->nr; i++) {
		if (group)
			put64(e, e->m->values[i].value);
		if (format & PERF_FORMAT_ID)
			put64(e, e->m->values[i].id);
		if (format & PERF_FORMAT_LOST_)
			put64(e, e->m->values[i].lost);
	}
}

static void put_regs(struct encoder *e, const struct attar_regs *regs)
{
	put64(e, regs->abi);
	put_words(e, regs->values, regs->nr);
}

static void put_branches(struct encoder *e, const struct attar_sample *s)
{
	put64(e, s->branch_nr);
	if ((e->m->attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) && !e->m->without_hw_idx)
		put64(e, s->branch_hw_idx);
	for (uint32_t i = 0; i < s->branch_nr; i++) {
		const uint64_t *words = (const uint64_t *)(s->branches + i);

		put_words(e, words, 2);
		if (e->m->swapped)
			put_branch_flags(e, words[2]);
		else
			put64(e, words[2]);
	}
	if (e->m->with_counters)
		put_words(e, s->branch_counters, s->branch_nr);
}

static void put_stack(struct encoder *e, const struct attar_sample *s)
{
	put64(e, e->m->stack_room);
	if (!e->m->stack_room)
		return;
	put(e, s->stack, e->m->stack_room);
	put64(e, s->stack_size);
}

static void put_sample(struct encoder *e)
{
	const struct attar_record *rec = &e->m->rec;
	const struct attar_sample *s = &rec->sample;
	uint64_t type = e->m->attr.sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_IP)
		put64(e, s->ip);
	if (type & PERF_SAMPLE_TID) {
		put32(e, rec->pid);
		put32(e, rec->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		put64(e, rec->time);
	if (type & PERF_SAMPLE_ADDR)
		put64(e, s->addr);
	if (type & PERF_SAMPLE_ID)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(e, rec->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		put32(e, rec->cpu);
		put32(e, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		put64(e, s->period);
	if (type & PERF_SAMPLE_READ)
		put_read(e, &s->read);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put64(e, s->callchain_nr);
		put_words(e, s->callchain, s->callchain_nr);
	}
	if (type & PERF_SAMPLE_RAW) {
		put32(e, s->raw_size);
		put(e, s->raw, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(e, s);
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(e, &s->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(e, s);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		put64(e, s->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		put64(e, s->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		put64(e, s->transaction);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(e, &s->regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put64(e, s->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		put64(e, s->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put64(e, s->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put64(e, s->code_page_size);
	if (type & PERF_SAMPLE_AUX) {
		put64(e, s->aux_size);
		put(e, s->aux, s->aux_size);
	}
}

static void put_mmap(struct encoder *e, const struct attar_mmap *map, bool two)
{
	put32(e, map->pid);
	put32(e, map->tid);
	put64(e, map->addr);
	put64(e, map->len);
	put64(e, map->pgoff);
	if (two && !map->has_ino) {
		put(e, &map->build_id_size, 1);
		put(e, "\0\0", 3);
		put(e, map->build_id, sizeof(map->build_id));
	} else if (two) {
		put32(e, map->maj);
		put32(e, map->min);
		put64(e, map->ino);
		put64(e, map->ino_generation);
	}
	if (two) {
		put32(e, map->prot);
		put32(e, map->flags);
	}
	put_text(e, map->filename);
}

static void put_payload(struct encoder *e)
{
	const struct attar_record *rec = &e->m->rec;

	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mmap(e, &rec->mmap, rec->type == PERF_RECORD_MMAP2);
		break;
	case PERF_RECORD_LOST:
		put64(e, rec->lost.id);
		__attribute__((fallthrough));
	case PERF_RECORD_LOST_SAMPLES:
		put64(e, rec->lost.lost);
		break;
	case PERF_RECORD_COMM:
		put32(e, rec->comm.pid);
		put32(e, rec->comm.tid);
		put_text(e, rec->comm.comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		put32(e, rec->task.pid);
		put32(e, rec->task.ppid);
		put32(e, rec->task.tid);
		put32(e, rec->task.ptid);
		put64(e, rec->task.time);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		put64(e, rec->throttle.time);
		put64(e, rec->throttle.id);
		put64(e, rec->throttle.stream_id);
		break;
	case PERF_RECORD_READ:
		put32(e, rec->read.pid);
		put32(e, rec->read.tid);
		put_read(e, &rec->read.values);
		break;
	case PERF_RECORD_SAMPLE:
		put_sample(e);
		break;
	case PERF_RECORD_AUX:
		put64(e, rec->aux.offset);
		put64(e, rec->aux.size);
		put64(e, rec->aux.flags);
		break;
	case PERF_RECORD_ITRACE_START:
		put32(e, rec->itrace_start.pid);
		put32(e, rec->itrace_start.tid);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		put32(e, rec->context_switch.other_pid);
		put32(e, rec->context_switch.other_tid);
		break;
	case PERF_RECORD_NAMESPACES:
		put32(e, rec->namespaces.pid);
		put32(e, rec->namespaces.tid);
		put64(e, rec->namespaces.nr);
		put_words(e, (const uint64_t *)rec->namespaces.links, rec->namespaces.nr * 2);
		break;
	case PERF_RECORD_KSYMBOL:
		put64(e, rec->ksymbol.addr);
		put32(e, rec->ksymbol.len);
		put16(e, rec->ksymbol.ksym_type);
		put16(e, rec->ksymbol.flags);
		put_text(e, rec->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		put16(e, rec->bpf_event.bpf_type);
		put16(e, rec->bpf_event.flags);
		put32(e, rec->bpf_event.id);
		put(e, rec->bpf_event.tag, 8);
		break;
	case PERF_RECORD_CGROUP:
		put64(e, rec->cgroup.id);
		put_text(e, rec->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		put64(e, rec->text_poke.addr);
		put16(e, rec->text_poke.old_len);
		put16(e, rec->text_poke.new_len);
		put(e, rec->text_poke.old_bytes, rec->text_poke.old_len);
		put(e, rec->text_poke.new_bytes, rec->text_poke.new_len);
		pad(e);
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID_:
		put64(e, rec->aux_output_hw_id.hw_id);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED_:
		put64(e, rec->callchain_deferred.cookie);
		put64(e, rec->callchain_deferred.nr);
		put_words(e, rec->callchain_deferred.ips, rec->callchain_deferred.nr);
		break;
	}
}

static void put_trailer(struct encoder *e)
{
	const struct attar_record *rec = &e->m->rec;
	uint64_t type = e->m->attr.sample_type;

	if (type & PERF_SAMPLE_TID) {
		put32(e, rec->pid);
		put32(e, rec->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		put64(e, rec->time);
	if (type & PERF_SAMPLE_ID)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(e, rec->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		put32(e, rec->cpu);
		put32(e, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(e, rec->id);
}

size_t model_encode(const struct model *m, uint64_t *words)
{
	struct encoder e = {.m = m, .start = (char *)words, .at = (char *)words};
	struct perf_event_header header = {.type = m->rec.type, .misc = m->rec.misc};

	put(&e, &header, sizeof(header));
	put_payload(&e);
	if (m->rec.type != PERF_RECORD_SAMPLE && m->attr.sample_id_all)
		put_trailer(&e);
	header.size = (uint16_t)(e.at - e.start);
	memcpy(words, &header, sizeof(header));
	return header.size;
}
