/* SPDX-License-Identifier: MIT */
/* Tracepoint formats: fixtures, those of this machine, and a record of the running kernel. */
#include "unit.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attar/event.h"
#include "event/catalog.h"
#include "base/base.h"
#include "folder.h"
#include "tracefs/tracefs.h"

#define COMMON                                                                                     \
	"name: thing\nID: 23\nformat:\n"                                                           \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct attar_format *parse(const char *text)
{
	struct attar_format *format = NULL;

	assert_int_equal(attar_format_parse("sys", text, strlen(text), &format), 0);
	return format;
}

static const struct attar_field *field(const struct attar_format *format, const char *name)
{
	const struct attar_field *f = attar_format_field(format, name);

	assert_non_null(f);
	return f;
}

static void test_declarations(void **state)
{
	struct attar_format *f = parse(COMMON
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
		"\tfield:__rel_loc u64[] list;\toffset:28;\tsize:4;\tsigned:0;\n"
		"\tfield:const char * text;\toffset:32;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
		"\tfield:u8 mac[IFHWADDRLEN];\toffset:88;\tsize:6;\tsigned:0;\n"
		"\tfield:__data_loc cpumask_t mask;\toffset:96;\tsize:4;\tsigned:0;\n"
		"\tfield:struct timespec64 when;\toffset:104;\tsize:16;\tsigned:0;\n"
		"\tfield:void (*fn)(struct x *, int);\toffset:120;\tsize:8;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:128;\tsize:4;\tsigned:1;\n"
		"\tfield:int grid[2][3];\toffset:132;\tsize:24;\tsigned:1;\n"
		"\tfield:struct in6_addr * addr;\toffset:160;\tsize:8;\tsigned:0;\n"
		"\tfield:enum x state;\toffset:168;\tsize:4;\n" /* kernels without "signed:" */
		"\nprint fmt: \"%s\", REC->comm\n");

	assert_string_equal(f->system, "sys");
	assert_string_equal(f->name, "thing");
	assert_int_equal(f->id, 23);
	assert_int_equal(f->n_fields, 17);
	assert_int_equal(f->size, 172);
	assert_string_equal(f->print, "\"%s\", REC->comm");
	assert_true(field(f, "common_pid")->is_common);
	assert_int_equal(field(f, "comm")->kind, ATTAR_FIELD_STRING);
	assert_string_equal(field(f, "comm")->type, "char[16]");
	assert_int_equal(field(f, "name")->kind, ATTAR_FIELD_STRING);
	assert_int_equal(field(f, "name")->place, ATTAR_FIELD_DATA_LOC);
	assert_string_equal(field(f, "name")->type, "__data_loc char[]");
	assert_int_equal(field(f, "list")->kind, ATTAR_FIELD_ARRAY);
	assert_int_equal(field(f, "list")->place, ATTAR_FIELD_REL_LOC);
	assert_int_equal(field(f, "list")->element, 8);
	assert_int_equal(field(f, "text")->kind, ATTAR_FIELD_NUMBER);
	assert_true(field(f, "text")->is_pointer);
	assert_int_equal(field(f, "args")->kind, ATTAR_FIELD_ARRAY);
	assert_int_equal(field(f, "args")->element, 8);
	assert_int_equal(field(f, "mac")->kind, ATTAR_FIELD_ARRAY);
	assert_int_equal(field(f, "mac")->element, 1);
	assert_int_equal(field(f, "mask")->kind, ATTAR_FIELD_BYTES);
	assert_int_equal(field(f, "when")->kind, ATTAR_FIELD_BYTES);
	assert_int_equal(field(f, "fn")->kind, ATTAR_FIELD_NUMBER);
	assert_int_equal(field(f, "pid")->kind, ATTAR_FIELD_NUMBER);
	assert_true(field(f, "pid")->is_signed);
	assert_int_equal(field(f, "grid")->kind, ATTAR_FIELD_ARRAY);
	assert_int_equal(field(f, "grid")->element, 4);
	assert_string_equal(field(f, "grid")->type, "int[2][3]");
	assert_int_equal(field(f, "addr")->kind, ATTAR_FIELD_NUMBER);
	assert_int_equal(field(f, "state")->size, 4);
	assert_null(attar_format_field(f, "nothing"));
	attar_format_free(f);
}

