/* SPDX-License-Identifier: MIT */
/*
 * Writes known values to a kernel variable: writing N to /sys/module/writes/parameters/count
 * stores 1 to N in attar_written, of 8 bytes, once each, then adds 5 to it ten times.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

static volatile unsigned long attar_written __aligned(8);

static noinline void store(unsigned long value)
{
	attar_written = value;
}

static noinline void add(void)
{
	attar_written += 5;
}

static int set_count(const char *text, const struct kernel_param *param)
{
	unsigned int count;
	int r = kstrtouint(text, 10, &count);

	if (r < 0)
		return r;
	for (unsigned int i = 1; i <= count; i++)
		store(i);
	for (int i = 0; i < 10; i++)
		add();
	return 0;
}

static const struct kernel_param_ops ops = {.set = set_count};

module_param_cb(count, &ops, NULL, 0200);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("write known values to a kernel variable");
