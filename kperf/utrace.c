/* SPDX-License-Identifier: MIT */
/* Calls of functions of programs and of the kernel, and their returns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"
#include "attar/format.h"
#include "elf_file.h"
#include "error.h"
#include "trace.h"

enum { MOST_FUNCTIONS = 1 << 12 };

/*
 * The register with the runtime.g of the goroutine, in all of a Go function: R14 of the internal
 * calling convention since Go 1.17 on x86-64, R28 on arm64 (src/cmd/compile/abi-internal.md).
 */
#if defined(__x86_64__)
#define GOROUTINE "%r14"
#elif defined(__aarch64__)
#define GOROUTINE "%x28"
#else
#define GOROUTINE ""
#endif

/* Where a function begins, or one of the places where it returns; the number is its counter's. */
struct probe {
	const char *module, *function; /* of the origin */
	bool is_ret;
	const struct attar_field *g; /* of a Go function, with fetchG; else NULL */
};

struct utrace {
	struct kp_rows rows; /* struct UTraceData */
	size_t n, room;
	struct probe *probes;
	char **names; /* of their events */
};

static void free_utrace(void *own)
{
	struct utrace *u = own;

	for (size_t i = 0; i < u->n; i++)
		free(u->names[i]);
	free(u->names);
	free(u->probes);
	free(u->rows.array);
	free(u);
}

static int add_event(void *ctx, const struct attar_event *event, struct kp_list *memory)
{
	struct utrace *u = ctx;
	struct UTraceData *row = kp_rows_add(&u->rows);
	const char *comm = kp_rows_comm(memory, event);
	const struct probe *probe = &u->probes[event->counter];
	const struct attar_sample *sample = &event->record->sample;

	if (!row || !comm)
		return -ENOMEM;
	*row = (struct UTraceData){
		.addr = sample->ip,
		.comm = comm,
		.tid = event->thread->tid,
		.cpu = (int)event->cpu,
		.timestamp = (int64_t)event->time,
		.gPtr = probe->g ? attar_field_u64_at(probe->g, sample->raw, sample->raw_size, 0)
				 : 0,
		.module = probe->module,
		.func = probe->function,
		.isRet = probe->is_ret,
	};
	return 0;
}

