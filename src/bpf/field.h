/* SPDX-License-Identifier: MIT */
/* A number in the record of a tracepoint, for programs that count by it. */
#ifndef BPF_FIELD_H
#define BPF_FIELD_H

#include "bpf/program.h"

/* What a program of a tracepoint returns, so that perf events of others see it, too. */
enum { SEEN_BY_ALL = 1 };

static __always_inline __u64 extend(__u64 value, __u32 bits)
{
	return settings.is_signed ? (__u64)((__s64)(value << (64 - bits)) >> (64 - bits)) : value;
}

/* The number of the field that attar has set; its size is 1, 2, 4 or 8. */
static __always_inline __u64 field_of(const void *record)
{
	const void *at = record + settings.field_offset;
	__u64 value = 0;

	if (settings.field_size == 8)
		bpf_probe_read_kernel(&value, 8, at);
	else if (settings.field_size == 4)
		bpf_probe_read_kernel(&value, 4, at);
	else if (settings.field_size == 2)
		bpf_probe_read_kernel(&value, 2, at);
	else
		bpf_probe_read_kernel(&value, 1, at);
	return settings.field_size == 8 ? value : extend(value, settings.field_size * 8);
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

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_task_exit, struct task_struct *p)
{
	__u32 tid = p->pid;

	bpf_map_delete_elem(&selected, &tid);
	return 0;
}

/* Whether the event of the running task is to be counted. */
static __always_inline bool is_event_selected(void)
{
	__u64 id = bpf_get_current_pid_tgid();

	return (!settings.own_pid || id >> 32 != settings.own_pid) && is_selected((__u32)id) &&
	       is_cpu_selected();
}

#endif
