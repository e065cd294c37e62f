/* SPDX-License-Identifier: MIT */
/*
 * Who holds what a thread waits for in futex(2). Locks have the layout of glibc 2.25 and later
 * (struct __pthread_mutex_s and struct __pthread_rwlock_arch_t of 64-bit programs): what does
 * not look like one of its locks has no known holder.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "wait/wait.h"

/* futex(2). */
enum {
	COMMAND = 127,
	PRIVATE_FLAG = 128,
	WAIT = 0,
	LOCK_PI = 6,
	WAIT_BITSET = 9,
	WAIT_REQUEUE_PI = 11,
	LOCK_PI2 = 13,
	TID_MASK = 0x3fffffff,
};

/* The values of glibc's locks. */
enum {
	LOCKED_WITH_WAITERS = 2,
	PHASE_USED = 2, /* bits of the words of a read-write lock */
	PHASE_OF_WRITER = 3,
	WRITER_LOCKED = 2, /* bits of the number of readers */
	WRITER_HOLDS = 3,
	READER_SHIFT = 3,
	KINDS_MAX = 1024, /* of mutexes, with flags */
	KIND_RECURSIVE = 1,
	KIND_BITS = 3,
	KIND_SHARED = 128,
};

struct mutex {
	uint32_t lock, count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
	int16_t spins, elision;
	uint64_t list[2]; /* of a robust mutex */
};

struct rwlock {
	uint32_t readers, writers, phase_futex, writers_futex, pad3, pad4;
	int32_t writer;
};

static bool futex_compare_namespaces(pid_t tid)
{
	char path[64], own[64] = "", other[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)tid);
	return readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0 &&
	       readlink(path, other, sizeof(other) - 1) > 0 && !strcmp(own, other);
}

/* Threads of a process are in the same one. */
bool wait_is_own_namespace(const struct wait_thread *thread)
{
	struct wait_process *process = &thread->waits->last_process;

	if (!wait_process(thread))
		return false;
	if (process->namespace == WAIT_NAMESPACE_UNKNOWN)
		process->namespace = futex_compare_namespaces(thread->tid) ? WAIT_NAMESPACE_OWN
									   : WAIT_NAMESPACE_OTHER;
	return process->namespace == WAIT_NAMESPACE_OWN;
}

struct translation {
	int inside; /* the number in the namespace of the process */
	pid_t tid;
};

static int futex_compare(void *ctx, int tid)
{
	struct translation *t = ctx;

	if (proc_number_inside(tid) == t->inside)
		t->tid = tid;
	return t->tid != 0;
}

/* The thread of the same process that has this number in its own PID namespace; 0: none. */
static pid_t futex_owner(const struct wait_thread *thread, int owner)
{
	struct translation t = {.inside = owner};
	char path[64];

	if (owner <= 0)
		return 0;
	if (wait_is_own_namespace(thread)) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)wait_process(thread), owner);
		return access(path, F_OK) == 0 ? owner : 0;
	}
	if (proc_each_thread(thread->tid, futex_compare, &t) < 0)
		attar_error_clear();
	return t.tid;
}

static bool is_same_user(pid_t a, pid_t b)
{
	struct stat of_a, of_b;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)a);
	if (stat(path, &of_a) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", (int)b);
	return stat(path, &of_b) == 0 && of_a.st_uid == of_b.st_uid;
}

/*
 * A lock between processes, whose owner is a thread of another one. The memory of a program may
 * name anybody: it accuses programs of its user only.
 */
static pid_t futex_shared_owner(const struct wait_thread *thread, int owner, bool is_shared)
{
	pid_t tid = futex_owner(thread, owner);

	if (tid || !is_shared || owner <= 0 || !wait_is_own_namespace(thread))
		return tid;
	return proc_state(owner) && is_same_user(thread->tid, owner) ? owner : 0;
}

static void futex_held(const struct wait_thread *thread, struct attar_wait *wait, pid_t owner)
{
	wait->kind = ATTAR_WAIT_LOCK;
	if (owner)
		wait_set_other(thread->waits, wait, owner, owner);
}

