/* SPDX-License-Identifier: MIT */
/* The events of one step of a run in order of time. */
#include "native.h"

static PyTypeObject *batch_type, *iterator_type;

struct iterator {
	PyObject_HEAD struct batch *batch;
	const char *at, *end;
};

/* ---- iterating ---- */

static PyObject *iterator_new(struct batch *batch)
{
	struct iterator *iterator = PyObject_New(struct iterator, iterator_type);

	if (!iterator)
		return NULL;
	Py_INCREF(batch);
	iterator->batch = batch;
	iterator->at = PyBytes_AsString(batch->data);
	iterator->end = iterator->at + PyBytes_Size(batch->data);
	return (PyObject *)iterator;
}

static PyObject *iterator_next(struct iterator *iterator)
{
	const struct row *row = (const struct row *)(const void *)iterator->at;

	if (iterator->at == iterator->end)
		return NULL;
	iterator->at += row->size;
	return event_new(iterator->batch, row);
}

static void iterator_free(struct iterator *iterator)
{
	PyTypeObject *type = Py_TYPE(iterator);

	Py_DECREF(iterator->batch);
	PyObject_Free(iterator);
	Py_DECREF(type);
}

static PyType_Slot iterator_slots[] = {{Py_tp_new, native_no_new}, {Py_tp_dealloc, iterator_free},
	{Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, iterator_next}, {0, NULL}};

static PyType_Spec iterator_spec = {"attar._attar.BatchIterator", sizeof(struct iterator), 0,
	Py_TPFLAGS_DEFAULT, iterator_slots};

/* ---- a batch ---- */

PyObject *batch_new(PyObject *run, PyObject *kinds, const struct rows *rows, int64_t to_realtime)
{
	PyObject *data = PyBytes_FromStringAndSize(rows->at, (Py_ssize_t)rows->size);
	struct batch *batch = data ? PyObject_New(struct batch, batch_type) : NULL;

	if (!batch) {
		Py_XDECREF(data);
		return NULL;
	}
	Py_INCREF(run);
	Py_INCREF(kinds);
	batch->run = run;
	batch->kinds = kinds;
	batch->data = data;
	batch->n = rows->n;
	batch->stride = rows->stride;
	batch->to_realtime = to_realtime;
	return (PyObject *)batch;
}

static void batch_free(struct batch *batch)
{
	PyTypeObject *type = Py_TYPE(batch);

	Py_DECREF(batch->run);
	Py_DECREF(batch->kinds);
	Py_DECREF(batch->data);
	PyObject_Free(batch);
	Py_DECREF(type);
}

static Py_ssize_t batch_length(struct batch *batch)
{
	return (Py_ssize_t)batch->n;
}

/* Numbers of the kinds that occur, as a set. */
static PyObject *batch_kinds(struct batch *batch, PyObject *unused)
{
	const char *at = PyBytes_AsString(batch->data), *end = at + PyBytes_Size(batch->data);
	PyObject *set = PySet_New(NULL);
	uint32_t last = UINT32_MAX;

	for (; set && at < end; at += ((const struct row *)(const void *)at)->size) {
		uint32_t kind = ((const struct row *)(const void *)at)->kind;
		PyObject *number;

		if (kind == last)
			continue;
		last = kind;
		number = PyLong_FromUnsignedLong(kind);
		if (!number || PySet_Add(set, number) < 0)
			Py_CLEAR(set);
		Py_XDECREF(number);
	}
	return set;
}

/* ---- rows of one kind and size, for NumPy ---- */

enum { GATHER_TEXTS_MAX = 32 };

/* The widths of a gathered row: the record, and texts of variable length after it. */
struct widths {
	size_t n, raw; /* rows; bytes */
	size_t n_texts;
	size_t texts[GATHER_TEXTS_MAX], fields[GATHER_TEXTS_MAX];
};

static bool is_variable_text(const struct kind_field *f)
{
	return f->form == FORM_TEXT && f->field.place != ATTAR_FIELD_FIXED;
}

static void find_texts(const struct kind *kind, struct widths *w)
{
	for (size_t i = 0; i < kind->n_fields && w->n_texts < GATHER_TEXTS_MAX; i++)
		if (is_variable_text(&kind->fields[i])) {
			w->texts[w->n_texts] = 1;
			w->fields[w->n_texts++] = i;
		}
}

static const char *text_of(
	const struct kind *kind, const struct widths *w, size_t i, const struct row *row, size_t *n)
{
	const struct attar_field *field = &kind->fields[w->fields[i]].field;

	return attar_field_string(field, row_raw(row), row->raw_size, n);
}

static void widen(const struct kind *kind, const struct row *row, struct widths *w)
{
	w->n++;
	if (row_raw_room(row) > w->raw)
		w->raw = row_raw_room(row);
	for (size_t i = 0; i < w->n_texts; i++) {
		size_t n;

		if (text_of(kind, w, i, row, &n) && n > w->texts[i])
			w->texts[i] = n;
	}
}

