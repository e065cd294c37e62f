/* SPDX-License-Identifier: MIT */
#include "stream/inlet.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "base/opts.h"
#include "base/parse.h"
#include "base/vec.h"
#include "event/userevent.h"
#include "stream/procs.h"

enum {
	HEADER = 8, /* bytes: the common fields, as the kernel lays them out */
	FORMATS_MAX = 32768,
	RECENT = 256, /* a power of two */
	PIDS_MAX = 65536,
	BUSY = 256, /* events in one round */
	IDLE_MS = 10,
	SCAN_NS = 2000000000,
	PAYLOAD_MAX = 16384, /* the collector hands out no longer one */
	REFUSED = -1,        /* no source takes it */
};

/* An event's name and fields, whoever has them. */
struct kind {
	struct attar_format *format; /* NULL: its fields cannot be understood */
	int number;                  /* of the source; or REFUSED */
};

/* What a program's event was found to be; valid until the next poll. */
struct recent {
	const struct perfume_source *source;
	int kind; /* index; REFUSED */
};

struct attar_inlet {
	unsigned process; /* that created it, see base/check.h */
	struct perfume_collector *collector;
	attar_introduce_fn *introduce;
	void *ctx;
	parse_ints pids, tids;             /* none: any */
	const struct attar_target *target; /* whose control groups count; NULL: any */
	struct map chosen;                 /* pid -> whether it is in one of the control groups */
	struct intern texts;
	struct map kinds_by_text; /* address of "name fields" in texts -> index in kinds */
	VEC(struct kind) kinds;
	struct recent recent[RECENT];
	uint64_t scanned; /* ns: when /proc was looked through */
	uint64_t lost;
	unsigned told; /* bits: what tell() has told of */
	size_t round;  /* events handed out since the last poll */
	bool has_front;
	struct perfume_received front;
	int front_kind;
	_Alignas(8) char raw[HEADER + PAYLOAD_MAX];
};

/* ---- life ---- */

static int copy_tasks(parse_ints *list, const pid_t *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (vec_push(list, tasks[i]) < 0)
			return base_oom();
	return 0;
}

/* Listens to the processes of the threads too: what other threads of theirs write is left out later. */
static int collect(struct attar_inlet *inlet, struct perfume_collector_options *options)
{
	parse_ints pids = {0};
	int r = copy_tasks(&pids, inlet->pids.at, inlet->pids.n);

	vec_each (&inlet->tids, tid) {
		pid_t pid = procs_pid_of(*tid);

		if (r == 0 && pid && vec_push(&pids, pid) < 0)
			r = base_oom();
	}
	options->pids = pids.at;
	options->n_pids = pids.n;
	if (r == 0) {
		r = perfume_collector_new(options, &inlet->collector);
		if (r < 0)
			attar_fail(r, "cannot collect events of programs from shared memory: %s",
				r == -EINVAL ? "their names are longer than 511 bytes together"
					     : strerror(-r));
	}
	vec_done(&pids);
	return r;
}

int attar_inlet_new(const struct attar_inlet_opts *opts, struct attar_inlet **ret_inlet)
{
	CHECK_ARG(ret_inlet, "ret_inlet");

	struct perfume_collector_options options = {.size = sizeof(options)};
	struct attar_inlet_opts o = {0};
	struct attar_inlet *inlet;
	int r = opts_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	if (!o.patterns || !o.introduce)
		return attar_fail(-EINVAL, "an inlet needs the names of its events (\"*\": all) "
					   "and a function that they are introduced to");
	CHECK_ARG(o.pids || !o.n_pids, "opts->pids");
	CHECK_ARG(o.tids || !o.n_tids, "opts->tids");
	inlet = calloc(1, sizeof(*inlet));
	if (!inlet)
		return base_oom();
	inlet->process = check_process;
	inlet->introduce = o.introduce;
	inlet->ctx = o.ctx;
	r = copy_tasks(&inlet->pids, o.pids, o.n_pids);
	if (r == 0)
		r = copy_tasks(&inlet->tids, o.tids, o.n_tids);
	options.patterns = o.patterns;
	options.only_started = o.only_started;
	if (r == 0)
		r = collect(inlet, &options);
	if (r < 0) {
		attar_inlet_free(inlet);
		return r;
	}
	*ret_inlet = inlet;
	return 0;
}

struct attar_inlet *attar_inlet_free(struct attar_inlet *inlet)
{
	if (!inlet)
		return NULL;
	if (inlet->collector && !is_own_process(inlet))
		perfume_collector_disown(inlet->collector);
	perfume_collector_free(inlet->collector);
	vec_each (&inlet->kinds, kind)
		attar_format_free(kind->format);
	vec_done(&inlet->kinds);
	map_done(&inlet->kinds_by_text);
	map_done(&inlet->chosen);
	intern_done(&inlet->texts);
	vec_done(&inlet->pids);
	vec_done(&inlet->tids);
	free(inlet);
	return NULL;
}

