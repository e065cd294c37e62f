/* SPDX-License-Identifier: MIT */
#include "stream/procs.h"

#include <signal.h>
#include <stdio.h>

#include "attar/private/symbol.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "stream/task_name.h"
#include "symbol/address_space.h"
#include "symbol/symbols.h"

enum {
	READ_AGAIN = 100,     /* times the CPU time that the last reading of mappings took */
	RETRY_NS = 100000000, /* if there was no time for it */
	SCAN_USER_NS = 50000000,
};

void procs_init(struct procs *p, struct attar_symbols *symbols, bool live)
{
	*p = (struct procs){.symbols = symbols,
		.live = live,
		.sweep_at = PROCS_SWEEP,
		.kernel = ATTAR_DSO_KERNEL,
		.budget = {.user_ns = SCAN_USER_NS,
			.what = "mappings",
			.effect = "code in some of them has no names, or gets them later"}};
	p->dead_end = &p->dead;
}

static void process_unref(struct procs *p, struct process *process)
{
	uint64_t *entry;

	if (--process->threads)
		return;
	entry = map_get(&p->processes, (uint64_t)process->pub.pid);
	if (entry && *entry == (uintptr_t)process)
		map_remove(&p->processes, (uint64_t)process->pub.pid);
	attar_address_space_free(process->pub.space);
	comm_unref(process->comm);
	free(process);
}

static void thread_free(struct procs *p, struct thread *t)
{
	process_unref(p, (struct process *)t->pub.process);
	comm_unref(t->comm);
	free(t);
}

void procs_done(struct procs *p)
{
	map_each (&p->threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;

		if (!t->pub.exited)
			thread_free(p, t);
	}
	while (p->dead) {
		struct thread *t = p->dead;

		p->dead = t->next_dead;
		thread_free(p, t);
	}
	map_done(&p->threads);
	map_done(&p->processes);
}

static struct comm *comm_of_text(const char *text)
{
	return comm_new(text, strlen(text));
}

/* A name for a thread whose own is not known. */
static struct comm *comm_unknown(const char *text)
{
	struct comm *comm = comm_of_text(text);

	if (comm)
		comm->unknown = true;
	return comm;
}

/* NULL if the thread has exited. */
static struct comm *read_comm(
	const struct procs *p, pid_t pid, pid_t tid, struct task_facts *ret_facts)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (!p->live || task_name_read(pid, tid, &b, ret_facts) < 0)
		return NULL;
	return comm_new(b.data, b.len);
}

/* The name of a new thread, owned by the caller; NULL if out of memory. Facts: if known. */
static struct comm *comm_of(const struct procs *p, pid_t pid, pid_t tid,
	const struct process *process, struct task_facts *ret_facts)
{
	struct comm *comm;

	if (tid == 0)
		return comm_of_text("swapper");
	if (tid < 0)
		return comm_unknown("[exiting]");
	comm = read_comm(p, pid, tid, ret_facts);
	if (!comm && process && process->comm)
		comm = comm_ref(process->comm);
	return comm ? comm : comm_unknown("[unknown]");
}

static void name_thread(struct thread *t, struct comm *comm)
{
	comm_unref(t->comm);
	t->comm = comm_ref(comm);
	t->pub.comm = comm->text;
	t->pub.comm_hash = comm->hash;
}

static void name_process(struct process *process, struct comm *comm)
{
	comm_unref(process->comm);
	process->comm = comm_ref(comm);
	process->pub.comm = comm->text;
}

/* The process whose files and memory can be read; 0: none. */
static pid_t pid_here(const struct procs *p, pid_t pid)
{
	return p->elsewhere ? 0 : pid;
}

static struct process *process_new(struct procs *p, pid_t pid, struct attar_address_space *space)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process || !space || map_put(&p->processes, (uint64_t)pid, (uintptr_t)process) < 0) {
		attar_address_space_free(space);
		free(process);
		base_oom();
		return NULL;
	}
	process->pub.pid = pid;
	process->pub.space = space;
	process->budget = &p->budget;
	space->kernel = p->kernel;
	space->is_foreign = p->is_foreign;
	return process;
}

