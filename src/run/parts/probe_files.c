/* SPDX-License-Identifier: MIT */
/*
 * The files of a run's USDT probes. If no event arrives, the report says whether a watched process
 * has mapped them: often, programs use another version of a library or interpreter.
 */
#include "event/usdt_event.h"
#include "event/usdt_files.h"
#include "report/model/model.h"
#include "run/parts.h"
#include "run/parts/programs.h"
#include "run/run.h"

struct probe_file {
	char *path; /* real, owned */
	bool is_mapped;
};

struct probe_files {
	VEC(struct probe_file) list;
	bool has_ended; /* a watched process that is older than the run: what it had is unknown */
};

/* The file of a source's probe, to be freed; NULL: it is not a probe of a file. */
static char *file_of(const struct source *s)
{
	const char *text = s->spec && s->spec->kind == ATTAR_EVENT_PROBE ? s->spec->name : "", *end;
	struct usdt_request request = {0};
	char *path = NULL;

	if (strncmp(text, "usdt:", 5) != 0)
		return NULL;
	if (usdt_request_read(text + 5, &request, &end) == 0 && request.file)
		path = realpath(request.file, NULL);
	usdt_request_done(&request);
	attar_error_clear();
	return path;
}

static struct probe_file *probe_files_find(struct probe_files *files, const char *path)
{
	vec_each (&files->list, file)
		if (!strcmp(file->path, path))
			return file;
	return NULL;
}

static void probe_files_done(struct probe_files *files)
{
	vec_each (&files->list, file)
		free(file->path);
	vec_done(&files->list);
}

static void probe_files_free(struct attar_run *run, void *self)
{
	probe_files_done(self);
}

/* Lists the files of the sources. */
static int probe_files_open(struct attar_run *run, void *self)
{
	struct probe_files *files = self;

	probe_files_done(files);
	files->has_ended = false;
	if (run->replay)
		return 0;
	vec_each (&run->sources.list, s) {
		struct probe_file file = {.path = file_of(s)};

		if (!file.path)
			continue;
		if (probe_files_find(files, file.path)) {
			free(file.path);
		} else if (vec_push(&files->list, file) < 0) {
			free(file.path);
			return base_oom();
		}
	}
	return 0;
}

static void note_mapped(struct probe_files *files, const char *path)
{
	struct probe_file *file = probe_files_find(files, path);

	if (file)
		file->is_mapped = true;
}

static int note_file(void *ctx, const struct usdt_file *file)
{
	note_mapped(ctx, file->path);
	return 0;
}

/*
 * Whether a process ends, or with --tids a thread, that may have mapped files before the run. The
 * command has not, although it is older than the run.
 */
static bool ends_older(const struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_task *task = &ev->record->task;

	if (run_only_command(run) || (pid_t)task->pid == attar_run_command_pid(run))
		return false;
	return (task->pid == task->tid || run->opts.tids) &&
	       (!ev->thread || ev->thread->process->started < run->clock.began);
}

/* A watched process may have mapped one of the files, or ended. */
static int probe_files_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct probe_files *files = self;
	const struct attar_record *rec = ev->record;
	bool maps = rec->type == PERF_RECORD_MMAP || rec->type == PERF_RECORD_MMAP2;

	if (likely(!files->list.n))
		return 0;
	if (!maps && (rec->type != PERF_RECORD_EXIT || !ends_older(run, ev)))
		return 0;
	if (run->select.is_on && !attar_run_is_selected(run, ev->thread))
		return 0;
	if (maps)
		note_mapped(files, rec->mmap.filename);
	else
		files->has_ended = true;
	return 0;
}

/* What was mapped before the run. Nothing of a command was. */
static void look_at_processes(struct attar_run *run, struct probe_files *files)
{
	parse_ints pids = {0};

	if (!run_only_command(run) && run_list_processes(run, &pids) == 0)
		vec_each (&pids, pid)
			usdt_each_file(*pid, note_file, files);
	vec_done(&pids);
	attar_error_clear();
}

static void remark_on(
	const struct probe_files *files, const struct probe_file *file, struct attar_report *report)
{
	if (files->has_ended)
		attar_report_remark(report,
			"no watched process that still runs has mapped %s: if those that ended had "
			"not either, its probes have no events, and -e selects the probes of "
			"another file, which 'attar usdt list FILE' lists",
			file->path);
	else
		attar_report_remark(report,
			"no watched process runs %s or has mapped it, so its probes have no "
			"events: -e selects the probes of another file, which 'attar usdt list "
			"FILE' lists",
			file->path);
}

/* In the last report of a run without events: files that no process has mapped. */
static void probe_files_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct probe_files *files = self;

	if (scope != ATTAR_SCOPE_WHOLE || !files->list.n || report->notes.seen)
		return;
	look_at_processes(run, files);
	vec_each (&files->list, file)
		if (!file->is_mapped)
			remark_on(files, file, report);
}

const struct run_part part_probe_files = {.size = sizeof(struct probe_files),
	.opened = probe_files_open,
	.record = probe_files_record,
	.remark = probe_files_remark,
	.free = probe_files_free};
