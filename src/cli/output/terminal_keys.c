/* SPDX-License-Identifier: MIT */
#include "cli/output/terminal_keys.h"

#include <unistd.h>

#include "attar/private/report.h"
#include "base/base.h"

void terminal_keys_open(struct terminal_keys *k)
{
	struct termios mode;

	/* A process in the background would be stopped when it changes the terminal's mode. */
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
		tcgetattr(STDIN_FILENO, &k->former) < 0)
		return;
	mode = k->former;
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 0; /* read() does not wait */
	mode.c_cc[VTIME] = 0;
	k->active = tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
}

static void terminal_keys_choose(struct terminal_keys *k, size_t column)
{
	if (column < 1 || (k->columns && column > k->columns))
		return;
	k->reversed = column == k->column && !k->reversed;
	k->column = column;
}

static bool terminal_keys_take(struct terminal_keys *k, char key)
{
	if (key >= '1' && key <= '9')
		terminal_keys_choose(k, (size_t)(key - '0'));
	else if (key == '<' && k->column)
		terminal_keys_choose(k, k->column - 1);
	else if (key == '>')
		terminal_keys_choose(k, k->column + 1);
	return key == 'q';
}

bool terminal_keys_read(struct terminal_keys *k)
{
	bool quit = false;
	char key;

	while (k->active && read(STDIN_FILENO, &key, 1) == 1)
		quit |= terminal_keys_take(k, key);
	return quit;
}

void terminal_keys_sort(
	struct terminal_keys *k, const struct attar_report *report, struct attar_renderer *renderer)
{
	const struct attar_section *section;

	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++)
		if (attar_section_get_kind(section) == ATTAR_SECTION_TABLE)
			k->columns = MAX(k->columns, attar_section_get_columns(section));
	renderer_sort(renderer, k->column, k->reversed);
}

void terminal_keys_close(struct terminal_keys *k)
{
	if (k->active)
		tcsetattr(STDIN_FILENO, TCSANOW, &k->former);
	k->active = false;
}
