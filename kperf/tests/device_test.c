/* SPDX-License-Identifier: MIT */
/*
 * Metrics of devices: a tree like the tree of sysfs on a machine with HiSilicon's PMUs, whose type
 * is the type of the kernel's software events, so that they count something. It is linked with the
 * objects of the library, since PmuDeviceOpen() uses the tree of the machine.
 */
#include <sched.h>

#include "../../tests/unit/folder.h"
#include "attar/event.h"
#include "device.h"
#include "error.h"
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

/* A file of a PCI device below the first root complex. */
static void put_class(const char *path, const char *class)
{
	char name[256];

	snprintf(name, sizeof(name), "devices/pci0000:16/%s/class", path);
	folder_line(name, class);
}

static void put_file(const char *pmu, const char *name, const char *line)
{
	char path[256];

	snprintf(path, sizeof(path), "bus/event_source/devices/%s/%s", pmu, name);
	folder_line(path, line);
}

/* As in hisi_pcie_pmu.c: what counts TLPs here counts page faults, all or minor ones. */
static void put_pcie(void)
{
	static const char *const events[] = {"rx_mrd_flux", "config=0x2", "rx_mrd_time",
		"config=0x5", "tx_mrd_latency", "config=0x5", "tx_mrd_cnt", "config=0x2", NULL};
	static const char pmu[] = "hisi_pcie0_core1";

	put_pmu(pmu, events);
	put_file(pmu, "format/port", "config2:0-15");
	put_file(pmu, "format/bdf", "config2:16-31");
	put_file(pmu, "bus", "0x16");
	put_file(pmu, "bdf_min", "0x1640");
	put_file(pmu, "bdf_max", "0x167f");
}

/* Two root ports of the PMU, one of them with a switch; then devices that it does not count. */
static void put_devices(void)
{
	put_class("0000:16:08.0", "0x060400");
	put_class("0000:16:08.0/0000:17:00.0", "0x010802");
	put_class("0000:16:0c.0", "0x060400");
	put_class("0000:16:0c.0/0000:18:00.0", "0x060400");
	put_class("0000:16:0c.0/0000:18:00.0/0000:19:00.0", "0x060400");
	put_class("0000:16:0c.0/0000:18:00.0/0000:19:00.0/0000:1a:1f.7", "0x020000");
	put_class("0000:16:10.0", "0x060400");
	put_class("0000:16:10.0/0000:1b:00.0", "0x020000");
	put_class("0000:16:09.0", "0x0c0330");
	put_class("0001:16:08.0", "0x060400");
}

static void put_smmu(const char *name, const char *device)
{
	char path[256];

	snprintf(path, sizeof(path), "class/iommu/%s/devices/%s", name, device);
	folder_line(path, "");
}

static void put_smmus(void)
{
	static const char *const events[] = {"transaction", "event=0x2", NULL};
	static const char pmu[] = "smmuv3_pmcg_14a020";

	put_pmu(pmu, events);
	put_file(pmu, "format/filter_stream_id", "config1:0-31");
	put_file(pmu, "format/filter_enable", "config1:33");
	put_smmu("smmu3.0x000000014a000000", "0000:17:00.0");
	put_smmu("smmu3.0x000000014a000000", "LNXSYSTM:00");
	put_smmu("smmu3.0x0000000200000000", "0000:1b:00.0");
}

static struct kp_origin *machine_with_pcie(void)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = folder_make()};
	struct kp_origin *origin;

	put_pcie();
	put_devices();
	put_smmus();
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

static void bdf_is(const struct kp_bdf *bdf, const char *text, const char *pmu, unsigned ports)
{
	assert_string_equal(bdf->text, text);
	assert_string_equal(bdf->pmu, pmu);
	assert_int_equal(bdf->root_ports, ports);
}

