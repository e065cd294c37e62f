/* SPDX-License-Identifier: MIT */
#include "bpf/counting.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "attar/private/hist.h"
#include "base/library.h"
#include "base/rights.h"
#include "bpf/sums.h"
#include "perf/capabilities.h"
#include "perf/features.h"
#include "perf/kernel.h"

#define FUNCTIONS(F)                                                                               \
	F(set_print, libbpf_set_print)                                                             \
	F(cpus, libbpf_num_possible_cpus)                                                          \
	F(open, bpf_object__open_mem)                                                              \
	F(close, bpf_object__close)                                                                \
	F(load, bpf_object__load)                                                                  \
	F(find_map, bpf_object__find_map_by_name)                                                  \
	F(next, bpf_object__next_program)                                                          \
	F(name, bpf_program__name)                                                                 \
	F(autoload, bpf_program__set_autoload)                                                     \
	F(attach, bpf_program__attach)                                                             \
	F(attach_to, bpf_program__attach_tracepoint)                                               \
	F(program_fd, bpf_program__fd)                                                             \
	F(destroy, bpf_link__destroy)                                                              \
	F(set_entries, bpf_map__set_max_entries)                                                   \
	F(set_value, bpf_map__set_initial_value)                                                   \
	F(map_fd, bpf_map__fd)                                                                     \
	F(update, bpf_map_update_elem)                                                             \
	F(lookup, bpf_map_lookup_elem)                                                             \
	F(info, bpf_obj_get_info_by_fd)

LIBRARY_FUNCTIONS(libbpf, FUNCTIONS);

enum {
	PROGRAMS_MAX = 6,
	TASKS_MAX = 65536,          /* with an open start, or selected */
	SUMS_BYTES_MAX = 256 << 20, /* of all CPUs; the kernel does not swap it */
};

/* The compiled programs, see src/bpf/meson.build. */
extern const char bpf_block[], bpf_irq[], bpf_key[], bpf_sched[], bpf_syscall[], bpf_value[];
extern const size_t bpf_block_size, bpf_irq_size, bpf_key_size, bpf_sched_size, bpf_syscall_size,
	bpf_value_size;

/* What is loaded for a kind. */
static const struct kind {
	const char *bytes;
	const size_t *size;
	const char *programs[PROGRAMS_MAX]; /* ends with NULL */
	uint32_t rows, pages;               /* no pages: rows are counts */
	uint32_t key_bytes;                 /* of the keys in the sums */
	bool has_keys;                      /* rows are known by them */
	bool is_of_running, only_counts;
} kinds[] = {
	[COUNTING_READY] = {bpf_sched, &bpf_sched_size, {"on_wakeup", "on_wakeup_new", "on_switch"},
		SUMS_SCHED_ROWS, SUMS_SCHED_PAGES},
	[COUNTING_RUNNING] = {bpf_sched, &bpf_sched_size, {"on_switch"}, SUMS_SCHED_ROWS,
		SUMS_SCHED_PAGES, .is_of_running = true},
	[COUNTING_SOFTIRQS] = {bpf_irq, &bpf_irq_size, {"on_softirq_entry", "on_softirq_exit"},
		SUMS_IRQ_ROWS, SUMS_IRQ_PAGES, SUMS_IRQ_KEY},
	[COUNTING_HARDIRQS] = {bpf_irq, &bpf_irq_size, {"on_irq_entry", "on_irq_exit"},
		SUMS_IRQ_ROWS, SUMS_IRQ_PAGES, SUMS_IRQ_KEY, .has_keys = true},
	[COUNTING_REQUESTS] = {bpf_block, &bpf_block_size,
		{"on_issue", "on_requeue", "on_complete"}, SUMS_BLOCK_ROWS, SUMS_BLOCK_PAGES,
		SUMS_BLOCK_KEY, .has_keys = true},
	[COUNTING_VALUES] = {bpf_value, &bpf_value_size, {"on_event"}, SUMS_VALUE_ROWS,
		SUMS_VALUE_PAGES},
	[COUNTING_KEYS] = {bpf_key, &bpf_key_size, {"on_event"}, SUMS_KEY_ROWS, 0, SUMS_KEY_KEY,
		.has_keys = true},
	[COUNTING_SYSCALLS] = {bpf_syscall, &bpf_syscall_size,
		{"on_enter", "on_exit", "on_task_exit"}, SUMS_SYSCALL_ROWS, SUMS_SYSCALL_PAGES},
	[COUNTING_CALLS] = {bpf_syscall, &bpf_syscall_size, {"on_enter"}, SUMS_SYSCALL_ROWS,
		SUMS_SYSCALL_PAGES, .only_counts = true},
};

