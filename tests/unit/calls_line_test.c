/* SPDX-License-Identifier: MIT */
/* System calls as lines; the expected ones are what strace 6.1 prints. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "profilers/calls/line.h"

#define MEMORY(text_)                                                                              \
	{                                                                                          \
		.at = (text_), .n = sizeof(text_) - 1                                              \
	}

#define BYTES(object_)                                                                             \
	{                                                                                          \
		.at = (const char *)&(object_), .n = sizeof(object_)                               \
	}

static struct calls_line line = {.at = (char[1024]){0}, .max = 1024, .text_max = 32};

static void check(struct calls_call call, const char *expected)
{
	call.signature = calls_find_signature(call.name);
	call.has_ended = true;
	calls_line_args(&line, &call);
	calls_line_result(&line, &call);
	assert_string_equal(line.at, expected);
}

static void test_flags_have_names(void **state)
{
	check((struct calls_call){.name = "openat",
		      .args = {(uint64_t)AT_FDCWD, 16, O_RDWR | O_CREAT | O_CLOEXEC, 0640},
		      .memory = {[1] = MEMORY("/tmp/x")},
		      .result = 3},
		"openat(AT_FDCWD, \"/tmp/x\", O_RDWR|O_CREAT|O_CLOEXEC, 0640) = 3");
	check((struct calls_call){.name = "open",
		      .args = {16, O_TMPFILE | O_SYNC, 0},
		      .memory = {MEMORY("d")},
		      .result = -EISDIR},
		"open(\"d\", O_RDONLY|O_SYNC|O_TMPFILE, 000) = -1 EISDIR (Is a directory)");
	check(
		(struct calls_call){
			.name = "open", .args = {0, O_WRONLY | O_DSYNC}, .result = -EFAULT},
		"open(NULL, O_WRONLY|O_DSYNC) = -1 EFAULT (Bad address)");
	check((struct calls_call){.name = "open", .args = {0, 3}, .result = -EFAULT},
		"open(NULL, O_ACCMODE) = -1 EFAULT (Bad address)");
	check((struct calls_call){.name = "mmap",
		      .args = {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      (uint32_t)-1, 0x2000},
		      .result = 0x7f0000001000},
		"mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0x2000) = "
		"0x7f0000001000");
	check((struct calls_call){.name = "mprotect", .args = {0x1000, 1, PROT_NONE}},
		"mprotect(0x1000, 1, PROT_NONE) = 0");
}

static void test_one_bit_has_the_name_of_its_call(void **state)
{
	check((struct calls_call){.name = "faccessat2", .args = {3, 0, R_OK, 0x200}},
		"faccessat2(3, NULL, R_OK, AT_EACCESS) = 0");
	check((struct calls_call){.name = "unlinkat", .args = {3, 0, 0x200}},
		"unlinkat(3, NULL, AT_REMOVEDIR) = 0");
}

static void test_numbers_without_names(void **state)
{
	check((struct calls_call){.name = "lseek", .args = {1, (uint64_t)-1, 9}, .result = -EINVAL},
		"lseek(1, -1, 0x9 /* SEEK_??? */) = -1 EINVAL (Invalid argument)");
	check((struct calls_call){.name = "access", .args = {0, 0x18}, .result = -EINVAL},
		"access(NULL, 0x18 /* ?_OK */) = -1 EINVAL (Invalid argument)");
	check((struct calls_call){.name = "access", .args = {0, R_OK | 8}, .result = -EINVAL},
		"access(NULL, R_OK|0x8) = -1 EINVAL (Invalid argument)");
	check((struct calls_call){.name = "access", .args = {0, F_OK}, .result = -EFAULT},
		"access(NULL, F_OK) = -1 EFAULT (Bad address)");
	check((struct calls_call){.name = "dup3", .args = {1, 2, 0}, .result = 2},
		"dup3(1, 2, 0) = 2");
	check((struct calls_call){.name = "no_such_call", .args = {1, 2}, .result = -ENOSYS},
		"no_such_call(0x1, 0x2, 0, 0, 0, 0) = -1 ENOSYS (Function not implemented)");
}

