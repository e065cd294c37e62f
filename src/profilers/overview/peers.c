/* SPDX-License-Identifier: MIT */
#include "overview/peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attar/private/thread.h"
#include "overview/usage.h"

enum {
	PERIOD_MS = 100,
	PROCESSES_MAX = 8, /* whose main threads are asked for whom they wait */
	BACKENDS_MAX = 64, /* whose titles are read */
	NS_PER_MS = 1000000,
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 * NS_PER_MS + (uint64_t)ts.tv_nsec;
}

static void add(struct peers *peers, const struct usage *usage, const char *object)
{
	struct peer *peer;

	for (size_t i = 0; i < peers->n; i++) {
		peer = &peers->at[i];
		if (peer->pid == usage->pid && !strcmp(peer->object, object)) {
			peer->seen++;
			return;
		}
	}
	if (peers->n == PEERS_MAX)
		return;
	peer = &peers->at[peers->n++];
	*peer = (struct peer){.pid = usage->pid, .tid = usage->pid, .seen = 1};
	memcpy(peer->comm, usage->comm, sizeof(peer->comm));
	snprintf(peer->object, sizeof(peer->object), "%s", object);
}

/* "postgres: user database 127.0.0.1(46548) UPDATE waiting": it sets its title so. */
static bool waits_for_lock(pid_t pid)
{
	static const char end[] = " waiting";
	char path[64], title[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, title, sizeof(title) - 1) : -1;
	if (fd >= 0)
		close(fd);
	while (n > 0 && (!title[n - 1] || title[n - 1] == ' '))
		n--;
	title[n > 0 ? n : 0] = '\0';
	return n >= (ssize_t)sizeof(end) && !strncmp(title, "postgres: ", 10) &&
	       !strcmp(title + n - (sizeof(end) - 1), end);
}

/* The descriptor for which the process waits in a system call; -1: none, or of several. */
static int awaited(pid_t pid)
{
	unsigned long long first, second;
	char path[64], text[128];
	int fd, number;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%d %llx %llx", &number, &first, &second) != 3)
		return -1;
	switch (number) {
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
		return (int)first;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		if (second != 1 ||
			thread_memory(pid, first, &fd, sizeof(fd)) != (ssize_t)sizeof(fd))
			return -1;
		return fd;
	default:
		return -1;
	}
}

/* "127.0.0.1:53", "[::1]:53" */
static bool name_of(const struct sockaddr_storage *address, char *ret_name, size_t size)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;
	char text[INET6_ADDRSTRLEN];

	if (address->ss_family == AF_INET && inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
		snprintf(ret_name, size, "%s:%u", text, ntohs(in->sin_port));
	else if (address->ss_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)))
		snprintf(ret_name, size, "[%s]:%u", text, ntohs(in6->sin6_port));
	else
		return false;
	return true;
}

/* The address of the other end; the kernel's tables of sockets take thousand times longer. */
static bool peer_of(pid_t pid, int fd, char *ret_name, size_t size)
{
	struct sockaddr_storage address;
	socklen_t n = sizeof(address);
	int process = (int)syscall(SYS_pidfd_open, pid, 0),
	    copy = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, fd, 0) : -1;
	bool is_known = copy >= 0 && getpeername(copy, (struct sockaddr *)&address, &n) == 0 &&
			name_of(&address, ret_name, size);

	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return is_known;
}

static void look_at(const struct usage *usage, struct peers *peers)
{
	char name[ATTAR_WAIT_OBJECT_BYTES];
	int fd = awaited(usage->pid);

	if (fd >= 0 && peer_of(usage->pid, fd, name, sizeof(name)))
		add(peers, usage, name);
}

void peers_look(const struct usages *usages, struct peers *peers)
{
	uint64_t time = now();
	size_t backends = 0, selected = 0;

	if (time - peers->time < (uint64_t)PERIOD_MS * NS_PER_MS)
		return;
	peers->time = time;
	for (size_t i = 0; i < usages->n; i++)
		selected += usages->at[i].is_selected;
	for (size_t i = 0; i < usages->n; i++) {
		const struct usage *usage = &usages->at[i];

		if (!usage->is_selected)
			continue;
		if (!strcmp(usage->comm, "postgres") && backends++ < BACKENDS_MAX &&
			waits_for_lock(usage->pid)) {
			peers->waiting_backends++;
			add(peers, usage, "");
		}
		if (selected <= PROCESSES_MAX)
			look_at(usage, peers);
	}
	peers->looks++;
}

const struct peer *peers_most(const struct peers *peers, bool is_lock)
{
	const struct peer *most = NULL;

	for (size_t i = 0; i < peers->n; i++)
		if ((!*peers->at[i].object) == is_lock && (!most || peers->at[i].seen > most->seen))
			most = &peers->at[i];
	return most;
}
