/* SPDX-License-Identifier: CC0-1.0 */
/* Generated from src/ by amalgamate; do not edit. */

/*
 * Internals of libperfume. The source files in src/ form one translation unit: `amalgamate`
 * concatenates them into perfume.c, which is built, tested and copied into programs.
 *
 * Invariants, because the kernel and other processes write to this process's memory:
 * - An enable word that is registered with the kernel is never freed or unmapped (enable_word.c).
 * - The write path takes no lock, allocates nothing, leaves errno alone, and hands the kernel one
 *   contiguous buffer.
 * - Descriptors of user_events_data are kept at high numbers. If a program closes all descriptors,
 *   its next file does not get our number; the library detects the loss and reopens the file
 *   (kernel.c).
 * - The process's lock and state are in a page that is zeroed in a forked child; fork() waits for
 *   the lock (lock.c).
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
#include <sys/prctl.h>
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
 * The memory that a program with events shares with collectors: a sealed memfd, "perfume-1", which
 * the program owns and collectors find through /proc/PID/fd or receive over a socket.
 *
 *	struct area	claims of collectors, heads of rings, slots of events
 *	AREA_DATA	the rings' bytes: ring i at AREA_DATA + i * ring_size
 *
 * A ring has one writer thread, which never waits and overwrites the oldest records. Each collector
 * determines exactly how many events it missed. A collector only writes to its claim, `wanted` of
 * the slots, `read` of the rings, and the lock; no value of these can harm the writer. Collectors
 * validate everything they read, because sizes, positions and strings may be forged.
 */
#ifndef RING_H
#define RING_H

#include <stdint.h>

/*
 * Names by which programs and collectors find each other: the collector's abstract socket and the
 * request files.
 */
#define COLLECTOR_SOCKET   "perfume-%016llx"
#define COLLECTOR_VARIABLE "PERFUME_COLLECTOR" /* request for a program and its children */
#define REQUESTS_OF_ROOT   "/run/perfume-requests"
#define REQUESTS_OF_USER   "/run/user/%u/perfume-requests"

#define AREA_NAME  "perfume-1"
#define AREA_MAGIC 0x3167656d75667270ULL

enum {
	AREA_CLAIMS = 8,
	AREA_RINGS = 256,
	AREA_SLOTS = 32768,
	AREA_MARKS = 16,
	AREA_TEXT = 512,
	/* slot of a record with the tid (u32) of the records that follow; not an event */
	AREA_OWNER = 0xffff,
};

/* A collector's claim. Claim k corresponds to bit k of `wanted`. */
struct area_claim {
	uint64_t id;    /* of the collector, to which areas are sent; 0: free */
	uint64_t lease; /* expiry time: CLOCK_MONOTONIC, ns */
	/* events to enable at registration, such as "order_*,tick"; may be empty */
	char patterns[AREA_TEXT];
};

/*
 * An event. To enable it: set the bit in `wanted`, then store 1 in the second byte of the word in
 * the writer's memory. To disable it: clear the bit; the writer clears the byte when no bit is set.
 */
struct area_slot {
	uint64_t word; /* address of the enable word in the writer */
	uint32_t live; /* 0: deregistered; the address must not be written to */
	uint32_t wanted;
	char text[AREA_TEXT]; /* name, space, fields in the kernel's syntax; constant */
};

/*
 * Positions count bytes since the ring was created; the offset in the ring is position modulo size.
 */
struct area_ring {
	uint64_t reserved; /* bytes up to here may be changing; older than ring_size is lost */
	uint64_t head;     /* records before this position are complete */
	uint64_t count;    /* of events up to head */
	/*
	 * up to here a collector has read, the last one of several: a hint for writers that wait
	 * for it (PERFUME_PACED); 0: never
	 */
	uint64_t read;
	uint64_t unused;
	/*
	 * For each sixteenth of the ring, where reading can begin: the position of an AREA_OWNER
	 * record, and the number of events before it. A sixteenth without one has an old position.
	 */
	struct {
		uint64_t position, count;
	} marks[AREA_MARKS];
} __attribute__((aligned(128)));

enum {
	AREA_CLOCK_UNKNOWN, /* no ring in use yet */
	AREA_CLOCK_MONOTONIC,
	AREA_CLOCK_TSC,     /* of x86-64 */
	AREA_CLOCK_COUNTER, /* cntvct_el0 of arm64 */
};

struct area {
	uint64_t magic;
	uint32_t ring_size; /* a power of two */
	uint32_t clock;     /* of all records */
	uint32_t n_slots;   /* slots in use; never shrinks */
	uint32_t n_rings;
	uint32_t lock; /* held to change `live`, or to check it and write to the word */
	uint32_t pid;  /* in the program's PID namespace; a new child initially has the area, too */
	uint64_t lost; /* events of threads that could not get a ring */
	struct area_claim claims[AREA_CLAIMS];
	struct area_ring rings[AREA_RINGS];
	struct area_slot slots[AREA_SLOTS];
	/* the program's name when it created the area; empty if its library is older */
	char comm[16];
};

