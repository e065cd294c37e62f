/* SPDX-License-Identifier: MIT */
/* Runs the profiler `profile` from a program, for half a second. */
#include <stdio.h>

#include <attar/attar-run.h>

static int print(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	return attar_renderer_draw(ctx, report);
}

static void note(void *ctx, enum attar_level level, const char *text)
{
	if (level != ATTAR_DEBUG)
		fprintf(stderr, "%s\n", text);
}

int main(void)
{
	struct attar_render_opts how = {.size = sizeof(how), .max_rows = 10};
	struct attar_run_hooks hooks = {.size = sizeof(hooks), .report = print};
	struct attar_renderer *renderer;
	struct attar_run *run;
	int r;

	attar_log_set(note, NULL);
	if (attar_renderer_new("text", stdout, &how, &renderer) < 0 ||
		attar_run_new("profile", &run) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	hooks.ctx = renderer;
	attar_run_set(run, "duration", "500ms");
	r = attar_run_go(run, &hooks);
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	attar_run_free(run);
	attar_renderer_free(renderer);
	return r < 0;
}
