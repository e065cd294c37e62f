/* SPDX-License-Identifier: MIT */
/*
 * attar fleet --serve: the part on a host. It starts the profiler as a separate process, which
 * inherits its standard output, and ends it when standard input ends: nothing remains when the
 * requesting command has exited.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "cli/child_process.h"
#include "cli/cli.h"
#include "cli/fleet/fleet.h"

#define STOP_TIMEOUT (10 * FLEET_SECOND) /* between the signals that end the profiler */

enum { WORDS_MAX = 1 << 20, LINE_BYTES = 128, SPIN_NS = 2000000, TURN_MS = 1000 };

struct serve {
	struct buf in;
	uint64_t start; /* ns since 1970; 0: not asked to run */
	size_t n_words; /* bytes of the words that follow, if start is set */
	char *words;    /* all of them; NULL: not complete */
	pid_t child;    /* also its process group; 0: not started */
	bool stopping;
	uint64_t stop_at; /* ns, when the next signal is sent */
	int signal;       /* the next one */
	int signals;      /* signalfd */
};

static void send_line(const char *what, uint64_t number)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%s %llu\n", what, (unsigned long long)number);

	file_write_all(STDOUT_FILENO, line, (size_t)n); /* a lost connection is noticed on stdin */
}

/* ---- the profiler ---- */

/* The words as arguments; NULL: out of memory. */
static char **serve_split(char *words, size_t n)
{
	size_t count = 0, i = 1;
	char **argv;

	for (size_t at = 0; at < n; at++)
		count += !words[at];
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = (char *)"attar";
	for (char *word = words; word < words + n; word += strlen(word) + 1)
		argv[i++] = word;
	return argv;
}

static int serve_start(struct serve *s)
{
	char **argv = serve_split(s->words, s->n_words);
	pid_t pid;

	if (!argv)
		return base_oom();
	pid = child_process_start(&(struct child_process){.path = "/proc/self/exe",
		.argv = argv,
		.fds = {-1, STDOUT_FILENO, STDERR_FILENO},
		.has_own_group = true,
		.ends_with_parent = true});
	free(argv);
	if (pid < 0)
		return attar_fail(pid, "cannot start the profiler: %s", strerror(-pid));
	s->child = pid;
	send_line("started", base_realtime());
	return 0;
}

/* Signals of increasing urgency. The first one lets the profiler print its report. */
static void stop_turn(struct serve *s)
{
	if (!s->stopping || !s->child || base_now() < s->stop_at)
		return;
	if (s->signal == SIGINT)
		kill(s->child, SIGINT);
	else
		kill(-s->child, s->signal);
	s->signal = SIGKILL;
	s->stop_at = base_now() + STOP_TIMEOUT;
}

static void serve_stop(struct serve *s)
{
	if (s->stopping)
		return;
	s->stopping = true;
	s->signal = SIGINT;
	s->stop_at = 0;
}

/* ---- requests ---- */

static int take_line(struct serve *s, const char *line)
{
	unsigned long long time, n;

	if (!strcmp(line, "clock")) {
		send_line("clock", base_realtime());
	} else if (!strcmp(line, "stop")) {
		serve_stop(s);
	} else if (!s->start && sscanf(line, "run %llu %llu", &time, &n) == 2 && time && n &&
		   n <= WORDS_MAX) {
		s->start = time;
		s->n_words = n;
	} else {
		return attar_fail(-EPROTO, "attar fleet: unknown request '%s'", CLIP(line));
	}
	return 0;
}

static void serve_drop(struct buf *b, size_t n)
{
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

static int take_words(struct serve *s)
{
	s->words = malloc(s->n_words);
	if (!s->words)
		return base_oom();
	memcpy(s->words, s->in.data, s->n_words);
	serve_drop(&s->in, s->n_words);
	return s->words[s->n_words - 1]
		       ? attar_fail(-EPROTO, "attar fleet: a command line is not terminated")
		       : 0;
}

static int take_input(struct serve *s)
{
	for (;;) {
		char *end, line[LINE_BYTES];
		size_t n;
		int r;

		if (s->start && !s->words) {
			if (s->in.len < s->n_words)
				return 0;
			r = take_words(s);
			if (r < 0)
				return r;
			continue;
		}
		end = memchr(buf_text(&s->in), '\n', s->in.len);
		n = end ? (size_t)(end - s->in.data) : s->in.len;
		if (n >= sizeof(line))
			return attar_fail(-EPROTO, "attar fleet: a request is too long");
		if (!end)
			return 0;
		memcpy(line, s->in.data, n);
		line[n] = '\0';
		serve_drop(&s->in, n + 1);
		r = take_line(s, line);
		if (r < 0)
			return r;
	}
}

/* Returns 0, -EPIPE at the end of standard input, or another negative errno. */
static int read_requests(struct serve *s)
{
	char bytes[4096];
	ssize_t n = TEMP_FAILURE_RETRY(read(STDIN_FILENO, bytes, sizeof(bytes)));

	if (n <= 0)
		return -EPIPE;
	buf_add(&s->in, bytes, (size_t)n);
	return buf_failed(&s->in) ? base_oom() : take_input(s);
}

/* ---- the loop ---- */

/* How long to wait for the next action, ms. */
static int wait_ms(const struct serve *s)
{
	uint64_t now = base_realtime(), left;

	if (s->stopping)
		return 100;
	if (!s->words || s->child)
		return TURN_MS;
	left = s->start > now ? s->start - now : 0;
	return left > SPIN_NS ? (int)MIN((left - SPIN_NS) / 1000000, (uint64_t)TURN_MS) : 0;
}

/* Starts the profiler if it is time, to the microsecond. */
static int start_if_due(struct serve *s)
{
	struct timespec due = {.tv_sec = (time_t)(s->start / FLEET_SECOND),
		.tv_nsec = (long)(s->start % FLEET_SECOND)};

	if (!s->words || s->child || s->stopping || base_realtime() + 2 * SPIN_NS < s->start)
		return 0;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL);
	return serve_start(s);
}

/* The status of the profiler as a shell has it; -1: it runs. */
static int status_of_child(struct serve *s)
{
	struct signalfd_siginfo info;
	int status;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			serve_stop(s);
	if (!s->child)
		return s->stopping ? 128 + SIGINT : -1;
	if (waitpid(s->child, &status, WNOHANG) != s->child)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int serve(struct serve *s)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = s->signals, .events = POLLIN}};
	int r = 0, status;

	while ((status = status_of_child(s)) < 0) {
		poll(fds, ARRAY_SIZE(fds), wait_ms(s));
		if (fds[0].revents)
			r = read_requests(s);
		if (r == 0)
			r = start_if_due(s);
		if (r < 0) {
			serve_stop(s);
			fds[0].fd = -1;
			fds[0].revents = 0;
			if (r != -EPIPE)
				report_error(STATUS_FAILED);
			r = 0;
		}
		stop_turn(s);
	}
	if (s->child && s->stopping) /* what its command has left */
		kill(-s->child, SIGKILL);
	send_line("\nended", (uint64_t)status);
	return status;
}

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int fleet_serve(void)
{
	struct serve s = {.signals = take_signals()};
	char greeting[LINE_BYTES];
	int n = snprintf(
		greeting, sizeof(greeting), "attar-fleet %d %s\n", FLEET_PROTOCOL, attar_version());
	int status;

	file_write_all(STDOUT_FILENO, greeting, (size_t)n);
	status = serve(&s);
	close(s.signals);
	buf_done(&s.in);
	free(s.words);
	return status;
}
