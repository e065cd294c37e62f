/* SPDX-License-Identifier: MIT */
/* attar fleet: one profiler on several hosts. fleet.h describes how they are reached. */
#include "cli/fleet/fleet.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "attar/builtin.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/signals.h"

enum { TURN_MS = 200, PIPES = 3 };

/* How far ahead of now the profilers are started, so that all hosts know it before. */
#define START_AHEAD (FLEET_SECOND / 2)

/* ---- the loop ---- */

static bool any_in(const struct fleet *f, enum fleet_state from, enum fleet_state to)
{
	vec_each (&f->hosts, h)
		if (h->state >= from && h->state <= to)
			return true;
	return false;
}

static void set_poll(struct pollfd *to, int fd, short events)
{
	*to = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

/* Reports of a host that is far ahead of others stay in its pipe. */
static void set_polls(const struct fleet_host *h, struct pollfd fds[PIPES])
{
	set_poll(&fds[0], h->in, fleet_host_has_output(h) ? POLLOUT : 0);
	set_poll(&fds[1], h->out, h->reports.n < FLEET_QUEUE_MAX ? POLLIN : 0);
	set_poll(&fds[2], h->err, POLLIN);
}

static void serve_host(struct fleet_host *h, const struct pollfd fds[PIPES])
{
	if (fds[2].revents)
		fleet_host_read_errors(h);
	if (fds[0].revents)
		fleet_host_write(h);
	if (fds[1].revents)
		fleet_host_read(h);
	fleet_host_check(h);
}

static void poll_hosts(struct fleet *f, struct pollfd *fds)
{
	size_t n = f->hosts.n;

	for (size_t i = 0; i < n; i++)
		set_polls(&f->hosts.at[i], fds + i * PIPES);
	if (poll(fds, n * PIPES, TURN_MS) < 0)
		memset(fds, 0, n * PIPES * sizeof(*fds)); /* a signal */
	for (size_t i = 0; i < n; i++)
		serve_host(&f->hosts.at[i], fds + i * PIPES);
}

/* Agrees on a full second. Hosts that are not ready by then have failed. */
static void fleet_start(struct fleet *f)
{
	uint64_t error = 0, ns;

	vec_each (&f->hosts, h)
		if (h->state == FLEET_READY)
			error = MAX(error, h->error_ns);
	ns = ROUND_UP(base_realtime() + START_AHEAD + 2 * error, FLEET_SECOND);
	vec_each (&f->hosts, h)
		if (h->state == FLEET_READY)
			fleet_host_run(h, ns);
}

static void give_up(struct fleet *f, enum fleet_state last, const char *reason)
{
	vec_each (&f->hosts, h)
		if (h->state <= last)
			fleet_host_give_up(h, reason);
}

/* Waits until all hosts are ready, and for --timeout at most. */
static void connect_all(struct fleet *f, struct pollfd *fds)
{
	uint64_t end = base_now() + f->timeout;

	while (any_in(f, FLEET_CONNECTS, FLEET_COPIES) && !signals_taken() && base_now() < end)
		poll_hosts(f, fds);
	if (!signals_taken())
		give_up(f, FLEET_COPIES, "it was not ready within --timeout");
}

static void check_starts(struct fleet *f)
{
	vec_each (&f->hosts, h)
		if (h->state == FLEET_RUNS && !h->has_started)
			fleet_host_give_up(h, "it did not start within --timeout");
}

/* By then, hosts that end with --duration have ended. A command can be run several times. */
static uint64_t duration_end(const struct fleet *f, uint64_t start_end)
{
	uint64_t duration = f->order.has_command ? 0 : run_duration(f->run);

	return duration && duration < UINT64_MAX - start_end ? start_end + duration : UINT64_MAX;
}

/* After a signal, and if they do not end by themselves, hosts have --timeout to send reports. */
static void follow_all(struct fleet *f, struct pollfd *fds)
{
	uint64_t end = 0, start_end = base_now() + f->timeout + FLEET_SECOND;
	const uint64_t run_end = duration_end(f, start_end);

	while (any_in(f, FLEET_CONNECTS, FLEET_RUNS)) {
		poll_hosts(f, fds);
		if (!f->error)
			f->error = fleet_report_turn(f, false);
		if (!end && (signals_taken() || f->error || base_now() > run_end)) {
			vec_each (&f->hosts, h)
				fleet_host_stop(h);
			end = base_now() + f->timeout;
		}
		if (base_now() > start_end)
			check_starts(f);
		if (end && base_now() > end)
			give_up(f, FLEET_RUNS, "it did not end within --timeout");
	}
}

static int go(struct fleet *f)
{
	const struct fleet_args *args = &f->args;
	size_t n = args->hosts.n + args->pulls.n;
	struct pollfd *fds _cleanup_free_ = calloc(n * PIPES, sizeof(*fds));

	if (!fds || vec_reserve(&f->hosts, n) < 0)
		return base_oom();
	vec_each (&args->hosts, name)
		fleet_host_start(vec_add(&f->hosts), *name, false, &f->order);
	vec_each (&args->pulls, address)
		fleet_host_start(vec_add(&f->hosts), *address, true, &f->order);
	connect_all(f, fds);
	if (!signals_taken())
		fleet_start(f);
	follow_all(f, fds);
	if (!f->error)
		f->error = fleet_report_turn(f, true);
	return f->error;
}

/* ---- the command ---- */

static int check_outputs(const struct fleet *f)
{
	bool intervals = attar_run_interval(f->run) != 0;

	vec_each (&f->outputs.all, out)
		if (out->sink->whole_run && intervals)
			return attar_fail(-EINVAL,
				"'%s': %s output has a single report of the whole run" ATTAR_FIX
				"leave out -i",
				CLIP(out->path ?: "stdout"), out->sink->name);
	return 0;
}

static int status_of_hosts(const struct fleet *f)
{
	vec_each (&f->hosts, h)
		if (h->state != FLEET_ENDED || h->status)
			return STATUS_FAILED;
	return STATUS_OK;
}

static int run(struct fleet *f, const char *line)
{
	int status = STATUS_OK, closed;
	int r = outputs_open(&f->outputs, f->run, &f->options, line);

	if (r == 0)
		r = check_outputs(f);
	if (r < 0) {
		outputs_close(&f->outputs);
		return report_error(STATUS_USAGE);
	}
	console_mode(f->options.quiet, f->options.verbose);
	signals_take(NULL);
	outputs_empty(&f->outputs);
	r = go(f);
	f->outputs.has_ended = true;
	closed = outputs_close(&f->outputs);
	r = r ?: closed;
	if (r < 0 && r != -EPIPE)
		status = report_error(status_of(r));
	return status == STATUS_OK ? status_of_hosts(f) : status;
}

static void fleet_done(struct fleet *f)
{
	vec_each (&f->hosts, h)
		fleet_host_done(h);
	vec_done(&f->hosts);
	vec_each (&f->args.hosts, name)
		free(*name);
	vec_done(&f->args.hosts);
	buf_done(&f->order.words);
	if (f->order.copy_fd >= 0)
		close(f->order.copy_fd);
	attar_run_free(f->run);
}

static int fleet_run(void *state, const struct command_words *words)
{
	struct fleet *f = state;
	char *line _cleanup_free_ = args_join(words->argc, words->argv);
	int status, r = fleet_args_take(f, words->operands);

	if (r < 0)
		status = *attar_error() ? report_error(STATUS_USAGE) : STATUS_USAGE;
	else if (f->args.serve)
		status = fleet_serve();
	else
		status = run(f, line);
	fleet_done(f);
	return status;
}

#define T struct fleet

static const struct attar_option fleet_options[] = {
	ATTAR_JOINED(T, args.host_list, 'H', "hosts", "HOST,...",
		"the hosts, as for ssh: names, USER@HOST, or hosts of its configuration; may be "
		"repeated"),
	ATTAR_LIST(T, args.pulls, 0, "pull", "ADDRESS",
		"an address to which a host pushes its events (--push), which are analysed here; "
		"may be repeated"),
	ATTAR_FLAG(T, by_host, 0, "by-host",
		"do not merge: show the host of each row, histogram and stack"),
	ATTAR_TEXT(T, order.ssh, 0, "ssh", "CMD",
		"the ssh command, such as 'ssh -F FILE -p 2222' (default ssh)"),
	ATTAR_TEXT(T, order.attar, 0, "attar", "PATH",
		"the path of attar on the hosts (default: attar in the PATH there)"),
	ATTAR_TEXT(T, order.copy, 0, "copy", "FILE",
		"copy this static attar to hosts that have none; it is deleted at the end",
		.complete = "file"),
	ATTAR_TIME(T, timeout, 0, "timeout", "TIME",
		"how long a host may take to get ready, to send a report that others have sent, "
		"and to end after Ctrl-C (default 20s)",
		.bare = FLEET_SECOND, .min = 1000000),
	ATTAR_FLAG(T, args.serve, 0, "serve", NULL), {0}};

static const struct command_operand fleet_operands[] = {
	{"PROFILER [OPTIONS] [-- COMMAND]",
		"the profiler to run on each host, with its options; output options such as -o, "
		"--format and --rows apply to the merged report"},
	{0},
};

static const struct attar_example fleet_examples[] = {
	{"fleet -H web1,web2 profile -a -g -d 30s -o fleet.html", "a flame graph of two hosts"},
	{"fleet -H web1,web2 --by-host runqlat -d 10s", "the hosts side by side"},
	{0},
};

const struct command command_fleet = {
	.name = "fleet",
	.usage = "-H HOST,... [OPTIONS] PROFILER [OPTIONS] [-- COMMAND]",
	.summary = "run a profiler on several hosts and merge their reports",
	.operands = fleet_operands,
	.options = fleet_options,
	.state_size = sizeof(T),
	.defaults = &(const T){.order = {.ssh = "ssh", .attar = "attar", .copy_fd = -1},
		.timeout = 20 * FLEET_SECOND},
	.max_operands = COMMAND_ANY,
	.rest = "",
	.complete = "name",
	.examples = fleet_examples,
	.run = fleet_run,
};