/* These are loaded if tasks are selected. */
static const char *const selecting[] = {"on_fork", "on_exec", "on_task_exit"};

struct counting {
	struct libbpf lib;
	const struct kind *kind;
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS_MAX + ARRAY_SIZE(selecting)];
	int programs[PROGRAMS_MAX + ARRAY_SIZE(selecting)]; /* their descriptors */
	size_t n_links;
	int selected_fd, others_fd;   /* -1: it has no such map */
	struct sums_control *control; /* mapped */
	uint32_t n_cpus;
	size_t value_size; /* of a CPU in the map */
	char *sums;        /* mapped */
	char *seen;        /* what was read before, the same size */
};

/* ---- loading ---- */

static int print_debug(enum libbpf_print_level level, const char *format, va_list args)
{
	char text[512];
	int n = vsnprintf(text, sizeof(text), format, args);

	if (level == LIBBPF_WARN && n > 0)
		log_debug("libbpf: %.*s", (int)strcspn(text, "\n"), text);
	return 0;
}

static int libbpf_load(struct libbpf *lib)
{
	int r = library_load("libbpf.so.1", libbpf_names, ARRAY_SIZE(libbpf_names), lib);

	return r < 0 ? library_fail(r, "counting in the kernel", "libbpf", "libbpf1") : 0;
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n && list[i]; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static void choose_programs(struct counting *c, const struct counting_opts *opts)
{
	struct bpf_program *program = NULL;

	while ((program = c->lib.next(c->object, program))) {
		const char *name = c->lib.name(program);

		c->lib.autoload(program,
			is_one_of(name, c->kind->programs, PROGRAMS_MAX) ||
				(opts->selects_tasks &&
					is_one_of(name, selecting, ARRAY_SIZE(selecting))));
	}
}

/* Before Linux 5.11, events of requests have their queue, too. */
static void set_requests(struct sums_settings *settings, const struct counting_requests *requests)
{
	settings->has_queue = kernel_get()->version < KERNEL_VERSION_OF(5, 11);
	settings->by_device = requests->by_device;
	settings->by_type = requests->by_type;
	settings->n_devices = (uint8_t)requests->n_devices;
	for (size_t i = 0; i < requests->n_devices; i++) {
		const struct counting_device *device = &requests->devices[i];

		settings->devices[i] = (struct sums_device){
			.dev = device->dev, .first = device->first, .last = device->last};
	}
}

static int counting_set(struct counting *c, const struct counting_opts *opts, bool has_prev_state)
{
	struct sums_settings settings = {.own_pid = (uint32_t)opts->own_pid,
		.selects_tasks = opts->selects_tasks,
		.adds_children = opts->adds_children,
		.adds_threads = opts->adds_threads,
		.has_prev_state = has_prev_state,
		.selects_cpus = opts->cpus != NULL,
		.is_of_running = c->kind->is_of_running,
		.only_counts = c->kind->only_counts};
	struct bpf_map *map = c->lib.find_map(c->object, ".rodata");

	for (size_t i = 0; opts->cpus && i < opts->cpus->n; i++)
		if (opts->cpus->at[i] >= 0 && opts->cpus->at[i] < SUMS_CPUS_MAX)
			settings.cpus[opts->cpus->at[i] / 64] |= UINT64_C(1)
								 << opts->cpus->at[i] % 64;
	if (opts->field) {
		settings.field_offset = (uint16_t)opts->field->offset;
		settings.field_size = (uint8_t)opts->field->size;
		settings.is_signed = opts->field->is_signed;
		settings.than = opts->field->than;
	}
	if (opts->requests)
		set_requests(&settings, opts->requests);
	return map ? c->lib.set_value(map, &settings, sizeof(settings)) : -ENOENT;
}

static int set_entries(struct counting *c, const char *name, uint32_t n)
{
	struct bpf_map *map = c->lib.find_map(c->object, name);

	return map ? c->lib.set_entries(map, n) : -ENOENT;
}

static int load(struct counting *c, const struct counting_opts *opts, bool has_prev_state)
{
	struct bpf_object_open_opts how = {.sz = sizeof(how), .object_name = "attar"};
	int r;

	c->object = c->lib.open(c->kind->bytes, *c->kind->size, &how);
	if (!c->object)
		return -errno;
	choose_programs(c, opts);
	r = counting_set(c, opts, has_prev_state);
	if (r == 0)
		r = set_entries(c, "sums", c->n_cpus);
	if (r == 0 && !opts->field)
		r = set_entries(c, "starts", TASKS_MAX);
	if (r == 0 && opts->selects_tasks)
		r = set_entries(c, "selected", TASKS_MAX);
	return r < 0 ? r : c->lib.load(c->object);
}

static int map_fd(const struct counting *c, const char *name)
{
	return c->lib.map_fd(c->lib.find_map(c->object, name));
}

static int map_memory(const struct counting *c, const char *name, size_t size, void *ret_memory)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(c, name), 0);

	if (memory == MAP_FAILED)
		return attar_fail(-errno, "counting in the kernel: cannot map '%s': %s", name,
			strerror(errno));
	*(void **)ret_memory = memory;
	return 0;
}

