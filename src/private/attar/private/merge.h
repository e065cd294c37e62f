/* SPDX-License-Identifier: MIT */
/*
 * attar/private/merge.h - one report of the reports that several hosts have made with the same
 * command line.
 *
 *	struct attar_merge_part parts[] = {{"web1", first, 0}, {"web2", second, 0}};
 *	struct attar_report *out = attar_report_new("runqlat");
 *
 *	merge_reports(parts, 2, false, out);
 *
 * attar_report_read_json() reads reports that were written as JSON.
 *
 * - Tables: rows with the same labels are one. Labels are strings and identifiers, but not ids of
 *   processes and threads, which differ between hosts. Counts, times and sizes are added; of
 *   columns named min, the least value is taken, of max the greatest; shares are weighted by what
 *   they are shares of; means are computed again from total and count. Other columns are left out,
 *   and a remark names them. A table without any column that can be merged, or whose rows are
 *   single events (they have a time or an address), is listed with a column "host".
 * - Event lines are listed in the same way, in the order of their times.
 * - Histograms are added bucket by bucket; quantiles are computed from the sum.
 * - Call trees are added stack by stack. Tasks of one name are one.
 * - Time lines have the tracks of all hosts, named "host: thread", in the times of one clock; pids
 *   of the second host are increased by 10,000,000, of the third by 20,000,000, and so on. Time
 *   series have the labels of all hosts, "host: label".
 * - Notes are sums; the peak memory is taken from the host with most.
 */
#ifndef ATTAR_PRIVATE_MERGE_H
#define ATTAR_PRIVATE_MERGE_H

#include "attar/report.h"

/* The report of a host; both are borrowed. */
struct attar_merge_part {
	const char *host;
	const struct attar_report *report;
	int64_t offset; /* of its clock to the one that times are shown in, ns */
};

/*
 * Adds the sections, remarks and notes of n parts to a report. by_host: nothing is merged: tables
 * have a column "host", each host has its own histograms, and trees begin with the host. Returns 0;
 * -EINVAL if a part has no host or no report; -ENOMEM.
 */
int merge_reports(
	const struct attar_merge_part *parts, size_t n, bool by_host, struct attar_report *out);

#endif
