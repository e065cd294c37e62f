/* SPDX-License-Identifier: MIT */
/* Format the packed words PERF_MEM_* and PERF_TXN_* of linux/perf_event.h as text. */
#include "attar/private/sample.h"
#include "attar/sample.h"
#include "base/base.h"
#include "base/check_arg.h"
#include "record/uapi.h"

#include <stdio.h>

/* Text in the caller's buffer; len also counts what does not fit. */
struct out {
	char *text;
	size_t size, len;
};

static void data_src_add(struct out *o, const char *text)
{
	size_t room = o->len < o->size ? o->size - o->len : 0;

	if (room)
		snprintf(o->text + o->len, room, "%s", text);
	o->len += strlen(text);
}

/* Starts the next item of a list. */
static void part(struct out *o, const char *text)
{
	if (o->len)
		data_src_add(o, ", ");
	data_src_add(o, text);
}

/*
 * Appends the names of the bits that are set, one item each, after prefix. Bit 0 of these sets is
 * "not available".
 */
static void bits(
	struct out *o, uint64_t set, const char *prefix, const char *const names[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!(set >> i & 1) || !names[i])
			continue;
		part(o, prefix);
		data_src_add(o, names[i]);
	}
}

struct attar_data_src attar_data_src_decode(uint64_t w)
{
	return (struct attar_data_src){
		.op = w & 0x1f,
		.lvl = w >> 5 & 0x3fff,
		.snoop = w >> 19 & 0x1f,
		.lock = w >> 24 & 0x3,
		.tlb = w >> 26 & 0x7f,
		.lvl_num = w >> 33 & 0xf,
		.remote = w >> 37 & 1,
		.snoopx = w >> 38 & 0x3,
		.blk = w >> 40 & 0x7,
		.hops = w >> 43 & 0x7,
		.region = w >> PERF_MEM_REGION_SHIFT_ & PERF_MEM_REGION_MASK_,
	};
}

/*
 * The level: lvl_num if the PMU reports it, with the distance in hops and remote; otherwise the
 * older set of bits. Hit and miss are bits of the older set in both cases.
 */
static void level(struct out *o, const struct attar_data_src *d)
{
	static const char *const numbers[16] = {NULL, "L1", "L2", "L3", "L4", "L2 MHB",
		"memory-side cache", "L0", "uncached memory", "CXL memory", "I/O memory",
		"any cache", "LFB", "RAM", "persistent memory"};
	static const char *const levels[] = {NULL, NULL, NULL, "L1", "LFB", "L2", "L3", "local RAM",
		"remote RAM (1 hop)", "remote RAM (2 hops)", "remote cache (1 hop)",
		"remote cache (2 hops)", "I/O memory", "uncached memory"};
	static const char *const hops[8] = {NULL, "remote core, same node",
		"remote node, same socket", "remote socket, same board", "remote board"};
	size_t before = o->len;

	if (d->lvl_num != 0 && d->lvl_num != PERF_MEM_LVLNUM_NA_) {
		part(o, d->remote && !hops[d->hops] ? "remote " : "");
		data_src_add(o, numbers[d->lvl_num]);
	} else {
		bits(o, d->lvl, "", levels, ARRAY_SIZE(levels));
	}
	if (o->len == before && (d->lvl & (PERF_MEM_LVL_HIT | PERF_MEM_LVL_MISS)))
		part(o, "cache");
	if (d->lvl & PERF_MEM_LVL_HIT)
		data_src_add(o, " hit");
	if (d->lvl & PERF_MEM_LVL_MISS)
		data_src_add(o, " miss");
	if (hops[d->hops])
		part(o, hops[d->hops]);
}

/* TLB level and hit or miss: the bits are combined. */
static void tlb(struct out *o, unsigned set)
{
	static const char *const where[] = {NULL, NULL, NULL, " L1", " L2", " walker", " OS fault"};

	if (!(set & ~(unsigned)PERF_MEM_TLB_NA))
		return;
	part(o, "TLB");
	for (unsigned i = 0; i < ARRAY_SIZE(where); i++)
		if (where[i] && set >> i & 1)
			data_src_add(o, where[i]);
	if (set & PERF_MEM_TLB_HIT)
		data_src_add(o, " hit");
	if (set & PERF_MEM_TLB_MISS)
		data_src_add(o, " miss");
}

static void region(struct out *o, unsigned number)
{
	static const char *const names[] = {NULL, NULL, "local shared cache",
		"local non-shared cache", "other agent's I/O", "other agent's shared cache",
		"other agent's non-shared cache", "MMIO"};
	char text[32];

	if (number < ARRAY_SIZE(names)) {
		if (names[number])
			part(o, names[number]);
		return;
	}
	snprintf(text, sizeof(text), "memory region %u", number - 8);
	part(o, text);
}

static size_t data_src_finish(struct out *o, const char *nothing)
{
	if (o->size)
		o->text[MIN(o->len, o->size - 1)] = '\0';
	if (o->len == 0)
		data_src_add(o, nothing);
	return o->len;
}

size_t attar_data_src_text(uint64_t data_src, char *text, size_t size)
{
	CHECK_ARG_OR(text || !size, "text", 0);

	static const char *const ops[] = {NULL, "load", "store", "prefetch", "exec"};
	static const char *const snoops[] = {NULL, "none", "hit", "miss", "hit modified"};
	static const char *const snoopxs[] = {"forwarded", "from peer"};
	static const char *const blocks[] = {NULL, "data", "address"};
	struct attar_data_src d = attar_data_src_decode(data_src);
	struct out o = {.text = text, .size = size};

	bits(&o, d.op, "", ops, ARRAY_SIZE(ops));
	level(&o, &d);
	bits(&o, d.snoop, "snoop ", snoops, ARRAY_SIZE(snoops));
	bits(&o, d.snoopx, "snoop ", snoopxs, ARRAY_SIZE(snoopxs));
	tlb(&o, d.tlb);
	if (d.lock & PERF_MEM_LOCK_LOCKED)
		part(&o, "locked");
	bits(&o, d.blk, "blocked by ", blocks, ARRAY_SIZE(blocks));
	region(&o, d.region);
	return data_src_finish(&o, "unknown");
}

size_t transaction_text(uint64_t transaction, char *text, size_t size)
{
	CHECK_ARG_OR(text || !size, "text", 0);

	static const char *const names[] = {"elision", "transaction", "sync", "async", "retry",
		"conflict", "capacity write", "capacity read"};
	struct out o = {.text = text, .size = size};
	char code[32];

	bits(&o, transaction, "", names, ARRAY_SIZE(names));
	if (transaction >> PERF_TXN_ABORT_SHIFT) {
		snprintf(code, sizeof(code), "abort code %#llx",
			(unsigned long long)(transaction >> PERF_TXN_ABORT_SHIFT));
		part(&o, code);
	}
	return data_src_finish(&o, "none");
}

const char *namespace_name(uint64_t index)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};

	return index < ARRAY_SIZE(names) ? names[index] : "?";
}
