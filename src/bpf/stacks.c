/* SPDX-License-Identifier: MIT */
#include "bpf/stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "base/library.h"
#include "base/map.h"
#include "base/proc.h"
#include "base/scan_budget.h"
#include "bpf/counting.h"
#include "bpf/stacks_rules.h"
#include "bpf/stacks_shared.h"
#include "dwarf/cfi.h"
#include "stream/stream.h"
#include "symbol/address_space.h"
#include "symbol/symbols.h"

#define FUNCTIONS(F)                                                                               \
	F(set_print, libbpf_set_print)                                                             \
	F(cpus, libbpf_num_possible_cpus)                                                          \
	F(open, bpf_object__open_mem)                                                              \
	F(close, bpf_object__close)                                                                \
	F(load, bpf_object__load)                                                                  \
	F(find_map, bpf_object__find_map_by_name)                                                  \
	F(find_program, bpf_object__find_program_by_name)                                          \
	F(program_fd, bpf_program__fd)                                                             \
	F(set_entries, bpf_map__set_max_entries)                                                   \
	F(set_value, bpf_map__set_initial_value)                                                   \
	F(map_fd, bpf_map__fd)                                                                     \
	F(create, bpf_map_create)                                                                  \
	F(update, bpf_map_update_elem)                                                             \
	F(update_batch, bpf_map_update_batch)                                                      \
	F(delete, bpf_map_delete_elem)

LIBRARY_FUNCTIONS(libbpf, FUNCTIONS);

enum {
	RING_BYTES = 4 << 20, /* of a CPU; half of it on machines with many, a quarter with more */
	MANY_CPUS = 16,
	UNUSED_NS = 1000000000, /* a table that was not used for so long makes room for others */
	LOADING_NS = 50000000,  /* of an update, for making tables */
	USER_NS = 200000000,    /* for the binaries of the processes of a user */
	RING_HEADER = 8,        /* of a record: its size with bits, and what the kernel needs */
	SECTION_MAX = 32 << 20, /* bytes of call frame information that is compiled for it */
	PENDING_MAX = 1024,     /* processes between two updates */
	MAPPINGS_MAX = STACKS_MAPPINGS / 16, /* of a process */
	CHAIN_MAX = 1024,                    /* entries of the kernel's part of a call chain */
	NO_CFI = UINT32_MAX,                 /* in place of the number of a table: it is empty */
};

/* The program, see src/bpf/meson.build. */
extern const char bpf_stacks[];
extern const size_t bpf_stacks_size;

/* The records of a CPU, as the kernel maps them (kernel/bpf/ringbuf.c). */
struct ring {
	uint64_t *consumed;       /* in a page that attar writes */
	const uint64_t *produced; /* in a page before the data, which is mapped twice */
	const uint8_t *data;
	uint64_t next; /* what was not used yet */
	int fd;
};

/* A table that the program has. */
struct loaded {
	uintptr_t table; /* address of the struct cfi_table */
	uint32_t number;
	size_t bytes;
	uint64_t used; /* the time of the newest sample then */
};

struct stacks {
	struct libbpf lib;
	struct bpf_object *object;
	int program_fd, processes_fd, tables_fd;
	uint32_t n_cpus;
	size_t ring_bytes, page;
	struct ring *rings;              /* by CPU */
	struct stacks_counts *counts;    /* by CPU, mapped */
	struct stacks_mapping *mappings; /* mapped */
	struct stacks_rule *rules;       /* mapped; n_rules are used */
	uint32_t n_rules, n_tables, next_mapping;
	uint64_t serial;
	struct slots rule_slots; /* numbers of rules + 1 */
	VEC(struct loaded) loaded;
	uint64_t *used;     /* mapped: marks by number of a table */
	uint64_t used_read; /* when they were read, as the time of a sample */
	struct map tables;  /* address of a struct cfi_table to its number here, or 0 */
	struct map pending; /* pid to the stamp of its address space */
	uint64_t memory, bytes, refused, left; /* of tables */
	uint64_t delivered;                    /* time of the newest sample */
	uint64_t load_until;                   /* no more tables are made in this update then */
	struct scan_budget budget;
	struct attar_record sample;           /* with its stack */
	uint64_t registers[STACKS_REGISTERS]; /* in perf's order */
	uint64_t chain[CHAIN_MAX + 1 + STACKS_FRAMES];
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

static int map_fd(const struct stacks *s, const char *name)
{
	return s->lib.map_fd(s->lib.find_map(s->object, name));
}

/* Maps the values of a map. */
static int map_values(const struct stacks *s, const char *name, size_t size, void *ret_values)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(s, name), 0);

	if (at == MAP_FAILED)
		return -errno;
	memcpy(ret_values, &at, sizeof(at));
	return 0;
}

