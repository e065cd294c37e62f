/* SPDX-License-Identifier: MIT */
/* In place of sqlite.c in a build without SQLite. */
#include "report/sinks/render.h"

static int absent_draw(struct attar_renderer *r, const struct attar_report *report)
{
	return attar_fail(-EINVAL,
		"databases are not available: this attar was built without SQLite" ATTAR_FIX
		"install libsqlite3-dev and rebuild attar");
}

const struct render_format render_sqlite = {
	.sink = {.name = "sqlite",
		.extension = "db",
		.media_type = "application/vnd.sqlite3",
		.sections = RENDER_ALL,
		.is_binary = true,
		.needs_file = true},
	.draw = absent_draw,
};
