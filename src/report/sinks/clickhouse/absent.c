/* SPDX-License-Identifier: MIT */
/* In place of clickhouse.c in a build without libcurl. */
#include "report/sinks/clickhouse/input.h"
#include "report/sinks/render.h"

static int open_database(struct attar_renderer *r)
{
	return attar_fail(-EINVAL,
		"ClickHouse is not available: this attar was built without libcurl or "
		"zlib" ATTAR_FIX "install libcurl4-openssl-dev and zlib1g-dev, and rebuild attar");
}

static int check(const char *address)
{
	return open_database(NULL);
}

int clickhouse_read(
	const char *address, int (*take)(void *ctx, struct attar_report *report), void *ctx)
{
	return open_database(NULL);
}

static int absent_draw(struct attar_renderer *r, const struct attar_report *report)
{
	return open_database(r);
}

const struct render_format render_clickhouse = {
	.sink = {.name = "clickhouse",
		.scheme = "clickhouse",
		.media_type = "application/octet-stream",
		.sections = RENDER_ALL,
		.is_binary = true},
	.open = open_database,
	.check = check,
	.draw = absent_draw,
};
