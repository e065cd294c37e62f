/* SPDX-License-Identifier: MIT */
/*
 * Uses the demangler of libiberty (as c++filt and gdb do). Its callback interface does not
 * allocate, so it can be left with longjmp(3), which limits names that expand without bound.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

enum { MAX_PLAIN = 8 << 10 }; /* bytes; beyond, the mangled name is the shorter one */

struct unfolding {
	struct buf *plain;
	size_t start;
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
	u->rust = true;
	if (rust_demangle_callback(mangled, DMGL_NO_OPTS, collect, u))
		return true;
	u->rust = false;
	u->plain->len = u->start;
	if (mangled[1] == 'R')
		return false;
	return cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, collect, u);
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

bool demangle(const char *mangled, struct buf *ret_plain)
{
	struct unfolding u = {.plain = ret_plain, .start = ret_plain->len};

	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
		return false;
	if (!unfold(mangled, &u) || ret_plain->len == u.start) {
		ret_plain->len = u.start;
		if (ret_plain->data)
			ret_plain->data[u.start] = '\0';
		return false;
	}
	if (!u.rust) /* where a '.' may stand in the name itself */
		add_clone(mangled + strcspn(mangled, "."), ret_plain);
	return !buf_failed(ret_plain);
}
