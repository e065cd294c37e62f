/* SPDX-License-Identifier: MIT */
#include "lib/tcp_owners.h"

#include "attar/builtin.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SOCKETS_MAX = 1 << 20,
	NAMESPACES_MAX = 256,
	SCAN_SHARE = 10,      /* at most this part of the time is spent for reading tables */
	BURST_NS = 200000000, /* ... after this time, for a few connections at once */
	SCAN_WAIT = 4,        /* the time that counts as its CPU time, at least */
};

struct socket {
	struct tcp_connection connection;
	unsigned long inode;
	pid_t pid; /* 0: none was found */
};

struct tcp_owners {
	struct socket *sockets; /* sorted by connection */
	size_t n, room;
	unsigned long namespaces[NAMESPACES_MAX]; /* whose tables were read */
	size_t n_namespaces;
	uint64_t began, spent; /* ns: the first scan, and the time of all */
	bool is_partial;       /* processes of other users were not read, to limit the time */
};

/* ---- fields of events ---- */

void tcp_fields_find(const struct attar_event_spec *spec, struct tcp_fields *ret_fields)
{
	const struct attar_format *format = spec ? spec->format : NULL;

	if (!format)
		return;
	ret_fields->local = attar_format_field(format, "saddr_v6");
	ret_fields->remote = attar_format_field(format, "daddr_v6");
	ret_fields->local_port = attar_format_field(format, "sport");
	ret_fields->remote_port = attar_format_field(format, "dport");
}

static bool copy_address(
	const struct attar_field *field, const struct attar_expr_record *record, uint8_t *address)
{
	if (!field || field->size != 16 || (size_t)field->offset + 16 > record->raw_size)
		return false;
	memcpy(address, (const char *)record->raw + field->offset, 16);
	return true;
}

bool tcp_fields_read(const struct tcp_fields *fields, const struct attar_expr_record *record,
	struct tcp_connection *ret_connection)
{
	if (!fields->local_port || !fields->remote_port)
		return false;
	ret_connection->local_port =
		(uint16_t)attar_field_u64(fields->local_port, record->raw, record->raw_size);
	ret_connection->remote_port =
		(uint16_t)attar_field_u64(fields->remote_port, record->raw, record->raw_size);
	return copy_address(fields->local, record, ret_connection->local) &&
	       copy_address(fields->remote, record, ret_connection->remote);
}

/* ---- sockets ---- */

struct tcp_owners *tcp_owners_new(void)
{
	return calloc(1, sizeof(struct tcp_owners));
}

void tcp_owners_free(struct tcp_owners *owners)
{
	if (owners)
		free(owners->sockets);
	free(owners);
}

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- tables of connections ---- */

/* The first bytes of an address of IPv4 that is mapped to an address of IPv6. */
static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* Words in the byte order of the machine, as hexadecimal digits. */
static bool parse_address(const char *text, uint8_t *ret_address)
{
	const size_t n = strlen(text) / 8;
	uint32_t words[4] = {0};

	for (size_t i = 0; i < n && i < 4; i++)
		if (sscanf(text + 8 * i, "%8x", &words[i]) != 1)
			return false;
	if (n == 4) {
		memcpy(ret_address, words, sizeof(words));
	} else {
		memcpy(ret_address, mapped, sizeof(mapped));
		memcpy(ret_address + sizeof(mapped), words, sizeof(words[0]));
	}
	return n == 1 || n == 4;
}

static bool parse_socket(const char *line, struct socket *ret_socket)
{
	char local[33], remote[33];
	unsigned local_port, remote_port;

	*ret_socket = (struct socket){0};
	if (sscanf(line,
		    " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu",
		    local, &local_port, remote, &remote_port, &ret_socket->inode) != 5)
		return false;
	ret_socket->connection.local_port = (uint16_t)local_port;
	ret_socket->connection.remote_port = (uint16_t)remote_port;
	return ret_socket->inode && parse_address(local, ret_socket->connection.local) &&
	       parse_address(remote, ret_socket->connection.remote);
}

static bool make_room(struct tcp_owners *owners)
{
	size_t room = owners->room ? 2 * owners->room : 256;
	struct socket *sockets;

	if (owners->n < owners->room)
		return true;
	sockets = room <= SOCKETS_MAX ? realloc(owners->sockets, room * sizeof(*sockets)) : NULL;
	if (!sockets)
		return false;
	owners->sockets = sockets;
	owners->room = room;
	return true;
}

/* After each of which the limit of the time for reading a process is checked. */
enum { READ_AT_ONCE = 256 };

static void read_table(
	struct tcp_owners *owners, struct attar_run *run, const char *pid, const char *name)
{
	char path[300], line[512];
	struct socket socket;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/net/%s", pid, name);
	file = fopen(path, "re");
	for (size_t i = 1; file && fgets(line, sizeof(line), file); i++) {
		if (parse_socket(line, &socket) && make_room(owners))
			owners->sockets[owners->n++] = socket;
		if (i % READ_AT_ONCE == 0 && !run_scan_goes_on(run, atoi(pid))) {
			owners->is_partial = true;
			break;
		}
	}
	if (file)
		fclose(file);
}

