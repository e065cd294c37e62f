/* SPDX-License-Identifier: MIT */
/* Files of the memory of the system. */
#include <string.h>

#include "proc.h"

void proc_meminfo_line(struct proc_parser *p, char *line)
{
	char key[128], unit[16] = "";
	unsigned long long value;

	if (sscanf(line, "%127[^:]: %llu %15s", key, &value, unit) >= 2) {
		PROC_ENTRY(ProcMeminfoEntry);
		if (e)
			*e = (struct ProcMeminfoEntry){
				proc_text(p, key), value, proc_text(p, unit)};
	}
}

void proc_vmstat_line(struct proc_parser *p, char *line)
{
	char key[128];
	unsigned long long value;

	if (sscanf(line, "%127s %llu", key, &value) == 2) {
		PROC_ENTRY(ProcVmstatEntry);
		if (e)
			*e = (struct ProcVmstatEntry){proc_text(p, key), value};
	}
}

void proc_slabinfo_line(struct proc_parser *p, char *line)
{
	char name[128];
	struct ProcSlabinfoEntry *e;

	if (strncmp(line, "slabinfo", 8) == 0 || *line == '#' || !(e = proc_add_entry(p)))
		return;
	sscanf(line,
		"%127s %llu %llu %llu %llu %llu : tunables %llu %llu %llu : slabdata %llu %llu "
		"%llu",
		name, &e->activeObjs, &e->numObjs, &e->objsize, &e->objperslab, &e->pagesperslab,
		&e->limit, &e->batchcount, &e->sharedfactor, &e->activeSlabs, &e->numSlabs,
		&e->sharedavail);
	e->name = proc_text(p, name);
}

void proc_buddyinfo_line(struct proc_parser *p, char *line)
{
	char zone[64];
	int used = 0, node;
	struct ProcBuddyinfoEntry *e;

	if (sscanf(line, "Node %d, zone %63s%n", &node, zone, &used) != 2 ||
		!(e = proc_add_entry(p)))
		return;
	e->node = node;
	e->zone = proc_text(p, "zone");
	e->zoneName = proc_text(p, zone);
	e->orders = proc_numbers(p, line + used, &e->numOrders);
}

static void zone_number(struct ProcZoneinfoEntry *e, const char *key, unsigned long long value)
{
	const struct {
		const char *key;
		unsigned long long *to;
	} known[] = {{"min", &e->pagesMin}, {"low", &e->pagesLow}, {"high", &e->pagesHigh},
		{"spanned", &e->pagesSpanned}, {"present", &e->pagesPresent},
		{"managed", &e->pagesManaged}, {"cma", &e->pagesCma}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(key, known[i].key) == 0)
			*known[i].to = value;
}

static void zone_pageset(struct proc_parser *p, struct ProcZoneinfoEntry *e, const char *line)
{
	struct ProcZoneinfoPageset *last = e->numPagesets ? &e->pagesets[e->numPagesets - 1] : NULL;
	unsigned long long value;
	int cpu;

	if (sscanf(line, " cpu: %d", &cpu) == 1) {
		last = proc_grow(p, e->pagesets, e->numPagesets, sizeof(*last));
		if (!last)
			return;
		e->pagesets = last;
		last[e->numPagesets++] = (struct ProcZoneinfoPageset){.cpuId = cpu};
	} else if (last && sscanf(line, " count: %llu", &value) == 1) {
		last->count = value;
	} else if (last && sscanf(line, " high: %llu", &value) == 1) {
		last->high = value;
	} else if (last && sscanf(line, " batch: %llu", &value) == 1) {
		last->batch = value;
	} else if (last && sscanf(line, " vm stats threshold: %llu", &value) == 1) {
		last->vmStatsThreshold = value;
	}
}

void proc_zoneinfo_line(struct proc_parser *p, char *line)
{
	struct ProcZoneinfoEntry *e = proc_last_entry(p);
	char key[64], zone[64];
	unsigned long long value;
	int node;

	if (sscanf(line, "Node %d, zone %63s", &node, zone) == 2) {
		e = proc_add_entry(p);
		p->of_zone = false;
		if (e) {
			e->node = node;
			e->zone = proc_text(p, zone);
		}
	} else if (!e) {
		return;
	} else if (sscanf(line, " pages free %llu", &value) == 1) {
		e->pagesFree = value;
		p->of_zone = true;
	} else if (strstr(line, "protection:")) {
		e->protection = proc_trimmed(p, strchr(line, ':') + 1);
	} else if (sscanf(line, " node_unreclaimable: %63s", key) == 1) {
		e->nodeUnreclaimable = proc_text(p, key);
	} else if (sscanf(line, " start_pfn: %63s", key) == 1) {
		e->startPfn = proc_text(p, key);
	} else if (strchr(line, ':')) {
		zone_pageset(p, e, line);
	} else if (sscanf(line, " %63s %llu", key, &value) == 2) {
		bool of_node = !p->of_zone;

		zone_number(e, key, value);
		snprintf(zone, sizeof(zone), "%llu", value);
		proc_add_field(p, of_node ? &e->nodeStats : &e->stats,
			of_node ? &e->numNodeStats : &e->numStats, key, strlen(key), zone);
	}
}
