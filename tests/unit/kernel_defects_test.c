/* SPDX-License-Identifier: MIT */
/* Which kernels may have which defects. */
#include "unit.h"

#include "perf/bpf_filter.h"
#include "perf/kernel_defects.h"

static bool may_have(int major, int minor, enum kernel_defect defect)
{
	const struct kernel kernel = {.version = KERNEL_VERSION_OF(major, minor)};

	return kernel_may_have(&kernel, defect);
}

#if defined(__x86_64__)
enum { ON_X86 = true };
#else
enum { ON_X86 = false };
#endif

static void test_versions(void **state)
{
	assert_false(may_have(6, 5, DEFECT_STACKS_BESIDE_UPROBES));
	assert_int_equal(may_have(6, 6, DEFECT_STACKS_BESIDE_UPROBES), ON_X86);
	assert_int_equal(may_have(6, 12, DEFECT_STACKS_BESIDE_UPROBES), ON_X86);
	assert_false(may_have(6, 13, DEFECT_STACKS_BESIDE_UPROBES));
	assert_false(may_have(6, 15, DEFECT_CLOCK_REFRESH));
	assert_true(may_have(6, 16, DEFECT_CLOCK_REFRESH));
	assert_true(may_have(6, 17, DEFECT_CLOCK_REFRESH));
	assert_false(may_have(6, 18, DEFECT_CLOCK_REFRESH));
	assert_false(may_have(6, 10, DEFECT_RETURN_PROBES_SECCOMP));
	assert_int_equal(may_have(6, 11, DEFECT_RETURN_PROBES_SECCOMP), ON_X86);
	assert_int_equal(may_have(6, 13, DEFECT_RETURN_PROBES_SECCOMP), ON_X86);
	assert_false(may_have(6, 14, DEFECT_RETURN_PROBES_SECCOMP));
}

static void test_proxy_execution(void **state)
{
	static const char config[] = "CONFIG_SMP=y\nCONFIG_SCHED_PROXY_EXEC=y\n";
	static const char without[] = "CONFIG_SMP=y\n# CONFIG_SCHED_PROXY_EXEC is not set\n";

	assert_false(proxy_execution_is_on("quiet", NULL));
	assert_false(proxy_execution_is_on("quiet", without));
	assert_true(proxy_execution_is_on("quiet", config));
	assert_true(proxy_execution_is_on("sched_proxy_exec=1 quiet", NULL));
	assert_true(proxy_execution_is_on("sched_proxy_exec=on", without));
	assert_true(proxy_execution_is_on("sched_proxy_exec=yes", NULL));
	assert_false(proxy_execution_is_on("sched_proxy_exec=0", config));
	assert_false(proxy_execution_is_on("sched_proxy_exec=off", config));
}

static void test_flags_of_rescheduling(void **state)
{
#if defined(__x86_64__)
	assert_int_equal(bpf_filter_resched_flags(KERNEL_VERSION_OF(6, 12)), 1 << 3);
	assert_int_equal(bpf_filter_resched_flags(KERNEL_VERSION_OF(6, 13)), 1 << 3 | 1 << 4);
	assert_int_equal(bpf_filter_resched_flags(KERNEL_VERSION_OF(6, 17)), 1 << 3 | 1 << 4);
	assert_int_equal(bpf_filter_resched_flags(KERNEL_VERSION_OF(6, 18)), 1 << 4 | 1 << 5);
#elif defined(__aarch64__)
	assert_int_equal(bpf_filter_resched_flags(KERNEL_VERSION_OF(6, 18)), 1 << 1);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_proxy_execution),
		cmocka_unit_test(test_flags_of_rescheduling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
