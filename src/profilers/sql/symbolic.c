/* SPDX-License-Identifier: MIT */
/*
 * symbolic('vec', vec): the name that the kernel prints for a number. The names are in the print
 * formats of events, as in __print_symbolic(REC->vec, { 0, "HI" }, ...). For such an argument, an
 * event with only this field is made, and printed. symbolic(vec) is given the name of its column.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/token.h"

enum { TEXT_BYTES = 256 };

/* An event with one field. */
struct symbolic {
	struct attar_format *format;
	uint16_t size; /* of the field */
};

static void free_symbolic(void *symbolic)
{
	struct symbolic *s = symbolic;

	if (s)
		attar_format_free(s->format);
	free(s);
}

/* ---- the event ---- */

static struct symbolic *symbolic_of(const struct attar_format *format, const char *name)
{
	const struct attar_field *field = attar_format_field(format, name);
	const char *names, *end;
	struct symbolic *s;
	unsigned n;
	char *text;

	if (!field || field->kind != ATTAR_FIELD_NUMBER || !format->print)
		return NULL;
	names = sql_print_names(format->print, name, &end, &n);
	s = names ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	s->size = field->size;
	text = sqlite3_mprintf("name: %s\nID: 1\nformat:\n\tfield:%s %s;\toffset:0;\tsize:%d;"
			       "\tsigned:%d;\n\nprint fmt: \"%s\", %.*s\n",
		format->name, field->type, name, (int)field->size, field->is_signed,
		n == 2 ? "%s%s" : "%s", (int)(end - names), names);
	if (!text || attar_format_parse("sql", text, strlen(text), &s->format) < 0) {
		attar_error_clear();
		free_symbolic(s);
		s = NULL;
	}
	sqlite3_free(text);
	return s;
}

/* What is in quotes: "vec", or "softirq_entry.vec" for the field of one event. */
static struct symbolic *symbolic_find(const struct sql_db *db, const char *name)
{
	const char *point = strchr(name, '.');
	struct symbolic *found = NULL;

	for (size_t i = 0; !found && i < db->opts.n_tables; i++) {
		const struct sql_table *table = db->opts.tables[i];
		size_t n = point ? (size_t)(point - name) : 0;

		if (table->format &&
			(!point || (strlen(table->name) == n &&
					   !sqlite3_strnicmp(table->name, name, (int)n))))
			found = symbolic_of(table->format, point ? point + 1 : name);
	}
	return found;
}

/* ---- the function ---- */

