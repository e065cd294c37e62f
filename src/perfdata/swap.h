/* SPDX-License-Identifier: MIT */
/* Conversion of records and attributes from the other byte order. */
#ifndef PERFDATA_SWAP_H
#define PERFDATA_SWAP_H

#include "attar/format.h"
#include "attar/record.h"

/*
 * Converts attributes of at most sizeof(union uapi_attr) bytes in place; len is at least
 * PERF_ATTR_SIZE_VER0.
 */
void swap_attr(void *attr, size_t len);

/*
 * Converts a record of a kernel type in place. It is aligned to 8, its size is a multiple of 8, and
 * its header was converted before. Raw data are converted if the format is known; format can be
 * NULL. Returns false if the record is malformed; its contents are then undefined.
 */
bool swap_record(
	const struct attar_layout *layout, const struct attar_format *format, void *record);

/* Converts the fields of raw data in place. */
void swap_raw(const struct attar_format *format, void *raw, size_t size);

#endif
