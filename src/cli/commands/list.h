/* SPDX-License-Identifier: MIT */
/* attar list: which events are listed, and their fields. */
#ifndef CLI_COMMANDS_LIST_H
#define CLI_COMMANDS_LIST_H

#include "attar/format.h"
#include "base/buf.h"

/* Whether the pattern is this kind of events, a shell pattern of the name or a part of it. */
bool list_wants(const char *pattern, const char *kind, const char *name);

/* Appends the names of the fields that not all events have. */
void list_put_fields(struct buf *b, const struct attar_format *format);

#endif