static size_t sums_size(const struct kind *kind)
{
	size_t keys = kind->rows * kind->key_bytes;

	if (!kind->pages)
		return sizeof(struct sums_head) + kind->rows * sizeof(uint64_t) + keys;
	return sizeof(struct sums_head) + kind->rows * sizeof(struct sums_row) +
	       kind->pages * sizeof(uint32_t[BUCKETS_PER_PAGE]) + keys;
}

static int fail_to_load(int error)
{
	if (error == -EPERM)
		return attar_fail(-EPERM, "counting in the kernel is not permitted" ATTAR_FIX
					  "it requires root, or CAP_BPF and CAP_PERFMON");
	return attar_fail(-EOPNOTSUPP,
		"counting in the kernel: this kernel does not accept the program (%s)" ATTAR_FIX
		"-vv shows why",
		strerror(-error));
}

/* Before Linux 5.11, maps are within the limit on locked memory, which a command inherits. */
static int load_unlimited(struct counting *c, const struct counting_opts *opts, bool has_prev_state)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit before;
	bool is_raised = getrlimit(RLIMIT_MEMLOCK, &before) == 0 &&
			 setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0;
	int r = load(c, opts, has_prev_state);

	if (is_raised)
		setrlimit(RLIMIT_MEMLOCK, &before);
	return r;
}

static int counting_open(struct counting *c, const struct counting_opts *opts)
{
	libbpf_print_fn_t before = c->lib.set_print(print_debug);
	int cpus = c->lib.cpus(), r = cpus < 0 ? cpus : 0;

	c->n_cpus = (uint32_t)cpus;
	c->value_size = sums_size(c->kind);
	if (r == 0 && c->value_size * c->n_cpus > SUMS_BYTES_MAX) {
		c->lib.set_print(before);
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel: sums of %u CPUs take more than %d MiB", c->n_cpus,
			SUMS_BYTES_MAX >> 20);
	}
	if (r == 0 && opts->field && kernel_get()->version < KERNEL_VERSION_OF(6, 7)) {
		c->lib.set_print(before);
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel: before Linux 6.7, the kernel does not tell which "
			"events of a tracepoint a program has missed");
	}
	if (r == 0)
		r = load_unlimited(c, opts, true);
	/* before Linux 5.18, sched_switch has no fourth argument */
	if (r < 0 && r != -EPERM && c->object && c->kind->bytes == bpf_sched) {
		c->lib.close(c->object);
		r = load_unlimited(c, opts, false);
	}
	c->lib.set_print(before);
	return r < 0 ? fail_to_load(r) : 0;
}

