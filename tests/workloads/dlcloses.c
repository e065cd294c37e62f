/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the user time is in plugin_hot() of the first plugin, 30% in that of the second.
 * They are loaded and unloaded in turn, mostly to the same address. Prints how often the address
 * was that of the other plugin before. usage: dlcloses PLUGIN PLUGIN [CYCLES]
 */
#include <dlfcn.h>

#include "workload.h"

static void *before;
static unsigned same;

static int run_once(const char *path, uint64_t n)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*hot)(uint64_t n) = plugin ? (void (*)(uint64_t))dlsym(plugin, "plugin_hot") : NULL;

	if (!hot) {
		fprintf(stderr, "dlcloses: %s\n", dlerror());
		return -1;
	}
	same += (void *)hot == before;
	before = (void *)hot;
	hot(n);
	return dlclose(plugin);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	if (argc < 3)
		return 2;
	for (uint64_t left = argument(argc, argv, 3, 100); left; left--) {
		uint64_t n = 200000 * uneven(&seed);

		if (run_once(argv[1], 7 * n) < 0 || run_once(argv[2], 3 * n) < 0)
			return 1;
	}
	printf("%u\n", same);
	return 0;
}
