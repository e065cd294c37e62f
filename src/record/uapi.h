/* SPDX-License-Identifier: MIT */
/*
 * Additions to linux/perf_event.h since about Linux 6.1, for builds against older headers. Each
 * constant is annotated with the first kernel that has it. Enum members of the kernel header are
 * invisible to the preprocessor, so their names here end in an underscore; macros keep the kernel's
 * names.
 */
#ifndef RECORD_UAPI_H
#define RECORD_UAPI_H

#include <linux/perf_event.h>
#include <stdint.h>

/* Sizes of struct perf_event_attr; older ones for completeness. */
#ifndef PERF_ATTR_SIZE_VER6
#define PERF_ATTR_SIZE_VER6 120 /* 5.5: aux_sample_size */
#endif
#ifndef PERF_ATTR_SIZE_VER7
#define PERF_ATTR_SIZE_VER7 128 /* 5.13: sig_data */
#endif
#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8 136 /* 6.3: config3 */
#endif
#ifndef PERF_ATTR_SIZE_VER9
#define PERF_ATTR_SIZE_VER9 144 /* 6.19: config4 */
#endif

/*
 * struct perf_event_attr at its newest known size, independent of the build machine's headers. Zero
 * all of it; the members other than attr overlay fields that older headers lack.
 */
union uapi_attr {
	struct {
		struct perf_event_attr attr;
		/*
		 * Also zeroed by {.attr = {...}}: C does not require bytes outside the initialized
		 * member to be zeroed.
		 */
		unsigned char newer_[PERF_ATTR_SIZE_VER9 > sizeof(struct perf_event_attr)
					     ? PERF_ATTR_SIZE_VER9 - sizeof(struct perf_event_attr)
					     : 0];
	};
	uint64_t words[PERF_ATTR_SIZE_VER9 / 8];
	struct {
		uint64_t words_before_flags_[5];
		uint64_t flags; /* the bit fields starting with disabled */
		uint64_t words_before_aux_[8];
		uint32_t aux_sample_size_;
		uint32_t aux_action; /* UAPI_AUX_* */
		uint64_t sig_data_;
		uint64_t config3;
		uint64_t config4;
	};
};

_Static_assert(sizeof(union uapi_attr) >= PERF_ATTR_SIZE_VER9, "attr is whole");
_Static_assert(__builtin_offsetof(union uapi_attr, aux_action) == 116, "aux_action");
_Static_assert(__builtin_offsetof(union uapi_attr, config3) == PERF_ATTR_SIZE_VER7, "config3");

/* Bits of uapi_attr.flags that older headers lack. */
#define UAPI_ATTR_DEFER_CALLCHAIN (1ULL << 38) /* 6.19: user call chains in separate records */
#define UAPI_ATTR_DEFER_OUTPUT    (1ULL << 39) /* 6.19: this event wants those records */
#define UAPI_ATTR_FLAGS_KNOWN     ((1ULL << 40) - 1)

/* uapi_attr.aux_action, 6.13. */
#define UAPI_AUX_START_PAUSED (1U << 0)
#define UAPI_AUX_PAUSE        (1U << 1)
#define UAPI_AUX_RESUME       (1U << 2)

/* branch_sample_type. */
#define PERF_SAMPLE_BRANCH_PRIV_SAVE_ (1U << 18) /* 6.1 */
#define PERF_SAMPLE_BRANCH_COUNTERS_  (1U << 19) /* 6.8 */

/* All sample_type bits known to the sample parser; none were added since 5.12. */
#define UAPI_SAMPLE_KNOWN ((1ULL << 25) - 1)

/* read_format. */
#define PERF_FORMAT_LOST_ (1U << 4) /* 6.0 */

/* Record types, including the newest known one. */
#define PERF_RECORD_AUX_OUTPUT_HW_ID_   21 /* 5.16 */
#define PERF_RECORD_CALLCHAIN_DEFERRED_ 22 /* 6.19 */
#define UAPI_RECORD_NEWEST              PERF_RECORD_CALLCHAIN_DEFERRED_

/* Call chain markers. */
#define PERF_CONTEXT_USER_DEFERRED_ ((uint64_t)-640) /* 6.19: the next entry is a cookie */

/* Branch entries: bits in use of the third word. */
#define PERF_BRANCH_ENTRY_INFO_BITS_MAX_ 33 /* 6.8 */

/* union perf_mem_data_src: levels and, since 7.0, a region in bits 46 to 50. */
#define PERF_MEM_LVLNUM_L2_MHB_ 0x05 /* 6.11 */
#define PERF_MEM_LVLNUM_MSC_    0x06 /* 6.11 */
#define PERF_MEM_LVLNUM_L0_     0x07 /* 7.0 */
#define PERF_MEM_LVLNUM_UNC_    0x08 /* 6.6 */
#define PERF_MEM_LVLNUM_NA_     0x0f
#define PERF_MEM_REGION_SHIFT_  46 /* 7.0 */
#define PERF_MEM_REGION_MASK_   0x1f

#endif
