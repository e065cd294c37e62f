/* SPDX-License-Identifier: MIT */
/*
 * Parse PERF_RECORD_SAMPLE: fields are in the order in which the kernel writes them
 * (perf_output_sample() in kernel/events/core.c). The fields that profilers use are decoded in a
 * fast path, see record/sample.h; all others are behind a single test.
 */
#include "record/sample.h"
#include "record/uapi.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "u32 pairs are read as words");

/* Parser state for a sample with rare fields. */
struct state {
	const struct attar_layout *layout;
	const struct perf_event_header *header;
	struct attar_sample *sample;
	struct record_cursor c;
	bool no_hw_idx, swap_counters; /* branch layout differs from the attributes */
	bool cut;                      /* the rest cannot be decoded */
};

static int take_callchain(struct state *s)
{
	const record_word *nr = record_take(&s->c, 1);

	if (!nr)
		return record_bad(s->header, "the call chain length is missing");
	s->sample->callchain = (const uint64_t *)record_take(&s->c, *nr);
	if (!s->sample->callchain)
		return record_bad(s->header, "a call chain of %llu entries does not fit",
			(unsigned long long)*nr);
	s->sample->callchain_nr = (uint32_t)*nr;
	return 0;
}

/* The kernel pads the data so that the u32 size and the data fill whole words. */
static int take_raw(struct state *s)
{
	const record_word *first = record_take(&s->c, 1);
	uint32_t size;

	if (!first)
		return record_bad(s->header, "the raw data size is missing");
	memcpy(&size, first, sizeof(size));
	if (size % 8 != 4 || !record_take(&s->c, size / 8))
		return record_bad(s->header, "raw data of %u bytes does not fit", size);
	s->sample->raw_size = size;
	s->sample->raw = (const char *)first + sizeof(size);
	return 0;
}

/*
 * nr, hw_idx, entries, counters. The attributes do not fully determine the layout: if no branch
 * stack is available the kernel writes nr = 0 and omits a requested hw_idx, and a PMU that logs
 * counters appends them for every event of the group. See take_branches_and_tail().
 */
static int take_branches(struct state *s)
{
	uint64_t type = s->layout->branch_sample_type;
	const record_word *nr = record_take(&s->c, 1);
	const record_word *hw_idx, *entries, *counters;
	bool with_counters;

	if (!nr)
		return record_bad(s->header, "the number of branches is missing");
	if ((type & PERF_SAMPLE_BRANCH_HW_INDEX) && !s->no_hw_idx) {
		hw_idx = record_take(&s->c, 1);
		if (!hw_idx)
			return record_bad(
				s->header, "the hardware index of the branches is missing");
		s->sample->branch_hw_idx = *hw_idx;
	}
	if (*nr > record_left(&s->c) / 3)
		return record_bad(s->header, "%llu branches do not fit", (unsigned long long)*nr);
	with_counters = *nr && !(type & PERF_SAMPLE_BRANCH_COUNTERS_) == s->swap_counters;
	entries = record_take(&s->c, *nr * 3);
	counters = with_counters ? record_take(&s->c, *nr) : NULL;
	if (with_counters && !counters)
		return record_bad(s->header, "the counters of %llu branches do not fit",
			(unsigned long long)*nr);
	s->sample->branch_nr = (uint32_t)*nr;
	s->sample->branch_calls = type & PERF_SAMPLE_BRANCH_CALL_STACK;
	s->sample->branches = (const struct perf_branch_entry *)entries;
	s->sample->branch_counters = (const uint64_t *)counters;
	return 0;
}

/*
 * The ABI of registers is a bitmap in kernels that sample vector registers (x86 only, proposed for
 * Linux as PERF_SAMPLE_REGS_ABI_SIMD): these follow the others, after a word of four u16: vectors
 * and their size in words, predicate registers and their size.
 */
enum { REGS_ABI_MASK = 0x3, REGS_ABI_SIMD = 0x4, REGS_ABI_KNOWN = 0x7 };

static int skip_vector_regs(struct state *s, const char *whose)
{
	const record_word *sizes = record_take(&s->c, 1);
	uint64_t n;

	if (!sizes)
		return record_bad(
			s->header, "the number of the %s vector registers is missing", whose);
	n = (*sizes & 0xffff) * (*sizes >> 16 & 0xffff) +
	    (*sizes >> 32 & 0xffff) * (*sizes >> 48 & 0xffff);
	if (n > record_left(&s->c) || !record_take(&s->c, n))
		return record_bad(s->header, "%llu words of %s vector registers do not fit",
			(unsigned long long)n, whose);
	return 0;
}

