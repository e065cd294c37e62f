/* SPDX-License-Identifier: CC0-1.0 */
/* Detection of the kernel interface: its location and variant. */
#include "internal.h"

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
