/* SPDX-License-Identifier: MIT */
#include "bpf/call_memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/library.h"
#include "base/map.h"
#include "base/proc.h"
#include "bpf/call_memory_record.h"
#include "bpf/counting.h"

#define FUNCTIONS(F)                                                                               \
	F(set_print, libbpf_set_print)                                                             \
	F(open, bpf_object__open_mem)                                                              \
	F(close, bpf_object__close)                                                                \
	F(load, bpf_object__load)                                                                  \
	F(find_map, bpf_object__find_map_by_name)                                                  \
	F(next, bpf_object__next_program)                                                          \
	F(name, bpf_program__name)                                                                 \
	F(autoload, bpf_program__set_autoload)                                                     \
	F(program_fd, bpf_program__fd)                                                             \
	F(attach, bpf_program__attach)                                                             \
	F(destroy, bpf_link__destroy)                                                              \
	F(set_value, bpf_map__set_initial_value)                                                   \
	F(map_fd, bpf_map__fd)                                                                     \
	F(update, bpf_map_update_elem)                                                             \
	F(lookup, bpf_map_lookup_elem)                                                             \
	F(ring_new, ring_buffer__new)                                                              \
	F(ring_free, ring_buffer__free)                                                            \
	F(consume, ring_buffer__consume)

LIBRARY_FUNCTIONS(libbpf, FUNCTIONS);

enum {
	LINKS = 3,
	KEPT = 1 << 17,   /* records */
	BYTES = 32 << 20, /* of them */
};

extern const char bpf_call_memory[];
extern const size_t bpf_call_memory_size;

struct kept {
	uint64_t start; /* of the record, in all bytes since the beginning */
	uint64_t next;  /* the number of the next one of the thread + 1; 0: none */
};

#define HEAD_BYTES offsetof(struct calls_record, bytes)

struct call_memory {
	struct libbpf lib;
	struct bpf_object *object;
	struct bpf_link *links[LINKS];
	struct ring_buffer *ring;
	int wanted_fd, followed_fd, lost_fd;
	struct calls_copies wanted[CALLS_COPY_NUMBERS];
	struct map firsts, lasts; /* by tid: numbers of records + 1 */
	uint64_t begin, n;        /* the oldest record that is kept; records so far */
	uint64_t end;             /* bytes so far */
	struct kept kept[KEPT];
	char bytes[BYTES];
};

/* ---- loading ---- */

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static int call_memory_fail(int error)
{
	return attar_fail(
		error, "copying memory of system calls in the kernel: %s", strerror(-error));
}

static int call_memory_add(void *ctx, void *data, size_t n);

static int call_memory_load(struct call_memory *m, pid_t own_pid, bool follows)
{
	struct bpf_object_open_opts how = {.sz = sizeof(how), .object_name = "attar"};
	const struct {
		uint32_t own_pid;
		uint32_t follows;
	} values = {(uint32_t)own_pid, follows};
	struct bpf_program *program = NULL;
	struct bpf_map *map;
	int r;

	m->object = m->lib.open(bpf_call_memory, bpf_call_memory_size, &how);
	if (!m->object)
		return -errno;
	while ((program = m->lib.next(m->object, program)))
		m->lib.autoload(program, follows || strcmp(m->lib.name(program), "on_fork") != 0);
	map = m->lib.find_map(m->object, ".rodata");
	r = map ? m->lib.set_value(map, &values, sizeof(values)) : -ENOENT;
	if (r == 0)
		r = m->lib.load(m->object);
	if (r < 0)
		return r;
	m->wanted_fd = m->lib.map_fd(m->lib.find_map(m->object, "wanted"));
	m->followed_fd = m->lib.map_fd(m->lib.find_map(m->object, "followed"));
	m->lost_fd = m->lib.map_fd(m->lib.find_map(m->object, "lost"));
	m->ring = m->lib.ring_new(
		m->lib.map_fd(m->lib.find_map(m->object, "records")), call_memory_add, m, NULL);
	return m->ring ? 0 : -errno;
}

int call_memory_new(pid_t own_pid, bool follows, struct call_memory **ret_memory)
{
	libbpf_print_fn_t before;
	struct call_memory *m;
	int r = counting_check();

	if (r < 0)
		return r;
	if (!proc_has_first_pids())
		return attar_fail(-EOPNOTSUPP,
			"copying memory in the kernel: this process is in another PID namespace, "
			"whose numbers of processes the kernel does not use");
	m = calloc(1, sizeof(*m));
	if (!m)
		return base_oom();
	r = library_load("libbpf.so.1", libbpf_names, ARRAY_SIZE(libbpf_names), &m->lib);
	if (r < 0) {
		free(m);
		return library_fail(r, "copying memory in the kernel", "libbpf", "libbpf1");
	}
	before = m->lib.set_print(print_nothing);
	r = call_memory_load(m, own_pid, follows);
	m->lib.set_print(before);
	if (r < 0) {
		call_memory_free(m);
		return call_memory_fail(r);
	}
	*ret_memory = m;
	return 0;
}

