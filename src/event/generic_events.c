/* SPDX-License-Identifier: MIT */
#include "event/generic_events.h"

#include <stdio.h>
#include <strings.h>

#define HW(x) PERF_COUNT_HW_##x
#define SW(x) PERF_COUNT_SW_##x

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES
#define PERF_COUNT_SW_CGROUP_SWITCHES 11 /* since 5.13 */
#endif

const struct name *names_hardware(size_t *ret_n)
{
	static const struct name list[] = {
		{"cpu-cycles", "cycles", HW(CPU_CYCLES),
			"core clock cycles, affected by frequency scaling"},
		{"instructions", NULL, HW(INSTRUCTIONS), "retired instructions"},
		{"cache-references", NULL, HW(CACHE_REFERENCES),
			"cache accesses, usually of the last level"},
		{"cache-misses", NULL, HW(CACHE_MISSES), "cache misses, usually of the last level"},
		{"branch-instructions", "branches", HW(BRANCH_INSTRUCTIONS), "retired branches"},
		{"branch-misses", NULL, HW(BRANCH_MISSES), "mispredicted branches"},
		{"bus-cycles", NULL, HW(BUS_CYCLES),
			"bus cycles, or cycles of a constant-rate clock"},
		{"stalled-cycles-frontend", "idle-cycles-frontend", HW(STALLED_CYCLES_FRONTEND),
			"cycles in which the frontend delivered no instructions"},
		{"stalled-cycles-backend", "idle-cycles-backend", HW(STALLED_CYCLES_BACKEND),
			"cycles in which the backend could not accept instructions"},
		{"ref-cycles", NULL, HW(REF_CPU_CYCLES),
			"core cycles at a constant reference rate"},
	};

	*ret_n = ARRAY_SIZE(list);
	return list;
}

const struct name *names_software(size_t *ret_n)
{
	static const struct name list[] = {
		{"cpu-clock", NULL, SW(CPU_CLOCK), "time on the CPU, from a timer", "msec", 1e-6},
		{"task-clock", NULL, SW(TASK_CLOCK), "time the task ran on a CPU", "msec", 1e-6},
		{"page-faults", "faults", SW(PAGE_FAULTS), "page faults"},
		{"context-switches", "cs", SW(CONTEXT_SWITCHES), "context switches"},
		{"cpu-migrations", "migrations", SW(CPU_MIGRATIONS), "migrations to another CPU"},
		{"minor-faults", NULL, SW(PAGE_FAULTS_MIN), "page faults without disk I/O"},
		{"major-faults", NULL, SW(PAGE_FAULTS_MAJ), "page faults with disk I/O"},
		{"alignment-faults", NULL, SW(ALIGNMENT_FAULTS),
			"unaligned accesses fixed up by the kernel (none on x86)"},
		{"emulation-faults", NULL, SW(EMULATION_FAULTS),
			"instructions emulated by the kernel (none on x86)"},
		{"dummy", NULL, SW(DUMMY), "counts nothing; carries side-band records"},
		{"bpf-output", NULL, SW(BPF_OUTPUT), "samples written by a BPF program"},
		{"cgroup-switches", NULL, SW(CGROUP_SWITCHES),
			"context switches between control groups"},
	};

	*ret_n = ARRAY_SIZE(list);
	return list;
}

static bool same(const char *name, const char *word, size_t n)
{
	return name && strlen(name) == n && !memcmp(name, word, n);
}

const struct name *names_find(const struct name *list, size_t list_n, const char *word, size_t n)
{
	for (size_t i = 0; i < list_n; i++)
		if (same(list[i].name, word, n) || same(list[i].alias, word, n))
			return &list[i];
	return NULL;
}

/* ---- caches ---- */

enum { SPELLINGS = 6 };
enum {
	READ = 1 << PERF_COUNT_HW_CACHE_OP_READ,
	WRITE = 1 << PERF_COUNT_HW_CACHE_OP_WRITE,
	PREFETCH = 1 << PERF_COUNT_HW_CACHE_OP_PREFETCH
};

