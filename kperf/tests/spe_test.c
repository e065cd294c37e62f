/* SPDX-License-Identifier: MIT */
/*
 * Rows of SPE_SAMPLING, with a simulated PMU: a file in memory with the layout of the kernel's
 * mapping, in which the test writes records and packets as CPU and kernel do. It is linked with the
 * objects of the library, since no test machine has the extension.
 */
#include <sys/mman.h>

#include "../../tests/unit/folder.h"
#include "attar/record.h"
#include "error.h"
#include "kperf_test.h"
#include "perf/ring.h"
#include "spe.h"

enum { RING = 4096, AREA = 8192, CPU = 3, TICKS_PER_US = 100 };

struct fake {
	struct attar_ring ring;
	struct attar_ring *rings[1];
	struct attar_aux *auxes[1];
	struct perf_event_mmap_page *page;
	char *records;
	uint8_t *area;
	struct kp_spe spe;
	struct kp_task task;
	struct kp_list *list;
};

static void start(struct fake *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("spe", MFD_CLOEXEC);
	struct PmuAttr attr = {.period = 1024};
	struct perf_event_attr pattr = {.size = sizeof(pattr)};

	*f = (struct fake){0};
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(page + RING + AREA)), 0);
	f->page = mmap(NULL, page + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->page, MAP_FAILED);
	f->records = (char *)f->page + page;
	f->ring = (struct attar_ring){
		.page = f->page, .data = f->records, .size = RING, .fd = fd, .cpu = CPU, .tid = -1};
	f->rings[0] = &f->ring;
	assert_int_equal(attar_aux_new(&f->ring, AREA, false, &f->auxes[0]), 0);
	f->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(page + RING));
	assert_ptr_not_equal(f->area, MAP_FAILED);
	kp_spe_attr(&attr, &pattr);
	assert_int_equal(pattr.sample_period, 1024);
	f->spe = (struct kp_spe){.name = "arm_spe_0",
		.period = 1024,
		.rings = f->rings,
		.auxes = f->auxes,
		.n_rings = 1};
	attar_layout_init(&f->spe.layout, &pattr);
	f->task.origin = kp_origin_new(NULL);
	assert_non_null(f->task.origin);
	f->task.origin->mode = RESOLVE_ELF;
	f->list = kp_list_new(f->task.origin);
	assert_non_null(f->list);
}

static void finish(struct fake *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	kp_list_free(f->list);
	kp_spe_forget(&f->spe);
	kp_origin_unref(f->task.origin);
	attar_aux_free(f->auxes[0]);
	munmap(f->area, AREA);
	munmap(f->page, page + RING);
	close(f->ring.fd);
	free(f->ring.bounce);
}

/* Like the kernel: a PERF_RECORD_AUX with the task, the time and the CPU of its end. */
static void put_record(struct fake *f, uint64_t offset, uint64_t size, uint64_t flags)
{
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t identifier;
	} record = {
		.header = {.type = PERF_RECORD_AUX, .size = sizeof(record)},
		.offset = offset,
		.size = size,
		.flags = flags,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.time = 777,
		.cpu = CPU,
	};

	assert_true(f->page->data_head + sizeof(record) <= RING);
	memcpy(f->records + f->page->data_head, &record, sizeof(record));
	f->page->data_head += sizeof(record);
}

static void put_byte(struct fake *f, uint8_t byte)
{
	f->area[f->page->aux_head++ % AREA] = byte;
}

static void put_packet(struct fake *f, uint8_t header, uint64_t payload, size_t size)
{
	put_byte(f, header);
	for (size_t i = 0; i < size; i++)
		put_byte(f, (uint8_t)(payload >> 8 * i));
}

/* A load at pc that took `latency` cycles, at a time of the timer; tid 0: without context. */
static void put_load(struct fake *f, const void *pc, uint16_t latency, uint64_t ticks, pid_t tid)
{
	put_packet(f, 0xb0, (uintptr_t)pc & (UINT64_MAX >> 8), 8);
	if (tid)
		put_packet(f, 0x64, (uint64_t)tid, 4);
	put_packet(f, 0x49, 0x00, 1);
	put_packet(f, 0x52, SPE_EV_RETIRED | SPE_EV_L1D_ACCESS | SPE_EV_LLC_MISS, 2);
	put_packet(f, 0x98, latency, 2);
	put_packet(f, 0xb2, 0x7f0012345678, 8);
	put_packet(f, 0xb3, 0x8000000812345678, 8);
	put_packet(f, 0x43, HIP_L3_HITM, 1);
	put_packet(f, 0x71, ticks, 8);
}

static int read_rows(struct fake *f)
{
	const struct kp_spe_clock clock = {
		.ticks = 1000000, .hz = TICKS_PER_US * 1000000, .ns = 50000000};

	return kp_spe_rows(&f->task, &f->spe, &clock, f->list);
}

