/* SPDX-License-Identifier: MIT */
/*
 * Reads back the reports of a time range that -o clickhouse:// has stored, to compare them:
 * clickhouse://HOST/DATABASE?from=TIME&to=TIME. Answers are in the format TabSeparated, whose lists
 * are joined with NUL, which no name contains.
 */
#include "base/intern.h"
#include "base/map.h"
#include "report/sinks/clickhouse/clickhouse.h"
#include "report/sinks/clickhouse/input.h"
#include "report/diff/parts.h"

enum {
	ANSWER_BYTES_MAX = 256 << 20,
	FIELDS_MAX = 512,
	NS = 1000000000,
	DAYS_MAX = UINT16_MAX, /* of the type Date */
};

struct reader {
	struct clickhouse_url url;
	struct transport *transport;
	struct buf filter; /* the condition of all queries */
	struct buf answer;
	VEC(struct attar_report *) reports;
	struct map ids;       /* of a report -> its index + 1 */
	const char *profiler; /* borrowed from the texts; NULL: no report yet */
	struct intern texts;  /* also the keys of nodes */
	struct map nodes;     /* of the tree that is read: key -> node + 1 */
	struct attar_section *tree;
};

struct field {
	char *at; /* ends with NUL; NULL: the value is NULL */
	size_t len;
};

/* ---- answers ---- */

/* Decodes the escapes of a field in place. */
static struct field decode(char *at, char *end)
{
	static const char from[] = "bfnrt0", to[] = "\b\f\n\r\t";
	struct field field = {.at = at};
	char *out = at;

	if (end - at == 2 && at[0] == '\\' && at[1] == 'N')
		return (struct field){0};
	for (const char *p = at; p < end; p++) {
		const char *escape = *p == '\\' && p + 1 < end ? strchr(from, *++p) : NULL;

		*out++ = escape && *escape ? to[escape - from] : *p;
	}
	*out = '\0';
	field.len = (size_t)(out - at);
	return field;
}

/* Splits the line at *at; the number of fields, 0 at the end of the answer. */
static size_t next_line(char **at, char *end, struct field *fields)
{
	char *line_end = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
	size_t n = 0;

	if (!line_end)
		return 0;
	for (char *start = *at; n < FIELDS_MAX;) {
		char *tab = memchr(start, '\t', (size_t)(line_end - start)) ?: line_end;

		fields[n++] = decode(start, tab);
		if (tab == line_end)
			break;
		start = tab + 1;
	}
	*at = line_end + 1;
	return n;
}

static uint64_t number(const struct field *field)
{
	return field->at ? strtoull(field->at, NULL, 10) : 0;
}

static const char *text(const struct field *field)
{
	return field->at ?: "";
}

/* Calls take() for each row of the answer, which has n columns. */
static int each_row(struct reader *r, const char *query, size_t n, void *ctx,
	int (*take)(struct reader *, void *, const struct field *))
{
	struct field fields[FIELDS_MAX];
	char *at, *end;
	size_t got;
	int e = transport_query(r->transport, query, &r->answer);

	if (e < 0 || !r->answer.len)
		return e;
	at = r->answer.data;
	end = at + r->answer.len;
	while (e == 0 && (got = next_line(&at, end, fields)))
		e = got == n ? take(r, ctx, fields)
			     : attar_fail(-EBADMSG, "%s returned %zu columns instead of %zu",
				       r->url.name, got, n);
	return e;
}

static struct attar_report *report_of(const struct reader *r, const struct field *id)
{
	const uint64_t *index = map_get(&r->ids, number(id));

	return index ? r->reports.at[*index - 1] : NULL;
}

/* ---- reports ---- */

static int take_report(struct reader *r, void *ctx, const struct field *fields)
{
	struct attar_notes notes = {.unresolved = -1};
	const char *profiler = intern_text(&r->texts, text(&fields[1]));
	struct attar_report *report = profiler ? attar_report_new(profiler) : NULL;

	if (!report || vec_push(&r->reports, report) < 0) {
		attar_report_free(report);
		return base_oom();
	}
	if (r->profiler && strcmp(r->profiler, profiler) != 0)
		return attar_fail(-EINVAL,
			"it contains reports of '%s' and '%s'" ATTAR_FIX
			"choose one with profiler=NAME",
			CLIP(r->profiler), CLIP(profiler));
	r->profiler = profiler;
	attar_report_interval(report, number(&fields[2]), number(&fields[3]));
	notes.seen = number(&fields[4]);
	notes.lost = number(&fields[5]);
	attar_report_notes(report, &notes);
	return map_put(&r->ids, number(&fields[0]), r->reports.n) < 0 ? base_oom() : 0;
}

