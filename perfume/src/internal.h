/* SPDX-License-Identifier: CC0-1.0 */
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

#include "ring.h"

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
