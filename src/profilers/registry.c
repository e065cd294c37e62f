/* SPDX-License-Identifier: MIT */
/* All profilers except presets, one per line, in alphabetical order (a unit test checks it). */
#include "attar/run.h"

#define PROFILERS(X)                                                                               \
	X(annotate)                                                                                \
	X(biolatency)                                                                              \
	X(biosnoop)                                                                                \
	X(bitesize)                                                                                \
	X(blktrace)                                                                                \
	X(bpf_kvm_exit)                                                                            \
	X(breakpoint)                                                                              \
	X(cachestat)                                                                               \
	X(cpu_util)                                                                                \
	X(event_care)                                                                              \
	X(execsnoop)                                                                               \
	X(exitsnoop)                                                                               \
	X(expr)                                                                                    \
	X(hrcount)                                                                                 \
	X(hrtimer)                                                                                 \
	X(hwstat)                                                                                  \
	X(irq_off)                                                                                 \
	X(kmemleak)                                                                                \
	X(kmemprof)                                                                                \
	X(kvm_exit)                                                                                \
	X(kvmmmu)                                                                                  \
	X(ldlat_loads)                                                                             \
	X(ldlat_stores)                                                                            \
	X(llcstat)                                                                                 \
	X(locks)                                                                                   \
	X(misc)                                                                                    \
	X(multi_trace)                                                                             \
	X(nested_trace)                                                                            \
	X(num_dist)                                                                                \
	X(offcpu)                                                                                  \
	X(oncpu)                                                                                   \
	X(overview)                                                                                \
	X(page_faults)                                                                             \
	X(percpu_stat)                                                                             \
	X(profile)                                                                                 \
	X(record)                                                                                  \
	X(runqlen)                                                                                 \
	X(sched_migrate)                                                                           \
	X(snoop)                                                                                   \
	X(split_lock)                                                                              \
	X(sql)                                                                                     \
	X(stat)                                                                                    \
	X(task_state)                                                                              \
	X(tlbstat)                                                                                 \
	X(top)                                                                                     \
	X(trace)                                                                                   \
	X(wall)                                                                                    \
	X(watchdog)

#define DECLARE(name) extern const struct attar_profiler profiler_##name;
#define ADDRESS(name) &profiler_##name,

PROFILERS(DECLARE)

static const struct attar_profiler *const all[] = {PROFILERS(ADDRESS) NULL};

const struct attar_profiler *const *attar_builtin_profilers(void)
{
	return all;
}
