/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits for somebody, as the argument says, until standard input ends:
 *
 *	whom mutex|checked|robust|pi|read|write|wrwait|join|condition|shared|deadlock|timed
 *	whom dead|deadwriter: the holder of a mutex or read-write lock has ended
 *	whom pipe|kept|full|poll|select|unix|tcp|unaccepted|child|any|vfork|flock|fcntl
 *	whom semaphore|udp|sleep|accept|epoll|signal|terminal|read2
 *
 * It prints "WAITER OTHER ADDRESS": the thread that waits, the thread or process that can end the
 * wait (0: nobody), and the address of the lock (0: none), when the wait has begun.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t *mutex, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_t joined;
/* The words before it look like a read-write lock that readers hold and a writer wants. */
static struct {
	uint32_t readers, writers;
	sem_t semaphore;
	uint32_t after[8];
} words = {.readers = 1 << 3 | 2};
static const char *kind;
static int files[2], sockets[2], file;
static volatile pid_t waiter, holder;

static int is(const char *name)
{
	return !strcmp(kind, name);
}

static int is_dead(void)
{
	return is("dead") || is("deadwriter");
}

/* Until the kernel says that the thread sleeps. */
static void await_sleep(pid_t tid)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	for (;;) {
		FILE *f = fopen(path, "r");
		char *end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		int asleep = end && strchr("SD", end[2]);

		if (f)
			fclose(f);
		if (asleep)
			return;
		usleep(1000);
	}
}

static void *hold(void *arg)
{
	prctl(PR_SET_NAME, "holder");
	if (mutex)
		pthread_mutex_lock(mutex);
	else if (is("read") || is("wrwait") || is("deadwriter"))
		pthread_rwlock_wrlock(&rwlock);
	else if (is("write"))
		pthread_rwlock_rdlock(&rwlock);
	holder = gettid();
	if (is_dead())
		return arg;
	while (is("deadlock") && !waiter)
		usleep(1000);
	if (is("deadlock"))
		pthread_mutex_lock(&second);
	for (;;)
		pause();
	return arg;
}

static void other_end(int fd)
{
	char byte;

	prctl(PR_SET_NAME, "other end");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &byte, 1) > 0)
		;
	for (;;)
		pause();
}