static int ring_open(struct stacks *s, struct ring *ring)
{
	char *at;

	ring->fd = s->lib.create(
		BPF_MAP_TYPE_RINGBUF, "attar_stacks", 0, 0, (uint32_t)s->ring_bytes, NULL);
	if (ring->fd < 0)
		return -errno;
	at = mmap(NULL, s->page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	ring->consumed = (uint64_t *)(void *)at;
	at = mmap(
		NULL, s->page + 2 * s->ring_bytes, PROT_READ, MAP_SHARED, ring->fd, (off_t)s->page);
	if (at == MAP_FAILED)
		return -errno;
	ring->produced = (const uint64_t *)(void *)at;
	ring->data = (const uint8_t *)at + s->page;
	return 0;
}

static void ring_close(const struct stacks *s, struct ring *ring)
{
	if (ring->consumed)
		munmap(ring->consumed, s->page);
	if (ring->produced)
		munmap((void *)(uintptr_t)ring->produced, s->page + 2 * s->ring_bytes);
	if (ring->fd >= 0)
		close(ring->fd);
}

static int open_rings(struct stacks *s)
{
	uint32_t *cpus _cleanup_free_ = calloc(s->n_cpus, sizeof(*cpus));
	uint32_t *fds _cleanup_free_ = calloc(s->n_cpus, sizeof(*fds)), n = s->n_cpus;
	int r = 0;

	if (!cpus || !fds)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < s->n_cpus; i++) {
		r = ring_open(s, &s->rings[i]);
		cpus[i] = i;
		fds[i] = (uint32_t)s->rings[i].fd;
	}
	if (r == 0 && s->lib.update_batch(map_fd(s, "rings"), cpus, fds, &n, NULL) < 0)
		r = -errno;
	return r;
}

static int map_all(struct stacks *s)
{
	int r = map_values(s, "counts", s->n_cpus * sizeof(*s->counts), &s->counts);

	if (r == 0)
		r = map_values(s, "mappings", STACKS_MAPPINGS * sizeof(*s->mappings), &s->mappings);
	if (r == 0)
		r = map_values(s, "rules", STACKS_RULES * sizeof(*s->rules), &s->rules);
	if (r == 0)
		r = map_values(s, "used", STACKS_TABLES * sizeof(*s->used), &s->used);
	return r;
}

static int stacks_load(struct stacks *s, const struct stacks_opts *opts)
{
	struct bpf_object_open_opts how = {.sz = sizeof(how), .object_name = "attar"};
	uint32_t pid = (uint32_t)opts->own_pid;
	int r;

	s->object = s->lib.open(bpf_stacks, bpf_stacks_size, &how);
	if (!s->object)
		return -errno;
	r = s->lib.set_value(s->lib.find_map(s->object, ".rodata"), &pid, sizeof(pid));
	if (r == 0)
		r = s->lib.set_entries(s->lib.find_map(s->object, "counts"), s->n_cpus);
	if (r == 0)
		r = s->lib.set_entries(s->lib.find_map(s->object, "rings"), s->n_cpus);
	if (r == 0)
		r = s->lib.set_entries(s->lib.find_map(s->object, "recents"), s->n_cpus);
	if (r == 0)
		r = s->lib.load(s->object);
	if (r < 0)
		return r;
	s->program_fd = s->lib.program_fd(s->lib.find_program(s->object, "on_sample"));
	s->processes_fd = map_fd(s, "processes");
	s->tables_fd = map_fd(s, "tables");
	r = map_all(s);
	return r < 0 ? r : open_rings(s);
}

static int stacks_check(void)
{
	int r = counting_check();

	if (r < 0)
		return r;
	if (!proc_has_first_pids())
		return attar_fail(-EOPNOTSUPP,
			"walking stacks in the kernel: this process is in another PID namespace, "
			"whose numbers of processes the kernel does not use");
	return 0;
}

