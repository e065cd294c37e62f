/* SPDX-License-Identifier: MIT */
/* What a host of attar fleet sends: the lines of its protocol, with reports. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/fleet/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 60000 }; /* fit into a pipe */

static void check(const struct fleet_host *h)
{
	if (h->reports.n > FLEET_QUEUE_MAX || h->n_reports < h->reports.n ||
		(h->state == FLEET_FAILED && !*h->reason) ||
		memchr(h->reason, '\0', sizeof(h->reason)) == NULL)
		abort();
}

/* The host's answers: to the start, and to the request to run. */
static void serve(struct fleet_host *h, int to_us, const uint8_t *data, size_t n)
{
	if (write(to_us, data, n) != (ssize_t)n)
		abort();
	for (int i = 0; i < 4; i++) {
		fleet_host_read(h);
		fleet_host_write(h);
		check(h);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet_order order = {.ssh = "ssh", .attar = "attar", .copy_fd = -1};
	struct fleet_host host = {.name = "host",
		.order = &order,
		.error_ns = UINT64_MAX,
		.err = -1,
		.state = FLEET_CONNECTS};
	const uint8_t *end = memchr(data, '\f', size);
	size_t first = end ? (size_t)(end - data) : size;
	int from[2], null;

	if (size > BYTES_MAX)
		return 0;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || pipe2(from, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	host.out = from[0];
	host.in = null;
	serve(&host, from[1], data, first);
	if (host.state == FLEET_READY) {
		fleet_host_run(&host, 1);
		if (end)
			serve(&host, from[1], end + 1, size - first - 1);
	}
	close(from[1]);
	fleet_host_done(&host);
	attar_error_clear();
	return 0;
}
