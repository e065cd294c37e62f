/* SPDX-License-Identifier: MIT */
#include "stream/comm.h"

struct comm *comm_new(const char *text, size_t n)
{
	struct comm *comm;

	n = strnlen(text, MIN(n, (size_t)COMM_BYTES_MAX));
	comm = malloc(sizeof(*comm) + n + 1);
	if (!comm) {
		base_oom();
		return NULL;
	}
	comm->refs = 1;
	comm->unknown = false;
	comm->hash = base_hash64(base_hash_bytes(BASE_HASH_START, text, n));
	memcpy(comm->text, text, n);
	comm->text[n] = '\0';
	return comm;
}

struct comm *comm_unref(struct comm *comm)
{
	if (comm && !--comm->refs)
		free(comm);
	return NULL;
}