static int stacks_start(struct stacks *s, const struct stacks_opts *opts)
{
	libbpf_print_fn_t before;
	int r, n;

	r = library_load("libbpf.so.1", libbpf_names, ARRAY_SIZE(libbpf_names), &s->lib);
	if (r < 0)
		return library_fail(r, "walking stacks in the kernel", "libbpf", "libbpf1");
	n = s->lib.cpus();
	s->n_cpus = n > 0 ? (uint32_t)n : 1;
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->ring_bytes = s->n_cpus <= MANY_CPUS       ? RING_BYTES
			: s->n_cpus <= 4 * MANY_CPUS ? RING_BYTES / 2
						     : RING_BYTES / 4;
	s->memory = opts->memory;
	s->budget = (struct scan_budget){.what = "call frame information",
		.effect = "their stacks are copied",
		.user_ns = USER_NS};
	s->n_rules = 1; /* the first one is of code without rules */
	s->rings = calloc(s->n_cpus, sizeof(*s->rings));
	if (!s->rings)
		return base_oom();
	for (uint32_t i = 0; i < s->n_cpus; i++)
		s->rings[i].fd = -1;
	before = s->lib.set_print(print_debug);
	r = stacks_load(s, opts);
	s->lib.set_print(before);
	if (r < 0)
		return attar_fail(r, "walking stacks in the kernel: %s", strerror(-r));
	s->rules[0].how_cfa = STACKS_CFA_FP;
	return 0;
}

int stacks_new(const struct stacks_opts *opts, struct stacks **ret_stacks)
{
	int r = stacks_check();
	struct stacks *s;

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return base_oom();
	r = stacks_start(s, opts);
	if (r < 0)
		stacks_free(s);
	else
		*ret_stacks = s;
	return r;
}

static void unmap(void *at, size_t size)
{
	if (at)
		munmap(at, size);
}

struct stacks *stacks_free(struct stacks *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; s->rings && i < s->n_cpus; i++)
		ring_close(s, &s->rings[i]);
	free(s->rings);
	unmap(s->counts, s->n_cpus * sizeof(*s->counts));
	unmap(s->mappings, STACKS_MAPPINGS * sizeof(*s->mappings));
	unmap(s->rules, STACKS_RULES * sizeof(*s->rules));
	unmap(s->used, STACKS_TABLES * sizeof(*s->used));
	if (s->object)
		s->lib.close(s->object);
	slots_done(&s->rule_slots);
	vec_done(&s->loaded);
	map_done(&s->tables);
	map_done(&s->pending);
	free(s);
	return NULL;
}

int stacks_program(const struct stacks *s)
{
	return s->program_fd;
}

/* ---- tables ---- */

static uint32_t hash_of(const struct stacks_rule *rule)
{
	uint64_t words[2];

	_Static_assert(sizeof(*rule) == sizeof(words), "a rule is two words");
	memcpy(words, rule, sizeof(words));
	return (uint32_t)base_hash64(words[0] ^ base_hash64(words[1]));
}

/* The number of a rule, which is added if it is new. Or -E2BIG, -ENOMEM. */
static int rule_number(struct stacks *s, const struct stacks_rule *rule)
{
	uint32_t hash = hash_of(rule);

	slots_each (&s->rule_slots, hash, number)
		if (!memcmp(&s->rules[number], rule, sizeof(*rule)))
			return (int)number;
	if (s->n_rules == STACKS_RULES)
		return -E2BIG;
	if (slots_add(&s->rule_slots, hash, s->n_rules) < 0)
		return -ENOMEM;
	s->rules[s->n_rules] = *rule;
	return (int)s->n_rules++;
}

/* The numbers of the rules of a table. */
static int convert_rules(struct stacks *s, const struct cfi_table *table, uint32_t *numbers)
{
	for (size_t i = 1; i < table->at.n; i++) {
		struct stacks_rule rule = stacks_rule_of(table, cfi_table_rules(table, i));
		int number = rule_number(s, &rule);

		if (number < 0)
			return number;
		numbers[i] = (uint32_t)number;
	}
	return 0;
}

/* Code before the first range has no rules. Returns the number of ranges. */
static uint32_t write_ranges(
	const struct cfi_table *table, const uint32_t *numbers, struct stacks_range *ranges)
{
	uint32_t n = 0;

	if (table->starts[0])
		ranges[n++] = (struct stacks_range){0, 0};
	for (uint32_t i = 0; i < table->n; i++)
		ranges[n++] = (struct stacks_range){table->starts[i], numbers[table->rule_of[i]]};
	return n;
}

