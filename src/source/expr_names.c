/* SPDX-License-Identifier: MIT */
#include "source/expr_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "stream/stream.h"

/* Copies a string of up to max bytes; NULL has none. */
static size_t expr_name_copy(const char *name, char *ret_text, size_t max)
{
	size_t n = name ? strnlen(name, max) : 0;

	memcpy(ret_text, name ? name : "", n);
	return n;
}

size_t expr_name_code(
	struct attar_symbols *symbols, attar_location location, char *ret_text, size_t max)
{
	struct attar_symbol symbol;

	if (attar_symbols_resolve(symbols, location, &symbol) < 0)
		return 0;
	return expr_name_copy(symbol.name, ret_text, max);
}

size_t expr_name_user(struct attar_symbols *symbols, const struct attar_stream *stream, pid_t tid,
	uint64_t address, char *ret_text, size_t max)
{
	struct attar_thread *thread = stream ? stream_thread(stream, tid) : NULL;

	return thread ? expr_name_code(symbols, attar_thread_locate(thread, address), ret_text, max)
		      : 0;
}

/* A thread that has had no event of the stream. Adding it to the table could free others. */
static size_t name_in_proc(struct attar_stream *s, pid_t tid, char *ret_text, size_t max)
{
	struct proc_name *name = &s->proc_names[(uint32_t)tid % ARRAY_SIZE(s->proc_names)];
	char path[64];
	ssize_t n = 0;
	int fd;

	if (name->tid != tid || s->delivered - name->read_at >= PROC_NAME_NS) {
		snprintf(path, sizeof(path), "/proc/%d/comm", tid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			n = read(fd, name->comm, sizeof(name->comm));
			close(fd);
		}
		name->tid = tid;
		name->read_at = s->delivered;
		name->size = n > 1 ? (uint8_t)(n - 1) : 0; /* without the newline */
	}
	memcpy(ret_text, name->comm, MIN(name->size, max));
	return MIN(name->size, max);
}

size_t expr_name_comm(struct attar_stream *stream, pid_t tid, char *ret_text, size_t max)
{
	struct attar_thread *thread = stream ? stream_thread(stream, tid) : NULL;

	if (stream && !thread && tid > 0 && stream->procs.live && proc_has_first_pids())
		return name_in_proc(stream, tid, ret_text, max);
	return expr_name_copy(thread ? thread->comm : NULL, ret_text, max);
}

/* Modules are "[name]" in the cache; the kernel's print formats put the brackets themselves. */
static const char *module_of(const char *dso, char *ret_name, size_t max)
{
	size_t n = strlen(dso);

	if (n < 2 || n - 2 >= max || dso[0] != '[' || !strcmp(dso, "[kernel.kallsyms]"))
		return NULL;
	memcpy(ret_name, dso + 1, n - 2);
	ret_name[n - 2] = '\0';
	return ret_name;
}

bool expr_name_function(struct attar_symbols *symbols, attar_location location, uint64_t address,
	struct attar_kernel_name *ret_name)
{
	static __thread char module[64];
	struct attar_symbol symbol;

	if ((int64_t)address >= 0 || !symbols ||
		attar_symbols_resolve(symbols, location, &symbol) < 0)
		return false;
	*ret_name = (struct attar_kernel_name){.name = symbol.mangled,
		.module = module_of(symbol.dso, module, sizeof(module)),
		.start = address - symbol.offset};
	return true;
}