struct process *procs_process(const struct procs *p, pid_t pid)
{
	uint64_t *entry = map_get(&p->processes, (uint64_t)pid);

	return entry ? (struct process *)(uintptr_t)*entry : NULL;
}

struct thread *procs_get(const struct procs *p, pid_t tid)
{
	struct thread *recent = *procs_recent((struct procs *)p, tid);
	uint64_t *entry;

	if (recent && recent->pub.tid == tid)
		return recent;
	entry = map_get(&p->threads, (uint64_t)tid);

	return entry ? (struct thread *)(uintptr_t)*entry : NULL;
}

struct thread *procs_known(const struct procs *p, pid_t tid)
{
	struct thread *t = procs_get(p, tid);

	return t && !t->pub.exited ? t : NULL;
}

/*
 * Adds a thread; replaces an exited one with this tid. On failure a process without other threads
 * is freed.
 */
static struct thread *thread_new(
	struct procs *p, struct process *process, pid_t tid, struct comm *comm)
{
	struct thread *t = calloc(1, sizeof(*t));

	process->threads++;
	if (!t || !comm || map_put(&p->threads, (uint64_t)tid, (uintptr_t)t) < 0) {
		free(t);
		process_unref(p, process);
		base_oom();
		return NULL;
	}
	*procs_recent(p, tid) = p->of_task = NULL;
	t->pub = (struct attar_thread){.tid = tid, .process = &process->pub, .serial = p->serial++};
	t->renewals = p->renewals;
	t->used = ++p->uses;
	name_thread(t, comm);
	if (!process->comm || tid == process->pub.pid)
		name_process(process, comm);
	return t;
}

/* Returns false if there is no time for it now. */
static bool read_mappings(struct process *process)
{
	if (base_now() < process->not_before)
		return false;
	if (!scan_budget_begin(process->budget, process->pub.pid)) {
		process->not_before = base_now() + RETRY_NS;
		return false;
	}
	attar_address_space_scan(process->pub.space);
	process->not_before =
		base_now() + READ_AGAIN * scan_budget_end(process->budget, process->pub.pid);
	return true;
}

void procs_scan(struct process *process)
{
	process->is_unread = false;
	if (process->pub.scanned || process->pub.pid <= 0)
		return;
	process->pub.scanned = read_mappings(process);
	process->is_unread = !process->pub.scanned;
}

/* Frees the thread that exited first; removes it from the table unless its tid was reused. */
static void forget_oldest(struct procs *p)
{
	struct thread *t = p->dead;

	p->dead = t->next_dead;
	if (!p->dead)
		p->dead_end = &p->dead;
	p->n_dead--;
	if (procs_get(p, t->pub.tid) == t)
		map_remove(&p->threads, (uint64_t)t->pub.tid);
	if (*procs_recent(p, t->pub.tid) == t)
		*procs_recent(p, t->pub.tid) = NULL;
	p->of_task = NULL;
	thread_free(p, t);
}

/* Adds a thread to the exited ones; frees the oldest if there are too many. */
static void mark_dead(struct procs *p, struct thread *t)
{
	t->pub.exited = true;
	*p->dead_end = t;
	p->dead_end = &t->next_dead;
	if (++p->n_dead > PROCS_DEAD_MAX)
		forget_oldest(p);
}

/*
 * Marks threads whose EXIT record was lost as exited: those that did not exist at this sweep and
 * the previous one, so that records still to be read find them. Invalidates pointers to threads.
 */
static void sweep(struct procs *p)
{
	VEC(struct thread *) ended = {0};
	size_t running;

	map_each (&p->threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;
		bool gone = t->pub.tid > 0 && kill(t->pub.tid, 0) < 0 && errno == ESRCH;

		if (gone && t->gone && !t->pub.exited && vec_push(&ended, t) < 0)
			break;
		t->gone = gone;
	}
	vec_each (&ended, t)
		mark_dead(p, *t);
	vec_done(&ended);
	running = p->threads.n - MIN(p->n_dead, p->threads.n);
	p->sweep_at = p->threads.n + MAX(running / 4, (size_t)PROCS_SWEEP);
}

