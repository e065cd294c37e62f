/* SPDX-License-Identifier: MIT */
/*
 * Names of the numbers that programs give to system calls: flags, modes, operations. The tables are
 * data; each names its source. Values are for the machine that attar was built for.
 */
#ifndef PROFILERS_CALLS_NAMES_H
#define PROFILERS_CALLS_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct calls_value {
	uint64_t value;
	const char *name;
};

/*
 * The names of one kind of number. It is one value, or flags: bits that are joined with "|". Of
 * flags, the bits in `choice` are together one value, such as the access mode of open(2). Flags of
 * several bits are before flags that are a part of them.
 */
struct calls_names {
	const char *unknown; /* a comment after a value without a name: "O_???"; NULL: none */
	uint64_t choice;     /* UINT64_MAX: the number is one value */
	const struct calls_value *at;
	size_t n;
	uint8_t bits;    /* of the number that count: 32 or 64 */
	bool is_decimal; /* an unknown value */
};

#define CALLS_ALL_NAMES(N)                                                                         \
	N(access)                                                                                  \
	N(access_at)                                                                               \
	N(advice)                                                                                  \
	N(arch_prctl)                                                                              \
	N(at)                                                                                      \
	N(bpf)                                                                                     \
	N(clock)                                                                                   \
	N(clone)                                                                                   \
	N(close_range)                                                                             \
	N(copy_range)                                                                              \
	N(descriptor)                                                                              \
	N(dup)                                                                                     \
	N(epoll)                                                                                   \
	N(epoll_events)                                                                            \
	N(epoll_operation)                                                                         \
	N(eventfd)                                                                                 \
	N(fadvise)                                                                                 \
	N(fallocate)                                                                               \
	N(family)                                                                                  \
	N(fcntl)                                                                                   \
	N(flock)                                                                                   \
	N(futex)                                                                                   \
	N(getrandom)                                                                               \
	N(id_type)                                                                                 \
	N(inotify)                                                                                 \
	N(inotify_events)                                                                          \
	N(io_priority)                                                                             \
	N(ioctl)                                                                                   \
	N(ip_option)                                                                               \
	N(ipv6_option)                                                                             \
	N(keyctl)                                                                                  \
	N(limit)                                                                                   \
	N(lock)                                                                                    \
	N(mapping)                                                                                 \
	N(membarrier)                                                                              \
	N(memfd)                                                                                   \
	N(message)                                                                                 \
	N(mlock)                                                                                   \
	N(mlock2)                                                                                  \
	N(mode_type)                                                                               \
	N(mount)                                                                                   \
	N(mremap)                                                                                  \
	N(msync)                                                                                   \
	N(open)                                                                                    \
	N(perf_open)                                                                               \
	N(pipe)                                                                                    \
	N(poll)                                                                                    \
	N(prctl)                                                                                   \
	N(priority)                                                                                \
	N(protection)                                                                              \
	N(protocol)                                                                                \
	N(ptrace)                                                                                  \
	N(itimer)                                                                                  \
	N(rename)                                                                                  \
	N(rw)                                                                                      \
	N(scheduler)                                                                               \
	N(seccomp)                                                                                 \
	N(seek)                                                                                    \
	N(shut)                                                                                    \
	N(sigaction)                                                                               \
	N(sigmask)                                                                                 \
	N(signal)                                                                                  \
	N(signalfd)                                                                                \
	N(socket)                                                                                  \
	N(socket_flags)                                                                            \
	N(socket_level)                                                                            \
	N(socket_option)                                                                           \
	N(splice)                                                                                  \
	N(statx)                                                                                   \
	N(statx_mask)                                                                              \
	N(sync_range)                                                                              \
	N(tcp_option)                                                                              \
	N(timer)                                                                                   \
	N(timerfd)                                                                                 \
	N(timerfd_set)                                                                             \
	N(unlink)                                                                                  \
	N(unmount)                                                                                 \
	N(usage)                                                                                   \
	N(wait)                                                                                    \
	N(xattr)

#define CALLS_DECLARE_NAMES(name_) extern const struct calls_names calls_names_##name_;
CALLS_ALL_NAMES(CALLS_DECLARE_NAMES)
#undef CALLS_DECLARE_NAMES

/* NULL: it has no name. */
const char *calls_find_name(const struct calls_names *names, uint64_t value);

/* The name of a system call's error, such as "ENOENT", also of the kernel's own; NULL: none. */
const char *calls_error_name(int error);

/* What an error of the kernel's own means, or the text of strerror(3). */
const char *calls_error_text(int error);

#endif
