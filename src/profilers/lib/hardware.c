/* SPDX-License-Identifier: MIT */
#include "lib/hardware.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices/"

/* CPU PMUs: cpu, cpu_core and cpu_atom on x86; armv8_... on arm64. */
bool hardware_has_pmu(void)
{
	glob_t found;
	bool has = glob(DEVICES "cpu", 0, NULL, &found) == 0 ||
		   glob(DEVICES "cpu_*", GLOB_APPEND, NULL, &found) == 0 ||
		   glob(DEVICES "armv[89]_*", GLOB_APPEND, NULL, &found) == 0;

	globfree(&found);
	return has;
}

bool hardware_has(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), DEVICES "%s", path);
	return access(whole, F_OK) == 0;
}

int hardware_require_pmu(const struct attar_run *run)
{
	if (!attar_run_is_live(run) || hardware_has_pmu())
		return 0;
	return attar_fail(-EOPNOTSUPP,
		"%s needs CPUs with hardware counters (a PMU), and this machine has none" ATTAR_FIX
		"for a virtual machine, enable a virtual PMU on the host",
		attar_run_profiler(run)->name);
}

static int add_source(struct attar_run *run, const struct attar_event_spec *spec,
	const struct hardware_sampling *sampling, attar_event_fn *fn)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int r = attar_event_spec_attr(spec, &attr, sizeof(attr));

	attr.sample_type |= PERF_SAMPLE_IP | sampling->fields;
	attr.freq = 0;
	attr.sample_period = sampling->period;
	attr.exclude_host |= sampling->exclude_host;
	attr.exclude_guest |= sampling->exclude_guest;
	return r == 0 ? attar_run_source(run, spec->name, &attr, fn) : r;
}

int hardware_add_source(struct attar_run *run, const char *text,
	const struct hardware_sampling *sampling, attar_event_fn *fn)
{
	struct attar_event_list *events;
	int r = attar_event_list_parse(attar_run_catalog(run), text, &events);

	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	r = events->n == 1 ? add_source(run, &events->at[0], sampling, fn)
			   : attar_fail(-EINVAL,
				     "--event: '%s' matches %zu events: exactly one is required",
				     text, events->n);
	attar_event_list_free(events);
	return r;
}

/* "vendor_id : AuthenticAMD", "cpu family : 25", "model : 17", in this order */
static bool take_line(struct hardware_cpu *cpu, const char *line)
{
	if (strncmp(line, "vendor_id", 9) == 0)
		cpu->vendor = strstr(line, "GenuineIntel")   ? HARDWARE_INTEL
			      : strstr(line, "AuthenticAMD") ? HARDWARE_AMD
							     : HARDWARE_OTHER;
	sscanf(line, "cpu family : %u", &cpu->family);
	return sscanf(line, "model : %u", &cpu->model) == 1;
}

struct hardware_cpu hardware_get_cpu(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	struct hardware_cpu cpu = {0};
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (take_line(&cpu, line))
			break;
	if (file)
		fclose(file);
	return cpu;
}
