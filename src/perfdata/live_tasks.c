/* SPDX-License-Identifier: MIT */
#include "perfdata/live_tasks.h"

#include <stdio.h>

#include "base/log.h"
#include "perfdata/task_records.h"

/* The bytes of a record of a mapping. */
struct live_record {
	unsigned refs;
	size_t *total;                   /* the bytes of all */
	struct perf_event_header header; /* the rest follows */
};

void live_tasks_init(struct live_tasks *t, const struct attar_layout *layout)
{
	*t = (struct live_tasks){.layout = *layout, .round = 1};
}

static void failed(struct live_tasks *t)
{
	t->failed = base_oom();
}

/* ---- mappings ---- */

static void record_unref(struct live_record *record)
{
	if (--record->refs)
		return;
	*record->total -= record->header.size;
	free(record);
}

static struct live_record *record_new(struct live_tasks *t, const struct perf_event_header *header)
{
	struct live_record *record = malloc(offsetof(struct live_record, header) + header->size);

	if (!record)
		return NULL;
	record->refs = 1;
	record->total = &t->memory;
	t->memory += header->size;
	memcpy(&record->header, header, header->size);
	return record;
}

static void mappings_unref(struct live_mappings *mappings)
{
	if (!mappings || --mappings->refs)
		return;
	vec_each (&mappings->list, m)
		record_unref(m->record);
	vec_done(&mappings->list);
	free(mappings);
}

static struct live_mappings *mappings_ref(struct live_mappings *mappings)
{
	if (mappings)
		mappings->refs++;
	return mappings;
}

/* Makes them the mappings of this process alone. False: out of memory. */
static bool own_mappings(struct live_process *process)
{
	struct live_mappings *old = process->mappings, *new;

	if (old && old->refs == 1)
		return true;
	new = calloc(1, sizeof(*new));
	if (!new || (old && vec_reserve(&new->list, old->list.n + 1) < 0)) {
		free(new);
		return false;
	}
	new->refs = 1;
	if (old)
		vec_each (&old->list, m) {
			m->record->refs++;
			new->list.at[new->list.n++] = *m;
		}
	mappings_unref(old);
	process->mappings = new;
	return true;
}

/* Of mappings that the new one covers in part, the reader of the file removes that part. */
static void drop_covered(struct live_mappings *mappings, uint64_t start, uint64_t len)
{
	size_t n = 0;

	vec_each (&mappings->list, m) {
		if (m->start >= start && m->len <= len && m->start - start <= len - m->len)
			record_unref(m->record);
		else
			mappings->list.at[n++] = *m;
	}
	mappings->list.n = n;
}

/* For another mapping. Says once that there is none. */
static bool has_room(struct live_tasks *t, const struct live_process *process)
{
	const bool all = t->max_memory && t->memory >= t->max_memory;

	if (!all && process->mappings->list.n < LIVE_MAPPINGS_MAX)
		return true;
	if (!t->is_full && all)
		log_note("the mappings of all processes need more than %zu MiB: later files of "
			 "the recording lack the newest of them",
			t->max_memory >> 20);
	else if (!t->is_full)
		log_note("process %d has more than %d mappings: later files of the recording lack "
			 "the newest of them",
			process->pid, LIVE_MAPPINGS_MAX);
	t->is_full = true;
	return false;
}

static void add_mapping(struct live_tasks *t, struct live_process *process,
	const struct attar_mmap *m, const struct perf_event_header *header)
{
	struct live_mapping new = {.start = m->addr, .len = m->len};

	if (!own_mappings(process)) {
		failed(t);
		return;
	}
	drop_covered(process->mappings, m->addr, m->len);
	if (!has_room(t, process))
		return;
	new.record = record_new(t, header);
	if (new.record && vec_push(&process->mappings->list, new) == 0)
		return;
	if (new.record)
		record_unref(new.record);
	failed(t);
}

/* ---- tasks ---- */

static struct live_thread *find_thread(const struct live_tasks *t, uint32_t tid)
{
	uint64_t *entry = map_get(&t->threads, tid);

