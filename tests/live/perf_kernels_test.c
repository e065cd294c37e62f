/* SPDX-License-Identifier: MIT */
/*
 * One library for all kernels: each option is opened on a simulation of each kernel since 4.0. If
 * the kernel has the option, it arrives unchanged; otherwise it is refused by name with the first
 * kernel that has it, or dropped if that is allowed. The table below was written from the kernel's
 * history, independently of the library's.
 */
#include "live.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/kernel.h"
#include "record/uapi.h"

#define V(major, minor) KERNEL_VERSION_OF(major, minor)
#define EVER            V(2, 6)

/* Words of the attributes, as in the kernel's struct. */
enum {
	CONFIG,
	PERIOD = 2,
	SAMPLE,
	READ,
	FLAGS,
	WAKEUP,
	CONFIG1,
	CONFIG2,
	BRANCHES,
	REGS_USER,
	STACK, /* sample_stack_user, clockid */
	REGS_INTR,
	AUX_MARK, /* aux_watermark, sample_max_stack */
	AUX_SIZE, /* aux_sample_size, aux_action */
	SIG_DATA,
	CONFIG3,
	CONFIG4,
	N_WORDS,
};

/* ---- a kernel of any version ---- */

static struct {
	int version; /* 0: the running kernel's own system call is used */
	struct kernel kernel;
	union uapi_attr taken; /* as passed when the last event was opened */
} fake;

static const struct {
	int since;
	uint32_t bytes;
} sizes[] = {{EVER, 64}, {V(2, 6) + 1, 72}, {V(3, 4), 80}, {V(3, 7), 96}, {V(3, 19), 104},
	{V(4, 1), 112}, {V(5, 5), 120}, {V(5, 13), 128}, {V(6, 3), 136}, {V(6, 19), 144}};

/* The versions that added bits to a word. */
static const struct {
	int word, since;
	uint64_t bits;
} bits[] = {
	{FLAGS, V(4, 1), 1 << 25},
	{FLAGS, V(4, 3), 1 << 26},
	{FLAGS, V(4, 7), 1 << 27},
	{FLAGS, V(4, 12), 1 << 28},
	{FLAGS, V(5, 1), 3 << 29},
	{FLAGS, V(5, 4), 1ULL << 31},
	{FLAGS, V(5, 7), 1ULL << 32},
	{FLAGS, V(5, 9), 1ULL << 33},
	{FLAGS, V(5, 12), 1ULL << 34},
	{FLAGS, V(5, 13), 7ULL << 35},
	{FLAGS, V(6, 19), 3ULL << 38},
	{FLAGS, INT_MAX, -1ULL << 40},
	{SAMPLE, V(4, 14), 1 << 19},
	{SAMPLE, V(5, 5), 1 << 20},
	{SAMPLE, V(5, 7), 1 << 21},
	{SAMPLE, V(5, 11), 3 << 22},
	{SAMPLE, V(5, 12), 1 << 24},
	{SAMPLE, INT_MAX, -1ULL << 25},
	{READ, V(6, 0), 1 << 4},
	{READ, INT_MAX, -1ULL << 5},
	{BRANCHES, V(4, 1), 1 << 11},
	{BRANCHES, V(4, 2), 1 << 12},
	{BRANCHES, V(4, 4), 1 << 13},
	{BRANCHES, V(4, 5), 3 << 14},
	{BRANCHES, V(4, 14), 1 << 16},
	{BRANCHES, V(5, 7), 1 << 17},
	{BRANCHES, V(6, 1), 1 << 18},
	{BRANCHES, V(6, 8), 1 << 19},
	{BRANCHES, INT_MAX, -1ULL << 20},
	{STACK, V(4, 1), -1ULL << 32},
	{AUX_MARK, V(4, 8), 0xffffULL << 32},
	{AUX_MARK, INT_MAX, 0xffffULL << 48},
	{AUX_SIZE, V(6, 13), 7ULL << 32},
	{AUX_SIZE, INT_MAX, -1ULL << 35},
};

