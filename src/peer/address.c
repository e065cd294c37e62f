/* SPDX-License-Identifier: MIT */
#include "peer/address.h"

#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/accept_gate.h"
#include "base/parse.h"
#include "base/place.h"
#include "base/socket_peer.h"

enum { TRIES_MS = 5000, TRY_MS = 50, PORT_MAX = 65535 };

/*
 * ms until a connection that was not answered is made anew, because the queue of the listener is
 * full: the kernel would try again after 1, 3 and 7 seconds. Then twice as long each time, up to
 * the last, and from the first on again.
 */
enum { ANEW_HERE_MS = 2, ANEW_HERE_LAST_MS = 64, ANEW_MS = 400, ANEW_LAST_MS = 6400 };

/* A receiver of root uses a reserved port of the upper half. */
enum { RESERVED_FIRST = 512 };

/* When another machine does not answer: seconds without data, and between probes. */
enum { IDLE_S = 5, PROBE_S = 3, PROBES = 3, LOST_MS = 15000 };

/* ---- text ---- */

static const char unix_prefix[] = "unix:";

static int bad_address(const char *option, const char *text)
{
	/* an event ends at the slash of a path without quotes */
	if (!strcmp(text, unix_prefix))
		return attar_fail(-EINVAL,
			"%s: '%s' has no path" ATTAR_FIX
			"write unix:PATH; in an event, a path needs quotes, as in "
			"pull=\"unix:/run/x\"",
			option, text);
	return attar_fail(-EINVAL,
		"%s: '%s' is not an address" ATTAR_FIX
		"write PORT, HOST:PORT, [HOST]:PORT, vsock:CID:PORT, "
		"unix:PATH, or the path of a file or device with a slash",
		option, CLIP(text));
}

static int parse_number(const char *text, uint64_t max, unsigned *ret_number)
{
	uint64_t value;

	if (*text < '0' || *text > '9' || parse_u64(text, &value) < 0 || value > max) {
		attar_error_clear();
		return -EINVAL;
	}
	*ret_number = (unsigned)value;
	return 0;
}

static int parse_vsock(const char *text, struct address *a)
{
	const char *colon = strchr(text, ':');
	char cid[16];

	a->kind = ADDRESS_VSOCK;
	a->cid = VMADDR_CID_ANY;
	if (!colon)
		return parse_number(text, UINT32_MAX - 1, &a->port);
	if ((size_t)(colon - text) >= sizeof(cid))
		return -EINVAL;
	snprintf(cid, sizeof(cid), "%.*s", (int)(colon - text), text);
	return parse_number(cid, UINT32_MAX - 1, &a->cid) < 0
		       ? -EINVAL
		       : parse_number(colon + 1, UINT32_MAX - 1, &a->port);
}

static int parse_tcp(const char *text, struct address *a)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	a->kind = ADDRESS_TCP;
	snprintf(a->host, sizeof(a->host), "127.0.0.1");
	if (n && *text == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (n && memchr(text, ':', n)) {
		return -EINVAL; /* an IPv6 address needs brackets */
	}
	if (n >= sizeof(a->host))
		return -EINVAL;
	if (n)
		snprintf(a->host, sizeof(a->host), "%.*s", (int)n, text);
	return parse_number(colon ? colon + 1 : text, PORT_MAX, &a->port);
}

static int parse_unix(const char *path, struct address *a)
{
	a->kind = ADDRESS_UNIX;
	if (!*path || strlen(path) >= sizeof(a->path))
		return -EINVAL;
	snprintf(a->path, sizeof(a->path), "%s", path);
	return 0;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
	return at->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

static int resolve(const char *option, const struct address *a, struct addrinfo **ret_info)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	char port[16];
	int e;

	snprintf(port, sizeof(port), "%u", a->port);
	e = getaddrinfo(a->host, port, &hints, ret_info);
	return e ? attar_fail(-EINVAL, "%s: unknown host '%s': %s", option, CLIP(a->host),
			   gai_strerror(e))
		 : 0;
}

