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

/* Of glibc. */
enum {
	LOCKED_WITH_WAITERS = 2,
	PHASE_USED = 2, /* bits of the words of a read-write lock */
	PHASE_OF_WRITER = 3,
	KINDS_MAX = 1024, /* of mutexes, with flags */
};

struct mutex {
	uint32_t lock, count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
};

struct rwlock {
	uint32_t readers, writers, phase_futex, writers_futex, pad3, pad4;
	int32_t writer;
};

bool wait_is_own_namespace(pid_t tid)
{
	char path[64], own[64] = "", other[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)tid);
	return readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0 &&
	       readlink(path, other, sizeof(other) - 1) > 0 && !strcmp(own, other);
}

/* "NSpid:\t1234\t12": the last number is the one in the innermost namespace. */
int wait_number_inside(pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *line, *last = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (proc_read_line(path, &text) == 0 && (line = strstr(buf_text(&text), "\nNSpid:")))
		for (line += strlen("\nNSpid:"); *line && *line != '\n'; line++)
			if (*line == '\t')
				last = line + 1;
	return last ? atoi(last) : 0;
}

struct translation {
	int inside; /* the number in the namespace of the process */
	pid_t tid;
};

static int futex_compare(void *ctx, int tid)
{
	struct translation *t = ctx;

	if (wait_number_inside(tid) == t->inside)
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
	if (wait_is_own_namespace(thread->tid)) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)thread->tid, owner);
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

	if (tid || !is_shared || owner <= 0 || !wait_is_own_namespace(thread->tid))
		return tid;
	return proc_state(owner) && is_same_user(thread->tid, owner) ? owner : 0;
}

static void futex_held(struct attar_wait *wait, pid_t owner)
{
	wait->kind = ATTAR_WAIT_LOCK;
	if (owner)
		wait_set_other(wait, owner, owner);
}

static bool futex_is_mutex(
	const struct wait_thread *thread, struct attar_wait *wait, bool is_shared)
{
	const uint32_t value = (uint32_t)thread->args[2];
	struct mutex mutex;
	pid_t owner;

	if (!wait_read(thread, wait->address, &mutex, sizeof(mutex)))
		return false;
	/* otherwise it is a robust mutex, whose word has the owner */
	if (value != LOCKED_WITH_WAITERS && (value & TID_MASK) != (uint32_t)mutex.owner)
		return false;
	if (mutex.lock != LOCKED_WITH_WAITERS && (mutex.lock & TID_MASK) != (uint32_t)mutex.owner)
		return false;
	if (mutex.kind < 0 || mutex.kind >= KINDS_MAX || !mutex.users)
		return false;
	owner = futex_shared_owner(thread, mutex.owner, is_shared);
	if (!owner)
		return false;
	futex_held(wait, owner);
	return true;
}

/* A writer of which no thread has the number: the readers have none. */
static bool futex_waits_for_readers(const struct rwlock *lock)
{
	enum { WRITER_LOCKED = 2, READER_SHIFT = 3, READERS_MAX = 1 << 20 };

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
		pid_t owner;

		if (wait->address < words[i] ||
			!wait_read(thread, wait->address - words[i], &lock, sizeof(lock)))
			continue;
		if (lock.phase_futex > FUTEX_WORD_MAX || lock.writers_futex > FUTEX_WORD_MAX ||
			lock.writers > WRITERS_MAX)
			continue;
		owner = futex_shared_owner(thread, lock.writer, is_shared);
		if (!owner && !futex_waits_for_readers(&lock))
			continue;
		wait->address -= words[i];
		futex_held(wait, owner);
		return true;
	}
	return false;
}

/* glibc's pthread_join() waits until the kernel clears the TID of the thread. */
static bool futex_is_join(const struct wait_thread *thread, struct attar_wait *wait)
{
	pid_t joined = futex_owner(thread, (int)(uint32_t)thread->args[2]);

	if ((thread->args[1] & PRIVATE_FLAG) || !joined)
		return false;
	wait->kind = ATTAR_WAIT_THREAD;
	wait_set_other(wait, joined, joined);
	return true;
}

static void futex_pi(const struct wait_thread *thread, struct attar_wait *wait, bool is_shared)
{
	uint32_t word;

	if (wait_read(thread, wait->address, &word, sizeof(word)))
		futex_held(wait, futex_shared_owner(thread, (int)(word & TID_MASK), is_shared));
	else
		futex_held(wait, 0);
}

void wait_futex(const struct wait_thread *thread, struct attar_wait *wait)
{
	const bool is_shared = !(thread->args[1] & PRIVATE_FLAG);

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
