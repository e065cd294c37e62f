/* SPDX-License-Identifier: MIT */
#include "stream/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "perf/target.h"

void procs_init(struct procs *p, struct attar_symbols *symbols, bool live)
{
	*p = (struct procs){.symbols = symbols, .live = live};
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
	attar_space_free(process->pub.space);
	free(process);
}

static void thread_free(struct procs *p, struct thread *t)
{
	process_unref(p, (struct process *)t->pub.process);
	free(t);
}

void procs_done(struct procs *p)
{
	map_each (&p->threads, it)
		thread_free(p, (struct thread *)(uintptr_t)it->value);
	while (p->dead) {
		struct thread *t = p->dead;

		p->dead = t->next_dead;
		thread_free(p, t);
	}
	map_done(&p->threads);
	map_done(&p->processes);
	intern_done(&p->names);
}

/* A /proc file of one line, interned without its newline; NULL when it is gone. */
static const char *read_comm(struct procs *p, const char *path)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (!p->live || file_read(path, 256, &b) < 0 || !b.len)
		return NULL;
	return intern_bytes(&p->names, b.data, b.len - (b.data[b.len - 1] == '\n'));
}

static const char *comm_of(struct procs *p, pid_t pid, pid_t tid, const struct process *process)
{
	const char *comm = NULL;
	char path[64];

	if (tid == 0)
		return intern_text(&p->names, "swapper");
	if (tid < 0)
		return intern_text(&p->names, "[exiting]");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	comm = read_comm(p, path);
	if (!comm && process)
		comm = process->pub.comm;
	return comm ? comm : intern_text(&p->names, "[unknown]");
}

static struct process *process_new(struct procs *p, pid_t pid, struct attar_space *space)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process || !space || map_put(&p->processes, (uint64_t)pid, (uintptr_t)process) < 0) {
		attar_space_free(space);
		free(process);
		base_oom();
		return NULL;
	}
	process->pub.pid = pid;
	process->pub.space = space;
	return process;
}

static struct process *find_process(const struct procs *p, pid_t pid)
{
	uint64_t *entry = map_get(&p->processes, (uint64_t)pid);

	return entry ? (struct process *)(uintptr_t)*entry : NULL;
}

struct thread *procs_known(const struct procs *p, pid_t tid)
{
	uint64_t *entry = map_get(&p->threads, (uint64_t)tid);

	return entry ? (struct thread *)(uintptr_t)*entry : NULL;
}

/* A process whose first thread it would have been goes with a failure. */
static struct thread *thread_new(
	struct procs *p, struct process *process, pid_t tid, const char *comm)
{
	struct thread *t = calloc(1, sizeof(*t));

	process->threads++;
	if (!t || !comm || map_put(&p->threads, (uint64_t)tid, (uintptr_t)t) < 0) {
		free(t);
		process_unref(p, process);
		base_oom();
		return NULL;
	}
	t->pub = (struct attar_thread){
		.tid = tid, .comm = comm, .process = &process->pub, .serial = p->serial++};
	if (!process->pub.comm || tid == process->pub.pid)
		process->pub.comm = comm;
	return t;
}

void procs_scan(struct process *process)
{
	if (process->pub.scanned || process->pub.pid <= 0)
		return;
	process->pub.scanned = true;
	attar_space_scan(process->pub.space);
}

static struct thread *enter_thread(struct procs *p, pid_t pid, pid_t tid)
{
	struct thread *t = procs_known(p, tid);
	struct process *process;

	if (t)
		return t;
	process = find_process(p, pid);
	if (!process) {
		process = process_new(p, pid, attar_space_new(p->symbols, pid));
		if (!process)
			return NULL;
		if (p->live)
			procs_scan(process);
	}
	return thread_new(p, process, tid, comm_of(p, pid, tid, process));
}

struct thread *procs_find(struct procs *p, pid_t pid, pid_t tid)
{
	return *procs_recent(p, tid) = enter_thread(p, pid, tid);
}

void procs_name(struct procs *p, struct thread *t, const char *comm)
{
	if (strcmp(t->pub.comm, "[unknown]") != 0)
		return;
	comm = intern_text(&p->names, comm);
	if (comm)
		t->pub.comm = comm;
}