static uint32_t known_bytes(void)
{
	uint32_t bytes = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].since <= fake.version)
			bytes = sizes[i].bytes;
	return bytes;
}

/* As perf_copy_attr() in the kernel. */
static int judge(union uapi_attr *attr)
{
	uint32_t known = known_bytes();

	assert_true(attr->attr.size >= 64 && attr->attr.size % 8 == 0);
	for (uint32_t at = known; at < attr->attr.size; at += 8)
		if (attr->words[at / 8]) {
			attr->attr.size = known;
			return E2BIG;
		}
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (bits[i].since > fake.version &&
			(uint32_t)(bits[i].word + 0) * 8 < attr->attr.size &&
			attr->words[bits[i].word] & bits[i].bits)
			return EINVAL;
	if (attr->attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
		!(attr->attr.branch_sample_type >> 3))
		return EINVAL;
	return attr->attr.sigtrap && !attr->attr.remove_on_exec ? EINVAL : 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
const struct kernel *__real_kernel_get(void);
const struct kernel *__wrap_kernel_get(void);

/* Replaces perf_event_open(2) only. An accepted event becomes a dummy event. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	struct perf_event_attr dummy = {.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1};

	if (number != SYS_perf_event_open || !fake.version)
		return __real_syscall(number, a, b, c, d, e, f);
	errno = judge((union uapi_attr *)a);
	if (errno)
		return -1;
	memset(&fake.taken, 0, sizeof(fake.taken));
	memcpy(&fake.taken, (void *)a, ((union uapi_attr *)a)->attr.size);
	return __real_syscall(number, &dummy, 0, -1, -1, 0);
}

/* A PMU with two address filters. */
static struct {
	bool on;
	int error;
	char filter[64];
	size_t calls;
} pmu;

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	if (!pmu.on || request != PERF_EVENT_IOC_SET_FILTER)
		return __real_ioctl(fd, request, argument);
	snprintf(pmu.filter, sizeof(pmu.filter), "%s", (const char *)argument);
	pmu.calls++;
	errno = pmu.error;
	return errno ? -1 : 0;
}

const struct kernel *__wrap_kernel_get(void)
{
	return fake.version ? &fake.kernel : __real_kernel_get();
}

static void become(int version)
{
	fake.kernel = *__real_kernel_get();
	fake.kernel.version = fake.version = version;
	snprintf(fake.kernel.release, sizeof(fake.kernel.release), "%d.%d.0-fake", version / 1000,
		version % 1000);
}

/* ---- options ---- */

enum without { REFUSED, LEFT_OUT };

struct option {
	const char *name; /* as in the refusal; NULL: every kernel since 4.0 has it */
	int since;
	enum without without; /* the result if it may be dropped */
	struct {
		int word;
		uint64_t value;
	} asks[3];
};

#define FLAG(n)                                                                                    \
	{                                                                                          \
		FLAGS, 1ULL << (n)                                                                 \
	}
#define SAMPLES                                                                                    \
	{                                                                                          \
		PERIOD, 1000                                                                       \
	}
#define BRANCH(n)                                                                                  \
	{SAMPLE, PERF_SAMPLE_BRANCH_STACK},                                                        \
	{                                                                                          \
		BRANCHES, (n)                                                                      \
	}
#define ANY_BRANCH(n) BRANCH(PERF_SAMPLE_BRANCH_ANY | (n))

