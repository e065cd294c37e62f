/* SPDX-License-Identifier: MIT */
/*
 * Each reason for which perf_event_open(2) is refused, and its message: errors in the event itself,
 * features that the running kernel and machine lack, missing privileges and limits.
 */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/hw_breakpoint.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/features.h"
#include "perf/kernel.h"
#include "base/buf.h"
#include "perf/open.h"
#include "perf/ring.h"

enum { NOBODY = 65534, LOCKER = 54321 /* locked memory is counted for all processes of a user */ };

#define SOFTWARE(config_) .type = PERF_TYPE_SOFTWARE, .config = (config_)
#define DUMMY             SOFTWARE(PERF_COUNT_SW_DUMMY)
#define CLOCK             SOFTWARE(PERF_COUNT_SW_TASK_CLOCK)

/*
 * Opens it on this thread: returns the errno, or 0 if it opened. The message is in attar_error().
 */
static int try_attr(const union uapi_attr *attr, const char *name)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	union uapi_attr sized = *attr;
	struct attar_target *target;
	struct attar_counter *c;
	int r;

	sized.attr.size = sizeof(sized);
	assert_int_equal(attar_target_new(&opts, &target), 0);
	r = attar_counter_open(target, &sized.attr, name, 0, &c);
	if (r == 0)
		attar_counter_close(c);
	attar_target_free(target);
	return r;
}

static void expect(const union uapi_attr *attr, int error, const char *sentence)
{
	int r = try_attr(attr, "it");

	if (r != error)
		fail_msg("%d, not %d: %s", r, error, r < 0 ? attar_error() : "opened");
	if (!strstr(attar_error(), sentence))
		fail_msg("'%s' is not in '%s'", sentence, attar_error());
	if (!strstr(attar_error(), "'it'"))
		fail_msg("no name in '%s'", attar_error());
}

#define EXPECT(error_, sentence_, ...)                                                             \
	expect(&(union uapi_attr){__VA_ARGS__}, (error_), (sentence_))

/* ---- invalid events ---- */

static void test_names_the_invalid_option(void **state)
{
	attar_target_free(live_self());
	EXPECT(-EINVAL, "attr.sigtrap requires attr.remove_on_exec",
		.attr = {DUMMY, .sigtrap = 1, .sample_period = 1});
	EXPECT(-EINVAL, "attr.remove_on_exec and attr.enable_on_exec are mutually exclusive",
		.attr = {DUMMY, .remove_on_exec = 1, .enable_on_exec = 1});
	EXPECT(-EINVAL, "PERF_SAMPLE_WEIGHT_STRUCT are mutually exclusive",
		.attr = {DUMMY, .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT});
	EXPECT(-EINVAL, "attr.sample_type has unknown bits set",
		.attr = {DUMMY, .sample_type = 1ULL << 40});
	EXPECT(-EINVAL, "attr.read_format has unknown bits set",
		.attr = {DUMMY, .read_format = 1 << 20});
	EXPECT(-EINVAL, "requires PERF_SAMPLE_TID",
		.attr = {DUMMY, .inherit = 1, .sample_type = PERF_SAMPLE_READ});
	EXPECT(-EINVAL, "attr.inherit_thread requires attr.inherit",
		.attr = {DUMMY, .inherit_thread = 1});
	EXPECT(-EINVAL, "attr.sample_period must be at most 2^63 - 1",
		.attr = {DUMMY, .sample_period = 1ULL << 63});
	EXPECT(-EINVAL, "must be a multiple of 8, at most 65528 bytes",
		.attr = {DUMMY, .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 12});
	EXPECT(-EINVAL, "must be a multiple of 8, at most 65528 bytes",
		.attr = {DUMMY, .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536});
	EXPECT(-EINVAL, "attr.clockid must be",
		.attr = {DUMMY, .use_clockid = 1, .clockid = 2 /* CLOCK_PROCESS_CPUTIME_ID */});
	EXPECT(-EINVAL, "sets privilege levels but no branch types",
		.attr = {DUMMY, .sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = PERF_SAMPLE_BRANCH_USER});
	EXPECT(-EINVAL, "branch_sample_type has unknown bits set",
		.attr = {DUMMY, .sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = 1ULL << 50});
	EXPECT(-EINVAL, "can either pause or resume the AUX output",
		.aux_action = UAPI_AUX_PAUSE | UAPI_AUX_RESUME);
	EXPECT(-EINVAL, "attr.sig_data requires attr.sigtrap", .sig_data_ = 1);
	EXPECT(-EINVAL, "flags set that this version of libattar does not support",
		.flags = 1ULL << 60);
}

