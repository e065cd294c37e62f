/* SPDX-License-Identifier: MIT */
/*
 * Recordings with samples of all sets of fields, in random order of CPUs and threads, with other
 * records between them: each sample is delivered once, in order of time, with all of its fields.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "random.h"
#include "recording_file.h"
#include "unit.h"

#include "base/base.h"
#include "perfdata/format.h"
#include "perfdata/recording.h"
#include "stream/stream.h"

enum { CPUS = 3, TIDS = 40, FIRST_TIME = 1000, STEP = 10, EXITS = 97 };

static uint64_t samples, all_repeats, all_turns;

/* What sample i is, computed from i. */
struct expected {
	uint64_t type; /* sample_type of its event */
	uint64_t ip, addr, period, time;
	uint32_t cpu, pid, tid;
	size_t event;
	uint64_t id;
	uint16_t misc;
	uint32_t chain, raw; /* entries; bytes */
	bool is_bad;         /* its raw data does not fit */
	bool has_comm;       /* a COMM record of its thread follows */
};

struct mode {
	uint64_t type;
	const uint64_t *types; /* of each event; NULL: all are of that type */
	size_t events;
	unsigned burst; /* samples of a CPU in turn */
	bool all_equal; /* sizes do not vary */
	bool all_plain; /* no other records */
	bool repeats;   /* those after each sample are taken together */
	bool turns;     /* two events take turns, and are taken together */
	bool odd;       /* some samples have the time 0; tids are used by two processes in turn */
};

static uint64_t number(uint64_t i, uint64_t salt)
{
	return base_hash64(i * 64 + salt + 1);
}

static uint64_t type_of(const struct mode *m, size_t event)
{
	return m->types ? m->types[event] : m->type;
}

static struct expected expect(const struct mode *m, uint64_t i)
{
	size_t event = (m->turns ? i : number(i / 7, 5)) % m->events;
	uint64_t type = type_of(m, event);
	struct expected e = {.type = type,
		.ip = number(i, 0),
		.addr = number(i, 1),
		.period = type & PERF_SAMPLE_PERIOD ? 1 + number(i, 2) % 5 : 1,
		.time = FIRST_TIME + i * STEP,
		.cpu = (uint32_t)(number(i / m->burst, 3) % CPUS),
		.misc = number(i, 4) % 2 ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL,
		.event = event};

	e.pid = 1000 + (m->odd ? number(i / 11, 16) % 2 : 0);
	e.tid = 1000 + (uint32_t)(number(i / 5, 6) % TIDS);
	e.id = 71 + e.event * 10 + (m->turns ? 0 : number(i, 7) % 2);
	e.chain = type & PERF_SAMPLE_CALLCHAIN ? number(i, 8) % 9 : 0;
	e.raw = type & PERF_SAMPLE_RAW ? m->all_equal ? 20 : 4 + 8 * (number(i, 9) % 6) : 0;
	e.is_bad = !m->all_plain && type & PERF_SAMPLE_RAW && number(i, 10) % 50 == 0;
	e.has_comm = !m->all_plain && number(i, 11) % 40 == 0;
	return e;
}

/* ---- writing ---- */

static void put_event(struct file_builder *f, const struct mode *m, size_t event)
{
	put_header(f, RECORD_ATTR, 0, 8 + ATTR_BYTES + 16);
	put_u32(f, PERF_TYPE_TRACEPOINT);
	put_u32(f, ATTR_BYTES);
	put_u64(f, 7 + event);
	put_u64(f, 1); /* sample_period */
	put_u64(f, type_of(m, event));
	put_u64(f, 0);
	put_u64(f, 1 << 18); /* sample_id_all */
	put_zeros(f, ATTR_BYTES - 48);
	put_u64(f, 71 + event * 10);
	put_u64(f, 72 + event * 10);
}

static void put_if(struct file_builder *f, bool is_there, uint64_t word)
{
	if (is_there)
		put_u64(f, word);
}

/* Raw data of word w. */
static uint64_t raw_word(uint64_t i, uint32_t w)
{
	return number(i, 20 + w);
}