#define AREA_DATA ((sizeof(struct area) + 0xffff) & ~(uint64_t)0xffff)

/* Header of a record, at a multiple of 8 bytes; the payload follows. */
struct area_record {
	uint32_t size;    /* of the whole record, a multiple of 8 */
	uint16_t slot;    /* of the event */
	uint16_t padding; /* bytes after the payload, less than 8 */
	uint64_t time;
};

#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define COMMAND_MAX 512  /* kernel limit: name and fields, including the NUL */
#define ARRAY_MAX   1024 /* kernel limit: elements of char[N] */
#define ROOT_MAX    256  /* length of the tracefs mount path */

/* ---- lock.c ---- */

struct home {
	uint32_t lock;    /* 0 free, 1 held, 2 held with waiters */
	uint32_t settled; /* 0 in a forked child that has not reinitialized yet */
};

static inline struct home *home_get(void);
static void lock(sigset_t *ret_old);
static void unlock(const sigset_t *old);

/* ---- kernel structures: linux/user_events.h, and its versions before Linux 6.4 ---- */

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

/* State of the kernel interface. Written with the lock held. */
static struct {
	char root[ROOT_MAX]; /* mount point of the tracefs with user_events; "" if unknown */
	dev_t dev;
	ino_t ino; /* of its user_events_data, to detect replaced descriptors */
	enum perfume_interface interface;
	const volatile uint8_t *status; /* the status page, before Linux 6.4 */
} kernel;

static int open_below(const char *root, const char *file, int flags);
static int open_data_file(void);
static int raise_fd(int fd, int above);

/* ---- kernel.c ---- */

static struct perfume_file *files; /* files with registered events */

/* Called with the lock held. */
static int event_add(struct perfume_file *file, struct perfume_event *event);
static int event_remove(struct perfume_event *event);

/*
 * packet has room for the write index, followed by the payload. Returns the number of payload bytes
 * or a negative errno.
 */
static int event_write(
	struct perfume_event *event, uint32_t word, uint32_t *packet, size_t payload);

/* Returns the enable word, or 0 if the event is disabled. */
static uint32_t listeners(const struct perfume_event *event);

/* The same, and 0 if the collectors that enabled the event have left without disabling it. */
static uint32_t live_listeners(const struct perfume_event *event);

/* ---- area.c and ring.c ---- */

/* This process's state of the memory shared with collectors. Written with the lock held. */
static struct {
	struct area *area; /* NULL: none */
	int fd;
	pid_t pid;
	struct stat stat; /* of the descriptor, to detect that it was replaced */
	uint32_t ring_size, clock;
	uint64_t look_ticks;
	uint64_t searched; /* when a thread found no ring, in clock ticks; 0: never */
	uint32_t fork;     /* fork generation, to detect rings of the parent */
	uint32_t n_slots, n_dead, n_rings;
	uint32_t n_waits; /* waits for the lock, 0.1 ms each */
	uint8_t live[AREA_SLOTS];
	uint8_t tried;
} shared;

/* Called with the lock held. text: name and fields in the kernel's syntax. */
static void ring_add(struct perfume_event *event, const char *text);
static void ring_remove(struct perfume_event *event);
static void area_forked(void); /* called immediately in a forked child */
static void area_fork(void);
static void area_leave(void);
static void rings_forget(void);
static int rings_in_use(void);
static void rings_leave(void);

/*
 * Returns the number of payload bytes, 0 if no collector wants the event any more, or a negative
 * errno.
 */
static __attribute__((noinline)) int ring_write(
	struct perfume_event *event, const void *payload, size_t n);

/* Whether a collector that is alive wants the event; otherwise disables it. No system call. */
static int ring_listens(const struct perfume_event *event);

static uint64_t now_ns(void); /* CLOCK_MONOTONIC */

/* ---- enable_word.c; called with the lock held ---- */

static uint32_t unused_word; /* the word of a deregistered event: always 0 */

static uint32_t *word_new(void);
static void word_free(const uint32_t *word);

/* ---- name.c ---- */

/* Fields in the canonical syntax that all kernels treat as equal: "u32 a; u64 b". */
struct fields {
	size_t n;
	int too_long;
	char text[COMMAND_MAX];
};

/*
 * Appends the fields in `text`, separated by ';'. Returns the size of their values or a negative
 * errno. Types unknown to the kernel (f32, f64, and arrays of numbers such as "u32[4] counts") are
 * described as structs.
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
	uint32_t sizes[]; /* of the field strings; followed by the strings */
};

/* ---- error messages ---- */

static __thread const char *sentence __attribute__((tls_model("initial-exec")));

/* Usage: return fail(-EINVAL, "reason"). perfume_error() returns the reason. */
static inline int fail(int error, const char *why)
{
	sentence = why;
	return error;
}

#endif

/* The lock, which is free in a forked child, and the flag that identifies a forked child. */
static struct home *shared_home;

/*
 * fork() waits for the lock, so that all lists are consistent in the child. The lock is also free
 * in a child that was created without fork().
 */
