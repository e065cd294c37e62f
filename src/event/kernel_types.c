/* SPDX-License-Identifier: MIT */
#include "event/kernel_types.h"

#include <stdio.h>

#include "tracefs/dir.h"
#include "tracefs/tracefs.h"

enum { MODULES_MAX = 4096 };

struct module_types {
	struct module_types *next;
	char *name;
	struct btf btf;
};

struct kernel_types {
	struct btf kernel;
	struct module_types *modules; /* that were read */
};

static int open_kernel(struct attar_catalog *catalog)
{
	struct kernel_types *types;
	char path[4096];
	int r;

	if (catalog->types)
		return 0;
	types = calloc(1, sizeof(*types));
	if (!types)
		return base_oom();
	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", catalog->tracefs.sysfs);
	r = btf_read_file(&types->kernel, catalog->btf_file ? catalog->btf_file : path, NULL);
	if (r < 0) {
		kernel_types_free(types);
		return r == -ENOENT && !catalog->btf_file
			       ? attar_fail(-EOPNOTSUPP,
					 "this kernel has no type information (BTF, %s)" ATTAR_FIX
					 "write args= in the syntax of tracefs, as in "
					 "args=(port=+12($arg1):u16), or name a file with --btf",
					 path)
			       : r;
	}
	catalog->types = types;
	return 0;
}

/* NULL: it has none, or they cannot be read. */
static const struct btf *types_of_module(struct attar_catalog *catalog, const char *name)
{
	struct kernel_types *types = catalog->types;
	struct module_types *m;
	char path[4096];

	for (m = types->modules; m; m = m->next)
		if (!strcmp(m->name, name))
			return &m->btf;
	m = calloc(1, sizeof(*m));
	if (!m || !(m->name = strdup(name))) {
		free(m);
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/kernel/btf/%s", catalog->tracefs.sysfs, name);
	if (!tracefs_name_ok(name) || btf_read_file(&m->btf, path, &types->kernel) < 0) {
		attar_error_clear();
		btf_done(&m->btf);
		free(m->name);
		free(m);
		return NULL;
	}
	m->next = types->modules;
	types->modules = m;
	return &m->btf;
}

/* The module that has the function; NULL: none has. */
static const struct btf *search_modules(struct attar_catalog *catalog, const char *function)
{
	dir_names names _cleanup_(dir_names_done) = {0};
	const struct btf *found = NULL;
	char path[4096];
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/kernel/btf", catalog->tracefs.sysfs);
	if (dir_read(path, &names) < 0)
		attar_error_clear();
	vec_each (&names, name) {
		const struct btf *btf = found || !strcmp(*name, "vmlinux") || n++ == MODULES_MAX
						? NULL
						: types_of_module(catalog, *name);

		if (btf && btf_find(btf, BTF_KIND_FUNC, function))
			found = btf;
	}
	return found;
}

int kernel_types(struct attar_catalog *catalog, const char *function, const struct btf **ret_btf)
{
	const char *colon = function ? strchr(function, ':') : NULL;
	const struct btf *btf = NULL;
	char module[128];
	int r = open_kernel(catalog);

	if (r < 0)
		return r;
	*ret_btf = &catalog->types->kernel;
	if (!function || catalog->btf_file)
		return 0;
	if (colon) {
		snprintf(module, sizeof(module), "%.*s", (int)(colon - function), function);
		btf = types_of_module(catalog, module);
	} else if (!btf_find(*ret_btf, BTF_KIND_FUNC, function)) {
		btf = search_modules(catalog, function);
	}
	*ret_btf = btf ? btf : *ret_btf;
	return 0;
}

void kernel_types_free(struct kernel_types *types)
{
	struct module_types *m;

	if (!types)
		return;
	while ((m = types->modules)) {
		types->modules = m->next;
		btf_done(&m->btf);
		free(m->name);
		free(m);
	}
	btf_done(&types->kernel);
	free(types);
}
