/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of plugin_hot(), in a file that is mapped after the start.
 * usage: dlopens PLUGIN [CYCLES]
 */
#include <dlfcn.h>

#include "workload.h"

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*hot)(uint64_t n) = plugin ? (void (*)(uint64_t))dlsym(plugin, "plugin_hot") : NULL;

	if (!hot) {
		fprintf(stderr, "dlopens: %s\n", argc > 1 ? dlerror() : "which plugin?");
		return 2;
	}
	for (uint64_t left = argument(argc, argv, 2, 1600); left; left--)
		hot(300000);
	return 0;
}