/* Takes a thread out of the living; frees the longest dead when there are too many. */
static void bury(struct procs *p, struct thread *t)
{
	map_remove(&p->threads, (uint64_t)t->pub.tid);
	*procs_recent(p, t->pub.tid) = NULL;
	t->pub.exited = true;
	*p->dead_end = t;
	p->dead_end = &t->next_dead;
	if (++p->n_dead <= PROCS_DEAD_MAX)
		return;
	t = p->dead;
	p->dead = t->next_dead;
	p->n_dead--;
	thread_free(p, t);
}

static int apply_comm(struct procs *p, const struct attar_comm *c)
{
	struct thread *t = procs_thread(p, (pid_t)c->pid, (pid_t)c->tid);
	const char *comm = intern_text(&p->names, c->comm);

	if (!t || !comm)
		return base_oom();
	t->pub.comm = comm;
	if (c->pid == c->tid)
		t->pub.process->comm = comm;
	if (c->exec)
		attar_space_reset(t->pub.process->space);
	return 0;
}

static int apply_mmap(struct procs *p, const struct attar_record *rec)
{
	const struct attar_mmap *m = &rec->mmap;
	struct attar_mapping mapping = {.start = m->addr,
		.len = m->len,
		.pgoff = m->pgoff,
		.path = m->filename,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = (uint32_t)m->ino_generation,
		.build_id_size = m->build_id_size};
	struct thread *t;

	if (m->pid == UINT32_MAX || rec->misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0; /* the kernel's own text, or data */
	t = procs_thread(p, (pid_t)m->pid, (pid_t)m->tid);
	if (!t)
		return base_oom();
	memcpy(mapping.build_id, m->build_id, sizeof(mapping.build_id));
	return attar_space_map(t->pub.process->space, &mapping);
}

static int apply_fork(struct procs *p, const struct attar_task *f)
{
	struct thread *old = procs_known(p, (pid_t)f->tid), *parent;
	struct process *process;

	if (f->tid == f->ptid) /* both are 0: outside our pid namespace tasks have no numbers */
		return 0;
	if (old) /* its end was lost, or it was read from /proc before this record came */
		bury(p, old);
	parent = procs_thread(p, (pid_t)f->ppid, (pid_t)f->ptid);
	if (!parent)
		return base_oom();
	process = (struct process *)parent->pub.process;
	if (f->pid != f->ppid) {
		process = process_new(p, (pid_t)f->pid,
			attar_space_fork(parent->pub.process->space, (pid_t)f->pid));
		if (!process)
			return base_oom();
		process->pub.parent = (pid_t)f->ppid;
		process->pub.scanned = true;
	}
	return thread_new(p, process, (pid_t)f->tid, parent->pub.comm) ? 0 : base_oom();
}

/*
 * The kernel ends the events of a task that takes on another user's rights by its exec (a setuid
 * program), with a record as if it had exited. Its directory in /proc then belongs to that user.
 */
static void note_barred(struct procs *p, const struct thread *t, pid_t pid)
{
	char path[64];
	struct stat st;

	if (p->barred || !p->live || !p->by_task || !geteuid())
		return;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0 || st.st_uid == geteuid() || !target_is_running(pid))
		return;
	p->barred = true;
	log_note("process %d (%s) has taken on the rights of another user, by a setuid program: "
		 "the kernel lets only root watch it any further",
		pid, t->pub.comm);
}

static int apply_exit(struct procs *p, const struct attar_task *e)
{
	struct thread *t = procs_known(p, (pid_t)e->tid);

	if (!t)
		return 0;
	if (e->pid == e->tid) {
		t->pub.process->exited = true;
		note_barred(p, t, (pid_t)e->pid);
	}
	bury(p, t);
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
		return apply_fork(p, &rec->task);
	case PERF_RECORD_EXIT:
		return apply_exit(p, &rec->task);
	case PERF_RECORD_KSYMBOL:
		return attar_symbols_ksymbol(p->symbols, rec->ksymbol.addr, rec->ksymbol.len,
			rec->ksymbol.name,
			rec->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	default:
		return 0;
	}
}

int procs_scan_all(struct procs *p)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return attar_fail(-errno, "cannot list /proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid)
			procs_thread(p, pid, pid);
	}
	closedir(dir);
	return 0;
}

pid_t procs_pid_of(pid_t tid)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (file_read(path, 1 << 16, &b) < 0 || !(line = strstr(buf_text(&b), "\nTgid:"))) {
		attar_error_clear();
		return 0;
	}
	return (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10);
}
