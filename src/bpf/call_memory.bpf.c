/* SPDX-License-Identifier: MIT */
/*
 * Copies memory that programs give to system calls at the entry, and memory that they get at the
 * exit. What is not in memory at the entry is copied at the exit, when the kernel has read it.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/call_memory_record.h"

#define KERNEL_STRUCT __attribute__((preserve_access_index))

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, orig_ax;
} KERNEL_STRUCT;
#define CALL_OF(regs) ((regs)->orig_ax)
#define ARGUMENTS(regs)                                                                            \
	{                                                                                          \
		(regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8, (regs)->r9            \
	}
#else
struct pt_regs {
	unsigned long long regs[31], orig_x0;
	int syscallno;
} KERNEL_STRUCT;
#define CALL_OF(r) ((r)->syscallno)
#define ARGUMENTS(r)                                                                               \
	{                                                                                          \
		(r)->orig_x0, (r)->regs[1], (r)->regs[2], (r)->regs[3], (r)->regs[4], (r)->regs[5] \
	}
#endif

struct task_struct {
	int pid, tgid;
} KERNEL_STRUCT;

const volatile __u32 own_pid = 0;
const volatile __u32 follows = 0; /* only some processes, and those that they create */

__u64 n_lost = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_COPY_NUMBERS);
	__type(key, __u32);
	__type(value, struct calls_copies);
} wanted SEC(".maps");

/* The processes, by PID. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CALLS_RECORD_FOLLOWED);
	__type(key, __u32);
	__type(value, __u8);
} followed SEC(".maps");

/* The arguments of the call of a thread that were not in memory at its entry, as bits. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u8);
} unread SEC(".maps");

/* When the newest record of a thread was lost, since the ring was full. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* Too large for the stack. A program can interrupt another one. */
enum { OF_ENTER, OF_EXIT, PROGRAMS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct calls_record);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CALLS_RECORD_RING);
} records SEC(".maps");

static __always_inline bool is_wanted(__u64 id)
{
	__u32 pid = id >> 32;

	return pid != own_pid && (!follows || bpf_map_lookup_elem(&followed, &pid));
}

static __always_inline struct calls_record *begin(__u32 program, __u32 tid, __u32 number)
{
	struct calls_record *record = bpf_map_lookup_elem(&scratch, &program);
	const __u64 *before = n_lost ? bpf_map_lookup_elem(&lost, &tid) : 0;

	if (!record)
		return 0;
	record->time = bpf_ktime_get_ns();
	record->lost = before ? *before : 0;
	record->tid = tid;
	record->number = number;
	record->is_exit = program == OF_EXIT;
	record->size = 0;
	return record;
}

static __always_inline void end(struct calls_record *record)
{
	__u64 n = record->size;

	if (n > CALLS_RECORD_BYTES)
		n = CALLS_RECORD_BYTES;
	if (bpf_ringbuf_output(&records, record,
		    __builtin_offsetof(struct calls_record, bytes) +
			    (n & (2 * CALLS_RECORD_BYTES - 1)),
		    BPF_RB_NO_WAKEUP) == 0)
		return;
	__sync_fetch_and_add(&n_lost, 1);
	bpf_map_update_elem(&lost, &record->tid, &record->time, BPF_ANY);
}

static __always_inline void copy_string(
	struct calls_record *record, struct calls_item *item, __u64 address, __u32 max)
{
	__u32 at = record->size;
	long n;

	if (at >= CALLS_COPY_MAX) {
		item->state = CALLS_ITEM_CUT;
		return;
	}
	n = bpf_probe_read_user_str(
		record->bytes + (at & (CALLS_COPY_MAX - 1)), max, (void *)address);
	if (n <= 0) {
		item->state = CALLS_ITEM_UNREAD;
		return;
	}
	item->size = n - 1;
	item->state = n == max ? CALLS_ITEM_CUT : CALLS_ITEM_COPIED;
	record->size = at + n - 1;
}

static __always_inline void copy_bytes(
	struct calls_record *record, struct calls_item *item, __u64 address, __u64 size, __u32 max)
{
	__u32 at = record->size;
	__u32 n = size > max ? max : size;