static int compare_use(const void *a, const void *b)
{
	const struct thread *const *one = a, *const *other = b;

	return (*one)->used < (*other)->used ? -1 : (*one)->used > (*other)->used;
}

static bool has_too_much(const struct procs *p)
{
	return p->threads.n >= PROCS_MAX || p->symbols->ranges >= PROCS_MAPPINGS_MAX;
}

/*
 * Drops exited threads that have too many mappings, then an eighth of the others. Invalidates
 * pointers to threads.
 */
static void drop_idle(struct procs *p)
{
	VEC(struct thread *) idle = {0};

	while (p->dead && p->symbols->ranges >= PROCS_MAPPINGS_MAX)
		forget_oldest(p);
	if (!has_too_much(p))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(p->recent); i++)
		if (p->recent[i])
			p->recent[i]->used = ++p->uses;
	map_each (&p->threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;

		if (!t->pub.exited && vec_push(&idle, t) < 0)
			break;
	}
	if (idle.n)
		qsort(idle.at, idle.n, sizeof(*idle.at), compare_use);
	for (size_t i = 0; i < idle.n / 8; i++) {
		mark_dead(p, idle.at[i]);
		p->dropped++;
	}
	while (p->dead && p->symbols->ranges >= PROCS_MAPPINGS_MAX)
		forget_oldest(p);
	vec_done(&idle);
}

static void sweep_when_due(struct procs *p)
{
	if (p->live && p->threads.n >= p->sweep_at)
		sweep(p);
	else if (!p->live && has_too_much(p))
		drop_idle(p);
}

/* The number after the key, such as "\nPPid:", in /proc/TID/status; 0: unknown. */
static pid_t number_in_status(pid_t tid, const char *key)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (file_read(path, 1 << 16, &b) < 0 || !(line = strstr(buf_text(&b), key))) {
		attar_error_clear();
		return 0;
	}
	return (pid_t)strtol(line + strlen(key), NULL, 10);
}

static void take_facts(const struct procs *p, struct thread *t, const struct task_facts *facts)
{
	struct attar_process *process = t->pub.process;

	if (pid_here(p, process->pid) <= 0)
		return;
	t->pub.started = facts->started;
	if (t->pub.tid == process->pid)
		process->started = facts->started;
	if (!process->parent)
		process->parent = facts->parent;
}

/* A new process; the facts are the facts of its first thread. A kernel thread has no mappings. */
static struct process *enter_process(struct procs *p, pid_t pid, const struct task_facts *facts)
{
	struct process *process =
		process_new(p, pid, attar_address_space_new(p->symbols, pid_here(p, pid)));

	if (!process || !p->live)
		return process;
	process->pub.scanned = facts->is_kernel;
	process->is_unread = p->lazy_maps && !facts->is_kernel;
	if (!p->lazy_maps)
		procs_scan(process);
	return process;
}

static struct thread *enter_thread(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = procs_get(p, tid);
	struct task_facts facts = {0};
	struct process *process;
	struct comm *comm;

	if (t && t->pub.process->pid == pid)
		return t;
	if (t && !t->pub.exited) /* its EXIT record was lost, or a program claimed the tid */
		mark_dead(p, t);
	sweep_when_due(p);
	process = procs_process(p, pid);
	comm = comm_of(p, pid, tid, process, &facts);
	if (!process)
		process = enter_process(p, pid, &facts);
	t = process ? thread_new(p, process, tid, comm) : NULL;
	comm_unref(comm);
	if (t)
		take_facts(p, t, &facts);
	return t;
}

/* Old mappings stay: samples before the loss may be in them. */
static void renew_mappings(struct procs *p, struct process *process)
{
	if (process->renewals == p->renewals || pid_here(p, process->pub.pid) <= 0)
		return;
	process->renewals = p->renewals;
	process->is_bare = false;
	if (!process->is_unread)
		read_mappings(process);
}

