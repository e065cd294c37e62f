/* SPDX-License-Identifier: MIT */
/* The resolver of symbol.h: one cache of symbols, and the mappings of recorded processes. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/symbol.h"
#include "elf_file.h"
#include "error.h"
#include "stack.h"
#include "symbol.h"

#define KERNEL_START UINT64_C(0xffff000000000000)

/* A stack that StackToHash() returned. */
struct result {
	struct result *next;
	struct Stack *stacks;
	struct Symbol **symbols;
	size_t n;
};

struct process {
	struct process *next;
	int pid;
	bool scanned; /* its mappings were read */
	bool lines;   /* symbols have source lines */
	struct attar_address_space *space;
	struct result *results;
};

static struct {
	pthread_mutex_t lock;
	struct attar_symbols *symbols;
	struct process *processes;
} resolver = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What follows, except the interface, is called with the lock. */

static int need_symbols(void)
{
	int r = resolver.symbols ? 0 : attar_symbols_new(NULL, &resolver.symbols);

	return r < 0 ? kp_fail_errno(r, COMMON_ERR_NOMEM) : SUCCESS;
}

/* 0 stands for the calling process. */
static int number_of(int pid)
{
	return pid == 0 ? getpid() : pid;
}

static struct process *find_process(int pid)
{
	struct process *p = resolver.processes;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static struct process *need_process(int pid)
{
	struct process *p = find_process(pid);

	if (p || need_symbols() != SUCCESS)
		return p;
	p = calloc(1, sizeof(*p));
	if (p)
		p->space = attar_address_space_new(resolver.symbols, pid);
	if (!p || !p->space) {
		free(p);
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		return NULL;
	}
	p->pid = pid;
	p->next = resolver.processes;
	return resolver.processes = p;
}

static void free_result(struct result *result)
{
	for (size_t i = 0; i < result->n; i++)
		FreeSymbolPtr(result->symbols[i]);
	free(result->symbols);
	free(result->stacks);
	free(result);
}

static void free_process(struct process *p)
{
	for (struct result *result = p->results, *next; result; result = next) {
		next = result->next;
		free_result(result);
	}
	attar_address_space_free(p->space);
	free(p);
}

static void forget_process(int pid)
{
	struct process **at = &resolver.processes;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	if (*at) {
		struct process *p = *at;

		*at = p->next;
		free_process(p);
	}
}

/* ---- symbols ---- */

/* A symbol in one piece of memory with copies of its strings. NULL: out of memory. */
static struct Symbol *copy_symbol(const struct Symbol *symbol)
{
	char *const texts[] = {
		symbol->module, symbol->symbolName, symbol->mangleName, symbol->fileName};
	size_t size = sizeof(*symbol);
	struct Symbol *copy;
	char **to, *at;

	for (size_t i = 0; i < 4; i++)
		size += texts[i] ? strlen(texts[i]) + 1 : 0;
	copy = malloc(size);
	if (!copy) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		return NULL;
	}
	*copy = *symbol;
	at = (char *)(copy + 1);
	to = &copy->module;
	for (size_t i = 0; i < 4; i++, to++)
		if (texts[i]) {
			*to = strcpy(at, texts[i]);
			at += strlen(at) + 1;
		}
	return copy;
}

static struct kp_frame frame_at(struct process *p, uint64_t ip, bool caller)
{
	struct kp_frame frame = {.ip = ip, .kernel = ip >= KERNEL_START, .caller = caller};

	frame.location = frame.kernel ? attar_location_kernel(ip - caller)
				      : attar_address_space_locate(p->space, ip - caller);
	return frame;
}

/* Without code at the address, the symbol is UNKNOWN, of the module. */
static struct Symbol *symbol_at(struct process *p, uint64_t ip, const char *module)
{
	struct kp_frame frame = frame_at(p, ip, false);
	struct Symbol symbol;

	kp_symbol_fill(resolver.symbols, &frame, &symbol);
	if (p->lines)
		kp_symbol_line(resolver.symbols, &frame, &symbol);
	if (attar_location_dso(frame.location) == ATTAR_DSO_UNKNOWN)
		symbol.module = (char *)module;
	return copy_symbol(&symbol);
}

