/* SPDX-License-Identifier: CC0-1.0 */
/*
 * For tests in a guest with user_events: tracefs, and the kernel's interface without the library.
 */
#ifndef KERNEL_H
#define KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define TRACEFS     "/sys/kernel/tracing/"
#define DATA_FILE   TRACEFS "user_events_data"
#define STATUS_FILE TRACEFS "user_events_status"

/* Checks every millisecond for that many seconds, for what the kernel does asynchronously. */
#define WAIT_UNTIL(condition) WAIT_SECONDS(10, condition)
#define WAIT_SECONDS(seconds, condition)                                                           \
	do {                                                                                       \
		int tries_ = 1000 * (seconds);                                                     \
		while (!(condition) && --tries_)                                                   \
			usleep(1000);                                                              \
		if (!tries_)                                                                       \
			fail_msg("still not: %s", #condition);                                     \
	} while (0)

#define skip_whole_test(why)                                                                       \
	do {                                                                                       \
		printf("%s\n", why);                                                               \
		exit(77);                                                                          \
	} while (0)

static inline int put_text_in(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

/* Returns up to a megabyte of a file, NUL-terminated, in memory that the next call overwrites. */
static inline const char *text_of(const char *path)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && got > 0 && n < sizeof(text) - 1) {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	text[n] = 0;
	return text;
}

/* Enables or disables an event of the system user_events. Returns 0 or a negative errno. */
static inline int listen_in_ftrace(const char *event, int on)
{
	char path[512];

	snprintf(path, sizeof(path), TRACEFS "events/user_events/%s/enable", event);
	return put_text_in(path, on ? "1" : "0");
}

static inline void forget_trace(void)
{
	close(open(TRACEFS "trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
}

/* Returns the number of lines of the trace with this text. */
static inline int traced(const char *text)
{
	const char *at = text_of(TRACEFS "trace");
	int n = 0;

	while ((at = strstr(at, text)) != NULL) {
		n++;
		at++;
	}
	return n;
}

static inline int event_exists(const char *event)
{
	char path[512];

	snprintf(path, sizeof(path), TRACEFS "events/user_events/%s", event);
	return !access(path, F_OK);
}

/* How the kernel prints a field of each type. */
struct print_format {
	const char *type, *print;
};

static const struct print_format print_formats[] __attribute__((unused)) = {
	{"__rel_loc char[]", "\"data=%s\", __get_rel_str(data)"},
	{"__data_loc char[]", "\"data=%s\", __get_str(data)"},
	{"s64", "\"data=%lld\", REC->data"},
	{"u64", "\"data=%llu\", REC->data"},
	{"s32", "\"data=%d\", REC->data"},
	{"u32", "\"data=%u\", REC->data"},
	{"int", "\"data=%d\", REC->data"},
	{"unsigned int", "\"data=%u\", REC->data"},
	{"s16", "\"data=%d\", REC->data"},
	{"u16", "\"data=%u\", REC->data"},
	{"short", "\"data=%d\", REC->data"},
	{"unsigned short", "\"data=%u\", REC->data"},
	{"s8", "\"data=%d\", REC->data"},
	{"u8", "\"data=%u\", REC->data"},
	{"char", "\"data=%d\", REC->data"},
	{"unsigned char", "\"data=%u\", REC->data"},
	{"char[4]", "\"data=%s\", REC->data"},
	{0},
};

/* Returns the folder in events/user_events_multi whose format has this field, or "". */
static inline const char *multi_folder(const char *name, const char *field)
{
	static char folder[256];
	char command[512];
	FILE *found;

	snprintf(command, sizeof(command),
		"grep -l ' %s;' " TRACEFS "events/user_events_multi/%s.*/format 2>/dev/null", field,
		name);
	found = popen(command, "r");
	folder[0] = 0;
	if (fgets(folder, sizeof(folder), found))
		folder[strcspn(folder, "\n")] = 0;
	pclose(found);
	return folder;
}

/* Counts and records the event in this thread. */
static inline int open_perf(const char *event, struct perf_event_mmap_page **ret_ring)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	char path[512];
	int perf;

	attr.sample_type = PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	attr.wakeup_events = 1;
	snprintf(path, sizeof(path), TRACEFS "events/user_events/%s/id", event);
	attr.config = strtoull(text_of(path), NULL, 10);
	perf = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	assert_true(perf >= 0);
	*ret_ring = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, perf, 0);
	assert_ptr_not_equal(*ret_ring, MAP_FAILED);
	return perf;
}

#endif
