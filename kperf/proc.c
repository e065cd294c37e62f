/* SPDX-License-Identifier: MIT */
/*
 * The files of enum ProcSource, each parsed by one function into an array of its entries.
 *
 * Formats: proc(5), Documentation/filesystems/proc.rst of the kernel.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "pmu.h"

/* ---- memory ---- */

/* All memory of one ProcData, freed together. */
struct block {
	struct block *next;
	_Alignas(16) char bytes[];
};

/* What is known of a source that is being parsed. */
struct parsing {
	struct block *blocks;
	void *entries;
	size_t entry_size;
	unsigned n, room;
	bool failed; /* out of memory */
};

static void *take(struct parsing *p, size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + size);

	if (!block) {
		p->failed = true;
		return NULL;
	}
	block->next = p->blocks;
	p->blocks = block;
	return block->bytes;
}

static char *text_n(struct parsing *p, const char *text, size_t n)
{
	char *copy = take(p, n + 1);

	return copy ? memcpy(copy, text, n) : NULL;
}

static char *text_of(struct parsing *p, const char *text)
{
	return text_n(p, text, strlen(text));
}

/* The text without blanks around it. */
static char *trimmed(struct parsing *p, const char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	return text_n(p, text, n);
}

/* A zeroed entry at the end; valid until the next one. */
static void *add_entry(struct parsing *p)
{
	if (p->n == p->room) {
		unsigned room = p->room ? p->room * 2 : 8;
		void *entries = reallocarray(p->entries, room, p->entry_size);

		if (!entries) {
			p->failed = true;
			return NULL;
		}
		p->entries = entries;
		p->room = room;
	}
	return memset((char *)p->entries + p->n++ * p->entry_size, 0, p->entry_size);
}

static void *last_entry(struct parsing *p)
{
	return p->n > 0 ? (char *)p->entries + (p->n - 1) * p->entry_size : NULL;
}

/* An array that grows by one; blocks of earlier sizes are freed with the source. */
static void *grow(struct parsing *p, const void *old, size_t n, size_t size)
{
	void *new;

	if (n > 0 && (n & (n - 1)) != 0)
		return (void *)old; /* there is room up to the next power of two */
	new = take(p, (n > 0 ? n * 2 : 1) * size);
	if (new &&n > 0)
		memcpy(new, old, n * size);
	return new;
}

static void add_field(struct parsing *p, struct ProcField **fields, unsigned *n, const char *key,
	size_t key_len, const char *value)
{
	struct ProcField *array = grow(p, *fields, *n, sizeof(*array));

	if (!array)
		return;
	*fields = array;
	array[*n] = (struct ProcField){.key = text_n(p, key, key_len), .value = trimmed(p, value)};
	++*n;
}

/* All numbers of a line. */
static unsigned long long *numbers_of(struct parsing *p, char *line, unsigned *ret_n)
{
	unsigned long long *array = NULL, value;
	char *end;

	for (*ret_n = 0; value = strtoull(line, &end, 10), end != line; line = end) {
		array = grow(p, array, *ret_n, sizeof(*array));
		if (!array)
			return NULL;
		array[(*ret_n)++] = value;
	}
	return array;
}

/* ---- lines ---- */

typedef void line_fn(struct parsing *p, char *line);

static void each_line(struct parsing *p, FILE *file, line_fn *fn)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, file)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			line[n - 1] = '\0';
		fn(p, line);
	}
	free(line);
}

#define ENTRY(type) struct type *e = add_entry(p)