static void test_names_the_violated_rule_of_breakpoints(void **state)
{
	static long watched[2];

	attar_target_free(live_self());
	EXPECT(-EINVAL, "attr.bp_len of a breakpoint must not be 0",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_W,
			.bp_addr = (uintptr_t)watched});
	EXPECT(-EINVAL, "attr.bp_type must be",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_X | HW_BREAKPOINT_R,
			.bp_addr = (uintptr_t)watched,
			.bp_len = 8});
	EXPECT(-EINVAL, "attr.bp_len of an execution breakpoint must be",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_X,
			.bp_addr = (uintptr_t)watched,
			.bp_len = 1});
	EXPECT(-EINVAL, "attr.bp_len must be",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_W,
			.bp_addr = (uintptr_t)watched,
			.bp_len = 16});
#if defined(__x86_64__)
	EXPECT(-EINVAL, "x86 has no read-only breakpoints",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_R,
			.bp_addr = (uintptr_t)watched,
			.bp_len = 8});
	EXPECT(-EINVAL, "attr.bp_len must be 1, 2, 4 or 8 bytes on x86",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_W,
			.bp_addr = (uintptr_t)watched,
			.bp_len = 3});
	EXPECT(-EINVAL, "(attr.bp_addr) must be a multiple of its length",
		.attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_W,
			.bp_addr = (uintptr_t)watched + 4,
			.bp_len = 8});
#endif
}

/* ---- unavailable events ---- */

static void test_names_the_missing_event(void **state)
{
	attar_target_free(live_self());
	EXPECT(-EOPNOTSUPP, "does not support software event 4711", .attr = {SOFTWARE(4711)});
	EXPECT(-EOPNOTSUPP, "this system has no PMU of type 987654", .attr = {.type = 987654});
	EXPECT(-EOPNOTSUPP, "has no tracepoint with id 65530",
		.attr = {.type = PERF_TYPE_TRACEPOINT, .config = 65530, .exclude_kernel = 1});
	EXPECT(-EOPNOTSUPP,
		"'it' is not available: ", .attr = {.type = PERF_TYPE_HARDWARE, .config = 4711});
}

