/* SPDX-License-Identifier: MIT */
/*
 * attar/base.h - error handling and logging, used by all other headers.
 *
 * A function that can fail returns 0 or a positive value on success, and a negative errno on
 * failure. attar_error() returns the error message of the calling thread: what failed, why, and how
 * to fix it. Outputs (parameters whose names begin with ret_) are written only on success, unless a
 * function says otherwise. The library never prints and never exits. Degradations that are not
 * errors (a fallback, a smaller ring buffer) are reported to the log callback.
 *
 *	if (attar_target_new(&opts, &target) < 0)
 *		fprintf(stderr, "%s\n", attar_error());
 *
 * Arguments: functions return -EINVAL for NULL unless it is documented as allowed, for an index out
 * of range, for unknown flags and for a call in the wrong state. Functions that do not return an
 * errno return NULL, 0, false or what their comment documents. In both cases the error message
 * names the function and the argument. Functions that are called per event or record do not check
 * their arguments: attar_ring_begin(), attar_ring_next(), attar_ring_release(), attar_ring_end(),
 * attar_record_parse(), attar_read_at(), attar_read_time_enabled(), attar_read_time_running(),
 * attar_branch_*(), attar_event_stack(), attar_thread_locate(), attar_address_space_locate(),
 * attar_stacks_add(), attar_hist_add(), attar_keytable_at(), attar_keytable_at_u64(),
 * attar_pairs_start(), attar_pairs_start_u64(), attar_pairs_end(), attar_pairs_end_u64(),
 * attar_states_set_u64(), attar_state_set_group(), attar_expr_eval(), attar_expr_number(),
 * attar_expr_is_true(), attar_expr_key(), and inline functions. Using a freed object is undefined
 * behavior.
 *
 * fork(2): targets, counters, groups, rings, AUX areas, streams and runs belong to the process that
 * created them. In a child, functions that would use or change them return -ECHILD, and rings are
 * empty. Reading counter values and data in memory still works. All objects can be freed in the
 * child, in the usual order; this does not affect the parent: its counters stay enabled, its
 * command keeps running and its probes remain.
 *
 * Freeing: free counters before their target; the stream before its counters, shm_source and
 * symbols; AUX areas before their ring, rings before their counters; lists before their catalog,
 * and address spaces before their symbols. Formats are valid until their catalog is freed.
 * Independent objects can be freed in any order.
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
/* A cast between numbers, or from void *, that compiles without warnings in C and C++. */
#ifdef __cplusplus
#define ATTAR_CAST(type, value) static_cast<type>(value)
#else
#define ATTAR_CAST(type, value) ((type)(value))
#endif

/* The version of the library at run time, such as "1.0.0". A static string. */
ATTAR_API const char *attar_version(void);

/*
 * Sets the error message of the calling thread and returns code as a negative errno (a positive one
 * is negated), for use as: return attar_fail(-ENOENT, "no tracepoint '%s'", name);
 *
 * ATTAR_FIX in fmt separates what failed and why from how to fix it, and reads ": " in the message:
 * attar_fail(-EINVAL, "a database needs a file" ATTAR_FIX "use -o FILE.db"). A ';' before it
 * replaces the ':'. A message that contains the one of the former failure keeps its fix.
 */
#define ATTAR_FIX "\x1f"
ATTAR_API int attar_fail(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * Prepends context to the error message of the calling thread ("context: cause") and returns code
 * as a negative errno. What follows ATTAR_FIX in fmt becomes the fix, unless the cause has one.
 */
ATTAR_API int attar_context(int code, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * The error message of the calling thread's last failure. Valid directly after a call that failed:
 * a successful call does not clear it, and may leave the message of a failure that it recovered
 * from. "" before the first failure and after attar_error_clear(). Borrowed until the thread's next
 * call into the library.
 */
ATTAR_API const char *attar_error(void);

/*
 * The parts of attar_error(): what failed and why, without the ": " or "; " before the fix and what
 * follows it; and the fix, "" if the message has none that is marked. Borrowed like attar_error().
 */
ATTAR_API const char *attar_error_reason(void);
ATTAR_API const char *attar_error_fix(void);

/* Clears the error message of the calling thread. */
ATTAR_API void attar_error_clear(void);

/* The number of occurrences of something on a CPU. */
struct attar_cpu_count {
	int cpu; /* -1: unknown */
	uint64_t count;
};

/* Log levels: debugging, a degradation or notice, loss that affects results. */
enum attar_level { ATTAR_DEBUG, ATTAR_NOTE, ATTAR_WARN };

/* Called with one line, without a newline; text is borrowed until the callback returns. */
typedef void attar_log_fn(void *ctx, enum attar_level level, const char *text);

/*
 * Sets the log callback of the process; NULL (the default) discards log lines. ctx is owned by the
 * caller and must be valid until the callback is replaced. Call this before any other function of
 * the library.
 */
ATTAR_API void attar_log_set(attar_log_fn *fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
