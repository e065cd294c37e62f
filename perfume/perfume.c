/* SPDX-License-Identifier: CC0-1.0 */
/* Made of src/ by amalgamate: change the chapters there, not this file. */

/*
 * libperfume, from the inside. The chapters below src/ make one translation unit: `amalgamate` lays
 * them one behind the other into perfume.c, which is what is built, tested and dropped into
 * programs.
 *
 * What must hold, because the kernel and other processes reach into this one:
 * - An enable word that the kernel knows is never given back to malloc or unmapped (word.c).
 * - The write path takes no lock, allocates nothing, leaves errno alone, and hands the kernel one
 *   contiguous buffer.
 * - Descriptors of user_events_data are kept at high numbers. A program that closes "all" of them
 *   does not find its next file under our number; we see that ours is gone, and open another
 *   (kernel.c).
 * - Lock and mark of the process lie in a page that a forked child finds wiped; fork() waits for the lock
 *   (lock.c).
 */
#ifndef INSIDE_H
#define INSIDE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "perfume.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The memory that a program with events shares with those who collect them: a sealed memfd,
 * "perfume-1", which the program owns and collectors find through /proc/PID/fd, or are sent.
 *
 *	struct area	claims of collectors, heads of rings, slots of events
 *	AREA_DATA	the rings' bytes: ring i at AREA_DATA + i * ring_size
 *
 * A ring has one writer, a thread, which never waits: it writes over what is oldest. Any number of
 * collectors read along; each finds out for itself what it missed, to the event. A collector writes
 * its claim, `wanted` of the slots, and the lock, nothing else; no bit of it can harm the writer.
 * In turn a collector believes nothing it reads without looking: sizes, positions and texts may be
 * forged.
 */
#ifndef RING_H
#define RING_H

#include <stdint.h>

/*
 * Names by which programs and collectors meet: the abstract socket of a collector, standing orders.
 */
#define COLLECTOR_SOCKET   "perfume-%016llx"
#define COLLECTOR_VARIABLE "PERFUME_COLLECTOR" /* orders for a program and its children */
#define ORDERS_OF_ROOT     "/run/perfume-orders"
#define ORDERS_OF_USER     "/run/user/%u/perfume-orders"

#define AREA_NAME  "perfume-1"
#define AREA_MAGIC 0x3167656d75667270ULL

enum {
	AREA_CLAIMS = 8,
	AREA_RINGS = 256,
	AREA_SLOTS = 32768,
	AREA_MARKS = 16,
	AREA_TEXT = 512,
	AREA_OWNER = 0xffff, /* slot of a record that names the thread (u32) of what follows */
};

/* A collector. Slot k of the claims is bit k of `wanted`. */
struct area_claim {
	uint64_t id;    /* of the collector, by which it is sent areas; 0: free */
	uint64_t lease; /* it counts as alive until then: CLOCK_MONOTONIC, ns */
	/* "order_*,tick": what is enabled when it is registered; may be empty */
	char patterns[AREA_TEXT];
};

/*
 * An event. To listen: set the bit in `wanted`, then store 1 in the second byte of the word, in the
 * writer's memory. To leave: clear the bit; the writer clears the byte itself when it finds nobody.
 */
struct area_slot {
	uint64_t word; /* address of the enable word in the writer */
	uint32_t live; /* 0: out of use, and the address must not be written to */
	uint32_t wanted;
	char text[AREA_TEXT]; /* name, blank, fields, as the kernel spells them; never changes */
};

/* Positions count bytes since the ring began; a position's place in the ring is its remainder. */
struct area_ring {
	uint64_t reserved; /* bytes up to here may be changing: what is ring_size behind is lost */
	uint64_t head;     /* up to here records are complete */
	uint64_t count;    /* of records up to head */
	uint64_t owner_since; /* position of the first record that the present owner wrote */
	uint32_t owner;       /* thread id */
	uint32_t unused;
	/*
	 * For each sixteenth of the ring the first record that begins in it, and how many are
	 * before it.
	 */
	struct {
		uint64_t position, count;
	} marks[AREA_MARKS];
} __attribute__((aligned(128)));

enum {
	AREA_CLOCK_UNKNOWN, /* no ring is in use yet */
	AREA_CLOCK_MONOTONIC,
	AREA_CLOCK_TSC,     /* of x86-64 */
	AREA_CLOCK_COUNTER, /* cntvct_el0 of arm64 */
};

struct area {
	uint64_t magic;
	uint32_t ring_size; /* a power of two */
	uint32_t clock;     /* of all records */
	uint32_t n_slots;   /* in use, from the first; never shrinks */
	uint32_t n_rings;
	uint32_t lock; /* held to change `live`, and to look at it and write to the word */
	uint32_t pid;  /* of the program, as it knows itself; a child has the area too at first */
	uint64_t lost; /* events of threads that could not get a ring */
	struct area_claim claims[AREA_CLAIMS];
	struct area_ring rings[AREA_RINGS];
	struct area_slot slots[AREA_SLOTS];
};

#define AREA_DATA ((sizeof(struct area) + 0xffff) & ~(uint64_t)0xffff)

/* What stands in a ring, at multiples of 8; the payload follows. */
struct area_record {
	uint32_t size;    /* of all of it, a multiple of 8 */
	uint16_t slot;    /* of the event */
	uint16_t padding; /* behind the payload, less than 8 */
	uint64_t time;
};

#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define COMMAND_MAX 512  /* of the kernel: name and fields, with the closing NUL */
#define ARRAY_MAX   1024 /* of the kernel: elements of char[N] */
#define ROOT_MAX    256  /* of the path that tracefs is mounted at */

/* ---- lock.c ---- */

struct home {
	uint32_t lock;    /* 0 open, 1 closed, 2 closed and waited for */
	uint32_t settled; /* 0 in a forked child that has not looked after its files yet */
};

static inline struct home *home_get(void);
static void lock(sigset_t *ret_old);
static void unlock(const sigset_t *old);

/* ---- the kernel's structures: linux/user_events.h, and what stood there before 6.4 ---- */

struct user_reg { /* 6.4 and later */
	uint32_t size;
	uint8_t enable_bit;
	uint8_t enable_size;
	uint16_t flags;
	uint64_t enable_addr;
	uint64_t name_args;
	uint32_t write_index;
} __attribute__((packed));

struct user_unreg { /* 6.4 and later */
	uint32_t size;
	uint8_t disable_bit;
	uint8_t reserved;
	uint16_t reserved2;
	uint64_t disable_addr;
} __attribute__((packed));

struct user_reg_bits { /* 6.0 to 6.3 */
	uint32_t size;
	uint64_t name_args;
	uint32_t status_bit;
	uint32_t write_index;
} __attribute__((packed));

struct user_reg_bytes { /* 5.18 and 5.19 */
	uint32_t size;
	uint64_t name_args;
	uint32_t status_index;
	uint32_t write_index;
};

#define DIAG_IOCSREG                _IOWR('*', 0, struct user_reg *)
#define DIAG_IOCSUNREG              _IOW('*', 2, struct user_unreg *)
#define USER_EVENT_REG_PERSIST      1
#define USER_EVENT_REG_MULTI_FORMAT 2

/* ---- tracefs.c ---- */

/* What is known of the kernel. Written under the lock. */
static struct {
	char root[ROOT_MAX]; /* the tracefs that has user_events; "" while none is known */
	dev_t dev;
	ino_t ino; /* of its user_events_data: is a descriptor still ours? */
	enum perfume_interface interface;
	const volatile uint8_t *status; /* the status page of kernels before 6.4 */
} kernel;

static int open_below(const char *root, const char *file, int flags);
static int open_data_file(void);
static int raise_fd(int fd, int above);

/* ---- kernel.c ---- */

static struct perfume_file *files; /* those that have events */

/* Under the lock. */
static int event_add(struct perfume_file *file, struct perfume_event *event);
static int event_remove(struct perfume_event *event);

/*
 * packet is room for the write index, and the payload behind it. Bytes of payload or a negative
 * errno.
 */
static int event_write(
	struct perfume_event *event, uint32_t word, uint32_t *packet, size_t payload);

/* The enable word, or 0 when nobody listens. */
static uint32_t listeners(const struct perfume_event *event);

/* ---- area.c and ring.c ---- */

/* This process's side of the memory that it shares with collectors. Written under the lock. */
static struct {
	struct area *area; /* NULL: there is none */
	int fd;
	pid_t pid;
	struct stat stat; /* is the descriptor still ours? */
	uint32_t ring_size, clock;
	uint64_t look_ticks;
	uint32_t fork; /* counts forks: rings of an earlier process are not ours */
	uint32_t n_slots, n_dead, n_rings;
	uint32_t n_waits; /* for the lock, of a tenth of a millisecond each */
	uint8_t live[AREA_SLOTS];
	uint8_t tried;
} shared;

/* Under the lock. text: name and fields, as the kernel spells them. */
static void ring_add(struct perfume_event *event, const char *text);
static void ring_remove(struct perfume_event *event);
static void area_forked(void); /* in a child, at once */
static void area_fork(void);
static void area_leave(void);
static void rings_forget(void);
static int rings_in_use(void);
static void rings_leave(void);

/* Bytes of payload, 0 when no collector wants it any more, or a negative errno. */
static __attribute__((noinline)) int ring_write(
	struct perfume_event *event, const void *payload, size_t n);

static uint64_t now_ns(void); /* CLOCK_MONOTONIC */

/* ---- word.c, under the lock ---- */

