/* SPDX-License-Identifier: MIT */
/*
 * What an event can ask for beyond its name: each option with the bits of struct perf_event_attr
 * that ask for it, and the first kernel that knows it. One table for giving up what old kernels
 * lack, and for naming it.
 */
#ifndef PERF_FEATURES_H
#define PERF_FEATURES_H

#include "base/base.h"
#include "record/uapi.h"

/* Bits of the attributes seen as 64-bit words. */
struct feature_bits {
	uint8_t word;
	uint64_t mask;
};

enum feature_loss {
	FEATURE_KEEP,   /* without it the answer is another one */
	FEATURE_QUIET,  /* without it a part is missing: given up when degrading is allowed */
	FEATURE_ALWAYS, /* the library's own wish: given up at any time */
};

struct feature {
	const char *option; /* "attr.use_clockid" */
	const char *what;   /* "a clock of its own" */
	int since;          /* KERNEL_VERSION_OF() */
	enum feature_loss loss;
	/* it is asked for when one of the first is set; both go with it */
	struct feature_bits bits[2];
};

/* All of them, the newest first. */
const struct feature *features_all(size_t *ret_n);

bool feature_is_in(const struct feature *f, const union uapi_attr *attr);
void feature_drop(const struct feature *f, union uapi_attr *attr);

/* Asks for it again, as `from` asked. */
void feature_put(const struct feature *f, const union uapi_attr *from, union uapi_attr *attr);

/* The first byte of it that is set behind the first `size` bytes of the attributes; SIZE_MAX: none is. */
size_t feature_past(const struct feature *f, const union uapi_attr *attr, size_t size);

#endif
