/* SPDX-License-Identifier: MIT */
/*
 * A run of a profiler, or of the events that Python asks for. A step happens without the GIL: what
 * it delivers is copied and taken afterwards.
 */
#include "native.h"

#include <stdlib.h>

static PyTypeObject *run_type;

struct reports {
	struct attar_report **at;
	size_t n, room;
};

/* Between two events of a step: the end of an interval, a loss, or a line of exec=. */
struct mark {
	size_t row; /* number of rows before it */
	bool is_loss;
	char *line;           /* owned; NULL: it is no line */
	uint64_t from, to, n; /* ns, ns, events */
	int32_t cpu;
};

struct marks {
	struct mark *at;
	size_t n, room;
};

struct run {
	PyObject_HEAD struct attar_run *run; /* NULL: closed */
	struct attar_profiler events;        /* the descriptor of a run of events */
	char **command;                      /* argv, owned */
	bool is_busy, is_started, is_over, arrays_are_bytes;
	PyObject *kinds; /* list: the kinds of the run's sources so far */
	/* filled during a step */
	struct rows rows;
	struct reports reports;
	struct marks marks;
};

/* ---- the profiler of events ---- */

struct state {
	struct attar_texts events;
	bool stacks;
};

static const struct attar_option options[] = {
	ATTAR_LIST(struct state, events, 'e', "event", "EVENT",
		"the events; may be repeated; with --input: all of the recording by default",
		ATTAR_COMPLETE("event")),
	ATTAR_FLAG(struct state, stacks, 'g', "call-graph", "with call stacks"), {0}};

static struct run *run_of(const struct attar_run *run)
{
	const char *descriptor = (const void *)attar_run_profiler(run);

	return (struct run *)(void *)(descriptor - offsetof(struct run, events));
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, event->counter);
	const struct state *state = self;
	unsigned parts = state->stacks || (spec && spec->stack) ? ROW_STACK : 0;

	if (spec && spec->kind == ATTAR_EVENT_PROFILER)
		parts |= ROW_SAMPLE;
	return rows_add(&run_of(run)->rows, event, parts);
}

static int add_mark(struct run *run, struct mark mark)
{
	struct marks *marks = &run->marks;

	if (marks->n == marks->room) {
		size_t room = marks->room ? marks->room * 2 : 16;
		void *at = realloc(marks->at, room * sizeof(*marks->at));

		if (!at)
			return -ENOMEM;
		marks->at = at;
		marks->room = room;
	}
	mark.row = run->rows.n;
	marks->at[marks->n++] = mark;
	return 0;
}

static void forget_marks(struct marks *marks)
{
	for (size_t i = 0; i < marks->n; i++)
		free(marks->at[i].line);
	marks->n = 0;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *event)
{
	return add_mark(run_of(run), (struct mark){.is_loss = true,
					     .from = event->lost_from,
					     .to = event->lost_to,
					     .n = event->record->lost.lost,
					     .cpu = (int32_t)event->cpu});
}

static int events_open(struct attar_run *run, void *self)
{
	struct state *state = self;

	return attar_run_event_list(run, &state->events, state->stacks, on_event);
}

static int events_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	return 0;
}

static const struct attar_profiler events_profiler = {
	.name = "events",
	.group = "Events",
	.summary = "gives events to a program in Python",
	.uses = ATTAR_USES_RINGS | ATTAR_USES_STACKS,
	.self_size = sizeof(struct state),
	.options = options,
	.open = events_open,
	.lost = on_lost,
	.report = events_report,
};

/* ---- use by one thread ---- */

static struct run *use(PyObject *self)
{
	struct run *run = (struct run *)self;

	if (!run->run)
		return (void *)native_raise_text(EBADF, "the run was closed");
	if (run->is_busy)
		return (void *)native_raise(attar_fail(-EBUSY,
			"the run is in use by another thread" ATTAR_FIX "let one thread read it"));
	return run;
}

struct attar_run *run_get(PyObject *self)
{
	struct run *run = use(self);

