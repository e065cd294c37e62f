/* SPDX-License-Identifier: MIT */
/*
 * multi-trace: relates events with the same key. -e A,B -e C -e D makes the pairs A > C, B > C and
 * C > D, and reports the time between their start and end.
 */
#include "multi_trace/multi_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/expr.h"
#include "lib/by_source.h"
#include "lib/keys.h"
#include "lib/name_filter.h"

static const struct trace_impl *const impls[] = {
	&trace_impl_delay, &trace_impl_pair, &trace_impl_syscalls};

/* ---- events ---- */

/* The default key: a thread if tasks are watched, otherwise a CPU. */
static enum key_kind default_key(const struct attar_run *run)
{
	return attar_run_target_kind(run) != ATTAR_TARGET_SYSTEM ? KEY_THREAD : KEY_CPU;
}

/* Which task an event of the scheduler concerns. */
struct task_key {
	const char *key;  /* a field */
	const char *role; /* which events start or end a delay, as the attribute role=; NULL: all */
};

static const struct {
	const char *event;
	struct task_key start, other;
} task_keys[] = {
	{"sched:sched_switch", {"prev_pid", "(prev_state&0xff)==0&&prev_pid"},
		{"next_pid", "next_pid?2:0"}},
	{"sched:sched_process_fork", {"child_pid", NULL}, {"child_pid", NULL}},
};

/*
 * Of an event that starts delays, or does not: a switch concerns the task that is switched out in
 * the first case and remains runnable, otherwise the one that is switched in. False: the event has
 * no such field.
 */
static bool task_key_get(
	const struct attar_event_spec *spec, bool is_start, struct task_key *ret_key)
{
	struct task_key key = {.key = "pid"};

	for (size_t i = 0; i < sizeof(task_keys) / sizeof(task_keys[0]); i++)
		if (!strcmp(spec->name, task_keys[i].event))
			key = is_start ? task_keys[i].start : task_keys[i].other;
	if (strncmp(spec->name, "sched:", 6) != 0 || !spec->format ||
		!attar_format_field(spec->format, key.key))
		return false;
	*ret_key = key;
	return true;
}

/*
 * Keys that are thread IDs are known of the scheduler's events: for those without key= that do not
 * have the fields of -k, or without -k. So is which of these events start or end a delay.
 */
static int compile_task_key(struct attar_run *run, uint32_t source, struct trace_event *e)
{
	struct task_key key;
	int r = 0;

	if (!task_key_get(e->spec, e->stage == 0, &key))
		return 0;
	if (!e->key)
		r = keys_compile(run, source, "key", key.key, ATTAR_EXPR_KEY, &e->key);
	if (r < 0 || !expr_get_field(e->key) ||
		strcmp(attar_expr_get_column(e->key, 0)->name, key.key) != 0)
		return r;
	if (key.role && !e->spec->untraced) {
		e->role_text = key.role;
		r = keys_compile(run, source, "role", key.role, ATTAR_EXPR_CONDITION, &e->role);
	}
	return r;
}

/* Events that only accompany others need not have the fields of -k. */
static int compile_key(
	struct attar_run *run, struct multi_trace *m, uint32_t source, struct trace_event *e)
{
	bool is_given = attar_spec_get_option(e->spec, "key");
	int r = keys_compile(run, source, "key", m->key, ATTAR_EXPR_KEY, &e->key);
	struct task_key known;

	if (r == -EINVAL && !is_given &&
		(e->spec->untraced || (m->tasks && task_key_get(e->spec, true, &known)))) {
		attar_error_clear();
		r = 0;
	}
	if (r == 0 && m->tasks)
		r = compile_task_key(run, source, e);
	e->key_kind = e->key ? KEY_EXPR : default_key(run);
	return r;
}

/* As the scheduler's events have them: comm of pid, next_comm of next_pid. */
static const struct attar_field *owner_of(const struct trace_event *e)
{
	const char *key = e->field ? attar_expr_get_column(e->key, 0)->name : "";
	size_t n = strlen(key);
	char name[NAME_BYTES];

	if (n < 3 || strcmp(key + n - 3, "pid") != 0 || !e->spec->format)
		return NULL;
	snprintf(name, sizeof(name), "%.*scomm", (int)(n - 3), key);
	return attar_format_field(e->spec->format, name);
}

