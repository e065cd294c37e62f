/* SPDX-License-Identifier: MIT */
/*
 * multi-trace --detail: prints single pairs with the events between their start and end;
 * --print-beyond: without these. The newest events are kept in a ring of entries and a ring of
 * their bytes, both of constant size.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "multi_trace/multi_trace.h"
#include "lib/sample_fields.h"

enum {
	KEPT_MAX = 1 << 16, /* events */
	BYTES = 16 << 20,   /* of their fields */
	COMM_BYTES = 24,
	FIELDS_MAX = 4096,
	DEPTH_MAX = 512,  /* frames */
	CONCERNS_MAX = 8, /* CPUs or tasks that one event concerns */
	PENDING_MAX = 64, /* pairs whose events after the end are still to come */
};

/* A kept event. */
struct kept {
	uint64_t time, position; /* position: in the bytes ever written */
	uint64_t key;            /* hash, for samekey */
	uint64_t record;         /* equal for the copies of a record that several events get */
	uint32_t event, size;
	uint32_t depth; /* frames of its stack, after the bytes of the fields */
	int32_t cpu, pid, tid;
	struct attar_vcpu vcpu; /* of an event with vm= */
	const char *host;       /* NULL: events are of one host only */
	char comm[COMM_BYTES];
	struct sample_fields sample; /* of events without a format */
};

/* A pair to be printed. */
struct pair {
	uint64_t start, end; /* sequence numbers */
	uint64_t start_time, end_time;
};

struct detail {
	uint64_t before, after, hide; /* ns */
	bool same_cpu, same_pid, same_tid, same_key;
	bool of_start, of_end; /* what these compare with; neither: both */
	bool is_of_pairs;      /* only starts and ends are kept and printed */
	struct kept *kept;
	char *bytes;
	uint64_t n, written; /* events and bytes ever kept */
	uint64_t records;
	uint64_t printed, dropped;
	struct pair pending[PENDING_MAX];
	size_t n_pending;
};

/* ---- the option ---- */

/* "100us" as ns, without a library for it: units are few. */
static bool parse_ns(const char *text, size_t n, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char copy[32], *end;
	double value;

	if (!n || n >= sizeof(copy) || text[0] < '0' || text[0] > '9')
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	value = strtod(copy, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns < 1e15) {
			*ret_ns = (uint64_t)(value * units[i].ns);
			return true;
		}
	return false;
}

static bool is_word(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

static bool parse_word(struct detail *d, const char *text, size_t n)
{
	const struct {
		const char *word;
		bool *flag;
	} words[] = {{"samecpu", &d->same_cpu}, {"samepid", &d->same_pid},
		{"sametid", &d->same_tid}, {"samekey", &d->same_key}, {"1", &d->of_start},
		{"2", &d->of_end}};

	if (n > 1 && *text == '-')
		return parse_ns(text + 1, n - 1, &d->before);
	if (n > 1 && *text == '+')
		return parse_ns(text + 1, n - 1, &d->after);
	if (n > 5 && !memcmp(text, "hide<", 5))
		return parse_ns(text + 5, n - 5, &d->hide);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(text, n, words[i].word))
			return *words[i].flag = true;
	return is_word(text, n, "all");
}

int detail_open(struct multi_trace *m)
{
	const bool is_of_pairs = !m->detail_text;
	struct detail *d;

	if (is_of_pairs && (!pairs_prints(m) || m->impl != &trace_impl_delay))
		return 0;
	if (m->impl != &trace_impl_delay)
		return attar_fail(-EINVAL,
			"--detail requires --impl delay" ATTAR_FIX "remove one of the two options");
	d = m->detail = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->is_of_pairs = is_of_pairs;
	for (const char *text = is_of_pairs ? "" : m->detail_text; *text;) {
		size_t n = strcspn(text, ",");

		if (!parse_word(d, text, n))
			return attar_fail(-EINVAL,
				"--detail: '%.*s' is not one of -TIME, +TIME, 1, 2, samecpu, "
				"samepid, sametid, samekey, hide<TIME",
				(int)n, text);
		text += n + (text[n] == ',');
	}
	if ((d->of_start || d->of_end) && !d->same_cpu && !d->same_pid && !d->same_tid &&
		!d->same_key) /* which start and end have in common */
		return attar_fail(-EINVAL,
			"--detail: 1 and 2 only select the event of the pair that others are "
			"compared with" ATTAR_FIX "add samecpu, samepid, sametid or samekey");
	d->kept = calloc(KEPT_MAX, sizeof(*d->kept));
	d->bytes = malloc(BYTES);
	return d->kept && d->bytes ? 0 : -ENOMEM;
}

