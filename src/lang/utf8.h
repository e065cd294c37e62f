/* SPDX-License-Identifier: MIT */
#ifndef LANG_UTF8_H
#define LANG_UTF8_H

#include <stdint.h>

#include "base/buf.h"

/* Appends a character in UTF-8. Of a number that is no character, the lowest 21 bits count. */
void utf8_add(struct buf *to, uint32_t c);

#endif
