/* SPDX-License-Identifier: MIT */
#include "perfdata/script.h"

#include <ctype.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "base/map.h"
#include "perfdata/script_internal.h"
#include "perfdata/writer.h"

enum { WORDS_MAX = 128, STACK_MAX = 127, FIRST_NUMBER = 1000, COMM_BYTES = 16 };

struct script {
	const char *path;
	unsigned line;
	char *words[WORDS_MAX];
	size_t n;
	VEC(struct script_event) events;
	struct recording_writer_opts opts;
	struct recording_writer *writer; /* NULL until the first record */
	struct map comms;                /* tid -> hash of the name that was written */
	struct buf record;
};

/* When and where a record of the script happens. */
struct moment {
	uint64_t time;
	uint32_t cpu, pid, tid;
};

#define bad(script_, fmt_, ...)                                                                    \
	attar_fail(-EBADMSG, "%s, line %u: " fmt_, (script_)->path, (script_)->line, ##__VA_ARGS__)

/* ---- words ---- */

/* Splits the line at blanks outside double quotes, which are removed. */
static int split(struct script *s, char *line)
{
	char *to;

	s->n = 0;
	for (char *at = line; *(at += strspn(at, " \t"));) {
		bool quoted = false;

		if (s->n == WORDS_MAX)
			return bad(s, "more than %d words", WORDS_MAX);
		s->words[s->n++] = to = at;
		for (; *at && (quoted || !strchr(" \t", *at)); at++) {
			if (*at == '"')
				quoted = !quoted;
			else
				*to++ = *at;
		}
		if (quoted)
			return bad(s, "missing \"");
		at += *at != '\0';
		*to = '\0';
	}
	return 0;
}

/* SECONDS.NANOSECONDS */
static int parse_time(const struct script *s, const char *word, uint64_t *ret_ns)
{
	char *end;
	uint64_t seconds = strtoull(word, &end, 10), ns = 0, digits = 0;

	if (!isdigit((unsigned char)*word) || (*end && *end != '.'))
		return bad(s, "'%s' is not a time in seconds", CLIP(word));
	if (seconds >= UINT64_MAX / 1000000000)
		return bad(s, "the time '%s' is too large", CLIP(word));
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end) && digits < 9; end++, digits++)
			ns = ns * 10 + (uint64_t)(*end - '0');
	if (*end)
		return bad(s, "'%s' is not a time in seconds with up to 9 decimals", CLIP(word));
	for (; digits < 9; digits++)
		ns *= 10;
	*ret_ns = seconds * 1000000000 + ns;
	return 0;
}

static int parse_cpu(const struct script *s, const char *word, uint32_t *ret_cpu)
{
	char *end;
	unsigned long cpu = strtoul(word, &end, 10);

	if (!isdigit((unsigned char)*word) || *end || cpu > INT32_MAX)
		return bad(s, "'%s' is not the number of a CPU", CLIP(word));
	*ret_cpu = (uint32_t)cpu;
	return 0;
}

static int parse_task(
	const struct script *s, const char *word, uint32_t *ret_pid, uint32_t *ret_tid)
{
	char *end;

	*ret_pid = (uint32_t)strtoul(word, &end, 10);
	if (end == word || *end != '/')
		return bad(s, "'%s': the syntax of a task is PID/TID", CLIP(word));
	*ret_tid = (uint32_t)strtoul(end + 1, &end, 10);
	return *end ? bad(s, "'%s': the syntax of a task is PID/TID", CLIP(word)) : 0;
}

/* ---- events ---- */

enum {
	SAMPLE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
	MEMORY_SAMPLE =
		PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR
};

/* PERF_COUNT_SW_...; -1: there is none with this name. */
static int software_event(const char *name)
{
	static const struct {
		const char *name;
		enum perf_sw_ids id;
	} events[] = {{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK},
		{"task-clock", PERF_COUNT_SW_TASK_CLOCK},
		{"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
		{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS}};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, name))
			return (int)events[i].id;
	return -1;
}

/* Counts have no samples; the name says which event it is. */
static void set_counted_attr(struct script_event *e, unsigned number)
{
	int id = software_event(e->name);

	e->attr = (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
		.type = id < 0 ? PERF_TYPE_RAW : PERF_TYPE_SOFTWARE,
		.config = id < 0 ? number : (uint64_t)id,
		.sample_type = SAMPLE,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit_stat = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC};
}

