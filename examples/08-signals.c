/* SPDX-License-Identifier: MIT */
/*
 * Detects changes of a variable with a breakpoint and a signal on each change: SIGTRAP, or a chosen
 * signal.
 */
#include <signal.h>
#include <stdio.h>

#include <linux/hw_breakpoint.h>

#include <attar/attar.h>

static volatile long watched;
static volatile sig_atomic_t changes, overflows;

static void changed(int signo, siginfo_t *info, void *context)
{
	struct attar_signal what;

	(void)signo, (void)context;
	if (!attar_signal_decode(info, &what))
		return;
	changes += what.kind == ATTAR_SIGNAL_TRAP && what.data == 42;
	overflows += what.kind == ATTAR_SIGNAL_OVERFLOW;
}

/* Counts writes to `watched` and sends a signal on each; signo 0: SIGTRAP. */
static int watch(struct attar_target *self, int signo, struct attar_counter **ret_counter)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.sample_period = 1,
		.exclude_kernel = 1,
		.sigtrap = !signo,
		.sig_data = signo ? 0 : 42,
		.remove_on_exec = !signo};
	int r = attar_counter_open(self, &attr, "watched", 0, ret_counter);

	return r == 0 && signo ? attar_counter_signal(*ret_counter, signo, 0) : r;
}

int main(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct sigaction action = {.sa_sigaction = changed, .sa_flags = SA_SIGINFO | SA_RESTART};
	const int signals[] = {0, SIGRTMIN};
	struct attar_counter *counter;
	struct attar_target *self;

	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGRTMIN, &action, NULL);
	if (attar_target_new(&opts, &self) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int i = 0; i < 2; i++) {
		if (watch(self, signals[i], &counter) < 0) /* an old kernel, or no breakpoints */
			fprintf(stderr, "%s\n", attar_error());
		else {
			for (int n = 0; n < 23; n++)
				watched++;
			attar_counter_close(counter);
		}
	}
	printf("23 changes gave %d traps, 23 more %d signals\n", (int)changes, (int)overflows);
	attar_target_free(self);
	return 0;
}
