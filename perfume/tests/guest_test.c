/* SPDX-License-Identifier: CC0-1.0 */
/* The library on a kernel that has user_events. Runs in a guest, as root. */
#include "kernel.h"
#include "perfume.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define NAME "perfume_guest"

PERFUME_EVENT(perfume_static, (u32, number), (str, text))
PERFUME_HEADER_EVENT(Guest, 4, 2a, header_one, (u64, id))
PERFUME_HEADER_EVENT(Guest, 4, 2a, header_two, (str, text))

static struct perfume_ctx *ctx;

static int setup(void **state)
{
	ctx = perfume_init(0);
	forget_trace();
	return !ctx;
}

static int teardown(void **state)
{
	listen_in_ftrace(NAME, 0);
	perfume_free(ctx);
	WAIT_UNTIL(!event_exists(NAME));
	return 0;
}

/* Runs the statement in a child; false if it failed. */
#define IN_CHILD(statement)                                                                        \
	({                                                                                         \
		pid_t pid_ = fork();                                                               \
		int status_ = -1;                                                                  \
                                                                                                   \
		if (!pid_)                                                                         \
			_exit((statement) ? 0 : 1);                                                \
		waitpid(pid_, &status_, 0);                                                        \
		status_ == 0;                                                                      \
	})

static struct perfume_probe *probe_u32(void)
{
	struct perfume_probe *probe = perfume_register(ctx, NAME, "u32 a", NULL);

	if (!probe)
		fail_msg("%s", perfume_error());
	return probe;
}

static int write_u32(struct perfume_probe *probe, uint32_t a)
{
	return perfume_write(probe, &a, sizeof(a));
}

/* ---- finding the interface ---- */

static int find_at_another_mount(void)
{
	int found, missing;

	unshare(CLONE_NEWNS);
	mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	mkdir("/tmp/trace here", 0755);
	umount2("/sys/kernel/debug", MNT_DETACH);
	umount2("/sys/kernel/tracing", MNT_DETACH);
	missing = perfume_check();
	mount("nodev", "/tmp/trace here", "tracefs", 0, NULL);
	found = perfume_check();
	umount("/tmp/trace here");
	return missing == PERFUME_CHECK_NO_TRACEFS && found == PERFUME_CHECK_OK;
}

static void tracefs_is_found_at_any_mount(void **state)
{
	assert_int_equal(perfume_check(), PERFUME_CHECK_OK);
	assert_int_equal(perfume_interface(), PERFUME_INTERFACE_ENABLE_WORDS);
	assert_true(IN_CHILD(find_at_another_mount()));
}

static int without_permission(void)
{
	return !setgid(65534) && !setuid(65534) && perfume_check() == PERFUME_CHECK_NO_PERMISSION &&
	       perfume_register(perfume_init(0), NAME, NULL) != NULL;
}

static int with_permission(void)
{
	struct perfume_ctx *mine = perfume_init(PERFUME_PERSIST);
	struct perfume_probe *probe;

	if (setgid(65534) || setuid(65534) || perfume_check() != PERFUME_CHECK_OK)
		return 0;
	probe = perfume_register(mine, NAME, "u32 a", NULL);
	/* PERSIST needs CAP_PERFMON: the event exists without it. */
	return probe && perfume_probe_flags(probe) == 0 && event_exists(NAME);
}

static void missing_permission_is_reported(void **state)
{
	assert_true(IN_CHILD(without_permission()));
	chmod(TRACEFS, 0755);
	chmod(DATA_FILE, 0666);
	chmod(TRACEFS "events", 0755);
	chmod(TRACEFS "events/user_events", 0755);
	assert_true(IN_CHILD(with_permission()));
	chmod(TRACEFS, 0700);
	chmod(DATA_FILE, 0640);
}

/* ---- registering ---- */

