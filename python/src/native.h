/* SPDX-License-Identifier: MIT */
/*
 * The C part of the Python package: attar._attar, for the limited API of CPython 3.9.
 *
 * It has the objects whose work must not need the interpreter: a run is stepped without the GIL,
 * its events are copied into an arena and its reports into a list; Python objects are made of them
 * when the step is over. No callback of libattar calls Python, except for log lines. Conversion of
 * arguments, names and documentation are Python code, in python/attar.
 */
#ifndef ATTAR_PYTHON_NATIVE_H
#define ATTAR_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <attar/attar-run.h>

/* Methods have the types that the call flags say; Python declares one type for all. */
#define METHOD(name_, fn_, flags_, doc_)                                                           \
	{                                                                                          \
		name_, (PyCFunction)(void (*)(void))fn_, flags_, doc_                              \
	}

/* ---- module.c ---- */

/* Raises attar.Error with the error text of this thread; returns NULL. */
PyObject *native_raise(int error);

/* Raises attar.Error with this text; returns NULL. */
PyObject *native_raise_text(int error, const char *text);

/* Text of the kernel, a file or a program: bytes that are not UTF-8 are kept as surrogates. */
PyObject *native_text(const char *text, size_t n);
PyObject *native_string(const char *text); /* None for NULL */

/* For O& of PyArg_ParseTuple(): bytes without NUL, or None for NULL. Borrowed from the argument. */
int native_optional(PyObject *argument, void *ret_text);

/* tp_new of types whose objects only this module makes: raises TypeError. */
PyObject *native_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* Sets dict[name]. Takes the reference to value; NULL: an exception is set. Returns 0 or -1. */
int native_set(PyObject *dict, const char *name, PyObject *value);

/*
 * Adds a type, or one made from a spec, to the module. Takes the reference to type; NULL: an
 * exception is set. Returns the type, which the caller owns, or NULL.
 */
PyTypeObject *native_add(PyObject *module, const char *name, PyObject *type);
PyTypeObject *native_add_type(PyObject *module, const char *name, PyType_Spec *spec);

/* ---- rows.c: events, copied from the rings ---- */

/*
 * An event in an arena: this struct, then the raw record, the locations of its stack, the addresses
 * of these (0: unknown), and for events of profilers the other members of the sample.
 */
struct row {
	uint32_t size; /* bytes of all, a multiple of 8 */
	uint32_t kind; /* number of the run's source */
	uint64_t time;
	uint64_t period, ip, addr;
	int32_t cpu, pid, tid;
	uint32_t raw_size;
	uint16_t n_frames;
	uint16_t sample_words; /* 8 bytes each; 0: the sample was not copied */
	char comm[20];         /* padded with NUL */
};

enum { ROW_FRAMES_MAX = 256 };

struct rows {
	char *at;
	size_t size, room; /* bytes */
	size_t n;
	uint32_t stride; /* the size of all rows; 0: they differ, or are of several kinds */
};

/* What of an event is copied besides its record. */
enum {
	ROW_STACK = 1,
	ROW_SAMPLE = 2,
};

/* Appends a copy of an event. Returns 0 or -ENOMEM. */
int rows_add(struct rows *rows, const struct attar_event *event, unsigned parts);
void rows_free(struct rows *rows);

static inline const void *row_raw(const struct row *row)
{
	return row + 1;
}

static inline size_t row_raw_room(const struct row *row)
{
	return (row->raw_size + 7) & ~(size_t)7;
}

static inline const attar_location *row_frames(const struct row *row)
{
	const void *at = (const char *)(row + 1) + row_raw_room(row);

	return at;
}

static inline const uint64_t *row_addresses(const struct row *row)
{
	return row_frames(row) + row->n_frames;
}

static inline const void *row_sample(const struct row *row)
{
	return row->sample_words ? row_addresses(row) + row->n_frames : NULL;
}

/* ---- sample.c: the members of a sample of a profiler ---- */

/* The bytes that a copy needs, a multiple of 8. */
size_t sample_size(const struct attar_event *event);
void sample_copy(const struct attar_event *event, void *to);

/* The name of member i of samples, NULL after the last; whether such samples have it. */
const char *sample_member(size_t i);
bool sample_has(uint64_t sample_type, size_t i);

/* The value of a member, except for callchain. NULL with an exception. */
PyObject *sample_value(size_t i, const struct row *row);

/* ---- kind.c: what events of one source have in common ---- */

/* How a field becomes a Python object. */
enum field_form {
	FORM_UNSIGNED,
	FORM_SIGNED,
	FORM_FLOAT,
	FORM_TEXT,
	FORM_LIST,
	FORM_BYTES,
};

struct kind_field {
	struct attar_field field; /* name and type are owned */
	struct attar_number_type number;
	enum field_form form;
};

struct kind {
	PyObject_HEAD uint32_t number; /* of the run's source */
	size_t n_fields;
	struct kind_field *fields;
	PyObject *name;
	PyObject *full_name; /* with an alias: SYSTEM:ALIAS */
	PyObject *index;     /* dict: name of a field to its number */
	/*
	 * dict: all that event['NAME'] has. Numbers from n_fields on are the numbers of
	 * event_getter(), from n_fields + EVENT_GETTERS_MAX on the numbers of sample_member().
	 */
	PyObject *all;
	PyObject *keys; /* list: the names of keys() */
};

enum { EVENT_GETTERS_MAX = 64 };

extern PyTypeObject *kind_type;

int kind_init(PyObject *module);

/*
 * A kind for a source of the run: copies what it needs of the format. arrays_are_bytes: arrays of
 * numbers, which are lists otherwise. NULL with an exception.
 */
PyObject *kind_new(const struct attar_run *run, uint32_t source, bool arrays_are_bytes);

/* attar._attar.kinds(): the kinds of an event string. */
PyObject *kinds_by_name(PyObject *module, PyObject *args);

/* The value of a field. NULL with an exception. */
PyObject *kind_value(const struct kind *kind, size_t field, const struct row *row);

/* ---- event.c: an event of a batch ---- */

struct batch {
	PyObject_HEAD PyObject *run, *kinds; /* kinds: list */
	PyObject *data;                      /* bytes */
	size_t n;
	uint32_t stride;
	int64_t to_realtime; /* added to a time of an event: ns since 1970 */
};

int event_init(PyObject *module);
PyObject *event_new(struct batch *batch, const struct row *row);

/* The name of attribute i of each event, NULL after the last. */
const char *event_getter(size_t i);

/* ---- batch.c: the events of a step ---- */

int batch_init(PyObject *module);

/* Makes a batch of copied rows; kinds is a list with the kind of each source. */
PyObject *batch_new(PyObject *run, PyObject *kinds, const struct rows *rows, int64_t to_realtime);

/* ---- report.c ---- */

int report_init(PyObject *module);

/* Takes ownership of the report, also on failure. */
PyObject *report_new(struct attar_report *report);

/* ---- report_copy.c ---- */

/* A copy by means of the public functions. NULL: out of memory. */
struct attar_report *report_copy(const struct attar_report *report);

/* ---- run.c ---- */

int run_init(PyObject *module);

/* The run of a Run object, NULL with an exception if it was closed or is in use by a thread. */
struct attar_run *run_get(PyObject *self);

/* attar._attar.options(): what a profiler has. */
PyObject *run_describe(PyObject *module, PyObject *args);
PyObject *run_profilers(PyObject *module, PyObject *args);

/* ---- counter.c, probe.c ---- */

int counter_init(PyObject *module);
int probe_init(PyObject *module);

#endif