/* The number in a link such as "socket:[1234]"; 0: it is another one. */
static unsigned long number_of_link(const char *path, const char *kind)
{
	char link[64], format[32];
	unsigned long number;
	ssize_t n = readlink(path, link, sizeof(link) - 1);

	snprintf(format, sizeof(format), "%s:[%%lu]", kind);
	link[n < 0 ? 0 : n] = '\0';
	return sscanf(link, format, &number) == 1 ? number : 0; /* NOLINT: the format is ours */
}

/* The connections in the network namespace of the process, once for each namespace. */
static void read_namespace(struct tcp_owners *owners, struct attar_run *run, const char *pid)
{
	char path[300];
	unsigned long number;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	number = number_of_link(path, "net");
	for (size_t i = 0; i < owners->n_namespaces; i++)
		if (owners->namespaces[i] == number)
			return;
	if (!number || owners->n_namespaces == NAMESPACES_MAX)
		return;
	owners->namespaces[owners->n_namespaces++] = number;
	read_table(owners, run, pid, "tcp");
	read_table(owners, run, pid, "tcp6");
}

/* ---- their processes ---- */

static int compare_inodes(const void *a, const void *b)
{
	const struct socket *one = a, *other = b;

	return (one->inode > other->inode) - (one->inode < other->inode);
}

static int compare_connections(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct tcp_connection));
}

static void read_descriptors(struct tcp_owners *owners, struct attar_run *run, const char *pid)
{
	char path[600];
	const struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct socket key = {0}, *socket;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		key.inode = number_of_link(path, "socket");
		socket = key.inode ? bsearch(&key, owners->sockets, owners->n, sizeof(key),
					     compare_inodes)
				   : NULL;
		if (socket && !socket->pid)
			socket->pid = (pid_t)atoi(pid);
		if (++n % READ_AT_ONCE == 0 && !run_scan_goes_on(run, atoi(pid))) {
			owners->is_partial = true;
			break;
		}
	}
	if (dir)
		closedir(dir);
}

static void each_process(struct tcp_owners *owners, struct attar_run *run,
	void (*fn)(struct tcp_owners *, struct attar_run *, const char *pid))
{
	const bool all = attar_run_is_selected(run, NULL);
	const struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		const struct attar_thread *thread = pid > 0 ? attar_run_thread(run, pid) : NULL;

		if (pid <= 0 || !(all || (thread && attar_run_is_selected(run, thread))))
			continue;
		if (run_scan_begin(run, pid)) {
			fn(owners, run, entry->d_name);
			run_scan_end(run, pid);
		} else {
			owners->is_partial = true;
		}
	}
	if (dir)
		closedir(dir);
}

static void scan(struct tcp_owners *owners, struct attar_run *run)
{
	const uint64_t used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t began = nanoseconds(CLOCK_MONOTONIC);
	uint64_t cpu, took;

	owners->n = owners->n_namespaces = 0;
	owners->is_partial = false;
	each_process(owners, run, read_namespace);
	if (owners->n)
		qsort(owners->sockets, owners->n, sizeof(*owners->sockets), compare_inodes);
	if (owners->n)
		each_process(owners, run, read_descriptors);
	if (owners->n)
		qsort(owners->sockets, owners->n, sizeof(*owners->sockets), compare_connections);
	cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used;
	took = (nanoseconds(CLOCK_MONOTONIC) - began) / SCAN_WAIT;
	owners->spent += cpu > took ? cpu : took;
}

static bool may_scan(struct tcp_owners *owners)
{
	const uint64_t now = nanoseconds(CLOCK_MONOTONIC);

	if (!owners->began)
		owners->began = now;
	return owners->spent < BURST_NS + (now - owners->began) / SCAN_SHARE;
}

pid_t tcp_owners_known(const struct tcp_owners *owners, const struct tcp_connection *connection)
{
	const struct socket *socket =
		owners->n ? bsearch(connection, owners->sockets, owners->n,
				    sizeof(*owners->sockets), compare_connections)
			  : NULL;

	return socket ? socket->pid : 0;
}

/*
 * Who listens at the local end: the process of a connection that is not accepted yet, or that has
 * been closed since. The socket can be bound to the address, to all addresses of its family, or,
 * as one of IPv6, to all.
 */
static pid_t find_listener(const struct tcp_owners *owners, const struct tcp_connection *connection)
{
	const bool is_ipv4 = !memcmp(connection->local, mapped, sizeof(mapped));
	struct tcp_connection key = {.local_port = connection->local_port};
	pid_t pid;

	if (is_ipv4)
		memcpy(key.remote, mapped, sizeof(mapped));
	memcpy(key.local, connection->local, sizeof(key.local));
	pid = tcp_owners_known(owners, &key);
	if (pid <= 0) {
		memcpy(key.local, key.remote, sizeof(key.local));
		pid = tcp_owners_known(owners, &key);
	}
	if (pid <= 0 && is_ipv4) {
		memset(key.local, 0, sizeof(key.local));
		memset(key.remote, 0, sizeof(key.remote));
		pid = tcp_owners_known(owners, &key);
	}
	return pid;
}

pid_t tcp_owners_find(
	struct tcp_owners *owners, struct attar_run *run, const struct tcp_connection *connection)
{
	bool is_new = attar_run_is_live(run) && may_scan(owners);
	pid_t pid;

	if (is_new)
		scan(owners, run);
	pid = tcp_owners_known(owners, connection);
	if (pid <= 0)
		pid = find_listener(owners, connection);
	return pid > 0 ? pid : is_new && !owners->is_partial ? 0 : -1;
}

void tcp_owners_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
}
