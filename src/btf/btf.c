/* SPDX-License-Identifier: MIT */
#include "btf/btf.h"

#include "base/base.h"
#include "base/user_file.h"

enum { FILE_MAX = 256 << 20, DEPTH_MAX = 16, WALK_MAX = 4096, TYPES_MAX = 4 << 20 };

static const char path[] = "/sys/kernel/btf/vmlinux";

int btf_read(struct btf *btf)
{
	return btf_read_file(btf, path, NULL);
}

int btf_read_file(struct btf *btf, const char *from, const struct btf *base)
{
	struct buf bytes = {0};
	int r = user_file_read(from, FILE_MAX, &bytes);

	*btf = (struct btf){0};
	if (r == 0) {
		r = btf_take(btf, bytes, base);
		return r == -EBADMSG ? attar_context(r, "%s", from) : r;
	}
	buf_done(&bytes);
	return r == -ENOENT && from == path
		       ? attar_fail(
				 -EOPNOTSUPP, "this kernel has no type information (BTF, %s)", path)
		       : r;
}

void btf_done(struct btf *btf)
{
	buf_done(&btf->bytes);
	vec_done(&btf->offsets);
}

/* Bytes after struct btf_type; -1: of a kind that is not known, so the next type is not either. */
static int64_t size_after(const struct btf_type *type)
{
	const int64_t n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * (int64_t)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * (int64_t)sizeof(struct btf_var_secinfo);
	default:
		return BTF_INFO_KIND(type->info) <= BTF_KIND_ENUM64 ? 0 : -1;
	}
}

/* Finds where each type begins. */
static int number_types(struct btf *btf, size_t len)
{
	for (size_t at = 0; at < len;) {
		struct btf_type type;
		int64_t after;

		if (len - at < sizeof(type) || btf->offsets.n == TYPES_MAX)
			return -EBADMSG;
		memcpy(&type, btf->types + at, sizeof(type));
		after = size_after(&type);
		if (after < 0 || (uint64_t)after > len - at - sizeof(type))
			return -EBADMSG;
		if (vec_push(&btf->offsets, (uint32_t)at) < 0)
			return -ENOMEM;
		at += sizeof(type) + (size_t)after;
	}
	return 0;
}

static int btf_index(struct btf *btf)
{
	const struct buf *b = &btf->bytes;
	struct btf_header head;
	uint64_t end;

	if (b->len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, b->data, sizeof(head));
	end = (uint64_t)head.hdr_len +
	      MAX((uint64_t)head.type_off + head.type_len, (uint64_t)head.str_off + head.str_len);
	if (head.magic != BTF_MAGIC || end > b->len || !head.str_len)
		return -EBADMSG;
	btf->types = b->data + head.hdr_len + head.type_off;
	btf->strings = b->data + head.hdr_len + head.str_off;
	btf->strings_len = head.str_len;
	if (btf->strings[btf->strings_len - 1])
		return -EBADMSG;
	return number_types(btf, head.type_len);
}

int btf_take(struct btf *btf, struct buf bytes, const struct btf *base)
{
	int r;

	*btf = (struct btf){.bytes = bytes, .base = base};
	r = btf_index(btf);
	return r == -EBADMSG ? attar_fail(-EBADMSG, "invalid type information (BTF)") : r;
}

/* ---- types ---- */

/* The file that has the type, and its index there. */
static const struct btf *owner_of(const struct btf *btf, uint32_t number, uint32_t *ret_index)
{
	const uint32_t before = btf->base ? (uint32_t)btf->base->offsets.n : 0;

	if (!number)
		return NULL;
	if (number <= before) {
		*ret_index = number - 1;
		return btf->base;
	}
	*ret_index = number - 1 - before;
	return *ret_index < btf->offsets.n ? btf : NULL;
}

const char *btf_get(const struct btf *btf, uint32_t number, struct btf_type *ret_type)
{
	uint32_t i;
	const struct btf *owner = owner_of(btf, number, &i);
	const char *at;

	if (!owner)
		return NULL;
	at = owner->types + owner->offsets.at[i];
	memcpy(ret_type, at, sizeof(*ret_type));
	return at + sizeof(*ret_type);
}

