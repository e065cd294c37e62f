/* SPDX-License-Identifier: CC0-1.0 */
/* A malicious program cannot harm the collector, nor a malicious collector a program. */
#include "rings.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t seed = 88172645463325252ULL;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void an_invalid_area_is_refused(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("*", -1);
	struct area *area;
	int fd;

	send_fd(collector, open("/dev/zero", O_RDWR | O_CLOEXEC));
	send_fd(collector, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	forge(&fd, F_SEAL_GROW);
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->magic++;
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->ring_size *= 2;
	send_fd(collector, fd);
	area = forge(&fd, sealed);
	area->ring_size = 12345;
	send_fd(collector, fd);
	read_all(collector, 1);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
}

/*
 * Random corruption of every kind while the collector reads: it terminates, does not crash and
 * stays within bounds.
 */
static void a_corrupt_area_is_harmless(void **state)
{
	static const uint64_t odd[] = {0, 1, 8, 15, 16, 0xffff, 0x10000, 0x7fffffff, 0xffffffff,
		1ULL << 32, 1ULL << 63, UINT64_MAX, FORGED_RING, FORGED_RING - 8, 4096};
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int round, i;

	for (round = 0; round < 300; round++) {
		struct perfume_collector *collector = collector_for("*", -1);
		struct area *area;
		int fd;

		area = forge(&fd, sealed);
		send_fd(collector, fd);
		for (i = 0; i < 40; i++) {
			uint64_t *words = (uint64_t *)area;
			uint64_t *rings = (uint64_t *)area->rings;
			uint64_t value =
				random_number() % 4 ? odd[random_number() % 15] : random_number();

			/* the head, the rings' heads, the first slots, the records */
			switch (random_number() % 5) {
			case 0:
				words[1 + random_number() % 6] = value;
				break;
			case 1:
				rings[random_number() % (4 * sizeof(struct area_ring) / 8)] = value;
				break;
			case 2:
				((uint64_t *)area->slots)[random_number() % 200] = value;
				break;
			case 3:
				rings[random_number() % 4 * sizeof(struct area_ring) / 8 +
					random_number() % 3] =
					random_number() % FORGED_RING & ~7ULL;
				break;
			default:
				words[AREA_DATA / 8 + random_number() % (4 * FORGED_RING / 8)] =
					value;
			}
			area->n_rings = area->n_rings > 8 ? 8 : area->n_rings;
			read_all(collector, i % 2);
		}
		munmap(area, AREA_DATA + 4 * FORGED_RING);
		perfume_collector_free(collector);
	}
}

/* With the time of its record it would be held back forever. */
static void a_record_from_the_future_gets_the_current_time(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("forged", -1);
	struct area_record record = {.size = 24, .time = UINT64_MAX / 2};
	struct perfume_received event;
	struct area *area;
	int fd;

	area = forge(&fd, sealed);
	send_fd(collector, fd);
	perfume_collector_poll(collector, 0);
	memcpy((char *)area + AREA_DATA, &record, sizeof(record));
	area->rings[0].reserved = area->rings[0].head = 24;
	area->rings[0].count = 1;
	perfume_collector_poll(collector, 0);
	perfume_collector_poll(collector, 0);
	assert_int_equal(perfume_collector_next(collector, &event), 1);
	assert_true(event.time < UINT64_MAX / 4);
	assert_int_equal(event.size, 8);
	munmap(area, AREA_DATA + 4 * FORGED_RING);
	perfume_collector_free(collector);
}

/* A program of this user with 40 MiB of records in each of two rings. */
static void fill_two_rings(const struct perfume_collector *collector, uid_t user)
{
	const uint32_t size = 64U << 20, full = 40U << 20;
	struct area_record record = {.size = 32, .time = 1000};
	struct area *area;
	uint32_t at, i;
	int fd;

	if (setuid(user))
		_exit(1);
	area = forge_large(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, size);
	area->claims[0].id =
		strtoull(strchr(perfume_collector_variable(collector), '=') + 1, NULL, 16);
	for (i = 0; i < 2; i++) {
		for (at = 0; at < full; at += record.size)
			memcpy((char *)area + AREA_DATA + (uint64_t)i * size + at, &record,
				sizeof(record));
		area->rings[i].count = full / record.size;
		area->rings[i].reserved = area->rings[i].head = full;
	}
	send_fd(collector, fd);
	_exit(0);
}

