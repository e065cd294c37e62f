/* SPDX-License-Identifier: MIT */
/* The options that every profiler shares: the same letter means the same thing everywhere. */
#include "run/run.h"

#define T struct common_opts

const struct attar_option common_target_options[] = {
	ATTAR_FLAG(T, all_cpus, 'a', "all-cpus",
		"watch the whole system, also with a command (without one this is the start"
		" value)"),
	ATTAR_JOINED(T, cpus, 'C', "cpus", "LIST",
		"watch these CPUs only, such as 0-3,8; may be given several times",
		.complete = "cpu"),
	ATTAR_JOINED(T, pids, 'p', "pids", "LIST",
		"watch these processes, with all threads and what they start later; may be given "
		"several times",
		.complete = "pid"),
	ATTAR_JOINED(T, tids, 't', "tids", "LIST",
		"watch these threads alone; may be given several times", .complete = "pid"),
	ATTAR_JOINED(T, cgroups, 0, "cgroups", "LIST",
		"watch these control groups (paths below the root, * and ? allowed); may be given "
		"several times",
		.complete = "cgroup"),
	{0}};

const struct attar_option common_sampling_options[] = {
	ATTAR_COUNT(T, freq, 'F', "freq", "HZ", "samples per second and CPU (997)", .min = 1),
	ATTAR_JOINED(T, event, 'e', "event", "EVENT",
		"sample on this event (cycles, or cpu-clock where there is no PMU)",
		.complete = "event"),
	{0}};

const struct attar_option common_stack_options[] = {
	ATTAR_FLAG(T, exclude_user, 0, "exclude-user", "leave out user code"),
	ATTAR_FLAG(T, exclude_kernel, 0, "exclude-kernel", "leave out the kernel"),
	ATTAR_SWITCH(
		T, user_callchain, "user-callchain", "with or without the user part of stacks"),
	ATTAR_SWITCH(T, kernel_callchain, "kernel-callchain",
		"with or without the kernel part of stacks"),
	{0}};

const struct attar_option common_run_options[] = {
	ATTAR_TIME(T, interval, 'i', "interval", "MS",
		"report each interval: milliseconds, or with a unit: 500ms, 2s", .bare = 1000000,
		.min = 1000000),
	ATTAR_TIME(T, duration, 'd', "duration", "TIME",
		"end after this time: seconds, or with a unit: 500ms, 5s, 1m", .bare = 1000000000,
		.min = 1000000),
	{0}};

const struct attar_option common_ring_options[] = {
	ATTAR_COUNT(T, count, 'N', "count", "N", "end after N events", .min = 1),
	ATTAR_COUNT(T, mmap_pages, 'm', "mmap-pages", "N",
		"pages of 4 KiB in each CPU's ring (128)", .min = 1, .max = 1 << 20),
	ATTAR_PERCENT(T, watermark, 0, "watermark", "PCT", "wake up when a ring is this full (25)"),
	{0}};

const struct attar_option common_output_options[] = {
	ATTAR_LIST(T, outputs, 'o', "output", "FILE",
		"write the results to FILE too, in the format of its extension (html, folded, "
		"json, csv, txt); may be given several times",
		.complete = "file"),
	ATTAR_TEXT(T, format, 0, "format", "NAME",
		"format of what is printed: text, json, csv, folded, html; unless it is text, what"
		" the command prints goes to stderr",
		.complete = "format"),
	ATTAR_LIST(T, flame_graphs, 0, "flame-graph", "FILE",
		"write folded stacks to FILE, or a page where it ends in .html; with -i each"
		" folded stack begins with date and time; may be given several times",
		.complete = "file"),
	ATTAR_COUNT(T, rows, 0, "rows", "N", "print at most N rows of a table (40; 0: all)"),
	ATTAR_FLAG(T, verbose, 'v', "verbose", "say more about what is done, on stderr"),
	ATTAR_FLAG(T, quiet, 'q', "quiet",
		"print no table, no progress and no remarks: only what -o asks for, and errors"),
	{0}};

void common_defaults(struct common_opts *opts)
{
	opts->freq = 997;
	opts->user_callchain = opts->kernel_callchain = -1;
	opts->mmap_pages = 128;
	opts->watermark = 25; /* half leaves too little time on a busy machine: rings overflow */
	opts->rows = 40;
}
