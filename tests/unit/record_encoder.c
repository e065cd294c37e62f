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
#include "record_plain.h"

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

static void put_task(struct encoder *e)
{
	put32(e, e->m->rec.pid);
	put32(e, e->m->rec.tid);
}

static void put_cpu(struct encoder *e)
{
	put32(e, e->m->rec.cpu);
	put32(e, 0);
}

/* From the identifier to the period: when and where the sample was taken. */
static void put_sample_head(struct encoder *e, const struct attar_record *rec, uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_IP)
		put64(e, rec->sample.ip);
	if (type & PERF_SAMPLE_TID)
		put_task(e);
	if (type & PERF_SAMPLE_TIME)
		put64(e, rec->time);
	if (type & PERF_SAMPLE_ADDR)
		put64(e, rec->sample.addr);
	if (type & PERF_SAMPLE_ID)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(e, rec->stream_id);
	if (type & PERF_SAMPLE_CPU)
		put_cpu(e);
	if (type & PERF_SAMPLE_PERIOD)
		put64(e, rec->sample.period);
}

/* From the counts to the stack: most have their own length. */
static void put_sample_stacks(struct encoder *e, const struct attar_sample *s, uint64_t type)
{
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
}

static void put_sample(struct encoder *e)
{
	const struct attar_sample *s = &e->m->rec.sample;
	uint64_t type = e->m->attr.sample_type;

	put_sample_head(e, &e->m->rec, type);
	put_sample_stacks(e, s, type);
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

static void put_plain(struct encoder *e, const struct record_field *field)
{
	const struct attar_record *rec = &e->m->rec;

	switch (field->kind) {
	case RECORD_16:
		put16(e, (uint16_t)record_number(rec, field));
		break;
	case RECORD_32:
		put32(e, (uint32_t)record_number(rec, field));
		break;
	case RECORD_64:
		put64(e, record_number(rec, field));
		break;
	case RECORD_TEXT:
		put_text(e, record_text(rec, field));
		break;
	case RECORD_TAG:
		put(e, record_text(rec, field), RECORD_TAG_BYTES);
		break;
	case RECORD_BOOL: /* a bit of misc */
		break;
	}
}

static void put_text_poke(struct encoder *e)
{
	const struct attar_record *rec = &e->m->rec;

	put64(e, rec->text_poke.addr);
	put16(e, rec->text_poke.old_len);
	put16(e, rec->text_poke.new_len);
	put(e, rec->text_poke.old_bytes, rec->text_poke.old_len);
	put(e, rec->text_poke.new_bytes, rec->text_poke.new_len);
	pad(e);
}

static void put_payload(struct encoder *e)
{
	const struct attar_record *rec = &e->m->rec;

	for (size_t i = 0; i < record_n_plain; i++)
		if (record_has(rec, &record_plain[i]))
			put_plain(e, &record_plain[i]);
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mmap(e, &rec->mmap, rec->type == PERF_RECORD_MMAP2);
		break;
	case PERF_RECORD_READ:
		put_read(e, &rec->read.values);
		break;
	case PERF_RECORD_SAMPLE:
		put_sample(e);
		break;
	case PERF_RECORD_NAMESPACES:
		put64(e, rec->namespaces.nr);
		put_words(e, (const uint64_t *)rec->namespaces.links, rec->namespaces.nr * 2);
		break;
	case PERF_RECORD_TEXT_POKE:
		put_text_poke(e);
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

	if (type & PERF_SAMPLE_TID)
		put_task(e);
	if (type & PERF_SAMPLE_TIME)
		put64(e, rec->time);
	if (type & PERF_SAMPLE_ID)
		put64(e, rec->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(e, rec->stream_id);
	if (type & PERF_SAMPLE_CPU)
		put_cpu(e);
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
