/* SPDX-License-Identifier: MIT */
/*
 * What attar/event.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_EVENT_H
#define ATTAR_PRIVATE_EVENT_H

#include "attar/event.h"

/*
 * Sets the callback that resolves function addresses when records of this catalog's formats are
 * printed. fn must not use the catalog. ctx is owned by the caller and must outlive the catalog.
 */
void catalog_resolver(struct attar_catalog *catalog, attar_address_fn *fn, void *ctx);

/*
 * The expression in the value of an attribute of the form "EXPRESSION", "[NAME:]EXPRESSION" or
 * "FIELD", such as the value of key= or top-by=; *ret_name_len: bytes of NAME at the start of the
 * value, 0: there is none. NULL for other attributes. Borrowed from the list.
 */
const char *event_option_expr(const struct attar_event_option *option, size_t *ret_name_len);

/*
 * The name of attribute i that events may have, NULL after the last. *ret_value is the form of its
 * value, such as "EXPRESSION"; NULL if it has none. Both are static.
 */
const char *event_attribute(size_t i, const char **ret_value);

/*
 * Appends the event string to the error message of the calling thread, with a caret under column
 * (from 1, such as value_column of an option plus the position of the error in its value), and
 * returns code as a negative errno. attar_event_list_parse() does the same for its errors.
 */
int spec_error(const struct attar_event_spec *spec, unsigned column, int code);

/* The name of a transport: "kernel", "shm", "usdt"; "" for none. */
const char *transport_name(enum attar_transport transport);

/* The name of an event kind, for headings and messages: "hardware", "tracepoint" ... */
const char *event_kind_name(enum attar_event_kind kind);

/*
 * Calls fn for each location of the USDT probes of a file, "FILE[:PROVIDER[:NAME]]": a path, the
 * name of a library or of a program in PATH; PROVIDER and NAME may be patterns. Locations of a
 * probe follow one another, those with equal arguments too. Returns 0, or the nonzero result of fn;
 * -ENOENT: there is no such file or probe; -EINVAL: the string is malformed; -ENOMEM; or the
 * negative errno of a file that cannot be read.
 */
int usdt_each_location(const char *text, attar_usdt_location_fn *fn, void *ctx);

/*
 * Makes tracepoints PROVIDER:NAME for the USDT probes of a file, which stay until they are deleted:
 * "[PROVIDER:NAME@]FILE[@ADDRESS][ ARGUMENTS]". PROVIDER and NAME may be patterns; none: all.
 * ADDRESS (a number, or FUNCTION[+OFFSET]) is a place without a note. ARGUMENTS replace the
 * operands of the notes: operands as in a note ("-4@%edi"), or in the kernel's syntax
 * ("name=%di:s32"). fn is called for each, and may be NULL. Returns 0, or the nonzero result of fn;
 * -ENOENT: there is no such file, probe or function; -EEXIST: there is such a tracepoint; -EACCES;
 * -EOPNOTSUPP: the kernel has no uprobes, or cannot fetch an operand; -EINVAL; -ENOMEM.
 */
int usdt_add(const char *text, attar_usdt_added_fn *fn, void *ctx);

/* Deletes the tracepoints PROVIDER:NAME; * and ? match. -ENOENT: there are none; -EBUSY. */
int usdt_delete(const char *pattern);

/* Calls fn for each location of the tracepoints that were added. Returns 0 or a negative errno. */
int usdt_each_added(attar_usdt_fn *fn, void *ctx);

/*
 * The address of a number ("0x1234"); of "SYMBOL", a variable or function of the program of process
 * pid, or else of the kernel; or of "SYMBOL@FILE" in process pid. OFFSET of "SYMBOL+OFFSET",
 * "SYMBOL+OFFSET@FILE" and "SYMBOL@FILE+OFFSET" is added. pid 0: the first of the catalog's pids,
 * or else its program; files that can be mapped anywhere have addresses in processes only. Returns
 * 0; -ENOENT: there is no such symbol; -EFAULT: the process has not mapped this number; -EACCES:
 * the kernel hides its addresses; -EINVAL; or the negative errno of a file that cannot be read.
 */
int catalog_address(
	struct attar_catalog *catalog, const char *text, pid_t pid, uint64_t *ret_address);

#endif