/* Out of order in the area; the times are 100 us and 60 us before the time of the clock. */
static void rows_have_all_members(void **state)
{
	const struct PmuData *rows;
	struct fake f;

	start(&f);
	f.task.has_pids = true;
	put_load(&f, test_fault, 412, 1000000 - 60 * TICKS_PER_US, 0);
	put_load(&f, test_burn, 5, 1000000 - 100 * TICKS_PER_US, 0);
	put_record(&f, 0, f.page->aux_head, 0);
	assert_int_equal(read_rows(&f), SUCCESS);
	assert_int_equal(f.list->n, 2);
	assert_int_equal(kp_list_resolve(f.list), 0);
	rows = f.list->rows;
	assert_int_equal(rows[0].ts, 50000000 - 100000);
	assert_int_equal(rows[1].ts, 50000000 - 60000);
	assert_string_equal(rows[0].stack->symbol->symbolName, "test_burn");
	assert_string_equal(rows[1].stack->symbol->symbolName, "test_fault");
	assert_null(rows[1].stack->next);
	assert_int_equal(rows[1].ext->lat, 412);
	assert_int_equal(rows[1].ext->va, 0x7f0012345678);
	assert_int_equal(rows[1].ext->pa, 0x812345678);
	assert_int_equal(rows[1].ext->event, SPE_EV_RETIRED | SPE_EV_L1D_ACCESS | SPE_EV_LLC_MISS);
	assert_int_equal(rows[1].ext->source, HIP_L3_HITM);
	assert_int_equal(rows[1].ext->op, SPE_OP_LD);
	assert_int_equal(rows[1].pid, getpid());
	assert_int_equal(rows[1].tid, getpid());
	assert_int_equal(rows[1].cpu, CPU);
	assert_int_equal(rows[1].period, 1024);
	assert_string_equal(rows[1].evt, "arm_spe_0");
	assert_true(*rows[1].comm);
	assert_int_equal(f.spe.lost + f.spe.malformed + f.spe.truncated + f.spe.unknown, 0);
	finish(&f);
}

/* The payloads of operation packets: store, LDAXR, an atomic with acquire; not a load or store. */
static void operations(void **state)
{
	static const struct {
		uint8_t header, payload;
		uint32_t op;
	} known[] = {
		{0x49, 0x01, SPE_OP_ST},
		{0x49, 0x1a, SPE_OP_LD | SPE_OP_EXCL | SPE_OP_AR},
		{0x49, 0x16, SPE_OP_LD | SPE_OP_ATOMIC | SPE_OP_AR},
		{0x48, 0x00, 0},
	};
	enum { KNOWN = sizeof(known) / sizeof(known[0]) };
	struct fake f;

	start(&f);
	for (size_t i = 0; i < KNOWN; i++) {
		put_packet(&f, 0xb0, (uintptr_t)test_burn & (UINT64_MAX >> 8), 8);
		put_packet(&f, known[i].header, known[i].payload, 1);
		put_packet(&f, 0x71, i + 1, 8);
	}
	put_record(&f, 0, f.page->aux_head, 0);
	assert_int_equal(read_rows(&f), SUCCESS);
	assert_int_equal(f.list->n, KNOWN);
	for (size_t i = 0; i < KNOWN; i++) {
		assert_int_equal(f.list->rows[i].ext->op, known[i].op);
		assert_int_equal(f.list->rows[i].ext->source, 0xffff); /* no such packet */
	}
	finish(&f);
}

/* On a CPU, the context packet identifies the thread; without one it is unknown, and counted. */
static void threads_of_a_cpu(void **state)
{
	struct fake f;

	start(&f);
	put_load(&f, test_burn, 1, 1, getpid());
	put_load(&f, test_burn, 2, 2, 0);
	put_record(&f, 0, f.page->aux_head, 0);
	assert_int_equal(read_rows(&f), SUCCESS);
	assert_int_equal(f.list->n, 2);
	assert_int_equal(f.list->rows[0].tid, getpid());
	assert_int_equal(f.list->rows[0].pid, getpid());
	assert_int_equal(f.list->rows[1].tid, -1);
	assert_int_equal(f.list->rows[1].pid, -1);
	assert_int_equal(f.spe.unknown, 1);
	finish(&f);
}

/* The area is used many times over, and each part is given back when it was read. */
static void the_area_wraps_around(void **state)
{
	struct fake f;

	start(&f);
	f.task.has_pids = true;
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t from = f.page->aux_head;

		for (int n = 0; n < 20; n++)
			put_load(&f, test_burn, (uint16_t)n, i * 20 + (uint64_t)n, 0);
		put_record(&f, from, f.page->aux_head - from, 0);
		assert_int_equal(read_rows(&f), SUCCESS);
		assert_int_equal(f.list->n, (i + 1) * 20);
		assert_int_equal(f.page->aux_tail, f.page->aux_head);
	}
	assert_true(f.page->aux_head > 2 * AREA);
	assert_int_equal(f.spe.malformed, 0);
	finish(&f);
}

