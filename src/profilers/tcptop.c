/* SPDX-License-Identifier: MIT */
/*
 * tcptop: bytes by TCP connection. The kernel counts them for each socket: they are read ten times
 * per second, as long as that takes little time, and of a connection that ends when it ends, if the
 * kernel says so (sock_diag(7)).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "lib/tcp_owners.h"

enum { ROWS = 100, RECEIVE_BYTES = 4 << 20, BUFFER = 1 << 16, COMM = 16 };

/* States of connections that have or had data: all but LISTEN, TIME_WAIT and NEW_SYN_RECV. */
#define STATES (0xfff & ~(1U << 10 | 1U << 6 | 1U << 12))

#define DURATION      UINT64_C(5000000000) /* ns */
#define PERIOD        UINT64_C(100000000)
#define SHARE         50 /* of this time, one part is spent for reading */
#define OWNERS_PERIOD UINT64_C(1000000000)

enum { LOOKS = 3 }; /* for the process of a new connection, without waiting for OWNERS_PERIOD */

/* A connection, by the cookie of its socket. */
struct connection {
	struct tcp_connection ends;
	uint64_t sent, received; /* up to now */
	bool is_known, has_ended;
	uint32_t rtt;   /* us */
	unsigned looks; /* for its process */
	pid_t pid;      /* 0: not found yet, or none */
	char comm[COMM];
};

enum { SUM_ALL, SUM_SENT, SUM_RECEIVED, SUMS };

struct tcptop {
	int requests, ends; /* sockets; -1: none */
	struct attar_keytable *connections;
	struct tcp_owners *owners;
	bool has_begun;               /* connections that appear now are new */
	uint64_t due, owners_due;     /* ns: when connections and their processes are read again */
	uint64_t retry_due;           /* ... and processes of connections that have none */
	uint64_t read_at, longest;    /* ns: the last reading, and the most between two of them */
	uint64_t dropped;             /* ends of connections that were not received */
	uint64_t ended, told, unseen; /* connections: ended, with their counts, never read */
};

/* ---- sock_diag ---- */

static void map_address(int family, const __be32 *from, uint8_t *to)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (family == AF_INET6) {
		memcpy(to, from, 16);
		return;
	}
	memcpy(to, mapped, sizeof(mapped));
	memcpy(to + sizeof(mapped), from, 4);
}

/* States of the kernel (net/tcp_states.h) in which the other end has sent its FIN. */
enum { CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };

/* The kernel counts a FIN as a byte. */
static uint64_t bytes_received(const struct inet_diag_msg *msg, const struct tcp_info *info)
{
	const unsigned with_fin = 1 << CLOSE_WAIT | 1 << LAST_ACK | 1 << CLOSING;
	bool has_fin = msg->idiag_state < 32 && with_fin >> msg->idiag_state & 1;

	return info->tcpi_bytes_received - (has_fin && info->tcpi_bytes_received);
}

static int add_bytes(struct tcptop *t, const struct inet_diag_msg *msg, const struct tcp_info *info,
	bool has_ended)
{
	uint64_t cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
	uint64_t sent = info->tcpi_bytes_sent - info->tcpi_bytes_retrans,
		 received = bytes_received(msg, info);
	struct attar_keyrow *row = attar_keytable_at_u64(t->connections, cookie);
	struct connection *c = row ? row->value : NULL;

	if (!row)
		return -ENOMEM;
	if (!c->is_known) {
		c->is_known = true;
		map_address(msg->idiag_family, msg->id.idiag_src, c->ends.local);
		map_address(msg->idiag_family, msg->id.idiag_dst, c->ends.remote);
		c->ends.local_port = ntohs(msg->id.idiag_sport);
		c->ends.remote_port = ntohs(msg->id.idiag_dport);
		c->sent = t->has_begun ? 0 : sent;
		c->received = t->has_begun ? 0 : received;
	}
	if (sent > c->sent) {
		row->interval.sums[SUM_SENT] += sent - c->sent;
		row->interval.sums[SUM_ALL] += sent - c->sent;
		c->sent = sent;
	}
	if (received > c->received) {
		row->interval.sums[SUM_RECEIVED] += received - c->received;
		row->interval.sums[SUM_ALL] += received - c->received;
		c->received = received;
	}
	c->rtt = info->tcpi_rtt;
	c->has_ended |= has_ended;
	t->told += has_ended;
	return 0;
}

