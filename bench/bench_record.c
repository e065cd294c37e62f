/* SPDX-License-Identifier: MIT */
/*
 * Decoding samples: attar_record_parse() compared with a hand-written reader for one layout, on the
 * same bytes in the same run. Rounds alternate and the fastest of each is used, so that noise
 * affects both equally.
 *
 *	bench_record [rounds]
 *
 * Instructions: valgrind --tool=callgrind bench_record 1, then callgrind_annotate; calls and cost
 * of attar_record_parse and bare_record_read.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attar/record.h"
#include "bare_record.h"

struct stream {
	char *bytes;
	size_t size;
	uint64_t records;
};

typedef uint64_t pass_fn(const struct attar_layout *layout, const struct stream *s);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t random_word(void)
{
	static uint64_t state = 23;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 17;
}

/* A sample as profilers receive it: kernel and user call chain, fields of a tracepoint. */
static size_t put_sample(uint64_t *at)
{
	struct perf_event_header *header = (struct perf_event_header *)at;
	uint64_t kernel = 4 + random_word() % 12, user = 4 + random_word() % 20, n = 1;
	uint32_t raw[2] = {(uint32_t)(random_word() % 5) * 8 + 20, 0};

	for (int i = 0; i < 6; i++)
		at[n++] = random_word();
	at[n++] = kernel + user + 2;
	at[n++] = PERF_CONTEXT_KERNEL;
	while (kernel--)
		at[n++] = 0xffffffff81000000 + random_word() % 0x1000000;
	at[n++] = PERF_CONTEXT_USER;
	while (user--)
		at[n++] = 0x400000 + random_word() % 0x1000000;
	memcpy(&at[n], raw, sizeof(raw));
	memset(&at[n + 1], 0x61, (raw[0] - 4) / 8 * 8);
	n += 1 + raw[0] / 8;
	*header = (struct perf_event_header){PERF_RECORD_SAMPLE, 0, (uint16_t)(n * 8)};
	return n * 8;
}

static struct stream make(size_t size)
{
	struct stream s = {.bytes = malloc(size)};

	if (!s.bytes)
		exit(1);
	while (s.size + 1024 < size) {
		s.size += put_sample((uint64_t *)(s.bytes + s.size));
		s.records++;
	}
	return s;
}

static uint64_t pass_attar(const struct attar_layout *layout, const struct stream *s)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < s->size;) {
		struct attar_record rec;

		if (attar_record_parse(layout, s->bytes + at, s->size - at, &rec) < 0)
			exit(1);
		sum += rec.id ^ rec.sample.ip ^ rec.tid ^ rec.time ^ rec.cpu ^ rec.sample.period ^
		       rec.sample.callchain_nr ^ rec.sample.callchain[1] ^
		       *(const char *)rec.sample.raw;
		at += ((const struct perf_event_header *)(s->bytes + at))->size;
	}
	return sum;
}

static uint64_t pass_bare(const struct attar_layout *layout, const struct stream *s)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < s->size;) {
		struct bare_sample sample;

		if (bare_record_read(s->bytes + at, s->size - at, &sample) < 0)
			exit(1);
		sum += sample.id ^ sample.ip ^ sample.tid ^ sample.time ^ sample.cpu ^
		       sample.period ^ sample.callchain_nr ^ sample.callchain[1] ^
		       *(const char *)sample.raw;
		at += ((const struct perf_event_header *)(s->bytes + at))->size;
	}
	return sum;
}

static uint64_t pass_attar_chain(const struct attar_layout *layout, const struct stream *s)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < s->size;) {
		struct attar_callchain chain;
		struct attar_record rec;
		uint64_t ip;

		if (attar_record_parse(layout, s->bytes + at, s->size - at, &rec) < 0)
			exit(1);
		attar_callchain_init(
			&chain, rec.sample.callchain, rec.sample.callchain_nr, rec.misc);
		while (attar_callchain_next(&chain, &ip))
			sum += ip ^ chain.context;
		at += ((const struct perf_event_header *)(s->bytes + at))->size;
	}
	return sum;
}

static uint64_t pass_bare_chain(const struct attar_layout *layout, const struct stream *s)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < s->size;) {
		struct bare_sample sample;
		unsigned context = ATTAR_CONTEXT_UNKNOWN;

		if (bare_record_read(s->bytes + at, s->size - at, &sample) < 0)
			exit(1);
		for (uint64_t i = 0; i < sample.callchain_nr; i++) {
			uint64_t ip = sample.callchain[i];

			if (ip >= PERF_CONTEXT_MAX)
				context = ip == PERF_CONTEXT_USER ? ATTAR_CONTEXT_USER
								  : ATTAR_CONTEXT_KERNEL;
			else
				sum += ip ^ context;
		}
		at += ((const struct perf_event_header *)(s->bytes + at))->size;
	}
	return sum;
}

/* Returns the ns of one pass over the stream, at most best. Short streams are repeated. */
static double time_pass(pass_fn *pass, const struct attar_layout *layout, const struct stream *s,
	uint64_t *sum, double best)
{
	int repeat = s->size < 1 << 20 ? (int)((1 << 20) / s->size) : 1;
	uint64_t start = now();
	double ns;

	for (int i = 0; i < repeat; i++)
		*sum = pass(layout, s);
	ns = (double)(now() - start) / repeat;
	return best == 0 || ns < best ? ns : best;
}

static void compare(const char *what, pass_fn *attar, pass_fn *bare,
	const struct attar_layout *layout, const struct stream *s, int rounds)
{
	double attar_ns = 0, bare_ns = 0;
	uint64_t a = 0, b = 0;

	for (int i = 0; i < rounds; i++) {
		attar_ns = time_pass(attar, layout, s, &a, attar_ns);
		bare_ns = time_pass(bare, layout, s, &b, bare_ns);
	}
	if (a != b) {
		fprintf(stderr, "bench_record: the two readers differ\n");
		exit(1);
	}
	printf("record-%s-%zuK: attar %.2f ns, bare %.2f ns, ratio %.2f\n", what,
		(s->size + 1024) >> 10, attar_ns / s->records, bare_ns / s->records,
		attar_ns / bare_ns);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {16 << 10, 512 << 10, 8 << 20};
	const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		.sample_id_all = 1,
	};
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	struct attar_layout layout;

	attar_layout_init(&layout, &attr);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct stream s = make(sizes[i]);
		int n = sizes[i] < sizes[2] ? rounds * 4 : rounds;

		compare("fields", pass_attar, pass_bare, &layout, &s, n);
		compare("chain", pass_attar_chain, pass_bare_chain, &layout, &s, n);
		free(s.bytes);
	}
	return 0;
}
