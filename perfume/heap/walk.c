/* SPDX-License-Identifier: CC0-1.0 */
/*
 * User stacks by call frame information (DWARF CFI in .eh_frame, as described in the DWARF standard
 * and in the Linux Standard Base), which programs have for exceptions, so that frame pointers are
 * not needed. What the information says for an address is decoded once and kept in a cache; a frame
 * then takes some nanoseconds. Code without it, such as the code of a JIT compiler, is unwound by
 * frame pointers. A stack that cannot be followed any further ends there.
 */
#include "heap.h"

#ifdef __x86_64__

#include "cfi.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

/* ---- the cache of rules ---- */

enum { RULE_WORDS = sizeof(struct cfi_rule) / sizeof(uint64_t), CACHE_BITS = 14, BUSY = 1 };

struct cached {
	uint64_t key; /* 0: empty; BUSY */
	uint64_t words[RULE_WORDS];
};

static struct cached cache[1 << CACHE_BITS] __attribute__((aligned(64)));
static uint64_t generation; /* changes when code is unloaded; in the upper bits of keys */

_Static_assert(sizeof(struct cfi_rule) == RULE_WORDS * sizeof(uint64_t), "whole words");

static struct cached *place_of(uint64_t key)
{
	return &cache[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS)];
}

/* Another thread may replace the entry meanwhile: its key has then changed. */
static int cache_get(uint64_t key, struct cfi_rule *ret_rule)
{
	struct cached *at = place_of(key);
	uint64_t words[RULE_WORDS];

	if (__atomic_load_n(&at->key, __ATOMIC_ACQUIRE) != key)
		return 0;
	for (int i = 0; i < RULE_WORDS; i++)
		words[i] = __atomic_load_n(&at->words[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&at->key, __ATOMIC_RELAXED) != key)
		return 0;
	memcpy(ret_rule, words, sizeof(words));
	return 1;
}

