/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "trace.h"

void *kp_rows_add(struct kp_rows *rows)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 64;
		void *array = reallocarray(rows->array, room, rows->row_size);

		if (!array)
			return NULL;
		rows->array = array;
		rows->room = room;
	}
	return memset((char *)rows->array + rows->n++ * rows->row_size, 0, rows->row_size);
}

const char *kp_rows_comm(struct kp_list *memory, const struct attar_event *event)
{
	size_t size = strlen(event->thread->comm) + 1;
	char *comm = kp_list_alloc(memory, size);

	return comm ? memcpy(comm, event->thread->comm, size) : NULL;
}

int kp_trace_open(enum kp_kind kind, const struct attar_catalog_opts *opts, kp_trace_open_fn *open,
	const void *attr)
{
	struct kp_origin *origin = kp_origin_new(opts);
	struct kp_task *task = origin ? kp_task_new(kind, SAMPLING, origin) : NULL;
	int pd = -1;

	kp_origin_unref(origin);
	if (!task)
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	if (open(task, attr) == SUCCESS)
		pd = kp_task_add(task);
	if (pd < 0)
		kp_task_put(task);
	else
		kp_succeed();
	return pd;
}

/* The caller gets the array, or there is nothing to get. */
static void *take_rows(struct kp_rows *rows, struct kp_list *memory)
{
	void *array = rows->n > 0 ? rows->array : NULL;

	if (array)
		*rows = (struct kp_rows){.row_size = rows->row_size};
	return kp_list_publish_as(memory, array);
}

void *kp_trace_read(int pd, enum kp_kind kind, kp_sample_fn *fn, int *ret_n)
{
	struct kp_task *task = kp_task_get(pd, kind);
	struct kp_list *memory = NULL;
	struct kp_rows *rows;
	void *array = NULL;

	*ret_n = -1;
	if (!task)
		return NULL;
	rows = task->own;
	pthread_mutex_lock(&task->lock);
	if (kp_sample_each(task, fn, rows, &memory) == SUCCESS) {
		*ret_n = (int)rows->n;
		array = take_rows(rows, memory);
	}
	rows->n = 0;
	pthread_mutex_unlock(&task->lock);
	kp_task_put(task);
	return array;
}
