/* SPDX-License-Identifier: MIT */
/* Launches a command and prints its events as they occur: forks, execs, page faults, exits. */
#include <errno.h>
#include <stdio.h>

#include <attar/attar.h>

enum { WAIT_MS = 1000 };

static void print_event(struct attar_symbols *symbols, const struct attar_event *ev)
{
	const struct attar_record *record = ev->record;
	struct attar_symbol symbol;
	attar_location place;

	if (record->type == PERF_RECORD_FORK)
		printf("process %u: created by %u\n", record->task.pid, record->task.ppid);
	if (record->type == PERF_RECORD_COMM && record->comm.exec)
		printf("process %u: executes %s\n", record->comm.pid, record->comm.comm);
	if (record->type == PERF_RECORD_EXIT)
		printf("process %u: exits\n", record->task.pid);
	if (record->type != PERF_RECORD_SAMPLE || !attar_event_stack(ev, &place, 1))
		return;
	printf("process %d: page fault in %s\n", ev->thread->process->pid,
		attar_symbols_resolve(symbols, place, &symbol) == 0 ? symbol.name : symbol.dso);
}

int main(int argc, char **argv)
{
	static char shell[] = "sh", option[] = "-c", script[] = "ls / > /dev/null; exit 3";
	char *const by_default[] = {shell, option, script, NULL};
	struct attar_target_opts opts = {
		.size = sizeof(opts), .command = argc > 1 ? argv + 1 : by_default};
	/* enable_on_exec: without it, what happens between the fork and the exec is counted too. */
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 50,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.enable_on_exec = 1};
	struct attar_stream_opts tracked = {.size = sizeof(tracked), .track = true};
	struct attar_symbols *symbols;
	struct attar_counter *counter;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;
	int r;

	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_target_new(&opts, &target) < 0 ||
		attar_counter_open(target, &attr, "page-faults", 0, &counter) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &tracked, &stream) < 0 ||
		attar_stream_start(stream) < 0 || attar_target_start(target) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	while ((r = attar_stream_read(stream, WAIT_MS, &ev)) >= 0)
		if (r > 0)
			print_event(symbols, &ev);
	if (r != -ENOTCONN) /* otherwise the command has exited, and all its events were read */
		fprintf(stderr, "%s\n", attar_error());
	printf("exit status %d\n", attar_target_command_status(target));
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return r != -ENOTCONN;
}
