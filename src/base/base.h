/* SPDX-License-Identifier: MIT */
/* Basics for all source files: error handling, cleanup attributes, arithmetic. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/base.h"
#include "base/log.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) a_ = (a);                                                            \
		__typeof__(b) b_ = (b);                                                            \
		a_ < b_ ? a_ : b_;                                                                 \
	})
#define MAX(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) a_ = (a);                                                            \
		__typeof__(b) b_ = (b);                                                            \
		a_ > b_ ? a_ : b_;                                                                 \
	})
#define ROUND_UP(n, to) (((n) + (to)-1) / (to) * (to))
#define likely(x)       __builtin_expect(!!(x), 1)
#define unlikely(x)     __builtin_expect(!!(x), 0)

/* Cleanup at scope exit: char *text _cleanup_free_ = NULL; int fd _cleanup_close_ = -1; */
#define _cleanup_(fn)   __attribute__((cleanup(fn)))
#define _cleanup_free_  _cleanup_(base_free_p)
#define _cleanup_close_ _cleanup_(base_close_p)

static inline void base_free_p(void *p)
{
	free(*(void **)p);
}

static inline void base_close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Takes a pointer or fd out of its cleanup scope. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) p_ = (p);                                                            \
		(p) = NULL;                                                                        \
		p_;                                                                                \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int fd_ = (fd);                                                                    \
		(fd) = -1;                                                                         \
		fd_;                                                                               \
	})

/* "%zu report%s", n, PLURAL_S(n) */
#define PLURAL_S(n) ((n) == 1 ? "" : "s")

/*
 * Truncates user input for quoting in a message: at most CLIP_TEXT_MAX bytes, then "...", cut
 * between UTF-8 characters. Valid until the end of the block.
 */
enum { CLIP_TEXT_MAX = 80, CLIP_BYTES = CLIP_TEXT_MAX + 4 };
#define CLIP(text)      base_clip((char[CLIP_BYTES]){0}, (text), SIZE_MAX)
#define CLIP_N(text, n) base_clip((char[CLIP_BYTES]){0}, (text), (n))
const char *base_clip(char clipped[CLIP_BYTES], const char *text, size_t n);

/* attar_fail() with the list of arguments. */
int base_vfail(int code, const char *fmt, va_list args) ATTAR_PRINTF(2, 0);

/* attar_fail() with a text that was made before, and in which ATTAR_FIX may be. */
int base_fail_text(int code, const char *text);

/* Sets the error message "out of memory"; returns -ENOMEM. */
int base_oom(void);

/* The number of base_oom() calls of this thread, to report those that did not end the operation. */
uint64_t base_oom_count(void);

/* CLOCK_MONOTONIC in ns. */
uint64_t base_now(void);

/* CLOCK_BOOTTIME in ns: CLOCK_MONOTONIC and the time for which the system was suspended. */
uint64_t base_now_boot(void);

/* CLOCK_MONOTONIC_COARSE in ns: the time of the last tick (1 to 10 ms ago), but cheaper. */
uint64_t base_now_coarse(void);

/* ns since 1970. */
uint64_t base_realtime(void);

/*
 * FNV-1a of n bytes, continued from h: BASE_HASH_START or the hash of the preceding bytes. The low
 * bits are mixed poorly; use base_hash64() to mix them.
 */
#define BASE_HASH_START 0xcbf29ce484222325ULL

/* memcpy() without a call for up to 16 bytes. */
static inline void base_copy_short(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (n > 16) {
		memcpy(t, f, n);
	} else if (n >= 8) {
		memcpy(t, f, 8);
		memcpy(t + n - 8, f + n - 8, 8);
	} else if (n >= 4) {
		memcpy(t, f, 4);
		memcpy(t + n - 4, f + n - 4, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			t[i] = f[i];
	}
}

static inline uint64_t base_hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

/* A mixer for hash tables of u64 (the finalizer of MurmurHash3). */
static inline uint64_t base_hash64(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ (h >> 33);
}

#endif
