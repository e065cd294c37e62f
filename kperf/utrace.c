/* SPDX-License-Identifier: MIT */
/* Calls of functions of programs and of the kernel, and their returns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "error.h"
#include "trace.h"

enum { MOST_FUNCTIONS = 1 << 12 };

struct utrace {
	struct kp_rows rows; /* struct UTraceData */
	size_t n_functions;
	const char **modules, **functions; /* of the origin */
};

static void free_utrace(void *own)
{
	struct utrace *u = own;

	free(u->modules);
	free(u->functions);
	free(u->rows.array);
	free(u);
}

/* Each function is two events: its entry, then its return. */
static int add_event(void *ctx, const struct attar_event *event, struct kp_list *memory)
{
	struct utrace *u = ctx;
	struct UTraceData *row = kp_rows_add(&u->rows);
	const char *comm = kp_rows_comm(memory, event);

	if (!row || !comm)
		return -ENOMEM;
	*row = (struct UTraceData){
		.addr = event->record->sample.ip,
		.comm = comm,
		.tid = event->thread->tid,
		.cpu = (int)event->cpu,
		.timestamp = (int64_t)event->time,
		.module = u->modules[event->counter / 2],
		.func = u->functions[event->counter / 2],
		.isRet = event->counter % 2,
	};
	return 0;
}

static int check_attr(const struct UTraceAttr *attr)
{
	const struct PmuAttr lists = {.pidList = attr->pidList,
		.numPid = attr->numPid,
		.cpuList = attr->cpuList,
		.numCpu = attr->numCpu};

	if (attr->numSym == 0 || attr->numSym > MOST_FUNCTIONS || !attr->symSrc)
		return kp_fail(LIBPERF_ERR_NULL_POINTER,
			"numSym is %u, but symSrc does not have that many functions", attr->numSym);
	for (unsigned i = 0; i < attr->numSym; i++) {
		const struct SymbolSource *source = &attr->symSrc[i];

		if (!source->moduleName || !source->symbolName || strchr(source->moduleName, '"'))
			return kp_fail(LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED,
				"symSrc: function %u has no module or name", i);
	}
	if (attr->fetchG)
		return kp_fail(LIBPERF_ERR_KERNEL_NOT_SUPPORT,
			"fetchG: the goroutine is not supported yet by this library");
	return kp_check_lists(&lists);
}

/* Functions of the kernel and its modules have one of these as their file. */
static bool is_kernel(const char *module)
{
	static const char *const names[] = {"[kernel]", "kernel", "vmlinux"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(module, names[i]) == 0)
			return true;
	return false;
}

/* "uprobe:FUNCTION@"FILE"", "kretprobe:FUNCTION"; NULL: out of memory. The caller frees it. */
static char *make_probe(const struct SymbolSource *source, bool is_ret)
{
	const char *ret = is_ret ? "ret" : "";
	char *text;
	int n = is_kernel(source->moduleName)
			? asprintf(&text, "k%sprobe:%s", ret, source->symbolName)
			: asprintf(&text, "u%sprobe:%s@\"%s\"", ret, source->symbolName,
				  source->moduleName);

	return n < 0 ? NULL : text;
}

/* The file and the function exist. False: it is left out, with a warning. */
static bool is_function(struct kp_task *task, const struct SymbolSource *source, const char *entry)
{
	bool kernel = is_kernel(source->moduleName);
	struct attar_event_list *list;
	struct elf_file file = {0};
	int r = kernel ? SUCCESS : elf_file_read(source->moduleName, &file);
	bool is_readable = r == SUCCESS;

	elf_file_done(&file);
	if (is_readable && attar_event_list_parse(task->origin->catalog, entry, &list) == 0) {
		attar_event_list_free(list);
		return true;
	}
	kp_warn(kernel ? LIBPERF_WARN_UTRACE_KERNEL_FAILED : LIBPERF_WARN_UTRACE_ELF_SCAN_FAILED,
		"%s of %s is left out: %s", source->symbolName, source->moduleName,
		is_readable ? attar_error() : Perror());
	return false;
}

