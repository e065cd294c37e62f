/* SPDX-License-Identifier: MIT */
#include "run/record/blackbox.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/vec.h"
#include "run/intervals.h"
#include "run/parts.h"
#include "run/record/box_socket.h"
#include "run/record/condition.h"
#include "run/record/recorded_groups.h"
#include "run/record/recorded_waits.h"
#include "run/record/recorder.h"
#include "run/run.h"

enum { DUMPS_MAX = 100 }; /* that a report has */

struct blackbox {
	bool is_on;
	struct attar_run_box_opts opts; /* strings are the run's */
	const char *path;               /* the run's */
	VEC(struct condition) conditions;
	const char *pending; /* the condition of the next file; NULL: none is due */
	uint64_t since, due; /* ns: when it became true, and when the file is written */
	VEC(uint64_t) times; /* ns: of the files that at_most counts */
	uint64_t written, left_out;
	VEC(struct attar_run_dump) dumps; /* since the last report; strings are the run's */
	int socket;                       /* for --at; -1: none */
};

PART_STATE(blackbox_of, struct blackbox, PART_BLACKBOX)

/* ---- options ---- */

bool blackbox_is_on(const struct attar_run *run)
{
	return blackbox_of(run)->is_on;
}

static int check_options(const struct attar_run_record_opts *opts)
{
	const char *other = opts->portable             ? "--portable"
			    : opts->max_bytes          ? "--max-size"
			    : !opts->path              ? "--push"
			    : !strcmp(opts->path, "-") ? "--output -"
						       : NULL;

	if (!other)
		return 0;
	return attar_fail(-EINVAL,
		"--overwrite conflicts with %s: files are written when they are "
		"needed" ATTAR_FIX "leave out one of them",
		other);
}

int blackbox_prepare(struct attar_run *run, const struct attar_run_record_opts *opts)
{
	struct blackbox *box = blackbox_of(run);
	int r;

	if (!opts->box)
		return 0;
	r = check_options(opts);
	box->is_on = true;
	box->socket = -1;
	box->opts = *opts->box;
	box->path = opts->path;
	return r;
}

void blackbox_set_writer(const struct attar_run *run, struct recording_writer_opts *opts)
{
	const struct blackbox *box = blackbox_of(run);

	if (!box->is_on)
		return;
	opts->keep_ns = box->opts.keep_ns;
	opts->keep_bytes = box->opts.max_bytes;
}

static int blackbox_opened(struct attar_run *run, void *self)
{
	struct blackbox *box = self;
	int r = 0;

	if (!box->is_on)
		return 0;
	for (size_t i = box->conditions.n; r == 0 && i < box->opts.when.n; i++) {
		struct condition *c = vec_add(&box->conditions);

		r = c ? condition_open(c, box->opts.when.at[i], run->target, attar_run_catalog(run))
		      : base_oom();
	}
	return r;
}

/* ---- files ---- */

/* What is not in the records that are kept. */
static int add_present(struct attar_run *run, struct recording_writer *dump)
{
	return recorded_waits_add(run, dump, RECORDING_ENDED);
}

static int complete(struct attar_run *run, struct recording_writer *dump,
	struct recording_writer_stats *ret_stats)
{
	int r = add_present(run, dump), finished = recording_writer_finish(dump);

	recording_writer_get_stats(dump, ret_stats);
	(void)recording_writer_close(dump);
	return r < 0 ? r : finished;
}

static int note_dump(struct blackbox *box, const struct attar_run_dump *dump)
{
	box->written++;
	log_note("%s: %llu events in %s, written in %.2f s", dump->reason,
		(unsigned long long)dump->samples, dump->path, (double)dump->took_ns / 1e9);
	if (box->dumps.n == DUMPS_MAX) {
		box->dumps.n--;
		memmove(box->dumps.at, box->dumps.at + 1, box->dumps.n * sizeof(*box->dumps.at));
	}
	return vec_push(&box->dumps, *dump) < 0 ? base_oom() : 0;
}

static int write_dump(struct attar_run *run, const char *path, unsigned rotate, uint64_t from,
	struct recording_writer_stats *ret_stats)
{
	const struct recording_dump opts = {.path = path,
		.buffer = run->opts.buffer,
		.limit = {run->hooks.give_up, run->hooks.ctx},
		.rotate = rotate,
		.from = from};
	struct recording_writer *writer = recorder_of(run)->writer, *dump;
	int r = recorded_groups_add(run, writer);

	if (r == 0)
		r = recording_writer_dump(writer, &opts, &dump);
	return r == 0 ? complete(run, dump, ret_stats) : r;
}

static int blackbox_dump(struct attar_run *run, const char *reason, uint64_t from)
{
	struct blackbox *box = blackbox_of(run);
	const uint64_t began = base_now();
	struct recording_writer_stats stats;
	int r = write_dump(run, box->path, (unsigned)box->opts.rotate, from, &stats);

	if (r < 0)
		return r;
	return note_dump(box, &(struct attar_run_dump){.path = box->path,
				      .reason = reason,
				      .first = stats.first_time,
				      .last = stats.last_time,
				      .samples = stats.samples,
				      .records = stats.records,
				      .file_bytes = stats.file_bytes,
				      .took_ns = base_now() - began});
}