static const struct option options[] = {
	/* exclude_user, exclude_kernel, exclude_hv, exclude_idle, exclude_host, exclude_guest */
	{NULL, EVER, REFUSED, {FLAG(4)}},
	{NULL, EVER, REFUSED, {FLAG(5)}},
	{NULL, EVER, REFUSED, {FLAG(6)}},
	{NULL, EVER, REFUSED, {FLAG(7)}},
	{NULL, V(3, 2), REFUSED, {FLAG(19)}},
	{NULL, V(3, 2), REFUSED, {FLAG(20)}},
	/* exclusive, pinned, inherit, enable_on_exec */
	{NULL, EVER, REFUSED, {FLAG(3)}},
	{NULL, EVER, REFUSED, {FLAG(2)}},
	{NULL, EVER, REFUSED, {FLAG(1)}},
	{NULL, EVER, REFUSED, {FLAG(12)}},
	{"attr.inherit_thread", V(5, 13), REFUSED, {{FLAGS, 1ULL << 35 | 1 << 1}}},
	{"attr.remove_on_exec", V(5, 13), REFUSED, {FLAG(36)}},
	/* freq, precise_ip 1 to 3, exclude_callchain_kernel and _user */
	{NULL, EVER, REFUSED, {FLAG(10), SAMPLES}},
	{NULL, EVER, REFUSED, {FLAG(15), SAMPLES}},
	{NULL, EVER, REFUSED, {FLAG(16), SAMPLES}},
	{NULL, EVER, REFUSED, {{FLAGS, 3 << 15}, SAMPLES}},
	{NULL, V(3, 7), REFUSED, {FLAG(21), SAMPLES, {SAMPLE, PERF_SAMPLE_CALLCHAIN}}},
	{NULL, V(3, 7), REFUSED, {FLAG(22), SAMPLES, {SAMPLE, PERF_SAMPLE_CALLCHAIN}}},
	{"attr.sample_max_stack", V(4, 8), LEFT_OUT,
		{{AUX_MARK, 23ULL << 32}, SAMPLES, {SAMPLE, PERF_SAMPLE_CALLCHAIN}}},
	{"attr.defer_callchain", V(6, 19), LEFT_OUT,
		{FLAG(38), SAMPLES, {SAMPLE, PERF_SAMPLE_CALLCHAIN}}},
	{"attr.defer_output", V(6, 19), LEFT_OUT, {FLAG(39)}},
	/* task, inherit_stat, comm, mmap, mmap_data, mmap2, comm_exec, sample_id_all */
	{NULL, EVER, REFUSED, {FLAG(13)}},
	{NULL, EVER, REFUSED, {{FLAGS, 1 << 11 | 1 << 1}}},
	{NULL, EVER, REFUSED, {FLAG(9)}},
	{NULL, EVER, REFUSED, {FLAG(8)}},
	{NULL, EVER, REFUSED, {FLAG(17)}},
	{NULL, V(3, 16), REFUSED, {FLAG(23)}},
	{NULL, V(3, 16), REFUSED, {FLAG(24)}},
	{NULL, EVER, REFUSED, {FLAG(18)}},
	{"attr.build_id", V(5, 12), LEFT_OUT, {{FLAGS, 1ULL << 34 | 1 << 23}}},
	{"attr.cgroup", V(5, 7), LEFT_OUT, {FLAG(32)}},
	{"attr.ksymbol", V(5, 1), LEFT_OUT, {FLAG(29)}},
	{"attr.bpf_event", V(5, 1), LEFT_OUT, {FLAG(30)}},
	{"attr.text_poke", V(5, 9), LEFT_OUT, {FLAG(33)}},
	{"attr.context_switch", V(4, 3), REFUSED, {FLAG(26)}},
	{"attr.namespaces", V(4, 12), LEFT_OUT, {FLAG(28)}},
	/* wakeup_events; watermark and wakeup_watermark */
	{NULL, EVER, REFUSED, {SAMPLES, {WAKEUP, 7}}},
	{NULL, EVER, REFUSED, {SAMPLES, FLAG(14), {WAKEUP, 4096}}},
	{"attr.aux_watermark", V(4, 1), REFUSED, {{AUX_MARK, 4096}}},
	{"attr.sigtrap", V(5, 13), REFUSED, {{FLAGS, 3ULL << 36}, SAMPLES}},
	{"attr.sigtrap", V(5, 13), REFUSED, {{FLAGS, 3ULL << 36}, SAMPLES, {SIG_DATA, 23}}},
	{"attr.use_clockid", V(4, 1), LEFT_OUT, {FLAG(25), {STACK, 1ULL << 32}}},
	{"attr.aux_action", V(6, 13), REFUSED, {{AUX_SIZE, (uint64_t)UAPI_AUX_START_PAUSED << 32}}},
	{"attr.aux_action", V(6, 13), REFUSED, {{AUX_SIZE, (uint64_t)UAPI_AUX_PAUSE << 32}}},
	{"attr.aux_action", V(6, 13), REFUSED, {{AUX_SIZE, (uint64_t)UAPI_AUX_RESUME << 32}}},
	{"attr.aux_output", V(5, 4), REFUSED, {FLAG(31)}},
	{"attr.write_backward", V(4, 7), REFUSED, {FLAG(27)}},
	{NULL, EVER, REFUSED, {{CONFIG1, 0x123456789a}, {CONFIG2, 5}}},
	{"attr.config3", V(6, 3), REFUSED, {{CONFIG3, 0x123456789a}}},
	{"attr.config4", V(6, 19), REFUSED, {{CONFIG4, 0x123456789a}}},
};

