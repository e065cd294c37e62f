/* SPDX-License-Identifier: MIT */
/*
 * Metrics of devices: a tree like that of sysfs on a machine with HiSilicon's PMUs, whose type is
 * that of the kernel's software events, so that they count something. It is linked with the objects
 * of the library, since PmuDeviceOpen() uses the tree of the machine.
 */
#include <sched.h>

#include "../../tests/unit/folder.h"
#include "attar/event.h"
#include "device.h"
#include "kperf_test.h"
#include "task.h"
#include "topology.h"

enum { FAULTS = 1000 };

/* A PMU that counts page faults (2) and context switches (3) of CPU 0. */
static void put_pmu(const char *name, const char *const *events)
{
	char path[256];

	for (; *events; events += 2) {
		snprintf(path, sizeof(path), "bus/event_source/devices/%s/events/%s", name,
			events[0]);
		folder_line(path, events[1]);
	}
	snprintf(path, sizeof(path), "bus/event_source/devices/%s/type", name);
	folder_line(path, "1");
	snprintf(path, sizeof(path), "bus/event_source/devices/%s/cpumask", name);
	folder_line(path, "0");
	snprintf(path, sizeof(path), "bus/event_source/devices/%s/format/event", name);
	folder_line(path, "config:0-7");
}

static struct kp_origin *machine(void)
{
	static const char *const ddrc[] = {"flux_rd", "event=0x2", "flux_wr", "event=0x3", NULL};
	static const char *const hha[] = {
		"rx_ops_num", "event=0x2", "rx_outer", "event=0x3", "rx_sccl", "event=0x2", NULL};
	struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = folder_make()};
	struct kp_origin *origin;

	put_pmu("hisi_sccl1_ddrc0", ddrc);
	put_pmu("hisi_sccl1_ddrc2", ddrc);
	put_pmu("hisi_sccl1_hha0", hha);
	put_pmu("hisi_sccl1_hha1", hha);
	origin = kp_origin_new(&opts);
	assert_non_null(origin);
	return origin;
}

static void release(struct kp_origin *origin)
{
	kp_origin_unref(origin);
	folder_remove();
}

static void run_on_cpu_0(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		skip();
}

/* What the task counts while this program has page faults. */
static int counted(struct kp_origin *origin, const struct PmuDeviceAttr *attr, unsigned n,
	struct PmuData **ret_rows)
{
	int pd = kp_device_open(origin, attr, n), rows;

	if (pd < 0)
		print_message("%d: %s\n", Perrorno(), Perror());
	assert_true(pd > 0);
	assert_int_equal(Perrorno(), SUCCESS);
	assert_int_equal(PmuEnable(pd), SUCCESS);
	test_fault(FAULTS);
	assert_int_equal(PmuDisable(pd), SUCCESS);
	rows = PmuRead(pd, ret_rows);
	PmuClose(pd);
	return rows;
}

/* Two channels, of controllers 0 and 2: each row is 32 bytes a count. */
static void bandwidth_of_memory(void **state)
{
	const struct PmuDeviceAttr attr[] = {
		{.metric = PMU_DDR_READ_BW}, {.metric = PMU_DDR_READ_BW}};
	struct kp_origin *origin;
	struct PmuDeviceData *metrics;
	struct PmuData *rows;

	test_need_root();
	run_on_cpu_0();
	origin = machine();
	assert_int_equal(counted(origin, attr, 2, &rows), 2);
	assert_string_equal(rows[0].evt, "hisi_sccl1_ddrc0/flux_rd/");
	assert_int_equal(PmuGetDevMetric(rows, 2, (struct PmuDeviceAttr *)attr, 2, &metrics), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(rows[i].count >= FAULTS);
		assert_true(metrics[i].count == 32.0 * (double)rows[i].count);
		assert_int_equal(metrics[i].metric, PMU_DDR_READ_BW);
		assert_int_equal(metrics[i].mode, PMU_METRIC_CHANNEL);
		assert_int_equal(metrics[i].channelId, i);
		assert_int_equal(metrics[i].ddrNumaId, kp_topology(0)->numaId);
		assert_int_equal(metrics[i].socketId, kp_topology(0)->socketId);
	}
	DevDataFree(metrics);
	DevDataFree(metrics);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	PmuDataFree(rows);
	release(origin);
}

