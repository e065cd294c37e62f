/* SPDX-License-Identifier: MIT */
/*
 * attar fleet: one profiler on several hosts, as one report. For each host, ssh starts `attar fleet
 * --serve` there (fleet_serve.c), which starts the profiler at the agreed time and ends it when its
 * standard input ends. For each address of --pull, this is a process on this machine.
 *
 * The protocol has lines on both pipes of ssh. From this command:
 *
 *	clock			asks for the time
 *	run TIME N		start at TIME (ns since 1970 of the host's clock); N bytes follow,
 *				the words of the command line, each ending with NUL
 *	stop			end as after SIGINT
 *
 * and from the host:
 *
 *	attar-fleet 1 VERSION	ready
 *	attar-missing		attar is not installed; the host waits for the copy, if any
 *	clock TIME		ns since 1970
 *	started TIME		the profiler has been started
 *	{...}			a report in JSON
 *	ended STATUS		the profiler has ended, with a status as of a shell
 */
#ifndef CLI_FLEET_FLEET_H
#define CLI_FLEET_FLEET_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "cli/output/outputs.h"

#define FLEET_SECOND UINT64_C(1000000000)

/* The section with a row for each host. */
#define FLEET_TABLE "hosts"

enum {
	FLEET_PROTOCOL = 1,
	FLEET_HOSTS_MAX = 200,
	FLEET_REPORT_MAX = 64 << 20, /* bytes of a line */
	FLEET_QUEUE_MAX = 16,        /* reports of a host that wait for other hosts */
};

/* What a host is asked to do, the same for all of them. */
struct fleet_order {
	const char *ssh;   /* a command line of the shell */
	const char *attar; /* path on the hosts */
	const char *copy;  /* the file to be copied to hosts without attar; NULL: none */
	int copy_fd;
	uint64_t copy_size; /* bytes */
	struct buf words;   /* the command line of the profiler, each word with its NUL */
	bool has_command;   /* the profiler runs one, whose status it returns */
};

enum fleet_state {
	FLEET_CONNECTS,
	FLEET_COPIES,
	FLEET_READY, /* its clock is known */
	FLEET_RUNS,
	FLEET_ENDED,
	FLEET_FAILED,
	FLEET_TIMED_OUT,
};

struct fleet_host {
	const char *name; /* borrowed */
	bool is_pulled;   /* name is the address that it pushes to */
	const struct fleet_order *order;
	enum fleet_state state;
	char reason[512];
	pid_t pid;        /* of ssh; 0: it has ended */
	int in, out, err; /* pipes; -1: closed */
	struct buf to_host, line, error;
	uint64_t copied;
	unsigned clocks;   /* answers */
	uint64_t asked;    /* ns, when the clock was asked */
	int64_t offset;    /* of the host's clock to this one's, ns */
	uint64_t error_ns; /* the offset is right within this; UINT64_MAX: unknown */
	uint64_t start;    /* agreed, in ns of the host's clock; 0: none */
	int64_t late;      /* ns after it at which the profiler was started */
	bool has_started, stopping;
	bool has_ended; /* the profiler, with: */
	int status;
	uint64_t first_message;             /* ns: when the first message was shown */
	unsigned messages;                  /* shown, and one that says that others are not */
	unsigned noise;                     /* lines that are not part of the protocol, */
	char first_noise[64];               /* of which this is the first */
	VEC(struct attar_report *) reports; /* that wait for other hosts */
	uint64_t waiting_since;             /* ns: the first of them; */
	uint64_t n_reports, skipped, seen, lost;
	uint64_t behind; /* reports that were drawn without it */
};

/* ---- fleet_host.c ---- */

/* Starts ssh, or the process that pulls. A failure is the state of the host. */
void fleet_host_start(
	struct fleet_host *h, const char *name, bool is_pulled, const struct fleet_order *order);

/* True while the host may send something. */
static inline bool fleet_host_is_live(const struct fleet_host *h)
{
	return h->state < FLEET_ENDED;
}

/* Starts the profiler at this time of the local clock, ns since 1970. */
void fleet_host_run(struct fleet_host *h, uint64_t start);

/* Ends the profiler, which then sends its report. */
void fleet_host_stop(struct fleet_host *h);

/* Gives up: ssh is killed, and its host ends the profiler. */
void fleet_host_give_up(struct fleet_host *h, const char *reason);

/* Reads and writes what is ready. */
void fleet_host_read(struct fleet_host *h);
void fleet_host_read_errors(struct fleet_host *h);
void fleet_host_write(struct fleet_host *h);

/* Whether there is something to be written. */
bool fleet_host_has_output(const struct fleet_host *h);

/* Records the end of ssh, once all its output has been read. */
void fleet_host_check(struct fleet_host *h);

/* Ends ssh and frees what the host holds. */
void fleet_host_done(struct fleet_host *h);

/* ---- fleet_report.c ---- */

struct fleet_args {
	const char *host_list;    /* with commas; NULL: none */
	VEC(char *) hosts;        /* of it; owned */
	struct attar_texts pulls; /* addresses */
	bool serve;
};

struct fleet {
	struct fleet_args args;
	struct fleet_order order;
	VEC(struct fleet_host) hosts;
	struct attar_run *run; /* of the same profiler, which is not started: options and outputs */
	struct output_options options;
	struct outputs outputs;
	bool by_host;
	uint64_t timeout; /* ns */
	bool quiet;
	unsigned failures_shown; /* hosts that had failed at the last report */
	int error;               /* of an output */
};

/* Draws the reports that all hosts have; end: those that remain. Returns 0 or a negative errno. */
int fleet_report_turn(struct fleet *f, bool end);

/* ---- fleet_args.c ---- */

/*
 * Checks the options and reads the profiler with its options, which end with NULL. Returns 0 or a
 * negative errno.
 */
int fleet_args_take(struct fleet *f, char **words);

/* ---- fleet_serve.c ---- */

/* The part on a host. Returns the exit status. */
int fleet_serve(void);

#endif