static void renew_thread(struct procs *p, struct thread *t)
{
	struct process *process = (struct process *)t->pub.process;
	struct comm *comm;

	t->renewals = p->renewals;
	if (t->pub.exited || t->pub.tid <= 0)
		return;
	comm = read_comm(p, process->pub.pid, t->pub.tid, NULL);
	if (!comm) /* it has exited meanwhile */
		return;
	name_thread(t, comm);
	if (t->pub.tid == process->pub.pid)
		name_process(process, comm);
	comm_unref(comm);
	renew_mappings(p, process);
}

void procs_renew(struct procs *p)
{
	p->renewals++;
	memset(p->recent, 0, sizeof(p->recent));
	p->of_task = NULL;
}

struct thread *procs_find(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = enter_thread(p, pid, tid);

	if (t && t->renewals != p->renewals)
		renew_thread(p, t);
	if (t)
		t->used = ++p->uses;
	return *procs_recent(p, tid) = t;
}

/*
 * As procs_thread(), for records that only a running thread causes: an exited thread is replaced.
 * (At an exec, the calling thread takes over the tid of its process.)
 */
static struct thread *running_thread(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = procs_thread(p, pid, tid);

	if (!t || !t->pub.exited)
		return t;
	t->pub.process->exited = false;
	return thread_new(p, (struct process *)t->pub.process, tid, t->comm);
}

void procs_name(struct procs *p, struct thread *t, const char *text)
{
	struct comm *comm;

	if (!t->comm->unknown)
		return;
	comm = comm_of_text(text);
	if (comm)
		name_thread(t, comm);
	comm_unref(comm);
}

static int apply_comm(struct procs *p, const struct attar_comm *c)
{
	struct thread *t = running_thread(p, (pid_t)c->pid, (pid_t)c->tid);
	struct comm *comm = t ? comm_of_text(c->comm) : NULL;

	if (!comm)
		return base_oom();
	name_thread(t, comm);
	if (c->pid == c->tid)
		name_process((struct process *)t->pub.process, comm);
	comm_unref(comm);
	if (c->exec) {
		struct process *process = (struct process *)t->pub.process;

		address_space_reset(process->pub.space);
		process->is_unread &= !p->maps;
		process->is_bare = true;
		process->losses = p->losses;
	}
	return 0;
}

bool procs_mapping(const struct attar_record *rec, struct attar_mapping *ret_mapping)
{
	const struct attar_mmap *m = &rec->mmap;

	*ret_mapping = (struct attar_mapping){.start = m->addr,
		.len = m->len,
		.pgoff = m->pgoff,
		.path = m->filename,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = (uint32_t)m->ino_generation,
		.build_id_size = m->build_id_size};
	memcpy(ret_mapping->build_id, m->build_id, sizeof(ret_mapping->build_id));
	return m->pid != UINT32_MAX && !(rec->misc & PERF_RECORD_MISC_MMAP_DATA);
}

static int apply_mmap(struct procs *p, const struct attar_record *rec)
{
	const struct attar_mmap *m = &rec->mmap;
	struct attar_mapping mapping;
	struct thread *t;

	if (!procs_mapping(rec, &mapping))
		return 0;
	sweep_when_due(p);
	t = running_thread(p, (pid_t)m->pid, (pid_t)m->tid);
	if (!t)
		return base_oom();
	((struct process *)t->pub.process)->is_bare = false;
	if (p->build_ids)
		build_ids_set(p->build_ids, t->pub.process->space->symbols, &mapping);
	return attar_address_space_map(t->pub.process->space, &mapping);
}

