/* SPDX-License-Identifier: MIT */
/* A report: its sections as tuples and lists, and as any of the output formats. */
#include "native.h"

#include <stdlib.h>

static PyTypeObject *report_type;

struct report {
	PyObject_HEAD struct attar_report *report;
};

static const char *const units[] = {
	"text", "count", "percent", "ns", "time", "bytes", "hex", "hz", "id", "clock"};
static const char *const kinds[] = {"table", "tree", "histogram", "events", "time series"};
static const char *const frame_kinds[] = {"user", "kernel", "inlined", "jit", "unknown", "task"};

#define NAME_OF(names_, i_) ((i_) < sizeof(names_) / sizeof(*(names_)) ? (names_)[i_] : "")

PyObject *report_new(struct attar_report *report)
{
	struct report *self = PyObject_New(struct report, report_type);

	if (!self)
		attar_report_free(report);
	else
		self->report = report;
	return (PyObject *)self;
}

static void report_free(struct report *self)
{
	PyTypeObject *type = Py_TYPE(self);

	attar_report_free(self->report);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *cell_value(struct attar_cell cell)
{
	switch (cell.kind) {
	case ATTAR_CELL_U64:
		return PyLong_FromUnsignedLongLong(cell.u64);
	case ATTAR_CELL_I64:
		return PyLong_FromLongLong(cell.i64);
	case ATTAR_CELL_DOUBLE:
		return PyFloat_FromDouble(cell.real);
	case ATTAR_CELL_TEXT:
		return native_string(cell.text);
	case ATTAR_CELL_NONE:
		break;
	}
	Py_RETURN_NONE;
}

/* ---- of a report ---- */

static PyObject *get_profiler(struct report *self, void *unused)
{
	return native_string(attar_report_get_profiler(self->report));
}

static PyObject *get_span(struct report *self, void *unused)
{
	uint64_t time, interval;

	attar_report_get_interval(self->report, &time, &interval);
	return Py_BuildValue("KK", (unsigned long long)time, (unsigned long long)interval);
}

static PyObject *get_notes(struct report *self, void *unused)
{
	PyObject *unresolved;
	struct attar_notes n;

	if (attar_report_get_notes(self->report, &n) < 0)
		Py_RETURN_NONE;
	if (n.unresolved < 0)
		Py_INCREF(unresolved = Py_None);
	else if (!(unresolved = PyFloat_FromDouble(n.unresolved)))
		return NULL;
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:N,s:d,s:K,s:O}", "seen",
		(unsigned long long)n.seen, "lost", (unsigned long long)n.lost, "missing",
		(unsigned long long)n.missing, "throttled", (unsigned long long)n.throttled,
		"lost_side_band", (unsigned long long)n.lost_side_band, "unresolved", unresolved,
		"self_cpu", n.self_cpu, "self_rss", (unsigned long long)n.self_rss, "counting",
		n.counting ? Py_True : Py_False);
}

static PyObject *get_remarks(struct report *self, void *unused)
{
	PyObject *list = PyList_New(0);
	const char *text;

	for (size_t i = 0; list && (text = attar_report_get_remark(self->report, i)); i++) {
		PyObject *string = native_string(text);

		if (!string || PyList_Append(list, string) < 0)
			Py_CLEAR(list);
		Py_XDECREF(string);
	}
	return list;
}

