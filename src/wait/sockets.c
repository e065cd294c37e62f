/* SPDX-License-Identifier: MIT */
/* The other end of a socket: UNIX sockets by sock_diag(7), connections by /proc/PID/net. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/file.h"
#include "wait/wait.h"

enum {
	PATH_BYTES = 64,
	TABLE_MAX = 1 << 23, /* bytes of /proc/PID/net/tcp */
	ANSWER_BYTES = 1 << 15,
	NETS_MAX = 64,
	/* tcp_states.h */
	ESTABLISHED = 1,
	SYN_SENT = 2,
	FIN_WAIT1 = 4,
	LAST_ACK = 9,
	LISTEN = 10,
	CLOSING = 11,
	LISTENS = 0x10000, /* a flag of /proc/PID/net/unix */
	/* proc_net_tcp.rst: the timer that runs */
	TIMER_RETRANSMIT = 1,
	TIMER_ZERO_WINDOW = 4,
};

/* ---- UNIX sockets ---- */

static int request_unix(int fd)
{
	const struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {.header = {.nlmsg_len = sizeof(message),
			     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = AF_UNIX,
			.udiag_states = UINT32_MAX,
			.udiag_show = UDIAG_SHOW_PEER}};

	return send(fd, &message, sizeof(message), 0) == sizeof(message) ? 0 : -errno;
}

static int add_unix(struct attar_waits *waits, const struct nlmsghdr *header)
{
	const struct unix_diag_msg *socket = NLMSG_DATA(header);
	const struct rtattr *attribute = (const struct rtattr *)(socket + 1);
	size_t rest = header->nlmsg_len - NLMSG_LENGTH(sizeof(*socket));

	if (header->nlmsg_len < NLMSG_LENGTH(sizeof(*socket)))
		return 0;
	for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
		uint32_t peer;

		if (attribute->rta_type != UNIX_DIAG_PEER ||
			RTA_PAYLOAD(attribute) < sizeof(peer) ||
			waits->unix_peers.n >= WAIT_SOCKETS_MAX)
			continue;
		memcpy(&peer, RTA_DATA(attribute), sizeof(peer));
		if (map_put(&waits->unix_peers, socket->udiag_ino, peer) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Returns 1 at the end, 0, or a negative errno. */
static int take_unix(struct attar_waits *waits, const char *answer, size_t rest)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	int r = 0;

	for (; r == 0 && NLMSG_OK(header, rest); header = NLMSG_NEXT(header, rest)) {
		if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
			return 1;
		if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			r = add_unix(waits, header);
	}
	return r;
}

/* The sockets of the network namespace of this process. */
static int read_unix(struct attar_waits *waits)
{
	char answer[ANSWER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int fd _cleanup_close_ = -1, r;

	if (waits->has_unix)
		return 0;
	waits->has_unix = true;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	r = fd < 0 ? -errno : request_unix(fd);
	while (r == 0) {
		ssize_t n = TEMP_FAILURE_RETRY(recv(fd, answer, sizeof(answer), 0));

		r = n <= 0 ? 1 : take_unix(waits, answer, (size_t)n);
	}
	return r == -ENOMEM ? r : 0;
}

/* The address that the call names; "": none. "@name": of the abstract namespace. */
static void read_unix_address(const struct wait_thread *thread, const struct attar_wait *wait,
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1])
{
	const bool connects = wait->call == SYS_connect;
	const uint64_t at = thread->args[connects ? 1 : 4], size = thread->args[connects ? 2 : 5];
	struct sockaddr_un address = {0};

	*name = '\0';
	if ((!connects && wait->call != SYS_sendto) || !at ||
		size <= offsetof(struct sockaddr_un, sun_path) || size > sizeof(address) ||
		!wait_read(thread, at, &address, size) || address.sun_family != AF_UNIX)
		return;
	memcpy(name, address.sun_path, sizeof(address.sun_path));
	name[sizeof(address.sun_path)] = '\0';
	if (!*name)
		*name = '@';
}

/* A line of /proc/PID/net/unix, of a socket that has a name. */
struct unix_row {
	unsigned flags, type;
	uint64_t inode;
	const char *name;
};

/* Whether it is the one that is looked for. */
typedef bool unix_row_fn(void *ctx, const struct unix_row *row);

/* Calls fn for the sockets of the thread's network namespace until it returns true. */
static void each_unix_row(pid_t tid, unix_row_fn *fn, void *ctx)
{
	struct buf table _cleanup_(buf_done) = {0};
	char path[PATH_BYTES], *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)tid);
	if (file_read(path, TABLE_MAX, &table) < 0)
		attar_error_clear();
	for (char *line = table.len ? strtok_r(table.data, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		struct unix_row row;
		int at = 0;

		if (sscanf(line, "%*s %*x %*x %x %x %*x %" SCNu64 " %n", &row.flags, &row.type,
			    &row.inode, &at) != 3 ||
			!at || !line[at])
			continue;
		row.name = line + at;
		if (fn(ctx, &row))
			return;
	}
}

