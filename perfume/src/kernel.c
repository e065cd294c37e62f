/* SPDX-License-Identifier: CC0-1.0 */
/* Kernel events: registration, deregistration, writing, and recovery of a lost descriptor. */
#include "internal.h"

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
