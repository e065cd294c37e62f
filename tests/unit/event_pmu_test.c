/* SPDX-License-Identifier: MIT */
/* PMUs of machines that are not available for tests: hand-written sysfs trees. */
#include "unit.h"

#include <locale.h>
#include <stdio.h>

#include "attar/event.h"
#include "base/base.h"
#include "event/pmu.h"
#include "profilers/lib/ratios.h"

#include "events.h"
#include "folder.h"

static struct attar_catalog *catalog;

/* A file below devices/. */
static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "bus/event_source/devices/%s", name);
	folder_line(path, text);
}

static void begin(void)
{
	const char *root = folder_make();

	put("software/type", "1");
	put("tracepoint/type", "2");
	put("breakpoint/type", "5");
	assert_int_equal(attar_catalog_new(
				 &(struct attar_catalog_opts){
					 .size = sizeof(struct attar_catalog_opts), .sysfs = root},
				 &catalog),
		0);
}

static void end(void)
{
	catalog = attar_catalog_free(catalog);
	folder_remove();
}

static void put_core(const char *name, const char *type, const char *cpus)
{
	char path[64];

#define IN(file) (snprintf(path, sizeof(path), "%s/%s", name, file), path)
	put(IN("type"), type);
	if (cpus)
		put(IN("cpus"), cpus);
	put(IN("format/event"), "config:0-7");
	put(IN("format/umask"), "config:8-15");
	put(IN("format/edge"), "config:18");
	put(IN("format/inv"), "config:23");
	put(IN("format/cmask"), "config:24-31");
	put(IN("format/offcore_rsp"), "config1:0-63");
	put(IN("format/ldlat"), "config1:0-15");
	put(IN("format/frontend"), "config1:0-23");
	put(IN("events/cpu-cycles"), "event=0x3c");
	put(IN("events/mem-loads"), "event=0xcd,umask=0x1,ldlat=3");
	put(IN("events/slots"), "event=0x00,umask=0x4");
	put(IN("caps/max_precise"), "3");
#undef IN
}

static void intel_hybrid(void)
{
	begin();
	put_core("cpu_core", "4", "0-3");
	put_core("cpu_atom", "10", "4-7");
	put("cpu_atom/caps/max_precise", "2");
	put("cpu_atom/events/topdown-bad", "event=0x73,umask=0x0");
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof(name), "uncore_imc_%d/type", i);
		put(name, (const char *[]){"20", "21", "22"}[i]);
		snprintf(name, sizeof(name), "uncore_imc_%d/cpumask", i);
		put(name, "0");
		snprintf(name, sizeof(name), "uncore_imc_%d/format/event", i);
		put(name, "config:0-7");
		snprintf(name, sizeof(name), "uncore_imc_%d/format/umask", i);
		put(name, "config:8-15");
		snprintf(name, sizeof(name), "uncore_imc_%d/events/cas_count_read", i);
		put(name, "event=0x04,umask=0x03");
		snprintf(name, sizeof(name), "uncore_imc_%d/events/cas_count_read.scale", i);
		put(name, "6.103515625e-5");
		snprintf(name, sizeof(name), "uncore_imc_%d/events/cas_count_read.unit", i);
		put(name, "MiB");
	}
	put("uncore_imc_2/events/only_here", "event=0x5");
	put("uncore_imc_free_running_0/type", "23");
	put("uncore_imc_free_running_0/cpumask", "0");
	put("power/type", "30");
	put("power/cpumask", "0,4");
	put("power/format/event", "config:0-7");
	put("power/events/energy-pkg", "event=0x02");
	put("power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
	put("power/events/energy-pkg.unit", "Joules");
	put("power/events/energy-pkg.per-pkg", "1");
	put("msr/type", "9");
	put("msr/format/event", "config:0-63");
	put("msr/events/tsc", "event=0x00");
}

static struct attar_event_list *parse(const char *text)
{
	return events_parse(catalog, text);
}

static void refuse(const char *text, int code, const char *sentence)
{
	events_refuse(catalog, text, code, sentence);
}

/* ---- bit fields ---- */