static void set_attr(struct script_event *e, unsigned number)
{
	if (e->is_counted) {
		set_counted_attr(e, number);
		return;
	}
	e->attr = (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
		.type = e->is_memory ? PERF_TYPE_RAW
			: e->system  ? PERF_TYPE_TRACEPOINT
				     : PERF_TYPE_SOFTWARE,
		.config = e->system || e->is_memory ? number : (uint64_t)software_event(e->name),
		.sample_period = 1,
		.sample_type = SAMPLE | e->attr.sample_type | (e->system ? PERF_SAMPLE_RAW : 0) |
			       (e->stack ? PERF_SAMPLE_CALLCHAIN : 0) |
			       (e->is_memory ? MEMORY_SAMPLE : 0) |
			       (e->registers ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR : 0),
		.sample_regs_user = e->registers,
		.sample_regs_intr = e->registers,
		.read_format = e->attr.read_format,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.comm = 1,
		.task = 1};
}

static const struct script_event *find_of(
	const struct script *s, const char *name, size_t n, bool is_counted)
{
	vec_each (&s->events, e)
		if (e->is_counted == is_counted && strlen(e->name) == n &&
			!memcmp(e->name, name, n))
			return e;
	return NULL;
}

/* The declared event with a name of n characters; NULL: there is none. Not one that is counted. */
static const struct script_event *find_event(const struct script *s, const char *name, size_t n)
{
	return find_of(s, name, n, false);
}

/* counts=NAME,NAME: samples have the counts of these events, which were declared before. */
static const char *add_counted(const struct script *s, struct script_event *e, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, ",");
		const struct script_event *event = find_event(s, names, n);

		if (!event)
			return "counts= names an event that has not been declared";
		if (vec_push(&e->counted, event->id) < 0)
			return "out of memory";
		names += n + (names[n] == ',');
	}
	e->attr.sample_type |= PERF_SAMPLE_READ;
	e->attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	return NULL;
}

/* registers=N,N: samples have these, by their numbers in the kernel's asm/perf_regs.h. */
static const char *add_registers(struct script_event *e, const char *numbers)
{
	while (*numbers) {
		char *end;
		unsigned long number = strtoul(numbers, &end, 10);

		if (end == numbers || (*end && *end != ',') || number >= 64 ||
			e->registers >> number)
			return "the syntax is registers=N,N..., numbers below 64 that increase";
		e->registers |= UINT64_C(1) << number;
		numbers = end + (*end == ',');
	}
	return NULL;
}

/* event NAME counted: READ records have its counts; event NAME sampled: of memory accesses. */
static bool is_declared(const struct script *s, const char *how)
{
	return s->n > 2 && !strcmp(s->words[2], how);
}

/* event SYSTEM:NAME [stack] [FIELD:TYPE ...], or event cpu-clock [stack] [counts=NAMES] */
static int take_event(struct script *s)
{
	unsigned number = FIRST_NUMBER + (unsigned)s->events.n;
	struct script_event e = {.id = s->events.n + 1,
		.size = SCRIPT_COMMON_BYTES,
		.is_counted = is_declared(s, "counted"),
		.is_memory = is_declared(s, "sampled")};
	bool any_name = e.is_counted || e.is_memory;
	const char *colon = s->n > 1 && !any_name ? strchr(s->words[1], ':') : NULL, *why = NULL;
	int r = 0;

	if (s->writer)
		return bad(s, "events must be declared before the first record");
	if (s->n < 2 || (!colon && !any_name && software_event(s->words[1]) < 0))
		return bad(s,
			"an event is SYSTEM:NAME or cpu-clock, or another software event, or any "
			"NAME with counted or sampled");
	e.name = strdup(s->words[1]);
	e.system = colon ? strndup(s->words[1], (size_t)(colon - s->words[1])) : NULL;
	for (size_t i = any_name ? 3 : 2; i < s->n && !why; i++) {
		if (!strcmp(s->words[i], "stack"))
			e.stack = true;
		else if (!colon && !strncmp(s->words[i], "counts=", 7))
			why = add_counted(s, &e, s->words[i] + 7);
		else if (e.is_memory && !strncmp(s->words[i], "registers=", 10))
			why = add_registers(&e, s->words[i] + 10);
		else
			why = script_add_field(&e, s->words[i]);
	}
	if (why)
		r = bad(s, "%s", why);
	else if (!e.name || (colon && !e.system))
		r = base_oom();
	else if (e.system)
		r = script_make_format(&e, number);
	set_attr(&e, number);
	if (r == 0 && vec_push(&s->events, e) < 0)
		r = base_oom();
	if (r < 0)
		script_event_done(&e);
	return r;
}

