/* SPDX-License-Identifier: MIT */
#include "run/record/push_modules.h"

#include <linux/netlink.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/file.h"
#include "elf/kallsyms.h"
#include "peer/sender.h"

enum {
	MODULES_MAX = 4 << 20, /* bytes of /proc/modules */
	LOOK_NS = 1000000000,
	MESSAGE_MAX = 8192,
	KERNEL_GROUP = 1,
};

/* ---- which modules are new ---- */

/* A line of /proc/modules: name, size, users, names of users, state, address. */
static uint64_t hash_of_line(const char *line, size_t n)
{
	size_t name = strcspn(line, " \n"), address = n;

	while (address && line[address - 1] != ' ')
		address--;
	return base_hash64(base_hash_bytes(
		base_hash_bytes(BASE_HASH_START, line, name), line + address, n - address));
}

/* The end of a line differs for modules that taint the kernel, "0xffff... (O)". */
static size_t up_to_address(const char *line, size_t n)
{
	const char *address = memmem(line, n, " 0x", 3);

	return address ? (size_t)(address - line) + 1 + strcspn(address + 1, " \n") : n;
}

/* Makes all modules known; appends " [NAME] " of each that was not. */
static int take_modules(struct push_modules *m, struct buf *new)
{
	struct buf text _cleanup_(buf_done) = {0};
	int r = file_read("/proc/modules", MODULES_MAX, &text);

	if (r == -ENOMEM)
		return r;
	attar_error_clear();
	m->looked = base_now();
	for (const char *line = buf_text(&text); *line;) {
		size_t n = strcspn(line, "\n");
		uint64_t key = hash_of_line(line, up_to_address(line, n));

		if (!map_get(&m->known, key)) {
			r = map_put(&m->known, key, 1);
			if (r < 0)
				return r;
			buf_printf(new, " [%.*s] ", (int)strcspn(line, " \n"), line);
		}
		line += n + (line[n] == '\n');
	}
	return buf_failed(new) ? base_oom() : 0;
}

/* ---- their functions ---- */

static void put_function(
	struct buf *to, const struct kallsyms_hit *hit, const struct peer_sender_round *round)
{
	struct buf tail _cleanup_(buf_done) = {0}, name _cleanup_(buf_done) = {0};
	struct perf_event_header header = {.type = PERF_RECORD_KSYMBOL};
	const struct {
		uint64_t address;
		uint32_t len;
		uint16_t type, flags;
	} body = {hit->start, (uint32_t)hit->size, PERF_RECORD_KSYMBOL_TYPE_UNKNOWN, 0};

	buf_printf(&name, "%s\t%s", hit->name, hit->owner);
	do
		buf_char(&name, '\0');
	while (name.len % 8);
	peer_sender_put_sample_id(&tail, round);
	header.size = (uint16_t)(sizeof(header) + sizeof(body) + name.len + tail.len);
	buf_add(to, &header, sizeof(header));
	buf_add(to, &body, sizeof(body));
	buf_add(to, name.data, name.len);
	buf_add(to, tail.data, tail.len);
	to->failed |= name.failed | tail.failed;
}

static void put_region(struct buf *to, const struct kallsyms *list,
	const struct kallsyms_region *region, const struct peer_sender_round *round)
{
	struct kallsyms_hit hit;

	for (uint32_t i = 0; i < region->n; i++) {
		uint64_t at = region->high | list->symbols.at[region->first + i].low;

		if (kallsyms_find(list, at, &hit) && hit.owner && hit.start == at)
			put_function(to, &hit, round);
	}
}

/* Without permission to read the addresses, they have no names. */
static int put_functions(
	struct push_modules *m, const char *new, const struct peer_sender_round *round)
{
	struct kallsyms list;
	char owner[80];
	int r = kallsyms_read(&list, "/proc/kallsyms");

	if (r == 0)
		vec_each (&list.regions, region) {
			snprintf(owner, sizeof(owner), " %s ", list.names.data + region->owner);
			if (region->owner && strstr(new, owner))
				put_region(&m->records, &list, region, round);
		}
	else
		log_debug("names of new modules are not pushed: %s", attar_error());
	kallsyms_done(&list);
	if (r != -ENOMEM)
		attar_error_clear();
	return r == -ENOMEM || buf_failed(&m->records) ? base_oom() : 0;
}

/* ---- announcements ---- */

static int open_netlink(void)
{
	const struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&all, sizeof(all)) < 0) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		log_debug("names of new modules are pushed late: cannot open netlink: %s",
			strerror(errno));
	return fd;
}

/*
 * Messages are "ACTION@PATH" and variables. If the kernel had to drop some, one may be the message
 * of a module.
 */
static bool is_announced(int fd)
{
	static const char add[] = "add@/module/";
	char message[MESSAGE_MAX];
	bool any = false;
	ssize_t n;

	while ((n = recv(fd, message, sizeof(message), MSG_DONTWAIT)) > 0 ||
		(n < 0 && (errno == ENOBUFS || errno == EINTR)))
		any |= n < 0 || !strncmp(message, add, MIN((size_t)n, sizeof(add) - 1));
	return any;
}

int push_modules_open(struct push_modules *m)
{
	struct buf new _cleanup_(buf_done) = {0};

	m->fd = open_netlink();
	m->is_open = true;
	return take_modules(m, &new);
}

int push_modules_turn(struct push_modules *m, const struct peer_sender_round *round)
{
	struct buf new _cleanup_(buf_done) = {0};
	int r;

	if (!m->is_open || (!is_announced(m->fd) && base_now() - m->looked < LOOK_NS))
		return 0;
	r = take_modules(m, &new);
	return r == 0 && new.len ? put_functions(m, buf_text(&new), round) : r;
}

void push_modules_done(struct push_modules *m)
{
	if (m->is_open && m->fd >= 0)
		close(m->fd);
	m->is_open = false;
	map_done(&m->known);
	buf_done(&m->records);
}