/* Its owner can make a ring that has no end. */
static void the_last_poll_counts_what_it_leaves_in_rings_of_others(void **state)
{
	const uint64_t written = 2 * (40U << 20) / 32;
	struct perfume_collector *collector;
	struct perfume_collector_stats stats;
	pid_t pid;
	int status;

	if (geteuid())
		skip();
	collector = collector_for("forged", -1);
	pid = fork();
	if (!pid)
		fill_two_rings(collector, 65534);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	read_all(collector, 1);
	stats = stats_of(collector);
	assert_int_equal(stats.read, (64U << 20) / 32);
	assert_int_equal(stats.written, written);
	assert_int_equal(stats.lost, written - stats.read);
	assert_int_equal(stats.left, stats.lost);
	assert_int_equal(stats.lost_of_others, stats.lost);
	assert_int_equal(stats.left_user, 65534);
	assert_int_equal(stats.forged, 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).lost, stats.lost);
	perfume_collector_free(collector);
}

static void the_last_poll_reads_all_rings_of_the_own_user(void **state)
{
	struct perfume_collector *collector = collector_for("forged", -1);
	pid_t pid = fork();

	if (!pid)
		fill_two_rings(collector, geteuid());
	waitpid(pid, NULL, 0);
	read_all(collector, 1);
	assert_int_equal(stats_of(collector).read, 2 * (40U << 20) / 32);
	assert_int_equal(stats_of(collector).lost, 0);
	perfume_collector_free(collector);
}

/* A program that has exited stays until its ring is empty, which takes several polls here. */
static void a_large_ring_of_an_exited_program_is_read_by_several_polls(void **state)
{
	const uint64_t written = 2 * (40U << 20) / 32;
	struct perfume_collector *collector;
	pid_t pid;

	if (geteuid())
		skip();
	collector = collector_for("forged", -1);
	pid = fork();
	if (!pid)
		fill_two_rings(collector, 65534);
	waitpid(pid, NULL, 0);
	READ_UNTIL(collector, got.n == written);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).read, written);
	assert_int_equal(stats_of(collector).lost, 0);
	perfume_collector_free(collector);
}