void detail_close(struct multi_trace *m)
{
	if (m->detail) {
		free(m->detail->kept);
		free(m->detail->bytes);
	}
	free(m->detail);
}

/* ---- keeping ---- */

/* Frames follow the fields at a multiple of 8. */
static size_t aligned(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* The position of n bytes that do not wrap around. */
static uint64_t reserve(struct detail *d, size_t n)
{
	uint64_t at = aligned(d->written);

	if (at % BYTES + n > BYTES)
		at += BYTES - at % BYTES;
	d->written = at + n;
	return at;
}

static uint64_t hash(const char *bytes, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)bytes[i]) * 1099511628211u;
	return h;
}

static char *stack_of(const struct detail *d, const struct kept *k)
{
	return d->bytes + k->position % BYTES + aligned(k->size);
}

/*
 * Whether the event before is of the same record, which is given to one event after the other, such
 * as a switch that ends a delay and begins another one.
 */
static bool is_copy(const struct detail *d, const struct kept *k)
{
	const struct kept *before = d->n ? &d->kept[(d->n - 1) % KEPT_MAX] : NULL;

	return before && before->event < k->event && before->time == k->time &&
	       before->cpu == k->cpu && before->tid == k->tid && before->host == k->host &&
	       before->size == k->size &&
	       !memcmp(d->bytes + before->position % BYTES, d->bytes + k->position % BYTES,
		       k->size);
}

bool detail_is_of_pairs(const struct multi_trace *m)
{
	return m->detail->is_of_pairs;
}

uint64_t detail_keep(struct attar_run *run, struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev)
{
	struct detail *d = m->detail;
	const struct attar_sample *s = &ev->record->sample;
	struct kept *k = &d->kept[d->n % KEPT_MAX];
	attar_location stack[DEPTH_MAX];
	struct key_bytes key;

	*k = (struct kept){.time = ev->time,
		.event = (uint32_t)(e - m->events),
		.size = s->raw ? (uint32_t)s->raw_size : 0,
		.cpu = (int32_t)ev->cpu,
		.pid = (int32_t)ev->record->pid,
		.tid = ev->thread->tid,
		.host = run_source_host(run, ev->counter)};
	if (!e->is_guest || !run_vcpu(run, ev, &k->vcpu))
		k->vcpu = (struct attar_vcpu){.cpu = -1};
	if (!e->spec->format)
		sample_fields_get(ev, attar_run_source_attr(run, ev->counter), &k->sample);
	if (e->spec->stack)
		k->depth = (uint32_t)attar_event_stack(ev, stack, DEPTH_MAX);
	k->position = reserve(d, aligned(k->size) + k->depth * sizeof(*stack));
	if (k->size)
		memcpy(d->bytes + k->position % BYTES, s->raw, k->size);
	memcpy(stack_of(d, k), stack, k->depth * sizeof(*stack));
	snprintf(k->comm, sizeof(k->comm), "%s", ev->thread->comm);
	d->records += !is_copy(d, k);
	k->record = d->records;
	if (d->same_key && trace_key(run, e, ev, &key))
		k->key = hash(key.bytes, key.size);
	return d->n++;
}

/* A kept event; NULL: newer ones have taken its place. */
static const struct kept *get(const struct detail *d, uint64_t sequence)
{
	const struct kept *k = &d->kept[sequence % KEPT_MAX];

	if (sequence >= d->n || d->n - sequence > KEPT_MAX)
		return NULL;
	return d->written - k->position <= BYTES ? k : NULL;
}

/* ---- which events are of a pair ---- */

struct concerns {
	int64_t at[CONCERNS_MAX];
	size_t n;
};

static bool has(const struct concerns *c, int64_t value)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->at[i] == value)
			return true;
	return false;
}

static bool overlap(const struct concerns *a, const struct concerns *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (has(a, b->at[i]))
			return true;
	return false;
}

static void concern(struct concerns *c, int64_t value)
{
	if (c->n < CONCERNS_MAX)
		c->at[c->n++] = value;
}

static const char *const cpu_fields[] = {"cpu", "target_cpu", "orig_cpu", "dest_cpu", NULL};
static const char *const task_fields[] = {
	"pid", "tid", "prev_pid", "next_pid", "parent_pid", "child_pid", NULL};

