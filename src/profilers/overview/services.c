/* SPDX-License-Identifier: MIT */
/*
 * The services of a whole system, each evaluated by itself: shares of all time hide one that is
 * blocked beside others that are busy.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cgroups.h"
#include "overview/overview.h"

enum {
	PROCESSES_MAX = 1024, /* the most active ones; reading the group of one takes 20 us */
	ANCESTORS_MAX = 16,
};

/* The first of its ancestors with the same name, such as the master process of workers. */
static pid_t first_of(const struct attar_run *run, const struct overview_process *process)
{
	const struct attar_thread *thread = attar_run_thread(run, process->pid), *parent = thread;
	pid_t first = process->pid;

	for (int i = 0; i < ANCESTORS_MAX && thread && thread->process; i++) {
		parent = attar_run_thread(run, thread->process->parent);
		if (!parent || strcmp(parent->comm, process->comm) != 0)
			break;
		first = parent->tid;
		thread = parent;
	}
	return first;
}

/* Of a recording, the control groups are unknown; names are added up by themselves. */
static struct overview_service service_for(
	const struct overview_sums *sums, const struct overview_process *process)
{
	struct overview_service service = {.group = 0};

	if (sums->overview->only_comm)
		memcpy(service.unit, process->comm, sizeof(process->comm));
	else if (!attar_run_is_live(sums->run) ||
		 !cgroups_service(process->pid, service.unit, sizeof(service.unit)))
		service.group = first_of(sums->run, process);
	return service;
}

static bool is_same(const struct overview_service *a, const struct overview_service *b)
{
	return a->group == b->group && !strcmp(a->unit, b->unit);
}

static struct overview_service *service_of(
	struct overview_service *services, size_t *n, const struct overview_service *wanted)
{
	for (size_t i = 0; i < *n; i++)
		if (is_same(&services[i], wanted))
			return &services[i];
	services[*n] = *wanted;
	return &services[(*n)++];
}

/* The first one is the most active. */
static void add_process(struct overview_service *service, const struct overview_process *process)
{
	struct overview_process *all = &service->all;

	if (!service->first) {
		service->first = process;
		*all = *process;
		return;
	}
	all->pid = 0;
	all->processes += process->processes;
	all->threads += process->threads;
	all->all += process->all;
	overview_add_counts(&all->counts, &process->counts);
	for (int part = 0; part < PARTS; part++)
		all->parts[part] += process->parts[part];
}

/* Sets in which part it loses the most time, and which share of the time without sleep that is. */
static void set_lost(struct overview_service *service)
{
	static const enum overview_part lost[] = {PART_READY, PART_DISK, PART_LOCK, PART_SPIN};
	const struct overview_process *all = &service->all;
	uint64_t active = all->all - all->parts[PART_SLEEP];

	service->part = lost[0];
	for (size_t i = 1; i < sizeof(lost) / sizeof(*lost); i++)
		if (all->parts[lost[i]] > all->parts[service->part])
			service->part = lost[i];
	service->lost = active ? (double)all->parts[service->part] / (double)active : 0;
}

static int by_lost(const void *a, const void *b)
{
	const struct overview_service *x = a, *y = b;

	return (x->lost < y->lost) - (x->lost > y->lost);
}

/* The time in which a process runs, or waits for something. */
static uint64_t active_of(const struct overview_process *process)
{
	return process->all - process->parts[PART_SLEEP];
}

size_t overview_services(const struct overview_sums *sums, struct overview_service **ret_services)
{
	size_t max = sums->n_processes < PROCESSES_MAX ? sums->n_processes : PROCESSES_MAX, n = 0;
	struct overview_service *services = calloc(max + 1, sizeof(*services));

	for (size_t i = 0; services && i < max && sums->processes[i].all; i++) {
		if (1000 * active_of(&sums->processes[i]) < sums->elapsed)
			continue; /* it changes nothing, and reading its group takes time */
		const struct overview_service wanted = service_for(sums, &sums->processes[i]);

		add_process(service_of(services, &n, &wanted), &sums->processes[i]);
	}
	for (size_t i = 0; i < n; i++)
		set_lost(&services[i]);
	if (n)
		qsort(services, n, sizeof(*services), by_lost);
	*ret_services = services;
	return n;
}

bool overview_is_in_service(const struct overview_sums *sums,
	const struct overview_service *service, const struct overview_process *process)
{
	const struct overview_service its = service_for(sums, process);

	return is_same(service, &its);
}
