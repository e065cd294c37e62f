/* SPDX-License-Identifier: MIT */
/* attar agent: the supervisor of profilers, and what its parts share. */
#ifndef CLI_AGENT_AGENT_H
#define CLI_AGENT_AGENT_H

#include "cli/agent/child.h"
#include "cli/agent/config.h"
#include "cli/agent/directory.h"
#include "cli/output/http_server.h"

struct agent {
	const char *path;            /* of the configuration */
	struct agent_config options; /* of the command line: these override the file */
	struct agent_config config;
	VEC(struct agent_child *) children;
	struct http_server *server;       /* NULL: no --listen */
	struct agent_directory directory; /* of the files with metrics of the children */
	int signals;                      /* signalfd */
	bool stopping;
	uint64_t reloads, failed_reloads;
	uint64_t check_due, checked; /* ns: the next check of the limits, and the last one */
	bool settling;               /* a step was taken: the check after it is skipped */
	unsigned calm, calm_needed;  /* checks far below the limit; how many before a raise */
	uint64_t own_ns;             /* CPU time of the agent itself at the last check */
	bool has_cpu;                /* two checks were made */
	double cpu;                  /* share of a CPU between the last two checks */
	double steady;               /* of that, without profilers that began or failed meanwhile */
	uint64_t rss;                /* bytes when last measured, all processes */
	uint64_t watchdog_ns, watchdog_due;
	/* when the metrics are checked, and when they are too old; what they were made from */
	uint64_t metrics_due, metrics_stale, metrics_version;
};

/* ---- agent_limit.c ---- */

/* Measures all children and keeps them within the limits, if that is due. */
void agent_limit_check(struct agent *agent);

/* Measures all children, and the memory of all processes. */
void agent_measure_memory(struct agent *agent);

/* ---- agent_metrics.c ---- */

/* Appends the metrics of the agent and of its children. */
void agent_metrics_write(const struct agent *agent, struct buf *out);

/*
 * Appends the metrics in n texts of Prometheus' format as one: each family once, with the label
 * `section` in all samples. Other lines are left out. 0 or -ENOMEM.
 */
struct agent_metrics_text {
	const char *section;
	char *text; /* is changed */
};
/* ---- agent_privileges.c ---- */

/*
 * Changes to the user, if one is given, and gives up all capabilities but those that profilers need
 * and `more`, a list of names with commas (may be NULL). 0 or a negative errno.
 */
int agent_rights_drop(const char *user, const char *more);

/* Checks both without changing anything. */
int agent_rights_check(const char *user, const char *more);

#endif
