/* SPDX-License-Identifier: MIT */
/* Opens outputs: checks that the profiler has what each one shows. outputs.c draws on them. */
#ifndef CLI_OUTPUT_OUTPUTS_OPEN_H
#define CLI_OUTPUT_OUTPUTS_OPEN_H

#include "cli/output/outputs.h"

/*
 * Opens the file, or creates it; what is drawn from now on goes to it. Its contents remain. Returns
 * 0, or -EIO with an error message.
 */
int output_open_file(struct output *out, const char *path);

/* The same for the file of this time, which is new. */
int output_open_rotated(struct output *out, uint64_t time);

/* What is drawn from now on goes to fd, which is taken over. Returns 0, or -EIO as above. */
int output_direct_to(struct output *out, int fd);

/* Returns 0, or EOF with errno. */
int output_close_file(struct output *out);

int output_descriptor(const struct output *out);

/* Finds out whether it is a regular file, and which one. */
void output_identify(struct output *out);

/* Whether the format shows lines of events, not only reports. */
bool sink_draws_lines(const struct attar_sink *sink);

#endif