struct unix_address {
	const char *name;
	bool listens;
	uint64_t inode; /* 0: not found */
};

static bool has_unix_address(void *ctx, const struct unix_row *row)
{
	struct unix_address *address = ctx;

	if (strcmp(row->name, address->name) != 0 || (address->listens && !(row->flags & LISTENS)))
		return false;
	address->inode = row->inode;
	return true;
}

/*
 * The socket with this name; 0: there is none. In the table: "Num: RefCount Protocol Flags Type St
 * Inode Path".
 */
static uint64_t find_unix_address(pid_t tid, const char *name, bool listens)
{
	struct unix_address address = {.name = name, .listens = listens};

	each_unix_row(tid, has_unix_address, &address);
	return address.inode;
}

struct unix_datagrams {
	struct attar_wait *wait;
	uint64_t inode;
};

/* A socket of datagrams without a peer, which has a name: a client does not need one. */
static bool is_unix_datagrams(void *ctx, const struct unix_row *row)
{
	const struct unix_datagrams *socket = ctx;

	if (row->inode != socket->inode || row->type != SOCK_DGRAM)
		return false;
	socket->wait->kind = ATTAR_WAIT_CLIENTS;
	wait_set_object(socket->wait, "datagrams at %s", row->name);
	return true;
}

static void wait_unix_datagrams(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode)
{
	struct unix_datagrams socket = {.wait = wait, .inode = inode};

	if (!waits->has_running || waits->unix_reads == WAIT_UNIX_READS_MAX)
		return;
	waits->unix_reads++;
	each_unix_row(thread->tid, is_unix_datagrams, &socket);
}

/*
 * Of a socket without a peer, the one with the address that the call names. Threads of a process
 * often name the same; otherwise, the table is read for few of them, since it may be long.
 */
static int wait_unix_address(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1],
		key[sizeof(waits->unix_key)] = "";

	read_unix_address(thread, wait, name);
	if (!*name)
		return 0;
	wait->kind = ATTAR_WAIT_UNIX;
	wait->connects = wait->call == SYS_connect;
	wait_set_object(wait, "%s", name);
	if (!waits->has_running)
		return 0;
	snprintf(key, sizeof(key), "%d %d %s", (int)wait_process(thread), wait->connects, name);
	if (strcmp(key, waits->unix_key) != 0) {
		if (waits->unix_reads == WAIT_UNIX_READS_MAX)
			return 0;
		waits->unix_reads++;
		memcpy(waits->unix_key, key, sizeof(key));
		waits->unix_inode = find_unix_address(thread->tid, name, wait->connects);
	}
	return waits->unix_inode ? wait_other_end(waits, thread, wait, waits->unix_inode) : 0;
}

/* ---- TCP ---- */

/* "0100007F:1F90", or 32 digits for IPv6: 32-bit words in the order of this machine. */
static bool parse_address(const char *text, struct wait_address *ret_address)
{
	uint32_t words[4] = {0, 0, htonl(0xffff), 0};
	size_t digits = strcspn(text, ":");
	unsigned port;

	if (digits == 32) {
		if (sscanf(text, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 ":%x", &words[0],
			    &words[1], &words[2], &words[3], &port) != 5)
			return false;
	} else if (digits != 8 || sscanf(text, "%8" SCNx32 ":%x", &words[3], &port) != 2) {
		return false;
	}
	memcpy(ret_address->bytes, words, sizeof(words));
	ret_address->port = (uint16_t)port;
	return true;
}