int counting_check(void)
{
	struct libbpf lib;
	int r = libbpf_load(&lib);

	if (r == 0 && access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel needs /sys/kernel/btf/vmlinux" ATTAR_FIX
			"use a kernel with CONFIG_DEBUG_INFO_BTF=y");
	if (r == 0 && !(capabilities_has(CAP_BPF) && capabilities_has(CAP_PERFMON)))
		return fail_to_load(-EPERM);
	return r;
}

int counting_new(const struct counting_opts *opts, struct counting **ret_counting)
{
	struct counting *c;
	int r = counting_check();

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return base_oom();
	c->kind = &kinds[opts->kind];
	c->selected_fd = -1;
	c->others_fd = -1;
	r = libbpf_load(&c->lib);
	if (r == 0)
		r = counting_open(c, opts);
	if (r == 0)
		r = map_memory(c, "control", sizeof(*c->control), &c->control);
	if (r == 0)
		r = map_memory(c, "sums", c->value_size * c->n_cpus, &c->sums);
	if (r == 0) {
		c->seen = calloc(c->n_cpus, c->value_size);
		r = c->seen ? 0 : base_oom();
	}
	if (r == 0 && opts->selects_tasks)
		c->selected_fd = map_fd(c, "selected");
	if (r == 0 && c->lib.find_map(c->object, "others"))
		c->others_fd = map_fd(c, "others");
	if (r == 0)
		*ret_counting = c;
	else
		counting_free(c);
	return r;
}

struct counting *counting_free(struct counting *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->n_links; i++)
		c->lib.destroy(c->links[i]);
	if (c->sums)
		munmap(c->sums, c->value_size * c->n_cpus);
	if (c->control)
		munmap(c->control, sizeof(*c->control));
	if (c->object)
		c->lib.close(c->object);
	free(c->seen);
	free(c);
	return NULL;
}

/* ---- the program ---- */

/* The programs that select tasks know their events. */
static struct bpf_link *attach(
	struct counting *c, const struct bpf_program *program, const struct counting_field *field)
{
	if (field && is_one_of(c->lib.name(program), c->kind->programs, PROGRAMS_MAX))
		return c->lib.attach_to(program, field->system, field->name);
	return c->lib.attach(program);
}

int counting_attach(struct counting *c, const struct counting_field *field)
{
	struct bpf_program *program = NULL;
	libbpf_print_fn_t before = c->lib.set_print(print_debug);
	int r = 0;

	while (r == 0 && (program = c->lib.next(c->object, program))) {
		struct bpf_link *link;

		if (c->lib.program_fd(program) < 0 || c->n_links == ARRAY_SIZE(c->links))
			continue;
		link = attach(c, program, field);
		if (!link) {
			r = attar_fail(-errno, "counting in the kernel: cannot attach to '%s': %s",
				field ? field->name : c->lib.name(program), strerror(errno));
			break;
		}
		c->programs[c->n_links] = c->lib.program_fd(program);
		c->links[c->n_links++] = link;
	}
	c->lib.set_print(before);
	return r;
}

int counting_select(struct counting *c, pid_t tid)
{
	const uint32_t key = (uint32_t)tid;
	const uint8_t value = 1;
	int r = c->lib.update(c->selected_fd, &key, &value, BPF_ANY);

	return r < 0 ? attar_fail(r, "counting in the kernel: cannot select thread %d: %s", tid,
			       strerror(-r))
		     : 0;
}

void counting_select_command(struct counting *c, pid_t pid)
{
	__atomic_store_n(&c->control->command, (uint32_t)pid, __ATOMIC_RELEASE);
}

void counting_enable(struct counting *c, bool on)
{
	__atomic_store_n(&c->control->is_on, on, __ATOMIC_RELEASE);
}

/* ---- reading ---- */

static struct sums_head *head_of(char *sums)
{
	return (struct sums_head *)sums;
}

static struct sums_row *row_of(char *sums, uint32_t row)
{
	return (struct sums_row *)(sums + sizeof(struct sums_head)) + row;
}

static uint32_t *page_of(const struct counting *c, char *sums, uint32_t page)
{
	return (uint32_t *)row_of(sums, c->kind->rows) + page * BUCKETS_PER_PAGE;
}

/* The keys are at the end of the sums. */
static const char *key_of(const struct counting *c, char *sums, uint32_t row)
{
	return sums + c->value_size - (c->kind->rows - row) * c->kind->key_bytes;
}

