/* SPDX-License-Identifier: MIT */
/* The reader of perf.data, on files that the test builds: complete, truncated and damaged. */
#include "unit.h"
#include "recording_file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "perfdata/format.h"
#include "perfdata/recording.h"

enum { SAMPLES = 25 };

/* A path of an anonymous file with these bytes; *ret_fd must be closed. */
static const char *file_with(const void *bytes, size_t len, int *ret_fd)
{
	static char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, bytes, len), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*ret_fd = fd;
	return path;
}

static const char *file_of(const struct file_builder *f, int *ret_fd)
{
	assert_false(buf_failed(&f->bytes));
	return file_with(f->bytes.data, f->bytes.len, ret_fd);
}

/* Reads to the end; checks that the times are 1, 2, ... Returns the number of samples. */
static unsigned read_samples(struct recording *r)
{
	struct recording_part part;
	unsigned n = 0;
	int ret;

	while ((ret = recording_next(r, &part)) > 0) {
		assert_int_equal((uintptr_t)part.bytes % 8, 0);
		for (size_t at = 0; at < part.len;) {
			struct perf_event_header header;
			struct attar_layout layout;
			struct attar_record rec;
			const char *bytes = (const char *)part.bytes + at;
			int index;

			memcpy(&header, bytes, sizeof(header));
			at += header.size;
			if (header.type != PERF_RECORD_SAMPLE)
				continue;
			index = recording_event_of(r, (const void *)bytes);
			assert_true(index >= 0);
			attar_layout_init(&layout, &recording_get_event(r, (size_t)index)->attr);
			assert_int_equal(attar_record_parse(&layout, bytes, header.size, &rec), 0);
			n++;
			assert_int_equal(rec.time, n);
			assert_int_equal(rec.tid, n);
			assert_int_equal(index, n % 3 == 1);
		}
		recording_release(r, &part);
	}
	assert_int_equal(ret, 0);
	return n;
}

static void check_events(struct recording *r)
{
	const struct recording_event *event;

	assert_int_equal(recording_n_events(r), 2);
	event = recording_get_event(r, 0);
	assert_string_equal(event->name, "test:first");
	assert_int_equal(event->attr.config, 71);
	assert_int_equal(event->attr.sample_id_all, 1);
	assert_int_equal(event->n_ids, 2);
	assert_int_equal(event->ids[1], 1002);
	assert_memory_equal(event->format_text, "name: event71\n", 14);
	event = recording_get_event(r, 1);
	assert_string_equal(event->name, "test:second");
	assert_int_equal(event->ids[0], 2001);
	assert_null(recording_get_event(r, 2));
	assert_int_equal(recording_find(r, 2001), 1);
	assert_int_equal(recording_find(r, 3), -1);
}

static void check_facts(struct recording *r)
{
	const struct recording_facts *facts = recording_get_facts(r);
	const struct recording_build_id *ids;
	size_t n;

	assert_string_equal(facts->hostname, "myhost");
	assert_null(facts->release);
	assert_string_equal(facts->cmdline, "perf record");
	assert_int_equal(facts->cpus_available, 8);
	assert_int_equal(facts->cpus_online, 6);
	assert_int_equal(facts->last_time, 25);
	assert_true(facts->has_clock_data);
	assert_int_equal(facts->clockid, 4);
	assert_int_equal(facts->wall_ns, 1700000000000000000);
	assert_int_equal(facts->clock_ns, 123);
	assert_int_equal(facts->page_size, 4096);
	assert_memory_equal(facts->printk_formats.at, "fmt\n", 4);
	assert_memory_equal(facts->saved_cmdlines.at, "1 init\n", 7);
	assert_false(facts->unfinished);
	ids = recording_build_ids(r, &n);
	assert_int_equal(n, 1);
	assert_string_equal(ids[0].filename, "/bin/program");
	assert_int_equal(ids[0].size, 16);
	assert_int_equal(ids[0].id[15], 15);
	assert_int_equal(ids[0].pid, -1);
	assert_int_equal(ids[0].misc, PERF_RECORD_MISC_USER);
}