/* "0: LOCAL REMOTE STATE TX:RX TR:WHEN RETRANSMITS UID TIMEOUT INODE ..." */
static int parse_sockets(struct wait_sockets *sockets, char *table, bool is_udp)
{
	char *save = NULL;

	for (char *line = strtok_r(table, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct wait_socket socket = {.is_udp = is_udp};
		char local[64], remote[64];

		if (sscanf(line, " %*d: %63s %63s %x %*s %x:%*s %x %*s %*s %" SCNu64, local, remote,
			    &socket.state, &socket.timer, &socket.retransmits,
			    &socket.inode) != 6 ||
			!parse_address(local, &socket.local) ||
			!parse_address(remote, &socket.remote))
			continue;
		if (sockets->list.n >= WAIT_SOCKETS_MAX)
			return 0;
		if (vec_push(&sockets->list, socket) < 0)
			return base_oom();
	}
	return 0;
}

static int read_sockets(pid_t tid, struct wait_sockets *sockets)
{
	static const char *const names[] = {"tcp", "tcp6", "udp", "udp6"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		struct buf table = {0};
		char path[PATH_BYTES];

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)tid, names[i]);
		if (file_read(path, TABLE_MAX, &table) < 0)
			attar_error_clear();
		if (table.len)
			r = parse_sockets(sockets, table.data, *names[i] == 'u');
		buf_done(&table);
	}
	return r;
}

static int find_sockets(struct attar_waits *waits, pid_t tid, struct wait_sockets **ret_sockets)
{
	struct wait_sockets *sockets;
	char path[PATH_BYTES];
	struct stat st;

	*ret_sockets = NULL;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)tid);
	if (stat(path, &st) < 0)
		return 0;
	vec_each (&waits->nets, net)
		if ((*net)->net == st.st_ino) {
			*ret_sockets = *net;
			return 0;
		}
	if (waits->nets.n >= NETS_MAX)
		return 0;
	sockets = calloc(1, sizeof(*sockets));
	if (!sockets || vec_push(&waits->nets, sockets) < 0) {
		free(sockets);
		return base_oom();
	}
	sockets->net = st.st_ino;
	*ret_sockets = sockets;
	return read_sockets(tid, sockets);
}

static bool is_same(const struct wait_address *a, const struct wait_address *b)
{
	return a->port == b->port && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* "127.0.0.1:80", "[::1]:80" */
static void set_address(struct attar_wait *wait, const struct wait_address *address)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	const bool is_v4 = !memcmp(address->bytes, v4, sizeof(v4));
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? address->bytes + 12 : address->bytes, text,
		sizeof(text));
	wait_set_object(wait, is_v4 ? "%s:%u" : "[%s]:%u", text, address->port);
}

/* " (zero window)", as ss(8) says; of a connection that is well, nothing. */
static void add_state(struct attar_wait *wait, const struct wait_socket *socket, bool is_queued)
{
	char address[sizeof(wait->object)];

	memcpy(address, wait->object, sizeof(address));
	if (socket->is_udp)
		return;
	if (socket->timer == TIMER_ZERO_WINDOW)
		wait_set_object(wait, "%s (zero window)", address);
	else if (socket->timer == TIMER_RETRANSMIT && socket->retransmits)
		wait_set_object(wait, "%s (%s, %u retransmission%s)", address,
			wait->connects ? "SYN sent" : "retransmitting", socket->retransmits,
			socket->retransmits == 1 ? "" : "s");
	else if (is_queued)
		wait_set_object(wait, "%s (not accepted yet)", address);
}

static const struct wait_socket *find_inode(const struct wait_sockets *sockets, uint64_t inode)
{
	vec_each (&sockets->list, socket)
		if (socket->inode == inode)
			return socket;
	return NULL;
}

static bool is_loopback(const struct wait_address *a)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}, v6[16] = {[15] = 1};

	return (!memcmp(a->bytes, v4, sizeof(v4)) && a->bytes[12] == 127) ||
	       !memcmp(a->bytes, v6, sizeof(v6));
}

/*
 * The socket at the other end, if it is of this host. One that was not accepted has no inode: the
 * listener of a loopback connection is its other end, as while it connects.
 */
