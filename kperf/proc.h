/* SPDX-License-Identifier: MIT */
/*
 * proc.h - parsers of the files of enum ProcSource.
 *
 * A parser fills an array of entries of one type. Strings and arrays of the entries are blocks of
 * memory that the caller of ProcDataRead() frees with the array. Functions that return memory
 * return NULL if there is none left, and set `failed`; the source is then refused as a whole.
 */
#ifndef KPERF_PROC_H
#define KPERF_PROC_H

#include <stdbool.h>
#include <stdio.h>

#include "proc_data_types.h"

struct proc_block {
	struct proc_block *next;
	_Alignas(16) char bytes[];
};

struct proc_parser {
	struct proc_block *blocks;
	void *entries;
	size_t entry_size;
	unsigned n, room;
	int pid;      /* of the files; 0: the files of the system */
	bool failed;  /* out of memory */
	bool of_zone; /* of zoneinfo: the statistics of the node are over */
};

/* Each kind of file: line by line, as a whole, or the folder at a path. */
typedef void proc_line_fn(struct proc_parser *p, char *line);
typedef void proc_file_fn(struct proc_parser *p, FILE *file);
typedef void proc_folder_fn(struct proc_parser *p, const char *folder);

/* ---- memory ---- */

void proc_blocks_free(struct proc_block *blocks);
void *proc_alloc(struct proc_parser *p, size_t size);

/* A zeroed entry at the end; valid until the next one. */
void *proc_add_entry(struct proc_parser *p);
#define PROC_ENTRY(type) struct type *e = proc_add_entry(p)

/* NULL: there is none. */
void *proc_last_entry(struct proc_parser *p);

char *proc_text(struct proc_parser *p, const char *text);
char *proc_text_n(struct proc_parser *p, const char *text, size_t n);

/* The string without blanks around it. */
char *proc_trimmed(struct proc_parser *p, const char *text);

/* An array that grows by one; blocks of earlier sizes are freed with the source. */
void *proc_grow(struct proc_parser *p, const void *old, size_t n, size_t size);

void proc_add_field(struct proc_parser *p, struct ProcField **fields, unsigned *n, const char *key,
	size_t key_len, const char *value);

/* ---- text ---- */

void proc_each_line(struct proc_parser *p, FILE *file, proc_line_fn *fn);

/* The whole file, whose parts end with a NUL. The caller frees it. */
char *proc_read_all(FILE *file, size_t *ret_n);

/* NULL: it cannot be read. */
char *proc_first_line(struct proc_parser *p, const char *path);

/* All numbers of a line. */
unsigned long long *proc_numbers(struct proc_parser *p, char *line, unsigned *ret_n);

/* The words of a line; those that it does not have are "". */
void proc_words(struct proc_parser *p, char *line, char **const *words, size_t n);

/* Calls the function for each name of a folder that does not begin with a dot. */
typedef void proc_name_fn(struct proc_parser *p, const char *name, const char *path);
void proc_each_name(struct proc_parser *p, const char *folder, proc_name_fn *fn);

/* ---- files ---- */

/* Of the system: proc_system.c. */
proc_line_fn proc_stat_line, proc_record_line, proc_loadavg_line, proc_diskstats_line,
	proc_uptime_line, proc_mounts_line, proc_softirqs_line, proc_schedstat_line,
	proc_interrupts_line, proc_text_line, proc_locks_line, proc_modules_line,
	proc_filesystems_line, proc_scsi_line, proc_pressure_line;
proc_folder_fn proc_settings_folder;

/* Of its memory: proc_memory.c. */
proc_line_fn proc_meminfo_line, proc_vmstat_line, proc_slabinfo_line, proc_buddyinfo_line,
	proc_zoneinfo_line;

/* Of the network: proc_net.c. */
proc_line_fn proc_net_dev_line, proc_sockstat_line, proc_netstat_line, proc_arp_line;

/* Of processes: proc_process.c. */
proc_line_fn proc_pid_stat_line, proc_statm_line, proc_io_line, proc_smaps_line, proc_rollup_line,
	proc_numa_maps_line, proc_limits_line, proc_stack_line, proc_maps_line;
proc_file_fn proc_environ_file, proc_cmdline_file;
proc_folder_fn proc_fd_folder, proc_task_folder;

#endif