const char *btf_name(const struct btf *btf, uint32_t offset)
{
	const uint32_t before = btf->base ? btf->base->strings_len : 0;

	if (offset < before)
		return btf->base->strings + offset;
	return offset - before < btf->strings_len ? btf->strings + (offset - before) : "";
}

uint32_t btf_find(const struct btf *btf, unsigned kind, const char *name)
{
	const size_t first = btf->base ? btf->base->offsets.n : 0;

	for (size_t i = 0; i < btf->offsets.n; i++) {
		struct btf_type type;

		memcpy(&type, btf->types + btf->offsets.at[i], sizeof(type));
		if (BTF_INFO_KIND(type.info) == kind && !strcmp(btf_name(btf, type.name_off), name))
			return (uint32_t)(first + i + 1);
	}
	return btf->base ? btf_find(btf->base, kind, name) : 0;
}

static bool is_modifier(unsigned kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
	       kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

uint32_t btf_plain(const struct btf *btf, uint32_t number)
{
	struct btf_type type;

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (!btf_get(btf, number, &type))
			return 0;
		if (!is_modifier(BTF_INFO_KIND(type.info)))
			return number;
		number = type.type;
	}
	return 0;
}

unsigned btf_kind(const struct btf *btf, uint32_t number)
{
	struct btf_type type;

	return btf_get(btf, btf_plain(btf, number), &type) ? BTF_INFO_KIND(type.info)
							   : BTF_KIND_UNKN;
}

static bool size_of_array(const struct btf *btf, const char *after, unsigned depth, uint64_t *ret);

static bool size_within(const struct btf *btf, uint32_t number, unsigned depth, uint64_t *ret_size)
{
	struct btf_type type;
	const char *after = btf_get(btf, btf_plain(btf, number), &type);

	if (!after || depth == DEPTH_MAX)
		return false;
	switch (BTF_INFO_KIND(type.info)) {
	case BTF_KIND_PTR:
		*ret_size = sizeof(uint64_t);
		return true;
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT:
		*ret_size = type.size;
		return true;
	case BTF_KIND_ARRAY:
		return size_of_array(btf, after, depth, ret_size);
	default:
		return false;
	}
}

static bool size_of_array(
	const struct btf *btf, const char *after, unsigned depth, uint64_t *ret_size)
{
	struct btf_array array;
	uint64_t size;

	memcpy(&array, after, sizeof(array));
	return size_within(btf, array.type, depth + 1, &size) &&
	       !__builtin_mul_overflow(size, (uint64_t)array.nelems, ret_size);
}

bool btf_size(const struct btf *btf, uint32_t number, uint64_t *ret_size)
{
	return size_within(btf, number, 0, ret_size);
}

uint32_t btf_target(const struct btf *btf, uint32_t number)
{
	struct btf_type type;
	const char *after = btf_get(btf, btf_plain(btf, number), &type);
	struct btf_array array;

	if (!after)
		return 0;
	if (BTF_INFO_KIND(type.info) == BTF_KIND_PTR)
		return type.type;
	if (BTF_INFO_KIND(type.info) != BTF_KIND_ARRAY)
		return 0;
	memcpy(&array, after, sizeof(array));
	return array.type;
}

static void put_within(const struct btf *btf, uint32_t number, unsigned depth, struct buf *b)
{
	struct btf_type type;
	const char *name;
	unsigned kind;

	if (!btf_get(btf, number, &type) || depth == DEPTH_MAX) {
		buf_str(b, "void");
		return;
	}
	kind = BTF_INFO_KIND(type.info);
	name = btf_name(btf, type.name_off);
	if (kind == BTF_KIND_PTR || kind == BTF_KIND_ARRAY) {
		put_within(btf, btf_target(btf, number), depth + 1, b);
		buf_str(b, kind == BTF_KIND_PTR ? " *" : "[]");
	} else if (is_modifier(kind) && kind != BTF_KIND_TYPEDEF) {
		put_within(btf, type.type, depth + 1, b);
	} else if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FWD) {
		bool is_union = kind == BTF_KIND_UNION ||
				(kind == BTF_KIND_FWD && BTF_INFO_KFLAG(type.info));

		buf_printf(
			b, "%s %s", is_union ? "union" : "struct", *name ? name : "without a name");
	} else if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64) {
		buf_printf(b, "enum %s", name);
	} else {
		buf_str(b, kind == BTF_KIND_FUNC_PROTO ? "function" : name);
	}
}

