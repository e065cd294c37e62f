/* SPDX-License-Identifier: MIT */
#include "stream/shm_source.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/check_arg.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "base/option_struct.h"
#include "base/parse.h"
#include "base/vec.h"
#include "event/user_event.h"
#include "perf/cgroup.h"
#include "stream/procs.h"

enum {
	HEADER = 8, /* bytes of the common fields, laid out as by the kernel */
	FORMATS_MAX = 32768,
	RECENT = 256, /* a power of two */
	PIDS_MAX = 65536,
	BUSY = 256, /* events in one round */
	IDLE_MS = 10,
	SCAN_NS = 2000000000,
	SCAN_AGAIN_NS = 500000000, /* after a scan that is not complete */
	GROUP_NS = 100000000,      /* after which a program's control group is read again */
	PAYLOAD_MAX = 16384,       /* the collector's maximum */
	REFUSED = -1,              /* ignored */
};

/* An event's name and fields, the same for all programs. */
struct kind {
	struct attar_format *format; /* NULL: its fields are invalid */
	int number;                  /* from on_new_event; or REFUSED */
};

/* Cache: the kind of a program's event; valid until the next poll. */
struct recent {
	const struct perfume_source *source;
	int kind; /* index; REFUSED */
};

struct attar_shm_source {
	unsigned process; /* the process that created it, see base/check_arg.h */
	struct perfume_collector *collector;
	attar_new_event_fn *on_new_event;
	void *ctx;
	parse_ints pids, tids;             /* none: any */
	const struct attar_target *target; /* receive its control groups only; NULL: all */
	struct cgroup_hierarchy hierarchy; /* of the control groups */
	struct map selected; /* pid -> when its group was read, and whether it is in one of them */
	struct intern texts;
	struct map kinds_by_text; /* address of "name fields" in texts -> index in kinds */
	VEC(struct kind) kinds;
	struct recent recent[RECENT];
	uint64_t scanned; /* ns: time of the last scan of /proc */
	/* by the collector: in all, and of other users; those left out */
	uint64_t lost, lost_of_others, left_out;
	uid_t others_user;
	uint64_t without_group; /* programs that had exited before their group was read */
	unsigned reported;      /* bits: what report_once() has logged */
	size_t round;           /* events delivered since the last poll */
	bool has_front;
	struct perfume_received front;
	int front_kind;
	_Alignas(8) char raw[HEADER + PAYLOAD_MAX];
};

/* ---- creation and release ---- */

static int copy_tasks(parse_ints *list, const pid_t *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (vec_push(list, tasks[i]) < 0)
			return base_oom();
	return 0;
}

/*
 * Also listens to the processes of the requested threads; events of their other threads are dropped
 * later.
 */
static int collect(struct attar_shm_source *shm_source, struct perfume_collector_options *options)
{
	parse_ints pids = {0};
	int r = copy_tasks(&pids, shm_source->pids.at, shm_source->pids.n);

	vec_each (&shm_source->tids, tid) {
		pid_t pid = procs_pid_of(*tid);

		if (r == 0 && pid && vec_push(&pids, pid) < 0)
			r = base_oom();
	}
	options->pids = pids.at;
	options->n_pids = pids.n;
	if (r == 0) {
		r = perfume_collector_new(options, &shm_source->collector);
		if (r < 0)
			attar_fail(r, "cannot collect events of programs from shared memory: %s",
				r == -EINVAL ? "the list of names is longer than 511 bytes"
					     : strerror(-r));
	}
	vec_done(&pids);
	return r;
}

int attar_shm_source_new(
	const struct attar_shm_source_opts *opts, struct attar_shm_source **ret_shm_source)
{
	CHECK_ARG(ret_shm_source, "ret_shm_source");

	struct perfume_collector_options options = {.size = sizeof(options)};
	struct attar_shm_source_opts o = {0};
	struct attar_shm_source *shm_source;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	if (!o.patterns || !o.on_new_event)
		return attar_fail(-EINVAL,
			"an shm_source needs patterns of event names and "
			"on_new_event" ATTAR_FIX "set both; the pattern \"*\" is all");
	CHECK_ARG(o.pids || !o.n_pids, "opts->pids");
	CHECK_ARG(o.tids || !o.n_tids, "opts->tids");
	shm_source = calloc(1, sizeof(*shm_source));
	if (!shm_source)
		return base_oom();
	shm_source->process = check_process;
	shm_source->on_new_event = o.on_new_event;
	shm_source->ctx = o.ctx;
	r = copy_tasks(&shm_source->pids, o.pids, o.n_pids);
	if (r == 0)
		r = copy_tasks(&shm_source->tids, o.tids, o.n_tids);
	options.patterns = o.patterns;
	options.only_started = o.only_started;
	if (r == 0)
		r = collect(shm_source, &options);
	if (r < 0) {
		attar_shm_source_free(shm_source);
		return r;
	}
	*ret_shm_source = shm_source;
	return 0;
}

