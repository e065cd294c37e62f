/* SPDX-License-Identifier: MIT */
/* The reader reads exactly what the writer writes: files, pipes, compressed, full, unfinished. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/base.h"
#include "record/uapi.h"
#include "perfdata/recording.h"
#include "perfdata/writer.h"

enum {
	TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	SAMPLE_BYTES = 32,
	PER_ROUND = 100,
};

static char folder[] = "/tmp/attar-writer-XXXXXX";
static char path[64];
static size_t buffer; /* of the thread that writes; 0: none */

static const char format_text[] = "name: second\nID: 72\nformat:\n";

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/x.data", folder);
	return 0;
}

static int remove_folder(void **state)
{
	for (int i = 0; i < 4; i++) {
		char name[80];

		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		unlink(name);
	}
	return rmdir(folder);
}

static int with_thread(void **state)
{
	buffer = 1 << 20;
	return 0;
}

static int without_thread(void **state)
{
	buffer = 0;
	return 0;
}

#define by_thread(test) cmocka_unit_test_setup_teardown(test, with_thread, without_thread)

static void add_events(struct recording_writer *w)
{
	static const uint64_t ids[] = {11, 12, 21};
	const struct perf_event_attr first = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(first),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = TYPE,
		.read_format = PERF_FORMAT_LOST_,
		.sample_id_all = 1,
		.task = 1};
	const struct perf_event_attr second = {.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(second),
		.config = 72,
		.sample_type = TYPE,
		.sample_id_all = 1};
	const struct recording_writer_event events[] = {
		{.name = "cpu-clock", .attr = &first, .ids = ids, .n_ids = 2},
		{.name = "test:second",
			.attr = &second,
			.ids = ids + 2,
			.n_ids = 1,
			.system = "test",
			.format_text = format_text,
			.format_len = sizeof(format_text) - 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		assert_int_equal(recording_writer_add_event(w, &events[i]), 0);
}

struct sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time;
};

/* Writes samples with the times 1, 2, ...; every PER_ROUND of them are a round. */
static int write_samples(struct recording_writer *w, uint64_t from, uint64_t to)
{
	int r = 0;

	for (uint64_t time = from; r == 0 && time <= to; time++) {
		struct sample sample = {.header = {.type = PERF_RECORD_SAMPLE,
						.misc = PERF_RECORD_MISC_USER,
						.size = sizeof(sample)},
			.id = time % 2 ? 11 : 21,
			.pid = 7,
			.tid = 8,
			.time = time};

		recording_writer_note(w, &sample.header);
		/* In two parts, as a record that wraps around in a ring. */
		r = recording_writer_write(w, &sample, 12);
		if (r == 0)
			r = recording_writer_write(
				w, (const char *)&sample + 12, sizeof(sample) - 12);
		if (r == 0 && time % PER_ROUND == 0)
			r = recording_writer_round(w);
		if (r == 1)
			r = recording_writer_rotate(w);
	}
	return r;
}

static struct recording_writer *begin(struct recording_writer_opts opts)
{
	struct recording_writer *w;

	opts.path = opts.path ?: path;
	opts.buffer = buffer;
	opts.clockid = CLOCK_MONOTONIC;
	if (recording_writer_open(&opts, &w) < 0)
		fail_msg("%s", attar_error());
	add_events(w);
	assert_int_equal(recording_writer_begin(w), 0);
	return w;
}

struct seen {
	uint64_t samples, first, last, comms, rounds;
	bool own_comm; /* the name of this process */
	char comm[16]; /* the last one */
	uint64_t forks, timed_comms, timed_maps, comm_time;
};

static void see(struct recording *r, const struct perf_event_header *header, struct seen *seen)
{
	struct attar_layout layout;
	struct attar_record rec;
	int index = recording_event_of(r, header);

	assert_true(index >= 0);
	attar_layout_init(&layout, &recording_get_event(r, (size_t)index)->attr);
	assert_int_equal(attar_record_parse(&layout, header, header->size, &rec), 0);
	if (rec.type == PERF_RECORD_SAMPLE) {
		assert_int_equal(index, rec.time % 2 == 0);
		assert_int_equal(rec.tid, 8);
		seen->samples++;
		seen->first = seen->first ?: rec.time;
		assert_true(rec.time == seen->last + 1 || !seen->last);
		seen->last = rec.time;
	} else if (rec.type == PERF_RECORD_COMM) {
		seen->comms++;
		seen->own_comm |= (pid_t)rec.comm.pid == getpid() &&
				  !strncmp(rec.comm.comm, "unit_recording", 14);
		snprintf(seen->comm, sizeof(seen->comm), "%s", rec.comm.comm);
		seen->comm_time = rec.time;
		seen->timed_comms += rec.time != 0;
	} else if (rec.type == PERF_RECORD_MMAP2) {
		seen->timed_maps += rec.time != 0;
	} else if (rec.type == PERF_RECORD_FORK) {
		seen->forks++;
	}
}

