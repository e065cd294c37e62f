/* SPDX-License-Identifier: MIT */
/*
 * The black box: a recording of which the newest part is kept in memory (perfdata/box.h), and
 * written to a file when it is needed. recorder.c fills it.
 */
#ifndef RUN_RECORD_BLACKBOX_H
#define RUN_RECORD_BLACKBOX_H

#include "attar/builtin.h"

/* Takes the options of the recorder. 0 or a negative errno. */
int blackbox_prepare(struct attar_run *run, const struct attar_run_record_opts *opts);

/* Whether the run keeps its events. */
bool blackbox_is_on(const struct attar_run *run);

/* Sets the members of a writer that keeps. */
struct recording_writer_opts;
void blackbox_set_writer(const struct attar_run *run, struct recording_writer_opts *opts);

/* The last file, unless the run waits for conditions. 0 or a negative errno. */
int blackbox_end(struct attar_run *run);

#endif
