/* SPDX-License-Identifier: MIT */
/* Why threads that sleep all the time do so, from /proc: no event has the reason. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sched/futex.h"
#include "sched/thread_times.h"

enum {
	THREADS_MAX = 4096, /* reading one takes about 30 us */
	FORGOTTEN_MAX = 256,
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

/* From the number and the arguments of its system call. Without permission: a lock. */
static struct wait_details read_details(
	struct attar_run *run, struct thread_times *times, struct attar_thread *thread)
{
	const struct attar_process *process = thread->process;
	unsigned long long arguments[3], pc = 0;
	struct wait_details details = {.is_lock = true};
	char text[TEXT_BYTES];
	long call;

	if (read_file(process->pid, thread->tid, "syscall", text) &&
		sscanf(text, "%ld %llx %llx %llx %*x %*x %*x %*x %llx", &call, &arguments[0],
			&arguments[1], &arguments[2], &pc) == 5) {
		details.is_lock = thread_is_futex_lock(run, process, arguments[1], arguments[2]);
		details.is_idle = call == SYS_futex &&
				  futex_may_be_idle(arguments[1], arguments[2]) &&
				  is_idle_go(times, thread, pc);
		details.is_only_a_time = is_only_a_time(call, arguments);
	}
	return details;
}

/*
 * After SIGSTOP and SIGCONT, a sleep is restart_syscall(2), and the kernel shows none of the
 * functions of that call.
 */
static bool is_restarted_sleep(pid_t pid, pid_t tid, size_t depth)
{
	enum { ENTRY_FUNCTIONS = 2 };
	char text[TEXT_BYTES];

	return depth <= ENTRY_FUNCTIONS && read_file(pid, tid, "syscall", text) &&
	       strtol(text, NULL, 10) == SYS_restart_syscall;
}

static int scan_thread(struct attar_run *run, void *self, pid_t tid)
{
	struct thread_times *times = self;
	const uint64_t time = times->lost_to ? times->lost_to + 1 : attar_run_began(run);
	struct attar_thread *thread = attar_run_thread(run, tid);
	struct attar_stamp at = {.time = time, .task = ATTAR_NO_TASK};
	struct thread_found found = {.tid = tid};
	struct frame_summary frames = {0};
	struct wait_details details = {0};
	uint64_t key = (uint64_t)tid;
	const struct attar_state *known = attar_states_get(times->states, &key, sizeof(key));
	char state;
	pid_t pid;

	if (!thread || !thread->process || !attar_run_is_selected(run, thread) ||
		/* at first, it waits for its start */
		(!times->is_scanned && thread->process->pid == attar_run_command_pid(run)) ||
		(known && known->state != ATTAR_NO_STATE))
		return 0;
	pid = thread->process->pid;
	state = read_state(pid, tid, &at.cpu);
	if (!is_asleep(state))
		return 0;
	found.depth = read_stack(times->frames, pid, tid, &frames, found.stack);
	if (!found.depth)
		found.depth = read_wchan(times->frames, pid, tid, &frames, found.stack);
	/* it was woken up before its stack was read */
	if (frames.is_perf || (!found.depth && read_state(pid, tid, &at.cpu) != state))
		return 0;
	found.is_kernel_thread = frames.is_kernel_thread;
	found.syscall = frames.syscall;
	if (frames.waits == FRAME_FUTEX || frames.waits == FRAME_WORK)
		details = read_details(run, times, thread);
	found.state = is_restarted_sleep(pid, tid, found.depth)
			      ? THREAD_SLEEP
			      : thread_state_of(&frames, state == 'D', &details);
	return thread_times_found(run, times, &found, &at);
}

static int each_of_process(
	struct attar_run *run, thread_fn *fn, void *arg, const char *name, size_t *n)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/task", name);
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

/* Those whose state became unknown because events were lost. */
static int scan_forgotten(struct attar_run *run, struct thread_times *times)
{
	const struct attar_state *state = NULL;
	pid_t tids[FORGOTTEN_MAX];
	size_t n = 0;
	int r = 0;

	while (n < FORGOTTEN_MAX && (state = attar_states_next(times->states, state)))
		if (state->state == ATTAR_NO_STATE)
			tids[n++] = ((const struct thread_block *)state->value)->group.tid;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = scan_thread(run, times, tids[i]);
	return r;
}

int thread_times_scan(struct attar_run *run, struct thread_times *times)
{
	int r = 0;

	/* of the whole system, most threads always sleep */
	if (!attar_run_is_live(run) || attar_run_is_selected(run, NULL))
		return 0;
	if (!times->is_scanned)
		r = thread_for_each(run, scan_thread, times);
	else if (times->lost_to)
		r = scan_forgotten(run, times);
	times->is_scanned = true;
	times->lost_to = 0;
	return r;
}
