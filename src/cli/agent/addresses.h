/* SPDX-License-Identifier: MIT */
/* The addresses that an agent and its profilers listen on: each belongs to one of them. */
#ifndef CLI_AGENT_ADDRESSES_H
#define CLI_AGENT_ADDRESSES_H

#include <sys/socket.h>

#include "base/vec.h"

struct agent_address {
	const char *section, *option; /* borrowed */
	char *text;                   /* as given; owned by the list */
	struct sockaddr_storage at;   /* of family 0: not one of TCP */
};

typedef VEC(struct agent_address) agent_addresses;

/*
 * Adds an address, whose string is copied. -EINVAL with an error message: the list has the
 * same one, or another that needs the same port.
 */
int agent_addresses_add(agent_addresses *addresses, const struct agent_address *address);

void agent_addresses_done(agent_addresses *addresses);

#endif
