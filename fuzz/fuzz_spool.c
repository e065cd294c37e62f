/* SPDX-License-Identifier: MIT */
/*
 * The spool of rows for ClickHouse with a file of arbitrary bytes: as it is, and with the magic
 * number, sizes and checksums that its bytes should have, so that the code behind these checks is
 * reached. The file is a whole batch, or is counted as damaged.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "report/sinks/clickhouse/clickhouse.h"

/* Offsets in the head, see docs/fleet.md. */
enum { CRC_HEAD = 8, CRC_BODY = 12, BODY = 32, TABLE = 44, HEAD = 56 };

static char folder[] = "/tmp/fuzz_spool.XXXXXX";

static void remove_folder(void)
{
	char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/x/lock", folder);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(folder);
}

static struct spool *new_spool(void)
{
	static bool is_made;
	struct clickhouse_url url = {.spool = folder, .folder = "x", .quota = UINT64_MAX};
	struct spool *spool;

	if (!is_made && (!mkdtemp(folder) || atexit(remove_folder) != 0))
		abort();
	is_made = true;
	if (spool_open(&url, &spool) < 0)
		abort();
	return spool;
}

static void put_file(const struct spool *spool, const uint8_t *bytes, size_t n)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/00000000000000000001-0000000000000002.batch",
		spool_path(spool));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

/* Whether it is a batch. */
static bool take(const uint8_t *bytes, size_t n)
{
	struct spool *spool = new_spool();
	struct spool_damage damage;
	struct batch *batch;
	bool is_batch;

	put_file(spool, bytes, n);
	if (spool_oldest(spool, &batch) < 0)
		abort();
	is_batch = batch;
	if (batch && HEAD + strlen(batch->table) + batch->body.len != n)
		abort();
	if (batch)
		spool_remove(spool);
	batch_free(batch);
	if (spool_take_damaged(spool, &damage) == is_batch || spool_oldest(spool, &batch) < 0 ||
		batch)
		abort();
	spool_free(spool);
	attar_error_clear();
	return is_batch;
}

static void put_u32(uint8_t *to, size_t value)
{
	uint32_t number = htole32((uint32_t)value);

	memcpy(to, &number, sizeof(number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	uint32_t table;

	if (!copy)
		return 0;
	take(data, size);
	if (size >= HEAD) {
		memcpy(copy, data, size);
		memcpy(copy, "ATTARSP1", 8);
		memcpy(&table, copy + TABLE, sizeof(table));
		table = le32toh(table) % (uint32_t)(size - HEAD + 1);
		put_u32(copy + TABLE, table);
		put_u32(copy + BODY, size - HEAD - table);
		put_u32(copy + BODY + 4, 0);
		put_u32(copy + CRC_BODY,
			crc32(0, copy + HEAD + table, (uInt)(size - HEAD - table)));
		put_u32(copy + CRC_HEAD, crc32(0, copy + CRC_BODY, HEAD - CRC_BODY + table));
		take(copy, size);
	}
	free(copy);
	return 0;
}
