/* SPDX-License-Identifier: CC0-1.0 */
/*
 * perfume: a program emits its own trace events, which perf, ftrace, bpftrace and attar record.
 *
 * An event has a name and typed fields. A disabled event costs a load and a branch. Events are
 * delivered through the kernel's user_events if available, otherwise through shared memory and USDT
 * probes. To use this library, link with libperfume, or add perfume.h and perfume.c to your
 * sources. It depends only on libc.
 *
 * Life cycle: perfume_init -> perfume_register -> perfume_write ... -> perfume_deregister ->
 * perfume_free. A context owns its probes; perfume_free also frees them.
 *
 *	struct perfume_ctx *ctx = perfume_init(0);
 *	struct perfume_probe *probe = perfume_register(ctx, "tick", "u32 count", NULL);
 *	uint32_t count = 23;
 *	perfume_write(probe, &count, sizeof(count));
 *	perfume_free(ctx);
 *
 * All functions are thread-safe. perfume_write and perfume_probe_enabled are also async-signal-safe
 * and may be called in a child after fork or vfork, at any time before their probe is freed.
 */
#ifndef PERFUME_H
#define PERFUME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERFUME_API __attribute__((visibility("default")))

/*
 * Maximum payload size of an event, in bytes. The kernel's trace buffer accepts at most 4064 bytes
 * with 4 KiB pages, and silently drops longer events although the write succeeds. Longer payloads
 * fail with -EMSGSIZE here.
 */
#define PERFUME_PAYLOAD_MAX 4000

struct perfume_ctx;
struct perfume_probe;

/* Results of perfume_check(). The values are part of the ABI and do not change. */
enum {
	PERFUME_CHECK_OK = 0,
	PERFUME_CHECK_NO_KERNEL_SUPPORT,
	PERFUME_CHECK_NO_TRACEFS,
	PERFUME_CHECK_NO_PERMISSION,
	PERFUME_CHECK_UNKNOWN_INTERFACE,
};

/*
 * Checks whether this process can emit events through the kernel's user_events. Returns
 * PERFUME_CHECK_*.
 */
PERFUME_API int perfume_check(void);

/* Describes a result of perfume_check() and how to fix it. Never NULL; do not free it. */
PERFUME_API const char *perfume_check_str(int error_code);

/* The variant of the kernel's user_events interface; see docs/user_events.md. */
enum perfume_interface {
	PERFUME_INTERFACE_NONE,         /* not available to this process */
	PERFUME_INTERFACE_ENABLE_WORDS, /* Linux 6.4 and later: the kernel writes enable words */
	PERFUME_INTERFACE_STATUS_BITS,  /* 6.0 to 6.3: a page with a bit for each event */
	PERFUME_INTERFACE_STATUS_BYTES, /* 5.18 and 5.19: a page with a byte for each event */
	PERFUME_INTERFACE_UNKNOWN,      /* available, but of an unknown variant */
};
PERFUME_API enum perfume_interface perfume_interface(void);

/* Name of the variant, such as "enable words (Linux 6.4 and later)". Never NULL; do not free it. */
PERFUME_API const char *perfume_interface_str(enum perfume_interface interface);

/* Flags of a context; they apply to every event registered in it. */
enum {
	/*
	 * Allow events with the same name but different fields, as user_events_multi:NAME.ID.
	 * Requires Linux 6.9 or newer.
	 */
	PERFUME_MULTI_FORMAT = 1,
	/*
	 * Keep the event registered in the kernel after the last program that uses it has exited.
	 * Requires CAP_PERFMON.
	 */
	PERFUME_PERSIST = 2,
};

/*
 * Creates a context for probes; free it with perfume_free. flags is 0 or a combination of
 * PERFUME_*. If the kernel rejects a flag, events are registered without it; perfume_probe_flags
 * returns the flags in effect. Returns NULL and sets errno on failure. Missing user_events support
 * in the kernel is not an error: events stay disabled and writes are ignored.
 */
PERFUME_API struct perfume_ctx *perfume_init(int flags);

/* Deregisters and frees all probes of the context, then the context itself. ctx may be NULL. */
PERFUME_API void perfume_free(struct perfume_ctx *ctx);

/*
 * Registers an event without fields; perfume_find returns its probe. Returns 0 or a negative errno,
 * as for perfume_register.
 */
PERFUME_API int perfume_add(struct perfume_ctx *ctx, const char *name);

/* Returns the context's probe with that name, or NULL. The context keeps ownership. */
PERFUME_API struct perfume_probe *perfume_find(struct perfume_ctx *ctx, const char *name);

/*
 * Registers the event `name`. The fields follow as strings, such as "u32 a" and "__rel_loc char[]
 * text", terminated by NULL. Valid types are those of the kernel: s8 u8 .. s64 u64, int, unsigned
 * int, short, unsigned short, char, unsigned char, char[N], unsigned char[N], __data_loc T,
 * __rel_loc T, struct NAME field SIZE. The probe is owned by the context. Returns NULL and sets
 * errno on failure; perfume_error returns the reason: EINVAL invalid name or field, ENOMEM,
 * EADDRINUSE the event exists with different fields, EMFILE the kernel's event table is full.
 */
PERFUME_API struct perfume_probe *perfume_register(struct perfume_ctx *ctx, const char *name, ...);

/* Like perfume_register, with the n fields in an array. */
PERFUME_API struct perfume_probe *perfume_register_fields(
	struct perfume_ctx *ctx, const char *name, const char *const *fields, size_t n);

/*
 * Disables the probe permanently: it can no longer be enabled, and writes to it are ignored. Its
 * memory remains valid until perfume_probe_free or perfume_free. Returns 0, or -EINVAL if the probe
 * does not belong to ctx.
 */
PERFUME_API int perfume_deregister(struct perfume_ctx *ctx, struct perfume_probe *probe);

/*
 * Deregisters the probe if necessary, removes it from its context and frees it. probe may be NULL.
 */
PERFUME_API void perfume_probe_free(struct perfume_probe *probe);

/*
 * Returns non-zero while a tracer has the event enabled. It is sufficient to poll: a collector of
 * shared memory that ends normally is noticed at once, and one that is killed within three seconds.
 */
PERFUME_API int perfume_probe_enabled(const struct perfume_probe *probe);

/* Returns the flags accepted by the kernel: PERFUME_MULTI_FORMAT and PERFUME_PERSIST. */
PERFUME_API int perfume_probe_flags(const struct perfume_probe *probe);

/*
 * perfume_write(probe, &a, sizeof(a), &b, sizeof(b) ...) writes an event: one pointer and size per
 * registered field string. The values are concatenated. The last value may be longer than its
 * field; the excess holds the data that __data_loc and __rel_loc fields refer to.
 *
 * Returns the number of payload bytes written, 0 if the event is disabled, or a negative errno:
 * -EBADF the event was disabled during the call, -EINVAL the values do not match the fields,
 * -EFAULT a NULL pointer or a __rel_loc that points outside the payload, -EMSGSIZE the payload is
 * longer than PERFUME_PAYLOAD_MAX. errno is not modified.
 */
