/* SPDX-License-Identifier: CC0-1.0 */
/* The collector: discovery of programs, and statistics. */
#include "writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_DESCRIPTORS 2048      /* of a process that are looked at */
#define SCAN_NS         100000000 /* time of a scan, at most; the next one continues */
#define ANSWER_EACH_NS  500000    /* of programs that connect, after ANSWER_AT_ONCE of them */
#define ANSWER_AT_ONCE  256
#define ANSWER_NS       20000000 /* time for new programs, at most; others wait for the next poll */

/* ---- discovery by programs: a socket and request files ---- */

static socklen_t address_of(uint64_t id, struct sockaddr_un *ret_address)
{
	int n;

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1, COLLECTOR_SOCKET,
		(unsigned long long)id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int open_socket(struct perfume_collector *c)
{
	struct sockaddr_un address;
	socklen_t n;

	if (getrandom(&c->id, sizeof(c->id), 0) != sizeof(c->id))
		return -errno;
	c->id |= 1;
	c->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->socket < 0)
		return -errno;
	n = address_of(c->id, &address);
	if (bind(c->socket, (struct sockaddr *)&address, n) || listen(c->socket, 4096))
		return -errno;
	return 0;
}

static int is_alive(uint64_t id)
{
	struct sockaddr_un address;
	socklen_t n = address_of(id, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), alive;

	alive = fd >= 0 && (!connect(fd, (struct sockaddr *)&address, n) || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return alive;
}

/* Moves the lines of other live collectors to the front of text. Returns their length. */
static size_t keep_lines(const struct perfume_collector *c, char *text)
{
	char *line, *rest = text, *out = text;

	while ((line = strsep(&rest, "\n")) != NULL) {
		uint64_t id = strtoull(line, NULL, 16);
		size_t n = strlen(line);

		if (n < 18 || line[16] != ':' || id == c->id || !is_alive(id))
			continue;
		memmove(out, line, n);
		out += n;
		*out++ = '\n';
	}
	return (size_t)(out - text);
}

/* Other users can lock any file that they can read, so do not wait long for the lock. */
static void lock_requests(int fd)
{
	int tries = 100;

	while (flock(fd, LOCK_EX | LOCK_NB) && --tries)
		usleep(1000);
}

/* Rewrites the request file with or without our line. Returns 0 or a negative errno. */
static int write_requests(struct perfume_collector *c, int with_ours)
{
	char text[9 * (AREA_TEXT + 20)];
	struct stat st;
	ssize_t got;
	size_t n;
	int fd = open(c->requests, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	lock_requests(fd);
	got = pread(fd, text, sizeof(text) - AREA_TEXT - 20, 0);
	text[got > 0 ? got : 0] = 0;
	n = keep_lines(c, text);
	if (with_ours)
		n += (size_t)sprintf(
			text + n, "%016llx:%s\n", (unsigned long long)c->id, c->patterns);
	got = pwrite(fd, text, n, 0);
	if (got != (ssize_t)n || ftruncate(fd, (off_t)n))
		got = -1;
	close(fd);
	return got < 0 ? -EIO : 0;
}

static void send_requests(struct perfume_collector *c)
{
	unsigned user = (unsigned)geteuid();

	snprintf(
		c->requests, sizeof(c->requests), user ? REQUESTS_OF_USER : REQUESTS_OF_ROOT, user);
	if (write_requests(c, 1) < 0)
		c->requests[0] = 0;
}

/* ---- processes ---- */

/* When the process of this directory of /proc started, in clock ticks since boot; 0: it ended. */
static uint64_t read_started(int directory, const char *path)
{
	char text[1024], *field;
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC), i;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	field = strrchr(text, ')'); /* of the name, which may contain others */
	for (i = 0; i < 20 && field; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

static int note_asked(struct perfume_collector *c, const struct perfume_collector_options *options)
{
	char path[64];
	size_t i;

	c->n_asked = options->n_pids;
	c->asked = calloc(options->n_pids + 1, sizeof(*c->asked));
	for (i = 0; c->asked && i < c->n_asked; i++) {
		c->asked[i].pid = options->pids[i];
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)options->pids[i]);
		c->asked[i].started = read_started(AT_FDCWD, path);
	}
	return c->asked ? 0 : -ENOMEM;
}

/* ---- life cycle ---- */

int perfume_collector_new(
	const struct perfume_collector_options *options, struct perfume_collector **ret_collector)
{
	struct perfume_collector *c;
	int error;

	if (!options || options->size < sizeof(*options) || !options->patterns ||
		strlen(options->patterns) >= AREA_TEXT || strchr(options->patterns, '\n') ||
		(options->n_pids && !options->pids))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->socket = -1;
	strcpy(c->patterns, options->patterns);
	error = note_asked(c, options);
	if (error == 0)
		error = open_socket(c);
	if (error < 0) {
		perfume_collector_free(c);
		return error;
	}
	c->only_started = options->only_started;
	c->began = c->polled = perfume_collector_now();
	snprintf(c->variable, sizeof(c->variable), COLLECTOR_VARIABLE "=%016llx:%s",
		(unsigned long long)c->id, c->patterns);
	if (!c->n_asked && !c->only_started && *c->patterns)
		send_requests(c);
	perfume_clock_update(c);
	*ret_collector = c;
	return 0;
}

void perfume_collector_disown(struct perfume_collector *c)
{
	struct writer *writer;

	c->requests[0] = 0;
	for (writer = c->writers; writer; writer = writer->next)
		writer->claim = -1;
}

void perfume_collector_free(struct perfume_collector *c)
{
	struct writer *writer;
	struct user *user;

	if (!c)
		return;
	if (c->requests[0])
		write_requests(c, 0);
	while ((writer = c->writers) != NULL) {
		c->writers = writer->next;
		perfume_writer_free(c, writer);
	}
	while ((user = c->users) != NULL) {
		c->users = user->next;
		free(user);
	}
	while (c->n_callers)
		close(c->callers[--c->n_callers]);
	if (c->socket >= 0)
		close(c->socket);
	free(c->heap);
	free(c->asked);
	free(c);
}

const char *perfume_collector_variable(const struct perfume_collector *c)
{
	return c->variable;
}

/* ---- finding programs ---- */

/* Returns 1 for a new area, 0 if fd is not an area or is already known. */
static int look_at_fd(struct perfume_collector *c, pid_t pid, int fds, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);
	int fd;

	if (n < 0)
		return 0;
	target[n] = 0;
	if (strncmp(target, "/memfd:" AREA_NAME, sizeof("/memfd:" AREA_NAME) - 1))
		return 0;
	fd = openat(fds, name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && perfume_writer_add(c, fd, pid) > 0;
}

/*
 * A program creates its area early, so that it is among its first descriptors. started: only if
 * the process is the one that started then; 0: whichever has the PID.
 */
static int look_at_process(struct perfume_collector *c, pid_t pid, uint64_t started)
{
	int found = 0, left = MAX_DESCRIPTORS;
	struct dirent *entry;
	char path[64];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	if (fds && started && read_started(dirfd(fds), "../stat") != started)
		left = 0;
	while (fds && left-- > 0 && (entry = readdir(fds)) != NULL)
		found += look_at_fd(c, pid, dirfd(fds), entry->d_name);
	if (fds)
		closedir(fds);
	return found;
}

/* Other users can make a scan as long as they like, with processes and descriptors. */
int perfume_collector_scan(struct perfume_collector *c)
{
	uint64_t end = perfume_collector_now() + SCAN_NS;
	struct dirent *entry;
	DIR *proc;
	size_t i;
	int found = 0, pid;

	for (i = 0; i < c->n_asked; i++)
		if (c->asked[i].started)
			found += look_at_process(c, c->asked[i].pid, c->asked[i].started);
	proc = c->n_asked || c->only_started ? NULL : opendir("/proc");
	while (proc && (entry = readdir(proc)) != NULL) {
		pid = atoi(entry->d_name);
		if (pid <= c->scanned_pid || pid == getpid())
			continue;
		if (perfume_collector_now() > end)
			break;
		found += look_at_process(c, pid, 0);
		c->scanned_pid = pid;
	}
	if (!proc || !entry)
		c->scanned_pid = 0;
	if (proc)
		closedir(proc);
	return found;
}

int perfume_collector_scan_is_complete(const struct perfume_collector *c)
{
	return !c->scanned_pid;
}

/*
 * Returns the descriptor of an area sent by the peer, or a negative errno. The peer is untrusted.
 */
static int receive(int caller)
{
	char control[CMSG_SPACE(sizeof(int) * 8)] __attribute__((aligned(8)));
	char text[16];
	struct iovec vec = {text, sizeof(text)};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1, .msg_control = control};
	struct cmsghdr *part;
	int fds[8], fd = -1;
	size_t n, i;

	message.msg_controllen = sizeof(control);
	if (recvmsg(caller, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
		return -errno;
	for (part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(part), n * sizeof(int));
		for (i = 0; i < n; i++) {
			if (fd >= 0)
				close(fd);
			fd = fds[i];
		}
	}
	return fd < 0 ? -EBADMSG : fd;
}

/* Returns false if the program has not sent a message yet. */
static int handle_caller(struct perfume_collector *c, int caller)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	int fd = receive(caller);

	if (fd == -EAGAIN)
		return 0;
	/* The PID is 0 for a process outside our PID namespace. */
	if (fd >= 0 && !getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.pid > 0)
		perfume_writer_add(c, fd, peer.pid);
	else if (fd >= 0)
		close(fd);
	return 1;
}