static struct recording *read_all(const char *file, struct seen *ret_seen)
{
	struct recording_part part;
	struct recording *r;

	*ret_seen = (struct seen){0};
	if (recording_open(file, &r) < 0)
		fail_msg("%s", attar_error());
	while (recording_next(r, &part) > 0) {
		for (size_t at = 0; at < part.len;) {
			const void *header = (const char *)part.bytes + at;

			see(r, header, ret_seen);
			at += ((const struct perf_event_header *)header)->size;
		}
		ret_seen->rounds += part.ends_round;
		recording_release(r, &part);
	}
	return r;
}

static const char *damage(const struct recording *r)
{
	struct recording_stats stats;

	recording_get_stats(r, &stats);
	return stats.damage;
}

static void check_whole(const char *file, uint64_t samples, bool pipe)
{
	const struct recording_facts *facts;
	struct utsname names;
	struct recording *r;
	struct seen seen;

	r = read_all(file, &seen);
	assert_null(damage(r));
	assert_int_equal(seen.samples, samples);
	assert_int_equal(seen.first, 1);
	assert_true(seen.own_comm);
	assert_int_equal(seen.rounds, samples / PER_ROUND);
	assert_int_equal(recording_n_events(r), 2);
	assert_string_equal(recording_get_event(r, 0)->name, "cpu-clock");
	assert_string_equal(recording_get_event(r, 1)->name, "test:second");
	assert_int_equal(recording_get_event(r, 0)->n_ids, 2);
	uname(&names);
	facts = recording_get_facts(r);
	assert_string_equal(facts->hostname, names.nodename);
	assert_string_equal(facts->release, names.release);
	assert_string_equal(facts->arch, names.machine);
	assert_int_equal(facts->clockid, CLOCK_MONOTONIC);
	assert_true(facts->wall_ns > facts->clock_ns);
	assert_non_null(strstr(facts->cmdline, "unit_recording_writer"));
	assert_int_equal(facts->cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(facts->pipe, pipe);
	if (!pipe)
		assert_int_equal(facts->last_time, samples);
	recording_close(r);
}

static void test_file(void **state)
{
	struct recording_writer_stats stats;
	struct recording_writer *w = begin((struct recording_writer_opts){.all_processes = true});
	struct stat st;

	assert_int_equal(write_samples(w, 1, 5000), 0);
	recording_writer_get_stats(w, &stats);
	assert_int_equal(stats.samples, 5000);
	assert_int_equal(stats.bytes, 5000 * SAMPLE_BYTES);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	check_whole(path, 5000, false);
}

/* A CPU came online: the samples of its event have an id that the header did not have. */
static void test_late_ids(void **state)
{
	struct recording_writer *w = begin((struct recording_writer_opts){0});
	struct recording *r;
	struct seen seen;

	assert_int_equal(write_samples(w, 1, PER_ROUND), 0);
	assert_int_equal(recording_writer_add_id(w, 1, 22), 0);
	assert_int_equal(recording_writer_add_id(w, 1, 21), 0);
	assert_int_equal(recording_writer_close(w), 0);
	r = read_all(path, &seen);
	assert_int_equal(seen.samples, PER_ROUND);
	assert_int_equal(recording_find(r, 11), 0);
	assert_int_equal(recording_find(r, 12), 0);
	assert_int_equal(recording_find(r, 21), 1);
	assert_int_equal(recording_find(r, 22), 1);
	assert_int_equal(recording_get_event(r, 0)->n_ids, 2);
	assert_int_equal(recording_get_event(r, 1)->n_ids, 2);
	assert_non_null(recording_get_event(r, 1)->format_text);
	recording_close(r);
}

static void to_file(void *ctx, const void *bytes, size_t n)
{
	assert_int_equal(fwrite(bytes, 1, n, ctx), n);
}

/* In a pipe the id comes before the records that have it. */
static void test_late_ids_of_a_pipe(void **state)
{
	const struct sample sample = {.header = {.type = PERF_RECORD_SAMPLE,
					      .misc = PERF_RECORD_MISC_USER,
					      .size = sizeof(sample)},
		.id = 22,
		.tid = 8,
		.time = PER_ROUND + 2};
	FILE *f = fopen(path, "w");
	struct recording_writer *w =
		begin((struct recording_writer_opts){.sink = to_file, .ctx = f});
	struct recording *r;
	struct seen seen;

	assert_non_null(f);
	assert_int_equal(write_samples(w, 1, PER_ROUND + 1), 0);
	assert_int_equal(recording_writer_add_id(w, 1, 22), 0);
	assert_int_equal(recording_writer_add_id(w, 1, 22), 0);
	assert_int_equal(recording_writer_write(w, &sample, sizeof(sample)), 0);
	assert_int_equal(recording_writer_round(w), 0);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(fclose(f), 0);
	r = read_all(path, &seen); /* each is of the event that its time says */
	assert_null(damage(r));
	assert_int_equal(seen.samples, PER_ROUND + 2);
	assert_int_equal(recording_n_events(r), 2);
	assert_int_equal(recording_get_event(r, 1)->n_ids, 2);
	assert_int_equal(recording_get_event(r, 1)->ids[1], 22);
	recording_close(r);
}

static void test_listed_processes(void **state)
{
	const pid_t pids[] = {getpid()};
	struct recording_writer *w =
		begin((struct recording_writer_opts){.pids = pids, .n_pids = 1});
	struct recording *r;
	struct seen seen;

	assert_int_equal(recording_writer_close(w), 0);
	r = read_all(path, &seen);
	assert_int_equal(seen.comms, 1);
	assert_true(seen.own_comm);
	recording_close(r);
}

/* Without a clock, the names have the time of the newest sample. */
static void test_processes_that_run_later(void **state)
{
	const pid_t pids[] = {getpid()};
	struct recording_writer *w =
		begin((struct recording_writer_opts){.pids = pids, .n_pids = 1});
	struct recording *r;
	struct seen seen;
	char name[16];

	assert_int_equal(write_samples(w, 1, PER_ROUND), 0);
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "renamed");
	assert_int_equal(recording_writer_add_running(w, NULL, 0), 0);
	prctl(PR_SET_NAME, name);
	assert_int_equal(write_samples(w, PER_ROUND + 1, 2 * PER_ROUND), 0);
	assert_int_equal(recording_writer_close(w), 0);
	r = read_all(path, &seen);
	assert_null(damage(r));
	assert_int_equal(seen.samples, 2 * PER_ROUND);
	assert_int_equal(seen.comms, 2);
	assert_int_equal(seen.timed_comms, 1);
	assert_int_equal(seen.comm_time, PER_ROUND);
	assert_string_equal(seen.comm, "renamed");
	assert_true(seen.timed_maps > 0);
	assert_int_equal(seen.forks, 1);
	recording_close(r);
}