static sigset_t before_fork; /* signal mask of the forking thread, which holds the lock */

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

	/* Linux before 4.14 has no MADV_WIPEONFORK. */
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
	/*
	 * Do this here without our lock, because older C libraries hold one of their locks while
	 * they call us.
	 */
	pthread_atfork(fork_begins, fork_is_over, fork_in_child);
	return home;
}

static inline __attribute__((always_inline)) struct home *home_get(void)
{
	struct home *home = __atomic_load_n(&shared_home, __ATOMIC_ACQUIRE);

	return likely(home) ? home : home_new();
}

/*
 * Blocks signals, so that a handler that writes an event cannot deadlock on a lock held by its own
 * thread.
 */
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

/* Detection of the kernel interface: its location and variant. */
struct search {
	char root[ROOT_MAX];
	int denied;  /* an existing directory is not accessible */
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

/*
 * Opens user_events_data below root. Returns a negative errno on failure, and records the findings.
 */
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

/*
 * Decodes /proc/self/mounts, where spaces and other special characters are octal escapes like \040.
 */
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

/* Avoids stdio, which allocates memory. Skips lines longer than the buffer. */
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

/* Since Linux 6.4, a sysctl reveals support even without access to tracefs. */
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

/* Returns a new descriptor of user_events_data, or a negative PERFUME_CHECK_*. */
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
 * Distinguishes the three variants without registering an event. Before 6.4, the status file can be
 * mapped, and a registration fails for its size (EINVAL) before it fails for its missing name
 * (EFAULT): the minimum size is 24 bytes in 5.18 and 20 bytes since 6.0. Since 6.4, there is an
 * unregister ioctl, which fails with ENOENT.
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

/* Moves a descriptor above `above`, away from descriptors of the program; see internal.h. */
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

/*
 * Returns a descriptor of a known variant, or a negative PERFUME_CHECK_*. Called with the lock
 * held.
 */
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
		[PERFUME_CHECK_OK] = "user_events are available",
		[PERFUME_CHECK_NO_KERNEL_SUPPORT] =
			"this kernel has no user_events: they require Linux 6.4 or newer with "
			"CONFIG_USER_EVENTS=y",
		[PERFUME_CHECK_NO_TRACEFS] = "tracefs is not mounted: as root, mount -t tracefs "
					     "nodev /sys/kernel/tracing",
		[PERFUME_CHECK_NO_PERMISSION] =
			"no permission to write user_events_data: run as root, or let root give "
			"this user search permission for the tracefs directory and write "
			"permission for the file",
		[PERFUME_CHECK_UNKNOWN_INTERFACE] = "this kernel's user_events interface is "
						    "unknown to this version of perfume: "
						    "update perfume",
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

/* Kernel events: registration, deregistration, writing, and recovery of a lost descriptor. */
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
		return fail(error, "the kernel rejected the event's name or one of its fields");
	case -EADDRINUSE:
		return fail(error, "the event exists with different fields: use another name, or a "
				   "context with PERFUME_MULTI_FORMAT");
	case -EMFILE:
		return fail(error, "the kernel's user_events table is full: raise the sysctl "
				   "kernel.user_events_max");
	case -ENOMEM:
		return fail(error, "out of memory");
	}
	return fail(error, "the kernel rejected the registration of the event");
}

/* Drops flags that this kernel does not support (EINVAL) or this process may not use (EPERM). */
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

/*
 * The status page is read-only and shared by all processes, so the word only indicates that it must
 * be checked.
 */
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

/* Formats name and fields in the kernel's syntax. Returns 0 or a negative errno. */
static int spell(const struct perfume_event *event, char command[COMMAND_MAX])
{
	struct fields fields = {0};
	int size = put_fields(&fields, event->fields);

	if (size < 0)
		return size;
	if (size > PERFUME_PAYLOAD_MAX)
		return fail(-EINVAL, "the fields are longer than 4000 bytes");
	if (strlen(event->name) + !!fields.n + fields.n >= COMMAND_MAX)
		return fail(-EINVAL, "name and fields are longer than the kernel's 511 bytes");
	strcpy(command, event->name);
	if (fields.n)
		strcpy(stpcpy(command + strlen(command), " "), fields.text);
	return 0;
}

/* Returns 0, also without a kernel interface, or the negative errno of the registration. */
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

/*
 * Works with any descriptor of user_events_data. Returns true if the kernel no longer writes to the
 * word.
 */
static int kernel_forget(int fd, const struct perfume_event *event)
{
	struct user_unreg unreg = {.size = sizeof(unreg), .disable_addr = (uintptr_t)event->word};

	if (kernel.interface != PERFUME_INTERFACE_ENABLE_WORDS)
		return 1;
	return !ioctl(fd, DIAG_IOCSUNREG, &unreg) || errno == ENOENT;
}

