/* SPDX-License-Identifier: MIT */
/* The processes: starting, asking, and ending them. */
#include "symbol/reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "attar/private/symbol.h"
#include "symbol/reader_call.h"
#include "symbol/symbols.h"

enum {
	TICK_US = 20000,   /* between looks at the CPU time of a reader */
	WAIT_FACTOR = 3,   /* time to CPU time: the machine may be busy */
	CPU_MAX = 300,     /* seconds of CPU time, after which another process is started */
	OPENS_MAX = 65536, /* files that a process may ask for, and messages of it */
	LOGGED_MAX = 65536,
	TEXTS_MAX = 4 << 20, /* of a process; after half of them, another one is started */
	PACKETS_LOOK = 64,   /* packets of an answer between looks at the time */
};

static const char *program; /* NULL: none is allowed */

void attar_symbols_use_readers(const char *path)
{
	program = path;
}

/* ---- processes ---- */

/* Waits for a killed process, unless it hangs in the kernel: it is then left to init. */
static void reap(pid_t pid)
{
	for (int i = 0; i < 200; i++) {
		if (TEMP_FAILURE_RETRY(waitpid(pid, NULL, WNOHANG)) != 0)
			return;
		poll(NULL, 0, 1);
	}
}

static uint64_t cpu_time(const struct reader *reader)
{
	struct timespec t;

	return clock_gettime(reader->clock, &t) < 0
		       ? 0
		       : (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void reader_stop(struct reader *reader)
{
	if (!reader->life)
		return;
	reader->cpu_before += cpu_time(reader);
	close(reader->socket);
	kill(reader->pid, SIGKILL);
	reap(reader->pid);
	reader->life = 0;
	reader->pid = 0;
	vec_done(&reader->texts);
}

void readers_free(struct symbol_readers *readers)
{
	if (!readers)
		return;
	vec_each (&readers->users, reader) {
		reader_stop(*reader);
		free(*reader);
	}
	vec_done(&readers->users);
	vec_done(&readers->symbols);
	free(readers);
}

/* Variables without which the program may not start; others may be secrets. */
static bool is_passed_on(const char *variable)
{
	return !strncmp(variable, "LD_", 3) || strstr(variable, "SAN_OPTIONS=") ||
	       !strncmp(variable, "LLVM_PROFILE_FILE=", 18);
}

static int spawn(const struct reader *reader, int socket, pid_t *ret_pid)
{
	char name[] = "attar", word[] = READER_WORD, user[16] = "own";
	char *args[] = {name, word, user, NULL};
	char *variables[16] = {NULL};
	posix_spawn_file_actions_t actions;
	size_t n = 0;
	int r;

	if (!reader->is_own)
		snprintf(user, sizeof(user), "%u", reader->user);
	for (char **v = environ; v && *v && n < ARRAY_SIZE(variables) - 1; v++)
		if (is_passed_on(*v))
			variables[n++] = *v;
	r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, socket, READER_SOCKET);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &actions, NULL, args, variables);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int start_process(struct symbol_readers *readers, struct reader *reader)
{
	const struct timeval tick = {.tv_usec = TICK_US};
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r = spawn(reader, pair[1], &reader->pid);
	close(pair[1]);
	if (r < 0 || setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick)) < 0 ||
		setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof(tick)) < 0 ||
		clock_getcpuclockid(reader->pid, &reader->clock) != 0) {
		close(pair[0]);
		return r < 0 ? r : -EIO;
	}
	reader->socket = pair[0];
	reader->life = ++readers->lives;
	reader->opens = reader->logged = 0;
	reader->stats = (struct message_stats){0};
	return 0;
}

/* Stops the one that was not used for longest, if too many run. */
static void make_room(struct symbol_readers *readers)
{
	struct reader *oldest = NULL;
	unsigned n = 0;

	vec_each (&readers->users, reader) {
		if (!(*reader)->life)
			continue;
		n++;
		if (!oldest || (*reader)->used < oldest->used)
			oldest = *reader;
	}
	if (n >= READERS_MAX)
		reader_stop(oldest);
}

/* ---- packets ---- */

/* Whether a request takes too long. A busy machine, or a slow disk, gives the reader less time. */
static bool is_late(struct reader_call *call)
{
	struct reader *reader = call->reader;
	uint64_t cpu = cpu_time(reader), now = base_now();

	if (!call->cpu)
		call->cpu = cpu;
	call->spent = cpu > call->cpu ? cpu - call->cpu : 0;
	return call->spent > call->limit || now - call->began > WAIT_FACTOR * call->limit;
}

