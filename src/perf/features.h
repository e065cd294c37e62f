/* SPDX-License-Identifier: MIT */
/*
 * Optional features of events: each option with its bits in struct perf_event_attr and the first
 * kernel version that supports it. Used to drop what old kernels lack, and to name it in messages.
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
	FEATURE_KEEP,   /* cannot be dropped: results would differ */
	FEATURE_QUIET,  /* may be dropped when degrading is allowed: part of the data is missing */
	FEATURE_ALWAYS, /* set by the library itself: may always be dropped */
};

struct feature {
	const char *option; /* "attr.use_clockid" */
	const char *what;   /* "a selectable clock" */
	int since;          /* KERNEL_VERSION_OF() */
	enum feature_loss loss;
	/* requested if a bit of the first is set; both are dropped together */
	struct feature_bits bits[2];
};

/* All features, newest first. */
const struct feature *features_all(size_t *ret_n);

bool feature_is_in(const struct feature *f, const union uapi_attr *attr);
void feature_drop(const struct feature *f, union uapi_attr *attr);

/* Sets the feature's bits again, with the values in `from`. */
void feature_put(const struct feature *f, const union uapi_attr *from, union uapi_attr *attr);

/*
 * Offset of the first byte of the feature that is set past `size` bytes of attributes; SIZE_MAX:
 * none.
 */
size_t feature_past(const struct feature *f, const union uapi_attr *attr, size_t size);

#endif
