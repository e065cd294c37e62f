/* SPDX-License-Identifier: MIT */
/*
 * glibc registers with the kernel where a thread has its list of robust mutexes: in its struct
 * pthread, whose address is the pthread_t. The TID is 16 bytes before the list, the values of the
 * first keys are 48 bytes after its begin.
 */
#include "lang/thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
enum { LIST = 736 };
#else
enum { LIST = 224 };
#endif

enum { TID = 16, VALUES = 48, KEYS = 32, VALUE_BYTES = 16, VALUE = 8 };

static uint64_t thread_list(struct lang_memory *memory, const struct lang_thread *thread)
{
	void *list = NULL;
	size_t size;
	int tid;

	if (syscall(SYS_get_robust_list, thread->tid, &list, &size) < 0 || !list)
		return 0;
	if (!lang_memory_read(memory, (uint64_t)list - TID, &tid, sizeof(tid)))
		return 0;
	return tid == thread->inside ? (uint64_t)list : 0;
}

uint64_t lang_pthread(struct lang_memory *memory, const struct lang_thread *thread)
{
	uint64_t list = thread_list(memory, thread);

	return list ? list - LIST : 0;
}

uint64_t lang_specific(struct lang_memory *memory, const struct lang_thread *thread, unsigned key)
{
	uint64_t list = thread_list(memory, thread);

	if (!list || key >= KEYS)
		return 0;
	return lang_memory_word(memory, list + VALUES + key * VALUE_BYTES + VALUE);
}
