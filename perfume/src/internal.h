/* SPDX-License-Identifier: CC0-1.0 */
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

#include "ring.h"

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