static void test_bits(void **state)
{
	struct pmu_format f;
	uint64_t words[PMU_WORDS] = {0};

	assert_int_equal(pmu_format_parse("config1:0-7,32-35\n", &f), 0);
	assert_int_equal(f.word, 1);
	assert_int_equal(f.bits, 12);
	assert_int_equal(pmu_format_put(&f, 0xabc, words), 0);
	assert_int_equal(words[1], 0xa000000bc);
	assert_int_equal(pmu_format_put(&f, 0x1000, words), -ERANGE);
	assert_int_equal(words[1], 0xa000000bc);
	assert_int_equal(pmu_format_put(&f, 1, words), 0); /* over existing bits */
	assert_int_equal(words[1], 1);
	assert_int_equal(
		pmu_format_parse("config:35,0-2", &f), 0); /* the order is that of the value */
	words[0] = 0;
	assert_int_equal(pmu_format_put(&f, 0x9, words), 0);
	assert_int_equal(words[0], 1ULL << 35 | 4);
	assert_int_equal(pmu_format_parse("config4:0-63", &f), 0);
	assert_int_equal(pmu_format_put(&f, UINT64_MAX, words), 0);
	assert_int_equal(words[4], UINT64_MAX);
	for (const char *const *bad = (const char *const[]){"", "config", "config:", "config:64",
		     "config5:0", "config:7-0", "config:0-7,", "config:0-7x", "cnfig:0",
		     "config:0-63,0", "config:-1", "config:0000", NULL};
		*bad; bad++)
		assert_int_equal(pmu_format_parse(*bad, &f), -EBADMSG);
}

static uint64_t random_u64(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15ULL;
	return base_hash64(*seed);
}

/* Any format and value: gathering the bits by the format's words gives the value. */
static void test_bits_property(void **state)
{
	uint64_t seed = 23;

	for (int round = 0; round < 20000; round++) {
		uint64_t words[PMU_WORDS], before[PMU_WORDS], mask = 0, gathered = 0;
		char text[256] = "config:";
		unsigned bits = 0, bit = 0, used[64];
		struct pmu_format f;
		uint64_t value;

		while (bit < 64 && strlen(text) < 200) {
			unsigned low = bit + (unsigned)(random_u64(&seed) % 9),
				 n = (unsigned)(random_u64(&seed) % 12);
			unsigned high = MIN(low + n, 63U);

			if (low > 63)
				break;
			sprintf(text + strlen(text), low == high ? "%s%u" : "%s%u-%u",
				bits ? "," : "", low, high);
			for (unsigned i = low; i <= high; i++)
				used[bits++] = i;
			bit = high + 2;
		}
		if (!bits)
			continue;
		assert_int_equal(pmu_format_parse(text, &f), 0);
		assert_int_equal(f.bits, bits);
		value = random_u64(&seed) >> (64 - bits);
		for (size_t i = 0; i < PMU_WORDS; i++)
			before[i] = words[i] = random_u64(&seed);
		assert_int_equal(pmu_format_put(&f, value, words), 0);
		for (unsigned i = 0; i < bits; i++) {
			gathered |= (words[0] >> used[i] & 1) << i;
			mask |= 1ULL << used[i];
		}
		assert_int_equal(gathered, value);
		assert_int_equal(words[0] & ~mask, before[0] & ~mask);
		assert_int_equal(words[1], before[1]);
		if (bits < 64)
			assert_int_equal(pmu_format_put(&f, 1ULL << bits, words), -ERANGE);
	}
}

/* ---- Intel, two kinds of cores ---- */

static void test_hybrid(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	intel_hybrid();
	list = parse("cycles:u,r1a8,cpu_atom/L1-dcache-load-misses/,task-clock");
	e = list->at;
	assert_int_equal(list->n, 6);
	assert_string_equal(e[0].name, "cpu_atom/cycles/u");
	assert_int_equal(e[0].kind, ATTAR_EVENT_HARDWARE);
	assert_int_equal(e[0].type, PERF_TYPE_HARDWARE);
	assert_int_equal(e[0].config, 10ULL << 32);
	assert_true(e[0].exclude_kernel && !e[0].system_wide);
	assert_int_equal(e[0].n_cpus, 4);
	assert_int_equal(e[0].cpus[0], 4);
	assert_string_equal(e[1].name, "cpu_core/cycles/u");
	assert_int_equal(e[1].config, 4ULL << 32);
	assert_int_equal(e[1].item, 0);
	assert_int_equal(e[2].type, 10);
	assert_int_equal(e[2].config, 0x1a8);
	assert_int_equal(e[3].type, 4);
	assert_string_equal(e[4].pmu, "cpu_atom");
	assert_int_equal(e[4].kind, ATTAR_EVENT_CACHE);
	assert_int_equal(e[4].config, 10ULL << 32 | 0x10000);
	assert_null(e[5].pmu);
	assert_string_equal(e[5].unit, "msec");
	attar_event_list_free(list);

	list = parse("cycles/period=1000,name=mine/u");
	assert_int_equal(list->n, 2);
	assert_string_equal(list->at[0].name, "mine");
	assert_int_equal(list->at[1].period, 1000);
	assert_int_equal(list->at[1].config, 4ULL << 32);
	assert_true(list->at[1].exclude_kernel);
	attar_event_list_free(list);

	list = parse("cycles:P");
	assert_int_equal(list->at[0].precise_ip, 2);
	assert_int_equal(list->at[1].precise_ip, 3);
	attar_event_list_free(list);
	end();
}

