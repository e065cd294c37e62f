/* SPDX-License-Identifier: MIT */
#include "cli/agent/notify.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/base.h"

/* A failure is not reported: the service manager reports messages that it misses. */
void agent_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd _cleanup_close_ = -1;
	size_t n = path ? strlen(path) : 0;

	if (n < 2 || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (*path == '@') /* an abstract address */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

void agent_notify_reloading(void)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		(unsigned long long)(base_now() / 1000));
	agent_notify(text);
}

uint64_t agent_notify_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000 / 2;
}
