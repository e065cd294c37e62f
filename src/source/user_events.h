/* SPDX-License-Identifier: MIT */
/*
 * Events that programs emit: user_events:NAME. If the kernel has the tracepoint, it is an ordinary
 * event; in addition, an shm_source looks for the name in the shared memory of programs. An event
 * that is discovered there, or registered with the kernel later, becomes a new source of the owner,
 * with its own fields.
 */
#ifndef SOURCE_USER_EVENTS_H
#define SOURCE_USER_EVENTS_H

#include "attar/stream.h"
#include "base/intern.h"
#include "base/parse.h"
#include "base/vec.h"
#include "event/catalog.h"
#include "expr/filter.h"

/* What the owner does with a discovered event. spec is valid until user_events_close(). */
struct user_events_ops {
	/*
	 * Adds a source for an event in shared memory. asked: the source that requested it. keep:
	 * its filter or NULL, taken over. Returns the number of the source, or a negative errno.
	 */
	int (*add)(void *ctx, uint32_t asked, const struct attar_event_spec *spec,
		struct filter *keep);
	/* Opens a tracepoint that was registered since the start. Returns 0 or a negative errno. */
	int (*open)(void *ctx, uint32_t asked, const struct attar_event_spec *spec);
};

struct user_request {
	uint32_t source;                     /* of the owner */
	const struct attar_event_spec *spec; /* borrowed; user_event is a pattern */
	bool refused;                        /* an event that matches was skipped */
	bool accepted;                       /* another matching event was accepted */
};

struct user_events {
	VEC(struct user_request) requests;
	/* of user_events_open() */
	const struct user_events_ops *ops;
	void *ctx;
	struct attar_catalog *catalog; /* borrowed */
	parse_ints processes;          /* the watched ones; none: all */
	const char *program;           /* that is launched; NULL: none */
	bool only_program;             /* nothing else is watched */
	/* of filters that are expressions, borrowed; NULL: without functions */
	const struct attar_expr_opts *expr;

	struct attar_shm_source *shm;         /* NULL: none */
	VEC(struct attar_event_spec *) specs; /* of discovered events */
	struct intern names;                  /* of these */
	struct intern noted;                  /* transports that have been logged */
	/* user_events is supported, but a requested event is not registered yet */
	bool registration_pending;
};

/* -EOPNOTSUPP for a user event that the kernel does not have: only a stream delivers those. */
int user_events_refuse(const struct attar_event_spec *spec);

/* Adds a request for the event of a source, unless the event needs no search. 0 or -ENOMEM. */
int user_events_request(
	struct user_events *user, uint32_t source, const struct attar_event_spec *spec);

/* A source with a lower number has been removed: renumbers the requests. */
void user_events_renumber(struct user_events *user, uint32_t removed);

/* The watched tasks; none: all. Lists are borrowed for the call. */
struct user_tasks {
	const int *pids, *tids;
	size_t n_pids, n_tids;
};

/*
 * Begins to look for events in shared memory, with the members program, only_program and catalog as
 * set by the owner. ops are called from the functions of the stream.
 */
int user_events_open(struct user_events *user, const struct user_tasks *tasks,
	const struct user_events_ops *ops, void *ctx);
/* The sources of discovered events must have been removed. */
void user_events_close(struct user_events *user);
void user_events_done(struct user_events *user);

/* Logs the transport of an event, once. */
void user_events_note(struct user_events *user, const char *name, enum attar_transport transport);

/* Logs which requested events no program has registered yet. */
void user_events_started(struct user_events *user);

/* Opens events that were registered with the kernel since the last call. 0 or -ENOMEM. */
int user_events_look(struct user_events *user);

/* Logs a note if the program never emitted a requested event: its name may be wrong. */
void user_events_ended(const struct user_events *user);

/*
 * -EINVAL if a requested event was never received because its filter fits none of the events that
 * programs registered by this name.
 */
int user_events_accepted(const struct user_events *user);

/* Variables for the environment of the program, terminated by NULL; at most 2. */
void user_events_environment(const struct user_events *user, const char *environment[3]);

/* Adds the processes of pids and tids to processes. 0 or -ENOMEM. */
int user_events_processes(const struct user_tasks *tasks, parse_ints *processes);

#endif
