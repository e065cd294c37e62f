/* SPDX-License-Identifier: MIT */
/*
 * Probes: on functions of this program, by the PMU and by tracefs, and those left by killed
 * processes.
 */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "events.h"
#include "folder.h"
#include "base/base.h"
#include "base/file.h"
#include "elf/function.h"
#include "event/probe.h"

/* In the file's data, not in .bss: the kernel increments it while the probe exists. */
__attribute__((section(".probes"))) static volatile unsigned short semaphore;
static const char *root; /* a sysfs without PMUs */

#ifdef __aarch64__
#define KERNEL_GETPPID "__arm64_sys_getppid"
#else
#define KERNEL_GETPPID "__x64_sys_getppid"
#endif

int probed_function(int x);

__attribute__((noinline)) int probed_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* A second name of it, as Go has them. */
#define METHOD "main.(*Map[...]).Get"
__asm__(".globl \"" METHOD "\"\n.type \"" METHOD "\", %function\n"
	".set \"" METHOD "\", probed_function\n");

/* Names that compilers of C++, Rust and C give to functions and their clones. */
#define SYMBOL(name, place) __asm__(".type \"" name "\", %function\n.set \"" name "\", " place "\n")
SYMBOL("_ZN2ns3BoxIiE3runEi.constprop.0.isra.0", "probed_function");
SYMBOL("_ZN2ns3BoxIiE3runEi.cold", "probed_function + 1");
SYMBOL("_ZN2ns4BothEv", "probed_function");
SYMBOL("_ZN2ns4BothEv.isra.0", "probed_function + 1");
SYMBOL("_ZN6legacy1A2go17h9ba69da83025726aE", "probed_function");
SYMBOL("_RNvMCsbFYJioi4cCO_2v0NtB2_1A2go", "probed_function");
SYMBOL("cloned.constprop.0", "probed_function");
SYMBOL("cloned.part.0", "probed_function + 1");
SYMBOL("_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtB4_6result6ResultRIBH_INtNtCs4X4t9plMPHF"
       "_9addr2line8function8FunctionEEEEE",
	"probed_function");

static const char *self_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return path;
}

/* 0: the function is probed_function(), otherwise the error has these words. */
static void finds(const char *name, const char *words)
{
	uint64_t wanted, offset = 0;
	int r = elf_function_offset(self_path(), self_path(), name, &offset);

	assert_int_equal(
		elf_function_offset(self_path(), self_path(), "probed_function", &wanted), 0);
	if (!words) {
		if (r < 0 || offset != wanted)
			fail_msg("%s: %d %s", name, r, attar_error());
		return;
	}
	assert_int_equal(r, -ENOENT);
	if (!strstr(attar_error(), words))
		fail_msg("%s: %s", name, attar_error());
}

/* As this and other tools show them. */
static void test_names_in_the_source(void **state)
{
	finds("ns::Box<int>::run [clone .constprop.0.isra.0]", NULL);
	finds("ns::Box<int>::run [clone .constprop.0] [clone .isra.0]", NULL);
	finds("ns::Box<int>::run(int) [clone .constprop.0] [clone .isra.0]", NULL);
	finds("ns::Box<int>::run(int) (.constprop.0.isra.0)", NULL);
	finds("ns::Box<int>::run", NULL); /* which has no other code */
	finds("ns::Box<int>::run(int)", NULL);
	finds("ns::Both", NULL); /* not its clone */
	finds("legacy::A::go", NULL);
	finds("legacy::A::go::h9ba69da83025726a", NULL);
	finds("<v0::A>::go", NULL);
	finds("v0::A::go", NULL);
	finds("cloned.constprop.0", NULL);
	finds("cloned", NULL);
}

static void test_near_names_in_the_source(void **state)
{
	finds("Box::run", "did you mean 'ns::Box<int>::run'?");
	finds("ns::Box::run", "did you mean 'ns::Box<int>::run'?");
	finds("ns::Box<int>::rum", "did you mean 'ns::Box<int>::run'?");
	finds("ns::Box<int>::run [clone .isra.9]", "did you mean");
	finds("legacy::A::goo", "did you mean 'legacy::A::go'?");
	finds("legacy::A::go::h0123456789abcdef", "no function");
	/* Both end in it: one of them. */
	finds("A::go", "::go'?");
	/* Nothing is similar, least of all a name of 120 characters. */
	finds("zz::yy", "use its file offset instead");
	finds("_ZN2zz2yyEv", "use its file offset instead");
}