/* Port 08.0 is the PMU's first one; 0c.0, four numbers later, has two bits for each number. */
static void devices_that_are_counted(void **state)
{
	struct kp_origin *origin = machine_with_pcie();
	static const char pcie[] = "hisi_pcie0_core1";
	struct kp_bdfs bdfs;

	assert_int_equal(
		kp_bdfs_find(origin->sysfs, origin->catalog, PMU_BDF_TYPE_PCIE, &bdfs), SUCCESS);
	assert_int_equal(bdfs.n, 4);
	bdf_is(&bdfs.at[0], "16:08.0", pcie, 1);
	bdf_is(&bdfs.at[1], "16:0c.0", pcie, 1 << 8);
	bdf_is(&bdfs.at[2], "17:00.0", pcie, 1);
	bdf_is(&bdfs.at[3], "1a:1f.7", pcie, 1 << 8);
	assert_true(bdfs.at[1].is_root_port && !bdfs.at[2].is_root_port);
	kp_bdfs_done(&bdfs);
	kp_begin();
	assert_int_equal(
		kp_bdfs_find(origin->sysfs, origin->catalog, PMU_BDF_TYPE_SMMU, &bdfs), SUCCESS);
	assert_int_equal(bdfs.n, 1);
	bdf_is(&bdfs.at[0], "17:00.0", "smmuv3_pmcg_14a020", 0);
	kp_bdfs_done(&bdfs);
	assert_int_equal(GetWarn(), LIBPERF_WARN_INVALID_SMMU_BDF);
	assert_non_null(strstr(GetWarnMsg(), "smmuv3_pmcg_200020"));
	release(origin);
}

/* Counts of a bandwidth, of a latency and of an SMMU, each of one device. */
static void traffic_of_devices(void **state)
{
	struct PmuDeviceAttr attr[] = {{.metric = PMU_PCIE_RX_MRD_BW, .bdf = "17:00.0"},
		{.metric = PMU_PCIE_TX_MRD_LAT, .port = "1a:1f.7"},
		{.metric = PMU_SMMU_TRAN, .bdf = "17:00.0"},
		{.metric = PMU_SMMU_TRAN, .bdf = "17:00.0"}};
	struct kp_origin *origin;
	struct PmuDeviceData *metrics;
	struct PmuData *rows;

	test_need_root();
	run_on_cpu_0();
	origin = machine_with_pcie();
	assert_int_equal(counted(origin, attr, 4, &rows), 5);
	assert_string_equal(rows[0].evt, "hisi_pcie0_core1/rx_mrd_flux,bdf=0x1700/");
	assert_string_equal(rows[3].evt, "hisi_pcie0_core1/tx_mrd_cnt,port=0x100/");
	assert_string_equal(rows[4].evt,
		"smmuv3_pmcg_14a020/transaction,filter_enable=1,filter_stream_id=0x1700/");
	assert_int_equal(rows[0].groupId, rows[1].groupId);
	assert_int_not_equal(rows[0].groupId, rows[2].groupId);
	for (unsigned i = 0; i < 5; i++)
		assert_true(rows[i].count >= FAULTS);
	assert_int_equal(PmuGetDevMetric(rows, 5, attr, 4, &metrics), 3);
	attr[0].bdf = attr[1].port = attr[2].bdf = NULL;
	assert_true(metrics[0].count == 4.0 * (double)rows[0].count / (double)rows[1].count);
	assert_true(metrics[1].count == (double)rows[2].count / (double)rows[3].count);
	assert_true(metrics[2].count == (double)rows[4].count);
	assert_int_equal(metrics[1].metric, PMU_PCIE_TX_MRD_LAT);
	assert_int_equal(metrics[1].mode, PMU_METRIC_BDF);
	assert_string_equal(metrics[0].bdf, "17:00.0");
	assert_string_equal(metrics[1].port, "1a:1f.7");
	PmuDataFree(rows);
	assert_string_equal(metrics[2].bdf, "17:00.0");
	DevDataFree(metrics);
	release(origin);
}

