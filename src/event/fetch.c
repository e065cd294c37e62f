/* SPDX-License-Identifier: MIT */
#include "event/fetch.h"

#include <ctype.h>
#include <stdio.h>

#include "base/base.h"

enum { NAME_MAX_BYTES = 128, DEPTH_MAX = 32, FETCH_MAX = 1024, OFFSET_MAX = 1 << 30 };

/*
 * A value that the text of tracefs gives: of a register or in memory, plus an offset in bytes; or
 * what is in memory at this address.
 */
struct fetch_value {
	char base[FETCH_MAX]; /* "$arg1", "+8($arg1)" */
	int64_t offset;       /* bytes, added to it */
	uint32_t type;        /* what it is, or what is in memory; 0: unknown */
	uint32_t target;      /* what it points to, if that is known although type is not */
	bool is_memory;
	uint32_t bit, width; /* of a bit field in memory, from the offset; width 0: it is none */
};

struct fetch_parser {
	const struct fetch_names *names;
	const char *p, *end;
	const char *wrong; /* where the error is */
	unsigned depth;
};

/* ---- words ---- */

static void blanks(struct fetch_parser *f)
{
	while (f->p < f->end && isspace((unsigned char)*f->p))
		f->p++;
}

static bool take(struct fetch_parser *f, const char *word)
{
	size_t n = strlen(word);

	blanks(f);
	if ((size_t)(f->end - f->p) < n || memcmp(f->p, word, n) != 0)
		return false;
	f->p += n;
	return true;
}

static size_t name_span(const struct fetch_parser *f)
{
	size_t n = 0;

	while (f->p + n < f->end && (isalnum((unsigned char)f->p[n]) || f->p[n] == '_'))
		n++;
	return n && isdigit((unsigned char)f->p[0]) ? 0 : n;
}

static int need(struct fetch_parser *f, const char *word)
{
	if (take(f, word))
		return 0;
	f->wrong = f->p;
	return attar_fail(-EINVAL, "args: missing '%s'", word);
}

static int take_name(struct fetch_parser *f, char name[NAME_MAX_BYTES])
{
	size_t n;

	blanks(f);
	n = name_span(f);
	f->wrong = f->p;
	if (!n || n >= NAME_MAX_BYTES)
		return attar_fail(-EINVAL, "args: a name is expected");
	memcpy(name, f->p, n);
	name[n] = '\0';
	f->p += n;
	return 0;
}

/* The keyword, and not the start of a longer name. */
static bool take_keyword(struct fetch_parser *f, const char *word)
{
	const char *before = f->p;

	if (!take(f, word))
		return false;
	if (f->p == f->end || !(isalnum((unsigned char)*f->p) || *f->p == '_'))
		return true;
	f->p = before;
	return false;
}

/* ---- types ---- */

static int unknown_type(struct fetch_parser *f, const char *kind, const char *name)
{
	return attar_fail(-ENOENT, "args: the kernel has no %s %s", kind, CLIP(name));
}

/* "struct NAME", "union NAME" or the name of a typedef. */
static int read_type_name(struct fetch_parser *f, uint32_t *ret_type)
{
	bool is_union = take_keyword(f, "union"),
	     is_struct = !is_union && take_keyword(f, "struct");
	const char *word = is_union ? "union" : is_struct ? "struct" : "type";
	unsigned kind = is_union ? BTF_KIND_UNION : is_struct ? BTF_KIND_STRUCT : BTF_KIND_TYPEDEF;
	char name[NAME_MAX_BYTES];
	int r = take_name(f, name);

	if (r < 0)
		return r;
	*ret_type = btf_find(f->names->btf, kind, name);
	return *ret_type ? 0 : unknown_type(f, word, name);
}

/* Whether a type in parentheses begins here: a cast. */
static bool is_cast(struct fetch_parser *f)
{
	struct fetch_parser ahead = *f;

	if (!take(&ahead, "("))
		return false;
	return take_keyword(&ahead, "struct") || take_keyword(&ahead, "union");
}

/* ---- values ---- */