/* Drop the oldest silent connection if there are too many. */
static void keep_caller(struct perfume_collector *c, int caller)
{
	if (c->n_callers == MAX_CALLERS) {
		close(c->callers[0]);
		memmove(c->callers, c->callers + 1, (MAX_CALLERS - 1) * sizeof(c->callers[0]));
		c->n_callers--;
	}
	c->callers[c->n_callers++] = caller;
}

/* Other users can connect any number of times. What is left is answered at the next poll. */
static int has_answer_left(struct perfume_collector *c)
{
	uint64_t now = perfume_collector_now();

	if (now - c->answered_to > ANSWER_AT_ONCE * ANSWER_EACH_NS)
		c->answered_to = now - ANSWER_AT_ONCE * ANSWER_EACH_NS;
	return now - c->answered_to >= ANSWER_EACH_NS;
}

static void answer_callers(struct perfume_collector *c)
{
	const uint64_t end = perfume_collector_now() + ANSWER_NS;
	int caller, i, kept = 0;

	for (i = 0; i < c->n_callers; i++)
		if (handle_caller(c, c->callers[i]))
			close(c->callers[i]);
		else
			c->callers[kept++] = c->callers[i];
	c->n_callers = kept;
	while (has_answer_left(c) && perfume_collector_now() < end) {
		caller = accept4(c->socket, NULL, NULL, SOCK_CLOEXEC);
		if (caller < 0)
			break;
		c->answered_to += ANSWER_EACH_NS;
		if (handle_caller(c, caller))
			close(caller);
		else
			keep_caller(c, caller);
	}
}