static uint32_t nobody; /* the word of an event that is out of use: always 0 */

static uint32_t *word_new(void);
static void word_free(const uint32_t *word);

/* ---- name.c ---- */

/* Fields in the one spelling that all kernels take for the same: "u32 a; u64 b". */
struct fields {
	size_t n;
	int too_long;
	char text[COMMAND_MAX];
};

/*
 * Appends the fields in `text`, of which there may be several with ';' between them. Returns the
 * size of their values or a negative errno. Types that the kernel does not know are described as
 * structs: f32, f64, and arrays of numbers, "u32[4] counts".
 */
static int put_fields(struct fields *out, const char *text);

/* ---- probe.c ---- */

struct perfume_ctx {
	struct perfume_file file;
	struct perfume_probe *probes;
	uint8_t flags;
};

struct perfume_probe {
	struct perfume_event event;
	struct perfume_ctx *ctx;
	struct perfume_probe *next, *previous; /* of the context */
	uint32_t n_fields;
	uint32_t sizes[]; /* of the field strings; the texts follow */
};

/* ---- sentences ---- */

static __thread const char *sentence __attribute__((tls_model("initial-exec")));

/* return fail(-EINVAL, "why"); what perfume_error() then says. */
static inline int fail(int error, const char *why)
{
	sentence = why;
	return error;
}

#endif

/* One lock, which a forked child finds open, and the mark by which it knows that it is one. */
static struct home *shared_home;

/*
 * fork() waits for the lock, so that a child finds every list whole, and the lock open. One that
 * was made without fork() finds the lock open all the same.
 */
static sigset_t before_fork; /* the signals of the thread that forks, which holds the lock */

static void fork_begins(void)
{
	sigset_t old;

	lock(&old);
	before_fork = old;
}

static void fork_is_over(void)
{
	sigset_t old = before_fork;

	unlock(&old);
}

static void fork_in_child(void)
{
	sigset_t old = before_fork;

	/* Linux before 4.14 cannot wipe a page on fork. */
	memset(shared_home, 0, sizeof(*shared_home));
	area_forked();
	unlock(&old);
}

static struct home *home_new(void)
{
	static struct home fallback;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct home *none = NULL, *home;

