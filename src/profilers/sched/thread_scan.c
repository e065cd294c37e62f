/* SPDX-License-Identifier: MIT */
/*
 * Why threads that sleep all the time do so: no event has the reason. From /proc, or as a recording
 * has it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "sched/futex.h"
#include "sched/thread_times.h"

enum {
	THREADS_MAX = 4096, /* reading one takes about 30 us */
	FORGOTTEN_MAX = 1024,
	PATH_BYTES = 64,
	TEXT_BYTES = 4096,
};

/*
 * Reads a file of a thread in /proc, which fits one page, in one call: hundreds of threads may be
 * read. Returns whether it has text.
 */
static bool read_file(pid_t pid, pid_t tid, const char *name, char text[static TEXT_BYTES])
{
	char path[PATH_BYTES];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, TEXT_BYTES - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * The state of a thread as in proc_pid_stat(5): 'S', 'D' and so on; 0: it has ended. *ret_cpu is
 * the CPU that it was on last.
 */
static char read_state(pid_t pid, pid_t tid, int *ret_cpu)
{
	enum { FIELDS_UP_TO_CPU = 37 };
	char text[TEXT_BYTES];
	const char *end, *field;

	if (!read_file(pid, tid, "stat", text))
		return 0;
	field = end = strrchr(text, ')');
	for (int i = 0; field && i < FIELDS_UP_TO_CPU; i++)
		field = strchr(field + 1, ' ');
	*ret_cpu = field ? atoi(field + 1) : -1;
	return end && end[1] ? end[2] : 0;
}

static bool is_asleep(char state)
{
	return state && strchr("SDITt", state);
}

bool thread_is_asleep(pid_t pid, pid_t tid)
{
	int cpu;

	return is_asleep(read_state(pid, tid, &cpu));
}

/* "[<0>] ep_poll+0x2a5/0x2c0": one line for each function, innermost first. */
static size_t read_stack(struct frames *frames, pid_t pid, pid_t tid, struct frame_summary *summary,
	attar_location *stack)
{
	char text[TEXT_BYTES], *save = NULL;
	size_t n = 0;

	if (!read_file(pid, tid, "stack", text))
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line && n < THREAD_DEPTH_MAX;
		line = strtok_r(NULL, "\n", &save)) {
		char *name = strstr(line, "] ");

		if (!name)
			continue;
		name += 2;
		name[strcspn(name, "+ ")] = '\0';
		stack[n++] = frames_add_name(frames, summary, name);
	}
	return n;
}

/* Without permission to read the stack: the function in which it waits. */
static size_t read_wchan(struct frames *frames, pid_t pid, pid_t tid, struct frame_summary *summary,
	attar_location *stack)
{
	char name[TEXT_BYTES];

	if (!read_file(pid, tid, "wchan", name) || !strcmp(name, "0"))
		return 0;
	*stack = frames_add_name(frames, summary, name);
	return 1;
}

/* Whether argument 0 or 1 of a system call is the number of file descriptors, and it is 0. */
static bool is_only_a_time(long call, const unsigned long long *arguments)
{
	switch (call) {
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return !(unsigned)arguments[1];
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return !(unsigned)arguments[0];
	default:
		return false;
	}
}

static bool is_idle_go(struct thread_times *times, struct attar_thread *thread, uint64_t pc)
{
	attar_location location = attar_thread_locate(thread, pc);

	return frames_are_idle_go(times->frames, &location, 1);
}

/* The system call of a thread that sleeps, as the file shows it. */
struct call {
	long number;
	unsigned long long arguments[3], pc;
};

/* False: it is in none, it runs, or without permission. */
static bool read_call(pid_t pid, pid_t tid, struct call *ret_call)
{
	char text[TEXT_BYTES];

	return read_file(pid, tid, "syscall", text) &&
	       sscanf(text, "%ld %llx %llx %llx %*x %*x %*x %*x %llx", &ret_call->number,
		       &ret_call->arguments[0], &ret_call->arguments[1], &ret_call->arguments[2],
		       &ret_call->pc) == 5;
}

/* call: NULL: unknown, so a futex is a lock. */
static struct wait_details details_of(struct attar_run *run, struct thread_times *times,
	struct attar_thread *thread, const struct call *call)
{
	struct wait_details details = {.is_lock = true};

	if (!call)
		return details;
	details.is_lock =
		thread_is_futex_lock(run, thread->process, call->arguments[1], call->arguments[2]);
	/* the latter if it has a time limit, and a debugger or attar has interrupted it */
	details.is_idle = (call->number == SYS_futex || call->number == SYS_restart_syscall) &&
			  futex_may_be_idle(call->arguments[1], call->arguments[2]) &&
			  is_idle_go(times, thread, call->pc);
	details.is_only_a_time = is_only_a_time(call->number, call->arguments);
	return details;
}