	item->state = size > max || at >= CALLS_COPY_MAX ? CALLS_ITEM_CUT : CALLS_ITEM_COPIED;
	if (at >= CALLS_COPY_MAX || !n)
		return;
	n = ((n - 1) & (CALLS_COPY_MAX - 1)) + 1;
	if (bpf_probe_read_user(record->bytes + (at & (CALLS_COPY_MAX - 1)), n, (void *)address)) {
		item->state = CALLS_ITEM_UNREAD;
		return;
	}
	item->size = n;
	record->size = at + n;
}

/* Returns whether it is not in memory. */
static __always_inline bool copy(struct calls_record *record, int i, const struct calls_copy *how,
	const __u64 *arguments, __s64 result)
{
	struct calls_item *item = &record->items[i];
	__u32 max = how->max;
	__u64 size = max;

	item->at = record->size;
	item->size = 0;
	item->state = CALLS_ITEM_NONE;
	if (!arguments[i])
		return false;
	if (max == 0 || max > CALLS_COPY_MAX)
		max = CALLS_COPY_MAX;
	if (how->kind == CALLS_COPY_STRING) {
		copy_string(record, item, arguments[i], max);
		return item->state == CALLS_ITEM_UNREAD;
	}
	if (how->kind == CALLS_COPY_SIZED)
		size = (how->count == 1          ? arguments[1]
			       : how->count == 2 ? arguments[2]
			       : how->count == 3 ? arguments[3]
			       : how->count == 4 ? arguments[4]
						 : arguments[5]) *
		       (how->unit ? how->unit : 1);
	else if (how->kind == CALLS_COPY_RESULT)
		size = result < 0 ? 0 : result * (how->unit ? how->unit : 1);
	copy_bytes(record, item, arguments[i], size, max);
	return item->state == CALLS_ITEM_UNREAD;
}

SEC("tp_btf/sys_enter")
int on_enter(__u64 *args)
{
	const struct pt_regs *regs = (void *)args[0];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 number = args[1], tid = id;
	const struct calls_copies *copies = bpf_map_lookup_elem(&wanted, &number);
	__u64 arguments[CALLS_COPY_ARGS] = ARGUMENTS(regs);
	struct calls_record *record;
	__u8 bits = 0;

	if (!copies || !copies->at_entry || !is_wanted(id))
		return 0;
	record = begin(OF_ENTER, tid, number);
	if (!record)
		return 0;
#pragma unroll
	for (int i = 0; i < CALLS_COPY_ARGS; i++) {
		const struct calls_copy *how = &copies->of[i];

		record->args[i] = arguments[i];
		if (!how->kind || how->at_exit)
			record->items[i].state = CALLS_ITEM_NONE;
		else if (copy(record, i, how, arguments, 0))
			bits |= 1 << i;
	}
	if (bits)
		bpf_map_update_elem(&unread, &tid, &bits, BPF_ANY);
	end(record);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	const struct pt_regs *regs = (void *)args[0];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 number = CALL_OF(regs), tid = id;
	const struct calls_copies *copies = bpf_map_lookup_elem(&wanted, &number);
	__u64 arguments[CALLS_COPY_ARGS] = ARGUMENTS(regs);
	__s64 result = args[1];
	struct calls_record *record;
	const __u8 *found;
	__u8 bits = 0;

	if (!copies || (!copies->at_entry && !copies->at_exit) || !is_wanted(id))
		return 0;
	found = copies->at_entry ? bpf_map_lookup_elem(&unread, &tid) : 0;
	bits = found ? *found : 0;
	if (found)
		bpf_map_delete_elem(&unread, &tid);
	if (!bits && (!copies->at_exit || (result < 0 && result >= -4095)))
		return 0;
	record = begin(OF_EXIT, tid, number);
	if (!record)
		return 0;
#pragma unroll
	for (int i = 0; i < CALLS_COPY_ARGS; i++) {
		const struct calls_copy *how = &copies->of[i];

		record->args[i] = arguments[i];
		if (how->kind && (how->at_exit ? result >= 0 : bits >> i & 1))
			copy(record, i, how, arguments, result);
		else
			record->items[i].state = CALLS_ITEM_NONE;
	}
	end(record);
	return 0;
}

/* Processes that followed ones create are followed, too. */
SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *args)
{
	const struct task_struct *parent = (void *)args[0], *child = (void *)args[1];
	__u32 from = parent->tgid, to = child->tgid;
	__u8 one = 1;

	if (from != to && bpf_map_lookup_elem(&followed, &from))
		bpf_map_update_elem(&followed, &to, &one, BPF_ANY);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