/* (name, kind, unit) of each section. */
static PyObject *get_sections(struct report *self, void *unused)
{
	PyObject *list = PyList_New(0);
	const struct attar_section *s;

	for (size_t i = 0; list && (s = attar_report_get_section(self->report, i)); i++) {
		PyObject *one = Py_BuildValue("Nss", native_string(attar_section_get_name(s)),
			NAME_OF(kinds, (size_t)attar_section_get_kind(s)),
			NAME_OF(units, (size_t)attar_section_get_unit(s)));

		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

/* ---- of a section ---- */

static const struct attar_section *section_of(struct report *self, PyObject *number)
{
	size_t i = PyLong_AsSize_t(number);
	const struct attar_section *section;

	if (PyErr_Occurred())
		return NULL;
	section = attar_report_get_section(self->report, i);
	if (!section)
		PyErr_SetString(PyExc_IndexError, "there is no such section");
	return section;
}

/* (name, unit) of each column. */
static PyObject *report_columns(struct report *self, PyObject *number)
{
	const struct attar_section *section = section_of(self, number);
	size_t n = section ? attar_section_get_columns(section) : 0;
	PyObject *list = section ? PyList_New((Py_ssize_t)n) : NULL;

	for (size_t i = 0; list && i < n; i++) {
		enum attar_unit unit;
		const char *name = attar_section_get_column(section, i, &unit);
		PyObject *one =
			Py_BuildValue("Ns", native_string(name), NAME_OF(units, (size_t)unit));

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *row_tuple(const struct attar_section *section, size_t row, size_t columns)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)columns);

	for (size_t i = 0; tuple && i < columns; i++) {
		PyObject *value = cell_value(attar_section_get_cell(section, row, i));

		if (!value || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *report_rows(struct report *self, PyObject *number)
{
	const struct attar_section *section = section_of(self, number);
	size_t rows = section ? attar_section_get_rows(section) : 0;
	size_t columns = section ? attar_section_get_columns(section) : 0;
	PyObject *list = section ? PyList_New((Py_ssize_t)rows) : NULL;

	for (size_t i = 0; list && i < rows; i++) {
		PyObject *row = row_tuple(section, i, columns);

		if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *value_of(
	const struct attar_section *section, size_t row, size_t i, size_t n, bool is_list)
{
	PyObject *list;

	if (!is_list)
		return cell_value(attar_section_get_value_cell(section, row, i, 0));
	list = PyList_New((Py_ssize_t)n);
	for (size_t part = 0; list && part < n; part++) {
		PyObject *value = cell_value(attar_section_get_value_cell(section, row, i, part));

		if (!value || PyList_SetItem(list, (Py_ssize_t)part, value) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *row_values(const struct attar_section *section, size_t row)
{
	PyObject *dict = PyDict_New();
	const char *name;
	bool is_list;
	size_t n;

	for (size_t i = 0; dict && (name = attar_section_get_value(section, row, i, &n, &is_list));
		i++)
		if (native_set(dict, name, value_of(section, row, i, n, is_list)) < 0)
			Py_CLEAR(dict);
	return dict;
}

static PyObject *row_details(const struct attar_section *section, size_t row)
{
	PyObject *list = PyList_New(0);
	const char *text;

	for (size_t i = 0; list && (text = attar_section_get_detail(section, row, i)); i++) {
		PyObject *string = native_string(text);

		if (!string || PyList_Append(list, string) < 0)
			Py_CLEAR(list);
		Py_XDECREF(string);
	}
	return list;
}

/* (details, values) of each row: lines below it, and named values. */
static PyObject *report_extras(struct report *self, PyObject *number)
{
	const struct attar_section *section = section_of(self, number);
	size_t rows = section ? attar_section_get_rows(section) : 0;
	PyObject *list = section ? PyList_New((Py_ssize_t)rows) : NULL;

	for (size_t i = 0; list && i < rows; i++) {
		PyObject *one =
			Py_BuildValue("NN", row_details(section, i), row_values(section, i));

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	return list;
}

/* (parent, kind, name, module, self, total, pid, tid) of each node of a tree; parent -1: a root. */
static PyObject *report_nodes(struct report *self, PyObject *number)
{
	const struct attar_section *section = section_of(self, number);
	PyObject *list = section ? PyList_New(0) : NULL;
	struct attar_node node;

	for (uint32_t i = 0; list && attar_tree_get_node(section, i, &node) == 0; i++) {
		PyObject *one = Py_BuildValue("LsNNKKNN",
			node.parent == ATTAR_TREE_ROOT ? -1LL : (long long)node.parent,
			NAME_OF(frame_kinds, (size_t)node.kind), native_string(node.name),
			native_string(node.module), (unsigned long long)node.self,
			(unsigned long long)node.total,
			node.has_task ? PyLong_FromUnsignedLong(node.pid) : native_string(NULL),
			node.has_task ? PyLong_FromUnsignedLong(node.tid) : native_string(NULL));

		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

/* A histogram: ((count, sum, min, max) or None, {share: value}). */
static PyObject *report_summary(struct report *self, PyObject *number)
{
	const struct attar_section *section = section_of(self, number);
	PyObject *quantiles = section ? PyDict_New() : NULL, *sums;
	struct attar_summary s;
	double share, value;

	for (size_t i = 0;
		quantiles && attar_histogram_get_quantile(section, i, &share, &value) == 0; i++) {
		PyObject *key = PyFloat_FromDouble(share), *item = PyFloat_FromDouble(value);

		if (!key || !item || PyDict_SetItem(quantiles, key, item) < 0)
			Py_CLEAR(quantiles);
		Py_XDECREF(key);
		Py_XDECREF(item);
	}
	if (!quantiles)
		return NULL;
	if (attar_histogram_get_summary(section, &s) == 0)
		sums = Py_BuildValue("Kddd", (unsigned long long)s.count, s.sum, s.min, s.max);
	else
		sums = native_string(NULL);
	return Py_BuildValue("NN", sums, quantiles);
}

/* ---- output ---- */

static int draw(struct attar_report *report, const char *sink, const struct attar_render_opts *opts,
	char **ret_text, size_t *ret_n)
{
	FILE *out = open_memstream(ret_text, ret_n);
	struct attar_renderer *renderer;
	int r;

	if (!out)
		return -ENOMEM;
	r = attar_renderer_new(sink, out, opts, &renderer);
	if (r == 0) {
		r = attar_renderer_draw(renderer, report);
		attar_renderer_free(renderer);
	}
	if (fclose(out) != 0 && r == 0)
		r = attar_fail(-ENOMEM, "out of memory");
	return r;
}

/* render(sink, title, max_rows): what the command writes; bytes if the format is not text. */
static PyObject *report_render(struct report *self, PyObject *args)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};
	const struct attar_sink *sink;
	const char *name;
	PyObject *result;
	char *text = NULL;
	size_t n = 0;
	int r;

	if (!PyArg_ParseTuple(args, "yO&I", &name, native_optional, &opts.title, &opts.max_rows))
		return NULL;
	sink = attar_sink_find(name);
	r = sink ? draw(self->report, name, &opts, &text, &n) : -EINVAL;
	if (r < 0)
		result = native_raise(r);
	else
		result = sink->is_binary ? PyBytes_FromStringAndSize(text, (Py_ssize_t)n)
					 : native_text(text, n);
	free(text);
	return result;
}

static PyMethodDef methods[] = {
	METHOD("columns", report_columns, METH_O, "(name, unit) of each column of a section."),
	METHOD("rows", report_rows, METH_O, "The rows of a section as tuples."),
	METHOD("extras", report_extras, METH_O, "(details, values) of each row."),
	METHOD("nodes", report_nodes, METH_O, "The nodes of a tree."),
	METHOD("summary", report_summary, METH_O, "Sums and quantiles of a histogram."),
	METHOD("render", report_render, METH_VARARGS, "The report in an output format."),
	{NULL, NULL, 0, NULL}};

static PyGetSetDef getters[] = {{"profiler", (getter)get_profiler, NULL, NULL, NULL},
	{"span", (getter)get_span, NULL, "(time, interval), ns", NULL},
	{"notes", (getter)get_notes, NULL, NULL, NULL},
	{"remarks", (getter)get_remarks, NULL, NULL, NULL},
	{"sections", (getter)get_sections, NULL, "(name, kind, unit) of each", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, native_no_new}, {Py_tp_dealloc, report_free},
	{Py_tp_methods, methods}, {Py_tp_getset, getters}, {0, NULL}};

static PyType_Spec spec = {
	"attar._attar.Report", sizeof(struct report), 0, Py_TPFLAGS_DEFAULT, slots};

int report_init(PyObject *module)
{
	report_type = native_add_type(module, "Report", &spec);
	return report_type ? 0 : -1;
}