/* f_show() of 6.12 prints a length for dynamic fields of user_events, which have none. */
static void test_dynamic_fields_have_no_count(void **state)
{
	struct attar_format *f = parse(
		COMMON "\tfield:__rel_loc char text[5813216];\toffset:8;\tsize:4;\tsigned:1;\n"
		       "\tfield:__rel_loc u32 lots[0];\toffset:12;\tsize:4;\tsigned:0;\n"
		       "\tfield:u32 fixed[2];\toffset:16;\tsize:8;\tsigned:0;\n");

	assert_string_equal(field(f, "text")->type, "__rel_loc char[]");
	assert_int_equal(field(f, "text")->kind, ATTAR_FIELD_STRING);
	assert_string_equal(field(f, "lots")->type, "__rel_loc u32[]");
	assert_int_equal(field(f, "lots")->element, 4);
	assert_string_equal(field(f, "fixed")->type, "u32[2]");
	attar_format_free(f);
}

static void test_reading(void **state)
{
	struct attar_format *f =
		parse(COMMON "\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
			     "\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"
			     "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] rel;\toffset:16;\tsize:4;\tsigned:0;\n"
			     "\tfield:s64 c;\toffset:20;\tsize:8;\tsigned:1;\n");
	uint8_t raw[40] = {
		[8] = 0xff, [10] = 0xfe, [11] = 0xff, [12] = 28, [14] = 5, [16] = 13, [18] = 3};
	size_t len;

	memcpy(raw + 20, &(int64_t){-5}, 8);
	memcpy(raw + 28, "ab\0cd", 5);
	memcpy(raw + 33, "xyz", 3); /* rel is relative to the end of its word: 20 + 13 */
	assert_int_equal(attar_field_i64(field(f, "a"), raw, sizeof(raw)), -1);
	assert_int_equal(attar_field_u64(field(f, "b"), raw, sizeof(raw)), 0xfffe);
	assert_int_equal(attar_field_i64(field(f, "c"), raw, sizeof(raw)), -5);
	assert_int_equal(
		attar_field_i64(field(f, "c"), raw, 27), 0); /* the record ends before it */
	assert_string_equal(attar_field_string(field(f, "name"), raw, sizeof(raw), &len), "ab");
	assert_int_equal(len, 2);
	assert_memory_equal(attar_field_string(field(f, "rel"), raw, sizeof(raw), &len), "xyz", 3);
	assert_int_equal(len, 3); /* not terminated */
	assert_null(attar_field_string(field(f, "name"), raw, 32, &len));
	assert_int_equal(len, 0);
	raw[14] = 255;
	assert_null(attar_field_string(field(f, "name"), raw, sizeof(raw), &len));
	assert_null(attar_field_string(field(f, "a"), raw, sizeof(raw), &len));
	assert_int_equal(attar_field_u64(field(f, "name"), raw, sizeof(raw)), 0);
	attar_format_free(f);
}

static void test_number_types(void **state)
{
	struct attar_format *f =
		parse(COMMON "\tfield:s16 level;\toffset:8;\tsize:2;\tsigned:1;\n"
			     "\tfield:u32 list[3];\toffset:12;\tsize:12;\tsigned:0;\n"
			     "\tfield:struct f64 price;\toffset:24;\tsize:8;\tsigned:0;\n"
			     "\tfield:__rel_loc f32[] rates;\toffset:32;\tsize:4;\tsigned:0;\n"
			     "\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;\n"
			     "\nprint fmt: \"\"\n");
	const int16_t level[4] = {-7};
	const double price = 2.5;
	const float rate[2] = {0.25};
	struct attar_number_type type;

	assert_true(attar_field_number_type(field(f, "level"), &type));
	assert_true(type.is_signed && !type.is_array && !type.is_float);
	assert_int_equal(attar_number_i64(&type, level), -7);
	assert_true(attar_field_number_type(field(f, "list"), &type));
	assert_true(type.size == 4 && type.is_array && !type.is_signed);
	assert_true(attar_field_number_type(field(f, "price"), &type));
	assert_true(type.is_float && !type.is_array);
	assert_true(attar_number_double(&type, &price) == price);
	assert_true(attar_field_number_type(field(f, "rates"), &type));
	assert_true(type.is_float && type.is_array);
	assert_true(attar_number_double(&type, rate) == (double)rate[0]);
	assert_false(attar_field_number_type(field(f, "comm"), &type));
	attar_format_free(f);
}