static uint32_t type_of_pmu(const char *name)
{
	char path[128];
	unsigned type = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

static void test_distinguishes_missing_file_and_missing_pmu(void **state)
{
	uint32_t type = type_of_pmu("uprobe");

	attar_target_free(live_self());
	live_need_root("place uprobes");
	if (!type)
		live_skip("this kernel has no PMU for uprobes");
	EXPECT(-ENOENT, "the file does not exist, or does not contain the function or offset",
		.attr = {.type = type, .config1 = (uintptr_t) "/nonexistent", .config2 = 0});
}

/*
 * Each option that is newer than the kernel is refused with its name and the first kernel that has
 * it.
 */
static void test_names_options_newer_than_the_kernel(void **state)
{
	size_t n, tried = 0;
	const struct feature *f = features_all(&n);

	attar_target_free(live_self());
	for (size_t i = 0; i < n; i++) {
		union uapi_attr attr = {.attr = {DUMMY, .sample_period = 1}};
		char since[32];

		if (f[i].since <= kernel_get()->version || f[i].loss == FEATURE_ALWAYS)
			continue;
		for (size_t j = 0; j < 2; j++)
			attr.words[f[i].bits[j].word] |= f[i].bits[j].mask & -f[i].bits[j].mask;
		if (attr.attr.sample_type & PERF_SAMPLE_BRANCH_STACK ||
			attr.attr.branch_sample_type)
			continue; /* requires branches */
		snprintf(since, sizeof(since), "requires Linux %d.%d or newer", f[i].since / 1000,
			f[i].since % 1000);
		if (attr.aux_action || attr.attr.sigtrap)
			continue; /* not valid alone */
		attr.attr.inherit = attr.attr.inherit_thread;
		if (try_attr(&attr, "it") == 0)
			continue; /* a backport */
		if (!strstr(attar_error(), since) || !strstr(attar_error(), f[i].option))
			fail_msg("%s: %s", f[i].option, attar_error());
		tried++;
	}
	print_message("%zu options are newer than kernel %s\n", tried, kernel_get()->release);
}

/* What no kernel version determines: the event's own PMU does not support it. */
static void test_finds_the_refused_option_by_trial(void **state)
{
	const union uapi_attr registers = {
		.attr = {CLOCK, .sample_period = 1000000, .exclude_kernel = 1,
			.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1ULL << 63}};

	attar_target_free(live_self());
	EXPECT(-EOPNOTSUPP, "'it' does not support PERF_SAMPLE_BRANCH_STACK (branch stacks)",
		.attr = {CLOCK, .sample_period = 1000000, .exclude_kernel = 1,
			.sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER});
	/* EINVAL or EOPNOTSUPP, depending on the kernel's age */
	assert_true(try_attr(&registers, "it") < 0);
	assert_non_null(strstr(attar_error(), "PERF_SAMPLE_REGS_USER (registers of user code)"));
}

static void test_msr_refuses_exclusions_and_sampling(void **state)
{
	uint32_t type = type_of_pmu("msr");

	attar_target_free(live_self());
	if (!type)
		live_skip("this machine has no msr PMU");
	EXPECT(-EINVAL, "attr.exclude_user, attr.exclude_kernel, attr.exclude_hv",
		.attr = {.type = type, .exclude_kernel = 1});
	EXPECT(-EINVAL, "attr.sample_period (sampling)",
		.attr = {.type = type, .sample_period = 100});
}

/* ---- limits ---- */

static long long sysctl_value(const char *name)
{
	char path[128];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

static void test_names_the_exceeded_limit(void **state)
{
	attar_target_free(live_self());
	EXPECT(-EINVAL, "kernel.perf_event_max_sample_rate",
		.attr = {CLOCK, .freq = 1, .sample_freq = 4000000000, .exclude_kernel = 1});
	EXPECT(-EOVERFLOW, "kernel.perf_event_max_stack allows",
		.attr = {CLOCK, .sample_period = 1000000, .exclude_kernel = 1,
			.sample_type = PERF_SAMPLE_CALLCHAIN,
			.sample_max_stack = (uint16_t)(sysctl_value("perf_event_max_stack") + 1)});
}

static void test_counts_breakpoint_slots(void **state)
{
	enum { MANY = 40 };
	static long watched[MANY];
	struct attar_target *target = live_self();
	struct attar_counter *open[MANY];
	int r = 0, n = 0;

	for (; n < MANY; n++) {
		struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_W,
			.bp_addr = (uintptr_t)&watched[n],
			.bp_len = sizeof(long),
			.exclude_kernel = 1};

		r = attar_counter_open(target, &attr, "watch", 0, &open[n]);
		if (r < 0)
			break;
	}
	if (n == 0 && r == -EOPNOTSUPP)
		print_message("this machine has no hardware breakpoints\n");
	else {
		assert_int_equal(r, -ENOSPC);
		assert_non_null(strstr(attar_error(), "'watch' needs a hardware breakpoint"));
	}
	while (n > 0)
		attar_counter_close(open[--n]);
	attar_target_free(target);
}

static void test_names_the_limit_on_open_files(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {DUMMY, .exclude_kernel = 1};
	struct rlimit before, low;
	struct attar_counter *c;
	char sentence[256];
	int next = dup(0), r;

	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	low.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &low);
	r = attar_counter_open(target, &attr, "it", 0, &c);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(r, -EMFILE);
	snprintf(sentence, sizeof(sentence),
		"'it' exceeds the limit of %d open files: 1 event in 1 instance (CPUs x "
		"threads or control groups) and other files need up to %d in total: run ulimit "
		"-n %d",
		next, next + 2, next + 2);
	assert_memory_equal(attar_error(), sentence, strlen(sentence));
	attar_target_free(target);
}