static int take_regs(struct state *s, const char *whose, uint64_t mask, struct attar_regs *regs)
{
	const record_word *abi = record_take(&s->c, 1);

	if (!abi)
		return record_bad(s->header, "the ABI of the %s registers is missing", whose);
	regs->abi = *abi > UINT32_MAX ? UINT32_MAX : (uint32_t)*abi;
	regs->mask = mask;
	if (*abi & ~(uint64_t)REGS_ABI_KNOWN || (*abi & REGS_ABI_MASK) == REGS_ABI_MASK) {
		s->cut = true;
		return 0;
	}
	regs->abi &= REGS_ABI_MASK;
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return *abi & REGS_ABI_SIMD ? skip_vector_regs(s, whose) : 0;
	regs->nr = (uint32_t)__builtin_popcountll(mask);
	regs->values = (const uint64_t *)record_take(&s->c, regs->nr);
	if (!regs->values)
		return record_bad(s->header, "%llu %s registers do not fit",
			(unsigned long long)regs->nr, whose);
	return *abi & REGS_ABI_SIMD ? skip_vector_regs(s, whose) : 0;
}

/* size, bytes, and number of bytes actually copied; the latter two are absent if size is 0. */
static int take_stack(struct state *s)
{
	const record_word *size = record_take(&s->c, 1), *stack, *used;

	if (!size)
		return record_bad(s->header, "the stack size is missing");
	if (*size == 0)
		return 0;
	stack = *size % 8 ? NULL : record_take(&s->c, *size / 8);
	used = record_take(&s->c, 1);
	if (!stack || !used || *used > *size)
		return record_bad(
			s->header, "a stack of %llu bytes does not fit", (unsigned long long)*size);
	s->sample->stack_size = (uint32_t)*used;
	s->sample->stack = stack;
	return 0;
}

static int take_aux(struct state *s)
{
	const record_word *size = record_take(&s->c, 1);

	if (!size)
		return record_bad(s->header, "the AUX data size is missing");
	s->sample->aux = *size % 8 ? NULL : record_take(&s->c, *size / 8);
	if (!s->sample->aux)
		return record_bad(s->header, "AUX data of %llu bytes does not fit",
			(unsigned long long)*size);
	s->sample->aux_size = (uint32_t)*size;
	return 0;
}

/* Takes consecutive fields of one word each. */
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
			return record_bad(s->header, "the %s is missing", words[i].name);
		*words[i].value = *word;
	}
	return 0;
}

/* The kernel writes AUX last, contrary to the comment in linux/perf_event.h. */
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

/*
 * If the declared layout does not end at the end of the record, try the alternative layout; if that
 * does not either, keep the declared one.
 */
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

/* Takes all variable-size fields and those that follow them, in any combination. */
static int take_any(struct state *s)
{
	uint64_t type = s->layout->sample_type;
	int rc = 0;

	if ((type & PERF_SAMPLE_READ) &&
		!record_read(s->layout->read_format, &s->c, &s->sample->read))
		return record_bad(s->header, "the counter values are truncated");
	if (type & PERF_SAMPLE_CALLCHAIN)
		rc = take_callchain(s);
	if (rc == 0 && (type & PERF_SAMPLE_RAW))
		rc = take_raw(s);
	if (rc == 0)
		rc = type & PERF_SAMPLE_BRANCH_STACK ? take_branches_and_tail(s) : take_tail(s);
	if (s->cut)
		s->sample->rest_size = (uint16_t)(record_left(&s->c) * sizeof(*s->c.at));
	return rc;
}

/*
 * Clears the fields absent from most samples. Unrolled, because compilers turn a loop or memset()
 * into `rep stos`, which takes three times as long as the rest of a sample.
 */
static inline void zero_rare(struct attar_record *rec)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	enum { START = offsetof(struct attar_record, stream_id) };
	pair *at = (pair *)((char *)rec + START);
	const pair zero = {0, 0};

	_Static_assert(offsetof(struct attar_record, sample.ip) - START == 12 * sizeof(pair) &&
			       offsetof(struct attar_record, sample.branch_hw_idx) == START + 8,
		"stream_id, branch_hw_idx, and so on up to ip");
	at[0] = (pair){0, UINT64_MAX};
	at[1] = zero;
	at[2] = zero;
	at[3] = zero;
	at[4] = zero;
	at[5] = zero;
	at[6] = zero;
	at[7] = zero;
	at[8] = zero;
	at[9] = zero;
	at[10] = zero;
	at[11] = zero;
}

static __attribute__((cold, noinline)) int bad_sample(
	const struct attar_layout *layout, const struct perf_event_header *header)
{
	if (header->size < layout->sample_min)
		return record_bad(header, "its fields take at least %u bytes", layout->sample_min);
	return record_bad(header, "its call chain or raw data does not fit");
}

static int take_rare(const struct attar_layout *layout, const struct perf_event_header *header,
	struct attar_record *rec)
{
	const char *bytes = (const char *)header;
	struct state s = {.layout = layout, .header = header, .sample = &rec->sample};

	s.c.at = sample_fixed(layout->sample_type, (const record_word *)(header + 1), rec);
	s.c.end = (const record_word *)(bytes + header->size);
	rec->sample.callchain_nr = rec->sample.raw_size = 0;
	rec->sample.callchain = NULL;
	rec->sample.raw = NULL;
	return take_any(&s);
}

static void set_header(struct attar_record *rec, const struct perf_event_header *header)
{
	memcpy(rec, header, sizeof(*header)); /* type, misc and size */
	rec->header = header;
}

