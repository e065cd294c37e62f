/* SPDX-License-Identifier: MIT */
/*
 * pgslow: prints slow queries of PostgreSQL with their text, how long they waited for locks, and
 * which server process held these. By probes of functions that every build of PostgreSQL exports:
 * pgstat_report_activity() has the text of each query, and ProcSleep() is a wait for a lock. Who
 * ends the wait, wakes the waiting process with a signal, and held the lock.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "attar/private/event.h"
#include "attar/private/thread.h"
#include "lib/line_summary.h"
#include "lib/task_snoop.h"

enum {
	QUERY_BYTES = 512,
	PROCESSES_MAX = 1 << 14,
	BLOCKS_MAX = 1 << 12,
	LOCK_BYTES = 64,
	PROC_BYTES = 1024,   /* of struct PGPROC, more than the members that are needed */
	TAG_TRANSACTION = 5, /* enum LockTagType, since PostgreSQL 13 */
};

/* A server process. */
struct backend {
	uint64_t begun;          /* of its query; 0: it has none, or it is not known */
	uint64_t waited, sleeps; /* for locks in this query; since when it waits; 0: not */
	int64_t waker, blocker;  /* who woke it last; who held the lock; 0: unknown */
	uint32_t tag[4];         /* of the lock */
	char query[QUERY_BYTES]; /* the newest one */
	char work[QUERY_BYTES];  /* the newest that does not begin or end a transaction */
	char blocker_query[QUERY_BYTES];
};

/* Who waited for whom. */
struct block_key {
	int64_t victim, blocker;
};

struct block_texts {
	char victim[QUERY_BYTES], blocker[QUERY_BYTES];
};

enum { SUM_TIME, SUM_WAITS, SUM_MAX, SUMS };

struct pgslow {
	uint64_t than;
	const char *program; /* of --server; NULL: found */

	char path[PATH_MAX], place[PATH_MAX + 4]; /* place: of the probes; "" with a recording */
	struct attar_keytable *backends; /* by pid, value struct backend */
	struct attar_keytable *blocks;   /* by struct block_key, value struct block_texts */
	struct line_summary summary;
	uint64_t queries;
};

/* ---- the server ---- */

static bool is_server(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strcmp(slash + 1, "postgres");
}

/* The program of a process that runs; it may be in another root directory. */
static bool server_of(const char *pid, char path[PATH_MAX])
{
	char link[64], name[PATH_MAX], in_root[PATH_MAX];
	struct stat there, here;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%.20s/exe", pid);
	n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = '\0';
	if (!is_server(name))
		return false;
	if (stat(link, &there) == 0 && stat(name, &here) == 0 && there.st_ino == here.st_ino &&
		there.st_dev == here.st_dev)
		snprintf(in_root, sizeof(in_root), "%s", name);
	else if ((size_t)snprintf(in_root, sizeof(in_root), "/proc/%.20s/root%s", pid, name) >=
		 sizeof(in_root))
		return false;
	memcpy(path, in_root, PATH_MAX);
	return true;
}

static bool find_running(char path[PATH_MAX])
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (proc && !found && (entry = readdir(proc)))
		found = *entry->d_name >= '1' && *entry->d_name <= '9' &&
			server_of(entry->d_name, path);
	if (proc)
		closedir(proc);
	return found;
}

static bool find_installed(char path[PATH_MAX])
{
	static const char *const patterns[] = {"/usr/lib/postgresql/*/bin/postgres",
		"/usr/pgsql-*/bin/postgres", "/usr/bin/postgres", "/usr/local/pgsql/bin/postgres"};
	glob_t found = {0};
	bool is_found;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	is_found = found.gl_pathc > 0;
	if (is_found)
		snprintf(path, PATH_MAX, "%s", found.gl_pathv[0]);
	globfree(&found);
	return is_found;
}

static int find_server(struct pgslow *p)
{
	if (p->program)
		snprintf(p->path, sizeof(p->path), "%s", p->program);
	else if (!find_running(p->path) && !find_installed(p->path))
		return attar_fail(-ENOENT,
			"no PostgreSQL server runs, and none is installed" ATTAR_FIX
			"name its program: --server /PATH/bin/postgres");
	return 0;
}