static void test_compressed(void **state)
{
#ifndef HAVE_ZSTD
	skip();
#else
	struct recording_writer *w =
		begin((struct recording_writer_opts){.all_processes = true, .compress = true});
	struct stat st;

	assert_int_equal(write_samples(w, 1, 100000), 0);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 100000 * SAMPLE_BYTES / 2);
	check_whole(path, 100000, false);
#endif
}

/* To a named pipe, which is stored by a child. */
static void test_pipe(void **state)
{
	char fifo[80], command[256];
	struct recording_writer *w;
	FILE *child;

	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(command, sizeof(command), "cat %s > %s", fifo, path);
	child = popen(command, "r");
	assert_non_null(child);
	w = begin((struct recording_writer_opts){.path = fifo, .all_processes = true});
	assert_int_equal(write_samples(w, 1, 1000), 0);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(pclose(child), 0);
	check_whole(path, 1000, true);
	unlink(fifo);
}

/* A writer that is killed leaves its rounds. */
static void test_unfinished(void **state)
{
	struct recording_writer *w = begin((struct recording_writer_opts){0});
	char copy[80], command[256];
	struct recording *r;
	struct seen seen;

	assert_int_equal(write_samples(w, 1, 250), 0);
	snprintf(copy, sizeof(copy), "%s.1", path);
	snprintf(command, sizeof(command), "cp %s %s", path, copy);
	assert_int_equal(system(command), 0);
	assert_int_equal(recording_writer_close(w), 0);
	r = read_all(copy, &seen);
	assert_int_equal(seen.samples, 200);
	assert_true(recording_get_facts(r)->unfinished);
	assert_non_null(strstr(damage(r), "it was not finished"));
	/* Names and formats are in front of the data. */
	assert_string_equal(recording_get_event(r, 0)->name, "cpu-clock");
	assert_string_equal(recording_get_event(r, 1)->name, "test:second");
	assert_memory_equal(recording_get_event(r, 1)->format_text, "name: second", 12);
	assert_non_null(recording_get_facts(r)->hostname);
	recording_close(r);
}