/*
 * The program closed our descriptor, perhaps with all others. The enable words belong to the
 * process and are still registered; only the write indices are lost. Async-signal-safe.
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
 * Reinitializes a forked child before it accesses an event. Enable words, descriptors and write
 * indices are inherited and stay valid, unless the child closed the descriptors; then it registers
 * the events again. The shared memory belongs to the parent; if a signal handler forked in the
 * middle of a record, that record is completed first. Returns false if reinitialization is still
 * pending. Called with the lock held.
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

/* Returns 0 or a negative errno; on failure, the caller removes the event. */
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

/* Returns true if the event's word is no longer written to by the kernel or collectors. */
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

static uint32_t live_listeners(const struct perfume_event *event)
{
	const uint32_t asked = PERFUME_WORD_RING | PERFUME_WORD_STATUS;
	uint32_t word = listeners(event);

	if (likely(!(word & PERFUME_WORD_RING)) || word & ~asked || ring_listens(event) ||
		kernel_listens(event, word))
		return word;
	return 0;
}

/*
 * EBADF means that the event is disabled or that the descriptor was closed. Returns true if the
 * descriptor was reopened.
 */
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

/*
 * write(2) without a cancellation point. Returns bytes or a negative errno; does not modify errno.
 */
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

/* The program may have closed the descriptor. Returns the result of a second write, or -EBADF. */
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

/* At dlclose and exit: unregisters all enable words from the kernel. */
__attribute__((destructor)) static void leave(void)
{
	struct perfume_event *event;
	sigset_t old;
	int open;

	lock(&old);
	/* A child that has not reinitialized must not write to its parent's area. */
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

/*
 * The memory area shared with collectors: creates it, fills it with events, and sends it to
 * collectors.
 */
#define LEASE_AT_FIRST                                                                             \
	5000000000ULL /* ns; until the collector receives the area and renews the lease */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Rings are used if user_events are unavailable. PERFUME_RING=0 disables them, 1 always enables
 * them. Libraries that are preloaded are compiled with PERFUME_PACED: the variables of a program
 * are not for them.
 */
static int area_is_wanted(void)
{
#ifdef PERFUME_PACED
	return 1;
#endif
	const char *text = secure_getenv("PERFUME_RING");

	if (text && *text)
		return *text != '0';
	return kernel.interface == PERFUME_INTERFACE_NONE ||
	       kernel.interface == PERFUME_INTERFACE_UNKNOWN;
}

/* Ring size in bytes: 1 MiB by default, or PERFUME_RING_KB, a power of two from 64 to 65536. */
static uint32_t ring_size(void)
{
#ifdef PERFUME_PACED
	const char *text = NULL;
#else
	const char *text = secure_getenv("PERFUME_RING_KB");
#endif
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

	/* Exceeding `ulimit -f` raises a fatal signal. Unused pages take no memory. */
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
	prctl(PR_GET_NAME, shared.area->comm);
	__atomic_store_n(&shared.area->magic, AREA_MAGIC, __ATOMIC_RELEASE);
	return area;
}

/* The program may have closed our descriptor and reused its number for another file. */
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

/* Only root and this user may read. Any user can bind the socket name of a killed collector. */
static int may_collect(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (!peer.uid || peer.uid == geteuid());
}

/* Sends the area to the collector with that id. Returns false if the collector has exited. */
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
		/* A full queue does not mean that it has exited; it will find us in /proc. */
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

/* A request is a line: the collector's id as 16 hexadecimal digits, a colon, and patterns. */
static void take_requests(const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (end - line > 17 && line[16] == ':')
			claim(strtoull(line, NULL, 16), line + 17, (size_t)(end - line) - 17);
	}
}

/* Reads the request files of root and of this user only. */
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
	read_requests(REQUESTS_OF_ROOT, 0);
	snprintf(path, sizeof(path), REQUESTS_OF_USER, (unsigned)user);
	read_requests(path, user);
}

/* Returns whether `name` matches one of the patterns, which are in volatile memory. */
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
 * A collector holds the lock for microseconds. Do not wait long for a stopped collector, and at
 * most one second in total, because a collector can take the lock any number of times.
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

/* Returns the previous slot of the same event, a free slot, or NULL. */
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
 * Called immediately in a forked child. If a signal handler forked in the middle of a record, the
 * child completes that record when the handler returns, but must not write to the parent's memory.
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

/* ---- fork and exit ---- */

/* The child inherits the parent's collectors. */
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

/* Maps the `wanted` bits of the parent's area to the bits of the child's area. */
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

/* Copies an event of the parent's area to the same slot of the child's area. */
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

/* Creates the area of a forked child. Called with the lock held. */
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
 * Releases the memory at exit. Called with the lock held. Records that other threads are writing at
 * this time are discarded. Collectors keep their mappings.
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
 * Writing to the rings. Each thread has its own ring, and another one for a signal handler that
 * interrupts it in the middle of a record, so that a ring never has concurrent writers.
 */
#define LEVELS 3 /* the thread, a handler in it, a handler in that */