static const struct option fields[] = {
	/* IP to STREAM_ID and RAW; REGS_USER and STACK_USER; the rest up to 4.0 */
	{NULL, EVER, REFUSED, {SAMPLES, {SAMPLE, (1 << 11) - 1}}},
	{NULL, V(3, 7), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_REGS_USER}, {REGS_USER, 0xff}}},
	{NULL, V(3, 7), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_STACK_USER}, {STACK, 512}}},
	{NULL, V(3, 10), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC}}},
	{NULL, V(3, 13), REFUSED,
		{SAMPLES, {SAMPLE, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION}}},
	{NULL, V(3, 19), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_REGS_INTR}, {REGS_INTR, 0xff}}},
	{"PERF_SAMPLE_PHYS_ADDR", V(4, 14), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_PHYS_ADDR}}},
	{"PERF_SAMPLE_AUX", V(5, 5), REFUSED,
		{SAMPLES, {SAMPLE, PERF_SAMPLE_AUX}, {AUX_SIZE, 4096}}},
	{"PERF_SAMPLE_CGROUP", V(5, 7), REFUSED, {SAMPLES, {SAMPLE, PERF_SAMPLE_CGROUP}}},
	{"PERF_SAMPLE_DATA_PAGE_SIZE", V(5, 11), REFUSED,
		{SAMPLES, {SAMPLE, PERF_SAMPLE_DATA_PAGE_SIZE}}},
	{"PERF_SAMPLE_CODE_PAGE_SIZE", V(5, 11), REFUSED,
		{SAMPLES, {SAMPLE, PERF_SAMPLE_CODE_PAGE_SIZE}}},
	{"PERF_SAMPLE_WEIGHT_STRUCT", V(5, 12), REFUSED,
		{SAMPLES, {SAMPLE, PERF_SAMPLE_WEIGHT_STRUCT}}},
};

