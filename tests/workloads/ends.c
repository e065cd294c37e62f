/* SPDX-License-Identifier: MIT */
/*
 * This process waits for its child, as the argument says, until it is killed:
 *
 *	ends ofd|bytes|inherited|lease|semaphore|zero|send|receive|queue
 *	ends shared|eventfd|own-eventfd|pidfd|epoll|terminal|fault|fifo
 *	ends full-connection|backlog|inotify|io_uring|ring-pipe|ring-pipes
 *	ends full-connection|backlog|inotify|io_uring|local-backlog|local-address
 *	ends seccomp|fanotify|linger|aio|two-pipes|own-pipe|and-own-pipe|frozen
 *	ends nested-epoll|epoll-and-own|own-epoll|vmsplice|tee|full-tee|preadv2
 *	ends hang|hang-handler|hang-time: a thread waits for a condition, and this one for the
 *	thread; a handler of a signal, or a time, may end the wait
 *	ends forked: the child waits for a mutex that a thread of this process, whose number it
 *	prints, held when it created the child
 *
 * It prints "CHILD NUMBER" before it waits: the process that can end the wait (0: none), and the
 * number of the object of System V or of the port (0: none). The child ends with it. A call that a
 * signal or a debugger interrupts is repeated.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_MOST = 300 /* seconds */, PAGE = 4096 };

static char path[64];
static int number, file = -1, ends[2];
static pid_t child;
static void *memory;
static mqd_t queue;
static struct sockaddr_in address = {.sin_family = AF_INET};
static struct sockaddr_un local = {.sun_family = AF_UNIX};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static struct {
	long type;
	char text[64];
} message = {.type = 1};

/* Calls prepare in the child, then lets it wait for ever. */
static void start_child(void (*prepare)(void))
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		exit(1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, "other end");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		close(ready[0]);
		write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	read(ready[0], &byte, 1);
	close(ready[0]);
}

static void make_file(void)
{
	snprintf(path, sizeof(path), "/tmp/ends.XXXXXX");
	file = mkstemp(path);
}

/* The first byte; the parent has a lock of the second one. */
static void lock_byte(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};

	file = open(path, O_RDWR);
	fcntl(file, F_OFD_SETLK, &lock);
}

static void lock_third_byte(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 2, .l_len = 1};

	file = open(path, O_RDWR);
	fcntl(file, F_OFD_SETLK, &lock);
}

/* By a process that exits. */
static void inherit_lock(void)
{
	pid_t pid;

	file = open(path, O_RDWR);
	pid = fork();
	if (pid == 0) {
		flock(file, LOCK_EX);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void take_lease(void)
{
	signal(SIGIO, SIG_IGN);
	file = open(path, O_RDWR);
	fcntl(file, F_SETLEASE, F_WRLCK);
}

static void decrement(void)
{
	semop(number, &(struct sembuf){.sem_num = 1, .sem_op = -1}, 1);
}

static void receive(void)
{
	msgrcv(number, &message, sizeof(message.text), 0, 0);
}

static void send_one(void)
{
	msgsnd(number, &message, sizeof(message.text), 0);
}

static void drop_writer(void)
{
	close(ends[0]);
}

static void drop_other(void)
{
	close(ends[1]);
}

/* This child, which is newer, has another one only. */
static void other_eventfd(void)
{
	close(file);
	file = eventfd(0, 0);
}

static void accept_one(void)
{
	accept(file, NULL, NULL);
}

static void *fault(void *arg)
{
	prctl(PR_SET_NAME, "faulter");
	return (void *)(intptr_t) * (volatile char *)arg;
}

static void listen_here(int backlog)
{
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	file = socket(AF_INET, SOCK_STREAM, 0);
	bind(file, (struct sockaddr *)&address, size);
	listen(file, backlog);
	getsockname(file, (struct sockaddr *)&address, &size);
	number = ntohs(address.sin_port);
}

static int connect_here(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	connect(fd, (struct sockaddr *)&address, sizeof(address));
	return fd;
}

/* With an address that is no file. */
static socklen_t bind_local(int type)
{
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1;

	number = getpid();
	size += (socklen_t)sprintf(local.sun_path + 1, "ends.%d", number);
	file = socket(AF_UNIX, type, 0);
	bind(file, (struct sockaddr *)&local, size);
	return size;
}

static void *hold_mutex(void *ready)
{
	pthread_mutex_lock(&mutex);
	prctl(PR_SET_NAME, "holder");
	number = gettid();
	write(*(int *)ready, "", 1);
	for (;;)
		pause();
	return NULL;
}

static void watch_opens(void)
{
	fanotify_mark(file, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, path);
}

/* Two of three waits have objects that no file descriptor keeps. */
static void remove_later(void (*release)(void))
{
	int gone[2];
	char byte;

	if (pipe(gone) < 0 || fork() != 0) {
		close(gone[0]); /* the other end stays open until this process ends */
		return;
	}
	prctl(PR_SET_NAME, "remover");
	close(gone[1]);
	read(gone[0], &byte, 1);
	release();
	_exit(0);
}

static void remove_semaphores(void)
{
	semctl(number, 0, IPC_RMID);
}

static void remove_queue(void)
{
	msgctl(number, IPC_RMID, NULL);
}

static void remove_path(void)
{
	unlink(path);
}

/* ---- one function for each kind: say() when all is ready, then wait ---- */

static void say(void)
{
	printf("%d %d\n", (int)child, number);
	fflush(stdout);
	prctl(PR_SET_NAME, "waiter");
}

static void do_ofd(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};

	make_file();
	fcntl(file, F_OFD_SETLK, &lock);
	start_child(lock_byte);
	unlink(path);
	say();
	for (;;)
		fcntl(file, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK});
}

