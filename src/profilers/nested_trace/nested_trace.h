/* SPDX-License-Identifier: MIT */
/*
 * The state of nested-trace: the calls that have not returned, by key, and the call tree.
 * nested_trace.c follows the events, nested_trace_report.c adds the tree to a report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attar/keytable.h"
#include "lib/by_source.h"
#include "lib/heatmap.h"

enum { DEPTH_MAX = 64, NAME_BYTES = 64, ACCOMPANIES = 1 << 30 };

/* Sums of a node. */
enum { SUM_CALLS, SUM_SELF, SUM_THAN, SUMS };

enum nested_impl { IMPL_DELAY, IMPL_CALL, IMPL_CALL_DELAY };

/*
 * An event of -e, with two for each function. Others accompany them: profilers and events with
 * untraced, which have numbers from ACCOMPANIES on.
 */
struct nested_event {
	const char *name;
	uint32_t function;
	bool is_exit;
	struct attar_expr *key; /* NULL: the thread or CPU */
};

/* A node of the tree: a function as called from another node, and with --perins by its key. */
struct nested_node_key {
	uint32_t parent;   /* number of the node; 0: none */
	uint32_t function; /* of a call, or of an event within it; UINT32_MAX: the key */
	uint64_t root;     /* of a key: its number */
};

struct nested_node {
	uint32_t number;
};

/* A call that has not returned. */
struct nested_call {
	uint32_t function, node;
	uint64_t began, inner; /* ns; time in the calls within it */
};

/* The open calls of a key, in the block of its row. */
struct nested_open_calls {
	uint64_t number; /* of the key; 0: new */
	uint32_t depth, root;
	int64_t tid;
	char comm[NAME_BYTES];
	struct nested_call calls[DEPTH_MAX];
};

struct nested_trace {
	struct attar_texts texts;
	const char *key, *impl_name, *heatmap_path;
	uint64_t than;
	bool perins, print_beyond;
	const char *detail; /* NULL: calls are not printed one by one */

	enum nested_impl impl;
	bool by_thread; /* without a key */
	struct by_source events;
	uint32_t n_asked;     /* entries and exits of -e */
	uint32_t n_accompany; /* events of -e that are neither */
	struct attar_keytable *open, *nodes;
	struct attar_keytable *newest; /* the key of the newest call, by thread */
	bool has_keys;                 /* any event has a key that is an expression */
	struct attar_expr *printkey;   /* of --perins; NULL: keys are shown as they are */
	bool has_keyless;              /* an event that accompanies calls has none */
	uint64_t n_keys;
	uint32_t n_nodes;
	uint64_t unreturned, exited, uncalled, deep, lost;
	struct heatmap *heatmap;
};

/* Bytes of a row's name, with its indentation. */
enum { NESTED_TEXT_BYTES = 2 * DEPTH_MAX + 2 * NAME_BYTES };

static inline bool nested_accompanies(uint32_t function)
{
	return function >= ACCOMPANIES && function != UINT32_MAX;
}

/* The name of a function: the name of its entry event, or of its exit event. */
const char *nested_trace_function(const struct nested_trace *t, uint32_t function, bool of_exit);

/* A name as it is shown at a depth of the tree. */
void nested_trace_indent(char text[NESTED_TEXT_BYTES], uint32_t depth, const char *name);

/* The report function of the profiler: attar_profiler.report. */
int nested_trace_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope);
