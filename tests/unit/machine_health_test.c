/* SPDX-License-Identifier: MIT */
/* What attar overview reads of the machine: prepared files of /proc, /sys and the kernel's log. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "folder.h"
#include "profilers/lib/system_stat.h"
#include "profilers/overview/file_systems.h"
#include "profilers/overview/kernel_log.h"

static const char *root;

static void put(const char *name, const char *text)
{
	folder_put(name, text, strlen(text));
}

static int set_up(void **state)
{
	(void)state;
	root = folder_make();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_remove();
	return 0;
}

static void put_system(int n)
{
	char text[256];

	snprintf(text, sizeof(text), "cpu %d 0 %d %d %d 0 0 %d 0 0\n", 100 * n, 100 * n, 50 * n,
		50 * n, 100 * n);
	put("proc/stat", text);
	snprintf(text, sizeof(text),
		"nr_free_pages 7\npswpin %d\npswpout %d\npswpin_zero 99\noom_kill %d\n", 1000 * n,
		2000 * n, n);
	put("proc/vmstat", text);
	snprintf(text, sizeof(text), "0000000a %08x 00000003\n0000000b %08x 00000004\n", 16 * n, n);
	put("proc/net/softnet_stat", text);
	for (int cpu = 0; cpu < 2; cpu++) {
		char name[128];

		snprintf(name, sizeof(name),
			"sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
		snprintf(text, sizeof(text), "%d\n", 3 * n + cpu);
		put(name, text);
	}
}

static void test_counts_of_the_system(void **state)
{
	struct system_stat from, to;
	struct system_change change;

	(void)state;
	put_system(1);
	system_stat_read(root, &from);
	put_system(3);
	system_stat_read(root, &to);
	change = system_stat_change(&from, &to, 1000000000);
	assert_int_equal(change.swap_ins, 2000);
	assert_int_equal(change.swap_outs, 4000);
	assert_int_equal(change.oom_kills, 2);
	assert_int_equal(change.drops, 34);
	assert_int_equal(change.hot, 12);
	assert_true(change.steal > 0.249 && change.steal < 0.251);
	/* 600 ticks of user code, the kernel and the host */
	assert_true(change.busy * (double)sysconf(_SC_CLK_TCK) > 599 &&
		    change.busy * (double)sysconf(_SC_CLK_TCK) < 601);
	change = system_stat_change(&to, &from, 1000000000); /* the counters began again */
	assert_int_equal(change.swap_ins + change.swap_outs + change.drops + change.hot, 0);
}

static void test_files_that_are_missing(void **state)
{
	struct system_stat stat;

	(void)state;
	system_stat_read(root, &stat);
	assert_false(stat.is_known);
	assert_int_equal(stat.swap_ins + stat.drops + stat.hot, 0);
}

static void put_clock(const char *current)
{
	folder_line("sys/devices/system/clocksource/clocksource0/current_clocksource", current);
	folder_line("sys/devices/system/clocksource/clocksource0/available_clocksource",
		"tsc hpet acpi_pm ");
}

static void test_clock(void **state)
{
	char text[128] = "";

	(void)state;
	assert_false(system_clock_is_slow(root, text, sizeof(text)));
	put_clock("tsc");
	assert_false(system_clock_is_slow(root, text, sizeof(text)));
	put_clock("hpet");
	assert_true(system_clock_is_slow(root, text, sizeof(text)));
	assert_string_equal(text, "hpet (of tsc hpet acpi_pm)");
}

static struct kernel_log log_of(const char *text)
{
	struct kernel_log log;
	char path[256];

	put("kmsg", text);
	snprintf(path, sizeof(path), "%s/kmsg", root);
	kernel_log_open(&log, path, true);
	assert_true(log.is_open);
	kernel_log_read(&log);
	kernel_log_close(&log);
	return log;
}

static void test_kernel_log(void **state)
{
	struct kernel_log log = log_of(
		"6,1,100,-;e1000: eth0 NIC Link is Up 1000 Mbps Full Duplex\n"
		"3,2,200,-;Buffer I/O error on dev sdb1, logical block 0, async page read\n"
		" SUBSYSTEM=block\n"
		"3,3,300,-;EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: bad\n"
		/* of a program: the facility is 1 */
		"11,4,400,-;Buffer I/O error on dev made_up\n"
		"3,5,500,-;Out of memory: Killed process 4321 (java) total-vm:7kB, anon-rss:6kB\n"
		"3,6,600,-;INFO: task tar:77 blocked for more than 120 seconds.\n");

	(void)state;
	assert_int_equal(log.errors, 3);
	assert_string_equal(
		log.error, "Buffer I/O error on dev sdb1, logical block 0, async page read");
	assert_string_equal(log.killed, "4321 (java)");
}

static void test_hostile_log(void **state)
{
	char text[6000];
	struct kernel_log log;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "3,1,1,-;\x1b[2J I/O error ", 22);
	text[sizeof(text) - 1] = '\0';
	log = log_of(text);
	assert_int_equal(log.errors, 1);
	assert_int_equal(strlen(log.error), KERNEL_LOG_TEXT_BYTES - 1);
	assert_memory_equal(log.error, "?[2J I/O", 8);
	log = log_of("3,1,1,-;Killed process ");
	assert_string_equal(log.killed, "");
	log = log_of(";\n;;\n3\n,,,\n");
	assert_int_equal(log.errors, 0);
}

static bool find_fullest(const char *mounts, struct file_system *ret_fullest)
{
	char path[256];

	put("mounts", mounts);
	snprintf(path, sizeof(path), "%s/mounts", root);
	return file_systems_fullest(path, ret_fullest);
}

static void test_file_systems(void **state)
{
	struct file_system fullest;
	struct statvfs st;

	(void)state;
	assert_int_equal(statvfs("/", &st), 0);
	assert_true(find_fullest("/dev/x / ext4 rw,relatime 0 0\n", &fullest));
	assert_string_equal(fullest.path, "/");
	assert_true(fullest.used >= 0 && fullest.used <= 100);
	if (st.f_files)
		assert_true(fullest.inodes_used <= 100);
	/* files of a server that may not answer, files that nothing can be written to, no such */
	assert_false(find_fullest("server:/x / nfs4 rw 0 0\n"
				  "/dev/x / squashfs ro 0 0\n"
				  "/dev/x / ext4 ro,relatime 0 0\n"
				  "/dev/x /nonexistent ext4 rw 0 0\n"
				  "proc /proc proc rw 0 0\n",
		&fullest));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(test_counts_of_the_system),
		TEST(test_files_that_are_missing), TEST(test_clock), TEST(test_kernel_log),
		TEST(test_hostile_log), TEST(test_file_systems)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