static void put_one(struct file_builder *f, const struct mode *m, uint64_t i)
{
	struct expected e = expect(m, i);
	struct file_builder one = {0};
	uint64_t type = e.type;

	put_if(&one, type & PERF_SAMPLE_IDENTIFIER, e.id);
	put_if(&one, type & PERF_SAMPLE_IP, e.ip);
	put_if(&one, type & PERF_SAMPLE_TID, (uint64_t)e.tid << 32 | e.pid);
	put_if(&one, type & PERF_SAMPLE_TIME, m->odd && number(i, 15) % 20 == 0 ? 0 : e.time);
	put_if(&one, type & PERF_SAMPLE_ADDR, e.addr);
	put_if(&one, type & PERF_SAMPLE_ID, e.id);
	put_if(&one, type & PERF_SAMPLE_STREAM_ID, e.id);
	put_if(&one, type & PERF_SAMPLE_CPU, e.cpu);
	put_if(&one, type & PERF_SAMPLE_PERIOD, e.period);
	put_if(&one, type & PERF_SAMPLE_CALLCHAIN, e.chain);
	for (uint32_t k = 0; k < e.chain; k++)
		put_u64(&one, number(i, 40 + k));
	if (type & PERF_SAMPLE_RAW) {
		put_u32(&one, e.is_bad ? e.raw + 800 : e.raw);
		put_u32(&one, (uint32_t)raw_word(i, 0));
		for (uint32_t w = 1; w <= e.raw / 8; w++)
			put_u64(&one, raw_word(i, w));
	}
	put_header(f, PERF_RECORD_SAMPLE, e.misc, 8 + one.bytes.len);
	buf_add(&f->bytes, one.bytes.data, one.bytes.len);
	buf_done(&one.bytes);
}

/* Renames the thread of sample i to "tI", at the time after it. */
static void put_comm(struct file_builder *f, const struct mode *m, uint64_t i)
{
	struct expected e = expect(m, i);
	uint64_t type = e.type;
	struct file_builder one = {0};
	char comm[16] = "";

	snprintf(comm, sizeof(comm), "t%llu", (unsigned long long)i);
	put_u32(&one, e.pid);
	put_u32(&one, e.tid);
	buf_add(&one.bytes, comm, sizeof(comm));
	put_if(&one, type & PERF_SAMPLE_TID, (uint64_t)e.tid << 32 | e.pid);
	put_if(&one, type & PERF_SAMPLE_TIME, e.time + 1);
	put_if(&one, type & PERF_SAMPLE_ID, e.id);
	put_if(&one, type & PERF_SAMPLE_STREAM_ID, e.id);
	put_if(&one, type & PERF_SAMPLE_CPU, e.cpu);
	put_if(&one, type & PERF_SAMPLE_IDENTIFIER, e.id);
	put_header(f, PERF_RECORD_COMM, 0, 8 + one.bytes.len);
	buf_add(&f->bytes, one.bytes.data, one.bytes.len);
	buf_done(&one.bytes);
}

/* The end of the round that begins with sample `from`. */
static uint64_t end_of_round(uint64_t from)
{
	return MIN(from + 1 + number(from, 12) % 900, samples);
}

static void put_round(struct file_builder *f, const struct mode *m, uint64_t from, uint64_t to)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = from; i < to; i++) {
			struct expected e = expect(m, i);

			if (e.cpu != cpu)
				continue;
			put_one(f, m, i);
			if (e.has_comm)
				put_comm(f, m, i);
		}
	put_header(f, RECORD_FINISHED_ROUND, 0, 8);
}

static struct recording *open_recording(const struct mode *m)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct file_builder f = {.pipe = true};
	struct recording *recording;
	char path[64];

	put_u64(&f, PERF_DATA_MAGIC);
	put_u64(&f, DATA_PIPE_HEADER);
	for (size_t i = 0; i < m->events; i++)
		put_event(&f, m, i);
	for (uint64_t from = 0, to; from < samples; from = to) {
		to = end_of_round(from);
		put_round(&f, m, from, to);
	}
	assert_false(buf_failed(&f.bytes));
	assert_int_equal(write(fd, f.bytes.data, f.bytes.len), f.bytes.len);
	buf_done(&f.bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(recording_open(path, &recording), 0);
	close(fd);
	return recording;
}

/* ---- reading ---- */

static void check_data(const struct expected *e, const struct attar_sample *sample, uint64_t i)
{
	assert_int_equal(sample->callchain_nr, e->chain);
	for (uint32_t k = 0; k < e->chain; k++)
		assert_int_equal(sample->callchain[k], number(i, 40 + k));
	assert_int_equal(sample->raw_size, e->raw);
	for (uint32_t w = 1; w <= e->raw / 8; w++) {
		uint64_t word;

		memcpy(&word, (const char *)sample->raw + 8 * w - 4, sizeof(word));
		assert_int_equal(word, raw_word(i, w));
	}
	if (!e->raw)
		assert_null(sample->raw);
	if (!e->chain)
		assert_int_equal(sample->callchain_nr, 0);
}

