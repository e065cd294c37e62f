/* SPDX-License-Identifier: MIT */
/* What a reader may do, and answers of one that an attacker has taken over. */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attar/private/symbol.h"
#include "symbol/reader_call.h"
#include "symbol/reader_sandbox.h"
#include "symbol/symbols.h"

#define MODE "LD_READER_TEST" /* readers get variables of this prefix */

/* ---- the sandbox ---- */

/* Each attempt must fail. Returns the number of the first that does not; 0: none. */
static int try_all(void)
{
	char byte = 0;
	struct stat st;
	int n = 1;
#define TRY(call)                                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		if ((call) >= 0 || errno != EPERM)                                                 \
			return n;                                                                  \
		n++;                                                                               \
	} while (0)

	TRY(open("/dev/null", O_RDONLY));
	TRY(open("/tmp/reader_test", O_CREAT | O_WRONLY, 0600));
	TRY(stat("/", &st));
	TRY(socket(AF_UNIX, SOCK_STREAM, 0));
	TRY(socket(AF_INET, SOCK_DGRAM, 0));
	TRY(fork());
	TRY(kill(getppid(), 0));
	TRY(execl("/bin/true", "true", NULL));
	TRY(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	TRY(unlink("/tmp/reader_test"));
	TRY(dup(0));
	TRY(fcntl(0, F_SETFL, 0));
	TRY(write(0, &byte, 1));
	TRY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				MAP_FAILED
			? -1
			: 0);
	return 0;
}

/* What it needs works. */
static bool can_read(int socket)
{
	static struct packet packet;
	struct byte_source source;
	char magic[SELFMAG];
	int fd = message_receive(socket, &packet) == 1 ? packet_take_fd(&packet, 0) : -1;

	return fd >= 0 && byte_source_file(fd, &source) == 0 &&
	       byte_source_read(&source, 0, magic, SELFMAG) == 0 && !memcmp(magic, ELFMAG, SELFMAG);
}

/* Others than the standard ones, which lead nowhere, and its socket. */
static bool has_other_files(int socket)
{
	for (int fd = 3; fd < 64; fd++)
		if (fd != socket && fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0)
			return true;
	return false;
}

