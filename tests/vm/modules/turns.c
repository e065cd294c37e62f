/* SPDX-License-Identifier: MIT */
/*
 * Takes CPU time in code of known lines: writing N to /sys/module/turns/parameters/ms spends N ms,
 * of which all but a few microseconds are in once(), inlined into spend().
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

static __always_inline unsigned int once(unsigned int x)
{
	for (int i = 0; i < 10000; i++)
		x = x * 1664525 + 1013904223; /* the hot line */
	return x;
}

static noinline unsigned int spend(u64 end)
{
	unsigned int x = 1;

	while (ktime_get_ns() < end)
		x = once(x); /* the hot call */
	return x;
}

static unsigned int last;

static int set_ms(const char *text, const struct kernel_param *param)
{
	unsigned int ms;
	int r = kstrtouint(text, 10, &ms);

	if (r == 0)
		last = spend(ktime_get_ns() + (u64)ms * NSEC_PER_MSEC);
	return r;
}

static const struct kernel_param_ops ops = {.set = set_ms, .get = param_get_uint};

module_param_cb(ms, &ops, &last, 0600);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("take CPU time in code of known lines");
