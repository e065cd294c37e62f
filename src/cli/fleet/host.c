/* SPDX-License-Identifier: MIT */
/* A host of attar fleet: the process of ssh, and the protocol on its pipes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "base/escape.h"
#include "base/words.h"
#include "cli/child_process.h"
#include "cli/cli.h"
#include "cli/fleet/fleet.h"

enum {
	SSH_WORDS_MAX = 64,
	CLOCKS = 8,      /* times that the clock is asked; the fastest answer counts */
	NOISE_MAX = 100, /* lines of a login shell before the first one of attar */
	LINE_MAX_BYTES = 1000,
	COPY_BYTES = 1 << 16,
	SECTIONS_MAX = 256, /* of a report */
	COLUMNS_MAX = 2048, /* of a section */
	REMARKS_MAX = 256,  /* of a report */
	MESSAGES_MAX = 64,  /* that are shown at once, and one more each second */
	READS_MAX = 64,     /* at a turn, so that each host has its turn */
};

/* ---- its end ---- */

static void close_pipe(int *fd)
{
	if (*fd >= 0)
		close(TAKE_FD(*fd));
}

static void ATTAR_PRINTF(2, 3) explain(struct fleet_host *h, const char *fmt, ...)
{
	struct buf b _cleanup_(buf_done) = {0};
	char text[sizeof(h->reason)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	escape_text(&b, text, strlen(text));
	snprintf(h->reason, sizeof(h->reason), "%s", buf_text(&b));
}

/* Further output of the host is ignored. */
static void host_end(struct fleet_host *h, enum fleet_state state)
{
	h->state = state;
	if (h->pid)
		kill(-h->pid, SIGTERM);
	close_pipe(&h->in);
	close_pipe(&h->out);
}

void fleet_host_give_up(struct fleet_host *h, const char *reason)
{
	explain(h, "%s", reason);
	host_end(h, FLEET_TIMED_OUT);
}

static void refuse(struct fleet_host *h, const char *reason)
{
	explain(h, "%s", reason);
	host_end(h, FLEET_FAILED);
}

/* ---- ssh ---- */

/* Quotes for shells: 'it'\''s'. */
static void quote(struct buf *b, const char *text)
{
	buf_char(b, '\'');
	for (; *text; text++)
		if (*text == '\'')
			buf_str(b, "'\\''");
		else
			buf_char(b, *text);
	buf_char(b, '\'');
}

/*
 * The command on the host. Its login shell may be any: it only sees words in single quotes, without
 * what csh and fish replace there. $0 is the path of attar, $1 the size of the copy.
 */
static void remote_command(struct buf *b, const struct fleet_order *order)
{
	static const char script[] =
		"command -v \"$0\" >/dev/null && exec \"$0\" fleet --serve; echo attar-missing; "
		"[ \"$1\" -gt 0 ] || exit 127; d=$(mktemp -d) || exit 126; "
		"head -c \"$1\" >\"$d/attar\" && [ $(wc -c <\"$d/attar\") -eq \"$1\" ] && "
		"chmod 700 \"$d/attar\" && \"$d/attar\" fleet --serve; s=$?; "
		"rm -r \"$d\"; exit $s";

	buf_str(b, "exec /bin/sh -c ");
	quote(b, script);
	buf_char(b, ' ');
	quote(b, order->attar);
	buf_printf(b, " %llu", (unsigned long long)order->copy_size);
}

static int spawn(struct fleet_host *h, char *const *argv)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
	int r = 0;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		r = -errno;
	if (r == 0)
		r = child_process_start(&(struct child_process){.path = argv[0],
			.argv = argv,
			.fds = {in[0], out[1], err[1]},
			.has_own_group = true,
			.failure = "ssh cannot be executed: install openssh-client, or use "
				   "--ssh CMD\n"});
	close_pipe(&in[0]);
	close_pipe(&out[1]);
	close_pipe(&err[1]);
	h->in = in[1];
	h->out = out[0];
	h->err = err[0];
	if (r < 0)
		return r;
	h->pid = r;
	for (size_t i = 0; i < 3; i++)
		fcntl((int[]){h->in, h->out, h->err}[i], F_SETFL, O_NONBLOCK);
	return 0;
}

