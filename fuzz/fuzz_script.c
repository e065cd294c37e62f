/* SPDX-License-Identifier: MIT */
/* A script: it is compiled, and the recording is read to its end. */
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#include "attar/base.h"
#include "perfdata/recording.h"
#include "perfdata/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording *recording;
	struct recording_part part;
	char path[64];
	int fd;

	if (script_compile("script", (const char *)data, size, &fd) < 0) {
		if (!*attar_error())
			abort();
		attar_error_clear();
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recording_open(path, &recording) < 0)
		abort(); /* the compiled recording can be read */
	while (recording_next(recording, &part) > 0)
		recording_release(recording, &part);
	recording_close(recording);
	close(fd);
	return 0;
}
