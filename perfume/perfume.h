/* SPDX-License-Identifier: CC0-1.0 */
/*
 * perfume: a program emits its own trace events, which perf, ftrace, bpftrace and attar record.
 *
 * An event has a name and typed fields. While nobody listens it costs a load and a branch. The
 *kernel's user_events carry it where the kernel has them. To use this library, link libperfume, or
 *put perfume.h and perfume.c among your own sources. Nothing but libc is needed.
 *
 * Life cycle: perfume_init -> perfume_register -> perfume_write ... -> perfume_deregister ->
 * perfume_free. A context owns its probes: perfume_free alone is enough.
 *
 *	struct perfume_ctx *ctx = perfume_init(0);
 *	struct perfume_probe *probe = perfume_register(ctx, "tick", "u32 count", NULL);
 *	uint32_t count = 23;
 *	perfume_write(probe, &count, sizeof(count));
 *	perfume_free(ctx);
 *
 * Every function may be called from any thread; perfume_write and perfume_probe_enabled also from
 *signal handlers, in a child after fork or vfork, and at any time before their probe is freed.
 */
#ifndef PERFUME_H
#define PERFUME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERFUME_API __attribute__((visibility("default")))

/*
 * The longest payload of one event, in bytes. The kernel's ring holds 4064 in a page of 4 KiB; it answers a
 * longer write with success, and nobody ever sees the event. Here it is refused with -EMSGSIZE.
 */
#define PERFUME_PAYLOAD_MAX 4000

struct perfume_ctx;
struct perfume_probe;

/* What perfume_check() found. The values never change their meaning. */
enum {
	PERFUME_CHECK_OK = 0,
	PERFUME_CHECK_NO_KERNEL_SUPPORT,
	PERFUME_CHECK_NO_TRACEFS,
	PERFUME_CHECK_NO_PERMISSION,
	PERFUME_CHECK_UNKNOWN_INTERFACE,
};

/* Can this process emit events through the kernel's user_events? One of PERFUME_CHECK_*. */
PERFUME_API int perfume_check(void);

/* What a result of perfume_check() means and what would mend it. Never NULL, never to be freed. */
PERFUME_API const char *perfume_check_str(int error_code);

/* The form of the kernel's interface; see docs/user_events.md. */
enum perfume_interface {
	PERFUME_INTERFACE_NONE,         /* this process reaches none */
	PERFUME_INTERFACE_ENABLE_WORDS, /* Linux 6.4 and later: the kernel writes enable words */
	PERFUME_INTERFACE_STATUS_BITS,  /* 6.0 to 6.3: a page with a bit for each event */
	PERFUME_INTERFACE_STATUS_BYTES, /* 5.18 and 5.19: a page with a byte for each event */
	PERFUME_INTERFACE_UNKNOWN,      /* there is one, and it is none of these */
};
PERFUME_API enum perfume_interface perfume_interface(void);

/* "enable words (Linux 6.4 and later)" and so on. Never NULL, never to be freed. */
PERFUME_API const char *perfume_interface_str(enum perfume_interface interface);

/* Flags of a context; they hold for every event registered in it. */
enum {
	/* Events of the same name and other fields live side by side (Linux 6.9), as
	   user_events_multi:NAME.ID */
	PERFUME_MULTI_FORMAT = 1,
	/* The event stays in the kernel when the last program that knows it has ended; needs
	   CAP_PERFMON. */
	PERFUME_PERSIST = 2,
};

/*
 * A context for probes, to be freed with perfume_free. flags is 0 or PERFUME_*; where the kernel
 * does not grant a flag, an event is registered without it, and perfume_probe_flags tells. NULL
 * with errno on failure. A kernel without user_events is no failure: nobody can listen there, and
 * writes are ignored.
 */
PERFUME_API struct perfume_ctx *perfume_init(int flags);

/* Deregisters and frees every probe of the context, then the context. NULL is allowed. */
PERFUME_API void perfume_free(struct perfume_ctx *ctx);

/* Registers an event without fields; its probe is found with perfume_find. 0, or -EINVAL. */
PERFUME_API int perfume_add(struct perfume_ctx *ctx, const char *name);

/* The context's probe of that name, borrowed until it is freed, or NULL. */
PERFUME_API struct perfume_probe *perfume_find(struct perfume_ctx *ctx, const char *name);

/*
 * Registers the event `name`; the fields follow as strings, "u32 a", "__rel_loc char[] text", then
 * NULL. The types are those of the kernel: s8 u8 .. s64 u64, int, unsigned int, short, unsigned
 * short, char, unsigned char, char[N], unsigned char[N], __data_loc T, __rel_loc T, struct NAME
 * field SIZE. The probe is owned by the context. NULL with errno on failure, and perfume_error says
 * why: EINVAL name or field, ENOMEM, EADDRINUSE the event exists with other fields, EMFILE the
 * kernel's table is full.
 */
PERFUME_API struct perfume_probe *perfume_register(struct perfume_ctx *ctx, const char *name, ...);

/* The same with the n fields in an array. */
PERFUME_API struct perfume_probe *perfume_register_fields(
	struct perfume_ctx *ctx, const char *name, const char *const *fields, size_t n);