int reader_send(struct reader_call *call, uint32_t type, const struct message_pieces *pieces)
{
	const struct message head = {.type = type, .dso = call->dso ? call->dso->number : 0};
	int r;

	do
		r = message_send(call->reader->socket, &head, pieces);
	while (r == -EAGAIN && !is_late(call));
	return r;
}

/* ---- files that a reader asks for ---- */

/* Only programs and their debug files: whoever controls a reader gets no other secrets. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return TEMP_FAILURE_RETRY(pread(fd, magic, SELFMAG, 0)) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

/* Files of a user name only what this user can read, or everybody. */
static bool may_have(const struct reader *reader, int fd)
{
	struct stat st;

	return reader->is_own ||
	       (fstat(fd, &st) == 0 && (st.st_mode & S_IROTH || st.st_uid == reader->user));
}

static int open_named(const struct reader_call *call, bool in_root, const char *path)
{
	int root = in_root ? call->root : AT_FDCWD, handle _cleanup_close_ = -1;
	int fd _cleanup_close_ = -1;

	if (in_root && root < 0)
		return -ENOENT;
	handle = dso_open_path(root, path, 0);
	if (handle < 0)
		return handle;
	fd = dso_reopen(handle);
	if (fd < 0)
		return fd;
	return is_elf(fd) && may_have(call->reader, fd) ? TAKE_FD(fd) : -ENOEXEC;
}

static int open_wanted(
	const struct reader_call *call, const struct message_open *open, const char *path)
{
	const struct dso *dso = call->dso;

	switch (open->what) {
	case MESSAGE_AGAIN:
		return symbols_file(call->symbols, &(struct dso_search){.key = &dso->key});
	case MESSAGE_OTHER:
		return open_named(call, open->in_root, path);
	case MESSAGE_DOWNLOAD:
		if (!call->server || open->id_size > sizeof(open->id))
			return -ENOENT;
		return debuginfod_open(call->server, dso->key.path, open->id, open->id_size);
	default:
		return -EINVAL;
	}
}

void reader_path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
}

/* The time of a download does not count as time of the reader. */
static int serve_open(struct reader_call *call, const struct packet *in)
{
	uint64_t began = base_now();
	struct message head = {.type = MESSAGE_OPENED};
	struct message_pieces pieces = {0};
	struct message_open open;
	char path[PATH_MAX] = "";
	int fd _cleanup_close_ = -1, r;

	if (in->n < sizeof(open) || in->head.texts || call->reader->opens++ > OPENS_MAX)
		return -EBADMSG;
	memcpy(&open, in->bytes, sizeof(open));
	fd = open_wanted(call, &open, (const char *)in->bytes + sizeof(open));
	head.status = MIN(fd, 0);
	if (fd >= 0) {
		pieces.fds[0] = fd;
		pieces.n_fds = 1;
		reader_path_of(fd, path);
	}
	pieces.a = path;
	pieces.a_size = strlen(path) + 1;
	r = message_send(call->reader->socket, &head, &pieces);
	attar_error_clear();
	if (open.what == MESSAGE_DOWNLOAD)
		call->began += base_now() - began;
	return r;
}

/* ---- texts ---- */