static int add_event(struct attar_run *run, struct multi_trace *m, uint32_t source, uint32_t stage)
{
	struct trace_event *events = realloc(m->events, (m->n_events + 1) * sizeof(*m->events)), *e;
	int r;

	if (!events)
		return -ENOMEM;
	m->events = events;
	e = &events[m->n_events++];
	*e = (struct trace_event){.spec = attar_run_source_spec(run, source), .stage = stage};
	e->name = e->spec->name;
	e->is_guest = attar_spec_get_option(e->spec, "vm") != NULL;
	if (!e->is_guest && attar_spec_get_option(e->spec, "pull"))
		e->host = run_source_host(run, source);
	r = compile_key(run, m, source, e);
	e->field = e->key ? expr_get_field(e->key) : NULL;
	e->owner = m->tasks ? owner_of(e) : NULL;
	if (r == 0)
		r = keys_compile(run, source, "comm", NULL, ATTAR_EXPR_KEY, &e->comm);
	if (r < 0 || e->role)
		return r;
	if (attar_spec_get_option(e->spec, "role"))
		e->role_text = attar_spec_get_option(e->spec, "role")->value;
	return keys_compile(run, source, "role", NULL, ATTAR_EXPR_CONDITION, &e->role);
}

const struct trace_event *trace_first(const struct multi_trace *m)
{
	for (uint32_t i = 0; i < m->n_events; i++)
		if (!m->events[i].spec->untraced)
			return &m->events[i];
	return NULL;
}

/* Pairs are matched by key: a number never equals a name, and a CPU never equals a field. */
static int check_key(const struct multi_trace *m, const struct trace_event *e)
{
	const struct trace_event *first = trace_first(m);

	if (e->spec->untraced ||
		(first->key_kind == e->key_kind && keys_are_alike(first->key, e->key)))
		return 0;
	return attar_fail(-EINVAL,
		"the keys of '%s' and '%s' have different types;" ATTAR_FIX
		"set key= of each event, or -k",
		first->name, e->name);
}

static const char *guest_of(const struct trace_event *e)
{
	return e->is_guest ? attar_spec_get_option(e->spec, "vm")->value : "";
}

/* The CPU of events from shared memory is unknown. */
static void relate_programs(struct multi_trace *m)
{
	for (uint32_t i = 0; i < m->n_events; i++)
		if (!m->events[i].spec->untraced && !by_source_is_dummy(m->events[i].spec))
			return;
	for (uint32_t i = 0; i < m->n_events; i++)
		if (m->events[i].key_kind == KEY_CPU)
			m->events[i].key_kind = KEY_THREAD;
}

/* Events of guests and of this machine have threads in common, but no CPUs. */
static void relate_guests(struct multi_trace *m)
{
	const struct trace_event *first = trace_first(m);
	bool differ = false;

	for (uint32_t i = 0; i < m->n_events; i++)
		differ |= !m->events[i].spec->untraced &&
			  strcmp(guest_of(&m->events[i]), guest_of(first));
	for (uint32_t i = 0; differ && i < m->n_events; i++)
		if (m->events[i].key_kind == KEY_CPU)
			m->events[i].key_kind = KEY_THREAD;
}

/* Without keys, since CPUs and threads of different hosts have the same numbers. */
static int check_host(const struct multi_trace *m, const struct trace_event *e)
{
	const struct trace_event *first = trace_first(m);

	if (e->key_kind == KEY_EXPR || e->spec->untraced || first->host == e->host)
		return 0;
	return attar_fail(-EINVAL,
		"'%s' and '%s' are events of different hosts, whose threads and CPUs can have the "
		"same numbers" ATTAR_FIX "set key= of each event, or -k; vm= relates the virtual "
		"CPUs of a guest to threads of this machine",
		first->name, e->name);
}

/* --tasks compares keys with the IDs of the selected threads. */
static int check_task(const struct multi_trace *m, const struct trace_event *e)
{
	if ((!m->selects && !m->filter) || e->spec->untraced ||
		(e->key_kind == KEY_EXPR && attar_expr_columns(e->key) == 1 &&
			attar_expr_get_column(e->key, 0)->kind == ATTAR_EXPR_NUMBER))
		return 0;
	return attar_fail(-EINVAL,
		"--tasks: the key of '%s' is not a thread ID;" ATTAR_FIX
		"set key= of the event to the field with the ID, for example key=pid",
		e->name);
}