/* ---- queries ---- */

static struct backend *backend_of(struct pgslow *p, int64_t pid)
{
	struct attar_keyrow *row = attar_keytable_at_u64(p->backends, (uint64_t)pid);

	if (!row)
		return NULL;
	row->interval.sums[0]++; /* processes with few events are evicted first */
	return row->value;
}

static void pgslow_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_column(lines, "lock wait", ATTAR_UNIT_NS);
	attar_section_column(lines, "blocked by", ATTAR_UNIT_ID);
	attar_section_column(lines, "query", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

/* The query of a process has ended. */
static int finish(struct pgslow *p, struct attar_run *run, const struct attar_event *ev,
	struct backend *b, int64_t pid)
{
	uint64_t duration = ev->time - b->begun;
	struct attar_section *lines;
	int r;

	b->begun = 0;
	p->queries++;
	if (duration < p->than)
		return 0;
	r = line_summary_add(&p->summary, ev->thread->comm, pid, duration);
	if (r == 0)
		r = line_summary_add_thing(&p->summary, 0, b->query, strlen(b->query), duration);
	if (r < 0 || !attar_run_wants(run, ATTAR_WANT_LINES))
		return r;
	lines = attar_run_lines(run, "queries", pgslow_columns);
	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_u64(lines, (uint64_t)pid);
	attar_cell_u64(lines, duration);
	attar_cell_u64(lines, b->waited);
	task_add_number(lines, b->waited ? b->blocker : 0);
	attar_cell_text(lines, b->query);
	return 0;
}

/* Whether a statement begins or ends a transaction, and holds no lock by itself. */
static bool is_control(const char *query)
{
	static const char *const words[] = {
		"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"};

	query += strspn(query, " \t\r\n");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if (!strncasecmp(query, words[i], n) && strcspn(query, " \t\r\n;") == n)
			return true;
	}
	return false;
}

/* Lines of the text are shown as one. */
static void copy_query(char *to, const char *text, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n && text[i] && len < QUERY_BYTES - 1; i++) {
		bool is_space = strchr(" \t\r\n", text[i]) != NULL;

		if (!is_space || (len && to[len - 1] != ' '))
			to[len++] = is_space ? ' ' : text[i];
	}
	to[len] = '\0';
}

enum { POINTER, TEXT };

/*
 * With a text: a query, or with prepared statements another part of the same one; without: the
 * process waits for its client.
 */
static int on_activity(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct pgslow *p = self;
	int64_t pid = ev->thread->process->pid;
	struct backend *b = attar_run_is_selected(run, ev->thread) ? backend_of(p, pid) : NULL;
	char query[QUERY_BYTES];
	size_t n;
	const char *text = attar_arg_text(ev, TEXT, &n);
	int r = 0;

	if (!b)
		return 0;
	copy_query(query, text ? text : "", n);
	if (attar_arg_u64(ev, POINTER) && b->begun && !strcmp(query, b->query))
		return 0;
	if (b->begun)
		r = finish(p, run, ev, b, pid);
	if (!attar_arg_u64(ev, POINTER))
		return r;
	b->begun = ev->time;
	b->waited = 0;
	b->blocker = 0;
	memcpy(b->query, query, sizeof(query));
	if (!is_control(query))
		memcpy(b->work, query, sizeof(query));
	return r;
}

/* ---- waits for locks ---- */

static int on_sleep(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct pgslow *p = self;
	struct backend *b = attar_run_is_selected(run, ev->thread)
				    ? backend_of(p, ev->thread->process->pid)
				    : NULL;

	if (!b)
		return 0;
	b->sleeps = ev->time;
	b->waker = 0;
	for (unsigned i = 0; i < 4; i++)
		b->tag[i] = (uint32_t)attar_arg_u64(ev, i);
	return 0;
}