	home = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (home == MAP_FAILED)
		home = &fallback;
	home->settled = 1;
	if (!__atomic_compare_exchange_n(
		    &shared_home, &none, home, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		if (home != &fallback)
			munmap(home, page);
		return none;
	}
	if (home != &fallback)
		madvise(home, page, MADV_WIPEONFORK);
	/* Here, where no lock is held: older C libraries hold one of theirs while they call us. */
	pthread_atfork(fork_begins, fork_is_over, fork_in_child);
	return home;
}

static inline __attribute__((always_inline)) struct home *home_get(void)
{
	struct home *home = __atomic_load_n(&shared_home, __ATOMIC_ACQUIRE);

	return likely(home) ? home : home_new();
}

/* Signals wait outside: a handler that writes an event never meets a lock which its own thread holds. */
static void lock(sigset_t *ret_old)
{
	struct home *home = home_get();
	sigset_t all;
	uint32_t open = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, ret_old);
	if (__atomic_compare_exchange_n(
		    &home->lock, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&home->lock, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &home->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(const sigset_t *old)
{
	struct home *home = home_get();

	if (__atomic_exchange_n(&home->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &home->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sigprocmask(SIG_SETMASK, old, NULL);
}

/* The kernel's interface: where it is, and which of its forms. */
struct search {
	char root[ROOT_MAX];
	int denied;  /* something was there that we may not see */
	int mounted; /* a tracefs, without user_events */
};

static int open_below(const char *root, const char *file, int flags)
{
	char path[ROOT_MAX + 32];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", root, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* user_events_data below root, or a negative errno; what was seen there is noted. */
static int look_below(struct search *search, const char *root)
{
	const long tracefs = 0x74726163;
	struct statfs fs;
	int fd = open_below(root, "user_events_data", O_WRONLY);

	if (fd >= 0)
		snprintf(search->root, sizeof(search->root), "%s", root);
	else if (fd == -EACCES || fd == -EPERM)
		search->denied = 1;
	else if (!statfs(root, &fs) && fs.f_type == tracefs)
		search->mounted = 1;
	return fd;
}

/* In /proc/self/mounts a blank, and what else would be mistaken, is a backslash and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	*to = 0;
}

/* A line is "device directory type options 0 0". */
static int look_at_mount(struct search *search, char *line)
{
	char root[ROOT_MAX + sizeof("/tracing")], *directory, *type;

	strsep(&line, " ");
	directory = strsep(&line, " ");
	type = strsep(&line, " ");
	if (!type || strlen(directory) >= ROOT_MAX)
		return -ENOENT;
	unescape(directory);
	strcpy(root, directory);
	if (!strcmp(type, "debugfs"))
		strcat(root, "/tracing");
	else if (strcmp(type, "tracefs"))
		return -ENOENT;
	return strlen(root) < ROOT_MAX ? look_below(search, root) : -ENOENT;
}

/* Without stdio, which allocates. A line longer than the buffer is none of ours. */
static int look_at_mounts(struct search *search)
{
	char text[PATH_MAX], *line, *end;
	int mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), fd = -ENOENT;
	size_t n = 0;
	ssize_t got;

	while (mounts >= 0 && fd < 0 && (got = read(mounts, text + n, sizeof(text) - n)) > 0) {
		n += (size_t)got;
		for (line = text; fd < 0 && (end = memchr(line, '\n', n)) != NULL; line = end + 1) {
			*end = 0;
			n -= (size_t)(end + 1 - line);
			fd = look_at_mount(search, line);
		}
		memmove(text, line, n);
		if (n == sizeof(text))
			n = 0;
	}
	if (mounts >= 0)
		close(mounts);
	return fd;
}

/* Since 6.4 a sysctl tells even those who cannot see tracefs; before, nothing does. */
static int kernel_may_have_it(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (!access("/proc/sys/kernel/user_events_max", F_OK))
		return 1;
	uname(&name);
	return sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major == 5 ? minor >= 18 : major == 6 && minor < 4);
}

/* A fresh descriptor of user_events_data, or a negative PERFUME_CHECK_*. */
static int find_data_file(void)
{
	struct search search = {0};
	int fd = kernel.root[0] ? look_below(&search, kernel.root) : -ENOENT;

	if (fd < 0)
		fd = look_below(&search, "/sys/kernel/tracing");
	if (fd < 0)
		fd = look_below(&search, "/sys/kernel/debug/tracing");
	if (fd < 0)
		fd = look_at_mounts(&search);
	if (fd >= 0) {
		memcpy(kernel.root, search.root, sizeof(search.root));
		return fd;
	}
	if (search.mounted || !kernel_may_have_it())
		return -PERFUME_CHECK_NO_KERNEL_SUPPORT;
	return search.denied ? -PERFUME_CHECK_NO_PERMISSION : -PERFUME_CHECK_NO_TRACEFS;
}

/*
 * The three forms tell themselves apart without registering anything. Before 6.4 the status file
 * can be mapped, and a registration is refused for its size (EINVAL) before its missing name is
 * (EFAULT): 24 bytes were the least in 5.18, 20 since 6.0. Since 6.4 there is a call to unregister,
 * which finds nothing (ENOENT).
 */
static enum perfume_interface recognise(int fd)
{
	struct user_unreg nothing = {.size = sizeof(nothing), .disable_addr = (uintptr_t)&kernel};
	struct user_reg_bits nameless = {.size = sizeof(nameless)};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *status = MAP_FAILED;
	int status_fd;

	if (ioctl(fd, DIAG_IOCSUNREG, &nothing) < 0 && errno == ENOENT)
		return PERFUME_INTERFACE_ENABLE_WORDS;
	status_fd = open_below(kernel.root, "user_events_status", O_RDONLY);
	if (status_fd >= 0) {
		status = mmap(NULL, page, PROT_READ, MAP_SHARED, status_fd, 0);
		close(status_fd);
	}
	if (status == MAP_FAILED || ioctl(fd, DIAG_IOCSREG, &nameless) >= 0)
		return PERFUME_INTERFACE_UNKNOWN;
	kernel.status = status;
	return errno == EFAULT ? PERFUME_INTERFACE_STATUS_BITS : PERFUME_INTERFACE_STATUS_BYTES;
}

/* Moves a descriptor above `above`, and out of the way of the program's own; see inside.h. */
static int raise_fd(int fd, int above)
{
	struct rlimit limit;
	int floor = 768, raised;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < 1024)
		floor = (int)limit.rlim_cur * 3 / 4;
	raised = fcntl(fd, F_DUPFD_CLOEXEC, above >= floor ? above + 1 : floor);
	if (raised < 0)
		return fd;
	close(fd);
	return raised;
}

/* A descriptor of a form that we know, or a negative PERFUME_CHECK_*. Under the lock. */
static int open_data_file(void)
{
	int fd = find_data_file();
	struct stat st;

	if (fd < 0)
		return fd;
	fstat(fd, &st);
	if (st.st_dev != kernel.dev || st.st_ino != kernel.ino)
		kernel.interface = recognise(fd);
	kernel.dev = st.st_dev;
	kernel.ino = st.st_ino;
	if (kernel.interface == PERFUME_INTERFACE_UNKNOWN) {
		close(fd);
		return -PERFUME_CHECK_UNKNOWN_INTERFACE;
	}
	return raise_fd(fd, -1);
}

int perfume_check(void)
{
	sigset_t old;
	int saved = errno, fd;

	lock(&old);
	fd = open_data_file();
	if (fd >= 0)
		close(fd);
	unlock(&old);
	errno = saved;
	return fd < 0 ? -fd : PERFUME_CHECK_OK;
}

const char *perfume_check_str(int error_code)
{
	static const char *const texts[] = {
		[PERFUME_CHECK_OK] = "user_events work",
		[PERFUME_CHECK_NO_KERNEL_SUPPORT] =
			"this kernel has no user_events: they need Linux 6.4 or later, built with "
			"CONFIG_USER_EVENTS=y",
		[PERFUME_CHECK_NO_TRACEFS] = "tracefs is not mounted: as root, mount -t tracefs "
					     "nodev /sys/kernel/tracing",
		[PERFUME_CHECK_NO_PERMISSION] =
			"no permission to write user_events_data: run as root, or let root give "
			"this user search permission for the tracefs directory and write "
			"permission for the file",
		[PERFUME_CHECK_UNKNOWN_INTERFACE] =
			"this kernel's user_events have a form that this version of perfume does "
			"not know: take a newer one",
	};

	if (error_code < 0 || error_code >= (int)(sizeof(texts) / sizeof(texts[0])))
		return "not a result of perfume_check";
	return texts[error_code];
}

enum perfume_interface perfume_interface(void)
{
	switch (perfume_check()) {
	case PERFUME_CHECK_OK:
		return kernel.interface;
	case PERFUME_CHECK_UNKNOWN_INTERFACE:
		return PERFUME_INTERFACE_UNKNOWN;
	}
	return PERFUME_INTERFACE_NONE;
}

const char *perfume_interface_str(enum perfume_interface interface)
{
	static const char *const texts[] = {
		[PERFUME_INTERFACE_NONE] = "none",
		[PERFUME_INTERFACE_ENABLE_WORDS] = "enable words (Linux 6.4 and later)",
		[PERFUME_INTERFACE_STATUS_BITS] = "status page of bits (Linux 6.0 to 6.3)",
		[PERFUME_INTERFACE_STATUS_BYTES] = "status page of bytes (Linux 5.18 and 5.19)",
		[PERFUME_INTERFACE_UNKNOWN] = "unknown",
	};

	return texts[(unsigned)interface > PERFUME_INTERFACE_UNKNOWN ? PERFUME_INTERFACE_UNKNOWN
								     : interface];
}

/* Events in the kernel: registering, unregistering, writing, and the way back to a lost descriptor. */
static int intact(const struct perfume_file *file)
{
	struct stat st;

	return file->fd >= 0 && !fstat(file->fd, &st) && st.st_dev == kernel.dev &&
	       st.st_ino == kernel.ino;
}

static int kernel_refuses(int error)
{
	switch (error) {
	case -EINVAL:
		return fail(error, "the kernel refuses the name or a field of the event");
	case -EADDRINUSE:
		return fail(error, "the event exists with other fields: take another name, or a "
				   "context with PERFUME_MULTI_FORMAT");
	case -EMFILE:
		return fail(error, "the kernel's table of user_events is full: raise the sysctl "
				   "kernel.user_events_max");
	case -ENOMEM:
		return fail(error, "out of memory");
	}
	return fail(error, "the kernel refuses to register the event");
}

/* Flags that this kernel does not know (EINVAL) or this process may not use (EPERM) are dropped. */
static int register_word(struct perfume_event *event, const char *command)
{
	struct user_reg reg = {.size = sizeof(reg), .enable_size = sizeof(*event->word)};
	int flags = event->wanted;

	reg.enable_addr = (uintptr_t)event->word;
	reg.name_args = (uintptr_t)command;
	for (;;) {
		reg.flags = (flags & PERFUME_MULTI_FORMAT ? USER_EVENT_REG_MULTI_FORMAT : 0) |
			    (flags & PERFUME_PERSIST ? USER_EVENT_REG_PERSIST : 0);
		if (!ioctl(event->file->fd, DIAG_IOCSREG, &reg))
			break;
		if (errno == EINVAL && flags & PERFUME_MULTI_FORMAT)
			flags &= ~PERFUME_MULTI_FORMAT;
		else if ((errno == EINVAL || errno == EPERM) && flags & PERFUME_PERSIST)
			flags &= ~PERFUME_PERSIST;
		else
			return -errno;
	}
	event->granted = (uint8_t)flags;
	return (int)reg.write_index;
}

/* The status page is read-only and everybody's, so the word only says to look there. */
static int register_status(struct perfume_event *event, const char *command)
{
	struct user_reg_bits bits = {.size = sizeof(bits), .name_args = (uintptr_t)command};
	struct user_reg_bytes bytes = {.size = sizeof(bytes), .name_args = (uintptr_t)command};
	int in_bits = kernel.interface == PERFUME_INTERFACE_STATUS_BITS;

	if (ioctl(event->file->fd, DIAG_IOCSREG, in_bits ? (void *)&bits : (void *)&bytes))
		return -errno;
	event->status = in_bits ? bits.status_bit : bytes.status_index;
	__atomic_fetch_or(event->word, PERFUME_WORD_STATUS, __ATOMIC_RELAXED);
	return (int)(in_bits ? bits.write_index : bytes.write_index);
}

/* Name and fields as the kernel wants them; 0 or a negative errno. */
static int spell(const struct perfume_event *event, char command[COMMAND_MAX])
{
	struct fields fields = {0};
	int size = put_fields(&fields, event->fields);

	if (size < 0)
		return size;
	if (size > PERFUME_PAYLOAD_MAX)
		return fail(-EINVAL, "the fields are longer than an event can be");
	if (strlen(event->name) + !!fields.n + fields.n >= COMMAND_MAX)
		return fail(-EINVAL, "name and fields are longer than the kernel's 511 bytes");
	strcpy(command, event->name);
	if (fields.n)
		strcpy(stpcpy(command + strlen(command), " "), fields.text);
	return 0;
}

/* 0, also where there is no kernel interface; or what the kernel has against the event. */
static int kernel_add(struct perfume_event *event, const char *command)
{
	int index;

	if (event->file->fd < 0)
		return 0;
	if (kernel.interface == PERFUME_INTERFACE_ENABLE_WORDS)
		index = register_word(event, command);
	else
		index = register_status(event, command);
	if (index < 0)
		return kernel_refuses(index);
	__atomic_store_n(&event->target, (uint64_t)event->file->fd << 32 | (uint32_t)index,
		__ATOMIC_RELEASE);
	return 0;
}

/* Through any descriptor of the kernel's file. True when the kernel will not write to the word any more. */
static int kernel_forget(int fd, const struct perfume_event *event)
{
	struct user_unreg unreg = {.size = sizeof(unreg), .disable_addr = (uintptr_t)event->word};

	if (kernel.interface != PERFUME_INTERFACE_ENABLE_WORDS)
		return 1;
	return !ioctl(fd, DIAG_IOCSUNREG, &unreg) || errno == ENOENT;
}

/*
 * The program closed our descriptor, with all others perhaps. The kernel still knows the words,
 * which belong to the process; only the write indices went. Calls nothing that a signal handler may
 * not.
 */
static void recover(struct perfume_file *file)
{
	char command[COMMAND_MAX];
	struct perfume_event *event;
	int fd = open_below(kernel.root, "user_events_data", O_WRONLY);

	file->fd = fd < 0 ? -1 : raise_fd(fd, file->fd);
	for (event = file->events; event; event = event->next) {
		__atomic_store_n(&event->target, PERFUME_NO_TARGET, __ATOMIC_RELEASE);
		if (file->fd >= 0 && kernel_forget(file->fd, event) && !spell(event, command))
			kernel_add(event, command);
	}
}

static void file_open(struct perfume_file *file)
{
	int fd = open_data_file();

	file->fd = fd < 0 ? -1 : fd;
}

static void file_close(struct perfume_file *file)
{
	struct perfume_file **link = &files;

	while (*link && *link != file)
		link = &(*link)->next;
	if (*link)
		*link = file->next;
	if (intact(file))
		close(file->fd);
	file->fd = -1;
}

/*
 * What a forked child does before it touches an event. Words, descriptors and write indices are
 * inherited and stay good, unless the child closed the descriptors; then it registers anew. The
 * shared memory is the parent's; where the child was forked by a signal handler in the middle of a
 * record, that record comes first. False: not settled yet. Under the lock.
 */
static int settle(void)
{
	struct home *home = home_get();
	struct perfume_file *file;

	if (home->settled)
		return 1;
	for (file = files; file; file = file->next)
		if (file->fd >= 0 && !intact(file))
			recover(file);
	if (rings_in_use())
		return 0;
	area_fork();
	home->settled = 1;
	return 1;
}

/* 0, or a negative errno: then the event is to be removed again. */
static int event_add(struct perfume_file *file, struct perfume_event *event)
{
	char command[COMMAND_MAX];
	int error;

	settle();
	if (!file->events) {
		file_open(file);
		file->next = files;
		files = file;
	}
	event->file = file;
	event->target = PERFUME_NO_TARGET;
	event->previous = NULL;
	event->next = file->events;
	if (event->next)
		event->next->previous = event;
	file->events = event;
	error = spell(event, command);
	if (error >= 0)
		error = kernel_add(event, command);
	if (error >= 0)
		ring_add(event, command);
	return error;
}

/* True when nobody will write to the event's word any more. */
static int event_remove(struct perfume_event *event)
{
	struct perfume_file *file = event->file;
	int forgotten = 1;

	settle();
	if (event->target != PERFUME_NO_TARGET) {
		if (!intact(file))
			recover(file);
		forgotten = file->fd >= 0 && kernel_forget(file->fd, event);
	}
	__atomic_store_n(&event->target, PERFUME_NO_TARGET, __ATOMIC_RELEASE);
	__atomic_fetch_and(event->word, ~(uint32_t)PERFUME_WORD_STATUS, __ATOMIC_RELAXED);
	ring_remove(event);
	if (event->next)
		event->next->previous = event->previous;
	if (event->previous)
		event->previous->next = event->next;
	else
		file->events = event->next;
	event->file = NULL;
	if (!file->events)
		file_close(file);
	return forgotten;
}

int perfume_refresh(void)
{
	struct perfume_file *file;
	char command[COMMAND_MAX];
	struct perfume_event *event;
	sigset_t old;
	int saved = errno, error, ret = 0;

	lock(&old);
	settle();
	for (file = files; file; file = file->next) {
		if (file->fd >= 0 && !intact(file))
			recover(file);
		if (file->fd < 0)
			file_open(file);
		for (event = file->events; event; event = event->next) {
			if (event->target != PERFUME_NO_TARGET)
				continue;
			error = spell(event, command);
			if (error >= 0)
				error = kernel_add(event, command);
			ret = error < 0 ? error : ret;
		}
	}
	unlock(&old);
	errno = saved;
	return ret;
}

/* ---- writing ---- */

static int kernel_listens(const struct perfume_event *event, uint32_t word)
{
	uint32_t at = event->status;

	if (likely(word & PERFUME_WORD_KERNEL))
		return 1;
	if (!(word & PERFUME_WORD_STATUS))
		return 0;
	if (kernel.interface == PERFUME_INTERFACE_STATUS_BITS)
		return kernel.status[at / 8] >> at % 8 & 1;
	return kernel.status[at];
}

static uint32_t listeners(const struct perfume_event *event)
{
	const uint32_t *at = __atomic_load_n(&event->word, __ATOMIC_RELAXED);
	uint32_t word = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (likely(!word) || (word == PERFUME_WORD_STATUS && !kernel_listens(event, word)))
		return 0;
	return word;
}

/* EBADF says that nobody listens, or that the descriptor is no more. True when there is another now. */
static int reopened(struct perfume_event *event, int fd)
{
	struct perfume_file *file;
	sigset_t old;
	int ret;

	if (fcntl(fd, F_GETFD) >= 0)
		return 0;
	lock(&old);
	file = event->file;
	if (file && file->fd == fd)
		recover(file);
	ret = event->target != PERFUME_NO_TARGET;
	unlock(&old);
	return ret;
}

/* write(2), but no place where a thread can be cancelled. Bytes or a negative errno; errno stays. */
static long write_to(int fd, const void *packet, size_t n)
{
#if defined(__x86_64__) && defined(__LP64__)
	long ret = SYS_write;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"((long)fd), "S"(packet), "d"(n)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_write;
	register long x0 __asm__("x0") = fd;
	register const void *x1 __asm__("x1") = packet;
	register size_t x2 __asm__("x2") = n;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	int saved = errno;
	long ret = syscall(SYS_write, fd, packet, n);

	ret = ret < 0 ? -errno : ret;
	errno = saved;
	return ret;
#endif
}

/* The program may have closed the descriptor that was written to. What another write says, or -EBADF. */
static __attribute__((noinline)) long write_again(
	struct perfume_event *event, uint32_t *packet, size_t n)
{
	long ret = -EBADF;
	uint64_t target;
	int fd, saved = errno;

	do {
		target = __atomic_load_n(&event->target, __ATOMIC_ACQUIRE);
		if (target == PERFUME_NO_TARGET) {
			ret = (long)sizeof(*packet);
			break;
		}
		fd = (int)(target >> 32);
		packet[0] = (uint32_t)target;
		ret = write_to(fd, packet, n);
	} while (ret == -EBADF && reopened(event, fd));
	errno = saved;
	return ret;
}

static int kernel_write(struct perfume_event *event, uint32_t *packet, size_t payload)
{
	uint64_t target = __atomic_load_n(&event->target, __ATOMIC_ACQUIRE);
	long n;

	if (unlikely(target == PERFUME_NO_TARGET))
		return 0;
	packet[0] = (uint32_t)target;
	n = write_to((int)(target >> 32), packet, sizeof(*packet) + payload);
	if (unlikely(n == -EBADF))
		n = write_again(event, packet, sizeof(*packet) + payload);
	return (int)(n < 0 ? n : n - (long)sizeof(*packet));
}

static __attribute__((noinline)) int settle_now(void)
{
	int saved = errno, settled;
	sigset_t old;

	lock(&old);
	settled = settle();
	unlock(&old);
	errno = saved;
	return settled;
}

static int event_write(struct perfume_event *event, uint32_t word, uint32_t *packet, size_t payload)
{
	int ret = 0;

	if (unlikely(!home_get()->settled) && !settle_now())
		word &= ~(uint32_t)PERFUME_WORD_RING;
	if (word & PERFUME_WORD_RING)
		ret = ring_write(event, packet + 1, payload);
	if (kernel_listens(event, word))
		ret = kernel_write(event, packet, payload);
	return ret;
}

/* dlclose and exit: the kernel lets go of every word, wherever it lies. */
__attribute__((destructor)) static void leave(void)
{
	struct perfume_event *event;
	sigset_t old;
	int open;

	lock(&old);
	/* A child that never looked after its own must not write to its parent's. */
	if (!home_get()->settled)
		area_leave();
	while (files) {
		open = intact(files);
		for (event = files->events; event; event = event->next) {
			if (open && event->target != PERFUME_NO_TARGET)
				kernel_forget(files->fd, event);
			__atomic_store_n(&event->target, PERFUME_NO_TARGET, __ATOMIC_RELEASE);
			ring_remove(event);
		}
		file_close(files);
	}
	area_leave();
	unlock(&old);
}

/* The area that this process shares with collectors: made, filled with events, given to those who asked. */
#define LEASE_AT_FIRST 5000000000ULL /* ns; until the collector has the area and renews it */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Rings are for where the kernel has no user_events for us. PERFUME_RING=0 never, 1 always. */
static int area_is_wanted(void)
{
	const char *text = secure_getenv("PERFUME_RING");

	if (text && *text)
		return *text != '0';
	return kernel.interface == PERFUME_INTERFACE_NONE ||
	       kernel.interface == PERFUME_INTERFACE_UNKNOWN;
}

/* Bytes of one ring: 1 MiB, or PERFUME_RING_KB, a power of two from 64 to 65536. */
static uint32_t ring_size(void)
{
	const char *text = secure_getenv("PERFUME_RING_KB");
	unsigned long kb = text ? strtoul(text, NULL, 10) : 0;

	return kb >= 64 && kb <= 65536 && !(kb & (kb - 1)) ? (uint32_t)kb << 10 : 1 << 20;
}

static struct area *area_new(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	uint32_t size = ring_size();
	uint64_t all = AREA_DATA + (uint64_t)size * AREA_RINGS;
	struct rlimit limit;
	void *area = MAP_FAILED;
	int fd;

	/* To go beyond `ulimit -f` is answered by a deadly signal; only what is used takes memory. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < all)
		return NULL;
	fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return NULL;
	fd = raise_fd(fd, -1);
	if (!ftruncate(fd, (off_t)all) && !fcntl(fd, F_ADD_SEALS, seals) &&
		!fstat(fd, &shared.stat))
		area = mmap(NULL, sizeof(struct area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	shared.fd = fd;
	shared.pid = getpid();
	shared.area = area;
	shared.ring_size = shared.area->ring_size = size;
	shared.area->pid = (uint32_t)shared.pid;
	__atomic_store_n(&shared.area->magic, AREA_MAGIC, __ATOMIC_RELEASE);
	return area;
}

/* The program may have closed our descriptor, and have another file under its number. */
static int is_our_fd(void)
{
	struct stat st;

	return !fstat(shared.fd, &st) && st.st_dev == shared.stat.st_dev &&
	       st.st_ino == shared.stat.st_ino;
}

/* ---- collectors ---- */

static int send_area(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0}, nothing = 0;
	struct iovec vec = {&nothing, 1};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
	struct cmsghdr *rights;

	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &shared.fd, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

/* Root and this user may read along. Anybody can take the name of a collector that was killed. */
static int may_collect(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (!peer.uid || peer.uid == geteuid());
}

/* Sends the area to the collector of that id. False when it is no more. */
static int hand_over(uint64_t id)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), sent;
	socklen_t n;

	if (fd < 0)
		return 0;
	n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, COLLECTOR_SOCKET,
				(unsigned long long)id));
	if (!connect(fd, (struct sockaddr *)&to, n))
		sent = may_collect(fd) && send_area(fd);
	else
		/* A full queue is no reason to think it gone: it will find us in /proc. */
		sent = errno == EAGAIN;
	close(fd);
	return sent;
}

