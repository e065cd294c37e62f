/* SPDX-License-Identifier: MIT */
/*
 * Walks the user stack of a sample with the call frame information that attar has compiled, and
 * writes its addresses. A stack that cannot be walked is copied, with the registers, for attar.
 * It does what unwind/unwind.c does.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stacks_shared.h"

#define KERNEL_STRUCT __attribute__((preserve_access_index))

enum { SAMPLE_HAS_TIME = 1 << 2, KERNEL_THREAD = 0x00200000, CODE_64 = 0x33 };

enum { RECENTS = 1 << 12 };

/* Most bytes between the frame of a signal handler and the code that it interrupted. */
enum { SIGNAL_FRAME_MAX = 128 << 10 };

struct mm_struct {
	unsigned long exec_vm, start_stack;
} KERNEL_STRUCT;

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	__u64 start_boottime;
} KERNEL_STRUCT;

struct pt_regs___kernel {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, ip, cs, sp;
} KERNEL_STRUCT;

struct perf_sample_data {
	__u64 sample_flags, time;
} KERNEL_STRUCT;

/* What the context of the program is in the kernel. */
struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
} KERNEL_STRUCT;

struct walk {
	struct stacks_record record;
	struct stacks_mapping mapping; /* of the last address */
	uint64_t registers[STACKS_REGISTERS];
	__u64 saved[STACKS_REGISTERS]; /* by the kernel, for a signal handler */
	__u64 serial, start_sp;        /* start_sp: of the stack */
	__u32 first, n;                /* mappings of the process */
	__u32 known;                   /* mask of registers */
	__u32 n_fp;                    /* callers by frame pointers */
	bool is_exact;                 /* the pc is not a return address */
};

/* The rule of code that stacks have gone through. */
struct recent {
	__u64 address, serial; /* serial: of the process */
	struct stacks_rule rule;
};

struct recents {
	struct recent at[RECENTS];
};

const volatile __u32 own_pid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stacks_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACKS_PROCESSES);
	__type(key, __u32);
	__type(value, struct stacks_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, STACKS_MAPPINGS);
	__type(key, __u32);
	__type(value, struct stacks_mapping);
} mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, STACKS_RULES);
	__type(key, __u32);
	__type(value, struct stacks_rule);
} rules SEC(".maps");

struct table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct stacks_range));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, STACKS_TABLES);
	__type(key, __u32);
	__array(values, struct table);
} tables SEC(".maps");

/* One for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct recents);
} recents SEC(".maps");

/* By number of a table: 1 if the program has used it since attar has reset this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, STACKS_TABLES);
	__type(key, __u32);
	__type(value, __u64);
} used SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* ---- where code is ---- */

/* All ones if a > b; without a jump, of which the verifier would follow both ways each time. */
static __always_inline __u64 is_above(__u64 a, __u64 b)
{
	__u64 mask = (__u64)((__s64)(b - a) >> 63);

	asm volatile("" : "+r"(mask));
	return mask;
}

/* Finds the mapping of an address, which attar may be changing. */
static __always_inline bool find_mapping(struct walk *w, __u64 address)
{
	const volatile struct stacks_mapping *m;
	__u32 n = w->n, low = w->first, key;

	for (int i = 0; i < 17 && n > 1; i++) { /* of `low` or after it */
		__u32 half = n / 2;

		key = low + half;
		m = bpf_map_lookup_elem(&mappings, &key);
		if (!m)
			return false;
		low += half & ~is_above(m->start, address);
		n -= half;
	}
	key = low;
	m = bpf_map_lookup_elem(&mappings, &key);
	if (!m || !n || m->serial != w->serial)
		return false;
	w->mapping.start = m->start;
	w->mapping.size = m->size;
	w->mapping.offset = m->offset;
	w->mapping.table = m->table;
	w->mapping.ranges = m->ranges;
	barrier();
	return m->serial == w->serial && address - w->mapping.start < w->mapping.size;
}

