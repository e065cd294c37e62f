/* SPDX-License-Identifier: MIT */
/*
 * Rows for ClickHouse: each section of a report is rows of a table, a tree is rows of two: samples,
 * and the stacks that they refer to by a hash. A thread sends them, see clickhouse_sender.c.
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include "attar/private/report.h"
#include "base/map.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "report/model/tree.h"

enum { STACKS_MAX = 1 << 20 /* whose hashes are kept */ };

struct clickhouse {
	struct sender *sender;
	const char *host, *service; /* of all rows */
	uint64_t report, time;      /* of the current report */
	const char *profiler;
	struct map stacks; /* the hashes of stacks that were sent -> the day */
	uint64_t losses;   /* stacks that were sent before may be among them */
	struct buf text;   /* of a cell */
};

/* The rows of a table, for the batch that is open. */
struct rows {
	struct clickhouse *ch;
	struct buf table;
	struct batch *batch; /* NULL: there is none yet */
};

static void rows_begin(struct rows *rows, struct clickhouse *ch, const char *name)
{
	rows->ch = ch;
	tables_begin(&rows->table, name);
}

static void rows_done(struct rows *rows)
{
	buf_done(&rows->table);
}

/* Begins a row with the columns of all tables. NULL: out of memory. */
static struct buf *rows_add(struct rows *rows, uint64_t time)
{
	uint16_t date = batch_date(time);
	struct clickhouse *ch = rows->ch;
	struct buf *b;

	if (buf_failed(&rows->table))
		return NULL;
	if (!rows->batch || rows->batch->date != date)
		rows->batch = sender_batch(ch->sender, buf_text(&rows->table), date);
	if (!rows->batch)
		return NULL;
	b = &rows->batch->body;
	row_u16(b, date);
	row_u64(b, time);
	row_text(b, ch->host);
	row_text(b, ch->service);
	row_u64(b, ch->report);
	row_u64(b, rows->batch->id);
	return b;
}

static void rows_end(struct rows *rows)
{
	if (!sender_end_row(rows->ch->sender, rows->batch))
		rows->batch = NULL;
}

/* ---- cells ---- */

/* False for NaN, too. */
static bool fits_integer(struct cell cell)
{
	return cell.kind != CELL_DOUBLE || (cell.real >= -0x1p63 && cell.real < 0x1p63);
}

/*
 * Text in a column of numbers is NULL, as is what an integer cannot have; a number in one of text
 * is its digits.
 */
static void add_number(struct buf *b, enum attar_unit unit, struct cell cell)
{
	bool is_integer = unit == ATTAR_UNIT_TIME || unit == ATTAR_UNIT_CLOCK ||
			  unit == ATTAR_UNIT_HEX || unit == ATTAR_UNIT_ID;
	bool is_none = cell.kind == CELL_NONE || cell.kind == CELL_TEXT ||
		       (is_integer && !fits_integer(cell));

	row_null(b, is_none);
	if (is_none)
		return;
	if (is_integer)
		row_u64(b, cell.kind == CELL_DOUBLE ? (uint64_t)(int64_t)cell.real : cell.u64);
	else
		row_double(b, number_value(cell));
}

static void add_text(
	struct clickhouse *ch, struct buf *b, const struct attar_section *s, struct cell cell)
{
	char text[FIELDS_TEXT_MAX];
	struct fields fields;

	if (cell.kind == CELL_TEXT) {
		row_text(b, section_text(s, cell.text));
	} else if (cell.kind == CELL_FIELDS) {
		fields = section_fields(s, cell);
		row_name(b, text, fields_text(&fields, text));
	} else {
		buf_reset(&ch->text);
		number_plain(&ch->text, ATTAR_UNIT_COUNT, cell);
		row_bytes(b, buf_text(&ch->text), cell.kind == CELL_NONE ? 0 : ch->text.len);
	}
}

/* ---- tables and events ---- */

/* The column of event lines that is the time of the row; columns.n: there is none. */
static size_t time_column(const struct attar_section *s)
{
	size_t i = 0;

	while (i < s->columns.n && (s->columns.at[i].unit != ATTAR_UNIT_TIME ||
					   strcmp(section_text(s, s->columns.at[i].name), "time")))
		i++;
	return i;
}