static uint64_t difference(uint64_t *seen, const uint64_t *now)
{
	uint64_t before = *seen;

	*seen = __atomic_load_n(now, __ATOMIC_RELAXED);
	return *seen - before;
}

/* The extremes of the generation that ended, as far as they fit the buckets. */
static void set_extremes(struct attar_hist *times, uint64_t min, uint64_t max)
{
	if (bucket_of(min) == bucket_of(times->min))
		times->min = min;
	if (bucket_of(max) == bucket_of(times->max))
		times->max = max;
}

/* Counts wrap at 2^32; differences are right if fewer come between two readings. */
static int read_page(struct attar_hist *times, uint32_t first, uint32_t *seen, const uint32_t *now)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < BUCKETS_PER_PAGE; i++) {
		uint32_t count = __atomic_load_n(&now[i], __ATOMIC_RELAXED);

		if (count != seen[i])
			r = hist_add_n(times, bucket_low(first + i), count - seen[i]);
		seen[i] = count;
	}
	return r;
}

static int read_pages(
	const struct counting *c, uint32_t row, char *sums, char *seen, struct attar_hist *times)
{
	const struct sums_row *r = row_of(sums, row);
	int error = 0;

	for (uint32_t page = 0; error == 0 && page < BUCKET_PAGES; page++) {
		uint32_t at = __atomic_load_n(&r->page_at[page], __ATOMIC_RELAXED);

		if (at && at <= c->kind->pages)
			error = read_page(times, page * BUCKETS_PER_PAGE, page_of(c, seen, at - 1),
				page_of(c, sums, at - 1));
	}
	return error;
}

/* The number of a row; of a system call that does not exist, the program has chosen the row. */
static uint64_t number_of(const struct counting *c, uint32_t row)
{
	uint32_t other = row - (SUMS_SYSCALL_ROWS - SUMS_SYSCALL_OTHERS);
	uint64_t number;

	if (c->others_fd < 0 || other >= SUMS_SYSCALL_OTHERS ||
		c->lib.lookup(c->others_fd, &other, &number) < 0)
		return row;
	return number;
}

/* What has changed of the rows that are given as one. */
struct reading {
	struct attar_hist times;
	unsigned __int128 total;
	uint64_t errors;
	uint64_t not_min, max;
};

/* The low half wraps first: the program may not have counted this in the high one yet. */
static unsigned __int128 total_of(struct sums_row *seen, const struct sums_row *now)
{
	unsigned __int128 before = (unsigned __int128)seen->total_high << 64 | seen->total, total;

	seen->total_high = __atomic_load_n(&now->total_high, __ATOMIC_ACQUIRE);
	seen->total = __atomic_load_n(&now->total, __ATOMIC_RELAXED);
	total = (unsigned __int128)seen->total_high << 64 | seen->total;
	if (total < before) {
		seen->total_high++;
		total += (unsigned __int128)1 << 64;
	}
	return total - before;
}

/* Adds a row of a CPU. */
static int reading_add(struct reading *reading, const struct counting *c, uint32_t cpu,
	uint32_t row, uint32_t generation)
{
	char *sums = c->sums + cpu * c->value_size, *seen = c->seen + cpu * c->value_size;
	const struct sums_row *now = row_of(sums, row);
	const struct sums_extremes *e = &now->extremes[generation];

	reading->total += total_of(row_of(seen, row), now);
	reading->errors += difference(&row_of(seen, row)->errors, &now->errors);
	reading->not_min = MAX(reading->not_min, e->not_min);
	reading->max = MAX(reading->max, e->max);
	return read_pages(c, row, sums, seen, &reading->times);
}

/* Gives it, if anything has changed. error: of reading it. */
static int reading_give(struct reading *reading, struct counting_row *row, int error,
	counting_row_fn *fn, void *ctx)
{
	struct attar_hist *times = &reading->times;

	if (times->count) {
		set_extremes(times, ~reading->not_min, reading->max);
		times->sum = (uint64_t)reading->total;
		times->sum_high = (uint64_t)(reading->total >> 64);
	}
	row->times = times;
	row->errors = reading->errors;
	if (error == 0 && (times->count || reading->errors))
		error = fn(ctx, row);
	attar_hist_done(times);
	return error;
}