static struct attar_catalog *catalog(const char *sysfs)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .sysfs = sysfs, .mount = true};
	struct attar_catalog *c = NULL;

	assert_int_equal(attar_catalog_new(&opts, &c), 0);
	return c;
}

static struct attar_event_list *parse(struct attar_catalog *c, const char *fmt, const char *arg)
{
	char text[8192];

	snprintf(text, sizeof(text), fmt, arg);
	return events_parse(c, text);
}

static int open_counter(const struct attar_event_spec *spec)
{
	struct perf_event_attr attr = {.disabled = 1};

	assert_int_equal(attar_event_spec_attr(spec, &attr, sizeof(attr)), 0);
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Counts 23 calls of the probed function. */
static void count_calls(const struct attar_event_spec *spec)
{
	int fd = open_counter(spec);
	uint64_t count = 0;

	if (fd < 0)
		fail_msg("'%s': %s", spec->name, strerror(errno));
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 23; i++)
		probed_function(i);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	probed_function(1);
	assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 23);
	close(fd);
}

static bool has_uprobes(bool pmu)
{
	bool has = access(pmu ? "/sys/bus/event_source/devices/uprobe/type"
			      : "/sys/kernel/tracing/uprobe_events",
			   W_OK) == 0;

	if (!has)
		print_message(
			"skipped: no uprobes by %s, or no permission\n", pmu ? "PMU" : "tracefs");
	return has && geteuid() == 0;
}

/* Frees the catalog and skips the test without uprobes. */
static void need_uprobes(struct attar_catalog *c, bool pmu)
{
	if (has_uprobes(pmu))
		return;
	attar_catalog_free(c);
	skip();
}

/* Whether the kernel finds the file at both paths. */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Without quotes the path ends after an existing file; the rest is a filter or modifiers. */
static void test_paths_without_quotes(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	need_uprobes(c, true);
	list = parse(c,
		"uprobe:probed_function@%s/__probe_ip>5/stack/,uretprobe:probed_function@/proc/"
		"self/"
		"exe:u,cs",
		self_path());
	e = list->at;
	assert_int_equal(list->n, 3);
	for (int i = 0; i < 2; i++)
		assert_true(is_same((const char *)(uintptr_t)e[i].config1, self_path()));
	assert_string_equal(e[0].filter, "__probe_ip>5");
	assert_string_equal(e[0].options[0].name, "stack");
	assert_true(e[1].exclude_kernel);
	attar_event_list_free(list);
	attar_catalog_free(c);
}

static void test_uprobes_by_pmu(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	need_uprobes(c, true);
	list = parse(c,
		"uprobe:probed_function@\"%s\",uretprobe:probed_function@'/proc/self/exe':u",
		self_path());
	e = list->at;
	assert_int_equal(list->n, 2);
	assert_int_equal(e[0].kind, ATTAR_EVENT_PROBE);
	assert_true(is_same((const char *)(uintptr_t)e[0].config1, self_path()));
	assert_true(e[0].type != PERF_TYPE_TRACEPOINT);
	assert_int_equal(e[0].config, 0);
	assert_int_equal(e[1].config, 1);
	assert_true(e[1].exclude_kernel);
	assert_string_equal(e[1].name, "uretprobe:probed_function@'/proc/self/exe':u");
	assert_non_null(attar_format_field(e[0].format, "__probe_ip"));
	assert_non_null(attar_format_field(e[1].format, "__probe_ret_ip"));
	assert_string_equal(e[0].format->name, "probed_function");
	count_calls(&e[0]);
	count_calls(&e[1]);
	attar_event_list_free(list);
	attar_catalog_free(c);
}

