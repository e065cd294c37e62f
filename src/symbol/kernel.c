/* SPDX-License-Identifier: MIT */
#include "symbol/kernel.h"

#include "base/file.h"
#include "symbol/kernel_cache.h"

enum { MAX_LATE = 65536, MAX_MODULES = 4 << 20 /* bytes of /proc/modules */ };

/* Modules are looked for so often, after so many times at once. */
#define CHECK_NS 100000000ULL
enum { CHECKS_AT_ONCE = 10 };

/* Reference counts and users change without the code: "ext4 1003520 2 loop, Live 0xffff..." */
static bool is_of_code(unsigned column)
{
	return column != 2 && column != 3;
}

/* A hash of the loaded modules, their sizes, states and addresses. */
static uint64_t loaded_modules(const struct kernel *kernel)
{
	struct buf text _cleanup_(buf_done) = {0};
	uint64_t hash = 0;
	unsigned column = 0;

	if (file_read(kernel->modules_path ?: "/proc/modules", MAX_MODULES, &text) < 0)
		return 0;
	for (const char *c = buf_text(&text); *c; c++) {
		if (is_of_code(column))
			hash = base_hash64(hash ^ (unsigned char)*c);
		column = *c == '\n' ? 0 : column + (*c == ' ');
	}
	return hash;
}

static int64_t sysctl(const char *path)
{
	int64_t value;

	return file_read_i64(path, &value) < 0 ? -1 : value;
}

/*
 * Addresses are visible with CAP_SYSLOG, or to all users if kptr_restrict is 0 and
 * perf_event_paranoid allows it. Suggest only changes of settings that hide them.
 */
static void note_hidden(const struct kernel *kernel)
{
	int64_t kptr = sysctl("/proc/sys/kernel/kptr_restrict");
	int64_t paranoid = sysctl("/proc/sys/kernel/perf_event_paranoid");
	const char *both = kptr && paranoid > 1 ? " and " : "";

	log_note("kernel functions are not resolved: %s hides its addresses "
		 "(kernel.kptr_restrict=%d, kernel.perf_event_paranoid=%d); %s%s%s%s%s",
		kernel->path, (int)kptr, (int)paranoid,
		kptr > 1 ? "kptr_restrict=2 hides them from all users: set it to 1"
			 : "run as root or with CAP_SYSLOG",
		kptr || paranoid > 1 ? ", or set " : "", kptr ? "kernel.kptr_restrict=0" : "", both,
		paranoid > 1 ? "kernel.perf_event_paranoid=1" : "");
}

/* Takes the cached functions, for which kallsyms is not read. */
static bool load_cached(struct kernel *kernel)
{
	const struct kernel_cache_key key = {kernel->path, loaded_modules(kernel)};

	kernel->modules = key.modules;
	kernel->is_cached =
		kernel->cache && kernel_cache_read(kernel->cache, &key, &kernel->lists[kernel->n]);
	kernel->n += kernel->is_cached;
	return kernel->is_cached;
}

static void store(const struct kernel *kernel)
{
	const struct kernel_cache_key key = {kernel->path, loaded_modules(kernel)};

	if (kernel->cache && key.modules == kernel->modules)
		kernel_cache_write(kernel->cache, &key, &kernel->lists[kernel->n - 1]);
}

static void kernel_load(struct kernel *kernel)
{
	struct kallsyms *list = &kernel->lists[kernel->n];
	bool was_cached = kernel->is_cached;
	int r;

	kernel->is_cached = false;
	kernel->modules = loaded_modules(kernel);
	r = kallsyms_read(list, kernel->path);
	if (r == -EACCES && list->lines)
		note_hidden(kernel);
	else if (r < 0)
		log_note("kernel functions are not resolved: %s", attar_error());
	if (r < 0)
		kallsyms_done(list);
	else
		kernel->n++;
	if (r == 0 && !was_cached)
		store(kernel);
}

/*
 * Code of a module can run right after another unknown address was looked up. Many addresses can be
 * unknown.
 */
static bool may_check(struct kernel *kernel)
{
	uint64_t now = base_now();

	if (now - kernel->checked_to > CHECKS_AT_ONCE * CHECK_NS)
		kernel->checked_to = now - CHECKS_AT_ONCE * CHECK_NS;
	if (now - kernel->checked_to < CHECK_NS)
		return false;
	kernel->checked_to += CHECK_NS;
	return true;
}

