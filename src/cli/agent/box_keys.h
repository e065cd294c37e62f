/* SPDX-License-Identifier: MIT */
/* The section [blackbox]: its keys are options of attar record --overwrite. */
#ifndef CLI_AGENT_BOX_KEYS_H
#define CLI_AGENT_BOX_KEYS_H

#include "cli/agent/config.h"

/* Whether the keys of a section of this name are these. */
bool agent_box_is_section(const char *name);

/* Adds a key to the command line of the section. 0; -EINVAL: there is no such key; or -ENOMEM. */
int agent_box_take(struct agent_section *section, const char *key, const char *value);

/* Whether the words of a section are a black box, which has files and no reports. */
bool agent_box_is(char *const *words);

#endif
