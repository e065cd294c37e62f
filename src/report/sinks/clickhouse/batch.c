/* SPDX-License-Identifier: MIT */
#include "report/sinks/clickhouse/batch.h"

#include <sys/random.h>

uint64_t batch_random(void)
{
	uint64_t id = 0;

	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			id = base_hash64(base_now() ^ (uint64_t)getpid() << 32);
	return id;
}

struct batch *batch_new(const char *table, uint16_t date)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (batch)
		batch->table = strdup(table);
	if (!batch || !batch->table) {
		base_oom();
		return batch_free(batch);
	}
	batch->created = base_realtime();
	batch->began = base_now();
	batch->id = batch_random();
	batch->date = date;
	return batch;
}

struct batch *batch_free(struct batch *batch)
{
	if (!batch)
		return NULL;
	buf_done(&batch->body);
	free(batch->table);
	free(batch);
	return NULL;
}