/* ---- tables ---- */

struct table {
	const char *name, *section;
	struct buf columns; /* of the query */
	VEC(const char *) names;
	VEC(enum attar_unit) units;
	bool has_events;
};

/* Removes the unit from the name of a column, as tables_add() appended it. */
static enum attar_unit take_unit(char *name)
{
	static const enum attar_unit units[] = {
		ATTAR_UNIT_PERCENT, ATTAR_UNIT_NS, ATTAR_UNIT_BYTES, ATTAR_UNIT_HZ};
	char *last = strrchr(name, '_');

	for (size_t i = 0; last && i < ARRAY_SIZE(units); i++)
		if (!strcmp(last + 1, unit_name(units[i]))) {
			*last = '\0';
			return units[i];
		}
	return ATTAR_UNIT_COUNT;
}

static int take_column(struct reader *r, void *ctx, const struct field *fields)
{
	struct table *t = ctx;
	char *name = fields[0].at;
	const char *type = text(&fields[1]), *kept;
	enum attar_unit unit = ATTAR_UNIT_TEXT;

	t->has_events |= !strcmp(type, "Array(String)");
	buf_printf(&t->columns, ", %s", text(&fields[0]));
	if (!strcmp(type, "Nullable(Int64)"))
		unit = ATTAR_UNIT_ID;
	else if (!strcmp(type, "Nullable(UInt64)"))
		unit = ATTAR_UNIT_HEX;
	else if (strcmp(type, "String") != 0)
		unit = name ? take_unit(name) : ATTAR_UNIT_COUNT;
	kept = intern_text(&r->texts, text(&fields[0]));
	return !kept || vec_push(&t->names, kept) < 0 || vec_push(&t->units, unit) < 0 ? base_oom()
										       : 0;
}

static void add_cell(struct attar_section *out, enum attar_unit unit, const struct field *field)
{
	if (!field->at)
		attar_cell_none(out);
	else if (unit == ATTAR_UNIT_TEXT)
		attar_cell_text(out, field->at);
	else if (unit == ATTAR_UNIT_ID)
		attar_cell_i64(out, strtoll(field->at, NULL, 10));
	else if (unit == ATTAR_UNIT_HEX)
		attar_cell_u64(out, number(field));
	else
		attar_cell_double(out, strtod(field->at, NULL));
}

static int take_row(struct reader *r, void *ctx, const struct field *fields)
{
	const struct table *t = ctx;
	struct attar_report *report = report_of(r, &fields[0]);
	struct attar_section *out;

	if (!report)
		return 0;
	out = (struct attar_section *)(uintptr_t)diff_find(report, t->section, ATTAR_SECTION_TABLE);
	if (!out) {
		out = attar_report_table(report, t->section);
		for (size_t i = 0; i < t->names.n; i++)
			attar_section_column(out, t->names.at[i], t->units.at[i]);
	}
	attar_section_row(out);
	for (size_t i = 0; i < t->names.n; i++)
		add_cell(out, t->units.at[i], &fields[i + 1]);
	return 0;
}

static void table_done(struct table *t)
{
	buf_done(&t->columns);
	vec_done(&t->names);
	vec_done(&t->units);
}

static int read_table(struct reader *r, const char *name, size_t prefix)
{
	struct table t _cleanup_(table_done) = {.name = name, .section = name + prefix};
	struct buf query _cleanup_(buf_done) = {0};
	int e;

	buf_printf(&query,
		"SELECT name, type FROM system.columns WHERE database = currentDatabase() AND "
		"table = '%s' AND default_kind = '' AND name NOT IN ('date', 'time', 'host', "
		"'service', 'report', 'batch')",
		name);
	e = buf_failed(&query) ? base_oom() : each_row(r, buf_text(&query), 2, &t, take_column);
	if (e < 0 || t.has_events)
		return e;
	buf_reset(&query);
	buf_printf(&query, "SELECT report%s FROM %s WHERE %s", buf_text(&t.columns), name,
		buf_text(&r->filter));
	if (buf_failed(&query) || buf_failed(&t.columns))
		return base_oom();
	return each_row(r, buf_text(&query), t.names.n + 1, &t, take_row);
}