static void check_sample(const struct mode *m, const struct attar_event *ev, uint64_t i)
{
	const struct attar_record *rec = ev->record;
	const struct expected e = expect(m, i);
	uint64_t ids = PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER;

	assert_int_equal(ev->time, e.time);
	assert_int_equal(ev->counter, e.event);
	assert_int_equal(ev->cpu, e.type & PERF_SAMPLE_CPU ? e.cpu : UINT32_MAX);
	assert_int_equal(ev->thread->tid, e.tid);
	assert_int_equal(ev->thread->process->pid, 1000);
	assert_int_equal(rec->type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec->misc, e.misc);
	assert_int_equal(rec->size, rec->header->size);
	assert_int_equal(rec->time, e.time);
	assert_int_equal(rec->pid, 1000);
	assert_int_equal(rec->tid, e.tid);
	assert_int_equal(rec->cpu, ev->cpu);
	assert_int_equal(rec->id, e.type & ids ? e.id : 0);
	assert_int_equal(rec->stream_id, e.type & PERF_SAMPLE_STREAM_ID ? e.id : 0);
	assert_int_equal(rec->sample.ip, e.ip);
	assert_int_equal(rec->sample.addr, e.type & PERF_SAMPLE_ADDR ? e.addr : 0);
	assert_int_equal(rec->sample.period, e.period);
	assert_int_equal(rec->sample.branch_hw_idx, UINT64_MAX);
	assert_int_equal(rec->sample.cgroup, 0);
	check_data(&e, &rec->sample, i);
}

/* ---- repeats ---- */

/* Of attar, perf record with one and several events, and attar record; then others. */
static const uint64_t sets[] = {SAMPLE_USUAL, SAMPLE_ONE, SAMPLE_MORE, SAMPLE_SELF,
	SAMPLE_MORE | PERF_SAMPLE_ADDR, SAMPLE_USUAL | PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};

static bool can_repeat(const struct mode *m)
{
	uint64_t set = m->type & ~(uint64_t)PERF_SAMPLE_RAW;

	return m->type & PERF_SAMPLE_RAW && (set == SAMPLE_USUAL || set == SAMPLE_ONE ||
						    set == SAMPLE_MORE || set == SAMPLE_SELF);
}

/* How many samples after sample i are like it, and in the same sequence before any other record. */
static uint64_t count_repeats(const struct mode *m, uint64_t i, uint64_t until, uint64_t max)
{
	const struct expected first = expect(m, i);
	uint64_t ids = PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, end = 0, n = 0;

	while (end <= i)
		end = end_of_round(end);
	for (; can_repeat(m) && n < max && i + n + 1 < end; n++) {
		const struct expected next = expect(m, i + n + 1);

		if (expect(m, i + n).has_comm || next.is_bad || next.cpu != first.cpu ||
			next.tid != first.tid || next.raw != first.raw || next.time >= until ||
			(m->type & ids && next.id != first.id))
			break;
	}
	return n;
}

/* Takes the repeats of sample i, at most two and up to a time that can be that of one of them. */
static uint64_t take_repeats(const struct mode *m, struct attar_stream *stream, uint64_t i)
{
	uint64_t until = number(i, 13) % 4 ? UINT64_MAX : FIRST_TIME + (i + 2) * STEP;
	uint64_t n = count_repeats(m, i, until, 2);
	struct attar_repeats repeats = {0};
	bool has_some = sample_run_repeats(stream, until, 2, &repeats);

	assert_int_equal(has_some, repeats.n > 0);
	if (repeats.n < n) /* the bytes that were read end */
		assert_ptr_equal(stream->run->run.at, stream->run->run.end);
	else
		assert_int_equal(repeats.n, n);
	for (uint64_t k = 0; k < repeats.n; k++) {
		struct attar_sample sample = {.raw_size = expect(m, i).raw,
			.raw = (const char *)repeats.raw + k * repeats.stride};
		const struct expected e = expect(m, i + 1 + k);

		check_data(&e, &sample, i + 1 + k);
	}
	return repeats.n;
}

/* One sample of those that were taken together. */
static void check_taken(const struct mode *m, uint64_t first, uint64_t i, const void *raw,
	size_t size, uint64_t time)
{
	const struct attar_sample sample = {.raw = raw, .raw_size = (uint32_t)size};
	const struct expected was = expect(m, first), e = expect(m, i);

	assert_false(e.is_bad);
	assert_int_equal(e.tid, was.tid);
	assert_int_equal(e.cpu, was.cpu);
	assert_int_equal(e.time, time);
	check_data(&e, &sample, i);
}

