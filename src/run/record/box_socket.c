/* SPDX-License-Identifier: MIT */
#include "run/record/box_socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/base.h"

enum { BACKLOG = 8, ANSWER_MS = 60000 };

/* ---- the address ---- */

/* Whether only the user can create files in the directory. */
static bool is_own_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

/* False: the user has no directory for it. */
static bool find_address(struct sockaddr_un *address)
{
	const char *folder = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : "/run/attar";
	const char *name = geteuid() ? "attar-box" : "box";
	int n;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!folder)
		return false;
	if (!geteuid())
		(void)mkdir(folder, 0700);
	n = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s", folder, name);
	return n < (int)sizeof(address->sun_path) && is_own_folder(folder);
}

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int connect_to(const struct sockaddr_un *address)
{
	int fd = new_socket();

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	int error = errno;

	close(fd);
	return -error;
}

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* ---- the box ---- */

/* The socket of a box that was killed is replaced. */
int box_socket_listen(int *ret_fd)
{
	struct sockaddr_un address;
	int fd;

	if (!find_address(&address))
		return -ENOENT;
	fd = connect_to(&address);
	if (fd >= 0 || fd == -EAGAIN) {
		if (fd >= 0)
			close(fd);
		return -EADDRINUSE;
	}
	(void)unlink(address.sun_path);
	fd = new_socket();
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		chmod(address.sun_path, 0600) < 0 || listen(fd, BACKLOG) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	*ret_fd = fd;
	return 0;
}

int box_socket_accept(int fd)
{
	int client = fd < 0 ? -1 : accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client >= 0 && !is_trusted(client))
		close(TAKE_FD(client));
	return client;
}

/* The space for one descriptor. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

void box_socket_give(int client, int recording)
{
	char byte = recording >= 0 ? 'r' : 'n';
	struct iovec part = {&byte, 1};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (recording >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &recording, sizeof(recording));
	}
	(void)!sendmsg(client, &message, MSG_NOSIGNAL);
	close(client);
}

void box_socket_close(int fd)
{
	struct sockaddr_un address;

	if (fd < 0)
		return;
	if (find_address(&address))
		(void)unlink(address.sun_path);
	close(fd);
}

/* ---- who reads ---- */

/* The descriptor in the answer; -1: it has none. */
static int receive(int fd)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	const struct cmsghdr *header;
	int recording = -1;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&recording, CMSG_DATA(header), sizeof(recording));
	return recording;
}

static int get_from(int fd, int *ret_recording)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	int recording = -1;

	if (!is_trusted(fd))
		return attar_fail(-EPERM, "the black box is of another user");
	if (TEMP_FAILURE_RETRY(poll(&answer, 1, ANSWER_MS)) > 0)
		recording = receive(fd);
	if (recording < 0)
		return attar_fail(-EIO, "the black box does not give its events" ATTAR_FIX
					"see what 'attar record --overwrite' says on stderr");
	*ret_recording = recording;
	return 0;
}

int box_socket_get(int *ret_recording)
{
	struct sockaddr_un address;
	int fd = find_address(&address) ? connect_to(&address) : -ENOENT, r;

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return attar_fail(-ENOENT, "no black box runs");
	if (fd < 0)
		return attar_fail(fd, "cannot connect to the black box at %s: %s", address.sun_path,
			strerror(-fd));
	r = get_from(fd, ret_recording);
	close(fd);
	return r;
}
