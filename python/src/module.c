/* SPDX-License-Identifier: MIT */
/* attar._attar: errors, log lines and the list of types. */
#include "native.h"

static PyObject *error_type, *log_function;

PyObject *native_text(const char *text, size_t n)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "surrogateescape");
}

PyObject *native_string(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	return native_text(text, strlen(text));
}

static PyObject *raise_parts(int error, const char *text, const char *reason, const char *fix)
{
	PyObject *strings[] = {native_string(text), native_string(reason), native_string(fix)};
	PyObject *exception = NULL;

	if (strings[0] && strings[1] && strings[2])
		exception = PyObject_CallFunction(error_type, "OiOO", strings[0],
			error < 0 ? -error : error, strings[1], strings[2]);
	for (int i = 0; i < 3; i++)
		Py_XDECREF(strings[i]);
	if (exception)
		PyErr_SetObject(error_type, exception);
	Py_XDECREF(exception);
	return NULL;
}

PyObject *native_raise_text(int error, const char *text)
{
	return raise_parts(error, text, "", "");
}

PyObject *native_raise(int error)
{
	const char *text = attar_error();

	if (error == -ENOMEM)
		return PyErr_NoMemory();
	if (!*text)
		return native_raise_text(error, strerror(-error));
	return raise_parts(error, text, attar_error_reason(), attar_error_fix());
}

int native_optional(PyObject *argument, void *ret_text)
{
	char **text = ret_text;

	*text = NULL;
	return argument == Py_None || PyBytes_AsStringAndSize(argument, text, NULL) == 0;
}

PyObject *native_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	PyErr_SetString(PyExc_TypeError, "objects of this type are made by attar only");
	return NULL;
}

int native_set(PyObject *dict, const char *name, PyObject *value)
{
	PyObject *key = value ? native_string(name) : NULL;
	int r = key ? PyDict_SetItem(dict, key, value) : -1;

	Py_XDECREF(key);
	Py_XDECREF(value);
	return r;
}

PyTypeObject *native_add(PyObject *module, const char *name, PyObject *type)
{
	if (!type)
		return NULL;
	Py_INCREF(type);
	if (PyModule_AddObject(module, name, type) < 0) {
		Py_DECREF(type);
		Py_CLEAR(type);
	}
	return (PyTypeObject *)type;
}

PyTypeObject *native_add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
	return native_add(module, name, PyType_FromSpec(spec));
}

/* Called by libattar in any thread, with or without the GIL. */
static void take_log_line(void *ctx, enum attar_level level, const char *text)
{
	PyObject *type, *value, *traceback, *string, *result = NULL;
	PyGILState_STATE state;

	if (level == ATTAR_DEBUG)
		return;
	state = PyGILState_Ensure();
	PyErr_Fetch(&type, &value, &traceback);
	string = native_string(text);
	if (string && log_function)
		result = PyObject_CallFunction(log_function, "iO", (int)level, string);
	if (!result)
		PyErr_Clear(); /* a log line that cannot be shown does not end the run */
	Py_XDECREF(result);
	Py_XDECREF(string);
	PyErr_Restore(type, value, traceback);
	PyGILState_Release(state);
}

static PyObject *set_log(PyObject *module, PyObject *function)
{
	PyObject *old = log_function;

	if (function == Py_None) {
		attar_log_set(NULL, NULL);
		log_function = NULL;
	} else {
		Py_INCREF(function);
		log_function = function;
		attar_log_set(take_log_line, NULL);
	}
	Py_XDECREF(old);
	Py_RETURN_NONE;
}

static PyObject *version(PyObject *module, PyObject *unused)
{
	return native_string(attar_version());
}

static PyMethodDef functions[] = {
	METHOD("version", version, METH_NOARGS, "The version of libattar."),
	METHOD("set_log", set_log, METH_O, "Sets the function that gets log lines, or None."),
	METHOD("profilers", run_profilers, METH_VARARGS,
		"(name, group, summary, operand) of each profiler; argument: without presets."),
	METHOD("kinds", kinds_by_name, METH_VARARGS, "The kinds of events in a text."),
	METHOD("options", run_describe, METH_VARARGS, "The options of a profiler."),
	{NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "attar._attar", NULL, -1, functions, NULL, NULL, NULL, NULL};

static int find_error_type(void)
{
	PyObject *module = PyImport_ImportModule("attar._error");

	if (!module)
		return -1;
	error_type = PyObject_GetAttrString(module, "Error");
	Py_DECREF(module);
	return error_type ? 0 : -1;
}

PyMODINIT_FUNC PyInit__attar(void); /* Python's headers do not declare it */

PyMODINIT_FUNC PyInit__attar(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	if (find_error_type() < 0 || kind_init(module) < 0 || batch_init(module) < 0 ||
		event_init(module) < 0 || report_init(module) < 0 || run_init(module) < 0 ||
		counter_init(module) < 0 || probe_init(module) < 0) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
