/* SPDX-License-Identifier: MIT */
/* Opens the files with the symbols of a DSO. */
#include "attar/base.h"
#include "attar/private/symbol.h"
#include "base/log.h"
#include "base/scan_budget.h"
#include "symbol/build_id_cache.h"
#include "symbol/java_map.h"
#include "symbol/symbols.h"

enum { JAVA_USER_NS = 500000000 };

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

void symbols_ask_java(struct attar_symbols *symbols)
{
	if (symbols->java)
		return;
	symbols->java = calloc(1, sizeof(*symbols->java));
	if (symbols->java)
		*symbols->java = (struct scan_budget){.what = "answers of Java virtual machines",
			.effect = "their methods have no names",
			.user_ns = JAVA_USER_NS};
}

/*
 * Once, when the first name is wanted: at the end of a run without intervals. Other users can have
 * any number of processes that look like one and do not answer.
 */
static void ask_java(const struct attar_symbols *symbols, struct jit *jit)
{
	int r;

	jit->was_asked = true;
	if (!scan_budget_begin(symbols->java, jit->pid))
		return;
	r = java_map_write(jit->pid);
	scan_budget_end(symbols->java, jit->pid);
	if (r == 0)
		jit->missed = 0;
	else if (r != -ENOENT)
		log_warn("%s", attar_error());
	attar_error_clear();
}

int symbols_open_jit(const struct attar_symbols *symbols, struct jit *jit)
{
	if (symbols->java && !jit->was_asked)
		ask_java(symbols, jit);
	kept_files_open_jit(symbols->kept, jit);
	return jit_open(jit);
}
