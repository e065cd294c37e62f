/* SPDX-License-Identifier: MIT */
#include "cli/agent/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "base/parse.h"
#include "cli/agent/box_keys.h"
#include "cli/child_process.h"

#define SECOND        UINT64_C(1000000000)
#define BACKOFF_FIRST SECOND
#define BACKOFF_MAX   (300 * SECOND)
#define KILL_TIMEOUT  (10 * SECOND) /* between SIGTERM and SIGKILL */

enum { LINE_MAX_BYTES = 1000, OWN_WORDS = 8 };

/* ---- the frequency in a command line ---- */

/*
 * The value of -F in the words at *at, which is moved to the last word of it; NULL: another word.
 */
static const char *freq_value(char **words, size_t *at)
{
	static const char name[] = "--freq";
	const char *word = words[*at];

	if (!strcmp(word, "-F") || !strcmp(word, name))
		return words[*at + 1] ? words[++*at] : NULL;
	if (!strncmp(word, "-F", 2))
		return word + 2;
	return !strncmp(word, "--freq=", sizeof(name)) ? word + sizeof(name) : NULL;
}

static uint64_t find_freq(char **words)
{
	uint64_t freq = 0;

	for (size_t i = 0; words[i]; i++) {
		const char *value = freq_value(words, &i);

		if (value && parse_u64(value, &freq) < 0)
			attar_error_clear(); /* such as "max": it is not lowered */
	}
	return freq;
}

uint64_t agent_child_freq(const struct agent_child *c)
{
	uint64_t freq = c->freq >> c->halved;

	return c->freq ? MAX(freq, UINT64_C(1)) : 0;
}

/* ---- life ---- */

static int copy_words(struct agent_child *c, char *const *words)
{
	size_t bytes = 0, n = 0;
	char *to;

	for (; words[n]; n++)
		bytes += strlen(words[n]) + 1;
	to = c->copy = malloc(bytes);
	c->words = calloc(n + 1, sizeof(*c->words));
	if (!c->copy || !c->words)
		return base_oom();
	for (size_t i = 0; i < n; i++) {
		c->words[i] = to;
		to = stpcpy(to, words[i]) + 1;
	}
	return 0;
}

int agent_child_new(
	const struct agent_section *s, const char *directory, struct agent_child **ret_child)
{
	struct agent_child *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return base_oom();
	c->log = -1;
	c->backoff = BACKOFF_FIRST;
	snprintf(c->name, sizeof(c->name), "%s", s->name);
	r = copy_words(c, s->words);
	c->run = strdup(s->run);
	if (r < 0 || !c->run || asprintf(&c->metrics, "%s/%s.prom", directory, s->name) < 0) {
		c->metrics = NULL;
		agent_child_free(c);
		return base_oom();
	}
	c->freq = find_freq(c->words);
	*ret_child = c;
	return 0;
}

void agent_child_succeed(struct agent_child *c, struct agent_child *former)
{
	c->starts = former->starts;
	c->failures = c->checked_failures = former->failures;
	c->cpu_ended_ns = c->cpu_ns = c->checked_ns = former->cpu_ns;
	former->passed_ns = former->cpu_ns;
	memcpy(c->steps, former->steps, sizeof(c->steps));
}

/* CPU time of the former process: only its successor is compared with the limits. */
void agent_child_add_rest(struct agent_child *c, const struct agent_child *former)
{
	uint64_t rest = former->cpu_ns - former->passed_ns;

	c->cpu_ended_ns += rest;
	c->cpu_ns += rest;
	c->checked_ns += rest;
}

void agent_child_free(struct agent_child *c)
{
	if (c->log >= 0)
		close(c->log);
	buf_done(&c->line);
	buf_done(&c->message);
	free(c->run);
	free(c->words);
	free(c->copy);
	free(c->metrics);
	free(c);
}

/* ---- the process ---- */