/*
 * Calls in which most threads of a program with hundreds sleep, all of them in the same functions:
 * one is read, and the others are like it.
 */
enum common_call { COMMON_MUTEX, COMMON_SLEEP, COMMON_CALLS, COMMON_NONE = COMMON_CALLS };

static enum common_call common_call_of(const struct call *call)
{
	if (call->number == SYS_futex && futex_is_mutex(call->arguments[1], call->arguments[2]))
		return COMMON_MUTEX;
	return call->number == SYS_clock_nanosleep ? COMMON_SLEEP : COMMON_NONE;
}

struct scan {
	struct thread_times *times;
	struct thread_found common[COMMON_CALLS]; /* tid 0: none was read yet */
};

/*
 * After SIGSTOP and SIGCONT, a sleep is restart_syscall(2), and the kernel shows none of the
 * functions of that call.
 */
static bool is_restarted_sleep(const struct call *call, size_t depth)
{
	enum { ENTRY_FUNCTIONS = 2 };

	return depth <= ENTRY_FUNCTIONS && call && call->number == SYS_restart_syscall;
}

/* Why a thread sleeps. False: it runs, or was woken up meanwhile. */
static bool read_wait(struct attar_run *run, struct thread_times *times,
	struct attar_thread *thread, const struct call *call, struct thread_found *found,
	int *ret_cpu)
{
	const pid_t pid = thread->process->pid, tid = thread->tid;
	char state = read_state(pid, tid, ret_cpu);
	struct frame_summary frames = {0};
	struct wait_details details = {0};

	if (!is_asleep(state))
		return false;
	found->depth = read_stack(times->frames, pid, tid, &frames, found->stack);
	if (!found->depth)
		found->depth = read_wchan(times->frames, pid, tid, &frames, found->stack);
	/* it was woken up before its stack was read */
	if (frames.is_perf || (!found->depth && read_state(pid, tid, ret_cpu) != state))
		return false;
	found->is_kernel_thread = frames.is_kernel_thread;
	found->syscall = frames.syscall;
	found->is_mutex = call && common_call_of(call) == COMMON_MUTEX;
	if (frames.waits == FRAME_FUTEX || frames.waits == FRAME_WORK)
		details = details_of(run, times, thread, call);
	found->is_stopped = state == 'T' || state == 't';
	found->state = found->is_stopped ? THREAD_BLOCKED
		       : is_restarted_sleep(call, found->depth)
			       ? THREAD_SLEEP
			       : thread_state_of(&frames, state == 'D', &details);
	return true;
}

/* Whether a thread that was read in such a call waits as expected: it may have just left it. */
static bool is_typical(const struct thread_found *found, enum common_call common)
{
	return found->syscall &&
	       found->state == (common == COMMON_MUTEX ? THREAD_LOCK : THREAD_SLEEP);
}

static int scan_thread(struct attar_run *run, void *arg, pid_t tid)
{
	struct scan *scan = arg;
	struct thread_times *times = scan->times;
	const uint64_t time = times->lost_to ? times->lost_to + 1 : attar_run_began(run);
	struct attar_thread *thread = attar_run_thread(run, tid);
	struct attar_stamp at = {.time = time, .task = ATTAR_NO_TASK};
	struct thread_found found = {.tid = tid};
	enum common_call common = COMMON_NONE;
	uint64_t key = (uint64_t)tid;
	const struct attar_state *known = attar_states_get(times->states, &key, sizeof(key));
	struct call call;
	bool has_call;

	if (!thread || !thread->process || !attar_run_is_selected(run, thread) ||
		/* at first, it waits for its start */
		(!times->is_scanned && thread->process->pid == attar_run_command_pid(run)) ||
		(known && known->state != ATTAR_NO_STATE))
		return 0;
	has_call = read_call(thread->process->pid, tid, &call);
	if (has_call)
		common = common_call_of(&call);
	if (common != COMMON_NONE && scan->common[common].tid &&
		(known || attar_run_is_cpu_selected(run, -1) > 0)) {
		found = scan->common[common];
		found.tid = tid;
		at.cpu = known ? known->cpu : -1; /* on which it was last */
		return thread_times_found(run, times, &found, &at);
	}
	if (!read_wait(run, times, thread, has_call ? &call : NULL, &found, &at.cpu))
		return 0;
	if (common != COMMON_NONE && is_typical(&found, common))
		scan->common[common] = found;
	return thread_times_found(run, times, &found, &at);
}

static int each_of_process(
	struct attar_run *run, thread_fn *fn, void *arg, const char *name, size_t *n)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/task", name);
	if (stat(path, &st) == 0 && st.st_nlink == 2 + 1) { /* its only thread is the main one */
		++*n;
		return fn(run, arg, (pid_t)atoi(name));
	}
	dir = opendir(path);
	while (dir && r == 0 && *n < THREADS_MAX && (entry = readdir(dir))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0)
			continue;
		r = fn(run, arg, tid);
		++*n;
	}
	if (dir)
		closedir(dir);
	return r;
}

