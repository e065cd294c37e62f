/* SPDX-License-Identifier: MIT */
/* The events of one step of a run in order of time, and a view of one of them. */
#include "native.h"

static PyTypeObject *batch_type, *iterator_type, *event_type, *frame_type;

struct batch {
	PyObject_HEAD PyObject *run, *kinds; /* kinds: list */
	PyObject *data;                      /* bytes */
	size_t n;
	uint32_t stride;
	int64_t to_realtime; /* added to a time of an event: ns since 1970 */
};

struct iterator {
	PyObject_HEAD struct batch *batch;
	const char *at, *end;
};

struct event {
	PyObject_HEAD struct batch *batch;
	const struct row *row;
	const struct kind *kind; /* borrowed from the batch's list */
};

/* ---- an event ---- */

static PyObject *event_new(struct batch *batch, const struct row *row)
{
	struct event *event = PyObject_New(struct event, event_type);

	if (!event)
		return NULL;
	Py_INCREF(batch);
	event->batch = batch;
	event->row = row;
	event->kind = (const struct kind *)PyList_GetItem(batch->kinds, (Py_ssize_t)row->kind);
	if (!event->kind) {
		Py_DECREF(event);
		return NULL;
	}
	return (PyObject *)event;
}

static void event_free(struct event *event)
{
	PyTypeObject *type = Py_TYPE(event);

	Py_DECREF(event->batch);
	PyObject_Free(event);
	Py_DECREF(type);
}

/* The error of a missing field names a similar one. */
static PyObject *no_field(const struct event *event, PyObject *name)
{
	PyObject *module = PyImport_ImportModule("attar._error");
	PyObject *result = module ? PyObject_CallMethod(module, "no_field", "OOO",
					    event->kind->name, event->kind->index, name)
				  : NULL;

	Py_XDECREF(module);
	Py_XDECREF(result);
	return NULL;
}

static PyObject *event_get(struct event *event, PyObject *name)
{
	PyObject *number = PyDict_GetItemWithError(event->kind->index, name), *value;

	if (number)
		return kind_value(event->kind, PyLong_AsSize_t(number), event->row);
	if (PyErr_Occurred())
		return NULL;
	value = PyObject_GenericGetAttr((PyObject *)event, name);
	if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
		PyErr_Clear();
		return no_field(event, name);
	}
	return value;
}

static PyObject *event_item(struct event *event, PyObject *name)
{
	PyObject *number = PyDict_GetItemWithError(event->kind->index, name);

	if (number)
		return kind_value(event->kind, PyLong_AsSize_t(number), event->row);
	if (!PyErr_Occurred())
		PyErr_SetObject(PyExc_KeyError, name);
	return NULL;
}

static PyObject *get_name(struct event *event, void *unused)
{
	Py_INCREF(event->kind->name);
	return event->kind->name;
}

static PyObject *get_u64(struct event *event, void *offset)
{
	return PyLong_FromUnsignedLongLong(
		*(const uint64_t *)(const void *)((const char *)event->row + (size_t)offset));
}

/* None for a number that is unknown. */
static PyObject *get_id(struct event *event, void *offset)
{
	int32_t id = *(const int32_t *)(const void *)((const char *)event->row + (size_t)offset);

	if (id == -1)
		Py_RETURN_NONE;
	return PyLong_FromLong(id);
}

static PyObject *get_realtime(struct event *event, void *unused)
{
	return PyLong_FromLongLong((int64_t)event->row->time + event->batch->to_realtime);
}

static PyObject *get_comm(struct event *event, void *unused)
{
	return native_text(event->row->comm, strnlen(event->row->comm, sizeof(event->row->comm)));
}

static PyObject *frame_new(struct attar_symbols *symbols, attar_location location)
{
	struct attar_symbol symbol = {0};
	PyObject *frame = PyStructSequence_New(frame_type);
	int r;

	if (!frame)
		return NULL;
	r = attar_symbols_resolve(symbols, location, &symbol);
	PyStructSequence_SetItem(frame, 0, native_string(r < 0 ? NULL : symbol.name));
	PyStructSequence_SetItem(frame, 1, PyLong_FromUnsignedLongLong(symbol.offset));
	PyStructSequence_SetItem(frame, 2, native_string(symbol.dso));
	if (PyErr_Occurred()) {
		Py_DECREF(frame);
		return NULL;
	}
	return frame;
}

