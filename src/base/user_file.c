/* SPDX-License-Identifier: MIT */
#include "base/user_file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_limit.h"

/* ---- rights ---- */

/* Capabilities with which more files can be opened. */
static const int file_capabilities[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
	CAP_FOWNER, CAP_SYS_ADMIN, CAP_SYS_PTRACE};

static bool get_rights(
	struct __user_cap_header_struct *header, struct __user_cap_data_struct data[2])
{
	*header = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, header, data) == 0;
}

struct user_rights user_rights_drop(void)
{
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
	struct user_rights rights = {0};

	if (!get_rights(&header, data))
		return rights;
	for (int i = 0; i < 2; i++)
		rights.effective[i] = data[i].effective;
	for (size_t i = 0; i < ARRAY_SIZE(file_capabilities); i++)
		data[file_capabilities[i] / 32].effective &= ~(1U << file_capabilities[i] % 32);
	rights.are_less = syscall(SYS_capset, &header, data) == 0;
	return rights;
}

struct user_rights user_rights_begin(void)
{
	return getauxval(AT_SECURE) ? user_rights_drop() : (struct user_rights){0};
}

void user_rights_end(struct user_rights *rights)
{
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
	int error = errno;

	if (rights->are_less && get_rights(&header, data)) {
		for (int i = 0; i < 2; i++)
			data[i].effective = rights->effective[i];
		syscall(SYS_capset, &header, data);
	}
	errno = error;
}

/* ---- files ---- */

int user_file_open(const char *path, int flags)
{
	USER_RIGHTS;

	return TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | flags));
}

int user_file_open_handle(const char *path)
{
	USER_RIGHTS;
	int fd _cleanup_close_ = TEMP_FAILURE_RETRY(open(path, O_PATH | O_CLOEXEC));
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd < 0 || (getauxval(AT_SECURE) && faccessat(AT_FDCWD, link, R_OK, AT_EACCESS) < 0))
		return -1;
	return TAKE_FD(fd);
}

/* O_NONBLOCK: do not block if the path is a FIFO. */
static int open_text(const char *path)
{
	int fd = user_file_open(path, O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? file_limit_fail(errno, "cannot open %s", path) : fd;
}

int user_file_read(const char *path, size_t max, struct buf *b)
{
	int fd _cleanup_close_ = open_text(path);

	return fd < 0 ? fd : file_read_fd(fd, path, max, b);
}

static bool is_readable_by_others(const struct stat *st)
{
	unsigned others = st->st_uid == 0 ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO;

	return S_ISREG(st->st_mode) && st->st_mode & others;
}

int user_file_read_secret(const char *path, size_t max, struct buf *b)
{
	int fd _cleanup_close_ = open_text(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && is_readable_by_others(&st))
		return attar_fail(-EINVAL,
			"%s contains a secret, but other users can read it (mode %04o)" ATTAR_FIX
			"chmod 600 %s",
			CLIP(path), st.st_mode & 0777, CLIP(path));
	return file_read_fd(fd, path, max, b);
}

/*
 * Members of the caller's group are not trusted by root, but with other users' own groups. A pipe
 * of the shell, <(...), belongs to the caller.
 */
static bool is_changed_by_others(const struct stat *st)
{
	unsigned others = geteuid() ? S_IWOTH : S_IWGRP | S_IWOTH;

	return (S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode)) &&
	       ((st->st_uid && st->st_uid != geteuid()) || st->st_mode & others);
}

int user_file_read_config(const char *path, size_t max, struct buf *b)
{
	int fd _cleanup_close_ = open_text(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && is_changed_by_others(&st))
		return attar_fail(-EINVAL,
			"other users can change %s (owner %u, mode %04o)" ATTAR_FIX
			"chown %u %s and chmod go-w %s",
			CLIP(path), st.st_uid, st.st_mode & 0777, geteuid(), CLIP(path),
			CLIP(path));
	(void)fcntl(fd, F_SETFL, 0); /* a pipe of the shell may be empty yet */
	return file_read_fd(fd, path, max, b);
}