struct call_memory *call_memory_free(struct call_memory *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < LINKS; i++)
		if (m->links[i])
			m->lib.destroy(m->links[i]);
	if (m->ring)
		m->lib.ring_free(m->ring);
	if (m->object)
		m->lib.close(m->object);
	map_done(&m->firsts);
	map_done(&m->lasts);
	free(m);
	return NULL;
}

int call_memory_want(
	struct call_memory *m, uint32_t number, unsigned i, const struct calls_copy *copy)
{
	struct calls_copies *copies;
	int r;

	if (number >= CALLS_COPY_NUMBERS || i >= CALLS_COPY_ARGS)
		return 0;
	copies = &m->wanted[number];
	copies->of[i] = *copy;
	copies->at_entry |= !copy->at_exit;
	copies->at_exit |= copy->at_exit;
	r = m->lib.update(m->wanted_fd, &number, copies, BPF_ANY);
	return r < 0 ? call_memory_fail(r) : 0;
}

int call_memory_follow(struct call_memory *m, pid_t pid)
{
	const uint32_t key = (uint32_t)pid;
	const uint8_t one = 1;
	int r = m->lib.update(m->followed_fd, &key, &one, BPF_ANY);

	return r < 0 ? call_memory_fail(r) : 0;
}

int call_memory_attach(struct call_memory *m)
{
	libbpf_print_fn_t before = m->lib.set_print(print_nothing);
	struct bpf_program *program = NULL;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < LINKS && (program = m->lib.next(m->object, program))) {
		if (m->lib.program_fd(program) < 0)
			continue;
		m->links[n] = m->lib.attach(program);
		r = m->links[n++] ? 0 : -errno;
	}
	m->lib.set_print(before);
	return r < 0 ? call_memory_fail(r) : 0;
}

/* ---- records ---- */

static const struct calls_record *get_record(const struct call_memory *m, uint64_t number)
{
	return (const void *)(m->bytes + m->kept[number % KEPT].start % BYTES);
}

/* Takes the first record of a thread out of its list. */
static void drop_first(struct call_memory *m, uint32_t tid, uint64_t *first)
{
	uint64_t next = m->kept[(*first - 1) % KEPT].next;

	*first = next;
	if (next)
		return;
	map_remove(&m->firsts, tid);
	map_remove(&m->lasts, tid);
}

static void drop_oldest(struct call_memory *m)
{
	uint32_t tid = get_record(m, m->begin)->tid;
	uint64_t *first = map_get(&m->firsts, tid);

	if (first && *first == m->begin + 1)
		drop_first(m, tid, first);
	m->begin++;
}

static int append(struct call_memory *m, uint32_t tid)
{
	uint64_t *last = map_get(&m->lasts, tid);

	m->kept[m->n % KEPT].next = 0;
	m->n++;
	if (last) {
		m->kept[(*last - 1) % KEPT].next = m->n;
		*last = m->n;
		return 0;
	}
	return map_put(&m->firsts, tid, m->n) < 0 ? -ENOMEM : map_put(&m->lasts, tid, m->n);
}

static int call_memory_add(void *ctx, void *data, size_t n)
{
	const struct calls_record *record = data;
	struct call_memory *m = ctx;
	size_t size = n < HEAD_BYTES ? 0 : HEAD_BYTES + record->size;

	if (!size || size > n || record->size > CALLS_RECORD_BYTES)
		return 0;
	size = (size + 7) & ~(size_t)7;
	if (m->end % BYTES + size > BYTES) /* a record is in one piece */
		m->end += BYTES - m->end % BYTES;
	while (m->begin < m->n &&
		(m->n - m->begin == KEPT || m->kept[m->begin % KEPT].start + BYTES < m->end + size))
		drop_oldest(m);
	m->kept[m->n % KEPT].start = m->end;
	memcpy(m->bytes + m->end % BYTES, record, HEAD_BYTES + record->size);
	m->end += size;
	return append(m, record->tid);
}

void call_memory_read(struct call_memory *m)
{
	(void)m->lib.consume(m->ring);
}

/* ---- calls ---- */

