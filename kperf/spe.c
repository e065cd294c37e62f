/* SPDX-License-Identifier: MIT */
/* Tasks of SPE_SAMPLING: the PMU, its attributes, and rings with AUX areas. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "spe.h"

enum {
	RING = 64 << 10, /* bytes; it has a record for each piece of an area */
	AREA = 1 << 20,
	WATERMARK = AREA / 4,
	LONGEST_PERIOD = 4096, /* of PMUs that do not state their shortest period */
};

/* The CPUs that have the PMU, unless the caller chose some. */
static void set_cpus(const struct attar_pmu *pmu, struct PmuAttr *attr)
{
	if (attr->numCpu > 0 || attr->perThread)
		return;
	attr->cpuList = (int *)pmu->cpus;
	attr->numCpu = (unsigned)pmu->n_cpus;
}

/* The bits of dataFilter are the bits of the PMU's attr.config. */
static int set_event(
	struct kp_origin *origin, const struct attar_pmu *pmu, struct kp_spe_task *task)
{
	struct PmuAttr *attr = &task->attr;
	int64_t shortest;
	char *text;

	if (asprintf(&text, "%s/config=0x%lx,config1=0x%x,config2=0x%lx/", pmu->name,
		    (unsigned long)attr->dataFilter, attr->evFilter, attr->minLatency) < 0)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	task->events[0] = (char *)kp_origin_text(origin, text);
	free(text);
	if (!task->events[0])
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	attr->evtList = task->events;
	attr->numEvt = 1;
	if (attr->period == 0) {
		if (attar_pmu_cap(pmu, "min_interval", &shortest) < 0 || shortest <= 0)
			shortest = LONGEST_PERIOD;
		attr->period = (unsigned)shortest;
	}
	return SUCCESS;
}

int kp_spe_find(struct kp_origin *origin, const struct PmuAttr *wanted, struct kp_spe_task *ret)
{
	const struct attar_pmu *pmu;

	for (size_t i = 0; (pmu = attar_catalog_pmu(origin->catalog, i)); i++) {
		if (strncmp(pmu->name, "arm_spe", 7) != 0)
			continue;
		ret->attr = *wanted;
		set_cpus(pmu, &ret->attr);
		return set_event(origin, pmu, ret);
	}
	return kp_fail(LIBPERF_ERR_SPE_UNAVAIL,
		"SPE_SAMPLING needs the statistical profiling extension of Arm: there is no "
		"/sys/bus/event_source/devices/arm_spe_0 on this machine");
}

void kp_spe_attr(const struct PmuAttr *attr, struct perf_event_attr *ret)
{
	ret->sample_period = attr->period;
	attar_stream_attr(ret, false);
	ret->aux_watermark = WATERMARK;
}

static void free_spe(void *own)
{
	struct kp_spe *spe = own;

	for (size_t i = 0; i < spe->n_rings && spe->auxes; i++)
		attar_aux_free(spe->auxes[i]);
	attar_rings_free(spe->rings, spe->n_rings);
	kp_spe_forget(spe);
	free(spe->auxes);
	free(spe);
}

static int map(struct kp_task *task, struct kp_spe *spe)
{
	int r = attar_rings_new(
		task->target, &task->counters[0].counter, 1, RING, &spe->rings, &spe->n_rings);

	if (r == 0) {
		spe->auxes = calloc(spe->n_rings, sizeof(struct attar_aux *));
		r = spe->auxes ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < spe->n_rings && r == 0; i++)
		r = attar_aux_new(spe->rings[i], AREA, false, &spe->auxes[i]);
	return r < 0 ? kp_fail_mmap(r) : SUCCESS;
}

