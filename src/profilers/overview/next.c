/* SPDX-License-Identifier: MIT */
/* The command after `next:` of a finding. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "overview/findings.h"

const char *overview_target(const struct overview_sums *sums)
{
	const char *words = run_target_words(sums->run);

	return words && strlen(words) < COMMAND_BYTES / 2 ? words : " -- COMMAND";
}

/* Whether the process is a child of a process of -p, and would not be watched with it. */
static bool is_child(const char *target, int32_t pid)
{
	const char *at = strstr(target, " -p ");

	for (at = at ? at + strlen(" -p ") : ""; *at >= '0' && *at <= '9'; at += *at == ',') {
		char *end;

		if (strtol(at, &end, 10) == pid || *end == '-')
			return false;
		at = end;
	}
	return strstr(target, " -p ");
}

/* Whether a process that still runs can be the target, in place of the user's or within it. */
static bool can_select(const struct overview_sums *sums, const struct overview_process *process)
{
	const char *target = overview_target(sums);

	if (!process || process->pid <= 0 || !attar_run_is_live(sums->run) ||
		strstr(target, " -- ") || strstr(target, " --cgroups ") || strstr(target, " -t "))
		return false;
	return (!sums->overview->has_selection || is_child(target, process->pid)) &&
	       kill(process->pid, 0) == 0;
}

static bool has_event(const struct overview_sums *sums, const char *event, size_t n)
{
	const struct attar_format *format;
	char system[64], name[64];
	size_t colon = strcspn(event, ":");

	if (colon >= n) /* only one such event is needed */
		return sums->overview->has_faults;
	snprintf(system, sizeof(system), "%.*s", (int)colon, event);
	snprintf(name, sizeof(name), "%.*s", (int)(n - colon - 1), event + colon + 1);
	if (attar_catalog_format(attar_run_catalog(sums->run), system, name, &format) == 0)
		return true;
	attar_error_clear();
	return false;
}

static bool can_read(const struct overview_sums *sums, const struct overview_next *next)
{
	const struct thread_times *times = &sums->overview->times;

	if ((next->stacks && !thread_times_has_stacks(sums->run, times->source)) ||
		(next->all_tasks && !times->has_all_switches))
		return false;
	for (const char *event = next->events; *event; event += *event == ',') {
		size_t n = strcspn(event, ",");

		if (!has_event(sums, event, n))
			return false;
		event += n;
	}
	return true;
}

/* The command reads the same recording, or one that has to be made. */
static void set_recorded_command(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_next *next)
{
	bool has_stacks = thread_times_has_stacks(sums->run, sums->overview->sampler);

	if (finding->needs_samples) {
		snprintf(finding->command, COMMAND_BYTES, "attar record -a -g -d 10s -F 9999");
		snprintf(finding->then, THEN_BYTES, "attar profile -g --input perf.data");
	} else if (!next->events) { /* of samples; samples of user code are not excluded later */
		snprintf(finding->command, COMMAND_BYTES, "attar profile%s%s",
			has_stacks ? " -g" : "", overview_target(sums));
	} else if (can_read(sums, next)) {
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s", next->command,
			overview_target(sums));
	} else {
		snprintf(finding->command, COMMAND_BYTES, "attar record -a -g -d 10s -e %s",
			next->events);
		snprintf(finding->then, THEN_BYTES, "attar %s --input perf.data", next->command);
	}
}

void overview_set_command(struct overview_findings *findings, struct overview_finding *finding,
	const struct overview_process *process, const struct overview_next *next)
{
	const struct overview_sums *sums = findings->sums;
	const char *target = overview_target(sums);

	if (!attar_run_is_live(sums->run))
		set_recorded_command(sums, finding, next);
	else if (can_select(sums, process))
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s -p %d", next->command,
			sums->overview->has_selection ? "" : target, (int)process->pid);
	else
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s", next->command, target);
}

void overview_set_system_command(struct overview_findings *findings,
	struct overview_finding *finding, const struct overview_next *next)
{
	const char *target = overview_target(findings->sums);
	const char *words = strstr(target, " -- ");

	if (!attar_run_is_live(findings->sums->run))
		set_recorded_command(findings->sums, finding, next);
	else
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s%s", next->command,
			words ? " -a" : "", words ? words : "");
}

bool overview_can_ask(const struct overview_sums *sums, pid_t pid)
{
	return attar_run_is_live(sums->run) && pid > 0 && !strstr(overview_target(sums), " -- ") &&
	       kill(pid, 0) == 0;
}

void overview_set_process_command(struct overview_findings *findings,
	struct overview_finding *finding, const char *command, pid_t pid)
{
	const char *target = overview_target(findings->sums);

	if (overview_can_ask(findings->sums, pid))
		snprintf(finding->command, COMMAND_BYTES, "attar %s -p %d", command, (int)pid);
	else
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s", command, target);
}