/* ENOMEM is not caused by the limit on locked memory. */
static void test_distinguishes_the_limits_of_rings(void **state)
{
	const struct {
		int error;
		size_t bytes;
		const char *sentence;
	} cases[] = {{-EPERM, 1 << 20, "the limit on locked memory (kernel.perf_event_mlock_kb, "},
		{-ENOMEM, (size_t)1 << 32, "the kernel does not allow a larger one"},
		{-ENOMEM, 1 << 20, "the kernel does not have enough memory"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b = {0};

		ring_add_limit(&b, cases[i].error, cases[i].bytes);
		if (strncmp(buf_text(&b), cases[i].sentence, strlen(cases[i].sentence)) != 0)
			fail_msg("'%s', not '%s'", buf_text(&b), cases[i].sentence);
		buf_done(&b);
	}
}

static void test_reports_an_exited_thread(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .any_cpu = true};
	struct perf_event_attr attr = {DUMMY, .exclude_kernel = 1};
	struct attar_target *target;
	struct attar_counter *c;
	char pid_text[16], sentence[64];
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	opts.tids = pid_text;
	assert_int_equal(attar_target_new(&opts, &target), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(attar_counter_open(target, &attr, "it", 0, &c), -ESRCH);
	snprintf(sentence, sizeof(sentence), "process or thread %d does not exist, or has exited",
		pid);
	assert_string_equal(attar_error(), sentence);
	attar_target_free(target);
}

static void test_reports_a_folder_that_is_not_a_control_group(void **state)
{
	struct attar_target_opts opts = {
		.size = sizeof(opts), .cpus = "0", .cgroups = "../../../../../../../../tmp"};
	struct perf_event_attr attr = {DUMMY};
	struct attar_target *target;
	struct attar_counter *c;

	attar_target_free(live_self());
	if (attar_target_new(&opts, &target) < 0)
		live_skip("no control groups are mounted");
	assert_int_equal(attar_counter_open(target, &attr, "it", 0, &c), -EBADF);
	assert_string_equal(attar_error(),
		"cannot open 'it': /tmp is not a control group of the v2 hierarchy, or of a v1 "
		"hierarchy with perf_event");
	attar_target_free(target);
	opts = (struct attar_target_opts){.size = sizeof(opts), .any_cpu = true, .cgroups = "/"};
	assert_int_equal(attar_target_new(&opts, &target), -EINVAL);
	assert_non_null(strstr(attar_error(), "'any_cpu' requires a process or thread"));
}

/* ---- privileges ---- */

/* Runs check() in a child without privileges; its failure is reported here. */
static void as_user(uid_t uid, void (*check)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(23);
		prctl(PR_SET_DUMPABLE, 1);
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void say(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s: %s\n", what, attar_error());
	_exit(1);
}

static int try_user(uint64_t config, uint64_t sample_type, bool namespaces)
{
	union uapi_attr attr = {.attr = {SOFTWARE(config), .exclude_kernel = 1, .exclude_hv = 1,
					.sample_type = sample_type, .sample_period = 1000000,
					.namespaces = namespaces}};

	return try_attr(&attr, "it");
}

static void check_rights_of_nobody(void)
{
	struct attar_target_opts system = {.size = sizeof(system), .cpus = "0"},
				 init = {.size = sizeof(init), .tids = "1", .any_cpu = true};
	struct perf_event_attr user = {DUMMY, .exclude_kernel = 1, .exclude_hv = 1};
	union uapi_attr kernel = {.attr = {DUMMY}};
	struct attar_target *target;
	struct attar_counter *c;

	say(try_attr(&kernel, "it") == -EACCES &&
			strstr(attar_error(), "kernel.perf_event_paranoid is 2") &&
			strstr(attar_error(), "sysctl kernel.perf_event_paranoid=1") &&
			strstr(attar_error(), "shows the commands), or: sysctl"),
		"the kernel's part");
	say(try_user(PERF_COUNT_SW_DUMMY, PERF_SAMPLE_IP, false) == 0, "user code");
	say(try_user(PERF_COUNT_SW_DUMMY, PERF_SAMPLE_PHYS_ADDR, false) == -EACCES &&
			strstr(attar_error(),
				"PERF_SAMPLE_PHYS_ADDR (physical addresses) requires") &&
			strstr(attar_error(), "let a group run attar with cap_perfmon,"),
		"physical addresses");
	say(try_user(PERF_COUNT_SW_DUMMY, PERF_SAMPLE_IP, true) == -EACCES &&
			strstr(attar_error(), "attr.namespaces (records of namespaces) requires"),
		"namespaces");
	say(attar_target_new(&system, &target) == 0 &&
			attar_counter_open(target, &user, "it", 0, &c) == -EACCES &&
			strstr(attar_error(), "system-wide on CPU 0") &&
			strstr(attar_error(), "sysctl kernel.perf_event_paranoid=0"),
		"a whole CPU");
	attar_target_free(target);
	say(attar_target_new(&init, &target) == 0 &&
			attar_counter_open(target, &user, "it", 0, &c) == -EACCES &&
			strstr(attar_error(), "the process belongs to another user"),
		"another user's process");
	attar_target_free(target);
}

/* Records without information that a user could not see are allowed. */
static void check_records_of_nobody(void)
{
	union uapi_attr attr = {.attr = {DUMMY, .exclude_kernel = 1, .exclude_hv = 1, .ksymbol = 1,
					.bpf_event = 1, .cgroup = 1}};

	say(try_attr(&attr, "it") == 0 || strstr(attar_error(), "or newer; this is kernel"),
		"records of code, BPF and groups");
	attr.attr.text_poke = 1; /* if kernel code can be probed, its changes are secret */
	say(try_attr(&attr, "it") == 0 || strstr(attar_error(), "or newer; this is kernel") ||
			strstr(attar_error(),
				"attr.text_poke (records of changed kernel code) requires"),
		"records of changed code");
}

static int tracepoint_id;

static void check_tracepoint_of_nobody(void)
{
	union uapi_attr attr = {.attr = {.type = PERF_TYPE_TRACEPOINT,
					.config = (uint64_t)tracepoint_id,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_RAW}};

	say(try_attr(&attr, "it") < 0 && strstr(attar_error(), "kernel.perf_event_paranoid is 2") &&
			strstr(attar_error(), "sysctl kernel.perf_event_paranoid=-1"),
		"a tracepoint");
}

/* Each ring gets the largest size that is left, until there is no page for one more. */
static void check_locked_memory(void)
{
	enum { MANY = 1000, WANTED = 1 << 20 };
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attr = {
		DUMMY, .sample_period = 1, .exclude_kernel = 1, .exclude_hv = 1, .disabled = 1};
	struct rlimit none = {0};
	struct attar_target *target;
	struct attar_counter *c;
	struct attar_ring **rings;
	size_t n;
	int r = setrlimit(RLIMIT_MEMLOCK, &none);

	r = r ? r : attar_target_new(&opts, &target);
	for (int i = 0; i < MANY && r == 0; i++) {
		r = attar_counter_open(target, &attr, "it", 0, &c);
		if (r == 0)
			r = attar_rings_new(target, &c, 1, WANTED, &rings, &n);
	}
	say(r == -EPERM && strstr(attar_error(), "cannot map a ring of 4 KiB for thread ") &&
			strstr(attar_error(),
				"the limit on locked memory (kernel.perf_event_mlock_kb, "),
		"locked memory");
}

static void check_paranoid_3(void)
{
	union uapi_attr user = {.attr = {DUMMY, .exclude_kernel = 1, .exclude_hv = 1}};

	if (try_attr(&user, "it") == 0)
		return; /* only some distributions have levels above 2 */
	say(strstr(attar_error(), "kernel.perf_event_paranoid is 3") &&
			strstr(attar_error(), "sysctl kernel.perf_event_paranoid=2"),
		"all of it");
}

static void set_paranoid(long long value)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "we");

	assert_non_null(f);
	fprintf(f, "%lld\n", value);
	assert_int_equal(fclose(f), 0);
}

