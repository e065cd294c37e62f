/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/base.h"
#include "sql/columns.h"

/* Sources before these are common to all events, visible, and exist with "_" in all tables. */
static const enum sql_source common_end = SQL_FIELD, visible_end = SQL_STACK, system_end = SQL_IP;

static const struct {
	const char *name, *type;
} common[] = {{"time", "TIME"}, {"cpu", "INTEGER"}, {"pid", "INTEGER"}, {"tid", "INTEGER"},
	{"comm", "TEXT"}, {"period", "INTEGER"}, {"ip", "ADDRESS"}, {"addr", "ADDRESS"},
	{"stack", "TEXT"}, {"text", "TEXT"}, {"_cgroup", "TEXT"}, {"_unit", "TEXT"},
	{"_container", "TEXT"}, {"_pod", "TEXT"}};

int sql_columns_find(const struct sql_columns *columns, const char *name, size_t n)
{
	for (size_t i = 0; i < columns->n; i++)
		if (strlen(columns->at[i].name) == n && !strncasecmp(columns->at[i].name, name, n))
			return (int)i;
	return -1;
}

static const char *type_of(const struct attar_field *field)
{
	struct attar_number_type number;

	if (field->kind == ATTAR_FIELD_STRING)
		return "TEXT";
	if (!attar_field_number_type(field, &number))
		return "BLOB";
	return number.is_array     ? "TEXT"
	       : number.is_float   ? "REAL"
	       : field->is_pointer ? "ADDRESS"
				   : "INTEGER";
}

static bool has_field(const struct attar_format *format, const char *name)
{
	for (size_t i = 0; format && i < format->n_fields; i++)
		if (!strcasecmp(format->fields[i].name, name))
			return true;
	return false;
}

/* Whether a column has the name, or one of all tables that is added later. */
static bool is_taken(const struct sql_columns *columns, const char *name, bool is_field)
{
	for (enum sql_source i = 0; is_field && i < system_end; i++)
		if (*name == '_' && !strcasecmp(name + 1, common[i].name))
			return true;
	return sql_columns_find(columns, name, strlen(name)) >= 0;
}

/* Adds a column; a name that another one has, in any case, gets a number. */
static int columns_add(
	struct sql_columns *columns, const char *name, const struct sql_column *column)
{
	struct sql_column *added = &columns->at[columns->n];
	int n = asprintf(&added->name, "%s", name);

	for (unsigned number = 2; n >= 0 && is_taken(columns, added->name, column->field);
		number++) {
		free(added->name);
		n = asprintf(&added->name, "%s_%u", name, number);
	}
	if (n < 0)
		return attar_fail(-ENOMEM, "out of memory");
	added->type = column->type;
	added->source = column->source;
	added->field = column->field;
	added->is_hidden = column->is_hidden;
	columns->n++;
	return 0;
}

/* The name of a common column: with "_" if a field has it. */
static void common_name(
	const struct attar_format *format, enum sql_source source, char ret_name[16])
{
	snprintf(ret_name, 16, "%s%s", has_field(format, common[source].name) ? "_" : "",
		common[source].name);
}

static int add_common(
	struct sql_columns *columns, const struct attar_format *format, enum sql_source source)
{
	char name[16];

	common_name(format, source, name);
	return columns_add(columns, name,
		&(struct sql_column){.type = common[source].type,
			.source = source,
			.is_hidden = source >= visible_end});
}

static int add_fields(
	struct sql_columns *columns, const struct attar_format *format, bool is_common)
{
	int r = 0;

	for (size_t i = 0; r == 0 && format && i < format->n_fields; i++) {
		const struct attar_field *field = &format->fields[i];

		if (field->is_common == is_common)
			r = columns_add(columns, field->name,
				&(struct sql_column){.type = type_of(field),
					.source = SQL_FIELD,
					.field = field,
					.is_hidden = is_common});
	}
	return r;
}

/* "_pid" beside "pid" */
static int add_system(struct sql_columns *columns, enum sql_source source)
{
	const struct sql_column *visible = &columns->at[source];
	char name[16];
	int r;

	if (*visible->name == '_')
		return 0;
	snprintf(name, sizeof(name), "_%s", common[source].name);
	r = columns_add(columns, name,
		&(struct sql_column){
			.type = visible->type, .source = visible->source, .is_hidden = true});
	if (r == 0)
		columns->at[columns->n - 1].same = visible->name;
	return r;
}

int sql_columns_init(struct sql_columns *columns, const struct attar_format *format)
{
	size_t max = common_end + system_end + (format ? format->n_fields : 0);
	int r = 0;

	*columns = (struct sql_columns){.at = calloc(max, sizeof(*columns->at))};
	if (!columns->at)
		return attar_fail(-ENOMEM, "out of memory");
	for (enum sql_source i = 0; r == 0 && i < visible_end; i++)
		r = add_common(columns, format, i);
	if (r == 0)
		r = add_fields(columns, format, false);
	for (enum sql_source i = visible_end; r == 0 && i < common_end; i++)
		r = add_common(columns, format, i);
	if (r == 0)
		r = add_fields(columns, format, true);
	for (enum sql_source i = 0; r == 0 && i < system_end; i++)
		r = add_system(columns, i);
	if (r < 0)
		sql_columns_done(columns);
	return r;
}

void sql_columns_done(struct sql_columns *columns)
{
	for (size_t i = 0; i < columns->n; i++)
		free(columns->at[i].name);
	free(columns->at);
	*columns = (struct sql_columns){0};
}