/* /FILE:function, with a filter, attributes and modifiers. */
static void test_files_before_functions(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	need_uprobes(c, true);
	list = parse(c,
		"uprobe:%s:probed_function/__probe_ip>5/stack/,uretprobe:/proc/self/exe:"
		"probed_function:u,uprobe:../../../../../../../../../proc/self/exe:"
		"probed_function+1,cs",
		self_path());
	e = list->at;
	assert_int_equal(list->n, 4);
	for (int i = 0; i < 3; i++)
		assert_true(is_same((const char *)(uintptr_t)e[i].config1, self_path()));
	assert_string_equal(e[0].filter, "__probe_ip>5");
	assert_string_equal(e[0].options[0].name, "stack");
	assert_string_equal(e[0].format->name, "probed_function");
	assert_int_equal(e[1].config, 1);
	assert_true(e[1].exclude_kernel);
	assert_int_equal(e[2].config2, e[0].config2 + 1);
	assert_string_equal(e[1].name, "uretprobe:probed_function@\"/proc/self/exe\":u");
	assert_string_equal(e[2].name,
		"uprobe:probed_function+0x1@\"../../../../../../../../../proc/self/exe\"");
	attar_event_list_free(list);
	attar_catalog_free(c);
}

/* A name with other characters is in quotes. */
static void test_quoted_functions(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;
	char text[4200];

	need_uprobes(c, true);
	snprintf(text, sizeof(text), "uprobe:\"" METHOD "\"@\"%s\"", self_path());
	list = parse(c, "%s,uretprobe:'" METHOD "'+0@/proc/self/exe/__probe_func>0/stack/", text);
	assert_int_equal(list->n, 2);
	assert_string_equal(list->at[0].name, text);
	assert_string_equal(list->at[0].format->name, METHOD);
	assert_string_equal(list->at[1].filter, "__probe_func>0");
	count_calls(&list->at[0]);
	count_calls(&list->at[1]);
	attar_event_list_free(list);
	attar_catalog_free(c);
}

static void test_bad_quoted_functions(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;

	assert_int_equal(
		attar_event_list_parse(c, "uprobe:\"main.(*T).Get@/bin/x", &list), -EINVAL);
	assert_non_null(strstr(attar_error(), "missing closing \""));
	assert_int_equal(
		attar_event_list_parse(c, "uprobe:\"no.(*such)\"@/proc/self/exe", &list), -ENOENT);
	assert_non_null(strstr(attar_error(), "no function 'no.(*such)' in"));
	assert_int_equal(attar_event_list_parse(c, "kprobe:\"vfs_read\"", &list), -EINVAL);
	attar_catalog_free(c);
}

/* Returns the offset of an address of this program in its file. */
static uint64_t offset_of(const volatile void *p)
{
	struct buf b = {0};
	uint64_t at = (uintptr_t)p, offset = 0;
	char *save = NULL;

	assert_int_equal(file_read("/proc/self/maps", 1 << 20, &b), 0);
	for (char *line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long start, end, pgoff;

		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &pgoff) == 3 && at >= start &&
			at < end)
			offset = at - start + pgoff;
	}
	buf_done(&b);
	return offset;
}

static void test_semaphore(void **state)
{
	struct attar_catalog *c = catalog(NULL);
	struct attar_event_list *list;
	char text[4200];
	int fd;

	need_uprobes(c, true);
	semaphore = 0; /* written: the page is private */
	snprintf(text, sizeof(text), "uprobe:0x%llx@\"%s\"(0x%llx)",
		(unsigned long long)offset_of((void *)(uintptr_t)probed_function), self_path(),
		(unsigned long long)offset_of(&semaphore));
	list = parse(c, "%s", text);
	assert_string_equal(list->at[0].name, text);
	fd = open_counter(list->at);
	assert_true(fd >= 0);
	assert_int_equal(semaphore, 1);
	close(fd);
	count_calls(list->at);
	attar_event_list_free(list);
	attar_catalog_free(c);
}

/* Returns the number of probes in tracefs with the text in their line. */
static unsigned in_tracefs(const char *text)
{
	struct buf b = {0};
	unsigned n = 0;

	assert_int_equal(file_read("/sys/kernel/tracing/uprobe_events", 1 << 20, &b), 0);
	for (const char *p = buf_text(&b); (p = strstr(p, text)); p++)
		n++;
	buf_done(&b);
	return n;
}