void FreeSymbolPtr(struct Symbol *symbol)
{
	free(symbol);
}

/* ---- the interface ---- */

void SymResolverInit(void)
{
	kp_begin();
	pthread_mutex_lock(&resolver.lock);
	need_symbols();
	pthread_mutex_unlock(&resolver.lock);
}

void SymResolverDestroy(void)
{
	kp_begin();
	pthread_mutex_lock(&resolver.lock);
	while (resolver.processes)
		forget_process(resolver.processes->pid);
	resolver.symbols = attar_symbols_free(resolver.symbols);
	pthread_mutex_unlock(&resolver.lock);
}

int SymResolverRecordKernel(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long address = 0;
	int r;

	kp_begin();
	while (file && address == 0 && fscanf(file, "%lx %*[^\n]", &address) == 1)
		;
	if (file)
		fclose(file);
	if (address == 0)
		return kp_fail(LIBSYM_ERR_KALLSYMS_INVALID,
			"/proc/kallsyms has no addresses: see kernel.kptr_restrict, or use root");
	pthread_mutex_lock(&resolver.lock);
	r = need_symbols();
	pthread_mutex_unlock(&resolver.lock);
	return r;
}

/* The process is a zombie: it has no mappings. */
static bool has_ended(int pid)
{
	char path[64], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && !fgets(line, sizeof(line), file))
		*line = '\0';
	if (file)
		fclose(file);
	return strstr(line, ") Z ");
}

static int scan(int pid, bool again, bool lines)
{
	struct process *p = find_process(pid);
	bool is_new = !p;
	int r;

	if (p)
		p->lines |= lines;
	if (p && p->scanned && !again)
		return SUCCESS;
	p = need_process(pid);
	if (!p)
		return Perrorno();
	p->lines |= lines;
	r = attar_address_space_scan(p->space);
	if (r == 0 && !has_ended(pid)) {
		p->scanned = true;
		return SUCCESS;
	}
	if (is_new)
		forget_process(pid);
	if (r == 0)
		return kp_fail(LIBSYM_ERR_OPEN_FILE_FAILED,
			"cannot open /proc/%d/maps: the process has ended", pid);
	return kp_fail(LIBSYM_ERR_OPEN_FILE_FAILED, "cannot open /proc/%d/maps: %s", pid,
		r == -ESRCH ? "there is no such process" : attar_error());
}

static int record(int pid, bool again, bool lines)
{
	int r;

	kp_begin();
	if (pid < 0)
		return kp_fail(LIBSYM_ERR_PARAM_PID_INVALID, "%d is not a process", pid);
	pthread_mutex_lock(&resolver.lock);
	r = scan(number_of(pid), again, lines);
	pthread_mutex_unlock(&resolver.lock);
	return r;
}

int SymResolverRecordModule(int pid)
{
	return record(pid, false, true);
}

int SymResolverRecordModuleNoDwarf(int pid)
{
	return record(pid, false, false);
}

int SymResolverIncrUpdateModule(int pid)
{
	return record(pid, true, true);
}

int SymResolverIncrUpdateModuleNoDwarf(int pid)
{
	return record(pid, true, false);
}

/*
 * Maps the executable segments of a file; its lowest segment is loaded at start. Files of mappings
 * have absolute paths.
 */
static int map_file(struct process *p, const char *path, uint64_t start)
{
	struct elf_file file;
	uint64_t base = UINT64_MAX;
	char *absolute = NULL;
	int r = elf_file_read(path, &file);

	if (r == SUCCESS) {
		absolute = realpath(path, NULL);
		r = absolute ? SUCCESS
			     : kp_fail(LIBSYM_ERR_OPEN_FILE_FAILED, "cannot open %s: %m", path);
	}

	for (size_t i = 0; r == SUCCESS && i < file.n; i++)
		if (file.segments[i].address < base)
			base = file.segments[i].address;
	for (size_t i = 0; r == SUCCESS && i < file.n; i++) {
		const struct elf_segment *segment = &file.segments[i];
		const struct attar_mapping mapping = {.start = start + segment->address - base,
			.len = segment->size,
			.pgoff = segment->offset,
			.path = absolute};

		if (!segment->executable)
			continue;
		if (mapping.start < start)
			r = kp_fail(LIBSYM_ERR_FILE_INVALID,
				"the file %s does not fit into memory at 0x%lx: use a lower "
				"address",
				path, (unsigned long)start);
		else if (attar_address_space_map(p->space, &mapping) < 0)
			r = kp_fail(LIBSYM_ERR_FILE_INVALID, "%s", attar_error());
	}
	free(absolute);
	elf_file_done(&file);
	return r;
}

