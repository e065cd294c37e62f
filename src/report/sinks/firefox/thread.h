/* SPDX-License-Identifier: MIT */
/*
 * A thread of a profile for the Firefox Profiler, in the format of report/sinks/firefox/firefox.c:
 * the stacks of a thread as tables, its samples, and its rows of the time line as markers.
 *
 *	struct firefox_thread t _cleanup_(firefox_thread_done) = {.tree = tree};
 *	firefox_thread_add_node(&t, ...) for each node, parents first
 *	vec_push(&t.samples, ...);
 *	firefox_thread_begin(b, name, pid, tid);
 *	firefox_thread_end(b, &t, rows, n, began);
 */
#ifndef REPORT_SINKS_FIREFOX_THREAD_H
#define REPORT_SINKS_FIREFOX_THREAD_H

#include "base/map.h"
#include "report/model/spans.h"

struct firefox_node {
	uint32_t number; /* in the tree */
	int64_t parent;  /* index in the thread; -1: none */
	uint32_t function;
	const struct tree_source *source; /* NULL: none */
};

struct firefox_function {
	uint32_t name, module, file; /* strings of the thread */
};

struct firefox_sample {
	uint32_t node; /* index in the thread; FIREFOX_NO_STACK */
	uint64_t weight;
	double time;   /* ms since the report began */
	double cpu_ns; /* time on a CPU since the sample before */
};
#define FIREFOX_NO_STACK UINT32_MAX

/* A thread with nodes of the tree, and its tables. */
struct firefox_thread {
	struct attar_section *tree; /* NULL: markers only */
	bool has_cpu;               /* samples have times on a CPU */
	VEC(struct firefox_node) nodes;
	VEC(struct firefox_function) functions;
	VEC(uint32_t) modules; /* strings */
	VEC(struct firefox_sample) samples;
	struct map function_of, module_of;
	struct intern strings;
};

void firefox_thread_done(struct firefox_thread *t);

/*
 * Adds a node of the tree. local: the index in the thread of each node of the tree
 * that was added. Returns 0 or -ENOMEM.
 */
int firefox_thread_add_node(struct firefox_thread *t, uint32_t number,
	const struct tree_source *source, const uint32_t *local);

/* Appends the thread as a JSON object: its begin, then the rest, with n rows. */
void firefox_thread_begin(struct buf *b, const char *name, uint32_t pid, uint32_t tid);
int firefox_thread_end(struct buf *b, struct firefox_thread *t, const struct span_row *rows,
	size_t n, uint64_t began);

#endif
