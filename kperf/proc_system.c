/* SPDX-License-Identifier: MIT */
/* Files of the whole system, and the settings in /proc/sys. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proc.h"

/* The lines of /proc/stat that are one number, and where it goes. */
static const struct stat_number {
	const char *name;
	enum ProcStatLineType type;
	size_t to;
} stat_numbers[] = {
	{"ctxt", PROC_STAT_LINE_CTXT, offsetof(struct ProcStatEntry, ctxt)},
	{"btime", PROC_STAT_LINE_BTIME, offsetof(struct ProcStatEntry, btime)},
	{"processes", PROC_STAT_LINE_PROCESSES, offsetof(struct ProcStatEntry, processes)},
	{"procs_running", PROC_STAT_LINE_PROCS_RUNNING,
		offsetof(struct ProcStatEntry, procsRunning)},
	{"procs_blocked", PROC_STAT_LINE_PROCS_BLOCKED,
		offsetof(struct ProcStatEntry, procsBlocked)},
};

static const struct stat_number *find_stat_number(const char *name)
{
	for (size_t i = 0; i < sizeof(stat_numbers) / sizeof(stat_numbers[0]); i++)
		if (strcmp(name, stat_numbers[i].name) == 0)
			return &stat_numbers[i];
	return NULL;
}

static void stat_cpu(struct ProcStatEntry *e, const char *numbers)
{
	sscanf(numbers, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &e->user, &e->nice,
		&e->system, &e->idle, &e->ioWait, &e->irq, &e->softirq, &e->steal, &e->guest,
		&e->guestNice);
}

/* A total, then the number of each interrupt. */
static unsigned long long *stat_interrupts(struct proc_parser *p, char *numbers,
	unsigned long long *ret_total, unsigned long long *ret_n)
{
	unsigned n = 0;
	unsigned long long *each;

	*ret_total = strtoull(numbers, &numbers, 10);
	each = proc_numbers(p, numbers, &n);
	*ret_n = n;
	return each;
}

void proc_stat_line(struct proc_parser *p, char *line)
{
	char *numbers = line + strcspn(line, " ");
	const struct stat_number *number;
	PROC_ENTRY(ProcStatEntry);

	if (!e)
		return;
	if (*numbers)
		*numbers++ = '\0';
	number = find_stat_number(line);
	if (strncmp(line, "cpu", 3) == 0) {
		e->cpuName = proc_text(p, line);
		stat_cpu(e, numbers);
	} else if (strcmp(line, "intr") == 0) {
		e->lineType = PROC_STAT_LINE_INTR;
		e->intrPerIrq = stat_interrupts(p, numbers, &e->intrTotal, &e->numIntrPerIrq);
	} else if (strcmp(line, "softirq") == 0) {
		e->lineType = PROC_STAT_LINE_SOFTIRQ;
		e->softirqPerType =
			stat_interrupts(p, numbers, &e->softirqTotal, &e->numSoftirqPerType);
	} else if (number) {
		e->lineType = number->type;
		*(unsigned long long *)((char *)e + number->to) = strtoull(numbers, NULL, 10);
	} else {
		p->n--; /* a line of a newer kernel */
	}
}

/* "key : value"; an empty line begins the next entry. */
void proc_record_line(struct proc_parser *p, char *line)
{
	struct ProcCpuinfoEntry *e = proc_last_entry(p);
	char *colon = strchr(line, ':');
	size_t key;

	if (!colon) {
		if (p->n > 0 && e->numFields > 0)
			proc_add_entry(p);
		return;
	}
	if (!e)
		e = proc_add_entry(p);
	for (key = (size_t)(colon - line); key > 0 && isspace((unsigned char)line[key - 1]); key--)
		;
	if (e)
		proc_add_field(p, &e->fields, &e->numFields, line, key, colon + 1);
}

void proc_loadavg_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcLoadavgEntry);

	if (e)
		sscanf(line, "%lf %lf %lf %u/%u %d", &e->load1, &e->load5, &e->load15,
			&e->runningProcs, &e->totalProcs, &e->lastPid);
}

void proc_diskstats_line(struct proc_parser *p, char *line)
{
	char device[64] = "";
	PROC_ENTRY(ProcDiskstatsEntry);

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
	e->device = proc_text(p, device);
}

void proc_uptime_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcUptimeEntry);

	if (e)
		sscanf(line, "%lf %lf", &e->total, &e->idle);
}

void proc_mounts_line(struct proc_parser *p, char *line)
{
	char *dump, *pass;
	PROC_ENTRY(ProcMountsEntry);

	if (!e)
		return;
	proc_words(p, line,
		(char **[]){&e->device, &e->mountPoint, &e->fsType, &e->options, &dump, &pass}, 6);
	e->dump = dump ? atoi(dump) : 0;
	e->passVal = pass ? atoi(pass) : 0;
}

void proc_softirqs_line(struct proc_parser *p, char *line)
{
	char *colon = strchr(line, ':');
	struct ProcSoftirqsEntry *e = colon ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->type = proc_trimmed(p, line);
	e->perCpu = proc_numbers(p, colon + 1, &e->numCpus);
}