/* Quotients of the sums of both agents of a node. */
static void operations_across_dies(void **state)
{
	struct PmuDeviceAttr attr[] = {
		{.metric = PMU_HHA_CROSS_NUMA}, {.metric = PMU_HHA_CROSS_SOCKET}};
	uint64_t all = 0, sccl = 0, outer = 0;
	struct kp_origin *origin;
	struct PmuDeviceData *metrics;
	struct PmuData *rows;

	test_need_root();
	run_on_cpu_0();
	origin = machine();
	assert_int_equal(counted(origin, attr, 2, &rows), 6); /* the operations only once */
	for (unsigned i = 0; i < 6; i++)
		*(strstr(rows[i].evt, "rx_ops_num")      ? &all
			: strstr(rows[i].evt, "rx_sccl") ? &sccl
							 : &outer) += rows[i].count;
	assert_true(all >= 2 * FAULTS);
	assert_int_equal(PmuGetDevMetric(rows, 6, attr, 2, &metrics), 2);
	assert_int_equal(metrics[0].mode, PMU_METRIC_NUMA);
	assert_int_equal(metrics[0].numaId, kp_topology(0)->numaId);
	assert_true(metrics[0].count == (double)sccl / (double)all);
	assert_int_equal(metrics[1].metric, PMU_HHA_CROSS_SOCKET);
	assert_true(metrics[1].count == (double)outer / (double)all);
	DevDataFree(metrics);
	PmuDataFree(rows);
	release(origin);
}

/* Rows as of a machine with two dies in a socket, and with CPUs. */
static void places_of_metrics(void **state)
{
	static struct CpuTopology dies[] = {{0, 0, 0}, {48, 1, 0}};
	static const struct {
		const char *evt;
		int die, cpu;
		uint64_t count;
	} counts[] = {
		{"hisi_sccl3_ddrc3_1/flux_rd/", 0, 0, 8},
		{"hisi_sccl3_ddrc3_0/flux_rd/", 0, 0, 4},
		{"hisi_sccl3_ddrc0/flux_rd/", 0, 0, 1},
		{"hisi_sccl3_ddrc2/flux_rd/", 0, 0, 2},
		{"hisi_sccl1_ddrc5/flux_rd/", 1, 48, 16},
		{"hisi_sccl3_ddrc0/flux_wr/", 0, 0, 1000},
		{"armv8_pmuv3_0/config=0x32/", 0, 1, 5},
		{"armv8_pmuv3_0/config=0x32/", 0, 0, 7},
		{"armv8_pmuv3_0/config=0x320/", 0, 0, 1000},
		{"cycles", 0, 0, 1000},
	};
	static const double bandwidth[] = {32, 64, 12 * 32, 16 * 32};
	static const unsigned channels[] = {0, 1, 2, 4};
	struct PmuDeviceAttr attr[] = {
		{.metric = PMU_DDR_READ_BW}, {.metric = PMU_L3_TRAFFIC}, {.metric = PMU_L3_REF}};
	struct kp_origin *origin = kp_origin_new(NULL);
	struct kp_list *list = kp_list_new(origin);
	struct PmuDeviceData *metrics;
	const size_t n = sizeof(counts) / sizeof(counts[0]);
	struct PmuData *rows;

	for (size_t i = 0; i < n; i++) {
		struct PmuData *row = kp_list_add(list);

		row->evt = counts[i].evt;
		row->cpu = counts[i].cpu;
		row->cpuTopo = &dies[counts[i].die];
		row->count = counts[i].count;
	}
	rows = kp_list_publish(list);
	assert_int_equal(PmuGetDevMetric(rows, n, attr, 3, &metrics), 8);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(metrics[i].count == bandwidth[i]);
		assert_int_equal(metrics[i].channelId, channels[i]);
		assert_int_equal(metrics[i].ddrNumaId, i == 3);
	}
	assert_true(metrics[4].count == 7 * 64 && metrics[4].coreId == 0);
	assert_true(metrics[5].count == 5 * 64 && metrics[5].coreId == 1);
	assert_true(metrics[6].count == 7 && metrics[7].count == 5);
	DevDataFree(metrics);
	attr[0].metric = PMU_HHA_CROSS_NUMA;
	assert_int_equal(PmuGetDevMetric(rows, n, attr, 1, &metrics), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_int_equal(PmuGetDevMetric(rows, n + 1, attr, 1, &metrics), -1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DATA);
	assert_null(metrics);
	PmuDataFree(rows);
	kp_origin_unref(origin);
}