/* Rows that have the same number on each CPU. */
static int read_numbered(struct counting *c, uint32_t generation, counting_row_fn *fn, void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->kind->rows; i++) {
		struct reading reading = {0};
		struct counting_row row = {0};

		for (uint32_t cpu = 0; r == 0 && cpu < c->n_cpus; cpu++)
			r = reading_add(&reading, c, cpu, i, generation);
		if (reading.times.count || reading.errors)
			row.number = number_of(c, i);
		r = reading_give(&reading, &row, r, fn, ctx);
	}
	return r;
}

/* Rows that a CPU has taken for keys: names, or numbers. */
static int read_keyed(
	struct counting *c, uint32_t cpu, uint32_t generation, counting_row_fn *fn, void *ctx)
{
	char *sums = c->sums + cpu * c->value_size;
	uint32_t n = MIN(__atomic_load_n(&head_of(sums)->n_rows, __ATOMIC_ACQUIRE), c->kind->rows);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const char *key = key_of(c, sums, i);
		struct reading reading = {0};
		struct counting_row row = {0};

		if (c->kind->key_bytes == sizeof(row.number))
			memcpy(&row.number, key, sizeof(row.number));
		else
			row.name = key;
		r = reading_add(&reading, c, cpu, i, generation);
		r = reading_give(&reading, &row, r, fn, ctx);
	}
	return r;
}

/* Rows that are counts of keys. */
static int read_counts(struct counting *c, uint32_t cpu, counting_row_fn *fn, void *ctx)
{
	char *sums = c->sums + cpu * c->value_size, *seen = c->seen + cpu * c->value_size;
	uint32_t n = MIN(__atomic_load_n(&head_of(sums)->n_rows, __ATOMIC_ACQUIRE), c->kind->rows);
	const uint64_t *now = (const uint64_t *)(head_of(sums) + 1);
	uint64_t *before = (uint64_t *)(head_of(seen) + 1);
	const struct attar_hist none = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct counting_row row = {
			.times = &none, .errors = difference(&before[i], &now[i])};

		memcpy(&row.number, key_of(c, sums, i), sizeof(row.number));
		if (row.errors)
			r = fn(ctx, &row);
	}
	return r;
}

int counting_read(struct counting *c, counting_row_fn *fn, void *ctx)
{
	uint32_t generation = c->control->generation & 1;
	int r = 0;

	for (uint32_t cpu = 0; r == 0 && cpu < c->n_cpus && !c->kind->pages; cpu++)
		r = read_counts(c, cpu, fn, ctx);
	if (!c->kind->pages)
		return r;

	for (uint32_t cpu = 0; cpu < c->n_cpus; cpu++)
		for (uint32_t row = 0; row < c->kind->rows; row++)
			row_of(c->sums + cpu * c->value_size, row)->extremes[!generation] =
				(struct sums_extremes){0};
	__atomic_store_n(&c->control->generation, !generation, __ATOMIC_SEQ_CST);
	if (!c->kind->has_keys)
		return read_numbered(c, generation, fn, ctx);
	for (uint32_t cpu = 0; r == 0 && cpu < c->n_cpus; cpu++)
		r = read_keyed(c, cpu, generation, fn, ctx);
	return r;
}

void counting_get_stats(const struct counting *c, struct counting_stats *ret_stats)
{
	struct counting_stats stats = {0};

	for (uint32_t cpu = 0; cpu < c->n_cpus; cpu++) {
		const struct sums_head *head = head_of(c->sums + cpu * c->value_size);

		stats.events += __atomic_load_n(&head->events, __ATOMIC_RELAXED);
		stats.lost += __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
		stats.missed += __atomic_load_n(&head->missed, __ATOMIC_RELAXED);
		stats.no_row += __atomic_load_n(&head->no_row, __ATOMIC_RELAXED);
		stats.no_start += __atomic_load_n(&head->no_start, __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i < c->n_links; i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (c->lib.info(c->programs[i], &info, &size) == 0)
			stats.lost += info.recursion_misses;
	}
	*ret_stats = stats;
}