static void test_texts_are_escaped(void **state)
{
	check((struct calls_call){.name = "write",
		      .args = {1, 16, 12},
		      .memory = {[1] = MEMORY("a\"\\\n\t\0011\1x\377\0332\a")},
		      .result = 12},
		"write(1, \"a\\\"\\\\\\n\\t\\0011\\1x\\377\\0332\\7\", 12) = 12");
	check((struct calls_call){.name = "read",
		      .args = {0, 16, 100},
		      .memory = {[1] = MEMORY("0123456789012345678901234567890123")},
		      .result = 34},
		"read(0, \"01234567890123456789012345678901\"..., 100) = 34");
	check((struct calls_call){.name = "read",
		      .args = {0, 16, 33},
		      .memory = {[1] = MEMORY("\0010\0017\001890123456789012345678901234")},
		      .result = 33},
		"read(0, \"\\0010\\0017\\1890123456789012345678901234\", 33) = 33");
	check((struct calls_call){.name = "read",
		      .args = {0, 16, 33},
		      .memory = {[1] = MEMORY("012345678901234567890123456789012")},
		      .result = 33},
		"read(0, \"01234567890123456789012345678901\"..., 33) = 33");
	check((struct calls_call){.name = "unlink",
		      .args = {16},
		      .memory = {MEMORY("0123456789012345678901234567890123")}},
		"unlink(\"0123456789012345678901234567890123\") = 0");
	check((struct calls_call){.name = "read",
		      .args = {0, 16, 100},
		      .memory = {[1] = {.at = "", .is_cut = false}},
		      .result = 0},
		"read(0, \"\", 100) = 0");
	check((struct calls_call){.name = "getrandom",
		      .args = {16, 2, 1},
		      .memory = {MEMORY("a\1")},
		      .result = 2},
		"getrandom(\"\\x61\\x01\", 2, GRND_NONBLOCK) = 2");
	check((struct calls_call){.name = "unlink", .args = {16}, .memory = {{.is_lost = true}}},
		"unlink(0x10 /* lost */) = 0");
}

static void test_arguments_that_depend_on_others(void **state)
{
	/* the order of the last two arguments depends on the architecture: 16 is child_tid */
#ifdef __x86_64__
	const struct calls_call clone = {
		.name = "clone", .args = {0x1200011, 0, 0, 16, 32}, .result = 7};
#else
	const struct calls_call clone = {
		.name = "clone", .args = {0x1200011, 0, 0, 32, 16}, .result = 7};
#endif

	check(clone,
		"clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
		"child_tidptr=0x10) = 7");
	check((struct calls_call){.name = "fcntl", .args = {1, F_GETFL}, .result = 0x402},
		"fcntl(1, F_GETFL) = 0x402 (flags O_RDWR|O_APPEND)");
	check((struct calls_call){.name = "fcntl", .args = {1, F_SETFD, 1}},
		"fcntl(1, F_SETFD, FD_CLOEXEC) = 0");
	check((struct calls_call){.name = "fcntl", .args = {1, F_GETFD}, .result = 1},
		"fcntl(1, F_GETFD) = 0x1 (flags FD_CLOEXEC)");
	check((struct calls_call){.name = "futex", .args = {16, 128, 2, 0}, .result = -EAGAIN},
		"futex(0x10, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN (Resource temporarily "
		"unavailable)");
	check((struct calls_call){.name = "futex",
		      .args = {16, 137 | 256, 2, 0, 0, UINT32_MAX},
		      .result = -ETIMEDOUT},
		"futex(0x10, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2, NULL, "
		"FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (Connection timed out)");
	check((struct calls_call){.name = "ioctl", .args = {1, 0x5413, 16}},
		"ioctl(1, TIOCGWINSZ, 0x10) = 0");
	check((struct calls_call){.name = "ioctl", .args = {1, 0x80087801, 16}, .result = -ENOTTY},
		"ioctl(1, _IOC(_IOC_READ, 0x78, 0x1, 0x8), 0x10) = -1 ENOTTY (Inappropriate ioctl "
		"for device)");
	check(
		(struct calls_call){
			.name = "mknod", .args = {16, S_IFIFO | 0600, 0}, .memory = {MEMORY("p")}},
		"mknod(\"p\", S_IFIFO|0600) = 0");
	check((struct calls_call){.name = "mknod",
		      .args = {16, S_IFCHR | 0600, 0x103},
		      .memory = {MEMORY("p")},
		      .result = -EPERM},
		"mknod(\"p\", S_IFCHR|0600, makedev(0x1, 0x3)) = -1 EPERM (Operation not "
		"permitted)");
	check((struct calls_call){.name = "socket", .args = {2, 0x80001, 6}, .result = 3},
		"socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 3");
	check((struct calls_call){.name = "getsockopt", .args = {3, 1, 4, 16, 32}},
		"getsockopt(3, SOL_SOCKET, SO_ERROR, 0x10, 0x20) = 0");
	check((struct calls_call){.name = "mremap", .args = {0x1000, 1, 2, 1, 5}, .result = 0x1000},
		"mremap(0x1000, 1, 2, MREMAP_MAYMOVE) = 0x1000");
	check((struct calls_call){.name = "kill", .args = {1, SIGTERM}, .result = -EPERM},
		"kill(1, SIGTERM) = -1 EPERM (Operation not permitted)");
	check((struct calls_call){.name = "prctl", .args = {1, SIGKILL}},
		"prctl(PR_SET_PDEATHSIG, SIGKILL) = 0");
}