static int begin(struct script *s)
{
	int r;

	if (s->writer)
		return 0;
	if (!s->events.n)
		return bad(s, "no event has been declared");
	r = recording_writer_open(&s->opts, &s->writer);
	vec_each (&s->events, e) {
		const struct recording_writer_event event = {.name = e->name,
			.attr = &e->attr,
			.ids = &e->id,
			.n_ids = 1,
			.system = e->system,
			.format_text = e->format.data,
			.format_len = e->format.len};

		if (r == 0)
			r = recording_writer_add_event(s->writer, &event);
	}
	return r == 0 ? recording_writer_begin(s->writer) : r;
}

/* ---- records ---- */

static void put_u32(struct buf *b, uint32_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void put_u64(struct buf *b, uint64_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void start_record(struct script *s, uint32_t type, uint16_t misc)
{
	const struct perf_event_header header = {
		.type = type, .misc = PERF_RECORD_MISC_USER | misc};

	buf_reset(&s->record);
	buf_add(&s->record, &header, sizeof(header));
}

static int write_record(struct script *s)
{
	struct perf_event_header *header = (void *)s->record.data;

	if (buf_failed(&s->record))
		return base_oom();
	if (s->record.len > UINT16_MAX)
		return bad(s, "the record has more than %d bytes", UINT16_MAX);
	header->size = (uint16_t)s->record.len;
	recording_writer_note(s->writer, header);
	return recording_writer_write(s->writer, s->record.data, s->record.len);
}

/* The trailer of records other than samples. */
static int write_with_id(struct script *s, const struct moment *at, uint64_t id)
{
	struct buf *b = &s->record;

	put_u32(b, at->pid);
	put_u32(b, at->tid);
	put_u64(b, at->time);
	put_u32(b, at->cpu);
	put_u32(b, 0);
	put_u64(b, id);
	return write_record(s);
}

/* A COMM record when the thread's name is new, or at an exec. */
static int name_task(struct script *s, const struct moment *at, const char *comm, bool is_exec)
{
	char text[COMM_BYTES] = "";
	uint64_t hash = base_hash_bytes(BASE_HASH_START, comm, strlen(comm)), *known;

	known = map_get(&s->comms, at->tid);
	if (known && *known == hash && !is_exec)
		return 0;
	if (map_put(&s->comms, at->tid, hash) < 0)
		return base_oom();
	start_record(s, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_u32(&s->record, at->pid);
	put_u32(&s->record, at->tid);
	memcpy(text, comm, MIN(strlen(comm), (size_t)COMM_BYTES - 1));
	buf_add(&s->record, text, sizeof(text));
	return write_with_id(s, at, s->events.at[0].id);
}

static int take_task(struct script *s, const struct moment *at, uint32_t type)
{
	uint32_t pid = at->pid, tid = at->tid;
	int r = 0;

	if (type == PERF_RECORD_FORK)
		r = s->n == 6 ? parse_task(s, s->words[5], &pid, &tid)
			      : bad(s, "fork needs the new task" ATTAR_FIX "fork PID/TID");
	if (r < 0)
		return r;
	start_record(s, type, 0);
	put_u32(&s->record, pid);
	put_u32(&s->record, at->pid);
	put_u32(&s->record, tid);
	put_u32(&s->record, at->tid);
	put_u64(&s->record, at->time);
	if (type == PERF_RECORD_EXIT)
		map_remove(&s->comms, at->tid);
	return write_with_id(s, at, s->events.at[0].id);
}

static int take_lost(struct script *s, const struct moment *at)
{
	char *end = NULL;
	uint64_t lost = s->n == 6 ? strtoull(s->words[5], &end, 10) : 0;

	if (!lost || *end)
		return bad(s, "lost needs the number of events" ATTAR_FIX "lost N");
	start_record(s, PERF_RECORD_LOST, 0);
	put_u64(&s->record, s->events.at[0].id);
	put_u64(&s->record, lost);
	return write_with_id(s, at, s->events.at[0].id);
}

/* As in the kernel: addresses with the highest bit set. */
static bool is_of_kernel(uint64_t address)
{
	return address >> 63;
}

/* "0x10,0x20": innermost first */
static int put_stack(struct script *s, const char *text)
{
	uint64_t chain[STACK_MAX + 2], context = 0;
	size_t n = 0;

	while (text && *text) {
		char *end;
		uint64_t ip = strtoull(text, &end, 16),
			 of = is_of_kernel(ip) ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;

		if (end == text || (*end && *end != ',') || n > STACK_MAX)
			return bad(s, "the syntax of a stack is ADDRESS,ADDRESS...");
		if (of != context)
			chain[n++] = context = of;
		chain[n++] = ip;
		text = end + (*end == ',');
	}
	put_u64(&s->record, n);
	buf_add(&s->record, chain, n * sizeof(*chain));
	return 0;
}

static int put_raw(struct script *s, const struct script_event *e, const struct moment *at)
{
	struct buf raw _cleanup_(buf_done) = {0};
	uint16_t type = (uint16_t)e->attr.config;
	uint32_t size;

	for (size_t i = 0; i < e->size; i++)
		buf_char(&raw, '\0');
	if (buf_failed(&raw))
		return base_oom();
	memcpy(raw.data, &type, sizeof(type));
	memcpy(raw.data + 4, &at->tid, 4);
	for (size_t i = 5; i < s->n; i++) {
		const char *word = s->words[i], *why;

		if (!strncmp(word, "stack=", 6) || !strncmp(word, "period=", 7))
			continue;
		why = script_set_field(e, &raw, word);
		if (why)
			return bad(s, "'%s': %s", CLIP(word), why);
	}
	while (raw.len % 8 != 4)
		buf_char(&raw, '\0');
	size = (uint32_t)raw.len;
	put_u32(&s->record, size);
	buf_add(&s->record, raw.data, raw.len);
	return buf_failed(&raw) ? base_oom() : 0;
}

/* The value of NAME=VALUE; NULL: it is missing. */
static const char *value_of(const struct script *s, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 5; i < s->n; i++)
		if (!strncmp(s->words[i], name, n) && s->words[i][n] == '=')
			return s->words[i] + n + 1;
	return NULL;
}

static uint64_t number_of(const struct script *s, const char *name)
{
	const char *value = value_of(s, name);

	return value ? strtoull(value, NULL, 0) : 0;
}

/* "5,7": how often each counted event has occurred on the CPU; those at the end can be missing. */
static int put_counts(struct script *s, const struct script_event *e, const char *text)
{
	put_u64(&s->record, e->counted.n + 1);
	put_u64(&s->record, 0); /* the leader's */
	put_u64(&s->record, e->id);
	vec_each (&e->counted, id) {
		char *end;
		uint64_t count = text ? strtoull(text, &end, 10) : 0;

		if (text && (end == text || (*end && *end != ',')))
			return bad(s, "the syntax of counts is counts=N,N...");
		put_u64(&s->record, count);
		put_u64(&s->record, *id);
		text = text && *end ? end + 1 : NULL;
	}
	return text ? bad(s, "counts= has more values than the event") : 0;
}

/* registers=VALUE,VALUE: one for each that was declared; those at the end can be missing. */
static int put_registers(struct script *s, const struct script_event *e)
{
	const char *text = value_of(s, "registers");

	put_u64(&s->record, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t left = e->registers; left; left &= left - 1) {
		char *end;
		uint64_t value = text ? strtoull(text, &end, 0) : 0;

		if (text && (end == text || (*end && *end != ',')))
			return bad(s, "the syntax of registers is registers=VALUE,VALUE...");
		put_u64(&s->record, value);
		text = text && *end ? end + 1 : NULL;
	}
	return text ? bad(s, "registers= has more values than the event") : 0;
}

/* A value that is given twice is a mistake: which of them is meant? */
static int refuse_repeated(const struct script *s)
{
	for (size_t i = 5; i < s->n; i++) {
		size_t n = strcspn(s->words[i], "=") + 1;

		for (size_t k = 5; k < i; k++)
			if (!strncmp(s->words[i], s->words[k], n))
				return bad(s, "'%s': the value is given twice", CLIP(s->words[i]));
	}
	return 0;
}

static int take_sample(struct script *s, const struct script_event *e, const struct moment *at)
{
	const char *stack = value_of(s, "stack"), *period = value_of(s, "period");
	struct buf *b = &s->record;
	uint64_t ip = stack ? strtoull(stack, NULL, 16) : 0;
	int r = refuse_repeated(s);

	if (r < 0)
		return r;
	if (stack && !e->stack)
		return bad(s, "'%s' was declared without stack", CLIP(e->name));
	start_record(s, PERF_RECORD_SAMPLE, 0);
	if (is_of_kernel(ip))
		((struct perf_event_header *)(void *)b->data)->misc = PERF_RECORD_MISC_KERNEL;
	put_u64(b, e->id);
	put_u64(b, ip);
	put_u32(b, at->pid);
	put_u32(b, at->tid);
	put_u64(b, at->time);
	if (e->is_memory)
		put_u64(b, number_of(s, "addr"));
	put_u32(b, at->cpu);
	put_u32(b, 0);
	put_u64(b, period ? strtoull(period, NULL, 10) : 1);
	if (e->attr.sample_type & PERF_SAMPLE_READ)
		r = put_counts(s, e, value_of(s, "counts"));
	if (r == 0 && e->stack)
		r = put_stack(s, stack);
	if (r == 0 && e->system)
		r = put_raw(s, e, at);
	if (r == 0 && e->registers) /* of user code */
		r = put_registers(s, e);
	if (e->is_memory) {
		put_u64(b, number_of(s, "weight"));
		put_u64(b, number_of(s, "data_src"));
	}
	if (r == 0 && e->registers) /* of the interrupted code */
		r = put_registers(s, e);
	if (e->is_memory)
		put_u64(b, number_of(s, "phys"));
	return r == 0 ? write_record(s) : r;
}

/* NAME=N of a counted event, where NAME may contain =. */
static int put_count(struct script *s, const struct moment *at, const char *word, uint64_t enabled,
	uint64_t running)
{
	const char *equals = strrchr(word, '=');
	const struct script_event *e =
		equals ? find_of(s, word, (size_t)(equals - word), true) : NULL;
	char *end = NULL;
	uint64_t value = e ? strtoull(equals + 1, &end, 10) : 0;

	if (!e)
		return bad(s, "'%s' is not NAME=N of an event declared with counted", CLIP(word));
	if (end == equals + 1 || *end)
		return bad(s, "'%s': the count is not a number", CLIP(word));
	start_record(s, PERF_RECORD_READ, 0);
	put_u32(&s->record, at->pid);
	put_u32(&s->record, at->tid);
	put_u64(&s->record, value);
	put_u64(&s->record, enabled);
	put_u64(&s->record, running);
	put_u64(&s->record, e->id);
	return write_with_id(s, at, e->id);
}

/* count NAME=N... [enabled=NS] [running=NS]: READ records of the task, or of the CPU for 0/0. */
static int take_count(struct script *s, const struct moment *at)
{
	const char *enabled_text = value_of(s, "enabled"), *running_text = value_of(s, "running");
	uint64_t enabled = enabled_text ? strtoull(enabled_text, NULL, 10) : at->time,
		 running = running_text ? strtoull(running_text, NULL, 10) : enabled;
	int r = 0;

	for (size_t i = 5; r == 0 && i < s->n; i++)
		if (strncmp(s->words[i], "enabled=", 8) != 0 &&
			strncmp(s->words[i], "running=", 8) != 0)
			r = put_count(s, at, s->words[i], enabled, running);
	return r;
}

/* mmap and others: see script_record.c. */
static int take_other(struct script *s, const struct moment *at, const struct script_record *kind)
{
	const struct script_task of = {.pid = at->pid, .tid = at->tid};
	const char *why;

	if (s->n - 5 != kind->n_words)
		return bad(s, "the syntax is: %s", kind->syntax);
	start_record(s, kind->type, 0);
	why = kind->put(&of, s->words + 5, &s->record);
	return why ? bad(s, "%s", why) : write_with_id(s, at, s->events.at[0].id);
}

/* TIME CPU PID/TID COMM EVENT FIELD=VALUE..., or fork, exec, mmap... in place of EVENT */
static int take_record(struct script *s)
{
	const struct script_record *kind;
	const struct script_event *e;
	struct moment at = {0};
	bool is_exec;
	int r = s->n < 5 ? bad(s, "the syntax of a record is TIME CPU PID/TID COMM EVENT ...")
			 : begin(s);

	if (r == 0)
		r = parse_time(s, s->words[0], &at.time);
	if (r == 0)
		r = parse_cpu(s, s->words[1], &at.cpu);
	if (r == 0)
		r = parse_task(s, s->words[2], &at.pid, &at.tid);
	if (r < 0)
		return r;
	is_exec = !strcmp(s->words[4], "exec");
	if (r == 0)
		r = name_task(s, &at, s->words[3], is_exec);
	if (r < 0 || is_exec)
		return r;
	if (!strcmp(s->words[4], "fork"))
		return take_task(s, &at, PERF_RECORD_FORK);
	if (!strcmp(s->words[4], "exit"))
		return take_task(s, &at, PERF_RECORD_EXIT);
	if (!strcmp(s->words[4], "lost"))
		return take_lost(s, &at);
	if (!strcmp(s->words[4], "count"))
		return take_count(s, &at);
	kind = script_record_find(s->words[4]);
	if (kind)
		return take_other(s, &at, kind);
	e = find_event(s, s->words[4], strlen(s->words[4]));
	if (e)
		return take_sample(s, e, &at);
	if (find_of(s, s->words[4], strlen(s->words[4]), true))
		return bad(s, "'%s' has counts only: count NAME=N", CLIP(s->words[4]));
	return bad(s, "no event '%s' has been declared", CLIP(s->words[4]));
}

/* ---- the script ---- */

static int take_line(struct script *s, char *line)
{
	int r;

	if (line[strspn(line, " \t")] == '#')
		return 0;
	r = split(s, line);
	if (r < 0 || !s->n)
		return r;
	if (!strcmp(s->words[0], "event"))
		return take_event(s);
	if (!strcmp(s->words[0], "wall"))
		return s->n == 2 && !s->writer
			       ? parse_time(s, s->words[1], &s->opts.wall_ns)
			       : bad(s, "the syntax is: wall SECONDS, before the first record");
	if (!strcmp(s->words[0], "round"))
		return s->writer ? recording_writer_round(s->writer) : 0;
	return take_record(s);
}

/* r: what has failed before, whose error message is kept. */
static int close_writer(struct script *s, int r)
{
	char *why _cleanup_free_ = r < 0 ? strdup(attar_error()) : NULL;
	int closed = recording_writer_close(s->writer);

	return r < 0 ? attar_fail(r, "%s", why ? why : "out of memory") : closed;
}

/* Some editors end lines with CR LF. */
static void cut_return(char *line)
{
	size_t n = strlen(line);

	if (n && line[n - 1] == '\r')
		line[n - 1] = '\0';
}

static int compile(struct script *s, char *text)
{
	int r = 0;

	for (char *line = text, *next; r == 0 && line; line = next) {
		s->line++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		cut_return(line);
		r = take_line(s, line);
	}
	if (r == 0)
		r = begin(s);
	if (s->writer && r == 0)
		r = recording_writer_round(s->writer);
	return close_writer(s, r);
}

int script_compile(const char *path, const char *text, size_t len, int *ret_fd)
{
	char file[64], *copy _cleanup_free_ = strndup(text, len);
	const struct recording_writer_opts opts = {
		.path = file, .clockid = CLOCK_MONOTONIC, .is_script = true};
	struct script s = {.path = path, .opts = opts};
	int fd = memfd_create("attar-script", MFD_CLOEXEC), r;

	if (fd < 0 || !copy) {
		if (fd >= 0)
			close(fd);
		return copy ? attar_fail(-errno, "memfd_create(2): %s", strerror(errno))
			    : base_oom();
	}
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	r = compile(&s, copy);
	vec_each (&s.events, e)
		script_event_done(e);
	vec_done(&s.events);
	map_done(&s.comms);
	buf_done(&s.record);
	if (r < 0) {
		close(fd);
		return r;
	}
	attar_error_clear();
	*ret_fd = fd;
	return 0;
}
