/* SPDX-License-Identifier: MIT */
#include "base/accept_filter.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "unit.h"

enum { DROPPED_MS = 300 };

static const uint64_t START = UINT64_C(5000000000000), SECOND = 1000000000;

union name {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static union name name_of(const char *address)
{
	union name name = {.any.sa_family = strchr(address, ':') ? AF_INET6 : AF_INET};
	void *to = strchr(address, ':') ? (void *)&name.six.sin6_addr : &name.four.sin_addr;

	assert_int_equal(inet_pton(name.any.sa_family, address, to), 1);
	return name;
}

static struct network network_of(const char *address)
{
	union name name = name_of(address);
	struct network network;

	assert_true(accept_filter_network(&name.any, &network));
	return network;
}

static void test_networks(void **state)
{
	static const struct {
		const char *address;
		struct network network;
		bool is_loopback;
	} cases[] = {
		{"127.0.0.1", {true, 0x7f000000, 0xff000000}, true},
		{"127.9.8.7", {true, 0x7f000000, 0xff000000}, true},
		{"::ffff:127.0.0.1", {true, 0x7f000000, 0xff000000}, true},
		{"192.0.2.1", {true, 0xc0000201, 0xffffffff}, false},
		{"::ffff:192.0.2.1", {true, 0xc0000201, 0xffffffff}, false},
		{"2001:db8:1:2:3:4:5:6", {false, 0x20010db8, 0x00010002}, false},
		{"::1", {false, 0, 0}, true},
	};
	const struct sockaddr other = {.sa_family = AF_UNIX};
	struct network network;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		network = network_of(cases[i].address);
		assert_int_equal(network.is_four, cases[i].network.is_four);
		assert_int_equal(network.high, cases[i].network.high);
		assert_int_equal(network.low, cases[i].network.low);
		assert_int_equal(network_is_loopback(&network), cases[i].is_loopback);
	}
	assert_false(accept_filter_network(&other, &network));
}

static void refuse(struct accept_filter *f, const char *address, unsigned n, uint64_t now)
{
	const struct network network = network_of(address);

	for (unsigned i = 0; i < n; i++)
		accept_filter_refused(f, &network, false, now);
}

/* Of a family of addresses; f->listener is closed by the caller. */
static union name listen_on(struct accept_filter *f, const char *address)
{
	union name name = name_of(address);
	socklen_t size = sizeof(name);

	f->listener = socket(name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(f->listener, &name.any, sizeof(name)) < 0)
		skip(); /* no IPv6 */
	assert_int_equal(listen(f->listener, 8), 0);
	assert_int_equal(getsockname(f->listener, &name.any, &size), 0);
	return name;
}

static bool connects(const union name *name)
{
	int fd = socket(name->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd done = {.fd = fd, .events = POLLOUT};
	bool is_connected;

	(void)!connect(fd, &name->any, sizeof(*name));
	is_connected = poll(&done, 1, DROPPED_MS) == 1 && !(done.revents & (POLLERR | POLLHUP));
	close(fd);
	return is_connected;
}

static void check_times(const char *address)
{
	struct accept_filter f = {0};
	union name name = listen_on(&f, address);
	uint64_t now = START;

	refuse(&f, address, REFUSED_MAX, now);
	assert_true(connects(&name));
	now += 2 * SECOND;
	refuse(&f, address, REFUSED_MAX, now); /* in another second */
	assert_true(connects(&name));
	for (unsigned seconds = 1; seconds <= 64; seconds *= 2) {
		const unsigned lasts = MIN(seconds, 16U);

		refuse(&f, address, REFUSED_MAX + 1, now);
		if (!f.is_attached)
			skip(); /* this kernel requires a capability */
		accept_filter_turn(&f, now + lasts * SECOND - 1);
		assert_true(f.is_attached);
		if (seconds == 1)
			assert_false(connects(&name));
		now += lasts * SECOND;
		accept_filter_turn(&f, now);
		assert_false(f.is_attached);
		if (seconds == 1)
			assert_true(connects(&name));
		now += seconds;
	}
	now += 61 * SECOND;
	refuse(&f, address, REFUSED_MAX + 1, now);
	accept_filter_turn(&f, now + SECOND);
	assert_false(f.is_attached);
	close(f.listener);
}

static void test_times(void **state)
{
	check_times("127.0.0.1");
}

static void test_times_of_ipv6(void **state)
{
	check_times("::1");
}

/* The program has room for all; the network that was refused longest ago makes room. */
static void test_many_networks(void **state)
{
	static const char *const kinds[] = {"192.0.2.%u", "2001:db8:0:%x::"};
	char address[64];

	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		struct accept_filter f = {0};
		union name name = listen_on(&f, "127.0.0.1");

		for (unsigned i = 0; i < 3 * NETWORKS_MAX; i++) {
			snprintf(address, sizeof(address), kinds[kind], i + 1);
			refuse(&f, address, REFUSED_MAX + 1, START + i);
			if (!f.is_attached)
				skip();
		}
		assert_true(connects(&name));
		refuse(&f, "127.0.0.1", REFUSED_MAX + 1, START + 3 * NETWORKS_MAX);
		assert_false(connects(&name));
		close(f.listener);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_times_of_ipv6),
		cmocka_unit_test(test_many_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