/* Whether records of the thread were lost since this time, as far as is known now. */
static bool has_lost(const struct call_memory *m, pid_t tid, uint64_t from)
{
	const uint32_t key = (uint32_t)tid;
	uint64_t time;

	return m->lib.lookup(m->lost_fd, &key, &time) == 0 && time >= from;
}

static bool is_of(const struct calls_record *record, const struct calls_made *call)
{
	return record->number == call->number &&
	       (!call->args || !memcmp(record->args, call->args, sizeof(record->args)));
}

static bool needs_exit(const struct call_memory *m, const struct calls_made *call,
	const struct calls_record *entry)
{
	bool needs = m->wanted[call->number].at_exit && !call->has_failed;

	for (size_t i = 0; entry && i < CALLS_COPY_ARGS; i++)
		needs |= entry->items[i].state == CALLS_ITEM_UNREAD;
	return needs && call->ended;
}

/*
 * The last entry of the thread before the end of the call, and before it what is of earlier calls,
 * which is dropped.
 */
static const struct calls_record *find_entry(struct call_memory *m, const struct calls_made *call)
{
	uint64_t *first = map_get(&m->firsts, (uint64_t)call->tid);
	const struct calls_record *found = NULL;
	uint64_t at = first ? *first : 0, last = 0;

	for (; at; at = m->kept[(at - 1) % KEPT].next) {
		const struct calls_record *record = get_record(m, at - 1);

		if (record->is_exit ? call->args && record->time >= call->entered
				    : call->ended && record->time > call->ended)
			break;
		if (!record->is_exit) {
			found = record;
			last = at;
		}
	}
	while (first && *first && *first != (last ?: at) && *first != at) {
		bool was_last = !m->kept[(*first - 1) % KEPT].next;

		drop_first(m, (uint32_t)call->tid, first);
		if (was_last)
			break;
	}
	return found && is_of(found, call) ? found : NULL;
}

/* The first exit after the entry. */
static const struct calls_record *find_exit(
	const struct call_memory *m, const struct calls_made *call)
{
	const uint64_t *first = map_get(&m->firsts, (uint64_t)call->tid);

	for (uint64_t at = first ? *first : 0; at; at = m->kept[(at - 1) % KEPT].next) {
		const struct calls_record *record = get_record(m, at - 1);

		if (record->is_exit && record->time >= call->entered)
			return record->lost < call->entered && is_of(record, call) ? record : NULL;
	}
	return NULL;
}

static void take_items(
	const struct calls_record *record, struct calls_copied items[CALLS_COPY_ARGS])
{
	for (size_t i = 0; record && i < CALLS_COPY_ARGS; i++) {
		const struct calls_item *item = &record->items[i];

		if (item->state == CALLS_ITEM_NONE ||
			(size_t)item->at + item->size > CALLS_RECORD_BYTES)
			continue;
		items[i] = (struct calls_copied){item->state, record->bytes + item->at, item->size};
	}
}

/* All that should have been copied, and was not. */
static void lose_items(const struct call_memory *m, const struct calls_made *call, bool has_entry,
	bool has_exit, struct calls_copied items[CALLS_COPY_ARGS])
{
	for (size_t i = 0; i < CALLS_COPY_ARGS; i++) {
		const struct calls_copy *copy = &m->wanted[call->number].of[i];

		if (copy->kind && (copy->at_exit ? !has_exit && call->ended && !call->has_failed
						 : !has_entry))
			items[i].state = CALLS_ITEM_LOST;
	}
}

int call_memory_take(struct call_memory *m, const struct calls_made *call, bool is_late,
	struct calls_copied items[CALLS_COPY_ARGS], uint64_t ret_args[CALLS_COPY_ARGS])
{
	const struct calls_copies *copies = &m->wanted[call->number % CALLS_COPY_NUMBERS];
	const struct calls_record *entry, *exit = NULL;
	bool is_complete;

	memset(items, 0, CALLS_COPY_ARGS * sizeof(*items));
	if (call->number >= CALLS_COPY_NUMBERS || (!copies->at_entry && !copies->at_exit))
		return 1;
	entry = find_entry(m, call);
	if (needs_exit(m, call, entry))
		exit = find_exit(m, call);
	is_complete = (entry || !copies->at_entry) && (exit || !needs_exit(m, call, entry));
	if (!is_complete && !is_late && !has_lost(m, call->tid, call->entered))
		return 0;
	take_items(entry, items);
	take_items(exit, items);
	if (!is_complete)
		lose_items(m, call, entry, exit, items);
	if (entry && ret_args)
		memcpy(ret_args, entry->args, sizeof(entry->args));
	return entry || call->args ? 1 : -ENOENT;
}
