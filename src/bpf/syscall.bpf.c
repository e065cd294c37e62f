/* SPDX-License-Identifier: MIT */
/* The numbers of system calls, or their times and errors. */
#define ROWS  SUMS_SYSCALL_ROWS
#define PAGES SUMS_SYSCALL_PAGES
#include "bpf/program.h"

enum { ERRNO_MAX = 4095 };

/* The numbers of the last rows: programs can call what does not exist. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SUMS_SYSCALL_OTHERS);
	__type(key, __u32);
	__type(value, __u64);
} others SEC(".maps");

/* ROWS: there is none left. */
static __always_inline __u32 row_of(__u64 number)
{
	if (number < ROWS - SUMS_SYSCALL_OTHERS)
		return number;
	for (__u32 i = 0; i < SUMS_SYSCALL_OTHERS; i++) {
		const __u32 key = i;
		const __u64 *taken = bpf_map_lookup_elem(&others, &key);

		if (!taken && bpf_map_update_elem(&others, &key, &number, BPF_NOEXIST) < 0)
			taken = bpf_map_lookup_elem(&others, &key);
		else if (!taken)
			return ROWS - SUMS_SYSCALL_OTHERS + i;
		if (taken && *taken == number)
			return ROWS - SUMS_SYSCALL_OTHERS + i;
	}
	return ROWS;
}

/* The calling thread, if it is selected. */
static __always_inline bool caller(__u32 *ret_tid)
{
	__u64 id = bpf_get_current_pid_tgid();

	*ret_tid = (__u32)id;
	return id >> 32 != settings.own_pid && is_selected(*ret_tid);
}

SEC("tp_btf/sys_enter")
int on_enter(__u64 *args)
{
	__u32 generation, tid;
	struct sums *s = sums_now(&generation);
	__u32 row;

	if (!s || !caller(&tid))
		return 0;
	if (settings.only_counts) {
		if (!is_cpu_selected())
			return 0;
		s->head.events++;
		row = row_of(args[1]);
		if (row < ROWS)
			s->rows[row & (ROWS - 1)].errors++;
		else
			s->head.no_row++;
		return 0;
	}
	s->head.events++;
	start_time(s, tid, bpf_ktime_get_ns(), row_of(args[1]));
	return 0;
}

SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	__u64 now = bpf_ktime_get_ns();
	__s64 returned = args[1];
	__u32 generation, tid;
	struct sums *s = sums_now(&generation);
	struct sums_start *start;

	if (!s || !caller(&tid))
		return 0;
	s->head.events++;
	start = bpf_map_lookup_elem(&starts, &tid);
	if (!start || !start->time)
		return 0;
	if (start->row >= ROWS) {
		s->head.no_row++;
	} else if (now >= start->time && is_cpu_selected()) {
		sums_add(s, start->row, now - start->time, generation);
		if (returned < 0 && returned >= -ERRNO_MAX)
			s->rows[start->row & (ROWS - 1)].errors++;
	}
	start->time = 0;
	return 0;
}

/* Threads that exit leave their open start. */
SEC("tp_btf/sched_process_exit")
int on_task_exit(__u64 *args)
{
	struct task_struct *p = (void *)args[0];
	__u32 tid = p->pid;

	bpf_map_delete_elem(&starts, &tid);
	if (settings.selects_tasks)
		bpf_map_delete_elem(&selected, &tid);
	return 0;
}

/* The command begins with its exec. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	__u32 zero = 0, tid = p->pid;
	struct sums_control *c = bpf_map_lookup_elem(&control, &zero);
	__u8 value = 1;

	if (!c || !c->is_on || !c->command || tid != c->command)
		return 0;
	c->command = 0;
	bpf_map_update_elem(&selected, &tid, &value, BPF_ANY);
	return 0;
}