	return entry ? (struct live_thread *)(uintptr_t)*entry : NULL;
}

static struct live_process *find_process(const struct live_tasks *t, uint32_t pid)
{
	uint64_t *entry = map_get(&t->processes, pid);

	return entry ? (struct live_process *)(uintptr_t)*entry : NULL;
}

static void process_unref(struct live_tasks *t, struct live_process *process)
{
	if (--process->threads)
		return;
	if (find_process(t, (uint32_t)process->pid) == process)
		map_remove(&t->processes, (uint64_t)process->pid);
	mappings_unref(process->mappings);
	free(process);
}

static void forget_thread(struct live_tasks *t, struct live_thread *thread)
{
	map_remove(&t->threads, (uint64_t)thread->tid);
	process_unref(t, thread->process);
	free(thread);
}

static struct live_process *add_process(struct live_tasks *t, uint32_t pid, uint32_t parent)
{
	struct live_process *process = calloc(1, sizeof(*process));

	if (!process || map_put(&t->processes, pid, (uintptr_t)process) < 0) {
		free(process);
		failed(t);
		return NULL;
	}
	process->pid = (pid_t)pid;
	process->parent = (pid_t)parent;
	return process;
}

static struct live_thread *add_thread(
	struct live_tasks *t, struct live_process *process, uint32_t tid, uint32_t parent)
{
	struct live_thread *thread = calloc(1, sizeof(*thread));

	process->threads++;
	if (!thread || map_put(&t->threads, tid, (uintptr_t)thread) < 0) {
		free(thread);
		process_unref(t, process);
		failed(t);
		return NULL;
	}
	thread->tid = (pid_t)tid;
	thread->parent = (pid_t)parent;
	thread->process = process;
	return thread;
}

/* The thread of a record that only a running thread causes. NULL: out of memory. */
static struct live_thread *running_thread(struct live_tasks *t, uint32_t pid, uint32_t tid)
{
	struct live_thread *thread = find_thread(t, tid);
	struct live_process *process;

	if (thread && thread->process->pid == (pid_t)pid) {
		thread->ended = 0;
		return thread;
	}
	if (thread)
		forget_thread(t, thread);
	process = find_process(t, pid) ?: add_process(t, pid, 0);
	return process ? add_thread(t, process, tid, 0) : NULL;
}

/* ---- records ---- */

static void apply_comm(struct live_tasks *t, const struct attar_comm *c)
{
	struct live_thread *thread = running_thread(t, c->pid, c->tid);

	if (!thread)
		return;
	snprintf(thread->name.text, sizeof(thread->name.text), "%s", c->comm);
	if (!c->exec)
		return;
	mappings_unref(thread->process->mappings);
	thread->process->mappings = NULL;
}

static void apply_mmap(
	struct live_tasks *t, const struct attar_mmap *m, const struct perf_event_header *header)
{
	struct live_thread *thread;

	if (m->pid == UINT32_MAX) /* the kernel's */
		return;
	thread = running_thread(t, m->pid, m->tid);
	if (thread)
		add_mapping(t, thread->process, m, header);
}

static void apply_fork(struct live_tasks *t, const struct attar_task *f)
{
	struct live_thread *old = find_thread(t, f->tid), *parent, *thread;
	struct live_process *process;

	if (f->tid == f->ptid) /* both are 0: the task is outside our PID namespace */
		return;
	if (old)
		forget_thread(t, old);
	parent = find_thread(t, f->ptid);
	process = f->pid == f->ppid ? find_process(t, f->pid) : NULL;
	if (!process)
		process = add_process(t, f->pid, f->ppid);
	thread = process ? add_thread(t, process, f->tid, f->ptid) : NULL;
	if (!thread || !parent)
		return;
	thread->name = parent->name;
	if (process != parent->process && !process->mappings)
		process->mappings = mappings_ref(parent->process->mappings);
}

