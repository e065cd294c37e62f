/* SPDX-License-Identifier: MIT */
#include "attar/private/event.h"
#include "attar/private/expr.h"
#include "lib/keys.h"
#include "lib/task_by.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 512 };

int keys_compile(struct attar_run *run, uint32_t source, const char *name, const char *otherwise,
	unsigned flags, struct attar_expr **ret_expr)
{
	static const struct attar_expr_variable key = {.name = "key", .is_signed = true};
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	const struct attar_event_option *option = spec ? attar_spec_get_option(spec, name) : NULL;
	bool sees_key = !strcmp(name, "printkey");
	const struct attar_expr_opts opts = {.size = sizeof(opts),
		.flags = flags,
		.what = name,
		.n_variables = sees_key,
		.variables = &key};
	size_t heading;
	const char *text = option ? event_option_expr(option, &heading) : otherwise;

	return text ? attar_run_expr(run, source, text, &opts, ret_expr) : 0;
}

const char *keys_column(const struct attar_event_option *option, char name[KEYS_NAME_BYTES])
{
	size_t n = 0;
	const char *text = event_option_expr(option, &n);

	snprintf(name, KEYS_NAME_BYTES, "%.*s", n ? (int)n : KEYS_NAME_BYTES - 1, option->value);
	return text;
}

bool keys_are_alike(const struct attar_expr *a, const struct attar_expr *b)
{
	size_t n = a ? attar_expr_columns(a) : 0;
	bool same = !a == !b && (!b || attar_expr_columns(b) == n);

	for (size_t i = 0; same && i < n; i++)
		same = attar_expr_get_column(a, i)->kind == attar_expr_get_column(b, i)->kind;
	return same;
}

bool keys_read_program(const struct attar_expr *expr)
{
	char part[TEXT_BYTES];
	bool reads = false;

	for (size_t i = 0; !reads && expr_part(expr, i, part, sizeof(part)); i++)
		reads = strstr(part, " ustring(") || strstr(part, " fd_name(");
	return reads;
}

static enum attar_unit unit_of(const struct attar_expr_column *column)
{
	if (column->kind != ATTAR_EXPR_NUMBER)
		return ATTAR_UNIT_TEXT;
	return column->is_address ? ATTAR_UNIT_HEX : ATTAR_UNIT_ID;
}

void keys_add_columns(struct attar_section *table, const struct attar_expr *key)
{
	for (size_t i = 0; i < attar_expr_columns(key); i++)
		attar_section_column(table, attar_expr_get_column(key, i)->name,
			unit_of(attar_expr_get_column(key, i)));
}

void keys_add_text(struct attar_section *table, const char *bytes, size_t n)
{
	char text[TEXT_BYTES];

	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, bytes, n);
	text[n] = '\0';
	attar_cell_text(table, text);
}

bool keys_is_number(const struct attar_expr *key)
{
	return key && attar_expr_columns(key) == 1 &&
	       attar_expr_get_column(key, 0)->kind == ATTAR_EXPR_NUMBER;
}

int keys_check_printed(const struct attar_event_spec *spec, const struct attar_expr *key)
{
	if (keys_is_number(key))
		return 0;
	return attar_fail(-EINVAL,
		"'%s': printkey= requires a key that is a number" ATTAR_FIX
		"set key= to one number",
		spec->name);
}

bool keys_print_number(const struct attar_event_spec *spec)
{
	const struct attar_event_option *option = attar_spec_get_option(spec, "printkey");
	char name[KEYS_NAME_BYTES];

	return option && !strcmp(keys_column(option, name), "key");
}

void keys_add_printed_column(struct attar_section *table, const struct attar_event_spec *spec)
{
	const struct attar_event_option *option = attar_spec_get_option(spec, "printkey");
	char name[KEYS_NAME_BYTES];
	bool is_named = keys_column(option, name) != option->value;

	attar_section_column(table, is_named ? name : "key",
		keys_print_number(spec) ? ATTAR_UNIT_ID : ATTAR_UNIT_TEXT);
}

void keys_print(
	struct attar_run *run, struct attar_expr *print, uint64_t number, char *text, size_t size)
{
	struct attar_expr_value key = {.number = number}, value;
	struct attar_expr_record record = {.variables = &key};
	const char *printed;
	size_t n;

	attar_expr_eval(print, &record, &value);
	printed = attar_run_printed(run, &n);
	if (n)
		snprintf(text, size, "%.*s", (int)n, printed);
	else if (value.bytes)
		snprintf(text, size, "%.*s", (int)value.len, value.bytes);
	else
		snprintf(text, size, "%lld", (long long)value.number);
}

void keys_add_printed(struct attar_run *run, struct attar_section *table,
	const struct attar_event_spec *spec, struct attar_expr *print, uint64_t number)
{
	char text[TEXT_BYTES];

	if (keys_print_number(spec)) {
		attar_cell_i64(table, (int64_t)number);
		return;
	}
	keys_print(run, print, number, text, sizeof(text));
	attar_cell_text(table, text);
}

void keys_add_cells(
	struct attar_section *table, const struct attar_expr *key, const void *bytes, size_t size)
{
	struct attar_expr_value value;

	for (size_t i = 0; i < attar_expr_columns(key); i++) {
		attar_expr_key_value(key, bytes, size, i, &value);
		if (attar_expr_get_column(key, i)->kind == ATTAR_EXPR_TEXT)
			keys_add_text(table, value.bytes ? value.bytes : "", value.len);
		else if (attar_expr_get_column(key, i)->is_signed)
			attar_cell_i64(table, (int64_t)value.number);
		else
			attar_cell_u64(table, value.number);
	}
}

void keys_text(const struct attar_expr *key, const void *bytes, size_t n, char *text, size_t size)
{
	struct attar_expr_value value;
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < attar_expr_columns(key) && len < size; i++) {
		const struct attar_expr_column *column = attar_expr_get_column(key, i);

		attar_expr_key_value(key, bytes, n, i, &value);
		len += (size_t)snprintf(
			text + len, size - len, "%s%s ", i ? ", " : "", column->name);
		if (len >= size)
			return;
		if (column->kind == ATTAR_EXPR_TEXT)
			len += (size_t)snprintf(text + len, size - len, "%.*s", (int)value.len,
				value.bytes ? value.bytes : "");
		else
			len += (size_t)snprintf(
				text + len, size - len, "%lld", (long long)value.number);
	}
}

struct keys_thread keys_make_thread(
	const struct attar_thread *thread, pid_t tid, const char *comm, size_t n)
{
	struct keys_thread key = {.tid = thread ? (int64_t)task_by_life(thread) : tid};

	if (comm)
		memcpy(key.comm, comm, n < KEYS_COMM_BYTES ? n : KEYS_COMM_BYTES - 1);
	return key;
}

void keys_add_thread_columns(struct attar_section *table)
{
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
}

void keys_add_thread(struct attar_section *table, const struct attar_keyrow *row)
{
	const struct keys_thread *key = row->key;

	if (key)
		attar_cell_i64(table, task_by_id(key->tid)); /* -1: exiting */
	else
		attar_cell_none(table);
	attar_cell_text(table, key ? key->comm : "[others]");
}
