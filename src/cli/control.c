/* SPDX-License-Identifier: MIT */
#include "cli/control.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "attar/builtin.h"
#include "base/base.h"
#include "cli/cli.h"
#include "cli/signals.h"

enum { LINE_MAX_BYTES = 1024 };

static struct {
	bool reads_stdin;
	char line[LINE_MAX_BYTES + 1];
	size_t n; /* bytes of an incomplete line */
} control;

void control_begin(bool reads_stdin)
{
	struct stat st;

	control.reads_stdin = reads_stdin && fstat(STDIN_FILENO, &st) == 0 &&
			      (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* ---- lines ---- */

static void mark(struct attar_run *run)
{
	control.line[control.n] = '\0';
	control.n = 0;
	if (run_mark(run, control.line) < 0)
		attar_error_clear();
}

/* Several lines in one turn are one report with the last of them. */
static void take_bytes(struct attar_run *run, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			mark(run);
		else if (control.n < LINE_MAX_BYTES)
			control.line[control.n++] = bytes[i];
	}
}

static void read_lines(struct attar_run *run)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	char bytes[LINE_MAX_BYTES];
	ssize_t n;

	if (!control.reads_stdin || poll(&fd, 1, 0) <= 0)
		return;
	n = fd.revents & (POLLIN | POLLHUP) ? read(STDIN_FILENO, bytes, sizeof(bytes)) : -1;
	if (n > 0)
		take_bytes(run, bytes, (size_t)n);
	else if (n == 0 || errno != EINTR)
		control.reads_stdin = false;
}

/* ---- status ---- */

static void show_status(struct attar_run *run)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};
	struct attar_renderer *renderer = NULL;
	struct attar_report *report = NULL;
	int r = run_status(run, &report);

	console_clear();
	if (r == 0)
		r = attar_renderer_new(attar_sinks()[0]->name, stderr, &opts, &renderer);
	if (r == 0)
		r = attar_renderer_draw(renderer, report);
	if (r < 0)
		report_error(STATUS_FAILED);
	attar_renderer_free(renderer);
	attar_report_free(report);
	fflush(stderr);
}

int control_turn(struct attar_run *run, struct outputs *outputs)
{
	unsigned asked = signals_asked();

	if (asked & SIGNALS_STATUS)
		show_status(run);
	if (asked & SIGNALS_RESIZED)
		outputs_resize(outputs);
	read_lines(run);
	return asked & SIGNALS_REOPEN ? outputs_reopen(outputs) : 0;
}
