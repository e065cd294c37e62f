/* SPDX-License-Identifier: MIT */
/*
 * Tables: the text that describes one, which accompanies each batch, and the statements that make
 * the server's table have its columns. A column that exists there with another type, because
 * another run had other values of this name, gets a number: "key_2".
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include <ctype.h>

enum { NAME_BYTES_MAX = 128, COLUMN_NUMBER_MAX = 100 };

static const char *const types[] = {"Date", "UInt16", "UInt32", "UInt64", "Int64", "Float64",
	"String", "Nullable(Int64)", "Nullable(UInt64)", "Nullable(Float64)", "Array(String)"};

/* ---- descriptions ---- */

void tables_add_name(struct buf *name, const char *text)
{
	for (size_t i = 0; text[i] && i < NAME_BYTES_MAX; i++)
		buf_char(name, isalnum((unsigned char)text[i]) ? text[i] : '_');
}

/* Whether a line of the table begins with this name, or create() adds a column with it. */
static bool has_column(const struct buf *table, const char *name)
{
	const char *at = strchr(buf_text(table), '\n');
	size_t n = strlen(name);

	if (!strcmp(name, "moment"))
		return true;
	for (; at; at = strchr(at + 1, '\n'))
		if (!strncmp(at + 1, name, n) && at[1 + n] == ' ')
			return true;
	return false;
}

void tables_add(struct buf *table, const char *name, enum attar_unit unit, const char *type)
{
	struct buf full _cleanup_(buf_done) = {0};
	size_t length;

	if (isdigit((unsigned char)*name) || !*name)
		buf_char(&full, '_');
	tables_add_name(&full, name);
	if (unit == ATTAR_UNIT_PERCENT || unit == ATTAR_UNIT_NS || unit == ATTAR_UNIT_BYTES ||
		unit == ATTAR_UNIT_HZ)
		buf_printf(&full, "_%s", unit_name(unit));
	length = full.len;
	for (unsigned i = 2; has_column(table, buf_text(&full)) && !buf_failed(&full); i++) {
		full.len = length;
		buf_printf(&full, "_%u", i);
	}
	buf_printf(table, "\n%s %s", buf_text(&full), type);
	table->failed |= full.failed;
}

void tables_begin(struct buf *table, const char *name)
{
	tables_add_name(table, name);
	buf_str(table, "\ndate Date\ntime UInt64\nhost String\nservice String\nreport UInt64"
		       "\nbatch UInt64");
}

const char *tables_type(enum attar_unit unit)
{
	switch (unit) {
	case ATTAR_UNIT_TEXT:
		return "String";
	case ATTAR_UNIT_TIME:
	case ATTAR_UNIT_CLOCK:
	case ATTAR_UNIT_HEX:
		return "Nullable(UInt64)";
	case ATTAR_UNIT_ID:
		return "Nullable(Int64)";
	default:
		return "Nullable(Float64)";
	}
}

static bool is_type(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i]) == n && !memcmp(types[i], text, n))
			return true;
	return false;
}

static size_t name_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

bool tables_is_valid(const char *table)
{
	const char *at = table + name_length(table);

	if (strncmp(table, "attar_", 6) != 0 || *at != '\n')
		return false;
	while (*at) {
		size_t n = name_length(at + 1), type = strcspn(at + 1, "\n");

		if (!n || at[1 + n] != ' ' || !is_type(at + 2 + n, type - n - 1))
			return false;
		at += 1 + type;
	}
	return true;
}

/* ---- the server ---- */

void tables_forget(struct tables *t)
{
	vec_each (&t->known, it) {
		free(it->table);
		free(it->insert);
	}
	vec_done(&t->known);
	t->is_checked = false;
}

int tables_check(struct tables *t, struct transport *transport)
{
	struct buf answer _cleanup_(buf_done) = {0}, insert _cleanup_(buf_done) = {0};
	char *end;
	unsigned long version;
	int e;

	if (t->is_checked)
		return 0;
	e = transport_query(transport,
		"CREATE TABLE IF NOT EXISTS attar_schema (date Date, version UInt32)"
		" ENGINE = MergeTree PARTITION BY tuple() ORDER BY version",
		NULL);
	if (e == 0)
		e = transport_query(transport, "SELECT max(version) FROM attar_schema", &answer);
	if (e < 0)
		return e;
	version = strtoul(buf_text(&answer), &end, 10);
	if (end == buf_text(&answer) || strcmp(end, "\n") != 0)
		return attar_fail(TRANSPORT_UNKNOWN,
			"the response of the server is not in the format of ClickHouse");
	if (version > TABLES_VERSION)
		return attar_fail(TRANSPORT_REFUSED,
			"the tables have version %lu, but this attar writes version %d" ATTAR_FIX
			"update attar, or use another database",
			version, TABLES_VERSION);
	buf_printf(&insert, "INSERT INTO attar_schema VALUES (today(), %d)", TABLES_VERSION);
	if (version < TABLES_VERSION)
		e = transport_query(transport, buf_text(&insert), NULL);
	t->is_checked = e == 0;
	return e;
}