/* Skipping what a ring held before takes several polls, too. */
static void an_event_after_a_full_ring_is_read_when_its_program_has_exited(void **state)
{
	const uint32_t size = 64U << 20, full = 56U << 20;
	const struct area_record old = {.size = 32, .time = 1000}, new = {.size = 24, .time = 2000};
	struct perfume_collector *collector = collector_for("forged", -1);
	struct area *area;
	int fd, ends[2];
	uint32_t at;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		area = forge_large(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, size);
		for (at = 0; at < full; at += old.size)
			memcpy((char *)area + AREA_DATA + at, &old, sizeof(old));
		memcpy((char *)area + AREA_DATA + at, &new, sizeof(new));
		area->rings[0].count = full / old.size;
		area->rings[0].reserved = area->rings[0].head = full;
		send_fd(collector, fd);
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		area->rings[0].count++;
		area->rings[0].reserved = area->rings[0].head = full + new.size;
		_exit(0);
	}
	READ_UNTIL(collector, stats_of(collector).writers == 1);
	assert_int_equal(write(ends[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(stats_of(collector).written, 1);
	close(ends[0]);
	close(ends[1]);
	perfume_collector_free(collector);
}

/* Otherwise a ring whose head moves all the time would end no poll. */
static void a_poll_reads_a_limited_part_of_a_ring(void **state)
{
	const uint32_t size = 64U << 20, full = 40U << 20;
	const struct area_record none = {.size = 16, .slot = AREA_OWNER};
	const struct area_record last = {.size = 24, .time = 1000};
	struct perfume_collector *collector = collector_for("forged", -1);
	struct perfume_received event;
	struct area *area;
	uint32_t at, polls = 0;
	int fd;

	area = forge_large(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, size);
	send_fd(collector, fd);
	perfume_collector_poll(collector, 0);
	for (at = 0; at < full; at += none.size)
		memcpy((char *)area + AREA_DATA + at, &none, sizeof(none));
	memcpy((char *)area + AREA_DATA + at, &last, sizeof(last));
	area->rings[0].count = 1;
	area->rings[0].reserved = area->rings[0].head = at + last.size;
	do
		perfume_collector_poll(collector, 0);
	while (++polls < 100 && !perfume_collector_next(collector, &event));
	assert_in_range(polls, 2, 10);
	munmap(area, AREA_DATA + 4 * (size_t)size);
	perfume_collector_free(collector);
}

/* Its thread was preempted while it wrote the record, and the caller has a later one. */
static void an_older_record_that_arrives_late_is_returned(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("forged", -1);
	const uint64_t times[] = {2000, 1000, 3000};
	struct perfume_received event;
	struct area *area;
	int fd, i;

	area = forge(&fd, sealed);
	send_fd(collector, fd);
	perfume_collector_poll(collector, 0);
	for (i = 0; i < 3; i++) {
		put_forged(area, (uint32_t)i, times[i]);
		perfume_collector_poll(collector, 0);
		assert_int_equal(perfume_collector_next(collector, &event), 1);
		assert_int_equal(event.time, times[i]);
	}
	munmap(area, AREA_DATA + 4 * FORGED_RING);
	perfume_collector_free(collector);
}

/* It was killed after it had counted its second record, before it published it. */
static void a_record_that_was_only_counted_is_not_written(void **state)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct perfume_collector *collector = collector_for("forged", -1);
	struct perfume_collector_stats stats;
	struct area *area;
	int fd;
	pid_t pid = fork();

	if (!pid) {
		area = forge(&fd, sealed);
		area->claims[0].id =
			strtoull(strchr(perfume_collector_variable(collector), '=') + 1, NULL, 16);
		send_fd(collector, fd);
		put_forged(area, 0, 1000);
		area->rings[0].count++;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	read_all(collector, 0);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	stats = stats_of(collector);
	assert_int_equal(stats.read, 1);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.written, 1);
	perfume_collector_free(collector);
}

/* Returns the number of records that a ring has lost by its own account, or -1: it is forged. */
static int64_t lost_by(uint64_t position, uint64_t count)
{
	struct perfume_collector *collector = collector_for("forged", -1);
	struct perfume_collector_stats stats;
	struct area_ring *ring;
	struct area *area;
	int fd;

	area = forge(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	send_fd(collector, fd);
	read_all(collector, 0);
	usleep(10000);
	ring = &area->rings[0];
	ring->marks[0].count = ring->count = count;
	ring->marks[0].position = ring->reserved = position;
	ring->head = position;
	read_all(collector, 0);
	stats = stats_of(collector);
	munmap(area, AREA_DATA + 4 * FORGED_RING);
	perfume_collector_free(collector);
	return stats.forged ? -1 : (int64_t)stats.lost;
}

/* The smallest record has 16 bytes, and takes 4 ns. */
static void a_loss_is_limited_by_bytes_and_time(void **state)
{
	const uint64_t bytes = 2 * FORGED_RING;

	assert_int_equal(lost_by(bytes, bytes / 16), bytes / 16);
	assert_int_equal(lost_by(bytes, bytes / 16 + 1), -1);
	assert_int_equal(lost_by(1ULL << 40, 2000000), 2000000);
	assert_int_equal(lost_by(1ULL << 40, 10000000000), -1);
}

/*
 * ---- a file system, run by a thread of the child, that never answers the request for a page ----
 */

static void fuse_reply(int fuse, uint64_t unique, int error, const void *body, size_t n)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + n), .error = error, .unique = unique};
	struct iovec pieces[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)body, n}};

	(void)!writev(fuse, pieces, 2);
}

static void fuse_answer(int fuse, const struct fuse_in_header *request)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_attr attr = {.ino = request->nodeid, .size = 4096, .nlink = 1};
	struct fuse_entry_out entry = {.nodeid = 2, .attr_valid = 99, .entry_valid = 99};
	struct fuse_attr_out attrs = {.attr_valid = 99};
	struct fuse_open_out open = {.fh = 1};

	attr.mode = request->nodeid == 1 && request->opcode != FUSE_LOOKUP ? S_IFDIR | 0755
									   : S_IFREG | 0644;
	entry.attr = attrs.attr = attr;
	switch (request->opcode) {
	case FUSE_INIT:
		fuse_reply(fuse, request->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_reply(fuse, request->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_reply(fuse, request->unique, 0, &attrs, sizeof(attrs));
		break;
	case FUSE_OPEN:
		fuse_reply(fuse, request->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
		break;
	default:
		fuse_reply(fuse, request->unique, -ENOSYS, NULL, 0);
	}
}

static void *fuse_serve(void *fuse)
{
	static char request[65536] __attribute__((aligned(8)));

	while (read((int)(intptr_t)fuse, request, sizeof(request)) > 0)
		fuse_answer((int)(intptr_t)fuse, (void *)request);
	return NULL;
}

/* Returns a page of memory on which any access waits forever, or NULL if that is not possible. */
static void *page_that_never_comes(void)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), file;
	char options[128];
	pthread_t thread;
	void *page;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("snare", "/run", "fuse", 0, options) ||
		pthread_create(&thread, NULL, fuse_serve, (void *)(intptr_t)fuse))
		return NULL;
	file = open("/run/page", O_RDONLY | O_CLOEXEC);
	umount2("/run", MNT_DETACH);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	/* At exit it would be closed after the thread that should answer for it. */
	close(file);
	return page == MAP_FAILED ? NULL : page;
}