static void registering_twice_gives_two_probes_of_one_event(void **state)
{
	struct perfume_ctx *other = perfume_init(0);
	struct perfume_probe *a = probe_u32(), *b = probe_u32(), *c;

	c = perfume_register(other, NAME, "u32   a;", NULL);
	assert_non_null(c);
	assert_true(event_exists(NAME));
	listen_in_ftrace(NAME, 1);
	assert_int_equal(write_u32(a, 1), 4);
	assert_int_equal(write_u32(b, 2), 4);
	assert_int_equal(write_u32(c, 3), 4);
	assert_int_equal(traced(NAME ": a="), 3);
	perfume_probe_free(a);
	assert_int_equal(write_u32(b, 4), 4);
	perfume_free(other);
	assert_int_equal(write_u32(b, 5), 4);
	listen_in_ftrace(NAME, 0);
	assert_int_equal(write_u32(b, 6), 0);
	assert_int_equal(traced(NAME ": a="), 5);
}

static void an_event_with_other_fields_is_refused_with_the_reason(void **state)
{
	struct perfume_ctx *multi = perfume_init(PERFUME_MULTI_FORMAT);
	struct perfume_probe *probe, *second;

	probe_u32();
	assert_null(perfume_register(ctx, NAME, "u64 a", NULL));
	assert_int_equal(errno, EADDRINUSE);
	assert_non_null(strstr(perfume_error(), "MULTI_FORMAT"));
	assert_int_equal(perfume_add(ctx, NAME), -EADDRINUSE);
	probe = perfume_register(multi, NAME "_multi", "u64 a", NULL);
	second = perfume_register(multi, NAME "_multi", "u32 a", NULL);
	assert_non_null(probe);
	if (perfume_probe_flags(probe) & PERFUME_MULTI_FORMAT)
		assert_non_null(second);
	else
		assert_null(second);
	perfume_free(multi);
}

static void a_persistent_event_stays(void **state)
{
	struct perfume_ctx *persistent = perfume_init(PERFUME_PERSIST);
	struct perfume_probe *probe = perfume_register(persistent, NAME "_stays", "u32 a", NULL);

	assert_int_equal(perfume_probe_flags(probe), PERFUME_PERSIST);
	perfume_free(persistent);
	usleep(100000);
	assert_true(event_exists(NAME "_stays"));
	assert_int_equal(
		put_text_in(TRACEFS "dynamic_events", "-:user_events/" NAME "_stays u32 a"), 0);
	assert_false(event_exists(NAME "_stays"));
}

static void an_event_is_removed_with_its_last_probe(void **state)
{
	struct perfume_probe *probe = probe_u32();

	assert_true(event_exists(NAME));
	assert_int_equal(perfume_deregister(ctx, probe), 0);
	WAIT_UNTIL(!event_exists(NAME));
	assert_non_null(perfume_register(ctx, NAME, "u64 other", NULL));
}

/* ---- writing ---- */

static void a_probe_follows_its_listeners(void **state)
{
	struct perfume_probe *probe = probe_u32();

	assert_false(perfume_probe_enabled(probe));
	listen_in_ftrace(NAME, 1);
	assert_true(perfume_probe_enabled(probe));
	assert_int_equal(write_u32(probe, 1), 4);
	listen_in_ftrace(NAME, 0);
	assert_false(perfume_probe_enabled(probe));
	assert_int_equal(write_u32(probe, 1), 0);
}

/*
 * If the page of the word must be copied first, because a child shares it, the kernel sets the word
 * with a delay.
 */
static void listen_to_word(const char *event, const uint32_t *word, int on)
{
	listen_in_ftrace(event, on);
	WAIT_UNTIL(!!__atomic_load_n(word, __ATOMIC_RELAXED) == on);
}

/* The listener left between the library's check of the word and the kernel's. */
static void the_last_listener_leaving_is_ebadf(void **state)
{
	listen_to_word("perfume_static", &perfume_word_perfume_static, 1);
	assert_int_equal(perfume_perfume_static(1, "x"), 10);
	listen_to_word("perfume_static", &perfume_word_perfume_static, 0);
	perfume_word_perfume_static |= PERFUME_WORD_KERNEL;
	errno = 1234;
	assert_int_equal(perfume_perfume_static(1, "x"), -EBADF);
	assert_int_equal(errno, 1234);
	perfume_word_perfume_static = 0;
}