/*
 * Stacks are known by their hash: the server keeps one of several rows of a month. All others are
 * in partitions of a day, which can be dropped.
 */
static int create(struct transport *transport, const char *table)
{
	int name = (int)name_length(table);
	struct buf sql _cleanup_(buf_done) = {0};
	const char *at = table + name, *comma = "";

	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %.*s (", name, table);
	for (; *at; at += 1 + strcspn(at + 1, "\n"), comma = ", ")
		buf_printf(&sql, "%s%.*s", comma, (int)strcspn(at + 1, "\n"), at + 1);
	if (!strncmp(table, "attar_stacks\n", 13))
		buf_str(&sql, ") ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(date)"
			      " ORDER BY (service, hash)");
	else
		buf_str(&sql, ", moment DateTime ALIAS toDateTime(intDiv(time, 1000000000)))"
			      " ENGINE = MergeTree PARTITION BY date"
			      " ORDER BY (service, host, time)");
	return buf_failed(&sql) ? base_oom() : transport_query(transport, buf_text(&sql), NULL);
}

/* The type of a column in lines "NAME\tTYPE"; NULL: there is none. */
static const char *server_type(const struct buf *columns, const char *name, size_t n, size_t *ret_n)
{
	for (const char *at = buf_text(columns); *at; at += strcspn(at, "\n") + 1) {
		if (!strncmp(at, name, n) && at[n] == '\t') {
			*ret_n = strcspn(at + n + 1, "\n");
			return at + n + 1;
		}
		if (!strchr(at, '\n'))
			break;
	}
	return NULL;
}

/* The server's name for a column; *ret_new: the server does not have it yet. */
static int choose_name(
	struct buf *name, const struct buf *columns, const char *column, bool *ret_new)
{
	size_t base = name_length(column), n = strcspn(column, "\n"), length;
	const char *type;

	buf_add(name, column, base);
	for (unsigned i = 2; i < COLUMN_NUMBER_MAX && !buf_failed(name); i++) {
		type = server_type(columns, buf_text(name), name->len, &length);
		*ret_new = !type;
		if (!type || (length == n - base - 1 && !memcmp(type, column + base + 1, length)))
			return 0;
		name->len = base;
		buf_printf(name, "_%u", i);
	}
	return buf_failed(name) ? base_oom()
				: attar_fail(TRANSPORT_REFUSED, "column '%.*s' has too many types",
					  (int)base, column);
}

static int adapt(struct transport *transport, const char *table, const struct buf *columns,
	struct buf *insert)
{
	int name = (int)name_length(table), e = 0;
	const char *at = table + name, *comma = "";

	buf_printf(insert, "INSERT INTO %.*s (", name, table);
	for (; *at && e == 0; at += 1 + strcspn(at + 1, "\n"), comma = ", ") {
		struct buf column _cleanup_(buf_done) = {0}, sql _cleanup_(buf_done) = {0};
		bool is_new;

		e = choose_name(&column, columns, at + 1, &is_new);
		buf_printf(insert, "%s%s", comma, buf_text(&column));
		if (e < 0 || !is_new)
			continue;
		buf_printf(&sql, "ALTER TABLE %.*s ADD COLUMN %s%.*s", name, table,
			buf_text(&column), (int)(strcspn(at + 1, "\n") - name_length(at + 1)),
			at + 1 + name_length(at + 1));
		e = buf_failed(&sql) ? base_oom()
				     : transport_query(transport, buf_text(&sql), NULL);
	}
	buf_str(insert, ") FORMAT RowBinary\n");
	return e == 0 && buf_failed(insert) ? base_oom() : e;
}

static int make_insert(struct transport *transport, const char *table, struct buf *insert)
{
	struct buf sql _cleanup_(buf_done) = {0}, columns _cleanup_(buf_done) = {0};
	int e = create(transport, table);

	buf_printf(&sql,
		"SELECT name, type FROM system.columns"
		" WHERE database = currentDatabase() AND table = '%.*s'",
		(int)name_length(table), table);
	if (e == 0)
		e = buf_failed(&sql) ? base_oom()
				     : transport_query(transport, buf_text(&sql), &columns);
	return e == 0 ? adapt(transport, table, &columns, insert) : e;
}

int tables_prepare(
	struct tables *t, struct transport *transport, const char *table, const char **ret_insert)
{
	struct buf insert _cleanup_(buf_done) = {0};
	struct table_insert *added;
	int e = tables_check(t, transport);

	if (e < 0)
		return e;
	vec_each (&t->known, it)
		if (!strcmp(it->table, table)) {
			*ret_insert = it->insert;
			return 0;
		}
	e = make_insert(transport, table, &insert);
	if (e < 0)
		return e;
	added = vec_add(&t->known);
	if (!added)
		return -ENOMEM;
	added->table = strdup(table);
	added->insert = buf_take(&insert);
	if (!added->table || !added->insert) {
		free(added->table);
		free(added->insert);
		t->known.n--;
		return base_oom();
	}
	*ret_insert = added->insert;
	return 0;
}