/* The index is the kernel's number; the first spelling is the usual one. */
struct spelled {
	const char *words[SPELLINGS];
	const char *about;
	unsigned ops; /* supported operations, of caches only */
};

static const struct spelled caches[] = {
	{{"L1-dcache", "l1-d", "l1d", "L1-data"}, "level 1 data cache", READ | WRITE | PREFETCH},
	{{"L1-icache", "l1-i", "l1i", "L1-instruction"}, "level 1 instruction cache",
		READ | PREFETCH},
	{{"LLC", "L2"}, "last-level cache", READ | WRITE | PREFETCH},
	{{"dTLB", "d-tlb", "Data-TLB"}, "data TLB", READ | WRITE | PREFETCH},
	{{"iTLB", "i-tlb", "Instruction-TLB"}, "instruction TLB", READ},
	{{"branch", "branches", "bpu", "btb", "bpc"}, "branch predictor", READ},
	{{"node"}, "local NUMA node's memory", READ | WRITE | PREFETCH},
};

static const struct spelled ops[] = {
	{{"load", "loads", "read"}, "loads"},
	{{"store", "stores", "write"}, "stores"},
	{{"prefetch", "prefetches", "speculative-read", "speculative-load"}, "prefetches"},
};

static const struct spelled results[] = {
	{{"refs", "Reference", "ops", "access"}, "accesses"},
	{{"misses", "miss"}, "misses"},
};

/* The entry with the longest spelling that is a whole word at *word; -1: none. Advances *word. */
static int spelled_at(const struct spelled *list, size_t n, const char **word, const char *end)
{
	size_t longest = 0;
	int found = -1;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < SPELLINGS && list[i].words[j]; j++) {
			size_t len = strlen(list[i].words[j]), left = (size_t)(end - *word);

			if (len <= longest || len > left ||
				strncasecmp(*word, list[i].words[j], len) ||
				(len < left && (*word)[len] != '-'))
				continue;
			longest = len;
			found = (int)i;
		}
	*word += longest;
	return found;
}

bool names_cache(const char *word, size_t n, uint64_t *ret_config)
{
	const char *p = word, *end = word + n;
	int cache = spelled_at(caches, ARRAY_SIZE(caches), &p, end), op = -1, result = -1;

	if (cache < 0)
		return false;
	while (p < end) {
		p++; /* the '-' after the previous word */
		if (op < 0 && (op = spelled_at(ops, ARRAY_SIZE(ops), &p, end)) >= 0)
			continue;
		if (result < 0 && (result = spelled_at(results, ARRAY_SIZE(results), &p, end)) >= 0)
			continue;
		return false;
	}
	op = MAX(op, 0);
	result = MAX(result, 0);
	if (!(caches[cache].ops & 1U << op))
		return false;
	*ret_config = (uint64_t)cache | (uint64_t)op << 8 | (uint64_t)result << 16;
	return true;
}

bool names_cache_at(unsigned i, char name[NAMES_CACHE_LEN], char about[64], uint64_t *ret_config)
{
	for (unsigned cache = 0; cache < ARRAY_SIZE(caches); cache++)
		for (unsigned op = 0; op < ARRAY_SIZE(ops); op++)
			for (unsigned result = 0; result < ARRAY_SIZE(results); result++) {
				if (!(caches[cache].ops & 1U << op) || i--)
					continue;
				snprintf(name, NAMES_CACHE_LEN, "%s-%s%s", caches[cache].words[0],
					ops[op].words[!result], result ? "-misses" : "");
				snprintf(about, 64, "%s%s of the %s", ops[op].about,
					result ? " that missed," : "", caches[cache].about);
				*ret_config = cache | (uint64_t)op << 8 | (uint64_t)result << 16;
				return true;
			}
	return false;
}