static void errors_of_the_kernel_are_distinguished(void **state)
{
	struct perfume_probe *probe = perfume_register(ctx, NAME, "__rel_loc char[] text", NULL);
	uint32_t outside[] = {5 << 16 | 99, 0}, raw[] = {4 << 16, 0x41414141};

	listen_in_ftrace(NAME, 1);
	assert_int_equal(perfume_write(probe, outside, sizeof(outside)), -EFAULT);
	assert_int_equal(perfume_write(probe, raw, sizeof(raw)), -EFAULT);
	assert_int_equal(perfume_write(probe, outside, 3), -EINVAL);
	raw[1] = 0x00414141;
	assert_int_equal(perfume_write(probe, raw, sizeof(raw)), 8);
	assert_int_equal(traced(NAME ": text=AAA"), 1);
}

static void the_longest_payload_is_seen_and_a_longer_one_refused(void **state)
{
	static char payload[4100];
	struct perfume_probe *probe = probe_u32();
	int i;

	listen_in_ftrace(NAME, 1);
	for (i = 0; i < 20; i++)
		assert_int_equal(perfume_write_payload(probe, payload, PERFUME_PAYLOAD_MAX),
			PERFUME_PAYLOAD_MAX);
	assert_int_equal(traced(NAME ": a="), 20);
	for (i = 4095; i <= 4097; i++)
		assert_int_equal(perfume_write_payload(probe, payload, (size_t)i), -EMSGSIZE);
	assert_int_equal(traced(NAME ": a="), 20);
}

static void a_static_event_is_seen_with_its_fields(void **state)
{
	assert_int_equal(PERFUME_EVENT_ERROR(perfume_static), 0);
	assert_true(event_exists("perfume_static"));
	assert_int_equal(perfume_perfume_static(7, "not heard"), 0);
	listen_to_word("perfume_static", &perfume_word_perfume_static, 1);
	assert_int_equal(perfume_perfume_static(8, "heard"), 14);
	listen_to_word("perfume_static", &perfume_word_perfume_static, 0);
	assert_int_equal(traced("perfume_static: number="), 1);
	assert_int_equal(traced("text=heard"), 1);
}

