/* SPDX-License-Identifier: MIT */
/*
 * Records of tasks as the kernel writes them, with zeros as their time and task: they describe what
 * exists when a file begins.
 */
#ifndef PERFDATA_TASK_RECORDS_H
#define PERFDATA_TASK_RECORDS_H

#include "attar/record.h"
#include "base/buf.h"

/* Appends a header; what follows: `fixed` bytes, the text unless it is NULL, and the trailer. */
void task_records_put_header(const struct attar_layout *layout, struct buf *b, uint32_t type,
	uint16_t misc, size_t fixed, const char *text);

/* Appends the text with its NUL, padded to a multiple of 8 bytes, then the trailer. */
void task_records_put_text(const struct attar_layout *layout, struct buf *b, const char *text);

/* Whole records. The mappings of a forked process follow, also the mappings of its parent. */
void task_records_put_fork(
	const struct attar_layout *layout, struct buf *b, const struct attar_task *fork);
void task_records_put_comm(
	const struct attar_layout *layout, struct buf *b, pid_t pid, pid_t tid, const char *comm);

#endif