static void stat_line(struct parsing *p, char *line)
{
	static const struct {
		const char *name;
		enum ProcStatLineType type;
	} kinds[] = {
		{"intr ", PROC_STAT_LINE_INTR},
		{"ctxt ", PROC_STAT_LINE_CTXT},
		{"btime ", PROC_STAT_LINE_BTIME},
		{"processes ", PROC_STAT_LINE_PROCESSES},
		{"procs_running ", PROC_STAT_LINE_PROCS_RUNNING},
		{"procs_blocked ", PROC_STAT_LINE_PROCS_BLOCKED},
		{"softirq ", PROC_STAT_LINE_SOFTIRQ},
	};
	size_t name = strcspn(line, " ");
	unsigned n = 0;
	ENTRY(ProcStatEntry);

	if (!e)
		return;
	if (strncmp(line, "cpu", 3) == 0) {
		e->cpuName = text_n(p, line, name);
		sscanf(line + name, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &e->user,
			&e->nice, &e->system, &e->idle, &e->ioWait, &e->irq, &e->softirq, &e->steal,
			&e->guest, &e->guestNice);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(line, kinds[i].name, strlen(kinds[i].name)) == 0)
			e->lineType = kinds[i].type;
	line += name;
	switch (e->lineType) {
	case PROC_STAT_LINE_INTR:
	case PROC_STAT_LINE_SOFTIRQ: {
		bool is_intr = e->lineType == PROC_STAT_LINE_INTR;
		unsigned long long total = strtoull(line, &line, 10);
		unsigned long long *each = numbers_of(p, line, &n);

		*(is_intr ? &e->intrTotal : &e->softirqTotal) = total;
		*(is_intr ? &e->intrPerIrq : &e->softirqPerType) = each;
		*(is_intr ? &e->numIntrPerIrq : &e->numSoftirqPerType) = n;
		return;
	}
	case PROC_STAT_LINE_CTXT:
		e->ctxt = strtoull(line, NULL, 10);
		return;
	case PROC_STAT_LINE_BTIME:
		e->btime = strtoull(line, NULL, 10);
		return;
	case PROC_STAT_LINE_PROCESSES:
		e->processes = strtoull(line, NULL, 10);
		return;
	case PROC_STAT_LINE_PROCS_RUNNING:
		e->procsRunning = strtoull(line, NULL, 10);
		return;
	case PROC_STAT_LINE_PROCS_BLOCKED:
		e->procsBlocked = strtoull(line, NULL, 10);
		return;
	default:
		p->n--; /* a line of a newer kernel */
	}
}

/* "key : value"; an empty line, or the first key again, begins the next entry. */
static void record_line(struct parsing *p, char *line)
{
	struct ProcCpuinfoEntry *e = last_entry(p);
	char *colon = strchr(line, ':');
	size_t key;

	if (!colon) {
		if (p->n > 0 && e->numFields > 0)
			add_entry(p);
		return;
	}
	if (!e)
		e = add_entry(p);
	for (key = (size_t)(colon - line); key > 0 && isspace((unsigned char)line[key - 1]); key--)
		;
	if (e)
		add_field(p, &e->fields, &e->numFields, line, key, colon + 1);
}

static void meminfo_line(struct parsing *p, char *line)
{
	char key[128], unit[16] = "";
	unsigned long long value;

	if (sscanf(line, "%127[^:]: %llu %15s", key, &value, unit) >= 2) {
		ENTRY(ProcMeminfoEntry);
		if (e)
			*e = (struct ProcMeminfoEntry){text_of(p, key), value, text_of(p, unit)};
	}
}

static void loadavg_line(struct parsing *p, char *line)
{
	ENTRY(ProcLoadavgEntry);

	if (e)
		sscanf(line, "%lf %lf %lf %u/%u %d", &e->load1, &e->load5, &e->load15,
			&e->runningProcs, &e->totalProcs, &e->lastPid);
}

static void vmstat_line(struct parsing *p, char *line)
{
	char key[128];
	unsigned long long value;

	if (sscanf(line, "%127s %llu", key, &value) == 2) {
		ENTRY(ProcVmstatEntry);
		if (e)
			*e = (struct ProcVmstatEntry){text_of(p, key), value};
	}
}

static void net_dev_line(struct parsing *p, char *line)
{
	char *colon = strchr(line, ':');
	struct ProcNetDevEntry *e = colon ? add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->iface = trimmed(p, line);
	sscanf(colon + 1,
		"%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu",
		&e->rxBytes, &e->rxPackets, &e->rxErrs, &e->rxDrop, &e->rxFifo, &e->rxFrame,
		&e->rxCompressed, &e->rxMulticast, &e->txBytes, &e->txPackets, &e->txErrs,
		&e->txDrop, &e->txFifo, &e->txColls, &e->txCarrier, &e->txCompressed);
}

static void diskstats_line(struct parsing *p, char *line)
{
	char device[64] = "";
	ENTRY(ProcDiskstatsEntry);

	if (!e)
		return;
	sscanf(line,
		"%d %d %63s %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
		"%llu "
		"%llu %llu",
		&e->major, &e->minor, device, &e->readsCompleted, &e->readsMerged, &e->sectorsRead,
		&e->msReading, &e->writesCompleted, &e->writesMerged, &e->sectorsWritten,
		&e->msWriting, &e->iosInProgress, &e->msIos, &e->weightedMsIos,
		&e->discardsCompleted, &e->discardsMerged, &e->sectorsDiscarded, &e->msDiscarding,
		&e->flushCompleted, &e->msFlushing);
	e->device = text_of(p, device);
}

static void uptime_line(struct parsing *p, char *line)
{
	ENTRY(ProcUptimeEntry);

	if (e)
		sscanf(line, "%lf %lf", &e->total, &e->idle);
}

