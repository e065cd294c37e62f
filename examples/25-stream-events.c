/* SPDX-License-Identifier: MIT */
/*
 * Prints the events of a command, and their counts: attar_stream_events() opens them by name.
 * usage: 25-stream-events [EVENTS COMMAND...]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <attar/attar.h>

enum { WAIT_MS = 1000, EVENTS_MAX = 256, LINE_MAX_BYTES = 256 };

static void print(const struct attar_event_spec *spec, const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;
	char line[LINE_MAX_BYTES] = "";

	if (spec->format)
		attar_format_print(spec->format, s->raw, s->raw_size, line, sizeof(line));
	printf("%s %d: %s %s\n", ev->thread->comm, ev->thread->tid, spec->name, line);
}

int main(int argc, char **argv)
{
	static char shell[] = "sh", option[] = "-c", script[] = "ls / > /dev/null; exit 3";
	char *const by_default[] = {shell, option, script, NULL};
	const char *events = argc > 2 ? argv[1] : "sched:sched_process_exec,page-faults";
	struct attar_target_opts opts = {
		.size = sizeof(opts), .command = argc > 2 ? argv + 2 : by_default};
	uint64_t counts[EVENTS_MAX] = {0};
	const struct attar_event_spec *spec;
	struct attar_stream_stats stats;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;
	int r;

	if (attar_target_new(&opts, &target) < 0 ||
		attar_stream_events(target, events, 0, NULL, &stream) < 0 ||
		attar_target_start(target) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	while ((r = attar_stream_read(stream, WAIT_MS, &ev)) >= 0) {
		if (r == 0 || ev.record->type != PERF_RECORD_SAMPLE || ev.counter >= EVENTS_MAX)
			continue;
		counts[ev.counter]++;
		print(attar_stream_spec(stream, ev.counter), &ev);
	}
	if (r != -ENOTCONN) /* otherwise the command has exited, and all its events were read */
		fprintf(stderr, "%s\n", attar_error());
	for (uint32_t i = 0; i < EVENTS_MAX && (spec = attar_stream_spec(stream, i)) != NULL; i++)
		printf("%s: %llu\n", spec->name, (unsigned long long)counts[i]);
	attar_stream_get_stats(stream, &stats);
	printf("lost: %llu\n", (unsigned long long)stats.lost);
	attar_stream_free(stream);
	attar_target_free(target);
	return r != -ENOTCONN;
}
