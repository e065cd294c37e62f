/* SPDX-License-Identifier: MIT */
/*
 * locks: the time that threads wait for locks: locks of the kernel, and futexes of programs. A wait
 * is a pair of events of the same thread. Waits for the end of a thread are shown apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/pairs.h"
#include "attar/private/unwind.h"
#include "attar/run.h"
#include "attar/unwind.h"
#include "sched/futex.h"
#include "lib/kernel_frames.h"
#include "lib/kernel_names.h"
#include "sched/lock_holders.h"
#include "sched/open_waits.h"
#include "lib/sample_fields.h"

enum { DEPTH_MAX = 64, COMM_BYTES = 16, KEYS_MAX = 16384, PEEK = 8 };

/* The key of a row, padded with zeros. */
struct lock {
	uint64_t address; /* 0: all waits of the process for the end of threads */
	int64_t pid;      /* the process in which a futex has its address; 0: the kernel */
};

/* The block of a row. */
struct label {
	char type[16];
	char comm[COMM_BYTES];       /* of the last waiter */
	attar_location stack[PEEK];  /* of the last waiter */
	struct lock_account account; /* of a futex */
	bool is_turn;                /* futex_may_be_turn() */
	struct lock_holder holder;   /* only in a report */
};

/*
 * What waits for a lock. A thread that waits for one kernel lock can wait for another: the wait
 * list of a mutex has a spinlock, and an interrupt takes its own.
 */
struct waiter {
	uint64_t lock; /* 0: a futex, whose address is not known at the end */
	int32_t tid;
	int32_t cpu; /* of the idle task, which each CPU has */
};

static bool is_join(const struct lock *lock)
{
	return lock->pid && !lock->address;
}

/* Stored with the start of a wait. */
struct wait {
	struct lock lock;
	char type[16], comm[COMM_BYTES];
	uint64_t account; /* lock_holders_begin() */
	int64_t joined;   /* the thread whose end it waits for; 0: it waits for a lock */
	/* Where it is counted, if it is not shown. */
	struct left_out *left_out;
	uint16_t depth;
	attar_location stack[DEPTH_MAX];
};

struct locks {
	uint64_t than; /* ns */
	bool kernel_only, futex_only;

	struct attar_pairs *kernel, *futexes; /* by struct waiter */
	uint64_t dropped;                     /* waits for futexes without an end */
	uint64_t lost_to;                     /* ns: the end of the last loss; 0: none */
	struct lock_holders holders;
	struct attar_keytable *table;
	struct attar_stacks *stacks;
	struct frames *frames;
	struct left_out perf, go;
};

/* ---- waits ---- */

static struct waiter waiter_of(const struct attar_event *ev, int64_t tid, uint64_t lock)
{
	return (struct waiter){
		.lock = lock, .tid = (int32_t)tid, .cpu = tid ? 0 : (int32_t)ev->cpu};
}

/* Waits that were dropped have no end, so the sums of the holders of their locks are wrong. */
static void note_dropped(struct locks *l)
{
	struct attar_pairs_stats stats;
	uint64_t dropped = 0;

	attar_pairs_get_stats(l->futexes, &stats);
	for (int i = 0; i < ATTAR_UNPAIRED_END; i++)
		dropped += stats.unpaired[i];
	if (dropped != l->dropped)
		lock_holders_forget(&l->holders);
	l->dropped = dropped;
}