/* The words of a line; those that it does not have are "". */
static void words_of(struct parsing *p, char *line, char **const *words, size_t n)
{
	char *save = NULL;

	for (size_t i = 0; i < n; i++) {
		char *word = strtok_r(i == 0 ? line : NULL, " \t", &save);

		*words[i] = text_of(p, word ? word : "");
	}
}

static void mounts_line(struct parsing *p, char *line)
{
	char *dump, *pass;
	ENTRY(ProcMountsEntry);

	if (!e)
		return;
	words_of(p, line,
		(char **[]){&e->device, &e->mountPoint, &e->fsType, &e->options, &dump, &pass}, 6);
	e->dump = dump ? atoi(dump) : 0;
	e->passVal = pass ? atoi(pass) : 0;
}

static void softirqs_line(struct parsing *p, char *line)
{
	char *colon = strchr(line, ':');
	struct ProcSoftirqsEntry *e = colon ? add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->type = trimmed(p, line);
	e->perCpu = numbers_of(p, colon + 1, &e->numCpus);
}

static void slabinfo_line(struct parsing *p, char *line)
{
	char name[128];
	struct ProcSlabinfoEntry *e;

	if (strncmp(line, "slabinfo", 8) == 0 || *line == '#' || !(e = add_entry(p)))
		return;
	sscanf(line,
		"%127s %llu %llu %llu %llu %llu : tunables %llu %llu %llu : slabdata %llu %llu "
		"%llu",
		name, &e->activeObjs, &e->numObjs, &e->objsize, &e->objperslab, &e->pagesperslab,
		&e->limit, &e->batchcount, &e->sharedfactor, &e->activeSlabs, &e->numSlabs,
		&e->sharedavail);
	e->name = text_of(p, name);
}

static void schedstat_domain(struct parsing *p, char *line)
{
	struct ProcSchedstatEntry *e = last_entry(p);
	struct ProcSchedstatDomainEntry *domains, *domain;
	char mask[1024] = "";
	int id = 0, used = 0;

	if (!e || sscanf(line, "domain%d %1023s%n", &id, mask, &used) != 2)
		return;
	domains = grow(p, e->domains, e->numDomains, sizeof(*domains));
	if (!domains)
		return;
	e->domains = domains;
	domain = &domains[e->numDomains++];
	domain->domainId = id;
	domain->mask = text_of(p, mask);
	domain->values = numbers_of(p, line + used, &domain->numValues);
}

static void schedstat_line(struct parsing *p, char *line)
{
	struct ProcSchedstatEntry *e;

	if (strncmp(line, "domain", 6) == 0)
		schedstat_domain(p, line);
	if (strncmp(line, "cpu", 3) != 0 || !(e = add_entry(p)))
		return;
	sscanf(line, "cpu%d %llu %*u %llu %llu %llu %llu %llu %llu %llu", &e->cpuId, &e->yldCount,
		&e->schedCount, &e->schedGoidle, &e->ttwuCount, &e->ttwuLocal, &e->rqCpuTime,
		&e->runDelay, &e->pcount);
}

static void interrupts_line(struct parsing *p, char *line)
{
	char *colon = strchr(line, ':'), *at;
	struct ProcInterruptsEntry *e = colon ? add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->irq = trimmed(p, line);
	e->perCpu = numbers_of(p, colon + 1, &e->numCpus);
	at = colon + 1;
	for (unsigned i = 0; i < e->numCpus; i++)
		strtoull(at, &at, 10);
	e->description = trimmed(p, at);
}

/* The whole line is the only member, a text. */
static void text_line(struct parsing *p, char *line)
{
	ENTRY(ProcVersionEntry);

	if (e)
		e->version = text_of(p, line);
}

static void locks_line(struct parsing *p, char *line)
{
	static const char *const keys[] = {
		"id", "type", "mode", "access", "pid", "inode", "start", "end"};
	char *save = NULL;
	size_t i = 0;
	ENTRY(ProcLocksEntry);

	for (char *word = strtok_r(line, " ", &save); e && word && i < 8;
		word = strtok_r(NULL, " ", &save)) {
		if (strcmp(word, "->") == 0)
			continue;
		add_field(p, &e->fields, &e->numFields, keys[i], strlen(keys[i]), word);
		i++;
	}
}

static void buddyinfo_line(struct parsing *p, char *line)
{
	char zone[64];
	int used = 0, node;
	struct ProcBuddyinfoEntry *e;

	if (sscanf(line, "Node %d, zone %63s%n", &node, zone, &used) != 2 || !(e = add_entry(p)))
		return;
	e->node = node;
	e->zone = text_of(p, "zone");
	e->zoneName = text_of(p, zone);
	e->orders = numbers_of(p, line + used, &e->numOrders);
}

