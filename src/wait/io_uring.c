/* SPDX-License-Identifier: MIT */
/*
 * Which file the requests of an io_uring(7) wait for. The kernel tells the operations of those that
 * wait until a file is ready (PollList), and the entries of the submission queue, in the memory of
 * the process, the files. If all entries of these operations are for one file, it is the one.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum {
	PATH_BYTES = 64,
	INFO_MAX = 1 << 16,
	ENTRIES_MAX = 1024,          /* of a submission queue; a longer one is not read */
	ENTRIES_OFFSET = 0x10000000, /* of the mapping: IORING_OFF_SQES */
	IS_REGISTERED = 1,           /* a flag of entries: `fd` is an index */
	RING_IS_REGISTERED = 16,     /* a flag of io_uring_enter(2): so is its first argument */
	OPERATIONS = 256,
	POLL_FOR_DATA = 1,
	POLL_FOR_ROOM = 4,
};

/* Operations that wait for a file, as in linux/io_uring.h. Others are for data. */
enum {
	RING_WRITEV = 2,
	RING_WRITE_FIXED = 5,
	RING_POLL = 6,
	RING_SENDMSG = 9,
	RING_ACCEPT = 13,
	RING_CONNECT = 16,
	RING_WRITE = 23,
	RING_SEND = 26,
	RING_SEND_ZC = 47,
	RING_SENDMSG_ZC = 48,
};

/* struct io_uring_sqe. */
struct ring_entry {
	uint8_t operation, flags;
	uint16_t priority;
	int32_t fd;
	uint64_t offset, address;
	uint32_t n, events;
	uint64_t rest[4];
};

_Static_assert(sizeof(struct ring_entry) == 64, "the interface of the kernel");

/* The value after a name such as "\nSqMask:"; -1: there is none, as before Linux 5.18. */
static int64_t ring_number(const char *info, const char *name)
{
	const char *at = strstr(info, name);

	return at ? strtoll(at + strlen(name), NULL, 0) : -1;
}

/* Lines "  op=22, task_works=0" at the end. Returns their number. */
static size_t read_waiting(const char *info, bool waiting[OPERATIONS])
{
	const char *line = strstr(info, "\nPollList:");
	size_t n = 0;

	while (line && (line = strstr(line, "\n  op="))) {
		line += strlen("\n  op=");
		waiting[(uint8_t)atoi(line)] = true;
		n++;
	}
	return n;
}

/* Where the entries are in the memory of the process; 0: unknown, or there are several rings. */
static uint64_t find_entries(
	struct attar_waits *waits, const struct wait_thread *thread, uint64_t inode)
{
	struct buf text _cleanup_(buf_done) = {0};
	unsigned long long start, offset, found_inode;
	uint64_t found = 0;
	char *save = NULL;

	if (wait_read_mappings(waits, thread->tid, &text) < 0 || !text.len)
		return 0;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		if (!strstr(line, "[io_uring]") ||
			sscanf(line, "%llx-%*x %*s %llx %*s %llu", &start, &offset, &found_inode) !=
				3 ||
			offset != ENTRIES_OFFSET || found_inode != inode)
			continue;
		if (found)
			return 0;
		found = start;
	}
	return found;
}

static bool is_for_room(const struct ring_entry *entry)
{
	switch (entry->operation) {
	case RING_WRITEV:
	case RING_WRITE_FIXED:
	case RING_SENDMSG:
	case RING_CONNECT:
	case RING_WRITE:
	case RING_SEND:
	case RING_SEND_ZC:
	case RING_SENDMSG_ZC:
		return true;
	case RING_POLL:
		return (entry->events & (POLL_FOR_DATA | POLL_FOR_ROOM)) == POLL_FOR_ROOM;
	default:
		return false;
	}
}

/* The only one that may wait, or one of several for the same; NULL: unknown. */
static const struct ring_entry *only_entry(
	const struct ring_entry *entries, size_t n, const bool waiting[OPERATIONS])
{
	const struct ring_entry *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct ring_entry *entry = &entries[i];

		if (!waiting[entry->operation])
			continue;
		if (entry->flags & IS_REGISTERED ||
			(found && (entry->fd != found->fd || entry->operation != found->operation ||
					  entry->events != found->events)))
			return NULL;
		found = entry;
	}
	return found;
}

/* Reads the entries that the kernel has taken, which a program may have overwritten since. */
static bool read_entry(
	struct attar_waits *waits, const struct wait_thread *thread, struct ring_entry *ret_entry)
{
	struct ring_entry *entries _cleanup_free_ = NULL;
	struct buf info _cleanup_(buf_done) = {0};
	const struct ring_entry *found = NULL;
	bool waiting[OPERATIONS] = {false};
	char path[PATH_BYTES];
	uint64_t device, inode, address;
	int64_t mask, taken;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)thread->tid, (int)thread->args[0]);
	if (thread->args[3] & RING_IS_REGISTERED || file_read(path, INFO_MAX, &info) < 0) {
		attar_error_clear();
		return false;
	}
	mask = ring_number(buf_text(&info), "\nSqMask:");
	taken = ring_number(buf_text(&info), "\nCachedSqHead:");
	if (mask < 0 || mask >= ENTRIES_MAX || taken <= 0 ||
		!read_waiting(buf_text(&info), waiting))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, (int)thread->args[0]);
	address = wait_identify(AT_FDCWD, path, &device, &inode)
			  ? find_entries(waits, thread, inode)
			  : 0;
	n = (size_t)MIN(mask + 1, taken);
	entries = address ? calloc(n, sizeof(*entries)) : NULL;
	if (entries && proc_memory_read(thread->tid, address, entries, n * sizeof(*entries)) ==
			       (ssize_t)(n * sizeof(*entries)))
		found = only_entry(entries, n, waiting);
	if (found)
		*ret_entry = *found;
	return found;
}

int wait_io_uring(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	struct ring_entry entry;
	int r = 0;

	if (read_entry(waits, thread, &entry)) {
		wait->fd = entry.fd;
		wait->writes = is_for_room(&entry);
		wait->connects = entry.operation == RING_CONNECT;
		if (entry.operation == RING_ACCEPT)
			wait->kind = ATTAR_WAIT_CLIENTS;
		else
			r = wait_file(waits, thread, wait);
	}
	if (wait->kind != ATTAR_WAIT_UNKNOWN)
		return r;
	wait->kind = ATTAR_WAIT_EVENTS;
	wait->fd = -1;
	wait->writes = wait->connects = false;
	wait_set_object(wait, "io_uring");
	return r;
}