#define perfume_write(...) perfume_write_counted(PERFUME_COUNT(__VA_ARGS__), __VA_ARGS__)

/* What the macro perfume_write expands to; count is the number of arguments that follow. */
PERFUME_API int perfume_write_counted(int count, struct perfume_probe *probe, ...);

/*
 * perfume_write as a function, for callers that cannot use the macro; it does not check the number
 * of arguments.
 */
PERFUME_API int(perfume_write)(struct perfume_probe *probe, ...);

/* Writes a contiguous payload. Returns the same values as perfume_write. */
PERFUME_API int perfume_write_payload(struct perfume_probe *probe, const void *payload, size_t n);

/* Results of perfume_check_name(). */
enum {
	PERFUME_NAME_OK = 0,
	PERFUME_NAME_RISKY = 1, /* accepted by the kernel, but not by all tools */
};

/*
 * Checks an event name. Returns PERFUME_NAME_OK, PERFUME_NAME_RISKY, or -EINVAL if the name cannot
 * be registered. If ret_reason is not NULL, *ret_reason is set to the reason, or to NULL for
 * PERFUME_NAME_OK; do not free it.
 */
PERFUME_API int perfume_check_name(const char *name, const char **ret_reason);

/* Returns why the last failed call of this thread failed. Never NULL; do not free it. */
PERFUME_API const char *perfume_error(void);

/*
 * Retries the registration of events that failed to register earlier, for example because tracefs
 * was not mounted or permission was missing. Returns 0 or a negative errno.
 */
PERFUME_API int perfume_refresh(void);

/*
 * ---- static events ----
 *
 * At file scope in a source file or header,
 *
 *	PERFUME_EVENT(order_placed, (u64, id), (f64, price), (str, symbol))
 *
 * defines the type-checked function int perfume_order_placed(uint64_t id, double price, const char
 * *symbol), which returns the same values as perfume_write. The event is registered when the
 * program or plug-in is loaded and deregistered when it is unloaded; no memory is allocated. A call
 * of a disabled event costs a load and a branch.
 *
 * Function arguments are evaluated even if the event is disabled, unless they have no side effects
 * and the compiler optimizes them away. If the arguments are expensive or have side effects, write
 *
 *	PERFUME(order_placed, next_id(), quote(), name());
 *
 * which evaluates them only while the event is enabled. To get the same with the plain call, add
 *
 *	#define perfume_order_placed(...) PERFUME(order_placed, __VA_ARGS__)
 *
 * perfume_order_placed_enabled() returns whether the event is enabled. An event has at most 20
 * fields, of which at most 10 have a size or count:
 *
 *	(u8, n) .. (u64, n), (s8, n) .. (s64, n)   an integer
 *	(bool, n)                                  an int that is not 0, as a u8
 *	(ptr, n)                                   an address, as a u64
 *	(f32, n), (f64, n)                         float, double
 *	(str, n)        const char *n              a string; in C++ also std::string, std::string_view
 *	(strn, n)       const char *n, size_t n_size            a string without terminating NUL
 *	(bytes, n)      const void *n, size_t n_size            bytes
 *	(u8s, n) .. (s64s, n), (f32s, n), (f64s, n)
 *	                const uint32_t *n, size_t n_count       a variable-length array
 *	(array, n, u32, 4)  const uint32_t *n      a fixed-size array of u8 .. s64, f32, f64
 *
 * Each event is also the USDT probe perfume:order_placed, for tools based on uprobes. The fields
 * are passed as at most twelve arguments: integers; floating-point numbers as their bit patterns;
 * strings and arrays as addresses; sizes and counts as separate arguments.
 */
#define PERFUME_EVENT(...)                                                                         \
	PERFUME_EVENT_(PERFUME_COUNT(__VA_ARGS__), PERFUME_SOME(__VA_ARGS__), __VA_ARGS__, )

#define PERFUME(event, ...) (perfume_wanted_##event() ? (perfume_##event)(__VA_ARGS__) : 0)

/*
 * Result of the event's registration: 0 or a negative errno; perfume_error then returns the reason.
 */
#define PERFUME_EVENT_ERROR(event) perfume_event_error(&perfume_event_##event)

/*
 * ---- self-describing events ----
 *
 * Like PERFUME_EVENT, in Microsoft's EventHeader encoding, which .NET and OpenTelemetry collectors
 * understand. The provider, level and keyword come first.
 *
 *	PERFUME_HEADER_EVENT(Shop, 4, 2a, order_placed, (u64, id), (str, symbol))
 *
 * The level (1 critical, 2 error, 3 warning, 4 information, 5 verbose) and keyword (one bit per
 * category) are hexadecimal without 0x. All events with the same provider, level and keyword share
 * one tracepoint, here user_events:Shop_L4K2a, and are enabled together. The keyword may be
 * followed by a provider group, as in 2aGshops. perfume_order_placed(id, symbol) writes the event;
 * perfume_order_placed_in(&activity, id, symbol) also assigns it to an activity. These events have
 * no USDT probe. An array has at most 65,535 elements.
 */
#define PERFUME_HEADER_EVENT(provider, level, keyword, ...)                                        \
	PERFUME_HEADER_EVENT_(PERFUME_COUNT(__VA_ARGS__), PERFUME_SOME(__VA_ARGS__), provider,     \
		level, keyword, __VA_ARGS__, )

/* The event's role in its activity. */
enum {
	PERFUME_OPCODE_INFO = 0,
	PERFUME_OPCODE_START = 1,
	PERFUME_OPCODE_STOP = 2,
};

struct perfume_activity {
	uint8_t id[16];
	const uint8_t *related; /* 16-byte id of the parent, in the first event; or NULL */
	uint8_t opcode;         /* PERFUME_OPCODE_* */
};

/* Generates a new activity id, a random UUID. */
PERFUME_API void perfume_activity_new(uint8_t ret_id[16]);

/*
 * ---- shared by the library and the macros; internal ----
 *
 * A disabled event only tests its enable word. Each kind of tracer has its own bits in the word, so
 * they do not need to coordinate.
 */
enum {
	PERFUME_WORD_KERNEL =
		0x00000001, /* set and cleared by the kernel for user_events tracers */
	PERFUME_WORD_STATUS = 0x00000002, /* check the status page (before Linux 6.4) */
	PERFUME_WORD_RING = 0x00000100,   /* set by shared-memory collectors */
	PERFUME_WORD_USDT_SHIFT =
		16, /* upper half: semaphore of the USDT probe, counted by uprobes */
};

struct perfume_event;

/* An open user_events_data file. Events registered through it exist until it is closed. */
struct perfume_file {
	int fd; /* -1 closed */
	struct perfume_event *events;
	struct perfume_file *next;
};

