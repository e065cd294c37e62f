/* SPDX-License-Identifier: MIT */
/* The name and fields of an event, copied so that events remain readable after their run. */
#include "native.h"

#include <stdlib.h>

PyTypeObject *kind_type;

/* ---- values ---- */

static PyObject *number_value(const struct kind_field *f, const struct row *row)
{
	const struct attar_field *field = &f->field;

	if (f->form == FORM_SIGNED)
		return PyLong_FromLongLong(attar_field_i64(field, row_raw(row), row->raw_size));
	return PyLong_FromUnsignedLongLong(attar_field_u64(field, row_raw(row), row->raw_size));
}

static PyObject *element_value(const struct kind_field *f, const struct row *row, size_t i)
{
	const struct attar_field *field = &f->field;
	const void *raw = row_raw(row);

	if (f->number.is_float)
		return PyFloat_FromDouble(attar_field_double_at(field, raw, row->raw_size, i));
	if (f->number.is_signed)
		return PyLong_FromLongLong(attar_field_i64_at(field, raw, row->raw_size, i));
	return PyLong_FromUnsignedLongLong(attar_field_u64_at(field, raw, row->raw_size, i));
}

static PyObject *list_value(const struct kind_field *f, const struct row *row)
{
	size_t n = attar_field_count(&f->field, row_raw(row), row->raw_size);
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (size_t i = 0; list && i < n; i++) {
		PyObject *value = element_value(f, row, i);

		if (!value || PyList_SetItem(list, (Py_ssize_t)i, value) < 0)
			Py_CLEAR(list);
	}
	return list;
}

PyObject *kind_value(const struct kind *kind, size_t i, const struct row *row)
{
	const struct kind_field *f = &kind->fields[i];
	const void *raw = row_raw(row);
	const char *bytes;
	size_t n;

	switch (f->form) {
	case FORM_UNSIGNED:
	case FORM_SIGNED:
		return number_value(f, row);
	case FORM_FLOAT:
		return PyFloat_FromDouble(attar_field_double(&f->field, raw, row->raw_size));
	case FORM_TEXT:
		bytes = attar_field_string(&f->field, raw, row->raw_size, &n);
		return native_text(bytes ? bytes : "", n);
	case FORM_LIST:
		return list_value(f, row);
	case FORM_BYTES:
		break;
	}
	bytes = attar_field_bytes(&f->field, raw, row->raw_size, &n);
	return PyBytes_FromStringAndSize(bytes ? bytes : "", (Py_ssize_t)n);
}

/* ---- fields ---- */

static enum field_form form_of(struct kind_field *f)
{
	bool is_number = attar_field_number_type(&f->field, &f->number);

	if (f->field.kind == ATTAR_FIELD_STRING)
		return FORM_TEXT;
	if (!is_number)
		return FORM_BYTES;
	if (f->number.is_array)
		return FORM_LIST;
	if (f->number.is_float)
		return FORM_FLOAT;
	return f->field.is_signed ? FORM_SIGNED : FORM_UNSIGNED;
}

static int copy_field(struct kind *kind, size_t i, const struct attar_field *from)
{
	struct kind_field *f = &kind->fields[i];

	f->field = *from;
	f->field.name = strdup(from->name);
	f->field.type = strdup(from->type);
	kind->n_fields = i + 1;
	if (!f->field.name || !f->field.type)
		return PyErr_NoMemory(), -1;
	f->form = form_of(f);
	return native_set(kind->index, from->name, PyLong_FromSize_t(i));
}

static int copy_fields(struct kind *kind, const struct attar_format *format)
{
	kind->fields = calloc(format->n_fields + 1, sizeof(*kind->fields));
	if (!kind->fields)
		return PyErr_NoMemory(), -1;
	for (size_t i = 0; i < format->n_fields; i++)
		if (copy_field(kind, i, &format->fields[i]) < 0)
			return -1;
	return 0;
}

/*
 * SYSTEM:ALIAS; of a probe without an alias, its name without the file: uprobe:FUNCTION. Profilers
 * have no system in their name.
 */
static PyObject *full_name(const char *name, const struct attar_event_spec *spec)
{
	const char *text = spec && spec->alias ? spec->text : NULL;
	PyObject *system, *full;
	size_t n;

	if (!text && spec && spec->kind == ATTAR_EVENT_PROBE)
		return native_text(name, strcspn(name, "@"));
	if (!text || spec->kind == ATTAR_EVENT_PROFILER || !spec->column ||
		spec->column > strlen(text))
		return native_string(name);
	text += spec->column - 1;
	n = strcspn(text, ":,/{} \t\n");
	if (text[n] != ':')
		return native_string(name);
	system = native_text(text, n);
	full = system ? PyUnicode_FromFormat("%S:%s", system, name) : NULL;
	Py_XDECREF(system);
	return full;
}