static int put_value(struct fetch_parser *f, const struct fetch_value *v, char ret_text[FETCH_MAX])
{
	int n;

	if (v->offset > OFFSET_MAX || v->offset < -OFFSET_MAX)
		return attar_fail(
			-EINVAL, "args: the offset %lld is too large", (long long)v->offset);
	if (!v->is_memory && v->offset) /* the kernel does not add without fetching */
		return attar_fail(-EINVAL,
			"args: the kernel cannot fetch an address within a struct" ATTAR_FIX
			"fetch what is there");
	n = v->is_memory ? snprintf(ret_text, FETCH_MAX, "%+lld(%s)", (long long)v->offset, v->base)
			 : snprintf(ret_text, FETCH_MAX, "%s", v->base);
	return n < FETCH_MAX ? 0 : attar_fail(-E2BIG, "args: the expression is too long");
}

static bool is_array(const struct fetch_parser *f, const struct fetch_value *v)
{
	return v->is_memory && btf_kind(f->names->btf, v->type) == BTF_KIND_ARRAY;
}

/* Makes a value of what is in memory; an array becomes the address of its first element. */
static int load(struct fetch_parser *f, struct fetch_value *v)
{
	char text[FETCH_MAX];
	int r;

	if (!v->is_memory)
		return 0;
	if (is_array(f, v)) {
		v->is_memory = false;
		return 0;
	}
	if (v->width)
		return attar_fail(-EINVAL, "args: a bit field is no pointer");
	r = put_value(f, v, text);
	if (r < 0)
		return r;
	memcpy(v->base, text, sizeof(text));
	v->offset = 0;
	v->is_memory = false;
	return 0;
}

static int no_pointer(struct fetch_parser *f, uint32_t type)
{
	struct buf b _cleanup_(buf_done) = {0};

	btf_put(f->names->btf, type, &b);
	return attar_fail(-EINVAL,
		"args: '%s' is no pointer to a struct" ATTAR_FIX
		"cast it, as in ((struct sock *)sk)->sk_family",
		buf_text(&b));
}

/* *v */
static int dereference(struct fetch_parser *f, struct fetch_value *v)
{
	const unsigned kind = btf_kind(f->names->btf, v->type);
	int r;

	if (!v->is_memory && v->target) {
		v->type = v->target;
		v->target = 0;
		v->is_memory = true;
		return 0;
	}
	if (kind != BTF_KIND_PTR && kind != BTF_KIND_ARRAY)
		return no_pointer(f, v->type);
	r = load(f, v);
	v->type = btf_target(f->names->btf, v->type);
	v->is_memory = true;
	return r;
}

static int unknown_member(struct fetch_parser *f, uint32_t type, const char *name)
{
	const struct btf *btf = f->names->btf;
	struct suggest near = {.word = name};
	struct buf b _cleanup_(buf_done) = {0};

	btf_put(btf, btf_plain(btf, type), &b);
	btf_suggest_member(btf, type, &near);
	if (near.best)
		return attar_fail(-ENOENT,
			"args: %s has no member '%s'" ATTAR_FIX "did you mean '%s'?", buf_text(&b),
			CLIP(name), near.best);
	return attar_fail(-ENOENT, "args: %s has no member '%s'", buf_text(&b), CLIP(name));
}

static int find_member(
	struct fetch_parser *f, uint32_t type, const char *name, struct btf_place *ret_place)
{
	const unsigned kind = btf_kind(f->names->btf, type);

	if (kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION)
		return no_pointer(f, type);
	return btf_member(f->names->btf, type, name, ret_place) ? 0 : unknown_member(f, type, name);
}

/* v.name */
static int select_member(struct fetch_parser *f, struct fetch_value *v)
{
	char name[NAME_MAX_BYTES];
	struct btf_place place;
	int r = take_name(f, name);

	if (r == 0 && !v->is_memory)
		r = attar_fail(-EINVAL, "args: use -> for the members of what a pointer points to");
	if (r == 0)
		r = find_member(f, v->type, name, &place);
	if (r < 0)
		return r;
	v->offset += (int64_t)(place.bit / 8);
	v->bit = place.width ? (uint32_t)(place.bit % 8) : 0;
	v->width = place.width;
	v->type = place.type;
	return 0;
}

