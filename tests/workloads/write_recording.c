/* SPDX-License-Identifier: MIT */
/*
 * write_recording EVENTS LAYOUT: writes a recording in the pipe format to standard output. Samples
 * have raw data of 24 bytes; their other fields are, by LAYOUT:
 *
 *	perf	IP, TID, TIME, CPU, PERIOD: perf record with one event
 *	ids	IP, TID, TIME, ID, CPU, PERIOD: perf record with several events
 *	attar	IDENTIFIER, IP, TID, TIME, CPU: attar record
 *
 * Two CPUs write 32 samples in turn, one each microsecond, of 16 threads. A round has 4,096
 * samples. Each sample is one call of number i modulo 331, which is its first field.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_ATTR = 64,
	RECORD_FINISHED_ROUND = 68,
	ROUND = 4096,
	BURST = 32,
	THREADS = 16,
	NUMBERS = 331,
	EVENT_ID = 7,
	RAW_BYTES = 28, /* with the padding behind its size to 8 bytes */
};

static const struct {
	const char *name;
	uint64_t sample_type;
} layouts[] = {
	{"perf", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW},
	{"ids", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW},
	{"attar", PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			  PERF_SAMPLE_CPU | PERF_SAMPLE_RAW},
};

/* A record that is being written. */
struct record {
	struct perf_event_header header;
	uint64_t words[32];
	size_t n;
};

static void put(struct record *r, uint64_t word)
{
	r->words[r->n++] = word;
}

static void begin(struct record *r, uint32_t type)
{
	r->header = (struct perf_event_header){.type = type};
	r->n = 0;
}

static void end(struct record *r)
{
	r->header.size = (uint16_t)(sizeof(r->header) + r->n * 8);
	fwrite(r, 1, r->header.size, stdout);
}

static void write_start(uint64_t type)
{
	const uint64_t pipe_header[2] = {0x32454c4946524550, 16}; /* PERFILE2, its size */
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1,
		.sample_type = type,
		.sample_id_all = 1};
	struct record r;

	fwrite(pipe_header, 1, sizeof(pipe_header), stdout);
	begin(&r, RECORD_ATTR);
	memcpy(r.words, &attr, sizeof(attr));
	r.n = sizeof(attr) / 8;
	put(&r, EVENT_ID);
	end(&r);
}

static void write_sample(uint64_t type, uint64_t i, uint64_t cpu)
{
	const uint32_t pid = 1000, tid = pid + (uint32_t)(i / 8 % THREADS);
	struct record r;

	begin(&r, PERF_RECORD_SAMPLE);
	r.header.misc = PERF_RECORD_MISC_USER;
	if (type & PERF_SAMPLE_IDENTIFIER)
		put(&r, EVENT_ID);
	put(&r, 0x401000 + i % NUMBERS * 16); /* ip */
	put(&r, (uint64_t)tid << 32 | pid);
	put(&r, 1000000000 + i * 1000); /* time */
	if (type & PERF_SAMPLE_ID)
		put(&r, EVENT_ID);
	put(&r, cpu);
	if (type & PERF_SAMPLE_PERIOD)
		put(&r, 1);
	put(&r, (i % NUMBERS) << 32 | RAW_BYTES);
	put(&r, i);
	put(&r, ~i);
	put(&r, 0);
	end(&r);
}

/* The samples from `first` on that a CPU writes. */
static void write_cpu(uint64_t type, uint64_t first, uint64_t past, uint64_t cpu)
{
	for (uint64_t i = first; i < past; i++)
		if (i / BURST % 2 == cpu)
			write_sample(type, i, cpu);
}

int main(int argc, char **argv)
{
	uint64_t events = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, type = 0;
	struct record round;

	for (size_t i = 0; argc == 3 && i < sizeof(layouts) / sizeof(*layouts); i++)
		if (!strcmp(argv[2], layouts[i].name))
			type = layouts[i].sample_type;
	if (!type) {
		fprintf(stderr, "usage: write_recording EVENTS perf|ids|attar >FILE\n");
		return 2;
	}
	write_start(type);
	for (uint64_t i = 0; i < events; i += ROUND) {
		uint64_t past = i + ROUND < events ? i + ROUND : events;

		write_cpu(type, i, past, 0);
		write_cpu(type, i, past, 1);
		begin(&round, RECORD_FINISHED_ROUND);
		end(&round);
	}
	return fflush(stdout) || ferror(stdout);
}
