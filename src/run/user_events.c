/* SPDX-License-Identifier: MIT */
/*
 * Sources of events that programs emit: user_events:NAME. If the kernel has the tracepoint, it is
 * an ordinary source; in addition, an shm_source looks for the name in the shared memory of
 * programs. An event that is discovered there becomes a new source, with its own fields, after the
 * requested ones.
 */
#include <fnmatch.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "event/catalog.h"
#include "event/user_event.h"
#include "run/run.h"
#include "stream/procs.h"

enum { NOTES_MAX = 20, PID_MAX = 4 << 20 };

int run_user_source(struct attar_run *run, const struct attar_event_spec *spec)
{
	struct user_source user = {
		.source = (uint32_t)run->sources.list.n - 1, .pattern = spec->user_event};

	if (!spec->user_event || spec->transport == ATTAR_TRANSPORT_USDT)
		return 0;
	return vec_push(&run->user.sources, user) < 0 ? base_oom() : 0;
}

int run_user_refuse(const struct attar_event_spec *spec)
{
	if (spec->kind != ATTAR_EVENT_USER)
		return 0;
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not registered with the kernel: 'attar trace' shows it, and 'attar "
		"user-events -d 1s' counts it",
		CLIP(spec->name));
}

static struct user_source *find_source(struct attar_run *run, const char *name)
{
	vec_each (&run->user.sources, user)
		if (!fnmatch(user->pattern, name, 0))
			return user;
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
static void note_transport(
	struct attar_run *run, const char *name, enum attar_transport transport, const char *from)
{
	size_t before = run->user.noted.n;
	char text[600];

	snprintf(text, sizeof(text), "%s %s", name, attar_transport_name(transport));
	if (!intern_text(&run->user.noted, text) || run->user.noted.n == before ||
		before > NOTES_MAX)
		return;
	if (before == NOTES_MAX)
		log_note("more user events were found; their transports are listed only in JSON "
			 "output");
	else
		log_note("%s is received through %s%s", name, words_of(transport), from);
}

static void note_program(struct attar_run *run, const char *name, const char *comm, pid_t pid)
{
	char full[300], from[64];

	snprintf(full, sizeof(full), USER_EVENTS ":%s", name);
	snprintf(from, sizeof(from), " (%s%spid %d)", comm, *comm ? ", " : "", pid);
	note_transport(run, full, ATTAR_TRANSPORT_SHM, from);
}

/* ---- discovered events ---- */

static int on_new_event(void *ctx, const struct attar_user_event *event)
{
	struct attar_run *run = ctx;
	struct user_source *user = find_source(run, event->name);
	struct source s = {0};
	struct attar_event_spec *spec;
	struct filter *keep = NULL;
	char *name;

	if (!user || asprintf(&name, USER_EVENTS ":%s", event->name) < 0)
		return -1;
	spec = malloc(sizeof(*spec));
	if (!spec || vec_push(&run->user.specs, spec) < 0) {
		free(spec);
		free(name);
		return -1;
	}
	*spec = *run->sources.list.at[user->source].spec;
	if (spec->filter && filter_parse(spec->filter, event->format, &keep) < 0) {
		log_note("skipped %s of %s (pid %d): %s", name, event->comm, event->pid,
			attar_error());
		free(name);
		return -1;
	}
	spec->kind = ATTAR_EVENT_USER;
	spec->name = name;
	spec->format = event->format;
	spec->transport = ATTAR_TRANSPORT_SHM;
	s = (struct source){.keep = keep,
		.name = name,
		.fn = run->sources.list.at[user->source].fn,
		.spec = spec};
	if (vec_push(&run->sources.list, s) < 0) {
		filter_free(keep);
		free(name);
		return -1;
	}
	note_program(run, event->name, event->comm, event->pid);
	return (int)run->sources.list.n - 1;
}

int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev)
{
	struct attar_record record = *ev->record;
	struct attar_event event = *ev;

	event.record = &record;
	if ((s->usdt && !run_usdt_convert(run, s, &record)) ||
		(s->keep && !filter_keeps(s->keep, record.sample.raw, record.sample.raw_size))) {
		run->notes.dropped++;
		return 0;
	}
	run->notes.delivered++;
	return s->fn(run, run->self, &event);
}

/* ---- opening ---- */

/* --pids and --tids. Opening the target reports parse errors. */
static void list_tasks(const struct attar_run *run, parse_ints *pids, parse_ints *tids)
{
	if (run->opts.pids && parse_list(run->opts.pids, PID_MAX, pids) < 0)
		attar_error_clear();
	if (run->opts.tids && parse_list(run->opts.tids, PID_MAX, tids) < 0)
		attar_error_clear();
}