/* A full disk does not end the box: what it holds can be written later. */
static int try_dump(struct attar_run *run, const char *reason, uint64_t from)
{
	int r = blackbox_dump(run, reason, from);

	if (r >= 0 || r == -ENOMEM)
		return r;
	log_warn("%s: %s", reason, attar_error());
	attar_error_clear();
	return 0;
}

int blackbox_end(struct attar_run *run)
{
	const struct blackbox *box = blackbox_of(run);

	if (!box->is_on)
		return 0;
	if (box->pending)
		return blackbox_dump(run, box->pending,
			box->opts.before_ns ? box->since - box->opts.before_ns : 0);
	return box->opts.when.n ? 0 : blackbox_dump(run, "end", 0);
}

/* A request for a report is one for a file. */
static int blackbox_requested(struct attar_run *run, void *self)
{
	return blackbox_is_on(run) ? try_dump(run, "request", 0) : 0;
}

/* ---- readers ---- */

static int blackbox_started(struct attar_run *run, void *self)
{
	struct blackbox *box = self;
	int r;

	if (!box->is_on || box->socket >= 0)
		return 0;
	r = box_socket_listen(&box->socket);
	if (r == -EADDRINUSE)
		log_note("another black box of this user runs: --at reads the events of that one");
	return 0;
}

/* A file in memory of all events. A descriptor; -1: failed. */
static int dump_to_memory(struct attar_run *run)
{
	int fd = memfd_create("attar-box", MFD_CLOEXEC);
	struct recording_writer_stats stats;
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write_dump(run, path, 0, 0, &stats) == 0)
		return fd;
	log_warn("--at: %s", attar_error());
	attar_error_clear();
	close(fd);
	return -1;
}

/* One reader at a time: the rings are read in between. */
static void serve(struct attar_run *run, int fd)
{
	int client = box_socket_accept(fd), recording;

	if (client < 0)
		return;
	recording = dump_to_memory(run);
	box_socket_give(client, recording);
	if (recording >= 0)
		close(recording);
}

/* ---- conditions ---- */

/* Whether another file may be written now. */
static bool is_allowed(struct blackbox *box, uint64_t now)
{
	size_t n = 0;

	if (!box->opts.at_most)
		return true;
	vec_each (&box->times, time)
		if (now - *time < box->opts.at_most_ns)
			box->times.at[n++] = *time;
	box->times.n = n;
	if (n < box->opts.at_most)
		return vec_push(&box->times, now) == 0;
	box->left_out++;
	return false;
}

static int look(struct blackbox *box, uint64_t now)
{
	uint64_t time = now;

	vec_each (&box->conditions, c) {
		int r = condition_look(c, &time);

		if (r < 0)
			return r;
		if (!r || box->pending || !is_allowed(box, now))
			continue;
		box->pending = c->text;
		box->since = time;
		box->due = MAX(time + box->opts.after_ns, now);
	}
	return 0;
}

/* What becomes true while a file is due, or written, has the same file. */
static int blackbox_turn(struct attar_run *run, void *self, uint64_t now)
{
	struct blackbox *box = self;
	const char *reason;
	int r;

	if (!box->is_on)
		return 0;
	serve(run, box->socket);
	r = look(box, now);
	if (r < 0 || !box->pending || now < box->due)
		return r;
	reason = TAKE_PTR(box->pending);
	r = try_dump(run, reason,
		box->opts.before_ns ? box->since - MIN(box->since, box->opts.before_ns) : 0);
	return r < 0 ? r : run_report_request(run, base_now());
}

/* ---- reports ---- */

int run_get_boxed(const struct attar_run *run, struct attar_run_boxed *ret_boxed)
{
	const struct blackbox *box = blackbox_of(run);
	struct recording_kept kept = {0};

	if (!box->is_on)
		return 0;
	if (recorder_of(run)->writer)
		recording_writer_get_kept(recorder_of(run)->writer, &kept);
	*ret_boxed = (struct attar_run_boxed){.samples = kept.samples,
		.bytes = kept.bytes,
		.first = kept.first,
		.last = kept.last,
		.dumps = box->written,
		.left_out = box->left_out};
	return 1;
}

int run_get_dump(const struct attar_run *run, size_t i, struct attar_run_dump *ret_dump)
{
	const struct blackbox *box = blackbox_of(run);

	if (i >= box->dumps.n)
		return 0;
	*ret_dump = box->dumps.at[i];
	return 1;
}

static void blackbox_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct blackbox *box = self;

	if (box->left_out)
		attar_report_remark(report, "files that --at-most has prevented: %llu",
			(unsigned long long)box->left_out);
	box->dumps.n = 0;
}

static void blackbox_detach(struct attar_run *run, void *self)
{
	struct blackbox *box = self;

	if (box->is_on)
		box_socket_close(box->socket);
	vec_each (&box->conditions, c)
		condition_done(c);
	vec_done(&box->conditions);
	vec_done(&box->times);
	vec_done(&box->dumps);
}

const struct run_part part_blackbox = {.size = sizeof(struct blackbox),
	.opened = blackbox_opened,
	.started = blackbox_started,
	.requested = blackbox_requested,
	.turn = blackbox_turn,
	.remark = blackbox_remark,
	.detach = blackbox_detach};