	return run ? run->run : NULL;
}

/* ---- life ---- */

static void free_command(char **command)
{
	for (char **word = command; word && *word; word++)
		free(*word);
	free(command);
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	const char *name = NULL;
	struct run *self;
	int is_script = 0, r;

	if (!PyArg_ParseTuple(args, "O&|p", native_optional, &name, &is_script))
		return NULL;
	self = (struct run *)PyType_GenericAlloc(type, 0);
	if (!self)
		return NULL;
	self->events = events_profiler;
	if (is_script)
		self->events.name = "python"; /* in messages */
	self->kinds = PyList_New(0);
	r = name ? attar_run_new(name, &self->run) : attar_run_from(&self->events, &self->run);
	if (r < 0)
		native_raise(r);
	if (r < 0 || !self->kinds) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static void drop_reports(struct run *self)
{
	for (size_t i = 0; i < self->reports.n; i++)
		attar_report_free(self->reports.at[i]);
	self->reports.n = 0;
}

static void close_run(struct run *self)
{
	struct attar_run *run = self->run;

	self->run = NULL;
	if (run) {
		Py_BEGIN_ALLOW_THREADS attar_run_free(run);
		Py_END_ALLOW_THREADS
	}
	rows_free(&self->rows);
	drop_reports(self);
	free(self->reports.at);
	forget_marks(&self->marks);
	free(self->marks.at);
	self->reports = (struct reports){0};
	self->marks = (struct marks){0};
	free_command(self->command);
	self->command = NULL;
}

static void run_free(struct run *self)
{
	PyTypeObject *type = Py_TYPE(self);

	close_run(self);
	Py_XDECREF(self->kinds);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *run_check(PyObject *self, PyObject *unused)
{
	if (!use(self))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *run_close(PyObject *self, PyObject *unused)
{
	struct run *run = (struct run *)self;

	if (run->run && !use(self))
		return NULL;
	close_run(run);
	Py_RETURN_NONE;
}

/* ---- options ---- */

static PyObject *run_set(PyObject *self, PyObject *args)
{
	struct run *run = use(self);
	const char *name, *value;
	int r;

	if (!run || !PyArg_ParseTuple(args, "yO&", &name, native_optional, &value))
		return NULL;
	r = attar_run_set(run->run, name, value);
	if (r < 0)
		return native_raise(r);
	Py_RETURN_NONE;
}

static PyObject *run_set_word(PyObject *self, PyObject *args)
{
	struct run *run = use(self);
	const char *word, *next;
	int r;

	if (!run || !PyArg_ParseTuple(args, "yO&", &word, native_optional, &next))
		return NULL;
	r = attar_run_set_word(run->run, word, next);
	return r < 0 ? native_raise(r) : PyLong_FromLong(r);
}

static PyObject *run_command(PyObject *self, PyObject *list)
{
	struct run *run = use(self);
	Py_ssize_t n = run ? PyList_Size(list) : -1;
	char **command = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*command));

	if (!command)
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < n; i++) {
		const char *word = PyBytes_AsString(PyList_GetItem(list, i));

		command[i] = word ? strdup(word) : NULL;
		if (!command[i]) {
			free_command(command);
			return PyErr_Occurred() ? NULL : PyErr_NoMemory();
		}
	}
	free_command(run->command);
	run->command = command;
	attar_run_command(run->run, command);
	Py_RETURN_NONE;
}

/* ---- steps ---- */

/* The lines that exec= has printed during a round, after its events. */
static int add_lines(struct run *run, const struct attar_section *printed)
{
	const size_t column = attar_section_get_columns(printed) - 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < attar_section_get_rows(printed); i++) {
		struct attar_cell cell = attar_section_get_cell(printed, i, column);
		char *line = strdup(cell.text ? cell.text : "");

		r = line ? add_mark(run, (struct mark){.line = line}) : -ENOMEM;
		if (r < 0)
			free(line);
	}
	return r;
}

