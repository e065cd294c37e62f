/* SPDX-License-Identifier: MIT */
/*
 * The names of the kernel's functions, as a sender gives them to receivers: lines of
 * /proc/kallsyms, compressed with zlib. Of data, only the line that ends a range of functions is
 * kept.
 */
#ifndef PEER_SYMBOL_LIST_H
#define PEER_SYMBOL_LIST_H

#include "base/buf.h"

enum { SYMBOL_LIST_MAX = 16 << 20 /* bytes, compressed */ };

/*
 * Appends the names. Returns 0; -EACCES if the kernel hides the addresses, or another negative
 * errno, with an error message.
 */
int symbol_list_pack(const char *kallsyms, struct buf *packed);

/*
 * Appends the lines. Returns 0; -EBADMSG, with an error message, if the bytes are damaged; -ENOMEM.
 */
int symbol_list_unpack(const void *packed, size_t n, struct buf *text);

#endif
