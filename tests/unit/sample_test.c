/* SPDX-License-Identifier: MIT */
/*
 * Compare decoded packed words with the compiler's view of the kernel's bit fields; check their
 * text.
 */
#include "unit.h"

#include <string.h>

#include "attar/private/sample.h"
#include "attar/sample.h"
#include "base/base.h"
#include "record/uapi.h"

static void test_branches_match_kernel_bit_fields(void **state)
{
	for (uint64_t seed = 0; seed < 10000; seed++) {
		uint64_t words[6] = {
			0, 0, 0, base_hash64(seed), base_hash64(seed + 1), base_hash64(seed + 2)};
		uint64_t counters[2] = {1, base_hash64(seed + 3)};
		const struct perf_branch_entry *truth = (void *)(words + 3);
		struct attar_sample sample = {
			.branch_nr = 2, .branches = (void *)words, .branch_counters = counters};
		struct attar_branch b = attar_branch_at(&sample, 1);

		assert_int_equal(b.from, truth->from);
		assert_int_equal(b.to, truth->to);
		assert_int_equal(b.mispredicted, truth->mispred);
		assert_int_equal(b.predicted, truth->predicted);
		assert_int_equal(b.in_tx, truth->in_tx);
		assert_int_equal(b.abort, truth->abort);
		assert_int_equal(b.cycles, truth->cycles);
		assert_int_equal(b.type, truth->type);
		assert_int_equal(b.spec, truth->spec);
		assert_int_equal(b.new_type, truth->new_type);
		assert_int_equal(b.priv, truth->priv);
		assert_int_equal(b.counters, counters[1]);
		sample.branch_counters = NULL;
		assert_int_equal(attar_branch_at(&sample, 1).counters, 0);
	}
}

static void test_branch_names(void **state)
{
	assert_string_equal(attar_branch_type_name(&(struct attar_branch){0}), "");
	assert_string_equal(
		attar_branch_type_name(&(struct attar_branch){.type = PERF_BR_COND}), "COND");
	assert_string_equal(
		attar_branch_type_name(&(struct attar_branch){.type = PERF_BR_NO_TX}), "NO_TX");
	assert_string_equal(
		attar_branch_type_name(&(struct attar_branch){
			.type = PERF_BR_EXTEND_ABI, .new_type = PERF_BR_NEW_FAULT_DATA}),
		"FAULT_DATA");
	assert_string_equal(attar_branch_type_name(&(struct attar_branch){
				    .type = PERF_BR_EXTEND_ABI, .new_type = PERF_BR_NEW_MAX}),
		"");
	assert_string_equal(
		attar_branch_spec_name(&(struct attar_branch){.spec = PERF_BR_SPEC_CORRECT_PATH}),
		"SPEC_CORRECT_PATH");
	assert_int_equal(branch_context(&(struct attar_branch){.priv = PERF_BR_PRIV_KERNEL}),
		ATTAR_CONTEXT_KERNEL);
	assert_int_equal(branch_context(&(struct attar_branch){.priv = 7}), ATTAR_CONTEXT_UNKNOWN);
}

static void test_branch_counters(void **state)
{
	struct attar_branch b = {.counters = 0x8000000000000b1b};

	/* Two bits each, as on Sierra Forest: 3, 2, 1, 0, 3, 2, 0 ... 2. */
	assert_int_equal(branch_counter(&b, 0, 2), 3);
	assert_int_equal(branch_counter(&b, 1, 2), 2);
	assert_int_equal(branch_counter(&b, 2, 2), 1);
	assert_int_equal(branch_counter(&b, 3, 2), 0);
	assert_int_equal(branch_counter(&b, 31, 2), 2);
	assert_int_equal(branch_counter(&b, 32, 2), 0);
	assert_int_equal(branch_counter(&b, 0, 64), 0x8000000000000b1b);
	assert_int_equal(branch_counter(&b, 1, 64), 0);
	assert_int_equal(branch_counter(&b, 0, 0), 0);
	assert_int_equal(branch_counter(&b, 0, 65), 0);
}

static void test_data_src_matches_kernel_bit_fields(void **state)
{
	for (uint64_t seed = 0; seed < 10000; seed++) {
		union perf_mem_data_src truth = {.val = base_hash64(seed)};
		struct attar_data_src d = attar_data_src_decode(truth.val);

		assert_int_equal(d.op, truth.mem_op);
		assert_int_equal(d.lvl, truth.mem_lvl);
		assert_int_equal(d.snoop, truth.mem_snoop);
		assert_int_equal(d.lock, truth.mem_lock);
		assert_int_equal(d.tlb, truth.mem_dtlb);
		assert_int_equal(d.lvl_num, truth.mem_lvl_num);
		assert_int_equal(d.remote, truth.mem_remote);
		assert_int_equal(d.snoopx, truth.mem_snoopx);
		assert_int_equal(d.blk, truth.mem_blk);
		assert_int_equal(d.hops, truth.mem_hops);
		assert_int_equal(d.region, truth.val >> 46 & 31);
	}
}