/* How --perins shows the keys: the first printkey= of all events. */
static int compile_printkey(struct attar_run *run, struct multi_trace *m, uint32_t source)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);

	if (m->printkey || !spec || spec->untraced || !attar_spec_get_option(spec, "printkey"))
		return 0;
	m->printkey_of = spec;
	return keys_compile(run, source, "printkey", NULL, 0, &m->printkey);
}

/* Only events that are traced make a stage. */
static void end_stage(struct multi_trace *m, uint32_t first)
{
	for (uint32_t i = first; i < m->n_events; i++)
		if (!m->events[i].spec->untraced) {
			m->n_stages++;
			return;
		}
}

static unsigned roles_of(const struct multi_trace *m, const struct trace_event *e)
{
	unsigned roles = 0;

	if (e->spec->untraced)
		return 0;
	if (m->cycle || e->stage + 1 < m->n_stages)
		roles |= ROLE_START;
	if (m->cycle || e->stage > 0)
		roles |= ROLE_END;
	return roles;
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct multi_trace *m = self;
	const struct trace_event *e;
	uint64_t sequence = 0;
	int r = trace_event_of(run, m, ev->counter, &e);

	if (r < 0)
		return r;
	if (m->detail && !detail_is_of_pairs(m)) {
		r = detail_flush(run, m, ev->time);
		sequence = detail_keep(run, m, e, ev);
	}
	return r < 0 || !e->roles ? r : pairs_event(run, m, e, ev, sequence);
}

static int add_stage(struct attar_run *run, struct multi_trace *m, const char *text)
{
	uint32_t source = attar_run_sources(run), first = m->n_events;
	int r = attar_run_events(run, text, false, on_event);

	for (; r == 0 && source < attar_run_sources(run); source++) {
		r = add_event(run, m, source, m->n_stages);
		if (r == 0)
			r = compile_printkey(run, m, source);
	}
	end_stage(m, first);
	return r;
}

static int events_open(struct attar_run *run, struct multi_trace *m)
{
	int r = attar_run_keep_own(run); /* they can concern other tasks */

	m->selects_cpus = attar_run_all_cpus(run, true) > 0;
	if (r == 0 && m->tasks)
		r = attar_run_select_tasks(run);
	m->selects = m->tasks && !attar_run_is_selected(run, NULL);
	if (m->texts.n > STAGES_MAX)
		return attar_fail(
			-E2BIG, "more than %d -e options" ATTAR_FIX "use commas", STAGES_MAX);
	for (size_t i = 0; r == 0 && i < m->texts.n; i++)
		r = add_stage(run, m, m->texts.at[i]);
	if (r == 0 && m->kernel_filter && m->filter && m->tasks)
		r = name_filter_set(run, 0, m->filter);
	if (r < 0)
		return r;
	if (m->n_stages < 2 && m->tasks && attar_run_profiler(run)->preset) /* rundelay */
		return attar_fail(-EINVAL,
			"%s: events for the start and the end of delays are needed" ATTAR_FIX
			"give two -e options, or none for the usual events of the scheduler",
			attar_run_profiler(run)->name);
	if (m->n_stages < 2 && !(m->cycle && m->n_stages))
		return attar_fail(-EINVAL,
			"%s needs events for the start and the end of pairs" ATTAR_FIX
			"give two -e options, or one and --cycle",
			attar_run_profiler(run)->name);
	for (uint32_t i = 0; i < m->n_events; i++)
		m->has_hosts |= m->events[i].host || m->events[i].is_guest;
	if (m->has_hosts && m->tasks)
		return attar_fail(-EINVAL, "--tasks selects threads of this machine, and "
					   "conflicts with events of others (pull=)");
	relate_guests(m);
	relate_programs(m);
	r = m->printkey ? keys_check_printed(m->printkey_of, trace_first(m)->key) : 0;
	for (uint32_t i = 0; r == 0 && i < m->n_events; i++) {
		m->events[i].roles = roles_of(m, &m->events[i]);
		r = check_host(m, &m->events[i]);
		if (r == 0)
			r = check_key(m, &m->events[i]);
		if (r == 0)
			r = check_task(m, &m->events[i]);
	}
	return r;
}

/* ---- sources ---- */