/* Private state of a ring's writer; shared memory is untrusted. */
struct ring {
	unsigned char *data; /* mapped twice, so that records are contiguous at the end */
	struct area_ring *seen;
	/*
	 * Head and count change together, by `current`: the writer may leave a record unfinished
	 * at any instruction, see depth_now().
	 */
	struct {
		uint64_t head, count;
	} done[2];
	uint32_t current;
	pid_t owner;
	uint64_t looked; /* time of the last check of the claims, in clock ticks */
	uint64_t stuck;  /* 1 + `read` of the ring when a wait for it was given up; 0: none */
	uint32_t alive;  /* the collectors that were alive then */
};

static struct ring rings[AREA_RINGS];

static __thread struct {
	struct ring *ring[LEVELS];
	uint32_t fork;             /* fork generation of the process that owns the rings */
	uint32_t depth;            /* records that are being written */
	uint32_t refused;          /* 1: there was no ring for this thread */
	const char *frame[LEVELS]; /* an address in the stack frame that writes the record */
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

/* The TSC is reliable if the kernel uses it as its clock source. */
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

/* ---- ring allocation ---- */

/* Returns whether this code runs in a signal handler that interrupted the writing of a record. */
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
	shared.searched = 0;
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

/* Returns a ring whose thread has exited, otherwise a new one, otherwise NULL. */
static struct ring *find_ring(void)
{
	struct ring *ring;
	uint32_t i;

	for (i = 0; i < shared.n_rings; i++)
		if (syscall(SYS_tgkill, shared.pid, rings[i].owner, 0) < 0 && errno == ESRCH)
			return &rings[i];
	if (i == AREA_RINGS)
		return NULL;
	if (!i) {
		shared.clock = choose_clock();
		shared.look_ticks = ticks_between_looks(shared.clock);
	}
	ring = &rings[i];
	ring->data = map_twice(i);
	if (!ring->data)
		return NULL;
	ring->seen = &shared.area->rings[i];
	shared.n_rings++;
	shared.area->clock = shared.clock;
	__atomic_store_n(&shared.area->n_rings, shared.n_rings, __ATOMIC_RELEASE);
	return ring;
}

/* ---- records ---- */

static void put_mark(struct area_ring *seen, uint64_t position, uint64_t count, uint32_t sixteenth)
{
	/*
	 * A reader that sees the new position also sees the new count, or detects that the position
	 * changed.
	 */
	__atomic_store_n(&seen->marks[sixteenth].position, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	seen->marks[sixteenth].count = count;
	__atomic_store_n(&seen->marks[sixteenth].position, position, __ATOMIC_RELEASE);
}

#define OWNER_SIZE (sizeof(struct area_record) + 8)

/* Writes the tid of the records that follow. This is not an event and not counted. */
static void put_owner(struct ring *ring, uint64_t position)
{
	struct area_record head = {OWNER_SIZE, AREA_OWNER, 8 - sizeof(ring->owner), 0};
	unsigned char *at = ring->data + (position & (shared.ring_size - 1));

	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &ring->owner, sizeof(ring->owner));
}

/* Announces that the bytes up to `end` change. */
static void reserve(struct ring *ring, uint64_t end)
{
	__atomic_store_n(&ring->seen->reserved, end, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void publish(struct ring *ring, uint64_t head, uint64_t count)
{
	uint32_t next = !ring->current;

	ring->done[next].head = head;
	ring->done[next].count = count;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ring->current = next;
	__atomic_store_n(&ring->seen->count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->seen->head, head, __ATOMIC_RELEASE);
}

static void put_record(
	struct ring *ring, uint16_t slot, const void *payload, size_t n, uint64_t time)
{
	uint32_t padding = (uint32_t)-n & 7, part = shared.ring_size / AREA_MARKS;
	uint64_t start = ring->done[ring->current].head;
	uint64_t count = ring->done[ring->current].count + 1;
	uint64_t end = start + sizeof(struct area_record) + n + padding;
	unsigned char *at = ring->data + (start & (shared.ring_size - 1));
	struct area_record head = {(uint32_t)(end - start), slot, (uint16_t)padding, time};

	reserve(ring, end + OWNER_SIZE);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), payload, n);
	if (unlikely((end ^ start) & ~(uint64_t)(part - 1))) {
		put_mark(ring->seen, end, count, (uint32_t)(end / part % AREA_MARKS));
		put_owner(ring, end);
		end += OWNER_SIZE;
	}
	publish(ring, end, count);
}

/* ---- the ring of this thread ---- */

static void take_over(struct ring *ring)
{
	uint64_t head = ring->done[ring->current].head;

	ring->owner = (pid_t)syscall(SYS_gettid);
	reserve(ring, head + OWNER_SIZE);
	put_owner(ring, head);
	publish(ring, head + OWNER_SIZE, ring->done[ring->current].count);
}

/*
 * Returns whether this thread should do without a ring: all were taken when the last thread
 * searched for one. A search is a system call for each ring, so that threads without a ring share
 * one in a fifth of a second. The first search of a thread does not wait.
 */
static int rings_were_taken(void)
{
	uint64_t searched = __atomic_load_n(&shared.searched, __ATOMIC_RELAXED);

	return mine.refused && mine.fork == shared.fork && searched &&
	       ticks(shared.clock) - searched < shared.look_ticks;
}

static struct ring *search_ring(void)
{
	struct ring *ring;

	/*
	 * A vfork child shares the memory of the waiting parent thread and must not leave a ring in
	 * it.
	 */
	if (getpid() != shared.pid)
		return NULL;
	ring = find_ring();
	mine.refused = !ring;
	if (ring)
		take_over(ring);
	else
		__atomic_store_n(&shared.searched, ticks(shared.clock), __ATOMIC_RELAXED);
	return ring;
}

static __attribute__((noinline, cold)) struct ring *get_ring(uint32_t level)
{
	struct ring *ring;
	int saved = errno;
	sigset_t old;

	if (rings_were_taken())
		return NULL;
	lock(&old);
	if (mine.fork != shared.fork) {
		memset(mine.ring, 0, sizeof(mine.ring));
		mine.fork = shared.fork;
	}
	ring = mine.ring[level];
	if (!ring && !rings_were_taken())
		ring = mine.ring[level] = search_ring();
	unlock(&old);
	errno = saved;
	return ring;
}

/*
 * Returns how many records are being written, if the thread was interrupted in the middle of
 * `depth` records. A signal handler that leaves with siglongjmp() never returns to the record that
 * it interrupted: the stack frame that wrote it is gone if the current frame is above it. On an
 * alternate signal stack, addresses do not say this, and the records count as being written.
 */
static __attribute__((noinline, cold)) uint32_t depth_now(uint32_t depth, const char *here)
{
	uint32_t n = depth < LEVELS ? depth : LEVELS, i;
	stack_t stack;

	for (i = 0; i < n && here < mine.frame[i]; i++)
		;
	if (i == n || sigaltstack(NULL, &stack) || stack.ss_flags & SS_ONSTACK)
		return depth;
	return i;
}

/* ---- writing ---- */

/*
 * Returns the collectors with a valid lease, so that a killed collector does not cause permanent
 * overhead.
 */
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
 * Removes exited collectors from `wanted` and returns the rest. If none remains, disables the
 * event, unless a collector is just being added: it sets `wanted` first, then the word.
 */
static __attribute__((noinline, cold)) uint32_t drop(
	const struct perfume_event *event, struct area_slot *slot, uint32_t dead)
{
	uint32_t wanted = __atomic_and_fetch(&slot->wanted, ~dead, __ATOMIC_SEQ_CST);
	uint32_t *word = __atomic_load_n(&event->word, __ATOMIC_RELAXED);

	if (!wanted && word != &unused_word) {
		__atomic_fetch_and(word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_SEQ_CST);
		wanted = __atomic_load_n(&slot->wanted, __ATOMIC_SEQ_CST);
		if (wanted)
			__atomic_fetch_or(word, PERFUME_WORD_RING, __ATOMIC_RELAXED);
	}
	return wanted & ~dead;
}

/* The coarse clock needs no system call. */
static uint32_t with_valid_lease(uint32_t wanted)
{
	struct timespec coarse;
	uint32_t alive = 0, k;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
	now = (uint64_t)coarse.tv_sec * 1000000000 + (uint64_t)coarse.tv_nsec;
	for (k = 0; k < AREA_CLAIMS && wanted >> k; k++)
		if (wanted >> k & 1 &&
			__atomic_load_n(&shared.area->claims[k].lease, __ATOMIC_RELAXED) > now)
			alive |= 1u << k;
	return alive;
}

static int ring_listens(const struct perfume_event *event)
{
	uint32_t at = __atomic_load_n(&event->slot, __ATOMIC_RELAXED), wanted;
	struct area_slot *slot;

	if (!at)
		return 0;
	slot = &shared.area->slots[at - 1];
	wanted = __atomic_load_n(&slot->wanted, __ATOMIC_ACQUIRE);
	if (with_valid_lease(wanted))
		return 1;
	/* A child that has not reinitialized must not write to its parent's area. */
	return home_get()->settled && drop(event, slot, wanted);
}

/* Returns whether a collector that is alive wants the event. */
static __attribute__((noinline, cold)) int is_still_wanted(const struct perfume_event *event,
	struct area_slot *slot, struct ring *ring, uint32_t wanted, uint64_t now)
{
	look(ring, now);
	return !(wanted & ~ring->alive) || drop(event, slot, wanted & ~ring->alive);
}

/*
 * With PERFUME_PACED, events are not overwritten before a collector that keeps reading has read
 * them: the writer waits for it when the ring is nearly full. It gives up when the collector has
 * read nothing for two seconds, until it reads again.
 */
#ifdef PERFUME_PACED
#define READER_WAIT 2000000000ULL /* ns */

static __attribute__((noinline, cold)) void wait_for_reader(struct ring *ring, uint64_t head)
{
	const struct timespec nap = {.tv_nsec = 50000};
	uint64_t read = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED), since = now_ns(), now;

	if (read + 1 == ring->stuck)
		return;
	while (head - read > shared.ring_size / 2) {
		nanosleep(&nap, NULL);
		now = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED);
		if (now != read)
			since = now_ns();
		else if (now_ns() - since > READER_WAIT)
			break;
		read = now;
	}
	ring->stuck = head - read > shared.ring_size / 2 ? read + 1 : 0;
}