/* Another child, which is newer, has a lock of another byte. */
static void do_bytes(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
	pid_t first;

	make_file();
	start_child(lock_byte);
	first = child;
	start_child(lock_third_byte);
	child = first;
	unlink(path);
	say();
	for (;;)
		fcntl(file, F_OFD_SETLKW, &lock);
}

static void do_inherited(void)
{
	make_file();
	start_child(inherit_lock);
	unlink(path);
	say();
	for (;;)
		flock(file, LOCK_EX);
}

static void do_lease(void)
{
	make_file();
	close(file);
	remove_later(remove_path);
	start_child(take_lease);
	say();
	for (;;)
		open(path, O_RDONLY);
}

static void do_semaphore(void)
{
	unsigned short values[] = {1, 1, 1};

	number = semget(IPC_PRIVATE, 3, 0600);
	semctl(number, 0, SETALL, values);
	remove_later(remove_semaphores);
	start_child(decrement);
	say();
	for (;;)
		semop(number,
			(struct sembuf[]){
				{.sem_num = 0, .sem_op = -1}, {.sem_num = 1, .sem_op = -1}},
			2);
}

/* No other process has changed it. */
static void do_zero(void)
{
	number = semget(IPC_PRIVATE, 1, 0600);
	semctl(number, 0, SETVAL, 1);
	remove_later(remove_semaphores);
	say();
	for (;;)
		semop(number, &(struct sembuf){0}, 1);
}

static void do_send(void)
{
	number = msgget(IPC_PRIVATE, 0600);
	remove_later(remove_queue);
	send_one();
	start_child(receive);
	say();
	for (;;)
		send_one();
}

static void do_receive(void)
{
	number = msgget(IPC_PRIVATE, 0600);
	remove_later(remove_queue);
	start_child(send_one);
	receive();
	say();
	for (;;)
		receive();
}

static void do_queue(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};

	snprintf(path, sizeof(path), "/ends.%d", (int)getpid());
	queue = mq_open(path, O_CREAT | O_RDWR, 0600, &attr);
	mq_unlink(path);
	start_child(NULL);
	say();
	for (;;)
		mq_send(queue, "", 1, 0);
}

static void do_shared(void)
{
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	start_child(NULL);
	say();
	for (;;)
		syscall(SYS_futex, memory, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void do_eventfd(void)
{
	uint64_t count;
	pid_t first;

	file = eventfd(0, 0);
	start_child(NULL);
	first = child;
	start_child(other_eventfd);
	child = first;
	say();
	for (;;)
		read(file, &count, sizeof(count));
}

static void do_own_eventfd(void)
{
	uint64_t count;

	file = eventfd(0, 0);
	say();
	for (;;)
		read(file, &count, sizeof(count));
}

static void do_pidfd(void)
{
	struct pollfd polled = {.events = POLLIN};

	start_child(NULL);
	polled.fd = (int)syscall(SYS_pidfd_open, child, 0);
	say();
	for (;;)
		poll(&polled, 1, -1);
}

static void do_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	start_child(drop_writer);
	close(ends[1]);
	file = epoll_create1(0);
	epoll_ctl(file, EPOLL_CTL_ADD, ends[0], &event);
	say();
	for (;;)
		epoll_wait(file, &event, 1, -1);
}

/* Another one is the only file of it, and has the socket. */
static void do_nested_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int inner = epoll_create1(0);

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	start_child(drop_writer);
	close(ends[1]);
	file = epoll_create1(0);
	epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &event);
	epoll_ctl(file, EPOLL_CTL_ADD, inner, &event);
	say();
	for (;;)
		epoll_wait(file, &event, 1, -1);
}

