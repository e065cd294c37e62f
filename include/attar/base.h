/* SPDX-License-Identifier: MIT */
/*
 * attar/base.h - what every other header stands on: the error chain and the log.
 *
 * A function that can fail returns 0 or more, or a negative errno. The sentence that says what went
 * wrong, why, and what would mend it is kept per thread: ask attar_error() for it. Outputs (parameters
 * whose names begin with ret_) are written only on success, unless a function says otherwise. The
 * library never prints and never exits; what costs the user something without being an error (a fallback, a smaller
 * ring) is told to the log callback.
 *
 *	if (attar_target_new(&opts, &target) < 0)
 *		fprintf(stderr, "%s\n", attar_error());
 *
 * Arguments: a function refuses NULL where its comment does not allow it, an index past the end, unknown
 * flags, and a call in the wrong state, with -EINVAL. One that returns no errno gives NULL, 0, false or
 * what its comment says. The sentence names function and argument in both cases. Functions that are called
 * for each event or record check nothing: attar_ring_begin(), attar_ring_next(), attar_ring_release(),
 * attar_ring_end(), attar_record_parse(), attar_read_at(), attar_read_time_enabled(),
 * attar_read_time_running(), attar_branch_*(), attar_event_stack(), attar_thread_locate(),
 * attar_address_space_locate(), and inline functions. An object that was freed must not be used.
 *
 * fork(2): targets, counters, groups, rings, AUX areas, streams and runs belong to the process that created
 * them. In a child, functions that would use or change them return -ECHILD, and rings are empty. Reading
 * values and what is kept in memory still works there. All objects can be freed in the child, in the usual
 * order; that does not disturb the parent: its counters stay enabled, its command runs on, its probes stay.
 *
 * Freeing: a target outlives its counters; counters, shm_source and symbols outlive the stream; counters outlive
 * their rings, and rings their AUX areas; a catalogue outlives its lists and formats, symbols their spaces.
 * Objects that do not depend on each other are freed in any order.
 */
#ifndef ATTAR_BASE_H
#define ATTAR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTAR_API               __attribute__((visibility("default")))
#define ATTAR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* A cast between numbers, or from void *, without a warning in either language. */
#ifdef __cplusplus
#define ATTAR_CAST(type, value) static_cast<type>(value)
#else
#define ATTAR_CAST(type, value) ((type)(value))
#endif

/* The version of the library at run time, as "0.1.0". A static string. */
ATTAR_API const char *attar_version(void);

/*
 * Sets this thread's error text to one sentence and returns code (a negative errno; a positive one is
 * negated), so that a failing path reads: return attar_fail(-ENOENT, "no tracepoint '%s'", name);
 */
ATTAR_API int attar_fail(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * Puts what the caller was doing in front of this thread's error text ("doing: cause") and returns code
 * as it came.
 */
ATTAR_API int attar_context(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * The sentence of this thread's last failure. Ask for it directly after a call that failed: a call that
 * succeeds does not clear it, and may leave there a failure that it recovered from. "" before the first
 * failure and after attar_error_clear(). Borrowed until this thread's next call of the library.
 */
ATTAR_API const char *attar_error(void);

/* Forgets this thread's error text. */
ATTAR_API void attar_error_clear(void);

/* How often something happened on a CPU. */
struct attar_cpu_count {
	int cpu; /* -1: not known */
	uint64_t count;
};

/* How much a log line matters: for debugging, a degradation or its like, or loss that spoils results. */
enum attar_level { ATTAR_DEBUG, ATTAR_NOTE, ATTAR_WARN };

/* Receives one line without its newline; text is borrowed until the callback returns. */
typedef void attar_log_fn(void *ctx, enum attar_level level, const char *text);

/*
 * Sets the callback for log lines of the whole process; NULL (the start value) drops them. ctx is owned
 * by the caller and must live until the callback is replaced. Set it before the first other call.
 */
ATTAR_API void attar_log_set(attar_log_fn *fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
