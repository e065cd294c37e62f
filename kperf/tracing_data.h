/* SPDX-License-Identifier: MIT */
/* tracing_data.h - the formats of tracepoints, as a perf.data file has them. */
#ifndef KPERF_TRACING_DATA_H
#define KPERF_TRACING_DATA_H

#include <stddef.h>

#include "attar/event.h"

/*
 * Makes the tracing data of a file with these tracepoints. *ret_bytes is from malloc(3), NULL
 * without tracepoints. 0 or a negative errno with an error message of attar_error().
 */
int kp_tracing_data(struct attar_catalog *catalog, const struct attar_format *const *formats,
	size_t n, char **ret_bytes, size_t *ret_size);

#endif