#define NUMBERS                                                                                    \
	COMMON "\tfield:s16 level;\toffset:8;\tsize:2;\tsigned:1;\n"                               \
	       "\tfield:u32 list[3];\toffset:12;\tsize:12;\tsigned:0;\n"                           \
	       "\tfield:struct f64 price;\toffset:24;\tsize:8;\tsigned:0;\n"                       \
	       "\tfield:__rel_loc f32[] rates;\toffset:32;\tsize:4;\tsigned:0;\n"                  \
	       "\tfield:__data_loc s64[] moves;\toffset:36;\tsize:4;\tsigned:1;\n"                 \
	       "\tfield:struct u16x2 pair;\toffset:40;\tsize:4;\tsigned:0;\n"                      \
	       "\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;\n"                         \
	       "\nprint fmt: \"\"\n"

enum { NUMBERS_SIZE = 88 };

/* level -7, list 1 2 3, price -2.5, rates 0.25 0.5, moves -1 4, pair 8 9 */
static void fill_numbers(uint8_t raw[NUMBERS_SIZE])
{
	const int16_t level = -7;
	const uint32_t list[] = {1, 2, 3}, rates_at = 24 | 8 << 16, moves_at = 72 | 16 << 16;
	const double price = -2.5;
	const float rates[] = {0.25, 0.5};
	const int64_t moves[] = {-1, 4};
	const uint16_t pair[] = {8, 9};

	memset(raw, 0, NUMBERS_SIZE);
	memcpy(raw + 8, &level, 2);
	memcpy(raw + 12, list, 12);
	memcpy(raw + 24, &price, 8);
	memcpy(raw + 32, &rates_at, 4);
	memcpy(raw + 36, &moves_at, 4);
	memcpy(raw + 40, pair, 4);
	memcpy(raw + 60, rates, 8); /* 36 + 24 */
	memcpy(raw + 72, moves, 16);
}

static void test_elements(void **state)
{
	struct attar_format *f = parse(NUMBERS);
	const struct attar_field *list = field(f, "list"), *rates = field(f, "rates"),
				 *moves = field(f, "moves"), *pair = field(f, "pair");
	uint8_t raw[NUMBERS_SIZE];
	const size_t n = sizeof(raw);

	fill_numbers(raw);
	assert_int_equal(attar_field_count(field(f, "level"), raw, n), 1);
	assert_int_equal(attar_field_i64_at(field(f, "level"), raw, n, 0), -7);
	assert_true(attar_field_double(field(f, "level"), raw, n) == -7);
	assert_int_equal(attar_field_count(list, raw, n), 3);
	assert_int_equal(attar_field_u64_at(list, raw, n, 2), 3);
	assert_int_equal(attar_field_u64_at(list, raw, n, 3), 0);
	assert_true(attar_field_double(list, raw, n) == 0); /* not one number */
	assert_true(attar_field_double(field(f, "price"), raw, n) == -2.5);
	assert_int_equal(attar_field_i64_at(field(f, "price"), raw, n, 0), -2);
	assert_int_equal(attar_field_count(rates, raw, n), 2);
	assert_true(attar_field_double_at(rates, raw, n, 0) == 0.25);
	assert_true(attar_field_double_at(rates, raw, n, 1) == 0.5);
	assert_int_equal(attar_field_count(moves, raw, n), 2);
	assert_int_equal(attar_field_i64_at(moves, raw, n, 0), -1);
	assert_true(attar_field_double_at(moves, raw, n, 0) == -1);
	assert_int_equal(attar_field_count(pair, raw, n), 2);
	assert_int_equal(attar_field_u64_at(pair, raw, n, 1), 9);
	assert_int_equal(attar_field_count(field(f, "comm"), raw, n), 0);
	assert_int_equal(attar_field_u64_at(field(f, "comm"), raw, n, 0), 0);
	attar_format_free(f);
}