/* Keeps the thread for a while: its last samples can be in later rounds. */
static void apply_exit(struct live_tasks *t, const struct attar_task *e)
{
	struct live_thread *thread = find_thread(t, e->tid);

	if (!thread || thread->ended)
		return;
	thread->ended = t->round;
	if (vec_push(&t->ended, (struct live_ended){thread->tid, t->round}) < 0)
		failed(t);
}

/* ---- symbols ---- */

static void forget_symbol(struct live_tasks *t, uint64_t address)
{
	uint64_t *entry = map_get(&t->symbols, address);

	if (!entry)
		return;
	record_unref((struct live_record *)(uintptr_t)*entry);
	map_remove(&t->symbols, address);
}

static void apply_symbol(struct live_tasks *t, const struct attar_record_ksymbol *symbol,
	const struct perf_event_header *header)
{
	struct live_record *record;

	forget_symbol(t, symbol->addr);
	if ((symbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) ||
		t->symbols.n >= LIVE_SYMBOLS_MAX)
		return;
	record = record_new(t, header);
	if (record && map_put(&t->symbols, symbol->addr, (uintptr_t)record) == 0)
		return;
	if (record)
		record_unref(record);
	failed(t);
}

/* ---- records ---- */

static void apply(struct live_tasks *t, const struct perf_event_header *header)
{
	struct attar_record rec;

	if (attar_record_parse(&t->layout, header, header->size, &rec) < 0) {
		attar_error_clear(); /* who reads the file counts it */
		return;
	}
	if (rec.type == PERF_RECORD_COMM)
		apply_comm(t, &rec.comm);
	else if (rec.type == PERF_RECORD_MMAP || rec.type == PERF_RECORD_MMAP2)
		apply_mmap(t, &rec.mmap, header);
	else if (rec.type == PERF_RECORD_FORK)
		apply_fork(t, &rec.task);
	else if (rec.type == PERF_RECORD_EXIT)
		apply_exit(t, &rec.task);
	else if (rec.type == PERF_RECORD_KSYMBOL)
		apply_symbol(t, &rec.ksymbol, header);
}

void live_tasks_apply(struct live_tasks *t, const void *bytes, size_t len)
{
	const struct perf_event_header *header;

	for (size_t at = 0; at < len; at += header->size) {
		header = (const void *)((const char *)bytes + at);
		apply(t, header);
	}
}

/* ---- rounds ---- */

bool live_tasks_takes(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_COMM || header->type == PERF_RECORD_MMAP ||
	       header->type == PERF_RECORD_MMAP2 || header->type == PERF_RECORD_FORK ||
	       header->type == PERF_RECORD_EXIT || header->type == PERF_RECORD_KSYMBOL;
}

void live_tasks_note(struct live_tasks *t, const struct perf_event_header *header)
{
	struct waiting_record record = {.at = t->bytes.len};

	if (!live_tasks_takes(header))
		return;
	record.time = attar_record_time(&t->layout, header);
	t->newest = MAX(t->newest, record.time);
	buf_add(&t->bytes, header, header->size);
	if (buf_failed(&t->bytes) || vec_push(&t->waiting, record) < 0)
		failed(t);
}