static __attribute__((noinline)) int take_other(const struct attar_layout *layout,
	const struct perf_event_header *header, struct attar_record *rec)
{
	uint64_t type = layout->sample_type;
	int r = 0;

	if (unlikely(header->size < layout->sample_min))
		return bad_sample(layout, header);
	set_header(rec, header);
	if (type & ~(uint64_t)SAMPLE_COMMON)
		r = take_rare(layout, header, rec);
	else if (!sample_common(type, header, (header->size - layout->sample_min) / 8, rec))
		r = bad_sample(layout, header);
	if (!(type & PERF_SAMPLE_PERIOD))
		rec->sample.period = layout->fixed_period;
	return r;
}

/*
 * The header and the fixed-size fields of samples with SAMPLE_USUAL. Most of the time of a sample
 * is the time of its stores, so words that are adjacent in struct attar_record are stored in pairs.
 */
static inline __attribute__((always_inline)) void take_usual(
	const record_word *at, struct attar_record *rec)
{
	enum {
		TASK = offsetof(struct attar_record, pid),
		CPU = offsetof(struct attar_record, cpu),
	};
	const uint64_t cpu[] = {at[5], (uintptr_t)at};

	_Static_assert(offsetof(struct attar_record, id) == 8 &&
			       offsetof(struct attar_record, time) == TASK + 8 &&
			       offsetof(struct attar_record, header) == CPU + 8,
		"header and id, task and time, cpu and the pointer");
	memcpy(rec, at, 16);
	memcpy((char *)rec + TASK, at + 3, 16);
	memcpy((char *)rec + CPU, cpu, sizeof(cpu)); /* the upper half of cpu is padding in both */
	rec->sample.ip = at[2];
	rec->sample.period = at[6];
}

/* Parses a sample with SAMPLE_USUAL and the fields of `variable`, which is a constant. */
static inline __attribute__((always_inline)) bool take_own(uint64_t variable,
	const struct perf_event_header *header, unsigned size, struct attar_record *rec)
{
	const record_word *at = (const record_word *)header;
	const unsigned fixed = 1 + (unsigned)__builtin_popcountll(SAMPLE_USUAL),
		       smallest = 8 * (fixed + (unsigned)__builtin_popcountll(variable));

	if (unlikely(size < smallest))
		return false;
	take_usual(at, rec);
	return sample_variable(variable, at + fixed, (size - smallest) / 8, rec);
}

/*
 * The fields of attar's own events are the usual ones, optionally with a call chain or raw data:
 * for these sets, the compiler knows the positions and folds all tests of bits.
 */
static inline __attribute__((always_inline)) int take_sample(const struct attar_layout *layout,
	const struct perf_event_header *header, unsigned size, struct attar_record *rec)
{
	enum { STACK = PERF_SAMPLE_CALLCHAIN, DATA = PERF_SAMPLE_RAW };
	bool fits;

	zero_rare(rec);
	switch (layout->sample_type) {
	case SAMPLE_USUAL | STACK | DATA:
		fits = take_own(STACK | DATA, header, size, rec);
		break;
	case SAMPLE_USUAL | STACK:
		fits = take_own(STACK, header, size, rec);
		break;
	case SAMPLE_USUAL | DATA:
		fits = take_own(DATA, header, size, rec);
		break;
	case SAMPLE_USUAL:
		fits = take_own(0, header, size, rec);
		break;
	default:
		return take_other(layout, header, rec);
	}
	return likely(fits) ? 0 : bad_sample(layout, header);
}

uint64_t sample_rest(const struct attar_layout *layout, const struct perf_event_header *header)
{
	enum { VARIABLE = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW };
	const uint64_t type = layout->sample_type;
	const record_word *at = (const record_word *)(header + 1) +
				__builtin_popcountll(type & ~(uint64_t)VARIABLE);
	uint64_t rest = 0, used = 0;

	if (header->size < layout->sample_min || type & ~(uint64_t)SAMPLE_COMMON)
		return 0;
	rest = (header->size - layout->sample_min) / sizeof(*at);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		used = *at++;
		if (used > rest)
			return 0;
		at += used;
	}
	if (type & PERF_SAMPLE_RAW)
		used += sample_raw_words((uint32_t)*at);
	return used < rest ? (rest - used) * sizeof(*at) : 0;
}

int attar_record_parse(const struct attar_layout *layout, const void *bytes, size_t len,
	struct attar_record *ret_record)
{
	struct perf_event_header header;

	if (unlikely(len < sizeof(header)))
		return record_odd(layout, bytes, len, ret_record);
	memcpy(&header, bytes, sizeof(header));
	if (unlikely(((uintptr_t)bytes | header.size) % 8 || header.size > len))
		return record_odd(layout, bytes, len, ret_record);
	if (unlikely(header.type != PERF_RECORD_SAMPLE)) {
		set_header(ret_record, bytes);
		return record_other(layout, bytes, ret_record);
	}
	return take_sample(layout, bytes, header.size, ret_record);
}
