/* SPDX-License-Identifier: MIT */
/* Creates and frees a run. */
#include "base/check_arg.h"
#include "run/source/actions.h"
#include "run/source/expressions.h"
#include "run/parts.h"
#include "run/run.h"
#include "stream/stream.h"
#include "symbol/dso.h"

int run_create(const struct attar_profiler *profiler, const struct run_directory *directory,
	struct attar_run **ret_run)
{
	struct attar_run *run;
	int r;

	run = calloc(1, sizeof(*run));
	if (!run || !(run->self = calloc(1, MAX(profiler->self_size, (size_t)1)))) {
		free(run);
		return base_oom();
	}
	run->process = check_process;
	run->own_pid = getpid();
	run->profiler = profiler;
	run->directory = directory;
	run->command.status = -1;
	run->select.bit = 1;
	run->sources.ops = &run_source_ops;
	run->sources.ctx = run;
	run_poll_init(&run->poll);
	r = stop_init(&run->stop);
	if (r == 0)
		r = parts_init(&run->parts, run_parts);
	if (r == 0)
		r = options_init(run);
	if (r < 0) {
		attar_run_free(run);
		return r;
	}
	common_defaults(&run->opts);
	if (profiler->defaults)
		profiler->defaults(run->self);
	*ret_run = run;
	return 0;
}

struct attar_run *attar_run_free(struct attar_run *run)
{
	if (!run)
		return NULL;
	if (run->profiler->close)
		run->profiler->close(run->self);
	task_watch_close(run);
	parts_detach(run);
	attar_stream_free(run->stream);
	replay_close(run);
	expressions_done(run);
	sources_done(&run->sources);
	emitters_free(run);
	run_emitted_done(&run->emitted);
	hosts_done(run);
	counts_done(run);
	attar_target_free(run->target);
	attar_symbols_free(run->symbols);
	attar_catalog_free(run->catalog);
	free(run->profilers);
	lines_done(&run->lines);
	result_files_done(&run->result_files);
	place_done(&run->database);
	select_done(&run->select);
	sample_filter_done(&run->sample_filter);
	options_done(&run->options);
	intern_done(&run->texts);
	buf_done(&run->printed);
	buf_done(&run->unfinished);
	run_poll_done(&run->poll);
	clock_done(&run->clock);
	stop_done(&run->stop);
	parts_free(run);
	free(run->self);
	free(run);
	return NULL;
}