/* Makes the map of a table, and gives it to the program. The descriptor is not needed then. */
static int add_table(struct stacks *s, const struct cfi_table *table, const uint32_t *numbers)
{
	struct bpf_map_create_opts how = {
		.sz = sizeof(how), .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP};
	uint32_t max = table->n + 1, number = s->n_tables + 1;
	size_t size = max * sizeof(struct stacks_range);
	struct stacks_range *ranges;
	int fd _cleanup_close_ =
		s->lib.create(BPF_MAP_TYPE_ARRAY, "attar_table", 4, sizeof(*ranges), max, &how);

	if (fd < 0)
		return -errno;
	ranges = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ranges == MAP_FAILED)
		return -errno;
	write_ranges(table, numbers, ranges);
	munmap(ranges, size);
	if (vec_reserve(&s->loaded, 1) < 0)
		return -ENOMEM;
	if (s->lib.update(s->tables_fd, &number, &fd, BPF_ANY) < 0)
		return -errno;
	s->loaded.at[s->loaded.n++] = (struct loaded){
		.table = (uintptr_t)table, .number = number, .bytes = size, .used = s->delivered};
	s->n_tables++;
	s->bytes += size;
	return 0;
}

/* Takes over the marks of the program, now and then. */
static void read_marks(struct stacks *s)
{
	if (s->delivered < s->used_read + UNUSED_NS / 4)
		return;
	s->used_read = s->delivered;
	vec_each (&s->loaded, l) {
		if (s->used[l->number])
			l->used = s->delivered;
		s->used[l->number] = 0;
	}
}

/* Its number is not used again: mappings of processes can refer to it. */
static void drop_table(struct stacks *s, struct loaded *l)
{
	(void)s->lib.delete(s->tables_fd, &l->number);
	map_remove(&s->tables, l->table);
	s->bytes -= l->bytes;
	s->left++;
	*l = s->loaded.at[--s->loaded.n];
}

/* The tables leave that were not used for longest. Whether there is room for so many bytes. */
static bool make_room(struct stacks *s, size_t bytes)
{
	while (s->bytes + bytes > s->memory) {
		struct loaded *oldest = NULL;

		vec_each (&s->loaded, l)
			if (!s->used[l->number] && (!oldest || l->used < oldest->used))
				oldest = l;
		if (!oldest || oldest->used + UNUSED_NS > s->delivered)
			return false;
		drop_table(s, oldest);
	}
	return true;
}

/* The number of a table that is new, NO_CFI, or 0 if there is no room for it; or -ENOMEM. */
static int64_t load_table(struct stacks *s, struct cfi_table *table)
{
	uint32_t *numbers _cleanup_free_ = NULL;
	int r;

	/* browsers have 20 MiB; the file can be another user's, to keep attar busy */
	if (table->frames && cfi_table_memory(table) > SECTION_MAX)
		return 0;
	r = cfi_complete(table);
	if (r < 0)
		return r;
	if (!table->n)
		return NO_CFI;
	numbers = calloc(table->at.n, sizeof(*numbers));
	if (!numbers)
		return base_oom();
	if (s->n_tables + 1 == STACKS_TABLES ||
		!make_room(s, (table->n + 1) * sizeof(struct stacks_range)))
		r = -E2BIG;
	if (r == 0)
		r = convert_rules(s, table, numbers);
	if (r == 0)
		r = add_table(s, table, numbers);
	return r == -ENOMEM ? r : r < 0 ? 0 : s->n_tables;
}

static uint32_t table_number(struct stacks *s, struct cfi_table *table)
{
	const uint64_t *known = map_get(&s->tables, (uintptr_t)table);
	int64_t number;

	if (known && *known)
		return (uint32_t)*known;
	if (base_now() > s->load_until)
		return 0; /* another time */
	s->refused -= known != NULL;
	number = load_table(s, table);
	if (number < 0 || map_put(&s->tables, (uintptr_t)table, (uint64_t)number) < 0) {
		attar_error_clear(); /* another time */
		return 0;
	}
	s->refused += number == 0;
	return (uint32_t)number;
}

/* ---- processes ---- */

/* Code through which Python calls functions has no frame pointers: see unwind/unwind.c. */
static bool may_be_python(const struct dso *dso)
{
	return dso->jit.path[0] || dso->jit.dump_path;
}

/*
 * What was not needed to unwind a copied stack yet is left out: the next stack that goes through it
 * is copied.
 */
