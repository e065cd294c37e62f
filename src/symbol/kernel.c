/* SPDX-License-Identifier: MIT */
#include "symbol/kernel.h"

#include "base/file.h"

enum { MAX_LATE = 65536 };

static int64_t sysctl(const char *path)
{
	int64_t value;

	return file_read_i64(path, &value) < 0 ? -1 : value;
}

/* The kernel shows addresses to CAP_SYSLOG, or to all when kptr_restrict is 0 and perf is free for
 * all. */
static void note_hidden(const struct kernel *kernel)
{
	int64_t kptr = sysctl("/proc/sys/kernel/kptr_restrict");
	int64_t paranoid = sysctl("/proc/sys/kernel/perf_event_paranoid");

	log_note("kernel functions have no names: %s hides its addresses (kernel.kptr_restrict=%d, "
		 "kernel.perf_event_paranoid=%d); %s, or set kernel.kptr_restrict=0 and "
		 "kernel.perf_event_paranoid=1",
		kernel->path, (int)kptr, (int)paranoid,
		kptr > 1 ? "no user may see them while kptr_restrict is 2: set it to 1"
			 : "run as root or with CAP_SYSLOG");
}

static void load(struct kernel *kernel)
{
	int r;

	kernel->tried = true;
	if (!kernel->path)
		return;
	r = kallsyms_read(&kernel->list, kernel->path);
	kernel->known = r == 0;
	if (r == -EACCES && kernel->list.lines)
		note_hidden(kernel);
	else if (r < 0)
		log_note("kernel functions have no names: %s", attar_error());
	if (r < 0)
		kallsyms_done(&kernel->list);
}

/* The first late symbol that ends after address. */
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
		.owner = strncmp(symbol->name, "bpf_", 4) ? "[kernel.kallsyms]" : "[bpf]",
		.start = symbol->start,
		.size = symbol->len,
	};
	return true;
}

bool kernel_find(struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit)
{
	struct kallsyms_hit hit;

	if (find_late(kernel, address, ret_hit))
		return true;
	if (!kernel->tried)
		load(kernel);
	if (!kernel->known || !kallsyms_find(&kernel->list, address, &hit))
		return false;
	*ret_hit = (struct kernel_hit){
		.name = hit.name,
		.owner = hit.owner ?: "[kernel.kallsyms]",
		.start = hit.start,
		.size = hit.size,
	};
	return true;
}

int kernel_add(struct kernel *kernel, uint64_t start, uint32_t len, const char *name)
{
	size_t first, last;

	if (!len || start + len < start)
		return attar_fail(-EINVAL, "kernel symbol '%s' has no extent", name);
	first = last = late_index(kernel, start);
	while (last < kernel->late.n && kernel->late.at[last].start < start + len)
		last++;
	if (first == last) {
		if (kernel->late.n >= MAX_LATE)
			return attar_fail(
				-ENOSPC, "more than %d kernel symbols came and went", MAX_LATE);
		if (vec_reserve(&kernel->late, 1) < 0)
			return base_oom();
		last = first + 1;
		memmove(kernel->late.at + last, kernel->late.at + first,
			(kernel->late.n - first) * sizeof(*kernel->late.at));
		kernel->late.n++;
	}
	kernel->late.at[first] = (struct kernel_symbol){start, len, name};
	memmove(kernel->late.at + first + 1, kernel->late.at + last,
		(kernel->late.n - last) * sizeof(*kernel->late.at));
	kernel->late.n -= last - first - 1;
	return 0;
}

void kernel_done(struct kernel *kernel)
{
	kallsyms_done(&kernel->list);
	vec_done(&kernel->late);
}
