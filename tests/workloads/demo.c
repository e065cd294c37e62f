/* SPDX-License-Identifier: MIT */
/*
 * The program that `make demo` profiles: a small service. It generates access-log lines, parses
 * them, counts them by path in a hash table, sorts the table for a "top ten" every so often, and
 * computes checksums of what it has read; two workers, named "parser" and "auditor". Runs for 10
 * seconds, or for the number in its argument.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "workload.h"

enum { LINES = 2000, PATHS = 512, SLOTS = 2048 };

struct slot {
	char path[48];
	uint64_t hits, bytes;
};

struct worker {
	const char *name;
	int checksum_rounds, sort_every;
	uint64_t seed, answer;
	struct slot table[SLOTS];
	char log[LINES * 96];
	size_t len;
};

static volatile int over;

static uint64_t random_number(struct worker *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed;
}

/* Low numbers are used far more often than high ones, like paths of a site. */
static KEEP void make_log(struct worker *w)
{
	w->len = 0;
	for (int i = 0; i < LINES; i++) {
		uint64_t r = random_number(w);
		unsigned path = (r % PATHS) * ((r >> 20) % PATHS) / PATHS;

		w->len += snprintf(w->log + w->len, sizeof(w->log) - w->len,
			"10.0.%u.%u GET /shop/item/%u 200 %u\n", (unsigned)(r >> 32) % 256,
			(unsigned)(r >> 40) % 256, path, (unsigned)(r >> 44) % 9000);
	}
}

static KEEP uint32_t hash_path(const char *path, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	return hash;
}

static KEEP void count_hit(struct worker *w, const char *path, size_t len, uint64_t bytes)
{
	uint32_t at = hash_path(path, len);
	struct slot *slot;

	if (len >= sizeof(slot->path))
		return;
	for (;; at++) {
		slot = &w->table[at % SLOTS];
		if (!slot->hits)
			memcpy(slot->path, path, len);
		if (!strncmp(slot->path, path, len) && !slot->path[len])
			break;
	}
	slot->hits++;
	slot->bytes += bytes;
}

static KEEP void parse_line(struct worker *w, const char *line, const char *end)
{
	const char *path = memchr(line, '/', end - line), *after, *bytes;

	after = path ? memchr(path, ' ', end - path) : NULL;
	bytes = after ? memchr(after + 1, ' ', end - after - 1) : NULL;
	if (bytes)
		count_hit(w, path, after - path, strtoull(bytes, NULL, 10));
}

static KEEP void parse_log(struct worker *w)
{
	const char *line = w->log, *end = w->log + w->len;

	while (line < end) {
		const char *eol = memchr(line, '\n', end - line);

		parse_line(w, line, eol);
		line = eol + 1;
	}
}

static int by_hits(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->hits < y->hits) - (x->hits > y->hits);
}

static KEEP void top_ten(struct worker *w)
{
	static _Thread_local struct slot sorted[SLOTS];

	memcpy(sorted, w->table, sizeof(sorted));
	qsort(sorted, SLOTS, sizeof(sorted[0]), by_hits);
	w->answer += sorted[9].hits;
}

static KEEP void checksum(struct worker *w)
{
	uint64_t a = 1, b = 0;

	for (int round = 0; round < w->checksum_rounds; round++)
		for (size_t i = 0; i < w->len; i++) {
			a = (a + (unsigned char)w->log[i]) % 65521;
			b = (b + a) % 65521;
		}
	w->answer += b << 16 | a;
}

static KEEP void serve(struct worker *w)
{
	for (int request = 0; !over; request++) {
		make_log(w);
		parse_log(w);
		checksum(w);
		if (request % w->sort_every == 0)
			top_ten(w);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_setname_np(pthread_self(), w->name);
	serve(w);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[] = {
		{.name = "parser", .checksum_rounds = 1, .sort_every = 4, .seed = 23},
		{.name = "auditor", .checksum_rounds = 8, .sort_every = 32, .seed = 42},
	};
	struct timespec rest = {.tv_sec = argument(argc, argv, 1, 10)};
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work, &workers[i]))
			return 1;
	nanosleep(&rest, NULL);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return workers[0].answer + workers[1].answer == 0;
}
