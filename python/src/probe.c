/* SPDX-License-Identifier: MIT */
/* An event that the Python program emits, by libperfume. */
#include "native.h"

#include <perfume.h>

#include <stdlib.h>

struct probe {
	PyObject_HEAD struct perfume_ctx *ctx;
	struct perfume_probe *probe; /* NULL: closed */
};

static int register_fields(struct probe *self, const char *name, PyObject *list)
{
	Py_ssize_t n = PyList_Size(list);
	const char **fields = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*fields));
	bool failed = !fields;

	if (n >= 0 && failed)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; !failed && i < n; i++) {
		fields[i] = PyBytes_AsString(PyList_GetItem(list, i));
		failed = !fields[i];
	}
	if (!failed)
		self->ctx = perfume_init(0);
	if (self->ctx)
		self->probe = perfume_register_fields(self->ctx, name, fields, (size_t)n);
	free(fields);
	if (!failed && !self->probe)
		native_raise_text(self->ctx ? errno : ENOMEM, perfume_error());
	return self->probe ? 0 : -1;
}

/* Probe(name, fields): fields is a list of bytes, as perfume_register() takes them. */
static PyObject *probe_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	struct probe *self;
	const char *name;
	PyObject *list;

	if (!PyArg_ParseTuple(args, "yO", &name, &list))
		return NULL;
	self = (struct probe *)PyType_GenericAlloc(type, 0);
	if (self && register_fields(self, name, list) < 0)
		Py_CLEAR(self);
	return (PyObject *)self;
}

static PyObject *probe_close(struct probe *self, PyObject *unused)
{
	struct perfume_ctx *ctx = self->ctx;

	self->probe = NULL;
	self->ctx = NULL;
	perfume_free(ctx);
	Py_RETURN_NONE;
}

static void probe_free(struct probe *self)
{
	PyTypeObject *type = Py_TYPE(self);

	perfume_free(self->ctx);
	PyObject_Free(self);
	Py_DECREF(type);
}

static bool is_open(const struct probe *self)
{
	if (!self->probe)
		native_raise_text(EBADF, "the event was closed");
	return self->probe;
}

static PyObject *probe_write(struct probe *self, PyObject *args)
{
	const char *payload;
	Py_ssize_t n;
	int r;

	if (!is_open(self) || !PyArg_ParseTuple(args, "y#", &payload, &n))
		return NULL;
	r = perfume_write_payload(self->probe, payload, (size_t)n);
	if (r == -EBADF) /* disabled meanwhile */
		r = 0;
	return r < 0 ? native_raise_text(r, perfume_error()) : PyBool_FromLong(r > 0);
}

static PyObject *get_enabled(struct probe *self, void *unused)
{
	return is_open(self) ? PyBool_FromLong(perfume_probe_enabled(self->probe)) : NULL;
}

static PyMethodDef methods[] = {
	METHOD("write", probe_write, METH_VARARGS, "Emits the event with this payload."),
	METHOD("close", probe_close, METH_NOARGS, "Removes the event."), {NULL, NULL, 0, NULL}};

static PyGetSetDef getters[] = {
	{"enabled", (getter)get_enabled, NULL, "whether there is a listener", NULL},
	{NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, probe_new}, {Py_tp_dealloc, probe_free},
	{Py_tp_methods, methods}, {Py_tp_getset, getters}, {0, NULL}};

static PyType_Spec spec = {
	"attar._attar.Probe", sizeof(struct probe), 0, Py_TPFLAGS_DEFAULT, slots};

int probe_init(PyObject *module)
{
	return native_add_type(module, "Probe", &spec) ? 0 : -1;
}