static int update(int pid, const char *path, unsigned long start, bool lines)
{
	struct elf_file file;
	int r;

	kp_begin();
	if (pid < 0)
		return kp_fail(LIBSYM_ERR_PARAM_PID_INVALID, "%d is not a process", pid);
	pid = number_of(pid);
	pthread_mutex_lock(&resolver.lock);
	r = elf_file_read(path, &file);
	elf_file_done(&file);
	if (r == SUCCESS)
		r = scan(pid, false, lines);
	if (r == SUCCESS)
		r = map_file(find_process(pid), path, start);
	pthread_mutex_unlock(&resolver.lock);
	return r;
}

int SymResolverUpdateModule(int pid, const char *path, unsigned long start)
{
	return update(pid, path, start, true);
}

int SymResolverUpdateModuleNoDwarf(int pid, const char *path, unsigned long start)
{
	return update(pid, path, start, false);
}

static int record_file(const char *path, bool need_lines)
{
	struct elf_file file;
	int r;

	kp_begin();
	r = elf_file_read(path, &file);
	if (r == SUCCESS && need_lines && !file.has_lines)
		r = kp_fail(LIBSYM_ERR_DWARF_FORMAT_FAILED,
			"%s has no source lines (section .debug_line): compile it with -g", path);
	elf_file_done(&file);
	return r;
}

int SymResolverRecordElf(const char *path)
{
	return record_file(path, false);
}

int SymResolverRecordDwarf(const char *path)
{
	return record_file(path, true);
}

/* The process of an address; NULL: the call has failed. Any process has the kernel's addresses. */
static struct process *process_for(int pid, uint64_t ip)
{
	struct process *p = ip >= KERNEL_START ? need_process(pid) : find_process(pid);

	if (ip < KERNEL_START && p && !p->scanned)
		p = NULL;
	if (ip < KERNEL_START && !p)
		kp_fail(LIBSYM_ERR_NOT_FIND_PID,
			"the process %d is not recorded: call SymResolverRecordModule() first",
			pid);
	return p;
}

struct Symbol *SymResolverMapAddr(int pid, unsigned long ip)
{
	struct Symbol *symbol = NULL;
	struct process *p;

	kp_begin();
	pid = number_of(pid);
	pthread_mutex_lock(&resolver.lock);
	p = process_for(pid, ip);
	if (p && ip < KERNEL_START &&
		attar_location_dso(attar_address_space_locate(p->space, ip)) == ATTAR_DSO_UNKNOWN)
		kp_fail(LIBSYM_ERR_MAP_ADDR_MODULE_FAILED, "the process %d has no code at 0x%lx",
			pid, ip);
	else if (p)
		symbol = symbol_at(p, ip, NULL);
	pthread_mutex_unlock(&resolver.lock);
	return symbol;
}

/* The functions at an address. Returns their number, at least 1. */
static size_t functions_at(
	struct process *p, uint64_t ip, bool caller, struct Symbol found[static KP_MOST_INLINED])
{
	struct kp_frame frame = frame_at(p, ip, caller);

	if (p->lines)
		return kp_symbols_fill(resolver.symbols, &frame, found);
	kp_symbol_fill(resolver.symbols, &frame, found);
	return 1;
}

static int add_symbols(struct result *result, const struct Symbol *found, size_t n)
{
	struct Symbol **symbols =
		reallocarray(result->symbols, result->n + n, sizeof(struct Symbol *));

	if (!symbols)
		return -ENOMEM;
	result->symbols = symbols;
	for (size_t i = 0; i < n; i++) {
		symbols[result->n] = copy_symbol(&found[i]);
		if (!symbols[result->n])
			return -ENOMEM;
		result->n++;
	}
	return 0;
}

