/* SPDX-License-Identifier: MIT */
/*
 * attar/record.h - parse perf_event records.
 *
 * Parses PERF_RECORD_* (see perf_event_open(2)) from any source: a ring buffer, a perf.data file, a
 * test. The parser makes no system calls, allocates nothing and validates every length. A parsed
 * record is a view: its pointers refer to the parsed bytes and are valid as long as these are.
 *
 *	struct attar_layout layout;
 *	struct attar_record rec;
 *	attar_layout_init(&layout, &attr);
 *	if (attar_record_parse(&layout, bytes, size, &rec) == 0 && rec.type == PERF_RECORD_SAMPLE)
 *		use(rec.sample.ip);
 *
 * Layouts and semantics: see linux/perf_event.h and perf_event_open(2).
 */
#ifndef ATTAR_RECORD_H
#define ATTAR_RECORD_H

#include <linux/perf_event.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Layout of an event's records, computed once from its attributes. */
struct attar_layout {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t regs_user;    /* mask */
	uint64_t regs_intr;    /* mask */
	uint64_t fixed_period; /* of samples without PERF_SAMPLE_PERIOD; 0: it varies */
	bool sample_id_all;
	bool build_id; /* of mappings; the flag can be about another event */
	/*
	 * Offsets from the start of the record, -1 when the field is absent. Fields of a SAMPLE ...
	 */
	int16_t ip, tid, time, addr, id, stream_id, cpu, period;
	int16_t fixed_end;   /* offset of the first variable-size field */
	uint16_t sample_min; /* minimum size of a SAMPLE in bytes: at least 8 per field */
	/*
	 * ... and of the sample_id trailer of all other records, as positive distances from the end
	 * of the record.
	 */
	int16_t back_tid, back_time, back_id, back_stream_id, back_cpu;
	uint16_t trailer_size; /* bytes; 0 without sample_id_all */
};

/* Never fails. Fields of unknown sample_type bits are assumed to follow the known ones. */
ATTAR_API void attar_layout_init(struct attar_layout *layout, const struct perf_event_attr *attr);

/* A counter value in a READ record, or in a SAMPLE with PERF_SAMPLE_READ. */
struct attar_read_value {
	uint64_t value;
	uint64_t id;   /* 0 without PERF_FORMAT_ID */
	uint64_t lost; /* 0 without PERF_FORMAT_LOST */
};

/*
 * A read_format block. The positions of values and times depend on the format: use the functions
 * below.
 */
struct attar_read {
	uint32_t nr;     /* number of values; 1 without PERF_FORMAT_GROUP */
	uint32_t format; /* read_format of the block */
	const uint64_t *words;
};

/* Returns the value at index; all fields are 0 if index >= nr. */
ATTAR_API struct attar_read_value attar_read_at(const struct attar_read *read, uint64_t index);

/* Time enabled and time running, in ns; 0 if the format lacks it. */
ATTAR_API uint64_t attar_read_time_enabled(const struct attar_read *read);
ATTAR_API uint64_t attar_read_time_running(const struct attar_read *read);

/*
 * Parses the len bytes returned by read(2) on an event with this read_format, or such a block in a
 * record. Returns the number of bytes used, or -EBADMSG if the block is longer than len. ret_read
 * borrows the bytes, which must be aligned to 8.
 */
ATTAR_API int attar_read_parse(
	uint64_t read_format, const void *bytes, size_t len, struct attar_read *ret_read);

struct attar_regs {
	/*
	 * PERF_SAMPLE_REGS_ABI_*; 0 if no registers were sampled. With unknown bits nr is 0 and the
	 * rest of the sample is not decoded, see rest_size.
	 */
	uint32_t abi;
	uint32_t nr;
	uint64_t mask; /* sampled registers; values are in order of ascending bit */
	const uint64_t *values;
};

/* The fields of a PERF_RECORD_SAMPLE; those not in sample_type are 0 or NULL. */
struct attar_sample {
	/* Fields absent from most samples. */
	uint64_t branch_hw_idx; /* UINT64_MAX when absent; only with PERF_SAMPLE_BRANCH_HW_INDEX */
	uint64_t addr;
	uint32_t branch_nr;
	uint32_t stack_size; /* bytes actually copied by the kernel (dyn_size) */
	uint32_t aux_size;
	/* Number of undecoded bytes at the end of the record, after registers of an unknown ABI. */
	uint16_t rest_size;
	bool branch_calls; /* the branches are a call stack: PERF_SAMPLE_BRANCH_CALL_STACK */
	const struct perf_branch_entry *branches;
	const uint64_t *branch_counters; /* branch_nr entries, or NULL */
	const void *stack;
	const void *aux;
	struct attar_read read;
	struct attar_regs regs_user, regs_intr;
	/* PERF_SAMPLE_WEIGHT, or union perf_sample_weight with PERF_SAMPLE_WEIGHT_STRUCT */
	uint64_t weight;
	uint64_t data_src; /* union perf_mem_data_src */
	uint64_t transaction;
	uint64_t phys_addr;
	uint64_t cgroup;
	uint64_t data_page_size, code_page_size; /* bytes */

