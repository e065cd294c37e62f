/* SPDX-License-Identifier: MIT */
/*
 * Messages to the service manager, as sd_notify(3) describes: a datagram with lines KEY=VALUE to
 * the socket in $NOTIFY_SOCKET. Without that variable, nothing is sent.
 */
#ifndef CLI_AGENT_NOTIFY_H
#define CLI_AGENT_NOTIFY_H

#include <stdint.h>

/* Sends the text, such as "READY=1". */
void agent_notify(const char *text);

/* "RELOADING=1" with the time, which systemd 253 asks for with Type=notify-reload. */
void agent_notify_reloading(void);

/* How often "WATCHDOG=1" is due, ns: half of what the manager waits; 0: it does not ask for it. */
uint64_t agent_notify_watchdog(void);

#endif