static inline void pace(struct ring *ring)
{
	const uint64_t head = ring->done[ring->current].head;
	const uint64_t read = __atomic_load_n(&ring->seen->read, __ATOMIC_RELAXED);

	if (unlikely(head - read > shared.ring_size / 4 * 3))
		wait_for_reader(ring, head);
}
#else
static inline void pace(struct ring *ring)
{
	(void)ring;
}
#endif

static inline __attribute__((always_inline)) int write_at_level(
	struct perfume_event *event, uint32_t at, uint32_t level, const void *payload, size_t n)
{
	struct area_slot *slot = &shared.area->slots[at];
	uint32_t wanted = __atomic_load_n(&slot->wanted, __ATOMIC_ACQUIRE);
	struct ring *ring = level < LEVELS ? mine.ring[level] : NULL;
	uint64_t now;

	if (unlikely(!wanted)) {
		drop(event, slot, 0);
		return 0;
	}
	if (unlikely(!ring || mine.fork != shared.fork))
		ring = level < LEVELS ? get_ring(level) : NULL;
	if (unlikely(!ring)) {
		__atomic_fetch_add(&shared.area->lost, 1, __ATOMIC_RELAXED);
		return -ENOBUFS;
	}
	now = ticks(shared.clock);
	if (unlikely(wanted & ~ring->alive || now - ring->looked > shared.look_ticks) &&
		!is_still_wanted(event, slot, ring, wanted, now))
		return 0;
	pace(ring);
	put_record(ring, (uint16_t)at, payload, n, now);
	return (int)n;
}