static const struct wait_socket *find_other(
	const struct wait_sockets *sockets, const struct wait_socket *own, bool *ret_is_queued)
{
	const struct wait_socket *listener = NULL;

	*ret_is_queued = false;
	vec_each (&sockets->list, socket) {
		const bool is_other = socket->is_udp == own->is_udp &&
				      is_same(&socket->local, &own->remote) &&
				      is_same(&socket->remote, &own->local);

		if (is_other && socket->inode)
			return socket;
		*ret_is_queued |= is_other && socket->state == ESTABLISHED;
		if (socket->state == LISTEN && socket->local.port == own->remote.port &&
			is_loopback(&own->remote))
			listener = socket;
	}
	return listener;
}

static int wait_tcp(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode)
{
	struct wait_sockets *sockets;
	int r = find_sockets(waits, thread->tid, &sockets);
	bool is_queued;
	const struct wait_socket *own = sockets ? find_inode(sockets, inode) : NULL, *other;

	if (r < 0 || !own)
		return r;
	if (own->state == LISTEN || (own->is_udp && !own->remote.port)) {
		wait->kind = ATTAR_WAIT_CLIENTS;
		if (own->is_udp)
			wait_set_object(wait, "datagrams at port %u", own->local.port);
		return 0;
	}
	wait->kind = ATTAR_WAIT_NETWORK;
	wait->connects = own->state == SYN_SENT;
	set_address(wait, &own->remote);
	other = find_other(sockets, own, &is_queued);
	add_state(wait, own, other && is_queued && other->state == LISTEN);
	return other ? wait_other_end(waits, thread, wait, other->inode) : 0;
}

static bool is_closing(const struct wait_socket *socket)
{
	return !socket->is_udp && (socket->state == FIN_WAIT1 || socket->state == LAST_ACK ||
					  socket->state == CLOSING);
}

/*
 * The socket that a call closes while it waits: it has an inode, but is no open file. NULL:
 * unknown, or there are several.
 */
static const struct wait_socket *find_closing(
	struct attar_waits *waits, const struct wait_sockets *sockets)
{
	const struct wait_socket *found = NULL;

	vec_each (&sockets->list, socket) {
		if (!socket->inode || !is_closing(socket) ||
			map_get(&waits->by_inode, socket->inode))
			continue;
		if (found)
			return NULL;
		found = socket;
	}
	return found;
}

int wait_closing(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct wait_socket *own = NULL, *other;
	struct wait_sockets *sockets = NULL;
	char address[sizeof(wait->object)];
	bool is_queued;
	int r = 0;

	wait->kind = ATTAR_WAIT_NETWORK;
	wait->fd = -1;
	wait_set_object(wait, "data of a connection that it closes to be acknowledged (SO_LINGER)");
	if (waits->has_running) /* otherwise, the open files are not wanted */
		r = wait_read_files(waits);
	if (r == 0 && waits->has_running)
		r = find_sockets(waits, thread->tid, &sockets);
	if (r == 0 && sockets && waits->files.n < WAIT_FILES_MAX)
		own = find_closing(waits, sockets);
	if (!own)
		return r;
	set_address(wait, &own->remote);
	memcpy(address, wait->object, sizeof(address));
	wait_set_object(wait,
		"data of the connection with %s, which it closes, to be acknowledged (SO_LINGER)",
		address);
	other = find_other(sockets, own, &is_queued);
	return other ? wait_other_end(waits, thread, wait, other->inode) : 0;
}

int wait_socket(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode)
{
	int r = read_unix(waits);
	const uint64_t *peer = r == 0 ? map_get(&waits->unix_peers, inode) : NULL;

	if (r < 0)
		return r;
	if (!peer)
		r = wait_tcp(waits, thread, wait, inode);
	else {
		wait->kind = ATTAR_WAIT_UNIX;
		r = wait_other_end(waits, thread, wait, *peer);
	}
	if (r == 0 && wait->kind == ATTAR_WAIT_UNKNOWN)
		r = wait_unix_address(waits, thread, wait);
	if (r == 0 && wait->kind == ATTAR_WAIT_UNKNOWN && !wait->writes)
		wait_unix_datagrams(waits, thread, wait, inode);
	if (r == 0 && wait->kind == ATTAR_WAIT_UNKNOWN)
		wait_set_object(wait, "socket:[%" PRIu64 "]", inode);
	return r;
}
