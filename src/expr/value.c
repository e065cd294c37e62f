/* SPDX-License-Identifier: MIT */
/* Evaluate expressions of users for a record; keys made of their values. */
#include <stdio.h>

#include "base/check_arg.h"
#include "expr/user.h"

/* ---- values ---- */

static struct attar_expr_value public_value(const struct user_column *c, struct expr_value v)
{
	if (c->pub.kind == ATTAR_EXPR_NUMBER)
		return (struct attar_expr_value){.number = v.number};
	if (c->pub.kind == ATTAR_EXPR_TEXT)
		v.len = strnlen((const char *)v.bytes, v.len);
	return (struct attar_expr_value){.bytes = (const char *)v.bytes, .len = v.len};
}

void attar_expr_eval(struct attar_expr *e, const struct attar_expr_record *record,
	struct attar_expr_value *ret_value)
{
	struct expr_run run = user_begin(e, record);

	*ret_value = public_value(&e->columns[0], expr_eval(&run, e->columns[0].node));
	user_end(e, &run);
}

uint64_t attar_expr_number(struct attar_expr *e, const struct attar_expr_record *record)
{
	struct expr_run run = user_begin(e, record);
	uint64_t number = expr_number(&run, e->columns[0].node);

	user_end(e, &run);
	return number;
}

bool attar_expr_is_true(struct attar_expr *e, const struct attar_expr_record *record)
{
	struct expr_run run = user_begin(e, record);
	bool is_true = e->columns[0].pub.kind == ATTAR_EXPR_NUMBER &&
		       expr_is_true(&run, e->columns[0].node);

	user_end(e, &run);
	return is_true;
}

/* ---- keys ---- */

/* Appends a text; in a composite key, after its length. Returns its bytes. */
static size_t put_text(struct attar_expr *e, struct expr_value v, char *at)
{
	size_t n = strnlen((const char *)v.bytes, v.len), before = 0;
	uint16_t len;

	if (n > ATTAR_EXPR_TEXT_MAX) {
		n = ATTAR_EXPR_TEXT_MAX;
		e->faults.cut++;
	}
	if (e->n_columns > 1) {
		len = (uint16_t)n;
		before = sizeof(len);
		memcpy(at, &len, before);
	}
	memcpy(at + before, v.bytes, n);
	return before + n;
}

size_t attar_expr_key(
	struct attar_expr *e, const struct attar_expr_record *record, void *ret_key, size_t max)
{
	struct expr_run run = user_begin(e, record);
	char *at = ret_key;

	if (max < e->key_size)
		return 0;
	for (size_t i = 0; i < e->n_columns; i++) {
		const struct user_column *c = &e->columns[i];
		uint64_t number;

		if (c->pub.kind == ATTAR_EXPR_NUMBER) {
			number = expr_number(&run, c->node);
			memcpy(at, &number, sizeof(number));
			at += sizeof(number);
		} else {
			at += put_text(e, expr_eval(&run, c->node), at);
		}
	}
	user_end(e, &run);
	return (size_t)(at - (char *)ret_key);
}

/* Takes the next value out of a key. Returns false if its bytes end before. */
static bool take_value(const struct attar_expr *e, size_t i, const char **at, size_t *left,
	struct attar_expr_value *ret_value)
{
	struct attar_expr_value v = {0};
	uint16_t len;
	size_t n = sizeof(v.number);

	if (e->columns[i].pub.kind == ATTAR_EXPR_NUMBER) {
		if (*left < n)
			return false;
		memcpy(&v.number, *at, n);
	} else {
		v.len = n = *left;
		if (e->n_columns > 1) {
			if (*left < sizeof(len))
				return false;
			memcpy(&len, *at, sizeof(len));
			*at += sizeof(len);
			*left -= sizeof(len);
			v.len = n = len;
		}
		v.bytes = *at;
	}
	if (n > *left)
		return false;
	*at += n;
	*left -= n;
	*ret_value = v;
	return true;
}

bool attar_expr_key_value(const struct attar_expr *e, const void *key, size_t size, size_t i,
	struct attar_expr_value *ret_value)
{
	CHECK_ARG_OR(e, "expr", false);
	CHECK_ARG_OR(key, "key", false);
	CHECK_ARG_OR(ret_value, "ret_value", false);

	const char *at = key;

	if (i >= e->n_columns)
		return false;
	for (size_t before = 0; before < i; before++) {
		struct attar_expr_value v;

		if (!take_value(e, before, &at, &size, &v))
			return false;
	}
	return take_value(e, i, &at, &size, ret_value);
}

static void put_value(struct print_run *print, const struct attar_expr_column *c,
	const struct attar_expr_value *v)
{
	if (v->bytes)
		print_text(print, v->bytes, v->len);
	else if (c->is_address)
		print_form(print, "0x%llx", (unsigned long long)v->number);
	else if (c->is_signed)
		print_form(print, "%lld", (long long)v->number);
	else
		print_form(print, "%llu", (unsigned long long)v->number);
}

size_t attar_expr_key_format(
	const struct attar_expr *e, const void *key, size_t size, char *ret_text, size_t max)
{
	CHECK_ARG_OR(e, "expr", 0);
	CHECK_ARG_OR(key, "key", 0);
	CHECK_ARG_OR(ret_text || !max, "ret_text", 0);

	struct print_run print = {.at = ret_text, .max = max};
	const char *at = key;
	struct attar_expr_value v;

	if (max)
		ret_text[0] = '\0';
	for (size_t i = 0; i < e->n_columns && take_value(e, i, &at, &size, &v); i++) {
		print_text(&print, ",", i > 0);
		put_value(&print, &e->columns[i].pub, &v);
	}
	return print.len;
}