static void test_sandbox(void **state)
{
	const struct message head = {.type = MESSAGE_OPENED};
	int pair[2], file = open("/proc/self/exe", O_RDONLY), status, failed;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_true(file < pair[1] && pair[1] < dup2(file, pair[1] + 7)); /* closed there */
	assert_int_equal(
		message_send(pair[0], &head, &(struct message_pieces){.fds = {file}, .n_fds = 1}),
		0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (reader_sandbox_enter(pair[1]) < 0)
			_exit(100);
		if (has_other_files(pair[1]))
			_exit(102);
		failed = try_all();
		_exit(failed ?: can_read(pair[1]) ? 0 : 101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(pair[0]);
	close(pair[1] + 7);
	close(pair[1]);
	close(file);
}

/* ---- answers ---- */

struct answer {
	uint32_t type;
	const char *texts;
	size_t texts_size, payload_size;
	const void *payload;
};

static void say(const struct answer *answer)
{
	const struct message head = {.type = answer->type, .texts = (uint32_t)answer->texts_size};

	if (message_send(READER_SOCKET, &head,
		    &(struct message_pieces){.a = answer->texts,
			    .a_size = answer->texts_size,
			    .b = answer->payload,
			    .b_size = answer->payload_size}) < 0)
		_exit(1);
}

/* One segment: offsets of the file are its addresses. */
static void say_loaded(const char *mode)
{
	struct {
		struct message_loaded loaded;
		struct elf_segment segment;
	} all = {{.file_size = 4096, .build_id_size = 20},
		{.type = PT_LOAD, .flags = PF_X, .filesz = 4096, .memsz = 4096}};
	struct answer answer = {
		.type = MESSAGE_LOADED, .payload = &all, .payload_size = sizeof(all)};

	if (!strcmp(mode, "crash"))
		kill(getpid(), SIGKILL);
	if (!strcmp(mode, "segments"))
		answer.payload_size--;
	if (!strcmp(mode, "build id"))
		all.loaded.build_id_size = 21;
	if (!strcmp(mode, "reason"))
		all.loaded.unfit = 1;
	say(&answer);
}

static void say_symbol(const char *mode)
{
	struct message_symbol is = {
		.at = 16, .size = 64, .offset = 16, .after = 32, .name = 1, .mangled = 1};
	struct answer answer = {.type = MESSAGE_ARE,
		.texts = "function",
		.texts_size = sizeof("function"),
		.payload = &is,
		.payload_size = sizeof(is)};

	if (!strcmp(mode, "number"))
		is.mangled = 2;
	if (!strcmp(mode, "no end"))
		answer.texts_size--;
	if (!strcmp(mode, "short"))
		answer.payload_size--;
	if (!strcmp(mode, "type"))
		answer.type = MESSAGE_LOADED;
	if (!strcmp(mode, "unknown type"))
		answer.type = 77;
	say(&answer);
}

/* Packets that are valid, without an end. */
static void flood(const char *mode)
{
	static char nothing[MESSAGE_MAX];
	const struct answer answer = {.type = MESSAGE_PART,
		.texts = nothing,
		.texts_size = strcmp(mode, "many texts") ? 1 : sizeof(nothing)};

	for (;;)
		say(&answer);
}

static void say_frames(const char *mode)
{
	struct {
		struct message_place place;
		struct message_frame frames[129];
	} all = {.place = {.n = 1}, .frames = {{.name = 1, .mangled = 1, .file = 1, .line = 7}}};
	struct message_stats stats = {0};
	struct answer part = {.type = MESSAGE_PART,
		.payload = &all,
		.payload_size = sizeof(all.place) + sizeof(all.frames[0])};

	if (!strcmp(mode, "frame number"))
		all.frames[0].file = 9;
	if (!strcmp(mode, "index"))
		all.place.index = 1;
	if (!strcmp(mode, "no frame"))
		all.place.n = 0;
	if (!strcmp(mode, "many frames")) {
		all.place.n = ARRAY_SIZE(all.frames);
		part.payload_size = sizeof(all);
	}
	if (!strcmp(mode, "cut"))
		part.payload_size--;
	say(&part);
	if (!strcmp(mode, "twice"))
		say(&part);
	say(&(struct answer){
		.type = MESSAGE_END, .payload = &stats, .payload_size = sizeof(stats)});
}

/* Asks for a file, and says in a name whether it has got it. */
static void say_file(const char *path)
{
	static struct packet packet;
	struct {
		struct message_open open;
		char path[PATH_MAX];
	} ask = {.open = {.what = MESSAGE_OTHER}};
	struct message_symbol is = {.at = 16, .size = 64, .name = 1, .mangled = 1};
	struct answer answer = {.type = MESSAGE_OPEN, .payload = &ask};

	strcpy(ask.path, path);
	answer.payload_size = offsetof(__typeof__(ask), path) + strlen(path) + 1;
	say(&answer);
	if (message_receive(READER_SOCKET, &packet) <= 0)
		_exit(1);
	answer = (struct answer){.type = MESSAGE_ARE,
		.texts = packet.n_fds ? "given" : "denied",
		.payload = &is,
		.payload_size = sizeof(is)};
	answer.texts_size = strlen(answer.texts) + 1;
	say(&answer);
}

static void serve_badly(const char *mode)
{
	static struct packet packet;

	say(&(struct answer){.type = MESSAGE_READY});
	while (message_receive(READER_SOCKET, &packet) > 0) {
		packet_close(&packet);
		if (packet.head.type == MESSAGE_LOAD)
			say_loaded(mode);
		else if (packet.head.type == MESSAGE_SYMBOLS &&
			 (!strcmp(mode, "flood") || !strcmp(mode, "many texts")))
			flood(mode);
		else if (packet.head.type == MESSAGE_SYMBOLS && mode[0] == '/')
			say_file(mode);
		else if (packet.head.type == MESSAGE_SYMBOLS)
			say_symbol(mode);
		else if (packet.head.type == MESSAGE_FRAMES)
			say_frames(mode);
	}
	_exit(0);
}

/* The frames of a place, of which a reader in this mode says something. */
static void look_up(const char *mode, struct attar_symbols **symbols, struct attar_frame *frame)
{
	attar_location file;

	setenv(MODE, mode, 1);
	assert_int_equal(attar_symbols_new(NULL, symbols), 0);
	assert_int_equal(symbols_find_file(*symbols, "/proc/self/exe", &file), 0);
	assert_int_equal(attar_symbols_frames(*symbols, file + 16, frame, 1), 1);
}

static void test_good_answer(void **state)
{
	struct attar_symbols *symbols;
	struct attar_symbol symbol;
	struct attar_frame frame;
	attar_location file;
	size_t n;

	look_up("good", &symbols, &frame);
	assert_string_equal(frame.name, "function");
	assert_string_equal(frame.file, "function");
	assert_int_equal(frame.line, 7);
	assert_int_equal(frame.build_id_size, 20);
	assert_null(readers_failed(symbols, &n));
	assert_int_equal(symbols_find_file(symbols, "/proc/self/exe", &file), 0);
	for (uint64_t at = 47; at >= 16; at--) { /* from the answer to 16 */
		assert_int_equal(attar_symbols_resolve(symbols, file + at, &symbol), 0);
		assert_int_equal(symbol.offset, at);
		assert_int_equal(symbol.size, 64);
	}
	attar_symbols_free(symbols);
}

static void test_bad_answers(void **state)
{
	static const char *const modes[] = {"crash", "segments", "build id", "reason", "number",
		"no end", "short", "type", "unknown type", "frame number", "index", "no frame",
		"many frames", "cut", "twice"};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct attar_symbols *symbols;
		struct attar_frame frame;
		const struct dso *failed;
		size_t n;

		print_message("%s\n", modes[i]);
		look_up(modes[i], &symbols, &frame);
		if (strcmp(modes[i], "twice")) /* the first of which is good */
			assert_null(frame.file);
		failed = readers_failed(symbols, &n);
		assert_non_null(failed);
		assert_int_equal(n, 1);
		assert_int_equal(strncmp(failed->apart.shown, "[unreadable: /", 14), 0);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it has ended, and no other */
		attar_symbols_free(symbols);
	}
}

static void copy_program(const char *path, uid_t owner)
{
	int from = open("/bin/true", O_RDONLY), to = open(path, O_CREAT | O_WRONLY, 0755);
	struct stat st;

	assert_int_equal(fstat(from, &st), 0);
	while (copy_file_range(from, NULL, to, NULL, (size_t)st.st_size, 0) > 0)
		;
	assert_int_equal(fchown(to, owner, owner), 0);
	close(from);
	close(to);
}

/* A reader of another user's file cannot keep attar waiting, or fill its memory. */
static void test_floods(void **state)
{
	static const char *const modes[] = {"flood", "many texts"};
	char path[] = "/tmp/reader_test_XXXXXX", name[sizeof(path) + 16];

	if (geteuid() != 0)
		skip(); /* it cannot have a file of another user */
	assert_non_null(mkdtemp(path));
	snprintf(name, sizeof(name), "%s/program", path);
	copy_program(name, 65534);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct attar_symbols *symbols;
		struct attar_symbol symbol;
		uint64_t began = base_now();
		attar_location file;
		size_t n;

		setenv(MODE, modes[i], 1);
		assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
		assert_int_equal(symbols_find_file(symbols, name, &file), 0);
		assert_int_equal(attar_symbols_resolve(symbols, file + 16, &symbol), -ENOENT);
		assert_non_null(readers_failed(symbols, &n));
		assert_true(base_now() - began < 10 * READER_REQUEST_NS);
		attar_symbols_free(symbols);
	}
	unlink(name);
	rmdir(path);
}

