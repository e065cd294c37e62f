/* SPDX-License-Identifier: MIT */
#include "base/rights.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/base.h"

bool rights_has(int number)
{
	return prctl(PR_CAPBSET_READ, (long)number, 0L, 0L, 0L) >= 0;
}

static uint64_t ambient_rights(void)
{
	uint64_t set = 0;

	for (int i = 0; i < 64; i++)
		if (prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_IS_SET, (long)i, 0L, 0L) == 1)
			set |= RIGHT(i);
	return set;
}

void rights_drop(uint64_t rights, bool for_good)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	rights &= ~ambient_rights();
	for (int i = 0; i < 2; i++) {
		data[i].effective &= ~(uint32_t)(rights >> 32 * i);
		if (for_good)
			data[i].permitted &= ~(uint32_t)(rights >> 32 * i);
	}
	syscall(SYS_capset, &header, data);
}