/* By which another thread would wake the one that waits. */
static int own_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static void do_epoll_and_own(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	start_child(drop_writer);
	close(ends[1]);
	file = epoll_create1(0);
	epoll_ctl(file, EPOLL_CTL_ADD, own_eventfd(), &event);
	epoll_ctl(file, EPOLL_CTL_ADD, ends[0], &event);
	say();
	for (;;)
		epoll_wait(file, &event, 1, -1);
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A pipe of this process, which has another thread. */
static void do_own_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;

	pthread_create(&thread, NULL, sleep_on, NULL);
	pipe(ends);
	file = epoll_create1(0);
	epoll_ctl(file, EPOLL_CTL_ADD, ends[0], &event);
	say();
	for (;;)
		epoll_wait(file, &event, 1, -1);
}

static void do_vmsplice(void)
{
	static char bytes[PAGE];
	struct iovec part = {bytes, sizeof(bytes)};

	pipe(ends);
	start_child(drop_other);
	close(ends[0]);
	say();
	for (;;)
		vmsplice(ends[1], &part, 1, 0);
}

/* From a pipe without data; it has nothing to read itself. */
static void do_tee(void)
{
	int other[2];

	pipe(ends);
	start_child(drop_writer);
	close(ends[1]);
	pipe(other);
	say();
	for (;;)
		tee(ends[0], other[1], PAGE, 0);
}