/* With a limit, the last file is the newest. */
static void test_rotation(void **state)
{
	struct recording_writer_stats stats;
	struct recording_writer *w =
		begin((struct recording_writer_opts){.max_bytes = 1 << 20, .rotate = 2});
	uint64_t next = 100001;
	char file[80];

	assert_int_equal(write_samples(w, 1, 100000), 0);
	recording_writer_get_stats(w, &stats);
	assert_true(stats.files >= 3);
	assert_int_equal(recording_writer_close(w), 0);
	for (int i = 0; i < 3; i++) {
		struct recording *r;
		struct seen seen;

		snprintf(file, sizeof(file), i ? "%s.%d" : "%s", path, i);
		r = read_all(file, &seen);
		assert_null(damage(r));
		/*
		 * Exactly the samples in front of those of the newer file; the newest may be empty.
		 */
		if (seen.samples)
			assert_int_equal(seen.last, next - 1);
		next -= seen.samples;
		recording_close(r);
	}
	snprintf(file, sizeof(file), "%s.3", path);
	assert_int_equal(access(file, F_OK), -1);
}

/* A record that gives this process another name, and nothing else for three rounds. */
static void rename_process(struct recording_writer *w)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[8];
		uint32_t by_pid, by_tid;
		uint64_t time, id;
	} record = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(record)},
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.comm = "other",
		.time = 1,
		.id = 11};

	recording_writer_note(w, &record.header);
	assert_int_equal(recording_writer_write(w, &record, sizeof(record)), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(recording_writer_round(w), 0);
}

/* The newest file has the name that the records said, or after a loss of them, the true one. */
static void check_newest_name(uint64_t lost, bool has_own)
{
	const pid_t pid = getpid();
	struct recording_writer *w = begin((struct recording_writer_opts){
		.max_bytes = 1 << 20, .rotate = 1, .pids = &pid, .n_pids = 1});
	struct seen seen;

	rename_process(w);
	assert_int_equal(recording_writer_add_lost(w, 1, 21, -1, 1), 0); /* samples */
	assert_int_equal(recording_writer_add_lost(w, 0, 11, -1, lost), 0);
	assert_int_equal(recording_writer_rotate(w), 0);
	assert_int_equal(recording_writer_close(w), 0);
	recording_close(read_all(path, &seen));
	assert_int_equal(seen.comms, 1);
	assert_int_equal(seen.own_comm, has_own);
}

static void test_names_after_rotation(void **state)
{
	check_newest_name(0, false);
	check_newest_name(1, true);
}

static void test_full(void **state)
{
	struct recording_writer *w = begin((struct recording_writer_opts){.max_bytes = 1 << 20});
	struct stat st;

	assert_int_equal(write_samples(w, 1, 1 << 20), 1);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 1 << 20 && st.st_size < 1200000);
}

