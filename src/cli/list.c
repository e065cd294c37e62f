/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

int command_list(int argc, char **argv)
{
	return STATUS_OK;
}
