/* SPDX-License-Identifier: MIT */
#include "event/usdt_table.h"

#include <fnmatch.h>

#include "event/usdt_operand.h"

enum { ARGUMENTS_MAX = 12, LOCATIONS_MAX = 65536, LOOKUPS_MAX = 256 };

#define LOOKUP_NS_MAX 1000000000ULL

struct visit {
	struct usdt_table *table;
	const char *file, *provider, *name;
};

/* The texts of a location under construction. */
struct texts {
	struct buf arguments, fetch, unfetched;
};

static bool has_type(const struct usdt_type *type)
{
	return type->size == 1 || type->size == 2 || type->size == 4 || type->size == 8;
}

static bool put_operand(
	struct usdt_table *table, const struct usdt_site *site, const char *operand, struct buf *at)
{
	uint64_t began;
	bool is_put;

	if (!strstr(operand, "(%rip)"))
		return usdt_operand(site, operand, at) == 0;
	if (++table->lookups > LOOKUPS_MAX || table->lookup_ns > LOOKUP_NS_MAX)
		return false;
	began = base_now();
	is_put = usdt_operand(site, operand, at) == 0;
	table->lookup_ns += base_now() - began;
	return is_put;
}

static void add_argument(struct usdt_table *table, const struct usdt_site *site, unsigned number,
	const struct usdt_type *type, const char *operand, struct texts *texts)
{
	struct buf at _cleanup_(buf_done) = {0};
	char letter = type->is_float ? 'x' : type->is_signed ? 's' : 'u';
	const char *comma = number > 1 ? ", " : "";
	bool fetched = has_type(type);

	fetched = fetched && put_operand(table, site, operand, &at);
	if (!fetched) {
		buf_printf(&texts->arguments, "%s? arg%u", comma, number);
		buf_printf(&texts->unfetched, " arg%u (%s)", number, operand);
		return;
	}
	buf_printf(&texts->arguments, "%s%c%u arg%u", comma, letter, type->size * 8, number);
	buf_printf(&texts->fetch, " arg%u=%s:%c%u", number, buf_text(&at), letter, type->size * 8);
}

static int add_location(struct usdt_table *table, const char *file, const struct usdt_site *site,
	const struct texts *texts)
{
	struct intern *t = &table->texts;
	struct usdt_location l = {.file = intern_text(t, file),
		.provider = intern_text(t, site->provider),
		.name = intern_text(t, site->event),
		.offset = site->offset,
		.ref = site->ref,
		.arguments = intern_text(t, buf_text(&texts->arguments)),
		.operands = intern_text(t, site->operands),
		.fetch = intern_text(t, buf_text(&texts->fetch)),
		.unfetched = intern_text(t, buf_text(&texts->unfetched))};

	if (!l.file || !l.provider || !l.name || !l.arguments || !l.operands || !l.fetch ||
		!l.unfetched || buf_failed(&texts->arguments) || buf_failed(&texts->fetch) ||
		buf_failed(&texts->unfetched) || vec_push(&table->locations, l) < 0)
		return base_oom();
	return 0;
}

static int visit(void *ctx, const struct usdt_site *site)
{
	const struct visit *v = ctx;
	struct texts texts = {0};
	const char *p = site->operands;
	char operand[USDT_OPERAND_MAX];
	struct usdt_type type;
	int r;

	if (fnmatch(v->provider, site->provider, 0) != 0 || fnmatch(v->name, site->event, 0) != 0)
		return 0;
	if (v->table->locations.n >= LOCATIONS_MAX)
		return 0;
	for (unsigned i = 1;
		i <= ARGUMENTS_MAX && (p = usdt_operand_next(p, operand, sizeof(operand), &type));
		i++)
		add_argument(v->table, site, i, &type, operand, &texts);
	attar_error_clear();
	r = add_location(v->table, v->file, site, &texts);
	buf_done(&texts.arguments);
	buf_done(&texts.fetch);
	buf_done(&texts.unfetched);
	return r;
}

int usdt_table_add(
	struct usdt_table *table, const char *file, const char *provider, const char *name)
{
	struct visit v = {.table = table, .file = file, .provider = provider, .name = name};

	return usdt_each(file, visit, &v);
}

static int usdt_table_compare(const void *a, const void *b)
{
	const struct usdt_location *x = a, *y = b;
	int r = strcmp(x->provider, y->provider);

	r = r ? r : strcmp(x->name, y->name);
	r = r ? r : strcmp(x->arguments, y->arguments);
	r = r ? r : strcmp(x->file, y->file);
	return r ? r : (x->offset > y->offset) - (x->offset < y->offset);
}

void usdt_table_sort(struct usdt_table *table)
{
	size_t n = 0;

	if (table->locations.n)
		qsort(table->locations.at, table->locations.n, sizeof(*table->locations.at),
			usdt_table_compare);
	vec_each (&table->locations, it)
		if (!n || usdt_table_compare(&table->locations.at[n - 1], it) != 0)
			table->locations.at[n++] = *it;
	table->locations.n = n;
}

void usdt_table_done(struct usdt_table *table)
{
	vec_done(&table->locations);
	intern_done(&table->texts);
}