/*
 * Looks up the name once, so that is_local belongs to the address that is used. A name can have
 * several addresses: all must be of this machine.
 */
static int find_tcp(const char *option, struct address *a)
{
	struct addrinfo *info;
	int r = resolve(option, a, &info);

	if (r < 0)
		return r;
	a->is_local = true;
	for (const struct addrinfo *i = info; i; i = i->ai_next)
		a->is_local &= is_loopback(i->ai_addr);
	memcpy(&a->tcp, info->ai_addr, info->ai_addrlen);
	a->tcp_len = info->ai_addrlen;
	freeaddrinfo(info);
	return 0;
}

int address_parse(const char *option, const char *text, struct address *ret_address)
{
	struct address a = {.text = text, .is_local = true};
	int r;

#ifndef HAVE_ZLIB
	return attar_fail(-EOPNOTSUPP,
		"%s is not available: this attar was built without zlib" ATTAR_FIX
		"install zlib1g-dev and rebuild attar",
		option);
#endif
	if (!strncmp(text, "vsock:", 6))
		r = parse_vsock(text + 6, &a);
	else if (!strncmp(text, unix_prefix, strlen(unix_prefix)))
		r = parse_unix(text + strlen(unix_prefix), &a);
	else if (strchr(text, '/') && is_socket(text))
		r = parse_unix(text, &a);
	else if (strchr(text, '/'))
		r = (a.kind = ADDRESS_PATH, 0);
	else
		r = parse_tcp(text, &a);
	if (r < 0)
		return bad_address(option, text);
	if (a.kind == ADDRESS_TCP && (r = find_tcp(option, &a)) < 0)
		return r;
	*ret_address = a;
	return 0;
}

/* ---- sockets ---- */

union any {
	struct sockaddr any;
	struct sockaddr_storage storage;
	struct sockaddr_un un;
	struct sockaddr_vm vm;
	struct sockaddr_in in;
};

static socklen_t fill(const struct address *a, union any *to)
{
	memset(to, 0, sizeof(*to));
	if (a->kind == ADDRESS_TCP) {
		to->storage = a->tcp;
		return a->tcp_len;
	}
	if (a->kind == ADDRESS_UNIX) {
		to->un.sun_family = AF_UNIX;
		snprintf(to->un.sun_path, sizeof(to->un.sun_path), "%s", a->path);
		return sizeof(to->un);
	}
	to->vm.svm_family = AF_VSOCK;
	to->vm.svm_port = a->port;
	to->vm.svm_cid = a->cid;
	return sizeof(to->vm);
}

static const char *kind_of_file(mode_t mode)
{
	return S_ISREG(mode)    ? "a file"
	       : S_ISDIR(mode)  ? "a directory"
	       : S_ISLNK(mode)  ? "a symbolic link"
	       : S_ISFIFO(mode) ? "a pipe"
				: "a device";
}

/*
 * A socket without a listener is left over from a program that was killed: it is removed. The
 * type is checked first, because connect(2) fails with ECONNREFUSED for other files, too.
 */
static int remove_stale(const char *option, const struct address *a)
{
	union any to;
	socklen_t len = fill(a, &to);
	struct stat st;
	int fd;

	if (lstat(a->path, &st) < 0)
		return 0; /* bind(2) reports the error */
	if (!S_ISSOCK(st.st_mode))
		return attar_fail(-EEXIST,
			"%s: '%s' is %s, not a socket" ATTAR_FIX
			"choose another path, or remove it",
			option, CLIP(a->path), kind_of_file(st.st_mode));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, &to.any, len) < 0 && errno == ECONNREFUSED)
		place_unlink_path(a->path);
	close(fd);
	return 0;
}

/* Modules of vsock: "vsock" itself, and one for each way to transport data. */
static int no_vsock(const char *option, const struct address *a, int error)
{
	if (error == EAFNOSUPPORT)
		return attar_fail(-error,
			"%s: '%s': this kernel has no vsock" ATTAR_FIX "modprobe vsock", option,
			CLIP(a->text));
	return attar_fail(-error,
		"%s: no machine with the CID %u can be reached" ATTAR_FIX
		"use the CID of a virtual machine that runs, 2 for the host, or 1 for this "
		"machine, and load the module vhost_vsock on a host, "
		"vmw_vsock_virtio_transport in a virtual machine, vsock_loopback for CID 1",
		option, a->cid);
}

