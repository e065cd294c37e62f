/* SPDX-License-Identifier: MIT */
#include "run/input/database.h"

#include "base/place.h"
#include "report/sinks/sqlite/input.h"
#include "report/sinks/sqlite/output.h"
#include "run/run.h"

struct run_database {
	bool is_input;      /* --input is a database: there are no events */
	struct place place; /* of attar_run_create_database() */
};

PART_STATE(database_of, struct run_database, PART_DATABASE)

bool run_database_is_input(const struct attar_run *run)
{
	return !run->opts.pull && sqlite_is_database(run->opts.input);
}

int run_database_open(struct attar_run *run)
{
	const struct {
		const char *name;
		bool is_set;
	} all[] = {{"a command", run->command.argv != NULL}, {"--pids", run->opts.pids},
		{"--tids", run->opts.tids}, {"--cpus", run->opts.cpus},
		{"--cgroups", run->opts.recorded_cgroups}, {"--interval", run->opts.interval},
		{"--duration", run->opts.duration}, {"--from", run->opts.from},
		{"--to", run->opts.to}, {"--at", run->opts.at}};

	if (!(run->profiler->uses & ATTAR_USES_DATABASE))
		return attar_fail(-EINVAL,
			"'%s' is a database, not a recording" ATTAR_FIX
			"query it with attar sql --input FILE",
			CLIP(run->opts.input));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].is_set)
			return attar_fail(
				-EINVAL, "--input of a database conflicts with %s", all[i].name);
	database_of(run)->is_input = true;
	return 0;
}

int run_database_start(struct attar_run *run)
{
	clock_start(&run->clock);
	if (run->hooks.opened)
		run->hooks.opened(run->hooks.ctx);
	return 0;
}

bool run_has_database(const struct attar_run *run)
{
	return database_of(run)->is_input;
}

int run_open_database(const struct attar_run *run, struct sqlite3 **ret_db)
{
	if (!database_of(run)->is_input)
		return attar_fail(-EINVAL, "run_open_database(): the input is not a database");
	return sqlite_open_input(run->opts.input, ret_db);
}

int run_create_database(struct attar_run *run, const char *path, struct sqlite3 **ret_db)
{
	int r;

	place_done(&database_of(run)->place);
	r = place_find(&database_of(run)->place, path);
	if (r == 0)
		r = sqlite_open_output(&database_of(run)->place, ret_db);
	return r < 0 ? attar_fail(
			       r, "cannot open the database '%s': %s", CLIP(path), place_error(-r))
		     : 0;
}

static void database_free(struct attar_run *run, void *self)
{
	place_done(&database_of(run)->place);
}

const struct run_part part_database = {.size = sizeof(struct run_database), .free = database_free};
