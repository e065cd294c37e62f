/* SPDX-License-Identifier: MIT */
/*
 * Resolve constant names in print formats: enumerators that the kernel's macros did not replace by
 * numbers are looked up in the kernel's BTF (Documentation/bpf/btf.rst), which is read once, on
 * first use.
 */
#include <linux/btf.h>
#include <stdio.h>

#include "base/file.h"
#include "tracefs/tracefs.h"

enum { BTF_MAX = 256 << 20, KIND_ENUM64 = 19 /* since 6.0 */ };

struct btf {
	const char *strings;
	uint32_t strings_len;
	struct map *values; /* maps hash of name to value */
	struct map twice;   /* hashes with two different values: ambiguous, not used */
};

static uint64_t hash(const char *text)
{
	return base_hash_bytes(BASE_HASH_START, text, strlen(text));
}

static void btf_constants_add(struct btf *b, uint32_t name_off, uint64_t value)
{
	uint64_t key, *known;

	if (name_off >= b->strings_len)
		return;
	key = hash(b->strings + name_off);
	known = map_get(b->values, key);
	if (known && *known != value)
		map_put(&b->twice, key, 1);
	else
		map_put(b->values, key, value);
}

static void add_enum(struct btf *b, const uint32_t *at, unsigned n, bool wide)
{
	for (unsigned i = 0; i < n; i++, at += wide ? 3 : 2)
		btf_constants_add(b, at[0],
			wide ? at[1] | (uint64_t)at[2] << 32 : (uint64_t)(int64_t)(int32_t)at[1]);
}

/* Number of bytes after a struct btf_type; -1 for an unknown kind, where parsing must stop. */
static int64_t size_behind(unsigned kind, unsigned n)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return 12;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * (int64_t)n;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8 * (int64_t)n;
	default:
		return kind <= KIND_ENUM64 ? 0 : -1;
	}
}

static void walk(struct btf *b, const char *types, size_t len)
{
	for (size_t at = 0; at + sizeof(struct btf_type) <= len;) {
		struct btf_type type;
		unsigned kind, n;
		int64_t behind;

		memcpy(&type, types + at, sizeof(type));
		at += sizeof(type);
		kind = BTF_INFO_KIND(type.info);
		n = BTF_INFO_VLEN(type.info);
		behind = size_behind(kind, n);
		if (behind < 0 || (uint64_t)behind > len - at)
			return;
		if (kind == BTF_KIND_ENUM || kind == KIND_ENUM64)
			add_enum(b, (const uint32_t *)(types + at), n, kind == KIND_ENUM64);
		at += (size_t)behind;
	}
}

void btf_constants(const char *bytes, size_t len, struct map *ret_values)
{
	struct btf b = {.values = ret_values};
	struct btf_header h;
	size_t left;

	if (len < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len > len || h.hdr_len % 4 || h.type_off % 4)
		return;
	left = len - h.hdr_len;
	if (h.type_off > left || h.type_len > left - h.type_off || h.str_off > left ||
		h.str_len > left - h.str_off || !h.str_len)
		return;
	b.strings = bytes + h.hdr_len + h.str_off;
	b.strings_len = h.str_len;
	if (b.strings[b.strings_len - 1])
		return;
	walk(&b, bytes + h.hdr_len + h.type_off, h.type_len);
	map_each (&b.twice, it)
		map_remove(ret_values, it->key);
	map_done(&b.twice);
}

bool tracefs_constant(struct tracefs *tracefs, const char *name, uint64_t *ret_value)
{
	uint64_t *value;

	if (!tracefs)
		return false;
	if (!tracefs->constants_read) {
		struct buf b _cleanup_(buf_done) = {0};
		char path[4096];

		tracefs->constants_read = true;
		snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", tracefs->sysfs);
		if (file_read(path, BTF_MAX, &b) == 0)
			btf_constants(b.data, b.len, &tracefs->constants);
		attar_error_clear();
	}
	value = map_get(&tracefs->constants, hash(name));
	if (value)
		*ret_value = *value;
	return value != NULL;
}
