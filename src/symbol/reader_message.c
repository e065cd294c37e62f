/* SPDX-License-Identifier: MIT */
#include "symbol/reader_message.h"

#include <sys/socket.h>

/* Room for the descriptors of a packet, aligned. */
union control {
	char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	struct cmsghdr align;
};

int message_send(int fd, const struct message *head, const struct message_pieces *pieces)
{
	struct iovec parts[] = {{(void *)head, sizeof(*head)}, {(void *)pieces->a, pieces->a_size},
		{(void *)pieces->b, pieces->b_size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
	union control control = {0};
	struct cmsghdr *c;

	if (pieces->n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(pieces->n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(pieces->n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), pieces->fds, pieces->n_fds * sizeof(int));
	}
	return TEMP_FAILURE_RETRY(sendmsg(fd, &message, MSG_NOSIGNAL)) < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *message, struct packet *packet)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	n = MIN((c->cmsg_len - CMSG_LEN(0)) / sizeof(int), (size_t)MESSAGE_FDS);
	memcpy(packet->fds, CMSG_DATA(c), n * sizeof(int));
	packet->n_fds = (unsigned)n;
}

int message_receive(int fd, struct packet *packet)
{
	struct iovec parts[] = {
		{&packet->head, sizeof(packet->head)}, {packet->bytes, MESSAGE_MAX}};
	union control control;
	struct msghdr message = {.msg_iov = parts,
		.msg_iovlen = ARRAY_SIZE(parts),
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

	packet->n_fds = 0;
	if (n <= 0)
		return n < 0 ? -errno : 0;
	take_fds(&message, packet);
	packet->n = (size_t)n - MIN((size_t)n, sizeof(packet->head));
	packet->bytes[packet->n] = 0;
	if ((size_t)n >= sizeof(packet->head) && packet->head.texts <= packet->n &&
		!(message.msg_flags & MSG_TRUNC))
		return 1;
	packet_close(packet);
	return -EBADMSG;
}

void packet_close(struct packet *packet)
{
	for (unsigned i = 0; i < packet->n_fds; i++)
		base_close_p(&packet->fds[i]);
	packet->n_fds = 0;
}
