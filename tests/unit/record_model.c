/* SPDX-License-Identifier: MIT */
/* Generate random records that the kernel could have written. */
#include "record_encoder.h"

#include <assert.h>
#include <string.h>

#include "base/base.h"
#include "record/uapi.h"
#include "record_plain.h"

uint64_t model_next(struct model *m)
{
	return base_hash64(m->rng += 0x9e3779b97f4a7c15ULL);
}

uint64_t model_below(struct model *m, uint64_t n)
{
	return model_next(m) % n;
}

static uint32_t next32(struct model *m)
{
	return (uint32_t)model_next(m);
}

/* Allocates an array of random words with the lifetime of the model. */
static uint64_t *words(struct model *m, size_t n)
{
	uint64_t *at = m->storage + m->used;

	m->used += n;
	assert(m->used <= MODEL_WORDS);
	for (size_t i = 0; i < n; i++)
		at[i] = model_next(m);
	return at;
}

/* A string of 0 to 40 bytes, of any bytes except NUL. */
static const char *text(struct model *m)
{
	size_t len = model_below(m, 41);
	char *at = (char *)words(m, 6);

	for (size_t i = 0; i < len; i++)
		at[i] = at[i] ? at[i] : 'x';
	at[len] = '\0';
	return at;
}

static void fill_read(struct model *m, struct attar_read *read)
{
	uint64_t format = m->attr.read_format;

	read->format = (uint32_t)format;
	read->nr = format & PERF_FORMAT_GROUP ? (uint32_t)model_below(m, MODEL_VALUES + 1) : 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		m->time_enabled = model_next(m);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		m->time_running = model_next(m);
	for (uint64_t i = 0; i < read->nr; i++) {
		m->values[i].value = model_next(m);
		m->values[i].id = format & PERF_FORMAT_ID ? model_next(m) : 0;
		m->values[i].lost = format & PERF_FORMAT_LOST_ ? model_next(m) : 0;
	}
}

static void fill_regs(struct model *m, uint64_t mask, struct attar_regs *regs)
{
	regs->abi = (uint32_t)model_below(m, 3);
	regs->mask = mask;
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	regs->nr = (uint32_t)__builtin_popcountll(mask);
	regs->values = words(m, regs->nr);
}

static void fill_branches(struct model *m, struct attar_sample *s)
{
	uint64_t type = m->attr.branch_sample_type;

	s->branch_nr = (uint32_t)model_below(m, 5);
	s->branches = (struct perf_branch_entry *)words(m, s->branch_nr * 3);
	s->branch_calls = type & PERF_SAMPLE_BRANCH_CALL_STACK;
	m->without_hw_idx = s->branch_nr == 0 && model_below(m, 2);
	if ((type & PERF_SAMPLE_BRANCH_HW_INDEX) && !m->without_hw_idx)
		s->branch_hw_idx = model_next(m);
	/* Other events of the group get counters without requesting them. */
	m->with_counters = (type & PERF_SAMPLE_BRANCH_COUNTERS_) || model_below(m, 4) == 0;
	if (m->with_counters && s->branch_nr)
		s->branch_counters = words(m, s->branch_nr);
}

static void fill_variable(struct model *m, struct attar_sample *s)
{
	uint64_t type = m->attr.sample_type;

	if (type & PERF_SAMPLE_READ)
		fill_read(m, &s->read);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->callchain_nr = (uint32_t)model_below(m, 20);
		s->callchain = words(m, s->callchain_nr);
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = (uint32_t)model_below(m, 9) * 8 + 4;
		s->raw = words(m, s->raw_size / 8 + 1);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		fill_branches(m, s);
	if (type & PERF_SAMPLE_REGS_USER)
		fill_regs(m, m->attr.sample_regs_user, &s->regs_user);
	if (type & PERF_SAMPLE_REGS_INTR)
		fill_regs(m, m->attr.sample_regs_intr, &s->regs_intr);
	if (type & PERF_SAMPLE_STACK_USER) {
		m->stack_room = model_below(m, 20) * 8;
		s->stack_size = (uint32_t)model_below(m, m->stack_room + 1);
		s->stack = words(m, m->stack_room / 8);
	}
	if (type & PERF_SAMPLE_AUX) {
		s->aux_size = (uint32_t)model_below(m, 10) * 8;
		s->aux = words(m, s->aux_size / 8);
	}
}

static void fill_sample(struct model *m, struct attar_sample *s)
{
	uint64_t type = m->attr.sample_type;
	const struct {
		uint64_t bits;
		uint64_t *value;
	} single[] = {
		{PERF_SAMPLE_IP, &s->ip},
		{PERF_SAMPLE_ADDR, &s->addr},
		{PERF_SAMPLE_PERIOD, &s->period},
		{PERF_SAMPLE_WEIGHT_TYPE, &s->weight},
		{PERF_SAMPLE_DATA_SRC, &s->data_src},
		{PERF_SAMPLE_TRANSACTION, &s->transaction},
		{PERF_SAMPLE_PHYS_ADDR, &s->phys_addr},
		{PERF_SAMPLE_CGROUP, &s->cgroup},
		{PERF_SAMPLE_DATA_PAGE_SIZE, &s->data_page_size},
		{PERF_SAMPLE_CODE_PAGE_SIZE, &s->code_page_size},
	};

	s->branch_hw_idx = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (type & single[i].bits)
			*single[i].value = model_next(m);
	fill_variable(m, s);
}