static void set_table(struct stacks *s, const struct attar_address_space *space,
	const struct range *range, struct stacks_mapping *m)
{
	struct dso *dso = dsos_get(&space->symbols->dsos, range->dso);
	const struct cfi_table *table;
	uint32_t number;

	m->table = STACKS_UNREAD;
	m->ranges = 0;
	if (!dso->cfi_read)
		return;
	if (dso->key.kind == ATTAR_DSO_IS_JIT) {
		m->table = !range->settled || may_be_python(dso) ? STACKS_UNREAD : NO_CFI;
		return;
	}
	if (dso->key.kind != ATTAR_DSO_IS_FILE && dso->key.kind != ATTAR_DSO_IS_VDSO)
		return;
	number = table_number(s, dso_cfi(dso));
	table = dso_cfi(dso);
	m->table = number;
	m->ranges = number && number != NO_CFI ? table->n + (table->starts[0] != 0) : 0;
}

/* The program finds no mapping that is being changed: its serial is of no process then. */
static void set_mapping(struct stacks *s, const struct attar_address_space *space,
	const struct range *range, struct stacks_mapping *m)
{
	struct stacks_mapping new = {
		.start = range->start, .size = range->len, .offset = range->pgoff};

	set_table(s, space, range, &new);
	__atomic_store_n(&m->serial, 0, __ATOMIC_SEQ_CST);
	m->start = new.start;
	m->size = new.size;
	m->offset = new.offset;
	m->table = new.table;
	m->ranges = new.ranges;
	__atomic_store_n(&m->serial, s->serial, __ATOMIC_SEQ_CST);
}

/* The oldest mappings make room for new ones: the stacks of their processes are copied then. */
static void add_process(
	struct stacks *s, uint32_t pid, uint64_t stamp, const struct attar_address_space *space)
{
	const struct ranges *ranges = space->ranges;
	struct stacks_process process = {.stamp = stamp, .serial = ++s->serial};

	if (!ranges || !ranges->n || ranges->n > MAPPINGS_MAX || space->is_foreign)
		return;
	process.n = (uint32_t)ranges->n;
	if (s->next_mapping + process.n > STACKS_MAPPINGS)
		s->next_mapping = 0;
	process.first = s->next_mapping;
	s->next_mapping += process.n;
	for (uint32_t i = 0; i < process.n; i++)
		set_mapping(s, space, &ranges->at[i], &s->mappings[process.first + i]);
	(void)s->lib.update(s->processes_fd, &pid, &process, BPF_ANY);
}

/* ---- samples ---- */

/* The record at `next`; NULL: there is none yet. */
static const struct stacks_record *ring_peek(
	const struct stacks *s, const struct ring *ring, uint32_t *ret_size)
{
	const uint8_t *at = ring->data + (ring->next & (s->ring_bytes - 1));
	uint32_t header;

	if (ring->next == __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE))
		return NULL;
	header = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
	if (header & BPF_RINGBUF_BUSY_BIT)
		return NULL;
	*ret_size = header & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	return (const struct stacks_record *)(const void *)(at + RING_HEADER);
}

/* Returns the room of what was used or passed over to the kernel. */
static void ring_release(struct ring *ring)
{
	if (*ring->consumed != ring->next)
		__atomic_store_n(ring->consumed, ring->next, __ATOMIC_RELEASE);
}

/* Passes over what is older. The record of the time, or NULL. */
static const struct stacks_record *ring_find(
	const struct stacks *s, struct ring *ring, uint64_t time, uint32_t *ret_size)
{
	const struct stacks_record *record;

	ring_release(ring);
	while ((record = ring_peek(s, ring, ret_size))) {
		if (record->time > time)
			return NULL;
		ring->next += RING_HEADER + (*ret_size + 7U) / 8 * 8;
		if (record->time == time)
			return record;
	}
	return NULL;
}

/* In the order of perf: ax bx cx dx si di bp sp ip r8 to r15. */
static void set_registers(struct stacks *s, const uint64_t *by_dwarf, struct attar_regs *regs)
{
	static const uint8_t order[STACKS_REGISTERS] = {
		0, 3, 2, 1, 4, 5, 6, 7, STACKS_PC, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < STACKS_REGISTERS; i++)
		s->registers[i] = by_dwarf[order[i]];
	*regs = (struct attar_regs){.abi = PERF_SAMPLE_REGS_ABI_64,
		.nr = STACKS_REGISTERS,
		.mask = 0xff01ff,
		.values = s->registers};
}

