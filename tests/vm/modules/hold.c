/* SPDX-License-Identifier: MIT */
/*
 * Holds a CPU for a known time: insmod hold.ko what=irqs ms=3000 times=3 keeps interrupts disabled
 * for 3 s on the CPU of insmod, 3 times; what=tasks keeps it from switching tasks. Between two of
 * them the CPU is free for half a second. Loading fails with EAGAIN at the end, so that it can be
 * repeated.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>

static char *what = "irqs";
static unsigned int ms = 1000, times = 1;

module_param(what, charp, 0);
module_param(ms, uint, 0);
module_param(times, uint, 0);

/* mdelay() is not used: its calibration is wrong if the host was busy. */
static void spin(void)
{
	u64 end = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static noinline void hold_irqs(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin();
	local_irq_restore(flags);
}

static noinline void hold_tasks(void)
{
	preempt_disable();
	spin();
	preempt_enable();
}

static int __init hold_init(void)
{
	if (strcmp(what, "irqs") && strcmp(what, "tasks"))
		return -EINVAL;
	for (unsigned int i = 0; i < times; i++) {
		if (i)
			msleep(500);
		if (*what == 'i')
			hold_irqs();
		else
			hold_tasks();
	}
	return -EAGAIN;
}

module_init(hold_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("hold a CPU for a known time");
