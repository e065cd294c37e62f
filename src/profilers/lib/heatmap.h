/* SPDX-License-Identifier: MIT */
/* --heatmap: files with the time and value of each event, as trace2heatmap.pl reads them. */
#ifndef PROFILERS_LIB_HEATMAP_H
#define PROFILERS_LIB_HEATMAP_H

#include "attar/profiler.h"

struct heatmap;

/*
 * path NULL: *ret_heatmap is NULL. path is borrowed until heatmap_free(). The files replace
 * existing ones after the profiler's ended().
 */
int heatmap_new(struct attar_run *run, const char *path, struct heatmap **ret_heatmap);

/*
 * Adds "TIME VALUE" (ns) to the file PATH-NAME.lat, or PATH-NAME-OTHER.lat unless other is NULL.
 * The names are borrowed until heatmap_free().
 */
int heatmap_add(struct heatmap *heatmap, const char *name, const char *other, uint64_t time,
	uint64_t value);

/* Accepts NULL. */
void heatmap_free(struct heatmap *heatmap);

#endif
