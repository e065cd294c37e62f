/* SPDX-License-Identifier: MIT */
/*
 * Ending without waiting for tracepoints to be closed. The kernel removes a tracepoint when its
 * last descriptor is closed, which takes some 30 ms each, one after the other, also when a process
 * exits. A child that shares the descriptors until the parent has ended takes over that wait.
 */
#ifndef CLI_CLOSER_H
#define CLI_CLOSER_H

/*
 * Starts the child, right before this process ends. If no process can be started, this one waits
 * itself. Async-signal-safe.
 */
void closer_start(void);

#endif
