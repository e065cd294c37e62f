/* SPDX-License-Identifier: MIT */
/* How the checks add findings. Each check adds findings of one kind; findings.c sorts them. */
#ifndef PROFILERS_OVERVIEW_FINDINGS_H
#define PROFILERS_OVERVIEW_FINDINGS_H

#include "overview/overview.h"

struct overview_findings {
	const struct overview_sums *sums;
	struct overview_finding *at;
	size_t n;
	struct overview_service *services; /* of the whole system; owned */
	size_t n_services;
};

/* A command that shows more details, and what it needs of a recording. */
struct overview_next {
	const char *command;
	const char *events; /* "system:name", or page-faults, separated by commas; NULL: samples */
	bool stacks;        /* of context switches: without them it is of no use */
	bool all_tasks;     /* the switches of all tasks */
};

static inline double overview_seconds(const struct overview_sums *sums)
{
	return (double)sums->elapsed / 1e9;
}

static inline double overview_percent(uint64_t value, uint64_t all)
{
	return all ? 100 * (double)value / (double)all : 0;
}

/* The finding, if value reaches limit; otherwise NULL. unit: "%", "ms", "/s" and so on. */
struct overview_finding *overview_add_finding(struct overview_findings *findings, const char *name,
	double value, double limit, const char *unit);

/*
 * The same for a number of events, in the time of the report. Fewer events than the limit has in a
 * second are none, in a shorter time either.
 */
struct overview_finding *overview_add_rate(
	struct overview_findings *findings, const char *name, uint64_t n, double limit);

/* A number of events that is a finding by itself. */
struct overview_rate {
	const char *name, *what; /* what: after the number */
	double limit;            /* a second */
	uint64_t least;
	bool is_of_system; /* the next command, too */
	struct overview_next next;
};

/* The finding with its evidence and command; NULL: there is none. */
struct overview_finding *overview_check_rate(
	struct overview_findings *findings, uint64_t n, const struct overview_rate *rate);

/* Adds to the evidence. */
void overview_say(struct overview_finding *finding, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* Adds to the evidence who uses the CPUs, without one process and those that are watched. */
void overview_say_users(
	const struct overview_sums *sums, struct overview_finding *finding, pid_t except);

/* Adds to the evidence if a time of the process differs from what is never lost. */
void overview_say_counts(const struct overview_sums *sums, struct overview_finding *finding,
	enum overview_part part, const struct overview_process *process);

/* Whether processes that ran before attar (-p) use more of the CPUs than all others. */
bool overview_is_own_load(const struct overview_sums *sums);

/*
 * Whether the selected process that waits most for a CPU needs nothing else: it runs, or waits for
 * a CPU, for 90 % of its active time without sleep.
 */
bool overview_starving(const struct overview_sums *sums);

/* Adds what is known of the code that a process runs, which may be NULL. */
void overview_say_code(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process);

/* Whether a process runs an interpreter, and `attar stack` can show its functions now. */
bool overview_is_interpreted(
	const struct overview_sums *sums, const struct overview_process *process);

/* Whether callers are missing in the stacks of the code of a process. */
bool overview_lacks_callers(
	const struct overview_sums *sums, const struct overview_process *process);

/* ---- the command to run next ---- */

/* The target of the run, with which a command shows the same. */
const char *overview_target(const struct overview_sums *sums);

/* The target is the user's; of the whole system, it is the process, which may be NULL. */
void overview_set_command(struct overview_findings *findings, struct overview_finding *finding,
	const struct overview_process *process, const struct overview_next *next);

/* Of the whole system, while the command runs if there is one; or of the recording. */
void overview_set_system_command(struct overview_findings *findings,
	struct overview_finding *finding, const struct overview_next *next);

/* Whether a command with -p PID can be run now: a process of a live run that has not ended. */
bool overview_can_ask(const struct overview_sums *sums, pid_t pid);

/* Of a live run: the command with -p PID, or of the target if the process has ended or is 0. */
void overview_set_process_command(struct overview_findings *findings,
	struct overview_finding *finding, const char *command, pid_t pid);

/* ---- checks ---- */

void overview_check_system(struct overview_findings *findings);
void overview_check_processes(struct overview_findings *findings);
void overview_check_peers(struct overview_findings *findings);
void overview_check_groups(struct overview_findings *findings);
void overview_check_network(struct overview_findings *findings);
void overview_check_rates(struct overview_findings *findings);
void overview_check_errors(struct overview_findings *findings);

#endif
