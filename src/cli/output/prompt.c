/* SPDX-License-Identifier: MIT */
#include "cli/output/prompt.h"

#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/signals.h"

/* Without the blanks at its end. */
static size_t length(const char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	return n;
}

static enum status answer(struct attar_run *run, struct outputs *outputs, const char *text)
{
	struct attar_report *report;
	int r = run_query(run, text, &report);

	if (r < 0)
		return report_error(status_of(r));
	attar_error_clear();
	r = outputs_draw(outputs, report, ATTAR_SCOPE_WHOLE, false);
	attar_report_free(report);
	return r < 0 ? report_error(status_of(r)) : STATUS_OK;
}

/* Adds a line to the query. Returns whether it is complete. */
static bool add_line(struct buf *query, const char *line, size_t n)
{
	bool is_command = !query->len && *line == '.';

	if (query->len)
		buf_str(query, "\n");
	buf_add(query, line, n);
	return is_command || (n && line[n - 1] == ';');
}

static bool is_quit(const struct buf *query)
{
	return !strcmp(buf_text(query), ".quit") || !strcmp(buf_text(query), ".exit");
}

enum status prompt_run(struct attar_run *run, struct outputs *outputs)
{
	bool is_terminal = isatty(STDIN_FILENO);
	struct buf query _cleanup_(buf_done) = {0};
	enum status status = STATUS_OK;
	char *line _cleanup_free_ = NULL;
	size_t size = 0;

	while (is_terminal || status == STATUS_OK) {
		if (is_terminal)
			fprintf(stderr, query.len ? "   ...> " : "attar> ");
		if (getline(&line, &size, stdin) < 0 || signals_taken())
			break;
		if (!length(line) && !query.len)
			continue;
		if (!add_line(&query, line, length(line)))
			continue;
		if (is_quit(&query))
			return status;
		status = answer(run, outputs, buf_text(&query));
		buf_reset(&query);
	}
	if (query.len && status == STATUS_OK && !signals_taken())
		status = answer(run, outputs, buf_text(&query));
	if (is_terminal)
		fputc('\n', stderr);
	return is_terminal ? STATUS_OK : status;
}
