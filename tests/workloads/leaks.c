/* SPDX-License-Identifier: MIT */
/*
 * Expected: allocates 500 objects of 64 bytes, of which keep() leaks 37 and use() frees 463, with
 * take() and give(), a simple allocator. The address of a freed object is used again.
 */
#include "workload.h"

enum { OBJECTS = 500, LEAKED = 37, BYTES = 64 };

static char pool[OBJECTS][BYTES];
static char *unused[OBJECTS];
static int n_unused;

static KEEP void *take(uint64_t size)
{
	return size <= BYTES && n_unused ? unused[--n_unused] : NULL;
}

static KEEP void give(void *object)
{
	unused[n_unused++] = object;
}

static KEEP char *keep(void)
{
	char *object = take(BYTES);

	object[0] = 1;
	return object;
}

static KEEP void use(void)
{
	char *object = take(BYTES);

	object[0] = 1;
	give(object);
}

int main(void)
{
	for (int i = 0; i < OBJECTS; i++)
		unused[n_unused++] = pool[i];
	for (int i = 0; i < OBJECTS; i++)
		if (i % 13 == 0 && i / 13 < LEAKED)
			keep();
		else
			use();
	return 0;
}