/*
 * A program whose enable word lies on such a page. It reports on the pipe whether this was
 * possible.
 */
static void lay_a_snare(const struct perfume_collector *collector, int end)
{
	void *page = page_that_never_comes();
	struct area *area;
	int fd;

	if (page) {
		area = forge(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		area->slots[0].word = (uintptr_t)page;
		area->slots[0].live = 1;
		send_fd(collector, fd);
	}
	if (write(end, page ? "y" : "n", 1) == 1)
		pause();
	_exit(1);
}

static int count_one(void *n, const struct perfume_registered *registered)
{
	*(int *)n += !strcmp(registered->source->name, "forged") && !registered->word;
	return 0;
}

static void memory_that_never_arrives_blocks_no_collector(void **state)
{
	enum { N = 4 };
	struct perfume_collector *collector = collector_for("forged", -1);
	struct timespec before, after;
	pid_t pids[N];
	int ends[2], n = 0, i;
	char byte;

	assert_int_equal(pipe(ends), 0);
	for (i = 0; i < N; i++) {
		pids[i] = fork();
		if (!pids[i])
			lay_a_snare(collector, ends[1]);
		assert_int_equal(read(ends[0], &byte, 1), 1);
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	read_all(collector, 0);
	read_all(collector, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* a second for all of them */
	assert_true(
		(after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 <
		2500);
	perfume_collector_each(collector, count_one, &n);
	if (byte == 'y') {
		assert_int_equal(stats_of(collector).refused, N);
		assert_int_equal(n, N);
	}
	for (i = 0; i < N; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	read_all(collector, 0);
	read_all(collector, 0);
	assert_int_equal(stats_of(collector).writers, 0);
	perfume_collector_free(collector);
	close(ends[0]);
	close(ends[1]);
	if (byte == 'n') {
		print_message("this process cannot mount a FUSE file system\n");
		skip();
	}
}

/* A collector that was killed at a bad moment has left the program's lock taken. */
static void a_lock_left_by_a_killed_collector_is_released(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct area *area;

	await_word(&program, "ready");
	area = area_of(program.pid);
	area->lock = 1;
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.ticks > 1000);
	assert_int_equal(area->lock, 0);
	munmap(area, sizeof(*area));
	shutdown(program.in, SHUT_WR);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	perfume_collector_free(collector);
}

/* It was stopped for so long that a ninth one has taken its slot. */
static void a_lost_slot_is_not_shared(void **state)
{
	struct program program = start("for_ever", 1, NULL);
	struct perfume_collector *collectors[9];
	struct area *area;
	int i;

	await_word(&program, "ready");
	area = area_of(program.pid);
	for (i = 0; i < 9; i++) {
		collectors[i] = collector_for("ring_tick", program.pid);
		if (i == 8)
			area->claims[0].lease = 1;
		perfume_collector_scan(collectors[i]);
		assert_int_equal(stats_of(collectors[i]).no_claim, 0);
	}
	read_all(collectors[0], 0);
	assert_int_equal(stats_of(collectors[0]).no_claim, 1);
	perfume_collector_free(collectors[5]);
	read_all(collectors[0], 0);
	assert_int_equal(stats_of(collectors[0]).no_claim, 0);
	got.ticks = 0;
	READ_UNTIL(collectors[0], got.ticks > 1000);
	for (i = 0; i < 9; i++)
		if (i != 5)
			perfume_collector_free(collectors[i]);
	munmap(area, sizeof(*area));
	kill(program.pid, SIGKILL);
	end_of(&program);
}

/*
 * A collector maps the area too, but the addresses in the area must not be written in the
 * collector.
 */
static void a_collector_is_not_taken_for_a_program(void **state)
{
	struct program program = start("for_ever", 1, NULL);
	struct perfume_collector *collector;
	int ends[2];
	char byte;
	pid_t pid;

	await_word(&program, "ready");
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		collector = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collector);
		READ_UNTIL(collector, got.ticks > 3);
		if (write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	collector = collector_for("ring_tick", pid);
	assert_int_equal(perfume_collector_scan(collector), 0);
	perfume_collector_free(collector);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	kill(program.pid, SIGKILL);
	end_of(&program);
}

/* Returns the number of descriptors in the next message to this socket; -1 without a message. */
static int wait_for_descriptors(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	char text[16];
	struct iovec vec = {text, sizeof(text)};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1, .msg_control = control};
	int caller = accept(fd, NULL, NULL);

	message.msg_controllen = sizeof(control);
	if (caller < 0 || recvmsg(caller, &message, 0) <= 0)
		return -1;
	return CMSG_FIRSTHDR(&message) != NULL;
}

/*
 * The collector whose name root's program was given was killed, and another user has taken the
 * name.
 */
static void nothing_is_sent_to_another_user(void **state)
{
	struct sockaddr_un name = {AF_UNIX, "\0perfume-0123456789abcdef"};
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + 25;
	struct program program;
	int fd, status;
	pid_t pid;

	if (geteuid()) {
		print_message("only root can be another user\n");
		skip();
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, n), 0);
	pid = fork();
	if (!pid) {
		/* listen() decides who owns the name. */
		if (setuid(65534) || listen(fd, 5))
			_exit(1);
		raise(SIGSTOP);
		_exit(wait_for_descriptors(fd) == -1 ? 0 : 2);
	}
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGCONT);
	program = start("flash", 5, "PERFUME_COLLECTOR=0123456789abcdef:ring_*");
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(fd);
}

/* Any user who may read the request file may lock it. */
static void a_lock_on_the_request_file_blocks_no_collector(void **state)
{
	struct perfume_collector *first = collector_for("ring_tick", 0), *collector;
	struct timespec before, after;
	int fd;

	if (geteuid()) {
		print_message("only root can open the request file of root\n");
		skip();
	}
	fd = open(REQUESTS_OF_ROOT, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	collector = collector_for("ring_tick", 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 5);
	close(fd);
	perfume_collector_free(collector);
	perfume_collector_free(first);
}

/* A user who may write to the area overwrites all of it. The program continues. */
static void a_collector_that_overwrites_the_area_is_harmless(void **state)
{
	struct program program = start("sixty_four_threads", 1, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);
	struct area *area;
	int i;

	await_word(&program, "ready");
	area = area_of(program.pid);
	perfume_collector_scan(collector);
	READ_UNTIL(collector, got.ticks > 1000);
	for (i = 0; i < 200000; i++)
		((uint64_t *)area)[random_number() % (offsetof(struct area, slots) / 8 + 300)] =
			random_number() % 3 ? random_number() : 0;
	munmap(area, sizeof(*area));
	shutdown(program.in, SHUT_WR);
	await_word(&program, "done");
	assert_int_equal(end_of(&program), 0);
	read_all(collector, 1);
	perfume_collector_free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_invalid_area_is_refused),
		CASE(a_corrupt_area_is_harmless),
		CASE(a_record_from_the_future_gets_the_current_time),
		CASE(the_last_poll_counts_what_it_leaves_in_rings_of_others),
		CASE(the_last_poll_reads_all_rings_of_the_own_user),
		CASE(a_large_ring_of_an_exited_program_is_read_by_several_polls),
		CASE(an_event_after_a_full_ring_is_read_when_its_program_has_exited),
		CASE(a_poll_reads_a_limited_part_of_a_ring),
		CASE(an_older_record_that_arrives_late_is_returned),
		CASE(a_record_that_was_only_counted_is_not_written),
		CASE(a_loss_is_limited_by_bytes_and_time),
		CASE(memory_that_never_arrives_blocks_no_collector),
		CASE(a_lock_left_by_a_killed_collector_is_released),
		CASE(a_lost_slot_is_not_shared),
		CASE(a_collector_is_not_taken_for_a_program),
		CASE(nothing_is_sent_to_another_user),
		CASE(a_lock_on_the_request_file_blocks_no_collector),
		CASE(a_collector_that_overwrites_the_area_is_harmless),
	};

	live_alone();
	setenv("PERFUME_RING", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