static void metrics_of_no_pmu(void **state)
{
	const struct PmuDeviceAttr attr[] = {{.metric = PMU_L3_MISS}};
	struct kp_origin *origin = machine();

	assert_int_equal(kp_device_open(origin, attr, 1), -1);
	test_error_is(LIBPERF_ERR_NOT_SUPPORT_METRIC);
	assert_non_null(strstr(Perror(), "armv8_"));
	release(origin);
}

/* The kernel cannot group events of devices; with another event, each is counted alone. */
static void groups_of_devices(void **state)
{
	static char *events[] = {"hisi_sccl1_ddrc0/flux_rd/", "hisi_sccl1_ddrc2/flux_rd/"};
	struct EvtAttr groups[] = {{.groupId = 3}, {.groupId = 3}};
	struct PmuAttr attr = {.evtList = events, .numEvt = 2, .evtAttr = groups, .numEvtAttr = 2};
	struct kp_origin *origin;
	struct PmuData *rows;
	int pd;

	test_need_root();
	origin = machine();
	assert_int_equal(kp_open(origin, COUNTING, &attr, false), -1);
	test_error_is(LIBPERF_ERR_INVALID_GROUP_ALL_UNCORE);
	events[1] = "page-faults";
	pd = kp_open(origin, COUNTING, &attr, false);
	assert_true(pd > 0);
	assert_int_equal(GetWarn(), LIBPERF_WARN_INVALID_GROUP_HAS_UNCORE);
	assert_true(PmuRead(pd, &rows) >= 2);
	assert_int_equal(rows[0].groupId, -1);
	PmuDataFree(rows);
	PmuClose(pd);
	release(origin);
}

/* The kernel has no such software event: the others are counted. */
static void events_that_are_missing(void **state)
{
	static char *events[] = {"hisi_sccl1_ddrc0/event=0xfe/", "page-faults"};
	struct PmuAttr attr = {.evtList = events, .numEvt = 1};
	struct kp_origin *origin;
	struct PmuData *rows;
	int pd;

	test_need_root();
	origin = machine();
	assert_int_equal(kp_open(origin, COUNTING, &attr, false), -1);
	test_error_is(LIBPERF_ERR_INVALID_EVENT);
	attr.numEvt = 2;
	pd = kp_open(origin, COUNTING, &attr, false);
	assert_true(pd > 0);
	assert_int_equal(GetWarn(), LIBPERF_WARN_EVENT_DROPPED);
	assert_non_null(strstr(GetWarnMsg(), events[0]));
	assert_true(PmuRead(pd, &rows) >= 1);
	assert_string_equal(rows[0].evt, "page-faults");
	PmuDataFree(rows);
	PmuClose(pd);
	release(origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_of_memory),
		cmocka_unit_test(operations_across_dies),
		cmocka_unit_test(places_of_metrics),
		cmocka_unit_test(metrics_of_no_pmu),
		cmocka_unit_test(groups_of_devices),
		cmocka_unit_test(events_that_are_missing),
	};

	return cmocka_run_group_tests_name("kperf_device", tests, NULL, NULL);
}