struct perfume_event {
	uint32_t *word; /* the enable word */
	const char *name;
	const char *fields; /* "u64 id; __rel_loc char[] text" */
	uint32_t min_size;  /* of the payload, bytes */
	uint32_t status;    /* index in the status page */
	uint64_t
		target; /* fd << 32 | write index, or PERFUME_NO_TARGET if not registered in the kernel */
	int error;      /* of the registration */
	uint32_t slot;  /* in the shared memory, starting at 1; 0: none */
	uint8_t wanted; /* PERFUME_MULTI_FORMAT ... */
	uint8_t granted;
	struct perfume_file *file;
	struct perfume_event *next, *previous; /* of the file */
};

#define PERFUME_NO_TARGET UINT64_MAX

/*
 * One per source file that declares the event. The linker section perfume_events of a program,
 * library or plug-in holds pointers to them and is registered as a whole; the first entry
 * represents all entries.
 */
struct perfume_entry {
	struct perfume_event *event;
	const char *fields;
	struct perfume_file file;
	int added;
};

PERFUME_API void perfume_image_add(struct perfume_entry **start, struct perfume_entry **stop);
PERFUME_API void perfume_image_remove(struct perfume_entry **start, struct perfume_entry **stop);
PERFUME_API uint32_t perfume_event_enabled(const struct perfume_event *event);
PERFUME_API int perfume_event_error(const struct perfume_event *event);

/* packet has room for the write index, followed by the payload of n bytes. */
PERFUME_API int perfume_event_write(
	struct perfume_event *event, uint32_t word, uint32_t *packet, size_t n);
PERFUME_API int perfume_event_too_long(void);

#define PERFUME_SHARED __attribute__((weak, visibility("hidden")))

extern struct perfume_entry *__start_perfume_events[] PERFUME_SHARED;
extern struct perfume_entry *__stop_perfume_events[] PERFUME_SHARED;

#ifdef __cplusplus
}
#endif

/*
 * Casts between numbers, from void *, and from a pointer to a number, without warnings in C and
 * C++.
 */
#ifdef __cplusplus
#define PERFUME_CAST(type, value) static_cast<type>(value)
#define PERFUME_ADDRESS(pointer)  reinterpret_cast<uintptr_t>(pointer)
#else
#define PERFUME_CAST(type, value) ((type)(value))
#define PERFUME_ADDRESS(pointer)  ((uintptr_t)(pointer))
#endif

/* A payload under construction: the fixed-size fields, followed by the data of __rel_loc fields. */
struct perfume_cursor {
	unsigned char *at, *dynamic;
};

static inline void perfume_put(struct perfume_cursor *to, const void *value, size_t n)
{
	memcpy(to->at, value, n);
	to->at += n;
}

/*
 * Appends n bytes and `closing` zero bytes. The offset is relative to the end of the word that
 * holds it.
 */
static inline void perfume_put_dynamic(
	struct perfume_cursor *to, const void *value, size_t n, size_t closing)
{
	uint32_t place = PERFUME_CAST(
		uint32_t, (n + closing) << 16 | PERFUME_CAST(size_t, to->dynamic - (to->at + 4)));

	perfume_put(to, &place, sizeof(place));
	if (n)
		memcpy(to->dynamic, value, n);
	if (closing)
		to->dynamic[n] = 0;
	to->dynamic += n + closing;
}

/* Clamped so that a sum of sizes does not overflow. */
static inline size_t perfume_bounded(size_t n, size_t size)
{
	return n > PERFUME_PAYLOAD_MAX / size ? PERFUME_PAYLOAD_MAX + 1 : n * size;
}

static inline void perfume_put_address(struct perfume_cursor *to, const void *value)
{
	uint64_t address = PERFUME_ADDRESS(value);

	perfume_put(to, &address, sizeof(address));
}

static inline uint64_t perfume_bits_f32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64_t perfume_bits_f64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Appends the number of elements, then n bytes of elements with `size` bytes each. */
static inline void perfume_put_counted(
	struct perfume_cursor *to, const void *value, size_t n, size_t size)
{
	uint16_t count = PERFUME_CAST(uint16_t, n / size);

	perfume_put(to, &count, sizeof(count));
	if (n)
		perfume_put(to, value, n);
}

static inline size_t perfume_header_size(const struct perfume_activity *activity, size_t meta)
{
	return 8 + (activity ? 4u + 16 + (activity->related ? 16 : 0) : 0) + 4 + meta;
}

static inline void perfume_put_extension(struct perfume_cursor *to, size_t n, unsigned kind)
{
	uint16_t head[] = {PERFUME_CAST(uint16_t, n), PERFUME_CAST(uint16_t, kind)};

	perfume_put(to, head, sizeof(head));
}

/*
 * LinuxTracepoints' eventheader.h: flags, extensions of kind 2 (activity) and 1 (description);
 * 0x8000: another extension follows.
 */
static inline void perfume_put_header(struct perfume_cursor *to, unsigned level,
	const struct perfume_activity *activity, const char *meta, size_t n_meta)
{
	const int is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	unsigned char header[8] = {0};

	header[0] = PERFUME_CAST(unsigned char, 4 | is_little << 1 | (sizeof(void *) == 8));
	header[6] = activity ? activity->opcode : 0;
	header[7] = PERFUME_CAST(unsigned char, level);
	perfume_put(to, header, sizeof(header));
	if (activity) {
		perfume_put_extension(to, activity->related ? 32 : 16, 2 | 0x8000);
		perfume_put(to, activity->id, 16);
		if (activity->related)
			perfume_put(to, activity->related, 16);
	}
	perfume_put_extension(to, n_meta, 1);
	perfume_put(to, meta, n_meta);
}

#ifdef __cplusplus
/* Argument of a str field: a C string, or any type with data() and size(). */
struct perfume_text {
	const char *data;
	size_t size;

	perfume_text(const char *text) : data(text ? text : "(null)"), size(strlen(data))
	{
	}
	template <typename T>
	perfume_text(const T &text, decltype(text.data()) = nullptr)
	    : data(text.data()), size(text.size())
	{
	}
};
#define PERFUME_TEXT         perfume_text
#define PERFUME_TEXT_DATA(n) (n).data
#define PERFUME_TEXT_SIZE(n) (n).size
#define PERFUME_C            extern "C"
#else
#define PERFUME_TEXT         const char *
#define PERFUME_TEXT_DATA(n) ((n) ? (n) : "(null)")
#define PERFUME_TEXT_SIZE(n) strlen(PERFUME_TEXT_DATA(n))
#define PERFUME_C            extern
#endif

#ifdef __has_attribute
#if __has_attribute(retain)
#define PERFUME_KEPT used, retain
#endif
#endif
#ifndef PERFUME_KEPT
#define PERFUME_KEPT used
#endif

/* clang-format misformats macros that expand to statements. */
/* clang-format off */

/*
 * Definitions for each event: its enable word, its description, its entry in the linker section,
 * and the function that tests whether it is enabled. The word is placed in the section where tools
 * expect USDT semaphores, under a name that assembly code can refer to. The word and the
 * description exist once per program or plug-in, regardless of how many source files declare the
 * event.
 */