/* Takes the turns after sample i: at most two of each event, and up to a time. */
static uint64_t take_turns(const struct mode *m, struct attar_stream *stream, uint64_t i)
{
	const uint64_t until = number(i, 14) % 4 ? UINT64_MAX : FIRST_TIME + (i + 2) * STEP;
	const uint32_t other = (uint32_t)((expect(m, i).event + 1) % m->events);
	struct attar_turns turns = {0};
	bool has_some = sample_run_turns(stream, other, until, 2, &turns);
	uint64_t at = i + 1;

	assert_int_equal(has_some, turns.n > 0);
	assert_in_range(turns.n, 0, until == UINT64_MAX && can_repeat(m) && m->events == 2 ? 2 : 0);
	for (uint64_t k = 0; k < turns.n; k++)
		for (int of = 0; of < 2; of++, at++) {
			const char *raw = (const char *)turns.raw[of] + k * turns.stride;

			check_taken(m, i, at, raw, turns.raw_size[of],
				attar_turns_get_time(&turns, raw));
		}
	return 2 * turns.n;
}

/* Takes more samples after sample i together; returns how many. */
static uint64_t take_several(const struct mode *m, struct attar_stream *stream, uint64_t i)
{
	uint64_t repeated = m->repeats ? take_repeats(m, stream, i) : 0;
	uint64_t turned = m->turns ? take_turns(m, stream, i) : 0;

	all_repeats += repeated;
	all_turns += turned;
	return repeated + turned;
}

/* Reads the recording to its end; returns the number of samples. */
static uint64_t read_all(const struct mode *m, struct attar_stream *stream)
{
	char comms[TIDS][16] = {0};
	struct attar_event ev;
	uint64_t i = 0, n = 0;

	while (!stream_drained(stream))
		while (attar_stream_next(stream, &ev) > 0) {
			if (ev.record->type == PERF_RECORD_COMM) {
				snprintf(comms[ev.record->comm.tid - 1000], 16, "t%llu",
					(unsigned long long)(ev.time - FIRST_TIME) / STEP);
				continue;
			}
			while (expect(m, i).is_bad)
				i++;
			check_sample(m, &ev, i);
			if (*comms[ev.thread->tid - 1000])
				assert_string_equal(ev.thread->comm, comms[ev.thread->tid - 1000]);
			uint64_t taken = take_several(m, stream, i);

			i += 1 + taken;
			n += 1 + taken;
		}
	return n;
}

/* ---- the path that takes each record by itself ---- */

static void check_same_sample(const struct attar_record *a, const struct attar_record *b)
{
	assert_int_equal(a->sample.ip, b->sample.ip);
	assert_int_equal(a->sample.addr, b->sample.addr);
	assert_int_equal(a->sample.period, b->sample.period);
	assert_int_equal(a->sample.callchain_nr, b->sample.callchain_nr);
	if (a->sample.callchain_nr)
		assert_memory_equal(
			a->sample.callchain, b->sample.callchain, 8 * a->sample.callchain_nr);
	assert_int_equal(a->sample.raw_size, b->sample.raw_size);
	if (a->sample.raw_size)
		assert_memory_equal(a->sample.raw, b->sample.raw, a->sample.raw_size);
}

static void check_same(const struct attar_event *a, const struct attar_event *b)
{
	assert_int_equal(a->time, b->time);
	assert_int_equal(a->counter, b->counter);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->record->header->size, b->record->header->size);
	assert_memory_equal(a->record->header, b->record->header, a->record->header->size);
	assert_int_equal(a->record->type, b->record->type);
	assert_int_equal(a->record->misc, b->record->misc);
	assert_int_equal(a->record->time, b->record->time);
	assert_int_equal(a->record->id, b->record->id);
	assert_int_equal(a->record->stream_id, b->record->stream_id);
	assert_int_equal(a->record->pid, b->record->pid);
	assert_int_equal(a->record->tid, b->record->tid);
	assert_int_equal(a->record->cpu, b->record->cpu);
	if (a->record->type != PERF_RECORD_SAMPLE)
		return;
	for (int i = 0; i < 2; i++) {
		const struct attar_thread *thread = i ? a->thread : b->thread;

		assert_int_equal(thread->tid, a->record->tid);
		assert_int_equal(thread->process->pid, a->record->pid);
	}
	assert_string_equal(a->thread->comm, b->thread->comm);
	check_same_sample(a->record, b->record);
}

static void open_stream(
	struct recording *recording, struct attar_symbols **symbols, struct attar_stream **stream)
{
	assert_int_equal(attar_symbols_new(NULL, symbols), 0);
	assert_int_equal(stream_replay(recording, *symbols, stream), 0);
	assert_int_equal(attar_stream_start(*stream), 0);
}

