/* SPDX-License-Identifier: MIT */
/*
 * --portable: names in a recording, for machines without its binaries. After the recording was
 * finished it is read as by --input; the locations of its samples are collected and resolved, and
 * the result is added to the file. The files that are mapped meanwhile are kept open.
 */
#ifndef RUN_RECORD_PORTABLE_H
#define RUN_RECORD_PORTABLE_H

#include "run/record/recorder.h"

struct portable;

/* Opens the files that existing processes have mapped, if the recorder has the option. */
int portable_begin(struct attar_run *run);

/* Likewise during the recording, after records of mappings were lost. */
int portable_read_running(struct attar_run *run);

/* Opens the file of a mapping record. */
void portable_note(struct portable *p, const struct perf_event_header *header);

/* To be called after each reading of all rings. */
void portable_round(struct portable *p);

/* Accepts NULL. */
void portable_done(struct portable *p);

/*
 * Adds names to all files of a recorder that are left. Downloads are cancelled with the downloads
 * of `symbols`: see symbols_cancel(). Returns 0 or a negative errno.
 */
int portable_add_all(const struct run_recorder *recorder, struct attar_symbols *symbols);

#endif
