/* SPDX-License-Identifier: MIT */
/* The options that all profilers share: a letter has the same meaning everywhere. */
#include "run/run.h"

#define T struct common_opts

const struct attar_option common_target_options[] = {
	ATTAR_FLAG(T, all_cpus, 'a', "all-cpus",
		"watch the whole system, even with a command (default without a command)"),
	ATTAR_JOINED(T, cpus, 'C', "cpus", "LIST",
		"watch only these CPUs, such as 0-3,8; may be repeated", .complete = "cpu"),
	ATTAR_JOINED(T, pids, 'p', "pids", "LIST",
		"watch these processes with all their threads and children, also future ones; may "
		"be repeated",
		.complete = "pid"),
	ATTAR_JOINED(T, tids, 't', "tids", "LIST", "watch only these threads; may be repeated",
		.complete = "pid"),
	ATTAR_FLAG(T, no_children, 0, "no-children",
		"watch only the processes of --pids, or the command, but not their children"),
	ATTAR_FLAG(T, no_inherit, 0, "no-inherit", NULL),
	ATTAR_JOINED(T, cgroups, 0, "cgroups", "LIST",
		"watch these control groups (paths below the root; * and ? match); may be repeated",
		.complete = "cgroup"),
	ATTAR_JOINED(T, comms, 0, "comm", "NAMES",
		"watch the processes with these names, separated by commas (* and ? match), as "
		"with --pids"),
	ATTAR_JOINED(T, containers, 0, "container", "NAMES",
		"the same for the processes in these containers"),
	ATTAR_JOINED(T, pods, 0, "pod", "NAMES",
		"the same for the processes in these pods of Kubernetes: NAMESPACE/NAME, or a name "
		"in any namespace"),
	ATTAR_JOINED(T, units, 0, "unit", "NAMES",
		"the same for the processes of these units of systemd, such as nginx.service"),
	ATTAR_JOINED(T, ports, 0, "port", "LIST",
		"the same for the processes that listen on these TCP ports, or have these UDP "
		"ports"),
	{0}};

const struct attar_option common_sampling_options[] = {
	ATTAR_COUNT(T, freq, 'F', "freq", "HZ", "samples per second on each CPU (default 997)",
		.min = 1),
	ATTAR_JOINED(T, event, 'e', "event", "EVENT",
		"sample on this event (default cycles, or cpu-clock without a PMU)",
		.complete = "event"),
	{0}};

const struct attar_option common_unwind_options[] = {
	ATTAR_TEXT(T, unwind, 0, "unwind", "METHOD",
		"user stacks by frame pointers: fp; by call frame information: dwarf, or "
		"dwarf,BYTES of stack to copy; the same without copies: kernel; by last branch "
		"records: lbr; auto; also --call-graph METHOD (default: what is possible)"),
	ATTAR_SIZE(T, unwind_memory, 0, "unwind-memory", "SIZE",
		"memory for the call frame information in the kernel (default 128M)", .min = 1),
	ATTAR_FLAG(T, inline_functions, 0, "inline",
		"show functions that the compiler inlined as separate functions"),
	ATTAR_FLAG(T, java_map, 0, "java-map",
		"ask Java virtual machines (JDK 17 or later) for the names of their methods"),
	ATTAR_FLAG(T, lines, 0, "lines", "distinguish the source lines of a function"),
	ATTAR_SWITCH(
		T, user_callchain, "user-callchain", "include or omit the user part of stacks"),
	ATTAR_SWITCH(T, kernel_callchain, "kernel-callchain",
		"include or omit the kernel part of stacks"),
	{0}};

const struct attar_option common_stack_options[] = {
	ATTAR_FLAG(T, exclude_user, 0, "exclude-user", "exclude user code"),
	ATTAR_FLAG(T, exclude_kernel, 0, "exclude-kernel", "exclude kernel code"),
	ATTAR_FLAG(T, exclude_host, 'G', "exclude-host", "only samples of guests"),
	ATTAR_FLAG(T, exclude_guest, 0, "exclude-guest", "no samples of guests"),
	ATTAR_JOINED(T, exclude_pid, 0, "exclude_pid", "LIST",
		"exclude samples of these processes; may be repeated", .complete = "pid"),
	ATTAR_TEXT(T, irqs_disabled, 0, "irqs_disabled", "0|1",
		"only samples with interrupts disabled; =0: enabled", .implied = "1"),
	ATTAR_TEXT(T, tif_need_resched, 0, "tif_need_resched", "0|1",
		"only samples while the task is to be rescheduled; =0: others", .implied = "1"),
	ATTAR_TEXT(T, nr_running_min, 0, "nr_running_min", "N",
		"no samples while fewer tasks run or wait on the CPU"),
	ATTAR_TEXT(T, nr_running_max, 0, "nr_running_max", "N",
		"no samples while more tasks run or wait on the CPU"),
	ATTAR_TEXT(T, sched_policy, 0, "sched_policy", "LIST",
		"only tasks of these policies: normal, fifo, rr, batch, idle, deadline, ext, or "
		"numbers"),
	ATTAR_TEXT(T, prio, 0, "prio", "LIST",
		"only tasks with these kernel priorities: 0-98 real time, 100-139 normal"),
	{0}};