static int apply_fork(struct procs *p, const struct attar_task *f, uint64_t time)
{
	struct thread *old, *parent, *new;
	struct process *process;

	if (f->tid == f->ptid) /* both are 0: the task is outside our PID namespace */
		return 0;
	sweep_when_due(p);
	old = procs_known(p, (pid_t)f->tid);
	if (old) /* its EXIT record was lost, or it was read from /proc before this record */
		mark_dead(p, old);
	parent = running_thread(p, (pid_t)f->ppid, (pid_t)f->ptid);
	if (!parent)
		return base_oom();
	process = (struct process *)parent->pub.process;
	if (f->pid != f->ppid) {
		process = process_new(p, (pid_t)f->pid,
			address_space_fork(parent->pub.process->space, pid_here(p, (pid_t)f->pid)));
		if (!process)
			return base_oom();
		process->pub.parent = (pid_t)f->ppid;
		process->pub.started = time;
		process->selected = ((struct process *)parent->pub.process)->selected;
		process->pub.scanned = !((struct process *)parent->pub.process)->is_unread;
		process->is_unread = !process->pub.scanned;
	}
	new = thread_new(p, process, (pid_t)f->tid, parent->comm);
	if (!new)
		return base_oom();
	new->pub.started = time;
	return 0;
}

/*
 * At the exec of a program that changes privileges (set-user-ID, set-group-ID, or one that the user
 * may not read) the kernel removes all events from the task, whoever opened them, and writes a
 * record as if it had exited: begin_new_exec() in fs/exec.c. The record follows the record of the
 * exec directly, before any code of the program is mapped; a program that really exits has mapped
 * some.
 */
static bool has_exec_ended_events(const struct procs *p, const struct attar_task *e)
{
	const struct process *process = procs_process(p, (pid_t)e->pid);

	return process && p->maps && e->pid == e->tid && process->is_bare &&
	       process->losses == p->losses;
}

static void note_unwatched(struct procs *p, struct thread *t)
{
	t->pub.process->unwatched = true;
	p->unwatched++;
	if (!p->quiet)
		log_note("process %d (%s) has executed a set-user-ID program, or one that its user "
			 "may not read: the kernel then ends its events, so its later activity is "
			 "missing",
			t->pub.process->pid, t->pub.comm);
	p->quiet = true;
}

static int apply_exit(struct procs *p, const struct attar_task *e)
{
	struct thread *t = procs_known(p, (pid_t)e->tid);

	if (!t)
		return 0;
	if (has_exec_ended_events(p, e)) {
		if (!p->by_task) /* events on CPUs are not affected */
			return 0;
		note_unwatched(p, t);
	}
	if (e->pid == e->tid && t->pub.process->pid == (pid_t)e->pid)
		t->pub.process->exited = true;
	mark_dead(p, t);
	return 0;
}

int procs_apply(struct procs *p, const struct attar_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_COMM:
		return apply_comm(p, &rec->comm);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_mmap(p, rec);
	case PERF_RECORD_FORK:
		return apply_fork(p, &rec->task, rec->time);
	case PERF_RECORD_EXIT:
		return apply_exit(p, &rec->task);
	case PERF_RECORD_LOST:
		p->losses++;
		return 0;
	case PERF_RECORD_KSYMBOL:
		if (p->kernel == ATTAR_DSO_UNKNOWN ||
			(rec->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
			return 0; /* earlier stacks may still refer to it */
		return symbols_add_ksymbol(p->symbols, p->kernel, rec->ksymbol.addr,
			rec->ksymbol.len, rec->ksymbol.name);
	default:
		return 0;
	}
}

static int scan_process(void *ctx, pid_t pid)
{
	procs_thread(ctx, pid, pid);
	return 0;
}

int procs_scan_all(struct procs *p)
{
	return proc_each_process(scan_process, p);
}

struct threads_scan {
	struct procs *procs;
	pid_t pid;
};

static int scan_thread(void *ctx, pid_t tid)
{
	const struct threads_scan *scan = ctx;

	procs_thread(scan->procs, scan->pid, tid);
	return 0;
}

int procs_scan_threads(struct procs *p, pid_t pid)
{
	struct threads_scan scan = {p, pid};

	scan_process(p, pid); /* the name of the process first */
	return proc_each_thread(pid, scan_thread, &scan);
}

pid_t procs_pid_of(pid_t tid)
{
	return number_in_status(tid, "\nTgid:");
}
