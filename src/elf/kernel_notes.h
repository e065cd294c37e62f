/* SPDX-License-Identifier: MIT */
/* The notes of the running kernel, /sys/kernel/notes, and of its modules. */
#ifndef ELF_KERNEL_NOTES_H
#define ELF_KERNEL_NOTES_H

#include "elf/elf.h"

/* Stores the build ID and returns its size in bytes; 0: unknown. */
size_t kernel_notes_build_id(uint8_t id[ELF_MAX_BUILD_ID]);

/* The build ID of a loaded module: /sys/module/NAME/notes/.note.gnu.build-id. */
size_t kernel_notes_module(const char *name, uint8_t id[ELF_MAX_BUILD_ID]);

#endif