/* Reads the same recording on both paths. */
static void compare(const struct mode *m)
{
	struct recording *recordings[2] = {open_recording(m), open_recording(m)};
	struct attar_stream_stats stats[2];
	struct attar_symbols *symbols[2];
	struct attar_stream *streams[2];

	for (int i = 0; i < 2; i++)
		open_stream(recordings[i], &symbols[i], &streams[i]);
	while (!stream_drained(streams[0])) {
		struct attar_event fast, plain;
		int r = attar_stream_next(streams[0], &fast);

		assert_int_equal(stream_next_record(streams[1], &plain), r);
		if (r > 0)
			check_same(&fast, &plain);
	}
	for (int i = 0; i < 2; i++) {
		attar_stream_get_stats(streams[i], &stats[i]);
		attar_stream_free(streams[i]);
		attar_symbols_free(symbols[i]);
		recording_close(recordings[i]);
	}
	assert_memory_equal(&stats[0], &stats[1], sizeof(stats[0]));
}

static void check(const struct mode *m)
{
	struct recording *recording = open_recording(m);
	struct attar_stream_stats stats;
	struct attar_symbols *symbols;
	struct attar_stream *stream;
	uint64_t bad = 0;

	for (uint64_t i = 0; i < samples; i++)
		bad += expect(m, i).is_bad;
	open_stream(recording, &symbols, &stream);
	assert_int_equal(read_all(m, stream), samples - bad);
	attar_stream_get_stats(stream, &stats);
	assert_int_equal(stats.samples, samples - bad);
	assert_int_equal(stats.malformed, bad);
	assert_int_equal(stats.disordered, 0);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
}

/* ---- tests ---- */

static const uint64_t tails[] = {
	0, PERF_SAMPLE_RAW, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW};

static void check_all(struct mode m)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		for (size_t k = 0; k < ARRAY_SIZE(tails); k++) {
			m.type = sets[i] | tails[k];
			m.events = 1;
			check(&m);
			m.events = m.type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 2 : 1;
			check(&m);
		}
}

static void test_in_turn(void **state)
{
	check_all((struct mode){.burst = 1});
}

static void test_long_runs(void **state)
{
	check_all((struct mode){.burst = 100});
}

static void test_equal_samples(void **state)
{
	check_all((struct mode){.burst = 1, .all_equal = true, .all_plain = true});
	check_all((struct mode){.burst = 20, .all_equal = true, .all_plain = true});
}

static void test_repeats(void **state)
{
	all_repeats = 0;
	check_all((struct mode){.burst = 20, .repeats = true});
	check_all((struct mode){.burst = 20, .repeats = true, .all_equal = true});
	check_all(
		(struct mode){.burst = 100, .repeats = true, .all_equal = true, .all_plain = true});
	assert_in_range(all_repeats, samples, 100 * samples);
}

static void test_turns(void **state)
{
	all_turns = 0;
	check_all((struct mode){.burst = 20, .turns = true});
	check_all((struct mode){.burst = 20, .turns = true, .all_equal = true});
	assert_in_range(all_turns, samples, 100 * samples);
}

/*
 * Sample types of the events of a recording: of attar's own, or random, also without CPU or period.
 * Each has the event's id in front.
 */
static void random_types(uint64_t *types, size_t n)
{
	static const uint64_t optional[] = {PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD};

	for (size_t i = 0; i < n; i++) {
		types[i] = random_below(2) ? SAMPLE_USUAL : SAMPLE_SELF;
		for (size_t k = 0; random_below(3) && k < ARRAY_SIZE(optional); k++)
			types[i] ^= random_below(2) ? optional[k] : 0;
		types[i] |= tails[random_below(ARRAY_SIZE(tails))];
	}
}

/* Each event has other fields. */
static void test_mixed(void **state)
{
	uint64_t types[4];

	for (size_t i = 0; i < 20; i++) {
		struct mode m = {.types = types, .burst = 1 + i % 5, .events = 2 + i % 3};

		random_types(types, m.events);
		check(&m);
		compare(&m);
		m.odd = true;
		compare(&m);
	}
}

/* A sample without a time is delivered with the time of the one before it. */
static void test_odd_samples(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct mode m = {.type = sets[i] | tails[i % ARRAY_SIZE(tails)],
			.events = 1,
			.burst = 20,
			.odd = true};

		compare(&m);
		m.all_equal = m.all_plain = true;
		compare(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_long_runs),
		cmocka_unit_test(test_equal_samples),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_odd_samples),
	};

	samples = unit_rounds(6000);
	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