static const struct option branches[] = {
	/*
	 * with user, kernel, hv; any, any_call, any_return, ind_call; abort_tx, in_tx, no_tx; cond
	 */
	{NULL, V(3, 4), REFUSED, {SAMPLES, ANY_BRANCH(1)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, ANY_BRANCH(2)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, ANY_BRANCH(4)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, BRANCH(1 << 3)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, BRANCH(1 << 4)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, BRANCH(1 << 5)}},
	{NULL, V(3, 4), REFUSED, {SAMPLES, BRANCH(1 << 6)}},
	{NULL, V(3, 11), REFUSED, {SAMPLES, BRANCH(1 << 7)}},
	{NULL, V(3, 11), REFUSED, {SAMPLES, BRANCH(1 << 8)}},
	{NULL, V(3, 11), REFUSED, {SAMPLES, BRANCH(1 << 9)}},
	{NULL, V(3, 16), REFUSED, {SAMPLES, BRANCH(1 << 10)}},
	{"PERF_SAMPLE_BRANCH_CALL_STACK", V(4, 1), REFUSED, {SAMPLES, BRANCH(1 << 11)}},
	{"PERF_SAMPLE_BRANCH_IND_JUMP", V(4, 2), REFUSED, {SAMPLES, BRANCH(1 << 12)}},
	{"PERF_SAMPLE_BRANCH_CALL", V(4, 4), REFUSED, {SAMPLES, BRANCH(1 << 13)}},
	{"PERF_SAMPLE_BRANCH_NO_FLAGS", V(4, 5), REFUSED, {SAMPLES, ANY_BRANCH(1 << 14)}},
	{"PERF_SAMPLE_BRANCH_NO_CYCLES", V(4, 5), REFUSED, {SAMPLES, ANY_BRANCH(1 << 15)}},
	{"PERF_SAMPLE_BRANCH_TYPE_SAVE", V(4, 14), REFUSED, {SAMPLES, ANY_BRANCH(1 << 16)}},
	{"PERF_SAMPLE_BRANCH_HW_INDEX", V(5, 7), REFUSED, {SAMPLES, ANY_BRANCH(1 << 17)}},
	{"PERF_SAMPLE_BRANCH_PRIV_SAVE", V(6, 1), REFUSED, {SAMPLES, ANY_BRANCH(1 << 18)}},
	{"PERF_SAMPLE_BRANCH_COUNTERS", V(6, 8), REFUSED, {SAMPLES, ANY_BRANCH(1 << 19)}},
};

static const int versions[] = {V(4, 0), V(4, 1), V(4, 2), V(4, 3), V(4, 4), V(4, 5), V(4, 7),
	V(4, 8), V(4, 9), V(4, 12), V(4, 14), V(4, 19), V(5, 1), V(5, 4), V(5, 5), V(5, 7), V(5, 9),
	V(5, 10), V(5, 11), V(5, 12), V(5, 13), V(5, 15), V(6, 0), V(6, 1), V(6, 3), V(6, 6),
	V(6, 8), V(6, 12), V(6, 13), V(6, 18), V(6, 19), V(7, 0), V(7, 2)};

static union uapi_attr asked_by(const struct option *o)
{
	union uapi_attr attr = {
		.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY}};

	for (size_t i = 0; i < 3; i++)
		attr.words[o->asks[i].word] |= o->asks[i].value;
	attr.attr.size = sizeof(attr);
	return attr;
}

static int try_it(struct attar_target *target, const union uapi_attr *attr, unsigned flags)
{
	struct attar_counter *c;
	int r = attar_counter_open(target, &attr->attr, "it", flags, &c);

	if (r == 0)
		attar_counter_close(c);
	return r;
}

static bool arrived(const struct option *o)
{
	for (size_t i = 0; i < 3; i++)
		if ((fake.taken.words[o->asks[i].word] & o->asks[i].value) != o->asks[i].value)
			return false;
	return true;
}

/* No longer than the newest used field needs, so that older kernels accept it. */
static void assert_smallest(void)
{
	uint32_t size = fake.taken.attr.size;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].bytes < size) {
			uint64_t rest = 0;

			for (uint32_t at = sizes[i].bytes; at < size; at += 8)
				rest |= fake.taken.words[at / 8];
			assert_true(rest != 0);
		}
}

