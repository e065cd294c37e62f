/* SPDX-License-Identifier: MIT */
/*
 * In place of dlopen(3) and its companions, for the static program: the C library's would load the
 * shared C library of the machine in addition to the one that is linked, which must then be of the
 * same version. Each request fails, as if the library were not installed.
 */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *name, int flags)
{
	return NULL;
}

void *dlsym(void *library, const char *name)
{
	return NULL;
}

int dlclose(void *library)
{
	return 0;
}

char *dlerror(void)
{
	static char text[] = "this attar is static and cannot load libraries";

	return text;
}