/*
 * The owner has ended without unlocking: nobody can. Memory of others, such as the locks of other
 * languages, rarely looks like a lock of glibc with an owner: it is one that can have been a thread
 * of the process, or of another one if the lock says that it is shared.
 */
static bool futex_is_ended(const struct wait_thread *thread, int owner, bool is_shared)
{
	if (owner <= 0 || !wait_is_own_namespace(thread) || futex_owner(thread, owner))
		return false;
	return is_shared ? !proc_state(owner) : owner >= wait_process(thread);
}

static void futex_held_by_ended(
	const struct wait_thread *thread, struct attar_wait *wait, pid_t owner)
{
	wait->kind = ATTAR_WAIT_LOCK;
	wait->pid = wait_process(thread);
	wait->tid = owner;
	wait->other_state = 'X';
}

static bool futex_is_mutex_of_ended(
	const struct wait_thread *thread, const struct mutex *mutex, bool is_shared)
{
	return mutex->lock == LOCKED_WITH_WAITERS && mutex->users == 1 && !mutex->elision &&
	       !mutex->list[0] && !mutex->list[1] &&
	       (!mutex->count || (mutex->kind & KIND_BITS) == KIND_RECURSIVE) &&
	       is_shared == !!(mutex->kind & KIND_SHARED) &&
	       futex_is_ended(thread, mutex->owner, is_shared);
}

/*
 * Whether the value can be the word of a robust mutex, which has the owner. Most others are
 * conditions, one for each thread in some runtimes, whose memory need not be read.
 */
static bool futex_may_have_owner(const struct wait_thread *thread, uint32_t value, bool is_shared)
{
	const pid_t owner = (pid_t)(value & TID_MASK);

	if (!owner || is_shared || !wait_is_own_namespace(thread))
		return owner;
	return owner >= wait_process(thread) || futex_owner(thread, owner);
}

/*
 * A thread of the parent held the mutex when it created this process, which has a copy of the mutex
 * and no copy of the thread.
 */
static bool futex_is_held_at_fork(
	const struct wait_thread *thread, struct attar_wait *wait, const struct mutex *mutex)
{
	const pid_t pid = wait_process(thread), parent = proc_parent(pid);
	char path[64], name[64], *comm _cleanup_free_ = NULL;

	if (mutex->lock != LOCKED_WITH_WAITERS || mutex->owner <= 0 || parent <= 1 ||
		!wait_is_own_namespace(thread))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)parent, mutex->owner);
	if (access(path, F_OK) < 0)
		return false;
	snprintf(name, sizeof(name), "task/%d/comm", mutex->owner);
	comm = wait_line(parent, name);
	wait->kind = ATTAR_WAIT_LOCK;
	wait->pid = pid;
	wait->tid = mutex->owner;
	wait->other_state = 'X';
	wait_set_object(wait, "at the fork by %s (%d) of the parent process: nobody can unlock it",
		comm ?: "thread", mutex->owner);
	return true;
}

static bool futex_is_mutex(
	const struct wait_thread *thread, struct attar_wait *wait, bool is_shared)
{
	const uint32_t value = (uint32_t)thread->args[2];
	struct mutex mutex;
	pid_t owner;

	if ((value != LOCKED_WITH_WAITERS && !futex_may_have_owner(thread, value, is_shared)) ||
		!wait_read(thread, wait->address, &mutex, sizeof(mutex)))
		return false;
	/* otherwise it is a robust mutex, whose word has the owner */
	if (value != LOCKED_WITH_WAITERS && (value & TID_MASK) != (uint32_t)mutex.owner)
		return false;
	if (mutex.lock != LOCKED_WITH_WAITERS && (mutex.lock & TID_MASK) != (uint32_t)mutex.owner)
		return false;
	if (mutex.kind < 0 || mutex.kind >= KINDS_MAX || !mutex.users)
		return false;
	owner = futex_shared_owner(thread, mutex.owner, is_shared);
	if (owner)
		futex_held(thread, wait, owner);
	else if (futex_is_mutex_of_ended(thread, &mutex, is_shared))
		futex_held_by_ended(thread, wait, mutex.owner);
	else
		return !is_shared && futex_is_held_at_fork(thread, wait, &mutex);
	return true;
}