static void test_structures(void **state)
{
	const struct timespec time = {.tv_sec = 1, .tv_nsec = 5};
	const struct stat file = {.st_mode = S_IFREG | 0644, .st_size = 7},
			  device = {.st_mode = S_IFCHR | 0620, .st_rdev = makedev(136, 1)},
			  flags = {.st_mode = S_IFDIR | 07750};
	const uint64_t action[4] = {1, 0x14000000, 0x1000, 0x4000}, signals = ~UINT64_C(0x80040100),
		       limit[2] = {8 << 20, UINT64_MAX};
	const int status = 3 << 8, killed = SIGKILL, pair[2] = {3, 4};
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(80),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct pollfd polls[2] = {{3, POLLIN, POLLIN | POLLHUP}, {4, POLLOUT, 0}};
	const struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = 9};

	check((struct calls_call){.name = "nanosleep", .args = {16}, .memory = {BYTES(time)}},
		"nanosleep({tv_sec=1, tv_nsec=5}, NULL) = 0");
	check((struct calls_call){.name = "nanosleep",
		      .args = {16},
		      .memory = {{.at = (const char *)&time, .n = 8}}},
		"nanosleep(0x10, NULL) = 0");
	check((struct calls_call){.name = "fstat", .args = {3, 16}, .memory = {[1] = BYTES(file)}},
		"fstat(3, {st_mode=S_IFREG|0644, st_size=7, ...}) = 0");
	check((struct calls_call){.name = "fstat", .args = {3, 16}, .memory = {[1] = BYTES(flags)}},
		"fstat(3, {st_mode=S_IFDIR|S_ISUID|S_ISGID|S_ISVTX|0750, st_size=0, ...}) = 0");
	check(
		(struct calls_call){
			.name = "fstat", .args = {1, 16}, .memory = {[1] = BYTES(device)}},
		"fstat(1, {st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0x1), ...}) = 0");
	check((struct calls_call){.name = "rt_sigaction",
		      .args = {SIGINT, 16, 0, 8},
		      .memory = {[1] = BYTES(action)}},
		"rt_sigaction(SIGINT, {sa_handler=SIG_IGN, sa_mask=[TERM], "
		"sa_flags=SA_RESTORER|SA_RESTART, sa_restorer=0x1000}, NULL, 8) = 0");
	check((struct calls_call){.name = "rt_sigprocmask",
		      .args = {2, 16, 0, 8},
		      .memory = {[1] = BYTES(signals)}},
		"rt_sigprocmask(SIG_SETMASK, ~[KILL STOP RTMIN], NULL, 8) = 0");
	check(
		(struct calls_call){
			.name = "prlimit64", .args = {0, 3, 0, 16}, .memory = {[3] = BYTES(limit)}},
		"prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, "
		"rlim_max=RLIM64_INFINITY}) = 0");
	check((struct calls_call){.name = "wait4",
		      .args = {(uint64_t)-1, 16},
		      .memory = {[1] = BYTES(status)},
		      .result = 9},
		"wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], 0, NULL) = 9");
	check((struct calls_call){.name = "wait4",
		      .args = {(uint64_t)-1, 16, 1},
		      .memory = {[1] = BYTES(killed)},
		      .result = 9},
		"wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], WNOHANG, NULL) = 9");
	check((struct calls_call){.name = "pipe2", .args = {16, 0}, .memory = {BYTES(pair)}},
		"pipe2([3, 4], 0) = 0");
	check((struct calls_call){.name = "connect",
		      .args = {3, 16, sizeof(address)},
		      .memory = {[1] = BYTES(address)},
		      .result = -ECONNREFUSED},
		"connect(3, {sa_family=AF_INET, sin_port=htons(80), "
		"sin_addr=inet_addr(\"127.0.0.1\")}, 16) = -1 ECONNREFUSED (Connection refused)");
	check((struct calls_call){.name = "connect",
		      .args = {3, 16, 110},
		      .memory = {[1] = MEMORY("\1\0/run/x\0\0")}},
		"connect(3, {sa_family=AF_UNIX, sun_path=\"/run/x\"}, 110) = 0");
	check((struct calls_call){.name = "connect",
		      .args = {3, 16, 1},
		      .memory = {[1] = MEMORY("\1")},
		      .result = -EINVAL},
		"connect(3, 0x10, 1) = -1 EINVAL (Invalid argument)");
	check(
		(struct calls_call){
			.name = "poll", .args = {16, 2, 5}, .memory = {BYTES(polls)}, .result = 1},
		"poll([{fd=3, events=POLLIN}, {fd=4, events=POLLOUT}], 2, 5) = 1 "
		"([{fd=3, revents=POLLIN|POLLHUP}])");
	check((struct calls_call){.name = "poll", .args = {0, 0, 5}, .result = 0},
		"poll(NULL, 0, 5) = 0 (Timeout)");
	check(
		(struct calls_call){
			.name = "epoll_ctl", .args = {5, 1, 3, 16}, .memory = {[3] = BYTES(event)}},
		"epoll_ctl(5, EPOLL_CTL_ADD, 3, {events=EPOLLIN|EPOLLET, data={u32=9, u64=9}}) = "
		"0");
	check((struct calls_call){.name = "futex",
		      .args = {16, 128, 2, 16},
		      .memory = {[3] = BYTES(time)},
		      .result = -ETIMEDOUT},
		"futex(0x10, FUTEX_WAIT_PRIVATE, 2, {tv_sec=1, tv_nsec=5}) = -1 ETIMEDOUT "
		"(Connection timed out)");
}