/* Floating-point numbers that no integer has. */
static void test_truncated(void **state)
{
	static const double none[] = {18446744073709551616.0, -9223372036854777856.0,
		__builtin_inf(), -__builtin_inf(), __builtin_nan("")};
	struct attar_format *f = parse(NUMBERS);
	const struct attar_field *price = field(f, "price");
	const double largest = 18446744073709549568.0, least = -9223372036854775808.0;
	uint8_t raw[NUMBERS_SIZE];

	fill_numbers(raw);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		memcpy(raw + 24, &none[i], 8);
		assert_int_equal(attar_field_u64_at(price, raw, sizeof(raw), 0), 0);
	}
	memcpy(raw + 24, &largest, 8);
	assert_true(attar_field_u64_at(price, raw, sizeof(raw), 0) == 18446744073709549568ULL);
	memcpy(raw + 24, &least, 8);
	assert_true(attar_field_i64_at(price, raw, sizeof(raw), 0) == INT64_MIN);
	attar_format_free(f);
}

/* Records of each length, and every value of both location words. */
static void test_elements_of_hostile_records(void **state)
{
	struct attar_format *f = parse(NUMBERS);
	const struct attar_field *moves = field(f, "moves");
	uint8_t raw[NUMBERS_SIZE];

	fill_numbers(raw);
	for (size_t size = 0; size <= sizeof(raw); size++) {
		uint8_t *cut = malloc(size ? size : 1); /* a sanitizer finds reads beyond it */

		memcpy(cut, raw, size);
		for (size_t i = 0; i < f->n_fields; i++)
			for (size_t at = 0; at < 4; at++)
				if (attar_field_count(&f->fields[i], cut, size) <= at) {
					assert_int_equal(
						attar_field_u64_at(&f->fields[i], cut, size, at),
						0);
					assert_true(attar_field_double_at(
							    &f->fields[i], cut, size, at) == 0);
				}
		assert_int_equal(attar_field_count(moves, cut, size), size < 88 ? 0 : 2);
		free(cut);
	}
	for (uint32_t word = 0; word < 1 << 16; word += 7) {
		uint32_t here = word | 16 << 16, long_one = 72 | word << 16;

		memcpy(raw + 36, &here, 4);
		assert_int_equal(attar_field_count(moves, raw, sizeof(raw)), word <= 72 ? 2 : 0);
		memcpy(raw + 36, &long_one, 4);
		assert_int_equal(
			attar_field_count(moves, raw, sizeof(raw)), word <= 16 ? word / 8 : 0);
	}
	attar_format_free(f);
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"ID: 3\n",
		"ID: x\nname: y\n",
		"name: x\nID: 99999999999\n",
		"name: x\nID: 1\n\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:0;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:65000;\tsize:65000;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:-1;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a];\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:__data_loc char[] a;\toffset:0;\tsize:2;\tsigned:1;\n",
	};
	struct attar_format *format = (struct attar_format *)&format;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(
			attar_format_parse("s", bad[i], strlen(bad[i]), &format), -EBADMSG);
	assert_ptr_equal(format, &format); /* unchanged by failures */
	attar_format_parse("s", bad[6], strlen(bad[6]), &format);
	assert_string_equal(
		attar_error(), "line 3 of the tracepoint's format is malformed: '\tfield:int a'");
}

static void test_need(void **state)
{
	struct attar_format *f =
		parse(COMMON "\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n");
	const struct attar_field *ret;

	assert_int_equal(attar_format_need(f, "prev_pid", &ret), 0);
	assert_int_equal(attar_format_need(f, "prev_pit", &ret), -ENOENT);
	assert_string_equal(
		attar_error(), "sys:thing has no field 'prev_pit': did you mean 'prev_pid'?");
	attar_format_free(f);
}