struct attar_shm_source *attar_shm_source_free(struct attar_shm_source *shm_source)
{
	if (!shm_source)
		return NULL;
	if (shm_source->collector && !is_own_process(shm_source))
		perfume_collector_disown(shm_source->collector);
	perfume_collector_free(shm_source->collector);
	vec_each (&shm_source->kinds, kind)
		attar_format_free(kind->format);
	vec_done(&shm_source->kinds);
	map_done(&shm_source->kinds_by_text);
	map_done(&shm_source->selected);
	cgroup_hierarchy_done(&shm_source->hierarchy);
	intern_done(&shm_source->texts);
	vec_done(&shm_source->pids);
	vec_done(&shm_source->tids);
	free(shm_source);
	return NULL;
}

const char *attar_shm_source_variable(const struct attar_shm_source *shm_source)
{
	CHECK_ARG_OR(shm_source, "shm_source", NULL);

	return perfume_collector_variable(shm_source->collector);
}

int shm_source_target(struct attar_shm_source *shm_source, const struct attar_target *target)
{
	shm_source->target = attar_target_cgroup(target, 0) ? target : NULL;
	cgroup_hierarchy_done(&shm_source->hierarchy);
	return shm_source->target ? cgroup_hierarchy_find(&shm_source->hierarchy) : 0;
}

/* ---- kinds of events ---- */

/* The index of the new kind; -ENOMEM. */
static int on_new_event(struct attar_shm_source *shm_source, const struct perfume_source *source)
{
	struct kind kind = {.number = REFUSED};
	int r = userevent_format(
		source->name, source->fields, (int)shm_source->kinds.n, &kind.format);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_note("ignoring the events '%s' of %s (pid %d): their fields '%s' are not valid",
			CLIP(source->name), source->comm, source->pid, CLIP(source->fields));
	} else {
		struct attar_user_event event = {.name = source->name,
			.format = kind.format,
			.comm = source->comm,
			.pid = source->pid};

		kind.number = shm_source->on_new_event(shm_source->ctx, &event);
	}
	if (vec_push(&shm_source->kinds, kind) < 0) {
		attar_format_free(kind.format);
		return base_oom();
	}
	return (int)shm_source->kinds.n - 1;
}

/* The index of its kind, REFUSED, or -ENOMEM. */
static int kind_of(struct attar_shm_source *shm_source, const struct perfume_source *source)
{
	char text[1024];
	const char *kept;
	uint64_t *index;
	int kind;

	snprintf(text, sizeof(text), "%s %s", source->name, source->fields);
	kept = intern_text(&shm_source->texts, text);
	if (!kept)
		return base_oom();
	index = map_get(&shm_source->kinds_by_text, (uintptr_t)kept);
	if (index)
		return (int)*index;
	if (shm_source->kinds.n >= FORMATS_MAX)
		return REFUSED;
	kind = on_new_event(shm_source, source);
	if (kind >= 0 && map_put(&shm_source->kinds_by_text, (uintptr_t)kept, (uint64_t)kind) < 0)
		return base_oom();
	return kind;
}

/* ---- selection of tasks ---- */

/* Whether the program is in one of the control groups: 1, 0, or -1 if it has exited. */
static int read_selected(struct attar_shm_source *shm_source, pid_t pid)
{
	struct buf own _cleanup_(buf_done) = {0};
	const char *name;
	int selected = 0;

	if (cgroup_of_thread(&shm_source->hierarchy, pid, &own, NULL) < 0)
		return -1;
	for (size_t i = 0; (name = attar_target_cgroup(shm_source->target, i)); i++) {
		struct buf group _cleanup_(buf_done) = {0};

		cgroup_path(&shm_source->hierarchy, name, &group);
		selected |= cgroup_contains(buf_text(&group), buf_text(&own), own.len);
	}
	return selected;
}

