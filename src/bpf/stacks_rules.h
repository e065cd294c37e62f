/* SPDX-License-Identifier: MIT */
/* The rules of call frame information (dwarf/cfi_table.h) as the program has them. x86-64. */
#ifndef BPF_STACKS_RULES_H
#define BPF_STACKS_RULES_H

#include "bpf/stacks_shared.h"
#include "dwarf/cfi_table.h"

/* how_cfa is STACKS_CFA_OTHER if the program cannot follow these. */
struct stacks_rule stacks_rule_of(const struct cfi_table *table, const struct cfi_rules *rules);

#endif
