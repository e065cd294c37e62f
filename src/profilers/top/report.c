/* SPDX-License-Identifier: MIT */
/* The table and the remarks of a report. */
#include <stdio.h>
#include <string.h>

#include "attar/run.h"
#include "top/top.h"

/* A source of a pattern of programs' events has no events itself. */
bool top_is_replaced(const struct top *top, size_t i)
{
	const char *pattern = top->columns[i].user_event;

	if (!pattern || !strpbrk(top->columns[i].name, "*?["))
		return false;
	while (++i < top->n_columns)
		if (top->columns[i].user_event && !strcmp(top->columns[i].user_event, pattern))
			return true;
	return false;
}

/* The events of a pattern that the kernel refused have no column. */
static bool is_shown(const struct top *top, size_t i)
{
	return !top->columns[i].is_refused && top->columns[i].at == i && !top_is_replaced(top, i);
}

static bool is_name_of_key(const struct top *top, const char *name)
{
	const struct attar_expr *key =
		top->only_comm || top->by != BY_THREAD ? NULL : top->of[0].key;

	for (size_t i = 0; key && i < attar_expr_columns(key); i++)
		if (!strcmp(attar_expr_get_column(key, i)->name, name))
			return true;
	return false;
}

/* The event of a column, if an earlier column has the same name; otherwise NULL. */
static const struct top_event *event_that_repeats(const struct top *top, size_t column)
{
	const struct top_event *e = top->of;
	bool repeats = false;

	for (size_t i = 0; i < column; i++)
		repeats |= is_shown(top, i) &&
			   !strcmp(top->columns[i].name, top->columns[column].name);
	while (e->first + e->n <= column && e + 1 < top->of + top->n_of)
		e++;
	return repeats && e->spec ? e : NULL;
}

/* Columns of one report have different names. */
static void add_value_heading(const struct top *top, struct attar_section *table, size_t column)
{
	const struct top_event *event = event_that_repeats(top, column);
	const char *own = top->columns[column].name;
	char name[KEYS_NAME_BYTES + ATTAR_EXPR_TEXT_MAX];

	if (is_name_of_key(top, own))
		snprintf(name, sizeof(name), "sum(%s)", own);
	else if (event)
		snprintf(name, sizeof(name), "%s (%s)", own, event->spec->name);
	else
		snprintf(name, sizeof(name), "%s", own);
	attar_section_column(table, name, ATTAR_UNIT_COUNT);
}

static void add_headings(const struct top *top, struct attar_section *table)
{
	const struct top_event *first = &top->of[0];

	if (top->only_comm)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	else if (top->by != BY_THREAD)
		task_by_columns(top->by, table, "");
	else if (!first->key)
		attar_section_column(table, "tid", ATTAR_UNIT_ID);
	else if (first->print)
		keys_add_printed_column(table, first->spec);
	else
		keys_add_columns(table, first->key);
	for (size_t i = 0; i < top->n_columns; i++)
		if (is_shown(top, i))
			add_value_heading(top, table, i);
	if (top->has_names)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
}

/* What --by shows. */
static void add_by(const struct attar_run *run, const struct top *top, struct attar_section *table,
	const struct attar_keyrow *row)
{
	const struct top_label *label = row->value;
	struct task_key_of key = {.id = (int64_t)row->number};

	memcpy(key.name, label->comm,
		label->len < sizeof(key.name) ? label->len : sizeof(key.name) - 1);
	task_by_cells(run, top->by, table, &key);
}

static void add_key(struct attar_run *run, const struct top *top, struct attar_section *table,
	const struct attar_keyrow *row)
{
	const struct top_event *e = &top->of[((const struct top_label *)row->value)->source];

	if (top->only_comm) {
		keys_add_text(table, row->key, row->key_size);
	} else if (top->by != BY_THREAD) {
		add_by(run, top, table, row);
	} else if (!e->key) {
		attar_cell_i64(table, (pid_t)(uint32_t)row->number); /* -1: exiting */
	} else if (e->print) {
		keys_add_printed(run, table, top->of[0].spec, e->print, row->number);
	} else {
		keys_add_cells(table, e->key, row->key, row->key_size);
	}
}