static int take_message(struct tcptop *t, const struct nlmsghdr *header, bool has_ended)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(header);
	struct tcp_info info = {0};
	const struct rtattr *attribute = (const struct rtattr *)(msg + 1);
	int len = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*msg));

	if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || len < 0)
		return 0;
	for (; RTA_OK(attribute, len); attribute = RTA_NEXT(attribute, len))
		if (attribute->rta_type == INET_DIAG_INFO) {
			size_t n = RTA_PAYLOAD(attribute);

			memcpy(&info, RTA_DATA(attribute), n < sizeof(info) ? n : sizeof(info));
			return add_bytes(t, msg, &info, has_ended);
		}
	return 0;
}

/* Returns 1: there may be more; 0: the last part of the answer; or a negative errno. */
static int receive(struct tcptop *t, int fd, bool has_ended)
{
	static _Thread_local char buffer[BUFFER] __attribute__((aligned(8)));
	ssize_t n = recv(fd, buffer, sizeof(buffer), has_ended ? MSG_DONTWAIT : 0);
	unsigned left = n > 0 ? (unsigned)n : 0;
	int r = 0;

	if (n <= 0)
		return n < 0 ? -errno : 0;
	for (const struct nlmsghdr *header = (const void *)buffer; r == 0 && NLMSG_OK(header, left);
		header = NLMSG_NEXT(header, left)) {
		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		if (header->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		r = take_message(t, header, has_ended);
	}
	return r < 0 ? r : 1;
}

static int dump(struct tcptop *t, uint8_t family)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} message = {.header = {.nlmsg_len = sizeof(message),
			     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1),
			.idiag_states = STATES}};
	int r = 1;

	if (send(t->requests, &message, sizeof(message), 0) < 0)
		return -errno;
	while (r > 0)
		r = receive(t, t->requests, false);
	return r == -ENOENT ? 0 : r; /* the kernel has no such family */
}

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int read_all(struct tcptop *t)
{
	const uint64_t time = nanoseconds(CLOCK_MONOTONIC);
	int r = dump(t, AF_INET);

	if (t->has_begun && time - t->read_at > t->longest)
		t->longest = time - t->read_at;
	t->read_at = time;
	if (r == 0)
		r = dump(t, AF_INET6);
	t->has_begun = true;
	return r == 0 || r == -ENOMEM
		       ? r
		       : attar_fail(
				 r, "cannot read the connections of the kernel: %s", strerror(-r));
}

/* Those that have ended meanwhile. */
static int take_ends(struct tcptop *t)
{
	int r = 1;

	while (t->ends >= 0 && (r > 0 || r == -ENOBUFS)) {
		r = receive(t, t->ends, true);
		t->dropped += r == -ENOBUFS;
	}
	return r == -ENOMEM ? r : 0;
}

/* How long to wait after something that took this CPU time. */
static uint64_t pause_after(uint64_t took)
{
	return took * SHARE > PERIOD ? took * SHARE : PERIOD;
}

/* While it has a descriptor: a connection that has ended has none. */
static bool may_have_process(const struct connection *c, bool is_retry)
{
	return !c->pid && !c->has_ended && (is_retry || c->looks < LOOKS);
}

static void find_processes(struct tcptop *t, struct attar_run *run, bool is_retry)
{
	struct attar_keyrow *row = NULL;
	bool has_scanned = false;

	while ((row = attar_keytable_next(t->connections, row))) {
		struct connection *c = row->value;
		pid_t pid;

		if (!may_have_process(c, is_retry))
			continue;
		if (!has_scanned)
			(void)tcp_owners_find(t->owners, run, &c->ends);
		has_scanned = true;
		/* not who listens: it may leave the connection to another process */
		pid = tcp_owners_known(t->owners, &c->ends);
		c->looks++;
		if (pid <= 0)
			continue;
		c->pid = pid;
		tcp_owners_name(pid, c->comm, sizeof(c->comm));
	}
}

