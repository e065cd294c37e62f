/* SPDX-License-Identifier: MIT */
#include "run/record/recorded_groups.h"

#include "base/proc.h"
#include "run/parts/names.h"
#include "run/record/recorder.h"
#include "run/record/renewal.h"
#include "run/run.h"
#include "wait/wait.h"

enum {
	READ_NS = 500000000, /* a process takes about 20 us */
	EXECS_MAX = 1024,    /* in a round */
	/* Others can execute any number of programs: */
	BURST_NS = 20000000,
	SHARE = 50, /* and a fiftieth of the time */
};

struct reading {
	struct attar_run *run;
	struct recording_writer *w;
	uint64_t end; /* ns */
};

static int add_group(struct reading *reading, int pid, uint32_t number)
{
	struct recording_group group;

	names_describe(reading->run, pid, number, &group);
	(void)map_put(&recorder_of(reading->run)->groups.of, (uint64_t)pid, number);
	return recording_writer_add_group(reading->w, &group);
}

static int add_process(void *ctx, int pid)
{
	struct reading *reading = ctx;
	uint32_t group = base_now() > reading->end ? 0 : names_group_of_process(reading->run, pid);

	return group ? add_group(reading, pid, group) : 0;
}

/* The recorded processes, if these are not all. */
static int add_listed(struct reading *reading)
{
	parse_ints tids = {0};
	int r = renewal_list(reading->run, &tids);
	const pid_t command = attar_run_command_pid(reading->run);

	if (r == 0 && command > 0) /* it waits for its exec, in the group of attar */
		r = add_process(reading, command);
	vec_each (&tids, tid) {
		pid_t pid = wait_process_of(*tid);

		if (r == 0 && pid == *tid && pid != command)
			r = add_process(reading, pid);
	}
	vec_done(&tids);
	return r;
}

int recorded_groups_add(struct attar_run *run, struct recording_writer *w)
{
	struct reading reading = {run, w, base_now() + READ_NS};
	bool is_system = attar_run_target_kind(run) != ATTAR_TARGET_TASKS;
	int r = is_system ? names_read_all(run) : 0;

	if (r < 0)
		return r;
	return is_system ? proc_each_process(add_process, &reading) : add_listed(&reading);
}

/* ---- later ---- */

void recorded_groups_follow(struct attar_run *run, const struct perf_event_header *header)
{
	struct recorded_groups *groups = &recorder_of(run)->groups;
	const uint32_t *body = (const uint32_t *)(header + 1); /* pid, ppid, tid, ptid */
	const uint64_t *parent;

	switch (header->type) {
	case PERF_RECORD_FORK:
		parent = body[0] != body[1] ? map_get(&groups->of, body[1]) : NULL;
		if (parent)
			(void)map_put(&groups->of, body[0], *parent);
		break;
	case PERF_RECORD_EXIT:
		if (body[0] == body[2])
			map_remove(&groups->of, body[0]);
		break;
	case PERF_RECORD_COMM: /* pid, tid */
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC && groups->executed.n < EXECS_MAX)
			(void)vec_push(&groups->executed, (int)body[0]);
		break;
	default:
		break;
	}
}

int recorded_groups_turn(struct attar_run *run, struct recording_writer *w)
{
	struct recorded_groups *groups = &recorder_of(run)->groups;
	const uint64_t now = base_now();
	struct reading reading = {run, w, 0};
	int r = 0, added = 0;

	if (!groups->executed.n)
		return 0;
	groups->began = groups->began ?: now;
	reading.end = now + BURST_NS + (now - groups->began) / SHARE;
	reading.end -= MIN(groups->spent, reading.end - now);
	vec_each (&groups->executed, pid) {
		uint32_t group =
			r == 0 && base_now() < reading.end ? names_group_of_process(run, *pid) : 0;
		const uint64_t *known = map_get(&groups->of, (uint64_t)*pid);

		if (!group || (known && *known == group))
			continue;
		r = add_group(&reading, *pid, group);
		added = 1;
	}
	groups->executed.n = 0;
	groups->spent += base_now() - now;
	return r < 0 ? r : added;
}