static void fill(int fd)
{
	static char bytes[1 << 16];

	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void wait_for_file(void)
{
	struct pollfd polled = {files[0], POLLIN, 0};
	fd_set set;
	char byte;

	FD_ZERO(&set);
	FD_SET(files[0], &set);
	if (is("full"))
		fill(files[1]);
	else if (is("poll"))
		poll(&polled, 1, -1);
	else if (is("select"))
		select(files[0] + 1, &set, NULL, NULL, NULL);
	else
		read(files[0], &byte, 1);
}

static void wait_for_lock(void)
{
	struct flock lock = {.l_type = F_WRLCK};

	if (is("timed"))
		pthread_mutex_timedlock(mutex, &(struct timespec){.tv_sec = 1L << 33});
	else if (mutex)
		pthread_mutex_lock(mutex);
	else if (is("read") || is("deadwriter"))
		pthread_rwlock_rdlock(&rwlock);
	else if (is("write") || is("wrwait"))
		pthread_rwlock_wrlock(&rwlock);
	else if (is("flock"))
		flock(file, LOCK_EX);
	else if (is("fcntl"))
		fcntl(file, F_SETLKW, &lock);
}

static void wait_without_other(void)
{
	struct pollfd polled[2] = {{files[0], POLLIN, 0}, {0, 0, 0}};
	struct epoll_event event;
	char byte;

	if (is("sleep"))
		sleep(10000);
	else if (is("accept"))
		accept(sockets[0], NULL, NULL);
	else if (is("epoll"))
		epoll_wait(epoll_create1(0), &event, 1, -1);
	else if (is("signal"))
		pause();
	else if (is("terminal"))
		read(posix_openpt(O_RDWR), &byte, 1);
	else if (is("read2"))
		poll(polled, 2, -1);
}

static void *wait_for(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "waiter");
	if (is("deadlock"))
		pthread_mutex_lock(&second);
	waiter = gettid();
	if (is("semaphore")) {
		sem_wait(&words.semaphore);
	} else if (is("join")) {
		pthread_join(joined, NULL);
	} else if (is("condition")) {
		pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

		pthread_mutex_lock(&own);
		pthread_cond_wait(&condition, &own);
	} else if (is("pipe") || is("kept") || is("full") || is("poll") || is("select")) {
		wait_for_file();
	} else if (is("unix") || is("tcp") || is("unaccepted") || is("udp")) {
		recv(sockets[0], &byte, 1, 0);
	} else if (is("child")) {
		waitpid(holder, NULL, 0);
	} else if (is("any")) {
		wait(NULL);
	} else if (is("vfork")) { /* beside a child that has exited */
		if (fork() == 0)
			_exit(0);
		while (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0)
			;
		if (vfork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	} else {
		wait_for_lock();
		wait_without_other();
	}
	for (;;)
		pause();
	return arg;
}

static void make_mutex(void)
{
	pthread_mutexattr_t attr;

	mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attr);
	if (is("robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (is("pi"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (is("checked"))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	if (is("shared"))
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
}

/* A connection of this process with itself, whose accepted end a child has. */
static void make_connection(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	bind(listener, (struct sockaddr *)&address, size);
	listen(listener, 5);
	sockets[0] = sockets[1] = listener;
	if (is("accept"))
		return;
	getsockname(listener, (struct sockaddr *)&address, &size);
	sockets[0] = socket(AF_INET, SOCK_STREAM, 0);
	connect(sockets[0], (struct sockaddr *)&address, size);
	if (is("tcp")) {
		sockets[1] = accept(listener, NULL, NULL);
		close(listener);
	}
}

/* A child with the other end, which this process then does not have. */
static void start_child(int own, int its)
{
	int lock = -1;
	int ready[2];

	if (pipe(ready) < 0)
		exit(1);
	holder = fork();
	if (holder == 0) {
		struct flock whole = {.l_type = F_WRLCK};

		if (own >= 0)
			close(own);
		if (is("flock") || is("fcntl")) {
			char path[64];

			snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
			lock = open(path, O_RDWR);
			if (is("flock"))
				flock(lock, LOCK_EX);
			else
				fcntl(lock, F_SETLKW, &whole);
			its = ready[1];
		}
		if (is("shared"))
			pthread_mutex_lock(mutex);
		prctl(PR_SET_NAME, "other end");
		close(ready[0]);
		write(ready[1], "", 1);
		if (its != ready[1])
			close(ready[1]);
		other_end(is("pipe") || is("poll") || is("select") || is("full") ? -1 : its);
	}
	close(ready[1]);
	read(ready[0], files, 1);
	close(ready[0]);
	if (its >= 0)
		close(its);
}

static void prepare(void)
{
	pthread_t thread;
	char path[] = "/tmp/whom.XXXXXX";

	if (is("mutex") || is("checked") || is("robust") || is("pi") || is("shared") ||
		is("deadlock") || is("timed") || is("dead"))
		make_mutex();
	if ((mutex && !is("shared")) || is("read") || is("deadwriter") || is("write") ||
		is("wrwait") || is("join")) {
		pthread_create(&thread, NULL, hold, NULL);
		joined = thread;
		while (!holder)
			usleep(1000);
		if (is_dead())
			pthread_join(thread, NULL);
	} else if (is("shared") || is("child") || is("any")) {
		start_child(-1, -1);
	} else if (is("kept")) { /* this process has both ends, too */
		int ends[2];

		if (pipe(ends) < 0)
			exit(1);
		start_child(-1, -1);
		files[0] = ends[0];
	} else if (is("pipe") || is("poll") || is("select") || is("full") || is("read2")) {
		int ends[2];

		if (pipe(ends) < 0)
			exit(1);
		if (is("full"))
			files[1] = ends[1];
		start_child(ends[is("full")], ends[!is("full")]);
		files[0] = ends[0];
		files[1] = ends[1];
	} else if (is("unix")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
		start_child(sockets[0], sockets[1]);
	} else if (is("tcp") || is("unaccepted")) {
		make_connection();
		start_child(sockets[0], sockets[1]);
	} else if (is("udp")) {
		sockets[0] = socket(AF_INET, SOCK_DGRAM, 0);
		bind(sockets[0], (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET},
			sizeof(struct sockaddr_in));
	} else if (is("accept")) {
		make_connection();
	} else if (is("flock") || is("fcntl")) {
		file = mkstemp(path);
		start_child(-1, -1);
		unlink(path);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	kind = argc > 1 ? argv[1] : "";
	signal(SIGPIPE, SIG_IGN);
	prepare();
	pthread_create(&thread, NULL, wait_for, NULL);
	while (!waiter)
		usleep(1000);
	await_sleep(waiter);
	printf("%d %d %#lx\n", waiter, is("write") ? 0 : holder,
		mutex ? (unsigned long)mutex
		: is("read") || is("write") || is("wrwait") || is("deadwriter")
			? (unsigned long)&rwlock
			: 0);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	if (holder && !is_dead() && kill(holder, 0) == 0 && holder != getpid())
		kill(holder, SIGKILL);
	return 0;
}