const struct attar_option common_run_options[] = {
	ATTAR_TIME(T, interval, 'i', "interval", "MS",
		"report at this interval: milliseconds, or with a unit: 500ms, 2s", .bare = 1000000,
		.min = 1000000),
	ATTAR_TIME(T, duration, 'd', "duration", "TIME",
		"stop after this time: seconds, or with a unit: 500ms, 5s, 1m", .bare = 1000000000,
		.min = 1000000),
	ATTAR_TIME(T, usage_self, 0, "usage-self", "MS",
		"print attar's own CPU usage on stderr at this interval", .bare = 1000000,
		.min = 1000000),
	ATTAR_FLAG(T, order, 0, "order", NULL),     /* events are always in order of time */
	ATTAR_FLAG(T, order, 0, "no-order", NULL),  /* they cost nothing more */
	ATTAR_FLAG(T, inherit, 0, "inherit", NULL), /* new children are always watched */
	ATTAR_FLAG(T, inherit, 0, "ptrace", NULL),  /* also without ptrace(2) */
	ATTAR_FLAG(
		T, monotonic, 0, "monotonic", "show times of events as seconds of CLOCK_MONOTONIC"),
	ATTAR_FLAG(T, tsc, 0, "tsc", "show times of events as values of the TSC (x86)"),
	ATTAR_TEXT(T, clock_offset, 0, "clock-offset", "N",
		"add N to the times of events: ns, or cycles with --tsc; may be negative"),
	ATTAR_TEXT(T, kvmclock, 0, "kvmclock", "GUEST",
		"show times of events as those of this KVM guest's clock (x86): its UUID, or the "
		"ID of its process"),
	ATTAR_COUNT(T, probes, 0, "probes", "N",
		"functions that a pattern such as uprobe:http_*@FILE may match (default 200)",
		.min = 1, .max = 16384),
	ATTAR_TEXT(T, btf, 0, "btf", "FILE",
		"read the kernel's types for members in args= from this file instead of "
		"/sys/kernel/btf/vmlinux",
		.complete = "file"),
	{0}};

const struct attar_option common_ring_options[] = {
	ATTAR_COUNT(T, count, 'N', "count", "N", "stop after N events", .min = 1),
	ATTAR_COUNT(T, count, 0, "exit-N", "N", NULL, .min = 1),
	ATTAR_COUNT(T, mmap_pages, 'm', "mmap-pages", "N",
		"size of each CPU's ring buffer in pages of 4 KiB (default 128, with copies of "
		"stacks 2048)",
		.min = 1, .max = 1 << 16),
	ATTAR_PERCENT(T, watermark, 0, "watermark", "PCT",
		"wake up when a ring buffer is this full: 1 to 100 (default 25, with copies of "
		"stacks 40)",
		.min = 1),
	ATTAR_COUNT(T, sampling_limit, 0, "sampling-limit", "N",
		"stop when more than N samples arrive within a second", .min = 1),
	ATTAR_JOINED(T, perfeval_cpus, 0, "perfeval-cpus", "LIST",
		"apply --sampling-limit only to samples on these CPUs; without it, show their rate",
		.complete = "cpu"),
	ATTAR_JOINED(T, perfeval_pids, 0, "perfeval-pids", "LIST",
		"apply --sampling-limit only to samples of these processes; without it, show their "
		"rate",
		.complete = "pid"),
	ATTAR_TEXT(T, in_kernel, 0, "in-kernel", "WHEN",
		"let a BPF program in the kernel count the events, which then are not delivered: "
		"auto (default: where only sums are needed and the system allows it), yes (fail "
		"otherwise), no"),
	ATTAR_FLAG(T, allow_exec, 0, "allow-exec",
		"allow system() in expressions, which runs shell commands"),
	ATTAR_SIZE(T, buffer, 0, "buffer", "SIZE",
		"memory for events that wait to be printed or written (default 16M); ring buffers "
		"are read first",
		.min = 1 << 20),
	{0}};

const struct attar_option common_input_options[] = {
	ATTAR_TEXT(T, input, 0, "input", "FILE",
		"read a recording (perf.data) instead of the running system; -: standard input",
		.complete = "file"),
	ATTAR_TEXT(T, from, 0, "from", "TIME",
		"only the part of the recording from TIME on: a time of day (03:12:40.5), a date "
		"(2026-11-30 03:12:40), seconds since its start (12.5), or before its end (-30s); "
		"without --input, of what 'attar record --overwrite' holds on this machine"),
	ATTAR_TEXT(T, to, 0, "to", "TIME", "only the part up to TIME"),
	ATTAR_TEXT(T, at, 0, "at", "TIME", "the same as --from, for --at TIME --for TIME"),
	ATTAR_TIME(T, for_ns, 0, "for", "TIME",
		"with --at or --from: only the part of this length: seconds, or with a unit, as "
		"500ms",
		.bare = 1000000000, .min = 1000),
	{0}};

const struct attar_option common_peer_options[] = {
	ATTAR_TEXT(T, push, 0, "push", "ADDRESS",
		"send the events to other attars that pull from this address: PORT, HOST:PORT, "
		"unix:PATH, "
		"vsock:CID:PORT, or the path of a file or device"),
	ATTAR_LIST(T, pulls, 0, "pull", "ADDRESS",
		"analyse events that another attar pushes to this address, instead of local "
		"events; may be repeated to merge several hosts"),
	ATTAR_TEXT(T, peer_psk, 0, "peer-psk", "FILE",
		"use TLS for --push and --pull, with the pre-shared key in FILE",
		.complete = "file"),
	ATTAR_TEXT(T, peer_cert, 0, "peer-cert", "FILE",
		"use TLS for --push and --pull, with this certificate (PEM)", .complete = "file"),
	ATTAR_TEXT(T, peer_key, 0, "peer-key", "FILE", "the private key of --peer-cert",
		.complete = "file"),
	ATTAR_TEXT(T, peer_ca, 0, "peer-ca", "FILE",
		"the authority that signed the certificate of the other side", .complete = "file"),
	{0}};

void common_defaults(struct common_opts *opts)
{
	opts->freq = 997;
	opts->user_callchain = opts->kernel_callchain = -1;
	opts->buffer = 16 << 20;
}