/* "domain0 00000003 1 2 3"; in version 17 of the file "domain0 MC 00000003 1 2 3". */
static void schedstat_domain(struct proc_parser *p, char *line)
{
	struct ProcSchedstatEntry *e = proc_last_entry(p);
	struct ProcSchedstatDomainEntry *domains, *domain;
	char mask[1024] = "";
	int id = 0, used = 0;

	if (!e || (sscanf(line, "domain%d %*1[A-Z]%*s %1023s%n", &id, mask, &used) != 2 &&
			  sscanf(line, "domain%d %1023s%n", &id, mask, &used) != 2))
		return;
	domains = proc_grow(p, e->domains, e->numDomains, sizeof(*domains));
	if (!domains)
		return;
	e->domains = domains;
	domain = &domains[e->numDomains++];
	domain->domainId = id;
	domain->mask = proc_text(p, mask);
	domain->values = proc_numbers(p, line + used, &domain->numValues);
}

void proc_schedstat_line(struct proc_parser *p, char *line)
{
	struct ProcSchedstatEntry *e;

	if (strncmp(line, "domain", 6) == 0)
		schedstat_domain(p, line);
	if (strncmp(line, "cpu", 3) != 0 || !(e = proc_add_entry(p)))
		return;
	sscanf(line, "cpu%d %llu %*u %llu %llu %llu %llu %llu %llu %llu", &e->cpuId, &e->yldCount,
		&e->schedCount, &e->schedGoidle, &e->ttwuCount, &e->ttwuLocal, &e->rqCpuTime,
		&e->runDelay, &e->pcount);
}

void proc_interrupts_line(struct proc_parser *p, char *line)
{
	char *colon = strchr(line, ':'), *at;
	struct ProcInterruptsEntry *e = colon ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->irq = proc_trimmed(p, line);
	e->perCpu = proc_numbers(p, colon + 1, &e->numCpus);
	at = colon + 1;
	for (unsigned i = 0; i < e->numCpus; i++)
		strtoull(at, &at, 10);
	e->description = proc_trimmed(p, at);
}

/* The whole line is the only member, a text. */
void proc_text_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcVersionEntry);

	if (e)
		e->version = proc_text(p, line);
}

void proc_locks_line(struct proc_parser *p, char *line)
{
	static const char *const keys[] = {
		"id", "type", "mode", "access", "pid", "inode", "start", "end"};
	char *save = NULL;
	size_t i = 0;
	PROC_ENTRY(ProcLocksEntry);

	for (char *word = strtok_r(line, " ", &save); e && word && i < 8;
		word = strtok_r(NULL, " ", &save)) {
		if (strcmp(word, "->") == 0)
			continue;
		proc_add_field(p, &e->fields, &e->numFields, keys[i], strlen(keys[i]), word);
		i++;
	}
}

void proc_modules_line(struct proc_parser *p, char *line)
{
	char *size, *count;
	PROC_ENTRY(ProcModulesEntry);

	if (!e)
		return;
	proc_words(p, line,
		(char **[]){&e->name, &size, &count, &e->usedBy, &e->state, &e->address, &e->taint},
		7);
	e->size = size ? strtoull(size, NULL, 10) : 0;
	e->usedCount = count ? atoi(count) : 0;
}

void proc_filesystems_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcFilesystemsEntry);

	if (!e)
		return;
	e->nodev = strncmp(line, "nodev", 5) == 0;
	e->fsType = proc_trimmed(p, e->nodev ? line + 5 : line);
}

/* The text behind a label, up to the next label or the end. */
static char *labelled(struct proc_parser *p, const char *line, const char *label, const char *next)
{
	const char *from = strstr(line, label), *end;
	char text[128];

	if (!from)
		return proc_text(p, "");
	from += strlen(label);
	end = next ? strstr(from, next) : NULL;
	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - from) : (int)sizeof(text), from);
	return proc_trimmed(p, text);
}

void proc_scsi_line(struct proc_parser *p, char *line)
{
	char a[64] = "", b[64] = "", c[64] = "", d[64] = "";
	struct ProcScsiEntry *e = proc_last_entry(p);

	if (sscanf(line, "Host: %63s Channel: %63s Id: %63s Lun: %63s", a, b, c, d) == 4) {
		e = proc_add_entry(p);
		if (e)
			*e = (struct ProcScsiEntry){.host = proc_text(p, a),
				.channel = proc_text(p, b),
				.id = proc_text(p, c),
				.lun = proc_text(p, d)};
	} else if (e && strstr(line, "Vendor:")) {
		e->vendor = labelled(p, line, "Vendor:", "Model:");
		e->model = labelled(p, line, "Model:", "Rev:");
		e->rev = labelled(p, line, "Rev:", NULL);
	} else if (e && sscanf(line, " Type: %63s ANSI SCSI revision: %63s", a, b) >= 1) {
		e->type = proc_text(p, a);
		e->ansiScsiRevision = proc_text(p, b);
	}
}

void proc_pressure_line(struct proc_parser *p, char *line)
{
	char type[16];
	PROC_ENTRY(ProcPressureEntry);

	if (!e)
		return;
	if (sscanf(line, "%15s avg10=%lf avg60=%lf avg300=%lf total=%llu", type, &e->avg10,
		    &e->avg60, &e->avg300, &e->total) == 5)
		e->type = proc_text(p, type);
	else
		p->n--;
}

static void add_setting(struct proc_parser *p, const char *name, const char *path)
{
	struct stat st;
	char *value;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0400))
		return;
	value = proc_first_line(p, path);
	if (value) {
		PROC_ENTRY(ProcSysDirEntry);
		if (e)
			*e = (struct ProcSysDirEntry){
				proc_text(p, name), proc_text(p, path), value};
	}
}

/* The settings of a folder of /proc/sys; those that cannot be read are left out. */
void proc_settings_folder(struct proc_parser *p, const char *folder)
{
	proc_each_name(p, folder, add_setting);
}
