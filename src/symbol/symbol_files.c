/* SPDX-License-Identifier: MIT */
/* Opens the files with the symbols of a DSO. */
#include "symbol/build_id_cache.h"
#include "symbol/symbols.h"

int symbols_file(const struct attar_symbols *symbols, const struct dso_search *where)
{
	const struct dso_key *key = where->key;
	const struct file_opener *opener = symbols->dsos.opener;
	int fd, cached = -1;

	if (opener)
		return opener->again(opener->ctx, key);
	fd = kept_files_open(symbols->kept, key);

	if (fd < 0)
		fd = dso_open(where);
	if (fd < 0 && key->build_id_size)
		cached = build_id_cache_open(key->build_id, key->build_id_size);
	return cached < 0 ? fd : cached;
}

int symbols_open_jit(const struct attar_symbols *symbols, struct jit *jit)
{
	kept_files_open_jit(symbols->kept, jit);
	return jit_open(jit);
}