#define PERFUME_EVENT_PARTS(event, name, fields, fixed)                                            \
	PERFUME_C uint32_t perfume_word_##event PERFUME_SHARED;                                    \
	__attribute__((section(".probes"), PERFUME_KEPT)) uint32_t perfume_word_##event = 0;       \
	PERFUME_C struct perfume_event perfume_event_##event PERFUME_SHARED;                       \
	struct perfume_event perfume_event_##event = {&perfume_word_##event, name,                 \
		fields, fixed, 0,                                                                  \
		PERFUME_NO_TARGET, 0, 0, 0, 0, 0, 0, 0};                                              \
	static struct perfume_entry perfume_entry_##event = {                                      \
		&perfume_event_##event, fields, {-1, 0, 0}, 0};                                    \
	static struct perfume_entry *perfume_at_##event                                            \
		__attribute__((section("perfume_events"), PERFUME_KEPT)) = &perfume_entry_##event; \
	static __attribute__((constructor)) void perfume_enter_##event(void)                       \
	{                                                                                          \
		perfume_image_add(__start_perfume_events, __stop_perfume_events);                  \
	}                                                                                          \
	static __attribute__((destructor)) void perfume_leave_##event(void)                        \
	{                                                                                          \
		perfume_image_remove(__start_perfume_events, __stop_perfume_events);               \
	}                                                                                          \
	/* Before an emission, which itself notices that a collector has left. */                  \
	static inline __attribute__((unused)) uint32_t perfume_wanted_##event(void)                \
	{                                                                                          \
		uint32_t word = __atomic_load_n(&perfume_word_##event, __ATOMIC_RELAXED);          \
                                                                                                   \
		if (__builtin_expect(word == PERFUME_WORD_STATUS, 0))                              \
			return perfume_event_enabled(&perfume_event_##event);                      \
		return word;                                                                       \
	}                                                                                          \
	static inline __attribute__((unused)) uint32_t perfume_##event##_enabled(void)             \
	{                                                                                          \
		uint32_t word = __atomic_load_n(&perfume_word_##event, __ATOMIC_RELAXED);          \
                                                                                                   \
		if (__builtin_expect(word & (PERFUME_WORD_STATUS | PERFUME_WORD_RING), 0))         \
			return perfume_event_enabled(&perfume_event_##event);                      \
		return word;                                                                       \
	}

#define PERFUME_EVENT_(n, some, ...) PERFUME_EVENT__(n, some, __VA_ARGS__)
#define PERFUME_EVENT__(n, some, event, ...)                                                       \
	PERFUME_EVENT_PARTS(event, #event, PERFUME_FIELDS(n, __VA_ARGS__), PERFUME_FIXED(n, __VA_ARGS__)) \
	static __attribute__((noinline, unused)) int perfume_emit_##event(                         \
		uint32_t perfume_word PERFUME_EACH(n, PERFUME_COMMA_PARAM, __VA_ARGS__))           \
	{                                                                                          \
		PERFUME_EACH(n, PERFUME_LENGTH, __VA_ARGS__)                                       \
		size_t perfume_fixed = PERFUME_FIXED(n, __VA_ARGS__);                              \
		size_t perfume_n = perfume_fixed PERFUME_EACH(n, PERFUME_PLUS_LENGTH, __VA_ARGS__);\
		struct perfume_cursor perfume_to;                                                  \
		uint32_t *perfume_packet;                                                          \
                                                                                                   \
		if (perfume_word == PERFUME_WORD_STATUS && !perfume_##event##_enabled())           \
			return 0;                                                                  \
		if (perfume_word >> PERFUME_WORD_USDT_SHIFT) {                                     \
			PERFUME_USDT(n, event, __VA_ARGS__)                                        \
		}                                                                                  \
		if (perfume_n > PERFUME_PAYLOAD_MAX)                                               \
			return perfume_event_too_long();                                           \
		perfume_packet = PERFUME_CAST(                                                     \
			uint32_t *, __builtin_alloca(sizeof(uint32_t) + perfume_n));               \
		perfume_to.at = PERFUME_CAST(                                                      \
			unsigned char *, PERFUME_CAST(void *, perfume_packet + 1));                \
		perfume_to.dynamic = perfume_to.at + perfume_fixed;                                \
		PERFUME_EACH(n, PERFUME_PUT, __VA_ARGS__)                                          \
		return perfume_event_write(                                                        \
			&perfume_event_##event, perfume_word, perfume_packet, perfume_n);          \
	}                                                                                          \
	static inline __attribute__((unused)) int(perfume_##event)(                                \
		PERFUME_PASTE(PERFUME_PARAMS, some)(n, __VA_ARGS__))                               \
	{                                                                                          \
		uint32_t perfume_word = __atomic_load_n(&perfume_word_##event, __ATOMIC_RELAXED);  \
                                                                                                   \
		if (__builtin_expect(!perfume_word, 1))                                            \
			return 0;                                                                  \
		return perfume_emit_##event(                                                       \
			perfume_word PERFUME_EACH(n, PERFUME_COMMA_PASS, __VA_ARGS__));            \
	}

/*
 * The payload of a self-describing event: header, activity, description, and the concatenated
 * values.
 */
#define PERFUME_HEADER_EVENT_(n, some, provider, level, keyword, ...)                              \
	PERFUME_HEADER_EVENT__(n, some, provider, level, keyword, __VA_ARGS__)
#define PERFUME_HEADER_EVENT__(n, some, provider, level, keyword, event, ...)                      \
	PERFUME_EVENT_PARTS(event, #provider "_L" #level "K" #keyword, PERFUME_HEADER_FIELDS, 8)   \
	static __attribute__((noinline, unused)) int perfume_emit_##event(                         \
		uint32_t perfume_word, const struct perfume_activity *perfume_activity             \
		PERFUME_EACH(n, PERFUME_COMMA_PARAM, __VA_ARGS__))                                 \
	{                                                                                          \
		static const char perfume_meta[] =                                                 \
			#event "\0" PERFUME_EACH(n, PERFUME_META, __VA_ARGS__);                    \
		PERFUME_EACH(n, PERFUME_LENGTH, __VA_ARGS__)                                       \
		size_t perfume_n = perfume_header_size(perfume_activity, sizeof(perfume_meta) - 1) \
			PERFUME_EACH(n, PERFUME_ROOM, __VA_ARGS__);                                \
		struct perfume_cursor perfume_to;                                                  \
		uint32_t *perfume_packet;                                                          \
                                                                                                   \
		if (perfume_word == PERFUME_WORD_STATUS && !perfume_##event##_enabled())           \
			return 0;                                                                  \
		if (perfume_n > PERFUME_PAYLOAD_MAX)                                               \
			return perfume_event_too_long();                                           \
		perfume_packet = PERFUME_CAST(                                                     \
			uint32_t *, __builtin_alloca(sizeof(uint32_t) + perfume_n));               \
		perfume_to.at = PERFUME_CAST(                                                      \
			unsigned char *, PERFUME_CAST(void *, perfume_packet + 1));                \
		perfume_put_header(&perfume_to, 0x##level, perfume_activity, perfume_meta,         \
			sizeof(perfume_meta) - 1);                                                 \
		PERFUME_EACH(n, PERFUME_PACK, __VA_ARGS__)                                         \
		return perfume_event_write(                                                        \
			&perfume_event_##event, perfume_word, perfume_packet, perfume_n);          \
	}                                                                                          \
	static inline __attribute__((unused)) int perfume_##event##_in(                            \
		const struct perfume_activity *perfume_activity                                    \
		PERFUME_EACH(n, PERFUME_COMMA_PARAM, __VA_ARGS__))                                 \
	{                                                                                          \
		uint32_t perfume_word = __atomic_load_n(&perfume_word_##event, __ATOMIC_RELAXED);  \
                                                                                                   \
		if (__builtin_expect(!perfume_word, 1))                                            \
			return 0;                                                                  \
		return perfume_emit_##event(perfume_word, perfume_activity                         \
			PERFUME_EACH(n, PERFUME_COMMA_PASS, __VA_ARGS__));                         \
	}                                                                                          \
	static inline __attribute__((unused)) int(perfume_##event)(                                \
		PERFUME_PASTE(PERFUME_PARAMS, some)(n, __VA_ARGS__))                               \
	{                                                                                          \
		return perfume_##event##_in(NULL PERFUME_EACH(n, PERFUME_COMMA_PASS, __VA_ARGS__)); \
	}

#define PERFUME_HEADER_FIELDS                                                                      \
	"u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level"

#define PERFUME_FIELDS(n, ...)      "" PERFUME_LIST_##n(PERFUME_FIELD, PERFUME_SEMICOLON, __VA_ARGS__)
#define PERFUME_FIXED(n, ...)       PERFUME_CAST(uint32_t, 0 PERFUME_EACH(n, PERFUME_SIZE, __VA_ARGS__))
#define PERFUME_PARAMS_none(n, ...) void
#define PERFUME_PARAMS_some(n, ...) PERFUME_LIST_##n(PERFUME_PARAM, PERFUME_COMMA, __VA_ARGS__)
#define PERFUME_EACH(n, m, ...)     PERFUME_LIST_##n(m, PERFUME_NOTHING, __VA_ARGS__)

/*
 * ---- kinds of fields ----
 *
 * For each kind: its parameters, how they are passed on, the field's text, its fixed size, the
 * length of its variable-size data, how it is stored, and its USDT arguments.
 */
#define PERFUME_KIND_u8    _number
#define PERFUME_KIND_u16   _number
#define PERFUME_KIND_u32   _number
#define PERFUME_KIND_u64   _number
#define PERFUME_KIND_s8    _number
#define PERFUME_KIND_s16   _number
#define PERFUME_KIND_s32   _number
#define PERFUME_KIND_s64   _number
#define PERFUME_KIND_f32   _float
#define PERFUME_KIND_f64   _float
#define PERFUME_KIND_bool  _truth
#define PERFUME_KIND__Bool _truth
#define PERFUME_KIND_ptr   _address
#define PERFUME_KIND_str   _text
#define PERFUME_KIND_strn  _piece
#define PERFUME_KIND_bytes _piece
#define PERFUME_KIND_u8s   _many
#define PERFUME_KIND_u16s  _many
#define PERFUME_KIND_u32s  _many
#define PERFUME_KIND_u64s  _many
#define PERFUME_KIND_s8s   _many
#define PERFUME_KIND_s16s  _many
#define PERFUME_KIND_s32s  _many
#define PERFUME_KIND_s64s  _many
#define PERFUME_KIND_f32s  _many
#define PERFUME_KIND_f64s  _many
#define PERFUME_KIND_array _array

#define PERFUME_TYPE_u8       uint8_t
#define PERFUME_TYPE_u16      uint16_t
#define PERFUME_TYPE_u32      uint32_t
#define PERFUME_TYPE_u64      uint64_t
#define PERFUME_TYPE_s8       int8_t
#define PERFUME_TYPE_s16      int16_t
#define PERFUME_TYPE_s32      int32_t
#define PERFUME_TYPE_s64      int64_t
#define PERFUME_TYPE_f32      float
#define PERFUME_TYPE_f64      double
#define PERFUME_TYPE_strn     char
#define PERFUME_TYPE_bytes    void
#define PERFUME_TYPE_u8s      uint8_t
#define PERFUME_NAME_u8s      "u8"
#define PERFUME_TYPE_u16s     uint16_t
#define PERFUME_NAME_u16s     "u16"
#define PERFUME_TYPE_u32s     uint32_t
#define PERFUME_NAME_u32s     "u32"
#define PERFUME_TYPE_u64s     uint64_t
#define PERFUME_NAME_u64s     "u64"
#define PERFUME_TYPE_s8s      int8_t
#define PERFUME_NAME_s8s      "s8"
#define PERFUME_TYPE_s16s     int16_t
#define PERFUME_NAME_s16s     "s16"
#define PERFUME_TYPE_s32s     int32_t
#define PERFUME_NAME_s32s     "s32"
#define PERFUME_TYPE_s64s     int64_t
#define PERFUME_NAME_s64s     "s64"
#define PERFUME_TYPE_f32s     float
#define PERFUME_NAME_f32s     "f32"
#define PERFUME_TYPE_f64s     double
#define PERFUME_NAME_f64s     "f64"
#define PERFUME_NAME_strn     "char"
#define PERFUME_NAME_bytes    "u8"
#define PERFUME_CLOSING_strn  1
#define PERFUME_CLOSING_bytes 0
#define PERFUME_WIDE_u8       "8@"
#define PERFUME_WIDE_u16      "8@"
#define PERFUME_WIDE_u32      "8@"
#define PERFUME_WIDE_u64      "8@"
#define PERFUME_WIDE_s8       "-8@"
#define PERFUME_WIDE_s16      "-8@"
#define PERFUME_WIDE_s32      "-8@"
#define PERFUME_WIDE_s64      "-8@"

#define PERFUME_PASTE(a, b)         PERFUME_PASTE_(a, b)
#define PERFUME_PASTE_(a, b)        a##b
#define PERFUME_OF(what, kind, ...) PERFUME_PASTE(what, PERFUME_KIND_##kind)(kind, __VA_ARGS__)

#define PERFUME_PARAM(...)                            PERFUME_OF(PERFUME_PARAM, __VA_ARGS__, )
#define PERFUME_COMMA_PARAM(...)                      , PERFUME_PARAM(__VA_ARGS__)
#define PERFUME_PARAM_number(kind, name, ...)         PERFUME_TYPE_##kind name
#define PERFUME_PARAM_float(kind, name, ...)          PERFUME_TYPE_##kind name
#define PERFUME_PARAM_truth(kind, name, ...)          int name
#define PERFUME_PARAM_address(kind, name, ...)        const void *name
#define PERFUME_PARAM_text(kind, name, ...)           PERFUME_TEXT name
#define PERFUME_PARAM_piece(kind, name, ...)          const PERFUME_TYPE_##kind *name, size_t name##_size
#define PERFUME_PARAM_many(kind, name, ...)           const PERFUME_TYPE_##kind *name, size_t name##_count
#define PERFUME_PARAM_array(kind, name, type, n, ...) const PERFUME_TYPE_##type *name

#define PERFUME_COMMA_PASS(...)                      , PERFUME_OF(PERFUME_PASS, __VA_ARGS__, )
#define PERFUME_PASS_number(kind, name, ...)         name
#define PERFUME_PASS_float(kind, name, ...)          name
#define PERFUME_PASS_truth(kind, name, ...)          name
#define PERFUME_PASS_address(kind, name, ...)        name
#define PERFUME_PASS_text(kind, name, ...)           name
#define PERFUME_PASS_piece(kind, name, ...)          name, name##_size
#define PERFUME_PASS_many(kind, name, ...)           name, name##_count
#define PERFUME_PASS_array(kind, name, type, n, ...) name

#define PERFUME_FIELD(...)                            PERFUME_OF(PERFUME_FIELD, __VA_ARGS__, )
#define PERFUME_FIELD_number(kind, name, ...)         #kind " " #name
#define PERFUME_FIELD_float(kind, name, ...)          #kind " " #name
#define PERFUME_FIELD_truth(kind, name, ...)          "u8 " #name
#define PERFUME_FIELD_address(kind, name, ...)        "u64 " #name
#define PERFUME_FIELD_text(kind, name, ...)           "__rel_loc char[] " #name
#define PERFUME_FIELD_piece(kind, name, ...)          "__rel_loc " PERFUME_NAME_##kind "[] " #name
#define PERFUME_FIELD_many(kind, name, ...)           "__rel_loc " PERFUME_NAME_##kind "[] " #name
#define PERFUME_FIELD_array(kind, name, type, n, ...) #type "[" #n "] " #name

#define PERFUME_SIZE(...)                            +PERFUME_OF(PERFUME_SIZE, __VA_ARGS__, )
#define PERFUME_SIZE_number(kind, name, ...)         sizeof(PERFUME_TYPE_##kind)
#define PERFUME_SIZE_float(kind, name, ...)          sizeof(PERFUME_TYPE_##kind)
#define PERFUME_SIZE_truth(kind, name, ...)          sizeof(uint8_t)
#define PERFUME_SIZE_address(kind, name, ...)        sizeof(uint64_t)
#define PERFUME_SIZE_text(kind, name, ...)           sizeof(uint32_t)
#define PERFUME_SIZE_piece(kind, name, ...)          sizeof(uint32_t)
#define PERFUME_SIZE_many(kind, name, ...)           sizeof(uint32_t)
#define PERFUME_SIZE_array(kind, name, type, n, ...) (n) * sizeof(PERFUME_TYPE_##type)

#define PERFUME_LENGTH(...) PERFUME_OF(PERFUME_LENGTH, __VA_ARGS__, )
#define PERFUME_LENGTH_number(...)
#define PERFUME_LENGTH_float(...)
#define PERFUME_LENGTH_truth(...)
#define PERFUME_LENGTH_address(...)
#define PERFUME_LENGTH_text(kind, name, ...)                                                       \
	size_t perfume_##name##_n = perfume_bounded(PERFUME_TEXT_SIZE(name), 1);
#define PERFUME_LENGTH_piece(kind, name, ...)                                                      \
	size_t perfume_##name##_n = perfume_bounded(name##_size, 1);
#define PERFUME_LENGTH_many(kind, name, ...)                                                       \
	size_t perfume_##name##_n = perfume_bounded(name##_count, sizeof(*name));
#define PERFUME_LENGTH_array(...)

#define PERFUME_PLUS_LENGTH(...) PERFUME_OF(PERFUME_PLUS, __VA_ARGS__, )
#define PERFUME_PLUS_number(...)
#define PERFUME_PLUS_float(...)
#define PERFUME_PLUS_truth(...)
#define PERFUME_PLUS_address(...)
#define PERFUME_PLUS_text(kind, name, ...)  +perfume_##name##_n + 1
#define PERFUME_PLUS_piece(kind, name, ...) +perfume_##name##_n + PERFUME_CLOSING_##kind
#define PERFUME_PLUS_many(kind, name, ...)  +perfume_##name##_n
#define PERFUME_PLUS_array(...)

#define PERFUME_PUT(...)                     PERFUME_OF(PERFUME_PUT, __VA_ARGS__, )
#define PERFUME_PUT_number(kind, name, ...)  perfume_put(&perfume_to, &name, sizeof(name));
#define PERFUME_PUT_float(kind, name, ...)   perfume_put(&perfume_to, &name, sizeof(name));
#define PERFUME_PUT_truth(kind, name, ...)   *perfume_to.at++ = name != 0;
#define PERFUME_PUT_address(kind, name, ...) perfume_put_address(&perfume_to, name);
#define PERFUME_PUT_text(kind, name, ...)                                                          \
	perfume_put_dynamic(&perfume_to, PERFUME_TEXT_DATA(name), perfume_##name##_n, 1);
#define PERFUME_PUT_piece(kind, name, ...)                                                         \
	perfume_put_dynamic(&perfume_to, name, perfume_##name##_n, PERFUME_CLOSING_##kind);
#define PERFUME_PUT_many(kind, name, ...)                                                          \
	perfume_put_dynamic(&perfume_to, name, perfume_##name##_n, 0);
#define PERFUME_PUT_array(kind, name, type, n, ...)                                                \
	perfume_put(&perfume_to, name, (n) * sizeof(*name));

/*
 * ---- self-describing events ----
 *
 * The encoding and format of each kind, with the numbers of LinuxTracepoints' eventheader.h.
 */
#define PERFUME_CODE_u8     "\2"
#define PERFUME_CODE_u16    "\3"
#define PERFUME_CODE_u32    "\4"
#define PERFUME_CODE_u64    "\5"
#define PERFUME_CODE_s8     "\202\2"
#define PERFUME_CODE_s16    "\203\2"
#define PERFUME_CODE_s32    "\204\2"
#define PERFUME_CODE_s64    "\205\2"
#define PERFUME_CODE_f32    "\204\10"
#define PERFUME_CODE_f64    "\205\10"
#define PERFUME_CODE_strn   "\12"
#define PERFUME_CODE_bytes  "\212\11"
#define PERFUME_CODE_u8s    "\102"
#define PERFUME_CODE_u16s   "\103"
#define PERFUME_CODE_u32s   "\104"
#define PERFUME_CODE_u64s   "\105"
#define PERFUME_CODE_s8s    "\302\2"
#define PERFUME_CODE_s16s   "\303\2"
#define PERFUME_CODE_s32s   "\304\2"
#define PERFUME_CODE_s64s   "\305\2"
#define PERFUME_CODE_f32s   "\304\10"
#define PERFUME_CODE_f64s   "\305\10"

#define PERFUME_META(...)                            PERFUME_OF(PERFUME_META, __VA_ARGS__, )
#define PERFUME_META_number(kind, name, ...)         #name "\0" PERFUME_CODE_##kind
#define PERFUME_META_float(kind, name, ...)          #name "\0" PERFUME_CODE_##kind
#define PERFUME_META_truth(kind, name, ...)          #name "\0" "\202\7"
#define PERFUME_META_address(kind, name, ...)        #name "\0" "\205\3"
#define PERFUME_META_text(kind, name, ...)           #name "\0" "\12"
#define PERFUME_META_piece(kind, name, ...)          #name "\0" PERFUME_CODE_##kind
#define PERFUME_META_many(kind, name, ...)           #name "\0" PERFUME_CODE_##kind
#define PERFUME_META_array(kind, name, type, n, ...) #name "\0" PERFUME_CODE_##type##s

#define PERFUME_ROOM(...)                            PERFUME_OF(PERFUME_ROOM, __VA_ARGS__, )
#define PERFUME_ROOM_number(kind, name, ...)         +sizeof(name)
#define PERFUME_ROOM_float(kind, name, ...)          +sizeof(name)
#define PERFUME_ROOM_truth(kind, name, ...)          +1
#define PERFUME_ROOM_address(kind, name, ...)        +sizeof(uint64_t)
#define PERFUME_ROOM_text(kind, name, ...)           +2 + perfume_##name##_n
#define PERFUME_ROOM_piece(kind, name, ...)          +2 + perfume_##name##_n
#define PERFUME_ROOM_many(kind, name, ...)           +2 + perfume_##name##_n
#define PERFUME_ROOM_array(kind, name, type, n, ...) +2 + (n) * sizeof(*name)

#define PERFUME_PACK(...)                            PERFUME_OF(PERFUME_PACK, __VA_ARGS__, )
#define PERFUME_PACK_number(kind, name, ...)         perfume_put(&perfume_to, &name, sizeof(name));
#define PERFUME_PACK_float(kind, name, ...)          perfume_put(&perfume_to, &name, sizeof(name));
#define PERFUME_PACK_truth(kind, name, ...)          *perfume_to.at++ = name != 0;
#define PERFUME_PACK_address(kind, name, ...)        perfume_put_address(&perfume_to, name);
#define PERFUME_PACK_text(kind, name, ...)                                                         \
	perfume_put_counted(&perfume_to, PERFUME_TEXT_DATA(name), perfume_##name##_n, 1);
#define PERFUME_PACK_piece(kind, name, ...)                                                        \
	perfume_put_counted(&perfume_to, name, perfume_##name##_n, 1);
#define PERFUME_PACK_many(kind, name, ...)                                                         \
	perfume_put_counted(&perfume_to, name, perfume_##name##_n, sizeof(*name));
#define PERFUME_PACK_array(kind, name, type, n, ...)                                               \
	perfume_put_counted(&perfume_to, name, (n) * sizeof(*name), sizeof(*name));

/*
 * ---- USDT probe: an ELF note with the location of the probe, its semaphore and its arguments ----
 *
 * The format is that of SystemTap's sdt.h, version 3. The semaphore is the upper half of the enable
 * word. Tools place a breakpoint on the first nop, or on the second, which newer kernels replace
 * with a call. The assembler counts the arguments, because tools reject probes with more than
 * twelve.
 */
#if !defined(PERFUME_NO_USDT) && (defined(__x86_64__) || defined(__aarch64__)) &&                  \
	__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#ifdef __x86_64__
#define PERFUME_NOP "nop\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#else
#define PERFUME_NOP "nop\n"
#endif
#define PERFUME_USDT(n, event, ...)                                                                \
	PERFUME_EACH(n, PERFUME_KEEP, __VA_ARGS__)                                                 \
	__asm__ volatile("990:" PERFUME_NOP                                                        \
		".pushsection .note.stapsdt, \"\", \"note\"\n"                                     \
		".balign 4\n"                                                                      \
		".4byte 992f - 991f, 994f - 993f, 3\n"                                             \
		"991: .asciz \"stapsdt\"\n"                                                        \
		"992: .balign 4\n"                                                                 \
		"993: .8byte 990b, _.stapsdt.base, perfume_word_" #event " + 2\n"                  \
		".asciz \"perfume\"\n"                                                             \
		".asciz \"" #event "\"\n"                                                          \
		".set perfume_arguments, 0\n"                                                      \
		PERFUME_EACH(n, PERFUME_SHOW, __VA_ARGS__)                                         \
		".byte 0\n"                                                                        \
		"994: .balign 4\n"                                                                 \
		".popsection\n"                                                                    \
		".pushsection .note.perfume, \"\", \"note\"\n"                                     \
		".balign 4\n"                                                                      \
		".4byte 996f - 995f, 998f - 997f, 1\n"                                             \
		"995: .asciz \"perfume\"\n"                                                        \
		"996: .balign 4\n"                                                                 \
		"997: .8byte 990b\n"                                                               \
		".asciz \"" PERFUME_EACH(n, PERFUME_SIGN, __VA_ARGS__) "\"\n"                      \
		".asciz \"" PERFUME_FIELDS(n, __VA_ARGS__) "\"\n"                                  \
		"998: .balign 4\n"                                                                 \
		".popsection\n"                                                                    \
		".ifndef _.stapsdt.base\n"                                                         \
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"        \
		".weak _.stapsdt.base\n"                                                           \
		".hidden _.stapsdt.base\n"                                                         \
		"_.stapsdt.base: .space 1\n"                                                       \
		".size _.stapsdt.base, 1\n"                                                        \
		".popsection\n"                                                                    \
		".endif\n"                                                                         \
		: : PERFUME_LIST_##n(PERFUME_OPERAND, PERFUME_COMMA, __VA_ARGS__));
#else
#define PERFUME_USDT(n, event, ...)
#endif

#define PERFUME_ARGUMENT(wide, name)                                                               \
	".if perfume_arguments < 12\n"                                                             \
	".if perfume_arguments\n.ascii \" \"\n.endif\n"                                            \
	".ascii \"" wide "%[" #name "]\"\n"                                                        \
	".endif\n"                                                                                 \
	".set perfume_arguments, perfume_arguments + 1\n"

/*
 * A second note, .note.perfume, describes the arguments: the location of the probe, one letter per
 * field, and the text of the fields.
 */
#define PERFUME_SIGN(...) PERFUME_OF(PERFUME_SIGN, __VA_ARGS__, )
#define PERFUME_SIGN_number(...)  "n"
#define PERFUME_SIGN_float(...)   "n"
#define PERFUME_SIGN_truth(...)   "n"
#define PERFUME_SIGN_address(...) "n"
#define PERFUME_SIGN_text(...)    "t"
#define PERFUME_SIGN_piece(...)   "p"
#define PERFUME_SIGN_many(...)    "m"
#define PERFUME_SIGN_array(...)   "a"

#define PERFUME_SHOW(...) PERFUME_OF(PERFUME_SHOW, __VA_ARGS__, )
#define PERFUME_SHOW_number(kind, name, ...)         PERFUME_ARGUMENT(PERFUME_WIDE_##kind, name)
#define PERFUME_SHOW_float(kind, name, ...)          PERFUME_ARGUMENT("8@", name)
#define PERFUME_SHOW_truth(kind, name, ...)          PERFUME_ARGUMENT("8@", name)
#define PERFUME_SHOW_address(kind, name, ...)        PERFUME_ARGUMENT("8@", name)
#define PERFUME_SHOW_text(kind, name, ...)           PERFUME_ARGUMENT("8@", name)
#define PERFUME_SHOW_piece(kind, name, ...)                                                        \
	PERFUME_ARGUMENT("8@", name) PERFUME_ARGUMENT("8@", name##_size)
#define PERFUME_SHOW_many(kind, name, ...)                                                         \
	PERFUME_ARGUMENT("8@", name) PERFUME_ARGUMENT("8@", name##_count)
#define PERFUME_SHOW_array(kind, name, type, n, ...) PERFUME_ARGUMENT("8@", name)

/* Each argument is stored on the stack, because all tools can read arguments from memory. */
#define PERFUME_KEEP(...) PERFUME_OF(PERFUME_KEEP, __VA_ARGS__, )
#define PERFUME_KEEP_AS(name, value) uint64_t perfume_##name##_is = PERFUME_CAST(uint64_t, value);
#define PERFUME_KEEP_number(kind, name, ...)         PERFUME_KEEP_AS(name, name)
#define PERFUME_KEEP_float(kind, name, ...)          PERFUME_KEEP_AS(name, perfume_bits_##kind(name))
#define PERFUME_KEEP_truth(kind, name, ...)          PERFUME_KEEP_AS(name, name != 0)
#define PERFUME_KEEP_address(kind, name, ...)        PERFUME_KEEP_AS(name, PERFUME_ADDRESS(name))
#define PERFUME_KEEP_text(kind, name, ...)           PERFUME_KEEP_AS(name, PERFUME_ADDRESS(PERFUME_TEXT_DATA(name)))
#define PERFUME_KEEP_piece(kind, name, ...)                                                        \
	PERFUME_KEEP_AS(name, PERFUME_ADDRESS(name)) PERFUME_KEEP_AS(name##_size, name##_size)
#define PERFUME_KEEP_many(kind, name, ...)                                                         \
	PERFUME_KEEP_AS(name, PERFUME_ADDRESS(name)) PERFUME_KEEP_AS(name##_count, name##_count)
#define PERFUME_KEEP_array(kind, name, type, n, ...) PERFUME_KEEP_AS(name, PERFUME_ADDRESS(name))

#define PERFUME_OPERAND(...) PERFUME_OF(PERFUME_OPERAND, __VA_ARGS__, )
#define PERFUME_OPERAND_IS(name) [name] "m"(perfume_##name##_is)
#define PERFUME_OPERAND_number(kind, name, ...)      PERFUME_OPERAND_IS(name)
#define PERFUME_OPERAND_float(kind, name, ...)       PERFUME_OPERAND_IS(name)
#define PERFUME_OPERAND_truth(kind, name, ...)       PERFUME_OPERAND_IS(name)
#define PERFUME_OPERAND_address(kind, name, ...)     PERFUME_OPERAND_IS(name)
#define PERFUME_OPERAND_text(kind, name, ...)        PERFUME_OPERAND_IS(name)
#define PERFUME_OPERAND_piece(kind, name, ...)                                                     \
	PERFUME_OPERAND_IS(name), PERFUME_OPERAND_IS(name##_size)
#define PERFUME_OPERAND_many(kind, name, ...)                                                      \
	PERFUME_OPERAND_IS(name), PERFUME_OPERAND_IS(name##_count)
#define PERFUME_OPERAND_array(kind, name, type, n, ...) PERFUME_OPERAND_IS(name)

/* PERFUME_LIST_3(m, sep, a, b, c, rest) is m a sep() m b sep() m c. */
#define PERFUME_NOTHING()
#define PERFUME_COMMA()     ,
#define PERFUME_SEMICOLON() "; "
#define PERFUME_LIST_0(...)
#define PERFUME_LIST_1(m, sep, a, ...)  m a
#define PERFUME_LIST_2(m, sep, a, ...)  m a sep() PERFUME_LIST_1(m, sep, __VA_ARGS__)
#define PERFUME_LIST_3(m, sep, a, ...)  m a sep() PERFUME_LIST_2(m, sep, __VA_ARGS__)
#define PERFUME_LIST_4(m, sep, a, ...)  m a sep() PERFUME_LIST_3(m, sep, __VA_ARGS__)
#define PERFUME_LIST_5(m, sep, a, ...)  m a sep() PERFUME_LIST_4(m, sep, __VA_ARGS__)
#define PERFUME_LIST_6(m, sep, a, ...)  m a sep() PERFUME_LIST_5(m, sep, __VA_ARGS__)
#define PERFUME_LIST_7(m, sep, a, ...)  m a sep() PERFUME_LIST_6(m, sep, __VA_ARGS__)
#define PERFUME_LIST_8(m, sep, a, ...)  m a sep() PERFUME_LIST_7(m, sep, __VA_ARGS__)
#define PERFUME_LIST_9(m, sep, a, ...)  m a sep() PERFUME_LIST_8(m, sep, __VA_ARGS__)
#define PERFUME_LIST_10(m, sep, a, ...) m a sep() PERFUME_LIST_9(m, sep, __VA_ARGS__)
#define PERFUME_LIST_11(m, sep, a, ...) m a sep() PERFUME_LIST_10(m, sep, __VA_ARGS__)
#define PERFUME_LIST_12(m, sep, a, ...) m a sep() PERFUME_LIST_11(m, sep, __VA_ARGS__)
#define PERFUME_LIST_13(m, sep, a, ...) m a sep() PERFUME_LIST_12(m, sep, __VA_ARGS__)
#define PERFUME_LIST_14(m, sep, a, ...) m a sep() PERFUME_LIST_13(m, sep, __VA_ARGS__)
#define PERFUME_LIST_15(m, sep, a, ...) m a sep() PERFUME_LIST_14(m, sep, __VA_ARGS__)
#define PERFUME_LIST_16(m, sep, a, ...) m a sep() PERFUME_LIST_15(m, sep, __VA_ARGS__)
#define PERFUME_LIST_17(m, sep, a, ...) m a sep() PERFUME_LIST_16(m, sep, __VA_ARGS__)
#define PERFUME_LIST_18(m, sep, a, ...) m a sep() PERFUME_LIST_17(m, sep, __VA_ARGS__)
#define PERFUME_LIST_19(m, sep, a, ...) m a sep() PERFUME_LIST_18(m, sep, __VA_ARGS__)
#define PERFUME_LIST_20(m, sep, a, ...) m a sep() PERFUME_LIST_19(m, sep, __VA_ARGS__)

/* _none for a single argument, _some otherwise. */
#define PERFUME_SOME(...)                                                                          \
	PERFUME_PICK_22(__VA_ARGS__, _some, _some, _some, _some, _some, _some, _some, _some,       \
		_some, _some, _some, _some, _some, _some, _some, _some, _some, _some, _some,       \
		_some, _none, 0)
#define PERFUME_PICK_22(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,     \
	a17, a18, a19, a20, a21, some, ...)                                                        \
	some

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

/* clang-format on */

#endif
