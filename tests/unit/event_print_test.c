/* SPDX-License-Identifier: MIT */
/*
 * Records as text: compared with the kernel's output for the same events, and for malformed
 * records.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "attar/event.h"
#include "attar/private/event.h"
#include "event/catalog.h"
#include "base/base.h"
#include "base/file.h"
#include "tracefs/format.h"
#include "expr/print.h"
#include "tracefs/tracefs.h"

enum { RING = 64 * 4096 };

static struct attar_catalog *catalog;
static const char *tracefs;

static int setup(void **state)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};

	if (attar_catalog_new(&opts, &catalog) < 0)
		return -1;
	if (attar_catalog_tracefs(catalog, &tracefs) < 0)
		tracefs = NULL;
	return 0;
}

static int teardown(void **state)
{
	catalog = attar_catalog_free(catalog);
	return 0;
}

/* ---- field by field ---- */

static void test_fields(void **state)
{
	static const char text[] =
		"name: thing\nID: 23\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:char comm[4];\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:s16 a;\toffset:12;\tsize:2;\tsigned:1;\n"
		"\tfield:void * at;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:u8 mac[2];\toffset:24;\tsize:2;\tsigned:0;\n"
		"\tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:0;\n"
		"\tfield:struct x x;\toffset:32;\tsize:3;\tsigned:0;\n"
		"\nprint fmt: \"%s\", unheard_of(REC->comm)\n";
	uint8_t raw[40] = {[0] = 23,
		[8] = 'a',
		'b',
		'c',
		'd',
		[12] = 0xfe,
		0xff,
		[16] = 0x10,
		[24] = 1,
		255,
		[28] = 35,
		0,
		5,
		0,
		[32] = 0xde,
		0xad,
		1,
		'h',
		'i'};
	struct attar_format *f;
	char line[128];

	assert_int_equal(attar_format_parse("sys", text, strlen(text), &f), 0);
	assert_int_equal(attar_format_print(f, raw, sizeof(raw), line, sizeof(line)), 51);
	assert_string_equal(line, "comm=abcd a=-2 at=0x10 mac={1,255} name=hi x=dead01");
	/* Truncated by the buffer or the record, and empty. */
	assert_int_equal(attar_format_print(f, raw, sizeof(raw), line, 8), 51);
	assert_string_equal(line, "comm=ab");
	attar_format_print(f, raw, 14, line, sizeof(line));
	assert_string_equal(line, "comm=abcd a=-2 at=? mac=? name=? x=?");
	assert_int_equal(
		attar_format_print(f, raw, 0, NULL, 0), strlen("comm=? a=? at=? mac=? name=? x=?"));
	attar_format_free(f);
}

/* ---- comparison with the kernel's text ---- */

struct comparison {
	const char *event, *filter; /* applied to both, so that both record the same events */
	void (*act)(void);
};

static void act_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void on_signal(int number)
{
}

static void act_signal(void)
{
	kill(getpid(), SIGURG);
}

static void act_map(void)
{
	void *p = mmap(NULL, 23 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 23 * 4096);
}

static void act_sleep(void)
{
	poll(NULL, 0, 1);
}

static void act_getppid(void)
{
	syscall(SYS_getppid, 1L, -2L, 3L);
}

static void act_task_name(void)
{
	FILE *file = fopen("/proc/self/comm", "w");

	fputs("we ird)", file);
	fclose(file);
}

