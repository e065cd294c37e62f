/* SPDX-License-Identifier: MIT */
/* An event of a batch: its attributes, and the methods of a dict. */
#include "native.h"

static PyTypeObject *event_type, *frame_type;

struct event {
	PyObject_HEAD struct batch *batch;
	const struct row *row;
	const struct kind *kind; /* borrowed from the batch's list */
};

PyObject *event_new(struct batch *batch, const struct row *row)
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

static PyObject *get_name(struct event *event, void *unused)
{
	Py_INCREF(event->kind->name);
	return event->kind->name;
}

static PyObject *get_full_name(struct event *event, void *unused)
{
	Py_INCREF(event->kind->full_name);
	return event->kind->full_name;
}

static PyObject *get_kind(struct event *event, void *unused)
{
	PyObject *kind = (PyObject *)event->kind;

	Py_INCREF(kind);
	return kind;
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

/*
 * A frame as perf-prof has it. The location of a caller is the last byte of its call, the address
 * the address of the next instruction.
 */
static PyObject *call_new(struct attar_symbols *symbols, attar_location location, uint64_t address,
	bool is_kernel, bool is_caller)
{
	struct attar_symbol symbol = {0};
	PyObject *dict = PyDict_New();
	bool has_name = attar_symbols_resolve(symbols, location, &symbol) == 0;
	uint64_t offset = symbol.offset + is_caller;

	/* unwound: the address in its file */
	if (!address)
		address = symbol.start + offset;
	if (!dict || native_set(dict, "addr", PyLong_FromUnsignedLongLong(address)) < 0 ||
		native_set(dict, "symbol", native_string(has_name ? symbol.name : "Unknown")) < 0 ||
		native_set(dict, "offset", PyLong_FromUnsignedLongLong(has_name ? offset : 0)) <
			0 ||
		native_set(dict, "kernel", PyBool_FromLong(is_kernel)) < 0 ||
		native_set(dict, "dso", native_string(symbol.dso)) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *get_callchain(struct event *event, void *unused)
{
	const attar_location *frames = row_frames(event->row);
	const uint64_t *addresses = row_addresses(event->row);
	struct attar_run *run = run_get(event->batch->run);
	PyObject *list = run ? PyList_New(event->row->n_frames) : NULL;
	bool was_kernel = false;

	for (uint32_t i = 0; list && i < event->row->n_frames; i++) {
		bool is_kernel = attar_location_dso(frames[i]) == ATTAR_DSO_KERNEL;
		PyObject *call = call_new(attar_run_symbols(run), frames[i], addresses[i],
			is_kernel, i && is_kernel == was_kernel);

		was_kernel = is_kernel;
		if (!call || PyList_SetItem(list, i, call) < 0)
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

#define AT(member_) ((void *)offsetof(struct row, member_))

static PyGetSetDef event_getters[] = {{"_name", (getter)get_name, NULL, "The event's name.", NULL},
	{"_event", (getter)get_full_name, NULL, "The same; SYSTEM:ALIAS, or uprobe:FUNCTION.",
		NULL},
	{"_time", (getter)get_u64, NULL, "ns of CLOCK_MONOTONIC.", AT(time)},
	{"_realtime", (getter)get_realtime, NULL, "ns since 1970.", NULL},
	{"_period", (getter)get_u64, NULL, "Number of occurrences since the last.", AT(period)},
	{"_ip", (getter)get_u64, NULL, "Address of the instruction.", AT(ip)},
	{"_addr", (getter)get_u64, NULL, "Address that was accessed.", AT(addr)},
	{"_cpu", (getter)get_id, NULL, "Number of the CPU; None if unknown.", AT(cpu)},
	{"_pid", (getter)get_id, NULL, "The process that ran; None if unknown.", AT(pid)},
	{"_tid", (getter)get_id, NULL, "The thread that ran; None if unknown.", AT(tid)},
	{"_comm", (getter)get_comm, NULL, "Name of the thread that ran.", NULL},
	{"_callchain", (getter)get_callchain, NULL, "Call stack as a list of dicts.", NULL},
	{"_stack", (getter)get_stack, NULL, "Call stack as a list of Frame.", NULL},
	{"_text", (getter)get_text, NULL, "The fields as the kernel prints them.", NULL},
	{"_raw", (getter)get_raw, NULL, "The bytes of the record.", NULL},
	{"_kind", (getter)get_kind, NULL, "What the events of a source have in common.", NULL},
	{"_fields", (getter)get_fields, NULL, "Names of all fields.", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

const char *event_getter(size_t i)
{
	return event_getters[i].name;
}

/* ---- values by name ---- */

static PyObject *value_at(struct event *event, size_t i)
{
	const struct kind *kind = event->kind;
	const char *member;

	if (i < kind->n_fields)
		return kind_value(kind, i, event->row);
	i -= kind->n_fields;
	if (i < EVENT_GETTERS_MAX)
		return event_getters[i].get((PyObject *)event, event_getters[i].closure);
	member = sample_member(i - EVENT_GETTERS_MAX);
	if (member && !strcmp(member, "callchain"))
		return get_callchain(event, NULL);
	return sample_value(i - EVENT_GETTERS_MAX, event->row);
}

static PyObject *event_attribute(struct event *event, PyObject *name)
{
	PyObject *number = PyDict_GetItemWithError(event->kind->all, name), *value;

	if (number)
		return value_at(event, PyLong_AsSize_t(number));
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
	PyObject *number = PyDict_GetItemWithError(event->kind->all, name);

	if (number)
		return value_at(event, PyLong_AsSize_t(number));
	if (!PyErr_Occurred())
		PyErr_SetObject(PyExc_KeyError, name);
	return NULL;
}

static PyObject *event_get(struct event *event, PyObject *args)
{
	PyObject *name, *fallback = Py_None, *number;

	if (!PyArg_ParseTuple(args, "U|O", &name, &fallback))
		return NULL;
	number = PyDict_GetItemWithError(event->kind->all, name);
	if (number)
		return value_at(event, PyLong_AsSize_t(number));
	if (PyErr_Occurred())
		return NULL;
	Py_INCREF(fallback);
	return fallback;
}

static int event_contains(struct event *event, PyObject *name)
{
	return PyDict_Contains(event->kind->all, name);
}

static Py_ssize_t event_length(struct event *event)
{
	return PyList_Size(event->kind->keys);
}

static PyObject *event_keys(struct event *event, PyObject *unused)
{
	return PyList_GetSlice(event->kind->keys, 0, PyList_Size(event->kind->keys));
}

/* A list of what make() gives for each key and its value; it takes the reference to value. */
static PyObject *list_of(struct event *event, PyObject *(*make)(PyObject *key, PyObject *value))
{
	PyObject *keys = event->kind->keys, *list = PyList_New(PyList_Size(keys));

	for (Py_ssize_t i = 0; list && i < PyList_Size(keys); i++) {
		PyObject *key = PyList_GetItem(keys, i), *value = event_item(event, key);
		PyObject *one = value ? make(key, value) : NULL;

		if (!one || PyList_SetItem(list, i, one) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *value_of(PyObject *key, PyObject *value)
{
	return value;
}

static PyObject *pair_of(PyObject *key, PyObject *value)
{
	return Py_BuildValue("ON", key, value);
}

static PyObject *event_values(struct event *event, PyObject *unused)
{
	return list_of(event, value_of);
}

static PyObject *event_items(struct event *event, PyObject *unused)
{
	return list_of(event, pair_of);
}

static PyObject *event_iterate(struct event *event)
{
	PyObject *items = event_items(event, NULL), *iterator;

	iterator = items ? PyObject_GetIter(items) : NULL;
	Py_XDECREF(items);
	return iterator;
}

static PyObject *event_to_dict(struct event *event, PyObject *unused)
{
	PyObject *items = event_items(event, NULL), *dict = items ? PyDict_New() : NULL;

	if (dict && PyDict_MergeFromSeq2(dict, items, 1) < 0)
		Py_CLEAR(dict);
	Py_XDECREF(items);
	return dict;
}

/* ---- as text ---- */

static PyObject *event_str(struct event *event)
{
	PyObject *dict = event_to_dict(event, NULL), *text = dict ? PyObject_Str(dict) : NULL;

	Py_XDECREF(dict);
	return text;
}

static PyObject *event_repr(struct event *event)
{
	return PyUnicode_FromFormat("<PerfEvent %S cpu=%d pid=%d time=%llu>",
		event->kind->full_name, (int)event->row->cpu, (int)event->row->pid,
		(unsigned long long)event->row->time);
}

/* The hash of all bytes: FNV-1a. */
static Py_hash_t event_hash(struct event *event)
{
	const unsigned char *at = (const void *)event->row;
	uint64_t hash = 0xcbf29ce484222325;

	for (uint32_t i = 0; i < event->row->size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3;
	return (Py_hash_t)hash == -1 ? -2 : (Py_hash_t)hash;
}

/* print() is Python code. */
static PyObject *event_print(PyObject *event, PyObject *args, PyObject *keywords)
{
	static const char *const names[] = {"timestamp", "callchain", NULL};
	PyObject *module, *result;
	int timestamp = 1, callchain = 1;

	if (!PyArg_ParseTupleAndKeywords(
		    args, keywords, "|pp", (char **)(void *)names, &timestamp, &callchain))
		return NULL;
	module = PyImport_ImportModule("attar._print");
	if (!module)
		return NULL;
	result = PyObject_CallMethod(module, "print_event", "Oii", event, timestamp, callchain);
	Py_DECREF(module);
	return result;
}

static int event_assign(PyObject *self, PyObject *name, PyObject *value)
{
	PyErr_Format(PyExc_AttributeError,
		"'%U': members of events cannot be assigned; use a variable", name);
	return -1;
}

static PyMethodDef event_methods[] = {
	METHOD("get", event_get, METH_VARARGS, "The value of a name, or the second argument."),
	METHOD("keys", event_keys, METH_NOARGS, "Names of the fields and of the sample."),
	METHOD("values", event_values, METH_NOARGS, "The values of keys()."),
	METHOD("items", event_items, METH_NOARGS, "The pairs of keys() and values()."),
	METHOD("to_dict", event_to_dict, METH_NOARGS, "The items() as a dict."),
	METHOD("print", event_print, METH_VARARGS | METH_KEYWORDS,
		"Prints the event: time, thread, CPU, name, fields and stack."),
	METHOD("_asdict", event_as_dict, METH_NOARGS, "The fields of the event as a dict."),
	{NULL, NULL, 0, NULL}};

static PyType_Slot event_slots[] = {{Py_tp_new, native_no_new}, {Py_tp_dealloc, event_free},
	{Py_tp_getattro, event_attribute}, {Py_tp_setattro, event_assign},
	{Py_mp_subscript, event_item}, {Py_mp_length, event_length},
	{Py_sq_contains, event_contains}, {Py_tp_iter, event_iterate}, {Py_tp_str, event_str},
	{Py_tp_repr, event_repr}, {Py_tp_hash, event_hash}, {Py_tp_methods, event_methods},
	{Py_tp_getset, event_getters},
	{Py_tp_doc, (char *)"An event. Fields are attributes; those of its sample begin with _."},
	{0, NULL}};

static PyType_Spec event_spec = {
	"attar.TraceEvent", sizeof(struct event), 0, Py_TPFLAGS_DEFAULT, event_slots};

static PyStructSequence_Field frame_fields[] = {{"name", "The function; None if it has no name."},
	{"offset", "Bytes from its start."},
	{"module", "The file of the code, such as /usr/bin/python3 or [kernel.kallsyms]."},
	{NULL, NULL}};

static PyStructSequence_Desc frame_description = {
	"attar.Frame", "A function of a stack, innermost first.", frame_fields, 3};

int event_init(PyObject *module)
{
	event_type = native_add_type(module, "TraceEvent", &event_spec);
	frame_type = native_add(
		module, "Frame", (PyObject *)PyStructSequence_NewType(&frame_description));
	return event_type && frame_type ? 0 : -1;
}
