/* SPDX-License-Identifier: MIT */
/* Makes a unit test of symbols its own reader: its files are read by other processes. */
#include "attar/symbol.h"

static void __attribute__((constructor)) use_readers(int argc, char **argv)
{
	attar_reader_main(argc, argv);
	attar_symbols_use_readers("/proc/self/exe");
}