static void print_value(sqlite3_context *context, const struct symbolic *s, sqlite3_int64 value)
{
	char text[TEXT_BYTES];
	uint8_t raw[sizeof(value)];

	memcpy(raw, &value, sizeof(value));
	attar_format_print(s->format, raw, s->size, text, sizeof(text));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void fail(sqlite3_context *context, const char *name)
{
	char *text = sqlite3_mprintf("symbolic(): the kernel has no names for the values of "
				     "'%.64s': write the name of a field, as in "
				     "symbolic('vec', vec)",
		name);

	sqlite3_result_error(context, text ? text : "out of memory", -1);
	sqlite3_free(text);
}

/* SQLite keeps what belongs to a constant name while the statement runs. */
static void call_symbolic(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	struct symbolic *known = sqlite3_get_auxdata(context, 0), *s = known;

	if (!name || sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	if (!s)
		s = symbolic_find(sqlite3_user_data(context), name);
	if (!s) {
		fail(context, name);
		return;
	}
	print_value(context, s, sqlite3_value_int64(argv[1]));
	if (!known)
		sqlite3_set_auxdata(context, 0, s, free_symbolic);
}

/* What sql_symbolic_expand() has left as it is. */
static void call_unnamed(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	fail(context, (const char *)sqlite3_value_text(argv[0]));
}

int sql_symbolic_add(struct sql_db *db)
{
	if (sqlite3_create_function(db->sqlite, "symbolic", 2, SQLITE_UTF8, db, call_symbolic, NULL,
		    NULL) != SQLITE_OK ||
		sqlite3_create_function(db->sqlite, "symbolic", 1, SQLITE_UTF8, db, call_unnamed,
			NULL, NULL) != SQLITE_OK)
		return sql_db_failed(db, "symbolic");
	return 0;
}

/* ---- symbolic(vec) ---- */

struct call {
	const struct sql_tokens *all;
	const struct sql_token *table, *column; /* table NULL: "vec" alone */
};

/* Whether the statement reads the table; by the name or alias `as`, if it is not NULL. */
static bool has_table(
	const struct sql_tokens *all, const struct sql_table *table, const struct sql_token *as)
{
	for (size_t i = 0; i < all->n; i++) {
		size_t alias =
			i + 1 < all->n && sql_token_is(&all->at[i + 1], "AS") ? i + 2 : i + 1;

		if (sql_token_is_name(&all->at[i], table->name) &&
			(!as || sql_token_same_name(&all->at[i], as) ||
				(alias < all->n && sql_token_same_name(&all->at[alias], as))))
			return true;
	}
	return false;
}

/* The arguments that name the values of a column, of *ret_n bytes; NULL: none. */
static const char *names_of(
	const struct sql_table *table, const struct sql_token *column, size_t *ret_n)
{
	const char *names = NULL, *end;
	unsigned arguments;

	for (size_t i = 0; table->format && table->format->print && i < table->columns.n; i++) {
		const struct sql_column *c = &table->columns.at[i];

		if (c->field && c->field->kind == ATTAR_FIELD_NUMBER &&
			sql_token_is_name(column, c->name))
			names = sql_print_names(
				table->format->print, c->field->name, &end, &arguments);
	}
	*ret_n = names ? (size_t)(end - names) : 0;
	return names;
}

/* Finds the table whose column is named. -EINVAL: there is none, or the names differ. */
static int find_table(
	const struct sql_db *db, const struct call *call, const struct sql_table **ret_table)
{
	const char *names = NULL, *other;
	size_t n = 0, n_other;

	*ret_table = NULL;
	for (size_t i = 0; i < db->opts.n_tables; i++) {
		const struct sql_table *table = db->opts.tables[i];

		if (!has_table(call->all, table, call->table))
			continue;
		other = names_of(table, call->column, &n_other);
		if (other && names && (n != n_other || memcmp(names, other, n) != 0))
			return attar_fail(-EINVAL,
				"%s: symbolic(%.*s): '%s' and '%s' have different names for the "
				"values of this column" ATTAR_FIX "symbolic('%s.%.*s', %.*s)",
				sql_db_what(db), (int)call->column->n, call->column->text,
				(*ret_table)->name, table->name, table->name, (int)call->column->n,
				call->column->text, (int)call->column->n, call->column->text);
		if (!other || names)
			continue;
		names = other;
		n = n_other;
		*ret_table = table;
	}
	if (names)
		return 0;
	return attar_fail(-EINVAL,
		"%s: symbolic(%.*s): the kernel has no names for the values of this "
		"column" ATTAR_FIX
		"write the name of a field that has some, as in symbolic('vec', vec)",
		sql_db_what(db), (int)call->column->n, call->column->text);
}

/* The column in "symbolic(vec)" or "symbolic(t.vec)" at token i; NULL: it is another call. */
static const struct sql_token *column_of(const struct sql_tokens *all, size_t i, struct call *call)
{
	size_t column = i + 2;

	*call = (struct call){.all = all};
	if (column + 2 < all->n && sql_token_is(&all->at[column + 1], ".")) {
		call->table = &all->at[column];
		column += 2;
	}
	if (column + 1 >= all->n || !sql_token_is(&all->at[column + 1], ")") ||
		(all->at[column].kind != SQL_TOKEN_WORD && all->at[column].kind != SQL_TOKEN_NAME))
		return NULL;
	return call->column = &all->at[column];
}

/* Adds the name of the field, for the call at token i, if it has none. */
static int add_name(
	const struct sql_db *db, const struct sql_tokens *all, size_t i, sqlite3_str *text)
{
	const struct sql_table *table;
	struct call call;
	bool is_quoted;
	int r;

	if (!column_of(all, i, &call))
		return 0;
	r = find_table(db, &call, &table);
	if (r < 0)
		return r;
	is_quoted = call.column->kind == SQL_TOKEN_NAME;
	sqlite3_str_appendf(text, "'%s.%.*s', ", table->name, (int)call.column->n - 2 * is_quoted,
		call.column->text + is_quoted);
	return 1;
}

/*
 * "vec" in symbolic("vec", vec) is the name of the field, although SQL would read the column. Adds
 * it as text; 0: the call has another form.
 */
static int add_quoted(const struct sql_tokens *all, size_t i, sqlite3_str *text)
{
	const struct sql_token *name = &all->at[i + 2];

	if (i + 3 >= all->n || name->kind != SQL_TOKEN_NAME || *name->text != '"' ||
		!sql_token_is(&all->at[i + 3], ","))
		return 0;
	sqlite3_str_appendf(text, "'%.*q'", (int)name->n - 2, name->text + 1);
	return 1;
}

int sql_symbolic_expand(const struct sql_db *db, const char *query, size_t len, char **ret_text)
{
	sqlite3_str *text = sqlite3_str_new(db->sqlite);
	const char *copied = query;
	struct sql_tokens all;
	int r = 0, n = 0;

	*ret_text = NULL;
	if (!sql_tokens_read(query, len, &all))
		all.n = 0;
	for (size_t i = 0; r >= 0 && i + 2 < all.n; i++) {
		if (!sql_token_is(&all.at[i], "symbolic") || !sql_token_is(&all.at[i + 1], "("))
			continue;
		sqlite3_str_append(text, copied, (int)(all.at[i + 2].text - copied));
		copied = all.at[i + 2].text;
		r = add_quoted(&all, i, text);
		if (r > 0)
			copied += all.at[i + 2].n;
		else
			r = add_name(db, &all, i, text);
		n += r > 0;
	}
	sqlite3_str_append(text, copied, (int)(query + len - copied));
	sql_tokens_free(&all);
	*ret_text = sqlite3_str_finish(text);
	if (r < 0 || !n) {
		sqlite3_free(*ret_text);
		*ret_text = NULL;
	} else if (!*ret_text) {
		r = attar_fail(-ENOMEM, "out of memory");
	}
	return r < 0 ? r : 0;
}