	uint64_t ip;
	uint64_t period; /* without PERF_SAMPLE_PERIOD the period of the attributes; 0: it varies */
	const uint64_t *callchain;
	const void *raw;
	uint32_t callchain_nr; /* entries, PERF_CONTEXT_* markers included */
	uint32_t raw_size;     /* bytes, padding included */
};

struct attar_mmap { /* MMAP and MMAP2 */
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	uint8_t build_id_size; /* bytes; if nonzero, maj, min and ino are absent */
	uint8_t build_id[20];
	const char *filename; /* NUL-terminated inside the record */
	bool has_ino;         /* MMAP2 without a build ID */
};

struct attar_comm {
	uint32_t pid, tid;
	const char *comm;
	bool exec;
};

struct attar_task { /* FORK and EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct attar_ns_link {
	uint64_t dev, inode;
};

struct attar_record_lost { /* LOST; for LOST_SAMPLES id is 0 */
	uint64_t id, lost;
};

struct attar_record_throttle { /* THROTTLE and UNTHROTTLE */
	uint64_t time, id, stream_id;
};

struct attar_record_read {
	uint32_t pid, tid;
	struct attar_read values;
};

struct attar_record_aux {
	uint64_t offset, size, flags;
};

struct attar_record_itrace_start {
	uint32_t pid, tid;
};

struct attar_record_context_switch {
	/* The other task, for SWITCH_CPU_WIDE only; -1 for SWITCH. */
	uint32_t other_pid, other_tid;
	bool out, preempt;
};

struct attar_record_namespaces {
	uint32_t pid, tid;
	uint64_t nr;
	const struct attar_ns_link *links;
};

struct attar_record_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags;
	const char *name;
};

struct attar_record_bpf_event {
	uint16_t bpf_type, flags;
	uint32_t id;
	const uint8_t *tag; /* 8 bytes */
};

struct attar_record_cgroup {
	uint64_t id;
	const char *path;
};

struct attar_record_text_poke {
	uint64_t addr;
	uint16_t old_len, new_len;
	const uint8_t *old_bytes, *new_bytes;
};

struct attar_record_aux_output_hw_id {
	uint64_t hw_id;
};

struct attar_record_callchain_deferred {
	uint64_t cookie, nr;
	const uint64_t *ips; /* including markers, as in a sample's call chain */
};

/* One record of any kind. */
struct attar_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint16_t size; /* bytes */
	/*
	 * Common fields, from the sample or the sample_id trailer. If unknown, pid, tid and cpu are
	 * -1 (all bits set) and the others are 0.
	 */
	uint64_t id; /* PERF_SAMPLE_ID or IDENTIFIER */
	uint32_t pid, tid;
	uint64_t time; /* ns on the event's clock */
	uint32_t cpu;
	const struct perf_event_header *header;
	uint64_t stream_id;
	union {
		struct attar_sample sample;
		struct attar_mmap mmap;
		struct attar_comm comm;
		struct attar_task task;
		struct attar_record_lost lost;
		struct attar_record_throttle throttle;
		struct attar_record_read read;
		struct attar_record_aux aux;
		struct attar_record_itrace_start itrace_start;
		struct attar_record_context_switch context_switch;
		struct attar_record_namespaces namespaces;
		struct attar_record_ksymbol ksymbol;
		struct attar_record_bpf_event bpf_event;
		struct attar_record_cgroup cgroup;
		struct attar_record_text_poke text_poke;
		struct attar_record_aux_output_hw_id aux_output_hw_id;
		struct attar_record_callchain_deferred callchain_deferred;
	};
};

/*
 * Parses the record at bytes, of which len are readable. bytes must be aligned to 8, as in a ring
 * buffer. Returns 0, or -EBADMSG if the record is malformed: its size is less than a header or
 * greater than len, a length in it exceeds the record, or a string is not terminated. The error
 * message names the field; the contents of ret_record are then undefined. An unknown type is not an
 * error: only its header is parsed.
 */
ATTAR_API int attar_record_parse(const struct attar_layout *layout, const void *bytes, size_t len,
	struct attar_record *ret_record);

/*
 * The id of the event that wrote a record, for events with PERF_SAMPLE_IDENTIFIER that share a
 * ring: the first word of a SAMPLE, the last word of any other record. 0 if the record is too
 * short. Not for records that attar_record_end() concerns.
 */
static inline uint64_t attar_record_identifier(const struct perf_event_header *header)
{
	const void *bytes = header;
	const uint64_t *words = ATTAR_CAST(const uint64_t *, bytes);

	if (header->size < sizeof(*header) + 8)
		return 0;
	return header->type == PERF_RECORD_SAMPLE ? words[1] : words[header->size / 8 - 1];
}

/*
 * The end of the record's data, in bytes from its start. It is header->size, except for KSYMBOL,
 * BPF_EVENT and TEXT_POKE: the kernel adds the size of the sample_id trailer to the size in their
 * header once for each event that receives the record, so that later ones have unused bytes at the
 * end (seen on 6.18). All bytes of the record must be readable.
 */