static int take_events_report(struct run *run, const struct attar_report *report)
{
	const struct attar_section *printed = attar_report_find_section(report, "printed");

	return printed ? add_lines(run, printed) : add_mark(run, (struct mark){0});
}

static int take_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct reports *reports = &((struct run *)ctx)->reports;
	struct attar_report *copy;

	if (attar_run_profiler(((struct run *)ctx)->run) == &((struct run *)ctx)->events)
		return take_events_report(ctx, report);
	if (reports->n == reports->room) {
		size_t room = reports->room ? reports->room * 2 : 4;
		void *at = realloc(reports->at, room * sizeof(*reports->at));

		if (!at)
			return -ENOMEM;
		reports->at = at;
		reports->room = room;
	}
	copy = report_copy(report);
	if (!copy)
		return -ENOMEM;
	reports->at[reports->n++] = copy;
	return 0;
}

/* start(want_tree): opens the events. */
static PyObject *run_start(PyObject *self, PyObject *args)
{
	struct attar_run_hooks hooks = {
		.size = sizeof(hooks), .ctx = self, .report = take_report, .want_values = true};
	struct run *run = use(self);
	int want_tree, r;

	if (!run || !PyArg_ParseTuple(args, "p", &want_tree))
		return NULL;
	hooks.want_tree = want_tree;
	run->is_busy = true;
	Py_BEGIN_ALLOW_THREADS r = attar_run_start(run->run, &hooks);
	Py_END_ALLOW_THREADS run->is_busy = false;
	run->is_started = r == 0;
	if (PyErr_CheckSignals() < 0)
		return NULL;
	if (r < 0)
		return native_raise(r);
	Py_RETURN_NONE;
}

static bool has_something(const struct run *run)
{
	return run->rows.n || run->reports.n || run->marks.n;
}

/*
 * step(milliseconds): waits for events or reports at most so long, -1: until there are some. False
 * when the run is over.
 */
static PyObject *run_step(PyObject *self, PyObject *args)
{
	struct run *run = use(self);
	int ms, r;

	if (!run || !PyArg_ParseTuple(args, "i", &ms))
		return NULL;
	do {
		run->is_busy = true;
		Py_BEGIN_ALLOW_THREADS r = run->is_over ? 0 : attar_run_step(run->run, ms);
		Py_END_ALLOW_THREADS run->is_busy = false;
		if (r < 0)
			native_raise(r);
		if (r < 0 || PyErr_CheckSignals() < 0)
			return NULL;
	} while (ms < 0 && r > 0 && !has_something(run));
	run->is_over = r == 0;
	return PyBool_FromLong(r);
}

/* ---- what a step left ---- */