static struct wait *begin(const struct attar_run *run, struct attar_pairs *pairs,
	const struct attar_event *ev, const struct lock *lock, const char *type)
{
	const struct waiter waiter =
		waiter_of(ev, run_event_tid(run, ev), lock->pid ? 0 : lock->address);
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct attar_start *start = attar_pairs_start(pairs, &waiter, sizeof(waiter), &at);
	struct wait *wait = start ? start->payload : NULL;

	if (!wait)
		return NULL;
	wait->lock = *lock;
	snprintf(wait->type, sizeof(wait->type), "%s", type);
	snprintf(wait->comm, COMM_BYTES, "%s", ev->thread ? ev->thread->comm : "");
	wait->depth = (uint16_t)attar_event_stack(ev, wait->stack, DEPTH_MAX);
	return wait;
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "type", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "lock", ATTAR_UNIT_HEX);
	attar_section_column(lines, "waited", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

static void add_line(struct attar_run *run, const struct attar_event *ev, const struct wait *wait,
	int64_t tid, uint64_t duration)
{
	struct attar_section *lines = attar_run_lines(run, "waits", columns);

	if (!lines)
		return;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, wait->comm);
	sample_tid_cell(lines, tid);
	attar_cell_text(lines, wait->type);
	attar_cell_u64(lines, wait->lock.address);
	attar_cell_u64(lines, duration);
	attar_row_stack(lines, attar_run_symbols(run), wait->stack, wait->depth);
}

/* The row of a lock after a wait. The kernel's part of the stack of a system call says nothing. */
static void set_label(struct label *label, const struct wait *wait)
{
	size_t from = 0, n;

	while (wait->lock.pid && from < wait->depth &&
		attar_location_dso(wait->stack[from]) == ATTAR_DSO_KERNEL)
		from++;
	n = wait->depth - from < PEEK ? wait->depth - from : PEEK;
	memcpy(label->type, wait->type, sizeof(label->type));
	memcpy(label->comm, wait->comm, sizeof(label->comm));
	memset(label->stack, 0, sizeof(label->stack));
	memcpy(label->stack, wait->stack + from, n * sizeof(*label->stack));
}

/* Adds the time to the threads that caused it. Kernel locks have no events of releases. */
static int add_holders(struct locks *l, struct attar_keyrow *row, const struct wait *wait,
	uint64_t since, uint64_t time)
{
	struct label *label = row->value;

	if (!wait->lock.pid)
		return 0;
	if (wait->joined)
		return lock_holders_add(&l->holders, &wait->lock, wait->joined, time - since);
	return lock_holders_end(
		&l->holders, &label->account, &wait->lock, wait->account, since, time);
}

/* A wait that is shown. */
static int add(struct locks *l, struct attar_run *run, const struct attar_event *ev,
	struct attar_keyrow *row, const struct wait *wait, int64_t tid, uint64_t duration)
{
	row->interval.sums[0] += duration;
	set_label(row->value, wait);
	if (attar_hist_add(&row->interval.hists[0], duration) < 0)
		return -ENOMEM;
	if (wait->joined)
		return 0;
	if (l->than && attar_run_wants(run, ATTAR_WANT_LINES))
		add_line(run, ev, wait, tid, duration);
	return ev->thread
		       ? attar_stacks_add(l->stacks, ev->thread, wait->stack, wait->depth, duration)
		       : 0;
}

static int end(struct locks *l, struct attar_run *run, struct attar_pairs *pairs,
	const struct attar_event *ev, int64_t tid, uint64_t lock)
{
	const struct waiter waiter = waiter_of(ev, tid, lock);
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const struct attar_start *start = attar_pairs_end(pairs, &waiter, sizeof(waiter), &at);
	const struct wait *wait = start ? start->payload : NULL;
	struct attar_keyrow *row;
	int r;

	if (!wait)
		return 0;
	row = attar_keytable_at(l->table, &wait->lock, sizeof(wait->lock));
	r = row ? add_holders(l, row, wait, start->time, at.time) : -ENOMEM;
	if (r < 0 || at.time - start->time < l->than || !attar_run_is_cpu_selected(run, at.cpu))
		return r;
	if (!wait->left_out)
		return add(l, run, ev, row, wait, tid, at.time - start->time);
	left_out_add(wait->left_out, at.time - start->time);
	return 0;
}

/* ---- events ---- */

enum { ADDRESS, FLAGS };

/* Flags of lock:contention_begin. */
static void name_type(uint64_t flags, char type[16])
{
	const char *kind = flags & 0x20 ? "mutex" : flags & 0x10 ? "percpu" : "lock";

	if (flags & 0x20)
		flags = 0x20; /* also while it spins */
	else if (flags & 0x1)
		kind = flags & 0x6 ? "rwlock" : "spinlock";
	else if (flags & 0x8)
		kind = flags & 0x6 ? "rwlock-rt" : "rtmutex";
	else if (flags & 0x6)
		kind = flags & 0x10 ? "percpu-rwsem" : "rwsem";
	snprintf(type, 16, "%s%s", kind, flags & 0x2 ? ":R" : flags & 0x4 ? ":W" : "");
}

