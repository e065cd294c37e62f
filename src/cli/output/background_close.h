/* SPDX-License-Identifier: MIT */
/*
 * Exits without waiting until tracepoints are closed. Closing the last descriptor of a tracepoint
 * takes about 30 ms, one after the other, also when a process exits. A child that shares the
 * descriptors and outlives the parent closes them in the background.
 */
#ifndef CLI_OUTPUT_BACKGROUND_CLOSE_H
#define CLI_OUTPUT_BACKGROUND_CLOSE_H

/*
 * Starts the child; call right before this process exits. If that fails, this process waits itself.
 * Async-signal-safe.
 */
void background_close_start(void);

#endif
