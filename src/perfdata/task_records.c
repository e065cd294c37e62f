/* SPDX-License-Identifier: MIT */
#include "perfdata/task_records.h"

#include "perfdata/writer_internal.h"

enum { TEXT_BYTES_MAX = 4096 };

static size_t padded_text(const char *text)
{
	return ROUND_UP(strnlen(text, TEXT_BYTES_MAX - 1) + 1, (size_t)8);
}

static void put_trailer(const struct attar_layout *layout, struct buf *b)
{
	static const char zeros[64];

	buf_add(b, zeros, layout->trailer_size);
}

void task_records_put_header(const struct attar_layout *layout, struct buf *b, uint32_t type,
	uint16_t misc, size_t fixed, const char *text)
{
	size_t size = sizeof(struct perf_event_header) + fixed + layout->trailer_size;

	writer_put_header(b, type, misc, size + (text ? padded_text(text) : 0));
}

void task_records_put_text(const struct attar_layout *layout, struct buf *b, const char *text)
{
	static const char zeros[8];
	size_t len = strnlen(text, TEXT_BYTES_MAX - 1);

	buf_add(b, text, len);
	buf_add(b, zeros, padded_text(text) - len);
	put_trailer(layout, b);
}

void task_records_put_fork(
	const struct attar_layout *layout, struct buf *b, const struct attar_task *fork)
{
	/* The flag tells perf that the task does not have the mappings of its parent. */
	task_records_put_header(layout, b, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, 24, NULL);
	writer_put_u32(b, fork->pid);
	writer_put_u32(b, fork->ppid);
	writer_put_u32(b, fork->tid);
	writer_put_u32(b, fork->ptid);
	writer_put_u64(b, 0);
	put_trailer(layout, b);
}

void task_records_put_comm(
	const struct attar_layout *layout, struct buf *b, pid_t pid, pid_t tid, const char *comm)
{
	task_records_put_header(layout, b, PERF_RECORD_COMM, 0, 8, comm);
	writer_put_u32(b, (uint32_t)pid);
	writer_put_u32(b, (uint32_t)tid);
	task_records_put_text(layout, b, comm);
}