static bool is_no_vsock(const struct address *a, int error)
{
	return a->kind == ADDRESS_VSOCK && (error == EAFNOSUPPORT || error == ENODEV);
}

static int listen_failed(const char *option, const struct address *a, int error)
{
	if (is_no_vsock(a, error))
		return no_vsock(option, a, error);
	if (error == EADDRINUSE)
		return attar_fail(-error,
			"%s: '%s' is in use" ATTAR_FIX
			"choose another address, or stop the program that uses it",
			option, CLIP(a->text));
	return attar_fail(
		-error, "%s: cannot listen on '%s': %s", option, CLIP(a->text), strerror(error));
}

int address_listen(const char *option, const struct address *a)
{
	int fd _cleanup_close_ = -1, one = 1, r;
	mode_t mask;
	union any at;
	socklen_t len = fill(a, &at);

	r = a->kind == ADDRESS_UNIX ? remove_stale(option, a) : 0;
	if (r < 0)
		return r;
	fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return listen_failed(option, a, errno);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	mask = umask(0177); /* of the socket's file: only this user */
	r = bind(fd, &at.any, len) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0 && listen(fd, ACCEPT_QUEUE) < 0)
		r = -errno;
	return r < 0 ? listen_failed(option, a, -r) : TAKE_FD(fd);
}

void address_keep_alive(const struct address *a, int fd)
{
	int one = 1, idle = IDLE_S, interval = PROBE_S, probes = PROBES;

	if (a->kind != ADDRESS_TCP)
		return;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

/* Shows the other end that this is root, see address_check_owner(). Others get any port. */
static void bind_reserved(int fd)
{
	struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY};
	int r = -1;

	for (at.svm_port = RESERVED_PORTS - 1; r < 0 && at.svm_port >= RESERVED_FIRST;
		at.svm_port--) {
		r = bind(fd, (const struct sockaddr *)&at, sizeof(at));
		if (r < 0 && errno != EADDRINUSE)
			return;
	}
}

/*
 * The same for TCP. Servers can use the port meanwhile, as they set SO_REUSEADDR, too. The port of
 * an earlier connection is refused by connect(2): the first port that is tried differs.
 */
