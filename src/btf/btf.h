/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types (BTF): structs with their members, and functions with their parameters, from
 * /sys/kernel/btf/vmlinux (Linux 5.4), of modules from /sys/kernel/btf/MODULE (5.11), or from a
 * file. Format: Documentation/bpf/btf.rst of the kernel.
 *
 *	struct btf btf;
 *	if (btf_read(&btf) == 0)
 *		btf_offset(&btf, "task_struct", "tgid", &offset);
 *	btf_done(&btf);
 *
 * Files are not trusted: every number of a type and every offset of a string is checked when it is
 * used, and types that refer to themselves end at a depth.
 */
#ifndef BTF_BTF_H
#define BTF_BTF_H

#include <linux/btf.h>

#include "base/buf.h"
#include "base/suggest.h"
#include "base/vec.h"

struct btf {
	struct buf bytes;       /* of the file */
	const struct btf *base; /* of a module: the kernel's, borrowed; NULL: none */
	const char *types;
	const char *strings;   /* end with NUL */
	uint32_t strings_len;  /* bytes */
	VEC(uint32_t) offsets; /* of the types, in `types` */
};

/* A member of a struct or union. */
struct btf_place {
	uint32_t type;  /* its number */
	uint64_t bit;   /* offset from the start of the struct, in bits */
	uint32_t width; /* of a bit field, in bits; 0: it is none */
};

/*
 * Reads the types of the running kernel. -EOPNOTSUPP: it has none; -EACCES and others; -EBADMSG.
 * Free with btf_done(), also after a failure.
 */
int btf_read(struct btf *btf);

/* The same from a file. base is for the types of a module, and outlives btf; otherwise NULL. */
int btf_read_file(struct btf *btf, const char *path, const struct btf *base);

/* Takes bytes of any source: bytes is taken over. 0, -EBADMSG or -ENOMEM. */
int btf_take(struct btf *btf, struct buf bytes, const struct btf *base);

void btf_done(struct btf *btf);

/* ---- types, by number from 1; 0 is void ---- */

/*
 * Copies the head of a type, and returns what follows it: members, parameters, an array. NULL:
 * there is no such type.
 */
const char *btf_get(const struct btf *btf, uint32_t number, struct btf_type *ret_type);

/* The string at an offset, "" if there is none. Borrowed from btf. */
const char *btf_name(const struct btf *btf, uint32_t offset);

/* The number of the type of a kind (BTF_KIND_*) with this name; 0: there is none. */
uint32_t btf_find(const struct btf *btf, unsigned kind, const char *name);

/* The type without typedefs, const, volatile and the like; 0 also if it has no end. */
uint32_t btf_plain(const struct btf *btf, uint32_t number);

/* The kind of the plain type; BTF_KIND_UNKN for void. */
unsigned btf_kind(const struct btf *btf, uint32_t number);

/* The size in bytes; false: it has none, such as a function or a struct that is only declared. */
bool btf_size(const struct btf *btf, uint32_t number, uint64_t *ret_size);

/* What a pointer points to, or the elements of an array; 0: void, or it is neither. */
uint32_t btf_target(const struct btf *btf, uint32_t number);

/* Appends the type as C writes it: "struct sock *". */
void btf_put(const struct btf *btf, uint32_t number, struct buf *b);

/* ---- members and parameters ---- */

/* Finds a member, also in structs and unions without a name. False: there is none. */
bool btf_member(
	const struct btf *btf, uint32_t number, const char *name, struct btf_place *ret_place);

/* Offers the names of all members, also of such inner structs. */
void btf_suggest_member(const struct btf *btf, uint32_t number, struct suggest *s);

/*
 * The parameter of a function's prototype, from 0; false: it has less. The name is borrowed.
 */
bool btf_parameter(const struct btf *btf, uint32_t prototype, uint32_t i, const char **ret_name,
	uint32_t *ret_type);

/*
 * The offset in bytes of a member of a struct, also of one in a struct or union without a name in
 * it. -ENOENT with an error message: there is no such struct or member.
 */
int btf_offset(
	const struct btf *btf, const char *structure, const char *member, uint32_t *ret_offset);

#endif
