/* SPDX-License-Identifier: MIT */
#include "perf/hotplug.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/file.h"
#include "perf/kernel.h"

enum {
	UEVENTS = 1,          /* the kernel's own multicast group */
	ONLINE_MAX = 4 << 10, /* bytes: a page, as attributes of sysfs */
};

static const char online_path[] = "/sys/devices/system/cpu/online";

int hotplug_online(parse_ints *ret_cpus)
{
	struct buf b _cleanup_(buf_done) = {0};
	int r = file_read(online_path, 65536, &b);

	if (r < 0)
		return attar_context(r,
			"the CPUs are unknown" ATTAR_FIX "run mount -t sysfs sysfs /sys, as root");
	return parse_list(buf_text(&b), kernel_get()->cpus_possible, ret_cpus);
}

static int listen_to_uevents(void)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = UEVENTS};
	int fd = socket(
		AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void hotplug_init(struct hotplug *h, const parse_ints *online)
{
	h->fd = listen_to_uevents();
	h->online = *online;
}

void hotplug_done(struct hotplug *h)
{
	if (h->fd >= 0)
		close(h->fd);
	buf_done(&h->online_text);
	vec_done(&h->online);
	vec_done(&h->departures);
	vec_done(&h->went);
	vec_done(&h->came);
}

bool hotplug_is_online(const struct hotplug *h, int cpu)
{
	return parse_ints_have(&h->online, cpu);
}

uint32_t hotplug_departures(const struct hotplug *h, int cpu)
{
	return (size_t)cpu < h->departures.n ? h->departures.at[cpu] : 0;
}

static int depart(struct hotplug *h, int cpu)
{
	while (h->departures.n <= (size_t)cpu)
		if (vec_push(&h->departures, 0) < 0)
			return base_oom();
	h->departures.at[cpu]++;
	h->changes++;
	return vec_push(&h->went, cpu) < 0 ? base_oom() : 0;
}

/*
 * "offline@/devices/system/cpu/cpu1", followed by variables. Only the kernel can send to the group.
 */
static int departed(const char *message)
{
	int cpu = -1;

	if (sscanf(message, "offline@/devices/system/cpu/cpu%d", &cpu) != 1)
		return -1;
	return cpu < kernel_get()->cpus_possible ? cpu : -1;
}

/* Handles announced offline events. */
static int take_announcements(struct hotplug *h)
{
	char message[4096];
	ssize_t n;

	while (h->fd >= 0 && (n = recv(h->fd, message, sizeof(message) - 1, 0)) >= 0) {
		int cpu, r;

		message[n] = '\0';
		cpu = departed(message);
		r = cpu < 0 ? 0 : depart(h, cpu);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Finds unannounced changes by comparison. */
static int hotplug_compare(struct hotplug *h, const parse_ints *online)
{
	for (size_t i = 0; i < h->online.n; i++) {
		int cpu = h->online.at[i], r;

		if (parse_ints_have(&h->went, cpu) || parse_ints_have(online, cpu))
			continue;
		r = depart(h, cpu);
		if (r < 0)
			return r;
	}
	vec_each (online, cpu) {
		if (parse_ints_have(&h->online, *cpu))
			continue;
		h->changes++;
		if (vec_push(&h->came, *cpu) < 0)
			return base_oom();
	}
	return 0;
}

/* Reads up to `max` bytes. Returns the number of bytes, or a negative one. */
static ssize_t read_online(char *text, size_t max)
{
	int fd = TEMP_FAILURE_RETRY(open(online_path, O_RDONLY | O_CLOEXEC));
	ssize_t n = fd < 0 ? -1 : TEMP_FAILURE_RETRY(read(fd, text, max));

	if (fd >= 0)
		close(fd);
	return n;
}

/* 1: the list of online CPUs is as in the last look; 0: it is another one, or unknown. */
static int look_at_online(struct hotplug *h, parse_ints *ret_online)
{
	struct buf *before = &h->online_text;
	char text[ONLINE_MAX];
	ssize_t n = read_online(text, sizeof(text));
	int r;

	if (n <= 0 || n == sizeof(text)) {
		buf_reset(before);
		return hotplug_online(ret_online);
	}
	if ((size_t)n == before->len && !memcmp(text, before->data, before->len))
		return 1;
	buf_reset(before);
	buf_add(before, text, (size_t)n);
	r = buf_failed(before) ? base_oom()
			       : parse_list(before->data, kernel_get()->cpus_possible, ret_online);
	if (r < 0)
		buf_reset(before);
	return r;
}

int hotplug_look(struct hotplug *h)
{
	parse_ints online = {0};
	int r;

	h->went.n = h->came.n = 0;
	r = take_announcements(h);
	if (r == 0)
		r = look_at_online(h, &online);
	if (r > 0)
		return 0;
	if (r == 0)
		r = hotplug_compare(h, &online);
	if (r < 0) {
		vec_done(&online);
		return r;
	}
	vec_done(&h->online);
	h->online = online;
	return 0;
}
