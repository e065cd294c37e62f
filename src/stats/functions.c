/* SPDX-License-Identifier: MIT */
#include "stats/functions.h"

void functions_init(struct functions *f, struct attar_symbols *symbols)
{
	*f = (struct functions){.symbols = symbols};
}

void functions_done(struct functions *f)
{
	intern_done(&f->texts);
	vec_done(&f->all);
	map_done(&f->by_place);
	map_done(&f->by_name);
}

static int add_function(struct functions *f, const struct function *fn, uint64_t key)
{
	if (vec_push(&f->all, *fn) < 0 || map_put(&f->by_name, key, f->all.n - 1) < 0)
		return base_oom();
	return (int)(f->all.n - 1);
}

static int lookup(struct functions *f, attar_place place)
{
	struct attar_symbol sym;
	struct function fn;
	uint64_t key, *found;
	bool named = attar_symbols_resolve(f->symbols, place, &sym) == 0;

	fn = (struct function){.name = intern_text(&f->texts, named ? sym.name : "[unknown]"),
		.dso = intern_text(&f->texts, sym.dso),
		.kind = sym.kind,
		.named = named};
	if (!fn.name || !fn.dso)
		return base_oom();
	key = base_hash64((uintptr_t)fn.name) ^ (uintptr_t)fn.dso;
	found = map_get(&f->by_name, key);
	return found ? (int)*found : add_function(f, &fn, key);
}

int functions_of(struct functions *f, attar_place place)
{
	uint64_t *found = map_get(&f->by_place, place);
	int number;

	if (found)
		return (int)*found;
	number = lookup(f, place);
	if (number >= 0 && map_put(&f->by_place, place, (uint64_t)number) < 0)
		return base_oom();
	return number;
}
