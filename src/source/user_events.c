/* SPDX-License-Identifier: MIT */
#include "source/user_events.h"

#include <fnmatch.h>
#include <stdio.h>

#include "attar/private/event.h"
#include "base/buf.h"
#include "base/suggest.h"
#include "event/user_event.h"
#include "stream/procs.h"

enum { NOTES_MAX = 20 };

int user_events_request(
	struct user_events *user, uint32_t source, const struct attar_event_spec *spec)
{
	struct user_request request = {.source = source, .spec = spec};

	if (!spec->user_event || spec->transport == ATTAR_TRANSPORT_USDT)
		return 0;
	return vec_push(&user->requests, request) < 0 ? base_oom() : 0;
}

void user_events_renumber(struct user_events *user, uint32_t removed)
{
	vec_each (&user->requests, request)
		request->source -= request->source > removed;
}

int user_events_refuse(const struct attar_event_spec *spec)
{
	if (spec->kind != ATTAR_EVENT_USER)
		return 0;
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not registered with the kernel" ATTAR_FIX
		"'attar trace' shows it, and 'attar user-events -d 1s' counts it",
		CLIP(spec->name));
}

static struct user_request *find_request(const struct user_events *user, const char *name)
{
	vec_each (&user->requests, request)
		if (!fnmatch(request->spec->user_event, name, 0))
			return request;
	return NULL;
}

/* ---- log notes ---- */

static const char *words_of(enum attar_transport transport)
{
	switch (transport) {
	case ATTAR_TRANSPORT_KERNEL:
		return "the kernel's user_events";
	case ATTAR_TRANSPORT_USDT:
		return "USDT probes";
	default:
		return "shared memory";
	}
}

/* Once per event and transport, and limited: a pattern may match thousands of events. */
static void note_transport(struct user_events *user, const char *name,
	enum attar_transport transport, const char *from)
{
	size_t before = user->noted.n;
	char text[600];

	snprintf(text, sizeof(text), "%s %s", name, transport_name(transport));
	if (!intern_text(&user->noted, text) || user->noted.n == before || before > NOTES_MAX)
		return;
	if (before == NOTES_MAX)
		log_note("more user events were found; their transports are listed only in JSON "
			 "output");
	else
		log_note("%s is received through %s%s", name, words_of(transport), from);
}

/* With the attribute `optional`, a program need not have the event, and nothing is logged. */
static bool is_optional(const struct user_events *user, const char *name)
{
	vec_each (&user->requests, request)
		if (attar_spec_get_option(request->spec, "optional") &&
			!fnmatch(request->spec->user_event, name, 0))
			return true;
	return false;
}

static void note_program(struct user_events *user, const char *name, const char *comm, pid_t pid)
{
	char full[300], from[64];

	if (is_optional(user, name))
		return;

	snprintf(full, sizeof(full), USER_EVENTS ":%s", name);
	snprintf(from, sizeof(from), " (%s%spid %d)", comm, *comm ? ", " : "", pid);
	note_transport(user, full, ATTAR_TRANSPORT_SHM, from);
}

void user_events_note(struct user_events *user, const char *name, enum attar_transport transport)
{
	note_transport(user, name, transport, "");
}

/* ---- discovered events ---- */

/* A copy of the requested event's spec under the name of the discovered one; NULL: no memory. */
static struct attar_event_spec *new_spec(
	struct user_events *user, const struct attar_event_spec *asked, const char *name)
{
	struct attar_event_spec *spec = malloc(sizeof(*spec));
	char full[300];

	if (!spec || vec_push(&user->specs, spec) < 0) {
		free(spec);
		return NULL;
	}
	snprintf(full, sizeof(full), USER_EVENTS ":%s", name);
	*spec = *asked;
	spec->name = asked->alias ? asked->alias : intern_text(&user->names, full);
	return spec->name ? spec : NULL;
}

static void drop_last_spec(struct user_events *user)
{
	free(user->specs.at[--user->specs.n]);
}

static int on_new_event(void *ctx, const struct attar_user_event *event)
{
	struct user_events *user = ctx;
	struct user_request *request = find_request(user, event->name);
	struct attar_event_spec *spec;
	struct filter_choice choice = {0};
	int number;

	spec = request ? new_spec(user, request->spec, event->name) : NULL;
	if (!spec)
		return -1;
	if (spec->filter &&
		filter_choose(spec->filter, event->format, false, user->expr, &choice) < 0) {
		request->refused = true;
		log_note("skipped %s of process %d%s%s%s: %s", spec->name, event->pid,
			*event->comm ? " (" : "", event->comm, *event->comm ? ")" : "",
			attar_error());
		drop_last_spec(user);
		return -1;
	}
	spec->kind = ATTAR_EVENT_USER;
	spec->format = event->format;
	spec->transport = ATTAR_TRANSPORT_SHM;
	number = user->ops->add(user->ctx, request->source, spec, choice.keep);
	if (number < 0) {
		drop_last_spec(user);
		return -1;
	}
	request->accepted = true;
	note_program(user, event->name, event->comm, event->pid);
	return number;
}

