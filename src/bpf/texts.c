/* SPDX-License-Identifier: MIT */
#include "bpf/texts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/library.h"
#include "base/map.h"
#include "base/proc.h"
#include "bpf/counting.h"
#include "bpf/texts_record.h"
#include "expr/functions.h"

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
	LINKS = 4,
	KEPT = 1 << 15,  /* texts */
	BYTES = 4 << 20, /* of them */
};

extern const char bpf_texts[];
extern const size_t bpf_texts_size;

struct kept {
	uint64_t address, time, lost; /* as in the record */
	uint64_t start;               /* of its bytes, of all since the beginning */
	uint64_t before;              /* the number of the text before it of the thread + 1 */
	uint32_t tid;
	uint16_t size, kind;
};

struct texts {
	struct libbpf lib;
	struct bpf_object *object;
	struct bpf_link *links[LINKS];
	struct ring_buffer *ring;
	int lost_fd;
	uint8_t wanted[TEXTS_CALLS];
	struct map newest; /* by tid: the number of its newest text + 1 */
	uint64_t n, end;   /* texts and bytes so far */
	uint64_t oldest;   /* texts before this one are not kept any more */
	uint64_t needed;   /* texts from this time on make no room for others */
	struct kept kept[KEPT];
	char bytes[BYTES];
};

/* ---- loading ---- */

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static int texts_fail(int error)
{
	return attar_fail(
		error, "copying texts of system calls in the kernel: %s", strerror(-error));
}

static int texts_take(void *ctx, void *data, size_t n);

static void choose_programs(struct texts *t, unsigned what)
{
	static const struct {
		const char *name;
		unsigned what;
	} programs[] = {{"on_enter", TEXTS_COPY_CALLS}, {"on_exit", TEXTS_COPY_CALLS},
		{"on_exec", TEXTS_COPY_EXECS}, {"on_failed_exec", TEXTS_COPY_FAILED_EXECS}};
	struct bpf_program *program = NULL;

	while ((program = t->lib.next(t->object, program)))
		for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
			if (!strcmp(t->lib.name(program), programs[i].name))
				t->lib.autoload(program, what & programs[i].what);
}

static int texts_load(struct texts *t, unsigned what, pid_t own_pid)
{
	struct bpf_object_open_opts how = {.sz = sizeof(how), .object_name = "attar"};
	uint32_t pid = (uint32_t)own_pid;
	struct bpf_map *map;
	int r;

	t->object = t->lib.open(bpf_texts, bpf_texts_size, &how);
	if (!t->object)
		return -errno;
	choose_programs(t, what);
	map = t->lib.find_map(t->object, ".rodata");
	r = map ? t->lib.set_value(map, &pid, sizeof(pid)) : -ENOENT;
	if (r == 0)
		r = t->lib.load(t->object);
	if (r < 0)
		return r;
	t->lost_fd = t->lib.map_fd(t->lib.find_map(t->object, "lost"));
	t->ring = t->lib.ring_new(
		t->lib.map_fd(t->lib.find_map(t->object, "texts")), texts_take, t, NULL);
	return t->ring ? 0 : -errno;
}

int texts_new(unsigned what, pid_t own_pid, struct texts **ret_texts)
{
	libbpf_print_fn_t before;
	struct texts *t;
	int r = counting_check();

	if (r < 0)
		return r;
	if (!proc_has_first_pids())
		return attar_fail(-EOPNOTSUPP,
			"copying texts in the kernel: this process is in another PID namespace, "
			"whose numbers of processes the kernel does not use");
	t = calloc(1, sizeof(*t));
	if (!t)
		return base_oom();
	r = library_load("libbpf.so.1", libbpf_names, ARRAY_SIZE(libbpf_names), &t->lib);
	if (r < 0) {
		free(t);
		return library_fail(r, "copying texts in the kernel", "libbpf", "libbpf1");
	}
	before = t->lib.set_print(print_nothing);
	r = texts_load(t, what, own_pid);
	t->lib.set_print(before);
	if (r < 0) {
		texts_free(t);
		return texts_fail(r);
	}
	*ret_texts = t;
	return 0;
}

struct texts *texts_free(struct texts *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < LINKS; i++)
		if (t->links[i])
			t->lib.destroy(t->links[i]);
	if (t->ring)
		t->lib.ring_free(t->ring);
	if (t->object)
		t->lib.close(t->object);
	map_done(&t->newest);
	free(t);
	return NULL;
}

/* ---- the program ---- */

/* The tracepoints of stat(2), umount2(2) and others are named after the kernel's functions. */
static bool is_call(const char *call, const char *name)
{
	if (!strcmp(name, "umount"))
		name = "umount2";
	return !strcmp(call, name) || (!strncmp(name, "new", 3) && !strcmp(call, name + 3));
}

int texts_want(struct texts *t, const char *name, unsigned i)
{
	int fd = t->lib.map_fd(t->lib.find_map(t->object, "wanted"));

	for (uint32_t number = 0; number < TEXTS_CALLS; number++) {
		const char *call = syscall_name(number);

		if (!call || !is_call(call, name))
			continue;
		t->wanted[number] |= (uint8_t)(1U << i);
		return t->lib.update(fd, &number, &t->wanted[number], BPF_ANY);
	}
	return 0;
}

int texts_attach(struct texts *t)
{
	libbpf_print_fn_t before = t->lib.set_print(print_nothing);
	struct bpf_program *program = NULL;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < LINKS && (program = t->lib.next(t->object, program))) {
		if (t->lib.program_fd(program) < 0)
			continue;
		t->links[n] = t->lib.attach(program);
		r = t->links[n++] ? 0 : -errno;
	}
	t->lib.set_print(before);
	return r < 0 ? texts_fail(r) : 0;
}