int thread_for_each(struct attar_run *run, thread_fn *fn, void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;
	int r = 0;

	while (dir && r == 0 && n < THREADS_MAX && (entry = readdir(dir)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			r = each_of_process(run, fn, arg, entry->d_name, &n);
	if (dir)
		closedir(dir);
	return r;
}

/*
 * Those whose state became unknown because events were lost. Of more threads, those whose state
 * changed last are left out: they are the last ones of the list.
 */
static int scan_forgotten(struct attar_run *run, struct scan *scan)
{
	struct thread_times *times = scan->times;
	const struct attar_state *state = NULL;
	pid_t tids[FORGOTTEN_MAX];
	size_t n = 0;
	int r = 0;

	while (n < FORGOTTEN_MAX && (state = attar_states_next(times->states, state)))
		if (state->state == ATTAR_NO_STATE)
			tids[n++] = ((const struct thread_block *)state->value)->group.tid;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = scan_thread(run, scan, tids[i]);
	return r;
}

/* ---- of a recording ---- */

/* Such a call waits for work, also if it names one file only. */
static bool is_poll(long call)
{
	switch (call) {
#ifdef SYS_poll
	case SYS_poll:
#endif
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
		return true;
	default:
		return false;
	}
}

static enum thread_state state_of_wait(const struct attar_wait *wait)
{
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
	case ATTAR_WAIT_FILE_LOCK:
		return THREAD_LOCK;
	case ATTAR_WAIT_CONDITION:
	case ATTAR_WAIT_THREAD:
		return THREAD_CONDITION;
	case ATTAR_WAIT_PIPE:
	case ATTAR_WAIT_UNIX:
	case ATTAR_WAIT_NETWORK:
		return is_poll(wait->call) ? THREAD_WORK : THREAD_PEER;
	case ATTAR_WAIT_DISK:
		return THREAD_DISK;
	case ATTAR_WAIT_TIME:
		return THREAD_SLEEP;
	case ATTAR_WAIT_CHILD:
	case ATTAR_WAIT_EVENTS:
	case ATTAR_WAIT_CLIENTS:
	case ATTAR_WAIT_TERMINAL:
	case ATTAR_WAIT_SIGNAL:
	case ATTAR_WAIT_KERNEL:
		return THREAD_WORK;
	default:
		return THREAD_BLOCKED;
	}
}

/* A thread that had no event since the recording began has waited all the time. */
static int take_recorded(
	struct attar_run *run, struct thread_times *times, const struct attar_thread_wait *wait)
{
	const uint64_t key = (uint64_t)wait->tid, began = attar_run_began(run);
	const struct attar_stamp at = {.time = began, .task = ATTAR_NO_TASK, .cpu = -1};
	const struct thread_found found = {.tid = wait->tid,
		.state = state_of_wait(wait->chain),
		.is_kernel_thread = wait->chain->kind == ATTAR_WAIT_KERNEL,
		.is_mutex = wait->chain->kind == ATTAR_WAIT_LOCK,
		.is_stopped = wait->chain->kind == ATTAR_WAIT_STOPPED};
	struct attar_state *state = attar_states_get(times->states, &key, sizeof(key));
	int r;

	if (state || wait->since > began || wait->chain->kind == ATTAR_WAIT_NONE)
		return 0;
	r = thread_times_found(run, times, &found, &at);
	state = attar_states_get(times->states, &key, sizeof(key));
	if (state)
		((struct thread_block *)state->value)->has_events = true;
	return r;
}

int thread_times_take_recorded(struct attar_run *run, struct thread_times *times, uint64_t time)
{
	struct run_waits waits;
	int r = 0;

	if (!times->has_recorded || !attar_run_began(run))
		return 0;
	times->has_recorded = run_get_waits(run, false, &waits);
	if (!times->has_recorded || time < waits.time)
		return 0;
	times->has_recorded = false;
	/* of the whole system, most threads always sleep */
	if ((waits.is_system && attar_run_is_selected(run, NULL)) ||
		attar_run_is_cpu_selected(run, -1) <= 0)
		return 0;
	for (size_t i = 0; r == 0 && i < waits.n; i++)
		r = take_recorded(run, times, &waits.at[i]);
	return r;
}

int thread_times_scan(struct attar_run *run, struct thread_times *times)
{
	struct scan scan = {.times = times};
	int r = 0;

	if (!attar_run_is_live(run))
		return thread_times_take_recorded(run, times, UINT64_MAX);
	/* of the whole system, most threads always sleep */
	if (attar_run_is_selected(run, NULL))
		return 0;
	if (!times->is_scanned)
		r = thread_for_each(run, scan_thread, &scan);
	else if (times->lost_to)
		r = scan_forgotten(run, &scan);
	times->is_scanned = true;
	times->lost_to = 0;
	return r;
}
