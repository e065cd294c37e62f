/* SPDX-License-Identifier: MIT */
/* The plain fields of records: the model fills, encodes and compares them with this table. */
#ifndef RECORD_PLAIN_H
#define RECORD_PLAIN_H

#include "record_fields.h"

extern const struct record_field record_plain[];
extern const size_t record_n_plain;

#endif