/* ---- texts ---- */

/* Forgets the threads that have no text any more. */
static int texts_index(struct texts *t)
{
	uint64_t number = t->n > KEPT ? t->n - KEPT + 1 : 1;
	int r = 0;

	map_done(&t->newest);
	for (; r == 0 && number <= t->n; number++)
		r = map_put(&t->newest, t->kept[(number - 1) % KEPT].tid, number);
	return r;
}

/* Whether there is no room for another text, of any size, without those that are needed. */
static bool is_full(struct texts *t)
{
	const struct kept *oldest;

	for (; t->oldest < t->n; t->oldest++) {
		oldest = &t->kept[t->oldest % KEPT];
		if (t->n - t->oldest < KEPT && oldest->start + BYTES >= t->end + 2 * TEXTS_BYTES)
			return false;
		if (oldest->time >= t->needed)
			return true;
	}
	return false;
}

/* Negative: the texts behind it stay in the ring. */
static int texts_take(void *ctx, void *data, size_t n)
{
	const struct texts_record *record = data;
	struct texts *t = ctx;
	struct kept *kept = &t->kept[t->n % KEPT];
	uint64_t *newest = map_get(&t->newest, record->tid);
	uint64_t at = t->end % BYTES;
	int r;

	if (n < offsetof(struct texts_record, text) + record->size || record->size > TEXTS_BYTES)
		return 0;
	if (at + record->size > BYTES) /* a text is in one piece */
		t->end += BYTES - at;
	*kept = (struct kept){.address = record->address,
		.time = record->time,
		.lost = record->lost,
		.start = t->end,
		.before = newest ? *newest : 0,
		.tid = record->tid,
		.size = record->size,
		.kind = record->kind};
	memcpy(t->bytes + t->end % BYTES, record->text, record->size);
	t->end += record->size;
	t->n++;
	r = t->n % KEPT == 0 ? texts_index(t) : map_put(&t->newest, record->tid, t->n);
	return r < 0 ? r : is_full(t) ? -ENOBUFS : 0;
}

void texts_read(struct texts *t, uint64_t needed)
{
	t->needed = needed;
	if (!is_full(t))
		(void)t->lib.consume(t->ring);
}

/* A text of the thread from this time on, with this number or a lower one; NULL: none is kept. */
static const struct kept *get_kept(const struct texts *t, pid_t tid, uint64_t number, uint64_t from)
{
	const struct kept *kept = &t->kept[(number - 1) % KEPT];

	return number && number + KEPT > t->n && kept->start + BYTES >= t->end &&
			       kept->tid == (uint32_t)tid && kept->time >= from
		       ? kept
		       : NULL;
}

static const struct kept *get_newest(const struct texts *t, pid_t tid, uint64_t from)
{
	const uint64_t *newest = map_get(&t->newest, (uint64_t)tid);

	return newest ? get_kept(t, tid, *newest, from) : NULL;
}

/* Whether texts of the thread were lost since this time, as far as is known now. */
static bool has_lost(const struct texts *t, pid_t tid, uint64_t from)
{
	const uint32_t key = (uint32_t)tid;
	uint64_t time;

	return t->lib.lookup(t->lost_fd, &key, &time) == 0 && time >= from;
}

enum texts_found texts_get(const struct texts *t, pid_t tid, uint64_t address, uint64_t from,
	uint64_t until, const char **ret_text, size_t *ret_n)
{
	const struct kept *first = NULL;

	for (const struct kept *kept = get_newest(t, tid, from); kept;
		kept = get_kept(t, tid, kept->before, from))
		if (kept->kind == TEXTS_OF_CALL && kept->address == address && kept->time < until)
			first = kept;
	if (first ? first->lost >= from : has_lost(t, tid, from))
		return TEXTS_LOST;
	if (!first)
		return TEXTS_NONE;
	*ret_text = t->bytes + first->start % BYTES;
	*ret_n = first->size;
	return TEXTS_FOUND;
}

int texts_get_exec(const struct texts *t, pid_t tid, uint64_t from, struct buf *strings,
	struct texts_exec *ret_exec)
{
	const struct kept *kept = get_newest(t, tid, from);
	const struct kept *pieces[TEXTS_STRINGS + TEXTS_PIECES];
	uint64_t time = 0;
	size_t n = 0;

	*ret_exec = (struct texts_exec){0};
	for (; kept; kept = get_kept(t, tid, kept->before, from)) {
		if (kept->time != time) /* of an earlier one */
			n = 0;
		time = kept->time;
		if (n < ARRAY_SIZE(pieces))
			pieces[n++] = kept;
	}
	if (n == 0 || pieces[n - 1]->lost >= from ||
		(pieces[0]->kind != TEXTS_END && pieces[0]->kind != TEXTS_CUT))
		return has_lost(t, tid, from) ? TEXTS_LOST : TEXTS_NONE;
	for (size_t i = 0; i < n; i++) {
		kept = pieces[n - 1 - i];
		if (kept->address != i)
			return TEXTS_LOST;
		if (kept->kind == TEXTS_UNREAD)
			buf_add(strings, "[unknown]", sizeof("[unknown]"));
		ret_exec->n_unread += kept->kind == TEXTS_UNREAD;
		buf_add(strings, t->bytes + kept->start % BYTES, kept->size);
	}
	ret_exec->is_cut = pieces[0]->kind == TEXTS_CUT;
	return buf_failed(strings) ? base_oom() : TEXTS_FOUND;
}