/* ---- opening ---- */

int user_events_processes(const struct user_tasks *tasks, parse_ints *processes)
{
	for (size_t i = 0; i < tasks->n_pids; i++)
		if (vec_push(processes, tasks->pids[i]) < 0)
			return base_oom();
	for (size_t i = 0; i < tasks->n_tids; i++) {
		pid_t pid = procs_pid_of(tasks->tids[i]);

		if (pid && vec_push(processes, pid) < 0)
			return base_oom();
	}
	return 0;
}

static int join_patterns(const struct user_events *user, struct buf *b)
{
	vec_each (&user->requests, request)
		buf_printf(b, "%s%s", b->len ? "," : "", request->spec->user_event);
	return buf_failed(b) ? base_oom() : 0;
}

int user_events_open(struct user_events *user, const struct user_tasks *tasks,
	const struct user_events_ops *ops, void *ctx)
{
	struct buf patterns _cleanup_(buf_done) = {0};
	struct attar_shm_source_opts opts = {.size = sizeof(opts),
		.pids = tasks->pids,
		.n_pids = tasks->n_pids,
		.tids = tasks->tids,
		.n_tids = tasks->n_tids,
		.only_started = user->only_program,
		.on_new_event = on_new_event,
		.ctx = user};
	int r = join_patterns(user, &patterns);

	user->ops = ops;
	user->ctx = ctx;
	vec_done(&user->processes);
	if (r == 0)
		r = user_events_processes(tasks, &user->processes);
	if (r < 0)
		return r;
	opts.patterns = buf_text(&patterns);
	return attar_shm_source_new(&opts, &user->shm);
}

void user_events_close(struct user_events *user)
{
	user->shm = attar_shm_source_free(user->shm);
	vec_each (&user->specs, spec)
		free(*spec);
	vec_done(&user->specs);
}

void user_events_done(struct user_events *user)
{
	user_events_close(user);
	vec_done(&user->requests);
	vec_done(&user->processes);
	intern_done(&user->names);
	intern_done(&user->noted);
}

/*
 * If the kernel has user_events but the event is not registered yet, the command is also asked to
 * use rings: a listener that attaches after registration would miss its first events.
 */
void user_events_environment(const struct user_events *user, const char *environment[3])
{
	size_t n = 0;

	if (user->shm && user->only_program) {
		environment[n++] = attar_shm_source_variable(user->shm);
		vec_each (&user->requests, request)
			if (request->spec->kind == ATTAR_EVENT_USER) {
				environment[n++] = "PERFUME_RING=1";
				break;
			}
	}
	environment[n] = NULL;
}

/* ---- waiting ---- */

struct look {
	struct user_events *user;
	struct suggest near;
	char best[256];
	size_t registered;
	const char *pattern;
	bool found;
};

static int look_at(void *ctx, const struct perfume_registered *event)
{
	struct look *look = ctx;
	const char *before = look->near.best, *name = event->source->name;

	look->registered++;
	if (!fnmatch(look->pattern, name, 0)) {
		look->found = true;
		note_program(look->user, name, event->source->comm, event->source->pid);
		return 0;
	}
	suggest_offer(&look->near, name);
	if (look->near.best != before)
		look->near.best = snprintf(look->best, sizeof(look->best), "%s", name) <
						  (int)sizeof(look->best)
					  ? look->best
					  : NULL;
	return 0;
}

static const char *kernel_words(const struct user_events *user)
{
	switch (userevent_kernel(user->catalog)) {
	case USEREVENT_KERNEL_YES:
		return "the kernel's user_events";
	case USEREVENT_KERNEL_NO:
		return "the kernel, which has no user_events";
	default:
		return "the kernel, whose tracefs is not readable";
	}
}