static int on_begin(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;
	const struct lock lock = {.address = attar_arg_u64(ev, ADDRESS)};
	struct wait *wait;
	char type[16];

	name_type(attar_arg_u64(ev, FLAGS), type);
	wait = begin(run, l->kernel, ev, &lock, type);
	if (wait && frames_are_of_perf(l->frames, wait->stack, wait->depth))
		wait->left_out = &l->perf;
	return 0;
}

static int on_end(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;

	return end(l, run, l->kernel, ev, run_event_tid(run, ev), attar_arg_u64(ev, ADDRESS));
}

enum { UADDR, OP, VALUE };

/* Without a row, none waits. */
static int release_futex(
	struct locks *l, const struct attar_event *ev, const struct lock *lock, bool if_turn)
{
	struct attar_keyrow *row = attar_keytable_find(l->table, lock, sizeof(*lock));
	struct label *label = row ? row->value : NULL;

	if (!label || (if_turn && !label->is_turn))
		return 0;
	return lock_holders_release(&l->holders, &label->account, lock, ev->record->tid, ev->time);
}

/*
 * A thread that wakes up the waiters of a futex has held it. If this is the futex of the phase of a
 * read-write lock, further writers wait for their turn, but up to now for the same thread.
 */
static int release(struct locks *l, const struct attar_event *ev, const struct lock *lock)
{
	const struct lock turn = {.address = lock->address + FUTEX_BYTES, .pid = lock->pid};
	int r = release_futex(l, ev, lock, false);

	return r == 0 ? release_futex(l, ev, &turn, true) : r;
}

static const char condition[] = "condition";

static const char *name_of_call(enum futex_call call)
{
	return call == FUTEX_CALL_LOCK_PI     ? "futex-pi"
	       : call == FUTEX_CALL_CONDITION ? condition
					      : "futex";
}

static int begin_futex(struct locks *l, const struct attar_run *run, const struct attar_event *ev,
	const struct lock *lock, enum futex_call call)
{
	bool may_be_idle = futex_may_be_idle(attar_arg_u64(ev, OP), attar_arg_u64(ev, VALUE));
	struct wait *wait = begin(run, l->futexes, ev, lock, name_of_call(call));
	struct attar_keyrow *row;
	struct label *label;

	note_dropped(l);
	if (!wait)
		return 0;
	if (call == FUTEX_CALL_JOIN) {
		wait->joined = (int64_t)(uint32_t)attar_arg_u64(ev, VALUE);
		return 0;
	}
	if (may_be_idle && frames_are_idle_go(l->frames, wait->stack, wait->depth))
		wait->left_out = &l->go;
	row = attar_keytable_at(l->table, lock, sizeof(*lock));
	if (!row)
		return -ENOMEM;
	label = row->value;
	label->is_turn = futex_may_be_turn(attar_arg_u64(ev, OP), attar_arg_u64(ev, VALUE));
	wait->account = lock_holders_begin(&l->holders, &label->account, ev->time);
	return 0;
}

static int on_futex(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;
	const struct attar_process *process = ev->thread ? ev->thread->process : NULL;
	enum futex_call call =
		futex_call_of(run, process, attar_arg_u64(ev, OP), attar_arg_u64(ev, VALUE));
	const struct lock lock = {.address = call == FUTEX_CALL_JOIN ? 0 : attar_arg_u64(ev, UADDR),
		.pid = process ? process->pid : -1};

	if (call == FUTEX_CALL_OTHER)
		return 0;
	return call == FUTEX_CALL_WAKE ? release(l, ev, &lock)
				       : begin_futex(l, run, ev, &lock, call);
}