/* ---- live ---- */

static struct attar_catalog *live(void)
{
	struct attar_catalog *catalog = NULL;
	const char *path;

	assert_int_equal(attar_catalog_new(
				 &(struct attar_catalog_opts){
					 .size = sizeof(struct attar_catalog_opts), .mount = true},
				 &catalog),
		0);
	if (attar_catalog_tracefs(catalog, &path) < 0) {
		print_message("skipped: %s\n", attar_error());
		attar_catalog_free(catalog);
		skip();
	}
	return catalog;
}

static void test_live_all(void **state)
{
	struct attar_catalog *catalog = live();
	dir_names systems = {0};
	size_t n = 0, fields = 0;

	assert_int_equal(tracefs_systems(&catalog->tracefs, &systems), 0);
	vec_each (&systems, system) {
		dir_names events = {0};

		assert_int_equal(tracefs_events(&catalog->tracefs, *system, &events), 0);
		vec_each (&events, event) {
			const struct attar_format *format = NULL;
			int r = attar_catalog_format(catalog, *system, *event, &format);

			if (r == -ENOENT)
				continue; /* removed concurrently */
			if (r < 0)
				fail_msg("%s:%s: %s", *system, *event, attar_error());
			assert_non_null(attar_format_field(format, "common_pid"));
			n++;
			for (size_t i = 0; i < format->n_fields; i++, fields++) {
				const struct attar_field *f = &format->fields[i];

				assert_true(f->name[0] && f->type[0]);
				if (f->kind == ATTAR_FIELD_NUMBER)
					assert_true(f->size <= 8 && f->element == f->size);
				if (f->kind == ATTAR_FIELD_ARRAY)
					assert_true(f->element && f->element <= 8);
			}
		}
		dir_names_done(&events);
	}
	print_message("%zu tracepoints with %zu fields\n", n, fields);
	assert_true(n > 100);
	dir_names_done(&systems);
	attar_catalog_free(catalog);
}

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

static bool open_ring(struct ring *ring, uint64_t config)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.disabled = 1};

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return false;
	ring->page = mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	return ring->page != MAP_FAILED;
}