/* SetLatch() of the process that gives the lock away. */
static int on_signal(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct pgslow *p = self;
	uint64_t target = attar_arg_u64(ev, 0);
	struct attar_keyrow *row = attar_keytable_find(p->backends, &target, sizeof(target));
	struct backend *b = row ? row->value : NULL;

	(void)run;
	if (b && b->sleeps && ev->thread->process->pid != (pid_t)target)
		b->waker = ev->thread->process->pid;
	return 0;
}

static int add_block(struct pgslow *p, int64_t pid, const struct backend *b, uint64_t waited)
{
	const struct block_key key = {.victim = pid, .blocker = b->blocker};
	struct attar_keyrow *row = attar_keytable_at(p->blocks, &key, sizeof(key));
	struct block_texts *texts = row ? row->value : NULL;

	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_TIME] += waited;
	row->interval.sums[SUM_WAITS]++;
	if (waited >= row->interval.sums[SUM_MAX]) {
		row->interval.sums[SUM_MAX] = waited;
		memcpy(texts->victim, b->query, sizeof(texts->victim));
		memcpy(texts->blocker, b->blocker_query, sizeof(texts->blocker));
	}
	return 0;
}

/* What a process does or did, as far as it is known. */
static void copy_work(const struct pgslow *p, int64_t pid, char query[QUERY_BYTES])
{
	uint64_t key = (uint64_t)pid;
	const struct attar_keyrow *row = attar_keytable_find(p->backends, &key, sizeof(key));
	const struct backend *b = row ? row->value : NULL;

	snprintf(query, QUERY_BYTES, "%s", !b ? "" : *b->work ? b->work : b->query);
}

static int on_slept(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct pgslow *p = self;
	int64_t pid = ev->thread->process->pid;
	struct backend *b = attar_run_is_selected(run, ev->thread) ? backend_of(p, pid) : NULL;
	uint64_t waited = b && b->sleeps ? ev->time - b->sleeps : 0;

	if (!waited)
		return 0;
	b->sleeps = 0;
	b->waited += waited;
	b->blocker = b->waker;
	copy_work(p, b->blocker, b->blocker_query);
	return waited < p->than ? 0 : add_block(p, pid, b, waited);
}

/* ---- locks that are held ---- */

static bool read_memory(pid_t pid, uint64_t address, void *bytes, size_t n)
{
	return thread_memory(pid, address, bytes, n) == (ssize_t)n;
}

/*
 * The transaction of a server process, from its struct PGPROC: xid follows its latch (is_set,
 * maybe_sleeping, is_shared, owner_pid), as in PostgreSQL 15. 0: none, or not known.
 */
static uint32_t transaction_of(struct attar_run *run, const struct pgslow *p, pid_t pid)
{
	char symbol[PATH_MAX + 16];
	uint32_t words[PROC_BYTES / 4];
	uint64_t address, proc;

	snprintf(symbol, sizeof(symbol), "MyProc@%s", p->path);
	if (catalog_address(attar_run_catalog(run), symbol, pid, &address) < 0) {
		attar_error_clear();
		return 0;
	}
	if (!read_memory(pid, address, &proc, sizeof(proc)) || !proc ||
		!read_memory(pid, proc, words, sizeof(words)))
		return 0;
	for (size_t i = 3; i + 1 < PROC_BYTES / 4; i++)
		if (words[i] == (uint32_t)pid && words[i - 3] <= 1 && words[i - 2] <= 1 &&
			(words[i - 1] & 0xff) == 1)
			return words[i + 1];
	return 0;
}