ATTAR_API size_t attar_record_end(
	const struct attar_layout *layout, const struct perf_event_header *header);

/* The same for other records than samples. */
static inline size_t attar_record_trailer_end(
	const struct attar_layout *layout, const struct perf_event_header *header)
{
	return header->type < PERF_RECORD_KSYMBOL ? header->size : attar_record_end(layout, header);
}

/*
 * The record's time in ns, without parsing the rest; 0 if it has none. All bytes of the record must
 * be readable.
 */
static inline uint64_t attar_record_time(
	const struct attar_layout *layout, const struct perf_event_header *header)
{
	int offset = header->type == PERF_RECORD_SAMPLE ? layout->time
		     : layout->back_time > 0
			     ? ATTAR_CAST(int, attar_record_trailer_end(layout, header)) -
				       layout->back_time
			     : -1;
	const void *bytes = header;

	if (offset < ATTAR_CAST(int, sizeof(*header)) || offset + 8 > header->size)
		return 0;
	bytes = ATTAR_CAST(const char *, bytes) + offset;
	return *ATTAR_CAST(const uint64_t *, bytes);
}

/*
 * Execution context of an address in a call chain. The first six are the cpumodes of
 * perf_event_header.misc.
 */
enum attar_code_context {
	ATTAR_CONTEXT_UNKNOWN,
	ATTAR_CONTEXT_KERNEL,
	ATTAR_CONTEXT_USER,
	ATTAR_CONTEXT_HV, /* hypervisor */
	ATTAR_CONTEXT_GUEST_KERNEL,
	ATTAR_CONTEXT_GUEST_USER,
	ATTAR_CONTEXT_GUEST, /* kernel or user */
};

/* PERF_CONTEXT_USER_DEFERRED (since 6.19): the next entry is a cookie. */
#define ATTAR_MARKER_USER_DEFERRED UINT64_C(0xfffffffffffffd80) /* -640 */

/*
 * Iterates over a call chain, innermost frame first, skipping PERF_CONTEXT_* markers.
 *
 *	struct attar_callchain chain;
 *	uint64_t ip;
 *	attar_callchain_init(&chain, sample->callchain, sample->callchain_nr, rec.misc);
 *	while (attar_callchain_next(&chain, &ip))
 *		frame(ip, chain.context);
 */
struct attar_callchain {
	const uint64_t *at, *end; /* remaining entries; borrowed */
	enum attar_code_context
		context; /* of the last address returned by attar_callchain_next() */
	bool deferred; /* user frames follow in a CALLCHAIN_DEFERRED record with the same cookie */
	bool caller;   /* the last address is a return address: the call is before it */
	bool inside;   /* after an address of this context: next is the address of a caller */
	uint64_t cookie; /* 0 unless deferred */
};

/*
 * entries may be NULL if nr is 0. misc is the record's; it gives the context of addresses before
 * the first marker.
 */
static inline void attar_callchain_init(
	struct attar_callchain *chain, const uint64_t *entries, uint64_t nr, uint16_t misc)
{
	unsigned cpumode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	chain->at = entries;
	chain->end = nr ? entries + nr : entries;
	chain->context = cpumode <= PERF_RECORD_MISC_GUEST_USER
				 ? ATTAR_CAST(enum attar_code_context, cpumode)
				 : ATTAR_CONTEXT_UNKNOWN;
	chain->deferred = chain->caller = chain->inside = false;
	chain->cookie = 0;
}

/* The context of the addresses that follow a PERF_CONTEXT_* marker. */
ATTAR_API enum attar_code_context attar_callchain_context(uint64_t marker) __attribute__((const));

/*
 * Stores the next address in *ret_ip, its context in chain->context, and whether it is a return
 * address in chain->caller: all are, except the first in the kernel and the first in user code. The
 * call, one byte before, may be the end of another function. Returns false at the end.
 */
static inline bool attar_callchain_next(struct attar_callchain *chain, uint64_t *ret_ip)
{
	while (chain->at != chain->end) {
		uint64_t ip = *chain->at++;

		if (__builtin_expect(ip < ATTAR_CAST(uint64_t, PERF_CONTEXT_MAX), 1)) {
			*ret_ip = ip;
			chain->caller = chain->inside;
			chain->inside = true;
			return true;
		}
		chain->inside = false;
		chain->context = ip == ATTAR_CAST(uint64_t, PERF_CONTEXT_USER) ? ATTAR_CONTEXT_USER
				 : ip == ATTAR_CAST(uint64_t, PERF_CONTEXT_KERNEL)
					 ? ATTAR_CONTEXT_KERNEL
					 : attar_callchain_context(ip);
		if (ip == ATTAR_MARKER_USER_DEFERRED && chain->at != chain->end) {
			chain->deferred = true;
			chain->cookie = *chain->at++;
		}
	}
	return false;
}

#ifdef __cplusplus
}
#endif

#endif