static int id_of_tracepoint(const char *name)
{
	char path[128];
	int id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &id) != 1)
		id = 0;
	if (f)
		fclose(f);
	return id;
}

static int try_stream(const char *events)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	struct attar_target *target = NULL;
	struct attar_stream *stream = NULL;
	int r = attar_target_new(&opts, &target);

	if (r == 0)
		r = attar_stream_events(target, events, 0, NULL, &stream);
	attar_stream_free(stream);
	attar_target_free(target);
	return r;
}

/* These events have a common counter, which is reduced to user code. */
static void check_modes_of_nobody(void)
{
	static const char *const texts[] = {
		"page-faults,page-faults:k", "page-faults:k,page-faults"};

	say(try_stream("page-faults,page-faults:u") == 0, "user code of both");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		say(try_stream(texts[i]) == -EACCES && strstr(attar_error(), "'page-faults:k'"),
			texts[i]);
}

static void test_names_the_missing_privilege(void **state)
{
	long long before = sysctl_value("perf_event_paranoid");

	attar_target_free(live_self());
	live_need_root("become another user");
	tracepoint_id = id_of_tracepoint("sched/sched_switch");
	set_paranoid(2);
	as_user(NOBODY, check_rights_of_nobody);
	as_user(NOBODY, check_records_of_nobody);
	as_user(NOBODY, check_modes_of_nobody);
	if (tracepoint_id)
		as_user(NOBODY, check_tracepoint_of_nobody);
	as_user(LOCKER, check_locked_memory);
	set_paranoid(3);
	as_user(NOBODY, check_paranoid_3);
	set_paranoid(before);
}