static void test_uprobes_by_tracefs(void **state)
{
	struct attar_catalog *c = catalog(root), *other;
	struct attar_event_list *list;
	const struct attar_event_spec *e;
	const char *path;
	char own[64];

	need_uprobes(c, false);
	snprintf(own, sizeof(own), "_%d_", getpid());
	list = parse(c,
		"uprobe:probed_function@\"%s\"/__probe_ip>5/stack/,uretprobe:probed_function@\"/"
		"proc/self/exe\"",
		self_path());
	e = list->at;
	assert_int_equal(list->n, 2);
	assert_int_equal(e[0].type, PERF_TYPE_TRACEPOINT);
	assert_string_equal(e[0].filter, "__probe_ip>5");
	assert_string_equal(e[0].options[0].name, "stack");
	assert_non_null(attar_format_field(e[0].format, "__probe_ip"));
	assert_non_null(attar_format_field(e[1].format, "__probe_ret_ip"));
	count_calls(&e[0]);
	count_calls(&e[1]);
	assert_int_equal(in_tracefs(own), 2);
	/* Another run of attar does not touch probes of running processes. */
	other = catalog(root);
	assert_int_equal(attar_catalog_tracefs(other, &path), 0);
	attar_catalog_free(other);
	assert_int_equal(in_tracefs(own), 2);
	attar_event_list_free(list);
	attar_catalog_free(c);
	assert_int_equal(in_tracefs(own), 0);
}

/* A file that was removed after it was found: the kernel's uprobes still work. */
static void test_removed_file(void **state)
{
	struct attar_catalog *c = catalog(root);
	const struct probe probe = {.user = true, .offset = 16, .link = "/no/such/file"};
	const char *system, *name;

	need_uprobes(c, false);
	assert_true(dynamic_event_create(&c->tracefs, &probe, &system, &name) < 0);
	assert_memory_equal(attar_error(), "the kernel refuses to probe '0x10' (", 36);
	attar_catalog_free(c);
}

