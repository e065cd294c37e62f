/* SPDX-License-Identifier: MIT */
/*
 * Built as a shared object that the workload dlopens loads after its start. Expected: plugin_hot()
 * uses all of the time.
 */
#include "workload.h"

__attribute__((visibility("default"))) void plugin_hot(uint64_t n);

KEEP void plugin_hot(uint64_t n)
{
	turns(n);
}
