/* SPDX-License-Identifier: MIT */
/* How the columns of a table are merged: by their units, and by their names where units differ. */
#include "report/model/column_amount.h"
#include "report/merge/parts.h"
#include "report/model/model.h"

#define NO_COLUMN SIZE_MAX

/* Texts that comment on the numbers of their row. */
static const char *const comments[] = {"meaning", "quality", NULL};

static enum fleet_rule rule_of_amount(const struct fleet_column *c)
{
	static const enum fleet_rule rules[] = {
		[AMOUNT_SUM] = FLEET_SUM,
		[AMOUNT_LEAST] = FLEET_LEAST,
		[AMOUNT_MOST] = FLEET_MOST,
		[AMOUNT_MEAN] = FLEET_MEAN,
		[AMOUNT_OTHER] = FLEET_LEFT_OUT,
	};

	return rules[amount_kind_of(c->name)];
}

/* The first column with a sum, of this name and unit if they are given; NO_COLUMN: none. */
static size_t find_sum(const fleet_columns *columns, const char *name, enum attar_unit unit)
{
	for (size_t i = 0; i < columns->n; i++) {
		const struct fleet_column *c = &columns->at[i];

		if (c->rule == FLEET_SUM && (!name || !strcmp(c->name, name)) &&
			(unit == ATTAR_UNIT_TEXT || c->unit == unit))
			return i;
	}
	return NO_COLUMN;
}

/*
 * Percentages of the time of their row are, for example, the states of a thread. Others are of
 * something that the table does not have.
 */
static void find_basis_of_share(const fleet_columns *columns, struct fleet_column *c)
{
	static const char *const shares[] = {"self", "total", "share", NULL};
	static const char of[] = "of ";

	c->basis = NO_COLUMN;
	if (amount_is_one_of(c->name, shares))
		c->basis = find_sum(columns, NULL, ATTAR_UNIT_TEXT);
	else if (!strncmp(c->name, of, sizeof(of) - 1))
		c->basis = find_sum(columns, c->name + sizeof(of) - 1, ATTAR_UNIT_TEXT);
	else {
		c->rule = FLEET_PART;
		c->basis = find_sum(columns, "time", ATTAR_UNIT_NS);
	}
	if (c->basis == NO_COLUMN)
		c->rule = FLEET_LEFT_OUT;
}

static void find_basis_of_mean(const fleet_columns *columns, struct fleet_column *c)
{
	c->basis = find_sum(columns, NULL, ATTAR_UNIT_COUNT);
	c->total = find_sum(columns, "total", c->unit);
	if (c->basis == NO_COLUMN || c->total == NO_COLUMN)
		c->rule = FLEET_LEFT_OUT;
}

static enum fleet_rule rule_of(const struct fleet_column *c)
{
	switch (column_role_of(c->name, c->unit)) {
	case COLUMN_LABEL:
		return amount_is_one_of(c->name, comments) ? FLEET_LEFT_OUT : FLEET_KEY;
	case COLUMN_TASK:
	case COLUMN_REMARK:
		return FLEET_LEFT_OUT;
	case COLUMN_AMOUNT:
		break;
	}
	switch (c->unit) {
	case ATTAR_UNIT_COUNT:
	case ATTAR_UNIT_NS:
	case ATTAR_UNIT_BYTES:
		return rule_of_amount(c);
	case ATTAR_UNIT_PERCENT:
		return FLEET_SHARE;
	default:
		return FLEET_LEFT_OUT;
	}
}

int fleet_column_in(const struct attar_section *s, const struct fleet_column *column)
{
	for (size_t i = 0; i < s->columns.n; i++)
		if (s->columns.at[i].unit == column->unit &&
			!strcmp(section_text(s, s->columns.at[i].name), column->name))
			return (int)i;
	return -1;
}

static bool has_column(const fleet_columns *columns, const struct fleet_column *like)
{
	vec_each (columns, it)
		if (it->unit == like->unit && !strcmp(it->name, like->name))
			return true;
	return false;
}

int fleet_columns_of(const fleet_sections *all, fleet_columns *ret_columns)
{
	vec_each (all, it)
		vec_each (&it->section->columns, column) {
			struct fleet_column c = {.name = section_text(it->section, column->name),
				.unit = column->unit};

			c.rule = rule_of(&c);
			if (!has_column(ret_columns, &c) && vec_push(ret_columns, c) < 0)
				return -ENOMEM;
		}
	vec_each (ret_columns, c) {
		if (c->rule == FLEET_SHARE)
			find_basis_of_share(ret_columns, c);
		else if (c->rule == FLEET_MEAN)
			find_basis_of_mean(ret_columns, c);
	}
	return 0;
}

bool fleet_can_merge(const fleet_columns *columns)
{
	bool merges = false;

	vec_each (columns, c) {
		if (c->unit == ATTAR_UNIT_TIME || c->unit == ATTAR_UNIT_CLOCK ||
			c->unit == ATTAR_UNIT_HEX)
			return false;
		merges |= c->rule != FLEET_KEY && c->rule != FLEET_LEFT_OUT;
	}
	return merges;
}