static void test_probes_of_killed_processes_are_removed(void **state)
{
	struct attar_catalog *c;
	struct attar_event_list *list = NULL;
	int ready[2], status;
	char own[64], text[4200], byte;
	const char *path;
	pid_t pid;

	need_uprobes(NULL, false);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) { /* no assertions here: the parent checks */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		attar_catalog_new(
			&(struct attar_catalog_opts){
				.size = sizeof(struct attar_catalog_opts), .sysfs = root},
			&c);
		snprintf(text, sizeof(text), "uprobe:probed_function@\"%s\"", self_path());
		if (attar_event_list_parse(c, text, &list) == 0 && open_counter(list->at) >= 0)
			(void)!write(ready[1], "x", 1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	snprintf(own, sizeof(own), "_%d_", pid);
	assert_int_equal(in_tracefs(own), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(in_tracefs(own), 1);
	c = catalog(NULL);
	assert_int_equal(attar_catalog_tracefs(c, &path), 0);
	assert_int_equal(in_tracefs(own), 0);
	attar_catalog_free(c);
}

static void test_error_messages(void **state)
{
	struct stat st;
	char probe[64];
	struct attar_catalog *c = catalog(NULL);
	char text[4300], want[4300];

	events_refuse(c, "uprobe:x", -ENOENT,
		"column 8: the C library has no function 'x': name the file, as in uprobe:x@FILE");
	events_refuse(c, "uprobe:x/a==1&&b:2/", -ENOENT,
		"column 8: the C library has no function 'x': name the file, as in uprobe:x@FILE");
	events_refuse(c, "uprobe:x//args=(a=$arg1:u8)/", -ENOENT,
		"column 8: the C library has no function 'x': name the file, as in uprobe:x@FILE");
	events_refuse(c, "uprobe:0x10", -EINVAL,
		"column 12: missing file: the syntax is "
		"uprobe:function@FILE or uprobe:function@\"FILE\"");
	events_refuse(c, "uprobe:", -EINVAL,
		"column 8: the syntax of a probe is uprobe:function+offset@FILE");
	events_refuse(
		c, "kprobe:", -EINVAL, "column 8: the syntax of a probe is kprobe:function+offset");
	events_refuse(c, "uprobe:/bin/ls", -EINVAL,
		"column 8: the syntax of a probe is uprobe:function+offset@FILE");
	events_refuse(c, "uprobe:x/a/", -ENOENT,
		"column 8: the C library has no function 'x': name the file, as in uprobe:x@FILE");
	events_refuse(c, "uprobe:/bin/ls:", -EINVAL,
		"column 16: the syntax of a probe is uprobe:function+offset@FILE");
	events_refuse(c, "uprobe:/no/such:x", -ENOENT,
		"column 8: cannot probe /no/such: No such file or directory");
	events_refuse(c, "uprobe:x@", -EINVAL,
		"column 10: missing file: the syntax is "
		"uprobe:function@FILE or uprobe:function@\"FILE\"");
	events_refuse(c, "uprobe:x@/no/such/file", -ENOENT,
		"column 8: cannot probe /no/such/file: No such file or directory");
	events_refuse(c, "uprobe:x@\"/bin/ls", -EINVAL, "column 10: missing closing \"");
	events_refuse(c, "uprobe:x@\"/bin/ls\"(5", -EINVAL, "column 19: missing ')' for this '('");
	events_refuse(c, "uprobe:x@\"/no/such\"", -ENOENT,
		"column 8: cannot probe /no/such: No such file or directory");
	events_refuse(c, "uprobe:x@nothing_is_called_so", -ENOENT,
		"column 8: no program or library 'nothing_is_called_so': specify its path");
	events_refuse(
		c, "uprobe:x@\"/etc/passwd\"", -EINVAL, "column 8: /etc/passwd is not an ELF file");
	assert_int_equal(stat("/etc/passwd", &st), 0);
	snprintf(text, sizeof(text),
		"column 8: the offset 0x%llx is outside of /etc/passwd, which has 0x%llx bytes",
		(unsigned long long)st.st_size, (unsigned long long)st.st_size);
	snprintf(probe, sizeof(probe), "uprobe:0x%llx@\"/etc/passwd\"",
		(unsigned long long)st.st_size);
	events_refuse(c, probe, -EINVAL, text);
	events_refuse(c, "uprobe:x@\"/etc\"", -EINVAL, "column 8: /etc is not a regular file");
	snprintf(text, sizeof(text), "cs,uprobe:probed_functoin@\"%s\"", self_path());
	snprintf(want, sizeof(want),
		"column 11: no function 'probed_functoin' in %s: did you mean "
		"'probed_function'?",
		self_path());
	events_refuse(c, text, -ENOENT, want);
	snprintf(text, sizeof(text), "uretprobe:probed_function+4@\"%s\"", self_path());
	events_refuse(c, text, -EINVAL, "column 11: a return probe cannot have an offset");
	attar_catalog_free(c);
}

/* ---- kprobes, on a simulated machine ---- */

static void test_kprobe(void **state)
{
	char sysfs[128], proc[128];
	struct attar_catalog *c = NULL;
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	folder_line("sys/bus/event_source/devices/kprobe/type", "6");
	folder_line("sys/bus/event_source/devices/kprobe/format/retprobe", "config:0");
	folder_line("proc/kallsyms",
		"ffffffff81000000 T do_nanosleep\nffffffff81000010 t vfs_read\n"
		"ffffffff81000020 D not_code\nffffffffc0000000 t ext4_sync_file\t[ext4]");
	snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	assert_int_equal(
		attar_catalog_new(
			&(struct attar_catalog_opts){.size = sizeof(struct attar_catalog_opts),
				.sysfs = sysfs,
				.proc = proc},
			&c),
		0);
	list = parse(c,
		"kprobe:do_nanosleep+0x4:k,kretprobe:vfs_read/common_pid>1/"
		",kprobe:0xffffffff81000004,"
		"kprobe:ext4:ext4_sync_file:u,kprobe:%s",
		"do_nanosleep:k");
	e = list->at;
	assert_int_equal(list->n, 5);
	assert_int_equal(e[0].type, 6);
	assert_string_equal((const char *)(uintptr_t)e[0].config1, "do_nanosleep");
	assert_int_equal(e[0].config2, 4);
	assert_true(e[0].exclude_user);
	assert_int_equal(e[1].config, 1);
	assert_string_equal(e[1].filter, "common_pid>1");
	assert_string_equal(e[1].name, "kretprobe:vfs_read");
	assert_int_equal(e[2].config1, 0);
	assert_int_equal(e[2].config2, 0xffffffff81000004);
	assert_string_equal((const char *)(uintptr_t)e[3].config1, "ext4:ext4_sync_file");
	assert_true(e[3].exclude_kernel);
	assert_string_equal((const char *)(uintptr_t)e[4].config1, "do_nanosleep");
	attar_event_list_free(list);
	list = parse(c, "kprobe:do_nanosleep:k//alias=y/,kprobe:vfs_read:u/common_pid>1/%s", "");
	e = list->at;
	assert_int_equal(list->n, 2);
	assert_string_equal((const char *)(uintptr_t)e[0].config1, "do_nanosleep");
	assert_string_equal(e[0].alias, "y");
	assert_true(e[0].exclude_user && !e[0].exclude_kernel);
	assert_string_equal(e[1].filter, "common_pid>1");
	assert_string_equal(e[1].name, "kprobe:vfs_read:u");
	assert_true(e[1].exclude_kernel && !e[1].exclude_user);
	attar_event_list_free(list);
	events_refuse(
		c, "kprobe:vfs_read:u//alias=y/:k", -EINVAL, "column 28: expected ',' before ':k'");
	events_refuse(c, "kprobe:do_nanosleeep", -ENOENT,
		"column 8: the kernel has no function 'do_nanosleeep': did you mean "
		"'do_nanosleep'?");
	events_refuse(
		c, "kprobe:not_code", -ENOENT, "column 8: the kernel has no function 'not_code'");
	attar_catalog_free(c);
}

/* ---- kprobes of this kernel ---- */

static void test_live_kprobe(void **state)
{
	struct attar_catalog *c;
	struct attar_event_list *list = NULL;
	bool pmu = access("/sys/bus/event_source/devices/kprobe/type", R_OK) == 0;
	bool tracefs = access("/sys/kernel/tracing/kprobe_events", W_OK) == 0;

	for (int by_tracefs = 0; by_tracefs < 2; by_tracefs++) {
		uint64_t count = 0;
		int fd;

		c = catalog(by_tracefs ? root : NULL);
		if (!(by_tracefs ? tracefs : pmu)) {
			assert_true(attar_event_list_parse(c, "kprobe:schedule", &list) < 0 ||
				    list->n == 1);
			print_message("no kprobes by %s: %s\n", by_tracefs ? "tracefs" : "PMU",
				attar_error());
			list = attar_event_list_free(list);
			attar_catalog_free(c);
			continue;
		}
		list = parse(c, "kprobe:" KERNEL_GETPPID ",kretprobe:%s", KERNEL_GETPPID);
		for (size_t i = 0; i < 2; i++) {
			fd = open_counter(&list->at[i]);
			if (fd < 0)
				fail_msg("'%s': %s", list->at[i].name, strerror(errno));
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			for (int n = 0; n < 23; n++)
				syscall(SYS_getppid);
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
			assert_int_equal(count, 23);
			close(fd);
		}
		list = attar_event_list_free(list);
		attar_catalog_free(c);
	}
}

static int make_root(void **state)
{
	root = folder_make();
	return 0;
}

static int remove_root(void **state)
{
	folder_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_in_the_source),
		cmocka_unit_test(test_near_names_in_the_source),
		cmocka_unit_test(test_paths_without_quotes),
		cmocka_unit_test(test_uprobes_by_pmu),
		cmocka_unit_test(test_files_before_functions),
		cmocka_unit_test(test_quoted_functions),
		cmocka_unit_test(test_bad_quoted_functions),
		cmocka_unit_test(test_semaphore),
		cmocka_unit_test(test_uprobes_by_tracefs),
		cmocka_unit_test(test_removed_file),
		cmocka_unit_test(test_probes_of_killed_processes_are_removed),
		cmocka_unit_test(test_error_messages),
		cmocka_unit_test(test_kprobe),
		cmocka_unit_test(test_live_kprobe),
	};

	return cmocka_run_group_tests_name("event_probe", tests, make_root, remove_root);
}
