/* SPDX-License-Identifier: MIT */
/* The configuration of attar agent. What is accepted has sections with a command line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "cli/agent/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct agent_config *config)
{
	vec_each (&config->sections, s)
		if (!*s->name || !s->run || !s->words || !s->words[0])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct agent_config none;
	struct agent_config config = {0};
	int fd _cleanup_close_ = memfd_create("agent.conf", MFD_CLOEXEC);
	char path[64];

	setenv("ATTAR_PRESETS", "", 1);
	if (fd < 0 || fchmod(fd, 0600) < 0 || file_write_all(fd, data, size) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (agent_config_read(path, &none, AGENT_READS, &config) == 0)
		check(&config);
	else if (!*attar_error())
		abort();
	agent_config_done(&config);
	attar_error_clear();
	return 0;
}
