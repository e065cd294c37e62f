/* SPDX-License-Identifier: MIT */
/* A profiler outside of the library: which signals are sent, driven by a loop of this program. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <attar/attar-run.h>

enum { SIGNALS = 65 };

struct signals {
	uint64_t sent[SIGNALS];
};

static int on_generate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct signals *signals = self;
	uint64_t sig = attar_arg_u64(ev, 0);

	(void)run;
	if (sig < SIGNALS)
		signals->sent[sig]++;
	return 0;
}

static int signals_open(struct attar_run *run, void *self)
{
	static const struct attar_input input = {
		.event = "signal:signal_generate", .fields = {"sig"}, .on_event = on_generate};

	(void)self;
	return attar_run_input(run, &input);
}

static int signals_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct signals *signals = self;
	struct attar_section *table = attar_report_table(report, "signals");

	(void)run;
	(void)scope;
	attar_section_column(table, "signal", ATTAR_UNIT_TEXT);
	attar_section_column(table, "sent", ATTAR_UNIT_COUNT);
	for (int sig = 1; sig < SIGNALS; sig++) {
		if (!signals->sent[sig])
			continue;
		attar_section_row(table);
		attar_cell_text(table, strsignal(sig));
		attar_cell_u64(table, signals->sent[sig]);
	}
	return 0;
}

static const struct attar_profiler signals_profiler = {
	.name = "signals",
	.group = "System calls",
	.summary = "count signals by number",
	.uses = ATTAR_USES_RINGS,
	.self_size = sizeof(struct signals),
	.options = (const struct attar_option[]){{0}},
	.examples = (const struct attar_example[]){{0}},
	.open = signals_open,
	.report = signals_report,
};

/* The command that the run watches. */
static char *const command[] = {(char[]){"sh"}, (char[]){"-c"},
	(char[]){"trap : USR1; i=0; while [ $i -lt 23 ]; do kill -USR1 $$; i=$((i + 1)); done"},
	NULL};

/* Returns when the command has exited. */
static int drive(struct attar_run *run)
{
	struct pollfd ready = {.fd = attar_run_fd(run), .events = POLLIN};
	int r;

	do {
		poll(&ready, 1, -1);
		r = attar_run_step(run, 0);
	} while (r > 0);
	return r;
}

int main(void)
{
	struct attar_renderer *renderer = NULL;
	struct attar_report *report = NULL;
	struct attar_run *run;
	int r = attar_run_from(&signals_profiler, &run);

	if (r < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	attar_run_command(run, command);
	r = attar_run_start(run, NULL);
	if (r == 0)
		r = drive(run);
	if (r == 0)
		r = attar_run_report(run, ATTAR_SCOPE_WHOLE, &report);
	if (r == 0)
		r = attar_renderer_new("text", stdout, NULL, &renderer);
	if (r == 0)
		r = attar_renderer_draw(renderer, report);
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	attar_renderer_free(renderer);
	attar_report_free(report);
	attar_run_free(run);
	return r < 0;
}
