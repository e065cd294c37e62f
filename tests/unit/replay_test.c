/* SPDX-License-Identifier: MIT */
/* Losses of a recording lie between its rounds, in which the rings were read. */
#include "unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording_file.h"
#include "perfdata/format.h"
#include "perfdata/recording.h"
#include "stream/stream.h"

enum {
	ID = 71,
	TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
};

static void put_begin(struct file_builder *f)
{
	f->pipe = true;
	put_u64(f, PERF_DATA_MAGIC);
	put_u64(f, DATA_PIPE_HEADER);
	put_header(f, RECORD_ATTR, 0, 8 + ATTR_BYTES + 8);
	put_u32(f, PERF_TYPE_TRACEPOINT);
	put_u32(f, ATTR_BYTES);
	put_u64(f, 7);
	put_u64(f, 1); /* sample_period */
	put_u64(f, TYPE);
	put_u64(f, 0);
	put_u64(f, 1 << 18); /* sample_id_all */
	put_zeros(f, ATTR_BYTES - 48);
	put_u64(f, ID);
}

static void put_sample_of(struct file_builder *f, uint64_t cpu, uint64_t time)
{
	put_header(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40);
	put_u64(f, ID);
	put_u64(f, UINT64_C(100) << 32 | 100);
	put_u64(f, time);
	put_u64(f, cpu);
}

static void put_loss(struct file_builder *f, uint64_t cpu, uint64_t time)
{
	put_header(f, PERF_RECORD_LOST, 0, 56);
	put_u64(f, ID);
	put_u64(f, 5);
	put_u64(f, UINT64_C(100) << 32 | 100);
	put_u64(f, time);
	put_u64(f, cpu);
	put_u64(f, ID);
}

static void put_round(struct file_builder *f)
{
	put_header(f, RECORD_FINISHED_ROUND, 0, 8);
}

/* The only loss of the recording. */
static struct attar_event find_loss(struct file_builder *f)
{
	struct attar_event ev, found = {0};
	struct recording *recording;
	struct attar_symbols *symbols;
	struct attar_stream *stream;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	char path[64];
	int losses = 0;

	assert_int_equal(write(fd, f->bytes.data, f->bytes.len), f->bytes.len);
	buf_done(&f->bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(recording_open(path, &recording), 0);
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	assert_int_equal(stream_replay(recording, symbols, &stream), 0);
	assert_int_equal(attar_stream_start(stream), 0);
	while (!stream_drained(stream))
		while (attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_LOST) {
				found = ev;
				losses++;
			}
	assert_int_equal(losses, 1);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	close(fd);
	return found;
}

/* The newest record of the round before is of CPU 1: CPU 0 may have lost some before it. */
static void test_loss_at_the_begin_of_a_round(void **state)
{
	struct file_builder f = {0};
	struct attar_event loss;

	put_begin(&f);
	put_sample_of(&f, 0, 10);
	put_round(&f);
	put_sample_of(&f, 0, 20);
	put_sample_of(&f, 1, 35);
	put_round(&f);
	put_loss(&f, 0, 40);
	put_sample_of(&f, 0, 41);
	put_round(&f);
	loss = find_loss(&f);
	assert_in_range(loss.lost_from, 10, 20);
	assert_int_equal(loss.lost_to, 40);
}

/* The ring of CPU 0 was empty in the last two rounds. */
static void test_loss_after_empty_rounds(void **state)
{
	struct file_builder f = {0};
	struct attar_event loss;

	put_begin(&f);
	put_sample_of(&f, 0, 10);
	put_round(&f);
	put_sample_of(&f, 1, 25);
	put_round(&f);
	put_sample_of(&f, 1, 35);
	put_round(&f);
	put_loss(&f, 0, 40);
	put_sample_of(&f, 0, 41);
	put_round(&f);
	loss = find_loss(&f);
	assert_int_equal(loss.lost_from, 25);
	assert_int_equal(loss.lost_to, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_at_the_begin_of_a_round),
		cmocka_unit_test(test_loss_after_empty_rounds),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
