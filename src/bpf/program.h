/* SPDX-License-Identifier: MIT */
/*
 * What programs in the kernel have in common: maps, settings, and adding to sums. A program defines
 * ROWS and PAGES, then includes this file. The structs of the kernel have only the members that are
 * used: libbpf finds their offsets in the running kernel's type information.
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

SUMS_OF(ROWS, PAGES);

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
	__type(key, __u32);
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

static __always_inline void start_time(struct sums *s, __u32 tid, __u64 now, __u32 row)
{
	struct sums_start *start = bpf_map_lookup_elem(&starts, &tid);
	struct sums_start first = {.time = now, .row = row};

	if (start)
		*start = first;
	else if (bpf_map_update_elem(&starts, &tid, &first, BPF_ANY) < 0)
		s->head.lost++;
}

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
