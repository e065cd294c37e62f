/* SPDX-License-Identifier: MIT */
/* The events of other hosts: connecting, and adding their events to the run. */
#include <limits.h>
#include <unistd.h>

#include "event/list.h"
#include "event/sample_attr.h"
#include "peer/receiver.h"
#include "run/directory.h"
#include "run/input/hosts.h"
#include "run/input/pull.h"
#include "run/input/replay.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/stop.h"

enum { ATTRIBUTES_MAX = 256 };

/* ---- which events belong to other hosts ---- */

/*
 * The value of an attribute of one event, such as "pull="; NULL: it has none. The caller frees it.
 * The event may be unknown on this machine, so that its text cannot be parsed before.
 */
static char *attribute_of(const char *event, const char *name)
{
	const char *p = list_find(event, "/");

	for (unsigned i = 0; p && i < ATTRIBUTES_MAX; i++) {
		const char *start = p + 1, *value = start + strlen(name), *close;
		size_t n;

		p = list_find(start, "/");
		n = p ? (size_t)(p - start) : strlen(start);
		if (n <= strlen(name) || strncmp(start, name, strlen(name)) != 0 || *value == '=')
			continue; /* a filter compares with == */
		if (*value != '"' && *value != '\'')
			return strndup(value, n - strlen(name));
		close = quote_close(value, NULL);
		return close ? quote_text(value, close) : NULL;
	}
	return NULL;
}

/* The event at the start of a list, which the caller frees; *list moves to the next one. */
static char *take_event(const char **list)
{
	const char *comma = list_find(*list, ",");
	size_t n = comma ? (size_t)(comma - *list) : strlen(*list);
	char *event = strndup(*list, n);

	*list += n + (comma != NULL);
	return event;
}

static bool hosts_concern(const struct attar_run *run, const char *events)
{
	if (hosts_of(run)->reads_for || run->replay)
		return false;
	if (run->opts.pulls.n > 1)
		return true;
	while (*events) {
		char *event _cleanup_free_ = take_event(&events);
		char *address _cleanup_free_ = event ? attribute_of(event, "pull=") : NULL;

		if (address)
			return true;
	}
	return false;
}

/* ---- connecting ---- */

static bool is_taken(const struct attar_run *run, const char *name)
{
	if (!strcmp(name, hosts_of(run)->name))
		return true;
	vec_each (&hosts_of(run)->list, h)
		if ((*h)->name && !strcmp((*h)->name, name))
			return true;
	return false;
}

static int name_host(struct attar_run *run, struct run_host *h)
{
	const char *name = receiver_host(pull_of(h->reader)->receiver);

	if (!*name || is_taken(run, name))
		name = h->address;
	h->name = intern_text(&run->texts, name);
	return h->name ? 0 : base_oom();
}

/* What the reader has in common with the run. Tasks and CPUs of the options are of this machine. */
static void borrow(struct attar_run *reader, struct attar_run *run, const char *address)
{
	hosts_of(reader)->reads_for = run;
	reader->opts = run->opts;
	reader->opts.pulls = (struct attar_texts){0};
	reader->opts.pull = reader->opts.input = address;
	reader->opts.push = NULL;
	reader->opts.cpus = reader->opts.pids = reader->opts.tids = NULL;
	reader->opts.cgroups = NULL;
	reader->opts.no_children = false;
	reader->symbols = run->symbols;
	stop_done(stop_of(reader));
	stop_of(reader)->fd = stop_of(run)->fd;
}

static int connect_host(struct attar_run *run, struct run_host *h, const char *address)
{
	int r;

	h->run = run;
	h->address = intern_text(&run->texts, address);
	if (!h->address)
		return base_oom();
	r = run_create(run->profiler, run->directory, &h->reader);
	if (r < 0)
		return r;
	borrow(h->reader, run, h->address);
	r = replay_open(h->reader);
	if (r < 0)
		return r;
	return name_host(run, h);
}

static int name_this_host(struct attar_run *run)
{
	char name[HOST_NAME_MAX + 1] = "";

	gethostname(name, sizeof(name) - 1);
	hosts_of(run)->name = strdup(name);
	return hosts_of(run)->name ? 0 : base_oom();
}

static int get_host(struct attar_run *run, const char *address, struct run_host **ret_host)
{
	struct run_host *h;
	int r = hosts_of(run)->name ? 0 : name_this_host(run);

	vec_each (&hosts_of(run)->list, it)
		if (r == 0 && !strcmp((*it)->address, address)) {
			*ret_host = *it;
			return 0;
		}
	h = r == 0 ? calloc(1, sizeof(*h)) : NULL;
	if (!h || vec_push(&hosts_of(run)->list, h) < 0) {
		free(h);
		return base_oom();
	}
	r = connect_host(run, h, address);
	*ret_host = h;
	return r;
}

