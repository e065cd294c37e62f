/* SPDX-License-Identifier: MIT */
#include "doctor/verdicts.h"

#include <stdio.h>

#include "base/escape.h"
#include "base/proc.h"

enum {
	SWITCHES_MIN = 5, /* of a task, from which on it is judged */
	TASKS_SHOWN = 8,
	COMM_BYTES = 16,
};

/* ---- CPUs ---- */

static void add_cpu(struct buf *list, int cpu)
{
	buf_printf(list, "%sCPU %d", list->len ? ", " : "", cpu);
}

static void add_cpus(struct finding *f, const char *what, struct buf *cpus, const char *remedy)
{
	if (!cpus->len)
		return;
	f->state = ATTAR_CHECK_DEGRADED;
	buf_printf(&f->detail, "%s%s: %s", f->detail.len ? "; " : "", what, buf_text(cpus));
	if (!f->remedy.len)
		buf_str(&f->remedy, remedy);
}

void verdict_of_cpus(struct finding *f, const struct verdict_cpu *cpus, size_t n)
{
	struct buf lossy _cleanup_(buf_done) = {0}, blind _cleanup_(buf_done) = {0},
			 busy _cleanup_(buf_done) = {0};

	for (const struct verdict_cpu *it = cpus; it < cpus + n; it++) {
		if (it->is_missing)
			add_cpu(&lossy, it->cpu);
		if (it->is_blind)
			add_cpu(&blind, it->cpu);
		if (!it->is_missing && !it->is_checked)
			add_cpu(&busy, it->cpu);
	}
	add_cpus(f, "the kernel does not count switches from the idle task", &blind,
		"reboot and check again; until then profilers of scheduling lack these switches");
	add_cpus(f, "the kernel counts events on idle CPUs but does not deliver them", &lossy,
		"use 'attar stat', which counts all events; profilers and recordings of attar find "
		"all switches");
	add_cpus(f, "not checked, because busy", &busy,
		"run 'attar doctor' again while these CPUs are less busy");
	if (!f->detail.len)
		buf_str(&f->detail, "all events counted by the kernel were delivered");
}

/* ---- tasks ---- */

/* One sleep may be cut by the beginning or the end. */
static bool lacks(uint64_t expected, uint64_t arrived)
{
	return expected > 2 && arrived + 2 < expected && arrived * 10 < expected * 9;
}

static void add_part(struct finding *f, const char *separator)
{
	f->state = ATTAR_CHECK_DEGRADED;
	if (f->detail.len)
		buf_str(&f->detail, separator);
}

static void add_sleeps(struct finding *f, const struct verdict_tasks *tasks)
{
	for (const struct verdict_slept *it = tasks->slept; it < tasks->slept + tasks->n_slept;
		it++) {
		if (!lacks(it->sleeps, it->out) && !lacks(it->sleeps, it->in) &&
			!lacks(it->sleeps, it->woken))
			continue;
		add_part(f, "; ");
		buf_printf(&f->detail,
			"of %llu sleeps on CPU %d, %llu wakeups, %llu switches to the task and "
			"%llu "
			"from it were delivered",
			(unsigned long long)it->sleeps, it->cpu, (unsigned long long)it->woken,
			(unsigned long long)it->in, (unsigned long long)it->out);
	}
}

static void add_name(struct finding *f, pid_t tid)
{
	struct buf comm _cleanup_(buf_done) = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	if (proc_read_line(path, &comm) < 0 || !comm.len)
		buf_str(&f->detail, "a task that has exited");
	else
		escape_text(&f->detail, comm.data, MIN(comm.len - 1, (size_t)COMM_BYTES));
	buf_printf(&f->detail, " (%d)", (int)tid);
}

/*
 * The idle tasks, 0, are the tasks of the sleeps. Records have -1 for tasks that have exited: their
 * samples have the right number.
 */
static void add_tasks(struct finding *f, const struct verdict_tasks *tasks)
{
	size_t n = 0;

	for (const struct verdict_leaver *it = tasks->leavers;
		it < tasks->leavers + tasks->n_leavers; it++) {
		const uint64_t left = MAX(it->by_out, it->by_in);

		if (it->tid <= 0 || left < SWITCHES_MIN || it->samples * 2 > left)
			continue;
		if (n++ >= TASKS_SHOWN)
			continue;
		add_part(f, n > 1 ? ", " : "; ");
		if (n == 1)
			buf_str(&f->detail, "switches from tasks that were not delivered: ");
		buf_printf(&f->detail, "%llu of %llu from ",
			(unsigned long long)(left - it->samples), (unsigned long long)left);
		add_name(f, it->tid);
	}
	if (n > TASKS_SHOWN)
		buf_printf(&f->detail, " and %zu more tasks", n - TASKS_SHOWN);
}

void verdict_of_tasks(struct finding *f, const struct verdict_tasks *tasks)
{
	if (tasks->lost) {
		f->state = ATTAR_CHECK_DEGRADED;
		buf_str(&f->detail, "not checked, because the kernel lost events");
		buf_str(&f->remedy, "run 'attar doctor' again while the system is less busy");
		return;
	}
	add_sleeps(f, tasks);
	add_tasks(f, tasks);
	if (f->detail.len)
		buf_str(&f->remedy,
			"profilers of the scheduler find the switches in other records; what they "
			"lack is in 'times that differ from the kernel's counts'");
	else
		buf_printf(
			&f->detail, "all switches of %zu tasks were delivered", tasks->n_leavers);
}
