/* SPDX-License-Identifier: MIT */
/* Reports read back from their JSON form. */
#ifndef REPORT_JSON_READ_H
#define REPORT_JSON_READ_H

#include "attar/report.h"

/*
 * Reads one report, a line of `attar --format json`, of n bytes. Fields and sections of a later
 * version are skipped; named values of rows, time series and time lines are not read. Returns 0,
 * -ENOMEM, or
 * -EBADMSG with an error text for what is no such report. The caller frees the report.
 */
int report_read_json(const char *text, size_t n, struct attar_report **ret_report);

#endif