static void hosts_free(struct attar_run *run, void *self)
{
	vec_each (&hosts_of(run)->list, h) {
		struct attar_run *reader = (*h)->reader;

		if (reader) {
			reader->symbols = NULL;
			stop_of(reader)->fd = -1;
			attar_stream_free(reader->stream);
			reader->stream = NULL;
			attar_run_free(reader);
		}
		vec_done(&(*h)->numbers);
		free(*h);
	}
	vec_done(&hosts_of(run)->list);
	free(hosts_of(run)->name);
}

/* ---- their events ---- */

/* The function of the reader's sources. */
static int forward(struct attar_run *reader, void *self, const struct attar_event *event)
{
	struct attar_run *run = hosts_of(reader)->reads_for;
	const struct run_host *h = hosts_of(run)->current;
	struct attar_event forwarded = *event;
	const struct source *s;

	forwarded.counter = h->numbers.at[event->counter];
	s = &run->sources.list.at[forwarded.counter];
	forwarded.fields = s->use->fields;
	run->notes.delivered++;
	return s->use->fn(run, run->self, &forwarded);
}

/* Before the connection, which can take its time. */
static int check_guest(const char *event)
{
	char *guest _cleanup_free_ = attribute_of(event, "vm=");
	pid_t pid;
	int r = guest ? guest_find(guest, &pid) : 0;

	return r < 0 ? attar_context(r, "--event: vm=") : 0;
}

/* The attribute vm=: the host is a guest of this machine. */
static int find_vcpus(const struct attar_event_spec *spec, guest_vcpus *vcpus)
{
	const struct attar_event_option *guest = attar_spec_get_option(spec, "vm");
	pid_t pid;
	int r = guest ? guest_find(guest->value, &pid) : 0;

	if (guest && r == 0)
		r = guest_list_vcpus(pid, vcpus);
	return r < 0 ? attar_context(r, "'%s': vm=", CLIP(spec->name)) : 0;
}

static int add_spec(
	struct run_host *h, const struct attar_event_spec *spec, bool stacks, attar_event_fn *fn)
{
	struct attar_run *run = h->run;
	struct perf_event_attr attr = {.sample_period = 1};
	struct source *s;
	int r;

	if (spec->kind == ATTAR_EVENT_PROFILER || attar_spec_get_option(spec, "push"))
		return attar_fail(-EINVAL,
			"'%s': events of other hosts (pull=) cannot be profilers, and cannot be "
			"pushed",
			CLIP(spec->name));
	run_stack_attr(&run->opts, stacks, spec, &attr);
	event_sample_attr(spec, &attr);
	r = attar_event_spec_attr(spec, &attr, sizeof(attr));
	if (r == 0)
		r = run_add_source(h->reader, spec->name, &attr, forward);
	if (r < 0)
		return r;
	h->reader->sources.list.at[h->reader->sources.list.n - 1].spec = spec;
	if (vec_push(&h->numbers, (uint32_t)run->sources.list.n) < 0)
		return base_oom();
	r = run_add_source(run, spec->name, &attr, fn);
	if (r < 0)
		return r;
	s = &run->sources.list.at[run->sources.list.n - 1];
	s->spec = spec;
	s->use->host = h;
	r = find_vcpus(spec, &s->use->vcpus);
	return r < 0 ? r : source_set_actions(run, s);
}

static int add_from(struct attar_run *run, const char *address, const char *event, bool stacks,
	attar_event_fn *fn)
{
	const struct attar_event_list *list;
	struct run_host *h = NULL;
	int r = check_guest(event);

	if (r == 0)
		r = get_host(run, address, &h);
	if (r == 0)
		r = replay_parse_events(h->reader, event, &list);
	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = add_spec(h, &list->at[i], stacks, fn);
	return r;
}

static int add_events(struct attar_run *run, const char *events, bool stacks, attar_event_fn *fn)
{
	const struct attar_texts *pulls = &run->opts.pulls;
	int r = hosts_check_profiler(run, ATTAR_SHOWS_HOST | ATTAR_COMBINES_HOSTS);

	while (r == 0 && *events) {
		char *event _cleanup_free_ = take_event(&events);
		char *address _cleanup_free_ = event ? attribute_of(event, "pull=") : NULL;

		if (!event)
			return base_oom();
		if (address) {
			r = add_from(run, address, event, stacks, fn);
			continue;
		}
		for (size_t i = 0; r == 0 && i < pulls->n; i++)
			r = add_from(run, pulls->at[i], event, stacks, fn);
		if (r == 0 && !pulls->n)
			r = attar_run_events(run, event, stacks, fn);
	}
	return r;
}

static int hosts_events(
	struct attar_run *run, void *self, const char *events, bool stacks, attar_event_fn *fn)
{
	int r;

	if (!hosts_concern(run, events))
		return 0;
	r = add_events(run, events, stacks, fn);
	return r < 0 ? r : 1;
}

static void hosts_remarks(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	hosts_remark(run, report);
}

static void hosts_stats(struct attar_run *run, void *self, struct attar_stream_stats *stats)
{
	run->notes.undelivered = hosts_add_stats(run, stats);
}

const struct run_part part_hosts = {.size = sizeof(struct run_hosts),
	.events = hosts_events,
	.stats = hosts_stats,
	.remark = hosts_remarks,
	.free = hosts_free};