static void describe(struct rows *rows, const struct attar_section *s, size_t time)
{
	for (size_t i = 0; i < s->columns.n; i++) {
		const struct column *c = &s->columns.at[i];

		if (i != time)
			tables_add(&rows->table, section_text(s, c->name), c->unit,
				tables_type(c->unit));
	}
	if (s->kind == ATTAR_SECTION_EVENTS) {
		tables_add(&rows->table, "values", ATTAR_UNIT_TEXT, "String");
		tables_add(&rows->table, "stack", ATTAR_UNIT_TEXT, "Array(String)");
	}
}

/* Positions in data that are stored separately from the cells. */
struct position {
	size_t detail, named;
};

/* The values as a JSON object, and the stack, innermost frame first. */
static void add_event(struct clickhouse *ch, struct buf *b, const struct attar_section *s,
	uint32_t row, struct position *at)
{
	size_t first = at->detail;

	buf_reset(&ch->text);
	if (s->named.n || s->has_record_values)
		render_values(&ch->text, s, row, &at->named);
	row_bytes(b, buf_text(&ch->text), ch->text.len);
	while (section_has_detail(s, row, at->detail))
		at->detail++;
	row_length(b, at->detail - first);
	for (; first < at->detail; first++)
		row_text(b, section_detail(s, first));
}

static void add_section_name(struct buf *name, const struct clickhouse *ch, const char *section)
{
	buf_str(name, "attar_");
	tables_add_name(name, ch->profiler);
	buf_char(name, '_');
	tables_add_name(name, section);
}

static int add_rows(struct clickhouse *ch, const struct attar_section *s)
{
	struct buf name _cleanup_(buf_done) = {0};
	struct rows rows _cleanup_(rows_done) = {0};
	size_t time = time_column(s);
	struct position at = {0};

	add_section_name(&name, ch, section_text(s, s->name));
	rows_begin(&rows, ch, buf_text(&name));
	describe(&rows, s, time);
	for (uint32_t row = 0; row < s->rows; row++) {
		struct cell when =
			time < s->columns.n ? section_cell(s, row, time) : (struct cell){CELL_NONE};
		struct buf *b = rows_add(&rows, when.kind == CELL_U64 ? when.u64 : ch->time);

		if (!b)
			return base_oom();
		for (size_t i = 0; i < s->columns.n; i++) {
			if (i == time)
				continue;
			if (s->columns.at[i].unit == ATTAR_UNIT_TEXT)
				add_text(ch, b, s, section_cell(s, row, i));
			else
				add_number(b, s->columns.at[i].unit, section_cell(s, row, i));
		}
		if (s->kind == ATTAR_SECTION_EVENTS)
			add_event(ch, b, s, row, &at);
		rows_end(&rows);
	}
	return 0;
}

/* ---- time series and histograms ---- */

/* A row for each value: the labels differ between machines. */
static int add_series(struct clickhouse *ch, const struct attar_section *s)
{
	struct rows rows _cleanup_(rows_done) = {0};

	rows_begin(&rows, ch, "attar_series");
	buf_str(&rows.table,
		"\nprofiler String\nname String\nlabel String\nunit String\nvalue Float64");
	for (uint32_t row = 0; row < s->rows; row++) {
		struct cell time = section_cell(s, row, 0);

		for (size_t i = 1; i < s->columns.n; i++) {
			struct cell cell = section_cell(s, row, i);
			struct buf *b;

			if (cell.kind == CELL_NONE || cell.kind == CELL_TEXT)
				continue;
			b = rows_add(&rows, time.u64);
			if (!b)
				return base_oom();
			row_text(b, ch->profiler);
			row_text(b, section_text(s, s->name));
			row_text(b, section_text(s, s->columns.at[i].name));
			row_text(b, unit_name(s->columns.at[i].unit));
			row_double(b, number_value(cell));
			rows_end(&rows);
		}
	}
	return 0;
}

/* Begins a row of a histogram's tables. */
static struct buf *add_named(struct rows *rows, const struct attar_section *s)
{
	struct buf *b = rows_add(rows, rows->ch->time);

	if (!b)
		return NULL;
	row_text(b, rows->ch->profiler);
	row_text(b, section_text(s, s->name));
	row_text(b, unit_name(s->columns.at[0].unit));
	return b;
}