/* Events that appear during the run belong to the stage of the text that they match. */
static int find_event(
	struct attar_run *run, struct multi_trace *m, uint32_t source, uint32_t *ret_number)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	uint32_t stage = 0;
	int r;

	*ret_number = 0;
	if (!spec) /* it is not delivered */
		return 0;
	for (uint32_t i = 0; i < m->n_events; i++) {
		if (m->events[i].spec == spec) {
			*ret_number = i;
			return 0;
		}
		if (m->events[i].spec->text == spec->text)
			stage = m->events[i].stage;
	}
	*ret_number = m->n_events;
	r = add_event(run, m, source, stage);
	if (r < 0)
		return r;
	relate_programs(m);
	m->events[*ret_number].roles = roles_of(m, &m->events[*ret_number]);
	return check_key(m, &m->events[*ret_number]);
}

/* Numbers of sources are final with the first event: refused events have been removed by then. */
int trace_bind_sources(struct attar_run *run, struct multi_trace *m)
{
	uint32_t n = attar_run_sources(run),
		 *event_of = realloc(m->event_of, n * sizeof(*event_of));
	int r = 0;

	if (!event_of)
		return -ENOMEM;
	m->event_of = event_of;
	for (; r == 0 && m->n_sources < n; m->n_sources++)
		r = find_event(run, m, m->n_sources, &event_of[m->n_sources]);
	return r;
}

/* ---- keys ---- */

/* Each CPU has an idle thread, all with the number 0. */
static uint64_t thread_key(const struct attar_event *ev)
{
	return ev->thread->tid ? ev->thread->serial : UINT64_C(1) << 63 | ev->cpu;
}

/* The same for the thread that runs a virtual CPU, which is also known by its events here. */
static bool vcpu_key(const struct attar_run *run, const struct attar_event *ev, uint64_t *ret_key)
{
	const struct attar_thread *thread;
	struct attar_vcpu vcpu;

	if (!run_vcpu(run, ev, &vcpu))
		return false;
	thread = attar_run_thread(run, vcpu.tid);
	*ret_key = thread ? thread->serial : UINT64_C(1) << 62 | (uint32_t)vcpu.tid;
	return true;
}

/* The key if it is a field of the record; false: it is not. */
static bool field_key(
	const struct trace_event *e, const struct attar_event *ev, struct key_bytes *ret_key)
{
	const struct attar_sample *s = &ev->record->sample;
	uint64_t number;

	if (!e->field || (size_t)e->field->offset + e->field->size > s->raw_size)
		return false;
	number = attar_field_u64(e->field, s->raw, s->raw_size);
	memcpy(ret_key->bytes, &number, sizeof(number));
	ret_key->size = sizeof(number);
	return true;
}

/* The key if it is computed. */
static void expr_key(
	const struct trace_event *e, const struct attar_event *ev, struct key_bytes *ret_key)
{
	struct attar_expr_record record;

	attar_event_get_expr_record(ev, &record);
	ret_key->size = attar_expr_key(e->key, &record, ret_key->bytes, sizeof(ret_key->bytes));
}

bool trace_key(const struct attar_run *run, const struct trace_event *e,
	const struct attar_event *ev, struct key_bytes *ret_key)
{
	uint64_t number;

	if (field_key(e, ev, ret_key))
		return true;
	if (e->key_kind == KEY_EXPR) {
		expr_key(e, ev, ret_key);
		return true;
	}
	if (e->key_kind == KEY_THREAD && ev->thread->tid < 0)
		return false;
	number = e->key_kind == KEY_CPU ? ev->cpu : thread_key(ev);
	if (e->is_guest && e->key_kind == KEY_THREAD && !vcpu_key(run, ev, &number))
		return false;
	memcpy(ret_key->bytes, &number, sizeof(number));
	ret_key->size = sizeof(number);
	return true;
}

/* ---- life ---- */

static int find_impl(struct multi_trace *m)
{
	for (size_t i = 0; i < sizeof(impls) / sizeof(impls[0]); i++)
		if (!strcmp(impls[i]->name, m->impl_name)) {
			m->impl = impls[i];
			return 0;
		}
	if (!strcmp(m->impl_name, "call") || !strcmp(m->impl_name, "call-delay"))
		return attar_fail(-EINVAL,
			"--impl %s is of calls within calls" ATTAR_FIX
			"use the profiler nested-trace with --impl %s",
			m->impl_name, m->impl_name);
	if (!strcmp(m->impl_name, "kmemprof"))
		return attar_fail(-EINVAL, "--impl kmemprof is another profiler" ATTAR_FIX
					   "use kmemprof, with the events of allocations and of "
					   "frees in two -e options");
	return attar_fail(
		-EINVAL, "--impl: '%s' is not one of delay, pair, syscalls", m->impl_name);
}

