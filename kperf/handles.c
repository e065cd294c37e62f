/* SPDX-License-Identifier: MIT */
#include "handles.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
	const void **at;
	size_t n, room;
} handles;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* handles.n: it does not exist. The lock is held. */
static size_t find(const void *handle)
{
	size_t i = 0;

	while (i < handles.n && handles.at[i] != handle)
		i++;
	return i;
}

static bool add(const void *handle)
{
	if (handles.n == handles.room) {
		size_t room = handles.room ? handles.room * 2 : 16;
		const void **at = reallocarray(handles.at, room, sizeof(*at));

		if (!at)
			return false;
		handles.at = at;
		handles.room = room;
	}
	handles.at[handles.n++] = handle;
	return true;
}

bool kp_handle_add(const void *handle)
{
	bool is_added;

	pthread_mutex_lock(&lock);
	is_added = add(handle);
	pthread_mutex_unlock(&lock);
	return is_added;
}

bool kp_handle_exists(const void *handle)
{
	bool exists;

	pthread_mutex_lock(&lock);
	exists = find(handle) < handles.n;
	pthread_mutex_unlock(&lock);
	return exists;
}

bool kp_handle_remove(const void *handle)
{
	bool exists;
	size_t i;

	pthread_mutex_lock(&lock);
	i = find(handle);
	exists = i < handles.n;
	if (exists)
		handles.at[i] = handles.at[--handles.n];
	if (!handles.n) {
		free(handles.at);
		handles.at = NULL;
		handles.room = 0;
	}
	pthread_mutex_unlock(&lock);
	return exists;
}