/* Rows as of a machine with the hardware, also of a kernel without the names of some events. */
static void values_of_devices(void **state)
{
	static struct CpuTopology topology;
	static const struct {
		const char *evt;
		uint64_t count;
	} counts[] = {
		{"hisi_pcie0_core1/rx_mwr_flux,bdf=0x1700/", 3000},
		{"hisi_pcie0_core1/rx_mwr_time,bdf=0x1700/", 16},
		{"hisi_pcie0_core1/config=0x0104,bdf=0x1aff/", 50},
		{"hisi_pcie0_core1/config=0x10104,bdf=0x1aff/", 4},
		{"hisi_pcie0_core1/rx_mrd_latency,port=0x1/", 1681},
		{"hisi_pcie0_core1/rx_mrd_cnt,port=0x1/", 2},
		{"hisi_pcie0_core1/rx_mrd_latency,port=0x100/", 5},
		{"hisi_pcie0_core1/rx_mrd_cnt,port=0x100/", 0},
		{"hisi_sccl3_l3c7/event=0x80,tt_core=0xff/", 29 * 400},
		{"hisi_sccl3_l3c7/event=0xb8,tt_core=0xff/", 45},
		{"hisi_sccl3_l3c7/event=0xce,tt_core=0xff/", 5},
	};
	static const double values[] = {4 * 3000 / 16.0, 50, 840.5, 0, 100};
	struct PmuDeviceAttr attr[] = {{.metric = PMU_PCIE_RX_MWR_BW, .bdf = "17:00.0"},
		{.metric = PMU_PCIE_RX_MWR_BW, .bdf = "1A:1f.7"},
		{.metric = PMU_PCIE_RX_MRD_LAT, .port = "16:08.0"},
		{.metric = PMU_PCIE_RX_MRD_LAT, .port = "16:0c.0"}, {.metric = PMU_L3_LAT}};
	struct kp_origin *origin = machine_with_pcie();
	struct kp_list *list = kp_list_new(origin);
	const size_t n = sizeof(counts) / sizeof(counts[0]);
	struct PmuDeviceData *metrics;
	struct PmuData *rows;

	for (size_t i = 0; i < n; i++) {
		struct PmuData *row = kp_list_add(list);

		row->evt = counts[i].evt;
		row->count = counts[i].count;
		row->cpuTopo = &topology;
	}
	rows = kp_list_publish(list);
	assert_int_equal(PmuGetDevMetric(rows, n, attr, 5, &metrics), 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(metrics[i].metric, attr[i].metric);
		assert_true(
			metrics[i].count > values[i] - 1e-9 && metrics[i].count < values[i] + 1e-9);
	}
	assert_string_equal(metrics[1].bdf, "1A:1f.7");
	assert_int_equal(metrics[4].mode, PMU_METRIC_CLUSTER);
	assert_int_equal(metrics[4].clusterId, 0);
	DevDataFree(metrics);
	PmuDataFree(rows);
	release(origin);
}

static void refused(struct kp_origin *origin, enum PmuDeviceMetric metric, char *device, int code)
{
	struct PmuDeviceAttr attr = {.metric = metric, .bdf = device, .port = device};

	assert_int_equal(kp_device_open(origin, &attr, 1), -1);
	test_error_is(code);
}

static void devices_that_are_refused(void **state)
{
	static char *const invalid[] = {"", "16:08", "16:20.0", "16:08.8", "16:08.0 ", " 1:08.0",
		"0000:16:08.0", "0x:08.0", "x6:08.0", "16:-1.0"};
	struct kp_origin *origin = machine_with_pcie();
	struct PmuDeviceData *metrics;

	refused(origin, PMU_PCIE_RX_MRD_BW, NULL, LIBPERF_ERR_INVALID_PMU_DEVICES_BDF);
	refused(origin, PMU_SMMU_TRAN, NULL, LIBPERF_ERR_INVALID_PMU_DEVICES_BDF);
	refused(origin, PMU_PCIE_RX_MRD_LAT, NULL, LIBPERF_ERR_NOT_SUPPORT_PCIE_PORT);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		refused(origin, PMU_PCIE_RX_MRD_BW, invalid[i], LIBPERF_ERR_INVALID_BDF_VALUE);
	refused(origin, PMU_PCIE_RX_MRD_BW, "16:08.0", LIBPERF_ERR_NOT_SUPPORT_PCIE_BDF);
	refused(origin, PMU_PCIE_RX_MRD_BW, "1b:00.0", LIBPERF_ERR_NOT_SUPPORT_PCIE_BDF);
	refused(origin, PMU_PCIE_RX_MRD_LAT, "1b:00.0", LIBPERF_ERR_NOT_SUPPORT_PCIE_PORT);
	refused(origin, PMU_SMMU_TRAN, "1b:00.0", LIBPERF_ERR_NOT_SUPPORT_SMMU_BDF);
	assert_non_null(strstr(Perror(), "1b:00.0"));
	release(origin);
	assert_int_equal(PmuGetDevMetric((struct PmuData *)&origin, 1,
				 &(struct PmuDeviceAttr){.metric = PMU_SMMU_TRAN}, 1, &metrics),
		-1);
	test_error_is(LIBPERF_ERR_INVALID_PMU_DEVICES_BDF);
}

