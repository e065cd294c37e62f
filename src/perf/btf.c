/* SPDX-License-Identifier: MIT */
#include "perf/btf.h"

#include <linux/btf.h>

#include "base/base.h"
#include "base/file.h"

enum { FILE_MAX = 64 << 20, DEPTH_MAX = 8 };

static const char path[] = "/sys/kernel/btf/vmlinux";

int btf_read(struct btf *btf)
{
	struct buf bytes = {0};
	int r = file_read(path, FILE_MAX, &bytes);

	if (r == 0)
		return btf_take(btf, bytes);
	buf_done(&bytes);
	return r == -ENOENT ? attar_fail(-EOPNOTSUPP,
				      "this kernel has no type information (BTF, %s)", path)
			    : r;
}

void btf_done(struct btf *btf)
{
	buf_done(&btf->bytes);
}

int btf_take(struct btf *btf, struct buf bytes)
{
	struct btf_header head;
	uint64_t end = 0;

	*btf = (struct btf){.bytes = bytes};
	if (bytes.len >= sizeof(head)) {
		memcpy(&head, bytes.data, sizeof(head));
		end = (uint64_t)head.hdr_len + MAX((uint64_t)head.type_off + head.type_len,
						       (uint64_t)head.str_off + head.str_len);
	}
	if (!end || head.magic != BTF_MAGIC || end > bytes.len || !head.str_len)
		return attar_fail(-EBADMSG, "invalid type information (BTF)");
	btf->types = bytes.data + head.hdr_len + head.type_off;
	btf->types_end = btf->types + head.type_len;
	btf->strings = bytes.data + head.hdr_len + head.str_off;
	btf->strings_end = btf->strings + head.str_len;
	return 0;
}

static bool is_named(const struct btf *btf, uint32_t at, const char *name)
{
	size_t room = (size_t)(btf->strings_end - btf->strings), n = strlen(name) + 1;

	return at < room && n <= room - at && !memcmp(btf->strings + at, name, n);
}

/* ---- types ---- */

/* Bytes after struct btf_type. */
static size_t size_after(const struct btf_type *type)
{
	size_t n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

/* The type after `at`; NULL: there is none. */
static const char *next_type(const struct btf *btf, const char *at, struct btf_type *ret_type)
{
	if ((size_t)(btf->types_end - at) < sizeof(*ret_type))
		return NULL;
	memcpy(ret_type, at, sizeof(*ret_type));
	at += sizeof(*ret_type);
	return size_after(ret_type) > (size_t)(btf->types_end - at) ? NULL
								    : at + size_after(ret_type);
}

/* The members of a struct or union by number of its type, from 1. NULL: it is neither. */
static const char *members_of(const struct btf *btf, uint32_t number, struct btf_type *ret_type)
{
	const char *at = btf->types, *after;
	unsigned kind;

	while ((after = next_type(btf, at, ret_type)) && --number)
		at = after;
	if (!after)
		return NULL;
	kind = BTF_INFO_KIND(ret_type->info);
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION ? at + sizeof(*ret_type) : NULL;
}

static const char *find_struct(const struct btf *btf, const char *name, struct btf_type *ret_type)
{
	const char *at = btf->types, *after;

	for (; (after = next_type(btf, at, ret_type)); at = after)
		if (BTF_INFO_KIND(ret_type->info) == BTF_KIND_STRUCT &&
			is_named(btf, ret_type->name_off, name))
			return at + sizeof(*ret_type);
	return NULL;
}

static bool find_member(const struct btf *btf, const struct btf_type *type, const char *members,
	const char *name, unsigned depth, uint32_t *ret_bits)
{
	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		struct btf_member member;
		struct btf_type inner;
		const char *inside;
		uint32_t bits;

		memcpy(&member, members + i * sizeof(member), sizeof(member));
		bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(member.offset)
						  : member.offset;
		if (is_named(btf, member.name_off, name)) {
			*ret_bits += bits;
			return true;
		}
		if (!is_named(btf, member.name_off, "") || depth == DEPTH_MAX)
			continue;
		inside = members_of(btf, member.type, &inner);
		if (inside && find_member(btf, &inner, inside, name, depth + 1, ret_bits)) {
			*ret_bits += bits;
			return true;
		}
	}
	return false;
}

int btf_offset(
	const struct btf *btf, const char *structure, const char *member, uint32_t *ret_offset)
{
	struct btf_type type;
	const char *members = find_struct(btf, structure, &type);
	uint32_t bits = 0;

	if (!members || !find_member(btf, &type, members, member, 0, &bits))
		return attar_fail(
			-ENOENT, "the kernel's struct %s has no member '%s'", structure, member);
	*ret_offset = bits / 8;
	return 0;
}