static int check_attr(const struct UTraceAttr *attr)
{
	const struct PmuAttr lists = {.pidList = attr->pidList, .numPid = attr->numPid};

	if (attr->numSym == 0 || attr->numSym > MOST_FUNCTIONS || !attr->symSrc)
		return kp_fail(LIBPERF_ERR_NULL_POINTER,
			"numSym is %u, but symSrc does not have that many functions", attr->numSym);
	for (unsigned i = 0; i < attr->numSym; i++) {
		const struct SymbolSource *source = &attr->symSrc[i];

		if (!source->moduleName || !source->symbolName || strchr(source->moduleName, '"') ||
			strchr(source->symbolName, '"'))
			return kp_fail(LIBPERF_ERR_UTRACE_ELF_SCAN_FAILED,
				"symSrc: function %u has no module or name, or one with a quote",
				i);
	}
	if (attr->fetchG && !*GOROUTINE)
		return kp_fail(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED,
			"fetchG: probes know the goroutine on x86-64 and arm64 only");
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

/* What is probed of a function. */
struct place {
	const struct SymbolSource *source;
	const char *ret;      /* "ret": its return; "": an instruction of it */
	unsigned long offset; /* of the instruction */
	bool fetch_g;
};

/* uprobe:"FUNCTION"@"FILE", kretprobe:FUNCTION; NULL: out of memory. The caller frees it. */
static char *make_probe(const struct place *place)
{
	const struct SymbolSource *source = place->source;
	char *text;
	int n = is_kernel(source->moduleName)
			? asprintf(&text, "k%sprobe:%s", place->ret, source->symbolName)
			: asprintf(&text, "u%sprobe:\"%s\"+%lu@\"%s\"%s", place->ret,
				  source->symbolName, place->offset, source->moduleName,
				  place->fetch_g ? "//args=(g=" GOROUTINE ")/" : "");

	return n < 0 ? NULL : text;
}

static int grow(struct utrace *u)
{
	size_t room = u->room ? u->room * 2 : 16;
	struct probe *probes = reallocarray(u->probes, room, sizeof(*probes));
	char **names = probes ? reallocarray(u->names, room, sizeof(*names)) : NULL;

	u->probes = probes ? probes : u->probes;
	u->names = names ? names : u->names;
	u->room = names ? room : u->room;
	return names ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");
}

static int add_probe(struct kp_task *task, struct utrace *u, const struct place *place, bool is_ret)
{
	char *text;

	if (u->n == u->room && grow(u) != SUCCESS)
		return Perrorno();
	text = make_probe(place);
	if (!text)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	u->names[u->n] = text;
	u->probes[u->n++] = (struct probe){
		.module = kp_origin_text(task->origin, place->source->moduleName),
		.function = kp_origin_text(task->origin, place->source->symbolName),
		.is_ret = is_ret,
	};
	return SUCCESS;
}

/*
 * A return probe replaces the return address, which a Go program does not allow: it moves stacks,
 * and reads them. There, each instruction that returns has a probe.
 */
static int add_returns_of_go(struct kp_task *task, struct utrace *u, struct place *place)
{
	const struct SymbolSource *source = place->source;
	unsigned long *offsets;
	size_t n = kp_asm_returns(source->moduleName, source->symbolName, &offsets);
	int r = SUCCESS;

	if (n == 0)
		kp_warn(LIBPERF_WARN_UTRACE_ELF_SCAN_FAILED,
			"returns of %s of %s are left out: objdump (package binutils) finds none",
			source->symbolName, source->moduleName);
	for (size_t i = 0; i < n && r == SUCCESS; i++) {
		place->offset = offsets[i];
		r = add_probe(task, u, place, true);
	}
	free(offsets);
	return r;
}

static void warn_left_out(const struct SymbolSource *source, const char *reason)
{
	kp_warn(is_kernel(source->moduleName) ? LIBPERF_WARN_UTRACE_KERNEL_FAILED
					      : LIBPERF_WARN_UTRACE_ELF_SCAN_FAILED,
		"%s of %s is left out: %s", source->symbolName, source->moduleName, reason);
}

/* False: the file cannot be read. */
static bool read_file(const struct SymbolSource *source, bool *ret_is_go)
{
	struct elf_file file;

	*ret_is_go = false;
	if (is_kernel(source->moduleName))
		return true;
	if (elf_file_read(source->moduleName, &file) != SUCCESS) {
		warn_left_out(source, Perror());
		return false;
	}
	*ret_is_go = file.is_go;
	elf_file_done(&file);
	return true;
}

/* False: the function does not exist. */
static bool is_function(struct kp_task *task, const struct place *place)
{
	struct attar_event_list *list;
	char *text = make_probe(place);
	int r = text ? attar_event_list_parse(task->origin->catalog, text, &list) : -ENOMEM;

	free(text);
	if (r == 0)
		attar_event_list_free(list);
	else if (r == -ENOMEM)
		warn_left_out(place->source, "out of memory");
	else
		warn_left_out(place->source, attar_error_reason());
	return r == 0;
}

static int add_function(
	struct kp_task *task, struct utrace *u, const struct SymbolSource *source, bool fetch_g)
{
	struct place place = {.source = source, .ret = ""};
	bool is_go;
	int r;

	if (!read_file(source, &is_go))
		return SUCCESS;
	place.fetch_g = fetch_g && is_go;
	if (!is_function(task, &place))
		return SUCCESS;
	r = add_probe(task, u, &place, false);
	if (r != SUCCESS)
		return r;
	if (is_go)
		return add_returns_of_go(task, u, &place);
	place.ret = "ret";
	return add_probe(task, u, &place, true);
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

static int open_probes(struct kp_task *task, struct utrace *u, const struct UTraceAttr *attr)
{
	const struct PmuAttr pmu = {.evtList = u->names,
		.numEvt = (unsigned)u->n,
		.pidList = attr->pidList,
		.numPid = attr->numPid};
	int r;

	if (u->n == 0)
		return fail_functions(attr);
	r = kp_open_target(task, &pmu);
	if (r == SUCCESS && kp_open_events(task, &pmu) != SUCCESS)
		r = kp_fail(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED, "%s", attar_error());
	if (r == SUCCESS && task->n_counters != u->n)
		r = kp_fail(LIBPERF_ERR_UTRACE_PROBE_REGISTER_FAILED,
			"the kernel refuses a probe: %s", GetWarnMsg());
	for (size_t i = 0; r == SUCCESS && i < u->n; i++)
		if (task->counters[i].format)
			u->probes[i].g = attar_format_field(task->counters[i].format, "g");
	return r;
}

static int open_trace(struct kp_task *task, const void *of_kind)
{
	const struct UTraceAttr *attr = of_kind;
	struct utrace *u = calloc(1, sizeof(*u));
	int r = SUCCESS;

	if (!u)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	u->rows.row_size = sizeof(struct UTraceData);
	task->own = u;
	task->free_own = free_utrace;
	pthread_mutex_lock(&task->origin->lock);
	for (unsigned i = 0; i < attr->numSym && r == SUCCESS; i++)
		r = add_function(task, u, &attr->symSrc[i], attr->fetchG);
	if (r == SUCCESS)
		r = open_probes(task, u, attr);
	pthread_mutex_unlock(&task->origin->lock);
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