static bool put(const char *name, const char *text)
{
	char path[4200];
	int fd, r;

	snprintf(path, sizeof(path), "%s/instances/attar_test_%d/%s", tracefs, getpid(), name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return false;
	r = file_write_all(fd, text, strlen(text));
	close(fd);
	return r == 0;
}

static void put_of(const char *event, const char *file, const char *text)
{
	char name[512];

	snprintf(name, sizeof(name), "events/%s/%s", event, file);
	*strchr(name, ':') = '/';
	put(name, text);
}

static struct perf_event_mmap_page *open_ring(
	const struct attar_event_spec *spec, const char *filter, int *ret_fd)
{
	struct perf_event_attr attr = {
		.sample_period = 1, .sample_type = PERF_SAMPLE_RAW, .disabled = 1};
	void *p;

	assert_int_equal(attar_event_spec_attr(spec, &attr, sizeof(attr)), 0);
	*ret_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (*ret_fd < 0)
		return NULL;
	assert_int_equal(ioctl(*ret_fd, PERF_EVENT_IOC_SET_FILTER, filter), 0);
	p = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	assert_true(p != MAP_FAILED);
	return p;
}

/* The lines of the instance's trace, without the prefix of the event's text. */
static char *kernel_text(const char *event, struct buf *b)
{
	char path[4200], name[256];
	char *save = NULL, *all = calloc(1, 1 << 20);

	snprintf(path, sizeof(path), "%s/instances/attar_test_%d/trace", tracefs, getpid());
	snprintf(name, sizeof(name), ": %s: ", strchr(event, ':') + 1);
	assert_int_equal(file_read(path, 1 << 20, b), 0);
	for (char *line = strtok_r(b->data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char *at = strstr(line, name);

		if (*line == '#' || !at)
			continue;
		strcat(all, at + strlen(name));
		strcat(all, "\n");
	}
	return all;
}

static char *own_text(struct perf_event_mmap_page *page, const struct attar_format *format)
{
	char line[4096], *all = calloc(1, 1 << 20);

	for (uint64_t at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (void *)((char *)page + 4096 + at);
		const uint32_t *size = (const uint32_t *)(h + 1);

		at += h->size;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		attar_format_print(format, size + 1, *size, line, sizeof(line));
		strcat(all, line);
		strcat(all, "\n");
	}
	return all;
}

static void compare(const struct comparison *with)
{
	struct attar_event_list *list = NULL;
	struct perf_event_mmap_page *page;
	struct buf b = {0};
	char filter[256], *want, *got;
	int fd, lines = 0;

	if (attar_event_list_parse(catalog, with->event, &list) < 0) {
		print_message("%s\n", attar_error());
		return;
	}
	snprintf(filter, sizeof(filter), with->filter, getpid());
	put("trace", "");
	page = open_ring(list->at, filter, &fd);
	assert_non_null(page);
	put_of(with->event, "filter", filter);
	put_of(with->event, "enable", "1");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 5; i++)
		with->act();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	put_of(with->event, "enable", "0");
	want = kernel_text(with->event, &b);
	got = own_text(page, list->at->format);
	for (const char *p = got; *p; p++)
		lines += *p == '\n';
	print_message("%s: %d lines, as %.*s\n", with->event, lines, (int)strcspn(got, "\n"), got);
	assert_true(lines >= 5);
	assert_string_equal(got, want);
	free(want);
	free(got);
	buf_done(&b);
	munmap(page, 4096 + RING);
	close(fd);
	attar_event_list_free(list);
}

static void test_compare_with_kernel(void **state)
{
	static const struct comparison events[] = {
		{"sched:sched_process_fork", "common_pid==%d", act_fork},
		{"task:task_newtask", "common_pid==%d", act_fork},
		{"signal:signal_generate", "common_pid==%d && sig==23", act_signal},
		{"signal:signal_deliver", "common_pid==%d && sig==23", act_signal},
		{"mmap:vm_unmapped_area", "common_pid==%d", act_map},
		{"raw_syscalls:sys_enter", "common_pid==%d && id==110", act_getppid},
		{"raw_syscalls:sys_exit", "common_pid==%d && id==110", act_getppid},
		{"task:task_rename", "common_pid==%d", act_task_name},
	};
	char path[4200];

	if (!tracefs || geteuid())
		skip();
	signal(SIGURG, on_signal);
	snprintf(path, sizeof(path), "%s/instances/attar_test_%d", tracefs, getpid());
	if (mkdir(path, 0755) < 0) {
		print_message("skipped: cannot create a tracefs instance: %s\n", strerror(errno));
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		compare(&events[i]);
	rmdir(path);
}

/* ---- all events of a workload, compared with the kernel ---- */

enum { KINDS_MAX = 8192, BIG_RING = 16 << 20 };

/* Triggers many kinds of events, between two messages from its parent. */
static void workload(int from_parent, int to_parent)
{
	char byte, path[] = "/tmp/attar-print.XXXXXX";
	int fd, pair[2];

	(void)!read(from_parent, &byte, 1);
	for (int round = 0; round < 3; round++) {
		void *p = mmap(
			NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(p, 1, 1 << 18);
		munmap(p, 1 << 20);
		act_fork();
		act_signal();
		act_sleep();
		fd = mkstemp(path);
		(void)!write(fd, path, sizeof(path));
		fsync(fd);
		close(fd);
		unlink(path);
		strcpy(path, "/tmp/attar-print.XXXXXX");
		if (socketpair(AF_INET, SOCK_STREAM, 0, pair) < 0 &&
			socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
			(void)!write(pair[0], path, 5);
			(void)!read(pair[1], path, 5);
			strcpy(path, "/tmp/attar-print.XXXXXX");
			close(pair[0]);
			close(pair[1]);
		}
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		sendto(fd, path, 5, 0,
			(struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET,
				.sin_port = htons(9),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			sizeof(struct sockaddr_in));
		close(fd);
	}
	(void)!write(to_parent, "x", 1);
	(void)!read(from_parent, &byte, 1);
	_exit(0);
}

struct kind {
	const struct attar_format *format;
	struct buf own, kernel;
	unsigned lines;
};

/* Events that differ between the two observers, with the reason. */
static bool is_special(const char *system, const char *name)
{
	static const char *const special[] = {
		"ftrace:*", /* not perf events */
		"irq_vectors:*", "irq:*",
		"rcu:*", /* also occur while only one of them is enabled */
		"timer:*", "hrtimer:*", "workqueue:*", "preemptirq:*", "tlb:*",
		"x86_fpu:*",                /* perf has already been scheduled out for the task */
		"sched:sched_stat_runtime", /* occurs with the switch that ends the measurement */
		"syscalls:*",               /* the kernel adds the syscall's name */
		"fib:*",                    /* leaves bytes of the record uninitialized */
	};
	char full[512];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (fnmatch(special[i], full, 0) == 0)
			return true;
	return false;
}

/* Functions of /proc/kallsyms with their sizes, as the kernel names them. */
struct function {
	uint64_t start;
	char name[120], module[60];
};

static struct function *functions;
static size_t n_functions;

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_functions(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	functions = calloc(400000, sizeof(*functions));
	while (fgets(line, sizeof(line), file) && n_functions < 400000) {
		struct function *f = &functions[n_functions];
		unsigned long long start;
		char type;

		if (sscanf(line, "%llx %c %119s [%59[^]]", &start, &type, f->name, f->module) >=
				3 &&
			strchr("tTwW", type)) {
			f->start = start;
			n_functions++;
		}
	}
	fclose(file);
	qsort(functions, n_functions, sizeof(*functions), by_start);
}

static bool name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	size_t low = 0, high = n_functions, end;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || low == n_functions)
		return false;
	for (end = low; end < n_functions && functions[end].start == functions[low - 1].start;)
		end++;
	*ret_name = (struct attar_kernel_name){functions[low - 1].name,
		functions[low - 1].module[0] ? functions[low - 1].module : NULL,
		functions[low - 1].start, functions[end].start - functions[low - 1].start};
	return address - ret_name->start < 1 << 20;
}

/*
 * Pointers are hashed unless the instance disables it. 6.1 then omits the strings, 6.12 does not.
 */
static bool hashes_pointers(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	return major * 100 + minor < 612;
}

/*
 * Values that depend on kernel variables (jiffies, vmemmap_base) or are hashed cannot be compared.
 */
static bool is_comparable(const struct attar_format *format)
{
	struct print_program *program = format_of(format)->program;

	if (!program)
		return false;
	vec_each (&program->pieces, piece)
		if (hashes_pointers() && piece->conversion == 'p' && !piece->suffix[0])
			return false;
	vec_each (&program->expr.nodes, node)
		if (node->op == EXPR_UNKNOWN)
			return false;
	return true;
}

struct all {
	struct kind *kinds;
	size_t n;
	int first_fd, *fds;
	struct perf_event_mmap_page *page;
};

/* Opens an event on the workload, redirected to the shared ring. */
static void open_one(struct all *all, const struct attar_event_spec *spec, pid_t pid)
{
	struct perf_event_attr attr = {
		.sample_period = 1, .sample_type = PERF_SAMPLE_RAW, .disabled = 1};
	int fd;

	if (is_special(spec->format->system, spec->format->name) || all->n == KINDS_MAX)
		return;
	attar_event_spec_attr(spec, &attr, sizeof(attr));
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	if (!all->page) {
		all->page = mmap(NULL, 4096 + BIG_RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(all->page != MAP_FAILED);
		all->first_fd = fd;
	} else {
		assert_int_equal(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, all->first_fd), 0);
	}
	all->kinds[all->n].format = spec->format;
	all->fds[all->n++] = fd;
}

/*
 * EVENTS may select others: '*:*' takes minutes, since closing each event waits for a grace period.
 */
static void open_all(struct all *all, pid_t pid)
{
	const char *named = getenv("EVENTS");
	char patterns[256], *save = NULL;

	all->kinds = calloc(KINDS_MAX, sizeof(*all->kinds));
	all->fds = calloc(KINDS_MAX, sizeof(*all->fds));
	snprintf(patterns, sizeof(patterns), "%s",
		named ? named
		      : "sched:* signal:* task:* kmem:* "
			"exceptions:* mmap:* raw_syscalls:*");
	for (char *p = strtok_r(patterns, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
		struct attar_event_list *list = NULL;

		if (attar_event_list_parse(catalog, p, &list) < 0)
			continue; /* absent in this kernel */
		for (size_t i = 0; i < list->n; i++)
			open_one(all, &list->at[i], pid);
		attar_event_list_free(list);
	}
}

static struct kind *kind_of(struct all *all, const char *name, size_t n, uint64_t id)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct attar_format *f = all->kinds[i].format;

		if (name ? !strncmp(f->name, name, n) && !f->name[n] : f->id == id)
			return &all->kinds[i];
	}
	return NULL;
}

static void read_own(struct all *all)
{
	char line[16384];

	for (uint64_t at = 0; at < all->page->data_head;) {
		const struct perf_event_header *h = (void *)((char *)all->page + 4096 + at);
		const uint32_t *size = (const uint32_t *)(h + 1);
		uint16_t id;
		struct kind *kind;

		at += h->size;
		assert_true(h->type != PERF_RECORD_LOST);
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&id, size + 1, sizeof(id));
		kind = kind_of(all, NULL, 0, id);
		assert_non_null(kind);
		attar_format_print(kind->format, size + 1, *size, line, sizeof(line));
		buf_printf(&kind->own, "%s\n", line);
		kind->lines++;
	}
}

