/* SPDX-License-Identifier: MIT */
/*
 * The times of threads in the run queue, or on a CPU. A start is kept until the end of the same
 * thread, or until a newer start replaces it, as attar/pairs.h does.
 */
#define ROWS  SUMS_SCHED_ROWS
#define PAGES SUMS_SCHED_PAGES
#include "bpf/program.h"

/*
 * include/linux/sched.h: a thread that is switched out in one of these states does not remain in
 * the run queue. The low ones are what the tracepoint shows; TASK_RTLOCK_WAIT and TASK_FROZEN are
 * shown as others of these.
 */
enum { STATES_BLOCKED = 0x7f | 0x80 | 0x1000 | 0x8000, STATE_DEAD = 0x80 };

static __always_inline void end_time(struct sums *s, __u32 tid, __u64 now, __u32 generation)
{
	struct sums_start *start = bpf_map_lookup_elem(&starts, &tid);

	if (!start || !start->time)
		return;
	if (now >= start->time && is_cpu_selected())
		sums_add(s, start->row, now - start->time, generation);
	start->time = 0;
}

static __always_inline int on_ready(struct task_struct *p, __u32 row)
{
	__u32 generation, tid = p->pid;
	struct sums *s = sums_now(&generation);

	if (!s || !is_selected(tid))
		return 0;
	s->head.events++;
	start_time(s, tid, bpf_ktime_get_ns(), row);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	return on_ready(p, COUNTING_WAKEUP);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	return on_ready(p, COUNTING_WAKEUP_NEW);
}

static __always_inline __u64 state_of(struct task_struct *p)
{
	struct task_struct___before_5_14 *old = (void *)p;

	return bpf_core_field_exists(p->__state) ? p->__state : BPF_CORE_READ(old, state);
}

/* Some kernels do not report each switch of an idle CPU: the next one then is from another task. */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *args)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];
	__u32 generation, from = prev->pid, to = next->pid;
	__u64 state, now;
	struct sums *s = sums_now(&generation);
	bool is_from, is_to;

	if (!s)
		return 0;
	if (s->head.running && s->head.running != from + 1)
		s->head.missed++;
	s->head.running = to + 1;
	is_from = from && is_selected(from);
	is_to = to && is_selected(to);
	if (!is_from && !is_to)
		return 0;
	now = bpf_ktime_get_ns();
	s->head.events++;
	state = settings.has_prev_state ? (__u32)args[3] : state_of(prev);
	if (is_from && settings.is_of_running)
		end_time(s, from, now, generation);
	else if (is_from && ((args[0] & 0xff) || !(state & STATES_BLOCKED)))
		start_time(s, from, now, COUNTING_SWITCH);
	if (is_from && state & STATE_DEAD) {
		bpf_map_delete_elem(&starts, &from);
		if (settings.selects_tasks)
			bpf_map_delete_elem(&selected, &from);
	}
	if (is_to && settings.is_of_running)
		start_time(s, to, now, COUNTING_SWITCH);
	else if (is_to)
		end_time(s, to, now, generation);
	return 0;
}

/* The command begins with its exec, on a CPU. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	__u32 generation, zero = 0, tid = p->pid;
	struct sums_control *c = bpf_map_lookup_elem(&control, &zero);
	struct sums *s = sums_now(&generation);
	__u8 value = 1;

	if (!c || !s || !c->command || tid != c->command)
		return 0;
	c->command = 0;
	bpf_map_update_elem(&selected, &tid, &value, BPF_ANY);
	if (settings.is_of_running)
		start_time(s, tid, bpf_ktime_get_ns(), COUNTING_SWITCH);
	return 0;
}
