/* SPDX-License-Identifier: MIT */
#include "stream/taskname.h"

#include <stdio.h>

#include "base/file.h"

enum { COMM_FILE_MAX = 256, STAT_FILE_MAX = 4096 };

/*
 * "kworker/0:1+events" is working on events, "kworker/u8:2-flush" last worked on flush
 * (wq_worker_comm() of the kernel). A rescuer is named after its queue, "kworker/R-mm_percpu_wq":
 * there '-' is part of the name.
 */
static size_t worker_length(const char *shown)
{
	static const char prefix[] = "kworker/", rescuer[] = "kworker/R-";
	bool numbered = !strncmp(shown, prefix, sizeof(prefix) - 1) &&
			strncmp(shown, rescuer, sizeof(rescuer) - 1) != 0;

	return strcspn(shown, numbered ? "+-" : "+");
}

size_t taskname_length(const char *shown, uint64_t flags)
{
	size_t length = strlen(shown);

	if (!(flags & TASKNAME_KERNEL_THREAD))
		return length;
	if (flags & TASKNAME_WORKER)
		length = worker_length(shown);
	return MIN(length, (size_t)TASKNAME_MAX);
}

/* The task's flags; 0 also if it has exited. */
static uint64_t flags_of(const char *directory)
{
	struct buf b _cleanup_(buf_done) = {0};
	unsigned long long flags = 0;
	const char *end;
	char path[96];
	int r;

	snprintf(path, sizeof(path), "%s/stat", directory);
	r = file_read(path, STAT_FILE_MAX, &b);
	if (r < 0) {
		if (r != -ENOMEM)
			attar_error_clear();
		return 0;
	}
	end = strrchr(buf_text(&b), ')');
	/* state, ppid, pgrp, session, tty, tpgid, flags */
	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %llu", &flags) != 1)
		return 0;
	return flags;
}

int taskname_read(pid_t pid, pid_t tid, struct buf *b)
{
	char directory[64], path[96];
	int r;

	buf_reset(b);
	if (pid)
		snprintf(directory, sizeof(directory), "/proc/%d/task/%d", pid, tid);
	else
		snprintf(directory, sizeof(directory), "/proc/%d", tid);
	snprintf(path, sizeof(path), "%s/comm", directory);
	r = file_read(path, COMM_FILE_MAX, b);
	if (r == 0 && !b->len)
		r = -ESRCH;
	if (r < 0) {
		if (r != -ENOMEM)
			attar_error_clear();
		return r;
	}
	b->data[--b->len] = '\0'; /* the newline */
	if (b->len > TASKNAME_MAX || strpbrk(b->data, "+-")) {
		b->len = taskname_length(b->data, flags_of(directory));
		b->data[b->len] = '\0';
	}
	return 0;
}