static PyObject *get_stack(struct event *event, void *unused)
{
	const attar_location *frames = row_frames(event->row);
	struct attar_run *run = run_get(event->batch->run);
	PyObject *list = run ? PyList_New(event->row->n_frames) : NULL;

	for (uint32_t i = 0; list && i < event->row->n_frames; i++) {
		PyObject *frame = frame_new(attar_run_symbols(run), frames[i]);

		if (!frame || PyList_SetItem(list, i, frame) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *get_text(struct event *event, void *unused)
{
	struct attar_run *run = run_get(event->batch->run);
	const struct attar_event_spec *spec;
	char text[4096];
	size_t n;

	if (!run)
		return NULL;
	spec = attar_run_source_spec(run, event->row->kind);
	if (!spec || !spec->format)
		return PyUnicode_FromString("");
	n = attar_format_print(
		spec->format, row_raw(event->row), event->row->raw_size, text, sizeof(text));
	return native_text(text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static PyObject *get_raw(struct event *event, void *unused)
{
	return PyBytes_FromStringAndSize(row_raw(event->row), event->row->raw_size);
}

static PyObject *get_fields(struct event *event, void *unused)
{
	return PyObject_GetAttrString((PyObject *)event->kind, "index");
}

/* The fields of the event itself without those that all tracepoints have. */
static PyObject *event_as_dict(struct event *event, PyObject *unused)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < event->kind->n_fields; i++) {
		const struct attar_field *field = &event->kind->fields[i].field;

		if (!field->is_common &&
			native_set(dict, field->name, kind_value(event->kind, i, event->row)) < 0)
			Py_CLEAR(dict);
	}
	return dict;
}

static PyObject *event_repr(struct event *event)
{
	PyObject *dict = event_as_dict(event, NULL), *comm = dict ? get_comm(event, NULL) : NULL;
	PyObject *text = NULL;

	if (comm)
		text = PyUnicode_FromFormat("<%S %llu.%09llu cpu=%d tid=%d comm=%R %R>",
			event->kind->name, (unsigned long long)event->row->time / 1000000000,
			(unsigned long long)event->row->time % 1000000000, (int)event->row->cpu,
			(int)event->row->tid, comm, dict);
	Py_XDECREF(dict);
	Py_XDECREF(comm);
	return text;
}

/* print() is Python code. */
static PyObject *event_print(PyObject *event, PyObject *unused)
{
	PyObject *module = PyImport_ImportModule("attar._print"), *result;

	if (!module)
		return NULL;
	result = PyObject_CallMethod(module, "print_event", "O", event);
	Py_DECREF(module);
	return result;
}

static PyMethodDef event_methods[] = {
	METHOD("to_dict", event_as_dict, METH_NOARGS, "The same as _asdict()."),
	METHOD("print", event_print, METH_NOARGS, "Prints the event as attar trace does."),
	METHOD("_asdict", event_as_dict, METH_NOARGS, "The fields of the event as a dict."),
	{NULL, NULL, 0, NULL}};

#define AT(member_) ((void *)offsetof(struct row, member_))

static PyGetSetDef event_getters[] = {{"_name", (getter)get_name, NULL, "The event's name.", NULL},
	{"_time", (getter)get_u64, NULL, "ns of CLOCK_MONOTONIC.", AT(time)},
	{"_realtime", (getter)get_realtime, NULL, "ns since 1970.", NULL},
	{"_period", (getter)get_u64, NULL, "Number of occurrences since the last.", AT(period)},
	{"_ip", (getter)get_u64, NULL, "Address of the instruction.", AT(ip)},
	{"_addr", (getter)get_u64, NULL, "Address that was accessed.", AT(addr)},
	{"_cpu", (getter)get_id, NULL, "Number of the CPU; None if unknown.", AT(cpu)},
	{"_pid", (getter)get_id, NULL, "The process that ran; None if unknown.", AT(pid)},
	{"_tid", (getter)get_id, NULL, "The thread that ran; None if unknown.", AT(tid)},
	{"_comm", (getter)get_comm, NULL, "Name of the thread that ran.", NULL},
	{"_callchain", (getter)get_stack, NULL, "The same as _stack.", NULL},
	{"_stack", (getter)get_stack, NULL, "Call stack as a list of Frame.", NULL},
	{"_text", (getter)get_text, NULL, "The fields as the kernel prints them.", NULL},
	{"_raw", (getter)get_raw, NULL, "The bytes of the record.", NULL},
	{"_fields", (getter)get_fields, NULL, "Names of all fields.", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot event_slots[] = {{Py_tp_new, native_no_new}, {Py_tp_dealloc, event_free},
	{Py_tp_getattro, event_get}, {Py_mp_subscript, event_item}, {Py_tp_repr, event_repr},
	{Py_tp_methods, event_methods}, {Py_tp_getset, event_getters},
	{Py_tp_doc, (char *)"An event. Fields are attributes; those of its sample begin with _."},
	{0, NULL}};

static PyType_Spec event_spec = {
	"attar.TraceEvent", sizeof(struct event), 0, Py_TPFLAGS_DEFAULT, event_slots};

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
 * (field, offset, width)). If all rows of the batch are so already, the bytes are those of the
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

static PyStructSequence_Field frame_fields[] = {{"name", "The function; None if it has no name."},
	{"offset", "Bytes from its start."},
	{"module", "The file of the code, such as /usr/bin/python3 or [kernel.kallsyms]."},
	{NULL, NULL}};

static PyStructSequence_Desc frame_description = {
	"attar.Frame", "A function of a stack, innermost first.", frame_fields, 3};

int batch_init(PyObject *module)
{
	batch_type = native_add_type(module, "Batch", &batch_spec);
	iterator_type = native_add_type(module, "BatchIterator", &iterator_spec);
	event_type = native_add_type(module, "TraceEvent", &event_spec);
	frame_type = native_add(
		module, "Frame", (PyObject *)PyStructSequence_NewType(&frame_description));
	return batch_type && iterator_type && event_type && frame_type ? 0 : -1;
}