static long switches_away(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Context switches away from this task: prev_pid and prev_comm are ours. */
static void test_live_switch(void **state)
{
	struct attar_catalog *catalog = live();
	const struct attar_format *format;
	const struct attar_field *pid, *comm, *common_pid, *type;
	struct ring ring;
	char own[32] = "";
	uint64_t seen = 0, at = 0;
	FILE *file = fopen("/proc/self/comm", "r");

	assert_non_null(fgets(own, sizeof(own), file));
	fclose(file);
	own[strcspn(own, "\n")] = '\0';
	assert_int_equal(attar_catalog_format(catalog, "sched", "sched_switch", &format), 0);
	assert_int_equal(attar_format_need(format, "prev_pid", &pid), 0);
	assert_int_equal(attar_format_need(format, "prev_comm", &comm), 0);
	assert_int_equal(attar_format_need(format, "common_pid", &common_pid), 0);
	assert_int_equal(attar_format_need(format, "common_type", &type), 0);
	if (!open_ring(&ring, format->id)) {
		attar_catalog_free(catalog);
		skip();
	}
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	/*
	 * On a slow machine a sleep may return without a switch: compare with the kernel's count.
	 */
	for (long end = switches_away() + 23; switches_away() < end;)
		poll(NULL, 0, 1);
	ioctl(ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (at < ring.page->data_head && at < 8 * 4096) {
		const struct perf_event_header *h = (void *)((char *)ring.page + 4096 + at);
		const uint32_t *size = (const uint32_t *)(h + 1);
		const void *raw = size + 1;
		size_t len;
		const char *text;

		at += h->size;
		if (h->type != PERF_RECORD_SAMPLE || attar_field_i64(pid, raw, *size) != getpid())
			continue;
		assert_int_equal(attar_field_u64(type, raw, *size), format->id);
		assert_int_equal(attar_field_i64(common_pid, raw, *size), getpid());
		text = attar_field_string(comm, raw, *size, &len);
		assert_non_null(text);
		assert_int_equal(len, strlen(own));
		assert_memory_equal(text, own, len);
		seen++;
	}
	assert_true(seen >= 23);
	munmap(ring.page, 9 * 4096);
	close(ring.fd);
	attar_catalog_free(catalog);
}

static void test_live_errors(void **state)
{
	struct attar_catalog *catalog = live();
	const struct attar_format *format;

	assert_int_equal(attar_catalog_format(catalog, "sched", "sched_swich", &format), -ENOENT);
	assert_string_equal(attar_error(),
		"no tracepoint 'sched:sched_swich': did you mean 'sched:sched_switch'?");
	assert_int_equal(attar_catalog_format(catalog, "sced", "sched_switch", &format), -ENOENT);
	assert_string_equal(attar_error(),
		"no tracepoint 'sced:sched_switch': did you mean 'sched:sched_switch'?");
	assert_int_equal(attar_catalog_format(catalog, "zzzzzz", "qqqqqqq", &format), -ENOENT);
	assert_string_equal(attar_error(),
		"no tracepoint 'zzzzzz:qqqqqqq': this kernel has no system 'zzzzzz'; a group of "
		"probes exists after a tool has created it, attar itself creates uprobe:NAME@FILE "
		"and kprobe:NAME");
	assert_int_equal(
		attar_catalog_format(catalog, "kprobes", "sched_switch", &format), -ENOENT);
	assert_string_equal(attar_error(),
		"no tracepoint 'kprobes:sched_switch': no tool has created this probe: attar "
		"creates it for kprobe:sched_switch");
	assert_int_equal(attar_catalog_format(catalog, "..", "sched", &format), -EINVAL);
	assert_int_equal(
		attar_catalog_format(catalog, "sched", "../sched/sched_switch", &format), -EINVAL);
	attar_catalog_free(catalog);
}

/* ---- where tracefs is ---- */

static void test_find(void **state)
{
	char text[1024], path[512], *found = NULL;
	const char *root = folder_make();

	snprintf(path, sizeof(path), "mkdir -p %s/self '%s/a b/events' %s/dbg/tracing/events", root,
		root, root);
	assert_int_equal(system(path), 0);
	folder_line("self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw");
	folder_line("filesystems", "nodev\ttracefs");
	assert_int_equal(tracefs_find(root, &found), -ENODEV);
	assert_string_equal(attar_error(),
		"tracefs is not mounted, so tracepoint names cannot be resolved: "
		"mount -t tracefs nodev /sys/kernel/tracing");
	folder_line("filesystems", "nodev\tproc");
	assert_int_equal(tracefs_find(root, &found), -EOPNOTSUPP);
	assert_non_null(strstr(attar_error(), "CONFIG_TRACING"));
	snprintf(text, sizeof(text), "1 2 0:1 / %s/dbg rw shared:3 - debugfs none rw", root);
	folder_line("self/mountinfo", text);
	assert_int_equal(tracefs_find(root, &found), 0);
	assert_non_null(strstr(found, "/dbg/tracing"));
	free(found);
	/* A path with a space, and a bind mount of a subdirectory, which must be ignored. */
	snprintf(text, sizeof(text),
		"1 2 0:1 /instances/x %s/dbg/tracing rw - tracefs none rw\nbroken\n\n"
		"2 2 0:1 / %s/a\\040b rw - tracefs nodev rw",
		root, root);
	folder_line("self/mountinfo", text);
	assert_int_equal(tracefs_find(root, &found), 0);
	assert_non_null(strstr(found, "/a b"));
	free(found);
	folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_dynamic_fields_have_no_count),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_number_types),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_elements_of_hostile_records),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_live_all),
		cmocka_unit_test(test_live_switch),
		cmocka_unit_test(test_live_errors),
	};

	return cmocka_run_group_tests_name("event_format", tests, NULL, NULL);
}