/* The names of a probe of the function's entry and of one of its return. */
static int add_function(struct kp_task *task, struct utrace *u, const struct SymbolSource *source,
	char **names, size_t *n_names)
{
	char *entry = make_probe(source, false), *ret = make_probe(source, true);

	if (!entry || !ret || !is_function(task, source, entry)) {
		int r = entry && ret ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");

		free(entry);
		free(ret);
		return r;
	}
	names[(*n_names)++] = entry;
	names[(*n_names)++] = ret;
	u->modules[u->n_functions] = kp_origin_text(task->origin, source->moduleName);
	u->functions[u->n_functions] = kp_origin_text(task->origin, source->symbolName);
	u->n_functions++;
	return SUCCESS;
}

/* None of the functions is left. */
static int fail_functions(const struct UTraceAttr *attr)
{
	bool kernel = true;

	for (unsigned i = 0; i < attr->numSym; i++)
		kernel &= is_kernel(attr->symSrc[i].moduleName);
	return kp_fail(
		kernel ? LIBPERF_ERR_KERNEL_TRACE_FAILED : LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED,
		"none of the functions can be traced: see the warning");
}

static int open_names(
	struct kp_task *task, const struct UTraceAttr *attr, char **names, size_t n_names)
{
	const struct PmuAttr pmu = {.evtList = names,
		.numEvt = (unsigned)n_names,
		.pidList = attr->pidList,
		.numPid = attr->numPid,
		.cpuList = attr->cpuList,
		.numCpu = attr->numCpu};
	int r;

	if (n_names == 0)
		return fail_functions(attr);
	r = kp_open_target(task, &pmu);
	if (r == SUCCESS && kp_open_events(task, &pmu) != SUCCESS)
		r = kp_fail(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED, "%s", attar_error());
	if (r == SUCCESS && task->n_counters != n_names)
		r = kp_fail(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED,
			"the kernel refuses a probe: %s", GetWarnMsg());
	return r;
}

static int open_trace(struct kp_task *task, const void *of_kind)
{
	const struct UTraceAttr *attr = of_kind;
	char **names = calloc(attr->numSym * 2, sizeof(*names));
	struct utrace *u = calloc(1, sizeof(*u));
	size_t n_names = 0;
	int r = SUCCESS;

	task->own = u;
	task->free_own = u ? free_utrace : NULL;
	if (u) {
		u->rows.row_size = sizeof(struct UTraceData);
		u->modules = calloc(attr->numSym, sizeof(*u->modules));
		u->functions = calloc(attr->numSym, sizeof(*u->functions));
	}
	if (!names || !u || !u->modules || !u->functions)
		r = kp_fail(COMMON_ERR_NOMEM, "out of memory");
	pthread_mutex_lock(&task->origin->lock);
	for (unsigned i = 0; i < attr->numSym && r == SUCCESS; i++)
		r = add_function(task, u, &attr->symSrc[i], names, &n_names);
	if (r == SUCCESS)
		r = open_names(task, attr, names, n_names);
	pthread_mutex_unlock(&task->origin->lock);
	for (size_t i = 0; names && i < attr->numSym * 2; i++)
		free(names[i]);
	free(names);
	return r == SUCCESS ? kp_sample_open(task) : r;
}

int UTraceOpen(struct UTraceAttr *attr)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true, .inherited = true};

	kp_begin();
	if (!attr)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "UTraceOpen(): attr is NULL");
	if (check_attr(attr) != SUCCESS)
		return -1;
	return kp_trace_open(KP_KIND_UTRACE, &opts, open_trace, attr);
}

int UTraceEnable(int pd)
{
	return kp_task_call(pd, KP_KIND_UTRACE, kp_task_enable);
}

int UTraceDisable(int pd)
{
	return kp_task_call(pd, KP_KIND_UTRACE, kp_task_disable);
}

int UTraceRead(int pd, struct UTraceData **data)
{
	int n;

	kp_begin();
	if (!data)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "UTraceRead(): traceData is NULL");
	*data = kp_trace_read(pd, KP_KIND_UTRACE, add_event, &n);
	return n;
}

void UTraceDataFree(struct UTraceData *data)
{
	kp_list_release(data, "UTraceDataFree");
}

void UTraceClose(int pd)
{
	kp_begin();
	kp_task_remove(pd, KP_KIND_UTRACE);
}