static int ring_write(struct perfume_event *event, const void *payload, size_t n)
{
	/* Another thread may deregister the event meanwhile. */
	uint32_t slot = __atomic_load_n(&event->slot, __ATOMIC_RELAXED), level = mine.depth;
	char here = 0;
	int ret;

	if (unlikely(!slot))
		return 0;
	if (unlikely(level))
		level = depth_now(level, &here);
	if (likely(level < LEVELS))
		mine.frame[level] = &here;
	mine.depth = level + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = write_at_level(event, slot - 1, level, payload, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine.depth = level;
	return ret;
}

/*
 * Allocator of enable words. Its memory is never unmapped, and a word is reused only after the
 * kernel has unregistered it, because the kernel writes to the address of a registered word at any
 * time.
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

/* Validation of names and fields, and their syntax for the kernel. */
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
		reason = "the name contains a ':', after which the kernel expects flags";
	else if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		reason = "the name contains '/' or is '.' or '..', which a directory in tracefs "
			 "cannot have";
	for (none = name; !reason && *none; none++)
		if ((unsigned char)*none <= ' ' || *none == 0x7f)
			reason = "the name contains a space or a control character";
	if (!reason)
		ret = PERFUME_NAME_OK;
	if (!reason && (name[strspn(name, plain)] || isdigit((unsigned char)*name))) {
		ret = PERFUME_NAME_RISKY;
		reason = "the kernel accepts the name, but tools expect letters, digits and '_': "
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

/*
 * Parses a number of at most 7 characters up to `end`, as the kernel does. Returns -1 if it is
 * invalid.
 */
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
		return fail(-EINVAL,
			"the kernel does not support 'float' and 'double': use f32 and f64");
	if (word_is(field, i, "long"))
		return fail(-EINVAL,
			"the kernel does not support 'long', whose size varies: use s64 or u64");
	return fail(-EINVAL,
		"a field has an unknown type: use s8 to s64, u8 to u64, f32 or f64, an array of "
		"these, char[N], int, short, char, __rel_loc, __data_loc or struct");
}

struct type {
	const char *name;
	int size;
	int of_c;    /* allowed after "unsigned" */
	int foreign; /* unknown to the kernel: described as a struct */
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

/*
 * Returns the size of the type at word i, or a negative errno. *ret_length is N for an array of a
 * type other than char.
 */
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
		return fail(-EINVAL, "the length of an array must be a number from 1 to 1024");
	if (strncmp(text, "char", 4)) {
		if (type->of_c)
			return no_such_type(field, i);
		*ret_length = length;
	}
	return (int)length * type->size;
}

/*
 * Returns the size of the field's value, or a negative errno. *ret_length as above; 0: the kernel
 * supports the type.
 */
static int field_size(const struct field *field, long *ret_length)
{
	unsigned dynamic = word_is(field, 0, "__data_loc") || word_is(field, 0, "__rel_loc");
	unsigned is_unsigned = word_is(field, dynamic, "unsigned") != 0;
	long n;

	if (word_is(field, 0, "struct")) {
		n = field->n == 4 ? number(field->word[3], field->size[3], 10, 0) : -1;
		if (n < 1 || n > PERFUME_PAYLOAD_MAX)
			return fail(-EINVAL,
				"the syntax of a struct field is 'struct NAME field SIZE'");
		return (int)n;
	}
	if (field->n != dynamic + is_unsigned + 2)
		return fail(-EINVAL, "the syntax of a field is 'TYPE NAME'");
	if (dynamic)
		return (int)sizeof(uint32_t);
	return basic_size(field, is_unsigned, (int)is_unsigned, ret_length);
}

/* Parses the words up to the next ';'. Returns the end, or NULL if there are too many words. */
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
			return fail(-EINVAL, "the syntax of a field is 'TYPE NAME'");
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
	return sentence ? sentence : "no error";
}

