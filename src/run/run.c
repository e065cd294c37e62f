/* SPDX-License-Identifier: MIT */
/* Creates and frees a run. */
#include "base/check_arg.h"
#include "run/directory.h"
#include "run/input/replay.h"
#include "run/parts.h"
#include "run/events/sources.h"
#include "run/run.h"

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
	run->select.own_pid = getpid();
	run->profiler = profiler;
	run->directory = directory;
	run->command.status = -1;
	run->select.bit = 1;
	run->sources.ops = &run_source_ops;
	run->sources.ctx = run;
	r = parts_init(&run->parts, run_parts);
	if (r == 0)
		r = PARTS_CALL(run, create);
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
	parts_detach(run);
	attar_stream_free(run->stream);
	replay_close(run);
	sources_done(&run->sources);
	parts_free(run);
	attar_target_free(run->target);
	attar_symbols_free(run->symbols);
	attar_catalog_free(run->catalog);
	lines_done(&run->lines);
	select_done(&run->select);
	vec_done(&run->command.environment);
	intern_done(&run->texts);
	clock_done(&run->clock);
	parts_done(&run->parts);
	free(run->self);
	free(run);
	return NULL;
}