/* "TCP: inuse 5 orphan 0": pairs of keys and values. */
static void sockstat_line(struct parsing *p, char *line)
{
	char *colon = strchr(line, ':'), *save = NULL;
	struct ProcNetSockstatEntry *e = colon ? add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->protocol = text_of(p, line);
	for (char *key = strtok_r(colon + 1, " ", &save), *value;
		key && (value = strtok_r(NULL, " ", &save)); key = strtok_r(NULL, " ", &save))
		add_field(p, &e->fields, &e->numFields, key, strlen(key), value);
}

/* Two lines each: the names, then the values. */
static void netstat_line(struct parsing *p, char *line)
{
	char *colon = strchr(line, ':'), *save = NULL;
	struct ProcNetNetstatEntry *e = last_entry(p);
	unsigned i = 0;

	if (!colon)
		return;
	*colon = '\0';
	if (!e || strcmp(e->category, line) != 0) {
		e = add_entry(p);
		if (e)
			e->category = text_of(p, line);
		for (char *key = strtok_r(colon + 1, " ", &save); e && key;
			key = strtok_r(NULL, " ", &save))
			add_field(p, &e->fields, &e->numFields, key, strlen(key), "");
		return;
	}
	for (char *value = strtok_r(colon + 1, " ", &save); value && i < e->numFields;
		value = strtok_r(NULL, " ", &save))
		e->fields[i++].value = text_of(p, value);
}

static void arp_line(struct parsing *p, char *line)
{
	struct ProcNetArpEntry *e;

	if (strncmp(line, "IP address", 10) == 0 || !(e = add_entry(p)))
		return;
	words_of(p, line,
		(char **[]){
			&e->ipAddress, &e->hwType, &e->flags, &e->hwAddress, &e->mask, &e->device},
		6);
}

static void modules_line(struct parsing *p, char *line)
{
	char *size, *count;
	ENTRY(ProcModulesEntry);

	if (!e)
		return;
	words_of(p, line,
		(char **[]){&e->name, &size, &count, &e->usedBy, &e->state, &e->address, &e->taint},
		7);
	e->size = size ? strtoull(size, NULL, 10) : 0;
	e->usedCount = count ? atoi(count) : 0;
}

static void filesystems_line(struct parsing *p, char *line)
{
	ENTRY(ProcFilesystemsEntry);

	if (!e)
		return;
	e->nodev = strncmp(line, "nodev", 5) == 0;
	e->fsType = trimmed(p, e->nodev ? line + 5 : line);
}

static void scsi_line(struct parsing *p, char *line)
{
	char a[64] = "", b[64] = "", c[64] = "", d[64] = "";
	struct ProcScsiEntry *e = last_entry(p);

	if (sscanf(line, "Host: %63s Channel: %63s Id: %63s Lun: %63s", a, b, c, d) == 4) {
		e = add_entry(p);
		if (e)
			*e = (struct ProcScsiEntry){.host = text_of(p, a),
				.channel = text_of(p, b),
				.id = text_of(p, c),
				.lun = text_of(p, d)};
	} else if (e && sscanf(line, " Vendor: %63[^M]Model: %63[^R]Rev: %63s", a, b, c) >= 2) {
		e->vendor = trimmed(p, a);
		e->model = trimmed(p, b);
		e->rev = text_of(p, c);
	} else if (e && sscanf(line, " Type: %63s ANSI SCSI revision: %63s", a, b) >= 1) {
		e->type = text_of(p, a);
		e->ansiScsiRevision = text_of(p, b);
	}
}

static void pressure_line(struct parsing *p, char *line)
{
	char type[16];
	ENTRY(ProcPressureEntry);

	if (!e)
		return;
	if (sscanf(line, "%15s avg10=%lf avg60=%lf avg300=%lf total=%llu", type, &e->avg10,
		    &e->avg60, &e->avg300, &e->total) == 5)
		e->type = text_of(p, type);
	else
		p->n--;
}

/* ---- zoneinfo ---- */

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