static void bind_reserved_tcp(int fd, int family)
{
	union any at = {.any.sa_family = (sa_family_t)family};
	const unsigned first = (unsigned)(base_now() / 1000);
	const int one = 1;
	int r = -1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	for (unsigned i = 0; r < 0 && i < RESERVED_PORTS - RESERVED_FIRST; i++) {
		unsigned port = RESERVED_FIRST + (first + i) % (RESERVED_PORTS - RESERVED_FIRST);

		at.in.sin_port = htons((uint16_t)port); /* at the same place in IPv6 */
		r = bind(fd, &at.any,
			family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
		if (r < 0 && errno != EADDRINUSE)
			return;
	}
}

static int ms_until(uint64_t deadline)
{
	uint64_t now = base_now();

	return deadline > now ? (int)((deadline - now + 999999) / 1000000) : 0;
}

static int connect_once(const union any *to, socklen_t len, int stop, uint64_t deadline)
{
	int fd _cleanup_close_ = -1, error = 0, one = 1;
	socklen_t size = sizeof(error);
	struct pollfd fds[] = {{.fd = -1, .events = POLLOUT}, {.fd = stop, .events = POLLIN}};
	int n;

	fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (to->any.sa_family == AF_VSOCK)
		bind_reserved(fd);
	else if (to->any.sa_family != AF_UNIX && is_loopback(&to->any) && !geteuid())
		bind_reserved_tcp(fd, to->any.sa_family);
	if (connect(fd, &to->any, len) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		fds[0].fd = fd;
		n = TEMP_FAILURE_RETRY(poll(fds, ARRAY_SIZE(fds), ms_until(deadline)));
		if (n <= 0)
			return n < 0 ? -errno : -ETIMEDOUT;
		if (!fds[0].revents)
			return -ECANCELED;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
			return -(error ?: errno);
	}
	if (to->any.sa_family == AF_INET || to->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return TAKE_FD(fd);
}

/* Makes the connection anew while it is not answered. */
static int connect_anew(
	const struct address *a, const union any *to, socklen_t len, int stop, uint64_t deadline)
{
	const bool is_here = is_loopback(&to->any);
	const unsigned first = is_here ? ANEW_HERE_MS : ANEW_MS,
		       last = is_here ? ANEW_HERE_LAST_MS : ANEW_LAST_MS;
	int r;

	if (a->kind != ADDRESS_TCP)
		return connect_once(to, len, stop, deadline);
	for (unsigned ms = first;; ms = ms < last ? 2 * ms : first) {
		uint64_t until = base_now() + (uint64_t)ms * 1000000;

		r = connect_once(to, len, stop, MIN(until, deadline));
		if (r != -ETIMEDOUT || until >= deadline)
			return r;
	}
}

/* Whether a listener may appear soon. */
static bool is_early(int r)
{
	return r == -ECONNREFUSED || r == -ENOENT || r == -ECONNRESET || r == -EAGAIN ||
	       r == -EADDRNOTAVAIL;
}

int address_connect(const char *option, const struct address *a, int stop, uint64_t deadline)
{
	struct pollfd stopped = {.fd = stop, .events = POLLIN};
	uint64_t last_try = MIN(deadline, base_now() + (uint64_t)TRIES_MS * 1000000);
	union any to;
	socklen_t len = fill(a, &to);
	int r;

	if (a->kind == ADDRESS_VSOCK && a->cid == VMADDR_CID_ANY)
		return attar_fail(-EINVAL,
			"%s: '%s' has no CID" ATTAR_FIX
			"vsock:CID:%u, with the CID of a virtual machine, 2 for the host, or 1 for "
			"this machine",
			option, CLIP(a->text), a->port);
	while (is_early(r = connect_anew(a, &to, len, stop, deadline)) && base_now() < last_try)
		if (poll(&stopped, 1, TRY_MS) > 0) {
			r = -ECANCELED;
			break;
		}
	if (r == -ECANCELED)
		return attar_fail(r, "stopped while waiting for %s", CLIP(a->text));
	if (r >= 0) { /* the side that pushes reads at once, so what it does not confirm is lost */
		unsigned timeout = LOST_MS;

		address_keep_alive(a, r);
		if (a->kind == ADDRESS_TCP)
			setsockopt(r, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
		return r;
	}
	if (is_no_vsock(a, -r))
		return no_vsock(option, a, -r);
	if (is_early(r))
		return attar_fail(r, "%s: no attar pushes events to '%s': %s", option,
			CLIP(a->text), strerror(-r));
	return attar_fail(r, "%s: cannot connect to '%s': %s", option, CLIP(a->text), strerror(-r));
}

/* ---- the other end ---- */

#define OWNER_FIX                                                                                  \
	ATTAR_FIX "use unix:PATH as the same user, or TLS with the same --peer-psk FILE on both "  \
		  "sides"

int address_check_owner(const struct address *a, int fd, bool is_listener)
{
	uid_t uid, own = geteuid();

	if (a->kind == ADDRESS_VSOCK)
		return socket_peer_is_own_vsock(fd, is_listener)
			       ? 0
			       : attar_fail(-EPERM,
					 "it is not known to be a program of root on this machine "
					 "or its host, with a port below 1024" OWNER_FIX);
	if (socket_peer_user(fd, &uid) < 0)
		return attar_fail(-EPERM, "its user cannot be found" OWNER_FIX);
	if (!uid || uid == own)
		return 0;
	if (own)
		return attar_fail(-EPERM, "it belongs to user %u, not to root or user %u" OWNER_FIX,
			uid, own);
	return attar_fail(-EPERM, "it belongs to user %u, not to root" OWNER_FIX, uid);
}