/* The configured words, with those that the agent adds. NULL: out of memory. */
static char **list_words(const struct agent_child *c, char *freq)
{
	size_t n = 0;
	char **words;

	while (c->words[n])
		n++;
	words = calloc(n + 1 + OWN_WORDS, sizeof(*words));
	if (!words)
		return NULL;
	n = 0;
	words[n++] = (char *)"attar";
	for (size_t i = 0; c->words[i]; i++) {
		size_t last = i;

		/* options that are given twice are not the same for all profilers */
		if (c->halved && freq_value(c->words, &last))
			i = last;
		else
			words[n++] = c->words[i];
	}
	if (c->halved) {
		words[n++] = (char *)"-F";
		words[n++] = freq;
	}
	if (agent_box_is(c->words)) /* it says on stderr which files it writes */
		return words;
	words[n++] = (char *)"--append"; /* a restart keeps earlier reports */
	words[n++] = (char *)"-q";
	words[n++] = (char *)"-o";
	words[n++] = c->metrics;
	return words;
}

static void failed_to_start(struct agent_child *c, const char *what)
{
	log_warn("[%s] cannot start: %s: %s", c->name, what, strerror(errno));
	c->failures++;
	c->state = AGENT_WAITS;
	c->due = base_now() + c->backoff;
	c->backoff = MIN(2 * c->backoff, BACKOFF_MAX);
}

