/* SPDX-License-Identifier: MIT */
#include "base/accept_gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "unit.h"

/*
 * A connection that the client has closed has an address, but no user that the kernel tells. An
 * open one is of this user.
 */
enum { LIMIT = 4 };

static const uint64_t START = UINT64_C(5000000000000), SECOND = 1000000000, MS = 1000000;
static const uint64_t TURN_MAX = ACCEPT_TURN_MS * UINT64_C(1500000);

static struct sockaddr_in server;

static struct accept_gate listen_here(void)
{
	struct accept_gate gate = {.limit = LIMIT};
	socklen_t size = sizeof(server);

	gate.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	server = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_return_code(bind(gate.listener, (struct sockaddr *)&server, size), errno);
	assert_return_code(listen(gate.listener, ACCEPT_QUEUE), errno);
	assert_return_code(getsockname(gate.listener, (struct sockaddr *)&server, &size), errno);
	return gate;
}

/* From 127.0.1.HOST. */
static int connect_from(unsigned host)
{
	const struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000100 + host)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_return_code(bind(fd, (const struct sockaddr *)&from, sizeof(from)), errno);
	assert_return_code(connect(fd, (struct sockaddr *)&server, sizeof(server)), errno);
	return fd;
}

static void knock(unsigned host)
{
	close(connect_from(host));
}

static void reset(void)
{
	const struct linger none = {.l_onoff = 1};
	int fd = connect_from(1);

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

/* The number of connections that are passed on, each of which counts, until the queue is empty. */
static int pass(struct accept_gate *gate, uint64_t now)
{
	struct sockaddr_storage name;
	uint64_t origin;
	int fd, n = 0;

	while ((fd = accept_gate_next(gate, now, &name, &origin)) >= 0) {
		accept_gate_count(gate, now, &name, origin);
		close(fd);
		n++;
	}
	assert_int_equal(fd, -EAGAIN);
	return n;
}

static void test_own_connections_have_no_limit(void **state)
{
	struct accept_gate gate = listen_here();
	int fds[10 * LIMIT];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_from(1);
	assert_int_equal(pass(&gate, START), ARRAY_SIZE(fds));
	assert_int_equal(accept_gate_pause(&gate, START), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(gate.listener);
}

/* Until the next turn, half the mean to one and a half. */
static void assert_pauses(const struct accept_gate *gate)
{
	const uint64_t pause = accept_gate_pause(gate, START);

	assert_in_range(pause, ACCEPT_TURN_MS * MS / 2, TURN_MAX);
}

static void test_an_origin_has_a_limit(void **state)
{
	struct accept_gate gate = listen_here();
	int own;

	for (int i = 0; i < 10; i++)
		knock(1);
	assert_int_equal(pass(&gate, START), LIMIT);
	assert_pauses(&gate);

	/* others wait for the next turn */
	own = connect_from(1);
	knock(1);
	knock(2);
	assert_int_equal(pass(&gate, START + MS), 0);
	assert_int_equal(accept_gate_pause(&gate, START + TURN_MAX), 0);
	assert_int_equal(pass(&gate, START + TURN_MAX), 2);
	close(own);

	/* a second later, the origin is like others */
	for (int i = 0; i < 3; i++)
		knock(1);
	assert_int_equal(pass(&gate, START + 2 * SECOND), 3);
	assert_int_equal(accept_gate_pause(&gate, START + 2 * SECOND), 0);
	close(gate.listener);
}

static void test_what_does_not_count_has_no_limit(void **state)
{
	struct accept_gate gate = listen_here();
	struct sockaddr_storage name;
	uint64_t origin;
	int fd, n = 0;

	for (int i = 0; i < 10; i++)
		knock(1);
	for (; (fd = accept_gate_next(&gate, START, &name, &origin)) >= 0; n++) {
		assert_int_equal(ntohl(((struct sockaddr_in *)&name)->sin_addr.s_addr), 0x7f000101);
		assert_int_not_equal(origin, 0);
		close(fd);
	}
	assert_int_equal(n, 10);
	close(gate.listener);
}

static void test_all_origins_have_a_limit(void **state)
{
	struct accept_gate gate = listen_here();

	for (unsigned host = 1; host <= 100; host++)
		knock(host);
	assert_int_equal(pass(&gate, START), LIMIT * ACCEPT_TOTAL);
	assert_pauses(&gate);
	close(gate.listener);
}

/* In a turn, the whole queue is emptied, but only some are passed on. */
static void test_turns_are_limited(void **state)
{
	struct accept_gate gate = listen_here();

	gate.busy_until = START + SECOND;
	for (unsigned host = 1; host <= ACCEPT_PASSED + 5; host++)
		knock(host);
	assert_int_equal(pass(&gate, START), ACCEPT_PASSED);
	knock(101);
	assert_int_equal(pass(&gate, START + TURN_MAX), 1);
	close(gate.listener);
}

/* Forgetting an origin does not make it a new one while others of the table are older. */
static void test_the_oldest_origin_is_forgotten(void **state)
{
	struct accept_gate gate = listen_here();

	gate.limit = 1;
	for (unsigned host = 1; host <= ACCEPT_ORIGINS; host++) {
		gate.all.n = 0;
		knock(host);
		assert_int_equal(pass(&gate, START + host), 1);
	}
	gate.all.n = 0;
	knock(ACCEPT_ORIGINS + 1);
	assert_int_equal(pass(&gate, START + ACCEPT_ORIGINS + 1), 1);
	gate.all.n = 0;
	knock(2);
	assert_int_equal(pass(&gate, START + ACCEPT_ORIGINS + 2), 0);
	gate.pause_until = gate.all.n = 0;
	knock(1);
	assert_int_equal(pass(&gate, START + ACCEPT_ORIGINS + 3), 1);
	close(gate.listener);
}

static void test_without_descriptors_there_is_a_pause(void **state)
{
	struct accept_gate gate = listen_here();
	struct rlimit before, none;
	int next;

	knock(1);
	next = dup(gate.listener);
	close(next);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &before), errno);
	none = (struct rlimit){(rlim_t)next, before.rlim_max};
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	assert_int_equal(pass(&gate, START), 0);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &before), errno);
	assert_int_equal(accept_gate_pause(&gate, START), SECOND);
	assert_int_equal(pass(&gate, START + SECOND - 1), 0);
	assert_int_equal(pass(&gate, START + SECOND), 1);
	close(gate.listener);
}