/* v[N] */
static int select_element(struct fetch_parser *f, struct fetch_value *v)
{
	uint64_t size, n = 0;
	int64_t bytes;
	int r;

	blanks(f);
	f->wrong = f->p;
	if (f->p == f->end || !isdigit((unsigned char)*f->p))
		return attar_fail(-EINVAL, "args: the index of an element is a number");
	for (; f->p < f->end && isdigit((unsigned char)*f->p) && n < OFFSET_MAX; f->p++)
		n = n * 10 + (unsigned)(*f->p - '0');
	r = need(f, "]");
	if (r == 0)
		r = dereference(f, v);
	if (r < 0)
		return r;
	if (!btf_size(f->names->btf, v->type, &size) ||
		__builtin_mul_overflow((int64_t)n, (int64_t)size, &bytes) ||
		__builtin_add_overflow(v->offset, bytes, &v->offset))
		return attar_fail(-EINVAL, "args: the elements have no known size");
	return 0;
}

/* ---- names ---- */

static int set_base(struct fetch_value *v, const char *prefix, const char *name, uint32_t type)
{
	*v = (struct fetch_value){.type = type};
	return snprintf(v->base, sizeof(v->base), "%s%s", prefix, name) < (int)sizeof(v->base)
		       ? 0
		       : -E2BIG;
}

static uint32_t prototype_of(const struct fetch_names *names)
{
	const char *colon = names->function ? strrchr(names->function, ':') : NULL;
	struct btf_type type;
	uint32_t number;

	if (!names->function)
		return 0;
	number = btf_find(names->btf, BTF_KIND_FUNC, colon ? colon + 1 : names->function);
	return btf_get(names->btf, number, &type) ? type.type : 0;
}

