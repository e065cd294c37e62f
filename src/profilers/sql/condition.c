/* SPDX-License-Identifier: MIT */
/* Conditions of queries as text of the filter language. */

#include "sql/db.h"

enum { TEXT_MAX = 255 };

static const char *operator_of(int op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return "==";
	case SQLITE_INDEX_CONSTRAINT_NE:
		return "!=";
	case SQLITE_INDEX_CONSTRAINT_GT:
		return ">";
	case SQLITE_INDEX_CONSTRAINT_GE:
		return ">=";
	case SQLITE_INDEX_CONSTRAINT_LT:
		return "<";
	case SQLITE_INDEX_CONSTRAINT_LE:
		return "<=";
	default:
		return NULL;
	}
}

static bool is_equality(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_NE;
}

/*
 * The filter language compares a number of the field's type. SQLite's are signed: of unsigned
 * 64-bit fields, the largest ones are less than 0.
 */
static bool has_number(const struct attar_field *field, int op, sqlite3_int64 number)
{
	unsigned bits = field->size * 8u;

	if (!bits || bits > 64)
		return false;
	if (field->is_signed && bits == 64)
		return number != INT64_MIN; /* as in C: -9223372036854775808 is unsigned */
	if (field->is_signed)
		return number >= -(1LL << (bits - 1)) && number < 1LL << (bits - 1);
	if (bits == 64)
		return is_equality(op) ||
		       (number >= 0 && (op == SQLITE_INDEX_CONSTRAINT_GT ||
					       op == SQLITE_INDEX_CONSTRAINT_GE));
	return number >= 0 && (uint64_t)number < (uint64_t)1 << bits;
}

/* Text that the filter language can quote, and that the whole field can hold. */
static bool has_text(const struct attar_field *field, const char *text, size_t n)
{
	if (!n || n > TEXT_MAX || (field->place == ATTAR_FIELD_FIXED && n >= field->size))
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~' || strchr("\"'\\", text[i]))
			return false;
	return true;
}

char *sql_condition_number(const struct attar_field *field, int op, sqlite3_int64 number)
{
	if (!operator_of(op) || !has_number(field, op, number))
		return NULL;
	return sqlite3_mprintf(field->is_signed ? "%s %s %lld" : "%s %s %llu", field->name,
		operator_of(op), number);
}

char *sql_condition_text(const struct attar_field *field, int op, const char *text, size_t n)
{
	if (!is_equality(op) || !has_text(field, text, n))
		return NULL;
	return sqlite3_mprintf("%s %s \"%.*s\"", field->name, operator_of(op), (int)n, text);
}
