/* SPDX-License-Identifier: MIT */
/* Finds profilers by name. attar_builtin_profilers() is made by tools/profilers. */
#include "attar/builtin.h"
#include "attar/run.h"
#include "base/check_arg.h"
#include "base/suggest.h"
#include "presets/presets.h"
#include "run/directory.h"

static const struct run_directory directory = {
	.list = attar_profilers, .check_option = preset_check_option};

const struct attar_profiler *profiler_find(const char *name)
{
	CHECK_ARG_OR(name, "name", NULL);

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}

static int no_profiler(const char *name)
{
	struct suggest s = {.word = name};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&s, (*p)->name);
	if (s.best)
		return attar_fail(-ENOENT, "no such profiler '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), s.best);
	return attar_fail(
		-ENOENT, "no such profiler '%s'" ATTAR_FIX "'attar -h' lists them", CLIP(name));
}

int attar_run_new(const char *name, struct attar_run **ret_run)
{
	CHECK_ARG(name, "profiler");
	CHECK_ARG(ret_run, "ret_run");

	const struct attar_profiler *profiler = profiler_find(name);

	return profiler ? attar_run_from(profiler, ret_run) : no_profiler(name);
}

int attar_run_from(const struct attar_profiler *profiler, struct attar_run **ret_run)
{
	CHECK_ARG(profiler, "profiler");
	CHECK_ARG(ret_run, "ret_run");
	CHECK_ARG(profiler->name, "profiler->name");
	CHECK_ARG(profiler->open, "profiler->open");
	CHECK_ARG(profiler->report, "profiler->report");
	if (!*profiler->name)
		return attar_fail(-EINVAL, "attar_run_from(): profiler->name is empty");

	return run_create(profiler, &directory, ret_run);
}
