/* SPDX-License-Identifier: MIT */
/* What the print format of an event says about its fields: a C format string, then arguments. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

/* ---- macros ---- */

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

/* The number of "REC->" in the text up to the end: of this field, or of others. */
static unsigned count_fields(const char *text, const char *end, const char *name, bool others)
{
	size_t n = strlen(name);
	unsigned found = 0;

	for (; (text = strstr(text, "REC->")) && text < end; text += 5) {
		bool is_this = text + 5 + n <= end && !strncmp(text + 5, name, n) &&
			       !isalnum((unsigned char)text[5 + n]) && text[5 + n] != '_';

		found += is_this != others;
	}
	return found;
}

/* Whether an argument has names for the values of this field, and is computed from no other. */
static bool is_of_field(const char *text, const char *end, const char *name)
{
	size_t n = (size_t)(end - text);

	return count_fields(text, end, name, false) && !count_fields(text, end, name, true) &&
	       !memmem(text, n, "__get_", 6) && memchr(text, '"', n);
}

static const char *macro_of(const char *print, const char *name, const char **ret_end)
{
	static const char *const macros[] = {"__print_symbolic(", "__print_flags("};

	for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++)
		for (const char *at = print; (at = strstr(at, macros[i])); at++) {
			const char *inside = at + strlen(macros[i]);
			const char *comma = find_end(inside, true), *end = find_end(inside, false);

			if (!comma || !end || !count_fields(inside, comma, name, false))
				continue;
			*ret_end = end + 1;
			return at;
		}
	return NULL;
}

/* ---- conversions ---- */

/* The function for a conversion of pointers, "%pISpc" at "ISpc"; NULL: there is none. */
static const char *function_of(const char *letters)
{
	static const struct {
		const char *letters, *function;
	} all[] = {{"S", "ksymbol"}, {"s", "ksymbol"}, {"F", "ksymbol"}, {"f", "ksymbol"},
		{"B", "ksymbol"}, {"IS", "ipsa_str"}, {"iS", "ipsa_str"}, {"I4", "ipv4_str"},
		{"i4", "ipv4_str"}, {"I6", "ipv6_str"}, {"i6", "ipv6_str"}, {"UL", "guid_str"},
		{"Ul", "guid_str"}, {"U", "uuid_str"}, {"M", "mac_str"}, {"m", "mac_str"}};

	if (!strncmp(letters, "I4h", 3) || !strncmp(letters, "i4h", 3))
		return "ipv4_hstr";
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strncmp(letters, all[i].letters, strlen(all[i].letters)))
			return all[i].function;
	return NULL;
}

/* Moves *at behind the next conversion of the format string; false at its end. */
static bool next_conversion(const char **at, const char **ret_letters, unsigned *ret_arguments)
{
	static const char flags[] = "-+ #0123456789.*";

	for (; **at && **at != '"'; (*at)++) {
		const char *start = *at + 1, *end;

		if (**at == '\\' && (*at)[1])
			(*at)++;
		if (**at != '%')
			continue;
		end = start + strspn(start, flags);
		*at = end + (*end && *end != '"');
		if (*end == '%')
			continue;
		*ret_arguments = 1;
		for (; start < end; start++)
			*ret_arguments += *start == '*';
		*ret_letters = *end == 'p' ? end + 1 : "";
		return true;
	}
	return false;
}

/* The end of the argument that begins after the comma. */
static const char *end_of(const char *comma)
{
	const char *end = find_end(comma + 1, true);

	return end ? end : comma + strlen(comma);
}

/*
 * A macro is often a part of what is shown: "flags ? __print_flags(flags, ...) : "none"". A second
 * argument can follow without a space: "R" and "+".
 */
const char *sql_print_names(
	const char *print, const char *name, const char **ret_end, unsigned *ret_n)
{
	const char *macro = macro_of(print, name, ret_end), *at = print + 1, *letters, *end;
	const char *comma = macro && *print == '"' ? find_end(print, true) : NULL;
	unsigned n;

	*ret_n = 1;
	while (comma && *comma == ',' && next_conversion(&at, &letters, &n)) {
		for (; n > 1 && *comma == ','; n--)
			comma = end_of(comma);
		if (*comma != ',')
			break;
		end = end_of(comma);
		if (macro < comma || macro >= end || !is_of_field(comma, end, name)) {
			comma = end;
			continue;
		}
		macro = comma + 1;
		*ret_end = end;
		if (*end == ',' && !strncmp(at, "%s", 2) && is_of_field(end, end_of(end), name)) {
			*ret_end = end_of(end);
			*ret_n = 2;
		}
		break;
	}
	return macro;
}

/* The field that the argument up to the end shows, of *ret_n bytes; NULL: none. */
static const char *field_of(const char *argument, const char *end, size_t *ret_n)
{
	const char *at = memmem(argument, (size_t)(end - argument), "REC->", 5), *stop;

	if (!at)
		return NULL;
	for (stop = at += 5; stop < end && (isalnum((unsigned char)*stop) || *stop == '_');)
		stop++;
	*ret_n = (size_t)(stop - at);
	return at;
}

/* Adds "ksymbol(function)" for conversions of pointers. */
static void add_conversions(const struct sql_table *table, sqlite3_str *text)
{
	const char *at = table->format->print, *letters, *function, *field, *end;
	const char *arguments = *at == '"' ? find_end(at, true) : NULL;
	unsigned n;
	size_t len = 0;

	for (at++; arguments && *arguments == ',' && next_conversion(&at, &letters, &n);) {
		for (end = field = NULL; n && arguments && *arguments == ','; n--) {
			end = end_of(arguments);
			field = field_of(arguments, end, &len);
			arguments = end;
		}
		function = function_of(letters);
		if (function && field && sql_columns_find(&table->columns, field, len) >= 0)
			sqlite3_str_appendf(text, "%s%s(%.*s)",
				sqlite3_str_length(text) ? ", " : "", function, (int)len, field);
	}
}

char *sql_print_functions(const struct sql_table *table)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	const char *end;
	unsigned n;

	for (size_t i = 0; table->format && table->format->print && i < table->columns.n; i++) {
		const struct sql_column *column = &table->columns.at[i];

		if (column->field && !column->is_hidden &&
			column->field->kind == ATTAR_FIELD_NUMBER &&
			sql_print_names(table->format->print, column->field->name, &end, &n))
			sqlite3_str_appendf(text, "%ssymbolic('%s.%s', %s)",
				sqlite3_str_length(text) ? ", " : "", table->name,
				column->field->name, column->name);
	}
	if (table->format && table->format->print)
		add_conversions(table, text);
	return sqlite3_str_finish(text);
}
