/* SPDX-License-Identifier: MIT */
#include "peer/sender.h"
#include "run/run.h"

int run_check_push(const struct attar_run *run, struct sockaddr_storage *ret_address)
{
	const struct peer_sender_opts opts = {.option = "--push",
		.address = run->opts.push,
		.tls = {run->opts.peer_psk, run->opts.peer_cert, run->opts.peer_key,
			run->opts.peer_ca}};
	struct address address;
	int r;

	*ret_address = (struct sockaddr_storage){0};
	if (!opts.address)
		return 0;
	r = peer_sender_check(&opts, &address);
	if (r == 0 && address.kind == ADDRESS_TCP)
		*ret_address = address.tcp;
	return r;
}
