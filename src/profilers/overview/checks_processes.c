/* SPDX-License-Identifier: MIT */
/* Findings about what processes use more and more of, and about limits that they reach. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "overview/findings.h"

enum {
	MEMORY_RATE = 2,         /* MB/s */
	MEMORY_LEAST = 16000000, /* bytes */
	DESCRIPTOR_RATE = 10,    /* a second */
	DESCRIPTORS_LEAST = 50,  /* more than before */
	DESCRIPTORS_USED = 90,   /* percent of the limit */
	PROCESS_FINDINGS = 2,
	ZOMBIES = 50,       /* of a parent */
	THREADS_LEAST = 64, /* of a process */
	THREADS_OF_CPU = 8, /* that are not idle, on average */
};

/* What grows: a member of struct usage. */
struct growing {
	size_t member;
	uint64_t least;
};

static uint64_t value_of(const struct growing *growing, const struct usage *usage)
{
	return *(const uint64_t *)((const char *)usage + growing->member);
}

static const struct usages *first_reading(const struct overview_sums *sums)
{
	const struct usage_readings *usage = &sums->overview->usage;

	return sums->scope == ATTAR_SCOPE_WHOLE || !usage->last.time ? &usage->began : &usage->last;
}

/*
 * By how much it has grown, in all of the time: not only at the start of a program, or for one
 * request, but before a moment in the middle and after it. 0: it has not.
 */
static uint64_t growth_of(
	const struct overview_sums *sums, const struct growing *growing, const struct usage *now)
{
	const struct usage_readings *usage = &sums->overview->usage;
	const struct usages *first = first_reading(sums),
			    *between = usage_between(usage, first->time, usage->now.time);
	const struct usage *from = usages_same(first, now),
			   *middle = between ? usages_same(between, now) : NULL;
	uint64_t all, before;
	double part;

	if (!from || !middle || value_of(growing, now) <= value_of(growing, from) ||
		value_of(growing, middle) <= value_of(growing, from))
		return 0;
	all = value_of(growing, now) - value_of(growing, from);
	before = value_of(growing, middle) - value_of(growing, from);
	part = (double)(between->time - first->time) / (double)(usage->now.time - first->time);
	if (all < growing->least || (double)before < part / 2 * (double)all ||
		(double)all - (double)before < (1 - part) / 2 * (double)all)
		return 0;
	return all;
}

/* The process that grows most. */
static const struct usage *most_growing(
	const struct overview_sums *sums, const struct growing *growing, uint64_t *ret_growth)
{
	const struct usages *now = &sums->overview->usage.now;
	const struct usage *most = NULL;

	*ret_growth = 0;
	for (size_t i = 0; i < now->n; i++) {
		uint64_t growth =
			now->at[i].is_selected ? growth_of(sums, growing, &now->at[i]) : 0;

		if (growth <= *ret_growth)
			continue;
		*ret_growth = growth;
		most = &now->at[i];
	}
	return most;
}

static void check_memory(struct overview_findings *findings)
{
	const struct growing memory = {offsetof(struct usage, memory), MEMORY_LEAST};
	struct overview_finding *finding;
	uint64_t growth;
	const struct usage *most = most_growing(findings->sums, &memory, &growth);

	if (!most)
		return;
	finding = overview_add_finding(findings, "memory grows",
		(double)growth / 1e6 / overview_seconds(findings->sums), MEMORY_RATE, "MB/s");
	if (!finding)
		return;
	overview_say(finding, "%s (pid %d) has %.0f MB more than at the start, and %.0f MB in all",
		most->comm, (int)most->pid, (double)growth / 1e6, (double)most->memory / 1e6);
	overview_set_process_command(findings, finding, "page-faults -g", most->pid);
}

/* Its limit; 0: unknown, or none. */
static uint64_t descriptor_limit(const struct usage *usage)
{
	struct rlimit limit;

	return prlimit(usage->pid, RLIMIT_NOFILE, NULL, &limit) == 0 &&
			       limit.rlim_cur != RLIM_INFINITY
		       ? limit.rlim_cur
		       : 0;
}

static void check_descriptors_left(struct overview_findings *findings)
{
	const struct usages *now = &findings->sums->overview->usage.now;
	size_t found = 0;

	for (size_t i = 0; i < now->n && found < PROCESS_FINDINGS; i++) {
		const struct usage *usage = &now->at[i];
		uint64_t limit = usage->descriptors >= DESCRIPTORS_LEAST && usage->is_selected
					 ? descriptor_limit(usage)
					 : 0;
		struct overview_finding *finding =
			limit ? overview_add_finding(findings, "descriptors",
					overview_percent(usage->descriptors, limit),
					DESCRIPTORS_USED, "%")
			      : NULL;

		if (!finding)
			continue;
		found++;
		finding->is_stuck = usage->descriptors >= limit;
		overview_say(finding,
			"%s (pid %d) has %llu open files and sockets, of %llu that it may have",
			usage->comm, (int)usage->pid, (unsigned long long)usage->descriptors,
			(unsigned long long)limit);
		overview_set_process_command(findings, finding, "syscalls", usage->pid);
	}
}