/* The CPUs or tasks in the fields of an event. A guest has CPUs and tasks of its own. */
static struct concerns in_fields(
	const struct multi_trace *m, const struct kept *k, const char *const *names)
{
	const struct attar_format *format = m->events[k->event].spec->format;
	const char *raw = m->detail->bytes + k->position % BYTES;
	struct concerns c = {0};

	if (m->events[k->event].is_guest)
		return c;
	for (; format && *names; names++) {
		const struct attar_field *field = attar_format_field(format, *names);

		if (field)
			concern(&c, attar_field_i64(field, raw, k->size));
	}
	return c;
}

static struct concerns cpus_of(const struct multi_trace *m, const struct kept *k, bool is_between)
{
	struct concerns c = in_fields(m, k, cpu_fields);

	if (m->events[k->event].is_guest) {
		if (k->vcpu.cpu >= 0)
			concern(&c, k->vcpu.cpu);
	} else if (!c.n || is_between) {
		concern(&c, k->cpu);
	}
	return c;
}

static struct concerns tasks_of(const struct multi_trace *m, const struct kept *k, bool is_between)
{
	bool is_guest = m->events[k->event].is_guest;
	struct concerns c = in_fields(m, k, task_fields);

	if (!c.n || is_between) {
		concern(&c, is_guest ? k->vcpu.tid : k->tid);
		if (m->detail->same_pid)
			concern(&c, is_guest ? k->vcpu.pid : k->pid);
	}
	return c;
}

/* What both start and end concern; if nothing, what either does. */
static struct concerns common(const struct concerns *a, const struct concerns *b)
{
	struct concerns both = {0}, either = *a;

	for (size_t i = 0; i < b->n; i++) {
		if (has(a, b->at[i]))
			concern(&both, b->at[i]);
		concern(&either, b->at[i]);
	}
	return both.n ? both : either;
}

typedef struct concerns concerns_fn(
	const struct multi_trace *m, const struct kept *k, bool is_between);

/* Only events of the same host can concern the same CPU or task. */
static struct concerns on_host(
	const struct multi_trace *m, const struct kept *k, const char *host, concerns_fn *of)
{
	return m->events[k->event].host == host ? of(m, k, false) : (struct concerns){0};
}

static bool is_same(const struct multi_trace *m, const struct kept *k, const struct kept *start,
	const struct kept *end, concerns_fn *of)
{
	const struct detail *d = m->detail;
	const char *host = m->events[k->event].host;
	struct concerns a = on_host(m, start ? start : end, host, of),
			b = on_host(m, end, host, of), c = of(m, k, true), pair = common(&a, &b);

	if (d->of_start != d->of_end)
		pair = d->of_start ? a : b;
	return overlap(&pair, &c);
}

static bool is_shown(const struct multi_trace *m, const struct kept *k, const struct kept *start,
	const struct kept *end)
{
	const struct detail *d = m->detail;

	if (d->same_key && k->key != end->key)
		return false;
	if (d->same_cpu && !is_same(m, k, start, end, cpus_of))
		return false;
	return !(d->same_pid || d->same_tid) || is_same(m, k, start, end, tasks_of);
}

/* ---- printing ---- */