static int unknown_name(struct fetch_parser *f, const char *name, struct suggest *near)
{
	const struct fetch_names *names = f->names;

	if (names->function && !prototype_of(names))
		return attar_fail(-ENOENT,
			"args: the kernel's type information (BTF) has no function '%s'" ATTAR_FIX
			"write $arg1 and a cast, as in ((struct sock *)$arg1)->sk_family",
			CLIP(names->function));
	if (near->best)
		return attar_fail(-ENOENT,
			"args: the function has no parameter '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), near->best);
	return attar_fail(-ENOENT, "args: the function has no parameter '%s'", CLIP(name));
}

static int read_parameter(struct fetch_parser *f, const char *name, struct fetch_value *v)
{
	const uint32_t prototype = prototype_of(f->names);
	struct suggest near = {.word = name};
	const char *other;
	uint32_t type;
	char number[16];

	for (uint32_t i = 0; btf_parameter(f->names->btf, prototype, i, &other, &type); i++) {
		if (strcmp(other, name) == 0) {
			if (f->names->is_return)
				return attar_fail(-EINVAL,
					"args: '%s' is known at the entry of the function only; at "
					"its return there is $retval",
					CLIP(name));
			snprintf(number, sizeof(number), "%u", i + 1);
			return set_base(v, "$arg", number, type);
		}
		suggest_offer(&near, other);
	}
	return unknown_name(f, name, &near);
}

/* $argN has the type of the parameter, $retval what the function returns. */
static int read_dollar(struct fetch_parser *f, struct fetch_value *v)
{
	const uint32_t prototype = prototype_of(f->names);
	struct btf_type type;
	char name[NAME_MAX_BYTES];
	const char *other;
	uint32_t of = 0;
	int r = take_name(f, name);

	if (r < 0)
		return r;
	if (!strcmp(name, "retval") && btf_get(f->names->btf, prototype, &type))
		of = type.type;
	else if (!strncmp(name, "arg", 3) && isdigit((unsigned char)name[3]) && name[3] != '0')
		btf_parameter(f->names->btf, prototype, (uint32_t)strtoul(name + 3, NULL, 10) - 1,
			&other, &of);
	return set_base(v, "$", name, of);
}

/* ---- expressions ---- */

/* What the value points to is known, although no pointer type has it. */
static void point_to(struct fetch_value *v, uint32_t type)
{
	v->target = type;
	v->type = 0;
	v->is_memory = false;
	v->width = v->bit = 0;
}

static int read_unary(struct fetch_parser *f, struct fetch_value *v);

/* container_of(POINTER, struct NAME, MEMBER) */
static int read_container(struct fetch_parser *f, struct fetch_value *v)
{
	char name[NAME_MAX_BYTES];
	struct btf_place place;
	uint32_t type;
	int r = need(f, "(");

	if (r == 0)
		r = read_unary(f, v);
	if (r == 0)
		r = load(f, v);
	if (r == 0)
		r = need(f, ",");
	if (r == 0)
		r = read_type_name(f, &type);
	if (r == 0)
		r = need(f, ",");
	if (r == 0)
		r = take_name(f, name);
	if (r == 0)
		r = find_member(f, type, name, &place);
	if (r == 0)
		r = need(f, ")");
	if (r < 0)
		return r;
	v->offset -= (int64_t)(place.bit / 8);
	point_to(v, type);
	return 0;
}

static int read_primary(struct fetch_parser *f, struct fetch_value *v)
{
	char name[NAME_MAX_BYTES];
	int r;

	f->wrong = f->p;
	if (take(f, "$"))
		return read_dollar(f, v);
	if (take_keyword(f, "container_of"))
		return read_container(f, v);
	if (take(f, "(")) {
		r = read_unary(f, v);
		return r < 0 ? r : need(f, ")");
	}
	r = take_name(f, name);
	if (r < 0)
		return r;
	return read_parameter(f, name, v);
}

static int read_postfix(struct fetch_parser *f, struct fetch_value *v)
{
	int r = 0;

	while (r == 0) {
		blanks(f);
		f->wrong = f->p;
		if (take(f, "->")) {
			r = dereference(f, v);
			if (r == 0)
				r = select_member(f, v);
		} else if (take(f, ".")) {
			r = select_member(f, v);
		} else if (take(f, "[")) {
			r = select_element(f, v);
		} else {
			break;
		}
	}
	return r;
}

/* (struct NAME *)value */
static int read_cast(struct fetch_parser *f, struct fetch_value *v)
{
	uint32_t type;
	int r = need(f, "(");

	if (r == 0)
		r = read_type_name(f, &type);
	if (r == 0)
		r = need(f, "*");
	if (r == 0)
		r = need(f, ")");
	if (r == 0)
		r = read_unary(f, v);
	if (r == 0)
		r = load(f, v);
	if (r == 0)
		point_to(v, type);
	return r;
}

static int read_inner(struct fetch_parser *f, struct fetch_value *v)
{
	int r;

	if (take(f, "*")) {
		r = read_unary(f, v);
		return r < 0 ? r : dereference(f, v);
	}
	if (take(f, "&")) {
		r = read_unary(f, v);
		if (r == 0 && (!v->is_memory || v->width))
			r = attar_fail(-EINVAL, "args: only what is in memory has an address");
		point_to(v, v->type);
		return r;
	}
	if (is_cast(f))
		return read_cast(f, v);
	r = read_primary(f, v);
	return r < 0 ? r : read_postfix(f, v);
}

static int read_unary(struct fetch_parser *f, struct fetch_value *v)
{
	int r;

	if (f->depth++ == DEPTH_MAX)
		return attar_fail(-E2BIG, "args: the expression is nested too deeply");
	blanks(f);
	f->wrong = f->p;
	r = read_inner(f, v);
	f->depth--;
	return r;
}

/* ---- the type that is fetched ---- */

static bool is_char(const struct btf *btf, uint32_t number)
{
	struct btf_type type;
	uint64_t size;

	if (btf_kind(btf, number) != BTF_KIND_INT || !btf_size(btf, number, &size) || size != 1 ||
		!btf_get(btf, btf_plain(btf, number), &type))
		return false;
	return strstr(btf_name(btf, type.name_off), "char") != NULL;
}

static bool is_text(const struct fetch_parser *f, const struct fetch_value *v)
{
	const struct btf *btf = f->names->btf;
	const unsigned kind = btf_kind(btf, v->type);

	return (kind == BTF_KIND_PTR || is_array(f, v)) && is_char(btf, btf_target(btf, v->type));
}

static bool is_signed(const struct btf *btf, uint32_t number)
{
	struct btf_type type;
	const char *after = btf_get(btf, btf_plain(btf, number), &type);
	uint32_t encoding;

	if (!after)
		return false;
	if (BTF_INFO_KIND(type.info) == BTF_KIND_ENUM)
		return !type.size || BTF_INFO_KFLAG(type.info);
	if (BTF_INFO_KIND(type.info) != BTF_KIND_INT)
		return false;
	memcpy(&encoding, after, sizeof(encoding));
	return BTF_INT_ENCODING(encoding) & BTF_INT_SIGNED;
}

/* b<width>@<offset>/<size>, in the smallest word that has all its bits. */
static int put_bits(const struct fetch_value *v, struct buf *b)
{
	for (uint32_t size = 8; size <= 64; size *= 2)
		if (v->bit + v->width <= size) {
			buf_printf(b, ":b%u@%u/%u", v->width, v->bit, size);
			return 0;
		}
	return attar_fail(-EINVAL, "args: the bit field is not in one word");
}

static int put_type(struct fetch_parser *f, const struct fetch_value *v, struct buf *b)
{
	const struct btf *btf = f->names->btf;
	struct buf name _cleanup_(buf_done) = {0};
	uint64_t size = 0;

	if (v->width)
		return put_bits(v, b);
	if (!v->type || btf_kind(btf, v->type) == BTF_KIND_PTR) {
		buf_str(b, ":x64");
		return 0;
	}
	switch (btf_kind(btf, v->type)) {
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		btf_size(btf, v->type, &size);
		break;
	default:
		break;
	}
	if (size == 1 || size == 2 || size == 4 || size == 8) {
		buf_printf(b, ":%c%u", is_signed(btf, v->type) ? 's' : 'u', (unsigned)size * 8);
		return 0;
	}
	btf_put(btf, v->type, &name);
	return attar_fail(-EINVAL,
		"args: '%s' is no number and no text" ATTAR_FIX
		"fetch one of its members or elements",
		buf_text(&name));
}

static bool is_string_type(const char *type, size_t n)
{
	return (n == 6 && !memcmp(type, "string", 6)) || (n == 7 && !memcmp(type, "ustring", 7));
}

/* Text is fetched from the memory that a pointer points to, or where the array is. */
static int put_text(
	struct fetch_parser *f, struct fetch_value *v, const char *type, size_t n, struct buf *b)
{
	char text[FETCH_MAX];
	int r = load(f, v);

	v->is_memory = true;
	if (r == 0)
		r = put_value(f, v, text);
	if (r == 0)
		buf_printf(b, "%s:%.*s", text, (int)n, type);
	return r;
}

static int put_fetch(
	struct fetch_parser *f, struct fetch_value *v, const char *type, size_t n, struct buf *b)
{
	char text[FETCH_MAX];
	int r;

	if (n ? is_string_type(type, n) : is_text(f, v))
		return put_text(f, v, n ? type : "string", n ? n : strlen("string"), b);
	r = put_value(f, v, text);
	if (r < 0)
		return r;
	buf_str(b, text);
	if (n)
		buf_printf(b, ":%.*s", (int)n, type);
	return n ? 0 : put_type(f, v, b);
}

bool fetch_is_c(const char *text, size_t n)
{
	if (!n)
		return false;
	if (isalpha((unsigned char)*text) || strchr("_(*&", *text))
		return true;
	n = MIN(n, strcspn(text, ":"));
	return *text == '$' && (memmem(text, n, "->", 2) || memchr(text, '[', n));
}

int fetch_compile(const struct fetch_names *names, const char *text, size_t n,
	struct buf *ret_fetch, const char **ret_at)
{
	const char *colon = memchr(text, ':', n);
	struct fetch_parser f = {
		.names = names, .p = text, .end = colon ? colon : text + n, .wrong = text};
	struct fetch_value v = {0};
	struct buf b _cleanup_(buf_done) = {0};
	int r = read_unary(&f, &v);

	blanks(&f);
	if (r == 0 && f.p < f.end) {
		f.wrong = f.p;
		r = attar_fail(-EINVAL, "args: '%s' is not understood",
			CLIP_N(f.p, (size_t)(f.end - f.p)));
	}
	if (r == 0)
		r = put_fetch(&f, &v, colon ? colon + 1 : "",
			colon ? (size_t)(text + n - colon - 1) : 0, &b);
	*ret_at = f.wrong;
	if (r < 0)
		return r;
	buf_add(ret_fetch, b.data, b.len);
	return buf_failed(&b) || buf_failed(ret_fetch) ? base_oom() : 0;
}
