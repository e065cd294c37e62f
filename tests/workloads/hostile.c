/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of one function; the build renames it to HOSTILE_NAME
 * (meson.build), and the comm is 15 bytes that, unescaped, set a terminal's title, end a line and
 * break CSV, JSON and HTML.
 */
#include <sys/prctl.h>

#include "workload.h"

static KEEP void hostile_name(void)
{
	turns(300000);
}

int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, "\033]0;P\a\n,\"<b>\\\xff");
	for (uint64_t left = argument(argc, argv, 1, 1600); left; left--)
		hostile_name();
	return 0;
}