/* A full area, collisions, data that the kernel did not write, and damaged packets. */
static void losses_are_counted(void **state)
{
	struct fake f;
	uint64_t from;

	start(&f);
	f.task.has_pids = true;
	put_load(&f, test_burn, 1, 1, 0);
	put_record(&f, 0, f.page->aux_head, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION);
	from = f.page->aux_head;
	put_byte(&f, 0xff);
	put_load(&f, test_burn, 2, 2, 0);
	put_load(&f, test_burn, 3, 3, 0);
	put_record(&f, from, f.page->aux_head - from, 0);
	put_record(&f, f.page->aux_head, 4096, 0);
	assert_int_equal(read_rows(&f), SUCCESS);
	assert_int_equal(f.list->n, 2);
	assert_int_equal(f.list->rows[1].ext->lat, 3);
	assert_int_equal(f.spe.truncated, 1);
	assert_int_equal(f.spe.collisions, 1);
	assert_int_equal(f.spe.malformed, 2);
	finish(&f);
}

/* The warnings of GetWarn() about a read of a task that is stopped. */
static int warning_of(struct fake *f, const char *part)
{
	struct kp_counter counter = {0};

	f->task.own = &f->spe;
	f->task.counters = &counter;
	kp_begin();
	assert_int_equal(kp_spe_read(&f->task, f->list), SUCCESS);
	if (!strstr(GetWarnMsg(), part))
		print_message("%s\n", GetWarnMsg());
	assert_non_null(strstr(GetWarnMsg(), part));
	return GetWarn();
}

/* Each loss is reported once, and before threads that are unknown. */
static void losses_are_a_warning(void **state)
{
	struct fake f;

	start(&f);
	put_load(&f, test_burn, 1, 1, 0);
	put_record(&f, 0, f.page->aux_head, PERF_AUX_FLAG_TRUNCATED);
	assert_int_equal(warning_of(&f, "1 areas were full"), LIBPERF_WARN_DATA_LOST);
	assert_int_equal(warning_of(&f, ""), SUCCESS);
	put_load(&f, test_burn, 1, 1, 0);
	put_record(&f, f.page->aux_tail, f.page->aux_head - f.page->aux_tail, 0);
	assert_int_equal(warning_of(&f, "1 sample does not identify"), LIBPERF_WARN_CTXID_LOST);
	assert_int_equal(f.list->n, 2);
	finish(&f);
}

/* Without the time of the generic timer, the row has the time of its record. */
static void samples_without_time(void **state)
{
	struct fake f;

	start(&f);
	f.task.has_pids = true;
	put_packet(&f, 0xb0, (uintptr_t)test_burn, 8);
	put_byte(&f, 0x01);
	put_packet(&f, 0xb0, UINT64_C(0xa0ff800008543210), 8); /* of the kernel */
	put_byte(&f, 0x01);
	put_record(&f, 0, f.page->aux_head, 0);
	assert_int_equal(read_rows(&f), SUCCESS);
	assert_int_equal(f.list->n, 2);
	assert_int_equal(f.list->rows[0].ts, 777);
	assert_true(kp_list_frames(f.list, 1)->at[0].kernel);
	assert_int_equal(kp_list_frames(f.list, 1)->at[0].ip, 0xffff800008543210);
	finish(&f);
}

/* ---- the PMU in a tree like the tree of sysfs ---- */

#define PMU "bus/event_source/devices/arm_spe_0/"

/* The filters are in the words of the attributes that the kernel's driver defines. */
static void the_event_of_the_pmu(void **state)
{
	const struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = folder_make()};
	const struct PmuAttr wanted = {.dataFilter = (enum SpeFilter)(PA_ENABLE | LOAD_FILTER),
		.evFilter = SPE_EVENT_L1DMISS,
		.minLatency = 30};
	struct attar_event_list *list;
	struct kp_origin *origin;
	struct kp_spe_task found;

	folder_line(PMU "type", "9");
	folder_line(PMU "cpumask", "0-1,4");
	folder_line(PMU "caps/min_interval", "256");
	origin = kp_origin_new(&opts);
	assert_int_equal(kp_spe_find(origin, &wanted, &found), SUCCESS);
	assert_int_equal(found.attr.period, 256);
	assert_int_equal(found.attr.numCpu, 3);
	assert_int_equal(found.attr.cpuList[2], 4);
	assert_int_equal(found.attr.numEvt, 1);
	assert_int_equal(attar_event_list_parse(origin->catalog, found.attr.evtList[0], &list), 0);
	assert_int_equal(list->n, 1);
	assert_int_equal(list->at[0].type, 9);
	assert_int_equal(list->at[0].config, UINT64_C(0x200000002));
	assert_int_equal(list->at[0].config1, 8);
	assert_int_equal(list->at[0].config2, 30);
	assert_false(list->at[0].system_wide);
	attar_event_list_free(list);
	kp_origin_unref(origin);
	folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_all_members),
		cmocka_unit_test(operations),
		cmocka_unit_test(threads_of_a_cpu),
		cmocka_unit_test(the_area_wraps_around),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(losses_are_a_warning),
		cmocka_unit_test(samples_without_time),
		cmocka_unit_test(the_event_of_the_pmu),
	};

	return cmocka_run_group_tests_name("kperf_spe", tests, NULL, NULL);
}
