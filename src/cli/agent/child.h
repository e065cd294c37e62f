/* SPDX-License-Identifier: MIT */
/*
 * A profiler of the agent: a separate process, which is started again when it ends, after a time
 * that doubles with each failure. Its lines on stderr are logged with the name of its section. The
 * last one may be the reason why it ends: it waits for up to two seconds, to be logged with that.
 */
#ifndef CLI_AGENT_CHILD_H
#define CLI_AGENT_CHILD_H

#include "base/buf.h"
#include "base/vec.h"
#include "cli/agent/config.h"

enum agent_state {
	AGENT_WAITS, /* to be started at `due` */
	AGENT_RUNS,
	AGENT_PAUSED, /* stopped, because of a limit */
};

struct agent_child {
	char name[AGENT_NAME_MAX + 1];
	char *run;    /* the command line as configured */
	char **words; /* of `copy`; end with NULL */
	char *copy;
	char *metrics; /* the file that it writes its metrics to */
	enum agent_state state;
	pid_t pid;                      /* 0: no process */
	int log;                        /* reading end of its stderr; -1: none */
	bool ending;                    /* was asked to end: its exit is not a failure */
	bool removed;                   /* freed once it has ended */
	uint64_t due, backoff, started; /* ns, of base_now() */
	unsigned checks;                /* of the limits, since it was started */
	uint64_t kill_at;   /* when it is killed if it has not ended; 0: not asked to end */
	struct buf line;    /* of stderr, not complete yet */
	struct buf message; /* the last one, with lines that explain it */
	uint64_t heard;     /* ns: when it was read */
	bool is_logged;     /* the message */

	uint64_t freq;   /* as configured, of -F; 0: none, it cannot be lowered */
	unsigned halved; /* how often the frequency was halved */

	uint64_t starts, failures;
	uint64_t cpu_ended_ns;     /* of its processes that have ended */
	uint64_t cpu_ns;           /* of all its processes, when last measured */
	uint64_t passed_ns;        /* cpu_ns that a successor has already */
	uint64_t checked_ns;       /* cpu_ns at the last check of the limits */
	uint64_t used_ns;          /* in the time between the last two checks */
	uint64_t checked_failures; /* at the last check */
	uint64_t rss;              /* bytes, when last measured */
	uint64_t steps[4];         /* by enum agent_step */
};

/* The steps by which the agent keeps within its limits. */
enum agent_step { AGENT_LOWER, AGENT_PAUSE, AGENT_RAISE, AGENT_RESUME };

/* Makes a child of a section; directory: where its metrics are written. 0 or -ENOMEM. */
int agent_child_new(
	const struct agent_section *section, const char *directory, struct agent_child **ret_child);

/* Continues the counters of a child of the same name, which was configured differently. */
void agent_child_succeed(struct agent_child *child, struct agent_child *former);

/* Adds the CPU time that the former one has used since. */
void agent_child_add_rest(struct agent_child *child, const struct agent_child *former);

/* Frees a child without a process. */
void agent_child_free(struct agent_child *child);

/* The frequency that it is started with; 0: it has none. */
uint64_t agent_child_freq(const struct agent_child *child);

/* Starts the process; if that fails, it is tried again later. */
void agent_child_start(struct agent_child *child);

/* Asks the process to end (SIGTERM). It is killed if it has not ended after 10 s. */
void agent_child_stop(struct agent_child *child);

/* Kills the process if it was asked to end more than 10 s ago. */
void agent_child_hurry(struct agent_child *child);

/* Logs what the process has written to stderr. */
void agent_child_read_log(struct agent_child *child);

/* The process has ended with this status of waitpid(2) and CPU time. */
void agent_child_ended(struct agent_child *child, int status, uint64_t cpu_ns);

/* Measures CPU time and memory of the process. */
void agent_child_measure(struct agent_child *child);

#endif