/* Takes the texts in front of a packet. Returns 0 or a negative errno. */
static int take_texts(struct reader_call *call, const struct packet *in)
{
	struct intern *strings = &call->symbols->sources.strings;
	const char *p = (const char *)in->bytes, *end = p + in->head.texts;

	if (p < end && end[-1] != '\0')
		return -EBADMSG;
	for (; p < end; p += strlen(p) + 1) {
		bool has_room =
			strings->bytes + call->symbols->names.bytes < call->symbols->names.max;

		if (call->reader->texts.n >= TEXTS_MAX)
			return -EBADMSG;
		if (vec_push(&call->reader->texts, has_room ? intern_text(strings, p) : NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

int reader_text(const struct reader_call *call, uint32_t number, const char **ret_text)
{
	if (number > call->reader->texts.n)
		return -EBADMSG;
	*ret_text = number ? call->reader->texts.at[number - 1] : NULL;
	return 0;
}

static int take_missing(struct reader_call *call, const struct packet *in)
{
	enum { PARTS_END = SOURCE_PART_LINK + 1, MISSING_MAX = 65536 };
	struct symbol_sources *sources = &call->symbols->sources;
	struct message_missing missing;
	const char *path, *reason;

	if (in->n - in->head.texts != sizeof(missing))
		return -EBADMSG;
	memcpy(&missing, in->bytes + in->head.texts, sizeof(missing));
	if (missing.part >= PARTS_END || reader_text(call, missing.path, &path) < 0 ||
		reader_text(call, missing.reason, &reason) < 0)
		return -EBADMSG;
	if (path && reason && sources->missing.n < MISSING_MAX)
		source_add_missing(sources, (enum source_part)missing.part, path, reason);
	return 0;
}

static int take_log(struct reader_call *call, const struct packet *in)
{
	if (in->head.texts)
		return -EBADMSG;
	if (call->reader->logged++ < LOGGED_MAX)
		log_debug("%s", (const char *)in->bytes);
	return 0;
}

/* ---- requests ---- */

/* The next packet of the answer. Returns 1 or a negative errno. */
int reader_next(struct reader_call *call)
{
	struct packet *in = &call->readers->in;
	int r;

	for (;;) {
		do
			r = message_receive(call->reader->socket, in);
		while (r == -EINTR || (r == -EAGAIN && !is_late(call)));
		packet_close(in); /* it has none to give */
		if (r <= 0)
			return r == -EAGAIN ? -ETIMEDOUT : r < 0 ? r : -EPIPE;
		r = ++call->packets % PACKETS_LOOK == 0 && is_late(call) ? -ETIMEDOUT
									 : take_texts(call, in);
		if (r == 0 && in->head.type == MESSAGE_OPEN)
			r = serve_open(call, in);
		else if (r == 0 && in->head.type == MESSAGE_MISSING)
			r = take_missing(call, in);
		else if (r == 0 && in->head.type == MESSAGE_LOG)
			r = take_log(call, in);
		else if (r == 0)
			return in->head.status == -ENOMEM ? -ENOMEM : 1;
		if (r < 0)
			return r;
	}
}

static int begin_process(struct reader_call *call)
{
	const struct attar_symbols *symbols = call->symbols;
	const struct message_begin begin = {.max_symbol_bytes = symbols->max_bytes,
		.max_source_bytes = symbols->sources.max_bytes,
		.max_open_files = symbols->max_open,
		.mangled = symbols->mangled,
		.is_logged = log_is_on()};
	struct symbol_readers *readers = call->readers;
	int r;

	make_room(readers);
	r = start_process(readers, call->reader);
	if (r == 0)
		r = reader_send(call, MESSAGE_BEGIN,
			&(struct message_pieces){.a = &begin,
				.a_size = sizeof(begin),
				.b = symbols->debug_path,
				.b_size = strlen(symbols->debug_path) + 1});
	if (r == 0)
		r = reader_next(call);
	if (r > 0)
		r = readers->in.head.type == MESSAGE_READY ? readers->in.head.status : -EBADMSG;
	if (r < 0) {
		reader_stop(call->reader);
		readers->is_off = true;
		log_debug(
			"files are read in this process: cannot start a reader: %s", strerror(-r));
	}
	return r;
}

/* It was killed while it had nothing to do, which is no fault of a file. */
static bool has_ended(const struct reader *reader)
{
	char byte;

	return recv(reader->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool has_budget(const struct reader *reader, uint64_t now)
{
	return reader->is_own || reader->spent < READER_BUDGET_NS + (now - reader->first) / 100 *
									    READER_BUDGET_PERCENT;
}

int reader_begin(struct reader_call *call)
{
	struct reader *reader = call->reader;

	call->limit = reader->is_own ? READER_OWN_REQUEST_NS : READER_REQUEST_NS;
	call->began = base_now();
	if (!reader->first)
		reader->first = call->began;
	reader->used = ++call->readers->clock;
	if (!has_budget(reader, call->began))
		return -EDQUOT;
	if (reader->failures >= (reader->is_own ? READER_OWN_FAILURES_MAX : READER_FAILURES_MAX))
		return -ECHILD;
	if (reader->life && (has_ended(reader) || reader->texts.n > TEXTS_MAX / 2 ||
				    cpu_time(reader) > CPU_MAX * 1000000000ULL))
		reader_stop(reader);
	return reader->life ? 0 : begin_process(call);
}

static const char *unreadable(struct attar_symbols *symbols, const char *path)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *shown = NULL;

	buf_printf(&text, "[unreadable: %s]", path);
	if (!buf_failed(&text))
		shown = intern_text(&symbols->sources.strings, buf_text(&text));
	return shown ?: "[unreadable]";
}

/* A short request costs little; its time is measured more cheaply. */
void reader_end(struct reader_call *call, int r)
{
	struct reader *reader = call->reader;
	uint64_t time = base_now() - call->began;
	bool is_refused = r == -EDQUOT || r == -ECHILD; /* by reader_begin() */

	if (call->cpu)
		(void)is_late(call);
	reader->spent += call->cpu ? call->spent + TICK_US * 1000ULL : time;
	if (r >= 0)
		return;
	log_debug("%s is not read: %s", call->dso->key.path, readers_reason(r));
	if (!call->readers->is_off)
		call->dso->apart.shown = unreadable(call->symbols, call->dso->key.path);
	if (is_refused)
		return;
	reader->failures += !call->readers->is_off;
	reader_stop(reader);
}

/* ---- which one ---- */

static struct reader *reader_of_user(struct symbol_readers *readers, bool is_own, uid_t user)
{
	struct reader *reader;

	vec_each (&readers->users, at)
		if ((*at)->is_own == is_own && (is_own || (*at)->user == user))
			return *at;
	if (readers->users.n >= READER_USERS_MAX)
		return readers->users.at[readers->users.n - 1];
	reader = calloc(1, sizeof(*reader));
	if (!reader || vec_push(&readers->users, reader) < 0) {
		free(reader);
		return NULL;
	}
	reader->is_own = is_own;
	reader->user = user;
	return reader;
}

/*
 * Copies of files, and root's files in a container, count as files of others. The 64-bit vdso is
 * the one of this process.
 */
static bool find_user(const struct dso *dso, uid_t *ret_user)
{
	const struct dso_origin *origin = &dso->origin;
	bool is_known = origin->has_owner;

	*ret_user = origin->owner;
	if (dso->key.kind == ATTAR_DSO_IS_VDSO)
		return dso->key.owner == 64;
	if (dso->key.kind == ATTAR_DSO_IS_JIT) {
		is_known = dso->jit.inner;
		*ret_user = dso->jit.uid;
	}
	if (!is_known)
		*ret_user = (uid_t)-1;
	return is_known && !origin->pid && (*ret_user == 0 || *ret_user == geteuid());
}

bool readers_are_used(const struct attar_symbols *symbols)
{
	return program && !symbols->dsos.opener && !(symbols->readers && symbols->readers->is_off);
}

static struct symbol_readers *readers_of(struct attar_symbols *symbols)
{
	if (!symbols->readers && program && !symbols->dsos.opener)
		symbols->readers = calloc(1, sizeof(*symbols->readers));
	return symbols->readers;
}

bool readers_want(struct attar_symbols *symbols, struct dso *dso)
{
	struct symbol_readers *readers = readers_of(symbols);
	bool is_own;
	uid_t user;

	if (!readers || readers->is_off)
		return false;
	if (!dso->apart.reader) {
		is_own = find_user(dso, &user);
		if (is_own && symbols->own_in_process)
			return false;
		dso->apart.reader = reader_of_user(readers, is_own, user);
	}
	return dso->apart.reader;
}

const struct dso *readers_failed(const struct attar_symbols *symbols, size_t *ret_n)
{
	const struct dso *first = NULL;

	*ret_n = 0;
	vec_each (&symbols->dsos.at, dso) {
		if (!(*dso)->apart.shown)
			continue;
		first = first ?: *dso;
		++*ret_n;
	}
	return first;
}

uint64_t readers_cpu(const struct symbol_readers *readers)
{
	uint64_t sum = 0;

	if (readers)
		vec_each (&readers->users, reader)
			sum += (*reader)->cpu_before + ((*reader)->life ? cpu_time(*reader) : 0);
	return sum;
}

void readers_add_stats(const struct symbol_readers *readers, struct attar_symbols_stats *stats)
{
	if (!readers)
		return;
	vec_each (&readers->users, reader) {
		stats->sources_read += (*reader)->sources_read;
		stats->sources_dropped += (*reader)->sources_dropped;
	}
}