/* The rule for an address in the mapping; NULL: its table is gone. */
static __always_inline const struct stacks_rule *find_rule(const struct walk *w, __u64 address)
{
	__u64 offset = address - w->mapping.start + w->mapping.offset;
	__u32 number = w->mapping.table, n = w->mapping.ranges, low = 0, key;
	void *table = bpf_map_lookup_elem(&tables, &number);
	const struct stacks_range *range;
	__u64 *mark = bpf_map_lookup_elem(&used, &number);

	if (!table || !mark)
		return 0;
	if (!*mark)
		*mark = 1;
	for (int i = 0; i < 27 && n > 1; i++) { /* it starts at `low` or after it */
		__u32 half = n / 2;

		key = low + half;
		range = bpf_map_lookup_elem(table, &key);
		if (!range)
			return 0;
		low += half & ~is_above(range->start, offset);
		n -= half;
	}
	key = low;
	range = bpf_map_lookup_elem(table, &key);
	if (!range)
		return 0;
	key = range->rule;
	return bpf_map_lookup_elem(&rules, &key);
}

/* ---- one frame ---- */

static __always_inline bool read_word(__u64 address, __u64 *ret_value)
{
	return bpf_probe_read_user(ret_value, 8, (void *)address) == 0;
}

static __always_inline int end_walk(struct walk *w, enum stacks_end end)
{
	w->record.end = end;
	return 1;
}

static __always_inline int step_fp(struct walk *w)
{
	__u64 fp = w->registers[STACKS_FP], next, pc;

	if (!(w->known >> STACKS_FP & 1) || fp % 8 || fp < w->registers[STACKS_SP] ||
		!read_word(fp, &next) || !read_word(fp + 8, &pc))
		return end_walk(w, STACKS_LOST);
	if (!pc)
		return end_walk(w, STACKS_COMPLETE);
	w->registers[STACKS_FP] = next;
	w->registers[STACKS_SP] = fp + 16;
	w->known = 1 << STACKS_FP | 1 << STACKS_SP;
	w->n_fp++;
	w->registers[STACKS_PC] = pc;
	w->is_exact = false;
	return 0;
}

/* The registers of the code that a signal interrupted (uc_mcontext of ucontext_t). */
static __always_inline int step_signal(struct walk *w)
{
	__u64 sp = w->registers[STACKS_SP];
	uint64_t *r = w->registers;
	const __u64 *saved = w->saved;

	if (bpf_probe_read_user(w->saved, sizeof(w->saved), (void *)(sp + 40)))
		return end_walk(w, STACKS_LOST);
	r[8] = saved[0], r[9] = saved[1], r[10] = saved[2], r[11] = saved[3];
	r[12] = saved[4], r[13] = saved[5], r[14] = saved[6], r[15] = saved[7];
	r[5] = saved[8], r[4] = saved[9], r[6] = saved[10], r[3] = saved[11];
	r[1] = saved[12], r[0] = saved[13], r[2] = saved[14], r[7] = saved[15];
	r[16] = saved[16];
	w->known = (1 << STACKS_PC) - 1;
	w->is_exact = true;
	if (r[STACKS_SP] - sp > SIGNAL_FRAME_MAX) /* the handler had a stack of its own */
		w->start_sp = r[STACKS_SP];
	return 0;
}