static void test_hybrid_groups(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	intel_hybrid();
	list = parse("faults,{cycles,instructions,cs}:S,{msr/tsc/,cs}");
	e = list->at;
	assert_int_equal(list->n, 8);
	assert_int_equal(list->n_groups, 3);
	assert_string_equal(e[1].name, "cpu_atom/cycles/S");
	assert_string_equal(e[2].name, "cpu_atom/instructions/S");
	assert_string_equal(e[3].name, "cs:S");
	assert_string_equal(e[4].name, "cpu_core/cycles/S");
	assert_string_equal(e[5].name, "cpu_core/instructions/S");
	assert_int_equal(e[1].group, 0);
	assert_int_equal(e[3].group, 0);
	assert_int_equal(e[4].group, 1);
	assert_int_equal(e[5].group, 1);
	assert_int_equal(e[6].group, 2);
	assert_int_equal(e[7].group, 2);
	attar_event_list_free(list);
	end();
}

static void expect_ratio(const struct ratio_count *c, size_t i, double value, const char *of)
{
	struct ratio r = ratio_of(c, 5, i, 2000000000);

	assert_string_equal(r.of, of);
	assert_true(r.value > 0.999 * value && r.value < 1.001 * value);
}

/*
 * Each kind of core has its own row, and its own instructions per cycle; none has all of the CPU
 * time.
 */
static void test_hybrid_ratios(void **state)
{
	const double counted[] = {2e9, 6e9, 2e9, 18e9, 2e9};
	struct attar_event_list *list;
	struct ratio_count c[5];

	intel_hybrid();
	list = parse("cycles,instructions,task-clock");
	assert_int_equal(list->n, 5);
	assert_string_equal(list->at[0].name, "cpu_atom/cycles/");
	assert_string_equal(list->at[1].name, "cpu_core/cycles/");
	assert_string_equal(list->at[2].name, "cpu_atom/instructions/");
	assert_string_equal(list->at[3].name, "cpu_core/instructions/");
	for (size_t i = 0; i < 5; i++)
		c[i] = (struct ratio_count){&list->at[i], counted[i], true, true};
	expect_ratio(c, 0, 1e9, "per second of CPU time");
	expect_ratio(c, 1, 3e9, "per second of CPU time");
	expect_ratio(c, 2, 1, "instructions per cycle");
	expect_ratio(c, 3, 3, "instructions per cycle");
	expect_ratio(c, 4, 1, "CPUs utilized");
	attar_event_list_free(list);
	end();
}

/* ---- uncore ---- */

static void test_uncore(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	intel_hybrid();
	for (const char *const *text = (const char *const[]){"uncore_imc/cas_count_read/",
		     "imc/cas_count_read/", "uncore_imc_?/cas_count_read/", "cas_count_read", NULL};
		*text; text++) {
		list = parse(*text);
		assert_int_equal(list->n, 3);
		e = list->at;
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(e[i].type, 20 + i);
			assert_int_equal(e[i].config, 0x304);
			assert_int_equal(e[i].item, 0);
			assert_true(e[i].system_wide);
			assert_int_equal(e[i].n_cpus, 1);
			assert_string_equal(e[i].unit, "MiB");
			assert_true(e[i].scale == 6.103515625e-5);
		}
		assert_string_equal(e[1].name, "uncore_imc_1/cas_count_read/");
		attar_event_list_free(list);
	}
	list = parse("imc_2/event=4/,uncore_imc/only_here/");
	assert_int_equal(list->n, 2);
	assert_int_equal(list->at[0].type, 22);
	assert_int_equal(list->at[1].type, 22); /* the others lack it */
	attar_event_list_free(list);

	list = parse("{imc/event=1/,imc/event=2/}");
	assert_int_equal(list->n_groups, 3);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(list->at[i].group, i / 2);
		assert_int_equal(list->at[i].type, 20 + i / 2);
	}
	attar_event_list_free(list);

	list = parse("power/energy-pkg/,energy-pkg");
	e = list->at;
	assert_string_equal(e[0].unit, "Joules");
	assert_true(e[0].scale == 2.3283064365386962890625e-10);
	assert_true(e[0].per_package && e[0].system_wide);
	assert_int_equal(e[0].n_cpus, 2);
	assert_int_equal(e[0].cpus[1], 4);
	assert_int_equal(e[1].config, 2);
	attar_event_list_free(list);
	end();
}