static int add_buckets(struct clickhouse *ch, const struct attar_section *s)
{
	struct rows rows _cleanup_(rows_done) = {0};

	rows_begin(&rows, ch, "attar_histograms");
	buf_str(&rows.table, "\nprofiler String\nname String\nunit String"
			     "\nlow Float64\nhigh Float64\ncount UInt64");
	for (uint32_t row = 0; row < s->rows; row++) {
		struct buf *b = add_named(&rows, s);

		if (!b)
			return base_oom();
		row_double(b, number_value(section_cell(s, row, 0)));
		row_double(b, number_value(section_cell(s, row, 1)));
		row_u64(b, section_cell(s, row, 2).u64);
		rows_end(&rows);
	}
	return 0;
}

static int add_quantiles(struct clickhouse *ch, const struct attar_section *s)
{
	struct rows rows _cleanup_(rows_done) = {0};

	rows_begin(&rows, ch, "attar_quantiles");
	buf_str(&rows.table, "\nprofiler String\nname String\nunit String"
			     "\nshare Float64\nvalue Float64");
	for (size_t i = 0; i < s->quantiles.n; i++) {
		struct buf *b = add_named(&rows, s);

		if (!b)
			return base_oom();
		row_double(b, s->quantiles.at[i].share);
		row_double(b, number_value(s->quantiles.at[i].value));
		rows_end(&rows);
	}
	return 0;
}

static int add_summary(struct clickhouse *ch, const struct attar_section *s)
{
	struct rows rows _cleanup_(rows_done) = {0};
	struct buf *b;

	if (!s->summary.is_set)
		return 0;
	rows_begin(&rows, ch, "attar_summaries");
	buf_str(&rows.table, "\nprofiler String\nname String\nunit String"
			     "\ncount UInt64\nsum Float64\nmin Float64\nmax Float64");
	b = add_named(&rows, s);
	if (!b)
		return base_oom();
	row_u64(b, s->summary.count);
	row_double(b, number_value(s->summary.sum));
	row_double(b, number_value(s->summary.min));
	row_double(b, number_value(s->summary.max));
	rows_end(&rows);
	return 0;
}

static int add_histogram(struct clickhouse *ch, const struct attar_section *s)
{
	int e = add_buckets(ch, s);

	if (e == 0)
		e = add_quantiles(ch, s);
	return e == 0 ? add_summary(ch, s) : e;
}

/* ---- trees ---- */

/* The tables of a tree, and what is known about its nodes. */
struct tree {
	struct attar_section *s;
	struct rows samples, stacks;
	uint64_t interval_ns;
	VEC(uint64_t) hashes; /* of each node: its stack */
	VEC(uint32_t) roots;  /* of each node */
};

static void tree_done(struct tree *t)
{
	rows_done(&t->samples);
	rows_done(&t->stacks);
	vec_done(&t->hashes);
	vec_done(&t->roots);
}

/* The task is not a frame: its name is a column of the samples. */
static bool is_task(const struct attar_section *s, uint32_t node)
{
	return s->nodes.at[node].parent == ATTAR_TREE_ROOT &&
	       s->nodes.at[node].kind == ATTAR_FRAME_TASK;
}