/*
 * Reads kallsyms on first use, or before it the cache, which lacks some functions. If an address is
 * not found later, modules may have been loaded: kallsyms is then read again, and old lists are
 * kept for symbols of unloaded modules.
 */
static bool load_more(struct kernel *kernel)
{
	unsigned n = kernel->n;

	kernel->refused |= !kernel->path && !kernel->n;
	if (!kernel->path || kernel->n == KERNEL_MAX_LISTS)
		return false;
	if (!kernel->tried && load_cached(kernel)) {
		kernel->tried = true;
		return true;
	}
	if (kernel->tried && !kernel->is_cached) {
		if (!kernel->n || !may_check(kernel) || loaded_modules(kernel) == kernel->modules)
			return false;
	}
	kernel->tried = true;
	kernel_load(kernel);
	return kernel->n > n;
}

/* The index of the first late symbol that ends after address. */
static size_t late_index(const struct kernel *kernel, uint64_t address)
{
	size_t low = 0, high = kernel->late.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kernel->late.at[middle].start + kernel->late.at[middle].len > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool find_late(const struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit)
{
	size_t i = late_index(kernel, address);
	const struct kernel_symbol *symbol;

	if (i == kernel->late.n)
		return false;
	symbol = &kernel->late.at[i];
	if (address < symbol->start)
		return false;
	*ret_hit = (struct kernel_hit){
		.name = symbol->name,
		.owner = symbol->owner                      ? symbol->owner
			 : strncmp(symbol->name, "bpf_", 4) ? "[kernel.kallsyms]"
							    : "[bpf]",
		.start = symbol->start,
		.size = symbol->len,
	};
	return true;
}

static bool find_listed(const struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit)
{
	struct kallsyms_hit hit;

	for (unsigned i = kernel->n; i--;) {
		if (!kallsyms_find(&kernel->lists[i], address, &hit))
			continue;
		*ret_hit = (struct kernel_hit){
			.name = hit.name,
			.owner = hit.owner ?: "[kernel.kallsyms]",
			.start = hit.start,
			.size = hit.size,
		};
		return true;
	}
	return false;
}

bool kernel_find(struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit)
{
	if (find_late(kernel, address, ret_hit) || find_listed(kernel, address, ret_hit))
		return true;
	while (!(kernel->tried && address == UINT64_MAX) && load_more(kernel))
		if (find_listed(kernel, address, ret_hit))
			return true;
	return false;
}

int kernel_add(struct kernel *kernel, const struct kernel_symbol *symbol)
{
	uint64_t end = symbol->start + symbol->len;
	size_t first, last;

	if (end <= symbol->start)
		return attar_fail(-EINVAL, "kernel symbol '%s' is empty or its range overflows",
			CLIP(symbol->name));
	first = last = late_index(kernel, symbol->start);
	while (last < kernel->late.n && kernel->late.at[last].start < end)
		last++;
	if (first == last) {
		if (kernel->late.n >= MAX_LATE)
			return attar_fail(
				-ENOSPC, "more than %d kernel symbols were added", MAX_LATE);
		if (vec_reserve(&kernel->late, 1) < 0)
			return base_oom();
		last = first + 1;
		memmove(kernel->late.at + last, kernel->late.at + first,
			(kernel->late.n - first) * sizeof(*kernel->late.at));
		kernel->late.n++;
	}
	kernel->late.at[first] = *symbol;
	memmove(kernel->late.at + first + 1, kernel->late.at + last,
		(kernel->late.n - last) * sizeof(*kernel->late.at));
	kernel->late.n -= last - first - 1;
	return 0;
}

int kernel_add_list(struct kernel *kernel, const char *kallsyms, size_t n)
{
	struct kallsyms *list = &kernel->lists[kernel->n];
	int r = kallsyms_parse(list, kallsyms, n);

	if (r < 0)
		kallsyms_done(list);
	else
		kernel->n++;
	return r;
}

void kernel_done(struct kernel *kernel)
{
	while (kernel->n)
		kallsyms_done(&kernel->lists[--kernel->n]);
	vec_done(&kernel->late);
}
