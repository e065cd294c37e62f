/* SPDX-License-Identifier: MIT */
/*
 * What attar/sample.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_SAMPLE_H
#define ATTAR_PRIVATE_SAMPLE_H

#include "attar/sample.h"

/* Execution context of the branch target. */
enum attar_code_context branch_context(const struct attar_branch *branch);

/*
 * Number of times that event number `event` of the group occurred between the previous branch and
 * this one. The word holds counters of `width` bits (1 to 64; caps/branch_counter_width of the PMU
 * in sysfs). A counter with all bits set is saturated. Returns 0 for an event outside the word.
 */
uint64_t branch_counter(const struct attar_branch *branch, unsigned event, unsigned width);

/* PERF_SAMPLE_TRANSACTION as text: "transaction, conflict, retry, abort code 0x5"; "none" for 0. */
size_t transaction_text(uint64_t transaction, char *text, size_t size);

/*
 * The name of the namespace at index in a NAMESPACES record, as in /proc/PID/ns: "net", "uts", ...;
 * "?" if index is out of range.
 */
const char *namespace_name(uint64_t index);

#endif