static int on_futex_end(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;

	return end(l, run, l->futexes, ev, run_event_tid(run, ev), 0);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;

	(void)run;
	l->lost_to = ev->lost_to;
	attar_pairs_lost(l->kernel, -1, ev->lost_from, ev->lost_to);
	attar_pairs_lost(l->futexes, -1, ev->lost_from, ev->lost_to);
	note_dropped(l);
	return 0;
}

/* Its wait ends here, as at a signal that kills it. */
static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct locks *l = self;

	return ev->thread ? end(l, run, l->futexes, ev, ev->thread->tid, 0) : 0;
}

/* ---- reporting ---- */

static bool begins_with_one_of(const char *text, const char *const *names)
{
	for (; *names; names++)
		if (!strncmp(text, *names, strlen(*names)))
			return true;
	return false;
}

static bool is_libc(const char *path)
{
	static const char *const files[] = {"libc.so", "libc-", "libpthread", "ld-musl", NULL};
	const char *slash = strrchr(path, '/');

	return begins_with_one_of(slash ? slash + 1 : path, files);
}

/* Functions of glibc and musl, which a static program contains, and of Go's runtime. */
static bool is_lock_of_libc(const char *name, bool is_in_libc)
{
	static const char *const names[] = {"lll_", "futex_", "do_futex_wait", "pthread_",
		"sem_wait", "sem_timedwait", "sem_clockwait", "new_sem_", "mtx_lock",
		"mtx_timedlock", "cnd_wait", "cnd_timedwait", "thrd_join", "syscall",
		"internal_syscall", "runtime.futex", "runtime.lock", "runtime.note", NULL};
	static const char *const of_musl[] = {"lock", "wait", "timedwait", NULL};

	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3))
		name += 3 + strspn(name + 3, "_");
	return begins_with_one_of(name, names) || (is_in_libc && begins_with_one_of(name, of_musl));
}