static void check_whole(const char *path)
{
	struct recording_stats stats;
	struct recording *r;

	if (recording_open(path, &r) < 0)
		fail_msg("%s", attar_error());
	check_events(r);
	assert_int_equal(read_samples(r), SAMPLES);
	check_facts(r);
	recording_get_stats(r, &stats);
	assert_null(stats.damage);
	assert_int_equal(stats.records, SAMPLES);
	assert_int_equal(stats.bytes, SAMPLES * SAMPLE_BYTES);
	assert_int_equal(stats.rounds, 2);
	assert_int_equal(stats.unread, 0);
	assert_int_equal(stats.malformed, 0);
	recording_close(r);
}

static void check_kinds(uint32_t attr_bytes)
{
	for (unsigned i = 0; i < 4; i++) {
		struct file_builder f = {.swapped = i & 1, .attr_bytes = attr_bytes};
		int fd;

		if (i & 2)
			build_pipe(&f, SAMPLES);
		else
			build_file(&f, SAMPLES, NULL);
		check_whole(file_of(&f, &fd));
		close(fd);
		buf_done(&f.bytes);
	}
}

static void test_file_and_saved_pipe(void **state)
{
	check_kinds(0);
}

/*
 * struct perf_event_attr has grown: it had 64 bytes at first, 112 since Linux 4.1, 136 since 6.3.
 * Newer ones are larger.
 */
static void test_attributes_of_each_release(void **state)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_kinds(sizes[i]);
}

/* A pipe whose writer stops after each byte: never waits, and loses nothing. */
static void test_pipe_byte_by_byte(void **state)
{
	struct file_builder f = {0};
	struct recording_part part;
	struct recording *r;
	unsigned records = 0, rounds = 0;
	size_t first = 0;
	char path[64];
	int fds[2];

	build_pipe(&f, SAMPLES);
	first = f.bytes.len - SAMPLES * SAMPLE_BYTES - 2 * 8 + SAMPLE_BYTES;
	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(file_write_all(fds[1], f.bytes.data, first), 0);
	assert_int_equal(recording_open(path, &r), 0);
	assert_true(recording_fd(r) >= 0);
	for (size_t at = first;; at++) {
		int ret;

		while ((ret = recording_next(r, &part)) > 0) {
			records += (unsigned)(part.len / SAMPLE_BYTES);
			rounds += part.ends_round;
			recording_release(r, &part);
		}
		if (ret == 0)
			break;
		assert_int_equal(ret, -EAGAIN);
		if (at < f.bytes.len)
			assert_int_equal(write(fds[1], f.bytes.data + at, 1), 1);
		else
			assert_int_equal(close(fds[1]), 0);
	}
	assert_int_equal(records, SAMPLES);
	assert_int_equal(rounds, 2);
	recording_close(r);
	close(fds[0]);
	buf_done(&f.bytes);
}

/* What is in front of the cut is read; the reader says that something is missing. */
static void check_truncated(const struct file_builder *f, size_t len, size_t data, size_t end)
{
	int fd, ret;
	struct recording_stats stats;
	struct recording *r;
	unsigned n;

	ret = recording_open(file_with(f->bytes.data, len, &fd), &r);
	close(fd);
	if (ret < 0) {
		assert_true(len < data + SAMPLE_BYTES);
		assert_int_equal(ret, -EBADMSG);
		assert_true(strlen(attar_error()) > 10);
		return;
	}
	n = read_samples(r);
	recording_get_stats(r, &stats);
	assert_non_null(stats.damage);
	if (len >= end)
		assert_int_equal(n, SAMPLES);
	else
		assert_int_equal(n, (len - data - (len - data) / 328 * 8) / SAMPLE_BYTES);
	recording_close(r);
}

static void test_truncated_anywhere(void **state)
{
	struct file_builder f = {0};
	uint64_t data;

	build_file(&f, SAMPLES, &data);
	for (size_t len = 0; len < f.bytes.len; len++)
		check_truncated(&f, len, data, data + SAMPLES * SAMPLE_BYTES + 16);
	buf_done(&f.bytes);
}