typedef VEC(const char *) table_names;

static int take_name(struct reader *r, void *ctx, const struct field *fields)
{
	table_names *names = ctx;
	const char *name = intern_text(&r->texts, text(&fields[0]));

	return name && vec_push(names, name) == 0 ? 0 : base_oom();
}

/* The tables of the profiler: attar_PROFILER_SECTION. */
static int read_tables(struct reader *r)
{
	struct buf prefix _cleanup_(buf_done) = {0}, query _cleanup_(buf_done) = {0};
	table_names names = {0};
	int e;

	buf_str(&prefix, "attar_");
	tables_add_name(&prefix, r->profiler);
	buf_char(&prefix, '_');
	buf_printf(&query,
		"SELECT name FROM system.tables WHERE database = currentDatabase() AND "
		"substring(name, 1, %zu) = '%s'",
		prefix.len, buf_text(&prefix));
	e = buf_failed(&query) ? base_oom() : each_row(r, buf_text(&query), 1, &names, take_name);
	vec_each (&names, name)
		if (e == 0 && !strncmp(*name, buf_text(&prefix), prefix.len))
			e = read_table(r, *name, prefix.len);
	vec_done(&names);
	return e;
}

/* ---- histograms ---- */

static struct attar_section *histogram_of(const struct reader *r, const struct field *fields)
{
	struct attar_report *report = report_of(r, &fields[0]);
	int unit = unit_find(text(&fields[2]));
	const struct attar_section *found;

	if (!report)
		return NULL;
	found = diff_find(report, text(&fields[1]), ATTAR_SECTION_HISTOGRAM);
	if (found)
		return (struct attar_section *)(uintptr_t)found;
	return attar_report_histogram(
		report, text(&fields[1]), unit < 0 ? ATTAR_UNIT_COUNT : (enum attar_unit)unit);
}

static int take_bucket(struct reader *r, void *ctx, const struct field *fields)
{
	struct attar_section *s = histogram_of(r, fields);

	if (s)
		attar_histogram_bucket(s, strtod(text(&fields[3]), NULL),
			strtod(text(&fields[4]), NULL), number(&fields[5]));
	return 0;
}

static int take_quantile(struct reader *r, void *ctx, const struct field *fields)
{
	struct attar_section *s = histogram_of(r, fields);

	if (s)
		attar_histogram_quantile(
			s, strtod(text(&fields[3]), NULL), strtod(text(&fields[4]), NULL));
	return 0;
}

static int take_summary(struct reader *r, void *ctx, const struct field *fields)
{
	struct attar_section *s = histogram_of(r, fields);

	if (s)
		attar_histogram_summary(s, number(&fields[3]), strtod(text(&fields[4]), NULL),
			strtod(text(&fields[5]), NULL), strtod(text(&fields[6]), NULL));
	return 0;
}

/* ---- trees ---- */

/* The child of a node with this name, which is added if it is new; ATTAR_TREE_ROOT: no memory. */
static uint32_t node_of(struct reader *r, uint32_t parent, enum attar_frame_kind kind,
	const char *name, const char *module, const char *task)
{
	struct buf key _cleanup_(buf_done) = {0};
	uint64_t *known;
	uint32_t id, node;

	buf_printf(&key, "%u %u %s\n%s\n%s", parent, kind, task, module, name);
	if (buf_failed(&key) || intern_id(&r->texts, buf_text(&key), &id) < 0)
		return ATTAR_TREE_ROOT;
	known = map_get(&r->nodes, id);
	if (known)
		return (uint32_t)*known - 1;
	node = attar_tree_node(r->tree, parent, kind, name, *module ? module : NULL, 0);
	return map_put(&r->nodes, id, (uint64_t)node + 1) < 0 ? ATTAR_TREE_ROOT : node;
}

/* The parts of a list, which are separated by NUL. The last one is the outermost frame. */
struct list {
	const char *first, *at; /* at: after the part that was taken last */
};

static struct list list_of(const struct field *field)
{
	return (struct list){field->at, field->at ? field->at + field->len + 1 : NULL};
}