/* Few readers run at a time; a file whose reader was ended is given to another one. */
static void test_many_users(void **state)
{
	enum { USERS = READERS_MAX + 2, FIRST_USER = 60000 };
	char path[] = "/tmp/reader_test_XXXXXX", names[USERS][sizeof(path) + 16];
	attar_location files[USERS];
	struct attar_symbols *symbols;
	struct attar_symbol symbol;
	unsigned running = 0;
	size_t n;

	if (geteuid() != 0)
		skip();
	setenv(MODE, "good", 1);
	assert_non_null(mkdtemp(path));
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	for (unsigned i = 0; i < USERS; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/%u", path, i);
		copy_program(names[i], FIRST_USER + i);
		assert_int_equal(symbols_find_file(symbols, names[i], &files[i]), 0);
	}
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < USERS; i++) {
			attar_location at = files[i] + 16 + 64 * turn;

			assert_int_equal(attar_symbols_resolve(symbols, at, &symbol), 0);
			assert_string_equal(symbol.name, "function");
		}
	vec_each (&symbols->readers->users, reader)
		running += (*reader)->life != 0;
	assert_int_equal(symbols->readers->users.n, USERS);
	assert_int_equal(running, READERS_MAX);
	assert_int_equal(symbols->readers->lives, 3 * USERS);
	assert_null(readers_failed(symbols, &n));
	attar_symbols_free(symbols);
	for (unsigned i = 0; i < USERS; i++)
		unlink(names[i]);
	rmdir(path);
}