int kp_spe_open(struct kp_task *task, const struct PmuAttr *attr)
{
	struct kp_spe *spe = calloc(1, sizeof(*spe));
	char *name = strdup(attr->evtList[0]);

	task->own = spe;
	task->free_own = spe ? free_spe : NULL;
	if (spe && name) {
		name[strcspn(name, "/")] = '\0';
		spe->name = kp_origin_text(task->origin, name);
	}
	free(name);
	if (!spe || !spe->name)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	spe->period = attr->period;
	attar_layout_init(&spe->layout, attar_counter_attr(task->counters[0].counter));
	return map(task, spe);
}

/* What is in the areas is from before the start. */
static int discard(struct kp_task *task, struct kp_spe *spe)
{
	struct kp_list *before = kp_list_new(task->origin);
	int r;

	if (!before)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	pthread_mutex_lock(&task->origin->lock);
	r = kp_spe_rows(task, spe, &(struct kp_spe_clock){0}, before);
	pthread_mutex_unlock(&task->origin->lock);
	kp_list_free(before);
	spe->lost = spe->truncated = spe->collisions = spe->malformed = spe->unknown = 0;
	return r;
}

int kp_spe_enable(struct kp_task *task)
{
	struct kp_spe *spe = task->own;
	int r = spe->enabled ? SUCCESS : discard(task, spe);

	if (r != SUCCESS)
		return r;
	if (attar_counter_enable(task->counters[0].counter) < 0)
		return kp_fail(LIBPERF_ERR_FAILED_PMU_ENABLE, "%s", attar_error());
	spe->enabled = true;
	return SUCCESS;
}

void kp_spe_disabled(struct kp_task *task)
{
	struct kp_spe *spe = task->own;

	spe->enabled = false;
}

static struct kp_spe_clock read_clock(void)
{
	struct kp_spe_clock clock = {0};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock.ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
#ifdef __aarch64__
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(clock.ticks));
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(clock.hz));
#endif
	return clock;
}

static void warn_of_losses(struct kp_spe *spe)
{
	if (spe->lost + spe->truncated + spe->collisions + spe->malformed > 0)
		kp_warn(LIBPERF_WARN_DATA_LOST,
			"samples were lost: %llu areas were full, %llu had collisions, %llu "
			"records were lost and %llu samples were invalid: read more often, or use "
			"a longer period",
			(unsigned long long)spe->truncated, (unsigned long long)spe->collisions,
			(unsigned long long)spe->lost, (unsigned long long)spe->malformed);
	else if (spe->unknown > 0)
		kp_warn(LIBPERF_WARN_CTXID_LOST,
			"%llu sample%s not identify the thread: monitor processes (pidList), or "
			"use a kernel with CONFIG_PID_IN_CONTEXTIDR",
			(unsigned long long)spe->unknown, spe->unknown == 1 ? " does" : "s do");
	spe->lost = spe->truncated = spe->collisions = spe->malformed = spe->unknown = 0;
}

/* The PMU writes the rest of its data when it is stopped; a full area has stopped it already. */
int kp_spe_read(struct kp_task *task, struct kp_list *list)
{
	struct attar_counter *counter = task->counters[0].counter;
	struct kp_spe *spe = task->own;
	struct kp_spe_clock clock;
	int r;

	if (spe->enabled && attar_counter_disable(counter) < 0)
		return kp_fail(LIBPERF_ERR_FAILED_PMU_DISABLE, "%s", attar_error());
	clock = read_clock();
	pthread_mutex_lock(&task->origin->lock);
	r = kp_spe_rows(task, spe, &clock, list);
	pthread_mutex_unlock(&task->origin->lock);
	if (spe->enabled && attar_counter_enable(counter) < 0 && r == SUCCESS)
		return kp_fail(LIBPERF_ERR_FAILED_PMU_ENABLE, "%s", attar_error());
	warn_of_losses(spe);
	if (r == SUCCESS &&
		(task->origin->mode == RESOLVE_ELF || task->origin->mode == RESOLVE_ELF_DWARF) &&
		kp_list_resolve(list) < 0)
		r = kp_fail(COMMON_ERR_NOMEM, "out of memory");
	return r;
}