static void follow_processes(struct tcptop *t, struct attar_run *run, uint64_t time)
{
	const uint64_t used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	const bool is_retry = time >= t->retry_due;

	if (time < t->owners_due)
		return;
	find_processes(t, run, is_retry);
	t->owners_due = time + pause_after(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used);
	if (is_retry)
		t->retry_due = time + OWNERS_PERIOD;
}

static int tcptop_turn(struct attar_run *run, void *self)
{
	struct tcptop *t = self;
	uint64_t began = nanoseconds(CLOCK_MONOTONIC), used;
	int r = take_ends(t);

	if (r < 0 || began < t->due)
		return r;
	used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	r = read_all(t);
	t->due = began + pause_after(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used);
	if (r == 0)
		follow_processes(t, run, began);
	return r;
}

enum { COOKIE };

/* A connection can end in whatever task a packet or a timer interrupts. */
static int on_destroy(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct tcptop *t = self;
	uint64_t cookie = attar_arg_u64(ev, COOKIE);
	struct attar_keyrow *row = attar_keytable_find(t->connections, &cookie, sizeof(cookie));
	struct connection *c = row ? row->value : NULL;

	if (c)
		c->has_ended = true;
	if ((c && c->pid) || attar_run_is_selected(run, ev->thread)) {
		t->ended++;
		t->unseen += !row;
	}
	return 0;
}

/* ---- reports ---- */

static void add_address(struct attar_section *table, const uint8_t *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool is_ipv4 = !memcmp(address, mapped, sizeof(mapped));
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(
		is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? address + 12 : address, text, sizeof(text));
	attar_cell_text(table, text);
}

static void add_rate(struct attar_section *table, uint64_t bytes, double seconds)
{
	attar_cell_u64(table, seconds > 0 ? (uint64_t)((double)bytes / seconds) : 0);
}

static void add_row(struct attar_section *table, const struct connection *c,
	const struct attar_keysums *sums, double seconds)
{
	attar_section_row(table);
	attar_cell_text(table, c->comm);
	if (c->pid > 0)
		attar_cell_u64(table, (uint64_t)c->pid);
	else
		attar_cell_none(table);
	add_address(table, c->ends.local);
	attar_cell_u64(table, c->ends.local_port);
	add_address(table, c->ends.remote);
	attar_cell_u64(table, c->ends.remote_port);
	attar_cell_u64(table, sums->sums[SUM_SENT]);
	attar_cell_u64(table, sums->sums[SUM_RECEIVED]);
	add_rate(table, sums->sums[SUM_SENT], seconds);
	add_rate(table, sums->sums[SUM_RECEIVED], seconds);
	attar_cell_u64(table, (uint64_t)c->rtt * 1000);
	attar_cell_text(table, c->has_ended ? "ended" : "open");
}

static struct attar_section *add_table(struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "connections");

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "LADDR", ATTAR_UNIT_TEXT);
	attar_section_column(table, "LPORT", ATTAR_UNIT_ID);
	attar_section_column(table, "RADDR", ATTAR_UNIT_TEXT);
	attar_section_main(table);
	attar_section_column(table, "RPORT", ATTAR_UNIT_ID);
	attar_section_column(table, "sent", ATTAR_UNIT_BYTES);
	attar_section_column(table, "received", ATTAR_UNIT_BYTES);
	attar_section_column(table, "sent/s", ATTAR_UNIT_BYTES);
	attar_section_column(table, "received/s", ATTAR_UNIT_BYTES);
	attar_section_column(table, "round trip", ATTAR_UNIT_NS);
	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	return table;
}

static int add_rows(struct tcptop *t, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope, double seconds)
{
	struct attar_section *table = add_table(report);
	unsigned long long unnamed = 0;
	bool selects = !attar_run_is_selected(run, NULL);
	struct attar_keyrow **rows;
	size_t n, shown = 0;
	int r = attar_keytable_rows(t->connections, scope, SUM_ALL, &rows, &n);

	for (size_t i = 0; r == 0 && i < n && shown < ROWS; i++) {
		const struct attar_keysums *sums = attar_keyrow_sums(rows[i], scope);
		struct connection *c = rows[i]->value;

		if (!rows[i]->key || !sums->sums[SUM_ALL])
			continue;
		if (selects && !c->pid) {
			unnamed += c->has_ended && !c->looks;
			continue;
		}
		add_row(table, c, sums, seconds);
		shown++;
	}
	if (r == 0)
		free(rows);
	if (unnamed)
		attar_report_remark(report,
			"%llu connection%s ended before attar looked for %s process, and %s left "
			"out",
			unnamed, unnamed == 1 ? "" : "s", unnamed == 1 ? "its" : "their",
			unnamed == 1 ? "is" : "are");
	return r;
}

