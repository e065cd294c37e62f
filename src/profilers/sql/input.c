/* SPDX-License-Identifier: MIT */
/* The tables of a database that is the input, see run_open_database(). */
#include <stdio.h>

#include "sql/db.h"

#include "attar/builtin.h"

/* Names are texts of the file: a view whose definition is damaged has no columns. */
static const char all_tables[] =
	"SELECT s.name, s.type FROM sqlite_schema s WHERE s.type IN ('table', 'view')"
	" AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.name";
static const char all_columns[] =
	"SELECT s.name, c.name, c.type FROM sqlite_schema s, pragma_table_info(s.name) c"
	" WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
	" ORDER BY s.name, c.cid";
static const char description[] =
	"SELECT group_concat(t, ', ') FROM (SELECT s.name || '('"
	" || group_concat(c.name, ', ') || ')' AS t"
	" FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table'"
	" AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' GROUP BY s.name)";

int sql_input_open(struct sql_db *db)
{
	return run_open_database(db->run, &db->sqlite);
}

/* Prepares a statement of this file: the authorizer is for statements of others. */
static sqlite3_stmt *prepare(struct sql_db *db, const char *text)
{
	sqlite3_stmt *statement = NULL;

	sql_db_restrict(db, false);
	sqlite3_prepare_v2(db->sqlite, text, -1, &statement, NULL);
	return statement;
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? text : "";
}

void sql_input_describe(struct sql_db *db, char *ret_text, size_t max)
{
	sqlite3_stmt *statement = prepare(db, description);

	*ret_text = '\0';
	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		snprintf(ret_text, max, "%s", text_of(statement, 0));
	sqlite3_finalize(statement);
	sql_db_restrict(db, true);
}

void sql_input_tables(struct sql_db *db, bool columns, struct attar_report *report)
{
	sqlite3_stmt *statement = prepare(db, columns ? all_columns : all_tables);
	struct attar_section *section = attar_report_table(report, "tables");
	int n = columns ? 3 : 2;

	attar_section_column(section, "table", ATTAR_UNIT_TEXT);
	if (columns)
		attar_section_column(section, "column", ATTAR_UNIT_TEXT);
	attar_section_column(section, "type", ATTAR_UNIT_TEXT);
	while (statement && sqlite3_step(statement) == SQLITE_ROW) {
		attar_section_row(section);
		for (int i = 0; i < n; i++)
			attar_cell_text(section, text_of(statement, i));
	}
	sqlite3_finalize(statement);
	sql_db_restrict(db, true);
}