static void test_truncated_pipe(void **state)
{
	struct file_builder f = {0};

	build_pipe(&f, SAMPLES);
	for (size_t len = 0; len < f.bytes.len; len++) {
		struct recording *r;
		int fd, ret = recording_open(file_with(f.bytes.data, len, &fd), &r);

		close(fd);
		if (ret < 0) {
			assert_int_equal(ret, -EBADMSG);
			continue;
		}
		read_samples(r);
		recording_close(r);
	}
	buf_done(&f.bytes);
}

/* Every byte replaced by extreme values: any result but a crash, a hang or a leak. */
static void test_each_byte_replaced(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		struct file_builder f = {.swapped = i & 1};

		if (i & 2)
			build_pipe(&f, SAMPLES);
		else
			build_file(&f, SAMPLES, NULL);
		for (size_t at = 0; at < f.bytes.len; at++) {
			char byte = f.bytes.data[at];
			struct recording_part part;
			struct recording *r;
			int fd;

			f.bytes.data[at] = (char)(at % 2 ? 0xff : byte ^ 0x80);
			if (recording_open(file_of(&f, &fd), &r) == 0) {
				while (recording_next(r, &part) > 0)
					recording_release(r, &part);
				recording_close(r);
			}
			close(fd);
			f.bytes.data[at] = byte;
		}
		buf_done(&f.bytes);
	}
}

static void open_fails(const char *path, int code, const char *text)
{
	struct recording *r;

	assert_int_equal(recording_open(path, &r), code);
	if (!strstr(attar_error(), text))
		fail_msg("\"%s\" lacks \"%s\"", attar_error(), text);
}

static void test_not_a_recording(void **state)
{
	int fd;

	open_fails("/nowhere/x.data", -ENOENT, "cannot open /nowhere/x.data: No such file");
	open_fails("/tmp", -EISDIR, "/tmp is a directory, not a recording");
	open_fails("/dev/null", -EBADMSG, "'/dev/null' is empty: it is not a recording");
	open_fails(file_with("", 0, &fd), -EBADMSG, "is empty: it is not a recording");
	close(fd);
	open_fails(file_with("hello, world, this is text", 26, &fd), -EBADMSG,
		"is not a recording: it does not start with PERFILE2");
	close(fd);
	open_fails(file_with("PERFFILE\150\0\0\0\0\0\0\0", 16, &fd), -ENOTSUP, "version 1");
	close(fd);
}

/* A file of 10 GB with nothing but a header and zeros ends at once and allocates little. */
static void test_sparse_file(void **state)
{
	struct file_builder f = {0};
	struct recording_stats stats;
	struct recording_part part;
	struct recording *r;
	const char *path;
	uint64_t data, size = 10ULL << 30;
	int fd;

	build_file(&f, 0, &data);
	memcpy(f.bytes.data + 48, &size, sizeof(size)); /* data.size */
	path = file_with(f.bytes.data, data, &fd);
	assert_int_equal(ftruncate(fd, (off_t)(data + size)), 0);
	assert_int_equal(recording_open(path, &r), 0);
	assert_int_equal(recording_next(r, &part), 0);
	recording_get_stats(r, &stats);
	assert_non_null(strstr(stats.damage, "its list of features would have"));
	assert_int_equal(stats.unread, size);
	recording_close(r);
	close(fd);
	buf_done(&f.bytes);
}

/* Kept parts stay intact while others are read and released. */
static void test_parts_are_kept(void **state)
{
	struct file_builder f = {0};
	struct recording_part parts[128];
	struct recording *r;
	unsigned n = 0, samples = 0;
	int fd;

	build_file(&f, 640, NULL);
	assert_int_equal(recording_open(file_of(&f, &fd), &r), 0);
	while (recording_next(r, &parts[n]) > 0)
		assert_true(++n < ARRAY_SIZE(parts));
	for (unsigned i = 0; i < n; i++) {
		for (size_t at = 0; at < parts[i].len; at += SAMPLE_BYTES) {
			uint64_t time;

			memcpy(&time, (const char *)parts[i].bytes + at + 24, sizeof(time));
			assert_int_equal(time, ++samples);
		}
		recording_release(r, &parts[i]);
	}
	assert_int_equal(samples, 640);
	recording_close(r);
	close(fd);
	buf_done(&f.bytes);
}

