/* SPDX-License-Identifier: MIT */
/* Files of processes. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

void proc_pid_stat_line(struct proc_parser *p, char *line)
{
	char *open = strchr(line, '('), *close = strrchr(line, ')');
	struct ProcPidStatEntry *e = open && close ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	e->pid = atoi(line);
	e->comm = proc_text_n(p, open + 1, (size_t)(close - open - 1));
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

void proc_statm_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcPidStatmEntry);

	if (e)
		sscanf(line, "%llu %llu %llu %llu %llu %llu %llu", &e->size, &e->resident,
			&e->shared, &e->text, &e->lib, &e->data, &e->dt);
}

void proc_io_line(struct proc_parser *p, char *line)
{
	struct ProcPidIoEntry *e = p->n > 0 ? proc_last_entry(p) : proc_add_entry(p);
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
void proc_smaps_line(struct proc_parser *p, char *line)
{
	struct ProcPidSmapsEntry *e = proc_last_entry(p);
	size_t key = strcspn(line, " :");

	if (line[key] != ':') {
		e = proc_add_entry(p);
		if (e)
			e->mapping = proc_text(p, line);
	} else if (e) {
		proc_add_field(p, &e->fields, &e->numFields, line, key, line + key + 1);
	}
}

void proc_rollup_line(struct proc_parser *p, char *line)
{
	struct ProcPidSmapsRollupEntry *e = p->n > 0 ? proc_last_entry(p) : proc_add_entry(p);
	size_t key = strcspn(line, " :");

	if (e && line[key] == ':')
		proc_add_field(p, &e->fields, &e->numFields, line, key, line + key + 1);
}

void proc_numa_maps_line(struct proc_parser *p, char *line)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);
	struct ProcPidNumaMapsEntry *e = word ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	e->address = proc_text(p, word);
	while ((word = strtok_r(NULL, " ", &save))) {
		size_t key = strcspn(word, "=");

		proc_add_field(
			p, &e->fields, &e->numFields, word, key, word + key + (word[key] == '='));
	}
}

void proc_limits_line(struct proc_parser *p, char *line)
{
	char limit[27] = "", soft[32], hard[32], units[32] = "";
	struct ProcPidLimitsEntry *e;

	if (strncmp(line, "Limit ", 6) == 0 || strlen(line) < 27 ||
		sscanf(line + 26, "%31s %31s %31s", soft, hard, units) < 2 ||
		!(e = proc_add_entry(p)))
		return;
	memcpy(limit, line, 26);
	*e = (struct ProcPidLimitsEntry){proc_trimmed(p, limit), proc_text(p, soft),
		proc_text(p, hard), proc_text(p, units)};
}

void proc_stack_line(struct proc_parser *p, char *line)
{
	PROC_ENTRY(ProcPidStackEntry);

	if (e)
		proc_words(p, line, (char **[]){&e->address, &e->symbol}, 2);
}

void proc_maps_line(struct proc_parser *p, char *line)
{
	char start[24], end[24], perms[8], offset[24], dev[16], inode[24];
	int used = 0;
	struct ProcPidMapsEntry *e;

	if (sscanf(line, "%23[^-]-%23s %7s %23s %15s %23s %n", start, end, perms, offset, dev,
		    inode, &used) != 6 ||
		!(e = proc_add_entry(p)))
		return;
	*e = (struct ProcPidMapsEntry){proc_text(p, start), proc_text(p, end), proc_text(p, perms),
		proc_text(p, offset), proc_text(p, dev), proc_text(p, inode),
		proc_text(p, line + used)};
}

void proc_environ_file(struct proc_parser *p, FILE *file)
{
	size_t n, len;
	char *text = proc_read_all(file, &n);

	for (size_t at = 0; at < n; at += len + 1) {
		size_t name = strcspn(text + at, "=");
		PROC_ENTRY(ProcPidEnvironEntry);

		len = strlen(text + at);
		if (e)
			*e = (struct ProcPidEnvironEntry){proc_text_n(p, text + at, name),
				proc_text(p, text + at + name + (text[at + name] == '='))};
	}
	free(text);
}

void proc_cmdline_file(struct proc_parser *p, FILE *file)
{
	size_t n;
	char *text = proc_read_all(file, &n);
	PROC_ENTRY(ProcPidCmdlineEntry);

	for (size_t i = 0; i + 1 < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (e)
		e->cmdline = proc_text(p, n > 0 ? text : "");
	free(text);
}

static void count_fd(struct proc_parser *p, const char *name, const char *path)
{
	struct ProcPidFdEntry *e = proc_last_entry(p);

	(void)name;
	(void)path;
	e->fdCount++;
}

void proc_fd_folder(struct proc_parser *p, const char *folder)
{
	struct ProcPidFdEntry *e = proc_add_entry(p);

	if (!e)
		return;
	proc_each_name(p, folder, count_fd);
	if (p->pid == getpid() && e->fdCount > 0)
		e->fdCount--; /* the descriptor of the folder */
}

static void add_task(struct proc_parser *p, const char *name, const char *path)
{
	char stat[PATH_MAX];
	FILE *file;

	(void)name;
	snprintf(stat, sizeof(stat), "%s/stat", path);
	file = fopen(stat, "re");
	if (!file)
		return; /* it has ended */
	proc_each_line(p, file, proc_pid_stat_line);
	fclose(file);
}

void proc_task_folder(struct proc_parser *p, const char *folder)
{
	proc_each_name(p, folder, add_task);
}