/*
 * A program can move to another control group, and its PID can be used again. One that has exited
 * counts as before.
 */
static bool is_selected(struct attar_shm_source *shm_source, pid_t pid)
{
	uint64_t now = perfume_collector_horizon(shm_source->collector) & ~UINT64_C(1);
	uint64_t *known = map_get(&shm_source->selected, (uint64_t)pid);
	int selected;

	if (known && now - (*known & ~UINT64_C(1)) < GROUP_NS)
		return *known & 1;
	selected = read_selected(shm_source, pid);
	if (selected < 0 && known)
		return *known & 1;
	shm_source->without_group += selected < 0;
	if (shm_source->selected.n >= PIDS_MAX)
		map_reset(&shm_source->selected);
	map_put(&shm_source->selected, (uint64_t)pid, now | (selected > 0));
	return selected > 0;
}

/* If threads were requested: true for these, and for threads of requested processes. */
static bool is_task(const struct attar_shm_source *shm_source, pid_t pid, pid_t tid)
{
	if (!shm_source->tids.n || parse_ints_have(&shm_source->tids, tid))
		return true;
	return parse_ints_have(&shm_source->pids, pid);
}

/* The index of the event's kind; REFUSED: do not deliver it; -ENOMEM. */
static int classify(struct attar_shm_source *shm_source, const struct perfume_received *event)
{
	const struct perfume_source *source = event->source;
	struct recent *recent = &shm_source->recent[((uintptr_t)source >> 4) & (RECENT - 1)];

	if (recent->source != source) {
		int kind = kind_of(shm_source, source);

		if (kind == -ENOMEM)
			return kind;
		if (kind >= 0 &&
			(shm_source->kinds.at[kind].number < 0 ||
				(shm_source->target && !is_selected(shm_source, source->pid))))
			kind = REFUSED;
		*recent = (struct recent){source, kind};
	}
	return is_task(shm_source, source->pid, event->tid) ? recent->kind : REFUSED;
}

/* ---- rounds ---- */

static int scan_when_due(struct attar_shm_source *shm_source)
{
	uint64_t now = perfume_collector_horizon(shm_source->collector);
	bool is_complete = perfume_collector_scan_is_complete(shm_source->collector);

	if (shm_source->scanned &&
		now - shm_source->scanned < (is_complete ? SCAN_NS : SCAN_AGAIN_NS))
		return 0;
	shm_source->scanned = now ? now : 1;
	return perfume_collector_scan(shm_source->collector);
}

/* Logs a reason for missing events other than loss, the first time. */
static void report_once(
	struct attar_shm_source *shm_source, unsigned bit, uint64_t n, const char *what)
{
	if (!n || shm_source->reported & bit)
		return;
	shm_source->reported |= bit;
	log_note("events of programs may be missing: %s", what);
}

static void report_no_room(struct attar_shm_source *shm_source, uid_t uid)
{
	char what[256];

	snprintf(what, sizeof(what),
		"there are more programs, threads or events than attar can read at once, most of "
		"them of the user with uid %u: select programs with -p",
		(unsigned)uid);
	report_once(shm_source, 4, 1, what);
}

static void report_forged(struct attar_shm_source *shm_source, uid_t uid)
{
	char what[256];

	snprintf(what, sizeof(what),
		"the shared memory of a program of the user with uid %u has invalid contents: "
		"attar stops reading it",
		(unsigned)uid);
	report_once(shm_source, 8, 1, what);
}

static void report_missing(struct attar_shm_source *shm_source)
{
	struct perfume_collector_stats stats;

	perfume_collector_stats(shm_source->collector, &stats);
	report_once(shm_source, 1, stats.refused,
		"the memory of a program is not writable, so its events stay disabled: run as "
		"root, or start attar before the program");
	report_once(shm_source, 2, stats.no_claim,
		"a program already has eight listeners, the maximum: end one of them (`attar "
		"user-events` lists them)");
	if (stats.no_room)
		report_no_room(shm_source, stats.no_room_user);
	if (stats.forged)
		report_forged(shm_source, stats.forged_user);
	report_once(shm_source, 16, stats.lapses,
		"attar was stopped or did not run for seconds, and programs disabled their events "
		"in the meantime: they are enabled again");
	report_once(shm_source, 32, shm_source->without_group,
		"a program has ended before attar read its control group (--cgroups)");
}

