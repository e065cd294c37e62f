/* SPDX-License-Identifier: MIT */
/*
 * attar/attar.h - counts, samples and traces what happens on a running Linux system
 *
 * There are two libraries. libattar opens, counts, samples, streams and aggregates events, and
 * resolves addresses. This header includes all headers of libattar. Each owns one kind of object,
 * and its page lists the types and functions:
 *
 *	to read events in order of time          attar/stream.h
 *	to count, or to read rings directly      attar/perf.h
 *	to find events by name                   attar/event.h
 *	to read the fields of an event           attar/format.h, attar/eventheader.h
 *	to compute with the fields               attar/expr.h
 *	to name addresses                        attar/symbol.h
 *	to unwind user stacks                    attar/unwind.h
 *	to know what a thread waits for          attar/wait.h
 *	to aggregate                             attar/stats.h, attar/hist.h, attar/keytable.h,
 *	                                         attar/pairs.h, attar/states.h
 *	to decode records                        attar/record.h, attar/sample.h, attar/spe.h
 *
 * libattar-run has reports, runs and all profilers, and needs libattar: see attar/attar-run.h.
 *
 * Errors, arguments, fork(2) and the order of freeing are the same everywhere: see attar/base.h.
 *
 * This program counts the context switches of a process, or of all, for a second:
 *
 *	#include <stdio.h>
 *	#include <unistd.h>
 *	#include <attar/attar.h>
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct attar_target_opts opts = {.size = sizeof(opts), .pids = argv[1]};
 *		struct attar_target *target;
 *		struct attar_stream *stream;
 *		struct attar_event event;
 *		long n = 0;
 *
 *		if (attar_target_new(&opts, &target) < 0 ||
 *			attar_stream_events(target, "sched:sched_switch", 0, NULL, &stream) < 0)
 *			return fprintf(stderr, "%s\n", attar_error()), 1;
 *		sleep(1);
 *		attar_stream_stop(stream);
 *		while (attar_stream_next(stream, &event) > 0)
 *			n += event.record->type == PERF_RECORD_SAMPLE;
 *		printf("%ld\n", n);
 *		attar_stream_free(stream);
 *		attar_target_free(target);
 *		return 0;
 *	}
 *
 * It is built with cc program.c $(pkg-config --cflags --libs attar). Further programs are installed
 * in share/doc/attar/examples.
 */
#ifndef ATTAR_ATTAR_H
#define ATTAR_ATTAR_H

#include "attar/base.h"
#include "attar/event.h"
#include "attar/eventheader.h"
#include "attar/expr.h"
#include "attar/format.h"
#include "attar/hist.h"
#include "attar/keytable.h"
#include "attar/option.h"
#include "attar/pairs.h"
#include "attar/perf.h"
#include "attar/record.h"
#include "attar/sample.h"
#include "attar/spe.h"
#include "attar/states.h"
#include "attar/stats.h"
#include "attar/stream.h"
#include "attar/symbol.h"
#include "attar/unwind.h"
#include "attar/wait.h"

#endif