/* ---- reading ---- */

int perfume_collector_poll(struct perfume_collector *c, int all)
{
	struct writer **link, *writer;

	answer_callers(c);
	perfume_clock_update(c);
	/*
	 * Older records have been published by now, unless their thread was preempted while
	 * writing.
	 */
	perfume_users_begin_poll(c);
	c->polled = perfume_collector_now();
	c->horizon = all ? UINT64_MAX : c->polled;
	c->is_last = all;
	for (link = &c->writers; (writer = *link) != NULL;) {
		int drained = writer->gone;

		perfume_writer_visit(c, writer);
		perfume_reader_visit(c, writer);
		writer->visited = c->polled;
		if (drained && !perfume_writer_waits(writer)) {
			*link = writer->next;
			perfume_writer_free(c, writer);
		} else {
			link = &writer->next;
		}
	}
	return 0;
}

/* Number of rings and events that are not read. */
static uint32_t without_room(const struct perfume_collector *c, const struct writer *writer)
{
	uint32_t rings = __atomic_load_n(&writer->area->n_rings, __ATOMIC_RELAXED);
	uint32_t events = __atomic_load_n(&writer->area->n_slots, __ATOMIC_RELAXED), n = 0;
	const struct user *user = writer->user;

	if (writer->gone == 2)
		return 0;
	if ((c->n_readers == MAX_READERS ||
		    !perfume_user_has_room(user, user->n_readers, MAX_READERS)) &&
		rings > writer->n_readers && rings <= AREA_RINGS)
		n += rings - writer->n_readers;
	if ((c->n_events == MAX_EVENTS ||
		    !perfume_user_has_room(user, user->n_events, MAX_EVENTS)) &&
		events > writer->n_events && events <= AREA_SLOTS)
		n += events - writer->n_events;
	return n;
}

/* Counts users without a place for another program, and finds those with most places and losses. */
static void add_users(const struct perfume_collector *c, struct perfume_collector_stats *stats)
{
	const struct user *user;
	uint64_t most_lost = 0;
	uint32_t most = 0;

	for (user = c->users; user; user = user->next) {
		uint32_t places = (user->n_writers + user->n_readers) * (MAX_EVENTS / MAX_READERS) +
				  user->n_events;

		stats->no_room += !perfume_user_has_room(user, user->n_writers, MAX_WRITERS);
		if (places >= most) {
			most = places;
			stats->no_room_user = user->uid;
		}
		if (perfume_user_is_trusted(user))
			continue;
		stats->lost_of_others += user->lost;
		if (user->lost > most_lost) {
			most_lost = user->lost;
			stats->others_user = user->uid;
		}
	}
}

void perfume_collector_stats(
	const struct perfume_collector *c, struct perfume_collector_stats *ret_stats)
{
	const struct writer *writer;
	const struct reader *reader;
	uint32_t i;

	*ret_stats = c->past;
	ret_stats->no_room = c->past.writers == MAX_WRITERS;
	ret_stats->has_several_users = c->has_several_users;
	add_users(c, ret_stats);
	for (writer = c->writers; writer; writer = writer->next) {
		ret_stats->no_room += without_room(c, writer);
		if (!writer->n_chosen)
			continue;
		ret_stats->no_claim += writer->claim < 0;
		ret_stats->lost_no_ring += writer->lost_no_ring;
		for (i = 0; i < writer->n_readers; i++) {
			reader = writer->readers[i];
			ret_stats->read += reader->read;
			ret_stats->lost += reader->lost;
			ret_stats->written += perfume_reader_written(reader);
		}
	}
}
