/* SPDX-License-Identifier: MIT */
/*
 * The program, in words:
 *
 *	task = bpf_get_current_task()
 *	for each condition: read a number of the task; if it does not fit, return 0
 *	return 1
 *
 * Sources: include/uapi/linux/bpf.h, Documentation/bpf/standardization/instruction-set.rst.
 */
#include "perf/bpf_filter.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/base.h"
#include "btf/btf.h"
#include "perf/kernel.h"

/*
 * Helpers that read the kernel are for programs under a licence that is compatible with the GPL,
 * which the kernel identifies by this name.
 */
static const char licence[] = "Dual MIT/GPL";

enum { CONTEXT = BPF_REG_6, TASK = BPF_REG_7, VALUE = BPF_REG_8 };

struct program {
	VEC(struct bpf_insn) code;
	VEC(size_t) drops; /* jumps to the end that returns 0 */
	bool failed;       /* out of memory */
};

static void bpf_filter_add(
	struct program *p, uint8_t code, uint8_t to, uint8_t from, int16_t off, int32_t imm)
{
	const struct bpf_insn insn = {
		.code = code, .dst_reg = to & 0xf, .src_reg = from & 0xf, .off = off, .imm = imm};

	p->failed |= vec_push(&p->code, insn) < 0;
}

static void move(struct program *p, uint8_t to, uint8_t from, int32_t plus)
{
	bpf_filter_add(p, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
	if (plus)
		bpf_filter_add(p, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, plus);
}

static void bpf_filter_set(struct program *p, uint8_t to, int32_t value)
{
	bpf_filter_add(p, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

/* Drops the sample if "VALUE is_so number", unsigned. */
static void drop_if(struct program *p, uint8_t reg, uint8_t is_so, uint32_t number)
{
	p->failed |= vec_push(&p->drops, p->code.n) < 0;
	bpf_filter_add(p, BPF_JMP | is_so | BPF_K, reg, 0, 0, (int32_t)number);
}

/*
 * VALUE = the number in these bytes at from + offset; the sample is dropped if it is unreadable.
 */
static void read_kernel(struct program *p, uint8_t from, uint32_t offset, int bytes)
{
	move(p, BPF_REG_1, BPF_REG_10, -8);
	bpf_filter_set(p, BPF_REG_2, bytes);
	move(p, BPF_REG_3, from, (int32_t)offset);
	bpf_filter_add(p, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel);
	drop_if(p, BPF_REG_0, BPF_JNE, 0);
	bpf_filter_add(
		p, BPF_LDX | BPF_MEM | (bytes == 8 ? BPF_DW : BPF_W), VALUE, BPF_REG_10, -8, 0);
}

/* Drops the sample unless VALUE is one of the sorted numbers. */
static void keep_list(struct program *p, const parse_ints *list)
{
	VEC(size_t) found = {0};

	for (size_t i = 0, to; i < list->n; i = to + 1) {
		for (to = i; to + 1 < list->n && list->at[to + 1] == list->at[to] + 1;)
			to++;
		bpf_filter_add(p, BPF_JMP | BPF_JLT | BPF_K, VALUE, 0, 1, list->at[i]);
		p->failed |= vec_push(&found, p->code.n) < 0;
		bpf_filter_add(p, BPF_JMP | BPF_JLE | BPF_K, VALUE, 0, 0, list->at[to]);
	}
	p->failed |= vec_push(&p->drops, p->code.n) < 0;
	bpf_filter_add(p, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	if (!p->failed)
		vec_each (&found, at)
			p->code.at[*at].off = (int16_t)(p->code.n - *at - 1);
	vec_done(&found);
}

/* ---- conditions ---- */

static int keep_irqs(struct program *p, int disabled)
{
#if defined(__x86_64__)
	const int16_t flags = offsetof(struct user_regs_struct, eflags);
	const int32_t bit = 1 << 9, set_if_disabled = 0;
#elif defined(__aarch64__)
	const int16_t flags = offsetof(struct user_regs_struct, pstate);
	const int32_t bit = 1 << 7, set_if_disabled = 1;
#else
	return attar_fail(-EOPNOTSUPP, "--irqs_disabled: unknown on this architecture");
#endif
	bpf_filter_add(p, BPF_LDX | BPF_MEM | BPF_DW, VALUE, CONTEXT, flags, 0);
	bpf_filter_add(p, BPF_ALU64 | BPF_AND | BPF_K, VALUE, 0, 0, bit);
	drop_if(p, VALUE, disabled == set_if_disabled ? BPF_JEQ : BPF_JNE, 0);
	return 0;
}

/*
 * The flags TIF_NEED_RESCHED and, since Linux 6.13 on x86, TIF_NEED_RESCHED_LAZY, from
 * arch/ARCH/include/asm/thread_info.h and, since Linux 6.18 on x86,
 * include/asm-generic/thread_info_tif.h. 0: unknown.
 */
int32_t bpf_filter_resched_flags(int version)
{
#if defined(__x86_64__)
	int32_t flags = version < KERNEL_VERSION_OF(6, 18) ? 1 << 3 : 1 << 4;

	return version < KERNEL_VERSION_OF(6, 13) ? flags : flags | flags << 1;
#elif defined(__aarch64__)
	return 1 << 1;
#else
	return 0;
#endif
}

/* task->thread_info.flags */
static int keep_need_resched(struct program *p, const struct btf *btf, int wanted)
{
	int32_t wanted_flags = bpf_filter_resched_flags(kernel_get()->version);
	uint32_t info, flags;
	int r;

	if (!wanted_flags)
		return attar_fail(-EOPNOTSUPP, "--tif_need_resched: unknown on this architecture");
	r = btf_offset(btf, "task_struct", "thread_info", &info);
	if (r == 0)
		r = btf_offset(btf, "thread_info", "flags", &flags);
	if (r < 0)
		return r;
	read_kernel(p, TASK, info + flags, 8);
	bpf_filter_add(p, BPF_ALU64 | BPF_AND | BPF_K, VALUE, 0, 0, wanted_flags);
	drop_if(p, VALUE, wanted ? BPF_JEQ : BPF_JNE, 0);
	return 0;
}

static int keep_of_task(
	struct program *p, const struct btf *btf, const char *member, const parse_ints *list)
{
	uint32_t at;
	int r = list->n ? btf_offset(btf, "task_struct", member, &at) : 0;

	if (r < 0 || !list->n)
		return r;
	read_kernel(p, TASK, at, 4);
	keep_list(p, list);
	return 0;
}

/* task->se.cfs_rq->rq->nr_running */
static int keep_running(struct program *p, const struct btf *btf, uint32_t min, uint32_t max)
{
	uint32_t se, cfs_rq, rq, running;
	int r = btf_offset(btf, "task_struct", "se", &se);

	if (r == 0)
		r = btf_offset(btf, "sched_entity", "cfs_rq", &cfs_rq);
	if (r == 0)
		r = btf_offset(btf, "cfs_rq", "rq", &rq);
	if (r == 0)
		r = btf_offset(btf, "rq", "nr_running", &running);
	if (r < 0)
		return r;
	read_kernel(p, TASK, se + cfs_rq, 8);
	read_kernel(p, VALUE, rq, 8);
	read_kernel(p, VALUE, running, 4);
	drop_if(p, VALUE, BPF_JLT, min);
	if (max < UINT32_MAX)
		drop_if(p, VALUE, BPF_JGT, max);
	return 0;
}

static int keep_task(struct program *p, const struct bpf_filter *filter)
{
	bool needs_running = filter->running_min || filter->running_max < UINT32_MAX;
	struct btf btf = {0};
	int r;

	if (!filter->prios.n && !filter->policies.n && !needs_running && filter->need_resched < 0)
		return 0;
	r = btf_read(&btf);
	bpf_filter_add(p, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_task);
	move(p, TASK, BPF_REG_0, 0);
	if (r == 0)
		r = keep_of_task(p, &btf, "prio", &filter->prios);
	if (r == 0)
		r = keep_of_task(p, &btf, "policy", &filter->policies);
	if (r == 0 && filter->need_resched >= 0)
		r = keep_need_resched(p, &btf, filter->need_resched);
	if (r == 0 && needs_running)
		r = keep_running(p, &btf, filter->running_min, filter->running_max);
	btf_done(&btf);
	return r == -ENOENT ? -EOPNOTSUPP : r;
}

/* ---- the whole ---- */

static void bpf_filter_end(struct program *p)
{
	bpf_filter_set(p, BPF_REG_0, 1);
	bpf_filter_add(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	if (!p->failed)
		vec_each (&p->drops, at)
			p->code.at[*at].off = (int16_t)(p->code.n - *at - 1);
	bpf_filter_set(p, BPF_REG_0, 0);
	bpf_filter_add(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int load(const struct program *p, int *ret_fd)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insn_cnt = (uint32_t)p->code.n,
		.insns = (uintptr_t)p->code.at,
		.license = (uintptr_t)licence,
		.prog_name = "attar_filter",
	};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	if (errno == EPERM || errno == EACCES)
		return attar_fail(-EPERM, "not permitted to load a BPF program" ATTAR_FIX
					  "run as root, or with CAP_BPF and CAP_PERFMON");
	return attar_fail(errno == ENOSYS || errno == EINVAL ? -EOPNOTSUPP : -errno,
		"the kernel refuses a BPF program: %s" ATTAR_FIX "use Linux 5.5 or newer",
		strerror(errno));
}

int bpf_filter_load(const struct bpf_filter *filter, int *ret_fd)
{
	struct program p = {0};
	int r = 0;

	move(&p, CONTEXT, BPF_REG_1, 0);
	if (filter->irqs_disabled >= 0)
		r = keep_irqs(&p, filter->irqs_disabled);
	if (r == 0)
		r = keep_task(&p, filter);
	bpf_filter_end(&p);
	if (r == 0)
		r = p.failed ? base_oom() : load(&p, ret_fd);
	vec_done(&p.code);
	vec_done(&p.drops);
	return r;
}