static void test_terms(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	intel_hybrid();
	list = parse("cpu_core/event=0x3c,umask=0x1,inv,cmask=2,config1=0x55/u, "
		     "cpu_core/mem-loads,ldlat=30/P,"
		     "cpu_core//,msr/tsc/,cpu_core/config=0x1,freq=99,call-graph=no,name='a, b'/");
	e = list->at;
	assert_int_equal(list->n, 5);
	assert_int_equal(e[0].config, 0x3c | 0x100 | 1 << 23 | 2 << 24);
	assert_int_equal(e[0].config1, 0x55);
	assert_string_equal(e[0].name, "cpu_core/event=0x3c,umask=0x1,inv,cmask=2,config1=0x55/u");
	assert_int_equal(e[1].config, 0x1cd);
	assert_int_equal(e[1].config1, 30); /* the user's value overrides the event's */
	assert_int_equal(e[1].precise_ip, 3);
	assert_int_equal(e[2].config, 0);
	assert_int_equal(e[3].type, 9);
	assert_int_equal(e[4].freq, 99);
	assert_string_equal(e[4].name, "a, b");
	assert_int_equal(e[4].n_options, 1);
	assert_string_equal(e[4].options[0].name, "call-graph");
	assert_string_equal(e[4].options[0].value, "no");
	attar_event_list_free(list);
	refuse("cpu_core/event=0x100/", -ERANGE,
		"column 10: event=0x100: cpu_core's 'event' has 8 bits");
	refuse("cpu_core/event=1,umsk=1/", -ENOENT,
		"column 18: PMU cpu_core has no event or term 'umsk': did you mean "
		"'umask'?");
	refuse("cpu_core/slot/", -ENOENT,
		"column 10: PMU cpu_core has no event or term 'slot': did you mean "
		"'slots'?");
	refuse("cpu_cor/slots/", -ENOENT, "column 1: no PMU 'cpu_cor': did you mean 'cpu_core'?");
	refuse("cpu_core/event=1,umask=1", -EINVAL,
		"column 9: missing closing '/': the syntax is pmu/term=1,.../");
	refuse("cpu_core/event=x/", -EINVAL, "column 10: event: 'x' is not a number");
	refuse("cpu_core/event=1,,umask=1/", -EINVAL, "column 18: expected a term before ','");
	refuse("cpu_core/event=1/ux", -EINVAL,
		"column 19: 'x' is not a modifier: use one of "
		"ukhGHpPSDeIW (u user, k kernel, p precise ...)");
	refuse("cycles/event=1/", -EINVAL,
		"column 8: 'event' cannot be combined with a generic event: use the PMU's "
		"raw terms instead");
	end();
}

static void test_snapshots(void **state)
{
	struct attar_event_list *list;

	intel_hybrid();
	put("power/events/temp", "event=0x08");
	put("power/events/temp.snapshot", "1");
	list = parse("power/temp/,power/energy-pkg/");
	assert_true(list->at[0].snapshot);
	assert_false(list->at[1].snapshot);
	attar_event_list_free(list);
	end();
}

