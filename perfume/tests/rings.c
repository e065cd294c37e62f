/* SPDX-License-Identifier: CC0-1.0 */
#include "rings.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

struct program start(const char *mode, unsigned long n, const char *variable)
{
	struct program program;
	int out[2], in[2];
	char number[32];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	snprintf(number, sizeof(number), "%lu", n);
	program.pid = fork();
	if (!program.pid) {
		/* A failed test leaves no process behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (variable)
			putenv(strdup(variable));
		execl(getenv("RING_WRITER"), "ring_writer", mode, number, NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	program.out = fdopen(out[0], "r");
	program.in = in[1];
	return program;
}

unsigned long await_word(struct program *program, const char *word)
{
	char line[128] = "", heard[64];
	unsigned long number = 0;

	if (!fgets(line, sizeof(line), program->out) ||
		sscanf(line, "%63s %lu", heard, &number) != 2 || strcmp(heard, word))
		fail_msg("read '%s', not '%s'", line, word);
	return number;
}

int end_of(struct program *program)
{
	int status;

	fclose(program->out);
	close(program->in);
	waitpid(program->pid, &status, 0);
	return status;
}

struct perfume_collector *collector_for(const char *patterns, pid_t pid)
{
	struct perfume_collector_options options = {.size = sizeof(options), .patterns = patterns};
	struct perfume_collector *collector;

	options.pids = &pid;
	options.n_pids = pid > 0;
	options.only_started = pid < 0;
	assert_int_equal(perfume_collector_new(&options, &collector), 0);
	return collector;
}

struct received got;

static void see_thread(pid_t tid, uint64_t i)
{
	unsigned t;

	for (t = 0; t < got.n_threads && got.threads[t].tid != tid; t++)
		;
	if (t == got.n_threads && t < 2048) {
		got.n_threads++;
		got.threads[t].tid = tid;
	}
	got.n_wrong_sequence += i != got.threads[t].next;
	got.threads[t].next = i + 1;
	got.threads[t].n++;
}

static void see(const struct perfume_received *event)
{
	uint64_t tick[2];

	got.out_of_order += event->time < got.last_time;
	got.last_time = event->time;
	if (got.n < 4) {
		snprintf(got.names[got.n], 64, "%s", event->source->name);
		got.pids[got.n] = event->source->pid;
	}
	if (!strcmp(event->source->name, "ring_text") && got.n < 4)
		snprintf(got.texts[got.n], 64, "%s", (const char *)event->payload + 8);
	if (!strcmp(event->source->name, "ring_tick")) {
		memcpy(tick, event->payload, sizeof(tick));
		got.wrong_payload += event->size != 16 || tick[0] != ~tick[1];
		got.first_i = got.ticks ? got.first_i : tick[0];
		got.last_i = tick[0];
		got.ticks++;
		see_thread(event->tid, tick[0]);
	}
	got.n++;
}

void read_all(struct perfume_collector *collector, int all)
{
	struct perfume_received event;

	perfume_collector_poll(collector, all);
	while (perfume_collector_next(collector, &event) > 0)
		see(&event);
}

struct perfume_collector_stats stats_of(struct perfume_collector *collector)
{
	struct perfume_collector_stats stats;

	perfume_collector_stats(collector, &stats);
	return stats;
}

void expect_balance(struct perfume_collector *collector)
{
	struct perfume_collector_stats stats = stats_of(collector);

	assert_int_equal(stats.written, stats.read + stats.lost);
	assert_int_equal(stats.forged, 0);
	assert_int_equal(got.wrong_payload, 0);
}

int forget(void **state)
{
	memset(&got, 0, sizeof(got));
	return 0;
}

struct area *area_of(pid_t pid)
{
	char path[64], target[64];
	struct area *area;
	int fd, i, n;

	for (i = 0, fd = -1; i < 4096 && fd < 0; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, i);
		n = (int)readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, "/memfd:" AREA_NAME, 16))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	assert_true(fd >= 0);
	area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	close(fd);
	return area;
}

void send_fd(const struct perfume_collector *collector, int fd)
{
	const char *id = strchr(perfume_collector_variable(collector), '=') + 1;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	char nothing = 0;
	struct iovec vec = {&nothing, 1};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
	struct cmsghdr *rights;
	int out = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  (size_t)snprintf(to.sun_path + 1, 64, "perfume-%.16s", id));

	assert_int_equal(connect(out, (struct sockaddr *)&to, n), 0);
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &fd, sizeof(int));
	assert_true(sendmsg(out, &message, 0) >= 0);
	close(out);
	close(fd);
}

struct area *forge_large(int *ret_fd, int seals, uint32_t ring_size)
{
	struct area *area;
	int fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)(AREA_DATA + (uint64_t)ring_size * AREA_RINGS)), 0);
	area = mmap(NULL, AREA_DATA + 4 * ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	area->magic = AREA_MAGIC;
	area->ring_size = ring_size;
	area->n_slots = 1;
	area->n_rings = 4;
	area->pid = (uint32_t)getpid();
	area->clock = AREA_CLOCK_MONOTONIC;
	strcpy(area->slots[0].text, "forged u32 a");
	fcntl(fd, F_ADD_SEALS, seals);
	*ret_fd = fd;
	return area;
}

struct area *forge(int *ret_fd, int seals)
{
	return forge_large(ret_fd, seals, FORGED_RING);
}

void put_forged(struct area *area, uint32_t ring, uint64_t time)
{
	struct area_record record = {.size = 24, .time = time};
	struct area_ring *to = &area->rings[ring];

	memcpy((char *)area + AREA_DATA + (uint64_t)ring * FORGED_RING + to->head, &record,
		sizeof(record));
	to->count++;
	to->reserved += 24;
	to->head += 24;
}

void live_alone(void)
{
	pid_t child;
	int status;

	if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) < 0)
		return;
	child = fork();
	if (child > 0) {
		waitpid(child, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (child < 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0 ||
		mount("run", "/run", "tmpfs", 0, NULL) < 0) {
		perror("cannot live alone");
		_exit(1);
	}
}