/* NULL: out of memory. */
static struct result *new_result(struct process *p, const unsigned long *ips, size_t n)
{
	struct result *result = calloc(1, sizeof(*result));
	struct Symbol found[KP_MOST_INLINED];
	int r = result ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_symbols(result, found, functions_at(p, ips[i], i > 0, found));
	if (r == 0)
		result->stacks =
			aligned_alloc(_Alignof(struct Stack), result->n * sizeof(*result->stacks));
	if (r < 0 || !result->stacks) {
		if (result)
			free_result(result);
		return NULL;
	}
	for (size_t i = 0; i < result->n; i++)
		result->stacks[i] = (struct Stack){.symbol = result->symbols[i],
			.next = i + 1 < result->n ? &result->stacks[i + 1] : NULL,
			.prev = i > 0 ? &result->stacks[i - 1] : NULL};
	return result;
}

struct Stack *StackToHash(int pid, unsigned long *ips, int n)
{
	struct result *result = NULL;
	struct process *p;

	kp_begin();
	if (!ips || n <= 0) {
		kp_fail(LIBPERF_ERR_NULL_POINTER, "StackToHash(): there are no addresses");
		return NULL;
	}
	pthread_mutex_lock(&resolver.lock);
	p = need_process(number_of(pid)); /* without mappings, functions are UNKNOWN */
	if (p) {
		result = new_result(p, ips, (size_t)n);
		if (!result)
			kp_fail(COMMON_ERR_NOMEM, "out of memory");
	}
	if (result) {
		result->next = p->results;
		p->results = result;
	}
	pthread_mutex_unlock(&resolver.lock);
	return result ? result->stacks : NULL;
}

void FreeModuleData(int pid)
{
	kp_begin();
	pthread_mutex_lock(&resolver.lock);
	forget_process(number_of(pid));
	pthread_mutex_unlock(&resolver.lock);
}

/* A process that has mapped the file at its own addresses resolves those. */
struct Symbol *SymResolverMapCodeAddr(const char *path, unsigned long address)
{
	struct process own = {.lines = true};
	struct Symbol *symbol = NULL;
	struct elf_file file;
	uint64_t lowest = UINT64_MAX;

	kp_begin();
	if (path && (*path == '[' || address >= KERNEL_START)) {
		kp_fail(LIBSYM_ERR_MAP_CODE_KERNEL_NOT_SUPPORT, "%s is not a file", path);
		return NULL;
	}
	if (elf_file_read(path, &file) != SUCCESS)
		return NULL;
	for (size_t i = 0; i < file.n; i++)
		if (file.segments[i].address < lowest)
			lowest = file.segments[i].address;
	elf_file_done(&file);
	pthread_mutex_lock(&resolver.lock);
	if (need_symbols() == SUCCESS)
		own.space = attar_address_space_new(resolver.symbols, getpid());
	if (own.space && map_file(&own, path, lowest) == SUCCESS)
		symbol = symbol_at(&own, address, path);
	attar_address_space_free(own.space);
	pthread_mutex_unlock(&resolver.lock);
	return symbol;
}

int SymGetBuildId(const char *path, char **ret_id)
{
	struct elf_file file;
	char *id;
	int r;

	kp_begin();
	if (!ret_id)
		return kp_fail(LIBPERF_ERR_NULL_POINTER, "SymGetBuildId(): buildId is NULL");
	r = elf_file_read(path, &file);
	elf_file_done(&file);
	if (r != SUCCESS)
		return kp_fail(r == LIBSYM_ERR_ELFIN_FOMAT_FAILED ? LIBSYM_ERR_READ_BUILDID
								  : LIBSYM_ERR_OPEN_FILE_FAILED,
			"cannot open a file with a build ID: %s", Perror());
	if (file.build_id_size == 0)
		return kp_fail(LIBSYM_ERR_READ_BUILDID, "%s has no build ID", path);
	id = malloc(file.build_id_size * 2 + 1);
	if (!id)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (size_t i = 0; i < file.build_id_size; i++)
		sprintf(id + i * 2, "%02x", file.build_id[i]);
	*ret_id = id;
	return SUCCESS;
}