/* "   comm-123     [001] d..2.  12.345678: name: text", where comm may contain any characters. */
static void read_kernel(struct all *all)
{
	char path[4200], *line = NULL;
	size_t size = 0;
	ssize_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/instances/attar_test_%d/trace", tracefs, getpid());
	file = fopen(path, "r");
	assert_non_null(file);
	while ((len = getline(&line, &size, file)) > 0) {
		char *name = strstr(line, ": "), *end = name ? strchr(name + 2, ':') : NULL;
		struct kind *kind;

		if (*line == '#' || !end)
			continue;
		kind = kind_of(all, name + 2, (size_t)(end - name - 2), 0);
		if (!kind)
			continue;
		while (len && strchr(" \n", line[len - 1]))
			line[--len] = '\0';
		buf_printf(&kind->kernel, "%s\n", end[1] ? end + 2 : "");
	}
	free(line);
	fclose(file);
}

static void compare_all(struct all *all)
{
	unsigned kinds = 0, lines = 0, differ = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct kind *kind = &all->kinds[i];
		const char *own = buf_text(&kind->own), *kernel = buf_text(&kind->kernel);

		if (kind->lines && !strcmp(own, kernel)) {
			kinds++;
			lines += kind->lines;
		} else if (strcmp(own, kernel) && is_comparable(kind->format)) {
			size_t same = 0;

			differ++;
			while (own[same] == kernel[same])
				same++;
			while (same && own[same - 1] != '\n')
				same--;
			print_message("%s:%s\n  own    %.*s\n  kernel %.*s\n", kind->format->system,
				kind->format->name, (int)MIN(strcspn(own + same, "\n"), 300UL),
				own + same, (int)MIN(strcspn(kernel + same, "\n"), 300UL),
				kernel + same);
		}
		buf_done(&kind->own);
		buf_done(&kind->kernel);
	}
	print_message(
		"%u lines of %u tracepoints as the kernel prints them, %u tracepoints differ\n",
		lines, kinds, differ);
	assert_true(kinds >= 10);
	assert_int_equal(differ, 0);
}

