/* SPDX-License-Identifier: MIT */
/* Runs the probes of sdt.c, which is in the program or in a shared library. */
int sdt_run(int argc, char **argv);

int main(int argc, char **argv)
{
	return sdt_run(argc, argv);
}
