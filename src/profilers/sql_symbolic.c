/* SPDX-License-Identifier: MIT */
/*
 * symbolic('vec', vec): the name that the kernel prints for a number. The names are in the print
 * formats of events, as in __print_symbolic(REC->vec, { 0, "HI" }, ...). For one such macro, an
 * event with only this field is made, and printed.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql_db.h"

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

/* ---- the macro ---- */

/* The parenthesis that closes the one before `at`; first: or the first comma. NULL: none. */
static const char *find_end(const char *at, bool first)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			if (!*at)
				return NULL;
		} else if (depth == 0 && (*at == ')' || (first && *at == ','))) {
			return at;
		}
		depth += (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
	}
	return NULL;
}

/* Whether the text up to the end has "REC->name". */
static bool has_field(const char *text, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (; (text = strstr(text, "REC->")) && text + 5 + n <= end; text += 5)
		if (!strncmp(text + 5, name, n) && !isalnum((unsigned char)text[5 + n]) &&
			text[5 + n] != '_')
			return true;
	return false;
}

/* The macro that names the values of a field, which begins at the result; NULL: there is none. */
static const char *find_macro(const char *print, const char *name, const char **ret_end)
{
	static const char *const macros[] = {"__print_symbolic(", "__print_flags("};

	for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++)
		for (const char *at = print; (at = strstr(at, macros[i])); at++) {
			const char *inside = at + strlen(macros[i]);
			const char *comma = find_end(inside, true), *end = find_end(inside, false);

			if (!comma || !end || !has_field(inside, comma, name))
				continue;
			*ret_end = end + 1;
			return at;
		}
	return NULL;
}

/* ---- the event ---- */

static struct symbolic *symbolic_of(const struct attar_format *format, const char *name)
{
	const struct attar_field *field = attar_format_field(format, name);
	const char *macro, *end;
	struct symbolic *s;
	char *text;

	if (!field || field->kind != ATTAR_FIELD_NUMBER || !format->print)
		return NULL;
	macro = find_macro(format->print, name, &end);
	s = macro ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	s->size = field->size;
	text = sqlite3_mprintf("name: %s\nID: 1\nformat:\n\tfield:%s %s;\toffset:0;\tsize:%d;"
			       "\tsigned:%d;\n\nprint fmt: \"%%s\", %.*s\n",
		format->name, field->type, name, (int)field->size, field->is_signed,
		(int)(end - macro), macro);
	if (!text || attar_format_parse("sql", text, strlen(text), &s->format) < 0) {
		attar_error_clear();
		free_symbolic(s);
		s = NULL;
	}
	sqlite3_free(text);
	return s;
}

/* What is in quotes: "vec", or "softirq_entry.vec" for the field of one event. */
static struct symbolic *find(const struct sql_db *db, const char *name)
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

/* SQLite keeps what belongs to a constant name while the statement runs. */
static void call_symbolic(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	struct symbolic *known = sqlite3_get_auxdata(context, 0), *s = known;

	if (!name || sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	if (!s)
		s = find(sqlite3_user_data(context), name);
	if (!s) {
		char *text = sqlite3_mprintf("symbolic(): the kernel has no names for the "
					     "values of '%.64s': write the name of a field, "
					     "as in symbolic('vec', vec)",
			name);

		sqlite3_result_error(context, text ? text : "out of memory", -1);
		sqlite3_free(text);
		return;
	}
	print_value(context, s, sqlite3_value_int64(argv[1]));
	if (!known)
		sqlite3_set_auxdata(context, 0, s, free_symbolic);
}

int sql_symbolic_add(struct sql_db *db)
{
	if (sqlite3_create_function(db->sqlite, "symbolic", 2, SQLITE_UTF8, db, call_symbolic, NULL,
		    NULL) != SQLITE_OK)
		return sql_db_failed(db, "symbolic");
	return 0;
}