static void copy_row(
	const struct kind *kind, const struct widths *w, const struct row *row, char *to)
{
	memcpy(to, row, sizeof(*row) + row->raw_size);
	to += sizeof(*row) + w->raw;
	for (size_t i = 0; i < w->n_texts; i++) {
		size_t n;
		const char *text = text_of(kind, w, i, row, &n);

		if (text)
			memcpy(to, text, n);
		to += w->texts[i];
	}
}

static PyObject *describe_texts(const struct widths *w)
{
	PyObject *list = PyList_New((Py_ssize_t)w->n_texts);
	size_t at = sizeof(struct row) + w->raw;

	for (size_t i = 0; list && i < w->n_texts; i++) {
		PyObject *one = Py_BuildValue(
			"nnn", (Py_ssize_t)w->fields[i], (Py_ssize_t)at, (Py_ssize_t)w->texts[i]);

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
		at += w->texts[i];
	}
	return list;
}

/*
 * gather(kind): the rows of a kind, all of one size: (bytes, size of a row, variable texts as
 * (field, offset, width)). If all rows of the batch are so already, the bytes are the bytes of the
 * batch.
 */
static PyObject *batch_gather(struct batch *batch, PyObject *args)
{
	const char *at = PyBytes_AsString(batch->data), *end = at + PyBytes_Size(batch->data), *p;
	struct widths w = {0};
	const struct kind *kind;
	PyObject *bytes, *texts;
	unsigned number;
	size_t stride;
	char *to;

	if (!PyArg_ParseTuple(args, "I", &number))
		return NULL;
	kind = (const struct kind *)PyList_GetItem(batch->kinds, (Py_ssize_t)number);
	if (!kind)
		return NULL;
	find_texts(kind, &w);
	if (batch->stride && !w.n_texts && ((const struct row *)(const void *)at)->kind == number)
		return Py_BuildValue("OI[]", batch->data, batch->stride);
	for (p = at; p < end; p += ((const struct row *)(const void *)p)->size)
		if (((const struct row *)(const void *)p)->kind == number)
			widen(kind, (const struct row *)(const void *)p, &w);
	texts = describe_texts(&w);
	stride = sizeof(struct row) + w.raw;
	for (size_t i = 0; i < w.n_texts; i++)
		stride += w.texts[i];
	bytes = texts ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(w.n * stride)) : NULL;
	if (!bytes) {
		Py_XDECREF(texts);
		return NULL;
	}
	to = PyBytes_AsString(bytes);
	memset(to, 0, w.n * stride);
	for (p = at; p < end; p += ((const struct row *)(const void *)p)->size)
		if (((const struct row *)(const void *)p)->kind == number) {
			copy_row(kind, &w, (const struct row *)(const void *)p, to);
			to += stride;
		}
	return Py_BuildValue("NnN", bytes, (Py_ssize_t)stride, texts);
}

/* array() and to_pandas() are Python code. */
static PyObject *batch_array(struct batch *batch, PyObject *args)
{
	PyObject *module, *name = Py_None, *result;

	if (!PyArg_ParseTuple(args, "|O", &name))
		return NULL;
	module = PyImport_ImportModule("attar._arrays");
	if (!module)
		return NULL;
	result = PyObject_CallMethod(module, "make", "OO", (PyObject *)batch, name);
	Py_DECREF(module);
	return result;
}

static PyObject *get_batch_kinds(struct batch *batch, void *unused)
{
	return PyList_AsTuple(batch->kinds);
}

static PyMethodDef batch_methods[] = {
	METHOD("array", batch_array, METH_VARARGS,
		"The events of this name as a NumPy structured array."),
	METHOD("_gather", batch_gather, METH_VARARGS, "Rows of a kind with the same size."),
	METHOD("_present", batch_kinds, METH_NOARGS, "Numbers of the kinds that occur."),
	{NULL, NULL, 0, NULL}};

static PyGetSetDef batch_getters[] = {
	{"_kinds", (getter)get_batch_kinds, NULL, "The kinds of the run.", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot batch_slots[] = {{Py_tp_new, native_no_new}, {Py_tp_dealloc, batch_free},
	{Py_tp_iter, iterator_new}, {Py_sq_length, batch_length}, {Py_tp_methods, batch_methods},
	{Py_tp_getset, batch_getters},
	{Py_tp_doc, (char *)"Events in order of time: iterate, or call array()."}, {0, NULL}};

static PyType_Spec batch_spec = {
	"attar.Batch", sizeof(struct batch), 0, Py_TPFLAGS_DEFAULT, batch_slots};

int batch_init(PyObject *module)
{
	batch_type = native_add_type(module, "Batch", &batch_spec);
	iterator_type = native_add_type(module, "BatchIterator", &iterator_spec);
	return batch_type && iterator_type ? 0 : -1;
}