static void claim(uint64_t id, const char *patterns, size_t n)
{
	struct area_claim *claim = shared.area->claims, *end = claim + AREA_CLAIMS;
	uint64_t none = 0;

	if (!id || n >= sizeof(claim->patterns) || !hand_over(id))
		return;
	while (claim < end && !__atomic_compare_exchange_n(&claim->id, &none, id, 0,
				      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		none = 0;
		claim++;
	}
	if (claim == end)
		return;
	memcpy(claim->patterns, patterns, n);
	__atomic_store_n(&claim->lease, now_ns() + LEASE_AT_FIRST, __ATOMIC_RELEASE);
}

/* Orders are lines: the collector's id in 16 hexadecimal digits, a colon, patterns. */
static void take_requests(const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (end - line > 17 && line[16] == ':')
			claim(strtoull(line, NULL, 16), line + 17, (size_t)(end - line) - 17);
	}
}

/* Standing orders of root, and of this user; of nobody else. */
static void read_requests(const char *path, uid_t owner)
{
	char text[8 * (AREA_TEXT + 20)];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == owner && !(st.st_mode & 022)) {
		n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		take_requests(text);
	}
	close(fd);
}

static void find_collectors(void)
{
	const char *inherited = secure_getenv(COLLECTOR_VARIABLE);
	char path[64];
	uid_t user = geteuid();

	if (inherited)
		take_requests(inherited);
	read_requests(ORDERS_OF_ROOT, 0);
	snprintf(path, sizeof(path), ORDERS_OF_USER, (unsigned)user);
	read_requests(path, user);
}