/* It gets programs and debug files, nothing else. */
static void test_files(void **state)
{
	static const struct {
		const char *path, *is;
	} files[] = {{"/etc/shadow", "denied"}, {"/etc/passwd", "denied"}, {"/dev/zero", "denied"},
		{"/bin/true", "given"}};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct attar_symbols *symbols;
		struct attar_frame frame;

		look_up(files[i].path, &symbols, &frame);
		assert_string_equal(frame.name, files[i].is);
		attar_symbols_free(symbols);
	}
}

/* After some failures, no more files of the user are given to readers. */
static void test_failures_are_limited(void **state)
{
	char path[] = "/tmp/reader_test_XXXXXX", name[sizeof(path) + 16];
	struct attar_symbols *symbols;
	uint64_t started;
	attar_location file;
	size_t n;

	setenv(MODE, "crash", 1);
	assert_non_null(mkdtemp(path));
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	for (int i = 0; i < 2 * READER_OWN_FAILURES_MAX; i++) {
		snprintf(name, sizeof(name), "%s/%d", path, i);
		copy_program(name, geteuid());
		assert_int_equal(symbols_find_file(symbols, name, &file), 0);
		unlink(name);
		if (i + 1 == READER_OWN_FAILURES_MAX)
			started = symbols->readers->lives;
	}
	rmdir(path);
	assert_int_equal(started, READER_OWN_FAILURES_MAX);
	assert_int_equal(symbols->readers->lives, started);
	assert_non_null(readers_failed(symbols, &n));
	assert_int_equal(n, 2 * READER_OWN_FAILURES_MAX);
	attar_symbols_free(symbols);
}

/* Programs that cannot be readers leave the work to this process. */
static void test_without_readers(void **state)
{
	static const char *const programs[] = {"/nonexistent", "/bin/true", "/bin/false"};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct attar_symbols *symbols;
		struct attar_symbol symbol;
		attar_location file, location;
		size_t n;

		attar_symbols_use_readers(programs[i]);
		assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
		assert_int_equal(symbols_find_file(symbols, "/proc/self/exe", &file), 0);
		assert_null(readers_failed(symbols, &n));
		assert_int_equal(
			symbols_vaddr(symbols, file, (uint64_t)(uintptr_t)0, &location), 0);
		attar_symbols_resolve(symbols, location, &symbol);
		attar_symbols_free(symbols);
	}
	attar_symbols_use_readers("/proc/self/exe");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox),
		cmocka_unit_test(test_good_answer),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_many_users),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_failures_are_limited),
		cmocka_unit_test(test_without_readers),
	};

	if (argc == 3 && getenv(MODE))
		serve_badly(getenv(MODE));
	attar_symbols_use_readers("/proc/self/exe");
	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
