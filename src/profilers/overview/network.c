/* SPDX-License-Identifier: MIT */
#include "overview/network.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 4096, LISTENS = 0x0a, SOCKETS_READ = 65536, PORTS_MAX = 256, FILES_READ = 4096 };

static FILE *open_table(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	return fopen(path, "re");
}

/* ---- counts ---- */

/* The value below the name, of two lines "Tcp: NAME NAME" and "Tcp: VALUE VALUE"; 0: none. */
static uint64_t value_of(char *names, char *values, const char *wanted)
{
	char *n = strchr(names, ' '), *v = strchr(values, ' ');
	size_t length = strlen(wanted);

	while (n && v) {
		if (!strncmp(n + 1, wanted, length) && strchr(" \n", n[1 + length]))
			return strtoull(v + 1, NULL, 10);
		n = strchr(n + 1, ' ');
		v = strchr(v + 1, ' ');
	}
	return 0;
}

struct wanted {
	const char *table, *group, *name;
	enum network_count count;
};

static void read_table(pid_t pid, const char *table, uint64_t counts[NETWORK_COUNTS])
{
	static const struct wanted wanted[] = {
		{"snmp", "Tcp:", "OutSegs", NETWORK_SENT},
		{"snmp", "Tcp:", "RetransSegs", NETWORK_RETRANSMITS},
		{"snmp", "Tcp:", "InSegs", NETWORK_RECEIVED},
		{"netstat", "TcpExt:", "TCPOFOQueue", NETWORK_EARLY},
		{"snmp", "Udp:", "RcvbufErrors", NETWORK_DATAGRAMS},
		{"snmp", "Tcp:", "OutRsts", NETWORK_RESETS},
		{"netstat", "TcpExt:", "ListenOverflows", NETWORK_OVERFLOWS},
		{"netstat", "TcpExt:", "TCPReqQFullDrop", NETWORK_REFUSED},
		{"netstat", "TcpExt:", "TCPBacklogDrop", NETWORK_REFUSED},
		{"netstat", "TcpExt:", "TCPMemoryPressures", NETWORK_PRESSURE},
		{"netstat", "TcpExt:", "TCPAbortOnMemory", NETWORK_PRESSURE},
	};
	char names[LINE], values[LINE];
	FILE *file = open_table(pid, table);

	while (file && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strcmp(wanted[i].table, table) &&
				!strncmp(names, wanted[i].group, strlen(wanted[i].group)))
				counts[wanted[i].count] += value_of(names, values, wanted[i].name);
	if (file)
		fclose(file);
}

/* "Udp6RcvbufErrors   12" */
static void read_snmp6(pid_t pid, uint64_t counts[NETWORK_COUNTS])
{
	FILE *file = open_table(pid, "snmp6");
	unsigned long long value;
	char name[64];

	while (file && fscanf(file, "%63s %llu", name, &value) == 2)
		if (!strcmp(name, "Udp6RcvbufErrors"))
			counts[NETWORK_DATAGRAMS] += value;
	if (file)
		fclose(file);
}

void networks_add(struct networks *networks, pid_t pid)
{
	struct network *network = &networks->at[networks->n];
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	if (networks->n == NETWORKS_MAX || stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < networks->n; i++)
		if (networks->at[i].space == st.st_ino)
			return;
	*network = (struct network){.space = st.st_ino, .pid = pid};
	read_table(pid, "snmp", network->counts);
	read_table(pid, "netstat", network->counts);
	read_snmp6(pid, network->counts);
	networks->n++;
}

bool network_since(
	const struct networks *from, const struct network *now, uint64_t ret_counts[NETWORK_COUNTS])
{
	for (size_t i = 0; i < from->n; i++) {
		const struct network *before = &from->at[i];

		if (before->space != now->space)
			continue;
		for (int c = 0; c < NETWORK_COUNTS; c++)
			ret_counts[c] = now->counts[c] > before->counts[c]
						? now->counts[c] - before->counts[c]
						: 0;
		return true;
	}
	return false;
}

/* ---- sockets ---- */

struct row {
	unsigned local, remote, state, queued;
	unsigned long long inode, drops;
};

/* A line of /proc/net/tcp or udp; addresses of IPv6 are longer. */
static bool read_row(const char *line, struct row *row)
{
	row->drops = 0;
	return sscanf(line,
		       " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%x %x %*x:%x %*x:%*x %*x %*u %*u %llu "
		       "%*d %*s %llu",
		       &row->local, &row->remote, &row->state, &row->queued, &row->inode,
		       &row->drops) >= 5;
}

static void find_worst(pid_t pid, const char *table, bool is_datagram, network_wanted_fn *is_wanted,
	const void *self, struct network_socket *worst)
{
	FILE *file = open_table(pid, table);
	char line[512];
	struct row row;

	for (size_t n = 0; file && n < SOCKETS_READ && fgets(line, sizeof(line), file); n++) {
		uint64_t value;

		if (!read_row(line, &row) || (!is_datagram && row.state != LISTENS))
			continue;
		value = is_datagram ? row.drops : row.queued;
		if (value <= worst->n || (is_wanted && !is_wanted(self, row.inode)))
			continue;
		*worst = (struct network_socket){row.local, row.inode, value};
	}
	if (file)
		fclose(file);
}

bool network_worst_socket(pid_t pid, bool is_datagram, network_wanted_fn *is_wanted,
	const void *self, struct network_socket *ret_socket)
{
	*ret_socket = (struct network_socket){0};
	find_worst(pid, is_datagram ? "udp" : "tcp", is_datagram, is_wanted, self, ret_socket);
	find_worst(pid, is_datagram ? "udp6" : "tcp6", is_datagram, is_wanted, self, ret_socket);
	return ret_socket->n > 0;
}

bool network_has_socket(pid_t pid, uint64_t inode)
{
	char path[64], wanted[64];
	struct dirent *entry;
	bool is_found = false;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	snprintf(wanted, sizeof(wanted), "socket:[%llu]", (unsigned long long)inode);
	dir = opendir(path);
	while (dir && !is_found && n++ < FILES_READ && (entry = readdir(dir))) {
		char file[sizeof(path) + sizeof(entry->d_name)], link[64];
		ssize_t length;

		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		length = readlink(file, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		is_found = inode ? !strcmp(link, wanted) : !strncmp(link, "socket:", 7);
	}
	if (dir)
		closedir(dir);
	return is_found;
}

static bool is_listening(const unsigned *ports, size_t n, unsigned port)
{
	for (size_t i = 0; i < n; i++)
		if (ports[i] == port)
			return true;
	return false;
}

/* Listening sockets come first in these tables. */
static bool is_accepted_in(pid_t pid, const char *table, unsigned remote_port)
{
	FILE *file = open_table(pid, table);
	unsigned ports[PORTS_MAX];
	size_t n_ports = 0;
	bool is_found = false;
	char line[512];
	struct row row;

	for (size_t n = 0; file && !is_found && n < SOCKETS_READ && fgets(line, sizeof(line), file);
		n++) {
		if (!read_row(line, &row))
			continue;
		if (row.state == LISTENS && n_ports < PORTS_MAX)
			ports[n_ports++] = row.local;
		else if (row.remote == remote_port)
			is_found = is_listening(ports, n_ports, row.local);
	}
	if (file)
		fclose(file);
	return is_found;
}

bool network_is_accepted(pid_t pid, unsigned remote_port)
{
	return is_accepted_in(pid, "tcp", remote_port) || is_accepted_in(pid, "tcp6", remote_port);
}