/* From the hash of the callers, so that equal stacks of all hosts have one hash. */
static int hash_nodes(struct tree *t)
{
	const struct attar_section *s = t->s;

	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct tree_node *node = &s->nodes.at[i];
		const char *name = section_text(s, node->name);
		const char *module = section_text(s, node->module);
		bool is_root = node->parent == ATTAR_TREE_ROOT;
		uint64_t hash = is_root ? BASE_HASH_START : t->hashes.at[node->parent];

		if (!is_task(s, i)) {
			hash = base_hash_bytes(hash, name, strlen(name) + 1);
			hash = base_hash_bytes(hash, module, strlen(module) + 1);
			hash = base_hash64(hash ^ node->kind);
		}
		if (vec_push(&t->hashes, hash) < 0 ||
			vec_push(&t->roots, is_root ? i : t->roots.at[node->parent]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t depth_of(const struct attar_section *s, uint32_t node)
{
	uint32_t depth = 0;

	for (; node != ATTAR_TREE_ROOT && !is_task(s, node); node = s->nodes.at[node].parent)
		depth++;
	return depth;
}

/* One column of the frames of a stack, the innermost first. */
static void add_frames(struct buf *b, const struct attar_section *s, uint32_t node, uint32_t depth,
	const char *(*get)(const struct attar_section *s, const struct tree_node *node))
{
	row_length(b, depth);
	for (; depth; depth--, node = s->nodes.at[node].parent)
		row_text(b, get(s, &s->nodes.at[node]));
}

static const char *get_name(const struct attar_section *s, const struct tree_node *node)
{
	return section_text(s, node->name);
}

static const char *get_module(const struct attar_section *s, const struct tree_node *node)
{
	return section_text(s, node->module);
}

static const char *get_kind(const struct attar_section *s, const struct tree_node *node)
{
	return frame_kind_name(node->kind);
}

/* Once a day for each stack. */
static int add_stack(struct tree *t, uint32_t node)
{
	struct clickhouse *ch = t->stacks.ch;
	uint64_t hash = t->hashes.at[node], date = batch_date(ch->time);
	const uint64_t *sent = map_get(&ch->stacks, hash);
	uint32_t depth = depth_of(t->s, node);
	struct buf *b;

	if (sent && *sent == date)
		return 0;
	if (ch->stacks.n >= STACKS_MAX)
		map_reset(&ch->stacks);
	if (map_put(&ch->stacks, hash, date) < 0)
		return -ENOMEM;
	b = rows_add(&t->stacks, ch->time);
	if (!b)
		return base_oom();
	row_u64(b, hash);
	add_frames(b, t->s, node, depth, get_name);
	add_frames(b, t->s, node, depth, get_module);
	add_frames(b, t->s, node, depth, get_kind);
	rows_end(&t->stacks);
	return 0;
}

static int add_sample(struct tree *t, uint32_t node)
{
	const struct attar_section *s = t->s;
	struct clickhouse *ch = t->samples.ch;
	const struct tree_task key = {.node = t->roots.at[node]}, *task = NULL;
	struct buf *b = rows_add(&t->samples, ch->time);

	if (!b)
		return base_oom();
	if (s->tasks.n)
		task = bsearch(&key, s->tasks.at, s->tasks.n, sizeof(key), tree_task_order);
	row_u64(b, t->interval_ns);
	row_text(b, ch->profiler);
	row_text(b, section_text(s, s->name));
	row_text(b, unit_name(s->unit));
	row_text(b, is_task(s, key.node) ? get_name(s, &s->nodes.at[key.node]) : "");
	row_u32(b, task ? task->pid : 0);
	row_u32(b, task ? task->tid : 0);
	row_u64(b, t->hashes.at[node]);
	row_u64(b, s->nodes.at[node].self);
	rows_end(&t->samples);
	return 0;
}

static int add_tree(struct clickhouse *ch, struct attar_section *s, uint64_t interval_ns)
{
	struct tree t _cleanup_(tree_done) = {.s = s, .interval_ns = interval_ns};
	int e;

	rows_begin(&t.samples, ch, "attar_samples");
	buf_str(&t.samples.table,
		"\ninterval_ns UInt64\nprofiler String\ntype String\nunit String\ncomm String"
		"\npid UInt32\ntid UInt32\nstack UInt64\nvalue UInt64");
	rows_begin(&t.stacks, ch, "attar_stacks");
	buf_str(&t.stacks.table, "\nhash UInt64\nnames Array(String)\nmodules Array(String)"
				 "\nkinds Array(String)");
	tree_sum(s); /* sorts the tasks */
	e = hash_nodes(&t);
	for (uint32_t i = 0; i < s->nodes.n && e == 0; i++) {
		if (!s->nodes.at[i].self)
			continue;
		e = add_stack(&t, i);
		if (e == 0)
			e = add_sample(&t, i);
	}
	return e;
}

/* ---- reports ---- */

/* A batch of event lines is not a separate report. */
static bool is_batch(const struct attar_report *report)
{
	report_each_section (report, it)
		if ((*it)->kind != ATTAR_SECTION_EVENTS)
			return false;
	return !report->has_notes && !report->remarks.n;
}

static int add_report(struct clickhouse *ch, const struct attar_report *report)
{
	const struct attar_notes *n = &report->notes;
	const uint64_t counts[] = {n->seen, n->lost, n->lost_side_band, n->missing, n->throttled,
		n->unprinted, n->self_rss};
	struct rows rows _cleanup_(rows_done) = {0};
	struct buf *b;

	rows_begin(&rows, ch, "attar_reports");
	buf_str(&rows.table,
		"\ninterval_ns UInt64\nprofiler String\nversion String\nseen UInt64\nlost UInt64"
		"\nlost_side_band UInt64\nmissing UInt64\nthrottled UInt64\nunprinted UInt64"
		"\nself_rss UInt64\nself_cpu Float64"
		"\nunresolved Nullable(Float64)\nremarks Array(String)");
	b = rows_add(&rows, ch->time);
	if (!b)
		return base_oom();
	row_u64(b, report->interval_ns);
	row_text(b, ch->profiler);
	row_text(b, ATTAR_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		row_u64(b, report->has_notes ? counts[i] : 0);
	row_double(b, report->has_notes ? n->self_cpu : 0);
	row_null(b, !report->has_notes || n->unresolved < 0);
	if (report->has_notes && !(n->unresolved < 0))
		row_double(b, n->unresolved);
	row_length(b, report->remarks.n);
	for (size_t i = 0; i < report->remarks.n; i++)
		row_text(b, report_text(report, report->remarks.at[i]));
	rows_end(&rows);
	return 0;
}

static int add_sections(struct clickhouse *ch, const struct attar_report *report)
{
	int e = 0;

	ch->profiler = report_text(report, report->profiler);
	ch->time = report->time;
	ch->report = is_batch(report) ? 0 : batch_random();
	if (ch->report)
		e = add_report(ch, report);
	report_each_section (report, it) {
		if (e < 0)
			return e;
		if ((*it)->kind == ATTAR_SECTION_TREE)
			e = add_tree(ch, *it, report->interval_ns);
		else if ((*it)->kind == ATTAR_SECTION_HISTOGRAM)
			e = add_histogram(ch, *it);
		else if ((*it)->kind == ATTAR_SECTION_TIME_SERIES)
			e = add_series(ch, *it);
		else
			e = add_rows(ch, *it);
	}
	return e;
}

static int clickhouse_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct clickhouse *ch = r->state;
	int e;

	sender_lock(ch->sender);
	if (ch->losses != sender_losses(ch->sender))
		map_reset(&ch->stacks);
	ch->losses = sender_losses(ch->sender);
	e = add_sections(ch, report);
	sender_unlock(ch->sender);
	return e;
}

/* ---- life cycle ---- */

static void close_clickhouse(struct attar_renderer *r)
{
	struct clickhouse *ch = r->state;

	if (!ch)
		return;
	if (ch->sender)
		sender_free(ch->sender);
	map_done(&ch->stacks);
	buf_done(&ch->text);
	free(ch);
	r->state = NULL;
}

static int parse_url(const char *address, struct clickhouse_url *url)
{
	int e = clickhouse_url_parse(address, url);

	if (e == 0 && (url->from || url->to || url->profiler))
		e = attar_fail(-EINVAL, "the parameters from, to and profiler of ClickHouse are "
					"valid only in 'attar diff'");
	return e;
}

static int check(const char *address)
{
	struct clickhouse_url url = {0};
	int e = parse_url(address, &url);

	clickhouse_url_done(&url);
	return e;
}

static int open_clickhouse(struct attar_renderer *r)
{
	struct clickhouse_url url = {0};
	struct clickhouse *ch;
	int e;

	r->state = ch = calloc(1, sizeof(*ch));
	if (!ch)
		return base_oom();
	e = parse_url(r->address, &url);
	if (e < 0) {
		clickhouse_url_done(&url);
		return e;
	}
	e = sender_start(&url, &ch->sender);
	if (e < 0)
		return e;
	ch->host = sender_url(ch->sender)->host;
	ch->service = sender_url(ch->sender)->service;
	return 0;
}

static void turn(struct attar_renderer *r)
{
	sender_turn(((struct clickhouse *)r->state)->sender);
}

static void deliver(struct attar_renderer *r, bool wait, struct attar_delivery *ret_delivery)
{
	struct sender *sender = ((struct clickhouse *)r->state)->sender;

	if (wait)
		sender_finish(sender);
	sender_get_delivery(sender, ret_delivery);
}

const struct render_format render_clickhouse = {
	.sink = {.name = "clickhouse",
		.scheme = "clickhouse",
		.media_type = "application/octet-stream",
		.sections = RENDER_ALL,
		.is_complete = true,
		.has_notes = true,
		.wants_trees = true,
		.is_binary = true},
	.draws_fields = true,
	.open = open_clickhouse,
	.check = check,
	.turn = turn,
	.deliver = deliver,
	.draw = clickhouse_draw,
	.close = close_clickhouse,
};
