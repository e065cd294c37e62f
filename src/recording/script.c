/* SPDX-License-Identifier: MIT */
#include "recording/script.h"

#include <ctype.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "base/map.h"
#include "recording/script_internal.h"
#include "recording/writer.h"

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

/* Splits the line at blanks outside of double quotes, which are removed. */
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

	if (end == word || (*end && *end != '.'))
		return bad(s, "'%s' is not a time in seconds", CLIP(word));
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
		 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
};

static struct perf_event_attr attr_of(const struct script_event *e, unsigned number)
{
	return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
		.type = e->system ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.config = e->system ? number : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1,
		.sample_type = SAMPLE | (e->system ? PERF_SAMPLE_RAW : 0) |
			       (e->stack ? PERF_SAMPLE_CALLCHAIN : 0),
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.comm = 1,
		.task = 1};
}

/* event SYSTEM:NAME [stack] [FIELD:TYPE ...], or event cpu-clock [stack] */
static int take_event(struct script *s)
{
	unsigned number = FIRST_NUMBER + (unsigned)s->events.n;
	struct script_event e = {.id = s->events.n + 1, .size = SCRIPT_COMMON_BYTES};
	const char *colon = s->n > 1 ? strchr(s->words[1], ':') : NULL, *why = NULL;
	int r = 0;

	if (s->writer)
		return bad(s, "events must be declared before the first record");
	if (s->n < 2 || (!colon && strcmp(s->words[1], "cpu-clock") != 0))
		return bad(s, "an event is SYSTEM:NAME or cpu-clock");
	e.name = strdup(s->words[1]);
	e.system = colon ? strndup(s->words[1], (size_t)(colon - s->words[1])) : NULL;
	for (size_t i = 2; i < s->n && !why; i++) {
		if (!strcmp(s->words[i], "stack"))
			e.stack = true;
		else
			why = script_add_field(&e, s->words[i]);
	}
	if (why)
		r = bad(s, "%s", why);
	else if (!e.name || (colon && !e.system))
		r = base_oom();
	else if (e.system)
		r = script_make_format(&e, number);
	e.attr = attr_of(&e, number);
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

static void start_record(struct script *s, uint32_t type)
{
	const struct perf_event_header header = {.type = type, .misc = PERF_RECORD_MISC_USER};

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
static int write_with_id(struct script *s, const struct moment *at)
{
	struct buf *b = &s->record;

	put_u32(b, at->pid);
	put_u32(b, at->tid);
	put_u64(b, at->time);
	put_u32(b, at->cpu);
	put_u32(b, 0);
	put_u64(b, s->events.at[0].id);
	return write_record(s);
}

/* A COMM record when the thread's name is new. */
static int name_task(struct script *s, const struct moment *at, const char *comm)
{
	char text[COMM_BYTES] = "";
	uint64_t hash = base_hash_bytes(BASE_HASH_START, comm, strlen(comm)), *known;

	known = map_get(&s->comms, at->tid);
	if (known && *known == hash)
		return 0;
	if (map_put(&s->comms, at->tid, hash) < 0)
		return base_oom();
	start_record(s, PERF_RECORD_COMM);
	put_u32(&s->record, at->pid);
	put_u32(&s->record, at->tid);
	memcpy(text, comm, MIN(strlen(comm), (size_t)COMM_BYTES - 1));
	buf_add(&s->record, text, sizeof(text));
	return write_with_id(s, at);
}

static int take_task(struct script *s, const struct moment *at, uint32_t type)
{
	uint32_t pid = at->pid, tid = at->tid;
	int r = 0;

	if (type == PERF_RECORD_FORK)
		r = s->n == 6 ? parse_task(s, s->words[5], &pid, &tid)
			      : bad(s, "fork needs the new task: fork PID/TID");
	if (r < 0)
		return r;
	start_record(s, type);
	put_u32(&s->record, pid);
	put_u32(&s->record, at->pid);
	put_u32(&s->record, tid);
	put_u32(&s->record, at->tid);
	put_u64(&s->record, at->time);
	if (type == PERF_RECORD_EXIT)
		map_remove(&s->comms, at->tid);
	return write_with_id(s, at);
}

static int take_lost(struct script *s, const struct moment *at)
{
	char *end = NULL;
	uint64_t lost = s->n == 6 ? strtoull(s->words[5], &end, 10) : 0;

	if (!lost || *end)
		return bad(s, "lost needs the number of events: lost N");
	start_record(s, PERF_RECORD_LOST);
	put_u64(&s->record, s->events.at[0].id);
	put_u64(&s->record, lost);
	return write_with_id(s, at);
}

/* "0x10,0x20": innermost first */
static int put_stack(struct script *s, const char *text)
{
	uint64_t chain[STACK_MAX + 1] = {PERF_CONTEXT_USER};
	size_t n = 1;

	while (text && *text) {
		char *end;
		uint64_t ip = strtoull(text, &end, 16);

		if (end == text || (*end && *end != ',') || n > STACK_MAX)
			return bad(s, "the syntax of a stack is ADDRESS,ADDRESS...");
		chain[n++] = ip;
		text = end + (*end == ',');
	}
	n = n > 1 ? n : 0;
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

static int take_sample(struct script *s, const struct script_event *e, const struct moment *at)
{
	const char *stack = value_of(s, "stack"), *period = value_of(s, "period");
	struct buf *b = &s->record;
	int r = 0;

	if (stack && !e->stack)
		return bad(s, "'%s' was declared without stack", CLIP(e->name));
	start_record(s, PERF_RECORD_SAMPLE);
	put_u64(b, e->id);
	put_u64(b, stack ? strtoull(stack, NULL, 16) : 0);
	put_u32(b, at->pid);
	put_u32(b, at->tid);
	put_u64(b, at->time);
	put_u32(b, at->cpu);
	put_u32(b, 0);
	put_u64(b, period ? strtoull(period, NULL, 10) : 1);
	if (e->stack)
		r = put_stack(s, stack);
	if (r == 0 && e->system)
		r = put_raw(s, e, at);
	return r == 0 ? write_record(s) : r;
}

/* TIME CPU PID/TID COMM EVENT FIELD=VALUE..., or fork, exit or lost in place of EVENT */
static int take_record(struct script *s)
{
	struct moment at = {0};
	char *end;
	int r = s->n < 5 ? bad(s, "the syntax of a record is TIME CPU PID/TID COMM EVENT ...")
			 : begin(s);

	if (r == 0)
		r = parse_time(s, s->words[0], &at.time);
	if (r < 0)
		return r;
	at.cpu = (uint32_t)strtoul(s->words[1], &end, 10);
	if (end == s->words[1] || *end)
		return bad(s, "'%s' is not the number of a CPU", CLIP(s->words[1]));
	r = parse_task(s, s->words[2], &at.pid, &at.tid);
	if (r == 0)
		r = name_task(s, &at, s->words[3]);
	if (r < 0)
		return r;
	if (!strcmp(s->words[4], "fork"))
		return take_task(s, &at, PERF_RECORD_FORK);
	if (!strcmp(s->words[4], "exit"))
		return take_task(s, &at, PERF_RECORD_EXIT);
	if (!strcmp(s->words[4], "lost"))
		return take_lost(s, &at);
	vec_each (&s->events, e)
		if (!strcmp(e->name, s->words[4]))
			return take_sample(s, e, &at);
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

/* r: what has failed before, whose error text is kept. */
static int close_writer(struct script *s, int r)
{
	char *why _cleanup_free_ = r < 0 ? strdup(attar_error()) : NULL;
	int closed = recording_writer_close(s->writer);

	return r < 0 ? attar_fail(r, "%s", why ? why : "out of memory") : closed;
}

static int compile(struct script *s, char *text)
{
	int r = 0;

	for (char *line = text, *next; r == 0 && line; line = next) {
		s->line++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
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
