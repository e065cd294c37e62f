/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Programs that write to rings, for collector_test and hostile_test: ring_writer MODE [N]. Each
 * prints "ready" after its events are registered, waits for a listener (some modes: for a request),
 * and prints "done N".
 */
#include "perfume.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

PERFUME_EVENT(ring_tick, (u64, i), (u64, not_i))
PERFUME_EVENT(ring_text, (u32, i), (str, text))
PERFUME_EVENT(ring_handler, (u64, i))
PERFUME_EVENT(ring_ordered, (u64, i))

static unsigned long n;

static void print_number(const char *word, unsigned long number)
{
	printf("%s %lu\n", word, number);
	fflush(stdout);
}

static void wait_for_listener(void)
{
	int ms;

	print_number("ready", (unsigned long)getpid());
	for (ms = 0; !perfume_ring_tick_enabled(); ms++) {
		if (ms > 60000)
			exit(1);
		usleep(1000);
	}
}

static void *tick(void *none)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		perfume_ring_tick(i, ~i);
	return NULL;
}

static void emit(void)
{
	wait_for_listener();
	tick(NULL);
}

/* Exits at once, with or without a listener. */
static void flash(void)
{
	tick(NULL);
}

static void ordered(void)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		perfume_ring_ordered(i);
}

static void texts(void)
{
	char text[64];
	uint32_t i;

	wait_for_listener();
	for (i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		perfume_ring_text(i, text);
	}
}

static void for_ever(void)
{
	unsigned long i = 0;

	wait_for_listener();
	for (;; i++)
		perfume_ring_tick(i, ~i);
}

static void run_threads(unsigned count)
{
	pthread_t threads[300];
	unsigned i;

	for (i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, tick, NULL);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void eight_threads(void)
{
	wait_for_listener();
	run_threads(8);
}

static pthread_barrier_t barrier;

static void *tick_together(void *none)
{
	perfume_ring_tick(0, ~0UL);
	pthread_barrier_wait(&barrier);
	tick(NULL);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* All are alive at the same time, so no ring can be reused. */
static void three_hundred_threads(void)
{
	pthread_t threads[300];
	unsigned i;

	wait_for_listener();
	pthread_barrier_init(&barrier, NULL, 300);
	for (i = 0; i < 300; i++)
		pthread_create(&threads[i], NULL, tick_together, NULL);
	for (i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
}

static void await_byte(void)
{
	char byte;

	if (recv(0, &byte, 1, 0) != 1)
		exit(1);
}

static void *tick_and_tell(void *times)
{
	unsigned long i;

	for (i = 0; i < *(unsigned long *)times; i++)
		perfume_ring_tick(i, ~i);
	print_number("tid", (unsigned long)gettid());
	return NULL;
}

/* Three threads use the same ring; the last two together write more than it holds. */
static void one_after_another(void)
{
	unsigned long times[] = {10, n, n};
	pthread_t thread;
	unsigned i;

	wait_for_listener();
	for (i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, tick_and_tell, &times[i]);
		pthread_join(thread, NULL);
		if (!i)
			await_byte();
	}
}

/* Fills its ring, and writes ten more events on request. */
static void pausing(void)
{
	wait_for_listener();
	tick(NULL);
	print_number("filled", n);
	await_byte();
	n = 10;
	tick(NULL);
}

/* The library blocks signals before it takes its lock. Counts how often it does so. */
static unsigned long n_locked;

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	__atomic_fetch_add(&n_locked, how == SIG_BLOCK, __ATOMIC_RELAXED);
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, 8);
}

static unsigned long n_refused, n_seated;

/* Threads without a ring write, then those with a ring exit and the others go on writing. */
static void *tick_in_a_crowd(void *none)
{
	int has_ring = perfume_ring_tick(0, ~0UL) > 0, ms;
	unsigned long refused = !has_ring, i;

	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		n_locked = 0;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < n && !has_ring; i++)
		refused += perfume_ring_tick(i, ~i) < 0;
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		print_number("locked", n_locked);
	for (ms = 0; !has_ring && ms < 60000; ms++) {
		has_ring = perfume_ring_tick(i, ~i) > 0;
		refused += !has_ring;
		__atomic_fetch_add(&n_seated, has_ring, __ATOMIC_RELAXED);
		usleep(1000);
	}
	__atomic_fetch_add(&n_refused, refused, __ATOMIC_RELAXED);
	return NULL;
}

