/* SPDX-License-Identifier: MIT */
/* Tables of sections: their names and columns. */
#include "report/sinks/sqlite/sqlite.h"

#include <ctype.h>

enum { NAME_MAX_BYTES = 128 };

static void add_name(struct buf *b, const char *name, enum attar_unit unit)
{
	bool has_unit = unit == ATTAR_UNIT_PERCENT || unit == ATTAR_UNIT_NS ||
			unit == ATTAR_UNIT_BYTES || unit == ATTAR_UNIT_HZ;

	if (isdigit((unsigned char)*name))
		buf_char(b, '_');
	for (size_t i = 0; name[i] && i < NAME_MAX_BYTES; i++)
		buf_char(b, isalnum((unsigned char)name[i]) ? name[i] : '_');
	if (has_unit)
		buf_printf(b, "_%s", unit_name(unit));
}

static const char *type_of(enum attar_unit unit)
{
	switch (unit) {
	case ATTAR_UNIT_TEXT:
		return "TEXT";
	case ATTAR_UNIT_PERCENT:
		return "REAL";
	case ATTAR_UNIT_TIME:
	case ATTAR_UNIT_HEX:
	case ATTAR_UNIT_ID:
	case ATTAR_UNIT_CLOCK:
		return "INTEGER";
	default:
		return "NUMERIC";
	}
}

/* Appends a column; a name that is already in the list gets a number. */
static void add_column(struct buf *b, const char *name, enum attar_unit unit, const char *type)
{
	struct buf full _cleanup_(buf_done) = {0};

	buf_char(&full, '"');
	add_name(&full, name, unit);
	buf_char(&full, '"');
	while (strcasestr(buf_text(b), buf_text(&full)) && !buf_failed(&full)) {
		full.len--;
		buf_str(&full, "_2\"");
	}
	buf_printf(b, ", %s %s", buf_text(&full), type);
	b->failed |= full.failed;
}

/* The columns of a table as in CREATE TABLE. Returns their number. */
static size_t list_columns(struct buf *b, const struct attar_section *s)
{
	static const struct {
		const char *name, *type;
		bool is_weight;
	} of_nodes[] = {
		{"node", "INTEGER", false},
		{"parent", "INTEGER", false},
		{"kind", "TEXT", false},
		{"name", "TEXT", false},
		{"module", "TEXT", false},
		{"self", "INTEGER", true},
		{"total", "INTEGER", true},
		{"pid", "INTEGER", false},
		{"tid", "INTEGER", false},
		{"address", "INTEGER", false},
		{"build_id", "TEXT", false},
		{"file", "TEXT", false},
		{"line", "INTEGER", false},
	};
	size_t n = 1;

	buf_str(b, "\"report\" INTEGER REFERENCES reports");
	if (s->kind == ATTAR_SECTION_TREE) {
		for (size_t i = 0; i < ARRAY_SIZE(of_nodes); i++)
			add_column(b, of_nodes[i].name,
				of_nodes[i].is_weight ? s->unit : ATTAR_UNIT_ID, of_nodes[i].type);
		return n + ARRAY_SIZE(of_nodes);
	}
	for (size_t i = 0; i < s->columns.n; i++, n++) {
		const struct column *c = &s->columns.at[i];

		add_column(b, section_text(s, c->name), c->unit, type_of(c->unit));
	}
	if (s->kind == ATTAR_SECTION_EVENTS) {
		add_column(b, "values", ATTAR_UNIT_TEXT, "TEXT");
		add_column(b, "stack", ATTAR_UNIT_ID, "INTEGER REFERENCES event_stacks");
		n += 2;
	}
	return n;
}

static bool is_name_free(struct database *db, const char *name)
{
	return sqlite3_table_column_metadata(
		       db->sqlite, NULL, name, NULL, NULL, NULL, NULL, NULL, NULL) != SQLITE_OK;
}

