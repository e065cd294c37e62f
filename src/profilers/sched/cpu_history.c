/* SPDX-License-Identifier: MIT */
#include "sched/cpu_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PIECES_MIN = 64,
	STOLEN_NS = 50000, /* at least: the kernel reads its clock some time before the event */
	STOLEN_MORE = 10000000, /* ns, than the host says, who says it in ticks */
};

static const char unknown[] = "[unknown]";

/* NULL: out of memory, or there is no such CPU. */
static struct cpu_log *log_of(struct cpu_history *h, uint32_t cpu)
{
	struct cpu_log *more;

	if (cpu < h->n_cpus)
		return &h->cpus[cpu];
	if (cpu >= HISTORY_CPUS_MAX)
		return NULL;
	more = realloc(h->cpus, (cpu + 1) * sizeof(*more));
	if (!more)
		return NULL;
	h->cpus = more;
	memset(more + h->n_cpus, 0, (cpu + 1 - h->n_cpus) * sizeof(*more));
	for (; h->n_cpus <= cpu; h->n_cpus++)
		more[h->n_cpus].now[0] = (struct runs){HISTORY_UNKNOWN, task_by_other(unknown)};
	return &h->cpus[cpu];
}

/* The piece that ended i pieces before the newest one. */
static struct ran *piece_at(const struct cpu_log *log, size_t i)
{
	return &log->pieces[(log->next - 1 - i) & (log->size - 1)];
}

static int grow(struct cpu_log *log)
{
	size_t size = log->size ? 2 * log->size : PIECES_MIN, kept = log->n;
	struct ran *pieces = malloc(size * sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < kept; i++)
		pieces[kept - 1 - i] = *piece_at(log, i);
	free(log->pieces);
	log->pieces = pieces;
	log->size = size;
	log->next = kept;
	return 0;
}

static int make_room(const struct cpu_history *h, struct cpu_log *log)
{
	uint64_t oldest;

	if (log->n < log->size)
		return 0;
	oldest = h->oldest(h->ctx);
	while (log->n && piece_at(log, log->n - 1)->to <= oldest)
		log->n--;
	if (log->n == log->size && log->size == HISTORY_PIECES_MAX)
		log->n--;
	/* with less than half of it free, this would soon be called again */
	return log->n < log->size / 2 || log->size == HISTORY_PIECES_MAX ? 0 : grow(log);
}

static int add_piece(
	const struct cpu_history *h, struct cpu_log *log, uint64_t time, const struct runs *who)
{
	int r = time > log->since ? make_room(h, log) : 0;

	if (r < 0 || time <= log->since)
		return r;
	log->pieces[log->next++ & (log->size - 1)] =
		(struct ran){log->since, time, who->tid, who->who};
	log->n++;
	log->since = time;
	return 0;
}

int history_switch(struct cpu_history *h, uint32_t cpu, uint64_t time, const struct runs *prev,
	const struct runs *next)
{
	const struct runs missing = {HISTORY_UNKNOWN, task_by_other(unknown)};
	struct cpu_log *log = log_of(h, cpu);
	const struct runs *ran = prev;
	int r;

	if (!log)
		return cpu < HISTORY_CPUS_MAX ? -ENOMEM : 0;
	if (log->now[0].tid != HISTORY_UNKNOWN && log->now[0].tid != prev->tid) {
		h->missing++;
		ran = &missing;
	}
	r = add_piece(h, log, time, ran);
	log->now[0] = *next;
	log->depth = 0; /* a switch is never in an interrupt: an exit was lost */
	log->counted = time;
	log->ran = log->irqs = 0;
	return r;
}

/* The time since the newest piece, if an interrupt took it. */
static void add_irqs(struct cpu_log *log, uint64_t time)
{
	if (log->depth && time > log->since)
		log->irqs += time - log->since;
}

int history_interrupt(struct cpu_history *h, uint32_t cpu, uint64_t time, const char *name)
{
	struct cpu_log *log = log_of(h, cpu);
	int r;

	if (!log)
		return cpu < HISTORY_CPUS_MAX ? -ENOMEM : 0;
	add_irqs(log, time);
	r = add_piece(h, log, time, &log->now[log->depth]);
	if (log->depth + 1 < HISTORY_DEPTH_MAX)
		log->now[++log->depth] = (struct runs){-1, task_by_other(name)};
	return r;
}

