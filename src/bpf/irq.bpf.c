/* SPDX-License-Identifier: MIT */
/*
 * The times of interrupt handlers of devices, by name, and of soft interrupts, by kind. The start
 * is kept with the CPU, which handles one after the other.
 */
#define KEY_BYTES SUMS_IRQ_KEY
#define ROWS      SUMS_IRQ_ROWS
#define PAGES     SUMS_IRQ_PAGES
#include "bpf/program.h"

struct irqaction {
	const char *name;
} KERNEL_STRUCT;

static __always_inline int begin(struct sums *s, __u32 row)
{
	s->head.events++;
	s->head.row = row;
	s->head.began = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int end(void)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 generation;
	struct sums *s = sums_now(&generation);

	if (!s || !is_cpu_selected())
		return 0;
	s->head.events++;
	if (s->head.began && now >= s->head.began) {
		if (s->head.row < ROWS)
			sums_add(s, s->head.row, now - s->head.began, generation);
		else
			s->head.lost++;
	}
	s->head.began = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int on_irq_entry(__u64 *args)
{
	const struct irqaction *action = (void *)args[1];
	struct sums_key name = {};
	__u32 generation;
	struct sums *s = sums_now(&generation);

	if (!s || !is_cpu_selected())
		return 0;
	bpf_probe_read_kernel_str(&name, sizeof(name), action->name);
	return begin(s, find_row(s, &name));
}

SEC("tp_btf/irq_handler_exit")
int on_irq_exit(__u64 *args)
{
	return end();
}

SEC("tp_btf/softirq_entry")
int on_softirq_entry(__u64 *args)
{
	__u32 generation;
	struct sums *s = sums_now(&generation);

	return s && is_cpu_selected() ? begin(s, (__u32)args[0]) : 0;
}

SEC("tp_btf/softirq_exit")
int on_softirq_exit(__u64 *args)
{
	return end();
}