/* The part before; NULL: there is none. */
static const char *list_take(struct list *list)
{
	const char *end = list->at ? list->at - 1 : NULL, *at = end;

	if (!end || end < list->first)
		return NULL;
	while (at > list->first && at[-1])
		at--;
	list->at = at;
	return at;
}

enum { REPORT, TYPE, UNIT, COMM, PID, TID, VALUE, NAMES, MODULES, KINDS, SAMPLE_COLUMNS };

static struct attar_section *tree_of(struct reader *r, const struct field *fields)
{
	struct attar_report *report = report_of(r, &fields[REPORT]);
	int unit = unit_find(text(&fields[UNIT]));
	const struct attar_section *found;

	if (!report)
		return NULL;
	found = diff_find(report, text(&fields[TYPE]), ATTAR_SECTION_TREE);
	if (!found || found != r->tree)
		map_reset(&r->nodes);
	if (found)
		return (struct attar_section *)(uintptr_t)found;
	return attar_report_tree(
		report, text(&fields[TYPE]), unit < 0 ? ATTAR_UNIT_COUNT : (enum attar_unit)unit);
}

/* Rows of a tree follow each other. */
static int take_sample(struct reader *r, void *ctx, const struct field *fields)
{
	struct list names = list_of(&fields[NAMES]), modules = list_of(&fields[MODULES]),
		    kinds = list_of(&fields[KINDS]);
	uint32_t node = ATTAR_TREE_ROOT, pid = (uint32_t)number(&fields[PID]);
	const char *name;
	char task[32];

	r->tree = tree_of(r, fields);
	if (!r->tree || r->tree->report->fault)
		return 0;
	if (*text(&fields[COMM]) || pid) {
		snprintf(task, sizeof(task), "%u/%s", pid, text(&fields[TID]));
		node = node_of(r, node, ATTAR_FRAME_TASK, text(&fields[COMM]), "", task);
		if (node != ATTAR_TREE_ROOT && pid && !r->tree->nodes.at[node].self)
			attar_tree_task(r->tree, node, pid, (uint32_t)number(&fields[TID]));
	}
	while ((name = list_take(&names))) {
		const char *module = list_take(&modules), *kind = list_take(&kinds);

		if (!module || !kind)
			return attar_fail(-EBADMSG, "a stack of %s is malformed", r->url.name);
		node = node_of(r, node, frame_kind_find(kind), name, module, "");
		if (node == ATTAR_TREE_ROOT)
			return base_oom();
	}
	if (node != ATTAR_TREE_ROOT)
		r->tree->nodes.at[node].self += number(&fields[VALUE]);
	return 0;
}

static int read_trees(struct reader *r)
{
	struct buf query _cleanup_(buf_done) = {0};
	const char *filter = buf_text(&r->filter);

	buf_printf(&query,
		"SELECT report, type, unit, comm, pid, tid, value, n, m, k FROM (SELECT * FROM "
		"attar_samples WHERE %s) ANY INNER JOIN (SELECT hash AS stack, "
		"arrayStringConcat(names, '\\0') AS n, arrayStringConcat(modules, '\\0') AS m, "
		"arrayStringConcat(kinds, '\\0') AS k FROM attar_stacks WHERE hash IN (SELECT "
		"stack FROM attar_samples WHERE %s)) USING (stack) ORDER BY report, type",
		filter, filter);
	if (buf_failed(&query))
		return base_oom();
	return each_row(r, buf_text(&query), SAMPLE_COLUMNS, NULL, take_sample);
}

/* ---- queries ---- */

static void add_text_filter(struct reader *r, const char *column, const char *value)
{
	buf_printf(&r->filter, " AND %s = '", column);
	for (; *value; value++) {
		if (*value == '\'' || *value == '\\')
			buf_char(&r->filter, '\\');
		buf_char(&r->filter, *value);
	}
	buf_char(&r->filter, '\'');
}

/* For attar_reports and all other tables: date is the date of time. */
static int make_filter(struct reader *r)
{
	const struct clickhouse_url *url = &r->url;

	buf_printf(&r->filter,
		"date >= toDate(%u) AND date <= toDate(%u) AND time >= %llu AND time < %llu",
		batch_date(url->from), batch_date(url->to), (unsigned long long)url->from,
		(unsigned long long)url->to);
	if (url->has_host)
		add_text_filter(r, "host", url->host);
	if (*url->service)
		add_text_filter(r, "service", url->service);
	return buf_failed(&r->filter) ? base_oom() : 0;
}