/* Who has the transaction that a process waits for. */
static int64_t holder_of(struct attar_run *run, const struct pgslow *p, const struct backend *b)
{
	DIR *proc = (b->tag[3] & 0xff) == TAG_TRANSACTION ? opendir("/proc") : NULL;
	const struct dirent *entry;
	int64_t holder = 0;
	char path[PATH_MAX];

	while (proc && !holder && (entry = readdir(proc)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
			server_of(entry->d_name, path) &&
			transaction_of(run, p, (pid_t)atoi(entry->d_name)) == b->tag[0])
			holder = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return holder;
}

static void add_lock(const struct backend *b, char text[LOCK_BYTES])
{
	static const char *const types[] = {"relation", "extension", "database", "page", "row",
		"transaction", "virtual transaction", "speculative token", "object"};
	uint32_t type = b->tag[3] & 0xff;

	if (type == TAG_TRANSACTION)
		snprintf(text, LOCK_BYTES, "transaction %u", b->tag[0]);
	else if (type == 0)
		snprintf(text, LOCK_BYTES, "relation %u", b->tag[1]);
	else
		snprintf(text, LOCK_BYTES, "%s",
			type < sizeof(types) / sizeof(*types) ? types[type] : "another lock");
}

/* Those that wait now, as long as --than. */
static void add_waiting(struct pgslow *p, struct attar_run *run, struct attar_report *report)
{
	struct attar_section *table = NULL;
	struct attar_keyrow *row = NULL;
	uint64_t now = attar_run_until(run);

	while ((row = attar_keytable_next(p->backends, row))) {
		const struct backend *b = row->value;
		char query[QUERY_BYTES], lock[LOCK_BYTES];
		int64_t holder;

		if (!b->sleeps || now < b->sleeps || now - b->sleeps < p->than)
			continue;
		if (!table) {
			table = attar_report_table(report, "waiting now");
			attar_section_column(table, "waits", ATTAR_UNIT_NS);
			attar_section_column(table, "pid", ATTAR_UNIT_ID);
			attar_section_column(table, "lock", ATTAR_UNIT_TEXT);
			attar_section_column(table, "query", ATTAR_UNIT_TEXT);
			attar_section_column(table, "blocked by", ATTAR_UNIT_ID);
			attar_section_column(table, "its query", ATTAR_UNIT_TEXT);
		}
		holder = attar_run_is_live(run) ? holder_of(run, p, b) : 0;
		copy_work(p, holder, query);
		add_lock(b, lock);
		attar_section_row(table);
		attar_cell_u64(table, now - b->sleeps);
		attar_cell_u64(table, row->number);
		attar_cell_text(table, lock);
		attar_cell_text(table, b->query);
		task_add_number(table, holder);
		attar_cell_text(table, query);
	}
}

/* ---- reports ---- */

static int add_blocks(struct pgslow *p, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table;
	struct attar_keyrow **rows;
	size_t n;
	int r = attar_keytable_end_interval(p->blocks);

	if (r == 0)
		r = attar_keytable_rows(p->blocks, scope, SUM_TIME, &rows, &n);
	if (r < 0)
		return r;
	table = attar_report_table(report, "who blocks whom");
	attar_section_column(table, "total", ATTAR_UNIT_NS);
	attar_section_column(table, "waits", ATTAR_UNIT_COUNT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "query", ATTAR_UNIT_TEXT);
	attar_section_column(table, "blocked by", ATTAR_UNIT_ID);
	attar_section_column(table, "its query", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < n; i++) {
		const struct attar_keysums *sums = attar_keyrow_sums(rows[i], scope);
		const struct block_texts *texts = rows[i]->value;
		struct block_key key;

		if (!rows[i]->key)
			continue;
		memcpy(&key, rows[i]->key, sizeof(key));
		attar_section_row(table);
		attar_cell_u64(table, sums->sums[SUM_TIME]);
		attar_cell_u64(table, sums->sums[SUM_WAITS]);
		attar_cell_u64(table, (uint64_t)key.victim);
		attar_cell_text(table, texts->victim);
		task_add_number(table, key.blocker);
		attar_cell_text(table, texts->blocker);
	}
	free(rows);
	return 0;
}

static int pgslow_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	static const char *const query = "query";
	struct pgslow *p = self;
	int r = line_summary_report(&p->summary, run, report, scope, "process", &query, 1);

	if (r == 0)
		r = add_blocks(p, report, scope);
	add_waiting(p, run, report);
	if (!p->queries && *p->path)
		attar_report_remark(report,
			"no query of %s was seen: if another server is meant, name its program "
			"with --server",
			p->path);
	return r;
}

/* ---- life ---- */

static int add_probe(struct attar_run *run, const struct pgslow *p, const char *format,
	struct attar_input *input)
{
	char text[PATH_MAX + 300];