static bool is_lock_of_kernel(const char *name)
{
	static const char *const parts[] = {
		"lock", "futex", "mutex", "sem", "down_", "cond_", "syscall", "SYSCALL"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static bool is_lock_function(const struct attar_symbol *symbol)
{
	bool is_in_libc = symbol->dso && is_libc(symbol->dso);

	if (!symbol->name)
		return is_in_libc;
	return symbol->kind == ATTAR_DSO_IS_KERNEL ? is_lock_of_kernel(symbol->name)
						   : is_lock_of_libc(symbol->name, is_in_libc);
}

/* Sets the name of the caller, and returns whether it does not belong to the lock. */
static bool find_caller(
	struct attar_symbols *symbols, const struct label *label, const char **ret_name)
{
	*ret_name = "";
	for (size_t i = 0; i < PEEK && label->stack[i]; i++) {
		struct attar_symbol symbol = {.name = NULL};

		(void)attar_symbols_resolve(symbols, label->stack[i], &symbol);
		if (symbol.name)
			*ret_name = symbol.name;
		if (!is_lock_function(&symbol))
			return true;
	}
	return false;
}

/* The first function in the stack that does not belong to the lock; otherwise the outermost one. */
static const char *caller(struct attar_symbols *symbols, const struct label *label)
{
	const char *name;

	find_caller(symbols, label, &name);
	return name;
}

/* Frame pointers do not lead out of a libc that keeps none. */
static void remark_libc(struct attar_run *run, struct attar_report *report,
	struct attar_keyrow *const *rows, size_t n, enum attar_scope scope)
{
	struct attar_symbols *symbols = attar_run_symbols(run);
	struct attar_unwind_stats unwound;
	uint64_t all = 0, in_libc = 0;
	const char *name;

	unwind_get_stats(symbols, &unwound);
	for (size_t i = 0; i < n; i++) {
		const struct lock *lock = rows[i]->key;
		const struct label *label = rows[i]->value;
		uint64_t time = attar_keyrow_sums(rows[i], scope)->sums[0];

		if (!lock || !lock->pid)
			continue;
		all += time;
		if (label->stack[0] && !find_caller(symbols, label, &name))
			in_libc += time;
	}
	if (in_libc <= all / 2 || unwound.stacks)
		return;
	attar_report_remark(report,
		"for %.0f%% of the waiting time of futexes, the caller is a function inside "
		"libc, which keeps no frame pointers: %s shows that of the program",
		100 * (double)in_libc / (double)all,
		attar_run_is_live(run) ? "--unwind dwarf" : "a recording with --call-graph=dwarf");
}

/* The sum of all may be incomplete if the table of holders was full. */
static void add_holder(
	const struct attar_run *run, struct attar_section *table, const struct lock_holder *holder)
{
	const struct attar_thread *thread = holder->tid ? attar_run_thread(run, holder->tid) : NULL;

	if (holder->tid) {
		attar_cell_i64(table, holder->tid);
		attar_cell_text(table, thread ? thread->comm : "[unknown]");
		attar_cell_double(table, holder->due < holder->all
						 ? 100 * (double)holder->due / (double)holder->all
						 : 100);
	} else {
		for (int i = 0; i < 3; i++)
			attar_cell_none(table);
	}
}

/* The name of a lock that is a variable of the kernel is unknown: the code that waits names it. */
static void add_lock(
	struct attar_run *run, struct attar_section *table, const struct attar_keyrow *row)
{
	const struct lock *lock = row->key;
	const struct label *label = row->value;

	if (!lock) {
		attar_cell_text(table, "[others]");
		for (int i = 0; i < 7; i++)
			attar_cell_none(table);
		return;
	}
	attar_cell_text(table, label->type);
	attar_cell_u64(table, lock->address);
	if (lock->pid)
		attar_cell_i64(table, lock->pid);
	else
		attar_cell_none(table);
	attar_cell_text(table, label->comm);
	add_holder(run, table, &label->holder);
	attar_cell_text(table, caller(attar_run_symbols(run), label));
}

static void add_locks(struct attar_run *run, struct attar_section *table,
	struct attar_keyrow *const *rows, size_t n, enum attar_scope scope, bool conditions)
{
	for (size_t i = 0; i < n; i++) {
		const struct label *label = rows[i]->value;
		bool is_condition = rows[i]->key && !strcmp(label->type, condition);

		if ((rows[i]->key && is_join(rows[i]->key)) || is_condition != conditions)
			continue;
		attar_section_row(table);
		add_lock(run, table, rows[i]);
		attar_cell_hist(table, &attar_keyrow_sums(rows[i], scope)->hists[0]);
	}
}

static void add_join(struct attar_run *run, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct lock *lock = row->key;
	const struct label *label = row->value;

	attar_section_row(table);
	attar_cell_i64(table, lock->pid);
	attar_cell_text(table, label->comm);
	add_holder(run, table, &label->holder);
	attar_cell_text(table, caller(attar_run_symbols(run), label));
	attar_cell_hist(table, &attar_keyrow_sums(row, scope)->hists[0]);
}

/* A table of the rows that are joins, if there are any. */
static void add_joins(struct attar_run *run, struct attar_report *report,
	struct attar_keyrow *const *rows, size_t n, enum attar_scope scope)
{
	struct attar_section *table = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i]->key || !is_join(rows[i]->key))
			continue;
		if (!table) {
			table = attar_report_table(report, "joins");
			attar_section_column(table, "pid", ATTAR_UNIT_ID);
			attar_section_column(table, "waiter", ATTAR_UNIT_TEXT);
			attar_section_column(table, "thread", ATTAR_UNIT_ID);
			attar_section_column(table, "thread name", ATTAR_UNIT_TEXT);
			attar_section_column(table, "thread share", ATTAR_UNIT_PERCENT);
			attar_section_column(table, "caller", ATTAR_UNIT_TEXT);
			attar_section_hist_columns(table, ATTAR_UNIT_NS);
		}
		add_join(run, table, rows[i], scope);
	}
}

static void lock_columns(struct attar_section *table)
{
	attar_section_column(table, "type", ATTAR_UNIT_TEXT);
	attar_section_column(table, "lock", ATTAR_UNIT_HEX);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "waiter", ATTAR_UNIT_TEXT);
	attar_section_column(table, "holder", ATTAR_UNIT_ID);
	attar_section_column(table, "holder name", ATTAR_UNIT_TEXT);
	attar_section_column(table, "holder share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "caller", ATTAR_UNIT_TEXT);
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
}