static int compare_times(const void *a, const void *b)
{
	const struct waiting_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static const struct perf_event_header *waiting_header(
	const struct live_tasks *t, const struct waiting_record *record)
{
	return (const void *)(t->bytes.data + record->at);
}

static void keep_waiting(struct live_tasks *t, size_t from)
{
	struct buf bytes = {0};
	size_t n = 0;

	for (size_t i = from; i < t->waiting.n; i++) {
		const struct perf_event_header *header = waiting_header(t, &t->waiting.at[i]);

		t->waiting.at[n++] = (struct waiting_record){t->waiting.at[i].time, bytes.len};
		buf_add(&bytes, header, header->size);
	}
	t->waiting.n = n;
	if (buf_failed(&bytes))
		failed(t);
	buf_done(&t->bytes);
	t->bytes = bytes;
}

/* Those that ended before the round that was applied last. */
static void forget_ended(struct live_tasks *t)
{
	size_t n = 0;

	vec_each (&t->ended, e) {
		struct live_thread *thread = find_thread(t, (uint32_t)e->tid);

		if (e->round >= t->round)
			t->ended.at[n++] = *e;
		else if (thread && thread->ended == e->round)
			forget_thread(t, thread);
	}
	t->ended.n = n;
}

int live_tasks_round(struct live_tasks *t)
{
	size_t i = 0;

	if (t->failed)
		return t->failed;
	if (t->waiting.n) {
		qsort(t->waiting.at, t->waiting.n, sizeof(*t->waiting.at), compare_times);
		while (i < t->waiting.n && t->waiting.at[i].time <= t->horizon)
			apply(t, waiting_header(t, &t->waiting.at[i++]));
		if (i)
			keep_waiting(t, i);
	}
	t->horizon = t->newest;
	if (t->ended.n)
		forget_ended(t);
	t->round++;
	return t->failed;
}

/* ---- the next file ---- */

static void put_record(const struct live_tasks *t, struct buf *b, const struct live_record *record)
{
	static const char zeros[64];
	size_t trailer = t->layout.trailer_size;

	buf_add(b, &record->header, record->header.size - trailer);
	buf_add(b, zeros, trailer);
}

static void put_mapping(const struct live_tasks *t, struct buf *b, const struct live_process *p,
	const struct live_record *record)
{
	size_t at = b->len;
	const uint32_t task[] = {(uint32_t)p->pid, (uint32_t)p->pid};

	put_record(t, b, record);
	if (!buf_failed(b))
		memcpy(b->data + at + sizeof(record->header), task, sizeof(task));
}

static size_t put_thread(
	const struct live_tasks *t, struct buf *b, const struct live_thread *thread)
{
	const struct live_process *process = thread->process;
	bool is_first = thread->tid == process->pid;
	struct attar_task fork = {.pid = (uint32_t)process->pid,
		.ppid = (uint32_t)(is_first ? process->parent : process->pid),
		.tid = (uint32_t)thread->tid,
		.ptid = (uint32_t)(is_first ? process->parent : process->pid)};

	task_records_put_fork(&t->layout, b, &fork);
	if (!*thread->name.text)
		return 1;
	task_records_put_comm(&t->layout, b, process->pid, thread->tid, thread->name.text);
	return 2;
}

/* First threads come first, and mappings last: a process does not inherit them from another. */
size_t live_tasks_put(const struct live_tasks *t, struct buf *b)
{
	size_t n = t->waiting.n + t->symbols.n;

	map_each (&t->symbols, it)
		put_record(t, b, (void *)(uintptr_t)it->value);
	for (int is_first = 1; is_first >= 0; is_first--)
		map_each (&t->threads, it) {
			const struct live_thread *thread = (void *)(uintptr_t)it->value;

			if ((thread->tid == thread->process->pid) == is_first)
				n += put_thread(t, b, thread);
		}
	map_each (&t->processes, it) {
		const struct live_process *process = (void *)(uintptr_t)it->value;

		if (!process->mappings)
			continue;
		vec_each (&process->mappings->list, m)
			put_mapping(t, b, process, m->record);
		n += process->mappings->list.n;
	}
	buf_add(b, t->bytes.data, t->bytes.len);
	return n;
}

/* ---- the end ---- */

void live_tasks_reset(struct live_tasks *t)
{
	map_each (&t->threads, it) {
		struct live_thread *thread = (void *)(uintptr_t)it->value;

		process_unref(t, thread->process);
		free(thread);
	}
	map_done(&t->threads);
	map_done(&t->processes);
	t->ended.n = 0;
	t->is_stale = false;
}

void live_tasks_done(struct live_tasks *t)
{
	live_tasks_reset(t);
	map_each (&t->symbols, it)
		record_unref((void *)(uintptr_t)it->value);
	map_done(&t->symbols);
	vec_done(&t->ended);
	vec_done(&t->waiting);
	buf_done(&t->bytes);
}