const char *attar_inlet_variable(const struct attar_inlet *inlet)
{
	CHECK_ARG_OR(inlet, "inlet", NULL);

	return perfume_collector_variable(inlet->collector);
}

void inlet_target(struct attar_inlet *inlet, const struct attar_target *target)
{
	inlet->target = attar_target_cgroup(target, 0) ? target : NULL;
}

int inlet_fd(const struct attar_inlet *inlet)
{
	return perfume_collector_fd(inlet->collector);
}

/* ---- what an event is ---- */

/* The index of the new kind; -ENOMEM. */
static int introduce(struct attar_inlet *inlet, const struct perfume_source *source)
{
	struct kind kind = {.number = REFUSED};
	int r = userevent_format(source->name, source->fields, (int)inlet->kinds.n, &kind.format);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_note("the events '%s' of %s (pid %d) are left out: their fields '%s' cannot be "
			 "understood",
			CLIP(source->name), source->comm, source->pid, CLIP(source->fields));
	} else {
		struct attar_user_event event = {.name = source->name,
			.format = kind.format,
			.comm = source->comm,
			.pid = source->pid};

		kind.number = inlet->introduce(inlet->ctx, &event);
	}
	if (vec_push(&inlet->kinds, kind) < 0) {
		attar_format_free(kind.format);
		return base_oom();
	}
	return (int)inlet->kinds.n - 1;
}

/* The index of its kind, REFUSED, or -ENOMEM. */
static int kind_of(struct attar_inlet *inlet, const struct perfume_source *source)
{
	char text[1024];
	const char *kept;
	uint64_t *index;
	int kind;

	snprintf(text, sizeof(text), "%s %s", source->name, source->fields);
	kept = intern_text(&inlet->texts, text);
	if (!kept)
		return base_oom();
	index = map_get(&inlet->kinds_by_text, (uintptr_t)kept);
	if (index)
		return (int)*index;
	if (inlet->kinds.n >= FORMATS_MAX)
		return REFUSED;
	kind = introduce(inlet, source);
	if (kind >= 0 && map_put(&inlet->kinds_by_text, (uintptr_t)kept, (uint64_t)kind) < 0)
		return base_oom();
	return kind;
}

/* ---- whose it is ---- */

/* "4:cpu,cpuacct:/a/b": where a process is in each hierarchy; the group is one of these places or above one. */
static bool is_below(const char *line, const char *group)
{
	size_t n = strlen(group);

	while (*line) {
		const char *path = line + strcspn(line, "/\n");

		if (*path == '/' &&
			(!n || (!strncmp(path + 1, group, n) && strchr("/\n", path[1 + n]))))
			return true;
		line = path + strcspn(path, "\n");
		line += *line == '\n';
	}
	return false;
}

static bool is_chosen(struct attar_inlet *inlet, pid_t pid)
{
	struct buf b _cleanup_(buf_done) = {0};
	uint64_t *known = map_get(&inlet->chosen, (uint64_t)pid);
	const char *group;
	bool chosen = false;
	char path[64];

	if (known)
		return *known;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read(path, 1 << 16, &b) == 0)
		for (size_t i = 0; (group = attar_target_cgroup(inlet->target, i)); i++)
			chosen |= is_below(buf_text(&b), group + (group[0] == '/'));
	if (inlet->chosen.n >= PIDS_MAX)
		map_reset(&inlet->chosen);
	map_put(&inlet->chosen, (uint64_t)pid, chosen);
	return chosen;
}

/* With threads that were asked for: one of those, or one of a process that was. */
static bool is_task(const struct attar_inlet *inlet, pid_t pid, pid_t tid)
{
	if (!inlet->tids.n || parse_ints_have(&inlet->tids, tid))
		return true;
	return parse_ints_have(&inlet->pids, pid);
}

/* The index of its kind; REFUSED for what is not to be delivered; -ENOMEM. */
static int classify(struct attar_inlet *inlet, const struct perfume_received *event)
{
	const struct perfume_source *source = event->source;
	struct recent *recent = &inlet->recent[((uintptr_t)source >> 4) & (RECENT - 1)];

	if (recent->source != source) {
		int kind = kind_of(inlet, source);

		if (kind == -ENOMEM)
			return kind;
		if (kind >= 0 && (inlet->kinds.at[kind].number < 0 ||
					 (inlet->target && !is_chosen(inlet, source->pid))))
			kind = REFUSED;
		*recent = (struct recent){source, kind};
	}
	return is_task(inlet, source->pid, event->tid) ? recent->kind : REFUSED;
}