/* The key of the row for all keys that the table has no room for. */
static void add_key_of_others(const struct top *top, struct attar_section *table)
{
	const struct attar_expr *key = top->of[0].key;
	bool is_printed = top->of[0].print && !keys_print_number(top->of[0].spec);
	bool is_text = top->only_comm || is_printed || (key && !keys_is_number(key));
	size_t n = top->only_comm || !key || top->of[0].print ? 1 : attar_expr_columns(key);

	for (size_t i = 0; i < n; i++) {
		if (is_text && i == 0 &&
			(n == 1 || attar_expr_get_column(key, 0)->kind == ATTAR_EXPR_TEXT))
			attar_cell_text(table, "[others]");
		else
			attar_cell_none(table);
	}
}

static void add_sum_cell(struct top *top, struct attar_section *table, const struct top_column *c,
	const struct attar_keysums *sums)
{
	uint64_t sum = sums->sums[c->at];

	top->has_limits |= keysums_is_beyond(sums, top->columns_max, c->at);
	if (c->is_signed)
		attar_cell_i64(table, (int64_t)sum);
	else
		attar_cell_u64(table, sum);
}

static void add_row(struct attar_run *run, struct top *top, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const struct top_label *label = row->value;

	attar_section_row(table);
	if (row->key)
		add_key(run, top, table, row);
	else if (top->by != BY_THREAD)
		task_by_cells(run, top->by, table, NULL);
	else
		add_key_of_others(top, table);
	for (size_t i = 0; i < top->n_columns; i++)
		if (is_shown(top, i))
			add_sum_cell(top, table, &top->columns[i], sums);
	if (!top->has_names)
		return;
	if (row->key)
		keys_add_text(table, label->comm, label->len);
	else
		attar_cell_text(table, "[others]");
}

static void reverse(struct attar_keyrow **rows, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct attar_keyrow *row = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = row;
	}
}

/* Rows with equal sums are in the order of unsigned keys: puts negative keys first. */
static void order_signed_keys(
	const struct top *top, struct attar_keyrow **rows, size_t n, enum attar_scope scope)
{
	const struct attar_expr *key = top->of[0].key;
	size_t end;

	if (!key || top->only_comm || !keys_is_number(key) ||
		!attar_expr_get_column(key, 0)->is_signed)
		return;
	if (n && !rows[n - 1]->key) /* the others */
		n--;
	for (size_t begin = 0; begin < n; begin = end) {
		uint64_t sum = attar_keyrow_sums(rows[begin], scope)->sums[top->rank];
		size_t negative = begin;

		for (end = begin; end < n; end++) {
			if (attar_keyrow_sums(rows[end], scope)->sums[top->rank] != sum)
				break;
			negative += (int64_t)rows[end]->number >= 0;
		}
		reverse(rows + begin, negative - begin);
		reverse(rows + negative, end - negative);
		reverse(rows + begin, end - begin);
	}
}

static bool has_sums(const struct top *top)
{
	for (size_t i = 0; i < top->n_columns; i++)
		if (top->columns[i].sum)
			return true;
	return false;
}

static void add_remarks(
	const struct attar_run *run, const struct top *top, struct attar_report *report)
{
	struct attar_expr_faults faults;
	uint64_t absent = 0, by_zero = 0;

	attar_report_evicted(report, top->table, "keys");
	if (sample_events_remark(run, report) && has_sums(top))
		attar_report_remark(report,
			"sums of expressions count each sample once, though it stands for several "
			"events");
	if (top->has_limits)
		attar_report_remark(report,
			"sums that do not fit into 64 bits, at the end or before, stay at the "
			"limit that they reach first");
	for (uint32_t i = 0; i < top->n_of; i++)
		if (top->of[i].key) {
			attar_expr_get_faults(top->of[i].key, &faults);
			absent += faults.absent;
			by_zero += faults.by_zero;
		}
	if (absent || by_zero)
		attar_report_remark(report,
			"keys that could not be computed count as 0: %llu with an absent field, "
			"%llu division%s by zero",
			(unsigned long long)absent, (unsigned long long)by_zero,
			by_zero == 1 ? "" : "s");
}

/* Rows with equal sums are ordered here, in place. */
void top_show(struct attar_run *run, struct top *top, struct attar_report *report,
	const struct top_rows *rows)
{
	struct attar_section *table =
		attar_report_table(report, attar_run_profiler(run)->name); /* of the preset */

	order_signed_keys(top, rows->rows, rows->n, rows->scope);
	add_headings(top, table);
	top->has_limits = false;
	for (size_t i = 0; i < rows->n; i++)
		add_row(run, top, table, rows->rows[i], rows->scope);
	add_remarks(run, top, report);
}
