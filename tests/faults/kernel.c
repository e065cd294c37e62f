/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: perf_event_open(2) as in another kernel, in the program itself and not in programs
 * that it starts.
 *
 *     FAULT_KERNEL=4.4   like that version: attributes up to its size (else E2BIG, and the size is
 *                        written back), its flags, sample types and read formats (else EINVAL), and
 *                        its version in uname(2)
 *     FAULT_OPEN=16@3    the 3rd call fails with errno 16; 16@3+: all from the 3rd on
 *     FAULT_GUESTS=1     events that count guests fail with EOPNOTSUPP, as beside a mediated vPMU
 *     FAULT_TYPE=0       FAULT_OPEN and FAULT_GUESTS concern events of that type only
 *     FAULT_HITS=0       breakpoints have no effect: they are at an address without memory
 *     FAULT_OUTPUT=1     events that share another one's ring write nowhere: they are counted, not
 *                        delivered
 *     FAULT_DELAY=100    each call takes that many milliseconds, even if signals arrive
 *     FAULT_ENABLE=100   and each ioctl(2) that enables an event
 *     FAULT_DISABLE=100  or disables one
 *
 * Source of the limits: include/uapi/linux/perf_event.h of each version, perf_copy_attr() and
 * perf_event_alloc() in kernel/events/core.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define EXPORT             __attribute__((visibility("default")))
#define VERSION(a, b)      ((a)*1000 + (b))
#define FLAGS_OF(attr)     (((const uint64_t *)(attr))[5])
#define GROUP_OF_INHERITED VERSION(4, 13)

/* A limit since a version; the last one that applies is used. */
struct since {
	unsigned version, value;
};

static const struct since sizes[] = {{0, 96}, {VERSION(3, 19), 104}, {VERSION(4, 1), 112},
	{VERSION(5, 5), 120}, {VERSION(5, 13), 128}, {VERSION(6, 3), 136}, {VERSION(7, 0), 144}};
static const struct since flags[] = {{0, 23}, {VERSION(3, 16), 25}, {VERSION(4, 1), 26},
	{VERSION(4, 3), 27}, {VERSION(4, 7), 28}, {VERSION(4, 12), 29}, {VERSION(5, 1), 31},
	{VERSION(5, 4), 32}, {VERSION(5, 7), 33}, {VERSION(5, 9), 34}, {VERSION(5, 12), 35},
	{VERSION(5, 13), 38}, {VERSION(6, 19), 40}};
static const struct since samples[] = {{0, 14}, {VERSION(3, 10), 16}, {VERSION(3, 12), 17},
	{VERSION(3, 13), 18}, {VERSION(3, 19), 19}, {VERSION(4, 14), 20}, {VERSION(5, 5), 21},
	{VERSION(5, 7), 22}, {VERSION(5, 11), 24}, {VERSION(5, 12), 25}};
static const struct since reads[] = {{0, 4}, {VERSION(6, 0), 5}};

static unsigned kernel, fail_errno, fail_at, opened, delay_ms, enable_ms, disable_ms;
static int fail_type = -1;
static bool fail_on, no_output, no_guests, no_hits;
static char release[32];

static __attribute__((constructor)) void begin(void)
{
	const char *version = getenv("FAULT_KERNEL"), *open = getenv("FAULT_OPEN"),
		   *type = getenv("FAULT_TYPE"), *delay = getenv("FAULT_DELAY"),
		   *enable = getenv("FAULT_ENABLE"), *disable = getenv("FAULT_DISABLE");
	unsigned major, minor;
	char on = 0;

	no_output = getenv("FAULT_OUTPUT") != NULL;
	no_guests = getenv("FAULT_GUESTS") != NULL;
	no_hits = getenv("FAULT_HITS") != NULL;
	unsetenv("LD_PRELOAD");
	if (version && sscanf(version, "%u.%u", &major, &minor) == 2) {
		kernel = VERSION(major, minor);
		snprintf(release, sizeof(release), "%s.0", version);
	}
	if (open && sscanf(open, "%u@%u%c", &fail_errno, &fail_at, &on) >= 2)
		fail_on = on == '+';
	if (type)
		fail_type = atoi(type);
	if (delay)
		delay_ms = (unsigned)atoi(delay);
	if (enable)
		enable_ms = (unsigned)atoi(enable);
	if (disable)
		disable_ms = (unsigned)atoi(disable);
}

#define LIMIT(table) limit(table, sizeof(table) / sizeof(*(table)))

static unsigned limit(const struct since *table, size_t n)
{
	unsigned value = table->value;

	for (size_t i = 0; i < n && table[i].version <= kernel; i++)
		value = table[i].value;
	return value;
}

static bool is_beyond(uint64_t bits, unsigned known)
{
	return bits >> known;
}

/* Returns 0, or the errno of a kernel of that version. */
static int refuses(struct perf_event_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;
	unsigned known = LIMIT(sizes);

	for (unsigned i = known; i < attr->size; i++)
		if (bytes[i]) {
			attr->size = known;
			return E2BIG;
		}
	if (is_beyond(FLAGS_OF(attr), LIMIT(flags)) ||
		is_beyond(attr->sample_type, LIMIT(samples)) ||
		is_beyond(attr->read_format, LIMIT(reads)))
		return EINVAL;
	if (kernel < GROUP_OF_INHERITED && attr->inherit && attr->read_format & PERF_FORMAT_GROUP)
		return EINVAL;
	return 0;
}

static bool fails_now(const struct perf_event_attr *attr)
{
	if (!fail_at || (fail_type >= 0 && attr->type != (unsigned)fail_type))
		return false;
	opened++;
	return opened == fail_at || (opened > fail_at && fail_on);
}

static bool has_refused_guests(const struct perf_event_attr *attr)
{
	return no_guests && !attr->exclude_guest &&
	       (fail_type < 0 || attr->type == (unsigned)fail_type);
}

static void misplace_breakpoint(struct perf_event_attr *attr)
{
	if (no_hits && attr->type == PERF_TYPE_BREAKPOINT)
		attr->bp_addr = 0x1000;
}

static void delay(unsigned ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

EXPORT long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;
	int error = 0;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open && delay_ms)
		delay(delay_ms);
	if (number == SYS_perf_event_open && kernel)
		error = refuses((struct perf_event_attr *)a[0]);
	if (number == SYS_perf_event_open && !error &&
		fails_now((const struct perf_event_attr *)a[0]))
		error = (int)fail_errno;
	if (number == SYS_perf_event_open && !error &&
		has_refused_guests((const struct perf_event_attr *)a[0]))
		error = EOPNOTSUPP;
	if (error) {
		errno = error;
		return -1;
	}
	if (number == SYS_perf_event_open)
		misplace_breakpoint((struct perf_event_attr *)a[0]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (!real)
		real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if (request == PERF_EVENT_IOC_SET_OUTPUT && no_output)
		return 0;
	if (request == PERF_EVENT_IOC_ENABLE && enable_ms)
		delay(enable_ms);
	if (request == PERF_EVENT_IOC_DISABLE && disable_ms)
		delay(disable_ms);
	return real(fd, request, argument);
}

EXPORT int uname(struct utsname *name)
{
	static int (*real)(struct utsname *);
	int r;

	if (!real)
		real = (int (*)(struct utsname *))dlsym(RTLD_NEXT, "uname");
	r = real(name);
	if (r == 0 && kernel)
		strcpy(name->release, release);
	return r;
}