static int start_ssh(struct fleet_host *h)
{
	static const char *const options[] = {"-T", "-a", "-x", "-o", "BatchMode=yes", "-o",
		"ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "--"};
	char *words[SSH_WORDS_MAX + ARRAY_SIZE(options) + 3] = {0};
	struct buf command _cleanup_(buf_done) = {0};
	char *ssh _cleanup_free_ = strdup(h->order->ssh);
	int n;

	remote_command(&command, h->order);
	if (!ssh || buf_failed(&command))
		return -ENOMEM;
	n = words_split(ssh, words, SSH_WORDS_MAX); /* checked by fleet_args_take() */
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		words[n++] = (char *)(uintptr_t)options[i];
	words[n++] = (char *)(uintptr_t)h->name;
	words[n] = command.data;
	return spawn(h, words);
}

static int start_here(struct fleet_host *h)
{
	static const char *const words[] = {"/proc/self/exe", "fleet", "--serve", NULL};

	return spawn(h, (char *const *)(uintptr_t)words);
}

void fleet_host_start(
	struct fleet_host *h, const char *name, bool is_pulled, const struct fleet_order *order)
{
	int r;

	*h = (struct fleet_host){.name = name,
		.is_pulled = is_pulled,
		.order = order,
		.in = -1,
		.out = -1,
		.err = -1,
		.error_ns = UINT64_MAX};
	r = is_pulled ? start_here(h) : start_ssh(h);
	if (r < 0) {
		explain(h, "cannot start %s: %s", is_pulled ? "attar" : "ssh", strerror(-r));
		host_end(h, FLEET_FAILED);
		close_pipe(&h->err);
	}
}

/* ---- requests ---- */

static void ask_clock(struct fleet_host *h)
{
	buf_str(&h->to_host, "clock\n");
	h->asked = base_realtime();
	fleet_host_write(h);
}

void fleet_host_run(struct fleet_host *h, uint64_t start)
{
	const struct buf *words = &h->order->words;
	static const char option[] = "--pull";
	size_t more = h->is_pulled ? sizeof(option) + strlen(h->name) + 1 : 0;

	h->state = FLEET_RUNS;
	h->start = start + (uint64_t)h->offset;
	buf_printf(&h->to_host, "run %llu %zu\n", (unsigned long long)h->start, words->len + more);
	buf_add(&h->to_host, words->data, words->len);
	if (h->is_pulled) {
		buf_add(&h->to_host, option, sizeof(option));
		buf_add(&h->to_host, h->name, strlen(h->name) + 1);
	}
	fleet_host_write(h);
}

void fleet_host_stop(struct fleet_host *h)
{
	if (h->stopping || !fleet_host_is_live(h))
		return;
	h->stopping = true;
	if (h->state < FLEET_RUNS) {
		refuse(h, "stopped before it was started");
		return;
	}
	buf_str(&h->to_host, "stop\n");
	fleet_host_write(h);
}

bool fleet_host_has_output(const struct fleet_host *h)
{
	return h->in >= 0 && (h->to_host.len || h->state == FLEET_COPIES);
}

/* The next bytes of the copy. */
static void fill_copy(struct fleet_host *h)
{
	const struct fleet_order *order = h->order;
	char bytes[COPY_BYTES];
	ssize_t n = pread(order->copy_fd, bytes, MIN(sizeof(bytes), order->copy_size - h->copied),
		(off_t)h->copied);

	if (n <= 0) {
		refuse(h, "the file of --copy cannot be read, or was truncated");
		return;
	}
	buf_add(&h->to_host, bytes, (size_t)n);
	h->copied += (uint64_t)n;
	if (h->copied == order->copy_size)
		h->state = FLEET_CONNECTS; /* attar says that it is ready */
}

void fleet_host_write(struct fleet_host *h)
{
	ssize_t n;

	if (!h->to_host.len && h->state == FLEET_COPIES)
		fill_copy(h);
	if (h->in < 0 || !h->to_host.len)
		return;
	n = write(h->in, h->to_host.data, h->to_host.len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		close_pipe(&h->in); /* the end of its output says why */
	if (n <= 0)
		return;
	memmove(h->to_host.data, h->to_host.data + n, h->to_host.len - (size_t)n);
	h->to_host.len -= (size_t)n;
}

/* ---- answers ---- */

static void take_clock(struct fleet_host *h, uint64_t time)
{
	uint64_t now = base_realtime(), trip = now - h->asked;

	if (!h->asked || now < h->asked)
		trip = UINT64_MAX - 1; /* the local clock was set back meanwhile */
	if (trip / 2 < h->error_ns) {
		h->error_ns = trip / 2;
		h->offset = (int64_t)(time - h->asked - trip / 2);
	}
	h->asked = 0;
	if (++h->clocks < CLOCKS)
		ask_clock(h);
	else
		h->state = FLEET_READY;
}

static void take_greeting(struct fleet_host *h, const char *version)
{
	if (atoi(version) != FLEET_PROTOCOL)
		refuse(h, "its attar has another version of the protocol: install the same version "
			  "of attar, or use --attar PATH");
	else if (!h->clocks && !h->asked)
		ask_clock(h);
}

static void take_missing(struct fleet_host *h)
{
	if (!h->order->copy || h->copied)
		refuse(h, "attar is not installed there: use --copy FILE to copy a static one for "
			  "this run, or --attar PATH if it is not in PATH");
	else if (h->state == FLEET_CONNECTS)
		h->state = FLEET_COPIES;
}

/* Why a report is refused. Sections and columns of hosts are matched one by one. */
static const char *report_defect(const struct attar_report *report)
{
	const struct attar_section *section;

	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++) {
		if (i == SECTIONS_MAX || attar_section_get_columns(section) > COLUMNS_MAX)
			return "its report has too many sections or columns";
		if (!strcmp(attar_section_get_name(section), FLEET_TABLE))
			return "its report has a table of hosts, as only attar fleet makes it";
	}
	if (attar_report_get_remark(report, REMARKS_MAX))
		return "its report has too many remarks";
	return NULL;
}

static int take_report(struct fleet_host *h, const char *line, size_t n)
{
	struct attar_report *report;
	struct attar_notes notes = {0};
	const char *defect;
	int r = attar_report_read_json(line, n, &report);

	if (r < 0) {
		attar_error_clear();
		refuse(h, r == -ENOMEM ? "no memory for its report"
				       : "it sent something that is not a report of attar");
		return r;
	}
	defect = report_defect(report);
	if (defect) {
		refuse(h, defect);
		attar_report_free(report);
		return -E2BIG;
	}
	if (h->behind) {
		h->behind--;
		h->skipped++;
		attar_report_free(report);
		return 0;
	}
	if (!h->reports.n)
		h->waiting_since = base_now();
	h->n_reports++;
	if (attar_report_get_notes(report, &notes) == 0) {
		h->seen += notes.seen;
		h->lost += notes.lost;
	}
	if (vec_push(&h->reports, report) < 0)
		attar_report_free(report);
	return 0;
}

/* The number after a word of the protocol; false: it is another line. */
static bool take_number(const char *line, const char *word, uint64_t *ret_number)
{
	size_t n = strlen(word);
	char *end;

	if (strncmp(line, word, n) != 0 || line[n] < '0' || line[n] > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(line + n, &end, 10);
	return !*end && !errno;
}

static void take_noise(struct fleet_host *h, const char *line)
{
	if (!h->noise)
		snprintf(h->first_noise, sizeof(h->first_noise), "%s", CLIP(line));
	if (++h->noise > NOISE_MAX)
		refuse(h, "it does not follow the protocol of attar: does its shell print text "
			  "when it starts?");
}

static void take_line(struct fleet_host *h, const char *line, size_t n)
{
	static const char greeting[] = "attar-fleet ";
	uint64_t number;

	if (!n)
		return;
	if (h->has_started && *line == '{')
		take_report(h, line, n);
	else if (h->state == FLEET_CONNECTS && !strncmp(line, greeting, sizeof(greeting) - 1))
		take_greeting(h, line + sizeof(greeting) - 1);
	else if (h->state == FLEET_CONNECTS && !strcmp(line, "attar-missing"))
		take_missing(h);
	else if (h->asked && take_number(line, "clock ", &number))
		take_clock(h, number);
	else if (h->state == FLEET_RUNS && !h->has_started &&
		 take_number(line, "started ", &number)) {
		h->has_started = true;
		h->late = (int64_t)(number - h->start);
	} else if (h->has_started && take_number(line, "ended ", &number)) {
		h->has_ended = true;
		h->status = (int)MIN(number, (uint64_t)255);
	} else {
		take_noise(h, line);
	}
}

/* Takes the complete lines. Returns false if the host has been refused. */
static bool take_lines(struct fleet_host *h, size_t from)
{
	char *line = h->line.data, *end = h->line.data + h->line.len, *newline;

	while ((newline = memchr(line + from, '\n', (size_t)(end - line) - from))) {
		*newline = '\0';
		take_line(h, line, (size_t)(newline - line));
		line = newline + 1;
		from = 0;
		if (!fleet_host_is_live(h))
			return false;
	}
	h->line.len = (size_t)(end - line);
	memmove(h->line.data, line, h->line.len);
	if (h->line.len > (size_t)(h->has_started ? FLEET_REPORT_MAX : LINE_MAX_BYTES)) {
		refuse(h, "it sent a line that is too long");
		return false;
	}
	return true;
}

void fleet_host_read(struct fleet_host *h)
{
	char bytes[1 << 16];
	ssize_t n = 0;

	for (int i = 0; i < READS_MAX && h->reports.n < FLEET_QUEUE_MAX; i++) {
		size_t from = h->line.len;

		n = h->out < 0 ? -1 : TEMP_FAILURE_RETRY(read(h->out, bytes, sizeof(bytes)));
		if (n <= 0)
			break;
		buf_add(&h->line, bytes, (size_t)n);
		if (buf_failed(&h->line)) {
			refuse(h, "no memory for its report");
			return;
		}
		if (!take_lines(h, from))
			return;
	}
	if (n == 0)
		close_pipe(&h->out);
}

/* ---- messages ---- */

/* A host can send messages without end. */
static void show_message(struct fleet_host *h, const char *text)
{
	uint64_t now = base_now();

	if (!h->messages)
		h->first_message = now;
	if (h->messages > MESSAGES_MAX + (now - h->first_message) / FLEET_SECOND)
		return;
	if (++h->messages <= MESSAGES_MAX)
		log_note("%s: %s", h->name, text);
	else
		log_note("%s: %s (it sends many messages: most are not shown)", h->name, text);
}

/* The last one is the reason if the host fails. Lines that begin with a blank explain others. */
static void take_message(struct fleet_host *h)
{
	static const char program[] = "attar: ";
	const char *text = buf_text(&h->error);

	h->error.len -= h->error.len && text[h->error.len - 1] == '\r';
	if (h->error.len) {
		h->error.data[h->error.len] = '\0';
		if (!strncmp(text, program, sizeof(program) - 1))
			text += sizeof(program) - 1;
		show_message(h, text);
		if (fleet_host_is_live(h) && (*text != ' ' || !*h->reason))
			explain(h, "%s", text);
	}
	buf_reset(&h->error);
}

void fleet_host_read_errors(struct fleet_host *h)
{
	char bytes[4096];
	ssize_t n = -1;

	for (int turn = 0; turn < READS_MAX; turn++) {
		n = h->err < 0 ? -1 : TEMP_FAILURE_RETRY(read(h->err, bytes, sizeof(bytes)));
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] == '\n' || h->error.len >= LINE_MAX_BYTES)
				take_message(h);
			if (bytes[i] != '\n')
				buf_char(&h->error, bytes[i] ?: ' ');
		}
	}
	if (n == 0) {
		take_message(h);
		close_pipe(&h->err);
	}
}

