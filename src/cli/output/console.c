/* SPDX-License-Identifier: MIT */
/* stderr: log messages of the library, and a progress line on terminals. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/base.h"
#include "base/escape.h"
#include "cli/cli.h"
#include "cli/perf_prof.h"

enum { LINE_MAX_BYTES = 2048, HELD_MAX = 32 };

static struct {
	bool quiet, verbose, progress_shown;
	/* Under the name perf-prof: remarks, which are printed if the command fails. */
	char *held[HELD_MAX];
	size_t n_held;
} console;

/* The width of the terminal; 0 if fd is not a terminal. */
static unsigned columns_of(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return 80;
	return size.ws_col;
}

/* The height of the terminal; 0: unknown. */
static unsigned lines_of(int fd)
{
	struct winsize size;

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

/* Whether fd is a terminal that understands escape sequences. */
static bool has_escape_sequences(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb");
}

static bool has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return has_escape_sequences(fd) && !(no_color && *no_color);
}

/* Whether the locale names a character set other than UTF-8. */
static bool is_ascii(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return !strcasestr(locale, "utf-8") && !strcasestr(locale, "utf8");
	}
	return false;
}

void console_fit(struct attar_render_opts *opts)
{
	opts->columns = columns_of(STDOUT_FILENO);
	opts->colour = has_colour(STDOUT_FILENO);
	opts->ascii = opts->columns && is_ascii();
	opts->lines = lines_of(STDOUT_FILENO);
}

bool console_redraws(void)
{
	return has_escape_sequences(STDOUT_FILENO);
}

void console_clear(void)
{
	if (!console.progress_shown)
		return;
	fputs("\r\033[K", stderr);
	console.progress_shown = false;
}

/*
 * The length of the message before its excerpt: the last two lines, if the second is a caret below
 * the first. Other newlines come from names and are escaped.
 */
static size_t message_span(const char *text, size_t n)
{
	size_t at = n;

	if (!n || text[n - 1] != '^')
		return n;
	for (unsigned lines = 0; at && lines < 2;)
		lines += text[--at] == '\n';
	return at ? at : n;
}

/* Allocates nothing, because it also reports ENOMEM. Escaping makes at most 4 bytes of one. */
static void print_line(const char *text)
{
	char storage[4 * LINE_MAX_BYTES + 1];
	struct buf b = {.data = storage, .size = sizeof(storage)};
	size_t n = strnlen(text, LINE_MAX_BYTES), line = message_span(text, n);

	console_clear();
	storage[0] = '\0';
	escape_text(&b, text, line);
	for (size_t at = line; at < n; at += line) {
		buf_char(&b, '\n');
		line = strcspn(text + ++at, "\n");
		escape_text(&b, text + at, line);
	}
	fprintf(stderr, "attar: %s\n", buf_text(&b));
}

/* Keeps the first remarks, which explain most of a failure. */
static void hold(const char *text)
{
	char *copy = console.n_held < HELD_MAX ? strdup(text) : NULL;

	if (copy)
		console.held[console.n_held++] = copy;
}

static void print_held(void)
{
	for (size_t i = 0; i < console.n_held; i++) {
		print_line(console.held[i]);
		free(console.held[i]);
	}
	console.n_held = 0;
}

static void take_log(void *ctx, enum attar_level level, const char *text)
{
	if (perf_prof_hides(text) && !console.verbose && level != ATTAR_DEBUG) {
		hold(text);
		return;
	}
	if (level == ATTAR_DEBUG ? console.verbose : level == ATTAR_WARN || !console.quiet)
		print_line(text);
}

/*
 * If stdin, stdout or stderr is closed, the next file or event that is opened would get its number
 * and would be read or written as if it were the terminal. Opens /dev/null there, in the mode in
 * which reads of stdin and writes to stdout and stderr fail.
 */
static void occupy_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void console_init(void)
{
	occupy_standard_files();
	attar_log_set(take_log, NULL);
}

void console_mode(bool quiet, bool verbose)
{
	console.quiet = quiet;
	console.verbose = verbose;
}

static void show_progress(const char *text)
{
	unsigned columns = columns_of(STDERR_FILENO);

	if (console.quiet || !columns || !has_escape_sequences(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%.*s\033[K", (int)columns - 1, text);
	console.progress_shown = true;
}

void console_opening(void *ctx, uint64_t done, uint64_t all)
{
	char storage[160];
	struct buf text = {.data = storage, .size = sizeof(storage)};

	(void)ctx;
	buf_str(&text, "opening events: ");
	buf_grouped(&text, done);
	buf_str(&text, " of ");
	buf_grouped(&text, all);
	show_progress(buf_text(&text));
}

void console_progress(void *ctx, uint64_t elapsed_ns, uint64_t seen, uint64_t lost)
{
	char text[160];

	snprintf(text, sizeof(text),
		"%llu s, %llu event%s, %llu lost; press Ctrl-C to stop and print the report",
		(unsigned long long)(elapsed_ns / 1000000000), (unsigned long long)seen,
		PLURAL_S(seen), (unsigned long long)lost);
	show_progress(text);
}

enum status status_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return STATUS_PERMISSION;
	case -EOPNOTSUPP:
	case -ENOSYS:
		return STATUS_UNSUPPORTED;
	case -EINVAL:
	case -ERANGE:
		return STATUS_USAGE;
	default:
		return STATUS_FAILED;
	}
}

int print_buf(const struct buf *text)
{
	if (buf_failed(text)) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	fputs(buf_text(text), stdout);
	return print_end();
}

/* The first sink, or the one for programs that shows everything. */
static const struct attar_sink *sink_for(bool programs)
{
	const struct attar_sink *const *sink = attar_sinks();

	while (programs && !(*sink)->is_complete)
		sink++;
	return *sink;
}

int print_report(const struct attar_report *report, bool for_programs, bool quiet)
{
	struct attar_render_opts opts = {.size = sizeof(opts), .quiet = quiet};
	struct attar_renderer *renderer;
	int r;

	console_fit(&opts);
	r = attar_renderer_new(sink_for(for_programs)->name, stdout, &opts, &renderer);
	if (r == 0) {
		r = attar_renderer_draw(renderer, report);
		attar_renderer_free(renderer);
	}
	return r < 0 && r != -EPIPE ? report_error(STATUS_FAILED) : STATUS_OK;
}

int print_end(void)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return STATUS_OK;
	attar_fail(-EIO, "cannot write to stdout: %s", console_error(errno));
	return report_error(STATUS_FAILED);
}

const char *console_error(int error)
{
	return error == EBADF ? "it is closed" : strerror(error);
}

int report_error(enum status status)
{
	print_held();
	print_line(attar_error());
	return (int)status;
}