/* What the names of the table and its columns do not contain. */
static int describe(struct database *db, const struct attar_section *s, const char *table)
{
	int e;

	database_bind_text(db->section, 1, table);
	database_bind_text(db->section, 2, section_text(s, s->name));
	database_bind_text(db->section, 3, section_kind_name(s->kind));
	if (s->kind == ATTAR_SECTION_TREE)
		database_bind_text(db->section, 4, unit_name(s->unit));
	e = database_insert(db, db->section);
	for (size_t i = 0; e == 0 && i < s->columns.n; i++) {
		database_bind_text(db->column, 1, table);
		sqlite3_bind_int64(db->column, 2, (int64_t)i);
		database_bind_text(db->column, 3, section_text(s, s->columns.at[i].name));
		database_bind_text(db->column, 4, unit_name(s->columns.at[i].unit));
		e = database_insert(db, db->column);
	}
	return e;
}

/* Whether the table exists, created by this statement for the same section of an earlier run. */
static bool is_known(
	struct database *db, const struct table *table, const char *name, const char *sql)
{
	bool found;

	database_bind_text(db->find_table, 1, name);
	database_bind_text(db->find_table, 2, sql);
	database_bind_text(db->find_table, 3, table->section);
	found = sqlite3_step(db->find_table) == SQLITE_ROW;
	sqlite3_reset(db->find_table);
	sqlite3_clear_bindings(db->find_table);
	return found;
}

/*
 * Finds a name for the table that is free, or the name of the table of an earlier run. sql creates
 * the table. Returns 0 or -ENOMEM.
 */
static int choose_name(struct database *db, const struct table *table, struct buf *name,
	struct buf *sql, bool *ret_known)
{
	size_t length;

	add_name(name, *table->section ? table->section : "section", ATTAR_UNIT_TEXT);
	length = name->len;
	for (unsigned i = 2;; i++) {
		buf_reset(sql);
		buf_printf(sql, "CREATE TABLE \"%s\" (%s)", buf_text(name), table->columns);
		if (buf_failed(name) || buf_failed(sql))
			return base_oom();
		*ret_known = is_known(db, table, buf_text(name), buf_text(sql));
		if (*ret_known || is_name_free(db, buf_text(name)))
			return 0;
		name->len = length;
		buf_printf(name, "_%u", i);
	}
}

static int create(struct database *db, const struct attar_section *s, struct table *table, size_t n)
{
	struct buf name _cleanup_(buf_done) = {0}, sql _cleanup_(buf_done) = {0};
	bool known;
	int e = choose_name(db, table, &name, &sql, &known);

	if (e == 0 && !known)
		e = database_execute(db, buf_text(&sql));
	if (e == 0 && !known)
		e = describe(db, s, buf_text(&name));
	if (e < 0)
		return e;
	buf_reset(&sql);
	buf_printf(&sql, "INSERT INTO \"%s\" VALUES (?", buf_text(&name));
	while (--n)
		buf_str(&sql, ",?");
	buf_char(&sql, ')');
	return buf_failed(&sql) ? base_oom() : database_prepare(db, buf_text(&sql), &table->insert);
}

int database_table(struct database *db, const struct attar_section *s, sqlite3_stmt **ret_insert)
{
	struct buf columns _cleanup_(buf_done) = {0};
	const char *section = section_text(s, s->name);
	struct table *table;
	size_t n = list_columns(&columns, s);
	int e;

	if (buf_failed(&columns))
		return base_oom();
	vec_each (&db->tables, it)
		if (!strcmp(it->section, section) && !strcmp(it->columns, buf_text(&columns))) {
			*ret_insert = it->insert;
			return 0;
		}
	table = vec_add(&db->tables);
	if (!table)
		return -ENOMEM;
	table->section = strdup(section);
	table->columns = buf_take(&columns);
	e = table->section && table->columns ? create(db, s, table, n) : base_oom();
	*ret_insert = table->insert;
	return e;
}
