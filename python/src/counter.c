/* SPDX-License-Identifier: MIT */
/* Counters of events by name: opened, enabled, read and closed together. */
#include "native.h"

#include <stdlib.h>

struct counters {
	PyObject_HEAD struct attar_target *target;
	struct attar_catalog *catalog;
	struct attar_event_list *list;
	struct attar_group **groups;     /* one for each group of the list */
	struct attar_counter **counters; /* one for each event; counters of groups are borrowed */
	bool is_closed;
};

static void close_counters(struct counters *self)
{
	self->is_closed = true;
	for (size_t i = 0; self->list && i < self->list->n; i++)
		if (self->counters && self->list->at[i].group < 0)
			attar_counter_close(self->counters[i]);
	for (unsigned i = 0; self->list && self->groups && i < self->list->n_groups; i++)
		attar_group_close(self->groups[i]);
	free(self->counters);
	free(self->groups);
	self->counters = NULL;
	self->groups = NULL;
	self->list = attar_event_list_free(self->list);
	self->catalog = attar_catalog_free(self->catalog);
	self->target = attar_target_free(self->target);
}

static int make_attr(const struct attar_event_spec *spec, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->disabled = 1;
	return attar_event_spec_attr(spec, attr, sizeof(*attr));
}

static int set_filter(struct counters *self, size_t i)
{
	const char *filter = self->list->at[i].filter;

	return filter ? attar_counter_filter(self->counters[i], filter) : 0;
}

static int open_group(struct counters *self, size_t first, size_t *ret_n)
{
	const struct attar_event_spec *specs = self->list->at;
	int group = specs[first].group;
	struct attar_group_event *events;
	struct perf_event_attr *attrs;
	size_t n = 0;
	int r = 0;

	while (first + n < self->list->n && specs[first + n].group == group)
		n++;
	events = calloc(n, sizeof(*events));
	attrs = calloc(n, sizeof(*attrs));
	if (!events || !attrs)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = make_attr(&specs[first + i], &attrs[i]);
		events[i] = (struct attar_group_event){specs[first + i].name, &attrs[i]};
	}
	if (r == 0)
		r = attar_group_open(
			self->target, events, n, ATTAR_COUNTER_DEGRADE, &self->groups[group]);
	for (size_t i = 0; r == 0 && i < n; i++) {
		self->counters[first + i] = attar_group_counter(self->groups[group], i);
		r = set_filter(self, first + i);
	}
	free(events);
	free(attrs);
	*ret_n = n;
	return r;
}

static int open_one(struct counters *self, size_t i)
{
	const struct attar_event_spec *spec = &self->list->at[i];
	struct perf_event_attr attr;
	int r = make_attr(spec, &attr);

	if (r == 0)
		r = attar_counter_open(
			self->target, &attr, spec->name, ATTAR_COUNTER_DEGRADE, &self->counters[i]);
	return r == 0 ? set_filter(self, i) : r;
}

static int open_all(struct counters *self)
{
	int r = 0;

	self->counters = calloc(self->list->n + 1, sizeof(struct attar_counter *));
	self->groups = calloc(self->list->n_groups + 1, sizeof(struct attar_group *));
	if (!self->counters || !self->groups)
		return -ENOMEM;
	for (size_t i = 0, n = 1; r == 0 && i < self->list->n; i += n) {
		n = 1;
		r = self->list->at[i].group < 0 ? open_one(self, i) : open_group(self, i, &n);
	}
	return r;
}

static int open_by_name(
	struct counters *self, const char *events, const struct attar_target_opts *target)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts),
		.mount = true,
		.pids = target->pids,
		.inherited = !target->self && !target->tids};
	int r = attar_target_new(target, &self->target);

	if (r == 0)
		r = attar_catalog_new(&opts, &self->catalog);
	if (r == 0)
		r = attar_event_list_parse(self->catalog, events, &self->list);
	return r == 0 ? open_all(self) : r;
}