/* To a pipe without room. */
static void do_full_tee(void)
{
	static char bytes[PAGE];
	int full[2];

	pipe(ends);
	write(ends[1], bytes, 1);
	pipe(full);
	fcntl(full[1], F_SETFL, O_NONBLOCK);
	while (write(full[1], bytes, sizeof(bytes)) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
	start_child(NULL);
	close(full[0]);
	close(ends[1]);
	say();
	for (;;)
		tee(ends[0], full[1], 1, 0);
}

static void do_preadv2(void)
{
	char byte;
	struct iovec part = {&byte, 1};

	pipe(ends);
	start_child(drop_writer);
	close(ends[1]);
	say();
	for (;;)
		preadv2(ends[0], &part, 1, -1, 0);
}

static void do_terminal(void)
{
	char bytes[256] = "";
	int other = posix_openpt(O_RDWR | O_NOCTTY); /* has another number */

	ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
	grantpt(ends[0]);
	unlockpt(ends[0]);
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
	start_child(NULL);
	close(ends[0]);
	close(other);
	say();
	for (;;)
		write(ends[1], bytes, sizeof(bytes));
}

/* A thread of this process takes the fault, so that this process is its server. */
static void do_fault(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;

	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (file < 0)
		exit(77);
	range.range.start = (uintptr_t)memory;
	range.range.len = PAGE;
	ioctl(file, UFFDIO_API, &api);
	ioctl(file, UFFDIO_REGISTER, &range);
	pthread_create(&thread, NULL, fault, memory);
	child = getpid();
	say();
	for (;;)
		pause();
}

static void do_fifo(void)
{
	snprintf(path, sizeof(path), "/tmp/ends.%d", (int)getpid());
	mkfifo(path, 0600);
	remove_later(remove_path);
	say();
	for (;;)
		open(path, O_WRONLY);
}

static void do_full_connection(void)
{
	static char bytes[1 << 16];

	listen_here(5);
	ends[0] = connect_here();
	start_child(accept_one);
	close(file);
	say();
	for (;;)
		write(ends[0], bytes, sizeof(bytes));
}

static void do_backlog(void)
{
	listen_here(1);
	start_child(NULL);
	close(file);
	say();
	for (;;)
		connect_here();
}

static void do_inotify(void)
{
	char bytes[PAGE];

	file = inotify_init();
	say();
	for (;;)
		read(file, bytes, sizeof(bytes));
}

static void do_io_uring(void)
{
	struct io_uring_params params = {0};

	file = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (file < 0)
		exit(77);
	say();
	for (;;)
		syscall(SYS_io_uring_enter, file, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

/* Two requests: for one pipe or for two, whose other ends the child has. */
static void read_by_ring(int first, int second)
{
	static char bytes[2];
	struct io_uring_params params = {0};
	struct io_uring_sqe *entries;
	const int fds[] = {first, second};
	char *ring;

	file = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (file < 0)
		exit(77);
	ring = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(uint32_t),
		PROT_READ | PROT_WRITE, MAP_SHARED, file, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE,
		MAP_SHARED, file, IORING_OFF_SQES);
	if (ring == MAP_FAILED || entries == MAP_FAILED)
		exit(1);
	for (uint32_t i = 0; i < 2; i++) {
		entries[i] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
			.fd = fds[i],
			.addr = (uintptr_t)&bytes[i],
			.len = 1};
		((uint32_t *)(ring + params.sq_off.array))[i] = i;
	}
	*(volatile uint32_t *)(ring + params.sq_off.tail) = 2;
	syscall(SYS_io_uring_enter, file, 2, 0, 0, NULL, 0);
	say();
	for (;;)
		syscall(SYS_io_uring_enter, file, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void do_ring_pipe(void)
{
	pipe(ends);
	start_child(NULL);
	close(ends[1]);
	read_by_ring(ends[0], ends[0]);
}

static void do_ring_pipes(void)
{
	int others[2];

	pipe(ends);
	pipe(others);
	start_child(NULL);
	read_by_ring(ends[0], others[0]);
}

static void do_local_backlog(void)
{
	const socklen_t size = bind_local(SOCK_STREAM);

	listen(file, 1);
	start_child(NULL);
	close(file);
	say();
	for (;;)
		connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&local, size);
}

static void do_local_address(void)
{
	const socklen_t size = bind_local(SOCK_DGRAM);

	start_child(NULL);
	close(file);
	file = socket(AF_UNIX, SOCK_DGRAM, 0);
	say();
	for (;;)
		sendto(file, "", 1, 0, (struct sockaddr *)&local, size);
}

/* The child has the file by which it is asked what becomes of acct(2). */
static void do_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	file = (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	if (file < 0)
		exit(77);
	start_child(NULL);
	close(file);
	say();
	for (;;)
		syscall(SYS_acct, NULL);
}

static void do_fanotify(void)
{
	make_file();
	close(file);
	remove_later(remove_path);
	file = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
	if (file < 0)
		exit(77);
	start_child(watch_opens);
	close(file);
	say();
	for (;;)
		close(open(path, O_RDONLY));
}

static void accept_only(void)
{
	close(ends[0]);
	accept_one();
}

static void do_linger(void)
{
	static char bytes[1 << 16];
	struct linger linger = {1, AT_MOST};

	listen_here(5);
	ends[0] = connect_here();
	start_child(accept_only);
	close(file);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (write(ends[0], bytes, sizeof(bytes)) > 0)
		;
	fcntl(ends[0], F_SETFL, 0);
	setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	say();
	close(ends[0]);
	for (;;) /* a signal has interrupted it */
		pause();
}

/* A request of io_submit(2) that waits for a pipe. */
static void do_aio(void)
{
	aio_context_t context = 0;
	struct iocb request = {.aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN};
	struct iocb *requests[] = {&request};
	struct io_event event;

	if (pipe(ends) < 0 || syscall(SYS_io_setup, 1, &context) < 0)
		exit(77);
	request.aio_fildes = (unsigned)ends[0];
	syscall(SYS_io_submit, context, 1, requests);
	say();
	for (;;)
		syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

static void drop_readers(void)
{
	close(ends[0]);
	close(file);
}

static void do_two_pipes(void)
{
	struct pollfd polled[] = {{.events = POLLIN}, {.fd = -1}, {.events = POLLIN}};
	int more[2];

	if (pipe(ends) < 0 || pipe(more) < 0)
		exit(1);
	polled[0].fd = ends[0];
	polled[2].fd = file = more[0];
	start_child(drop_readers);
	close(ends[1]);
	close(more[1]);
	say();
	for (;;)
		poll(polled, 3, -1);
}

/* The child has the other end of one, the process itself the end of the other one. */
static void do_and_own_pipe(void)
{
	struct pollfd polled[] = {{.events = POLLIN}, {.events = POLLIN}};
	int own[2];

	if (pipe(ends) < 0)
		exit(1);
	start_child(NULL);
	close(ends[1]);
	if (pipe(own) < 0)
		exit(1);
	polled[0].fd = own[0];
	polled[1].fd = ends[0];
	say();
	for (;;)
		poll(polled, 2, -1);
}

static void *wait_for_signal(void *time)
{
	prctl(PR_SET_NAME, "sleeper");
	pthread_mutex_lock(&mutex);
	for (;;)
		if (time)
			pthread_cond_timedwait(&condition, &mutex, time);
		else
			pthread_cond_wait(&condition, &mutex);
	return NULL;
}

static void hang(struct timespec *time)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_signal, time);
	say();
	pthread_join(thread, NULL);
}

static void do_hang(void)
{
	hang(NULL);
}

static void ignore(int signal)
{
	(void)signal;
}

static void do_hang_handler(void)
{
	signal(SIGUSR1, ignore);
	hang(NULL);
}

static void do_hang_time(void)
{
	hang(&(struct timespec){.tv_sec = 1L << 33});
}

/* Nobody else has it: the call ends at the time. */
static void do_own_pipe(void)
{
	struct pollfd polled = {.events = POLLIN};

	if (pipe(ends) < 0)
		exit(1);
	polled.fd = ends[0];
	say();
	for (;;)
		poll(&polled, 1, AT_MOST * 1000);
}

static void *write_here(void *arg)
{
	prctl(PR_SET_NAME, "writer");
	write(file, "x", 1);
	return arg;
}

/* The current directory is frozen: a thread writes, then the main thread executes a program. */
static void do_frozen(void)
{
	char byte;
	pthread_t thread;

	file = open("file", O_WRONLY | O_CREAT, 0600);
	say();
	read(0, &byte, 1);
	pthread_create(&thread, NULL, write_here, NULL);
	read(0, &byte, 1);
	execl("/bin/true", "true", NULL);
}

static void do_forked(void)
{
	int ready[2];
	pthread_t thread;
	char byte;

	if (pipe(ready) < 0)
		exit(1);
	pthread_create(&thread, NULL, hold_mutex, &ready[1]);
	read(ready[0], &byte, 1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_mutex_lock(&mutex);
		_exit(1);
	}
	say();
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind;
		void (*run)(void);
	} kinds[] = {{"ofd", do_ofd}, {"bytes", do_bytes}, {"inherited", do_inherited},
		{"lease", do_lease}, {"semaphore", do_semaphore}, {"zero", do_zero},
		{"send", do_send}, {"receive", do_receive}, {"queue", do_queue},
		{"shared", do_shared}, {"eventfd", do_eventfd}, {"own-eventfd", do_own_eventfd},
		{"pidfd", do_pidfd}, {"epoll", do_epoll}, {"terminal", do_terminal},
		{"fault", do_fault}, {"fifo", do_fifo}, {"full-connection", do_full_connection},
		{"backlog", do_backlog}, {"inotify", do_inotify}, {"io_uring", do_io_uring},
		{"ring-pipe", do_ring_pipe}, {"ring-pipes", do_ring_pipes},
		{"local-backlog", do_local_backlog}, {"local-address", do_local_address},
		{"linger", do_linger}, {"aio", do_aio}, {"two-pipes", do_two_pipes},
		{"own-pipe", do_own_pipe}, {"and-own-pipe", do_and_own_pipe}, {"hang", do_hang},
		{"hang-handler", do_hang_handler}, {"hang-time", do_hang_time},
		{"frozen", do_frozen}, {"seccomp", do_seccomp}, {"fanotify", do_fanotify},
		{"forked", do_forked}, {"nested-epoll", do_nested_epoll},
		{"epoll-and-own", do_epoll_and_own}, {"own-epoll", do_own_epoll},
		{"vmsplice", do_vmsplice}, {"tee", do_tee}, {"full-tee", do_full_tee},
		{"preadv2", do_preadv2}};

	alarm(AT_MOST);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].kind))
			kinds[i].run();
	return 1;
}
