/* SPDX-License-Identifier: MIT */
/*
 * What attar/eventheader.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_EVENTHEADER_H
#define ATTAR_PRIVATE_EVENTHEADER_H

#include "attar/eventheader.h"

/* True if the tracepoint has the fields of the EventHeader encoding. */
bool eventheader_format(const struct attar_format *format);

#endif