/* The maximum length is in place of a count of packets. */
static unsigned queue_of(const struct accept_gate *gate)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	assert_return_code(getsockopt(gate->listener, IPPROTO_TCP, TCP_INFO, &info, &size), errno);
	return info.tcpi_sacked;
}

static void test_the_queue_is_short_meanwhile(void **state)
{
	for (int is_local = 0; is_local < 2; is_local++) {
		struct accept_gate gate = listen_here();

		gate.is_local = is_local;
		for (int i = 0; i < LIMIT; i++)
			knock(1);
		assert_int_equal(pass(&gate, START), LIMIT);
		assert_int_equal(queue_of(&gate), ACCEPT_QUEUE);
		knock(1);
		assert_int_equal(pass(&gate, START), 0);
		assert_int_equal(queue_of(&gate), is_local ? ACCEPT_SHORT : ACCEPT_QUEUE);
		/* those that were reset show that it goes on */
		for (int i = 0; i < 2 * ACCEPT_MANY && is_local; i++)
			reset();
		pass(&gate, START + SECOND - MS);
		pass(&gate, START + SECOND + MS);
		assert_int_equal(queue_of(&gate), is_local ? ACCEPT_SHORT : ACCEPT_QUEUE);
		pass(&gate, START + 3 * SECOND);
		assert_int_equal(queue_of(&gate), ACCEPT_QUEUE);
		close(gate.listener);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_connections_have_no_limit),
		cmocka_unit_test(test_an_origin_has_a_limit),
		cmocka_unit_test(test_what_does_not_count_has_no_limit),
		cmocka_unit_test(test_all_origins_have_a_limit),
		cmocka_unit_test(test_turns_are_limited),
		cmocka_unit_test(test_the_queue_is_short_meanwhile),
		cmocka_unit_test(test_the_oldest_origin_is_forgotten),
		cmocka_unit_test(test_without_descriptors_there_is_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