static PyObject *take_reports(PyObject *self, PyObject *unused)
{
	struct run *run = use(self);
	PyObject *list = run ? PyList_New((Py_ssize_t)run->reports.n) : NULL;

	for (size_t i = 0; list && i < run->reports.n; i++) {
		struct attar_report *report = run->reports.at[i];
		PyObject *one;

		run->reports.at[i] = NULL; /* owned by the object, or freed */
		one = report_new(report);
		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	if (run)
		drop_reports(run); /* all were taken, or memory is short */
	return list;
}

/* Events of programs become sources during the run. */
static int add_kinds(struct run *run)
{
	for (uint32_t i = (uint32_t)PyList_Size(run->kinds); i < attar_run_sources(run->run); i++) {
		PyObject *kind = kind_new(run->run, i, run->arrays_are_bytes);
		int r = kind ? PyList_Append(run->kinds, kind) : -1;

		Py_XDECREF(kind);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* The events of the last step; None without any. */
static PyObject *take_batch(PyObject *self, PyObject *unused)
{
	struct run *run = use(self);
	const struct row *first;
	PyObject *batch;

	if (!run)
		return NULL;
	if (!run->rows.n)
		Py_RETURN_NONE;
	if (add_kinds(run) < 0)
		return NULL;
	first = (const struct row *)(void *)run->rows.at;
	batch = batch_new(self, run->kinds, &run->rows,
		(int64_t)(attar_run_realtime(run->run, first->time) - first->time));
	run->rows.size = run->rows.n = 0;
	run->rows.stride = 0;
	return batch;
}

/*
 * What happened between the events of the last step, as (number of events before it, loss): loss is
 * None for the end of an interval, or (from, to, number, CPU).
 */
static PyObject *take_marks(PyObject *self, PyObject *unused)
{
	struct run *run = use(self);
	PyObject *list = run ? PyList_New((Py_ssize_t)run->marks.n) : NULL;

	for (size_t i = 0; list && i < run->marks.n; i++) {
		const struct mark *mark = &run->marks.at[i];
		PyObject *what = mark->is_loss
					 ? Py_BuildValue("KKKi", (unsigned long long)mark->from,
						   (unsigned long long)mark->to,
						   (unsigned long long)mark->n, mark->cpu)
					 : native_string(mark->line);
		PyObject *one = Py_BuildValue("nN", (Py_ssize_t)mark->row, what);

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
			Py_CLEAR(list);
	}
	if (list)
		forget_marks(&run->marks);
	return list;
}

/* The kinds of the run's events so far. */
static PyObject *run_kinds(PyObject *self, PyObject *unused)
{
	struct run *run = use(self);

	if (!run || add_kinds(run) < 0)
		return NULL;
	return PyList_GetSlice(run->kinds, 0, PyList_Size(run->kinds));
}

/* report(whole): of the whole run so far, or since the previous report. */
static PyObject *run_report(PyObject *self, PyObject *args)
{
	struct attar_report *report = NULL;
	struct run *run = use(self);
	int whole, r;

	if (!run || !PyArg_ParseTuple(args, "p", &whole))
		return NULL;
	run->is_busy = true;
	Py_BEGIN_ALLOW_THREADS r = attar_run_report(
		run->run, whole ? ATTAR_SCOPE_WHOLE : ATTAR_SCOPE_INTERVAL, &report);
	Py_END_ALLOW_THREADS run->is_busy = false;
	return r < 0 ? native_raise(r) : report_new(report);
}

/* Also while another thread is in step(). */
static PyObject *run_stop(PyObject *self, PyObject *unused)
{
	struct run *run = (struct run *)self;

	if (!run->run)
		return native_raise_text(EBADF, "the run was closed");
	attar_run_stop(run->run);
	Py_RETURN_NONE;
}

/* Before the events are opened. */
static PyObject *run_take_arrays_as_bytes(PyObject *self, PyObject *unused)
{
	((struct run *)self)->arrays_are_bytes = true;
	Py_RETURN_NONE;
}

/* For signal handlers: the end of an interval is marked soon. */
static PyObject *run_request_report(PyObject *self, PyObject *unused)
{
	attar_run_request_report(((struct run *)self)->run); /* NULL: the run was closed */
	Py_RETURN_NONE;
}

static PyObject *run_fd(PyObject *self, PyObject *unused)
{
	struct run *run = use(self);
	int fd = run ? attar_run_fd(run->run) : 0;

	if (!run)
		return NULL;
	return fd < 0 ? native_raise(fd) : PyLong_FromLong(fd);
}

static PyObject *get_interval(struct run *self, void *unused)
{
	return PyLong_FromUnsignedLongLong(self->run ? attar_run_interval(self->run) : 0);
}

static PyObject *get_status(struct run *self, void *unused)
{
	int status = self->run ? attar_run_command_status(self->run) : -1;

	if (status < 0)
		Py_RETURN_NONE;
	return PyLong_FromLong(status);
}

static PyObject *get_closed(struct run *self, void *unused)
{
	return PyBool_FromLong(!self->run);
}

/* ---- descriptors ---- */

static const char *const types[] = {
	"flag", "switch", "count", "time", "size", "percent", "text", "list", "joined"};

static PyObject *describe_option(const char *title, const struct attar_option *o)
{
	return Py_BuildValue(
		"ssszzz", title, o->name, types[o->type], o->value, o->help, o->implied);
}

static int describe_groups(const struct attar_option_group *group, PyObject *list)
{
	for (; group->title; group++)
		for (const struct attar_option *o = group->options; o->name; o++) {
			PyObject *one = describe_option(group->title, o);
			int r = one ? PyList_Append(list, one) : -1;

			Py_XDECREF(one);
			if (r < 0)
				return -1;
		}
	return 0;
}

/*
 * options(name): (heading, name, type, value, help, implied) of each; None: the options of a run of
 * events.
 */
PyObject *run_describe(PyObject *module, PyObject *args)
{
	PyObject *list = NULL;
	const char *name;
	struct attar_run *run;
	int r;

	if (!PyArg_ParseTuple(args, "O&", native_optional, &name))
		return NULL;
	r = name ? attar_run_new(name, &run) : attar_run_from(&events_profiler, &run);
	if (r < 0)
		return native_raise(r);
	list = PyList_New(0);
	if (list && describe_groups(attar_run_option_groups(run), list) < 0)
		Py_CLEAR(list);
	attar_run_free(run);
	return list;
}

PyObject *run_profilers(PyObject *module, PyObject *args)
{
	const struct attar_profiler *const *p;
	PyObject *list = PyList_New(0);
	int builtin;

	if (!list || !PyArg_ParseTuple(args, "p", &builtin)) {
		Py_XDECREF(list);
		return NULL;
	}
	for (p = builtin ? attar_builtin_profilers() : attar_profilers(); list && *p; p++) {
		PyObject *one = Py_BuildValue(
			"sssz", (*p)->name, (*p)->group, (*p)->summary, (*p)->operand);

		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

static PyMethodDef methods[] = {
	METHOD("set", run_set, METH_VARARGS, "Sets an option by its long name."),
	METHOD("set_word", run_set_word, METH_VARARGS, "Sets the option in a word."),
	METHOD("command", run_command, METH_O, "Sets the command to launch."),
	METHOD("start", run_start, METH_VARARGS, "Opens the events and starts."),
	METHOD("step", run_step, METH_VARARGS, "Waits for events and delivers them."),
	METHOD("take_reports", take_reports, METH_NOARGS, "The reports of the last steps."),
	METHOD("take_batch", take_batch, METH_NOARGS, "The events of the last steps."),
	METHOD("take_marks", take_marks, METH_NOARGS, "Intervals, losses and lines."),
	METHOD("kinds", run_kinds, METH_NOARGS, "The kinds of the events."),
	METHOD("report", run_report, METH_VARARGS, "Makes a report."),
	METHOD("stop", run_stop, METH_NOARGS, "Ends the run."),
	METHOD("request_report", run_request_report, METH_NOARGS, "Ends an interval."),
	METHOD("take_arrays_as_bytes", run_take_arrays_as_bytes, METH_NOARGS,
		"Arrays of numbers are bytes, not lists."),
	METHOD("fd", run_fd, METH_NOARGS, "A descriptor that is readable when a step has work."),
	METHOD("check", run_check, METH_NOARGS, "Fails if the run was closed or is in use."),
	METHOD("close", run_close, METH_NOARGS, "Frees the run."), {NULL, NULL, 0, NULL}};

static PyGetSetDef getters[] = {
	{"interval", (getter)get_interval, NULL, "ns between reports; 0: none", NULL},
	{"command_status", (getter)get_status, NULL, "exit status of the command", NULL},
	{"closed", (getter)get_closed, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, run_new}, {Py_tp_dealloc, run_free},
	{Py_tp_methods, methods}, {Py_tp_getset, getters}, {0, NULL}};

static PyType_Spec spec = {"attar._attar.Run", sizeof(struct run), 0, Py_TPFLAGS_DEFAULT, slots};

int run_init(PyObject *module)
{
	run_type = native_add_type(module, "Run", &spec);
	return run_type ? 0 : -1;
}
