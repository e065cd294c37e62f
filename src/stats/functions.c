/* SPDX-License-Identifier: MIT */
#include "stats/functions.h"

#include <stdio.h>

void functions_init(struct functions *f, struct attar_symbols *symbols)
{
	*f = (struct functions){.symbols = symbols};
}

void functions_done(struct functions *f)
{
	intern_done(&f->texts);
	vec_done(&f->all);
	map_done(&f->by_location);
	map_done(&f->apart);
	map_done(&f->by_name);
}

void location_text(
	struct attar_symbols *symbols, attar_location location, char text[LOCATION_TEXT_MAX])
{
	enum attar_dso_kind kind;
	const char *path = attar_symbols_dso(symbols, location, &kind);
	const char *slash = strrchr(path, '/');

	snprintf(text, LOCATION_TEXT_MAX, "%.255s+0x%llx", slash ? slash + 1 : path,
		(unsigned long long)location & 0xffffffffffffULL);
}

/* The number of the function with this name in this DSO; adds a new one. */
static int enter(struct functions *f, struct function fn)
{
	uint64_t key, *found;

	fn.name = intern_text(&f->texts, fn.name);
	fn.dso = intern_text(&f->texts, fn.dso);
	if (!fn.name || !fn.dso)
		return base_oom();
	key = base_hash64((uintptr_t)fn.name) ^ (uintptr_t)fn.dso;
	found = map_get(&f->by_name, key);
	if (found)
		return (int)*found;
	if (vec_push(&f->all, fn) < 0 || map_put(&f->by_name, key, f->all.n - 1) < 0)
		return base_oom();
	return (int)(f->all.n - 1);
}

static int lookup(struct functions *f, attar_location location)
{
	struct attar_symbol sym;
	uint64_t *apart = map_get(&f->apart, location);
	bool named, in_file;

	if (apart)
		return (int)*apart;
	named = attar_symbols_resolve(f->symbols, location, &sym) == 0;
	in_file = sym.kind == ATTAR_DSO_IS_FILE || sym.kind == ATTAR_DSO_IS_VDSO;
	return enter(f, (struct function){.name = named ? sym.name : "[unknown]",
				.dso = sym.dso,
				.address = named ? sym.start : 0,
				.kind = sym.kind,
				.named = named,
				.mixed = !named && in_file});
}

int functions_of(struct functions *f, attar_location location)
{
	uint64_t *found = map_get(&f->by_location, location);
	int number;

	if (found)
		return (int)*found;
	number = lookup(f, location);
	if (f->by_location.n >= FUNCTIONS_LOCATIONS_MAX)
		map_reset(&f->by_location);
	if (number >= 0 && map_put(&f->by_location, location, (uint64_t)number) < 0)
		return base_oom();
	return number;
}

int functions_no_stack(struct functions *f)
{
	return enter(f, (struct function){.name = "[no stack]", .dso = "[unknown]"});
}

int functions_set_apart(struct functions *f, attar_location location)
{
	enum attar_dso_kind kind;
	const char *dso = attar_symbols_dso(f->symbols, location, &kind);
	char name[LOCATION_TEXT_MAX];
	int number;

	if (f->apart.n >= FUNCTIONS_APART_MAX)
		return 0;
	location_text(f->symbols, location, name);
	number = enter(f, (struct function){.name = name, .dso = dso, .kind = kind});
	if (number < 0 || map_put(&f->apart, location, (uint64_t)number) < 0)
		return base_oom();
	return map_put(&f->by_location, location, (uint64_t)number);
}