static void crowd(void)
{
	pthread_t threads[300];
	unsigned i;

	wait_for_listener();
	pthread_barrier_init(&barrier, NULL, 300);
	for (i = 0; i < 300; i++)
		pthread_create(&threads[i], NULL, tick_in_a_crowd, NULL);
	for (i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	print_number("seated", n_seated);
	print_number("refused", n_refused);
}

/* One after another: they use the same ring. */
static void thousand_short_threads(void)
{
	unsigned i;

	wait_for_listener();
	for (i = 0; i < 1000; i++)
		run_threads(1);
}

static volatile sig_atomic_t handled;

static void handler(int signal)
{
	perfume_ring_handler((uint64_t)handled++);
}

static void *interrupt(void *thread)
{
	while (!n) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		usleep(10);
	}
	return NULL;
}

static void be_interrupted(int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
	unsigned long want = n, i;
	pthread_t self = pthread_self(), other;

	wait_for_listener();
	sigaction(SIGUSR1, &action, NULL);
	n = 0;
	pthread_create(&other, NULL, interrupt, &self);
	for (i = 0; (unsigned long)handled < want; i++)
		perfume_ring_tick(i, ~i);
	n = 1;
	pthread_join(other, NULL);
	print_number("handled", (unsigned long)handled);
	print_number("ticked", i);
}

static void interrupted(void)
{
	be_interrupted(0);
}

/* The stack of the handler is above the frames that it interrupts. */
static void interrupted_on_another_stack(void)
{
	char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	sigaltstack(&stack, NULL);
	be_interrupted(SA_ONSTACK);
}

static sigjmp_buf before_writing;
static volatile unsigned long jumps, jumps_wanted;

static void jump(int signal)
{
	if (jumps < jumps_wanted) {
		jumps++;
		siglongjmp(before_writing, 1);
	}
}

static void *interrupt_to_jump(void *thread)
{
	while (!jumps_wanted || jumps < jumps_wanted) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		usleep(10);
	}
	return NULL;
}

/* A signal handler leaves by siglongjmp(), often in the middle of one of these long records. */
static void jumping(void)
{
	static const char payload[PERFUME_PAYLOAD_MAX];
	static volatile unsigned long refused;
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "ring_jump", "u32 a", NULL);
	pthread_t self = pthread_self(), other;

	wait_for_listener();
	while (!perfume_probe_enabled(probe))
		usleep(1000);
	signal(SIGUSR1, jump);
	pthread_create(&other, NULL, interrupt_to_jump, &self);
	if (!sigsetjmp(before_writing, 1))
		jumps_wanted = n;
	while (jumps < jumps_wanted)
		refused += perfume_write_payload(probe, payload, sizeof(payload)) < 0;
	pthread_join(other, NULL);
	tick(NULL);
	print_number("refused", refused);
	perfume_free(ctx);
}

static void forking(void)
{
	int status;
	pid_t pid;

	wait_for_listener();
	/* Children that never write and exit normally take nothing from the parent. */
	pid = fork();
	if (!pid)
		exit(0);
	waitpid(pid, &status, 0);
	pid = fork();
	if (!pid) {
		struct perfume_ctx *ctx = perfume_init(0);

		perfume_register(ctx, "ring_of_child", NULL);
		perfume_free(ctx);
		exit(0);
	}
	waitpid(pid, &status, 0);
	perfume_ring_tick(0, ~0UL);
	pid = fork();
	if (!pid) {
		tick(NULL);
		pid = fork();
		if (!pid)
			_exit(perfume_ring_text(1, "grandchild") > 0 ? 0 : 1);
		waitpid(pid, &status, 0);
		_exit(status ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	if (status)
		exit(1);
	pid = vfork();
	if (!pid) {
		perfume_ring_text(2, "vfork child");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	perfume_ring_text(3, "parent");
}

static volatile sig_atomic_t forks, is_child;

static void fork_here(int signal)
{
	pid_t pid = fork();

	if (!pid)
		is_child = 1;
	if (!pid && perfume_ring_handler(1) < 0)
		_exit(1);
	forks++;
}

static void *interrupt_to_fork(void *thread)
{
	while ((unsigned long)forks < n) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		usleep(500);
	}
	return NULL;
}

/* Children are forked in a signal handler, often in the middle of a record, which they complete. */
static void forking_in_handlers(void)
{
	pthread_t self = pthread_self(), other;
	unsigned long i;
	int status, k;

	wait_for_listener();
	signal(SIGUSR1, fork_here);
	pthread_create(&other, NULL, interrupt_to_fork, &self);
	for (i = 0; (unsigned long)forks < n && !is_child; i++)
		perfume_ring_tick(i, ~i);
	for (k = 0; k < 10 && is_child; k++)
		perfume_ring_tick(i + (unsigned)k, ~(i + (unsigned)k));
	if (is_child)
		_exit(0);
	pthread_join(other, NULL);
	while (wait(&status) > 0)
		if (status)
			exit(1);
}

/* Executes another program with the same PID. */
static void execing(void)
{
	char number[32];

	wait_for_listener();
	tick(NULL);
	snprintf(number, sizeof(number), "%lu", n);
	execl("/proc/self/exe", "ring_writer", "flash", number, NULL);
}

/* Payloads around every size limit. Prints how many were refused. */
static void lengths(void)
{
	static const char payload[8192];
	const size_t sizes[] = {3, 4, 5, 7, 8, PERFUME_PAYLOAD_MAX - 1, PERFUME_PAYLOAD_MAX,
		PERFUME_PAYLOAD_MAX + 1, 4095, 4096, 4097, 8192};
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "ring_length", "u32 a", NULL);
	unsigned long refused = 0;
	size_t i;

	wait_for_listener();
	while (!perfume_probe_enabled(probe))
		usleep(1000);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		refused += perfume_write_payload(probe, payload, sizes[i]) < 0;
	print_number("refused", refused);
	perfume_free(ctx);
}

/* A plug-in is loaded and unloaded repeatedly; its events are enabled whenever it is loaded. */
static void plugins(void)
{
	unsigned long i, written = 0;

	wait_for_listener();
	for (i = 0; i < n; i++) {
		void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
		int (*call)(uint32_t) = (int (*)(uint32_t))(uintptr_t)dlsym(plugin, "plugin_call");

		written += call((uint32_t)i) > 0;
		dlclose(plugin);
	}
	print_number("written", written);
}

/* Names that are only known at run time. */
static void dynamic(void)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe **probes = calloc(n, sizeof(*probes));
	char name[64];
	unsigned long i, written = 0;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "ring_dynamic_%lu", i);
		probes[i] = perfume_register(ctx, name, "u64 i", NULL);
	}
	wait_for_listener();
	while (!perfume_probe_enabled(probes[n - 1]))
		usleep(1000);
	for (i = 0; i < n; i++)
		written += perfume_write(probes[i], &i, sizeof(i)) == 8;
	print_number("written", written);
	perfume_free(ctx);
	free(probes);
}