static void check_descriptors(struct overview_findings *findings)
{
	const struct growing descriptors = {offsetof(struct usage, descriptors), DESCRIPTORS_LEAST};
	struct overview_finding *finding;
	uint64_t growth, limit;
	const struct usage *most = most_growing(findings->sums, &descriptors, &growth);

	if (!most)
		return;
	finding = overview_add_finding(findings, "descriptors grow",
		(double)growth / overview_seconds(findings->sums), DESCRIPTOR_RATE, "/s");
	if (!finding)
		return;
	overview_say(finding,
		"%s (pid %d) opened %llu files and sockets that it did not close, and "
		"has %llu",
		most->comm, (int)most->pid, (unsigned long long)growth,
		(unsigned long long)most->descriptors);
	limit = descriptor_limit(most);
	if (limit)
		overview_say(finding, " of %llu that it may have", (unsigned long long)limit);
	overview_set_process_command(findings, finding, "opensnoop", most->pid);
}

/* The parent of most processes that have exited, and were not waited for. NULL: unknown. */
static const struct usage *parent_of_zombies(const struct usages *usages, uint64_t *ret_n)
{
	uint64_t *children = calloc(usages->n + 1, sizeof(*children));
	const struct usage *most = NULL;

	*ret_n = 0;
	for (size_t i = 0; children && i < usages->n; i++) {
		const struct usage *parent =
			usages->at[i].state == 'Z' ? usages_of(usages, usages->at[i].parent) : NULL;
		uint64_t n = parent && parent->is_selected ? ++children[parent - usages->at] : 0;

		if (n <= *ret_n)
			continue;
		*ret_n = n;
		most = parent;
	}
	free(children);
	return most;
}

/* They use a number each, of which there are few. */
static void check_zombies(struct overview_findings *findings)
{
	uint64_t n;
	const struct usage *parent = parent_of_zombies(&findings->sums->overview->usage.now, &n);
	struct overview_finding *finding =
		parent ? overview_add_finding(findings, "zombies", (double)n, ZOMBIES, "") : NULL;

	if (!finding)
		return;
	overview_say(finding,
		"%llu children of %s (pid %d) have exited, and it has not waited for them (wait4)",
		(unsigned long long)n, parent->comm, (int)parent->pid);
	overview_set_process_command(findings, finding, "stack", parent->pid);
}

/* Threads that run, or wait for a CPU or for each other, on average. */
static double busy_threads(const struct overview_sums *sums, const struct overview_process *process)
{
	uint64_t busy = process->parts[PART_READY] + process->parts[PART_LOCK];

	for (int part = 0; part <= PART_UNDIVIDED; part++)
		busy += process->parts[part];
	return (double)busy / (double)sums->elapsed;
}

/* More threads than the CPUs can run make nothing faster. */
static void check_threads(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	double limit = (double)THREADS_OF_CPU * (double)sysconf(_SC_NPROCESSORS_ONLN);
	const struct overview_process *most = NULL;
	struct overview_finding *finding;
	uint64_t threads = 0;

	for (size_t i = 0; i < sums->n_processes; i++)
		if (sums->processes[i].processes <= 1 &&
			(!most ||
				busy_threads(sums, &sums->processes[i]) > busy_threads(sums, most)))
			most = &sums->processes[i];
	for (size_t i = 0; most && i < sums->overview->usage.now.n; i++)
		if (sums->overview->usage.now.at[i].pid == most->pid)
			threads = sums->overview->usage.now.at[i].threads;
	if (!most || (threads > most->threads ? threads : most->threads) < THREADS_LEAST)
		return;
	finding = overview_add_finding(
		findings, "many threads", busy_threads(sums, most), limit, "threads");
	if (!finding)
		return;
	overview_say(finding,
		"%s (pid %d) has %llu threads, of which %.0f run, or wait for a CPU or a lock, on "
		"average: more than the CPUs can run",
		most->comm, (int)most->pid,
		(unsigned long long)(threads > most->threads ? threads : most->threads),
		busy_threads(sums, most));
	if (attar_run_is_live(sums->run))
		overview_set_process_command(findings, finding, "wall", most->pid);
}

void overview_check_processes(struct overview_findings *findings)
{
	check_threads(findings);
	if (!attar_run_is_live(findings->sums->run))
		return;
	check_memory(findings);
	check_descriptors(findings);
	check_descriptors_left(findings);
	check_zombies(findings);
}