/* On a full disk the error names file and reason, and the records in front can be read. */
static void test_disk_full(void **state)
{
	struct rlimit old, limit;
	struct recording_writer *w;
	struct recording *r;
	struct seen seen;

	signal(SIGXFSZ, SIG_IGN);
	w = begin((struct recording_writer_opts){0});
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){1 << 20, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(write_samples(w, 1, 1 << 20), -EFBIG);
	assert_non_null(strstr(attar_error(), path));
	assert_non_null(strstr(attar_error(), "File too large"));
	assert_int_equal(recording_writer_close(w), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	r = read_all(path, &seen);
	assert_true(seen.samples > 30000);
	assert_false(recording_get_facts(r)->unfinished);
	recording_close(r);
}

static const struct attar_wait chain[] = {
	{.size = sizeof(struct attar_wait),
		.kind = ATTAR_WAIT_PIPE,
		.state = 'S',
		.writes = true,
		.call = 1,
		.fd = 7,
		.pid = 1 << 22,
		.tid = 12,
		.comm = "fifteen letters",
		.other_state = 'T',
		.others = 3,
		.address = UINT64_MAX,
		.ip = 1ULL << 40,
		.sp = 1ULL << 41,
		.object = "pipe:[1]"},
	{.size = sizeof(struct attar_wait), .kind = ATTAR_WAIT_NETWORK, .connects = true, .fd = -1},
};

/* What threads waited for: what one test writes, with and without a change, is read. */
static struct recording *write_waits(
	const struct recording_writer_opts *opts, const struct attar_thread_wait *thread, int n)
{
	struct recording_writer *w = begin(*opts);
	struct recording_waits waits = {.time = 5, .unread = 9, .is_system = true};
	struct seen seen;

	for (int i = 0; i < n; i++)
		assert_int_equal(recording_waits_add(&waits, thread), 0);
	assert_int_equal(recording_writer_add_waits(w, &waits, RECORDING_BEGAN), 0);
	assert_int_equal(write_samples(w, 1, PER_ROUND), 0);
	waits.time = 6;
	waits.is_system = false;
	assert_int_equal(recording_writer_add_waits(w, &waits, RECORDING_ENDED), 0);
	assert_int_equal(recording_writer_close(w), 0);
	recording_waits_done(&waits);
	return read_all(path, &seen);
}

static const struct attar_thread_wait waiter = {
	.pid = 11, .tid = 13, .comm = "a\nb", .since = 4, .chain = chain, .n = ARRAY_SIZE(chain)};

static void test_waits(void **state)
{
	for (int compress = 0; compress < 2; compress++) {
		const struct recording_writer_opts opts = {.compress = compress};
		struct recording *r = write_waits(&opts, &waiter, 2);

		for (int moment = 0; moment < RECORDING_MOMENTS; moment++) {
			const struct recording_waits *got = recording_get_waits(r, moment);

			assert_int_equal(got->time, moment == RECORDING_ENDED ? 6 : 5);
			assert_int_equal(got->is_system, moment == RECORDING_BEGAN);
			assert_int_equal(got->unread, 9);
			assert_int_equal(got->threads.n, 2);
			vec_each (&got->threads, thread) {
				assert_int_equal(thread->pid, 11);
				assert_int_equal(thread->tid, 13);
				assert_string_equal(thread->comm, "a\nb");
				assert_int_equal(thread->since, 4);
				assert_int_equal(thread->n, ARRAY_SIZE(chain));
				assert_memory_equal(thread->chain, chain, sizeof(chain));
			}
		}
		assert_null(damage(r));
		recording_close(r);
	}
}

/* The writer writes what it is given, as a forged file has it. */
static size_t read_forged(void (*forge)(struct attar_thread_wait *thread, struct attar_wait *wait))
{
	struct attar_wait waits[RECORDING_WAITS_CHAIN_MAX + 1] = {chain[0]};
	struct attar_thread_wait thread = waiter;
	struct recording *r;
	size_t n;

	thread.chain = waits;
	thread.n = 1;
	forge(&thread, &waits[0]);
	r = write_waits(&(struct recording_writer_opts){0}, &thread, 1);
	n = recording_get_waits(r, RECORDING_ENDED)->threads.n;
	if (n) {
		const struct attar_wait *wait =
			recording_get_waits(r, RECORDING_ENDED)->threads.at->chain;

		for (const char *at = wait->object; *at; at++)
			assert_true((unsigned char)*at >= ' ');
		assert_true(strnlen(wait->object, sizeof(wait->object)) < sizeof(wait->object));
	}
	recording_close(r);
	return n;
}

static void forge_nothing(struct attar_thread_wait *thread, struct attar_wait *wait)
{
}

static void forge_text(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	strcpy(wait->object, "\033[2J\n");
}

static void forge_kind(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	wait->kind = ATTAR_WAIT_KERNEL + 1;
}

static void forge_state(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	wait->state = '\n';
}

static void forge_pid(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	wait->pid = -1;
}

static void forge_tid(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	thread->tid = 0;
}

static void forge_length(struct attar_thread_wait *thread, struct attar_wait *wait)
{
	thread->n = RECORDING_WAITS_CHAIN_MAX + 1;
}

static void test_forged_waits(void **state)
{
	struct recording *r;

	assert_int_equal(read_forged(forge_nothing), 1);
	assert_int_equal(read_forged(forge_text), 1);
	assert_int_equal(read_forged(forge_kind), 0);
	assert_int_equal(read_forged(forge_state), 0);
	assert_int_equal(read_forged(forge_pid), 0);
	assert_int_equal(read_forged(forge_tid), 0);
	assert_int_equal(read_forged(forge_length), 0);
	r = write_waits(&(struct recording_writer_opts){0}, &waiter, RECORDING_WAITS_MAX + 1);
	assert_int_equal(recording_get_waits(r, RECORDING_ENDED)->threads.n, RECORDING_WAITS_MAX);
	recording_close(r);
}

/* What the scheduler had counted, of so many threads that they are in several records. */
static void test_scheds(void **state)
{
	enum { THREADS = RECORDING_SCHEDS_AT_ONCE + 2 };
	struct recording_writer *w = begin((struct recording_writer_opts){0});
	recording_scheds scheds = {0};
	struct recording *r;
	struct seen seen;

	for (int i = 1; i <= THREADS; i++)
		assert_int_equal(vec_push(&scheds, ((struct recording_sched){.pid = 7,
							   .tid = i,
							   .time = 1ULL << 40,
							   .ran = (uint64_t)i << 41,
							   .delay = 3,
							   .turns = 4})),
			0);
	assert_int_equal(recording_writer_add_scheds(w, &scheds, RECORDING_BEGAN), 0);
	assert_int_equal(write_samples(w, 1, PER_ROUND), 0);
	scheds.n = 3;
	scheds.at[1].tid = 0; /* forged: it, and what follows, is left out */
	assert_int_equal(recording_writer_add_scheds(w, &scheds, RECORDING_ENDED), 0);
	assert_int_equal(recording_writer_close(w), 0);
	vec_done(&scheds);
	r = read_all(path, &seen);
	assert_null(damage(r));
	assert_int_equal(recording_get_scheds(r, RECORDING_BEGAN)->n, THREADS);
	assert_int_equal(recording_get_scheds(r, RECORDING_ENDED)->n, 1);
	vec_each (recording_get_scheds(r, RECORDING_BEGAN), sched) {
		assert_int_equal(sched->pid, 7);
		assert_int_equal(sched->time, 1ULL << 40);
		assert_int_equal(sched->ran, (uint64_t)sched->tid << 41);
		assert_int_equal(sched->delay, 3);
		assert_int_equal(sched->turns, 4);
	}
	recording_close(r);
}

static void test_bad_paths(void **state)
{
	struct recording_writer_opts opts = {.path = "/nowhere/x.data"};
	struct recording_writer *w;

	assert_int_equal(recording_writer_open(&opts, &w), -ENOENT);
	assert_string_equal(
		attar_error(), "cannot create /nowhere/x.data: No such file or directory");
	opts.path = folder;
	assert_int_equal(recording_writer_open(&opts, &w), -EISDIR);
	/* A device is written to, not replaced. */
	w = begin((struct recording_writer_opts){.path = "/dev/null"});
	assert_int_equal(write_samples(w, 1, 100), 0);
	assert_int_equal(recording_writer_close(w), 0);
	assert_int_equal(access("/dev/null", W_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_late_ids),
		cmocka_unit_test(test_late_ids_of_a_pipe),
		cmocka_unit_test(test_listed_processes),
		cmocka_unit_test(test_processes_that_run_later),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_names_after_rotation),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_forged_waits),
		cmocka_unit_test(test_scheds),
		cmocka_unit_test(test_bad_paths),
		by_thread(test_file),
		by_thread(test_late_ids),
		by_thread(test_compressed),
		by_thread(test_pipe),
		by_thread(test_rotation),
		by_thread(test_full),
		by_thread(test_disk_full),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