static void zone_pageset(struct parsing *p, struct ProcZoneinfoEntry *e, const char *line)
{
	struct ProcZoneinfoPageset *last = e->numPagesets ? &e->pagesets[e->numPagesets - 1] : NULL;
	unsigned long long value;
	int cpu;

	if (sscanf(line, " cpu: %d", &cpu) == 1) {
		last = grow(p, e->pagesets, e->numPagesets, sizeof(*last));
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

static void zoneinfo_line(struct parsing *p, char *line)
{
	struct ProcZoneinfoEntry *e = last_entry(p);
	char key[64], zone[64];
	unsigned long long value;
	int node;

	if (sscanf(line, "Node %d, zone %63s", &node, zone) == 2) {
		e = add_entry(p);
		if (e) {
			e->node = node;
			e->zone = text_of(p, zone);
		}
	} else if (!e) {
		return;
	} else if (sscanf(line, " pages free %llu", &value) == 1) {
		e->pagesFree = value;
	} else if (strstr(line, "protection:")) {
		e->protection = trimmed(p, strchr(line, ':') + 1);
	} else if (sscanf(line, " node_unreclaimable: %63s", key) == 1) {
		e->nodeUnreclaimable = text_of(p, key);
	} else if (sscanf(line, " start_pfn: %63s", key) == 1) {
		e->startPfn = text_of(p, key);
	} else if (strchr(line, ':')) {
		zone_pageset(p, e, line);
	} else if (sscanf(line, " %63s %llu", key, &value) == 2) {
		bool of_node = !e->pagesFree && !e->pagesPresent;

		zone_number(e, key, value);
		snprintf(zone, sizeof(zone), "%llu", value);
		add_field(p, of_node ? &e->nodeStats : &e->stats,
			of_node ? &e->numNodeStats : &e->numStats, key, strlen(key), zone);
	}
}

/* ---- files of processes ---- */

static void pid_stat_line(struct parsing *p, char *line)
{
	char *open = strchr(line, '('), *close = strrchr(line, ')');
	struct ProcPidStatEntry *e = open && close ? add_entry(p) : NULL;

	if (!e)
		return;
	e->pid = atoi(line);
	e->comm = text_n(p, open + 1, (size_t)(close - open - 1));
	sscanf(close + 1,
		" %c %d %d %d %d %d %llu %llu %llu %llu %llu %llu %llu %lld %lld %d %d %d %lld "
		"%llu "
		"%llu %lld %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %d %d "
		"%u "
		"%u %llu %llu %lld %llu %llu %llu %llu %llu %llu %llu %d",
		&e->state, &e->ppid, &e->pgrp, &e->session, &e->ttyNr, &e->tpgid, &e->flags,
		&e->minflt, &e->cminflt, &e->majflt, &e->cmajflt, &e->utime, &e->stime, &e->cutime,
		&e->cstime, &e->priority, &e->niceVal, &e->numThreads, &e->itrealvalue,
		&e->starttime, &e->vsize, &e->rss, &e->rsslim, &e->startcode, &e->endcode,
		&e->startstack, &e->kstkesp, &e->kstkeip, &e->signal, &e->blocked, &e->sigignore,
		&e->sigcatch, &e->wchan, &e->nswap, &e->cnswap, &e->exitSignal, &e->processor,
		&e->rtPriority, &e->policy, &e->delayacctBlkioTicks, &e->guestTime, &e->cguestTime,
		&e->startData, &e->endData, &e->startBrk, &e->argStart, &e->argEnd, &e->envStart,
		&e->envEnd, &e->exitCode);
}

static void statm_line(struct parsing *p, char *line)
{
	ENTRY(ProcPidStatmEntry);

	if (e)
		sscanf(line, "%llu %llu %llu %llu %llu %llu %llu", &e->size, &e->resident,
			&e->shared, &e->text, &e->lib, &e->data, &e->dt);
}

static void io_line(struct parsing *p, char *line)
{
	struct ProcPidIoEntry *e = p->n > 0 ? last_entry(p) : add_entry(p);
	const struct {
		const char *format;
		unsigned long long *to;
	} known[] = {{"rchar: %llu", e ? &e->rchar : NULL}, {"wchar: %llu", e ? &e->wchar : NULL},
		{"syscr: %llu", e ? &e->syscr : NULL}, {"syscw: %llu", e ? &e->syscw : NULL},
		{"read_bytes: %llu", e ? &e->readBytes : NULL},
		{"write_bytes: %llu", e ? &e->writeBytes : NULL},
		{"cancelled_write_bytes: %llu", e ? &e->cancelledWriteBytes : NULL}};

	for (size_t i = 0; e && i < sizeof(known) / sizeof(known[0]); i++)
		sscanf(line, known[i].format, known[i].to);
}

/* A line without "key:" begins a mapping, the others are its fields. */
static void smaps_line(struct parsing *p, char *line)
{
	struct ProcPidSmapsEntry *e = last_entry(p);
	size_t key = strcspn(line, " :");

	if (line[key] != ':') {
		e = add_entry(p);
		if (e)
			e->mapping = text_of(p, line);
	} else if (e) {
		add_field(p, &e->fields, &e->numFields, line, key, line + key + 1);
	}
}

static void rollup_line(struct parsing *p, char *line)
{
	struct ProcPidSmapsRollupEntry *e = p->n > 0 ? last_entry(p) : add_entry(p);
	size_t key = strcspn(line, " :");

	if (e && line[key] == ':')
		add_field(p, &e->fields, &e->numFields, line, key, line + key + 1);
}

static void numa_maps_line(struct parsing *p, char *line)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);
	struct ProcPidNumaMapsEntry *e = word ? add_entry(p) : NULL;

	if (!e)
		return;
	e->address = text_of(p, word);
	while ((word = strtok_r(NULL, " ", &save))) {
		size_t key = strcspn(word, "=");

		add_field(p, &e->fields, &e->numFields, word, key, word + key + (word[key] == '='));
	}
}