static void say_waiting(const struct look *look)
{
	bool is_limited = look->user->processes.n;
	char seen[64] = "found no events";

	if (look->registered)
		snprintf(seen, sizeof(seen), "found %zu other event%s", look->registered,
			PLURAL_S(look->registered));
	log_note("no %s has registered the event '%s' yet%s%s%s; waiting. Looked in %s, and in the "
		 "shared memory of %s that use libperfume (%s there)",
		is_limited ? "watched process" : "program", CLIP(look->pattern),
		look->near.best ? " (did you mean '" : "", look->near.best ? look->near.best : "",
		look->near.best ? "'?)" : "", kernel_words(look->user),
		is_limited ? "watched processes" : "programs", seen);
}

/* In the watched processes, or in all of them. */
static int look(const struct user_events *user, struct look *look)
{
	return userevent_each(user->processes.at, user->processes.n, look_at, look);
}

/* ---- events registered with the kernel later ---- */

static bool can_be_registered(const struct user_events *user, const struct attar_event_spec *spec)
{
	return !user->only_program && spec->kind == ATTAR_EVENT_USER && !spec->transport &&
	       userevent_kernel(user->catalog) == USEREVENT_KERNEL_YES;
}

static bool is_named(const struct attar_event_spec *spec, const char *name)
{
	return spec->transport == ATTAR_TRANSPORT_KERNEL && spec->format &&
	       !strcmp(spec->format->name, name);
}

static bool is_open(const struct user_events *user, const char *name)
{
	vec_each (&user->requests, request)
		if (is_named(request->spec, name))
			return true;
	vec_each (&user->specs, spec)
		if (is_named(*spec, name))
			return true;
	return false;
}

static int open_late(struct user_events *user, struct user_request *request, const char *name,
	const struct attar_format *format)
{
	struct attar_event_spec *spec = new_spec(user, request->spec, name);
	int r;

	if (!spec)
		return base_oom();
	spec->kind = ATTAR_EVENT_TRACEPOINT;
	spec->type = PERF_TYPE_TRACEPOINT;
	spec->config = format->id;
	spec->format = format;
	spec->transport = ATTAR_TRANSPORT_KERNEL;
	r = user->ops->open(user->ctx, request->source, spec);
	if (r < 0)
		return r;
	request->accepted = true;
	note_transport(user, spec->name, ATTAR_TRANSPORT_KERNEL, "");
	return 0;
}

/* Ignores events that are unregistered in the meantime. */
static int look_for(struct user_events *user, struct user_request *request)
{
	dir_names names _cleanup_(dir_names_done) = {0};
	int r = tracefs_events(&user->catalog->tracefs, USER_EVENTS, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const struct attar_format *format;

		if (fnmatch(request->spec->user_event, names.at[i], 0) ||
			is_open(user, names.at[i]))
			continue;
		if (attar_catalog_format(user->catalog, USER_EVENTS, names.at[i], &format) == 0)
			r = open_late(user, request, names.at[i], format);
	}
	attar_error_clear();
	return r == -ENOMEM ? r : 0;
}

int user_events_look(struct user_events *user)
{
	int r = 0;

	for (size_t i = 0; user->registration_pending && r == 0 && i < user->requests.n; i++)
		if (can_be_registered(user, user->requests.at[i].spec))
			r = look_for(user, &user->requests.at[i]);
	return r;
}

void user_events_started(struct user_events *user)
{
	user->registration_pending = false;
	vec_each (&user->requests, request) {
		const struct attar_event_spec *spec = request->spec;
		struct look l = {
			.user = user, .near.word = spec->user_event, .pattern = spec->user_event};

		if (user->only_program || look(user, &l) < 0)
			attar_error_clear();
		else if (!l.found && spec->kind == ATTAR_EVENT_USER)
			say_waiting(&l);
		user->registration_pending |= can_be_registered(user, spec);
	}
}

static bool is_discovered(const struct user_events *user, const char *pattern)
{
	vec_each (&user->specs, spec)
		if (!fnmatch(pattern, (*spec)->format->name, 0))
			return true;
	return false;
}

void user_events_ended(const struct user_events *user)
{
	vec_each (&user->requests, request) {
		const struct attar_event_spec *spec = request->spec;

		if (user->program && spec->kind == ATTAR_EVENT_USER && !request->refused &&
			!attar_spec_get_option(spec, "optional") &&
			!is_discovered(user, spec->user_event))
			log_note("%s emitted no event '%s'", user->program, CLIP(spec->user_event));
	}
}

int user_events_accepted(const struct user_events *user)
{
	vec_each (&user->requests, request)
		if (request->refused && !request->accepted)
			return attar_fail(-EINVAL,
				"'%s' was not received: its filter is not valid for the fields of "
				"any event of this name that a program has registered",
				CLIP(request->spec->name));
	return 0;
}
