/* SPDX-License-Identifier: MIT */
/*
 * Internals of struct attar_run. Each sub-struct is defined in the header of the file that owns it;
 * other files call functions of that header, or read what it documents.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "attar/builtin.h"
#include "run/clock.h"
#include "run/lines.h"
#include "run/notes.h"
#include "run/options.h"
#include "run/part.h"
#include "run/parts/task_select.h"
#include "source/source.h"

/* The command that the run launches. */
struct run_command {
	char *const *argv; /* borrowed; NULL: none */
	uint64_t rounds;   /* how many times to run it; 0: once */
	uint64_t round;    /* number of the current one, from 0 */
	int status;        /* see attar_run_command_status() */
	VEC(const char *) environment; /* of run_add_environment(), in texts */
};

enum run_phase {
	RUN_NEW,
	RUN_STARTED,
	RUN_ENDED, /* or starting it failed */
};

/* What is not here is the state of a part: hosts_of(), stop_of() and so on. */
struct attar_run {
	unsigned process; /* that created it, see base/check_arg.h */
	const struct attar_profiler *profiler;
	const struct run_directory *directory;
	void *self; /* the profiler's state */
	struct attar_run_hooks hooks;
	enum run_phase phase;
	struct run_parts parts;
	struct common_opts opts; /* values of the common options */
	struct intern texts;     /* names */
	struct run_command command;

	/* What is observed: see open.c. */
	struct attar_catalog *catalog; /* NULL until first used */
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_stream *stream; /* NULL: nothing is sampled */
	struct run_replay *replay;   /* of --input and --pull; NULL: live */
	struct run_select select;
	struct source_set sources;

	/* The loop and its results. */
	struct run_clock clock;
	struct run_lines lines;
	struct run_notes notes;
};

/* The number of delivered samples with which --count has enough. */
static inline uint64_t run_count_end(const struct attar_run *run)
{
	return run->opts.count ? run->opts.count + run->notes.passed_over : UINT64_MAX;
}

/* A function that returns the state of a part: in its file, or in its header if it is SHARED. */
#define PART_STATE(function, type, id)                                                             \
	static inline type *function(const struct attar_run *run)                                  \
	{                                                                                          \
		return run->parts.state[id];                                                       \
	}
#define SHARED_STATE(function, type, id) PART_STATE(function, type, PART_SHARED_##id)

SHARED_STATE(options_of, struct options, OPTIONS)

/* Whether the run is to end because of --count, --duration or the size of the file. */
static inline bool run_has_enough(const struct attar_run *run)
{
	return run->clock.has_enough || run->notes.delivered >= run_count_end(run);
}

/* Whether the target is the whole system: no process, thread, cgroup or command was given. */
bool run_watches_system(const struct attar_run *run);

/* The location of a kernel address in its events, which can be the events of another host. */
attar_location run_kernel_location(const struct attar_run *run, uint64_t address);

/* Shows what exec= printed after its last end of line. 0 or a negative errno. */
int actions_end(struct attar_run *run);

/* Creates the target from the options; own_processes: only the processes of this user. */
int run_open_target(struct attar_run *run, bool own_processes);

/*
 * After attar_run_select_tasks(), if the options select some: a target of these tasks, on the CPUs
 * of --cpus. Owned by the caller.
 */
int run_selected_target(struct attar_run *run, struct attar_target **ret_target);

#endif