/* ---- rounds ---- */

static int scan_now_and_then(struct attar_inlet *inlet)
{
	uint64_t now = perfume_collector_horizon(inlet->collector);

	if (inlet->scanned && now - inlet->scanned < SCAN_NS)
		return 0;
	inlet->scanned = now ? now : 1;
	return perfume_collector_scan(inlet->collector);
}

/* The first time that events are missing for a reason that is no loss. */
static void tell(struct attar_inlet *inlet, unsigned bit, uint64_t n, const char *what)
{
	if (!n || inlet->told & bit)
		return;
	inlet->told |= bit;
	log_note("events of programs are missing: %s", what);
}

static void tell_what_is_missing(struct attar_inlet *inlet)
{
	struct perfume_collector_stats stats;

	perfume_collector_stats(inlet->collector, &stats);
	tell(inlet, 1, stats.refused,
		"the memory of a program cannot be written, so that its events stay off: run as "
		"root, or start attar before the program");
	tell(inlet, 2, stats.no_claim,
		"a program has eight listeners already, the most there can be: end one of them "
		"(`attar user-events` names them)");
	tell(inlet, 4, stats.no_room,
		"there are more programs, threads or events than are read at a time: choose "
		"programs with -p");
	tell(inlet, 8, stats.forged,
		"what a program shows in its shared memory cannot be: nothing more is read from "
		"it");
	tell(inlet, 16, stats.lapses,
		"attar was stopped or did not get the CPU for seconds, and programs had switched "
		"them off meanwhile: they are on again");
}

int inlet_begin(struct attar_inlet *inlet, uint64_t *ret_horizon)
{
	int r = scan_now_and_then(inlet);

	if (r >= 0)
		r = perfume_collector_poll(inlet->collector, 0);
	if (r < 0)
		return attar_fail(r, "cannot read the events of programs: %s", strerror(-r));
	tell_what_is_missing(inlet);
	memset(inlet->recent, 0, sizeof(inlet->recent));
	inlet->round = 0;
	*ret_horizon = perfume_collector_horizon(inlet->collector);
	return 0;
}

/* Puts the next event that is to be delivered in front. 1, 0 when there is none, or -ENOMEM. */
static int fill_front(struct attar_inlet *inlet)
{
	while (!inlet->has_front) {
		int r = perfume_collector_next(inlet->collector, &inlet->front);

		if (r <= 0)
			return r;
		inlet->round++;
		inlet->front_kind = classify(inlet, &inlet->front);
		if (inlet->front_kind == -ENOMEM)
			return -ENOMEM;
		inlet->has_front = inlet->front_kind >= 0 && inlet->front.size <= PAYLOAD_MAX;
	}
	return 1;
}

/* struct trace_entry: type, flags, preempt count, pid. */
static void make_raw(struct attar_inlet *inlet)
{
	uint16_t type = (uint16_t)inlet->front_kind;
	int32_t tid = inlet->front.tid;

	memcpy(inlet->raw, &type, 2);
	memset(inlet->raw + 2, 0, 2);
	memcpy(inlet->raw + 4, &tid, 4);
	memcpy(inlet->raw + HEADER, inlet->front.payload, inlet->front.size);
}

int inlet_next(struct attar_inlet *inlet, uint64_t until, struct inlet_event *ret_event)
{
	int r = fill_front(inlet);

	if (r <= 0 || inlet->front.time > until)
		return MIN(r, 0);
	inlet->has_front = false;
	make_raw(inlet);
	*ret_event = (struct inlet_event){.time = inlet->front.time,
		.number = (uint32_t)inlet->kinds.at[inlet->front_kind].number,
		.pid = inlet->front.source->pid,
		.tid = inlet->front.tid,
		.comm = inlet->front.source->comm,
		.raw = inlet->raw,
		.raw_size = (uint32_t)(HEADER + inlet->front.size)};
	return 1;
}

uint64_t inlet_lost(struct attar_inlet *inlet)
{
	struct perfume_collector_stats stats;
	uint64_t before = inlet->lost;

	perfume_collector_stats(inlet->collector, &stats);
	inlet->lost = MAX(before, stats.lost + stats.lost_no_ring);
	return inlet->lost - before;
}

/* A ring of 1 MiB is written over within a millisecond by who writes as fast as it can. */
int inlet_nap_ms(const struct attar_inlet *inlet, int max)
{
	int nap = inlet->round >= 16 * BUSY ? 0 : inlet->round >= BUSY ? 1 : IDLE_MS;

	return max < 0 ? nap : MIN(nap, max);
}
