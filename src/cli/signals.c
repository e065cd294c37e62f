/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include <signal.h>

#include "attar/private/symbol.h"
#include "base/base.h"
#include "base/wait_limit.h"
#include "cli/output/background_close.h"

enum { SAME_REQUEST_NS = 500000000 };

static const uint64_t WAIT_LIMIT_NS = 10000000000, RECENT_NS = 1000000000;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int requests[] = {SIGUSR1, SIGUSR2, SIGWINCH};

static struct {
	struct attar_run *volatile run;
	struct attar_symbols *volatile symbols; /* of a command without a run */
	volatile sig_atomic_t number;           /* of the first signal; 0: none */
	unsigned asked;                         /* atomic: see signals_asked() */
	pid_t sender;                     /* its sender; 0: the kernel, or an unknown process */
	uint64_t time;                    /* ns, time of the first signal */
	volatile sig_atomic_t by_process; /* the first one was sent, not typed at the terminal */
	volatile uint64_t waits_at;       /* ns, when signals_give_up() was called; 0: never */
	volatile sig_atomic_t ended_wait; /* the signal that ended waits for readers; 0: none */
	bool ignored[NSIG]; /* signals that attar handles although they were ignored at its start */
} state;

/* Signals from a terminal have no sender. */
static pid_t sender_of(const siginfo_t *info)
{
	return info->si_code <= 0 ? info->si_pid : 0;
}

static bool is_same_request(int number, const siginfo_t *info)
{
	pid_t sender = sender_of(info);

	if (sender && sender == state.sender && number == state.number)
		return true;
	return base_now() - state.time < SAME_REQUEST_NS;
}

/* The handled signals are blocked here: the default action takes effect on return. */
static void end_now(int number)
{
	background_close_start();
	signal(number, SIG_DFL);
	raise(number);
}

static bool cancel_download(void)
{
	return symbols_cancel(state.run ? attar_run_symbols(state.run) : state.symbols);
}

/* Ends a wait for a reader. False: there is none. */
static bool end_wait(int number)
{
	if (!state.waits_at || base_now() - state.waits_at > RECENT_NS)
		return false;
	state.ended_wait = number;
	return true;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int error = errno;

	(void)context;
	if (!state.number) {
		state.sender = sender_of(info);
		state.time = base_now();
		state.by_process = info->si_code <= 0;
		state.number = number;
		if (state.run)
			attar_run_stop(state.run);
		if (!cancel_download() && state.symbols)
			end_now(number);
	} else if (!is_same_request(number, info) && !cancel_download() && !end_wait(number)) {
		end_now(number);
	}
	errno = error;
}

static void on_request(int number)
{
	int error = errno;

	if (number == SIGUSR1 && state.run) {
		attar_run_request_report(state.run);
		__atomic_fetch_or(&state.asked, SIGNALS_REOPEN, __ATOMIC_RELAXED);
	} else if (number == SIGUSR2)
		__atomic_fetch_or(&state.asked, SIGNALS_STATUS, __ATOMIC_RELAXED);
	else if (number == SIGWINCH)
		__atomic_fetch_or(&state.asked, SIGNALS_RESIZED, __ATOMIC_RELAXED);
	errno = error;
}

unsigned signals_asked(void)
{
	return __atomic_exchange_n(&state.asked, 0, __ATOMIC_RELAXED);
}

/* Writes without a reader fail with EPIPE. Not SIG_IGN: the command would inherit it. */
static void on_broken_pipe(int number)
{
	(void)number;
}

static bool is_ignored(int number)
{
	struct sigaction old;

	return sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

void signals_init(void)
{
	/* an ignored SIGCHLD would hide the status of the command */
	const int always[] = {SIGINT, SIGTERM, SIGCHLD};

	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (!is_ignored(always[i]))
			continue;
		state.ignored[always[i]] = true;
		signal(always[i], SIG_DFL);
	}
}

static void take_ends(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&action.sa_mask, ends[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!is_ignored(ends[i]))
			sigaction(ends[i], &action, NULL);
}

void signals_take(struct attar_run *run)
{
	const struct sigaction request = {.sa_handler = on_request, .sa_flags = SA_RESTART};

	state.run = run;
	if (!is_ignored(SIGPIPE))
		signal(SIGPIPE, on_broken_pipe);
	take_ends();
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (!is_ignored(requests[i]))
			sigaction(requests[i], &request, NULL);
}

void signals_take_downloads(struct attar_symbols *symbols)
{
	state.symbols = symbols;
	take_ends();
}

void signals_release(void)
{
	state.run = NULL;
	state.symbols = NULL;
}

int signals_taken(void)
{
	return state.number;
}

bool signals_give_up(void *ctx, uint64_t stalled_ns)
{
	uint64_t now = base_now();

	(void)ctx;
	state.waits_at = now;
	if (state.ended_wait)
		return true;
	return state.number && state.by_process &&
	       MIN(stalled_ns, now - state.time) >= WAIT_LIMIT_NS;
}

void signals_restore_ignored(void)
{
	for (int number = 1; number < NSIG; number++)
		if (state.ignored[number])
			signal(number, SIG_IGN);
}

void signals_raise(void)
{
	int number = state.ended_wait ?: state.number;

	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

bool signals_ended_wait(void)
{
	return state.ended_wait;
}