/* True when `name` fits one of the patterns, which come from memory that may change meanwhile. */
static int fits(const struct area_claim *claim, const char *name)
{
	char patterns[AREA_TEXT], *pattern, *rest = patterns;

	memcpy(patterns, claim->patterns, sizeof(patterns) - 1);
	patterns[sizeof(patterns) - 1] = 0;
	while ((pattern = strsep(&rest, ",")) != NULL)
		if (*pattern && !fnmatch(pattern, name, 0))
			return 1;
	return 0;
}

/* ---- slots ---- */

/*
 * The collector that holds it needs microseconds. One that was stopped meanwhile is not waited for
 * long, and in all not longer than a second: one may close the lock as often as we open it.
 */
static void area_lock(struct area *area)
{
	const struct timespec nap = {.tv_nsec = 100000};
	uint32_t open = 0, tries = 2000;

	while (!__atomic_compare_exchange_n(
		       &area->lock, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
		--tries && shared.n_waits < 10000) {
		open = 0;
		shared.n_waits++;
		nanosleep(&nap, NULL);
	}
}

static void area_unlock(struct area *area)
{
	__atomic_store_n(&area->lock, 0, __ATOMIC_RELEASE);
}

/* The slot that the same event had before, a free one, or NULL. */
static struct area_slot *slot_for(struct area *area, const char *text)
{
	struct area_slot *slot = area->slots;
	uint32_t dead = shared.n_dead, i;

	for (i = 0; i < shared.n_slots && dead; i++, slot++) {
		if (shared.live[i])
			continue;
		if (!strncmp(slot->text, text, sizeof(slot->text))) {
			shared.n_dead--;
			return slot;
		}
		dead--;
	}
	if (shared.n_slots == AREA_SLOTS)
		return NULL;
	slot = &area->slots[shared.n_slots];
	strcpy(slot->text, text);
	__atomic_store_n(&area->n_slots, ++shared.n_slots, __ATOMIC_RELEASE);
	return slot;
}

/*
 * In a child, at once. Forked by a signal handler in the middle of a record, it will go on with
 * that record when the handler returns; not in the parent's memory.
 */
static void area_forked(void)
{
	if (!shared.area || !rings_in_use() || !is_our_fd())
		return;
	rings_leave();
	mmap(shared.area, sizeof(*shared.area), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		shared.fd, 0);
}

static void area_begin(void)
{
	shared.tried = 1;
	if (area_new())
		find_collectors();
}

static void ring_add(struct perfume_event *event, const char *text)
{
	struct area_slot *slot;
	uint32_t wanted = 0;
	struct area *area;
	int k;

	if (!shared.area && !shared.tried && area_is_wanted())
		area_begin();
	area = shared.area;
	slot = area ? slot_for(area, text) : NULL;
	if (!slot)
		return;
	event->slot = (uint32_t)(slot - area->slots) + 1;
	shared.live[event->slot - 1] = 1;
	for (k = 0; k < AREA_CLAIMS; k++)
		if (area->claims[k].id && fits(&area->claims[k], event->name))
			wanted |= 1u << k;
	slot->word = (uintptr_t)event->word;
	__atomic_store_n(&slot->wanted, wanted, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->live, 1, __ATOMIC_RELEASE);
	if (wanted)
		__atomic_fetch_or(event->word, PERFUME_WORD_RING, __ATOMIC_RELEASE);
}

static void ring_remove(struct perfume_event *event)
{
	struct area_slot *slot;

	if (!event->slot || !shared.area)
		return;
	slot = &shared.area->slots[event->slot - 1];
	area_lock(shared.area);
	slot->live = 0;
	slot->wanted = 0;
	area_unlock(shared.area);
	__atomic_fetch_and(event->word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_RELAXED);
	shared.live[event->slot - 1] = 0;
	shared.n_dead++;
	event->slot = 0;
}

/* ---- fork, and the end ---- */

/* The collectors of the parent are those of the child. */
static void inherit(const struct area *parent)
{
	char patterns[AREA_TEXT];
	int k;

	for (k = 0; k < AREA_CLAIMS; k++) {
		memcpy(patterns, parent->claims[k].patterns, sizeof(patterns) - 1);
		patterns[sizeof(patterns) - 1] = 0;
		if (parent->claims[k].id && parent->claims[k].lease > now_ns())
			claim(parent->claims[k].id, patterns, strlen(patterns));
	}
}

/* Which bits in the child's area are those of the parent's collectors. */
static uint32_t translate(const struct area *parent, uint32_t wanted)
{
	uint32_t ours = 0;
	int k, l;

	for (k = 0; k < AREA_CLAIMS; k++)
		for (l = 0; l < AREA_CLAIMS && wanted >> k & 1; l++)
			if (parent->claims[k].id &&
				shared.area->claims[l].id == parent->claims[k].id)
				ours |= 1u << l;
	return ours;
}

/* An event of the parent's area in the child's, in the same slot. */
static void slot_fork(const struct area *parent, struct perfume_event *event)
{
	struct area_slot *slot;
	uint32_t wanted;

	if (!event->slot)
		return;
	if (shared.area) {
		slot = &shared.area->slots[event->slot - 1];
		wanted = translate(parent, parent->slots[event->slot - 1].wanted);
		slot->word = (uintptr_t)event->word;
		slot->wanted = wanted;
		slot->live = 1;
	} else {
		wanted = 0;
		event->slot = 0;
	}
	if (!wanted)
		__atomic_fetch_and(event->word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_RELAXED);
}

/* In a forked child, under the lock: an area of its own. */
static void area_fork(void)
{
	struct area *parent = shared.area;
	struct perfume_event *event;
	struct perfume_file *file;
	uint32_t i;

	if (!parent)
		return;
	rings_forget();
	shared.area = NULL;
	if (is_our_fd())
		close(shared.fd);
	if (area_new()) {
		inherit(parent);
		for (i = 0; i < shared.n_slots; i++)
			memcpy(shared.area->slots[i].text, parent->slots[i].text, AREA_TEXT - 1);
	}
	for (file = files; file; file = file->next)
		for (event = file->events; event; event = event->next)
			slot_fork(parent, event);
	if (shared.area)
		__atomic_store_n(&shared.area->n_slots, shared.n_slots, __ATOMIC_RELEASE);
	munmap(parent, sizeof(*parent));
}

/*
 * At the end, under the lock: gives the memory up. Other threads may be in the middle of a record,
 * at exit; what they write goes nowhere. Collectors keep what they have mapped.
 */
static void area_leave(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	const int access = PROT_READ | PROT_WRITE;

	if (!shared.area)
		return;
	rings_leave();
	mmap(shared.area, sizeof(*shared.area), access, flags, -1, 0);
	if (is_our_fd())
		close(shared.fd);
}

/*
 * Writing to the rings. Each thread has a ring for itself, and another for the signal handler that
 * interrupts it in the middle of a record, so that no ring is ever written by two at a time.
 */
#define LEVELS 3 /* the thread, a handler in it, a handler in that */

/* What only the writer knows of a ring; what collectors see may be scribbled on. */
struct ring {
	unsigned char *data; /* mapped twice, so that no record is cut at the end */
	struct area_ring *seen;
	uint64_t head, count;
	pid_t owner;
	uint64_t looked; /* when the claims were looked at, in ticks of the clock */
	uint32_t alive;  /* the collectors that were alive then */
};

static struct ring rings[AREA_RINGS];

static __thread struct {
	struct ring *ring[LEVELS];
	uint32_t fork; /* of which process the rings are */
	uint32_t depth;
} mine __attribute__((tls_model("initial-exec")));

/* ---- the clock ---- */

static uint64_t ticks(uint32_t clock)
{
#ifdef __x86_64__
	if (likely(clock == AREA_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (likely(clock == AREA_CLOCK_COUNTER)) {
		uint64_t now;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
		return now;
	}
#endif
	return now_ns();
}

/* The kernel says whether the TSC may be trusted: its own clock is made of it then. */
static uint32_t choose_clock(void)
{
#ifdef __x86_64__
	const char *path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, source, sizeof(source) - 1) > 0 &&
		(!strcmp(source, "tsc\n") || !strcmp(source, "kvm-clock\n"))) {
		close(fd);
		return AREA_CLOCK_TSC;
	}
	close(fd);
	return AREA_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	return AREA_CLOCK_COUNTER;
#else
	return AREA_CLOCK_MONOTONIC;
#endif
}

/* Ticks in about a fifth of a second. */
static uint64_t ticks_between_looks(uint32_t clock)
{
	uint64_t hz = 1000000000;

#ifdef __aarch64__
	if (clock == AREA_CLOCK_COUNTER)
		__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
	/* TSCs run at 1 to 5 GHz. */
	return clock == AREA_CLOCK_TSC ? 1ULL << 29 : hz / 5;
}

/* ---- getting a ring ---- */

/* Does this code run in a signal handler, which interrupted the writing of a record? */
static int rings_in_use(void)
{
	return mine.depth != 0;
}

static void rings_forget(void)
{
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (rings[i].data)
			munmap(rings[i].data, 2 * (size_t)shared.ring_size);
	memset(rings, 0, shared.n_rings * sizeof(rings[0]));
	shared.n_rings = 0;
	shared.fork++;
}

static void rings_leave(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (rings[i].data)
			mmap(rings[i].data, 2 * (size_t)shared.ring_size, PROT_READ | PROT_WRITE,
				flags, -1, 0);
}

static unsigned char *map_twice(uint32_t i)
{
	size_t size = shared.ring_size;
	off_t at = (off_t)(AREA_DATA + (uint64_t)i * size);
	unsigned char *data = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int k;

	for (k = 0; k < 2 && data != MAP_FAILED; k++)
		if (mmap(data + (size_t)k * size, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, shared.fd, at) == MAP_FAILED) {
			munmap(data, 2 * size);
			data = MAP_FAILED;
		}
	return data == MAP_FAILED ? NULL : data;
}

/* A ring whose thread has ended, else a new one, else NULL. Under the lock. */
static struct ring *find_ring(void)
{
	struct ring *ring;
	uint32_t i;

	/* A vfork child borrows the memory of the thread that waits for it, and leaves it no ring. */
	if (getpid() != shared.pid)
		return NULL;
	for (i = 0; i < shared.n_rings; i++)
		if (syscall(SYS_tgkill, shared.pid, rings[i].owner, 0) < 0 && errno == ESRCH)
			return &rings[i];
	if (i == AREA_RINGS)
		return NULL;
	ring = &rings[i];
	ring->data = map_twice(i);
	if (!ring->data)
		return NULL;
	if (!i) {
		shared.clock = choose_clock();
		shared.look_ticks = ticks_between_looks(shared.clock);
	}
	ring->seen = &shared.area->rings[i];
	shared.n_rings++;
	shared.area->clock = shared.clock;
	__atomic_store_n(&shared.area->n_rings, shared.n_rings, __ATOMIC_RELEASE);
	return ring;
}

/* ---- records ---- */

static void put_mark(struct area_ring *seen, uint64_t position, uint64_t count, uint32_t sixteenth)
{
	/* A reader that sees the new position sees the new count, or finds that the position changed. */
	__atomic_store_n(&seen->marks[sixteenth].position, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	seen->marks[sixteenth].count = count;
	__atomic_store_n(&seen->marks[sixteenth].position, position, __ATOMIC_RELEASE);
}

static void put_record(struct ring *ring, uint16_t slot, const void *payload, size_t n,
	uint64_t time, uint64_t counts)
{
	uint32_t padding = (uint32_t)-n & 7, part = shared.ring_size / AREA_MARKS;
	uint64_t end = ring->head + sizeof(struct area_record) + n + padding;
	unsigned char *at = ring->data + (ring->head & (shared.ring_size - 1));
	struct area_record head = {(uint32_t)(end - ring->head), slot, (uint16_t)padding, time};

	__atomic_store_n(&ring->seen->reserved, end, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), payload, n);
	ring->count += counts;
	if (unlikely((end ^ ring->head) & ~(uint64_t)(part - 1)))
		put_mark(ring->seen, end, ring->count, (uint32_t)(end / part % AREA_MARKS));
	ring->head = end;
	__atomic_store_n(&ring->seen->count, ring->count, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->seen->head, end, __ATOMIC_RELEASE);
}

/* ---- the ring of this thread ---- */

/* Whose records follow. Not an event, so not counted. */
static void put_owner(struct ring *ring)
{
	uint32_t tid = (uint32_t)ring->owner;

	ring->seen->owner_since = ring->head;
	__atomic_store_n(&ring->seen->owner, tid, __ATOMIC_RELEASE);
	put_record(ring, AREA_OWNER, &tid, sizeof(tid), 0, 0);
}

static __attribute__((noinline)) struct ring *get_ring(uint32_t level)
{
	struct ring *ring;
	int saved = errno;
	sigset_t old;

	lock(&old);
	if (mine.fork != shared.fork) {
		memset(mine.ring, 0, sizeof(mine.ring));
		mine.fork = shared.fork;
	}
	ring = mine.ring[level];
	if (!ring)
		ring = find_ring();
	if (ring && !mine.ring[level]) {
		ring->owner = (pid_t)syscall(SYS_gettid);
		put_owner(ring);
	}
	mine.ring[level] = ring;
	unlock(&old);
	errno = saved;
	return ring;
}

/* ---- writing ---- */

/* Which collectors have renewed their lease. One that was killed must not cost for ever. */
static void look(struct ring *ring, uint64_t now_ticks)
{
	uint64_t now = now_ns();
	uint32_t k;

	ring->alive = 0;
	for (k = 0; k < AREA_CLAIMS; k++)
		if (__atomic_load_n(&shared.area->claims[k].lease, __ATOMIC_RELAXED) > now)
			ring->alive |= 1u << k;
	ring->looked = now_ticks;
}

/*
 * What is left of `wanted` when the dead are gone. When nobody is, the event is switched off, unless somebody
 * just came: he has set `wanted` first, then the word.
 */
static uint32_t drop(struct perfume_event *event, struct area_slot *slot, uint32_t dead)
{
	uint32_t wanted = __atomic_and_fetch(&slot->wanted, ~dead, __ATOMIC_SEQ_CST);
	uint32_t *word = __atomic_load_n(&event->word, __ATOMIC_RELAXED);

	if (!wanted && word != &nobody) {
		__atomic_fetch_and(word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_SEQ_CST);
		wanted = __atomic_load_n(&slot->wanted, __ATOMIC_SEQ_CST);
		if (wanted)
			__atomic_fetch_or(word, PERFUME_WORD_RING, __ATOMIC_RELAXED);
	}
	return wanted & ~dead;
}

static int write_at_level(
	struct perfume_event *event, uint32_t at, uint32_t level, const void *payload, size_t n)
{
	struct area_slot *slot = &shared.area->slots[at];
	uint32_t wanted = __atomic_load_n(&slot->wanted, __ATOMIC_ACQUIRE);
	struct ring *ring = level < LEVELS ? mine.ring[level] : NULL;
	uint64_t now;

	if (unlikely(!ring || mine.fork != shared.fork))
		ring = wanted && level < LEVELS ? get_ring(level) : NULL;
	if (unlikely(!wanted)) {
		drop(event, slot, 0);
		return 0;
	}
	if (unlikely(!ring)) {
		__atomic_fetch_add(&shared.area->lost, 1, __ATOMIC_RELAXED);
		return -ENOBUFS;
	}
	now = ticks(shared.clock);
	if (unlikely(wanted & ~ring->alive || now - ring->looked > shared.look_ticks)) {
		look(ring, now);
		if (wanted & ~ring->alive && !drop(event, slot, wanted & ~ring->alive))
			return 0;
	}
	put_record(ring, (uint16_t)at, payload, n, now, 1);
	return (int)n;
}

static int ring_write(struct perfume_event *event, const void *payload, size_t n)
{
	/* Another thread may take the event out of use meanwhile. */
	uint32_t slot = __atomic_load_n(&event->slot, __ATOMIC_RELAXED), level = mine.depth;
	int ret;

	if (unlikely(!slot))
		return 0;
	mine.depth = level + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = write_at_level(event, slot - 1, level, payload, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine.depth = level;
	return ret;
}

/*
 * The arena of enable words. It is never unmapped, and a word is used again only when the kernel
 * has let go of it: the kernel writes to the address of a word, whatever lies there.
 */
#define CHUNK_WORDS 4096

struct chunk {
	struct chunk *next;
	uint64_t used[CHUNK_WORDS / 64];
	uint32_t words[CHUNK_WORDS];
};

static struct chunk *chunks;

static uint32_t *word_new(void)
{
	struct chunk *chunk;
	unsigned at, bit;

	for (chunk = chunks; chunk; chunk = chunk->next)
		for (at = 0; at < CHUNK_WORDS / 64; at++)
			if (~chunk->used[at])
				goto found;
	chunk = mmap(
		NULL, sizeof(*chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	chunk->next = chunks;
	chunks = chunk;
	at = 0;
found:
	bit = (unsigned)__builtin_ctzll(~chunk->used[at]);
	chunk->used[at] |= 1ULL << bit;
	return &chunk->words[at * 64 + bit];
}

static void word_free(const uint32_t *word)
{
	struct chunk *chunk = chunks;
	size_t at;

	while (word < chunk->words || word >= chunk->words + CHUNK_WORDS)
		chunk = chunk->next;
	at = (size_t)(word - chunk->words);
	chunk->used[at / 64] &= ~(1ULL << at % 64);
}

/* Names and fields: what the kernel takes, and in which spelling. */
int perfume_check_name(const char *name, const char **ret_reason)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *reason = NULL, *none;
	int ret = -EINVAL;

	if (!name || !*name)
		reason = "the name is empty";
	else if (strlen(name) >= COMMAND_MAX)
		reason = "the name is longer than the kernel's 511 bytes";
	else if (strchr(name, ':'))
		reason = "the name has a ':', behind which the kernel expects flags";
	else if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		reason = "the name cannot be that of a directory in tracefs";
	for (none = name; !reason && *none; none++)
		if ((unsigned char)*none <= ' ' || *none == 0x7f)
			reason = "the name has a blank or a control character";
	if (!reason)
		ret = PERFUME_NAME_OK;
	if (!reason && (name[strspn(name, plain)] || isdigit((unsigned char)*name))) {
		ret = PERFUME_NAME_RISKY;
		reason = "the kernel takes the name, but tools expect letters, digits and '_': "
			 "some versions of perf crash on '.' and '-'";
	}
	if (ret_reason)
		*ret_reason = reason;
	return ret;
}

/* The words of one field. */
struct field {
	const char *word[5];
	size_t size[5];
	unsigned n;
};

static int word_is(const struct field *field, unsigned i, const char *text)
{
	return i < field->n && field->size[i] == strlen(text) &&
	       !memcmp(field->word[i], text, field->size[i]);
}

/* A number as the kernel reads it from at most 7 characters, up to `end`; -1 when it is none. */
static long number(const char *text, size_t n, int base, char end)
{
	char digits[8], *stop;
	long value;

	if (!n || n >= sizeof(digits) || !isdigit((unsigned char)*text))
		return -1;
	memcpy(digits, text, n);
	digits[n] = 0;
	value = strtol(digits, &stop, base);
	return *stop == end ? value : -1;
}

static int no_such_type(const struct field *field, unsigned i)
{
	if (word_is(field, i, "float") || word_is(field, i, "double"))
		return fail(-EINVAL, "the kernel knows no 'float' and 'double': use f32 and f64");
	if (word_is(field, i, "long"))
		return fail(-EINVAL,
			"the kernel refuses 'long', which has no certain size: use s64 or u64");
	return fail(-EINVAL, "a field has a type that the kernel does not know");
}

struct type {
	const char *name;
	int size;
	int of_c;    /* may stand behind "unsigned" */
	int foreign; /* the kernel does not know it: described as a struct */
};

static const struct type *find_type(const struct field *field, unsigned i, size_t n)
{
	static const struct type types[] = {{"u8", 1, 0, 0}, {"s8", 1, 0, 0}, {"u16", 2, 0, 0},
		{"s16", 2, 0, 0}, {"u32", 4, 0, 0}, {"s32", 4, 0, 0}, {"u64", 8, 0, 0},
		{"s64", 8, 0, 0}, {"int", 4, 1, 0}, {"short", 2, 1, 0}, {"char", 1, 1, 0},
		{"f32", 4, 0, 1}, {"f64", 8, 0, 1}};
	size_t t;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		if (strlen(types[t].name) == n && !memcmp(types[t].name, field->word[i], n))
			return &types[t];
	return NULL;
}

/* The size of the type at word i, or a negative errno; *ret_length is N of an array that is not of char. */
static int basic_size(const struct field *field, unsigned i, int is_unsigned, long *ret_length)
{
	const char *text = field->word[i], *bracket = memchr(text, '[', field->size[i]);
	size_t n = bracket ? (size_t)(bracket - text) : field->size[i];
	const struct type *type = find_type(field, i, n);
	long length;

	if (!type || (is_unsigned && !type->of_c))
		return no_such_type(field, i);
	*ret_length = type->foreign;
	if (!bracket)
		return type->size;
	length = number(bracket + 1, field->size[i] - n - 1, 0, ']');
	if (length < 1 || length > ARRAY_MAX)
		return fail(-EINVAL, "the length of an array is a number from 1 to 1024");
	if (strncmp(text, "char", 4)) {
		if (type->of_c)
			return no_such_type(field, i);
		*ret_length = length;
	}
	return (int)length * type->size;
}

/* Of the field's value, or a negative errno. *ret_length as above; 0: the kernel knows the type. */
static int field_size(const struct field *field, long *ret_length)
{
	unsigned dynamic = word_is(field, 0, "__data_loc") || word_is(field, 0, "__rel_loc");
	unsigned is_unsigned = word_is(field, dynamic, "unsigned") != 0;
	long n;

	if (word_is(field, 0, "struct")) {
		n = field->n == 4 ? number(field->word[3], field->size[3], 10, 0) : -1;
		if (n < 1 || n > PERFUME_PAYLOAD_MAX)
			return fail(-EINVAL, "a struct is described by 'struct NAME field SIZE'");
		return (int)n;
	}
	if (field->n != dynamic + is_unsigned + 2)
		return fail(-EINVAL, "a field is a type, a blank and a name");
	if (dynamic)
		return (int)sizeof(uint32_t);
	return basic_size(field, is_unsigned, (int)is_unsigned, ret_length);
}

/* Takes the words up to the next ';' and returns where it stopped, or NULL when they are too many. */
static const char *take_words(const char *text, struct field *field)
{
	field->n = 0;
	for (text += strspn(text, " \t"); *text && *text != ';'; text += strspn(text, " \t")) {
		if (field->n == 5)
			return NULL;
		field->word[field->n] = text;
		field->size[field->n] = strcspn(text, " \t;");
		text += field->size[field->n++];
	}
	return text;
}

static void put_text(struct fields *out, const char *text, size_t n)
{
	size_t room = sizeof(out->text) - 1 - out->n;

	if (n > room) {
		out->too_long = 1;
		n = room;
	}
	memcpy(out->text + out->n, text, n);
	out->n += n;
	out->text[out->n] = 0;
}

/* "f64 x" becomes "struct f64 x 8", "u32[4] x" becomes "struct u32x4 x 16". */
static void put_as_struct(struct fields *out, const struct field *field, long length, int size)
{
	size_t n = strcspn(field->word[0], " \t[");
	char text[32];

	put_text(out, "struct ", 7);
	put_text(out, field->word[0], n);
	if (n < field->size[0])
		put_text(out, text, (size_t)sprintf(text, "x%ld", length));
	put_text(out, " ", 1);
	put_text(out, field->word[1], field->size[1]);
	put_text(out, text, (size_t)sprintf(text, " %d", size));
}

static int put_field(struct fields *out, const struct field *field)
{
	long length = 0;
	int size = field_size(field, &length);
	unsigned i;

	if (size < 0)
		return size;
	put_text(out, "; ", out->n ? 2 : 0);
	if (length)
		put_as_struct(out, field, length, size);
	for (i = 0; i < field->n && !length; i++) {
		put_text(out, " ", i ? 1 : 0);
		put_text(out, field->word[i], field->size[i]);
	}
	return size;
}

static int put_fields(struct fields *out, const char *text)
{
	struct field field;
	int total = 0, size;

	for (; *text; text += *text == ';') {
		text = take_words(text, &field);
		if (!text)
			return fail(-EINVAL, "a field is a type, a blank and a name");
		if (!field.n)
			continue;
		size = put_field(out, &field);
		if (size < 0)
			return size;
		total += size;
	}
	if (out->too_long)
		return fail(-EINVAL, "name and fields are longer than the kernel's 511 bytes");
	return total;
}

/* Contexts and their probes. */
const char *perfume_error(void)
{
	return sentence ? sentence : "nothing has failed";
}

struct perfume_ctx *perfume_init(int flags)
{
	struct perfume_ctx *ctx;

	if (flags & ~(PERFUME_MULTI_FORMAT | PERFUME_PERSIST)) {
		fail(-EINVAL,
			"perfume_init knows the flags PERFUME_MULTI_FORMAT and PERFUME_PERSIST");
		errno = EINVAL;
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	ctx->file.fd = -1;
	ctx->flags = (uint8_t)flags;
	return ctx;
}

void perfume_free(struct perfume_ctx *ctx)
{
	int saved = errno;

	while (ctx && ctx->probes)
		perfume_probe_free(ctx->probes);
	free(ctx);
	errno = saved;
}

static struct perfume_probe *refuse(int error)
{
	errno = -error;
	return NULL;
}

/* A probe with its texts, not registered yet; NULL with a sentence. */
static struct perfume_probe *probe_new(const char *name, const struct fields *fields, size_t n)
{
	struct perfume_probe *probe;
	size_t sizes = n * sizeof(probe->sizes[0]);
	char *text;

	probe = calloc(1, sizeof(*probe) + sizes + strlen(name) + 1 + fields->n + 1);
	if (!probe)
		return refuse(fail(-ENOMEM, "out of memory"));
	text = (char *)&probe->sizes[n];
	probe->n_fields = (uint32_t)n;
	probe->event.target = PERFUME_NO_TARGET;
	probe->event.word = &nobody;
	probe->event.fields = memcpy(text, fields->text, fields->n + 1);
	probe->event.name = strcpy(text + fields->n + 1, name);
	return probe;
}

/* Under the lock. */
static void probe_remove(struct perfume_probe *probe)
{
	uint32_t *word = probe->event.word;
	int forgotten = event_remove(&probe->event);

	__atomic_store_n(&probe->event.word, &nobody, __ATOMIC_RELEASE);
	if (forgotten)
		word_free(word);
}

/* Under the lock. */
static int probe_add(struct perfume_ctx *ctx, struct perfume_probe *probe)
{
	int error;

	probe->event.word = word_new();
	if (!probe->event.word)
		return fail(-ENOMEM, "out of memory");
	probe->event.wanted = ctx->flags;
	error = event_add(&ctx->file, &probe->event);
	if (error < 0) {
		probe_remove(probe);
		return error;
	}
	probe->ctx = ctx;
	probe->next = ctx->probes;
	if (probe->next)
		probe->next->previous = probe;
	ctx->probes = probe;
	return 0;
}

struct perfume_probe *perfume_register_fields(
	struct perfume_ctx *ctx, const char *name, const char *const *fields, size_t n)
{
	uint32_t sizes[COMMAND_MAX / 2];
	struct fields all = {0};
	struct perfume_probe *probe;
	const char *reason;
	sigset_t old;
	size_t i;
	int size;

	if (!ctx || perfume_check_name(name, &reason) < 0)
		return refuse(fail(-EINVAL, ctx ? reason : "no context was given"));
	if (n > sizeof(sizes) / sizeof(sizes[0]))
		return refuse(
			fail(-EINVAL, "there are more fields than the kernel's 511 bytes hold"));
	for (i = 0; i < n; i++) {
		size = put_fields(&all, fields[i]);
		if (size < 0)
			return refuse(size);
		sizes[i] = (uint32_t)size;
	}
	probe = probe_new(name, &all, n);
	if (!probe)
		return NULL;
	for (i = 0; i < n; i++)
		probe->event.min_size += probe->sizes[i] = sizes[i];
	lock(&old);
	size = probe_add(ctx, probe);
	unlock(&old);
	if (size < 0) {
		free(probe);
		return refuse(size);
	}
	return probe;
}

struct perfume_probe *perfume_register(struct perfume_ctx *ctx, const char *name, ...)
{
	const char *fields[COMMAND_MAX / 2], *field;
	va_list args;
	size_t n = 0;

	va_start(args, name);
	while ((field = va_arg(args, const char *)) && n < sizeof(fields) / sizeof(fields[0]))
		fields[n++] = field;
	va_end(args);
	if (field)
		return refuse(
			fail(-EINVAL, "there are more fields than the kernel's 511 bytes hold"));
	return perfume_register_fields(ctx, name, fields, n);
}

int perfume_add(struct perfume_ctx *ctx, const char *name)
{
	return perfume_register_fields(ctx, name, NULL, 0) ? 0 : -errno;
}

struct perfume_probe *perfume_find(struct perfume_ctx *ctx, const char *name)
{
	struct perfume_probe *probe;
	sigset_t old;

	lock(&old);
	probe = ctx->probes;
	while (probe && strcmp(probe->event.name, name))
		probe = probe->next;
	unlock(&old);
	return probe;
}

int perfume_deregister(struct perfume_ctx *ctx, struct perfume_probe *probe)
{
	sigset_t old;
	int saved = errno;

	if (!ctx || !probe || probe->ctx != ctx)
		return fail(-EINVAL, "the probe is not one of this context");
	lock(&old);
	if (probe->event.file)
		probe_remove(probe);
	unlock(&old);
	errno = saved;
	return 0;
}

void perfume_probe_free(struct perfume_probe *probe)
{
	sigset_t old;
	int saved = errno;

	if (!probe)
		return;
	lock(&old);
	if (probe->event.file)
		probe_remove(probe);
	if (probe->next)
		probe->next->previous = probe->previous;
	if (probe->previous)
		probe->previous->next = probe->next;
	else
		probe->ctx->probes = probe->next;
	unlock(&old);
	free(probe);
	errno = saved;
}

int perfume_probe_flags(const struct perfume_probe *probe)
{
	return probe->event.granted;
}

/* Writing a probe: the pieces are laid into one buffer on the stack, behind room for the write index. */
int perfume_probe_enabled(const struct perfume_probe *probe)
{
	return listeners(&probe->event) != 0;
}

int perfume_write_payload(struct perfume_probe *probe, const void *payload, size_t n)
{
	uint32_t word = listeners(&probe->event), *packet;

	if (!word)
		return 0;
	if (n > PERFUME_PAYLOAD_MAX)
		return fail(-EMSGSIZE, "the payload is longer than an event can be");
	if (n < probe->event.min_size)
		return fail(-EINVAL, "the payload is shorter than the fields");
	if (n && !payload)
		return fail(-EFAULT, "the payload is NULL");
	packet = __builtin_alloca(sizeof(*packet) + n);
	if (n)
		memcpy(packet + 1, payload, n);
	return event_write(&probe->event, word, packet, n);
}

/* The length of the payload, or a negative errno. Only the last piece may be longer than its field. */
static int measure(const struct perfume_probe *probe, const struct iovec *pieces)
{
	size_t total = 0;
	uint32_t i;

	for (i = 0; i < probe->n_fields; i++) {
		size_t n = pieces[i].iov_len, field = probe->sizes[i];

		if (n < field || (n > field && i + 1 < probe->n_fields))
			return fail(
				-EINVAL, "a piece of the payload has not the size of its field");
		if (n && !pieces[i].iov_base)
			return fail(-EFAULT, "a piece of the payload is NULL");
		total += n;
		if (total > PERFUME_PAYLOAD_MAX)
			return fail(-EMSGSIZE, "the payload is longer than an event can be");
	}
	return (int)total;
}

static int write_pieces(struct perfume_probe *probe, uint32_t word, const struct iovec *pieces)
{
	int n = measure(probe, pieces);
	uint32_t *packet, i;
	char *end;

	if (n < 0)
		return n;
	packet = __builtin_alloca(sizeof(*packet) + (size_t)n);
	end = (char *)(packet + 1);
	for (i = 0; i < probe->n_fields; i++)
		end = mempcpy(end, pieces[i].iov_base, pieces[i].iov_len);
	return event_write(&probe->event, word, packet, (size_t)n);
}

/*
 * An int where a size_t belongs leaves the upper half of what is read undefined; no payload needs
 * that half.
 */
#define TAKE_PIECES(pieces, probe, args)                                                           \
	for (uint32_t i = 0; i < (probe)->n_fields; i++) {                                         \
		(pieces)[i].iov_base = va_arg(args, void *);                                       \
		(pieces)[i].iov_len = (uint32_t)va_arg(args, size_t);                              \
	}

int perfume_write_counted(int count, struct perfume_probe *probe, ...)
{
	uint32_t word = listeners(&probe->event);
	struct iovec *pieces;
	va_list args;

	if (!word)
		return 0;
	if (count < 0 || (uint32_t)count != 2 * probe->n_fields)
		return fail(-EINVAL, "perfume_write takes a pointer and a size for each field");
	pieces = __builtin_alloca(probe->n_fields * sizeof(*pieces));
	va_start(args, probe);
	TAKE_PIECES(pieces, probe, args)
	va_end(args);
	return write_pieces(probe, word, pieces);
}

int(perfume_write)(struct perfume_probe *probe, ...)
{
	uint32_t word = listeners(&probe->event);
	struct iovec *pieces;
	va_list args;

	if (!word)
		return 0;
	pieces = __builtin_alloca(probe->n_fields * sizeof(*pieces));
	va_start(args, probe);
	TAKE_PIECES(pieces, probe, args)
	va_end(args);
	return write_pieces(probe, word, pieces);
}

/* Static events: those of a program, library or plug-in are registered and forgotten together. */
/* Under the lock. */
static void entry_add(struct perfume_file *file, struct perfume_entry *entry)
{
	struct perfume_event *event = entry->event;

	if (event->file || event->error) {
		if (strcmp(event->fields, entry->fields))
			event->error = -EEXIST;
	} else {
		event->error = event_add(file, event);
	}
	/* Nobody can listen to an event whose fields are in doubt. */
	if (event->error < 0 && event->file)
		event_remove(event);
}

void perfume_image_add(struct perfume_entry **start, struct perfume_entry **stop)
{
	struct perfume_entry **entry;
	sigset_t old;
	int saved = errno;

	lock(&old);
	for (entry = start; entry < stop && !(*start)->added; entry++)
		entry_add(&(*start)->file, *entry);
	(*start)->added = 1;
	unlock(&old);
	errno = saved;
}

void perfume_image_remove(struct perfume_entry **start, struct perfume_entry **stop)
{
	struct perfume_entry **entry;
	sigset_t old;
	int saved = errno;

	lock(&old);
	for (entry = start; entry < stop; entry++)
		if ((*entry)->event->file)
			event_remove((*entry)->event);
	(*start)->added = 0;
	unlock(&old);
	errno = saved;
}

uint32_t perfume_event_enabled(const struct perfume_event *event)
{
	return listeners(event);
}

int perfume_event_error(const struct perfume_event *event)
{
	switch (event->error) {
	case 0:
		return 0;
	case -EEXIST:
		return fail(-EEXIST, "two source files of the program give the event other fields");
	}
	return kernel_refuses(event->error);
}

int perfume_event_too_long(void)
{
	return fail(-EMSGSIZE, "the payload is longer than an event can be");
}

int perfume_event_write(struct perfume_event *event, uint32_t word, uint32_t *packet, size_t n)
{
	return event_write(event, word, packet, n);
}

void perfume_activity_new(uint8_t ret_id[16])
{
	static uint64_t counter;
	uint64_t words[2] = {now_ns() << 20 ^ (uint64_t)getpid(),
		__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED)};
	int saved = errno;

	/* Before the kernel's generator is ready, time and number must do. */
	(void)!getrandom(words, sizeof(words), GRND_NONBLOCK);
	memcpy(ret_id, words, sizeof(words));
	ret_id[6] = (uint8_t)((ret_id[6] & 0x0f) | 0x40);
	ret_id[8] = (uint8_t)((ret_id[8] & 0x3f) | 0x80);
	errno = saved;
}