static void assert_known(struct attar_target *target, const struct option *o)
{
	union uapi_attr attr = asked_by(o);
	const bool samples = attr.attr.sample_period;

	for (unsigned flags = 0; flags <= ATTAR_COUNTER_DEGRADE; flags += ATTAR_COUNTER_DEGRADE) {
		if (try_it(target, &attr, flags) < 0)
			fail_msg("%s on %s: %s", o->name ? o->name : "?", fake.kernel.release,
				attar_error());
		assert_true(arrived(o));
		assert_smallest();
		/*
		 * the library's own optional feature never causes a refusal: the count of lost
		 * records
		 */
		assert_int_equal(!!(fake.taken.attr.read_format & PERF_FORMAT_LOST_),
			samples && fake.version >= V(6, 0));
	}
}

static void assert_refused(struct attar_target *target, const struct option *o)
{
	union uapi_attr attr = asked_by(o);
	char sentence[160], since[40];
	int r = try_it(target, &attr, 0);

	if (r == 0)
		fail_msg("%s opened on %s", o->name, fake.kernel.release);
	snprintf(sentence, sizeof(sentence), "'it' uses %s (", o->name);
	snprintf(since, sizeof(since), "requires Linux %d.%d or newer", o->since / 1000,
		o->since % 1000);
	if (!strstr(attar_error(), sentence) || !strstr(attar_error(), fake.kernel.release) ||
		!strstr(attar_error(), since))
		fail_msg("%s on %s: '%s'", o->name, fake.kernel.release, attar_error());
	r = try_it(target, &attr, ATTAR_COUNTER_DEGRADE);
	if (o->without == REFUSED)
		assert_true(r < 0);
	else if (r < 0)
		fail_msg("%s on %s: '%s'", o->name, fake.kernel.release, attar_error());
	else
		assert_false(arrived(o));
}

static void try_all(const struct option *o, size_t n)
{
	struct attar_target *target = live_self();

	for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
		become(versions[v]);
		for (size_t i = 0; i < n; i++)
			if (o[i].since <= fake.version)
				assert_known(target, &o[i]);
			else
				assert_refused(target, &o[i]);
	}
	fake.version = 0;
	attar_target_free(target);
}

static void test_options_on_every_kernel(void **state)
{
	try_all(options, sizeof(options) / sizeof(options[0]));
}

static void test_sample_fields_on_every_kernel(void **state)
{
	try_all(fields, sizeof(fields) / sizeof(fields[0]));
}

static void test_branch_options_on_every_kernel(void **state)
{
	try_all(branches, sizeof(branches) / sizeof(branches[0]));
}

/*
 * The filter reaches every fd of the event as written; unsupported filters are refused with a
 * message.
 */
static void test_address_filters(void **state)
{
	static const char filter[] = "filter 0x1000/64@/bin/true, stop 0x2000@/bin/true";
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	struct attar_target *target = live_self();
	struct attar_counter *c;

	attar_target_free(target);
	assert_int_equal(attar_target_new(&opts, &target), 0);
	c = live_software(target, PERF_COUNT_SW_DUMMY);
	assert_int_equal(attar_counter_filter(c, filter), -EINVAL); /* the real kernel's answer */
	assert_non_null(strstr(attar_error(), "PMUs with an AUX area support filters"));
	pmu.on = true;
	assert_int_equal(attar_counter_filter(c, filter), 0);
	assert_string_equal(pmu.filter, filter);
	assert_int_equal(pmu.calls, attar_counter_instances(c));
	pmu.error = EOPNOTSUPP;
	assert_int_equal(attar_counter_filter(c, filter), -EOPNOTSUPP);
	assert_non_null(strstr(attar_error(), filter));
	assert_non_null(strstr(attar_error(), "more address ranges than the PMU supports"));
	pmu.on = false;
	attar_counter_close(c);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_on_every_kernel),
		cmocka_unit_test(test_sample_fields_on_every_kernel),
		cmocka_unit_test(test_branch_options_on_every_kernel),
		cmocka_unit_test(test_address_filters),
	};

	return cmocka_run_group_tests_name("perf_kernels", tests, NULL, NULL);
}
