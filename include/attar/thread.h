/* SPDX-License-Identifier: MIT */
/*
 * attar/thread.h - the stacks of running threads.
 *
 * A thread is stopped, its registers and the top of its stack are copied, and it continues; the
 * copy is unwound afterwards:
 *
 *	struct attar_thread_copy copy = {0};
 *	n = attar_thread_stack(tid, 0, space, &copy, locations, max, &end);
 *	attar_thread_copy_done(&copy);
 *
 * The thread does not notice that it was stopped, except that a few blocking system calls fail with
 * EINTR, as after SIGSTOP and SIGCONT (see signal(7)).
 *
 * x86-64 and arm64; 64-bit programs.
 */
#ifndef ATTAR_THREAD_H
#define ATTAR_THREAD_H

#include "attar/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ATTAR_THREAD_STACK_DEFAULT = 1 << 20, /* bytes copied at most */
	ATTAR_THREAD_STACK_MAX = 1 << 30,
	ATTAR_THREAD_REGISTERS = 33,
};

/* Must not be moved: input refers to it. {0} before its first use. */
struct attar_thread_copy {
	struct attar_unwind_input input;
	uint64_t stopped; /* ns for which the thread was stopped, in all */
	uint64_t registers[ATTAR_THREAD_REGISTERS];
	void *stack;       /* owned */
	size_t stack_room; /* bytes allocated */
};

/*
 * Copies the registers and at most stack_max bytes of the stack of a thread (0: the default); what
 * copy had is replaced. The stack ends earlier at memory that is not mapped. Returns 0; -ESRCH if
 * there is no such thread (any more); -EPERM without permission, or if the thread is traced by
 * another program; -EBUSY if it does not stop within a second, because it waits for a device
 * without accepting signals: the kernel then keeps it attached to the calling thread, and lets it
 * go on when that one exits; -EOPNOTSUPP for threads of the kernel, for 32-bit programs and on
 * other architectures; -EINVAL; -ENOMEM.
 */
ATTAR_API int attar_thread_copy_take(pid_t tid, size_t stack_max, struct attar_thread_copy *copy);

/*
 * Copies and unwinds: attar_thread_copy_take(), then attar_unwind(), with their arguments. If a
 * signal handler has a stack of its own (sigaltstack(2)), the thread is stopped a second time to
 * copy at most stack_max bytes of the stack of the interrupted code as well: the locations are
 * those of both. The end is ATTAR_UNWIND_OTHER_STACK only if the thread has entered such a handler
 * in between, or if that stack cannot be read. Returns the number of locations, or the error of
 * attar_thread_copy_take().
 */
ATTAR_API ssize_t attar_thread_stack(pid_t tid, size_t stack_max, struct attar_address_space *space,
	struct attar_thread_copy *copy, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end);

/*
 * Reads up to n bytes of the memory of a thread's process, fewer if a page cannot be read. Returns
 * their number, or a negative errno without a message: -ESRCH, -EPERM, -EFAULT; -ETIMEDOUT if it
 * takes longer than 0.1 seconds, because the memory is in a file whose server does not answer. The
 * files of /proc would wait for ever then.
 */
ATTAR_API ssize_t attar_thread_memory(pid_t tid, uint64_t address, void *bytes, size_t n);

/* Frees the copied stack. */
ATTAR_API void attar_thread_copy_done(struct attar_thread_copy *copy);

#ifdef __cplusplus
}
#endif

#endif