/* Adds a name to what event['NAME'] has, and to keys(), unless a field has it. */
static int add_name(struct kind *kind, const char *name, size_t number, bool is_key)
{
	PyObject *text = native_string(name), *value = PyLong_FromSize_t(number);
	int r = text && value ? PyDict_Contains(kind->all, text) : -1;

	if (r == 0) {
		r = PyDict_SetItem(kind->all, text, value);
		if (r == 0 && is_key)
			r = PyList_Append(kind->keys, text);
	}
	Py_XDECREF(text);
	Py_XDECREF(value);
	return r < 0 ? -1 : 0;
}

static int add_fields(struct kind *kind, bool are_common)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < kind->n_fields; i++)
		if (kind->fields[i].field.is_common == are_common)
			r = add_name(kind, kind->fields[i].field.name, i, true);
	return r;
}

static int add_getter(struct kind *kind, const char *name)
{
	for (size_t i = 0; event_getter(i); i++)
		if (!strcmp(name, event_getter(i)))
			return add_name(kind, name, kind->n_fields + i, true);
	return 0;
}

/* The attributes that are not in keys(). */
static int add_other_getters(struct kind *kind, bool has_stack)
{
	int r = 0;

	for (size_t i = 0; r == 0 && event_getter(i); i++)
		if (has_stack || strcmp(event_getter(i), "_callchain"))
			r = add_name(kind, event_getter(i), kind->n_fields + i, false);
	return r;
}

static int add_members(struct kind *kind, uint64_t sample_type)
{
	int r = 0;

	for (size_t i = 0; r == 0 && sample_member(i); i++)
		if (sample_has(sample_type, i))
			r = add_name(kind, sample_member(i), kind->n_fields + EVENT_GETTERS_MAX + i,
				true);
	return r;
}

/* Events of profilers have period and callchain instead. */
static bool is_left_out(const char *name, bool is_profiler, bool has_stack)
{
	if (!strcmp(name, "_callchain"))
		return is_profiler || !has_stack;
	return is_profiler && !strcmp(name, "_period");
}

/* In the order of perf-prof; "": fields that all tracepoints have. */
static int add_names(
	struct kind *kind, bool is_profiler, bool has_members, uint64_t sample_type)
{
	static const char *const of_sample[] = {"_pid", "_tid", "_time", "_cpu", "_period", "",
		"_realtime", "_callchain", "_event"};
	bool has_stack = sample_type & PERF_SAMPLE_CALLCHAIN;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(of_sample) / sizeof(of_sample[0]); i++) {
		const char *name = of_sample[i];

		if (!*name)
			r = add_fields(kind, true);
		else if (!is_left_out(name, is_profiler, has_stack))
			r = add_getter(kind, name);
	}
	if (r == 0)
		r = add_fields(kind, false);
	if (r == 0 && has_members)
		r = add_members(kind, sample_type);
	return r == 0 ? add_other_getters(kind, has_stack) : r;
}

/* attr: of its samples; NULL: they are unknown. */
static PyObject *new_kind(uint32_t number, const char *name, const struct attar_event_spec *spec,
	const struct perf_event_attr *attr)
{
	const struct attar_format *format = spec ? spec->format : NULL;
	const bool is_profiler = spec && spec->kind == ATTAR_EVENT_PROFILER;
	struct kind *kind = PyObject_New(struct kind, kind_type);

	if (!kind)
		return NULL;
	kind->number = number;
	kind->n_fields = 0;
	kind->fields = NULL;
	kind->name = native_string(name);
	kind->full_name = full_name(name, spec);
	kind->index = PyDict_New();
	kind->all = PyDict_New();
	kind->keys = PyList_New(0);
	if (!kind->name || !kind->full_name || !kind->index || !kind->all || !kind->keys ||
		(format && copy_fields(kind, format) < 0) ||
		add_names(kind, is_profiler, is_profiler || !format,
			attr ? attr->sample_type : 0) < 0) {
		Py_DECREF(kind);
		return NULL;
	}
	return (PyObject *)kind;
}

PyObject *kind_new(const struct attar_run *run, uint32_t source, bool arrays_are_bytes)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	struct kind *kind = (struct kind *)new_kind(source,
		spec ? spec->name : attar_run_source_name(run, source), spec,
		attar_run_source_attr(run, source));

	for (size_t i = 0; arrays_are_bytes && kind && i < kind->n_fields; i++)
		if (kind->fields[i].form == FORM_LIST)
			kind->fields[i].form = FORM_BYTES;
	return (PyObject *)kind;
}

