/* SPDX-License-Identifier: MIT */
/* Checks of the command lines of an agent's sections. */
#ifndef CLI_AGENT_CHECKS_H
#define CLI_AGENT_CHECKS_H

#include "cli/agent/addresses.h"
#include "cli/agent/config.h"
#include "cli/agent/files.h"
#include "cli/output/http_server.h"

struct agent_checks {
	bool machine; /* also what this machine does not have, see AGENT_CHECKS */
	agent_files files;
	agent_addresses addresses;
};

/*
 * Parses the n words of a section as attar itself does. Returns 0 or a negative errno with an error
 * message.
 */
int agent_checks_words(struct agent_checks *checks, const struct agent_section *section, int n);

/* Checks the address of the agent itself. */
int agent_checks_server(struct agent_checks *checks, const struct http_server_opts *opts);

void agent_checks_done(struct agent_checks *checks);

#endif
