/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>

int library_load(const char *soname, const char *const *names, size_t n, void *ret_functions)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_NODELETE), **functions = ret_functions;

	if (!library)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		functions[i] = dlsym(library, names[i]);
		if (!functions[i])
			return -ENOSYS;
	}
	return 0;
}

int library_fail(int error, const char *user, const char *library, const char *package)
{
	if (error == -ENOENT)
		return attar_fail(-EOPNOTSUPP,
			"%s needs the library %s" ATTAR_FIX "install the package %s (%s)", user,
			library, package, dlerror());
	return attar_fail(-EOPNOTSUPP, "%s: %s is too old", user, library);
}

void *library_function(const char *soname, const char *name)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD), *function;

	if (!library)
		return NULL;
	function = dlsym(library, name);
	dlclose(library); /* it stays loaded */
	return function;
}
