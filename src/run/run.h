/* SPDX-License-Identifier: MIT */
/*
 * Internals of struct attar_run. Each sub-struct is defined in the header of the file that owns it;
 * other files call functions of that header, or read what it documents.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "attar/builtin.h"
#include "base/buf.h"
#include "base/intern.h"
#include "run/clock.h"
#include "run/counts/counts.h"
#include "run/counts/creators.h"
#include "run/directory.h"
#include "run/parts/emitters.h"
#include "run/counts/exited.h"
#include "run/input/hosts.h"
#include "run/lines.h"
#include "run/notes.h"
#include "run/source/open.h"
#include "run/part.h"
#include "run/options.h"
#include "run/poll.h"
#include "run/input/pull.h"
#include "run/input/replay.h"
#include "run/source/requests.h"
#include "run/source/sample_filter.h"
#include "run/parts/task_select.h"
#include "source/share.h"
#include "run/source/sources.h"
#include "run/result_files.h"
#include "run/rings.h"
#include "run/stop.h"
#include "run/counts/tasks.h"
#include "run/parts/programs.h"
#include "run/parts/user_stacks.h"

/* The command that the run launches. */
struct run_command {
	char *const *argv; /* borrowed; NULL: none */
	uint64_t rounds;   /* how many times to run it; 0: once */
	uint64_t round;    /* number of the current one, from 0 */
	int status;        /* see attar_run_command_status() */
};

enum run_phase {
	RUN_NEW,
	RUN_STARTED,
	RUN_ENDED, /* or starting it failed */
};

struct attar_run {
	unsigned process; /* that created it, see base/check_arg.h */
	pid_t own_pid;    /* of this process: getpid(2) is a system call */
	const struct attar_profiler *profiler;
	const struct run_directory *directory;
	void *self; /* the profiler's state */
	struct attar_run_hooks hooks;
	enum run_phase phase;
	struct run_parts parts;

	struct options options;
	struct common_opts opts; /* values of the common options */
	struct run_rings rings;  /* chosen when the target is opened */
	struct intern texts;     /* names */
	struct buf printed;      /* by printf() of expressions, see attar_run_printed() */
	struct buf unfinished;   /* the line that exec= is printing: see run/source/actions.c */
	struct run_command command;

	/* What is observed: see open.c. */
	struct attar_catalog *catalog; /* NULL until first used */
	const char **profilers;        /* names for the catalog, ending with NULL */
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_stream *stream; /* NULL: nothing is sampled */
	struct run_replay *replay;   /* of --input and --pull; NULL: live */
	bool records;                /* run_record(): rings are copied instead of delivered */
	bool records_to_file;        /* also to a file, not only to receivers */
	bool has_enough;             /* no further events are to be delivered */
	bool has_database;           /* --input is a database: there are no events */
	struct run_pull pull;
	struct run_hosts hosts;
	struct attar_run *reads_for; /* it reads events of a host for this run; NULL: none */
	struct run_select select;
	struct sample_filter sample_filter;
	struct run_opening opening;
	struct source_set sources;
	struct run_adding adding;
	struct latest_event latest;
	emitters emitters;
	bool expects_queries; /* see run_query() */
	/* attar_run_emits(): it is the run of an emitter, whose events go there; NULL: it is not */
	struct attar_run *emits_to;
	struct run_emitted emitted;

	/* What is counted. */
	struct counts counts;
	struct threads threads;
	struct creator_counts creators;
	struct task_watch tasks;

	/* The loop and its results. */
	struct run_stop stop;
	struct run_requests requests;
	struct run_poll poll;
	struct run_clock clock;
	struct run_lines lines;
	result_files result_files;
	struct place database; /* of run_create_database() */
	struct run_notes notes;
};

/* The number of delivered samples with which --count has enough. */
static inline uint64_t run_count_end(const struct attar_run *run)
{
	return run->opts.count ? run->opts.count + run->notes.passed_over : UINT64_MAX;
}

/* Whether the run is to end because of --count, --duration or the size of the file. */
static inline bool run_has_enough(const struct attar_run *run)
{
	return run->has_enough || run->notes.delivered >= run_count_end(run);
}

/* Whether the target is the whole system: no process, thread, cgroup or command was given. */
bool run_watches_system(const struct attar_run *run);

/* The location of a kernel address in its events, which can be those of another host. */
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