static void cache_put(uint64_t key, const struct cfi_rule *rule)
{
	struct cached *at = place_of(key);
	uint64_t words[RULE_WORDS], old = __atomic_load_n(&at->key, __ATOMIC_RELAXED);

	if (old == BUSY || !__atomic_compare_exchange_n(
				   &at->key, &old, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(words, rule, sizeof(words));
	for (int i = 0; i < RULE_WORDS; i++)
		__atomic_store_n(&at->words[i], words[i], __ATOMIC_RELAXED);
	__atomic_store_n(&at->key, key, __ATOMIC_RELEASE);
}

void heap_walk_forget(void)
{
	__atomic_fetch_add(&generation, UINT64_C(1) << 48, __ATOMIC_RELAXED);
}

/* ---- rules ---- */

#if __GLIBC_PREREQ(2, 35)
static const uint8_t *find_table(uint64_t pc)
{
	struct dl_find_object found;

	return _dl_find_object((void *)(uintptr_t)pc, &found) ? NULL : found.dlfo_eh_frame;
}
#else
struct search {
	uint64_t pc;
	const uint8_t *table;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;
	const ElfW(Phdr) *table = NULL;
	int has = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		has |= p->p_type == PT_LOAD && s->pc - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
		if (p->p_type == PT_GNU_EH_FRAME)
			table = p;
	}
	if (has && table)
		s->table = (const uint8_t *)(info->dlpi_addr + table->p_vaddr);
	return has;
}

static const uint8_t *find_table(uint64_t pc)
{
	struct search s = {.pc = pc};

	dl_iterate_phdr(search_object, &s);
	return s.table;
}
#endif

static void rule_of(uint64_t pc, struct cfi_rule *ret_rule)
{
	uint64_t key = pc | __atomic_load_n(&generation, __ATOMIC_RELAXED);
	const uint8_t *table;

	if (likely(cache_get(key, ret_rule)))
		return;
	table = find_table(pc);
	if (!table) {
		*ret_rule = (struct cfi_rule){.kind = CFI_FRAME_POINTER};
		return;
	}
	cfi_find(table, pc, ret_rule);
	cache_put(key, ret_rule);
}

/* ---- frames ---- */

struct frame {
	uint64_t regs[CFI_REGS];
};

/* Where the stack of this thread ends, for code that is not trusted to have frame pointers. */
static uint64_t stack_end(void)
{
	static __thread uint64_t end __attribute__((tls_model("initial-exec")));
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (end)
		return end;
	end = 1;
	if (pthread_getattr_np(pthread_self(), &attr))
		return end;
	if (!pthread_attr_getstack(&attr, &low, &size))
		end = (uint64_t)(uintptr_t)low + size;
	pthread_attr_destroy(&attr);
	return end;
}

static uint64_t load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/* Returns 0 at the end of the stack. */
static int step_by_pointer(struct frame *f)
{
	uint64_t at = f->regs[CFI_RBP], sp = f->regs[CFI_RSP], end = stack_end();

	if (at < sp || at % 8 || end < 16 || sp >= end || at > end - 16)
		return 0;
	f->regs[CFI_RSP] = at + 16;
	f->regs[CFI_RBP] = load(at);
	f->regs[CFI_PC] = load(at + 8);
	return 1;
}

/* The registers of what a signal has interrupted are in a ucontext at the stack pointer. */
static int step_signal(struct frame *f)
{
	enum { R12 = 72, R13 = 80, R14 = 88, R15 = 96, RBP = 120, RBX = 128, RSP = 160, RIP = 168 };
	const uint64_t at = f->regs[CFI_RSP];

	f->regs[CFI_RBX] = load(at + RBX);
	f->regs[CFI_RBP] = load(at + RBP);
	f->regs[CFI_R12] = load(at + R12);
	f->regs[CFI_R13] = load(at + R13);
	f->regs[CFI_R14] = load(at + R14);
	f->regs[CFI_R15] = load(at + R15);
	f->regs[CFI_RSP] = load(at + RSP);
	f->regs[CFI_PC] = load(at + RIP);
	return 1;
}

static int step(struct frame *f, const struct cfi_rule *rule)
{
	const uint64_t sp = f->regs[CFI_RSP];
	uint64_t cfa;

	if (unlikely(rule->kind == CFI_FRAME_POINTER))
		return step_by_pointer(f);
	if (unlikely(rule->kind == CFI_SIGNAL))
		return step_signal(f);
	if (unlikely(rule->kind == CFI_END))
		return 0;
	cfa = f->regs[rule->base] + (uint64_t)(int64_t)rule->offset;
	if (rule->kind == CFI_DEREFERENCE) {
		if (cfa < sp || cfa % 8)
			return 0;
		cfa = load(cfa);
	}
	if (cfa <= sp || cfa % 8)
		return 0;
	for (int i = 0; i < CFI_SAVED; i++)
		if (rule->saved[i] != CFI_UNCHANGED)
			f->regs[i] = load(cfa + (uint64_t)((int64_t)rule->saved[i] * 8));
	f->regs[CFI_PC] = load(cfa + (uint64_t)((int64_t)rule->saved[CFI_PC_SAVED] * 8));
	f->regs[CFI_RSP] = cfa;
	return 1;
}

#define CAPTURE(f)                                                                                 \
	__asm__ volatile("leaq 1f(%%rip), %%rax\n1:\n"                                             \
			 "movq %%rbx, 0(%0)\nmovq %%rbp, 8(%0)\nmovq %%r12, 16(%0)\n"              \
			 "movq %%r13, 24(%0)\nmovq %%r14, 32(%0)\nmovq %%r15, 40(%0)\n"            \
			 "movq %%rsp, 48(%0)\nmovq %%rax, 56(%0)\n"                                \
			 :                                                                         \
			 : "r"((f)->regs)                                                          \
			 : "rax", "memory")

__attribute__((noinline)) size_t heap_walk(uint64_t *frames, size_t max)
{
	struct cfi_rule rule;
	struct frame f;
	int is_call = 0; /* the address is after a call instruction */
	size_t n = 0;

	CAPTURE(&f);
	while (n < max) {
		rule_of(f.regs[CFI_PC] - (uint64_t)is_call, &rule);
		is_call = rule.kind != CFI_SIGNAL;
		if (!step(&f, &rule) || !f.regs[CFI_PC])
			break;
		if (n || !heap_is_own(f.regs[CFI_PC]))
			frames[n++] = f.regs[CFI_PC];
	}
	return n;
}

#else

/* By frame pointers, which code for arm64 has by default. */
size_t heap_walk(uint64_t *frames, size_t max)
{
	const uint64_t *frame = __builtin_frame_address(0);
	size_t n = 0;

	while (n < max && frame && !((uintptr_t)frame % 8) && frame[1]) {
		const uint64_t *next = (const uint64_t *)(uintptr_t)frame[0];

		if (n || !heap_is_own(frame[1]))
			frames[n++] = frame[1];
		if (next <= frame || next - frame > 1 << 17)
			break;
		frame = next;
	}
	return n;
}

void heap_walk_forget(void)
{
}

#endif
