/* SPDX-License-Identifier: MIT */
/*
 * attar/private/thread.h - the stacks of running threads.
 *
 * A thread is stopped, its registers and the top of its stack are copied, and it continues; the
 * copy is unwound afterwards:
 *
 *	struct attar_thread_copy copy = {0};
 *	n = thread_stack(tid, 0, space, &copy, locations, max, &end);
 *	thread_copy_done(&copy);
 *
 * The thread does not notice that it was stopped, except that a few blocking system calls fail with
 * EINTR, as after SIGSTOP and SIGCONT (see signal(7)).
 *
 * x86-64 and arm64; 64-bit programs.
 */
#ifndef ATTAR_PRIVATE_THREAD_H
#define ATTAR_PRIVATE_THREAD_H

#include "attar/unwind.h"

enum {
	ATTAR_THREAD_STACK_DEFAULT = 1 << 20, /* bytes copied at most */
	ATTAR_THREAD_STACK_MAX = 1 << 30,
	ATTAR_THREAD_REGISTERS = 33,
};

/* Must not be moved: input refers to it. {0} before its first use. */
struct attar_thread_copy {
	struct attar_unwind_input input;
	uint64_t stopped; /* ns for which the thread was stopped, in all; 0: it was not */
	uint64_t registers[ATTAR_THREAD_REGISTERS];
	void *stack;       /* owned */
	size_t stack_room; /* bytes allocated */

	/* Called while the thread is stopped, or sleeps, each time it is copied; may be NULL. */
	void (*while_still)(void *ctx, pid_t tid);
	void *ctx;
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
int thread_take_copy(pid_t tid, size_t stack_max, struct attar_thread_copy *copy);

/*
 * Copies and unwinds: thread_take_copy(), then attar_unwind(), with their arguments. A thread that
 * sleeps is not stopped, and notices nothing, if the stack pointer and the pc that the kernel shows
 * of it are enough for its whole stack: no function finds its caller by the frame pointer. If a
 * signal handler has a stack of its own (sigaltstack(2)), the thread is stopped a second time to
 * copy at most stack_max bytes of the stack of the interrupted code as well: the locations are the
 * frames of both. The end is ATTAR_UNWIND_OTHER_STACK only if the thread has entered such a handler
 * in between, or if that stack cannot be read. Returns the number of locations, or the error of
 * thread_take_copy().
 */
ssize_t thread_stack(pid_t tid, size_t stack_max, struct attar_address_space *space,
	struct attar_thread_copy *copy, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end);

/*
 * Reads up to n bytes of the memory of a thread's process, fewer if a page cannot be read. Returns
 * their number, or a negative errno without a message: -ESRCH, -EPERM, -EFAULT; -ETIMEDOUT if it
 * takes longer than 0.1 seconds, because the memory is in a file whose server does not answer. The
 * files of /proc would wait for ever then.
 */
ssize_t thread_memory(pid_t tid, uint64_t address, void *bytes, size_t n);

/* Frees the copied stack. */
void thread_copy_done(struct attar_thread_copy *copy);

#endif