static void limits_line(struct parsing *p, char *line)
{
	char limit[27] = "", soft[32], hard[32], units[32] = "";
	struct ProcPidLimitsEntry *e;

	if (strncmp(line, "Limit ", 6) == 0 || strlen(line) < 27 ||
		sscanf(line + 26, "%31s %31s %31s", soft, hard, units) < 2 || !(e = add_entry(p)))
		return;
	memcpy(limit, line, 26);
	*e = (struct ProcPidLimitsEntry){
		trimmed(p, limit), text_of(p, soft), text_of(p, hard), text_of(p, units)};
}

static void stack_line(struct parsing *p, char *line)
{
	ENTRY(ProcPidStackEntry);

	if (e)
		words_of(p, line, (char **[]){&e->address, &e->symbol}, 2);
}

static void maps_line(struct parsing *p, char *line)
{
	char start[24], end[24], perms[8], offset[24], dev[16], inode[24];
	int used = 0;
	struct ProcPidMapsEntry *e;

	if (sscanf(line, "%23[^-]-%23s %7s %23s %15s %23s %n", start, end, perms, offset, dev,
		    inode, &used) != 6 ||
		!(e = add_entry(p)))
		return;
	*e = (struct ProcPidMapsEntry){text_of(p, start), text_of(p, end), text_of(p, perms),
		text_of(p, offset), text_of(p, dev), text_of(p, inode), text_of(p, line + used)};
}

/* ---- files whose parts end with a NUL, and folders ---- */

static char *read_all(FILE *file, size_t *ret_n)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t n = getdelim(&text, &size, EOF, file); /* 0xff: no file of text has it */

	*ret_n = n > 0 ? (size_t)n : 0;
	return text;
}

static void read_environ(struct parsing *p, FILE *file)
{
	size_t n, len;
	char *text = read_all(file, &n);

	for (size_t at = 0; at < n; at += len + 1) {
		size_t name = strcspn(text + at, "=");
		ENTRY(ProcPidEnvironEntry);

		len = strlen(text + at);
		if (e)
			*e = (struct ProcPidEnvironEntry){text_n(p, text + at, name),
				text_of(p, text + at + name + (text[at + name] == '='))};
	}
	free(text);
}

static void read_cmdline(struct parsing *p, FILE *file)
{
	size_t n;
	char *text = read_all(file, &n);
	ENTRY(ProcPidCmdlineEntry);

	for (size_t i = 0; i + 1 < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (e)
		e->cmdline = text_of(p, n > 0 ? text : "");
	free(text);
}

static void read_fds(struct parsing *p, const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	struct ProcPidFdEntry *e = dir ? add_entry(p) : NULL;

	while (e && (entry = readdir(dir)))
		e->fdCount += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
}

static char *first_line(struct parsing *p, const char *path)
{
	char line[4096] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	return trimmed(p, line);
}

/* The settings of a folder of /proc/sys; those that cannot be read are left out. */
static void read_settings(struct parsing *p, const char *folder)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX];
		struct stat st;
		char *value;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0400))
			continue;
		value = first_line(p, path);
		if (value) {
			ENTRY(ProcSysDirEntry);
			if (e)
				*e = (struct ProcSysDirEntry){
					text_of(p, entry->d_name), text_of(p, path), value};
		}
	}
	if (dir)
		closedir(dir);
}

static void read_tasks(struct parsing *p, const char *folder)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/stat", folder, entry->d_name);
		file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (file) {
			each_line(p, file, pid_stat_line);
			fclose(file);
		}
	}
	if (dir)
		closedir(dir);
}

/* ---- sources ---- */

struct source {
	const char *path; /* with %d for the process */
	size_t size;      /* of an entry */
	line_fn *line;
	void (*file)(struct parsing *p, FILE *file);
	void (*folder)(struct parsing *p, const char *path);
};

#define LINES(path, type, fn)                                                                      \
	{                                                                                          \
		path, sizeof(struct type), fn, NULL, NULL                                          \
	}
#define FILES(path, type, fn)                                                                      \
	{                                                                                          \
		path, sizeof(struct type), NULL, fn, NULL                                          \
	}
