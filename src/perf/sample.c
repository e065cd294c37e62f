/* SPDX-License-Identifier: MIT */
/*
 * PERF_RECORD_SAMPLE: the fields in the order in which the kernel writes them (perf_output_sample()
 * in kernel/events/core.c). What profilers ask for stands in attar_sample's first lines and is
 * decoded in one straight run; all the rest is behind a single test.
 */
#include "perf/record.h"
#include "perf/uapi.h"

/* One sample while its rarer fields are taken. */
struct state {
	const struct attar_layout *layout;
	const struct perf_event_header *header;
	struct attar_sample *sample;
	struct record_cursor c;
	bool no_hw_idx, swap_counters; /* another shape of branches than the attributes say */
	bool cut;                      /* the rest cannot be decoded */
};

static int take_callchain(struct state *s)
{
	const record_word *nr = record_take(&s->c, 1);

	if (!nr)
		return record_bad(s->header, "no room for the call chain's length");
	s->sample->callchain_nr = *nr;
	s->sample->callchain = (const uint64_t *)record_take(&s->c, *nr);
	if (!s->sample->callchain)
		return record_bad(s->header,
			"a call chain of %llu entries is longer than the record",
			(unsigned long long)*nr);
	return 0;
}

/* The kernel pads the size itself, so that it and its u32 fill whole words. */
static int take_raw(struct state *s)
{
	const record_word *first = record_take(&s->c, 1);
	uint32_t size;

	if (!first)
		return record_bad(s->header, "no room for the raw data's size");
	memcpy(&size, first, sizeof(size));
	if (size % 8 != 4 || !record_take(&s->c, size / 8))
		return record_bad(s->header, "raw data of %u bytes do not fit the record", size);
	s->sample->raw_size = size;
	s->sample->raw = (const char *)first + sizeof(size);
	return 0;
}

/*
 * nr, hw_idx, entries, counters. Attributes do not tell the whole shape: without a branch stack to
 * give the kernel writes nr = 0 and no hw_idx although it was asked for, and a PMU that logs
 * counters appends them for every event of the group. See take_branches_and_tail().
 */
static int take_branches(struct state *s)
{
	uint64_t type = s->layout->branch_sample_type;
	const record_word *nr = record_take(&s->c, 1);
	const record_word *hw_idx, *entries, *counters;
	bool with_counters;

	if (!nr)
		return record_bad(s->header, "no room for the number of branches");
	if ((type & PERF_SAMPLE_BRANCH_HW_INDEX) && !s->no_hw_idx) {
		hw_idx = record_take(&s->c, 1);
		if (!hw_idx)
			return record_bad(s->header, "no room for the branches' hardware index");
		s->sample->branch_hw_idx = *hw_idx;
	}
	if (*nr > record_left(&s->c) / 3)
		return record_bad(s->header, "%llu branches are more than the record holds",
			(unsigned long long)*nr);
	with_counters = *nr && !(type & PERF_SAMPLE_BRANCH_COUNTERS_) == s->swap_counters;
	entries = record_take(&s->c, *nr * 3);
	counters = with_counters ? record_take(&s->c, *nr) : NULL;
	if (with_counters && !counters)
		return record_bad(s->header, "counters of %llu branches do not fit the record",
			(unsigned long long)*nr);
	s->sample->branch_nr = *nr;
	s->sample->branches = (const struct perf_branch_entry *)entries;
	s->sample->branch_counters = (const uint64_t *)counters;
	return 0;
}

static int take_regs(struct state *s, const char *whose, uint64_t mask, struct attar_regs *regs)
{
	const record_word *abi = record_take(&s->c, 1);

	if (!abi)
		return record_bad(s->header, "no room for the ABI of %s registers", whose);
	regs->abi = *abi;
	regs->mask = mask;
	if (*abi > PERF_SAMPLE_REGS_ABI_64) {
		s->cut = true;
		return 0;
	}
	if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
		return 0;
	regs->nr = (uint64_t)__builtin_popcountll(mask);
	regs->values = (const uint64_t *)record_take(&s->c, regs->nr);
	if (!regs->values)
		return record_bad(s->header, "%llu %s registers do not fit the record",
			(unsigned long long)regs->nr, whose);
	return 0;
}

/* size, bytes, how many of them were copied really; the latter two are absent when size is 0. */
static int take_stack(struct state *s)
{
	const record_word *size = record_take(&s->c, 1), *stack, *used;

	if (!size)
		return record_bad(s->header, "no room for the stack's size");
	if (*size == 0)
		return 0;
	stack = *size % 8 ? NULL : record_take(&s->c, *size / 8);
	used = record_take(&s->c, 1);
	if (!stack || !used || *used > *size)
		return record_bad(s->header, "a stack of %llu bytes does not fit the record",
			(unsigned long long)*size);
	s->sample->stack_size = *used;
	s->sample->stack = stack;
	return 0;
}

static int take_aux(struct state *s)
{
	const record_word *size = record_take(&s->c, 1);

	if (!size)
		return record_bad(s->header, "no room for the AUX data's size");
	s->sample->aux = *size % 8 ? NULL : record_take(&s->c, *size / 8);
	if (!s->sample->aux)
		return record_bad(s->header, "AUX data of %llu bytes do not fit the record",
			(unsigned long long)*size);
	s->sample->aux_size = *size;
	return 0;
}

/* A run of fields of one word each. */
struct word {
	uint64_t bit;
	const char *name;
	uint64_t *value;
};