/*
 * Takes the event out of use: nobody can listen to this probe any more, and writes to it are
 * ignored. Its memory stays until perfume_probe_free or perfume_free. 0, or -EINVAL when the probe
 * is not one of ctx.
 */
PERFUME_API int perfume_deregister(struct perfume_ctx *ctx, struct perfume_probe *probe);

/* Deregisters if need be and frees the probe, which also leaves its context. NULL is allowed. */
PERFUME_API void perfume_probe_free(struct perfume_probe *probe);

/* Non-zero while anybody listens. */
PERFUME_API int perfume_probe_enabled(const struct perfume_probe *probe);

/* The flags that the kernel granted: PERFUME_MULTI_FORMAT and PERFUME_PERSIST. */
PERFUME_API int perfume_probe_flags(const struct perfume_probe *probe);

/*
 * perfume_write(probe, &a, sizeof(a), &b, sizeof(b) ...): one pair of pointer and size for each
 * field string of the registration. The pieces are laid one behind the other, and the last may be
 * longer than its field: the rest is what __data_loc and __rel_loc fields point at.
 *
 * The number of payload bytes written; 0 when nobody listens; or a negative errno, with errno
 * itself left alone: -EBADF the last listener left during the call, -EINVAL the pairs do not fit
 * the fields, -EFAULT a NULL pointer or a __rel_loc that points outside, -EMSGSIZE longer than
 * PERFUME_PAYLOAD_MAX.
 */
#define perfume_write(...) perfume_write_counted(PERFUME_COUNT(__VA_ARGS__), __VA_ARGS__)

/* What perfume_write becomes: count is the number of arguments after it. */
PERFUME_API int perfume_write_counted(int count, struct perfume_probe *probe, ...);

/* The function for those who cannot use the macro: the pairs are not counted. */
PERFUME_API int(perfume_write)(struct perfume_probe *probe, ...);

/* Writes a payload that lies in one piece; results as of perfume_write. */
PERFUME_API int perfume_write_payload(struct perfume_probe *probe, const void *payload, size_t n);

/* What perfume_check_name() thinks of an event's name. */
enum {
	PERFUME_NAME_OK = 0,
	PERFUME_NAME_RISKY = 1, /* the kernel takes it, some tools do not */
};

/*
 * PERFUME_NAME_OK, PERFUME_NAME_RISKY, or -EINVAL for a name that cannot be registered. *ret_reason
 * (may be NULL) is set to a sentence that says why; it is never to be freed, and is NULL for a name
 * without blemish.
 */
PERFUME_API int perfume_check_name(const char *name, const char **ret_reason);

/* Why the last call on this thread failed: a sentence, never NULL, never to be freed. */
PERFUME_API const char *perfume_error(void);

/*
 * Registers whatever could not be registered when it was declared, because tracefs was not mounted
 * yet or the permission was missing. 0, or a negative errno.
 */
PERFUME_API int perfume_refresh(void);

/*
 * ---- what the library and the macros below share; not for direct use ----
 *
 * One enable word for each event is everything a disabled event looks at. Each source of interest
 * has bits of its own in it, so that none needs to know of the others.
 */
enum {
	PERFUME_WORD_KERNEL =
		0x00000001, /* set and cleared by the kernel: a user_events listener */
	PERFUME_WORD_STATUS = 0x00000002, /* look at the status page, for kernels before 6.4 */
};

struct perfume_event;

/* An open user_events_data: the kernel keeps the events registered through it until it is closed.
 */
struct perfume_file {
	int fd; /* -1 closed */
	struct perfume_event *events;
	struct perfume_file *next;
};

struct perfume_event {
	uint32_t *word; /* the enable word */
	const char *name;
	const char *fields; /* "u64 id; __rel_loc char[] text" */
	uint32_t min_size;  /* of the payload */
	uint32_t status;    /* index in the status page */
	uint64_t target; /* descriptor << 32 | write index; PERFUME_NO_TARGET: not in the kernel */
	uint8_t wanted;  /* PERFUME_MULTI_FORMAT ... */
	uint8_t granted;
	struct perfume_file *file;
	struct perfume_event *next, *previous; /* of the file */
};

#define PERFUME_NO_TARGET UINT64_MAX

#define PERFUME_COUNT(...)                                                                         \
	PERFUME_PICK(__VA_ARGS__, 128, 127, 126, 125, 124, 123, 122, 121, 120, 119, 118, 117, 116, \
		115, 114, 113, 112, 111, 110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100,    \
		99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86, 85, 84, 83, 82, 81, 80,    \
		79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60,    \
		59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,    \
		39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,    \
		19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define PERFUME_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,   \
	a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,  \
	a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53,  \
	a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, a67, a68, a69, a70, a71,  \
	a72, a73, a74, a75, a76, a77, a78, a79, a80, a81, a82, a83, a84, a85, a86, a87, a88, a89,  \
	a90, a91, a92, a93, a94, a95, a96, a97, a98, a99, a100, a101, a102, a103, a104, a105,      \
	a106, a107, a108, a109, a110, a111, a112, a113, a114, a115, a116, a117, a118, a119, a120,  \
	a121, a122, a123, a124, a125, a126, a127, a128, a129, n, ...)                              \
	n

#ifdef __cplusplus
}
#endif

#endif