static int has_table(struct reader *r, const char *table, bool *ret_has)
{
	char query[64];
	int e;

	snprintf(query, sizeof(query), "EXISTS TABLE %s", table);
	e = transport_query(r->transport, query, &r->answer);
	*ret_has = e == 0 && *buf_text(&r->answer) == '1';
	return e;
}

static int read_reports(struct reader *r)
{
	struct buf query _cleanup_(buf_done) = {0}, profiler _cleanup_(buf_done) = {0};
	bool has;
	int e = has_table(r, "attar_reports", &has);

	buf_str(&profiler, buf_text(&r->filter));
	if (r->url.profiler)
		add_text_filter(r, "profiler", r->url.profiler);
	buf_printf(&query,
		"SELECT report, profiler, time, interval_ns, seen, lost FROM attar_reports WHERE "
		"%s ORDER BY time, report",
		buf_text(&r->filter));
	buf_reset(&r->filter); /* tables of sections have no column profiler */
	buf_str(&r->filter, buf_text(&profiler));
	if (buf_failed(&query) || buf_failed(&r->filter))
		return base_oom();
	if (e == 0 && has)
		e = each_row(r, buf_text(&query), 6, NULL, take_report);
	if (e == 0 && !r->reports.n)
		e = attar_fail(-EBADMSG, "no reports in this range of time");
	return e;
}

static int read_histograms(struct reader *r)
{
	static const struct {
		const char *table, *columns; /* sorted by the first of them */
		size_t n;
		int (*take)(struct reader *, void *, const struct field *);
	} all[] = {
		{"attar_histograms", "low, high, count", 6, take_bucket},
		{"attar_quantiles", "share, value", 5, take_quantile},
		{"attar_summaries", "count, sum, min, max", 7, take_summary},
	};
	int e = 0;

	for (size_t i = 0; e == 0 && i < ARRAY_SIZE(all); i++) {
		struct buf query _cleanup_(buf_done) = {0};
		bool has;

		e = has_table(r, all[i].table, &has);
		buf_printf(&query,
			"SELECT report, name, unit, %s FROM %s WHERE %s ORDER BY report, name, %s",
			all[i].columns, all[i].table, buf_text(&r->filter), all[i].columns);
		if (e == 0 && buf_failed(&query))
			e = base_oom();
		if (e == 0 && has)
			e = each_row(r, buf_text(&query), all[i].n, NULL, all[i].take);
	}
	return e;
}

static int read_all(struct reader *r, const char *address)
{
	bool has;
	int e = clickhouse_url_parse(address, &r->url);

	if (e == 0 && !r->url.from)
		e = attar_fail(
			-EINVAL, "the address has no range of time" ATTAR_FIX "add ?from=TIME");
	if (e == 0 && !r->url.to)
		r->url.to = (uint64_t)DAYS_MAX * 86400 * NS;
	if (e == 0)
		e = make_filter(r);
	if (e == 0)
		e = transport_new(&r->url, &r->transport);
	if (e < 0)
		return e;
	transport_limit(r->transport, ANSWER_BYTES_MAX);
	e = read_reports(r);
	if (e == 0)
		e = read_tables(r);
	if (e == 0)
		e = read_histograms(r);
	if (e == 0)
		e = has_table(r, "attar_samples", &has);
	return e == 0 && has ? read_trees(r) : e;
}

static void reader_done(struct reader *r)
{
	transport_free(r->transport);
	clickhouse_url_done(&r->url);
	buf_done(&r->filter);
	buf_done(&r->answer);
	map_done(&r->ids);
	map_done(&r->nodes);
	intern_done(&r->texts);
	vec_done(&r->reports);
}

int clickhouse_read(
	const char *address, int (*take)(void *ctx, struct attar_report *report), void *ctx)
{
	struct reader r _cleanup_(reader_done) = {0};
	int e = read_all(&r, address);

	vec_each (&r.reports, report)
		if (e == 0 && (*report)->fault)
			e = (*report)->error == -ENOMEM
				    ? base_oom()
				    : attar_fail(-EBADMSG, "%s did not return a report: %s",
					      r.url.name, (*report)->fault);
	vec_each (&r.reports, report) {
		if (e == 0)
			e = MIN(take(ctx, *report), 0);
		else
			attar_report_free(*report);
	}
	return e < 0 ? e : 1;
}
