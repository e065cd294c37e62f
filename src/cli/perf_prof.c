/* SPDX-License-Identifier: MIT */
#include "cli/perf_prof.h"

#include "base/base.h"

static bool is_on;

void perf_prof_begin(const char *program)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	is_on = program && !strcmp(slash ? slash + 1 : program, "perf-prof");
}

bool perf_prof_is_on(void)
{
	return is_on;
}

bool perf_prof_hides(const char *text)
{
	static const char *const asked[] = {
		"own CPU usage: ", "ended by "}; /* --usage-self, --sampling-limit */

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		if (!strncmp(text, asked[i], strlen(asked[i])))
			return false;
	return is_on;
}

/* The options of a profiler; profiler NULL: of all that have the option. */
static const struct {
	const char *profiler, *option, *value;
} defaults[] = {
	{NULL, "allow-exec", NULL},
	{"profile", "print-samples", NULL},
	{"profile", "exclude_pid", "0"}, /* idle CPUs */
	{"page-faults", "detail", NULL},
	{"misc", "records", "ksymbol,bpf,cgroup,text-poke"},
	{"syscalls", "avg", NULL},
	{NULL, "print-beyond", NULL},
	{"multi-trace", "kernel-filter", NULL},
	{"rundelay", "kernel-filter", NULL},
	{"task-state", "kernel-filter", NULL},
	{"cpu-util", "interval", "1000"},
	{"hrcount", "interval", "1000"},
	{"hwstat", "interval", "1000"},
	{"llcstat", "interval", "1000"},
	{"oncpu", "interval", "1000"},
	{"percpu-stat", "interval", "1000"},
	{"stat", "interval", "1000"},
	{"tlbstat", "interval", "1000"},
	{"top", "interval", "1000"},
};

static bool has_option(const struct attar_run *run, const char *name)
{
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (!strcmp(o->name, name))
				return true;
	return false;
}

int perf_prof_set_defaults(struct attar_run *run)
{
	const char *name = attar_run_profiler(run)->name;
	int r = 0;

	for (size_t i = 0; is_on && r == 0 && i < ARRAY_SIZE(defaults); i++)
		if (!defaults[i].profiler ? has_option(run, defaults[i].option)
					  : !strcmp(defaults[i].profiler, name))
			r = attar_run_set(run, defaults[i].option, defaults[i].value);
	return r;
}
