/* SPDX-License-Identifier: MIT */
/* Findings about processes that start many others, and about many signals. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "overview/findings.h"

enum {
	STARTS = 50,    /* a second, by one process */
	STARTS_S = 2,   /* for this time, at least: a script that ends soon is a healthy one */
	SIGNALS = 1000, /* a second */
	SIGNALS_PERIOD = 97,
};

/* ---- events ---- */

static int add_to(struct attar_keytable *table, const void *key, size_t size, uint64_t n)
{
	struct attar_keyrow *row = attar_keytable_at(table, key, size);

	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += n;
	return 0;
}

int overview_add_start(struct attar_run *run, struct overview *o, pid_t parent)
{
	const struct attar_thread *thread = attar_run_thread(run, parent);
	struct overview_start key = {.pid = parent};

	if (thread)
		strncpy(key.comm, thread->comm, sizeof(key.comm) - 1);
	return add_to(o->starts, &key, sizeof(key), 1);
}

int overview_add_exec(struct overview *o, const char *comm)
{
	struct overview_start key = {.pid = 0};

	strncpy(key.comm, comm, sizeof(key.comm) - 1);
	return add_to(o->execs, &key, sizeof(key), 1);
}

enum { SIGNAL, TARGET, TARGET_COMM, CODE };

/* Timers send signals from interrupts: the task that was interrupted is unrelated. */
static bool is_of_kernel(int64_t code)
{
	return code == SI_TIMER || code == SI_KERNEL;
}

static int on_generated(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct overview_signal key = {.target = (int32_t)attar_arg_i64(ev, TARGET),
		.number = (int32_t)attar_arg_i64(ev, SIGNAL)};
	struct overview *o = self;
	const char *comm;
	size_t n;

	if (!ev->thread || overview_is_own(o, run, ev->thread) ||
		(!attar_run_is_selected(run, ev->thread) &&
			!attar_run_is_selected(run, attar_run_thread(run, key.target))))
		return 0;
	o->events++;
	comm = attar_arg_text(ev, TARGET_COMM, &n);
	if (!is_of_kernel(attar_arg_i64(ev, CODE))) {
		key.sender = ev->thread->process ? ev->thread->process->pid : ev->thread->tid;
		strncpy(key.comm, ev->thread->comm, sizeof(key.comm) - 1);
	}
	if (comm)
		memcpy(key.target_comm, comm,
			n < sizeof(key.target_comm) ? n : sizeof(key.target_comm) - 1);
	return add_to(o->signals, &key, sizeof(key), SIGNALS_PERIOD);
}

enum { DADDR, DPORT };

static int on_retransmit(struct attar_run *run, void *self, const struct attar_event *ev)
{
	char host[OVERVIEW_HOST_BYTES] = "", address[INET6_ADDRSTRLEN];
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct overview *o = self;
	size_t n;
	const uint8_t *bytes = attar_arg_bytes(ev, DADDR, &n);

	(void)run;
	if (!bytes || n != 16)
		return 0;
	if (!memcmp(bytes, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, bytes + sizeof(mapped), address, sizeof(address));
	else
		inet_ntop(AF_INET6, bytes, address, sizeof(address));
	snprintf(host, sizeof(host), "%s port %u", address, (unsigned)attar_arg_u64(ev, DPORT));
	return add_to(o->retransmits, host, sizeof(host), 1);
}

static const struct attar_input inputs[] = {{.event = "signal:signal_generate//period=97/",
						    .fields = {"sig", "pid", "comm", "code"},
						    .on_event = on_generated,
						    .optional = true},
	{.event = "tcp:tcp_retransmit_skb",
		.fields = {"daddr_v6", "dport"},
		.on_event = on_retransmit,
		.optional = true},
	{0}};

int overview_open_rates(struct attar_run *run)
{
	int r;

	if (!attar_run_is_live(run))
		return 0;
	attar_run_all_cpus(run, true);
	r = attar_run_inputs(run, inputs);
	attar_run_all_cpus(run, false);
	return r;
}

/* ---- findings ---- */

static const struct attar_keyrow *most_of(
	struct attar_keytable *table, enum attar_scope scope, uint64_t *ret_n, uint64_t *ret_all)
{
	struct attar_keyrow *row = NULL, *most = NULL;

	*ret_n = *ret_all = 0;
	while ((row = attar_keytable_next(table, row))) {
		uint64_t n = attar_keyrow_sums(row, scope)->sums[0];

		*ret_all += n;
		if (n <= *ret_n)
			continue;
		*ret_n = n;
		most = row;
	}
	return most;
}

static void check_starts(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	uint64_t n, all, execs, all_execs;
	const struct attar_keyrow *most = most_of(sums->overview->starts, sums->scope, &n, &all),
				  *exec = most_of(
					  sums->overview->execs, sums->scope, &execs, &all_execs);
	const struct overview_start *parent = most ? most->key : NULL;
	struct overview_finding *finding =
		parent && sums->is_service && overview_seconds(sums) >= STARTS_S
			? overview_add_rate(findings, "new processes", n, STARTS)
			: NULL;

	if (!finding)
		return;
	overview_say(finding, "%.*s (pid %d) started %llu processes", THREAD_COMM_BYTES,
		parent->comm, (int)parent->pid, (unsigned long long)n);
	if (exec)
		overview_say(finding, "; of all programs that were executed, %.0f %% are %.*s",
			overview_percent(execs, all_execs), THREAD_COMM_BYTES,
			((const struct overview_start *)exec->key)->comm);
	if (attar_run_is_live(sums->run))
		overview_set_process_command(findings, finding, "execsnoop", parent->pid);
}

static void check_signals(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	uint64_t n, all;
	const struct attar_keyrow *most = most_of(sums->overview->signals, sums->scope, &n, &all);
	const struct overview_signal *signal = most ? most->key : NULL;
	struct overview_finding *finding =
		signal && all >= (uint64_t)SIGNALS_PERIOD * OVERVIEW_SAMPLES_MIN
			? overview_add_rate(findings, "signals", all, SIGNALS)
			: NULL;
	const char *name;

	if (!finding)
		return;
	name = sigabbrev_np(signal->number);
	overview_say(finding, "%.0f %% of them are ", overview_percent(n, all));
	if (name)
		overview_say(finding, "SIG%s", name);
	else
		overview_say(finding, "signal %d", (int)signal->number);
	if (signal->sender)
		overview_say(finding, " of %.*s (pid %d)", THREAD_COMM_BYTES, signal->comm,
			(int)signal->sender);
	else
		overview_say(finding, " of timers or the kernel");
	overview_say(finding, " to %.*s (%d)", THREAD_COMM_BYTES, signal->target_comm,
		(int)signal->target);
	if (signal->sender)
		overview_set_process_command(
			findings, finding, "top -e signal:signal_generate", signal->sender);
	else
		snprintf(finding->command, COMMAND_BYTES,
			"attar top -a -e signal:signal_generate/pid==%d/", (int)signal->target);
}

void overview_check_rates(struct overview_findings *findings)
{
	check_starts(findings);
	check_signals(findings);
}
