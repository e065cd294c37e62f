/* SPDX-License-Identifier: MIT */
/* For profilers whose event functions look at names of kernel functions. */
#ifndef PROFILERS_LIB_KERNEL_NAMES_H
#define PROFILERS_LIB_KERNEL_NAMES_H

#include "attar/run.h"

/*
 * To be called from open(): reads the names of the kernel's functions. At the first event, this
 * would take so long that rings overflow.
 */
void kernel_names_read(struct attar_run *run);

#endif
