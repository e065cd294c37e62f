/* SPDX-License-Identifier: MIT */
/* Addresses and options of sockets, and events of descriptors. */
#include "calls/structs.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "calls/line.h"

/* ---- sockets ---- */

/* A path; of an abstract name, the first byte is NUL, and the others are its name. */
static void show_unix(struct calls_line *line, const char *path, size_t n)
{
	if (!n)
		calls_line_add(line, "}");
	else if (*path)
		calls_line_add(line, ", sun_path=");
	else
		calls_line_add(line, ", sun_path=@");
	if (!n)
		return;
	if (*path)
		calls_line_quote(line, path, strnlen(path, n), false, false);
	else
		calls_line_quote(line, path + 1, n - 1, false, false);
	calls_line_add(line, "}");
}

static void show_inet(struct calls_line *line, const char *bytes)
{
	char text[INET_ADDRSTRLEN] = "";
	struct sockaddr_in in;

	memcpy(&in, bytes, sizeof(in));
	inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	calls_line_add(line, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")}",
		ntohs(in.sin_port), text);
}

static void show_inet6(struct calls_line *line, const char *bytes)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 in;

	memcpy(&in, bytes, sizeof(in));
	inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
	calls_line_add(line, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), ",
		ntohs(in.sin6_port), ntohl(in.sin6_flowinfo));
	calls_line_add(line, "inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u}", text,
		in.sin6_scope_id);
}

static void show_netlink(struct calls_line *line, const char *bytes)
{
	struct sockaddr_nl nl;

	memcpy(&nl, bytes, sizeof(nl));
	calls_line_add(line, ", nl_pid=%u, nl_groups=%08x}", nl.nl_pid, nl.nl_groups);
}

static void show_address(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	sa_family_t family;

	if (n < sizeof(family)) {
		calls_line_pointer(line, call->args[i]);
		return;
	}
	memcpy(&family, bytes, sizeof(family));
	calls_line_add(line, "{sa_family=");
	calls_line_names(line, &calls_names_family, family);
	if (family == AF_UNIX) {
		show_unix(line, bytes + sizeof(family), n - sizeof(family));
	} else if (family == AF_INET && n >= sizeof(struct sockaddr_in)) {
		show_inet(line, bytes);
	} else if (family == AF_INET6 && n >= sizeof(struct sockaddr_in6)) {
		show_inet6(line, bytes);
	} else if (family == AF_NETLINK && n >= sizeof(struct sockaddr_nl)) {
		show_netlink(line, bytes);
	} else {
		calls_line_add(line, ", sa_data=");
		calls_line_quote(line, bytes + sizeof(family), n - sizeof(family), false, false);
		calls_line_add(line, "}");
	}
}

const struct calls_struct calls_struct_address = {
	.show = show_address, .size = 1, .max = sizeof(struct sockaddr_storage), .by_next = true};

/* The length of what the kernel wrote is where the next argument points to. */
static void show_address_out(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	const struct calls_memory *length = i + 1 < CALLS_ARGS ? &call->memory[i + 1] : NULL;
	uint32_t size = 0;

	if (length && length->at && length->n == sizeof(size))
		memcpy(&size, length->at, sizeof(size));
	show_address(line, call, i, bytes, size < n ? size : n);
}
const struct calls_struct calls_struct_address_out = {
	.show = show_address_out, .size = sizeof(struct sockaddr_un), .at_exit = true};

static void show_int(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	int value;

	(void)call;
	(void)i;
	(void)n;
	memcpy(&value, bytes, sizeof(value));
	calls_line_add(line, "[%d]", value);
}
const struct calls_struct calls_struct_int_out = {
	.show = show_int, .size = sizeof(int), .at_exit = true, .is_whole = true};

static void show_option(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	if (n == sizeof(int))
		show_int(line, call, i, bytes, n);
	else
		calls_line_quote(line, bytes, n, false, false);
}
const struct calls_struct calls_struct_option = {
	.show = show_option, .size = 1, .max = 256, .by_next = true};

static void show_option_out(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	const struct calls_memory *length = i + 1 < CALLS_ARGS ? &call->memory[i + 1] : NULL;
	uint32_t size = 0;

	if (length && length->at && length->n == sizeof(size))
		memcpy(&size, length->at, sizeof(size));
	show_option(line, call, i, bytes, size < n ? size : n);
}
const struct calls_struct calls_struct_option_out = {
	.show = show_option_out, .size = 64, .at_exit = true};

/* ---- events of descriptors ---- */

enum { SHOWN_EVENTS = 32 /* of an array; there may be more */ };

static void show_epoll(struct calls_line *line, const char *bytes)
{
	struct epoll_event event;

	memcpy(&event, bytes, sizeof(event));
	calls_line_add(line, "{events=");
	calls_line_names(line, &calls_names_epoll_events, event.events);
	calls_line_add(
		line, ", data={u32=%" PRIu32 ", u64=%" PRIu64 "}}", event.data.u32, event.data.u64);
}

static void show_epoll_event(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	(void)call;
	(void)i;
	(void)n;
	show_epoll(line, bytes);
}
const struct calls_struct calls_struct_epoll_event = {
	.show = show_epoll_event, .size = sizeof(struct epoll_event), .is_whole = true};

static void show_epoll_events(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	size_t all = n / sizeof(struct epoll_event);

	(void)i;
	calls_line_add(line, "[");
	for (size_t k = 0; k < all && k < SHOWN_EVENTS; k++) {
		calls_line_add(line, k ? ", " : "");
		show_epoll(line, bytes + k * sizeof(struct epoll_event));
	}
	calls_line_add(line, call->result > SHOWN_EVENTS ? ", ...]" : "]");
}
const struct calls_struct calls_struct_epoll_events = {.show = show_epoll_events,
	.size = sizeof(struct epoll_event),
	.max = SHOWN_EVENTS,
	.by_result = true,
	.at_exit = true};

static void show_poll(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	size_t all = n / sizeof(struct pollfd);

	calls_line_add(line, "[");
	for (size_t k = 0; k < all; k++) {
		struct pollfd poll;

		memcpy(&poll, bytes + k * sizeof(poll), sizeof(poll));
		calls_line_add(line, "%s{fd=", k ? ", " : "");
		calls_line_fd(line, call->pid, poll.fd);
		if (poll.fd >= 0) {
			calls_line_add(line, ", events=");
			calls_line_names(line, &calls_names_poll, (uint16_t)poll.events);
		}
		calls_line_add(line, "}");
	}
	calls_line_add(line, all < call->args[i + 1] ? ", ...]" : "]");
}
const struct calls_struct calls_struct_poll = {.show = show_poll,
	.size = sizeof(struct pollfd),
	.max = SHOWN_EVENTS,
	.by_next = true,
	.at_exit = true};