int shm_source_begin(struct attar_shm_source *shm_source, bool last, uint64_t *ret_horizon)
{
	int r = scan_when_due(shm_source);

	if (r >= 0)
		r = perfume_collector_poll(shm_source->collector, last);
	if (r < 0)
		return attar_fail(r, "cannot read the events of programs: %s", strerror(-r));
	report_missing(shm_source);
	memset(shm_source->recent, 0, sizeof(shm_source->recent));
	shm_source->round = 0;
	*ret_horizon = perfume_collector_horizon(shm_source->collector);
	return 0;
}

/* Fetches the next event to deliver. Returns 1, 0 if there is none, or -ENOMEM. */
static int fill_front(struct attar_shm_source *shm_source)
{
	while (!shm_source->has_front) {
		int r = perfume_collector_next(shm_source->collector, &shm_source->front);

		if (r <= 0)
			return r;
		shm_source->round++;
		shm_source->front_kind = classify(shm_source, &shm_source->front);
		if (shm_source->front_kind == -ENOMEM)
			return -ENOMEM;
		shm_source->has_front =
			shm_source->front_kind >= 0 && shm_source->front.size <= PAYLOAD_MAX;
	}
	return 1;
}

/* struct trace_entry: type, flags, preempt count, pid. */
static void make_raw(struct attar_shm_source *shm_source)
{
	uint16_t type = (uint16_t)shm_source->front_kind;
	int32_t tid = shm_source->front.tid;

	memcpy(shm_source->raw, &type, 2);
	memset(shm_source->raw + 2, 0, 2);
	memcpy(shm_source->raw + 4, &tid, 4);
	memcpy(shm_source->raw + HEADER, shm_source->front.payload, shm_source->front.size);
}

int shm_source_next(
	struct attar_shm_source *shm_source, uint64_t until, struct shm_source_event *ret_event)
{
	int r = fill_front(shm_source);

	if (r <= 0 || shm_source->front.time > until)
		return MIN(r, 0);
	shm_source->has_front = false;
	make_raw(shm_source);
	*ret_event = (struct shm_source_event){.time = shm_source->front.time,
		.number = (uint32_t)shm_source->kinds.at[shm_source->front_kind].number,
		.pid = shm_source->front.source->pid,
		.tid = shm_source->front.tid,
		.comm = shm_source->front.source->comm,
		.raw = shm_source->raw,
		.raw_size = (uint32_t)(HEADER + shm_source->front.size)};
	return 1;
}

uint64_t shm_source_lost(struct attar_shm_source *shm_source)
{
	struct perfume_collector_stats stats;
	uint64_t lost, others;

	perfume_collector_stats(shm_source->collector, &stats);
	lost = stats.lost + stats.lost_no_ring - shm_source->lost;
	others = stats.lost_of_others - shm_source->lost_of_others;
	shm_source->lost += lost;
	shm_source->lost_of_others += others;
	if (!stats.has_several_users)
		return lost;
	shm_source->left_out += others;
	shm_source->others_user = stats.others_user;
	return lost - others;
}

uint64_t shm_source_lost_of_others(const struct attar_shm_source *shm_source, uid_t *ret_user)
{
	*ret_user = shm_source->others_user;
	return shm_source->left_out;
}

uint64_t shm_source_left(const struct attar_shm_source *shm_source, uid_t *ret_user)
{
	struct perfume_collector_stats stats;

	perfume_collector_stats(shm_source->collector, &stats);
	*ret_user = stats.left_user;
	return stats.left;
}

/* A program that writes at full speed overwrites a ring of 1 MiB within a millisecond. */
int shm_source_nap_ms(const struct attar_shm_source *shm_source, int max)
{
	int nap = shm_source->round >= 16 * BUSY ? 0 : shm_source->round >= BUSY ? 1 : IDLE_MS;

	return max < 0 ? nap : MIN(nap, max);
}