	snprintf(text, sizeof(text), format, p->place);
	input->event = text;
	return attar_run_input(run, input);
}

static int add_events(struct attar_run *run, const struct pgslow *p)
{
	struct attar_input activity = {.fields = {"pointer", "text"}, .on_event = on_activity},
			   sleep = {.fields = {"a", "b", "c", "d"}, .on_event = on_sleep},
			   slept = {.fields = {"ret"}, .on_event = on_slept};
	/* SIGUSR1: before PostgreSQL 14 */
	static const struct attar_input signals = {
		.event = "signal:signal_generate/sig==23||sig==10/",
		.fields = {"pid"},
		.on_event = on_signal};
	int r = add_probe(run, p,
		"uprobe:pgstat_report_activity%s//args=(pointer=$arg2 "
		"text=+0($arg2):ustring)/",
		&activity);

	if (r == 0)
		r = add_probe(run, p,
			"uprobe:ProcSleep%s//args=(a=+0($arg1):u32 b=+4($arg1):u32 "
			"c=+8($arg1):u32 d=+14($arg1):u8)/",
			&sleep);
	if (r == 0)
		r = add_probe(run, p, "uretprobe:ProcSleep%s//args=(ret=$retval)/", &slept);
	return r == 0 ? attar_run_input(run, &signals) : r;
}

static int pgslow_open(struct attar_run *run, void *self)
{
	struct pgslow *p = self;
	const struct attar_keytable_opts backends = {.size = sizeof(backends),
		.sums = 1,
		.value_size = sizeof(struct backend),
		.keys_max = PROCESSES_MAX};
	const struct attar_keytable_opts blocks = {.size = sizeof(blocks),
		.sums = SUMS,
		.value_size = sizeof(struct block_texts),
		.key_max = sizeof(struct block_key),
		.keys_max = BLOCKS_MAX};
	bool is_live = attar_run_is_live(run);
	int r = is_live ? find_server(p) : 0;

	snprintf(p->place, sizeof(p->place), is_live ? "@\"%s\"" : "%s", p->path);
	if (r == 0)
		r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_keytable_new(&backends, &p->backends);
	if (r == 0)
		r = attar_keytable_new(&blocks, &p->blocks);
	if (r == 0)
		r = line_summary_init(&p->summary, true);
	p->summary.is_wanted = true;
	return r == 0 ? add_events(run, p) : r;
}

/* A wait or a query whose end was lost would seem to last until the next one. */
static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct pgslow *p = self;
	struct attar_keyrow *row = NULL;

	(void)run, (void)ev;
	while ((row = attar_keytable_next(p->backends, row))) {
		struct backend *b = row->value;

		b->begun = b->sleeps = 0;
	}
	return 0;
}

static void pgslow_close(void *self)
{
	struct pgslow *p = self;

	attar_keytable_free(p->backends);
	attar_keytable_free(p->blocks);
	line_summary_done(&p->summary);
}

static void pgslow_defaults(void *self)
{
	((struct pgslow *)self)->than = 100000000;
}

static const struct attar_option options[] = {
	ATTAR_TIME(struct pgslow, than, 0, "than", "TIME",
		"only queries and waits that take at least this time (default 100ms)", .bare = 1),
	ATTAR_TEXT(struct pgslow, program, 0, "server", "FILE",
		"the program postgres (default: the one that runs, or is installed)",
		.complete = "file"),
	{0}};

static const struct attar_example examples[] = {
	{"pgslow", "queries of at least 100 ms, until Ctrl-C"},
	{"pgslow --than 10ms -d 30s", "for half a minute, and who blocked whom"}, {0}};

const struct attar_profiler profiler_pgslow = {
	.name = "pgslow",
	.group = "Processes",
	.summary = "print slow queries of PostgreSQL, and who blocks whom",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, uprobes!, tracefs",
	.self_size = sizeof(struct pgslow),
	.options = options,
	.examples = examples,
	.defaults = pgslow_defaults,
	.open = pgslow_open,
	.lost = on_lost,
	.report = pgslow_report,
	.close = pgslow_close,
};