#define S(a, s)      PERF_MEM_S(a, s)
#define LVLNUM(n)    ((uint64_t)(n) << PERF_MEM_LVLNUM_SHIFT)
#define REGION(n)    ((uint64_t)(n) << PERF_MEM_REGION_SHIFT_)
#define NOTHING_MORE (S(SNOOP, NA) | S(TLB, NA) | S(LOCK, NA) | S(BLK, NA))

static void test_data_src_text(void **state)
{
	static const struct {
		uint64_t word;
		const char *text;
	} cases[] = {
		{0, "unknown"},
		{S(OP, NA) | S(LVL, NA) | LVLNUM(PERF_MEM_LVLNUM_NA) | NOTHING_MORE, "unknown"},
		{S(OP, LOAD) | S(LVL, L1) | S(LVL, HIT) | NOTHING_MORE, "load, L1 hit"},
		{S(OP, STORE) | S(LVL, MISS) | NOTHING_MORE, "store, cache miss"},
		{S(OP, LOAD) | S(LVL, HIT) | LVLNUM(PERF_MEM_LVLNUM_L3) | S(SNOOP, HITM) |
				S(TLB, HIT) | S(TLB, L1) | S(TLB, L2) | S(LOCK, LOCKED),
			"load, L3 hit, snoop hit modified, TLB L1 L2 hit, locked"},
		{S(OP, LOAD) | S(LVL, HIT) | LVLNUM(PERF_MEM_LVLNUM_RAM) | S(REMOTE, REMOTE) |
				S(SNOOP, NONE) | S(TLB, MISS) | S(TLB, WK),
			"load, remote RAM hit, snoop none, TLB walker miss"},
		{S(OP, LOAD) | S(LVL, HIT) | LVLNUM(PERF_MEM_LVLNUM_L2) | S(REMOTE, REMOTE) |
				S(HOPS, 0) | S(SNOOPX, PEER),
			"load, L2 hit, remote core, same node, snoop from peer"},
		{S(OP, PFETCH) | S(LVL, REM_CCE2) | S(LVL, MISS) | S(BLK, DATA) | S(BLK, ADDR),
			"prefetch, remote cache (2 hops) miss, blocked by data, blocked by "
			"address"},
		{S(OP, EXEC) | S(TLB, OS), "exec, TLB OS fault"},
		{S(OP, LOAD) | LVLNUM(PERF_MEM_LVLNUM_L0_) | S(LVL, HIT) | REGION(2),
			"load, L0 hit, local shared cache"},
		{S(OP, LOAD) | LVLNUM(PERF_MEM_LVLNUM_MSC_) | S(LVL, HIT) | REGION(15),
			"load, memory-side cache hit, memory region 7"},
		{S(OP, LOAD) | S(SNOOPX, FWD) | REGION(7), "load, snoop forwarded, MMIO"},
	};
	char text[160], *none = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = attar_data_src_text(cases[i].word, text, sizeof(text));

		assert_string_equal(text, cases[i].text);
		assert_int_equal(n, strlen(cases[i].text));
		for (size_t size = 0; size <= n; size++) {
			memset(text, '#', sizeof(text));
			assert_int_equal(attar_data_src_text(cases[i].word, text, size), n);
			assert_int_equal(text[size], '#');
			if (size) {
				assert_memory_equal(text, cases[i].text, size - 1);
				assert_int_equal(text[size - 1], '\0');
			}
		}
	}
	assert_int_equal(attar_data_src_text(0, none, 0), 7);
}

static void test_transaction_text(void **state)
{
	char text[128];

	transaction_text(0, text, sizeof(text));
	assert_string_equal(text, "none");
	transaction_text(PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT | PERF_TXN_RETRY | 5ULL << 32,
		text, sizeof(text));
	assert_string_equal(text, "transaction, retry, conflict, abort code 0x5");
	transaction_text(0xff, text, sizeof(text));
	assert_string_equal(text, "elision, transaction, sync, async, retry, conflict, "
				  "capacity write, capacity read");
}

static void test_weights_and_namespaces(void **state)
{
	union perf_sample_weight truth = {.full = 0x123456789abcdef0};
	struct attar_weight w = attar_weight_decode(truth.full);

	assert_int_equal(w.var1, truth.var1_dw);
	assert_int_equal(w.var2, truth.var2_w);
	assert_int_equal(w.var3, truth.var3_w);
	assert_string_equal(namespace_name(NET_NS_INDEX), "net");
	assert_string_equal(namespace_name(CGROUP_NS_INDEX), "cgroup");
	assert_string_equal(namespace_name(NR_NAMESPACES), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches_match_kernel_bit_fields),
		cmocka_unit_test(test_branch_names),
		cmocka_unit_test(test_branch_counters),
		cmocka_unit_test(test_data_src_matches_kernel_bit_fields),
		cmocka_unit_test(test_data_src_text),
		cmocka_unit_test(test_transaction_text),
		cmocka_unit_test(test_weights_and_namespaces),
	};

	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
