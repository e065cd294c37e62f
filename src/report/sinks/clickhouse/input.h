/* SPDX-License-Identifier: MIT */
/* The reports that -o clickhouse:// has stored, as an input of report_read_database(). */
#ifndef REPORT_SINKS_CLICKHOUSE_INPUT_H
#define REPORT_SINKS_CLICKHOUSE_INPUT_H

#include "attar/report.h"
#include "base/base.h"

static inline bool clickhouse_is_address(const char *path)
{
	return !strncmp(path, "clickhouse://", 13) || !strncmp(path, "clickhouses://", 14);
}

/*
 * Reads the reports of the time range in an address, as report_read_database(): with the
 * parameters from, to, profiler, host and service. Event lines and time series are not read.
 */
int clickhouse_read(
	const char *address, int (*take)(void *ctx, struct attar_report *report), void *ctx);

#endif