/* A writer of which no thread has the number: the readers have none. */
static bool futex_waits_for_readers(const struct rwlock *lock)
{
	enum { READERS_MAX = 1 << 20 };

	return lock->readers & WRITER_LOCKED && lock->readers >> READER_SHIFT &&
	       lock->readers >> READER_SHIFT < READERS_MAX && !lock->writer;
}

/* It waits for the end of the phase of writing or reading, or for its turn to write. */
static bool futex_is_rwlock(
	const struct wait_thread *thread, struct attar_wait *wait, bool is_shared)
{
	enum { FUTEX_WORD_MAX = 3, WRITERS_MAX = 1 << 16 };
	const uint64_t words[] = {
		offsetof(struct rwlock, phase_futex), offsetof(struct rwlock, writers_futex)};
	const uint32_t value = (uint32_t)thread->args[2];
	struct rwlock lock;

	if (value != PHASE_USED && value != PHASE_OF_WRITER)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		bool is_ended;
		pid_t owner;

		if (wait->address < words[i] ||
			!wait_read(thread, wait->address - words[i], &lock, sizeof(lock)))
			continue;
		if (lock.phase_futex > FUTEX_WORD_MAX || lock.writers_futex > FUTEX_WORD_MAX ||
			lock.writers > WRITERS_MAX)
			continue;
		owner = futex_shared_owner(thread, lock.writer, is_shared);
		is_ended = !owner && (lock.readers & WRITER_HOLDS) == WRITER_HOLDS &&
			   futex_is_ended(thread, lock.writer, is_shared);
		if (!owner && !is_ended && !futex_waits_for_readers(&lock))
			continue;
		wait->address -= words[i];
		if (is_ended)
			futex_held_by_ended(thread, wait, lock.writer);
		else
			futex_held(thread, wait, owner);
		if (!is_ended && !owner)
			wait_set_object(wait, "by %u reader%s", lock.readers >> READER_SHIFT,
				lock.readers >> READER_SHIFT == 1 ? "" : "s");
		return true;
	}
	return false;
}

/* glibc's pthread_join() waits until the kernel clears the TID of the thread. */
static bool futex_is_join(const struct wait_thread *thread, struct attar_wait *wait)
{
	pid_t joined;

	if (!futex_is_shared(thread))
		return false;
	joined = futex_owner(thread, (int)(uint32_t)thread->args[2]);
	if (!joined)
		return false;
	wait->kind = ATTAR_WAIT_THREAD;
	wait_set_other(thread->waits, wait, joined, joined);
	return true;
}

static void futex_pi(const struct wait_thread *thread, struct attar_wait *wait, bool is_shared)
{
	uint32_t word;

	if (wait_read(thread, wait->address, &word, sizeof(word)))
		futex_held(thread, wait,
			futex_shared_owner(thread, (int)(word & TID_MASK), is_shared));
	else
		futex_held(thread, wait, 0);
}

bool futex_is_shared(const struct wait_thread *thread)
{
	return !(thread->args[1] & PRIVATE_FLAG);
}

void wait_futex(const struct wait_thread *thread, struct attar_wait *wait)
{
	const bool is_shared = futex_is_shared(thread);

	wait->address = thread->args[0];
	switch (thread->args[1] & COMMAND) {
	case LOCK_PI:
	case LOCK_PI2:
		futex_pi(thread, wait, is_shared);
		return;
	case WAIT:
	case WAIT_BITSET:
		if (futex_is_join(thread, wait) || futex_is_mutex(thread, wait, is_shared) ||
			futex_is_rwlock(thread, wait, is_shared))
			return;
		break;
	default:
		break;
	}
	/* glibc's mutexes wait for 2 in this way; conditions and other runtimes do not */
	wait->kind = (thread->args[1] & COMMAND) == WAIT &&
				     (uint32_t)thread->args[2] == LOCKED_WITH_WAITERS
			     ? ATTAR_WAIT_LOCK
			     : ATTAR_WAIT_CONDITION;
}