int run_list_processes(const struct attar_run *run, parse_ints *pids)
{
	parse_ints tids = {0};
	int r = 0;

	list_tasks(run, pids, &tids);
	vec_each (&tids, tid) {
		pid_t pid = procs_pid_of(*tid);

		if (pid && vec_push(pids, pid) < 0)
			r = base_oom();
	}
	vec_done(&tids);
	return r;
}

static bool only_command(const struct attar_run *run)
{
	return run->command.argv && !run->opts.all_cpus && !run->opts.cpus && !run->opts.cgroups;
}

static int join_patterns(const struct attar_run *run, struct buf *b)
{
	vec_each (&run->user.sources, user)
		buf_printf(b, "%s%s", b->len ? "," : "", user->pattern);
	return buf_failed(b) ? base_oom() : 0;
}

int run_user_open(struct attar_run *run)
{
	struct buf patterns _cleanup_(buf_done) = {0};
	parse_ints pids = {0}, tids = {0};
	struct attar_shm_source_opts opts = {.size = sizeof(opts),
		.only_started = only_command(run),
		.on_new_event = on_new_event,
		.ctx = run};
	int r;

	run->user.n_opened = run->sources.list.n;
	if (!run->user.sources.n)
		return 0;
	if (run->opts.cpus)
		log_note("--cpus: the CPU of events from shared memory is unknown; events of all "
			 "CPUs are "
			 "shown");
	r = join_patterns(run, &patterns);
	list_tasks(run, &pids, &tids);
	if (r == 0) {
		opts.patterns = buf_text(&patterns);
		opts.pids = pids.at;
		opts.n_pids = pids.n;
		opts.tids = tids.at;
		opts.n_tids = tids.n;
		r = attar_shm_source_new(&opts, &run->user.shm);
	}
	vec_done(&pids);
	vec_done(&tids);
	return r;
}

void run_user_close(struct attar_run *run)
{
	run->user.shm = attar_shm_source_free(run->user.shm);
	while (run->user.n_opened && run->sources.list.n > run->user.n_opened) {
		struct source *s = &run->sources.list.at[--run->sources.list.n];

		attar_counter_close(s->counter);
		filter_free(s->keep);
		free(s->filter);
		free(s->name);
	}
	vec_each (&run->user.specs, spec)
		free(*spec);
	vec_done(&run->user.specs);
}

void user_events_done(struct user_events *user)
{
	vec_done(&user->sources);
	intern_done(&user->noted);
	vec_each (&user->usdt_specs, spec) {
		free((char *)(uintptr_t)(*spec)->name);
		free(*spec);
	}
	vec_done(&user->usdt_specs);
	map_done(&user->unshared);
}

/*
 * If the kernel has user_events but the event is not registered yet, the command is also asked to
 * use rings: a listener that attaches after registration would miss its first events.
 */
void run_user_environment(const struct attar_run *run, const char *environment[3])
{
	size_t n = 0;

	if (run->user.shm && only_command(run)) {
		environment[n++] = attar_shm_source_variable(run->user.shm);
		vec_each (&run->user.sources, user)
			if (run->sources.list.at[user->source].spec->kind == ATTAR_EVENT_USER) {
				environment[n++] = "PERFUME_RING=1";
				break;
			}
	}
	environment[n] = NULL;
}

/* ---- waiting ---- */