/* Finds the holders of the lock of each row. */
static int find_holders(struct locks *l, enum attar_scope scope)
{
	int r = lock_holders_end_interval(&l->holders);
	struct attar_keyrow *row = NULL;

	while ((row = attar_keytable_next(l->table, row)))
		((struct label *)row->value)->holder = (struct lock_holder){0};
	while (r == 0 && (row = attar_keytable_next(l->holders.table, row))) {
		const struct attar_keyrow *lock =
			attar_keytable_find(l->table, lock_holders_lock(row), sizeof(struct lock));

		if (lock)
			lock_holders_read(row, scope, &((struct label *)lock->value)->holder);
	}
	return r;
}

static int add_rows(
	struct locks *l, struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "locks");
	int r = attar_keytable_end_interval(l->table);
	struct attar_keyrow **rows;
	size_t n;

	if (r == 0)
		r = find_holders(l, scope);
	if (r == 0)
		r = attar_keytable_rows(l->table, scope, 0, &rows, &n);
	lock_columns(table);
	if (r < 0)
		return r;
	/* threads without work wait for conditions, however long */
	add_locks(run, table, rows, n, scope, false);
	add_locks(run, table, rows, n, scope, true);
	add_joins(run, report, rows, n, scope);
	remark_libc(run, report, rows, n, scope);
	free(rows);
	return 0;
}

/* ---- waits that have not ended ---- */

static bool is_open_wait(const void *self, const struct attar_wait *wait)
{
	const struct locks *l = self;

	if (l->kernel_only)
		return false;
	return wait->kind == ATTAR_WAIT_LOCK || wait->kind == ATTAR_WAIT_THREAD ||
	       (wait->kind == ATTAR_WAIT_FILE_LOCK && !l->futex_only);
}

/* A wait whose start was not seen began before the measurement, or before the end of a loss. */
static uint64_t waits_since(const struct attar_run *run, const void *self, pid_t tid)
{
	const struct locks *l = self;
	const struct attar_start *start = NULL;

	(void)run;
	while ((start = attar_pairs_next_open(l->futexes, start)))
		if (((const struct waiter *)start->key)->tid == tid)
			return start->time;
	return l->lost_to;
}

static int locks_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct locks *l = self;
	const struct attar_stacks_opts opts = {
		.size = sizeof(opts), .weight = "waited", .unit = ATTAR_UNIT_NS, .tree = true};
	struct attar_pairs_stats stats;
	int r = add_rows(l, run, report, scope);

	attar_pairs_get_stats(l->kernel, &stats);
	stats.unpaired[ATTAR_UNPAIRED_END] = 0;      /* began before the measurement */
	stats.unpaired[ATTAR_UNPAIRED_REPEATED] = 0; /* of a mutex, that spins and then sleeps */
	attar_report_unpaired(report, &stats, "waits for kernel locks");
	attar_pairs_get_stats(l->futexes, &stats);
	stats.unpaired[ATTAR_UNPAIRED_END] = 0; /* calls that do not wait */
	attar_report_unpaired(report, &stats, "waits for futexes");
	attar_report_evicted(report, l->table, "locks");
	attar_report_evicted(report, l->holders.table, "holders");
	left_out_remark_perf(&l->perf, report, scope);
	left_out_remark_go(&l->go, report, scope);
	if (r == 0)
		r = open_waits_report(run, report, scope,
			&(struct open_waits_opts){l, is_open_wait, waits_since, l->than});
	return r == 0 ? attar_run_stacks(run, report, l->stacks, scope, &opts) : r;
}

/* ---- life ---- */

static const struct attar_input kernel_inputs[] = {/* Linux 5.19 */
	{.event = "lock:contention_begin",
		.fields = {"lock_addr", "flags"},
		.on_event = on_begin,
		.stacks = true,
		.optional = true},
	{.event = "lock:contention_end",
		.fields = {"lock_addr"},
		.on_event = on_end,
		.optional = true},
	{0}};