static PyObject *kinds_of_list(const struct attar_event_list *events)
{
	PyObject *list = PyList_New((Py_ssize_t)events->n);

	for (size_t i = 0; list && i < events->n; i++) {
		PyObject *kind = new_kind((uint32_t)i, events->at[i].name, &events->at[i], NULL);

		if (!kind || PyList_SetItem(list, (Py_ssize_t)i, kind) < 0)
			Py_CLEAR(list);
	}
	return list;
}

/* The names of all profilers, which may be events. To be freed; NULL: out of memory. */
static const char **profiler_names(void)
{
	const struct attar_profiler *const *all = attar_profilers();
	const char **names;
	size_t n = 0;

	while (all[n])
		n++;
	names = calloc(n + 1, sizeof(*names));
	for (size_t i = 0; names && i < n; i++)
		names[i] = all[i]->name;
	return names;
}

PyObject *kinds_by_name(PyObject *module, PyObject *args)
{
	const char **profilers;
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_event_list *events = NULL;
	struct attar_catalog *catalog = NULL;
	const char *names;
	PyObject *list;
	int r;

	if (!PyArg_ParseTuple(args, "y", &names))
		return NULL;
	profilers = profiler_names();
	if (!profilers)
		return PyErr_NoMemory();
	opts.profilers = profilers;
	r = attar_catalog_new(&opts, &catalog);
	if (r == 0)
		r = attar_event_list_parse(catalog, names, &events);
	list = r < 0 ? native_raise(r) : kinds_of_list(events);
	attar_event_list_free(events);
	attar_catalog_free(catalog);
	free(profilers);
	return list;
}

static void kind_free(struct kind *kind)
{
	PyTypeObject *type = Py_TYPE(kind);

	for (size_t i = 0; i < kind->n_fields; i++) {
		free((char *)kind->fields[i].field.name);
		free((char *)kind->fields[i].field.type);
	}
	free(kind->fields);
	Py_XDECREF(kind->name);
	Py_XDECREF(kind->full_name);
	Py_XDECREF(kind->index);
	Py_XDECREF(kind->all);
	Py_XDECREF(kind->keys);
	PyObject_Free(kind);
	Py_DECREF(type);
}

/* ---- what Python sees ---- */

static PyObject *get_name(struct kind *kind, void *unused)
{
	Py_INCREF(kind->name);
	return kind->name;
}

static PyObject *get_full_name(struct kind *kind, void *unused)
{
	Py_INCREF(kind->full_name);
	return kind->full_name;
}

static PyObject *get_keys(struct kind *kind, void *unused)
{
	return PyList_GetSlice(kind->keys, 0, PyList_Size(kind->keys));
}

static PyObject *get_index(struct kind *kind, void *unused)
{
	return PyDictProxy_New(kind->index);
}

/* (name, type, offset, size, place, form, number's size, signed, float, common) of each field. */
static PyObject *get_fields(struct kind *kind, void *unused)
{
	PyObject *list = PyList_New((Py_ssize_t)kind->n_fields);

	for (size_t i = 0; list && i < kind->n_fields; i++) {
		const struct kind_field *f = &kind->fields[i];
		PyObject *one = Py_BuildValue("NNiiiiiOOO", native_string(f->field.name),
			native_string(f->field.type), f->field.offset, f->field.size,
			f->field.place, (int)f->form, (int)f->number.size,
			f->number.is_signed ? Py_True : Py_False,
			f->number.is_float ? Py_True : Py_False,
			f->field.is_common ? Py_True : Py_False);

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyGetSetDef getters[] = {{"name", (getter)get_name, NULL, "The event's name.", NULL},
	{"full_name", (getter)get_full_name, NULL, "SYSTEM:ALIAS, or the name.", NULL},
	{"keys", (getter)get_keys, NULL, "Names of what keys() of its events has.", NULL},
	{"index", (getter)get_index, NULL, "Numbers of the fields by name.", NULL},
	{"fields", (getter)get_fields, NULL, "The layout of each field.", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
	{Py_tp_new, native_no_new}, {Py_tp_dealloc, kind_free}, {Py_tp_getset, getters}, {0, NULL}};

static PyType_Spec spec = {"attar._attar.Kind", sizeof(struct kind), 0, Py_TPFLAGS_DEFAULT, slots};

int kind_init(PyObject *module)
{
	kind_type = native_add_type(module, "Kind", &spec);
	return kind_type ? 0 : -1;
}