int history_return(struct cpu_history *h, uint32_t cpu, uint64_t time)
{
	struct cpu_log *log = log_of(h, cpu);
	int r;

	if (!log || !log->depth)
		return log || cpu >= HISTORY_CPUS_MAX ? 0 : -ENOMEM;
	add_irqs(log, time);
	r = add_piece(h, log, time, &log->now[log->depth]);
	log->depth--;
	return r;
}

static bool is_steal(const struct cpu_history *h, const struct cpu_log *log, uint64_t time)
{
	uint64_t most;

	if (time < STOLEN_NS || !h->stolen)
		return time >= STOLEN_NS;
	most = h->stolen(h->ctx, (uint32_t)(log - h->cpus));
	return most && log->stolen + time <= most + STOLEN_MORE;
}

/* The CPU on which a thread runs. NULL: unknown. */
static struct cpu_log *log_of_thread(struct cpu_history *h, uint32_t cpu, pid_t tid)
{
	if (cpu < h->n_cpus && h->cpus[cpu].now[0].tid == tid)
		return &h->cpus[cpu];
	for (uint32_t i = 0; i < h->n_cpus; i++) /* another one wakes up a thread there */
		if (h->cpus[i].now[0].tid == tid)
			return &h->cpus[i];
	return NULL;
}

int history_ran(struct cpu_history *h, uint32_t cpu, uint64_t time, pid_t tid, uint64_t ran,
	const char *name)
{
	struct cpu_log *log = log_of_thread(h, cpu, tid);
	uint64_t known, stolen;
	int r = 0;

	if (!log || !log->counted)
		return 0;
	log->ran += ran;
	if (log->depth || time <= log->since)
		return 0;
	known = log->counted + log->ran + log->irqs;
	stolen = time > known ? time - known : 0;
	stolen = stolen < time - log->since ? stolen : time - log->since;
	if (is_steal(h, log, stolen)) {
		log->stolen += stolen;
		r = add_piece(h, log, time - stolen, &log->now[0]);
		if (r == 0)
			r = add_piece(h, log, time, &(struct runs){-1, task_by_other(name)});
	}
	log->counted = time;
	log->ran = log->irqs = 0;
	return r;
}

void history_lost(struct cpu_history *h, uint32_t cpu, uint64_t to)
{
	for (uint32_t i = 0; i < h->n_cpus; i++) {
		struct cpu_log *log = &h->cpus[i];

		if ((int32_t)cpu >= 0 && i != cpu)
			continue;
		log->since = to > log->since ? to : log->since;
		log->n = 0;
		log->now[0] = (struct runs){HISTORY_UNKNOWN, task_by_other(unknown)};
		log->depth = 0;
		log->counted = log->ran = log->irqs = 0;
	}
}

/* A piece of unknown time: nothing was seen of it, before or after the pieces. */
static void yield_unknown(struct ran_at *at, uint64_t from, struct ran *ret_piece)
{
	*ret_piece = (struct ran){from, at->to, HISTORY_UNKNOWN, task_by_other(unknown)};
	at->to = from;
}

static void yield(struct ran_at *at, const struct ran *piece, struct ran *ret_piece)
{
	*ret_piece = *piece;
	ret_piece->from = piece->from > at->from ? piece->from : at->from;
	ret_piece->to = at->to;
	at->to = ret_piece->from;
}

bool history_before(const struct cpu_history *h, struct ran_at *at, struct ran *ret_piece)
{
	const struct cpu_log *log = at->cpu < h->n_cpus ? &h->cpus[at->cpu] : NULL;

	if (at->to <= at->from)
		return false;
	if (log && at->to > log->since) { /* what runs now */
		const struct runs *now = &log->now[log->depth];

		yield(at, &(struct ran){log->since, at->to, now->tid, now->who}, ret_piece);
		return true;
	}
	for (; log && at->i < log->n; at->i++) {
		const struct ran *piece = piece_at(log, at->i);

		if (piece->from >= at->to)
			continue;
		if (piece->to < at->to) /* a gap, which was lost */
			yield_unknown(at, piece->to > at->from ? piece->to : at->from, ret_piece);
		else
			yield(at, piece, ret_piece);
		return true;
	}
	yield_unknown(at, at->from, ret_piece);
	return true;
}

void history_done(struct cpu_history *h)
{
	for (uint32_t i = 0; i < h->n_cpus; i++)
		free(h->cpus[i].pieces);
	free(h->cpus);
	*h = (struct cpu_history){0};
}