static int take_words(struct state *s, const struct word words[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const record_word *word;

		if (!(s->layout->sample_type & words[i].bit))
			continue;
		word = record_take(&s->c, 1);
		if (!word)
			return record_bad(s->header, "no room for the %s", words[i].name);
		*words[i].value = *word;
	}
	return 0;
}

/* The kernel writes AUX last, whatever the comment in linux/perf_event.h says. */
static int take_tail(struct state *s)
{
	struct attar_sample *sample = s->sample;
	uint64_t type = s->layout->sample_type;
	const struct word memory[] = {
		{PERF_SAMPLE_WEIGHT_TYPE, "weight", &sample->weight},
		{PERF_SAMPLE_DATA_SRC, "data source", &sample->data_src},
		{PERF_SAMPLE_TRANSACTION, "transaction", &sample->transaction},
	};
	const struct word late[] = {
		{PERF_SAMPLE_PHYS_ADDR, "physical address", &sample->phys_addr},
		{PERF_SAMPLE_CGROUP, "cgroup", &sample->cgroup},
		{PERF_SAMPLE_DATA_PAGE_SIZE, "data page size", &sample->data_page_size},
		{PERF_SAMPLE_CODE_PAGE_SIZE, "code page size", &sample->code_page_size},
	};
	int rc = 0;

	if (type & PERF_SAMPLE_REGS_USER)
		rc = take_regs(s, "user", s->layout->regs_user, &sample->regs_user);
	if (rc == 0 && !s->cut && (type & PERF_SAMPLE_STACK_USER))
		rc = take_stack(s);
	if (rc == 0 && !s->cut)
		rc = take_words(s, memory, ARRAY_SIZE(memory));
	if (rc == 0 && !s->cut && (type & PERF_SAMPLE_REGS_INTR))
		rc = take_regs(s, "interrupt's", s->layout->regs_intr, &sample->regs_intr);
	if (rc == 0 && !s->cut)
		rc = take_words(s, late, ARRAY_SIZE(late));
	if (rc == 0 && !s->cut && (type & PERF_SAMPLE_AUX))
		rc = take_aux(s);
	return rc;
}

static int take_shape(struct state *s, bool other)
{
	uint64_t nr = record_left(&s->c) ? *s->c.at : 0;
	int rc;

	s->no_hw_idx = other && nr == 0;
	s->swap_counters = other && nr > 0;
	rc = take_branches(s);
	return rc < 0 ? rc : take_tail(s);
}

/* When the fields as declared do not end where the record does, the other shape may; else they
 * stand. */
static int take_branches_and_tail(struct state *s)
{
	const struct attar_sample sample = *s->sample;
	const struct state state = *s;

	if (take_shape(s, false) == 0 && !s->cut && record_left(&s->c) == 0)
		return 0;
	*s = state;
	*s->sample = sample;
	if (take_shape(s, true) == 0 && !s->cut && record_left(&s->c) == 0)
		return 0;
	*s = state;
	*s->sample = sample;
	return take_shape(s, false);
}

/* All fields of variable size and what follows them, in any combination. */
static int take_any(struct state *s)
{
	uint64_t type = s->layout->sample_type;
	int rc = 0;

	if ((type & PERF_SAMPLE_READ) &&
		!record_read(s->layout->read_format, &s->c, &s->sample->read))
		return record_bad(s->header, "no room for the counters' values");
	if (type & PERF_SAMPLE_CALLCHAIN)
		rc = take_callchain(s);
	if (rc == 0 && (type & PERF_SAMPLE_RAW))
		rc = take_raw(s);
	if (rc == 0)
		rc = type & PERF_SAMPLE_BRANCH_STACK ? take_branches_and_tail(s) : take_tail(s);
	if (s->cut)
		s->sample->rest_size = (uint32_t)(record_left(&s->c) * sizeof(*s->c.at));
	return rc;
}

int record_sample(const struct attar_layout *layout, const struct perf_event_header *header,
	struct attar_record *rec)
{
	const record_word *at = (const record_word *)(header + 1);
	struct attar_sample *sample = &rec->sample;
	struct state s = {.layout = layout, .header = header, .sample = sample};
	uint64_t type = layout->sample_type;

	if (unlikely(header->size < layout->fixed_end))
		return record_bad(
			header, "its fields of fixed size alone take %d", layout->fixed_end);
	memset(sample, 0, sizeof(*sample));
	sample->branch_hw_idx = UINT64_MAX;
	rec->id = type & PERF_SAMPLE_IDENTIFIER ? *at++ : 0;
	if (type & PERF_SAMPLE_IP)
		sample->ip = *at++;
	if (type & PERF_SAMPLE_TID)
		memcpy(&rec->pid, at++, 8); /* and tid */
	else
		rec->pid = rec->tid = UINT32_MAX;
	rec->time = type & PERF_SAMPLE_TIME ? *at++ : 0;
	if (type & PERF_SAMPLE_ADDR)
		sample->addr = *at++;
	if (type & PERF_SAMPLE_ID)
		rec->id = *at++;
	rec->stream_id = type & PERF_SAMPLE_STREAM_ID ? *at++ : 0;
	rec->cpu = UINT32_MAX;
	if (type & PERF_SAMPLE_CPU)
		memcpy(&rec->cpu, at++, sizeof(rec->cpu));
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = *at++;
	s.c.at = at;
	s.c.end = (const record_word *)((const char *)header + header->size);
	return take_any(&s);
}