static __always_inline int step_cfi(struct walk *w, const struct stacks_rule *rule)
{
	__u64 sp = w->registers[STACKS_SP], fp = w->registers[STACKS_FP], address, cfa, pc;
	__u32 from = rule->how_cfa == STACKS_CFA_PLT ? STACKS_SP : rule->cfa_register & 15;
	bool has_fp = w->known >> STACKS_FP & 1, was_exact = w->is_exact;

	if (!(w->known >> from & 1))
		return end_walk(w, STACKS_NO_RULE);
	cfa = w->registers[from] + (__s64)rule->cfa;
	if (rule->how_cfa == STACKS_CFA_AT && !read_word(cfa, &cfa))
		return end_walk(w, STACKS_LOST);
	if (rule->how_cfa == STACKS_CFA_PLT) {
		if ((w->registers[STACKS_PC] & 15) >= (__u32)rule->ra)
			cfa += 8;
		address = cfa - 8;
	} else {
		address = cfa + (__s64)rule->ra;
	}
	if (!read_word(address, &pc))
		return end_walk(w, STACKS_LOST);
	if (rule->how_fp == STACKS_FP_AT_CFA) {
		address = cfa + (__s64)rule->fp;
		/* compilers do not declare that an epilogue has restored a register */
		if (address >= w->start_sp)
			has_fp = read_word(address, &fp);
	} else if (rule->how_fp == STACKS_FP_AT_FP) {
		has_fp = has_fp && read_word(fp + (__s64)rule->fp, &fp);
	} else if (rule->how_fp == STACKS_FP_UNKNOWN) {
		has_fp = false;
	}
	if (!pc)
		return end_walk(w, STACKS_COMPLETE);
	/* a caller is above, but for a leaf function */
	if (cfa <= sp && !was_exact)
		return end_walk(w, STACKS_LOST);
	w->registers[STACKS_SP] = cfa;
	w->registers[STACKS_FP] = fp;
	w->known = 1 << STACKS_SP | has_fp << STACKS_FP;
	w->registers[STACKS_PC] = pc;
	w->is_exact = false;
	return 0;
}

/* The rule for an address, which is kept, or else why there is none. */
static __always_inline const struct stacks_rule *look_up(
	struct walk *w, struct recent *recent, __u64 address, enum stacks_end *ret_end)
{
	const struct stacks_rule *rule;
	__u32 zero = 0;

	*ret_end = STACKS_NO_MAPPING;
	if (address - w->mapping.start >= w->mapping.size && !find_mapping(w, address))
		return 0;
	*ret_end = STACKS_NO_TABLE;
	if (w->mapping.table == STACKS_UNREAD)
		return 0;
	if (w->mapping.ranges)
		rule = find_rule(w, address);
	else
		rule = bpf_map_lookup_elem(&rules, &zero);
	if (!rule)
		return 0;
	recent->address = address;
	recent->serial = w->serial;
	recent->rule = *rule;
	return &recent->rule;
}

/* Writes the address of a frame, and goes to its caller. */
static int step(__u32 number, void *ctx)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id(), n;
	struct recents *all = bpf_map_lookup_elem(&recents, &cpu);
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);
	const struct stacks_rule *rule;
	enum stacks_end end;
	__u64 pc, address;
	struct recent *recent;

	if (!w || !all)
		return 1;
	pc = w->registers[STACKS_PC];
	address = pc - !w->is_exact;
	recent = &all->at[((address + w->serial) * 0x9e3779b97f4a7c15ULL >> 32) & (RECENTS - 1)];
	if (recent->address == address && recent->serial == w->serial) {
		rule = &recent->rule;
	} else {
		rule = look_up(w, recent, address, &end);
		if (!rule)
			return end_walk(w, end);
	}
	n = w->record.n;
	if (n >= STACKS_FRAMES)
		return end_walk(w, STACKS_LIMIT);
	if (rule->how_cfa == STACKS_CFA_OTHER)
		return end_walk(w, STACKS_NO_RULE);
	/* a handler returns to code of a signal frame, but that did not call it */
	if (n && (w->is_exact || rule->how_cfa == STACKS_CFA_SIGNAL))
		pc++;
	w->record.addresses[n & (STACKS_FRAMES - 1)] = pc;
	w->record.n = n + 1;
	if (rule->how_cfa == STACKS_CFA_FP)
		return step_fp(w);
	if (rule->how_cfa == STACKS_CFA_END)
		return end_walk(w, STACKS_COMPLETE);
	if (rule->how_cfa == STACKS_CFA_SIGNAL)
		return step_signal(w);
	return step_cfi(w, rule);
}

/* ---- a sample ---- */

static __always_inline void set_registers(uint64_t *r, const struct pt_regs___kernel *regs)
{
	r[0] = regs->ax;
	r[1] = regs->dx;
	r[2] = regs->cx;
	r[3] = regs->bx;
	r[4] = regs->si;
	r[5] = regs->di;
	r[6] = regs->bp;
	r[7] = regs->sp;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	r[16] = regs->ip;
}