void agent_child_start(struct agent_child *c)
{
	char freq[24];
	char **words;
	int ends[2];
	pid_t pid;

	snprintf(freq, sizeof(freq), "%llu", (unsigned long long)agent_child_freq(c));
	words = list_words(c, freq);
	if (!words || pipe2(ends, O_CLOEXEC) < 0) {
		failed_to_start(c, words ? "pipe" : "command line");
		free(words);
		return;
	}
	pid = child_process_start(&(struct child_process){.path = "/proc/self/exe",
		.argv = words,
		.fds = {-1, -1, ends[1]},
		.has_own_group = true,
		.ends_with_parent = true});
	free(words);
	close(ends[1]);
	if (pid < 0) {
		errno = -pid;
		close(ends[0]);
		failed_to_start(c, "fork");
		return;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	c->pid = pid;
	c->log = ends[0];
	c->state = AGENT_RUNS;
	c->started = base_now();
	c->checks = 0;
	c->ending = false;
	c->kill_at = 0;
	buf_reset(&c->message);
	c->starts++;
}

void agent_child_stop(struct agent_child *c)
{
	if (!c->pid || c->ending)
		return;
	c->ending = true;
	c->kill_at = base_now() + KILL_TIMEOUT;
	kill(c->pid, SIGTERM);
}

void agent_child_hurry(struct agent_child *c)
{
	if (!c->pid || !c->kill_at || base_now() < c->kill_at)
		return;
	log_warn("[%s] did not exit within 10 s: killing it", c->name);
	kill(c->pid, SIGKILL);
	c->kill_at = base_now() + KILL_TIMEOUT;
}

/* ---- its log ---- */

/* Logs the lines of a text. */
static void log_lines(const struct agent_child *c, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		log_note("[%s] %.*s", c->name, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void log_message(struct agent_child *c)
{
	if (!c->is_logged)
		log_lines(c, buf_text(&c->message));
	c->is_logged = true;
}

/* Lines that begin with a blank show a place in a text, below the message. */
static void take_line(struct agent_child *c, const char *text)
{
	if (*text != ' ' || c->is_logged || !c->message.len || c->message.len > LINE_MAX_BYTES) {
		log_message(c);
		buf_reset(&c->message);
		c->is_logged = false;
		c->heard = base_now();
	} else {
		buf_char(&c->message, '\n');
	}
	buf_str(&c->message, text);
}

static void end_line(struct agent_child *c)
{
	static const char program[] = "attar: ";
	const char *text = buf_text(&c->line);

	if (!strncmp(text, program, sizeof(program) - 1))
		text += sizeof(program) - 1;
	if (*text)
		take_line(c, text);
	buf_reset(&c->line);
}

void agent_child_read_log(struct agent_child *c)
{
	char bytes[4096];
	ssize_t n;

	if (c->log < 0)
		return; /* its message was logged at its end */
	while ((n = TEMP_FAILURE_RETRY(read(c->log, bytes, sizeof(bytes)))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] == '\n' || c->line.len >= LINE_MAX_BYTES)
				end_line(c);
			if (bytes[i] != '\n')
				buf_char(&c->line, bytes[i]);
		}
	if (n == 0) {
		end_line(c);
		close(TAKE_FD(c->log));
	}
	if (base_now() - c->heard > SECOND)
		log_message(c);
}

/* ---- its end ---- */

/* Why it ended, without the lines below the message. */
static void describe(struct buf *b, const struct agent_child *c, int status)
{
	const char *message = buf_text(&c->message);

	if (WIFSIGNALED(status))
		buf_printf(b, "was killed by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else if (!WEXITSTATUS(status))
		buf_str(b, "exited");
	else
		buf_printf(b, "failed with status %d%s%.*s", WEXITSTATUS(status),
			*message ? ": " : "", (int)strcspn(message, "\n"), message);
}

/* The message that is the reason is logged once, with the lines below it. */
static void log_end(struct agent_child *c, int status)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *below;

	if (WIFSIGNALED(status) || !WEXITSTATUS(status))
		log_message(c);
	describe(&text, c, status);
	log_warn("[%s] %s; restarting in %llu s", c->name, buf_text(&text),
		(unsigned long long)(c->backoff / SECOND));
	below = strchr(buf_text(&c->message), '\n');
	if (below && !c->is_logged)
		log_lines(c, below + 1);
	c->is_logged = true;
}

/* One that ran for longer than the longest wait has recovered. */
static void plan_restart(struct agent_child *c, int status)
{
	if (base_now() - c->started > BACKOFF_MAX)
		c->backoff = BACKOFF_FIRST;
	c->failures++;
	c->due = base_now() + c->backoff;
	log_end(c, status);
	c->backoff = MIN(2 * c->backoff, BACKOFF_MAX);
}

void agent_child_ended(struct agent_child *c, int status, uint64_t cpu_ns)
{
	agent_child_read_log(c);
	if (c->log >= 0) /* a process that it started holds the pipe */
		close(TAKE_FD(c->log));
	c->pid = 0;
	c->kill_at = 0;
	/* clocks differ, and readers may end later: it never goes back */
	c->cpu_ns = MAX(c->cpu_ns, c->cpu_ended_ns + cpu_ns);
	c->cpu_ended_ns = c->cpu_ns;
	c->rss = 0;
	unlink(c->metrics);
	if (c->state == AGENT_RUNS)
		c->state = AGENT_WAITS;
	if (c->ending)
		log_message(c);
	else
		plan_restart(c, status);
	if (c->ending && c->state == AGENT_WAITS)
		c->due = 0;
	c->ending = false;
}

/* ---- what it costs ---- */

static uint64_t resident_bytes(pid_t pid)
{
	struct buf b _cleanup_(buf_done) = {0};
	unsigned long long size, resident;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (file_read(path, 4096, &b) < 0) {
		attar_error_clear();
		return 0;
	}
	if (sscanf(buf_text(&b), "%llu %llu", &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t running_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* The CPU time of processes that this one started and that have ended. */
static uint64_t ended_ns(pid_t pid)
{
	struct buf b _cleanup_(buf_done) = {0};
	unsigned long long user = 0, system = 0;
	const char *name_end;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &b) < 0)
		attar_error_clear();
	else if ((name_end = strrchr(buf_text(&b), ')')))
		sscanf(name_end, ") %*c%*d%*d%*d%*d%*d%*u%*u%*u%*u%*u%*u%*u%llu%llu", &user,
			&system);
	return (user + system) * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Adds the readers of a profiler, processes that parse files for it. */
static void add_readers(pid_t pid, uint64_t *cpu_ns, uint64_t *rss)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *next;
	char path[64], *end;
	pid_t reader;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (file_read(path, 4096, &b) < 0) {
		attar_error_clear();
		return;
	}
	for (next = buf_text(&b); (reader = (pid_t)strtol(next, &end, 10)) > 0; next = end) {
		*cpu_ns += running_ns(reader);
		*rss += resident_bytes(reader);
	}
}

void agent_child_measure(struct agent_child *c)
{
	uint64_t cpu_ns, rss;

	if (!c->pid)
		return;
	cpu_ns = running_ns(c->pid);
	rss = resident_bytes(c->pid);
	if (c->pid != getpid()) {
		cpu_ns += ended_ns(c->pid);
		add_readers(c->pid, &cpu_ns, &rss);
	}
	c->cpu_ns = MAX(c->cpu_ns, c->cpu_ended_ns + cpu_ns);
	c->rss = rss;
}
