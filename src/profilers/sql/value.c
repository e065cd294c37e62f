/* SPDX-License-Identifier: MIT */
/* Values of events as SQLite compares them, and their hashes. */
#include <string.h>

#include "sql/db.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

uint64_t sql_value_hash(uint64_t hash, const struct sql_value *v)
{
	if (v->is_null)
		return mix(hash, 0x6e756c6c);
	if (!v->text)
		return mix(hash, (uint64_t)v->number);
	for (size_t i = 0; i < v->n; i += 8) {
		uint64_t word = 0;

		memcpy(&word, v->text + i, v->n - i < 8 ? v->n - i : 8);
		hash = mix(hash, word);
	}
	return mix(hash, v->n);
}

int sql_value_compare(const struct sql_value *a, const struct sql_value *b)
{
	int order;

	if (a->is_null || b->is_null)
		return b->is_null - a->is_null;
	if (!a->text || !b->text)
		return (a->number > b->number) - (a->number < b->number);
	order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
	return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* ---- of columns ---- */

bool sql_column_has_value(const struct sql_column *column)
{
	if (column->field)
		return column->field->kind == ATTAR_FIELD_NUMBER ||
		       column->field->kind == ATTAR_FIELD_STRING;
	return column->source != SQL_TIME && column->source < SQL_STACK;
}

bool sql_column_can_look_up(const struct sql_column *column)
{
	return column->source == SQL_TIME || sql_column_has_value(column);
}

bool sql_column_is_text(const struct sql_column *column)
{
	return column->field ? column->field->kind == ATTAR_FIELD_STRING
			     : column->source == SQL_COMM;
}

static struct sql_value known(int32_t number)
{
	return (struct sql_value){.is_null = number < 0, .number = number};
}

static struct sql_value field_value(const struct attar_field *field, const struct sql_view *view)
{
	struct sql_value v = {0};

	if (field->kind == ATTAR_FIELD_NUMBER) {
		v.number = attar_field_i64(field, view->raw, view->row->raw_size);
		v.is_null = !sql_field_is_within(field, view->row->raw_size);
	} else {
		v.text = attar_field_string(field, view->raw, view->row->raw_size, &v.n);
		v.is_null = !v.text;
	}
	return v;
}

struct sql_value sql_column_value(const struct sql_column *column, const struct sql_view *view)
{
	switch (column->source) {
	case SQL_TIME:
		return (struct sql_value){
			.number = (int64_t)attar_run_realtime(column->run, view->row->time)};
	case SQL_CPU:
		return known(view->row->cpu);
	case SQL_PID:
		return known(view->row->pid);
	case SQL_TID:
		return known(view->row->tid);
	case SQL_COMM:
		return (struct sql_value){.text = view->comm, .n = view->row->comm_size};
	case SQL_PERIOD:
		return (struct sql_value){.number = (int64_t)view->row->period};
	case SQL_IP:
		return (struct sql_value){.number = (int64_t)view->row->ip};
	case SQL_ADDR:
		return (struct sql_value){.number = (int64_t)view->row->addr};
	default:
		return field_value(column->field, view);
	}
}

bool sql_table_is_needed(const struct sql_table *table, const struct sql_row *row)
{
	struct attar_expr_record record = {.raw = sql_row_view(row).raw, .raw_size = row->raw_size};

	return !table->only || attar_expr_is_true(table->only, &record);
}
