/* SPDX-License-Identifier: MIT */
/*
 * Copies texts that programs give to system calls: at the entry, or if the page is not in memory
 * then, at the end, when the kernel has read it. The arguments of a program are copied from its new
 * memory when it is executed, or from the old one when that has failed.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/texts_record.h"

#define KERNEL_STRUCT __attribute__((preserve_access_index))

#if defined(__TARGET_ARCH_x86)
enum { EXECVE = 59, EXECVEAT = 322 };

struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, orig_ax;
} KERNEL_STRUCT;
#define CALL_OF(regs) ((regs)->orig_ax)
#define ARGUMENTS(regs)                                                                            \
	{                                                                                          \
		(regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8, (regs)->r9            \
	}
#else
enum { EXECVE = 221, EXECVEAT = 281 };

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

struct mm_struct {
	unsigned long arg_start, arg_end;
} KERNEL_STRUCT;

struct task_struct {
	int pid;
	struct mm_struct *mm;
} KERNEL_STRUCT;

const volatile __u32 own_pid = 0;

__u64 n_lost = 0;

/* The arguments of each call that are texts, as bits. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TEXTS_CALLS);
	__type(key, __u32);
	__type(value, __u8);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct texts_call);
} calls SEC(".maps");

/* When the newest text of a thread was lost, since the ring was full. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* Too large for the stack. A program can interrupt another one. */
enum { OF_ENTER, OF_EXIT, OF_EXEC, OF_FAILED_EXEC, PROGRAMS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct texts_record);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TEXTS_RING_BYTES);
} texts SEC(".maps");

static __always_inline struct texts_record *begin(__u32 program, __u32 tid, __u64 time)
{
	struct texts_record *record = bpf_map_lookup_elem(&scratch, &program);
	const __u64 *before = n_lost ? bpf_map_lookup_elem(&lost, &tid) : 0;

	if (!record)
		return 0;
	record->address = 0;
	record->time = time;
	record->lost = before ? *before : 0;
	record->tid = tid;
	return record;
}

enum { SHORT = 4 }; /* pieces of arguments that are not long */

/*
 * Half of the ring is for what every program has: long arguments, and failed attempts, which need
 * no new process, leave it to others.
 */
static __always_inline bool is_half_full(void)
{
	return bpf_ringbuf_query(&texts, BPF_RB_AVAIL_DATA) > TEXTS_RING_BYTES / 2;
}

static __always_inline void lose(struct texts_record *record)
{
	__sync_fetch_and_add(&n_lost, 1);
	bpf_map_update_elem(&lost, &record->tid, &record->time, BPF_ANY);
}

/* n: the size of the text, at most TEXTS_BYTES. */
static __always_inline void end(struct texts_record *record, enum texts_kind kind, __u64 n)
{
	record->size = n;
	record->kind = kind;
	if (bpf_ringbuf_output(&texts, record,
		    __builtin_offsetof(struct texts_record, text) + (n & (2 * TEXTS_BYTES - 1)),
		    0) == 0)
		return;
	lose(record);
}

/* False: the text is not in memory. */
static __always_inline bool copy(__u32 program, __u64 address, __u32 tid, __u64 time)
{
	struct texts_record *record = begin(program, tid, time);
	long n;

	if (!record)
		return true;
	n = bpf_probe_read_user_str(record->text, sizeof(record->text), (void *)address);
	if (n <= 0 || n > TEXTS_BYTES)
		return false;
	record->address = address;
	end(record, TEXTS_OF_CALL, n - 1);
	return true;
}

SEC("tp_btf/sys_enter")
int on_enter(__u64 *args)
{
	const struct pt_regs *regs = (void *)args[0];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 number = args[1], tid = id;
	const __u8 *bits = bpf_map_lookup_elem(&wanted, &number);
	struct texts_call call = {.time = bpf_ktime_get_ns()};
	__u64 arguments[TEXTS_ARGS] = ARGUMENTS(regs);
	bool is_later = false;

	if (!bits || !*bits || id >> 32 == own_pid)
		return 0;
#pragma unroll
	for (int i = 0; i < TEXTS_ARGS; i++) {
		if (!(*bits >> i & 1) || !arguments[i] ||
			copy(OF_ENTER, arguments[i], tid, call.time))
			continue;
		call.address[i] = arguments[i];
		is_later = true;
	}
	if (is_later)
		bpf_map_update_elem(&calls, &tid, &call, BPF_ANY);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct texts_call *call = bpf_map_lookup_elem(&calls, &tid);

	if (!call)
		return 0;
#pragma unroll
	for (int i = 0; i < TEXTS_ARGS; i++)
		if (call->address[i])
			(void)copy(OF_EXIT, call->address[i], tid, call->time);
	bpf_map_delete_elem(&calls, &tid);
	return 0;
}

/* The kernel has just written the arguments to the new memory. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *args)
{
	const struct task_struct *p = (void *)args[0];
	const struct mm_struct *mm = p->mm;
	__u64 at = mm->arg_start, until = mm->arg_end;
	struct texts_record *record = begin(OF_EXEC, p->pid, bpf_ktime_get_ns());

	if (!record)
		return 0;
	for (int i = 0; i < TEXTS_PIECES && at < until; i++) {
		__u64 n = until - at;

		if (i >= SHORT && is_half_full()) {
			lose(record);
			return 0;
		}
		if (n > TEXTS_BYTES)
			n = TEXTS_BYTES;
		if (bpf_probe_read_user(record->text, n, (void *)at)) {
			end(record, TEXTS_UNREAD, 0);
			at = until;
		} else {
			end(record, TEXTS_PIECE, n);
			at += n;
		}
		record->address++;
	}
	end(record, at < until ? TEXTS_CUT : TEXTS_END, 0);
	return 0;
}

/* The path, and the strings of the array: what is longer than a record has several. */
SEC("tp_btf/sys_exit")
int on_failed_exec(__u64 *args)
{
	const struct pt_regs *regs = (void *)args[0];
	__u64 arguments[TEXTS_ARGS] = ARGUMENTS(regs), at, array;
	struct texts_record *record;
	bool is_cut = true;

	if ((long)args[1] >= 0 || (CALL_OF(regs) != EXECVE && CALL_OF(regs) != EXECVEAT))
		return 0;
	at = CALL_OF(regs) == EXECVE ? arguments[0] : arguments[1];
	array = CALL_OF(regs) == EXECVE ? arguments[1] : arguments[2];
	record = begin(OF_FAILED_EXEC, bpf_get_current_pid_tgid(), bpf_ktime_get_ns());
	if (!record)
		return 0;
	for (int i = 0; i < TEXTS_STRINGS; i++) {
		long n;

		if (is_half_full()) {
			lose(record);
			return 0;
		}
		if (i && !at) {
			n = array ? bpf_probe_read_user(&at, sizeof(at), (void *)array) : 0;
			array += sizeof(at);
			if (n) {
				end(record, TEXTS_UNREAD, 0);
				record->address++;
			}
			if (n || !at) {
				is_cut = false;
				break;
			}
		}
		n = bpf_probe_read_user_str(record->text, TEXTS_BYTES, (void *)at);
		if (n <= 0 || n > TEXTS_BYTES) {
			end(record, TEXTS_UNREAD, 0);
			at = 0;
		} else if (n == TEXTS_BYTES) {
			end(record, TEXTS_PIECE, TEXTS_BYTES - 1);
			at += TEXTS_BYTES - 1;
		} else {
			end(record, TEXTS_PIECE, n);
			at = 0;
		}
		record->address++;
	}
	end(record, is_cut ? TEXTS_CUT : TEXTS_END, 0);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