static void add_remark_of_ends(struct attar_report *report, const struct tcptop *t)
{
	attar_report_remark(report,
		"%llu connections ended, and %llu of them before their bytes were read; the "
		"others lack what they sent and received after the last reading, up to %.1f s "
		"before the end: this kernel does not report the bytes of connections that end",
		(unsigned long long)t->ended, (unsigned long long)t->unseen,
		(double)(t->longest > PERIOD ? t->longest : PERIOD) / 1e9);
}

static int tcptop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct tcptop *t = self;
	uint64_t time = scope == ATTAR_SCOPE_WHOLE ? attar_run_until(run) - attar_run_began(run)
						   : run_recent(run);
	int r = take_ends(t);

	if (r == 0)
		r = read_all(t);
	if (r == 0)
		r = attar_keytable_end_interval(t->connections);
	if (r == 0)
		find_processes(t, run, true);
	if (r == 0)
		r = add_rows(t, run, report, scope, (double)time / 1e9);
	if (t->ended && !t->told)
		add_remark_of_ends(report, t);
	if (t->dropped)
		attar_report_remark(report,
			"%llu times, more connections ended at once than attar could take: some "
			"of them are missing",
			(unsigned long long)t->dropped);
	return r;
}

/* ---- life ---- */

static int open_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int bytes = RECEIVE_BYTES;

	if (fd < 0)
		return attar_fail(
			-errno, "cannot ask the kernel for connections: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return fd;
}

/* Without the right to, only connections that are open at a report are shown. */
static void hear_ends(struct tcptop *t)
{
	static const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};

	t->ends = open_socket();
	for (size_t i = 0; t->ends >= 0 && i < 2; i++)
		if (setsockopt(t->ends, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			    sizeof(groups[i])) < 0 &&
			i == 0) {
			close(t->ends);
			t->ends = -1;
		}
}

/* Sockets that listen, or were never connected, have no other end. */
static const struct attar_input ends = {.event = "tcp:tcp_destroy_sock/dport!=0/",
	.fields = {"sock_cookie"},
	.on_event = on_destroy};

static int tcptop_open(struct attar_run *run, void *self)
{
	struct tcptop *t = self;
	const struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = SUMS, .value_size = sizeof(struct connection)};
	int r = attar_run_select_tasks(run);

	if (r == 0)
		r = attar_run_keep_own(run);
	if (r == 0)
		r = attar_run_input(run, &ends);
	if (r == 0)
		r = attar_keytable_new(&opts, &t->connections);
	if (r < 0)
		return r;
	t->owners = tcp_owners_new();
	t->requests = open_socket();
	if (!t->owners || t->requests < 0)
		return t->owners ? t->requests : -ENOMEM;
	hear_ends(t);
	r = read_all(t);
	return r == 0 ? run_default_duration(run, DURATION) : r;
}

static void tcptop_close(void *self)
{
	struct tcptop *t = self;

	if (t->requests >= 0)
		close(t->requests);
	if (t->ends >= 0)
		close(t->ends);
	attar_keytable_free(t->connections);
	tcp_owners_free(t->owners);
}

static void tcptop_defaults(void *self)
{
	struct tcptop *t = self;

	t->requests = t->ends = -1;
}

static const struct attar_option options[] = {{0}};

static const struct attar_example examples[] = {
	{"tcptop -i 1s", "the connections with the most bytes, each second"},
	{"tcptop -p 1234 -d 10s", "connections of a process, for ten seconds"}, {0}};

const struct attar_profiler profiler_tcptop = {
	.name = "tcptop",
	.group = "Network",
	.summary = "bytes that TCP connections send and receive",
	.uses = ATTAR_REDRAWS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct tcptop),
	.options = options,
	.examples = examples,
	.defaults = tcptop_defaults,
	.open = tcptop_open,
	.turn = tcptop_turn,
	.report = tcptop_report,
	.close = tcptop_close,
};