static void perf_gets_the_payload(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	struct perf_event_mmap_page *ring;
	struct perfume_probe *probe = probe_u32();
	struct {
		struct perf_event_header header;
		uint32_t size;
		uint32_t common[2];
		uint32_t a;
	} * record;
	int fd;

	attr.sample_type = PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	attr.config = strtoull(text_of(TRACEFS "events/user_events/" NAME "/id"), NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ring = mmap(NULL, 5 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	record = (void *)((char *)ring + 4096);
	assert_true(perfume_probe_enabled(probe));
	assert_int_equal(write_u32(probe, 0xfeed), 4);
	assert_int_equal(record->header.type, PERF_RECORD_SAMPLE);
	assert_int_equal(record->a, 0xfeed);
	munmap(ring, 5 * 4096);
	close(fd);
	WAIT_UNTIL(!perfume_probe_enabled(probe));
}

/* The page of the payload is not present when the kernel's write first reads it. */
static void an_unmapped_payload_page_is_faulted_in(void **state)
{
	struct perfume_probe *probe = probe_u32();
	uint32_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	listen_in_ftrace(NAME, 1);
	*page = 7;
	assert_int_equal(perfume_write(probe, page, 4), 4);
	assert_int_equal(madvise(page, 4096, MADV_DONTNEED), 0);
	assert_int_equal(perfume_write(probe, page, 4), 4);
	assert_int_equal(traced(NAME ": a="), 2);
	munmap(page, 4096);
	assert_int_equal(perfume_write_payload(probe, NULL, 4), -EFAULT);
}

/* ---- names ---- */

/* Some tools may fail on them; the kernel and current programs do not. */
static void names_with_dots_and_dashes_are_registered(void **state)
{
	const char *reason;

	assert_int_equal(perfume_check_name(NAME ".a-b", &reason), PERFUME_NAME_RISKY);
	assert_non_null(perfume_register(ctx, NAME ".a-b", "u32 a", NULL));
	assert_true(event_exists(NAME ".a-b"));
	assert_null(perfume_register(ctx, NAME ":a", "u32 a", NULL));
	assert_null(perfume_register(ctx, NAME " a", "u32 a", NULL));
}

/* ---- events that describe themselves ---- */

/* Two events, one tracepoint. */
static void events_of_one_level_and_keyword_share_a_tracepoint(void **state)
{
	assert_int_equal(PERFUME_EVENT_ERROR(header_one), 0);
	assert_int_equal(PERFUME_EVENT_ERROR(header_two), 0);
	listen_to_word("Guest_L4K2a", &perfume_word_header_one, 1);
	WAIT_UNTIL(__atomic_load_n(&perfume_word_header_two, __ATOMIC_RELAXED));
	assert_true(perfume_header_one(1) > 0);
	assert_true(perfume_header_two("x") > 0);
	assert_int_equal(traced("Guest_L4K2a: eventheader_flags="), 2);
	listen_to_word("Guest_L4K2a", &perfume_word_header_one, 0);
	assert_int_equal(perfume_header_one(1), 0);
}

/* ---- processes ---- */

static int child_writes(struct perfume_probe *probe)
{
	return perfume_probe_enabled(probe) && write_u32(probe, 2) == 4;
}

static int child_closed_everything(struct perfume_probe *probe)
{
	syscall(SYS_close_range, 3, ~0u, 0);
	/* The library must not write to a file that the child opens now. */
	int mine = open("/tmp/mine", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct stat st;
	int ok = child_writes(probe) && child_writes(probe);

	return ok && !fstat(mine, &st) && st.st_size == 0;
}

static int child_deregisters(struct perfume_probe *probe)
{
	perfume_free(ctx);
	return 1;
}

static void a_forked_child_writes_without_affecting_the_parent(void **state)
{
	struct perfume_probe *probe = probe_u32();

	listen_in_ftrace(NAME, 1);
	assert_true(IN_CHILD(child_writes(probe)));
	assert_int_equal(traced(NAME ": a="), 1);
	assert_true(IN_CHILD(child_closed_everything(probe)));
	assert_int_equal(traced(NAME ": a="), 3);
	assert_true(IN_CHILD(child_deregisters(probe)));
	assert_int_equal(write_u32(probe, 3), 4);
	assert_int_equal(traced(NAME ": a="), 4);
	/*
	 * The page of the word is shared with the child until it is written; the kernel updates it
	 * with a delay.
	 */
	listen_in_ftrace(NAME, 0);
	WAIT_UNTIL(!perfume_probe_enabled(probe));
	listen_in_ftrace(NAME, 1);
	WAIT_UNTIL(perfume_probe_enabled(probe));
	assert_int_equal(write_u32(probe, 3), 4);
}

/* A child that was forked without a listener notices a later one. */
static void a_child_notices_later_listeners(void **state)
{
	struct perfume_probe *probe = probe_u32();
	int status;
	pid_t pid = fork();

	if (!pid) {
		WAIT_UNTIL(perfume_probe_enabled(probe));
		_exit(write_u32(probe, 9) == 4 ? 0 : 1);
	}
	listen_in_ftrace(NAME, 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(traced(NAME ": a="), 1);
}

static int in_clone(void *probe)
{
	_exit(write_u32(probe, 5) == 4 ? 0 : 1);
}

static void a_child_that_shares_memory_writes_too(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct perfume_probe *probe = probe_u32();
	int status;
	pid_t pid;

	listen_in_ftrace(NAME, 1);
	pid = clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, probe);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(write_u32(probe, 6), 4);
	assert_int_equal(traced(NAME ": a="), 2);
}

static void exec_ends_the_registration(void **state)
{
	struct perfume_probe *probe = probe_u32();

	listen_in_ftrace(NAME, 1);
	assert_true(IN_CHILD(execl("/bin/true", "true", NULL) == 0));
	assert_int_equal(write_u32(probe, 6), 4);
	perfume_deregister(ctx, probe);
	listen_in_ftrace(NAME, 0);
	WAIT_UNTIL(!event_exists(NAME));
}

static void a_killed_program_leaves_nothing(void **state)
{
	pid_t pid;
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		probe_u32();
		if (write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_true(event_exists(NAME));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	WAIT_UNTIL(!event_exists(NAME));
}

static void descriptors_closed_by_the_program_are_opened_again(void **state)
{
	struct perfume_probe *probe = probe_u32();
	struct stat st;
	int mine;

	listen_in_ftrace(NAME, 1);
	assert_int_equal(write_u32(probe, 1), 4);
	syscall(SYS_close_range, 3, ~0u, 0);
	mine = open("/tmp/mine", O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write_u32(probe, 2), 4);
	assert_int_equal(write_u32(probe, 3), 4);
	assert_int_equal(traced(NAME ": a="), 3);
	assert_int_equal(fstat(mine, &st), 0);
	assert_int_equal(st.st_size, 0);
	/* A probe can also be deregistered after its descriptor was closed. */
	syscall(SYS_close_range, 3, ~0u, 0);
	assert_int_equal(perfume_deregister(ctx, probe), 0);
	listen_in_ftrace(NAME, 0);
	WAIT_UNTIL(!event_exists(NAME));
}

/* ---- memory that the kernel must not write to ---- */

/* Keeps the event alive in another process, and lets it be enabled there. */
static pid_t keep_alive(int *ret_end)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct perfume_ctx *mine = perfume_init(0);

		perfume_register(mine, NAME, "u32 a", NULL);
		if (write(ends[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[1]);
	*ret_end = ends[0];
	return pid;
}

static void freed_probes_leave_no_pointer_in_the_kernel(void **state)
{
	enum { N = 200 };
	unsigned char *blocks[N];
	struct perfume_ctx *short_lived;
	size_t i, j;
	int end;
	pid_t pid = keep_alive(&end);

	for (i = 0; i < 50; i++) {
		short_lived = perfume_init(0);
		for (j = 0; j < 4; j++)
			perfume_register(short_lived, NAME, "u32 a", NULL);
		perfume_free(short_lived);
	}
	for (i = 0; i < N; i++)
		blocks[i] = calloc(1, 64 + i);
	listen_in_ftrace(NAME, 1);
	for (i = 0; i < N; i++) {
		for (j = 0; j < 64 + i; j++)
			assert_int_equal(blocks[i][j], 0);
		free(blocks[i]);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(end);
}

/* The memory of the plug-in is reused after dlclose, before a listener arrives. */
static void a_plugin_leaves_no_pointer_in_the_kernel(void **state)
{
	void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	struct perfume_event *(*event)(void);
	int (*call)(uint32_t);
	uintptr_t word, page;
	uint32_t *again;

	if (!plugin)
		fail_msg("%s", dlerror());
	event = (struct perfume_event * (*)(void))(uintptr_t)dlsym(plugin, "plugin_event");
	call = (int (*)(uint32_t))(uintptr_t)dlsym(plugin, "plugin_call");
	assert_int_equal(listen_in_ftrace("plugin_called", 1), 0);
	assert_int_equal(call(1), 15);
	word = (uintptr_t)event()->word;
	page = word & ~4095UL;
	dlclose(plugin);
	/* The listener holds the event. */
	assert_true(event_exists("plugin_called"));
	again = mmap((void *)page, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(again, (void *)page);
	listen_in_ftrace("plugin_called", 0);
	assert_int_equal(*(uint32_t *)word, 0);
	munmap(again, 4096);
	WAIT_UNTIL(!event_exists("plugin_called"));
	plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	assert_true(event_exists("plugin_called"));
	dlclose(plugin);
	WAIT_UNTIL(!event_exists("plugin_called"));
}

/* ---- many ---- */

/*
 * In eight contexts, and the newest is freed first: for each event, the kernel copies the list of
 * the events of its descriptor, and for each deletion it walks over all newer events. With one
 * context, that takes an emulated kernel minutes.
 */
static void thirty_two_thousand_events_are_registered(void **state)
{
	enum { EACH = 4000, CONTEXTS = 8 };
	struct perfume_ctx *contexts[CONTEXTS];
	struct timespec start, end;
	struct perfume_probe *probe = NULL;
	char name[64];
	int i;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < EACH * CONTEXTS; i++) {
		if (i % EACH == 0)
			contexts[i / EACH] = perfume_init(0);
		snprintf(name, sizeof(name), NAME "_%d", i);
		probe = perfume_register(contexts[i / EACH], name, "u32 a", NULL);
		if (!probe)
			fail_msg("event %d: %s", i, perfume_error());
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("32,000 events in %ld s\n", (long)(end.tv_sec - start.tv_sec));
	listen_in_ftrace(NAME "_31999", 1);
	assert_int_equal(write_u32(probe, 1), 4);
	assert_int_equal(write_u32(perfume_find(contexts[0], NAME "_0"), 1), 0);
	listen_in_ftrace(NAME "_31999", 0);
	for (i = CONTEXTS; i--;)
		perfume_free(contexts[i]);
	/* The kernel deletes them one after another. */
	WAIT_SECONDS(200, !event_exists(NAME "_31999") && !event_exists(NAME "_0"));
}

static int stop;
static unsigned long written, refused;

/* At low priority, so that the kernel's workers, on which each toggle waits, run first. */
static void *write_until_stopped(void *probe)
{
	unsigned long mine_refused = 0;

	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int n = write_u32(probe, 1);

		if (n == 4)
			__atomic_fetch_add(&written, 1, __ATOMIC_RELAXED);
		else if (n != 0 && n != -EBADF)
			mine_refused++;
		if (!n)
			sched_yield();
	}
	__atomic_fetch_add(&refused, mine_refused, __ATOMIC_RELAXED);
	return NULL;
}

/* Without it, they write only if a CPU is idle while the event is enabled. */
static void let_them_write(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	unsigned long before = __atomic_load_n(&written, __ATOMIC_RELAXED);

	while (__atomic_load_n(&written, __ATOMIC_RELAXED) == before)
		nanosleep(&moment, NULL);
}

/* Each toggle waits for grace periods of an emulated kernel: TOGGLES=1000 takes a minute. */
static void threads_write_while_listeners_attach_and_detach(void **state)
{
	const char *toggles_text = getenv("TOGGLES");
	int i, toggles = toggles_text ? atoi(toggles_text) : 1000;
	struct perfume_probe *probe = probe_u32();
	struct timespec start, end;
	pthread_t threads[64];

	put_text_in(TRACEFS "buffer_size_kb", "64");
	put_text_in(TRACEFS "options/record-cmd", "0");
	put_text_in("/sys/kernel/rcu_expedited", "1");
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < 64; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_until_stopped, probe), 0);
	/* So that it does not wait for its turn after the 64. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
	for (i = 0; i < toggles; i++) {
		assert_int_equal(listen_in_ftrace(NAME, 1), 0);
		if (i % 50 == 0)
			let_them_write();
		assert_int_equal(listen_in_ftrace(NAME, 0), 0);
	}
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	print_message("%d times on and off in %ld s, %lu events written\n", toggles,
		(long)(end.tv_sec - start.tv_sec), written);
	assert_int_equal(refused, 0);
	assert_true(written > 0);
	assert_false(perfume_probe_enabled(probe));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(tracefs_is_found_at_any_mount),
		CASE(missing_permission_is_reported),
		CASE(registering_twice_gives_two_probes_of_one_event),
		CASE(an_event_with_other_fields_is_refused_with_the_reason),
		CASE(a_persistent_event_stays),
		CASE(an_event_is_removed_with_its_last_probe),
		CASE(a_probe_follows_its_listeners),
		CASE(the_last_listener_leaving_is_ebadf),
		CASE(errors_of_the_kernel_are_distinguished),
		CASE(the_longest_payload_is_seen_and_a_longer_one_refused),
		CASE(a_static_event_is_seen_with_its_fields),
		CASE(perf_gets_the_payload),
		CASE(an_unmapped_payload_page_is_faulted_in),
		CASE(names_with_dots_and_dashes_are_registered),
		CASE(events_of_one_level_and_keyword_share_a_tracepoint),
		CASE(a_forked_child_writes_without_affecting_the_parent),
		CASE(a_child_notices_later_listeners),
		CASE(a_child_that_shares_memory_writes_too),
		CASE(exec_ends_the_registration),
		CASE(a_killed_program_leaves_nothing),
		CASE(descriptors_closed_by_the_program_are_opened_again),
		CASE(freed_probes_leave_no_pointer_in_the_kernel),
		CASE(a_plugin_leaves_no_pointer_in_the_kernel),
		CASE(threads_write_while_listeners_attach_and_detach),
		CASE(thirty_two_thousand_events_are_registered),
	};

	if (access(DATA_FILE, W_OK))
		skip_whole_test("no user_events here: this test runs in a guest that has them");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