/* ---- the end of ssh ---- */

/* Why it failed, if its last message does not say so. */
static void explain_failure(struct fleet_host *h, int status)
{
	char last[sizeof(h->reason)];

	memcpy(last, h->reason, sizeof(last));
	if (!h->has_ended && h->has_started)
		explain(h, "the connection was closed before the profiler ended%s%s",
			*last ? "; its last message: " : "", last);
	else if (*last)
		return;
	else if (h->has_ended)
		explain(h, "attar exited with status %d", h->status);
	else if (WIFSIGNALED(status))
		explain(h, "ssh was killed by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else if (h->noise)
		explain(h,
			"its output is not that of attar, beginning with '%s': does its shell "
			"print text, or run another command?",
			h->first_noise);
	else
		explain(h, "ssh exited with status %d", WEXITSTATUS(status));
}

/* An incomplete line at the end is not of the protocol. */
static void take_rest(struct fleet_host *h)
{
	if (h->line.len && !h->has_started)
		take_noise(h, buf_text(&h->line));
}

static void conclude(struct fleet_host *h, int status)
{
	bool failed = !h->has_ended || (h->status && !(h->order->has_command && h->n_reports));

	take_rest(h);
	if (failed)
		explain_failure(h, status);
	else if (h->status)
		explain(h, "the command exited with status %d", h->status);
	else
		h->reason[0] = '\0';
	host_end(h, failed ? FLEET_FAILED : FLEET_ENDED);
}

void fleet_host_check(struct fleet_host *h)
{
	int status;

	if (!h->pid || (fleet_host_is_live(h) && h->out >= 0))
		return;
	if (waitpid(h->pid, &status, WNOHANG) != h->pid)
		return;
	h->pid = 0;
	fleet_host_read_errors(h);
	if (fleet_host_is_live(h))
		conclude(h, status);
	close_pipe(&h->err); /* a process in the background may hold it */
}

void fleet_host_done(struct fleet_host *h)
{
	close_pipe(&h->in);
	close_pipe(&h->out);
	close_pipe(&h->err);
	if (h->pid) {
		kill(-h->pid, SIGKILL);
		TEMP_FAILURE_RETRY(waitpid(h->pid, NULL, 0));
	}
	vec_each (&h->reports, report)
		attar_report_free(*report);
	vec_done(&h->reports);
	buf_done(&h->to_host);
	buf_done(&h->line);
	buf_done(&h->error);
}
