/* SPDX-License-Identifier: MIT */
/* The types of the kernel and its modules for a catalog, which reads each file once. */
#ifndef EVENT_KERNEL_TYPES_H
#define EVENT_KERNEL_TYPES_H

#include "btf/btf.h"
#include "event/catalog.h"

struct kernel_types;

/*
 * The types for a function, "f" or "module:f": of the kernel, or of the module that has the
 * function; NULL: of the kernel. From the catalog's file if it has one. Borrowed from the catalog.
 * -EOPNOTSUPP, with an error message, if the kernel has none, or another negative errno.
 */
int kernel_types(struct attar_catalog *catalog, const char *function, const struct btf **ret_btf);

/* Accepts NULL. */
void kernel_types_free(struct kernel_types *types);

#endif
