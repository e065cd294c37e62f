/* SPDX-License-Identifier: MIT */
/* The file of a probe that names none, uprobe:malloc: where a watched program has the function. */
#ifndef EVENT_PROBE_SEARCH_H
#define EVENT_PROBE_SEARCH_H

#include "event/catalog.h"
#include "event/list.h"
#include "tracefs/dynamic_event.h"

/*
 * Sets file, link and offset of a probe of a function, whose strings the list owns. The file is,
 * of the files with code of the catalog's processes, the first of these that has the function: the
 * program, an allocator that replaces the one of libc, libc, another library. Of a command and of
 * the whole system, it is the program of the command, or else the C library of this machine.
 * Returns 0, or a negative errno with an error message: -ENOENT if there is none.
 */
int probe_search(struct attar_catalog *catalog, struct list *list, struct probe *probe);

#endif