static int find_counted(struct multi_trace *m)
{
	static const struct {
		const char *name;
		enum thread_check_time time;
	} times[] = {{"running", CHECK_RUNNING}, {"ready", CHECK_READY}};

	if (!m->counted)
		return 0;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (!strcmp(m->counted, times[i].name))
			m->counted_time = 1 + times[i].time;
	if (!m->counted_time)
		return attar_fail(
			-EINVAL, "--counted %s: running or ready is expected", m->counted);
	return m->tasks
		       ? 0
		       : attar_fail(-EINVAL, "--counted requires keys that are thread IDs" ATTAR_FIX
					     "add --tasks");
}

static int multi_trace_turn(struct attar_run *run, void *self)
{
	struct multi_trace *m = self;

	return m->counted_time && m->perins ? thread_check_turn(run, &m->check) : 0;
}

static int multi_trace_open(struct attar_run *run, void *self)
{
	struct multi_trace *m = self;
	int r = task_by_parse(run, m->by_text, &m->by);

	m->perins |= m->by_text != NULL;
	if (r == 0)
		r = find_impl(m);

	if (r == 0 && m->filter && !m->tasks)
		return attar_fail(-EINVAL, "--filter requires keys that are thread IDs" ATTAR_FIX
					   "add --tasks, or a filter to the events, as in "
					   "'sched:sched_wakeup/comm~\"java*\"/'");
	if (r == 0)
		r = find_counted(m);
	if (r == 0 && m->impl->open)
		r = m->impl->open(run, m);
	else if (r == 0)
		r = events_open(run, m);
	if (r == 0 && m->by_text)
		r = pairs_check_by(m);
	if (r == 0)
		r = heatmap_new(run, m->heatmap_path, &m->heatmap);
	if (r == 0)
		r = detail_open(m);
	if (r == 0)
		r = pairs_open(m);
	return r < 0 ? r : in_kernel_open(run, m);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct multi_trace *m = self;

	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++)
		attar_pairs_lost(m->steps[i], (int)ev->cpu, ev->lost_from, ev->lost_to);
	return 0;
}

/* What a thread has begun, it does not end any more. */
static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct multi_trace *m = self;
	const struct trace_event *first = trace_first(m);

	/* of one that leaves its control group, no event will be an end */
	if (m->tasks && ev->thread && ev->record->type != PERF_RECORD_EXIT) {
		uint64_t key = (uint64_t)ev->thread->tid;

		for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++)
			attar_pairs_drop(m->steps[i], &key, sizeof(key));
		return 0;
	}
	if (!ev->thread || (first && first->key_kind != KEY_THREAD))
		return 0;
	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++)
		attar_pairs_exit(m->steps[i], ev->thread->serial);
	return 0;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct multi_trace *m = self;

	if (m->tasks && held_command_ends(&m->held, run, ev))
		pairs_exec(m, ev);
	return 0;
}

static int multi_trace_ended(struct attar_run *run, void *self)
{
	struct multi_trace *m = self;
	int r = 0;

	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++)
		attar_pairs_close(m->steps[i]);
	if (m->detail)
		r = detail_flush(run, m, UINT64_MAX);
	return r;
}

static int multi_trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct multi_trace *m = self;
	int r = m->in_kernel ? in_kernel_read(run, m) : 0;

	if (r == 0)
		r = attar_keytable_end_interval(m->table);
	if (r == 0)
		r = m->impl->report(run, m, report, scope);
	if (r == 0)
		r = pairs_check(run, m, report, scope);
	if (r == 0)
		pairs_add_remarks(run, m, report, scope);
	return r;
}

static void multi_trace_close(void *self)
{
	struct multi_trace *m = self;

	for (uint32_t i = 0; i < m->n_events; i++) {
		attar_expr_free(m->events[i].key);
		attar_expr_free(m->events[i].role);
		attar_expr_free(m->events[i].comm);
	}
	attar_expr_free(m->syscall_name);
	attar_expr_free(m->printkey);
	pairs_close(m);
	thread_check_done(&m->check);
	heatmap_free(m->heatmap);
	detail_close(m);
	free(m->events);
	free(m->event_of);
}