static void find_fails(const struct attar_catalog_opts *opts, enum PmuBdfType type, int code)
{
	struct kp_origin *origin = kp_origin_new(opts);
	struct kp_bdfs bdfs;

	kp_begin();
	assert_int_equal(kp_bdfs_find(origin->sysfs, origin->catalog, type, &bdfs), code);
	assert_int_equal(bdfs.n, 0);
	if (code != SUCCESS)
		test_error_is(code);
	kp_origin_unref(origin);
}

/* Files that the kernel has not, one after the other. */
static void incomplete_machines(void **state)
{
	static const char *const no_events[] = {"unused", "event=0x2", NULL};
	struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = folder_make()};
	struct kp_origin *origin;

	put_pmu("hisi_sccl1_l3c0", no_events);
	put_file("hisi_sccl1_l3c0", "identifier", "0x20");
	find_fails(&opts, PMU_BDF_TYPE_PCIE, LIBPERF_ERR_NOT_SUPPORT_PCIE_COUNTING);
	find_fails(&opts, PMU_BDF_TYPE_SMMU, LIBPERF_ERR_INVALID_IOSMMU_DIR);
	put_pmu("hisi_pcie0_core0", no_events);
	find_fails(&opts, PMU_BDF_TYPE_PCIE, LIBPERF_ERR_NOT_SUPPORT_PCIE_COUNTING);
	put_file("hisi_pcie0_core0", "bus", "0x16");
	find_fails(&opts, PMU_BDF_TYPE_PCIE, LIBPERF_ERR_OPEN_PCI_FILE_FAILD);
	assert_int_equal(GetWarn(), LIBPERF_WARN_PCIE_BIOS_NOT_NEWEST);
	put_class("0000:17:08.0", "0x060400");
	find_fails(&opts, PMU_BDF_TYPE_PCIE, SUCCESS);
	folder_line("class/iommu/dmar0/version", "1:0");
	find_fails(&opts, PMU_BDF_TYPE_SMMU, LIBPERF_ERR_INVALID_SMMU_NAME);
	put_pmu("smmuv3_pmcg_30", no_events);
	folder_line("class/iommu/smmu3.0x0000000000010000/uevent", "");
	find_fails(&opts, PMU_BDF_TYPE_SMMU, LIBPERF_ERR_INVALID_IOSMMU_DIR);
	origin = kp_origin_new(&opts);
	refused(origin, PMU_L3_LAT, NULL, LIBPERF_ERR_NOT_SUPPORT_METRIC);
	release(origin);
}

/* The latency of the L3 cache needs three counts of each of its parts. */
static void latency_of_the_cache(void **state)
{
	static const char *const no_events[] = {"unused", "event=0x2", NULL};
	const struct PmuDeviceAttr attr[] = {{.metric = PMU_L3_LAT}};
	struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = folder_make()};
	struct kp_origin *origin;
	int pd;

	test_need_root();
	put_pmu("hisi_sccl1_l3c0", no_events);
	put_file("hisi_sccl1_l3c0", "identifier", "0x30");
	put_file("hisi_sccl1_l3c0", "format/event", "config1:0-7");
	put_file("hisi_sccl1_l3c0", "format/tt_core", "config1:8-15");
	origin = kp_origin_new(&opts);
	pd = kp_device_open(origin, attr, 1);
	assert_true(pd > 0);
	PmuClose(pd);
	release(origin);
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
	assert_int_equal(kp_open(origin, COUNTING, &attr, KP_USE_EVENTS), -1);
	test_error_is(LIBPERF_ERR_INVALID_GROUP_ALL_UNCORE);
	events[1] = "page-faults";
	pd = kp_open(origin, COUNTING, &attr, KP_USE_EVENTS);
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
	assert_int_equal(kp_open(origin, COUNTING, &attr, KP_USE_EVENTS), -1);
	test_error_is(LIBPERF_ERR_INVALID_EVENT);
	attr.numEvt = 2;
	pd = kp_open(origin, COUNTING, &attr, KP_USE_EVENTS);
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
		cmocka_unit_test(devices_that_are_counted),
		cmocka_unit_test(traffic_of_devices),
		cmocka_unit_test(values_of_devices),
		cmocka_unit_test(devices_that_are_refused),
		cmocka_unit_test(incomplete_machines),
		cmocka_unit_test(latency_of_the_cache),
		cmocka_unit_test(metrics_of_no_pmu),
		cmocka_unit_test(groups_of_devices),
		cmocka_unit_test(events_that_are_missing),
	};

	return cmocka_run_group_tests_name("kperf_device", tests, NULL, NULL);
}
