/* SPDX-License-Identifier: MIT */
/*
 * Offsets of members of the kernel's structs, from its type information (BTF,
 * /sys/kernel/btf/vmlinux, Linux 5.4). Format: Documentation/bpf/btf.rst of the kernel.
 */
#ifndef PERF_BTF_H
#define PERF_BTF_H

#include "base/buf.h"

struct btf {
	struct buf bytes; /* of the file */
	const char *types, *types_end;
	const char *strings, *strings_end;
};

/*
 * Reads the running kernel's. -EOPNOTSUPP: it has none; -EACCES and others; -EBADMSG. Free with
 * btf_done(), also after a failure.
 */
int btf_read(struct btf *btf);

/* Takes bytes of any source: bytes is taken over. 0 or -EBADMSG. */
int btf_take(struct btf *btf, struct buf bytes);

void btf_done(struct btf *btf);

/*
 * The offset in bytes of a member of a struct, also of one in a struct or union without a name in
 * it. -ENOENT with an error message: there is no such struct or member.
 */
int btf_offset(
	const struct btf *btf, const char *structure, const char *member, uint32_t *ret_offset);

#endif
