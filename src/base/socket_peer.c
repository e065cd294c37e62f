/* SPDX-License-Identifier: MIT */
#include "base/socket_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

/* In IPv4 or IPv6; an IPv4 address that is mapped into IPv6 becomes one of IPv4. */
static int find_name(int fd, bool is_peer, struct inet_diag_req_v2 *to)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	const struct sockaddr_in *four = (const void *)&name;
	const struct sockaddr_in6 *six = (const void *)&name;
	__be32 *address = is_peer ? to->id.idiag_src : to->id.idiag_dst;
	__be16 *port = is_peer ? &to->id.idiag_sport : &to->id.idiag_dport;

	if ((is_peer ? getpeername : getsockname)(fd, (struct sockaddr *)&name, &size) < 0)
		return -errno;
	*port = name.ss_family == AF_INET ? four->sin_port : six->sin6_port;
	to->sdiag_family = AF_INET;
	if (name.ss_family == AF_INET)
		memcpy(address, &four->sin_addr, 4);
	else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		memcpy(address, six->sin6_addr.s6_addr + 12, 4);
	else
		memcpy(address, &six->sin6_addr, sizeof(six->sin6_addr)),
			to->sdiag_family = AF_INET6;
	return 0;
}

/*
 * The user of the socket at the other end of a TCP connection within this machine. A socket that
 * is closed, or was not accepted, has no inode: older kernels then say that it is root's.
 */
static int find_tcp_user(int fd, uid_t *ret_uid)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} request = {.head = {.nlmsg_len = sizeof(request),
			     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			     .nlmsg_flags = NLM_F_REQUEST},
		.ask = {.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1 << TCP_ESTABLISHED,
			.id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
	const struct inet_diag_sockid *id = &request.ask.id;
	int diag _cleanup_close_ = -1;
	ssize_t n;

	if (find_name(fd, true, &request.ask) < 0 || find_name(fd, false, &request.ask) < 0)
		return -ENOTCONN;
	diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0 || send(diag, &request, sizeof(request), 0) < 0)
		return -errno;
	n = recv(diag, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
		answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		found->idiag_state != TCP_ESTABLISHED || !found->idiag_inode ||
		found->id.idiag_sport != id->idiag_sport ||
		found->id.idiag_dport != id->idiag_dport)
		return -ENOENT;
	*ret_uid = found->idiag_uid;
	return 0;
}

static int family_of(int fd)
{
	int family = AF_UNSPEC;
	socklen_t size = sizeof(family);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
	return family;
}

int socket_peer_user(int fd, uid_t *ret_uid)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (family_of(fd) != AF_UNIX)
		return find_tcp_user(fd, ret_uid);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return -errno;
	*ret_uid = who.uid;
	return 0;
}

bool socket_peer_is_own_vsock(int fd, bool is_listener)
{
	struct sockaddr_vm peer, self;
	socklen_t size = sizeof(peer), self_size = sizeof(self);
	bool is_here;

	if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0 ||
		getsockname(fd, (struct sockaddr *)&self, &self_size) < 0)
		return false;
	if (is_listener)
		return peer.svm_cid <= VMADDR_CID_HOST && peer.svm_port < RESERVED_PORTS;
	is_here = peer.svm_cid == VMADDR_CID_LOCAL || self.svm_cid == VMADDR_CID_LOCAL ||
		  self.svm_cid == peer.svm_cid;
	return !is_here || peer.svm_port < RESERVED_PORTS;
}

enum { ORIGIN_VM = 1, ORIGIN_USER, ORIGIN_ADDRESS };

static uint64_t origin_of(unsigned kind, uint32_t value)
{
	return (uint64_t)kind << 32 | value;
}

bool socket_origin_is_user(uint64_t origin)
{
	return origin >> 32 == ORIGIN_USER;
}

uint64_t socket_peer_origin(int fd, const struct sockaddr_storage *name)
{
	const struct sockaddr_in *four = (const void *)name;
	const struct sockaddr_in6 *six = (const void *)name;
	uint64_t network = 0;
	uid_t uid;

	if (name->ss_family == AF_VSOCK)
		return socket_peer_is_own_vsock(fd, true)
			       ? 0
			       : origin_of(ORIGIN_VM, ((const struct sockaddr_vm *)name)->svm_cid);
	if (socket_peer_user(fd, &uid) == 0)
		return !uid || uid == geteuid() ? 0 : origin_of(ORIGIN_USER, uid);
	if (name->ss_family == AF_INET)
		return origin_of(ORIGIN_ADDRESS, four->sin_addr.s_addr);
	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		memcpy(&network, six->sin6_addr.s6_addr + 8, sizeof(network));
	else
		memcpy(&network, &six->sin6_addr, sizeof(network));
	return network ?: 1;
}