/* ---- sandboxes ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Like the seccomp filters of containers: perf_event_open(2) fails with EPERM. */
static void forbid_perf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(24);
}

static void test_recognises_a_seccomp_filter(void **state)
{
	union uapi_attr attr = {.attr = {CLOCK, .exclude_kernel = 1}};
	pid_t pid;
	int status;

	attar_target_free(live_self());
	pid = fork();
	if (pid == 0) {
		forbid_perf();
		say(try_attr(&attr, "it") == -EPERM &&
				strstr(attar_error(), "a seccomp filter blocks perf_event_open(2)"),
			"a filter");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 24)
		live_skip("this kernel has no seccomp filters");
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_the_invalid_option),
		cmocka_unit_test(test_names_the_violated_rule_of_breakpoints),
		cmocka_unit_test(test_names_the_missing_event),
		cmocka_unit_test(test_distinguishes_missing_file_and_missing_pmu),
		cmocka_unit_test(test_names_options_newer_than_the_kernel),
		cmocka_unit_test(test_finds_the_refused_option_by_trial),
		cmocka_unit_test(test_msr_refuses_exclusions_and_sampling),
		cmocka_unit_test(test_names_the_exceeded_limit),
		cmocka_unit_test(test_counts_breakpoint_slots),
		cmocka_unit_test(test_names_the_limit_on_open_files),
		cmocka_unit_test(test_distinguishes_the_limits_of_rings),
		cmocka_unit_test(test_reports_an_exited_thread),
		cmocka_unit_test(test_reports_a_folder_that_is_not_a_control_group),
		cmocka_unit_test(test_names_the_missing_privilege),
		cmocka_unit_test(test_recognises_a_seccomp_filter),
	};

	return cmocka_run_group_tests_name("perf_errors", tests, NULL, NULL);
}