struct look {
	struct attar_run *run;
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
		note_program(look->run, name, event->source->comm, event->source->pid);
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

static const char *kernel_words(struct attar_run *run)
{
	switch (userevent_kernel(attar_run_catalog(run))) {
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
	char seen[64] = "found no events";

	if (look->registered)
		snprintf(seen, sizeof(seen), "found %zu other events", look->registered);
	log_note(
		"no program has registered the event '%s' yet%s%s%s; waiting. Looked in %s, and in "
		"the shared memory of programs that use libperfume (%s there)",
		CLIP(look->pattern), look->near.best ? " (did you mean '" : "",
		look->near.best ? look->near.best : "", look->near.best ? "'?)" : "",
		kernel_words(look->run), seen);
}

/* In the watched processes, or in all of them. */
static int look(const struct attar_run *run, struct look *look)
{
	parse_ints pids = {0};
	int r = run_list_processes(run, &pids);

	if (r == 0)
		r = userevent_each(pids.at, pids.n, look_at, look);
	vec_done(&pids);
	return r;
}

/* ---- events registered with the kernel later ---- */

static bool may_come(struct attar_run *run, const struct attar_event_spec *spec)
{
	return !only_command(run) && spec->kind == ATTAR_EVENT_USER && !spec->transport &&
	       userevent_kernel(attar_run_catalog(run)) == USEREVENT_KERNEL_YES;
}

static bool is_open(const struct attar_run *run, const char *name)
{
	for (size_t i = 0; i < run->sources.list.n; i++) {
		const struct attar_event_spec *spec = run->sources.list.at[i].spec;

		if (spec && spec->transport == ATTAR_TRANSPORT_KERNEL &&
			!strcmp(strchr(spec->name, ':') + 1, name))
			return true;
	}
	return false;
}

static int open_late(struct attar_run *run, const struct attar_event_spec *asked,
	attar_event_fn *fn, const char *name, const struct attar_format *format)
{
	struct attar_event_spec *spec = malloc(sizeof(*spec));
	struct perf_event_attr attr = {.sample_period = 1};
	const char *full;
	char text[300];
	int r;

	if (!spec || vec_push(&run->user.specs, spec) < 0) {
		free(spec);
		return base_oom();
	}
	snprintf(text, sizeof(text), USER_EVENTS ":%s", name);
	full = intern_text(&run->texts, text);
	if (!full)
		return base_oom();
	*spec = *asked;
	spec->kind = ATTAR_EVENT_TRACEPOINT;
	spec->type = PERF_TYPE_TRACEPOINT;
	spec->config = format->id;
	spec->format = format;
	spec->name = full;
	spec->transport = ATTAR_TRANSPORT_KERNEL;
	run_stack_attr(&run->opts, run->user.stacks, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	r = run_add_spec(run, spec, &attr, fn);
	if (r == 0)
		r = run_open_source(run, &run->sources.list.at[run->sources.list.n - 1]);
	if (r == 0)
		r = attar_stream_add(run->stream,
			run->sources.list.at[run->sources.list.n - 1].counter,
			(uint32_t)run->sources.list.n - 1);
	if (r == 0)
		note_transport(run, full, ATTAR_TRANSPORT_KERNEL, "");
	return r;
}

/* Ignores events that are unregistered in the meantime. */
static int look_for(struct attar_run *run, const struct user_source *user)
{
	const struct source *s = &run->sources.list.at[user->source];
	const struct attar_event_spec *asked = s->spec;
	attar_event_fn *fn = s->fn;
	dir_names names _cleanup_(dir_names_done) = {0};
	int r = tracefs_events(&attar_run_catalog(run)->tracefs, USER_EVENTS, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const struct attar_format *format;

		if (fnmatch(user->pattern, names.at[i], 0) || is_open(run, names.at[i]))
			continue;
		if (attar_catalog_format(
			    attar_run_catalog(run), USER_EVENTS, names.at[i], &format) == 0)
			r = open_late(run, asked, fn, names.at[i], format);
	}
	attar_error_clear();
	return r == -ENOMEM ? r : 0;
}

int run_user_look(struct attar_run *run)
{
	int r = 0;

	for (size_t i = 0; run->user.may_come && r == 0 && i < run->user.sources.n; i++) {
		const struct user_source *user = &run->user.sources.at[i];

		if (may_come(run, run->sources.list.at[user->source].spec))
			r = look_for(run, user);
	}
	return r;
}

void run_user_started(struct attar_run *run)
{
	run->user.may_come = false;
	vec_each (&run->sources.list, s)
		if (s->spec && (s->usdt || s->spec->transport == ATTAR_TRANSPORT_KERNEL))
			note_transport(run, s->name, s->spec->transport, "");
	vec_each (&run->user.sources, user) {
		const struct attar_event_spec *spec = run->sources.list.at[user->source].spec;
		struct look l = {.run = run, .near.word = user->pattern, .pattern = user->pattern};

		if (only_command(run) || look(run, &l) < 0)
			attar_error_clear();
		else if (!l.found && spec->kind == ATTAR_EVENT_USER)
			say_waiting(&l);
		run->user.may_come |= may_come(run, spec);
	}
}

/* Logs a note if the command never emitted a requested event: its name may be wrong. */
void run_user_ended(struct attar_run *run)
{
	vec_each (&run->user.sources, user) {
		const struct source *s = &run->sources.list.at[user->source];
		bool seen = false;

		for (size_t i = run->user.n_opened; i < run->sources.list.n; i++)
			seen |= !fnmatch(
				user->pattern, strchr(run->sources.list.at[i].name, ':') + 1, 0);
		if (run->command.argv && !seen && s->spec->kind == ATTAR_EVENT_USER)
			log_note("%s emitted no event '%s'", run->command.argv[0],
				CLIP(user->pattern));
	}
}