static void add_copy(struct stacks *s, const struct stacks_record *record)
{
	uint32_t before = record->registers[STACKS_SP] % STACKS_CHUNK;
	uint32_t size = record->n * (uint32_t)STACKS_CHUNK;
	struct attar_sample *sample = &s->sample.sample;

	set_registers(s, record->registers, &sample->regs_user);
	sample->stack = size ? record->stack + before : NULL;
	sample->stack_size = size ? size - before : 0;
}

/* After the kernel's part. */
static void add_callers(struct stacks *s, const struct stacks_record *record)
{
	struct attar_sample *sample = &s->sample.sample;
	uint32_t n = MIN(sample->callchain_nr, (uint32_t)CHAIN_MAX);

	memcpy(s->chain, sample->callchain, n * sizeof(*s->chain));
	s->chain[n++] = (uint64_t)PERF_CONTEXT_USER;
	memcpy(s->chain + n, record->addresses, record->n * sizeof(*s->chain));
	sample->regs_user = (struct attar_regs){0}; /* the stack is not unwound */
	sample->stack = NULL;
	sample->callchain = s->chain;
	sample->callchain_nr = n + record->n;
}

static bool is_valid(const struct stacks_record *record, uint32_t size)
{
	return record->end >= STACKS_COPIES
		       ? size >= offsetof(struct stacks_record, stack) +
					 record->n * (size_t)STACKS_CHUNK
		       : size >= offsetof(struct stacks_record, addresses) + record->n * 8UL;
}

void stacks_add(struct stacks *s, struct attar_event *event)
{
	const struct stacks_record *record;
	uint32_t size;

	s->delivered = MAX(s->delivered, event->time);
	if (event->cpu >= s->n_cpus)
		return;
	record = ring_find(s, &s->rings[event->cpu], event->record->time, &size);
	if (!record || !is_valid(record, size) || record->tid != event->record->tid)
		return;
	s->sample = *event->record;
	event->record = &s->sample;
	if (record->end < STACKS_COPIES) {
		add_callers(s, record);
		return;
	}
	add_copy(s, record);
	if (record->end != STACKS_NO_RULE && s->pending.n < PENDING_MAX &&
		map_put(&s->pending, event->record->pid, record->stamp) < 0)
		attar_error_clear();
}

/* Samples are delivered in order of time: older ones were lost, or are not delivered. */
static void pass_over(struct stacks *s, struct ring *ring)
{
	const struct stacks_record *record;
	uint32_t size;

	while ((record = ring_peek(s, ring, &size)) && record->time < s->delivered)
		ring->next += RING_HEADER + (size + 7U) / 8 * 8;
	ring_release(ring);
}

void stacks_forget(struct stacks *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	(void)s->lib.delete(s->processes_fd, &key);
}

bool stacks_update(struct stacks *s, const struct attar_stream *stream)
{
	bool is_new = s->pending.n;

	read_marks(s);
	s->load_until = base_now() + LOADING_NS;
	for (uint32_t i = 0; i < s->n_cpus; i++)
		pass_over(s, &s->rings[i]);
	map_each (&s->pending, it) {
		const struct process *process = procs_process(&stream->procs, (pid_t)it->key);

		if (!process || !process->pub.space ||
			!scan_budget_begin(&s->budget, (pid_t)it->key))
			continue;
		add_process(s, (uint32_t)it->key, it->value, process->pub.space);
		scan_budget_end(&s->budget, (pid_t)it->key);
	}
	map_reset(&s->pending);
	return is_new;
}

void stacks_get_stats(const struct stacks *s, struct stacks_stats *ret_stats)
{
	*ret_stats =
		(struct stacks_stats){.bytes = s->bytes, .refused = s->refused, .left = s->left};
	for (uint32_t i = 0; i < s->n_cpus; i++) {
		const struct stacks_counts *c = &s->counts[i];

		ret_stats->lost += c->lost;
		ret_stats->callers += c->callers;
		ret_stats->fp_callers += c->fp_callers;
		ret_stats->walked += c->walks[STACKS_COMPLETE];
		ret_stats->unended += c->walks[STACKS_LOST];
		ret_stats->limited += c->walks[STACKS_LIMIT];
		for (int end = STACKS_COPIES; end < STACKS_ENDS; end++)
			ret_stats->copied += c->walks[end];
	}
}