static void columns_of_pair(struct attar_section *lines)
{
	attar_section_column(lines, "pair", ATTAR_UNIT_ID);
	attar_section_column(lines, "part", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "offset", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

static void columns_of_event(struct attar_section *lines)
{
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
}

static void columns(struct attar_section *lines)
{
	columns_of_pair(lines);
	columns_of_event(lines);
}

static void columns_of_hosts(struct attar_section *lines)
{
	columns_of_pair(lines);
	attar_section_column(lines, "host", ATTAR_UNIT_TEXT);
	columns_of_event(lines);
}

static void print_event(struct attar_run *run, struct multi_trace *m, struct attar_section *lines,
	const struct pair *p, const struct kept *k, const char *part)
{
	const struct trace_event *e = &m->events[k->event];
	attar_location stack[DEPTH_MAX];
	char fields[FIELDS_MAX] = "";

	if (!e->spec->format)
		sample_fields_text(run, &k->sample, fields, sizeof(fields));
	else if (k->size)
		attar_format_print(e->spec->format, m->detail->bytes + k->position % BYTES, k->size,
			fields, sizeof(fields));
	attar_section_row(lines);
	attar_cell_u64(lines, m->detail->printed);
	attar_cell_text(lines, part);
	attar_cell_u64(lines, attar_run_realtime(run, k->time));
	attar_cell_i64(lines, (int64_t)(k->time - p->start_time));
	if (m->has_hosts)
		attar_cell_text(lines, k->host);
	attar_cell_text(lines, k->comm);
	attar_cell_i64(lines, k->tid);
	attar_cell_i64(lines, k->cpu);
	attar_cell_text(lines, e->name);
	attar_cell_text(lines, fields);
	if (!k->depth)
		return;
	memcpy(stack, stack_of(m->detail, k), k->depth * sizeof(*stack));
	attar_row_stack(lines, attar_run_symbols(run), stack, k->depth);
}

/* The first kept event that is not before the pair by more than --detail=-TIME. */
static uint64_t first_of(struct detail *d, const struct pair *p)
{
	uint64_t oldest = d->n > KEPT_MAX ? d->n - KEPT_MAX : 0, at = p->start;

	while (d->before && at > 0 && get(d, at - 1) &&
		get(d, at - 1)->time + d->before >= p->start_time)
		at--;
	d->dropped += at < oldest ? oldest - at : 0;
	return at < oldest ? oldest : at;
}

static const char *part_of(const struct pair *p, uint64_t sequence)
{
	return sequence < p->start    ? "before"
	       : sequence == p->start ? "start"
	       : sequence < p->end    ? "between"
	       : sequence == p->end   ? "end"
				      : "after";
}

/* Whether the start or the end of a pair is of the same record. */
static bool is_of(const struct kept *k, const struct kept *start, const struct kept *end)
{
	return (start && k->record == start->record) || k->record == end->record;
}

static int print(struct attar_run *run, struct multi_trace *m, const struct pair *p)
{
	struct detail *d = m->detail;
	const struct kept *start = get(d, p->start), *end = get(d, p->end), *k;
	struct attar_section *lines;
	uint64_t last = 0, record = 0;

	if (!end || !attar_run_wants(run, ATTAR_WANT_LINES)) {
		d->dropped += !end;
		return 0;
	}
	lines = attar_run_lines(run, "detail", m->has_hosts ? columns_of_hosts : columns);
	if (!lines)
		return -ENOMEM;
	d->printed++;
	for (uint64_t i = first_of(d, p); i < d->n; i++) {
		bool is_of_pair = i == p->start || i == p->end;

		k = get(d, i);
		if (k && i > p->end && k->time > p->end_time + d->after)
			break;
		d->dropped += !k;
		if (!k || (!is_of_pair &&
				  (d->is_of_pairs || k->record == record || is_of(k, start, end) ||
					  !is_shown(m, k, start, end) ||
					  (d->hide && k->time - last < d->hide))))
			continue;
		print_event(run, m, lines, p, k, part_of(p, i));
		last = k->time;
		record = k->record;
	}
	return 0;
}

int detail_pair(struct attar_run *run, struct multi_trace *m, const struct attar_start *started,
	uint64_t end, uint64_t time)
{
	const struct start_data *data = started->payload;
	const struct pair pair = {
		.start = data->sequence, .end = end, .start_time = started->time, .end_time = time};
	uint64_t latency = time - started->time;
	struct detail *d = m->detail;

	if (!pairs_is_beyond(m, latency))
		return 0;
	if (!d->after || d->n_pending == PENDING_MAX)
		return print(run, m, &pair);
	d->pending[d->n_pending++] = pair;
	return 0;
}

int detail_flush(struct attar_run *run, struct multi_trace *m, uint64_t time)
{
	struct detail *d = m->detail;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < d->n_pending && time > d->pending[n].end_time + d->after)
		r = print(run, m, &d->pending[n++]);
	if (n) {
		d->n_pending -= n;
		memmove(d->pending, d->pending + n, d->n_pending * sizeof(d->pending[0]));
	}
	return r;
}

void detail_add_remark(const struct multi_trace *m, struct attar_report *report)
{
	uint64_t dropped = m->detail ? m->detail->dropped : 0;

	if (dropped)
		attar_report_remark(report,
			"--detail: %llu event%s of printed pairs %s missing, because only the "
			"newest %d are kept",
			(unsigned long long)dropped, dropped == 1 ? "" : "s",
			dropped == 1 ? "is" : "are", KEPT_MAX);
}
