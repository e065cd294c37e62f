/* SPDX-License-Identifier: MIT */
/*
 * Names in expressions: what ksymbol(), usymbol() and comm_get() of attar/expr.h yield for a
 * stream. Each copies at most max bytes, without NUL, and returns their number; 0: the name is
 * unknown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attar/stream.h"
#include "attar/symbol.h"

/* stream may be NULL before it is started: threads have no names then. */
size_t expr_name_code(
	struct attar_symbols *symbols, attar_location location, char *ret_text, size_t max);
size_t expr_name_user(struct attar_symbols *symbols, const struct attar_stream *stream, pid_t tid,
	uint64_t address, char *ret_text, size_t max);
size_t expr_name_comm(struct attar_stream *stream, pid_t tid, char *ret_text, size_t max);

/*
 * The function at an address of the kernel, for %pS and similar conversions of print formats, until
 * the next call. The size is omitted: the symbol cache includes the padding before the next
 * function in it.
 */
bool expr_name_function(struct attar_symbols *symbols, attar_location location, uint64_t address,
	struct attar_kernel_name *ret_name);
