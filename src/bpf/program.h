/* SPDX-License-Identifier: MIT */
/*
 * What programs in the kernel have in common: maps, settings, and adding to sums. A program defines
 * ROWS and PAGES, then includes this file; KEY_BYTES too if rows have keys, and START_KEY if starts
 * are not of threads. Without PAGES, rows are counts. The structs of the kernel have only the
 * members that are used: libbpf finds their offsets in the running kernel's type information.
 */
#ifndef BPF_PROGRAM_H
#define BPF_PROGRAM_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/sums.h"

#define KERNEL_STRUCT __attribute__((preserve_access_index))

struct task_struct {
	int pid, tgid;
	unsigned int __state;
} KERNEL_STRUCT;

/* Before Linux 5.14. */
struct task_struct___before_5_14 {
	long state;
} KERNEL_STRUCT;

#ifndef PAGES
SUMS_OF_COUNTS(ROWS, KEY_BYTES);
#elif defined(KEY_BYTES)
SUMS_WITH_KEYS_OF(ROWS, PAGES, KEY_BYTES);
#else
SUMS_OF(ROWS, PAGES);
#endif

#ifndef START_KEY
#define START_KEY __u32
#endif

const volatile struct sums_settings settings = {};

/* attar sets the number of CPUs and of tasks. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sums_control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, START_KEY);
	__type(value, struct sums_start);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} selected SEC(".maps");

/* The sums of this CPU. NULL: nothing is counted now. */
static __always_inline struct sums *sums_now(__u32 *ret_generation)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	const struct sums_control *c = bpf_map_lookup_elem(&control, &zero);

	if (!c || !c->is_on)
		return 0;
	*ret_generation = c->generation & 1;
	return bpf_map_lookup_elem(&sums, &cpu);
}

static __always_inline bool is_selected(__u32 tid)
{
	return !settings.selects_tasks || bpf_map_lookup_elem(&selected, &tid);
}

/* Whether --cpus selects this CPU. */
static __always_inline bool is_cpu_selected(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return !settings.selects_cpus ||
	       (cpu < SUMS_CPUS_MAX && settings.cpus[cpu / 64] >> cpu % 64 & 1);
}

static __always_inline void start_time(struct sums *s, START_KEY key, __u64 now, __u64 row)
{
	struct sums_start *start = bpf_map_lookup_elem(&starts, &key);
	struct sums_start first = {.time = now, .row = row};

	if (start)
		*start = first;
	else if (bpf_map_update_elem(&starts, &key, &first, BPF_ANY) < 0)
		s->head.lost++;
}

#ifdef PAGES
/* Adds a value to a row. */
static __always_inline void sums_add(struct sums *s, __u64 row, __u64 value, __u32 generation)
{
	struct sums_row *r = &s->rows[row & (ROWS - 1)];
	__u64 bucket = bucket_of(value), page = bucket / BUCKETS_PER_PAGE, at;
	struct sums_extremes *e = &r->extremes[generation & 1];

	page &= SUMS_ROW_PAGES - 1;
	at = r->page_at[page];
	if (!at) {
		if (s->head.n_pages >= PAGES) {
			s->head.lost++;
			return;
		}
		at = ++s->head.n_pages;
		r->page_at[page] = at;
	}
	if (~value > e->not_min)
		e->not_min = ~value;
	if (value > e->max)
		e->max = value;
	r->total += value;
	s->counts[(at - 1) & (PAGES - 1)][bucket % BUCKETS_PER_PAGE]++;
}
#endif

#ifdef KEY_BYTES
/* 1 + the row that a CPU has taken for a key; 0: none yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, ROWS > 4096 ? ROWS : 4 * ROWS);
	__type(key, struct sums_key);
	__type(value, __u32);
} row_of_key SEC(".maps");

/* The row of a key on this CPU. ROWS: there is none left. */
static __always_inline __u32 find_row(struct sums *s, const struct sums_key *key)
{
	__u32 *taken = bpf_map_lookup_elem(&row_of_key, key), row;

	if (taken && *taken)
		return *taken - 1;
	row = s->head.n_rows;
	if (row >= ROWS)
		return ROWS;
	row++;
	if (taken)
		*taken = row;
	else if (bpf_map_update_elem(&row_of_key, key, &row, BPF_ANY) < 0)
		return ROWS;
	s->keys[(row - 1) & (ROWS - 1)] = *key;
	s->head.n_rows = row;
	return row - 1;
}
#endif

#if defined(KEY_BYTES) && defined(PAGES)
/* Adds a value to the row of a key. */
static __always_inline void sums_add_by(
	struct sums *s, const struct sums_key *key, __u64 value, __u32 generation)
{
	__u32 row = find_row(s, key);

	if (row < ROWS)
		sums_add(s, row, value, generation);
	else
		s->head.lost++;
}
#endif

/* ---- which tasks are selected ---- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tid = parent->pid, new = child->pid;
	__u8 value = 1;

	if (!bpf_map_lookup_elem(&selected, &tid))
		return 0;
	if (settings.adds_children || (settings.adds_threads && parent->tgid == child->tgid))
		bpf_map_update_elem(&selected, &new, &value, BPF_ANY);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";

#endif