/* AUX areas are passed over; records behind one that is not a multiple of 8 are aligned. */
static void test_aux_and_odd_records(void **state)
{
	struct file_builder f = {0};
	struct recording_stats stats;
	struct recording *r;
	int fd;

	build_pipe(&f, 1);
	put_header(&f, 99, 0, 13); /* of a newer tool */
	put_zeros(&f, 5);
	put_sample(&f, 1002, 2, 2);
	put_header(&f, RECORD_AUXTRACE, 0, 48);
	put_u64(&f, 1 << 20);
	put_zeros(&f, 32 + (1 << 20));
	put_sample(&f, 1001, 3, 3);
	assert_int_equal(recording_open(file_of(&f, &fd), &r), 0);
	assert_int_equal(read_samples(r), 3);
	recording_get_stats(r, &stats);
	assert_null(stats.damage);
	assert_int_equal(stats.aux_bytes, 1 << 20);
	assert_int_equal(stats.skipped, 1);
	assert_true(recording_get_facts(r)->has_aux);
	recording_close(r);
	close(fd);
	buf_done(&f.bytes);
}

/* One bit of the type of a sample has changed. */
static void test_damaged_type(void **state)
{
	struct file_builder f = {0};
	struct recording_stats stats;
	struct recording *r;
	uint64_t data;
	int fd;

	build_file(&f, 20, &data);
	f.bytes.data[data + SAMPLE_BYTES * 19 + sizeof(struct perf_event_header) + 1] ^= 0x40;
	assert_int_equal(recording_open(file_of(&f, &fd), &r), 0);
	assert_int_equal(read_samples(r), 19);
	recording_get_stats(r, &stats);
	assert_string_equal(stats.damage, "a record has the type 16393, so that it cannot be read");
	recording_close(r);
	close(fd);
	buf_done(&f.bytes);
}

static void test_compressed(void **state)
{
#ifndef HAVE_ZSTD
	skip();
#else
	for (unsigned i = 0; i < 4; i++) {
		struct file_builder f = {.swapped = i & 1};
		struct recording_stats stats;
		struct recording *r;
		int fd;

		build_compressed(&f, 20000, i & 2);
		assert_int_equal(recording_open(file_of(&f, &fd), &r), 0);
		assert_int_equal(read_samples(r), 20000);
		recording_get_stats(r, &stats);
		assert_null(stats.damage);
		assert_true(stats.compressed_bytes > 0);
		assert_int_equal(stats.rounds, 1);
		assert_true(recording_get_facts(r)->compressed);
		recording_close(r);
		close(fd);
		buf_done(&f.bytes);
	}
#endif
}

/* What is in front of damaged compressed data is read. */
static void test_damaged_compressed(void **state)
{
#ifndef HAVE_ZSTD
	skip();
#else
	struct file_builder f = {0};
	struct recording_stats stats;
	struct recording *r;
	int fd;

	build_compressed(&f, 100, false);
	memset(f.bytes.data + f.bytes.len - 40, 0xff, 40);
	assert_int_equal(recording_open(file_of(&f, &fd), &r), 0);
	assert_true(read_samples(r) >= 50);
	recording_get_stats(r, &stats);
	assert_non_null(strstr(stats.damage, "its compressed data"));
	recording_close(r);
	close(fd);
	buf_done(&f.bytes);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_and_saved_pipe),
		cmocka_unit_test(test_attributes_of_each_release),
		cmocka_unit_test(test_pipe_byte_by_byte),
		cmocka_unit_test(test_truncated_anywhere),
		cmocka_unit_test(test_truncated_pipe),
		cmocka_unit_test(test_each_byte_replaced),
		cmocka_unit_test(test_not_a_recording),
		cmocka_unit_test(test_sparse_file),
		cmocka_unit_test(test_parts_are_kept),
		cmocka_unit_test(test_aux_and_odd_records),
		cmocka_unit_test(test_damaged_type),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_damaged_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
