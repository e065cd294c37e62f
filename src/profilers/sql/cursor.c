/* SPDX-License-Identifier: MIT */
/* What SQLite's virtual tables of events and of groups have in common. */
#include <stdlib.h>

#include "sql/db.h"

int sql_cursor_new(size_t size, sqlite3_vtab_cursor **ret_cursor)
{
	struct sql_cursor *c = calloc(1, size);

	if (!c)
		return SQLITE_NOMEM;
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

int sql_cursor_free(sqlite3_vtab_cursor *cursor)
{
	free(((struct sql_cursor *)cursor)->order);
	free(cursor);
	return SQLITE_OK;
}

int sql_cursor_free_table(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

int sql_cursor_update(sqlite3_vtab *table, int n, sqlite3_value **values, sqlite3_int64 *ret_number)
{
	(void)table, (void)n, (void)values, (void)ret_number;
	return SQLITE_READONLY;
}
