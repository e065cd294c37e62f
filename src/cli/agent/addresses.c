/* SPDX-License-Identifier: MIT */
#include "cli/agent/addresses.h"

#include <netinet/in.h>

#include "base/base.h"

static unsigned port_of(const struct agent_address *a)
{
	if (a->at.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&a->at)->sin_port);
	if (a->at.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&a->at)->sin6_port);
	return 0;
}

static bool is_any(const struct agent_address *a)
{
	if (a->at.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&a->at)->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&a->at)->sin6_addr);
}

static bool has_same_host(const struct agent_address *a, const struct agent_address *b)
{
	const struct sockaddr_in *a4 = (const void *)&a->at, *b4 = (const void *)&b->at;
	const struct sockaddr_in6 *a6 = (const void *)&a->at, *b6 = (const void *)&b->at;

	if (a->at.ss_family != b->at.ss_family)
		return false;
	if (a->at.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

/* The kernel chooses a port for 0. :: includes addresses of IPv4. */
static bool conflicts(const struct agent_address *a, const struct agent_address *b)
{
	if (!a->at.ss_family || !b->at.ss_family)
		return a->at.ss_family == b->at.ss_family && !strcmp(a->text, b->text);
	if (!port_of(a) || port_of(a) != port_of(b))
		return false;
	return has_same_host(a, b) || (is_any(a) && a->at.ss_family >= b->at.ss_family) ||
	       (is_any(b) && b->at.ss_family >= a->at.ss_family);
}

int agent_addresses_add(agent_addresses *addresses, const struct agent_address *address)
{
	struct agent_address copy = *address;

	vec_each (addresses, other)
		if (conflicts(other, address))
			return attar_fail(-EINVAL,
				"%s: '%s' is in use by %s of section '%s'" ATTAR_FIX
				"choose another %s",
				address->option, CLIP(address->text), other->option, other->section,
				address->at.ss_family ? "port" : "address");
	copy.text = strdup(address->text);
	if (copy.text && vec_push(addresses, copy) == 0)
		return 0;
	free(copy.text);
	return base_oom();
}

void agent_addresses_done(agent_addresses *addresses)
{
	vec_each (addresses, it)
		free(it->text);
	vec_done(addresses);
}
