/* SPDX-License-Identifier: MIT */
/*
 * What attar/record.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_RECORD_H
#define ATTAR_PRIVATE_RECORD_H

#include "attar/record.h"

/* The name of a record type for messages: "SAMPLE", "MMAP2" ...; "?" for an unknown type. */
const char *record_name(uint32_t type);

#endif