/* Counters(events, pids, tids, cpus, thread): thread: the calling thread only. */
static PyObject *counters_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	struct attar_target_opts target = {.size = sizeof(target)};
	struct counters *self;
	const char *events;
	int thread, r;

	if (!PyArg_ParseTuple(args, "yO&O&O&p", &events, native_optional, &target.pids,
		    native_optional, &target.tids, native_optional, &target.cpus, &thread))
		return NULL;
	target.self = thread;
	target.any_cpu = (thread || target.pids || target.tids) && !target.cpus;
	self = (struct counters *)PyType_GenericAlloc(type, 0);
	if (!self)
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = open_by_name(self, events, &target);
	Py_END_ALLOW_THREADS if (r < 0)
	{
		native_raise(r);
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static void counters_free(struct counters *self)
{
	PyTypeObject *type = Py_TYPE(self);

	close_counters(self);
	PyObject_Free(self);
	Py_DECREF(type);
}

static bool is_open(const struct counters *self)
{
	if (self->is_closed)
		native_raise_text(EBADF, "the counters were closed");
	return !self->is_closed;
}

static int switch_all(struct counters *self, bool on)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < self->list->n_groups; i++)
		r = on ? attar_group_enable(self->groups[i]) : attar_group_disable(self->groups[i]);
	for (size_t i = 0; r == 0 && i < self->list->n; i++)
		if (self->list->at[i].group < 0)
			r = on ? attar_counter_enable(self->counters[i])
			       : attar_counter_disable(self->counters[i]);
	return r;
}

static PyObject *counters_switch(struct counters *self, bool on)
{
	int r = is_open(self) ? switch_all(self, on) : 1;

	if (r > 0)
		return NULL;
	if (r < 0)
		return native_raise(r);
	Py_RETURN_NONE;
}

static PyObject *counters_enable(struct counters *self, PyObject *unused)
{
	return counters_switch(self, true);
}

static PyObject *counters_disable(struct counters *self, PyObject *unused)
{
	return counters_switch(self, false);
}

/* (name, value, raw, enabled, running, quality, unit, scale) of each event. */
static PyObject *counters_read(struct counters *self, PyObject *unused)
{
	PyObject *list = is_open(self) ? PyList_New((Py_ssize_t)self->list->n) : NULL;

	for (size_t i = 0; list && i < self->list->n; i++) {
		const struct attar_event_spec *spec = &self->list->at[i];
		struct attar_value v;
		int r = attar_counter_read(self->counters[i], &v);
		PyObject *one =
			r < 0 ? native_raise(r)
			      : Py_BuildValue("NKKKKssd", native_string(spec->name),
					(unsigned long long)v.value, (unsigned long long)v.raw,
					(unsigned long long)v.time_enabled,
					(unsigned long long)v.time_running,
					attar_quality_name(v.quality), spec->unit, spec->scale);

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *counters_reset(struct counters *self, PyObject *unused)
{
	int r = 0;

	if (!is_open(self))
		return NULL;
	for (size_t i = 0; r == 0 && i < self->list->n; i++)
		r = attar_counter_reset(self->counters[i]);
	if (r < 0)
		return native_raise(r);
	Py_RETURN_NONE;
}

static PyObject *counters_close(struct counters *self, PyObject *unused)
{
	close_counters(self);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {METHOD("enable", counters_enable, METH_NOARGS, "Starts counting."),
	METHOD("disable", counters_disable, METH_NOARGS, "Stops counting."),
	METHOD("read", counters_read, METH_NOARGS, "The count of each event."),
	METHOD("reset", counters_reset, METH_NOARGS, "Sets the counts to 0."),
	METHOD("close", counters_close, METH_NOARGS, "Closes the counters."),
	{NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, counters_new}, {Py_tp_dealloc, counters_free},
	{Py_tp_methods, methods}, {0, NULL}};

static PyType_Spec spec = {
	"attar._attar.Counters", sizeof(struct counters), 0, Py_TPFLAGS_DEFAULT, slots};

int counter_init(PyObject *module)
{
	return native_add_type(module, "Counters", &spec) ? 0 : -1;
}