static void test_results(void **state)
{
	check((struct calls_call){.name = "umask", .args = {027}, .result = 022},
		"umask(027) = 022");
	check((struct calls_call){.name = "exit_group", .args = {3}}, "exit_group(3) = ?");
	check((struct calls_call){.name = "pause", .result = -514},
		"pause() = ? ERESTARTNOHAND (To be restarted if no handler)");
	check((struct calls_call){.name = "getuid", .result = 1000}, "getuid() = 1000");
	check(
		(struct calls_call){
			.name = "chown", .args = {16, UINT32_MAX, 5}, .memory = {MEMORY("f")}},
		"chown(\"f\", -1, 5) = 0");
}

static void test_a_call_that_has_not_ended(void **state)
{
	const struct calls_call call = {
		.name = "read", .signature = calls_find_signature("read"), .args = {0, 16, 1}};

	calls_line_args(&line, &call);
	calls_line_result(&line, &call);
	assert_string_equal(line.at, "read(0, 0x10, 1 <unfinished ...>");
}

/* A line that does not fit is cut, and nothing is written behind its memory. */
static void test_long_lines_are_cut(void **state)
{
	char memory[80];
	const struct calls_call call = {.name = "write",
		.signature = calls_find_signature("write"),
		.args = {1, 16, 32},
		.memory = {[1] = {.at = "\1\2abcdefghijklm\3\4", .n = 17, .is_cut = true}},
		.has_ended = true};

	for (size_t max = 1; max < sizeof(memory); max++) {
		struct calls_line small = {.at = memory, .max = max, .text_max = 32};

		memset(memory, 'x', sizeof(memory));
		calls_line_args(&small, &call);
		calls_line_result(&small, &call);
		assert_int_equal(strnlen(memory, sizeof(memory)), small.n);
		assert_true(small.n < max);
		assert_int_equal(memory[max], 'x');
	}
}

static void test_classes(void **state)
{
	assert_int_equal(
		calls_classes_of(calls_find_signature("openat")), CALLS_OF_FILE | CALLS_OF_DESC);
	assert_int_equal(calls_classes_of(calls_find_signature("close")), CALLS_OF_DESC);
	assert_int_equal(calls_find_class("network", 7), CALLS_OF_NET);
	assert_int_equal(calls_find_class("files", 5), 0);
	assert_null(calls_find_signature("opena"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_have_names),
		cmocka_unit_test(test_one_bit_has_the_name_of_its_call),
		cmocka_unit_test(test_numbers_without_names),
		cmocka_unit_test(test_texts_are_escaped),
		cmocka_unit_test(test_arguments_that_depend_on_others),
		cmocka_unit_test(test_structures),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_a_call_that_has_not_ended),
		cmocka_unit_test(test_long_lines_are_cut),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests_name("calls_line", tests, NULL, NULL);
}
