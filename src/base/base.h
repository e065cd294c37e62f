/* SPDX-License-Identifier: MIT */
/* What every source file uses: the error chain, scope exit, small arithmetic. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <errno.h>
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

/* Scope exit: char *text _cleanup_free_ = NULL; int fd _cleanup_close_ = -1; */
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

/* Hands a pointer or fd out of its cleanup scope. */
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

/*
 * A text that the user gave, for a message that repeats it: at most CLIP_TEXT_MAX bytes of it and "..." where it
 * is longer, cut between characters. Valid to the end of the block.
 */
enum { CLIP_TEXT_MAX = 80, CLIP_BYTES = CLIP_TEXT_MAX + 4 };
#define CLIP(text)      base_clip((char[CLIP_BYTES]){0}, (text), SIZE_MAX)
#define CLIP_N(text, n) base_clip((char[CLIP_BYTES]){0}, (text), (n))
const char *base_clip(char clipped[CLIP_BYTES], const char *text, size_t n);

/* The one sentence for a failed allocation; returns -ENOMEM. */
int base_oom(void);

/* How often this thread has said so: whoever went on without that memory tells it at the end. */
uint64_t base_oom_count(void);

/* ns, CLOCK_MONOTONIC */
uint64_t base_now(void);

/* The same as of the last tick (1 to 10 ms ago): cheaper, for what is looked at now and then. */
uint64_t base_now_coarse(void);

/*
 * FNV-1a of n bytes, going on from h: BASE_HASH_START or the hash of what stands before them. Its
 * low bits are mixed poorly: base_hash64() does that.
 */
#define BASE_HASH_START 0xcbf29ce484222325ULL

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