#define FOLDER(path, type, fn)                                                                     \
	{                                                                                          \
		path, sizeof(struct type), NULL, NULL, fn                                          \
	}

static const struct source sources[MAX_PROC_SOURCE] = {
	[PROC_STAT] = LINES("/proc/stat", ProcStatEntry, stat_line),
	[PROC_CPUINFO] = LINES("/proc/cpuinfo", ProcCpuinfoEntry, record_line),
	[PROC_MEMINFO] = LINES("/proc/meminfo", ProcMeminfoEntry, meminfo_line),
	[PROC_LOADAVG] = LINES("/proc/loadavg", ProcLoadavgEntry, loadavg_line),
	[PROC_VMSTAT] = LINES("/proc/vmstat", ProcVmstatEntry, vmstat_line),
	[PROC_NET_DEV] = LINES("/proc/net/dev", ProcNetDevEntry, net_dev_line),
	[PROC_DISKSTATS] = LINES("/proc/diskstats", ProcDiskstatsEntry, diskstats_line),
	[PROC_UPTIME] = LINES("/proc/uptime", ProcUptimeEntry, uptime_line),
	[PROC_MOUNTS] = LINES("/proc/mounts", ProcMountsEntry, mounts_line),
	[PROC_SOFTIRQS] = LINES("/proc/softirqs", ProcSoftirqsEntry, softirqs_line),
	[PROC_SLABINFO] = LINES("/proc/slabinfo", ProcSlabinfoEntry, slabinfo_line),
	[PROC_SCHEDSTAT] = LINES("/proc/schedstat", ProcSchedstatEntry, schedstat_line),
	[PROC_INTERRUPTS] = LINES("/proc/interrupts", ProcInterruptsEntry, interrupts_line),
	[PROC_IRQ_AFFINITY] =
		LINES("/proc/irq/default_smp_affinity", ProcIrqAffinityEntry, text_line),
	[PROC_LOCKS] = LINES("/proc/locks", ProcLocksEntry, locks_line),
	[PROC_ZONEINFO] = LINES("/proc/zoneinfo", ProcZoneinfoEntry, zoneinfo_line),
	[PROC_BUDDYINFO] = LINES("/proc/buddyinfo", ProcBuddyinfoEntry, buddyinfo_line),
	[PROC_NET_SOCKSTAT] = LINES("/proc/net/sockstat", ProcNetSockstatEntry, sockstat_line),
	[PROC_NET_NETSTAT] = LINES("/proc/net/netstat", ProcNetNetstatEntry, netstat_line),
	[PROC_NET_ARP] = LINES("/proc/net/arp", ProcNetArpEntry, arp_line),
	[PROC_VERSION] = LINES("/proc/version", ProcVersionEntry, text_line),
	[PROC_MODULES] = LINES("/proc/modules", ProcModulesEntry, modules_line),
	[PROC_FILESYSTEMS] = LINES("/proc/filesystems", ProcFilesystemsEntry, filesystems_line),
	[PROC_SCSI] = LINES("/proc/scsi/scsi", ProcScsiEntry, scsi_line),
	[PROC_PRESSURE_CPU] = LINES("/proc/pressure/cpu", ProcPressureEntry, pressure_line),
	[PROC_PRESSURE_IO] = LINES("/proc/pressure/io", ProcPressureEntry, pressure_line),
	[PROC_SYS_KERNEL] = FOLDER("/proc/sys/kernel", ProcSysDirEntry, read_settings),
	[PROC_SYS_FS] = FOLDER("/proc/sys/fs", ProcSysDirEntry, read_settings),
	[PROC_SYS_VM] = FOLDER("/proc/sys/vm", ProcSysDirEntry, read_settings),
	[PROC_SYS_NET_IPV4] = FOLDER("/proc/sys/net/ipv4", ProcSysDirEntry, read_settings),
	[PROC_SYS_NET_CORE] = FOLDER("/proc/sys/net/core", ProcSysDirEntry, read_settings),
	[PROC_PID_STAT] = LINES("/proc/%d/stat", ProcPidStatEntry, pid_stat_line),
	[PROC_PID_STATM] = LINES("/proc/%d/statm", ProcPidStatmEntry, statm_line),
	[PROC_PID_STATUS] = LINES("/proc/%d/status", ProcPidStatusEntry, rollup_line),
	[PROC_PID_IO] = LINES("/proc/%d/io", ProcPidIoEntry, io_line),
	[PROC_PID_SMAPS_ROLLUP] =
		LINES("/proc/%d/smaps_rollup", ProcPidSmapsRollupEntry, rollup_line),
	[PROC_PID_FD] = FOLDER("/proc/%d/fd", ProcPidFdEntry, read_fds),
	[PROC_PID_NUMA_MAPS] = LINES("/proc/%d/numa_maps", ProcPidNumaMapsEntry, numa_maps_line),
	[PROC_PID_SMAPS] = LINES("/proc/%d/smaps", ProcPidSmapsEntry, smaps_line),
	[PROC_PID_ENVIRON] = FILES("/proc/%d/environ", ProcPidEnvironEntry, read_environ),
	[PROC_PID_CMDLINE] = FILES("/proc/%d/cmdline", ProcPidCmdlineEntry, read_cmdline),
	[PROC_PID_LIMITS] = LINES("/proc/%d/limits", ProcPidLimitsEntry, limits_line),
	[PROC_PID_STACK] = LINES("/proc/%d/stack", ProcPidStackEntry, stack_line),
	[PROC_PID_WCHAN] = LINES("/proc/%d/wchan", ProcPidWchanEntry, text_line),
	[PROC_PID_MAPS] = LINES("/proc/%d/maps", ProcPidMapsEntry, maps_line),
	[PROC_PID_COMM] = LINES("/proc/%d/comm", ProcPidCommEntry, text_line),
	[PROC_PID_TASK_STAT] = FOLDER("/proc/%d/task", ProcPidTaskStatEntry, read_tasks),
};