static const struct attar_input futex_inputs[] = {{.event = "syscalls:sys_enter_futex",
							  .fields = {"uaddr", "op", "?val"},
							  .on_event = on_futex,
							  .stacks = true,
							  .optional = true},
	{.event = "syscalls:sys_exit_futex",
		.fields = {"ret"},
		.on_event = on_futex_end,
		.optional = true},
	{0}};

static int open_inputs(struct attar_run *run, const struct locks *l)
{
	int r = l->futex_only ? 0 : attar_run_inputs(run, kernel_inputs);

	if (r == 0 && !l->kernel_only)
		r = attar_run_inputs(run, futex_inputs);
	if (r == 0 && !attar_run_sources(run) && !attar_run_is_live(run))
		return attar_fail(-ENOENT,
			"the recording has no lock events" ATTAR_FIX
			"record lock:contention_begin, syscalls:sys_enter_futex and "
			"syscalls:sys_exit_futex");
	if (r == 0 && !attar_run_sources(run))
		return attar_fail(-EOPNOTSUPP, "this kernel has no events for %s",
			l->futex_only ? "system calls (CONFIG_FTRACE_SYSCALLS)"
				      : "locks: lock:contention_begin needs Linux 5.19");
	return r;
}

static int locks_open(struct attar_run *run, void *self)
{
	struct locks *l = self;
	struct attar_pairs_opts pairs = {.size = sizeof(pairs),
		.payload_size = sizeof(struct wait),
		.key_max = sizeof(struct waiter)};
	const struct attar_keytable_opts table = {.size = sizeof(table),
		.sums = 1,
		.hists = 1,
		.value_size = sizeof(struct label),
		.key_max = sizeof(struct lock),
		.keys_max = KEYS_MAX};
	int r = 0;

	if (l->futex_only && l->kernel_only)
		return attar_fail(-EINVAL, "--kernel and --futex are mutually exclusive");
	attar_run_all_cpus(run, true);
	r = open_inputs(run, l);
	kernel_names_read(run);
	l->frames = frames_new(attar_run_symbols(run));
	if (!l->frames)
		return -ENOMEM;
	if (r == 0)
		r = attar_pairs_new(&pairs, &l->futexes);
	pairs.policy = ATTAR_PAIRS_FIRST;
	if (r == 0)
		r = attar_pairs_new(&pairs, &l->kernel);
	if (r == 0)
		r = attar_keytable_new(&table, &l->table);
	if (r == 0)
		r = lock_holders_open(&l->holders);
	return r == 0 ? attar_stacks_new(attar_run_symbols(run), &l->stacks) : r;
}

static void locks_close(void *self)
{
	struct locks *l = self;

	attar_pairs_free(l->kernel);
	attar_pairs_free(l->futexes);
	attar_keytable_free(l->table);
	lock_holders_close(&l->holders);
	frames_free(l->frames);
	attar_stacks_free(l->stacks);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct locks, kernel_only, 0, "kernel", "only kernel locks"),
	ATTAR_FLAG(struct locks, futex_only, 0, "futex", "only futexes of programs"),
	ATTAR_TIME(struct locks, than, 0, "than", "TIME",
		"only waits of at least this time, and print each: nanoseconds, or a unit: 4ms",
		.bare = 1),
	{0}};

static const struct attar_example examples[] = {
	{"locks -p 1234 -d 10s", "locks that a process waits for"},
	{"locks --kernel -o locks.html", "kernel locks, with a flame graph"},
	{"locks --futex --than 10ms -- make", "long waits of a command"}, {0}};

const struct attar_profiler profiler_locks = {
	.name = "locks",
	.group = "Locks",
	.summary = "time that threads wait for kernel locks and futexes",
	.uses = ATTAR_USES_RINGS | ATTAR_USES_STACKS | ATTAR_GIVES_TREE,
	.needs = "perf events, tracefs!",
	.self_size = sizeof(struct locks),
	.options = options,
	.examples = examples,
	.open = locks_open,
	.lost = on_lost,
	.exited = on_exited,
	.report = locks_report,
	.close = locks_close,
};
