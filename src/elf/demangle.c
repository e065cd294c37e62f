/* SPDX-License-Identifier: MIT */
/*
 * Uses the demangler of libiberty (as c++filt and gdb do). Its callback interface does not
 * allocate, so it can be left with longjmp(3), which limits names that expand without bound.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "elf/demangle_d.h"

enum {
	WHOLE = DMGL_PARAMS | DMGL_ANSI,
	MAX_PLAIN = 8 << 10, /* bytes; beyond, the mangled name is the shorter one */
};

struct unfolding {
	struct buf *plain;
	size_t start;
	int options; /* DMGL_* */
	bool rust;
	jmp_buf too_long;
};

static void collect(const char *text, size_t n, void *ctx)
{
	struct unfolding *u = ctx;

	if (u->plain->len - u->start + n > MAX_PLAIN) {
		/* Identifiers are always separated by one of these. */
		if (!u->rust || memchr(":<>, ", *text, 5))
			longjmp(u->too_long, 1);
		return;
	}
	buf_add(u->plain, text, n);
}

static bool unfold(const char *mangled, struct unfolding *u)
{
	if (setjmp(u->too_long))
		return false;
	/* Other tools show hashes of Rust's legacy names. */
	u->rust = u->options != WHOLE || mangled[1] == 'R';
	if (u->rust && rust_demangle_callback(mangled, u->options, collect, u))
		return true;
	u->rust = false;
	u->plain->len = u->start;
	if (mangled[1] == 'R')
		return false;
	return cplus_demangle_v3_callback(mangled, u->options, collect, u);
}

/*
 * Suffixes that compilers append to names of function parts and clones: ".cold", ".constprop.0".
 */
static void add_clone(const char *suffix, struct buf *plain)
{
	if (*suffix != '.' || !strncmp(suffix, ".llvm.", 6))
		return;
	buf_str(plain, " [clone ");
	buf_str(plain, suffix);
	buf_char(plain, ']');
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static void cut(struct buf *text, size_t len)
{
	text->len = len;
	if (text->data)
		text->data[len] = '\0';
}

static bool demangle_core(const char *mangled, struct unfolding *u)
{
	if (!is_mangled(mangled))
		return false;
	if (unfold(mangled, u) && u->plain->len > u->start)
		return true;
	cut(u->plain, u->start);
	return false;
}

/* D: suffixes as of C++ functions. Names of D have no '.'. */
static bool is_d(const char *name)
{
	return name[0] == '_' && name[1] == 'D';
}

static bool demangle_d_core(const char *mangled, bool parameters, struct buf *ret_text)
{
	char *core _cleanup_free_ = strndup(mangled, strcspn(mangled, "."));

	return core && demangle_d(core, parameters, ret_text);
}

bool demangle(const char *mangled, struct buf *ret_plain)
{
	struct unfolding u = {.plain = ret_plain, .start = ret_plain->len, .options = DMGL_NO_OPTS};

	if (is_d(mangled)) {
		if (!demangle_d_core(mangled, false, ret_plain))
			return false;
	} else if (!demangle_core(mangled, &u))
		return false;
	if (!u.rust) /* where a '.' may stand in the name itself */
		add_clone(mangled + strcspn(mangled, "."), ret_plain);
	return !buf_failed(ret_plain);
}

/* ---- legacy names of Rust as LLVM writes them ---- */

/* Takes an identifier, such as "4core". Returns what follows it; NULL: there is none. */
static const char *take_identifier(const char *p, const char **ret_start, size_t *ret_size)
{
	char *end = NULL;
	size_t n = *p >= '1' && *p <= '9' ? strtoul(p, &end, 10) : 0;

	if (!n || strnlen(end, n) < n)
		return NULL;
	*ret_start = end;
	*ret_size = n;
	return end + n;
}

static bool is_hash(const char *text, size_t n)
{
	return n == 17 && *text == 'h' && strspn(text + 1, "0123456789abcdef") >= 16;
}

/*
 * A nested name of C++ without types, except that identifiers have '.' and '$', which end with a
 * hash: "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE". Returns
 * what follows it; NULL: it is none.
 */
static const char *add_legacy(const char *mangled, struct buf *text)
{
	size_t n = 0, before = text->len;
	const char *start = NULL, *p = mangled + 3, *next;

	while ((next = take_identifier(p, &start, &n))) {
		buf_str(text, p == mangled + 3 ? "" : "::");
		buf_add(text, start, n);
		p = next;
	}
	if (*p == 'E' && (!p[1] || p[1] == '.') && start && is_hash(start, n))
		return p + 1;
	cut(text, before);
	return NULL;
}

bool demangle_whole(const char *mangled, struct buf *ret_text)
{
	size_t n = mangled[0] == '_' ? strcspn(mangled, ".") : 0;
	char *core _cleanup_free_ = is_mangled(mangled) ? strndup(mangled, n) : NULL;
	struct unfolding u = {.plain = ret_text, .start = ret_text->len, .options = WHOLE};
	const char *rest = !strncmp(mangled, "_ZN", 3) ? add_legacy(mangled, ret_text) : NULL;

	if (rest)
		n = (size_t)(rest - mangled);
	else if (is_d(mangled) ? !demangle_d_core(mangled, true, ret_text)
			       : !core || !demangle_core(core, &u))
		return false;
	if (mangled[n])
		buf_printf(ret_text, " (%s)", mangled + n);
	return !buf_failed(ret_text);
}