/* The last entry of files with an empty line at their end has nothing. */
static void drop_empty(enum ProcSource source, struct parsing *p)
{
	const struct ProcCpuinfoEntry *e = last_entry(p);

	if (source == PROC_CPUINFO && e && e->numFields == 0)
		p->n--;
}

/* What the caller has: the public struct, and its memory. */
struct holder {
	struct block *blocks;
	void *entries;
};

static void free_blocks(struct block *block)
{
	for (struct block *next; block; block = next) {
		next = block->next;
		free(block);
	}
}

/* Returns 0 or a negative errno. */
static int read_source(enum ProcSource number, int pid, struct ProcData *ret, struct holder *holder)
{
	const struct source *source = &sources[number];
	struct parsing p = {.entry_size = source->size};
	char path[PATH_MAX];
	FILE *file = NULL;

	snprintf(path, sizeof(path), source->path, pid);
	if (access(path, R_OK) < 0)
		return -errno;
	if (source->folder) {
		source->folder(&p, path);
	} else {
		file = fopen(path, "re");
		if (!file)
			return -errno;
		if (source->line)
			each_line(&p, file, source->line);
		else
			source->file(&p, file);
		fclose(file);
	}
	drop_empty(number, &p);
	if (p.failed) {
		free_blocks(p.blocks);
		free(p.entries);
		return -ENOMEM;
	}
	*ret = (struct ProcData){
		.source = number, .pid = pid, .numEntries = p.n, .filePath = text_of(&p, path)};
	ret->stat = p.entries;
	*holder = (struct holder){.blocks = p.blocks, .entries = p.entries};
	return 0;
}

/* The array has the memory of its elements behind it. */
static struct holder *holders_of(struct ProcData *data)
{
	return (struct holder *)(data + MAX_PROC_SOURCE);
}

static bool is_of_process(enum ProcSource source)
{
	return source >= PROC_PID_STAT;
}

int ProcDataRead(int pid, struct ProcData **data, unsigned *n)
{
	struct ProcData *all;
	char path[32];

	kp_begin();
	if (!data || !n)
		return kp_fail(LIBPERF_ERR_NULL_POINTER, "ProcDataRead(): data or numData is NULL");
	*data = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid < 0 || (pid > 0 && access(path, F_OK) < 0))
		return kp_fail(LIBPERF_ERR_INVALID_PID, "there is no process %d", pid);
	all = calloc(1, MAX_PROC_SOURCE * (sizeof(*all) + sizeof(struct holder)));
	if (!all)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (int source = 0; source < MAX_PROC_SOURCE; source++) {
		struct ProcData one;
		int r;

		if (pid == 0 && is_of_process((enum ProcSource)source))
			continue;
		r = read_source((enum ProcSource)source, pid, &one, &holders_of(all)[*n]);
		if (r == 0)
			all[(*n)++] = one;
		else
			kp_warn(LIBPERF_WARN_FAIL_GET_PROC, "%s is left out: %s",
				sources[source].path, strerror(-r));
	}
	*data = all;
	return SUCCESS;
}

void ProcDataFree(struct ProcData *data, unsigned n)
{
	kp_begin();
	for (unsigned i = 0; data && i < n && i < MAX_PROC_SOURCE; i++) {
		free_blocks(holders_of(data)[i].blocks);
		free(holders_of(data)[i].entries);
	}
	free(data);
}