static void allow_all_files(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A process that waits for a byte on `to`, triggers events, and replies with a byte on `from`. */
static pid_t start_workload(int to[2], int from[2])
{
	pid_t pid;

	assert_int_equal(pipe(to) | pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		workload(to[0], from[1]);
	}
	return pid;
}

/* Traces the process in the test's tracefs instance. */
static void enable_kernel(const struct all *all, pid_t pid)
{
	char filter[64], name[512];

	put("trace_clock", "mono");
	if (!hashes_pointers())
		put("options/hash-ptr", "0");
	put("buffer_size_kb", "16384");
	snprintf(filter, sizeof(filter), "common_pid==%d", pid);
	put("events/filter", filter);
	for (size_t i = 0; i < all->n; i++) {
		const struct attar_format *f = all->kinds[i].format;

		snprintf(name, sizeof(name), "events/%s/%s/filter", f->system, f->name);
		put(name, filter);
		snprintf(name, sizeof(name), "events/%s/%s/enable", f->system, f->name);
		put(name, "1");
	}
}

static void test_compare_all_with_kernel(void **state)
{
	struct all all = {0};
	int to[2], from[2];
	char path[4200], byte;
	pid_t pid;

	snprintf(
		path, sizeof(path), "%s/instances/attar_test_%d", tracefs ? tracefs : "", getpid());
	if (!tracefs || geteuid() || mkdir(path, 0755) < 0)
		skip();
	allow_all_files();
	pid = start_workload(to, from);
	read_functions();
	catalog_resolver(catalog, name_function, NULL);
	open_all(&all, pid);
	enable_kernel(&all, pid);
	for (size_t i = 0; i < all.n; i++)
		ioctl(all.fds[i], PERF_EVENT_IOC_ENABLE, 0);
	(void)!write(to[1], "x", 1);
	assert_int_equal(read(from[0], &byte, 1), 1);
	poll(NULL, 0, 50); /* it sleeps again */
	for (size_t i = 0; i < all.n; i++)
		ioctl(all.fds[i], PERF_EVENT_IOC_DISABLE, 0);
	put("events/enable", "0");
	read_own(&all);
	read_kernel(&all);
	for (size_t i = 0; i < all.n; i++)
		close(all.fds[i]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rmdir(path);
	compare_all(&all);
	munmap(all.page, 4096 + BIG_RING);
	free(all.kinds);
	free(all.fds);
	free(functions);
	catalog_resolver(catalog, NULL, NULL);
}

/* ---- malformed records ---- */

static uint64_t random_u64(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15ULL;
	return base_hash64(*seed);
}

/* Makes the dynamic fields of a random record point inside it, to terminated strings. */
static void make_sound(const struct attar_format *f, uint8_t *raw, size_t size)
{
	for (size_t i = 0; i < f->n_fields; i++) {
		const struct attar_field *field = &f->fields[i];
		uint32_t at = f->size, len = (uint32_t)(size - f->size);

		if (field->place == ATTAR_FIELD_FIXED)
			continue;
		if (field->place == ATTAR_FIELD_REL_LOC)
			at -= field->offset + 4U;
		memcpy(raw + field->offset, &(uint32_t){len << 16 | at}, 4);
	}
	raw[size - 1] = 0;
}

/*
 * All formats of this machine with random records that end at an unmapped page: reading past the
 * end is fatal.
 */
static void test_random_records(void **state)
{
	uint8_t *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end = pages + 2 * 4096;
	dir_names systems = {0};
	uint64_t seed = 23, by_program = 0, all = 0;
	char line[4096];

	if (!tracefs)
		skip();
	assert_int_equal(mprotect(end, 4096, PROT_NONE), 0);
	assert_int_equal(tracefs_systems(&catalog->tracefs, &systems), 0);
	vec_each (&systems, system) {
		dir_names events = {0};

		assert_int_equal(tracefs_events(&catalog->tracefs, *system, &events), 0);
		vec_each (&events, event) {
			const struct attar_format *f;

			if (attar_catalog_format(catalog, *system, *event, &f) < 0)
				continue;
			for (int round = 0; round < 8; round++) {
				size_t size =
					MIN(f->size + 8 * (size_t)(random_u64(&seed) % 16), 4096UL);
				uint8_t *raw = end - size;

				for (size_t i = 0; i < size; i++)
					raw[i] = (uint8_t)random_u64(&seed);
				if (size >= f->size && round % 2 && size > f->size)
					make_sound(f, raw, size);
				if (size >= 2)
					memcpy(raw, &(uint16_t){(uint16_t)f->id}, 2);
				attar_format_print(f, raw, size, line, sizeof(line));
				attar_format_print(
					f, raw + size / 2, size - size / 2, line, sizeof(line));
			}
			all++;
			by_program += format_of(f)->program != NULL;
		}
		dir_names_done(&events);
	}
	print_message("%llu of %llu formats are printed by their print format\n",
		(unsigned long long)by_program, (unsigned long long)all);
	dir_names_done(&systems);
	munmap(pages, 3 * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_compare_with_kernel),
		cmocka_unit_test(test_compare_all_with_kernel),
		cmocka_unit_test(test_random_records),
	};

	return cmocka_run_group_tests_name("event_print", tests, setup, teardown);
}
