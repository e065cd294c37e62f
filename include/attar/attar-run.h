/* SPDX-License-Identifier: MIT */
/*
 * attar/attar-run.h - runs profilers, and writes, reads and compares their reports
 *
 * This header includes all headers of libattar-run, and attar/attar.h with the headers of libattar,
 * which libattar-run uses. Each owns one kind of object:
 *
 *	to run a profiler                        attar/run.h
 *	to write a profiler                      attar/profiler.h, attar/option.h, attar/count.h
 *	to write and read reports                attar/report.h
 *	to add aggregates to a report            attar/sections.h
 *
 * This program prints where the CPU time of all processes goes, for a second:
 *
 *	#include <stdio.h>
 *	#include <attar/attar-run.h>
 *
 *	int main(void)
 *	{
 *		struct attar_run *run;
 *		struct attar_report *report;
 *		struct attar_renderer *renderer;
 *
 *		if (attar_run_new("profile", &run) < 0 ||
 *			attar_run_set(run, "duration", "1s") < 0 ||
 *			attar_run_go(run, NULL) < 0 ||
 *			attar_run_report(run, ATTAR_SCOPE_WHOLE, &report) < 0 ||
 *			attar_renderer_new("text", stdout, NULL, &renderer) < 0)
 *			return fprintf(stderr, "%s\n", attar_error()), 1;
 *		attar_renderer_draw(renderer, report);
 *		attar_renderer_free(renderer);
 *		attar_report_free(report);
 *		attar_run_free(run);
 *		return 0;
 *	}
 *
 * It is built with cc program.c $(pkg-config --cflags --libs attar-run). Further programs are
 * installed in share/doc/attar/examples.
 */
#ifndef ATTAR_ATTAR_RUN_H
#define ATTAR_ATTAR_RUN_H

#include "attar/attar.h"
#include "attar/count.h"
#include "attar/profiler.h"
#include "attar/report.h"
#include "attar/run.h"
#include "attar/sections.h"

#endif