static void test_capabilities(void **state)
{
	const struct attar_pmu *pmu, *core = NULL, *msr = NULL;
	int64_t value = 23;

	intel_hybrid();
	put("cpu_core/caps/branches", "32");
	put("cpu_core/caps/pmu_name", "alderlake_hybrid");
	put("cpu_core/caps/zeroes", "010");
	put("cpu_core/caps/hexadecimal", "0x1f");
	put("cpu_core/caps/several", "3 4");
	for (size_t i = 0; (pmu = attar_catalog_pmu(catalog, i)); i++) {
		core = strcmp(pmu->name, "cpu_core") ? core : pmu;
		msr = strcmp(pmu->name, "msr") ? msr : pmu;
	}
	assert_int_equal(attar_pmu_cap(core, "branches", &value), 0);
	assert_int_equal(value, 32);
	assert_int_equal(attar_pmu_cap(core, "max_precise", &value), 0);
	assert_int_equal(value, 3);
	assert_int_equal(attar_pmu_cap(msr, "branches", &value), -ENOENT);
	assert_true(attar_pmu_cap(core, "pmu_name", &value) < 0); /* not a number */
	assert_int_equal(attar_pmu_cap(core, "several", &value), -EINVAL);
	assert_int_equal(attar_pmu_cap(core, "zeroes", &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(attar_pmu_cap(core, "hexadecimal", &value), 0);
	assert_int_equal(value, 31);
	assert_int_equal(attar_pmu_cap(core, "../type", &value), -EINVAL);
	assert_int_equal(value, 31);
	end();
}

static int note_event(void *ctx, const struct attar_pmu_event *event)
{
	char *all = ctx;

	sprintf(all + strlen(all), "%s=%s*%g%s;", event->name, event->terms, event->scale,
		event->unit);
	return !strcmp(event->name, "only_here");
}

static void test_events_of(void **state)
{
	const struct attar_pmu *pmu;
	char all[256] = "";

	intel_hybrid();
	put("uncore_imc_2/events/bad", "event=1");
	put("uncore_imc_2/events/bad.scale", "x");
	put("uncore_imc_2/events/zzz", "event=6");
	for (size_t i = 0; (pmu = attar_catalog_pmu(catalog, i)); i++)
		if (!strcmp(pmu->name, "uncore_imc_2"))
			assert_int_equal(attar_pmu_events(pmu, note_event, all), 1);
	assert_string_equal(
		all, "cas_count_read=event=0x04,umask=0x03*6.10352e-05MiB;only_here=event=0x5*1;");
	end();
}

/* ---- AMD ---- */

static void test_amd(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	begin();
	put("cpu/type", "4");
	put("cpu/format/event", "config:0-7,32-35");
	put("cpu/format/umask", "config:8-15");
	put("cpu/events/branch-misses", "event=0xc3");
	put("ibs_op/type", "8");
	put("ibs_op/format/cnt_ctl", "config:19");
	put("amd_l3/type", "11");
	put("amd_l3/cpumask", "0,8");
	put("amd_l3/format/event", "config:0-7");
	put("amd_l3/format/threadmask", "config:56-63");
	put("amd_umc_0/type", "12");
	put("amd_umc_0/cpumask", "0");
	put("amd_umc_0/format/event", "config:0-7");
	put("amd_umc_0/events/strange", "event=1,colour=2");
	list = parse("cycles,branch-misses,cpu/event=0x1c3/,cpu/branch-misses/,amd_l3/"
		     "event=1,threadmask=0xff/,"
		     "amd_umc/event=1/,ibs_op/cnt_ctl/");
	e = list->at;
	assert_int_equal(list->n, 7);
	assert_int_equal(e[0].config, 0);
	assert_null(e[0].pmu); /* one kind of core: the kernel resolves it */
	assert_int_equal(e[1].type, PERF_TYPE_HARDWARE);
	assert_int_equal(e[2].config, 0x1000000c3);
	assert_int_equal(e[3].type, 4);
	assert_int_equal(e[3].config, 0xc3);
	assert_int_equal(e[4].config, 0xff00000000000001);
	assert_int_equal(e[4].n_cpus, 2);
	assert_int_equal(e[5].type, 12);
	assert_int_equal(e[6].config, 1 << 19);
	attar_event_list_free(list);
	refuse("amd_umc_0/strange/", -EBADMSG,
		"column 11: amd_umc_0/strange/ in sysfs uses the term 'colour', which the "
		"PMU's format does not have");
	end();
}

/* ---- arm64 and other architectures ---- */

static void test_arm(void **state)
{
	struct attar_event_list *list;
	const struct attar_event_spec *e;

	begin();
	put("armv8_cortex_a53/type", "7");
	put("armv8_cortex_a53/cpus", "0-3");
	put("armv8_cortex_a53/format/event", "config:0-15");
	put("armv8_cortex_a53/format/long", "config1:0");
	put("armv8_cortex_a53/format/rdpmc", "config1:1");
	put("armv8_cortex_a53/events/cpu_cycles", "event=0x0011");
	put("armv8_cortex_a72/type", "8");
	put("armv8_cortex_a72/cpus", "4-5");
	put("armv8_cortex_a72/format/event", "config:0-15");
	put("armv8_cortex_a72/events/cpu_cycles", "event=0x0011");
	put("arm_spe_0/type", "9");
	put("arm_spe_0/cpumask", "0-5");
	put("arm_spe_0/format/min_latency", "config2:0-11");
	put("arm_spe_0/format/inv_event_filter", "config3:0-63");
	put("hisi_sccl1_ddrc0/type", "12");
	put("hisi_sccl1_ddrc0/cpumask", "0");
	put("hisi_sccl1_ddrc0/format/event", "config:0-7");
	put("hv_24x7/type", "13");
	put("hv_24x7/format/domain", "config:0-3");
	put("hv_24x7/format/core", "config:16-31");
	put("hv_24x7/events/PM_CYC", "domain=2,core=?");
	put("hv_24x7/events/PM_CYC.scale", "none");
	put("hv_24x7/events/PM_INST", "domain=2,core=?");
	list = parse("cycles,cpu_cycles,arm_spe_0/min_latency=10,inv_event_filter=5/"
		     ",armv8_cortex_a53/event=0x11,rdpmc/,"
		     "hv_24x7/PM_INST,core=5/");
	e = list->at;
	assert_int_equal(list->n, 7);
	assert_int_equal(e[0].config, 7ULL << 32);
	assert_int_equal(e[1].config, 8ULL << 32);
	assert_int_equal(e[1].n_cpus, 2);
	assert_int_equal(e[2].type, 7);
	assert_int_equal(e[2].config, 0x11);
	assert_string_equal(e[3].name, "armv8_cortex_a72/cpu_cycles/");
	assert_int_equal(e[4].config2, 10);
	assert_int_equal(e[4].config3, 5);
	assert_false(e[4].system_wide); /* its cpumask names cores */
	assert_int_equal(e[5].config1, 2);
	assert_int_equal(e[6].config, 2 | 5 << 16);
	attar_event_list_free(list);
	refuse("hv_24x7/PM_INST/", -EINVAL,
		"column 1: hv_24x7/PM_INST/ needs a value of 'core': core=VALUE");
	assert_int_equal(
		attar_event_list_parse(catalog, "hv_24x7/PM_CYC,core=1/", &list), -EBADMSG);
	assert_non_null(strstr(attar_error(), "PM_CYC.scale does not contain a scale"));
	end();
}

/* A locale with a decimal comma must not change scales. */
static void test_scales_ignore_the_locale(void **state)
{
	struct attar_event_list *list;
	bool set = setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8");

	intel_hybrid();
	list = parse("power/energy-pkg/");
	assert_true(list->at[0].scale == 2.3283064365386962890625e-10);
	attar_event_list_free(list);
	end();
	setlocale(LC_NUMERIC, "C");
	if (!set)
		print_message("no locale with a decimal comma is installed: tested with C only\n");
}

/* Trees that no kernel would create. */
static void test_broken_trees(void **state)
{
	struct attar_event_list *list = NULL;

	begin();
	put("bad/type", "x");
	put("huge/type", "99999999999");
	put("odd/type", "40");
	put("odd/cpumask", "zzz");
	put("odd/format/event", "nonsense");
	put("odd/events/e", "event=1");
	put("odd/events/f", "config=0x5,config1=7");
	put("odd/events/g", "");
	assert_int_equal(attar_event_list_parse(catalog, "bad/x/", &list), -EOPNOTSUPP);
	assert_int_equal(attar_event_list_parse(catalog, "huge/x/", &list), -EOPNOTSUPP);
	assert_int_equal(attar_event_list_parse(catalog, "odd/e/", &list), -EBADMSG);
	assert_int_equal(attar_event_list_parse(catalog, "odd/f,../", &list), -ENOENT);
	list = parse("odd/f/,odd/g/");
	assert_int_equal(list->at[0].config, 5);
	assert_int_equal(list->at[0].config1, 7);
	assert_int_equal(list->at[0].n_cpus, 0);
	attar_event_list_free(list);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_bits_property),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_hybrid_groups),
		cmocka_unit_test(test_hybrid_ratios),
		cmocka_unit_test(test_uncore),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_events_of),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_scales_ignore_the_locale),
		cmocka_unit_test(test_broken_trees),
	};

	return cmocka_run_group_tests_name("event_pmu", tests, NULL, NULL);
}