static void multi_trace_defaults(void *self)
{
	struct multi_trace *m = self;

	m->impl_name = "delay";
}

#define T struct multi_trace

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "EVENTS",
		"events of one stage, separated by commas; repeat it for the next stage; "
		"attributes: key, printkey, comm, role, untraced, alias",
		.complete = "event"),
	ATTAR_TEXT(T, key, 'k', "key", "EXPR",
		"match events by this expression on their fields (default: by thread with -p, -t, "
		"--cgroups or a command, otherwise by CPU)"),
	ATTAR_TEXT(T, impl_name, 0, "impl", "NAME",
		"the report: delay (time between start and end, default), pair (numbers of pairs "
		"and unpaired events), syscalls (system calls)"),
	ATTAR_TIME(T, than, 0, "than", "TIME", "also count pairs that take longer", .bare = 1),
	ATTAR_TIME(T, only_than, 0, "only-than", "TIME", "ignore pairs that do not take longer",
		.bare = 1),
	ATTAR_TIME(T, lower, 0, "lower", "TIME", "also count pairs that take less time", .bare = 1),
	ATTAR_TEXT(T, heatmap_path, 0, "heatmap", "FILE",
		"write time and latency of each pair to FILE-START-END.lat, in ns",
		.complete = "file"),
	ATTAR_TEXT(T, detail_text, 0, "detail", "LIST",
		"print each pair (with --than or --lower: those beyond the limit) and the events "
		"in between; -TIME and +TIME: also events before and after it; samecpu, samepid, "
		"sametid, samekey: only these; hide<TIME: omit events that follow within TIME",
		.implied = "all"),
	ATTAR_FLAG(T, print_beyond, 0, "print-beyond",
		"print what --than, --only-than and --lower select, with stacks of events that "
		"have them: the start and the end of pairs, or system calls"),
	ATTAR_FLAG(T, perins, 0, "perins",
		"a row for each key, or for each name of comm= of the starts"),
	ATTAR_TEXT(T, by_text, 0, "by", "WHAT",
		"a row for each " TASK_BY_HELP ", if keys are threads"),
	ATTAR_FLAG(T, avg, 0, "avg", "also show the mean of all times"),
	ATTAR_FLAG(T, hist, 0, "hist", "also show a histogram of all times"),
	ATTAR_FLAG(T, tasks, 0, "tasks",
		"keys are thread IDs, which are known of the scheduler's events: -p, -t, --cgroups "
		"and a command select keys, and events of the whole system are watched"),
	ATTAR_JOINED(T, filter, 0, "filter", "NAMES",
		"only threads with these names, separated by commas; * and ? match; keys must be "
		"thread IDs (multi-trace --tasks)"),
	ATTAR_TEXT(T, counted, 0, "counted", "TIME",
		"with --tasks: the pairs are the times in which threads are running, or ready to "
		"run; with --perins, show which differ from what the kernel counts"),
	ATTAR_FLAG(T, kernel_filter, 0, "kernel-filter",
		"the kernel applies --filter: fewer events are lost on a busy machine, but "
		"switches that it does not deliver are not noticed"),
	ATTAR_FLAG(
		T, cycle, 0, "cycle", "events of the last stage also start pairs with the first"),
	{0}};

static const struct attar_example examples[] = {
	{"multi-trace -e irq:softirq_entry -e irq:softirq_exit -i 1s",
		"the duration of soft interrupts"},
	{"multi-trace -e sched:sched_wakeup//key=pid/ -e sched:sched_switch//key=next_pid/ -d 5s",
		"how long tasks wait for a CPU after a wakeup"},
	{"multi-trace --impl syscalls --perins -p 1234", "system calls of a process, by thread"},
	{0}};

const struct attar_profiler profiler_multi_trace = {
	.name = "multi-trace",
	.group = "Events",
	.summary = "measure the time between related events, such as start and end of a request",
	.uses = ATTAR_USES_RINGS | ATTAR_GIVES_SPANS | ATTAR_COMBINES_HOSTS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct multi_trace),
	.options = options,
	.examples = examples,
	.defaults = multi_trace_defaults,
	.open = multi_trace_open,
	.lost = on_lost,
	.exited = on_exited,
	.record = on_record,
	.ended = multi_trace_ended,
	.report = multi_trace_report,
	.close = multi_trace_close,
	.turn = multi_trace_turn,
};