struct perfume_ctx *perfume_init(int flags)
{
	struct perfume_ctx *ctx;

	if (flags & ~(PERFUME_MULTI_FORMAT | PERFUME_PERSIST)) {
		fail(-EINVAL,
			"perfume_init: unknown flags; the valid ones are PERFUME_MULTI_FORMAT and "
			"PERFUME_PERSIST");
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

/*
 * Allocates an unregistered probe with its texts. Returns NULL and sets the error message on
 * failure.
 */
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
	probe->event.word = &unused_word;
	probe->event.fields = memcpy(text, fields->text, fields->n + 1);
	probe->event.name = strcpy(text + fields->n + 1, name);
	return probe;
}

/* Called with the lock held. */
static void probe_remove(struct perfume_probe *probe)
{
	uint32_t *word = probe->event.word;
	int forgotten = event_remove(&probe->event);

	__atomic_store_n(&probe->event.word, &unused_word, __ATOMIC_RELEASE);
	if (forgotten)
		word_free(word);
}

/* Called with the lock held. */
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
		return refuse(fail(-EINVAL, ctx ? reason : "the context is NULL"));
	if (n > sizeof(sizes) / sizeof(sizes[0]))
		return refuse(fail(-EINVAL, "the fields are longer than the kernel's 511 bytes"));
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
		return refuse(fail(-EINVAL, "the fields are longer than the kernel's 511 bytes"));
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
		return fail(-EINVAL, "the probe does not belong to this context");
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

/*
 * Writing a probe: the values are copied to one buffer on the stack, after room for the write
 * index.
 */
int perfume_probe_enabled(const struct perfume_probe *probe)
{
	return live_listeners(&probe->event) != 0;
}

int perfume_write_payload(struct perfume_probe *probe, const void *payload, size_t n)
{
	uint32_t word = listeners(&probe->event), *packet;

	if (!word)
		return 0;
	if (n > PERFUME_PAYLOAD_MAX)
		return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
	if (n < probe->event.min_size)
		return fail(-EINVAL, "the payload is shorter than the fields");
	if (n && !payload)
		return fail(-EFAULT, "the payload is NULL");
	packet = __builtin_alloca(sizeof(*packet) + n);
	if (n)
		memcpy(packet + 1, payload, n);
	return event_write(&probe->event, word, packet, n);
}

/*
 * Returns the length of the payload, or a negative errno. Only the last value may be longer than
 * its field.
 */
static int measure(const struct perfume_probe *probe, const struct iovec *pieces)
{
	size_t total = 0;
	uint32_t i;

	for (i = 0; i < probe->n_fields; i++) {
		size_t n = pieces[i].iov_len, field = probe->sizes[i];

		if (n < field || (n > field && i + 1 < probe->n_fields))
			return fail(-EINVAL, "a value does not have the size of its field");
		if (n && !pieces[i].iov_base)
			return fail(-EFAULT, "a value is a NULL pointer");
		total += n;
		if (total > PERFUME_PAYLOAD_MAX)
			return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
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
 * If the caller passes an int instead of a size_t, the upper half of the value is undefined; no
 * payload needs that half.
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

/*
 * Static events: the events of a program, library or plug-in are registered and deregistered
 * together.
 */
/* Called with the lock held. */
static void entry_add(struct perfume_file *file, struct perfume_entry *entry)
{
	struct perfume_event *event = entry->event;

	if (event->file || event->error) {
		if (strcmp(event->fields, entry->fields))
			event->error = -EEXIST;
	} else {
		event->error = event_add(file, event);
	}
	/* An event with conflicting fields cannot be enabled. */
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
	return live_listeners(event);
}

int perfume_event_error(const struct perfume_event *event)
{
	switch (event->error) {
	case 0:
		return 0;
	case -EEXIST:
		return fail(-EEXIST,
			"source files of the program declare the event with different fields");
	}
	return kernel_refuses(event->error);
}

int perfume_event_too_long(void)
{
	return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
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

	/*
	 * Fall back to the time and a counter until the kernel's random number generator is ready.
	 */
	(void)!getrandom(words, sizeof(words), GRND_NONBLOCK);
	memcpy(ret_id, words, sizeof(words));
	ret_id[6] = (uint8_t)((ret_id[6] & 0x0f) | 0x40);
	ret_id[8] = (uint8_t)((ret_id[8] & 0x3f) | 0x80);
	errno = saved;
}
