/* SPDX-License-Identifier: MIT */
#include "lib/kernel_names.h"

#include <unistd.h>

void kernel_names_read(struct attar_run *run)
{
	struct attar_symbol symbol;

	/* other users may get user code only: they read the names when an event needs one */
	if (!attar_run_is_live(run) || geteuid() != 0)
		return;
	/* the lookup of an address without a function reads the names, but not to find it */
	attar_symbols_resolve(attar_run_symbols(run), attar_location_kernel(UINT64_MAX), &symbol);
	attar_error_clear();
}