/* Until stdin ends. */
static void *tick_for_ever(void *none)
{
	unsigned long i;
	char byte;

	while (recv(0, &byte, 1, MSG_DONTWAIT) < 0)
		for (i = 0; i < 1000; i++)
			perfume_ring_tick(i, ~i);
	return NULL;
}

static void sixty_four_threads(void)
{
	pthread_t threads[64];
	unsigned i;

	/* There are so many that a collector, or any other program, would hardly run. */
	if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) < 0)
		exit(1);
	wait_for_listener();
	for (i = 0; i < 64; i++)
		pthread_create(&threads[i], NULL, tick_for_ever, NULL);
	for (i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
}

/* Writes until the last listener has left. */
static void until_left(void)
{
	wait_for_listener();
	while (perfume_ring_tick_enabled()) {
		perfume_ring_tick(n, ~n);
		usleep(1000);
	}
	print_number("left", 0);
	wait_for_listener();
	perfume_ring_tick(77, ~77UL);
}

static void await_end(int (*enabled)(void), const char *word)
{
	int ms;

	for (ms = 0; enabled() && ms < 30000; ms++)
		usleep(1000);
	print_number(enabled() ? "still" : word, 0);
}

static struct perfume_probe *polled;

static int is_polled_enabled(void)
{
	return perfume_probe_enabled(polled);
}

static int is_tick_enabled(void)
{
	return perfume_ring_tick_enabled() != 0;
}

/* Writes nothing: only tests whether there is a listener, of both kinds of events. */
static void polling(void)
{
	struct perfume_ctx *ctx = perfume_init(0);

	polled = perfume_register(ctx, "ring_polled", NULL);
	wait_for_listener();
	while (!is_polled_enabled())
		usleep(1000);
	print_number("heard", 0);
	await_end(is_tick_enabled, "left");
	await_end(is_polled_enabled, "left");
	perfume_free(ctx);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"emit", emit}, {"flash", flash}, {"ordered", ordered}, {"texts", texts},
		{"for_ever", for_ever}, {"eight_threads", eight_threads},
		{"three_hundred_threads", three_hundred_threads},
		{"one_after_another", one_after_another}, {"pausing", pausing}, {"crowd", crowd},
		{"thousand_short_threads", thousand_short_threads}, {"interrupted", interrupted},
		{"interrupted_on_another_stack", interrupted_on_another_stack},
		{"jumping", jumping}, {"forking", forking},
		{"forking_in_handlers", forking_in_handlers}, {"execing", execing},
		{"lengths", lengths}, {"plugins", plugins}, {"dynamic", dynamic},
		{"sixty_four_threads", sixty_four_threads}, {"until_left", until_left},
		{"polling", polling}};
	size_t i;

	n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			print_number("done", n);
			return 0;
		}
	return 2;
}