void btf_put(const struct btf *btf, uint32_t number, struct buf *b)
{
	put_within(btf, number, 0, b);
}

/* ---- members ---- */

struct member_walk {
	const struct btf *btf;
	unsigned left; /* members that may still be looked at: structs can contain each other */
	/* Returns true to end the walk. */
	bool (*see)(void *ctx, const char *name, const struct btf_place *place);
	void *ctx;
};

/* Each member with a name, members of inner structs without one in its place. */
static bool walk_members(struct member_walk *w, uint32_t number, uint64_t bit, unsigned depth)
{
	struct btf_type type;
	const char *after = btf_get(w->btf, btf_plain(w->btf, number), &type);
	unsigned kind = after ? BTF_INFO_KIND(type.info) : 0;

	if (depth == DEPTH_MAX || (kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION))
		return false;
	for (uint32_t i = 0; i < BTF_INFO_VLEN(type.info) && w->left; i++, w->left--) {
		struct btf_member member;
		struct btf_place place;
		const char *name;
		bool has_width = BTF_INFO_KFLAG(type.info);

		memcpy(&member, after + i * sizeof(member), sizeof(member));
		place.type = member.type;
		place.bit =
			bit + (has_width ? BTF_MEMBER_BIT_OFFSET(member.offset) : member.offset);
		place.width = has_width ? BTF_MEMBER_BITFIELD_SIZE(member.offset) : 0;
		name = btf_name(w->btf, member.name_off);
		if (*name ? w->see(w->ctx, name, &place)
			  : walk_members(w, member.type, place.bit, depth + 1))
			return true;
	}
	return false;
}

struct wanted_member {
	const char *name;
	struct btf_place *place;
};

static bool is_wanted(void *ctx, const char *name, const struct btf_place *place)
{
	struct wanted_member *wanted = ctx;

	if (strcmp(name, wanted->name) != 0)
		return false;
	*wanted->place = *place;
	return true;
}

bool btf_member(
	const struct btf *btf, uint32_t number, const char *name, struct btf_place *ret_place)
{
	struct wanted_member wanted = {name, ret_place};
	struct member_walk walk = {.btf = btf, .left = WALK_MAX, .see = is_wanted, .ctx = &wanted};

	return walk_members(&walk, number, 0, 0);
}

static bool btf_offer(void *ctx, const char *name, const struct btf_place *place)
{
	suggest_offer(ctx, name);
	return false;
}

void btf_suggest_member(const struct btf *btf, uint32_t number, struct suggest *s)
{
	struct member_walk walk = {.btf = btf, .left = WALK_MAX, .see = btf_offer, .ctx = s};

	walk_members(&walk, number, 0, 0);
}

bool btf_parameter(const struct btf *btf, uint32_t prototype, uint32_t i, const char **ret_name,
	uint32_t *ret_type)
{
	struct btf_param parameter;
	struct btf_type type;
	const char *after = btf_get(btf, prototype, &type);

	if (!after || BTF_INFO_KIND(type.info) != BTF_KIND_FUNC_PROTO ||
		i >= BTF_INFO_VLEN(type.info))
		return false;
	memcpy(&parameter, after + i * sizeof(parameter), sizeof(parameter));
	*ret_name = btf_name(btf, parameter.name_off);
	*ret_type = parameter.type;
	return true;
}

int btf_offset(
	const struct btf *btf, const char *structure, const char *member, uint32_t *ret_offset)
{
	const uint32_t number = btf_find(btf, BTF_KIND_STRUCT, structure);
	struct btf_place place;

	if (!number || !btf_member(btf, number, member, &place))
		return attar_fail(
			-ENOENT, "the kernel's struct %s has no member '%s'", structure, member);
	*ret_offset = (uint32_t)(place.bit / 8);
	return 0;
}