/* Changes with the program of a process, and with the size of its code. */
static __always_inline __u64 stamp_of(const struct task_struct *task)
{
	const __u64 mix = 0x9e3779b97f4a7c15ULL;
	__u64 stamp = (__u64)BPF_CORE_READ(task, mm); /* a number, unlike task->mm */

	stamp = stamp * mix + task->group_leader->start_boottime;
	stamp = stamp * mix + task->mm->start_stack;
	return stamp * mix + task->mm->exec_vm;
}

static __always_inline void copy_stack(
	struct stacks_record *record, const struct pt_regs___kernel *regs)
{
	__u64 from = regs->sp & -(__u64)STACKS_CHUNK;
	__u32 i = 0;

	set_registers(record->registers, regs);
	for (; i < STACKS_COPY / STACKS_CHUNK; i++)
		if (bpf_probe_read_user(record->stack + i * STACKS_CHUNK, STACKS_CHUNK,
			    (void *)(from + i * STACKS_CHUNK)))
			break;
	record->n = i;
}

static __always_inline void walk_stack(struct walk *w, const struct pt_regs___kernel *regs)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	const struct stacks_process *process = bpf_map_lookup_elem(&processes, &pid);

	w->record.n = 0;
	w->n_fp = 0;
	/* only 16 bits are the selector */
	if ((regs->cs & 0xffff) != CODE_64) {
		w->record.end = STACKS_32BIT;
		w->record.addresses[0] = regs->ip;
		w->record.n = 1;
		return;
	}
	w->record.end = STACKS_NO_PROCESS;
	if (!process || process->stamp != w->record.stamp)
		return;
	w->serial = process->serial;
	w->first = process->first;
	w->n = process->n;
	w->mapping.size = 0;
	w->is_exact = true;
	w->known = (1 << STACKS_PC) - 1;
	set_registers(w->registers, regs);
	w->start_sp = w->registers[STACKS_SP];
	w->record.end = STACKS_LIMIT;
	bpf_loop(STACKS_FRAMES + 1, step, 0, 0);
}

static __always_inline void write_record(struct stacks_record *record, struct stacks_counts *c)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 size = record->n;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!ring) {
		c->lost++;
		return;
	}
	if (record->end >= STACKS_COPIES) {
		/* half of the ring is for addresses, which are much smaller */
		if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
			bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2) {
			c->lost++;
			return;
		}
		if (size > STACKS_COPY / STACKS_CHUNK)
			return;
		size *= STACKS_CHUNK;
		asm volatile("" : "+r"(size)); /* the verifier knows no limit of an OR */
		size += __builtin_offsetof(struct stacks_record, stack);
	} else {
		if (size > STACKS_FRAMES)
			return;
		size = __builtin_offsetof(struct stacks_record, addresses) + size * 8;
	}
	if (bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP))
		c->lost++;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_data_kern *event = (void *)ctx;
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct stacks_counts *c = bpf_map_lookup_elem(&counts, &cpu);
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);
	__u64 id = bpf_get_current_pid_tgid(), end;
	const struct pt_regs___kernel *regs;

	if (!w || !c || id >> 32 == own_pid || task->flags & KERNEL_THREAD || !task->mm)
		return 1;
	if (!(BPF_CORE_READ(event, data, sample_flags) & SAMPLE_HAS_TIME))
		return 1;
	regs = (void *)bpf_task_pt_regs((void *)task);
	w->record.time = BPF_CORE_READ(event, data, time);
	w->record.tid = id;
	w->record.stamp = stamp_of(task);
	walk_stack(w, regs);
	end = w->record.end;
	if (end < STACKS_ENDS)
		c->walks[end]++;
	if (end >= STACKS_COPIES) {
		copy_stack(&w->record, regs);
	} else {
		c->callers += w->record.n - 1; /* n: at least 1 */
		c->fp_callers += w->n_fp;
	}
	write_record(&w->record, c);
	return 1;
}

char licence[] SEC("license") = "Dual MIT/GPL";