static void fill_mmap(struct model *m, struct attar_mmap *map, bool two)
{
	map->pid = next32(m);
	map->tid = next32(m);
	map->addr = model_next(m);
	map->len = model_next(m);
	map->pgoff = model_next(m);
	map->filename = text(m);
	if (!two)
		return;
	map->prot = next32(m);
	map->flags = next32(m);
	if (m->attr.build_id && m->rec.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		map->build_id_size = (uint8_t)model_below(m, 21);
		memcpy(map->build_id, words(m, 3), map->build_id_size);
	} else {
		map->has_ino = true;
		map->maj = next32(m);
		map->min = next32(m);
		map->ino = model_next(m);
		map->ino_generation = model_next(m);
	}
}

static void fill_text_poke(struct model *m)
{
	m->rec.text_poke.addr = model_next(m);
	m->rec.text_poke.old_len = (uint16_t)model_below(m, 17);
	m->rec.text_poke.new_len = (uint16_t)model_below(m, 17);
	m->rec.text_poke.old_bytes = (uint8_t *)words(m, 2);
	m->rec.text_poke.new_bytes = (uint8_t *)words(m, 2);
}

static void fill_plain(struct model *m, const struct record_field *field)
{
	void *at = (char *)&m->rec + field->offset;
	uint64_t number = model_next(m);
	const void *bytes;

	if (field->kind == RECORD_TEXT)
		bytes = text(m);
	else if (field->kind == RECORD_TAG)
		bytes = words(m, 1);
	else {
		memcpy(at, &number, field->kind);
		return;
	}
	memcpy(at, &bytes, sizeof(bytes));
}

/* A switch on one CPU does not say to which task; the rest is in misc. */
static void fill_context_switch(struct attar_record *rec)
{
	if (rec->type == PERF_RECORD_SWITCH)
		rec->context_switch.other_pid = rec->context_switch.other_tid = UINT32_MAX;
	rec->context_switch.out = rec->misc & PERF_RECORD_MISC_SWITCH_OUT;
	rec->context_switch.preempt = rec->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

static void fill_payload(struct model *m)
{
	struct attar_record *rec = &m->rec;

	for (size_t i = 0; i < record_n_plain; i++)
		if (record_has(rec, &record_plain[i]))
			fill_plain(m, &record_plain[i]);
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		fill_mmap(m, &rec->mmap, rec->type == PERF_RECORD_MMAP2);
		break;
	case PERF_RECORD_COMM:
		rec->comm.exec = rec->misc & PERF_RECORD_MISC_COMM_EXEC;
		break;
	case PERF_RECORD_READ:
		fill_read(m, &rec->read.values);
		break;
	case PERF_RECORD_SAMPLE:
		fill_sample(m, &rec->sample);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		fill_context_switch(rec);
		break;
	case PERF_RECORD_NAMESPACES:
		rec->namespaces.nr = model_below(m, NR_NAMESPACES + 1);
		rec->namespaces.links = (struct attar_ns_link *)words(m, rec->namespaces.nr * 2);
		break;
	case PERF_RECORD_TEXT_POKE:
		fill_text_poke(m);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED_:
		rec->callchain_deferred.cookie = model_next(m);
		rec->callchain_deferred.nr = model_below(m, 20);
		rec->callchain_deferred.ips = words(m, rec->callchain_deferred.nr);
		break;
	}
}

void model_random(struct model *m, uint64_t seed, uint32_t type, const struct perf_event_attr *attr)
{
	bool identified = type == PERF_RECORD_SAMPLE || attr->sample_id_all;
	uint64_t bits = identified ? attr->sample_type : 0;

	memset(m, 0, sizeof(*m));
	m->rng = seed;
	m->attr = *attr;
	m->rec.type = type;
	m->rec.misc = (uint16_t)model_next(m);
	m->rec.pid = bits & PERF_SAMPLE_TID ? next32(m) : UINT32_MAX;
	m->rec.tid = bits & PERF_SAMPLE_TID ? next32(m) : UINT32_MAX;
	m->rec.cpu = bits & PERF_SAMPLE_CPU ? next32(m) : UINT32_MAX;
	m->rec.time = bits & PERF_SAMPLE_TIME ? model_next(m) : 0;
	m->rec.id = bits & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? model_next(m) : 0;
	m->rec.stream_id = bits & PERF_SAMPLE_STREAM_ID ? model_next(m) : 0;
	fill_payload(m);
}

void model_attr(uint64_t seed, uint64_t sample_type, struct perf_event_attr *ret_attr)
{
	struct model m = {.rng = seed};

	*ret_attr = (struct perf_event_attr){
		.sample_type = sample_type,
		.read_format = model_below(&m, 32),
		.branch_sample_type = (model_below(&m, 2) ? PERF_SAMPLE_BRANCH_CALL_STACK
							  : PERF_SAMPLE_BRANCH_ANY) |
				      (model_below(&m, 2) ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
				      (model_below(&m, 2) ? PERF_SAMPLE_BRANCH_COUNTERS_ : 0),
		.sample_regs_user = model_next(&m) & model_next(&m),
		.sample_regs_intr = model_next(&m) & model_next(&m),
		.sample_id_all = model_below(&m, 2),
		.build_id = model_below(&m, 2),
	};
}
