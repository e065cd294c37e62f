/* SPDX-License-Identifier: MIT */
/*
 * attar_event_list_parse() on arbitrary text, on a simulated machine with two core types, uncore
 * instances, probes and some tracepoints. The results must be consistent: names, groups, lists of
 * CPUs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/event.h"
#include "../tests/unit/folder.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct attar_catalog *catalog;

#define PMU "sys/bus/event_source/devices/"

static void make_pmus(void)
{
	folder_line(PMU "cpu_core/type", "4");
	folder_line(PMU "cpu_core/cpus", "0-3");
	folder_line(PMU "cpu_core/format/event", "config:0-7,32-35");
	folder_line(PMU "cpu_core/format/umask", "config:8-15");
	folder_line(PMU "cpu_core/format/ldlat", "config1:0-15");
	folder_line(PMU "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	folder_line(PMU "cpu_core/caps/max_precise", "3");
	folder_line(PMU "cpu_atom/type", "10");
	folder_line(PMU "cpu_atom/cpus", "4-7");
	folder_line(PMU "cpu_atom/format/event", "config:0-7");
	folder_line(PMU "uncore_imc_0/type", "20");
	folder_line(PMU "uncore_imc_0/cpumask", "0");
	folder_line(PMU "uncore_imc_0/format/event", "config:0-7");
	folder_line(PMU "uncore_imc_0/events/reads", "event=?");
	folder_line(PMU "uncore_imc_0/events/reads.unit", "MiB");
	folder_line(PMU "uncore_imc_0/events/reads.scale", "6.1e-5");
	folder_line(PMU "uncore_imc_1/type", "21");
	folder_line(PMU "uncore_imc_1/format/event", "config:0-7");
	folder_line(PMU "msr/type", "9");
	folder_line(PMU "msr/events/tsc", "config=0x0");
	folder_line(PMU "kprobe/type", "6");
	folder_line(PMU "kprobe/format/retprobe", "config:0");
	folder_line(PMU "uprobe/type", "7");
	folder_line(PMU "uprobe/format/retprobe", "config:0");
	folder_line(PMU "uprobe/format/ref_ctr_offset", "config:32-63");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const profilers[] = {"profile", "bpf:kvm_exit", NULL};
	struct attar_catalog_opts opts = {.size = sizeof(opts), .profilers = profilers};
	const char *root = folder_make();
	char sys[128], tracing[128], proc[128];

	make_pmus();
	folder_tracepoint("sched", "sched_switch", 300);
	folder_tracepoint("sched", "sched_wakeup", 301);
	folder_tracepoint("irq", "softirq_entry", 302);
	folder_line(
		"proc/kallsyms", "ffffffff81000000 T do_nanosleep\nffffffff81000100 t vfs_read\n");
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(tracing, sizeof(tracing), "%s/tracing", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	opts.sysfs = sys;
	opts.tracefs = tracing;
	opts.proc = proc;
	return attar_catalog_new(&opts, &catalog);
}

/* Columns are positions in the string; members agree with the attributes. */
static void check_attributes(const struct attar_event_spec *e)
{
	size_t n = strlen(e->text);

	if (e->column < 1 || e->column > n || e->filter_column > n + 1 ||
		(e->filter && !e->filter_column) || (e->period && e->freq))
		abort();
	for (size_t i = 0; i < e->n_options; i++) {
		const struct attar_event_option *o = &e->options[i];

		if (!o->name[0] || o->column < 1 || o->column > n || o->value_column > n ||
			!o->value != !o->value_column ||
			strncmp(e->text + o->column - 1, o->name, strlen(o->name)))
			abort();
	}
	if (e->max_stack && !e->stack)
		abort();
	if (e->alias && strcmp(e->alias, e->name))
		abort();
	for (size_t i = 1; i < e->n_only_cpus; i++)
		if (e->only_cpus[i] <= e->only_cpus[i - 1])
			abort();
	if (!e->profiler != (e->kind != ATTAR_EVENT_PROFILER))
		abort();
	for (size_t i = 0; e->profiler && i <= e->n_arguments; i++)
		if (!e->arguments[i] != (i == e->n_arguments))
			abort();
}

static void check(const struct attar_event_list *list)
{
	char attr[144];

	for (size_t i = 0; i < list->n; i++) {
		const struct attar_event_spec *e = &list->at[i];

		memset(attr, 0, sizeof(attr));
		if (!e->name || !e->unit || !(e->scale > 0) ||
			attar_event_spec_attr(e, attr, sizeof(attr)) < 0)
			abort();
		if (strlen(e->name) > (1 << 21) || e->group >= (int)list->n_groups ||
			e->precise_ip > 3)
			abort();
		if (i && e->group >= 0 && list->at[i - 1].group > e->group)
			abort();
		for (size_t j = 0; j < e->n_cpus; j++)
			if (e->cpus[j] < 0)
				abort();
		check_attributes(e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attar_event_list *list = NULL;
	char *text = malloc(size + 1);
	int r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	r = attar_event_list_parse(catalog, text, &list);
	if ((r < 0) != (list == NULL) || (r < 0 && !attar_error()[0]))
		abort();
	if (list)
		check(list);
	attar_event_list_free(list);
	free(text);
	return 0;
}
