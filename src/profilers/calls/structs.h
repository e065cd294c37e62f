/* SPDX-License-Identifier: MIT */
/* Structures that programs give to system calls, or get from them. */
#ifndef PROFILERS_CALLS_STRUCTS_H
#define PROFILERS_CALLS_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls_call;
struct calls_line;

/* The bytes, of which there are n, of argument i. */
typedef void calls_struct_fn(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n);

/*
 * How a structure is copied, and shown. Its size is `size`; with by_next, an array has as many of
 * them as the next argument says, with by_result as the result says, and at most `max` are copied.
 */
struct calls_struct {
	calls_struct_fn *show;
	uint16_t size, max;
	bool by_next, by_result, at_exit;
	bool is_whole; /* it is shown only if all of its bytes were copied */
};

#define CALLS_ALL_STRUCTS(S)                                                                       \
	S(address) /* of a socket, as long as the next argument says */                            \
	S(address_out)                                                                             \
	S(clone)                                                                                   \
	S(cpus)                                                                                    \
	S(epoll_event)                                                                             \
	S(epoll_events)                                                                            \
	S(int_out)                                                                                 \
	S(limit)                                                                                   \
	S(limit_out)                                                                               \
	S(option) /* of a socket, likewise */                                                      \
	S(option_out)                                                                              \
	S(pair) /* of descriptors */                                                               \
	S(poll)                                                                                    \
	S(sigaction)                                                                               \
	S(sigaction_out)                                                                           \
	S(sigaltstack)                                                                             \
	S(sigaltstack_out)                                                                         \
	S(sigset)                                                                                  \
	S(sigset_out)                                                                              \
	S(stat)                                                                                    \
	S(statx)                                                                                   \
	S(sysinfo)                                                                                 \
	S(timespec)                                                                                \
	S(timespec_out)                                                                            \
	S(timeval_out)                                                                             \
	S(uname)                                                                                   \
	S(usage)                                                                                   \
	S(wait_status)

#define CALLS_DECLARE_STRUCT(name_) extern const struct calls_struct calls_struct_##name_;
CALLS_ALL_STRUCTS(CALLS_DECLARE_STRUCT)
#undef CALLS_DECLARE_STRUCT

#endif
