/* SPDX-License-Identifier: MIT */
/* For profilers whose event functions look at names of kernel functions. */
#ifndef PROFILERS_KERNEL_NAMES_H
#define PROFILERS_KERNEL_NAMES_H

#include "attar/run.h"

/*
 * From open(): reads the names of the kernel's functions. At the first event it would take so long
 * that rings overflow meanwhile.
 */
void kernel_names_read(struct attar_run *run);

#endif
