/* SPDX-License-Identifier: MIT */
#include "symbol/stored_symbols.h"

#include "symbol/symbols.h"

struct stored *stored_new(void)
{
	struct stored *stored = calloc(1, sizeof(*stored));

	if (!stored)
		base_oom();
	return stored;
}

void stored_free(struct stored *stored)
{
	if (!stored)
		return;
	vec_each (&stored->modules, module) {
		cfi_table_done(&(*module)->cfi);
		vec_done(&(*module)->places);
		vec_done(&(*module)->frames);
		free(*module);
	}
	vec_done(&stored->modules);
	intern_done(&stored->texts);
	free(stored);
}

struct stored_module *stored_add(struct stored *stored, const struct dso_key *key)
{
	struct stored_module *module = calloc(1, sizeof(*module));

	if (!module) {
		base_oom();
		return NULL;
	}
	module->key = *key;
	module->key.path = intern_text(&stored->texts, key->path);
	if (!module->key.path || vec_push(&stored->modules, module) < 0) {
		free(module);
		return NULL;
	}
	return module;
}

/* Anonymous memory is identified by its process: numbers of address spaces depend on the run. */
static bool is_of(const struct stored_module *module, const struct dso *dso)
{
	if (module->key.kind != dso->key.kind)
		return false;
	if (dso->key.kind == ATTAR_DSO_IS_JIT)
		return module->pid == dso->jit.pid;
	return dso_key_equal(&module->key, &dso->key);
}

struct stored_module *stored_match(const struct stored *stored, const struct dso *dso)
{
	if (!stored)
		return NULL;
	vec_each (&stored->modules, module)
		if (is_of(*module, dso))
			return *module;
	return NULL;
}

const struct stored_place *stored_find(const struct stored_module *module, uint64_t offset)
{
	size_t low = 0, high = module ? module->places.n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->places.at[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return module && low < module->places.n && module->places.at[low].offset == offset
		       ? &module->places.at[low]
		       : NULL;
}

static int by_offset(const void *a, const void *b)
{
	const struct stored_place *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

void symbols_set_stored(struct attar_symbols *symbols, struct stored *stored)
{
	struct dso *kernel = dsos_get(&symbols->dsos, ATTAR_DSO_KERNEL);

	vec_each (&stored->modules, module)
		if ((*module)->places.n)
			qsort((*module)->places.at, (*module)->places.n,
				sizeof(*(*module)->places.at), by_offset);
	symbols->stored = stored;
	kernel->stored = stored_match(stored, kernel);
}

bool symbols_are_stored(const struct attar_symbols *symbols)
{
	return symbols->stored;
}

void symbols_use_stored(struct attar_symbols *symbols, struct dso *dso)
{
	if (dso->stored || !symbols->stored)
		return;
	dso->stored = stored_match(symbols->stored, dso);
}

int stored_resolve(struct attar_symbols *symbols, const struct stored_place *place,
	struct attar_symbol *symbol)
{
	if (place->dso)
		symbol->dso = place->dso;
	if (!place->name)
		return -ENOENT;
	symbol->mangled = place->name;
	symbol->name = symbols_plain_name(symbols, place->name);
	symbol->start = place->start;
	symbol->size = place->size;
	symbol->offset = place->into;
	return 0;
}
