/* SPDX-License-Identifier: MIT */
/*
 * What a probe fetches, written in C: sk->__sk_common.skc_dport, ((struct tcp_sock *)sk)->snd_cwnd,
 * file->f_path.dentry->d_name.name, container_of(work, struct foo, work)->bar. It is compiled to
 * the syntax of tracefs, which every kernel has (Documentation/trace/kprobetrace.rst): registers,
 * memory at offsets, bit fields.
 */
#ifndef EVENT_FETCH_H
#define EVENT_FETCH_H

#include "btf/btf.h"

/* What names stand for. Borrowed. */
struct fetch_names {
	const struct btf *btf;
	const char *function; /* its parameters are names: "f" or "module:f"; NULL: none */
	bool is_return;       /* at its return, where only $retval has a type */
};

/* Whether the text of an argument, without its name, is C: it begins with a name, (, * or &. */
bool fetch_is_c(const char *text, size_t n);

/*
 * Appends what tracefs reads for the n bytes of C at text, with the type after a colon if there is
 * one. The type follows from the member otherwise: u8 to s64, x64 for a pointer, string for char *
 * and char[], b<width>@<offset>/<size> for a bit field. Returns 0; -EINVAL or -ENOENT with an error
 * message, which names the struct and its most similar member, and *ret_at, the position; -ENOMEM.
 */
int fetch_compile(const struct fetch_names *names, const char *text, size_t n,
	struct buf *ret_fetch, const char **ret_at);

#endif
