/* SPDX-License-Identifier: MIT */
/*
 * decode_recording FILE: reads a recording by the library's stream, as profilers do: records in
 * parts, decoded, in order of time, with their threads.
 *
 * decode_recording walk LAYOUT FILE: the least that any reader does: it reads the same bytes in
 * parts of the same size, steps from record to record, and takes the same fields from their
 * positions in this layout of write_recording.
 *
 * Both print JSON: samples, a sum of their fields, which is the same, and the CPU time in ns.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfdata/chunk.h"
#include "perfdata/recording.h"
#include "stream/stream.h"

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int print(uint64_t samples, uint64_t mixed, uint64_t began)
{
	printf("{\"samples\": %llu, \"mixed\": %llu, \"ns\": %llu}\n", (unsigned long long)samples,
		(unsigned long long)mixed, (unsigned long long)(cpu_ns() - began));
	return samples ? 0 : 1;
}

static int decode(const char *path)
{
	struct attar_symbols *symbols = NULL;
	struct attar_stream *stream = NULL;
	struct recording *recording = NULL;
	uint64_t began = cpu_ns(), samples = 0, mixed = 0;
	struct attar_event ev;
	bool ok = recording_open(path, &recording) == 0 && attar_symbols_new(NULL, &symbols) == 0 &&
		  stream_replay(recording, symbols, &stream) == 0 &&
		  attar_stream_start(stream) == 0;

	while (ok && !stream_drained(stream))
		while (stream_next(stream, &ev) > 0) {
			const struct attar_sample *s = &ev.record->sample;

			if (ev.record->type != PERF_RECORD_SAMPLE)
				continue;
			samples++;
			mixed +=
				s->ip ^ ev.thread->tid ^ ev.time ^ ev.cpu ^ s->period ^ s->raw_size;
		}
	if (!ok)
		fprintf(stderr, "%s\n", attar_error());
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	return ok ? print(samples, mixed, began) : 1;
}

/* Positions of the fields in a sample, in words; 0: absent. */
struct positions {
	const char *layout;
	size_t ip, task, time, cpu, period, raw;
};

static const struct positions layouts[] = {
	{"perf", 1, 2, 3, 4, 5, 6}, {"ids", 1, 2, 3, 5, 6, 7}, {"attar", 2, 3, 4, 5, 0, 6}};

struct sums {
	uint64_t samples, mixed;
};

static inline void take(struct sums *sums, const struct positions *p, const uint64_t *words)
{
	sums->samples++;
	sums->mixed += words[p->ip] ^ (words[p->task] >> 32) ^ words[p->time] ^
		       (uint32_t)words[p->cpu] ^ (p->period ? words[p->period] : 1) ^
		       (uint32_t)words[p->raw];
}

/* Returns the bytes of whole records at the start. */
static size_t step(const struct positions *p, const uint64_t *words, size_t n, struct sums *sums)
{
	const char *bytes = (const char *)words;
	size_t at = 0;

	while (n - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		memcpy(&header, bytes + at, sizeof(header));
		if (header.size > n - at || header.size < sizeof(header))
			break;
		if (header.type == PERF_RECORD_SAMPLE)
			take(sums, p, (const uint64_t *)(const void *)(bytes + at));
		at += header.size;
	}
	return at;
}

static int walk(const struct positions *p, const char *path)
{
	static uint64_t words[CHUNK_BYTES / 8];
	char *bytes = (char *)words;
	uint64_t began = cpu_ns();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sums sums = {0};
	size_t n = 0;
	ssize_t got;

	if (fd < 0 || lseek(fd, 16, SEEK_SET) < 0) /* behind the header of a pipe */
		return 1;
	while ((got = read(fd, bytes + n, sizeof(words) - n)) > 0) {
		size_t done;

		n += (size_t)got;
		done = step(p, words, n, &sums);
		memmove(bytes, bytes + done, n - done);
		n -= done;
	}
	close(fd);
	return print(sums.samples, sums.mixed, began);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 4 && i < sizeof(layouts) / sizeof(*layouts); i++)
		if (!strcmp(argv[1], "walk") && !strcmp(argv[2], layouts[i].layout))
			return walk(&layouts[i], argv[3]);
	if (argc == 2)
		return decode(argv[1]);
	fprintf(stderr, "usage: decode_recording [walk LAYOUT] FILE\n");
	return 2;
}
